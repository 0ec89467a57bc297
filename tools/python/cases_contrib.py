"""com.microsoft operators and old names of the default domain, in the options that exporters and quantisers use.

ONNX Runtime is the only runtime that defines most of these, so the expected values are its own; plain formulas are
checked against NumPy.
"""

import math

import numpy as np

from cases_core import MS

OPSET = 17


def _ms(suite, name, op, inputs, attributes=None, **options):
    suite.case("ms_" + name, op, inputs, attributes, opset=options.pop("opset", OPSET), domain=MS, **options)


def _erf(x):
    return np.vectorize(math.erf)(x)


def _gelu(x):
    return (.5 * x * (1 + _erf(x / math.sqrt(2)))).astype(np.float32)


def _fast_gelu(x):
    return (.5 * x * (1 + np.tanh(.7978845608 * x + .035677408136 * x ** 3))).astype(np.float32)


def activations(suite):
    x, b = suite.floats(2, 3, 6), suite.floats(6)
    _ms(suite, "gelu", "Gelu", [x], expected=_gelu)
    _ms(suite, "biasgelu", "BiasGelu", [x, b], expected=lambda x, b: _gelu(x + b))
    _ms(suite, "fastgelu", "FastGelu", [x], expected=_fast_gelu, atol=1e-3)
    _ms(suite, "fastgelu_bias", "FastGelu", [x, b], expected=lambda x, b: _fast_gelu(x + b), atol=1e-3)
    _ms(suite, "quickgelu", "QuickGelu", [x], expected=lambda x: (x / (1 + np.exp(-1.702 * x))).astype(np.float32))
    _ms(suite, "quickgelu_alpha", "QuickGelu", [x], {"alpha": 1.}, expected=lambda x: (x / (1 + np.exp(-x))).astype(np.float32))
    y = suite.floats(2, 3, 4, 5)
    for opset in (1, 9):
        suite.case(f"old_imagescaler_v{opset}", "ImageScaler", [y], {"scale": 2., "bias": [.5, -1., 3.]}, opset=opset, check=False,
                   expected=lambda x: x * 2 + np.float32([.5, -1, 3]).reshape(1, 3, 1, 1))
        suite.case(f"old_affine_v{opset}", "Affine", [y], {"alpha": 1.5, "beta": -2.}, opset=opset, check=False, expected=lambda x: x * np.float32(1.5) - 2)
        suite.case(f"old_scaledtanh_v{opset}", "ScaledTanh", [y], {"alpha": 1.5, "beta": .5}, opset=opset, check=False,
                   expected=lambda x: np.float32(1.5) * np.tanh(x * np.float32(.5)))
        suite.case(f"old_parametricsoftplus_v{opset}", "ParametricSoftplus", [y], {"alpha": 1.5, "beta": .5}, opset=opset, check=False,
                   expected=lambda x: np.float32(1.5) * np.log1p(np.exp(x * np.float32(.5))))
    suite.case("old_crop_border", "Crop", [y], {"border": [1, 0, 2, 1]}, opset=1, check=False, expected=lambda x: x[:, :, 0:3, 1:3])
    suite.case("old_crop_scale", "Crop", [y], {"border": [1, 1, 0, 0], "scale": [2, 3]}, opset=1, check=False, expected=lambda x: x[:, :, 1:3, 1:4])
    suite.case("old_simplifiedlayernormalization", "SimplifiedLayerNormalization", [y, suite.floats(5)], {"axis": -1, "epsilon": 1e-6, "stash_type": 1},
               opset=OPSET, check=False, expected=lambda x, s: (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * s).astype(np.float32))
    _ms(suite, "expanddims", "ExpandDims", [x, np.int32(-2)], expected=lambda x, a: x[:, :, None])
    _ms(suite, "trilu", "Trilu", [suite.floats(3, 4), np.int64(-1)], {"upper": 0}, expected=lambda x, k: np.tril(x, -1))
    _ms(suite, "inverse", "Inverse", [suite.floats(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)], atol=1e-4)
    _ms(suite, "range", "Range", [np.float32(1), np.float32(4), np.float32(.5)])
    _ms(suite, "unique", "Unique", [np.array([3, 1, 3, 2, 1], np.float32)], outputs=3)
    _ms(suite, "cdist_euclidean", "CDist", [suite.floats(3, 4), suite.floats(2, 4)], {"metric": "euclidean"}, atol=1e-3)
    _ms(suite, "cdist_sqeuclidean", "CDist", [suite.floats(3, 4), suite.floats(2, 4)], {"metric": "sqeuclidean"}, atol=1e-3)
    _ms(suite, "pad", "Pad", [suite.floats(2, 3), np.array([0, 1, 1, 2]), np.array([9], np.float32)], {"mode": "constant"})
    _ms(suite, "murmurhash3_int32", "MurmurHash3", [np.array([3, -7, 0], np.int32)], {"seed": 5, "positive": 1})
    _ms(suite, "murmurhash3_text", "MurmurHash3", [np.array(["", "abc", "größer"], object)], {"positive": 0})
    _ms(suite, "ngramrepeatblock", "NGramRepeatBlock", [np.array([[1, 2, 3, 1, 2]]), suite.floats(1, 5)], {"ngram_size": 3})


