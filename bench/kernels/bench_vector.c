/*
 * Vector arithmetic in the kernel bench: functions of one and two inputs, reductions, softmax and normalisation, over
 * arrays of 384 KB, which stay in the second-level cache. Bytes are those read and written. Floating-point operations are
 * counted where a function has many, from its formula in vmath.h, a multiply-add as two.
 */
#include "bench.h"

#include <string.h>

#include "../../simd/vector.h"

enum { ELEMENTS = 98304, ROW = 512, ROWS = ELEMENTS / ROW };

static float *a, *b, *c, *row;
static uint8_t *bytes;

/* Arrays a power of two apart would share cache sets. */
static float *floats_apart(size_t count) {
    return ln_bench_floats(count + 17 * 16) + 17 * 16;
}

static void setup(const ln_bench_case *bench) {
    (void)bench;
    a = floats_apart(ELEMENTS);
    b = floats_apart(ELEMENTS);
    c = floats_apart(ELEMENTS);
    row = floats_apart(ROW);
    bytes = ln_bench_keep(ELEMENTS);
    memset(bytes, 0, ELEMENTS);
    for (size_t i = 0; i < ELEMENTS; i++) {
        a[i] *= 2.0f;
    }
}

static void setup_positive(const ln_bench_case *bench) {
    setup(bench);
    for (size_t i = 0; i < ELEMENTS; i++) {
        a[i] += 2.001f;
    }
}

static void run_unary(const ln_bench_case *bench, size_t task) {
    (void)task;
    const float alpha = bench->dims[0] == LN_UNARY_CLIP ? -0.5f : 1.7f;
    ln_unary_f32[bench->dims[0]](c, a, ELEMENTS, alpha, 0.5f);
}

static void run_binary(const ln_bench_case *bench, size_t task) {
    (void)task;
    ln_binary_f32[bench->dims[0]](c, a, 1, b, bench->dims[1], ELEMENTS);
}

static void run_binary_i64(const ln_bench_case *bench, size_t task) {
    (void)task;
    ln_binary_i64[bench->dims[0]](c, a, 1, b, 1, ELEMENTS / 2);
}

static void run_compare(const ln_bench_case *bench, size_t task) {
    (void)task;
    if (bench->dims[0] == 0) {
        ln_compare_f32[LN_COMPARE_LT](bytes, a, 1, b, 1, ELEMENTS);
    } else if (bench->dims[0] == 1) {
        ln_compare_i32[LN_COMPARE_EQ](bytes, a, 1, b, 0, ELEMENTS);
    } else {
        ln_compare_i64[LN_COMPARE_EQ](bytes, a, 1, b, 0, ELEMENTS / 2);
    }
}

static void run_where(const ln_bench_case *bench, size_t task) {
    (void)bench;
    (void)task;
    ln_where[2](c, bytes, 1, a, 1, b, 1, ELEMENTS);
}

static void run_axpy(const ln_bench_case *bench, size_t task) {
    (void)bench;
    (void)task;
    ln_axpy_f32(c, a, ELEMENTS, 1e-9f);
}

static void run_dot(const ln_bench_case *bench, size_t task) {
    (void)bench;
    (void)task;
    c[0] = ln_dot_f32(a, b, ELEMENTS);
}

static void run_min_max(const ln_bench_case *bench, size_t task) {
    (void)bench;
    (void)task;
    ln_min_max_f32(a, ELEMENTS, c, c + 1);
}

static void run_reduce_inner(const ln_bench_case *bench, size_t task) {
    (void)task;
    ln_reduce_inner_f32[bench->dims[0]](c, a, ROWS, ROW);
}

static void run_reduce_outer(const ln_bench_case *bench, size_t task) {
    (void)task;
    ln_reduce_outer_f32[bench->dims[0]](c, a, ROWS, ROW, ROW);
}

static void run_arg(const ln_bench_case *bench, size_t task) {
    (void)task;
    int64_t *to = (int64_t *)(void *)c;
    if (bench->dims[0] == 0) {
        ln_arg_inner_f32(to, a, ROWS, ROW, LN_ARG_MAX, 0);
    } else {
        ln_arg_outer_f32(to, a, ROWS, ROW, ROW, LN_ARG_MAX, 0);
    }
}

/* dims: which kernel, length of the axis, the other length. */
static void run_softmax(const ln_bench_case *bench, size_t task) {
    (void)task;
    const size_t n = bench->dims[1], others = bench->dims[2];
    switch (bench->dims[0]) {
    case 0:
        ln_softmax_rows_f32(c, a, others, n, 1.0f, NULL, 0);
        break;
    case 1:
        ln_softmax_rows_f32(c, a, others, n, 0.125f, b, n);
        break;
    case 2:
        ln_log_softmax_rows_f32(c, a, others, n);
        break;
    case 3:
        ln_softmax_columns_f32(c, a, n, others, others);
        break;
    default:
        ln_log_softmax_columns_f32(c, a, n, others, others);
        break;
    }
}

static void run_norm(const ln_bench_case *bench, size_t task) {
    (void)task;
    const size_t n = bench->dims[1], rows = ELEMENTS / n;
    switch (bench->dims[0]) {
    case 0:
        ln_layer_norm_rows_f32(c, a, rows, n, row, b, 1e-5f, NULL, NULL);
        break;
    case 1:
        ln_rms_norm_rows_f32(c, a, rows, n, row, 1e-5f, NULL);
        break;
    case 2:
        ln_skip_layer_norm_rows_f32(c, NULL, a, b, NULL, rows, n, row, b, 1e-5f, NULL, NULL);
        break;
    case 3:
        ln_skip_rms_norm_rows_f32(c, NULL, a, b, NULL, rows, n, row, 1e-5f, NULL);
        break;
    case 4:
        ln_mean_variance_f32(a, ELEMENTS, c, c + 1);
        break;
    case 5:
        ln_normalize_plane_f32(c, a, ELEMENTS, 0.1f, 1.5f, 0.2f);
        break;
    default:
        ln_scale_shift_rows_f32(c, a, rows, n, row, b);
        break;
    }
}

