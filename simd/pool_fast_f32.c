/*
 * Maximum and average pooling by 2x2 with stride 2 and by 3x3 with strides 1 and 2, in strips that roll down the plane.
 *
 * A row of input is combined across the window's columns once, and then with the rows above it that the same outputs
 * need. Averages divide in the store: columns and rows at the edges have divisors of their own.
 *
 * Maxima here are the one-instruction kind, which loses a NaN; every loaded vector is also added to a sum. A plane whose
 * sum is NaN is computed again by the careful kernel.
 */
#include "pool_f32.h"
#include "strip_f32.h"

#include <math.h>

enum { FIRST, INNER, LAST }; /* output rows */

typedef struct strip_job {
    ln_strip_shape shape;
    const float *src;
    float *dst;
    ln_v32f divisors[3][3]; /* by side and row */
} strip_job;

LN_INLINE ln_v32f combine(const bool average, ln_v32f a, ln_v32f b) {
    return average ? ln_add(a, b) : ln_clamp_low(a, b);
}

/* What is combined in place of elements outside the plane. */
LN_INLINE ln_v32f nothing(const bool average) {
    return average ? ln_zero() : ln_splat(-INFINITY);
}

/* A row of input, combined across the window. */
LN_INLINE ln_v32f across(const bool average, const size_t kernel, const size_t stride, const int side,
                         const float *row, ln_v32f *poison) {
    ln_v32f taps[3];
    *poison = ln_add(*poison, ln_strip_taps(kernel, stride, side, nothing(average), row, taps));
    const ln_v32f both = combine(average, taps[0], taps[1]);
    return kernel == 2 ? both : combine(average, both, taps[2]);
}

/*
 * Four output columns from `col`: `two` combines the rows above that the next output needs, `one` those that the output
 * after it needs. Returns a sum of all that was loaded.
 */
LN_INLINE ln_v32f strip(const bool average, const size_t kernel, const size_t stride, const int side,
                        const strip_job *job, size_t col) {
    const ln_strip_shape *s = &job->shape;
    const size_t width = s->width, out_width = s->out_width, rows = s->out_height, pad = (size_t)s->pad_row;
    const float *x = job->src + (ptrdiff_t)(col * stride) - s->pad_col;
    const ln_v32f *divisors = job->divisors[side], *divisor = divisors + FIRST;
    float *c = job->dst + col;
    ln_v32f poison = ln_zero(), two = nothing(average), one = two;
    if (kernel == 3 && pad == 0) {
        two = across(average, kernel, stride, side, x, &poison);
        x += width;
    }
    if (stride == 1) {
        one = across(average, kernel, stride, side, x, &poison);
        two = combine(average, two, one);
        x += width;
    }
    /* Outputs whose window ends on the plane; the last one may want one row more. */
    const size_t whole = (s->height + pad - (kernel - stride)) / stride;
    LN_LOOP_ROLLED
    for (size_t n = rows < whole ? rows : whole; n > 0; n--) {
        if (stride == 2) {
            const ln_v32f before = across(average, kernel, stride, side, x, &poison);
            two = kernel == 2 ? before : combine(average, two, before);
            x += width;
        }
        const ln_v32f row = across(average, kernel, stride, side, x, &poison);
        const ln_v32f all = combine(average, two, row);
        x += width;
        ln_store(c, average ? ln_div(all, *divisor) : all);
        divisor = divisors + INNER;
        c += out_width;
        two = stride == 1 ? combine(average, one, row) : row;
        one = row;
    }
    if (rows > whole) {
        if (stride == 2) {
            const ln_v32f before = across(average, kernel, stride, side, x, &poison);
            two = kernel == 2 ? before : combine(average, two, before);
        }
        ln_store(c, average ? ln_div(two, divisors[LAST]) : two);
    }
    return poison;
}

