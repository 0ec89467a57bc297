// linnet inspect: what a model holds and needs, and the memory a run takes at given shapes. With --optimized, what the
// rewrites made of it, step by step; with --profile, the time of each of these steps.

import { stat } from 'node:fs/promises';
import { InferenceSession } from '../index.node.js';
import { makeFeeds } from './inputs.mjs';
import { bytes, countOption, describeValue, load, milliseconds, sessionOptions, table } from './terminal.mjs';

const PROFILED_RUNS = 10;
const SHAPE_WIDTH = 60;

/** @param {string} model @param {any} options */
export async function inspectModel(model, options) {
  const summary = await InferenceSession.inspect(model, sessionOptions(options));
  const file = await stat(model).catch(() => undefined);
  const plan = summary.unsupported.length ? { error: 'the model holds unsupported operators' } : await planOf(model, options);
  if (options.json) return void console.log(JSON.stringify({ ...summary, fileBytes: file?.size, plan }, null, 1));
  const { metadata } = summary;
  const opsets = Object.entries(metadata.opsetImports).map(([domain, version]) => `${domain || 'ai.onnx'} ${version}`).join(', ');
  const size = file ? `: ${bytes(file.size)}` : '';
  const functions = metadata.functions ? `, ${metadata.functions} functions` : '';
  const training = metadata.hasTrainingInfo ? ', with training info' : '';
  console.log(`${model}${size}, by ${metadata.producerName || 'unknown'} ${metadata.producerVersion}`.trimEnd());
  console.log(`IR version ${metadata.irVersion}, operator sets ${opsets}${functions}${training}`);
  for (const [key, value] of Object.entries(metadata.customProperties)) console.log(`  ${key}: ${String(value).slice(0, 100)}`);
  for (const [title, list] of /** @type {[string, any[]][]} */ ([['inputs', summary.inputs], ['outputs', summary.outputs]])) {
    console.log(`${title}\n${table(list.map((info) => [info.name, describeValue(info)]))}`);
  }
  const rows = [...summary.operators].sort((a, b) => b.count - a.count);
  const named = (/** @type {any} */ { op, domain, count }) => [count, domain ? `${domain}.${op}` : op];
  console.log(`operators: ${summary.nodes} nodes\n${table(rows.map(named))}`);
  if (summary.unsupported.length) {
    console.log(`unsupported\n${table(summary.unsupported.map((/** @type {any} */ row) => [...named(row), `first at node '${row.node}'`]))}`);
  }
  console.log(`weights\n${table(summary.weights.map((/** @type {any} */ row) => [row.type, `${row.tensors} tensors`, bytes(row.bytes)]))}`);
  console.log(describePlan(plan));
  if (plan.optimized) console.log(describeOptimized(plan.optimized));
  if (plan.profile) console.log(describeProfile(plan));
}

/**
 * The memory of one run with random inputs; the optimised graph and the time of its steps when they are asked for.
 * @param {string} model
 * @param {any} options
 */
async function planOf(model, options) {
  const session = await load(model, options);
  try {
    const { feeds } = await makeFeeds(session, options);
    session.runSync(feeds);
    const shapes = Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, value?.dims ?? []]));
    const { nodes, packed, rewrites } = session.inspect();
    const plan = { shapes, nodes, ...session.memory(), packed };
    if (!options.optimized && !options.profile) return plan;
    const optimized = { rewrites: rewrites.filter((/** @type {any} */ { fired }) => fired), steps: session.steps() };
    const profile = options.profile ? profileOf(session, feeds, countOption(options, 'runs', PROFILED_RUNS) || 1) : undefined;
    return { ...plan, ...(options.optimized && { optimized }), profile };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  } finally {
    await session.release();
  }
}

/**
 * The median time of each step over a few runs, in the order of running.
 * @param {any} session
 * @param {Record<string, any>} feeds
 * @param {number} runs
 */
function profileOf(session, feeds, runs) {
  session.startProfiling();
  const profiles = Array.from({ length: runs }, () => {
    session.runSync(feeds, { outputs: 'view' });
    return session.profile();
  });
  session.endProfiling();
  const middle = (/** @type {number} */ step) => profiles.map((profile) => profile[step]?.ms ?? 0).sort((a, b) => a - b)[runs >> 1];
  return profiles[0].map((/** @type {any} */ record, /** @type {number} */ step) => ({ ...record, ms: middle(step) }));
}

/** @param {any} plan */
function describePlan(plan) {
  if (plan.error) return `memory plan: none, ${plan.error}`;
  const shapes = Object.entries(plan.shapes).map(([name, dims]) => `${name} [${/** @type {number[]} */ (dims).join(', ')}]`).join(', ');
  return `memory plan for ${shapes}\n${table([
    ['nodes after rewriting', plan.nodes],
    ['steps', plan.steps],
    ['segments', plan.segments],
    ['workspace', bytes(plan.workspaceBytes)],
    ['  lower bound: largest sum of values alive at once', bytes(plan.lowerBoundBytes)],
    ['weights', bytes(plan.live.weights)],
    [`  of which packed for the kernels: ${plan.packed.tensors} tensors`, bytes(plan.packed.bytes)],
    ['wasm memory', bytes(plan.wasmBytes)],
  ])}`;
}

/** @param {any} plan */
function describeOptimized({ rewrites, steps }) {
  const short = (/** @type {readonly string[]} */ list) => {
    const text = list.join(', ');
    return text.length > SHAPE_WIDTH ? `${text.slice(0, SHAPE_WIDTH)}...` : text;
  };
  const rows = steps.map((/** @type {any} */ { graph, op, domain, node, inputs, outputs }) => [
    graph ? `${graph}:` : '', domain ? `${domain}.${op}` : op, short(outputs), '<-', short(inputs), node,
  ]);
  const fired = rewrites.length ? table(rewrites.map((/** @type {any} */ row) => [row.fired, row.name])) : '  none';
  return `rewrites that fired\n${fired}\nsteps\n${table(rows)}`;
}

/** @param {any} plan */
function describeProfile({ profile }) {
  const total = profile.reduce((/** @type {number} */ sum, /** @type {any} */ { ms }) => sum + ms, 0) || 1;
  const share = (/** @type {number} */ ms) => `${((100 * ms) / total).toFixed(1)} %`;
  /** @type {Map<string, { count: number, ms: number }>} */
  const operators = new Map();
  for (const { op, ms } of profile) {
    const row = operators.get(op) ?? { count: 0, ms: 0 };
    operators.set(op, { count: row.count + 1, ms: row.ms + ms });
  }
  const byTime = [...operators].sort(([, a], [, b]) => b.ms - a.ms).map(([op, { count, ms }]) => [op, count, milliseconds(ms), share(ms)]);
  const steps = profile.map((/** @type {any} */ { op, node, ms }) => [milliseconds(ms), share(ms), op, node]);
  return `time by step\n${table(steps)}\ntime by operator\n${table(byTime)}`;
}
