/*
 * Pooling of one plane with any window: kernel, stride, padding and dilation on three axes.
 *
 * A row of outputs is made in strips. The input rows of the window are combined into a strip, whole vectors at a time,
 * with columns of padding at its ends that change nothing; then neighbouring elements of the strip are combined into
 * outputs. So a window of 5x5 costs ten steps instead of 25, and no inner loop tests for edges. Windows wider than a
 * strip, indices and p-norms take one output at a time.
 *
 * Maxima use the one-instruction clamp, which loses a NaN; each element is also added to a sum that a NaN poisons, and
 * the outputs of a poisoned strip are computed again one by one. The most frequent maxima have kernels of their own in
 * pool_fast_f32.c.
 */
#include "pool_f32.h"

#include <math.h>

enum { STRIP = 512, SLACK = 16, ROWS = 32 };

/* x / step rounded up, for 0 <= x < 2^31; most steps are 1, and a 64-bit division costs as much as a row of a window. */
static inline int64_t divide_up(int64_t x, int64_t step) {
    return step == 1 ? x : (int64_t)(((uint32_t)x + (uint32_t)step - 1) / (uint32_t)step);
}

/* The taps of output o that lie on the input: [first, end). */
LN_NOINLINE struct ln_taps ln_pool_taps(const struct ln_pooling *pooling, int axis, int64_t o) {
    const int64_t start = o * pooling->stride[axis] - pooling->pad_begin[axis],
                  step = pooling->dilation[axis];
    const int64_t left = pooling->in[axis] - start;
    struct ln_taps taps = {.start = start, .first = start < 0 ? divide_up(-start, step) : 0, .end = 0};
    taps.end = left <= 0 ? 0 : divide_up(left, step);
    taps.end = taps.end < pooling->kernel[axis] ? taps.end : pooling->kernel[axis];
    taps.end = taps.end < taps.first ? taps.first : taps.end;
    return taps;
}

/* The number of taps on the input or its padding. */
static int64_t padded_taps(const struct ln_pooling *pooling, int axis, int64_t o) {
    const int64_t start = o * pooling->stride[axis] - pooling->pad_begin[axis],
                  step = pooling->dilation[axis];
    const int64_t left = pooling->in[axis] + pooling->pad_end[axis] - start;
    const int64_t count = left <= 0 ? 0 : divide_up(left, step);
    return count < pooling->kernel[axis] ? count : pooling->kernel[axis];
}

/* ---- one output at a time ---- */

/* Runs its body with the coordinates d, h, w of each tap of one output. */
#define FOR_TAPS(pooling, od, oh, ow, d, h, w)                                                               \
    const struct ln_taps depth = ln_pool_taps(pooling, 0, od), height = ln_pool_taps(pooling, 1, oh),        \
                         width = ln_pool_taps(pooling, 2, ow);                                               \
    for (int64_t kd = depth.first; kd < depth.end; kd++)                                                     \
        for (int64_t kh = height.first; kh < height.end; kh++)                                               \
            for (int64_t kw = width.first, d = depth.start + kd * (pooling)->dilation[0],                    \
                         h = height.start + kh * (pooling)->dilation[1],                                     \
                         w = width.start + kw * (pooling)->dilation[2];                                      \
                 kw < width.end; kw++, w += (pooling)->dilation[2])

struct found {
    float value;
    int64_t d, h, w;
};

static LN_NOINLINE struct found find_max(const float *src, const struct ln_pooling *pooling, int64_t od,
                                         int64_t oh, int64_t ow) {
    struct found best = {-INFINITY, -1, 0, 0};
    FOR_TAPS(pooling, od, oh, ow, d, h, w) {
        const float x = src[(d * pooling->in[1] + h) * pooling->in[2] + w];
        /* NaN beats all numbers, the first one stays. */
        if (best.d < 0 || x > best.value || (x != x && best.value == best.value)) {
            best = (struct found){x, d, h, w};
        }
    }
    return best;
}

static float max_window(const float *src, const struct ln_pooling *pooling, int64_t od, int64_t oh,
                        int64_t ow) {
    return find_max(src, pooling, od, oh, ow).value;
}

static float sum_window(const float *src, const struct ln_pooling *pooling, int64_t od, int64_t oh,
                        int64_t ow) {
    double total = 0.0;
    FOR_TAPS(pooling, od, oh, ow, d, h, w) {
        total += (double)src[(d * pooling->in[1] + h) * pooling->in[2] + w];
    }
    return (float)total;
}

