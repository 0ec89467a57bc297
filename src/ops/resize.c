/* Resize and Upsample: the geometry, and the ways it is computed.
 *
 * Every version comes down to one rule for each axis (resize_tables.h). Nearest is an index map (move.h), or the doubling
 * kernel. Linear and cubic are separable. Float32 images that change in their last two axes run the plane kernels;
 * everything else runs one pass for each changed axis, in float32 for floats and in double for the rest. Tables are
 * computed at the start of each run: they cost the sum of the axes, the image costs their product.
 */
#include "ops/resize.h"

#include <math.h>

#include "simd/vector.h"

/* Build ------------------------------------------------------------------------------------------------- */

typedef struct resize_params {
    ln_resize_rule rule; /* what all axes have in common */
    bool not_larger, not_smaller;
    float extrapolation;
    int roi, scales, sizes; /* inputs, -1 for none */
    int n_scales;           /* scales as attributes */
    float scale_list[LN_MAX_RANK];
    ln_axes axes;
} resize_params;

static void read_modes(ln_build *build, resize_params *params) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};
    static const char *const coordinates[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    ln_resize_rule *rule = &params->rule;
    const int mode = ln_attr_choice(build, "mode", modes, 0);
    rule->mode = mode == 3 ? LN_RESIZE_LINEAR : (enum ln_resize_mode)mode;
    if (build->opset < 11) {
        rule->coordinates = LN_COORDINATES_ASYMMETRIC;
        rule->rounding = LN_ROUND_SIMPLE;
        return;
    }
    rule->coordinates =
        (enum ln_resize_coordinates)ln_attr_choice(build, "coordinate_transformation_mode", coordinates, 0);
    rule->rounding = (enum ln_resize_rounding)ln_attr_choice(build, "nearest_mode", roundings, 0);
    rule->cubic_a = (double)ln_attr_float(build, "cubic_coeff_a", -0.75F);
    rule->exclude_outside = ln_attr_bool(build, "exclude_outside", false);
    rule->antialias = ln_attr_bool(build, "antialias", false);
    params->extrapolation = ln_attr_float(build, "extrapolation_value", 0);
    const int policy = ln_attr_choice(build, "keep_aspect_ratio_policy", policies, 0);
    params->not_larger = policy == 1;
    params->not_smaller = policy == 2;
    ln_axes_attr(build, &params->axes, "axes");
}

static ln_status build_resize(ln_build *build) {
    resize_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        const bool old = build->opset < 11;
        params->axes.input = -1;
        params->rule.cubic_a = -0.75;
        params->rule.scale = 1;
        params->rule.end = 1;
        params->roi = old ? -1 : 1;
        params->scales = old ? 1 : 2;
        params->sizes = old ? -1 : 3;
        read_modes(build, params);
    }
    return ln_build_status(build);
}

/* Upsample 1 scales height and width, 7 all axes; from 9 on scales are an input. */
static ln_status build_upsample(ln_build *build) {
    resize_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    params->axes.input = -1;
    params->rule = (ln_resize_rule){.coordinates = LN_COORDINATES_ASYMMETRIC,
                                    .rounding = LN_ROUND_SIMPLE,
                                    .cubic_a = -0.75,
                                    .scale = 1,
                                    .end = 1};
    params->roi = params->sizes = -1;
    params->scales = build->opset < 9 ? -1 : 1;
    static const char *const modes[] = {"nearest", "linear", "bilinear", NULL};
    params->rule.mode = ln_attr_choice(build, "mode", modes, 0) == 0 ? LN_RESIZE_NEAREST : LN_RESIZE_LINEAR;
    if (build->opset < 7) {
        ln_attr_required(build, "height_scale");
        ln_attr_required(build, "width_scale");
        const float scales[4] = {1, 1, ln_attr_float(build, "height_scale", 1),
                                 ln_attr_float(build, "width_scale", 1)};
        memcpy(params->scale_list, scales, sizeof(scales));
        params->n_scales = 4;
    } else if (build->opset < 9) {
        ln_attr_required(build, "scales");
        const float *scales = ln_attr_floats(build, "scales", &params->n_scales);
        if (params->n_scales > LN_MAX_RANK) {
            return ln_build_fail(build, LN_LIMIT_EXCEEDED, "there are %d scales", params->n_scales);
        }
        for (int i = 0; i < params->n_scales; i++) {
            params->scale_list[i] = scales[i];
        }
    }
    return ln_build_status(build);
}

