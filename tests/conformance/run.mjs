// The standard's own test cases, against a list of known failures.
//
//   node tests/conformance/run.mjs [--json FILE] [--suite S[,S]] [--filter SUBSTRING] [--artifact A] [--dir DIR]
//                                  [--jobs N] [--verbose] [--update] [--optimize 0|1|2] [--all] [--sample N]
//
// Fails when a case fails that is not in known-failures.txt, and when one passes that is in it; --update rewrites the
// list. With --filter, --suite or --sample (one case in N, the same ones each time), the list is compared for the cases that
// ran. --artifact is one of the four: simd (the default), relaxed, simd.threads, relaxed.threads. LINNET_WASM=file.wasm tests a build
// other than dist/'s; linnet.images.wasm must pass the cases that are known to want it. --verbose prints a line per case, --all
// prints every failure, known ones too.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { newerNode } from '../../tools/lib/paths.mjs';
import { probeEngine } from '../../js/artifacts.js';
import { SUITES, listCases } from './cases.mjs';
import { findConformance } from './corpora.mjs';

const TIMEOUT_MS = 120_000;
const IMAGES = 'linnet.images.wasm';
const listFile = fileURLToPath(new URL('known-failures.txt', import.meta.url));

const { values: args } = parseArgs({
  options: {
    json: { type: 'string' }, suite: { type: 'string' }, filter: { type: 'string' }, artifact: { type: 'string' }, dir: { type: 'string' },
    jobs: { type: 'string', default: '2' }, sample: { type: 'string', default: '1' }, optimize: { type: 'string' },
    verbose: { type: 'boolean' }, update: { type: 'boolean' }, all: { type: 'boolean' },
  },
});

const wasm = process.env.LINNET_WASM;
const artifact = args.artifact ?? (wasm && /relaxed/.test(basename(wasm)) ? 'relaxed' : 'simd');
if (artifact.startsWith('relaxed') && !probeEngine().relaxed && newerNode() !== process.execPath) {
  process.exit(spawnSync(newerNode(), process.argv.slice(1), { stdio: 'inherit' }).status ?? 1);
}
const options = { artifact, ...(wasm && { wasm }), ...(args.optimize && { optimize: Number(args.optimize) }) };

const roots = findConformance(args.dir);
if (!roots) {
  console.log('there are no test cases here: set LINNET_CORPORA, or name a folder with --dir');
  console.log('0 passed, 0 failed, 1 skipped');
  process.exit(args.dir ? 1 : 0);
}
const suites = args.suite ? args.suite.split(',') : SUITES;
for (const suite of suites) if (!SUITES.includes(suite)) throw new Error(`no suite '${suite}'; there are ${SUITES.join(', ')}`);
const cases = suites.flatMap((suite) => listCases(roots, suite).map((name) => ({ suite, name })))
  .filter(({ suite, name }) => `${suite}/${name}`.includes(args.filter ?? '') && hashOf(`${suite}/${name}`) % Number(args.sample) === 0);

const results = await runAll(cases);
report(results);

/** A number that depends on a text alone. */
function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  return hash >>> 8;
}

/** Runs the cases on a few workers; a worker that hangs or dies costs its case and is replaced. */
async function runAll(list) {
  const results = new Array(list.length);
  let next = 0;
  const lane = async () => {
    let worker;
    while (next < list.length) {
      const i = next++;
      worker ??= new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { roots, options } });
      const result = await ask(worker, list[i]);
      results[i] = { ...list[i], ...result };
      if (result.isDead) {
        await worker.terminate();
        worker = undefined;
      }
      if (args.verbose) console.log(`${result.status.padEnd(7)} ${list[i].suite}/${list[i].name} ${result.ms.toFixed(1)} ms${result.reason ? ` ${result.reason}` : ''}`);
      else if (process.stderr.isTTY && i % 20 === 0) process.stderr.write(`\r${i} of ${list.length} cases\x1b[K`);
    }
    await worker?.terminate();
  };
  await Promise.all(Array.from({ length: Math.max(1, Number(args.jobs)) }, lane));
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  return results;
}

function ask(worker, message) {
  return new Promise((resolve) => {
    const start = performance.now();
    const die = (reason) => finish({ status: 'failed', reason, isDead: true });
    const timer = setTimeout(() => die(`no answer within ${TIMEOUT_MS / 1000} s`), TIMEOUT_MS);
    const handlers = {
      message: (result) => finish(result),
      error: (error) => die(`the worker died: ${error.message}`),
      exit: (code) => die(`the worker ended with exit code ${code}`),
    };
    const finish = (result) => {
      clearTimeout(timer);
      for (const [event, handler] of Object.entries(handlers)) worker.off(event, handler);
      resolve({ ms: performance.now() - start, ...result });
    };
    for (const [event, handler] of Object.entries(handlers)) worker.on(event, handler);
    worker.postMessage(message);
  });
}

function report(list) {
  const counts = Object.fromEntries(suites.map((suite) => [suite, { passed: 0, failed: 0, skipped: 0, total: 0 }]));
  for (const { suite, status } of list) {
    counts[suite][status]++;
    counts[suite].total++;
  }
  const failures = list.filter(({ status }) => status === 'failed').map(({ suite, name, reason }) => ({ suite, case: name, reason: oneLine(reason) }));
  if (args.json) writeFileSync(args.json, `${JSON.stringify({ suites: counts, failures }, null, 1)}\n`);

  const known = readKnown();
  const keyOf = (each) => `${each.suite}/${each.case ?? each.name}`;
  const fresh = failures.filter((each) => !known.has(keyOf(each)));
  const fixed = list.filter((each) => each.status !== 'failed' && known.has(keyOf(each))).map(keyOf);
  for (const each of args.all ? failures : fresh) console.log(`${known.has(keyOf(each)) ? 'known failure' : 'FAILED'} ${keyOf(each)}: ${each.reason}`);
  if (!args.update) for (const key of fixed) console.log(`UNEXPECTED PASS ${key}: take it out of ${basename(listFile)} (--update)`);
  for (const [suite, { passed, failed, skipped, total }] of Object.entries(counts)) {
    console.log(`${suite.padEnd(18)} ${String(passed).padStart(5)} passed ${String(failed).padStart(5)} failed ${String(skipped).padStart(4)} skipped of ${total}`);
  }
  const skipped = list.filter(({ status }) => status === 'skipped').length;
  const wrong = args.update ? 0 : fresh.length + fixed.length;
  console.log(`${list.length - skipped - failures.length} passed, ${wrong} failed, ${skipped} skipped, ${failures.length - fresh.length} known failures`);
  if (args.update) updateKnown(known, list.map(keyOf), failures, keyOf);
  else if (fresh.length || fixed.length) process.exitCode = 1;
}

function readKnown() {
  const text = existsSync(listFile) ? readFileSync(listFile, 'utf8') : '';
  const isImages = basename(wasm ?? '') === IMAGES;
  const counts = (line) => line && !line.startsWith('#') && !(isImages && line.includes(IMAGES));
  return new Map(text.split('\n').filter(counts).map((line) => line.split('\t')));
}

/** Cases that did not run keep their line. */
function updateKnown(known, ran, failures, keyOf) {
  const lines = new Map([...known].filter(([key]) => !ran.includes(key)));
  for (const each of failures) lines.set(keyOf(each), each.reason);
  const sorted = [...lines].sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(listFile, `# Cases that fail, one a line: suite/case, a tab, the reason. Written by run.mjs --update.\n${sorted.map((line) => `${line.join('\t')}\n`).join('')}`);
}

function oneLine(text = '') {
  return text.replace(/\s+/g, ' ').slice(0, 200);
}