/* ---- strips ---- */

/* Outputs [first, first + count) of a row, from `columns` elements of which [low, high) are on the input. */
struct strip {
    size_t first, count, columns, low, high;
    size_t kernel, stride, dilation;
    int64_t start; /* input column of element 0 */
    float elements[STRIP + SLACK];
};

/* Sets up the strip that begins at output `first`. */
static void strip_place(struct strip *strip, const struct ln_pooling *pooling, size_t first) {
    const size_t span = (strip->kernel - 1) * strip->dilation + 1, left = (size_t)pooling->out[2] - first;
    const size_t most = (STRIP - span) / strip->stride + 1;
    strip->first = first;
    strip->count = left < most ? left : most;
    strip->columns = (strip->count - 1) * strip->stride + span;
    strip->start = (int64_t)(first * strip->stride) - pooling->pad_begin[2];
    const int64_t end = pooling->in[2] - strip->start, columns = (int64_t)strip->columns;
    strip->low = strip->start < 0 ? (size_t)(-strip->start < columns ? -strip->start : columns) : 0;
    strip->high = end < 0 ? 0 : (size_t)(end < columns ? end : columns);
    strip->high = strip->high < strip->low ? strip->low : strip->high;
}

/* Padding columns get the value; those after the last, which only unused lanes read, zero. */
static void strip_fill(struct strip *strip, float value) {
    for (size_t i = 0; i < strip->low; i++) {
        strip->elements[i] = value;
    }
    for (size_t i = strip->high; i < strip->columns; i++) {
        strip->elements[i] = value;
    }
    memset(strip->elements + strip->columns, 0, SLACK * sizeof(float));
}

#define ADD(a, b) ln_add(a, b)
#define MAX(a, b) ln_clamp_low(b, a)

/*
 * Combines rows (each at element `low`) into the strip; `more` says that it has a part of them already. Returns a sum
 * of all elements, which is NaN when one is.
 */
#define VERTICAL(name, combine)                                                                              \
    static ln_v32f vertical_##name(float *dst, const float *const *rows, size_t count, size_t columns,       \
                                   int more) {                                                               \
        const float *first = more ? dst : rows[0];                                                           \
        const size_t begin = more ? 0 : 1;                                                                   \
        ln_v32f poison = ln_zero();                                                                          \
        size_t i = 0;                                                                                        \
        for (; i + 16 <= columns; i += 16) {                                                                 \
            ln_v32f a0 = ln_load(first + i), a1 = ln_load(first + i + 4);                                    \
            ln_v32f a2 = ln_load(first + i + 8), a3 = ln_load(first + i + 12);                               \
            poison = ln_add(poison, ln_add(ln_add(a0, a1), ln_add(a2, a3)));                                 \
            LN_LOOP_ROLLED                                                                                   \
            for (size_t r = begin; r < count; r++) {                                                         \
                const float *row = rows[r] + i;                                                              \
                const ln_v32f x0 = ln_load(row), x1 = ln_load(row + 4);                                      \
                const ln_v32f x2 = ln_load(row + 8), x3 = ln_load(row + 12);                                 \
                poison = ln_add(poison, ln_add(ln_add(x0, x1), ln_add(x2, x3)));                             \
                a0 = combine(a0, x0);                                                                        \
                a1 = combine(a1, x1);                                                                        \
                a2 = combine(a2, x2);                                                                        \
                a3 = combine(a3, x3);                                                                        \
            }                                                                                                \
            ln_store(dst + i, a0);                                                                           \
            ln_store(dst + i + 4, a1);                                                                       \
            ln_store(dst + i + 8, a2);                                                                       \
            ln_store(dst + i + 12, a3);                                                                      \
        }                                                                                                    \
        LN_LOOP_ROLLED                                                                                       \
        for (; i < columns; i += 4) {                                                                        \
            ln_v32f all = ln_load_first(first + i, columns - i);                                             \
            poison = ln_add(poison, all);                                                                    \
            LN_LOOP_ROLLED                                                                                   \
            for (size_t r = begin; r < count; r++) {                                                         \
                const ln_v32f x = ln_load_first(rows[r] + i, columns - i);                                   \
                poison = ln_add(poison, x);                                                                  \
                all = combine(all, x);                                                                       \
            }                                                                                                \
            ln_store_first(dst + i, all, columns - i);                                                       \
        }                                                                                                    \
        return poison;                                                                                       \
    }

