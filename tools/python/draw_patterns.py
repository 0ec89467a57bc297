"""What exporters write for one layer, whole and nearly: the patterns that a graph optimiser replaces.

Each step is given the grower of draw_graphs and a value; it appends its nodes and returns the last one's output, or None where
the value does not fit. `near` draws a detail that makes the pattern another one, which an optimiser must leave alone: another
constant, another axis, an inner value that somebody else reads too.
"""

import numpy as np
from onnx import TensorProto

NEAR = 0.25


def near(g):
    return g.d.chance(NEAR)


def scalar(g, value):
    """A constant of rank 0, or of one element."""
    return g.constant(np.float32(value) if g.d.chance(0.6) else np.array([value], np.float32))


def swapped(g, a, b):
    return [b, a] if g.d.chance(0.4) else [a, b]


def keep(g, name):
    """Now and then an inner value becomes an output of the graph."""
    if g.d.chance(0.12):
        g.kept.add(name)
    return name


def gelu_erf(g, x):
    shape = g.shapes[x]
    root = 1.5 if near(g) else np.sqrt(2)
    inner = g.emit("Div", [x, scalar(g, root)], shape) if g.d.chance(0.6) else g.emit("Mul", swapped(g, x, scalar(g, 1 / root)), shape)
    one = g.emit("Add", swapped(g, keep(g, g.emit("Erf", [inner], shape)), scalar(g, 1)), shape)
    half = scalar(g, 0.4 if near(g) else 0.5)
    form = g.d.integer(0, 2)
    if form == 0:
        return g.emit("Mul", swapped(g, g.emit("Mul", swapped(g, x, one), shape), half), shape)
    if form == 1:
        return g.emit("Mul", swapped(g, g.emit("Mul", swapped(g, x, half), shape), one), shape)
    return g.emit("Mul", swapped(g, x, g.emit("Mul", swapped(g, one, half), shape)), shape)


def gelu_tanh(g, x):
    shape = g.shapes[x]
    cube = g.emit("Pow", [x, scalar(g, 3)], shape) if g.d.chance(0.6) else g.emit("Mul", [x, g.emit("Mul", [x, x], shape)], shape)
    sum_ = g.emit("Add", swapped(g, x, g.emit("Mul", swapped(g, cube, scalar(g, 0.05 if near(g) else 0.044715)), shape)), shape)
    inner = g.emit("Tanh", [g.emit("Mul", swapped(g, sum_, scalar(g, np.sqrt(2 / np.pi))), shape)], shape)
    one = g.emit("Add", swapped(g, keep(g, inner), scalar(g, 1)), shape)
    return g.emit("Mul", swapped(g, g.emit("Mul", swapped(g, x, scalar(g, 0.5)), shape), one), shape)


def sigmoid_product(g, x):
    shape = g.shapes[x]
    inner = g.emit("Mul", swapped(g, x, scalar(g, 1.702)), shape) if g.d.chance(0.4) else x
    gate = keep(g, g.emit("Sigmoid", [inner], shape))
    same = [name for name, other in g.shapes.items() if other == shape]
    return g.emit("Mul", swapped(g, g.d.pick(same) if near(g) else x, gate), shape)


def hard_swish(g, x):
    shape = g.shapes[x]
    low, high = g.constant(np.float32(0)), g.constant(np.float32(5 if near(g) else 6))
    clip = g.emit("Clip", [g.emit("Add", [x, scalar(g, 3)], shape), low, high], shape)
    if g.d.chance(0.5):
        return g.emit("Div", [g.emit("Mul", swapped(g, x, clip), shape), scalar(g, 6)], shape)
    return g.emit("Mul", swapped(g, x, g.emit("Div", [clip, scalar(g, 6)], shape)), shape)


def mish(g, x):
    shape = g.shapes[x]
    return g.emit("Mul", swapped(g, x, g.emit("Tanh", [keep(g, g.emit("Softplus", [x], shape))], shape)), shape)


