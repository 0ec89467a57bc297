/* Attention as a model writes it out, in one node: Y = softmax(scale Q K^T, added to and chosen from) V.
 *
 * A rewrite makes this node of MatMul, Softmax and MatMul and what stands between them, so it means what they mean together: operands
 * broadcast over batch and heads, and so do the addend and the choice over all four axes of the scores; a row whose keys are all
 * -infinity gives NaN unless the model says otherwise. Axes that broadcast are strides of 0 for the core, in attention_core.c,
 * which never stores the scores whole.
 */
#include "ops/attend.h"

#include <math.h>
#include <string.h>

#include "ops/attention_rows.h"
#include "simd/kernels.h"

typedef struct attend {
    ln_attention core; /* first, as the core wants */
    const ln_attend_params *params;
    ln_attention_mask addend, choice;
} attend;

/* ---- Infer ---- */

/* The four axes of an operand or mask, front axes that are missing being 1, with their strides. */
typedef struct axes {
    int64_t dims[4], strides[4];
} axes;

static axes axes_of(const ln_value *value, bool by_rows) {
    axes out = {{1, 1, 1, 1}, {0}};
    int64_t step = 1;
    for (int i = value->shape.rank - 1, axis = 3; i >= 0; i--, axis--) {
        const int target = by_rows && (axis == 1 || axis == 2) ? 3 - axis : axis;
        out.dims[target] = value->shape.dims[i];
        out.strides[target] = out.dims[target] == 1 ? 0 : step;
        step *= out.dims[target];
    }
    return out;
}

static ln_status grow(ln_op *op, int input, int64_t *dim, int64_t by) {
    LN_OP_CHECK(op, *dim == by || *dim == 1 || by == 1, INVALID_SHAPE,
                "input %d does not broadcast: %lld against %lld", input, (long long)by, (long long)*dim);
    *dim = *dim == 1 ? by : *dim;
    return LN_OK;
}

/* Adds an input to the shape of the scores: the first `count` axes of it, and its rows to axis `rows_at`. */
static ln_status add_input(ln_op *op, int input, int64_t *scores, axes *out) {
    const ln_attend_params *params = op->params;
    const ln_value *value = ln_in(op, input);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, value->shape.rank <= 4, UNSUPPORTED, "input %d of shape %s has more than 4 axes", input,
                ln_shape_text(&value->shape, text));
    *out = axes_of(value, input < LN_ATTEND_ADDEND && (params->by_rows >> input & 1));
    LN_TRY(grow(op, input, &scores[0], out->dims[0]));
    const bool shared = input == LN_ATTEND_K || input == LN_ATTEND_V;
    LN_TRY(grow(op, input, &scores[1], out->dims[1] * (shared ? params->repeats : 1)));
    if (input == LN_ATTEND_K) {
        return grow(op, input, &scores[3], out->dims[2]);
    }
    if (input != LN_ATTEND_V) {
        LN_TRY(grow(op, input, &scores[2], out->dims[2]));
    }
    return input > LN_ATTEND_V ? grow(op, input, &scores[3], out->dims[3]) : LN_OK;
}

static ln_heads heads_of(const ln_value *value, const axes *at) {
    return (ln_heads){
        .dtype = value->dtype, .batch = at->strides[0], .head = at->strides[1], .row = at->strides[2]};
}

static ln_status infer_mask(ln_op *op, int input, int64_t *scores, ln_attention_mask *mask) {
    axes at;
    if (!ln_in(op, input)) {
        return LN_OK;
    }
    LN_TRY(add_input(op, input, scores, &at));
    mask->at = heads_of(ln_in(op, input), &at);
    mask->column = at.strides[3];
    return LN_OK;
}

