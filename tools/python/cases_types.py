"""Types: integer arithmetic at its edges, casts between all kinds of numbers and text, half types, NaN and infinities."""

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
BFLOAT16 = ml_dtypes.bfloat16
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def _name(dtype):
    return np.dtype(dtype).name


def integer_arithmetic(suite):
    for dtype in INTEGERS:
        signed = np.issubdtype(dtype, np.signedinteger)
        a = suite.integers(-100 if signed else 0, 100, 3, 4, dtype=dtype)
        b = suite.integers(1, 9, 4, dtype=dtype)
        b = b * np.array([1, -1, 1, -1], dtype) if signed else b
        for op, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)):
            suite.case(f"integer_{op.lower()}_{_name(dtype)}", op, [a, b], opset=14, expected=lambda a, b, f=function: f(a, b))
        suite.case(f"integer_div_{_name(dtype)}", "Div", [a, b], opset=14, expected=_truncated_division)
        suite.case(f"integer_mod_{_name(dtype)}", "Mod", [a, b], opset=13, expected=np.mod)
        suite.case(f"integer_fmod_{_name(dtype)}", "Mod", [a, b], {"fmod": 1}, opset=13, expected=np.fmod)
        suite.case(f"integer_max_{_name(dtype)}", "Max", [a, b], opset=13)
        suite.case(f"integer_less_{_name(dtype)}", "Less", [a, b], opset=13)
        suite.case(f"integer_clip_{_name(dtype)}", "Clip", [a, dtype(3), dtype(50)], opset=13)
        suite.case(f"integer_sign_{_name(dtype)}", "Sign", [a], opset=13, expected=np.sign)
        suite.case(f"integer_equal_{_name(dtype)}", "Equal", [a % 5, b % 5], opset=13)
        if signed:
            suite.case(f"integer_abs_{_name(dtype)}", "Abs", [a], opset=13)
            suite.case(f"integer_neg_{_name(dtype)}", "Neg", [a], opset=13)
    wide = np.array([2**62, -(2**62), 2**53 + 1, -1], np.int64)
    suite.case("integer_add_int64_wide", "Add", [wide, np.array([1, -1, 2, 3])], opset=14)
    suite.case("integer_mul_int64_wraps", "Mul", [wide, np.array([3])], opset=14, expected=np.multiply)
    suite.case("integer_less_uint64_high", "Less", [np.array([2**63, 5], np.uint64), np.array([1, 2**64 - 1], np.uint64)], opset=13)
    suite.case("integer_max_uint64_high", "Max", [np.array([2**63, 5], np.uint64), np.array([1, 2**64 - 1], np.uint64)], opset=13)
    suite.case(
        "integer_reducesum_int64_wide", "ReduceSum", [wide], opset=13, expected=lambda x: x.sum(keepdims=True), differs={"onnxruntime": "loses the last bit"}
    )
    suite.case("integer_reducemax_int64_wide", "ReduceMax", [wide], opset=18)
    suite.case(
        "integer_reducemean_int32",
        "ReduceMean",
        [suite.integers(0, 50, 3, 4, dtype=np.int32) * 4, np.array([1])],
        opset=18,
        expected=lambda x, a: (x.sum(1, keepdims=True) / 4).astype(np.int32),
    )
    suite.case("integer_reduceprod_int32", "ReduceProd", [suite.integers(1, 5, 3, 4, dtype=np.int32), np.array([0])], opset=18)
    suite.case("integer_argmax_int64_wide", "ArgMax", [wide], opset=13)
    suite.case("integer_topk_int64", "TopK", [wide, np.array([3])], opset=11, outputs=2)
    suite.case("integer_cumsum_int64_wide", "CumSum", [np.array([2**53, 1, 1, -(2**53)]), np.int32(0)], {"exclusive": 1}, opset=14)
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        suite.case(
            f"integer_matmul_{_name(dtype)}", "MatMul", [suite.integers(0, 2**20, 2, 3, dtype=dtype), suite.integers(0, 2**9, 3, 4, dtype=dtype)], opset=13
        )
        suite.case(
            f"integer_gemm_{_name(dtype)}",
            "Gemm",
            [suite.integers(0, 20, 2, 3, dtype=dtype), suite.integers(0, 9, 4, 3, dtype=dtype), suite.integers(0, 9, 1, dtype=dtype)],
            {"transB": 1},
            opset=13,
        )
    suite.case("integer_relu_int32", "Relu", [suite.integers(-5, 5, 7, dtype=np.int32)], opset=14)
    suite.case("integer_pow_int64_float", "Pow", [np.array([2, -3, 5]), np.array([3, 2, 0], np.float32)], opset=15)
    suite.case("integer_pow_float_int", "Pow", [np.array([2, -3, 0.5], np.float32), np.array([-2, 3, 4], np.int32)], opset=15)
    suite.case("integer_pow_int32", "Pow", [np.array([2, -3, 7], np.int32), np.array([5, 3, 0], np.int32)], opset=15)
    for op, function in (("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)):
        suite.case(
            f"integer_{op.lower()}_int16",
            op,
            [suite.integers(-300, 300, 2, 3, dtype=np.int16), suite.integers(-300, 300, 3, dtype=np.int16)],
            opset=18,
            expected=function,
        )
    suite.case("integer_bitwisenot_uint64", "BitwiseNot", [np.array([0, 1, 2**63], np.uint64)], opset=18)
    suite.case("integer_bitshift_uint8_out", "BitShift", [np.array([255, 3, 129], np.uint8), np.array([1, 7, 4], np.uint8)], {"direction": "LEFT"}, opset=11)
    suite.case("integer_range_int16", "Range", [np.int16(5), np.int16(-6), np.int16(-3)], opset=11)
    suite.case(
        "integer_matmulinteger_zero_points",
        "MatMulInteger",
        [suite.integers(0, 256, 3, 4, dtype=np.uint8), suite.integers(-128, 128, 4, 5, dtype=np.int8), np.uint8(128), suite.integers(-9, 9, 5, dtype=np.int8)],
        opset=10,
    )
    suite.case(
        "integer_convinteger_signed_weight",
        "ConvInteger",
        [suite.integers(0, 256, 1, 2, 4, 4, dtype=np.uint8), suite.integers(-128, 128, 3, 2, 2, 2, dtype=np.int8), np.uint8(7)],
        {"pads": [1, 0, 0, 1]},
        opset=10,
    )


def _truncated_division(a, b):
    """C's division: towards zero."""
    q = np.abs(a.astype(object)) // np.abs(b.astype(object))
    return (q * np.sign(a).astype(object) * np.sign(b).astype(object)).astype(a.dtype)


SPECIAL = np.array([0, -0.0, 1, -1.5, 2.5, 65504, 1e-8, 3.4e38, np.inf, -np.inf, np.nan], np.float32)


def casts(suite):
    plain = np.array([0, 1, 2.7, 100.5, -3.9, -128], np.float64)
    for dtype in (*INTEGERS, np.bool_, np.float16, np.float32):
        source = plain if np.issubdtype(dtype, np.signedinteger) or dtype in (np.bool_, np.float16, np.float32) else plain[:4]
        for origin in (np.float32, np.float64, np.float16):
            suite.case(
                f"cast_{_name(origin)}_to_{_name(dtype)}",
                "Cast",
                [source.astype(origin)],
                {"to": int(np.dtype(dtype) == np.bool_ and TensorProto.BOOL or _elem(dtype))},
                opset=OPSET,
                expected=lambda x, d=dtype: x.astype(d),
            )
    for origin in INTEGERS:
        x = np.array([0, 1, 100, 127], origin)
        for dtype in (np.float32, np.float16, np.uint8, np.int64, np.bool_):
            suite.case(f"cast_{_name(origin)}_to_{_name(dtype)}", "Cast", [x], {"to": _elem(dtype)}, opset=OPSET, expected=lambda x, d=dtype: x.astype(d))
    suite.case(
        "cast_int64_wraps_to_int8", "Cast", [np.array([300, -300, 128, 2**40 + 5])], {"to": TensorProto.INT8}, opset=OPSET, expected=lambda x: x.astype(np.int8)
    )
    suite.case("cast_uint64_to_double_high", "Cast", [np.array([2**63 + 2**11, 2**64 - 1], np.uint64)], {"to": TensorProto.DOUBLE}, opset=OPSET)
    suite.case("cast_bool_to_int64", "Cast", [np.array([True, False])], {"to": TensorProto.INT64}, opset=OPSET)
    suite.case("cast_special_to_float16", "Cast", [SPECIAL], {"to": TensorProto.FLOAT16}, opset=OPSET, expected=lambda x: x.astype(np.float16))
    suite.case("cast_special_to_double", "Cast", [SPECIAL], {"to": TensorProto.DOUBLE}, opset=OPSET)
    suite.case("cast_special_to_bool", "Cast", [SPECIAL], {"to": TensorProto.BOOL}, opset=OPSET)
    suite.case("cast_special_to_bfloat16", "Cast", [SPECIAL], {"to": TensorProto.BFLOAT16}, opset=OPSET, expected=lambda x: x.astype(BFLOAT16))
    half = np.array([0x0001, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x8000, 0x3555], np.uint16).view(np.float16)
    suite.case("cast_float16_subnormal_to_float", "Cast", [half], {"to": TensorProto.FLOAT}, opset=OPSET)
    ties = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65519.9, 65520, 2**-25, 2**-24 * 1.5], np.float32)
    suite.case("cast_float_ties_to_float16", "Cast", [ties], {"to": TensorProto.FLOAT16}, opset=OPSET, expected=lambda x: x.astype(np.float16))


