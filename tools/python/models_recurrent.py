"""Small recurrent, control-flow and data-dependent models, with answers from PyTorch or, for hand-built graphs, NumPy.

Recurrent layers and scripted loops come from PyTorch's TorchScript exporter. Scan, both forms, nested control flow, local
functions and detection with non-maximum suppression are built node by node, since PyTorch does not emit them.
"""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import fixtures

OPSET = 17


def _answers(module, batches):
    """Each batch with what PyTorch makes of it."""
    sets = []
    with torch.no_grad():
        for batch in batches:
            result = module(*map(torch.from_numpy, batch))
            result = result if isinstance(result, tuple) else (result,)
            sets.append((batch, [tensor.numpy() for tensor in result]))
    return sets


def _export(module, batches, inputs, outputs, axes, opset=OPSET):
    """Export with the first batch as the example and answer all of them."""
    model = fixtures.export_torch(module.eval(), tuple(map(torch.from_numpy, batches[0])), inputs, outputs, axes, opset)
    return model, _answers(module, batches)


def _floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


class _LstmTagger(nn.Module):
    """Embedding, two bidirectional LSTM layers over packed sentences, one dense layer per token."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(60, 12)
        self.lstm = nn.LSTM(12, 10, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(20, 7)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True)
        states, _ = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        return self.head(states).log_softmax(-1)


def lstm_tagger():
    """Bidirectional LSTM with sequence lengths (longest first, as packing wants)."""
    rng = np.random.default_rng(21)
    batches = []
    for lengths in ([9, 6, 2], [1], [14, 14]):
        batches.append([rng.integers(0, 60, (len(lengths), lengths[0])), np.array(lengths, np.int64)])
    axes = {"tokens": {0: "batch", 1: "sequence"}, "lengths": {0: "batch"}, "tags": {0: "batch", 1: "sequence"}}
    return _export(_LstmTagger(), batches, ["tokens", "lengths"], ["tags"], axes)


class _States(nn.Module):
    """A recurrent layer with its initial state in and its last state out."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, h0):
        return self.layer(x, h0)


def gru_forecast():
    """Two GRU layers (linear before reset, as PyTorch and cuDNN compute them), state in and out."""
    rng = np.random.default_rng(22)
    batches = [[_floats(rng, n, t, 6), _floats(rng, 2, n, 9)] for n, t in ((2, 8), (1, 1), (3, 15))]
    axes = {"x": {0: "batch", 1: "time"}, "h0": {1: "batch"}, "y": {0: "batch", 1: "time"}, "hn": {1: "batch"}}
    return _export(_States(nn.GRU(6, 9, num_layers=2, batch_first=True)), batches, ["x", "h0"], ["y", "hn"], axes)


def rnn_relu_bidirectional():
    """A plain RNN with relu in both directions."""
    rng = np.random.default_rng(23)
    batches = [[_floats(rng, t, n, 5), _floats(rng, 2, n, 7)] for n, t in ((2, 6), (1, 11))]
    axes = {"x": {0: "time", 1: "batch"}, "h0": {1: "batch"}, "y": {0: "time", 1: "batch"}, "hn": {1: "batch"}}
    return _export(_States(nn.RNN(5, 7, nonlinearity="relu", bidirectional=True)), batches, ["x", "h0"], ["y", "hn"], axes)


