// How near a result has to be. The rule is that of ONNX's own runner; what deviates is listed with its reason.

const RULE = { rtol: 1e-3, atol: 1e-7 };

/** Expected values come from a random generator: shape and type are checked, and the range where one is known. */
export const NONREPRODUCIBLE = new Set([
  'test_bernoulli', 'test_bernoulli_double', 'test_bernoulli_double_expanded', 'test_bernoulli_expanded', 'test_bernoulli_seed',
  'test_bernoulli_seed_expanded', 'test_training_dropout', 'test_training_dropout_default', 'test_training_dropout_default_mask',
  'test_training_dropout_mask',
]);

/** [suite, pattern of the case name, tolerance, reason] */
const OVERRIDES = [
  ['ort-ops', /./, { atol: 1e-4 }, 'expected values are written with few digits'],
  ['versions', /^v1\.1[578]\.0\/test_cast(like)?_FLOAT_to_BFLOAT16/, { rtol: 1 / 128 }, 'these releases cut the lower bits off instead of rounding'],
  ['*', /(^|\/)test_(dft|stft)/, { atol: 1e-4 }, 'sums of many terms that cancel to zero'],
  ['*', /(^|\/)test_attention_.*fp16|(^|\/)test_attention.*_fp16/, { atol: 1e-3 }, 'float16 results near zero'],
];

/** @param {string} suite @param {string} name */
export function toleranceOf(suite, name) {
  const result = { ...RULE, shapeOnly: NONREPRODUCIBLE.has(name.split('/').pop()) };
  for (const [where, pattern, tolerance] of OVERRIDES) if ((where === '*' || where === suite) && pattern.test(name)) Object.assign(result, tolerance);
  return result;
}
