// Runs every case of a folder: one folder per case with model.onnx and test_data_set_N, as the standard's suites are laid out.
//
//   node tests/conformance/folder.mjs [DIR] [--filter SUBSTRING] [--json FILE] [--artifact A] [--optimize 0|1|2] [--quiet]
//
// DIR is tests/data/cases when it is not given; tools/python/differential.py makes others. A table cases.tsv in the folder gives
// the tolerance of each case ('-' compares shape and type only). LINNET_WASM=file.wasm tests a build other than dist/'s.
// The JSON is { "passed", "failed", "failures": [{ "case", "reason" }] }.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { InferenceSession } from 'linnet';
import { compare } from '../support/compare.mjs';
import { loadFolder } from './cases.mjs';

const { values: args, positionals } = parseArgs({
  allowPositionals: true,
  options: { filter: { type: 'string' }, json: { type: 'string' }, artifact: { type: 'string' }, optimize: { type: 'string' }, quiet: { type: 'boolean' } },
});
const dir = positionals[0] ?? fileURLToPath(new URL('../data/cases', import.meta.url));
const wasm = process.env.LINNET_WASM;
const options = { artifact: args.artifact ?? 'simd', ...(wasm && { wasm }), ...(args.optimize && { optimize: Number(args.optimize) }) };
const tolerances = readTolerances(join(dir, 'cases.tsv'));

const names = readdirSync(dir).filter((name) => name.includes(args.filter ?? '') && existsSync(join(dir, name, 'model.onnx'))).sort();
const failures = [];
for (const name of names) {
  const reason = await check(name);
  if (!reason) continue;
  failures.push({ case: name, reason: reason.replace(/\s+/g, ' ').slice(0, 300) });
  if (!args.quiet) console.log(`FAILED ${name}: ${failures.at(-1).reason}`);
}
if (args.json) writeFileSync(args.json, `${JSON.stringify({ passed: names.length - failures.length, failed: failures.length, failures }, null, 1)}\n`);
console.log(`${names.length - failures.length} passed, ${failures.length} failed`);
if (failures.length) process.exitCode = 1;

/** Resolves to the reason why a case fails, or to undefined. */
async function check(name) {
  let session;
  try {
    const { model, sets } = loadFolder(join(dir, name));
    session = await InferenceSession.create(model, options);
    for (const { feeds, expected } of sets) {
      const results = await session.run(feeds);
      for (const [output, value] of expected) {
        const { reason } = compare(results[output], value, tolerances.get(name) ?? { atol: 1e-5, rtol: 1e-3 }, output);
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
