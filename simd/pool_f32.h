/*
 * What the files of pooling share: the taps of a window, and kernels for one output row.
 */
#ifndef LN_POOL_F32_H
#define LN_POOL_F32_H

#include "simd.h"
#include "vector.h"

/* Taps [first, end) of a window lie on the input; tap 0 is at input `start`, which may be negative. */
struct ln_taps {
    int64_t start, first, end;
};
struct ln_taps ln_pool_taps(const struct ln_pooling *pooling, int axis, int64_t o);

/* Writes output row (od, oh) of a plane; dst is that row, src the plane. */
typedef void ln_pool_row_fn(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                            int64_t oh);

/* Any geometry; NaN stays. */
ln_pool_row_fn ln_max_pool_row_f32;

/* The kernel that suits a geometry. */
ln_pool_row_fn *ln_max_pool_row_for(const struct ln_pooling *pooling);

#endif
