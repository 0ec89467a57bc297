/*
 * What the two forms of depthwise convolution share, and average pooling, which is one with equal weights.
 */
#ifndef LN_DEPTHWISE_F32_H
#define LN_DEPTHWISE_F32_H

#include "conv_window_f32.h"
#include "tile_f32.h"

/* One channel of one task. */
typedef struct ln_depthwise_job {
    const float *x, *w;
    float bias, limits[2];
    ln_tile_f32_out out; /* c is the output plane as one row of pixels */
    size_t height, width, out_height, out_width;
    ptrdiff_t pad_row, pad_col;
    size_t row_begin, row_end; /* output rows */
} ln_depthwise_job;

/* Finishes four sums. `limits` are the low and high clamp; a residual is added first if there is one. */
LN_INLINE void ln_depthwise_store(float *c, ln_v32f sum, const float *residual, const float *limits) {
    if (residual != NULL) {
        sum = ln_add(sum, ln_load(residual));
    }
    ln_store(c, ln_clamp_high(ln_clamp_low(sum, ln_load_splat(limits)), ln_load_splat(limits + 1)));
}

typedef struct ln_depthwise_strip ln_depthwise_strip;

/* What the choice of strips depends on; there is no dilation. */
typedef struct ln_depthwise_window {
    size_t kernel_y, kernel_x, stride_y, stride_x, in_width, out_width;
} ln_depthwise_window;

/* The strips for a window, or NULL when none fit. Planes narrower than four columns have none. */
const ln_depthwise_strip *ln_depthwise_strip_for(const ln_depthwise_window *window);
/* All columns of the job's rows. */
void ln_depthwise_run_strips(const ln_depthwise_strip *strip, const ln_depthwise_job *job);

#endif
