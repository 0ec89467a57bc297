"""How each operator is drawn: a function of (Draw, version) that gives a Drawn, or None for a draw that makes no sense.

Versions differ here as they do in the standard: axes as attribute or input, limits as attribute or input.
"""

import numpy as np

from draw_core import ANY, FLOATS, NUMBERS, SIGNED, UNSIGNED, Drawn, elem

WIDE = FLOATS + (np.int32, np.int64)
OPERATORS = {}


def operator(*names, first=7):
    """Register a drawer for these operators; versions before `first` are not drawn."""

    def register(function):
        for name in names:
            OPERATORS[name] = (function, first)
        return function

    return register


def _unary(names, types, low=-4.0, high=4.0, extreme=0.15):
    def draw(d, version, op):
        return Drawn(op, [d.values(d.pick(types), d.shape(), low, high, extreme)])

    for name in names:
        OPERATORS[name] = (draw, 6)


_unary(("Abs", "Neg", "Sign"), FLOATS + SIGNED)
_unary(("Exp", "Floor", "Ceil", "Sigmoid", "Tanh", "Reciprocal", "Erf", "IsNaN", "Softsign"), FLOATS)
_unary(("Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Asinh", "Round", "Softplus", "HardSwish", "Mish"), FLOATS, extreme=0)
_unary(("Log", "Sqrt"), FLOATS, 0.01, 9)
_unary(("Asin", "Acos", "Atanh"), FLOATS, -0.99, 0.99, 0)
_unary(("Acosh",), FLOATS, 1, 9, 0)
_unary(("Relu",), FLOATS + SIGNED, extreme=0)
_unary(("Not",), (np.bool_,))
_unary(("BitwiseNot",), SIGNED + UNSIGNED)
_unary(("Identity", "Shape", "Size"), ANY)


@operator("Elu", "LeakyRelu", "Selu", "HardSigmoid", "ThresholdedRelu", "Celu", "Gelu", "Shrink", first=6)
def activation(d, version, op):
    names = {"Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"), "Gelu": (), "Shrink": ("lambd", "bias")}.get(op, ("alpha",))
    attributes = {name: round(float(d.rng.uniform(0.1, 1.5)), 3) for name in names if d.chance(0.6)}
    if op == "Gelu" and d.chance(0.5):
        attributes["approximate"] = "tanh"
    return Drawn(op, [d.values(d.pick(FLOATS if op != "Celu" else (np.float32,)), d.shape())], attributes)


@operator("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu")
def arithmetic(d, version, op):
    a, b = d.broadcast()
    dtype = d.pick(NUMBERS if version >= 14 or op == "Mod" else WIDE if op != "PRelu" else FLOATS)
    if op == "PRelu":
        a = np.broadcast_shapes(a, b)
    extreme = 0.1 if dtype in FLOATS and op in ("Add", "Sub", "Mul", "Div") else 0
    x, y = d.values(dtype, a, extreme=extreme), d.values(dtype, b, extreme=extreme)
    attributes = {}
    if op in ("Div", "Mod") and np.issubdtype(dtype, np.integer):
        y = np.where(y == 0, 3, y).astype(dtype)
    if op == "Mod":
        attributes = {"fmod": 1} if np.issubdtype(dtype, np.floating) or d.chance(0.5) else {}
        y = np.where(y == 0, 1, y).astype(dtype)
    if op == "Pow":
        x, y = np.abs(x) + dtype(1) if dtype in FLOATS else x % 5, (y % 4) if dtype not in FLOATS else y / 2
        y = np.abs(y).astype(dtype) if dtype not in FLOATS else y
    return Drawn(op, [x, y.astype(dtype)], attributes)


@operator("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", first=9)
def comparison(d, version, op):
    dtype = d.pick(NUMBERS + ((np.bool_, object) if op == "Equal" and version >= 19 else (np.bool_,) if op == "Equal" else ()))
    a, b = d.broadcast()
    return Drawn(op, [d.values(dtype, a, -1, 1, 0.1), d.values(dtype, b, -1, 1, 0.1)])


@operator("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")
def bits(d, version, op):
    a, b = d.broadcast()
    if op in ("And", "Or", "Xor"):
        return Drawn(op, [d.values(np.bool_, a), d.values(np.bool_, b)])
    if op == "BitShift":
        dtype = d.pick(UNSIGNED)
        return Drawn(op, [d.values(dtype, a, 0, 15), d.values(dtype, b, 0, 0.8)], {"direction": d.pick(("LEFT", "RIGHT"))})
    dtype = d.pick(SIGNED + UNSIGNED)
    return Drawn(op, [d.values(dtype, a, -9, 9), d.values(dtype, b, -9, 9)])


