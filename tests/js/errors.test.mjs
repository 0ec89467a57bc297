// Bad input gets a named error with node and operator; the process lives, and the next load works.

import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { InferenceSession, LinnetError, Tensor } from 'linnet';
import { addModel, create, single } from '../support/models.mjs';
import { buildModel } from '../support/onnx.mjs';
import { Message } from '../support/wire.mjs';

const float = (name, dims = [2]) => ({ name, type: 'float32', dims });
const unary = (op, more = {}) => buildModel({ inputs: [float('x')], outputs: [float('y')], nodes: [{ op, name: 'the node', inputs: ['x'], outputs: ['y'], ...more }], ...more.graph });
const code = (...names) => (error) => error instanceof LinnetError && names.includes(error.code) && error.message.length > 10;

afterEach(async () => {
  const session = await create(addModel);
  const { c } = session.runSync({ a: new Tensor('float32', [1], [1]), b: new Tensor('float32', [2], [1]) });
  assert.equal(c.data[0], 3);
  await session.release();
});

describe('loading', () => {
  test('truncated at every byte', async () => {
    for (let length = 0; length < addModel.length; length++) {
      const outcome = await create(addModel.subarray(0, length)).catch((error) => error);
      if (outcome instanceof LinnetError) assert.match(outcome.code, /^(INVALID_|UNSUPPORTED)/, `${length}: ${outcome.code} ${outcome.message}`);
      else await outcome.release();
    }
  });

  test('random bytes', async () => {
    let state = 1;
    const next = () => (state = (state * 48271) % 0x7fffffff);
    for (let i = 0; i < 200; i++) {
      const bytes = Uint8Array.from({ length: next() % 300 }, next);
      await assert.rejects(create(bytes), code('INVALID_MODEL', 'INVALID_GRAPH', 'LIMIT_EXCEEDED', 'UNSUPPORTED_OPSET'));
    }
  });

  test('bytes changed one by one', async () => {
    for (let at = 0; at < addModel.length; at++) {
      const bytes = addModel.slice();
      bytes[at] ^= 1 << (at % 8);
      const outcome = await create(bytes).catch((error) => error);
      if (outcome instanceof InferenceSession) await outcome.release();
      else assert.ok(outcome instanceof LinnetError, String(outcome.stack));
    }
  });

  test('nothing at all', () => assert.rejects(create(new Uint8Array(0)), code('INVALID_MODEL', 'INVALID_GRAPH')));
  test('text', () => assert.rejects(create(new TextEncoder().encode('<!doctype html><title>404</title>')), code('INVALID_MODEL')));

  test('a page in place of a model', async () => {
    const page = new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
    await assert.rejects(create(page), (error) => code('LOAD_FAILED')(error) && /HTML page/.test(error.message));
    await assert.rejects(create(new Response('', { status: 404, statusText: 'Not Found' })), (error) => code('LOAD_FAILED')(error) && /404 Not Found/.test(error.message));
  });

  test('a file that is not there', () => assert.rejects(create('no/such/model.onnx'), (error) => code('LOAD_FAILED')(error) && error.message.includes('no/such/model.onnx')));
  test('something that is no model', () => assert.rejects(create(42), (error) => code('INVALID_ARGUMENT')(error) && /number 42/.test(error.message)));

  test('nesting without end', async () => {
    let message = new Message().string(1, 'x');
    for (let i = 0; i < 10_000; i++) {
      const inner = new Message().string(1, 'then_branch').varint(20, 5).message(6, new Message().message(1, new Message().string(4, 'If').message(5, message)));
      if (inner.finish().length > 1e6) break;
      message = inner;
    }
    const model = new Message().varint(1, 8).message(7, new Message().message(1, new Message().string(4, 'If').message(5, message))).message(8, new Message().string(1, '').varint(2, 17));
    await assert.rejects(create(model.finish()), code('LIMIT_EXCEEDED', 'INVALID_MODEL'));
  });

  test('a cycle', async () => {
    const model = buildModel({
      inputs: [float('x')],
      outputs: [float('y')],
      nodes: [{ op: 'Add', name: 'first', inputs: ['x', 'z'], outputs: ['y'] }, { op: 'Relu', name: 'second', inputs: ['y'], outputs: ['z'] }],
    });
    await assert.rejects(create(model), code('INVALID_GRAPH'));
  });

  test('an unknown operator', async () => {
    await assert.rejects(create(unary('Frobnicate')), (error) => code('UNSUPPORTED_OP')(error) && error.op.includes('Frobnicate') && error.node === 'the node');
  });
  test('a newer opset loads with a warning when its operators have not changed', async () => {
    const session = await create(unary('Relu', { graph: { opsets: { '': 9999 } } }));
    assert.match(session.info.warnings.join(), /9999/);
    await session.release();
  });
  test('an opset of no version', () => assert.rejects(create(unary('Relu', { graph: { opsets: { '': 0 } } })), code('UNSUPPORTED_OPSET', 'INVALID_MODEL', 'INVALID_GRAPH')));
  test('a missing initializer', async () => {
    const model = buildModel({ inputs: [float('x')], outputs: [float('y')], nodes: [{ op: 'Add', name: 'sum', inputs: ['x', 'weights'], outputs: ['y'] }] });
    await assert.rejects(create(model), (error) => code('INVALID_GRAPH')(error) && error.message.includes('weights'));
  });
  test('an unknown attribute value', async () => {
    const model = unary('Concat', { attributes: [{ name: 'axis', type: 'int', data: 7 }] });
    const outcome = await create(model).then((session) => session.run({ x: new Tensor('float32', [1, 2], [2]) })).catch((error) => error);
    assert.ok(code('INVALID_ATTRIBUTE', 'INVALID_SHAPE')(outcome), String(outcome));
  });
});

