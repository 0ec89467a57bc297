/*
 * The kernels as their callers see them: what to pack, how many tasks there are, how much scratch each
 * needs, and a function that does one task.
 *
 * All families share one form. The caller describes the problem in a plain struct, asks for `packed_bytes`,
 * `scratch_bytes` and `task_count`, and runs tasks 0 to task_count - 1 in any order, on any thread; each
 * running task needs scratch of its own (16-byte aligned). The grid of tasks depends on the shape alone,
 * every output element belongs to exactly one task, and its sum is taken in one fixed order: results do not
 * depend on the split.
 *
 * Kernels allocate nothing, know no threads, and read no byte before the first or more than 16 bytes past
 * the last element of an input. Byte counts that do not fit size_t come back as SIZE_MAX, which no allocator
 * grants. A packing depends on the weight's shape and attributes only, never on the size of the input or on
 * M.
 */
#ifndef LN_KERNELS_H
#define LN_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vector.h"

/*
 * An activation applied to a block of output while it is in cache: any row of the unary table. RELU and CLIP
 * happen in registers. All zero means none.
 */
typedef struct ln_activation_f32 {
    bool present;
    enum ln_unary kind;
    float alpha, beta; /* as the kind says */
} ln_activation_f32;

/* f32 GEMM: C = act(alpha * A * B + beta * bias + residual), GEMV included (m = 1) */

typedef struct ln_gemm_f32_args {
    size_t m, n, k;
    /* A[i][l] is a[i * a_row_stride + l * a_col_stride]; strides are in elements throughout. */
    const float *a;
    size_t a_row_stride, a_col_stride;
    /* B packed by pack_b (strides ignored), or as it lies in memory: the tasks then pack it on the fly. */
    const float *b;
    size_t b_row_stride, b_col_stride;
    bool b_is_packed;
    float *c; /* rows are contiguous */
    size_t c_row_stride;
    float alpha, beta;
    /* NULL, or an addend broadcast by strides of 0: a bias per column is {0, 1}, per row {1, 0}, one number
     * {0, 0}, a whole matrix {n, 1}. The column stride is 0 or 1. */
    const float *bias;
    size_t bias_row_stride, bias_col_stride;
    /* NULL, or a second addend with contiguous rows; added after the activation when residual_last is set. */
    const float *residual;
    size_t residual_row_stride;
    bool residual_last;
    ln_activation_f32 activation;
} ln_gemm_f32_args;

/*
 * task_count and scratch_bytes read m, n, k, the strides of A and B, b_is_packed and nothing else, so a plan
 * may ask before there are pointers. For a batch of products, run the tasks of each with its own pointers.
 * The output overlaps no input.
 */
typedef struct ln_gemm_f32_kernels {
    const char *name;
    size_t mr, nr;                                /* the tile, for tests and documentation */
    size_t (*packed_b_bytes)(size_t k, size_t n); /* packed B, 16-byte aligned or better */
    void (*pack_b)(float *packed, const float *b, size_t row_stride, size_t col_stride, size_t k, size_t n);
    size_t (*task_count)(const ln_gemm_f32_args *args);
    size_t (*scratch_bytes)(const ln_gemm_f32_args *args);
    void (*task)(const ln_gemm_f32_args *args, size_t task, void *scratch);
} ln_gemm_f32_kernels;

extern const ln_gemm_f32_kernels ln_gemm_f32;

/*
 * Large products with a packed B in seven eighths of the multiplications, for a few times the rounding error (strassen_f32.c
 * has the bound). `applies` and the sizes read what the functions above read, alpha, beta, and whether there is a residual.
 * The tasks of sums come first, into `sums`, 16-byte aligned; then the product's, which read them.
 */
typedef struct ln_strassen_f32_kernels {
    bool (*applies)(const ln_gemm_f32_args *args);
    size_t (*sum_count)(const ln_gemm_f32_args *args); /* floats of `sums` */
    size_t (*sum_tasks)(const ln_gemm_f32_args *args);
    void (*sum_task)(const ln_gemm_f32_args *args, float *sums, size_t index);
    size_t (*task_count)(const ln_gemm_f32_args *args);
    size_t (*scratch_bytes)(const ln_gemm_f32_args *args);
    void (*task)(const ln_gemm_f32_args *args, const float *sums, size_t index, void *scratch);
} ln_strassen_f32_kernels;

extern const ln_strassen_f32_kernels ln_strassen_f32;

/*
 * int8 GEMM: C = A * B, exact in int32, which wraps. A is int16 (ln_widen_i8_i16), B is packed bytes. A holds
 * up to LN_GEMM_I8_ROWS rows at a time, each of k elements and, when k is odd, a zero after them; a row of C
 * has room for whole panels.
 */
enum { LN_GEMM_I8_ROWS = 4, LN_GEMM_I8_COLUMNS = 8 };

size_t ln_gemm_i8_packed_bytes(size_t k, size_t n);
/* B[l][j] is b[l * row_stride + j * col_stride]. `flip` is 0 for int8 and 0x80 for uint8, which then counts as b - 128. */
void ln_gemm_i8_pack_b(int8_t *packed, const uint8_t *b, size_t row_stride, size_t col_stride, size_t k,
                       size_t n, uint8_t flip);
