/* The order of integers and of IEEE floats, made the order of unsigned integers. */
#include "ops/sort_key.h"

#include <string.h>

#define SIGN (UINT64_C(1) << 63)

static void float_keys(ln_dtype dtype, const void *src, int64_t first, int64_t n, uint64_t *keys) {
    for (int64_t at = 0; at < n; at += LN_TILE) {
        double tile[LN_TILE];
        const int64_t m = n - at < LN_TILE ? n - at : LN_TILE;
        ln_load_f64(dtype, src, first + at, m, tile);
        for (int64_t i = 0; i < m; i++) {
            const double x = tile[i] + 0.0; /* -0 becomes 0 */
            uint64_t bits;
            memcpy(&bits, &x, sizeof(bits));
            keys[at + i] = x != x ? UINT64_MAX : bits & SIGN ? ~bits : bits | SIGN;
        }
    }
}

void ln_sort_keys(ln_dtype dtype, const void *src, int64_t first, int64_t n, uint64_t *keys) {
    switch (ln_dtype_compute(dtype)) {
    case LN_COMPUTE_F32:
    case LN_COMPUTE_F64:
        float_keys(dtype, src, first, n, keys);
        return;
    case LN_COMPUTE_U64:
        memcpy(keys, (const uint64_t *)src + first, (size_t)n * sizeof(*keys));
        return;
    default:
        for (int64_t at = 0; at < n; at += LN_TILE) {
            int64_t tile[LN_TILE];
            const int64_t m = n - at < LN_TILE ? n - at : LN_TILE;
            ln_load_i64(dtype, src, first + at, m, tile);
            for (int64_t i = 0; i < m; i++) {
                keys[at + i] = (uint64_t)tile[i] ^ SIGN;
            }
        }
    }
}
