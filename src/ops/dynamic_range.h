/* The scale and zero point of DynamicQuantizeLinear-11: the numbers' own range, 0 included, over the codes 0 to 255. */
#ifndef LN_OPS_DYNAMIC_RANGE_H
#define LN_OPS_DYNAMIC_RANGE_H

#include <math.h>

#include "simd/vector.h"

/* Scale 1 where all numbers are 0. */
static inline void ln_dynamic_range(const float *x, size_t count, float *scale, int32_t *zero) {
    float low, high;
    ln_min_max_f32(x, count, &low, &high);
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    *scale = high == low ? 1.0f : (high - low) / 255.0f;
    const float code = rintf(-low / *scale);
    *zero = code < 0 ? 0 : code > 255 ? 255 : (int32_t)code;
}

#endif
