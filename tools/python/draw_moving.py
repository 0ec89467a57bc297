"""How operators are drawn that move elements, choose them or make them; see draw_operators.py."""

import numpy as np

from draw_core import ANY, NUMBERS, Drawn, elem
from draw_operators import operator


@operator("Transpose", first=1)
def transpose(d, version, op):
    shape = d.shape(1, 6)
    return Drawn(op, [d.values(d.pick(ANY), shape)], {"perm": [int(p) for p in d.rng.permutation(len(shape))]} if d.chance(0.85) else {})


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
    if d.chance(0.5):
        target[d.integer(0, len(target) - 1)] = -1
    return Drawn(op, [d.values(d.pick(ANY), shape), np.array(target)], constants=(1,) if d.chance(0.5) else ())


@operator("Flatten", "Squeeze", "Unsqueeze", "Tile", "Expand", "Trilu", "EyeLike", "DepthToSpace", "SpaceToDepth", "ReverseSequence", first=6)
def shape_change(d, version, op):
    dtype = d.pick(NUMBERS)
    if op == "Flatten":
        shape = d.shape(1, 5)
        return Drawn(op, [d.values(dtype if version >= 9 else np.float32, shape)], {"axis": d.integer(-len(shape) if version >= 11 else 0, len(shape))})
    if op == "Squeeze":
        shape = [1 if d.chance(0.5) else s for s in d.shape(1, 5)]
        ones = [i for i, s in enumerate(shape) if s == 1]
        x = d.values(dtype, tuple(shape))
        if not ones or d.chance(0.3):
            return Drawn(op, [x])
        axes = [i - len(shape) if d.chance(0.4) and version >= 11 else i for i in ones]
        return Drawn(op, [x, np.array(axes)] if version >= 13 else [x], {} if version >= 13 else {"axes": axes})
    if op == "Unsqueeze":
        shape = d.shape(0, 3)
        rank = len(shape) + d.integer(1, 2)
        axes = sorted(int(a) for a in d.rng.permutation(rank)[: rank - len(shape)])
        axes = [a - rank if d.chance(0.4) and version >= 11 else a for a in axes]
        x = d.values(dtype, shape)
        return Drawn(op, [x, np.array(axes)] if version >= 13 else [x], {} if version >= 13 else {"axes": axes})
    if op == "Tile":
        shape = d.shape(1, 4)
        return Drawn(op, [d.values(dtype, shape), np.array([d.integer(0 if d.chance(0.1) else 1, 3) for _ in shape])])
    if op == "Expand":
        shape, target = d.broadcast(high=4)
        return Drawn(op, [d.values(dtype, shape), np.array(target, np.int64)])
    if op == "Trilu":
        shape = d.shape(2, 4)
        return Drawn(op, [d.values(dtype, shape)] + ([np.asarray(d.integer(-4, 4))] if d.chance(0.6) else []), {"upper": d.integer(0, 1)})
    if op == "EyeLike":
        return Drawn(op, [d.values(dtype, d.shape(2, 2))], {"k": d.integer(-2, 2), **({"dtype": elem(d.pick(NUMBERS))} if d.chance(0.4) else {})})
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
        shape[axis] = d.integer(0 if d.chance(0.2) else 1, 5)
        parts.append(d.values(dtype, tuple(shape)))
    return Drawn(op, parts, {"axis": axis % len(shape) if version < 11 else axis})


@operator("Split", first=2)
def split(d, version, op):
    shape = list(d.shape(1, 4, zero=0))
    axis = d.axis(len(shape))
    sizes = [d.integer(0 if version >= 13 and d.chance(0.2) else 1, 4) for _ in range(d.integer(1, 3))]
    if d.chance(0.4):
        sizes = [sizes[0] or 1] * len(sizes)
    shape[axis] = sum(sizes)
    x, even = d.values(d.pick(NUMBERS), tuple(shape)), len(set(sizes)) == 1
    attributes = {"axis": axis % len(shape) if version < 11 else axis}
    inputs = [x]
    if even and d.chance(0.5):
        attributes |= {"num_outputs": len(sizes)} if version >= 18 else {}
    elif version >= 13:
        inputs.append(np.array(sizes))
    else:
        attributes["split"] = sizes
    return Drawn(op, inputs, attributes, outputs=len(sizes), constants=(1,) if len(inputs) > 1 and d.chance(0.6) else ())


