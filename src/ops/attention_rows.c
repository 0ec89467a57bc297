/* Rows of attention: loading and storing them, and attending, row by row or in blocks. See ops/attention_rows.h.
 *
 * Blocks of float32 rows go through two matrix products with a softmax between, so a block's scores are all that is ever stored. Many
 * queries read keys and values that are packed once for all blocks, few read them where they lie. double, outputs of scores, and extra
 * scores in the softmax go row by row.
 */
#include "ops/attention_rows.h"

#include <math.h>
#include <string.h>

#include "simd/kernels.h"

/* A product of a block packs at most 256 KB of keys or values at a time. */
enum { PRODUCT_BYTES = 288 * 1024 };

/* ---- Rows of operands ---- */

static void add_bias(const ln_attention *a, const ln_heads *bias, int64_t n, int64_t dim, void *row) {
    double tile[LN_TILE];
    for (int64_t d = 0; d < dim; d += LN_TILE) {
        const int64_t count = dim - d < LN_TILE ? dim - d : LN_TILE;
        ln_load_f64(bias->dtype, bias->data, ln_heads_place(bias, 0, n, 0) + d, count, tile);
        for (int64_t t = 0; t < count; t++) {
            if (a->wide) {
                ((double *)row)[d + t] += tile[t];
            } else {
                ((float *)row)[d + t] += (float)tile[t];
            }
        }
    }
}

void ln_attention_load_row(const ln_attention *a, const ln_heads *heads, const ln_heads *bias, int64_t b,
                           int64_t n, int64_t i, int64_t dim, void *row, float *angles) {
    if (a->wide) {
        ln_load_f64(heads->dtype, ln_heads_at(heads, b, n, i), 0, dim, row);
    } else {
        ln_load_f32(heads->dtype, ln_heads_at(heads, b, n, i), 0, dim, row);
    }
    if (ln_heads_present(bias)) {
        add_bias(a, bias, n, dim, row);
    }
    if (a->rotary.cos && angles) {
        int64_t position = ln_attention_span_of(a, b).origin + i;
        if (a->positions) {
            ln_load_i64(a->positions->dtype, a->positions->data, b * a->queries + i, 1, &position);
        }
        ln_rotary_turn(&a->rotary, position, row, angles);
    }
}

void ln_attention_store_row(const ln_attention *a, const ln_heads *heads, int64_t b, int64_t n, int64_t i,
                            int64_t dim, const void *row) {
    if (a->wide) {
        ln_store_f64(heads->dtype, ln_heads_at(heads, b, n, i), 0, dim, row);
    } else {
        ln_store_f32(heads->dtype, ln_heads_at(heads, b, n, i), 0, dim, row);
    }
}

/* ---- Row by row ---- */

/* Scores of one row as doubles, all keys of the range. */
static void score_row(const ln_attention *a, const void *q, const ln_heads *k, int64_t b, int64_t n,
                      ln_key_range keys, double *scores) {
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        const void *key = ln_heads_at(k, b, n, j);
        double sum = 0;
        for (int64_t d = 0; a->wide && d < a->head; d++) {
            sum += ((const double *)q)[d] * ((const double *)key)[d];
        }
        scores[j] = (double)a->scale * (a->wide ? sum : (double)ln_dot_f32(q, key, (size_t)a->head));
    }
}

static void emit_scores(const ln_attention *a, ln_scores_stage stage, int64_t b, int64_t n, int64_t i,
                        ln_key_range keys, double *scores) {
    if (ln_heads_present(&a->scores) && a->stage == stage) {
        /* GroupQueryAttention writes 0 for keys that a query does not see. */
        const bool zero = stage == LN_SCORES_SOFTMAX || a->length_kind == LN_LENGTH_LAST;
        const double outside = zero ? 0 : -INFINITY;
        for (int64_t j = 0; j < a->scored; j++) {
            scores[j] = j < keys.lo || j >= keys.hi ? outside : scores[j];
        }
        ln_store_f64(a->scores.dtype, ln_heads_at(&a->scores, b, n, i), 0, a->scored, scores);
    }
}

