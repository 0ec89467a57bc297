/* Scaled dot-product attention: the computation behind every attention operator. See ops/attention_core.h.
 *
 * First, where keys or values have a past, a bias, an angle or a type that is not computed in, a grid gathers them: rows of one
 * (batch, head) each, into the present output, or into scratch where there is none of the right type. Then a grid of (batch,
 * head, block of rows) attends: blocks of float32 go to the fused kernel with a tile of the mask; double, outputs of
 * scores and extra scores in the softmax go row by row. The keys that a row sees are a range [lo, hi) that grows with
 * the row, so what causality and windows hide costs nothing.
 */
#include "ops/attention_core.h"

#include <math.h>
#include <string.h>

#include "ops/stage.h"
#include "simd/vector.h"

enum { ROW_BLOCK = 4 * LN_ATTENTION_ROWS };

/* ---- Geometry ---- */

ln_heads ln_heads_split(ln_dtype dtype, int64_t heads, int64_t rows, int64_t dim) {
    return (ln_heads){.dtype = dtype, .batch = heads * rows * dim, .head = rows * dim, .row = dim};
}

ln_heads ln_heads_joined(ln_dtype dtype, int64_t rows, int64_t width, int64_t first, int64_t dim) {
    return (ln_heads){.dtype = dtype, .first = first, .batch = rows * width, .head = dim, .row = width};
}

static bool present(const ln_heads *heads) {
    return heads->dtype != LN_UNDEFINED;
}

static int64_t place(const ln_heads *heads, int64_t b, int64_t n, int64_t i) {
    return heads->first + b * heads->batch + n * heads->head + i * heads->row;
}

/* Address of an element of an operand whose elements are whole bytes. */
static void *at(const ln_heads *heads, int64_t b, int64_t n, int64_t i) {
    const size_t width = ln_dtype_bits(heads->dtype) / 8;
    return (char *)(uintptr_t)heads->data + (size_t)place(heads, b, n, i) * width;
}

/* Room for gathered rows of all heads; *offset is where it starts. */
static ln_status reserve(ln_op *op, const ln_attention *a, int64_t dim, size_t *offset) {
    const int64_t dims[] = {a->batches, a->kv_heads, a->keys, dim, a->wide ? 2 : 1};
    const ln_shape shape = ln_shape_of(5, dims);
    const size_t bytes = ln_stage_bytes(ln_shape_count(&shape));
    *offset = op->scratch_bytes;
    LN_OP_CHECK(op, bytes < SIZE_MAX - *offset, LIMIT_EXCEEDED, "%lld keys are too many", (long long)a->keys);
    op->scratch_bytes += bytes;
    return LN_OK;
}

static bool has_mask(const ln_attention *a) {
    return present(&a->masks[0].at) || present(&a->masks[1].at) || a->bounds;
}

static int64_t row_blocks(const ln_attention *a) {
    return (a->queries + ROW_BLOCK - 1) / ROW_BLOCK;
}

/* Where keys (or values) are read from when they are gathered: a present output of the compute type, or scratch. */
static ln_status plan_gather(ln_op *op, bool *gathers, ln_heads *all, const ln_heads *fresh,
                             const ln_heads *past, const ln_heads *kept, const ln_heads *bias, int64_t dim,
                             size_t *offset) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_dtype compute = a->wide ? LN_DOUBLE : LN_FLOAT;
    const bool turned = a->rotary.cos && fresh == &a->k;
    *gathers = fresh->dtype != compute || present(past) || present(kept) || present(bias) || turned;
    *all = *gathers ? ln_heads_split(compute, a->kv_heads, a->keys, dim) : *fresh;
    *offset = 0;
    return *gathers && kept->dtype != compute ? reserve(op, a, dim, offset) : LN_OK;
}

