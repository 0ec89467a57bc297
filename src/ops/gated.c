/* Activations that take a second tensor: a bias before, a gate beside, or a scale per channel.
 *
 * All of them work on rows of the last axis in tiles of float32; half types are converted on the way.
 *
 *   SwiGLU           swish(a) * b
 *   BiasGelu         gelu(x + bias)                  com.microsoft
 *   FastGelu         gelu_tanh(x + bias)             com.microsoft, bias optional and of any length
 *   BiasAdd          x + bias + skip                 com.microsoft
 *   BiasSplitGelu    left * gelu(right), x + bias = [left, right]   com.microsoft
 *   ImageScaler      x * scale + bias[channel]       an old experimental operator of the default domain
 */
#include <math.h>

#include "ops/float_tile.h"
#include "ops/op.h"
#include "simd/vector.h"

enum { GATED_GRAIN = 8192 };

static void load_tile(const ln_value *value, int64_t first, int64_t n, float *tile) {
    ln_tile_load(value->dtype, value->data, first, n, tile);
}

/* SwiGLU -------------------------------------------------------------------------------------------------- */

typedef struct swiglu_params {
    float alpha;
} swiglu_params;

static ln_status build_swiglu(ln_build *build) {
    swiglu_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->alpha = ln_attr_float(build, "alpha", 1.0f);
    }
    return ln_build_status(build);
}

static ln_status infer_swiglu(ln_op *op) {
    char text[2][LN_SHAPE_TEXT_BYTES];
    const ln_shape *a = &ln_in(op, 0)->shape;
    const ln_shape *b = &ln_in(op, 1)->shape;
    LN_OP_CHECK(op, ln_shape_equal(a, b), INVALID_SHAPE,
                "the inputs must have one shape, they have %s and %s", ln_shape_text(a, text[0]),
                ln_shape_text(b, text[1]));
    return ln_infer_same(op);
}

static void swiglu_f64(double alpha, const ln_value *a, const ln_value *b, ln_value *y, int64_t begin,
                       int64_t end) {
    const double *gate = a->data;
    const double *value = b->data;
    double *out = y->data;
    for (int64_t i = begin; i < end; i++) {
        out[i] = gate[i] / (1 + exp(-alpha * gate[i])) * value[i];
    }
}

static void swiglu_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const swiglu_params *params = op->params;
    const ln_value *a = ln_in(op, 0);
    const ln_value *b = ln_in(op, 1);
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, GATED_GRAIN), index, &begin, &end);
    if (a->dtype == LN_DOUBLE) {
        swiglu_f64((double)params->alpha, a, b, y, begin, end);
        return;
    }
    float gate[LN_TILE];
    float value[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        load_tile(a, at, n, gate);
        load_tile(b, at, n, value);
        ln_unary_f32[LN_UNARY_GELU_QUICK](gate, gate, (size_t)n, params->alpha, 0);
        ln_binary_f32[LN_BINARY_MUL](gate, gate, 1, value, 1, (size_t)n);
        ln_tile_store(y->dtype, y->data, at, n, gate);
    }
}

static ln_status run_swiglu(ln_op *op) {
    return ln_op_grid(op, swiglu_task, ln_op_tasks(ln_value_count(ln_out(op, 0)), GATED_GRAIN));
}

/* Bias and activation -------------------------------------------------------------------------------------- */

enum { BIASED_GELU, BIASED_GELU_TANH, BIASED_ADD, BIASED_SPLIT_GELU };

typedef struct biased_params {
    int kind; /* one of the BIASED_ values above */
} biased_params;

static ln_status build_biased(ln_build *build, int kind) {
    biased_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->kind = kind;
    }
    return ln_build_status(build);
}
static ln_status build_bias_gelu(ln_build *build) {
    return build_biased(build, BIASED_GELU);
}
static ln_status build_fast_gelu(ln_build *build) {
    return build_biased(build, BIASED_GELU_TANH);
}
static ln_status build_bias_add(ln_build *build) {
    return build_biased(build, BIASED_ADD);
}
static ln_status build_bias_split_gelu(ln_build *build) {
    return build_biased(build, BIASED_SPLIT_GELU);
}

