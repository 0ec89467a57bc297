/*
 * Binary arithmetic of doubles and of 32- and 64-bit integers, by loops the compiler vectorises where
 * that pays. Integers wrap around (they are computed unsigned), and no operation traps: see vector.h.
 */
#include "simd.h"
#include "vector.h"

#include <math.h>

/* These types are rare on hot paths: one vector a step, not unrolled, keeps sixty loops small. */
#if defined(__clang__)
#define SMALL_LOOP _Pragma("clang loop interleave(disable) unroll(disable)")
#else
#define SMALL_LOOP
#endif

#define LOOP(type, expression)                                                                               \
    type *d = dst;                                                                                           \
    const type *a = va, *b = vb;                                                                             \
    if (a_stride != 0 && b_stride != 0) {                                                                    \
        SMALL_LOOP for (size_t i = 0; i < n; i++) {                                                          \
            const type x = a[i], y = b[i];                                                                   \
            d[i] = expression;                                                                               \
        }                                                                                                    \
    } else {                                                                                                 \
        LN_LOOP_ROLLED for (size_t i = 0; i < n; i++) {                                                      \
            const type x = a[i * a_stride], y = b[i * b_stride];                                             \
            d[i] = expression;                                                                               \
        }                                                                                                    \
    }

#define BINARY(suffix, name, type, expression)                                                               \
    static void name##_##suffix(void *dst, const void *va, size_t a_stride, const void *vb, size_t b_stride, \
                                size_t n) {                                                                  \
        LOOP(type, expression)                                                                               \
    }

#define BINARY_TABLE(suffix)                                                                                 \
    ln_binary_fn *const ln_binary_##suffix[LN_BINARY_COUNT] = {                                              \
        [LN_BINARY_ADD] = add_##suffix,           [LN_BINARY_SUB] = sub_##suffix,                            \
        [LN_BINARY_MUL] = mul_##suffix,           [LN_BINARY_DIV] = div_##suffix,                            \
        [LN_BINARY_MAX] = max_##suffix,           [LN_BINARY_MIN] = min_##suffix,                            \
        [LN_BINARY_POW] = pow_##suffix,           [LN_BINARY_PRELU] = prelu_##suffix,                        \
        [LN_BINARY_ADD_RELU] = add_relu_##suffix, [LN_BINARY_MUL_RELU] = mul_relu_##suffix,                  \
    };

/* NaN wins: an unordered comparison picks x when x is NaN, y otherwise. */
BINARY(f64, add, double, x + y)
BINARY(f64, sub, double, x - y)
BINARY(f64, mul, double, x *y)
BINARY(f64, div, double, x / y)
BINARY(f64, max, double, x > y || x != x ? x : y)
BINARY(f64, min, double, x < y || x != x ? x : y)
BINARY(f64, pow, double, pow(x, y))
BINARY(f64, prelu, double, x < 0.0 ? x * y : x)
BINARY(f64, add_relu, double, x + y < 0.0 ? 0.0 : x + y)
BINARY(f64, mul_relu, double, x *y < 0.0 ? 0.0 : x * y)
BINARY_TABLE(f64)

#define INTEGERS(bits)                                                                                       \
    static int##bits##_t divide_i##bits(int##bits##_t x, int##bits##_t y) {                                  \
        if (y == 0) {                                                                                        \
            return 0;                                                                                        \
        }                                                                                                    \
        return y == -1 ? (int##bits##_t)(0 - (uint##bits##_t)x) : x / y;                                     \
    }                                                                                                        \
    static int##bits##_t power_i##bits(int##bits##_t x, int##bits##_t y) {                                   \
        if (y < 0) {                                                                                         \
            return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;                                 \
        }                                                                                                    \
        uint##bits##_t result = 1, square = (uint##bits##_t)x;                                               \
        for (uint##bits##_t left = (uint##bits##_t)y; left != 0; left >>= 1) {                               \
            result *= left & 1 ? square : 1;                                                                 \
            square *= square;                                                                                \
        }                                                                                                    \
        return (int##bits##_t)result;                                                                        \
    }                                                                                                        \
    static inline int##bits##_t sum_i##bits(int##bits##_t x, int##bits##_t y) {                              \
        return (int##bits##_t)((uint##bits##_t)x + (uint##bits##_t)y);                                       \
    }                                                                                                        \
    static inline int##bits##_t product_i##bits(int##bits##_t x, int##bits##_t y) {                          \
        return (int##bits##_t)((uint##bits##_t)x * (uint##bits##_t)y);                                       \
    }                                                                                                        \
    static inline int##bits##_t positive_i##bits(int##bits##_t x) {                                          \
        return x < 0 ? 0 : x;                                                                                \
    }                                                                                                        \
    BINARY(i##bits, add, int##bits##_t, sum_i##bits(x, y))                                                   \
    BINARY(i##bits, sub, int##bits##_t, (int##bits##_t)((uint##bits##_t)x - (uint##bits##_t)y))              \
    BINARY(i##bits, mul, int##bits##_t, product_i##bits(x, y))                                               \
    BINARY(i##bits, div, int##bits##_t, divide_i##bits(x, y))                                                \
    BINARY(i##bits, max, int##bits##_t, x > y ? x : y)                                                       \
    BINARY(i##bits, min, int##bits##_t, x < y ? x : y)                                                       \
    BINARY(i##bits, pow, int##bits##_t, power_i##bits(x, y))                                                 \
    BINARY(i##bits, prelu, int##bits##_t, x < 0 ? product_i##bits(x, y) : x)                                 \
    BINARY(i##bits, add_relu, int##bits##_t, positive_i##bits(sum_i##bits(x, y)))                            \
    BINARY(i##bits, mul_relu, int##bits##_t, positive_i##bits(product_i##bits(x, y)))                        \
    BINARY_TABLE(i##bits)

INTEGERS(32)
INTEGERS(64)
