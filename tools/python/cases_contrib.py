"""com.microsoft operators and old names of the default domain, in the options that exporters and quantisers use.

ONNX Runtime is the only runtime that defines most of these, so the expected values are its own; plain formulas are
checked against NumPy.
"""

import math

import numpy as np

from cases_core import MS

OPSET = 17


def microsoft(suite, name, op, inputs, attributes=None, **options):
    suite.case("ms_" + name, op, inputs, attributes, opset=options.pop("opset", OPSET), domain=MS, **options)


def _erf(x):
    return np.vectorize(math.erf)(x)


def _gelu(x):
    return (0.5 * x * (1 + _erf(x / math.sqrt(2)))).astype(np.float32)


def _fast_gelu(x):
    return (0.5 * x * (1 + np.tanh(0.7978845608 * x + 0.035677408136 * x**3))).astype(np.float32)


def activations(suite):
    x, b = suite.floats(2, 3, 6), suite.floats(6)
    microsoft(suite, "gelu", "Gelu", [x], expected=_gelu)
    microsoft(suite, "biasgelu", "BiasGelu", [x, b], expected=lambda x, b: _gelu(x + b))
    microsoft(suite, "fastgelu", "FastGelu", [x], expected=_fast_gelu, atol=1e-3)
    microsoft(suite, "fastgelu_bias", "FastGelu", [x, b], expected=lambda x, b: _fast_gelu(x + b), atol=1e-3)
    microsoft(suite, "quickgelu", "QuickGelu", [x], expected=lambda x: (x / (1 + np.exp(-1.702 * x))).astype(np.float32))
    microsoft(suite, "quickgelu_alpha", "QuickGelu", [x], {"alpha": 1.0}, expected=lambda x: (x / (1 + np.exp(-x))).astype(np.float32))
    y = suite.floats(2, 3, 4, 5)
    for opset in (1, 9):
        suite.case(
            f"old_imagescaler_v{opset}",
            "ImageScaler",
            [y],
            {"scale": 2.0, "bias": [0.5, -1.0, 3.0]},
            opset=opset,
            check=False,
            expected=lambda x: x * 2 + np.float32([0.5, -1, 3]).reshape(1, 3, 1, 1),
        )
        suite.case(f"old_affine_v{opset}", "Affine", [y], {"alpha": 1.5, "beta": -2.0}, opset=opset, check=False, expected=lambda x: x * np.float32(1.5) - 2)
        suite.case(
            f"old_scaledtanh_v{opset}",
            "ScaledTanh",
            [y],
            {"alpha": 1.5, "beta": 0.5},
            opset=opset,
            check=False,
            expected=lambda x: np.float32(1.5) * np.tanh(x * np.float32(0.5)),
        )
        suite.case(
            f"old_parametricsoftplus_v{opset}",
            "ParametricSoftplus",
            [y],
            {"alpha": 1.5, "beta": 0.5},
            opset=opset,
            check=False,
            expected=lambda x: np.float32(1.5) * np.log1p(np.exp(x * np.float32(0.5))),
        )
    suite.case("old_crop_border", "Crop", [y], {"border": [1, 0, 2, 1]}, opset=1, check=False, expected=lambda x: x[:, :, 0:3, 1:3])
    suite.case("old_crop_scale", "Crop", [y], {"border": [1, 1, 0, 0], "scale": [2, 3]}, opset=1, check=False, expected=lambda x: x[:, :, 1:3, 1:4])
    suite.case(
        "old_simplifiedlayernormalization",
        "SimplifiedLayerNormalization",
        [y, suite.floats(5)],
        {"axis": -1, "epsilon": 1e-6, "stash_type": 1},
        opset=OPSET,
        check=False,
        expected=lambda x, s: (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * s).astype(np.float32),
    )
    microsoft(suite, "expanddims", "ExpandDims", [x, np.int32(-2)], expected=lambda x, a: x[:, :, None])
    microsoft(suite, "trilu", "Trilu", [suite.floats(3, 4), np.int64(-1)], {"upper": 0}, expected=lambda x, k: np.tril(x, -1))
    microsoft(suite, "inverse", "Inverse", [suite.floats(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)], atol=1e-4)
    microsoft(suite, "range", "Range", [np.float32(1), np.float32(4), np.float32(0.5)])
    microsoft(suite, "unique", "Unique", [np.array([3, 1, 3, 2, 1], np.float32)], outputs=3)
    microsoft(suite, "cdist_euclidean", "CDist", [suite.floats(3, 4), suite.floats(2, 4)], {"metric": "euclidean"}, atol=1e-3)
    microsoft(suite, "cdist_sqeuclidean", "CDist", [suite.floats(3, 4), suite.floats(2, 4)], {"metric": "sqeuclidean"}, atol=1e-3)
    microsoft(suite, "pad", "Pad", [suite.floats(2, 3), np.array([0, 1, 1, 2]), np.array([9], np.float32)], {"mode": "constant"})
    microsoft(suite, "murmurhash3_int32", "MurmurHash3", [np.array([3, -7, 0], np.int32)], {"seed": 5, "positive": 1})
    microsoft(suite, "murmurhash3_text", "MurmurHash3", [np.array(["", "abc", "größer"], object)], {"positive": 0})
    microsoft(suite, "ngramrepeatblock", "NGramRepeatBlock", [np.array([[1, 2, 3, 1, 2]]), suite.floats(1, 5)], {"ngram_size": 3})


