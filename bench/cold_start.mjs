// Cold start: the time from starting a fresh Node process to its first result, linnet and onnxruntime-web in turns, and
// an empty process for comparison. The model is mnist from the corpora, or the demo's digits.
//
//   node bench/cold_start.mjs [--rounds N] [--json FILE]

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { corporaDir } from '../tests/conformance/corpora.mjs';
import { newerNode } from '../tools/lib/paths.mjs';

const { values: args } = parseArgs({ options: { rounds: { type: 'string', default: '15' }, json: { type: 'string' } } });
const root = fileURLToPath(new URL('..', import.meta.url));
const mnist = corporaDir && join(corporaDir, 'models', 'mnist', 'model.onnx');
const model = mnist && existsSync(mnist) ? mnist : join(root, 'demo', 'digits.onnx');
const ortFolder = dirname(createRequire(import.meta.url).resolve('onnxruntime-web'));

const run = `
  const session = await InferenceSession.create(${JSON.stringify(model)}, options);
  await session.run({ [session.inputNames[0]]: new Tensor('float32', new Float32Array(784), [1, 1, 28, 28]) });
  process.exit(0);`;
const PROGRAMS = {
  empty: 'process.exit(0)',
  linnet: `import { InferenceSession, Tensor } from 'linnet'; const options = { threads: 1 };${run}`,
  'onnxruntime-web': `
    import { readFileSync } from 'node:fs';
    import { InferenceSession, Tensor, env } from 'onnxruntime-web';
    env.wasm.wasmBinary = readFileSync(${JSON.stringify(join(ortFolder, 'ort-wasm-simd-threaded.wasm'))});
    env.wasm.numThreads = 1;
    const options = { executionProviders: ['wasm'] };${run}`,
};

const times = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, []]));
for (let round = 0; round <= Number(args.rounds); round++) {
  for (const [name, program] of Object.entries(PROGRAMS)) {
    const start = performance.now();
    const { status, stderr } = spawnSync(newerNode(), ['--input-type=module', '-e', program], { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${name}: ${stderr}`);
    // The first round fills the file system's cache.
    if (round) times[name].push(performance.now() - start);
  }
}
const medians = Object.fromEntries(Object.entries(times).map(([name, list]) => [name, list.sort((a, b) => a - b)[list.length >> 1]]));
for (const [name, ms] of Object.entries(medians)) console.log(`${name.padEnd(18)} ${ms.toFixed(0).padStart(5)} ms, ${(ms - medians.empty).toFixed(0)} ms beyond an empty process`);
if (args.json) writeFileSync(args.json, `${JSON.stringify(medians)}\n`);
