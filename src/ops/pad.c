/* Pad, CenterCropPad and Crop: a window onto a tensor that may be larger or smaller than it.
 *
 * Each padded axis gets a table that says which input index an output index shows, -1 for the constant: all modes
 * are index maps (move.h). Negative pads crop first; reflecting, repeating or wrapping then sees the cropped tensor.
 */
#include <string.h>

#include "ops/move.h"

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

typedef struct pad_params {
    enum pad_mode mode;
    bool from_attributes;
    float value;
    const int64_t *pads;
    int n_pads;
    ln_axes axes;
} pad_params;

typedef struct pad_local {
    int64_t begin[LN_MAX_RANK];
    int64_t end[LN_MAX_RANK];
    _Alignas(16) unsigned char fill[16];
} pad_local;

/* Setting the window ------------------------------------------------------------------------------------ */

static void no_pads(pad_local *local) {
    memset(local, 0, sizeof(*local));
}

/* Output shape and scratch for the window in local. */
static ln_status infer_window(ln_op *op) {
    const pad_local *local = LN_LOCAL(op, const pad_local);
    const ln_value *input = ln_in(op, 0);
    ln_shape shape = input->shape;
    int64_t indices = 0;
    for (int i = 0; i < shape.rank; i++) {
        const int64_t most = INT64_C(1) << 40;
        LN_OP_CHECK(op,
                    local->begin[i] > -most && local->begin[i] < most && local->end[i] > -most &&
                        local->end[i] < most,
                    LIMIT_EXCEEDED, "axis %d is padded by %lld and %lld", i, (long long)local->begin[i],
                    (long long)local->end[i]);
        shape.dims[i] += local->begin[i] + local->end[i];
        indices += local->begin[i] != 0 || local->end[i] != 0 ? shape.dims[i] : 0;
        LN_OP_CHECK(op, shape.dims[i] <= INT32_MAX && input->shape.dims[i] <= INT32_MAX, LIMIT_EXCEEDED,
                    "axis %d is too long to pad", i);
        LN_OP_CHECK(op, shape.dims[i] >= 0, INVALID_VALUE,
                    "axis %d of length %lld is cropped by %lld and %lld", i, (long long)input->shape.dims[i],
                    (long long)-local->begin[i], (long long)-local->end[i]);
    }
    LN_TRY(ln_op_shape(op, 0, input->dtype, &shape));
    op->scratch_bytes =
        ln_map_scratch_bytes(indices) + ln_unpacked_bytes(input) + ln_unpacked_bytes(ln_out(op, 0));
    return LN_OK;
}

/* Filling the tables ------------------------------------------------------------------------------------ */

/* Position in 0..n-1 that position `at` of an endless line shows. */
static int64_t outside_index(enum pad_mode mode, int64_t at, int64_t n) {
    if (mode == PAD_EDGE || (mode == PAD_REFLECT && n == 1)) {
        return at < 0 ? 0 : at < n ? at : n - 1;
    }
    const int64_t once =
        at < 0 ? -at : 2 * (n - 1) - at; /* most pads reflect once, which needs no division */
    if (mode == PAD_REFLECT && once >= 0 && once < n) {
        return once;
    }
    const int64_t period = mode == PAD_WRAP ? n : 2 * (n - 1);
    const int64_t rest = (at % period + period) % period;
    return rest < n ? rest : period - rest;
}

static ln_status fill_table(ln_op *op, enum pad_mode mode, int axis, int64_t out, int32_t *table) {
    const pad_local *local = LN_LOCAL(op, const pad_local);
    const int64_t begin = local->begin[axis];
    const int64_t dim = ln_in(op, 0)->shape.dims[axis];
    const int64_t low = begin < 0 ? -begin : 0;
    const int64_t high = local->end[axis] < 0 ? dim + local->end[axis] : dim;
    LN_OP_CHECK(op, mode == PAD_CONSTANT || high > low || out == 0, INVALID_SHAPE,
                "axis %d is empty and has nothing to pad with", axis);
    for (int64_t i = 0; i < out; i++) {
        int64_t at = i - begin;
        if (at < low || at >= high) {
            at = mode == PAD_CONSTANT ? -1 : low + outside_index(mode, at - low, high - low);
        }
        table[i] = (int32_t)at;
    }
    return LN_OK;
}

/* Packs an output of less than a byte per element; the map wrote it at the end of scratch. */
static ln_status pack_output(ln_op *op) {
    const ln_value *output = ln_out(op, 0);
    const ln_map_job *job = op->scratch;
    ln_repack(output->dtype, output->data, 0, ln_value_count(output), job->dst);
    return LN_OK;
}

