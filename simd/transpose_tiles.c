/*
 * 2-D transposes by element width.
 *
 * A matrix is walked in tiles of 16x16 elements, so that the lines of both sides stay in L1 whatever the strides
 * (power-of-two strides map a larger tile's rows to the same cache set). Inside a tile, blocks are transposed in
 * registers by interleaving: 8x8 for one and two bytes, 4x4 for four, 2x2 for eight. Rows and columns that fill no
 * block are moved one by one, with memcpy because an element may be a run of smaller ones.
 */
#include "simd.h"
#include "vector.h"

enum { TILE = 16 };

/* Each block function transposes one block; strides are in bytes. */

static inline void block_1(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride) {
    v128_t rows[8], pairs[4], quads[4];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 8; i++) {
        rows[i] = wasm_v128_load64_zero(src + i * src_stride);
    }
    LN_LOOP_UNROLLED
    for (int i = 0; i < 4; i++) {
        pairs[i] = wasm_i8x16_shuffle(rows[2 * i], rows[2 * i + 1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                      6, 22, 7, 23);
    }
    LN_LOOP_UNROLLED
    for (int i = 0; i < 2; i++) {
        quads[2 * i] = wasm_i16x8_shuffle(pairs[2 * i], pairs[2 * i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
        quads[2 * i + 1] = wasm_i16x8_shuffle(pairs[2 * i], pairs[2 * i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 2; i++) {
        const v128_t first = wasm_i32x4_shuffle(quads[i], quads[2 + i], 0, 4, 1, 5);
        const v128_t second = wasm_i32x4_shuffle(quads[i], quads[2 + i], 2, 6, 3, 7);
        wasm_v128_store64_lane(dst + (4 * i) * dst_stride, first, 0);
        wasm_v128_store64_lane(dst + (4 * i + 1) * dst_stride, first, 1);
        wasm_v128_store64_lane(dst + (4 * i + 2) * dst_stride, second, 0);
        wasm_v128_store64_lane(dst + (4 * i + 3) * dst_stride, second, 1);
    }
}

static inline void block_2(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride) {
    v128_t rows[8], pairs[8], quads[8];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 8; i++) {
        rows[i] = wasm_v128_load(src + i * src_stride);
    }
    LN_LOOP_UNROLLED
    for (int i = 0; i < 4; i++) {
        pairs[i] = wasm_i16x8_shuffle(rows[2 * i], rows[2 * i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
        pairs[4 + i] = wasm_i16x8_shuffle(rows[2 * i], rows[2 * i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    /* quads[4 h + 2 j + i]: columns 4 h + 2 j and the next, of rows 4 i to 4 i + 3. */
    LN_LOOP_UNROLLED
    for (int h = 0; h < 2; h++) {
        LN_LOOP_UNROLLED
        for (int i = 0; i < 2; i++) {
            const v128_t a = pairs[4 * h + 2 * i], b = pairs[4 * h + 2 * i + 1];
            quads[4 * h + i] = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
            quads[4 * h + 2 + i] = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
        }
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 4; i++) {
        const v128_t a = quads[2 * i], b = quads[2 * i + 1];
        wasm_v128_store(dst + (2 * i) * dst_stride, wasm_i64x2_shuffle(a, b, 0, 2));
        wasm_v128_store(dst + (2 * i + 1) * dst_stride, wasm_i64x2_shuffle(a, b, 1, 3));
    }
}

static inline void block_4(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride) {
    ln_v32f rows[4];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 4; i++) {
        rows[i] = wasm_v128_load(src + i * src_stride);
    }
    ln_transpose_4x4(rows);
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 4; i++) {
        wasm_v128_store(dst + i * dst_stride, rows[i]);
    }
}

static inline void block_8(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride) {
    const v128_t a = wasm_v128_load(src), b = wasm_v128_load(src + src_stride);
    wasm_v128_store(dst, wasm_i64x2_shuffle(a, b, 0, 2));
    wasm_v128_store(dst + dst_stride, wasm_i64x2_shuffle(a, b, 1, 3));
}

static inline void block_16(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride) {
    (void)dst_stride;
    (void)src_stride;
    wasm_v128_store(dst, wasm_v128_load(src));
}

/* A tile of at most TILE x TILE elements; strides in bytes. */
#define TILE_FUNCTION(width, block)                                                                          \
    static void tile_##width(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride,         \
                             size_t rows, size_t cols) {                                                     \
        const size_t full_rows = rows / (block) * (block), full_cols = cols / (block) * (block);             \
        for (size_t c = 0; c < full_cols; c += (block)) {                                                    \
            for (size_t r = 0; r < full_rows; r += (block)) {                                                \
                block_##width(dst + c * dst_stride + r * (width), dst_stride,                                \
                              src + r * src_stride + c * (width), src_stride);                               \
            }                                                                                                \
        }                                                                                                    \
        for (size_t c = 0; c < cols; c++) {                                                                  \
            for (size_t r = c < full_cols ? full_rows : 0; r < rows; r++) {                                  \
                memcpy(dst + c * dst_stride + r * (width), src + r * src_stride + c * (width), width);       \
            }                                                                                                \
        }                                                                                                    \
    }

TILE_FUNCTION(1, 8)
TILE_FUNCTION(2, 8)
TILE_FUNCTION(4, 4)
TILE_FUNCTION(8, 2)
TILE_FUNCTION(16, 1)

typedef void tile_fn(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride, size_t rows,
                     size_t cols);

static tile_fn *tile_for_width(size_t width) {
    switch (width) {
    case 1:
        return tile_1;
    case 2:
        return tile_2;
    case 4:
        return tile_4;
    case 8:
        return tile_8;
    default:
        return tile_16;
    }
}

void ln_transpose_2d(void *dst, size_t dst_stride, const void *src, size_t src_stride, size_t rows,
                     size_t cols, size_t width) {
    tile_fn *tile = tile_for_width(width);
    const size_t dst_bytes = dst_stride * width, src_bytes = src_stride * width;
    for (size_t c = 0; c < cols; c += TILE) {
        for (size_t r = 0; r < rows; r += TILE) {
            tile((uint8_t *)dst + c * dst_bytes + r * width, dst_bytes,
                 (const uint8_t *)src + r * src_bytes + c * width, src_bytes,
                 rows - r < TILE ? rows - r : TILE, cols - c < TILE ? cols - c : TILE);
        }
    }
}
