/*
 * ArgMax and ArgMin. A contiguous row takes two passes, the maximum and then the search for it, because a search for
 * a known value is one comparison a vector. Columns keep value and index in registers, sixteen
 * columns at a time.
 */
#include "vector.h"
#include "vmath.h"

/* The first or last index whose element is `value`; any NaN when value is NaN. There is one. */
static size_t find(const float *src, size_t n, float value, int last) {
    const int nan = value != value;
    const ln_v32f wanted = ln_splat(value);
    size_t i = last ? n : 0;
    while (last ? i >= 4 : i + 4 <= n) {
        const ln_v32f x = ln_load(last ? src + i - 4 : src + i);
        const ln_v32i hit = nan ? wasm_f32x4_ne(x, x) : wasm_f32x4_eq(x, wanted);
        if (wasm_v128_any_true(hit)) {
            break;
        }
        i = last ? i - 4 : i + 4;
    }
    if (last) {
        while (i > 0 && !(nan ? src[i - 1] != src[i - 1] : src[i - 1] == value)) {
            i--;
        }
        return i - (i > 0);
    }
    while (i + 1 < n && !(nan ? src[i] != src[i] : src[i] == value)) {
        i++;
    }
    return i;
}

void ln_arg_inner_f32(int64_t *dst, const float *src, size_t rows, size_t n, enum ln_arg which, int last) {
    ln_reduce_inner_fn *reduce = ln_reduce_inner_f32[which == LN_ARG_MAX ? LN_REDUCE_MAX : LN_REDUCE_MIN];
    for (size_t r = 0; r < rows; r++) {
        float value;
        reduce(&value, src + r * n, 1, n);
        dst[r] = (int64_t)find(src + r * n, n, value, last);
    }
}

/* What a strip of columns has found so far. */
struct best {
    ln_v32f value;
    ln_v32i index;
};

/* A lane's best is replaced by a better element, by the first NaN, and with `last` by an equal and by the last NaN. */
LN_INLINE void best_next(struct best *best, ln_v32f x, ln_v32i index, int last) {
    const ln_v32i better =
        last ? wasm_v128_or(wasm_f32x4_ge(x, best->value), wasm_f32x4_ne(x, x))
             : wasm_v128_andnot(wasm_f32x4_eq(best->value, best->value), wasm_f32x4_le(x, best->value));
    best->value = ln_select(better, x, best->value);
    best->index = ln_select(better, index, best->index);
}

/* A strip of four vectors of columns. Indices are 32 bits: an axis has at most 2^31 elements here. */
LN_INLINE void arg_strip(int64_t *dst, const float *src, size_t rows, size_t row_stride, ln_v32f sign,
                         int last) {
    struct best best[4];
    LN_LOOP_UNROLLED
    for (size_t v = 0; v < 4; v++) {
        best[v] = (struct best){ln_mul(sign, ln_load(src + 4 * v)), ln_zero()};
    }
    for (size_t r = 1; r < rows; r++) {
        const ln_v32i index = ln_splat_i32((int32_t)r);
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < 4; v++) {
            best_next(&best[v], ln_mul(sign, ln_load(src + r * row_stride + 4 * v)), index, last);
        }
    }
    LN_LOOP_UNROLLED
    for (size_t v = 0; v < 4; v++) {
        wasm_v128_store(dst + 4 * v, wasm_i64x2_extend_low_i32x4(best[v].index));
        wasm_v128_store(dst + 4 * v + 2, wasm_i64x2_extend_high_i32x4(best[v].index));
    }
}

/* One to four columns. */
static void arg_few_columns(int64_t *dst, const float *src, size_t rows, size_t row_stride, ln_v32f sign,
                            int last, size_t columns) {
    struct best best = {ln_mul(sign, ln_load_first(src, columns)), ln_zero()};
    for (size_t r = 1; r < rows; r++) {
        const ln_v32f x = ln_mul(sign, ln_load_first(src + r * row_stride, columns));
        best_next(&best, x, ln_splat_i32((int32_t)r), last);
    }
    int32_t lanes[4];
    wasm_v128_store(lanes, best.index);
    for (size_t i = 0; i < columns; i++) {
        dst[i] = lanes[i];
    }
}

void ln_arg_outer_f32(int64_t *dst, const float *src, size_t rows, size_t columns, size_t row_stride,
                      enum ln_arg which, int last) {
    const ln_v32f sign = ln_splat(which == LN_ARG_MAX ? 1.0f : -1.0f);
    size_t c = 0;
    for (; c + 16 <= columns; c += 16) {
        if (last) {
            arg_strip(dst + c, src + c, rows, row_stride, sign, 1);
        } else {
            arg_strip(dst + c, src + c, rows, row_stride, sign, 0);
        }
    }
    for (; c < columns; c += 4) {
        const size_t width = columns - c < 4 ? columns - c : 4;
        arg_few_columns(dst + c, src + c, rows, row_stride, sign, last, width);
    }
}
