/* Where and Clip: elementwise choices.
 *
 * Where moves elements by their width, so one walk serves every type. Clip is min(max(x, low), high) in the class that
 * the type computes in; a NaN stays, and when low is above high everything becomes high.
 */
#include <float.h>
#include <math.h>

#include "ops/float_tile.h"
#include "ops/op.h"
#include "simd/vector.h"

enum { SELECT_GRAIN = 16384 };

/* Where --------------------------------------------------------------------------------------------------- */

typedef struct where_run {
    ln_where_fn *run;
    size_t width;
    const uint8_t *condition, *a, *b;
    uint8_t *y;
    size_t strides[3];
} where_run;

static ln_status infer_where(ln_op *op) {
    const ln_value *condition = ln_in(op, 0);
    const ln_value *a = ln_in(op, 1);
    const ln_value *b = ln_in(op, 2);
    ln_shape pair, shape;
    char text[3][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op,
                ln_shape_broadcast(&a->shape, &b->shape, &pair) &&
                    ln_shape_broadcast(&condition->shape, &pair, &shape),
                INVALID_SHAPE, "shapes %s, %s and %s do not broadcast",
                ln_shape_text(&condition->shape, text[0]), ln_shape_text(&a->shape, text[1]),
                ln_shape_text(&b->shape, text[2]));
    return ln_op_shape(op, 0, a->dtype, &shape);
}

static void visit_where(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const where_run *run = argument;
    run->run(run->y + (size_t)output * run->width, run->condition + offsets[0], run->strides[0],
             run->a + (size_t)offsets[1] * run->width, run->strides[1],
             run->b + (size_t)offsets[2] * run->width, run->strides[2], (size_t)n);
}

static void where_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_value *inputs[] = {ln_in(op, 0), ln_in(op, 1), ln_in(op, 2)};
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, SELECT_GRAIN), index, &begin, &end);
    const ln_shape *const shapes[] = {&inputs[0]->shape, &inputs[1]->shape, &inputs[2]->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &y->shape, 3, shapes);
    const size_t width = y->dtype == LN_STRING ? sizeof(ln_string) : ln_dtype_bits(y->dtype) / 8;
    size_t log_width = 0;
    while (((size_t)1 << log_width) < width) {
        log_width++;
    }
    where_run run = {
        ln_where[log_width], width, inputs[0]->data, inputs[1]->data, inputs[2]->data, y->data, {0}};
    for (int i = 0; i < 3; i++) {
        run.strides[i] = (size_t)walk.strides[i][walk.rank - 1];
    }
    ln_broadcast_each(&walk, begin, end, visit_where, &run);
}

static ln_status run_where(ln_op *op) {
    return ln_op_grid(op, where_task, ln_op_tasks(ln_value_count(ln_out(op, 0)), SELECT_GRAIN));
}

/* Clip ---------------------------------------------------------------------------------------------------- */

typedef struct clip_params {
    bool attributes; /* versions 1 and 6: bounds are attributes */
    float low, high;
} clip_params;

/* The bounds in every class, set by run. */
typedef struct clip_bounds {
    float low_f32, high_f32;
    double low_f64, high_f64;
    int64_t low_i64, high_i64; /* the bits of a uint64 for uint64 */
} clip_bounds;

static ln_status build_clip(ln_build *build) {
    clip_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->attributes = build->opset < 11;
        params->low = params->attributes ? ln_attr_float(build, "min", -FLT_MAX) : 0;
        params->high = params->attributes ? ln_attr_float(build, "max", FLT_MAX) : 0;
    }
    return ln_build_status(build);
}

static ln_status infer_clip(ln_op *op) {
    for (int i = 1; i < 3; i++) {
        const ln_value *bound = ln_in(op, i);
        LN_OP_CHECK(op, bound == NULL || ln_value_count(bound) == 1, INVALID_SHAPE,
                    "the %s must be a scalar, it has %lld elements", i == 1 ? "minimum" : "maximum",
                    (long long)ln_value_count(bound));
    }
    (void)LN_LOCAL(op, clip_bounds);
    return ln_infer_same(op);
}

/* The largest finite value of a floating-point type. */
static double largest(ln_dtype dtype) {
    switch (dtype) {
    case LN_FLOAT16:
        return 65504.0;
    case LN_BFLOAT16:
        return 3.3895313892515355e38;
    case LN_DOUBLE:
        return DBL_MAX;
    default:
        return (double)FLT_MAX;
    }
}

