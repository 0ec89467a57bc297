// Values of every type and kind cross the border and come back the same.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tensor } from 'linnet';
import { create, identityModel } from '../support/models.mjs';
import { BITS, buildModel, TYPES, tensorOf } from '../support/onnx.mjs';

/** Distinct bytes, of booleans only 0 and 1. */
const bytesOf = (type, count) => Uint8Array.from({ length: Math.ceil((count * BITS[type]) / 8) }, (_, i) => (type === 'bool' ? i % 2 : (i * 37) % 251));
const raw = ({ data }) => [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];

describe('every element type, in and out', () => {
  for (const type of TYPES.filter((each) => each && each !== 'string')) {
    test(type, async () => {
      const session = await create(identityModel(type));
      const x = tensorOf(type, bytesOf(type, 6), [6]);
      const { y } = await session.run({ x });
      assert.deepEqual([y.type, [...y.dims], raw(y)], [type, [6], raw(x)]);
      const view = session.runSync({ x }, { outputs: 'view' });
      assert.deepEqual(raw(view.y), raw(x));
      const target = tensorOf(type, new Uint8Array(bytesOf(type, 6).length), [6]);
      assert.deepEqual(raw(session.runSync({ x }, { y: target }).y), raw(x));
      await session.release();
    });
  }

  test('strings, of all lengths and planes', async () => {
    const session = await create(identityModel('string'));
    const words = ['', 'a', 'Grüße', '日本語', '🙂 emoji', 'x'.repeat(5000), '\0middle\0'];
    const { y } = await session.run({ x: new Tensor('string', words, [words.length]) });
    assert.deepEqual(y.data, words);
    const target = new Tensor('string', new Array(words.length).fill('-'), [words.length]);
    assert.deepEqual((await session.run({ x: new Tensor(words) }, { y: target })).y.data, words);
    await session.release();
  });

  test('a scalar and an empty tensor', async () => {
    const scalar = await create(identityModel('float32', []));
    assert.deepEqual((await scalar.run({ x: new Tensor('float32', [5], []) })).y.dims, []);
    const empty = await create(identityModel('float32', [0, 3]));
    assert.deepEqual((await empty.run({ x: new Tensor('float32', [], [0, 3]) })).y.dims, [0, 3]);
    await Promise.all([scalar.release(), empty.release()]);
  });
});

describe('sequences, maps and optionals', () => {
  const tensor = { kind: 'tensor', type: 'float32' };
  const sequence = { kind: 'sequence', element: tensor };
  const same = (type) => buildModel({ inputs: [{ name: 'x', ...type }], outputs: [{ name: 'y', ...type }], nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }] });
  const a = new Tensor('float32', [1, 2], [2]);
  const b = new Tensor('float32', [3], [1]);

  test('a sequence is an array', async () => {
    const session = await create(same(sequence));
    for (const x of [[a, b], [], [b]]) {
      const { y } = await session.run({ x });
      assert.deepEqual(y.map(({ data }) => [...data]), x.map(({ data }) => [...data]));
    }
    await assert.rejects(session.run({ x: a }), { code: 'INVALID_FEED' });
    await assert.rejects(session.run({ x: new Map() }), { code: 'INVALID_FEED' });
    assert.deepEqual(session.inputMetadata[0], { name: 'x', isTensor: false, kind: 'sequence', element: { kind: 'tensor', type: 'float32', shape: null } });
    await session.release();
  });

  test('an optional is the value or undefined', async () => {
    const session = await create(same({ kind: 'optional', element: tensor }));
    assert.deepEqual([...(await session.run({ x: a })).y.data], [1, 2]);
    assert.equal((await session.run({ x: undefined })).y, undefined);
    assert.equal((await session.run({ x: null })).y, undefined);
    await session.release();
  });

  test('a map is a Map', async () => {
    const model = buildModel({
      opsets: { '': 21, 'ai.onnx.ml': 3 },
      inputs: [{ name: 'x', type: 'float32', dims: ['n', 3] }],
      outputs: [{ name: 'z', kind: 'sequence', element: { kind: 'map', key: 'int64', element: tensor } }],
      nodes: [{ op: 'ZipMap', domain: 'ai.onnx.ml', inputs: ['x'], outputs: ['z'], attributes: [{ name: 'classlabels_int64s', type: 'ints', data: [10, 20, 30] }] }],
    });
    const session = await create(model);
    const { z } = await session.run({ x: new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]) });
    assert.deepEqual(z, [new Map([[10n, 1], [20n, 2], [30n, 3]]), new Map([[10n, 4], [20n, 5], [30n, 6]])]);
    await session.release();
  });

  test('a map goes in', async () => {
    const model = buildModel({
      opsets: { '': 21, 'ai.onnx.ml': 3 },
      inputs: [{ name: 'x', kind: 'map', key: 'string', element: { ...tensor, dims: [] } }],
      outputs: [{ name: 'y', type: 'float32', dims: [1, 3] }],
      nodes: [{ op: 'DictVectorizer', domain: 'ai.onnx.ml', inputs: ['x'], outputs: ['y'], attributes: [{ name: 'string_vocabulary', type: 'strings', data: ['a', 'b', 'c'] }] }],
    });
    const session = await create(model);
    const { y } = await session.run({ x: new Map([['c', 3], ['a', 1]]) });
    assert.deepEqual([...y.data], [1, 0, 3]);
    await session.release();
  });
});