def norm(g, x):
    """Layer or RMS normalisation in pieces, with or without scale and shift."""
    shape = g.shapes[x]
    if len(shape) < 2 or shape[-1] < 2:
        return None
    axis = -2 if near(g) and len(shape) > 2 else -1
    row = [1 if i == len(shape) + axis else s for i, s in enumerate(shape)]
    mean_of = lambda value: g.emit("ReduceMean", [value], row, axes=[axis if g.d.chance(0.7) else axis + len(shape)], keepdims=1)  # noqa: E731
    centred = g.emit("Sub", [x, mean_of(x)], shape) if g.d.chance(0.6) else x
    square = g.emit("Pow", [centred, scalar(g, 2)], shape) if g.d.chance(0.6) else g.emit("Mul", [centred, centred], shape)
    variance = g.emit("Add", swapped(g, keep(g, mean_of(square)), scalar(g, 0.1)), row)
    root = g.emit("Sqrt", [variance], row)
    if g.d.chance(0.5):
        y = g.emit("Div", [centred, root], shape)
    else:
        inverse = g.emit("Reciprocal", [root], row) if g.d.chance(0.5) else g.emit("Div", [scalar(g, 1), root], row)
        y = g.emit("Mul", swapped(g, centred, inverse), shape)
    size = (1, shape[-1]) if near(g) else (shape[-1],)
    if g.d.chance(0.8):
        y = g.emit("Mul", swapped(g, g.weight(*size), keep(g, y)), shape)
    return g.emit("Add", swapped(g, y, g.weight(*size)), shape) if g.d.chance(0.7) else y


def skip_norm(g, x):
    shape = g.shapes[x]
    if len(shape) < 2 or shape[-1] < 2:
        return None
    same = [name for name, other in g.shapes.items() if other == shape]
    total = keep(g, g.emit("Add", swapped(g, x, g.d.pick(same)), shape))
    if near(g):
        return norm(g, total)
    return g.emit("LayerNormalization", [total, g.weight(shape[-1]), g.weight(shape[-1])], shape, axis=-1, epsilon=0.1)