/* Infer: what the inputs say about each axis ------------------------------------------------------------- */

/* Reads a list of numbers of an input; *count is 0 when it is absent or empty. */
static ln_status read_numbers(ln_op *op, int index, double *values, int capacity, int *count) {
    *count = 0;
    const ln_value *input = index >= 0 ? ln_in(op, index) : NULL;
    if (!input) {
        return LN_OK;
    }
    LN_TRY(ln_op_want(op, index));
    const int64_t n = ln_value_count(input);
    LN_OP_CHECK(op, n <= capacity, LIMIT_EXCEEDED, "input %d has %lld elements, at most %d are possible",
                index, (long long)n, capacity);
    ln_load_f64(input->dtype, input->data, 0, n, values);
    *count = (int)n;
    return LN_OK;
}

static ln_status apply_scales(ln_op *op, ln_resize_rule *rules, const int *axes, int n_axes,
                              const double *scales, int count) {
    LN_OP_CHECK(op, count == n_axes, INVALID_SHAPE, "there are %d scales for %d axes", count, n_axes);
    for (int i = 0; i < count; i++) {
        ln_resize_rule *rule = &rules[axes[i]];
        LN_OP_CHECK(op, scales[i] > 0 && scales[i] < 1e9, INVALID_VALUE,
                    "scale %d is %g, expected a positive number", i, scales[i]);
        rule->scale = scales[i];
        rule->single = true;
        rule->wanted = scales[i] * (double)rule->in;
        const float length = (float)rule->in * (float)scales[i];
        LN_OP_CHECK(op, length < 0x1p31F, LIMIT_EXCEEDED, "axis %d becomes too long", axes[i]);
        rule->out = length > 0 ? (int64_t)length : 0;
    }
    return LN_OK;
}

static ln_status apply_sizes(ln_op *op, ln_resize_rule *rules, const int *axes, int n_axes,
                             const double *sizes, int count) {
    const resize_params *params = op->params;
    LN_OP_CHECK(op, count == n_axes, INVALID_SHAPE, "there are %d sizes for %d axes", count, n_axes);
    double common = params->not_larger ? INFINITY : 0;
    for (int i = 0; i < count; i++) {
        ln_resize_rule *rule = &rules[axes[i]];
        LN_OP_CHECK(op, sizes[i] >= 0 && sizes[i] < 0x1p31, INVALID_VALUE, "size %d is %g", i, sizes[i]);
        rule->out = (int64_t)sizes[i];
        rule->wanted = sizes[i];
        rule->scale = rule->in > 0 ? sizes[i] / (double)rule->in : 1;
        common = params->not_larger ? fmin(common, rule->scale) : fmax(common, rule->scale);
    }
    for (int i = 0; i < count && (params->not_larger || params->not_smaller); i++) {
        ln_resize_rule *rule = &rules[axes[i]];
        rule->scale = common;
        rule->wanted = common * (double)rule->in;
        rule->out = (int64_t)floor(common * (double)rule->in + 0.5);
    }
    return LN_OK;
}

