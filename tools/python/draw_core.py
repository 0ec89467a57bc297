"""Random values, shapes and attributes for the differential tester, and what a drawn case is.

Everything hangs on one seeded generator per case, so that a case can be drawn again from its seed and index alone.
"""

import dataclasses

import numpy as np
from onnx import helper

import cases_core

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
        suite.case(name, self.op, self.inputs, self.attributes, opset=self.opset, domain=self.domain, version=self.version,
                   outputs=self.outputs, constants=constants)
        return suite.cases[name]

    def size(self):
        """What shrinking makes smaller: elements first, then parts, then how odd the numbers are."""
        arrays = [np.asarray(value) for value in self.inputs if value is not None]
        odd = sum(float(np.count_nonzero(a.astype(np.float64) % 1)) for a in arrays if a.dtype.kind == "f")
        return sum(4 * a.size + a.ndim for a in arrays) + len(arrays) + 3 * len(self.attributes) + odd + .1 * len(self.constants)


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

    def shape(self, low=0, high=5, largest=6, zero=.04):
        """A shape of low to high axes, now and then with an axis of no elements or a long last axis."""
        rank = self.integer(low, high)
        dims = [self.integer(1, largest if rank < 4 else 3) for _ in range(rank)]
        if rank and self.chance(zero):
            dims[self.integer(0, rank - 1)] = 0
        if rank and self.chance(.1):
            dims[-1] = self.pick((15, 16, 17, 31, 33, 67))
        return tuple(dims)

    def axis(self, rank):
        """An axis, negative half the time."""
        axis = self.integer(0, rank - 1)
        return axis - rank if self.chance(.5) else axis

    def axes(self, rank, least=1):
        """Different axes in any order and sign."""
        count = self.integer(least, rank)
        chosen = self.rng.permutation(rank)[:count]
        return [int(a) - rank if self.chance(.3) else int(a) for a in chosen]

    def values(self, dtype, shape, low=-4.0, high=4.0, extreme=.0):
        """Numbers of a type: small ones, sometimes only integers, with `extreme` chance some at the edges."""
        if dtype is object:
            words = np.array(["", "a", "B", "äö", "long text"], object)
            return words[self.rng.integers(0, len(words), shape)] if shape != () else np.array(self.pick(words), object)
        if dtype is np.bool_:
            return np.asarray(self.rng.random(shape) < .5)
        if np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            array = self.rng.integers(max(int(low * 8), info.min), min(int(high * 8), info.max) + 1, shape)
            return self._edges(np.asarray(array).astype(dtype), [info.min, info.max], extreme)
        array = np.asarray(self.rng.uniform(low, high, shape))
        array = np.round(array) if self.chance(.15) else array
        return self._edges(array.astype(dtype), [np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny, -0.0, 0.0], extreme)

    def _edges(self, array, edges, chance):
        if array.size and array.ndim and self.chance(chance):
            spots = self.rng.random(array.shape) < .3
            array[spots] = self.rng.choice(np.array(edges, array.dtype), int(spots.sum()))
        return array

    def broadcast(self, count=2, **options):
        """Shapes that broadcast together: axes of one, left-out leading axes."""
        full = self.shape(**options)
        shapes = []
        for _ in range(count):
            dims = [1 if self.chance(.25) else d for d in full]
            shapes.append(tuple(dims[self.integer(0, len(dims)):] if self.chance(.3) else dims))
        return shapes


def solve(drawn, name):
    """The case with ONNX Runtime's answer, or None where it refuses or does not answer the same twice."""
    from fixtures import run_onnxruntime

    case = drawn.build(name)
    outputs = run_onnxruntime(case.model, case.inputs)
    again = run_onnxruntime(case.model, case.inputs)
    for a, b in zip(outputs, again):
        if not isinstance(a, np.ndarray) or a.dtype.kind in "OUS":
            continue
        if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            return None
    case.outputs, case.source = outputs, "onnxruntime"
    case.atol = tolerance(drawn, outputs)
    return case


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
