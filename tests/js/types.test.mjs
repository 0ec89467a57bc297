// Code written for onnxruntime-common's types compiles against linnet's, and the sources agree with their comments.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../support/models.mjs';

const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

for (const project of ['tests/types', 'tsconfig.json']) {
  test(project, { skip: !existsSync(compiler) && 'typescript is not installed' }, () => {
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', project], { cwd: root, encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  });
}
