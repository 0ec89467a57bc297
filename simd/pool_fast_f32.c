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

/* The input rows of a window, its top left element, and the poison sum. */
struct window {
    const float *row[3];
    ln_v32f poison;
};

/* The vertical maximum of four columns. `count` is a constant of the caller. */
LN_INLINE ln_v32f column_max(struct window *window, int64_t column, int count) {
    ln_v32f best = ln_load(window->row[0] + column);
    window->poison = ln_add(window->poison, best);
    LN_LOOP_UNROLLED
    for (int i = 1; i < count; i++) {
        const ln_v32f x = ln_load(window->row[i] + column);
        window->poison = ln_add(window->poison, x);
        best = ln_clamp_low(x, best);
    }
    return best;
}

#define EVEN(a, b) wasm_i32x4_shuffle(a, b, 0, 2, 4, 6)
#define ODD(a, b)  wasm_i32x4_shuffle(a, b, 1, 3, 5, 7)

/* Four outputs of a 2x2 window with stride 2 from eight columns. */
LN_INLINE ln_v32f four_2x2s2(struct window *window, int64_t column) {
    const ln_v32f low = column_max(window, column, 2), high = column_max(window, column + 4, 2);
    return ln_clamp_low(EVEN(low, high), ODD(low, high));
}

/* Four outputs of a 3x3 window with stride 2: columns 2i, 2i + 1, 2i + 2. `carry` has column 0 in its last lane. */
LN_INLINE ln_v32f four_3x3s2(struct window *window, int64_t column, ln_v32f *carry) {
    const ln_v32f low = column_max(window, column + 1, 3), high = column_max(window, column + 5, 3);
    const ln_v32f middle = EVEN(low, high), right = ODD(low, high);
    const ln_v32f left = wasm_i32x4_shuffle(*carry, right, 3, 4, 5, 6);
    *carry = right;
    return ln_clamp_low(ln_clamp_low(left, middle), right);
}

LN_INLINE ln_v32f four_3x3s1(struct window *window, int64_t column) {
    const ln_v32f left = column_max(window, column, 3), middle = column_max(window, column + 1, 3);
    return ln_clamp_low(ln_clamp_low(left, middle), column_max(window, column + 2, 3));
}

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
    window->poison = ln_zero();
    return taps.first < taps.end;
}

/* Outputs [low, high) of a row have their windows on the image. */
static void inside(const struct ln_pooling *pooling, int64_t *low, int64_t *high) {
    const int64_t stride = pooling->stride[2], pad = pooling->pad_begin[2];
    const int64_t room = pooling->in[2] + pad - pooling->kernel[2];
    *low = (pad + stride - 1) / stride;
    *high = room < 0 ? 0 : room / stride + 1;
    *high = *high < pooling->out[2] ? *high : pooling->out[2];
    *low = *low < *high ? *low : *high;
}

/* The vector part of a row: outputs [low, high), at least four. */
typedef void span_fn(float *dst, struct window *window, int64_t low, int64_t high, int64_t pad);

static void span_2x2s2(float *dst, struct window *window, int64_t low, int64_t high, int64_t pad) {
    int64_t o = low;
    for (; o + 4 <= high; o += 4) {
        ln_store(dst + o, four_2x2s2(window, 2 * o - pad));
    }
    if (o < high) {
        ln_store(dst + high - 4, four_2x2s2(window, 2 * (high - 4) - pad));
    }
}

/* The vertical maximum of one column, in all lanes. */
static ln_v32f carry_of(struct window *window, int64_t column) {
    ln_v32f best = ln_load_splat(window->row[0] + column);
    window->poison = ln_add(window->poison, best);
    for (int i = 1; i < 3; i++) {
        const ln_v32f x = ln_load_splat(window->row[i] + column);
        window->poison = ln_add(window->poison, x);
        best = ln_clamp_low(x, best);
    }
    return best;
}

static void span_3x3s2(float *dst, struct window *window, int64_t low, int64_t high, int64_t pad) {
    ln_v32f carry = carry_of(window, 2 * low - pad);
    int64_t o = low;
    for (; o + 4 <= high; o += 4) {
        ln_store(dst + o, four_3x3s2(window, 2 * o - pad, &carry));
    }
    if (o < high) {
        carry = carry_of(window, 2 * (high - 4) - pad);
        ln_store(dst + high - 4, four_3x3s2(window, 2 * (high - 4) - pad, &carry));
    }
}

static void span_3x3s1(float *dst, struct window *window, int64_t low, int64_t high, int64_t pad) {
    int64_t o = low;
    for (; o + 4 <= high; o += 4) {
        ln_store(dst + o, four_3x3s1(window, o - pad));
    }
    if (o < high) {
        ln_store(dst + high - 4, four_3x3s1(window, high - 4 - pad));
    }
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
    for (int64_t o = 0; o < low; o++) {
        dst[o] = one_output(&window, pooling, o);
    }
    span(dst, &window, low, high, pooling->pad_begin[2]);
    for (int64_t o = high; o < pooling->out[2]; o++) {
        dst[o] = one_output(&window, pooling, o);
    }
    if (wasm_v128_any_true(wasm_f32x4_ne(window.poison, window.poison))) {
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
