// Builds everything, runs the test suites of the table below one after the other, and sums them up.
//
//   node tools/test.mjs [--all] [suite ...]
//
// Without names it runs the suites of the gate, with --all every suite. What a suite prints goes to
// build/test-logs/SUITE.log, and to the terminal when it fails. The last line is `N passed, N failed`.

import { createWriteStream, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { buildPreset, tool, toolEnvironment } from './lib/cmake.mjs';
import { buildDir, differentialPython, distDir, newerNode, root } from './lib/paths.mjs';
import { ToolError, run, say, seconds } from './lib/terminal.mjs';

/** Test files of Node's runner under a folder. */
function testFiles(folder) {
  const dir = join(root, folder);
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true }).filter((name) => name.endsWith('.test.mjs')).map((name) => join(folder, name)).sort();
}

// How the counts are read from what a suite printed: the last match of each pattern.
const last = (text, pattern) => [...text.matchAll(pattern)].at(-1);
const readers = {
  ctest(text) {
    const [, failed, total] = last(text, /tests passed, (\d+) tests? failed out of (\d+)/g) ?? [];
    return total && { passed: total - failed, failed: Number(failed), skipped: 0 };
  },
  node(text) {
    const count = (what) => Number(last(text, new RegExp(`^(?:#|ℹ) ${what} (\\d+)`, 'gm'))?.[1] ?? 0);
    return { passed: count('pass'), failed: count('fail') + count('cancelled'), skipped: count('skipped') + count('todo') };
  },
  line(text) {
    const [, passed, failed, skipped = 0] = last(text, /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?/g) ?? [];
    return passed && { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
  },
};

const ctest = (preset, ...options) => [tool('ctest'), '--test-dir', join(buildDir, preset), '--output-on-failure', '-j', String(availableParallelism()), ...options];
const nodeTest = (node, ...folders) => {
  const files = folders.flatMap(testFiles);
  return files.length ? [node, '--test', '--test-concurrency=1', ...files] : null;
};

// Each suite: what builds it first (a preset, or a script), its command (null: nothing to run here), how its counts are read, whether the gate runs it.
const suites = [
  { name: 'native', gate: true, preset: 'native-debug', reader: 'ctest', command: () => ctest('native-debug') },
  { name: 'threads', gate: false, preset: 'native-tsan', reader: 'ctest', command: () => ctest('native-tsan', '-L', 'native') },
  { name: 'js', gate: true, reader: 'node', command: () => nodeTest(newerNode(), 'tests') },
  {
    // The oldest Node that is supported, without relaxed SIMD, where this runs on it.
    name: 'js-oldest',
    gate: true,
    reader: 'node',
    command: () => (process.execPath === newerNode() || Number(process.versions.node.split('.')[0]) >= 22 ? null : nodeTest(process.execPath, 'tests/js')),
  },
  { name: 'conformance', gate: true, reader: 'line', command: () => [newerNode(), 'tests/conformance/run.mjs'] },
  // One artifact in full is enough for the gate; of the others a sample.
  ...['relaxed', 'simd.threads', 'relaxed.threads'].map((artifact) => ({
    name: `conformance-${artifact}`, gate: true, reader: 'line',
    command: ({ isAll }) => [newerNode(), 'tests/conformance/run.mjs', '--artifact', artifact, '--sample', isAll ? '1' : '8'],
  })),
  { name: 'cases', gate: true, reader: 'line', command: () => [newerNode(), 'tests/conformance/folder.mjs'] },
  {
    // Random models against native ONNX Runtime, the same ones each time: a seed of their own and 0 for graphs of several nodes.
    name: 'differential',
    gate: true,
    reader: 'line',
    env: () => differentialPython().env,
    missing: () => differentialPython().missing && `${differentialPython().missing}; the recorded cases in tests/data/differential ran with the suite cases`,
    command: () => [differentialPython().python, 'tools/python/differential.py', '--count', '700', '--seed', '20', '--out', join(buildDir, 'differential'), '--run'],
  },
  { name: 'models', gate: true, reader: 'line', command: () => [newerNode(), 'tests/models/run.mjs'] },
  {
    // The artifact with image decoders, whose sources the first build downloads.
    name: 'images',
    gate: false,
    prepare: 'tools/images.mjs',
    reader: 'line',
    env: () => ({ LINNET_WASM: join(distDir, 'linnet.images.wasm') }),
    command: () => [newerNode(), 'tests/conformance/run.mjs', '--filter', 'image_decoder'],
  },
];

/** Runs one suite and resolves to its counts. */
async function runSuite({ name, reader, command, env }, mode) {
  const [program, ...args] = command(mode);
  const logFile = join(buildDir, 'test-logs', `${name}.log`);
  const log = createWriteStream(logFile);
  let text = '';
  const child = spawn(program, args, { cwd: root, env: { ...process.env, ...toolEnvironment(), ...env?.() }, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      log.write(chunk);
    });
  }
  const code = await new Promise((resolve) => {
    child.on('error', (error) => {
      text += `${error.message}\n`;
      resolve(1);
    });
    child.on('close', resolve);
  });
  log.end();
  const counts = readers[reader](text) || { passed: 0, failed: 0, skipped: 0 };
  // A suite that fails without saying how often has failed once.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  if (counts.failed > 0) {
    const lines = text.trimEnd().split('\n');
    process.stdout.write(`${lines.slice(-80).join('\n')}\n`);
    say(name, `the whole output is in ${relative(root, logFile)}`);
  }
  return counts;
}

async function main() {
  const names = process.argv.slice(2).filter((each) => !each.startsWith('--'));
  const unknown = names.find((each) => !suites.some((suite) => suite.name === each));
  if (unknown) throw new ToolError(`there is no suite '${unknown}'; the suites are ${suites.map((suite) => suite.name).join(', ')}`);
  const isAll = process.argv.includes('--all');
  const chosen = suites.filter((suite) => (names.length ? names.includes(suite.name) : isAll || suite.gate));
  mkdirSync(join(buildDir, 'test-logs'), { recursive: true });

  const total = { passed: 0, failed: 0, skipped: 0 };
  const add = (counts) => Object.keys(total).forEach((key) => (total[key] += counts[key]));
  if (chosen.some((suite) => !suite.preset)) {
    await import('./build.mjs');
    if (process.exitCode) throw new ToolError('the build failed, so no test ran');
  }
  for (const suite of chosen) {
    const start = Date.now();
    try {
      if (suite.preset) await buildPreset(suite.preset);
      const why = suite.missing?.();
      if (why) {
        total.skipped++;
        say(suite.name, `SKIPPED: ${why}`);
        continue;
      }
      if (suite.prepare) await run(process.execPath, [suite.prepare], { cwd: root });
      if (!suite.command({ isAll })) {
        say(suite.name, 'nothing to run here');
        continue;
      }
      const counts = await runSuite(suite, { isAll });
      add(counts);
      say(suite.name, `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped (${seconds(start)})`);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      say(suite.name, error.message);
      total.failed++;
    }
  }
  console.log(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}`);
  process.exitCode = total.failed ? 1 : 0;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  say('test', error.message);
  process.exitCode = 2;
}
