// Interleaved timing, for Node and for pages alike: engines take turns, a batch of runs each, so that a slow moment of the
// machine hits them alike. What counts is the median over the rounds.

import { median, quantile } from './stats.mjs';

const WARM_MS = 400;
const BATCH_MS = 20;
const MIN_ROUNDS = 5;
/** From here on a run is so long that engines have settled after the first, and a few rounds have to do. */
const LONG_MS = 1000;
const LONG_ROUNDS = 2;

/** Engines' threads go on spinning for a while when a run is over, which the next engine must not feel. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 10));

/**
 * Measures runners in turns.
 * @param {Record<string, () => Promise<unknown>>} runs by column
 * @param {number} seconds time for each of them
 * @param {{ isThreaded?: boolean, now?: () => number }} [options] now is the clock, in milliseconds
 * @returns {Promise<Record<string, { ms: number, p10: number, p90: number, times: number[] }>>}
 */
export async function measureInTurns(runs, seconds, { isThreaded = false, now = () => performance.now() } = {}) {
  const runners = Object.entries(runs).map(([column, run]) => ({ column, run, now, times: [], batch: 1, lastMs: 0 }));
  for (const runner of runners) await warmUp(runner);
  const minRounds = runners.some(({ lastMs }) => lastMs > LONG_MS) ? LONG_ROUNDS : MIN_ROUNDS;
  const end = performance.now() + 1000 * seconds * runners.length;
  for (let round = 0; round < minRounds || performance.now() < end; round++) {
    for (const runner of runners) {
      if (isThreaded) await pause();
      runner.times.push(await timeBatch(runner));
    }
  }
  return Object.fromEntries(runners.map(({ column, times }) => [column, { ms: median(times), p10: quantile(times, 0.1), p90: quantile(times, 0.9), times }]));
}

/** Runs until the engine's compilers have settled, and learns how many runs make a batch. */
async function warmUp(runner) {
  const start = performance.now();
  let runs = 0;
  while (runs < 3 || performance.now() - start < WARM_MS) {
    const begin = performance.now();
    await runner.run();
    runner.lastMs = performance.now() - begin;
    runs++;
    if (runner.lastMs > LONG_MS) break;
  }
  runner.batch = Math.max(1, Math.min(1000, Math.round(BATCH_MS / Math.max(runner.lastMs, 0.005))));
}

async function timeBatch({ run, batch, now }) {
  const start = now();
  for (let i = 0; i < batch; i++) await run();
  return (now() - start) / batch;
}
