// Runs every case of the folders named: one folder per case with model.onnx and test_data_set_N, as the standard's suites are laid out.
//
//   node tests/conformance/folder.mjs [DIR ...] [--filter SUBSTRING] [--json FILE] [--artifact A] [--optimize 0|1|2] [--quiet]
//
// Without a DIR these are the project's own, tests/data/cases, differential and models; tools/python/differential.py makes others. A table
// cases.tsv in the folder gives the tolerance of each case ('-' compares shape and type only). An operator that the build does not have
// skips the case. LINNET_WASM=file.wasm tests a build other than dist/'s.
// The JSON is { "passed", "failed", "skipped", "failures": [{ "case", "reason" }] }, skipped cases among the failures.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { InferenceSession } from 'linnet';
import { compare } from '../support/compare.mjs';
import { loadFolder } from './cases.mjs';

const DEFAULT = { atol: 1e-4, rtol: 1e-3 };

const { values: args, positionals } = parseArgs({
  allowPositionals: true,
  options: { filter: { type: 'string' }, json: { type: 'string' }, artifact: { type: 'string' }, optimize: { type: 'string' }, quiet: { type: 'boolean' } },
});
const own = ['cases', 'differential', 'models'].map((name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url)));
const wasm = process.env.LINNET_WASM;
const options = { artifact: args.artifact ?? 'simd', ...(wasm && { wasm }), ...(args.optimize && { optimize: Number(args.optimize) }) };

const failures = [];
let passed = 0;
for (const dir of positionals.length ? positionals : own) await runFolder(dir);
const skipped = failures.filter(({ reason }) => reason.startsWith('UNSUPPORTED_OP')).length;
const failed = failures.length - skipped;
if (args.json) writeFileSync(args.json, `${JSON.stringify({ passed, failed, skipped, failures }, null, 1)}\n`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
if (failed) process.exitCode = 1;

async function runFolder(dir) {
  const tolerances = readTolerances(join(dir, 'cases.tsv'));
  const names = readdirSync(dir).filter((name) => name.includes(args.filter ?? '') && existsSync(join(dir, name, 'model.onnx'))).sort();
  for (const name of names) {
    const text = await check(join(dir, name), tolerances.get(name) ?? DEFAULT);
    if (!text) {
      passed++;
      continue;
    }
    const reason = text.replace(/\s+/g, ' ').slice(0, 300);
    failures.push({ case: name, reason });
    if (!args.quiet) console.log(`${reason.startsWith('UNSUPPORTED_OP') ? 'skipped' : 'FAILED'} ${name}: ${reason}`);
  }
}

/** Resolves to the reason why a case fails, or to undefined. */
async function check(dir, tolerance) {
  let session;
  try {
    const { model, sets } = loadFolder(dir);
    session = await InferenceSession.create(model, options);
    for (const { feeds, expected } of sets) {
      const results = await session.run(feeds);
      for (const [output, value] of expected) {
        const { reason } = compare(results[output], value, tolerance, output);
        if (reason) return `wrong result: ${reason}`;
      }
    }
    return undefined;
  } catch (error) {
    return error.code ? `${error.code}: ${error.message}` : error.stack;
  } finally {
    await session?.release().catch(() => {});
  }
}

function readTolerances(file) {
  if (!existsSync(file)) return new Map();
  const rows = readFileSync(file, 'utf8').trim().split('\n').slice(1).map((line) => line.split('\t'));
  return new Map(rows.map(([name, atol, rtol]) => [name, atol === '-' ? { shapeOnly: true } : { atol: Number(atol), rtol: Number(rtol) }]));
}
