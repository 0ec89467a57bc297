"""com.microsoft operators on 8-bit numbers and on weights in blocks of few bits."""

import numpy as np

from cases_contrib import microsoft


def _quantised(suite, *shape, dtype=np.uint8):
    low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
    return suite.integers(low, high, *shape, dtype=dtype)


def _dynamic_quantize_matmul(a, b, scale, zero, bias):
    """Quantises a to uint8 over its own range, zero included, and multiplies exactly."""
    low, high = min(a.min(), 0), max(a.max(), 0)
    step = np.float32((high - low) / np.float32(255))
    origin = np.clip(np.rint(-low / step), 0, 255)
    quantised = np.clip(np.rint(a / step) + origin, 0, 255) - origin
    product = quantised @ (b.astype(np.float64) - zero.astype(np.float64)) * step * scale
    return (product + (0 if bias is None else bias)).astype(np.float32)


def quantised(suite):
    f = np.float32
    for dtype, zero in ((np.uint8, 120), (np.int8, -7)):
        name, x, y = np.dtype(dtype).name, _quantised(suite, 2, 3, 4, dtype=dtype), _quantised(suite, 4, dtype=dtype)
        z = dtype(zero)
        for op in ("QLinearAdd", "QLinearMul"):
            microsoft(suite, f"{op.lower()}_{name}", op, [x, f(0.02), z, y, f(0.03), dtype(3), f(0.0731), dtype(11)])
        microsoft(
            suite, f"qlinearsigmoid_{name}", "QLinearSigmoid", [x, f(0.05), z, f(1 / 256), dtype(0 if dtype == np.uint8 else -128)], constants=(1, 2, 3, 4)
        )
        microsoft(suite, f"qlinearleakyrelu_{name}", "QLinearLeakyRelu", [x, f(0.05), z, f(0.04), dtype(9)], {"alpha": 0.2}, constants=(1, 2, 3, 4))
        microsoft(
            suite,
            f"qlinearsoftmax_{name}",
            "QLinearSoftmax",
            [x, f(0.05), z, f(1 / 256), dtype(0 if dtype == np.uint8 else -128)],
            {"axis": -1, "opset": 13},
            constants=(1, 2, 3, 4),
        )
        microsoft(
            suite, f"qlinearconcat_{name}", "QLinearConcat", [f(0.05), z, x, f(0.04), dtype(5), x[:, :1], f(0.05), z], {"axis": 1}, constants=(0, 1, 3, 4, 6, 7)
        )
        image = _quantised(suite, 1, 2, 5, 5, dtype=dtype)
        microsoft(
            suite,
            f"qlinearaveragepool_{name}",
            "QLinearAveragePool",
            [image, f(0.05), z, f(0.043), dtype(5)],
            {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 1]},
        )
        microsoft(suite, f"qlinearglobalaveragepool_{name}", "QLinearGlobalAveragePool", [image, f(0.05), z, f(0.04), dtype(5)])
        microsoft(
            suite,
            f"qlinearglobalaveragepool_last_{name}",
            "QLinearGlobalAveragePool",
            [image.transpose(0, 2, 3, 1).copy(), f(0.05), z, f(0.04), dtype(5)],
            {"channels_last": 1},
        )
        microsoft(
            suite,
            f"qlinearwhere_{name}",
            "QLinearWhere",
            [suite.bools(2, 3, 4), x, f(0.02), z, y, f(0.03), dtype(3), f(0.025), dtype(11)],
            constants=(2, 3, 5, 6, 7, 8),
        )
    a = suite.floats(3, 8)
    for dtype in (np.uint8, np.int8):
        # Signed weights of 7 bits: on some processors ONNX Runtime's pairs of products saturate at 16 bits.
        b = _quantised(suite, 8, 5) if dtype == np.uint8 else suite.integers(-64, 64, 8, 5, dtype=dtype)
        name = np.dtype(dtype).name
        for form, scale, zero, bias in (
            ("", f(0.02), dtype(3), suite.floats(5)),
            ("per_column_", suite.uniform(0.01, 0.03, 5), suite.integers(0, 9, 5, dtype=dtype), None),
        ):
            stored = [b, scale, zero, bias]
            microsoft(
                suite,
                f"dynamicquantizematmul_{form}{name}",
                "DynamicQuantizeMatMul",
                [a, *[v for v in stored if v is not None]],
                constants=range(1, 5 if bias is not None else 4),
                atol=1e-3,
                expected=lambda a, stored=stored: _dynamic_quantize_matmul(a, *stored),
            )
        qa = _quantised(suite, 3, 8, dtype=np.uint8)
        microsoft(
            suite,
            f"matmulintegertofloat_{name}",
            "MatMulIntegerToFloat",
            [qa, b, f(0.03), f(0.02), np.uint8(128), dtype(3), suite.floats(5)],
            constants=(1, 3, 5),
            atol=1e-3,
        )
        microsoft(
            suite,
            f"matmulintegertofloat_per_column_{name}",
            "MatMulIntegerToFloat",
            [qa, b, f(0.03), suite.uniform(0.01, 0.03, 5)],
            constants=(1, 3),
            atol=1e-3,
        )
        microsoft(
            suite,
            f"qgemm_{name}",
            "QGemm",
            [qa, f(0.03), np.uint8(120), b.T.copy(), f(0.02), dtype(4), suite.integers(-200, 200, 5, dtype=np.int32), f(0.1), np.uint8(100)],
            {"transB": 1},
            constants=(3, 4, 5),
        )
        microsoft(
            suite,
            f"qgemm_float_out_{name}",
            "QGemm",
            [qa, f(0.03), np.uint8(120), b, suite.uniform(0.01, 0.03, 5), suite.integers(0, 5, 5, dtype=dtype)],
            {"alpha": 0.5},
            constants=(3, 4, 5),
            atol=1e-3,
        )
    hidden, size = 6, 4
    for direction in ("forward", "bidirectional"):
        d = 2 if direction == "bidirectional" else 1
        microsoft(
            suite,
            f"dynamicquantizelstm_{direction}",
            "DynamicQuantizeLSTM",
            [
                suite.floats(5, 2, size),
                suite.integers(-64, 64, d, size, 4 * hidden, dtype=np.int8),
                suite.integers(-64, 64, d, hidden, 4 * hidden, dtype=np.int8),
                suite.floats(d, 8 * hidden, scale=0.3),
                None,
                None,
                None,
                None,
                np.full(d, 0.008, f),
                np.zeros(d, np.int8),
                np.full(d, 0.006, f),
                np.zeros(d, np.int8),
            ],
            {"hidden_size": hidden, "direction": direction},
            outputs=3,
            constants=(1, 2, 3, 8, 9, 10, 11),
            atol=0.02,
        )
    weight = _quantised(suite, 8, 24)
    for name, mask in (("", None), ("_lengths", np.array([3, 2], np.int32)), ("_mask", np.array([[1, 1, 0], [1, 1, 1]], np.int32))):
        microsoft(
            suite,
            f"qattention{name}",
            "QAttention",
            [_quantised(suite, 2, 3, 8), weight, suite.floats(24), f(0.02), f(0.01), mask, np.uint8(128), np.uint8(120)],
            {"num_heads": 2},
            constants=(1, 2, 3, 4, 6, 7),
            atol=0.02,
        )
    microsoft(
        suite,
        "qattention_unidirectional",
        "QAttention",
        [_quantised(suite, 2, 3, 8), weight, suite.floats(24), f(0.02), f(0.01), None, np.uint8(128), np.uint8(120)],
        {"num_heads": 2, "unidirectional": 1},
        constants=(1, 2, 3, 4, 6, 7),
        atol=0.02,
    )


