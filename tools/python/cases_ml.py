"""The operators of ai.onnx.ml, most of which the backend tests leave out, in their forms and types."""

import numpy as np
from onnx import TensorProto, helper

from cases_core import ML

OPSET = 17


def _ml(suite, name, op, inputs, attributes=None, version=1, **options):
    suite.case("ml_" + name, op, inputs, attributes, opset=OPSET, domain=ML, version=version, **options)


ONE_DIMENSION = {"reference": "gives a vector"}
OWN_TYPE = {"reference": "keeps the input's type"}


def _text(*values):
    return np.array(values, object)


def maps(suite):
    _ml(suite, "castmap_dense", "CastMap", [{0: np.float32(1.5), 2: np.float32(-3)}], {"cast_to": "TO_FLOAT"}, expected=np.array([[1.5, -3]], np.float32))
    _ml(
        suite,
        "castmap_sparse",
        "CastMap",
        [{1: np.float32(1.5), 4: np.float32(-3)}],
        {"cast_to": "TO_FLOAT", "map_form": "SPARSE", "max_map": 6},
        expected=np.array([[0, 1.5, 0, 0, -3, 0]], np.float32),
    )
    _ml(suite, "castmap_to_int64", "CastMap", [{0: np.float32(2.9), 1: np.float32(-2.9)}], {"cast_to": "TO_INT64"}, expected=np.array([[2, -2]]))
    _ml(
        suite,
        "castmap_text_to_float",
        "CastMap",
        [{0: _text("2.5")[0], 3: _text("-1")[0]}],
        {"cast_to": "TO_FLOAT"},
        expected=np.array([[2.5, -1]], np.float32),
    )
    _ml(suite, "castmap_to_text", "CastMap", [{0: np.float32(2.5)}], {"cast_to": "TO_STRING"}, expected=np.array([["2.500000"]], object))
    _ml(
        suite,
        "dictvectorizer_text_keys",
        "DictVectorizer",
        [{"b": np.float32(2), "d": np.float32(4)}],
        {"string_vocabulary": ["a", "b", "c", "d"]},
        expected=np.array([[0, 2, 0, 4]], np.float32),
        differs=ONE_DIMENSION,
    )
    _ml(
        suite,
        "dictvectorizer_int_keys",
        "DictVectorizer",
        [{3: np.float32(2), 9: np.float32(4), 5: np.float32(1)}],
        {"int64_vocabulary": [5, 3, 7]},
        expected=np.array([[1, 2, 0]], np.float32),
        differs=ONE_DIMENSION,
    )
    _ml(
        suite,
        "dictvectorizer_int64_values",
        "DictVectorizer",
        [{"x": np.int64(7)}],
        {"string_vocabulary": ["y", "x"]},
        expected=np.array([[0, 7]]),
        differs=ONE_DIMENSION,
    )
    _ml(
        suite,
        "dictvectorizer_text_values",
        "DictVectorizer",
        [{2: _text("two")[0]}],
        {"int64_vocabulary": [1, 2]},
        expected=np.array([["", "two"]], object),
        differs=ONE_DIMENSION,
    )
    x = suite.uniform(0, 1, 3, 2)
    _ml(suite, "zipmap_int", "ZipMap", [x], {"classlabels_int64s": [10, -4]})
    _ml(suite, "zipmap_text", "ZipMap", [x], {"classlabels_strings": ["yes", "no"]})
    _ml(suite, "zipmap_one_row", "ZipMap", [suite.uniform(0, 1, 3)], {"classlabels_strings": ["a", "b", "c"]})