static ln_status infer_biased(ln_op *op) {
    const biased_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    const ln_value *bias = ln_in(op, 1);
    const ln_value *skip = ln_in(op, 2);
    ln_shape shape = x->shape;
    if (params->kind == BIASED_GELU_TANH) {
        LN_OP_CHECK(op, bias == NULL || ln_value_count(bias) > 0, INVALID_SHAPE, "the bias is empty");
        return ln_infer_same(op);
    }
    LN_OP_CHECK(op, shape.rank > 0, INVALID_SHAPE, "the input must have an axis to add the bias to");
    const int64_t width = shape.dims[shape.rank - 1];
    LN_OP_CHECK(op, bias == NULL || ln_value_count(bias) == width, INVALID_SHAPE,
                "the bias must have %lld elements as the last axis, it has %lld", (long long)width,
                (long long)ln_value_count(bias));
    LN_OP_CHECK(op, skip == NULL || ln_shape_equal(&skip->shape, &shape), INVALID_SHAPE,
                "the input to add must have the shape of input 0");
    if (params->kind == BIASED_SPLIT_GELU) {
        LN_OP_CHECK(op, width % 2 == 0, INVALID_SHAPE, "the last axis must be even to be split, it is %lld",
                    (long long)width);
        shape.dims[shape.rank - 1] = width / 2;
    }
    return ln_op_shape(op, 0, x->dtype, &shape);
}

/* x + bias of n elements: x from element `first`, the bias from `column`. */
static void add_bias(const ln_op *op, int64_t first, int64_t column, int64_t n, float *tile) {
    float bias[LN_TILE];
    load_tile(ln_in(op, 0), first, n, tile);
    if (ln_in(op, 1) != NULL) {
        load_tile(ln_in(op, 1), column, n, bias);
        ln_binary_f32[LN_BINARY_ADD](tile, tile, 1, bias, 1, (size_t)n);
    }
}

static void biased_tile(ln_op *op, int64_t row, int64_t column, int64_t n, int64_t width) {
    const biased_params *params = op->params;
    ln_value *y = ln_out(op, 0);
    float tile[LN_TILE];
    float other[LN_TILE];
    if (params->kind == BIASED_SPLIT_GELU) {
        add_bias(op, row * 2 * width + column, column, n, tile);
        add_bias(op, row * 2 * width + width + column, width + column, n, other);
        ln_unary_f32[LN_UNARY_GELU](other, other, (size_t)n, 0, 0);
        ln_binary_f32[LN_BINARY_MUL](tile, tile, 1, other, 1, (size_t)n);
    } else {
        add_bias(op, row * width + column, column, n, tile);
    }
    if (params->kind == BIASED_ADD) {
        load_tile(ln_in(op, 2), row * width + column, n, other);
        ln_binary_f32[LN_BINARY_ADD](tile, tile, 1, other, 1, (size_t)n);
    } else if (params->kind == BIASED_GELU || params->kind == BIASED_GELU_TANH) {
        ln_unary_f32[params->kind == BIASED_GELU ? LN_UNARY_GELU : LN_UNARY_GELU_TANH](tile, tile, (size_t)n,
                                                                                       0, 0);
    }
    ln_tile_store(y->dtype, y->data, row * width + column, n, tile);
}

/* Elements after which the bias repeats; that of FastGelu may have any length. */
static int64_t bias_period(const ln_op *op, int64_t count) {
    const biased_params *params = op->params;
    const ln_shape *shape = &ln_out(op, 0)->shape;
    if (params->kind == BIASED_GELU_TANH) {
        return ln_in(op, 1) != NULL ? ln_value_count(ln_in(op, 1)) : count;
    }
    return shape->dims[shape->rank - 1];
}

