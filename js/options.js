// Options of sessions and runs, read through two tables. Every name that onnxruntime-web knows is here: taken over,
// accepted because it changes nothing in linnet, or refused with the reason. Any other name is an error.

import { ARTIFACTS } from './artifacts.js';
import { check, LinnetError } from './errors.js';

/**
 * Defaults for options, under the names of onnxruntime-web's `env`. It is read at each create(), and nothing else is
 * global.
 * @type {Record<string, any>}
 */
export const env = {
  logLevel: 'warning',
  debug: false,
  trace: false,
  versions: Object.freeze({ common: '1.30.0', linnet: '0.1.0' }),
  wasm: /** @type {Record<string, any>} */ ({}),
  webgl: {},
  webgpu: {},
};

/**
 * @typedef {object} SessionSettings
 * @property {string} [artifact]
 * @property {number} [threads]
 * @property {any} [wasm]
 * @property {any} [wasmPaths]
 * @property {import('./runtime.js').Runtime} [runtime]
 * @property {boolean} [worker]
 * @property {AbortSignal} [signal]
 * @property {(progress: { phase: string, loaded?: number, total?: number }) => void} [onProgress]
 * @property {any} [externalData]
 * @property {boolean} [warmUp]
 * @property {Record<string, number>} core options of the core, by its names
 *
 * @typedef {object} RunSettings
 * @property {AbortSignal} [signal]
 * @property {boolean} [view]
 */

/** @typedef {(value: any, settings: any, key: string) => void} Reader */

/** @param {string} name @param {(value: any) => boolean} isValid @param {string} wanted @returns {Reader} */
const set = (name, isValid, wanted) => (value, settings, key) => {
  check(isValid(value), 'INVALID_ARGUMENT', `option '${key}' is ${wanted}, not ${String(value)}`);
  settings[name] = value;
};

/** @param {string} name @param {(value: any) => number | undefined} convert @param {string} wanted @returns {Reader} */
const core = (name, convert, wanted) => (value, settings, key) => {
  const number = convert(value);
  check(number !== undefined, 'INVALID_ARGUMENT', `option '${key}' is ${wanted}, not ${String(value)}`);
  settings.core[name] = number;
};

/** Accepted: it has no meaning here. @type {Reader} */
const ignore = () => {};

/** @param {string} reason @param {(value: any) => boolean} [isHarmless] @returns {Reader} */
const refuse = (reason, isHarmless = (value) => !value) => (value, _settings, key) => {
  check(isHarmless(value), 'UNSUPPORTED', `option '${key}' is refused: ${reason}`);
};

/** @param {any} value */
const isBoolean = (value) => typeof value === 'boolean';
/** @param {any} value */
const isSignal = (value) => typeof value?.aborted === 'boolean' && typeof value.addEventListener === 'function';
/** @param {any} value */
const isCount = (value) => Number.isInteger(value) && value >= 0 && value <= 64;
/** @param {any} value */
const bit = (value) => (isBoolean(value) ? Number(value) : undefined);

const LEVELS = /** @type {Record<string, number>} */ ({ disabled: 0, basic: 1, extended: 2, layout: 2, all: 2 });
const threads = set('threads', isCount, 'a number of threads from 1 to 64, or 0 to let linnet choose');

