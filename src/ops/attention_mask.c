/* Masks of attention, in all the forms that inputs have, and the keys that a row sees.
 *
 * A row sees a range of keys, which causality, windows and lengths give; inside it, masks add to the scores. Masks are kept as strides
 * over the input's own bytes and read a row at a time.
 */
#include <math.h>

#include "ops/attention_rows.h"

/* ---- Masks as inputs ---- */

ln_status ln_attention_add_mask(ln_op *op, int input, int slot) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    ln_attention_mask *mask = &a->masks[slot];
    const ln_value *value = ln_in(op, input);
    if (!value) {
        return LN_OK;
    }
    const int64_t full[4] = {a->batches, a->heads, a->queries, a->keys};
    const ln_shape *shape = &value->shape;
    int64_t strides[4] = {0};
    char text[LN_SHAPE_TEXT_BYTES];
    int64_t step = 1;
    bool fits = shape->rank >= 1 && shape->rank <= 4;
    for (int i = shape->rank - 1, axis = 3; fits && i >= 0; i--, axis--) {
        fits =
            shape->dims[i] == full[axis] || shape->dims[i] == 1 || (axis == 3 && shape->dims[i] < full[axis]);
        strides[axis] = shape->dims[i] == 1 && axis < 3 ? 0 : step;
        step *= shape->dims[i];
    }
    LN_OP_CHECK(op, fits, INVALID_SHAPE, "the mask of shape %s does not broadcast to [%lld,%lld,%lld,%lld]",
                ln_shape_text(shape, text), (long long)full[0], (long long)full[1], (long long)full[2],
                (long long)full[3]);
    mask->at = (ln_heads){.dtype = value->dtype, .batch = strides[0], .head = strides[1], .row = strides[2]};
    mask->column = 1;
    mask->columns = shape->dims[shape->rank - 1];
    mask->choice = value->dtype == LN_BOOL;
    return LN_OK;
}

/* [B,T], [B,S,T] or [B,1,M,M], where the rows of the last start after the past. */
static bool dense_mask(const ln_attention *a, const ln_shape *shape, ln_heads *at) {
    const int64_t *dims = shape->dims;
    const int64_t last = dims[shape->rank - 1];
    if (dims[0] != a->batches || (shape->rank < 4 ? last != a->keys : last < a->keys)) {
        return false;
    }
    switch (shape->rank) {
    case 2:
        at->batch = last;
        return true;
    case 3:
        at->batch = dims[1] * last;
        at->row = last;
        return dims[1] == a->queries;
    case 4:
        at->batch = dims[2] * last;
        at->row = last;
        at->first = a->past * last;
        return dims[1] == 1 && dims[2] >= a->past + a->queries;
    default:
        return false;
    }
}

ln_status ln_attention_add_key_mask(ln_op *op, int input, int slot) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *value = ln_in(op, input);
    if (!value) {
        return LN_OK;
    }
    const ln_shape *shape = &value->shape;
    const int64_t count = shape->rank == 1 ? shape->dims[0] : -1;
    ln_attention_mask *mask = &a->masks[slot];
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, value->dtype == LN_INT32, INVALID_TYPE, "the mask is of type %s, expected int32",
                ln_dtype_name(value->dtype));
    if (count == a->batches || count == 2 * a->batches || count == 3 * a->batches + 2) {
        a->bounds = count == 2 * a->batches ? 2 : 1;
        return LN_OK;
    }
    *mask =
        (ln_attention_mask){.at = {.dtype = value->dtype}, .column = 1, .columns = a->keys, .choice = true};
    LN_OP_CHECK(op, shape->rank >= 2 && dense_mask(a, shape, &mask->at), INVALID_SHAPE,
                "the mask of shape %s does not fit a batch of %lld, %lld queries and %lld keys",
                ln_shape_text(shape, text), (long long)a->batches, (long long)a->queries, (long long)a->keys);
    return LN_OK;
}

void ln_attention_bind_mask(ln_op *op, int input, int slot) {
    ln_attention *a = LN_LOCAL(op, ln_attention);
    const ln_value *value = ln_in(op, input);
    if (!value) {
        return;
    }
    a->masks[slot].at.data = value->data;
    if (a->bounds > 0 && a->masks[slot].at.dtype == LN_UNDEFINED) {
        a->ends = value->data;
        a->starts = a->ends + a->batches;
    }
}

/* ---- Which keys count ---- */

bool ln_attention_has_mask(const ln_attention *a) {
    return ln_heads_present(&a->masks[0].at) || ln_heads_present(&a->masks[1].at) || a->bounds;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

ln_key_span ln_attention_span_of(const ln_attention *a, int64_t b) {
    int64_t length = 0;
    if (a->length_kind == LN_LENGTH_NONE) {
        return (ln_key_span){a->past, a->keys, a->past};
    }
    ln_load_i64(a->lengths->dtype, a->lengths->data, b, 1, &length);
    if (a->length_kind == LN_LENGTH_VALID) {
        return (ln_key_span){a->past, clamp(length, 0, a->keys), length - a->queries};
    }
    const int64_t past = a->prompt ? 0 : clamp(length + 1 - a->queries, 0, a->keys - a->fresh);
    return (ln_key_span){past, clamp(length + 1, 0, a->keys), past};
}

int64_t ln_attention_frontier(const ln_attention *a, const ln_key_span *s, int64_t i) {
    const int64_t ahead = a->causal ? 0 : a->right;
    return ahead < 0 ? INT64_MAX : s->origin + i + ahead + 1;
}

ln_key_range ln_attention_visible(const ln_attention *a, const ln_key_span *s, int64_t i) {
    const int64_t hi = clamp(ln_attention_frontier(a, s, i), 0, s->keys);
    const int64_t lo = a->left < 0 ? 0 : clamp(s->origin + i - a->left, 0, hi);
    return (ln_key_range){lo, hi};
}

/* Adds one mask to row[j] for the keys j of the range. */
static void add_mask(const ln_attention *a, const ln_attention_mask *mask, int64_t first, ln_key_range keys,
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

bool ln_attention_mask_row(const ln_attention *a, int64_t b, int64_t n, int64_t i, ln_key_range keys,
                           double *row) {
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        row[j] = out_of_bounds(a, b, j) ? (double)a->hidden : 0;
    }
    for (int m = 0; m < 2; m++) {
        if (ln_heads_present(&a->masks[m].at)) {
            add_mask(a, &a->masks[m], ln_heads_place(&a->masks[m].at, b, n, i), keys, row);
        }
    }
    for (int64_t j = keys.lo; j < keys.hi; j++) {
        if (row[j] > -INFINITY) {
            return true;
        }
    }
    return false;
}
