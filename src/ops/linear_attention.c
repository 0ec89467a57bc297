/* Linear attention and the convolution that goes before it: LinearAttention, CausalConvWithState.
 *
 * LinearAttention keeps a state S of dk x dv numbers for each key head, and walks the tokens in order:
 *     S = exp(decay) * S;   S = S + k (x) beta * (v - S^T k)   or   S = S + k (x) v;   o = scale * S^T q
 * for every query head of the group (in com.microsoft several key heads may share one, too). A task is one key head of one batch entry: the state is in its scratch, in float32, as
 * the standard computes it. CausalConvWithState is a depthwise convolution that sees the current and past positions only; a
 * task is a range of (batch, channel) rows. Standard: LinearAttention-27, CausalConvWithState-27.
 */
#include <math.h>
#include <string.h>

#include "ops/lines.h"
#include "simd/vector.h"

/* ---- LinearAttention ---- */

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct linear_params {
    int64_t heads, kv_heads;
    float scale; /* 0: by the key size */
    bool decays, corrects;
} linear_params;

typedef struct linear_local {
    int64_t batches, tokens, key, value; /* sizes of a head */
    int64_t heads_out;
    int64_t decay_width, beta_width; /* last axes */
    float scale;
} linear_local;

static ln_status build_linear(ln_build *build) {
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta", NULL};
    linear_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return ln_build_status(build);
    }
    ln_attr_required(build, "q_num_heads");
    ln_attr_required(build, "kv_num_heads");
    params->heads = ln_attr_int(build, "q_num_heads", 0);
    params->kv_heads = ln_attr_int(build, "kv_num_heads", 0);
    params->scale = ln_attr_float(build, "scale", 0);
    const int rule = ln_attr_choice(build, "update_rule", rules, 3);
    params->decays = (rule & 1) != 0;
    params->corrects = (rule & 2) != 0;
    LN_TRY(ln_build_status(build));
    if (params->heads <= 0 || params->kv_heads <= 0 || params->heads % params->kv_heads != 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "%lld query heads are no multiple of %lld key heads", (long long)params->heads,
                             (long long)params->kv_heads);
    }
    return LN_OK;
}

/* The last axis of a [B,T,width] input. */
static ln_status input_width(ln_op *op, int input, int64_t *width) {
    const ln_value *value = ln_in(op, input);
    const int64_t *dims = ln_in(op, QUERY)->shape.dims;
    char text[LN_SHAPE_TEXT_BYTES];
    *width = 0;
    if (!value) {
        return LN_OK;
    }
    LN_OP_CHECK(op,
                value->shape.rank == 3 && value->shape.dims[0] == dims[0] && value->shape.dims[1] == dims[1],
                INVALID_SHAPE, "input %d of shape %s must be [batch,length,width] as the query is", input,
                ln_shape_text(&value->shape, text));
    *width = value->shape.dims[2];
    return LN_OK;
}