def normalisations(suite):
    x, skip, gamma, beta, bias = suite.floats(2, 3, 8), suite.floats(2, 3, 8), suite.floats(8), suite.floats(8), suite.floats(8)
    microsoft(suite, "skiplayernormalization", "SkipLayerNormalization", [x, skip, gamma, beta], {"epsilon": 1e-5}, atol=1e-4)
    microsoft(suite, "skiplayernormalization_bias_and_sum", "SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=["y", "", "", "sum"], atol=1e-4)
    microsoft(suite, "skiplayernormalization_no_beta", "SkipLayerNormalization", [x, skip, gamma, None, bias], atol=1e-4)
    microsoft(suite, "skiplayernormalization_broadcast_skip", "SkipLayerNormalization", [x, skip[:1], gamma, beta], atol=1e-4)
    microsoft(
        suite,
        "skipsimplifiedlayernormalization",
        "SkipSimplifiedLayerNormalization",
        [x, skip, gamma],
        {"epsilon": 1e-6},
        outputs=["y", "", "", "sum"],
        atol=1e-4,
    )
    microsoft(suite, "skipsimplifiedlayernormalization_bias", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], atol=1e-4)
    ids, segments = suite.integers(0, 9, 2, 4, dtype=np.int32), suite.integers(0, 2, 2, 4, dtype=np.int32)
    tables = [suite.floats(9, 8), suite.floats(6, 8), suite.floats(2, 8)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    microsoft(
        suite, "embedlayernormalization", "EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, mask], {"epsilon": 1e-12}, outputs=2, atol=1e-4
    )
    microsoft(
        suite,
        "embedlayernormalization_no_segments",
        "EmbedLayerNormalization",
        [ids, None, tables[0], tables[1], None, gamma, beta],
        outputs=["y", ""],
        atol=1e-4,
    )
    microsoft(
        suite,
        "embedlayernormalization_positions_and_sum",
        "EmbedLayerNormalization",
        [ids, segments, *tables, gamma, beta, None, np.array([[0, 2, 1, 5], [3, 3, 4, 0]], np.int32)],
        outputs=["y", "m", "s"],
        atol=1e-4,
    )


def fused(suite):
    a, b = suite.floats(2, 3, 4), suite.floats(2, 4, 5)
    microsoft(suite, "fusedmatmul_alpha", "FusedMatMul", [a, b], {"alpha": 0.5}, expected=lambda a, b: np.float32(0.5) * (a @ b))
    microsoft(
        suite,
        "fusedmatmul_transposed",
        "FusedMatMul",
        [suite.floats(2, 4, 3), suite.floats(2, 5, 4)],
        {"transA": 1, "transB": 1, "alpha": 2.0},
        expected=lambda a, b: 2 * (a.swapaxes(1, 2) @ b.swapaxes(1, 2)),
    )
    microsoft(
        suite,
        "fusedmatmul_batch_transposed",
        "FusedMatMul",
        [suite.floats(3, 2, 4), suite.floats(2, 4, 5)],
        {"transBatchA": 1},
        expected=lambda a, b: a.transpose(1, 0, 2) @ b,
    )
    microsoft(
        suite, "transposematmul", "TransposeMatMul", [suite.floats(2, 3, 4), suite.floats(2, 5, 4)], {"transB": 1}, expected=lambda a, b: a @ b.swapaxes(1, 2)
    )
    x, w, z = suite.floats(1, 3, 5, 5), suite.floats(4, 3, 3, 3), suite.floats(1, 4, 5, 5)
    for name, parameters in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 1.0]), ("HardSigmoid", [0.2, 0.5])):
        microsoft(
            suite,
            f"fusedconv_{name.lower()}",
            "FusedConv",
            [x, w, suite.floats(4)],
            {"activation": name, "pads": [1, 1, 1, 1], **({"activation_params": parameters} if parameters else {})},
            atol=1e-4,
        )
    microsoft(suite, "fusedconv_sum", "FusedConv", [x, w, suite.floats(4), z], {"activation": "Relu", "pads": [1, 1, 1, 1]}, atol=1e-4)
    for name, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Tanh", {}), ("Sigmoid", {})):
        microsoft(
            suite,
            f"fusedgemm_{name.lower()}",
            "FusedGemm",
            [suite.floats(3, 4), suite.floats(5, 4), suite.floats(5)],
            {"activation": name, "transB": 1, "alpha": 0.5, **more},
            atol=1e-4,
        )
    microsoft(
        suite,
        "convtransposewithdynamicpads",
        "ConvTransposeWithDynamicPads",
        [suite.floats(1, 2, 3, 3), suite.floats(2, 2, 3, 3), np.array([1, 0, 0, 1])],
        {"strides": [2, 2]},
        atol=1e-4,
    )
    microsoft(
        suite,
        "nhwcmaxpool",
        "NhwcMaxPool",
        [suite.integers(0, 255, 1, 5, 6, 3, dtype=np.uint8)],
        {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 1]},
    )
    microsoft(
        suite, "gridsample", "GridSample", [suite.floats(1, 2, 4, 4), suite.uniform(-1.2, 1.2, 1, 3, 3, 2)], {"mode": "bilinear", "padding_mode": "border"}
    )
    microsoft(
        suite,
        "cropandresize",
        "CropAndResize",
        [suite.floats(2, 1, 6, 6), np.array([[0.1, 0.1, 0.8, 0.9], [0, 0, 1, 1]], np.float32), np.array([0, 1], np.int32), np.array([3, 4], np.int32)],
        {"mode": "bilinear", "extrapolation_value": 1.0},
    )
    microsoft(
        suite, "maxpoolwithmask", "MaxpoolWithMask", [suite.floats(1, 1, 4, 4), np.ones((1, 1, 4, 4), np.int32)], {"kernel_shape": [2, 2], "strides": [2, 2]}
    )