static ln_status read_rules(ln_op *op, ln_resize_rule *rules) {
    const resize_params *params = op->params;
    const ln_shape *shape = &ln_in(op, 0)->shape;
    int axes[LN_MAX_RANK];
    int n_axes;
    bool has_axes;
    LN_TRY(ln_axes_read(op, &params->axes, shape->rank, axes, &n_axes, &has_axes));
    for (int i = 0; i < shape->rank; i++) {
        axes[i] = has_axes ? axes[i] : i;
        rules[i] = params->rule;
        rules[i].in = rules[i].out = shape->dims[i];
        rules[i].wanted = (double)shape->dims[i];
        LN_OP_CHECK(op, shape->dims[i] <= INT32_MAX, LIMIT_EXCEEDED, "axis %d is too long", i);
    }
    n_axes = has_axes ? n_axes : shape->rank;
    if (params->rule.coordinates == LN_COORDINATES_TF_CROP_AND_RESIZE) {
        double roi[2 * LN_MAX_RANK];
        int n_roi;
        LN_TRY(read_numbers(op, params->roi, roi, 2 * LN_MAX_RANK, &n_roi));
        LN_OP_CHECK(op, n_roi == 2 * n_axes, INVALID_SHAPE,
                    "roi has %d entries, expected a start and an end for %d axes", n_roi, n_axes);
        for (int i = 0; i < n_axes; i++) {
            rules[axes[i]].start = roi[i];
            rules[axes[i]].end = roi[n_axes + i];
        }
    }
    double scales[LN_MAX_RANK];
    double sizes[LN_MAX_RANK];
    int n_scales;
    int n_sizes;
    LN_TRY(read_numbers(op, params->scales, scales, LN_MAX_RANK, &n_scales));
    LN_TRY(read_numbers(op, params->sizes, sizes, LN_MAX_RANK, &n_sizes));
    for (int i = 0; i < params->n_scales; i++) {
        scales[i] = (double)params->scale_list[i];
        n_scales = params->n_scales;
    }
    LN_OP_CHECK(op, shape->rank == 0 || (n_scales > 0) != (n_sizes > 0), INVALID_VALUE,
                "exactly one of scales and sizes must be given");
    return n_sizes > 0 ? apply_sizes(op, rules, axes, n_axes, sizes, n_sizes)
                       : apply_scales(op, rules, axes, n_axes, scales, n_scales);
}

/* Scratch of the index tables or the tables of taps, and of what lies between two passes. */
static ln_status ask_scratch(ln_op *op, const ln_resize_rule *rules) {
    const ln_value *input = ln_in(op, 0);
    const int rank = input->shape.rank;
    int64_t indices = 0;
    for (int i = 0; i < rank; i++) {
        const int64_t taps = rules[i].mode == LN_RESIZE_NEAREST ? 1 : ln_resize_taps(&rules[i]);
        LN_OP_CHECK(op, taps < 1 << 24 && rules[i].out < (INT64_C(1) << 40) / taps, LIMIT_EXCEEDED,
                    "axis %d shrinks too much", i);
        indices += ln_resize_is_identity(&rules[i]) ? 0 : taps * rules[i].out;
    }
    if (rank == 0 || rules[0].mode == LN_RESIZE_NEAREST) {
        op->scratch_bytes = ln_map_scratch_bytes(indices);
        return LN_OK;
    }
    const ln_compute compute = ln_dtype_compute(input->dtype);
    LN_OP_CHECK(op, compute != LN_COMPUTE_NONE && compute != LN_COMPUTE_COMPLEX, INVALID_TYPE,
                "elements of type %s cannot be interpolated", ln_dtype_name(input->dtype));
    op->scratch_bytes = ln_interpolate_scratch(op, rules, &op->task_scratch_bytes);
    return LN_OK;
}

static ln_status infer_resize(ln_op *op) {
    ln_resize_rule *rules = LN_LOCAL(op, ln_resize_local)->rules;
    const ln_value *input = ln_in(op, 0);
    LN_TRY(read_rules(op, rules));
    ln_shape shape = input->shape;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = rules[i].out;
        LN_OP_CHECK(op, rules[i].in > 0 || rules[i].out == 0, INVALID_SHAPE,
                    "axis %d is empty and cannot grow", i);
    }
    LN_TRY(ln_op_shape(op, 0, input->dtype, &shape));
    return ask_scratch(op, rules);
}

/* Nearest ----------------------------------------------------------------------------------------------- */

/* Are the last two axes of a 4-byte type exactly doubled, and nothing else changed? */
static bool is_doubling(const ln_op *op, const ln_map *map) {
    const int rank = map->rank;
    if (rank < 2 || map->width != 4) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        const bool last = i >= rank - 2;
        if ((map->maps[i] != NULL) != last || (last && map->out[i] != 2 * map->in[i])) {
            return false;
        }
        for (int64_t j = 0; last && j < map->out[i]; j++) {
            if (map->maps[i][j] != j / 2) {
                return false;
            }
        }
    }
    return ln_out(op, 0)->data != ln_in(op, 0)->data;
}

