// Runs every check that reads the sources, and prints what each found.
//
//   node tools/lint.mjs [--fix] [check ...]
//
// --fix lets clang-format and eslint put right what they can.
// The checks run one after the other, each over its files on all cores.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { extname, join, relative } from 'node:path';
import { buildPreset, tool } from './lib/cmake.mjs';
import { hash } from './lib/hash.mjs';
import { buildDir, root, toolchain, toolchainDir, which } from './lib/paths.mjs';
import { ToolError, run, say, seconds } from './lib/terminal.mjs';

const isFixing = process.argv.includes('--fix');
const WARNINGS = ['-Wall', '-Wextra', '-Wshadow', '-Wconversion', '-Wno-enum-float-conversion', '-Wvla', '-Werror'];
const C_FOLDERS = ['src', 'simd', 'web', 'images', 'tests', 'bench'];
// What a kernel may call: the memory functions, and mathematics.
const KERNEL_SYMBOLS = new RegExp(
  '^(ln_\\w+|mem(cpy|move|set|cmp)|__(stack_pointer|linear_memory|indirect_function_table|memory_base|table_base)|' +
    '(a?(cos|sin|tan)h?|atan2|exp2?|expm1|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|tgamma|lgamma|fmod|remainder|' +
    'floor|ceil|trunc|round|rint|nearbyint|lrint|llrint|lround|llround|fabs|fmax|fmin|fma|ldexp|frexp|scalbn|modf|copysign|nextafter)[fl]?)$',
);

function filesOf(folders, extensions) {
  const found = [];
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue;
    for (const name of readdirSync(join(root, folder), { recursive: true })) {
      if (extensions.includes(extname(name))) found.push(join(folder, name));
    }
  }
  return found.sort();
}

/** Runs `work` over the items on all cores and gathers what the programs that failed printed. */
async function gather(items, work) {
  const problems = [];
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await work(item);
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        problems.push(error.output.trim());
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return problems;
}

/** Runs a program in the root; its output is the problem when it fails. */
async function must(program, args) {
  await run(program, args, { cwd: root });
}

const script = (file, ...args) => gather([file], () => must(process.execPath, [file, ...args]));

const sysroot = () => {
  const record = toolchain();
  return record ? [`--extra-arg=--sysroot=${record.sysroot}`] : [];
};
const chunks = (items, size) => Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

const checks = {
  includes: () => script('tools/check-includes.mjs'),

  eslint: () => script('node_modules/eslint/bin/eslint.js', '.', ...(isFixing ? ['--fix'] : [])),

  tsc: () => gather(['tsconfig.json', 'tests/types/tsconfig.json'], (project) => must(process.execPath, ['node_modules/typescript/bin/tsc', '-p', project])),

  format: () =>
    gather(chunks(filesOf(C_FOLDERS, ['.c', '.h']), 20), (files) => must(tool('clang-format'), [...(isFixing ? ['-i'] : ['--dry-run', '-Werror']), ...files])),

  /**
   * Every header compiles alone: as its own translation unit, natively. Headers without a guard are lists or templates,
   * which want something defined before each inclusion.
   */
  async headers() {
    const dir = await buildPreset('native-debug', { targets: ['ln_proto_files'] });
    const record = toolchain();
    const system = [join(dir, 'generated'), record?.protobufC ?? '', join(toolchainDir, 'include')].flatMap((each) => ['-isystem', each]);
    const headers = filesOf(['src', 'simd'], ['.h']).filter((file) => /^#ifndef \w+_H$/m.test(readFileSync(join(root, file), 'utf8')));
    return gather(headers, async (file) => {
      await run(tool('clang'), ['-std=gnu11', '-fsyntax-only', ...WARNINGS, '-Wno-unused-function', '-I.', '-Isrc', ...system, '-x', 'c', '-'], {
        cwd: root,
        input: `#include "${file}"\n`,
      });
    });
  },

  /** The kernels' objects refer to nothing but kernels, memory functions and mathematics. */
  async symbols() {
    const dir = await buildPreset('wasm', { targets: ['ln_kernels_simd', 'ln_kernels_relaxed'] });
    const objects = filesOf([relative(root, join(dir, 'CMakeFiles'))], ['.obj']).filter((file) => file.includes('ln_kernels_'));
    if (!objects.length) return [];
    const output = await run(tool('llvm-nm'), ['--undefined-only', '--format=posix', '--print-file-name', ...objects], { cwd: root });
    const problems = new Set();
    for (const line of output.split('\n')) {
      const match = /([^/]+\.c)\.obj: (\S+)/.exec(line);
      if (match && !KERNEL_SYMBOLS.test(match[2])) problems.add(`simd/${match[1]} uses ${match[2]}: kernels call mem* and mathematics only`);
    }
    return [...problems];
  },

  /** gcc sees other things than clang does; it is asked where the machine has one. */
  async gcc() {
    if (!which('gcc')) return [];
    const dir = join(buildDir, 'native-debug', 'generated');
    const system = [dir, toolchain()?.protobufC ?? '', join(toolchainDir, 'include')].flatMap((each) => ['-isystem', each]);
    return gather(chunks(filesOf(['src', 'simd', 'tests/native', 'tests/kernels'], ['.c']), 8), (files) =>
      must('gcc', ['-std=gnu11', '-fsyntax-only', ...WARNINGS, '-I.', '-Isrc', ...system, ...files]),
    );
  },

  async tidy() {
    const dir = await buildPreset('native-debug', { targets: ['ln_proto_files'] });
    // Files are checked again only when they, a header, or the list of checks changed.
    const cacheFile = join(buildDir, 'lint', 'tidy.json');
    const headers = hash([...filesOf(['src', 'simd', 'tests'], ['.h']), '.clang-tidy'].map((file) => readFileSync(join(root, file))));
    const cache = existsSync(cacheFile) ? JSON.parse(readFileSync(cacheFile, 'utf8')) : {};
    const clean = {};
    const key = (file) => hash([headers, readFileSync(join(root, file))]);
    const commands = new Set(JSON.parse(readFileSync(join(dir, 'compile_commands.json'), 'utf8')).map(({ file }) => relative(root, file)));
    const files = filesOf(['src', 'simd', 'tests'], ['.c']).filter((file) => commands.has(file));
    const problems = await gather(files, async (file) => {
      if (cache[file] !== key(file)) await must(tool('clang-tidy'), ['--quiet', '-p', dir, ...sysroot(), file]);
      clean[file] = key(file);
    });
    mkdirSync(join(buildDir, 'lint'), { recursive: true });
    writeFileSync(cacheFile, JSON.stringify(clean));
    return problems;
  },
};

const named = process.argv.slice(2).filter((each) => each !== '--fix');
const chosen = named.length ? named : Object.keys(checks);
let failed = 0;
for (const name of chosen) {
  if (!checks[name]) {
    say('lint', `there is no check '${name}'; the checks are ${Object.keys(checks).join(', ')}`);
    process.exit(2);
  }
  const start = Date.now();
  let problems;
  try {
    problems = await checks[name]();
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    problems = [error.message];
  }
  for (const problem of problems) console.log(problem);
  say(name, `${problems.length ? 'failed' : 'clean'} (${seconds(start)})`);
  if (problems.length) failed++;
}
say('lint', failed ? `${failed} of ${chosen.length} checks failed` : `${chosen.length} checks passed`);
process.exitCode = failed ? 1 : 0;
