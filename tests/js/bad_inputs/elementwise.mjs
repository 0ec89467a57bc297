// Bad inputs of operators that work element by element or along an axis: many share one kind of badness, so the tables
// are made from lists of names.

import { bools, bytes, f, floats, ints, map, one, reals, u, words } from '../../support/bad_inputs.mjs';

const each = (names, cases) => Object.fromEntries(names.map((name) => [name, cases]));

/** Nothing but types and the number of inputs can be wrong with these: the generated cases are theirs. */
export const ELEMENTWISE = [
  'Abs', 'Acos', 'Acosh', 'Affine', 'Asin', 'Asinh', 'Atan', 'Atanh', 'BitwiseNot', 'Ceil', 'Celu', 'Cos', 'Cosh', 'DynamicQuantizeLinear', 'Elu', 'Erf',
  'Exp', 'Floor', 'HardSigmoid', 'HardSwish', 'IsInf', 'IsNaN', 'LeakyRelu', 'Log', 'Mish', 'Neg', 'Not', 'ParametricSoftplus', 'Reciprocal',
  'Relu', 'Round', 'ScaledTanh', 'Selu', 'Shrink', 'Sigmoid', 'Sign', 'Sin', 'Sinh', 'Softplus', 'Softsign', 'Sqrt', 'Swish', 'Tan', 'Tanh',
  'StringSplit', 'ThresholdedRelu', 'com.microsoft:FastGelu', 'com.microsoft:Gelu', 'com.microsoft:QuickGelu', 'ai.onnx.ml:Binarizer',
];

const pair = ['shapes that do not broadcast', [f(2, 3), f(2, 4)]];
const oldPairs = [
  ['shapes that differ, before version 7', [f(2, 3), f(3)], {}, { version: 6 }],
  ['an axis out of range, before version 7', [f(2, 3), f(3)], { broadcast: 1, axis: 2 }, { version: 6 }],
];
const numbers = (more = []) => [pair, ...more];
const bits = [['shapes that do not broadcast', [u(2, 3), u(2, 4)]]];
const logical = [['shapes that do not broadcast', [bools([1, 0]), bools([1, 0, 1])]]];
const axis = (input = f(2, 3)) => ['an axis out of range', [input], { axis: 2 }];
const reduction = [
  ['an axis out of range', [f(2, 3), ints([2])]],
  ['axes with two axes', [f(2, 3), ints([0, 1], [1, 2])]],
  ['an axis out of range, before version 18', [f(2, 3)], { axes: [-3] }, { version: 11 }],
];

/** @type {import('../../support/bad_inputs.mjs').Table} */
export const elementwise = {
  ...each(['Add', 'Sub', 'Mul'], numbers(oldPairs)),
  Div: numbers([...oldPairs, ['an integer divided by zero', [ints([1, 2]), ints([1, 0])]]]),
  Mod: numbers([
    ['an integer divided by zero', [ints([1, 2]), ints([1, 0])]],
  ]),
  ...each(['Max', 'Min', 'Sum', 'Mean'], numbers([['shapes that differ, before version 8', [f(2, 3), f(3)], {}, { version: 6 }]])),
  ...each(['Equal', 'Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual'], numbers()),
  Pow: numbers(),
  PRelu: [['a slope that does not fit', [f(2, 3), f(2)]]],
  ...each(['And', 'Or', 'Xor'], logical),
  ...each(['BitwiseAnd', 'BitwiseOr', 'BitwiseXor'], bits),
  BitShift: [
    ...bits.map(([what, inputs]) => [what, inputs, { direction: 'LEFT' }]),
    ['no direction', [u(2), u(2)]],
    ['an unknown direction', [u(2), u(2)], { direction: 'UP' }],
  ],
  Clip: [
    ['two minimums', [f(3), floats([0, 1])]],
    ['two maximums', [f(3), null, floats([0, 1])]],
  ],
  Gelu: [['an unknown approximation', [f(2)], { approximate: 'erf' }]],
  ...each(['Softmax', 'LogSoftmax', 'Hardmax'], [axis()]),
  ...each(['ArgMax', 'ArgMin'], [
    axis(),
    ['nothing to choose from', [f(2, 0)], { axis: 1 }],
  ]),
  ...each(['CumSum', 'CumProd'], [
    ['an axis out of range', [f(2, 3), ints([2], [])]],
    ['two axes', [f(2, 3), ints([0, 1])]],
  ]),
  ...each(['ReduceL1', 'ReduceL2', 'ReduceLogSum', 'ReduceLogSumExp', 'ReduceMax', 'ReduceMean', 'ReduceMin', 'ReduceProd', 'ReduceSumSquare'], reduction),
  ReduceSum: reduction,
  TopK: [
    ['a negative k', [f(3), ints([-1])]],
    ['a k beyond the end', [f(3), ints([4])]],
    ['two numbers for k', [f(3), ints([1, 2])]],
    ['an axis out of range', [f(3), ints([1])], { axis: 1 }],
    ['a scalar', [one(1), ints([1])]],
  ].map(([what, inputs, attributes = {}]) => [what, inputs, attributes, { outputs: 2 }]),
  'com.microsoft:BiasAdd': [
    ['a bias of another length', [f(1, 2, 4), f(3), f(1, 2, 4)]],
    ['a skip of another shape', [f(1, 2, 4), f(4), f(1, 3, 4)]],
  ],
  'com.microsoft:BiasGelu': [['a bias of another length', [f(2, 4), f(3)]]],
  'com.microsoft:BiasSplitGelu': [
    ['a width that does not halve', [f(1, 2, 5), f(5)]],
    ['a bias of another length', [f(1, 2, 4), f(3)]],
  ],
};

