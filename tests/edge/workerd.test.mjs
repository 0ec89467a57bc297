// linnet in workerd, the runtime of Cloudflare Workers: unbundled, with the modules that a worker imports.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { InferenceSession, Tensor } from 'linnet';
import { root } from '../support/models.mjs';

// The package's main module tells where the program is.
const workerd = existsSync(join(root, 'node_modules', 'workerd')) ? createRequire(import.meta.url)('workerd').default : 'workerd';
const wasm = join(root, 'dist', 'linnet.simd.wasm');
const missing = [workerd, wasm].find((file) => !existsSync(file));

/** Paths of the modules that the edge entry point may import. */
function modules() {
  const files = ['js', 'js/env'].flatMap((folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith('.js')).map((name) => `${folder}/${name}`));
  // Node's own entry points import node: modules, which workerd has none of by default.
  return files.filter((file) => !/node/.test(file));
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

describe('workerd', { skip: missing && `${missing} is missing` }, () => {
  let dir;
  let child;
  let url;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'linnet-'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}/`;
    // Specifiers are relative to the importing module's name; the bare ones of the worker are names of their own.
    const list = [
      `(name = "worker.js", esModule = embed ${JSON.stringify(join(root, 'tests/edge/worker.js'))})`,
      '(name = "linnet", esModule = "export * from \\"/js/index.edge.js\\";")',
      `(name = "linnet/linnet.simd.wasm", wasm = embed ${JSON.stringify(wasm)})`,
      ...modules().map((file) => `(name = ${JSON.stringify(file)}, esModule = embed ${JSON.stringify(join(root, file))})`),
    ];
    const config = join(dir, 'config.capnp');
    writeFileSync(config, `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (modules = [${list.join(', ')}], compatibilityDate = "2025-01-01"))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`);
    child = spawn(workerd, ['serve', '--import-path=/', config], { stdio: ['ignore', 'inherit', 'inherit'] });
    for (let i = 0; i < 100; i++) {
      if (await fetch(url, { method: 'POST', body: '' }).then(() => true, () => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('workerd did not come up');
  });
  after(() => {
    child?.kill();
    rmSync(dir, { recursive: true });
  });

  test('loads a model and answers', async () => {
    const model = readFileSync(new URL('../../demo/digits.onnx', import.meta.url));
    const response = await fetch(url, { method: 'POST', body: model });
    const { outputs, info, error } = await response.json();
    assert.equal(error, undefined);
    assert.deepEqual([info.artifact, info.threads], ['simd', 1]);
    const session = await InferenceSession.create(model, { artifact: 'simd', wasm });
    const shape = session.inputMetadata[0].shape.map((dim) => (typeof dim === 'number' ? dim : 1));
    const size = shape.reduce((product, dim) => product * dim, 1);
    const here = await session.run({ [session.inputNames[0]]: new Tensor('float32', Float32Array.from({ length: size }, (_, i) => (i % 7) / 7), shape) });
    for (const [name, { data }] of Object.entries(here)) assert.deepEqual(outputs[name], [...data]);
    await session.release();
  });

  test('says what is wrong with a wrong model', async () => {
    const response = await fetch(url, { method: 'POST', body: 'not a model' });
    assert.equal(response.status, 500);
    assert.equal((await response.json()).code, 'INVALID_MODEL');
  });
});
