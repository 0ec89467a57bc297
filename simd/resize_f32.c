/*
 * Resizing planes: twofold nearest and bilinear forms, nearest by index tables for any element, and separable
 * interpolation by tables of taps, which covers linear, cubic and antialiased filters.
 *
 * The twofold bilinear kernel goes down the plane in strips of four input columns. It mixes neighbouring columns of each
 * input row once, with the weights 3/4 and 1/4, and then that row with the one above, for two output rows.
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

static void linear_2x_narrow(float *out, const float *near, const float *far, size_t width) {
    for (size_t x = 0; x < width; x++) {
        const size_t before = x > 0 ? x - 1 : x, after = x + 1 < width ? x + 1 : x;
        const float one = 0.75f * near[x] + 0.25f * far[x];
        out[2 * x] = 0.75f * one + 0.25f * (0.75f * near[before] + 0.25f * far[before]);
        out[2 * x + 1] = 0.75f * one + 0.25f * (0.75f * near[after] + 0.25f * far[after]);
    }
}

enum { INSIDE, LEFT, RIGHT };

static const volatile float most_of = 0.75f, rest_of = 0.25f;

/* Eight columns between four input columns and their neighbours. */
LN_INLINE void widen(const int side, const float *row, ln_v32f most, ln_v32f rest, ln_v32f wide[2]) {
    const ln_v32f four = ln_load(row), share = ln_mul(four, most);
    const ln_v32f before = side == LEFT ? wasm_i32x4_shuffle(four, four, 0, 0, 1, 2) : ln_load(row - 1);
    const ln_v32f after = side == RIGHT ? wasm_i32x4_shuffle(four, four, 1, 2, 3, 3) : ln_load(row + 1);
    const ln_v32f even = ln_madd(share, before, rest), odd = ln_madd(share, after, rest);
    wide[0] = wasm_i32x4_shuffle(even, odd, 0, 4, 1, 5);
    wide[1] = wasm_i32x4_shuffle(even, odd, 2, 6, 3, 7);
}

/*
 * Output rows [begin, end) of the eight columns that four input columns from `col` make. Between input rows lie two
 * output rows, one nearer to each.
 */
LN_INLINE void linear_2x_strip(const int side, float *dst, const float *src, size_t height, size_t width,
                               size_t begin, size_t end, size_t col) {
    const ln_v32f most = ln_splat_opaque(&most_of), rest = ln_splat_opaque(&rest_of);
    size_t row = (begin + 1) / 2;
    ln_v32f above[2], share[2];
    widen(side, src + (row > 0 ? row - 1 : 0) * width + col, most, rest, above);
    share[0] = ln_mul(above[0], most);
    share[1] = ln_mul(above[1], most);
    const float *from = src + (row < height ? row : height - 1) * width + col;
    float *out = dst + begin * 2 * width + 2 * col;
    LN_LOOP_ROLLED
    for (; 2 * row < end + 1; row++) {
        ln_v32f here[2];
        widen(side, from, most, rest, here);
        from += row + 1 < height ? width : 0;
        if (2 * row > begin) {
            ln_store(out, ln_madd(share[0], here[0], rest));
            ln_store(out + 4, ln_madd(share[1], here[1], rest));
            out += 2 * width;
        }
        share[0] = ln_mul(here[0], most);
        share[1] = ln_mul(here[1], most);
        if (2 * row < end) {
            ln_store(out, ln_madd(share[0], above[0], rest));
            ln_store(out + 4, ln_madd(share[1], above[1], rest));
            out += 2 * width;
        }
        above[0] = here[0];
        above[1] = here[1];
    }
}

void ln_resize_linear_2x_f32(float *dst, const float *src, size_t in_height, size_t in_width, size_t begin,
                             size_t end) {
    if (in_width < 5) {
        for (size_t y = begin; y < end; y++) {
            const size_t near = y / 2;
            const size_t wanted = y % 2 ? near + 1 : near - 1; /* wraps to a huge number above row 0 */
            const size_t far = wanted < in_height ? wanted : near;
            linear_2x_narrow(dst + y * 2 * in_width, src + near * in_width, src + far * in_width, in_width);
        }
        return;
    }
    linear_2x_strip(LEFT, dst, src, in_height, in_width, begin, end, 0);
    for (size_t col = 4; col + 4 < in_width; col += 4) {
        linear_2x_strip(INSIDE, dst, src, in_height, in_width, begin, end, col);
    }
    linear_2x_strip(RIGHT, dst, src, in_height, in_width, begin, end, in_width - 4);
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

/* Output x, tap after tap. */
static inline float interpolate_one(const float *src, size_t x, const struct ln_resize_axis *cols) {
    float sum = 0.0f;
    for (size_t t = x * cols->taps; t < (x + 1) * cols->taps; t++) {
        sum += src[cols->index[t]] * cols->weight[t];
    }
    return sum;
}

/* Four outputs of two taps, whose inputs lie side by side. */
LN_INLINE ln_v32f interpolate_two_taps(const float *src, const int32_t *index, const float *weight) {
    ln_v32f low = wasm_v128_load64_zero(src + index[0]), high = wasm_v128_load64_zero(src + index[4]);
    low = wasm_v128_load64_lane(src + index[2], low, 1);
    high = wasm_v128_load64_lane(src + index[6], high, 1);
    low = ln_mul(low, ln_load(weight));
    high = ln_mul(high, ln_load(weight + 4));
    return ln_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), wasm_i32x4_shuffle(low, high, 1, 3, 5, 7));
}

