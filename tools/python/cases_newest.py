"""Definitions that no other suite meets: what operator set 28 changed, and com.microsoft rows of standard operators."""

import numpy as np
from onnx import TensorProto, helper

from cases_contrib import microsoft
from cases_core import bfloat16

OPSET = 28


def _halves(suite, *shape):
    """bfloat16 numbers whose products and sums are exact."""
    return suite.integers(-8, 9, *shape).astype(bfloat16)


def shifts(suite):
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        bits = np.dtype(dtype).itemsize * 8
        x = np.array([1, -1, 5, -7, np.iinfo(dtype).min, np.iinfo(dtype).max, -128 if dtype == np.int8 else -300, 0], dtype)
        for direction in ("LEFT", "RIGHT"):
            for name, by in (("small", [0, 1, 2, 3, 1, 1, 4, 2]), ("edges", [bits - 1, bits, bits + 1, -1, bits, -3, 100, bits - 1])):
                amounts = np.array(by, dtype)
                suite.case(
                    f"bitshift_v28_{np.dtype(dtype).name}_{direction.lower()}_{name}",
                    "BitShift",
                    [x, amounts],
                    {"direction": direction},
                    opset=OPSET,
                    expected=lambda x, y, d=direction: _shift(x, y, d),
                )


def _shift(x, amounts, direction):
    bits = x.dtype.itemsize * 8
    result = []
    for value, by in zip(x.tolist(), amounts.tolist()):
        outside = not 0 <= by < bits
        if direction == "RIGHT":
            result.append((-1 if value < 0 else 0) if outside else value >> by)
        else:
            result.append(0 if outside else ((value << by) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))
    return np.array(result, x.dtype)


def moved(suite):
    x = _halves(suite, 3, 4, 2)
    suite.case("compress_v28_bfloat16", "Compress", [x, np.array([True, False, True])], {"axis": 0}, opset=OPSET, expected=lambda x, c: x[c])
    suite.case(
        "reversesequence_v28_bfloat16",
        "ReverseSequence",
        [x, np.array([3, 1, 2, 3])],
        opset=OPSET,
        expected=lambda x, n: np.stack([np.concatenate([x[:k, i][::-1], x[k:, i]]) for i, k in enumerate(n)], 1),
    )
    suite.case(
        "onehot_v28_bfloat16",
        "OneHot",
        [np.array([0, 2, -1]), np.int64(4), np.array([0.5, 3], bfloat16)],
        opset=OPSET,
        expected=lambda i, d, v: np.where(np.arange(4) == (i % 4)[:, None], v[1], v[0]),
    )
    suite.case(
        "spacetodepth_v28_bfloat16",
        "SpaceToDepth",
        [_halves(suite, 1, 2, 4, 6)],
        {"blocksize": 2},
        opset=OPSET,
        expected=lambda x: x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3),
    )
    suite.case(
        "unique_v28_bfloat16",
        "Unique",
        [np.array([2, 1, 2, 3, 1], bfloat16)],
        opset=OPSET,
        outputs=4,
        expected=[np.array([1, 2, 3], bfloat16), np.array([1, 0, 3]), np.array([1, 0, 1, 2, 0]), np.array([2, 2, 1])],
    )
    suite.case(
        "einsum_v28_bfloat16",
        "Einsum",
        [_halves(suite, 2, 3), _halves(suite, 3, 4)],
        {"equation": "ij,jk->ik"},
        opset=OPSET,
        expected=lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(bfloat16),
    )
    positive = suite.uniform(0.2, 3, 2, 3, 4)
    suite.case("reducelogsum_v28", "ReduceLogSum", [positive, np.array([1])], opset=OPSET, expected=lambda x, a: np.log(x.sum(1, keepdims=True)))
    suite.case("reducelogsumexp_v28", "ReduceLogSumExp", [positive, np.array([1])], opset=OPSET, expected=lambda x, a: np.log(np.exp(x).sum(1, keepdims=True)))


def optionals(suite):
    x = suite.floats(2, 3)
    some = helper.make_node("Optional", ["x"], ["o"])
    none = helper.make_node("Optional", [], ["n"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    nodes = [
        some,
        none,
        helper.make_node("OptionalHasElement", ["o"], ["has"]),
        helper.make_node("OptionalHasElement", ["n"], ["has_none"]),
        helper.make_node("OptionalGetElement", ["o"], ["y"]),
    ]
    outputs = [
        helper.make_tensor_value_info("has", TensorProto.BOOL, []),
        helper.make_tensor_value_info("has_none", TensorProto.BOOL, []),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3]),
    ]
    graph = helper.make_graph(nodes, "optional", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=14, producer_name="linnet cases")
    differs = {"reference": "takes an empty optional for a full one"}
    suite.add("optional_v28", model, [x], expected=[np.array(True), np.array(False), x], differs=differs)


