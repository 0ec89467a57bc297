/* FlexAttention: attention whose scores and probabilities pass through subgraphs of the model.
 *
 * Y = prob_mod(softmax(score_mod(scale * Q K^T))) V, for Q [B,Hq,L,E], K [B,Hkv,S,E], V [B,Hkv,S,Ev]. A step machine
 * as control flow is (ops/op.h): the scores are made and handed to score_mod, what comes back goes through the softmax
 * and to prob_mod, and what comes back weighs the values. Scores are stored whole, in the type softmax_precision
 * says, because the subgraphs see them so. Standard: ai.onnx.preview FlexAttention-1.
 */
#include <math.h>
#include <string.h>

#include "ops/control.h"
#include "simd/vector.h"

enum { Q, K, V };
enum { SCORES, PROBABILITIES }; /* control->kept */

typedef struct flex_params {
    ln_graph *score_mod, *prob_mod; /* or NULL */
    float scale;                    /* 0: by the size of a head */
    ln_dtype precision;             /* of the scores; LN_UNDEFINED: by the inputs */
} flex_params;

typedef enum flex_stage { STAGE_BEGIN, STAGE_SCORED, STAGE_WEIGHED } flex_stage;

typedef struct flex_state {
    flex_stage stage;
} flex_state;

static ln_status build_flex(ln_build *build) {
    flex_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return ln_build_status(build);
    }
    const int64_t precision = ln_attr_int(build, "softmax_precision", LN_UNDEFINED);
    params->scale = ln_attr_float(build, "scale", 0);
    params->score_mod = ln_has_attr(build, "score_mod") ? ln_attr_graph(build, "score_mod") : NULL;
    params->prob_mod = ln_has_attr(build, "prob_mod") ? ln_attr_graph(build, "prob_mod") : NULL;
    LN_TRY(ln_check_body(build, params->score_mod, 1, 0, 1));
    LN_TRY(ln_check_body(build, params->prob_mod, 1, 0, 1));
    if (precision != LN_UNDEFINED &&
        (precision < 0 || precision >= LN_DTYPE_COUNT || !(LN_BIT((unsigned)precision) & LN_T_FLOAT_BF))) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "softmax_precision is %lld, expected 1, 10, 11 or 16", (long long)precision);
    }
    params->precision = (ln_dtype)precision;
    return ln_build_status(build);
}

static ln_status check_shapes(ln_op *op) {
    const ln_shape *q = &ln_in(op, Q)->shape;
    const ln_shape *k = &ln_in(op, K)->shape;
    const ln_shape *v = &ln_in(op, V)->shape;
    char text[3][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op,
                q->rank == 4 && k->rank == 4 && v->rank == 4 && q->dims[0] == k->dims[0] &&
                    k->dims[0] == v->dims[0] && k->dims[1] == v->dims[1] && k->dims[2] == v->dims[2] &&
                    q->dims[3] == k->dims[3] && k->dims[1] > 0 && q->dims[1] % k->dims[1] == 0,
                INVALID_SHAPE, "Q, K and V of shapes %s, %s and %s do not fit together",
                ln_shape_text(q, text[0]), ln_shape_text(k, text[1]), ln_shape_text(v, text[2]));
    return LN_OK;
}

/* ---- The three parts ---- */

/* sum of a[i] * b[i] over n elements of one type. */
static double dot(ln_dtype dtype, const void *a, int64_t first_a, const void *b, int64_t first_b, int64_t n) {
    if (dtype == LN_FLOAT) {
        return (double)ln_dot_f32((const float *)a + first_a, (const float *)b + first_b, (size_t)n);
    }
    double x[LN_TILE];
    double y[LN_TILE];
    double sum = 0;
    for (int64_t i = 0; i < n; i += LN_TILE) {
        const int64_t count = n - i < LN_TILE ? n - i : LN_TILE;
        ln_load_f64(dtype, a, first_a + i, count, x);
        ln_load_f64(dtype, b, first_b + i, count, y);
        for (int64_t t = 0; t < count; t++) {
            sum += x[t] * y[t];
        }
    }
    return sum;
}

