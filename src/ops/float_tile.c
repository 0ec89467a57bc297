/* See ops/float_tile.h. */
#include "ops/float_tile.h"

#include "simd/vector.h"

void ln_tile_load(ln_dtype dtype, const void *src, int64_t first, int64_t n, float *dst) {
    if (dtype == LN_FLOAT16) {
        ln_f16_to_f32(dst, (const uint16_t *)src + first, (size_t)n);
    } else if (dtype == LN_BFLOAT16) {
        ln_bf16_to_f32(dst, (const uint16_t *)src + first, (size_t)n);
    } else {
        ln_load_f32(dtype, src, first, n, dst);
    }
}

void ln_tile_store(ln_dtype dtype, void *dst, int64_t first, int64_t n, const float *src) {
    if (dtype == LN_FLOAT16) {
        ln_f32_to_f16((uint16_t *)dst + first, src, (size_t)n);
    } else if (dtype == LN_BFLOAT16) {
        ln_f32_to_bf16((uint16_t *)dst + first, src, (size_t)n);
    } else {
        ln_store_f32(dtype, dst, first, n, src);
    }
}
