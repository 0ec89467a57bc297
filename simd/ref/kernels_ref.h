/*
 * Scalar twins of the kernels in kernels.h: the definition in a few loops, summed in double precision. They
 * take the same structs, with weights as they lie in memory instead of packed. Tests hold the kernels
 * against them.
 */
#ifndef LN_KERNELS_REF_H
#define LN_KERNELS_REF_H

#include "../kernels.h"

/* Activation of one element; covers the kinds the tests use, others give NaN. */
double ln_ref_activate(ln_activation_f32 activation, double x);

/* args->b is not packed. */
void ln_ref_gemm_f32(const ln_gemm_f32_args *args);

/* args->w_packed is the weight as the operator defines it. */
void ln_ref_conv_f32(const ln_conv_shape *shape, const ln_conv_f32_args *args);
void ln_ref_conv_transpose_f32(const ln_conv_shape *shape, const ln_conv_f32_args *args);

#endif
