// From a model's bytes, wherever they come from, to a compiled session in wasm memory. Bytes go through one staging
// block in chunks; external data goes straight to the place of its tensors. JavaScript never holds weights.

import { abortError, check, LinnetError } from './errors.js';
import { fromResponse, streamChunks } from './env/fetch.js';
import { describe } from './tensor.js';

const STAGING_BYTES = 256 * 1024;
/** Steps of a rehearsal between looks at the clock; the length of a slice and of all of them, in milliseconds. */
const REHEARSED_STEPS = 1;
const SLICE_MS = 8;
const REHEARSAL_MS = 200;
const MORE = 101;

/** @typedef {import('./env/platform.js').Source} Source */

/**
 * @param {any} model a path, URL, bytes, Blob, Response, stream or async iterable of bytes
 * @param {import('./env/platform.js').Platform} platform
 * @returns {Promise<Source>}
 */
export async function openSource(model, platform) {
  const tag = Object.prototype.toString.call(model);
  if (typeof model === 'string' || tag === '[object URL]') return platform.open(model);
  if (ArrayBuffer.isView(model)) return fromBytes(new Uint8Array(model.buffer, model.byteOffset, model.byteLength));
  if (tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]') return fromBytes(new Uint8Array(model));
  if (tag === '[object Response]') return fromResponse(model);
  if (typeof model?.stream === 'function') {
    return { name: model.name ?? 'the blob', size: model.size, chunks: streamChunks(model.stream()) };
  }
  if (typeof model?.getReader === 'function') return { name: 'the stream', chunks: streamChunks(model) };
  if (typeof model?.[Symbol.asyncIterator] === 'function') return { name: 'the stream', chunks: model };
  throw new LinnetError('INVALID_ARGUMENT', `a model is a path, URL, bytes, Blob, Response or stream, not ${describe(model)}`);
}

/** @param {Uint8Array} bytes @returns {Source} */
function fromBytes(bytes) {
  return { name: 'the bytes', size: bytes.length, chunks: (async function* () {
    yield bytes;
  })() };
}

/** Loads one model into one session of the core. */
export class Loader {
  /**
   * @param {import('./runtime.js').Runtime} runtime
   * @param {number} session the ln_session
   * @param {(status: number) => void} expectOk
   * @param {import('./options.js').SessionSettings} settings
   */
  constructor(runtime, session, expectOk, settings) {
    this.runtime = runtime;
    this.session = session;
    this.expectOk = expectOk;
    this.settings = settings;
  }

  /**
   * Reads the model's bytes: its graph is known, its external data and operators are not looked at.
   * @param {any} model
   */
  async read(model) {
    const { runtime, session, expectOk, settings } = this;
    for (const [key, value] of Object.entries(settings.core)) {
      expectOk(runtime.withText(key, (name) => runtime.call('ln_session_option', session, name, value)));
    }
    await this.#push(await this.#open(model));
    expectOk(runtime.call('ln_session_finish', session));
  }

  /**
   * Reads external data and compiles: the session is ready to run.
   * @param {any} model
   */
  async complete(model) {
    this.runtime.startThreads(); // they start beside what follows
    await this.#loadExternal(model);
    this.#report('compile');
    await this.#turn();
    this.expectOk(this.runtime.call('ln_session_compile', this.session));
    if (this.settings.warmUp !== false) await this.#rehearse();
  }

