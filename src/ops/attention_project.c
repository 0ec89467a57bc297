/* com.microsoft attention that projects its input itself: Attention and QAttention.
 *
 * X [B,S,I] times W [I,Wq+Wk+Wv] plus a bias gives queries, keys and values side by side in scratch, by GEMM; attention_core.c does
 * the rest. Constant weights are packed at load. Halves, and the 8-bit operands of QAttention, are converted to float32
 * before the product: a difference of two bytes is exact there. Past and present are [2,B,N,length,H], keys first. Y is
 * [B,S,Wv].
 */
#include <math.h>

#include "ops/attention_core.h"
#include "ops/lines.h"
#include "ops/stage.h"
#include "simd/kernels.h"

enum { X, W, BIAS, OPERANDS, NONE = -1, CONVERT_GRAIN = 16384 };

/* Where the inputs stand after X, W and the bias. */
typedef struct project_inputs {
    bool quantized;
    int8_t mask, past, score_bias, past_length;
    int8_t scale[OPERANDS], zero[OPERANDS];
} project_inputs;

static const project_inputs plain_inputs = {false, 3, 4, 5, 6, {NONE, NONE, NONE}, {NONE, NONE, NONE}};
static const project_inputs quantized_inputs = {true, 5, 8, NONE, NONE, {3, 4, NONE}, {6, 7, NONE}};

typedef struct project_params {
    const project_inputs *at;
    int64_t heads;
    int64_t widths[3]; /* of queries, keys and values; 0 where they are equal parts */
    float scale, hidden;
    bool causal;
} project_params;

typedef struct project_local {
    ln_attention core;
    int64_t in, width;        /* columns of X, of W */
    size_t offsets[OPERANDS]; /* of converted operands in scratch */
    size_t product;           /* of the product in scratch */
    size_t tasks;
} project_local;

/* ---- Build ---- */

static ln_status build_project(ln_build *build, const project_inputs *at) {
    project_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return ln_build_status(build);
    }
    int count = 0;
    const int64_t *widths = ln_attr_ints(build, "qkv_hidden_sizes", &count);
    ln_attr_required(build, "num_heads");
    params->at = at;
    params->heads = ln_attr_int(build, "num_heads", 0);
    params->scale = ln_attr_float(build, "scale", 0);
    params->hidden = ln_attr_float(build, "mask_filter_value", -10000);
    params->causal = ln_attr_bool(build, "unidirectional", false);
    LN_TRY(ln_build_status(build));
    if (params->heads <= 0 || (count != 0 && count != 3)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "num_heads must be positive and qkv_hidden_sizes have 3 numbers");
    }
    for (int i = 0; i < count; i++) {
        params->widths[i] = widths[i];
        if (widths[i] <= 0 || widths[i] % params->heads != 0 || (i == 1 && widths[1] != widths[0])) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "qkv_hidden_sizes %lld does not fit %lld heads",
                                 (long long)widths[i], (long long)params->heads);
        }
    }
    if (ln_attr_bool(build, "do_rotary", false)) {
        return ln_build_fail(
            build, LN_UNSUPPORTED,
            "do_rotary is set: only RotaryEmbedding and GroupQueryAttention turn by position");
    }
    if (ln_attr_bool(build, "past_present_share_buffer", false)) {
        return ln_build_fail(build, LN_UNSUPPORTED,
                             "past_present_share_buffer is set: only MultiHeadAttention takes such a cache");
    }
    return ln_build_status(build);
}

static ln_status build_plain(ln_build *build) {
    return build_project(build, &plain_inputs);
}

static ln_status build_quantized(ln_build *build) {
    return build_project(build, &quantized_inputs);
}

/* ---- Operands as float32 ---- */

static const ln_value *input_at(const ln_op *op, int index) {
    return index == NONE ? NULL : ln_in(op, index);
}

static bool is_staged(const ln_op *op, int operand) {
    const ln_value *value = ln_in(op, operand);
    return value && value->dtype != LN_FLOAT && !(operand == W && op->packed);
}

/* One number, or the one that belongs to a column. */
static float number_of(const ln_value *value, int64_t column) {
    float number = 0;
    ln_load_f32(value->dtype, value->data, ln_value_count(value) == 1 ? 0 : column, 1, &number);
    return number;
}