/* The same for rows that lie anywhere: B[l][j] is b[offsets[l] + j]. */
void ln_gemm_i8_pack_rows(int8_t *packed, const uint8_t *b, const size_t *offsets, size_t k, size_t n,
                          uint8_t flip);
void ln_gemm_i8_rows(int32_t *c, size_t c_stride, const int16_t *a, size_t a_stride, size_t rows,
                     const int8_t *packed_b, size_t panels, size_t k);
/* n bytes as int16, less the zero point; returns their sum, which wraps. */
int32_t ln_widen_i8_i16(int16_t *y, const uint8_t *x, size_t n, bool is_signed, int32_t zero_point);

/* f32 convolution over 1 to LN_CONV_MAX_RANK spatial dimensions, channels first */

#define LN_CONV_MAX_RANK 6

/* Serves convolution and its transpose: `in` is the input of the operator, `out` its output. */
typedef struct ln_conv_shape {
    size_t rank; /* spatial dimensions */
    size_t batch, in_channels, out_channels, groups;
    size_t in[LN_CONV_MAX_RANK], out[LN_CONV_MAX_RANK];
    size_t kernel[LN_CONV_MAX_RANK], stride[LN_CONV_MAX_RANK], dilation[LN_CONV_MAX_RANK];
    ptrdiff_t pad[LN_CONV_MAX_RANK]; /* at the begin; the end follows from `out`. Negative crops. */
} ln_conv_shape;

typedef struct ln_conv_f32_args {
    const float *x;        /* [batch, in_channels, in...] */
    const float *w_packed; /* by the plan's route */
    const float *bias;     /* [out_channels] or NULL */
    float *y;              /* [batch, out_channels, out...] */
    const float *residual; /* NULL, or shaped as y; added after the activation when residual_last is set */
    bool residual_last;
    ln_activation_f32 activation;
} ln_conv_f32_args;

typedef struct ln_conv_f32_plan ln_conv_f32_plan;

/* A way to convolve: a packer and the kernels that read what it packs. */
typedef struct ln_conv_f32_route {
    const char *name;
    /* These three read channels, groups, kernel, stride and dilation, never `in`, `out`, pad or batch. */
    size_t (*packed_bytes)(const ln_conv_shape *shape);
    void (*pack)(const ln_conv_shape *shape, float *packed, const float *w);
    /* The same from what the default route packed, when the weights themselves may be gone; NULL for default routes. */
    void (*repack)(const ln_conv_shape *shape, float *packed, const float *default_packed);
    void (*plan)(ln_conv_f32_plan *plan); /* fills in the rest of a plan that has shape and route */
    void (*task)(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t task, void *scratch);
} ln_conv_f32_route;

/*
 * What is settled once sizes are known. Callers read task_count and scratch_bytes; the rest is the kernels'.
 * Spatial dimensions are split in two: the last two make planes, those before them are `outer`.
 */
struct ln_conv_f32_plan {
    const ln_conv_f32_route *route;
    size_t task_count, scratch_bytes;
    ln_conv_shape shape;            /* rewritten to rank 2 or more */
    size_t outer;                   /* how many dimensions come before the planes */
    size_t outer_in, outer_out;     /* planes of one channel */
    size_t outer_taps, taps;        /* kernel positions over the outer dimensions and within a plane */
    size_t plane_in, plane_out;     /* elements of a plane */
    size_t group_step, group_tasks; /* groups of one task, and how many tasks that gives */
    size_t row_step, row_tasks; /* the same for output pixels: whole rows of a plane, or runs within a row */
    size_t col_step, col_tasks;
    size_t tile_step, tile_tasks; /* for output channels of a group, in tiles */
    size_t depth_step;            /* input channels (times outer taps) that go into one pass */
    bool direct;                  /* taps are read in place */
};

/*
 * The default route of a shape, chosen from the weight's shape and attributes: depthwise or implicit GEMM.
 * Weights are [out_channels, in_channels / groups, kernel...].
 */
const ln_conv_f32_route *ln_conv_f32_route_for(const ln_conv_shape *shape);

/*
 * Winograd's route where it applies (stride 1; 3x3, or three taps and more along one axis) and `in` says that it pays, else
 * NULL. It has a packing of its own, 1.6 to 4 times the bytes, and up to three times the rounding error of the default.
 */
const ln_conv_f32_route *ln_conv_f32_winograd_for(const ln_conv_shape *shape);

/* The shape must be consistent: groups divide the channels; only batch, channels and `out` may be 0. */
void ln_conv_f32_plan_init(ln_conv_f32_plan *plan, const ln_conv_f32_route *route,
                           const ln_conv_shape *shape);

/* Transposed convolution, any rank. Weights are [in_channels, out_channels / groups, kernel...]. */
const ln_conv_f32_route *ln_conv_transpose_f32_route_for(const ln_conv_shape *shape);

/* 1 when the relaxed instructions of this build compute what the kernels expect of them, else 0. */
int ln_kernels_self_check(void);
/* "relaxed" or "simd": how the kernels were compiled. */
const char *ln_kernels_build(void);

#endif
