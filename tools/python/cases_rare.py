"""Rare com.microsoft operators in all their options: distances, hashes, n-grams, words, crops, masked pooling, quantised LSTM,
alignment, caches with room."""

import numpy as np

from cases_contrib import microsoft
from cases_core import MS


def distances(suite):
    a, b = suite.floats(3, 5), suite.floats(2, 5)
    formulas = {
        "sqeuclidean": lambda x, y: ((x - y) ** 2).sum(),
        "euclidean": lambda x, y: np.sqrt(((x - y) ** 2).sum()),
        "cityblock": lambda x, y: np.abs(x - y).sum(),
        "chebyshev": lambda x, y: np.abs(x - y).max(),
        "canberra": lambda x, y: (np.abs(x - y) / (np.abs(x) + np.abs(y))).sum(),
        "braycurtis": lambda x, y: np.abs(x - y).sum() / np.abs(x + y).sum(),
        "cosine": lambda x, y: 1 - (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()),
    }
    for metric, formula in formulas.items():
        for dtype in (np.float32, np.float64):
            name = f"cdist_{metric}_{np.dtype(dtype).name}"
            x, y = a.astype(dtype), b.astype(dtype)
            microsoft(suite, name, "CDist", [x, y], {"metric": metric}, expected=_all_pairs(formula, x, y), atol=1e-4)
    microsoft(suite, "cdist_empty", "CDist", [np.zeros((0, 4), np.float32), suite.floats(2, 4)], expected=np.zeros((0, 2), np.float32))


def _all_pairs(formula, a, b):
    return np.array([[formula(x.astype(np.float64), y.astype(np.float64)) for y in b] for x in a], a.dtype)


def hashes(suite):
    for dtype in (np.uint32, np.int64, np.uint64, np.float32, np.float64):
        microsoft(suite, f"murmurhash3_{np.dtype(dtype).name}", "MurmurHash3", [np.array([[0, 1, 7], [123, 2, 99]], dtype)], {"seed": 3})
    words = np.array(["", "a", "ab", "abc", "abcd", "abcde", "größer", "a longer text of many words"], object)
    microsoft(suite, "murmurhash3_text_seed", "MurmurHash3", [words], {"seed": 42, "positive": 1})


def words(suite):
    tokens = np.array([[1, 2, 1, 2, 1], [3, 3, 3, 3, 3], [0, 1, 2, 3, 4]])
    for size in (1, 2, 3, 5, 6):
        microsoft(suite, f"ngramrepeatblock_{size}", "NGramRepeatBlock", [tokens, suite.floats(3, 6)], {"ngram_size": size})
    weights, bias, characters = suite.floats(4, 1, 3, 2), suite.floats(4), suite.floats(6, 2)
    text = np.array([[1, 2, 3, 4, 5], [1, 2, 0, 0, 0], [5, 0, 0, 0, 0], [1, 2, 3, 0, 4]], np.int32)
    microsoft(suite, "wordconvembedding_short_words", "WordConvEmbedding", [text, weights, bias, characters])


def images(suite):
    x = suite.floats(2, 3, 5, 6)
    boxes = np.array([[0, 0, 1, 1], [-0.2, 0.1, 1.3, 0.9], [0.8, 0.9, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5]], np.float32)
    which = np.array([0, 1, 1, 0], np.int32)
    for mode in ("bilinear", "nearest"):
        for size in ((4, 3), (1, 1), (1, 5)):
            microsoft(
                suite,
                f"cropandresize_{mode}_{size[0]}x{size[1]}",
                "CropAndResize",
                [x, boxes, which, np.array(size, np.int32)],
                {"mode": mode, "extrapolation_value": -3.0},
            )
    for name, shape, options in (
        ("1d", (2, 2, 7), {"kernel_shape": [3], "pads": [1, 1]}),
        ("2d", (2, 3, 5, 6), {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 1, 0, 1]}),
        ("3d", (1, 2, 3, 4, 4), {"kernel_shape": [2, 2, 2], "strides": [1, 2, 2]}),
    ):
        mask = (suite.rng.random((1, 1, *shape[2:])) < 0.7).astype(np.int32)
        microsoft(suite, f"maxpoolwithmask_{name}", "MaxpoolWithMask", [suite.floats(*shape), mask], options)
    w = suite.floats(4, 3, 3, 2)
    pads = np.array([1, 0, 2, 1])
    for name, inputs, options in (
        ("bias_group", [suite.floats(2, 4, 4, 3), w, pads, suite.floats(6)], {"strides": [2, 2], "group": 2}),
        ("dilated", [suite.floats(1, 4, 4, 3), w, pads * 0, suite.floats(3)], {"dilations": [1, 2]}),
        ("output_padding", [suite.floats(1, 4, 4, 3), w, pads], {"strides": [3, 3], "output_padding": [1, 2]}),
    ):
        microsoft(suite, f"convtransposewithdynamicpads_{name}", "ConvTransposeWithDynamicPads", inputs, options, atol=1e-4)


