/*
 * The vector kernels: everything a model computes that is not a matrix product or a convolution.
 *
 * What all of them share:
 *   - They work on raw pointers and a range, allocate nothing, know no threads and no shapes. Callers cut the work
 *     into ranges; a result never depends on where the cuts are, bit for bit.
 *   - No pointer needs more alignment than its element. Nothing is read or written outside the range.
 *   - `dst` may equal an input where the comment says "in place"; otherwise it overlaps no input.
 *   - Where operations differ only in the formula, the kernels are rows of a table indexed by an enum, so that
 *     callers use tables too. Every entry of every table is set.
 *   - NaN propagates through relu, clip, max, min and pooling.
 *   - An element count is a size_t; a row is contiguous unless it has a stride, which counts elements.
 *   - Each kernel has a scalar twin in simd/ref/vector_ref.h, its oracle in the tests.
 */
#ifndef LN_VECTOR_H
#define LN_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* ---- One input: unary_f32.c ---- */

/*
 * Unary functions of floats. `alpha` and `beta` are the attributes of the operator; the others ignore them.
 * The bound is the largest error over all floats, in units of the last place (ulp) or absolute. What
 * overflows or vanishes in a factor (sigmoid and its kin below 1e-38) is flushed to zero.
 *
 * X(enum suffix, function suffix)
 */
#define LN_UNARY_LIST(X)                                                                                     \
    X(ABS, abs)                           /* exact */                                                        \
    X(NEG, neg)                           /* exact */                                                        \
    X(SIGN, sign)                         /* -1, 0 or 1; NaN of NaN */                                       \
    X(FLOOR, floor)                       /* exact */                                                        \
    X(CEIL, ceil)                         /* exact */                                                        \
    X(ROUND, round)                       /* half to even; exact */                                          \
    X(SQRT, sqrt)                         /* correctly rounded */                                            \
    X(RSQRT, rsqrt)                       /* 1 / sqrt(x), both correctly rounded: 1.5 ulp */                 \
    X(RECIPROCAL, reciprocal)             /* correctly rounded */                                            \
    X(SQUARE, square)                     /* correctly rounded */                                            \
    X(EXP, exp)                           /* 2 ulp; subnormal results are exact to 1 ulp of the subnormal */ \
    X(LOG, log)                           /* 2 ulp */                                                        \
    X(SIN, sin)                           /* 2 ulp for any argument */                                       \
    X(COS, cos)                           /* 2 ulp for any argument */                                       \
    X(POW, pow)                           /* x^alpha: as ln_binary_f32[LN_BINARY_POW] with a splat */        \
    X(TANH, tanh)                         /* 5 ulp */                                                        \
    X(ERF, erf)                           /* 7 ulp */                                                        \
    X(SIGMOID, sigmoid)                   /* 3 ulp; within [0, 1] */                                         \
    X(SOFTPLUS, softplus)                 /* 3 ulp */                                                        \
    X(GELU, gelu)                         /* x/2 (1 + erf(x / sqrt 2)): 6 ulp for x > -1, abs 1e-6 below */  \
    X(GELU_TANH, gelu_tanh)               /* the tanh form, as x sigmoid(2u): 8 ulp, or 2e-8   */            \
    X(GELU_QUICK, gelu_quick)             /* x sigmoid(alpha x): 8 ulp or 2e-8 */                            \
    X(SILU, silu)                         /* x sigmoid(x): 5 ulp */                                          \
    X(MISH, mish)                         /* x tanh(softplus(x)): 8 ulp */                                   \
    X(ELU, elu)                           /* x < 0 ? alpha (e^x - 1) : x */                                  \
    X(SELU, selu)                         /* beta (x > 0 ? x : alpha (e^x - 1)) */                           \
    X(CELU, celu)                         /* max(0, x) + min(0, alpha (e^(x/alpha) - 1)) */                  \
    X(HARDSWISH, hardswish)               /* x max(0, min(1, x/6 + 1/2)) */                                  \
    X(HARDSIGMOID, hardsigmoid)           /* max(0, min(1, alpha x + beta)) */                               \
    X(LEAKY_RELU, leaky_relu)             /* x < 0 ? alpha x : x */                                          \
    X(RELU, relu)                         /* max(0, x) */                                                    \
    X(THRESHOLDED_RELU, thresholded_relu) /* x > alpha ? x : 0 */                                            \
    X(CLIP, clip)                         /* min(max(x, alpha), beta) */                                     \
    X(SOFTSIGN, softsign)                 /* x / (1 + |x|) */                                                \
    X(SCALE_SHIFT, scale_shift)           /* alpha x + beta */                                               \
    X(HARDSWISH_SCALED, hardswish_scaled) /* alpha hardswish(x) + beta */

