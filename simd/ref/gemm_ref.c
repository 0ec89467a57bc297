/*
 * The scalar twin of gemm_f32.c: three loops, sums in double precision.
 */
#include "kernels_ref.h"

#include <math.h>

double ln_ref_activate(ln_activation_f32 activation, double x) {
    if (!activation.present || isnan(x)) {
        return x;
    }
    const double alpha = (double)activation.alpha, beta = (double)activation.beta;
    switch (activation.kind) {
    case LN_UNARY_RELU:
        return x < 0.0 ? 0.0 : x;
    case LN_UNARY_CLIP:
        return fmin(fmax(x, alpha), beta);
    case LN_UNARY_LEAKY_RELU:
        return x < 0.0 ? alpha * x : x;
    case LN_UNARY_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case LN_UNARY_SILU:
        return x / (1.0 + exp(-x));
    case LN_UNARY_TANH:
        return tanh(x);
    case LN_UNARY_GELU:
        return x / 2.0 * (1.0 + erf(x / sqrt(2.0)));
    case LN_UNARY_HARDSWISH:
        return x * fmin(fmax(x / 6.0 + 0.5, 0.0), 1.0);
    default:
        return (double)NAN;
    }
}

void ln_ref_gemm_f32(const ln_gemm_f32_args *args) {
    for (size_t i = 0; i < args->m; i++) {
        for (size_t j = 0; j < args->n; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < args->k; l++) {
                sum += (double)args->a[i * args->a_row_stride + l * args->a_col_stride] *
                       (double)args->b[l * args->b_row_stride + j * args->b_col_stride];
            }
            sum *= (double)args->alpha;
            if (args->bias != NULL) {
                sum += (double)args->beta *
                       (double)args->bias[i * args->bias_row_stride + j * args->bias_col_stride];
            }
            const double residual =
                args->residual == NULL ? 0.0 : (double)args->residual[i * args->residual_row_stride + j];
            sum = args->residual_last ? ln_ref_activate(args->activation, sum) + residual
                                      : ln_ref_activate(args->activation, sum + residual);
            args->c[i * args->c_row_stride + j] = (float)sum;
        }
    }
}

void ln_ref_gemm_i8(int32_t *c, const uint8_t *a, int32_t a_zero, bool a_signed, const uint8_t *b,
                    size_t b_row_stride, size_t b_col_stride, bool b_signed, size_t m, size_t n, size_t k) {
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            int64_t sum = 0;
            for (size_t l = 0; l < k; l++) {
                const uint8_t x = a[i * k + l];
                const uint8_t y = b[l * b_row_stride + j * b_col_stride];
                sum += ((a_signed ? (int8_t)x : x) - a_zero) * (b_signed ? (int8_t)y : y);
            }
            c[i * n + j] = (int32_t)sum;
        }
    }
}