static ln_status infer_linear(ln_op *op) {
    const linear_params *params = op->params;
    linear_local *l = LN_LOCAL(op, linear_local);
    const ln_value *past = ln_in(op, PAST);
    const ln_shape *q = &ln_in(op, QUERY)->shape;
    int64_t width_q, width_k, width_v;
    LN_OP_CHECK(op, q->rank == 3, INVALID_SHAPE, "the query must have 3 axes, it has %d", (int)q->rank);
    LN_TRY(input_width(op, QUERY, &width_q));
    LN_TRY(input_width(op, KEY, &width_k));
    LN_TRY(input_width(op, VALUE, &width_v));
    LN_TRY(input_width(op, DECAY, &l->decay_width));
    LN_TRY(input_width(op, BETA, &l->beta_width));
    l->batches = q->dims[0];
    l->tokens = q->dims[1];
    l->key = width_q / params->heads;
    l->value = width_v / params->kv_heads;
    l->scale = params->scale != 0 ? params->scale : 1 / sqrtf((float)l->key);
    LN_OP_CHECK(op,
                l->key * params->heads == width_q && l->key * params->kv_heads == width_k &&
                    l->value * params->kv_heads == width_v,
                INVALID_SHAPE, "widths %lld, %lld and %lld do not make %lld and %lld heads",
                (long long)width_q, (long long)width_k, (long long)width_v, (long long)params->heads,
                (long long)params->kv_heads);
    LN_OP_CHECK(op,
                params->decays == (ln_in(op, DECAY) != NULL) && params->corrects == (ln_in(op, BETA) != NULL),
                INVALID_GRAPH, "this update_rule takes %s decay and %s beta", params->decays ? "a" : "no",
                params->corrects ? "a" : "no");
    LN_OP_CHECK(op,
                (!params->decays || l->decay_width == params->kv_heads || l->decay_width == width_k) &&
                    (!params->corrects || l->beta_width == params->kv_heads || l->beta_width == 1),
                INVALID_SHAPE, "decay of width %lld or beta of width %lld does not fit %lld heads of %lld",
                (long long)l->decay_width, (long long)l->beta_width, (long long)params->kv_heads,
                (long long)l->key);
    const ln_shape state = {4, {l->batches, params->kv_heads, l->key, l->value}};
    LN_OP_CHECK(op, !past || ln_shape_equal(&past->shape, &state), INVALID_SHAPE,
                "past_state does not fit the other inputs");
    l->heads_out = params->heads > params->kv_heads ? params->heads : params->kv_heads;
    const ln_shape y = {3, {l->batches, l->tokens, l->heads_out * l->value}};
    size_t floats = 0;
    LN_OP_CHECK(op, ln_mul_size((size_t)l->key + 2, (size_t)l->value + 2, &floats) && floats < SIZE_MAX / 16,
                LIMIT_EXCEEDED, "a state of %lld by %lld is too large", (long long)l->key,
                (long long)l->value);
    op->task_scratch_bytes = (floats + (size_t)l->key * 2 + 16) * sizeof(float);
    LN_TRY(ln_op_shape(op, 0, ln_in(op, QUERY)->dtype, &y));
    return ln_op_shape(op, 1, past ? past->dtype : ln_in(op, QUERY)->dtype, &state);
}

static void load_part(const ln_op *op, int input, int64_t row, int64_t width, int64_t first, int64_t n,
                      float *out) {
    const ln_value *value = ln_in(op, input);
    ln_load_f32(value->dtype, value->data, row * width + first, n, out);
}

/* out = sum over rows i of x[i] * state[i], times scale. */
static void read_state(const float *state, const float *x, int64_t rows, int64_t n, float scale, float *out) {
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t i = 0; i < rows; i++) {
        ln_axpy_f32(out, state + i * n, (size_t)n, scale * x[i]);
    }
}

/* Scales each row of the state by exp(decay): one number for all of them, or one for each. */
static void decay_state(const ln_op *op, int64_t row, int64_t head, float *state, float *decay) {
    const linear_params *params = op->params;
    const linear_local *l = LN_LOCAL(op, linear_local);
    const bool single = l->decay_width == params->kv_heads;
    const int64_t n = single ? 1 : l->key;
    load_part(op, DECAY, row, l->decay_width, head * n, n, decay);
    ln_unary_f32[LN_UNARY_EXP](decay, decay, (size_t)n, 0, 0);
    for (int64_t i = 0; i < l->key; i++) {
        float *line = state + i * l->value;
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](line, line, (size_t)l->value, decay[single ? 0 : i], 0);
    }
}

/* v = beta * (v - S^T k). */
static void correct_value(const ln_op *op, int64_t row, int64_t head, const float *state, const float *k,
                          float *v, float *read) {
    const linear_local *l = LN_LOCAL(op, linear_local);
    float beta = 0;
    load_part(op, BETA, row, l->beta_width, l->beta_width == 1 ? 0 : head, 1, &beta);
    read_state(state, k, l->key, l->value, 1, read);
    for (int64_t d = 0; d < l->value; d++) {
        v[d] = beta * (v[d] - read[d]);
    }
}

