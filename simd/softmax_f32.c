/*
 * Softmax and log-softmax, over contiguous rows and over columns.
 *
 * Three passes: the maximum (of scale x + mask, which is stored on the way when it differs from x), the exponentials
 * with their sum, and the division, as a product with 1 / sum. All inputs of exp are at most 0, so results below
 * 1e-38 are 0. A NaN may be lost in the maximum but not in the sum, so the whole row becomes NaN, as it should.
 */
#include "vector.h"
#include "vmath.h"

#include <math.h>

enum { BLOCK = 512, STRIP_VECTORS = 16, BLOCK_ROWS = 64 };

/* `count` floats, 1 to 4, the other lanes `fill`. */
static inline ln_v32f load_filled(const float *p, size_t count, float fill) {
    if (count >= 4) {
        return ln_load(p);
    }
    float four[4] = {fill, fill, fill, fill};
    for (size_t i = 0; i < count; i++) {
        four[i] = p[i];
    }
    return ln_load(four);
}

static LN_NOINLINE float row_max(const float *src, size_t n) {
    ln_v32f best0 = ln_splat(-INFINITY), best1 = best0, best2 = best0, best3 = best0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        best0 = ln_clamp_low(ln_load(src + i), best0);
        best1 = ln_clamp_low(ln_load(src + i + 4), best1);
        best2 = ln_clamp_low(ln_load(src + i + 8), best2);
        best3 = ln_clamp_low(ln_load(src + i + 12), best3);
    }
    for (; i < n; i += 4) {
        best0 = ln_clamp_low(load_filled(src + i, n - i, -INFINITY), best0);
    }
    return ln_max_lane(ln_clamp_low(ln_clamp_low(best0, best1), ln_clamp_low(best2, best3)));
}

/* dst = scale src + mask, and its maximum. */
static float row_scale_max(float *dst, const float *src, size_t n, float scale, const float *mask) {
    const ln_v32f factor = ln_splat(scale);
    ln_v32f best = ln_splat(-INFINITY);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        ln_v32f x = ln_mul(ln_load(src + i), factor);
        x = mask != NULL ? ln_add(x, ln_load(mask + i)) : x;
        ln_store(dst + i, x);
        best = ln_clamp_low(x, best);
    }
    if (i < n) {
        ln_v32f x = ln_mul(load_filled(src + i, n - i, 0.0f), factor);
        x = mask != NULL ? ln_add(x, load_filled(mask + i, n - i, 0.0f)) : x;
        ln_store_part(dst + i, x, n - i);
        best = ln_clamp_low(load_filled(dst + i, n - i, -INFINITY), best);
    }
    return ln_max_lane(best);
}

/* Sums exp(src - high) over n elements, and stores them when dst is not null. */
static LN_NOINLINE float row_exp(float *dst, const float *src, size_t n, float high) {
    const struct ln_exp_constants k = ln_exp_constants();
    const ln_v32f shift = ln_splat(high);
    double total = 0.0;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        const size_t end = n - begin < BLOCK ? n : begin + BLOCK;
        ln_v32f sum = ln_zero();
        size_t i = begin;
        for (; i + 4 <= end; i += 4) {
            const ln_v32f e = ln_exp_nonpositive(&k, ln_sub(ln_load(src + i), shift));
            sum = ln_add(sum, e);
            if (dst != NULL) {
                ln_store(dst + i, e);
            }
        }
        if (i < end) {
            const ln_v32f x = load_filled(src + i, end - i, -INFINITY);
            const ln_v32f e = ln_exp_nonpositive(&k, ln_sub(x, shift));
            sum = ln_add(sum, e);
            if (dst != NULL) {
                ln_store_part(dst + i, e, end - i);
            }
        }
        total += (double)ln_sum_lanes(sum);
    }
    return (float)total;
}

void ln_softmax_rows_f32(float *dst, const float *src, size_t rows, size_t n, float scale, const float *mask,
                         size_t mask_stride) {
    const int plain = mask == NULL && scale == 1.0f;
    for (size_t r = 0; r < rows; r++) {
        float *out = dst + r * n;
        const float *row = src + r * n;
        const float *mask_row = mask != NULL ? mask + r * mask_stride : NULL;
        const float high = plain ? row_max(row, n) : row_scale_max(out, row, n, scale, mask_row);
        const float sum = row_exp(out, plain ? row : out, n, high);
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](out, out, n, 1.0f / sum, 0.0f);
    }
}