@operator("Max", "Min", "Sum", "Mean", first=8)
def variadic(d, version, op):
    shapes = d.broadcast(d.integer(1, 4))
    dtype = d.pick(NUMBERS if op in ("Max", "Min") and version >= 12 else FLOATS)
    return Drawn(op, [d.values(dtype, s) for s in shapes])


@operator("Where", first=9)
def where(d, version, op):
    c, a, b = d.broadcast(3)
    dtype = d.pick(ANY)
    return Drawn(op, [d.values(np.bool_, c), d.values(dtype, a), d.values(dtype, b)])


@operator("Clip", first=6)
def clip(d, version, op):
    dtype = d.pick(FLOATS if version < 12 else NUMBERS)
    x = d.values(dtype, d.shape())
    if version < 11:
        return Drawn(op, [x], {k: v for k, v in (("min", -1.25), ("max", 2.5)) if d.chance(0.7)})
    inputs = [x, dtype(1) if d.chance(0.7) else None, dtype(3) if d.chance(0.7) else None]
    while inputs[-1] is None:
        inputs.pop()
    return Drawn(op, inputs, constants=tuple(range(1, len(inputs))) if d.chance(0.5) else ())


@operator("Cast", first=9)
def cast(d, version, op):
    origin, target = d.pick(NUMBERS + (np.bool_,)), d.pick(NUMBERS + (np.bool_,))
    narrow = np.issubdtype(target, np.unsignedinteger)
    return Drawn(op, [d.values(origin, d.shape(), 0 if narrow else -4, 4 if narrow else 4)], {"to": elem(target)})


REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")


@operator(*REDUCTIONS, first=1)
def reduction(d, version, op):
    shape = d.shape(1, 5, zero=0)
    dtype = d.pick((np.float32, np.float32, np.float64, np.int32, np.int64) if "Log" not in op else (np.float32, np.float64))
    x = d.values(dtype, shape, 0.1 if op == "ReduceLogSum" else -2, 2)
    if op == "ReduceProd" and np.issubdtype(dtype, np.integer):
        most = 2 if x.size <= 24 else 1  # a product that overflows wraps; ONNX Runtime's depends on the type it computes in
        x = np.clip(x, -most, most)
    attributes = {"keepdims": d.integer(0, 1)} if d.chance(0.8) else {}
    axes = d.axes(len(shape)) if d.chance(0.85) else None
    inputs = [x]
    if version >= (13 if op == "ReduceSum" else 18):
        if axes is not None:
            inputs.append(np.array(axes))
        elif d.chance(0.4):
            attributes["noop_with_empty_axes"] = 1
    elif axes is not None:
        attributes["axes"] = [a % len(shape) for a in axes] if version < 11 else axes
    return Drawn(op, inputs, attributes, slack=4, constants=(1,) if len(inputs) == 2 and d.chance(0.5) else ())


@operator("ArgMax", "ArgMin", first=1)
def arg(d, version, op):
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(len(shape))
    attributes = {"axis": axis % len(shape) if version < 11 else axis, "keepdims": d.integer(0, 1)}
    if version >= 12:
        attributes["select_last_index"] = d.integer(0, 1)
    return Drawn(op, [np.round(d.values(np.float32, shape))], attributes)


@operator("Softmax", "LogSoftmax", "Hardmax", first=1)
def softmax(d, version, op):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape))
    attributes = {"axis": axis % len(shape) if version < 11 else axis} if d.chance(0.8) else {}
    return Drawn(op, [d.values(d.pick((np.float32, np.float64) if op != "Hardmax" else (np.float32,)), shape, -9, 9)], attributes)


@operator("CumSum", first=11)
def cumsum(d, version, op):
    shape = d.shape(1, 4)
    attributes = {k: 1 for k in ("exclusive", "reverse") if d.chance(0.4)}
    return Drawn(
        op,
        [d.values(d.pick((np.float32, np.float64, np.int32, np.int64)), shape), np.asarray(d.axis(len(shape)), d.pick((np.int32, np.int64)))],
        attributes,
        slack=4,
    )


@operator("TopK", first=10)
def topk(d, version, op):
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(len(shape))
    attributes = {"axis": axis % len(shape) if version < 11 else axis}
    if version >= 11:
        attributes["largest"] = d.integer(0, 1)
    return Drawn(op, [d.values(d.pick((np.float32, np.float64, np.int64, np.int32)), shape), np.array([d.integer(1, shape[axis])])], attributes, outputs=2)


