/*
 * Softmax and log-softmax, over contiguous rows and over columns.
 *
 * Three passes: the maximum (of scale x + mask, which is stored on the way when it differs from x), the exponentials
 * with their sum, and the division, as a product with 1 / sum. All inputs of exp are at most 0, so results below
 * 1e-38 are 0. A NaN may be lost in the maximum but not in the sum, so the whole row becomes NaN, as it should.
 *
 * The last vector of a row overlaps the one before: it is read before the first store, and what it shares with the other
 * is left out of the sum. Rows of two go two to a vector, others of fewer than four through a buffer that -inf fills up.
 * Columns of few rows stay in registers, a vector of columns at a time; longer ones go in strips, row by row.
 */
#include "vector.h"
#include "vmath.h"

#include <math.h>

enum { BLOCK = 512, STRIP_VECTORS = 16, BLOCK_ROWS = 64, FEW_ROWS = 8 };

LN_INLINE float row_max(const float *src, size_t n) {
    const size_t tail = n - 4;
    ln_v32f best0 = ln_load(src + tail), best1 = best0, best2 = best0, best3 = best0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        best0 = ln_clamp_low(ln_load(src + i), best0);
        best1 = ln_clamp_low(ln_load(src + i + 4), best1);
        best2 = ln_clamp_low(ln_load(src + i + 8), best2);
        best3 = ln_clamp_low(ln_load(src + i + 12), best3);
    }
    for (; i < tail; i += 4) {
        best0 = ln_clamp_low(ln_load(src + i), best0);
    }
    return ln_max_lane(ln_clamp_low(ln_clamp_low(best0, best1), ln_clamp_low(best2, best3)));
}

/* dst = scale src + mask, and its maximum. */
LN_INLINE float row_scale_max(float *dst, const float *src, size_t n, float scale, const float *mask) {
    const ln_v32f factor = ln_splat(scale);
    const size_t tail = n - 4;
    ln_v32f last = ln_mul(ln_load(src + tail), factor);
    last = mask != NULL ? ln_add(last, ln_load(mask + tail)) : last;
    ln_v32f best = last;
    for (size_t i = 0; i < tail; i += 4) {
        ln_v32f x = ln_mul(ln_load(src + i), factor);
        x = mask != NULL ? ln_add(x, ln_load(mask + i)) : x;
        ln_store(dst + i, x);
        best = ln_clamp_low(x, best);
    }
    ln_store(dst + tail, last);
    return ln_max_lane(best);
}

/* Which lanes of a row's last vector the vectors before it do not hold. */
LN_INLINE ln_v32i tail_lanes(size_t n) {
    static const int32_t lanes[8] = {0, 0, 0, 0, -1, -1, -1, -1};
    return wasm_v128_load(lanes + ((n - 1) % 4 + 1));
}

/* Sums exp(src - high) over n elements, and stores them when `stores`. */
LN_INLINE float row_exp(const struct ln_exp_constants *k, float *dst, const float *src, size_t n, float high,
                        int stores) {
    const ln_v32f shift = ln_splat(high);
    const size_t tail = n - 4;
    const ln_v32f last = ln_exp_nonpositive(k, ln_sub(ln_load(src + tail), shift));
    ln_v32f sum = wasm_v128_and(last, tail_lanes(n));
    double total = 0.0;
    for (size_t begin = 0; begin < tail; begin += BLOCK) {
        const size_t end = tail - begin < BLOCK ? tail : begin + BLOCK;
        for (size_t i = begin; i < end; i += 4) {
            const ln_v32f e = ln_exp_nonpositive(k, ln_sub(ln_load(src + i), shift));
            sum = ln_add(sum, e);
            if (stores) {
                ln_store(dst + i, e);
            }
        }
        total += (double)ln_sum_lanes(sum);
        sum = ln_zero();
    }
    if (stores) {
        ln_store(dst + tail, last);
    }
    return (float)(total + (double)ln_sum_lanes(sum));
}

/* dst = (src - low) * factor, for the last pass of both. */
LN_INLINE void row_finish(float *dst, const float *src, size_t n, ln_v32f low, ln_v32f factor, int scales) {
    const size_t tail = n - 4;
    ln_v32f last = ln_load(src + tail);
    for (size_t i = 0; i < tail; i += 4) {
        const ln_v32f x = ln_load(src + i);
        ln_store(dst + i, scales ? ln_mul(x, factor) : ln_sub(ln_sub(x, low), factor));
    }
    ln_store(dst + tail, scales ? ln_mul(last, factor) : ln_sub(ln_sub(last, low), factor));
}

typedef void rows_fn(float *dst, const float *src, size_t rows, size_t n, float scale, const float *mask,
                     size_t mask_stride);