enum ln_unary {
#define LN_UNARY_ENUM(upper, lower) LN_UNARY_##upper,
    LN_UNARY_LIST(LN_UNARY_ENUM)
#undef LN_UNARY_ENUM
        LN_UNARY_COUNT
};

/* dst[i] = f(src[i]) for i < n. In place. */
typedef void ln_unary_f32_fn(float *dst, const float *src, size_t n, float alpha, float beta);
extern ln_unary_f32_fn *const ln_unary_f32[LN_UNARY_COUNT];

/* ---- Two inputs: binary_f32.c, binary_any.c, compare.c ---- */

/*
 * Binary arithmetic. Integers wrap around; an integer division by zero gives 0 and never traps; an integer to a
 * negative power gives 0, or 1 or -1 where that is exact.
 */
#define LN_BINARY_LIST(X)                                                                                    \
    X(ADD, add)                                                                                              \
    X(SUB, sub)                                                                                              \
    X(MUL, mul)                                                                                              \
    X(DIV, div) /* integers: towards zero */                                                                 \
    X(MAX, max) /* NaN when either is NaN */                                                                 \
    X(MIN, min)                                                                                              \
    X(POW, pow)           /* as C's pow in every special case; 2 ulp */                                      \
    X(PRELU, prelu)       /* a < 0 ? a * b : a */                                                            \
    X(ADD_RELU, add_relu) /* max(0, a + b) */                                                                \
    X(MUL_RELU, mul_relu) /* max(0, a * b) */

enum ln_binary {
#define LN_BINARY_ENUM(upper, lower) LN_BINARY_##upper,
    LN_BINARY_LIST(LN_BINARY_ENUM)
#undef LN_BINARY_ENUM
        LN_BINARY_COUNT
};

/*
 * dst[i] = f(a[i * a_stride], b[i * b_stride]) for i < n, in the type of the table. A stride is 1, or 0 for a
 * scalar that serves all i. In place over an operand whose stride is 1.
 */
typedef void ln_binary_fn(void *dst, const void *a, size_t a_stride, const void *b, size_t b_stride,
                          size_t n);
extern ln_binary_fn *const ln_binary_f32[LN_BINARY_COUNT];
extern ln_binary_fn *const ln_binary_f64[LN_BINARY_COUNT];
extern ln_binary_fn *const ln_binary_i32[LN_BINARY_COUNT];
extern ln_binary_fn *const ln_binary_i64[LN_BINARY_COUNT];

/* Comparisons; `dst` becomes 1 or 0. Any comparison with NaN is false, but for NE. */
#define LN_COMPARE_LIST(X) X(EQ, eq) X(NE, ne) X(LT, lt) X(LE, le) X(GT, gt) X(GE, ge)

enum ln_compare {
#define LN_COMPARE_ENUM(upper, lower) LN_COMPARE_##upper,
    LN_COMPARE_LIST(LN_COMPARE_ENUM)
#undef LN_COMPARE_ENUM
        LN_COMPARE_COUNT
};

typedef void ln_compare_fn(uint8_t *dst, const void *a, size_t a_stride, const void *b, size_t b_stride,
                           size_t n);
extern ln_compare_fn *const ln_compare_f32[LN_COMPARE_COUNT];
extern ln_compare_fn *const ln_compare_f64[LN_COMPARE_COUNT];
extern ln_compare_fn *const ln_compare_i32[LN_COMPARE_COUNT];
extern ln_compare_fn *const ln_compare_i64[LN_COMPARE_COUNT];

/*
 * dst[i] = condition[i * condition_stride] ? a[i * a_stride] : b[i * b_stride], for elements of 1, 2, 4, 8 or 16
 * bytes; the table is indexed by the base-2 logarithm of the width. Any non-zero byte is true. In place over a or b.
 */
typedef void ln_where_fn(void *dst, const uint8_t *condition, size_t condition_stride, const void *a,
                         size_t a_stride, const void *b, size_t b_stride, size_t n);
extern ln_where_fn *const ln_where[5];

/* dst[i] += a * src[i]; the building block of weighted sums. */
void ln_axpy_f32(float *dst, const float *src, size_t n, float a);

/* ---- Reductions: reduce_f32.c ---- */

