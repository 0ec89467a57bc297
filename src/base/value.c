/* Values and the counted buffers behind them.
 *
 * A buffer of a tensor is one block: the counter in its first 64 bytes, the elements after them. A buffer
 * of a collection holds its items in a block of their own, which doubles. Releasing a collection puts the
 * buffers whose last holder is gone on a list threaded through `data`, so that deep nesting costs no stack.
 */
#include "base/value.h"

#include <string.h>

enum { BUFFER_HEADER_BYTES = 64 };

_Static_assert(sizeof(ln_buffer) <= BUFFER_HEADER_BYTES, "the counter fits in front of the elements");

int64_t ln_value_count(const ln_value *value) {
    return ln_shape_count(&value->shape);
}

size_t ln_value_bytes(const ln_value *value) {
    size_t bytes = 0;
    return ln_dtype_bytes(value->dtype, ln_value_count(value), &bytes) ? bytes : 0;
}

ln_value ln_value_header(ln_dtype dtype, const ln_shape *shape) {
    return (ln_value){.kind = LN_KIND_TENSOR, .dtype = dtype, .shape = *shape};
}

int32_t ln_value_items(const ln_value *value) {
    return value->owner != NULL && value->kind != LN_KIND_TENSOR ? value->owner->count : 0;
}

const ln_value *ln_value_item(const ln_value *value, int32_t index) {
    return index >= 0 && index < ln_value_items(value) ? &value->owner->items[index] : NULL;
}

static bool is_collection(const ln_value *value) {
    return value->owner != NULL && value->kind != LN_KIND_TENSOR;
}

void ln_value_release(ln_context *context, ln_value *value) {
    ln_buffer *pending = value->owner;
    if (pending != NULL) {
        pending = --pending->references == 0 ? pending : NULL;
        if (pending != NULL) {
            pending->data = NULL;
        }
    }
    memset(value, 0, sizeof(*value));
    while (pending != NULL) {
        ln_buffer *const buffer = pending;
        pending = buffer->data;
        for (int32_t i = 0; i < buffer->count; i++) {
            ln_buffer *const inner = buffer->items[i].owner;
            if (inner != NULL && --inner->references == 0) {
                inner->data = pending;
                pending = inner;
            }
        }
        ln_free(context, buffer->items);
        ln_free(context, buffer);
    }
}

/* Bytes that nobody may store to are zero: string elements are valid, the padding of packed types is
 * defined. */
static void clear_edges(ln_value *value, size_t bytes) {
    if (value->dtype == LN_STRING) {
        memset(value->data, 0, bytes);
    } else if (bytes > 0 && ln_dtype_bits(value->dtype) < 8) {
        ((uint8_t *)value->data)[bytes - 1] = 0;
    }
}

ln_status ln_value_make(ln_context *context, ln_value *value, ln_dtype dtype, const ln_shape *shape) {
    char text[LN_SHAPE_TEXT_BYTES];
    size_t bytes = 0;
    LN_CHECK(context, ln_dtype_bytes(dtype, ln_shape_count(shape), &bytes), LIMIT_EXCEEDED,
             "a %s tensor of shape %s is too large", ln_dtype_name(dtype), ln_shape_text(shape, text));
    ln_buffer *buffer = value->owner;
    const bool reusable =
        buffer != NULL && value->kind == LN_KIND_TENSOR && buffer->references == 1 && buffer->bytes >= bytes;
    if (!reusable) {
        buffer = ln_alloc(context, BUFFER_HEADER_BYTES + bytes, LN_MEMORY_WORKSPACE);
        if (buffer == NULL) {
            return LN_OUT_OF_MEMORY;
        }
        memset(buffer, 0, BUFFER_HEADER_BYTES);
        buffer->references = 1;
        buffer->bytes = ln_alloc_capacity(buffer) - BUFFER_HEADER_BYTES;
        buffer->data = (char *)buffer + BUFFER_HEADER_BYTES;
        ln_value_release(context, value);
    }
    *value = ln_value_header(dtype, shape);
    value->owner = buffer;
    value->data = buffer->data;
    clear_edges(value, bytes);
    return LN_OK;
}

