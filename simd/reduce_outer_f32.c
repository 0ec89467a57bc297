/*
 * Reductions over an axis that is not the last: the table ln_reduce_outer_f32.
 *
 * Columns go in strips of 64, rows in blocks of 64: a block is reduced into a strip of float accumulators, four rows
 * a step, and the blocks' sums are added in double. A column's result depends on nothing but its own elements. The
 * last vector of a strip overlaps the one before; strips of fewer than four columns are copied, a block at a time,
 * into rows of four.
 */
#include "vector.h"
#include "vmath.h"

#include <math.h>

enum { STRIP = 64, VECTORS = STRIP / 4, ROWS = 64 };

/* What a strip's column has gathered so far. */
struct strip {
    size_t vectors;
    size_t offset[VECTORS]; /* column of each vector's first lane */
    float block[STRIP];     /* accumulators, one vector after the other */
    float shift[STRIP];     /* LOGSUMEXP: the columns' maxima */
    double total[STRIP];
};

static void strip_start(struct strip *strip, size_t columns, float initial) {
    strip->vectors = (columns + 3) / 4;
    for (size_t v = 0; v < strip->vectors; v++) {
        strip->offset[v] = 4 * v + 4 <= columns || columns < 4 ? 4 * v : columns - 4;
    }
    for (size_t i = 0; i < STRIP; i++) {
        strip->block[i] = initial;
        strip->total[i] = 0.0;
    }
}

/* The column of accumulator i. */
static size_t strip_column(const struct strip *strip, size_t i) {
    return strip->offset[i / 4] + i % 4;
}

typedef void block_fn(struct strip *strip, const float *src, size_t rows, size_t row_stride);

/* Calls `run` on every block of rows; narrow strips go through a copy. After each block, sums move to the total. */
static LN_NOINLINE void strip_blocks(struct strip *strip, block_fn *run, const float *src, size_t rows,
                                     size_t columns, size_t row_stride, int sums) {
    float narrow[ROWS * 4] = {0};
    for (size_t begin = 0; begin < rows; begin += ROWS) {
        const size_t count = rows - begin < ROWS ? rows - begin : ROWS;
        const float *block = src + begin * row_stride;
        if (columns < 4) {
            for (size_t r = 0; r < count; r++) {
                memcpy(narrow + 4 * r, block + r * row_stride, columns * sizeof(float));
            }
            run(strip, narrow, count, 4);
        } else {
            run(strip, block, count, row_stride);
        }
        for (size_t i = 0; sums && i < 4 * strip->vectors; i++) {
            strip->total[i] += (double)strip->block[i];
            strip->block[i] = 0.0f;
        }
    }
}

/* Gathers four rows a step: acc = combine(acc, combine(combine(r0, r1), combine(r2, r3))), each through `map`. */
#define BLOCK_KERNEL(name, setup, map, combine)                                                              \
    static void block_##name(struct strip *strip, const float *src, size_t rows, size_t row_stride) {        \
        setup;                                                                                               \
        size_t r = 0;                                                                                        \
        for (; r + 4 <= rows; r += 4) {                                                                      \
            const float *row = src + r * row_stride;                                                         \
            LN_LOOP_ROLLED for (size_t v = 0; v < strip->vectors; v++) {                                     \
                const float *p = row + strip->offset[v];                                                     \
                const ln_v32f x0 = map(ln_load(p), v), x1 = map(ln_load(p + row_stride), v);                 \
                const ln_v32f x2 = map(ln_load(p + 2 * row_stride), v);                                      \
                const ln_v32f x3 = map(ln_load(p + 3 * row_stride), v);                                      \
                const ln_v32f four = combine(combine(x0, x1), combine(x2, x3));                              \
                ln_store(strip->block + 4 * v, combine(ln_load(strip->block + 4 * v), four));                \
            }                                                                                                \
        }                                                                                                    \
        for (; r < rows; r++) {                                                                              \
            LN_LOOP_ROLLED for (size_t v = 0; v < strip->vectors; v++) {                                     \
                const ln_v32f x = map(ln_load(src + r * row_stride + strip->offset[v]), v);                  \
                ln_store(strip->block + 4 * v, combine(ln_load(strip->block + 4 * v), x));                   \
            }                                                                                                \
        }                                                                                                    \
    }

#define MAP_SAME(x, v)      (x)
#define MAP_MAGNITUDE(x, v) ln_abs(x)
#define MAP_SQUARE(x, v)    square(x)
#define MAP_EXP(x, v)       ln_exp_nonpositive(&k, ln_sub(x, ln_load(strip->shift + 4 * (v))))

static inline ln_v32f square(ln_v32f x) {
    return ln_mul(x, x);
}

