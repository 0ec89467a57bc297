// Writes docs/operators.md from the operator tables of a build.
//
//   node tools/operators.mjs            writes the page
//   node tools/operators.mjs --check    fails when the page is not what the tables say

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIXED_TYPES, HIDDEN_DOMAIN, readCatalogue, signatureTerms, splitSignature } from './lib/catalogue.mjs';
import { root } from './lib/paths.mjs';

const page = join(root, 'docs', 'operators.md');
const DOMAINS = [
  ['', 'ai.onnx'],
  ['ai.onnx.ml', 'ai.onnx.ml'],
  ['ai.onnx.preview', 'ai.onnx.preview'],
  ['ai.onnx.preview.training', 'ai.onnx.preview.training'],
  ['com.microsoft', 'com.microsoft'],
];
const SHORT = {
  float32: 'f32', float64: 'f64', float16: 'f16', bfloat16: 'bf16', string: 'text', complex64: 'c64', complex128: 'c128',
  float8e4m3fn: 'f8', float8e4m3fnuz: 'f8', float8e5m2: 'f8', float8e5m2fnuz: 'f8', float8e8m0: 'e8m0', float4e2m1: 'f4',
  float6e2m3: 'f6', float6e3m2: 'f6',
};

const short = (name) => SHORT[name] ?? name.replace('uint', 'u').replace('int', 'i');

/** "AA?>A" as "T, T? → T"; fixed types by name. */
function describeSignature(signature) {
  const term = (text) => text.replace(/[A-Za-z]/g, (letter) => ({ A: 'T', B: 'T2', C: 'T3' })[letter] ?? short(FIXED_TYPES[letter]))
    .replace('.', 'any').replace('{}', 'map');
  const side = (text) => signatureTerms(text).map(term).join(', ') || '–';
  return splitSignature(signature).map(side).join(' → ');
}

/** Types that the standard takes together, named as one where all of them are there. */
const GROUPS = [
  ['float', ['f16', 'f32', 'f64']],
  ['int', ['i8', 'i16', 'i32', 'i64']],
  ['uint', ['u8', 'u16', 'u32', 'u64']],
  ['complex', ['c64', 'c128']],
];

/** Short names of a set of types, groups first. */
function shortTypes(names) {
  const left = new Set(names.map(short));
  const found = [];
  for (const [group, members] of GROUPS) {
    if (!members.every((each) => left.has(each))) continue;
    found.push(group);
    for (const each of members) left.delete(each);
  }
  return [...found, ...left];
}

/** The type variables of a definition; where the one before has the same signature, what has come and gone since. */
function describeTypes({ types, signature }, before) {
  const isChange = before?.signature === signature;
  const variables = new Map(); // what is said of one variable or of several
  types.forEach((names, i) => {
    if (!signature.includes('ABC'[i])) return;
    const had = isChange ? before.types[i] : [];
    const come = shortTypes(names.filter((name) => !had.includes(name))).map((name) => (isChange ? `+${name}` : name));
    const gone = shortTypes(had.filter((name) => !names.includes(name))).map((name) => `−${name}`);
    const text = [...come, ...gone].join(' ');
    if (text) variables.set(text, [...(variables.get(text) ?? []), ['T', 'T2', 'T3'][i]]);
  });
  return [...variables].map(([text, names]) => `${names.join(', ')}: ${text}`).join('; ');
}

/** Versions in a row that differ in neither signature nor types: they differ in attributes or in what is computed. */
function definitionsOf(versions) {
  const key = ({ signature, types }) => JSON.stringify([signature, types]);
  const groups = [];
  for (const row of versions.sort((a, b) => a.since - b.since)) {
    if (groups.length && key(groups.at(-1)[0]) === key(row)) groups.at(-1).push(row);
    else groups.push([row]);
  }
  return groups;
}

const describeVersion = ({ since, until }) => (until === null ? `${since}+` : until === since ? `${since}` : `${since}–${until}`);

function tableOf(rows) {
  const byName = groupBy(rows);
  const lines = [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, versions]) => {
    const definitions = definitionsOf(versions);
    return definitions.map((group, i) => {
      const before = definitions[i - 1]?.[0];
      const isSame = before?.signature === group[0].signature;
      const cells = [i ? '' : name, group.map(describeVersion).join(', '), isSame ? '' : describeSignature(group[0].signature), describeTypes(group[0], before)];
      return `| ${cells.join(' | ')} |`;
    });
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

Versions are those of the operator set that a definition serves; \`+\` means that it is still in force. A row without a name goes on
with the operator above it: where inputs and outputs are left out they stay, and types are what has come (+) and gone (−) since the row before.
Behind an input or output, \`?\` may be absent, \`*\` any number, \`+\` one or more; \`[T]\` is a sequence, \`<T>\` an optional.
Types are short: float is f16 f32 f64 (float16, float32, float64), int i8 to i64, uint u8 to u64, complex c64 c128; bf16 is bfloat16, f8, f6 and f4
all float8, float6 and float4 forms but float8e8m0, which is e8m0; text is string.

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
