/*
 * Pooling of one plane with any window: kernel, stride, padding and dilation on three axes.
 *
 * An output row is gathered tap by tap: for each tap of the window, the outputs for which it lies on the input are a
 * range, and the range is combined with the input row, vectors at a time for strides 1 and 2. No padded copy, no
 * tests in the inner loop. The maxima of the windows that models use most have kernels of their own in
 * pool_fast_f32.c; indices and p-norms, which are rare, take one output at a time.
 */
#include "pool_f32.h"

#include <math.h>

/* The taps of output o that lie on the input: [first, end). */
struct ln_taps ln_pool_taps(const struct ln_pooling *pooling, int axis, int64_t o) {
    const int64_t start = o * pooling->stride[axis] - pooling->pad_begin[axis],
                  step = pooling->dilation[axis];
    const int64_t left = pooling->in[axis] - start;
    struct ln_taps taps = {.start = start, .first = start < 0 ? (-start + step - 1) / step : 0, .end = 0};
    taps.end = left <= 0 ? 0 : (left + step - 1) / step;
    taps.end = taps.end < pooling->kernel[axis] ? taps.end : pooling->kernel[axis];
    taps.end = taps.end < taps.first ? taps.first : taps.end;
    return taps;
}

/* The number of taps on the input or its padding. */
static int64_t padded_taps(const struct ln_pooling *pooling, int axis, int64_t o) {
    const int64_t start = o * pooling->stride[axis] - pooling->pad_begin[axis],
                  step = pooling->dilation[axis];
    const int64_t left = pooling->in[axis] + pooling->pad_end[axis] - start;
    const int64_t count = left <= 0 ? 0 : (left + step - 1) / step;
    return count < pooling->kernel[axis] ? count : pooling->kernel[axis];
}

/* ---- combining a range of outputs with a row of inputs ---- */

#define COMBINE_ROW(name, combine)                                                                           \
    static void name##_row(float *dst, const float *src, int64_t count, int64_t stride) {                    \
        int64_t i = 0;                                                                                       \
        if (stride == 1) {                                                                                   \
            for (; i + 4 <= count; i += 4) {                                                                 \
                ln_store(dst + i, combine(ln_load(dst + i), ln_load(src + i)));                              \
            }                                                                                                \
        } else if (stride == 2) {                                                                            \
            /* The second vector ends one element after the last input used: stop short of the end. */       \
            for (; i + 4 < count; i += 4) {                                                                  \
                const ln_v32f low = ln_load(src + 2 * i), high = ln_load(src + 2 * i + 4);                   \
                ln_store(dst + i, combine(ln_load(dst + i), wasm_i32x4_shuffle(low, high, 0, 2, 4, 6)));     \
            }                                                                                                \
        }                                                                                                    \
        for (; i < count; i++) {                                                                             \
            const ln_v32f one = combine(ln_load_splat(dst + i), ln_load_splat(src + i * stride));            \
            dst[i] = wasm_f32x4_extract_lane(one, 0);                                                        \
        }                                                                                                    \
    }

COMBINE_ROW(max, ln_max)
COMBINE_ROW(add, ln_add)

typedef void combine_fn(float *dst, const float *src, int64_t count, int64_t stride);

/* Combines the taps of one input row with the output row. */
static void gather_input_row(float *dst, const float *row, const struct ln_pooling *pooling,
                             combine_fn *combine) {
    const int64_t stride = pooling->stride[2], width = pooling->in[2];
    for (int64_t k = 0; k < pooling->kernel[2]; k++) {
        const int64_t offset = k * pooling->dilation[2] - pooling->pad_begin[2];
        const int64_t low = offset < 0 ? (-offset + stride - 1) / stride : 0;
        int64_t high = offset < width ? (width - 1 - offset) / stride + 1 : 0;
        high = high < pooling->out[2] ? high : pooling->out[2];
        if (low < high) {
            combine(dst + low, row + (low * stride + offset), high - low, stride);
        }
    }
}