static void linear_task(ln_op *op, int64_t index, void *scratch) {
    const linear_params *params = op->params;
    const linear_local *l = LN_LOCAL(op, linear_local);
    const int64_t b = index / params->kv_heads;
    const int64_t head = index % params->kv_heads;
    const int64_t group = l->heads_out / params->kv_heads;
    const int64_t sharing = l->heads_out / params->heads; /* key heads that read one query head */
    const int64_t numbers = l->key * l->value;
    float *state = scratch;
    float *k = state + numbers;
    float *q = k + l->key;
    float *v = q + l->key;
    float *read = v + l->value;
    memset(state, 0, (size_t)numbers * sizeof *state);
    if (ln_in(op, PAST)) {
        load_part(op, PAST, index, numbers, 0, numbers, state);
    }
    for (int64_t t = 0; t < l->tokens; t++) {
        const int64_t row = b * l->tokens + t;
        load_part(op, KEY, row, l->key * params->kv_heads, head * l->key, l->key, k);
        load_part(op, VALUE, row, l->value * params->kv_heads, head * l->value, l->value, v);
        if (params->decays) {
            decay_state(op, row, head, state, q);
        }
        if (params->corrects) {
            correct_value(op, row, head, state, k, v, read);
        }
        for (int64_t i = 0; i < l->key; i++) {
            ln_axpy_f32(state + i * l->value, v, (size_t)l->value, k[i]);
        }
        for (int64_t n = head * group; ln_out(op, 0) && n < (head + 1) * group; n++) {
            load_part(op, QUERY, row, l->key * params->heads, n / sharing * l->key, l->key, q);
            read_state(state, q, l->key, l->value, l->scale, read);
            ln_store_f32(ln_out(op, 0)->dtype, ln_out(op, 0)->data, (row * l->heads_out + n) * l->value,
                         l->value, read);
        }
    }
    if (ln_out(op, 1)) {
        ln_store_f32(ln_out(op, 1)->dtype, ln_out(op, 1)->data, index * numbers, numbers, state);
    }
}

static ln_status run_linear(ln_op *op) {
    const linear_params *params = op->params;
    return ln_op_grid(op, linear_task, LN_LOCAL(op, linear_local)->batches * params->kv_heads);
}

/* ---- CausalConvWithState ---- */

enum { CONV_GRAIN = 16384 };
enum { INPUT, WEIGHT, BIAS, STATE };

typedef struct causal_params {
    bool silu;
    bool channels_last;
    int64_t dilation;
} causal_params;

typedef struct causal_local {
    int64_t rows, channels, length, taps;
    int64_t past; /* positions of the state */
} causal_local;

static ln_status build_causal(ln_build *build) {
    static const char *const names[] = {"none", "silu", "swish", NULL};
    causal_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->silu = ln_attr_choice(build, "activation", names, 0) > 0;
        params->channels_last = ln_attr_bool(build, "channels_last", false);
        params->dilation = ln_attr_int(build, "dilation", 1);
        if (params->dilation < 1 || params->dilation > INT32_MAX) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "dilation is %lld, expected at least 1",
                                 (long long)params->dilation);
        }
        static const char *const unknown[] = {"state_window", "state_length", "input_channels"};
        if (ln_attr_int(build, "ndim", 1) != 1) {
            return ln_build_fail(build, LN_UNSUPPORTED,
                                 "ndim is %lld: only one axis of positions is supported",
                                 (long long)ln_attr_int(build, "ndim", 1));
        }
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
            if (ln_attr_int(build, unknown[i], 0) != 0) {
                return ln_build_fail(build, LN_UNSUPPORTED, "attribute '%s' is not supported", unknown[i]);
            }
        }
    }
    return ln_build_status(build);
}

static ln_status infer_causal(ln_op *op) {
    const causal_params *params = op->params;
    causal_local *c = LN_LOCAL(op, causal_local);
    const ln_shape *x = &ln_in(op, INPUT)->shape;
    const ln_shape *w = &ln_in(op, WEIGHT)->shape;
    const int along = params->channels_last ? 1 : 2; /* the axis of positions */
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, params->channels_last ? x->rank >= 3 : x->rank == 3, INVALID_SHAPE,
                "an input of shape %s has no rows", ln_shape_text(x, text[0]));
    c->channels = params->channels_last ? ln_shape_product(x, 2, x->rank) : x->dims[1];
    LN_OP_CHECK(op,
                w->rank == 3 && w->dims[0] == c->channels && w->dims[1] == 1 && w->dims[2] > 0 &&
                    w->dims[2] < INT32_MAX,
                INVALID_SHAPE, "weights of shape %s do not fit an input of shape %s",
                ln_shape_text(w, text[0]), ln_shape_text(x, text[1]));
    c->rows = x->dims[0] * c->channels;
    c->length = x->dims[along];
    c->taps = w->dims[2];
    c->past = (c->taps - 1) * params->dilation;
    ln_shape state = *x;
    state.dims[along] = c->past;
    LN_TRY(ln_op_count(op, BIAS, "the bias", c->channels));
    LN_OP_CHECK(op, !ln_in(op, STATE) || ln_shape_equal(&ln_in(op, STATE)->shape, &state), INVALID_SHAPE,
                "past_state must have the shape %s", ln_shape_text(&state, text[0]));
    LN_OP_CHECK(op, c->length < (int64_t)(SIZE_MAX / 64) && c->past < (int64_t)(SIZE_MAX / 64),
                LIMIT_EXCEEDED, "rows of %lld are too long", (long long)c->length);
    op->task_scratch_bytes = (size_t)(2 * c->length + c->past + c->taps) * sizeof(float);
    LN_TRY(ln_infer_same(op));
    return ln_op_shape(op, 1, ln_in(op, INPUT)->dtype, &state);
}

