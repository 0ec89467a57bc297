// Small graphs written as text, for tests of rewrites: one statement a line, `name = Op<attribute=1>(argument, ...)`. Arguments are
// names, statements' operators nested, or numbers (float32 scalars); `[1, -1]` is a constant list of int64.

import { buildModel } from './onnx.mjs';

const TOKEN = /\s*([A-Za-z_][\w.]*|-?\d[\d.e+-]*|\[[^\]]*\]|[=(),<>])/y;

/** Numbers in [-1, 1) that are the same in every run. */
export function* noise(seed = 1) {
  for (let state = seed * 2654435761;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 31 - 1;
  }
}
export function filled(dims, seed) {
  const numbers = noise(seed);
  return Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => numbers.next().value);
}

function attributeOf(name, text) {
  if (text.startsWith('[')) return { name, type: 'ints', data: JSON.parse(text) };
  if (/^-?\d+$/.test(text)) return { name, type: 'int', data: Number(text) };
  return Number.isNaN(Number(text)) ? { name, type: 'string', data: text } : { name, type: 'float', data: Number(text) };
}

class Parser {
  nodes = [];
  values = 0;
  initializers = [];

  constructor(domains) {
    this.domains = domains;
  }

  next(peek = false) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(this.text)?.[1];
    if (peek) TOKEN.lastIndex = at;
    return token;
  }

  constant(type, dims, data) {
    const name = `constant${this.initializers.length}`;
    this.initializers.push({ name, type, dims, data });
    return name;
  }

  argument() {
    const token = this.next();
    if (token.startsWith('[')) {
      const list = JSON.parse(token);
      return this.constant('int64', [list.length], BigInt64Array.from(list, BigInt));
    }
    if (!Number.isNaN(Number(token))) return this.constant('float32', [], Float32Array.of(Number(token)));
    const next = this.next(true);
    if (next !== '(' && next !== '<') return token === '_' ? '' : token;
    const output = `value${this.values++}`;
    this.operator(token, [output]);
    return output;
  }

  operator(op, outputs) {
    const attributes = [];
    if (this.next(true) === '<') {
      do {
        this.next();
        const name = this.next();
        this.next();
        attributes.push(attributeOf(name, this.next()));
      } while (this.next(true) === ',');
      this.next();
    }
    const inputs = [];
    do {
      this.next();
      inputs.push(this.argument());
    } while (this.next(true) === ',');
    this.next();
    this.nodes.push({ op, domain: this.domains[op] ?? '', inputs, outputs, attributes });
  }

  statement(text) {
    this.text = text;
    TOKEN.lastIndex = 0;
    const outputs = [];
    for (let token = this.next(); token !== '='; token = this.next()) if (token !== ',') outputs.push(token);
    this.operator(this.next(), outputs);
  }
}

/**
 * The bytes of a model. `inputs` and `outputs` are dims by name, `constants` float32 dims by name (filled with noise), or
 * tensors. `domains` names the domain of operators outside the default one.
 */
export function expressionModel(text, { inputs, outputs, constants = {}, opset = 17, type = 'float32', domains = {} }) {
  const parser = new Parser(domains);
  for (const line of text.split('\n').filter((each) => each.trim())) parser.statement(line);
  const declare = (values) => Object.entries(values).map(([name, dims]) => (Array.isArray(dims) ? { name, type, dims } : { name, type, ...dims }));
  const given = Object.entries(constants).map(([name, dims], i) => (Array.isArray(dims) ? { name, type: 'float32', dims, data: filled(dims, i + 7) } : { name, ...dims }));
  return buildModel({
    opsets: { '': opset, 'com.microsoft': 1 },
    inputs: declare(inputs),
    outputs: declare(outputs),
    nodes: parser.nodes,
    initializers: [...parser.initializers, ...given],
  });
}
