// Convolutions: which form a plan chooses, and what rewrites fuse into them and what they leave alone.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tensor } from 'linnet';
import { create } from '../support/models.mjs';
import { buildModel } from '../support/onnx.mjs';

/** Numbers between -1 and 1 that look random. */
function floats(count, seed = 1) {
  let state = seed;
  return Float32Array.from({ length: count }, () => (state = (Math.imul(state, 1664525) + 1013904223) | 0) / 2 ** 31);
}
const size = (dims) => dims.reduce((product, each) => product * each, 1);
const tensor = (dims, seed) => new Tensor('float32', floats(size(dims), seed), dims);

/** A model of nodes on x, whose first is a convolution with weights `w`. */
const model = (x, w, y, nodes, initializers = [], more = {}) => buildModel({
  inputs: [{ name: 'x', type: 'float32', dims: x }, ...(more.inputs ?? [])],
  outputs: [{ name: 'y', type: 'float32', dims: y }, ...(more.outputs ?? [])],
  initializers: [{ name: 'w', type: 'float32', dims: w, data: floats(size(w), 5).map((each) => each / 4) }, ...initializers],
  nodes,
});

/** Largest difference between two arrays. */
const distance = (a, b) => a.reduce((most, each, i) => Math.max(most, Math.abs(each - b[i])), 0);

async function outputs(bytes, feeds, options) {
  const session = await create(bytes, options);
  const { y } = await session.run(feeds);
  const inspected = session.inspect();
  const { liveBytes } = session.memory();
  await session.release();
  return { y: y.data, inspected, liveBytes };
}

describe('winograd', () => {
  const conv = [{ op: 'Conv', inputs: ['x', 'w'], outputs: ['y'], attributes: [{ name: 'pads', type: 'ints', data: [1, 1, 1, 1] }] }];
  const [n, channels] = [24, 32];
  const x = [1, channels, n, n];
  const bytes = model(x, [channels, channels, 3, 3], x, conv);
  const feeds = { x: tensor(x) };

  test('is near the plain sum, and the option turns it off', async () => {
    const fast = await outputs(bytes, feeds);
    const plain = await outputs(bytes, feeds, { winograd: false });
    assert.notDeepEqual(fast.y, plain.y, 'another order of sums gives other bits');
    assert.ok(distance(fast.y, plain.y) < 6e-5, `${distance(fast.y, plain.y)}`);
    const more = fast.liveBytes - plain.liveBytes;
    const transformed = channels * channels * 36 * 4;
    assert.ok(more >= transformed && more < 2 * transformed + 1e6, `${more} bytes more`);
  });

  test('serves large images only, from one session', async () => {
    const session = await create(model([1, channels, 'h', 'w'], [channels, channels, 3, 3], [1, channels, 'h', 'w'], conv));
    const plain = await create(model([1, channels, 'h', 'w'], [channels, channels, 3, 3], [1, channels, 'h', 'w'], conv), { winograd: false });
    for (const [side, same] of [[6, true], [40, false], [6, true], [24, false]]) {
      const image = tensor([1, channels, side, side], side);
      const [a, b] = [(await session.run({ x: image })).y.data, (await plain.run({ x: image })).y.data];
      assert.equal(distance(a, b) === 0, same, `${side}x${side}`);
      assert.ok(distance(a, b) < 6e-5);
    }
    await session.release();
    await plain.release();
  });

  test('large products are near the plain sum, and the option gives just that', async () => {
    const [rows, depth, columns] = [[2, 51], 640, 144];
    const product = model([...rows, depth], [depth, columns], [...rows, columns], [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] }]);
    const x = tensor([...rows, depth]);
    const [fast, plain, small] = [await outputs(product, { x }), await outputs(product, { x }, { winograd: false }), tensor([1, 1, depth])];
    assert.ok(distance(fast.y, plain.y) < 4e-5, `${distance(fast.y, plain.y)}`);
    const one = model(['a', 'b', depth], [depth, columns], ['a', 'b', columns], [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] }]);
    const [a, b] = [await outputs(one, { x: small }), await outputs(one, { x: small }, { winograd: false })];
    assert.deepEqual(a.y, b.y, 'a small product is a plain sum');
  });
});

const ints = (name, data) => ({ name, type: 'ints', data });
const fired = (inspected, name) => inspected.rewrites.find((each) => each.name === name).fired;

/** Whether a rewrite fires on a model, and that its outputs stay what they were. */
async function check(bytes, feeds, rewrite, times) {
  const plain = await outputs(bytes, feeds, { optimize: 0 });
  const { y, inspected } = await outputs(bytes, feeds);
  assert.equal(fired(inspected, rewrite), times, `${rewrite} fired`);
  assert.equal(y.length, plain.y.length);
  assert.ok(distance(y, plain.y) < 1e-5, `${distance(y, plain.y)}`);
}

