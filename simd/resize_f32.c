/*
 * Resizing planes: twofold nearest and bilinear forms, nearest by index tables for any element, and separable
 * interpolation by tables of taps, which covers linear, cubic and antialiased filters.
 *
 * The twofold bilinear kernel mixes two rows first and then neighbouring columns, with the weights 3/4 and 1/4: each
 * vector of four inputs gives eight outputs, and its neighbours' edge lanes come from the vectors before and after.
 * The table form interpolates whole input rows along the columns and keeps them while output rows need them.
 */
#include "simd.h"
#include "vector.h"

/* ---- twofold ---- */

void ln_resize_nearest_2x_f32(float *dst, const float *src, size_t in_height, size_t in_width, size_t begin,
                              size_t end) {
    (void)in_height;
    for (size_t y = begin; y < end; y++) {
        const float *row = src + y / 2 * in_width;
        float *out = dst + y * 2 * in_width;
        size_t x = 0;
        for (; x + 4 <= in_width; x += 4) {
            const ln_v32f four = ln_load(row + x);
            ln_store(out + 2 * x, wasm_i32x4_shuffle(four, four, 0, 0, 1, 1));
            ln_store(out + 2 * x + 4, wasm_i32x4_shuffle(four, four, 2, 2, 3, 3));
        }
        for (; x < in_width; x++) {
            out[2 * x] = out[2 * x + 1] = row[x];
        }
    }
}

/* 3/4 of the nearer row and 1/4 of the other, at column x. */
#define MIX_ROWS(x) ln_madd(ln_mul(ln_load(near + (x)), most), ln_load(far + (x)), rest)

/* Eight outputs from four mixed columns and the ones to their left and right. */
#define MIX_COLUMNS(out, left, four, right)                                                                  \
    do {                                                                                                     \
        const ln_v32f share = ln_mul(four, most);                                                            \
        const ln_v32f even = ln_madd(share, left, rest), odd = ln_madd(share, right, rest);                  \
        ln_store(out, wasm_i32x4_shuffle(even, odd, 0, 4, 1, 5));                                            \
        ln_store((out) + 4, wasm_i32x4_shuffle(even, odd, 2, 6, 3, 7));                                      \
    } while (0)

static void linear_2x_narrow(float *out, const float *near, const float *far, size_t width) {
    for (size_t x = 0; x < width; x++) {
        const size_t before = x > 0 ? x - 1 : x, after = x + 1 < width ? x + 1 : x;
        const float one = 0.75f * near[x] + 0.25f * far[x];
        out[2 * x] = 0.75f * one + 0.25f * (0.75f * near[before] + 0.25f * far[before]);
        out[2 * x + 1] = 0.75f * one + 0.25f * (0.75f * near[after] + 0.25f * far[after]);
    }
}

/* width is at least 4. */
static void linear_2x_row(float *out, const float *near, const float *far, size_t width) {
    const ln_v32f most = ln_splat(0.75f), rest = ln_splat(0.25f);
    ln_v32f four = MIX_ROWS(0);
    ln_v32f before = wasm_i32x4_shuffle(four, four, 0, 0, 0, 0);
    size_t x = 0;
    for (; x + 8 <= width; x += 4) {
        const ln_v32f next = MIX_ROWS(x + 4);
        const ln_v32f left = wasm_i32x4_shuffle(before, four, 3, 4, 5, 6);
        const ln_v32f right = wasm_i32x4_shuffle(four, next, 1, 2, 3, 4);
        MIX_COLUMNS(out + 2 * x, left, four, right);
        before = four;
        four = next;
    }
    /* At most seven columns are left: a vector with a neighbour to its right, then the last one, which overlaps. */
    const size_t last = width - 4;
    if (x < last) {
        const ln_v32f left = wasm_i32x4_shuffle(before, four, 3, 4, 5, 6), right = MIX_ROWS(x + 1);
        MIX_COLUMNS(out + 2 * x, left, four, right);
    }
    const ln_v32f end = MIX_ROWS(last), right = wasm_i32x4_shuffle(end, end, 1, 2, 3, 3);
    const ln_v32f left = last > 0 ? MIX_ROWS(last - 1) : wasm_i32x4_shuffle(end, end, 0, 0, 1, 2);
    MIX_COLUMNS(out + 2 * last, left, end, right);
}

void ln_resize_linear_2x_f32(float *dst, const float *src, size_t in_height, size_t in_width, size_t begin,
                             size_t end) {
    for (size_t y = begin; y < end; y++) {
        const size_t near = y / 2;
        const size_t wanted = y % 2 ? near + 1 : near - 1; /* wraps to a huge number above row 0 */
        const size_t far = wanted < in_height ? wanted : near;
        (in_width < 4 ? linear_2x_narrow : linear_2x_row)(dst + y * 2 * in_width, src + near * in_width,
                                                          src + far * in_width, in_width);
    }
}

/* ---- nearest by tables ---- */

#define NEAREST_ROW(bits)                                                                                    \
    static void nearest_row_##bits(void *dst, const void *src, size_t out_width, const int32_t *col_index,   \
                                   const void *extrapolation) {                                              \
        uint##bits##_t *out = dst;                                                                           \
        const uint##bits##_t *in = src;                                                                      \
        const uint##bits##_t outside = extrapolation != NULL ? *(const uint##bits##_t *)extrapolation : 0;   \
        for (size_t x = 0; x < out_width; x++) {                                                             \
            const int32_t from = col_index[x];                                                               \
            out[x] = in == NULL || from < 0 ? outside : in[from];                                            \
        }                                                                                                    \
    }