def normalisations(suite):
    x, skip, gamma, beta, bias = suite.floats(2, 3, 8), suite.floats(2, 3, 8), suite.floats(8), suite.floats(8), suite.floats(8)
    _ms(suite, "skiplayernormalization", "SkipLayerNormalization", [x, skip, gamma, beta], {"epsilon": 1e-5}, atol=1e-4)
    _ms(suite, "skiplayernormalization_bias_and_sum", "SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=["y", "", "", "sum"], atol=1e-4)
    _ms(suite, "skiplayernormalization_no_beta", "SkipLayerNormalization", [x, skip, gamma, None, bias], atol=1e-4)
    _ms(suite, "skiplayernormalization_broadcast_skip", "SkipLayerNormalization", [x, skip[:1], gamma, beta], atol=1e-4)
    _ms(suite, "skipsimplifiedlayernormalization", "SkipSimplifiedLayerNormalization", [x, skip, gamma], {"epsilon": 1e-6}, outputs=["y", "", "", "sum"], atol=1e-4)
    _ms(suite, "skipsimplifiedlayernormalization_bias", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], atol=1e-4)
    ids, segments = suite.integers(0, 9, 2, 4, dtype=np.int32), suite.integers(0, 2, 2, 4, dtype=np.int32)
    tables = [suite.floats(9, 8), suite.floats(6, 8), suite.floats(2, 8)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    _ms(suite, "embedlayernormalization", "EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, mask], {"epsilon": 1e-12}, outputs=2, atol=1e-4)
    _ms(suite, "embedlayernormalization_no_segments", "EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, gamma, beta], outputs=["y", ""], atol=1e-4)
    _ms(suite, "embedlayernormalization_positions_and_sum", "EmbedLayerNormalization",
        [ids, segments, *tables, gamma, beta, None, np.array([[0, 2, 1, 5], [3, 3, 4, 0]], np.int32)], outputs=["y", "m", "s"], atol=1e-4)


def fused(suite):
    a, b = suite.floats(2, 3, 4), suite.floats(2, 4, 5)
    _ms(suite, "fusedmatmul_alpha", "FusedMatMul", [a, b], {"alpha": .5}, expected=lambda a, b: np.float32(.5) * (a @ b))
    _ms(suite, "fusedmatmul_transposed", "FusedMatMul", [suite.floats(2, 4, 3), suite.floats(2, 5, 4)], {"transA": 1, "transB": 1, "alpha": 2.},
        expected=lambda a, b: 2 * (a.swapaxes(1, 2) @ b.swapaxes(1, 2)))
    _ms(suite, "fusedmatmul_batch_transposed", "FusedMatMul", [suite.floats(3, 2, 4), suite.floats(2, 4, 5)], {"transBatchA": 1},
        expected=lambda a, b: a.transpose(1, 0, 2) @ b)
    _ms(suite, "transposematmul", "TransposeMatMul", [suite.floats(2, 3, 4), suite.floats(2, 5, 4)], {"transB": 1}, expected=lambda a, b: a @ b.swapaxes(1, 2))
    x, w, z = suite.floats(1, 3, 5, 5), suite.floats(4, 3, 3, 3), suite.floats(1, 4, 5, 5)
    for name, parameters in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [.1]), ("Clip", [-.5, 1.]), ("HardSigmoid", [.2, .5])):
        _ms(suite, f"fusedconv_{name.lower()}", "FusedConv", [x, w, suite.floats(4)],
            {"activation": name, "pads": [1, 1, 1, 1], **({"activation_params": parameters} if parameters else {})}, atol=1e-4)
    _ms(suite, "fusedconv_sum", "FusedConv", [x, w, suite.floats(4), z], {"activation": "Relu", "pads": [1, 1, 1, 1]}, atol=1e-4)
    for name, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": .2}), ("Tanh", {}), ("Sigmoid", {})):
        _ms(suite, f"fusedgemm_{name.lower()}", "FusedGemm", [suite.floats(3, 4), suite.floats(5, 4), suite.floats(5)],
            {"activation": name, "transB": 1, "alpha": .5, **more}, atol=1e-4)
    _ms(suite, "convtransposewithdynamicpads", "ConvTransposeWithDynamicPads", [suite.floats(1, 2, 3, 3), suite.floats(2, 2, 3, 3), np.array([1, 0, 0, 1])],
        {"strides": [2, 2]}, atol=1e-4)
    _ms(suite, "nhwcmaxpool", "NhwcMaxPool", [suite.integers(0, 255, 1, 5, 6, 3, dtype=np.uint8)], {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 1]})
    _ms(suite, "gridsample", "GridSample", [suite.floats(1, 2, 4, 4), suite.uniform(-1.2, 1.2, 1, 3, 3, 2)], {"mode": "bilinear", "padding_mode": "border"})
    _ms(suite, "cropandresize", "CropAndResize", [suite.floats(2, 1, 6, 6), np.array([[.1, .1, .8, .9], [0, 0, 1, 1]], np.float32), np.array([0, 1], np.int32),
                                                  np.array([3, 4], np.int32)], {"mode": "bilinear", "extrapolation_value": 1.})
    _ms(suite, "maxpoolwithmask", "MaxpoolWithMask", [suite.floats(1, 1, 4, 4), np.ones((1, 1, 4, 4), np.int32)], {"kernel_shape": [2, 2], "strides": [2, 2]})