static void gather_row(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od, int64_t oh,
                       combine_fn *combine) {
    const struct ln_taps depth = ln_pool_taps(pooling, 0, od), height = ln_pool_taps(pooling, 1, oh);
    for (int64_t kd = depth.first; kd < depth.end; kd++) {
        const int64_t d = depth.start + kd * pooling->dilation[0];
        for (int64_t kh = height.first; kh < height.end; kh++) {
            const int64_t h = height.start + kh * pooling->dilation[1];
            gather_input_row(dst, src + (d * pooling->in[1] + h) * pooling->in[2], pooling, combine);
        }
    }
}

static void fill(float *dst, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) {
        dst[i] = value;
    }
}

void ln_max_pool_row_f32(float *dst, const float *src, const struct ln_pooling *pooling, int64_t od,
                         int64_t oh) {
    fill(dst, pooling->out[2], -INFINITY);
    gather_row(dst, src, pooling, od, oh, max_row);
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

void ln_max_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling) {
    if (is_global(pooling)) {
        ln_reduce_inner_f32[LN_REDUCE_MAX](dst, src, 1, plane_size(pooling));
        return;
    }
    ln_pool_row_fn *row = ln_max_pool_row_for(pooling);
    for (int64_t od = 0; od < pooling->out[0]; od++) {
        for (int64_t oh = 0; oh < pooling->out[1]; oh++) {
            row(dst + (od * pooling->out[1] + oh) * pooling->out[2], src, pooling, od, oh);
        }
    }
}

/* ---- averages ---- */

static int64_t count_taps(const struct ln_pooling *pooling, int axis, int64_t o, int include_pad) {
    const struct ln_taps taps = ln_pool_taps(pooling, axis, o);
    return include_pad ? padded_taps(pooling, axis, o) : taps.end - taps.first;
}

/* Divides a row of sums by the number of taps: runs of outputs with the same number share a division of vectors. */
static void divide_row(float *dst, const struct ln_pooling *pooling, int64_t rows_count, int include_pad) {
    const int64_t width = pooling->out[2];
    int64_t begin = 0;
    while (begin < width) {
        const int64_t count = count_taps(pooling, 2, begin, include_pad);
        int64_t end = begin + 1;
        while (end < width && count_taps(pooling, 2, end, include_pad) == count) {
            end++;
        }
        const float divisor = (float)(rows_count * count);
        if (divisor > 0.0f) {
            ln_binary_f32[LN_BINARY_DIV](dst + begin, dst + begin, 1, &divisor, 0, (size_t)(end - begin));
        }
        begin = end;
    }
}

void ln_average_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling,
                               int count_include_pad) {
    if (is_global(pooling)) {
        ln_reduce_inner_f32[LN_REDUCE_MEAN](dst, src, 1, plane_size(pooling));
        return;
    }
    for (int64_t od = 0; od < pooling->out[0]; od++) {
        for (int64_t oh = 0; oh < pooling->out[1]; oh++) {
            float *row = dst + (od * pooling->out[1] + oh) * pooling->out[2];
            fill(row, pooling->out[2], 0.0f);
            gather_row(row, src, pooling, od, oh, add_row);
            divide_row(row, pooling,
                       count_taps(pooling, 0, od, count_include_pad) *
                           count_taps(pooling, 1, oh, count_include_pad),
                       count_include_pad);
        }
    }
}

/* ---- one output at a time ---- */

/* Calls `visit` with the plane's index of each tap of one output. */
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

static struct found find_max(const float *src, const struct ln_pooling *pooling, int64_t od, int64_t oh,
                             int64_t ow) {
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
    double sum = 0.0;
    FOR_TAPS(pooling, od, oh, ow, d, h, w) {
        const double x = fabs((double)src[(d * pooling->in[1] + h) * pooling->in[2] + w]);
        sum += p == 1.0f ? x : p == 2.0f ? x * x : pow(x, (double)p);
    }
    return (float)(p == 1.0f ? sum : p == 2.0f ? sqrt(sum) : pow(sum, 1.0 / (double)p));
}

void ln_lp_pool_plane_f32(float *dst, const float *src, const struct ln_pooling *pooling, float p) {
    const int64_t *out = pooling->out;
    for (int64_t i = 0; i < out[0] * out[1] * out[2]; i++) {
        dst[i] = norm_of_window(src, pooling, i / (out[1] * out[2]), i / out[2] % out[1], i % out[2], p);
    }
}
