/*
 * Matrix products and convolutions in the kernel bench, weights packed beforehand. The names and shapes are those of
 * common models, so that a change shows where it matters; the sweep makes any small product.
 */
#include "bench.h"

#include "../../simd/kernels.h"

static ln_gemm_f32_args gemm;
static ln_conv_f32_plan conv_plan;
static ln_conv_f32_args conv;
static void *scratch;

/* layout: how B comes (0 packed, 1 rows, 2 columns) */
void ln_bench_setup_gemm(size_t m, size_t k, size_t n, size_t layout) {
    gemm = (ln_gemm_f32_args){.m = m, .n = n, .k = k, .alpha = 1.0f, .beta = 1.0f};
    gemm.a = ln_bench_floats(m * k);
    gemm.a_row_stride = k;
    gemm.a_col_stride = 1;
    gemm.b = ln_bench_floats(k * n);
    gemm.b_row_stride = layout == 2 ? 1 : n;
    gemm.b_col_stride = layout == 2 ? k : 1;
    gemm.bias = ln_bench_floats(n);
    gemm.bias_col_stride = 1;
    gemm.c = ln_bench_floats(m * n);
    gemm.c_row_stride = n;
    gemm.activation = (ln_activation_f32){.present = true, .kind = LN_UNARY_RELU};
    if (layout == 0) {
        float *packed = ln_bench_keep(ln_gemm_f32.packed_b_bytes(k, n));
        ln_gemm_f32.pack_b(packed, gemm.b, n, 1, k, n);
        gemm.b = packed;
        gemm.b_is_packed = true;
    }
    scratch = ln_bench_keep(ln_gemm_f32.scratch_bytes(&gemm));
    ln_bench_work.flops = 2.0 * (double)m * (double)n * (double)k;
    ln_bench_work.bytes = 4.0 * (double)(m * k + k * n + m * n);
}

static void setup_gemm(const ln_bench_case *bench) {
    ln_bench_setup_gemm(bench->dims[0], bench->dims[1], bench->dims[2], bench->dims[3]);
}

static size_t gemm_tasks(void) {
    return ln_gemm_f32.task_count(&gemm);
}

static void run_gemm(const ln_bench_case *bench, size_t task) {
    (void)bench;
    ln_gemm_f32.task(&gemm, task, scratch);
}

/*
 * dims: in channels, out channels, groups, size, kernel, stride, route (0 default, 1 Winograd, 2 transposed)
 */
static void setup_conv(const ln_bench_case *bench) {
    ln_conv_shape shape = {.rank = 2, .batch = 1};
    shape.in_channels = bench->dims[0];
    shape.out_channels = bench->dims[1];
    shape.groups = bench->dims[2];
    for (size_t i = 0; i < 2; i++) {
        shape.in[i] = bench->dims[3];
        shape.kernel[i] = bench->dims[4];
        shape.stride[i] = bench->dims[5];
        shape.dilation[i] = 1;
        shape.pad[i] = (ptrdiff_t)(bench->dims[4] / 2);
        shape.out[i] = (shape.in[i] + 2 * (shape.kernel[i] / 2) - shape.kernel[i]) / shape.stride[i] + 1;
        if (bench->dims[6] == 2) {
            shape.pad[i] = (ptrdiff_t)((shape.kernel[i] - shape.stride[i]) / 2);
            shape.out[i] = shape.in[i] * shape.stride[i];
        }
    }
    const ln_conv_f32_route *route = bench->dims[6] == 1   ? ln_conv_f32_winograd_for(&shape)
                                     : bench->dims[6] == 2 ? ln_conv_transpose_f32_route_for(&shape)
                                                           : ln_conv_f32_route_for(&shape);
    const size_t depth = shape.in_channels / shape.groups * shape.kernel[0] * shape.kernel[1];
    const size_t pixels = shape.out[0] * shape.out[1];
    const size_t multiplied = bench->dims[6] == 2 ? shape.in[0] * shape.in[1] : pixels;
    const float *w = ln_bench_floats(shape.out_channels * depth);
    float *packed = ln_bench_keep(route->packed_bytes(&shape));
    route->pack(&shape, packed, w);
    ln_conv_f32_plan_init(&conv_plan, route, &shape);
    conv = (ln_conv_f32_args){.w_packed = packed};
    conv.x = ln_bench_floats(shape.in_channels * shape.in[0] * shape.in[1]);
    conv.bias = ln_bench_floats(shape.out_channels);
    conv.y = ln_bench_floats(shape.out_channels * pixels);
    conv.activation = (ln_activation_f32){.present = true, .kind = LN_UNARY_RELU};
    scratch = ln_bench_keep(conv_plan.scratch_bytes);
    ln_bench_work.flops = 2.0 * (double)shape.out_channels * (double)depth * (double)multiplied;
    ln_bench_work.bytes =
        4.0 * (double)(shape.in_channels * shape.in[0] * shape.in[1] + shape.out_channels * (pixels + depth));
}

