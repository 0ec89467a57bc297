/* com.microsoft MoE and QMoE: a mixture of experts, small feed-forward nets of which each token visits a few.
 *
 * X is [tokens,hidden] or [batch,length,hidden], the router gives a score for each token and expert. A token's experts are those of the
 * k largest scores; what they answer is summed, weighted by the softmax of the scores. An expert computes fc2(act(fc1 x)), or fc2(act(fc1 x) *
 * fc3 x), or for swiglu a gate and a line that fc1 gives together. Weights are [experts, out, in], or [experts, in, out] as
 * older models have them. QMoE keeps weights of 2, 3, 4 or 8 bits, low bits first, with a scale for each row or each block of a
 * row. A task is a token: rows of weights are turned into float32 where they are not, and multiplied by dot products.
 */
#include <math.h>
#include <string.h>

#include "base/packed.h"
#include "ops/op.h"
#include "simd/vector.h"

enum { X, ROUTER, NONE = -1 };
enum { FC1, FC2, FC3, LAYERS };
typedef enum moe_activation { ACT_RELU, ACT_GELU, ACT_SILU, ACT_SWIGLU, ACT_IDENTITY } moe_activation;
typedef enum moe_fusion { FUSION_NONE, FUSION_INTERLEAVED, FUSION_HALVES } moe_fusion;

/* Where the inputs of each layer stand. */
typedef struct moe_inputs {
    bool quantized;
    int8_t weights[LAYERS], bias[LAYERS], scales[LAYERS], zeros[LAYERS];
    int8_t mixing; /* scores that weigh, where the router's only select */
    int8_t known;  /* inputs from here on are not supported */
} moe_inputs;

static const moe_inputs plain_inputs = {false, {2, 4, 6}, {3, 5, 7}, {NONE, NONE, NONE}, {NONE, NONE, NONE},
                                        NONE,  8};
static const moe_inputs quantized_inputs = {true, {2, 5, 8}, {4, 7, 10}, {3, 6, 9}, {11, 12, 13}, 14, 15};

typedef struct moe_params {
    const moe_inputs *at;
    int64_t k, block;
    int bits[LAYERS];
    moe_activation activation;
    moe_fusion fusion;
    bool normalizes, sparse;
    bool limits_result; /* swiglu: the limit applies behind the gate's activation */
    float limit, alpha, beta;
} moe_params;

typedef struct moe_local {
    int64_t tokens, hidden, inner, experts;
    int64_t wide; /* rows of fc1: inner, or twice that */
    bool transposed;
} moe_local;

/* ---- Build ---- */

static ln_status build_params(ln_build *build, const moe_inputs *at) {
    static const char *const activations[] = {"relu", "gelu", "silu", "swiglu", "identity", NULL};
    static const char *const bits[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                       "fc3_expert_weight_bits"};
    moe_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return ln_build_status(build);
    }
    params->at = at;
    params->k = ln_attr_int(build, "k", 1);
    params->block = ln_attr_int(build, "block_size", 0);
    params->activation = (moe_activation)ln_attr_choice(build, "activation_type", activations, ACT_RELU);
    params->fusion = (moe_fusion)ln_attr_int(build, "swiglu_fusion", 0);
    params->normalizes = ln_attr_bool(build, "normalize_routing_weights", false);
    params->limit = ln_attr_float(build, "swiglu_limit", INFINITY);
    params->alpha = ln_attr_float(build, "activation_alpha", 1);
    params->beta = ln_attr_float(build, "activation_beta", 0);
    const int64_t all = ln_attr_int(build, "expert_weight_bits", 4);
    for (int layer = 0; layer < LAYERS; layer++) {
        params->bits[layer] = (int)ln_attr_int(build, bits[layer], all);
        const int width = params->bits[layer];
        if (at->quantized && width != 2 && width != 3 && width != 4 && width != 8) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "expert weights of %d bits, expected 2, 3, 4 or 8", width);
        }
    }
    params->sparse = ln_attr_bool(build, "use_sparse_mixer", false);
    params->limits_result = ln_attr_bool(build, "swiglu_limit_after_activation", false);
    const char *type = ln_attr_string(build, "quant_type", "int");
    if (type && strcmp(type, "int") != 0) {
        return ln_build_fail(build, LN_UNSUPPORTED,
                             "expert weights of quant_type '%s' cannot be read: only 'int'", type);
    }
    if (ln_attr_int(build, "weights_prepacked", 0) > 0) {
        return ln_build_fail(build, LN_UNSUPPORTED, "weights prepacked for another runtime cannot be read");
    }
    if (params->sparse && params->k > 2) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the sparse mixer takes 2 experts, k is %lld",
                             (long long)params->k);
    }
    if (params->k <= 0 || params->block < 0 || params->fusion > FUSION_HALVES) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "k, block_size or swiglu_fusion is out of range");
    }
    return ln_build_status(build);
}