ln_status ln_attention_plan(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    a->wide = a->q.dtype == LN_DOUBLE || a->v.dtype == LN_DOUBLE;
    a->plain = a->wide || a->smooth || present(&a->scores);
    LN_TRY(plan_gather(op, &a->gathers_k, &a->all_k, &a->k, &a->past_k, &a->present_k, &a->bias_k, a->head,
                       &a->scratch_k));
    LN_TRY(plan_gather(op, &a->gathers_v, &a->all_v, &a->v, &a->past_v, &a->present_v, &a->bias_v, a->head_v,
                       &a->scratch_v));
    /* A query tile, an output tile, angles and the rows of scores and masks, of doubles where they may be. */
    const int64_t rows = a->plain ? 1 : a->queries < ROW_BLOCK ? a->queries : ROW_BLOCK;
    const int64_t wide_rows = a->plain ? 2 : 1;
    const int64_t limit = (int64_t)(SIZE_MAX / 8 / 128);
    LN_OP_CHECK(op, a->keys < limit && a->head < limit && a->head_v < limit, LIMIT_EXCEEDED,
                "%lld keys of %lld are too large", (long long)a->keys, (long long)a->head);
    op->task_scratch_bytes =
        (size_t)(rows * (a->head + a->head_v) + a->head + a->head_v + wide_rows * a->keys + 32) *
            sizeof(double) +
        (size_t)((LN_ATTENTION_ROWS + rows) * a->keys) * sizeof(float);
    return LN_OK;
}

/* ---- Which keys count ---- */

/* Of one batch entry: past keys, all keys, and the number of the key that belongs to query 0. */
typedef struct span {
    int64_t past, keys, origin;
} span;

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static span span_of(const ln_attention *a, int64_t b) {
    int64_t length = 0;
    if (a->length_kind == LN_LENGTH_NONE) {
        return (span){a->past, a->keys, a->past};
    }
    ln_load_i64(a->lengths->dtype, a->lengths->data, b, 1, &length);
    if (a->length_kind == LN_LENGTH_VALID) {
        return (span){a->past, clamp(length, 0, a->keys), length - a->queries};
    }
    const int64_t past = a->prompt ? 0 : clamp(length + 1 - a->queries, 0, a->keys - a->fresh);
    return (span){past, clamp(length + 1, 0, a->keys), past};
}

typedef struct range {
    int64_t lo, hi;
} range;

/* The end of the keys that causality and the right window leave to row i, unclamped; INT64_MAX for no bound. */
static int64_t frontier(const ln_attention *a, const span *s, int64_t i) {
    const int64_t ahead = a->causal ? 0 : a->right;
    return ahead < 0 ? INT64_MAX : s->origin + i + ahead + 1;
}

static range visible(const ln_attention *a, const span *s, int64_t i) {
    const int64_t hi = clamp(frontier(a, s, i), 0, s->keys);
    const int64_t lo = a->left < 0 ? 0 : clamp(s->origin + i - a->left, 0, hi);
    return (range){lo, hi};
}

/* Adds one mask to row[j] for the keys j of the range. */
static void add_mask(const ln_attention *a, const ln_attention_mask *mask, int64_t first, range keys,
                     double *row) {
    const int64_t end = mask->column && mask->columns < keys.hi ? mask->columns : keys.hi;
    double tile[LN_TILE];
    for (int64_t j = keys.lo; j < end; j += LN_TILE) {
        const int64_t n = end - j < LN_TILE ? end - j : LN_TILE;
        ln_load_f64(mask->at.dtype, mask->at.data, first + j, n, tile);
        for (int64_t t = 0; t < n; t++) {
            row[j + t] += !mask->choice ? tile[t] : tile[t] != 0 ? 0 : (double)a->hidden;
        }
    }
    for (int64_t j = end > keys.lo ? end : keys.lo; j < keys.hi; j++) {
        row[j] = -INFINITY;
    }
}

static bool out_of_bounds(const ln_attention *a, int64_t b, int64_t j) {
    return a->bounds > 0 && (j >= a->ends[b] || (a->bounds > 1 && j < a->starts[b]));
}

/* What is added to the scores of one row: row[j] for the keys j of the range; false when every key is hidden. */
static bool mask_row(const ln_attention *a, int64_t b, int64_t n, int64_t i, range keys, double *row) {
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        row[j] = out_of_bounds(a, b, j) ? (double)a->hidden : 0;
    }
    for (int m = 0; m < 2; m++) {
        if (present(&a->masks[m].at)) {
            add_mask(a, &a->masks[m], place(&a->masks[m].at, b, n, i), keys, row);
        }
    }
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        if (row[j] > -INFINITY) {
            return true;
        }
    }
    return false;
}

