"""Random small graphs: what a graph optimiser takes apart.

A graph is grown node by node from one input whose first axis is the batch and stays it. The steps are single nodes and the
groups that exporters emit and optimisers look for (draw_patterns.py has these, whole and nearly): convolution, batch normalisation and
activation; matrix product and bias; GELU, layer normalisation and attention in pieces; quantise and dequantise; shapes computed in the
graph. Batch is symbolic half the time; then the case has a second set of inputs with another batch.
"""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper

import cases_core
import draw_patterns
import fixtures

OPSET = 17


@dataclasses.dataclass
class DrawnGraph:
    """A model with its inputs; shrinking cuts it at inner values."""

    model: onnx.ModelProto
    inputs: list
    others: list
    op: str = "graph"
    opset: int = OPSET
    slack: float = 30.0
    steps: int = 0

    def build(self, name):
        return cases_core.Case(name, self.model, self.inputs)

    def more_inputs(self):
        return self.others

    def size(self):
        return 1000 * len(self.model.graph.node) + sum(np.size(v) for v in self.inputs) + 500 * len(self.others) + len(self.model.graph.output)

    def describe(self):
        return " ".join(node.op_type for node in self.model.graph.node)

    def smaller(self):
        """One set of inputs only; one inner value as the output; one inner value, with what it was, as the input."""
        if self.others:
            yield dataclasses.replace(self, others=[])
            return
        graph = self.model.graph
        inner = [name for node in graph.node for name in node.output if name]
        for name in inner:
            if [name] != [output.name for output in graph.output]:
                yield self._fed_by(_pruned(self.model, [name]), {})
        values = _inner_values(self.model, self.inputs, inner)
        for name, value in values.items():
            changed = self._from(name, value)
            if changed:
                yield changed

    def _from(self, name, value):
        """The graph with `name` fed instead of computed, where that saves a node."""
        wanted = [output.name for output in self.model.graph.output]
        if name in wanted:
            return None
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        for node in model.graph.node:
            node.output[:] = ["" if output == name else output for output in node.output]
        model.graph.input.append(cases_core.value_info(name, value))
        model = _pruned(model, wanted)
        return self._fed_by(model, {name: value}) if len(model.graph.node) < len(self.model.graph.node) else None

    def _fed_by(self, model, more):
        """Another model, with those of these inputs that it still has."""
        fed = dict(zip([i.name for i in fixtures.fed_inputs(self.model)], self.inputs)) | more
        return dataclasses.replace(self, model=model, inputs=[fed[i.name] for i in fixtures.fed_inputs(model)])