/* Rows of fewer than four elements, one by one. */
static void short_rows(rows_fn *run, float *dst, const float *src, size_t rows, size_t n, float scale,
                       const float *mask, size_t mask_stride) {
    for (size_t r = 0; r < rows; r++) {
        float four[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, four_mask[4] = {0};
        for (size_t i = 0; i < n; i++) {
            four[i] = src[r * n + i] * scale;
            four_mask[i] = mask != NULL ? mask[r * mask_stride + i] : 0.0f;
        }
        run(four, four, n != 0, 4, 1.0f, mask != NULL ? four_mask : NULL, 0);
        memcpy(dst + r * n, four, n * sizeof(float));
    }
}

LN_INLINE ln_v32f pair_softmax(const struct ln_exp_constants *k, ln_v32f x) {
    const ln_v32f high = ln_clamp_low(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2));
    const ln_v32f e = ln_exp_nonpositive(k, ln_sub(x, high));
    return ln_mul(e, ln_div(k->one, ln_add(e, wasm_i32x4_shuffle(e, e, 1, 0, 3, 2))));
}

/* Rows of two elements. */
static LN_NOINLINE void pair_rows(float *dst, const float *src, size_t rows, float scale) {
    const struct ln_exp_constants k = ln_exp_constants();
    const ln_v32f factor = ln_splat(scale);
    const size_t n = 2 * rows;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        ln_store(dst + i, pair_softmax(&k, ln_mul(ln_load(src + i), factor)));
    }
    if (i < n) {
        ln_store_part(dst + i, pair_softmax(&k, ln_mul(ln_load_part(src + i, 2), factor)), 2);
    }
}

void ln_softmax_rows_f32(float *dst, const float *src, size_t rows, size_t n, float scale, const float *mask,
                         size_t mask_stride) {
    if (n == 2 && mask == NULL) {
        pair_rows(dst, src, rows, scale);
        return;
    }
    if (n < 4) {
        short_rows(ln_softmax_rows_f32, dst, src, rows, n, scale, mask, mask_stride);
        return;
    }
    const struct ln_exp_constants k = ln_exp_constants();
    const int plain = mask == NULL && scale == 1.0f;
    for (size_t r = 0; r < rows; r++) {
        float *out = dst + r * n;
        const float *row = src + r * n;
        const float high =
            plain ? row_max(row, n)
                  : row_scale_max(out, row, n, scale, mask != NULL ? mask + r * mask_stride : NULL);
        const float sum = row_exp(&k, out, plain ? row : out, n, high, 1);
        row_finish(out, out, n, k.one, ln_splat(1.0f / sum), 1);
    }
}

static void log_rows(float *dst, const float *src, size_t rows, size_t n, float scale, const float *mask,
                     size_t mask_stride) {
    (void)scale;
    (void)mask;
    (void)mask_stride;
    const struct ln_exp_constants k = ln_exp_constants();
    for (size_t r = 0; r < rows; r++) {
        const float *row = src + r * n;
        const float high = row_max(row, n);
        const float log_sum = logf(row_exp(&k, NULL, row, n, high, 0));
        row_finish(dst + r * n, row, n, ln_splat(high), ln_splat(log_sum), 0);
    }
}

void ln_log_softmax_rows_f32(float *dst, const float *src, size_t rows, size_t n) {
    if (n < 4) {
        short_rows(log_rows, dst, src, rows, n, 1.0f, NULL, 0);
    } else {
        log_rows(dst, src, rows, n, 1.0f, NULL, 0);
    }
}

/* ---- columns ---- */

/* A strip of up to STRIP_VECTORS whole vectors of columns, or of one vector with 1 to 3 columns (`lanes`). */
struct strip {
    size_t vectors;
    ln_v32f high[STRIP_VECTORS], sum[STRIP_VECTORS];
};

LN_INLINE ln_v32f strip_load(const float *p, size_t lanes) {
    return lanes == 4 ? ln_load(p) : ln_load_part(p, lanes);
}

LN_INLINE void strip_store(float *p, ln_v32f v, size_t lanes) {
    if (lanes == 4) {
        ln_store(p, v);
    } else {
        ln_store_part(p, v, lanes);
    }
}

static LN_NOINLINE void strip_max(struct strip *strip, const float *src, size_t n, size_t stride,
                                  size_t lanes) {
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->high[v] = ln_splat(-INFINITY);
    }
    for (size_t i = 0; i < n; i++) {
        LN_LOOP_ROLLED
        for (size_t v = 0; v < strip->vectors; v++) {
            strip->high[v] = ln_clamp_low(strip_load(src + i * stride + 4 * v, lanes), strip->high[v]);
        }
    }
}

