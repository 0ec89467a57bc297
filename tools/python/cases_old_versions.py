"""Operator versions that no case of the backend tests uses, mostly the first ones: `consumed_inputs`, `broadcast` and `axis`,
shapes and scales as attributes, softmax over a flattened tail. ONNX Runtime knows few of these, so most carry a NumPy
function.
"""

import math

import numpy as np


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


UNARY_V1 = {
    "Abs": (np.abs, {}),
    "Neg": (np.negative, {}),
    "Ceil": (np.ceil, {}),
    "Floor": (np.floor, {}),
    "Exp": (np.exp, {}),
    "Reciprocal": (lambda x: 1 / x, {}),
    "Relu": (lambda x: np.maximum(x, 0), {}),
    "Sigmoid": (_sigmoid, {}),
    "Sqrt": (lambda x: np.sqrt(x), {}),
    "Tanh": (np.tanh, {}),
    "Log": (lambda x: np.log(x), {}),
    "Elu": (lambda x: np.where(x < 0, 0.75 * (np.exp(x) - 1), x), {"alpha": 0.75}),
    "LeakyRelu": (lambda x: np.where(x < 0, 0.2 * x, x), {"alpha": 0.2}),
    "HardSigmoid": (lambda x: np.clip(0.3 * x + 0.4, 0, 1), {"alpha": 0.3, "beta": 0.4}),
    # The defaults of Selu 1 are shorter than those of later versions.
    "Selu": (lambda x: 1.0507 * np.where(x < 0, 1.6732 * (np.exp(x) - 1), x), {}),
}


def unary(suite):
    for op, (function, attributes) in UNARY_V1.items():
        x = suite.floats(2, 3, 4)
        if op in ("Sqrt", "Log"):
            x = np.abs(x) + np.float32(0.1)
        suite.case(f"{op.lower()}_v1", op, [x], {**attributes, "consumed_inputs": [0]}, opset=1, expected=lambda x, f=function: f(x).astype(np.float32))
    for op, opset, function in (("Acos", 7, np.arccos), ("Asinh", 9, np.arcsinh), ("Sinh", 9, np.sinh)):
        suite.case(f"{op.lower()}_v{opset}", op, [suite.uniform(-1, 1, 3, 4)], opset=opset, expected=function)
    x = suite.floats(3, 5, scale=3)
    suite.case("hardswish_v14", "HardSwish", [x], opset=14, expected=lambda x: (x * np.clip(x / 6 + 0.5, 0, 1)).astype(np.float32))
    suite.case("mish_v18", "Mish", [x], opset=18, expected=lambda x: (x * np.tanh(np.log1p(np.exp(x)))).astype(np.float32))
    nan = np.array([[1, np.nan], [np.inf, -np.inf]], np.float16)
    suite.case("isnan_v13_float16", "IsNaN", [nan], opset=13)


def _aligned(b, a, axis):
    """b's dimensions laid along a's from `axis`, as the old broadcast says; no axis means the last ones."""
    axis = a.ndim - b.ndim if axis is None else axis
    return b.reshape((1,) * axis + b.shape + (1,) * (a.ndim - axis - b.ndim))


BINARY_OLD = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
LOGIC_OLD = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
COMPARE_OLD = {"Greater": np.greater, "Less": np.less, "Equal": np.equal}


def old_broadcast(suite):
    shapes = (((2, 3, 4, 5), (3, 4), 1), ((2, 3, 4), (3, 4), None), ((2, 3), (), None), ((2, 3, 4), (2,), 0))
    for op, function in {**BINARY_OLD, **LOGIC_OLD, **COMPARE_OLD, "Pow": np.power}.items():
        for index, (left, right, axis) in enumerate(shapes):
            if op in LOGIC_OLD:
                a, b = suite.bools(*left), suite.bools(*right)
            elif op == "Equal":
                a, b = suite.integers(0, 3, *left, dtype=np.int32), suite.integers(0, 3, *right, dtype=np.int32)
            else:
                a, b = suite.uniform(0.5, 2, *left), suite.uniform(0.5, 2, *right)
            b = np.asarray(b)
            attributes = {"broadcast": 1, **({} if axis is None else {"axis": axis})}
            opset = 6 if op in BINARY_OLD and index % 2 else 1
            if op in BINARY_OLD and opset == 1:
                attributes["consumed_inputs"] = [0, 0]
            suite.case(
                f"{op.lower()}_v{opset}_broadcast_{index}",
                op,
                [a, b],
                attributes,
                opset=opset,
                expected=lambda a, b, f=function, axis=axis: f(a, _aligned(b, a, axis)),
            )
        if op in BINARY_OLD:
            a, b = suite.uniform(0.5, 2, 2, 3), suite.uniform(0.5, 2, 2, 3)
            suite.case(f"{op.lower()}_v1_same_shape", op, [a, b], opset=1, expected=function)


