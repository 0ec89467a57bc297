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


def _unary(names, types, low=-4.0, high=4.0, extreme=.15):
    def draw(d, version, op):
        return Drawn(op, [d.values(d.pick(types), d.shape(), low, high, extreme)])
    for name in names:
        OPERATORS[name] = (draw, 6)


_unary(("Abs", "Neg", "Sign"), FLOATS + SIGNED)
_unary(("Exp", "Floor", "Ceil", "Sigmoid", "Tanh", "Reciprocal", "Erf", "IsNaN", "Softsign"), FLOATS)
_unary(("Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Asinh", "Round", "Softplus", "HardSwish", "Mish"), FLOATS, extreme=0)
_unary(("Log", "Sqrt"), FLOATS, .01, 9)
_unary(("Asin", "Acos", "Atanh"), FLOATS, -.99, .99, 0)
_unary(("Acosh",), FLOATS, 1, 9, 0)
_unary(("Relu",), FLOATS + SIGNED, extreme=0)
_unary(("Not",), (np.bool_,))
_unary(("BitwiseNot",), SIGNED + UNSIGNED)
_unary(("Identity", "Shape", "Size"), ANY)


@operator("Elu", "LeakyRelu", "Selu", "HardSigmoid", "ThresholdedRelu", "Celu", "Gelu", "Shrink", first=6)
def activation(d, version, op):
    names = {"Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"), "Gelu": (), "Shrink": ("lambd", "bias")}.get(op, ("alpha",))
    attributes = {name: round(float(d.rng.uniform(.1, 1.5)), 3) for name in names if d.chance(.6)}
    if op == "Gelu" and d.chance(.5):
        attributes["approximate"] = "tanh"
    return Drawn(op, [d.values(d.pick(FLOATS if op != "Celu" else (np.float32,)), d.shape())], attributes)


@operator("Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu")
def arithmetic(d, version, op):
    a, b = d.broadcast()
    dtype = d.pick(NUMBERS if version >= 14 or op == "Mod" else WIDE if op != "PRelu" else FLOATS)
    if op == "PRelu":
        a = np.broadcast_shapes(a, b)
    extreme = .1 if dtype in FLOATS and op in ("Add", "Sub", "Mul", "Div") else 0
    x, y = d.values(dtype, a, extreme=extreme), d.values(dtype, b, extreme=extreme)
    attributes = {}
    if op in ("Div", "Mod") and np.issubdtype(dtype, np.integer):
        y = np.where(y == 0, 3, y).astype(dtype)
    if op == "Mod":
        attributes = {"fmod": 1} if np.issubdtype(dtype, np.floating) or d.chance(.5) else {}
        y = np.where(y == 0, 1, y).astype(dtype)
    if op == "Pow":
        x, y = np.abs(x) + dtype(1) if dtype in FLOATS else x % 5, (y % 4) if dtype not in FLOATS else y / 2
        y = np.abs(y).astype(dtype) if dtype not in FLOATS else y
    return Drawn(op, [x, y.astype(dtype)], attributes)


@operator("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal", first=9)
def comparison(d, version, op):
    dtype = d.pick(NUMBERS + ((np.bool_, object) if op == "Equal" and version >= 19 else (np.bool_,) if op == "Equal" else ()))
    a, b = d.broadcast()
    return Drawn(op, [d.values(dtype, a, -1, 1, .1), d.values(dtype, b, -1, 1, .1)])


@operator("And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift")
def bits(d, version, op):
    a, b = d.broadcast()
    if op in ("And", "Or", "Xor"):
        return Drawn(op, [d.values(np.bool_, a), d.values(np.bool_, b)])
    if op == "BitShift":
        dtype = d.pick(UNSIGNED)
        return Drawn(op, [d.values(dtype, a, 0, 15), d.values(dtype, b, 0, .8)], {"direction": d.pick(("LEFT", "RIGHT"))})
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
        return Drawn(op, [x], {k: v for k, v in (("min", -1.25), ("max", 2.5)) if d.chance(.7)})
    inputs = [x, dtype(1) if d.chance(.7) else None, dtype(3) if d.chance(.7) else None]
    while inputs[-1] is None:
        inputs.pop()
    return Drawn(op, inputs, constants=tuple(range(1, len(inputs))) if d.chance(.5) else ())


