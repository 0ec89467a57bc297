// Element types of tensors: the name in JavaScript, the number in TensorProto.DataType, the width, and the array that
// holds the elements. Types of less than a byte are packed, low part first, as ONNX packs them; complex numbers are
// interleaved pairs.

import { LinnetError } from './errors.js';

/**
 * @typedef {Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array |
 *   BigInt64Array | BigUint64Array} TypedArray
 * @typedef {{ new (length: number): TypedArray, new (buffer: ArrayBufferLike, offset?: number, length?: number): TypedArray,
 *   BYTES_PER_ELEMENT: number, name: string }} TypedArrayConstructor
 */

/** Float16Array where the engine has it: newer than the arrays that every engine has. */
const Half = /** @type {TypedArrayConstructor} */ (/** @type {any} */ (globalThis).Float16Array ?? Uint16Array);

/**
 * One element type. `heap` is the array type through which the wasm memory is read and written: for halves it is
 * Uint16Array even where `array` is Float16Array, because bits are moved, not numbers.
 */
export class ElementType {
  /**
   * @param {string} name
   * @param {number} number
   * @param {number} bits
   * @param {any} array
   * @param {any} heap
   * @param {any[]} accepts further array types that a caller may hand in, holding the same bits
   */
  constructor(name, number, bits, array, heap = array, accepts = []) {
    this.name = name;
    this.number = number;
    this.bits = bits;
    this.array = /** @type {TypedArrayConstructor} */ (array);
    this.heap = /** @type {TypedArrayConstructor} */ (heap);
    this.accepts = new Set([array, heap, ...accepts].map((each) => each.name));
  }

  /**
   * Length of the array that holds `count` elements.
   * @param {number} count
   */
  arrayLength(count) {
    if (this.isString) return count;
    return Math.ceil((count * this.bits) / (8 * this.array.BYTES_PER_ELEMENT));
  }

  get isString() {
    return this.name === 'string';
  }
}

const table = [
  new ElementType('float32', 1, 32, Float32Array),
  new ElementType('uint8', 2, 8, Uint8Array, Uint8Array, [Uint8ClampedArray]),
  new ElementType('int8', 3, 8, Int8Array),
  new ElementType('uint16', 4, 16, Uint16Array),
  new ElementType('int16', 5, 16, Int16Array),
  new ElementType('int32', 6, 32, Int32Array),
  new ElementType('int64', 7, 64, BigInt64Array),
  new ElementType('string', 8, 0, Array),
  new ElementType('bool', 9, 8, Uint8Array),
  new ElementType('float16', 10, 16, Half, Uint16Array),
  new ElementType('float64', 11, 64, Float64Array),
  new ElementType('uint32', 12, 32, Uint32Array),
  new ElementType('uint64', 13, 64, BigUint64Array),
  new ElementType('complex64', 14, 64, Float32Array),
  new ElementType('complex128', 15, 128, Float64Array),
  new ElementType('bfloat16', 16, 16, Uint16Array),
  new ElementType('float8e4m3fn', 17, 8, Uint8Array),
  new ElementType('float8e4m3fnuz', 18, 8, Uint8Array),
  new ElementType('float8e5m2', 19, 8, Uint8Array),
  new ElementType('float8e5m2fnuz', 20, 8, Uint8Array),
  new ElementType('uint4', 21, 4, Uint8Array),
  new ElementType('int4', 22, 4, Int8Array, Int8Array, [Uint8Array]),
  new ElementType('float4e2m1', 23, 4, Uint8Array),
  new ElementType('float8e8m0', 24, 8, Uint8Array),
  new ElementType('uint2', 25, 2, Uint8Array),
  new ElementType('int2', 26, 2, Int8Array, Int8Array, [Uint8Array]),
  new ElementType('float6e2m3', 27, 6, Uint8Array),
  new ElementType('float6e3m2', 28, 6, Uint8Array),
];

const byName = new Map(table.map((type) => [type.name, type]));
const byNumber = new Map(table.map((type) => [type.number, type]));

/** Names of all element types. */
export const TYPE_NAMES = table.map((type) => type.name);

/**
 * @param {string} name
 * @returns {ElementType}
 */
export function typeNamed(name) {
  const type = byName.get(name);
  if (!type) throw new LinnetError('INVALID_ARGUMENT', `unknown tensor type '${name}'; known are ${TYPE_NAMES.join(', ')}`);
  return type;
}

/**
 * @param {number} number TensorProto.DataType
 * @returns {ElementType}
 */
export function typeNumbered(number) {
  const type = byNumber.get(number);
  if (!type) throw new LinnetError('INTERNAL', `unknown element type ${number}`);
  return type;
}

/** The type that a tensor of each array class has when none is named. */
export const TYPE_OF_ARRAY = new Map([
  ['Float32Array', 'float32'], ['Uint8Array', 'uint8'], ['Uint8ClampedArray', 'uint8'], ['Int8Array', 'int8'], ['Uint16Array', 'uint16'],
  ['Int16Array', 'int16'], ['Int32Array', 'int32'], ['BigInt64Array', 'int64'], ['Float64Array', 'float64'], ['Uint32Array', 'uint32'],
  ['BigUint64Array', 'uint64'], ['Float16Array', 'float16'],
]);

/**
 * The class of a typed array by name, also when it comes from another realm (an iframe, a test runner's context).
 * @param {any} value
 * @returns {string}
 */
export function arrayClass(value) {
  return ArrayBuffer.isView(value) ? /** @type {any} */ (value)[Symbol.toStringTag] ?? '' : '';
}
