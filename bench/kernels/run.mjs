// Runs the kernel bench: node bench/kernels/run.mjs <name=file.wasm>... [--match=text] [--rounds=n]
// The modules take turns, round by round, so that a slow spell of the machine hits all of them; a row shows the shortest
// sample, which other work on the machine can only lengthen. The canary is the rate of a chain of dependent additions, in GHz over its 3 or 4 cycles.
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

/** The shortest time of a call, in milliseconds. */
function time(exports, index) {
  const flops = exports.bench_setup(index);
  exports.bench_run(index, 3);
  const repeats = Math.max(1, Math.round(2e7 / flops));
  const samples = [];
  const end = performance.now() + 250;
  do {
    const start = performance.now();
    exports.bench_run(index, repeats);
    samples.push((performance.now() - start) / repeats);
  } while (performance.now() < end || samples.length < 5);
  return { flops, ms: Math.min(...samples) };
}

const builds = files.map(load);
const [{ exports: first }] = builds;
for (let index = 0; index < first.bench_count(); index++) {
  const name = text(first, first.bench_name(index));
  if (!name.includes(options.match)) continue;
  const best = builds.map(() => ({ ms: Infinity, flops: 0 }));
  for (let round = 0; round < options.rounds; round++) {
    builds.forEach((build, i) => {
      const result = time(build.exports, index);
      if (result.ms < best[i].ms) best[i] = result;
    });
  }
  const cells = best.map(
    ({ ms, flops }, i) => `${builds[i].name} ${ms.toFixed(3).padStart(8)} ms ${(flops / ms / 1e6).toFixed(1).padStart(6)} GF`,
  );
  console.log(`${name.padEnd(26)} ${cells.join('   ')}`);
}
first.bench_canary(1e6);
let canary = Infinity;
for (let i = 0; i < 50; i++) {
  const start = performance.now();
  first.bench_canary(1e6);
  canary = Math.min(canary, performance.now() - start);
}
console.log(`canary: ${(1 / canary).toFixed(2)} additions per ns`);
