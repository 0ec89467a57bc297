// Several threads: the same bits as one, one runtime for all sessions, and a script that ends by itself.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { InferenceSession, Runtime, Tensor } from 'linnet';
import { addModel, noThreads, root, slowModel, weightsModel } from '../support/models.mjs';
import { probeEngine } from '../../js/artifacts.js';

const kernels = probeEngine().relaxed ? ['simd', 'relaxed'] : ['simd'];
const input = (rows, columns) => new Tensor(Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i)), [rows, columns]);

describe('threads', { skip: noThreads }, () => {
  for (const kernel of kernels) {
    test(`the same bits on 1, 2 and 4 threads (${kernel})`, async () => {
      const results = [];
      for (const threads of [1, 2, 4]) {
        const session = await InferenceSession.create(slowModel(12, 160), { artifact: `${kernel}.threads`, threads });
        assert.equal(session.info.threads, threads);
        for (let run = 0; run < 5; run++) {
          const { x12 } = await session.run({ x: input(160, 160) });
          results.push(Buffer.from(x12.data.buffer).toString('hex'));
          // The threads need a moment to come up; runs before that are computed by the caller.
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        await session.release();
      }
      assert.equal(new Set(results).size, 1);
    });
  }

  test('sessions share one runtime, which is dropped with the last', async () => {
    const options = { artifact: 'simd.threads', threads: 2 };
    const [first, second] = await Promise.all([InferenceSession.create(addModel, options), InferenceSession.create(weightsModel(64, 64), options)]);
    assert.equal(first.info.runtime, 'shared');
    const bytes = first.memory().wasmBytes;
    assert.equal(second.memory().wasmBytes, bytes);
    const vector = new Tensor('float32', [1, 2], [2]);
    await Promise.all([first.run({ a: vector, b: vector }), second.run({ x: input(1, 64) })]);
    await first.release();
    assert.deepEqual((await second.run({ x: input(1, 64) })).y.dims, [1, 64]);
    await second.release();
    const third = await InferenceSession.create(addModel, options);
    await third.release();
  });

  test('a runtime of one\'s own', async () => {
    const runtime = await Runtime.create({ artifact: 'simd.threads', threads: 2 });
    const session = await InferenceSession.create(addModel, { runtime });
    const vector = new Tensor('float32', [1, 2], [2]);
    assert.deepEqual([...session.runSync({ a: vector, b: vector }).c.data], [2, 4]);
    await session.release();
    assert.ok(runtime.byteLength > 0);
    runtime.release();
    assert.equal(runtime.byteLength, 0);
  });

  test('a script ends by itself', () => {
    const script = `
      import { InferenceSession, Tensor } from 'linnet';
      const session = await InferenceSession.create(new Uint8Array(${JSON.stringify([...addModel])}), { artifact: 'simd.threads', threads: 3 });
      const x = new Tensor('float32', [1], [1]);
      console.log((await session.run({ a: x, b: x })).c.data[0]);`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8', timeout: 20_000 });
    assert.deepEqual([stdout.trim(), status], ['2', 0], stderr);
  });

  test('a thread that dies ends its runs with THREAD_DIED', async () => {
    const { platform } = await import('../../js/env/node.js');
    const { Runtime: CoreRuntime } = await import('../../js/runtime.js');
    const deaths = [];
    const fragile = {
      ...platform,
      name: 'fragile',
      startWorker(kind, onMessage, onDeath) {
        deaths.push(onDeath);
        return platform.startWorker(kind, onMessage, onDeath);
      },
    };
    const runtime = await CoreRuntime.acquire(fragile, { artifact: 'simd.threads', threads: 2 });
    const session = await InferenceSession.create(slowModel(500), { runtime });
    const run = session.run({ x: input(256, 256) });
    deaths[0]('it was killed');
    await assert.rejects(run, { code: 'THREAD_DIED' });
    await assert.rejects(session.run({ x: input(256, 256) }), { code: 'THREAD_DIED' });
    await session.release();
    runtime.release();
  });
});