/* Elements [first, first + n) of an operand: (value - zero) * scale. */
static void convert(const ln_op *op, int operand, int64_t first, int64_t n, float *floats) {
    const project_params *params = op->params;
    const ln_value *value = ln_in(op, operand);
    const ln_value *scale = input_at(op, params->at->scale[operand]);
    const ln_value *zero = input_at(op, params->at->zero[operand]);
    const int64_t columns = value->shape.dims[value->shape.rank - 1];
    ln_load_f32(value->dtype, value->data, first, n, floats + first);
    for (int64_t i = first; scale && i < first + n; i++) {
        const int64_t column = i % columns;
        floats[i] = (floats[i] - (zero ? number_of(zero, column) : 0)) * number_of(scale, column);
    }
}

static int64_t convert_chunks(const ln_op *op, int operand) {
    return is_staged(op, operand) ? (ln_value_count(ln_in(op, operand)) + CONVERT_GRAIN - 1) / CONVERT_GRAIN
                                  : 0;
}

static float *staged(const ln_op *op, int operand) {
    const project_local *p = LN_LOCAL(op, project_local);
    return (float *)(void *)((char *)op->scratch + p->offsets[operand]);
}

static void convert_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    int operand = X;
    while (index >= convert_chunks(op, operand)) {
        index -= convert_chunks(op, operand++);
    }
    const int64_t first = index * CONVERT_GRAIN;
    const int64_t rest = ln_value_count(ln_in(op, operand)) - first;
    convert(op, operand, first, rest < CONVERT_GRAIN ? rest : CONVERT_GRAIN, staged(op, operand));
}

static const float *floats_of(const ln_op *op, int operand) {
    const ln_value *value = ln_in(op, operand);
    return !value ? NULL : value->dtype == LN_FLOAT ? value->data : staged(op, operand);
}

/* ---- The product ---- */

static ln_gemm_f32_args product_args(const ln_op *op) {
    const project_local *p = LN_LOCAL(op, project_local);
    return (ln_gemm_f32_args){.m = (size_t)(p->core.batches * p->core.queries),
                              .n = (size_t)p->width,
                              .k = (size_t)p->in,
                              .a_row_stride = (size_t)p->in,
                              .a_col_stride = 1,
                              .b_row_stride = (size_t)p->width,
                              .b_col_stride = 1,
                              .b_is_packed = op->packed != NULL,
                              .c_row_stride = (size_t)p->width,
                              .alpha = 1,
                              .beta = 1,
                              .bias_col_stride = 1};
}

static void product_task(ln_op *op, int64_t index, void *scratch) {
    const project_local *p = LN_LOCAL(op, project_local);
    ln_gemm_f32_args args = product_args(op);
    args.a = floats_of(op, X);
    args.b = op->packed ? op->packed : floats_of(op, W);
    args.bias = floats_of(op, BIAS);
    args.c = (float *)(void *)((char *)op->scratch + p->product);
    ln_gemm_f32.task(&args, (size_t)index, scratch);
}

static ln_status multiply(ln_op *op) {
    return ln_op_grid_then(op, product_task, (int64_t)LN_LOCAL(op, project_local)->tasks, ln_attention_run);
}

/* ---- Infer ---- */

static ln_status infer_widths(ln_op *op, project_local *p, int64_t *widths) {
    const project_params *params = op->params;
    const ln_value *bias = ln_in(op, BIAS);
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *w = &ln_in(op, W)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank == 3 && w->rank == 2 && x->dims[2] == w->dims[0], INVALID_SHAPE,
                "an input of shape %s does not fit weights of shape %s", ln_shape_text(x, text[0]),
                ln_shape_text(w, text[1]));
    p->in = w->dims[0];
    p->width = w->dims[1];
    for (int i = 0; i < 3; i++) {
        widths[i] = params->widths[0] > 0 ? params->widths[i] : p->width / 3;
    }
    LN_OP_CHECK(op, widths[0] + widths[1] + widths[2] == p->width && widths[0] % params->heads == 0,
                INVALID_SHAPE, "weights of %lld columns do not make queries, keys and values of %lld heads",
                (long long)p->width, (long long)params->heads);
    LN_OP_CHECK(op, !bias || ln_value_count(bias) == p->width, INVALID_SHAPE,
                "the bias has %lld numbers, expected %lld", (long long)ln_value_count(bias),
                (long long)p->width);
    for (int i = X; params->at->quantized && i < BIAS; i++) {
        for (int which = 0; which < 2; which++) {
            const ln_value *value = input_at(op, which ? params->at->zero[i] : params->at->scale[i]);
            const int64_t count = value ? ln_value_count(value) : 1;
            LN_OP_CHECK(op, count == 1 || (i == W && count == p->width), INVALID_SHAPE,
                        "a scale or zero point has %lld numbers", (long long)count);
        }
    }
    return LN_OK;
}

