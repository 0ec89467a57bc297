"""One-operator cases: building the model, finding the expected values, writing the folder.

A case's expected values come from the first of these that applies: a NumPy function given with the case, native ONNX
Runtime with optimisation off, onnx's ReferenceEvaluator. The others are run as well, and a disagreement is an error unless
the case names it with its reason (`differs`); a source with the reason `CRASHES` is not run. `cases.tsv` gives for each case its
tolerance, where its values come from and who agreed.
"""

import pathlib
import shutil
import warnings
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import fixtures

CRASHES = "crashes"
RTOL, ATOL = 1e-3, 1e-5
ML = "ai.onnx.ml"
MS = "com.microsoft"
_IR_OF_OPSET = ((8, 3), (9, 4), (10, 5), (11, 6), (14, 7), (18, 8), (20, 9), (22, 10), (24, 11), (25, 12), (27, 13), (99, 14))


def ir_version(opset):
    """The IR version that was current when this opset of the default domain came out."""
    return next(ir for limit, ir in _IR_OF_OPSET if opset <= limit)


def type_of(value):
    """The TypeProto of a fed or expected value: tensor, sequence (list), map (dict)."""
    if isinstance(value, dict):
        key, item = next(iter(value.items()))
        key_type = TensorProto.STRING if isinstance(key, str) else TensorProto.INT64
        return helper.make_map_type_proto(key_type, helper.make_tensor_type_proto(elem_type_of(np.asarray(item)), []))
    if isinstance(value, (list, tuple)):
        first = value[0]
        if isinstance(first, dict):
            return helper.make_sequence_type_proto(type_of(first))
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem_type_of(np.asarray(first)), None))
    value = np.asarray(value)
    return helper.make_tensor_type_proto(elem_type_of(value), list(value.shape))


def elem_type_of(array):
    """ONNX's number for an array's type; text is a string tensor."""
    if array.dtype.kind in "OUS":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def value_info(name, value):
    info = onnx.ValueInfoProto()
    info.name = name
    if value is not None:
        info.type.CopyFrom(type_of(value))
    return info


def tensor(name, array):
    """An initializer; text goes through object arrays."""
    array = np.asarray(array)
    return numpy_helper.from_array(array.astype(object) if array.dtype.kind in "OUS" else array, name)


class Case:
    """One model with its inputs and, after `solve`, its expected outputs."""

    def __init__(self, name, model, inputs, expected=None, differs=None, random=False, atol=ATOL, check=True):
        self.name, self.model, self.inputs = name, model, inputs
        self.expected, self.differs, self.random, self.atol = expected, dict(differs or {}), random, atol
        self.check = check
        self.outputs, self.source, self.agreed, self.more = None, "", [], []

    def solve(self):
        """Find the expected values and compare every source with them."""
        answers = {}
        if self.expected is not None:
            values = self.expected(*self.inputs) if callable(self.expected) else self.expected
            answers["numpy"] = list(values) if isinstance(values, (list, tuple)) else [values]
        errors = {}
        for source, run in (("onnxruntime", fixtures.run_onnxruntime), ("reference", _run_reference)):
            if self.differs.get(source) == CRASHES:
                continue
            try:
                answers[source] = run(self.model, self.inputs)
            except Exception as error:
                errors[source] = f"{type(error).__name__}: {str(error)[:160]}"
        trusted = [source for source in answers if source not in self.differs]
        if not trusted:
            raise ValueError(f"nobody answers: {errors}")
        self.source = trusted[0]
        self.outputs = [_plain(value) for value in answers[self.source]]
        for source in trusted[1:]:
            if self.random:
                continue
            try:
                _agree(answers[source], self.outputs, self.atol)
            except AssertionError as error:
                raise AssertionError(f"{source} differs from {self.source}: {str(error).strip()[:500]}") from None
            self.agreed.append(source)
        self._check_notes(answers)

    def _check_notes(self, answers):
        """A note that a source differs must be true, or it hides the next difference."""
        for source in self.differs:
            try:
                _agree(answers[source], self.outputs, self.atol)
            except (AssertionError, KeyError, TypeError):
                continue
            raise ValueError(f"{source} agrees, so its note is stale")

    def write(self, out):
        for info, value in zip(self.model.graph.output, self.outputs):
            if not info.HasField("type"):
                info.type.CopyFrom(type_of(value))
        fixtures.write_fixture(out / self.name, self.model, [(self.inputs, self.outputs), *self.more], self.check)

    def line(self):
        """The case's row of cases.tsv. The tolerance of a random case is '-': only shape and type can be compared."""
        note = "; ".join(f"{source} {reason}" for source, reason in sorted(self.differs.items()))
        atol, rtol = ("-", "-") if self.random else (f"{self.atol:g}", f"{RTOL:g}")
        return "\t".join([self.name, atol, rtol, self.source, ",".join(self.agreed) or "-", note or "-"])


