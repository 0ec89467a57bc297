"""Control flow in every version, sequences and optionals, and what a graph may say: sparse and shadowed initializers, Constant in
all its forms, domains by name, unused and unnamed nodes, text.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cases_core import CRASHES, ir_version, tensor, value_info

NO_CONDITION = {"reference": "makes no trip without a condition"}
FLOAT, INT64, BOOL, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING


def _info(name, elem_type, shape):
    return helper.make_tensor_value_info(name, elem_type, shape)


def _model(nodes, inputs, outputs, initializers=(), opset=21, imports=(), ir=None, sparse=()):
    """`inputs` is a dict of name and value; `outputs` a list of names."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [value_info(n, v) for n, v in inputs.items()],
        [value_info(n, None) for n in outputs],
        list(initializers),
        sparse_initializer=list(sparse),
    )
    domains = [helper.make_opsetid(d, v) for d, v in (imports or (("", opset),))]
    return helper.make_model(graph, opset_imports=domains, ir_version=ir or ir_version(opset), producer_name="linnet cases")


def _add(suite, name, nodes, inputs, outputs, initializers=(), expected=None, **options):
    keys = ("opset", "imports", "ir", "sparse")
    model = _model(nodes, inputs, outputs, initializers, **{k: options.pop(k) for k in keys if k in options})
    suite.add(name, model, list(inputs.values()), expected=expected, **options)


node = helper.make_node


