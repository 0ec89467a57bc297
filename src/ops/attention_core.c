/* Scaled dot-product attention: the computation behind every attention operator. See ops/attention_core.h.
 *
 * First, where keys or values have a past, a bias, an angle or a type that is not computed in, a grid gathers them: rows of one
 * (batch, head) each, into the present output, or into scratch where there is none of the right type. Then, where there are many
 * queries, a grid packs keys and values for the products. At last a grid of (batch, head, block of rows) attends. The keys that a
 * row sees are a range [lo, hi) that grows with the row, so what causality and windows hide costs nothing.
 */
#include <string.h>

#include "ops/attention_rows.h"
#include "ops/stage.h"
#include "simd/kernels.h"

enum { PACK_QUERIES = 2 * LN_ATTENTION_BLOCK };

/* ---- Geometry ---- */

ln_heads ln_heads_split(ln_dtype dtype, int64_t heads, int64_t rows, int64_t dim) {
    return (ln_heads){.dtype = dtype, .batch = heads * rows * dim, .head = rows * dim, .row = dim};
}

ln_heads ln_heads_joined(ln_dtype dtype, int64_t rows, int64_t width, int64_t first, int64_t dim) {
    return (ln_heads){.dtype = dtype, .first = first, .batch = rows * width, .head = dim, .row = width};
}

/* ---- Plan ---- */

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

static int64_t row_blocks(const ln_attention *a) {
    return (a->queries + LN_ATTENTION_BLOCK - 1) / LN_ATTENTION_BLOCK;
}

/* Where keys (or values) are read from when they are gathered: a present output of the compute type, or scratch. */
static ln_status plan_gather(ln_op *op, bool *gathers, ln_heads *all, const ln_heads *fresh,
                             const ln_heads *past, const ln_heads *kept, const ln_heads *bias, int64_t dim,
                             size_t *offset) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_dtype compute = a->wide ? LN_DOUBLE : LN_FLOAT;
    const bool turned = a->rotary.cos && fresh == &a->k;
    *gathers = fresh->dtype != compute || ln_heads_present(past) || ln_heads_present(kept) ||
               ln_heads_present(bias) || turned;
    *all = *gathers ? ln_heads_split(compute, a->kv_heads, a->keys, dim) : *fresh;
    *offset = 0;
    return *gathers && kept->dtype != compute ? reserve(op, a, dim, offset) : LN_OK;
}

static size_t packed_bytes(const ln_attention *a, bool values) {
    const size_t keys = (size_t)a->keys;
    const size_t bytes = values ? ln_gemm_f32.packed_b_bytes(keys, (size_t)a->head_v)
                                : ln_gemm_f32.packed_b_bytes((size_t)a->head, keys);
    return (bytes + 63) & ~(size_t)63;
}

/* Enough queries pay for packing. Values at the padded end of a cache may be anything, and a window hides most keys: these are
 * read where they lie. */
static ln_status plan_packing(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    a->packs = !a->plain && a->queries >= PACK_QUERIES && a->left < 0 && a->length_kind != LN_LENGTH_VALID;
    if (!a->packs) {
        return LN_OK;
    }
    size_t bytes = 0;
    a->scratch_packed = op->scratch_bytes;
    LN_OP_CHECK(op,
                ln_mul_size((size_t)(a->batches * a->kv_heads),
                            packed_bytes(a, false) + packed_bytes(a, true), &bytes) &&
                    bytes < SIZE_MAX / 2 - op->scratch_bytes,
                LIMIT_EXCEEDED, "%lld keys are too many", (long long)a->keys);
    op->scratch_bytes += bytes;
    return LN_OK;
}

const float *ln_attention_packed(const ln_attention *a, int64_t b, int64_t kv, bool values) {
    const size_t keys = packed_bytes(a, false);
    const size_t head = (size_t)(b * a->kv_heads + kv) * (keys + packed_bytes(a, true));
    return (const float *)(const void *)(a->packed + head + (values ? keys : 0));
}