static ln_status run_window(ln_op *op, enum pad_mode mode) {
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const pad_local *local = LN_LOCAL(op, const pad_local);
    if (!output || ln_value_count(output) == 0) {
        return LN_OK;
    }
    ln_map_job *job = op->scratch;
    int32_t *table = (int32_t *)(void *)((unsigned char *)op->scratch + ln_map_scratch_bytes(0));
    ln_map *map = &job->map;
    map->rank = input->shape.rank;
    map->width = ln_width(input->dtype);
    map->fill = local->fill;
    int64_t indices = 0;
    for (int i = 0; i < map->rank; i++) {
        map->in[i] = input->shape.dims[i];
        map->out[i] = output->shape.dims[i];
        map->maps[i] = NULL;
        if (local->begin[i] != 0 || local->end[i] != 0) {
            LN_TRY(fill_table(op, mode, i, map->out[i], table + indices));
            map->maps[i] = table + indices;
            indices += map->out[i];
        }
    }
    unsigned char *free_scratch = (unsigned char *)op->scratch + ln_map_scratch_bytes(indices);
    const void *src = ln_unpacked(input, &free_scratch);
    void *dst = ln_unpacked_target(output, &free_scratch);
    return ln_op_map(op, src, dst, ln_is_packed(input->dtype) ? pack_output : NULL);
}

/* Pad --------------------------------------------------------------------------------------------------- */

static const char *const modes[] = {"constant", "reflect", "edge", "wrap", NULL};

static ln_status build_pad(ln_build *build) {
    pad_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    params->mode = (enum pad_mode)ln_attr_choice(build, "mode", modes, PAD_CONSTANT);
    params->axes.input = 3;
    if (build->opset < 11) {
        const char *name = build->opset < 2 ? "paddings" : "pads";
        ln_attr_required(build, name);
        params->from_attributes = true;
        params->axes.input = -1;
        params->value = ln_attr_float(build, "value", 0);
        params->pads = ln_attr_ints(build, name, &params->n_pads);
    }
    return ln_build_status(build);
}

/* com.microsoft's Pad: version 11 of the standard's, whose pads may also be a table of one row. */
static ln_status build_pad_microsoft(ln_build *build) {
    pad_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->mode = (enum pad_mode)ln_attr_choice(build, "mode", modes, PAD_CONSTANT);
        params->axes.input = 3;
    }
    return ln_build_status(build);
}

/* The pads of a list, or of a table of one row. */
static ln_status read_pads(ln_op *op, int64_t *values, int *count) {
    const ln_value *pads = ln_in(op, 1);
    if (pads->shape.rank != 2 || pads->shape.dims[0] != 1) {
        return ln_op_ints(op, 1, values, 2 * LN_MAX_RANK, count);
    }
    LN_TRY(ln_op_want(op, 1));
    LN_OP_CHECK(op, pads->shape.dims[1] <= 2 * LN_MAX_RANK, LIMIT_EXCEEDED, "there are %lld pads",
                (long long)pads->shape.dims[1]);
    *count = (int)pads->shape.dims[1];
    ln_load_i64(pads->dtype, pads->data, 0, *count, values);
    return LN_OK;
}

static ln_status infer_pad(ln_op *op) {
    const pad_params *params = op->params;
    pad_local *local = LN_LOCAL(op, pad_local);
    const int rank = ln_in(op, 0)->shape.rank;
    int64_t values[2 * LN_MAX_RANK];
    const int64_t *pads = params->pads;
    int n_pads = params->n_pads;
    int axes[LN_MAX_RANK];
    int n_axes;
    bool has_axes;
    if (!params->from_attributes) {
        LN_TRY(read_pads(op, values, &n_pads));
        pads = values;
    }
    LN_TRY(ln_axes_read(op, &params->axes, rank, axes, &n_axes, &has_axes));
    n_axes = has_axes ? n_axes : rank;
    LN_OP_CHECK(op, n_pads == 2 * n_axes, INVALID_SHAPE,
                "pads has %d entries, expected a begin and an end for %d axes", n_pads, n_axes);
    no_pads(local);
    for (int i = 0; i < n_axes; i++) {
        const int axis = has_axes ? axes[i] : i;
        local->begin[axis] = pads[i];
        local->end[axis] = pads[n_axes + i];
    }
    LN_TRY(ln_op_count(op, 2, "constant_value", 1));
    return infer_window(op);
}

static ln_status run_pad(ln_op *op) {
    const pad_params *params = op->params;
    pad_local *local = LN_LOCAL(op, pad_local);
    const ln_value *value = ln_in(op, 2);
    if (value && ln_is_packed(value->dtype)) {
        ln_unpack(value->dtype, value->data, 0, 1, local->fill);
    } else if (value) {
        memcpy(local->fill, value->data, ln_width(value->dtype));
    } else if (params->from_attributes) {
        ln_store_f32(ln_in(op, 0)->dtype, local->fill, 0, 1, &params->value);
    }
    return run_window(op, params->mode);
}

/* CenterCropPad ----------------------------------------------------------------------------------------- */

static ln_status build_center(ln_build *build) {
    ln_axes *axes = ln_build_params(build, sizeof(*axes));
    if (axes) {
        ln_axes_attr(build, axes, "axes");
    }
    return ln_build_status(build);
}

