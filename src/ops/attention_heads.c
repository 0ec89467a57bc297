/* com.microsoft attention over queries, keys and values that are projected already: MultiHeadAttention,
 * DecoderMaskedMultiHeadAttention and GroupQueryAttention.
 *
 * Q is [B,S,N*H] and Y likewise; K and V are [B,L,Nkv*H], or [B,Nkv,L,H], or packed together: QKV [B,S,N,3,H] or
 * [B,S,(N+2*Nkv)*H], KV [B,L,N,2,H]. Past and present are [B,Nkv,P,H] and [B,Nkv,T,H]; with past_sequence_length both are buffers
 * of one size, of which so many rows are in use and the new ones come next. GroupQueryAttention is always causal; its
 * cache may have room that is not used yet, seqlens_k[b] being the number of entry b's last key, and it may turn Q and K
 * by their position. Keys are hidden by adding mask_filter_value, as these operators define it. The computation is in
 * attention_core.c.
 */
#include <math.h>
#include <string.h>

#include "ops/attention_core.h"

/* Where the inputs of MultiHeadAttention and of its form for decoders stand. */
typedef struct multi_inputs {
    int8_t bias, padding, score_bias, past, past_length, beams;
} multi_inputs;

typedef struct heads_params {
    const multi_inputs *at;
    int64_t heads, kv_heads;
    float scale, softcap, hidden;
    bool causal, turned, interleaved, smooth;
    int64_t window; /* keys that a query of GroupQueryAttention sees, its own included; 0 for all */
    int64_t scores; /* 0: no such output; 1: before the softmax; 2: after it */
} heads_params;

static heads_params *new_params(ln_build *build) {
    heads_params *params = ln_build_params(build, sizeof *params);
    ln_attr_required(build, "num_heads");
    if (params) {
        params->heads = ln_attr_int(build, "num_heads", 0);
        params->kv_heads = params->heads;
        params->scale = ln_attr_float(build, "scale", 0);
        params->hidden = ln_attr_float(build, "mask_filter_value", -10000);
        params->scores = 1;
    }
    return params;
}

static ln_status check_params(ln_build *build, const heads_params *params) {
    LN_TRY(ln_build_status(build));
    if (params->heads <= 0 || params->kv_heads <= 0 || params->heads % params->kv_heads != 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "%lld query heads are no multiple of %lld key heads", (long long)params->heads,
                             (long long)params->kv_heads);
    }
    return LN_OK;
}

static const multi_inputs multi_at = {3, 4, 5, 6, 8, 9};
static const multi_inputs decoder_at = {10, 3, 4, 5, 7, 9};

static ln_status build_multi(ln_build *build) {
    heads_params *params = new_params(build);
    if (params) {
        params->at = &multi_at;
        params->causal = ln_attr_bool(build, "unidirectional", false);
    }
    return check_params(build, params);
}

static ln_status build_decoder(ln_build *build) {
    heads_params *params = new_params(build);
    if (params) {
        params->at = &decoder_at;
        params->scores = ln_attr_bool(build, "output_qk", false) ? 2 : 0;
    }
    return check_params(build, params);
}

static ln_status build_group(ln_build *build) {
    heads_params *params = new_params(build);
    if (!params) {
        return ln_build_status(build);
    }
    ln_attr_required(build, "kv_num_heads");
    params->kv_heads = ln_attr_int(build, "kv_num_heads", 0);
    params->softcap = ln_attr_float(build, "softcap", 0);
    params->causal = true;
    params->turned = ln_attr_bool(build, "do_rotary", false);
    params->interleaved = ln_attr_bool(build, "rotary_interleaved", false);
    params->smooth = ln_attr_int(build, "smooth_softmax", 0) == 1;
    params->window = ln_attr_int(build, "local_window_size", -1);
    params->scores = ln_attr_int(build, "qk_output", 0);
    if (ln_attr_int(build, "kv_cache_bit_width", 0) != 0) {
        return ln_build_fail(build, LN_UNSUPPORTED,
                             "kv_cache_bit_width is set: a quantised cache cannot be read");
    }
    if (params->scores < 0 || params->scores > 2) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "qk_output is %lld, expected 0 to 2",
                             (long long)params->scores);
    }
    return check_params(build, params);
}