/* The sum is of blocks of 64 rows, each summed for itself. */
LN_INLINE void exp_lanes(struct strip *strip, float *dst, const float *src, size_t n, size_t stride,
                         size_t lanes) {
    const struct ln_exp_constants k = ln_exp_constants();
    ln_v32f block[STRIP_VECTORS];
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->sum[v] = ln_zero();
        block[v] = ln_zero();
    }
    for (size_t i = 0; i < n; i++) {
        LN_LOOP_ROLLED
        for (size_t v = 0; v < strip->vectors; v++) {
            const size_t at = i * stride + 4 * v;
            const ln_v32f x = ln_sub(strip_load(src + at, lanes), strip->high[v]);
            const ln_v32f e = ln_exp_nonpositive(&k, x);
            block[v] = ln_add(block[v], e);
            if (dst != NULL) {
                strip_store(dst + at, e, lanes);
            }
        }
        for (size_t v = 0; (i % BLOCK_ROWS == BLOCK_ROWS - 1 || i == n - 1) && v < strip->vectors; v++) {
            strip->sum[v] = ln_add(strip->sum[v], block[v]);
            block[v] = ln_zero();
        }
    }
}

/* Whole vectors have a function of their own, which takes no tests; a null dst means that the sums are enough. */
static LN_NOINLINE void exp_whole(struct strip *strip, float *dst, const float *src, size_t n,
                                  size_t stride) {
    exp_lanes(strip, dst, src, n, stride, 4);
}

static LN_NOINLINE void strip_exp(struct strip *strip, float *dst, const float *src, size_t n, size_t stride,
                                  size_t lanes) {
    if (lanes == 4) {
        exp_whole(strip, dst, src, n, stride);
    } else {
        exp_lanes(strip, dst, src, n, stride, lanes);
    }
}

static void softmax_strip(struct strip *strip, float *dst, const float *src, size_t n, size_t stride,
                          size_t lanes) {
    strip_max(strip, src, n, stride, lanes);
    strip_exp(strip, dst, src, n, stride, lanes);
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->sum[v] = ln_div(ln_splat(1.0f), strip->sum[v]);
    }
    for (size_t i = 0; i < n; i++) {
        LN_LOOP_ROLLED
        for (size_t v = 0; v < strip->vectors; v++) {
            float *p = dst + i * stride + 4 * v;
            strip_store(p, ln_mul(strip_load(p, lanes), strip->sum[v]), lanes);
        }
    }
}

static void log_softmax_strip(struct strip *strip, float *dst, const float *src, size_t n, size_t stride,
                              size_t lanes) {
    strip_max(strip, src, n, stride, lanes);
    strip_exp(strip, NULL, src, n, stride, lanes);
    const struct ln_log_constants l = ln_log_constants();
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->sum[v] = ln_log(&l, strip->sum[v]);
    }
    for (size_t i = 0; i < n; i++) {
        LN_LOOP_ROLLED
        for (size_t v = 0; v < strip->vectors; v++) {
            const size_t at = i * stride + 4 * v;
            const ln_v32f x = ln_sub(strip_load(src + at, lanes), strip->high[v]);
            strip_store(dst + at, ln_sub(x, strip->sum[v]), lanes);
        }
    }
}

typedef void strip_fn(struct strip *strip, float *dst, const float *src, size_t n, size_t stride,
                      size_t lanes);

static void for_strips(strip_fn *run, float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    struct strip strip;
    for (size_t c = 0; c < columns; c += 4 * strip.vectors) {
        const size_t whole = (columns - c) / 4;
        strip.vectors = whole == 0 ? 1 : whole < STRIP_VECTORS ? whole : STRIP_VECTORS;
        run(&strip, dst + c, src + c, n, stride, whole == 0 ? columns - c : 4);
    }
}

/* The whole vectors among the columns; how many columns they hold. */
static LN_NOINLINE size_t softmax_few(float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    const struct ln_exp_constants k = ln_exp_constants();
    size_t c = 0;
    for (; c + 4 <= columns; c += 4) {
        ln_v32f high = ln_load(src + c);
        for (size_t i = 1; i < n; i++) {
            high = ln_clamp_low(ln_load(src + i * stride + c), high);
        }
        ln_v32f sum = ln_zero();
        for (size_t i = 0; i < n; i++) {
            const ln_v32f e = ln_exp_nonpositive(&k, ln_sub(ln_load(src + i * stride + c), high));
            sum = ln_add(sum, e);
            ln_store(dst + i * stride + c, e);
        }
        const ln_v32f factor = ln_div(k.one, sum);
        for (size_t i = 0; i < n; i++) {
            ln_store(dst + i * stride + c, ln_mul(ln_load(dst + i * stride + c), factor));
        }
    }
    return c;
}

void ln_softmax_columns_f32(float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    if (n >= 1 && n <= FEW_ROWS) {
        const size_t done = softmax_few(dst, src, n, columns, stride);
        dst += done;
        src += done;
        columns -= done;
    }
    for_strips(softmax_strip, dst, src, n, columns, stride);
}

void ln_log_softmax_columns_f32(float *dst, const float *src, size_t n, size_t columns, size_t stride) {
    for_strips(log_softmax_strip, dst, src, n, columns, stride);
}
