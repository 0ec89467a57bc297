/* Rows of attention: what the parts of the core share among themselves. See ops/attention_core.h.
 *
 * Masks and visibility are in attention_mask.c, rows and blocks of rows in attention_rows.c, gathering and the grids in
 * attention_core.c.
 */
#ifndef LN_OPS_ATTENTION_ROWS_H
#define LN_OPS_ATTENTION_ROWS_H

#include "ops/attention_core.h"

enum { LN_ATTENTION_BLOCK = 24 }; /* rows of a task */

static inline bool ln_heads_present(const ln_heads *heads) {
    return heads->dtype != LN_UNDEFINED;
}

static inline int64_t ln_heads_place(const ln_heads *heads, int64_t b, int64_t n, int64_t i) {
    return heads->first + b * heads->batch + n * heads->head + i * heads->row;
}

/* Address of an element of an operand whose elements are whole bytes. */
static inline void *ln_heads_at(const ln_heads *heads, int64_t b, int64_t n, int64_t i) {
    const size_t width = ln_dtype_bits(heads->dtype) / 8;
    return (char *)(uintptr_t)heads->data + (size_t)ln_heads_place(heads, b, n, i) * width;
}

/* ---- Which keys count: attention_mask.c ---- */

/* Of one batch entry: past keys, all keys, and the number of the key that belongs to query 0. */
typedef struct ln_key_span {
    int64_t past, keys, origin;
} ln_key_span;

/* Keys [lo, hi). */
typedef struct ln_key_range {
    int64_t lo, hi;
} ln_key_range;

ln_key_span ln_attention_span_of(const ln_attention *a, int64_t b);
/* The end of the keys that causality and the right window leave to row i, unclamped; INT64_MAX for no bound. */
int64_t ln_attention_frontier(const ln_attention *a, const ln_key_span *span, int64_t i);
/* The keys that row i sees; both ends grow with i. */
ln_key_range ln_attention_visible(const ln_attention *a, const ln_key_span *span, int64_t i);
bool ln_attention_has_mask(const ln_attention *a);
/* What is added to the scores of one row: row[j] for the keys j of the range; false when every key is hidden. */
bool ln_attention_mask_row(const ln_attention *a, int64_t b, int64_t n, int64_t i, ln_key_range keys,
                           double *row);

/* ---- Packed keys and values: attention_core.c ---- */

/* Those of one key head, as packed for the GEMM kernels. */
const float *ln_attention_packed(const ln_attention *a, int64_t b, int64_t kv, bool values);

/* ---- Rows: attention_rows.c ---- */

/* Row i of an operand in the compute type, with its bias, turned when `angles` is given. */
void ln_attention_load_row(const ln_attention *a, const ln_heads *heads, const ln_heads *bias, int64_t b,
                           int64_t n, int64_t i, int64_t dim, void *row, float *angles);
void ln_attention_store_row(const ln_attention *a, const ln_heads *heads, int64_t b, int64_t n, int64_t i,
                            int64_t dim, const void *row);

/* Scratch of a task, and its work: query rows [begin, end) of head n of batch entry b. */
size_t ln_attention_task_bytes(const ln_attention *a);
void ln_attention_attend(const ln_attention *a, int64_t b, int64_t n, int64_t begin, int64_t end,
                         void *scratch);

#endif