def _elem(dtype):
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def text_casts(suite):
    numbers = np.array(["0", "-12.5", "1e3", "+7", "inf", "-INF", "NaN", " 3", ".5"], object)
    suite.case("cast_text_to_float", "Cast", [numbers[:7]], {"to": TensorProto.FLOAT}, opset=OPSET, expected=lambda x: x.astype(np.float32))
    suite.case("cast_text_to_double", "Cast", [numbers[[0, 1, 2, 8]]], {"to": TensorProto.DOUBLE}, opset=OPSET)
    suite.case("cast_text_to_int64", "Cast", [np.array(["0", "-12", "9007199254740993"], object)], {"to": TensorProto.INT64}, opset=OPSET)
    suite.case("cast_text_to_int32", "Cast", [np.array([["5"], ["-2147483648"]], object)], {"to": TensorProto.INT32}, opset=OPSET)
    for dtype in (np.int8, np.int32, np.int64, np.uint64):
        top = np.iinfo(dtype)
        suite.case(
            f"cast_{_name(dtype)}_to_text",
            "Cast",
            [np.array([0, 7, top.min, top.max], dtype)],
            {"to": TensorProto.STRING},
            opset=OPSET,
            expected=lambda x: x.astype(str).astype(object),
        )
    suite.case(
        "cast_float_to_text",
        "Cast",
        [np.array([0, 1, -2.5, 0.1, 1e10, 123456.789, 1e-7, 3.4028235e38, np.inf, -np.inf, np.nan], np.float32)],
        {"to": TensorProto.STRING},
        opset=OPSET,
        differs={"reference": "prints otherwise"},
    )
    suite.case("cast_double_to_text", "Cast", [np.array([0, 1.5, -1e300])], {"to": TensorProto.STRING}, opset=OPSET, differs={"reference": "prints otherwise"})


