// Writes docs/operators.md from the operator tables of a build.
//
//   node tools/operators.mjs            writes the page
//   node tools/operators.mjs --check    fails when the page is not what the tables say

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { distDir, root } from './lib/paths.mjs';

const page = join(root, 'docs', 'operators.md');
const HIDDEN_DOMAIN = 'linnet'; // operators that only rewrites make
const DOMAINS = [
  ['', 'ai.onnx'],
  ['ai.onnx.ml', 'ai.onnx.ml'],
  ['ai.onnx.preview', 'ai.onnx.preview'],
  ['ai.onnx.preview.training', 'ai.onnx.preview.training'],
  ['com.microsoft', 'com.microsoft'],
];
const SHORT = {
  float32: 'f32', float64: 'f64', float16: 'f16', bfloat16: 'bf16', string: 'text', complex64: 'c64', complex128: 'c128',
  float8e4m3fn: 'f8', float8e4m3fnuz: 'f8', float8e5m2: 'f8', float8e5m2fnuz: 'f8', float8e8m0: 'f8', float4e2m1: 'f4',
};
const FIXED = { f: 'float32', d: 'float64', h: 'float16', l: 'int64', i: 'int32', u: 'uint8', b: 'bool', s: 'string' };

const short = (name) => SHORT[name] ?? name.replace('uint', 'u').replace('int', 'i');

/** The catalogue of a wasm artifact, which imports nothing. */
async function readCatalogue() {
  const { instance } = await WebAssembly.instantiate(readFileSync(join(distDir, 'linnet.simd.wasm')), {});
  const { memory, _initialize, ln_operators_json: operatorsJson } = instance.exports;
  _initialize();
  const start = operatorsJson();
  const bytes = new Uint8Array(memory.buffer, start);
  return JSON.parse(new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0))));
}

/** "AA?>A" as "T, T? → T"; fixed types by name. */
function describeSignature(signature) {
  const term = (text) => text.replace(/[A-Za-z]/g, (letter) => ({ A: 'T', B: 'T2', C: 'T3' })[letter] ?? short(FIXED[letter]))
    .replace('.', 'any').replace('{}', 'map');
  const side = (text) => (text.match(/(\[.\]|<.>|\{\}|.)[?*+]?/g) ?? []).map(term).join(', ') || '–';
  return signature.split('>').length > 2
    ? splitSides(signature).map(side).join(' → ')
    : signature.split('>').map(side).join(' → ');
}

/** Splits at the '>' that is not the end of an optional type. */
function splitSides(signature) {
  for (let i = 0; i < signature.length; i++) {
    if (signature[i] === '>' && signature[i - 2] !== '<') return [signature.slice(0, i), signature.slice(i + 1)];
  }
  return [signature, ''];
}

const describeTypes = (types) => types
  .map((names, i) => (names.length ? `${['T', 'T2', 'T3'][i]}: ${[...new Set(names.map(short))].join(' ')}` : ''))
  .filter(Boolean)
  .join('; ');

function tableOf(rows) {
  const byName = Map.groupBy ? Map.groupBy(rows, ({ name }) => name) : groupBy(rows);
  const lines = [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, versions]) => {
    versions.sort((a, b) => a.since - b.since);
    const newest = versions.at(-1);
    const list = versions.map(({ since, until }) => (until === null || until === since ? `${since}` : `${since}–${until}`)).join(', ');
    return `| ${name} | ${list}${newest.until === null ? '+' : ''} | ${describeSignature(newest.signature)} | ${describeTypes(newest.types)} |`;
  });
  return [byName.size, lines.join('\n')];
}

function groupBy(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.name, [...(groups.get(row.name) ?? []), row]);
  return groups;
}

function render({ operators, opsets }) {
  const sections = DOMAINS.map(([domain, title]) => {
    const rows = operators.filter((row) => row.domain === domain && row.domain !== HIDDEN_DOMAIN);
    const [count, table] = tableOf(rows);
    return `## ${title}\n\n${count} operators, operator sets 1 to ${opsets[domain]}.\n\n| operator | versions | inputs → outputs | types |\n|---|---|---|---|\n${table}\n`;
  });
  return `# Operators

Generated from the operator tables by \`node tools/operators.mjs\`; do not edit.

Versions are those of the operator set in which a definition begins; \`+\` means that the last one is still in force. Inputs
and types are those of the newest version: \`?\` may be absent, \`*\` any number, \`+\` one or more, \`[T]\` a sequence,
\`<T>\` an optional. Types are short: f32 is float32, i64 int64, u8 uint8, bf16 bfloat16, f8 all float8 forms, text string.

${sections.join('\n')}`;
}

const text = render(await readCatalogue());
if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    console.error('docs/operators.md is stale: run `node tools/operators.mjs`');
    process.exitCode = 1;
  }
} else {
  writeFileSync(page, text);
}