LN_INLINE ln_v32f interpolate_four_taps(const float *src, const int32_t *index, const float *weight) {
    ln_v32f rows[4];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 4; i++) {
        rows[i] = ln_mul(ln_load(src + index[4 * i]), ln_load(weight + 4 * i));
    }
    ln_transpose_4x4(rows);
    return ln_add(ln_add(ln_add(rows[0], rows[1]), rows[2]), rows[3]);
}

/* Whether the taps of each of four outputs are neighbours: they are, but at the edges, where they are clamped. */
LN_INLINE int side_by_side(const int32_t *index, size_t taps) {
    if (taps == 2) {
        const ln_v32i low = wasm_v128_load(index), high = wasm_v128_load(index + 4);
        const ln_v32i first = wasm_i32x4_shuffle(low, high, 0, 2, 4, 6);
        const ln_v32i second = wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
        return wasm_i32x4_all_true(wasm_i32x4_eq(wasm_i32x4_sub(second, first), wasm_i32x4_splat(1)));
    }
    ln_v32i same = wasm_i32x4_splat(-1);
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 4; i++) {
        const ln_v32i run = wasm_i32x4_add(wasm_i32x4_splat(index[4 * i]), wasm_i32x4_const(0, 1, 2, 3));
        same = wasm_v128_and(same, wasm_i32x4_eq(wasm_v128_load(index + 4 * i), run));
    }
    return wasm_i32x4_all_true(same);
}

static LN_NOINLINE void interpolate_row(float *dst, const float *src, size_t out_width,
                                        const struct ln_resize_axis *cols) {
    const size_t taps = cols->taps;
    size_t x = 0;
    for (; (taps == 2 || taps == 4) && x + 4 <= out_width; x += 4) {
        const int32_t *index = cols->index + x * taps;
        const float *weight = cols->weight + x * taps;
        if (!side_by_side(index, taps)) {
            for (size_t i = x; i < x + 4; i++) {
                dst[i] = interpolate_one(src, i, cols);
            }
        } else if (taps == 2) {
            ln_store(dst + x, interpolate_two_taps(src, index, weight));
        } else {
            ln_store(dst + x, interpolate_four_taps(src, index, weight));
        }
    }
    for (; x < out_width; x++) {
        dst[x] = interpolate_one(src, x, cols);
    }
}

/* dst = the weighted sum of two or four rows. */
LN_INLINE void blend(float *dst, const float *const *rows, const float *weight, size_t taps, size_t n) {
    ln_v32f weights[4];
    LN_LOOP_UNROLLED
    for (size_t t = 0; t < taps; t++) {
        weights[t] = ln_load_splat(weight + t);
    }
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        ln_v32f sum = ln_mul(ln_load(rows[0] + i), weights[0]);
        LN_LOOP_UNROLLED
        for (size_t t = 1; t < taps; t++) {
            sum = ln_madd(sum, ln_load(rows[t] + i), weights[t]);
        }
        ln_store(dst + i, sum);
    }
    if (i < n) {
        ln_v32f sum = ln_mul(ln_load_part(rows[0] + i, n - i), weights[0]);
        for (size_t t = 1; t < taps; t++) {
            sum = ln_madd(sum, ln_load_part(rows[t] + i, n - i), weights[t]);
        }
        ln_store_part(dst + i, sum, n - i);
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
        if ((taps == 2 || taps == 4) && (size_t)(index[taps - 1] - index[0]) < taps) {
            /* A run of rows, each in a slot of its own; at the edges one may come again. */
            const float *sources[4];
            for (size_t t = 0; t < taps; t++) {
                sources[t] = cached_row(&cache, index[t]);
            }
            if (taps == 2) {
                blend(out, sources, weight, 2, out_width);
            } else {
                blend(out, sources, weight, 4, out_width);
            }
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