static void softmax_row(const ln_attention *a, int64_t n, ln_key_range keys, double *scores) {
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

static void weigh_row(const ln_attention *a, const ln_heads *v, int64_t b, int64_t n, ln_key_range keys,
                      const double *weights, void *row) {
    memset(row, 0, (size_t)a->head_v * (a->wide ? sizeof(double) : sizeof(float)));
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        const void *value = ln_heads_at(v, b, n, j);
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
    const ln_key_span s = ln_attention_span_of(a, b);
    const ln_key_range keys = ln_attention_visible(a, &s, i);
    const ln_key_range all = {0, a->keys};
    const bool early = ln_heads_present(&a->scores) && a->stage < LN_SCORES_MASKED;
    const ln_key_range scored = early ? all : keys;
    const int64_t kv = n / (a->heads / a->kv_heads);
    double *scores = scratch;
    double *mask = scores + a->keys;
    double *row = mask + a->keys;
    ln_attention_load_row(a, &a->q, &a->bias_q, b, n, i, a->head, row, (float *)(void *)(row + a->head));
    score_row(a, row, &a->all_k, b, kv, scored, scores);
    emit_scores(a, LN_SCORES_RAW, b, n, i, all, scores);
    for (int64_t j = scored.lo; a->softcap > 0 && j < scored.hi; j++) {
        scores[j] = (double)a->softcap * tanh(scores[j] / (double)a->softcap);
    }
    emit_scores(a, LN_SCORES_CAPPED, b, n, i, all, scores);
    const bool open = ln_attention_mask_row(a, b, n, i, keys, mask);
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        scores[j] += mask[j];
    }
    emit_scores(a, LN_SCORES_MASKED, b, n, i, keys, scores);
    if (open) {
        softmax_row(a, n, keys, scores);
    }
    const ln_key_range weighed = open ? keys : (ln_key_range){0, 0};
    emit_scores(a, LN_SCORES_SOFTMAX, b, n, i, weighed, scores);
    weigh_row(a, &a->all_v, b, kv, weighed, scores, row);
    ln_attention_store_row(a, &a->y, b, n, i, a->head_v, row);
}

/* ---- Blocks of float32 rows ---- */

/* Rows [begin, end) of one head, and the keys that any of them sees. */
typedef struct block {
    int64_t b, n, kv, begin, end;
    int64_t width; /* of a row of scores: the keys of the block, or all keys when they are packed */
    ln_key_span span;
    ln_key_range keys;
    double *row;   /* of keys */
    float *tile;   /* of the mask */
    float *scores; /* of rows times keys */
    void *scratch; /* of the products */
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
    if (a->left < 0 && !ln_attention_has_mask(a)) {
        return NULL;
    }
    if (a->left < 0 && !a->bounds && !ln_heads_present(&a->masks[1].at) && only->at.dtype == LN_FLOAT &&
        !only->choice && only->columns >= k->keys.hi) {
        *stride = (size_t)only->at.row;
        return (const float *)ln_heads_at(&only->at, k->b, k->n, k->begin) + k->keys.lo;
    }
    for (int64_t i = k->begin; i < k->end; i++) {
        const ln_key_range keys = ln_attention_visible(a, &k->span, i);
        float *row = k->tile + (size_t)(i - k->begin) * *stride;
        ln_attention_mask_row(a, k->b, k->n, i, keys, k->row);
        for (int64_t j = k->keys.lo; j < k->keys.hi; j++) {
            row[j - k->keys.lo] = j < keys.lo || j >= keys.hi ? -INFINITY : (float)k->row[j];
        }
    }
    return k->tile;
}

