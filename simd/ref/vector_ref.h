/*
 * Scalar twins of the kernels in vector.h: the definitions in a few loops, in double precision. They are slow and
 * plain on purpose; tests hold the kernels against them.
 */
#ifndef LN_VECTOR_REF_H
#define LN_VECTOR_REF_H

#include "../vector.h"

/* One element of ln_unary_f32, ln_binary_f32 (and _f64) and ln_compare_f32, unrounded. */
double ln_ref_unary(enum ln_unary op, double x, double alpha, double beta);
double ln_ref_binary(enum ln_binary op, double x, double y);
int ln_ref_compare(enum ln_compare op, double x, double y);

/* n elements, `stride` floats apart, reduced; which one is the largest or smallest. */
double ln_ref_reduce(enum ln_reduce op, const float *src, size_t n, size_t stride);
int64_t ln_ref_arg(const float *src, size_t n, size_t stride, enum ln_arg which, int last);

/* Softmax of n elements `stride` apart; log_form writes its logarithm. mask (stride 1) may be null. */
void ln_ref_softmax(double *dst, const float *src, size_t n, size_t stride, double scale, const float *mask,
                    int log_form);

/* One row of layer norm, or with rms of RMS norm; gamma and beta may be null. */
void ln_ref_norm(double *dst, const float *src, size_t n, const float *gamma, const float *beta,
                 double epsilon, int rms);

/* Any permutation, element by element. */
void ln_ref_transpose(void *dst, const void *src, const size_t *dims, const int *perm, int rank,
                      size_t element_bytes);

enum ln_ref_pool { LN_REF_POOL_MAX, LN_REF_POOL_AVERAGE, LN_REF_POOL_AVERAGE_PADDED, LN_REF_POOL_LP };
/* indices may be null. */
void ln_ref_pool_plane(double *dst, int64_t *indices, const float *src, const struct ln_pooling *pooling,
                       enum ln_ref_pool which, double p, int64_t base, int column_major);

/* Bilinear, half_pixel, edges clamped; any sizes. */
void ln_ref_resize_linear(double *dst, const float *src, size_t in_height, size_t in_width, size_t out_height,
                          size_t out_width);

/* One element each way. */
float ln_ref_f16_to_f32(uint16_t half);
uint16_t ln_ref_f32_to_f16(float x);
uint16_t ln_ref_f32_to_bf16(float x);
int32_t ln_ref_quantize(float x, float scale, int32_t zero_point, int32_t low, int32_t high);

#endif