static ln_status build_moe(ln_build *build) {
    return build_params(build, &plain_inputs);
}

static ln_status build_qmoe(ln_build *build) {
    return build_params(build, &quantized_inputs);
}

/* ---- Infer ---- */

static const ln_value *input_at(const ln_op *op, int index) {
    return index == NONE ? NULL : ln_in(op, index);
}

/* Checks one layer against its number of outputs and inputs. */
static ln_status check_layer(ln_op *op, int layer, int64_t out, int64_t in) {
    const moe_params *params = op->params;
    const moe_local *m = LN_LOCAL(op, moe_local);
    const ln_value *w = input_at(op, params->at->weights[layer]);
    const ln_value *bias = input_at(op, params->at->bias[layer]);
    const ln_value *scales = input_at(op, params->at->scales[layer]);
    const ln_value *zeros = input_at(op, params->at->zeros[layer]);
    char text[LN_SHAPE_TEXT_BYTES];
    const int bits = params->bits[layer];
    const int64_t columns = params->at->quantized ? (in * bits + 7) / 8 : in;
    const ln_shape wanted = {3, {m->experts, m->transposed ? in : out, m->transposed ? out : columns}};
    LN_OP_CHECK(op, ln_shape_equal(&w->shape, &wanted), INVALID_SHAPE,
                "weights of layer %d have shape %s, expected [%lld,%lld,%lld]", layer + 1,
                ln_shape_text(&w->shape, text), (long long)wanted.dims[0], (long long)wanted.dims[1],
                (long long)wanted.dims[2]);
    LN_OP_CHECK(op, !bias || ln_value_count(bias) == m->experts * out, INVALID_SHAPE,
                "the bias of layer %d must have %lld elements, it has %lld", layer + 1,
                (long long)(m->experts * out), (long long)ln_value_count(bias));
    if (!params->at->quantized) {
        return LN_OK;
    }
    const int64_t blocks = params->block > 0 ? (in + params->block - 1) / params->block : 1;
    const int64_t packed = params->block > 0 ? out * ((blocks * bits + 7) / 8) : (out * bits + 7) / 8;
    LN_OP_CHECK(op, scales && ln_value_count(scales) == m->experts * out * blocks, INVALID_SHAPE,
                "layer %d needs %lld scales, it has %lld", layer + 1, (long long)(m->experts * out * blocks),
                (long long)(scales ? ln_value_count(scales) : 0));
    LN_OP_CHECK(op, !zeros || ln_value_count(zeros) == m->experts * packed, INVALID_SHAPE,
                "zero points of layer %d must take %lld bytes", layer + 1, (long long)(m->experts * packed));
    return LN_OK;
}