/* Positions of one channel of one batch entry: next to each other, or a row of channels apart. */
static void load_positions(const ln_op *op, int input, int64_t row, int64_t n, float *out) {
    const causal_params *params = op->params;
    const int64_t channels = LN_LOCAL(op, causal_local)->channels;
    for (int64_t i = 0; params->channels_last && i < n; i++) {
        load_part(op, input, row / channels * n + i, channels, row % channels, 1, out + i);
    }
    if (!params->channels_last) {
        load_part(op, input, row, n, 0, n, out);
    }
}

static void store_positions(const ln_op *op, int output, int64_t row, int64_t n, const float *in) {
    const causal_params *params = op->params;
    const int64_t channels = LN_LOCAL(op, causal_local)->channels;
    ln_value *value = ln_out(op, output);
    for (int64_t i = 0; value && params->channels_last && i < n; i++) {
        ln_store_f32(value->dtype, value->data, (row / channels * n + i) * channels + row % channels, 1,
                     in + i);
    }
    if (value && !params->channels_last) {
        ln_store_f32(value->dtype, value->data, row * n, n, in);
    }
}

static void causal_row(const ln_op *op, int64_t row, float *line, float *weights, float *out) {
    const causal_params *params = op->params;
    const causal_local *c = LN_LOCAL(op, causal_local);
    const int64_t channel = row % c->channels;
    float bias = 0;
    memset(line, 0, (size_t)c->past * sizeof *line);
    if (ln_in(op, STATE)) {
        load_positions(op, STATE, row, c->past, line);
    }
    load_positions(op, INPUT, row, c->length, line + c->past);
    load_part(op, WEIGHT, channel, c->taps, 0, c->taps, weights);
    if (ln_in(op, BIAS)) {
        load_part(op, BIAS, channel, 1, 0, 1, &bias);
    }
    for (int64_t i = 0; i < c->length; i++) {
        out[i] = bias;
    }
    for (int64_t t = 0; t < c->taps; t++) {
        ln_axpy_f32(out, line + t * params->dilation, (size_t)c->length, weights[t]);
    }
    if (params->silu) {
        ln_unary_f32[LN_UNARY_SILU](out, out, (size_t)c->length, 0, 0);
    }
    store_positions(op, 0, row, c->length, out);
    store_positions(op, 1, row, c->past, line + c->length);
}

static void causal_task(ln_op *op, int64_t index, void *scratch) {
    const causal_local *c = LN_LOCAL(op, causal_local);
    int64_t begin, end;
    float *line = scratch;
    float *out = line + c->length + c->past;
    ln_unit_range(c->rows, ln_unit_tasks(c->rows, c->length * c->taps, CONV_GRAIN), index, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        causal_row(op, row, line, out + c->length, out);
    }
}

static ln_status run_causal(ln_op *op) {
    const causal_local *c = LN_LOCAL(op, causal_local);
    return ln_op_grid(op, causal_task, ln_unit_tasks(c->rows, c->length * c->taps, CONV_GRAIN));
}

/* ---- Rows ---- */

#define HALVES (LN_BIT(LN_FLOAT) | LN_T_HALF)
#define LINEAR(domain, since)                                                                                \
    {                                                                                                        \
        "LinearAttention",                                                                                   \
        domain,                                                                                              \
        since,                                                                                               \
        LN_OPEN,                                                                                             \
        "AAAB?A?A?>AB",                                                                                      \
        {HALVES, HALVES},                                                                                    \
        build_linear,                                                                                        \
        infer_linear,                                                                                        \
        run_linear,                                                                                          \
        NULL,                                                                                                \
        0,                                                                                                   \
        NULL}
#define CAUSAL(domain, since)                                                                                \
    {"CausalConvWithState", domain,       since,      LN_OPEN, "AAA?A?>AA", {HALVES},                        \
     build_causal,          infer_causal, run_causal, NULL,    0,           NULL}
static const ln_op_row rows[] = {
    LINEAR("", 27),
    LINEAR("com.microsoft", 1),
    CAUSAL("", 27),
    CAUSAL("com.microsoft", 1),
};
LN_FAMILY_TABLE(linear_attention, rows);
