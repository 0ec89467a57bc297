// The operators of a build, as its tables list them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { distDir } from './paths.mjs';

/** Operators that only rewrites make. */
export const HIDDEN_DOMAIN = 'linnet';

/**
 * The catalogue of a wasm artifact, which imports nothing: { operators: [{ name, domain, since, until, signature, types }],
 * opsets: { domain: newest version } }.
 */
export async function readCatalogue(file = join(distDir, 'linnet.simd.wasm')) {
  const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
  const { memory, _initialize, ln_operators_json: operatorsJson } = instance.exports;
  _initialize();
  const start = operatorsJson();
  const bytes = new Uint8Array(memory.buffer, start);
  return JSON.parse(new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0))));
}

/** Splits a signature at the '>' that is not the end of an optional type: [inputs, outputs]. */
export function splitSignature(signature) {
  for (let i = 0; i < signature.length; i++) {
    if (signature[i] === '>' && signature[i - 2] !== '<') return [signature.slice(0, i), signature.slice(i + 1)];
  }
  return [signature, ''];
}

/** The terms of one side of a signature: [A], <A>, {} or a letter, each with its ?, * or +. */
export const signatureTerms = (side) => side.match(/(\[.\]|<.>|\{\}|.)[?*+]?/g) ?? [];

/** Types by the letters of a signature that stand for one. */
export const FIXED_TYPES = { f: 'float32', d: 'float64', h: 'float16', l: 'int64', i: 'int32', u: 'uint8', b: 'bool', s: 'string' };