def variadic(suite):
    functions = {"Max": np.maximum.reduce, "Min": np.minimum.reduce, "Sum": lambda xs: sum(xs), "Mean": lambda xs: sum(xs) / len(xs)}
    for op, function in functions.items():
        for opset, count in ((1, 3), (6, 1)):
            xs = [suite.floats(2, 3) for _ in range(count)]
            attributes = {"consumed_inputs": [0] * count} if opset == 1 else {}
            suite.case(f"{op.lower()}_v{opset}", op, xs, attributes, opset=opset, expected=lambda *xs, f=function: f(list(xs)).astype(np.float32))
        xs = [suite.floats(2, 1, 3), suite.floats(4, 1), suite.floats()]
        xs[2] = np.asarray(xs[2], np.float32)
        suite.case(f"{op.lower()}_v8_broadcast", op, xs, opset=8, expected=lambda *xs, f=function: f(np.broadcast_arrays(*xs)).astype(np.float32))


def clip_and_slope(suite):
    x = suite.floats(3, 4, scale=2)
    suite.case("clip_v1", "Clip", [x], {"min": -0.5, "max": 1.0, "consumed_inputs": [0]}, opset=1, expected=lambda x: np.clip(x, -0.5, 1))
    suite.case("clip_v1_min_only", "Clip", [x], {"min": 0.25}, opset=1, expected=lambda x: np.maximum(x, np.float32(0.25)))
    suite.case("clip_v6_no_limits", "Clip", [x], opset=6, expected=lambda x: x)
    suite.case("clip_v11_max_only", "Clip", [x, None, np.array(0.5, np.float32)], opset=11)
    image = suite.floats(2, 3, 4, 4)
    for opset in (1, 6):
        attributes = {"consumed_inputs": [0, 0]} if opset == 1 else {}
        suite.case(
            f"prelu_v{opset}_channel",
            "PRelu",
            [image, suite.uniform(0, 1, 3)],
            attributes,
            opset=opset,
            expected=lambda x, s: np.where(x < 0, x * s.reshape(1, 3, 1, 1), x),
        )
        suite.case(f"prelu_v{opset}_single", "PRelu", [image, suite.uniform(0, 1, 1)], attributes, opset=opset, expected=lambda x, s: np.where(x < 0, x * s, x))
    suite.case("prelu_v7_broadcast", "PRelu", [image, suite.uniform(0, 1, 3, 1, 1)], opset=7)
    suite.case(
        "prelu_v9_int32",
        "PRelu",
        [suite.integers(-4, 4, 3, 4, dtype=np.int32), suite.integers(1, 4, 4, dtype=np.int32)],
        opset=9,
        expected=lambda x, s: np.where(x < 0, x * s, x),
    )


def gemm(suite):
    a, b = suite.floats(4, 3), suite.floats(5, 4)
    c_row, c_full = suite.floats(5), suite.floats(3, 5)
    attributes = {"alpha": 0.5, "beta": 2.0, "transA": 1, "transB": 1}

    def expected(a, b, c):
        return (0.5 * (a.T @ b.T) + 2 * c).astype(np.float32)

    for opset in (1, 6):
        suite.case(f"gemm_v{opset}_broadcast", "Gemm", [a, b, c_row], {**attributes, "broadcast": 1}, opset=opset, expected=expected)
        suite.case(
            f"gemm_v{opset}",
            "Gemm",
            [a, b, c_full],
            attributes,
            opset=opset,
            expected=expected,
            differs={"reference": "drops C without broadcast"} if opset == 6 else None,
        )
    suite.case("gemm_v7_column", "Gemm", [a, b, suite.floats(3, 1)], attributes, opset=7, expected=expected)
    suite.case("gemm_v11_no_c", "Gemm", [a, b], attributes, opset=11, expected=lambda a, b: 0.5 * (a.T @ b.T))


