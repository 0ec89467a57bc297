// Rewrites: each fires where it is right, not where it is not, and never changes what a model computes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tensor } from 'linnet';
import { compare } from '../support/optimised.mjs';
import { filled } from '../support/expression.mjs';

const tensor = (dims, seed = 3, scale = 3) => new Tensor('float32', filled(dims, seed).map((each) => each * scale), dims);
const vector = { inputs: { x: ['n'] }, outputs: { y: ['n'] }, feeds: { x: tensor([37], 5, 6) } };

describe('find-activations', () => {
  const cube = 'Mul(0.044715, Mul(Mul(x, x), x))';
  const forms = {
    Gelu: [
      'Mul(Mul(x, Add(Erf(Div(x, 1.4142135)), 1)), 0.5)',
      'Mul(Mul(x, 0.5), Add(1, Erf(Mul(x, 0.70710678))))',
      'Mul(x, Mul(0.5, Add(Erf(Div(x, 1.4142135)), 1)))',
      'Div(Mul(Add(1, Erf(Div(x, 1.4142135))), x), 2)',
      'Mul(x, Add(0.5, Mul(Erf(Div(x, 1.4142135)), 0.5)))',
      `Mul(Mul(x, 0.5), Add(1, Tanh(Mul(0.7978845608, Add(x, ${cube})))))`,
      'Mul(0.5, Mul(x, Add(Tanh(Mul(Add(x, Mul(Pow(x, 3), 0.044715)), 0.7978845608)), 1)))',
      'Mul(x, Mul(0.5, Add(1, Tanh(Mul(0.79788458, Add(x, Mul(x, Mul(x, Mul(0.044715, x)))))))))',
      'Mul(Mul(0.5, x), Add(1, Tanh(Mul(Mul(x, 0.79788458), Add(1, Mul(Mul(x, 0.044715), x))))))',
    ],
    Swish: ['Mul(x, Sigmoid(x))', 'Mul(Sigmoid(x), x)'],
    QuickGelu: ['Mul(x, Sigmoid(Mul(x, 1.702)))', 'Mul(Sigmoid(Mul(1.702, x)), x)'],
    HardSwish: [
      'Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)', 'Mul(x, Div(Clip(Add(x, 3), 0, 6), 6))', 'Mul(Mul(Clip(Add(3, x), 0, 6), 0.16666667), x)',
      'Mul(x, HardSigmoid<alpha=0.16666667, beta=0.5>(x))',
    ],
    HardSigmoid: ['Div(Clip(Add(x, 3), 0, 6), 6)'],
    Mish: ['Mul(x, Tanh(Softplus(x)))', 'Mul(Tanh(Log(Add(Exp(x), 1))), x)'],
  };
  for (const [op, texts] of Object.entries(forms)) {
    for (const text of texts) {
      test(`${op}: ${text}`, async () => {
        const { operators, fired } = await compare(`y = ${text}`, { ...vector, opset: 17 });
        assert.deepEqual(operators, { [op]: 1 });
        assert.ok(fired['find-activations'] >= 1);
      });
    }
  }

  const others = {
    'another factor': 'y = Mul(Mul(x, Add(Erf(Div(x, 1.5)), 1)), 0.5)',
    'another value': 'y = Mul(Mul(x, Add(Erf(Div(Neg(x), 1.4142135)), 1)), 0.5)',
    'another slope': 'y = Mul(x, HardSigmoid<alpha=0.2, beta=0.5>(x))',
    'other bounds': 'y = Div(Mul(x, Clip(Add(x, 3), 0, 5)), 6)',
  };
  for (const [why, text] of Object.entries(others)) {
    test(`not with ${why}`, async () => assert.equal((await compare(text, vector)).fired['find-activations'], 0));
  }
  test('not when somebody reads what is inside', async () => {
    const { fired } = await compare('s = Sigmoid(x)\ny = Mul(x, s)\nz = Neg(s)', { ...vector, outputs: { y: ['n'], z: ['n'] } });
    assert.equal(fired['find-activations'], 0);
  });
  test('not when a constant raises the rank', async () => {
    const constants = { half: { type: 'float32', dims: [1, 1], data: Float32Array.of(0.5) } };
    const text = 'y = Mul(Mul(x, Add(Erf(Div(x, 1.4142135)), 1)), half)';
    assert.equal((await compare(text, { ...vector, constants, outputs: { y: [1, 'n'] } })).fired['find-activations'], 0);
  });

  for (const text of ['Mul(h, Sigmoid(h))', 'Mul(Mul(h, Add(Erf(Div(h, 1.4142135)), 1)), 0.5)', 'Mul(h, Sigmoid(Mul(h, 1.702)))']) {
    test(`into the product before: ${text}`, async () => {
      const graph = { inputs: { x: ['n', 5] }, outputs: { y: ['n', 9] }, constants: { w: [5, 9], b: [9] }, feeds: { x: tensor([7, 5]) } };
      const { operators } = await compare(`h = Add(MatMul(x, w), b)\ny = ${text}`, graph);
      assert.deepEqual(operators, { MatMulBias: 1 });
    });
  }
});

