// The ONNX messages that tests read: tensors, sequences and optionals as test data, and the inputs and outputs of a
// model. Values come out as linnet's own: Tensor, arrays, undefined.

import { Tensor } from 'linnet';
import { fields, int64, Message, string, varints } from './wire.mjs';

/** Types by their number in TensorProto.DataType. */
export const TYPES = [
  undefined, 'float32', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'float16', 'float64', 'uint32', 'uint64',
  'complex64', 'complex128', 'bfloat16', 'float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz', 'uint4', 'int4', 'float4e2m1',
  'float8e8m0', 'uint2', 'int2', 'float6e2m3', 'float6e3m2',
];
export const BITS = {
  float32: 32, uint8: 8, int8: 8, uint16: 16, int16: 16, int32: 32, int64: 64, bool: 8, float16: 16, float64: 64, uint32: 32, uint64: 64,
  complex64: 64, complex128: 128, bfloat16: 16, float8e4m3fn: 8, float8e4m3fnuz: 8, float8e5m2: 8, float8e5m2fnuz: 8, uint4: 4, int4: 4,
  float4e2m1: 4, float8e8m0: 8, uint2: 2, int2: 2, float6e2m3: 6, float6e3m2: 6,
};
const ARRAYS = {
  float32: Float32Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  float16: Uint16Array, float64: Float64Array, uint32: Uint32Array, uint64: BigUint64Array, complex64: Float32Array,
  complex128: Float64Array, bfloat16: Uint16Array,
};

/** A tensor of raw little-endian bytes. */
export function tensorOf(type, bytes, dims) {
  const Class = ARRAYS[type] ?? Uint8Array;
  return new Tensor(type, new Class(new Uint8Array(bytes).buffer), dims);
}

/** TensorProto to Tensor. */
export function readTensor(bytes) {
  const dims = [];
  let number = 0;
  let raw;
  const strings = [];
  /** Numbers of the typed fields, each as many bytes as its type has. */
  const typed = [];
  for (const [field, wire, value] of fields(bytes)) {
    if (field === 1) for (const dim of varints(wire, value)) dims.push(Number(int64(dim)));
    else if (field === 2) number = value;
    else if (field === 4 || field === 10) typed.push({ bytes: value });
    else if (field === 5 || field === 7 || field === 11) for (const item of varints(wire, value)) typed.push({ item });
    else if (field === 6) strings.push(string(value));
    else if (field === 9) raw = value;
  }
  const type = TYPES[number];
  if (!type) throw new Error(`a test tensor of type ${number}`);
  if (type === 'string') return new Tensor('string', strings, dims);
  return tensorOf(type, raw ?? joinTyped(type, typed, dims), dims);
}

function joinTyped(type, typed, dims) {
  if (typed.length && typed[0].bytes) return concat(typed.map((each) => each.bytes));
  const size = dims.reduce((product, dim) => product * dim, 1);
  const width = Math.max(1, BITS[type] / 8);
  const result = new DataView(new ArrayBuffer(Math.ceil((size * BITS[type]) / 8)));
  typed.forEach(({ item }, i) => {
    for (let k = 0, rest = int64(item); k < width && i * width + k < result.byteLength; k++, rest >>= 8n) {
      result.setUint8(i * width + k, Number(rest & 0xffn));
    }
  });
  return new Uint8Array(result.buffer);
}

