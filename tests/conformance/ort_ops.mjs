// onnxruntime's one-operator cases: JSON with comments that lists attributes, inputs and outputs. A model with one node
// is built for each.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tensor } from 'linnet';
import { toFloat16 } from '../support/numbers.mjs';
import { BITS, buildModel } from '../support/onnx.mjs';

const DEFAULT_OPSET = 21;
const ARRAYS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, uint32: Uint32Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array };

/** Groups by file name. */
const files = new Map();

function groupsOf(dir, file) {
  if (!files.has(file)) {
    const text = readFileSync(join(dir, `${file}.jsonc`), 'utf8')
      .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, quoted) => quoted ?? '')
      .replace(/,(\s*[\]}])/g, '$1');
    files.set(file, JSON.parse(text));
  }
  return files.get(file);
}

/** Case names are file:group:case, by number; what the file calls them follows. */
export function listOrtOps(dir) {
  const names = readdirSync(dir).filter((name) => name.endsWith('.jsonc') && !name.startsWith('_')).map((name) => name.slice(0, -6)).sort();
  return names.flatMap((file) => groupsOf(dir, file).flatMap((group, i) => group.cases.map((each, k) => `${file}:${i}:${k} ${group.name} ${each.name}`.replace(/\s+/g, ' '))));
}

export function loadOrtOp(dir, name) {
  const [file, i, k] = name.split(' ')[0].split(':');
  const group = groupsOf(dir, file)[Number(i)];
  const { inputs, outputs } = group.cases[Number(k)];
  const { domain = '', version = DEFAULT_OPSET } = group.opset ?? {};
  if (domain === 'com.ms.internal.nhwc') return { skip: "the domain com.ms.internal.nhwc is onnxruntime's own, no model holds it" };

  const isPresent = (each) => each.data !== null;
  const name0 = (prefix, each, index) => (isPresent(each) ? `${prefix}${index}` : '');
  const shapes = group.inputShapeDefinitions;
  const declare = (prefix, list, withShape) => list.map((each, index) => ({
    name: `${prefix}${index}`,
    type: each.type,
    dims: !withShape ? undefined : Array.isArray(shapes) ? shapes[index] : shapes === 'none' || !each.dims ? undefined : each.dims,
  })).filter((_, index) => isPresent(list[index]));
  const model = buildModel({
    opsets: domain ? { '': DEFAULT_OPSET, [domain]: version } : { '': version },
    inputs: declare('input_', inputs, true),
    outputs: declare('output_', outputs, false),
    nodes: [{
      op: group.operator,
      domain,
      name: 'node',
      inputs: inputs.map((each, index) => name0('input_', each, index)),
      outputs: outputs.map((each, index) => name0('output_', each, index)),
      attributes: group.attributes ?? [],
    }],
  });
  const present = (list, prefix) => list.flatMap((each, index) => (isPresent(each) ? [[`${prefix}${index}`, tensor(each)]] : []));
  return { model, sets: [{ feeds: Object.fromEntries(present(inputs, 'input_')), expected: present(outputs, 'output_') }] };
}

function tensor({ type, data, dims }) {
  if (type === 'float16') return new Tensor(type, Uint16Array.from(data, toFloat16), dims);
  if (type === 'int64') return new Tensor(type, BigInt64Array.from(data, BigInt), dims);
  if (BITS[type] >= 8) return new Tensor(type, ARRAYS[type].from(data), dims);
  const bytes = new Uint8Array(Math.ceil((data.length * BITS[type]) / 8));
  data.forEach((value, i) => (bytes[(i * BITS[type]) >> 3] |= (value & ((1 << BITS[type]) - 1)) << ((i * BITS[type]) & 7)));
  return new Tensor(type, bytes, dims);
}