def encoders(suite):
    categories = {"cats_strings": ["cat", "dog", "bird"], "cats_int64s": [10, 20, 30]}
    _ml(suite, "categorymapper_to_int", "CategoryMapper", [_text("dog", "fish", "cat").reshape(3, 1)], {**categories, "default_int64": -7})
    _ml(suite, "categorymapper_to_text", "CategoryMapper", [np.array([30, 11, 10])], {**categories, "default_string": "none"})
    _ml(suite, "categorymapper_defaults", "CategoryMapper", [np.array([[5]])], categories)
    _ml(suite, "onehotencoder_text", "OneHotEncoder", [_text("b", "x", "a")], {"cats_strings": ["a", "b"]})
    _ml(suite, "onehotencoder_int64_2d", "OneHotEncoder", [np.array([[1, 3], [2, 9]])], {"cats_int64s": [1, 2, 3]})
    _ml(suite, "onehotencoder_float", "OneHotEncoder", [np.array([2, 1], np.float32)], {"cats_int64s": [1, 2], "zeros": 0})
    _ml(suite, "onehotencoder_int32", "OneHotEncoder", [np.array([2, 7], np.int32)], {"cats_int64s": [7, 2]})
    for keys, values, x, more in (
        ("int64s", "strings", np.array([2, 5, 1]), {"default_string": "other"}),
        ("strings", "int64s", _text("b", "q"), {"default_int64": 99}),
        ("int64s", "floats", np.array([[1, 3]]), {"default_float": -0.5}),
        ("floats", "int64s", np.array([1, 2.5, 7], np.float32), {}),
        ("strings", "strings", _text("a", "zz"), {}),
        ("floats", "floats", np.array([3, 1], np.float32), {}),
        ("strings", "floats", _text("c", "?"), {"default_float": 2.0}),
        ("floats", "strings", np.array([2.5, 0], np.float32), {}),
    ):
        table = {"int64s": [1, 2, 3], "strings": ["a", "b", "c"], "floats": [1.0, 2.5, 3.0]}
        _ml(suite, f"labelencoder_v2_{keys}_{values}", "LabelEncoder", [x], {f"keys_{keys}": table[keys], f"values_{values}": table[values], **more}, version=2)
        _ml(suite, f"labelencoder_v4_{keys}_{values}", "LabelEncoder", [x], {f"keys_{keys}": table[keys], f"values_{values}": table[values], **more}, version=4)
    _ml(
        suite,
        "labelencoder_v2_nan_key",
        "LabelEncoder",
        [np.array([np.nan, 1], np.float32)],
        {"keys_floats": [1.0, float("nan")], "values_strings": ["one", "nan"]},
        version=2,
    )
    _ml(
        suite,
        "labelencoder_v1_to_int",
        "LabelEncoder",
        [_text("b", "x", "a")],
        {"classes_strings": ["a", "b"], "default_int64": -9},
        expected=np.array([1, -9, 0]),
        differs={"reference": "has no first version"},
    )
    _ml(
        suite,
        "labelencoder_v1_to_text",
        "LabelEncoder",
        [np.array([1, 7, 0])],
        {"classes_strings": ["a", "b"], "default_string": "?"},
        expected=_text("b", "?", "a"),
        differs={"reference": "has no first version"},
    )
    doubles = helper.make_tensor("keys_tensor", TensorProto.DOUBLE, [2], [1.25, 2.5])
    shorts = helper.make_tensor("values_tensor", TensorProto.INT16, [2], [7, 8])
    default = helper.make_tensor("default_tensor", TensorProto.INT16, [1], [42])
    _ml(
        suite,
        "labelencoder_v4_tensors",
        "LabelEncoder",
        [np.array([2.5, 0, 1.25])],
        {"keys_tensor": doubles, "values_tensor": shorts, "default_tensor": default},
        version=4,
    )


