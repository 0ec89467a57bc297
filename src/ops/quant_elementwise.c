/* Elementwise and pooling operators on 8-bit tensors, of com.microsoft: QLinearAdd, QLinearMul, QLinearSigmoid,
 * QLinearLeakyRelu, QLinearSoftmax, QLinearConcat, QLinearAveragePool and QLinearGlobalAveragePool.
 *
 * Each dequantises, computes in float32 and quantises again. A function of one element is a table of its 256 values. Every
 * tensor has one scale and one zero point, which may be absent and is then 0.
 */
#include <math.h>
#include <string.h>

#include "ops/lines.h"
#include "ops/window.h"
#include "simd/vector.h"

enum { QUANT_GRAIN = 16384, CODES = 256 };

/* A scale and a zero point. */
typedef struct linear {
    float scale;
    int32_t zero;
} linear;

static linear linear_at(const ln_op *op, int scale, int zero) {
    linear result = {1, 0};
    ln_load_f32(ln_in(op, scale)->dtype, ln_in(op, scale)->data, 0, 1, &result.scale);
    if (ln_in(op, zero) != NULL) {
        ln_load_i32(ln_in(op, zero)->dtype, ln_in(op, zero)->data, 0, 1, &result.zero);
    }
    return result;
}

static ln_status check_linear(ln_op *op, int scale, int zero) {
    for (int i = 0; i < 2; i++) {
        const int index = i == 0 ? scale : zero;
        const ln_value *value = ln_in(op, index);
        LN_OP_CHECK(op, value == NULL || (value->kind == LN_KIND_TENSOR && ln_value_count(value) == 1),
                    INVALID_SHAPE, "input %d must be one number", index);
    }
    return LN_OK;
}

/* n elements from `first` on; a stride of 0 repeats the first. */
static void load_linear(const ln_value *x, linear by, int64_t first, int64_t stride, int64_t n, float *tile) {
    const int64_t count = stride == 0 ? 1 : n;
    if (x->dtype == LN_UINT8) {
        ln_dequantize_u8_f32(tile, (const uint8_t *)x->data + first, (size_t)count, by.scale, by.zero);
    } else {
        ln_dequantize_i8_f32(tile, (const int8_t *)x->data + first, (size_t)count, by.scale, by.zero);
    }
    for (int64_t i = count; i < n; i++) {
        tile[i] = tile[0];
    }
}

static void store_linear(ln_value *y, linear by, int64_t first, int64_t n, const float *tile) {
    if (y->dtype == LN_UINT8) {
        ln_quantize_u8_f32((uint8_t *)y->data + first, tile, (size_t)n, by.scale, by.zero);
    } else {
        ln_quantize_i8_f32((int8_t *)y->data + first, tile, (size_t)n, by.scale, by.zero);
    }
}

/* QLinearAdd and QLinearMul: A, its scale and zero, B, its scale and zero, the output's scale and zero -------------- */

typedef struct pair_params {
    enum ln_binary code;
} pair_params;

static ln_status build_pair(ln_build *build) {
    pair_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->code = strcmp(build->node->op_type, "QLinearAdd") == 0 ? LN_BINARY_ADD : LN_BINARY_MUL;
    }
    return ln_build_status(build);
}

static ln_status infer_pair(ln_op *op) {
    ln_shape shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_TRY(check_linear(op, 1, 2));
    LN_TRY(check_linear(op, 4, 5));
    LN_TRY(check_linear(op, 6, 7));
    LN_OP_CHECK(op, ln_shape_broadcast(&ln_in(op, 0)->shape, &ln_in(op, 3)->shape, &shape), INVALID_SHAPE,
                "shapes %s and %s do not broadcast", ln_shape_text(&ln_in(op, 0)->shape, text[0]),
                ln_shape_text(&ln_in(op, 3)->shape, text[1]));
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

typedef struct pair_run {
    const ln_value *a, *b;
    ln_value *y;
    linear a_by, b_by, y_by;
    int64_t a_stride, b_stride;
    ln_binary_fn *run;
} pair_run;

static void visit_pair(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const pair_run *run = argument;
    float a[LN_TILE], b[LN_TILE];
    for (int64_t at = 0; at < n; at += LN_TILE) {
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        load_linear(run->a, run->a_by, offsets[0] + at * run->a_stride, run->a_stride, count, a);
        load_linear(run->b, run->b_by, offsets[1] + at * run->b_stride, run->b_stride, count, b);
        run->run(a, a, 1, b, 1, (size_t)count);
        store_linear(run->y, run->y_by, output + at, count, a);
    }
}

static void pair_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    const ln_shape *const shapes[] = {&ln_in(op, 0)->shape, &ln_in(op, 3)->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &y->shape, 2, shapes);
    pair_run run = {ln_in(op, 0),
                    ln_in(op, 3),
                    y,
                    linear_at(op, 1, 2),
                    linear_at(op, 4, 5),
                    linear_at(op, 6, 7),
                    walk.strides[0][walk.rank - 1],
                    walk.strides[1][walk.rank - 1],
                    ln_binary_f32[((const pair_params *)op->params)->code]};
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, QUANT_GRAIN), index, &begin, &end);
    ln_broadcast_each(&walk, begin, end, visit_pair, &run);
}