const rows = { inputs: { x: ['n', 'm', 24] }, outputs: { y: ['n', 'm', 24] }, constants: { g: [24], b: [24] }, feeds: { x: tensor([2, 3, 24]) } };

describe('fuse-layer-norm', () => {
  const mean = (value) => `ReduceMean<axes=[-1]>(${value})`;
  const layer = (squared) => `m = ${mean('x')}\nd = Sub(x, m)\nv = ${mean(squared)}\n`;
  const forms = {
    power: [`${layer('Pow(d, 2)')}y = Add(Mul(Div(d, Sqrt(Add(v, 0.00001))), g), b)`, 'LayerNormalization'],
    product: [`${layer('Mul(d, d)')}y = Add(b, Mul(g, Mul(d, Reciprocal(Sqrt(Add(v, 0.00001))))))`, 'LayerNormalization'],
    'no bias': [`${layer('Mul(d, d)')}y = Mul(g, Div(d, Sqrt(Add(v, 0.00001))))`, 'LayerNormalization'],
    'scale first': [`${layer('Mul(d, d)')}s = Mul(Reciprocal(Sqrt(Add(v, 0.00001))), g)\ny = Add(Mul(x, s), Sub(b, Mul(m, s)))`, 'LayerNormalization'],
    'root mean square': [`y = Mul(g, Mul(x, Reciprocal(Sqrt(Add(${mean('Pow(x, 2)')}, 0.000001)))))`, 'SimplifiedLayerNormalization'],
    'root mean square, quotient': [`y = Mul(Div(x, Sqrt(Add(${mean('Mul(x, x)')}, 0.000001))), g)`, 'SimplifiedLayerNormalization'],
  };
  for (const [name, [text, op]] of Object.entries(forms)) {
    test(name, async () => assert.deepEqual((await compare(text, rows)).operators, { [op]: 1 }));
  }
  const text = forms.power[0];
  test('with the axis counted from the front', async () => {
    assert.deepEqual((await compare(text.replaceAll('[-1]', '[2]'), rows)).operators, { LayerNormalization: 1 });
  });
  test('not over another axis', async () => {
    const graph = { ...rows, inputs: { x: [24, 3, 24] }, outputs: { y: [24, 3, 24] }, feeds: { x: tensor([24, 3, 24]) } };
    assert.equal((await compare(text.replaceAll('[-1]', '[0]'), graph)).fired['fuse-layer-norm'], 0);
  });
  test('not when the scale is wider than the rows may be', async () => {
    const graph = { ...rows, inputs: { x: ['n', 'm', 'k'] }, outputs: { y: ['n', 'm', 24] }, feeds: { x: tensor([2, 3, 1]) } };
    assert.equal((await compare(text, graph)).fired['fuse-layer-norm'], 0);
  });
});

