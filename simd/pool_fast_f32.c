/*
 * Max pooling by 2x2 with stride 2 and by 3x3 with strides 1 and 2.
 *
 * The rows of the window are combined first, whole vectors at a time; a row outside the image is replaced by one
 * inside, as a maximum does not mind a repeated element. Then neighbouring columns: with stride 2 the vectors are
 * parted into even and odd elements, and the odd ones before the current eight are carried along. Windows that reach
 * over the left or right edge take the scalar path, one or two an edge; the last vector overlaps the one before.
 *
 * Maxima here are the one-instruction kind, which loses a NaN; every loaded vector is also added to a sum. A row
 * whose sum is NaN is computed again by the careful kernel.
 */
#include "pool_f32.h"

#include <math.h>

/* The input rows of a window. */
struct window {
    const float *row[3];
};

/* The vertical maximum of four columns from 2 or 3 rows (r0 and so on); adds them to `poison`. */
#define COLUMNS_2(best, at)                                                                                  \
    do {                                                                                                     \
        const ln_v32f x0 = ln_load(r0 + (at)), x1 = ln_load(r1 + (at));                                      \
        poison = ln_add(poison, ln_add(x0, x1));                                                             \
        best = ln_clamp_low(x0, x1);                                                                         \
    } while (0)

#define COLUMNS_3(best, at)                                                                                  \
    do {                                                                                                     \
        const ln_v32f x0 = ln_load(r0 + (at)), x1 = ln_load(r1 + (at)), x2 = ln_load(r2 + (at));             \
        poison = ln_add(poison, ln_add(ln_add(x0, x1), x2));                                                 \
        best = ln_clamp_low(ln_clamp_low(x0, x1), x2);                                                       \
    } while (0)

#define EVEN(a, b) wasm_i32x4_shuffle(a, b, 0, 2, 4, 6)
#define ODD(a, b)  wasm_i32x4_shuffle(a, b, 1, 3, 5, 7)

/* One output by the definition, a NaN included. */
static float one_output(const struct window *window, const struct ln_pooling *pooling, int64_t ow) {
    const struct ln_taps taps = ln_pool_taps(pooling, 2, ow);
    float best = -INFINITY;
    for (int i = 0; i < pooling->kernel[1]; i++) {
        for (int64_t k = taps.first; k < taps.end; k++) {
            const float x = window->row[i][taps.start + k];
            best = x > best || x != x ? x : best;
            if (best != best) {
                return best;
            }
        }
    }
    return best;
}

/* The rows of the window of output row oh, in plane od. False when none lies on the image. */
static int window_open(struct window *window, const float *src, const struct ln_pooling *pooling, int64_t od,
                       int64_t oh) {
    const struct ln_taps taps = ln_pool_taps(pooling, 1, oh);
    const int64_t plane = od * pooling->in[1];
    for (int64_t i = 0; i < pooling->kernel[1]; i++) {
        int64_t k = i < taps.first ? taps.first : i;
        k = k < taps.end ? k : taps.end - 1;
        window->row[i] = src + (plane + taps.start + k) * pooling->in[2];
    }
    return taps.first < taps.end;
}

/* Outputs [low, high) of a row have their windows on the image. */
static void inside(const struct ln_pooling *pooling, int64_t *low, int64_t *high) {
    const int64_t stride = pooling->stride[2], pad = pooling->pad_begin[2];
    const int64_t room = pooling->in[2] + pad - pooling->kernel[2];
    const int shift = stride == 2; /* strides are 1 and 2 */
    *low = (pad + shift) >> shift;
    *high = room < 0 ? 0 : (room >> shift) + 1;
    *high = *high < pooling->out[2] ? *high : pooling->out[2];
    *low = *low < *high ? *low : *high;
}

/*
 * The vector part of a row: outputs [low, high), at least four; the last four overlap the ones before. Returns a sum
 * of all inputs, which is NaN when one is.
 */
typedef ln_v32f span_fn(float *dst, const struct window *window, size_t low, size_t high, size_t pad);

/* Columns 2o and 2o + 1: even and odd elements. */
static ln_v32f span_2x2s2(float *dst, const struct window *window, size_t low, size_t high, size_t pad) {
    const float *r0 = window->row[0], *r1 = window->row[1];
    ln_v32f poison = ln_zero();
    for (size_t o = low; o < high; o += 4) {
        o = o + 4 <= high ? o : high - 4;
        ln_v32f left, right;
        COLUMNS_2(left, 2 * o - pad);
        COLUMNS_2(right, 2 * o + 4 - pad);
        ln_store(dst + o, ln_clamp_low(EVEN(left, right), ODD(left, right)));
    }
    return poison;
}