def conditions(suite):
    x = suite.floats(2, 3)
    for opset in (1, 11, 13, 16, 19, 21, 23, 24, 25):
        then = helper.make_graph([node("Abs" if opset > 5 else "Identity", ["x"], ["t"])], "then", [], [_info("t", FLOAT, [2, 3])])
        other = helper.make_graph([node("Mul", ["x", "x"], ["e"])], "else", [], [_info("e", FLOAT, [2, 3])])
        for flag in (True, False):
            _add(
                suite,
                f"if_v{opset}_{str(flag).lower()}",
                [node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                {"c": np.array(flag), "x": x},
                ["y"],
                opset=opset,
                expected=lambda c, x, o=opset: (np.abs(x) if o > 5 else x) if c else x * x,
            )
    small = helper.make_graph([node("Identity", ["a"], ["s"])], "then", [], [_info("s", FLOAT, ["n"])])
    large = helper.make_graph([node("Concat", ["a", "a"], ["l"], axis=0)], "else", [], [_info("l", FLOAT, ["m"])])
    for flag in (True, False):
        _add(
            suite,
            f"if_shapes_differ_{str(flag).lower()}",
            [node("If", ["c"], ["b"], then_branch=small, else_branch=large), node("ReduceSum", ["b"], ["y"], keepdims=0)],
            {"c": np.array([flag]), "a": suite.floats(3)},
            ["b", "y"],
        )
    inner_then = helper.make_graph([node("Add", ["x", "k"], ["it"])], "inner_then", [], [_info("it", FLOAT, None)], [tensor("k", np.float32(10))])
    inner_else = helper.make_graph([node("Sub", ["x", "k"], ["ie"])], "inner_else", [], [_info("ie", FLOAT, None)], [tensor("k", np.float32(20))])
    outer_then = helper.make_graph([node("If", ["d"], ["ot"], then_branch=inner_then, else_branch=inner_else)], "outer_then", [], [_info("ot", FLOAT, None)])
    outer_else = helper.make_graph([node("Identity", ["x"], ["oe"])], "outer_else", [], [_info("oe", FLOAT, None)])
    for c, d in ((True, True), (True, False), (False, True)):
        _add(
            suite,
            f"if_nested_{int(c)}{int(d)}",
            [node("If", ["c"], ["y"], then_branch=outer_then, else_branch=outer_else)],
            {"c": np.array(c), "d": np.array(d), "x": x},
            ["y"],
            expected=lambda c, d, x: x + np.float32(10 if d else -20) if c else x,
        )


def _loop_body(opset, cond="keep"):
    """sum += i * x; stops when the sum passes a limit of the outer graph; scans the sum and the counter."""
    nodes = [
        node("Cast", ["i"], ["f"], to=FLOAT),
        node("Mul", ["f", "x"], ["fx"]),
        node("Add", ["sum", "fx"], ["sum_out"]),
        node("Less", ["sum_out", "limit"], ["below"]),
        node("Identity", ["below" if cond == "data" else "go"], ["go_out"]),
        node("Identity", ["sum_out"], ["trace"]),
        node("Identity", ["i"], ["count"]),
    ]
    return helper.make_graph(
        nodes,
        "body",
        [_info("i", INT64, []), _info("go", BOOL, []), _info("sum", FLOAT, [])],
        [_info("go_out", BOOL, []), _info("sum_out", FLOAT, []), _info("trace", FLOAT, []), _info("count", INT64, [])],
    )


def loops(suite):
    def expected(data):
        def run(trips, go, start, x, limit):
            total, trace, count, i = np.float32(start), [], [], 0
            while go and i < trips:
                total = np.float32(total + np.float32(i) * x)
                trace.append(total)
                count.append(i)
                i, go = i + 1, bool(total < limit) if data else go
            return [np.array(total), np.array(trace, np.float32), np.array(count, np.int64)]

        return run

    for opset in (7, 11, 13, 16, 19, 21, 23, 24, 25):
        for name, trips, go, data in (("trips", 5, True, False), ("data", 50, True, True), ("none", 0, True, False), ("false", 9, False, False)):
            if name in ("none", "false") and opset not in (7, 13, 25):
                continue
            inputs = {"trips": np.array(trips), "go": np.array(go), "start": np.float32(1), "x": np.float32(2.5), "limit": np.float32(60)}
            inputs = {k: np.asarray(v) for k, v in inputs.items()}
            body = _loop_body(opset, "data" if data else "keep")
            if opset < 9:
                body.node[3].op_type = "Less"
            _add(
                suite,
                f"loop_v{opset}_{name}",
                [node("Loop", ["trips", "go", "start"], ["sum", "trace", "count"], body=body)],
                inputs,
                ["sum", "trace", "count"],
                opset=opset,
                expected=expected(data),
                differs={"reference": "makes columns of scalars"} if name in ("trips", "data") else None,
            )
    body = _loop_body(13, "data")
    _add(
        suite,
        "loop_no_trip_count",
        [node("Loop", ["", "go", "start"], ["sum", "trace", "count"], body=body)],
        {"go": np.array(True), "start": np.asarray(np.float32(0)), "x": np.asarray(np.float32(3)), "limit": np.asarray(np.float32(40))},
        ["sum", "trace", "count"],
        opset=13,
        differs={"reference": "makes columns of scalars"},
    )
    grow = helper.make_graph(
        [node("Concat", ["acc", "x"], ["acc_out"], axis=0), node("Identity", ["go"], ["go_out"])],
        "body",
        [_info("i", INT64, []), _info("go", BOOL, []), _info("acc", FLOAT, ["n"])],
        [_info("go_out", BOOL, []), _info("acc_out", FLOAT, ["m"])],
    )
    _add(
        suite,
        "loop_growing_value",
        [node("Loop", ["trips", "", "x"], ["y"], body=grow)],
        {"trips": np.array(4), "x": suite.floats(2)},
        ["y"],
        expected=lambda t, x: np.tile(x, 5),
        differs=NO_CONDITION,
    )
    swap = helper.make_graph(
        [node("Identity", ["go"], ["go_out"]), node("Identity", ["b"], ["a_out"]), node("Identity", ["a"], ["b_out"])],
        "body",
        [_info("i", INT64, []), _info("go", BOOL, []), _info("a", FLOAT, [2]), _info("b", FLOAT, [2])],
        [_info("go_out", BOOL, []), _info("a_out", FLOAT, [2]), _info("b_out", FLOAT, [2])],
    )
    _add(
        suite,
        "loop_swaps_values",
        [node("Loop", ["trips", "", "p", "q"], ["y", "z"], body=swap)],
        {"trips": np.array(3), "p": suite.floats(2), "q": suite.floats(2)},
        ["y", "z"],
        expected=lambda t, p, q: [q, p],
        differs=NO_CONDITION,
    )
    inner = helper.make_graph(
        [node("Identity", ["jgo"], ["jgo_out"]), node("Add", ["t", "i"], ["t0"]), node("Add", ["t0", "j"], ["t_out"])],
        "inner",
        [_info("j", INT64, []), _info("jgo", BOOL, []), _info("t", INT64, [])],
        [_info("jgo_out", BOOL, []), _info("t_out", INT64, [])],
    )
    outer = helper.make_graph(
        [node("Identity", ["igo"], ["igo_out"]), node("Loop", ["inner_trips", "", "s"], ["s_out"], body=inner), node("Identity", ["s_out"], ["scan"])],
        "outer",
        [_info("i", INT64, []), _info("igo", BOOL, []), _info("s", INT64, [])],
        [_info("igo_out", BOOL, []), _info("s_out", INT64, []), _info("scan", INT64, [])],
    )
    _add(
        suite,
        "loop_nested",
        [node("Loop", ["outer_trips", "", "zero"], ["total", "each"], body=outer)],
        {"outer_trips": np.array(3), "inner_trips": np.array(4)},
        ["total", "each"],
        [tensor("zero", np.array(0))],
        expected=lambda o, n: [np.array(30), np.array([6, 16, 30])],
    )
    scan_rows = helper.make_graph(
        [node("Identity", ["go"], ["go_out"]), node("Gather", ["m", "i"], ["row"], axis=0)],
        "body",
        [_info("i", INT64, []), _info("go", BOOL, [])],
        [_info("go_out", BOOL, []), _info("row", STRING, [2])],
    )
    _add(
        suite,
        "loop_scans_text",
        [node("Loop", ["n", ""], ["rows"], body=scan_rows)],
        {"n": np.array(2), "m": np.array([["a", "b"], ["c", "d"], ["e", "f"]], object)},
        ["rows"],
        expected=lambda n, m: m[:2],
        differs={"onnxruntime": "loses text", **NO_CONDITION},
    )


def scans(suite):
    for opset in (9, 11, 16, 19, 21, 23, 24, 25):
        body = helper.make_graph(
            [node("Add", ["s", "a"], ["s_out"]), node("Mul", ["s_out", "b"], ["p"])],
            "body",
            [_info("s", FLOAT, [2]), _info("a", FLOAT, [2]), _info("b", FLOAT, [2])],
            [_info("s_out", FLOAT, [2]), _info("p", FLOAT, [2])],
        )
        _add(
            suite,
            f"scan_v{opset}",
            [node("Scan", ["s0", "x", "z"], ["s", "y"], body=body, num_scan_inputs=2, scan_input_directions=[0, 1])],
            {"s0": suite.floats(2), "x": suite.floats(4, 2), "z": suite.floats(4, 2)},
            ["s", "y"],
            opset=opset,
            expected=lambda s0, x, z: [s0 + x.sum(0), (s0 + np.cumsum(x, 0)) * z[::-1]],
        )
    body = helper.make_graph([node("Concat", ["a", "w"], ["c"], axis=0)], "body", [_info("a", FLOAT, [3])], [_info("c", FLOAT, [5])])
    _add(
        suite,
        "scan_axes_negative",
        [node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1, scan_input_axes=[-1], scan_output_axes=[-1], scan_output_directions=[1])],
        {"x": suite.floats(3, 4), "w": suite.floats(2)},
        ["y"],
        expected=lambda x, w: np.concatenate([x, np.tile(w[:, None], 4)])[:, ::-1],
    )
    body = helper.make_graph([node("Add", ["s", "a"], ["s_out"])], "body", [_info("s", INT64, []), _info("a", INT64, [])], [_info("s_out", INT64, [])])
    _add(
        suite,
        "scan_no_steps",
        [node("Scan", ["s0", "x"], ["s"], body=body, num_scan_inputs=1)],
        {"s0": np.array(5), "x": np.zeros(0, np.int64)},
        ["s"],
        expected=lambda s, x: s,
    )


