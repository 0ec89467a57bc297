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

/* C[i][j] = sum over l of (A[i][l] - a_zero) * B[l][j]; the rows of A and C are contiguous, bytes are int8 or uint8. */
void ln_ref_gemm_i8(int32_t *c, const uint8_t *a, int32_t a_zero, bool a_signed, const uint8_t *b,
                    size_t b_row_stride, size_t b_col_stride, bool b_signed, size_t m, size_t n, size_t k);

/* args->w_packed is the weight as the operator defines it. */
void ln_ref_conv_f32(const ln_conv_shape *shape, const ln_conv_f32_args *args);
void ln_ref_conv_transpose_f32(const ln_conv_shape *shape, const ln_conv_f32_args *args);

#endif
