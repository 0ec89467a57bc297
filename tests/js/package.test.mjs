// The package as others take it in: bundlers, require(), content security policies.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import vm from 'node:vm';
import { addModel, root } from '../support/models.mjs';
import { newerNode } from '../../tools/lib/paths.mjs';

const sources = ['js', 'js/env', 'web'].flatMap((folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith('.js')).map((name) => `${folder}/${name}`));
const esbuild = join(root, 'node_modules', 'esbuild');

test('no source evaluates text, makes blob URLs or waits at the top level', () => {
  for (const file of sources) {
    const text = readFileSync(join(root, file), 'utf8');
    assert.doesNotMatch(text, /\beval\(|new Function|createObjectURL|blob:/, file);
    assert.doesNotMatch(text, /^await |^(const|let) .*= await /m, file);
    assert.doesNotMatch(text, /https?:\/\/(?!localhost)/, `${file} names a host`);
  }
});

test('only the entry points of Node import from Node', () => {
  for (const file of sources.filter((each) => !/node/.test(each))) assert.doesNotMatch(readFileSync(join(root, file), 'utf8'), /from 'node:|import\('node:/, file);
});

test('every path that package.json names is there', () => {
  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const paths = (entry) => (typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(paths));
  for (const path of [...paths(exports), ...paths(bin)]) if (!path.startsWith('./dist/')) assert.ok(existsSync(join(root, path)), path);
});

describe('bundled by esbuild', { skip: !existsSync(esbuild) && 'esbuild is not installed' }, () => {
  const bundle = async (conditions, platform) => {
    const { build } = await import('esbuild');
    const { outputFiles } = await build({
      stdin: { contents: "export * from 'linnet'", resolveDir: root },
      bundle: true, format: 'esm', write: false, minify: true, platform, conditions, logLevel: 'silent',
    });
    return outputFiles[0].text;
  };
  test('for a page: small, the wasm files named by URL', async () => {
    const text = await bundle(['browser'], 'browser');
    assert.ok(text.length < 50_000, `${text.length} bytes`);
    for (const name of ['simd', 'relaxed', 'simd.threads', 'relaxed.threads']) assert.ok(text.includes(`linnet.${name}.wasm`));
    assert.ok(!/['"]node:/.test(text));
  });
  test('in a realm with ECMAScript and WebAssembly alone, as an AudioWorklet nearly is', async () => {
    const wasm = process.env.LINNET_WASM ?? join(root, 'dist', 'linnet.simd.wasm');
    const bundled = await bundle(['browser'], 'browser');
    const names = /export\{([^}]*)\};?\s*$/.exec(bundled)[1].split(',').map((each) => each.split(' as '));
    const script = `${bundled.replace(/export\{[^}]*\};?\s*$/, '')}; ({ ${names.map(([own, name = own]) => `${name}: ${own}`)} })`.replaceAll('import.meta.url', '"file:///"');
    const { InferenceSession, Tensor } = vm.runInNewContext(script);
    const session = await InferenceSession.create(addModel, { wasm: readFileSync(wasm), artifact: 'simd' });
    const x = new Tensor('float32', [1, 2], [2]);
    assert.deepEqual([...session.runSync({ a: x, b: x }).c.data], [2, 4]);
    assert.deepEqual([...(await session.run({ a: x, b: x })).c.data], [2, 4]);
    await session.release();
  });

  test('for an edge function: no import.meta', async () => assert.ok(!/import\.meta|['"]node:/.test(await bundle(['workerd'], 'neutral'))));
});

test('require() takes it where the engine can', { skip: newerNode() === process.execPath && !process.features.require_module && 'this Node cannot' }, () => {
  const script = "const { InferenceSession, Tensor, env } = require('linnet'); console.log(typeof InferenceSession.create, typeof Tensor, typeof env);";
  const { stdout, stderr } = spawnSync(newerNode(), ['--input-type=commonjs', '-e', script], { cwd: root, encoding: 'utf8' });
  assert.equal(stdout.trim(), 'function function object', stderr);
});