static ln_status run_pair(ln_op *op) {
    return ln_op_grid(op, pair_task, ln_op_tasks(ln_value_count(ln_out(op, 0)), QUANT_GRAIN));
}

/* One element in, one out: X, its scale and zero, the output's scale and zero ------------------------------------------ */

typedef struct single_params {
    enum ln_unary code;
    float alpha;
} single_params;

static ln_status build_single(ln_build *build) {
    single_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        const bool leaky = strcmp(build->node->op_type, "QLinearLeakyRelu") == 0;
        params->code = leaky ? LN_UNARY_LEAKY_RELU : LN_UNARY_SIGMOID;
        params->alpha = leaky ? ln_attr_float(build, "alpha", 0.01f) : 0;
    }
    return ln_build_status(build);
}

static ln_status infer_single(ln_op *op) {
    LN_TRY(check_linear(op, 1, 2));
    LN_TRY(check_linear(op, 3, 4));
    return ln_infer_same(op);
}

/* The value of every code, by its bits. */
static void fill_table(ln_value *codes, linear from, linear to, enum ln_unary code, float alpha,
                       uint8_t *table) {
    uint8_t all[CODES];
    float tile[CODES];
    for (int i = 0; i < CODES; i++) {
        all[i] = (uint8_t)i;
    }
    codes->data = all;
    load_linear(codes, from, 0, 1, CODES, tile);
    if (code != LN_UNARY_COUNT) {
        ln_unary_f32[code](tile, tile, CODES, alpha, 0);
    }
    codes->data = table;
    store_linear(codes, to, 0, CODES, tile);
}

static void look_up(const uint8_t *table, const uint8_t *src, uint8_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        dst[i] = table[src[i]];
    }
}

static ln_status run_single(ln_op *op) {
    const single_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_value codes = ln_value_header(x->dtype, &x->shape);
    uint8_t table[CODES];
    fill_table(&codes, linear_at(op, 1, 2), linear_at(op, 3, 4), params->code, params->alpha, table);
    look_up(table, x->data, ln_out(op, 0)->data, ln_value_count(x));
    return LN_OK;
}

/* QLinearSoftmax ----------------------------------------------------------------------------------------------------- */

typedef struct softmax_params {
    int64_t axis;
    bool flattened;
} softmax_params;

static ln_status build_softmax(ln_build *build) {
    softmax_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->axis = ln_attr_int(build, "axis", 0);
        params->flattened = ln_attr_int(build, "opset", 13) < 13;
    }
    return ln_build_status(build);
}

static ln_status infer_softmax(ln_op *op) {
    const softmax_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    int axis;
    LN_TRY(infer_single(op));
    LN_TRY(ln_op_axis(op, params->axis, x->rank, &axis));
    const ln_lines lines = ln_lines_of(x, axis, params->flattened ? x->rank : axis + 1);
    LN_OP_CHECK(op, lines.length < (int64_t)(SIZE_MAX / 16), LIMIT_EXCEEDED, "the axis is too long");
    *LN_LOCAL(op, ln_lines) = lines;
    op->task_scratch_bytes = (size_t)lines.length * sizeof(float);
    return LN_OK;
}

static void softmax_task(ln_op *op, int64_t index, void *scratch) {
    const ln_lines *lines = LN_LOCAL(op, ln_lines);
    const linear from = linear_at(op, 1, 2);
    const linear to = linear_at(op, 3, 4);
    float *line = scratch;
    int64_t begin, end;
    ln_line_range(lines, index, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        for (int64_t c = 0; c < block.columns; c++) {
            for (int64_t i = 0; i < lines->length; i++) {
                load_linear(ln_in(op, 0), from, block.first + c + i * lines->inner, 1, 1, &line[i]);
            }
            ln_softmax_rows_f32(line, line, 1, (size_t)lines->length, 1.0f, NULL, 0);
            for (int64_t i = 0; i < lines->length; i++) {
                store_linear(ln_out(op, 0), to, block.first + c + i * lines->inner, 1, &line[i]);
            }
        }
    }
}