class _Crnn(nn.Module):
    """Text line recogniser: convolutions, height pooled away, a bidirectional LSTM, log-probabilities per column."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1))
        )
        self.lstm = nn.LSTM(12, 8, bidirectional=True)
        self.head = nn.Linear(16, 11)

    def forward(self, image):
        columns = self.features(image).mean(2).permute(2, 0, 1)
        states, _ = self.lstm(columns)
        return self.head(states).log_softmax(-1)


def crnn():
    """Convolutions into an LSTM, with a dynamic width."""
    rng = np.random.default_rng(24)
    batches = [[_floats(rng, n, 1, 16, w)] for n, w in ((1, 32), (2, 51))]
    return _export(_Crnn(), batches, ["image"], ["logits"], {"image": {0: "batch", 3: "width"}, "logits": {0: "columns", 1: "batch"}})


class _GreedyDecoder(nn.Module):
    """Encodes a source with a GRU and emits tokens until the end token or a limit: a scripted while loop."""

    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(30, 10)
        self.encoder = nn.GRU(10, 12, batch_first=True)
        self.target = nn.Embedding(20, 10)
        self.gates = nn.Linear(22, 24)
        self.candidate = nn.Linear(22, 12)
        self.head = nn.Linear(12, 20)

    def forward(self, tokens: torch.Tensor, limit: torch.Tensor):
        _, state = self.encoder(self.source(tokens))
        state = state[0]
        token = torch.ones(1, dtype=torch.int64)
        emitted = torch.zeros(0, dtype=torch.int64)
        scores = torch.zeros(1)
        step = 0
        going = True
        while going and step < int(limit):
            x = self.target(token)
            update, reset = torch.sigmoid(self.gates(torch.cat([x, state], 1))).chunk(2, 1)
            fresh = torch.tanh(self.candidate(torch.cat([x, reset * state], 1)))
            state = update * state + (1 - update) * fresh
            probabilities = self.head(state).log_softmax(-1)
            token = probabilities.argmax(-1)
            scores = scores + probabilities.max()
            emitted = torch.cat([emitted, token])
            going = bool((token != 2).item())
            step += 1
        return emitted, scores


def greedy_decoder():
    """A Loop whose trip count depends on the data and whose carried value grows: an autoregressive decoder."""
    rng = np.random.default_rng(25)
    module = _GreedyDecoder().eval()
    for parameter in module.parameters():
        parameter.data.mul_(4)
    script = torch.jit.script(module)
    batches = [[rng.integers(0, 30, (1, t)), np.array(limit, np.int64)] for t, limit in ((6, 12), (3, 12), (9, 0), (4, 30), (7, 30))]
    return _export(script, batches, ["tokens", "limit"], ["emitted", "score"], {"tokens": {1: "sequence"}, "emitted": {0: "length"}})


class _Windows(nn.Module):
    """Collects overlapping windows in a list and stacks them: sequence operators in a loop."""

    def forward(self, signal: torch.Tensor, size: torch.Tensor):
        windows: list[torch.Tensor] = []
        width = int(size)
        start = 0
        while start + width <= signal.shape[0]:
            piece = signal[start : start + width]
            windows.append(piece - piece.mean())
            start += 2
        return torch.stack(windows), torch.cat(windows)


def sequence_windows():
    """SequenceEmpty, SequenceInsert in a Loop, ConcatFromSequence with and without a new axis."""
    rng = np.random.default_rng(26)
    batches = [[_floats(rng, n), np.array(size, np.int64)] for n, size in ((9, 3), (20, 5), (4, 4))]
    return _export(
        torch.jit.script(_Windows()),
        batches,
        ["signal", "size"],
        ["stacked", "joined"],
        {"signal": {0: "n"}, "stacked": {0: "windows", 1: "size"}, "joined": {0: "total"}},
    )


class _MaskedMlp(nn.Module):
    """Runs a dense layer only on the rows that count and scatters the results back."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 4)

    def forward(self, x, keep):
        chosen = self.layer(x[keep]).relu()
        result = torch.zeros(x.shape[0], x.shape[1], 4)
        result[keep] = chosen
        return result, chosen.sum(0), keep.nonzero()


def masked_mlp():
    """NonZero in the middle of a graph: shapes that depend on data, no row at all included."""
    rng = np.random.default_rng(27)
    batches = [[_floats(rng, n, t, 5), rng.random((n, t)) < p] for n, t, p in ((2, 4, 0.5), (3, 7, 0.3), (2, 2, 0.0))]
    axes = {name: {0: "batch", 1: "sequence"} for name in ("x", "keep", "y")}
    return _export(_MaskedMlp(), batches, ["x", "keep"], ["y", "sum", "where"], {**axes, "where": {0: "count"}})


def _value(name, elem_type, shape):
    return helper.make_tensor_value_info(name, elem_type, shape)


def _float_value(name, shape):
    return _value(name, TensorProto.FLOAT, shape)


def _model(graph, opset=OPSET, functions=(), domains=(), ir_version=8):
    imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(domain, 1) for domain in domains]]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir_version, producer_name="linnet fixtures")


def _weights(**arrays):
    return [numpy_helper.from_array(array, name) for name, array in arrays.items()]


def _minimal_gated_unit(x, state, weight, bias, weight_h):
    """One step in PyTorch: f = sigmoid([x, h] W + b); h' = (1 - f) h + f tanh([x, f h] V)."""
    gate = torch.sigmoid(torch.cat([x, state], -1) @ weight + bias)
    fresh = torch.tanh(torch.cat([x, gate * state], -1) @ weight_h)
    return (1 - gate) * state + gate * fresh


