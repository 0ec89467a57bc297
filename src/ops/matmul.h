/* Params of the matrix products, which rewrites fuse into. */
#ifndef LN_OPS_MATMUL_H
#define LN_OPS_MATMUL_H

#include "ops/op.h"
#include "simd/kernels.h"

/* Y = act(alpha * A * B + beta * C): Gemm, and MatMul with its batches. */
typedef struct ln_matmul_params {
    bool is_gemm;                      /* A, B and Y are matrices, C broadcasts to Y */
    bool trans_a, trans_b;             /* the last two axes are exchanged */
    bool trans_batch_a, trans_batch_b; /* the first axis goes behind the batch axes, before that */
    float alpha, beta;
    ln_activation_f32 activation;
} ln_matmul_params;

#endif
