/*
 * The kernels' speed, seen from inside one wasm module: a table of cases that run.mjs sets up, runs and
 * times. Each case is one call of a kernel on random data, all its tasks on one thread, weights packed
 * beforehand.
 *
 * The names and shapes are those of common models, so that a change shows where it matters.
 */
#include <stdlib.h>
#include <string.h>

#include "../../simd/kernels.h"

#define EXPORT __attribute__((visibility("default"), used))

typedef struct bench_case {
    const char *name;
    void (*setup)(const struct bench_case *);
    size_t (*tasks)(void);
    void (*run)(size_t task);
    size_t dims[8];
} bench_case;

static ln_gemm_f32_args gemm;
static ln_conv_f32_plan conv_plan;
static ln_conv_f32_args conv;
static void *scratch;
static double flops;
static void *owned[16];
static size_t owned_count;

static void *keep(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    owned[owned_count++] = p;
    return p;
}

static float *random_floats(size_t count) {
    static uint32_t seed = 1;
    float *p = keep(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return p;
}

/* dims: m, k, n, how B comes (0 packed, 1 rows, 2 columns) */
static void setup_gemm(const bench_case *bench) {
    const size_t m = bench->dims[0], k = bench->dims[1], n = bench->dims[2], layout = bench->dims[3];
    gemm = (ln_gemm_f32_args){.m = m, .n = n, .k = k, .alpha = 1.0f, .beta = 1.0f};
    gemm.a = random_floats(m * k);
    gemm.a_row_stride = k;
    gemm.a_col_stride = 1;
    gemm.b = random_floats(k * n);
    gemm.b_row_stride = layout == 2 ? 1 : n;
    gemm.b_col_stride = layout == 2 ? k : 1;
    gemm.bias = random_floats(n);
    gemm.bias_col_stride = 1;
    gemm.c = random_floats(m * n);
    gemm.c_row_stride = n;
    gemm.activation = (ln_activation_f32){.present = true, .kind = LN_UNARY_RELU};
    if (layout == 0) {
        float *packed = keep(ln_gemm_f32.packed_b_bytes(k, n));
        ln_gemm_f32.pack_b(packed, gemm.b, n, 1, k, n);
        gemm.b = packed;
        gemm.b_is_packed = true;
    }
    scratch = keep(ln_gemm_f32.scratch_bytes(&gemm));
    flops = 2.0 * (double)m * (double)n * (double)k;
}

static size_t gemm_tasks(void) {
    return ln_gemm_f32.task_count(&gemm);
}

static void run_gemm(size_t task) {
    ln_gemm_f32.task(&gemm, task, scratch);
}

/*
 * dims: in channels, out channels, groups, size, kernel, stride, route (0 default, 1 Winograd, 2 transposed)
 */
static void setup_conv(const bench_case *bench) {
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
    const float *w = random_floats(shape.out_channels * depth);
    float *packed = keep(route->packed_bytes(&shape));
    route->pack(&shape, packed, w);
    ln_conv_f32_plan_init(&conv_plan, route, &shape);
    conv = (ln_conv_f32_args){.w_packed = packed};
    conv.x = random_floats(shape.in_channels * shape.in[0] * shape.in[1]);
    conv.bias = random_floats(shape.out_channels);
    conv.y = random_floats(shape.out_channels * pixels);
    conv.activation = (ln_activation_f32){.present = true, .kind = LN_UNARY_RELU};
    scratch = keep(conv_plan.scratch_bytes);
    flops = 2.0 * (double)shape.out_channels * (double)depth * (double)multiplied;
}

static size_t conv_tasks(void) {
    return conv_plan.task_count;
}

static void run_conv(size_t task) {
    conv_plan.route->task(&conv_plan, &conv, task, scratch);
}

static const bench_case cases[] = {
    {"gemm 128x384x1536", setup_gemm, gemm_tasks, run_gemm, {128, 384, 1536, 0}},
    {"gemm 512x512x512", setup_gemm, gemm_tasks, run_gemm, {512, 512, 512, 0}},
    {"gemm 197x768x768", setup_gemm, gemm_tasks, run_gemm, {197, 768, 768, 0}},
    {"gemm 128x3072x768", setup_gemm, gemm_tasks, run_gemm, {128, 3072, 768, 0}},
    {"gemm 8x768x768", setup_gemm, gemm_tasks, run_gemm, {8, 768, 768, 0}},
    {"gemm 49x960x160", setup_gemm, gemm_tasks, run_gemm, {49, 960, 160, 0}},
    {"gemv 1x768x3072", setup_gemm, gemm_tasks, run_gemm, {1, 768, 3072, 0}},
    {"gemm 2x768x3072", setup_gemm, gemm_tasks, run_gemm, {2, 768, 3072, 0}},
    {"gemm 3x768x3072", setup_gemm, gemm_tasks, run_gemm, {3, 768, 3072, 0}},
    {"gemv 1x4096x4096", setup_gemm, gemm_tasks, run_gemm, {1, 4096, 4096, 0}},
    {"dynamic qk 128x64x128", setup_gemm, gemm_tasks, run_gemm, {128, 64, 128, 2}},
    {"dynamic pv 128x128x64", setup_gemm, gemm_tasks, run_gemm, {128, 128, 64, 1}},
    {"dynamic 512x512x512 rows", setup_gemm, gemm_tasks, run_gemm, {512, 512, 512, 1}},
    {"dynamic 512x512x512 cols", setup_gemm, gemm_tasks, run_gemm, {512, 512, 512, 2}},
    {"dynamic qk 1x64x512", setup_gemm, gemm_tasks, run_gemm, {1, 64, 512, 2}},
    {"dynamic pv 1x512x64", setup_gemm, gemm_tasks, run_gemm, {1, 512, 64, 1}},
    {"1x1 256->1024 @14", setup_conv, conv_tasks, run_conv, {256, 1024, 1, 14, 1, 1, 0}},
    {"1x1 96->24 @56", setup_conv, conv_tasks, run_conv, {96, 24, 1, 56, 1, 1, 0}},
    {"1x1 24->144 @56", setup_conv, conv_tasks, run_conv, {24, 144, 1, 56, 1, 1, 0}},
    {"1x1 960->160 @7", setup_conv, conv_tasks, run_conv, {960, 160, 1, 7, 1, 1, 0}},
    {"1x1 512->512 @7", setup_conv, conv_tasks, run_conv, {512, 512, 1, 7, 1, 1, 0}},
    {"1x1s2 256->512 @56", setup_conv, conv_tasks, run_conv, {256, 512, 1, 56, 1, 2, 0}},
    {"3x3 64->64 @56", setup_conv, conv_tasks, run_conv, {64, 64, 1, 56, 3, 1, 0}},
    {"3x3 128->128 @28", setup_conv, conv_tasks, run_conv, {128, 128, 1, 28, 3, 1, 0}},
    {"3x3 256->256 @14", setup_conv, conv_tasks, run_conv, {256, 256, 1, 14, 3, 1, 0}},
    {"3x3 512->512 @7", setup_conv, conv_tasks, run_conv, {512, 512, 1, 7, 3, 1, 0}},
    {"7x7s2 3->64 @224", setup_conv, conv_tasks, run_conv, {3, 64, 1, 224, 7, 2, 0}},
    {"3x3s2 3->32 @224", setup_conv, conv_tasks, run_conv, {3, 32, 1, 224, 3, 2, 0}},
    {"3x3s2 32->64 @112", setup_conv, conv_tasks, run_conv, {32, 64, 1, 112, 3, 2, 0}},
    {"3x3 g32 128->128 @28", setup_conv, conv_tasks, run_conv, {128, 128, 32, 28, 3, 1, 0}},
    {"dw 3x3 8 @56", setup_conv, conv_tasks, run_conv, {8, 8, 8, 56, 3, 1, 0}},
    {"dw 3x3 96 @56", setup_conv, conv_tasks, run_conv, {96, 96, 96, 56, 3, 1, 0}},
    {"dw 3x3s2 96 @56", setup_conv, conv_tasks, run_conv, {96, 96, 96, 56, 3, 2, 0}},
    {"dw 5x5 96 @56", setup_conv, conv_tasks, run_conv, {96, 96, 96, 56, 5, 1, 0}},
    {"dw 3x3 240 @28", setup_conv, conv_tasks, run_conv, {240, 240, 240, 28, 3, 1, 0}},
    {"dw 3x3s2 240 @28", setup_conv, conv_tasks, run_conv, {240, 240, 240, 28, 3, 2, 0}},
    {"dw 5x5 240 @28", setup_conv, conv_tasks, run_conv, {240, 240, 240, 28, 5, 1, 0}},
    {"dw 5x5s2 240 @28", setup_conv, conv_tasks, run_conv, {240, 240, 240, 28, 5, 2, 0}},
    {"dw 3x3 576 @14", setup_conv, conv_tasks, run_conv, {576, 576, 576, 14, 3, 1, 0}},
    {"dw 3x3s2 576 @14", setup_conv, conv_tasks, run_conv, {576, 576, 576, 14, 3, 2, 0}},
    {"dw 5x5 576 @14", setup_conv, conv_tasks, run_conv, {576, 576, 576, 14, 5, 1, 0}},
    {"dw 7x7 96 @56", setup_conv, conv_tasks, run_conv, {96, 96, 96, 56, 7, 1, 0}},
    {"transposed 4x4s2 128->64 @32", setup_conv, conv_tasks, run_conv, {128, 64, 1, 32, 4, 2, 2}},
    {"transposed 2x2s2 64->32 @64", setup_conv, conv_tasks, run_conv, {64, 32, 1, 64, 2, 2, 2}},
    {"winograd 64->64 @56", setup_conv, conv_tasks, run_conv, {64, 64, 1, 56, 3, 1, 1}},
    {"winograd 128->128 @28", setup_conv, conv_tasks, run_conv, {128, 128, 1, 28, 3, 1, 1}},
    {"winograd 256->256 @14", setup_conv, conv_tasks, run_conv, {256, 256, 1, 14, 3, 1, 1}},
};

EXPORT size_t bench_count(void) {
    return sizeof cases / sizeof *cases;
}

EXPORT const char *bench_name(size_t index) {
    return cases[index].name;
}

EXPORT double bench_setup(size_t index) {
    while (owned_count > 0) {
        free(owned[--owned_count]);
    }
    cases[index].setup(&cases[index]);
    return flops;
}

EXPORT size_t bench_tasks(size_t index) {
    return cases[index].tasks();
}

EXPORT void bench_run(size_t index, size_t task) {
    cases[index].run(task);
}

/* A chain of dependent additions: its rate is the clock's, and tells a slow kernel from a slow machine. */
EXPORT double bench_canary(size_t repeats) {
    double x = 0.0;
    for (size_t i = 0; i < repeats; i++) {
        x += 1.0;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}
