// fuse-attention: it takes in attention as exporters write it, and nothing that only looks like it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tensor } from 'linnet';
import { compare } from '../support/optimised.mjs';
import { filled } from '../support/expression.mjs';

const tensor = (dims, seed = 3, scale = 2) => new Tensor('float32', filled(dims, seed).map((each) => each * scale), dims);
/** A mask that hides about every third element, and all of row 1. */
function mask(dims) {
  const width = dims.at(-1);
  return new Tensor('bool', Uint8Array.from(filled(dims, 11), (each, i) => (Math.floor(i / width) === 1 ? 0 : each > -0.3)), dims);
}
const bool = (dims) => ({ type: 'bool', dims });

const BATCH = 2, HEADS = 3, ROWS = 5, KEYS = 7, SIZE = 8;
const apart = { q: ['b', 'h', 's', 'd'], k: ['b', 'h', 't', 'd'], v: ['b', 'h', 't', 'e'] };
const feeds = { q: tensor([BATCH, HEADS, ROWS, SIZE], 1), k: tensor([BATCH, HEADS, KEYS, SIZE], 2), v: tensor([BATCH, HEADS, KEYS, 6], 3) };
const graph = { inputs: apart, outputs: { y: ['b', 'h', 's', 'e'] }, feeds };
const T = 'Transpose<perm=[0,1,3,2]>';
const swap = 'Transpose<perm=[0,2,1,3]>';
const attend = (scores, weights = 'w') => `s = ${scores}\nw = Softmax<axis=-1>(s)\ny = MatMul(${weights}, v)`;

/** `extra` adds inputs and feeds; or replaces parts of the graph. */
async function fires(text, expected, { inputs = {}, more = {}, ...extra } = {}) {
  const { fired, operators } = await compare(text, { ...graph, ...extra, inputs: { ...(extra.own ?? apart), ...inputs }, feeds: { ...(extra.feeds ?? feeds), ...more } });
  assert.equal(fired['fuse-attention'], expected);
  if (expected) assert.deepEqual(operators, { Attend: expected });
}

