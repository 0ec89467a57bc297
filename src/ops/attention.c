/* Attention of the standard: masks, past and present keys, grouped heads, windows, outputs of scores.
 *
 * Q [B,Hq,S,D], K [B,Hkv,L,D], V [B,Hkv,L,Dv], or with 3 axes [B,S,Hq*D] and the like; Y as Q. The past comes before K and
 * V and makes the present outputs. Query i is key number offset + i: offset is the length of the past, or
 * nonpad_kv_seqlen - S. A row whose keys are all hidden is zero. The computation is in attention_core.c; softmax is never less
 * precise than softmax_precision asks. Standard: Attention-23/24/25.
 */
#include <math.h>

#include "ops/attention_core.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };
enum { Y, PRESENT_K, PRESENT_V, SCORES };

typedef struct attention_params {
    int64_t heads, kv_heads; /* 0 where the shapes say them */
    int64_t left, right;
    float scale, softcap; /* scale 0: by the head size */
    bool causal;
    ln_scores_stage stage;
} attention_params;

static ln_status build_attention(ln_build *build) {
    attention_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return ln_build_status(build);
    }
    params->heads = ln_attr_int(build, "q_num_heads", 0);
    params->kv_heads = ln_attr_int(build, "kv_num_heads", 0);
    params->scale = ln_attr_float(build, "scale", 0);
    params->softcap = ln_attr_float(build, "softcap", 0);
    params->causal = ln_attr_bool(build, "is_causal", false);
    params->left = ln_attr_int(build, "left_window_size", -1);
    params->right = ln_attr_int(build, "right_window_size", -1);
    const int64_t stage = ln_attr_int(build, "qk_matmul_output_mode", 0);
    const int64_t precision = ln_attr_int(build, "softmax_precision", LN_FLOAT);
    if (stage < LN_SCORES_RAW || stage > LN_SCORES_SOFTMAX) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "qk_matmul_output_mode is %lld, expected 0 to 3",
                             (long long)stage);
    }
    params->stage = (ln_scores_stage)stage;
    if (precision < 0 || precision >= LN_DTYPE_COUNT || !(LN_BIT((unsigned)precision) & LN_T_FLOAT_BF)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "softmax_precision is %lld, expected 1, 10, 11 or 16", (long long)precision);
    }
    if (params->left < -1 || params->right < -1 || params->heads < 0 || params->kv_heads < 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "windows and numbers of heads must not be negative");
    }
    return ln_build_status(build);
}

/* ---- Infer ---- */

/* One operand [B, N, L, D] or [B, L, N * D] with `heads` heads; sets its sizes. */
static ln_status infer_heads(ln_op *op, int input, int64_t heads, ln_heads *at, int64_t *length,
                             int64_t *dim) {
    const ln_value *value = ln_in(op, input);
    const ln_shape *shape = &value->shape;
    if (shape->rank == 4) {
        *length = shape->dims[2];
        *dim = shape->dims[3];
        *at = ln_heads_split(value->dtype, shape->dims[1], *length, *dim);
        return LN_OK;
    }
    LN_OP_CHECK(op, heads > 0, INVALID_ATTRIBUTE,
                "q_num_heads and kv_num_heads are needed for inputs with 3 axes");
    LN_OP_CHECK(op, shape->dims[2] % heads == 0, INVALID_SHAPE,
                "input %d is %lld wide, which is not %lld heads", input, (long long)shape->dims[2],
                (long long)heads);
    *length = shape->dims[1];
    *dim = shape->dims[2] / heads;
    *at = ln_heads_joined(value->dtype, *length, shape->dims[2], 0, *dim);
    return LN_OK;
}

