/*
 * The speed of the vector kernels, in the form run.mjs expects: vector math and memory-bound kernels over arrays of
 * 384 KB, which stay in L2, pooling and resizing over planes of common models. The rate counts bytes read and written.
 */
#include <stdlib.h>
#include <string.h>

#include "../../simd/vector.h"

#define EXPORT __attribute__((visibility("default"), used))

enum { ELEMENTS = 98304, ROW = 512, ROWS = ELEMENTS / ROW, PLANES = 7 };

static float *a, *b, *c, *positives, *vector;
static uint8_t *bytes;

typedef struct bench_case {
    const char *name;
    void (*run)(const struct bench_case *);
    double moved; /* elements read and written */
    size_t option;
} bench_case;

static void run_unary(const bench_case *bench) {
    const float alpha = bench->option == LN_UNARY_CLIP ? -0.5f : 1.7f;
    const int positive = bench->option == LN_UNARY_LOG || bench->option == LN_UNARY_SQRT;
    ln_unary_f32[bench->option](c, positive ? positives : a, ELEMENTS, alpha, 0.5f);
}

static void run_binary(const bench_case *bench) {
    ln_binary_f32[bench->option](c, a, 1, b, 1, ELEMENTS);
}

static void run_compare(const bench_case *bench) {
    (void)bench;
    ln_compare_f32[LN_COMPARE_LT](bytes, a, 1, b, 1, ELEMENTS);
}

static void run_reduce_inner(const bench_case *bench) {
    ln_reduce_inner_f32[bench->option](c, a, ROWS, ROW);
}

static void run_reduce_outer(const bench_case *bench) {
    ln_reduce_outer_f32[bench->option](c, a, ROWS, ROW, ROW);
}

static void run_argmax(const bench_case *bench) {
    (void)bench;
    ln_arg_inner_f32((int64_t *)(void *)c, a, ROWS, ROW, LN_ARG_MAX, 0);
}

static void run_softmax(const bench_case *bench) {
    if (bench->option == 0) {
        ln_softmax_rows_f32(c, a, ROWS, ROW, 1.0f, NULL, 0);
    } else if (bench->option == 1) {
        ln_softmax_rows_f32(c, a, ROWS, ROW, 0.125f, b, ROW);
    } else {
        ln_softmax_columns_f32(c, a, ROW, ROWS, ROWS);
    }
}

static void run_norm(const bench_case *bench) {
    if (bench->option == 0) {
        ln_layer_norm_rows_f32(c, a, ROWS, ROW, vector, b, 1e-5f, NULL, NULL);
    } else if (bench->option == 1) {
        ln_rms_norm_rows_f32(c, a, ROWS, ROW, vector, 1e-5f, NULL);
    } else {
        ln_skip_layer_norm_rows_f32(c, NULL, a, b, NULL, ROWS, ROW, vector, b, 1e-5f, NULL, NULL);
    }
}

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
};

static void run_transpose(const bench_case *bench) {
    struct ln_transpose_plan plan;
    ln_plan_transpose(&plan, permutations[bench->option].dims, permutations[bench->option].perm,
                      permutations[bench->option].rank, permutations[bench->option].width);
    ln_transpose_run(&plan, c, a, 0, plan.units);
}