def special_values(suite):
    for op in (
        "Relu",
        "Sigmoid",
        "Tanh",
        "Exp",
        "Log",
        "Sqrt",
        "Abs",
        "Neg",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Reciprocal",
        "IsNaN",
        "IsInf",
        "Erf",
        "Softplus",
        "Softsign",
        "Sin",
        "Cos",
        "HardSwish",
        "Elu",
        "LeakyRelu",
        "Gelu",
        "Mish",
        "Atan",
        "Selu",
        "ThresholdedRelu",
        "HardSigmoid",
    ):
        x = SPECIAL if op not in ("Sin", "Cos") else SPECIAL[[0, 1, 2, 3, 4, 6, 10]]
        skip = {"HardSwish", "Gelu", "Mish", "Selu", "Softsign", "Sign", "Relu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu"}
        suite.case(f"special_{op.lower()}", op, [x[np.isfinite(x)] if op in skip else x], opset=22)
    suite.case("special_relu_nan", "Relu", [SPECIAL], opset=14, expected=lambda x: np.maximum(x, 0))
    suite.case("special_max_nan", "Max", [SPECIAL, np.float32(1)], opset=13, expected=np.maximum)
    suite.case("special_min_nan", "Min", [SPECIAL, np.array([np.nan], np.float32)], opset=13, expected=np.minimum)
    suite.case("special_clip_nan", "Clip", [SPECIAL, np.float32(-1), np.float32(2)], opset=13, expected=lambda x, a, b: np.clip(x, a, b))
    suite.case("special_clip_crossed", "Clip", [np.array([1, 3, 5], np.float32), np.float32(4), np.float32(2)], opset=13, expected=np.full(3, 2, np.float32))
    suite.case("special_softmax_large", "Softmax", [np.array([[1e4, 1e4 - 1, -1e4], [-3e38, 3e38, 0]], np.float32)], opset=13)
    suite.case("special_softmax_minus_infinity", "Softmax", [np.array([[-np.inf, 0, 1]], np.float32)], opset=13)
    suite.case(
        "special_logsoftmax_large",
        "LogSoftmax",
        [np.array([[1e4, 0, -1e4]], np.float32)],
        opset=13,
        differs={"reference": "takes the logarithm of the softmax"},
    )
    suite.case("special_reducelogsumexp_large", "ReduceLogSumExp", [np.array([[1e4, 1e4], [-1e4, -1e4]], np.float32), np.array([1])], opset=18)
    suite.case("special_sigmoid_edges", "Sigmoid", [np.array([-1e3, -89, -20, 20, 89, 1e3], np.float32)], opset=13)
    suite.case("special_tanh_small", "Tanh", [np.array([1e-30, -1e-10, 1e-4, 20, -20], np.float32)], opset=13, atol=0)
    suite.case("special_div_zero", "Div", [np.array([1, -1, 0], np.float32), np.zeros(3, np.float32)], opset=14)
    suite.case("special_mod_fmod_float", "Mod", [np.array([5.3, -5.3, 5.3], np.float32), np.array([2, 2, -2], np.float32)], {"fmod": 1}, opset=13)
    suite.case("special_round_half", "Round", [np.array([0.5, 1.5, -0.5, -2.5, 8388609.5], np.float32)], opset=11)
    suite.case(
        "special_maxpool_nan",
        "MaxPool",
        [np.array([[[1, np.nan, 2, 3, -np.inf, -np.inf]]], np.float32)],
        {"kernel_shape": [2], "strides": [2]},
        opset=12,
        expected=np.array([[[np.nan, 3, -np.inf]]], np.float32),
        differs={"onnxruntime": "drops NaN", "reference": "drops NaN"},
    )
    suite.case("special_argmax_ties", "ArgMax", [np.array([[3, 1, 3], [2, 2, 2]], np.float32)], {"axis": 1}, opset=13)
    suite.case("special_topk_ties", "TopK", [np.array([1, 3, 3, 2, 3], np.float32), np.array([4])], opset=11, outputs=2)
    suite.case("special_pow_edges", "Pow", [np.array([0, -8, 2, 0, -2], np.float32), np.array([0, 1 / 3, -1074, -1, 3], np.float32)], opset=15)