static void biased_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    const int64_t width = bias_period(op, count);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, GATED_GRAIN), index, &begin, &end);
    while (begin < end) {
        const int64_t column = begin % width;
        int64_t n = width - column < end - begin ? width - column : end - begin;
        n = n < LN_TILE ? n : LN_TILE;
        biased_tile(op, begin / width, column, n, width);
        begin += n;
    }
}

static ln_status run_biased(ln_op *op) {
    return ln_op_grid(op, biased_task, ln_op_tasks(ln_value_count(ln_out(op, 0)), GATED_GRAIN));
}

/* ImageScaler ---------------------------------------------------------------------------------------------- */

typedef struct scaler_params {
    const float *bias;
    int channels;
    float scale;
} scaler_params;

static ln_status build_scaler(ln_build *build) {
    scaler_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->bias = ln_attr_floats(build, "bias", &params->channels);
        params->scale = ln_attr_float(build, "scale", 1.0f);
    }
    return ln_build_status(build);
}

static ln_status infer_scaler(ln_op *op) {
    const scaler_params *params = op->params;
    const ln_shape *shape = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, shape->rank == 4, INVALID_SHAPE, "the input must have rank 4, it has rank %d",
                (int)shape->rank);
    LN_OP_CHECK(op, params->channels == 0 || params->channels >= shape->dims[1], INVALID_SHAPE,
                "the attribute bias has %d numbers for %lld channels", params->channels,
                (long long)shape->dims[1]);
    return ln_infer_same(op);
}

static ln_status run_scaler(ln_op *op) {
    const scaler_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t channels = x->shape.dims[1];
    const int64_t pixels = x->shape.dims[2] * x->shape.dims[3];
    for (int64_t plane = 0; plane < x->shape.dims[0] * channels; plane++) {
        const float bias = params->bias != NULL ? params->bias[plane % channels] : 0;
        float tile[LN_TILE];
        for (int64_t at = 0; at < pixels; at += LN_TILE) {
            const int64_t n = pixels - at < LN_TILE ? pixels - at : LN_TILE;
            load_tile(x, plane * pixels + at, n, tile);
            ln_unary_f32[LN_UNARY_SCALE_SHIFT](tile, tile, (size_t)n, params->scale, bias);
            ln_tile_store(y->dtype, y->data, plane * pixels + at, n, tile);
        }
    }
    return LN_OK;
}

/* Rows ---------------------------------------------------------------------------------------------------- */

#define T_SINGLE (LN_T_HALF | LN_BIT(LN_FLOAT))
#define BIASED(name, signature, build, flags)                                                                \
    {name,  "com.microsoft", 1,          LN_OPEN, signature, {T_SINGLE},                                     \
     build, infer_biased,    run_biased, NULL,    flags,     NULL}

static const ln_op_row rows[] = {
    {"SwiGLU",
     "",
     28,
     LN_OPEN,
     "AA>A",
     {LN_T_FLOAT_BF},
     build_swiglu,
     infer_swiglu,
     run_swiglu,
     NULL,
     LN_OP_INPLACE_0 | LN_OP_INPLACE_1,
     NULL},
    {"ImageScaler",
     "",
     1,
     LN_OPEN,
     "A>A",
     {LN_T_FLOAT},
     build_scaler,
     infer_scaler,
     run_scaler,
     NULL,
     LN_OP_INPLACE_0,
     NULL},
    BIASED("BiasGelu", "AA>A", build_bias_gelu, LN_OP_INPLACE_0),
    BIASED("FastGelu", "AA?>A", build_fast_gelu, LN_OP_INPLACE_0),
    BIASED("BiasAdd", "AAA>A", build_bias_add, LN_OP_INPLACE_0),
    BIASED("BiasSplitGelu", "AA>A", build_bias_split_gelu, 0),
};

LN_FAMILY_TABLE(gated, rows);