def normalisation(suite):
    x = suite.floats(2, 3, 4, 5)
    parameters = [suite.uniform(0.5, 1.5, 3), suite.floats(3), suite.floats(3), suite.uniform(0.5, 2, 3)]

    def batch_norm(x, scale, bias, mean, variance, epsilon=1e-5):
        def lift(v):
            return v.reshape(1, 3, 1, 1)

        return ((x - lift(mean)) / np.sqrt(lift(variance) + epsilon) * lift(scale) + lift(bias)).astype(np.float32)

    suite.case(
        "batchnormalization_v1",
        "BatchNormalization",
        [x, *parameters],
        {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1], "epsilon": 1e-3},
        opset=1,
        expected=lambda *a: batch_norm(*a, epsilon=1e-3),
    )
    suite.case("batchnormalization_v6", "BatchNormalization", [x, *parameters], {"is_test": 1, "spatial": 1}, opset=6, expected=batch_norm)
    suite.case("batchnormalization_v7", "BatchNormalization", [x, *parameters], {"momentum": 0.8}, opset=7, expected=batch_norm)
    suite.case(
        "batchnormalization_v9", "BatchNormalization", [x, *parameters], opset=9, expected=batch_norm, differs={"reference": "computes the batch's own mean"}
    )
    spatial = [suite.uniform(0.5, 1.5, 3, 4, 5), suite.floats(3, 4, 5), suite.floats(3, 4, 5), suite.uniform(0.5, 2, 3, 4, 5)]
    suite.case(
        "batchnormalization_v7_not_spatial",
        "BatchNormalization",
        [x, *spatial],
        {"spatial": 0},
        opset=7,
        expected=lambda x, s, b, m, v: ((x - m) / np.sqrt(v + 1e-5) * s + b).astype(np.float32),
        differs={"reference": "ignores spatial"},
    )
    scale, bias = suite.uniform(0.5, 1.5, 3), suite.floats(3)

    def instance_norm(x, scale, bias):
        mean, variance = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
        return ((x - mean) / np.sqrt(variance + 1e-5) * scale.reshape(1, 3, 1, 1) + bias.reshape(1, 3, 1, 1)).astype(np.float32)

    suite.case("instancenormalization_v1", "InstanceNormalization", [x, scale, bias], {"consumed_inputs": [0, 0, 0]}, opset=1, expected=instance_norm)
    for p in (1, 2):
        suite.case(
            f"lpnormalization_v1_p{p}",
            "LpNormalization",
            [x],
            {"p": p, "axis": 2},
            opset=1,
            expected=lambda x, p=p: x / np.linalg.norm(x, p, axis=2, keepdims=True),
            differs={"reference": "sums signed values"} if p == 1 else None,
        )
    suite.case("lpnormalization_v22_negative_axis", "LpNormalization", [x], {"p": 1, "axis": -3}, opset=22, differs={"reference": "sums signed values"})
    for opset, attributes in ((1, {"is_test": 1, "ratio": 0.4, "consumed_inputs": [0]}), (6, {"is_test": 1}), (7, {"ratio": 0.3}), (10, {})):
        suite.case(
            f"dropout_v{opset}", "Dropout", [x], attributes, opset=opset, expected=lambda x: x, differs={"reference": "draws at random"} if opset < 7 else None
        )


