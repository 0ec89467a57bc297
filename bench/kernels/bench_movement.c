/*
 * Kernels that move data in the kernel bench: transposes, pooling and resizing over planes of common models, and
 * conversions between types. Bytes are those of all inputs and outputs.
 */
#include "bench.h"

#include <string.h>

#include "../../simd/vector.h"

enum { ELEMENTS = 98304, PLANES = 7 };

static float *from, *to;

static void setup(const ln_bench_case *bench) {
    (void)bench;
    from = ln_bench_floats(2 * ELEMENTS);
    to = ln_bench_floats(2 * ELEMENTS + 17 * 16) + 17 * 16;
}

/* Small integers of 64 bits. */
static void setup_int64(const ln_bench_case *bench) {
    setup(bench);
    for (size_t i = 0; i < ELEMENTS; i++) {
        ((int64_t *)(void *)from)[i] = (int64_t)i - ELEMENTS / 2;
    }
}

/* ---- Transposes ---- */

static const struct {
    size_t dims[4];
    int perm[4], rank;
    size_t width;
} permutations[] = {
    {{3, 64, 512}, {0, 2, 1}, 3, 4},        /* matrices */
    {{16, 12, 512}, {1, 0, 2}, 3, 4},       /* long runs */
    {{1, 128, 12, 64}, {0, 2, 1, 3}, 4, 4}, /* heads */
    {{256, 384}, {1, 0}, 2, 1},             /* bytes */
    {{256, 384}, {1, 0}, 2, 2},             /* halves */
    {{128, 256, 3}, {2, 0, 1}, 3, 4},       /* pixels to planes */
    {{3, 128, 256}, {1, 2, 0}, 3, 4},       /* planes to pixels */
    {{32, 48, 8, 8}, {0, 2, 1, 3}, 4, 4},   /* short runs */
    {{256, 192}, {1, 0}, 2, 8},             /* 64 bits */
    {{16, 12, 32, 16}, {3, 2, 1, 0}, 4, 4}, /* all axes reversed */
};

static void run_transpose(const ln_bench_case *bench, size_t task) {
    (void)task;
    struct ln_transpose_plan plan;
    ln_plan_transpose(&plan, permutations[bench->dims[0]].dims, permutations[bench->dims[0]].perm,
                      permutations[bench->dims[0]].rank, permutations[bench->dims[0]].width);
    ln_transpose_run(&plan, to, from, 0, plan.units);
}

/* ---- Pooling ---- */

static const struct ln_pooling poolings[] = {
    {{1, 112, 112}, {1, 56, 56}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{1, 112, 112}, {1, 56, 56}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {{1, 112, 112}, {1, 112, 112}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{1, 112, 112}, {1, 112, 112}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
};

/* dims: which pooling, which kernel. */
static void run_pool(const ln_bench_case *bench, size_t task) {
    (void)task;
    const struct ln_pooling *p = &poolings[bench->dims[0]];
    for (size_t plane = 0; plane < PLANES; plane++) {
        float *out = to + plane * (size_t)(p->out[1] * p->out[2]);
        const float *in = from + plane * 112 * 112;
        switch (bench->dims[1]) {
        case 0:
            ln_max_pool_plane_f32(out, in, p);
            break;
        case 1:
            ln_average_pool_plane_f32(out, in, p, 0);
            break;
        case 2:
            ln_max_pool_indices_plane_f32(to, (int64_t *)(void *)(to + ELEMENTS), in, p, 0, 0);
            break;
        default:
            ln_lp_pool_plane_f32(out, in, p, 2.0f);
            break;
        }
    }
}

/* ---- Resizing ---- */

enum { SMALL = 56, LARGE = 112, MAX_TAPS = 4 };

static int32_t indices[MAX_TAPS * LARGE];
static float weights[MAX_TAPS * LARGE], window[MAX_TAPS * (LARGE + 1)];

static void setup_resize(const ln_bench_case *bench) {
    setup(bench);
    const size_t taps = bench->dims[1];
    for (size_t i = 0; i < LARGE; i++) {
        for (size_t t = 0; t < taps; t++) {
            const size_t at = i / 2 + t;
            indices[i * taps + t] = (int32_t)(at < SMALL ? at : SMALL - 1);
            weights[i * taps + t] = 1.0f / (float)taps;
        }
    }
}

/* dims: which kernel, taps. */
static void run_resize(const ln_bench_case *bench, size_t task) {
    (void)task;
    const struct ln_resize_axis axis = {bench->dims[1], indices, weights};
    for (size_t plane = 0; plane < PLANES; plane++) {
        float *out = to + plane * LARGE * LARGE;
        const float *in = from + plane * SMALL * SMALL;
        switch (bench->dims[0]) {
        case 0:
            ln_resize_linear_2x_f32(out, in, SMALL, SMALL, 0, LARGE);
            break;
        case 1:
            ln_resize_nearest_2x_f32(out, in, SMALL, SMALL, 0, LARGE);
            break;
        case 2:
            ln_resize_nearest(out, in, SMALL, LARGE, indices, indices, 0, LARGE, 4, NULL);
            break;
        case 3:
            ln_resize_plane_f32(out, in, SMALL, LARGE, &axis, &axis, 0, LARGE, window);
            break;
        default:
            ln_resize_axis_f32(out, in, LARGE, &axis, 0, LARGE / 2);
            break;
        }
    }
}

/* ---- Conversions ---- */

#define CONVERSIONS(X)                                                                                       \
    X(f32_to_f16, uint16_t, float)                                                                           \
    X(f16_to_f32, float, uint16_t)                                                                           \
    X(f32_to_bf16, uint16_t, float)                                                                          \
    X(bf16_to_f32, float, uint16_t)                                                                          \
    X(i32_to_f32, float, int32_t)                                                                            \
    X(f32_to_i32, int32_t, float)                                                                            \
    X(i64_to_f32, float, int64_t)                                                                            \
    X(f32_to_i64, int64_t, float)                                                                            \
    X(f64_to_f32, float, double)                                                                             \
    X(f32_to_f64, double, float)                                                                             \
    X(u8_to_f32, float, uint8_t)                                                                             \
    X(i8_to_f32, float, int8_t)

#define CONVERT_RUN(name, out, in)                                                                           \
    static void run_##name(const ln_bench_case *bench, size_t task) {                                        \
        (void)bench;                                                                                         \
        (void)task;                                                                                          \
        ln_##name((out *)(void *)to, (const in *)(const void *)from, ELEMENTS);                              \
    }
CONVERSIONS(CONVERT_RUN)

#define QUANTISED(X) X(u8, uint8_t) X(i8, int8_t)
#define QUANTISE_RUN(type, element)                                                                          \
    static void run_quantize_##type(const ln_bench_case *bench, size_t task) {                               \
        (void)bench;                                                                                         \
        (void)task;                                                                                          \
        ln_quantize_##type##_f32((element *)(void *)to, from, ELEMENTS, 0.01f, 1);                           \
    }                                                                                                        \
    static void run_dequantize_##type(const ln_bench_case *bench, size_t task) {                             \
        (void)bench;                                                                                         \
        (void)task;                                                                                          \
        ln_dequantize_##type##_f32(to, (const element *)(const void *)from, ELEMENTS, 0.01f, 1);             \
    }
