// Options: every name of onnxruntime-web's is known, any other is an error that names it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { env, InferenceSession, Tensor } from 'linnet';
import { addModel, create, single } from '../support/models.mjs';

const code = (name, message = /./) => (error) => error.code === name && message.test(error.message);
const vector = (n) => new Tensor('float32', [n], [1]);

describe('session options', () => {
  const harmless = {
    executionProviders: ['webgpu', { name: 'wasm' }], intraOpNumThreads: 1, interOpNumThreads: 4, freeDimensionOverrides: { n: 1 },
    graphOptimizationLevel: 'basic', enableCpuMemArena: false, enableMemPattern: false, executionMode: 'parallel', enableProfiling: false,
    profileFilePrefix: 'p', logId: 'id', logSeverityLevel: 3, logVerbosityLevel: 0, preferredOutputLocation: 'cpu', enableGraphCapture: false, extra: { a: 1 },
    externalData: [], optimize: 1, seed: 3, winograd: false, warmUp: false, worker: false,
  };
  test('those that change nothing are accepted', async () => {
    const session = await InferenceSession.create(addModel, { ...single, artifact: single.artifact, ...harmless, intraOpNumThreads: undefined });
    await session.release();
  });

  const refused = [
    [{ thread: 2 }, 'INVALID_ARGUMENT', /unknown session option 'thread'/],
    [{ artifact: 'avx' }, 'INVALID_ARGUMENT', /option 'artifact' is one of/],
    [{ threads: -1 }, 'INVALID_ARGUMENT', /option 'threads'/],
    [{ optimize: 7 }, 'INVALID_ARGUMENT', /option 'optimize'/],
    [{ graphOptimizationLevel: 'most' }, 'INVALID_ARGUMENT', /disabled, basic/],
    [{ executionProviders: ['webgpu'] }, 'UNSUPPORTED', /add 'wasm'/],
    [{ optimizedModelFilePath: 'x.onnx' }, 'UNSUPPORTED', /writes no files/],
    [{ enableGraphCapture: true }, 'UNSUPPORTED', /graph/],
    [{ preferredOutputLocation: { c: 'gpu-buffer' } }, 'UNSUPPORTED', /CPU/],
    [{ warmUp: 1 }, 'INVALID_ARGUMENT', /option 'warmUp' is true or false/],
    [{ signal: {} }, 'INVALID_ARGUMENT', /AbortSignal/],
    [{ wasm: 7 }, 'INVALID_ARGUMENT', /'wasm'/],
    [{ artifact: 'simd', threads: 3 }, 'INVALID_ARGUMENT', /one thread/],
    ['fast', 'INVALID_ARGUMENT', /options are an object/],
  ];
  for (const [options, name, message] of refused) {
    test(`${JSON.stringify(options)} is refused`, () => assert.rejects(InferenceSession.create(addModel, options), code(name, message)));
  }
});

describe('run options', () => {
  test('known and unknown', async () => {
    const session = await create(addModel);
    const feeds = { a: vector(1), b: vector(2) };
    await session.run(feeds, { tag: 't', logSeverityLevel: 2, logVerbosityLevel: 1, extra: {}, terminate: false });
    await assert.rejects(session.run(feeds, { terminate: true }), code('UNSUPPORTED', /signal/));
    await assert.rejects(session.run(feeds, { output: 'view' }), code('INVALID_ARGUMENT', /unknown run option 'output'/));
    await assert.rejects(session.run(feeds, { outputs: 'mine' }), code('INVALID_ARGUMENT', /'view' or 'copy'/));
    await session.release();
  });
});

describe('wasm', () => {
  const asWasm = { headers: { 'content-type': 'application/wasm' } };

  test('a Module, bytes, a Response and a path', async (t) => {
    const { readFileSync, existsSync } = await import('node:fs');
    const file = process.env.LINNET_WASM ?? new URL('../../dist/linnet.simd.wasm', import.meta.url);
    if (!existsSync(file)) return t.skip('no artifact');
    const bytes = readFileSync(file);
    const sources = [new WebAssembly.Module(bytes), bytes, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), new Response(bytes), new Response(bytes, asWasm), file];
    for (const wasm of sources) {
      const session = await InferenceSession.create(addModel, { wasm, artifact: 'simd' });
      assert.equal((await session.run({ a: vector(1), b: vector(2) })).c.data[0], 3);
      await session.release();
    }
  });

  test('a wrong file says what it is, and a second try works', async () => {
    const page = () => new Response('<html>not found</html>', { headers: { 'content-type': 'text/html' } });
    await assert.rejects(InferenceSession.create(addModel, { wasm: page(), artifact: 'simd' }), code('WASM_FAILED', /text\/html that begin with "<html>/));
    await assert.rejects(InferenceSession.create(addModel, { wasm: new Response('<html>', asWasm), artifact: 'simd' }), code('WASM_FAILED', /the response cannot be compiled: CompileError/));
    await assert.rejects(InferenceSession.create(addModel, { wasm: '/no/such.wasm', artifact: 'simd' }), code('LOAD_FAILED', /no\/such\.wasm/));
    await assert.rejects(InferenceSession.create(addModel, { wasm: new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]), artifact: 'simd' }), /./);
    await (await create(addModel)).release();
  });
});

test('env holds defaults', async () => {
  env.wasm.numThreads = 1;
  const session = await InferenceSession.create(addModel, single.wasm ? { wasm: single.wasm } : {});
  assert.equal(session.info.threads, 1);
  await session.release();
  delete env.wasm.numThreads;
  assert.ok(env.versions.common);
});
