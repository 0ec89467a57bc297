// Side by side: linnet with relaxed SIMD and without, onnxruntime-web, and onnxruntime-node, on the models of
// $LINNET_CORPORA/models and tests/data.
//
//   node bench/run.mjs [--json FILE] [--models a,b] [--threads N] [--seconds S]
//
// All engines run in one process and take turns, a batch of runs each, so that a slow moment of the machine hits them
// alike. What counts is the median over the rounds. An engine that refuses a model leaves its cell empty, and means are
// over the models that both engines ran. LINNET_WASM_RELAXED and LINNET_WASM_SIMD name other builds than dist/'s.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as linnet from 'linnet';
import { probeEngine } from '../js/artifacts.js';
import { loadFolder } from '../tests/conformance/cases.mjs';
import { corporaDir } from '../tests/conformance/corpora.mjs';
import { newerNode } from '../tools/lib/paths.mjs';

const { values: args } = parseArgs({
  options: { json: { type: 'string' }, models: { type: 'string' }, threads: { type: 'string', default: '1' }, seconds: { type: 'string', default: '1' } },
});
if (!probeEngine().relaxed && newerNode() !== process.execPath) {
  process.exit(spawnSync(newerNode(), process.argv.slice(1), { stdio: 'inherit' }).status ?? 1);
}
const threads = Number(args.threads);
const WARM_MS = 400;
const BATCH_MS = 20;
const MIN_ROUNDS = 5;

const require = createRequire(import.meta.url);
const ortWeb = await optional(() => import('onnxruntime-web'));
const ortNode = await optional(() => import('onnxruntime-node'));
if (ortWeb) {
  const folder = dirname(require.resolve('onnxruntime-web'));
  ortWeb.env.wasm.wasmBinary = readFileSync(join(folder, 'ort-wasm-simd-threaded.wasm'));
  ortWeb.env.wasm.numThreads = threads;
  ortWeb.env.logLevel = 'error';
}

const artifact = (kernels) => (threads > 1 ? { artifact: `${kernels}.threads`, threads } : { artifact: kernels });
const build = (name) => (process.env[name] ? { wasm: process.env[name] } : {});
/** Column name to a function that creates a session, or undefined where the engine is not there. */
const ENGINES = {
  linnet_relaxed_ms: { api: linnet, options: { ...artifact('relaxed'), ...build('LINNET_WASM_RELAXED') } },
  linnet_simd_ms: { api: linnet, options: { ...artifact('simd'), ...build('LINNET_WASM_SIMD') } },
  ort_web_ms: { api: ortWeb, options: { executionProviders: ['wasm'], logSeverityLevel: 3 } },
  ort_node_ms: { api: ortNode, options: { executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3 } },
};
const RATIOS = {
  relaxed_over_ort_web: ['ort_web_ms', 'linnet_relaxed_ms'],
  simd_over_ort_web: ['ort_web_ms', 'linnet_simd_ms'],
  relaxed_over_ort_node: ['ort_node_ms', 'linnet_relaxed_ms'],
};

const roots = [corporaDir && join(corporaDir, 'models'), fileURLToPath(new URL('../tests/data', import.meta.url))].filter((dir) => dir && existsSync(dir));
const folders = roots.flatMap((root) => readdirSync(root).filter((name) => existsSync(join(root, name, 'model.onnx'))).sort().map((name) => ({ name, dir: join(root, name) })));
const wanted = args.models?.split(',');
for (const name of wanted ?? []) if (!folders.some((each) => each.name === name)) throw new Error(`no model '${name}'`);

const engine = `Node ${process.version}, V8 ${process.versions.v8}`;
const cpu = cpus()[0]?.model ?? 'unknown';
console.log(`${engine}; ${cpu}; ${threads} thread${threads > 1 ? 's' : ''}; milliseconds, medians`);
console.log(['model'.padEnd(24), ...Object.keys(ENGINES).map((each) => each.replace('_ms', '').padStart(15)), 'web/relaxed'.padStart(13), 'web/simd'.padStart(10)].join(''));
const models = [];
for (const folder of folders) if (!wanted || wanted.includes(folder.name)) models.push(await measure(folder));
const geomean = Object.fromEntries(Object.entries(RATIOS).map(([name, [over, under]]) => [name, geometricMean(models, over, under)]));
console.log(Object.entries(geomean).map(([name, value]) => `${name} ${value?.toFixed(3) ?? '-'}`).join('   '));
if (args.json) writeFileSync(args.json, `${JSON.stringify({ engine, cpu, threads, models, geomean }, null, 1)}\n`);
// onnxruntime-web's threads would keep the process alive.
process.exit(0);

async function optional(load) {
  try {
    const module = await load();
    return module.InferenceSession ? module : module.default;
  } catch (error) {
    console.log(`not here: ${error.message.split('\n')[0]}`);
    return undefined;
  }
}

/** Resolves to { name, and milliseconds or null per engine }. */
async function measure({ name, dir }) {
  const { model, sets } = loadFolder(dir);
  const [{ feeds }] = sets;
  const runners = {};
  const refusals = {};
  for (const [column, { api, options }] of Object.entries(ENGINES)) {
    if (!api) continue;
    try {
      const session = await api.InferenceSession.create(api === linnet ? join(dir, 'model.onnx') : model, options);
      const own = Object.fromEntries(Object.entries(feeds).map(([input, { type, data, dims }]) => [input, new api.Tensor(type, data, dims)]));
      await session.run(own);
      runners[column] = { run: () => session.run(own), release: () => session.release(), times: [] };
    } catch (error) {
      refusals[column] = error.message.split('\n')[0];
    }
  }
  for (const runner of Object.values(runners)) await warmUp(runner);
  const end = performance.now() + 1000 * Number(args.seconds) * Object.keys(runners).length;
  for (let round = 0; round < MIN_ROUNDS || performance.now() < end; round++) for (const runner of Object.values(runners)) runner.times.push(await batch(runner));
  for (const { release } of Object.values(runners)) await release();
  const row = { name, ...Object.fromEntries(Object.keys(ENGINES).map((column) => [column, runners[column] ? median(runners[column].times) : null])) };
  const ratio = ([over, under]) => (row[over] && row[under] ? (row[over] / row[under]).toFixed(2) : '-');
  console.log([name.padEnd(24), ...Object.keys(ENGINES).map((column) => (row[column]?.toFixed(3) ?? '-').padStart(15)), ratio(RATIOS.relaxed_over_ort_web).padStart(13), ratio(RATIOS.simd_over_ort_web).padStart(10)].join(''));
  for (const [column, reason] of Object.entries(refusals)) console.log(`  ${column.replace('_ms', '')} refuses: ${reason.slice(0, 150)}`);
  return row;
}

/** Runs until the engine's compilers have settled, and learns how many runs make a batch. */
async function warmUp(runner) {
  const start = performance.now();
  let runs = 0;
  let last = Infinity;
  while (runs < 3 || performance.now() - start < WARM_MS) {
    const begin = performance.now();
    await runner.run();
    last = performance.now() - begin;
    runs++;
  }
  runner.batch = Math.max(1, Math.min(1000, Math.round(BATCH_MS / Math.max(last, 0.005))));
}

async function batch(runner) {
  const start = performance.now();
  for (let i = 0; i < runner.batch; i++) await runner.run();
  return (performance.now() - start) / runner.batch;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function geometricMean(rows, over, under) {
  const logs = rows.filter((row) => row[over] && row[under]).map((row) => Math.log(row[over] / row[under]));
  return logs.length ? Math.exp(logs.reduce((sum, each) => sum + each, 0) / logs.length) : null;
}