NEAREST_ROW(8)
NEAREST_ROW(16)
NEAREST_ROW(32)
NEAREST_ROW(64)

void ln_resize_nearest(void *dst, const void *src, size_t in_width, size_t out_width,
                       const int32_t *row_index, const int32_t *col_index, size_t begin, size_t end,
                       size_t width_bytes, const void *extrapolation) {
    const size_t out_bytes = out_width * width_bytes;
    for (size_t y = begin; y < end; y++) {
        uint8_t *out = (uint8_t *)dst + y * out_bytes;
        const int32_t from = row_index[y];
        const uint8_t *in = from < 0 ? NULL : (const uint8_t *)src + (size_t)from * in_width * width_bytes;
        if (y > begin && from == row_index[y - 1]) {
            memcpy(out, out - out_bytes, out_bytes);
        } else if (width_bytes == 1) {
            nearest_row_8(out, in, out_width, col_index, extrapolation);
        } else if (width_bytes == 2) {
            nearest_row_16(out, in, out_width, col_index, extrapolation);
        } else if (width_bytes == 4) {
            nearest_row_32(out, in, out_width, col_index, extrapolation);
        } else {
            nearest_row_64(out, in, out_width, col_index, extrapolation);
        }
    }
}

/* ---- interpolation by tables ---- */

static void interpolate_row(float *dst, const float *src, size_t out_width,
                            const struct ln_resize_axis *cols) {
    const size_t taps = cols->taps;
    const int32_t *index = cols->index;
    const float *weight = cols->weight;
    if (taps == 2) {
        for (size_t x = 0; x < out_width; x++) {
            dst[x] = src[index[2 * x]] * weight[2 * x] + src[index[2 * x + 1]] * weight[2 * x + 1];
        }
        return;
    }
    for (size_t x = 0; x < out_width; x++) {
        float sum = 0.0f;
        for (size_t t = 0; t < taps; t++) {
            sum += src[index[x * taps + t]] * weight[x * taps + t];
        }
        dst[x] = sum;
    }
}

/* dst = a wa + b wb. */
static void blend(float *dst, const float *a, float wa, const float *b, float wb, size_t n) {
    const ln_v32f weight_a = ln_splat(wa), weight_b = ln_splat(wb);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        ln_store(dst + i, ln_madd(ln_mul(ln_load(a + i), weight_a), ln_load(b + i), weight_b));
    }
    if (i < n) {
        const ln_v32f x = ln_load_part(a + i, n - i), y = ln_load_part(b + i, n - i);
        ln_store_part(dst + i, ln_madd(ln_mul(x, weight_a), y, weight_b), n - i);
    }
}

/* dst = src a, or dst += src a. */
static void accumulate(float *dst, const float *src, size_t n, float a, int first) {
    if (first) {
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](dst, src, n, a, 0.0f);
    } else {
        ln_axpy_f32(dst, src, n, a);
    }
}

/*
 * Interpolated rows live in taps slots, row i in slot i % taps; a slot's row number stands in the array of tags
 * behind the slots. Neighbouring rows never share a slot, and any that do are only computed again.
 */
struct row_cache {
    const float *src;
    size_t in_width, out_width, taps;
    const struct ln_resize_axis *cols;
    float *slots, *tags;
};

static const float *cached_row(const struct row_cache *cache, int32_t from) {
    const size_t slot = (size_t)from % cache->taps;
    float *row = cache->slots + slot * cache->out_width;
    int32_t tag;
    memcpy(&tag, cache->tags + slot, sizeof tag);
    if (tag != from) {
        interpolate_row(row, cache->src + (size_t)from * cache->in_width, cache->out_width, cache->cols);
        memcpy(cache->tags + slot, &from, sizeof from);
    }
    return row;
}

void ln_resize_plane_f32(float *dst, const float *src, size_t in_width, size_t out_width,
                         const struct ln_resize_axis *rows, const struct ln_resize_axis *cols, size_t begin,
                         size_t end, float *scratch) {
    const size_t taps = rows->taps;
    const struct row_cache cache = {
        src, in_width, out_width, taps, cols, scratch, scratch + taps * out_width};
    const int32_t empty = -1;
    for (size_t t = 0; t < taps; t++) {
        memcpy(cache.tags + t, &empty, sizeof empty);
    }
    for (size_t y = begin; y < end; y++) {
        const int32_t *index = rows->index + y * taps;
        const float *weight = rows->weight + y * taps;
        float *out = dst + y * out_width;
        if (taps == 2 && (index[0] == index[1] || (index[0] ^ index[1]) & 1)) {
            /* Two rows in two slots, or the same one twice. */
            const float *first = cached_row(&cache, index[0]), *second = cached_row(&cache, index[1]);
            blend(out, first, weight[0], second, weight[1], out_width);
            continue;
        }
        for (size_t t = 0; t < taps; t++) {
            accumulate(out, cached_row(&cache, index[t]), out_width, weight[t], t == 0);
        }
    }
}

void ln_resize_axis_f32(float *dst, const float *src, size_t inner, const struct ln_resize_axis *axis,
                        size_t begin, size_t end) {
    const size_t taps = axis->taps;
    if (inner == 1) {
        const struct ln_resize_axis part = {taps, axis->index + begin * taps, axis->weight + begin * taps};
        interpolate_row(dst + begin, src, end - begin, &part);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        const int32_t *index = axis->index + i * taps;
        const float *weight = axis->weight + i * taps;
        for (size_t t = 0; t < taps; t++) {
            accumulate(dst + i * inner, src + (size_t)index[t] * inner, inner, weight[t], t == 0);
        }
    }
}