@operator("Cast", first=9)
def cast(d, version, op):
    origin, target = d.pick(NUMBERS + (np.bool_,)), d.pick(NUMBERS + (np.bool_,))
    narrow = np.issubdtype(target, np.unsignedinteger)
    return Drawn(op, [d.values(origin, d.shape(), 0 if narrow else -4, 4 if narrow else 4)], {"to": elem(target)})


REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
              "ReduceLogSumExp")


@operator(*REDUCTIONS, first=1)
def reduction(d, version, op):
    shape = d.shape(1, 5, zero=0)
    dtype = d.pick((np.float32, np.float32, np.float64, np.int32, np.int64) if "Log" not in op else (np.float32, np.float64))
    x = d.values(dtype, shape, .1 if op == "ReduceLogSum" else -2, 2)
    if op == "ReduceProd" and np.issubdtype(dtype, np.integer):
        x = np.clip(x, -2, 2)
    attributes = {"keepdims": d.integer(0, 1)} if d.chance(.8) else {}
    axes = d.axes(len(shape)) if d.chance(.85) else None
    inputs = [x]
    if version >= (13 if op == "ReduceSum" else 18):
        if axes is not None:
            inputs.append(np.array(axes))
        elif d.chance(.4):
            attributes["noop_with_empty_axes"] = 1
    elif axes is not None:
        attributes["axes"] = [a % len(shape) for a in axes] if version < 11 else axes
    return Drawn(op, inputs, attributes, slack=4, constants=(1,) if len(inputs) == 2 and d.chance(.5) else ())


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
    attributes = {"axis": axis % len(shape) if version < 11 else axis} if d.chance(.8) else {}
    return Drawn(op, [d.values(d.pick((np.float32, np.float64) if op != "Hardmax" else (np.float32,)), shape, -9, 9)], attributes)


@operator("CumSum", first=11)
def cumsum(d, version, op):
    shape = d.shape(1, 4)
    attributes = {k: 1 for k in ("exclusive", "reverse") if d.chance(.4)}
    return Drawn(op, [d.values(d.pick((np.float32, np.float64, np.int32, np.int64)), shape), np.asarray(d.axis(len(shape)), d.pick((np.int32, np.int64)))], attributes,
                 slack=4)


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
    tail = shape[axis % len(shape):]
    inputs = [d.values(dtype, shape), d.values(dtype, tail)]
    if op == "LayerNormalization" and d.chance(.7):
        inputs.append(d.values(dtype, tail))
    return Drawn(op, inputs, {"axis": axis, "epsilon": .05}, slack=10)


@operator("BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization", first=7)
def channel_norm(d, version, op):
    groups = d.integer(1, 3)
    channels = groups * d.integer(1, 3)
    shape = (d.integer(1, 2), channels, *d.shape(1, 3, zero=0))
    x = d.values(np.float32, shape)
    if op == "LRN":
        return Drawn(op, [x], {"size": d.pick((1, 3, 5)), "alpha": .1, "beta": .7, "bias": 1.5})
    if op == "LpNormalization":
        return Drawn(op, [x], {"axis": d.axis(len(shape)), "p": d.integer(1, 2)})
    if op == "MeanVarianceNormalization":
        return Drawn(op, [d.values(np.float32, (2, shape[1] + 1, 3, 4))], {"axes": d.axes(4)} if d.chance(.6) else {}, slack=20)
    if op == "GroupNormalization" and version < 21:
        return None
    parameters = [d.values(np.float32, (channels,)) for _ in range(3)]
    if op == "BatchNormalization":
        return Drawn(op, [x, *parameters, d.values(np.float32, (channels,), .2, 3)], {"epsilon": .01}, slack=10)
    return Drawn(op, [x, *parameters[:2]], {"epsilon": .05, **({"num_groups": groups} if op == "GroupNormalization" else {})}, slack=20)


