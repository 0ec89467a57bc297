/*
 * Reductions over contiguous rows: the table ln_reduce_inner_f32, dot products and the range of a row.
 *
 * Sums: four vector accumulators over blocks of 512 elements, the blocks' sums added in double. So a lane adds at
 * most 32 numbers in float, and the error does not grow with the row. The order depends on nothing but the length.
 *
 * Maxima use the one-instruction clamp, which loses a NaN; each element is also added to a sum that a NaN would
 * poison, and only a poisoned sum makes the row be searched for a NaN (infinities of both signs poison it too).
 */
#include "vector.h"
#include "vmath.h"

#include <math.h>

enum { BLOCK = 512 };

/* Defines a function that sums `expression` in x (and y, from b) over n elements. */
#define BLOCKED_SUM(name, expression)                                                                        \
    static float name##_block(const float *a, const float *b, size_t n) {                                    \
        ln_v32f sums[4] = {ln_zero(), ln_zero(), ln_zero(), ln_zero()};                                      \
        ln_v32f x, y;                                                                                        \
        size_t i = 0;                                                                                        \
        for (; i + 16 <= n; i += 16) {                                                                       \
            LN_LOOP_UNROLLED                                                                                 \
            for (size_t v = 0; v < 4; v++) {                                                                 \
                x = ln_load(a + i + 4 * v);                                                                  \
                y = ln_load(b + i + 4 * v);                                                                  \
                sums[v] = expression(sums[v], x, y);                                                         \
            }                                                                                                \
        }                                                                                                    \
        for (; i + 4 <= n; i += 4) {                                                                         \
            x = ln_load(a + i);                                                                              \
            y = ln_load(b + i);                                                                              \
            sums[0] = expression(sums[0], x, y);                                                             \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            x = ln_load_part(a + i, n - i);                                                                  \
            y = ln_load_part(b + i, n - i);                                                                  \
            sums[1] = expression(sums[1], x, y);                                                             \
        }                                                                                                    \
        return ln_sum_lanes(ln_add(ln_add(sums[0], sums[1]), ln_add(sums[2], sums[3])));                     \
    }                                                                                                        \
    static LN_NOINLINE double name(const float *a, const float *b, size_t n) {                               \
        double total = 0.0;                                                                                  \
        for (size_t i = 0; i < n; i += BLOCK) {                                                              \
            total += (double)name##_block(a + i, b + i, n - i < BLOCK ? n - i : BLOCK);                      \
        }                                                                                                    \
        return total;                                                                                        \
    }

#define ADD_X(sum, x, y)         ((void)(y), ln_add(sum, x))
#define ADD_MAGNITUDE(sum, x, y) ((void)(y), ln_add(sum, ln_abs(x)))
#define ADD_PRODUCT(sum, x, y)   ln_madd(sum, x, y)

BLOCKED_SUM(sum_values, ADD_X)
BLOCKED_SUM(sum_magnitudes, ADD_MAGNITUDE)
BLOCKED_SUM(sum_products, ADD_PRODUCT)

float ln_dot_f32(const float *a, const float *b, size_t n) {
    return (float)sum_products(a, b, n);
}

static int has_nan(const float *src, size_t n) {
    ln_v32i found = ln_zero();
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const ln_v32f x = ln_load(src + i);
        found = wasm_v128_or(found, wasm_f32x4_ne(x, x));
    }
    const ln_v32f x = ln_load_part(src + i, n - i);
    return wasm_v128_any_true(wasm_v128_or(found, wasm_f32x4_ne(x, x)));
}

/* Four floats at `from`, or of a row of fewer the row, filled up with its first element. */
static inline ln_v32f four_of(const float *src, size_t from, size_t n) {
    if (n >= 4) {
        return ln_load(src + from);
    }
    float four[4] = {src[0], src[0], src[0], src[0]};
    memcpy(four, src, n * sizeof(float));
    return ln_load(four);
}

/* The smallest and the largest of n > 0 floats; NaN when there is one. */
static LN_NOINLINE void extremes(const float *src, size_t n, float *min, float *max) {
    const ln_v32f first = ln_load_splat(src);
    ln_v32f low[4], high[4], sums[4];
    LN_LOOP_UNROLLED
    for (int v = 0; v < 4; v++) {
        low[v] = first;
        high[v] = first;
        sums[v] = ln_zero();
    }
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < 4; v++) {
            const ln_v32f x = ln_load(src + i + 4 * v);
            low[v] = ln_clamp_high(x, low[v]);
            high[v] = ln_clamp_low(x, high[v]);
            sums[v] = ln_add(sums[v], x);
        }
    }
    for (; i < n; i += 4) {
        const ln_v32f x = four_of(src, i + 4 <= n || n < 4 ? i : n - 4, n);
        low[0] = ln_clamp_high(x, low[0]);
        high[0] = ln_clamp_low(x, high[0]);
        sums[0] = ln_add(sums[0], x);
    }
    const ln_v32f total = ln_add(ln_add(sums[0], sums[1]), ln_add(sums[2], sums[3]));
    if (wasm_v128_any_true(wasm_f32x4_ne(total, total)) && has_nan(src, n)) {
        *min = *max = NAN;
        return;
    }
    *min = ln_min_lane(ln_clamp_high(ln_clamp_high(low[0], low[1]), ln_clamp_high(low[2], low[3])));
    *max = ln_max_lane(ln_clamp_low(ln_clamp_low(high[0], high[1]), ln_clamp_low(high[2], high[3])));
}

