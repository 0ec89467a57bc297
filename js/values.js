// Values across the border: JavaScript tensors, arrays, Maps and undefined to values in wasm memory, and back.
//
// ONNX            JavaScript
// tensor          Tensor (anything with type, dims and data)
// sequence        array of values
// map             Map; int64 keys are BigInt
// optional        the value, or undefined
// sparse tensor   { dims, values, indices }, values and indices being Tensors

import { check, LinnetError } from './errors.js';
import { describe, Tensor, toArray, ViewTensor } from './tensor.js';
import { decodeUtf8 } from './text.js';
import { typeNamed, typeNumbered } from './types.js';

export const KIND = Object.freeze({ none: 0, tensor: 1, sequence: 2, map: 3, optional: 4, sparse: 5 });

/** Where the fields of an ln_value lie, in 32-bit words; src/api.c asserts it. */
const KIND_WORD = 0;
const TYPE_WORD = 1;
const RANK_WORD = 2;
const DIMS_WORD = 4;
const DATA_WORD = DIMS_WORD + 2 * 16;

/** Bytes of one ln_string: a pointer and a length. */
const STRING_BYTES = 8;

/** @param {any} value */
export function isTensor(value) {
  return typeof value === 'object' && value !== null && typeof value.type === 'string' && Array.isArray(value.dims) && 'data' in value;
}

/**
 * A copy that later writes to the caller's arrays do not reach.
 * @param {any} value
 * @returns {any}
 */
export function snapshot(value) {
  if (isTensor(value)) return new Tensor(value.type, new Tensor(value.type, value.data, value.dims).data.slice(), value.dims);
  if (Array.isArray(value)) return value.map(snapshot);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, snapshot(item)]));
  return value;
}

/** Reads and writes the values of one session. */
export class Values {
  /**
   * @param {import('./runtime.js').Runtime} runtime
   * @param {number} session the ln_session
   * @param {(status: number) => void} expectOk throws the session's error unless the status is 0
   */
  constructor(runtime, session, expectOk) {
    this.runtime = runtime;
    this.session = session;
    this.expectOk = expectOk;
  }

  /**
   * Feeds one input of the run that was begun.
   * @param {number} index
   * @param {any} value
   * @param {import('./session.js').ValueInfo} info
   */
  feed(index, value, info) {
    if (info.kind === 'tensor') {
      check(isTensor(value), 'INVALID_FEED', () => `input '${info.name}' takes a Tensor, not ${describe(value)}`);
      const { type, data } = elementsOf(value, info.name);
      const dims = this.runtime.dims(value.dims);
      this.expectOk(this.runtime.call('ln_run_feed', this.session, index, type.number, value.dims.length, dims));
      this.#fill(this.runtime.call('ln_run_input', this.session, index) >>> 0, type, data);
      return;
    }
    const built = this.#build(value, info);
    this.expectOk(this.runtime.call('ln_run_feed_value', this.session, index, built));
  }

