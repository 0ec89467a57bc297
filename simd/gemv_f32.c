/*
 * C = A * B for one to three rows of A, where the columns of B are contiguous: each element is a dot product
 * of two contiguous runs, so B is read once and in order. This is what a decoder's attention does at every
 * token, q against all keys.
 *
 * Four columns go together, each with a vector of partial sums over k mod 4 (two vectors each, for even and
 * odd groups of four, to have eight chains of additions). A 4x4 transpose adds them up. The order depends on
 * k alone.
 */
#include "gemv_f32.h"

/*
 * Dot products of one row of A with `count` columns of B, at most 4; the other lanes repeat the last column.
 */
LN_INLINE ln_v32f dot_1x4(size_t k, const float *a, const float *b, size_t b_stride, size_t count) {
    ln_v32f even[4], odd[4];
    const float *column[4];
    LN_LOOP_UNROLLED
    for (size_t j = 0; j < 4; j++) {
        even[j] = odd[j] = ln_zero();
        column[j] = b + (j < count ? j : count - 1) * b_stride;
    }
    size_t l = 0;
    LN_LOOP_ROLLED
    for (; l + 8 <= k; l += 8) {
        const ln_v32f a_even = ln_load(a + l), a_odd = ln_load(a + l + 4);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 4; j++) {
            even[j] = ln_madd(even[j], a_even, ln_load(column[j] + l));
            odd[j] = ln_madd(odd[j], a_odd, ln_load(column[j] + l + 4));
        }
    }
    for (; l < k; l += 4) {
        const size_t left = k - l < 4 ? k - l : 4;
        const ln_v32f a_part = ln_load_part(a + l, left);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 4; j++) {
            even[j] = ln_madd(even[j], a_part, ln_load_part(column[j] + l, left));
        }
    }
    ln_v32f sum[4];
    LN_LOOP_UNROLLED
    for (size_t j = 0; j < 4; j++) {
        sum[j] = ln_add(even[j], odd[j]);
    }
    ln_transpose_4x4(sum);
    return ln_add(ln_add(sum[0], sum[2]), ln_add(sum[1], sum[3]));
}

static LN_NOINLINE void dot_row(const ln_gemm_f32_args *args, const ln_tile_f32_out *out, size_t row,
                                size_t col, size_t count) {
    const float *a = args->a + row * args->a_row_stride;
    const float *b = args->b + col * args->b_col_stride;
    const ln_v32f sum = dot_1x4(args->k, a, b, args->b_col_stride, count);
    ln_tile_f32_store(out, sum, row, col, count);
}

void ln_gemv_f32_dot(const ln_gemm_f32_args *args, const ln_tile_f32_out *out, size_t col, size_t columns) {
    for (size_t j = 0; j < columns; j += 4) {
        const size_t count = columns - j < 4 ? columns - j : 4;
        for (size_t i = 0; i < args->m; i++) {
            dot_row(args, out, i, col + j, count);
        }
    }
}
