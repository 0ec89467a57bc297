// Creating sessions from everything that holds a model, and running them.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { InferenceSession, Tensor } from 'linnet';
import { addModel, create, single, slowModel, twoOutputs } from '../support/models.mjs';

const vector = (...values) => new Tensor('float32', values, [values.length]);
const feeds = () => ({ a: vector(1, 2, 3), b: vector(10, 20, 30) });
const code = (name) => ({ name: 'LinnetError', code: name });

describe('create', () => {
  let dir;
  let path;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'linnet-'));
    path = join(dir, 'add.onnx');
    writeFileSync(path, addModel);
  });
  after(() => rmSync(dir, { recursive: true }));

  const shared = () => {
    const buffer = new SharedArrayBuffer(addModel.length);
    new Uint8Array(buffer).set(addModel);
    return buffer;
  };
  const padded = () => {
    const bytes = new Uint8Array(addModel.length + 20);
    bytes.set(addModel, 7);
    return bytes.buffer;
  };
  async function* pieces() {
    for (let i = 0; i < addModel.length; i += 5) yield addModel.slice(i, i + 5);
  }
  const sources = {
    'a path': () => [path],
    'a file URL': () => [pathToFileURL(path)],
    'the text of a file URL': () => [pathToFileURL(path).href],
    'a data URL': () => [`data:application/octet-stream;base64,${Buffer.from(addModel).toString('base64')}`],
    'a Uint8Array': () => [addModel],
    'a Buffer': () => [Buffer.from(addModel)],
    'an ArrayBuffer': () => [addModel.slice().buffer],
    'a SharedArrayBuffer': () => [shared()],
    'a part of an ArrayBuffer': () => [padded(), 7, addModel.length],
    'a Blob': () => [new Blob([addModel])],
    'a Response': () => [new Response(addModel)],
    'a stream': () => [new Blob([addModel]).stream()],
    'an async iterable of small pieces': () => [pieces()],
  };
  for (const [name, source] of Object.entries(sources)) {
    test(`from ${name}`, async () => {
      const session = await InferenceSession.create(...source(), single);
      const { c } = await session.run(feeds());
      assert.deepEqual([...c.data], [11, 22, 33]);
      await session.release();
    });
  }

  test('many at once', async () => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => create(addModel)));
    const results = await Promise.all(sessions.map((session) => session.run(feeds())));
    for (const { c } of results) assert.deepEqual([...c.data], [11, 22, 33]);
    await Promise.all(sessions.map((session) => session.release()));
  });

  test('reports progress', async () => {
    const phases = [];
    const session = await create(path, { onProgress: ({ phase, loaded, total }) => phases.push([phase, loaded, total]) });
    assert.deepEqual(phases.map(([phase]) => phase), ['runtime', 'model', 'compile', 'ready']);
    assert.deepEqual(phases[1].slice(1), [addModel.length, addModel.length]);
    await session.release();
  });

  test('an instance cannot be made with new', () => {
    assert.throws(() => new InferenceSession(), code('INVALID_ARGUMENT'));
  });
});

describe('what a session says about itself', () => {
  test('names, metadata and info', async () => {
    const session = await create(addModel);
    assert.deepEqual(session.inputNames, ['a', 'b']);
    assert.deepEqual(session.outputNames, ['c']);
    assert.deepEqual(session.inputMetadata[0], { name: 'a', isTensor: true, type: 'float32', shape: ['n'] });
    assert.equal(session.metadata.producerName, 'linnet-tests');
    assert.deepEqual(session.metadata.opsetImports, { '': 21 });
    assert.deepEqual(session.metadata.customProperties, { author: 'nobody', größe: '∞' });
    assert.equal(session.metadata.hasTrainingInfo, false);
    assert.equal(session.info.threads, 1);
    assert.equal(session.info.runtime, 'own');
    assert.ok(session.info.artifactReason && session.info.threadsReason);
    assert.equal(session.inspect().nodes, 1);
    assert.ok(session.memory().wasmBytes > 0);
    await session.release();
  });

  test('inspect() reads a model that cannot run', async () => {
    const { buildModel } = await import('../support/onnx.mjs');
    const model = buildModel({
      inputs: [{ name: 'x', type: 'float32', dims: [1] }],
      outputs: [{ name: 'y', type: 'float32', dims: [1] }],
      nodes: [{ op: 'Frobnicate', domain: 'example', name: 'f', inputs: ['x'], outputs: ['y'] }],
    });
    const summary = await InferenceSession.inspect(model, single);
    assert.deepEqual(summary.unsupported.map(({ op, domain, node }) => [op, domain, node]), [['Frobnicate', 'example', 'f']]);
    assert.equal(summary.inputs[0].name, 'x');
  });

  test('a profile, node by node', async () => {
    const session = await create(twoOutputs, { profile: true });
    await session.run({ a: vector(1, 2), b: vector(3, 4) });
    assert.deepEqual(session.profile().map(({ op }) => op).sort(), ['Add', 'Sub']);
    assert.ok(session.profile().every(({ ms }) => ms >= 0));
    const [step] = session.steps();
    assert.deepEqual([step.graph, step.domain, step.inputs, step.outputs], [0, '', ['float32 [2]', 'float32 [2]'], ['float32 [2]']]);
    session.endProfiling();
    session.runSync({ a: vector(1, 2), b: vector(3, 4) });
    assert.equal(session.profile(), undefined);
    await session.release();
  });
});

