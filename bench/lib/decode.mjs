// Decoding loops: one token after the other, the key and value caches that came out fed again, as a program would do it. What
// a token costs at least is reading the weights once; that bound is the measured bandwidth of memory over their bytes.

import { ownFeeds } from './engines.mjs';
import { median } from './stats.mjs';

/**
 * Each loop: the model of the zoo, the case that gives the first feeds, the inputs that stay the same from token to token,
 * and the weights that a token reads, as elements.
 */
export const LOOPS = [
  // 12 layers of 768: projections and feed-forward, then the vocabulary.
  { name: 'gpt2', start: 'past127', weights: 12 * 12 * 768 ** 2 + 50257 * 768 },
  // 4 layers of 384: self-attention, queries and output of cross-attention, feed-forward; the encoder's caches; the vocabulary.
  { name: 'whisper-tiny-decoder-past', start: 'past32', fixed: /encoder/, weights: 4 * (14 * 384 ** 2 + 2 * 1500 * 384) + 51865 * 384 },
];

/** The feeds after a step: caches by name, one more position, any token. */
function nextFeeds({ Tensor }, feeds, results) {
  const next = { ...feeds };
  for (const [name, value] of Object.entries(results)) {
    const past = name.replace(/^present\./, 'past.');
    const input = past in feeds ? past : name.replace(/^present\./, 'past_key_values.');
    if (input in feeds) next[input] = value;
  }
  const { attention_mask: mask, position_ids: positions } = feeds;
  if (mask) next.attention_mask = new Tensor('int64', new BigInt64Array(mask.dims[1] + 1).fill(1n), [1, mask.dims[1] + 1]);
  if (positions) next.position_ids = new Tensor('int64', BigInt64Array.of(positions.data[0] + 1n), [1, 1]);
  return next;
}

async function bindFixed(state, fixed) {
  const isFixed = ([name]) => fixed.test(name);
  const all = Object.entries(state.feeds);
  await state.session.bind(Object.fromEntries(all.filter(isFixed)));
  state.feeds = Object.fromEntries(all.filter((entry) => !isFixed(entry)));
}

/**
 * Milliseconds per token, medians over the steps; sessions take turns, a step each.
 * @param {Record<string, { engine: { Tensor: Function }, session: { run: Function } }>} sessions by column
 * @param {object} feeds those of the first step
 * @param {number} steps
 * @param {RegExp} [fixed] names of inputs that stay the same: engines that can hold them are fed them once
 * @param {() => number} [now] the clock, in milliseconds
 */
export async function decode(sessions, feeds, steps, fixed, now = () => performance.now()) {
  const states = Object.entries(sessions).map(([column, { engine, session }]) => ({ column, engine, session, feeds: ownFeeds(engine, feeds), times: [] }));
  for (const state of states) if (fixed && state.session.bind) await bindFixed(state, fixed);
  for (let step = 0; step < steps; step++) {
    for (const state of states) {
      const start = now();
      const results = await state.session.run(state.feeds);
      state.feeds = nextFeeds(state.engine, state.feeds, results);
      state.times.push(now() - start);
    }
  }
  // The first steps compile.
  return Object.fromEntries(states.map(({ column, times }) => [column, median(times.slice(Math.min(4, times.length - 1)))]));
}