def _run_reference(model, inputs):
    names = [value.name for value in fixtures.fed_inputs(model)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))


def _plain(value):
    """NumPy scalars as arrays; text as objects; lists and maps as they are."""
    if value is None or isinstance(value, (list, tuple, dict)):
        return value
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def _agree(actual, expected, atol):
    assert len(actual) == len(expected), (len(actual), len(expected))
    for a, e in zip(actual, expected):
        _agree_value(a, e, atol)


def _agree_value(actual, expected, atol):
    if isinstance(expected, (list, tuple)):
        _agree(actual, expected, atol)
        return
    if isinstance(expected, dict):
        assert list(actual) == list(expected), (actual, expected)
        _agree(list(actual.values()), list(expected.values()), atol)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape} for {expected.shape}"
    if expected.dtype.kind in "OUS":
        assert actual.astype(str).tolist() == expected.astype(str).tolist(), (actual, expected)
        return
    assert actual.dtype == expected.dtype, f"type {actual.dtype} for {expected.dtype}"
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
    else:
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=RTOL, atol=atol)


class Suite:
    """Collects cases by group; each group draws from a generator seeded by its name."""

    def __init__(self):
        self.cases = {}
        self.failures = []
        self.rng = None

    def begin(self, group):
        self.rng = np.random.default_rng(zlib.crc32(group.encode()))

    def floats(self, *shape, scale=1.0, dtype=np.float32):
        """Normal values."""
        return (self.rng.standard_normal(shape) * scale).astype(dtype)

    def uniform(self, low, high, *shape, dtype=np.float32):
        return self.rng.uniform(low, high, shape).astype(dtype)

    def integers(self, low, high, *shape, dtype=np.int64):
        """Integers from low to high - 1."""
        return self.rng.integers(low, high, shape).astype(dtype)

    def bools(self, *shape):
        return self.rng.random(shape) < 0.5

    def add(self, name, model, inputs, **options):
        """A case with a model of one's own."""
        if name in self.cases:
            raise ValueError(f"two cases named {name}")
        self.cases[name] = Case(name, model, inputs, **options)

    def case(self, name, op, inputs, attributes=None, *, opset, domain="", version=1, outputs=1, constants=(), node=None, **options):
        """A case of one node. A missing input is None; `outputs` is a count or a list of names, '' for one left out.

        `constants` are the positions of inputs that become initializers; `version` is the opset of `domain`.
        """
        inputs = [np.asarray(value) if isinstance(value, np.generic) else value for value in inputs]
        names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
        out = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
        made = node or helper.make_node(op, names, out, domain=domain, **(attributes or {}))
        fed = [i for i, value in enumerate(inputs) if value is not None and i not in constants]
        initializers = [tensor(names[i], inputs[i]) for i in constants]
        infos = [value_info(names[i], inputs[i]) for i in fed]
        if ir_version(opset) < 4:
            infos += [value_info(names[i], inputs[i]) for i in constants]
        graph = helper.make_graph([made], name, infos, [value_info(n, None) for n in out if n], initializers)
        imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, version)] if domain else [])
        model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version(opset), producer_name="linnet cases")
        self.add(name, model, [inputs[i] for i in fed], **options)

    @staticmethod
    def answer(op, inputs, attributes, opset, outputs=1, domain=""):
        """What ONNX Runtime makes of another way to say the same: for forms that it does not know."""
        other = Suite()
        other.case("other", op, list(inputs), attributes, opset=opset, outputs=outputs, domain=domain)
        case = other.cases["other"]
        return fixtures.run_onnxruntime(case.model, case.inputs)

    def solve_and_write(self, out, only=None):
        """Solve every case; write those that could be solved, and their table."""
        chosen = [case for case in self.cases.values() if not only or only in case.name]
        lines = ["case\tatol\trtol\tsource\tagreed\tnote"]
        for case in chosen:
            try:
                case.solve()
                case.write(out)
            except Exception as error:
                self.failures.append(case.name)
                print(f"{case.name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
                continue
            lines.append(case.line())
        if not only:
            (out / "cases.tsv").write_text("\n".join(lines) + "\n")
        return len(chosen) - len(self.failures)


def clear(out):
    """Empty the folder of cases before it is written anew."""
    out = pathlib.Path(out)
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)


bfloat16 = ml_dtypes.bfloat16
