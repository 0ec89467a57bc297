// Bad inputs of com.microsoft's operators and of all that computes with quantised numbers.

import { blank, bools, bytes, f, floats, i32, int32s, int8s, ints, one, u, zero } from '../../support/bad_inputs.mjs';

const s = one(0.1);
const z = zero;
const image = u(1, 2, 5, 5);
const outputs = (count) => ([what, inputs, attributes = {}]) => [what, inputs, attributes, { outputs: count }];

/** @type {import('../../support/bad_inputs.mjs').Table} */
export const quantised = {
  QuantizeLinear: [
    ['a scale of another length', [f(2, 3), floats([1, 1])], { axis: 1 }],
    ['a zero point of another length', [f(2, 3), floats([1, 1, 1]), bytes([0, 0])], { axis: 1 }],
    ['an axis out of range', [f(2, 3), floats([1, 1])], { axis: 2 }],
    ['blocks that do not fit', [f(2, 6), f(2, 3)], { axis: 1, block_size: 4 }],
    ['a type that is none', [f(2), one(1)], { output_dtype: 99 }],
    ['a type that is not the zero point\'s', [f(2), one(1), z], { output_dtype: 3 }],
  ],
  DequantizeLinear: [
    ['a scale of another length', [u(2, 3), floats([1, 1])], { axis: 1 }],
    ['a zero point of another length', [u(2, 3), floats([1, 1, 1]), bytes([0, 0])], { axis: 1 }],
    ['an axis out of range', [u(2, 3), floats([1, 1])], { axis: 2 }],
    ['blocks that do not fit', [u(2, 6), f(2, 3)], { axis: 1, block_size: 4 }],
  ],
  MatMulInteger: [
    ['other inner lengths', [u(2, 3), u(4, 2)]],
    ['a zero point of another length', [u(2, 3), u(3, 2), u(3)]],
    ['a scalar', [u(2, 3), z]],
  ],
  ConvInteger: [
    ['other channels', [image, u(3, 4, 3, 3)]],
    ['a stride of nothing', [image, u(3, 2, 3, 3)], { strides: [0, 1] }],
    ['two zero points', [image, u(3, 2, 3, 3), u(2)]],
  ],
  QLinearConv: [
    ['other channels', [image, s, z, u(3, 4, 3, 3), s, z, s, z]],
    ['a bias of another length', [image, s, z, u(3, 2, 3, 3), s, z, s, z, int32s([1, 2])]],
    ['two scales', [image, floats([1, 1]), z, u(3, 2, 3, 3), s, z, s, z]],
    ['weight scales of other channels', [image, s, z, u(3, 2, 3, 3), floats([1, 1]), u(2), s, z]],
  ],
  QLinearMatMul: [
    ['other inner lengths', [u(2, 3), s, z, u(4, 2), s, z, s, z]],
    ['scales of other columns', [u(2, 3), s, z, u(3, 2), floats([1, 1, 1]), u(3), s, z]],
  ],
  'com.microsoft:QuantizeLinear': [['a scale of another length', [f(2, 3), floats([1, 1]), u(2)], { axis: 1 }]],
  'com.microsoft:DequantizeLinear': [['a scale of another length', [u(2, 3), floats([1, 1])], { axis: 1 }]],
  'com.microsoft:DynamicQuantizeMatMul': [
    ['other inner lengths', [f(2, 3), u(4, 2), s]],
    ['a bias of another length', [f(2, 3), u(3, 2), s, z, f(3)]],
  ],
  'com.microsoft:MatMulIntegerToFloat': [
    ['other inner lengths', [u(2, 3), u(4, 2), s, s]],
    ['a bias of another length', [u(2, 3), u(3, 2), s, s, null, null, f(3)]],
  ],
  'com.microsoft:QGemm': [
    ['other inner lengths', [u(2, 3), s, z, u(4, 2), s, z]],
    ['a bias of another length', [u(2, 3), s, z, u(3, 2), s, z, int32s([1, 2, 3])]],
  ],
  ...Object.fromEntries(['Add', 'Mul'].map((op) => [`com.microsoft:QLinear${op}`, [
    ['shapes that do not broadcast', [u(2, 3), s, z, u(2, 4), s, z, s, z]],
    ['two scales', [u(2, 3), floats([1, 1]), z, u(2, 3), s, z, s, z]],
  ]])),
  'com.microsoft:QLinearAveragePool': [
    ['no kernel', [image, s, z, s, z]],
    ['a stride of nothing', [image, s, z, s, z], { kernel_shape: [2, 2], strides: [0, 1] }],
  ],
  'com.microsoft:QLinearGlobalAveragePool': [
    ['one axis', [u(5), s, z, s, z]],
    ['two scales', [image, floats([1, 1]), z, s, z]],
  ],
  'com.microsoft:QLinearConcat': [
    ['no axis', [s, z, u(2, 3), s, z]],
    ['other lengths', [s, z, u(2, 3), s, z, u(2, 4), s, z], { axis: 0 }],
    ['a zero point that is missing', [s, z, u(2, 3), s], { axis: 0 }],
    ['an axis out of range', [s, z, u(2, 3), s, z], { axis: 2 }],
  ],
  'com.microsoft:QLinearLeakyRelu': [['two scales', [u(2), floats([1, 1]), z, s, z]]],
  'com.microsoft:QLinearSigmoid': [['two scales', [u(2), floats([1, 1]), z, s, z]]],
  'com.microsoft:QLinearSoftmax': [
    ['an axis out of range', [u(2, 3), s, z, s, z], { axis: 2, opset: 13 }],
    ['two scales', [u(2, 3), floats([1, 1]), z, s, z], { axis: 1, opset: 13 }],
  ],
  'com.microsoft:QLinearWhere': [['shapes that do not broadcast', [bools([1, 0]), u(3), s, z, u(3), s, z, s, z]]],
  'com.microsoft:NhwcMaxPool': [
    ['no kernel', [image]],
    ['a stride of nothing', [image], { kernel_shape: [2, 2], strides: [0, 1] }],
  ],
  'com.microsoft:MatMulNBits': [
    ['no K', [f(1, 32), u(4, 1, 16), f(4)], { N: 4, bits: 4, block_size: 32 }],
    ['a block of nothing', [f(1, 32), u(4, 1, 16), f(4)], { K: 32, N: 4, bits: 4, block_size: 0 }],
    ['three bits', [f(1, 32), u(4, 1, 16), f(4)], { K: 32, N: 4, bits: 3, block_size: 32 }],
    ['another K', [f(1, 31), u(4, 1, 16), f(4)], { K: 32, N: 4, bits: 4, block_size: 32 }],
    ['weights of other columns', [f(1, 32), u(3, 1, 16), f(4)], { K: 32, N: 4, bits: 4, block_size: 32 }],
    ['scales of other columns', [f(1, 32), u(4, 1, 16), f(3)], { K: 32, N: 4, bits: 4, block_size: 32 }],
  ],
  'com.microsoft:MatMulBnb4': [
    ['no quant_type', [f(1, 32), u(64), f(4)], { K: 32, N: 4, block_size: 32 }],
    ['a quant_type that is none', [f(1, 32), u(64), f(4)], { K: 32, N: 4, block_size: 32, quant_type: 2 }],
    ['weights of another length', [f(1, 32), u(63), f(4)], { K: 32, N: 4, block_size: 32, quant_type: 1 }],
  ],
  'com.microsoft:GatherBlockQuantized': [
    ['an index beyond the end', [u(2, 32), ints([2]), f(2, 2)], { bits: 8, block_size: 16, quantize_axis: 1 }],
    ['a block of nothing', [u(2, 32), ints([0]), f(2, 2)], { bits: 8, block_size: 0, quantize_axis: 1 }],
    ['scales of another shape', [u(2, 32), ints([0]), f(2, 3)], { bits: 8, block_size: 16, quantize_axis: 1 }],
    ['three bits', [u(2, 32), ints([0]), f(2, 2)], { bits: 3, block_size: 16, quantize_axis: 1 }],
  ],
  'com.microsoft:MoE': [
    ['an unknown activation', [f(2, 4), f(2, 3), f(3, 4, 8), null, f(3, 8, 4)], { k: 1, activation_type: 'tanh' }],
    ['more experts asked than there are', [f(2, 4), f(2, 3), f(3, 4, 8), null, f(3, 8, 4)], { k: 4 }],
    ['scores of other tokens', [f(2, 4), f(3, 3), f(3, 8, 4), null, f(3, 4, 8)], { k: 1 }],
    ['weights of another width', [f(2, 4), f(2, 3), f(3, 8, 5), null, f(3, 4, 8)], { k: 1 }],
  ],
  'com.microsoft:QMoE': [
    ['five bits', [f(2, 32), f(2, 3), u(3, 64, 16), f(3, 64), null, u(3, 32, 32), f(3, 32)], { k: 1, expert_weight_bits: 5 }],
    ['scales of another shape', [f(2, 32), f(2, 3), u(3, 64, 16), f(3, 63), null, u(3, 32, 32), f(3, 32)], { k: 1, expert_weight_bits: 4 }],
    ['more experts asked than there are', [f(2, 32), f(2, 3), u(3, 64, 16), f(3, 64), null, u(3, 32, 32), f(3, 32)], { k: 4, expert_weight_bits: 4 }],
  ],
  'com.microsoft:QAttention': [
    ['no number of heads', [u(1, 2, 4), int8s(Array(48).fill(1), [4, 12]), f(12), s, s]],
    ['a bias of another length', [u(1, 2, 4), int8s(Array(48).fill(1), [4, 12]), f(11), s, s], { num_heads: 2 }],
    ['weights of another width', [u(1, 2, 3), int8s(Array(48).fill(1), [4, 12]), f(12), s, s], { num_heads: 2 }],
  ],
};