def sequences(suite):
    a, b, c = suite.floats(2, 3), suite.floats(1, 3), suite.floats(4, 3)
    many = [a, b, c]
    _add(suite, "sequence_at_negative", [node("SequenceAt", ["s", "i"], ["y"])], {"s": many, "i": np.array(-2)}, ["y"], expected=lambda s, i: s[1])
    _add(
        suite,
        "sequence_insert_front",
        [node("SequenceInsert", ["s", "x", "i"], ["y"])],
        {"s": many, "x": c, "i": np.array(0)},
        ["y"],
        expected=lambda s, x, i: [[x, *s]],
    )
    _add(
        suite,
        "sequence_insert_negative",
        [node("SequenceInsert", ["s", "x", "i"], ["y"])],
        {"s": many, "x": c, "i": np.array(-1, np.int32)},
        ["y"],
        expected=lambda s, x, i: [[a, b, x, s[2]]],
    )
    _add(suite, "sequence_erase_last", [node("SequenceErase", ["s"], ["y"])], {"s": many}, ["y"], expected=lambda s: [s[:2]])
    _add(suite, "sequence_length", [node("SequenceLength", ["s"], ["y"])], {"s": many}, ["y"], expected=lambda s: np.array(3))
    _add(
        suite,
        "sequence_construct_and_concat",
        [node("SequenceConstruct", ["x", "z"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)],
        {"x": a, "z": c},
        ["s", "y"],
        expected=lambda x, z: [[x, z], np.concatenate([x, z])],
    )
    _add(
        suite,
        "sequence_concat_new_axis",
        [node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)],
        {"s": [a, a + 1]},
        ["y"],
        expected=lambda s: np.stack(s, -1),
    )
    _add(
        suite,
        "sequence_split_sizes",
        [node("SplitToSequence", ["x", "n"], ["y"], axis=1)],
        {"x": a, "n": np.array([1, 2])},
        ["y"],
        expected=lambda x, n: [[x[:, :1], x[:, 1:]]],
    )
    _add(
        suite,
        "sequence_split_uneven",
        [node("SplitToSequence", ["x", "n"], ["y"], axis=0)],
        {"x": suite.floats(5, 2), "n": np.array(2)},
        ["y"],
        expected=lambda x, n: [[x[:2], x[2:4], x[4:]]],
    )
    _add(
        suite,
        "sequence_split_drop_axis",
        [node("SplitToSequence", ["x"], ["y"], axis=-1, keepdims=0)],
        {"x": a},
        ["y"],
        expected=lambda x: [[x[:, 0], x[:, 1], x[:, 2]]],
    )
    _add(
        suite,
        "sequence_text",
        [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceAt", ["s", "i"], ["y"])],
        {"x": np.array(["ä", ""], object), "i": np.array(1)},
        ["y"],
        expected=lambda x, i: x,
    )
    body = helper.make_graph(
        [node("ReduceSum", ["e"], ["r"], keepdims=0), node("Mul", ["r", "k"], ["m"])], "body", [_info("e", FLOAT, None)], [_info("m", FLOAT, None)]
    )
    _add(
        suite,
        "sequence_map",
        [node("SequenceMap", ["s"], ["y"], body=body)],
        {"s": many, "k": np.asarray(np.float32(2))},
        ["y"],
        expected=lambda s, k: [[np.asarray(v.sum() * k) for v in s]],
        opset=17,
    )
    _add(suite, "sequence_identity", [node("Identity", ["s"], ["y"])], {"s": many}, ["y"], expected=lambda s: [s], opset=16)
    grow = helper.make_graph(
        [node("Identity", ["go"], ["go_out"]), node("Mul", ["x", "x"], ["xx"]), node("SequenceInsert", ["q", "xx"], ["q_out"])],
        "body",
        [_info("i", INT64, []), _info("go", BOOL, []), helper.make_tensor_sequence_value_info("q", FLOAT, None)],
        [_info("go_out", BOOL, []), helper.make_tensor_sequence_value_info("q_out", FLOAT, None)],
    )
    _add(
        suite,
        "sequence_in_loop",
        [node("SequenceEmpty", [], ["q0"], dtype=FLOAT), node("Loop", ["n", "", "q0"], ["q1"], body=grow), node("SequenceLength", ["q1"], ["y"])],
        {"n": np.array(3), "x": a},
        ["q1", "y"],
        expected=lambda n, x: [[x * x] * 3, np.array(3)],
        opset=13,
        differs=NO_CONDITION,
    )
    _add(
        suite,
        "optional_of_tensor",
        [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["h"]), node("OptionalGetElement", ["o"], ["y"])],
        {"x": a},
        ["h", "y"],
        expected=lambda x: [np.array(True), x],
        opset=18,
        differs={"reference": "adds an axis"},
    )
    kind = helper.make_tensor_type_proto(FLOAT, None)
    _add(
        suite,
        "optional_empty",
        [node("Optional", [], ["o"], type=kind), node("OptionalHasElement", ["o"], ["h"])],
        {"x": a},
        ["h"],
        expected=lambda x: np.array(False),
        opset=18,
        differs={"reference": "says yes"},
    )