describe('a sum after a convolution', () => {
  const [x, y] = [[2, 3, 6, 7], [2, 8, 6, 7]];
  const conv = { op: 'Conv', inputs: ['x', 'w'], outputs: ['c'], attributes: [ints('pads', [1, 1, 1, 1])] };
  const add = (output = 'y') => ({ op: 'Add', inputs: ['r', 'c'], outputs: [output] });
  const build = (nodes, residual, more = {}) =>
    model(x, [8, 3, 3, 3], y, nodes, [], { inputs: [{ name: 'r', type: 'float32', dims: residual }], ...more });
  const feeds = (residual) => ({ x: tensor(x), r: tensor(residual, 9) });

  for (const [name, dims] of [['shaped alike', y], ['per channel', [8, 1, 1]], ['per row', [1, 1, 6, 1]], ['one number', []]]) {
    test(`is fused: ${name}`, () => check(build([conv, add()], dims), feeds(dims), 'fuse-residual', 1));
  }
  test('is fused before the activation that follows', () =>
    check(build([conv, add('s'), { op: 'Relu', inputs: ['s'], outputs: ['y'] }], y), feeds(y), 'fuse-residual', 1));
  test('is fused after the activation that precedes', () =>
    check(build([conv, { op: 'Relu', inputs: ['c'], outputs: ['a'] }, { op: 'Add', inputs: ['a', 'r'], outputs: ['y'] }], [8, 1, 1]), feeds([8, 1, 1]), 'fuse-residual', 1));
  test('is left alone when the convolution has another reader', () =>
    check(build([conv, add()], y, { outputs: [{ name: 'c', type: 'float32', dims: y }] }), feeds(y), 'fuse-residual', 0));
  test('is left alone when it is the convolution with itself', () =>
    check(model(x, [8, 3, 3, 3], y, [conv, { op: 'Add', inputs: ['c', 'c'], outputs: ['y'] }]), { x: tensor(x) }, 'fuse-residual', 0));
  test('may make the output larger', async () => {
    const small = model([1, 3, 1, 7], [8, 3, 1, 1], y, [{ ...conv, attributes: [] }, add()], [], { inputs: [{ name: 'r', type: 'float32', dims: y }] });
    await check(small, { x: tensor([1, 3, 1, 7]), r: tensor(y, 9) }, 'fuse-residual', 1);
  });
});

describe('a Pad before a window', () => {
  const x = [1, 3, 6, 7];
  const pads = (list) => ({ name: 'p', type: 'int64', dims: [list.length], data: BigInt64Array.from(list, BigInt) });
  const number = (value) => ({ name: 'v', type: 'float32', dims: [], data: Float32Array.of(value) });
  const spatial = [0, 0, 1, 0, 0, 0, 2, 1];
  const pad = (attributes = [], inputs = ['x', 'p']) => ({ op: 'Pad', inputs, outputs: ['t'], attributes });
  const conv = { op: 'Conv', inputs: ['t', 'w'], outputs: ['y'], attributes: [ints('strides', [2, 1]), ints('pads', [0, 1, 1, 0])] };
  const pool = (op, more = []) => ({ op, inputs: ['t'], outputs: ['y'], attributes: [ints('kernel_shape', [3, 3]), ...more] });
  const build = (nodes, initializers, more) => model(x, [4, 3, 3, 3], ['a', 'b', 'c', 'd'], nodes, initializers, more);
  const run = (nodes, initializers, times) => check(build(nodes, initializers), { x: tensor(x) }, 'fold-pads', times);

  test('goes into a convolution', () => run([pad(), conv], [pads(spatial)], 1));
  test('goes into one that pads VALID', () =>
    run([pad(), { ...conv, attributes: [{ name: 'auto_pad', type: 'string', data: 'VALID' }] }], [pads(spatial)], 1));
  test('goes into both of two readers', () =>
    run([pad(), { ...conv, outputs: ['a'] }, { ...conv, outputs: ['b'] }, { op: 'Mul', inputs: ['a', 'b'], outputs: ['y'] }], [pads(spatial)], 2));
  test('stays when it pads channels', () =>
    check(model([1, 2, 6, 7], [4, 3, 3, 3], ['a', 'b', 'c', 'd'], [pad(), conv], [pads([0, 1, 0, 0, 0, 0, 0, 0])]), { x: tensor([1, 2, 6, 7]) }, 'fold-pads', 0));
  test('stays when it crops', () => run([pad(), conv], [pads([0, 0, -1, 0, 0, 0, 0, 0])], 0));
  test('stays when it pads with another number', () => run([pad([], ['x', 'p', 'v']), conv], [pads(spatial), number(1)], 0));
  test('stays when it reflects', () => run([pad([{ name: 'mode', type: 'string', data: 'reflect' }]), conv], [pads(spatial)], 0));
  test('goes into an average, which then counts it', () => run([pad(), pool('AveragePool')], [pads(spatial)], 1));
  test('stays before an average that does not count its own padding', () =>
    run([pad(), pool('AveragePool', [ints('pads', [1, 1, 1, 1])])], [pads(spatial)], 0));
  test('goes into a maximum after Relu', () =>
    run([{ op: 'Relu', inputs: ['x'], outputs: ['r'] }, pad([], ['r', 'p']), pool('MaxPool')], [pads(spatial)], 1));
  test('stays before a maximum of any numbers', () => run([pad(), pool('MaxPool')], [pads(spatial)], 0));
  test('goes into a maximum when it pads with the lowest number', () => run([pad([], ['x', 'p', 'v']), pool('MaxPool')], [pads(spatial), number(-Infinity)], 1));
});
