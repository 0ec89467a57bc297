/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
 *
 * A scale belongs to the whole tensor, to a position along one axis, or to a block of positions. Either way the elements fall
 * into runs along which the scale is one number or advances in step, and all the work is on runs: 8-bit and int32 with a single
 * scale on kernels, everything else in tiles of float32. A quotient is rounded to the precision that the operator asks for
 * before it is rounded to an integer, as the standard's function does.
 */
#include <math.h>

#include "ops/dynamic_range.h"
#include "ops/lines.h"
#include "simd/vector.h"

enum { QUANTIZE_GRAIN = 16384, X = 0, SCALE = 1, ZERO = 2 };

typedef struct quantize_params {
    bool quantize;
    bool saturate;
    int64_t axis;
    int64_t block;      /* 0: none */
    ln_dtype precision; /* of the division; LN_UNDEFINED: that of the scale */
    ln_dtype wanted;    /* output_dtype, or LN_UNDEFINED */
} quantize_params;

/* Element (outer, position, inner) has scale outer * outer_step + position / block * block_step + inner * inner_step. */
typedef struct quantize_local {
    ln_lines lines;
    int64_t outer_step, block, block_step, inner_step;
} quantize_local;

/* Elements that follow each other and whose scales are one, or follow each other too. */
typedef struct quantize_run {
    int64_t first, n, scale;
    bool steps;
} quantize_run;

/* Build and infer -------------------------------------------------------------------------------------------- */

static ln_status build_linear(ln_build *build, bool quantize) {
    quantize_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->quantize = quantize;
    params->saturate = ln_attr_bool(build, "saturate", true);
    params->axis = ln_attr_int(build, "axis", 1);
    params->block = ln_attr_int(build, "block_size", 0);
    const int64_t precision = ln_attr_int(build, "precision", 0);
    const int64_t wanted = ln_attr_int(build, "output_dtype", 0);
    LN_TRY(ln_build_status(build));
    if (precision < 0 || precision >= LN_DTYPE_COUNT || wanted < 0 || wanted >= LN_DTYPE_COUNT ||
        params->block < 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "precision %lld, output_dtype %lld or block_size %lld is invalid",
                             (long long)precision, (long long)wanted, (long long)params->block);
    }
    params->precision = (ln_dtype)precision;
    params->wanted = (ln_dtype)wanted;
    const ln_dtype_set *types = build->node->row->types;
    if (wanted != 0 && ((types[1] | types[2]) & LN_BIT(wanted)) == 0) {
        return ln_build_fail(build, LN_INVALID_TYPE, "output_dtype %s is not a type of this version",
                             ln_dtype_name(params->wanted));
    }
    build->node->output_dtype = wanted != 0 ? params->wanted : quantize ? LN_UINT8 : LN_UNDEFINED;
    return LN_OK;
}
static ln_status build_quantize(ln_build *build) {
    return build_linear(build, true);
}
static ln_status build_dequantize(ln_build *build) {
    return build_linear(build, false);
}

/* How the scale lies over the input. */
static ln_status place_scale(ln_op *op, quantize_local *local) {
    const quantize_params *params = op->params;
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *scale = &ln_in(op, SCALE)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    const int64_t count = ln_shape_count(scale);
    if (count == 1 && (params->block == 0 || scale->rank == 0)) {
        *local = (quantize_local){{1, ln_shape_count(x), 1}, 0, 1, 0, 0};
        return LN_OK;
    }
    int axis = 0;
    if (x->rank > 1 || params->block != 0) {
        LN_TRY(ln_op_axis(op, params->axis, x->rank, &axis));
    }
    local->lines = x->rank == 0 ? (ln_lines){1, 1, 1} : ln_lines_of(x, axis, axis + 1);
    const int64_t length = local->lines.length;
    if (params->block == 0) {
        LN_OP_CHECK(op, scale->rank == 1 && count == length, INVALID_SHAPE,
                    "the scale of shape %s must be a scalar or have one number for each of the %lld "
                    "positions of axis %d",
                    ln_shape_text(scale, text[0]), (long long)length, axis);
        local->outer_step = 0;
        local->block = 1;
        local->block_step = 1;
        local->inner_step = 0;
        return LN_OK;
    }
    const int64_t blocks = length / params->block + (length % params->block != 0);
    ln_shape expected = *x;
    expected.dims[axis] = blocks;
    LN_OP_CHECK(op, ln_shape_equal(scale, &expected), INVALID_SHAPE,
                "with blocks of %lld the scale must have the shape %s, it has %s", (long long)params->block,
                ln_shape_text(&expected, text[0]), ln_shape_text(scale, text[1]));
    local->outer_step = blocks * local->lines.inner;
    local->block = params->block;
    local->block_step = local->lines.inner;
    local->inner_step = 1;
    return LN_OK;
}