/* Past and present: keys, then values, of the same size. */
static ln_status infer_cache(ln_op *op) {
    const project_params *params = op->params;
    ln_attention *a = &LN_LOCAL(op, project_local)->core;
    const ln_value *past = input_at(op, params->at->past);
    char text[LN_SHAPE_TEXT_BYTES];
    if (past) {
        const int64_t *dims = past->shape.dims;
        LN_OP_CHECK(op,
                    past->shape.rank == 5 && dims[0] == 2 && dims[1] == a->batches && dims[2] == a->heads &&
                        dims[4] == a->head && a->head == a->head_v,
                    INVALID_SHAPE, "the past of shape %s does not fit [2,%lld,%lld,past,%lld]",
                    ln_shape_text(&past->shape, text), (long long)a->batches, (long long)a->heads,
                    (long long)a->head);
        a->past = dims[3];
        a->past_k = a->past_v = ln_heads_split(past->dtype, a->heads, a->past, a->head);
        a->past_v.first = a->batches * a->past_v.batch;
    }
    a->keys = a->past + a->fresh;
    if (ln_out(op, 1)) {
        LN_OP_CHECK(op, a->head == a->head_v, INVALID_SHAPE,
                    "a present output needs keys and values of one size");
        a->present_k = a->present_v = ln_heads_split(a->y.dtype, a->heads, a->keys, a->head);
        a->present_v.first = a->batches * a->present_v.batch;
    }
    const ln_shape shape = {5, {2, a->batches, a->heads, a->keys, a->head}};
    return ln_op_shape(op, 1, a->y.dtype, &shape);
}

static ln_status infer_scratch(ln_op *op) {
    project_local *p = LN_LOCAL(op, project_local);
    const int64_t dims[] = {p->core.batches, p->core.queries, p->width};
    const ln_shape product = ln_shape_of(3, dims);
    size_t total = 0;
    for (int i = X; i <= OPERANDS; i++) {
        size_t bytes = i == OPERANDS      ? ln_stage_bytes(ln_shape_count(&product))
                       : is_staged(op, i) ? ln_stage_bytes(ln_value_count(ln_in(op, i)))
                                          : 0;
        *(i == OPERANDS ? &p->product : &p->offsets[i]) = total;
        LN_OP_CHECK(op, bytes < SIZE_MAX / 4 - total, LIMIT_EXCEEDED, "the operands are too large");
        total += bytes;
    }
    op->scratch_bytes = total;
    LN_TRY(ln_attention_plan(op));
    const ln_gemm_f32_args args = product_args(op);
    p->tasks = ln_gemm_f32.task_count(&args);
    const size_t own = ln_gemm_f32.scratch_bytes(&args);
    op->task_scratch_bytes = own > op->task_scratch_bytes ? own : op->task_scratch_bytes;
    return LN_OK;
}

static ln_status infer_project(ln_op *op) {
    const project_params *params = op->params;
    project_local *p = LN_LOCAL(op, project_local);
    ln_attention *a = &p->core;
    int64_t widths[3];
    *p =
        (project_local){.core = {.heads = params->heads, .kv_heads = params->heads, .left = -1, .right = -1}};
    LN_OP_CHECK(op, !input_at(op, params->at->past_length), UNSUPPORTED,
                "past_sequence_length needs past_present_share_buffer, which only MultiHeadAttention takes");
    LN_TRY(infer_widths(op, p, widths));
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_dtype dtype = params->at->quantized ? ln_in(op, BIAS)->dtype : ln_in(op, X)->dtype;
    a->batches = x->dims[0];
    a->queries = a->fresh = x->dims[1];
    a->head = widths[0] / params->heads;
    a->head_v = widths[2] / params->heads;
    a->scale = params->scale != 0 ? params->scale : 1 / sqrtf((float)a->head);
    a->hidden = params->hidden;
    a->causal = params->causal;
    a->q = ln_heads_joined(LN_FLOAT, a->queries, p->width, 0, a->head);
    a->k = ln_heads_joined(LN_FLOAT, a->queries, p->width, widths[0], a->head);
    a->v = ln_heads_joined(LN_FLOAT, a->queries, p->width, widths[0] + widths[1], a->head_v);
    a->y = ln_heads_joined(dtype, a->queries, widths[2], 0, a->head_v);
    const ln_shape y = {3, {a->batches, a->queries, widths[2]}};
    LN_TRY(ln_op_shape(op, 0, dtype, &y));
    LN_TRY(infer_cache(op));
    LN_TRY(ln_attention_add_key_mask(op, params->at->mask, 1));
    if (params->at->score_bias != NONE) {
        LN_TRY(ln_attention_add_mask(op, params->at->score_bias, 0));
    }
    return infer_scratch(op);
}