/* Past keys or values [B, Hkv, P, D]; sets the length of the past. */
static ln_status infer_past(ln_op *op, int input, int64_t dim, ln_heads *at) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *past = ln_in(op, input);
    if (!past) {
        return LN_OK;
    }
    char text[LN_SHAPE_TEXT_BYTES];
    const ln_shape *shape = &past->shape;
    LN_OP_CHECK(op,
                shape->rank == 4 && shape->dims[0] == a->batches && shape->dims[1] == a->kv_heads &&
                    shape->dims[3] == dim && (input == PAST_K || shape->dims[2] == a->past),
                INVALID_SHAPE, "the past of shape %s does not fit [%lld,%lld,past,%lld]",
                ln_shape_text(shape, text), (long long)a->batches, (long long)a->kv_heads, (long long)dim);
    a->past = shape->dims[2];
    *at = ln_heads_split(past->dtype, a->kv_heads, a->past, dim);
    return LN_OK;
}

static ln_status infer_inputs(ln_op *op, ln_attention *a) {
    const attention_params *params = op->params;
    const ln_shape *q = &ln_in(op, Q)->shape;
    const ln_shape *k = &ln_in(op, K)->shape;
    const ln_shape *v = &ln_in(op, V)->shape;
    LN_OP_CHECK(op, (q->rank == 3 || q->rank == 4) && k->rank == q->rank && v->rank == q->rank, INVALID_SHAPE,
                "Q, K and V have %d, %d and %d axes, expected 3 or 4", (int)q->rank, (int)k->rank,
                (int)v->rank);
    int64_t length = 0;
    int64_t head = 0;
    a->batches = q->dims[0];
    a->heads = q->rank == 4 ? q->dims[1] : params->heads;
    a->kv_heads = q->rank == 4 ? k->dims[1] : params->kv_heads;
    LN_TRY(infer_heads(op, Q, params->heads, &a->q, &a->queries, &a->head));
    LN_TRY(infer_heads(op, K, params->kv_heads, &a->k, &a->fresh, &head));
    LN_TRY(infer_heads(op, V, params->kv_heads, &a->v, &length, &a->head_v));
    LN_OP_CHECK(op,
                k->dims[0] == a->batches && v->dims[0] == a->batches && head == a->head &&
                    length == a->fresh && (v->rank == 3 || v->dims[1] == a->kv_heads),
                INVALID_SHAPE,
                "K and V do not fit Q or each other: batches %lld, %lld, %lld; head sizes %lld and %lld; "
                "lengths %lld and %lld",
                (long long)a->batches, (long long)k->dims[0], (long long)v->dims[0], (long long)a->head,
                (long long)head, (long long)a->fresh, (long long)length);
    LN_OP_CHECK(op, a->kv_heads > 0 && a->heads % a->kv_heads == 0, INVALID_SHAPE,
                "%lld query heads are no multiple of %lld key heads", (long long)a->heads,
                (long long)a->kv_heads);
    LN_OP_CHECK(op, !ln_in(op, PAST_K) == !ln_in(op, PAST_V), INVALID_GRAPH,
                "past_key and past_value go together");
    LN_TRY(infer_past(op, PAST_K, a->head, &a->past_k));
    LN_TRY(infer_past(op, PAST_V, a->head_v, &a->past_v));
    a->keys = a->past + a->fresh;
    return LN_OK;
}

static ln_status infer_lengths(ln_op *op, ln_attention *a) {
    const ln_value *lengths = ln_in(op, LENGTHS);
    if (!lengths) {
        return LN_OK;
    }
    LN_OP_CHECK(op, ln_value_count(lengths) == a->batches && !ln_in(op, PAST_K), INVALID_SHAPE,
                "nonpad_kv_seqlen must have %lld elements and goes without a past", (long long)a->batches);
    a->length_kind = LN_LENGTH_VALID;
    return LN_OK;
}