static ln_status infer_moe(ln_op *op) {
    const moe_params *params = op->params;
    moe_local *m = LN_LOCAL(op, moe_local);
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *router = &ln_in(op, ROUTER)->shape;
    const ln_shape *fc1 = &ln_in(op, params->at->weights[FC1])->shape;
    const ln_shape *fc2 = &ln_in(op, params->at->weights[FC2])->shape;
    const bool quantized = params->at->quantized;
    for (int i = params->at->known; i < op->n_inputs; i++) {
        LN_OP_CHECK(op, !ln_in(op, i), UNSUPPORTED, "input %d is for weights of a type that is not supported",
                    i);
    }
    LN_OP_CHECK(op, x->rank >= 2 && router->rank == 2 && fc1->rank == 3 && fc2->rank == 3, INVALID_SHAPE,
                "inputs have %d, %d, %d and %d axes, expected 2 or 3, 2, 3 and 3", (int)x->rank,
                (int)router->rank, (int)fc1->rank, (int)fc2->rank);
    m->hidden = x->dims[x->rank - 1];
    m->tokens = ln_shape_product(x, 0, x->rank - 1);
    m->experts = fc1->dims[0];
    m->transposed = !quantized && fc2->dims[1] != m->hidden && fc2->dims[2] == m->hidden;
    m->inner = m->transposed ? fc2->dims[1] : quantized ? fc2->dims[2] * 8 / params->bits[FC2] : fc2->dims[2];
    const bool fused = params->activation == ACT_SWIGLU && params->fusion != FUSION_NONE;
    m->wide = fused ? 2 * m->inner : m->inner;
    LN_TRY(check_layer(op, FC1, m->wide, m->hidden));
    LN_TRY(check_layer(op, FC2, m->hidden, m->inner));
    const bool third = input_at(op, params->at->weights[FC3]) != NULL;
    LN_TRY(third ? check_layer(op, FC3, m->inner, m->hidden) : LN_OK);
    LN_OP_CHECK(op, third ? !fused : params->activation != ACT_SWIGLU || fused, INVALID_GRAPH,
                "swiglu takes either fused weights or those of a third layer");
    LN_OP_CHECK(op, router->dims[0] == m->tokens && router->dims[1] == m->experts && params->k <= m->experts,
                INVALID_SHAPE,
                "the router has scores [%lld,%lld] for %lld tokens and %lld experts, of which %lld are asked",
                (long long)router->dims[0], (long long)router->dims[1], (long long)m->tokens,
                (long long)m->experts, (long long)params->k);
    const ln_value *mixing = input_at(op, params->at->mixing);
    LN_OP_CHECK(op, !mixing || ln_shape_equal(&mixing->shape, router), INVALID_SHAPE,
                "router_weights and router_probs have different shapes");
    const int64_t limit = (int64_t)(SIZE_MAX / 64);
    LN_OP_CHECK(op, m->hidden < limit && m->inner < limit && m->experts < limit, LIMIT_EXCEEDED,
                "the experts are too large");
    op->task_scratch_bytes = (size_t)(4 * m->hidden + 5 * m->inner + 3 * m->experts + 16) * sizeof(float);
    return ln_infer_same(op);
}

/* ---- One layer of one expert ---- */

/* Row `row` of quantised weights, of the expert's `rows`. */
static void dequantize(const ln_op *op, int layer, int64_t expert, int64_t rows, int64_t row, int64_t n,
                       float *out) {
    const moe_params *params = op->params;
    const int bits = params->bits[layer];
    const unsigned width = (unsigned)bits;
    const ln_value *scales = input_at(op, params->at->scales[layer]);
    const ln_value *zeros = input_at(op, params->at->zeros[layer]);
    const int64_t index = expert * rows + row;
    const uint8_t *codes =
        (const uint8_t *)input_at(op, params->at->weights[layer])->data + index * ((n * bits + 7) / 8);
    const int64_t block = params->block > 0 ? params->block : n;
    const int64_t blocks = (n + block - 1) / block;
    for (int64_t b = 0; b < blocks; b++) {
        int zero = 1 << (bits - 1);
        float scale = 0;
        if (zeros && params->block > 0) {
            zero = (int)ln_packed_get((const uint8_t *)zeros->data + index * ((blocks * bits + 7) / 8), b,
                                      width);
        } else if (zeros) {
            zero = (int)ln_packed_get((const uint8_t *)zeros->data + expert * ((rows * bits + 7) / 8), row,
                                      width);
        }
        ln_load_f32(scales->dtype, scales->data, index * blocks + b, 1, &scale);
        for (int64_t i = b * block; i < n && i < (b + 1) * block; i++) {
            out[i] = (float)((int)ln_packed_get(codes, i, width) - zero) * scale;
        }
    }
}

