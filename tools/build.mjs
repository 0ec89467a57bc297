// Builds dist/: the four wasm artifacts, and type declarations made from the comments in js/. What has not changed is
// not built again; with nothing to do it takes a moment.
//
//   node tools/build.mjs [--quiet] [--families=conv,gemm,...]
//
// --families builds only the operator families named (src/ops/families.h lists them).

import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPreset } from './lib/cmake.mjs';
import { distDir, root } from './lib/paths.mjs';
import { ToolError, run, say } from './lib/terminal.mjs';

const isQuiet = process.argv.includes('--quiet');
const families = process.argv.find((each) => each.startsWith('--families='))?.slice('--families='.length);

/** Copies a file unless the copy is as new; answers whether it did. */
function refresh(from, to) {
  if (existsSync(to) && statSync(to).mtimeMs >= statSync(from).mtimeMs) return false;
  copyFileSync(from, to);
  return true;
}

/** Time of the newest file under a folder. */
function newest(dir) {
  const times = readdirSync(dir, { withFileTypes: true, recursive: true }).map((entry) => statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs);
  return Math.max(0, ...times);
}

async function buildArtifacts() {
  const definitions = [`-DLN_OP_FAMILIES=${(families ?? '').split(',').join(';')}`];
  const dir = await buildPreset('wasm', { definitions });
  mkdirSync(distDir, { recursive: true });
  const files = readdirSync(dir).filter((name) => /^linnet\..*\.wasm$/.test(name));
  const changed = files.filter((name) => refresh(join(dir, name), join(distDir, name)));
  for (const name of changed) say('dist', `${name}, ${(statSync(join(distDir, name)).size / 1000).toFixed(0)} kB`);
}

async function buildTypes() {
  const sources = join(root, 'js');
  const stamp = join(distDir, 'types', '.stamp');
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!existsSync(join(sources, 'index.js')) || !existsSync(compiler)) return;
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= newest(sources)) return;
  mkdirSync(join(distDir, 'types'), { recursive: true });
  // Type errors are for lint to report; declarations come out all the same.
  await run(process.execPath, [compiler, '-p', 'tsconfig.types.json'], { cwd: root }).catch((error) => {
    if (!/error TS/.test(error.message)) throw error;
    say('types', 'js/ has type errors: npm run lint shows them');
  });
  writeFileSync(stamp, '');
  if (!isQuiet) say('dist', 'types');
}

try {
  await Promise.all([buildArtifacts(), buildTypes()]);
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  say('build', error.message);
  process.exitCode = 1;
}