static ln_status infer_outputs(ln_op *op, ln_attention *a) {
    const ln_dtype dtype = ln_in(op, Q)->dtype;
    const ln_dtype dtype_v = ln_in(op, V)->dtype;
    const ln_shape keys = {4, {a->batches, a->kv_heads, a->keys, a->head}};
    const ln_shape values = {4, {a->batches, a->kv_heads, a->keys, a->head_v}};
    const ln_shape scores = {4, {a->batches, a->heads, a->queries, a->keys}};
    ln_shape y = ln_in(op, Q)->shape;
    y.dims[y.rank - 1] = y.rank == 4 ? a->head_v : a->heads * a->head_v;
    a->y = y.rank == 4 ? ln_heads_split(dtype, a->heads, a->queries, a->head_v)
                       : ln_heads_joined(dtype, a->queries, y.dims[2], 0, a->head_v);
    if (ln_out(op, PRESENT_K)) {
        a->present_k = ln_heads_split(dtype, a->kv_heads, a->keys, a->head);
    }
    if (ln_out(op, PRESENT_V)) {
        a->present_v = ln_heads_split(dtype_v, a->kv_heads, a->keys, a->head_v);
    }
    a->scored = a->keys;
    if (ln_out(op, SCORES)) {
        a->scores = ln_heads_split(dtype, a->heads, a->queries, a->keys);
    }
    LN_TRY(ln_op_shape(op, Y, dtype, &y));
    LN_TRY(ln_op_shape(op, PRESENT_K, dtype, &keys));
    LN_TRY(ln_op_shape(op, PRESENT_V, dtype_v, &values));
    return ln_op_shape(op, SCORES, dtype, &scores);
}

static ln_status infer_attention(ln_op *op) {
    const attention_params *params = op->params;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    *a = (ln_attention){.softcap = params->softcap,
                        .causal = params->causal,
                        .left = params->left,
                        .right = params->right,
                        .stage = params->stage,
                        .hidden = -INFINITY};
    LN_TRY(infer_inputs(op, a));
    LN_TRY(infer_lengths(op, a));
    LN_TRY(ln_attention_add_mask(op, MASK, 0));
    LN_TRY(infer_outputs(op, a));
    a->scale = params->scale != 0 ? params->scale : 1 / sqrtf((float)a->head);
    return ln_attention_plan(op);
}

/* ---- Run ---- */

static ln_status run_attention(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    ln_heads_bind(&a->q, ln_in(op, Q));
    ln_heads_bind(&a->k, ln_in(op, K));
    ln_heads_bind(&a->v, ln_in(op, V));
    ln_attention_bind_mask(op, MASK, 0);
    ln_heads_bind(&a->past_k, ln_in(op, PAST_K));
    ln_heads_bind(&a->past_v, ln_in(op, PAST_V));
    a->lengths = ln_in(op, LENGTHS);
    ln_heads_bind(&a->y, ln_out(op, Y));
    ln_heads_bind(&a->present_k, ln_out(op, PRESENT_K));
    ln_heads_bind(&a->present_v, ln_out(op, PRESENT_V));
    ln_heads_bind(&a->scores, ln_out(op, SCORES));
    return ln_attention_run(op);
}

/* ---- Rows ---- */

#define MASK_TYPES (LN_T_NUMBER_BF | LN_BIT(LN_BOOL))
#define ATTENTION(since, until, signature)                                                                   \
    {"Attention",                                                                                            \
     "",                                                                                                     \
     since,                                                                                                  \
     until,                                                                                                  \
     signature,                                                                                              \
     {LN_T_FLOAT_BF, LN_T_FLOAT_BF, MASK_TYPES},                                                             \
     build_attention,                                                                                        \
     infer_attention,                                                                                        \
     run_attention,                                                                                          \
     NULL,                                                                                                   \
     0,                                                                                                      \
     NULL}
static const ln_op_row rows[] = {
    ATTENTION(23, 23, "AABC?A?B?>AA?B?A?"),
    ATTENTION(24, LN_OPEN, "AABC?A?B?l?>AA?B?A?"),
};
LN_FAMILY_TABLE(attention, rows);