@operator("LayerNormalization", "RMSNormalization", first=17)
def layer_norm(d, version, op):
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(len(shape))
    dtype = d.pick((np.float32, np.float32, np.float64))
    tail = shape[axis % len(shape) :]
    inputs = [d.values(dtype, shape), d.values(dtype, tail)]
    if op == "LayerNormalization" and d.chance(0.7):
        inputs.append(d.values(dtype, tail))
    return Drawn(op, inputs, {"axis": axis, "epsilon": 0.05}, slack=10)


@operator("BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization", first=7)
def channel_norm(d, version, op):
    groups = d.integer(1, 3)
    channels = groups * d.integer(1, 3)
    shape = (d.integer(1, 2), channels, *d.shape(1, 3, zero=0))
    x = d.values(np.float32, shape)
    if op == "LRN":
        return Drawn(op, [x], {"size": d.pick((1, 3, 5)), "alpha": 0.1, "beta": 0.7, "bias": 1.5})
    if op == "LpNormalization":
        return Drawn(op, [x], {"axis": d.axis(len(shape)), "p": d.integer(1, 2)})
    if op == "MeanVarianceNormalization":
        return Drawn(op, [d.rng.standard_normal((2, shape[1] + 1, 3, 4)).astype(np.float32)], {"axes": d.axes(4)} if d.chance(0.6) else {}, slack=20)
    if op == "GroupNormalization" and version < 21:
        return None
    parameters = [d.values(np.float32, (channels,)) for _ in range(3)]
    if op == "BatchNormalization":
        return Drawn(op, [x, *parameters, d.values(np.float32, (channels,), 0.2, 3)], {"epsilon": 0.01}, slack=10)
    return Drawn(op, [x, *parameters[:2]], {"epsilon": 0.05, **({"num_groups": groups} if op == "GroupNormalization" else {})}, slack=20)


@operator("MatMul", first=1)
def matmul(d, version, op):
    m, k, n = (d.pick((1, 1, 2, 3, 5, 8, 13, 17, 33)) for _ in range(3))
    dtype = d.pick((np.float32, np.float32, np.float64) + ((np.int32, np.int64, np.uint32) if version >= 9 else ()))
    a, b = d.broadcast(high=2, largest=3)
    left, right = (*a, m, k), (*b, k, n)
    left = (k,) if d.chance(0.1) else left
    right = (k,) if d.chance(0.1) else right
    return Drawn(op, [d.values(dtype, left), d.values(dtype, right)], slack=4, constants=(1,) if d.chance(0.4) else ())


@operator("Gemm", first=7)
def gemm(d, version, op):
    m, k, n = (d.pick((1, 2, 3, 5, 8, 13, 17, 33)) for _ in range(3))
    dtype = d.pick((np.float32, np.float32, np.float64))
    ta, tb = d.integer(0, 1), d.integer(0, 1)
    inputs = [d.values(dtype, (k, m) if ta else (m, k)), d.values(dtype, (n, k) if tb else (k, n))]
    if version < 11 or d.chance(0.8):
        inputs.append(d.values(dtype, d.pick(((), (n,), (1, n), (m, 1), (m, n), (1, 1), (1,)))))
    attributes = {"transA": ta, "transB": tb, **({"alpha": 0.5} if d.chance(0.4) else {}), **({"beta": 2.0} if d.chance(0.4) else {})}
    return Drawn(op, inputs, attributes, slack=4, constants=(1, 2) if d.chance(0.5) else ())


@operator("Einsum", first=12)
def einsum(d, version, op):
    equation = d.pick(
        (
            "ij,jk->ik",
            "bij,bjk->bik",
            "ii->i",
            "ij->ji",
            "i,j->ij",
            "bhid,bhjd->bhij",
            "ij->",
            "...ij,...jk->...ik",
            "abc,cd->abd",
            "ij,ij->i",
            "bhwc,hkc->bhwk",
        )
    )
    sizes = {letter: d.integer(1, 4) for letter in "abcdefghijklmnopqrstuvwxyz"}
    inputs = []
    for term in equation.split("->")[0].split(","):
        term = term.replace("...", "z")
        inputs.append(d.values(np.float32, tuple(sizes[letter] for letter in term)))
    return Drawn(op, inputs, {"equation": equation}, slack=4)