static void double_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const int rank = input->shape.rank;
    const int64_t height = input->shape.dims[rank - 2];
    const int64_t width = input->shape.dims[rank - 1];
    const int64_t planes = ln_shape_product(&input->shape, 0, rank - 2);
    int64_t begin, end;
    ln_block_range(planes, 16 * height * width, index, &begin, &end);
    for (int64_t p = begin; p < end; p++) {
        ln_resize_nearest_2x_f32((float *)output->data + p * 4 * height * width,
                                 (const float *)input->data + p * height * width, (size_t)height,
                                 (size_t)width, 0, (size_t)(2 * height));
    }
}

static ln_status run_nearest(ln_op *op, const ln_resize_rule *rules) {
    const resize_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    unsigned char *fill = LN_LOCAL(op, ln_resize_local)->fill;
    ln_map *map = &((ln_map_job *)op->scratch)->map;
    int32_t *table = (int32_t *)(void *)((unsigned char *)op->scratch + ln_map_scratch_bytes(0));
    map->rank = input->shape.rank;
    map->width = ln_width(input->dtype);
    map->fill = fill;
    for (int i = 0; i < map->rank; i++) {
        map->in[i] = rules[i].in;
        map->out[i] = rules[i].out;
        map->maps[i] = NULL;
        if (!ln_resize_is_identity(&rules[i])) {
            map->maps[i] = table;
            for (int64_t j = 0; j < rules[i].out; j++) {
                *table++ = ln_resize_nearest_index(&rules[i], j);
            }
        }
    }
    memset(fill, 0, 16);
    if (ln_dtype_compute(input->dtype) != LN_COMPUTE_NONE &&
        ln_dtype_compute(input->dtype) != LN_COMPUTE_COMPLEX) {
        ln_store_f32(input->dtype, fill, 0, 1, &params->extrapolation);
    }
    if (is_doubling(op, map)) {
        const int64_t plane = map->in[map->rank - 2] * map->in[map->rank - 1];
        return ln_op_grid(op, double_task, ln_block_tasks(ln_value_count(input) / plane, 16 * plane));
    }
    return ln_op_map(op, input->data, ln_out(op, 0)->data, NULL);
}

static ln_status run_resize(ln_op *op) {
    const resize_params *params = op->params;
    const ln_resize_rule *rules = LN_LOCAL(op, const ln_resize_local)->rules;
    const ln_value *output = ln_out(op, 0);
    if (!output || ln_value_count(output) == 0) {
        return LN_OK;
    }
    if (output->shape.rank == 0) {
        return ln_run_copy(op);
    }
    return params->rule.mode == LN_RESIZE_NEAREST ? run_nearest(op, rules)
                                                  : ln_run_interpolate(op, rules, params->extrapolation);
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define RESIZE(since, until, signature, types)                                                               \
    {"Resize",     "",           since,      until, signature, {types, LN_T_FLOAT, LN_T_INDEX},              \
     build_resize, infer_resize, run_resize, NULL,  0,         NULL}
#define UPSAMPLE(since, until, signature, types)                                                             \
    {"Upsample",     "",           since,      until, signature, {types},                                    \
     build_upsample, infer_resize, run_resize, NULL,  0,         NULL}

static const ln_op_row rows[] = {
    RESIZE(10, 10, "Af>A", LN_T_ALL),
    RESIZE(11, 12, "AB?f?C?>A", LN_T_ALL),
    RESIZE(13, 17, "AB?f?C?>A", LN_T_ALL_BF),
    RESIZE(18, 18, "AB?f?C?>A", LN_T_ALL_BF),
    RESIZE(19, LN_OPEN, "AB?f?C?>A", LN_T_ALL_BF),
    UPSAMPLE(1, 6, "A>A", LN_T_FLOAT | LN_T_INDEX | LN_BIT(LN_BOOL)),
    UPSAMPLE(7, 8, "A>A", LN_T_ALL),
    UPSAMPLE(9, 9, "Af>A", LN_T_ALL),
    UPSAMPLE(10, LN_OPEN, "Af>A", LN_T_ALL),
};

LN_FAMILY_TABLE(resize, rows);
