// What the tables of tests/js/bad_inputs are written in: short makers of tensors and attributes, and the model of one
// node that they make.

/**
 * What is wrong, the inputs, the attributes, and what else: the version (the newest is the default), the number of outputs.
 * A key is an operator's name, behind its domain and a colon where that is not the standard's.
 * @typedef {Record<string, [string, any[], object?, { version?: number, outputs?: number }?][]>} Table
 */

import { Tensor } from 'linnet';
import { buildModel, graphProto } from './onnx.mjs';

const count = (dims) => dims.reduce((product, dim) => product * dim, 1);
const maker = (type, Class) => (values, dims = [values.length]) => new Tensor(type, Class.from(values), dims);

/** A float32 tensor of a shape: f(2, 3). */
export const f = (...dims) => new Tensor('float32', Float32Array.from({ length: count(dims) }, (_, i) => ((i * 7) % 11) / 8 + 0.25), dims);
export const floats = maker('float32', Float32Array);
export const doubles = maker('float64', Float64Array);
export const ints = (values, dims = [values.length]) => new Tensor('int64', BigInt64Array.from(values, BigInt), dims);
export const int32s = maker('int32', Int32Array);
export const bytes = maker('uint8', Uint8Array);
export const int8s = maker('int8', Int8Array);
export const bools = maker('bool', Uint8Array);
export const words = (values, dims = [values.length]) => new Tensor('string', values, dims);
/** A uint8 tensor of a shape. */
export const u = (...dims) => bytes(Array.from({ length: count(dims) }, (_, i) => (i * 7) % 11), dims);
/** Scalars. */
export const one = (value) => floats([value], []);
export const n = (value) => ints([value], []);
export const i32 = (value) => int32s([value], []);
export const zero = bytes([0], []);
/** A tensor of a type that JavaScript has no numbers for, all bits zero. */
export const blank = (type, ...dims) => new Tensor(type, type === 'string' ? Array(count(dims)).fill('') : new (CLASSES[type] ?? Uint8Array)(lengthOf(type, dims)), dims);

const CLASSES = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, float16: Uint16Array, bfloat16: Uint16Array, complex64: Float32Array, complex128: Float64Array,
};
const PACKED = { uint4: 2, int4: 2, float4e2m1: 2, uint2: 4, int2: 4 };
const lengthOf = (type, dims) => Math.ceil(count(dims) / (PACKED[type] ?? 1)) * (type.startsWith('complex') ? 2 : 1);

/** A float attribute that could be taken for an integer. */
export const real = (value) => ({ type: 'float', data: value });
export const reals = (...values) => ({ type: 'floats', data: values });
/** A graph attribute: inputs and outputs are names of float32 tensors, or { name, type, dims }. */
export const graph = (inputs, outputs, nodes, initializers = []) => ({ type: 'graph', data: graphProto({ inputs: inputs.map(infoOf), outputs: outputs.map(infoOf), nodes, initializers }) });
/** A graph that gives constants and reads nothing. */
export const body = (inputs, outputs) => graph(inputs, outputs, outputs.map((name) => ({ op: 'Constant', outputs: [name], attributes: [{ name: 'value_float', type: 'float', data: 1 }] })));
const infoOf = (each) => (typeof each === 'string' ? { name: each, type: 'float32' } : each);
/** Input of a sequence of float32 tensors, and of a map from words to numbers. */
export const list = (...tensors) => ({ value: tensors, info: { kind: 'sequence', element: { type: 'float32' } } });
export const map = (entries, key = 'string') => ({ value: new Map(entries), info: { kind: 'map', key, element: { type: 'float32', dims: [] } } });

function attributeOf([name, value]) {
  if (typeof value === 'number') return { name, type: Number.isInteger(value) ? 'int' : 'float', data: value };
  if (typeof value === 'string') return { name, type: 'string', data: value };
  if (value instanceof Tensor) return { name, type: 'tensor', data: value };
  if (Array.isArray(value)) return { name, type: typeof value[0] === 'string' ? 'strings' : 'ints', data: value };
  return { name, ...value };
}

/**
 * The model of one node named 'the node', and its feeds.
 * @param {{ op: string, domain?: string, version: number, inputs: any[], attributes?: object, outputs?: number }} spec
 *   an input is a tensor, list(...), map(...) or null where it is left out
 */
export function modelOf({ op, domain = '', version, inputs, attributes = {}, outputs = 1 }) {
  const infos = inputs.map((input, i) => input && (input instanceof Tensor ? { name: `x${i}`, type: input.type, dims: input.dims } : { name: `x${i}`, ...input.info }));
  const model = buildModel({
    opsets: { '': domain ? 17 : version, ...(domain && { [domain]: version }) },
    irVersion: 13,
    inputs: infos.filter(Boolean),
    outputs: Array.from({ length: outputs }, (_, i) => ({ name: `y${i}` })),
    nodes: [{
      op, domain, name: 'the node',
      inputs: inputs.map((input, i) => (input ? `x${i}` : '')), outputs: Array.from({ length: outputs }, (_, i) => `y${i}`),
      attributes: Object.entries(attributes).map(attributeOf),
    }],
  });
  return { model, feeds: Object.fromEntries(inputs.flatMap((input, i) => (input ? [[`x${i}`, input.value ?? input]] : []))) };
}