def columns(suite):
    x = suite.floats(3, 4)
    _ml(suite, "featurevectorizer_two", "FeatureVectorizer", [x, suite.floats(3, 2)], {"inputdimensions": [4, 2]})
    _ml(
        suite,
        "featurevectorizer_types",
        "FeatureVectorizer",
        [suite.integers(0, 9, 2, 1), suite.integers(0, 9, 2, 3)],
        {"inputdimensions": [1, 3]},
        expected=lambda a, b: np.hstack([a, b]).astype(np.float32),
        differs=OWN_TYPE,
    )
    _ml(
        suite,
        "featurevectorizer_cut_and_filled",
        "FeatureVectorizer",
        [x, suite.floats(3, 2)],
        {"inputdimensions": [3, 4]},
        expected=lambda a, b: np.hstack([a[:, :3], b, np.zeros((3, 2), np.float32)]),
    )
    _ml(
        suite,
        "featurevectorizer_vector",
        "FeatureVectorizer",
        [suite.floats(3)],
        {"inputdimensions": [3]},
        expected=lambda a: a[None],
        differs={"reference": "makes a column"},
    )
    holes = np.array([[1, np.nan, 3], [np.nan, 5, 6]], np.float32)
    _ml(suite, "imputer_nan", "Imputer", [holes], {"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": float("nan")})
    _ml(suite, "imputer_single", "Imputer", [np.array([[0, 2], [3, 0]], np.float32)], {"imputed_value_floats": [-1.0], "replaced_value_float": 0.0})
    _ml(suite, "imputer_int64", "Imputer", [np.array([[4, -1], [-1, 5]])], {"imputed_value_int64s": [10, 20], "replaced_value_int64": -1})
    _ml(suite, "arrayfeatureextractor_text", "ArrayFeatureExtractor", [_text("a", "b", "c", "d").reshape(2, 2), np.array([[1, 0, 1]])])
    _ml(suite, "arrayfeatureextractor_vector", "ArrayFeatureExtractor", [suite.floats(5), np.array([4, 0])])
    _ml(suite, "arrayfeatureextractor_3d", "ArrayFeatureExtractor", [suite.integers(0, 99, 2, 3, 4), np.array([3])])
    _ml(suite, "binarizer_int_edge", "Binarizer", [np.array([[-1, 0.5, 0.5001]], np.float32)], {"threshold": 0.5})
    _ml(suite, "scaler", "Scaler", [x], {"offset": [0.5, -1.0, 0.0, 2.0], "scale": [2.0, 0.5, 1.0, -1.0]})
    _ml(suite, "scaler_single", "Scaler", [x], {"offset": [0.5], "scale": [3.0]})
    _ml(suite, "scaler_int64", "Scaler", [suite.integers(0, 9, 2, 2)], {"offset": [1.0, 2.0], "scale": [0.5, 0.25]}, differs=OWN_TYPE)
    _ml(suite, "scaler_int32_single", "Scaler", [suite.integers(0, 9, 2, 2, dtype=np.int32)], {"offset": [1.0], "scale": [0.5]}, differs=OWN_TYPE)
    for norm in ("MAX", "L1", "L2"):
        y = suite.floats(3, 4)
        y[1] = 0
        notes = {"reference": "divides by zero"} if norm == "MAX" else None
        _ml(suite, f"normalizer_{norm.lower()}", "Normalizer", [y], {"norm": norm}, differs=notes)
        _ml(suite, f"normalizer_{norm.lower()}_vector", "Normalizer", [suite.floats(5)], {"norm": norm})
    _ml(suite, "normalizer_int64", "Normalizer", [np.array([[3, 4], [-6, 8]])], {"norm": "L2"})


def linear(suite):
    x = suite.floats(4, 3)
    w, b = suite.floats(6).tolist(), suite.floats(2).tolist()
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
        small = [v * 0.05 for v in w] if post == "PROBIT" else w
        middle = [0.4, 0.6] if post == "PROBIT" else b
        _ml(
            suite,
            f"linearregressor_{post.lower()}",
            "LinearRegressor",
            [x],
            {"coefficients": small, "intercepts": middle, "targets": 2, "post_transform": post},
            differs={"reference": "has no transform"} if post not in ("NONE",) else None,
        )
    _ml(suite, "linearregressor_no_intercept", "LinearRegressor", [x], {"coefficients": w[:3]}, differs={"reference": "wants an intercept"})
    labels = {"classlabels_strings": ["x", "y", "z"]}
    w3, b3 = suite.floats(9).tolist(), suite.floats(3).tolist()
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        _ml(
            suite,
            f"linearclassifier_{post.lower()}",
            "LinearClassifier",
            [x],
            {"coefficients": w3, "intercepts": b3, **labels, "post_transform": post, "multi_class": 0},
            outputs=2,
        )
    _ml(suite, "linearclassifier_int64_labels", "LinearClassifier", [x], {"coefficients": w3, "intercepts": b3, "classlabels_ints": [5, 3, 9]}, outputs=2)
    _ml(
        suite,
        "linearclassifier_binary_one_row",
        "LinearClassifier",
        [x],
        {"coefficients": w[:3], "intercepts": [0.2], "classlabels_ints": [0, 1], "post_transform": "LOGISTIC"},
        outputs=2,
    )
    _ml(
        suite,
        "linearclassifier_double",
        "LinearClassifier",
        [suite.floats(2, 3, dtype=np.float64)],
        {"coefficients": w3, "intercepts": b3, "classlabels_ints": [0, 1, 2]},
        outputs=2,
        differs=OWN_TYPE,
    )
    _ml(
        suite,
        "linearclassifier_int64_input",
        "LinearClassifier",
        [suite.integers(-3, 4, 3, 3)],
        {"coefficients": w3, "intercepts": b3, "classlabels_ints": [0, 1, 2]},
        outputs=2,
    )


