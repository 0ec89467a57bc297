// Runs the kernel bench: node bench/kernels/run.mjs <name=file.wasm>... [--match=text] [--rounds=n]
// Every task of a case is timed by itself, again and again, and a row shows the sum of their shortest times: other work
// on the machine can only lengthen a task, and rarely hits all its repeats. The modules take turns, round by round. The
// canary is the rate of a chain of dependent additions, the clock divided by their latency (3 or 4 cycles).
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const options = { match: '', rounds: 3 };
const files = [];
for (const argument of process.argv.slice(2)) {
  const [key, value] = argument.replace(/^--/, '').split('=');
  if (argument.startsWith('--')) options[key] = key === 'rounds' ? Number(value) : value;
  else files.push({ name: key, file: value });
}

/** Stubs every import: the bench computes and never calls out. */
function imports(module) {
  const all = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (all[from] ??= {})[name] = () => 0;
  }
  return all;
}

function load({ name, file }) {
  const module = new WebAssembly.Module(readFileSync(file));
  const { exports } = new WebAssembly.Instance(module, imports(module));
  exports._initialize?.();
  return { name, exports };
}

function text(exports, address) {
  const bytes = new Uint8Array(exports.memory.buffer, address);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

/** Milliseconds per call: the sum of each task's shortest time. */
function time(exports, index, budget) {
  const flops = exports.bench_setup(index);
  const shortest = new Float64Array(exports.bench_tasks(index)).fill(Infinity);
  const end = performance.now() + budget;
  for (let repeat = 0; repeat < 5 || performance.now() < end; repeat++) {
    for (let task = 0; task < shortest.length; task++) {
      const start = performance.now();
      exports.bench_run(index, task);
      shortest[task] = Math.min(shortest[task], performance.now() - start);
    }
  }
  return { flops, tasks: shortest.length, ms: shortest.reduce((sum, ms) => sum + ms, 0) };
}

const builds = files.map(load);
const [{ exports: first }] = builds;
for (let index = 0; index < first.bench_count(); index++) {
  const name = text(first, first.bench_name(index));
  if (!name.includes(options.match)) continue;
  const best = builds.map(() => ({ ms: Infinity, flops: 0, tasks: 0 }));
  for (let round = 0; round < options.rounds; round++) {
    builds.forEach((build, i) => {
      const result = time(build.exports, index, 250);
      if (result.ms < best[i].ms) best[i] = result;
    });
  }
  const cells = best.map(
    ({ ms, flops }, i) => `${builds[i].name} ${ms.toFixed(3).padStart(8)} ms ${(flops / ms / 1e6).toFixed(1).padStart(6)} GF`,
  );
  console.log(`${name.padEnd(26)} ${String(best[0].tasks).padStart(3)} tasks   ${cells.join('   ')}`);
}
first.bench_canary(1e6);
let canary = Infinity;
for (let i = 0; i < 50; i++) {
  const start = performance.now();
  first.bench_canary(1e6);
  canary = Math.min(canary, performance.now() - start);
}
console.log(`canary: ${(1 / canary).toFixed(2)} additions per ns`);
