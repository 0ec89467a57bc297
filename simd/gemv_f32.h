/*
 * Products of few rows with a B whose columns are contiguous (B transposed, not packed). Only gemm_f32.c
 * includes this.
 */
#ifndef LN_GEMV_F32_H
#define LN_GEMV_F32_H

#include "tile_f32.h"

/* Up to this many rows a dot product per element is faster than packing B. */
#define LN_GEMV_DOT_ROWS ((size_t)3)

/* All rows of C, columns col .. col + columns, for b_row_stride = a_col_stride = 1. */
void ln_gemv_f32_dot(const ln_gemm_f32_args *args, const ln_tile_f32_out *out, size_t col, size_t columns);

#endif