/** @type {Record<string, Reader>} */
const SESSION_OPTIONS = {
  artifact: set('artifact', (value) => value in ARTIFACTS, `one of ${Object.keys(ARTIFACTS).join(', ')}`),
  threads,
  wasm: set('wasm', (value) => value !== null, 'a WebAssembly.Module, a Response, bytes or a URL'),
  runtime: set('runtime', (value) => typeof value?.hold === 'function', 'a Runtime'),
  worker: set('worker', isBoolean, 'true or false'),
  signal: set('signal', isSignal, 'an AbortSignal'),
  onProgress: set('onProgress', (value) => typeof value === 'function', 'a function'),
  externalData: set('externalData', (value) => typeof value === 'object', 'an array of { path, data } or a map from path to data'),
  optimize: core('optimize', (value) => ([0, 1, 2].includes(value) ? value : undefined), '0, 1 or 2'),
  profile: core('profile', bit, 'true or false'),
  overridable: core('overridable', bit, 'true or false'),
  winograd: core('winograd', bit, 'true or false'),
  warmUp: set('warmUp', isBoolean, 'true or false'),
  seed: core('seed', (value) => (Number.isFinite(value) ? value : undefined), 'a number'),

  executionProviders(value) {
    check(Array.isArray(value), 'INVALID_ARGUMENT', "option 'executionProviders' is an array");
    const names = value.map((each) => (typeof each === 'string' ? each : each?.name));
    check(!names.length || names.includes('wasm') || names.includes('cpu'), 'UNSUPPORTED',
      `option 'executionProviders' asks for ${names.join(', ')} only, but linnet computes in WebAssembly: add 'wasm'`);
  },
  intraOpNumThreads: threads,
  interOpNumThreads: ignore,
  graphOptimizationLevel: core('optimize', (value) => LEVELS[value], `one of ${Object.keys(LEVELS).join(', ')}`),
  enableProfiling: core('profile', bit, 'true or false'),
  freeDimensionOverrides: ignore,
  enableCpuMemArena: ignore,
  enableMemPattern: ignore,
  executionMode: ignore,
  profileFilePrefix: ignore,
  logId: ignore,
  logSeverityLevel: ignore,
  logVerbosityLevel: ignore,
  extra: ignore,
  optimizedModelFilePath: refuse('linnet writes no files'),
  enableGraphCapture: refuse('there is no GPU graph to capture'),
  preferredOutputLocation: refuse('outputs are on the CPU', (value) =>
    (typeof value === 'string' ? [value] : Object.values(value ?? {})).every((place) => place === 'cpu' || place === 'cpu-pinned')),
};

/** @type {Record<string, Reader>} */
const RUN_OPTIONS = {
  signal: set('signal', isSignal, 'an AbortSignal'),
  outputs(value, settings) {
    check(value === 'view' || value === 'copy', 'INVALID_ARGUMENT', `option 'outputs' is 'view' or 'copy', not ${String(value)}`);
    settings.view = value === 'view';
  },
  terminate: refuse('pass an AbortSignal as `signal` and abort that'),
  logSeverityLevel: ignore,
  logVerbosityLevel: ignore,
  tag: ignore,
  extra: ignore,
};

/**
 * @param {Record<string, Reader>} table
 * @param {any} options
 * @param {any} settings
 * @param {string} what
 */
function read(table, options, settings, what) {
  if (options === undefined || options === null) return settings;
  check(typeof options === 'object', 'INVALID_ARGUMENT', `${what} options are an object`);
  for (const key of Object.keys(options)) {
    if (options[key] === undefined) continue;
    if (!Object.hasOwn(table, key)) throw new LinnetError('INVALID_ARGUMENT',
      `unknown ${what} option '${key}'; known are ${Object.keys(table).join(', ')}`);
    table[key](options[key], settings, key);
  }
  return settings;
}

/**
 * The settings of a session: its options over the defaults in `env`.
 * @param {any} options
 * @returns {SessionSettings}
 */
export function readSessionOptions(options) {
  const { numThreads, wasmBinary, wasmPaths, proxy } = env.wasm;
  const defaults = {
    threads: numThreads || undefined,
    wasm: wasmBinary,
    wasmPaths,
    worker: proxy,
    core: {},
  };
  const settings = read(SESSION_OPTIONS, options, defaults, 'session');
  if (settings.threads === 0) settings.threads = undefined;
  return settings;
}

/** @type {RunSettings} */
const NO_RUN_OPTIONS = Object.freeze({});

/**
 * @param {any} options
 * @returns {RunSettings}
 */
export function readRunOptions(options) {
  return options === undefined ? NO_RUN_OPTIONS : read(RUN_OPTIONS, options, {}, 'run');
}