static ln_status run_softmax(ln_op *op) {
    return ln_value_count(ln_in(op, 0)) == 0
               ? LN_OK
               : ln_op_grid(op, softmax_task, ln_line_tasks(LN_LOCAL(op, ln_lines)));
}

/* QLinearConcat: the output's scale and zero, then each input with its own ------------------------------------------------- */

typedef struct concat_params {
    int64_t axis;
} concat_params;

static ln_status build_concat(ln_build *build) {
    concat_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        ln_attr_required(build, "axis");
        params->axis = ln_attr_int(build, "axis", 0);
    }
    return ln_build_status(build);
}

static ln_status infer_concat(ln_op *op) {
    const concat_params *params = op->params;
    LN_OP_CHECK(op, op->n_inputs >= 5 && op->n_inputs % 3 == 2, INVALID_GRAPH,
                "the inputs must be a scale and a zero point, then three for each tensor; there are %d",
                op->n_inputs);
    LN_TRY(check_linear(op, 0, 1));
    ln_shape shape;
    int axis = 0;
    for (int i = 2; i < op->n_inputs; i += 3) {
        const ln_value *x = ln_in(op, i);
        char text[2][LN_SHAPE_TEXT_BYTES];
        LN_OP_CHECK(
            op, x != NULL && (x->dtype == LN_UINT8 || x->dtype == LN_INT8) && x->dtype == ln_in(op, 2)->dtype,
            INVALID_TYPE, "input %d must be uint8 or int8 like the others", i);
        LN_TRY(check_linear(op, i + 1, i + 2));
        if (i == 2) {
            shape = x->shape;
            LN_TRY(ln_op_axis(op, params->axis, shape.rank, &axis));
            continue;
        }
        ln_shape other = x->shape;
        if (other.rank == shape.rank) {
            shape.dims[axis] += other.dims[axis];
            other.dims[axis] = shape.dims[axis];
        }
        LN_OP_CHECK(op, ln_shape_equal(&shape, &other), INVALID_SHAPE,
                    "input %d of shape %s does not continue %s", i, ln_shape_text(&x->shape, text[0]),
                    ln_shape_text(&ln_in(op, 2)->shape, text[1]));
    }
    LN_LOCAL(op, ln_lines)->length = axis;
    return ln_op_shape(op, 0, ln_in(op, 2)->dtype, &shape);
}

static ln_status run_concat(ln_op *op) {
    const int axis = (int)LN_LOCAL(op, ln_lines)->length;
    ln_value *y = ln_out(op, 0);
    const ln_lines whole = ln_lines_of(&y->shape, axis, axis + 1);
    int64_t at = 0;
    for (int i = 2; i < op->n_inputs; i += 3) {
        const ln_value *x = ln_in(op, i);
        ln_value codes = ln_value_header(x->dtype, &x->shape);
        uint8_t table[CODES];
        fill_table(&codes, linear_at(op, i + 1, i + 2), linear_at(op, 0, 1), LN_UNARY_COUNT, 0, table);
        const int64_t run = x->shape.dims[axis] * whole.inner;
        for (int64_t o = 0; o < whole.outer; o++) {
            look_up(table, (const uint8_t *)x->data + o * run,
                    (uint8_t *)y->data + o * whole.length * whole.inner + at, run);
        }
        at += run;
    }
    return LN_OK;
}

/* QLinearAveragePool and QLinearGlobalAveragePool ----------------------------------------------------------------------- */

typedef struct pool_params {
    ln_window window;
    bool global, channels_last, count_include_pad;
} pool_params;

static ln_status build_pool(ln_build *build) {
    pool_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->global = strcmp(build->node->op_type, "QLinearGlobalAveragePool") == 0;
    params->channels_last = ln_attr_bool(build, "channels_last", false);
    params->count_include_pad = ln_attr_bool(build, "count_include_pad", false);
    return params->global ? ln_build_status(build) : ln_window_build(build, &params->window);
}

/* The geometry of a plane; missing axes have size 1. */
static void set_pooling(const ln_window_shape *s, struct ln_pooling *pooling) {
    for (int i = 0; i < 3; i++) {
        const int own = i - (3 - s->rank);
        const bool real = own >= 0;
        pooling->in[i] = real ? s->in[own] : 1;
        pooling->out[i] = real ? s->out[own] : 1;
        pooling->kernel[i] = real ? s->kernel[own] : 1;
        pooling->stride[i] = real ? s->stride[own] : 1;
        pooling->dilation[i] = real ? s->dilation[own] : 1;
        pooling->pad_begin[i] = real ? s->pad_begin[own] : 0;
        pooling->pad_end[i] = real ? s->pad_end[own] : 0;
    }
}