/* ---- What both share ---- */

static ln_status check_divides(ln_op *op, int input, int64_t width, int64_t heads) {
    LN_OP_CHECK(op, width % heads == 0, INVALID_SHAPE, "input %d is %lld wide, which is not %lld heads",
                input, (long long)width, (long long)heads);
    return LN_OK;
}

/* K or V [B,L,Nkv*D] or [B,Nkv,L,D]. */
static ln_status infer_operand(ln_op *op, int input, ln_heads *at, int64_t *length, int64_t *dim) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *value = ln_in(op, input);
    const ln_shape *shape = &value->shape;
    const bool split = shape->rank == 4;
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op,
                (split ? shape->dims[1] == a->kv_heads : shape->rank == 3) && shape->dims[0] == a->batches,
                INVALID_SHAPE, "input %d of shape %s does not fit a batch of %lld and %lld heads", input,
                ln_shape_text(shape, text), (long long)a->batches, (long long)a->kv_heads);
    *length = shape->dims[split ? 2 : 1];
    if (split) {
        *dim = shape->dims[3];
        *at = ln_heads_split(value->dtype, a->kv_heads, *length, *dim);
        return LN_OK;
    }
    LN_TRY(check_divides(op, input, shape->dims[2], a->kv_heads));
    *dim = shape->dims[2] / a->kv_heads;
    *at = ln_heads_joined(value->dtype, *length, shape->dims[2], 0, *dim);
    return LN_OK;
}

static ln_status infer_keys_and_values(ln_op *op, int key, int value) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    int64_t length = 0;
    int64_t head = 0;
    LN_OP_CHECK(op, ln_in(op, value), INVALID_GRAPH, "there is a key but no value");
    LN_TRY(infer_operand(op, key, &a->k, &a->fresh, &head));
    LN_TRY(infer_operand(op, value, &a->v, &length, &a->head_v));
    LN_OP_CHECK(op, head == a->head && length == a->fresh, INVALID_SHAPE,
                "keys (%lld of %lld) do not fit values (%lld) or queries (of %lld)", (long long)a->fresh,
                (long long)head, (long long)length, (long long)a->head);
    return LN_OK;
}

static ln_status infer_past(ln_op *op, int input, int64_t dim, ln_heads *at, int64_t *length) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *past = ln_in(op, input);
    *length = 0;
    if (!past) {
        return LN_OK;
    }
    char text[LN_SHAPE_TEXT_BYTES];
    const ln_shape *shape = &past->shape;
    LN_OP_CHECK(op,
                shape->rank == 4 && shape->dims[0] == a->batches && shape->dims[1] == a->kv_heads &&
                    shape->dims[3] == dim,
                INVALID_SHAPE, "the past of shape %s does not fit [%lld,%lld,past,%lld]",
                ln_shape_text(shape, text), (long long)a->batches, (long long)a->kv_heads, (long long)dim);
    *length = shape->dims[2];
    *at = ln_heads_split(past->dtype, a->kv_heads, *length, dim);
    return LN_OK;
}

static ln_status infer_pasts(ln_op *op, int key) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    int64_t length = 0;
    LN_TRY(infer_past(op, key, a->head, &a->past_k, &a->past));
    LN_TRY(infer_past(op, key + 1, a->head_v, &a->past_v, &length));
    LN_OP_CHECK(op, length == a->past, INVALID_SHAPE, "%lld past keys do not fit %lld past values",
                (long long)a->past, (long long)length);
    a->keys = a->past + a->fresh;
    return LN_OK;
}