ln_status ln_attention_plan(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    a->wide = a->q.dtype == LN_DOUBLE || a->v.dtype == LN_DOUBLE;
    a->plain = a->wide || a->smooth || ln_heads_present(&a->scores);
    LN_TRY(plan_gather(op, &a->gathers_k, &a->all_k, &a->k, &a->past_k, &a->present_k, &a->bias_k, a->head,
                       &a->scratch_k));
    LN_TRY(plan_gather(op, &a->gathers_v, &a->all_v, &a->v, &a->past_v, &a->present_v, &a->bias_v, a->head_v,
                       &a->scratch_v));
    const int64_t limit = (int64_t)(SIZE_MAX / 8 / 128);
    LN_OP_CHECK(op, a->keys < limit && a->head < limit && a->head_v < limit, LIMIT_EXCEEDED,
                "%lld keys of %lld are too large", (long long)a->keys, (long long)a->head);
    LN_TRY(plan_packing(op));
    op->task_scratch_bytes = ln_attention_task_bytes(a);
    return LN_OK;
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
    const bool as_is = is_past || !(g->turns || ln_heads_present(g->bias));
    float *angles = is_past || !g->turns ? NULL : (float *)row + g->dim;
    if (as_is && ln_heads_present(g->kept) && g->kept->dtype == from->dtype) {
        memcpy(ln_heads_at(g->kept, b, n, target), ln_heads_at(from, b, n, i),
               (size_t)g->dim * ln_dtype_bits(from->dtype) / 8);
        if (g->all->data == g->kept->data) {
            return;
        }
    }
    ln_attention_load_row(a, from, is_past ? &none : g->bias, b, n, i, g->dim, row, angles);
    ln_attention_store_row(a, g->all, b, n, target, g->dim, row);
    if (ln_heads_present(g->kept) && g->all->data != g->kept->data) {
        ln_attention_store_row(a, g->kept, b, n, target, g->dim, row);
    }
}

/* Zeroes the rows from `first` on: room of a cache that no token has taken yet. */
static void clear_tail(const ln_heads *heads, const ln_attention *a, int64_t b, int64_t n, int64_t first,
                       int64_t dim) {
    if (first < a->keys) {
        memset(ln_heads_at(heads, b, n, first), 0,
               (size_t)((a->keys - first) * dim) * ln_dtype_bits(heads->dtype) / 8);
    }
}

static void gather_task(ln_op *op, int64_t index, void *scratch) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const int64_t each = a->batches * a->kv_heads;
    const bool values = !a->gathers_k || index >= each;
    const gather g = gather_of(a, values);
    const int64_t b = index % each / a->kv_heads;
    const int64_t n = index % a->kv_heads;
    const int64_t past = ln_attention_span_of(a, b).past;
    for (int64_t i = 0; i < past; i++) {
        gather_row(a, &g, true, b, n, i, i, scratch);
    }
    for (int64_t i = 0; i < a->fresh; i++) {
        gather_row(a, &g, false, b, n, i, past + i, scratch);
    }
    clear_tail(g.all, a, b, n, past + a->fresh, g.dim);
    if (ln_heads_present(g.kept) && g.kept->data != g.all->data) {
        clear_tail(g.kept, a, b, n, past + a->fresh, g.dim);
    }
}

/* ---- Run ---- */

static void attend_task(ln_op *op, int64_t index, void *scratch) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const int64_t blocks = row_blocks(a);
    const int64_t begin = index % blocks * LN_ATTENTION_BLOCK;
    const int64_t end = begin + LN_ATTENTION_BLOCK < a->queries ? begin + LN_ATTENTION_BLOCK : a->queries;
    ln_attention_attend(a, index / blocks / a->heads, index / blocks % a->heads, begin, end, scratch);
}

static ln_status attend(ln_op *op) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    return ln_op_grid(op, attend_task, a->batches * a->heads * row_blocks(a));
}

static void pack_task(ln_op *op, int64_t index, void *scratch) {
    const ln_attention *a = LN_LOCAL(op, ln_attention);
    const int64_t b = index / 2 / a->kv_heads;
    const int64_t kv = index / 2 % a->kv_heads;
    const bool values = index % 2 != 0;
    const ln_heads *heads = values ? &a->all_v : &a->all_k;
    const size_t row = (size_t)heads->row;
    float *packed = (float *)(uintptr_t)ln_attention_packed(a, b, kv, values);
    (void)scratch;
    if (values) {
        ln_gemm_f32.pack_b(packed, ln_heads_at(heads, b, kv, 0), row, 1, (size_t)a->width, (size_t)a->head_v);
    } else {
        ln_gemm_f32.pack_b(packed, ln_heads_at(heads, b, kv, 0), 1, row, (size_t)a->head, (size_t)a->width);
    }
}

static ln_status pack(ln_op *op) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    a->packed = (const char *)op->scratch + a->scratch_packed;
    a->width = 0;
    for (int64_t b = 0; a->packs && b < a->batches; b++) {
        const int64_t keys = ln_attention_span_of(a, b).keys;
        a->width = keys > a->width ? keys : a->width;
    }
    return a->packs ? ln_op_grid_then(op, pack_task, 2 * a->batches * a->kv_heads, attend) : attend(op);
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
    return count > 0 ? ln_op_grid_then(op, gather_task, count, pack) : pack(op);
}