def _gated_unit_nodes():
    """The same step as nodes, from x_t and h to h_next; the weights are values of the graph outside."""
    node = helper.make_node
    return [
        node("Concat", ["x_t", "h"], ["xh"], axis=-1),
        node("MatMul", ["xh", "w"], ["xhw"]),
        node("Add", ["xhw", "b"], ["pre"]),
        node("Sigmoid", ["pre"], ["f"]),
        node("Mul", ["f", "h"], ["fh"]),
        node("Concat", ["x_t", "fh"], ["xfh"], axis=-1),
        node("MatMul", ["xfh", "v"], ["xv"]),
        node("Tanh", ["xv"], ["fresh"]),
        node("Sub", ["one", "f"], ["rest"]),
        node("Mul", ["rest", "h"], ["old"]),
        node("Mul", ["f", "fresh"], ["new"]),
        node("Add", ["old", "new"], ["h_next"]),
    ]


def _gated_unit_weights(rng, inputs, hidden):
    return dict(w=_floats(rng, inputs + hidden, hidden), b=_floats(rng, hidden), v=_floats(rng, inputs + hidden, hidden), one=np.array(1, np.float32))


def scan_rnn():
    """A recurrent cell of one's own in Scan: forward over axis 0 and backward over axis 1, two scan outputs."""
    rng = np.random.default_rng(28)
    arrays = _gated_unit_weights(rng, 4, 6)
    body = helper.make_graph(
        [*_gated_unit_nodes(), helper.make_node("Identity", ["h_next"], ["y"]), helper.make_node("ReduceMax", ["f"], ["gate"], axes=[-1], keepdims=0)],
        "body",
        [_float_value("h", ["n", 6]), _float_value("x_t", ["n", 4])],
        [_float_value("h_next", ["n", 6]), _float_value("y", ["n", 6]), _float_value("gate", ["n"])],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Scan", ["h0", "x"], ["h_forward", "y_forward", "gate_forward"], body=body, num_scan_inputs=1),
            helper.make_node("Transpose", ["x"], ["x_batch"], perm=[1, 0, 2]),
            helper.make_node(
                "Scan",
                ["h0", "x_batch"],
                ["h_backward", "y_backward", "gate_backward"],
                body=body,
                num_scan_inputs=1,
                scan_input_axes=[1],
                scan_input_directions=[1],
                scan_output_axes=[-2, 1],
                scan_output_directions=[1, 0],
            ),
        ],
        "scan",
        [_float_value("h0", ["n", 6]), _float_value("x", ["t", "n", 4])],
        [
            _float_value("h_forward", ["n", 6]),
            _float_value("y_forward", ["t", "n", 6]),
            _float_value("gate_forward", ["t", "n"]),
            _float_value("h_backward", ["n", 6]),
            _float_value("y_backward", ["n", "t", 6]),
            _float_value("gate_backward", ["n", "t"]),
        ],
        _weights(**arrays),
    )
    w, b, v = (torch.from_numpy(arrays[k]) for k in "wbv")

    def unroll(h, x):
        states, gates = [], []
        for x_t in x:
            gates.append(torch.sigmoid(torch.cat([x_t, h], -1) @ w + b).amax(-1))
            h = _minimal_gated_unit(x_t, h, w, b, v)
            states.append(h)
        return h, torch.stack(states), torch.stack(gates)

    sets = []
    for n, t in ((2, 5), (1, 1), (3, 9)):
        h0, x = _floats(rng, n, 6), _floats(rng, t, n, 4)
        forward = unroll(torch.from_numpy(h0), torch.from_numpy(x))
        backward = unroll(torch.from_numpy(h0), torch.from_numpy(x).flip(0))
        outputs = [*forward, backward[0], backward[1].flip(0).transpose(0, 1), backward[2].transpose(0, 1)]
        sets.append(([h0, x], [t.contiguous().numpy() for t in outputs]))
    return _model(graph), sets


