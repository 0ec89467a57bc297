// Small models and options that the tests of the API share.

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InferenceSession } from 'linnet';
import { buildModel } from './onnx.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const wasm = process.env.LINNET_WASM;

/** Options for one thread: dist/'s artifact, or the one that LINNET_WASM names. */
export const single = wasm ? { wasm, artifact: /relaxed/.test(basename(wasm)) ? 'relaxed' : 'simd' } : { threads: 1 };
/** Why tests with threads cannot run, or false. */
export const noThreads = existsSync(join(root, 'dist', 'linnet.simd.threads.wasm')) ? false : 'dist/ has no artifact with threads';

/** Creates a session on one thread. */
export const create = (model, options = {}) => InferenceSession.create(model, { ...single, ...options });

const matrix = (name, rows, columns) => ({ name, type: 'float32', dims: [rows, columns] });

/** c = a + b, of any length. */
export const addModel = buildModel({
  inputs: [{ name: 'a', type: 'float32', dims: ['n'] }, { name: 'b', type: 'float32', dims: ['n'] }],
  outputs: [{ name: 'c', type: 'float32', dims: ['n'] }],
  nodes: [{ op: 'Add', name: 'sum', inputs: ['a', 'b'], outputs: ['c'] }],
  metadata: { author: 'nobody', 'größe': '∞' },
});

/** sum = a + b and difference = a - b. */
export const twoOutputs = buildModel({
  inputs: [{ name: 'a', type: 'float32', dims: [2] }, { name: 'b', type: 'float32', dims: [2] }],
  outputs: [{ name: 'sum', type: 'float32', dims: [2] }, { name: 'difference', type: 'float32', dims: [2] }],
  nodes: [{ op: 'Add', inputs: ['a', 'b'], outputs: ['sum'] }, { op: 'Sub', inputs: ['a', 'b'], outputs: ['difference'] }],
});

/** A chain of matrix products that takes a while. */
export const slowModel = (steps = 200, size = 256) => buildModel({
  inputs: [matrix('x', size, size)],
  outputs: [matrix(`x${steps}`, size, size)],
  nodes: Array.from({ length: steps }, (_, i) => ({ op: 'MatMul', inputs: [i ? `x${i}` : 'x', 'x'], outputs: [`x${i + 1}`] })),
});

/** y = x for a tensor of a type. */
export const identityModel = (type, dims = ['n']) => buildModel({
  opsets: { '': 25 },
  irVersion: 13,
  inputs: [{ name: 'x', type, dims }],
  outputs: [{ name: 'y', type, dims }],
  nodes: [{ op: 'Identity', name: 'same', inputs: ['x'], outputs: ['y'] }],
});

/** y = x @ w with weights of `rows` x `columns`. */
export function weightsModel(rows, columns, more = {}) {
  const data = Float32Array.from({ length: rows * columns }, (_, i) => ((i * 7919) % 1000) / 1000 - 0.5);
  return buildModel({
    inputs: [matrix('x', 1, rows)],
    outputs: [matrix('y', 1, columns)],
    initializers: [{ ...matrix('w', rows, columns), data, ...more }],
    nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
  });
}
