/* Elements as float32 and back, half types by the vector kernels: what operators that compute in float32 use in place of
 * ln_load_f32 and ln_store_f32 (base/convert.h), whose answers are the same.
 */
#ifndef LN_OPS_FLOAT_TILE_H
#define LN_OPS_FLOAT_TILE_H

#include "base/convert.h"

/* dst[0..n) = elements [first, first + n) of src. */
void ln_tile_load(ln_dtype dtype, const void *src, int64_t first, int64_t n, float *dst);
void ln_tile_store(ln_dtype dtype, void *dst, int64_t first, int64_t n, const float *src);

#endif