/* An int8 product; what widens A, and packs, is not part of the run. */
static int16_t *wide;
static int8_t *packed_bytes;
static int32_t *sums;

static void setup_int8(const ln_bench_case *bench) {
    const size_t m = bench->dims[0], k = bench->dims[1], n = bench->dims[2], row = k + k % 2;
    uint8_t *b = ln_bench_keep(k * n);
    for (size_t i = 0; i < k * n; i++) {
        b[i] = (uint8_t)(i * 7);
    }
    wide = ln_bench_keep(m * row * sizeof(int16_t));
    for (size_t i = 0; i < m; i++) {
        ln_widen_i8_i16(wide + i * row, b, k, true, 3);
    }
    packed_bytes = ln_bench_keep(ln_gemm_i8_packed_bytes(k, n));
    ln_gemm_i8_pack_b(packed_bytes, b, n, 1, k, n, 0);
    sums = ln_bench_keep(m * (n + LN_GEMM_I8_COLUMNS) * sizeof(int32_t));
    ln_bench_work.flops = 2.0 * (double)m * (double)n * (double)k;
    ln_bench_work.bytes = (double)(2 * m * k + k * n + 4 * m * n);
}

static void run_int8(const ln_bench_case *bench, size_t task) {
    (void)task;
    const size_t m = bench->dims[0], k = bench->dims[1], n = bench->dims[2], row = k + k % 2;
    for (size_t i = 0; i < m; i += LN_GEMM_I8_ROWS) {
        const size_t rows = m - i < LN_GEMM_I8_ROWS ? m - i : LN_GEMM_I8_ROWS;
        ln_gemm_i8_rows(sums + i * n, n, wide + i * row, row, rows, packed_bytes, n / LN_GEMM_I8_COLUMNS, k);
    }
}

static size_t conv_tasks(void) {
    return conv_plan.task_count;
}

static void run_conv(const ln_bench_case *bench, size_t task) {
    (void)bench;
    conv_plan.route->task(&conv_plan, &conv, task, scratch);
}

#define GEMM(name, m, k, n, layout)                                                                          \
    {                                                                                                        \
        name, setup_gemm, gemm_tasks, run_gemm, 0.0, 0.0, {                                                  \
            m, k, n, layout                                                                                  \
        }                                                                                                    \
    }
#define CONV(name, in, out, groups, size, kernel, stride, route)                                             \
    {                                                                                                        \
        name, setup_conv, conv_tasks, run_conv, 0.0, 0.0, {                                                  \
            in, out, groups, size, kernel, stride, route                                                     \
        }                                                                                                    \
    }