void ln_log_softmax_rows_f32(float *dst, const float *src, size_t rows, size_t n) {
    for (size_t r = 0; r < rows; r++) {
        const float *row = src + r * n;
        const float high = row_max(row, n);
        const float log_sum = logf(row_exp(NULL, row, n, high));
        const ln_v32f shift = ln_splat(high), normalizer = ln_splat(log_sum);
        for (size_t i = 0; i < n; i += 4) {
            const ln_v32f x = load_filled(row + i, n - i, 0.0f);
            ln_store_first(dst + r * n + i, ln_sub(ln_sub(x, shift), normalizer), n - i);
        }
    }
}

/* ---- columns ---- */

/* A strip of `vectors` vectors of columns; the last one has `last` columns, 1 to 4. */
struct strip {
    size_t vectors, last;
    ln_v32f high[STRIP_VECTORS], sum[STRIP_VECTORS];
};

static inline size_t lanes_of(const struct strip *strip, size_t v) {
    return v + 1 < strip->vectors ? 4 : strip->last;
}

static LN_NOINLINE void strip_max(struct strip *strip, const float *src, size_t n, size_t stride) {
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->high[v] = ln_splat(-INFINITY);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < strip->vectors; v++) {
            const ln_v32f x = load_filled(src + i * stride + 4 * v, lanes_of(strip, v), 0.0f);
            strip->high[v] = ln_clamp_low(x, strip->high[v]);
        }
    }
}

/* The sum is of blocks of 64 rows, each summed for itself. */
static LN_NOINLINE void strip_exp(struct strip *strip, float *dst, const float *src, size_t n,
                                  size_t stride) {
    const struct ln_exp_constants k = ln_exp_constants();
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->sum[v] = ln_zero();
    }
    for (size_t begin = 0; begin < n; begin += BLOCK_ROWS) {
        const size_t end = n - begin < BLOCK_ROWS ? n : begin + BLOCK_ROWS;
        ln_v32f block[STRIP_VECTORS];
        for (size_t v = 0; v < strip->vectors; v++) {
            block[v] = ln_zero();
        }
        for (size_t i = begin; i < end; i++) {
            for (size_t v = 0; v < strip->vectors; v++) {
                const ln_v32f x = load_filled(src + i * stride + 4 * v, lanes_of(strip, v), 0.0f);
                const ln_v32f e = ln_exp_nonpositive(&k, ln_sub(x, strip->high[v]));
                block[v] = ln_add(block[v], e);
                if (dst != NULL) {
                    ln_store_first(dst + i * stride + 4 * v, e, lanes_of(strip, v));
                }
            }
        }
        for (size_t v = 0; v < strip->vectors; v++) {
            strip->sum[v] = ln_add(strip->sum[v], block[v]);
        }
    }
}

static void softmax_strip(struct strip *strip, float *dst, const float *src, size_t n, size_t stride) {
    strip_max(strip, src, n, stride);
    strip_exp(strip, dst, src, n, stride);
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->sum[v] = ln_div(ln_splat(1.0f), strip->sum[v]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < strip->vectors; v++) {
            float *p = dst + i * stride + 4 * v;
            const size_t lanes = lanes_of(strip, v);
            ln_store_first(p, ln_mul(load_filled(p, lanes, 0.0f), strip->sum[v]), lanes);
        }
    }
}

static void log_softmax_strip(struct strip *strip, float *dst, const float *src, size_t n, size_t stride) {
    const struct ln_log_constants k = ln_log_constants();
    strip_max(strip, src, n, stride);
    strip_exp(strip, NULL, src, n, stride);
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->sum[v] = ln_log(&k, strip->sum[v]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < strip->vectors; v++) {
            const size_t lanes = lanes_of(strip, v), at = i * stride + 4 * v;
            const ln_v32f x = load_filled(src + at, lanes, 0.0f);
            ln_store_first(dst + at, ln_sub(ln_sub(x, strip->high[v]), strip->sum[v]), lanes);
        }
    }
}

typedef void strip_fn(struct strip *strip, float *dst, const float *src, size_t n, size_t stride);

static void for_strips(strip_fn *run, float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    for (size_t c = 0; c < columns; c += 4 * STRIP_VECTORS) {
        const size_t width = columns - c < 4 * STRIP_VECTORS ? columns - c : 4 * STRIP_VECTORS;
        struct strip strip = {.vectors = (width + 3) / 4, .last = (width + 3) % 4 + 1};
        run(&strip, dst + c, src + c, n, stride);
    }
}

void ln_softmax_columns_f32(float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    for_strips(softmax_strip, dst, src, n, columns, stride);
}

void ln_log_softmax_columns_f32(float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    for_strips(log_softmax_strip, dst, src, n, columns, stride);
}