  /** Plans for the declared shapes and has the engine compile the kernels, so that the first run need not. */
  async #rehearse() {
    const { now, pause } = this.runtime.platform;
    const start = now();
    let sliceStart = start;
    while (this.runtime.call('ln_session_rehearse', this.session, REHEARSED_STEPS) === MORE) {
      if (now() - start > REHEARSAL_MS) return;
      if (now() - sliceStart < SLICE_MS) continue;
      await pause();
      this.#checkSignal();
      sliceStart = now();
    }
  }

  /** @param {any} model */
  async #open(model) {
    this.#checkSignal();
    const source = await openSource(model, this.runtime.platform);
    // A page instead of a model is the commonest wrong path: say so before the parser stumbles over it.
    check(!source.contentType?.startsWith('text/html'), 'LOAD_FAILED', () => `${source.name} answered an HTML page, not a model`);
    return source;
  }

  #checkSignal() {
    if (this.settings.signal?.aborted) throw abortError(this.settings.signal);
  }

  /** Lets the event loop turn where somebody waits for it. */
  async #turn() {
    const { signal, onProgress } = this.settings;
    if (signal || onProgress) await this.runtime.platform.pause();
    this.#checkSignal();
  }

  /** @param {string} phase @param {number} [loaded] @param {number} [total] */
  #report(phase, loaded, total) {
    this.settings.onProgress?.({ phase, loaded, total });
  }

  /** @param {Source} source */
  async #push({ size, chunks }) {
    const { runtime, session, expectOk } = this;
    if (size !== undefined) expectOk(runtime.call('ln_session_expect', session, size));
    const staging = runtime.allocate(STAGING_BYTES);
    let loaded = 0;
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += STAGING_BYTES) {
        const part = chunk.subarray(at, at + STAGING_BYTES);
        runtime.view(Uint8Array).set(part, staging);
        expectOk(runtime.call('ln_session_push', session, staging, part.length));
        loaded += part.length;
        if (chunk.length > STAGING_BYTES) await this.#turn();
        this.#report('model', loaded, size);
      }
      this.#checkSignal();
    }
    runtime.free(staging);
  }

  // ---- External data

  /** @param {any} model */
  async #loadExternal(model) {
    const entries = this.#listExternal();
    const total = entries.reduce((sum, entry) => sum + entry.length, 0);
    const files = externalFiles(this.settings.externalData);
    let loaded = 0;
    for (const location of new Set(entries.map((entry) => entry.location))) {
      const data = files.get(trimDots(location)) ?? this.#sibling(model, location);
      check(data !== undefined, 'EXTERNAL_DATA',
        () => `the model keeps weights in '${location}': pass it as externalData: { '${location}': bytes or URL }`);
      const source = await openSource(data, this.runtime.platform);
      const wanted = entries.filter((entry) => entry.location === location).sort((a, b) => a.offset - b.offset);
      await this.#distribute(source, wanted, (bytes) => this.#report('external', (loaded += bytes), total));
    }
  }

  #listExternal() {
    const entries = [];
    for (let index = 0; ; index++) {
      const pointer = this.runtime.call('ln_session_external', this.session, index);
      if (!pointer) return entries;
      const [location, offset, length] = this.runtime.text(pointer).split('\t');
      entries.push({ index, location, offset: Number(offset), length: Number(length), target: 0 });
    }
  }

  /** @param {any} model @param {string} location */
  #sibling(model, location) {
    const isPlace = typeof model === 'string' || Object.prototype.toString.call(model) === '[object URL]';
    return isPlace ? this.runtime.platform.sibling(model, location) : undefined;
  }

  /**
   * Streams a file once and copies the parts that entries want to their places.
   * @param {Source} source
   * @param {{ index: number, offset: number, length: number, target: number }[]} entries by offset
   * @param {(bytes: number) => void} onBytes
   */
  async #distribute({ name, chunks }, entries, onBytes) {
    const { runtime, session, expectOk } = this;
    for (const entry of entries) {
      entry.target = runtime.call('ln_session_external_target', session, entry.index) >>> 0;
      if (!entry.target) expectOk(runtime.call('ln_error_code', session));
      check(entry.target, 'OUT_OF_MEMORY', () => `no memory for ${entry.length} bytes of external data`);
    }
    let position = 0;
    let first = 0;
    const end = entries.reduce((latest, { offset, length }) => Math.max(latest, offset + length), 0);
    for await (const chunk of chunks) {
      for (let i = first; i < entries.length && entries[i].offset < position + chunk.length; i++) {
        const { offset, length, target } = entries[i];
        const begin = Math.max(offset, position);
        const stop = Math.min(offset + length, position + chunk.length);
        if (begin >= stop) continue;
        runtime.view(Uint8Array).set(chunk.subarray(begin - position, stop - position), target + begin - offset);
        onBytes(stop - begin);
      }
      position += chunk.length;
      while (first < entries.length && entries[first].offset + entries[first].length <= position) first++;
      if (position >= end) break;
      await this.#turn();
    }
    check(position >= end, 'EXTERNAL_DATA', () => `${name} has ${position} bytes, but the model refers to ${end}`);
    for (const { index } of entries) expectOk(runtime.call('ln_session_external_done', session, index));
  }
}

/**
 * External data by location, from onnxruntime's array or from a map or object.
 * @param {any} data
 * @returns {Map<string, any>}
 */
function externalFiles(data) {
  if (!data) return new Map();
  const pairs = data instanceof Map ? [...data] : Array.isArray(data)
    ? data.map((each) => (typeof each === 'string' ? [each.split('/').pop(), each] : [each.path, each.data]))
    : Object.entries(data);
  return new Map(pairs.map(([path, content]) => [trimDots(String(path)), content]));
}

/** './weights.bin' and 'weights.bin' are one file. @param {string} path */
function trimDots(path) {
  return path.replace(/^(\.\/)+/, '');
}
