/* Shapes. */
#include "base/shape.h"

#include <string.h>

#include "base/text.h"

ln_shape ln_shape_scalar(void) {
    return (ln_shape){.rank = 0};
}

ln_shape ln_shape_of(int rank, const int64_t *dims) {
    ln_shape shape = {.rank = rank};
    if (rank > 0) {
        memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    }
    return shape;
}

bool ln_shape_equal(const ln_shape *a, const ln_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(*a->dims)) == 0;
}

/* A zero anywhere makes the product zero even when the other dimensions would overflow. */
int64_t ln_shape_count(const ln_shape *shape) {
    int64_t count = 1;
    bool overflow = false;
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        if (dim < 0) {
            return -1;
        }
        empty = empty || dim == 0;
        if (((uint64_t)(count | dim) >> 31) == 0) {
            count *= dim; /* wasm checks a product of 64 bits in software: not where it cannot overflow */
        } else {
            overflow = overflow || __builtin_mul_overflow(count, dim, &count);
        }
    }
    if (empty) {
        return 0;
    }
    return overflow ? -1 : count;
}

/* Dimensions beside an empty one may have any size; nothing is read with their product. */
static int64_t wrapping_product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

int64_t ln_shape_product(const ln_shape *shape, int begin, int end) {
    int64_t product = 1;
    for (int i = begin; i < end; i++) {
        product = wrapping_product(product, shape->dims[i]);
    }
    return product;
}

void ln_shape_strides(const ln_shape *shape, int64_t *strides) {
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride = wrapping_product(stride, shape->dims[i]);
    }
}

bool ln_shape_broadcast(const ln_shape *a, const ln_shape *b, ln_shape *result) {
    const int rank = a->rank > b->rank ? a->rank : b->rank;
    ln_shape joint = {.rank = rank};
    for (int i = 1; i <= rank; i++) {
        const int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1;
        const int64_t y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) {
            return false;
        }
        joint.dims[rank - i] = x == 1 ? y : x;
    }
    *result = joint;
    return true;
}

int ln_shape_axis(int64_t axis, int rank) {
    if (axis < -(int64_t)rank || axis >= rank) {
        return -1;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

char *ln_shape_text(const ln_shape *shape, char *text) {
    size_t length = ln_format(text, LN_SHAPE_TEXT_BYTES, "[");
    for (int i = 0; i < shape->rank; i++) {
        length += ln_format(text + length, LN_SHAPE_TEXT_BYTES - length, i > 0 ? ",%lld" : "%lld",
                            (long long)shape->dims[i]);
    }
    (void)ln_format(text + length, LN_SHAPE_TEXT_BYTES - length, "]");
    return text;
}