  /**
   * @param {number} pointer the ln_value of a tensor
   * @param {import('./types.js').ElementType} type
   * @param {any} data
   */
  #fill(pointer, type, data) {
    if (type.isString) {
      for (let i = 0; i < data.length; i++) {
        this.expectOk(this.runtime.withText(data[i], (text, length) =>
          this.runtime.call('ln_value_set_string', this.session, pointer, BigInt(i), text, length)));
      }
      return;
    }
    const target = this.#address(pointer);
    const heap = this.runtime.view(type.heap);
    // Bits are copied: through the heap's class where the array is of another (float16).
    const source = data.constructor === type.heap ? data : new type.heap(data.buffer, data.byteOffset, data.length);
    heap.set(source, target / type.heap.BYTES_PER_ELEMENT);
  }

  /**
   * Builds a value that is no plain tensor feed.
   * @param {any} value
   * @param {any} info what the model declares: { kind, type, name, ... }, with `element` for what it holds
   * @returns {number} an ln_value, owned by the caller
   */
  #build(value, info = {}) {
    if (info.kind === 'optional') {
      return this.#collect(KIND.optional, info, value === undefined || value === null ? [] : [() => this.#build(value, info.element)]);
    }
    if (isTensor(value)) return this.#buildTensor(value, info.name);
    if (Array.isArray(value)) return this.#collect(KIND.sequence, info, value.map((item) => () => this.#build(item, info.element)));
    if (value instanceof Map) return this.#buildMap(value, info);
    throw new LinnetError('INVALID_FEED', `input '${info.name ?? ''}' takes a ${info.kind ?? 'value'}, not ${describe(value)}`);
  }

  /**
   * @param {any} tensor
   * @param {string} [name]
   */
  #buildTensor(tensor, name = '') {
    const { type, data } = elementsOf(tensor, name);
    const dims = this.runtime.dims(tensor.dims);
    const pointer = this.#made(this.runtime.call('ln_value_new_tensor', this.session, type.number, tensor.dims.length, dims));
    this.#fill(pointer, type, data);
    return pointer;
  }

  /**
   * @param {Map<any, any>} map
   * @param {any} info
   */
  #buildMap(map, info) {
    const keys = [...map.keys()];
    const isText = keys.every((key) => typeof key === 'string') && (keys.length > 0 || info.key === 'string');
    const values = [...map.values()];
    const keyTensor = new Tensor(isText ? 'string' : 'int64', isText ? keys : keys.map(BigInt), [keys.length]);
    const isPlain = values.every((item) => typeof item !== 'object');
    const valueTensor = () => new Tensor(info.element?.type ?? plainType(values[0]), values, [values.length]);
    return this.#collect(KIND.map, info, [
      () => this.#buildTensor(keyTensor),
      () => (isPlain ? this.#buildTensor(valueTensor()) : this.#build(values, info.element)),
    ]);
  }

  /**
   * @param {number} kind
   * @param {any} info
   * @param {(() => number)[]} makers one per item
   */
  #collect(kind, info, makers) {
    const type = innermostType(info);
    const pointer = this.#made(this.runtime.call('ln_value_new_items', this.session, kind, type ? typeNamed(type).number : 0));
    for (const make of makers) this.expectOk(this.runtime.call('ln_value_add_item', this.session, pointer, make()));
    return pointer;
  }

  /** @param {number} pointer */
  #made(pointer) {
    if (!pointer) this.expectOk(this.runtime.call('ln_error_code', this.session));
    check(pointer, 'OUT_OF_MEMORY', 'no memory for an input');
    return pointer >>> 0;
  }

  // ---- Reading

  /**
   * The value at a pointer, copied.
   * @param {number} pointer
   * @returns {any}
   */
  read(pointer) {
    switch (this.#kind(pointer)) {
      case KIND.none:
        return undefined;
      case KIND.tensor:
        return this.#readTensor(pointer);
      case KIND.sequence:
        return this.#items(pointer).map((item) => this.read(item));
      case KIND.map: {
        const [keys, values] = this.#items(pointer).map((item) => this.read(item));
        return new Map(Array.from(keys.data, (key, i) => [key, Array.isArray(values) ? values[i] : values.data[i]]));
      }
      case KIND.optional:
        return this.read(this.#items(pointer)[0]);
      default: {
        const [values, indices] = this.#items(pointer).map((item) => this.read(item));
        return { dims: this.#dims(pointer), values, indices };
      }
    }
  }

  /** @param {number} pointer */
  #items(pointer) {
    const count = this.runtime.call('ln_value_items_of', pointer);
    return Array.from({ length: count }, (_, i) => this.runtime.call('ln_value_item_of', pointer, i) >>> 0);
  }

  /** @param {number} pointer */
  #kind(pointer) {
    return pointer ? this.runtime.view(Int32Array)[pointer / 4 + KIND_WORD] : KIND.none;
  }

  /** @param {number} pointer */
  #dims(pointer) {
    const words = this.runtime.view(Uint32Array);
    const rank = words[pointer / 4 + RANK_WORD];
    const dims = new Array(rank);
    for (let i = 0, at = pointer / 4 + DIMS_WORD; i < rank; i++, at += 2) dims[i] = words[at] + words[at + 1] * 2 ** 32;
    return dims;
  }

  /** @param {number} pointer */
  #type(pointer) {
    return typeNumbered(this.runtime.view(Int32Array)[pointer / 4 + TYPE_WORD]);
  }

  /** Where the elements of a tensor lie. @param {number} pointer */
  #address(pointer) {
    return this.runtime.view(Uint32Array)[pointer / 4 + DATA_WORD];
  }

  /** @param {number} pointer */
  #readTensor(pointer) {
    const { type, dims, data, length } = this.#locate(pointer);
    if (type.isString) return new Tensor('string', this.#readStrings(data, length), dims);
    const copy = this.runtime.view(type.heap).slice(data, data + length);
    return new Tensor(type.name, copy, dims);
  }

  /**
   * Type, dims, and place of a tensor's elements, in elements of the heap array (a pointer for strings).
   * @param {number} pointer
   */
  #locate(pointer) {
    const type = this.#type(pointer);
    const dims = this.#dims(pointer);
    let size = 1;
    for (let i = 0; i < dims.length; i++) size *= dims[i];
    const length = type.arrayLength(size);
    const address = length ? this.#address(pointer) : 0;
    return { type, dims, length, data: type.isString ? address : address / type.heap.BYTES_PER_ELEMENT };
  }

  /**
   * @param {number} address
   * @param {number} count
   */
  #readStrings(address, count) {
    const words = this.runtime.view(Uint32Array);
    const bytes = this.runtime.view(Uint8Array);
    return Array.from({ length: count }, (_, i) => {
      const at = (address + i * STRING_BYTES) / 4;
      return decodeUtf8(bytes, words[at], words[at] + words[at + 1]);
    });
  }

  /**
   * A tensor over the wasm memory, valid while `isCurrent` answers true. Values that are no numeric tensor are copied.
   * @param {number} pointer
   * @param {() => boolean} isCurrent
   */
  readView(pointer, isCurrent) {
    if (this.#kind(pointer) !== KIND.tensor) return this.read(pointer);
    const { type, dims, data, length } = this.#locate(pointer);
    if (type.isString) return this.#readTensor(pointer);
    /** @type {any} */
    let view;
    return new ViewTensor(type.name, dims, () => {
      check(isCurrent(), 'INVALID_ARGUMENT', 'the view is out of date: another run or a release has taken its memory');
      if (view?.buffer !== this.runtime.buffer) {
        view = new type.array(this.runtime.buffer, data * type.heap.BYTES_PER_ELEMENT, length);
      }
      return view;
    });
  }

  /**
   * Copies an output into a tensor of the caller's, which must have its type and shape. `cache` keeps the view of the
   * wasm memory from run to run, so that a steady loop makes no arrays.
   * @param {number} pointer
   * @param {any} target
   * @param {string} name
   * @param {{ view?: any, address?: number }} cache
   */
  readInto(pointer, target, name, cache) {
    check(this.#kind(pointer) === KIND.tensor, 'INVALID_ARGUMENT',
      () => `output '${name}' is no tensor and cannot be pre-allocated`);
    const type = this.#type(pointer);
    check(target.type === type.name && this.#hasDims(pointer, target.dims), 'INVALID_ARGUMENT',
      () => `output '${name}' is ${type.name} [${this.#dims(pointer)}], but the pre-allocated tensor is ${target.type} [${target.dims}]`);
    if (type.isString) {
      const { data, length } = this.#locate(pointer);
      this.#readStrings(data, length).forEach((text, i) => (target.data[i] = text));
      return target;
    }
    const data = target.data;
    const into = data.constructor === type.heap ? data : new type.heap(data.buffer, data.byteOffset, data.length);
    if (!into.length) return target;
    const address = this.#address(pointer);
    const isSamePlace = cache.address === address && cache.view?.length === into.length;
    const isKept = isSamePlace && cache.view?.buffer === this.runtime.buffer;
    if (!isKept) {
      cache.view = new type.heap(this.runtime.buffer, address, into.length);
      cache.address = address;
    }
    into.set(cache.view);
    return target;
  }

  /**
   * @param {number} pointer
   * @param {readonly number[]} dims
   */
  #hasDims(pointer, dims) {
    const words = this.runtime.view(Uint32Array);
    if (words[pointer / 4 + RANK_WORD] !== dims.length) return false;
    for (let i = 0, at = pointer / 4 + DIMS_WORD; i < dims.length; i++, at += 2) {
      if (words[at] + words[at + 1] * 2 ** 32 !== dims[i]) return false;
    }
    return true;
  }
}

/**
 * Type and checked elements of a tensor that may come from another package.
 * @param {any} tensor
 * @param {string} name of the input
 */
function elementsOf(tensor, name) {
  const type = typeNamed(tensor.type);
  const data = tensor instanceof Tensor ? tensor.data : toArray(type, tensor.data);
  let size = 1;
  for (let i = 0; i < tensor.dims.length; i++) size *= tensor.dims[i];
  const expected = type.arrayLength(size);
  check(data.length === expected, 'INVALID_FEED',
    () => `input '${name}': dims [${tensor.dims}] of ${type.name} hold ${expected} array elements, but the data has ${data.length}`);
  return { type, data };
}

/** @param {any} info @returns {string | undefined} */
function innermostType(info) {
  return info?.element ? innermostType(info.element) : info?.type;
}

/** @param {any} value */
function plainType(value) {
  return typeof value === 'string' ? 'string' : typeof value === 'bigint' ? 'int64' : 'float32';
}
