/* Masks of attention, in all the forms that inputs have: see ops/attention_core.h. */
#include "ops/attention_core.h"

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
