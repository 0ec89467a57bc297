// Sessions in a worker thread: the same API with messages in between.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { Tensor } from 'linnet';
import { addModel, create, root, single, slowModel, twoOutputs } from '../support/models.mjs';

const vector = (...values) => new Tensor('float32', values, [values.length]);

describe('worker: true', () => {
  test('loads, runs and answers questions', async () => {
    const phases = [];
    const session = await create(twoOutputs, { worker: true, profile: true, onProgress: ({ phase }) => phases.push(phase) });
    assert.deepEqual([session.inputNames, session.outputNames], [['a', 'b'], ['sum', 'difference']]);
    assert.equal(session.info.worker, true);
    assert.ok(phases.includes('compile'));
    const a = vector(5, 6);
    const { sum, difference } = await session.run({ a, b: vector(1, 2) });
    assert.deepEqual([[...sum.data], [...difference.data]], [[6, 8], [4, 4]]);
    assert.equal(a.data.length, 2, 'the input is not detached');
    assert.deepEqual(Object.keys(await session.run({ a, b: a }, ['sum'])), ['sum']);
    const mine = vector(0, 0);
    assert.equal((await session.run({ a, b: a }, { sum: mine })).sum, mine);
    assert.deepEqual([...mine.data], [10, 12]);
    assert.ok((await session.memory()).wasmBytes > 0);
    assert.equal((await session.profile()).length, 2);
    assert.throws(() => session.runSync({ a, b: a }), { code: 'SESSION_BUSY' });
    await session.release();
    await assert.rejects(session.run({ a, b: a }), { code: 'SESSION_RELEASED' });
  });

  test('several at once, and errors come over with their fields', async () => {
    const sessions = await Promise.all([addModel, addModel].map((model) => create(model, { worker: true })));
    const results = await Promise.all(sessions.map((session, i) => session.run({ a: vector(i), b: vector(1) })));
    assert.deepEqual(results.map(({ c }) => c.data[0]), [1, 2]);
    await assert.rejects(sessions[0].run({ a: vector(1) }), { name: 'LinnetError', code: 'INVALID_FEED' });
    await assert.rejects(create(addModel.subarray(0, 20), { worker: true }), { name: 'LinnetError' });
    await Promise.all(sessions.map((session) => session.release()));
  });

  test('a run can be aborted', async () => {
    const session = await create(slowModel(3000), { worker: true });
    const controller = new AbortController();
    const run = session.run({ x: new Tensor(new Float32Array(256 * 256), [256, 256]) }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 30);
    await assert.rejects(run, { code: 'ABORTED' });
    await session.release();
  });

  test('a script ends by itself, with a session in a worker left open', () => {
    const script = `
      import { InferenceSession, Tensor } from 'linnet';
      const model = new Uint8Array(${JSON.stringify([...addModel])});
      const session = await InferenceSession.create(model, { ...${JSON.stringify(single)}, worker: true });
      const x = new Tensor('float32', [1], [1]);
      console.log((await session.run({ a: x, b: x })).c.data[0]);`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8', timeout: 20_000 });
    assert.deepEqual([stdout.trim(), status], ['2', 0], stderr);
  });
});
