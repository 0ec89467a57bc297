// What the commands share: options, loading with progress, tables and units.

import { InferenceSession } from '../index.node.js';

/** A mistake in the arguments. */
export class UsageError extends Error {}

const PATIENCE_MS = 1000;

/**
 * A whole number from an option.
 * @param {Record<string, any>} options
 * @param {string} name
 * @param {number} [fallback]
 */
export function countOption(options, name, fallback) {
  if (options[name] === undefined) return fallback;
  const value = Number(options[name]);
  if (!Number.isInteger(value) || value < 0) throw new UsageError(`--${name} takes a whole number, not '${options[name]}'`);
  return value;
}

/**
 * The options of create() that the command line has.
 * @param {any} options
 */
export function sessionOptions(options) {
  const { artifact, wasm } = options;
  return { artifact, wasm, threads: countOption(options, 'threads'), optimize: countOption(options, 'optimize') };
}

/** Draws one line over and over on a terminal, once a second has passed. */
export class Progress {
  #start = performance.now();
  #isShown = false;

  /** @param {string} text */
  show(text) {
    if (!process.stderr.isTTY || performance.now() - this.#start < PATIENCE_MS) return;
    process.stderr.write(`\r${text}\x1b[K`);
    this.#isShown = true;
  }

  clear() {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
    this.#isShown = false;
  }
}

/**
 * Loads a model, showing how far it is.
 * @param {string} model
 * @param {any} options
 * @param {any} [more] further options of create()
 */
export async function load(model, options, more = {}) {
  const progress = new Progress();
  const onProgress = (/** @type {any} */ { phase, loaded, total }) => {
    const part = total ? ` ${Math.floor((100 * loaded) / total)} %` : loaded ? ` ${bytes(loaded)}` : '';
    progress.show(`loading ${model}: ${phase}${part}`);
  };
  try {
    return await InferenceSession.create(model, { ...sessionOptions(options), ...more, onProgress });
  } finally {
    progress.clear();
  }
}

/**
 * Awaits a promise, showing for how long.
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what
 */
export async function waitFor(promise, what) {
  const progress = new Progress();
  const start = performance.now();
  const timer = setInterval(() => progress.show(`${what}: ${((performance.now() - start) / 1000).toFixed(0)} s`), 500);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
    progress.clear();
  }
}

/** @param {number} count */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const [unit, scale] = count < 1e6 ? ['kB', 1e3] : count < 1e9 ? ['MB', 1e6] : ['GB', 1e9];
  return `${(count / scale).toPrecision(3)} ${unit}`;
}

/** @param {number} ms */
export function milliseconds(ms) {
  return `${ms < 10 ? ms.toFixed(3) : ms < 100 ? ms.toFixed(2) : ms.toFixed(1)} ms`;
}

/**
 * Rows of text in columns; numbers are set to the right.
 * @param {any[][]} rows
 * @param {string} [indent]
 */
export function table(rows, indent = '  ') {
  const widths = rows.reduce((all, row) => row.map((cell, i) => Math.max(all[i] ?? 0, String(cell).length)), /** @type {number[]} */ ([]));
  const isNumber = (/** @type {any} */ cell) => /^[\d.]+ ?(ms|%|[kMG]?B)?$/.test(String(cell));
  const pad = (/** @type {any} */ cell, /** @type {number} */ i) => (isNumber(cell) ? String(cell).padStart(widths[i]) : String(cell).padEnd(widths[i]));
  return rows.map((row) => (indent + row.map(pad).join('  ')).trimEnd()).join('\n');
}

/** The shape of a declared value: "float32 [1, 3, height, width]". @param {any} info @returns {string} */
export function describeValue(info) {
  if (info.isTensor) return `${info.type} [${info.shape.map((/** @type {any} */ dim) => (dim === '' ? '?' : dim)).join(', ')}]`;
  if (!info.element) return info.kind;
  const { element } = info;
  return `${info.kind} of ${describeValue({ ...element, isTensor: element.kind === 'tensor', shape: element.shape ?? [] })}`;
}
