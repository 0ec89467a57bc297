/*
 * Products of 8-bit matrices, summed exactly in int32 (which wraps).
 *
 * A comes widened to int16 with its zero point subtracted, B stays in bytes: panels of eight columns, two
 * rows of B side by side, because one i32x4.dot_i16x8 multiplies and adds pairs:
 *
 *     panel:  b[0][0] b[1][0]  b[0][1] b[1][1] ... b[0][7] b[1][7]   b[2][0] b[3][0] ...     16 bytes a pair of rows
 *
 * A tile of 4 x 8 sums lives in eight registers; a panel's sixteen bytes are widened once per four rows of
 * A. Bytes keep half of the memory that widened weights would take, which is what a product with one row
 * waits for, and cost an eighth of the time where there are many rows.
 *
 * An odd last row is paired with zeros. Unsigned bytes are stored as b - 128 (`flip`), and what a zero point
 * of B or the flip adds to a sum is a multiple of the sum of a row of A: callers take it off.
 */
#include "kernels.h"
#include "simd.h"
#include "tile_f32.h"

enum { COLUMNS = LN_GEMM_I8_COLUMNS, ROWS = LN_GEMM_I8_ROWS };

size_t ln_gemm_i8_packed_bytes(size_t k, size_t n) {
    const size_t pairs = k / 2 + k % 2;
    return ln_saturating_mul(ln_saturating_mul(ln_divide_up(n, COLUMNS), 2 * COLUMNS), pairs);
}

/* Eight bytes, or the first `count` of them and zeros. */
LN_INLINE ln_v8i load_row(const uint8_t *row, size_t count, ln_v8i flip) {
    uint8_t bytes[8] = {0};
    if (count >= COLUMNS) {
        return wasm_v128_xor(wasm_v128_load64_zero(row), flip);
    }
    memcpy(bytes, row, count);
    return wasm_v128_xor(wasm_v128_load64_zero(bytes), flip);
}

LN_INLINE ln_v8i interleave(ln_v8i even, ln_v8i odd) {
    return wasm_i8x16_shuffle(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/* Two rows of a panel side by side; `odd` is NULL past the last row. */
LN_INLINE void pack_pair(int8_t *packed, const uint8_t *even, const uint8_t *odd, size_t count, ln_v8i flip) {
    const ln_v8i second = odd == NULL ? ln_zero() : load_row(odd, count, flip);
    wasm_v128_store(packed, interleave(load_row(even, count, flip), second));
}

void ln_gemm_i8_pack_rows(int8_t *packed, const uint8_t *b, const size_t *offsets, size_t k, size_t n,
                          uint8_t flip) {
    const ln_v8i flips = wasm_i8x16_splat((int8_t)flip);
    for (size_t j = 0; j < n; j += COLUMNS) {
        for (size_t l = 0; l < k; l += 2, packed += 2 * COLUMNS) {
            pack_pair(packed, b + offsets[l] + j, l + 1 < k ? b + offsets[l + 1] + j : NULL, n - j, flips);
        }
    }
}

void ln_gemm_i8_pack_b(int8_t *packed, const uint8_t *b, size_t row_stride, size_t col_stride, size_t k,
                       size_t n, uint8_t flip) {
    const ln_v8i flips = wasm_i8x16_splat((int8_t)flip);
    for (size_t j = 0; j < n; j += COLUMNS) {
        for (size_t l = 0; l < k; l += 2, packed += 2 * COLUMNS) {
            const uint8_t *rows[2] = {b + l * row_stride + j * col_stride, NULL};
            rows[1] = l + 1 < k ? rows[0] + row_stride : NULL;
            uint8_t gathered[2][COLUMNS];
            const size_t count = n - j < COLUMNS ? n - j : COLUMNS;
            for (int r = 0; r < 2 && rows[r] != NULL && col_stride != 1; r++) {
                for (size_t c = 0; c < count; c++) {
                    gathered[r][c] = rows[r][c * col_stride];
                }
                rows[r] = gathered[r];
            }
            pack_pair(packed, rows[0], rows[1], count, flips);
        }
    }
}

int32_t ln_widen_i8_i16(int16_t *y, const uint8_t *x, size_t n, bool is_signed, int32_t zero_point) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t wide = (is_signed ? (int8_t)x[i] : x[i]) - zero_point;
        y[i] = (int16_t)wide;
        sum += (uint32_t)wide;
    }
    return (int32_t)sum;
}

/* A tile: `rows` rows of A, which are `a_stride` int16 apart, by one panel. */
#define TILE(rows)                                                                                           \
    static void tile_##rows(int32_t *c, size_t c_stride, const int16_t *a, size_t a_stride,                  \
                            const int8_t *panel, size_t pairs) {                                             \
        ln_v32i sums[rows][2];                                                                               \
        LN_LOOP_UNROLLED for (int r = 0; r < rows; r++) {                                                    \
            sums[r][0] = sums[r][1] = ln_zero();                                                             \
        }                                                                                                    \
        LN_LOOP_ROLLED for (size_t p = 0; p < pairs; p++) {                                                  \
            const ln_v8i bytes = wasm_v128_load(panel + p * 2 * COLUMNS);                                    \
            const ln_v16i low = wasm_i16x8_extend_low_i8x16(bytes);                                          \
            const ln_v16i high = wasm_i16x8_extend_high_i8x16(bytes);                                        \
            LN_LOOP_UNROLLED for (int r = 0; r < rows; r++) {                                                \
                const ln_v16i pair = wasm_v128_load32_splat(a + (size_t)r * a_stride + 2 * p);               \
                sums[r][0] = wasm_i32x4_add(sums[r][0], wasm_i32x4_dot_i16x8(pair, low));                    \
                sums[r][1] = wasm_i32x4_add(sums[r][1], wasm_i32x4_dot_i16x8(pair, high));                   \
            }                                                                                                \
        }                                                                                                    \
        LN_LOOP_UNROLLED for (int r = 0; r < rows; r++) {                                                    \
            wasm_v128_store(c + (size_t)r * c_stride, sums[r][0]);                                           \
            wasm_v128_store(c + (size_t)r * c_stride + 4, sums[r][1]);                                       \
        }                                                                                                    \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)

void ln_gemm_i8_rows(int32_t *c, size_t c_stride, const int16_t *a, size_t a_stride, size_t rows,
                     const int8_t *packed_b, size_t panels, size_t k) {
    static void (*const tiles[ROWS])(int32_t *, size_t, const int16_t *, size_t, const int8_t *,
                                     size_t) = {tile_1, tile_2, tile_3, tile_4};
    const size_t pairs = k / 2 + k % 2;
    for (size_t panel = 0; panel < panels; panel++) {
        tiles[rows - 1](c + panel * COLUMNS, c_stride, a, a_stride, packed_b + panel * pairs * 2 * COLUMNS,
                        pairs);
    }
}