def constants(suite):
    sparse = helper.make_sparse_tensor(helper.make_tensor("v", FLOAT, [3], [1.5, -2.0, 3.0]), helper.make_tensor("i", INT64, [3], [1, 5, 6]), [2, 4])
    coordinates = helper.make_sparse_tensor(helper.make_tensor("v", FLOAT, [2], [4.0, 5.0]), helper.make_tensor("i", INT64, [2, 2], [0, 3, 1, 0]), [2, 4])
    dense = np.array([[0, 1.5, 0, 0], [0, -2, 3, 0]], np.float32)
    other = np.array([[0, 0, 0, 4], [5, 0, 0, 0]], np.float32)
    x = suite.floats(2, 4)
    _add(
        suite,
        "constant_sparse",
        [node("Constant", [], ["c"], sparse_value=sparse), node("Add", ["c", "x"], ["y"])],
        {"x": x},
        ["y"],
        expected=lambda x: dense + x,
        opset=13,
    )
    _add(
        suite,
        "constant_sparse_coordinates",
        [node("Constant", [], ["c"], sparse_value=coordinates), node("Add", ["c", "x"], ["y"])],
        {"x": x},
        ["y"],
        expected=lambda x: other + x,
        opset=13,
    )
    nibbles = helper.make_sparse_tensor(helper.make_tensor("v", onnx.TensorProto.INT4, [3], [-8, 7, 3]), helper.make_tensor("i", INT64, [3], [1, 5, 6]), [2, 4])
    _add(
        suite,
        "constant_sparse_int4",
        [node("Constant", [], ["c"], sparse_value=nibbles), node("Cast", ["c"], ["d"], to=FLOAT), node("Add", ["d", "x"], ["y"])],
        {"x": x},
        ["y"],
        expected=lambda x: np.array([[0, -8, 0, 0], [0, 7, 3, 0]], np.float32) + x,
        opset=21,
    )
    named = onnx.SparseTensorProto()
    named.CopyFrom(sparse)
    named.values.name = "c"
    _add(
        suite,
        "initializer_sparse",
        [node("Add", ["c", "x"], ["y"])],
        {"x": x},
        ["y"],
        sparse=[named],
        expected=lambda x: dense + x,
        opset=13,
        differs={"reference": "does not read them"},
    )
    forms = {
        "float": (2.5, np.array(2.5, np.float32)),
        "floats": ([1.5, -2.0], np.array([1.5, -2], np.float32)),
        "int": (-3, np.array(-3)),
        "ints": ([5, 6, 2**40], np.array([5, 6, 2**40])),
        "string": ("text", np.array("text", object)),
        "strings": (["a", "ü", ""], np.array(["a", "ü", ""], object)),
    }
    for name, (value, wanted) in forms.items():
        _add(
            suite,
            f"constant_value_{name}",
            [node("Constant", [], ["y"], **{f"value_{name}": value})],
            {"x": x},
            ["y"],
            opset=13,
            expected=lambda x, w=wanted: [w],
        )
    for name, elem, values in (
        ("uint8", TensorProto.UINT8, [0, 255]),
        ("int8", TensorProto.INT8, [-128, 127]),
        ("uint64", TensorProto.UINT64, [2**64 - 1, 5]),
        ("double", TensorProto.DOUBLE, [1.25, -1e300]),
        ("bool", TensorProto.BOOL, [1, 0]),
        ("uint16", TensorProto.UINT16, [65535, 1]),
        ("float16", TensorProto.FLOAT16, [1.5, -65504.0]),
        ("uint32", TensorProto.UINT32, [2**32 - 1, 0]),
        ("complex64", TensorProto.COMPLEX64, [1 + 2j, -3j]),
        ("bfloat16", TensorProto.BFLOAT16, [1.5, -3.0]),
    ):
        typed = helper.make_tensor("value", elem, [2], values)
        wanted = numpy_helper.to_array(typed)
        _add(suite, f"constant_typed_field_{name}", [node("Constant", [], ["y"], value=typed)], {"x": x}, ["y"], opset=13, expected=lambda x, w=wanted: [w])
    _add(suite, "constant_is_output_twice", [node("Identity", ["x"], ["y"]), node("Identity", ["x"], ["z"])], {"x": x}, ["y", "z"], expected=lambda x: [x, x])


