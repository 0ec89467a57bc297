// Side by side: linnet with relaxed SIMD and without, onnxruntime-web, and onnxruntime-node, on the models of
// $LINNET_CORPORA/models and tests/data, and on a zoo that tools/python/export_zoo.py made.
//
//   node bench/run.mjs [--json FILE] [--zoo DIR] [--models a,b*] [--skip a,b*] [--threads 1,2] [--seconds S] [--cold]
//     [--decode STEPS] [--clock cpu]
//
// All engines run in one process and take turns (lib/measure.mjs). A model of the zoo gives a case per set of inputs, like
// bert-base@128x1. An engine that refuses a model leaves its cell empty, and means are over the models that both engines ran.
// --threads takes several counts, measured one after the other; the first one fills the main columns. --cold adds session
// creation, first run and memory, each from a process of its own; --decode adds the decoding loops. --clock cpu counts the
// process's time instead of the wall's: for one thread on a busy machine, where ratios of it still mean something.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { probeEngine } from '../js/artifacts.js';
import { newerNode } from '../tools/lib/paths.mjs';
import { memoryBandwidth } from './lib/bandwidth.mjs';
import { coldRun } from './lib/cold.mjs';
import { decode, LOOPS } from './lib/decode.mjs';
import { COLUMNS, engineVersions, loadEngine, ownFeeds } from './lib/engines.mjs';
import { measureInTurns } from './lib/measure.mjs';
import { listModels, loadFeeds } from './lib/models.mjs';
import { geometricMeans, ratio } from './lib/stats.mjs';

const { values: args } = parseArgs({
  options: {
    json: { type: 'string' }, zoo: { type: 'string' }, models: { type: 'string' }, skip: { type: 'string' }, threads: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '1' }, cold: { type: 'boolean' }, decode: { type: 'string' }, clock: { type: 'string', default: 'wall' },
  },
});
if (!probeEngine().relaxed && newerNode() !== process.execPath) {
  process.exit(spawnSync(newerNode(), process.argv.slice(1), { stdio: 'inherit' }).status ?? 1);
}
const threadCounts = args.threads.split(',').map(Number);
const [threads] = threadCounts;

const report = {
  date: new Date().toISOString(),
  engine: `Node ${process.version}, V8 ${process.versions.v8}`,
  cpu: `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores`,
  memory_bytes: totalmem(),
  bandwidth_gb_s: memoryBandwidth(),
  versions: engineVersions(),
  threads,
  thread_counts: threadCounts,
  clock: args.clock,
  models: [],
};
console.log(`${report.engine}; ${report.cpu}, reads ${report.bandwidth_gb_s.toFixed(1)} GB/s; ${threads} thread${threads > 1 ? 's' : ''}; milliseconds, medians`);

const REFERENCE = 'one thread';
const now = args.clock === 'cpu' ? () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; } : undefined;
/** Per thread count, the engines by column. Of more threads, the first column on one thread takes part for the gain. */
const engines = new Map();
for (const count of report.thread_counts) {
  const loaded = new Map();
  if (count !== threads) loaded.set(REFERENCE, await loadEngine(COLUMNS[0], threads));
  for (const column of COLUMNS) {
    try {
      loaded.set(column, await loadEngine(column, count));
    } catch (error) {
      console.log(`${column.replace('_ms', '')} is not here: ${error.message.split('\n')[0]}`);
    }
  }
  engines.set(count, loaded);
}

console.log(line('model', [...COLUMNS.map((each) => each.replace('_ms', '')), 'web/relaxed', 'web/simd']));
for (const model of listModels({ zoo: args.zoo, only: args.models, skip: args.skip })) {
  await measureModel(model);
  addMeans();
  // Saved as it grows: a long run that is ended early leaves what it has measured.
  if (args.json) writeFileSync(args.json, `${JSON.stringify(report, null, 1)}\n`);
}
for (const [group, means] of Object.entries(report.geomeans)) console.log(`${group}: ${summary(means)}`);
console.log(summary(report.geomean));
// onnxruntime-web's threads would keep the process alive.
process.exit(0);

/** Means by group, and the one that targets speak of: it leaves the zoo out, whose models are many sizes of few. */
function addMeans() {
  const groups = [...new Set(report.models.map((each) => each.group))];
  report.geomeans = Object.fromEntries(groups.map((group) => [group, geometricMeans(report.models.filter((each) => each.group === group))]));
  const counted = report.models.filter(({ group }) => group !== 'zoo');
  report.geomean = geometricMeans(counted.length ? counted : report.models);
}