/** A tree of one node and one leaf, in the newest form. */
export const TREE = {
  n_targets: 1, tree_roots: [0], nodes_featureids: [0], nodes_splits: floats([0.5]), nodes_modes: bytes([0]), nodes_truenodeids: [0], nodes_falsenodeids: [0],
  nodes_trueleafs: [1], nodes_falseleafs: [1], leaf_targetids: [0], leaf_weights: floats([1]),
};
const classes = { classlabels_ints: [0, 1] };
const linear = { coefficients: { type: 'floats', data: [1, 2, 3, 4] }, intercepts: { type: 'floats', data: [0, 0] } };
const tree = {
  nodes_treeids: [0, 0, 0], nodes_nodeids: [0, 1, 2], nodes_featureids: [0, 0, 0], nodes_values: { type: 'floats', data: [0.5, 0, 0] },
  nodes_modes: ['BRANCH_LEQ', 'LEAF', 'LEAF'], nodes_truenodeids: [1, 0, 0], nodes_falsenodeids: [2, 0, 0],
};
const leaves = (kind) => ({ [`${kind}_treeids`]: [0, 0], [`${kind}_nodeids`]: [1, 2], [`${kind}_ids`]: [0, 0], [`${kind}_weights`]: { type: 'floats', data: [1, 2] } });
const trees = (more, kind) => [
  ['no nodes', [f(1, 2)], { ...more, ...leaves(kind) }],
  ['modes of other nodes', [f(1, 2)], { ...more, ...tree, nodes_modes: ['LEAF'], ...leaves(kind) }],
  ['an unknown mode', [f(1, 2)], { ...more, ...tree, nodes_modes: ['BRANCH_XOR', 'LEAF', 'LEAF'], ...leaves(kind) }],
  ['a child that does not exist', [f(1, 2)], { ...more, ...tree, nodes_truenodeids: [7, 0, 0], ...leaves(kind) }],
  ['a node that is its own child', [f(1, 2)], { ...more, ...tree, nodes_truenodeids: [0, 0, 0], ...leaves(kind) }],
  ['a negative feature', [f(1, 2)], { ...more, ...tree, nodes_featureids: [-1, 0, 0], ...leaves(kind) }],
  ['a feature that the input lacks', [f(1, 2)], { ...more, ...tree, nodes_featureids: [2, 0, 0], ...leaves(kind) }],
  ['a weight of no node', [f(1, 2)], { ...more, ...tree, ...leaves(kind), [`${kind}_nodeids`]: [1, 9] }],
  ['a weight of no target', [f(1, 2)], { ...more, ...tree, ...leaves(kind), [`${kind}_ids`]: [0, 9] }],
  ['three axes', [f(1, 1, 2)], { ...more, ...tree, ...leaves(kind) }],
];
const svm = { vectors_per_class: [1, 1], support_vectors: { type: 'floats', data: [1, 2, 3, 4] }, coefficients: { type: 'floats', data: [1, -1] }, rho: { type: 'floats', data: [0] }, kernel_params: { type: 'floats', data: [1, 0, 3] } };