/* Room for `capacity` items in a collection's buffer. */
static ln_status reserve_items(ln_context *context, ln_buffer *buffer, int32_t capacity) {
    if (capacity <= buffer->capacity) {
        return LN_OK;
    }
    size_t bytes = 0;
    if (!ln_mul_size((size_t)capacity, sizeof(ln_value), &bytes)) {
        return ln_fail(context, LN_LIMIT_EXCEEDED, "a sequence of %d items is too long", (int)capacity);
    }
    ln_value *const items = ln_alloc(context, bytes, LN_MEMORY_WORKSPACE);
    if (items == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    if (buffer->count > 0) {
        memcpy(items, buffer->items, (size_t)buffer->count * sizeof(ln_value));
    }
    ln_free(context, buffer->items);
    buffer->items = items;
    buffer->capacity = capacity;
    return LN_OK;
}

ln_status ln_value_make_items(ln_context *context, ln_value *value, ln_kind kind, ln_dtype dtype,
                              int32_t capacity) {
    ln_buffer *const buffer = ln_alloc_zero(context, sizeof(ln_buffer), LN_MEMORY_WORKSPACE);
    if (buffer == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    buffer->references = 1;
    const ln_status status = reserve_items(context, buffer, capacity > 0 ? capacity : 0);
    if (status != LN_OK) {
        ln_free(context, buffer);
        return status;
    }
    ln_value_release(context, value);
    *value = (ln_value){.kind = kind, .dtype = dtype, .owner = buffer};
    return LN_OK;
}

ln_status ln_value_append(ln_context *context, ln_value *value, const ln_value *item) {
    ln_buffer *const buffer = value->owner;
    LN_CHECK(context, is_collection(value) && buffer->references == 1, INTERNAL,
             "an item is added to a collection that others hold");
    if (buffer->count == buffer->capacity) {
        LN_CHECK(context, buffer->count < INT32_MAX / 2, LIMIT_EXCEEDED, "a sequence of %d items is too long",
                 (int)buffer->count);
        LN_TRY(reserve_items(context, buffer, buffer->count > 0 ? buffer->count * 2 : 4));
    }
    ln_value *const slot = &buffer->items[buffer->count];
    memset(slot, 0, sizeof(*slot));
    LN_TRY(ln_value_keep(context, slot, item));
    buffer->count++;
    return LN_OK;
}

/* A copy of the bytes of a tensor that has no owner. The copy may go into the buffer target holds already. */
static ln_status copy_tensor(ln_context *context, ln_value *target, const ln_value *source) {
    const ln_value from = *source;
    const size_t bytes = ln_value_bytes(&from);
    ln_value copy = {.kind = LN_KIND_NONE};
    const ln_buffer *const held = target->owner;
    const bool in_place =
        held != NULL && target->kind == LN_KIND_TENSOR && held->references == 1 && held->bytes >= bytes;
    if (in_place) {
        copy = ln_value_header(from.dtype, &from.shape);
        copy.owner = target->owner;
        copy.data = target->owner->data;
    } else {
        LN_TRY(ln_value_make(context, &copy, from.dtype, &from.shape));
    }
    if (bytes > 0) {
        memmove(copy.data, from.data, bytes);
    }
    if (!in_place) {
        ln_value_release(context, target);
    }
    *target = copy;
    return LN_OK;
}

ln_status ln_value_keep(ln_context *context, ln_value *target, const ln_value *source) {
    if (source->owner == NULL && source->kind == LN_KIND_TENSOR && source->data != NULL) {
        return copy_tensor(context, target, source);
    }
    const ln_value shared = *source;
    if (shared.owner != NULL) {
        shared.owner->references++;
    }
    ln_value_release(context, target);
    *target = shared;
    return LN_OK;
}