/* Row (batch, head, query) of Q in the order of the scores, and the first row of the K and V that belong to it. */
static int64_t first_key(const ln_op *op, int64_t row) {
    const int64_t *q = ln_in(op, Q)->shape.dims;
    const int64_t *k = ln_in(op, K)->shape.dims;
    const int64_t head = row / q[2];
    return (head / q[1] * k[1] + head % q[1] / (q[1] / k[1])) * k[2];
}

static ln_status make_scores(ln_control *control) {
    ln_op *op = &control->op;
    const flex_params *params = op->params;
    const ln_value *q = ln_in(op, Q);
    const ln_value *k = ln_in(op, K);
    ln_value *scores = &control->kept[SCORES];
    const ln_dtype usual = q->dtype == LN_DOUBLE ? LN_DOUBLE : LN_FLOAT;
    const ln_shape shape = {4, {q->shape.dims[0], q->shape.dims[1], q->shape.dims[2], k->shape.dims[2]}};
    LN_OP_CHECK(op, ln_shape_count(&shape) >= 0, LIMIT_EXCEEDED, "the scores are too many");
    LN_TRY(ln_value_make(op->context, scores, params->precision ? params->precision : usual, &shape));
    const int64_t head = q->shape.dims[3];
    const int64_t keys = k->shape.dims[2];
    const double scale = params->scale != 0 ? (double)params->scale : 1 / sqrt((double)head);
    const int64_t rows = ln_shape_product(&shape, 0, 3);
    double tile[LN_TILE];
    for (int64_t row = 0; row < rows; row++) {
        const int64_t first = first_key(op, row);
        for (int64_t j = 0; j < keys; j += LN_TILE) {
            const int64_t n = keys - j < LN_TILE ? keys - j : LN_TILE;
            for (int64_t t = 0; t < n; t++) {
                tile[t] = scale * dot(q->dtype, q->data, row * head, k->data, (first + j + t) * head, head);
            }
            ln_store_f64(scores->dtype, scores->data, row * keys + j, n, tile);
        }
    }
    return LN_OK;
}

/* The largest score of a row, and the sum of exp(score - largest). */
static void measure_row(const ln_value *scores, int64_t first, int64_t n, double *largest, double *sum) {
    double tile[LN_TILE];
    *largest = -INFINITY;
    *sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < n; j += LN_TILE) {
            const int64_t count = n - j < LN_TILE ? n - j : LN_TILE;
            ln_load_f64(scores->dtype, scores->data, first + j, count, tile);
            for (int64_t t = 0; t < count; t++) {
                if (pass == 0) {
                    *largest = tile[t] > *largest || tile[t] != tile[t] ? tile[t] : *largest;
                } else {
                    *sum += exp(tile[t] - *largest);
                }
            }
        }
    }
}

static ln_status make_probabilities(ln_control *control, const ln_value *scores) {
    ln_op *op = &control->op;
    ln_value *out = &control->kept[PROBABILITIES];
    LN_TRY(ln_value_make(op->context, out, scores->dtype, &scores->shape));
    const int64_t keys = scores->shape.dims[3];
    const int64_t rows = ln_shape_product(&scores->shape, 0, 3);
    double tile[LN_TILE];
    for (int64_t row = 0; row < rows; row++) {
        double largest, sum;
        measure_row(scores, row * keys, keys, &largest, &sum);
        for (int64_t j = 0; j < keys; j += LN_TILE) {
            const int64_t n = keys - j < LN_TILE ? keys - j : LN_TILE;
            ln_load_f64(scores->dtype, scores->data, row * keys + j, n, tile);
            for (int64_t t = 0; t < n; t++) {
                tile[t] = exp(tile[t] - largest) / sum;
            }
            ln_store_f64(out->dtype, out->data, row * keys + j, n, tile);
        }
    }
    return LN_OK;
}