/*
 * An empty reduction gives 0 (sums), 1 (PROD), -inf (MAX, LOGSUM, LOGSUMEXP), +inf (MIN), NaN (MEAN). Sums run in
 * blocks of a fixed order whose totals are added in double: the error does not grow with the length. Inside a block
 * they are floats, which a square beyond 3e38 overflows.
 */
#define LN_REDUCE_LIST(X)                                                                                    \
    X(SUM, sum)                                                                                              \
    X(MEAN, mean)                                                                                            \
    X(MAX, max)                                                                                              \
    X(MIN, min)                                                                                              \
    X(PROD, prod)                                                                                            \
    X(SUMSQ, sumsq)                                                                                          \
    X(L1, l1)                                                                                                \
    X(L2, l2)                                                                                                \
    X(LOGSUM, logsum)                                                                                        \
    X(LOGSUMEXP, logsumexp) /* from the maximum, so that it does not overflow */

enum ln_reduce {
#define LN_REDUCE_ENUM(upper, lower) LN_REDUCE_##upper,
    LN_REDUCE_LIST(LN_REDUCE_ENUM)
#undef LN_REDUCE_ENUM
        LN_REDUCE_COUNT
};

/* Inner axis: dst[r] = reduce(src[r * n .. r * n + n)) for r < rows. */
typedef void ln_reduce_inner_fn(float *dst, const float *src, size_t rows, size_t n);
extern ln_reduce_inner_fn *const ln_reduce_inner_f32[LN_REDUCE_COUNT];

/*
 * Outer axis: dst[c] = reduce over r < rows of src[r * row_stride + c], for c < columns. Cut columns, not rows,
 * into tasks; 64 columns are a good grain.
 */
typedef void ln_reduce_outer_fn(float *dst, const float *src, size_t rows, size_t columns, size_t row_stride);
extern ln_reduce_outer_fn *const ln_reduce_outer_f32[LN_REDUCE_COUNT];

/* ArgMax and ArgMin. The first of equals, or the last one with `last`; NaN wins over every number (as in numpy). */
enum ln_arg { LN_ARG_MAX, LN_ARG_MIN };
void ln_arg_inner_f32(int64_t *dst, const float *src, size_t rows, size_t n, enum ln_arg which, int last);
void ln_arg_outer_f32(int64_t *dst, const float *src, size_t rows, size_t columns, size_t row_stride,
                      enum ln_arg which, int last);

/* The smallest and the largest of n floats, for dynamic quantisation; +inf and -inf when n is 0. */
void ln_min_max_f32(const float *src, size_t n, float *min, float *max);

/* The dot product of two rows, in the fixed order of the reductions. */
float ln_dot_f32(const float *a, const float *b, size_t n);

/* ---- Softmax: softmax_f32.c ---- */

/*
 * dst row = softmax(scale * src row + mask row) over rows of n contiguous floats; the mask is null for none, and
 * mask_stride is 0 when one row of it serves all. A row of nothing but -inf gives NaN, as the formula does. In place.
 */
void ln_softmax_rows_f32(float *dst, const float *src, size_t rows, size_t n, float scale, const float *mask,
                         size_t mask_stride);
void ln_log_softmax_rows_f32(float *dst, const float *src, size_t rows, size_t n);

/*
 * Softmax over an axis that is not the last: for each c < columns over src[i * stride + c], i < n. dst has the
 * same stride. Cut columns into tasks. In place.
 */
void ln_softmax_columns_f32(float *dst, const float *src, size_t n, size_t columns, size_t stride);
void ln_log_softmax_columns_f32(float *dst, const float *src, size_t n, size_t columns, size_t stride);

/* ---- Normalisation: norm_f32.c ---- */

/* The mean and the population variance of n > 0 contiguous floats, in two passes. */
void ln_mean_variance_f32(const float *src, size_t n, float *mean, float *variance);

/*
 * dst row = (x - mean) / sqrt(variance + epsilon) * gamma + beta. gamma and beta have n elements or are null (1 and
 * 0). mean and inv_std, when not null, receive one value for each row. In place.
 */
void ln_layer_norm_rows_f32(float *dst, const float *src, size_t rows, size_t n, const float *gamma,
                            const float *beta, float epsilon, float *mean, float *inv_std);

/* dst row = x / sqrt(mean(x^2) + epsilon) * gamma. In place. */
void ln_rms_norm_rows_f32(float *dst, const float *src, size_t rows, size_t n, const float *gamma,
                          float epsilon, float *inv_std);