/* ---- Rows of operands ---- */

static void add_bias(const ln_attention *a, const ln_heads *bias, int64_t n, int64_t dim, void *row) {
    double tile[LN_TILE];
    for (int64_t d = 0; d < dim; d += LN_TILE) {
        const int64_t count = dim - d < LN_TILE ? dim - d : LN_TILE;
        ln_load_f64(bias->dtype, bias->data, place(bias, 0, n, 0) + d, count, tile);
        for (int64_t t = 0; t < count; t++) {
            if (a->wide) {
                ((double *)row)[d + t] += tile[t];
            } else {
                ((float *)row)[d + t] += (float)tile[t];
            }
        }
    }
}

/* Row i of an operand in the compute type, with its bias, turned when `angles` is given. */
static void load_row(const ln_attention *a, const ln_heads *heads, const ln_heads *bias, int64_t b, int64_t n,
                     int64_t i, int64_t dim, void *row, float *angles) {
    if (a->wide) {
        ln_load_f64(heads->dtype, at(heads, b, n, i), 0, dim, row);
    } else {
        ln_load_f32(heads->dtype, at(heads, b, n, i), 0, dim, row);
    }
    if (present(bias)) {
        add_bias(a, bias, n, dim, row);
    }
    if (a->rotary.cos && angles) {
        int64_t position = span_of(a, b).origin + i;
        if (a->positions) {
            ln_load_i64(a->positions->dtype, a->positions->data, b * a->queries + i, 1, &position);
        }
        ln_rotary_turn(&a->rotary, position, row, angles);
    }
}

static void store_row(const ln_attention *a, const ln_heads *heads, int64_t b, int64_t n, int64_t i,
                      int64_t dim, const void *row) {
    if (a->wide) {
        ln_store_f64(heads->dtype, at(heads, b, n, i), 0, dim, row);
    } else {
        ln_store_f32(heads->dtype, at(heads, b, n, i), 0, dim, row);
    }
}

/* ---- Gathering keys and values ---- */

typedef struct gather {
    const ln_heads *fresh, *past, *kept, *bias, *all;
    int64_t dim;
    bool turns;
} gather;

static gather gather_of(const ln_attention *a, bool values) {
    return values ? (gather){&a->v, &a->past_v, &a->present_v, &a->bias_v, &a->all_v, a->head_v, false}
                  : (gather){&a->k,     &a->past_k, &a->present_k,        &a->bias_k,
                             &a->all_k, a->head,    a->rotary.cos != NULL};
}

/* One row of the past or of the new keys to row `target` of what is attended and of the present output. */
static void gather_row(const ln_attention *a, const gather *g, bool is_past, int64_t b, int64_t n, int64_t i,
                       int64_t target, void *row) {
    static const ln_heads none = {.dtype = LN_UNDEFINED};
    const ln_heads *from = is_past ? g->past : g->fresh;
    const bool as_is = is_past || !(g->turns || present(g->bias));
    float *angles = is_past || !g->turns ? NULL : (float *)row + g->dim;
    if (as_is && present(g->kept) && g->kept->dtype == from->dtype) {
        memcpy(at(g->kept, b, n, target), at(from, b, n, i), (size_t)g->dim * ln_dtype_bits(from->dtype) / 8);
        if (g->all->data == g->kept->data) {
            return;
        }
    }
    load_row(a, from, is_past ? &none : g->bias, b, n, i, g->dim, row, angles);
    store_row(a, g->all, b, n, target, g->dim, row);
    if (present(g->kept) && g->all->data != g->kept->data) {
        store_row(a, g->kept, b, n, target, g->dim, row);
    }
}

static void gather_task(ln_op *op, int64_t index, void *scratch) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const int64_t each = a->batches * a->kv_heads;
    const bool values = !a->gathers_k || index >= each;
    const gather g = gather_of(a, values);
    const int64_t b = index % each / a->kv_heads;
    const int64_t n = index % a->kv_heads;
    const int64_t past = span_of(a, b).past;
    for (int64_t i = 0; i < past; i++) {
        gather_row(a, &g, true, b, n, i, i, scratch);
    }
    for (int64_t i = 0; i < a->fresh; i++) {
        gather_row(a, &g, false, b, n, i, past + i, scratch);
    }
    if (present(g.kept) && past + a->fresh < a->keys) { /* room of a cache that no token has taken yet */
        memset(at(g.kept, b, n, past + a->fresh), 0,
               (size_t)((a->keys - past - a->fresh) * g.dim) * ln_dtype_bits(g.kept->dtype) / 8);
    }
}

