"""Random values, shapes and attributes for the differential tester, and what a drawn case is.

Everything hangs on one seeded generator per case, so that a case can be drawn again from its seed and index alone.
"""

import copy
import dataclasses

import numpy as np
from onnx import helper

import cases_core
import fixtures

FLOATS = (np.float32, np.float32, np.float32, np.float64, np.float16)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = FLOATS + SIGNED + UNSIGNED
ANY = NUMBERS + (np.bool_, object)


@dataclasses.dataclass
class Drawn:
    """One node: what a model is built from, and what shrinking changes."""

    op: str
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    opset: int = 17
    domain: str = ""
    version: int = 1
    constants: tuple = ()
    slack: float = 1.0
    steps: int = 0

    def build(self, name):
        """A Case without expected values."""
        suite = cases_core.Suite()
        constants = [i for i in self.constants if i < len(self.inputs) and self.inputs[i] is not None]
        suite.case(
            name, self.op, self.inputs, self.attributes, opset=self.opset, domain=self.domain, version=self.version, outputs=self.outputs, constants=constants
        )
        return suite.cases[name]

    def size(self):
        """What shrinking makes smaller: elements first, then parts, then how odd the numbers are."""
        arrays = [np.asarray(value) for value in self.inputs if value is not None]
        odd = sum(float(np.count_nonzero(a.astype(np.float64) % 1)) for a in arrays if a.dtype.kind == "f")
        return sum(4 * a.size + a.ndim for a in arrays) + len(arrays) + 3 * len(self.attributes) + odd + 0.1 * len(self.constants)

    def more_inputs(self):
        """Further sets of inputs for the same model: none."""
        return []

    def smaller(self):
        """Candidates one step smaller than a case, most promising first."""
        for position in range(len(self.inputs) - 1, 0, -1):
            change = copy.deepcopy(self)
            change.inputs[position] = None
            while change.inputs[-1] is None:
                change.inputs.pop()
            yield change
        for name in self.attributes:
            change = copy.deepcopy(self)
            del change.attributes[name]
            yield change
        sizes = {s for value in self.inputs if value is not None for s in np.shape(value) if s > 1}
        for size in sorted(sizes, reverse=True):
            for target in sorted({1, size // 2, size - 1}):
                change = copy.deepcopy(self)
                change.inputs = [v if v is None else _cut(v, [i for i, s in enumerate(np.shape(v)) if s == size], target) for v in self.inputs]
                yield change
        for position, value in enumerate(self.inputs):
            if value is None:
                continue
            for axis, size in enumerate(np.shape(value)):
                for target in sorted({1, size // 2, size - 1} if size > 1 else ()):
                    change = copy.deepcopy(self)
                    change.inputs[position] = _cut(value, [axis], target)
                    yield change
            array = np.asarray(value)
            if array.dtype.kind == "f" and array.size:
                for simple in (np.zeros_like(array), np.ones_like(array), np.round(array)):
                    if not np.array_equal(simple, array):
                        change = copy.deepcopy(self)
                        change.inputs[position] = simple
                        yield change
        if self.constants:
            change = copy.deepcopy(self)
            change.constants = ()
            yield change

    def describe(self):
        """One line that says what the case is."""
        inputs = ", ".join("-" if v is None else f"{np.asarray(v).dtype}{list(np.shape(v))}" for v in self.inputs)
        attributes = " ".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op} opset {self.opset} ({inputs}) {attributes}"


def _cut(value, axes, target):
    array = np.asarray(value)
    for axis in axes:
        array = np.take(array, range(target), axis)
    return array


class Draw:
    """A generator with the draws that operators need."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, options):
        options = list(options)
        return options[int(self.rng.integers(len(options)))]

    def integer(self, low, high):
        """low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=5, largest=6, zero=0.04):
        """A shape of low to high axes, now and then with an axis of no elements or a long last axis."""
        rank = self.integer(low, high)
        dims = [self.integer(1, largest if rank < 4 else 3) for _ in range(rank)]
        if rank and self.chance(zero):
            dims[self.integer(0, rank - 1)] = 0
        if rank and self.chance(0.1):
            dims[-1] = self.pick((15, 16, 17, 31, 33, 67))
        return tuple(dims)

    def axis(self, rank):
        """An axis, negative half the time."""
        axis = self.integer(0, rank - 1)
        return axis - rank if self.chance(0.5) else axis

    def axes(self, rank, least=1):
        """Different axes in any order and sign."""
        count = self.integer(least, rank)
        chosen = self.rng.permutation(rank)[:count]
        return [int(a) - rank if self.chance(0.3) else int(a) for a in chosen]

    def values(self, dtype, shape, low=-4.0, high=4.0, extreme=0.0):
        """Numbers of a type: small ones, sometimes only integers, with `extreme` chance some at the edges."""
        if dtype is object:
            words = np.array(["", "a", "B", "äö", "long text"], object)
            return words[self.rng.integers(0, len(words), shape)] if shape != () else np.array(self.pick(words), object)
        if dtype is np.bool_:
            return np.asarray(self.rng.random(shape) < 0.5)
        if np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            array = self.rng.integers(max(int(low * 8), info.min), min(int(high * 8), info.max) + 1, shape)
            return self._edges(np.asarray(array).astype(dtype), [info.min, info.max], extreme)
        array = np.asarray(self.rng.uniform(low, high, shape))
        array = np.round(array) if self.chance(0.15) else array
        return self._edges(array.astype(dtype), [np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny, -0.0, 0.0], extreme)

    def _edges(self, array, edges, chance):
        if array.size and array.ndim and self.chance(chance):
            spots = self.rng.random(array.shape) < 0.3
            array[spots] = self.rng.choice(np.array(edges, array.dtype), int(spots.sum()))
        return array

    def broadcast(self, count=2, **options):
        """Shapes that broadcast together: axes of one, left-out leading axes."""
        full = self.shape(**options)
        shapes = []
        for _ in range(count):
            dims = [1 if self.chance(0.25) else d for d in full]
            shapes.append(tuple(dims[self.integer(0, len(dims)) :] if self.chance(0.3) else dims))
        return shapes


def solve(drawn, name):
    """The case with ONNX Runtime's answers, or None where it does not answer the same twice."""
    case = drawn.build(name)
    case.outputs = _steady(case.model, case.inputs)
    case.more = [(inputs, _steady(case.model, inputs)) for inputs in drawn.more_inputs()]
    if case.outputs is None or any(outputs is None for _, outputs in case.more):
        return None
    case.source, case.check = "onnxruntime", False
    case.atol = tolerance(drawn, case.outputs + [v for _, outputs in case.more for v in outputs])
    return case


def _steady(model, inputs):
    """Outputs, unless a second run gives others."""
    outputs, again = (fixtures.run_onnxruntime(model, inputs) for _ in range(2))
    for a, b in zip(outputs, again):
        if isinstance(a, np.ndarray) and a.dtype.kind not in "OUS" and not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            return None
    return outputs


def tolerance(drawn, outputs):
    """An absolute tolerance from the size of what is expected; steps are units of quantised outputs."""
    if drawn.steps:
        return float(drawn.steps)
    result = 0.0
    for output in outputs:
        if not isinstance(output, np.ndarray) or output.dtype.kind != "f":
            continue
        finite = np.abs(output.astype(np.float64)[np.isfinite(output)])
        unit = {2: 2e-3, 4: 1e-5, 8: 1e-8}[output.dtype.itemsize]
        result = max(result, unit * max(1.0, float(finite.max(initial=0))) * drawn.slack)
    return result


def elem(dtype):
    return cases_core.elem_type_of(np.zeros(0, dtype))


def versions(op, domain=""):
    """The versions of an operator that a model may name."""
    import onnx

    return sorted(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == domain and not s.deprecated)


def tensor_attribute(name, dtype, values):
    return helper.make_tensor(name, elem(dtype), [len(values)], values)