function concat(parts) {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/** SequenceProto to an array. */
export function readSequence(bytes) {
  const items = [];
  const readers = { 3: readTensor, 5: readSequence, 6: readMap, 7: readOptional };
  for (const [field, , value] of fields(bytes)) if (readers[field]) items.push(readers[field](value));
  return items;
}

/** OptionalProto to the value in it, or undefined. */
export function readOptional(bytes) {
  const readers = { 3: readTensor, 5: readSequence, 6: readMap, 7: readOptional };
  for (const [field, , value] of fields(bytes)) if (readers[field]) return readers[field](value);
  return undefined;
}

/** MapProto to a Map. */
export function readMap(bytes) {
  const keys = [];
  let values = [];
  for (const [field, wire, value] of fields(bytes)) {
    if (field === 3) for (const key of varints(wire, value)) keys.push(int64(key));
    else if (field === 4) keys.push(string(value));
    else if (field === 5) values = readSequence(value);
  }
  // The values are one tensor with an element per key, or an item per key: a number when it is a scalar.
  const [only] = values;
  const isOne = values.length === 1 && only?.data?.length === keys.length;
  const items = isOne ? Array.from(only.data) : values.map((item) => (item?.dims?.length === 0 ? item.data[0] : item));
  return new Map(keys.map((key, i) => [key, items[i]]));
}

const READERS = { tensor: readTensor, sequence: readSequence, optional: readOptional, map: readMap };

/**
 * Reads test data of the kind that the model declares. Older data holds bfloat16 as uint16, for want of a type in NumPy:
 * such bits take the declared type.
 */
export function readValue({ kind, type }, bytes) {
  const value = READERS[kind](bytes);
  const isBits = kind === 'tensor' && type && type !== value.type && value.type === 'uint16' && BITS[type] === 16;
  return isBits ? new Tensor(type, value.data, value.dims) : value;
}

/** Names and kinds of a model's inputs and outputs, and the names of its initializers. */
export function readSignature(bytes) {
  const signature = { inputs: [], outputs: [], initializers: new Set() };
  for (const [field, , graph] of fields(bytes)) {
    if (field !== 7) continue;
    for (const [inner, , value] of fields(graph)) {
      if (inner === 5) signature.initializers.add(stringField(value, 8));
      else if (inner === 15) signature.initializers.add(stringField(messageField(value, 1), 8));
      else if (inner === 11) signature.inputs.push(readValueInfo(value));
      else if (inner === 12) signature.outputs.push(readValueInfo(value));
    }
  }
  return signature;
}

const KINDS = { 1: 'tensor', 4: 'sequence', 5: 'map', 8: 'sparse', 9: 'optional' };

function readValueInfo(bytes) {
  let kind = 'tensor';
  let type;
  for (const [field, , value] of fields(messageField(bytes, 2))) {
    kind = KINDS[field] ?? kind;
    if (field === 1) for (const [inner, , number] of fields(value)) if (inner === 1) type = TYPES[number];
  }
  return { name: stringField(bytes, 1), kind, type };
}

function messageField(bytes, wanted) {
  for (const [field, , value] of fields(bytes)) if (field === wanted) return value;
  return new Uint8Array(0);
}

const stringField = (bytes, wanted) => string(messageField(bytes, wanted));

// ---- Writing models

const ATTRIBUTE = {
  float: (message, value) => message.float(2, value).varint(20, 1),
  int: (message, value) => message.varint(3, value).varint(20, 2),
  string: (message, value) => message.string(4, value).varint(20, 3),
  tensor: (message, value) => message.message(5, tensorProto(value)).varint(20, 4),
  graph: (message, value) => message.message(6, value).varint(20, 5),
  floats: (message, value) => value.reduce((each, item) => each.float(7, item), message).varint(20, 6),
  ints: (message, value) => value.reduce((each, item) => each.varint(8, item), message).varint(20, 7),
  strings: (message, value) => value.reduce((each, item) => each.string(9, item), message).varint(20, 8),
};

/** TensorProto of a tensor; its name is optional. `external` is { location, offset, length } in place of data. */
export function tensorProto({ type, dims, data, external }, name = '') {
  const message = new Message();
  for (const dim of dims) message.varint(1, dim);
  message.varint(2, TYPES.indexOf(type));
  if (external) {
    for (const [key, value] of Object.entries(external)) message.message(13, new Message().string(1, key).string(2, String(value)));
    message.varint(14, 1);
  } else if (type === 'string') for (const item of data) message.string(6, item);
  else message.bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return name ? message.string(8, name) : message;
}

/** ValueInfoProto. */
export function valueInfo({ name, ...type }) {
  return new Message().string(1, name).message(2, typeProto(type));
}

/**
 * TypeProto of a tensor, whose dims may be numbers, names or undefined for an unknown rank; or with `kind` 'sequence',
 * 'optional' or 'map', of what holds `element` (and `key`).
 */
function typeProto({ kind = 'tensor', type, dims, element, key }) {
  const number = Number(Object.keys(KINDS).find((each) => KINDS[each] === kind));
  if (kind === 'map') return new Message().message(number, new Message().varint(1, TYPES.indexOf(key)).message(2, typeProto(element)));
  if (kind !== 'tensor') return new Message().message(number, new Message().message(1, typeProto(element)));
  const tensor = new Message().varint(1, TYPES.indexOf(type));
  if (dims) {
    const shape = new Message();
    for (const dim of dims) shape.message(1, typeof dim === 'number' ? new Message().varint(1, dim) : new Message().string(2, dim));
    tensor.message(2, shape);
  }
  return new Message().message(1, tensor);
}

/** NodeProto. Attributes are { name, type, data }. */
export function nodeProto({ op, domain = '', inputs = [], outputs = [], attributes = [], name = '' }) {
  const node = new Message();
  for (const input of inputs) node.string(1, input);
  for (const output of outputs) node.string(2, output);
  node.string(3, name).string(4, op).string(7, domain);
  for (const attribute of attributes) node.message(5, ATTRIBUTE[attribute.type](new Message().string(1, attribute.name), attribute.data));
  return node;
}

/** GraphProto. */
export function graphProto({ nodes, inputs = [], outputs = [], initializers = [], name = 'graph' }) {
  const graph = new Message();
  for (const node of nodes) graph.message(1, nodeProto(node));
  graph.string(2, name);
  for (const initializer of initializers) graph.message(5, tensorProto(initializer, initializer.name));
  for (const input of inputs) graph.message(11, valueInfo(input));
  for (const output of outputs) graph.message(12, valueInfo(output));
  return graph;
}

/** The bytes of a model with one graph. */
export function buildModel({ opsets = { '': 21 }, irVersion = 10, producer = 'linnet-tests', metadata = {}, ...graph }) {
  const model = new Message().varint(1, irVersion).string(2, producer).message(7, graphProto(graph));
  for (const [domain, version] of Object.entries(opsets)) model.message(8, new Message().string(1, domain).varint(2, version));
  for (const [key, value] of Object.entries(metadata)) model.message(14, new Message().string(1, key).string(2, value));
  return model.finish();
}