def svm(suite):
    x = suite.floats(4, 3)
    vectors = suite.floats(5, 3).ravel().tolist()
    for kernel, gamma, coef0, degree in (("LINEAR", 0.0, 0.0, 0.0), ("POLY", 0.5, 1.0, 3.0), ("RBF", 0.4, 0.0, 0.0), ("SIGMOID", 0.2, 0.1, 0.0)):
        common = {"kernel_type": kernel, "kernel_params": [gamma, coef0, degree]}
        _ml(
            suite,
            f"svmregressor_{kernel.lower()}",
            "SVMRegressor",
            [x],
            {**common, "support_vectors": vectors, "n_supports": 5, "coefficients": suite.floats(5).tolist(), "rho": [0.3]},
        )
        _ml(
            suite,
            f"svmclassifier_{kernel.lower()}_three",
            "SVMClassifier",
            [x],
            {
                **common,
                "support_vectors": vectors,
                "vectors_per_class": [2, 1, 2],
                "coefficients": suite.floats(10).tolist(),
                "rho": [0.1, -0.2, 0.3],
                "classlabels_ints": [1, 5, 7],
            },
            outputs=2,
        )
        _ml(
            suite,
            f"svmclassifier_{kernel.lower()}_probabilities",
            "SVMClassifier",
            [x],
            {
                **common,
                "support_vectors": vectors,
                "vectors_per_class": [2, 1, 2],
                "coefficients": suite.floats(10).tolist(),
                "rho": [0.1, -0.2, 0.3],
                "prob_a": [-1.0, -0.8, -1.2],
                "prob_b": [0.1, 0.0, -0.1],
                "classlabels_strings": ["a", "b", "c"],
            },
            outputs=2,
            differs={"reference": "does not follow libsvm, ONNX Runtime and scikit-learn do"},
        )
    _ml(
        suite,
        "svmregressor_one_class",
        "SVMRegressor",
        [x],
        {
            "kernel_type": "RBF",
            "kernel_params": [0.4, 0.0, 0.0],
            "support_vectors": vectors,
            "n_supports": 5,
            "coefficients": suite.floats(5).tolist(),
            "rho": [0.1],
            "one_class": 1,
        },
    )
    _ml(suite, "svmregressor_no_supports", "SVMRegressor", [x], {"coefficients": suite.floats(3).tolist(), "rho": [0.5], "n_supports": 0})
    binary = {
        "kernel_type": "RBF",
        "kernel_params": [0.4, 0.0, 0.0],
        "support_vectors": vectors,
        "vectors_per_class": [3, 2],
        "coefficients": suite.floats(5).tolist(),
        "rho": [0.1],
    }
    _ml(suite, "svmclassifier_binary", "SVMClassifier", [x], {**binary, "classlabels_strings": ["no", "yes"]}, outputs=2)
    _ml(suite, "svmclassifier_binary_probabilities", "SVMClassifier", [x], {**binary, "classlabels_ints": [0, 1], "prob_a": [-1.1], "prob_b": [0.2]}, outputs=2)
    _ml(
        suite,
        "svmclassifier_linear_model",
        "SVMClassifier",
        [x],
        {"coefficients": suite.floats(9).tolist(), "rho": [0.1, 0.2, 0.3], "classlabels_ints": [0, 1, 2], "kernel_type": "LINEAR"},
        outputs=2,
    )


def _tree_nodes(modes=("BRANCH_LEQ",)):
    """Two trees over three features: one of depth 2, one of depth 1."""
    mode = [modes[i % len(modes)] for i in range(3)]
    return {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
        "nodes_values": [0.1, -0.3, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0],
        "nodes_modes": [mode[0], mode[1], "LEAF", "LEAF", "LEAF", mode[2], "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
    }


LEAVES = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2]}


