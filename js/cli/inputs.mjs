// The inputs of a run from the command line: .npy files, JSON (in a file or as it stands), or random numbers from a fixed seed.

import { readFile } from 'node:fs/promises';
import { Tensor } from '../index.node.js';
import { typeNamed } from '../types.js';
import { readNpy } from './npy.mjs';
import { UsageError } from './terminal.mjs';

const SEED = 0x2545f491;

/**
 * Pairs of name=value.
 * @param {string[] | undefined} list
 * @param {string} option
 */
function pairs(list, option) {
  return new Map((list ?? []).map((each) => {
    const at = each.indexOf('=');
    if (at < 1) throw new UsageError(`--${option} takes name=value, not '${each}'`);
    return [each.slice(0, at), each.slice(at + 1)];
  }));
}

/**
 * A value for every input of the session.
 * @param {any} session
 * @param {any} options
 * @returns {Promise<{ feeds: Record<string, any>, random: string[] }>} `random` names the inputs that were made up
 */
export async function makeFeeds(session, options) {
  const given = pairs(options.input, 'input');
  const dims = pairs(options.dim, 'dim');
  const { inputNames } = session;
  for (const name of given.keys()) {
    if (!inputNames.includes(name)) throw new UsageError(`the model has no input '${name}'; it has ${inputNames.join(', ')}`);
  }
  for (const [name, size] of dims) if (!/^\d+$/.test(size)) throw new UsageError(`--dim ${name} takes a whole number, not '${size}'`);
  const shapes = pairs(options.shape, 'shape');
  for (const [name, shape] of shapes) {
    if (!inputNames.includes(name)) throw new UsageError(`--shape: the model has no input '${name}'; it has ${inputNames.join(', ')}`);
    if (!/^(\d+(,\d+)*)?$/.test(shape)) throw new UsageError(`--shape ${name} takes whole numbers with commas between, not '${shape}'`);
  }
  const next = randomNumbers(SEED);
  /** @type {Record<string, any>} */
  const feeds = {};
  const random = [];
  for (const info of session.inputMetadata) {
    const source = given.get(info.name) ?? 'random';
    if (source !== 'random') feeds[info.name] = await readInput(info, source);
    else if (info.isTensor) {
      const shape = shapes.get(info.name)?.split(',').filter(Boolean).map(Number) ?? info.shape;
      feeds[info.name] = randomTensor({ ...info, shape }, dims, next);
      random.push(info.name);
    } else if (info.kind !== 'optional') {
      throw new UsageError(`input '${info.name}' is a ${info.kind}: give it with --input ${info.name}=FILE.json`);
    }
  }
  return { feeds, random };
}

/** @param {any} info @param {string} file */
async function readInput(info, file) {
  if (/^[-\d["]/.test(file) && !/\.(npy|json)$/.test(file)) return fromJson(info, parse(info, file));
  const content = await readFile(file).catch((error) => {
    throw new UsageError(`input '${info.name}': ${error.message}`);
  });
  try {
    if (!file.endsWith('.npy')) return fromJson(info, JSON.parse(content.toString('utf8')));
    const { type, dims, bytes } = readNpy(content);
    const { heap } = typeNamed(type);
    return new Tensor(type, new heap(bytes.buffer, bytes.byteOffset, bytes.byteLength / heap.BYTES_PER_ELEMENT), dims);
  } catch (error) {
    throw new UsageError(`input '${info.name}': ${file}: ${error instanceof Error ? error.message : error}`);
  }
}

/** @param {any} info @param {string} text */
function parse(info, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`input '${info.name}': '${text}' is neither a .npy or .json file nor JSON`);
  }
}

/** Nested arrays to a tensor; for a sequence, an array of them. @param {any} info @param {any} json @returns {any} */
function fromJson(info, json) {
  if (!info.isTensor) {
    const element = { ...info.element, isTensor: info.element?.kind === 'tensor' };
    return json.map((/** @type {any} */ item) => fromJson(element, item));
  }
  if (json && Array.isArray(json.dims)) return new Tensor(json.type ?? info.type, json.data, json.dims);
  const dims = [];
  for (let level = json; Array.isArray(level); level = level[0]) dims.push(level.length);
  return new Tensor(info.type, [json].flat(Infinity), dims);
}

/** @param {any} info @param {Map<string, string>} sizes @param {() => number} next */
function randomTensor({ type, shape }, sizes, next) {
  const dims = shape.map((/** @type {number | string} */ dim) => (typeof dim === 'number' ? dim : Number(sizes.get(dim) ?? 1)));
  const size = dims.reduce((/** @type {number} */ product, /** @type {number} */ dim) => product * dim, 1);
  const element = typeNamed(type);
  if (element.isString) return new Tensor('string', new Array(size).fill('text'), dims);
  const isWhole = /int|bool/.test(type);
  const length = element.arrayLength(size);
  if (type === 'float16' || type === 'bfloat16') {
    // The upper bits of numbers between 1 and 2.
    const one = type === 'float16' ? 0x3c00 : 0x3f80;
    return new Tensor(type, Uint16Array.from({ length }, () => one + Math.floor(next() * 0x80)), dims);
  }
  const isBig = type === 'int64' || type === 'uint64';
  const values = Array.from({ length }, () => (isWhole ? Math.floor(next() * 2) : next()));
  return new Tensor(type, isBig ? values.map(BigInt) : values, dims);
}

/** Numbers in [0, 1), the same at every start. @param {number} seed */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