static const ln_bench_case cases[] = {
    GEMM("gemm 128x384x1536", 128, 384, 1536, 0),
    GEMM("gemm 512x512x512", 512, 512, 512, 0),
    GEMM("gemm 197x768x768", 197, 768, 768, 0),
    GEMM("gemm 128x3072x768", 128, 3072, 768, 0),
    GEMM("gemm 8x768x768", 8, 768, 768, 0),
    GEMM("gemm 49x960x160", 49, 960, 160, 0),
    GEMM("gemv 1x768x3072", 1, 768, 3072, 0),
    GEMM("gemm 2x768x3072", 2, 768, 3072, 0),
    GEMM("gemm 3x768x3072", 3, 768, 3072, 0),
    GEMM("gemv 1x4096x4096", 1, 4096, 4096, 0),
    GEMM("dynamic qk 128x64x128", 128, 64, 128, 2),
    GEMM("dynamic pv 128x128x64", 128, 128, 64, 1),
    GEMM("dynamic 512x512x512 rows", 512, 512, 512, 1),
    GEMM("dynamic 512x512x512 cols", 512, 512, 512, 2),
    GEMM("dynamic qk 1x64x512", 1, 64, 512, 2),
    GEMM("dynamic pv 1x512x64", 1, 512, 64, 1),
    {"int8 128x384x1536", setup_int8, NULL, run_int8, 0.0, 0.0, {128, 384, 1536}},
    {"int8 1x768x3072", setup_int8, NULL, run_int8, 0.0, 0.0, {1, 768, 3072}},
    CONV("1x1 256->1024 @14", 256, 1024, 1, 14, 1, 1, 0),
    CONV("1x1 96->24 @56", 96, 24, 1, 56, 1, 1, 0),
    CONV("1x1 24->144 @56", 24, 144, 1, 56, 1, 1, 0),
    CONV("1x1 960->160 @7", 960, 160, 1, 7, 1, 1, 0),
    CONV("1x1 512->512 @7", 512, 512, 1, 7, 1, 1, 0),
    CONV("1x1 32->32 @128", 32, 32, 1, 128, 1, 1, 0),
    CONV("1x1 16->96 @112", 16, 96, 1, 112, 1, 1, 0),
    CONV("1x1s2 256->512 @56", 256, 512, 1, 56, 1, 2, 0),
    CONV("3x3 64->64 @56", 64, 64, 1, 56, 3, 1, 0),
    CONV("3x3 128->128 @28", 128, 128, 1, 28, 3, 1, 0),
    CONV("3x3 256->256 @14", 256, 256, 1, 14, 3, 1, 0),
    CONV("3x3 512->512 @7", 512, 512, 1, 7, 3, 1, 0),
    CONV("7x7s2 3->64 @224", 3, 64, 1, 224, 7, 2, 0),
    CONV("3x3s2 3->32 @224", 3, 32, 1, 224, 3, 2, 0),
    CONV("3x3s2 32->64 @112", 32, 64, 1, 112, 3, 2, 0),
    CONV("3x3 g32 128->128 @28", 128, 128, 32, 28, 3, 1, 0),
    CONV("dw 3x3 8 @56", 8, 8, 8, 56, 3, 1, 0),
    CONV("dw 3x3 96 @56", 96, 96, 96, 56, 3, 1, 0),
    CONV("dw 3x3s2 96 @56", 96, 96, 96, 56, 3, 2, 0),
    CONV("dw 5x5 96 @56", 96, 96, 96, 56, 5, 1, 0),
    CONV("dw 3x3 240 @28", 240, 240, 240, 28, 3, 1, 0),
    CONV("dw 3x3s2 240 @28", 240, 240, 240, 28, 3, 2, 0),
    CONV("dw 5x5 240 @28", 240, 240, 240, 28, 5, 1, 0),
    CONV("dw 5x5s2 240 @28", 240, 240, 240, 28, 5, 2, 0),
    CONV("dw 3x3 576 @14", 576, 576, 576, 14, 3, 1, 0),
    CONV("dw 3x3s2 576 @14", 576, 576, 576, 14, 3, 2, 0),
    CONV("dw 5x5 576 @14", 576, 576, 576, 14, 5, 1, 0),
    CONV("dw 7x7 96 @56", 96, 96, 96, 56, 7, 1, 0),
    CONV("transposed 4x4s2 128->64 @32", 128, 64, 1, 32, 4, 2, 2),
    CONV("transposed 3x3s2 64->32 @64", 64, 32, 1, 64, 3, 2, 2),
    CONV("transposed 2x2s2 64->32 @64", 64, 32, 1, 64, 2, 2, 2),
    CONV("winograd 64->64 @56", 64, 64, 1, 56, 3, 1, 1),
    CONV("winograd 128->128 @28", 128, 128, 1, 28, 3, 1, 1),
    CONV("winograd 256->256 @14", 256, 256, 1, 14, 3, 1, 1),
};

LN_BENCH_FAMILY(product, cases);