/* ---- Run and pack ---- */

static ln_status run_project(ln_op *op) {
    const project_params *params = op->params;
    project_local *p = LN_LOCAL(op, project_local);
    ln_attention *a = &p->core;
    a->q.data = a->k.data = a->v.data = (char *)op->scratch + p->product;
    ln_heads_bind(&a->past_k, input_at(op, params->at->past));
    ln_heads_bind(&a->past_v, input_at(op, params->at->past));
    ln_heads_bind(&a->y, ln_out(op, 0));
    ln_heads_bind(&a->present_k, ln_out(op, 1));
    ln_heads_bind(&a->present_v, ln_out(op, 1));
    ln_attention_bind_mask(op, params->at->mask, 1);
    if (params->at->score_bias != NONE) {
        ln_attention_bind_mask(op, params->at->score_bias, 0);
    }
    const int64_t chunks = convert_chunks(op, X) + convert_chunks(op, W) + convert_chunks(op, BIAS);
    return chunks > 0 ? ln_op_grid_then(op, convert_task, chunks, multiply) : multiply(op);
}

static bool is_known(const ln_op *op, int index) {
    return !input_at(op, index) || input_at(op, index)->data;
}

static ln_status pack_project(ln_op *op) {
    const project_params *params = op->params;
    const ln_value *w = ln_in(op, W);
    if (!w || !w->data || w->shape.rank != 2 || !is_known(op, params->at->scale[W]) ||
        !is_known(op, params->at->zero[W])) {
        return LN_OK;
    }
    const size_t k = (size_t)w->shape.dims[0];
    const size_t n = (size_t)w->shape.dims[1];
    const int64_t count = ln_value_count(w);
    for (int i = 0; i < 2; i++) { /* infer says what is wrong with these */
        const ln_value *value = input_at(op, i ? params->at->zero[W] : params->at->scale[W]);
        if (value && ln_value_count(value) != 1 && ln_value_count(value) != w->shape.dims[1]) {
            return LN_OK;
        }
    }
    float *packed = ln_alloc(op->context, ln_gemm_f32.packed_b_bytes(k, n), LN_MEMORY_WEIGHTS);
    float *floats = w->data;
    if (packed && w->dtype != LN_FLOAT) {
        floats = ln_alloc(op->context, ln_stage_bytes(count), LN_MEMORY_SCRATCH);
        if (floats) {
            convert(op, W, 0, count, floats);
        }
    }
    if (!packed || !floats) {
        ln_free(op->context, packed);
        return LN_OUT_OF_MEMORY;
    }
    ln_gemm_f32.pack_b(packed, floats, n, 1, k, n);
    if (floats != w->data) {
        ln_free(op->context, floats);
    }
    op->packed = packed;
    op->consumed = 1U << W;
    return LN_OK;
}

/* ---- Rows ---- */

#define BYTES  (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define HALVES (LN_BIT(LN_FLOAT) | LN_T_HALF)
static const ln_op_row rows[] = {
    {"Attention",
     "com.microsoft",
     1,
     LN_OPEN,
     "AAA?i?A?A?i?>AA?",
     {HALVES},
     build_plain,
     infer_project,
     run_project,
     pack_project,
     0,
     NULL},
    {"QAttention",
     "com.microsoft",
     1,
     LN_OPEN,
     "ABCCCi?A?B?C?>CC?",
     {BYTES, BYTES, HALVES},
     build_quantized,
     infer_project,
     run_project,
     pack_project,
     0,
     NULL},
};
LN_FAMILY_TABLE(attention_project, rows);