static ln_status infer_linear(ln_op *op) {
    const quantize_params *params = op->params;
    const ln_value *zero = ln_in(op, ZERO);
    LN_TRY(place_scale(op, LN_LOCAL(op, quantize_local)));
    LN_OP_CHECK(op, zero == NULL || ln_value_count(zero) == ln_value_count(ln_in(op, SCALE)), INVALID_SHAPE,
                "the zero point has %lld elements, the scale has %lld", (long long)ln_value_count(zero),
                (long long)ln_value_count(ln_in(op, SCALE)));
    ln_dtype dtype = params->wanted;
    if (params->quantize) {
        LN_OP_CHECK(op, dtype == LN_UNDEFINED || zero == NULL || zero->dtype == dtype, INVALID_TYPE,
                    "output_dtype is %s, the zero point has type %s", ln_dtype_name(dtype),
                    ln_dtype_name(zero->dtype));
        dtype = zero != NULL ? zero->dtype : op->node->output_dtype;
    } else if (dtype == LN_UNDEFINED) {
        dtype = ln_in(op, SCALE)->dtype;
    }
    return ln_op_shape(op, 0, dtype, &ln_in(op, X)->shape);
}

/* Runs ---------------------------------------------------------------------------------------------------------- */

/* The run that starts at element `first`, at most up to `end`. */
static quantize_run run_at(const quantize_local *local, int64_t first, int64_t end) {
    const ln_lines *lines = &local->lines;
    const int64_t inner = first % lines->inner;
    const int64_t position = first / lines->inner % lines->length;
    const int64_t outer = first / lines->inner / lines->length;
    quantize_run run = {first, end - first,
                        outer * local->outer_step + position / local->block * local->block_step +
                            inner * local->inner_step,
                        false};
    int64_t n = lines->inner - inner;
    if (local->block_step == 0) {
        n = run.n;
    } else if (lines->inner > 1) {
        run.steps = local->inner_step == 1;
    } else if (local->block > 1) {
        const int64_t rest = local->block - position % local->block;
        n = rest < lines->length - position ? rest : lines->length - position;
    } else {
        run.steps = true;
        n = lines->length - position;
    }
    run.n = n < run.n ? n : run.n;
    return run;
}

static void fill_f32(const ln_value *value, const quantize_run *run, int64_t at, int64_t n, float *tile) {
    if (value == NULL) {
        for (int64_t i = 0; i < n; i++) {
            tile[i] = 0;
        }
    } else if (run->steps) {
        ln_load_f32(value->dtype, value->data, run->scale + at, n, tile);
    } else {
        ln_load_f32(value->dtype, value->data, run->scale, 1, tile);
        for (int64_t i = 1; i < n; i++) {
            tile[i] = tile[0];
        }
    }
}

/* Rounds every float to a type of less precision. */
static void round_to(ln_dtype dtype, float *tile, int64_t n) {
    uint16_t half[LN_TILE];
    if (dtype == LN_FLOAT16 || dtype == LN_BFLOAT16) {
        ln_store_f32(dtype, half, 0, n, tile);
        ln_load_f32(dtype, half, 0, n, tile);
    }
}

