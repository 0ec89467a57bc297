// Memory: a steady run allocates nothing, and a load holds its weights once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tensor } from 'linnet';
import { addModel, create, slowModel, weightsModel } from '../support/models.mjs';

test('a steady run allocates nothing', async () => {
  const session = await create(slowModel(5, 32));
  const feeds = { x: new Tensor(new Float32Array(32 * 32), [32, 32]) };
  const target = { x5: new Tensor(new Float32Array(32 * 32), [32, 32]) };
  session.runSync(feeds, target);
  const before = session.memory();
  for (let i = 0; i < 100; i++) session.runSync(feeds, target);
  const { allocations, wasmBytes } = session.memory();
  assert.equal(allocations, before.allocations);
  assert.equal(wasmBytes, before.wasmBytes);
  await session.release();
});

test('a small model takes little memory', async () => {
  const session = await create(addModel);
  session.runSync({ a: new Tensor('float32', [1], [1]), b: new Tensor('float32', [1], [1]) });
  assert.ok(session.memory().wasmBytes < 8e6, `${session.memory().wasmBytes} bytes`);
  await session.release();
});

test('weights are held once while loading', async () => {
  const [rows, columns] = [2560, 10240];
  const model = weightsModel(rows, columns);
  const weightBytes = rows * columns * 4;
  // The file comes from elsewhere in pieces, so that all that JavaScript holds is a piece.
  async function* pieces() {
    for (let at = 0; at < model.length; at += 1 << 20) yield model.slice(at, at + (1 << 20));
  }
  const session = await create(pieces());
  const { wasmBytes } = session.memory();
  assert.ok(wasmBytes < 1.15 * weightBytes + weightBytes, `${(wasmBytes / 1e6).toFixed(0)} MB for ${(weightBytes / 1e6).toFixed(0)} MB of weights in one tensor`);
  await session.release();
});

test('many tensors peak at little more than their sum', async () => {
  const { buildModel } = await import('../support/onnx.mjs');
  const size = 512;
  const count = 96;
  const data = new Float32Array(size * size).fill(1 / size);
  const matrix = (name) => ({ name, type: 'float32', dims: [size, size] });
  const model = buildModel({
    inputs: [matrix('x0')],
    outputs: [matrix(`x${count}`)],
    initializers: Array.from({ length: count }, (_, i) => ({ ...matrix(`w${i}`), data })),
    nodes: Array.from({ length: count }, (_, i) => ({ op: 'MatMul', inputs: [`x${i}`, `w${i}`], outputs: [`x${i + 1}`] })),
  });
  async function* pieces() {
    for (let at = 0; at < model.length; at += 1 << 20) yield model.slice(at, at + (1 << 20));
  }
  const session = await create(pieces());
  const { wasmBytes } = session.memory();
  const tensor = size * size * 4;
  const limit = 1.15 * (count * tensor) + tensor + 4e6;
  assert.ok(wasmBytes < limit, `${(wasmBytes / 1e6).toFixed(1)} MB for ${((count * tensor) / 1e6).toFixed(1)} MB of weights`);
  await session.release();
});

test('what constants were folded from goes', async () => {
  const { buildModel } = await import('../support/onnx.mjs');
  const dims = [256, 256];
  const session = await create(buildModel({
    inputs: [{ name: 'x', type: 'float32', dims }],
    outputs: [{ name: 'y', type: 'float32', dims }],
    initializers: [{ name: 'w', type: 'float32', dims, data: new Float32Array(256 * 256).fill(2) }],
    nodes: [
      { op: 'Neg', inputs: ['w'], outputs: ['a'] },
      { op: 'Exp', inputs: ['a'], outputs: ['b'] },
      { op: 'Sqrt', inputs: ['b'], outputs: ['c'] },
      { op: 'Add', inputs: ['x', 'c'], outputs: ['y'] },
    ],
  }), { warmUp: false });
  const { live } = session.memory();
  const held = live.weights + live.workspace;
  assert.ok(held < 1.1 * 256 * 256 * 4, `${held} bytes`);
  await session.release();
});