static ln_status weigh_values(ln_control *control, const ln_value *probabilities) {
    ln_op *op = &control->op;
    const ln_value *q = ln_in(op, Q);
    const ln_value *v = ln_in(op, V);
    const int64_t width = v->shape.dims[3];
    const int64_t keys = v->shape.dims[2];
    const ln_shape shape = {4, {q->shape.dims[0], q->shape.dims[1], q->shape.dims[2], width}};
    LN_TRY(ln_op_make(op, 0, q->dtype, &shape));
    ln_value *y = ln_out(op, 0);
    const int64_t rows = y ? ln_shape_product(&shape, 0, 3) : 0;
    double sums[LN_TILE];
    double values[LN_TILE];
    for (int64_t row = 0; row < rows; row++) {
        const int64_t first = first_key(op, row);
        for (int64_t d = 0; d < width; d += LN_TILE) {
            const int64_t n = width - d < LN_TILE ? width - d : LN_TILE;
            memset(sums, 0, sizeof sums);
            for (int64_t j = 0; j < keys; j++) {
                double weight = 0;
                ln_load_f64(probabilities->dtype, probabilities->data, row * keys + j, 1, &weight);
                ln_load_f64(v->dtype, v->data, (first + j) * width + d, n, values);
                for (int64_t t = 0; t < n; t++) {
                    sums[t] += weight * values[t];
                }
            }
            ln_store_f64(y->dtype, y->data, row * width + d, n, sums);
        }
    }
    return LN_OK;
}

/* ---- The steps ---- */

static ln_status infer_flex(ln_op *op) {
    return ln_infer_dynamic(op);
}

static ln_status enter(ln_control *control, ln_graph *body, int slot) {
    control->body = body;
    return ln_show(control->op.context, &control->body_inputs[0], &control->kept[slot]);
}

/* What a subgraph made of the tensor in `slot`, or that tensor where there was no subgraph. */
static ln_status answer(ln_control *control, const ln_graph *body, int slot, const ln_value **value) {
    const ln_value *sent = &control->kept[slot];
    *value = body ? control->body_outputs[0] : sent;
    ln_op *op = &control->op;
    LN_OP_CHECK(op,
                *value && (*value)->kind == LN_KIND_TENSOR && (*value)->dtype == sent->dtype &&
                    ln_shape_equal(&(*value)->shape, &sent->shape),
                INVALID_SHAPE, "a modifier subgraph changes the type or the shape of what it is given");
    return LN_OK;
}

static ln_status control_flex(ln_control *control) {
    const flex_params *params = control->op.params;
    flex_state *state = control->state;
    const ln_value *value;
    if (state->stage == STAGE_BEGIN) {
        LN_TRY(check_shapes(&control->op));
        LN_TRY(make_scores(control));
        state->stage = STAGE_SCORED;
        if (params->score_mod) {
            return enter(control, params->score_mod, SCORES);
        }
    }
    if (state->stage == STAGE_SCORED) {
        LN_TRY(answer(control, params->score_mod, SCORES, &value));
        LN_TRY(make_probabilities(control, value));
        state->stage = STAGE_WEIGHED;
        if (params->prob_mod) {
            return enter(control, params->prob_mod, PROBABILITIES);
        }
    }
    LN_TRY(answer(control, params->prob_mod, PROBABILITIES, &value));
    return weigh_values(control, value);
}

/* ---- Rows ---- */

static const ln_op_row rows[] = {
    {"FlexAttention",
     "ai.onnx.preview",
     1,
     LN_OPEN,
     "AAA>A",
     {LN_T_FLOAT_BF},
     build_flex,
     infer_flex,
     NULL,
     NULL,
     LN_OP_DYNAMIC | LN_OP_CONTROL,
     control_flex},
};
LN_FAMILY_TABLE(flex_attention, rows);