def blocks(suite):
    """Weights in blocks of few bits."""
    for bits in (2, 4, 8):
        for block, k, n in ((16, 32, 5), (32, 48, 3), (64, 64, 4)):
            groups = -(-k // block)
            packed = suite.integers(0, 256, n, groups, block * bits // 8, dtype=np.uint8)
            scales = suite.uniform(0.01, 0.1, n, groups)
            zero = suite.integers(0, 256, n, -(-groups * bits // 8), dtype=np.uint8)
            x = suite.floats(2, k)
            common = {"K": k, "N": n, "bits": bits, "block_size": block}
            name = f"matmulnbits_{bits}_{block}_{k}"
            microsoft(suite, name, "MatMulNBits", [x, packed, scales], common, constants=(1, 2), atol=0.02)
            microsoft(suite, name + "_zero_points", "MatMulNBits", [x, packed, scales, zero], common, constants=(1, 2, 3), atol=0.02)
    packed, scales = suite.integers(0, 256, 5, 2, 8, dtype=np.uint8), suite.uniform(0.01, 0.1, 5, 2)
    common = {"K": 32, "N": 5, "bits": 4, "block_size": 16}
    microsoft(
        suite, "matmulnbits_bias", "MatMulNBits", [suite.floats(1, 3, 32), packed, scales, None, None, suite.floats(5)], common, constants=(1, 2, 5), atol=0.02
    )
    microsoft(
        suite,
        "matmulnbits_float_zero_points",
        "MatMulNBits",
        [suite.floats(2, 32), packed, scales, suite.uniform(5, 9, 5, 2)],
        common,
        constants=(1, 2, 3),
        atol=0.02,
    )
    microsoft(
        suite,
        "matmulnbits_group_index",
        "MatMulNBits",
        [suite.floats(2, 32), packed, scales, None, suite.integers(0, 2, 32, dtype=np.int32)],
        common,
        constants=(1, 2, 4),
        atol=0.02,
    )
    for kind in (0, 1):
        k, n, block = 32, 4, 16
        microsoft(
            suite,
            f"matmulbnb4_{'nf4' if kind else 'fp4'}",
            "MatMulBnb4",
            [suite.floats(2, k), suite.integers(0, 256, k * n // 2, dtype=np.uint8), suite.uniform(0.5, 2, k * n // block)],
            {"K": k, "N": n, "block_size": block, "quant_type": kind},
            constants=(1, 2),
            atol=0.01,
        )
    for bits in (4, 8):
        data = suite.integers(0, 256, 6, 32 * bits // 8, dtype=np.uint8)
        microsoft(
            suite,
            f"gatherblockquantized_{bits}",
            "GatherBlockQuantized",
            [data, np.array([[5, 0], [2, -1]]), suite.uniform(0.01, 0.1, 6, 2)],
            {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
            constants=(0, 2),
        )
        microsoft(
            suite,
            f"gatherblockquantized_{bits}_zero_points",
            "GatherBlockQuantized",
            [data, np.array([3, 1]), suite.uniform(0.01, 0.1, 6, 2), suite.integers(0, 256, 6, 2 * bits // 8, dtype=np.uint8)],
            {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
            constants=(0, 2, 3),
        )


GROUPS = [quantised, blocks]