def halves(suite):
    a, b = suite.floats(3, 5, dtype=np.float16), suite.floats(5, 4, dtype=np.float16)
    suite.case("float16_matmul", "MatMul", [a, b], opset=13, atol=2e-3)
    suite.case("float16_gemm", "Gemm", [a, b, suite.floats(4, dtype=np.float16)], opset=13, atol=4e-3)
    suite.case(
        "float16_conv",
        "Conv",
        [suite.floats(1, 3, 6, 5, dtype=np.float16), suite.floats(2, 3, 3, 3, dtype=np.float16)],
        {"pads": [1, 1, 1, 1]},
        opset=11,
        atol=1e-2,
    )
    for op in ("Relu", "Tanh", "Sigmoid", "Exp", "Erf", "Sqrt", "Softmax", "Neg", "Floor"):
        x = suite.floats(3, 7, dtype=np.float16)
        suite.case(f"float16_{op.lower()}", op, [np.abs(x) if op == "Sqrt" else x], opset=13, atol=2e-3)
    for op in ("Add", "Mul", "Div", "Max", "Less"):
        suite.case(f"float16_{op.lower()}", op, [suite.floats(3, 1, dtype=np.float16), suite.floats(1, 4, dtype=np.float16)], opset=14, atol=2e-3)
    suite.case(
        "float16_reducesum_long",
        "ReduceSum",
        [np.full(3000, 0.1, np.float16)],
        opset=13,
        atol=0.5,
        expected=lambda x: x.astype(np.float32).sum(keepdims=True).astype(np.float16),
    )
    suite.case(
        "float16_layernormalization", "LayerNormalization", [suite.floats(2, 9, dtype=np.float16), suite.floats(9, dtype=np.float16)], opset=17, atol=5e-3
    )
    suite.case(
        "float16_resize_linear",
        "Resize",
        [suite.floats(1, 1, 3, 3, dtype=np.float16), None, np.array([1, 1, 2, 2], np.float32)],
        {"mode": "linear"},
        opset=13,
        atol=2e-3,
    )
    x, y = suite.floats(3, 4, dtype=BFLOAT16), suite.floats(4, dtype=BFLOAT16)
    for op, function in (("Add", np.add), ("Mul", np.multiply)):
        suite.case(
            f"bfloat16_{op.lower()}",
            op,
            [x, y],
            opset=14,
            atol=0.02,
            expected=lambda a, b, f=function: f(a.astype(np.float32), b.astype(np.float32)).astype(BFLOAT16),
        )
    suite.case(
        "bfloat16_matmul",
        "MatMul",
        [x, suite.floats(4, 2, dtype=BFLOAT16)],
        opset=13,
        atol=0.05,
        expected=lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(BFLOAT16),
    )
    suite.case("bfloat16_cast_to_float", "Cast", [x], {"to": TensorProto.FLOAT}, opset=13, expected=lambda x: x.astype(np.float32))
    suite.case("bfloat16_transpose", "Transpose", [x], opset=21, expected=lambda x: x.T)
    for op in ("MatMul", "Add", "Sqrt", "Softmax", "ReduceMean"):
        inputs = {
            "MatMul": [suite.floats(2, 3, dtype=np.float64), suite.floats(3, 2, dtype=np.float64)],
            "Add": [suite.floats(3, dtype=np.float64), suite.floats(2, 1, dtype=np.float64)],
        }
        suite.case(f"double_{op.lower()}", op, inputs.get(op, [suite.uniform(0.1, 4, 3, 3, dtype=np.float64)]), opset=18)
    suite.case("double_conv", "Conv", [suite.floats(1, 2, 5, dtype=np.float64), suite.floats(3, 2, 3, dtype=np.float64)], opset=11)


