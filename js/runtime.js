// A Runtime is one wasm instance, its memory and its threads.
//
// On one thread every session has a Runtime of its own, so that a trap or an out-of-memory ends only that session and
// release() gives its memory back: the instance is dropped. Sessions with threads share one Runtime per artifact and
// number of threads; it is counted, and dropped with its last session.

import { ARTIFACTS, chooseArtifact, UNNAMED } from './artifacts.js';
import { check, LinnetError } from './errors.js';
import { loadModule, makeImports, needsMemory } from './module.js';
import { decodeUtf8, encodeUtf8 } from './text.js';

/** Pages that the memory of threads begins with, and most that it may have: an engine that refuses one gets the next. */
const SHARED_PAGES = 64;
const SHARED_MAXIMUM_PAGES = [65536, 32768, 16384];
const THREAD_STACK_BYTES = 256 * 1024;
const SCRATCH_BYTES = 1024;

/** @typedef {{ artifact: string, reason: string, threads: number, threadsReason: string }} Choice */

/** @typedef {{ artifact?: string, threads?: number, wasm?: any, wasmPaths?: any }} RuntimeOptions */

/** Shared runtimes by module and number of threads. @type {WeakMap<WebAssembly.Module, Map<number, Promise<Runtime>>>} */
const shared = new WeakMap();

export class Runtime {
  /** @type {Record<string, any> | undefined} */
  #exports;
  /** @type {WebAssembly.Memory | undefined} */
  #memory;
  /** @type {import('./env/platform.js').Thread[]} */
  #threads = [];
  #holders = 0;
  /** @type {(() => void) | undefined} */
  #onDrop;
  /** Typed-array views of the whole memory by class, valid for one memory buffer. @type {Map<Function, any>} */
  #views = new Map();
  /** @type {ArrayBufferLike | undefined} */
  #buffer;
  #scratch = 0;
  #isShared = false;

  /**
   * @param {import('./env/platform.js').Platform} platform
   * @param {WebAssembly.Module} module
   * @param {Choice} choice
   */
  constructor(platform, module, choice) {
    this.platform = platform;
    this.module = module;
    this.choice = choice;
    /** Pool of threads, 0 on one thread. */
    this.pool = 0;
    /** Why the runtime can run no more. @type {LinnetError | undefined} */
    this.failure = undefined;
    this.isStarted = false;
  }

