// Plans: one for each combination of shapes, few kept, blocks of the workspace apart as long as they are in use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tensor } from 'linnet';
import { addModel, create } from '../support/models.mjs';
import { buildModel } from '../support/onnx.mjs';

const float = (values) => new Tensor('float32', values, [values.length]);

test('shapes that change from run to run', async () => {
  const session = await create(addModel);
  const round = () => {
    for (let length = 0; length < 100; length++) {
      const a = Float32Array.from({ length }, (_, i) => i);
      const { c } = session.runSync({ a: float(a), b: float(a) });
      assert.deepEqual([...c.data], [...a].map((value) => 2 * value));
    }
  };
  for (let i = 0; i < 3; i++) round();
  const before = session.memory();
  round();
  const { plans, allocations } = session.memory();
  assert.ok(plans >= 8 && plans <= 64, `${plans} plans`);
  assert.equal(allocations, before.allocations, 'a plan takes over the memory of the one that it replaces');
  await session.release();
});

test('a result in place of its operand that only its shape is read of', async () => {
  const vector = (name) => ({ name, type: 'float32', dims: ['n'] });
  const session = await create(buildModel({
    inputs: [vector('x')],
    outputs: [vector('y'), { name: 's', type: 'int64', dims: [1] }],
    nodes: [
      { op: 'Mul', inputs: ['x', 'x'], outputs: ['square'] },
      { op: 'Add', inputs: ['x', 'x'], outputs: ['double'] },
      { op: 'Neg', inputs: ['double'], outputs: ['negative'] },
      { op: 'Shape', inputs: ['negative'], outputs: ['s'] },
      { op: 'Sub', inputs: ['square', 'x'], outputs: ['y'] },
    ],
  }));
  const { y, s } = session.runSync({ x: float([3, 5]) });
  assert.deepEqual([...y.data], [6, 20]);
  assert.deepEqual([...s.data], [2n]);
  await session.release();
});

test('parts of a Concat that are made where they go', async () => {
  const matrix = (name) => ({ name, type: 'float32', dims: [1, 'n', 2] });
  const join = (inputs, output) => ({ op: 'Concat', inputs, outputs: [output], attributes: [{ name: 'axis', type: 'int', data: 1 }] });
  const session = await create(buildModel({
    inputs: [matrix('x')],
    outputs: [matrix('y'), matrix('z')],
    nodes: [
      { op: 'Neg', inputs: ['x'], outputs: ['a'] },
      { op: 'Abs', inputs: ['a'], outputs: ['b'] }, // in place of a
      { op: 'Mul', inputs: ['x', 'x'], outputs: ['square'] }, // read later again: copied
      join(['b', 'square', 'b', 'x'], 'inner'),
      { op: 'Add', inputs: ['x', 'x'], outputs: ['double'] },
      join(['double', 'inner'], 'outer'), // parts within parts
      { op: 'Neg', inputs: ['outer'], outputs: ['y'] },
      { op: 'Sub', inputs: ['square', 'x'], outputs: ['z'] },
    ],
  }));
  for (const values of [[1, -2], [3, -4, -5, 6], []]) {
    const { y, z } = session.runSync({ x: new Tensor('float32', values, [1, values.length / 2, 2]) });
    const parts = [(x) => 2 * x, Math.abs, (x) => x * x, Math.abs, (x) => x];
    assert.deepEqual([...y.data], parts.flatMap((part) => values.map((x) => -part(x))));
    assert.deepEqual([...z.data], values.map((x) => x * x - x));
  }
  await session.release();
});