/* c = a * b for rows of a block, b where it lies or packed. */
static void multiply(const ln_gemm_f32_args *args, void *scratch) {
    const size_t tasks = ln_gemm_f32.task_count(args);
    for (size_t i = 0; i < tasks; i++) {
        ln_gemm_f32.task(args, i, scratch);
    }
}

static void score_keys(const ln_attention *a, const block *k, const float *q, size_t q_stride) {
    ln_gemm_f32_args args = {.m = (size_t)(k->end - k->begin),
                             .n = (size_t)(k->keys.hi - k->keys.lo),
                             .k = (size_t)a->head,
                             .a = q,
                             .a_row_stride = q_stride,
                             .a_col_stride = 1,
                             .b_is_packed = a->packs,
                             .c = k->scores,
                             .c_row_stride = (size_t)k->width,
                             .alpha = 1};
    if (a->packs) {
        args.b = ln_attention_packed(a, k->b, k->kv, false);
    } else {
        args.b = ln_heads_at(&a->all_k, k->b, k->kv, k->keys.lo);
        args.b_row_stride = 1;
        args.b_col_stride = (size_t)a->all_k.row;
    }
    multiply(&args, k->scratch);
}

static void weigh_values(const ln_attention *a, const block *k, float *y, size_t y_stride) {
    ln_gemm_f32_args args = {.m = (size_t)(k->end - k->begin),
                             .n = (size_t)a->head_v,
                             .k = (size_t)k->width,
                             .a = k->scores,
                             .a_row_stride = (size_t)k->width,
                             .a_col_stride = 1,
                             .b_is_packed = a->packs,
                             .c = y,
                             .c_row_stride = y_stride,
                             .alpha = 1};
    if (a->packs) {
        args.b = ln_attention_packed(a, k->b, k->kv, true);
    } else {
        args.b = ln_heads_at(&a->all_v, k->b, k->kv, k->keys.lo);
        args.b_row_stride = (size_t)a->all_v.row;
        args.b_col_stride = 1;
    }
    multiply(&args, k->scratch);
}

/* softmax(scale * scores + mask) of one row over the keys that it sees; the others get 0. False when all are hidden. */
static bool softmax_keys(const ln_attention *a, const block *k, int64_t i, const float *mask,
                         size_t mask_stride) {
    const ln_key_range keys = ln_attention_visible(a, &k->span, i);
    const size_t count = (size_t)(keys.hi - k->keys.lo);
    const size_t row = (size_t)(i - k->begin);
    float *scores = k->scores + row * (size_t)k->width;
    mask = mask ? mask + row * mask_stride : NULL;
    float scale = a->scale;
    if (mask && all_hidden(mask, keys.hi - k->keys.lo)) {
        return false;
    }
    if (a->softcap > 0) {
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](scores, scores, count, scale / a->softcap, 0);
        ln_unary_f32[LN_UNARY_TANH](scores, scores, count, 0, 0);
        scale = a->softcap;
    }
    ln_softmax_rows_f32(scores, scores, 1, count, scale, mask, 0);
    memset(scores + count, 0, ((size_t)k->width - count) * sizeof *scores);
    return true;
}

/* The rows of a block, each of which sees a key: two products with a softmax between them. */
static void attend_block(const ln_attention *a, const block *k, const float *q, size_t q_stride, float *y,
                         size_t y_stride) {
    bool hidden[LN_ATTENTION_BLOCK] = {false};
    size_t mask_stride = 0;
    score_keys(a, k, q, q_stride);
    if (a->softmax) {
        for (int64_t i = k->begin; i < k->end; i++) {
            a->softmax(a, k->b, k->n, i, k->scores + (i - k->begin) * k->width, k->tile);
        }
        weigh_values(a, k, y, y_stride);
        return;
    }
    const float *mask = block_mask(a, k, &mask_stride);
    for (int64_t i = k->begin; i < k->end; i++) {
        hidden[i - k->begin] = !softmax_keys(a, k, i, mask, mask_stride);
    }
    weigh_values(a, k, y, y_stride);
    for (int64_t i = 0; i < k->end - k->begin; i++) {
        if (hidden[i]) {
            memset(y + (size_t)i * y_stride, 0, (size_t)a->head_v * sizeof *y);
        }
    }
}

