// Real models with reference outputs: every folder of $LINNET_CORPORA/models, and of tests/data.
//
//   node tests/models/run.mjs [--json FILE] [--only a,b] [--artifact A] [--threads N] [--dir FOLDER]
//
// A folder holds model.onnx and test_data_set_N; tolerances.tsv beside the folders says how near the outputs have to be.
// LINNET_WASM=file.wasm tests a build other than dist/'s. --dir takes the models of another folder instead, the bench's zoo.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { InferenceSession } from 'linnet';
import { probeEngine } from '../../js/artifacts.js';
import { newerNode } from '../../tools/lib/paths.mjs';
import { loadFolder } from '../conformance/cases.mjs';
import { corporaDir } from '../conformance/corpora.mjs';
import { compare } from '../support/compare.mjs';
import { compareDetections } from './detections.mjs';

const { values: args } = parseArgs({
  options: { json: { type: 'string' }, only: { type: 'string' }, artifact: { type: 'string' }, threads: { type: 'string' }, dir: { type: 'string' } },
});
const wasm = process.env.LINNET_WASM;
const artifact = args.artifact ?? (wasm && /relaxed/.test(basename(wasm)) ? 'relaxed' : args.threads ? undefined : 'simd');
if (artifact?.startsWith('relaxed') && !probeEngine().relaxed && newerNode() !== process.execPath) {
  process.exit(spawnSync(newerNode(), process.argv.slice(1), { stdio: 'inherit' }).status ?? 1);
}
const options = { artifact, ...(wasm && { wasm }), ...(args.threads && { threads: Number(args.threads) }) };

const roots = args.dir ? [args.dir] : [corporaDir && join(corporaDir, 'models'), fileURLToPath(new URL('../data', import.meta.url))].filter((dir) => dir && existsSync(dir));
const folders = roots.flatMap((root) => {
  const tolerances = readTolerances(join(root, 'tolerances.tsv'));
  const names = readdirSync(root).filter((name) => existsSync(join(root, name, 'model.onnx'))).sort();
  return names.map((name) => ({ name, dir: join(root, name), tolerance: tolerances.get(name) ?? tolerances.get('*') }));
});
const wanted = args.only?.split(',');
for (const name of wanted ?? []) if (!folders.some((each) => each.name === name)) throw new Error(`no model '${name}'`);

const models = [];
for (const folder of folders) if (!wanted || wanted.includes(folder.name)) models.push(await check(folder));
if (args.json) writeFileSync(args.json, `${JSON.stringify({ models }, null, 1)}\n`);
const passed = models.filter(({ ok }) => ok).length;
console.log(`${passed} passed, ${models.length - passed} failed`);
if (passed < models.length) process.exitCode = 1;

/** Resolves to { name, ok, max_abs_error, reason }. */
async function check({ name, dir, tolerance }) {
  const start = performance.now();
  let session;
  let error = 0;
  let reason = '';
  try {
    const { sets } = loadFolder(dir);
    session = await InferenceSession.create(join(dir, 'model.onnx'), options);
    for (const { feeds, expected } of sets) {
      const results = await session.run(feeds);
      const outcome = Number.isNaN(tolerance.atol) ? compareDetections(results, expected) : compareAll(results, expected, tolerance);
      error = Math.max(error, outcome.error);
      reason ||= outcome.reason ?? '';
    }
  } catch (caught) {
    reason = caught.code ? `${caught.code}: ${caught.message}` : caught.stack;
  } finally {
    await session?.release().catch(() => {});
  }
  const ms = performance.now() - start;
  console.log(`${reason ? 'FAILED' : 'ok    '} ${name.padEnd(22)} ${ms.toFixed(0).padStart(6)} ms  ${reason || `largest error ${error.toPrecision(2)}`}`);
  return { name, ok: !reason, max_abs_error: Number.isFinite(error) ? error : null, reason };
}

function compareAll(results, expected, tolerance) {
  const outcomes = expected.map(([output, value]) => compare(results[output], value, tolerance, output));
  return { reason: outcomes.find(({ reason }) => reason)?.reason, error: Math.max(...outcomes.map((each) => each.error)) };
}

/** Tolerances by model name. An atol that is no number asks for a comparison of detections. */
function readTolerances(file) {
  const rows = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').slice(1) : [];
  return new Map([['*', { atol: 1e-4, rtol: 1e-3 }], ...rows.map((row) => row.split('\t')).map(([name, atol, rtol]) => [name, { atol: Number(atol), rtol: Number(rtol) }])]);
}
