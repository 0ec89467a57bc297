"""Neural-network operators off the beaten track: pools of every kind and rank, convolutions with uneven pads, dilation, groups
and automatic padding, region pooling, deformable sampling, resizing, normalisations.
"""

import numpy as np


def _lp(x, p, axes):
    return (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)


def global_pools(suite):
    for rank in (3, 4, 5):
        x = suite.floats(2, 3, *[4, 3, 2][: rank - 2])
        axes = tuple(range(2, rank))
        for opset, p in ((2, 1), (2, 2), (22, 3), (22, 2)):
            suite.case(
                f"globallppool_v{opset}_p{p}_rank_{rank}",
                "GlobalLpPool",
                [x],
                {"p": p},
                opset=opset,
                expected=lambda x, p=p, a=axes: _lp(x, p, a).astype(np.float32),
            )
        suite.case(f"globallppool_v1_rank_{rank}", "GlobalLpPool", [x], {"p": 1.5}, opset=1, expected=lambda x, a=axes: _lp(x, 1.5, a).astype(np.float32))
        suite.case(f"globallppool_default_rank_{rank}", "GlobalLpPool", [x], opset=2, expected=lambda x, a=axes: _lp(x, 2, a).astype(np.float32))
        suite.case(f"globalmaxpool_rank_{rank}", "GlobalMaxPool", [x], opset=22, differs={"reference": "knows two spatial axes only"} if rank != 4 else None)
        suite.case(f"globalaveragepool_rank_{rank}", "GlobalAveragePool", [x], opset=22)
    x = suite.floats(1, 2, 3, 3, dtype=np.float64)
    suite.case("globallppool_double", "GlobalLpPool", [x], opset=22, expected=lambda x: _lp(x, 2, (2, 3)))


def _lp_pool(x, kernel, strides, p):
    rows = (x.shape[2] - kernel[0]) // strides[0] + 1
    columns = (x.shape[3] - kernel[1]) // strides[1] + 1
    result = np.zeros((*x.shape[:2], rows, columns), np.float32)
    for r in range(rows):
        for c in range(columns):
            window = x[:, :, r * strides[0] : r * strides[0] + kernel[0], c * strides[1] : c * strides[1] + kernel[1]]
            result[:, :, r, c] = _lp(window, p, (2, 3))[:, :, 0, 0]
    return result


