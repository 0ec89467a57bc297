// The end of `npm start`: recognises a few handwritten digits and draws what it looked at, so that a person sees at a
// glance whether the answers are right.
//
//   node tools/start.mjs [--count N]

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { InferenceSession, Tensor } from 'linnet';
import { ARTIFACTS } from '../js/artifacts.js';
import { distDir, root } from './lib/paths.mjs';

const { values: args } = parseArgs({ options: { count: { type: 'string', default: '3' }, quiet: { type: 'boolean' } } });
const INK = [' ', '░', '▒', '▓', '█'];

const model = join(root, 'demo', 'digits.onnx');
const { shape, range, samples } = JSON.parse(readFileSync(join(root, 'demo', 'digits-samples.json'), 'utf8'));
const [, height, width] = shape;

const loadStart = performance.now();
const session = await InferenceSession.create(model);
const loadMs = performance.now() - loadStart;

const chosen = pick(samples, Number(args.count));
const pictures = [];
let right = 0;
let firstMs = 0;
for (const { label, pixels } of chosen) {
  const image = new Tensor(Float32Array.from(pixels, (value) => value / range), [1, ...shape]);
  const start = performance.now();
  const { probabilities } = await session.run({ image });
  firstMs ||= performance.now() - start;
  const guess = probabilities.data.indexOf(Math.max(...probabilities.data));
  right += Number(guess === label);
  pictures.push([...draw(pixels), '', `this is a ${guess} (${(100 * probabilities.data[guess]).toFixed(1)} %)`, `written as a ${label}`]);
}

console.log();
for (let row = 0; row < pictures[0].length; row++) console.log(`  ${pictures.map((picture) => picture[row].padEnd(width + 2)).join('  ')}`.trimEnd());
const { artifact, threads } = session.info;
const { wasmBytes } = session.memory();
const wasm = join(distDir, ARTIFACTS[artifact]);
console.log(`
  ${right} of ${chosen.length} right. Loaded in ${loadMs.toFixed(0)} ms, first answer after ${firstMs.toFixed(1)} ms, ${steadyMs().toFixed(2)} ms each from then on.
  ${(statSync(model).size / 1000).toFixed(0)} kB model, ${existsSync(wasm) ? `${(statSync(wasm).size / 1000).toFixed(0)} kB wasm (${artifact})` : artifact}, ${threads} thread${threads > 1 ? 's' : ''}, ${(wasmBytes / 1e6).toFixed(1)} MB of memory.

  Try next:
    npm run demo                              draw a digit in a page
    npx linnet inspect demo/digits.onnx       what is in a model
    npx linnet bench demo/digits.onnx         how fast it is, operator by operator
    npm test                                  everything that is checked
`);
await session.release();
if (right < chosen.length) process.exitCode = 1;

/** One sample per label, spread over the labels. */
function pick(all, count) {
  const byLabel = new Map();
  for (const sample of all) if (!byLabel.has(sample.label)) byLabel.set(sample.label, sample);
  const labels = [...byLabel.keys()].sort();
  return Array.from({ length: Math.min(count, labels.length) }, (_, i) => byLabel.get(labels[Math.floor(((i + 0.5) * labels.length) / count)]));
}

/** Two rows of pixels to a line of text, because characters are twice as high as wide. */
function draw(pixels) {
  const at = (y, x) => (y < height ? pixels[y * width + x] : 0);
  return Array.from({ length: Math.ceil(height / 2) }, (_, row) =>
    Array.from({ length: width }, (__, x) => INK[Math.round(((at(2 * row, x) + at(2 * row + 1, x)) / (2 * range)) * (INK.length - 1))]).join(''));
}

/** The median time of an answer once everything is warm. */
function steadyMs() {
  const image = new Tensor(Float32Array.from(chosen[0].pixels, (value) => value / range), [1, ...shape]);
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    session.runSync({ image });
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[100];
}