static ln_status infer_pool(ln_op *op) {
    const pool_params *params = op->params;
    struct ln_pooling *pooling = LN_LOCAL(op, struct ln_pooling);
    ln_shape x = ln_in(op, 0)->shape;
    LN_TRY(check_linear(op, 1, 2));
    LN_TRY(check_linear(op, 3, 4));
    LN_OP_CHECK(op, x.rank >= 3 && x.rank <= 5, INVALID_SHAPE,
                "the input must have rank 3 to 5, it has rank %d", (int)x.rank);
    const int64_t channels = x.dims[params->channels_last ? x.rank - 1 : 1];
    if (params->channels_last) {
        memmove(&x.dims[2], &x.dims[1], (size_t)(x.rank - 2) * sizeof(x.dims[0]));
        x.dims[1] = channels;
    }
    ln_window_shape s = {0};
    if (params->global) {
        s.rank = x.rank - 2;
        for (int i = 0; i < s.rank; i++) {
            s.in[i] = s.kernel[i] = x.dims[2 + i];
            s.out[i] = s.stride[i] = s.dilation[i] = 1;
        }
    } else {
        LN_TRY(ln_window_resolve(op, &params->window, &x, NULL, &s));
    }
    set_pooling(&s, pooling);
    const int64_t in = ln_shape_product(&x, 2, x.rank);
    for (int i = 0; i < s.rank; i++) {
        x.dims[params->channels_last ? 1 + i : 2 + i] = s.out[i];
    }
    x.dims[params->channels_last ? x.rank - 1 : 1] = channels;
    const int64_t out = pooling->out[0] * pooling->out[1] * pooling->out[2];
    LN_OP_CHECK(op, in < INT32_MAX / 8 && out < INT32_MAX / 8, LIMIT_EXCEEDED, "the planes are too large");
    op->task_scratch_bytes = (size_t)(in + out) * sizeof(float);
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &x);
}

static void pool_task(ln_op *op, int64_t index, void *scratch) {
    const pool_params *params = op->params;
    const struct ln_pooling *pooling = LN_LOCAL(op, struct ln_pooling);
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t in = pooling->in[0] * pooling->in[1] * pooling->in[2];
    const int64_t out = pooling->out[0] * pooling->out[1] * pooling->out[2];
    const int64_t channels = x->shape.dims[params->channels_last ? x->shape.rank - 1 : 1];
    const int64_t step = params->channels_last ? channels : 1;
    const int64_t x_first =
        params->channels_last ? index / channels * channels * in + index % channels : index * in;
    const int64_t y_first =
        params->channels_last ? index / channels * channels * out + index % channels : index * out;
    float *source = scratch;
    float *target = source + in;
    for (int64_t i = 0; i < (step == 1 ? 1 : in); i++) {
        load_linear(x, linear_at(op, 1, 2), x_first + i * step, 1, step == 1 ? in : 1, source + i);
    }
    ln_average_pool_plane_f32(target, source, pooling, params->count_include_pad);
    for (int64_t i = 0; i < (step == 1 ? 1 : out); i++) {
        store_linear(y, linear_at(op, 3, 4), y_first + i * step, step == 1 ? out : 1, target + i);
    }
}

static ln_status run_pool(ln_op *op) {
    const pool_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    if (ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, pool_task, x->dims[0] * x->dims[params->channels_last ? x->rank - 1 : 1]);
}

/* Rows ------------------------------------------------------------------------------------------------------------------- */

#define T_INT8 (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define QUANT(name, signature, build, infer, run, flags)                                                     \
    { name, "com.microsoft", 1, LN_OPEN, signature, {T_INT8}, build, infer, run, NULL, flags, NULL }

static const ln_op_row rows[] = {
    QUANT("QLinearAdd", "AfA?AfA?fA?>A", build_pair, infer_pair, run_pair, LN_OP_INPLACE_0),
    QUANT("QLinearMul", "AfA?AfA?fA?>A", build_pair, infer_pair, run_pair, LN_OP_INPLACE_0),
    QUANT("QLinearSigmoid", "AfA?fA?>A", build_single, infer_single, run_single, LN_OP_INPLACE_0),
    QUANT("QLinearLeakyRelu", "AfA?fA?>A", build_single, infer_single, run_single, LN_OP_INPLACE_0),
    QUANT("QLinearSoftmax", "AfA?fA?>A", build_softmax, infer_softmax, run_softmax, 0),
    QUANT("QLinearConcat", "fA.+>A", build_concat, infer_concat, run_concat, 0),
    QUANT("QLinearAveragePool", "AfA?fA?>A", build_pool, infer_pool, run_pool, 0),
    QUANT("QLinearGlobalAveragePool", "AfA?fA?>A", build_pool, infer_pool, run_pool, 0),
};

LN_FAMILY_TABLE(quant_elementwise, rows);
