// From whatever names the wasm file (a Module, bytes, a Response, a path or URL) to a compiled WebAssembly.Module, and
// from a Module to an instance. Modules that came from a location are compiled once and shared.

import { check, LinnetError } from './errors.js';
import { decodeUtf8 } from './text.js';
import { fromResponse } from './env/fetch.js';

/** @type {Map<string, Promise<WebAssembly.Module>>} */
const compiled = new Map();

/**
 * @param {any} wasm
 * @param {import('./env/platform.js').Platform} platform
 * @returns {Promise<WebAssembly.Module>}
 */
export async function loadModule(wasm, platform) {
  const tag = Object.prototype.toString.call(wasm);
  if (tag === '[object WebAssembly.Module]') return wasm;
  if (typeof wasm === 'string' || tag === '[object URL]') return loadFrom(wasm, platform);
  if (tag === '[object Response]') {
    return compileSource(fromResponse(wasm));
  }
  const isBytes = tag.endsWith('ArrayBuffer]') || ArrayBuffer.isView(wasm);
  check(isBytes, 'INVALID_ARGUMENT', `option 'wasm' is a WebAssembly.Module, a Response, bytes or a URL, not ${tag}`);
  return compile(wasm, 'the given bytes', null);
}

/**
 * @param {string | URL} location
 * @param {import('./env/platform.js').Platform} platform
 */
function loadFrom(location, platform) {
  const key = String(location);
  let promise = compiled.get(key);
  if (!promise) {
    promise = platform.open(location).then(compileSource);
    compiled.set(key, promise);
    // A start that failed can be tried again.
    promise.catch(() => compiled.delete(key));
  }
  return promise;
}

/**
 * Compiles what was opened. Browsers keep what they compile of a download as a stream, optimised code included, beside it
 * in their cache, so that the next visit begins with it.
 * @param {import('./env/platform.js').Source} source
 */
async function compileSource(source) {
  const { response, name, contentType } = source;
  const isStream = response && contentType?.trim() === 'application/wasm' && typeof WebAssembly.compileStreaming === 'function';
  if (!isStream) return compile(await collect(source), name, contentType);
  return WebAssembly.compileStreaming(response).catch((error) => {
    throw new LinnetError('WASM_FAILED', `${name} cannot be compiled: ${error}`, { cause: error });
  });
}

/** @param {import('./env/platform.js').Source} source */
async function collect({ size = 0, chunks }) {
  let bytes = new Uint8Array(size || 1 << 20);
  let length = 0;
  for await (const chunk of chunks) {
    if (length + chunk.length > bytes.length) {
      const larger = new Uint8Array(2 * (length + chunk.length));
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    bytes.set(chunk, length);
    length += chunk.length;
  }
  return bytes.subarray(0, length);
}

/**
 * @param {BufferSource} bytes
 * @param {string} name
 * @param {string | null | undefined} contentType
 */
async function compile(bytes, name, contentType) {
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
    const isWasm = view[0] === 0 && view[1] === 0x61 && view[2] === 0x73 && view[3] === 0x6d;
    const start = decodeUtf8(view, 0, Math.min(view.length, 40)).replace(/[^\x20-\x7e]+/g, ' ').trim();
    const kind = contentType ? ` of ${contentType}` : '';
    const what = isWasm ? String(error) : `it is no WebAssembly but ${view.length} bytes${kind} that begin with "${start}"`;
    throw new LinnetError('WASM_FAILED', `${name} cannot be compiled: ${what}`, { cause: error });
  }
}

/**
 * The imports of the core: its memory where it is shared, and a few functions of the C library's that it may call.
 * @param {WebAssembly.Module} module
 * @param {WebAssembly.Memory} [memory]
 */
export function makeImports(module, memory) {
  /** @type {Record<string, Function>} */
  const known = { emscripten_notify_memory_growth() {} };
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: space, name, kind } of WebAssembly.Module.imports(module)) {
    imports[space] ??= {};
    imports[space][name] = kind === 'memory' ? memory : known[name] ?? (() => {
      throw new LinnetError('INTERNAL', `the core called ${space}.${name}, which it should never do`);
    });
  }
  return imports;
}

/** @param {WebAssembly.Module} module */
export function needsMemory(module) {
  return WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');
}
