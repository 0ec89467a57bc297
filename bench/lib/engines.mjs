// The engines side by side, each behind the same four functions. A column is an engine; onnxruntime-web keeps its thread
// count per module, so each count gets an instance of its own.
//
// LINNET_WASM_RELAXED and LINNET_WASM_SIMD name other builds than dist/'s, one thread's or several's.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../tools/lib/paths.mjs';

const require = createRequire(import.meta.url);

/** Columns in the order of the tables. */
export const COLUMNS = ['linnet_relaxed_ms', 'linnet_simd_ms', 'ort_web_ms', 'ort_node_ms'];

/** Versions by package, of what is installed. */
export function engineVersions() {
  const version = (name) => {
    const file = join(root, 'node_modules', name, 'package.json');
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : null;
  };
  return { linnet: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version, 'onnxruntime-web': version('onnxruntime-web'), 'onnxruntime-node': version('onnxruntime-node') };
}

/**
 * Loads an engine: { open, tensor }, open(file) resolving to a session with run and release. Rejects where it is not
 * installed or does not start.
 * @param {string} column
 * @param {number} threads
 */
export async function loadEngine(column, threads) {
  if (column.startsWith('linnet')) return linnet(column.split('_')[1], threads);
  return column === 'ort_web_ms' ? ortWeb(threads) : ortNode(threads);
}

async function linnet(kernels, threads) {
  const { InferenceSession, Tensor } = await import('linnet');
  const wasm = process.env[`LINNET_WASM_${kernels.toUpperCase()}`];
  const options = { artifact: threads > 1 ? `${kernels}.threads` : kernels, threads, ...(wasm && { wasm }) };
  return { Tensor, open: (file) => InferenceSession.create(file, options) };
}

/** The native library takes halves as a Uint16Array only; its tensors keep them so where no Float16Array is found as the first one is made. */
async function ortNode(threads) {
  const { default: api } = await import('onnxruntime-node');
  const { Float16Array } = globalThis;
  delete globalThis.Float16Array;
  new api.Tensor('bool', [true], [1]);
  if (Float16Array) globalThis.Float16Array = Float16Array;
  const options = { executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1, logSeverityLevel: 3 };
  const bits = (data) => (Float16Array && data instanceof Float16Array ? new Uint16Array(data.buffer, data.byteOffset, data.length) : data);
  const Tensor = class extends api.Tensor {
    constructor(type, data, dims) {
      super(type, bits(data), dims);
    }
  };
  return { Tensor, open: (file) => api.InferenceSession.create(file, options) };
}

/**
 * The package's build for Node takes no thread beyond the first, so this loads the one for pages. To start workers it fetches its
 * own module and makes a blob URL of it, which Node's import does not take: while it starts, both functions pass the
 * file's URL through.
 */
async function ortWeb(threads) {
  const folder = dirname(require.resolve('onnxruntime-web'));
  const url = (name) => `${pathToFileURL(join(folder, name)).href}?threads=${threads}`;
  const api = await import(url('ort.wasm.min.mjs'));
  api.env.wasm.wasmBinary = readFileSync(join(folder, 'ort-wasm-simd-threaded.wasm'));
  api.env.wasm.wasmPaths = { mjs: url('ort-wasm-simd-threaded.mjs') };
  api.env.wasm.numThreads = threads;
  api.env.logLevel = 'error';
  const open = (file) => api.InferenceSession.create(readFileSync(file), { executionProviders: ['wasm'], logSeverityLevel: 3 });
  let isStarted = false;
  return {
    Tensor: api.Tensor,
    async open(file) {
      if (isStarted) return open(file);
      const kept = { fetch: globalThis.fetch, createObjectURL: URL.createObjectURL };
      globalThis.fetch = async (href) => ({ ok: true, blob: async () => ({ href: String(href) }) });
      URL.createObjectURL = ({ href }) => href;
      try {
        const session = await open(file);
        isStarted = true;
        return session;
      } finally {
        globalThis.fetch = kept.fetch;
        URL.createObjectURL = kept.createObjectURL;
      }
    },
  };
}

/** The feeds of a case as an engine's own tensors. */
export const ownFeeds = ({ Tensor }, feeds) => Object.fromEntries(Object.entries(feeds).map(([name, { type, data, dims }]) => [name, new Tensor(type, data, dims)]));