static void read_bounds(ln_op *op, clip_bounds *bounds) {
    const clip_params *params = op->params;
    const ln_dtype dtype = ln_in(op, 0)->dtype;
    const ln_value *low = ln_in(op, 1);
    const ln_value *high = ln_in(op, 2);
    bounds->high_f64 = params->attributes ? (double)params->high : largest(dtype);
    bounds->low_f64 = params->attributes ? (double)params->low : -largest(dtype);
    bounds->low_i64 = dtype == LN_UINT64 ? 0 : INT64_MIN;
    bounds->high_i64 = dtype == LN_UINT64 ? -1 : INT64_MAX;
    if (low != NULL) {
        ln_load_f64(dtype, low->data, 0, 1, &bounds->low_f64);
        ln_load_i64(dtype, low->data, 0, 1, &bounds->low_i64);
    }
    if (high != NULL) {
        ln_load_f64(dtype, high->data, 0, 1, &bounds->high_f64);
        ln_load_i64(dtype, high->data, 0, 1, &bounds->high_i64);
    }
    bounds->low_f32 = (float)bounds->low_f64;
    bounds->high_f32 = (float)bounds->high_f64;
}

static void clip_f32(const clip_bounds *bounds, const ln_value *x, ln_value *y, int64_t begin, int64_t end) {
    ln_unary_f32_fn *const kernel = ln_unary_f32[LN_UNARY_CLIP];
    if (x->dtype == LN_FLOAT) {
        kernel((float *)y->data + begin, (const float *)x->data + begin, (size_t)(end - begin),
               bounds->low_f32, bounds->high_f32);
        return;
    }
    float tile[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_tile_load(x->dtype, x->data, at, n, tile);
        kernel(tile, tile, (size_t)n, bounds->low_f32, bounds->high_f32);
        ln_tile_store(y->dtype, y->data, at, n, tile);
    }
}

static void clip_f64(const clip_bounds *bounds, const ln_value *x, ln_value *y, int64_t begin, int64_t end) {
    const double *source = x->data;
    double *target = y->data;
    for (int64_t i = begin; i < end; i++) {
        const double raised = source[i] < bounds->low_f64 ? bounds->low_f64 : source[i];
        target[i] = raised > bounds->high_f64 ? bounds->high_f64 : raised;
    }
}

/* With the sign bit flipped, a uint64 compares as an int64. */
static void clip_i64(const clip_bounds *bounds, const ln_value *x, ln_value *y, int64_t begin, int64_t end) {
    const int64_t flip = x->dtype == LN_UINT64 ? INT64_MIN : 0;
    const int64_t low = bounds->low_i64 ^ flip;
    const int64_t high = bounds->high_i64 ^ flip;
    int64_t tile[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_load_i64(x->dtype, x->data, at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            const int64_t value = tile[i] ^ flip;
            const int64_t raised = value < low ? low : value;
            tile[i] = (raised > high ? high : raised) ^ flip;
        }
        ln_store_i64(y->dtype, y->data, at, n, tile);
    }
}

static void clip_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const clip_bounds *bounds = LN_LOCAL(op, clip_bounds);
    const int64_t count = ln_value_count(x);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, SELECT_GRAIN), index, &begin, &end);
    switch (ln_dtype_compute(x->dtype)) {
    case LN_COMPUTE_F32:
        clip_f32(bounds, x, y, begin, end);
        break;
    case LN_COMPUTE_F64:
        clip_f64(bounds, x, y, begin, end);
        break;
    default:
        clip_i64(bounds, x, y, begin, end);
    }
}

static ln_status run_clip(ln_op *op) {
    read_bounds(op, LN_LOCAL(op, clip_bounds));
    return ln_op_grid(op, clip_task, ln_op_tasks(ln_value_count(ln_in(op, 0)), SELECT_GRAIN));
}

/* Rows ---------------------------------------------------------------------------------------------------- */

#define WHERE(since, until, types)                                                                           \
    {"Where",          "",          since,     until, "bAA>A",         {types},                              \
     ln_build_nothing, infer_where, run_where, NULL,  LN_OP_INPLACE_1, NULL}
#define CLIP(since, until, signature, types)                                                                 \
    {"Clip",     "",         since,    until, signature,       {types},                                      \
     build_clip, infer_clip, run_clip, NULL,  LN_OP_INPLACE_0, NULL}

static const ln_op_row rows[] = {
    WHERE(9, 15, LN_T_ALL),
    WHERE(16, LN_OPEN, LN_T_ALL_BF),
    CLIP(1, 10, "A>A", LN_T_FLOAT),
    CLIP(11, 11, "AA?A?>A", LN_T_FLOAT),
    CLIP(12, 12, "AA?A?>A", LN_T_NUMBER),
    CLIP(13, LN_OPEN, "AA?A?>A", LN_T_NUMBER_BF),
};

LN_FAMILY_TABLE(select, rows);
