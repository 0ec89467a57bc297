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

test('no step for what leaves the bytes as they are', async () => {
  const cube = (name) => ({ name, type: 'float32', dims: ['a', 'b', 'c'] });
  const ints = (name, ...data) => ({ name, type: 'int64', dims: [data.length], data: BigInt64Array.from(data.map(BigInt)) });
  const session = await create(buildModel({
    inputs: [cube('x'), cube('past')],
    outputs: [cube('y')],
    initializers: [ints('shape', 1, 1, 1), ints('repeats', 1, 2, 1), ints('starts', 0, 0), ints('ends', 2, 9), ints('axes', 0, 1)],
    nodes: [
      { op: 'Neg', inputs: ['x'], outputs: ['n'] },
      { op: 'Concat', inputs: ['past', 'n'], outputs: ['joined'], attributes: [{ name: 'axis', type: 'int', data: 1 }] },
      { op: 'Expand', inputs: ['joined', 'shape'], outputs: ['expanded'] },
      { op: 'Slice', inputs: ['expanded', 'starts', 'ends', 'axes'], outputs: ['sliced'] },
      { op: 'Transpose', inputs: ['sliced'], outputs: ['turned'], attributes: [{ name: 'perm', type: 'ints', data: [1, 2, 0] }] },
      { op: 'Tile', inputs: ['turned', 'repeats'], outputs: ['tiled'] },
      { op: 'Neg', inputs: ['tiled'], outputs: ['y'] },
    ],
  }), { graphOptimizationLevel: 'disabled' });
  const run = (dims, past = 0) => {
    const make = (length, first) => Float32Array.from({ length }, (_, i) => first + i);
    const [a, b, c] = dims;
    const { y } = session.runSync({ x: new Tensor('float32', make(a * b * c, 1), dims), past: new Tensor('float32', make(a * past * c, -9), [a, past, c]) });
    return { dims: [...y.dims], values: [...y.data], ops: session.steps().map(({ op }) => op) };
  };
  // Tile always copies here, the others only where they move something.
  assert.deepEqual(run([1, 2, 3]), { dims: [2, 6, 1], values: [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6], ops: ['Neg', 'Tile', 'Neg'] });
  assert.deepEqual(run([1, 1, 2], 1), { dims: [2, 4, 1], values: [9, 8, 9, 8, 1, 2, 1, 2], ops: ['Neg', 'Concat', 'Tile', 'Neg'] });
  assert.deepEqual(run([2, 1, 2]), { dims: [1, 4, 2], values: [1, 3, 2, 4, 1, 3, 2, 4], ops: ['Neg', 'Transpose', 'Tile', 'Neg'] });
  assert.deepEqual(run([3, 1, 1]).ops, ['Neg', 'Slice', 'Tile', 'Neg']);
  await session.release();
});
