// Every operator gets bad input, of every kind that its signature and its own table (bad_inputs/) have, and answers with
// an error that names code, node and operator and says what came and what was expected; what it says is in
// bad_inputs/expected.tsv, which `LINNET_UPDATE=1 node --test tests/js/bad_inputs.test.mjs` writes anew. No error
// leaves memory behind, and an operator without a bad case fails the test.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InferenceSession, LinnetError } from 'linnet';
import { platform } from '../../js/env/node.js';
import { Runtime } from '../../js/runtime.js';
import { FIXED_TYPES, HIDDEN_DOMAIN, readCatalogue, signatureTerms, splitSignature } from '../../tools/lib/catalogue.mjs';
import { blank, body, modelOf, real, reals } from '../support/bad_inputs.mjs';
import { single } from '../support/models.mjs';
import { TYPES } from '../support/onnx.mjs';
import { contrib, quantised } from './bad_inputs/contrib.mjs';
import { ELEMENTWISE, TREE, elementwise, learned } from './bad_inputs/elementwise.mjs';
import { layers } from './bad_inputs/nn.mjs';
import { shapes } from './bad_inputs/shapes.mjs';

const expectedFile = fileURLToPath(new URL('bad_inputs/expected.tsv', import.meta.url));
const isUpdate = Boolean(process.env.LINNET_UPDATE);
const table = { ...elementwise, ...shapes, ...layers, ...learned, ...quantised, ...contrib };
const { operators, opsets } = await readCatalogue(process.env.LINNET_WASM);

// All share one instance: one that an error harms fails the rest.
const runtime = await Runtime.acquire(platform, single);

const keyOf = ({ domain, name }) => (domain ? `${domain}:${name}` : name);
const splitKey = (key) => (key.includes(':') ? key.split(':') : ['', key]);

/** Resolves to { stage, error } of a model that must fail; a second run must leave no more memory than the first. */
async function fails({ model, feeds }) {
  let session;
  try {
    session = await InferenceSession.create(model, { runtime });
  } catch (error) {
    return { stage: 'load', error };
  }
  try {
    const first = await session.run(feeds).then(() => undefined, (error) => error);
    const before = held(session);
    const error = await session.run(feeds).then(() => undefined, (again) => again);
    assert.equal(held(session), before, 'the second failure left more memory behind than the first');
    assert.equal(error?.message, first?.message);
    return { stage: 'run', error };
  } finally {
    await session.release();
  }
}

/** All bytes that the session holds, by kind. */
const held = (session) => JSON.stringify(session.memory().live);

function checkError(error, key) {
  assert.ok(error, 'no error came');
  assert.ok(error instanceof LinnetError, error.stack);
  assert.match(error.code, /^(INVALID_(ATTRIBUTE|TYPE|SHAPE|VALUE|GRAPH)|UNSUPPORTED|LIMIT_EXCEEDED)$/, error.message);
  assert.equal(error.node, 'the node');
  assert.equal(error.op?.split('.').at(-1), splitKey(key)[1]);
  assert.ok(error.message.length > 10, error.message);
}

describe("each operator's own bad inputs", () => {
  const recorded = isUpdate ? new Map() : readExpected();
  const seen = new Map();
  for (const [key, cases] of Object.entries(table)) {
    test(key, async () => {
      const [domain, op] = splitKey(key);
      for (const [what, inputs, attributes, more] of cases) {
        const { stage, error } = await fails(modelOf({ op, domain, version: opsets[domain], inputs, attributes, ...more }));
        const name = `${key}\t${what}`;
        assert.ok(!seen.has(name), `two cases are named ${name}`);
        checkError(error, key);
        seen.set(name, `${stage}\t${error.code}\t${error.message}`);
        if (!isUpdate) assert.equal(seen.get(name), recorded.get(name), `${what}: another error than in expected.tsv; if the new one is right, write the file anew with LINNET_UPDATE=1`);
      }
    });
  }
  test('no expected error is left over', () => {
    if (isUpdate) {
      const lines = [...seen].map(([name, text]) => `${name}\t${text}\n`);
      writeFileSync(expectedFile, `operator\twhat is wrong\twhen\tcode\tmessage\n${lines.join('')}`);
    }
    assert.deepEqual([...recorded.keys()].filter((name) => !seen.has(name)), []);
  });
});

function readExpected() {
  const lines = readFileSync(expectedFile, 'utf8').trimEnd().split('\n').slice(1);
  return new Map(lines.map((line) => [line.split('\t').slice(0, 2).join('\t'), line.split('\t').slice(2).join('\t')]));
}

test('every operator of the build has bad inputs of its own', () => {
  const build = new Set(operators.filter(({ domain }) => domain !== HIDDEN_DOMAIN).map(keyOf));
  const covered = new Set([...Object.keys(table), ...ELEMENTWISE]);
  assert.deepEqual([...build].filter((key) => !covered.has(key)), [], 'operators without a bad input: add them to a table of tests/js/bad_inputs');
  assert.deepEqual([...covered].filter((key) => !build.has(key)), [], 'bad inputs of no operator');
});

// ---- What a signature forbids

/** Attributes with which an operator gets as far as its inputs: those of a case that fails later than at load. */
function attributesOf(key, { since }) {
  const recorded = readExpected();
  const late = (table[key] ?? []).find(([what]) => recorded.get(`${key}\t${what}`)?.startsWith('run'));
  return { ...late?.[2], ...MORE_ATTRIBUTES[key]?.(since) };
}

