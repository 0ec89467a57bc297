// Tensor: a type, dimensions and an array in JavaScript. The surface is onnxruntime-common's; a tensor made by that
// package is accepted wherever one of these is, because only `type`, `dims` and `data` are read.

import { check, LinnetError } from './errors.js';
import { imageToTensor, tensorToDataUrl, tensorToImageData } from './env/image.js';
import { arrayClass, TYPE_OF_ARRAY, typeNamed } from './types.js';

/** Stands in for `data` when a subclass has the elements. */
const ELSEWHERE = Symbol('elsewhere');

export class Tensor {
  /** @type {any} */
  #data;
  #isDisposed = false;

  /**
   * new Tensor(type, data, dims?), new Tensor(data, dims?) or new Tensor({ location: 'cpu-pinned', type, data, dims }).
   * Typed arrays are kept, not copied.
   * @param {any} first
   * @param {any} [second]
   * @param {any} [third]
   */
  constructor(first, second, third) {
    let [type, data, dims] = typeof first === 'string' ? [first, second, third] : [undefined, first, second];
    if (typeof first === 'object' && first !== null && 'location' in first) {
      check(['cpu', 'cpu-pinned'].includes(first.location), 'UNSUPPORTED',
        () => `a tensor cannot live in '${first.location}': linnet computes in WebAssembly memory`);
      ({ type, data, dims } = first);
    }
    type ??= inferType(data);
    const element = typeNamed(type);
    if (data !== ELSEWHERE) data = toArray(element, data);
    dims = dims === undefined ? [data.length] : checkDims(dims);
    /** @type {string} */
    this.type = type;
    /** @type {readonly number[]} */
    this.dims = Object.freeze(dims);
    /** Number of elements. */
    this.size = dims.reduce((/** @type {number} */ size, /** @type {number} */ dim) => size * dim, 1);
    if (data !== ELSEWHERE) {
      const expected = element.arrayLength(this.size);
      check(data.length === expected, 'INVALID_ARGUMENT',
        () => `a ${type} tensor of dims [${dims}] holds ${expected} array elements, but the data has ${data.length}`);
    }
    this.#data = data;
  }

  /** Where the elements are: 'cpu', or 'none' once disposed. */
  get location() {
    return this.#isDisposed ? 'none' : 'cpu';
  }

  /** @returns {any} the elements */
  get data() {
    check(!this.#isDisposed, 'INVALID_ARGUMENT', 'the tensor was disposed');
    return this.#data;
  }

  /** @returns {never} */
  get texture() {
    return refuse('WebGL textures');
  }

  /** @returns {never} */
  get gpuBuffer() {
    return refuse('WebGPU buffers');
  }

  /** @returns {never} */
  get mlTensor() {
    return refuse('WebNN tensors');
  }

  async getData() {
    return this.data;
  }

  dispose() {
    this.#isDisposed = true;
    this.#data = undefined;
  }

  /**
   * A tensor with other dims over the same elements.
   * @param {readonly number[]} dims
   */
  reshape(dims) {
    return new Tensor(this.type, this.data, dims);
  }

  /** @param {any} [options] */
  toImageData(options) {
    return tensorToImageData(this, options);
  }

  /** @param {any} [options] */
  toDataURL(options) {
    return tensorToDataUrl(this, options);
  }

  /**
   * A tensor of an image's pixels.
   * @param {any} image ImageData, ImageBitmap, an image element or a URL
   * @param {any} [options]
   * @returns {Promise<Tensor>}
   */
  static async fromImage(image, options) {
    const { type, data, dims } = await imageToTensor(image, options);
    return new Tensor(type, data, dims);
  }

  /**
   * @param {string} type
   * @param {any} buffer
   * @param {readonly number[]} [dims]
   */
  static fromPinnedBuffer(type, buffer, dims) {
    return new Tensor(type, buffer, dims);
  }

  /** @returns {never} */
  static fromTexture() {
    return refuse('WebGL textures');
  }

  /** @returns {never} */
  static fromGpuBuffer() {
    return refuse('WebGPU buffers');
  }

  /** @returns {never} */
  static fromMLTensor() {
    return refuse('WebNN tensors');
  }
}

/**
 * A tensor over memory that somebody else owns: the array is made anew at each read, so that it stays valid when the
 * memory grows, and reading throws once the owner says that the memory holds something else.
 */
export class ViewTensor extends Tensor {
  #read;

  /**
   * @param {string} type
   * @param {number[]} dims
   * @param {() => any} read
   */
  constructor(type, dims, read) {
    super(type, ELSEWHERE, dims);
    this.#read = read;
  }

  get data() {
    check(this.location !== 'none', 'INVALID_ARGUMENT', 'the tensor was disposed');
    return this.#read();
  }

  get location() {
    return super.location;
  }
}

/**
 * @param {string} what
 * @returns {never}
 */
function refuse(what) {
  throw new LinnetError('UNSUPPORTED', `linnet computes in WebAssembly memory and does not read ${what}`);
}

/** @param {any} data */
function inferType(data) {
  if (Array.isArray(data)) {
    check(data.length > 0, 'INVALID_ARGUMENT',
      'the type of an empty array cannot be inferred: name it, as in new Tensor(type, data, dims)');
    if (typeof data[0] === 'string') return 'string';
    if (typeof data[0] === 'boolean') return 'bool';
    throw new LinnetError('INVALID_ARGUMENT', `an array of ${typeof data[0]} needs a type, as in new Tensor('float32', data, dims)`);
  }
  const type = TYPE_OF_ARRAY.get(arrayClass(data));
  check(type, 'INVALID_ARGUMENT', () => `tensor data is a typed array or an array, not ${describe(data)}`);
  return type;
}

/**
 * The data as the array class of the type: typed arrays as they are, plain arrays converted.
 * @param {import('./types.js').ElementType} type
 * @param {any} data
 */
export function toArray(type, data) {
  if (type.isString) {
    check(Array.isArray(data) && data.every((item) => typeof item === 'string'), 'INVALID_ARGUMENT',
      'a string tensor takes an array of strings');
    return data;
  }
  const Class = /** @type {any} */ (type.array);
  if (Array.isArray(data)) {
    const isBig = Class === BigInt64Array || Class === BigUint64Array;
    if (type.name === 'float16' && Class === Uint16Array && data.some((item) => !Number.isInteger(item))) {
      throw new LinnetError('INVALID_ARGUMENT', 'this engine has no Float16Array: give float16 data as a Uint16Array of bits');
    }
    return isBig ? Class.from(data, BigInt) : Class.from(data);
  }
  check(type.accepts.has(arrayClass(data)), 'INVALID_ARGUMENT',
    () => `${type.name} data is a ${Class.name} or an array, not ${describe(data)}`);
  // The same bits, seen through the class that this engine hands out.
  return data.constructor === Class ? data : new Class(data.buffer, data.byteOffset, data.length);
}

/** @param {any} dims */
function checkDims(dims) {
  check(Array.isArray(dims), 'INVALID_ARGUMENT', () => `dims are an array of integers, not ${describe(dims)}`);
  for (const dim of dims) check(Number.isSafeInteger(dim) && dim >= 0, 'INVALID_ARGUMENT',
    () => `dims are non-negative integers, not ${String(dim)}`);
  return dims.slice();
}

/** @param {any} value */
export function describe(value) {
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? `a ${value.constructor?.name ?? 'object'}` : `${typeof value} ${String(value)}`;
}
