"""How operators of com.microsoft and ai.onnx.ml are drawn; see draw_operators.py."""

import numpy as np

from cases_core import ML, MS
from draw_core import NUMBERS, Drawn
from draw_operators import operator

OPSET_DOMAINS = {}


def other(domain, *names):
    """Register a drawer for operators of another domain."""

    def register(function):
        for name in names:
            OPSET_DOMAINS[name] = domain
        return operator(*names, first=1)(function)

    return register


@other(MS, "FusedMatMul")
def fused_matmul(d, version, op):
    m, k, n = (d.pick((1, 2, 3, 5, 8, 17)) for _ in range(3))
    ta, tb = d.integer(0, 1), d.integer(0, 1)
    lead = d.shape(0, 2, 3, zero=0)
    inputs = [d.values(np.float32, (*lead, *((k, m) if ta else (m, k)))), d.values(np.float32, (*lead, *((n, k) if tb else (k, n))))]
    return Drawn(op, inputs, {"transA": ta, "transB": tb, "alpha": 0.5}, slack=4, constants=(1,) if d.chance(0.4) else ())


@other(MS, "BiasGelu", "FastGelu", "QuickGelu")
def gelus(d, version, op):
    shape = d.shape(1, 4, zero=0)
    inputs = [d.values(np.float32, shape)] + ([d.values(np.float32, shape[-1:])] if op == "BiasGelu" or op == "FastGelu" and d.chance(0.5) else [])
    return Drawn(op, inputs, {"alpha": 1.1} if op == "QuickGelu" else {}, slack=60)