static const float *weight_row(const ln_op *op, int layer, int64_t expert, int64_t rows, int64_t row,
                               int64_t n, float *scratch) {
    const moe_params *params = op->params;
    const ln_value *w = input_at(op, params->at->weights[layer]);
    const int64_t first = (expert * rows + row) * n;
    if (params->at->quantized) {
        dequantize(op, layer, expert, rows, row, n, scratch);
    } else if (w->dtype == LN_FLOAT) {
        return (const float *)w->data + first;
    } else {
        ln_load_f32(w->dtype, w->data, first, n, scratch);
    }
    return scratch;
}

/* out = W x + bias, from `in` to `n_out` numbers. */
static void project(const ln_op *op, int layer, int64_t expert, const float *x, int64_t in, float *out,
                    int64_t n_out, float *scratch) {
    const moe_params *params = op->params;
    const moe_local *m = LN_LOCAL(op, moe_local);
    const ln_value *bias = input_at(op, params->at->bias[layer]);
    memset(out, 0, (size_t)n_out * sizeof *out);
    if (bias) {
        ln_load_f32(bias->dtype, bias->data, expert * n_out, n_out, out);
    }
    for (int64_t i = 0; m->transposed && i < in; i++) {
        ln_axpy_f32(out, weight_row(op, layer, expert, in, i, n_out, scratch), (size_t)n_out, x[i]);
    }
    for (int64_t i = 0; !m->transposed && i < n_out; i++) {
        out[i] += ln_dot_f32(weight_row(op, layer, expert, n_out, i, in, scratch), x, (size_t)in);
    }
}

/* min(gate, limit) * sigmoid(alpha * gate) * (clamp(line) + beta), or with the limit around the first product. */
static float swiglu(const moe_params *params, float gate, float line) {
    const float g = gate > params->limit && !params->limits_result ? params->limit : gate;
    const float l = line > params->limit ? params->limit : line < -params->limit ? -params->limit : line;
    const float first = g / (1 + expf(-params->alpha * g));
    return (first > params->limit && params->limits_result ? params->limit : first) * (l + params->beta);
}

/* What goes into fc2, from the fc1 row and the fc3 row, or NULL where there is none. */
static void activate(const moe_params *params, float *h, const float *third, int64_t inner) {
    static const enum ln_unary kernels[] = {LN_UNARY_RELU, LN_UNARY_GELU_TANH, LN_UNARY_SILU};
    const bool halves = params->fusion == FUSION_HALVES;
    if (params->activation == ACT_SWIGLU) {
        for (int64_t i = 0; i < inner; i++) {
            const float gate = third || halves ? h[i] : h[2 * i];
            h[i] = swiglu(params, gate, third ? third[i] : halves ? h[inner + i] : h[2 * i + 1]);
        }
        return;
    }
    if (params->activation != ACT_IDENTITY) {
        ln_unary_f32[kernels[params->activation]](h, h, (size_t)inner, 0, 0);
    }
    if (third) {
        ln_binary_f32[LN_BINARY_MUL](h, h, 1, third, 1, (size_t)inner);
    }
}

/* ---- Routing ---- */

/* The sparse mixer's weight of an expert: its share of the softmax over the experts that are left and close to it, so close
 * that the difference is at most 2 % of the larger score. */
static float sparse_weight(const float *scores, int64_t experts, const int32_t *chosen, int64_t rank) {
    const float best = scores[chosen[rank]];
    float sum = 0;
    for (int64_t e = 0; e < experts; e++) {
        const float size = fabsf(scores[e]) > best ? fabsf(scores[e]) : best;
        if ((rank == 0 || e != chosen[0]) && best - scores[e] <= 0.02F * size) {
            sum += expf(scores[e] - best);
        }
    }
    return 1 / sum;
}

