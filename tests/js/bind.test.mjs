// Bound inputs: values that are copied once and read by every run until they are unbound.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tensor } from 'linnet';
import { addModel, create } from '../support/models.mjs';
import { buildModel } from '../support/onnx.mjs';

const float = (...values) => new Tensor('float32', values, [values.length]);
const code = (name, message) => (error) => error.code === name && message.test(error.message);

test('runs read a bound input and are fed the others', async () => {
  const session = await create(addModel);
  const source = float(1, 2);
  await session.bind({ b: source });
  source.data[0] = 100;
  for (let i = 0; i < 3; i++) assert.deepEqual([...(await session.run({ a: float(i, i) })).c.data], [i + 1, i + 2]);
  assert.deepEqual([...session.runSync({ a: float(5, 5) }).c.data], [6, 7]);
  await assert.rejects(session.run({ a: float(1), b: float(1) }), code('INVALID_FEED', /'b' is bound/));

  await session.bind({ b: float(7) });
  assert.deepEqual([...(await session.run({ a: float(1) })).c.data], [8]);
  await session.bind({ b: null });
  await assert.rejects(session.run({ a: float(1) }), code('INVALID_FEED', /'b' was not fed/));
  assert.deepEqual([...(await session.run({ a: float(1), b: float(2) })).c.data], [3]);
  await session.release();
});

test('a run leaves a bound value as it was', async () => {
  const vector = (name) => ({ name, type: 'float32', dims: [4] });
  const session = await create(buildModel({
    inputs: [vector('x')],
    outputs: [vector('y'), vector('z')],
    nodes: [{ op: 'Neg', inputs: ['x'], outputs: ['y'] }, { op: 'Identity', inputs: ['x'], outputs: ['z'] }],
  }));
  await session.bind({ x: float(1, 2, 3, 4) });
  for (let i = 0; i < 3; i++) {
    const { y, z } = await session.run({});
    assert.deepEqual([[...y.data], [...z.data]], [[-1, -2, -3, -4], [1, 2, 3, 4]]);
  }
  await session.release();
});

test('binding takes its turn among runs', async () => {
  const session = await create(addModel);
  const results = await Promise.all([
    session.run({ a: float(1), b: float(1) }),
    session.bind({ b: float(10) }),
    session.run({ a: float(2) }),
  ]);
  assert.deepEqual([results[0].c.data[0], results[2].c.data[0]], [2, 12]);
  await session.release();
  await assert.rejects(session.bind({ b: float(1) }), code('SESSION_RELEASED', /./));
});

test('what cannot be bound', async () => {
  const session = await create(addModel);
  await assert.rejects(session.bind({ d: float(1) }), code('INVALID_FEED', /no input 'd'/));
  await assert.rejects(session.bind({ a: 3 }), code('INVALID_FEED', /takes a Tensor/));
  await assert.rejects(session.bind({ a: new Tensor('int32', [1], [1]) }), code('INVALID_FEED', /int32/));
  assert.deepEqual([...(await session.run({ a: float(1), b: float(2) })).c.data], [3]);
  await session.release();
  const texts = { type: 'string', dims: [1] };
  const other = await create(buildModel({
    inputs: [{ name: 's', ...texts }], outputs: [{ name: 't', ...texts }], nodes: [{ op: 'Identity', inputs: ['s'], outputs: ['t'] }],
  }));
  await assert.rejects(other.bind({ s: new Tensor('string', ['a'], [1]) }), code('INVALID_FEED', /tensor of numbers/));
  await other.release();
});

test('in a worker', async () => {
  const session = await create(addModel, { worker: true });
  await session.bind({ b: float(4) });
  assert.equal((await session.run({ a: float(1) })).c.data[0], 5);
  await session.release();
});
