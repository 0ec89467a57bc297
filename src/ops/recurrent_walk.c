/* The walk of recurrent nets through time, one direction at a time: the products with the recurrent weights, and the cells of
 * recurrent_cells.h for both types of the computation.
 *
 * Part 0 of the weights multiplies the state at once: all gates, but for GRU z and r. GRU's h is parts 1, which adds into the third
 * gate, and 2, which adds into rows of `hidden`.
 */
#include "ops/recurrent.h"

#include <string.h>

int64_t ln_recurrent_part_columns(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes,
                                  int part) {
    const bool split = params->cell == LN_CELL_GRU;
    return part == 0 ? (split ? 2 * sizes->hidden : sizes->columns) : sizes->hidden;
}

ln_gemm_f32_args ln_recurrent_product(int64_t m, int64_t n, int64_t k, const float *b) {
    return (ln_gemm_f32_args){.m = (size_t)m,
                              .n = (size_t)n,
                              .k = (size_t)k,
                              .a_row_stride = (size_t)k,
                              .a_col_stride = 1,
                              .b = b,
                              .b_is_packed = true,
                              .alpha = 1,
                              .beta = 1};
}

typedef struct weights_f32 {
    const float *packed[2]; /* first part, GRU's h */
    float *product;         /* [batch][columns] */
    void *scratch;          /* of the GEMM */
} weights_f32;

typedef struct weights_f64 {
    const double *r; /* [columns][hidden] */
} weights_f64;

static void run_gemm(const ln_gemm_f32_args *args, void *scratch) {
    const size_t tasks = ln_gemm_f32.task_count(args);
    for (size_t i = 0; i < tasks; ++i) {
        ln_gemm_f32.task(args, i, scratch);
    }
}

/* c += a * part, for rows of c that lie c_stride apart. The kernel's output may not overlap its addend. */
static void product_f32(const weights_f32 *weights, int part, const float *a, float *c, int64_t c_stride,
                        int64_t m, int64_t n, int64_t k) {
    ln_gemm_f32_args args = ln_recurrent_product(m, n, k, weights->packed[part > 0]);
    args.a = a;
    args.c = weights->product;
    args.c_row_stride = (size_t)n;
    args.residual = c;
    args.residual_row_stride = (size_t)c_stride;
    run_gemm(&args, weights->scratch);
    for (int64_t i = 0; i < m; ++i) {
        memcpy(c + i * c_stride, weights->product + i * n, (size_t)n * sizeof(float));
    }
}

static void product_f64(const weights_f64 *weights, int part, const double *a, double *c, int64_t c_stride,
                        int64_t m, int64_t n, int64_t k) {
    const double *r =
        weights->r + (part > 0 ? 2 * k * k : 0); /* only GRU has parts beyond 0: rows from 2 * hidden */
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) {
                sum += a[i * k + l] * r[j * k + l];
            }
            c[i * c_stride + j] += sum;
        }
    }
}

/* Where a part adds: part 1 into the third gate of each row, the others from the row's begin. */
#define PRODUCT_OF(kind, run, target, a, part)                                                               \
    product_##kind(&(run)->weights, (part), (a), (target) + ((part) == 1 ? 2 * (run)->sizes->hidden : 0),    \
                   (part) == 2 ? (run)->sizes->hidden : (run)->sizes->columns, (run)->sizes->batch,          \
                   ln_recurrent_part_columns((run)->params, (run)->sizes, (part)), (run)->sizes->hidden)

/* The state as the product takes it: DynamicQuantizeLSTM rounds it, into `work`, which LSTM has no other use for. */
static const float *lstm_state(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes,
                               const float *h, float *work) {
    if (!params->quantized) {
        return h;
    }
    ln_recurrent_round(h, sizes->batch * sizes->hidden, work);
    return work;
}

#define REAL                          float
#define NAME(x)                       x##_f32
#define APPLY                         ln_gate_apply_f32
#define PRODUCT(run, target, a, part) PRODUCT_OF(f32, run, target, a, part)
#define STATE(run)                    lstm_state((run)->params, (run)->sizes, (run)->h, (run)->work)
#include "ops/recurrent_cells.h"
#undef REAL
#undef NAME
#undef APPLY
#undef PRODUCT
#undef STATE
#define REAL                          double
#define NAME(x)                       x##_f64
#define APPLY                         ln_gate_apply_f64
#define PRODUCT(run, target, a, part) PRODUCT_OF(f64, run, target, a, part)
#define STATE(run)                    (run)->h
#include "ops/recurrent_cells.h"

void ln_recurrent_walk_f32(const ln_recurrent_walk *walk) {
    const direction_f32 run = {
        .params = walk->params,
        .sizes = walk->sizes,
        .d = walk->d,
        .inputs = (const float *)(const void *)walk->inputs,
        .recurrent_bias = (const float *)(const void *)walk->recurrent_bias,
        .peepholes = (const float *)(const void *)walk->peepholes,
        .lengths = walk->lengths,
        .weights = {{walk->weights[0], walk->weights[1]}, (float *)(void *)walk->product, walk->scratch},
        .y = walk->y,
        .h = (float *)(void *)walk->h,
        .c = (float *)(void *)walk->c,
        .gates = (float *)(void *)walk->gates,
        .work = (float *)(void *)walk->work,
    };
    run_direction_f32(&run, (float *)(void *)walk->next);
}

void ln_recurrent_walk_f64(const ln_recurrent_walk *walk) {
    const direction_f64 run = {
        .params = walk->params,
        .sizes = walk->sizes,
        .d = walk->d,
        .inputs = (const double *)(const void *)walk->inputs,
        .recurrent_bias = (const double *)(const void *)walk->recurrent_bias,
        .peepholes = (const double *)(const void *)walk->peepholes,
        .lengths = walk->lengths,
        .weights = {walk->weights[0]},
        .y = walk->y,
        .h = (double *)(void *)walk->h,
        .c = (double *)(void *)walk->c,
        .gates = (double *)(void *)walk->gates,
        .work = (double *)(void *)walk->work,
    };
    run_direction_f64(&run, (double *)(void *)walk->next);
}