def residual(g, x):
    """Convolution, perhaps normalised, plus what went in, and an activation before or after."""
    x = g.any(4) or x
    shape = g.shapes[x]
    if len(shape) != 4 or min(shape[2:]) < 2:
        return None
    d, channels = g.d, shape[1]
    kernel = d.pick((1, 3))
    group = channels if d.chance(0.3) else 1
    inputs = [x, g.weight(channels, channels // group, kernel, kernel)] + ([g.weight(channels)] if d.chance(0.6) else [])
    y = g.emit("Conv", inputs, shape, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=group)
    if d.chance(0.4):
        y = g.emit("BatchNormalization", [y, g.weight(channels, low=0.5), g.weight(channels), g.weight(channels), g.weight(channels, low=0.3)], shape)
    if d.chance(0.3):
        y = g.emit(d.pick(("Relu", "Sigmoid", "HardSwish")), [keep(g, y)], shape)
    other = x
    if near(g):
        other = g.emit("GlobalAveragePool", [x], (*shape[:2], 1, 1)) if d.chance(0.5) else g.weight(channels, 1, 1)
    y = g.emit(d.pick(("Add", "Add", "Add", "Mul")), swapped(g, keep(g, y), other), shape)
    return g.emit(d.pick(("Relu", "LeakyRelu", "Clip")), [y], shape) if d.chance(0.5) else y


def padded(g, x):
    """A Pad and the convolution or pool that may take it."""
    x = g.any(4) or x
    shape = g.shapes[x]
    if len(shape) != 4 or min(shape[2:]) < 3:
        return None
    d = g.d
    top, left, bottom, right = (d.integer(0, 2) for _ in range(4))
    begins = [0, 1 if near(g) else 0, top, left]
    padded_ = (shape[0], shape[1] + begins[1], shape[2] + top + bottom, shape[3] + left + right)
    mode = "reflect" if near(g) and begins[1] == 0 else d.pick(("constant", "constant", "edge")) if begins[1] == 0 else "constant"
    value = [g.constant(np.float32(1.5 if near(g) else 0))] if mode == "constant" and d.chance(0.7) else []
    y = keep(g, g.emit("Pad", [x, g.constant(np.array([*begins, 0, 0, bottom, right])), *value], padded_, mode=mode))
    kernel, own = 3, d.integer(0, 1)
    spatial = [s + 2 * own - kernel + 1 for s in padded_[2:]]
    if d.chance(0.7):
        out = d.pick((2, 4))
        return g.emit("Conv", [y, g.weight(out, padded_[1], kernel, kernel)], (shape[0], out, *spatial), kernel_shape=[kernel] * 2, pads=[own] * 4)
    op = d.pick(("MaxPool", "AveragePool"))
    return g.emit(op, [y], (*padded_[:2], *spatial), kernel_shape=[kernel] * 2, pads=[own] * 4)


def turned(g, x):
    """Transposes around what does not care about the order, or nearly not."""
    d, shape = g.d, g.shapes[x]
    if len(shape) < 3:
        return None
    perm = [0] + [int(p) + 1 for p in d.rng.permutation(len(shape) - 1)]
    moved = tuple(shape[p] for p in perm)
    y = g.emit("Transpose", [x], moved, perm=perm)
    for _ in range(d.integer(1, 3)):
        form = d.integer(0, 4)
        if form == 0:
            y = g.emit(d.pick(("Relu", "Tanh", "Sigmoid", "Abs")), [keep(g, y)], moved)
        elif form == 1:
            y = g.emit(d.pick(("Add", "Mul")), swapped(g, y, scalar(g, 0.7)), moved)
        elif form == 2:
            y = g.emit("Add", swapped(g, y, g.weight(moved[-1])), moved)
        elif form == 3:
            y = g.emit("Softmax", [y], moved, axis=-1)
        else:
            y = g.emit("Mul", swapped(g, y, g.emit("Transpose", [x], moved, perm=perm)), moved)
    back = [int(p) for p in np.argsort(perm)]
    if near(g):
        back = [0] + [int(p) + 1 for p in d.rng.permutation(len(shape) - 1)]
    return g.emit("Transpose", [y], tuple(moved[p] for p in back), perm=back)


def turned_product(g, x):
    """A product of two values, one of them transposed, perhaps scaled: attention's first half on its own."""
    x = g.any(3) or x
    shape = g.shapes[x]
    if len(shape) != 3 or np.prod(shape) > 400:
        return None
    same = [name for name, other in g.shapes.items() if other == shape]
    other = g.emit("Transpose", [g.d.pick(same)], (shape[0], shape[2], shape[1]), perm=[0, 2, 1])
    y = g.emit("MatMul", [x, keep(g, other)], (shape[0], shape[1], shape[1]))
    return g.emit("Div" if g.d.chance(0.5) else "Mul", [y, scalar(g, 2.5)], g.shapes[y]) if g.d.chance(0.6) else y


def chain(g, x):
    """A long row of small operations."""
    d, shape = g.d, g.shapes[x]
    y = x
    for _ in range(d.integer(3, 7)):
        form = d.integer(0, 5)
        if form == 0:
            y = g.emit(d.pick(("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Softplus", "HardSigmoid")), [y], shape)
        elif form == 1:
            y = g.emit(d.pick(("Add", "Mul", "Sub")), swapped(g, y, scalar(g, d.pick((0.0, 0.5, 1.0, 2.0)))), shape)
        elif form == 2:
            y = g.emit(d.pick(("Add", "Mul")), swapped(g, y, g.weight(shape[-1])), shape)
        elif form == 3:
            y = g.emit(d.pick(("Add", "Mul", "Max", "Min", "Sub")), swapped(g, y, x), shape)
        elif form == 4:
            y = g.emit("Clip", [y, g.constant(np.float32(-0.5)), g.constant(np.float32(d.pick((0.5, 6))))], shape)
        elif len(shape) > 1:
            y = g.emit(d.pick(("Add", "Mul")), swapped(g, y, g.weight(shape[1], *[1] * (len(shape) - 2))), shape)
        y = keep(g, y)
    return y


def half_island(g, x):
    """A stretch in float16 between two casts."""
    d, shape = g.d, g.shapes[x]
    if len(shape) < 2:
        return None
    g.rough = True
    y = g.emit("Cast", [x], to=TensorProto.FLOAT16)
    last = shape
    for _ in range(d.integer(1, 4)):
        form = d.integer(0, 3)
        if form == 0:
            y = g.emit(d.pick(("Relu", "Sigmoid", "Tanh")), [y])
        elif form == 1:
            y = g.emit(d.pick(("Add", "Mul")), [y, g.constant(d.values(np.float16, (last[-1],), -1, 1))])
        elif form == 2:
            n = d.pick((4, 8))
            y = g.emit("MatMul", [y, g.constant(d.values(np.float16, (last[-1], n), -1, 1))])
            last = (*last[:-1], n)
        else:
            y = g.emit("Softmax", [y], axis=-1)
    return g.emit("Cast", [y], last, to=TensorProto.FLOAT)


def quantised_weights(g, x):
    """Weights of 8 bits that are dequantised in the graph, and the product that takes them."""
    d, shape = g.d, g.shapes[x]
    if len(shape) < 2:
        return None
    k, n = shape[-1], d.pick((4, 8))
    each = d.chance(0.5)
    scale = g.constant(d.values(np.float32, (n,) if each else (), 0.01, 0.03))
    zero = [g.constant(d.values(np.int8, (n,) if each else (), -0.5, 0.5))] if d.chance(0.4) else []
    w = g.emit("DequantizeLinear", [g.constant(d.values(np.int8, (k, n))), scale, *zero], **({"axis": 1} if each else {}))
    y = g.emit("MatMul", [x, w], (*shape[:-1], n))
    return g.emit("Add", swapped(g, y, g.weight(n)), g.shapes[y]) if d.chance(0.5) else y


def attention(g, x):
    """Attention as different exporters write it: heads, scales, masks, biases, one product for all three or three products."""
    x = g.any(3) or x
    shape = g.shapes[x]
    if len(shape) != 3 or shape[-1] % 4 or shape[1] > 20:
        return None
    d, (batch, steps, width) = g.d, shape
    heads = d.pick((1, 2, 4))
    size = width // heads

    def project(value, to):
        y = g.emit("MatMul", [value, g.weight(width, to)], (batch, steps, to))
        return g.emit("Add", swapped(g, y, g.weight(to)), g.shapes[y]) if biased else y

    biased, joint = d.chance(0.6), d.chance(0.4)
    if joint:
        y = project(x, 3 * width)
        if d.chance(0.5):
            parts = g.emit("Split", [y, g.constant(np.array([width] * 3))], [shape] * 3, outputs=3, axis=2)
        else:
            cut = lambda i: g.emit("Slice", [y, *[g.constant(np.array([v])) for v in (i * width, (i + 1) * width, 2)]], shape)  # noqa: E731
            parts = [cut(i) for i in range(3)]
    else:
        parts = [project(x, width) for _ in range(3)]

    def split_heads(value, perm):
        y = g.emit("Reshape", [value, g.constant(np.array([0 if d.chance(0.7) else -1, steps, heads, size]))], (batch, steps, heads, size))
        return g.emit("Transpose", [y], perm=perm)

    query = split_heads(parts[0], [0, 2, 1, 3])
    if d.chance(0.7):
        key = split_heads(parts[1], [0, 2, 3, 1])
    else:
        key = g.emit("Transpose", [split_heads(parts[1], [0, 2, 1, 3])], perm=[0, 1, 3, 2])
    value = split_heads(parts[2], [0, 2, 1, 3])
    form = d.pick(("div", "mul", "both", "query", "none"))
    if form == "both":
        root = scalar(g, size**-0.25)
        query, key = g.emit("Mul", [query, root]), g.emit("Mul", [key, root])
    if form == "query":
        query = g.emit("Mul", swapped(g, query, scalar(g, size**-0.5)))
    scores = g.emit("MatMul", [query, key])
    if form == "div":
        scores = g.emit("Div", [scores, scalar(g, size**0.5)])
    if form == "mul":
        scores = g.emit("Mul", swapped(g, scores, scalar(g, size**-0.5)))
    mask = d.pick(("none", "none", "causal", "where", "rows", "heads"))
    low = np.float32(-1e4)
    if mask == "causal":
        scores = g.emit("Add", swapped(g, scores, g.constant(np.triu(np.full((steps, steps), low), 1))))
    if mask == "rows":
        scores = g.emit("Add", [scores, g.constant(np.where(d.rng.random((1, 1, 1, steps)) < 0.3, low, np.float32(0)))])
    if mask == "heads":
        scores = g.emit("Add", [scores, g.constant(d.values(np.float32, (1, heads, steps, steps)))])
    if mask == "where":
        keep_ = np.tril(np.ones((1, 1, steps, steps), np.bool_))
        scores = g.emit("Where", [g.constant(keep_), scores, g.constant(low)])
    chances = g.emit("Softmax", [scores], axis=2 if near(g) else d.pick((-1, 3)))
    y = g.emit("Transpose", [g.emit("MatMul", [chances, value])], perm=[0, 2, 1, 3])
    y = g.emit("Reshape", [y, g.constant(np.array([0, 0 if d.chance(0.5) else steps, width]))], shape)
    return project(y, width) if d.chance(0.5) else y


def shuffle(g, x):
    """Channels in another order by two reshapes."""
    x = g.any(4) or x
    shape = g.shapes[x]
    if len(shape) != 4 or shape[1] % 2:
        return None
    batch, channels, height, width = shape
    y = g.emit("Reshape", [x, g.constant(np.array([0, 2, channels // 2, height, width]))], (batch, 2, channels // 2, height, width))
    y = g.emit("Transpose", [y], (batch, channels // 2, 2, height, width), perm=[0, 2, 1, 3, 4])
    return g.emit("Reshape", [y, g.constant(np.array([0, channels, height, width]))], shape)


def soft_pieces(g, x):
    """Softmax in pieces."""
    shape = g.shapes[x]
    if len(shape) < 2:
        return None
    row = (*shape[:-1], 1)
    top = g.emit("ReduceMax", [x], row, axes=[-1], keepdims=1)
    e = g.emit("Exp", [g.emit("Sub", [x, top], shape)], shape)
    return g.emit("Div", [e, g.emit("ReduceSum", [e, g.constant(np.array([-1]))], row, keepdims=1)], shape)


def twins(g, x):
    """The same thing twice, which one node can give."""
    shape = g.shapes[x]
    op = g.d.pick(("Relu", "Sigmoid", "Tanh"))
    a, b = g.emit(op, [x], shape), g.emit(op, [x], shape)
    return g.emit(g.d.pick(("Add", "Mul")), [a, keep(g, b)], shape)


PATTERNS = (
    gelu_erf,
    gelu_tanh,
    sigmoid_product,
    hard_swish,
    mish,
    norm,
    norm,
    skip_norm,
    residual,
    residual,
    padded,
    turned,
    turned,
    turned_product,
    chain,
    chain,
    half_island,
    quantised_weights,
    attention,
    attention,
    attention,
    shuffle,
    soft_pieces,
    twins,
)