describe('fuse-attention', () => {
  const bias = { inputs: { m: ['b', 1, 's', 't'] }, more: { m: tensor([BATCH, 1, ROWS, KEYS], 5) } };
  const choice = { inputs: { c: bool(['b', 1, 's', 't']) }, more: { c: mask([BATCH, 1, ROWS, KEYS]) } };
  const forms = {
    plain: [attend(`MatMul(q, ${T}(k))`)],
    'scaled scores': [attend(`Mul(MatMul(q, ${T}(k)), 0.3)`)],
    'divided scores': [attend(`Div(MatMul(q, ${T}(k)), 2.8)`)],
    'scaled operands': [attend(`MatMul(Mul(q, 0.6), Mul(${T}(k), 0.6))`)],
    'scaled before the transposition': [attend(`MatMul(Div(q, 1.7), ${T}(Mul(0.6, k)))`)],
    'an addend': [attend(`Add(Mul(MatMul(q, ${T}(k)), 0.3), m)`), bias],
    'an addend in front': [attend(`Add(m, MatMul(q, ${T}(k)))`), bias],
    'a choice of keys': [attend(`Where(c, Mul(MatMul(q, ${T}(k)), 0.3), -10000)`), choice],
    'a choice of hidden keys': [attend(`Where(c, -3.4028234e38, MatMul(q, ${T}(k)))`), choice],
    'a choice, then an addend': [attend(`Add(Where(c, MatMul(q, ${T}(k)), -9), m)`), { inputs: { ...bias.inputs, ...choice.inputs }, more: { ...bias.more, ...choice.more } }],
    'an addend, then a choice': [attend(`Where(c, Add(MatMul(q, ${T}(k)), m), -9)`), { inputs: { ...bias.inputs, ...choice.inputs }, more: { ...bias.more, ...choice.more } }],
    'cleared weights': [attend(`Where(c, MatMul(q, ${T}(k)), -9)`, 'Where(c, w, 0)'), choice],
    'another axis count': [`s = MatMul(q, ${T}(k))\nw = Softmax<axis=3>(s)\ny = MatMul(w, v)`],
    'an older softmax': [`s = MatMul(q, ${T}(k))\nw = Softmax<axis=3>(s)\ny = MatMul(w, v)`, { opset: 12 }],
  };
  for (const [name, [text, extra]] of Object.entries(forms)) {
    test(name, () => fires(text, 1, extra));
  }

  test('rows that see no key: not a number, or zero where the model says so', async () => {
    const extra = { inputs: { m: ['s', 't'] }, more: { m: new Tensor('float32', mask([ROWS, KEYS]).data.reduce((all, each, i) => { all[i] = each ? 0 : -Infinity; return all; }, new Float32Array(ROWS * KEYS)), [ROWS, KEYS]) } };
    const scores = `Add(MatMul(q, ${T}(k)), m)`;
    await fires(attend(scores), 1, extra);
    await fires(attend(scores, 'Where(IsNaN(w), 0, w)'), 1, extra);
  });

  const joined = {
    own: { q: ['b', 's', 'h', 'd'], k: ['b', 't', 'h', 'd'], v: ['b', 't', 'h', 'e'] }, outputs: { y: ['b', 's', 'h', 'e'] },
    feeds: { q: tensor([BATCH, ROWS, HEADS, SIZE], 1), k: tensor([BATCH, KEYS, HEADS, SIZE], 2), v: tensor([BATCH, KEYS, HEADS, 6], 3) },
  };
  test('heads split and joined', () => fires(`w = Softmax<axis=-1>(Mul(MatMul(${swap}(q), Transpose<perm=[0,2,3,1]>(k)), 0.3))\ny = ${swap}(MatMul(w, ${swap}(v)))`, 1, joined));
  test('two transpositions', () => fires(`w = Softmax<axis=-1>(MatMul(Mul(${swap}(q), 0.5), Mul(${T}(${swap}(k)), 0.5)))\ny = ${swap}(MatMul(w, ${swap}(v)))`, 1, joined));
  test('batches joined for the transposition', async () => {
    const text = `j = Reshape(k, [-1, 7, 8])\nt = Reshape(Transpose<perm=[0,2,1]>(j), [2, 3, 8, 7])\n${attend('MatMul(q, t)')}`;
    await fires(text, 1, { inputs: { k: [BATCH, HEADS, KEYS, SIZE] } });
    const other = `j = Reshape(k, [-1, 7, 8])\nt = Reshape(Transpose<perm=[0,2,1]>(j), [3, 2, 8, 7])\ns = MatMul(q, t)\nw = Softmax<axis=-1>(s)\ny = MatMul(w, v)`;
    const turned = { q: tensor([3, 2, ROWS, SIZE], 1), v: tensor([3, 2, KEYS, 6], 3) };
    await fires(other, 0, { inputs: { k: [BATCH, HEADS, KEYS, SIZE] }, more: turned, outputs: { y: [3, 2, 's', 'e'] } });
  });
  test('many rows and keys', () => fires(attend(`Mul(MatMul(q, ${T}(k)), 0.3)`), 1, { feeds: { q: tensor([1, 2, 130, 24], 1), k: tensor([1, 2, 77, 24], 2), v: tensor([1, 2, 77, 20], 3) } }));
  test('one row', () => fires(attend(`Mul(MatMul(q, ${T}(k)), 0.3)`), 1, { feeds: { q: tensor([1, 2, 1, 24], 1), k: tensor([1, 2, 77, 24], 2), v: tensor([1, 2, 77, 20], 3) } }));
  test('no rows, no keys', async () => {
    await fires(attend(`MatMul(q, ${T}(k))`), 1, { feeds: { q: tensor([1, 2, 0, 4], 1), k: tensor([1, 2, 7, 4], 2), v: tensor([1, 2, 7, 4], 3) } });
    await fires(attend(`MatMul(q, ${T}(k))`), 1, { feeds: { q: tensor([1, 2, 5, 4], 1), k: tensor([1, 2, 0, 4], 2), v: tensor([1, 2, 0, 4], 3) } });
    await fires(attend(`MatMul(q, ${T}(k))`), 1, { feeds: { q: tensor([0, 2, 5, 4], 1), k: tensor([0, 2, 3, 4], 2), v: tensor([0, 2, 3, 4], 3) } });
  });
  test('three axes', () => fires(attend('MatMul(q, Transpose<perm=[0,2,1]>(k))'), 1, {
    own: { q: ['b', 's', 'd'], k: ['b', 't', 'd'], v: ['b', 't', 'e'] }, outputs: { y: ['b', 's', 'e'] },
    feeds: { q: tensor([4, ROWS, SIZE], 1), k: tensor([4, KEYS, SIZE], 2), v: tensor([4, KEYS, 6], 3) },
  }));

  describe('broadcasts as the operators do', () => {
    const text = attend(`Add(MatMul(q, ${T}(k)), m)`);
    const [b, h, s, t, d] = [BATCH, HEADS, ROWS, KEYS, SIZE];
    const shapes = {
      'one key head': [[b, h, s, d], [b, 1, t, d], [b, 1, t, 6], [s, t]],
      'one batch of keys': [[b, h, s, d], [1, h, t, d], [1, h, t, 6], [1]],
      'one query': [[1, 1, s, d], [b, h, t, d], [b, h, t, 6], [b, 1, 1, t]],
      'values alone': [[1, 1, s, d], [1, 1, t, d], [b, h, t, 6], [1, 1, 1, 1]],
      'a mask of more batches': [[1, h, s, d], [1, h, t, d], [1, h, t, 6], [b, 1, s, 1]],
      'a mask of more rows and keys': [[b, h, 1, d], [b, h, 1, d], [b, h, t, 6], [s, t]],
    };
    for (const [name, [q, k, v, m]] of Object.entries(shapes)) {
      test(name, () => fires(text, 1, {
        own: { ...apart, m: m.map((_, i) => `m${i}`) },
        feeds: { q: tensor(q, 1), k: tensor(k, 2), v: tensor(v, 3), m: tensor(m, 4) },
      }));
    }
  });

  describe('not', () => {
    const outputs = (name) => ({ outputs: { ...graph.outputs, [name]: ['b', 'h', 's', 't'] } });
    const others = {
      'over another axis': [attend(`MatMul(q, ${T}(k))`).replace('axis=-1', 'axis=2')],
      'when the weights are an output': [attend(`MatMul(q, ${T}(k))`), outputs('w')],
      'when the scores are an output': [attend(`Mul(MatMul(q, ${T}(k)), 0.3)`), outputs('s')],
      'when somebody reads the weights': [`${attend(`MatMul(q, ${T}(k))`)}\nz = Relu(w)`, outputs('z')],
      'when the scale comes after the addend': [attend(`Mul(Add(MatMul(q, ${T}(k)), m), 0.3)`), bias],
      'with two addends': [attend(`Add(Add(MatMul(q, ${T}(k)), m), m)`), bias],
      'when cleared by another choice': [attend(`Where(c, MatMul(q, ${T}(k)), -9)`, 'Where(Not(c), w, 0)'), choice],
      'when what is not chosen is no number': [attend(`Where(c, MatMul(q, ${T}(k)), m)`), { inputs: { ...bias.inputs, ...choice.inputs }, more: { ...bias.more, ...choice.more } }],
      'without a transposition': [attend('MatMul(q, k)'), { more: { k: tensor([BATCH, HEADS, SIZE, KEYS], 2) } }],
      'when the guard gives another number': [attend(`MatMul(q, ${T}(k))`, 'Where(IsNaN(w), 1, w)')],
    };
    for (const [name, [text, extra]] of Object.entries(others)) {
      test(name, () => fires(text, 0, extra));
    }
    test('over five axes', () => fires(attend('MatMul(q, Transpose<perm=[0,1,2,4,3]>(k))'), 0, {
      own: { q: ['a', 'b', 'h', 's', 'd'], k: ['a', 'b', 'h', 't', 'd'], v: ['a', 'b', 'h', 't', 'e'] }, outputs: { y: ['a', 'b', 'h', 's', 'e'] },
      feeds: { q: tensor([1, 2, 3, 5, 8], 1), k: tensor([1, 2, 3, 7, 8], 2), v: tensor([1, 2, 3, 7, 6], 3) },
    }));
    test('when the mask may have five axes', () => fires(attend(`Add(MatMul(q, ${T}(k)), Reshape(m, r))`), 0, {
      inputs: { m: ['b', 1, 's', 't'], r: { type: 'int64', dims: ['n'] } },
      more: { ...bias.more, r: new Tensor('int64', BigInt64Array.of(1n, 2n, 1n, 5n, 7n), [5]) }, outputs: { y: ['a', 'b', 'h', 's', 'e'] },
    }));
    test('in another type', () => fires(attend(`MatMul(q, ${T}(k))`), 0, {
      type: 'float64', feeds: Object.fromEntries(Object.entries(feeds).map(([name, { data, dims }]) => [name, new Tensor('float64', Float64Array.from(data), dims)])),
    }));
  });
});