/** @type {import('../../support/bad_inputs.mjs').Table} */
export const contrib = {
  'com.microsoft:Attention': [
    ['no number of heads', [f(1, 2, 4), f(4, 12), f(12)]],
    ['heads that do not divide', [f(1, 2, 4), f(4, 12), f(12)], { num_heads: 3 }],
    ['weights of another input', [f(1, 2, 5), f(4, 12), f(12)], { num_heads: 2 }],
    ['a bias of another length', [f(1, 2, 4), f(4, 12), f(11)], { num_heads: 2 }],
    ['a mask that does not fit', [f(1, 2, 4), f(4, 12), f(12), int32s([1, 1, 1], [1, 3])], { num_heads: 2 }],
  ],
  'com.microsoft:MultiHeadAttention': [
    ['no number of heads', [f(1, 2, 4), f(1, 2, 4), f(1, 2, 4)]],
    ['heads that do not divide', [f(1, 2, 4), f(1, 2, 4), f(1, 2, 4)], { num_heads: 3 }],
    ['a key without a value', [f(1, 2, 4), f(1, 2, 4)], { num_heads: 2 }],
    ['a key of another batch', [f(1, 2, 4), f(2, 2, 4), f(2, 2, 4)], { num_heads: 2 }],
    ['two axes', [f(2, 4), f(2, 4), f(2, 4)], { num_heads: 2 }],
  ],
  'com.microsoft:DecoderMaskedMultiHeadAttention': [
    ['heads that do not divide', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4)], { num_heads: 3 }],
    ['no number of heads', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4)]],
    ['a past that fills the cache', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4), null, null, f(1, 2, 3, 2), f(1, 2, 3, 2), int32s([3])], { num_heads: 2 }],
    ['packed parts that do not divide', [f(1, 1, 8)], { num_heads: 2 }],
    ['beams', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4), null, null, null, null, null, null, int32s([0], [1, 1, 1])], { num_heads: 2 }],
  ],
  'com.microsoft:GroupQueryAttention': [
    ['no number of key heads', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4), null, null, int32s([0]), i32(1)], { num_heads: 2 }],
    ['heads that do not divide', [f(1, 1, 6), f(1, 1, 4), f(1, 1, 4), null, null, int32s([0]), i32(1)], { num_heads: 3, kv_num_heads: 2 }],
    ['lengths of another batch', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4), null, null, int32s([0, 0]), i32(1)], { num_heads: 2, kv_num_heads: 2 }],
    ['a length beyond the cache', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4), null, null, int32s([9]), i32(1)], { num_heads: 2, kv_num_heads: 2 }],
    ['rotation without caches', [f(1, 1, 4), f(1, 1, 4), f(1, 1, 4), null, null, int32s([0]), i32(1)], { num_heads: 2, kv_num_heads: 2, do_rotary: 1 }],
  ].map(outputs(3)),
  'com.microsoft:LinearAttention': [
    ['an unknown rule', [f(1, 2, 8), f(1, 2, 8), f(1, 2, 8)], { q_num_heads: 2, kv_num_heads: 2, update_rule: 'cubic' }],
    ['no number of heads', [f(1, 2, 8), f(1, 2, 8), f(1, 2, 8)], { update_rule: 'linear' }],
  ].map(outputs(2)),
  'com.microsoft:CausalConvWithState': [
    ['a weight of other channels', [f(1, 2, 5), f(3, 1, 3)]],
    ['a state of another length', [f(1, 2, 5), f(2, 1, 3), null, f(1, 2, 3)]],
  ].map(outputs(2)),
  'com.microsoft:RotaryEmbedding': [
    ['two axes', [f(2, 8), ints([0]), f(4, 4), f(4, 4)]],
    ['a position outside the caches', [f(1, 2, 8), ints([3]), f(4, 4), f(4, 4)]],
    ['caches of another width', [f(1, 2, 8), ints([0]), f(4, 3), f(4, 3)]],
    ['caches of other shapes', [f(1, 2, 8), ints([0]), f(4, 4), f(3, 4)]],
  ],
  'com.microsoft:EmbedLayerNormalization': [
    ['a word outside the table', [int32s([5], [1, 1]), null, f(4, 2), f(4, 2), null, f(2), f(2)]],
    ['tables of other widths', [int32s([0], [1, 1]), null, f(4, 2), f(4, 3), null, f(2), f(2)]],
    ['gamma of another length', [int32s([0], [1, 1]), null, f(4, 2), f(4, 2), null, f(3), f(2)]],
    ['words with one axis', [int32s([0]), null, f(4, 2), f(4, 2), null, f(2), f(2)]],
  ].map(outputs(2)),
  'com.microsoft:SkipLayerNormalization': [
    ['a skip that does not fit', [f(1, 2, 4), f(1, 3, 4), f(4)]],
    ['gamma of another length', [f(1, 2, 4), f(1, 2, 4), f(3)]],
    ['a bias of another length', [f(1, 2, 4), f(1, 2, 4), f(4), f(4), f(3)]],
  ],
  'com.microsoft:SkipSimplifiedLayerNormalization': [
    ['a skip that does not fit', [f(1, 2, 4), f(1, 3, 4), f(4)]],
    ['gamma of another length', [f(1, 2, 4), f(1, 2, 4), f(3)]],
  ],
  'com.microsoft:LayerNormalization': [['a scale that does not fit', [f(2, 3), f(4)]]],
  'com.microsoft:SimplifiedLayerNormalization': [['a scale that does not fit', [f(2, 3), f(4)]]],
  'com.microsoft:FusedConv': [
    ['an unknown activation', [f(1, 2, 5, 5), f(3, 2, 3, 3)], { activation: 'Nonsense' }],
    ['other channels', [f(1, 2, 5, 5), f(3, 4, 3, 3)], { activation: 'Relu' }],
    ['a sum of another shape', [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 2, 2)], { activation: 'Relu' }],
    ['an activation of float64', [blank('float64', 1, 2, 5, 5), blank('float64', 3, 2, 3, 3)], { activation: 'Relu' }],
  ],
  'com.microsoft:FusedGemm': [
    ['an unknown activation', [f(2, 3), f(3, 2)], { activation: 'Nonsense' }],
    ['other inner lengths', [f(2, 3), f(4, 2)]],
  ],
  'com.microsoft:FusedMatMul': [
    ['other inner lengths', [f(2, 3), f(4, 2)]],
    ['other inner lengths when turned', [f(2, 3), f(3, 2)], { transA: 1 }],
  ],
  'com.microsoft:TransposeMatMul': [['other inner lengths', [f(2, 3), f(4, 2)]]],
  'com.microsoft:Inverse': [
    ['no square', [f(2, 3)]],
    ['one axis', [f(3)]],
  ],
  'com.microsoft:CDist': [
    ['other columns', [f(2, 3), f(2, 4)], { metric: 'euclidean' }],
    ['three axes', [f(1, 2, 3), f(2, 3)], { metric: 'euclidean' }],
  ],
  'com.microsoft:ConvTransposeWithDynamicPads': [
    ['other channels', [f(1, 2, 5, 5), f(3, 2, 3, 3)]],
    ['pads of other length', [f(1, 2, 5, 5), f(2, 2, 3, 3), ints([1, 1, 1])]],
  ],
  'com.microsoft:CropAndResize': [
    ['boxes of another width', [f(1, 2, 5, 5), f(1, 5), int32s([0]), int32s([2, 2])]],
    ['a box of no image', [f(1, 2, 5, 5), f(1, 4), int32s([1]), int32s([2, 2])]],
    ['a size of one number', [f(1, 2, 5, 5), f(1, 4), int32s([0]), int32s([2])]],
    ['an unknown mode', [f(1, 2, 5, 5), f(1, 4), int32s([0]), int32s([2, 2])], { mode: 'cubic' }],
  ],
  'com.microsoft:DynamicQuantizeLSTM': [
    ['weights of another input', [f(2, 1, 3), u(1, 2, 16), u(1, 4, 16), null, null, null, null, null, f(1), u(1), f(1), u(1)], { hidden_size: 4 }],
    ['two axes', [f(2, 3), u(1, 3, 16), u(1, 4, 16), null, null, null, null, null, f(1), u(1), f(1), u(1)], { hidden_size: 4 }],
    ['an unknown direction', [f(2, 1, 3), u(1, 3, 16), u(1, 4, 16), null, null, null, null, null, f(1), u(1), f(1), u(1)], { direction: 'sideways' }],
  ],
  'com.microsoft:MaxpoolWithMask': [
    ['no kernel', [f(1, 1, 4, 4), int32s(Array(16).fill(1), [1, 1, 4, 4])]],
    ['a stride of nothing', [f(1, 1, 4, 4), int32s(Array(16).fill(1), [1, 1, 4, 4])], { kernel_shape: [2, 2], strides: [0, 1] }],
    ['a mask of another shape', [f(1, 1, 4, 4), int32s(Array(12).fill(1), [1, 1, 3, 4])], { kernel_shape: [2, 2] }],
  ],
  'com.microsoft:UnfoldTensor': [
    ['slices longer than the axis', [f(2, 3)], { size: 4 }],
    ['an axis out of range', [f(2, 3)], { size: 1, dim: 2 }],
    ['a step of nothing', [f(2, 3)], { size: 1, step: 0 }],
  ],
  'com.microsoft:GatherND': [
    ['an index out of bounds', [f(2, 3), ints([0, 3], [1, 2])]],
    ['more indices than axes', [f(2, 3), ints([0, 0, 0], [1, 3])]],
  ],
  'com.microsoft:DynamicTimeWarping': [
    ['one axis', [f(3)]],
    ['two tables', [f(2, 3, 3)]],
    ['no cells', [f(0, 3)]],
  ],
  'com.microsoft:MurmurHash3': [['an input too many', [f(2), f(2)]]],
  'com.microsoft:NGramRepeatBlock': [
    ['no size', [ints([1, 2, 3], [1, 3]), f(1, 5)]],
    ['scores of another batch', [ints([1, 2, 3], [1, 3]), f(2, 5)], { ngram_size: 2 }],
    ['a token without a score', [ints([1, 9, 1], [1, 3]), f(1, 5)], { ngram_size: 2 }],
  ],
  'com.microsoft:WordConvEmbedding': [
    ['a character outside the table', [int32s([9, 1], [1, 1, 2]), f(2, 1, 2, 3), f(2), f(4, 3)]],
    ['a bias of another length', [int32s([0, 1], [1, 1, 2]), f(2, 1, 2, 3), f(3), f(4, 3)]],
  ],
};