describe('fuse-skip-norm', () => {
  const two = { ...rows, inputs: { x: ['n', 'm', 24] } };
  test('takes in a residual sum', async () => {
    const { operators } = await compare('h = Relu(x)\ny = LayerNormalization(Add(h, x), g, b)', two);
    assert.deepEqual(operators, { Relu: 1, SkipLayerNormalization: 1 });
  });
  test('and gives it to others', async () => {
    const outputs = { y: ['n', 'm', 24], z: ['n', 'm', 24] };
    const { operators } = await compare('h = Relu(x)\ns = Add(h, x)\ny = LayerNormalization(s, g, b)\nz = Neg(s)', { ...two, outputs });
    assert.deepEqual(operators, { Relu: 1, SkipLayerNormalization: 1, Neg: 1 });
  });
  test('not when a summand repeats', async () => {
    const inputs = { x: ['n', 'm', 24], z: ['k', 24] };
    const feeds = { x: tensor([2, 3, 24]), z: tensor([1, 24], 4) };
    assert.equal((await compare('y = LayerNormalization(Add(x, z), g, b)', { ...two, inputs, feeds })).fired['fuse-skip-norm'], 0);
  });
});

describe('fuse-batch-norm', () => {
  const image = { inputs: { x: ['n', 3, 'h', 'w'] }, outputs: { y: ['n', 8, 'h', 'w'] }, constants: { w: [8, 3, 3, 3], b: [8], c: [8, 1, 1] }, feeds: { x: tensor([2, 3, 5, 6]) } };
  const conv = (then) => `h = Conv<pads=[1, 1, 1, 1]>(x, w, b)\ny = ${then}`;
  for (const then of [
    'Mul(0.5, h)', 'Sub(h, 1.5)', 'Sub(1.5, h)', 'Div(h, 3)', 'Mul(Add(h, c), 2)', 'Add(Mul(h, c), c)',
    'Add(Mul(Relu(h), 0.4), -2.5)', 'Sub(0.25, Mul(Relu(h), 3))', 'Add(Mul(-2, Clip(h, -1, 0.5)), 0.125)', 'Mul(-2, Clip(h, -1))',
    'Add(Mul(HardSwish(Add(Mul(h, 0.9), 0.5)), 0.5), -0.25)', 'Mul(Add(Mul(HardSwish(h), 0.5), -0.25), 3)',
  ]) {
    test(`takes in ${then}`, async () => {
      const { operators } = await compare(conv(then), { ...image, tolerance: 1e-5 });
      assert.deepEqual(operators, { Conv: 1 });
    });
  }
  for (const then of ['Div(1.5, h)', 'Mul(Relu(h), c)', 'Mul(Sigmoid(h), 2)', 'Mul(Relu(h), 0)']) {
    test(`not ${then}`, async () => assert.equal((await compare(conv(then), image)).fired['fuse-batch-norm'], 0));
  }
});

describe('drop-no-ops', () => {
  const matrix = { inputs: { x: ['n', 3, 8] }, outputs: { y: ['n', 3, 8] }, feeds: { x: tensor([2, 3, 8]) } };
  const fp = 'Softmax(x)';
  for (const text of [
    `Mul(${fp}, 1)`, `Add(0, ${fp})`, `Div(${fp}, 1)`, `Sub(${fp}, 0)`, `Pow(${fp}, 1)`, `Cast<to=1>(${fp})`, `Reshape(${fp}, [0, 3, -1])`, `Reshape(${fp}, [-1, 3, 8])`,
    `Transpose<perm=[0, 1, 2]>(${fp})`, `Slice(${fp}, [0, 0], [2147483647, 9007199254740991], [1, 2])`, `Pad(${fp}, [0, 0, 0, 0, 0, 0])`, `Tile(${fp}, [1, 1, 1])`,
    `Expand(${fp}, [3, 8])`, `Concat<axis=1>(${fp})`, `Sum(${fp})`, `Dropout(${fp})`,
  ]) {
    test(text, async () => assert.deepEqual((await compare(`y = Neg(${text})`, matrix)).operators, { Softmax: 1, Neg: 1 }));
  }
  for (const text of [
    `Mul(${fp}, 2)`, `Div(1, ${fp})`, `Sub(0, ${fp})`, `Cast<to=1>(Cast<to=10>(${fp}))`, `Reshape(${fp}, [3, -1, 8])`, `Transpose<perm=[0, 2, 1]>(${fp})`,
    `Slice(${fp}, [1], [2147483647], [1])`, `Expand(${fp}, [2, 1, 3, 8])`, `Mul(${fp}, one)`,
  ]) {
    const constants = { one: { type: 'float32', dims: [1, 1, 1, 1], data: Float32Array.of(1) } };
    test(`not ${text}`, async () => assert.equal((await compare(`y = Neg(${text})`, { ...matrix, constants, outputs: { y: undefined } })).fired['drop-no-ops'], 0));
  }
  test('a mask that nobody reads does not keep a Dropout', async () => {
    assert.deepEqual((await compare(`h, m = Dropout(${fp})\ny = Neg(h)`, matrix)).operators, { Softmax: 1, Neg: 1 });
    const outputs = { ...matrix.outputs, m: ['n', 3, 8] };
    assert.deepEqual((await compare(`h, m = Dropout(${fp})\ny = Neg(h)`, { ...matrix, outputs })).operators, { Softmax: 1, Dropout: 1, Neg: 1 });
  });
  test('a graph output keeps its value', async () => assert.deepEqual((await compare('y = Mul(x, 1)', matrix)).operators, { Mul: 1 }));
});