def trees(suite):
    x = np.concatenate([suite.floats(5, 3), np.array([[0.1, -0.3, 0.2], [np.nan, 0, np.nan]], np.float32)])
    weights = suite.floats(5).tolist()
    target = {
        "target_treeids": LEAVES["treeids"],
        "target_nodeids": LEAVES["nodeids"],
        "target_ids": [0, 0, 1, 1, 0],
        "target_weights": weights,
        "n_targets": 2,
    }
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        _ml(suite, f"treeensembleregressor_{mode.lower()}", "TreeEnsembleRegressor", [x], {**_tree_nodes((mode,)), **target})
    _ml(suite, "treeensembleregressor_mixed_modes", "TreeEnsembleRegressor", [x], {**_tree_nodes(("BRANCH_LT", "BRANCH_EQ", "BRANCH_GTE")), **target})
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        _ml(
            suite,
            f"treeensembleregressor_{aggregate.lower()}",
            "TreeEnsembleRegressor",
            [x],
            {**_tree_nodes(), **target, "aggregate_function": aggregate, "base_values": [0.5, -1.0]},
        )
    for post in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        _ml(suite, f"treeensembleregressor_{post.lower()}", "TreeEnsembleRegressor", [x], {**_tree_nodes(), **target, "post_transform": post})
    _ml(
        suite,
        "treeensembleregressor_missing_true",
        "TreeEnsembleRegressor",
        [x],
        {**_tree_nodes(), **target, "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 1, 0, 0]},
    )
    _ml(
        suite,
        "treeensembleregressor_v3_double",
        "TreeEnsembleRegressor",
        [x.astype(np.float64)],
        {k: v for k, v in {**_tree_nodes(), **target}.items() if k not in ("nodes_values", "target_weights")}
        | {
            "nodes_values_as_tensor": helper.make_tensor("v", TensorProto.DOUBLE, [8], [0.1, -0.3, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0]),
            "target_weights_as_tensor": helper.make_tensor("w", TensorProto.DOUBLE, [5], weights),
        },
        version=3,
    )
    _ml(
        suite,
        "treeensembleregressor_int64_input",
        "TreeEnsembleRegressor",
        [suite.integers(-2, 3, 4, 3)],
        {**_tree_nodes(), **target},
        expected=lambda x: suite.answer("TreeEnsembleRegressor", [x.astype(np.float32)], {**_tree_nodes(), **target}, OPSET, domain=ML),
        differs=OWN_TYPE,
    )
    classes = {"class_treeids": LEAVES["treeids"], "class_nodeids": LEAVES["nodeids"], "class_ids": [0, 1, 2, 1, 0], "class_weights": [abs(w) for w in weights]}
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        _ml(
            suite,
            f"treeensembleclassifier_{post.lower()}",
            "TreeEnsembleClassifier",
            [x],
            {**_tree_nodes(), **classes, "classlabels_strings": ["a", "b", "c"], "post_transform": post},
            outputs=2,
        )
    _ml(
        suite,
        "treeensembleclassifier_base_values",
        "TreeEnsembleClassifier",
        [x],
        {**_tree_nodes(), **classes, "classlabels_int64s": [3, 1, 2], "base_values": [0.1, 0.4, -0.2]},
        outputs=2,
    )
    binary = {**classes, "class_ids": [0] * 5}
    for name, base in (("", None), ("_base", [0.3])):
        for post in ("NONE", "LOGISTIC"):
            _ml(
                suite,
                f"treeensembleclassifier_binary_{post.lower()}{name}",
                "TreeEnsembleClassifier",
                [x],
                {**_tree_nodes(), **binary, "classlabels_int64s": [0, 1], "post_transform": post, **({"base_values": base} if base else {})},
                outputs=2,
            )
    _ml(
        suite,
        "treeensembleclassifier_binary_signed",
        "TreeEnsembleClassifier",
        [x],
        {**_tree_nodes(), **binary, "class_weights": weights, "classlabels_strings": ["no", "yes"]},
        outputs=2,
    )


GROUPS = [maps, encoders, columns, linear, svm, trees]