def _quantised(suite, *shape, dtype=np.uint8):
    low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
    return suite.integers(low, high, *shape, dtype=dtype)


def _dynamic_quantize_matmul(a, b, scale, zero, bias):
    """Quantises a to uint8 over its own range, zero included, and multiplies exactly."""
    low, high = min(a.min(), 0), max(a.max(), 0)
    step = np.float32((high - low) / np.float32(255))
    origin = np.clip(np.rint(-low / step), 0, 255)
    quantised = np.clip(np.rint(a / step) + origin, 0, 255) - origin
    product = quantised @ (b.astype(np.float64) - zero.astype(np.float64)) * step * scale
    return (product + (0 if bias is None else bias)).astype(np.float32)


def quantised(suite):
    f = np.float32
    for dtype, zero in ((np.uint8, 120), (np.int8, -7)):
        name, x, y = np.dtype(dtype).name, _quantised(suite, 2, 3, 4, dtype=dtype), _quantised(suite, 4, dtype=dtype)
        z = dtype(zero)
        for op in ("QLinearAdd", "QLinearMul"):
            _ms(suite, f"{op.lower()}_{name}", op, [x, f(.02), z, y, f(.03), dtype(3), f(.07), dtype(11)])
        _ms(suite, f"qlinearsigmoid_{name}", "QLinearSigmoid", [x, f(.05), z, f(1 / 256), dtype(0 if dtype == np.uint8 else -128)], constants=(1, 2, 3, 4))
        _ms(suite, f"qlinearleakyrelu_{name}", "QLinearLeakyRelu", [x, f(.05), z, f(.04), dtype(9)], {"alpha": .2}, constants=(1, 2, 3, 4))
        _ms(suite, f"qlinearsoftmax_{name}", "QLinearSoftmax", [x, f(.05), z, f(1 / 256), dtype(0 if dtype == np.uint8 else -128)],
            {"axis": -1, "opset": 13}, constants=(1, 2, 3, 4))
        _ms(suite, f"qlinearconcat_{name}", "QLinearConcat", [f(.05), z, x, f(.04), dtype(5), x[:, :1], f(.05), z], {"axis": 1}, constants=(0, 1, 3, 4, 6, 7))
        image = _quantised(suite, 1, 2, 5, 5, dtype=dtype)
        _ms(suite, f"qlinearaveragepool_{name}", "QLinearAveragePool", [image, f(.05), z, f(.043), dtype(5)], {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 1]})
        _ms(suite, f"qlinearglobalaveragepool_{name}", "QLinearGlobalAveragePool", [image, f(.05), z, f(.04), dtype(5)])
        _ms(suite, f"qlinearglobalaveragepool_last_{name}", "QLinearGlobalAveragePool", [image.transpose(0, 2, 3, 1).copy(), f(.05), z, f(.04), dtype(5)], {"channels_last": 1})
        _ms(suite, f"qlinearwhere_{name}", "QLinearWhere", [suite.bools(2, 3, 4), x, f(.02), z, y, f(.03), dtype(3), f(.025), dtype(11)], constants=(2, 3, 5, 6, 7, 8))
    a = suite.floats(3, 8)
    for dtype in (np.uint8, np.int8):
        # Signed weights of 7 bits: on some processors ONNX Runtime's pairs of products saturate at 16 bits.
        b = _quantised(suite, 8, 5) if dtype == np.uint8 else suite.integers(-64, 64, 8, 5, dtype=dtype)
        name = np.dtype(dtype).name
        for form, scale, zero, bias in (("", f(.02), dtype(3), suite.floats(5)),
                                        ("per_column_", suite.uniform(.01, .03, 5), suite.integers(0, 9, 5, dtype=dtype), None)):
            stored = [b, scale, zero, bias]
            _ms(suite, f"dynamicquantizematmul_{form}{name}", "DynamicQuantizeMatMul", [a, *[v for v in stored if v is not None]],
                constants=range(1, 5 if bias is not None else 4), atol=1e-3,
                expected=lambda a, stored=stored: _dynamic_quantize_matmul(a, *stored))
        qa = _quantised(suite, 3, 8, dtype=np.uint8)
        _ms(suite, f"matmulintegertofloat_{name}", "MatMulIntegerToFloat", [qa, b, f(.03), f(.02), np.uint8(128), dtype(3), suite.floats(5)], constants=(1, 3, 5), atol=1e-3)
        _ms(suite, f"matmulintegertofloat_per_column_{name}", "MatMulIntegerToFloat", [qa, b, f(.03), suite.uniform(.01, .03, 5)], constants=(1, 3), atol=1e-3)
        _ms(suite, f"qgemm_{name}", "QGemm", [qa, f(.03), np.uint8(120), b.T.copy(), f(.02), dtype(4), suite.integers(-200, 200, 5, dtype=np.int32), f(.1), np.uint8(100)],
            {"transB": 1}, constants=(3, 4, 5))
        _ms(suite, f"qgemm_float_out_{name}", "QGemm", [qa, f(.03), np.uint8(120), b, suite.uniform(.01, .03, 5), suite.integers(0, 5, 5, dtype=dtype)],
            {"alpha": .5}, constants=(3, 4, 5), atol=1e-3)
    hidden, size = 6, 4
    for direction in ("forward", "bidirectional"):
        d = 2 if direction == "bidirectional" else 1
        _ms(suite, f"dynamicquantizelstm_{direction}", "DynamicQuantizeLSTM",
            [suite.floats(5, 2, size), suite.integers(-64, 64, d, size, 4 * hidden, dtype=np.int8), suite.integers(-64, 64, d, hidden, 4 * hidden, dtype=np.int8),
             suite.floats(d, 8 * hidden, scale=.3), None, None, None, None, np.full(d, .008, f), np.zeros(d, np.int8), np.full(d, .006, f), np.zeros(d, np.int8)],
            {"hidden_size": hidden, "direction": direction}, outputs=3, constants=(1, 2, 3, 8, 9, 10, 11), atol=.02)
    weight = _quantised(suite, 8, 24)
    for name, mask in (("", None), ("_lengths", np.array([3, 2], np.int32)), ("_mask", np.array([[1, 1, 0], [1, 1, 1]], np.int32))):
        _ms(suite, f"qattention{name}", "QAttention", [_quantised(suite, 2, 3, 8), weight, suite.floats(24), f(.02), f(.01), mask, np.uint8(128), np.uint8(120)],
            {"num_heads": 2}, constants=(1, 2, 3, 4, 6, 7), atol=.02)
    _ms(suite, "qattention_unidirectional", "QAttention", [_quantised(suite, 2, 3, 8), weight, suite.floats(24), f(.02), f(.01), None, np.uint8(128), np.uint8(120)],
        {"num_heads": 2, "unidirectional": 1}, constants=(1, 2, 3, 4, 6, 7), atol=.02)


