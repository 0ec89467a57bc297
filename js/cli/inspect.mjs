// linnet inspect: what a model holds and needs, and the memory a run takes at given shapes.

import { stat } from 'node:fs/promises';
import { InferenceSession } from '../index.node.js';
import { makeFeeds } from './inputs.mjs';
import { bytes, describeValue, load, sessionOptions, table } from './terminal.mjs';

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
}

/**
 * The memory of one run with random inputs.
 * @param {string} model
 * @param {any} options
 */
async function planOf(model, options) {
  const session = await load(model, options);
  try {
    const { feeds } = await makeFeeds(session, options);
    await session.run(feeds);
    const shapes = Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, value?.dims ?? []]));
    return { shapes, nodes: session.inspect().nodes, ...session.memory() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  } finally {
    await session.release();
  }
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
    ['  of which alive at once', bytes(plan.lowerBoundBytes)],
    ['packed weights', bytes(plan.live.weights)],
    ['wasm memory', bytes(plan.wasmBytes)],
  ])}`;
}