describe('merge-equal', () => {
  const matrix = { inputs: { x: ['n', 4] }, outputs: { y: ['n', 4] }, feeds: { x: tensor([3, 4]) } };
  test('merges nodes and what follows from them', async () => {
    const text = 'a = Neg(ReduceSum<keepdims=1>(x, [1]))\nb = Neg(ReduceSum<keepdims=1>(x, [1]))\ny = Add(Mul(x, a), b)';
    assert.deepEqual((await compare(text, matrix)).operators, { ReduceSum: 1, Neg: 1, Mul: 1, Add: 1 });
  });
  for (const [why, text] of Object.entries({
    'attributes differ': 'y = Add(Softmax<axis=0>(x), Softmax<axis=1>(x))',
    'constants differ': 'y = Add(ReduceSum(x, [0]), ReduceSum(x, [1]))',
    'inputs differ': 'y = Add(Exp(x), Exp(Neg(x)))',
    'numbers are random': 'y = Sub(RandomNormalLike<seed=1.0>(x), RandomNormalLike<seed=1.0>(x))',
  })) {
    test(`not when ${why}`, async () => assert.equal((await compare(text, { ...matrix, outputs: { y: undefined } })).fired['merge-equal'], 0));
  }
  test('not when both are outputs', async () => {
    const outputs = { y: ['n', 4], z: ['n', 4] };
    assert.deepEqual((await compare('y = Neg(x)\nz = Neg(x)', { ...matrix, outputs })).operators, { Neg: 2 });
  });
});

test('what is added behind a fused activation is no bias', async () => {
  const graph = { inputs: { x: ['n', 5] }, outputs: { y: ['n', 9] }, constants: { w: [5, 9], b: [9] }, feeds: { x: tensor([7, 5]) } };
  const { fired, operators } = await compare('y = Add(Relu(MatMul(x, w)), b)', graph);
  assert.equal(fired['fuse-bias'], 0);
  assert.deepEqual(operators, { MatMul: 1, Add: 1 });
});

describe('widen-halves', () => {
  const half = (dims, seed) => new Tensor('float16', Uint16Array.from(filled(dims, seed), (each) => (Math.round(Math.abs(each) * 1023)) | (each < 0 ? 0xbc00 : 0x3800)), dims);
  const weights = (dims, seed) => ({ type: 'float16', dims, data: half(dims, seed).data });
  const graph = { type: 'float16', inputs: { x: ['n', 6] }, outputs: { y: ['n', 6] }, feeds: { x: half([4, 6], 2) }, tolerance: 2e-2, constants: { w: weights([6, 6], 3), b: weights([6], 4) } };
  test('a chain keeps float32 inside', async () => {
    const { operators, fired } = await compare('y = Softmax(Relu(Add(MatMul(x, w), b)))', graph);
    assert.equal(fired['widen-halves'], 1);
    assert.deepEqual(operators, { Cast: 2, MatMulBias: 1, Softmax: 1 });
  });
  test('a value that others read is narrowed for them', async () => {
    const { fired, operators } = await compare('h = Relu(MatMul(x, w))\ny = Softmax(Add(Tanh(h), b))\nz = Cast<to=6>(h)', { ...graph, outputs: { y: ['n', 6], z: { type: 'int32', dims: ['n', 6] } } });
    assert.equal(fired['widen-halves'], 1);
    assert.equal(operators.Cast, 4);
  });
  test('casts from and to float32 go', async () => {
    const outer = { ...graph, inputs: { x: { type: 'float32', dims: ['n', 6] } }, outputs: { y: { type: 'float32', dims: ['n', 6] } }, feeds: { x: tensor([4, 6]) } };
    const { operators } = await compare('y = Neg(Cast<to=1>(Softmax(Add(MatMul(Cast<to=10>(x), w), b))))', { ...outer, tolerance: 2e-2 });
    assert.deepEqual(operators, { MatMulBias: 1, Softmax: 1, Neg: 1 });
  });
  test('not a single node', async () => assert.equal((await compare('y = Tanh(x)', graph)).fired['widen-halves'], 0));
  test('not where a large table would double', async () => {
    const table = { ...graph, inputs: { x: { type: 'int64', dims: ['n'] } }, outputs: { y: ['n', 6] }, constants: { t: weights([20000, 6], 5) }, feeds: { x: new Tensor('int64', BigInt64Array.of(1n, 19999n), [2]) } };
    assert.equal((await compare('y = Gather(t, x)', table)).fired['widen-halves'], 0);
  });
});