describe('feeding', () => {
  const vector = new Tensor('float32', [1, 2], [2]);
  const cases = [
    ['a wrong name', { x: vector, nothing: vector }, /no input 'nothing'/],
    ['a missing input', {}, /'x'/],
    ['a wrong type', { x: new Tensor('int32', [1, 2], [2]) }, /'x'.*int32.*float32/],
    ['a wrong rank', { x: new Tensor('float32', [1, 2], [1, 2]) }, /'x'/],
    ['a wrong size', { x: new Tensor('float32', [1, 2, 3], [3]) }, /'x'/],
    ['a plain array', { x: [1, 2] }, /'x' takes a Tensor/],
    ['a typed array', { x: new Float32Array(2) }, /'x' takes a Tensor/],
    ['too little data', { x: { type: 'float32', dims: [2], data: new Float32Array(1) } }, /'x'.*2 array elements.*has 1/],
    ['data of another class', { x: { type: 'float32', dims: [2], data: new Int32Array(2) } }, /float32 data is a Float32Array/],
    ['no feeds', undefined, /feeds are an object/],
    ['a tensor in place of feeds', vector, /feeds are an object/],
  ];
  for (const [name, feeds, message] of cases) {
    test(name, async () => {
      const session = await create(unary('Relu'));
      await assert.rejects(session.run(feeds), (error) => code('INVALID_FEED', 'INVALID_ARGUMENT')(error) && message.test(error.message), name);
      const { y } = await session.run({ x: vector });
      assert.deepEqual([...y.data], [1, 2]);
      await session.release();
    });
  }
});

describe('running', () => {
  test('a failing node is named, and the session runs again', async () => {
    const model = buildModel({
      inputs: [float('x', ['n']), { name: 'shape', type: 'int64', dims: [1] }],
      outputs: [float('y', ['m'])],
      nodes: [{ op: 'Reshape', name: 'the reshape', inputs: ['x', 'shape'], outputs: ['y'] }],
    });
    const session = await create(model);
    const feeds = (to) => ({ x: new Tensor('float32', [1, 2], [2]), shape: new Tensor('int64', [BigInt(to)], [1]) });
    await assert.rejects(session.run(feeds(3)), (error) => error.node === 'the reshape' && error.op === 'Reshape' && error.opset > 0);
    assert.deepEqual((await session.run(feeds(2))).y.dims, [2]);
    await session.release();
  });

  test('out of memory is an error', async () => {
    const model = buildModel({
      inputs: [{ name: 'shape', type: 'int64', dims: [1] }],
      outputs: [float('y', ['n'])],
      nodes: [{ op: 'ConstantOfShape', name: 'fill', inputs: ['shape'], outputs: ['z'] }, { op: 'Exp', name: 'exp', inputs: ['z'], outputs: ['y'] }],
    });
    const session = await create(model);
    const run = (n) => session.run({ shape: new Tensor('int64', [n], [1]) });
    await assert.rejects(run(5_000_000_000n), code('OUT_OF_MEMORY', 'LIMIT_EXCEEDED'));
    await assert.rejects(run(1n << 61n), code('OUT_OF_MEMORY', 'LIMIT_EXCEEDED', 'INVALID_VALUE', 'INVALID_SHAPE'));
    assert.deepEqual([...(await run(2n)).y.data], [1, 1]);
    await session.release();
  });

  test('a trap ends its session and no other', async () => {
    const { Runtime } = await import('../../js/runtime.js');
    const { platform } = await import('../../js/env/node.js');
    const runtime = await Runtime.acquire(platform, single);
    const session = await create(unary('Relu'), { runtime, artifact: undefined, wasm: undefined });
    assert.throws(() => runtime.call('ln_value_kind_of', 0x7ffffff0), code('INTERNAL'));
    await assert.rejects(session.run({ x: new Tensor('float32', [1, 2], [2]) }), code('INTERNAL'));
    assert.equal(runtime.byteLength, 0);
    await session.release();
  });
});