/* Y, the present with `room` rows, and the scores of the first `scored` keys. */
static ln_status infer_outputs(ln_op *op, int64_t scored, int64_t room) {
    const heads_params *params = op->params;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_dtype dtype = ln_in(op, 0)->dtype;
    const ln_shape y = {3, {a->batches, a->queries, a->heads * a->head_v}};
    const ln_shape keys = {4, {a->batches, a->kv_heads, room, a->head}};
    const ln_shape values = {4, {a->batches, a->kv_heads, room, a->head_v}};
    const ln_shape scores = {4, {a->batches, a->heads, a->queries, scored}};
    a->scale = params->scale != 0 ? params->scale : 1 / sqrtf((float)a->head);
    a->softcap = params->softcap;
    a->hidden = params->hidden;
    a->causal = params->causal;
    a->left = a->right = -1;
    a->y = ln_heads_joined(dtype, a->queries, a->heads * a->head_v, 0, a->head_v);
    if (ln_out(op, 1)) {
        a->present_k = ln_heads_split(dtype, a->kv_heads, room, a->head);
    }
    if (ln_out(op, 2)) {
        a->present_v = ln_heads_split(dtype, a->kv_heads, room, a->head_v);
    }
    if (ln_out(op, 3)) {
        LN_OP_CHECK(op, params->scores > 0, INVALID_ATTRIBUTE,
                    "output 3 needs the attribute qk_output or output_qk");
        a->scores = ln_heads_split(dtype, a->heads, a->queries, scored);
        a->stage = params->scores == 1 ? LN_SCORES_MASKED : LN_SCORES_SOFTMAX;
        a->scored = scored;
    }
    LN_TRY(ln_op_shape(op, 0, dtype, &y));
    LN_TRY(ln_op_shape(op, 1, dtype, &keys));
    LN_TRY(ln_op_shape(op, 2, dtype, &values));
    return ln_op_shape(op, 3, dtype, &scores);
}

/* Packed operands read one input for all three. */
static void bind_operands(ln_op *op, int key, int past) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *q = ln_in(op, 0);
    const ln_value *k = ln_in(op, key) ? ln_in(op, key) : q;
    ln_heads_bind(&a->q, q);
    ln_heads_bind(&a->k, k);
    ln_heads_bind(&a->v, ln_in(op, key + 1) ? ln_in(op, key + 1) : k);
    ln_heads_bind(&a->past_k, ln_in(op, past));
    ln_heads_bind(&a->past_v, ln_in(op, past + 1));
    ln_heads_bind(&a->y, ln_out(op, 0));
    ln_heads_bind(&a->present_k, ln_out(op, 1));
    ln_heads_bind(&a->present_v, ln_out(op, 2));
    ln_heads_bind(&a->scores, ln_out(op, 3));
}

/* ---- MultiHeadAttention ---- */

enum { QUERY, KEY, VALUE };

/* `parts` operands side by side in each head of [B,S,N,parts,H]; the operand is number `part`. */
static ln_heads interleaved_heads(const ln_value *value, int64_t part) {
    const int64_t *dims = value->shape.dims;
    const int64_t head = dims[3] * dims[4];
    return (ln_heads){.dtype = value->dtype,
                      .first = part * dims[4],
                      .batch = dims[1] * dims[2] * head,
                      .head = head,
                      .row = dims[2] * head};
}

static bool is_packed(const ln_value *value, int64_t batches, int64_t heads, int64_t parts) {
    const int64_t *dims = value->shape.dims;
    return value->shape.rank == 5 && dims[0] == batches && dims[2] == heads && dims[3] == parts;
}

/* Queries, keys and values of all heads side by side in a row. */
static ln_status infer_side_by_side(ln_op *op, int input) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *q = ln_in(op, input);
    const int64_t width = q->shape.dims[2];
    const int64_t parts = a->heads + 2 * a->kv_heads;
    LN_TRY(check_divides(op, input, width, parts));
    a->fresh = a->queries;
    a->head = a->head_v = width / parts;
    a->q = ln_heads_joined(q->dtype, a->queries, width, 0, a->head);
    a->k = ln_heads_joined(q->dtype, a->queries, width, a->heads * a->head, a->head);
    a->v = ln_heads_joined(q->dtype, a->queries, width, (a->heads + a->kv_heads) * a->head, a->head);
    return LN_OK;
}

