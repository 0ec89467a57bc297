// Reads the #include lines of the C sources and fails on an arrow that runs the wrong way.
//
// base <- graph <- model; graph, simd <- ops <- compile <- run <- api. A room may include itself and the rooms on its
// line below. simd includes nothing of src. Only simd may see intrinsics (simd/simd.h): src is compiled once for all
// artifacts, and a header that tells relaxed SIMD from plain would mislead it. File names are unique in src, simd and js,
// so that a name alone says which file is meant.

import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { root } from './lib/paths.mjs';

const ARROWS = {
  base: ['base'],
  graph: ['base', 'graph'],
  model: ['base', 'graph', 'model'],
  ops: ['base', 'graph', 'ops', 'simd'],
  compile: ['base', 'graph', 'ops', 'simd', 'compile'],
  run: ['base', 'graph', 'ops', 'simd', 'compile', 'run'],
  api: ['base', 'graph', 'model', 'ops', 'simd', 'compile', 'run', 'api'],
  simd: ['simd'],
};
// The public header declares the functions that these files of lower rooms define.
const EXCEPTIONS = new Set(['src/base/pool.c -> api']);

const files = (folder, extensions) =>
  readdirSync(join(root, folder), { recursive: true })
    .map((name) => join(folder, name))
    .filter((name) => extensions.includes(extname(name)))
    .sort();

/** The room of a source: its folder in src, `api` for what lies in src itself, or `simd`. */
function roomOf(file) {
  const [top, next] = file.split('/');
  if (top === 'simd') return 'simd';
  return next.includes('.') ? 'api' : next;
}

/** The file that an include means, or null for a header of the system or of protobuf-c. */
function resolve(file, name, known) {
  const candidates = [join(dirname(file), name), join('src', name), name];
  return candidates.find((each) => known.has(each)) ?? null;
}

const problems = [];
const sources = [...files('src', ['.c', '.h']), ...files('simd', ['.c', '.h'])];
const known = new Set(sources);
for (const file of sources) {
  const room = roomOf(file);
  const allowed = ARROWS[room];
  if (!allowed) {
    problems.push(`${file}: there is no room called ${room}`);
    continue;
  }
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  lines.forEach((line, index) => {
    const name = /^\s*#\s*include\s*["<]([^">]+)[">]/.exec(line)?.[1];
    const target = name && resolve(file, name, known);
    if (!target) return;
    const targetRoom = roomOf(target);
    const where = `${file}:${index + 1}`;
    if (!allowed.includes(targetRoom) && !EXCEPTIONS.has(`${file} -> ${targetRoom}`)) {
      problems.push(`${where}: ${room} may not include ${target} (it may include ${allowed.join(', ')})`);
    }
    if (room !== 'simd' && target === 'simd/simd.h') problems.push(`${where}: intrinsics stay in simd/`);
  });
  if (room === 'model') continue;
  lines.forEach((line, index) => {
    if (/#\s*include\s*["<].*(pb-c|protobuf-c)\.h/.test(line)) problems.push(`${file}:${index + 1}: only model knows protobuf`);
  });
}

for (const [folders, extensions] of [[['src', 'simd'], ['.c', '.h']], [['js'], ['.js']]]) {
  const seen = new Map();
  for (const file of folders.flatMap((folder) => files(folder, extensions))) {
    const name = basename(file);
    if (seen.has(name)) problems.push(`${file}: ${seen.get(name)} has the same name`);
    seen.set(name, file);
  }
}

for (const problem of problems) console.log(problem);
console.log(problems.length ? `${problems.length} include problems` : `includes of ${sources.length} files are in order`);
process.exitCode = problems.length ? 1 : 0;