def scan_opset8():
    """Scan as opset 8 had it: a batch axis before the sequence axis, sequence lengths, directions."""
    rng = np.random.default_rng(29)
    arrays = _gated_unit_weights(rng, 3, 5)
    body = helper.make_graph(
        [*_gated_unit_nodes(), helper.make_node("Identity", ["h_next"], ["y"])],
        "body",
        [_float_value("h", [5]), _float_value("x_t", [3])],
        [_float_value("h_next", [5]), _float_value("y", [5])],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Scan", ["lengths", "h0", "x"], ["h_last", "states"], body=body, num_scan_inputs=1),
            helper.make_node("Scan", ["", "h0", "x"], ["h_last_back", "states_back"], body=body, num_scan_inputs=1, directions=[1]),
        ],
        "scan",
        [_value("lengths", TensorProto.INT64, ["n"]), _float_value("h0", ["n", 5]), _float_value("x", ["n", "t", 3])],
        [
            _float_value("h_last", ["n", 5]),
            _float_value("states", ["n", "t", 5]),
            _float_value("h_last_back", ["n", 5]),
            _float_value("states_back", ["n", "t", 5]),
        ],
        _weights(**arrays),
    )
    w, b, v = (torch.from_numpy(arrays[k]) for k in "wbv")
    sets = []
    for lengths in ([4, 4], [5, 3, 1]):
        n, t = len(lengths), max(lengths)
        h0, x = _floats(rng, n, 5), _floats(rng, n, t, 3)
        last, states = np.zeros((n, 5), np.float32), np.zeros((n, t, 5), np.float32)
        last_back, states_back = np.zeros((n, 5), np.float32), np.zeros((n, t, 5), np.float32)
        for row in range(n):
            for order, end, keep in ((range(lengths[row]), last, states), (range(t)[::-1], last_back, states_back)):
                h = torch.from_numpy(h0[row])
                for place, step in enumerate(order):
                    h = _minimal_gated_unit(torch.from_numpy(x[row, step]), h, w, b, v)
                    keep[row, place] = h.numpy()
                end[row] = h.numpy()
        sets.append(([np.array(lengths, np.int64), h0, x], [last, states, last_back, states_back]))
    return _model(graph, opset=8, ir_version=4), sets


def nested_control_flow():
    """If inside Loop inside If, outer values used at every depth: Collatz walks and Newton's square root."""
    rng = np.random.default_rng(30)
    i64 = TensorProto.INT64
    node = helper.make_node
    even = helper.make_graph([node("Div", ["n", "two"], ["half"])], "even", [], [_value("half", i64, [])])
    odd = helper.make_graph([node("Mul", ["n", "three"], ["triple"]), node("Add", ["triple", "one"], ["up"])], "odd", [], [_value("up", i64, [])])
    walk = helper.make_graph(
        [
            node("Mod", ["n", "two"], ["rest"]),
            node("Equal", ["rest", "zero"], ["is_even"]),
            node("If", ["is_even"], ["n_next"], then_branch=even, else_branch=odd),
            node("Equal", ["n_next", "one"], ["done"]),
            node("Not", ["done"], ["more"]),
            node("Identity", ["n"], ["seen"]),
        ],
        "walk",
        [_value("i", i64, []), _value("c", TensorProto.BOOL, []), _value("n", i64, [])],
        [_value("more", TensorProto.BOOL, []), _value("n_next", i64, []), _value("seen", i64, [])],
    )
    newton = helper.make_graph(
        [
            node("Div", ["x", "guess"], ["quotient"]),
            node("Add", ["guess", "quotient"], ["both"]),
            node("Mul", ["both", "half_f"], ["guess_next"]),
            node("Identity", ["cond_in"], ["cond_out"]),
        ],
        "newton",
        [_value("j", i64, []), _value("cond_in", TensorProto.BOOL, []), _float_value("guess", ["k"])],
        [_value("cond_out", TensorProto.BOOL, []), _float_value("guess_next", ["k"])],
    )
    then = helper.make_graph(
        [node("Loop", ["", "true", "start"], ["end", "path"], body=walk), node("Cast", ["path"], ["then_out"], to=TensorProto.FLOAT)],
        "then",
        [],
        [_float_value("then_out", ["m"])],
    )
    other = helper.make_graph([node("Loop", ["steps", "", "x"], ["else_out"], body=newton)], "other", [], [_float_value("else_out", ["k"])])
    graph = helper.make_graph(
        [node("If", ["walk"], ["y"], then_branch=then, else_branch=other)],
        "control",
        [_value("walk", TensorProto.BOOL, []), _value("start", i64, []), _float_value("x", ["k"])],
        [_float_value("y", ["m"])],
        _weights(
            zero=np.array(0), one=np.array(1), two=np.array(2), three=np.array(3), steps=np.array(6), half_f=np.array(0.5, np.float32), true=np.array(True)
        ),
    )

    def expected(walk_it, start, x):
        if not walk_it:
            guess = x
            for _ in range(6):
                guess = (guess + x / guess) * np.float32(0.5)
            return guess
        path = []
        while True:
            path.append(start)
            start = start // 2 if start % 2 == 0 else 3 * start + 1
            if start == 1:
                return np.array(path, np.float32)

    sets = []
    for walk_it, start, count in ((True, 27, 2), (False, 5, 3), (True, 6, 1), (False, 1, 0)):
        x = rng.uniform(0.5, 30, count).astype(np.float32)
        sets.append(([np.array(walk_it), np.array(start), x], [expected(walk_it, start, x)]))
    return _model(graph), sets


