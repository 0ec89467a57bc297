/* Values: what flows along the edges of a graph.
 *
 * A tensor is a header (type, shape) and a pointer to its elements, row-major. Where the bytes live differs:
 * in a plan's workspace or in the model (`owner` NULL), or in a counted buffer of their own (`owner` set), as
 * outputs do whose size only the run knows. A sequence, map or optional always has an owner that holds items.
 * A header with `data` NULL is a tensor whose bytes are not known yet (while planning); an empty tensor has a
 * valid pointer.
 */
#ifndef LN_BASE_VALUE_H
#define LN_BASE_VALUE_H

#include "base/context.h"
#include "base/dtype.h"
#include "base/shape.h"

typedef enum ln_kind {
    LN_KIND_NONE,     /* an absent value; an optional that holds nothing */
    LN_KIND_TENSOR,   /* data */
    LN_KIND_SEQUENCE, /* items[count]; all tensors, or all sequences, or all maps */
    LN_KIND_MAP,      /* items[0] is a tensor of keys, items[1] a tensor (or sequence) of values */
    LN_KIND_OPTIONAL, /* count 0 or 1 */
    LN_KIND_SPARSE,   /* items[0] values, items[1] indices; shape is the dense shape */
} ln_kind;

typedef struct ln_value ln_value;

/* A counted block that values share. */
typedef struct ln_buffer {
    int32_t references;
    int32_t count;    /* items in use */
    int32_t capacity; /* items allocated */
    size_t bytes;     /* capacity of data */
    void *data;       /* tensor elements, or NULL */
    ln_value *items;  /* items of a collection, or NULL */
} ln_buffer;

struct ln_value {
    ln_kind kind;
    ln_dtype dtype; /* element type; of a sequence or optional: of its tensors, where known */
    ln_shape shape;
    void *data;
    ln_buffer *owner;
};

/* Number of elements of a tensor (its shape is known to be valid). */
int64_t ln_value_count(const ln_value *value);
/* Bytes of a tensor's elements. */
size_t ln_value_bytes(const ln_value *value);
/* A tensor header without bytes. */
ln_value ln_value_header(ln_dtype dtype, const ln_shape *shape);
/* Number of items of a sequence, map or optional. */
int32_t ln_value_items(const ln_value *value);
const ln_value *ln_value_item(const ln_value *value, int32_t index);

/* Makes *value an owned tensor of this type and shape; reuses its buffer when it is the only holder and the
 * buffer is large enough. OUT_OF_MEMORY or LIMIT_EXCEEDED on failure. */
ln_status ln_value_make(ln_context *context, ln_value *value, ln_dtype dtype, const ln_shape *shape);
/* Makes *value an empty sequence, map, optional or sparse tensor with room for `capacity` items. */
ln_status ln_value_make_items(ln_context *context, ln_value *value, ln_kind kind, ln_dtype dtype,
                              int32_t capacity);
/* Appends a copy-or-share of item to a collection whose only holder is *value. */
ln_status ln_value_append(ln_context *context, ln_value *value, const ln_value *item);
/* *target becomes another holder of source. Owned values are shared; the bytes of values without an owner are
 * copied into a new buffer, because their memory may be reused. What target held before is released. */
ln_status ln_value_keep(ln_context *context, ln_value *target, const ln_value *source);
/* Gives up what the value holds and makes it LN_KIND_NONE. */
void ln_value_release(ln_context *context, ln_value *value);

#endif