static ln_status infer_center(ln_op *op) {
    pad_local *local = LN_LOCAL(op, pad_local);
    const ln_shape *shape = &ln_in(op, 0)->shape;
    int64_t wanted[LN_MAX_RANK];
    int n_wanted;
    int axes[LN_MAX_RANK];
    int n_axes;
    bool has_axes;
    LN_TRY(ln_op_ints(op, 1, wanted, LN_MAX_RANK, &n_wanted));
    LN_TRY(ln_axes_read(op, op->params, shape->rank, axes, &n_axes, &has_axes));
    n_axes = has_axes ? n_axes : shape->rank;
    LN_OP_CHECK(op, n_wanted == n_axes, INVALID_SHAPE, "shape has %d entries for %d axes", n_wanted, n_axes);
    no_pads(local);
    for (int i = 0; i < n_axes; i++) {
        const int axis = has_axes ? axes[i] : i;
        const int64_t dim = shape->dims[axis];
        LN_OP_CHECK(op, wanted[i] >= 0, INVALID_VALUE, "axis %d would have length %lld", axis,
                    (long long)wanted[i]);
        /* Half of the difference goes to the front, rounded down whether it is added or taken away. */
        const int64_t more = wanted[i] > dim ? wanted[i] - dim : 0;
        const int64_t less = wanted[i] < dim ? dim - wanted[i] : 0;
        local->begin[axis] = more / 2 - less / 2;
        local->end[axis] = (more - more / 2) - (less - less / 2);
    }
    return infer_window(op);
}

static ln_status run_center(ln_op *op) {
    return run_window(op, PAD_CONSTANT);
}

/* Crop -------------------------------------------------------------------------------------------------- */

/* An experimental operator of the first versions: border is left, top, right, bottom; scale the height and width of
 * the result, which then starts at left and top. */
typedef struct crop_params {
    int64_t border[4];
    int64_t scale[2];
    bool has_scale;
} crop_params;

static ln_status build_crop(ln_build *build) {
    crop_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        int n_border;
        int n_scale;
        const int64_t *border = ln_attr_ints(build, "border", &n_border);
        const int64_t *scale = ln_attr_ints(build, "scale", &n_scale);
        if (n_border != 4 || (n_scale != 0 && n_scale != 2)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "border has %d entries and scale %d, expected 4 and 0 or 2", n_border,
                                 n_scale);
        }
        memcpy(params->border, border, sizeof(params->border));
        params->has_scale = n_scale == 2;
        if (params->has_scale) {
            memcpy(params->scale, scale, sizeof(params->scale));
        }
    }
    return ln_build_status(build);
}

static ln_status infer_crop(ln_op *op) {
    const crop_params *params = op->params;
    pad_local *local = LN_LOCAL(op, pad_local);
    const ln_shape *shape = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, shape->rank == 4, INVALID_SHAPE, "the input has rank %d, expected 4", (int)shape->rank);
    no_pads(local);
    for (int i = 0; i < 2; i++) { /* height, then width */
        const int64_t low = params->border[1 - i];
        const int64_t high =
            params->has_scale ? shape->dims[2 + i] - low - params->scale[i] : params->border[3 - i];
        LN_OP_CHECK(op, low >= 0 && high >= 0, INVALID_ATTRIBUTE,
                    "axis %d of length %lld is cropped by %lld and %lld", 2 + i,
                    (long long)shape->dims[2 + i], (long long)low, (long long)high);
        local->begin[2 + i] = -low;
        local->end[2 + i] = -high;
    }
    return infer_window(op);
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, 0, NULL}
#define PAD(since, until, signature, types)                                                                  \
    ROW("Pad", since, until, signature, PAIR(types, LN_T_INDEX), build_pad, infer_pad, run_pad)

static const ln_op_row rows[] = {
    PAD(1, 1, "A>A", LN_T_FLOAT),
    PAD(2, 10, "A>A", LN_T_FLOAT),
    PAD(11, 12, "AlA?>A", LN_T_NUMBER),
    PAD(13, 17, "AlA?>A", LN_T_ALL_BF),
    PAD(18, 18, "AlA?B?>A", LN_T_ALL_BF),
    PAD(19, 20, "AlA?B?>A", LN_T_ALL_BF),
    PAD(21, 22, "AlA?B?>A", LN_T_ALL_IR10),
    PAD(23, 23, "AlA?B?>A", LN_T_ALL_IR11),
    PAD(24, 24, "AlA?B?>A", LN_T_ALL_IR12),
    PAD(25, LN_OPEN, "AlA?B?>A", LN_T_ALL_IR13),
    {"Pad",
     "com.microsoft",
     1,
     LN_OPEN,
     "AlA?>A",
     {LN_T_FLOAT},
     build_pad_microsoft,
     infer_pad,
     run_pad,
     NULL,
     0,
     NULL},
    ROW("CenterCropPad", 18, LN_OPEN, "AB>A", PAIR(LN_T_ALL_BF, LN_T_INDEX), build_center, infer_center,
        run_center),
    ROW("Crop", 1, LN_OPEN, "A>A", LN_T_FLOAT, build_crop, infer_crop, run_center),
};

LN_FAMILY_TABLE(pad, rows);