static ln_status infer_multi_operands(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *q = ln_in(op, QUERY);
    const ln_value *k = ln_in(op, KEY);
    char text[LN_SHAPE_TEXT_BYTES];
    const heads_params *params = op->params;
    const bool side_by_side = !k && params->at == &decoder_at; /* [B,S,3*N*H] */
    LN_OP_CHECK(
        op, ((k || side_by_side) && q->shape.rank == 3) || is_packed(q, q->shape.dims[0], a->heads, 3),
        INVALID_SHAPE,
        "the query of shape %s must be [batch,length,width], or [batch,length,%lld,3,size] when it has all",
        ln_shape_text(&q->shape, text), (long long)a->heads);
    a->batches = q->shape.dims[0];
    a->queries = q->shape.dims[1];
    if (side_by_side) {
        return infer_side_by_side(op, QUERY);
    }
    if (!k) {
        a->fresh = a->queries;
        a->head = a->head_v = q->shape.dims[4];
        a->q = interleaved_heads(q, 0);
        a->k = interleaved_heads(q, 1);
        a->v = interleaved_heads(q, 2);
        return LN_OK;
    }
    LN_TRY(check_divides(op, QUERY, q->shape.dims[2], a->heads));
    a->head = q->shape.dims[2] / a->heads;
    a->q = ln_heads_joined(q->dtype, a->queries, q->shape.dims[2], 0, a->head);
    if (k->shape.rank != 5) {
        return infer_keys_and_values(op, KEY, VALUE);
    }
    LN_OP_CHECK(
        op, is_packed(k, a->batches, a->heads, 2) && k->shape.dims[4] == a->head && !ln_in(op, VALUE),
        INVALID_SHAPE, "packed keys and values of shape %s do not fit a batch of %lld and %lld heads of %lld",
        ln_shape_text(&k->shape, text), (long long)a->batches, (long long)a->heads, (long long)a->head);
    a->fresh = k->shape.dims[1];
    a->head_v = a->head;
    a->k = interleaved_heads(k, 0);
    a->v = interleaved_heads(k, 1);
    return LN_OK;
}

/* One vector for all three; keys and values that come in heads already have none. */
static ln_status infer_bias(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const heads_params *params = op->params;
    const ln_value *bias = ln_in(op, params->at->bias);
    if (!bias) {
        return LN_OK;
    }
    const int64_t width = a->heads * a->head;
    LN_OP_CHECK(op, ln_value_count(bias) == 2 * width + a->heads * a->head_v, INVALID_SHAPE,
                "the bias has %lld numbers, expected %lld", (long long)ln_value_count(bias),
                (long long)(2 * width + a->heads * a->head_v));
    a->bias_q = (ln_heads){.dtype = bias->dtype, .head = a->head};
    if (!ln_in(op, KEY) || ln_in(op, KEY)->shape.rank != 4) {
        a->bias_k = (ln_heads){.dtype = bias->dtype, .head = a->head, .first = width};
        a->bias_v = (ln_heads){.dtype = bias->dtype, .head = a->head_v, .first = 2 * width};
    }
    return LN_OK;
}

/* The past, and the rows that the present has room for. */
static ln_status infer_room(ln_op *op, int64_t *room) {
    const multi_inputs *at = ((const heads_params *)op->params)->at;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    LN_TRY(infer_pasts(op, at->past));
    *room = a->keys;
    if (!ln_in(op, at->past_length) || !ln_in(op, at->past)) {
        return LN_OK;
    }
    int64_t used = 0;
    LN_TRY(ln_op_int(op, at->past_length, &used));
    LN_OP_CHECK(op, used >= 0 && used + a->fresh <= a->past, INVALID_VALUE,
                "past_sequence_length is %lld for %lld new keys in a cache of %lld", (long long)used,
                (long long)a->fresh, (long long)a->past);
    *room = a->past;
    a->past = used;
    a->keys = used + a->fresh;
    return LN_OK;
}

static ln_status infer_multi(ln_op *op) {
    const heads_params *params = op->params;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    int64_t room = 0;
    *a = (ln_attention){.heads = params->heads, .kv_heads = params->kv_heads};
    LN_OP_CHECK(op, !ln_in(op, params->at->beams), UNSUPPORTED,
                "cache_indirection, which BeamSearch feeds, cannot be followed");
    LN_TRY(infer_multi_operands(op));
    LN_TRY(infer_bias(op));
    LN_TRY(infer_room(op, &room));
    LN_TRY(ln_attention_add_mask(op, params->at->score_bias, 0));
    LN_TRY(ln_attention_add_key_mask(op, params->at->padding, 1));
    LN_TRY(infer_outputs(op, a->keys, room));
    return ln_attention_plan(op);
}