  async #instantiate() {
    this.#isShared = needsMemory(this.module);
    const memory = this.#isShared ? allocateShared() : undefined;
    const { exports } = await WebAssembly.instantiate(this.module, makeImports(this.module, memory));
    this.#exports = exports;
    this.#memory = memory ?? /** @type {WebAssembly.Memory} */ (exports.memory);
    if (exports._initialize) this.call('_initialize');
    this.#scratch = this.allocate(SCRATCH_BYTES);
    if (this.choice.threads > 1) {
      this.pool = this.call('ln_pool_new', this.choice.threads) >>> 0;
      check(this.pool, 'OUT_OF_MEMORY', 'no memory for a pool of threads');
    }
    return this;
  }

  /** The artifact's name, of wasm that the caller brought without one. */
  #nameArtifact() {
    const artifact = this.text(this.call('ln_artifact')) + (this.#isShared ? '.threads' : '');
    this.choice = { ...this.choice, artifact };
  }

  /** Whether the relaxed-SIMD instructions compute what the kernels expect. */
  #isSound() {
    return this.call('ln_self_check') === 1;
  }

  // ---- Calls and memory

  /**
   * Calls an export. A trap ends the runtime: the error says so, and so does every later call.
   * @param {string} name
   * @param {...any} args
   * @returns {any}
   */
  call(name, ...args) {
    if (this.failure) throw this.failure;
    check(this.#exports, 'SESSION_RELEASED', 'the session was released');
    try {
      return this.#exports[name](...args);
    } catch (error) {
      throw this.#die(error);
    }
  }

  /** @param {unknown} error */
  #die(error) {
    const text = error instanceof Error ? error.message : String(error);
    const isMemory = /memory/i.test(text) && !/out of bounds/i.test(text);
    this.failure = error instanceof LinnetError ? error
      : new LinnetError(isMemory ? 'OUT_OF_MEMORY' : 'INTERNAL', `the session stopped: ${text}`, { cause: error });
    this.#drop();
    return this.failure;
  }

  /**
   * The memory through an array class; made anew when the memory has grown, which leaves a buffer of no bytes behind
   * unless it is shared.
   * @param {any} Class
   */
  view(Class) {
    if (!this.#buffer?.byteLength || this.#isShared) this.#renewViews();
    let view = this.#views.get(Class);
    if (!view) this.#views.set(Class, (view = new Class(this.#buffer)));
    return view;
  }

  #renewViews() {
    const buffer = this.buffer;
    if (buffer === this.#buffer) return;
    this.#views.clear();
    this.#buffer = buffer;
  }

  get buffer() {
    check(this.#memory, this.failure?.code ?? 'SESSION_RELEASED', this.failure?.message ?? 'the session was released');
    return this.#memory.buffer;
  }

  /** Bytes of wasm memory in use, 0 once dropped. */
  get byteLength() {
    return this.#memory?.buffer.byteLength ?? 0;
  }

  /**
   * @param {number} bytes
   * @returns {number} a pointer
   */
  allocate(bytes) {
    const pointer = this.call('ln_malloc', bytes) >>> 0;
    check(pointer, 'OUT_OF_MEMORY', () => `no memory for ${bytes} more bytes (${this.byteLength} in use)`);
    return pointer;
  }

  /** @param {number} pointer */
  free(pointer) {
    this.call('ln_release', pointer);
  }

  /**
   * Copies dims into the scratch block and returns its address; valid until the next use of the scratch block.
   * @param {readonly number[]} dims
   */
  dims(dims) {
    check(dims.length * 8 <= SCRATCH_BYTES, 'LIMIT_EXCEEDED', () => `a tensor of rank ${dims.length} is beyond the limit`);
    const words = this.view(Uint32Array);
    for (let i = 0, at = this.#scratch / 4; i < dims.length; i++, at += 2) {
      words[at] = dims[i]; // modulo 2 ** 32
      words[at + 1] = Math.floor(dims[i] / 2 ** 32);
    }
    return this.#scratch;
  }

  /**
   * Calls `use` with the address and length of the UTF-8 bytes of a text, followed by a zero.
   * @template T
   * @param {string} text
   * @param {(pointer: number, length: number) => T} use
   * @returns {T}
   */
  withText(text, use) {
    const bytes = encodeUtf8(text);
    const isShort = bytes.length < SCRATCH_BYTES;
    const pointer = isShort ? this.#scratch : this.allocate(bytes.length + 1);
    const view = this.view(Uint8Array);
    view.set(bytes, pointer);
    view[pointer + bytes.length] = 0;
    try {
      return use(pointer, bytes.length);
    } finally {
      if (!isShort) this.free(pointer);
    }
  }

  /**
   * The zero-terminated text at a pointer; '' for NULL.
   * @param {number} pointer
   */
  text(pointer) {
    if (!pointer) return '';
    const bytes = this.view(Uint8Array);
    const end = bytes.indexOf(0, pointer >>> 0);
    return decodeUtf8(bytes, pointer >>> 0, end);
  }

  /**
   * The JSON that an export answers with.
   * @param {string} name
   * @param {...any} args
   */
  json(name, ...args) {
    const pointer = this.call(name, ...args);
    check(pointer, 'OUT_OF_MEMORY', () => `no memory for the answer of ${name}`);
    return JSON.parse(this.text(pointer));
  }

  // ---- Threads

  /** Starts the worker threads; until they are up, the caller computes alone. */
  startThreads() {
    if (this.isStarted || !this.pool) return;
    this.isStarted = true;
    for (let index = 1; index < this.choice.threads; index++) this.#startThread(index);
  }

  /** @param {number} index */
  #startThread(index) {
    const exports = /** @type {Record<string, any>} */ (this.#exports);
    const stack = this.allocate(THREAD_STACK_BYTES);
    const tls = this.allocate(Math.max(1, exports.__tls_size?.value ?? 0));
    const onDeath = (/** @type {string} */ reason) => {
      if (!this.#exports || this.failure) return;
      this.call('ln_pool_poison', this.pool);
      this.failure = new LinnetError('THREAD_DIED', `worker thread ${index} stopped: ${reason}`);
    };
    const thread = this.platform.startWorker('thread', (message) => onDeath(String(message.error)), onDeath);
    thread.post({ module: this.module, memory: this.#memory, pool: this.pool, index, stack: stack + THREAD_STACK_BYTES, tls });
    this.#threads.push(thread);
  }

  // ---- Holders

  hold() {
    this.#holders++;
    return this;
  }

  /** Gives the runtime up; the last holder's call drops the instance, its memory and its threads. */
  release() {
    if (--this.#holders <= 0) this.#drop();
  }

  #drop() {
    this.#onDrop?.();
    for (const thread of this.#threads) thread.stop();
    this.#threads = [];
    this.#views.clear();
    this.#exports = this.#memory = this.#buffer = undefined;
  }

  // ---- Making one

  /**
   * A runtime for one more session: a new one on one thread, the shared one on several.
   * @param {import('./env/platform.js').Platform} platform
   * @param {RuntimeOptions} options
   * @returns {Promise<Runtime>}
   */
  static async acquire(platform, options) {
    const { module, choice } = await findModule(platform, options);
    if (choice.threads === 1) return (await Runtime.#make(platform, options, module, choice)).hold();
    const runtimes = shared.get(module) ?? new Map();
    shared.set(module, runtimes);
    let promise = runtimes.get(choice.threads);
    if (!promise) {
      const forget = () => void runtimes.delete(choice.threads);
      promise = Runtime.#make(platform, options, module, choice).then((runtime) => {
        runtime.#onDrop = forget;
        return runtime;
      });
      runtimes.set(choice.threads, promise);
      promise.catch(forget);
    }
    const runtime = await promise;
    // Its last session may have been released meanwhile.
    return runtime.#exports ? runtime.hold() : Runtime.acquire(platform, options);
  }

  /**
   * @param {import('./env/platform.js').Platform} platform
   * @param {RuntimeOptions} options
   * @param {WebAssembly.Module} module
   * @param {Choice} choice
   * @returns {Promise<Runtime>}
   */
  static async #make(platform, options, module, choice) {
    const runtime = await new Runtime(platform, module, choice).#instantiate();
    if (choice.artifact === UNNAMED) runtime.#nameArtifact();
    if (runtime.#isSound()) return runtime;
    runtime.#drop();
    check(!options.artifact && !options.wasm, 'UNSUPPORTED',
      'this engine computes relaxed-SIMD instructions wrongly, and the wasm was chosen by the caller');
    const artifact = choice.artifact.replace('relaxed', 'simd');
    const plain = await findModule(platform, { ...options, artifact });
    return Runtime.#make(platform, options, plain.module, { ...choice, artifact, reason: 'the engine computes relaxed SIMD wrongly' });
  }
}

/**
 * The compiled wasm for some options, and why it is this one.
 * @param {import('./env/platform.js').Platform} platform
 * @param {RuntimeOptions} options
 */
async function findModule(platform, options) {
  if (options.wasm !== undefined) {
    const module = await loadModule(options.wasm, platform);
    return { module, choice: chooseArtifact(options, platform, { isShared: needsMemory(module) }) };
  }
  const choice = chooseArtifact(options, platform);
  const file = ARTIFACTS[/** @type {keyof typeof ARTIFACTS} */ (choice.artifact)];
  const location = locate(options.wasmPaths, file) ?? platform.artifactUrl(file);
  check(location, 'INVALID_ARGUMENT', () => `this platform has no place to find ${file}: import it and pass it as option 'wasm'`);
  return { module: await loadModule(location, platform), choice };
}

/** Memory that threads share. Some engines, iOS' among them, reserve the whole maximum, and have less than that to give. */
function allocateShared() {
  let cause;
  for (const maximum of SHARED_MAXIMUM_PAGES) {
    try {
      return new WebAssembly.Memory({ initial: SHARED_PAGES, maximum, shared: true });
    } catch (error) {
      cause = error;
    }
  }
  throw new LinnetError('OUT_OF_MEMORY', 'the engine grants no shared memory: use one thread', { cause });
}

/**
 * @param {any} paths a prefix, or an object with the URL of the wasm file
 * @param {string} file
 */
function locate(paths, file) {
  if (typeof paths === 'string') return paths + file;
  return paths?.wasm ?? paths?.[file];
}