/** @type {import('../../support/bad_inputs.mjs').Table} */
export const learned = {
  'ai.onnx.ml:ArrayFeatureExtractor': [
    ['an index beyond the end', [f(2, 3), ints([3])]],
    ['no index', [f(2, 3), ints([])]],
    ['a scalar', [one(1), ints([0])]],
  ],
  'ai.onnx.ml:CategoryMapper': [
    ['no words', [ints([1])], { cats_int64s: [1] }],
    ['more words than numbers', [words(['a'])], { cats_int64s: [1], cats_strings: ['a', 'b'] }],
  ],
  'ai.onnx.ml:LabelEncoder': [
    ['no keys', [words(['a'])], { values_int64s: [1] }],
    ['no values', [words(['a'])], { keys_strings: ['a'] }],
    ['more keys than values', [words(['a'])], { keys_strings: ['a', 'b'], values_int64s: [1] }],
    ['keys of another type', [ints([1])], { keys_strings: ['a'], values_int64s: [1] }],
  ],
  'ai.onnx.ml:FeatureVectorizer': [
    ['other rows', [f(2, 3), f(1, 3)], { inputdimensions: [3, 3] }],
    ['a negative width', [f(2, 3)], { inputdimensions: [-1] }],
  ],
  'ai.onnx.ml:Imputer': [
    ['no values', [f(2, 3)]],
    ['values of other features', [f(2, 3)], { imputed_value_floats: reals(1, 2) }],
  ],
  'ai.onnx.ml:LinearClassifier': [
    ['no labels', [f(1, 2)], linear],
    ['coefficients that do not divide', [f(1, 2)], { ...linear, ...classes, coefficients: reals(1, 2, 3) }],
    ['other features', [f(1, 3)], { ...linear, ...classes }],
    ['an unknown transform', [f(1, 2)], { ...linear, ...classes, post_transform: 'SIGMOID' }],
  ].map(two),
  'ai.onnx.ml:LinearRegressor': [
    ['other features', [f(1, 3)], { ...linear, targets: 2 }],
    ['other intercepts', [f(1, 2)], { ...linear, targets: 2, intercepts: reals(1) }],
  ],
  'ai.onnx.ml:Normalizer': [
    ['an unknown norm', [f(1, 2)], { norm: 'L3' }],
    ['three axes', [f(1, 1, 2)], { norm: 'L1' }],
  ],
  'ai.onnx.ml:OneHotEncoder': [
    ['no categories', [ints([1])]],
    ['a category that is unknown', [ints([5])], { cats_int64s: [1, 2], zeros: 0 }],
    ['categories of another type', [words(['a'])], { cats_int64s: [1] }],
  ],
  'ai.onnx.ml:Scaler': [
    ['no scale', [f(1, 2)], { offset: reals(0) }],
    ['scales of other features', [f(1, 2)], { offset: reals(0), scale: reals(1, 1, 1) }],
  ],
  'ai.onnx.ml:SVMClassifier': [
    ['no labels', [f(1, 2)], svm],
    ['an unknown kernel', [f(1, 2)], { ...svm, ...classes, kernel_type: 'COSINE' }],
    ['vectors of other classes', [f(1, 2)], { ...svm, ...classes, vectors_per_class: [1, 2] }],
    ['other features', [f(1, 3)], { ...svm, ...classes }],
    ['a negative number of vectors', [f(1, 2)], { ...svm, ...classes, vectors_per_class: [-1, 3] }],
  ].map(two),
  'ai.onnx.ml:SVMRegressor': [
    ['other features', [f(1, 3)], { n_supports: 2, support_vectors: reals(1, 2, 3, 4), coefficients: reals(1, -1), rho: reals(0), kernel_params: reals(1, 0, 3) }],
    ['other coefficients', [f(1, 2)], { n_supports: 2, support_vectors: reals(1, 2, 3, 4), coefficients: reals(1), rho: reals(0) }],
  ],
  'ai.onnx.ml:TreeEnsembleClassifier': trees({ classlabels_int64s: [0, 1] }, 'class').map(two),
  'ai.onnx.ml:TreeEnsembleRegressor': [...trees({ n_targets: 1 }, 'target'), ['no targets', [f(1, 2)], { n_targets: 0, ...tree, ...leaves('target') }]],
  'ai.onnx.ml:TreeEnsemble': [
    ['no roots', [f(1, 2)], { ...TREE, tree_roots: [] }],
    ['a leaf that does not exist', [f(1, 2)], { ...TREE, nodes_falsenodeids: [3] }],
    ['an unknown mode', [f(1, 2)], { ...TREE, nodes_modes: bytes([9]) }],
    ['a feature that the input lacks', [f(1, 2)], { ...TREE, nodes_featureids: [2] }],
  ],
  'ai.onnx.ml:ZipMap': [
    ['no labels', [f(1, 2)]],
    ['labels of other columns', [f(1, 2)], { classlabels_int64s: [1] }],
  ],
  'ai.onnx.ml:CastMap': [
    ['an unknown type', [map([[0, 1]], 'int64')], { cast_to: 'TO_INT8' }],
    ['a key before the start', [map([[-1, 1]], 'int64')], { cast_to: 'TO_FLOAT', map_form: 'SPARSE', max_map: 2 }],
  ],
  'ai.onnx.ml:DictVectorizer': [
    ['no vocabulary', [map([['a', 1]])]],
    ['a vocabulary of another type', [map([['a', 1]])], { int64_vocabulary: [1] }],
  ],
};
function two([what, inputs, attributes = {}]) {
  return [what, inputs, attributes, { outputs: 2 }];
}
