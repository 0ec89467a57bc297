/*
 * What the two forms of depthwise convolution share.
 */
#ifndef LN_DEPTHWISE_F32_H
#define LN_DEPTHWISE_F32_H

#include "conv_window_f32.h"
#include "strip_f32.h"
#include "tile_f32.h"

/* One channel of one task. What every store needs lies ready as vectors: loads of them need no register of their own. */
typedef struct ln_depthwise_job {
    ln_v32f bias, low, high; /* the last two are the clamp */
    const float *x, *w;
    ln_tile_f32_out out;       /* c is the output plane as one row of pixels */
    size_t row_begin, row_end; /* output rows */
    ln_strip_shape shape;
} ln_depthwise_job;

/* Clamps four sums and stores them; `addend` comes before if there is one. */
LN_INLINE void ln_depthwise_store(const ln_depthwise_job *job, float *c, ln_v32f sum, const float *addend) {
    if (addend != NULL) {
        sum = ln_add(sum, ln_load(addend));
    }
    ln_store(c, ln_clamp_high(ln_clamp_low(sum, job->low), job->high));
}

/* All columns of the job's rows, for a kernel of 3x3. */
typedef void ln_depthwise_3x3_fn(const ln_depthwise_job *job);

/* The function for a shape, or NULL when there is none. It may leave out a clamp that is said not to bound. */
ln_depthwise_3x3_fn *ln_depthwise_3x3_for(const ln_strip_shape *shape, bool low, bool high);

#endif