/*
 * The same of a + b + bias (bias has n elements or is null). The sum itself goes to `sum` when it is not null;
 * sum may equal a or b, and dst may equal a or b when sum is null.
 */
void ln_skip_layer_norm_rows_f32(float *dst, float *sum, const float *a, const float *b, const float *bias,
                                 size_t rows, size_t n, const float *gamma, const float *beta, float epsilon,
                                 float *mean, float *inv_std);
void ln_skip_rms_norm_rows_f32(float *dst, float *sum, const float *a, const float *b, const float *bias,
                               size_t rows, size_t n, const float *gamma, float epsilon, float *inv_std);

/*
 * dst[i] = (src[i] - mean) * scale + shift over one plane: batch, instance and group norm. Subtracting first keeps
 * the precision that scale and shift folded together lose when the mean is large. In place.
 */
void ln_normalize_plane_f32(float *dst, const float *src, size_t n, float mean, float scale, float shift);

/* dst[r][c] = src[r][c] * scale[c] + shift[c]; shift may be null. In place. */
void ln_scale_shift_rows_f32(float *dst, const float *src, size_t rows, size_t n, const float *scale,
                             const float *shift);

/* ---- Transposes: transpose_tiles.c, transpose_plan.c ---- */

/*
 * dst[c * dst_stride + r] = src[r * src_stride + c] for r < rows, c < cols: one 2-D transpose of elements of
 * 1, 2, 4, 8 or 16 bytes (`width`). Strides count elements.
 */
void ln_transpose_2d(void *dst, size_t dst_stride, const void *src, size_t src_stride, size_t rows,
                     size_t cols, size_t width);

#define LN_TRANSPOSE_MAX_RANK 16

enum ln_transpose_form {
    LN_TRANSPOSE_COPY,  /* the order of the elements does not change */
    LN_TRANSPOSE_RUNS,  /* runs of `width` bytes move as they are */
    LN_TRANSPOSE_TILES, /* 2-D transposes of elements of `width` bytes under outer loops */
};

/*
 * A permutation reduced to the fewest axes. Work is counted in units: callers run any range of [0, units) in any
 * order on any thread; unit_bytes tells about how much one of them moves.
 */
struct ln_transpose_plan {
    enum ln_transpose_form form;
    int rank;          /* outer axes in the order of the output */
    size_t units;      /* 0 when the tensor is empty */
    size_t unit_bytes; /* for the choice of a grain */
    size_t width;      /* bytes of what moves as one: a run or an element; COPY: of everything */
    size_t dims[LN_TRANSPOSE_MAX_RANK];
    size_t src_stride[LN_TRANSPOSE_MAX_RANK]; /* bytes */
    size_t dst_stride[LN_TRANSPOSE_MAX_RANK];
    /* RUNS: a unit is run_count runs, run_stride bytes apart in the source. */
    size_t run_count, run_stride;
    /* TILES: a matrix of rows x cols elements, rows src_row bytes apart in the source, columns dst_row in the output;
     * a unit is chunk_cols columns of it. */
    size_t rows, cols, src_row, dst_row, chunk_cols, chunks;
};

/*
 * dims are those of the input; output axis i is input axis perm[i]; rank is 0 to 16; element_bytes is at least 1.
 * A pure function of its arguments: the plan holds no pointer.
 */
void ln_plan_transpose(struct ln_transpose_plan *plan, const size_t *dims, const int *perm, int rank,
                       size_t element_bytes);

/* Units [begin, end). src and dst need no alignment and do not overlap. */
void ln_transpose_run(const struct ln_transpose_plan *plan, void *dst, const void *src, size_t begin,
                      size_t end);

/* ---- Pooling: pool_f32.c ---- */

/*
 * One window geometry for 1-D, 2-D and 3-D: depth, height, width; axes that a tensor lacks have size 1, kernel 1,
 * stride 1 and no padding. Windows may reach past the end padding (ceil_mode).
 */
struct ln_pooling {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3];
    int64_t pad_begin[3], pad_end[3];
};

/* One plane (one n and c): the kernels read in[0]*in[1]*in[2] floats and write out[0]*out[1]*out[2]. */
void ln_max_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling);

/*
 * Also writes the index of each maximum (the first of equals), counted from `base`; column_major counts the spatial
 * axes in reverse order, as ONNX storage_order 1.
 */
void ln_max_pool_indices_plane_f32(float *dst, int64_t *indices, const float *src,
                                   const struct ln_pooling *pooling, int64_t base, int column_major);

