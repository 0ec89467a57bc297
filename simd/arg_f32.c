/*
 * ArgMax and ArgMin. A contiguous row takes two passes, the maximum and then the search for it, because a search for
 * a known value is one comparison a vector. Columns keep value and index in registers, four columns at a time.
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

/*
 * Four columns. A lane's best is replaced by a better element, by the first NaN, and with `last` by an equal. Indices
 * are 32 bits: an axis has at most 2^31 elements here.
 */
static void arg_four_columns(int64_t dst[4], const float *src, size_t rows, size_t row_stride, ln_v32f sign,
                             int last, size_t columns) {
    ln_v32f best = ln_mul(sign, columns < 4 ? ln_load_part(src, columns) : ln_load(src));
    ln_v32i index = ln_splat_i32(0);
    for (size_t r = 1; r < rows; r++) {
        const float *row = src + r * row_stride;
        const ln_v32f x = ln_mul(sign, columns < 4 ? ln_load_part(row, columns) : ln_load(row));
        const ln_v32i x_nan = wasm_f32x4_ne(x, x), best_nan = wasm_f32x4_ne(best, best);
        ln_v32i better = wasm_v128_or(last ? wasm_f32x4_ge(x, best) : wasm_f32x4_gt(x, best),
                                      last ? x_nan : wasm_v128_andnot(x_nan, best_nan));
        best = ln_select(better, x, best);
        index = ln_select(better, ln_splat_i32((int32_t)r), index);
    }
    int32_t lanes[4];
    wasm_v128_store(lanes, index);
    for (size_t i = 0; i < columns; i++) {
        dst[i] = lanes[i];
    }
}

void ln_arg_outer_f32(int64_t *dst, const float *src, size_t rows, size_t columns, size_t row_stride,
                      enum ln_arg which, int last) {
    const ln_v32f sign = ln_splat(which == LN_ARG_MAX ? 1.0f : -1.0f);
    for (size_t c = 0; c < columns; c += 4) {
        const size_t width = columns - c < 4 ? columns - c : 4;
        arg_four_columns(dst + c, src + c, rows, row_stride, sign, last, width);
    }
}
