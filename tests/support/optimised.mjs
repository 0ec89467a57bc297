// A small graph run as written and optimised, for tests of rewrites.

import assert from 'node:assert/strict';
import { expressionModel } from './expression.mjs';
import { create } from './models.mjs';
import { numbersOf } from './numbers.mjs';

/** Runs a model as written and optimised, compares the outputs, and answers what the rewrites left. */
export async function compare(text, { feeds, tolerance = 2e-6, ...graph }) {
  const model = expressionModel(text, graph);
  const results = [];
  let inspected;
  for (const optimize of [0, 2]) {
    const session = await create(model, { optimize });
    results.push(await session.run(feeds));
    inspected = await session.inspect();
    await session.release();
  }
  const [plain, optimised] = results;
  for (const name of Object.keys(plain)) {
    assert.deepEqual(optimised[name].dims, plain[name].dims, name);
    const expected = numbersOf(plain[name]);
    numbersOf(optimised[name]).forEach((value, i) => {
      const bound = tolerance * Math.max(1, Math.abs(Number(expected[i])));
      assert.ok(Object.is(value, expected[i]) || Math.abs(Number(value) - Number(expected[i])) <= bound, `${name}[${i}] is ${value}, unoptimised ${expected[i]}`);
    });
  }
  const operators = Object.fromEntries(inspected.operators.map((each) => [each.op ?? each.name, each.count]));
  const fired = Object.fromEntries(inspected.rewrites.map((each) => [each.name, each.fired]));
  return { operators, fired };
}
