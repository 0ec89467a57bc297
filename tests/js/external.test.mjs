// Weights kept in files beside the model.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { InferenceSession, Tensor } from 'linnet';
import { create, single } from '../support/models.mjs';
import { buildModel } from '../support/onnx.mjs';

const float = (name, dims) => ({ name, type: 'float32', dims });
/** y = x + w + v, both weights in one file. */
const model = (location, { length = 16, first = 4, second = 24 } = {}) => buildModel({
  inputs: [float('x', [4])],
  outputs: [float('y', [4])],
  initializers: [
    { ...float('v', [4]), external: { location, offset: second, length } },
    { ...float('w', [4]), external: { location, offset: first, length } },
  ],
  nodes: [{ op: 'Add', inputs: ['x', 'w'], outputs: ['z'] }, { op: 'Add', inputs: ['z', 'v'], outputs: ['y'] }],
});
const weights = new Uint8Array(48);
new Float32Array(weights.buffer).set([0, 1, 2, 3, 4, 0, 10, 20, 30, 40], 0);
const x = new Tensor('float32', [0, 0, 0, 0], [4]);
const expected = [11, 22, 33, 44];

async function runs(source, options) {
  const session = await InferenceSession.create(source, { ...single, ...options });
  assert.deepEqual([...(await session.run({ x })).y.data], expected);
  await session.release();
}

describe('external data', () => {
  let dir;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'linnet-'));
    mkdirSync(join(dir, 'data'));
    writeFileSync(join(dir, 'data', 'w.bin'), weights);
    writeFileSync(join(dir, 'model.onnx'), model('data/w.bin'));
    writeFileSync(join(dir, 'outside.onnx'), model('../w.bin'));
    writeFileSync(join(dir, 'absolute.onnx'), model(join(dir, 'data', 'w.bin')));
    writeFileSync(join(dir, 'missing.onnx'), model('nothing.bin'));
  });
  after(() => rmSync(dir, { recursive: true }));

  test('is found beside the model', () => runs(join(dir, 'model.onnx')));
  test('as an array', () => runs(model('w.bin'), { externalData: [{ path: 'w.bin', data: weights }] }));
  test('as a map', () => runs(model('./w.bin'), { externalData: new Map([['w.bin', weights.buffer]]) }));
  test('as an object', () => runs(model('w.bin'), { externalData: { './w.bin': new Blob([weights]) } }));
  test('as a path', () => runs(model('w.bin'), { externalData: [join(dir, 'data', 'w.bin')] }));
  test('as a stream', () => runs(model('w.bin'), { externalData: { 'w.bin': new Blob([weights]).stream() } }));
  test('one part for two tensors', async () => {
    const session = await create(model('w.bin', { first: 4, second: 4 }), { externalData: { 'w.bin': weights } });
    assert.deepEqual([...(await session.run({ x })).y.data], [2, 4, 6, 8]);
    await session.release();
  });

  test('outside of the folder is refused', async () => {
    for (const name of ['outside.onnx', 'absolute.onnx']) await assert.rejects(create(join(dir, name)), { code: 'EXTERNAL_DATA' });
  });
  test('that is missing is named', async () => {
    await assert.rejects(create(join(dir, 'missing.onnx')), (error) => /nothing\.bin/.test(error.message));
    await assert.rejects(create(model('w.bin')), (error) => error.code === 'EXTERNAL_DATA' && /'w\.bin'/.test(error.message));
  });
  test('that is too short', () => assert.rejects(create(model('w.bin'), { externalData: { 'w.bin': weights.subarray(0, 30) } }), { code: 'EXTERNAL_DATA' }));
  test('of a wrong length', () => assert.rejects(create(model('w.bin', { length: 12 }), { externalData: { 'w.bin': weights } }), (error) => /EXTERNAL_DATA|INVALID/.test(error.code)));
});
