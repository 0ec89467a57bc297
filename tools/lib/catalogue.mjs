// The operator tables of a build: rows of { name, domain, since, until, signature, types }, and the newest operator sets.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { distDir } from './paths.mjs';

/** The catalogue of a wasm artifact, which imports nothing. */
export async function readCatalogue(file = join(distDir, 'linnet.simd.wasm')) {
  const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
  const { memory, _initialize, ln_operators_json: operatorsJson } = instance.exports;
  _initialize();
  const start = operatorsJson();
  const bytes = new Uint8Array(memory.buffer, start);
  return JSON.parse(new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0))));
}
