// linnet run: feeds a model and shows, prints or writes what comes out.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tensor } from '../index.node.js';
import { makeFeeds } from './inputs.mjs';
import { writeNpy } from './npy.mjs';
import { load, milliseconds, table, UsageError, waitFor } from './terminal.mjs';

const SHOWN = 6;

/** @param {string} model @param {any} options */
export async function runModel(model, options) {
  const session = await load(model, options);
  const { feeds, random } = await makeFeeds(session, options);
  const start = performance.now();
  const results = await waitFor(session.run(feeds), 'running');
  const elapsed = performance.now() - start;
  if (options.output) await writeAll(results, options.output);
  if (options.json) console.log(JSON.stringify({ ms: elapsed, info: session.info, outputs: toJson(results) }));
  else {
    if (random.length) console.log(`random input: ${random.join(', ')}`);
    console.log(table(Object.entries(results).map(([name, value]) => [name, ...summary(value)])));
    const { artifact, threads } = session.info;
    console.log(`first run: ${milliseconds(elapsed)} (${artifact}, ${threads} thread${threads > 1 ? 's' : ''})`);
  }
  await session.release();
}

/** @param {Record<string, any>} results @param {string} folder */
async function writeAll(results, folder) {
  await mkdir(folder, { recursive: true });
  for (const [name, value] of Object.entries(results)) {
    const file = join(folder, name.replace(/[^\w.-]+/g, '_'));
    const isNumeric = value instanceof Tensor && value.type !== 'string';
    try {
      if (isNumeric) await writeFile(`${file}.npy`, writeNpy(value.type, value.dims, value.data));
      else await writeFile(`${file}.json`, JSON.stringify(toJson(value)));
    } catch (error) {
      throw new UsageError(`output '${name}': ${error instanceof Error ? error.message : error}`);
    }
  }
}

/** @param {any} value @returns {any} */
function toJson(value) {
  if (value instanceof Tensor) return { type: value.type, dims: value.dims, data: Array.from(value.data, toJson) };
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), toJson(item)]));
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJson(item)]));
  }
  return value ?? null;
}

/** @param {any} value @returns {string[]} */
function summary(value) {
  if (!(value instanceof Tensor)) return [value === undefined ? 'nothing' : JSON.stringify(toJson(value)).slice(0, 100)];
  const some = Array.from(value.data.slice(0, SHOWN), (each) => (typeof each === 'number' ? Number(each.toPrecision(5)) : String(each)));
  return [`${value.type} [${value.dims.join(', ')}]`, some.join(' ') + (value.data.length > SHOWN ? ' ...' : ''), largest(value)];
}

/** Where the largest element is: of a list of scores, the answer. @param {Tensor} tensor */
function largest({ data, type, size }) {
  if (type === 'string' || size < 2 || data.length !== size) return '';
  let at = 0;
  for (let i = 1; i < size; i++) if (data[i] > data[at]) at = i;
  return `largest at ${at}`;
}