def _window(d, spatial, kernel):
    """Strides, dilations and pads or an automatic padding, for a window that fits."""
    n = len(spatial)
    attributes = {}
    if d.chance(0.5):
        attributes["strides"] = [d.integer(1, 3) for _ in range(n)]
    dilations = [d.integer(1, 2) for _ in range(n)] if d.chance(0.3) else [1] * n
    if dilations != [1] * n:
        attributes["dilations"] = dilations
    if d.chance(0.15) and "dilations" not in attributes:
        attributes["auto_pad"] = d.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif d.chance(0.6):
        attributes["pads"] = [d.integer(0, max(0, min(k - 1, 2))) for k in kernel] + [d.integer(0, max(0, min(k - 1, 2))) for k in kernel]
    return attributes


def _spatial(d):
    n = d.pick((1, 2, 2, 2, 3))
    spatial = [d.integer(4, 9 if n < 3 else 5) for _ in range(n)]
    return spatial, [d.integer(1, 3) for _ in range(n)]


@operator("Conv", first=1)
def conv(d, version, op):
    spatial, kernel = _spatial(d)
    group = d.pick((1, 1, 1, 2, 4))
    per_group, out = d.pick((1, 2, 3)), group * d.pick((1, 1, 2, 5))
    if d.chance(0.2):
        per_group = 1
    x = d.values(np.float32, (d.integer(1, 2), group * per_group, *spatial))
    inputs = [x, d.values(np.float32, (out, per_group, *kernel))] + ([d.values(np.float32, (out,))] if d.chance(0.6) else [])
    attributes = {**_window(d, spatial, kernel), **({"group": group} if group > 1 else {}), **({"kernel_shape": kernel} if d.chance(0.5) else {})}
    return Drawn(op, inputs, attributes, slack=8, constants=(1, 2) if d.chance(0.7) else ())


