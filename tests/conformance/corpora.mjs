// Where the test corpora are, and their archives unpacked once into a cache.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder that LINNET_CORPORA names, or undefined. */
export const corporaDir = process.env.LINNET_CORPORA && existsSync(process.env.LINNET_CORPORA) ? process.env.LINNET_CORPORA : undefined;

/**
 * The folders of the cases, unpacked: { onnx, versions, ortOps }, each only if it is there; undefined without any. The
 * archives are unpacked again when they are newer.
 * @param {string} [dir] a folder with onnx.tar.xz and its companions, or one with the folders of ONNX's backend tests
 *   (node, simple, ...) as Debian's libonnx-testdata has them; default $LINNET_CORPORA/conformance
 */
export function findConformance(dir = corporaDir && join(corporaDir, 'conformance')) {
  if (!dir) return undefined;
  if (existsSync(join(dir, 'node'))) return { onnx: dir };
  const folders = {
    onnx: unpack(dir, 'onnx'),
    versions: unpack(dir, 'onnx-versions'),
    ortOps: unpack(dir, 'ort-ops', 'ort-ops'),
  };
  return Object.values(folders).some(Boolean) ? folders : undefined;
}

function unpack(dir, name, inner = '') {
  const archive = join(dir, `${name}.tar.xz`);
  const target = join(root, '.cache', 'conformance', name);
  const stamp = join(target, '.stamp');
  if (!existsSync(archive)) return undefined;
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(archive).mtimeMs) return join(target, inner);
  const staging = `${target}.${process.pid}`;
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  execFileSync('tar', ['-xJf', archive, '-C', staging]);
  writeFileSync(join(staging, '.stamp'), '');
  rmSync(target, { recursive: true, force: true });
  renameSync(staging, target);
  return join(target, inner);
}