/* Operations per element of the functions that have many. */
static const double operations[LN_UNARY_COUNT] = {
    [LN_UNARY_EXP] = 20,  [LN_UNARY_LOG] = 26,  [LN_UNARY_SIN] = 26,       [LN_UNARY_COS] = 26,
    [LN_UNARY_TANH] = 22, [LN_UNARY_ERF] = 26,  [LN_UNARY_SIGMOID] = 25,   [LN_UNARY_SOFTPLUS] = 48,
    [LN_UNARY_GELU] = 28, [LN_UNARY_SILU] = 25, [LN_UNARY_GELU_TANH] = 30, [LN_UNARY_GELU_QUICK] = 26,
    [LN_UNARY_MISH] = 28, [LN_UNARY_ELU] = 26,  [LN_UNARY_SELU] = 27,      [LN_UNARY_CELU] = 46,
};

static void setup_unary(const ln_bench_case *bench) {
    const size_t kind = bench->dims[0];
    const int positive =
        kind == LN_UNARY_LOG || kind == LN_UNARY_SQRT || kind == LN_UNARY_RSQRT || kind == LN_UNARY_POW;
    (positive ? setup_positive : setup)(bench);
    ln_bench_work.flops = operations[kind] * ELEMENTS;
}

#define CASE(name, prepare, run, flops, bytes, ...)                                                          \
    {                                                                                                        \
        name, prepare, NULL, run, (flops) * ELEMENTS, (bytes) * ELEMENTS, {                                  \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define UNARY(upper, lower) CASE("unary " #lower, setup_unary, run_unary, 0.0, 8.0, LN_UNARY_##upper),
#define BINARY(upper, lower)                                                                                 \
    CASE("binary " #lower, setup_positive, run_binary, 0.0, 12.0, LN_BINARY_##upper, 1),
#define REDUCE(upper, lower)                                                                                 \
    CASE("inner " #lower, setup_positive, run_reduce_inner, 0.0, 4.0, LN_REDUCE_##upper),                    \
        CASE("outer " #lower, setup_positive, run_reduce_outer, 0.0, 4.0, LN_REDUCE_##upper),

static const ln_bench_case cases[] = {
    LN_UNARY_LIST(UNARY) LN_BINARY_LIST(BINARY) LN_REDUCE_LIST(REDUCE)
        CASE("binary add one number", setup, run_binary, 0.0, 8.0, LN_BINARY_ADD, 0),
    CASE("binary pow one number", setup_positive, run_binary, 0.0, 8.0, LN_BINARY_POW, 0),
    CASE("binary add int64", setup, run_binary_i64, 0.0, 12.0, LN_BINARY_ADD),
    CASE("binary mul int64", setup, run_binary_i64, 0.0, 12.0, LN_BINARY_MUL),
    CASE("compare lt", setup, run_compare, 0.0, 9.0, 0),
    CASE("compare eq int32", setup, run_compare, 0.0, 5.0, 1),
    CASE("compare eq int64", setup, run_compare, 0.0, 4.5, 2),
    CASE("where", setup, run_where, 0.0, 13.0, 0),
    CASE("axpy", setup, run_axpy, 2.0, 12.0, 0),
    CASE("dot", setup, run_dot, 2.0, 8.0, 0),
    CASE("min max", setup, run_min_max, 0.0, 4.0, 0),
    CASE("argmax rows 512", setup, run_arg, 0.0, 4.0, 0),
    CASE("argmax columns 192", setup, run_arg, 0.0, 4.0, 1),
    CASE("softmax rows 512", setup, run_softmax, 24.0, 8.0, 0, 512, 192),
    CASE("softmax rows 512 scale mask", setup, run_softmax, 26.0, 12.0, 1, 512, 192),
    CASE("softmax rows 21", setup, run_softmax, 24.0, 8.0, 0, 21, 4681),
    CASE("log softmax rows 512", setup, run_softmax, 23.0, 8.0, 2, 512, 192),
    CASE("softmax columns 512", setup, run_softmax, 24.0, 8.0, 3, 512, 192),
    CASE("softmax columns 2", setup, run_softmax, 24.0, 8.0, 3, 2, 49152),
    CASE("log softmax columns 512", setup, run_softmax, 23.0, 8.0, 4, 512, 192),
    CASE("layer norm 512", setup, run_norm, 8.0, 8.0, 0, 512),
    CASE("layer norm 96", setup, run_norm, 8.0, 8.0, 0, 96),
    CASE("rms norm 512", setup, run_norm, 4.0, 8.0, 1, 512),
    CASE("skip layer norm 512", setup, run_norm, 9.0, 12.0, 2, 512),
    CASE("skip rms norm 512", setup, run_norm, 5.0, 12.0, 3, 512),
    CASE("mean variance", setup, run_norm, 4.0, 4.0, 4, 512),
    CASE("normalize plane", setup, run_norm, 3.0, 8.0, 5, 512),
    CASE("scale shift rows 512", setup, run_norm, 2.0, 8.0, 6, 512),
};
LN_BENCH_FAMILY(vector, cases);