def moving(suite):
    x = suite.floats(2, 3, 4)
    suite.case("concat_v1_default_axis", "Concat", [x, suite.floats(2, 2, 4)], opset=1, expected=lambda a, b: np.concatenate([a, b], 1))
    suite.case("concat_v4", "Concat", [x, suite.floats(2, 3, 1)], {"axis": 2}, opset=4)
    y = suite.floats(2, 6)
    suite.case("split_v1_attribute", "Split", [y], {"axis": 1, "split": [2, 4]}, opset=1, outputs=2, expected=lambda y: [y[:, :2], y[:, 2:]])
    suite.case(
        "split_v1_input", "Split", [y, np.array([1, 2, 3], np.float32)], {"axis": 1}, opset=1, outputs=3, expected=lambda y, s: [y[:, :1], y[:, 1:3], y[:, 3:]]
    )
    suite.case("split_v1_equal", "Split", [y], {"axis": 1}, opset=1, outputs=3, expected=lambda y: np.split(y, 3, 1))
    suite.case("split_v2_default_axis", "Split", [y], opset=2, outputs=2, expected=lambda y: np.split(y, 2, 0))
    suite.case("reshape_v1", "Reshape", [x], {"shape": [0, -1, 2], "consumed_inputs": [0]}, opset=1, expected=lambda x: x.reshape(2, 6, 2))
    suite.case("tile_v1", "Tile", [x, np.array(3, np.float32), np.array(1, np.float32)], opset=1, expected=lambda x, tiles, axis: np.concatenate([x] * 3, 1))
    suite.case(
        "topk_v1",
        "TopK",
        [x],
        {"k": 2, "axis": 1},
        opset=1,
        outputs=2,
        expected=lambda x: [np.sort(x, 1)[:, ::-1][:, :2], np.argsort(-x, 1, kind="stable")[:, :2]],
    )
    suite.case("topk_v10", "TopK", [x, np.array([3])], {"axis": 2}, opset=10, outputs=2)
    suite.case("pad_v1", "Pad", [y], {"paddings": [1, 0, 0, 2], "value": 0.5}, opset=1, expected=lambda y: np.pad(y, ((1, 0), (0, 2)), constant_values=0.5))
    suite.case(
        "pad_v1_reflect", "Pad", [y], {"paddings": [0, 2, 0, 1], "mode": "reflect"}, opset=1, expected=lambda y: np.pad(y, ((0, 0), (2, 1)), mode="reflect")
    )
    suite.case(
        "pad_v2_negative",
        "Pad",
        [y],
        {"pads": [0, -1, 1, 2], "value": -1.0},
        opset=2,
        expected=lambda y: np.pad(y[:, 1:], ((0, 1), (0, 2)), constant_values=-1),
    )
    suite.case("pad_v2_edge", "Pad", [y], {"pads": [1, 2, 1, 0], "mode": "edge"}, opset=2, expected=lambda y: np.pad(y, ((1, 1), (2, 0)), mode="edge"))
    suite.case("slice_v1", "Slice", [x], {"starts": [0, -3], "ends": [1, 2**31], "axes": [0, 2]}, opset=1, expected=lambda x: x[:1, :, 1:])
    suite.case("slice_v1_no_axes", "Slice", [x], {"starts": [1, 0], "ends": [2, -1]}, opset=1, expected=lambda x: x[1:2, :-1])
    suite.case("slice_v10_step", "Slice", [x, np.array([-1]), np.array([-9]), np.array([-1]), np.array([-2])], opset=10, expected=lambda x, *_: x[..., ::-2])
    suite.case("squeeze_v1", "Squeeze", [x[:, None, :, :, None]], {"axes": [1, 4]}, opset=1, expected=lambda x: x.squeeze((1, 4)))
    suite.case("squeeze_v1_all", "Squeeze", [x[:1, None]], opset=1, expected=lambda x: x.squeeze())
    suite.case("unsqueeze_v1", "Unsqueeze", [x], {"axes": [0, 4]}, opset=1, expected=lambda x: x[None, ..., None])
    suite.case("unsqueeze_v11_negative", "Unsqueeze", [x], {"axes": [-1, 1]}, opset=11, expected=lambda x: x[:, None, ..., None])
    image = suite.floats(1, 8, 4, 6)
    suite.case(
        "spacetodepth_v1",
        "SpaceToDepth",
        [image],
        {"blocksize": 2},
        opset=1,
        expected=lambda x: x.reshape(1, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 32, 2, 3),
    )
    suite.case(
        "depthtospace_v1",
        "DepthToSpace",
        [image],
        {"blocksize": 2},
        opset=1,
        expected=lambda x: x.reshape(1, 2, 2, 2, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 8, 12),
    )
    suite.case("flatten_v1_axis_0", "Flatten", [x], {"axis": 0}, opset=1, expected=lambda x: x.reshape(1, -1))
    suite.case("flatten_v9_int64", "Flatten", [suite.integers(0, 9, 2, 3, 2)], {"axis": 3}, opset=9, expected=lambda x: x.reshape(-1, 1))
    suite.case("gather_v1_negative_free", "Gather", [x, np.array([[2, 0], [1, 1]], np.int32)], {"axis": 1}, opset=1)
    index = np.array([[0, 2, 1], [2, 0, 0]])
    for opset in (9, 11):
        suite.case(
            f"scatter_v{opset}", "Scatter", [suite.floats(3, 3), index, suite.floats(2, 3)], {"axis": 0}, opset=opset, expected=_scatter_rows, check=opset < 11
        )
    suite.case("scatterelements_v13_negative", "ScatterElements", [suite.floats(3, 3), index - 3, suite.floats(2, 3)], {"axis": -2}, opset=13)
    suite.case("scatternd_v13", "ScatterND", [x, np.array([[[0, 1]], [[1, -1]]]), suite.floats(2, 1, 4)], opset=13)
    suite.case("gathernd_v11", "GatherND", [x, np.array([[[0, 1]], [[1, -1]]])], opset=11)