static void store_quantized(const quantize_params *params, ln_value *y, int64_t first, int64_t n,
                            const float *quotient, const float *zero) {
    if (ln_dtype_is_float(y->dtype)) {
        float sum[LN_TILE];
        for (int64_t i = 0; i < n; i++) {
            sum[i] = quotient[i] + zero[i];
        }
        ln_store_f32_as(y->dtype, y->data, first, n, sum, params->saturate, LN_ROUND_UP);
        return;
    }
    const unsigned bits = ln_dtype_bits(y->dtype);
    const bool is_signed = ln_dtype_is_signed(y->dtype);
    const double low = is_signed ? -ldexp(1, (int)bits - 1) : 0;
    const double high = ldexp(1, (int)bits - (is_signed ? 1 : 0)) - 1;
    int32_t whole[LN_TILE];
    for (int64_t i = 0; i < n; i++) {
        const double value =
            quotient[i] == quotient[i] ? (double)rintf(quotient[i]) + (double)zero[i] : (double)zero[i];
        whole[i] = (int32_t)(value < low ? low : value > high ? high : value);
    }
    ln_store_i32(y->dtype, y->data, first, n, whole);
}

static bool quantize_fast(const ln_op *op, const quantize_run *run) {
    const ln_value *x = ln_in(op, X);
    const ln_value *scale = ln_in(op, SCALE);
    ln_value *y = ln_out(op, 0);
    int32_t zero = 0;
    if (run->steps || x->dtype != LN_FLOAT || scale->dtype != LN_FLOAT ||
        (y->dtype != LN_UINT8 && y->dtype != LN_INT8)) {
        return false;
    }
    if (ln_in(op, ZERO) != NULL) {
        ln_load_i32(y->dtype, ln_in(op, ZERO)->data, run->scale, 1, &zero);
    }
    const float *source = (const float *)x->data + run->first;
    const float factor = ((const float *)scale->data)[run->scale];
    if (y->dtype == LN_UINT8) {
        ln_quantize_u8_f32((uint8_t *)y->data + run->first, source, (size_t)run->n, factor, zero);
    } else {
        ln_quantize_i8_f32((int8_t *)y->data + run->first, source, (size_t)run->n, factor, zero);
    }
    return true;
}

static void quantize_slow(const ln_op *op, const quantize_run *run) {
    const quantize_params *params = op->params;
    const ln_value *x = ln_in(op, X);
    const ln_dtype scale_type = ln_in(op, SCALE)->dtype;
    const ln_dtype precision = params->precision != LN_UNDEFINED ? params->precision : scale_type;
    float quotient[LN_TILE], scale[LN_TILE], zero[LN_TILE];
    for (int64_t at = 0; at < run->n; at += LN_TILE) {
        const int64_t n = run->n - at < LN_TILE ? run->n - at : LN_TILE;
        ln_load_f32(x->dtype, x->data, run->first + at, n, quotient);
        fill_f32(ln_in(op, SCALE), run, at, n, scale);
        fill_f32(ln_in(op, ZERO), run, at, n, zero);
        round_to(precision, quotient, n);
        round_to(precision, scale, n);
        ln_binary_f32[LN_BINARY_DIV](quotient, quotient, 1, scale, 1, (size_t)n);
        round_to(precision, quotient, n);
        store_quantized(params, ln_out(op, 0), run->first + at, n, quotient, zero);
    }
}

static bool dequantize_fast(const ln_op *op, const quantize_run *run) {
    const ln_value *x = ln_in(op, X);
    ln_value *y = ln_out(op, 0);
    const ln_value *scale = ln_in(op, SCALE);
    int32_t zero = 0;
    if (run->steps || y->dtype != LN_FLOAT || scale->dtype != LN_FLOAT) {
        return false;
    }
    if (ln_in(op, ZERO) != NULL) {
        ln_load_i32(x->dtype, ln_in(op, ZERO)->data, run->scale, 1, &zero);
    }
    float *target = (float *)y->data + run->first;
    const float factor = ((const float *)scale->data)[run->scale];
    switch (x->dtype) {
    case LN_UINT8:
        ln_dequantize_u8_f32(target, (const uint8_t *)x->data + run->first, (size_t)run->n, factor, zero);
        return true;
    case LN_INT8:
        ln_dequantize_i8_f32(target, (const int8_t *)x->data + run->first, (size_t)run->n, factor, zero);
        return true;
    case LN_INT32:
        ln_dequantize_i32_f32(target, (const int32_t *)x->data + run->first, (size_t)run->n, factor, zero);
        return true;
    default:
        return false;
    }
}

