/*
 * Depthwise kernels of 3x3 with strides 1 and 2, for the shapes that strips serve (strip_f32.h).
 *
 * A strip, four output columns wide, rolls down the plane. A row of input is loaded once; its products with each row of
 * the kernel are added to the sums of the output rows it belongs to, which are carried from row to row:
 *
 *     input row t:   carried two + row 2 of kernel  ->  output row t - 2, finished
 *                    carried one + row 1 of kernel  ->  carried two
 *                                  row 0 of kernel  ->  carried one
 *
 * So every output is ((row 0 + row 1) + row 2) + bias wherever tasks are cut. With stride 2 only one sum is carried. The
 * nine weights stay in registers for the whole plane. Nothing is copied.
 */
#include "depthwise_f32.h"

/* The taps of a kernel row; padding is zero. */
LN_INLINE void load_taps(const size_t stride, const int side, const float *row, ln_v32f taps[3]) {
    ln_strip_taps(3, stride, side, ln_zero(), row, taps);
}

LN_INLINE ln_v32f dot(const ln_v32f taps[3], const ln_v32f *w) {
    return ln_madd(ln_madd(ln_mul(taps[0], w[0]), taps[1], w[1]), taps[2], w[2]);
}

/* Where a strip writes next, and what it adds if `adds`; the addend goes along. */
typedef struct strip_out {
    float *c;
    const float *addend;
    size_t step, addend_step;
    bool adds;
} strip_out;

/* bounds: 0 for no clamp, 1 for the low one alone, 2 for both. Maxima take turns with products, so they count. */
LN_INLINE void strip_store(const int bounds, const ln_depthwise_job *job, strip_out *out, ln_v32f sum) {
    sum = ln_add(sum, job->bias);
    if (out->adds) {
        sum = ln_add(sum, ln_load(out->addend));
    }
    sum = bounds > 0 ? ln_clamp_low(sum, job->low) : sum;
    ln_store(out->c, bounds > 1 ? ln_clamp_high(sum, job->high) : sum);
    out->c += out->step;
    out->addend += out->addend_step;
}

/* Four output columns from `col`, all rows of the job. */
LN_INLINE void strip(const size_t stride_row, const size_t stride_col, const int bounds, const int side,
                     const ln_depthwise_job *job, const ln_v32f *w, size_t col) {
    const ln_strip_shape *s = &job->shape;
    const size_t width = s->width, at = job->row_begin * s->out_width + col;
    strip_out out = {job->out.c + at, job->out.c, s->out_width, 0, job->out.residual != NULL};
    if (out.adds) {
        out.addend = job->out.residual + at;
        out.addend_step = s->out_width;
    }
    const ptrdiff_t row = (ptrdiff_t)(job->row_begin * stride_row) - s->pad_row;
    const float *x = job->x + row * (ptrdiff_t)width + (ptrdiff_t)(col * stride_col) - s->pad_col;
    const size_t rows = job->row_end - job->row_begin;
    /* Groups of input rows that lie on the plane in full; the last output row may want one row more. */
    const size_t left = s->height - (size_t)(row + (stride_row == 1 ? 2 : 1));
    const size_t whole = stride_row == 1 ? left : left / 2;
    ln_v32f taps[3], one = ln_zero(), two = ln_zero();
    if (row >= 0) {
        load_taps(stride_col, side, x, taps);
        two = dot(taps, w);
    }
    if (stride_row == 1) {
        load_taps(stride_col, side, x += width, taps);
        two = ln_add(two, dot(taps, w + 3));
        one = dot(taps, w);
    }
    LN_LOOP_ROLLED
    for (size_t n = rows < whole ? rows : whole; n > 0; n--) {
        load_taps(stride_col, side, x += width, taps);
        if (stride_row == 2) {
            two = ln_add(two, dot(taps, w + 3));
            load_taps(stride_col, side, x += width, taps);
        }
        strip_store(bounds, job, &out, ln_add(two, dot(taps, w + 6)));
        if (stride_row == 2) {
            two = dot(taps, w);
        } else {
            two = ln_add(one, dot(taps, w + 3));
            one = dot(taps, w);
        }
    }
    if (rows > whole) {
        if (stride_row == 2) {
            load_taps(stride_col, side, x + width, taps);
            two = ln_add(two, dot(taps, w + 3));
        }
        strip_store(bounds, job, &out, two);
    }
}

LN_INLINE void plane(const size_t stride_row, const size_t stride_col, const int bounds,
                     const ln_depthwise_job *job) {
    const ln_strip_shape *s = &job->shape;
    ln_v32f w[9];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 9; i++) {
        w[i] = ln_load_splat(job->w + i);
    }
    for (size_t col = 0; col < s->out_width; col += LN_STRIP) {
        const size_t begin = ln_strip_begin(s, col);
        const int side = ln_strip_side(s, begin);
        if (side == LN_STRIP_INSIDE) {
            strip(stride_row, stride_col, bounds, LN_STRIP_INSIDE, job, w, begin);
        } else if (side == LN_STRIP_LEFT) {
            strip(stride_row, stride_col, bounds, LN_STRIP_LEFT, job, w, begin);
        } else {
            strip(stride_row, stride_col, bounds, LN_STRIP_RIGHT, job, w, begin);
        }
    }
}

#define PLANE_FUNCTION(name, stride_row, stride_col, bounds)                                                 \
    static LN_NOINLINE void name(const ln_depthwise_job *job) {                                              \
        plane(stride_row, stride_col, bounds, job);                                                          \
    }

PLANE_FUNCTION(plane_s1, 1, 1, 0)
PLANE_FUNCTION(plane_s1_low, 1, 1, 1)
PLANE_FUNCTION(plane_s1_both, 1, 1, 2)
PLANE_FUNCTION(plane_s2, 2, 2, 2)
PLANE_FUNCTION(plane_s21, 2, 1, 2)

ln_depthwise_3x3_fn *ln_depthwise_3x3_for(const ln_strip_shape *s, bool low, bool high) {
    if (!ln_strip_fits(s)) {
        return NULL;
    }
    if (s->stride_row == 2) {
        return s->stride_col == 2 ? plane_s2 : s->stride_col == 1 ? plane_s21 : NULL;
    }
    if (s->stride_row != 1 || s->stride_col != 1) {
        return NULL;
    }
    return high ? plane_s1_both : low ? plane_s1_low : plane_s1;
}