describe('push-transposes', () => {
  const image = { inputs: { x: ['n', 3, 4, 5] }, outputs: { y: undefined }, constants: { c: [3] }, feeds: { x: tensor([2, 3, 4, 5]) } };
  const there = 'Transpose<perm=[0, 2, 3, 1]>';
  const back = 'Transpose<perm=[0, 3, 1, 2]>';
  for (const [text, left] of [
    [`Neg(${back}(${there}(x)))`, { Neg: 1 }],
    [`Neg(${there}(${there}(x)))`, { Transpose: 1, Neg: 1 }],
    [`Neg(${back}(Relu(Mul(Add(${there}(x), c), 2))))`, { Chain: 1 }],
    [`Neg(Transpose<perm=[0, 1, 3, 2]>(Exp(Sub(c, ${there}(x)))))`, { Chain: 1, Neg: 1, Transpose: 1 }],
    [`Neg(Add(${there}(x), ${there}(Relu(x))))`, { Chain: 1, Neg: 1, Transpose: 1 }],
    [`Neg(${back}(Add(${there}(x), ${there}(Relu(x)))))`, { Chain: 1 }],
  ]) {
    test(text, async () => assert.deepEqual((await compare(`y = ${text}`, image)).operators, left));
  }
  for (const [why, text, constants] of [
    ['through what works along an axis', `y = ${back}(Softmax<axis=-1>(${there}(x)))`],
    ['with a constant of two long axes', `y = ${back}(Add(${there}(x), c))`, { c: [5, 3] }],
    ['when somebody reads what is between', `t = ${there}(x)\ny = Add(${back}(Relu(t)), ReduceSum(t))`],
    ['when two are transposed differently', 'y = Add(Transpose<perm=[0, 1, 3, 2]>(x), Transpose<perm=[0, 3, 1, 2]>(x))'],
  ]) {
    const feeds = why.includes('differently') ? { x: tensor([2, 4, 4, 4]) } : image.feeds;
    const inputs = why.includes('differently') ? { x: ['n', 4, 4, 4] } : image.inputs;
    test(`not ${why}`, async () => assert.equal((await compare(text, { ...image, inputs, feeds, constants: constants ?? image.constants })).fired['push-transposes'], 0));
  }
});

describe('collapse-reshapes', () => {
  const matrix = { inputs: { x: ['n', 6] }, outputs: { y: undefined }, feeds: { x: tensor([4, 6]) } };
  for (const [text, left] of [
    ['Neg(Reshape(Reshape(x, [-1, 2, 3]), [-1, 3]))', { Reshape: 1, Neg: 1 }],
    ['Neg(Reshape(Unsqueeze(x, [1]), [3, -1]))', { Reshape: 1, Neg: 1 }],
    ['Neg(Squeeze(Unsqueeze(x, [1]), [1]))', { Neg: 1 }],
  ]) {
    test(text, async () => assert.deepEqual((await compare(`y = ${text}`, matrix)).operators, left));
  }
  test('not when a size is copied', async () => assert.equal((await compare('y = Neg(Reshape(Reshape(x, [3, -1, 2]), [0, -1]))', matrix)).fired['collapse-reshapes'], 0));
});