def borrowed(suite):
    x, scale = suite.floats(2, 4, 8), suite.floats(8)
    microsoft(
        suite,
        "layernormalization",
        "LayerNormalization",
        [x, scale, suite.floats(8)],
        {"axis": -1, "epsilon": 1e-5},
        expected=lambda x, s, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5)) * s + b,
        atol=1e-4,
    )
    microsoft(
        suite,
        "simplifiedlayernormalization",
        "SimplifiedLayerNormalization",
        [x, scale],
        {"axis": -1, "epsilon": 1e-5},
        expected=lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * s,
        atol=1e-4,
    )
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        name, zero = np.dtype(dtype).name, dtype(7)
        microsoft(suite, f"quantizelinear_{name}", "QuantizeLinear", [x, np.float32(0.03), zero])
        microsoft(suite, f"dequantizelinear_{name}", "DequantizeLinear", [suite.integers(0, 99, 2, 5, dtype=dtype), np.float32(0.03), zero])
    per_axis = [suite.uniform(0.01, 0.05, 4), suite.integers(0, 9, 4, dtype=np.uint8)]
    microsoft(suite, "quantizelinear_axis", "QuantizeLinear", [x, *per_axis], {"axis": 1})


def sparse_mixtures(suite):
    tokens, hidden, inner, experts = 5, 6, 8, 4
    x, router = suite.floats(tokens, hidden), suite.floats(tokens, experts)
    router[1] = [1, 1.01, 0.995, 0.2]
    router[2] = [-1, -1.01, -1.005, -3]
    w1, w2 = suite.floats(experts, inner, hidden), suite.floats(experts, hidden, inner)
    expected = np.zeros_like(x)
    for row, scores in enumerate(router):
        for expert, weight in _sparse_weights(scores):
            expected[row] += weight * (w2[expert] @ np.maximum(w1[expert] @ x[row], 0))
    microsoft(
        suite,
        "moe_sparse_mixer",
        "MoE",
        [x, router, w1, None, w2],
        {"k": 2, "use_sparse_mixer": 1, "activation_type": "relu"},
        expected=expected,
        differs={"onnxruntime": "has the sparse mixer on another provider only"},
        atol=1e-4,
    )


def _sparse_weights(scores):
    """SparseMixer-2: each of the two best, weighed among those within 2 % of it."""
    left = scores.astype(np.float64).copy()
    for _ in range(2):
        best = int(np.argmax(left))
        near = (left[best] - scores) / np.maximum(np.abs(scores), left[best]) <= 0.02
        yield best, 1 / np.exp(np.where(near, left, -np.inf) - left[best]).sum()
        left[best] = -np.inf


def _packed(codes, bits):
    """Codes along the last axis, low bits first."""
    stream = ((codes[..., None] >> np.arange(bits)) & 1).reshape(*codes.shape[:-1], -1)
    return np.packbits(stream.astype(np.uint8), axis=-1, bitorder="little")


def quantised_mixtures(suite):
    tokens, hidden, inner, experts = 3, 32, 32, 4
    x, router = suite.floats(tokens, hidden), suite.floats(tokens, experts)
    for bits in (2, 3, 4, 8):
        for block in (0, 16):
            w1 = suite.integers(0, 2**bits, experts, inner, hidden, dtype=np.uint8)
            w2 = suite.integers(0, 2**bits, experts, hidden, inner, dtype=np.uint8)
            blocks = (hidden // block,) if block else ()
            s1, s2 = suite.uniform(0.01, 0.05, experts, inner, *blocks), suite.uniform(0.01, 0.05, experts, hidden, *blocks)
            b1, b2 = suite.floats(experts, inner), suite.floats(experts, hidden)
            microsoft(
                suite,
                f"qmoe_{bits}_bits{f'_block_{block}' if block else ''}",
                "QMoE",
                [x, router, _packed(w1, bits), s1, b1, _packed(w2, bits), s2, b2],
                {"k": 2, "activation_type": "silu", "expert_weight_bits": bits, "normalize_routing_weights": 1, **({"block_size": block} if block else {})},
                constants=(2, 3, 5, 6),
                expected=_mixture(x, router, _wide(w1, s1, bits, block), b1, _wide(w2, s2, bits, block), b2),
                differs={"onnxruntime": "rounds the tokens to int8"} if bits == 8 and block else {},
                atol=1e-3,
            )


def _wide(codes, scales, bits, block):
    """The weights that codes stand for."""
    scales = np.repeat(scales, block, -1) if block else scales[..., None]
    return (codes.astype(np.float64) - 2 ** (bits - 1)) * scales


def _mixture(x, router, w1, b1, w2, b2):
    """The two best experts of each token, weighed by the softmax of their scores."""
    result = np.zeros_like(x, np.float64)
    for row, scores in enumerate(router.astype(np.float64)):
        best = np.argsort(-scores)[:2]
        weights = np.exp(scores[best] - scores.max())
        for expert, weight in zip(best, weights / weights.sum()):
            line = w1[expert] @ x[row] + b1[expert]
            result[row] += weight * (w2[expert] @ (line / (1 + np.exp(-line))) + b2[expert])
    return result.astype(np.float32)


GROUPS = [shifts, moved, optionals, borrowed, sparse_mixtures, quantised_mixtures]