/* The next address that suits doubles and vectors. */
static void *aligned(void *address) {
    return (void *)(((uintptr_t)address + 15) & ~(uintptr_t)15);
}

/* Stages queries and outputs that are not float32 rows as they are. */
static void fused_rows(const ln_attention *a, block *k, float *scratch) {
    const int64_t rows = k->end - k->begin;
    const bool direct = a->q.dtype == LN_FLOAT && !ln_heads_present(&a->bias_q) && !a->rotary.cos;
    float *q_tile = scratch;
    float *y_tile = q_tile + rows * a->head;
    float *angles = y_tile + rows * a->head_v;
    k->width = a->packs ? a->width : k->keys.hi - k->keys.lo;
    k->row = aligned(angles + a->head);
    k->tile = (float *)(void *)(k->row + a->keys);
    k->scores = k->tile + rows * a->keys;
    k->scratch = aligned(k->scores + rows * a->keys);
    for (int64_t i = 0; !direct && i < rows; i++) {
        ln_attention_load_row(a, &a->q, &a->bias_q, k->b, k->n, k->begin + i, a->head, q_tile + i * a->head,
                              angles);
    }
    const bool stored = a->y.dtype == LN_FLOAT;
    attend_block(a, k, direct ? ln_heads_at(&a->q, k->b, k->n, k->begin) : q_tile,
                 (size_t)(direct ? a->q.row : a->head),
                 stored ? ln_heads_at(&a->y, k->b, k->n, k->begin) : y_tile,
                 (size_t)(stored ? a->y.row : a->head_v));
    for (int64_t i = 0; !stored && i < rows; i++) {
        ln_attention_store_row(a, &a->y, k->b, k->n, k->begin + i, a->head_v, y_tile + i * a->head_v);
    }
}

/* ---- Tasks ---- */

/* Scores, a mask, a row of the query or the output, angles. */
static size_t plain_bytes(const ln_attention *a) {
    return (size_t)(2 * a->keys + 2 * a->head + a->head_v) * sizeof(double);
}

/* Tiles of the query and the output, angles; a row of doubles and a tile of the mask; scores; scratch of the products. */
static size_t block_bytes(const ln_attention *a) {
    const int64_t rows = a->queries < LN_ATTENTION_BLOCK ? a->queries : LN_ATTENTION_BLOCK;
    const int64_t floats = rows * (a->head + a->head_v + 2 * a->keys) + a->head + 2 * a->keys + 16;
    return (size_t)floats * sizeof(float) + PRODUCT_BYTES;
}

size_t ln_attention_task_bytes(const ln_attention *a) {
    return a->plain ? plain_bytes(a) : block_bytes(a);
}

void ln_attention_attend(const ln_attention *a, int64_t b, int64_t n, int64_t begin, int64_t end,
                         void *scratch) {
    if (a->plain) {
        for (int64_t i = begin; i < end; i++) {
            plain_row(a, b, n, i, scratch);
        }
        return;
    }
    block k = {.b = b, .n = n, .kv = n / (a->heads / a->kv_heads), .begin = begin, .end = end};
    k.span = ln_attention_span_of(a, b);
    memset(scratch, 0, (size_t)a->head_v * sizeof(float));
    for (; k.begin < k.end; k.begin++) { /* rows that see no key */
        k.keys = ln_attention_visible(a, &k.span, k.begin);
        if (k.keys.lo < k.keys.hi) {
            break;
        }
        ln_attention_store_row(a, &a->y, b, n, k.begin, a->head_v, scratch);
    }
    if (k.begin < k.end) {
        k.keys.hi = ln_attention_visible(a, &k.span, k.end - 1).hi;
        fused_rows(a, &k, scratch);
    }
}
