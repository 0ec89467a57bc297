/*
 * What the convolution routes share. Only they include this.
 */
#ifndef LN_CONV_F32_H
#define LN_CONV_F32_H

#include "kernels.h"

/* The routes, one per file. */
extern const ln_conv_f32_route ln_conv_f32_gemm, ln_conv_f32_depthwise, ln_conv_f32_winograd;
extern const ln_conv_f32_route ln_conv_f32_winograd_line;
extern const ln_conv_f32_route ln_conv_transpose_f32_gemm;

/* Whether Winograd's form along one axis is possible and pays. */
bool ln_conv_f32_winograd_line_pays(const ln_conv_shape *shape);

/*
 * The shape as plans have it: leading axes of no effect dropped, one row made of a pointwise convolution and of a
 * column, axes prepended up to rank 2.
 */
ln_conv_shape ln_conv_f32_normalised(const ln_conv_shape *shape);

/* Axis of a plane: 0 is rows, 1 is columns. */
static inline size_t ln_conv_axis(const ln_conv_f32_plan *plan, size_t axis) {
    return plan->outer + axis;
}

/*
 * The plane of x that outer tap `tap` meets for outer output position `position`, as an offset in planes
 * from the channel's first; -1 when it lies in the padding.
 */
ptrdiff_t ln_conv_f32_plane(const ln_conv_f32_plan *plan, size_t position, size_t tap);

#endif