def blocks(suite):
    """Weights in blocks of few bits."""
    for bits in (2, 4, 8):
        for block, k, n in ((16, 32, 5), (32, 48, 3), (64, 64, 4)):
            groups = -(-k // block)
            packed = suite.integers(0, 256, n, groups, block * bits // 8, dtype=np.uint8)
            scales = suite.uniform(.01, .1, n, groups)
            zero = suite.integers(0, 256, n, -(-groups * bits // 8), dtype=np.uint8)
            x = suite.floats(2, k)
            common = {"K": k, "N": n, "bits": bits, "block_size": block}
            name = f"matmulnbits_{bits}_{block}_{k}"
            _ms(suite, name, "MatMulNBits", [x, packed, scales], common, constants=(1, 2), atol=.02)
            _ms(suite, name + "_zero_points", "MatMulNBits", [x, packed, scales, zero], common, constants=(1, 2, 3), atol=.02)
    packed, scales = suite.integers(0, 256, 5, 2, 8, dtype=np.uint8), suite.uniform(.01, .1, 5, 2)
    common = {"K": 32, "N": 5, "bits": 4, "block_size": 16}
    _ms(suite, "matmulnbits_bias", "MatMulNBits", [suite.floats(1, 3, 32), packed, scales, None, None, suite.floats(5)], common, constants=(1, 2, 5), atol=.02)
    _ms(suite, "matmulnbits_float_zero_points", "MatMulNBits", [suite.floats(2, 32), packed, scales, suite.uniform(5, 9, 5, 2)], common, constants=(1, 2, 3), atol=.02)
    _ms(suite, "matmulnbits_group_index", "MatMulNBits", [suite.floats(2, 32), packed, scales, None, suite.integers(0, 2, 32, dtype=np.int32)], common,
        constants=(1, 2, 4), atol=.02)
    for kind in (0, 1):
        k, n, block = 32, 4, 16
        _ms(suite, f"matmulbnb4_{'nf4' if kind else 'fp4'}", "MatMulBnb4",
            [suite.floats(2, k), suite.integers(0, 256, k * n // 2, dtype=np.uint8), suite.uniform(.5, 2, k * n // block)],
            {"K": k, "N": n, "block_size": block, "quant_type": kind}, constants=(1, 2), atol=.01)
    for bits in (4, 8):
        data = suite.integers(0, 256, 6, 32 * bits // 8, dtype=np.uint8)
        _ms(suite, f"gatherblockquantized_{bits}", "GatherBlockQuantized", [data, np.array([[5, 0], [2, -1]]), suite.uniform(.01, .1, 6, 2)],
            {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}, constants=(0, 2))
        _ms(suite, f"gatherblockquantized_{bits}_zero_points", "GatherBlockQuantized",
            [data, np.array([3, 1]), suite.uniform(.01, .1, 6, 2), suite.integers(0, 256, 6, 2 * bits // 8, dtype=np.uint8)],
            {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}, constants=(0, 2, 3))


def attention(suite):
    batch, steps, heads, width = 2, 3, 2, 4
    hidden = heads * width
    x, w, b = suite.floats(batch, steps, hidden), suite.floats(hidden, 3 * hidden, scale=.4), suite.floats(3 * hidden)
    past = suite.floats(2, batch, heads, 2, width)
    mask2 = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    _ms(suite, "attention", "Attention", [x, w, b], {"num_heads": heads}, atol=1e-4)
    _ms(suite, "attention_mask", "Attention", [x, w, b, mask2], {"num_heads": heads}, atol=1e-4)
    _ms(suite, "attention_lengths", "Attention", [x, w, b, np.array([2, 3], np.int32)], {"num_heads": heads}, atol=1e-4)
    _ms(suite, "attention_unidirectional_past", "Attention", [x, w, b, None, past], {"num_heads": heads, "unidirectional": 1}, outputs=2, atol=1e-4)
    _ms(suite, "attention_bias_scale", "Attention", [x, w, b, None, None, suite.floats(1, heads, steps, steps)], {"num_heads": heads, "scale": .3}, atol=1e-4)
    _ms(suite, "attention_value_size", "Attention", [x, suite.floats(hidden, 2 * hidden + 6, scale=.4), suite.floats(2 * hidden + 6)],
        {"num_heads": heads, "qkv_hidden_sizes": [hidden, hidden, 6]}, atol=1e-4)
    q, k, v = suite.floats(batch, steps, hidden), suite.floats(batch, 5, hidden), suite.floats(batch, 5, hidden)
    more = {"num_heads": heads}
    _ms(suite, "multiheadattention", "MultiHeadAttention", [q, k, v], more, atol=1e-4)
    _ms(suite, "multiheadattention_bias", "MultiHeadAttention", [q, k, v, suite.floats(3 * hidden)], more, atol=1e-4)
    _ms(suite, "multiheadattention_padding_lengths", "MultiHeadAttention", [q, k, v, None, np.array([5, 2], np.int32)], more, atol=1e-4)
    _ms(suite, "multiheadattention_padding_mask", "MultiHeadAttention", [q, k, v, None, np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)], more, atol=1e-4)
    _ms(suite, "multiheadattention_attention_bias", "MultiHeadAttention", [q, k, v, None, None, suite.floats(1, 1, steps, 5)], more, atol=1e-4)
    _ms(suite, "multiheadattention_past", "MultiHeadAttention",
        [q, suite.floats(batch, steps, hidden), suite.floats(batch, steps, hidden), None, None, None, suite.floats(batch, heads, 2, width), suite.floats(batch, heads, 2, width)],
        {**more, "unidirectional": 1}, outputs=3, atol=1e-4)
    _ms(suite, "multiheadattention_cross_4d", "MultiHeadAttention", [q, suite.floats(batch, heads, 5, width), suite.floats(batch, heads, 5, width)], more, atol=1e-4)
    _ms(suite, "multiheadattention_packed_qkv", "MultiHeadAttention", [suite.floats(batch, steps, heads, 3, width)], more, atol=1e-4,
        expected=lambda p: suite.answer("MultiHeadAttention", [p[:, :, :, i].reshape(batch, steps, -1) for i in range(3)], more, OPSET, domain=MS))
    _ms(suite, "multiheadattention_packed_kv", "MultiHeadAttention", [q, suite.floats(batch, 5, heads, 2, width)], more, atol=1e-4,
        expected=lambda q, p: suite.answer("MultiHeadAttention", [q, *[p[:, :, :, i].reshape(batch, 5, -1) for i in range(2)]], more, OPSET, domain=MS))
    angles = np.arange(16)[:, None] / 10 ** np.arange(4)[None, :]
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    for interleaved in (0, 1):
        _ms(suite, f"rotaryembedding_4d_{interleaved}", "RotaryEmbedding", [suite.floats(2, 3, 4, 8), np.array([2]), cosines, sines], {"interleaved": interleaved}, atol=1e-4)
        _ms(suite, f"rotaryembedding_3d_{interleaved}", "RotaryEmbedding", [suite.floats(2, 4, 16), suite.integers(0, 16, 2, 4), cosines, sines], {"interleaved": interleaved}, atol=1e-4)
    _ms(suite, "rotaryembedding_partial", "RotaryEmbedding", [suite.floats(1, 4, 24), np.array([0]), cosines, sines], {"num_heads": 2, "rotary_embedding_dim": 8}, atol=1e-4)


def grouped_attention(suite):
    batch, heads, kv, width = 2, 2, 1, 16
    angles = np.arange(16)[:, None] / 3 ** np.arange(8)[None, :]
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    common = {"num_heads": heads, "kv_num_heads": kv}

    def add(name, steps, past, lengths, attributes=None, packed=False, rotary=False, **options):
        q, k, v = suite.floats(batch, steps, heads * width), suite.floats(batch, steps, kv * width), suite.floats(batch, steps, kv * width)
        inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        inputs += [suite.floats(batch, kv, past, width), suite.floats(batch, kv, past, width), np.array(lengths, np.int32), np.int32(past + steps)]
        inputs += [cosines, sines] if rotary else []
        _ms(suite, f"groupqueryattention_{name}", "GroupQueryAttention", inputs, {**common, **(attributes or {}), **({"do_rotary": 1} if rotary else {})},
            outputs=3, atol=1e-4, **options)

    add("prefill", 5, 0, [4, 4])
    add("token", 1, 6, [6, 6])
    add("packed", 3, 0, [2, 2], packed=True)
    add("rotary", 4, 0, [3, 3], rotary=True)
    add("rotary_interleaved_token", 1, 5, [5, 5], {"rotary_interleaved": 1}, rotary=True)
    add("softcap_scale", 4, 0, [3, 3], {"softcap": 2., "scale": .2})
    add("local_window", 6, 0, [5, 5], {"local_window_size": 3})
    add("local_window_token", 1, 7, [7, 7], {"local_window_size": 3})
    add("smooth_softmax", 3, 0, [2, 2], {"smooth_softmax": 1})


def mixtures(suite):
    tokens, hidden, inner, experts = 4, 6, 10, 3
    x, router = suite.floats(tokens, hidden), suite.floats(tokens, experts)
    for activation in ("relu", "gelu", "silu", "identity"):
        _ms(suite, f"moe_{activation}", "MoE",
            [x, router, suite.floats(experts, inner, hidden, scale=.4), suite.floats(experts, inner), suite.floats(experts, hidden, inner, scale=.4), suite.floats(experts, hidden)],
            {"k": 2, "activation_type": activation, "normalize_routing_weights": 1}, atol=1e-3)
    _ms(suite, "moe_top_1_no_bias", "MoE", [x, router, suite.floats(experts, inner, hidden), None, suite.floats(experts, hidden, inner)], {"k": 1, "activation_type": "relu"}, atol=1e-3)
    _ms(suite, "causalconvwithstate", "CausalConvWithState", [suite.floats(2, 3, 5), suite.floats(3, 1, 4), suite.floats(3), suite.floats(2, 3, 3)],
        {"activation": "silu"}, outputs=2, atol=1e-4)
    _ms(suite, "causalconvwithstate_no_past", "CausalConvWithState", [suite.floats(1, 3, 5), suite.floats(3, 1, 3)], outputs=2, atol=1e-4)
    for rule in ("linear", "gated", "delta", "gated_delta"):
        d = 4
        inputs = [suite.floats(1, 3, 2 * d), suite.floats(1, 3, 2 * d, scale=.5), suite.floats(1, 3, 2 * d), suite.floats(1, 2, d, d)]
        inputs += [-suite.uniform(0, 1, 1, 3, 2) if "gated" in rule else None, suite.uniform(0, 1, 1, 3, 2) if "delta" in rule else None]
        while inputs[-1] is None:
            inputs.pop()
        _ms(suite, f"linearattention_{rule}", "LinearAttention", inputs, {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": rule}, outputs=2, atol=1e-3)


def words(suite):
    lines = np.array(["hello world", "a  b,c", "", "größe x"], object)
    _ms(suite, "tokenizer_separators", "Tokenizer", [lines], {"separators": [" ", ","], "mark": 0, "pad_value": "#", "mincharnum": 1})
    _ms(suite, "tokenizer_marked", "Tokenizer", [lines[:2]], {"separators": [" "], "mark": 1, "pad_value": "<pad>", "mincharnum": 2})
    _ms(suite, "tokenizer_characters", "Tokenizer", [np.array([["ab", "größe"]], object)], {"separators": [""], "mark": 0, "pad_value": "", "mincharnum": 1})
    _ms(suite, "tokenizer_expression", "Tokenizer", [lines], {"tokenexp": "[a-zö]+", "mark": 0, "pad_value": "?", "mincharnum": 1})
    _ms(suite, "wordconvembedding", "WordConvEmbedding", [np.array([[1, 2, 3, 0], [2, 2, 0, 0]], np.int32), suite.floats(4, 1, 2, 3), suite.floats(4), suite.floats(5, 3)],
        {"embedding_size": 4, "conv_window_size": 2, "char_embedding_size": 3})


GROUPS = [activations, normalisations, fused, quantised, blocks, attention, grouped_attention, mixtures, words]