BLOCK_KERNEL(sum, (void)0, MAP_SAME, ln_add)
BLOCK_KERNEL(magnitude, (void)0, MAP_MAGNITUDE, ln_add)
BLOCK_KERNEL(square, (void)0, MAP_SQUARE, ln_add)
BLOCK_KERNEL(product, (void)0, MAP_SAME, ln_mul)
BLOCK_KERNEL(max, (void)0, MAP_SAME, ln_max)
BLOCK_KERNEL(min, (void)0, MAP_SAME, ln_min)
BLOCK_KERNEL(exp, const struct ln_exp_constants k = ln_exp_constants(), MAP_EXP, ln_add)

static float finish_same(double total, size_t rows) {
    (void)rows;
    return (float)total;
}

static float finish_mean(double total, size_t rows) {
    return (float)(total / (double)rows);
}

static float finish_root(double total, size_t rows) {
    (void)rows;
    return (float)sqrt(total);
}

static float finish_log(double total, size_t rows) {
    (void)rows;
    return (float)log(total);
}

static LN_NOINLINE void sum_strip(float *dst, const float *src, size_t rows, size_t columns,
                                  size_t row_stride, block_fn *run,
                                  float (*finish)(double total, size_t rows)) {
    struct strip strip;
    strip_start(&strip, columns, 0.0f);
    strip_blocks(&strip, run, src, rows, columns, row_stride, 1);
    for (size_t i = 0; i < 4 * strip.vectors; i++) {
        if (strip_column(&strip, i) < columns) {
            dst[strip_column(&strip, i)] = finish(strip.total[i], rows);
        }
    }
}

static LN_NOINLINE void gather_strip(float *dst, const float *src, size_t rows, size_t columns,
                                     size_t row_stride, block_fn *run, float initial) {
    struct strip strip;
    strip_start(&strip, columns, initial);
    strip_blocks(&strip, run, src, rows, columns, row_stride, 0);
    for (size_t i = 0; i < 4 * strip.vectors; i++) {
        if (strip_column(&strip, i) < columns) {
            dst[strip_column(&strip, i)] = strip.block[i];
        }
    }
}

static LN_NOINLINE void log_sum_exp_strip(float *dst, const float *src, size_t rows, size_t columns,
                                          size_t row_stride) {
    struct strip strip;
    strip_start(&strip, columns, -INFINITY);
    strip_blocks(&strip, block_max, src, rows, columns, row_stride, 0);
    for (size_t i = 0; i < STRIP; i++) {
        strip.shift[i] = strip.block[i];
        strip.block[i] = 0.0f;
    }
    strip_blocks(&strip, block_exp, src, rows, columns, row_stride, 1);
    for (size_t i = 0; i < 4 * strip.vectors; i++) {
        const float high = strip.shift[i];
        if (strip_column(&strip, i) < columns) {
            dst[strip_column(&strip, i)] =
                isfinite(high) ? (float)((double)high + log(strip.total[i])) : high;
        }
    }
}

/* The table's functions: strip by strip. */
#define REDUCE_COLUMNS(name, strip_function, ...)                                                            \
    static void reduce_##name(float *dst, const float *src, size_t rows, size_t columns,                     \
                              size_t row_stride) {                                                           \
        for (size_t c = 0; c < columns; c += STRIP) {                                                        \
            const size_t width = columns - c < STRIP ? columns - c : STRIP;                                  \
            strip_function(dst + c, src + c, rows, width, row_stride, ##__VA_ARGS__);                        \
        }                                                                                                    \
    }

REDUCE_COLUMNS(sum, sum_strip, block_sum, finish_same)
REDUCE_COLUMNS(mean, sum_strip, block_sum, finish_mean)
REDUCE_COLUMNS(max, gather_strip, block_max, -INFINITY)
REDUCE_COLUMNS(min, gather_strip, block_min, INFINITY)
REDUCE_COLUMNS(prod, gather_strip, block_product, 1.0f)
REDUCE_COLUMNS(sumsq, sum_strip, block_square, finish_same)
REDUCE_COLUMNS(l1, sum_strip, block_magnitude, finish_same)
REDUCE_COLUMNS(l2, sum_strip, block_square, finish_root)
REDUCE_COLUMNS(logsum, sum_strip, block_sum, finish_log)
REDUCE_COLUMNS(logsumexp, log_sum_exp_strip)

ln_reduce_outer_fn *const ln_reduce_outer_f32[LN_REDUCE_COUNT] = {
#define REDUCE_ROW(upper, lower) [LN_REDUCE_##upper] = reduce_##lower,
    LN_REDUCE_LIST(REDUCE_ROW)
#undef REDUCE_ROW
};