/* Rows of the present behind those in use are those of the past. */
static void keep_rest(const ln_op *op, int past, int present) {
    const ln_attention *a = (const ln_attention *)(const void *)op->local;
    const ln_value *from = ln_in(op, past);
    const ln_value *to = ln_out(op, present);
    if (!to || to->shape.dims[2] == a->keys || to->data == from->data) {
        return;
    }
    const size_t row = (size_t)to->shape.dims[3] * (ln_dtype_bits(to->dtype) / 8);
    const size_t used = (size_t)a->keys * row;
    const size_t all = (size_t)to->shape.dims[2] * row;
    for (int64_t i = 0; i < a->batches * a->kv_heads; i++) {
        const size_t at = (size_t)i * all + used;
        memcpy((char *)to->data + at, (const char *)from->data + at, all - used);
    }
}

static ln_status run_multi(ln_op *op) {
    const multi_inputs *at = ((const heads_params *)op->params)->at;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    bind_operands(op, KEY, at->past);
    ln_heads_bind(&a->bias_q, ln_in(op, at->bias));
    ln_heads_bind(&a->bias_k, ln_in(op, at->bias));
    ln_heads_bind(&a->bias_v, ln_in(op, at->bias));
    ln_attention_bind_mask(op, at->score_bias, 0);
    ln_attention_bind_mask(op, at->padding, 1);
    keep_rest(op, at->past, 1);
    keep_rest(op, at->past + 1, 2);
    return ln_attention_run(op);
}

/* ---- GroupQueryAttention ---- */

enum {
    G_QUERY,
    G_KEY,
    G_VALUE,
    G_PAST,
    G_LENGTHS = 5,
    G_TOTAL,
    G_COS,
    G_SIN,
    G_POSITIONS,
    G_SCORE_BIAS,
    G_SINKS,
    G_SCALES
};

static ln_status infer_group_operands(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *q = ln_in(op, G_QUERY);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, q->shape.rank == 3, INVALID_SHAPE, "the query of shape %s must have 3 axes",
                ln_shape_text(&q->shape, text));
    const int64_t width = q->shape.dims[2];
    a->batches = q->shape.dims[0];
    a->queries = q->shape.dims[1];
    if (!ln_in(op, G_KEY)) {
        return infer_side_by_side(op, G_QUERY);
    }
    LN_TRY(check_divides(op, G_QUERY, width, a->heads));
    a->head = width / a->heads;
    a->q = ln_heads_joined(q->dtype, a->queries, width, 0, a->head);
    return infer_keys_and_values(op, G_KEY, G_VALUE);
}

/* The cache keeps its size, or grows to the whole sequence where it is shorter. */
static ln_status infer_cache(ln_op *op, int64_t *total) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    LN_TRY(infer_pasts(op, G_PAST));
    LN_TRY(ln_op_int(op, G_TOTAL, total));
    LN_TRY(ln_op_count(op, G_LENGTHS, "seqlens_k", a->batches));
    LN_OP_CHECK(op, *total >= a->queries && a->fresh == a->queries, INVALID_VALUE,
                "total_sequence_length is %lld for %lld new tokens", (long long)*total,
                (long long)a->queries);
    a->keys = a->past > *total ? a->past : *total;
    a->length_kind = LN_LENGTH_LAST;
    a->prompt = *total == a->queries;
    return LN_OK;
}

static ln_status infer_turn(ln_op *op) {
    const heads_params *params = op->params;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *cos = ln_in(op, G_COS);
    const ln_value *sin = ln_in(op, G_SIN);
    if (!params->turned) {
        return LN_OK;
    }
    LN_OP_CHECK(op, cos && sin && cos->shape.rank == 2 && ln_shape_equal(&cos->shape, &sin->shape),
                INVALID_SHAPE, "do_rotary needs cos_cache and sin_cache of one shape with 2 axes");
    a->rotary = (ln_rotary){
        .cos = cos, .sin = sin, .dim = 2 * cos->shape.dims[1], .interleaved = params->interleaved};
    LN_OP_CHECK(op, a->rotary.dim <= a->head, INVALID_SHAPE, "caches of width %lld do not fit heads of %lld",
                (long long)cos->shape.dims[1], (long long)a->head);
    return ln_op_count(op, G_POSITIONS, "position_ids", a->batches * a->queries);
}

