"""RNN, GRU and LSTM in every direction with all their options, against a NumPy reading of the definitions.

Covered: directions, biases, sequence lengths, initial states, peepholes, clip, lists of activations with alpha and beta,
linear_before_reset, input_forget, layout, outputs left out, and the old versions with output_sequence.
"""

import numpy as np


def _affine(x, alpha, beta):
    return alpha * x + beta


ACTIVATIONS = {
    "Relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "Tanh": (lambda x, a, b: np.tanh(x), None, None),
    "Sigmoid": (lambda x, a, b: 1 / (1 + np.exp(-x)), None, None),
    "Affine": (_affine, 1.0, 0.0),
    "LeakyRelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01, None),
    "ThresholdedRelu": (lambda x, a, b: np.where(x >= a, x, 0), 1.0, None),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "Elu": (lambda x, a, b: np.where(x < 0, a * (np.exp(x) - 1), x), 1.0, None),
    "Softsign": (lambda x, a, b: x / (1 + np.abs(x)), None, None),
    "Softplus": (lambda x, a, b: np.log1p(np.exp(x)), None, None),
}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _functions(op, attributes, directions):
    """The activations per direction, each with its alpha and beta taken from the lists in order."""
    names = attributes.get("activations", DEFAULTS[op] * directions)
    alphas, betas = iter(attributes.get("activation_alpha", [])), iter(attributes.get("activation_beta", []))
    clip = attributes.get("clip", np.inf)
    made = []
    for name in names:
        function, alpha, beta = ACTIVATIONS[name]
        alpha = alpha if alpha is None else next(alphas, alpha)
        beta = beta if beta is None else next(betas, beta)
        made.append(lambda x, f=function, a=alpha, b=beta: f(np.clip(x, -clip, clip), a, b))
    each = len(DEFAULTS[op])
    return [made[d * each : (d + 1) * each] for d in range(directions)]


def _step_rnn(x, h, c, w, r, b, p, f, attributes):
    n = h.shape[1]
    return f[0](x @ w.T + h @ r.T + b[:n] + b[n:]), c


def _step_gru(x, h, c, w, r, b, p, f, attributes):
    n = h.shape[1]
    wz, wr, wh = np.split(w, 3)
    rz, rr, rh = np.split(r, 3)
    z = f[0](x @ wz.T + h @ rz.T + b[:n] + b[3 * n : 4 * n])
    reset = f[0](x @ wr.T + h @ rr.T + b[n : 2 * n] + b[4 * n : 5 * n])
    if attributes.get("linear_before_reset"):
        fresh = f[1](x @ wh.T + reset * (h @ rh.T + b[5 * n :]) + b[2 * n : 3 * n])
    else:
        fresh = f[1](x @ wh.T + (reset * h) @ rh.T + b[5 * n :] + b[2 * n : 3 * n])
    return (1 - z) * fresh + z * h, c


def _step_lstm(x, h, c, w, r, b, p, f, attributes):
    n = h.shape[1]
    pre = x @ w.T + h @ r.T + b[: 4 * n] + b[4 * n :]
    i, o, forget, cell = np.split(pre, 4, 1)
    pi, po, pf = np.split(p, 3)
    i = f[0](i + pi * c)
    forget = 1 - i if attributes.get("input_forget") else f[0](forget + pf * c)
    c = forget * c + i * f[1](cell)
    return f[0](o + po * c) * f[2](c), c


STEPS = {"RNN": _step_rnn, "GRU": _step_gru, "LSTM": _step_lstm}


def recurrent(op, x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, **attributes):
    """Y, Y_h and Y_c of ONNX's RNN, GRU and LSTM."""
    layout = attributes.get("layout", 0)
    if layout:
        x = x.transpose(1, 0, 2)
        h0, c0 = (None if s is None else s.transpose(1, 0, 2) for s in (h0, c0))
    steps, batch, _ = x.shape
    directions, hidden = r.shape[0], r.shape[2]
    b = np.zeros((directions, 2 * GATES[op] * hidden)) if b is None else b
    p = np.zeros((directions, 3 * hidden)) if p is None else p
    lengths = np.full(batch, steps) if lengths is None else lengths
    functions = _functions(op, attributes, directions)
    y = np.zeros((steps, directions, batch, hidden))
    last_h, last_c = np.zeros((2, directions, batch, hidden))
    for d in range(directions):
        backward = attributes.get("direction", "forward") == "reverse" or d == 1
        for n in range(batch):
            h = np.zeros((1, hidden)) if h0 is None else h0[d, n : n + 1].astype(np.float64)
            c = np.zeros((1, hidden)) if c0 is None else c0[d, n : n + 1].astype(np.float64)
            times = range(lengths[n])
            for t in reversed(times) if backward else times:
                h, c = STEPS[op](x[t, n : n + 1].astype(np.float64), h, c, w[d], r[d], b[d], p[d], functions[d], attributes)
                y[t, d, n] = h
            last_h[d, n], last_c[d, n] = h, c
    if layout:
        y, last_h, last_c = y.transpose(2, 0, 1, 3), last_h.transpose(1, 0, 2), last_c.transpose(1, 0, 2)
    result = [y, last_h, last_c] if op == "LSTM" else [y, last_h]
    return [v.astype(np.float32) for v in result]