/* The softmax of a token's scores, and the numbers of its experts, best first (the first of equals). */
static void route(const ln_op *op, int64_t token, float *weights, float *scores, int32_t *chosen) {
    const moe_params *params = op->params;
    const moe_local *m = LN_LOCAL(op, moe_local);
    const ln_value *router = ln_in(op, ROUTER);
    const ln_value *mixing = input_at(op, params->at->mixing);
    float sum = 0;
    ln_load_f32(router->dtype, router->data, token * m->experts, m->experts, scores);
    ln_softmax_rows_f32(weights, scores, 1, (size_t)m->experts, 1, NULL, 0);
    if (mixing) {
        ln_load_f32(mixing->dtype, mixing->data, token * m->experts, m->experts, weights);
    }
    for (int64_t i = 0; i < params->k; i++) {
        int32_t best = -1;
        for (int32_t e = 0; e < m->experts; e++) {
            bool taken = false;
            for (int64_t j = 0; j < i; j++) {
                taken = taken || chosen[j] == e;
            }
            best = !taken && (best < 0 || scores[e] > scores[best]) ? e : best;
        }
        chosen[i] = best;
        sum += weights[best];
    }
    for (int64_t i = 0; params->sparse && !mixing && i < params->k; i++) {
        weights[chosen[i]] = sparse_weight(scores, m->experts, chosen, i);
    }
    if (params->sparse) {
        return;
    }
    /* QMoE's own weights are the softmax over the chosen experts alone. */
    const bool normalizes = params->normalizes || (params->at->quantized && !mixing);
    for (int64_t i = 0; normalizes && sum != 0 && i < params->k; i++) {
        weights[chosen[i]] /= sum;
    }
}

static void token_task(ln_op *op, int64_t token, void *scratch) {
    const moe_params *params = op->params;
    const moe_local *m = LN_LOCAL(op, moe_local);
    const ln_value *x = ln_in(op, X);
    ln_value *y = ln_out(op, 0);
    const bool third = input_at(op, params->at->weights[FC3]) != NULL;
    float *in = scratch;
    float *out = in + m->hidden;
    float *answer = out + m->hidden;
    float *h = answer + m->hidden;
    float *line = h + 2 * m->inner;
    float *weights = line + m->inner;
    float *scores = weights + m->experts;
    int32_t *chosen = (int32_t *)(void *)(scores + m->experts);
    float *row = scores + 2 * m->experts;
    ln_load_f32(x->dtype, x->data, token * m->hidden, m->hidden, in);
    memset(out, 0, (size_t)m->hidden * sizeof *out);
    route(op, token, weights, scores, chosen);
    for (int64_t i = 0; i < params->k; i++) {
        const int64_t expert = chosen[i];
        project(op, FC1, expert, in, m->hidden, h, m->wide, row);
        if (third) {
            project(op, FC3, expert, in, m->hidden, line, m->inner, row);
        }
        activate(params, h, third ? line : NULL, m->inner);
        project(op, FC2, expert, h, m->inner, answer, m->hidden, row);
        ln_axpy_f32(out, answer, (size_t)m->hidden, weights[expert]);
    }
    ln_store_f32(y->dtype, y->data, token * m->hidden, m->hidden, out);
}

static ln_status run_moe(ln_op *op) {
    return ln_op_grid(op, token_task, LN_LOCAL(op, moe_local)->tokens);
}

/* ---- Rows ---- */

#define HALVES (LN_BIT(LN_FLOAT) | LN_T_HALF)
static const ln_op_row rows[] = {
    {"MoE",
     "com.microsoft",
     1,
     LN_OPEN,
     "AAAA?AA?A?A?>A",
     {HALVES},
     build_moe,
     infer_moe,
     run_moe,
     NULL,
     0,
     NULL},
    {"QMoE",
     "com.microsoft",
     1,
     LN_OPEN,
     "AABC?A?BC?A?B?C?A?B?B?B?A?f?f?f?f?C?C?>A",
     {HALVES, LN_BIT(LN_UINT8), HALVES},
     build_qmoe,
     infer_moe,
     run_moe,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(moe, rows);
