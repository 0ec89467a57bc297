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

/* Two input rows: the nearer one has weight 3/4. */
struct row_pair {
    const float *near, *far;
    ln_v32f quarter, three_quarters;
};

LN_INLINE ln_v32f mix_rows(const struct row_pair *rows, size_t x) {
    return ln_madd(ln_mul(ln_load(rows->near + x), rows->three_quarters), ln_load(rows->far + x),
                   rows->quarter);
}

static float mix_one(const struct row_pair *rows, size_t x) {
    return 0.75f * rows->near[x] + 0.25f * rows->far[x];
}

/* Eight outputs from four columns and the ones to their left and right. */
LN_INLINE void mix_columns(float *out, const struct row_pair *rows, ln_v32f left, ln_v32f four,
                           ln_v32f right) {
    const ln_v32f most = ln_mul(four, rows->three_quarters);
    const ln_v32f even = ln_madd(most, left, rows->quarter), odd = ln_madd(most, right, rows->quarter);
    ln_store(out, wasm_i32x4_shuffle(even, odd, 0, 4, 1, 5));
    ln_store(out + 4, wasm_i32x4_shuffle(even, odd, 2, 6, 3, 7));
}

static void linear_2x_narrow(float *out, const struct row_pair *rows, size_t width) {
    for (size_t x = 0; x < width; x++) {
        const float one = mix_one(rows, x);
        const float left = x > 0 ? mix_one(rows, x - 1) : one;
        const float right = x + 1 < width ? mix_one(rows, x + 1) : one;
        out[2 * x] = 0.75f * one + 0.25f * left;
        out[2 * x + 1] = 0.75f * one + 0.25f * right;
    }
}

/* width is at least 4. */
static void linear_2x_row(float *out, const struct row_pair *rows, size_t width) {
    ln_v32f four = mix_rows(rows, 0);
    ln_v32f before = wasm_i32x4_shuffle(four, four, 0, 0, 0, 0);
    size_t x = 0;
    for (; x + 8 <= width; x += 4) {
        const ln_v32f next = mix_rows(rows, x + 4);
        mix_columns(out + 2 * x, rows, wasm_i32x4_shuffle(before, four, 3, 4, 5, 6), four,
                    wasm_i32x4_shuffle(four, next, 1, 2, 3, 4));
        before = four;
        four = next;
    }
    /* At most seven columns are left: a vector with a neighbour to its right, then the last one, which overlaps. */
    const size_t last = width - 4;
    const ln_v32f end = mix_rows(rows, last);
    if (x < last) {
        const ln_v32f right = mix_rows(rows, x + 1);
        mix_columns(out + 2 * x, rows, wasm_i32x4_shuffle(before, four, 3, 4, 5, 6), four, right);
    }
    const ln_v32f left = last > 0 ? mix_rows(rows, last - 1) : wasm_i32x4_shuffle(end, end, 0, 0, 1, 2);
    mix_columns(out + 2 * last, rows, left, end, wasm_i32x4_shuffle(end, end, 1, 2, 3, 3));
}

void ln_resize_linear_2x_f32(float *dst, const float *src, size_t in_height, size_t in_width, size_t begin,
                             size_t end) {
    for (size_t y = begin; y < end; y++) {
        const size_t near = y / 2;
        const size_t wanted = y % 2 ? near + 1 : near - 1; /* wraps to a huge number above row 0 */
        const size_t far = wanted < in_height ? wanted : near;
        const struct row_pair rows = {src + near * in_width, src + far * in_width, ln_splat(0.25f),
                                      ln_splat(0.75f)};
        if (in_width < 4) {
            linear_2x_narrow(dst + y * 2 * in_width, &rows, in_width);
        } else {
            linear_2x_row(dst + y * 2 * in_width, &rows, in_width);
        }
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
void ln_resize_plane_f32(float *dst, const float *src, size_t in_width, size_t out_width,
                         const struct ln_resize_axis *rows, const struct ln_resize_axis *cols, size_t begin,
                         size_t end, float *scratch) {
    const size_t taps = rows->taps;
    const int32_t empty = -1;
    float *tags = scratch + taps * out_width;
    for (size_t t = 0; t < taps; t++) {
        memcpy(tags + t, &empty, sizeof empty);
    }
    for (size_t y = begin; y < end; y++) {
        for (size_t t = 0; t < taps; t++) {
            const int32_t from = rows->index[y * taps + t];
            const size_t slot = (size_t)from % taps;
            float *row = scratch + slot * out_width;
            int32_t tag;
            memcpy(&tag, tags + slot, sizeof tag);
            if (tag != from) {
                interpolate_row(row, src + (size_t)from * in_width, out_width, cols);
                memcpy(tags + slot, &from, sizeof from);
            }
            accumulate(dst + y * out_width, row, out_width, rows->weight[y * taps + t], t == 0);
        }
    }
}

void ln_resize_axis_f32(float *dst, const float *src, size_t inner, const struct ln_resize_axis *axis,
                        size_t begin, size_t end) {
    if (inner == 1) {
        const struct ln_resize_axis part = {axis->taps, axis->index + begin * axis->taps,
                                            axis->weight + begin * axis->taps};
        interpolate_row(dst + begin, src, end - begin, &part);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        for (size_t t = 0; t < axis->taps; t++) {
            const size_t at = i * axis->taps + t;
            accumulate(dst + i * inner, src + (size_t)axis->index[at] * inner, inner, axis->weight[at],
                       t == 0);
        }
    }
}