/* Outputs from the strip, four at a time; `columns_of` picks the elements that one tap of four outputs reads. */
#define OUTPUTS(columns_of, combine)                                                                         \
    for (size_t i = 0; i < strip->count; i += 4) {                                                           \
        const size_t lanes = strip->count - i;                                                               \
        const float *p = strip->elements + i * strip->stride;                                                \
        ln_v32f all = columns_of(p, strip->stride, lanes);                                                   \
        for (size_t k = 1; k < strip->kernel; k++) {                                                         \
            p += strip->dilation;                                                                            \
            all = combine(all, columns_of(p, strip->stride, lanes));                                         \
        }                                                                                                    \
        ln_store_first(dst + i, all, lanes);                                                                 \
    }

#define HORIZONTAL(name, combine)                                                                            \
    static void horizontal_##name(float *dst, const struct strip *strip) {                                   \
        if (strip->stride == 1) {                                                                            \
            OUTPUTS(columns_1, combine)                                                                      \
        } else if (strip->stride == 2) {                                                                     \
            OUTPUTS(columns_2, combine)                                                                      \
        } else {                                                                                             \
            OUTPUTS(columns_any, combine)                                                                    \
        }                                                                                                    \
    }

LN_INLINE ln_v32f columns_1(const float *p, size_t stride, size_t lanes) {
    (void)stride;
    (void)lanes;
    return ln_load(p);
}

LN_INLINE ln_v32f columns_2(const float *p, size_t stride, size_t lanes) {
    (void)stride;
    (void)lanes;
    return wasm_i32x4_shuffle(ln_load(p), ln_load(p + 4), 0, 2, 4, 6);
}

