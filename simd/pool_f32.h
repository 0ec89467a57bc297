/*
 * What the files of pooling share: the taps of a window.
 */
#ifndef LN_POOL_F32_H
#define LN_POOL_F32_H

#include <stdbool.h>

#include "simd.h"
#include "vector.h"

/* Taps [first, end) of a window lie on the input; tap 0 is at input `start`, which may be negative. */
struct ln_taps {
    int64_t start, first, end;
};
struct ln_taps ln_pool_taps(const struct ln_pooling *pooling, int axis, int64_t o);

/* How many taps the windows of the first and the last output row and column have; others have all. */
typedef struct ln_pool_counts {
    int64_t first_row, last_row, first_col, last_col;
} ln_pool_counts;

/*
 * A whole plane, where there is a kernel for its geometry: averages with `counts`, maxima without. False when there is none, or
 * when a maximum met a NaN, whose outputs are then wrong.
 */
bool ln_pool_fast_f32(float *dst, const float *src, const struct ln_pooling *p, const ln_pool_counts *counts);

#endif