def _scatter_rows(data, indices, updates):
    result = data.copy()
    np.put_along_axis(result, indices, updates, 0)
    return result


def _upsample_nearest(x, rows, columns):
    return x.repeat(rows, 2).repeat(columns, 3)


def resampling(suite):
    x = suite.floats(1, 2, 3, 4)
    suite.case(
        "upsample_v1", "Upsample", [x], {"height_scale": 2.0, "width_scale": 3.0, "mode": "nearest"}, opset=1, expected=lambda x: _upsample_nearest(x, 2, 3)
    )
    suite.case(
        "upsample_v1_bilinear", "Upsample", [x], {"height_scale": 1.0, "width_scale": 2.0, "mode": "bilinear"}, opset=1, expected=lambda x: _linear_last(x, 2)
    )
    suite.case("upsample_v7", "Upsample", [x], {"scales": [1.0, 1.0, 2.0, 3.0]}, opset=7, expected=lambda x: _upsample_nearest(x, 2, 3))
    suite.case("upsample_v7_linear", "Upsample", [x], {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "linear"}, opset=7)
    scales = np.array([1, 1, 2, 2.5], np.float32)
    suite.case("upsample_v9_fraction", "Upsample", [x, scales], {"mode": "linear"}, opset=9)
    suite.case(
        "upsample_v9_int32",
        "Upsample",
        [suite.integers(0, 99, 1, 1, 2, 2, dtype=np.int32), np.array([1, 1, 2, 3], np.float32)],
        {"mode": "nearest"},
        opset=9,
        expected=lambda x, s: _upsample_nearest(x, 2, 3),
    )
    suite.case(
        "upsample_v10_deprecated", "Upsample", [x, np.array([1, 1, 2, 3], np.float32)], opset=10, check=False, expected=lambda x, s: _upsample_nearest(x, 2, 3)
    )
    for mode in ("nearest", "linear"):
        for name, scale in (("up", [1, 1, 2, 1.5]), ("down", [1, 1, 0.6, 0.5])):
            suite.case(f"resize_v10_{mode}_{name}", "Resize", [x, np.array(scale, np.float32)], {"mode": mode}, opset=10)
    roi = np.array([], np.float32)
    for coordinate in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn"):
        suite.case(
            f"resize_v11_{coordinate}",
            "Resize",
            [x, roi, np.array([1, 1, 2, 0.75], np.float32)],
            {"mode": "nearest" if "tf" in coordinate else "linear", "coordinate_transformation_mode": coordinate},
            opset=11,
            differs={"reference": "has no tf_half_pixel_for_nn"} if "tf" in coordinate else None,
        )
    suite.case("resize_v11_cubic", "Resize", [x, roi, roi, np.array([1, 2, 5, 7])], {"mode": "cubic", "cubic_coeff_a": -0.5}, opset=11)


def _linear_last(x, factor):
    """Bilinear along the last axis, asymmetric coordinates, the edge repeated."""
    at = np.arange(x.shape[-1] * factor) / factor
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, x.shape[-1] - 1)
    weight = (at - low).astype(np.float32)
    return x[..., low] * (1 - weight) + x[..., high] * weight


