// linnet bench: time to load, first run, median and spread of further runs, and where the time goes by operator.

import { makeFeeds } from './inputs.mjs';
import { bytes, countOption, load, milliseconds, Progress, table } from './terminal.mjs';

const DEFAULT_SECONDS = 3;
const MIN_RUNS = 5;
const MAX_RUNS = 10_000;

/** @param {number[]} times */
export function statistics(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return { runs: times.length, min: sorted[0], median: at(0.5), p10: at(0.1), p90: at(0.9) };
}

/** @param {string} model @param {any} options */
export async function benchModel(model, options) {
  const loadStart = performance.now();
  const session = await load(model, options);
  const loadMs = performance.now() - loadStart;
  const { feeds } = await makeFeeds(session, options);
  const progress = new Progress();
  const time = () => {
    const start = performance.now();
    session.runSync(feeds, { outputs: 'view' });
    return performance.now() - start;
  };
  const firstMs = time();
  const limit = countOption(options, 'runs', MAX_RUNS) ?? MAX_RUNS;
  const seconds = countOption(options, 'seconds', options.runs ? Infinity : DEFAULT_SECONDS) ?? DEFAULT_SECONDS;
  const times = [];
  for (const begin = performance.now(); times.length < limit && (times.length < MIN_RUNS || performance.now() - begin < seconds * 1000);) {
    times.push(time());
    progress.show(`run ${times.length}`);
  }
  progress.clear();
  const { info } = session;
  const { wasmBytes } = session.memory();
  const result = { loadMs, firstMs, ...statistics(times), operators: profileOf(session, feeds), info, wasmBytes };
  await session.release();
  if (options.json) return void console.log(JSON.stringify(result));
  console.log(table([
    ['load', milliseconds(loadMs)],
    ['first run', milliseconds(firstMs)],
    ['median', milliseconds(result.median)],
    ['10th to 90th percentile', `${milliseconds(result.p10)} to ${milliseconds(result.p90)}`],
    ['runs', result.runs],
    ['memory', bytes(result.wasmBytes)],
    ['artifact', `${result.info.artifact} (${result.info.artifactReason})`],
    ['threads', `${result.info.threads} (${result.info.threadsReason})`],
  ], ''));
  console.log('time by operator');
  const total = result.operators.reduce((sum, { ms }) => sum + ms, 0);
  console.log(table(result.operators.map(({ op, count, ms }) => [op, count, milliseconds(ms), `${((100 * ms) / total).toFixed(1)} %`])));
}

/**
 * Time per operator, the median of a few profiled runs.
 * @param {any} session
 * @param {Record<string, any>} feeds
 */
function profileOf(session, feeds) {
  session.startProfiling();
  /** @type {Map<string, { op: string, count: number, ms: number }>} */
  let best = new Map();
  let bestTotal = Infinity;
  for (let i = 0; i < 3; i++) {
    session.runSync(feeds, { outputs: 'view' });
    const rows = new Map();
    let total = 0;
    for (const { op, ms } of session.profile()) {
      const row = rows.get(op) ?? { op, count: 0, ms: 0 };
      row.count++;
      row.ms += ms;
      total += ms;
      rows.set(op, row);
    }
    if (total < bestTotal) [best, bestTotal] = [rows, total];
  }
  session.endProfiling();
  return [...best.values()].sort((a, b) => b.ms - a.ms);
}