LN_INLINE ln_v32f columns_any(const float *p, size_t stride, size_t lanes) {
    float four[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (size_t i = 0; i < 4 && i < lanes; i++) {
        four[i] = p[i * stride];
    }
    return ln_load(four);
}

VERTICAL(add, ADD)
VERTICAL(max, MAX)
HORIZONTAL(add, ADD)
HORIZONTAL(max, MAX)

/* A way to combine: its identity, the steps, and what computes an output when a NaN may have been lost. */
struct combination {
    float identity;
    ln_v32f (*vertical)(float *dst, const float *const *rows, size_t count, size_t columns, int more);
    void (*horizontal)(float *dst, const struct strip *strip);
    float (*careful)(const float *src, const struct ln_pooling *pooling, int64_t od, int64_t oh, int64_t ow);
};

static const struct combination fast_max = {-INFINITY, vertical_max, horizontal_max, max_window};
static const struct combination sum = {0.0f, vertical_add, horizontal_add, NULL};

/* The strip's outputs in row (od, oh); the rows of the window are combined ROWS at a time. */
static LN_NOINLINE void strip_run(struct strip *strip, float *dst, const float *src,
                                  const struct ln_pooling *pooling, int64_t od, int64_t oh,
                                  const struct combination *way) {
    const struct ln_taps depth = ln_pool_taps(pooling, 0, od), height = ln_pool_taps(pooling, 1, oh);
    const float *rows[ROWS];
    const size_t columns = strip->high - strip->low;
    const int64_t column = strip->start + (int64_t)strip->low;
    float *to = strip->elements + strip->low;
    ln_v32f poison = ln_zero();
    size_t count = 0;
    int more = 0;
    for (int64_t kd = depth.first; kd < depth.end; kd++) {
        const int64_t plane = (depth.start + kd * pooling->dilation[0]) * pooling->in[1];
        for (int64_t kh = height.first; kh < height.end; kh++) {
            const int64_t row = plane + height.start + kh * pooling->dilation[1];
            rows[count++] = src + (row * pooling->in[2] + (columns != 0 ? column : 0));
            if (count == ROWS) {
                poison = ln_add(poison, way->vertical(to, rows, count, columns, more));
                count = 0;
                more = 1;
            }
        }
    }
    if (count != 0) {
        poison = ln_add(poison, way->vertical(to, rows, count, columns, more));
    } else if (!more) {
        strip->high = strip->low; /* no row of the window is on the input */
    }
    strip_fill(strip, way->identity);
    way->horizontal(dst, strip);
    if (way->careful != NULL && wasm_v128_any_true(wasm_f32x4_ne(poison, poison))) {
        for (size_t i = 0; i < strip->count; i++) {
            dst[i] = way->careful(src, pooling, od, oh, (int64_t)(strip->first + i));
        }
    }
}

/* False when the window is wider than a strip. */
static LN_NOINLINE int row_by_strips(float *dst, const float *src, const struct ln_pooling *pooling,
                                     int64_t od, int64_t oh, const struct combination *way) {
    if ((pooling->kernel[2] - 1) * pooling->dilation[2] + 1 > STRIP) {
        return 0;
    }
    struct strip strip;
    strip.kernel = (size_t)pooling->kernel[2];
    strip.dilation = (size_t)pooling->dilation[2];
    strip.stride = (size_t)pooling->stride[2];
    for (size_t first = 0; first < (size_t)pooling->out[2]; first += strip.count) {
        strip_place(&strip, pooling, first);
        strip_run(&strip, dst + first, src, pooling, od, oh, way);
    }
    return 1;
}

static LN_NOINLINE void max_row(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                                int64_t oh) {
    if (!row_by_strips(dst, src, pooling, od, oh, &fast_max)) {
        for (int64_t ow = 0; ow < pooling->out[2]; ow++) {
            dst[ow] = max_window(src, pooling, od, oh, ow);
        }
    }
}

static LN_NOINLINE void sum_row(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                                int64_t oh) {
    if (!row_by_strips(dst, src, pooling, od, oh, &sum)) {
        for (int64_t ow = 0; ow < pooling->out[2]; ow++) {
            dst[ow] = sum_window(src, pooling, od, oh, ow);
        }
    }
}

/* The window is the plane itself. */
static int is_global(const struct ln_pooling *pooling) {
    int global = 1;
    for (int axis = 0; axis < 3; axis++) {
        global = global && pooling->out[axis] == 1 && pooling->kernel[axis] == pooling->in[axis] &&
                 pooling->dilation[axis] == 1 && pooling->pad_begin[axis] == 0;
    }
    return global;
}

static size_t plane_size(const struct ln_pooling *pooling) {
    return (size_t)(pooling->in[0] * pooling->in[1] * pooling->in[2]);
}

/*
 * The maximum over an odd window of stride 1 that is padded by half its size, as 3x3 over 3x3 and so on: 5x5 is two, 7x7
 * three. False where the window is another or the plane is too large for the stack.
 */
static LN_NOINLINE bool max_repeated(float *dst, const float *src, const struct ln_pooling *pooling) {
    enum { LARGEST = 4096 };
    float other[LARGEST];
    const int64_t passes = pooling->kernel[1] / 2;
    struct ln_pooling three = *pooling;
    for (int axis = 1; axis < 3; axis++) {
        if (pooling->kernel[axis] != 2 * passes + 1 || pooling->pad_begin[axis] != passes ||
            pooling->in[axis] != pooling->out[axis]) {
            return false;
        }
        three.kernel[axis] = 3;
        three.pad_begin[axis] = 1;
    }
    if (passes < 2 || plane_size(pooling) > LARGEST) {
        return false;
    }
    for (int64_t left = passes; left > 0; left--) {
        float *const to = left % 2 != 0 ? dst : other;
        if (!ln_pool_fast_f32(to, src, &three, NULL)) {
            return false;
        }
        src = to;
    }
    return true;
}

void ln_max_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling) {
    if (is_global(pooling)) {
        ln_reduce_inner_f32[LN_REDUCE_MAX](dst, src, 1, plane_size(pooling));
        return;
    }
    if (ln_pool_fast_f32(dst, src, pooling, NULL) || max_repeated(dst, src, pooling)) {
        return;
    }
    for (int64_t od = 0; od < pooling->out[0]; od++) {
        for (int64_t oh = 0; oh < pooling->out[1]; oh++) {
            max_row(dst + (od * pooling->out[1] + oh) * pooling->out[2], src, pooling, od, oh);
        }
    }
}

/* ---- averages ---- */

static LN_NOINLINE int64_t count_taps(const struct ln_pooling *pooling, int axis, int64_t o,
                                      int include_pad) {
    const struct ln_taps taps = ln_pool_taps(pooling, axis, o);
    return include_pad ? padded_taps(pooling, axis, o) : taps.end - taps.first;
}