@operator("Slice", first=1)
def slices(d, version, op):
    shape = d.shape(1, 4)
    axes = d.axes(len(shape))
    starts = [d.integer(-shape[a] - 2, shape[a] + 2) for a in axes]
    ends = [d.pick((d.integer(-shape[a] - 2, shape[a] + 2), 2**31 - 1, -(2**31))) for a in axes]
    x = d.values(d.pick(ANY if version >= 10 else NUMBERS), shape)
    if version < 10:
        return Drawn(op, [x], {"starts": starts, "ends": [min(e, 2**31 - 1) for e in ends], "axes": [a % len(shape) for a in axes]})
    kind = d.pick((np.int32, np.int64))
    steps = [d.pick((1, 1, 2, 3, -1, -2)) for _ in axes]
    ends = [-(2**31) if s < 0 and e == 2**31 - 1 else e for e, s in zip(ends, steps)]
    inputs = [x, np.array(starts, kind), np.array(ends, kind), np.array(axes, kind)] + ([np.array(steps, kind)] if d.chance(0.7) else [])
    return Drawn(op, inputs, constants=(1, 2, 3, 4) if d.chance(0.6) else ())


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
    inputs = [x, np.array(pads)] + ([np.asarray(d.values(dtype, ()))] if mode == "constant" and d.chance(0.6) else [])
    return Drawn(op, inputs, {"mode": mode}, constants=(1,) if d.chance(0.6) else ())


def _indices(d, limit, shape, version):
    return d.rng.integers(-limit if version >= 11 else 0, limit, shape).astype(d.pick((np.int32, np.int64)))


@operator("Gather", "GatherElements", "GatherND", "OneHot", first=1)
def gather(d, version, op):
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(len(shape)) if version >= 11 else d.integer(0, len(shape) - 1)
    x = d.values(d.pick(NUMBERS), shape)
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
    index = np.stack([_indices(d, s, lead, 11).astype(np.int64) for s in shape[batch : batch + width]], -1)
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
    index = np.argsort(d.rng.random((*target[: axis % len(shape)], shape[axis], *target[axis % len(shape) + 1 :])), axis)
    index = np.take(index, range(target[axis]), axis)
    return Drawn(op, [x, index - (shape[axis] if d.chance(0.3) else 0), d.values(dtype, target)], {**attributes, "axis": axis})


@operator("Compress", "NonZero", "Unique", "ConstantOfShape", "Range", first=9)
def data_dependent(d, version, op):
    if op == "ConstantOfShape":
        return Drawn(op, [np.array(d.shape(0, 4), np.int64)])
    if op == "Range":
        kind = d.pick((np.float32, np.float64, np.int32, np.int64, np.int16))
        step = d.pick((1, 2, 3, -1, -2)) if kind not in (np.float32, np.float64) else d.pick((0.5, 1.25, -0.75))
        return Drawn(op, [kind(d.integer(-5, 5)), kind(d.integer(-5, 5)), kind(step)])
    shape = d.shape(1, 4)
    if op == "NonZero":
        return Drawn(op, [d.values(d.pick((np.float32, np.int64, np.bool_, np.int32, np.uint8)), shape, -0.2, 0.3)])
    if op == "Unique":
        attributes = {"sorted": d.integer(0, 1), **({"axis": d.axis(len(shape))} if d.chance(0.5) else {})}
        return Drawn(op, [d.values(d.pick((np.float32, np.int64)), shape, -0.3, 0.3).round()], attributes, outputs=4)
    axis = d.axis(len(shape)) if version >= 11 else d.integer(0, len(shape) - 1)
    if d.chance(0.3):
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
    if d.chance(0.5):
        whole = attributes["coordinate_transformation_mode"] == "align_corners"
        scales = np.array([1, 1, *[d.pick((1, 2, 3) if whole else (0.5, 1, 2, 3, 1.5, 0.75, 2.5)) for _ in range(n)]], np.float32)
        return Drawn(op, [x, empty, scales], attributes, constants=(1, 2), slack=4)
    sizes = np.array([*shape[:2], *[d.integer(1, 9) for _ in range(n)]])
    return Drawn(op, [x, empty, np.zeros(0, np.float32) if version < 13 else None, sizes], attributes, constants=(1, 2, 3) if version < 13 else (3,), slack=4)
