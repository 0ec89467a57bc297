// The kernel bench: every kernel of simd/ in both builds, against what this machine can do and against onnxruntime-web.
//
//   node bench/kernels/run.mjs [--only TEXT] [--json FILE] [--rounds N] [--no-sweep] [--no-web] [NAME=FILE.wasm ...]
//
// A row shows the rate, and in brackets the percentage of the ceiling: the time that the case's operations need at the
// multiply-add rate of the same build, or its bytes at the rate of a copy in the cache (from 16 MB on, of reading memory),
// whichever is longer, over the time that it took. The ceilings are cases too, and measured in the same run. `web` is the
// time of onnxruntime-web on a model of one such node, less the copies between JavaScript and its memory, over ours.
//
// Each task of a case is timed by itself, again and again, and the sum of their shortest times counts: other work on
// the machine only ever lengthens a task. Builds take turns. Other builds than the usual two may be named, to compare them.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { probeEngine } from '../../js/artifacts.js';
import { buildPreset } from '../../tools/lib/cmake.mjs';
import { newerNode } from '../../tools/lib/paths.mjs';
import { openBaseline } from './baseline.mjs';
import { sweep } from './sweep.mjs';

if (!probeEngine().relaxed && newerNode() !== process.execPath) {
  process.exit(spawnSync(newerNode(), process.argv.slice(1), { stdio: 'inherit' }).status ?? 1);
}
const { values: args, positionals } = parseArgs({
  options: {
    only: { type: 'string', default: '' }, json: { type: 'string' }, rounds: { type: 'string', default: '3' },
    'no-sweep': { type: 'boolean', default: false }, 'no-web': { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const SLOT_MS = 60;
const CACHED_BYTES = 16e6;

const builds = (positionals.length ? positionals.map((each) => each.split('=')) : await usualBuilds()).map(load);
const baseline = args['no-web'] ? null : await openBaseline();
const engine = `Node ${process.version}, V8 ${process.versions.v8}`;
const cpu = cpus()[0]?.model ?? 'unknown';
console.log(`${engine}; ${cpu}; shortest of ${args.rounds} rounds${baseline ? `; ${baseline.text}` : ''}`);

const names = listNames(builds[0].exports);
const ceilings = [];
for (const name of names) if (name.startsWith('ceiling')) ceilings.push(await measure(name));
const [multiplyAdd, copy, read] = ceilings;
for (const { name, columns } of ceilings) printRow(name, columns.map(({ gflops, gbytes }) => rateText(gflops, gbytes)));

const rows = [];
for (const name of names) {
  if (name.startsWith('ceiling') || !name.includes(args.only)) continue;
  const web = await baseline?.open(name);
  const row = { ...(await measure(name, ceilingOf, web)), web_ms: (await web?.finish()) ?? null };
  const cells = row.columns.map(({ ms, gflops, gbytes, percent }) => {
    const web = row.web_ms === null ? '' : `${(row.web_ms / ms).toFixed(1)}x web`.padStart(11);
    return `${ms.toFixed(4).padStart(9)} ms ${rateText(gflops, gbytes)} ${`(${percent.toFixed(0)} %)`.padStart(7)}${web}`;
  });
  printRow(name, cells);
  rows.push(row);
}
const canary = canaryRate(builds[0].exports);
console.log(`canary: ${canary.toFixed(2)} dependent additions per ns`);

let sweeps;
if (!args['no-sweep'] && 'gemm sweep'.includes(args.only)) {
  sweeps = builds.map(({ name, exports }) => ({ build: name, ...sweep(exports) }));
  for (const { build, worst, text } of sweeps) {
    console.log(`gemm sweep, M, K, N from 1 to 70, ${build}: ${text}`);
    for (const each of worst) console.log(`  ${each}`);
  }
}
if (args.json) writeFileSync(args.json, `${JSON.stringify({ engine, cpu, ceilings, rows, canary, sweeps }, null, 1)}\n`);
process.exit(0); // onnxruntime-web's threads would keep the process alive.

async function usualBuilds() {
  const dir = await buildPreset('wasm', { targets: ['bench.relaxed', 'bench.simd'] });
  return ['relaxed', 'simd'].map((each) => [each, join(dir, `bench.${each}.wasm`)]);
}

/** Instantiates a build; the bench computes and never calls out, so its imports are stubs. */
function load([name, file]) {
  const module = new WebAssembly.Module(readFileSync(file));
  const stubs = {};
  for (const each of WebAssembly.Module.imports(module)) (stubs[each.module] ??= {})[each.name] = () => 0;
  const { exports } = new WebAssembly.Instance(module, stubs);
  exports._initialize?.();
  return { name, exports };
}

function listNames(exports) {
  const found = [];
  for (let address = exports.bench_name(0); address !== 0; address = exports.bench_name(found.length)) {
    const bytes = new Uint8Array(exports.memory.buffer, address);
    found.push(new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0))));
  }
  return found;
}

/** { name, columns } with a column per build: milliseconds, rates, and the percentage of what `ceiling` allows. */
async function measure(name, ceiling, web) {
  const index = names.indexOf(name);
  const columns = builds.map(({ name: build }) => ({ build, ms: Infinity }));
  for (let round = 0; round < Number(args.rounds); round++) {
    builds.forEach(({ exports }, i) => {
      const ms = shortest(exports, index);
      const flops = exports.bench_flops();
      const bytes = exports.bench_bytes();
      if (ms < columns[i].ms) Object.assign(columns[i], { ms, gflops: flops / ms / 1e6, gbytes: bytes / ms / 1e6 });
      if (ceiling) columns[i].percent = (100 * ceiling(i, flops, bytes)) / columns[i].ms;
    });
    await web?.round();
  }
  return { name, columns };
}

/** Milliseconds of a run: the sum of each task's shortest time. */
function shortest(exports, index) {
  const times = new Float64Array(exports.bench_setup(index)).fill(Infinity);
  const end = performance.now() + SLOT_MS;
  for (let repeat = 0; repeat < 5 || performance.now() < end; repeat++) {
    for (let task = 0; task < times.length; task++) {
      const start = performance.now();
      exports.bench_run(task);
      times[task] = Math.min(times[task], performance.now() - start);
    }
  }
  return times.reduce((sum, ms) => sum + ms, 0);
}

/** Milliseconds that a case cannot fall below. */
function ceilingOf(build, flops, bytes) {
  const memory = bytes > CACHED_BYTES ? read : copy;
  return Math.max(flops / multiplyAdd.columns[build].gflops, bytes / memory.columns[build].gbytes) / 1e6;
}

function rateText(gflops, gbytes) {
  const [rate, unit] = gflops > gbytes ? [gflops, 'GFLOP/s'] : [gbytes, 'GB/s   '];
  return `${rate.toFixed(1).padStart(6)} ${unit}`;
}

function printRow(name, cells) {
  console.log([name.padEnd(32), ...cells.map((cell, i) => `${builds[i].name} ${cell}`)].join('   '));
}

function canaryRate(exports) {
  let best = Infinity;
  for (let i = 0; i < 50; i++) {
    const start = performance.now();
    exports.bench_canary(1e6);
    best = Math.min(best, performance.now() - start);
  }
  return 1 / best;
}
