// InferenceSession: one model, ready to run.
//
// A run feeds its inputs before it returns its promise, then computes in slices of a few milliseconds between which the
// event loop turns, so that a page stays alive and an abort can arrive. A second run waits for the first; its inputs
// are copied meanwhile. runSync computes at once, in one slice.

import { abortError, check, LinnetError } from './errors.js';
import { Loader } from './loader.js';
import { readRunOptions, readSessionOptions } from './options.js';
import { RemoteSession } from './remote.js';
import { Runtime } from './runtime.js';
import { describe } from './tensor.js';
import { isTensor, snapshot, Values } from './values.js';

const OK = 0;
const MORE = 101;
/** Length of a slice that a run aims at, in milliseconds. */
const SLICE_MS = 8;
const FIRST_BUDGET = 64;

/** Lets only create() call the constructor. */
const token = Symbol('create');

/**
 * @typedef {{ name: string, kind: string, type?: string, shape?: (number | string)[], element?: any, key?: string }} ValueInfo
 * @typedef {{ feeds: [number, any][], targets: (any | null | undefined)[], settings: import('./options.js').RunSettings }} Request
 */

export class InferenceSession {
  /** Set by the entry point of each platform. @type {import('./env/platform.js').Platform} */
  static platform;

  #runtime;
  #session;
  #values;
  #description;
  /** Place of each input by name. @type {Map<string, number>} */
  #inputIndex;
  /** Place of each output by name. @type {Map<string, number>} */
  #outputIndex;
  #choice;
  #isOwnRuntime;
  #isReleased = false;
  #isProfiling;
  /** Milliseconds of each step of the run under way. @type {number[] | undefined} */
  #times;
  /** @type {{ node: string, op: string, ms: number }[] | undefined} */
  #profile;
  /** Resolves when the last run in the queue is done. @type {Promise<void>} */
  #tail = Promise.resolve();
  #queued = 0;
  #budget = FIRST_BUDGET;
  /** Counts what makes views out of date. */
  #generation = 0;
  /** Per output, the view of wasm memory that fills a pre-allocated tensor. @type {object[]} */
  #caches;

  /**
   * @param {symbol} key
   * @param {Runtime} runtime
   * @param {number} session
   * @param {import('./options.js').SessionSettings} settings
   */
  constructor(key, runtime, session, settings) {
    check(key === token, 'INVALID_ARGUMENT', 'sessions are made by InferenceSession.create()');
    this.#runtime = runtime;
    this.#session = session;
    this.#values = new Values(runtime, session, (status) => this.#expectOk(status));
    this.#choice = runtime.choice;
    this.#isOwnRuntime = !runtime.pool && !settings.runtime;
    this.#isProfiling = Boolean(settings.core.profile);
    this.#description = runtime.json('ln_session_describe', session);
    this.#inputIndex = new Map(this.#inputs.map(({ name }, i) => [name, i]));
    this.#outputIndex = new Map(this.#outputs.map(({ name }, i) => [name, i]));
    this.#caches = this.#outputs.map(() => ({}));
  }

  /**
   * Loads a model.
   * @param {any} model a path, URL, bytes, Blob, Response or stream
   * @param {...any} rest options; before them byteOffset and byteLength may stand when the model is an ArrayBuffer
   * @returns {Promise<any>}
   */
  static async create(model, ...rest) {
    const [options, part] = splitCreate(model, rest);
    const settings = readSessionOptions(options);
    if (settings.signal?.aborted) throw abortError(settings.signal);
    if (settings.worker) return RemoteSession.create(this.platform, part, options, settings);
    settings.onProgress?.({ phase: 'runtime' });
    return withSession(this.platform, settings, async (runtime, session, loader) => {
      await loader.read(part);
      await loader.complete(part);
      const made = new this(token, runtime, session, settings);
      settings.onProgress?.({ phase: 'ready' });
      return made;
    });
  }

  /**
   * What a model holds, as it is written, without making it ready to run: inputs, outputs, metadata, operators with
   * counts, those that this build does not have, and weights by type.
   * @param {any} model
   * @param {...any} rest as for create()
   * @returns {Promise<any>}
   */
  static async inspect(model, ...rest) {
    const [options, part] = splitCreate(model, rest);
    const settings = readSessionOptions(options);
    return withSession(this.platform, settings, async (runtime, session, loader) => {
      await loader.read(part);
      const { inputs, outputs, metadata } = runtime.json('ln_session_describe', session);
      const { nodes, operators, unsupported, weights } = runtime.json('ln_session_inspect', session);
      runtime.call('ln_session_free', session);
      runtime.release();
      return { inputs: inputs.map(metadataOf), outputs: outputs.map(metadataOf), metadata, nodes, operators, unsupported, weights };
    });
  }

