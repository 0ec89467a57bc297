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
});
