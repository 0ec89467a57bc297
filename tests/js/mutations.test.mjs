// A case of every operator with one thing made wrong at a time (support/mutate.mjs): whatever it is, it is computed or
// refused by an error that names the node. One instance serves all, so that a trap shows.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InferenceSession, LinnetError } from 'linnet';
import { platform } from '../../js/env/node.js';
import { Runtime } from '../../js/runtime.js';
import { loadFolder } from '../conformance/cases.mjs';
import { single } from '../support/models.mjs';
import { mutations, operatorOf } from '../support/mutate.mjs';

const dir = fileURLToPath(new URL('../data/cases', import.meta.url));
const EXPECTED = /^(INVALID_(ATTRIBUTE|TYPE|SHAPE|VALUE|GRAPH)|UNSUPPORTED|LIMIT_EXCEEDED|OUT_OF_MEMORY)$/;
/** A loop of 2^62 turns is no error: it is stopped. */
const PATIENCE_MS = 300;

/** The first case of each operator that has one of a single node. */
const cases = new Map();
for (const name of readdirSync(dir).sort()) {
  const file = join(dir, name, 'model.onnx');
  const operator = existsSync(file) && operatorOf(readFileSync(file));
  if (operator && !cases.has(operator)) cases.set(operator, join(dir, name));
}
const runtime = await Runtime.acquire(platform, single);

/** What a model does: undefined, or the error. */
async function outcome(model, feeds) {
  let session;
  try {
    session = await InferenceSession.create(model, { runtime });
    await session.run(feeds, { signal: AbortSignal.timeout(PATIENCE_MS) });
    return undefined;
  } catch (error) {
    return error;
  } finally {
    await session?.release();
  }
}

describe('one thing wrong', () => {
  for (const [operator, folder] of cases) {
    test(operator, async () => {
      const { model, sets } = loadFolder(folder);
      for (const { what, model: changed, feeds } of mutations(model, sets[0]?.feeds ?? {})) {
        const error = await outcome(changed, feeds);
        if (!error || error.code === 'ABORTED') continue;
        assert.ok(error instanceof LinnetError, `${what}: ${error.stack}`);
        assert.match(error.code, EXPECTED, `${what}: ${error.code} ${error.message}`);
        assert.ok(error.op, `${what}: ${error.code} ${error.message}`);
      }
    });
  }
});