def local_functions():
    """Model-local functions: one calls the other, attributes by reference with a default, an overridden default."""
    rng = np.random.default_rng(31)
    node = helper.make_node

    def by_reference(op, inputs, outputs, attribute, kind):
        result = node(op, inputs, outputs)
        reference = result.attribute.add()
        reference.name = reference.ref_attr_name = attribute
        reference.type = kind
        return result

    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("linnet.test", 1)]
    leaky = helper.make_function(
        "linnet.test",
        "ScaledLeaky",
        ["x", "scale"],
        ["y"],
        [by_reference("LeakyRelu", ["x"], ["l"], "alpha", onnx.AttributeProto.FLOAT), node("Mul", ["l", "scale"], ["y"])],
        opsets,
        attribute_protos=[helper.make_attribute("alpha", 0.25)],
    )
    soft = helper.make_function(
        "linnet.test",
        "Mix",
        ["a", "b"],
        ["m", "s"],
        [
            node("ScaledLeaky", ["a", "b"], ["t"], domain="linnet.test"),
            node("ScaledLeaky", ["t", "a"], ["u"], domain="linnet.test", alpha=0.5),
            by_reference("Softmax", ["u"], ["s"], "axis", onnx.AttributeProto.INT),
            by_reference("Concat", ["t", "s"], ["m"], "axis", onnx.AttributeProto.INT),
        ],
        opsets,
        attributes=["axis"],
    )
    graph = helper.make_graph(
        [node("Mix", ["x", "y"], ["p", "q"], domain="linnet.test", axis=1), node("Mix", ["q", "y"], ["r", ""], domain="linnet.test", axis=-2)],
        "functions",
        [_float_value("x", ["n", 4]), _float_value("y", [4])],
        [_float_value("p", ["n", 8]), _float_value("r", ["m", 4])],
    )

    def leaky_relu(x, scale, alpha=0.25):
        return np.where(x < 0, np.float32(alpha) * x, x) * scale

    def mix(a, b, axis):
        t = leaky_relu(a, b)
        u = leaky_relu(t, a, 0.5)
        s = torch.from_numpy(u).softmax(axis).numpy()
        return np.concatenate([t, s], axis), s

    sets = []
    for n in (3, 1):
        x, y = _floats(rng, n, 4), _floats(rng, 4)
        p, q = mix(x, y, 1)
        sets.append(([x, y], [p, mix(q, y, -2)[0]]))
    return _model(graph, functions=[leaky, soft], domains=["linnet.test"]), sets


