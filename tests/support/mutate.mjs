// One thing at a time made wrong in a case of one node: an attribute, or an input's rank, a dimension, a value or its
// type. The variants say nothing about what is right: they feed operators what their authors may not have thought of.

import { Tensor } from 'linnet';
import { BITS, TYPES, tensorOf, tensorProto } from './onnx.mjs';
import { fields, int64, Message, string, varints } from './wire.mjs';

const HUGE = 2n ** 62n;
const INTS = [-1n, 0n, 7n, -(2n ** 31n), 2n ** 31n, -HUGE, HUGE];

/** Yields { what, model, feeds } for a model and its feeds; the model takes inputs of any shape. */
export function* mutations(bytes, feeds) {
  const model = openModel(bytes);
  for (const [what, change] of attributeChanges(model.node)) yield { what, model: model.with({ node: change }), feeds };
  for (const [name, value] of Object.entries(feeds)) {
    if (!(value instanceof Tensor)) continue;
    for (const [what, tensor] of tensorChanges(value)) {
      const changed = { ...feeds, [name]: tensor };
      yield { what: `${name}: ${what}`, model: model.with({ types: changed }), feeds: changed };
      // The same as a constant, which is folded and packed at load.
      const { [name]: constant, ...rest } = changed;
      yield { what: `constant ${name}: ${what}`, model: model.with({ types: changed, constants: { [name]: constant } }), feeds: rest };
    }
  }
}

/** The operator of a case of one node, as `domain::name`, or undefined when there are several nodes. */
export function operatorOf(bytes) {
  const nodes = [...fields(pick(bytes, 7)[0] ?? new Uint8Array(0))].filter(([field]) => field === 1);
  if (nodes.length !== 1) return undefined;
  return `${string(pick(nodes[0][2], 7)[0] ?? new Uint8Array(0))}::${string(pick(nodes[0][2], 4)[0])}`;
}

const pick = (bytes, wanted) => [...fields(bytes)].filter(([field]) => field === wanted).map(([, , value]) => value);

function openModel(bytes) {
  const graph = pick(bytes, 7)[0];
  return {
    node: pick(graph, 1)[0],
    /** The model with another node, other types of inputs (of any shape), and inputs that become constants. */
    with({ node, types = {}, constants = {} }) {
      return rewrite(bytes, (field, value) => (field === 7 ? rewriteGraph(value, node, types, constants) : value));
    },
  };
}

function rewriteGraph(graph, node, types, constants) {
  const inner = rewrite(graph, (field, value) => {
    if (field === 1) return named(node ?? value);
    if (field !== 11) return value;
    const name = string(pick(value, 1)[0]);
    if (constants[name]) return undefined;
    return types[name] instanceof Tensor || isTensorInfo(value) ? untied(name, value, types[name]) : value;
  });
  const message = new Message().raw(inner);
  for (const [name, tensor] of Object.entries(constants)) message.message(5, tensorProto(tensor, name));
  return message.finish();
}

/** The node by the name 'the node', so that errors can be seen to give it. */
const named = (node) => new Message().raw(rewrite(node, (field, value) => (field === 3 ? undefined : value))).string(3, 'the node').finish();

const isTensorInfo = (info) => pick(pick(info, 2)[0] ?? new Uint8Array(0), 1).length > 0;

/** The ValueInfo of a tensor of any shape. */
function untied(name, info, tensor) {
  const number = tensor ? TYPES.indexOf(tensor.type) : pick(pick(pick(info, 2)[0], 1)[0], 1)[0];
  return new Message().string(1, name).message(2, new Message().message(1, new Message().varint(1, number))).finish();
}

/** Copies a message, each field's value changed by `change`; undefined drops the field. */
function rewrite(bytes, change) {
  const result = new Message();
  for (const [field, wire, value] of fields(bytes)) {
    const next = change(field, value);
    if (next !== undefined) result.field(field, wire, next);
  }
  return result.finish();
}

