/* Scaled dot-product attention as all its operators share it.
 *
 * Y = softmax(scale * Q K^T, capped and masked) V for each batch entry and head. An operator describes in an ln_attention, kept
 * at the start of op->local, where its operands lie and how keys are masked: geometry and types in infer, before
 * ln_attention_plan; pointers in run, before ln_attention_run. The core concatenates past and new keys, adds biases, turns
 * rows by their position, converts halves, and spreads (batch, head, block of rows) over tasks. Scores are never
 * stored whole unless the operator has an output for them.
 */
#ifndef LN_OPS_ATTENTION_CORE_H
#define LN_OPS_ATTENTION_CORE_H

#include "ops/rotary.h"

/* Rows of all heads of an operand: element d of row i of head n of entry b is number
 * first + b * batch + n * head + i * row + d. */
typedef struct ln_heads {
    ln_dtype dtype; /* LN_UNDEFINED: the operand is absent */
    const void *data;
    int64_t first, batch, head, row;
} ln_heads;

/* A mask over [batch, head, query, key]; strides are 0 where it repeats. Keys from `columns` on take no part. */
typedef struct ln_attention_mask {
    ln_heads at;
    int64_t column; /* stride of keys, 0 or 1 */
    int64_t columns;
    bool choice; /* zero adds `hidden` to the score and any other value nothing; else the value is added */
} ln_attention_mask;

typedef enum ln_length_kind {
    LN_LENGTH_NONE,
    LN_LENGTH_VALID, /* lengths[b] keys count, the last of them belong to the queries (nonpad_kv_seqlen) */
    LN_LENGTH_LAST,  /* lengths[b] is the last key's number; past keys come before the queries (seqlens_k) */
} ln_length_kind;

typedef enum ln_scores_stage {
    LN_SCORES_RAW,     /* scaled products */
    LN_SCORES_CAPPED,  /* after the soft cap */
    LN_SCORES_MASKED,  /* after the mask */
    LN_SCORES_SOFTMAX, /* probabilities */
} ln_scores_stage;

typedef struct ln_attention ln_attention;
struct ln_attention {
    int64_t batches, heads, kv_heads, queries;
    int64_t fresh, past, keys; /* rows of k and v, of past_k and past_v, and of both together */
    int64_t head, head_v;      /* elements of a row */
    ln_heads q, k, v, y;
    ln_heads bias_q, bias_k, bias_v; /* added to every row */
    ln_heads past_k, past_v, present_k, present_v;
    ln_heads scores; /* an output for the scores, as they are at `stage`, of the first `scored` keys */
    ln_scores_stage stage;
    int64_t scored;
    float scale;
    float softcap; /* 0 for none */
    float hidden;  /* what a choice mask adds to the scores of keys that take no part */
    bool causal;
    bool prompt;         /* LN_LENGTH_LAST: there is no past, whatever the lengths say */
    int64_t left, right; /* window around a query's own key, -1 where unbounded */
    ln_attention_mask masks[2];
    int bounds; /* 1: keys from ends[batch] on take no part, as in a choice mask; 2: nor those before starts[batch] */
    const int32_t *ends, *starts;
    ln_length_kind length_kind;
    const ln_value *lengths;
    bool smooth;           /* one more score, of `sinks` or 0, in the sum of the softmax */
    const ln_value *sinks; /* [heads] or NULL */
    ln_rotary rotary;
    const ln_value *positions; /* [batches, queries] or NULL: past + row */
    /* NULL, or what turns the products of row i with all keys, not scaled, into weights, in place of scale, masks and
     * softmax above; `tile` has room for a row. Only for float32 and halves, and where every key is visible. */
    void (*softmax)(const ln_attention *a, int64_t b, int64_t n, int64_t i, float *scores, float *tile);
    /* The core's own: */
    bool wide;  /* computed in double */
    bool plain; /* row by row */
    bool packs; /* keys and values are packed for the products */
    bool gathers_k, gathers_v;
    size_t scratch_k, scratch_v; /* offsets in op->scratch of gathered rows */
    size_t scratch_packed;       /* and of packed heads: keys, then values */
    const char *packed;
    int64_t width;         /* keys that any entry of the batch has: as many are packed */
    ln_heads all_k, all_v; /* keys and values as attended */
};

/* Infer: asks for scratch, after the bytes that the caller has asked for already. */
ln_status ln_attention_plan(ln_op *op);
/* Run: offers the grids. */
ln_status ln_attention_run(ln_op *op);

/* Operands laid out [batch, heads, rows, dim], and [batch, rows, width] where a head's part of the width starts at
 * first + head * dim. */
ln_heads ln_heads_split(ln_dtype dtype, int64_t heads, int64_t rows, int64_t dim);
ln_heads ln_heads_joined(ln_dtype dtype, int64_t rows, int64_t width, int64_t first, int64_t dim);
static inline void ln_heads_bind(ln_heads *heads, const ln_value *value) {
    heads->data = value ? value->data : NULL;
}

/* ---- Masks: attention_mask.c ---- */

/* Infer: input `input`, when it is there, as mask number `slot`: it broadcasts to [batch, heads, queries, keys], and its last axis
 * may be shorter than the keys. */
ln_status ln_attention_add_mask(ln_op *op, int input, int slot);
/* Infer: the same for the int32 masks of com.microsoft, of whole keys: [B] ends, [2B] ends and starts, [3B+2] ends first,
 * [B,T] and [B,S,T] with 0 for keys that take no part, [B,1,M,M] for sequences of up to M. */
ln_status ln_attention_add_key_mask(ln_op *op, int input, int slot);
/* Run: binds the bytes of either. */
void ln_attention_bind_mask(ln_op *op, int input, int slot);

#endif