void ln_min_max_f32(const float *src, size_t n, float *min, float *max) {
    *min = INFINITY;
    *max = -INFINITY;
    if (n != 0) {
        extremes(src, n, min, max);
    }
}

static float largest(const float *src, size_t n) {
    float min, max;
    ln_min_max_f32(src, n, &min, &max);
    return max;
}

static float smallest(const float *src, size_t n) {
    float min, max;
    ln_min_max_f32(src, n, &min, &max);
    return min;
}

/* In double, which neither overflows nor vanishes where the product does not. */
static float product(const float *src, size_t n) {
    ln_v64f products[4];
    LN_LOOP_UNROLLED
    for (int v = 0; v < 4; v++) {
        products[v] = wasm_f64x2_splat(1.0);
    }
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < 4; v++) {
            const ln_v64f two = wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(src + i + 2 * v));
            products[v] = wasm_f64x2_mul(products[v], two);
        }
    }
    const ln_v64f four =
        wasm_f64x2_mul(wasm_f64x2_mul(products[0], products[1]), wasm_f64x2_mul(products[2], products[3]));
    double rest = 1.0;
    for (; i < n; i++) {
        rest *= (double)src[i];
    }
    return (float)(wasm_f64x2_extract_lane(four, 0) * wasm_f64x2_extract_lane(four, 1) * rest);
}

static float log_sum_exp(const float *src, size_t n) {
    const float high = largest(src, n);
    if (!isfinite(high)) {
        return high;
    }
    const struct ln_exp_constants k = ln_exp_constants();
    const ln_v32f shift = ln_splat(high);
    double total = 0.0;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        const size_t end = n - begin < BLOCK ? n : begin + BLOCK;
        ln_v32f sum = ln_zero();
        size_t i = begin;
        for (; i + 4 <= end; i += 4) {
            sum = ln_add(sum, ln_exp_nonpositive(&k, ln_sub(ln_load(src + i), shift)));
        }
        if (i < end) {
            float four[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
            memcpy(four, src + i, (end - i) * sizeof(float));
            sum = ln_add(sum, ln_exp_nonpositive(&k, ln_sub(ln_load(four), shift)));
        }
        total += (double)ln_sum_lanes(sum);
    }
    return (float)((double)high + log(total));
}

/* The table's functions: one value for each row. */
#define REDUCE_ROWS(name, value)                                                                             \
    static void reduce_##name(float *dst, const float *src, size_t rows, size_t n) {                         \
        for (size_t r = 0; r < rows; r++) {                                                                  \
            const float *row = src + r * n;                                                                  \
            dst[r] = value;                                                                                  \
        }                                                                                                    \
    }

/* Rows of two numbers, four to two vectors; how many rows that does. */
static LN_NOINLINE size_t sum_pairs(float *dst, const float *src, size_t rows) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const ln_v32f a = ln_load(src + 2 * r), b = ln_load(src + 2 * r + 4);
        ln_store(dst + r, ln_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7)));
    }
    return r;
}

/* Rows of few numbers: four at a time, whose lanes are added up together, in the order that one row has alone. */
static LN_NOINLINE size_t sum_short(float *dst, const float *src, size_t rows, size_t n) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        ln_v32f sums[4];
        LN_LOOP_ROLLED
        for (size_t j = 0; j < 4; j++) {
            const float *row = src + (r + j) * n;
            ln_v32f sum = ln_zero();
            size_t i = 0;
            for (; i + 4 <= n; i += 4) {
                sum = ln_add(sum, ln_load(row + i));
            }
            sums[j] = i < n ? ln_add(sum, ln_load_part(row + i, n - i)) : sum;
        }
        ln_transpose_4x4(sums);
        ln_store(dst + r, ln_add(ln_add(sums[0], sums[2]), ln_add(sums[1], sums[3])));
    }
    return r;
}

static void reduce_sum(float *dst, const float *src, size_t rows, size_t n) {
    size_t r = n == 2 ? sum_pairs(dst, src, rows) : n < 16 ? sum_short(dst, src, rows, n) : 0;
    for (; r < rows; r++) {
        dst[r] = (float)sum_values(src + r * n, src + r * n, n);
    }
}

REDUCE_ROWS(mean, (float)(sum_values(row, row, n) / (double)n))
REDUCE_ROWS(max, largest(row, n))
REDUCE_ROWS(min, smallest(row, n))
REDUCE_ROWS(prod, product(row, n))
REDUCE_ROWS(sumsq, (float)sum_products(row, row, n))
REDUCE_ROWS(l1, (float)sum_magnitudes(row, row, n))
REDUCE_ROWS(l2, (float)sqrt(sum_products(row, row, n)))
REDUCE_ROWS(logsum, (float)log(sum_values(row, row, n)))
REDUCE_ROWS(logsumexp, log_sum_exp(row, n))

ln_reduce_inner_fn *const ln_reduce_inner_f32[LN_REDUCE_COUNT] = {
#define REDUCE_ROW(upper, lower) [LN_REDUCE_##upper] = reduce_##lower,
    LN_REDUCE_LIST(REDUCE_ROW)
#undef REDUCE_ROW
};