QUANTISED(QUANTISE_RUN)

static void run_dequantize_i32(const ln_bench_case *bench, size_t task) {
    (void)bench;
    (void)task;
    ln_dequantize_i32_f32(to, (const int32_t *)(const void *)from, ELEMENTS, 0.01f, 1);
}

#define TRANSPOSE(name, which, element)                                                                      \
    {                                                                                                        \
        "transpose " name, setup, NULL, run_transpose, 0.0, 2.0 * (element) * ELEMENTS, {                    \
            which                                                                                            \
        }                                                                                                    \
    }
#define POOL(name, which, kernel, out)                                                                       \
    {                                                                                                        \
        name, setup, NULL, run_pool, 0.0, 4.0 * PLANES * (112 * 112 + (out)), {                              \
            which, kernel                                                                                    \
        }                                                                                                    \
    }
#define RESIZE(name, which, taps, in, out)                                                                   \
    {                                                                                                        \
        name, setup_resize, NULL, run_resize, 0.0, 4.0 * PLANES *((in) + (out)), {                           \
            which, taps                                                                                      \
        }                                                                                                    \
    }
#define SETUP_OF(in) _Generic((in){0}, int64_t: setup_int64, default: setup)
#define CONVERT(name, out, in)                                                                               \
    {#name, SETUP_OF(in), NULL, run_##name, 0.0, (sizeof(out) + sizeof(in)) * 1.0 * ELEMENTS, {0}},
#define QUANTISE(type, element)                                                                              \
    {"quantize " #type, setup, NULL, run_quantize_##type, 0.0, 5.0 * ELEMENTS, {0}},                         \
        {"dequantize " #type, setup, NULL, run_dequantize_##type, 0.0, 5.0 * ELEMENTS, {0}},

static const ln_bench_case cases[] = {
    TRANSPOSE("0,2,1", 0, 4),
    TRANSPOSE("1,0,2 runs of 2 KB", 1, 4),
    TRANSPOSE("0,2,1,3 runs of 256 B", 2, 4),
    TRANSPOSE("0,2,1,3 runs of 32 B", 7, 4),
    TRANSPOSE("3,2,1,0", 9, 4),
    TRANSPOSE("bytes", 3, 1),
    TRANSPOSE("halves", 4, 2),
    TRANSPOSE("64 bits", 8, 4), /* half as many elements */
    TRANSPOSE("pixels to planes", 5, 4),
    TRANSPOSE("planes to pixels", 6, 4),
    POOL("maxpool 3x3s2 7@112", 0, 0, 56 * 56),
    POOL("maxpool 2x2s2 7@112", 1, 0, 56 * 56),
    POOL("maxpool 3x3s1 7@112", 2, 0, 112 * 112),
    POOL("maxpool 5x5s1 7@112", 3, 0, 112 * 112),
    POOL("maxpool 2x2s2 indices 7@112", 1, 2, 3 * 56 * 56),
    POOL("avgpool 3x3s2 7@112", 0, 1, 56 * 56),
    POOL("avgpool 2x2s2 7@112", 1, 1, 56 * 56),
    POOL("avgpool 3x3s1 7@112", 2, 1, 112 * 112),
    POOL("lppool 2x2s2 7@112", 1, 3, 56 * 56),
    RESIZE("resize linear 2x 7@56", 0, 2, SMALL *SMALL, LARGE *LARGE),
    RESIZE("resize nearest 2x 7@56", 1, 1, SMALL *SMALL, LARGE *LARGE),
    RESIZE("resize nearest tables 7@56", 2, 1, SMALL *SMALL, LARGE *LARGE),
    RESIZE("resize linear tables 7@56", 3, 2, SMALL *SMALL, LARGE *LARGE),
    RESIZE("resize cubic tables 7@56", 3, 4, SMALL *SMALL, LARGE *LARGE),
    RESIZE("resize axis linear 7@56", 4, 2, SMALL / 2 * LARGE, SMALL *LARGE),
    CONVERSIONS(CONVERT)
        QUANTISED(QUANTISE){"dequantize i32", setup, NULL, run_dequantize_i32, 0.0, 8.0 * ELEMENTS, {0}},
};
LN_BENCH_FAMILY(movement, cases);