  // ---- What the model is

  /** @returns {ValueInfo[]} */
  get #inputs() {
    return this.#description.inputs;
  }

  /** @returns {ValueInfo[]} */
  get #outputs() {
    return this.#description.outputs;
  }

  get inputNames() {
    return this.#inputs.map(({ name }) => name);
  }

  get outputNames() {
    return this.#outputs.map(({ name }) => name);
  }

  get inputMetadata() {
    return this.#inputs.map(metadataOf);
  }

  get outputMetadata() {
    return this.#outputs.map(metadataOf);
  }

  /** Producer, domain, versions, documentation, custom properties and opset imports of the model. */
  get metadata() {
    return this.#description.metadata;
  }

  /** What runs the model, and why: artifact, threads, runtime; and what loading had to say. */
  get info() {
    const { artifact, reason, threads, threadsReason } = this.#choice;
    return {
      artifact,
      artifactReason: reason,
      threads,
      threadsReason,
      runtime: this.#isOwnRuntime ? 'own' : 'shared',
      worker: false,
      warnings: this.#description.warnings ?? [],
    };
  }

  /** Bytes by kind, and those of the whole wasm memory. */
  memory() {
    return { ...this.#runtime.json('ln_session_memory', this.#session), wasmBytes: this.#runtime.byteLength };
  }

  /** The optimised graph: operators with counts, weights by type, packed weights, rewrites with how often they fired. */
  inspect() {
    return this.#runtime.json('ln_session_inspect', this.#session);
  }

  /** What the last run computed, step by step: node, operator, types and shapes of its inputs and outputs. */
  steps() {
    return this.#runtime.json('ln_session_steps', this.#session);
  }

  /** Per step of the last run: node, operator and milliseconds. Undefined unless profiling. */
  profile() {
    return this.#profile;
  }

  startProfiling() {
    this.#setProfiling(true);
  }

  endProfiling() {
    this.#setProfiling(false);
  }

  /** @param {boolean} isOn */
  #setProfiling(isOn) {
    this.#isProfiling = isOn;
    this.#expectOk(this.#runtime.withText('profile', (key) => this.#runtime.call('ln_session_option', this.#session, key, Number(isOn))));
  }

  // ---- Running

  /**
   * Runs the model.
   * @param {Record<string, any>} feeds
   * @param {any} [first] names of outputs or pre-allocated outputs by name; or the options
   * @param {any} [second] options
   * @returns {Promise<Record<string, any>>}
   */
  async run(feeds, first, second) {
    const request = this.#request(feeds, first, second);
    const { signal } = request.settings;
    if (signal?.aborted) throw abortError(signal);
    const turn = this.#tail;
    /** @type {() => void} */
    let pass = () => {};
    this.#tail = new Promise((resolve) => (pass = resolve));
    try {
      if (this.#queued++ > 0) {
        request.feeds = request.feeds.map(([index, value]) => [index, snapshot(value)]);
        await turn;
        this.#checkUsable();
        if (signal?.aborted) throw abortError(signal);
      }
      this.#runtime.startThreads();
      this.#begin(request);
      while (!this.#slice()) {
        await this.#runtime.platform.pause();
        if (signal?.aborted) {
          this.#runtime.call('ln_run_cancel', this.#session);
          throw abortError(signal);
        }
      }
      return this.#results(request);
    } finally {
      this.#queued--;
      pass();
    }
  }

  /**
   * Runs the model at once, on this thread.
   * @param {Record<string, any>} feeds
   * @param {any} [first]
   * @param {any} [second]
   * @returns {Record<string, any>}
   */
  runSync(feeds, first, second) {
    const request = this.#request(feeds, first, second);
    check(!this.#queued, 'SESSION_BUSY', 'another run of this session is under way: await it, or use run()');
    this.#runtime.startThreads();
    this.#begin(request);
    if (this.#isProfiling) while (!this.#slice());
    else this.#expectOk(this.#runtime.call('ln_run_step', this.#session, 0));
    return this.#results(request);
  }

  /**
   * Feeds that stay, copied once: runs to come read them and are fed the other inputs. A name with null is fed again.
   * @param {Record<string, any>} feeds
   */
  async bind(feeds) {
    this.#checkUsable();
    const bound = Object.keys(feeds).map((name) => ({ index: this.#indexOf(name), value: feeds[name] ?? null }));
    const turn = this.#tail;
    /** @type {() => void} */
    let pass = () => {};
    this.#tail = new Promise((resolve) => (pass = resolve));
    this.#queued++;
    try {
      await turn;
      this.#checkUsable();
      this.#begin({ feeds: [] });
      for (const { index, value } of bound) {
        this.#expectOk(this.#runtime.call('ln_run_bind', this.#session, index, 0));
        if (value === null) continue;
        this.#values.feed(index, value, this.#inputs[index]);
        this.#expectOk(this.#runtime.call('ln_run_bind', this.#session, index, 1));
      }
    } finally {
      this.#queued--;
      pass();
    }
  }

  /** Frees the session, after the runs that are under way. */
  async release() {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#tail;
    this.#generation++;
    if (!this.#runtime.failure) this.#runtime.call('ln_session_free', this.#session);
    this.#runtime.release();
  }

  /** @param {number} status */
  #expectOk(status) {
    expectOk(this.#runtime, this.#session, status);
  }

  #checkUsable() {
    check(!this.#isReleased, 'SESSION_RELEASED', 'the session was released');
    if (this.#runtime.failure) throw this.#runtime.failure;
  }

  /**
   * Names resolved to indices, and the options read.
   * @param {any} feeds
   * @param {any} first
   * @param {any} second
   * @returns {Request}
   */
  #request(feeds, first, second) {
    this.#checkUsable();
    check(typeof feeds === 'object' && feeds !== null && !isTensor(feeds), 'INVALID_FEED',
      () => `feeds are an object of values by input name, not ${describe(feeds)}`);
    const isFetches = second !== undefined || Array.isArray(first) || this.#looksLikeFetches(first);
    const settings = readRunOptions(isFetches ? second : first);
    return { feeds: this.#resolveFeeds(feeds), targets: this.#resolveFetches(isFetches ? first : undefined), settings };
  }

  /** @param {string} name of an input */
  #indexOf(name) {
    const index = this.#inputIndex.get(name);
    if (index === undefined) throw new LinnetError('INVALID_FEED', `the model has no input '${name}'; it has ${quoted(this.inputNames)}`);
    return index;
  }

  /** @param {Record<string, any>} feeds @returns {[number, any][]} */
  #resolveFeeds(feeds) {
    /** @type {[number, any][]} */
    const resolved = [];
    for (const name of Object.keys(feeds)) {
      const index = this.#indexOf(name);
      const value = feeds[name];
      if ((value !== undefined && value !== null) || this.#inputs[index].kind === 'optional') resolved.push([index, value]);
    }
    return resolved;
  }

  /** An object whose keys are outputs is fetches, one whose keys are options is options. @param {any} value */
  #looksLikeFetches(value) {
    if (typeof value !== 'object' || value === null) return false;
    return Object.keys(value).some((key) => this.#outputIndex.has(key) && (value[key] === null || isTensor(value[key])));
  }

  /**
   * Per output: undefined when it is not wanted, null when it is, a tensor to fill when one was given.
   * @param {any} fetches
   */
  #resolveFetches(fetches) {
    const targets = new Array(this.#outputs.length);
    if (fetches === undefined || fetches === null) return targets.fill(null);
    const isList = Array.isArray(fetches);
    check(typeof fetches === 'object' && !isTensor(fetches), 'INVALID_ARGUMENT',
      'fetches are an array of output names or an object by output name');
    const names = isList ? fetches : Object.keys(fetches);
    check(names.length, 'INVALID_ARGUMENT', 'fetches name no output');
    for (const name of names) {
      const index = this.#outputIndex.get(name);
      if (index === undefined) throw new LinnetError('INVALID_ARGUMENT',
        `the model has no output '${name}'; it has ${quoted(this.outputNames)}`);
      targets[index] = isList ? null : fetches[name];
    }
    return targets;
  }

  /** @param {{ feeds: [number, any][] }} request */
  #begin({ feeds }) {
    this.#generation++;
    this.#times = this.#isProfiling ? [] : undefined;
    this.#expectOk(this.#runtime.call('ln_run_begin', this.#session));
    for (const [index, value] of feeds) this.#values.feed(index, value, this.#inputs[index]);
  }

  /** Computes for a few milliseconds; true when the run is done. */
  #slice() {
    const { platform } = this.#runtime;
    const start = platform.now();
    const budget = this.#times ? 1 : this.#budget;
    const status = this.#runtime.call('ln_run_step', this.#session, budget);
    const elapsed = platform.now() - start;
    if (this.#times) {
      const record = this.#runtime.call('ln_session_profile_count', this.#session) - 1;
      if (record >= 0) this.#times[record] = (this.#times[record] ?? 0) + elapsed;
    }
    if (status === MORE) {
      const wanted = (budget * SLICE_MS) / Math.max(elapsed, 0.01);
      if (!this.#times) this.#budget = Math.max(1, Math.min(1 << 20, Math.round((budget + wanted) / 2)));
      return false;
    }
    this.#expectOk(status);
    return true;
  }

  /** @param {number[]} times */
  #nameTimes(times) {
    /** @type {any[]} */
    const steps = this.#runtime.json('ln_session_profile', this.#session);
    return steps.map((step, i) => ({ ...step, ms: times[i] ?? 0 }));
  }

  /** @param {Request} request */
  #results({ targets, settings }) {
    this.#profile = this.#times && this.#nameTimes(this.#times);
    const generation = this.#generation;
    const isCurrent = () => this.#generation === generation && !this.#runtime.failure;
    /** @type {Record<string, any>} */
    const results = {};
    for (let i = 0; i < targets.length; i++) {
      const target = targets[i];
      if (target === undefined) continue;
      const { name } = this.#outputs[i];
      const pointer = this.#runtime.call('ln_run_output', this.#session, i) >>> 0;
      results[name] = target ? this.#values.readInto(pointer, target, name, this.#caches[i])
        : settings.view ? this.#values.readView(pointer, isCurrent) : this.#values.read(pointer);
    }
    return results;
  }
}

/**
 * Makes a session of the core for `use`, which owns it and its hold on the runtime once it has succeeded.
 * @template T
 * @param {import('./env/platform.js').Platform} platform
 * @param {import('./options.js').SessionSettings} settings
 * @param {(runtime: Runtime, session: number, loader: Loader) => Promise<T>} use
 * @returns {Promise<T>}
 */
async function withSession(platform, settings, use) {
  const runtime = settings.runtime ? settings.runtime.hold() : await Runtime.acquire(platform, settings);
  let session = 0;
  try {
    session = runtime.call('ln_session_new', runtime.pool) >>> 0;
    check(session, 'OUT_OF_MEMORY', 'no memory for a session');
    return await use(runtime, session, new Loader(runtime, session, (status) => expectOk(runtime, session, status), settings));
  } catch (error) {
    if (session && !runtime.failure) runtime.call('ln_session_free', session);
    runtime.release();
    throw error;
  }
}

/**
 * Throws what the core recorded unless the status is OK.
 * @param {Runtime} runtime
 * @param {number} session
 * @param {number} status
 */
function expectOk(runtime, session, status) {
  if (status === OK) return;
  const text = (/** @type {string} */ name) => runtime.text(runtime.call(name, session));
  throw new LinnetError(text('ln_error_name') || 'INTERNAL', text('ln_error_message') || `status ${status}`, {
    node: text('ln_error_node'),
    op: text('ln_error_op'),
    opset: runtime.call('ln_error_opset', session),
  });
}

/**
 * Splits create()'s arguments as onnxruntime-common overloads them.
 * @param {any} model
 * @param {any[]} rest
 * @returns {[any, any]} options and model
 */
function splitCreate(model, rest) {
  if (typeof rest[0] !== 'number') return [rest[0], model];
  const [offset, second, third] = rest;
  const isBuffer = Object.prototype.toString.call(model).endsWith('ArrayBuffer]');
  check(isBuffer, 'INVALID_ARGUMENT', 'byteOffset goes with an ArrayBuffer');
  const length = typeof second === 'number' ? second : model.byteLength - offset;
  check(offset >= 0 && length >= 0 && offset + length <= model.byteLength, 'INVALID_ARGUMENT',
    () => `bytes ${offset} to ${offset + length} lie outside of a buffer of ${model.byteLength}`);
  return [typeof second === 'number' ? third : second, new Uint8Array(model, offset, length)];
}

/** @param {ValueInfo} info */
function metadataOf({ name, kind, type, shape, element, key }) {
  if (kind !== 'tensor') return { name, isTensor: false, kind, ...(type && { type }), ...(key && { key }), ...(element && { element }) };
  return { name, isTensor: true, type, shape: (shape ?? []).map((dim) => dim ?? '') };
}

/** @param {readonly string[]} names */
function quoted(names) {
  return names.length ? names.map((name) => `'${name}'`).join(', ') : 'none';
}