static const struct ln_pooling poolings[] = {
    {{1, 112, 112}, {1, 56, 56}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{1, 112, 112}, {1, 56, 56}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {{1, 112, 112}, {1, 112, 112}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{1, 112, 112}, {1, 112, 112}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
};

static void run_max_pool(const bench_case *bench) {
    const struct ln_pooling *p = &poolings[bench->option];
    for (size_t plane = 0; plane < PLANES; plane++) {
        ln_max_pool_plane_f32(c + plane * (size_t)(p->out[1] * p->out[2]), a + plane * 112 * 112, p);
    }
}

static void run_average_pool(const bench_case *bench) {
    const struct ln_pooling *p = &poolings[bench->option];
    for (size_t plane = 0; plane < PLANES; plane++) {
        ln_average_pool_plane_f32(c + plane * (size_t)(p->out[1] * p->out[2]), a + plane * 112 * 112, p, 0);
    }
}

static void run_global_pool(const bench_case *bench) {
    (void)bench;
    ln_reduce_inner_f32[LN_REDUCE_MEAN](c, a, PLANES, 56 * 56);
}

static int32_t index_table[2 * 112];
static float weight_table[2 * 112], scratch[2 * 113];

static void run_resize(const bench_case *bench) {
    const struct ln_resize_axis axis = {2, index_table, weight_table};
    for (size_t plane = 0; plane < PLANES; plane++) {
        float *to = c + plane * 112 * 112;
        const float *from = a + plane * 56 * 56;
        if (bench->option == 0) {
            ln_resize_linear_2x_f32(to, from, 56, 56, 0, 112);
        } else if (bench->option == 1) {
            ln_resize_nearest_2x_f32(to, from, 56, 56, 0, 112);
        } else {
            ln_resize_plane_f32(to, from, 56, 112, &axis, &axis, 0, 112, scratch);
        }
    }
}

static void run_convert(const bench_case *bench) {
    uint16_t *halves = (uint16_t *)(void *)bytes;
    switch (bench->option) {
    case 0:
        ln_f32_to_f16(halves, a, ELEMENTS);
        break;
    case 1:
        ln_f16_to_f32(c, halves, ELEMENTS);
        break;
    case 2:
        ln_f32_to_bf16(halves, a, ELEMENTS);
        break;
    case 3:
        ln_quantize_u8_f32(bytes, a, ELEMENTS, 0.01f, 128);
        break;
    default:
        ln_dequantize_u8_f32(c, bytes, ELEMENTS, 0.01f, 128);
        break;
    }
}

#define UNARY(upper, lower)  {"unary " #lower, run_unary, 2.0 * ELEMENTS, LN_UNARY_##upper},
#define BINARY(upper, lower) {"binary " #lower, run_binary, 3.0 * ELEMENTS, LN_BINARY_##upper},
#define REDUCE(upper, lower)                                                                                 \
    {"inner " #lower, run_reduce_inner, ELEMENTS, LN_REDUCE_##upper},                                        \
        {"outer " #lower, run_reduce_outer, ELEMENTS, LN_REDUCE_##upper},

static const bench_case cases[] = {
    LN_UNARY_LIST(UNARY) LN_BINARY_LIST(BINARY)
        LN_REDUCE_LIST(REDUCE){"compare lt", run_compare, 2.25 * ELEMENTS, 0},
    {"argmax rows", run_argmax, ELEMENTS, 0},
    {"softmax rows 512", run_softmax, 2.0 * ELEMENTS, 0},
    {"softmax rows 512 scale mask", run_softmax, 3.0 * ELEMENTS, 1},
    {"softmax columns 512", run_softmax, 2.0 * ELEMENTS, 2},
    {"layer norm 512", run_norm, 2.0 * ELEMENTS, 0},
    {"rms norm 512", run_norm, 2.0 * ELEMENTS, 1},
    {"skip layer norm 512", run_norm, 3.0 * ELEMENTS, 2},
    {"transpose 0,2,1", run_transpose, 2.0 * ELEMENTS, 0},
    {"transpose 1,0,2 runs of 2 KB", run_transpose, 2.0 * ELEMENTS, 1},
    {"transpose 0,2,1,3 runs of 256 B", run_transpose, 2.0 * ELEMENTS, 2},
    {"transpose bytes", run_transpose, 0.5 * ELEMENTS, 3},
    {"transpose halves", run_transpose, ELEMENTS, 4},
    {"transpose pixels to planes", run_transpose, 2.0 * ELEMENTS, 5},
    {"transpose planes to pixels", run_transpose, 2.0 * ELEMENTS, 6},
    {"maxpool 3x3s2 7@112", run_max_pool, 109760.0, 0},
    {"maxpool 2x2s2 7@112", run_max_pool, 109760.0, 1},
    {"maxpool 3x3s1 7@112", run_max_pool, 175616.0, 2},
    {"maxpool 5x5s1 7@112", run_max_pool, 175616.0, 3},
    {"avgpool 3x3s2 7@112", run_average_pool, 109760.0, 0},
    {"avgpool 2x2s2 7@112", run_average_pool, 109760.0, 1},
    {"avgpool 3x3s1 7@112", run_average_pool, 175616.0, 2},
    {"global avgpool 7@56", run_global_pool, 21952.0, 0},
    {"resize linear 2x 7@56", run_resize, 109760.0, 0},
    {"resize nearest 2x 7@56", run_resize, 109760.0, 1},
    {"resize tables 7@56", run_resize, 109760.0, 2},
    {"f32 to f16", run_convert, 1.5 * ELEMENTS, 0},
    {"f16 to f32", run_convert, 1.5 * ELEMENTS, 1},
    {"f32 to bf16", run_convert, 1.5 * ELEMENTS, 2},
    {"quantise u8", run_convert, 1.25 * ELEMENTS, 3},
    {"dequantise u8", run_convert, 1.25 * ELEMENTS, 4},
};

EXPORT int bench_count(void) {
    return (int)(sizeof cases / sizeof cases[0]);
}

EXPORT const char *bench_name(int index) {
    return cases[index].name;
}

/* Returns the bytes a run moves. */
EXPORT double bench_setup(int index) {
    if (a == NULL) {
        /* Offsets of an odd number of lines: arrays a power of two apart would share cache sets. */
        const size_t room = (2 * ELEMENTS + 64 * 17) * sizeof(float);
        a = aligned_alloc(64, room);
        b = aligned_alloc(64, room);
        c = aligned_alloc(64, room);
        positives = aligned_alloc(64, room);
        vector = aligned_alloc(64, ROW * sizeof(float));
        bytes = aligned_alloc(64, room);
    }
    uint32_t seed = 1;
    for (size_t i = 0; i < ELEMENTS; i++) {
        seed = seed * 1664525u + 1013904223u;
        a[i] = (float)(seed >> 8) / 4194304.0f - 2.0f;
        b[i] = (float)(seed >> 9) / 4194304.0f - 1.0f;
        positives[i] = a[i] + 2.001f;
        vector[i % ROW] = b[i];
    }
    for (int i = 0; i < 112; i++) {
        index_table[2 * i] = i / 2 < 55 ? i / 2 : 54;
        index_table[2 * i + 1] = index_table[2 * i] + 1;
        weight_table[2 * i] = i % 2 ? 0.25f : 0.75f;
        weight_table[2 * i + 1] = 1.0f - weight_table[2 * i];
    }
    memset(bytes, 0x3c, ELEMENTS * 2);
    return cases[index].moved * 4.0;
}

EXPORT size_t bench_tasks(int index) {
    (void)index;
    return 1;
}

EXPORT void bench_run(int index, int task) {
    (void)task;
    cases[index].run(&cases[index]);
}

/* A chain of dependent additions. */
EXPORT double bench_canary(size_t repeats) {
    double x = 0.0;
    for (size_t i = 0; i < repeats; i++) {
        x += 1.0;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}