@operator("ConvTranspose", first=1)
def conv_transpose(d, version, op):
    spatial, kernel = _spatial(d)
    spatial = [max(1, s // 2) for s in spatial]
    group, out = d.pick((1, 1, 2)), d.integer(1, 3)
    channels = group * d.integer(1, 3)
    attributes = {k: v for k, v in _window(d, spatial, kernel).items() if k != "auto_pad"}
    strides = attributes.get("strides", [1] * len(spatial))
    if d.chance(0.3):
        attributes["output_padding"] = [d.integer(0, s - 1) for s in strides]
    inputs = [d.values(np.float32, (d.integer(1, 2), channels, *spatial)), d.values(np.float32, (channels, out, *kernel))]
    inputs += [d.values(np.float32, (out * group,))] if d.chance(0.5) else []
    return Drawn(op, inputs, {**attributes, "group": group}, slack=8, constants=(1, 2) if d.chance(0.6) else ())


@operator("MaxPool", "AveragePool", "LpPool", first=8)
def pool(d, version, op):
    spatial, kernel = _spatial(d)
    attributes = {**_window(d, spatial, kernel), "kernel_shape": kernel}
    dilations = attributes.get("dilations", [1] * len(kernel))
    if version < {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op] or any((k - 1) * a >= s for k, a, s in zip(kernel, dilations, spatial)):
        attributes.pop("dilations", None)
    if d.chance(0.3) and version >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op] and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and d.chance(0.4):
        attributes["count_include_pad"] = 1
    if op == "LpPool":
        attributes["p"] = d.integer(1, 3)
    outputs = 2 if op == "MaxPool" and d.chance(0.3) else 1
    return Drawn(op, [d.values(np.float32, (d.integer(1, 2), d.integer(1, 3), *spatial))], attributes, outputs=outputs, slack=4)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", first=1)
def global_pool(d, version, op):
    return Drawn(
        op,
        [d.values(np.float32, (d.integer(1, 3), d.integer(1, 4), *_spatial(d)[0]))],
        {"p": d.integer(1, 3)} if op == "GlobalLpPool" and version > 1 else {},
        slack=4,
    )


@operator("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", first=10)
def quantise(d, version, op):
    if op == "DynamicQuantizeLinear":
        return Drawn(op, [d.values(np.float32, d.shape(1, 3, zero=0))], outputs=3, steps=1)
    shape, dtype = d.shape(1, 4), d.pick((np.uint8, np.int8))
    axis, attributes, parameters = d.axis(len(shape)), {}, ()
    if version >= 13 and d.chance(0.5):
        parameters, attributes = (shape[axis],), {"axis": axis}
    scale = np.asarray(d.rng.uniform(0.01, 0.2, parameters)).astype(np.float32)
    zero = d.values(dtype, parameters, 0, 4)
    x = d.values(np.float32, shape, -9, 9) if op == "QuantizeLinear" else d.values(dtype, shape, -15, 15)
    return Drawn(op, [x, scale, zero], attributes, steps=1 if op == "QuantizeLinear" else 0)


@operator("MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv", first=10)
def integer_products(d, version, op):
    second = d.pick((np.uint8, np.int8))
    limits = (0, 31) if second is np.uint8 else (-8, 7.9)
    f = np.float32
    if "MatMul" in op:
        m, k, n = (d.pick((1, 2, 3, 5, 9, 17)) for _ in range(3))
        a, b = d.values(np.uint8, (m, k), 0, 31), d.values(second, (k, n), *limits)
        if op == "MatMulInteger":
            return Drawn(op, [a, b] + ([np.uint8(7)] + ([second(3)] if d.chance(0.5) else []) if d.chance(0.7) else []), constants=(1, 3))
        return Drawn(op, [a, f(0.02), np.uint8(9), b, f(0.03), second(2), f(0.4), np.uint8(100)], constants=(3, 4, 5), steps=1)
    spatial, kernel = [d.integer(3, 7) for _ in range(2)], [d.integer(1, 3) for _ in range(2)]
    group = d.pick((1, 1, 2))
    channels, out = group * d.integer(1, 3), group * d.integer(1, 3)
    x, w = d.values(np.uint8, (1, channels, *spatial), 0, 31), d.values(second, (out, channels // group, *kernel), *limits)
    attributes = {**_window(d, spatial, kernel), "group": group}
    if op == "ConvInteger":
        return Drawn(op, [x, w] + ([np.uint8(5)] if d.chance(0.6) else []), attributes, constants=(1,))
    scale = np.asarray(d.values(f, (out,) if d.chance(0.5) else (), 0.01, 0.05))
    zero = np.zeros(scale.shape, second)
    return Drawn(
        op,
        [x, f(0.02), np.uint8(9), w, scale.astype(f), zero, f(0.3), np.uint8(100), d.values(np.int32, (out,), -20, 20)],
        attributes,
        constants=(3, 4, 5, 8),
        steps=1,
    )


@operator("RNN", "GRU", "LSTM", first=7)
def recurrent(d, version, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, size, hidden = d.integer(1, 6), d.integer(1, 4), d.pick((1, 2, 5, 8)), d.pick((1, 3, 8, 17))
    direction = d.pick(("forward", "reverse", "bidirectional"))
    n = 2 if direction == "bidirectional" else 1

    def some(*shape):
        return d.values(np.float32, shape, -1, 1)

    inputs = [
        some(steps, batch, size),
        some(n, gates * hidden, size),
        some(n, gates * hidden, hidden),
        some(n, 2 * gates * hidden) if d.chance(0.7) else None,
        d.rng.integers(1, steps + 1, batch).astype(np.int32) if d.chance(0.4) else None,
        some(n, batch, hidden) if d.chance(0.5) else None,
    ]
    if op == "LSTM":
        inputs += [some(n, batch, hidden) if d.chance(0.5) else None, some(n, 3 * hidden) if d.chance(0.3) else None]
    while inputs[-1] is None:
        inputs.pop()
    attributes = {"hidden_size": hidden, "direction": direction}
    if op == "GRU" and d.chance(0.5):
        attributes["linear_before_reset"] = 1
    if d.chance(0.2):
        attributes["activations"] = [d.pick(("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign")) for _ in range(n * {"RNN": 1, "GRU": 2, "LSTM": 3}[op])]
    return Drawn(op, inputs, attributes, outputs=3 if op == "LSTM" else 2, slack=10, constants=(1, 2, 3) if d.chance(0.6) else ())


@operator("NonMaxSuppression", "GridSample", first=10)
def vision(d, version, op):
    if op == "GridSample":
        mode = d.pick(("bilinear", "nearest", "bicubic") if version < 20 else ("linear", "nearest", "cubic"))
        attributes = {"mode": mode, "padding_mode": d.pick(("zeros", "border", "reflection")), "align_corners": d.integer(0, 1)}
        return Drawn(
            op,
            [d.values(np.float32, (1, 2, d.integer(2, 5), d.integer(2, 5))), d.values(np.float32, (1, d.integer(1, 4), 3, 2), -1.4, 1.4)],
            attributes,
            slack=4,
        )
    boxes, classes = d.integer(1, 12), d.integer(1, 3)
    corner = d.rng.uniform(0, 4, (1, boxes, 2)).astype(np.float32)
    inputs = [
        np.concatenate([corner, corner + d.rng.uniform(0.5, 2, (1, boxes, 2))], 2).astype(np.float32),
        d.values(np.float32, (1, classes, boxes), 0, 1),
        np.array([d.integer(0, 5)]),
        np.array([0.4], np.float32),
        np.array([0.2], np.float32),
    ]
    return Drawn(op, inputs[: d.integer(3, 5)])
