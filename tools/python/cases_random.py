"""Operators that draw at random: only shape, type and range of their outputs can be compared.

Their tolerance in cases.tsv is '-'; the stored values are one draw. What is determined (a seed of a deterministic
edge, a ratio of zero, a probability of one) is an ordinary case.
"""

import numpy as np
from onnx import TensorProto


def generators(suite):
    for opset in (1, 22):
        suite.case(f"randomnormal_v{opset}", "RandomNormal", [], {"shape": [20, 5], "mean": 3.0, "scale": 0.5, "seed": 7.0}, opset=opset, random=True)
        suite.case(f"randomuniform_v{opset}", "RandomUniform", [], {"shape": [20, 5], "low": -2.0, "high": 3.0, "seed": 7.0}, opset=opset, random=True)
        x = suite.floats(4, 6)
        suite.case(f"randomnormallike_v{opset}", "RandomNormalLike", [x], {"seed": 1.0}, opset=opset, random=True)
        suite.case(f"randomuniformlike_v{opset}", "RandomUniformLike", [x], {"low": 5.0, "high": 6.0, "seed": 3.0}, opset=opset, random=True)
    suite.case("randomnormal_double", "RandomNormal", [], {"shape": [3, 0], "dtype": TensorProto.DOUBLE}, opset=1, expected=np.zeros((3, 0), np.float64))
    suite.case("randomuniform_double", "RandomUniform", [], {"shape": [8], "dtype": TensorProto.DOUBLE, "seed": 4.0}, opset=22, random=True)
    suite.case("randomnormallike_dtype", "RandomNormalLike", [suite.integers(0, 5, 2, 3)], {"dtype": TensorProto.FLOAT, "seed": 5.0}, opset=1, random=True)
    suite.case("randomuniform_no_width", "RandomUniform", [], {"shape": [2, 3], "low": 1.5, "high": 1.5}, opset=1, expected=np.full((2, 3), 1.5, np.float32))
    logits = suite.floats(3, 5)
    for opset in (7, 22):
        suite.case(
            f"multinomial_v{opset}",
            "Multinomial",
            [logits],
            {"sample_size": 8, "seed": 2.0},
            opset=opset,
            random=True,
            expected=np.tile(np.arange(8, dtype=np.int32) % 5, (3, 1)),
        )
    suite.case("multinomial_int64", "Multinomial", [logits], {"sample_size": 4, "seed": 6.0, "dtype": TensorProto.INT64}, opset=7, random=True)
    certain = np.full((2, 4), -1e4, np.float32)
    certain[0, 2] = certain[1, 0] = 0
    suite.case("multinomial_certain", "Multinomial", [certain], {"sample_size": 3}, opset=7, expected=np.array([[2] * 3, [0] * 3], np.int32))
    suite.case(
        "bernoulli_certain",
        "Bernoulli",
        [np.array([0, 1, 1, 0], np.float32)],
        {"dtype": TensorProto.BOOL},
        opset=15,
        expected=np.array([False, True, True, False]),
        differs={"onnxruntime": "draws the complement"},
    )
    x = suite.floats(4, 5)
    suite.case(
        "dropout_training_ratio_0", "Dropout", [x, np.float32(0), np.array(True)], opset=13, outputs=2, expected=lambda x, *_: [x, np.ones(x.shape, bool)]
    )
    suite.case(
        "dropout_inference_mask", "Dropout", [x, np.float32(0.7), np.array(False)], opset=13, outputs=2, expected=lambda x, *_: [x, np.ones(x.shape, bool)]
    )


GROUPS = [generators]
