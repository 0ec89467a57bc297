// Prints how large the artifacts are, and what makes them so: bytes raw, with gzip and with brotli against
// size-budget.json, then bytes by room. Fails when an artifact is over its budget.
//
//   node tools/size.mjs [--files[=n]] [--functions[=n]]
//
// Rooms come from the linker's map. Linking is followed by wasm-opt, which shrinks the code, so the map's numbers are
// scaled to the size of the file: shares are exact to a few percent.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { buildDir, distDir, root } from './lib/paths.mjs';

const budgets = JSON.parse(readFileSync(join(root, 'size-budget.json'), 'utf8'));
const option = (name, fallback) => {
  const given = process.argv.find((each) => each === name || each.startsWith(`${name}=`));
  return given && (Number(given.split('=')[1]) || fallback);
};

// The room of an input of the linker, by its path; the first that matches.
const ROOMS = [
  [/\/src\/([a-z]+)\//, (match) => `src/${match[1]}`],
  [/\/src\/[^/]*$/, () => 'src (api)'],
  [/\/simd\//, () => 'simd'],
  [/onnx\.pb-c|protobuf-c/, () => 'protobuf-c'],
  [/^<internal>/, () => 'strings'],
  [/lib[^/]*\.a|crt1/, () => 'C library'],
];

function roomOf(path) {
  for (const [pattern, name] of ROOMS) {
    const match = pattern.exec(path);
    if (match) return name(match);
  }
  return 'other';
}

/** The pieces of a linker map: the object file each came from, its name and its size. */
function pieces(map) {
  const found = [];
  for (const line of map.split('\n')) {
    const match = /^\s+\S+\s+[0-9a-f]+\s+([0-9a-f]+)\s{9}(\S.*):\(([^)]*)\)$/.exec(line);
    if (match) found.push({ bytes: parseInt(match[1], 16), path: match[2], name: match[3] });
  }
  return found;
}

const sumBy = (rows, key) => {
  const sums = new Map();
  for (const row of rows) sums.set(key(row), (sums.get(key(row)) ?? 0) + row.bytes);
  return [...sums].sort((a, b) => b[1] - a[1]);
};

const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 } });
const cell = (value, width = 12) => (typeof value === 'number' ? Math.round(value).toLocaleString('en') : value).padStart(width);

let isOver = false;
const measured = [];
console.log(`${'artifact'.padEnd(30)}${['raw', 'budget', 'gzip', 'brotli', 'budget'].map((each) => cell(each)).join('')}`);
for (const [name, budget] of Object.entries(budgets)) {
  const file = join(distDir, name);
  if (!existsSync(file)) {
    console.log(`${name.padEnd(30)}  is missing: run npm run build`);
    isOver = true;
    continue;
  }
  const bytes = readFileSync(file);
  const sizes = { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotli(bytes).length };
  const over = ['raw', 'brotli'].filter((key) => sizes[key] > budget[key]);
  isOver ||= over.length > 0;
  const cells = [sizes.raw, budget.raw, sizes.gzip, sizes.brotli, budget.brotli].map((each) => cell(each)).join('');
  console.log(`${name.padEnd(30)}${cells}${over.length ? `  over: ${over.join(', ')}` : ''}`);
  const map = join(buildDir, 'wasm', name.replace(/\.wasm$/, '.map'));
  if (existsSync(map)) measured.push({ name, raw: sizes.raw, rows: pieces(readFileSync(map, 'utf8')) });
}

if (measured.length) {
  const scaled = measured.map(({ raw, rows }) => {
    const scale = raw / rows.reduce((sum, row) => sum + row.bytes, 0);
    return new Map(sumBy(rows, (row) => roomOf(row.path)).map(([room, bytes]) => [room, bytes * scale]));
  });
  console.log(`\n${'room'.padEnd(20)}${measured.map(({ name }) => cell(name.replace(/^linnet\.|\.wasm$/g, ''), 18)).join('')}`);
  for (const room of scaled[0].keys()) {
    console.log(`${room.padEnd(20)}${scaled.map((rooms) => cell(rooms.get(room) ?? 0, 18)).join('')}`);
  }
  const shortPath = (path) => path.replace(/^.*\.dir\//, '').replace(/^.*\//, (match) => (match.startsWith('/') ? '' : match)).replace(/\.obj$/, '');
  const listings = [
    [option('--files', 25), 'file', (row) => shortPath(row.path)],
    [option('--functions', 40), 'function', (row) => `${row.name} (${shortPath(row.path)})`],
  ];
  for (const [count, title, key] of listings) {
    if (!count) continue;
    console.log(`\n${title}, as linked in ${measured[0].name}`);
    for (const [name, bytes] of sumBy(measured[0].rows, key).slice(0, count)) console.log(`${cell(bytes)}  ${name}`);
  }
}
process.exitCode = isOver ? 1 : 0;