/** What the cases of the newest version do not have: attributes of older versions, and of operators that fail at load only. */
const branch = body([], ['c']);
const MORE_ATTRIBUTES = {
  Cast: (since) => ({ to: since < 6 ? 'FLOAT' : 1 }),
  Einsum: () => ({ equation: '->' }),
  If: () => ({ then_branch: branch, else_branch: branch }),
  Loop: () => ({ body: body(['i', 'go', 'x'], ['c', 'd']) }),
  Pad: (since) => (since < 2 ? { paddings: [0, 0] } : since < 11 ? { pads: [0, 0] } : {}),
  RandomUniform: () => ({ shape: [1] }),
  RegexFullMatch: () => ({ pattern: 'a' }),
  SequenceMap: () => ({ body: body([], ['c']) }),
  Slice: (since) => (since < 10 ? { starts: [0], ends: [1] } : {}),
  TopK: (since) => (since < 10 ? { k: 1 } : {}),
  Unsqueeze: (since) => (since < 13 ? { axes: [0] } : {}),
  Upsample: (since) => (since < 7 ? { height_scale: real(1), width_scale: real(1) } : since < 9 ? { scales: reals(1) } : {}),
  'ai.onnx.ml:CategoryMapper': () => ({ cats_int64s: [1], cats_strings: ['a'] }),
  'ai.onnx.ml:LabelEncoder': (since) => (since < 2 ? { classes_strings: ['a'] } : { keys_strings: ['a'], values_int64s: [1] }),
  'ai.onnx.ml:TreeEnsemble': () => ({ ...TREE, n_targets: 1 }),
  'ai.onnx.ml:TreeEnsembleClassifier': () => ({ classlabels_int64s: [0] }),
  'ai.onnx.preview.training:Gradient': () => ({ xs: ['x0'], y: 'x0' }),
  'com.microsoft:LinearAttention': () => ({ q_num_heads: 1, kv_num_heads: 1 }),
  'com.microsoft:NGramRepeatBlock': () => ({ ngram_size: 1 }),
};

const parse = (term) => ({ kind: /^[[<{.]/.test(term) ? term[0] : '', letter: term.replace(/[[\]<>{}?*+]/g, ''), quantity: /[?*+]$/.test(term) ? term.at(-1) : '' });
const VARIABLES = ['A', 'B', 'C'];

/** Yields [what, expected code, words of the message, spec] of what a row's signature forbids. */
function* forbidden(row) {
  const [ins, outs] = splitSignature(row.signature).map((side) => signatureTerms(side).map(parse));
  const typesOf = ({ letter }) => (VARIABLES.includes(letter) ? row.types[VARIABLES.indexOf(letter)] : [FIXED_TYPES[letter]]);
  const inputOf = (term, type) => {
    const tensor = type === 'none' ? null : blank(type ?? typesOf(term)[0] ?? 'float32', 1);
    if (term.kind === '[' || term.kind === '<') return { value: [tensor], info: { kind: term.kind === '[' ? 'sequence' : 'optional', element: { type: tensor.type } } };
    return term.kind === '{' ? { value: new Map(), info: { kind: 'map', key: 'int64', element: { type: 'float32', dims: [] } } } : tensor;
  };
  const good = ins.map((term) => inputOf(term));
  const isOpen = (terms) => /[*+]/.test(terms.at(-1)?.quantity ?? '');
  const spec = (inputs, outputs = 1) => ({ inputs, outputs });

  if (!isOpen(ins)) yield ['an input too many', 'INVALID_GRAPH', /has \d+ inputs, the operator takes at most \d+/, spec([...good, blank('float32', 1)])];
  if (!isOpen(outs)) yield ['an output too many', 'INVALID_GRAPH', /has \d+ outputs, the operator gives at most \d+/, spec(good, outs.length + 1)];
  const needed = ins.findLastIndex(({ quantity }) => quantity === '' || quantity === '+');
  if (needed >= 0) yield ['an input too few', 'INVALID_GRAPH', /required input \d+ is missing|is no value of the graph/, spec(good.slice(0, needed))];
  for (const [at, term] of ins.entries()) {
    if (term.kind) continue;
    const other = TYPES.find((type) => type && !typesOf(term).includes(type));
    if (other) yield [`input ${at} of a wrong type`, 'INVALID_TYPE', new RegExp(`input ${at} has type ${other}, expected `), spec(good.with(at, inputOf(term, other)))];
    const first = ins.findIndex(({ letter }) => letter === term.letter);
    if (first < at && VARIABLES.includes(term.letter) && !ins[first].quantity && typesOf(term).length > 1) {
      yield [`input ${at} of another type than input ${first}`, 'INVALID_TYPE', /has type \w+, but an input of the same type before it has \w+/, spec(good.with(at, inputOf(term, typesOf(term)[1])))];
    }
  }
}

describe('what a signature forbids fails at load', () => {
  // A Constant is a value before anybody reads its signature.
  const names = new Set(operators.map(keyOf).filter((key) => key !== 'Constant'));
  for (const key of names) {
    test(key, async () => {
      let count = 0;
      for (const row of operators.filter((each) => keyOf(each) === key)) {
        for (const [what, code, words, { inputs, outputs }] of forbidden(row)) {
          const { stage, error } = await fails(modelOf({ op: row.name, domain: row.domain, version: row.since, inputs, outputs, attributes: attributesOf(key, row) }));
          const where = `version ${row.since}, ${row.signature}: ${what}`;
          checkError(error, key);
          assert.equal(stage, 'load', where);
          assert.equal(error.code, code, `${where}: ${error.message}`);
          assert.match(error.message, words, where);
          count++;
        }
      }
      assert.ok(count > 0, 'nothing is forbidden');
    });
  }
});