def pools(suite):
    x = suite.floats(1, 2, 6, 7)
    for opset, p in ((1, 1.5), (2, 3), (11, 1)):
        suite.case(
            f"lppool_v{opset}",
            "LpPool",
            [x],
            {"kernel_shape": [3, 2], "strides": [2, 1], "p": p},
            opset=opset,
            expected=lambda x, p=p: _lp_pool(x, (3, 2), (2, 1), p),
        )
    suite.case(
        "lppool_v18_dilated_ceil",
        "LpPool",
        [x],
        {"kernel_shape": [2, 2], "strides": [2, 2], "dilations": [2, 1], "ceil_mode": 1, "p": 2},
        opset=18,
        differs={"reference": "scales windows that are cut"},
    )
    suite.case("lppool_v22_same_lower", "LpPool", [x], {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"}, opset=22)
    options = {
        "ceil": {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        "uneven_pads": {"kernel_shape": [3, 2], "strides": [1, 2], "pads": [2, 0, 1, 1]},
        "same_upper": {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_UPPER"},
        "same_lower": {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"},
        "valid": {"kernel_shape": [4, 4], "strides": [2, 2], "auto_pad": "VALID"},
        "dilated": {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 1, 1]},
    }
    for name, attributes in options.items():
        suite.case(f"maxpool_{name}", "MaxPool", [x], attributes, opset=12, differs={"reference": "has another shape"} if name == "same_lower" else None)
        for include in (0, 1):
            if name in ("valid", "same_upper") and include:
                continue
            suite.case(f"averagepool_{name}_include_{include}", "AveragePool", [x], {**attributes, "count_include_pad": include}, opset=22)
    suite.case("maxpool_v11_indices", "MaxPool", [x], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11, outputs=2)
    suite.case(
        "maxpool_indices_column_major",
        "MaxPool",
        [suite.floats(2, 2, 4, 5)],
        {"kernel_shape": [2, 3], "strides": [1, 2], "storage_order": 1},
        opset=12,
        outputs=2,
    )
    suite.case("maxpool_1d_indices_padded", "MaxPool", [suite.floats(1, 2, 9)], {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}, opset=12, outputs=2)
    suite.case("maxpool_3d", "MaxPool", [suite.floats(1, 2, 4, 5, 6)], {"kernel_shape": [2, 3, 2], "strides": [2, 1, 3], "pads": [0, 1, 1, 1, 0, 0]}, opset=12)
    suite.case(
        "averagepool_3d", "AveragePool", [suite.floats(1, 2, 4, 5, 6)], {"kernel_shape": [2, 3, 2], "strides": [2, 1, 3], "pads": [0, 1, 1, 1, 0, 0]}, opset=11
    )
    suite.case("averagepool_1d_ceil", "AveragePool", [suite.floats(1, 2, 8)], {"kernel_shape": [3], "strides": [3], "ceil_mode": 1}, opset=19)
    beyond = {"kernel_shape": [9, 9], "strides": [9, 9], "ceil_mode": 1}
    suite.case(
        "averagepool_window_beyond_the_input_ceil",
        "AveragePool",
        [suite.floats(1, 2, 7, 5)],
        beyond,
        opset=19,
        differs={"reference": "divides by more than lies inside"},
    )
    suite.case("maxpool_int8", "MaxPool", [suite.integers(-128, 127, 1, 2, 5, 5, dtype=np.int8)], {"kernel_shape": [2, 2]}, opset=12)
    pooled = np.array([[[[5, 9], [3, 7]]]], np.float32)
    suite.case("maxunpool_v11", "MaxUnpool", [pooled, np.array([[[[5, 7], [13, 15]]]])], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11)


def _max_roi_pool(x, rois, shape, scale):
    result = np.zeros((len(rois), x.shape[1], *shape), np.float32)
    for n, (batch, x1, y1, x2, y2) in enumerate(rois):
        left, top, right, bottom = (int(np.round(v * scale)) for v in (x1, y1, x2, y2))
        height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for r in range(shape[0]):
            for c in range(shape[1]):
                rows = np.clip([int(np.floor(r * height / shape[0])) + top, int(np.ceil((r + 1) * height / shape[0])) + top], 0, x.shape[2])
                columns = np.clip([int(np.floor(c * width / shape[1])) + left, int(np.ceil((c + 1) * width / shape[1])) + left], 0, x.shape[3])
                window = x[int(batch), :, rows[0] : rows[1], columns[0] : columns[1]]
                result[n, :, r, c] = window.max((1, 2)) if window.size else 0
    return result


def regions(suite):
    x = suite.floats(2, 3, 8, 10)
    rois = np.array([[0, 0, 0, 9, 7], [1, 2, 1, 6, 5], [0, 4, 4, 4, 4], [1, 7, 5, 9, 7]], np.float32)
    for opset, scale in ((1, 1.0), (22, 1.0), (1, 0.5)):
        suite.case(
            f"maxroipool_v{opset}_scale_{int(scale * 10)}",
            "MaxRoiPool",
            [x, rois * np.float32([1] + [1 / scale] * 4)],
            {"pooled_shape": [2, 3], "spatial_scale": scale},
            opset=opset,
            expected=lambda x, rois, s=scale: _max_roi_pool(x, rois, (2, 3), s),
        )
    outside = np.array([[0, -4, -4, 2, 2], [0, 20, 20, 30, 30]], np.float32)
    suite.case(
        "maxroipool_outside", "MaxRoiPool", [x, outside], {"pooled_shape": [2, 2]}, opset=1, expected=lambda x, rois: _max_roi_pool(x, rois, (2, 2), 1.0)
    )
    boxes = np.array([[0, 0, 9, 7], [2.5, 1.25, 6, 5], [4, 4, 4.5, 4.5]], np.float32)
    batch = np.array([0, 1, 0])
    for opset, attributes in (
        (10, {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.5}),
        (10, {"output_height": 2, "output_width": 2}),
        (16, {"output_height": 3, "output_width": 2, "mode": "max", "coordinate_transformation_mode": "output_half_pixel"}),
        (22, {"output_height": 2, "output_width": 2, "sampling_ratio": 3}),
    ):
        mode = attributes.get("mode", "avg")
        differs = {"reference": "shifts by half a pixel"} if opset == 10 else None
        suite.case(
            f"roialign_v{opset}_{mode}_{attributes['output_height']}{attributes.get('sampling_ratio', 0)}",
            "RoiAlign",
            [x, boxes, batch],
            attributes,
            opset=opset,
            differs=differs,
        )
    corners = np.array([[[0, 0, 1, 1], [0.1, 0.1, 1.1, 1.1], [0, 2, 1, 3], [1, 3, 0, 2.05]]], np.float32)
    scores = np.array([[[0.9, 0.8, 0.7, 0.6], [0.2, 0.95, 0.1, 0.5]]], np.float32)
    for opset in (10, 11):
        suite.case(
            f"nonmaxsuppression_v{opset}_two_classes",
            "NonMaxSuppression",
            [corners, scores, np.array([2]), np.array([0.5], np.float32), np.array([0.15], np.float32)],
            opset=opset,
        )
    centres = np.array([[[0.5, 0.5, 1, 1], [0.6, 0.6, 1, 1], [2.5, 0.5, 1, 1], [0.5, 0.5, 1, 1]]], np.float32)
    suite.case(
        "nonmaxsuppression_centres", "NonMaxSuppression", [centres, scores, np.array([4]), np.array([0.4], np.float32)], {"center_point_box": 1}, opset=11
    )
    suite.case("nonmaxsuppression_defaults", "NonMaxSuppression", [corners, scores], opset=11, expected=np.zeros((0, 3), np.int64))


def convolutions(suite):
    x, w, b = suite.floats(2, 4, 7, 6), suite.floats(6, 4, 3, 2), suite.floats(6)
    options = {
        "plain": {},
        "uneven_pads": {"pads": [0, 2, 1, 0]},
        "stride": {"strides": [3, 2], "pads": [1, 1, 1, 1]},
        "dilated": {"dilations": [2, 3], "pads": [2, 1, 2, 2]},
        "same_upper": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        "same_lower": {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        "valid": {"auto_pad": "VALID"},
    }
    for name, attributes in options.items():
        suite.case(f"conv_{name}", "Conv", [x, w, b], attributes, opset=11, constants=(1, 2) if name == "plain" else ())
    suite.case(
        "conv_same_dilated",
        "Conv",
        [x, w, b],
        {"auto_pad": "SAME_UPPER", "dilations": [2, 2]},
        opset=11,
        expected=lambda *a: suite.answer("Conv", a, {"pads": [2, 1, 2, 1], "dilations": [2, 2]}, opset=11),
    )
    suite.case("conv_v1_kernel_shape", "Conv", [x, w], {"kernel_shape": [3, 2]}, opset=1)
    for group, shape in ((2, (6, 2, 3, 3)), (4, (4, 1, 3, 3)), (4, (12, 1, 2, 2))):
        suite.case(f"conv_group_{group}_{shape[0]}", "Conv", [x, suite.floats(*shape)], {"group": group, "pads": [1, 1, 1, 1]}, opset=11)
    suite.case("conv_pointwise", "Conv", [x, suite.floats(5, 4, 1, 1), suite.floats(5)], {"strides": [2, 1]}, opset=11)
    suite.case(
        "conv_depthwise_dilated_stride",
        "Conv",
        [suite.floats(1, 5, 9, 9), suite.floats(5, 1, 3, 3), suite.floats(5)],
        {"group": 5, "dilations": [2, 1], "strides": [2, 2], "pads": [2, 1, 2, 1]},
        opset=11,
    )
    suite.case("conv_1d", "Conv", [suite.floats(2, 3, 11), suite.floats(4, 3, 4)], {"strides": [2], "pads": [2, 1], "dilations": [2]}, opset=11)
    suite.case("conv_1d_depthwise", "Conv", [suite.floats(1, 4, 9), suite.floats(4, 1, 3)], {"group": 4}, opset=11)
    suite.case(
        "conv_3d",
        "Conv",
        [suite.floats(1, 2, 4, 5, 3), suite.floats(3, 2, 2, 3, 2), suite.floats(3)],
        {"strides": [1, 2, 1], "pads": [1, 1, 0, 0, 1, 1]},
        opset=11,
    )
    suite.case("conv_kernel_larger_than_input", "Conv", [suite.floats(1, 1, 2, 2), suite.floats(1, 1, 4, 4)], {"pads": [1, 1, 1, 1]}, opset=11)
    suite.case(
        "qlinearconv_per_channel",
        "QLinearConv",
        [
            suite.integers(0, 256, 1, 2, 4, 4, dtype=np.uint8),
            np.float32(0.02),
            np.uint8(120),
            suite.integers(-128, 128, 3, 2, 3, 3, dtype=np.int8),
            suite.uniform(0.01, 0.03, 3),
            np.zeros(3, np.int8),
            np.float32(0.06),
            np.uint8(100),
            suite.integers(-500, 500, 3, dtype=np.int32),
        ],
        {"pads": [1, 1, 1, 1]},
        opset=10,
    )


def transposed_convolutions(suite):
    x, w = suite.floats(1, 4, 3, 4), suite.floats(4, 3, 3, 2)
    options = {
        "stride": {"strides": [2, 3]},
        "pads": {"strides": [2, 1], "pads": [1, 0, 0, 1]},
        "dilated": {"dilations": [2, 2], "strides": [2, 2]},
        "output_padding": {"strides": [3, 2], "output_padding": [2, 1], "pads": [1, 0, 1, 0]},
        "output_shape": {"strides": [2, 2], "output_shape": [7, 9]},
        "same_upper": {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        "same_lower": {"strides": [1, 2], "auto_pad": "SAME_LOWER"},
    }
    for name, attributes in options.items():
        suite.case(f"convtranspose_{name}", "ConvTranspose", [x, w, suite.floats(3)], attributes, opset=11)
    suite.case("convtranspose_group", "ConvTranspose", [x, suite.floats(4, 2, 2, 2)], {"group": 2, "strides": [2, 2]}, opset=11)
    suite.case("convtranspose_depthwise", "ConvTranspose", [x, suite.floats(4, 1, 3, 3)], {"group": 4, "strides": [2, 2], "pads": [1, 1, 1, 1]}, opset=11)
    suite.case("convtranspose_1d", "ConvTranspose", [suite.floats(2, 3, 5), suite.floats(3, 2, 4)], {"strides": [3], "output_padding": [1]}, opset=11)
    suite.case("convtranspose_3d", "ConvTranspose", [suite.floats(1, 2, 2, 3, 2), suite.floats(2, 2, 2, 2, 3)], {"strides": [2, 1, 2]}, opset=11)


def sampling(suite):
    x = suite.floats(1, 2, 4, 5)
    grid = suite.uniform(-1.3, 1.3, 1, 3, 4, 2)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                suite.case(
                    f"gridsample_v16_{mode}_{padding}_{corners}",
                    "GridSample",
                    [x, grid],
                    {"mode": mode, "padding_mode": padding, "align_corners": corners},
                    opset=16,
                )
    suite.case("gridsample_v20_cubic", "GridSample", [x, grid], {"mode": "cubic"}, opset=20)
    suite.case("gridsample_v20_3d", "GridSample", [suite.floats(1, 1, 3, 3, 3), suite.uniform(-1, 1, 1, 2, 2, 2, 3)], {"mode": "linear"}, opset=20)
    suite.case(
        "deformconv_v19_groups",
        "DeformConv",
        [suite.floats(1, 4, 5, 5), suite.floats(2, 2, 3, 3), suite.floats(1, 36, 3, 3, scale=0.5), suite.floats(2), suite.uniform(0, 1, 1, 18, 3, 3)],
        {"group": 2, "offset_group": 2, "kernel_shape": [3, 3]},
        opset=19,
    )
    suite.case("affinegrid_2d_corners", "AffineGrid", [suite.floats(2, 2, 3), np.array([2, 1, 3, 4])], {"align_corners": 1}, opset=20)
    suite.case("col2im_dilated", "Col2Im", [suite.floats(1, 8, 4), np.array([4, 5]), np.array([2, 2])], {"dilations": [2, 1], "strides": [1, 2]}, opset=18)
    y = suite.floats(1, 2, 4, 6)
    none = None
    for name, inputs, attributes in (
        ("sizes_nearest_ceil", [y, none, none, np.array([1, 2, 7, 4])], {"mode": "nearest", "nearest_mode": "ceil"}),
        ("axes_linear", [y, none, np.array([1.5, 0.5], np.float32)], {"mode": "linear", "axes": [3, 2]}),
        ("keep_aspect_not_larger", [y, none, none, np.array([9, 9])], {"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}),
        ("keep_aspect_not_smaller", [y, none, none, np.array([9, 9])], {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}),
        ("antialias_linear", [y, none, np.array([1, 1, 0.4, 0.6], np.float32)], {"mode": "linear", "antialias": 1}),
        ("antialias_cubic", [y, none, np.array([1, 1, 0.6, 0.5], np.float32)], {"mode": "cubic", "antialias": 1}),
        ("cubic_exclude", [y, none, np.array([1, 1, 1.7, 2], np.float32)], {"mode": "cubic", "exclude_outside": 1}),
        (
            "half_pixel_symmetric",
            [y, none, np.array([1, 1, 1.3, 0.7], np.float32)],
            {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        ),
        (
            "crop",
            [y, np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2], np.float32), none, np.array([1, 2, 3, 5])],
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0},
        ),
        ("uint8", [suite.integers(0, 255, 1, 2, 4, 6, dtype=np.uint8), none, np.array([1, 1, 2, 2], np.float32)], {"mode": "nearest"}),
    ):
        suite.case(f"resize_v19_{name}", "Resize", inputs, attributes, opset=19)
    z = suite.floats(1, 1, 3, 4, 5)
    suite.case("resize_v13_trilinear", "Resize", [z, none, np.array([1, 1, 2, 1.5, 0.8], np.float32)], {"mode": "linear"}, opset=13)
    suite.case("resize_v13_1d_cubic", "Resize", [suite.floats(2, 6), none, np.array([1, 1.5], np.float32)], {"mode": "cubic"}, opset=13)
    for nearest in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        suite.case(
            f"resize_v13_{nearest}",
            "Resize",
            [suite.floats(1, 1, 4, 4), none, np.array([1, 1, 2, 0.5], np.float32)],
            {"mode": "nearest", "nearest_mode": nearest, "coordinate_transformation_mode": "asymmetric"},
            opset=13,
        )


def _channel_sums(x, before, after):
    """Sums over a window of channels, cut at both ends."""
    return np.stack([x[:, max(0, c - before) : c + after + 1].sum(1) for c in range(x.shape[1])], 1)


def normalisations(suite):
    x = suite.floats(2, 6, 3, 4)
    suite.case(
        "lrn_even_size",
        "LRN",
        [x],
        {"size": 4, "alpha": 0.02, "beta": 0.6, "bias": 1.5},
        opset=13,
        expected=lambda x: (x / (1.5 + 0.02 / 4 * _channel_sums(x * x, 1, 2)) ** 0.6).astype(np.float32),
        differs={"reference": "centres the window otherwise"},
    )
    suite.case("lrn_v1_size_1", "LRN", [x], {"size": 1}, opset=1)
    suite.case("instancenormalization_1d", "InstanceNormalization", [suite.floats(2, 3, 5), suite.floats(3), suite.floats(3)], {"epsilon": 0.01}, opset=6)
    suite.case("groupnormalization_v18", "GroupNormalization", [x, suite.floats(3), suite.floats(3)], {"num_groups": 3}, opset=18, atol=1e-4, check=False)
    suite.case("groupnormalization_v21", "GroupNormalization", [x, suite.floats(6), suite.floats(6)], {"num_groups": 2, "epsilon": 0.1}, opset=21, atol=1e-4)
    suite.case("meanvariancenormalization_v9_axes", "MeanVarianceNormalization", [x], {"axes": [1, 3]}, opset=9, atol=1e-4)
    suite.case(
        "batchnormalization_2d_input",
        "BatchNormalization",
        [suite.floats(5, 3), suite.floats(3), suite.floats(3), suite.floats(3), suite.uniform(0.5, 2, 3)],
        opset=15,
        atol=1e-4,
    )
    suite.case("layernormalization_no_bias", "LayerNormalization", [x, suite.floats(4)], {"axis": -1, "epsilon": 0.1}, opset=17, atol=1e-4)
    suite.case(
        "layernormalization_statistics", "LayerNormalization", [x, suite.floats(6, 3, 4), suite.floats(6, 3, 4)], {"axis": 1}, opset=17, outputs=3, atol=1e-4
    )
    suite.case("rmsnormalization", "RMSNormalization", [x, suite.floats(3, 4)], {"axis": -2}, opset=23, atol=1e-4)
    scores, target, weight = suite.floats(3, 4, 2), suite.integers(0, 4, 3, 2), suite.uniform(0.2, 2, 4)
    logs = (scores - np.log(np.exp(scores).sum(1, keepdims=True))).astype(np.float32)
    for reduction in ("none", "sum", "mean"):
        suite.case(
            f"negativeloglikelihoodloss_v12_{reduction}",
            "NegativeLogLikelihoodLoss",
            [logs, target, weight],
            {"reduction": reduction, "ignore_index": 1},
            opset=12,
        )
        suite.case(
            f"softmaxcrossentropyloss_v12_{reduction}",
            "SoftmaxCrossEntropyLoss",
            [scores, target, weight],
            {"reduction": reduction, "ignore_index": -1},
            opset=12,
            outputs=2,
        )


GROUPS = [global_pools, pools, regions, convolutions, transposed_convolutions, sampling, normalisations]
