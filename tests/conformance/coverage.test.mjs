// Every definition in the operator tables is met by a case: one of the project's own, of the standard's, or of onnxruntime's. The
// latter two are where LINNET_CORPORA says.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCatalogue } from '../../tools/lib/catalogue.mjs';
import { fields, string } from '../support/wire.mjs';
import { findConformance } from './corpora.mjs';
import { listOrtOps, loadOrtOp } from './ort_ops.mjs';

const own = fileURLToPath(new URL('../data', import.meta.url));
const HIDDEN_DOMAIN = 'linnet'; // operators that only rewrites make

/** [domain, version] of an OperatorSetIdProto. */
function readOpset(bytes) {
  let domain = '';
  let version = 0;
  for (const [field, , value] of fields(bytes)) {
    if (field === 1) domain = string(value);
    if (field === 2) version = Number(value);
  }
  return [domain === 'ai.onnx' ? '' : domain, version];
}

/** Adds "domain name version" of a node, and of the nodes in its graphs. */
function addNode(bytes, opsets, used) {
  let name = '';
  let domain = '';
  for (const [field, , value] of fields(bytes)) {
    if (field === 4) name = string(value);
    if (field === 7) domain = string(value);
    if (field !== 5) continue;
    for (const [inner, , graph] of fields(value)) if (inner === 6 || inner === 11) addNodes(graph, 1, opsets, used);
  }
  domain = domain === 'ai.onnx' ? '' : domain;
  used.add(`${domain} ${name} ${opsets.get(domain) ?? 1}`);
}

function addNodes(bytes, nodeField, opsets, used) {
  for (const [field, , value] of fields(bytes)) if (field === nodeField) addNode(value, opsets, used);
}

/** Adds what a ModelProto uses: in its graph, and in its functions. */
function addModel(bytes, used) {
  const parts = [...fields(bytes)];
  const opsets = new Map(parts.filter(([field]) => field === 8).map(([, , value]) => readOpset(value)));
  for (const [field, , value] of parts) {
    if (field === 7) addNodes(value, 1, opsets, used);
    if (field !== 25) continue;
    const inner = [...fields(value)].filter(([each]) => each === 9).map(([, , opset]) => readOpset(opset));
    addNodes(value, 7, new Map([...opsets, ...inner]), used);
  }
}

function modelsUnder(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.onnx')).map((name) => join(folder, name));
}

test('every definition of an operator has a case', async (t) => {
  const corpora = findConformance();
  if (!corpora?.onnx || !corpora.versions || !corpora.ortOps) return t.skip('LINNET_CORPORA does not name the suites');
  const used = new Set();
  for (const folder of [own, corpora.onnx, corpora.versions]) {
    for (const file of modelsUnder(folder)) addModel(readFileSync(file), used);
  }
  for (const name of listOrtOps(corpora.ortOps)) {
    const { model } = loadOrtOp(corpora.ortOps, name);
    if (model) addModel(model, used);
  }
  const uses = new Map();
  for (const entry of used) {
    const [domain, name, version] = entry.split(' ');
    const key = `${domain} ${name}`;
    uses.set(key, [...(uses.get(key) ?? []), Number(version)]);
  }
  const { operators } = await readCatalogue();
  const rows = operators.filter(({ domain }) => domain !== HIDDEN_DOMAIN);
  const left = rows.filter(({ domain, name, since, until }) =>
    !uses.get(`${domain} ${name}`)?.some((version) => version >= since && version <= (until ?? Infinity)));
  const text = left.map(({ domain, name, since }) => `${domain || 'ai.onnx'} ${name}-${since}`);
  t.diagnostic(`${rows.length - left.length} of ${rows.length} definitions have a case`);
  return assert.deepEqual(text, []);
});