static ln_status infer_output(ln_op *op, ln_attention *a) {
    const ln_attend_params *params = op->params;
    const bool by_rows = params->by_rows >> LN_ATTEND_Y & 1;
    const int64_t dims[4] = {a->batches, by_rows ? a->queries : a->heads, by_rows ? a->heads : a->queries,
                             a->head_v};
    int rank = 0;
    for (int i = 0; i < LN_ATTEND_SCALES; i++) {
        const int own = ln_in(op, i) ? ln_in(op, i)->shape.rank : 0;
        rank = own > rank ? own : rank;
    }
    const ln_dtype dtype = ln_in(op, LN_ATTEND_Q)->dtype;
    const ln_shape y = ln_shape_of(rank, dims + 4 - rank);
    a->y = ln_heads_split(dtype, a->heads, a->queries, a->head_v);
    if (by_rows) {
        a->y.head = a->head_v;
        a->y.row = a->heads * a->head_v;
    }
    return ln_op_shape(op, 0, dtype, &y);
}

static void softmax_as_written(const ln_attention *core, int64_t b, int64_t n, int64_t i, float *scores,
                               float *tile);

static ln_status infer_attend(ln_op *op) {
    attend *own = LN_LOCAL(op, attend);
    ln_attention *a = &own->core;
    int64_t scores[4] = {1, 1, 1, 1};
    axes q;
    axes k;
    axes v;
    *own = (attend){.core = {.left = -1, .right = -1, .softmax = softmax_as_written}, .params = op->params};
    for (int i = LN_ATTEND_Q; i <= LN_ATTEND_V; i++) {
        LN_OP_CHECK(op, ln_in(op, i)->shape.rank >= 2, INVALID_SHAPE, "input %d has %d axes, expected 2 to 4",
                    i, (int)ln_in(op, i)->shape.rank);
    }
    LN_TRY(add_input(op, LN_ATTEND_Q, scores, &q));
    LN_TRY(add_input(op, LN_ATTEND_K, scores, &k));
    LN_TRY(infer_mask(op, LN_ATTEND_ADDEND, scores, &own->addend));
    LN_TRY(infer_mask(op, LN_ATTEND_CHOICE, scores, &own->choice));
    LN_TRY(add_input(op, LN_ATTEND_V, scores, &v));
    LN_OP_CHECK(op, q.dims[3] == k.dims[3] && scores[3] == v.dims[2], INVALID_SHAPE,
                "%lld elements of a query against %lld of a key, and %lld keys against %lld values",
                (long long)q.dims[3], (long long)k.dims[3], (long long)scores[3], (long long)v.dims[2]);
    a->batches = scores[0];
    a->heads = scores[1];
    a->queries = scores[2];
    a->keys = a->fresh = scores[3];
    a->kv_heads = a->heads > 0 && k.dims[1] == 1 && v.dims[1] == 1 ? 1 : a->heads / own->params->repeats;
    a->head = q.dims[3];
    a->head_v = v.dims[3];
    a->q = heads_of(ln_in(op, LN_ATTEND_Q), &q);
    a->k = heads_of(ln_in(op, LN_ATTEND_K), &k);
    a->v = heads_of(ln_in(op, LN_ATTEND_V), &v);
    LN_TRY(infer_output(op, a));
    return ln_attention_plan(op);
}

/* ---- Run ---- */

/* What is added to row i of the scores: where it lies, or one number for all keys in `tile`; NULL for nothing. */
static const float *addend_row(const attend *own, int64_t b, int64_t n, int64_t i, float *tile) {
    const ln_attention_mask *addend = &own->addend;
    if (!ln_heads_present(&addend->at)) {
        return NULL;
    }
    const int64_t first = ln_heads_place(&addend->at, b, n, i);
    if (addend->column && addend->at.dtype == LN_FLOAT) {
        return (const float *)addend->at.data + first;
    }
    const int64_t keys = own->core.keys;
    ln_load_f32(addend->at.dtype, addend->at.data, first, addend->column ? keys : 1, tile);
    for (int64_t j = 1; !addend->column && j < keys; j++) {
        tile[j] = tile[0];
    }
    return tile;
}

