// A session that lives in a worker: the same API, with messages in between. Inputs are copied on the way in, so that
// no buffer of the caller's is detached; outputs are moved out.

import { check, LinnetError } from './errors.js';
import { Tensor } from './tensor.js';
import { isTensor } from './values.js';

/** Options that stay on this side. */
const LOCAL_OPTIONS = ['worker', 'signal', 'onProgress'];

/**
 * A value as plain data that a message can carry.
 * @param {any} value
 * @param {ArrayBufferLike[]} [moved] collects buffers to move
 * @returns {any}
 */
export function pack(value, moved) {
  if (isTensor(value)) {
    const { type, dims, data } = value;
    if (moved && ArrayBuffer.isView(data)) moved.push(data.buffer);
    return { tensor: { type, dims: [...dims], data } };
  }
  if (Array.isArray(value)) return { list: value.map((item) => pack(item, moved)) };
  if (value instanceof Map) return { map: [...value].map(([key, item]) => [key, pack(item, moved)]) };
  if (typeof value === 'object' && value !== null) {
    return { fields: Object.entries(value).map(([key, item]) => [key, pack(item, moved)]) };
  }
  return { value };
}

/** @param {any} packed @returns {any} */
export function unpack(packed) {
  if (packed.tensor) return new Tensor(packed.tensor.type, packed.tensor.data, packed.tensor.dims);
  if (packed.list) return packed.list.map(unpack);
  if (packed.map) return new Map(packed.map.map((/** @type {[any, any]} */ [key, item]) => [key, unpack(item)]));
  if (packed.fields) return Object.fromEntries(packed.fields.map((/** @type {[string, any]} */ [key, item]) => [key, unpack(item)]));
  return packed.value;
}

/** An error as plain data. @param {any} error */
export function packError(error) {
  const { code = 'INTERNAL', message = String(error), node, op, opset } = error ?? {};
  return { code, message, node, op, opset };
}

export class RemoteSession {
  #thread;
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: any) => void }>} */
  #waiting = new Map();
  #next = 1;
  /** @type {LinnetError | undefined} */
  #failure;
  /** @type {any} */
  #description;
  /** @type {((progress: any) => void) | undefined} */
  #onProgress;

  /** @param {import('./env/platform.js').Platform} platform */
  constructor(platform) {
    this.#thread = platform.startWorker('session', (message) => this.#receive(message), (reason) => this.#die(reason));
  }

  /**
   * @param {import('./env/platform.js').Platform} platform
   * @param {any} model
   * @param {any} options
   * @param {import('./options.js').SessionSettings} settings
   */
  static async create(platform, model, options, settings) {
    check(!settings.runtime, 'INVALID_ARGUMENT', "option 'runtime' cannot be used in a worker, which has one of its own");
    const session = new RemoteSession(platform);
    session.#onProgress = settings.onProgress;
    const sent = Object.fromEntries(Object.entries(options).filter(([key]) => !LOCAL_OPTIONS.includes(key)));
    const wasm = settings.wasm === undefined ? {} : { wasm: sendable(settings.wasm) };
    const source = sendable(model);
    const moved = typeof source?.getReader === 'function' ? [source] : [];
    try {
      session.#description = await session.#ask('create', { model: source, options: { ...sent, ...wasm } }, settings.signal, moved);
      return session;
    } catch (error) {
      session.#thread.stop();
      throw error;
    }
  }

  get inputNames() {
    return this.#description.inputNames;
  }

  get outputNames() {
    return this.#description.outputNames;
  }

  get inputMetadata() {
    return this.#description.inputMetadata;
  }

  get outputMetadata() {
    return this.#description.outputMetadata;
  }

  get metadata() {
    return this.#description.metadata;
  }

  get info() {
    return { ...this.#description.info, worker: true };
  }

  /**
   * @param {Record<string, any>} feeds
   * @param {any} [first]
   * @param {any} [second]
   */
  async run(feeds, first, second) {
    const isTarget = (/** @type {any} */ value) => value === null || isTensor(value);
    const isFetches = second !== undefined || Array.isArray(first) || Object.values(first ?? {}).some(isTarget);
    const { signal, ...options } = (isFetches ? second : first) ?? {};
    const fetches = isFetches ? first : undefined;
    const names = Array.isArray(fetches) || !fetches ? fetches : Object.keys(fetches);
    const results = unpack(await this.#ask('run', { feeds: pack(feeds), names, options }, signal));
    const targets = Array.isArray(fetches) ? {} : fetches ?? {};
    for (const name of Object.keys(targets)) if (targets[name]) results[name] = fill(targets[name], results[name], name);
    return results;
  }

  /** @param {Record<string, any>} feeds */
  async bind(feeds) {
    await this.#ask('bind', { feeds: pack(feeds) });
  }

  /** @returns {never} */
  runSync() {
    throw new LinnetError('SESSION_BUSY', 'a session in a worker cannot run synchronously: use run()');
  }

  memory() {
    return this.#ask('call', { name: 'memory' });
  }

  inspect() {
    return this.#ask('call', { name: 'inspect' });
  }

  steps() {
    return this.#ask('call', { name: 'steps' });
  }

  profile() {
    return this.#ask('call', { name: 'profile' });
  }

  startProfiling() {
    void this.#ask('call', { name: 'startProfiling' });
  }

  endProfiling() {
    void this.#ask('call', { name: 'endProfiling' });
  }

  async release() {
    if (this.#failure) return;
    await this.#ask('release', {});
    this.#failure = new LinnetError('SESSION_RELEASED', 'the session was released');
    this.#thread.stop();
  }

  /**
   * @param {string} kind
   * @param {any} message
   * @param {AbortSignal} [signal]
   * @param {any[]} [moved]
   */
  #ask(kind, message, signal, moved) {
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#next++;
    const abort = () => this.#thread.post({ kind: 'abort', id });
    signal?.addEventListener('abort', abort);
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#thread.keepAlive?.(true);
    this.#thread.post({ kind, id, ...message }, moved);
    if (signal?.aborted) abort();
    return answer.finally(() => {
      signal?.removeEventListener('abort', abort);
      if (!this.#waiting.size) this.#thread.keepAlive?.(false);
    });
  }

  /** @param {any} message */
  #receive({ id, value, error, progress }) {
    if (progress) return this.#onProgress?.(progress);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new LinnetError(error.code, error.message, error));
    else waiting?.resolve(value);
  }

  /** @param {string} reason */
  #die(reason) {
    if (this.#failure) return;
    this.#failure = new LinnetError('THREAD_DIED', `the session's worker stopped: ${reason}`);
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

/** What cannot be cloned is sent as what it holds. @param {any} source */
function sendable(source) {
  const tag = Object.prototype.toString.call(source);
  if (tag === '[object URL]') return String(source);
  if (tag === '[object Response]') return source.body;
  return source;
}

/**
 * @param {any} target
 * @param {Tensor} result
 * @param {string} name
 */
function fill(target, result, name) {
  const isSame = target.type === result.type && String(target.dims) === String(result.dims);
  check(isSame, 'INVALID_ARGUMENT',
    `output '${name}' is ${result.type} [${result.dims}], but the pre-allocated tensor is ${target.type} [${target.dims}]`);
  const bytes = (/** @type {ArrayBufferView} */ { buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);
  if (result.type === 'string') result.data.forEach((/** @type {string} */ text, /** @type {number} */ i) => (target.data[i] = text));
  else bytes(target.data).set(bytes(result.data));
  return target;
}
