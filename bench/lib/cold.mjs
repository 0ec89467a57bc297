// Cold start and memory: a fresh process per engine creates a session from a file that lies in the file system's cache, runs
// it once, and says how long both took, what the process held at its peak beyond what it held before, and how large its wasm
// memories grew. Run by itself this file is that process: node bench/lib/cold.mjs COLUMN MODEL, the model as JSON.

import { execFile } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { loadEngine, ownFeeds } from './engines.mjs';
import { loadFeeds } from './models.mjs';

/**
 * Resolves to { create_ms, first_ms, rss_bytes, wasm_bytes }, or null where the engine refuses.
 * @param {string} column
 * @param {{ name: string, dir: string, file: string, group: string, cases: string[] }} model
 */
export async function coldRun(column, model) {
  const result = await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), column, JSON.stringify(model)], { maxBuffer: 1 << 24 }).catch(() => null);
  return result && JSON.parse(result.stdout.trim().split('\n').at(-1));
}

async function main(column, model) {
  const memories = [];
  const { Memory, Instance, instantiate } = WebAssembly;
  WebAssembly.Memory = class extends Memory {
    constructor(descriptor) {
      super(descriptor);
      memories.push(this);
    }
  };
  const watch = (instance) => {
    for (const value of Object.values(instance.exports)) if (value instanceof Memory) memories.push(value);
    return instance;
  };
  WebAssembly.Instance = new Proxy(Instance, { construct: (target, args) => watch(new target(...args)) });
  WebAssembly.instantiate = async (...args) => {
    const result = await instantiate(...args);
    watch(result.instance ?? result);
    return result;
  };

  const feeds = loadFeeds(model).get(model.cases[0]);
  const engine = await loadEngine(column, 1);
  const before = process.memoryUsage().rss;
  const start = performance.now();
  const session = await engine.open(model.file);
  const created = performance.now();
  await session.run(ownFeeds(engine, feeds));
  const end = performance.now();
  const wasm = new Set(memories);
  console.log(JSON.stringify({
    create_ms: created - start,
    first_ms: end - created,
    rss_bytes: Math.max(0, process.resourceUsage().maxRSS * 1024 - before),
    wasm_bytes: wasm.size ? [...wasm].reduce((sum, { buffer }) => sum + buffer.byteLength, 0) : null,
  }));
  process.exit(0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv[2], JSON.parse(process.argv[3]));
