// The cases of every suite by name, and how to load one: a model and its data sets.

import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Tensor } from 'linnet';
import { readSignature, readTensor, readValue } from '../support/onnx.mjs';
import { listOrtOps, loadOrtOp } from './ort_ops.mjs';

export const SUITES = ['node', 'simple', 'pytorch-converted', 'pytorch-operator', 'light', 'versions', 'ort-ops'];

const folders = (dir) => (existsSync(dir) ? readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name).sort() : []);

/** The folder of a suite, or undefined. */
const suiteDir = (roots, suite) => (suite === 'ort-ops' ? roots.ortOps : suite === 'versions' ? roots.versions : roots.onnx && join(roots.onnx, suite));

/**
 * Names of a suite's cases.
 * @param {{ onnx?: string, versions?: string, ortOps?: string }} roots
 * @param {string} suite
 */
export function listCases(roots, suite) {
  const dir = suiteDir(roots, suite);
  if (!dir || !existsSync(dir)) return [];
  if (suite === 'ort-ops') return listOrtOps(dir);
  if (suite === 'versions') return folders(dir).flatMap((tag) => folders(join(dir, tag)).map((name) => `${tag}/${name}`));
  if (suite === 'light') return readdirSync(dir).filter((name) => name.endsWith('.onnx')).map((name) => basename(name, '.onnx')).sort();
  return folders(dir);
}

/**
 * Loads a case: { model, sets: [{ feeds, expected }] }, expected being [name, value] pairs; or { skip: reason }.
 * @param {{ onnx?: string, versions?: string, ortOps?: string }} roots
 * @param {string} suite
 * @param {string} name
 */
export function loadCase(roots, suite, name) {
  const dir = suiteDir(roots, suite);
  if (suite === 'ort-ops') return loadOrtOp(dir, name);
  return suite === 'light' ? loadLight(dir, name) : loadFolder(join(dir, name));
}

/** A folder with model.onnx and test_data_set_N, as the standard's cases and the model folders are laid out; sets go by what follows. */
export function loadFolder(dir) {
  const model = readFileSync(join(dir, 'model.onnx'));
  const { inputs, outputs, initializers } = readSignature(model);
  const fed = inputs.filter(({ name }) => !initializers.has(name));
  const sets = folders(dir).filter((each) => each.startsWith('test_data_set_')).map((set) => {
    const read = (prefix) => {
      const names = readdirSync(join(dir, set)).filter((file) => file.startsWith(prefix));
      return new Map(names.map((file) => [Number(file.slice(prefix.length, -3)), readFileSync(join(dir, set, file))]));
    };
    const given = read('input_');
    // Data is bound by index, because many files carry another name. A few old cases give data for initializers too.
    const takers = given.size > fed.length ? inputs : fed;
    return {
      name: set.slice('test_data_set_'.length),
      feeds: Object.fromEntries([...given].map(([i, bytes]) => [takers[i].name, readValue(takers[i], bytes)])),
      expected: [...read('output_')].sort(([a], [b]) => a - b).map(([i, bytes]) => [outputs[i].name, readValue(outputs[i], bytes)]),
    };
  });
  return { model, sets };
}

/** The light networks take one image, arange(n) / n. */
function loadLight(dir, name) {
  const model = readFileSync(join(dir, `${name}.onnx`));
  const { inputs, outputs, initializers } = readSignature(model);
  const [input] = inputs.filter((each) => !initializers.has(each.name));
  const size = 3 * 224 * 224;
  const image = new Tensor('float32', Float32Array.from({ length: size }, (_, i) => i / size), [1, 3, 224, 224]);
  const expected = readTensor(readFileSync(join(dir, `${name}_output_0.pb`)));
  return { model, sets: [{ feeds: { [input.name]: image }, expected: [[outputs[0].name, expected]] }] };
}
