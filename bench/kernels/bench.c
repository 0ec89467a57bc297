/*
 * What run.mjs calls: the list of all cases, and the setting up and running of one. Besides, the ceilings of the machine, which
 * are cases as well: multiply-add from registers, a copy that stays in the caches of a core, and reading from memory.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "../../simd/simd.h"

#define EXPORT __attribute__((visibility("default"), used))

struct ln_bench_work ln_bench_work;

static void *owned[32];
static size_t owned_count;

void *ln_bench_keep(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    owned[owned_count++] = p;
    return p;
}

float *ln_bench_floats(size_t count) {
    static uint32_t seed = 1;
    float *p = ln_bench_keep(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return p;
}

/* ---- Ceilings ---- */

enum { CHAINS = 12, MADDS = 20000 };

static float *from, *to;

static void setup_copy(const ln_bench_case *bench) {
    from = ln_bench_floats(bench->dims[0]);
    /* An odd number of cache lines further on, so that the two do not share cache sets. */
    to = (float *)ln_bench_keep((bench->dims[0] + 17 * 16) * sizeof(float)) + 17 * 16;
    memset(to, 0, bench->dims[0] * sizeof(float));
}

/* Enough independent chains that only the rate of the multiply-add counts. */
static void run_madds(const ln_bench_case *bench, size_t task) {
    (void)bench;
    (void)task;
    const ln_v32f a = ln_load(from), b = ln_load(from + 4);
    ln_v32f sums[CHAINS];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < CHAINS; i++) {
        sums[i] = ln_load(from + 4 * i);
    }
    LN_LOOP_ROLLED
    for (size_t i = 0; i < MADDS; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < CHAINS; j++) {
            sums[j] = ln_madd(sums[j], a, b);
        }
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < CHAINS; i++) {
        ln_store(to + 4 * i, sums[i]);
    }
}

static void run_copy(const ln_bench_case *bench, size_t task) {
    (void)task;
    memcpy(to, from, bench->dims[0] * sizeof(float));
}

enum { READ_TASKS = 64 };

static size_t read_tasks(void) {
    return READ_TASKS;
}

/* What one does with weights that fit no cache: a part of them in each task. */
static void run_read(const ln_bench_case *bench, size_t task) {
    const size_t count = bench->dims[0] / READ_TASKS;
    const float *part = from + task * count;
    ln_v32f sums[4] = {ln_zero(), ln_zero(), ln_zero(), ln_zero()};
    for (size_t i = 0; i < count; i += 16) {
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < 4; v++) {
            sums[v] = ln_add(sums[v], ln_load(part + i + 4 * v));
        }
    }
    ln_store(to, ln_add(ln_add(sums[0], sums[1]), ln_add(sums[2], sums[3])));
}

static void setup_read(const ln_bench_case *bench) {
    from = ln_bench_floats(bench->dims[0]);
    to = ln_bench_floats(4);
}

static const ln_bench_case ceilings[] = {
    {"ceiling multiply-add", setup_copy, NULL, run_madds, 8.0 * CHAINS *MADDS, 0.0, {1024}},
    {"ceiling copy 2 x 384 KB", setup_copy, NULL, run_copy, 0.0, 8.0 * 98304, {98304}},
    {"ceiling read 64 MB", setup_read, read_tasks, run_read, 0.0, 4.0 * 16777216, {16777216}},
};
LN_BENCH_FAMILY(ceilings, ceilings);

/* ---- The interface of the module ---- */

static const ln_bench_family *const families[] = {&ln_bench_ceilings, &ln_bench_product, &ln_bench_vector,
                                                  &ln_bench_movement};

static const ln_bench_case *current;

static const ln_bench_case *find(size_t index) {
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        if (index < families[f]->count) {
            return &families[f]->cases[index];
        }
        index -= families[f]->count;
    }
    return NULL;
}

static void forget(void) {
    while (owned_count > 0) {
        free(owned[--owned_count]);
    }
}

/* The name of a case, or NULL past the last one. */
EXPORT const char *bench_name(size_t index) {
    const ln_bench_case *bench = find(index);
    return bench != NULL ? bench->name : NULL;
}

/* Makes a case the current one and answers how many tasks it has. */
EXPORT size_t bench_setup(size_t index) {
    forget();
    current = find(index);
    ln_bench_work = (struct ln_bench_work){current->flops, current->bytes};
    current->setup(current);
    return current->tasks != NULL ? current->tasks() : 1;
}

EXPORT double bench_flops(void) {
    return ln_bench_work.flops;
}

EXPORT double bench_bytes(void) {
    return ln_bench_work.bytes;
}

EXPORT void bench_run(size_t task) {
    current->run(current, task);
}

/* A product with packed B becomes the current case. */
EXPORT void bench_setup_gemm(size_t m, size_t k, size_t n) {
    forget();
    current = &ln_bench_product.cases[0];
    ln_bench_setup_gemm(m, k, n, 0);
}

EXPORT void bench_repeat(size_t repeats) {
    const size_t tasks = current->tasks();
    for (size_t i = 0; i < repeats; i++) {
        for (size_t task = 0; task < tasks; task++) {
            current->run(current, task);
        }
    }
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
