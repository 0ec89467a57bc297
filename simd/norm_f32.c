/*
 * Normalisation: layer norm and RMS norm of rows, with or without a residual sum, and the pieces of batch, instance
 * and group norm.
 *
 * The variance is that of the differences from the mean, in a second pass: the one-pass form E[x^2] - E[x]^2 is no
 * faster, as the row is in L1, and loses all digits when the mean is large. Sums are blocked as in reduce_f32.c.
 */
#include "simd.h"
#include "vector.h"

#include <math.h>

enum { BLOCK = 512 };

/* The sum of (x - center)^2 over at most BLOCK elements. */
static float squares_block(const float *src, size_t n, ln_v32f center) {
    ln_v32f sums[4] = {ln_zero(), ln_zero(), ln_zero(), ln_zero()};
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < 4; v++) {
            const ln_v32f x = ln_sub(ln_load(src + i + 4 * v), center);
            sums[v] = ln_madd(sums[v], x, x);
        }
    }
    for (; i + 4 <= n; i += 4) {
        const ln_v32f x = ln_sub(ln_load(src + i), center);
        sums[0] = ln_madd(sums[0], x, x);
    }
    if (i < n) {
        /* Lanes past the end hold the center. */
        float four[4];
        ln_store(four, center);
        memcpy(four, src + i, (n - i) * sizeof(float));
        const ln_v32f x = ln_sub(ln_load(four), center);
        sums[1] = ln_madd(sums[1], x, x);
    }
    return ln_sum_lanes(ln_add(ln_add(sums[0], sums[1]), ln_add(sums[2], sums[3])));
}

static float mean_square(const float *src, size_t n, float center) {
    double total = 0.0;
    for (size_t i = 0; i < n; i += BLOCK) {
        total += (double)squares_block(src + i, n - i < BLOCK ? n - i : BLOCK, ln_splat(center));
    }
    return (float)(total / (double)n);
}

void ln_mean_variance_f32(const float *src, size_t n, float *mean, float *variance) {
    ln_reduce_inner_f32[LN_REDUCE_MEAN](mean, src, 1, n);
    *variance = mean_square(src, n, *mean);
}

/* dst = (x - mean) inv_std gamma + beta, by one of four loops: gamma and beta may be null. */
#define NORMALIZE_LOOP(result)                                                                               \
    for (; i + 4 <= n; i += 4) {                                                                             \
        const ln_v32f x = ln_mul(ln_sub(ln_load(src + i), center), scale);                                   \
        ln_store(dst + i, result(ln_load));                                                                  \
    }                                                                                                        \
    if (i < n) {                                                                                             \
        const ln_v32f x = ln_mul(ln_sub(ln_load_part(src + i, n - i), center), scale);                       \
        ln_store_part(dst + i, result(LOAD_REST), n - i);                                                    \
    }

#define LOAD_REST(p)     ln_load_part(p, n - i)
#define PLAIN(load)      x
#define WITH_GAMMA(load) ln_mul(x, load(gamma + i))
#define WITH_BETA(load)  ln_add(x, load(beta + i))
#define WITH_BOTH(load)  ln_madd(load(beta + i), x, load(gamma + i))

static void normalize_row(float *dst, const float *src, size_t n, const float *gamma, const float *beta,
                          float mean, float inv_std) {
    const ln_v32f center = ln_splat(mean), scale = ln_splat(inv_std);
    size_t i = 0;
    if (gamma != NULL && beta != NULL) {
        NORMALIZE_LOOP(WITH_BOTH)
    } else if (gamma != NULL) {
        NORMALIZE_LOOP(WITH_GAMMA)
    } else if (beta != NULL) {
        NORMALIZE_LOOP(WITH_BETA)
    } else {
        NORMALIZE_LOOP(PLAIN)
    }
}