def six_bits(suite):
    """float6, new in operator set 28: casts, quantisation, and constants in either field."""
    values = np.array([0, -0.0, 0.06, 0.0625, 0.1, -0.19, 1, 1.05, -1.5, 3.3, 5.5, -7.4, 8, 27, 30, -1000, np.inf, -np.inf, np.nan], np.float32)
    for dtype, number in ((ml_dtypes.float6_e2m3fn, TensorProto.FLOAT6E2M3), (ml_dtypes.float6_e3m2fn, TensorProto.FLOAT6E3M2)):
        name = TensorProto.DataType.Name(number).lower()
        for origin in (np.float32, np.float16, np.float64, BFLOAT16):
            suite.case(
                f"cast_{_name(origin)}_to_{name}",
                "Cast",
                [values.astype(origin)],
                {"to": number},
                opset=28,
                expected=lambda x, d=dtype: x.astype(np.float32).astype(d),
            )
        whole = suite.integers(-9, 9, 3, 5, dtype=np.int32)
        suite.case(f"cast_int32_to_{name}", "Cast", [whole], {"to": number}, opset=28, expected=lambda x, d=dtype: x.astype(np.float32).astype(d))
        every = np.arange(64, dtype=np.uint8).view(dtype)
        for to, wide in ((TensorProto.FLOAT, np.float32), (TensorProto.FLOAT16, np.float16), (TensorProto.INT8, np.int8)):
            suite.case(
                f"cast_{name}_to_{np.dtype(wide).name}", "Cast", [every], {"to": to}, opset=28, expected=lambda x, w=wide: x.astype(np.float32).astype(w)
            )
        codes, scale = suite.integers(0, 64, 3, 5, dtype=np.uint8).view(dtype), suite.uniform(0.1, 2, 5)
        suite.case(f"dequantizelinear_{name}", "DequantizeLinear", [codes, scale], opset=28, expected=lambda x, s: x.astype(np.float32) * s)
        suite.case(
            f"quantizelinear_{name}",
            "QuantizeLinear",
            [suite.floats(3, 5), scale],
            {"output_dtype": number},
            opset=28,
            expected=lambda x, s, d=dtype: (x / s).astype(d),
        )
        stored = every[:7]
        raw = numpy_helper.from_array(stored, "raw")
        typed = helper.make_tensor("typed", number, [7], stored.view(np.uint8).tolist(), raw=False)
        typed.ClearField("int32_data")
        typed.int32_data.extend(stored.view(np.uint8).tolist())
        nodes = [helper.make_node("Cast", ["raw"], ["a"], to=1), helper.make_node("Cast", ["typed"], ["b"], to=1)]
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [7]) for n in "ab"]
        graph = helper.make_graph(nodes, name, [], outputs, [raw, typed])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=14, producer_name="linnet cases")
        suite.add(f"constants_{name}", model, [], expected=[stored.astype(np.float32)] * 2)


GROUPS = [integer_arithmetic, casts, text_casts, special_values, halves, six_bits]