static void dequantize_slow(const ln_op *op, const quantize_run *run) {
    const ln_value *x = ln_in(op, X);
    ln_value *y = ln_out(op, 0);
    float value[LN_TILE], scale[LN_TILE], zero[LN_TILE];
    for (int64_t at = 0; at < run->n; at += LN_TILE) {
        const int64_t n = run->n - at < LN_TILE ? run->n - at : LN_TILE;
        ln_load_f32(x->dtype, x->data, run->first + at, n, value);
        fill_f32(ln_in(op, SCALE), run, at, n, scale);
        fill_f32(ln_in(op, ZERO), run, at, n, zero);
        ln_binary_f32[LN_BINARY_SUB](value, value, 1, zero, 1, (size_t)n);
        ln_binary_f32[LN_BINARY_MUL](value, value, 1, scale, 1, (size_t)n);
        ln_store_f32(y->dtype, y->data, run->first + at, n, value);
    }
}

static void linear_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const quantize_params *params = op->params;
    const int64_t count = ln_value_count(ln_in(op, X));
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, QUANTIZE_GRAIN), index, &begin, &end);
    while (begin < end) {
        const quantize_run run = run_at(LN_LOCAL(op, quantize_local), begin, end);
        if (params->quantize) {
            if (!quantize_fast(op, &run)) {
                quantize_slow(op, &run);
            }
        } else if (!dequantize_fast(op, &run)) {
            dequantize_slow(op, &run);
        }
        begin += run.n;
    }
}

static ln_status run_linear(ln_op *op) {
    return ln_op_grid(op, linear_task, ln_op_tasks(ln_value_count(ln_in(op, X)), QUANTIZE_GRAIN));
}

/* DynamicQuantizeLinear ------------------------------------------------------------------------------------------- */

typedef struct dynamic_local {
    float scale;
    int32_t zero;
} dynamic_local;

static ln_status infer_dynamic(ln_op *op) {
    (void)LN_LOCAL(op, dynamic_local);
    const ln_shape scalar = ln_shape_scalar();
    LN_TRY(ln_op_shape(op, 0, LN_UINT8, &ln_in(op, X)->shape));
    LN_TRY(ln_op_shape(op, 1, LN_FLOAT, &scalar));
    return ln_op_shape(op, 2, LN_UINT8, &scalar);
}

static void dynamic_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const dynamic_local *local = LN_LOCAL(op, dynamic_local);
    const int64_t count = ln_value_count(ln_in(op, X));
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, QUANTIZE_GRAIN), index, &begin, &end);
    ln_quantize_u8_f32((uint8_t *)ln_out(op, 0)->data + begin, (const float *)ln_in(op, X)->data + begin,
                       (size_t)(end - begin), local->scale, local->zero);
}

static ln_status run_dynamic(ln_op *op) {
    dynamic_local *local = LN_LOCAL(op, dynamic_local);
    const ln_value *x = ln_in(op, X);
    ln_dynamic_range(x->data, (size_t)ln_value_count(x), &local->scale, &local->zero);
    if (ln_out(op, 1) != NULL) {
        *(float *)ln_out(op, 1)->data = local->scale;
    }
    if (ln_out(op, 2) != NULL) {
        *(uint8_t *)ln_out(op, 2)->data = (uint8_t)local->zero;
    }
    if (ln_out(op, 0) == NULL) {
        return LN_OK;
    }
    return ln_op_grid(op, dynamic_task, ln_op_tasks(ln_value_count(x), QUANTIZE_GRAIN));
}

/* Rows -------------------------------------------------------------------------------------------------------------- */