/* All strips of a plane; false when a NaN was met. */
LN_INLINE bool plane(const bool average, const size_t kernel, const size_t stride, const strip_job *job) {
    const ln_strip_shape *s = &job->shape;
    ln_v32f poison = ln_zero();
    for (size_t col = 0; col < s->out_width; col += LN_STRIP) {
        const size_t begin = ln_strip_begin(s, col);
        const int side = ln_strip_side(s, begin);
        if (side == LN_STRIP_INSIDE) {
            poison = ln_add(poison, strip(average, kernel, stride, LN_STRIP_INSIDE, job, begin));
        } else if (side == LN_STRIP_RIGHT) {
            poison = ln_add(poison, strip(average, kernel, stride, LN_STRIP_RIGHT, job, begin));
        } else if (kernel == 3) {
            poison = ln_add(poison, strip(average, kernel, stride, LN_STRIP_LEFT, job, begin));
        }
    }
    return average || !wasm_v128_any_true(wasm_f32x4_ne(poison, poison));
}

typedef bool plane_fn(const strip_job *job);

#define PLANE_FUNCTION(name, average, kernel, stride)                                                        \
    static LN_NOINLINE bool name(const strip_job *job) {                                                     \
        return plane(average, kernel, stride, job);                                                          \
    }

PLANE_FUNCTION(max_2x2s2, false, 2, 2)
PLANE_FUNCTION(max_3x3s1, false, 3, 1)
PLANE_FUNCTION(max_3x3s2, false, 3, 2)
PLANE_FUNCTION(average_2x2s2, true, 2, 2)
PLANE_FUNCTION(average_3x3s1, true, 3, 1)
PLANE_FUNCTION(average_3x3s2, true, 3, 2)

static const struct {
    size_t kernel, stride;
    plane_fn *max, *average;
} planes[] = {
    {2, 2, max_2x2s2, average_2x2s2},
    {3, 1, max_3x3s1, average_3x3s1},
    {3, 2, max_3x3s2, average_3x3s2},
};

/* Only the first row of columns, and the last, may have fewer taps than the window. */
static void set_divisors(strip_job *job, const ln_pool_counts *counts) {
    const float kernel = (float)job->shape.kernel;
    const float rows[3] = {
        [FIRST] = (float)counts->first_row, [INNER] = kernel, [LAST] = (float)counts->last_row};
    for (int row = 0; row < 3; row++) {
        const float inner = rows[row] * kernel, first = rows[row] * (float)counts->first_col;
        const float last = rows[row] * (float)counts->last_col;
        job->divisors[LN_STRIP_INSIDE][row] = ln_splat(inner);
        job->divisors[LN_STRIP_LEFT][row] = wasm_f32x4_make(first, inner, inner, inner);
        job->divisors[LN_STRIP_RIGHT][row] = wasm_f32x4_make(inner, inner, inner, last);
    }
}

bool ln_pool_fast_f32(float *dst, const float *src, const struct ln_pooling *p,
                      const ln_pool_counts *counts) {
    const bool flat = p->in[0] == 1 && p->out[0] == 1 && p->kernel[0] == 1;
    const bool square = p->kernel[1] == p->kernel[2] && p->stride[1] == p->stride[2];
    if (!flat || !square || p->dilation[1] != 1 || p->dilation[2] != 1) {
        return false;
    }
    strip_job job = {.src = src, .dst = dst};
    job.shape =
        (ln_strip_shape){(size_t)p->in[1],     (size_t)p->in[2],           (size_t)p->out[1],
                         (size_t)p->out[2],    (size_t)p->kernel[1],       (size_t)p->stride[1],
                         (size_t)p->stride[2], (ptrdiff_t)p->pad_begin[1], (ptrdiff_t)p->pad_begin[2]};
    if (!ln_strip_fits(&job.shape)) {
        return false;
    }
    for (size_t i = 0; i < sizeof planes / sizeof planes[0]; i++) {
        if (job.shape.kernel == planes[i].kernel && job.shape.stride_row == planes[i].stride) {
            if (counts != NULL) {
                set_divisors(&job, counts);
            }
            return (counts != NULL ? planes[i].average : planes[i].max)(&job);
        }
    }
    return false;
}