/* Columns 2o, 2o + 1 and 2o + 2: the odd elements before the eight, then the even and the odd ones of the eight. */
static ln_v32f span_3x3s2(float *dst, const struct window *window, size_t low, size_t high, size_t pad) {
    const float *r0 = window->row[0], *r1 = window->row[1], *r2 = window->row[2];
    ln_v32f poison = ln_zero(), carry = ln_splat(-INFINITY), first, second;
    if (pad == 1) {
        low = 0; /* the column before the row is a carry of -inf */
    } else {
        /* Only the first lane of these four is needed; they lie on the row, as the window and the next three do. */
        COLUMNS_3(carry, 2 * low - pad);
        carry = wasm_i32x4_shuffle(carry, carry, 0, 0, 0, 0);
    }
    for (size_t o = low; o < high; o += 4) {
        if (o + 4 > high) {
            o = high - 4;
            COLUMNS_3(carry, 2 * o - pad);
            carry = wasm_i32x4_shuffle(carry, carry, 0, 0, 0, 0);
        }
        COLUMNS_3(first, 2 * o + 1 - pad);
        COLUMNS_3(second, 2 * o + 5 - pad);
        const ln_v32f even = EVEN(first, second), odd = ODD(first, second);
        ln_store(dst + o, ln_clamp_low(ln_clamp_low(wasm_i32x4_shuffle(carry, odd, 3, 4, 5, 6), even), odd));
        carry = odd;
    }
    return poison;
}

/* Columns o, o + 1 and o + 2 of the vertical maxima, from two vectors of which the second is the next first. */
static ln_v32f span_3x3s1(float *dst, const struct window *window, size_t low, size_t high, size_t pad) {
    const float *r0 = window->row[0], *r1 = window->row[1], *r2 = window->row[2];
    ln_v32f poison = ln_zero(), here, next;
    size_t o = low;
    COLUMNS_3(here, o - pad);
    for (; o + 6 <= high; o += 4) {
        COLUMNS_3(next, o + 4 - pad);
        const ln_v32f middle = wasm_i32x4_shuffle(here, next, 1, 2, 3, 4);
        const ln_v32f right = wasm_i32x4_shuffle(here, next, 2, 3, 4, 5);
        ln_store(dst + o, ln_clamp_low(ln_clamp_low(here, middle), right));
        here = next;
    }
    for (; o < high; o += 4) {
        ln_v32f middle, right;
        o = o + 4 <= high ? o : high - 4;
        COLUMNS_3(here, o - pad);
        COLUMNS_3(middle, o + 1 - pad);
        COLUMNS_3(right, o + 2 - pad);
        ln_store(dst + o, ln_clamp_low(ln_clamp_low(here, middle), right));
    }
    return poison;
}

LN_INLINE void fast_row(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                        int64_t oh, span_fn *span) {
    struct window window;
    int64_t low, high;
    inside(pooling, &low, &high);
    if (high - low < 4 || !window_open(&window, src, pooling, od, oh)) {
        ln_max_pool_row_f32(dst, src, pooling, od, oh);
        return;
    }
    const int carried =
        span == span_3x3s2 && pooling->pad_begin[2] == 1; /* that span makes output 0 itself */
    for (int64_t o = 0; o < low && !carried; o++) {
        dst[o] = one_output(&window, pooling, o);
    }
    const ln_v32f poison = span(dst, &window, (size_t)low, (size_t)high, (size_t)pooling->pad_begin[2]);
    for (int64_t o = high; o < pooling->out[2]; o++) {
        dst[o] = one_output(&window, pooling, o);
    }
    if (wasm_v128_any_true(wasm_f32x4_ne(poison, poison))) {
        ln_max_pool_row_f32(dst, src, pooling, od, oh);
    }
}

static void row_2x2s2(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                      int64_t oh) {
    fast_row(dst, src, pooling, od, oh, span_2x2s2);
}

static void row_3x3s2(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                      int64_t oh) {
    fast_row(dst, src, pooling, od, oh, span_3x3s2);
}

static void row_3x3s1(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                      int64_t oh) {
    fast_row(dst, src, pooling, od, oh, span_3x3s1);
}

static const struct {
    int64_t kernel, stride;
    ln_pool_row_fn *row;
} fast_rows[] = {{2, 2, row_2x2s2}, {3, 2, row_3x3s2}, {3, 1, row_3x3s1}};

ln_pool_row_fn *ln_max_pool_row_for(const struct ln_pooling *pooling) {
    /* Output planes must be input planes: the window on the depth axis is one element. */
    const int flat = pooling->kernel[0] == 1 && pooling->stride[0] == 1 && pooling->pad_begin[0] == 0 &&
                     pooling->out[0] <= pooling->in[0];
    for (size_t i = 0; flat && i < sizeof fast_rows / sizeof fast_rows[0]; i++) {
        const int64_t kernel = fast_rows[i].kernel, stride = fast_rows[i].stride;
        if (pooling->kernel[1] == kernel && pooling->kernel[2] == kernel && pooling->stride[1] == stride &&
            pooling->stride[2] == stride && pooling->dilation[1] == 1 && pooling->dilation[2] == 1) {
            return fast_rows[i].row;
        }
    }
    return ln_max_pool_row_f32;
}
