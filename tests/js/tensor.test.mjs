// Tensor: construction from every kind of array, checks, reshape, images.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import vm from 'node:vm';
import * as common from 'onnxruntime-common';
import { Tensor } from 'linnet';

const code = (name, message = /./) => (error) => error.code === name && message.test(error.message);

describe('construction', () => {
  const typed = [
    [new Float32Array(2), 'float32'], [new Float64Array(2), 'float64'], [new Int8Array(2), 'int8'], [new Uint8Array(2), 'uint8'],
    [new Uint8ClampedArray(2), 'uint8'], [new Int16Array(2), 'int16'], [new Uint16Array(2), 'uint16'], [new Int32Array(2), 'int32'],
    [new Uint32Array(2), 'uint32'], [new BigInt64Array(2), 'int64'], [new BigUint64Array(2), 'uint64'], [['a', 'b'], 'string'], [[true, false], 'bool'],
  ];
  for (const [data, type] of typed) {
    test(`${data.constructor.name} is ${type}`, () => {
      const tensor = new Tensor(data);
      assert.deepEqual([tensor.type, tensor.dims, tensor.size, tensor.location], [type, [2], 2, 'cpu']);
      const theirs = new common.Tensor(data);
      assert.deepEqual([theirs.type, [...theirs.dims], theirs.size], [tensor.type, [...tensor.dims], tensor.size]);
    });
  }

  test('arrays of numbers take the type that is named', () => {
    assert.deepEqual(new Tensor('int64', [1, 2], [2]).data, BigInt64Array.of(1n, 2n));
    assert.deepEqual(new Tensor('bool', [true, false]).data, Uint8Array.of(1, 0));
    assert.deepEqual(new Tensor('float32', [1.5], [1, 1]).data, Float32Array.of(1.5));
    assert.equal(new Tensor('float32', [7], []).size, 1);
    assert.equal(new Tensor('float32', [], [0, 5]).size, 0);
  });

  test('a typed array is kept, not copied', () => {
    const data = new Float32Array(4);
    assert.equal(new Tensor(data, [2, 2]).data, data);
  });

  test('types that JavaScript has no array for are bits', () => {
    assert.equal(new Tensor('bfloat16', new Uint16Array(3), [3]).size, 3);
    assert.equal(new Tensor('float16', new Uint16Array(3), [3]).data.length, 3);
    assert.equal(new Tensor('int4', new Uint8Array(2), [3]).data.length, 2);
    assert.equal(new Tensor('float6e2m3', new Uint8Array(3), [4]).data.length, 3);
    assert.equal(new Tensor('float6e3m2', new Uint8Array(4), [5]).size, 5);
    assert.equal(new Tensor('complex64', new Float32Array(6), [3]).size, 3);
    assert.equal(new Tensor('float8e4m3fn', new Uint8Array(3), [3]).size, 3);
  });

  test('arrays of another realm', () => {
    const data = vm.runInNewContext('new Float32Array([1, 2])');
    assert.equal(new Tensor(data, [2]).type, 'float32');
    assert.deepEqual([...new Tensor('float32', data, [2]).data], [1, 2]);
  });

  const wrong = [
    [() => new Tensor('float32', [1, 2], [3]), /holds 3 array elements, but the data has 2/],
    [() => new Tensor('float33', [1]), /unknown tensor type 'float33'/],
    [() => new Tensor([]), /cannot be inferred/],
    [() => new Tensor([1, 2]), /needs a type/],
    [() => new Tensor('int32', new Float32Array(1)), /int32 data is a Int32Array or an array, not a Float32Array/],
    [() => new Tensor('string', ['a', 1]), /array of strings/],
    [() => new Tensor('float32', [1], [-1]), /non-negative integers/],
    [() => new Tensor('float32', [1], 1), /dims are an array/],
    [() => new Tensor(new DataView(new ArrayBuffer(4))), /typed array or an array/],
    [() => new Tensor(undefined), /not undefined/],
  ];
  for (const [make, message] of wrong) test(`refuses: ${message.source}`, () => assert.throws(make, code('INVALID_ARGUMENT', message)));
});

test('reshape shares the elements, dispose lets them go', async () => {
  const tensor = new Tensor('float32', [1, 2, 3, 4], [4]);
  const square = tensor.reshape([2, 2]);
  assert.equal(square.data, tensor.data);
  assert.equal(await tensor.getData(), tensor.data);
  assert.throws(() => tensor.reshape([3]), code('INVALID_ARGUMENT'));
  tensor.dispose();
  assert.equal(tensor.location, 'none');
  assert.throws(() => tensor.data, code('INVALID_ARGUMENT', /disposed/));
  assert.deepEqual([...square.data], [1, 2, 3, 4]);
});

test('what needs a GPU is refused', () => {
  assert.throws(() => Tensor.fromGpuBuffer({}, {}), code('UNSUPPORTED'));
  assert.throws(() => new Tensor({ location: 'gpu-buffer' }), code('UNSUPPORTED', /gpu-buffer/));
  assert.equal(Tensor.fromPinnedBuffer('float32', new Float32Array(1)).size, 1);
});

describe('images', () => {
  const image = { width: 2, height: 1, data: Uint8ClampedArray.of(255, 0, 51, 255, 0, 102, 255, 128) };
  test('to a tensor', async () => {
    const tensor = await Tensor.fromImage(image);
    assert.deepEqual(tensor.dims, [1, 3, 1, 2]);
    assert.deepEqual([...tensor.data].map((value) => Number(value.toFixed(3))), [1, 0, 0, 0.4, 0.2, 1]);
    const last = await Tensor.fromImage(image, { tensorLayout: 'NHWC', tensorFormat: 'BGR', dataType: 'uint8' });
    assert.deepEqual([last.dims, [...last.data]], [[1, 1, 2, 3], [51, 0, 255, 255, 102, 0]]);
    const normalised = await Tensor.fromImage(image, { tensorFormat: 'RGBA', norm: { mean: [1, 2, 3, 4], bias: 1 } });
    assert.deepEqual([...normalised.data], [256, 1, 0.5, 51.5, 52 / 3, 256 / 3, 64, 129 / 4].map(Math.fround));
  });

  test('and back', async () => {
    globalThis.ImageData ??= class ImageData {
      constructor(data, width, height) {
        Object.assign(this, { data, width, height });
      }
    };
    const options = { tensorFormat: 'RGBA' };
    const back = (await Tensor.fromImage(image, options)).toImageData();
    assert.deepEqual([back.width, back.height, [...back.data]], [2, 1, [...image.data]]);
    assert.throws(() => new Tensor('float32', [1], [1]).toImageData(), code('INVALID_ARGUMENT'));
  });

  test('without a canvas, resizing says so', () => assert.rejects(Tensor.fromImage(image, { resizedWidth: 4, resizedHeight: 4 }), code('UNSUPPORTED', /canvas/)));
});