/** Measures the model's cases at every thread count. */
async function measureModel(model) {
  const cold = args.cold ? await measureCold(model) : undefined;
  const feeds = loadFeeds(model);
  const rows = model.cases.map((name) => ({ name, group: model.group }));
  if (cold) rows[0].cold = cold;
  report.models.push(...rows);
  for (const count of report.thread_counts) {
    const sessions = await openAll(model, engines.get(count), feeds.get(model.cases[0]));
    for (const row of rows) {
      const runs = {};
      for (const [column, { engine, session }] of Object.entries(sessions)) {
        const own = ownFeeds(engine, feeds.get(row.name));
        runs[column] = () => session.run(own);
      }
      const results = await measureInTurns(runs, Number(args.seconds), { isThreaded: count > 1, now });
      if (count === threads) fillRow(row, results);
      else fillThreads(row, count, results);
    }
    if (args.decode) await measureDecoding(model, feeds, sessions, count);
    for (const { session } of Object.values(sessions)) await session.release();
  }
}

/** Sessions that have run once, by column, of the engines that take the model. */
async function openAll(model, loaded, feeds) {
  const sessions = {};
  for (const [column, engine] of loaded) {
    try {
      const session = await engine.open(model.file);
      await session.run(ownFeeds(engine, feeds));
      sessions[column] = { engine, session };
    } catch (error) {
      console.log(`  ${column.replace('_ms', '')} refuses ${model.name}: ${error.message.split('\n')[0].slice(0, 150)}`);
    }
  }
  return sessions;
}

async function measureCold(model) {
  const result = {};
  for (const column of COLUMNS) result[column] = await coldRun(column, model);
  return result;
}

async function measureDecoding(model, feeds, { [REFERENCE]: _reference, ...sessions }, count) {
  const loop = LOOPS.find(({ name }) => name === model.name);
  const start = loop && feeds.get(`${model.name}@${loop.start}`);
  if (!start) return;
  const times = await decode(sessions, start, Number(args.decode), loop.fixed, now);
  const share = (ms) => (loop.weights * 4) / ms / 1e6 / report.bandwidth_gb_s;
  const columns = Object.fromEntries(Object.entries(times).map(([column, ms]) => [column, { tokens_s: 1000 / ms, bandwidth: share(ms) }]));
  (report.decode ??= []).push({ name: model.name, threads: count, steps: Number(args.decode), columns });
  for (const [column, { tokens_s, bandwidth }] of Object.entries(columns)) {
    console.log(`  decoding on ${count}, ${column.replace('_ms', '').padEnd(14)} ${tokens_s.toFixed(1).padStart(7)} tokens/s, ${(100 * bandwidth).toFixed(0)} % of the bandwidth`);
  }
}

function fillRow(row, results) {
  for (const column of COLUMNS) row[column] = results[column]?.ms ?? null;
  row.spread = Object.fromEntries(COLUMNS.filter((each) => results[each]).map((each) => [each, [results[each].p10, results[each].p90]]));
  row.rounds = Math.min(...Object.values(results).map(({ times }) => times.length));
  console.log(line(row.name, [...COLUMNS.map((column) => row[column]?.toFixed(3)), ratio(row, 'relaxed_over_ort_web')?.toFixed(2), ratio(row, 'simd_over_ort_web')?.toFixed(2)]));
}

/** Medians at a further thread count, and what the threads gain for linnet: of the medians, and of the best rounds. */
function fillThreads(row, count, results) {
  const columns = Object.fromEntries(COLUMNS.map((column) => [column, results[column]?.ms ?? null]));
  const [one, more] = [results[REFERENCE], results[COLUMNS[0]]];
  const gain = one && more ? { median: one.ms / more.ms, best: Math.min(...one.times) / Math.min(...more.times) } : null;
  (row.more_threads ??= {})[count] = { ...columns, gain };
  console.log(line(`  on ${count} threads`, [...COLUMNS.map((column) => columns[column]?.toFixed(3)), ratio(columns, 'relaxed_over_ort_web')?.toFixed(2), ratio(columns, 'simd_over_ort_web')?.toFixed(2)]) + (gain ? `   gain ${gain.median.toFixed(2)}, best ${gain.best.toFixed(2)}` : ''));
}

function line(name, cells) {
  return name.padEnd(28) + cells.map((cell) => (cell ?? '-').padStart(15)).join('');
}

function summary(means) {
  return Object.entries(means).map(([name, value]) => `${name} ${value?.toFixed(3) ?? '-'}`).join('   ');
}