describe('run', () => {
  test('outputs by name, pre-allocated and as views', async () => {
    const session = await create(twoOutputs);
    const input = { a: vector(5, 6), b: vector(1, 2) };
    assert.deepEqual(Object.keys(await session.run(input)), ['sum', 'difference']);
    assert.deepEqual(Object.keys(await session.run(input, ['difference'])), ['difference']);
    assert.deepEqual(Object.keys(await session.run(input, { sum: null })), ['sum']);
    const mine = new Tensor('float32', new Float32Array(2), [2]);
    const { array } = { array: mine.data };
    const results = await session.run(input, { sum: mine });
    assert.equal(results.sum, mine);
    assert.deepEqual([...array], [6, 8]);
    await assert.rejects(session.run(input, { sum: new Tensor('float32', new Float32Array(3), [3]) }), code('INVALID_ARGUMENT'));
    await assert.rejects(session.run(input, { sum: new Tensor('int32', new Int32Array(2), [2]) }), code('INVALID_ARGUMENT'));
    await assert.rejects(session.run(input, ['product']), /no output 'product'/);
    const { sum } = await session.run(input, { outputs: 'view' });
    assert.deepEqual([...sum.data], [6, 8]);
    session.runSync(input);
    assert.throws(() => sum.data, /out of date/);
    await session.release();
  });

  test('inputs are copied before the promise is there', async () => {
    const session = await create(addModel);
    const [a, b] = [new Float32Array([1]), new Float32Array([2])];
    const make = () => session.run({ a: new Tensor(a, [1]), b: new Tensor(b, [1]) });
    const runs = [make(), make(), make()];
    a[0] = b[0] = 99;
    assert.deepEqual((await Promise.all(runs)).map(({ c }) => c.data[0]), [3, 3, 3]);
    await session.release();
  });

  test('a shape may change from run to run', async () => {
    const session = await create(addModel);
    for (const n of [3, 1000, 0, 7, 3]) {
      const x = new Tensor(new Float32Array(n).fill(2), [n]);
      const { c } = await session.run({ a: x, b: x });
      assert.deepEqual(c.dims, [n]);
      assert.ok(c.data.every((value) => value === 4));
    }
    await session.release();
  });

  test('runSync, and SESSION_BUSY while a run is under way', async () => {
    const session = await create(slowModel(300));
    const x = new Tensor(new Float32Array(256 * 256).fill(1 / 256), [256, 256]);
    const pending = session.run({ x });
    assert.throws(() => session.runSync({ x }), code('SESSION_BUSY'));
    const { x300 } = await pending;
    const same = session.runSync({ x });
    assert.deepEqual(same.x300.data, x300.data);
    await session.release();
  });

  test('a tensor of another package is taken for what it is', async () => {
    const session = await create(addModel);
    const { c } = await session.run({ a: { type: 'float32', dims: [1], data: new Float32Array([1]) }, b: vector(1) });
    assert.equal(c.data[0], 2);
    await session.release();
  });

  test('the event loop turns while a long run is under way', async () => {
    const session = await create(slowModel(100));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await session.run({ x: new Tensor(new Float32Array(256 * 256), [256, 256]) });
    clearInterval(timer);
    assert.ok(turns > 0);
    await session.release();
  });
});

describe('abort', () => {
  const x = new Tensor(new Float32Array(256 * 256), [256, 256]);

  test('of a run', async () => {
    const session = await create(slowModel(2000));
    const controller = new AbortController();
    const run = session.run({ x }, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 5);
    await assert.rejects(run, (error) => error.code === 'ABORTED' && error.cause.message === 'enough');
    await assert.rejects(session.run({ x }, { signal: AbortSignal.abort() }), code('ABORTED'));
    await session.release();
    const small = await create(slowModel(3));
    await small.run({ x }, { signal: new AbortController().signal });
    await small.release();
  });

  test('of a run that waits its turn', async () => {
    const session = await create(slowModel(100));
    const controller = new AbortController();
    const first = session.run({ x });
    const second = session.run({ x }, { signal: controller.signal });
    controller.abort();
    await assert.rejects(second, code('ABORTED'));
    assert.deepEqual((await first).x100.dims, [256, 256]);
    await session.release();
  });

  test('of a load', async () => {
    const controller = new AbortController();
    async function* endless() {
      for (;;) {
        yield new Uint8Array(0);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    setTimeout(() => controller.abort(), 10);
    await assert.rejects(create(endless(), { signal: controller.signal }), code('ABORTED'));
    await assert.rejects(create(addModel, { signal: AbortSignal.abort() }), code('ABORTED'));
  });
});

describe('release', () => {
  test('waits for runs, can be called twice, and later calls say so', async () => {
    const session = await create(addModel);
    const run = session.run(feeds());
    const release = session.release();
    await Promise.all([release, session.release()]);
    assert.deepEqual([...(await run).c.data], [11, 22, 33]);
    await assert.rejects(session.run(feeds()), code('SESSION_RELEASED'));
    assert.throws(() => session.runSync(feeds()), code('SESSION_RELEASED'));
    assert.throws(() => session.memory(), code('SESSION_RELEASED'));
  });

  test('gives the memory back', async () => {
    const { FinalizationRegistry } = globalThis;
    assert.ok(FinalizationRegistry);
    const start = process.memoryUsage.rss();
    for (let i = 0; i < 30; i++) {
      const session = await create(slowModel(2, 1024));
      session.runSync({ x: new Tensor(new Float32Array(1024 * 1024), [1024, 1024]) }, { outputs: 'view' });
      await session.release();
    }
    const grown = process.memoryUsage.rss() - start;
    assert.ok(grown < 300e6, `30 sessions of 12 MB and more left ${(grown / 1e6).toFixed(0)} MB behind`);
  });
});