def attention(suite):
    batch, steps, heads, width = 2, 3, 2, 4
    hidden = heads * width
    x, w, b = suite.floats(batch, steps, hidden), suite.floats(hidden, 3 * hidden, scale=0.4), suite.floats(3 * hidden)
    past = suite.floats(2, batch, heads, 2, width)
    mask2 = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    microsoft(suite, "attention", "Attention", [x, w, b], {"num_heads": heads}, atol=1e-4)
    microsoft(suite, "attention_mask", "Attention", [x, w, b, mask2], {"num_heads": heads}, atol=1e-4)
    microsoft(suite, "attention_lengths", "Attention", [x, w, b, np.array([2, 3], np.int32)], {"num_heads": heads}, atol=1e-4)
    microsoft(suite, "attention_unidirectional_past", "Attention", [x, w, b, None, past], {"num_heads": heads, "unidirectional": 1}, outputs=2, atol=1e-4)
    microsoft(
        suite, "attention_bias_scale", "Attention", [x, w, b, None, None, suite.floats(1, heads, steps, steps)], {"num_heads": heads, "scale": 0.3}, atol=1e-4
    )
    microsoft(
        suite,
        "attention_value_size",
        "Attention",
        [x, suite.floats(hidden, 2 * hidden + 6, scale=0.4), suite.floats(2 * hidden + 6)],
        {"num_heads": heads, "qkv_hidden_sizes": [hidden, hidden, 6]},
        atol=1e-4,
    )
    q, k, v = suite.floats(batch, steps, hidden), suite.floats(batch, 5, hidden), suite.floats(batch, 5, hidden)
    more = {"num_heads": heads}
    microsoft(suite, "multiheadattention", "MultiHeadAttention", [q, k, v], more, atol=1e-4)
    microsoft(suite, "multiheadattention_bias", "MultiHeadAttention", [q, k, v, suite.floats(3 * hidden)], more, atol=1e-4)
    microsoft(suite, "multiheadattention_padding_lengths", "MultiHeadAttention", [q, k, v, None, np.array([5, 2], np.int32)], more, atol=1e-4)
    microsoft(
        suite, "multiheadattention_padding_mask", "MultiHeadAttention", [q, k, v, None, np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)], more, atol=1e-4
    )
    microsoft(suite, "multiheadattention_attention_bias", "MultiHeadAttention", [q, k, v, None, None, suite.floats(1, 1, steps, 5)], more, atol=1e-4)
    microsoft(
        suite,
        "multiheadattention_past",
        "MultiHeadAttention",
        [
            q,
            suite.floats(batch, steps, hidden),
            suite.floats(batch, steps, hidden),
            None,
            None,
            None,
            suite.floats(batch, heads, 2, width),
            suite.floats(batch, heads, 2, width),
        ],
        {**more, "unidirectional": 1},
        outputs=3,
        atol=1e-4,
    )
    microsoft(
        suite,
        "multiheadattention_cross_4d",
        "MultiHeadAttention",
        [q, suite.floats(batch, heads, 5, width), suite.floats(batch, heads, 5, width)],
        more,
        atol=1e-4,
    )
    microsoft(
        suite,
        "multiheadattention_packed_qkv",
        "MultiHeadAttention",
        [suite.floats(batch, steps, heads, 3, width)],
        more,
        atol=1e-4,
        expected=lambda p: suite.answer("MultiHeadAttention", [p[:, :, :, i].reshape(batch, steps, -1) for i in range(3)], more, OPSET, domain=MS),
    )
    microsoft(
        suite,
        "multiheadattention_packed_kv",
        "MultiHeadAttention",
        [q, suite.floats(batch, 5, heads, 2, width)],
        more,
        atol=1e-4,
        expected=lambda q, p: suite.answer("MultiHeadAttention", [q, *[p[:, :, :, i].reshape(batch, 5, -1) for i in range(2)]], more, OPSET, domain=MS),
    )
    angles = np.arange(16)[:, None] / 10 ** np.arange(4)[None, :]
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    for interleaved in (0, 1):
        microsoft(
            suite,
            f"rotaryembedding_4d_{interleaved}",
            "RotaryEmbedding",
            [suite.floats(2, 3, 4, 8), np.array([2]), cosines, sines],
            {"interleaved": interleaved},
            atol=1e-4,
        )
        microsoft(
            suite,
            f"rotaryembedding_3d_{interleaved}",
            "RotaryEmbedding",
            [suite.floats(2, 4, 16), suite.integers(0, 16, 2, 4), cosines, sines],
            {"interleaved": interleaved},
            atol=1e-4,
        )
    microsoft(
        suite,
        "rotaryembedding_partial",
        "RotaryEmbedding",
        [suite.floats(1, 4, 24), np.array([0]), cosines, sines],
        {"num_heads": 2, "rotary_embedding_dim": 8},
        atol=1e-4,
    )


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
        microsoft(
            suite,
            f"groupqueryattention_{name}",
            "GroupQueryAttention",
            inputs,
            {**common, **(attributes or {}), **({"do_rotary": 1} if rotary else {})},
            outputs=3,
            atol=1e-4,
            **options,
        )

    add("prefill", 5, 0, [4, 4])
    add("token", 1, 6, [6, 6])
    add("packed", 3, 0, [2, 2], packed=True)
    add("rotary", 4, 0, [3, 3], rotary=True)
    add("rotary_interleaved_token", 1, 5, [5, 5], {"rotary_interleaved": 1}, rotary=True)
    add("softcap_scale", 4, 0, [3, 3], {"softcap": 2.0, "scale": 0.2})
    add("local_window", 6, 0, [5, 5], {"local_window_size": 3})
    add("local_window_token", 1, 7, [7, 7], {"local_window_size": 3})
    add("smooth_softmax", 3, 0, [2, 2], {"smooth_softmax": 1})