// ---- Attributes

function* attributeChanges(node) {
  const attributes = pick(node, 5);
  for (const attribute of attributes) {
    const name = string(pick(attribute, 1)[0]);
    const replace = (field, wire, values) => {
      const kept = rewrite(attribute, (each, value) => (each === field ? undefined : value));
      return nodeWith(node, name, values.reduce((message, value) => message.field(field, wire, value), new Message().raw(kept)).finish());
    };
    const ints = pick(attribute, 8).flatMap((value) => [...varints(value instanceof Uint8Array ? 2 : 0, value)].map(int64));
    const single = pick(attribute, 3);
    const text = pick(attribute, 4);
    yield [`without ${name}`, nodeWith(node, name, undefined)];
    if (ints.length) {
      yield [`${name}: one fewer`, replace(8, 0, ints.slice(1))];
      yield [`${name}: one more`, replace(8, 0, [...ints, 1n])];
      for (const at of new Set([0, ints.length - 1])) for (const value of INTS) yield [`${name}[${at}] = ${value}`, replace(8, 0, ints.with(at, value))];
    } else if (text.length) yield [`${name} = 'nonsense'`, replace(4, 2, [new TextEncoder().encode('nonsense')])];
    else if (single.length) for (const value of INTS) yield [`${name} = ${value}`, replace(3, 0, [value])];
    for (const [field, wire] of [[7, 5], [9, 2]]) {
      const list = [...fields(attribute)].filter(([each]) => each === field);
      if (list.length > 1 && list.every((each) => each[1] === wire)) yield [`${name}: one fewer`, replace(field, wire, list.slice(1).map(([, , value]) => value))];
    }
  }
}

function nodeWith(node, name, replacement) {
  return rewrite(node, (field, value) => (field === 5 && string(pick(value, 1)[0]) === name ? replacement : value));
}

// ---- Tensors

function* tensorChanges(tensor) {
  const { type, dims } = tensor;
  yield ['one axis more', resized(tensor, [...dims, 1])];
  yield ['two axes more in front', resized(tensor, [2, 1, ...dims])];
  if (dims.length) yield ['one axis fewer', resized(tensor, dims.slice(1))];
  if (dims.length > 1) yield ['a scalar', resized(tensor, [])];
  for (let axis = 0; axis < dims.length; axis++) {
    yield [`axis ${axis} longer`, resized(tensor, dims.with(axis, dims[axis] + 1))];
    if (dims[axis] > 1) yield [`axis ${axis} shorter`, resized(tensor, dims.with(axis, dims[axis] - 1))];
    yield [`axis ${axis} empty`, resized(tensor, dims.with(axis, 0))];
  }
  if ((type === 'int64' || type === 'int32') && tensor.data.length) {
    const wrap = type === 'int64' ? (value) => value : (value) => Number(BigInt.asIntN(32, value));
    for (const value of INTS) {
      yield [`first is ${value}`, new Tensor(type, tensor.data.with(0, wrap(value)), dims)];
      if (tensor.data.length > 1) yield [`last is ${value}`, new Tensor(type, tensor.data.with(tensor.data.length - 1, wrap(value)), dims)];
    }
  }
  if (type === 'float32' && tensor.data.length) {
    for (const value of [NaN, Infinity, -1, 0, 1e30]) yield [`first is ${value}`, new Tensor(type, tensor.data.with(0, value), dims)];
  }
}

/** A tensor of other dims with the same elements, repeated or cut. */
function resized({ type, data }, dims) {
  const size = dims.reduce((product, dim) => product * dim, 1);
  if (type === 'string') return new Tensor(type, Array.from({ length: size }, (_, i) => data[i % data.length] ?? ''), dims);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const width = Math.ceil((size * BITS[type]) / 8);
  return tensorOf(type, Uint8Array.from({ length: width }, (_, i) => bytes[i % (bytes.length || 1)] ?? 0), dims);
}