static LN_NOINLINE void divide_outputs(float *dst, int64_t begin, int64_t end, int64_t count) {
    const float divisor = (float)count;
    const ln_v32f divisors = ln_splat(divisor);
    if (count <= 0) {
        return;
    }
    for (; begin + 4 <= end; begin += 4) {
        ln_store(dst + begin, ln_div(ln_load(dst + begin), divisors));
    }
    for (; begin < end; begin++) {
        dst[begin] /= divisor;
    }
}

/* Divides a row of sums by the number of taps. Windows with all their taps stand together, and share a division. */
static void divide_row(float *dst, const struct ln_pooling *pooling, int64_t rows_count, int include_pad) {
    const int64_t width = pooling->out[2], kernel = pooling->kernel[2];
    int64_t begin = 0, end = width;
    while (begin < width && count_taps(pooling, 2, begin, include_pad) != kernel) {
        divide_outputs(dst, begin, begin + 1, rows_count * count_taps(pooling, 2, begin, include_pad));
        begin++;
    }
    while (end > begin && count_taps(pooling, 2, end - 1, include_pad) != kernel) {
        end--;
        divide_outputs(dst, end, end + 1, rows_count * count_taps(pooling, 2, end, include_pad));
    }
    divide_outputs(dst, begin, end, rows_count * kernel);
}

/* By kernels of strips; false where none fits. */
static bool average_fast(float *dst, const float *src, const struct ln_pooling *pooling, int include_pad) {
    const ln_pool_counts counts = {
        count_taps(pooling, 1, 0, include_pad),
        count_taps(pooling, 1, pooling->out[1] - 1, include_pad),
        count_taps(pooling, 2, 0, include_pad),
        count_taps(pooling, 2, pooling->out[2] - 1, include_pad),
    };
    return ln_pool_fast_f32(dst, src, pooling, &counts);
}

void ln_average_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling,
                               int count_include_pad) {
    if (is_global(pooling)) {
        ln_reduce_inner_f32[LN_REDUCE_MEAN](dst, src, 1, plane_size(pooling));
        return;
    }
    if (average_fast(dst, src, pooling, count_include_pad)) {
        return;
    }
    for (int64_t od = 0; od < pooling->out[0]; od++) {
        for (int64_t oh = 0; oh < pooling->out[1]; oh++) {
            float *row = dst + (od * pooling->out[1] + oh) * pooling->out[2];
            sum_row(row, src, pooling, od, oh);
            divide_row(row, pooling,
                       count_taps(pooling, 0, od, count_include_pad) *
                           count_taps(pooling, 1, oh, count_include_pad),
                       count_include_pad);
        }
    }
}

/* ---- indices and norms ---- */

void ln_max_pool_indices_plane_f32(float *dst, int64_t *indices, const float *src,
                                   const struct ln_pooling *pooling, int64_t base, int column_major) {
    const int64_t *in = pooling->in, *out = pooling->out;
    for (int64_t i = 0; i < out[0] * out[1] * out[2]; i++) {
        const struct found best =
            find_max(src, pooling, i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]);
        dst[i] = best.value;
        if (best.d < 0) {
            indices[i] = base;
        } else if (column_major) {
            indices[i] = base + (best.w * in[1] + best.h) * in[0] + best.d;
        } else {
            indices[i] = base + (best.d * in[1] + best.h) * in[2] + best.w;
        }
    }
}

static float norm_of_window(const float *src, const struct ln_pooling *pooling, int64_t od, int64_t oh,
                            int64_t ow, float p) {
    double total = 0.0;
    FOR_TAPS(pooling, od, oh, ow, d, h, w) {
        const double x = fabs((double)src[(d * pooling->in[1] + h) * pooling->in[2] + w]);
        total += p == 1.0f ? x : p == 2.0f ? x * x : pow(x, (double)p);
    }
    return (float)(p == 1.0f ? total : p == 2.0f ? sqrt(total) : pow(total, 1.0 / (double)p));
}

void ln_lp_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling, float p) {
    const int64_t *out = pooling->out;
    for (int64_t i = 0; i < out[0] * out[1] * out[2]; i++) {
        dst[i] = norm_of_window(src, pooling, i / (out[1] * out[2]), i / out[2] % out[1], i % out[2], p);
    }
}