#define T_INT8   (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define T_16_4   (LN_BIT(LN_INT16) | LN_BIT(LN_UINT16) | LN_BIT(LN_INT4) | LN_BIT(LN_UINT4))
#define T_2      (LN_BIT(LN_INT2) | LN_BIT(LN_UINT2))
#define T_Q19    (T_INT8 | LN_T_FLOAT8)
#define T_Q21    (T_Q19 | T_16_4)
#define T_Q23    (T_Q21 | LN_BIT(LN_FLOAT4E2M1))
#define T_Q25    (T_Q23 | T_2)
#define T_SINGLE (LN_BIT(LN_FLOAT) | LN_T_HALF)
#define T_X      (T_SINGLE | LN_BIT(LN_INT32))
#define T_E8M0   LN_BIT(LN_FLOAT8E8M0)
#define T_I32    LN_BIT(LN_INT32)

#define QUANTIZE(since, until, signature, a, b, c)                                                           \
    {"QuantizeLinear", "",           since,      until, signature, {a, b, c},                                \
     build_quantize,   infer_linear, run_linear, NULL,  0,         NULL}
#define DEQUANTIZE(since, until, signature, a, b, c)                                                         \
    {"DequantizeLinear", "",           since,      until, signature, {a, b, c},                              \
     build_dequantize,   infer_linear, run_linear, NULL,  0,         NULL}

static const ln_op_row rows[] = {
    QUANTIZE(10, 18, "AfB?>B", LN_BIT(LN_FLOAT) | T_I32, T_INT8, 0),
    QUANTIZE(19, 20, "AAB?>B", T_X, T_Q19, 0),
    QUANTIZE(21, 22, "AAB?>B", T_X, T_Q21, 0),
    QUANTIZE(23, 23, "ABC?>C", T_X, T_X, T_Q23),
    QUANTIZE(24, 24, "ABC?>C", T_X, T_X | T_E8M0, T_Q23),
    QUANTIZE(25, 27, "ABC?>C", T_X, T_X | T_E8M0, T_Q25),
    QUANTIZE(28, LN_OPEN, "ABC?>C", T_X, T_X | T_E8M0, T_Q25 | LN_T_FLOAT6),
    DEQUANTIZE(10, 18, "ABA?>B", T_INT8 | T_I32, LN_BIT(LN_FLOAT), 0),
    DEQUANTIZE(19, 20, "ABA?>B", T_Q19 | T_I32, T_SINGLE, 0),
    DEQUANTIZE(21, 22, "ABA?>B", T_Q21 | T_I32, T_SINGLE, 0),
    DEQUANTIZE(23, 23, "ABA?>C", T_Q23 | T_I32, T_SINGLE, T_SINGLE),
    DEQUANTIZE(24, 24, "ABA?>C", T_Q23 | T_I32, T_SINGLE | T_E8M0, T_SINGLE),
    DEQUANTIZE(25, 27, "ABA?>C", T_Q25 | T_I32, T_SINGLE | T_E8M0, T_SINGLE),
    DEQUANTIZE(28, LN_OPEN, "ABA?>C", T_Q25 | LN_T_FLOAT6 | T_I32, T_SINGLE | T_E8M0, T_SINGLE),
    {"QuantizeLinear",
     "com.microsoft",
     1,
     LN_OPEN,
     "ABC?>C",
     {T_X, T_SINGLE, T_Q21},
     build_quantize,
     infer_linear,
     run_linear,
     NULL,
     0,
     NULL},
    {"DequantizeLinear",
     "com.microsoft",
     1,
     LN_OPEN,
     "ABA?>C",
     {T_Q21 | T_I32, T_SINGLE, T_SINGLE},
     build_dequantize,
     infer_linear,
     run_linear,
     NULL,
     0,
     NULL},
    {"DynamicQuantizeLinear",
     "",
     11,
     LN_OPEN,
     "f>ufu",
     {0},
     ln_build_nothing,
     infer_dynamic,
     run_dynamic,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(quantize, rows);
