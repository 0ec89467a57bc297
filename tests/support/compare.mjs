// Compares a result with what was expected, by the rules of ONNX's own runner: exact kinds, types, shapes and strings;
// |actual - expected| <= atol + rtol * |expected| for numbers; NaN equals NaN, infinities match.

import { Tensor } from 'linnet';
import { numbersOf } from './numbers.mjs';

const kindOf = (value) =>
  value === undefined || value === null ? 'nothing' : value instanceof Tensor ? 'tensor' : Array.isArray(value) ? 'sequence' : value instanceof Map ? 'map' : typeof value;

/**
 * Resolves to { reason, error }: the reason is undefined when the values agree, the error is the largest absolute
 * difference that was met.
 */
export function compare(actual, expected, tolerance, place = 'output') {
  const kind = kindOf(expected);
  if (kindOf(actual) !== kind) return { reason: `${place}: expected ${kind}, got ${kindOf(actual)}`, error: Infinity };
  switch (kind) {
    case 'nothing':
      return { error: 0 };
    case 'tensor':
      return compareTensors(actual, expected, tolerance, place);
    case 'sequence':
      if (actual.length !== expected.length) return { reason: `${place}: expected ${expected.length} items, got ${actual.length}`, error: Infinity };
      return worst(expected.map((item, i) => compare(actual[i], item, tolerance, `${place}[${i}]`)));
    case 'map':
      if (String([...actual.keys()].sort()) !== String([...expected.keys()].sort())) return { reason: `${place}: other keys`, error: Infinity };
      return worst([...expected].map(([key, item]) => compare(actual.get(key), item, tolerance, `${place}[${key}]`)));
    default:
      return compareNumbers([actual], [expected], tolerance, place);
  }
}

const worst = (results) => ({ reason: results.find(({ reason }) => reason)?.reason, error: Math.max(0, ...results.map(({ error }) => error)) });

function compareTensors(actual, expected, tolerance, place) {
  if (actual.type !== expected.type) return { reason: `${place}: expected ${expected.type}, got ${actual.type}`, error: Infinity };
  if (String(actual.dims) !== String(expected.dims)) return { reason: `${place}: expected dims [${expected.dims}], got [${actual.dims}]`, error: Infinity };
  return compareNumbers(numbersOf(actual), numbersOf(expected), tolerance, place);
}

/** Random values: within the range of the expected ones, and as far again beyond its ends. */
function compareRange(actual, expected, place) {
  const wanted = Array.from(expected, Number);
  const [low, high] = [Math.min(0, ...wanted), Math.max(0, ...wanted)];
  const at = Array.from(actual, Number).findIndex((value) => !(value >= 2 * low - high && value <= 2 * high - low));
  return at < 0 ? { error: 0 } : { reason: `${place}: [${at}] is ${actual[at]}, out of the range of ${low} to ${high}`, error: Infinity };
}

function compareNumbers(actual, expected, { rtol, atol, shapeOnly }, place) {
  if (shapeOnly) return compareRange(actual, expected, place);
  let error = 0;
  let bad = 0;
  let first;
  for (let i = 0; i < expected.length; i++) {
    const a = actual[i];
    const b = expected[i];
    if (a === b || (a !== a && b !== b)) continue; // eslint-disable-line no-self-compare
    const isNumber = typeof b !== 'string';
    const difference = isNumber ? Math.abs(Number(a) - Number(b)) : Infinity;
    if (!(difference <= error)) error = Number.isNaN(difference) ? Infinity : difference;
    if (difference <= atol + rtol * Math.abs(Number(b)) && Number.isFinite(Number(b))) continue;
    bad++;
    first ??= `[${i}] is ${a}, expected ${b}`;
  }
  const reason = bad ? `${place}: ${bad} of ${expected.length} differ: ${first}` : undefined;
  return { reason, error };
}