describe('fuse-chains', () => {
  const image = {
    inputs: { x: ['n', 6, 'h', 5], z: ['n', 6, 'h', 5] }, outputs: { y: undefined }, feeds: { x: tensor([2, 6, 7, 5]), z: tensor([2, 6, 7, 5], 8) },
    constants: { c: [6, 1, 1], d: [1, 6, 1, 1], s: [6], b: [6], m: [6], v: { type: 'float32', dims: [6], data: filled([6], 9).map((each) => each * each + 0.1) } }, tolerance: 0,
  };
  for (const text of [
    'Exp(Mul(Add(x, c), 0.125))', 'Sub(d, Relu(Mul(x, z)))', 'Relu(Add(Relu(Mul(z, x)), c))', 'Clip(Div(2, Sqrt(Abs(x))), 0.5, 3)',
    'PRelu(BatchNormalization(x, s, b, m, v), c)', 'Tanh(Sub(BatchNormalization(Add(x, c), s, b, m, v), c))', 'Neg(Pow(Mul(x, c), 2))',
    `${'Neg('.repeat(30)}x${')'.repeat(30)}`,
  ]) {
    test(text, async () => {
      const { operators, fired } = await compare(`y = ${text}`, image);
      assert.ok(fired['fuse-chains'] >= 1);
      assert.ok(Object.keys(operators).every((op) => ['Chain', 'Mul'].includes(op)), JSON.stringify(operators));
    });
  }
  test('rows, and rows that repeat along the front', async () => {
    const matrix = { inputs: { x: ['n', 'm', 24] }, outputs: { y: ['n', 'm', 24] }, constants: { g: [24], w: [1, 1, 24] }, feeds: { x: tensor([2, 3, 24]) }, tolerance: 0 };
    assert.deepEqual((await compare('y = Add(Mul(x, g), w)', matrix)).operators, { Chain: 1 });
  });
  test('blocks and tasks may end anywhere', async () => {
    const long = { ...image, inputs: { x: [3, 6, 53, 41], z: [53, 41] }, feeds: { x: tensor([3, 6, 53, 41]), z: tensor([53, 41], 8) } };
    assert.deepEqual((await compare('y = Mul(Sub(BatchNormalization(x, s, b, m, v), z), c)', long)).operators, { Chain: 1 });
  });
  for (const [why, text, change] of [
    ['when somebody reads what is between', 't = Abs(x)\ny = Exp(t)\nw = Neg(t)', { outputs: { y: undefined, w: undefined } }],
    ['when the shape grows', 'y = Add(Abs(x), w)', { constants: { w: [3, 1, 6, 7, 5] } }],
    ['when the shape may grow', 'y = Exp(Add(x, w))', { inputs: { x: ['n', 6, 'h', 5], w: ['k', 6, 'h', 5] }, feeds: { x: image.feeds.x, w: tensor([1, 6, 7, 5]) } }],
    ['when an operand has axes apart', 'y = Abs(Add(x, w))', { constants: { w: [6, 1, 5] } }],
    ['when an operand has short runs', 'y = Abs(Add(x, w))', { constants: { w: [5] } }],
    ['when the batch gives the statistics', 'y = Abs(BatchNormalization<training_mode=1>(x, s, b, m, v))', { tolerance: 1e-5 }],
    ['of doubles', 'y = Abs(Neg(Cast<to=11>(x)))'],
  ]) {
    test(`not ${why}`, async () => assert.equal((await compare(text, { ...image, ...change })).fired['fuse-chains'], 0));
  }
});