void ln_layer_norm_rows_f32(float *dst, const float *src, size_t rows, size_t n, const float *gamma,
                            const float *beta, float epsilon, float *mean, float *inv_std) {
    for (size_t r = 0; r < rows; r++) {
        float row_mean, variance;
        ln_mean_variance_f32(src + r * n, n, &row_mean, &variance);
        const float scale = 1.0f / sqrtf(variance + epsilon);
        normalize_row(dst + r * n, src + r * n, n, gamma, beta, row_mean, scale);
        if (mean != NULL) {
            mean[r] = row_mean;
        }
        if (inv_std != NULL) {
            inv_std[r] = scale;
        }
    }
}

void ln_rms_norm_rows_f32(float *dst, const float *src, size_t rows, size_t n, const float *gamma,
                          float epsilon, float *inv_std) {
    for (size_t r = 0; r < rows; r++) {
        const float scale = 1.0f / sqrtf(mean_square(src + r * n, n, 0.0f) + epsilon);
        normalize_row(dst + r * n, src + r * n, n, gamma, NULL, 0.0f, scale);
        if (inv_std != NULL) {
            inv_std[r] = scale;
        }
    }
}

/* sum = a + b + bias, which may be null. */
static void add_row(float *sum, const float *a, const float *b, const float *bias, size_t n) {
    ln_binary_f32[LN_BINARY_ADD](sum, a, 1, b, 1, n);
    if (bias != NULL) {
        ln_binary_f32[LN_BINARY_ADD](sum, sum, 1, bias, 1, n);
    }
}

void ln_skip_layer_norm_rows_f32(float *dst, float *sum, const float *a, const float *b, const float *bias,
                                 size_t rows, size_t n, const float *gamma, const float *beta, float epsilon,
                                 float *mean, float *inv_std) {
    for (size_t r = 0; r < rows; r++) {
        float *total = sum != NULL ? sum + r * n : dst + r * n;
        add_row(total, a + r * n, b + r * n, bias, n);
        ln_layer_norm_rows_f32(dst + r * n, total, 1, n, gamma, beta, epsilon, mean != NULL ? mean + r : NULL,
                               inv_std != NULL ? inv_std + r : NULL);
    }
}

void ln_skip_rms_norm_rows_f32(float *dst, float *sum, const float *a, const float *b, const float *bias,
                               size_t rows, size_t n, const float *gamma, float epsilon, float *inv_std) {
    for (size_t r = 0; r < rows; r++) {
        float *total = sum != NULL ? sum + r * n : dst + r * n;
        add_row(total, a + r * n, b + r * n, bias, n);
        ln_rms_norm_rows_f32(dst + r * n, total, 1, n, gamma, epsilon, inv_std != NULL ? inv_std + r : NULL);
    }
}

void ln_normalize_plane_f32(float *dst, const float *src, size_t n, float mean, float scale, float shift) {
    const ln_v32f center = ln_splat(mean), factor = ln_splat(scale), offset = ln_splat(shift);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const ln_v32f x0 = ln_sub(ln_load(src + i), center), x1 = ln_sub(ln_load(src + i + 4), center);
        ln_store(dst + i, ln_madd(offset, x0, factor));
        ln_store(dst + i + 4, ln_madd(offset, x1, factor));
    }
    for (; i < n; i += 4) {
        ln_store_first(dst + i, ln_madd(offset, ln_sub(ln_load_first(src + i, n - i), center), factor),
                       n - i);
    }
}

void ln_scale_shift_rows_f32(float *dst, const float *src, size_t rows, size_t n, const float *scale,
                             const float *shift) {
    for (size_t r = 0; r < rows; r++) {
        const float *row = src + r * n;
        float *out = dst + r * n;
        size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            const ln_v32f offset = shift != NULL ? ln_load(shift + i) : ln_zero();
            ln_store(out + i, ln_madd(offset, ln_load(row + i), ln_load(scale + i)));
        }
        if (i < n) {
            const ln_v32f offset = shift != NULL ? ln_load_part(shift + i, n - i) : ln_zero();
            const ln_v32f x = ln_load_part(row + i, n - i);
            ln_store_part(out + i, ln_madd(offset, x, ln_load_part(scale + i, n - i)), n - i);
        }
    }
}
