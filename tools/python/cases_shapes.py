"""Shapes that break loops: no elements, rank 0, many dimensions, negative axes, broadcasting from both sides."""

import numpy as np

OPSET = 21


def _empty(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def _i64(*values):
    return np.array(values, np.int64)


def empty_elementwise(suite):
    for index, (a, b) in enumerate((((0, 3), (1, 3)), ((2, 0, 4), (4,)), ((0,), (1,)), ((3, 1), (1, 0)), ((0, 1), ()))):
        for op, function in (("Add", np.add), ("Mul", np.multiply)):
            suite.case(f"empty_{op.lower()}_{index}", op, [_empty(*a), np.ones(b, np.float32)], opset=OPSET, expected=function)
    suite.case(
        "empty_where", "Where", [np.zeros((0, 1), bool), np.ones((1, 3), np.float32), np.float32(2)], opset=OPSET, expected=lambda c, a, b: np.where(c, a, b)
    )
    for op in ("Relu", "Exp", "Sigmoid", "Gelu", "Softplus", "Not", "Sign"):
        x = _empty(2, 0, 3, dtype=bool if op == "Not" else np.float32)
        suite.case(f"empty_{op.lower()}", op, [x], opset=OPSET, expected=lambda x: x)
    suite.case("empty_cast", "Cast", [_empty(0, 2)], {"to": 7}, opset=OPSET)
    suite.case("empty_equal", "Equal", [_empty(0, 2, dtype=np.int64), _i64(1, 2)], opset=OPSET)
    suite.case("empty_max_three", "Max", [_empty(0, 2), np.ones((1, 2), np.float32), np.ones((1, 1), np.float32)], opset=OPSET)


def empty_reductions(suite):
    expected = {
        "ReduceSum": 0,
        "ReduceProd": 1,
        "ReduceL1": 0,
        "ReduceL2": 0,
        "ReduceSumSquare": 0,
        "ReduceLogSum": -np.inf,
        "ReduceLogSumExp": -np.inf,
        "ReduceMax": -np.inf,
        "ReduceMin": np.inf,
    }
    for op, value in expected.items():
        suite.case(f"empty_{op.lower()}", op, [_empty(2, 0, 3), _i64(1)], {"keepdims": 0}, opset=20, expected=np.full((2, 3), value, np.float32))
        suite.case(f"empty_{op.lower()}_nothing_left", op, [_empty(0, 3), _i64(1)], opset=20, expected=_empty(0, 1))
    suite.case("empty_reducesum_no_axes_noop", "ReduceSum", [suite.floats(2, 3), _empty(0, dtype=np.int64)], {"noop_with_empty_axes": 1}, opset=13)
    suite.case("empty_reducesum_no_axes_all", "ReduceSum", [suite.floats(2, 3), _empty(0, dtype=np.int64)], opset=13)
    suite.case("empty_reducesumsquare_noop", "ReduceSumSquare", [suite.floats(2, 3)], {"noop_with_empty_axes": 1}, opset=18, expected=lambda x: x * x)
    suite.case("empty_reducel1_noop_scalar", "ReduceL1", [np.float32(-3)], opset=18, expected=np.abs)
    suite.case("empty_softmax", "Softmax", [_empty(0, 3)], opset=OPSET, expected=lambda x: x)
    suite.case("empty_softmax_axis", "Softmax", [_empty(3, 0)], opset=OPSET, expected=lambda x: x)
    suite.case("empty_cumsum", "CumSum", [_empty(2, 0), np.int64(1)], opset=OPSET, expected=lambda x, a: x)
    suite.case("empty_layernormalization", "LayerNormalization", [_empty(0, 4), np.ones(4, np.float32)], opset=OPSET, expected=lambda x, s: x)
    suite.case("empty_argmax", "ArgMax", [_empty(0, 4)], {"axis": 1}, opset=OPSET, expected=_empty(0, 1, dtype=np.int64))
    suite.case("empty_topk", "TopK", [suite.floats(2, 3), _i64(0)], opset=OPSET, outputs=2, expected=[_empty(2, 0), _empty(2, 0, dtype=np.int64)])
    suite.case("empty_topk_rows", "TopK", [_empty(0, 3), _i64(2)], opset=OPSET, outputs=2, expected=[_empty(0, 2), _empty(0, 2, dtype=np.int64)])
    suite.case("empty_unique", "Unique", [_empty(0)], opset=OPSET, outputs=4, expected=[_empty(0), *[_empty(0, dtype=np.int64)] * 3])


def empty_products(suite):
    for index, (a, b) in enumerate((((2, 0), (0, 3)), ((0, 4), (4, 3)), ((2, 4), (4, 0)), ((3, 2, 0), (3, 0, 1)), ((0, 2, 3), (1, 3, 2)), ((0,), (0,)))):
        suite.case(f"empty_matmul_{index}", "MatMul", [_empty(*a), _empty(*b)], opset=OPSET, expected=np.matmul)
    suite.case("empty_gemm_k", "Gemm", [_empty(2, 0), _empty(0, 3), suite.floats(3)], {"beta": 2.0}, opset=13, expected=lambda a, b, c: np.tile(2 * c, (2, 1)))
    suite.case("empty_gemm_m", "Gemm", [_empty(0, 2), suite.floats(2, 3), suite.floats(3)], opset=13, expected=_empty(0, 3))
    suite.case("empty_einsum_k", "Einsum", [_empty(2, 0), _empty(0, 3)], {"equation": "ij,jk->ik"}, opset=OPSET, expected=np.zeros((2, 3), np.float32))
    suite.case("empty_matmulinteger", "MatMulInteger", [_empty(0, 2, dtype=np.uint8), _empty(2, 3, dtype=np.uint8)], opset=OPSET)
    weights = suite.floats(4, 3, 3, 3)
    suite.case("empty_conv_batch", "Conv", [_empty(0, 3, 5, 5), weights], opset=OPSET, expected=_empty(0, 4, 3, 3))
    suite.case("empty_maxpool_batch", "MaxPool", [_empty(0, 3, 5, 5)], {"kernel_shape": [2, 2]}, opset=OPSET, expected=_empty(0, 3, 4, 4))
    suite.case("empty_globalaveragepool_batch", "GlobalAveragePool", [_empty(0, 3, 5, 5)], opset=OPSET, expected=_empty(0, 3, 1, 1))
    ones = np.ones(3, np.float32)
    suite.case("empty_batchnormalization_batch", "BatchNormalization", [_empty(0, 3, 2), ones, ones, ones, ones], opset=15, expected=_empty(0, 3, 2))


def empty_moving(suite):
    x = suite.floats(2, 3)
    suite.case("empty_concat", "Concat", [x, _empty(2, 0), x], {"axis": -1}, opset=OPSET)
    suite.case("empty_concat_only", "Concat", [_empty(0, 3), _empty(0, 3)], {"axis": 0}, opset=OPSET)
    suite.case("empty_gather_index", "Gather", [x, _empty(0, dtype=np.int64)], {"axis": 1}, opset=OPSET)
    suite.case("empty_gather_index_2d", "Gather", [x, _empty(2, 0, dtype=np.int32)], opset=OPSET)
    suite.case("empty_gatherelements", "GatherElements", [x, _empty(0, 3, dtype=np.int64)], opset=OPSET)
    suite.case("empty_gathernd", "GatherND", [x, _empty(0, 2, dtype=np.int64)], opset=OPSET)
    suite.case("empty_scatternd", "ScatterND", [x, _empty(0, 1, dtype=np.int64), _empty(0, 3)], opset=OPSET, expected=lambda x, *_: x)
    suite.case("empty_scatterelements", "ScatterElements", [x, _empty(0, 3, dtype=np.int64), _empty(0, 3)], opset=OPSET, expected=lambda x, *_: x)
    suite.case("empty_reshape_allowzero", "Reshape", [_empty(0, 3), _i64(3, 0, 2)], {"allowzero": 1}, opset=OPSET)
    suite.case("empty_reshape_copy", "Reshape", [_empty(0, 3), _i64(0, 3, 1)], opset=OPSET)
    suite.case("empty_reshape_to_scalar", "Reshape", [suite.floats(1, 1), _empty(0, dtype=np.int64)], opset=OPSET)
    suite.case("empty_transpose", "Transpose", [_empty(2, 0, 3)], {"perm": [2, 0, 1]}, opset=OPSET)
    suite.case("empty_slice_result", "Slice", [x, _i64(2), _i64(1), _i64(1)], opset=OPSET)
    suite.case("empty_slice_past_the_end", "Slice", [x, _i64(7), _i64(9), _i64(0)], opset=OPSET)
    suite.case("empty_slice_negative_step", "Slice", [_empty(0, 3), _i64(-1), _i64(-9), _i64(1), _i64(-1)], opset=OPSET)
    suite.case("empty_expand", "Expand", [suite.floats(1, 3), _i64(0, 3)], opset=OPSET)
    suite.case("empty_tile", "Tile", [x, _i64(0, 2)], opset=OPSET)
    suite.case("empty_pad", "Pad", [_empty(0, 2), _i64(1, 0, 1, 1), np.float32(3)], opset=OPSET)
    suite.case("empty_split", "Split", [x, _i64(0, 3)], {"axis": 1}, opset=OPSET, outputs=2, expected=lambda x, s: [x[:, :0], x])
    suite.case("empty_nonzero", "NonZero", [np.zeros((2, 3), np.float32)], opset=OPSET)
    suite.case("empty_nonzero_of_nothing", "NonZero", [_empty(0, 3)], opset=OPSET)
    suite.case(
        "empty_nonzero_scalar",
        "NonZero",
        [np.float32(5)],
        opset=OPSET,
        expected=np.zeros((0, 1), np.int64),
        differs={"onnxruntime": "gives a row for a scalar"},
    )
    suite.case("empty_compress", "Compress", [x, np.array([False, False])], {"axis": 0}, opset=OPSET)
    suite.case("empty_range", "Range", [np.int64(3), np.int64(3), np.int64(1)], opset=OPSET)
    suite.case("empty_range_backwards", "Range", [np.float32(0), np.float32(2), np.float32(-1)], opset=OPSET)
    suite.case("empty_shape_scalar", "Shape", [np.float32(1)], opset=OPSET, expected=_empty(0, dtype=np.int64))
    suite.case("empty_shape_slice", "Shape", [x], {"start": 1, "end": -1}, opset=OPSET)
    suite.case("empty_size", "Size", [_empty(3, 0)], opset=OPSET)
    suite.case("empty_constantofshape", "ConstantOfShape", [_i64(2, 0)], opset=OPSET)
    suite.case("empty_constantofshape_scalar", "ConstantOfShape", [_empty(0, dtype=np.int64)], opset=OPSET)
    suite.case("empty_onehot", "OneHot", [_empty(0, dtype=np.int64), np.int64(4), np.array([0, 1], np.float32)], opset=OPSET)
    suite.case("empty_squeeze_all", "Squeeze", [_empty(1, 0, 1)], opset=OPSET)
    suite.case("empty_unsqueeze", "Unsqueeze", [_empty(0), _i64(0, -1)], opset=OPSET)
    suite.case("empty_flatten", "Flatten", [_empty(0, 3, 2)], {"axis": 2}, opset=OPSET)
    suite.case(
        "empty_string_concat", "StringConcat", [np.zeros((0, 2), object), np.array([["a", "b"]], object)], opset=OPSET, expected=np.zeros((0, 2), object)
    )
    boxes = _empty(1, 0, 4)
    suite.case("empty_nonmaxsuppression", "NonMaxSuppression", [boxes, _empty(1, 2, 0), _i64(3)], opset=11, expected=_empty(0, 3, dtype=np.int64))


def negative_axes(suite):
    x = suite.floats(2, 3, 4)
    cases = (
        ("Concat", [x, x], {"axis": -2}, 1),
        ("Split", [x, _i64(1, 2)], {"axis": -2}, 2),
        ("Softmax", [x], {"axis": -3}, 1),
        ("LogSoftmax", [x], {"axis": -2}, 1),
        ("Hardmax", [x], {"axis": -2}, 1),
        ("CumSum", [x, np.int32(-3)], {"reverse": 1}, 1),
        ("Gather", [x, _i64(-1, 0)], {"axis": -2}, 1),
        ("GatherElements", [x, np.full((2, 1, 4), -1)], {"axis": -2}, 1),
        ("ScatterElements", [x, np.full((2, 1, 4), -2), suite.floats(2, 1, 4)], {"axis": -2, "reduction": "max"}, 1),
        ("TopK", [x, _i64(2)], {"axis": -2, "largest": 0}, 2),
        ("ArgMin", [x], {"axis": -3, "keepdims": 0}, 1),
        ("ReduceMean", [x, _i64(-1, -3)], {"keepdims": 0}, 1),
        ("ReduceMax", [x, _i64(-2)], {}, 1),
        ("Squeeze", [x[:, :1], _i64(-2)], {}, 1),
        ("Unsqueeze", [x, _i64(-1, -3)], {}, 1),
        ("Flatten", [x], {"axis": -1}, 1),
        ("Compress", [x, np.array([True, False, True])], {"axis": -2}, 1),
        ("OneHot", [_i64(0, -1, 2), np.int64(3), np.float32([0, 2])], {"axis": -2}, 1),
        ("LayerNormalization", [x, suite.floats(3, 4), suite.floats(3, 4)], {"axis": -2}, 3),
        ("Slice", [x, _i64(-1, -2), _i64(-9, 9), _i64(-1, -3), _i64(-1, 1)], {}, 1),
        ("Unique", [np.round(x)], {"axis": -2}, 4),
        ("DequantizeLinear", [suite.integers(-9, 9, 2, 3, 4, dtype=np.int8), suite.uniform(0.1, 1, 3)], {"axis": -2}, 1),
        ("QuantizeLinear", [x, suite.uniform(0.1, 1, 3), np.array([0, 1, 2], np.int8)], {"axis": -2}, 1),
        ("Pad", [x, _i64(1, 2), np.float32(7), _i64(-2)], {}, 1),
    )
    for op, inputs, attributes, outputs in cases:
        suite.case(f"negative_axis_{op.lower()}", op, inputs, attributes, opset=OPSET, outputs=outputs)


def ranks(suite):
    suite.case("rank_6_add", "Add", [suite.floats(2, 1, 3, 1, 2, 1), suite.floats(1, 2, 1, 3, 1, 2)], opset=OPSET)
    suite.case("rank_8_mul", "Mul", [suite.floats(1, 2, 1, 2, 1, 2, 1, 2), suite.floats(2, 1, 2, 1, 2, 1, 2, 1)], opset=OPSET)
    suite.case("rank_0_sub", "Sub", [suite.floats(), np.float32(2)], opset=OPSET)
    suite.case("rank_7_transpose", "Transpose", [suite.floats(2, 1, 3, 2, 1, 2, 2)], {"perm": [6, 2, 0, 5, 3, 1, 4]}, opset=OPSET)
    suite.case("rank_0_transpose", "Transpose", [np.float32(4)], opset=OPSET, expected=lambda x: x)
    suite.case("rank_6_reduce", "ReduceSum", [suite.floats(2, 3, 2, 1, 3, 2), _i64(0, 2, 4)], {"keepdims": 0}, opset=OPSET)
    suite.case("rank_6_reduce_max", "ReduceMax", [suite.floats(2, 3, 2, 2, 3, 2), _i64(1, 3, 5)], opset=OPSET)
    for index, (a, b) in enumerate(
        (((3,), (3,)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)), ((2, 1, 2, 3), (4, 3, 5)), ((1, 2), (3, 2, 2)), ((2, 2, 1, 2, 3), (2, 1, 3, 2)))
    ):
        suite.case(f"rank_matmul_{index}", "MatMul", [suite.floats(*a), suite.floats(*b)], opset=OPSET)
    x = suite.floats(3, 2, 4, 5)
    suite.case("rank_4_slice_steps", "Slice", [x, _i64(-1, 0, 3, 4), _i64(-100, 2, 0, -100), _i64(0, 1, 2, 3), _i64(-2, 1, -1, -3)], opset=OPSET)
    suite.case("rank_5_expand", "Expand", [suite.floats(3, 1, 2), _i64(2, 1, 3, 4, 1)], opset=OPSET)
    suite.case("rank_5_tile", "Tile", [suite.floats(1, 2, 1, 2, 2), _i64(2, 1, 3, 2, 1)], opset=OPSET)
    suite.case("rank_5_gathernd_batch", "GatherND", [suite.floats(2, 2, 3, 2), suite.integers(-3, 3, 2, 2, 4, 1)], {"batch_dims": 2}, opset=OPSET)
    suite.case("rank_0_gather_index", "Gather", [x, np.int64(-2)], {"axis": 2}, opset=OPSET)
    suite.case("rank_5_concat", "Concat", [suite.floats(1, 2, 2, 1, 2), suite.floats(1, 2, 2, 3, 2)], {"axis": 3}, opset=OPSET)
    suite.case("rank_5_pad_wrap", "Pad", [suite.floats(2, 3), _i64(1, 2, 1, 2)], {"mode": "wrap"}, opset=19)
    suite.case("rank_5_softmax", "Softmax", [suite.floats(2, 1, 3, 2, 2)], {"axis": 2}, opset=OPSET)
    suite.case("rank_3_where_scalar", "Where", [suite.bools(2, 1, 3), np.float32(1), suite.floats(4, 1)], opset=OPSET)
    suite.case("rank_3_nonzero_large", "NonZero", [suite.bools(3, 4, 5)], opset=OPSET)
    suite.case("rank_2_einsum_ellipsis", "Einsum", [suite.floats(2, 3, 4, 5), suite.floats(3, 5, 2)], {"equation": "...ij,...jk->...ik"}, opset=OPSET)
    suite.case("rank_3_einsum_diagonal", "Einsum", [suite.floats(3, 3, 2)], {"equation": "iij->j"}, opset=OPSET)
    suite.case("rank_3_einsum_outer", "Einsum", [suite.floats(2), suite.floats(3), suite.floats(4)], {"equation": "a,b,c->cab"}, opset=OPSET)
    suite.case("rank_2_einsum_implicit", "Einsum", [suite.floats(3, 2), suite.floats(3, 4)], {"equation": "ba, bc"}, opset=OPSET)


def tails(suite):
    """Lengths around the width of a vector, so that every tail of a kernel runs."""
    for n in (1, 2, 3, 5, 7, 15, 17, 31, 33):
        suite.case(f"tail_tanh_{n}", "Tanh", [suite.floats(n, scale=3)], opset=OPSET)
        suite.case(f"tail_softmax_{n}", "Softmax", [suite.floats(2, n, scale=4)], opset=OPSET)
        suite.case(f"tail_matmul_{n}", "MatMul", [suite.floats(n, 5), suite.floats(5, n)], opset=OPSET)
        suite.case(f"tail_layernormalization_{n}", "LayerNormalization", [suite.floats(2, n), suite.floats(n), suite.floats(n)], opset=OPSET, atol=1e-4)
    for k in (1, 3, 6, 9, 16, 19):
        suite.case(f"tail_gemm_k_{k}", "Gemm", [suite.floats(k, 7), suite.floats(9, k), suite.floats(9)], {"transA": 1, "transB": 1}, opset=13)


GROUPS = [empty_elementwise, empty_reductions, empty_products, empty_moving, negative_axes, ranks, tails]