describe('narrow-scatter', () => {
  const data = { inputs: { x: [4, 3, 5], u: undefined }, outputs: { y: undefined } };
  const box = (...ranges) => ranges.reduce((tuples, range) => tuples.flatMap((tuple) => range.map((at) => [...tuple, at])), [[]]);
  const graph = (tuples, dims, updates) => ({
    ...data, inputs: { ...data.inputs, u: updates }, feeds: { x: tensor([4, 3, 5]), u: tensor(updates, 8) },
    constants: { i: { type: 'int64', dims, data: BigInt64Array.from(tuples.flat(), BigInt) } },
  });
  for (const [why, text, shape, narrowed] of [
    ['whole rows', [[1, 2], [0, 1, 2], [0, 1, 2, 3, 4]], [2, 3, 5], 2],
    ['some rows', [[3, 1], [2, 0], [0, 1, 2, 3, 4]], [2, 2, 5], 1],
    ['not parts of rows', [[1, 2], [0, 1, 2], [0, 1, 2, 3]], [2, 3, 4], 0],
    ['not rows from behind', [[1, 2], [0, 1, 2], [4, 3, 2, 1, 0]], [2, 3, 5], 0],
  ]) {
    test(why, async () => {
      const { fired } = await compare('y = ScatterND(x, i, u)', graph(box(...text), [...shape, 3], shape));
      assert.equal(fired['narrow-scatter'], narrowed);
    });
  }
  test('not where a coordinate changes within a row', async () => {
    const tuples = box([1], [0, 1, 2], [0, 1, 2, 3, 4]).map((tuple, i) => (i === 7 ? [2, ...tuple.slice(1)] : tuple));
    assert.equal((await compare('y = ScatterND(x, i, u)', graph(tuples, [1, 3, 5, 3], [1, 3, 5]))).fired['narrow-scatter'], 0);
  });
  test('sums repeat as before', async () => {
    const { fired } = await compare('y = ScatterND<reduction=add>(x, i, u)', graph(box([1, 1], [2], [0, 1, 2, 3, 4]), [2, 1, 5, 3], [2, 1, 5]));
    assert.equal(fired['narrow-scatter'], 1);
  });
});

describe('fold-constants', () => {
  test('sizes that every run has', async () => {
    const graph = { inputs: { x: [2, 3, 'n'] }, outputs: { y: undefined }, feeds: { x: tensor([2, 3, 4]) }, constants: { zero: { type: 'int64', dims: [], data: BigInt64Array.of(0n) }, one: { type: 'int64', dims: [], data: BigInt64Array.of(1n) }, two: { type: 'int64', dims: [], data: BigInt64Array.of(2n) } } };
    const rows = (axis) => `y = Gather<axis=${axis}>(x, Range(zero, Gather(Shape(x), ${axis === 1 ? 'one' : 'two'}), one))`;
    assert.deepEqual((await compare(rows(1), graph)).operators, { Gather: 1 });
    assert.ok((await compare(rows(2), graph)).operators.Range, 'not those that runs change');
  });
});

describe('find-one-hot', () => {
  const numbers = (data) => ({ type: 'int32', dims: [1, 1, data.length], data: Int32Array.from(data) });
  const graph = (row, change) => ({
    inputs: { x: ['n', 'm', 1] }, outputs: { y: undefined }, constants: { row: numbers(row), w: [5, 7] },
    feeds: { x: new Tensor('float32', Float32Array.of(0, 4, 3, 5, -1, 1), [2, 3, 1]) }, tolerance: 0, ...change,
  });
  const text = 'y = MatMul(Cast<to=1>(Equal(Cast<to=6>(x), row)), w)';
  test('picks rows, and zeros for what is outside', async () => {
    assert.deepEqual((await compare(text, graph([0, 1, 2, 3, 4]))).operators, { Cast: 1, PickRows: 1 });
    assert.deepEqual((await compare('y = Softmax(MatMul(Cast<to=1>(Equal(row, Cast<to=6>(x))), w))', graph([0, 1, 2, 3, 4]))).operators, { Cast: 1, PickRows: 1, Softmax: 1 });
  });
  for (const [why, row, change] of [
    ['with other numbers', [0, 1, 2, 4, 3]],
    ['where rows of more than one number meet', [0, 1, 2, 3, 4], { inputs: { x: ['n', 'm', 'k'] } }],
    ['with weights that are not finite', [0, 1, 2, 3, 4], { constants: { row: numbers([0, 1, 2, 3, 4]), w: { type: 'float32', dims: [5, 1], data: Float32Array.of(1, 2, Infinity, 3, 4) } } }],
  ]) {
    test(`not ${why}`, async () => assert.equal((await compare(text, graph(row, change))).fired['find-one-hot'], 0));
  }
});