static ln_status infer_group(ln_op *op) {
    const heads_params *params = op->params;
    ln_attention *a = LN_LOCAL(op, ln_attention);
    int64_t total = 0;
    *a = (ln_attention){.heads = params->heads, .kv_heads = params->kv_heads};
    LN_OP_CHECK(op, !ln_in(op, G_SCALES) && !ln_in(op, G_SCALES + 1), UNSUPPORTED,
                "k_scale and v_scale are there: a quantised cache cannot be read");
    LN_TRY(infer_group_operands(op));
    LN_TRY(infer_cache(op, &total));
    LN_TRY(infer_turn(op));
    LN_TRY(ln_attention_add_mask(op, G_SCORE_BIAS, 0));
    LN_TRY(infer_outputs(op, total, a->keys));
    a->left = params->window > 0 ? params->window - 1 : -1;
    LN_TRY(ln_op_count(op, G_SINKS, "head_sink", a->heads));
    a->smooth = params->smooth || ln_in(op, G_SINKS);
    return ln_attention_plan(op);
}

/* Every length lies in the cache, every position in the tables of angles. */
static ln_status check_lengths(ln_op *op) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    for (int64_t b = 0; b < a->batches; b++) {
        int64_t last = 0;
        ln_load_i64(a->lengths->dtype, a->lengths->data, b, 1, &last);
        LN_OP_CHECK(op, last >= 0 && last < a->keys, INVALID_VALUE,
                    "seqlens_k of batch entry %lld is %lld, the cache has %lld", (long long)b,
                    (long long)last, (long long)a->keys);
        const int64_t first = a->prompt || last + 1 < a->queries ? 0 : last + 1 - a->queries;
        LN_OP_CHECK(op, !a->rotary.cos || a->positions || first + a->queries <= a->rotary.cos->shape.dims[0],
                    INVALID_VALUE, "position %lld is outside cos_cache of %lld rows",
                    (long long)(first + a->queries - 1), (long long)a->rotary.cos->shape.dims[0]);
    }
    for (int64_t i = 0; a->rotary.cos && a->positions && i < a->batches * a->queries; i++) {
        int64_t position = 0;
        ln_load_i64(a->positions->dtype, a->positions->data, i, 1, &position);
        LN_OP_CHECK(op, position >= 0 && position < a->rotary.cos->shape.dims[0], INVALID_VALUE,
                    "position %lld is outside cos_cache of %lld rows", (long long)position,
                    (long long)a->rotary.cos->shape.dims[0]);
    }
    return LN_OK;
}

static ln_status run_group(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    bind_operands(op, G_KEY, G_PAST);
    ln_attention_bind_mask(op, G_SCORE_BIAS, 0);
    a->lengths = ln_in(op, G_LENGTHS);
    a->positions = ln_in(op, G_POSITIONS);
    a->sinks = ln_in(op, G_SINKS);
    if (a->rotary.cos) {
        a->rotary.cos = ln_in(op, G_COS);
        a->rotary.sin = ln_in(op, G_SIN);
    }
    LN_TRY(check_lengths(op));
    return ln_attention_run(op);
}

/* ---- Rows ---- */

#define HEADS(name, signature, build, infer, run)                                                            \
    {name,  "com.microsoft", 1,   LN_OPEN, signature, {LN_BIT(LN_FLOAT) | LN_T_HALF, LN_T_INDEX},            \
     build, infer,           run, NULL,    0,         NULL}
static const ln_op_row rows[] = {
    HEADS("MultiHeadAttention", "AA?A?A?i?A?A?A?i?i?>AA?A?A?", build_multi, infer_multi, run_multi),
    HEADS("DecoderMaskedMultiHeadAttention", "AA?A?i?A?A?A?i?i?i?A?>AA?A?A?", build_decoder, infer_multi,
          run_multi),
    HEADS("GroupQueryAttention", "AA?A?A?A?iiA?A?l?A?A?f?f?>AA?A?A?", build_group, infer_group, run_group),
};
LN_FAMILY_TABLE(attention_heads, rows);