def _pruned(model, outputs):
    """The model with only these outputs and what they need; inputs and initializers nobody reads are gone."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph, needed, nodes = result.graph, set(outputs), []
    for node in reversed(model.graph.node):
        if needed & {name for name in node.output if name}:
            nodes.insert(0, node)
            needed |= set(node.input)
    for field, kept in (
        ("node", nodes),
        ("input", [i for i in model.graph.input if i.name in needed]),
        ("initializer", [t for t in model.graph.initializer if t.name in needed]),
    ):
        graph.ClearField(field)
        getattr(graph, field).extend(kept)
    graph.ClearField("output")
    graph.output.extend(cases_core.value_info(name, None) for name in outputs)
    return result


def _inner_values(model, inputs, names):
    """What ONNX Runtime computes on the way."""
    try:
        return dict(zip(names, fixtures.run_onnxruntime(_pruned(model, names), inputs)))
    except Exception:
        return {}


class _Grower:
    """Grows the graph.

    `shapes` holds the static shape of every float32 value, batch first; `kept` the inner values that become outputs; `cuts` pairs of
    a value and a number where a step changes at once; `rough` says that float16 is among the types.
    """

    def __init__(self, d):
        self.d, self.nodes, self.weights, self.shapes = d, [], {}, {}
        self.kept, self.cuts, self.rough = set(), [], False

    def name(self):
        return f"v{len(self.nodes)}_{len(self.weights)}"

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def weight(self, *shape, low=-1.0, high=1.0):
        return self.constant(self.d.values(np.float32, shape, low, high))

    def emit(self, op, inputs, shape=None, outputs=1, **attributes):
        """Append a node; returns its output's name, or names."""
        names = [f"{self.name()}_{i}" if outputs > 1 else self.name() for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        if shape is not None:
            for each, size in zip(names, shape if outputs > 1 else [shape]):
                self.shapes[each] = tuple(size)
        return names if outputs > 1 else names[0]

    def any(self, rank=None):
        """A value, the newer the likelier."""
        known = [name for name, shape in self.shapes.items() if rank in (None, len(shape))]
        return known[-1 - min(len(known) - 1, int(self.d.rng.exponential(1.2)))] if known else None


def _activation(g, x):
    d, shape = g.d, g.shapes[x]
    op = d.pick(("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Clip", "Softplus", "Elu", "HardSigmoid", "Neg", "Abs", "Erf", "Identity", "Dropout"))
    if op == "Clip":
        return g.emit("Clip", [x, g.constant(np.float32(0 if d.chance(0.6) else -1)), g.constant(np.float32(6 if d.chance(0.5) else 1))], shape)
    return g.emit(op, [x], shape)


def _silu(g, x):
    inner = g.emit("Sigmoid", [x], g.shapes[x])
    return g.emit("Mul", [x, inner] if g.d.chance(0.5) else [inner, x], g.shapes[x])


def _gelu(g, x):
    shape = g.shapes[x]
    a = g.emit("Div", [x, g.constant(np.float32(np.sqrt(2)))], shape)
    c = g.emit("Add", [g.emit("Erf", [a], shape), g.constant(np.float32(1))], shape)
    return g.emit("Mul", [g.emit("Mul", [x, c], shape), g.constant(np.float32(0.5))], shape)


def _with_constant(g, x):
    d, shape = g.d, g.shapes[x]
    op = d.pick(("Add", "Mul", "Sub", "Div"))
    form = d.pick(("scalar", "last", "channel", "full"))
    size = {"scalar": (), "last": shape[-1:], "full": (1, *shape[1:])}.get(form, (shape[1], *[1] * (len(shape) - 2)) if len(shape) > 1 else ())
    c = g.weight(*size, low=0.4, high=1.6)
    return g.emit(op, [c, x] if d.chance(0.3) and op != "Div" else [x, c], shape)


def _pair(g, x):
    same = [name for name, shape in g.shapes.items() if shape == g.shapes[x]]
    return g.emit(g.d.pick(("Add", "Mul", "Sub", "Max", "Min")), [x, g.d.pick(same)], g.shapes[x])


def _conv(g, x):
    x = g.any(4) or x
    d, shape = g.d, g.shapes[x]
    if len(shape) != 4 or min(shape[2:]) < 3:
        return None
    channels, kernel = shape[1], d.pick((1, 3, 3))
    group = channels if d.chance(0.3) else 1
    out = channels if group > 1 or d.chance(0.4) else d.pick((2, 4, 8))
    stride, pad = d.pick((1, 1, 2)), kernel // 2
    spatial = [(s + 2 * pad - kernel) // stride + 1 for s in shape[2:]]
    inputs = [x, g.weight(out, channels // group, kernel, kernel)] + ([g.weight(out)] if d.chance(0.6) else [])
    y = g.emit("Conv", inputs, (shape[0], out, *spatial), kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2, group=group)
    if d.chance(0.5):
        y = g.emit("BatchNormalization", [y, g.weight(out, low=0.5), g.weight(out), g.weight(out), g.weight(out, low=0.3)], g.shapes[y])
    return y


def _pool(g, x):
    x = g.any(4) or x
    shape = g.shapes[x]
    if len(shape) != 4 or min(shape[2:]) < 2:
        return None
    if g.d.chance(0.3):
        return g.emit("GlobalAveragePool", [x], (*shape[:2], 1, 1))
    return g.emit(g.d.pick(("MaxPool", "AveragePool")), [x], (*shape[:2], shape[2] // 2, shape[3] // 2), kernel_shape=[2, 2], strides=[2, 2])


def _resize(g, x):
    shape = g.shapes[x]
    if len(shape) != 4 or max(shape[2:]) > 8:
        return None
    return g.emit(
        "Resize", [x, "", g.constant(np.array([1, 1, 2, 2], np.float32))], (*shape[:2], 2 * shape[2], 2 * shape[3]), mode=g.d.pick(("nearest", "linear"))
    )


def _dense(g, x):
    d, shape = g.d, g.shapes[x]
    if len(shape) < 2:
        return None
    k, n = shape[-1], d.pick((1, 3, 8, 16))
    if len(shape) == 2 and d.chance(0.5):
        turned = d.integer(0, 1)
        return g.emit("Gemm", [x, g.weight(*((n, k) if turned else (k, n))), g.weight(n)], (shape[0], n), transB=turned)
    y = g.emit("MatMul", [x, g.weight(k, n)], (*shape[:-1], n))
    return g.emit("Add", [g.weight(n), y] if d.chance(0.3) else [y, g.weight(n)], g.shapes[y]) if d.chance(0.7) else y


def _transpose(g, x):
    shape = g.shapes[x]
    if len(shape) < 3:
        return None
    perm = [0] + [int(p) + 1 for p in g.d.rng.permutation(len(shape) - 1)]
    y = g.emit("Transpose", [x], [shape[p] for p in perm], perm=perm)
    if g.d.chance(0.3):
        y = _activation(g, y)
        y = g.emit("Transpose", [y], shape, perm=[int(p) for p in np.argsort(perm)])
    return y


def _reshape(g, x):
    d, shape = g.d, g.shapes[x]
    count = int(np.prod(shape[1:]))
    factor = d.pick([f for f in range(1, count + 1) if count % f == 0])
    tail = d.pick(([count], [factor, count // factor]))
    form = d.pick(("constant", "computed", "flatten"))
    if form == "flatten":
        return g.emit("Flatten", [x], (shape[0], count), axis=1)
    if form == "constant":
        return g.emit("Reshape", [x, g.constant(np.array([0, *tail[:-1], -1]))], (shape[0], *tail))
    batch = g.emit("Gather", [g.emit("Shape", [x]), g.constant(np.array(0))], axis=0)
    batch = g.emit("Unsqueeze", [batch, g.constant(np.array([0]))])
    return g.emit("Reshape", [x, g.emit("Concat", [batch, g.constant(np.array(tail))], axis=0)], (shape[0], *tail))


def _concat(g, x):
    shape = g.shapes[x]
    if len(shape) < 2 or np.prod(shape) > 600:
        return None
    axis = g.d.integer(1, len(shape) - 1)
    fitting = [n for n, s in g.shapes.items() if len(s) == len(shape) and all(a == b for i, (a, b) in enumerate(zip(s, shape)) if i != axis)]
    other = g.d.pick(fitting)
    return g.emit(
        "Concat", [x, other], [s + (g.shapes[other][axis] if i == axis else 0) for i, s in enumerate(shape)], axis=axis - (len(shape) if g.d.chance(0.3) else 0)
    )


def _split(g, x):
    shape = g.shapes[x]
    axes = [i for i in range(1, len(shape)) if shape[i] > 1]
    if not axes:
        return None
    axis = g.d.pick(axes)
    first = g.d.integer(1, shape[axis] - 1)
    if g.d.chance(0.5):
        return g.emit(
            "Slice",
            [x, g.constant(np.array([first])), g.constant(np.array([2**31])), g.constant(np.array([axis]))],
            [s - first if i == axis else s for i, s in enumerate(shape)],
        )
    sizes = [first, shape[axis] - first]
    return g.emit("Split", [x, g.constant(np.array(sizes))], [[z if i == axis else s for i, s in enumerate(shape)] for z in sizes], outputs=2, axis=axis)[1]


def _softmax(g, x):
    shape = g.shapes[x]
    return g.emit("Softmax", [x], shape, axis=g.d.pick((-1, len(shape) - 1))) if len(shape) > 1 else None


def _reduce(g, x):
    shape = g.shapes[x]
    if len(shape) < 3:
        return None
    axis, keep = g.d.integer(1, len(shape) - 1), g.d.integer(0, 1)
    return g.emit(
        g.d.pick(("ReduceMean", "ReduceMax", "ReduceL2")),
        [x],
        [1 if i == axis else s for i, s in enumerate(shape) if keep or i != axis],
        axes=[axis],
        keepdims=keep,
    )


def _layer_norm(g, x):
    shape = g.shapes[x]
    if len(shape) < 2 or shape[-1] < 2:
        return None
    row = (*shape[:-1], 1)
    if g.d.chance(0.4):
        return g.emit("LayerNormalization", [x, g.weight(shape[-1]), g.weight(shape[-1])], shape, axis=-1, epsilon=0.1)
    centred = g.emit("Sub", [x, g.emit("ReduceMean", [x], row, axes=[-1])], shape)
    square = g.emit("Pow", [centred, g.constant(np.float32(2))], shape) if g.d.chance(0.6) else g.emit("Mul", [centred, centred], shape)
    variance = g.emit("Add", [g.emit("ReduceMean", [square], row, axes=[-1]), g.constant(np.float32(0.1))], row)
    scaled = g.emit("Mul", [g.emit("Div", [centred, g.emit("Sqrt", [variance], row)], shape), g.weight(shape[-1])], shape)
    return g.emit("Add", [scaled, g.weight(shape[-1])], shape)


def _attention(g, x):
    x = g.any(3) or x
    shape = g.shapes[x]
    if len(shape) != 3 or shape[-1] % 2 or shape[1] > 20:
        return None
    batch, steps, width = shape
    heads = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        y = g.emit("MatMul", [x, g.weight(width, width)], shape)
        y = g.emit("Reshape", [y, g.constant(np.array([0, steps, 2, width // 2]))], (batch, steps, 2, width // 2))
        heads.append(g.emit("Transpose", [y], perm=perm))
    scores = g.emit("Div", [g.emit("MatMul", heads[:2]), g.constant(np.float32(np.sqrt(width / 2)))])
    if g.d.chance(0.4):
        scores = g.emit("Add", [scores, g.constant(np.triu(np.full((steps, steps), -1e4, np.float32), 1))])
    y = g.emit("Transpose", [g.emit("MatMul", [g.emit("Softmax", [scores], axis=-1), heads[2]])], perm=[0, 2, 1, 3])
    return g.emit("Reshape", [y, g.constant(np.array([0, 0, width]))], shape)


def _quantise_pair(g, x):
    scale, zero = g.constant(np.float32(0.05)), g.constant(np.array(128, np.uint8))
    return g.emit("DequantizeLinear", [g.emit("QuantizeLinear", [x, scale, zero]), scale, zero], g.shapes[x])


def _cast_pair(g, x):
    return g.emit("Cast", [g.emit("Cast", [x], to=TensorProto.DOUBLE)], g.shapes[x], to=TensorProto.FLOAT)


def _where(g, x):
    shape = g.shapes[x]
    g.cuts.append((x, 0))
    mask = g.emit("Greater", [x, g.constant(np.float32(0))])
    return g.emit("Where", [mask, x, g.weight(*shape[-1:])], shape)


STEPS = (
    _activation,
    _activation,
    _silu,
    _gelu,
    _with_constant,
    _with_constant,
    _with_constant,
    _pair,
    _pair,
    _conv,
    _conv,
    _conv,
    _pool,
    _resize,
    _dense,
    _dense,
    _dense,
    _transpose,
    _transpose,
    _reshape,
    _concat,
    _split,
    _softmax,
    _reduce,
    _layer_norm,
    _layer_norm,
    _attention,
    _attention,
    _quantise_pair,
    _cast_pair,
    _where,
)


def draw_graph(d):
    """A graph of a few steps, its inputs, and now and then inputs of another batch."""
    g = _Grower(d)
    batch = d.integer(1, 3)
    tail = d.pick(((3, 8, 8), (4, 7, 5), (2, 6, 9), (6, 8), (5, 4), (8,), (16,), (4, 12)))
    g.shapes["x"] = (batch, *tail)
    for _ in range(d.integer(2, 9)):
        d.pick(draw_patterns.PATTERNS if d.chance(0.5) else STEPS)(g, g.any())
    if not g.nodes:
        return None
    read = {name for node in g.nodes for name in node.input}
    inner = [name for name in g.shapes if name != "x"]
    outputs = [name for name in inner if name not in read or name in g.kept or d.chance(0.07)]
    if not outputs:
        return None
    symbolic = d.chance(0.5)
    x = d.values(np.float32, g.shapes["x"], -2, 2)
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N" if symbolic else batch, *tail])
    graph = helper.make_graph(
        g.nodes, "graph", [info], [cases_core.value_info(name, None) for name in outputs], [cases_core.tensor(name, array) for name, array in g.weights.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="linnet cases")
    others = [[d.values(np.float32, (batch + 1, *tail), -2, 2)]] if symbolic else []
    if not all(_is_plain(model, inner, g.cuts, inputs) for inputs in [[x], *others]):
        return None
    steps = g.rough or any(node.op_type == "QuantizeLinear" for node in g.nodes)
    return DrawnGraph(model, [x], others, slack=3000.0 if steps else 30.0)


def _is_plain(model, names, cuts, inputs):
    """Are all values numbers, and none where rounding decides? What becomes of a NaN is nobody's promise."""
    values = _inner_values(model, inputs, names)
    if not values or not all(np.isfinite(value).all() for value in values.values()):
        return False
    values["x"] = inputs[0]
    return all((np.abs(values[name] - at) > 1e-4).all() for name, at in cuts if name in values)
