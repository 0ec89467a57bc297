/*
 * What a kernel test needs: counted checks, repeatable numbers, and buffers whose edges are watched.
 *
 * A test's main runs its cases and returns check_report(), which prints "N passed, N failed" and is not zero
 * when one failed. Only the first failures are described; all are counted.
 */
#ifndef LN_TEST_CHECK_H
#define LN_TEST_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_DESCRIBED = 20, CHECK_GUARD = 16 };

static int check_passed, check_failed;
static uint32_t check_seed = 1;

#define CHECK(condition, ...)                                                                                \
    do {                                                                                                     \
        if (condition) {                                                                                     \
            check_passed++;                                                                                  \
        } else if (check_failed++ < CHECK_DESCRIBED) {                                                       \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                           \
            printf(__VA_ARGS__);                                                                             \
            printf("\n");                                                                                    \
        }                                                                                                    \
    } while (0)

static inline int check_report(void) {
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}

static inline uint32_t check_random(void) {
    check_seed = check_seed * 1664525u + 1013904223u;
    return check_seed >> 8;
}

/* Uniform in [-1, 1). */
static inline float check_random_float(void) {
    return (float)check_random() / 8388608.0f - 1.0f;
}

static inline void *check_alloc(size_t bytes) {
    void *p = malloc(bytes + (bytes == 0));
    if (p == NULL) {
        printf("out of memory\n");
        exit(2);
    }
    return p;
}

/* Exactly `count` random floats: a sanitizer sees the first read past them. */
static inline float *check_random_floats(size_t count) {
    float *p = check_alloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        p[i] = check_random_float();
    }
    return p;
}

/* A buffer of `count` floats with guards on both sides; everything holds a pattern no kernel computes. */
typedef struct check_guarded {
    float *floats;
    size_t count;
    float *memory;
} check_guarded;

static const float check_pattern = -7.7777e33f;

static inline check_guarded check_guard(size_t count) {
    check_guarded guarded = {.count = count};
    guarded.memory = check_alloc((count + 2 * CHECK_GUARD) * sizeof(float));
    guarded.floats = guarded.memory + CHECK_GUARD;
    for (size_t i = 0; i < count + 2 * CHECK_GUARD; i++) {
        guarded.memory[i] = check_pattern;
    }
    return guarded;
}

static inline bool check_untouched(float x) {
    return memcmp(&x, &check_pattern, sizeof x) == 0;
}

static inline bool check_guards_hold(const check_guarded *guarded) {
    for (size_t i = 0; i < CHECK_GUARD; i++) {
        if (!check_untouched(guarded->memory[i]) || !check_untouched(guarded->floats[guarded->count + i])) {
            return false;
        }
    }
    return true;
}

/* Equal within `tolerance`, NaN equal to NaN, infinities equal to themselves. */
static inline bool check_near(double got, double expected, double tolerance) {
    if (isnan(expected) || isnan(got)) {
        return isnan(expected) && isnan(got);
    }
    if (isinf(expected) || isinf(got)) {
        return expected == got;
    }
    return fabs(got - expected) <= tolerance;
}

#endif
