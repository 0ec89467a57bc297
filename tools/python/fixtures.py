"""What the fixture scripts share: folders in the layout of the ONNX backend tests.

A fixture is a folder with `model.onnx` and, per set of data, `test_data_set_N/input_I.pb` and `output_I.pb`:
TensorProto, SequenceProto or OptionalProto messages in the order of the graph's inputs and outputs. Inputs that have an
initializer get no file. Everything written here is deterministic: the same script, packages and seed give the same bytes.
"""

import io
import json
import os
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"


def seed_all(seed):
    """Seed NumPy and, where it is loaded, PyTorch; one thread, so that sums keep their order."""
    np.random.seed(seed)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(seed)
    torch.set_num_threads(1)


def stable_hashing():
    """Run the script again with hashing of strings pinned: skl2onnx writes attributes in the order of sets."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])


def export_torch(module, args, input_names, output_names, dynamic_axes=None, opset=17):
    """Export with the TorchScript exporter and return the ModelProto, checked."""
    import torch

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, args, buffer, input_names=input_names, output_names=output_names, dynamic_axes=dynamic_axes, opset_version=opset, dynamo=False
        )
    model = onnx.load_from_string(buffer.getvalue())
    onnx.checker.check_model(model)
    return strip_debug(model)


def strip_debug(model):
    """Drop stack traces, which name files of the machine that exported, and shorten the names of inner values."""
    kept = {value.name for value in [*model.graph.input, *model.graph.output]}
    short = {}
    _shorten(model.graph, kept, short)
    return model


def _shorten(graph, kept, short):
    """Rename values and nodes in order of appearance; subgraphs see the names of the graphs around them."""

    def name(old):
        if not old or old in kept:
            return old
        return short.setdefault(old, f"v{len(short)}")

    graph.ClearField("value_info")
    for value in [*graph.initializer, *graph.input, *graph.output]:
        value.name = name(value.name)
    for index, node in enumerate(graph.node):
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
        node.name = f"{node.op_type}_{index}"
        node.input[:] = [name(old) for old in node.input]
        node.output[:] = [name(old) for old in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _shorten(attribute.g, kept, short)


def fed_inputs(model):
    """The graph inputs that a caller has to feed: those without an initializer."""
    own = {t.name for t in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in own]


def _sequence_proto(name, values, element):
    """A SequenceProto; maps are encoded as MapProto (key_type, keys or string_keys, values as a sequence of scalars)."""
    proto = onnx.SequenceProto()
    proto.name = name
    if element.WhichOneof("value") == "map_type":
        proto.elem_type = onnx.SequenceProto.MAP
        for value in values:
            proto.map_values.append(_map_proto(value, element.map_type))
        return proto
    proto.elem_type = onnx.SequenceProto.TENSOR
    for value in values:
        proto.tensor_values.append(numpy_helper.from_array(np.asarray(value)))
    return proto


def _map_proto(mapping, map_type):
    """A MapProto whose values are rank-0 tensors in the order of the keys."""
    proto = onnx.MapProto()
    proto.key_type = map_type.key_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(map_type.value_type.tensor_type.elem_type)
    for key, value in mapping.items():
        if isinstance(key, str):
            proto.string_keys.append(key.encode())
        else:
            proto.keys.append(int(key))
        proto.values.tensor_values.append(numpy_helper.from_array(np.asarray(value, dtype)))
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    return proto


def _optional_proto(name, value, element):
    """An OptionalProto of a tensor or a sequence; None is the empty one."""
    proto = onnx.OptionalProto()
    proto.name = name
    if value is None:
        proto.elem_type = onnx.OptionalProto.UNDEFINED
    elif element.WhichOneof("value") == "sequence_type":
        proto.elem_type = onnx.OptionalProto.SEQUENCE
        proto.sequence_value.CopyFrom(_sequence_proto("", value, element.sequence_type.elem_type))
    else:
        proto.elem_type = onnx.OptionalProto.TENSOR
        proto.tensor_value.CopyFrom(numpy_helper.from_array(np.asarray(value)))
    return proto


def encode_value(value, info):
    """A value in the message that its declared type wants, or as it is when it is a message already."""
    if isinstance(value, onnx.TensorProto):
        proto = onnx.TensorProto()
        proto.CopyFrom(value)
        proto.name = info.name
        return proto
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return _map_proto(value, info.type.map_type)
    if kind == "sequence_type":
        return _sequence_proto(info.name, value, info.type.sequence_type.elem_type)
    if kind == "optional_type":
        return _optional_proto(info.name, value, info.type.optional_type.elem_type)
    array = np.asarray(value)
    elem_type = info.type.tensor_type.elem_type
    if elem_type == onnx.TensorProto.STRING:
        return numpy_helper.from_array(array.astype(object), info.name)
    wanted = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    if array.dtype != wanted:
        raise TypeError(f"{info.name}: declared {wanted}, got {array.dtype}")
    return numpy_helper.from_array(array, info.name)


def write_fixture(folder, model, sets, check=True, names=None):
    """Write the folder anew. `sets` is a list of (inputs, outputs), each a list in graph order; `names` go in the place of their numbers.

    `check=False` is for models that the checker refuses and runtimes take: operators past their deprecation.
    """
    folder = pathlib.Path(folder)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    if check:
        onnx.checker.check_model(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    inputs_info, outputs_info = fed_inputs(model), list(model.graph.output)
    for index, (inputs, outputs) in enumerate(sets):
        part = folder / f"test_data_set_{names[index] if names else index}"
        part.mkdir()
        for kind, values, infos in (("input", inputs, inputs_info), ("output", outputs, outputs_info)):
            if len(values) != len(infos):
                raise ValueError(f"{folder.name}: {len(values)} {kind} values for {len(infos)} graph {kind}s")
            for position, (value, info) in enumerate(zip(values, infos)):
                message = encode_value(value, info)
                (part / f"{kind}_{position}.pb").write_bytes(message.SerializeToString(deterministic=True))
    return folder


def run_onnxruntime(model, inputs):
    """Outputs of native ONNX Runtime with graph optimisation off, one thread."""
    return answers_onnxruntime(model, [inputs])[0]


def answers_onnxruntime(model, sets, optimised=False):
    """What one session gives for each list of inputs: with graph optimisation off and one thread, or with all of both."""
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in fed_inputs(model)]
    return [session.run(None, dict(zip(names, inputs))) for inputs in sets]


def check_against(model, sets, atol=1e-4, rtol=1e-3):
    """Assert that ONNX Runtime agrees with the expected values; return the greatest absolute error."""
    worst = 0.0
    for inputs, outputs in sets:
        for actual, expected in zip(run_onnxruntime(model, inputs), outputs):
            worst = max(worst, _compare(actual, expected, atol, rtol))
    return worst


def _compare(actual, expected, atol, rtol):
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        return max([_compare(a, e, atol, rtol) for a, e in zip(actual, expected)] or [0.0])
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        return max([_compare(actual[k], expected[k], atol, rtol) for k in expected] or [0.0])
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    if expected.dtype.kind not in "fc":
        assert (actual == expected).all(), (actual, expected)
        return 0.0
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
    return float(np.abs(actual - expected).max(initial=0.0))


def write_json(path, value):
    """Compact JSON with a stable order of keys."""
    pathlib.Path(path).write_text(json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n")