/* ---- Row by row ---- */

/* Scores of one row as doubles, all keys of the range. */
static void score_row(const ln_attention *a, const void *q, const ln_heads *k, int64_t b, int64_t n,
                      range keys, double *scores) {
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        const void *key = at(k, b, n, j);
        double sum = 0;
        for (int64_t d = 0; a->wide && d < a->head; d++) {
            sum += ((const double *)q)[d] * ((const double *)key)[d];
        }
        scores[j] = (double)a->scale * (a->wide ? sum : (double)ln_dot_f32(q, key, (size_t)a->head));
    }
}

static void emit_scores(const ln_attention *a, ln_scores_stage stage, int64_t b, int64_t n, int64_t i,
                        range keys, double *scores) {
    if (present(&a->scores) && a->stage == stage) {
        /* GroupQueryAttention writes 0 for keys that a query does not see. */
        const bool zero = stage == LN_SCORES_SOFTMAX || a->length_kind == LN_LENGTH_LAST;
        const double outside = zero ? 0 : -INFINITY;
        for (int64_t j = 0; j < a->scored; j++) {
            scores[j] = j < keys.lo || j >= keys.hi ? outside : scores[j];
        }
        ln_store_f64(a->scores.dtype, at(&a->scores, b, n, i), 0, a->scored, scores);
    }
}

static void softmax_row(const ln_attention *a, int64_t n, range keys, double *scores) {
    double sink = 0;
    double max = -INFINITY;
    if (a->sinks) {
        ln_load_f64(a->sinks->dtype, a->sinks->data, n, 1, &sink);
    }
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        max = scores[j] > max || scores[j] != scores[j] ? scores[j] : max;
    }
    max = a->smooth && sink > max ? sink : max;
    double sum = a->smooth ? exp(sink - max) : 0;
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        scores[j] = exp(scores[j] - max);
        sum += scores[j];
    }
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        scores[j] /= sum;
    }
}

static void weigh_row(const ln_attention *a, const ln_heads *v, int64_t b, int64_t n, range keys,
                      const double *weights, void *row) {
    memset(row, 0, (size_t)a->head_v * (a->wide ? sizeof(double) : sizeof(float)));
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        const void *value = at(v, b, n, j);
        if (!a->wide) {
            ln_axpy_f32(row, value, (size_t)a->head_v, (float)weights[j]);
            continue;
        }
        for (int64_t d = 0; d < a->head_v; d++) {
            ((double *)row)[d] += weights[j] * ((const double *)value)[d];
        }
    }
}

static void plain_row(const ln_attention *a, int64_t b, int64_t n, int64_t i, double *scratch) {
    const span s = span_of(a, b);
    const range keys = visible(a, &s, i);
    const range all = {0, a->keys};
    const bool early = present(&a->scores) && a->stage < LN_SCORES_MASKED;
    const range scored = early ? all : keys;
    const int64_t kv = n / (a->heads / a->kv_heads);
    double *scores = scratch;
    double *mask = scores + a->keys;
    double *row = mask + a->keys;
    load_row(a, &a->q, &a->bias_q, b, n, i, a->head, row, (float *)(void *)(row + a->head));
    score_row(a, row, &a->all_k, b, kv, scored, scores);
    emit_scores(a, LN_SCORES_RAW, b, n, i, all, scores);
    for (int64_t j = scored.lo; a->softcap > 0 && j < scored.hi; j++) {
        scores[j] = (double)a->softcap * tanh(scores[j] / (double)a->softcap);
    }
    emit_scores(a, LN_SCORES_CAPPED, b, n, i, all, scores);
    const bool open = mask_row(a, b, n, i, keys, mask);
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        scores[j] += mask[j];
    }
    emit_scores(a, LN_SCORES_MASKED, b, n, i, keys, scores);
    if (open) {
        softmax_row(a, n, keys, scores);
    }
    const range weighed = open ? keys : (range){0, 0};
    emit_scores(a, LN_SCORES_SOFTMAX, b, n, i, weighed, scores);
    weigh_row(a, &a->all_v, b, kv, weighed, scores, row);
    store_row(a, &a->y, b, n, i, a->head_v, row);
}