def flattened_softmax(suite):
    x = suite.floats(2, 3, 4)

    def flat(function, axis):
        def run(x):
            rows = x.reshape(math.prod(x.shape[:axis]), -1)
            return function(rows).reshape(x.shape).astype(np.float32)

        return run

    def softmax(rows):
        e = np.exp(rows - rows.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def hardmax(rows):
        return np.eye(rows.shape[1])[rows.argmax(1)]

    functions = {"Softmax": softmax, "LogSoftmax": lambda r: np.log(softmax(r)), "Hardmax": hardmax}
    for op, function in functions.items():
        for opset, axis in ((1, 1), (1, 2), (1, 0), (11, -2)):
            suite.case(
                f"{op.lower()}_v{opset}_axis_{str(axis).replace('-', 'minus_')}",
                op,
                [x],
                {"axis": axis},
                opset=opset,
                expected=flat(function, axis % 3),
                differs={"reference": "does not flatten"} if axis != 2 else None,
            )
        suite.case(f"{op.lower()}_v1_default", op, [x], opset=1, expected=flat(function, 1), differs={"reference": "does not flatten"})
        suite.case(f"{op.lower()}_v13_default", op, [x], opset=13)


REDUCTIONS = {
    "ReduceL1": lambda x, a, k: np.abs(x).sum(a, keepdims=k),
    "ReduceL2": lambda x, a, k: np.sqrt((x * x).sum(a, keepdims=k)),
    "ReduceLogSum": lambda x, a, k: np.log(x.sum(a, keepdims=k)),
    "ReduceLogSumExp": lambda x, a, k: np.log(np.exp(x).sum(a, keepdims=k)),
    "ReduceMax": lambda x, a, k: x.max(a, keepdims=k),
    "ReduceMin": lambda x, a, k: x.min(a, keepdims=k),
    "ReduceMean": lambda x, a, k: x.mean(a, keepdims=k),
    "ReduceProd": lambda x, a, k: x.prod(a, keepdims=k),
    "ReduceSum": lambda x, a, k: x.sum(a, keepdims=k),
    "ReduceSumSquare": lambda x, a, k: (x * x).sum(a, keepdims=k),
}


def reductions(suite):
    for op, function in REDUCTIONS.items():
        for opset, axes, keep in ((1, [0, 2], 0), (11, [-2], 1), (11, None, 0)):
            x = suite.uniform(0.2, 2, 3, 2, 4)
            attributes = {"keepdims": keep, **({} if axes is None else {"axes": axes})}
            suite.case(
                f"{op.lower()}_v{opset}_{'all' if axes is None else 'axes'}",
                op,
                [x],
                attributes,
                opset=opset,
                expected=lambda x, f=function, a=axes, k=keep: f(x, None if a is None else tuple(a), bool(k)),
            )
    for op in ("ReduceMax", "ReduceMin"):
        x = suite.integers(-100, 100, 3, 4, dtype=np.int8)
        suite.case(f"{op.lower()}_v12_int8", op, [x], {"axes": [1], "keepdims": 0}, opset=12)
    for op, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        x = suite.integers(0, 4, 3, 5).astype(np.float32)
        suite.case(f"{op.lower()}_v1", op, [x], {"axis": 1, "keepdims": 0}, opset=1, expected=lambda x, f=function: f(x, 1))
        suite.case(f"{op.lower()}_v11_negative", op, [x], {"axis": -2}, opset=11, expected=lambda x, f=function: f(x, 0)[None])
        suite.case(
            f"{op.lower()}_v12_last", op, [x], {"axis": 1, "select_last_index": 1}, opset=12, expected=lambda x, f=function: (4 - f(x[:, ::-1], 1))[:, None]
        )


def cast_by_name(suite):
    x = np.array([[1.5, -2.5, 0], [3, 1e3, -7]], np.float32)
    for name, dtype in (("INT32", np.int32), ("DOUBLE", np.float64), ("BOOL", np.bool_), ("FLOAT16", np.float16), ("UINT8", None)):
        source = np.abs(x[:, 2:]) if dtype is None else x
        suite.case(f"cast_v1_{name.lower()}", "Cast", [source], {"to": name}, opset=1, expected=lambda x, d=dtype or np.uint8: x.astype(d))
    suite.case("cast_v6_int64", "Cast", [x], {"to": 7}, opset=6, expected=lambda x: x.astype(np.int64))


def quantised(suite):
    a, b = suite.integers(0, 255, 2, 4, dtype=np.uint8), suite.integers(0, 255, 4, 3, dtype=np.uint8)
    rest = [np.array(0.02, np.float32), np.array(120, np.uint8), np.array(0.03, np.float32), np.array(131, np.uint8)]
    inputs = [a, rest[0], rest[1], b, rest[2], rest[3], np.array(0.05, np.float32), np.array(118, np.uint8)]
    suite.case("qlinearmatmul_v10", "QLinearMatMul", inputs, opset=10)
    suite.case(
        "dequantizelinear_v13_axis",
        "DequantizeLinear",
        [suite.integers(-128, 127, 3, 2, dtype=np.int8), suite.uniform(0.01, 0.1, 2), np.array([3, -4], np.int8)],
        {"axis": -1},
        opset=13,
    )
    suite.case(
        "quantizelinear_v10_half_to_even",
        "QuantizeLinear",
        [np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300], np.float32), np.array(1, np.float32), np.array(128, np.uint8)],
        opset=10,
    )


GROUPS = [unary, old_broadcast, variadic, clip_and_slope, gemm, normalisation, moving, resampling, flattened_softmax, reductions, cast_by_name, quantised]