@operator("MatMul", first=1)
def matmul(d, version, op):
    m, k, n = (d.pick((1, 1, 2, 3, 5, 8, 13, 17, 33)) for _ in range(3))
    dtype = d.pick((np.float32, np.float32, np.float64) + ((np.int32, np.int64, np.uint32) if version >= 9 else ()))
    a, b = d.broadcast(high=2, largest=3)
    left, right = (*a, m, k), (*b, k, n)
    left = (k,) if d.chance(.1) else left
    right = (k,) if d.chance(.1) else right
    return Drawn(op, [d.values(dtype, left), d.values(dtype, right)], slack=4, constants=(1,) if d.chance(.4) else ())


@operator("Gemm", first=7)
def gemm(d, version, op):
    m, k, n = (d.pick((1, 2, 3, 5, 8, 13, 17, 33)) for _ in range(3))
    dtype = d.pick((np.float32, np.float32, np.float64))
    ta, tb = d.integer(0, 1), d.integer(0, 1)
    inputs = [d.values(dtype, (k, m) if ta else (m, k)), d.values(dtype, (n, k) if tb else (k, n))]
    if version < 11 or d.chance(.8):
        inputs.append(d.values(dtype, d.pick(((), (n,), (1, n), (m, 1), (m, n), (1, 1), (1,)))))
    attributes = {"transA": ta, "transB": tb, **({"alpha": .5} if d.chance(.4) else {}), **({"beta": 2.} if d.chance(.4) else {})}
    return Drawn(op, inputs, attributes, slack=4, constants=(1, 2) if d.chance(.5) else ())


@operator("Einsum", first=12)
def einsum(d, version, op):
    equation = d.pick(("ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->ji", "i,j->ij", "bhid,bhjd->bhij", "ij->", "...ij,...jk->...ik", "abc,cd->abd", "ij,ij->i", "bhwc,hkc->bhwk"))
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
    if d.chance(.5):
        attributes["strides"] = [d.integer(1, 3) for _ in range(n)]
    dilations = [d.integer(1, 2) for _ in range(n)] if d.chance(.3) else [1] * n
    if dilations != [1] * n:
        attributes["dilations"] = dilations
    if d.chance(.15) and "dilations" not in attributes:
        attributes["auto_pad"] = d.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))
    elif d.chance(.6):
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
    if d.chance(.2):
        per_group = 1
    x = d.values(np.float32, (d.integer(1, 2), group * per_group, *spatial))
    inputs = [x, d.values(np.float32, (out, per_group, *kernel))] + ([d.values(np.float32, (out,))] if d.chance(.6) else [])
    attributes = {**_window(d, spatial, kernel), **({"group": group} if group > 1 else {}), **({"kernel_shape": kernel} if d.chance(.5) else {})}
    return Drawn(op, inputs, attributes, slack=8, constants=(1, 2) if d.chance(.7) else ())


