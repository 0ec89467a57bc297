// Warming up: create() plans for the declared shapes and rehearses, and nothing of that shows in a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tensor } from 'linnet';
import { addModel, create } from '../support/models.mjs';
import { buildModel } from '../support/onnx.mjs';

const matrix = (name, dims, type = 'float32') => ({ name, type, dims });

test('a plan for declared shapes is there before the first run', async () => {
  const model = buildModel({
    inputs: [matrix('x', ['batch', 4])],
    outputs: [matrix('y', ['batch', 4])],
    nodes: [{ op: 'Relu', inputs: ['x'], outputs: ['y'] }],
  });
  const session = await create(model);
  assert.equal(session.memory().plans, 1);
  const { y } = session.runSync({ x: new Tensor('float32', [1, -2, 3, -4], [1, 4]) });
  assert.deepEqual([...y.data], [1, 0, 3, 0]);
  assert.equal(session.memory().plans, 1);
  await session.release();
});

test('warmUp: false leaves it to the first run', async () => {
  const session = await create(addModel, { warmUp: false });
  assert.equal(session.memory().plans, 0);
  await session.release();
});

test('a model that zeros do not suit loads', async () => {
  const session = await create(buildModel({
    inputs: [matrix('x', ['n'], 'int64'), matrix('shape', [1], 'int64')],
    outputs: [matrix('y', [2], 'int64')],
    nodes: [
      { op: 'Reshape', inputs: ['x', 'shape'], outputs: ['z'] },
      { op: 'Div', inputs: ['z', 'x'], outputs: ['y'] },
    ],
  }));
  const { y } = session.runSync({ x: new Tensor('int64', [2n, 3n], [2]), shape: new Tensor('int64', [2n], [1]) });
  assert.deepEqual([...y.data], [1n, 1n]);
  await session.release();
});

test('random numbers are those of the seed', async () => {
  const model = buildModel({
    inputs: [matrix('x', [8])],
    outputs: [matrix('y', [8])],
    nodes: [{ op: 'RandomUniformLike', inputs: ['x'], outputs: ['y'] }],
  });
  const draw = async (options) => {
    const session = await create(model, { seed: 7, ...options });
    const { y } = session.runSync({ x: new Tensor(new Float32Array(8), [8]) });
    await session.release();
    return [...y.data];
  };
  assert.deepEqual(await draw({}), await draw({ warmUp: false }));
});