@other(MS, "SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_norm(d, version, op):
    shape = (d.integer(1, 3), d.integer(1, 4), d.pick((4, 8, 15, 33)))
    inputs = [d.values(np.float32, shape), d.values(np.float32, shape), d.values(np.float32, shape[-1:])]
    inputs += [d.values(np.float32, shape[-1:]) for _ in range(d.integer(0, 2 if op == "SkipLayerNormalization" else 1))]
    return Drawn(op, inputs, {"epsilon": 0.05}, slack=10)


@other(MS, "MatMulNBits")
def few_bits(d, version, op):
    bits, block = d.pick((2, 4, 8)), d.pick((16, 32, 64))
    k, n, m = block * d.integer(1, 3) + d.pick((0, 0, 5)), d.pick((1, 3, 8, 17)), d.pick((1, 1, 2, 5))
    groups = -(-k // block)
    inputs = [
        d.values(np.float32, (m, k)),
        d.rng.integers(0, 256, (n, groups, block * bits // 8)).astype(np.uint8),
        d.values(np.float32, (n, groups), 0.01, 0.1),
    ]
    if d.chance(0.5):
        inputs.append(d.rng.integers(0, 256, (n, -(-groups * bits // 8))).astype(np.uint8))
    return Drawn(op, inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, slack=20, constants=(1, 2, 3))


@other(MS, "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearConcat", "QLinearAveragePool", "QLinearGlobalAveragePool")
def quantised(d, version, op):
    dtype, f = d.pick((np.uint8, np.int8)), np.float32
    low, high = (0, 31) if dtype is np.uint8 else (-16, 15.9)
    zero = dtype(d.integer(0, 100))
    if op in ("QLinearAdd", "QLinearMul"):
        a, b = d.broadcast(zero=0)
        return Drawn(op, [d.values(dtype, a, low, high), f(0.03), zero, d.values(dtype, b, low, high), f(0.05), dtype(7), f(0.21), dtype(3)], steps=1)
    if op == "QLinearConcat":
        shape = list(d.shape(1, 3, zero=0))
        axis = d.axis(len(shape))
        inputs = [f(0.04), zero]
        for _ in range(d.integer(1, 3)):
            shape[axis] = d.integer(1, 4)
            inputs += [d.values(dtype, tuple(shape), low, high), f(d.pick((0.04, 0.03))), d.pick((zero, dtype(5)))]
        return Drawn(op, inputs, {"axis": axis}, steps=1)
    if "Pool" in op:
        x = d.values(dtype, (d.integer(1, 2), d.integer(1, 3), d.integer(3, 7), d.integer(3, 7)), low, high)
        attributes = (
            {}
            if "Global" in op
            else {"kernel_shape": [2, 3], "strides": [d.integer(1, 2)] * 2, "count_include_pad": d.integer(0, 1), "pads": [d.integer(0, 1)] * 4}
        )
        return Drawn(op, [x, f(0.05), zero, f(0.043), dtype(5)], attributes, steps=1)
    return Drawn(
        op,
        [d.values(dtype, d.shape(1, 3, zero=0), low, high), f(0.05), zero, f(0.011), dtype(4)],
        {"alpha": 0.3} if op == "QLinearLeakyRelu" else {},
        steps=1,
        constants=(1, 2, 3, 4),
    )


@other(MS, "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
def integer_to_float(d, version, op):
    m, k, n = (d.pick((1, 2, 3, 8, 17)) for _ in range(3))
    dtype, f = d.pick((np.uint8, np.int8)), np.float32
    b = d.rng.integers(*((0, 256) if dtype is np.uint8 else (-64, 64)), (k, n)).astype(dtype)
    scale = np.asarray(d.values(f, (n,) if d.chance(0.5) else (), 0.01, 0.05)).astype(f)
    zero = None if d.chance(0.3) else np.full(scale.shape, 3, dtype)
    bias = [d.values(f, (n,))] if d.chance(0.5) else []
    if op == "DynamicQuantizeMatMul":
        return _trimmed(op, [d.values(f, (m, k)), b, scale, zero, *bias], slack=3000, constants=(1, 2, 3, 4))
    a = d.rng.integers(0, 256, (m, k)).astype(np.uint8)
    return _trimmed(op, [a, b, f(0.02), scale, np.uint8(120) if d.chance(0.7) else None, zero, *bias], slack=20, constants=(1, 3, 5))


def _trimmed(op, inputs, **options):
    while inputs[-1] is None:
        inputs.pop()
    return Drawn(op, inputs, **options)


@other(MS, "MultiHeadAttention")
def multi_head(d, version, op):
    batch, steps, total, heads, width = d.integer(1, 2), d.integer(1, 5), d.integer(1, 6), d.integer(1, 3), d.pick((2, 4, 8))
    hidden = heads * width
    attributes = {"num_heads": heads, **({"scale": 0.4} if d.chance(0.3) else {})}
    if d.chance(0.3):
        attributes["unidirectional"], total = 1, steps
    inputs = [
        d.values(np.float32, (batch, steps, hidden)),
        d.values(np.float32, (batch, total, hidden)),
        d.values(np.float32, (batch, total, hidden)),
        d.values(np.float32, (3 * hidden,)) if d.chance(0.4) else None,
        None,
        d.values(np.float32, (d.pick((1, batch)), d.pick((1, heads)), steps, total)) if d.chance(0.4) else None,
    ]
    drawn = _trimmed(op, inputs, slack=10)
    drawn.attributes = attributes
    return drawn


@other(MS, "RotaryEmbedding")
def rotary(d, version, op):
    batch, steps, heads, half = d.integer(1, 2), d.integer(1, 5), d.integer(1, 3), d.pick((2, 4, 8))
    positions = np.array([d.integer(0, 4)]) if d.chance(0.4) else d.rng.integers(0, 10, (batch, steps))
    shape = (batch, heads, steps, 2 * half) if d.chance(0.5) else (batch, steps, heads * 2 * half)
    return Drawn(
        op,
        [d.values(np.float32, shape), positions, d.values(np.float32, (10, half), -1, 1), d.values(np.float32, (10, half), -1, 1)],
        {"interleaved": d.integer(0, 1)},
        slack=4,
    )


@other(ML, "Scaler", "Normalizer", "Imputer", "Binarizer", "ArrayFeatureExtractor", "OneHotEncoder")
def columns(d, version, op):
    rows, width = d.integer(1, 4), d.integer(1, 5)
    kind = d.pick((np.float32, np.float32, np.float64, np.int64, np.int32))
    x = d.values(kind, (rows, width))
    if op == "Scaler":
        size = d.pick((1, width))
        return Drawn(op, [x], {"offset": d.values(np.float32, (size,)).tolist(), "scale": d.values(np.float32, (size,)).tolist()})
    if op == "Normalizer":
        return Drawn(op, [x], {"norm": d.pick(("MAX", "L1", "L2"))})
    if op == "Imputer":
        x = np.round(d.values(np.float32, (rows, width)))
        return Drawn(op, [x], {"imputed_value_floats": d.values(np.float32, (d.pick((1, width)),)).tolist(), "replaced_value_float": 1.0})
    if op == "Binarizer":
        return Drawn(op, [d.values(np.float32, (rows, width))], {"threshold": 0.3})
    if op == "ArrayFeatureExtractor":
        return Drawn(op, [x, d.rng.integers(0, width, d.integer(1, 4))])
    return Drawn(op, [d.rng.integers(0, 5, (rows,))], {"cats_int64s": [0, 2, 3, 9]})


@other(ML, "LinearRegressor", "LinearClassifier")
def linear(d, version, op):
    rows, width, classes = d.integer(1, 4), d.integer(1, 5), d.integer(1, 4)
    x = d.values(np.float32, (rows, width))
    attributes = {
        "coefficients": d.values(np.float32, (classes * width,), -1, 1).tolist(),
        "intercepts": d.values(np.float32, (classes,), -1, 1).tolist(),
        "post_transform": d.pick(("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")),
    }
    if op == "LinearRegressor":
        return Drawn(op, [x], {**attributes, "targets": classes}, slack=10)
    if classes < 3:
        return None
    return Drawn(op, [x], {**attributes, "classlabels_ints": list(range(5, 5 + classes))}, outputs=2, slack=10)


@other(ML, "SVMRegressor")
def support_vectors(d, version, op):
    width, vectors = d.integer(1, 4), d.integer(1, 5)
    return Drawn(
        op,
        [d.values(np.float32, (d.integer(1, 4), width))],
        {
            "kernel_type": d.pick(("LINEAR", "POLY", "RBF", "SIGMOID")),
            "kernel_params": [0.3, 0.5, 2.0],
            "n_supports": vectors,
            "rho": [0.25],
            "support_vectors": d.values(np.float32, (vectors * width,), -1, 1).tolist(),
            "coefficients": d.values(np.float32, (vectors,), -1, 1).tolist(),
        },
        slack=20,
    )


@other(ML, "TreeEnsembleRegressor", "TreeEnsembleClassifier")
def forest(d, version, op):
    if version > 3:
        return None
    width, targets = d.integer(1, 4), d.integer(1, 3) if op == "TreeEnsembleRegressor" else d.integer(3, 4)
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves, mode = [], d.pick(("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"))
    for tree in range(d.integer(1, 4)):
        _grow(d, nodes, leaves, tree, width, mode, d.integer(0, 3))
    kind = "target" if op == "TreeEnsembleRegressor" else "class"
    attributes = {f"nodes_{key}": values for key, values in nodes.items()} | {
        f"{kind}_treeids": [t for t, _ in leaves],
        f"{kind}_nodeids": [n for _, n in leaves],
        f"{kind}_ids": [d.integer(0, targets - 1) for _ in leaves],
        f"{kind}_weights": d.values(np.float32, (len(leaves),), -1, 1).tolist(),
        "post_transform": d.pick(("NONE", "SOFTMAX", "LOGISTIC")),
    }
    x = np.round(d.values(np.float32, (d.integer(1, 5), width)), 1)
    if d.chance(0.3):
        x.flat[0] = np.nan
    if kind == "target":
        return Drawn(op, [x], {**attributes, "n_targets": targets, "aggregate_function": d.pick(("SUM", "AVERAGE", "MIN", "MAX"))}, slack=10)
    return Drawn(op, [x], {**attributes, "classlabels_int64s": list(range(targets))}, outputs=2, slack=10)


def _grow(d, nodes, leaves, tree, width, mode, depth):
    """Append a subtree and return the id of its root."""
    own = sum(t == tree for t in nodes["treeids"])
    leaf = depth == 0
    for key, value in (
        ("treeids", tree),
        ("nodeids", own),
        ("featureids", 0 if leaf else d.integer(0, width - 1)),
        ("values", 0.0 if leaf else round(float(d.rng.uniform(-3, 3)), 1)),
        ("modes", "LEAF" if leaf else mode),
        ("truenodeids", 0),
        ("falsenodeids", 0),
        ("missing_value_tracks_true", 0 if leaf else d.integer(0, 1)),
    ):
        nodes[key].append(value)
    place = len(nodes["nodeids"]) - 1
    if leaf:
        leaves.append((tree, own))
    else:
        nodes["truenodeids"][place] = _grow(d, nodes, leaves, tree, width, mode, depth - 1)
        nodes["falsenodeids"][place] = _grow(d, nodes, leaves, tree, width, mode, depth - 1)
    return own


@operator("CastLike", "Det", first=11)
def rest(d, version, op):
    if op == "Det":
        n = d.integer(1, 4)
        return Drawn(op, [d.values(np.float32, (*d.shape(0, 2, 3, zero=0), n, n))], slack=10)
    return Drawn(op, [d.values(d.pick(NUMBERS), d.shape(), 0, 3), d.values(d.pick(NUMBERS), (1,))])
