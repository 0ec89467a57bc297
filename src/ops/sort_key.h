/* Elements as 64-bit keys that sort as the elements do: one comparison for all numeric types. */
#ifndef LN_OPS_SORT_KEY_H
#define LN_OPS_SORT_KEY_H

#include "ops/op.h"

/* keys[0..n) of elements [first, first+n). Of floats, both zeros are equal and every NaN is the largest key. Complex
 * types and strings have no keys. */
void ln_sort_keys(ln_dtype dtype, const void *src, int64_t first, int64_t n, uint64_t *keys);

#endif