/* Whether each key is chosen, one byte each; keys repeat where `step` is 0. */
static const uint8_t *choice_row(const attend *own, int64_t b, int64_t n, int64_t i, size_t *step) {
    *step = (size_t)own->choice.column;
    return (const uint8_t *)own->choice.at.data + ln_heads_place(&own->choice.at, b, n, i);
}

/* Numbers of rejected keys become `fill`. */
static void reject(const attend *own, const uint8_t *choice, size_t step, float fill, float *row) {
    const size_t keys = (size_t)own->core.keys;
    const bool rejects = own->params->rejects;
    if (step == 0) {
        for (size_t j = 0; (choice[0] != 0) == rejects && j < keys; j++) {
            row[j] = fill;
        }
        return;
    }
    for (size_t j = 0; j < keys; j++) {
        row[j] = (choice[j] != 0) == rejects ? fill : row[j];
    }
}

/* Scaled products to weights, for one row of all keys. */
static void softmax_as_written(const ln_attention *core, int64_t b, int64_t n, int64_t i, float *scores,
                               float *tile) {
    const attend *own = (const attend *)(const void *)core;
    const ln_attend_params *params = own->params;
    const bool chooses = ln_heads_present(&own->choice.at);
    const size_t keys = (size_t)core->keys;
    const float *addend = addend_row(own, b, n, i, tile);
    float scale = core->scale;
    size_t step = 0;
    const uint8_t *choice = chooses ? choice_row(own, b, n, i, &step) : NULL;
    if (chooses) {
        for (size_t j = 0; j < keys; j++) {
            scores[j] *= scale;
        }
        for (size_t j = 0; addend && !params->chooses_first && j < keys; j++) {
            scores[j] += addend[j];
        }
        reject(own, choice, step, params->fill, scores);
        scale = 1;
        addend = params->chooses_first ? addend : NULL;
    }
    ln_softmax_rows_f32(scores, scores, 1, keys, scale, addend, 0);
    if (params->clears_nan && isnan(scores[0])) { /* one is enough: the sum is not a number then */
        memset(scores, 0, keys * sizeof *scores);
    }
    if (params->clears_rejected && chooses) {
        reject(own, choice, step, 0, scores);
    }
}

static ln_status run_attend(ln_op *op) {
    attend *own = LN_LOCAL(op, attend);
    ln_attention *a = &own->core;
    a->scale = own->params->scale;
    for (int i = 0; LN_ATTEND_SCALES + i < op->n_inputs; i++) {
        const ln_value *number = ln_in(op, LN_ATTEND_SCALES + i);
        float by = 1;
        if (number) {
            ln_load_f32(number->dtype, number->data, 0, 1, &by);
            a->scale = own->params->divides >> i & 1 ? a->scale / by : a->scale * by;
        }
    }
    ln_heads_bind(&a->q, ln_in(op, LN_ATTEND_Q));
    ln_heads_bind(&a->k, ln_in(op, LN_ATTEND_K));
    ln_heads_bind(&a->v, ln_in(op, LN_ATTEND_V));
    ln_heads_bind(&own->addend.at, ln_in(op, LN_ATTEND_ADDEND));
    ln_heads_bind(&own->choice.at, ln_in(op, LN_ATTEND_CHOICE));
    ln_heads_bind(&a->y, ln_out(op, 0));
    return ln_attention_run(op);
}

static ln_status build_attend(ln_build *build) {
    ln_attend_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->scale = 1;
        params->repeats = 1;
    }
    return ln_build_status(build);
}

static const ln_op_row rows[] = {
    {"Attend", /* made by a rewrite */
     "linnet",
     1,
     LN_OPEN,
     "AAAA?b?A?A?A?>A",
     {LN_BIT(LN_FLOAT), 0, 0},
     build_attend,
     infer_attend,
     run_attend,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(attend, rows);