def quantised_lstm(suite):
    size, hidden, steps, batch = 3, 4, 5, 2
    for name, dtype, direction, per_column, more in (
        ("per_column", np.int8, "forward", True, {}),
        ("bytes_reverse", np.uint8, "reverse", False, {"clip": 0.9}),
        ("per_column_bidirectional", np.uint8, "bidirectional", True, {"activations": ["Sigmoid", "Tanh", "Relu"] * 2}),
    ):
        d = 2 if direction == "bidirectional" else 1
        low, high = (0, 256) if dtype == np.uint8 else (-64, 64)
        numbers = (d, 4 * hidden) if per_column else (d,)
        zero = np.full(numbers, 121 if dtype == np.uint8 else 0, dtype)
        inputs = [
            suite.floats(steps, batch, size),
            suite.integers(low, high, d, size, 4 * hidden, dtype=dtype),
            suite.integers(low, high, d, hidden, 4 * hidden, dtype=dtype),
            suite.floats(d, 8 * hidden, scale=0.3),
            np.array([5, 3], np.int32),
            suite.floats(d, batch, hidden, scale=0.5),
            suite.floats(d, batch, hidden, scale=0.5),
            suite.floats(d, 3 * hidden, scale=0.3),
            suite.uniform(0.004, 0.009, *numbers),
            zero,
            suite.uniform(0.004, 0.009, *numbers),
            zero,
        ]
        options = {"hidden_size": hidden, "direction": direction, **more}
        for form, constants in (("", (1, 2, 3, 8, 9, 10, 11)), ("_fed", (8, 9, 10, 11))):
            microsoft(suite, f"dynamicquantizelstm_{name}{form}", "DynamicQuantizeLSTM", inputs, options, outputs=3, constants=constants, atol=1e-3)


def alignment(suite):
    for rows, columns in ((4, 6), (6, 4), (1, 3), (3, 1)):
        microsoft(suite, f"dynamictimewarping_{rows}x{columns}", "DynamicTimeWarping", [suite.floats(rows, columns)])
    microsoft(suite, "dynamictimewarping_ties", "DynamicTimeWarping", [suite.integers(0, 2, 1, 5, 7).astype(np.float32)])
    x = suite.floats(3, 7, 2)
    for name, options in (("last", {"size": 2}), ("middle", {"dim": 1, "size": 3, "step": 2}), ("first", {"dim": -3, "size": 3})):
        microsoft(suite, f"unfoldtensor_{name}", "UnfoldTensor", [x], options)
    microsoft(suite, "unfoldtensor_text", "UnfoldTensor", [np.array(["a", "b", "c", "d"], object)], {"size": 2, "step": 2}, expected=lambda x: x.reshape(2, 2))
    microsoft(suite, "gathernd", "GatherND", [x, np.array([[0, 6], [2, 3]], np.int32)])
    microsoft(suite, "gathernd_elements", "GatherND", [x, np.array([[[0, 6, 1]], [[2, 3, 0]]])])


def caches(suite):
    """Attention over a cache with room to spare."""
    batch, heads, size, room = 2, 3, 4, 8
    past = [suite.floats(batch, heads, room, size), suite.floats(batch, heads, room, size)]
    for used, fresh in ((0, 1), (3, 1), (7, 1), (2, 3)):
        q, k, v = (suite.floats(batch, fresh, heads * size) for _ in range(3))
        length = np.array([used], np.int32)
        name = f"{used}_and_{fresh}"
        microsoft(suite, f"multiheadattention_cache_{name}", "MultiHeadAttention", [q, k, v, None, None, None, *past, length], {"num_heads": heads}, outputs=3)
        if fresh == 1:
            microsoft(
                suite,
                f"decodermaskedmultiheadattention_{name}",
                "DecoderMaskedMultiHeadAttention",
                [q, k, v, None, None, *past, length],
                {"num_heads": heads, "past_present_share_buffer": 1},
                outputs=3,
            )
    q = suite.floats(batch, 1, heads * size)
    mask = np.array([[1] * 8, [1] * 5 + [0] * 3], np.int32)
    microsoft(suite, "decodermaskedmultiheadattention_cross", "DecoderMaskedMultiHeadAttention", [q, *past], {"num_heads": heads})
    microsoft(suite, "decodermaskedmultiheadattention_cross_mask", "DecoderMaskedMultiHeadAttention", [q, *past, mask], {"num_heads": heads})
    k, v, bias = suite.floats(batch, 1, heads * size), suite.floats(batch, 1, heads * size), suite.floats(3 * heads * size)
    microsoft(
        suite,
        "decodermaskedmultiheadattention_bias",
        "DecoderMaskedMultiHeadAttention",
        [q, k, v, None, suite.floats(1, heads, 1, 4), *past, np.array([3], np.int32), None, None, bias],
        {"num_heads": heads, "past_present_share_buffer": 1, "scale": 0.3},
        outputs=3,
    )
    options, rest = {"num_heads": heads, "past_present_share_buffer": 1}, [None, None, *past, np.array([3], np.int32)]
    microsoft(
        suite,
        "decodermaskedmultiheadattention_packed",
        "DecoderMaskedMultiHeadAttention",
        [np.concatenate([q, k, v], -1), None, None, *rest],
        options,
        outputs=3,
        expected=suite.answer("DecoderMaskedMultiHeadAttention", [q, k, v, *rest], options, 17, 3, MS),
    )


GROUPS = [distances, hashes, words, images, quantised_lstm, alignment, caches]