/* ---- Blocks of float32 rows ---- */

/* Rows [begin, end) of one head, and the keys that any of them sees. */
typedef struct block {
    int64_t b, n, begin, end;
    span span;
    range keys;
    double *row;   /* of keys */
    float *tile;   /* of the mask */
    float *floats; /* scratch of the kernel */
} block;

static bool all_hidden(const float *mask, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        if (mask[j] > -INFINITY) {
            return false;
        }
    }
    return true;
}

/* The mask of the block as the kernel takes it: float32 rows over the keys of the block. NULL when nothing is masked. */
static const float *block_mask(const ln_attention *a, const block *k, size_t *stride) {
    const ln_attention_mask *only = &a->masks[0];
    *stride = (size_t)(k->keys.hi - k->keys.lo);
    if (a->left < 0 && !has_mask(a)) {
        return NULL;
    }
    if (a->left < 0 && !a->bounds && !present(&a->masks[1].at) && only->at.dtype == LN_FLOAT &&
        !only->choice && only->columns >= k->keys.hi) {
        *stride = (size_t)only->at.row;
        return (const float *)at(&only->at, k->b, k->n, k->begin) + k->keys.lo;
    }
    for (int64_t i = k->begin; i < k->end; i++) {
        const range keys = visible(a, &k->span, i);
        float *row = k->tile + (size_t)(i - k->begin) * *stride;
        mask_row(a, k->b, k->n, i, keys, k->row);
        for (int64_t j = k->keys.lo; j < k->keys.hi; j++) {
            row[j - k->keys.lo] = j < keys.lo || j >= keys.hi ? -INFINITY : (float)k->row[j];
        }
    }
    return k->tile;
}

/* The rows of a block by products of rows. */
static void attend_rows(float *dst, const float *q, const struct ln_attention_f32 *task, size_t rows,
                        float *scores) {
    for (size_t i = 0; i < rows; i++) {
        const size_t seen = task->causal < 0 ? task->keys : (size_t)task->causal + i + 1;
        const size_t keys = seen < task->keys ? seen : task->keys;
        float *y = dst + i * task->dst_stride;
        for (size_t j = 0; j < keys; j++) {
            scores[j] = ln_dot_f32(q + i * task->q_stride, task->k + j * task->k_stride, task->head);
        }
        float scale = task->scale;
        if (task->softcap > 0) {
            ln_unary_f32[LN_UNARY_SCALE_SHIFT](scores, scores, keys, scale / task->softcap, 0);
            ln_unary_f32[LN_UNARY_TANH](scores, scores, keys, 0, 0);
            scale = task->softcap;
        }
        ln_softmax_rows_f32(scores, scores, 1, keys, scale,
                            task->mask ? task->mask + i * task->mask_stride : NULL, 0);
        memset(y, 0, task->head_v * sizeof *y);
        for (size_t j = 0; j < keys; j++) {
            ln_axpy_f32(y, task->v + j * task->v_stride, task->head_v, scores[j]);
        }
    }
}

static void attend_block(const ln_attention *a, const block *k, const float *q, size_t q_stride, float *y,
                         size_t y_stride) {
    const int64_t kv = k->n / (a->heads / a->kv_heads);
    struct ln_attention_f32 task = {
        .keys = (size_t)(k->keys.hi - k->keys.lo),
        .head = (size_t)a->head,
        .head_v = (size_t)a->head_v,
        .q_stride = q_stride,
        .k_stride = (size_t)a->all_k.row,
        .v_stride = (size_t)a->all_v.row,
        .dst_stride = y_stride,
        .k = at(&a->all_k, k->b, kv, k->keys.lo),
        .v = at(&a->all_v, k->b, kv, k->keys.lo),
        .scale = a->scale,
        .softcap = a->softcap,
        .causal = -1,
    };
    const int64_t end = frontier(a, &k->span, k->begin);
    if (end < k->keys.hi) {
        task.causal = end - 1 - k->keys.lo;
    }
    task.mask = block_mask(a, k, &task.mask_stride);
    attend_rows(y, q, &task, (size_t)(k->end - k->begin), k->floats);
    for (int64_t i = k->begin; task.mask && i < k->end; i++) {
        const range keys = visible(a, &k->span, i);
        const size_t row = (size_t)(i - k->begin);
        const float *mask = task.mask + row * task.mask_stride + (keys.lo - k->keys.lo);
        if (all_hidden(mask, keys.hi - keys.lo)) {
            memset(y + row * y_stride, 0, (size_t)a->head_v * sizeof(float));
        }
    }
}

