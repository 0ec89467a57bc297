// The examples of the documents: those for Node.js are run, those for a page or a Worker are bundled as a user's would be.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { root } from '../support/models.mjs';

/** The js blocks of the README by the platform that their first line names. */
function examples() {
  const blocks = readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```js\n\/\/ (\w+)\n(.*?)^```/gms);
  return new Map([...blocks].map(([, platform, code]) => [platform, code]));
}

/** Calls use with the path of a file in the project that holds the code. */
async function withFile(code, use) {
  const dir = mkdtempSync(join(root, 'build', 'docs-'));
  try {
    const file = join(dir, 'example.mjs');
    writeFileSync(file, code);
    return await use(file);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

test('the README has an example for each platform', () => {
  assert.deepEqual([...examples().keys()], ['node', 'page', 'worker']);
});

test('the example for Node.js prints ten probabilities', async () => {
  const printed = await withFile(examples().get('node'), (file) => execFileSync(process.execPath, [file], { cwd: root, encoding: 'utf8' }));
  assert.match(printed, /\[ 1, 10 \] Float32Array\(10\)/);
});

for (const [platform, conditions] of [['page', ['browser']], ['worker', ['workerd']]]) {
  test(`the example for a ${platform} bundles`, async () => {
    const { errors, outputFiles } = await withFile(examples().get(platform), (file) =>
      build({ entryPoints: [file], bundle: true, write: false, outdir: 'out', format: 'esm', conditions, loader: { '.wasm': 'copy' } }));
    assert.equal(errors.length, 0);
    assert.ok(outputFiles.some(({ path }) => path.endsWith('.js')));
  });
}

test('docs/operators.md says what the tables say', () => {
  execFileSync(process.execPath, [join(root, 'tools', 'operators.mjs'), '--check'], { cwd: root, stdio: 'pipe' });
});