def mixtures(suite):
    tokens, hidden, inner, experts = 4, 6, 10, 3
    x, router = suite.floats(tokens, hidden), suite.floats(tokens, experts)
    for activation in ("relu", "gelu", "silu", "identity"):
        microsoft(
            suite,
            f"moe_{activation}",
            "MoE",
            [
                x,
                router,
                suite.floats(experts, inner, hidden, scale=0.4),
                suite.floats(experts, inner),
                suite.floats(experts, hidden, inner, scale=0.4),
                suite.floats(experts, hidden),
            ],
            {"k": 2, "activation_type": activation, "normalize_routing_weights": 1},
            atol=1e-3,
        )
    microsoft(
        suite,
        "moe_top_1_no_bias",
        "MoE",
        [x, router, suite.floats(experts, inner, hidden), None, suite.floats(experts, hidden, inner)],
        {"k": 1, "activation_type": "relu"},
        atol=1e-3,
    )
    microsoft(
        suite,
        "causalconvwithstate",
        "CausalConvWithState",
        [suite.floats(2, 3, 5), suite.floats(3, 1, 4), suite.floats(3), suite.floats(2, 3, 3)],
        {"activation": "silu"},
        outputs=2,
        atol=1e-4,
    )
    microsoft(suite, "causalconvwithstate_no_past", "CausalConvWithState", [suite.floats(1, 3, 5), suite.floats(3, 1, 3)], outputs=2, atol=1e-4)
    for rule in ("linear", "gated", "delta", "gated_delta"):
        d = 4
        inputs = [suite.floats(1, 3, 2 * d), suite.floats(1, 3, 2 * d, scale=0.5), suite.floats(1, 3, 2 * d), suite.floats(1, 2, d, d)]
        inputs += [-suite.uniform(0, 1, 1, 3, 2) if "gated" in rule else None, suite.uniform(0, 1, 1, 3, 2) if "delta" in rule else None]
        while inputs[-1] is None:
            inputs.pop()
        microsoft(suite, f"linearattention_{rule}", "LinearAttention", inputs, {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": rule}, outputs=2, atol=1e-3)


def words(suite):
    lines = np.array(["hello world", "a  b,c", "", "größe x"], object)
    microsoft(suite, "tokenizer_separators", "Tokenizer", [lines], {"separators": [" ", ","], "mark": 0, "pad_value": "#", "mincharnum": 1})
    microsoft(suite, "tokenizer_marked", "Tokenizer", [lines[:2]], {"separators": [" "], "mark": 1, "pad_value": "<pad>", "mincharnum": 2})
    microsoft(
        suite, "tokenizer_characters", "Tokenizer", [np.array([["ab", "größe"]], object)], {"separators": [""], "mark": 0, "pad_value": "", "mincharnum": 1}
    )
    microsoft(suite, "tokenizer_expression", "Tokenizer", [lines], {"tokenexp": "[a-zö]+", "mark": 0, "pad_value": "?", "mincharnum": 1})
    microsoft(
        suite,
        "wordconvembedding",
        "WordConvEmbedding",
        [np.array([[1, 2, 3, 0], [2, 2, 0, 0]], np.int32), suite.floats(4, 1, 2, 3), suite.floats(4), suite.floats(5, 3)],
        {"embedding_size": 4, "conv_window_size": 2, "char_embedding_size": 3},
    )


GROUPS = [activations, normalisations, fused, attention, grouped_attention, mixtures, words]