class _Maker:
    """Draws the inputs of one network and adds its case."""

    def __init__(self, suite, op):
        self.suite, self.op = suite, op

    def add(
        self,
        name,
        direction="forward",
        opset=14,
        bias=True,
        lengths=None,
        initial=False,
        peepholes=False,
        steps=4,
        batch=3,
        hidden=5,
        size=4,
        outputs=None,
        **attributes,
    ):
        suite, op = self.suite, self.op
        d, gates = (2 if direction == "bidirectional" else 1), GATES[op]
        layout = attributes.get("layout", 0)

        def state():
            return suite.floats(*((batch, d, hidden) if layout else (d, batch, hidden)), scale=0.5)

        inputs = [
            suite.floats(*((batch, steps, size) if layout else (steps, batch, size))),
            suite.floats(d, gates * hidden, size, scale=0.5),
            suite.floats(d, gates * hidden, hidden, scale=0.5),
            suite.floats(d, 2 * gates * hidden, scale=0.3) if bias else None,
            None if lengths is None else np.array(lengths, np.int32),
            state() if initial else None,
        ]
        if op == "LSTM":
            inputs += [state() if initial else None, suite.floats(d, 3 * hidden, scale=0.5) if peepholes else None]
        all_outputs = ["Y", "Y_h", "Y_c"][: 3 if op == "LSTM" else 2]
        outputs = all_outputs if outputs is None else outputs
        full = {"hidden_size": hidden, "direction": direction, **attributes}
        fed = list(inputs)
        while inputs[-1] is None:
            inputs.pop()

        def expected(*_):
            keys = ["x", "w", "r", "b", "lengths", "h0", "c0", "p"]
            values = recurrent(op, **dict(zip(keys, fed)), **{k: v for k, v in full.items() if k != "hidden_size"})
            return [v for v, n in zip(values, all_outputs) if n in outputs]

        if opset < 7 and op != "GRU" or opset < 3:
            full["output_sequence"] = 1
        ignored = lengths is not None or "clip" in full or "input_forget" in full or op != "RNN" and "activations" in full
        suite.case(
            f"{op.lower()}_{name}",
            op,
            inputs,
            full,
            opset=opset,
            outputs=[n if n in outputs else "" for n in all_outputs],
            expected=expected,
            differs={"reference": "ignores it"} if ignored else None,
        )


def _common(suite, op):
    maker = _Maker(suite, op)
    for direction in ("forward", "reverse", "bidirectional"):
        maker.add(f"{direction}", direction)
        maker.add(f"{direction}_no_bias", direction, bias=False)
        maker.add(f"{direction}_lengths", direction, lengths=[4, 1, 3])
        maker.add(f"{direction}_initial", direction, initial=True)
        maker.add(f"{direction}_everything", direction, lengths=[2, 4, 1], initial=True, peepholes=op == "LSTM")
        maker.add(f"{direction}_layout", direction, layout=1, initial=True)
        maker.add(f"{direction}_clip", direction, clip=0.4, steps=2)  # two steps: the cell stays below the clip
        maker.add(f"{direction}_last_only", direction, outputs=["Y_h"])
        maker.add(f"{direction}_one_step", direction, steps=1, batch=1)
        maker.add(f"{direction}_zero_length", direction, lengths=[0, 4, 2])
    maker.add("sequence_only_bidirectional", "bidirectional", outputs=["Y"])
    maker.add("hidden_1", "bidirectional", hidden=1, size=1)
    maker.add("hidden_9", "reverse", hidden=9, size=5, lengths=[4, 2, 3])
    for opset in (1, 7, 22):
        maker.add(f"v{opset}", "bidirectional", opset=opset)


def rnn(suite):
    _common(suite, "RNN")
    maker = _Maker(suite, "RNN")
    for name in ACTIVATIONS:
        alpha = {"Affine": [0.8], "LeakyRelu": [0.1], "ThresholdedRelu": [0.3], "ScaledTanh": [1.2], "HardSigmoid": [0.3], "Elu": [0.7]}.get(name)
        beta = {"Affine": [0.1], "ScaledTanh": [0.6], "HardSigmoid": [0.4]}.get(name)
        more = {**({"activation_alpha": alpha} if alpha else {}), **({"activation_beta": beta} if beta else {})}
        maker.add(f"activation_{name.lower()}", activations=[name], **more)
    maker.add("activations_two", "bidirectional", activations=["LeakyRelu", "HardSigmoid"], activation_alpha=[0.2, 0.3], activation_beta=[0.45])
    maker.add("activation_defaults", "bidirectional", activations=["LeakyRelu", "Elu"])


def gru(suite):
    _common(suite, "GRU")
    maker = _Maker(suite, "GRU")
    for direction in ("forward", "reverse", "bidirectional"):
        maker.add(f"{direction}_linear_before_reset", direction, linear_before_reset=1, lengths=[3, 4, 1], initial=True)
    maker.add("v3_linear_before_reset", "forward", opset=3, linear_before_reset=1)
    maker.add("activations", "bidirectional", activations=["HardSigmoid", "Softsign", "Sigmoid", "Relu"], activation_alpha=[0.3], activation_beta=[0.4])
    maker.add("layout_lengths", "bidirectional", layout=1, lengths=[2, 4, 3], linear_before_reset=1)


def lstm(suite):
    _common(suite, "LSTM")
    maker = _Maker(suite, "LSTM")
    for direction in ("forward", "reverse", "bidirectional"):
        maker.add(f"{direction}_peepholes", direction, peepholes=True)
        maker.add(f"{direction}_input_forget", direction, input_forget=1)
    maker.add("input_forget_peepholes", "bidirectional", input_forget=1, peepholes=True, initial=True)
    maker.add(
        "activations",
        "bidirectional",
        activations=["HardSigmoid", "Softsign", "Tanh", "Sigmoid", "ScaledTanh", "Relu"],
        activation_alpha=[0.3, 1.1],
        activation_beta=[0.4, 0.7],
    )
    maker.add("cell_only", "forward", outputs=["Y_c"])
    maker.add("layout_peepholes", "reverse", layout=1, peepholes=True, lengths=[1, 2, 4])


GROUPS = [rnn, gru, lstm]