def graphs(suite):
    x = suite.floats(2, 3)
    _add(
        suite,
        "graph_initializer_is_input",
        [node("Add", ["x", "w"], ["y"])],
        {"x": x, "w": np.ones((2, 3), np.float32)},
        ["y"],
        expected=lambda x, w: x + w,
        opset=11,
    )
    default = _model([node("Add", ["x", "w"], ["y"])], {"x": x, "w": np.ones(3, np.float32)}, ["y"], [tensor("w", np.float32([1, 2, 3]))], opset=8)
    suite.add("graph_default_is_used", default, [x], expected=lambda x: x + np.float32([1, 2, 3]))
    _add(
        suite,
        "graph_domain_by_name",
        [node("Add", ["x", "x"], ["y"], domain="ai.onnx")],
        {"x": x},
        ["y"],
        imports=(("ai.onnx", 14),),
        ir=7,
        expected=lambda x: x + x,
        check=False,
    )
    _add(
        suite,
        "graph_two_domains",
        [node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[1.0], scale=[2.0]), node("Relu", ["s"], ["y"])],
        {"x": x},
        ["y"],
        imports=(("", 14), ("ai.onnx.ml", 1), ("com.microsoft", 1)),
        ir=8,
        expected=lambda x: np.maximum((x - 1) * 2, 0),
    )
    _add(suite, "graph_input_is_output", [node("Neg", ["x"], ["y"])], {"x": x}, ["x", "y"], expected=lambda x: [x, -x])
    _add(
        suite,
        "graph_initializer_is_output",
        [node("Neg", ["x"], ["y"])],
        {"x": x},
        ["w", "y"],
        [tensor("w", np.arange(3.0))],
        expected=lambda x: [np.arange(3.0), -x],
    )
    _add(
        suite,
        "graph_unused_nodes",
        [node("Exp", ["x"], ["unused"]), node("Split", ["x"], ["", "b", ""], axis=1, num_outputs=3)],
        {"x": x},
        ["b"],
        expected=lambda x: x[:, 1:2],
        opset=18,
        differs={"onnxruntime": CRASHES},
    )
    twins = [node("Exp", ["x"], ["a"], name="same"), node("Exp", ["x"], ["b"], name="same"), node("Sub", ["a", "b"], ["y"], name="same")]
    _add(suite, "graph_duplicate_names", twins, {"x": x}, ["y"], expected=lambda x: np.zeros_like(x))
    chain = [node("Add", [f"v{i}" if i else "x", "one"], [f"v{i + 1}"]) for i in range(200)]
    _add(suite, "graph_long_chain", chain, {"x": x}, ["v200"], [tensor("one", np.float32(1))], expected=lambda x: x + 200, atol=1e-3)
    mask = [
        node("NonZero", ["x"], ["nz"]),
        node("Transpose", ["nz"], ["t"]),
        node("GatherND", ["x", "t"], ["v"]),
        node("Shape", ["v"], ["n"]),
        node("Range", ["zero", "count", "one"], ["r"]),
        node("ReduceSum", ["v"], ["total"], keepdims=0),
        node("Squeeze", ["n"], ["count"]),
    ]
    mask = [mask[i] for i in (0, 1, 2, 3, 6, 4, 5)]
    sparse = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    _add(
        suite,
        "graph_data_dependent",
        mask,
        {"x": sparse},
        ["v", "r", "total"],
        [tensor("zero", np.array(0)), tensor("one", np.array(1))],
        expected=lambda x: [np.float32([1, 2, 3]), np.array([0, 1, 2]), np.array(6, np.float32)],
    )
    shape = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "first"], ["d"], axis=0),
        node("Concat", ["d", "minus"], ["to"], axis=0),
        node("Reshape", ["x", "to"], ["y"]),
    ]
    _add(
        suite,
        "graph_shape_arithmetic",
        shape,
        {"x": suite.floats(3, 2, 2)},
        ["y"],
        [tensor("first", np.array([0])), tensor("minus", np.array([-1]))],
        expected=lambda x: x.reshape(3, 4),
    )
    for ir in (4, 7, 8, 9, 10, 11, 12, 13):
        _add(suite, f"graph_ir_{ir}", [node("Relu", ["x"], ["y"])], {"x": x}, ["y"], opset=9, ir=ir, expected=lambda x: np.maximum(x, 0))


GROUPS = [conditions, loops, scans, sequences, constants, graphs]
