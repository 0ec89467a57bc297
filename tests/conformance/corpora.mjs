// Where the test corpora are, and their archives unpacked once into a cache.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder that LINNET_CORPORA names, or undefined. */
export const corporaDir = process.env.LINNET_CORPORA && existsSync(process.env.LINNET_CORPORA) ? process.env.LINNET_CORPORA : undefined;

/**
 * The folder with the unpacked archives of the standard's cases. Unpacks those that are new.
 * @param {string} [dir] a folder that holds onnx.tar.xz and its companions; default $LINNET_CORPORA/conformance
 */
export function unpackConformance(dir = corporaDir && join(corporaDir, 'conformance')) {
  if (!dir) throw new Error('the cases are looked for in $LINNET_CORPORA/conformance, or in the folder that --dir names');
  const cache = join(root, '.cache', 'conformance');
  for (const name of ['onnx', 'onnx-versions', 'ort-ops']) {
    const archive = join(dir, `${name}.tar.xz`);
    const target = join(cache, name);
    const stamp = join(target, '.stamp');
    if (!existsSync(archive)) continue;
    if (existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(archive).mtimeMs) continue;
    const staging = `${target}.${process.pid}`;
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true });
    execFileSync('tar', ['-xJf', archive, '-C', staging]);
    writeFileSync(join(staging, '.stamp'), '');
    rmSync(target, { recursive: true, force: true });
    renameSync(staging, target);
  }
  return cache;
}