def detector_nms():
    """Boxes decoded from a convolution's output, non-maximum suppression, then work on what is left."""
    rng = np.random.default_rng(32)
    head = _floats(rng, 6, 3, 3, 3) * 0.7
    bias = np.array([0.2, 0.1, 0.8, 0.9, -0.5, -0.4], np.float32)
    shift = np.stack(np.meshgrid(np.arange(6), np.arange(6), indexing="ij"), -1).reshape(1, 36, 2).astype(np.float32) / 6
    node = helper.make_node
    graph = helper.make_graph(
        [
            node("Conv", ["image", "head", "bias"], ["maps"], pads=[1, 1, 1, 1], strides=[2, 2]),
            node("Reshape", ["maps", "rows"], ["flat"]),
            node("Transpose", ["flat"], ["cells"], perm=[0, 2, 1]),
            node("Sigmoid", ["cells"], ["unit"]),
            node("Split", ["unit", "sizes"], ["place", "extent", "scores"], axis=2),
            node("Mul", ["place", "step"], ["offset"]),
            node("Add", ["offset", "shift"], ["centre"]),
            node("Mul", ["extent", "step"], ["half"]),
            node("Sub", ["centre", "half"], ["low"]),
            node("Add", ["centre", "half"], ["high"]),
            node("Concat", ["low", "high"], ["boxes"], axis=2),
            node("Transpose", ["scores"], ["class_scores"], perm=[0, 2, 1]),
            node("NonMaxSuppression", ["boxes", "class_scores", "most", "iou", "score"], ["picked"]),
            node("Gather", ["picked", "box_columns"], ["box_index"], axis=1),
            node("GatherND", ["boxes", "box_index"], ["picked_boxes"]),
            node("GatherND", ["class_scores", "picked"], ["picked_scores"]),
            node("Unsqueeze", ["picked_scores", "last"], ["column"]),
            node("Mul", ["picked_boxes", "column"], ["weighted"]),
            node("ReduceSum", ["weighted"], ["summary"], keepdims=0),
        ],
        "detector",
        [_float_value("image", ["n", 3, 12, 12]), _float_value("score", [1])],
        [
            _value("picked", TensorProto.INT64, ["k", 3]),
            _float_value("picked_boxes", ["k", 4]),
            _float_value("picked_scores", ["k"]),
            _float_value("summary", []),
        ],
        _weights(
            head=head,
            bias=bias,
            shift=shift,
            rows=np.array([0, 6, -1]),
            sizes=np.array([2, 2, 2]),
            step=np.array(0.25, np.float32),
            most=np.array([4]),
            iou=np.array([0.3], np.float32),
            box_columns=np.array([0, 2]),
            last=np.array([-1]),
        ),
    )
    model = _model(graph)

    def expected(image, score):
        maps = torch.conv2d(torch.from_numpy(image), torch.from_numpy(head), torch.from_numpy(bias), stride=2, padding=1)
        cells = torch.sigmoid(maps.reshape(len(image), 6, 36).transpose(1, 2)).numpy()
        centre, half = cells[..., :2] * np.float32(0.25) + shift, cells[..., 2:4] * np.float32(0.25)
        boxes, scores = np.concatenate([centre - half, centre + half], 2), cells[..., 4:].transpose(0, 2, 1)
        picked = [(i, c, k) for i in range(len(image)) for c in range(2) for k in _suppress(boxes[i], scores[i, c], 4, 0.3, score[0])]
        picked = np.array(picked, np.int64).reshape(-1, 3)
        picked_boxes, picked_scores = boxes[picked[:, 0], picked[:, 2]], scores[picked[:, 0], picked[:, 1], picked[:, 2]]
        return [picked, picked_boxes, picked_scores, np.float32((picked_boxes * picked_scores[:, None]).sum())]

    batches = [[_floats(rng, n, 3, 12, 12), np.array([score], np.float32)] for n, score in ((1, 0.4), (2, 0.6), (1, 0.9999))]
    return model, [(batch, expected(*batch)) for batch in batches]


def _suppress(boxes, scores, most, iou_threshold, score_threshold):
    """Greedy non-maximum suppression of corner boxes; indices by falling score."""
    kept = []
    for index in np.argsort(-scores, kind="stable"):
        if len(kept) == most or scores[index] <= score_threshold:
            break
        low, high = boxes[index, :2], boxes[index, 2:]
        for other in kept:
            inter = np.prod(np.maximum(np.minimum(high, boxes[other, 2:]) - np.maximum(low, boxes[other, :2]), 0))
            union = np.prod(high - low) + np.prod(boxes[other, 2:] - boxes[other, :2]) - inter
            if inter / union > iou_threshold:
                break
        else:
            kept.append(index)
    return kept


MODELS = {
    "lstm-tagger": lstm_tagger,
    "gru-forecast": gru_forecast,
    "rnn-relu-bidirectional": rnn_relu_bidirectional,
    "crnn": crnn,
    "greedy-decoder": greedy_decoder,
    "sequence-windows": sequence_windows,
    "masked-mlp": masked_mlp,
    "scan-rnn": scan_rnn,
    "scan-opset8": scan_opset8,
    "nested-control-flow": nested_control_flow,
    "local-functions": local_functions,
    "detector-nms": detector_nms,
}
