/*
 * The input as convolutions read it: for a region of output pixels, the window of the input they touch,
 * copied with its padding into scratch, or used where it lies when it needs neither padding nor sorting.
 *
 * With a stride along the row, columns are sorted into as many phases, so that the columns one tap meets for
 * neighbouring pixels are neighbours too. At stride 2:
 *
 *     a row of the input   0 1 2 3 4 5 6 7 8 9
 *     a row of the copy    0 2 4 6 8 | 1 3 5 7 9
 *
 * Only the convolution kernels include this.
 */
#ifndef LN_CONV_WINDOW_F32_H
#define LN_CONV_WINDOW_F32_H

#include "conv_f32.h"

/* The input as a task sees it for one pass: planes of rows of phases, each `pitch` long. */
typedef struct ln_conv_view {
    const float *base;
    size_t plane_stride, row_stride, phase_stride;
    size_t row_advance; /* rows from one output row to the next */
} ln_conv_view;

/* The output pixels of a task. */
typedef struct ln_conv_region {
    size_t position; /* over the outer dimensions */
    size_t row, rows, col, cols;
} ln_conv_region;

/* The window of an input plane that a region touches. */
typedef struct ln_conv_window {
    ptrdiff_t row, col; /* of the first element, may lie in the padding */
    size_t rows, row_step;
    size_t phases, phase_cols, col_step;
} ln_conv_window;

ln_conv_window ln_conv_window_of(const ln_conv_f32_plan *plan, const ln_conv_region *region);

/* Floats that the copy of one plane takes; SIZE_MAX when they do not fit. */
size_t ln_conv_window_elems(const ln_conv_window *window);

/*
 * The window of `depth` planes from depth_begin, copied unless it can stay in place. x is the first channel
 * of the group; depth counts channels times outer taps.
 */
ln_conv_view ln_conv_view_of(const ln_conv_f32_plan *plan, const ln_conv_region *region, const float *x,
                             size_t depth_begin, size_t depth, float *copy);

/*
 * Copies what lies inside a plane of height x width of its window; the rest of dst, which is padding, keeps
 * its zeros. NULL is a plane of padding.
 */
void ln_conv_copy_window(float *dst, const float *plane, const ln_conv_window *window, size_t height,
                         size_t width);

/* Where each tap of a plane lies relative to its pixel. */
void ln_conv_tap_offsets(const ln_conv_f32_plan *plan, const ln_conv_view *view, size_t *offsets);

#endif