/* Stages queries and outputs that are not float32 rows as they are. */
static void fused_rows(const ln_attention *a, block *k, float *scratch) {
    const int64_t rows = k->end - k->begin;
    const bool direct = a->q.dtype == LN_FLOAT && !present(&a->bias_q) && !a->rotary.cos;
    float *q_tile = scratch;
    float *y_tile = q_tile + rows * a->head;
    float *angles = y_tile + rows * a->head_v;
    k->row = (double *)(void *)(((uintptr_t)(angles + a->head) + 15) & ~(uintptr_t)15);
    k->tile = (float *)(void *)(k->row + a->keys);
    k->floats = k->tile + rows * a->keys;
    for (int64_t i = 0; !direct && i < rows; i++) {
        load_row(a, &a->q, &a->bias_q, k->b, k->n, k->begin + i, a->head, q_tile + i * a->head, angles);
    }
    const bool stored = a->y.dtype == LN_FLOAT;
    attend_block(a, k, direct ? at(&a->q, k->b, k->n, k->begin) : q_tile,
                 (size_t)(direct ? a->q.row : a->head), stored ? at(&a->y, k->b, k->n, k->begin) : y_tile,
                 (size_t)(stored ? a->y.row : a->head_v));
    for (int64_t i = 0; !stored && i < rows; i++) {
        store_row(a, &a->y, k->b, k->n, k->begin + i, a->head_v, y_tile + i * a->head_v);
    }
}

static void attend_task(ln_op *op, int64_t index, void *scratch) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const int64_t blocks = row_blocks(a);
    block k = {
        .b = index / blocks / a->heads, .n = index / blocks % a->heads, .begin = index % blocks * ROW_BLOCK};
    k.end = k.begin + ROW_BLOCK < a->queries ? k.begin + ROW_BLOCK : a->queries;
    if (a->plain) {
        for (int64_t i = k.begin; i < k.end; i++) {
            plain_row(a, k.b, k.n, i, scratch);
        }
        return;
    }
    k.span = span_of(a, k.b);
    memset(scratch, 0, (size_t)a->head_v * sizeof(float));
    for (; k.begin < k.end; k.begin++) { /* rows that see no key */
        k.keys = visible(a, &k.span, k.begin);
        if (k.keys.lo < k.keys.hi) {
            break;
        }
        store_row(a, &a->y, k.b, k.n, k.begin, a->head_v, scratch);
    }
    if (k.begin < k.end) {
        k.keys.hi = visible(a, &k.span, k.end - 1).hi;
        fused_rows(a, &k, scratch);
    }
}

/* ---- Run ---- */

static ln_status attend(ln_op *op) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    return ln_op_grid(op, attend_task, a->batches * a->heads * row_blocks(a));
}

/* Where gathered rows stand: in the present output when it has the compute type, else in scratch. */
static void bind(ln_op *op, bool gathers, ln_heads *all, const ln_heads *fresh, const ln_heads *kept,
                 size_t offset) {
    if (!gathers || kept->dtype == all->dtype) {
        *all = gathers ? *kept : *fresh;
    } else {
        all->data = (char *)op->scratch + offset;
    }
}

ln_status ln_attention_run(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    bind(op, a->gathers_k, &a->all_k, &a->k, &a->present_k, a->scratch_k);
    bind(op, a->gathers_v, &a->all_v, &a->v, &a->present_v, a->scratch_v);
    const int64_t count = (a->gathers_k + a->gathers_v) * a->batches * a->kv_heads;
    return count > 0 ? ln_op_grid_then(op, gather_task, count, attend) : attend(op);
}