/*
 * The divisor counts the taps on the input, or with count_include_pad those on the input and its padding (never
 * those beyond the end padding). A window of no taps gives 0.
 */
void ln_average_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling,
                               int count_include_pad);

/* (sum |x|^p)^(1/p) over each window. */
void ln_lp_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling, float p);

/* Global pooling is ln_reduce_inner_f32[LN_REDUCE_MEAN] or [LN_REDUCE_MAX] with one row for each plane. */

/* ---- Resize: resize_f32.c ---- */

/* Output rows [begin, end) of a plane twice as high and wide, each input element in a square of four. */
void ln_resize_nearest_2x_f32(float *dst, const float *src, size_t in_height, size_t in_width, size_t begin,
                              size_t end);

/* The same with bilinear interpolation in half_pixel coordinates, edges clamped. */
void ln_resize_linear_2x_f32(float *dst, const float *src, size_t in_height, size_t in_width, size_t begin,
                             size_t end);

/*
 * Output rows [begin, end): dst[y][x] = src[row_index[y]][col_index[x]], for elements of 1, 2, 4 or 8 bytes. A
 * negative index writes `extrapolation` (a pointer to one element; null when no index is negative).
 */
void ln_resize_nearest(void *dst, const void *src, size_t in_width, size_t out_width,
                       const int32_t *row_index, const int32_t *col_index, size_t begin, size_t end,
                       size_t width_bytes, const void *extrapolation);

/*
 * Interpolation along one axis as a table: output i is the sum over t < taps of weight[i * taps + t] times the
 * input at index[i * taps + t]; an output's indices ascend or repeat. Linear has two taps, cubic four, antialiased
 * filters more. Outputs outside the image are the caller's (extrapolation): it overwrites them.
 */
struct ln_resize_axis {
    size_t taps;
    const int32_t *index;
    const float *weight;
};

/*
 * Output rows [begin, end) of one plane, columns first, then rows. `scratch` holds rows->taps * (out_width + 1)
 * floats: rows already interpolated are kept there while the window moves down.
 */
void ln_resize_plane_f32(float *dst, const float *src, size_t in_width, size_t out_width,
                         const struct ln_resize_axis *rows, const struct ln_resize_axis *cols, size_t begin,
                         size_t end, float *scratch);

/* One row along an axis: dst[i] = sum of taps, over `inner` contiguous floats each (any axis of any tensor). */
void ln_resize_axis_f32(float *dst, const float *src, size_t inner, const struct ln_resize_axis *axis,
                        size_t begin, size_t end);

/* ---- Conversions: convert_f32.c, quantize_f32.c ---- */

/* Half precision and bfloat16; to nearest, ties to even; NaN stays NaN, subnormals are kept. */
void ln_f16_to_f32(float *dst, const uint16_t *src, size_t n);
void ln_f32_to_f16(uint16_t *dst, const float *src, size_t n);
void ln_bf16_to_f32(float *dst, const uint16_t *src, size_t n);
void ln_f32_to_bf16(uint16_t *dst, const float *src, size_t n);

/* Integers and doubles. To an integer: towards zero, saturating, NaN to 0. */
void ln_i32_to_f32(float *dst, const int32_t *src, size_t n);
void ln_f32_to_i32(int32_t *dst, const float *src, size_t n);
void ln_i64_to_f32(float *dst, const int64_t *src, size_t n);
void ln_f32_to_i64(int64_t *dst, const float *src, size_t n);
void ln_f64_to_f32(float *dst, const double *src, size_t n);
void ln_f32_to_f64(double *dst, const float *src, size_t n);
void ln_u8_to_f32(float *dst, const uint8_t *src, size_t n);
void ln_i8_to_f32(float *dst, const int8_t *src, size_t n);

/* dst[i] = (src[i] - zero_point) * scale. */
void ln_dequantize_u8_f32(float *dst, const uint8_t *src, size_t n, float scale, int32_t zero_point);
void ln_dequantize_i8_f32(float *dst, const int8_t *src, size_t n, float scale, int32_t zero_point);
void ln_dequantize_i32_f32(float *dst, const int32_t *src, size_t n, float scale, int32_t zero_point);

/* dst[i] = saturate(round_half_even(src[i] / scale) + zero_point); NaN gives the zero point. */
void ln_quantize_u8_f32(uint8_t *dst, const float *src, size_t n, float scale, int32_t zero_point);
void ln_quantize_i8_f32(int8_t *dst, const float *src, size_t n, float scale, int32_t zero_point);

#endif
