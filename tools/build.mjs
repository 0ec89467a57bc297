// Builds the four wasm artifacts into dist/. What has not changed is not built again; with nothing to do it takes a
// moment. js/ needs no building: it is shipped as it is.
//
//   node tools/build.mjs [--quiet] [--families=conv,gemm,...]
//
// --families builds only the operator families named (src/ops/families.h lists them).

import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildPreset } from './lib/cmake.mjs';
import { distDir } from './lib/paths.mjs';
import { ToolError, say } from './lib/terminal.mjs';

const isQuiet = process.argv.includes('--quiet');
const families = process.argv.find((each) => each.startsWith('--families='))?.slice('--families='.length);

/** Copies a file unless the copy is as new; answers whether it did. */
function refresh(from, to) {
  if (existsSync(to) && statSync(to).mtimeMs >= statSync(from).mtimeMs) return false;
  copyFileSync(from, to);
  return true;
}

try {
  const dir = await buildPreset('wasm', { definitions: [`-DLN_OP_FAMILIES=${(families ?? '').split(',').join(';')}`] });
  mkdirSync(distDir, { recursive: true });
  const artifacts = readdirSync(dir).filter((name) => /^linnet\..*\.wasm$/.test(name));
  const changed = artifacts.filter((name) => refresh(join(dir, name), join(distDir, name)));
  for (const name of changed) say('dist', `${name}, ${(statSync(join(distDir, name)).size / 1000).toFixed(0)} kB`);
  if (!changed.length && !isQuiet) say('dist', 'is up to date');
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  say('build', error.message);
  process.exitCode = 1;
}