@operator("ConvTranspose", first=1)
def conv_transpose(d, version, op):
    spatial, kernel = _spatial(d)
    spatial = [max(1, s // 2) for s in spatial]
    group, out = d.pick((1, 1, 2)), d.integer(1, 3)
    channels = group * d.integer(1, 3)
    attributes = {k: v for k, v in _window(d, spatial, kernel).items() if k != "auto_pad"}
    strides = attributes.get("strides", [1] * len(spatial))
    if d.chance(.3):
        attributes["output_padding"] = [d.integer(0, s - 1) for s in strides]
    inputs = [d.values(np.float32, (d.integer(1, 2), channels, *spatial)), d.values(np.float32, (channels, out, *kernel))]
    inputs += [d.values(np.float32, (out * group,))] if d.chance(.5) else []
    return Drawn(op, inputs, {**attributes, "group": group}, slack=8, constants=(1, 2) if d.chance(.6) else ())


@operator("MaxPool", "AveragePool", "LpPool", first=8)
def pool(d, version, op):
    spatial, kernel = _spatial(d)
    attributes = {**_window(d, spatial, kernel), "kernel_shape": kernel}
    if version < {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]:
        attributes.pop("dilations", None)
    if d.chance(.3) and version >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op] and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and d.chance(.4):
        attributes["count_include_pad"] = 1
    if op == "LpPool":
        attributes["p"] = d.integer(1, 3)
    outputs = 2 if op == "MaxPool" and d.chance(.3) else 1
    return Drawn(op, [d.values(np.float32, (d.integer(1, 2), d.integer(1, 3), *spatial))], attributes, outputs=outputs, slack=4)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", first=1)
def global_pool(d, version, op):
    return Drawn(op, [d.values(np.float32, (d.integer(1, 3), d.integer(1, 4), *_spatial(d)[0]))], {"p": d.integer(1, 3)} if op == "GlobalLpPool" and version > 1 else {}, slack=4)


@operator("Transpose", first=1)
def transpose(d, version, op):
    shape = d.shape(1, 6)
    return Drawn(op, [d.values(d.pick(ANY), shape)], {"perm": [int(p) for p in d.rng.permutation(len(shape))]} if d.chance(.85) else {})


def _split_factors(d, count):
    """A shape with the same number of elements."""
    dims, rest = [], count
    while rest > 1 and len(dims) < 4:
        factors = [f for f in range(1, rest + 1) if rest % f == 0]
        dims.append(d.pick(factors))
        rest //= dims[-1]
    return dims + [rest]


@operator("Reshape", first=5)
def reshape(d, version, op):
    shape = d.shape(1, 4, zero=0)
    target = _split_factors(d, int(np.prod(shape)))
    if d.chance(.5):
        target[d.integer(0, len(target) - 1)] = -1
    return Drawn(op, [d.values(d.pick(ANY), shape), np.array(target)], constants=(1,) if d.chance(.5) else ())


@operator("Flatten", "Squeeze", "Unsqueeze", "Tile", "Expand", "Trilu", "EyeLike", "DepthToSpace", "SpaceToDepth", "ReverseSequence", first=6)
def shape_change(d, version, op):
    dtype = d.pick(NUMBERS)
    if op == "Flatten":
        shape = d.shape(1, 5)
        return Drawn(op, [d.values(dtype if version >= 9 else np.float32, shape)], {"axis": d.integer(-len(shape) if version >= 11 else 0, len(shape))})
    if op == "Squeeze":
        shape = [1 if d.chance(.5) else s for s in d.shape(1, 5)]
        ones = [i for i, s in enumerate(shape) if s == 1]
        x = d.values(dtype, tuple(shape))
        if not ones or d.chance(.3):
            return Drawn(op, [x])
        axes = [i - len(shape) if d.chance(.4) and version >= 11 else i for i in ones]
        return Drawn(op, [x, np.array(axes)] if version >= 13 else [x], {} if version >= 13 else {"axes": axes})
    if op == "Unsqueeze":
        shape = d.shape(0, 3)
        rank = len(shape) + d.integer(1, 2)
        axes = sorted(int(a) for a in d.rng.permutation(rank)[:rank - len(shape)])
        axes = [a - rank if d.chance(.4) and version >= 11 else a for a in axes]
        x = d.values(dtype, shape)
        return Drawn(op, [x, np.array(axes)] if version >= 13 else [x], {} if version >= 13 else {"axes": axes})
    if op == "Tile":
        shape = d.shape(1, 4)
        return Drawn(op, [d.values(dtype, shape), np.array([d.integer(0 if d.chance(.1) else 1, 3) for _ in shape])])
    if op == "Expand":
        shape, target = d.broadcast(high=4)
        return Drawn(op, [d.values(dtype, shape), np.array(target, np.int64)])
    if op == "Trilu":
        shape = d.shape(2, 4)
        return Drawn(op, [d.values(dtype, shape)] + ([np.asarray(d.integer(-4, 4))] if d.chance(.6) else []), {"upper": d.integer(0, 1)})
    if op == "EyeLike":
        return Drawn(op, [d.values(dtype, d.shape(2, 2))], {"k": d.integer(-2, 2), **({"dtype": elem(d.pick(NUMBERS))} if d.chance(.4) else {})})
    if op == "ReverseSequence":
        shape = d.shape(2, 4, zero=0)
        batch = d.integer(0, 1)
        return Drawn(op, [d.values(np.float32, shape), d.rng.integers(1, shape[1 - batch] + 1, shape[batch])], {"batch_axis": batch, "time_axis": 1 - batch})
    block = d.integer(1, 3)
    spatial = [d.integer(1, 3) * (block if op == "SpaceToDepth" else 1) for _ in range(2)]
    channels = d.integer(1, 3) * (block * block if op == "DepthToSpace" else 1)
    mode = {"mode": d.pick(("DCR", "CRD"))} if op == "DepthToSpace" and version >= 11 else {}
    return Drawn(op, [d.values(np.float32, (d.integer(1, 2), channels, *spatial))], {"blocksize": block, **mode})


@operator("Concat", first=4)
def concat(d, version, op):
    shape = list(d.shape(1, 4))
    axis = d.axis(len(shape))
    dtype, parts = d.pick(ANY), []
    for _ in range(d.integer(1, 4)):
        shape[axis] = d.integer(0 if d.chance(.2) else 1, 5)
        parts.append(d.values(dtype, tuple(shape)))
    return Drawn(op, parts, {"axis": axis % len(shape) if version < 11 else axis})


@operator("Split", first=2)
def split(d, version, op):
    shape = list(d.shape(1, 4, zero=0))
    axis = d.axis(len(shape))
    sizes = [d.integer(0 if version >= 13 and d.chance(.2) else 1, 4) for _ in range(d.integer(1, 3))]
    if d.chance(.4):
        sizes = [sizes[0] or 1] * len(sizes)
    shape[axis] = sum(sizes)
    x, even = d.values(d.pick(NUMBERS), tuple(shape)), len(set(sizes)) == 1
    attributes = {"axis": axis % len(shape) if version < 11 else axis}
    inputs = [x]
    if even and d.chance(.5):
        attributes |= {"num_outputs": len(sizes)} if version >= 18 else {}
    elif version >= 13:
        inputs.append(np.array(sizes))
    else:
        attributes["split"] = sizes
    return Drawn(op, inputs, attributes, outputs=len(sizes), constants=(1,) if len(inputs) > 1 and d.chance(.6) else ())


@operator("Slice", first=1)
def slices(d, version, op):
    shape = d.shape(1, 4)
    axes = d.axes(len(shape))
    starts = [d.integer(-shape[a] - 2, shape[a] + 2) for a in axes]
    ends = [d.pick((d.integer(-shape[a] - 2, shape[a] + 2), 2 ** 31 - 1, -2 ** 31)) for a in axes]
    x = d.values(d.pick(ANY if version >= 10 else NUMBERS), shape)
    if version < 10:
        return Drawn(op, [x], {"starts": starts, "ends": [min(e, 2 ** 31 - 1) for e in ends], "axes": [a % len(shape) for a in axes]})
    kind = d.pick((np.int32, np.int64))
    steps = [d.pick((1, 1, 2, 3, -1, -2)) for _ in axes]
    ends = [-2 ** 31 if s < 0 and e == 2 ** 31 - 1 else e for e, s in zip(ends, steps)]
    inputs = [x, np.array(starts, kind), np.array(ends, kind), np.array(axes, kind)] + ([np.array(steps, kind)] if d.chance(.7) else [])
    return Drawn(op, inputs, constants=(1, 2, 3, 4) if d.chance(.6) else ())


@operator("Pad", first=2)
def pad(d, version, op):
    shape = d.shape(1, 4)
    mode = d.pick(("constant", "constant", "reflect", "edge") + (("wrap",) if version >= 19 else ()))
    if mode != "constant" and 0 in shape:
        return None
    limit = [2 if mode == "constant" else min(2, s - 1) if mode == "reflect" else 2 for s in shape] * 2
    low = [0 if mode != "constant" else -min(1, s) // 2 for s in shape] * 2
    pads = [d.integer(lo, hi) for lo, hi in zip(low, limit)]
    dtype = d.pick(NUMBERS if version >= 13 else (np.float32, np.float64))
    x = d.values(dtype, shape)
    if version < 11:
        return Drawn(op, [d.values(np.float32, shape)], {"mode": mode, "pads": pads, **({"value": 1.5} if mode == "constant" else {})})
    inputs = [x, np.array(pads)] + ([np.asarray(d.values(dtype, ()))] if mode == "constant" and d.chance(.6) else [])
    return Drawn(op, inputs, {"mode": mode}, constants=(1,) if d.chance(.6) else ())


def _indices(d, limit, shape, version):
    return d.rng.integers(-limit if version >= 11 else 0, limit, shape).astype(d.pick((np.int32, np.int64)))


@operator("Gather", "GatherElements", "GatherND", "OneHot", first=1)
def gather(d, version, op):
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(len(shape)) if version >= 11 else d.integer(0, len(shape) - 1)
    x = d.values(d.pick(ANY), shape)
    if op == "Gather":
        return Drawn(op, [x, _indices(d, shape[axis], d.shape(0, 3, largest=3), version)], {"axis": axis})
    if op == "GatherElements":
        target = tuple(d.integer(1, s if i != axis % len(shape) else 5) for i, s in enumerate(shape))
        return Drawn(op, [x, _indices(d, shape[axis], target, version)], {"axis": axis})
    if op == "OneHot":
        depth = d.integer(1, 6)
        return Drawn(op, [d.rng.integers(-depth if version >= 11 else 0, depth, d.shape(0, 3)), np.asarray(depth), d.values(np.float32, (2,))], {"axis": -1})
    batch = d.integer(0, min(len(shape) - 1, 1)) if version >= 12 else 0
    width = d.integer(1, len(shape) - batch)
    lead = (*shape[:batch], *d.shape(0 if batch else 1, 2, largest=3))
    index = np.stack([_indices(d, s, lead, 11).astype(np.int64) for s in shape[batch:batch + width]], -1)
    return Drawn(op, [x, index], {"batch_dims": batch} if batch else {})


@operator("ScatterElements", "ScatterND", first=11)
def scatter(d, version, op):
    shape = d.shape(1, 3, zero=0)
    reduction = d.pick(("none", "add", "mul") + (("max", "min") if version >= 18 else ())) if version >= 16 else "none"
    dtype = d.pick((np.float32, np.int64, np.int32, np.float64))
    x, attributes = d.values(dtype, shape), {"reduction": reduction} if reduction != "none" else {}
    if op == "ScatterND":
        width = d.integer(1, len(shape))
        total = int(np.prod(shape[:width]))
        count = d.integer(1, total)
        flat = d.rng.permutation(total)[:count] if reduction == "none" else d.rng.integers(0, total, count)
        index = np.stack(np.unravel_index(flat, shape[:width]), -1)
        return Drawn(op, [x, index, d.values(dtype, (count, *shape[width:]))], attributes)
    axis = d.axis(len(shape))
    target = tuple(d.integer(1, s) for s in shape)
    index = np.argsort(d.rng.random((*target[:axis % len(shape)], shape[axis], *target[axis % len(shape) + 1:])), axis)
    index = np.take(index, range(target[axis]), axis)
    return Drawn(op, [x, index - (shape[axis] if d.chance(.3) else 0), d.values(dtype, target)], {**attributes, "axis": axis})


@operator("Compress", "NonZero", "Unique", "ConstantOfShape", "Range", first=9)
def data_dependent(d, version, op):
    if op == "ConstantOfShape":
        return Drawn(op, [np.array(d.shape(0, 4), np.int64)])
    if op == "Range":
        kind = d.pick((np.float32, np.float64, np.int32, np.int64, np.int16))
        step = d.pick((1, 2, 3, -1, -2)) if kind not in (np.float32, np.float64) else d.pick((.5, 1.25, -.75))
        return Drawn(op, [kind(d.integer(-5, 5)), kind(d.integer(-5, 5)), kind(step)])
    shape = d.shape(1, 4)
    if op == "NonZero":
        return Drawn(op, [d.values(d.pick((np.float32, np.int64, np.bool_, np.int32, np.uint8)), shape, -.2, .3)])
    if op == "Unique":
        attributes = {"sorted": d.integer(0, 1), **({"axis": d.axis(len(shape))} if d.chance(.5) else {})}
        return Drawn(op, [d.values(d.pick((np.float32, np.int64)), shape, -.3, .3).round()], attributes, outputs=4)
    axis = d.axis(len(shape)) if version >= 11 else d.integer(0, len(shape) - 1)
    if d.chance(.3):
        return Drawn(op, [d.values(np.float32, shape), d.values(np.bool_, (d.integer(1, max(1, int(np.prod(shape)))),))])
    return Drawn(op, [d.values(np.float32, shape), d.values(np.bool_, (d.integer(0, shape[axis]),))], {"axis": axis})


@operator("Resize", first=11)
def resize(d, version, op):
    n = d.pick((1, 2, 2, 2, 3))
    shape = (1, d.integer(1, 2), *[d.integer(2, 5) for _ in range(n)])
    mode = d.pick(("nearest", "linear") + (("cubic",) if n == 2 else ()))
    attributes = {"mode": mode, "coordinate_transformation_mode": d.pick(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))}
    if mode == "nearest":
        attributes["nearest_mode"] = d.pick(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    x = d.values(np.float32, shape)
    empty = np.zeros(0, np.float32) if version < 13 else None
    if d.chance(.5):
        scales = np.array([1, 1, *[d.pick((.5, 1, 2, 3, 1.5, .75, 2.5)) for _ in range(n)]], np.float32)
        return Drawn(op, [x, empty, scales], attributes, constants=(1, 2), slack=4)
    sizes = np.array([*shape[:2], *[d.integer(1, 9) for _ in range(n)]])
    return Drawn(op, [x, empty, np.zeros(0, np.float32) if version < 13 else None, sizes], attributes, constants=(1, 2, 3) if version < 13 else (3,), slack=4)


@operator("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", first=10)
def quantise(d, version, op):
    if op == "DynamicQuantizeLinear":
        return Drawn(op, [d.values(np.float32, d.shape(1, 3, zero=0))], outputs=3, steps=1)
    shape, dtype = d.shape(1, 4), d.pick((np.uint8, np.int8))
    axis, attributes, parameters = d.axis(len(shape)), {}, ()
    if version >= 13 and d.chance(.5):
        parameters, attributes = (shape[axis],), {"axis": axis}
    scale = np.asarray(d.values(np.float32, parameters, .01, .2)).astype(np.float32)
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
            return Drawn(op, [a, b] + ([np.uint8(7)] + ([second(3)] if d.chance(.5) else []) if d.chance(.7) else []), constants=(1, 3))
        return Drawn(op, [a, f(.02), np.uint8(9), b, f(.03), second(2), f(.4), np.uint8(100)], constants=(3, 4, 5), steps=1)
    spatial, kernel = [d.integer(3, 7) for _ in range(2)], [d.integer(1, 3) for _ in range(2)]
    group = d.pick((1, 1, 2))
    channels, out = group * d.integer(1, 3), group * d.integer(1, 3)
    x, w = d.values(np.uint8, (1, channels, *spatial), 0, 31), d.values(second, (out, channels // group, *kernel), *limits)
    attributes = {**_window(d, spatial, kernel), "group": group}
    if op == "ConvInteger":
        return Drawn(op, [x, w] + ([np.uint8(5)] if d.chance(.6) else []), attributes, constants=(1,))
    scale = np.asarray(d.values(f, (out,) if d.chance(.5) else (), .01, .05))
    zero = np.zeros(scale.shape, second)
    return Drawn(op, [x, f(.02), np.uint8(9), w, scale.astype(f), zero, f(.3), np.uint8(100), d.values(np.int32, (out,), -20, 20)], attributes, constants=(3, 4, 5, 8), steps=1)


@operator("RNN", "GRU", "LSTM", first=7)
def recurrent(d, version, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, size, hidden = d.integer(1, 6), d.integer(1, 4), d.pick((1, 2, 5, 8)), d.pick((1, 3, 8, 17))
    direction = d.pick(("forward", "reverse", "bidirectional"))
    n = 2 if direction == "bidirectional" else 1

    def some(*shape):
        return d.values(np.float32, shape, -1, 1)

    inputs = [some(steps, batch, size), some(n, gates * hidden, size), some(n, gates * hidden, hidden),
              some(n, 2 * gates * hidden) if d.chance(.7) else None,
              d.rng.integers(1, steps + 1, batch).astype(np.int32) if d.chance(.4) else None, some(n, batch, hidden) if d.chance(.5) else None]
    if op == "LSTM":
        inputs += [some(n, batch, hidden) if d.chance(.5) else None, some(n, 3 * hidden) if d.chance(.3) else None]
    while inputs[-1] is None:
        inputs.pop()
    attributes = {"hidden_size": hidden, "direction": direction}
    if op == "GRU" and d.chance(.5):
        attributes["linear_before_reset"] = 1
    if d.chance(.2):
        attributes["activations"] = [d.pick(("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Softplus")) for _ in range(n * {"RNN": 1, "GRU": 2, "LSTM": 3}[op])]
    return Drawn(op, inputs, attributes, outputs=3 if op == "LSTM" else 2, slack=10, constants=(1, 2, 3) if d.chance(.6) else ())


@operator("NonMaxSuppression", "GridSample", first=10)
def vision(d, version, op):
    if op == "GridSample":
        mode = d.pick(("bilinear", "nearest", "bicubic") if version < 20 else ("linear", "nearest", "cubic"))
        attributes = {"mode": mode, "padding_mode": d.pick(("zeros", "border", "reflection")), "align_corners": d.integer(0, 1)}
        return Drawn(op, [d.values(np.float32, (1, 2, d.integer(2, 5), d.integer(2, 5))), d.values(np.float32, (1, d.integer(1, 4), 3, 2), -1.4, 1.4)], attributes, slack=4)
    boxes, classes = d.integer(1, 12), d.integer(1, 3)
    corner = d.rng.uniform(0, 4, (1, boxes, 2)).astype(np.float32)
    inputs = [np.concatenate([corner, corner + d.rng.uniform(.5, 2, (1, boxes, 2))], 2).astype(np.float32), d.values(np.float32, (1, classes, boxes), 0, 1),
              np.array([d.integer(0, 5)]), np.array([.4], np.float32), np.array([.2], np.float32)]
    return Drawn(op, inputs[:d.integer(3, 5)])
