// Runs cases that the main thread names, one at a time: a case that hangs or takes the process down ends this worker.

import { parentPort, workerData } from 'node:worker_threads';
import { InferenceSession } from 'linnet';
import { compare } from '../support/compare.mjs';
import { loadCase } from './cases.mjs';
import { toleranceOf } from './tolerances.mjs';

const { roots, options } = workerData;

/** Resolves to { status: 'passed' | 'failed' | 'skipped', reason? }. */
async function runCase(suite, name) {
  let session;
  try {
    const { model, sets, skip } = loadCase(roots, suite, name);
    if (skip) return { status: 'skipped', reason: skip };
    session = await InferenceSession.create(model, options);
    for (const { feeds, expected } of sets) {
      const results = await session.run(feeds);
      for (const [output, value] of expected) {
        const { reason } = compare(results[output], value, toleranceOf(suite, name), output);
        if (reason) return { status: 'failed', reason: `wrong result: ${reason}` };
      }
    }
    return { status: 'passed' };
  } catch (error) {
    return { status: 'failed', reason: error.code ? `${error.code}: ${error.message}` : error.stack };
  } finally {
    await session?.release().catch(() => {});
  }
}

parentPort.on('message', async ({ suite, name }) => {
  const start = performance.now();
  const result = await runCase(suite, name);
  parentPort.postMessage({ ...result, ms: performance.now() - start });
});
