/*
 * 2-D transposes by element width.
 *
 * A matrix is walked in tiles of 16x16 elements, so that the lines of both sides stay in L1 whatever the strides
 * (power-of-two strides map a larger tile's rows to the same cache set). Inside a tile, blocks are transposed in
 * registers by interleaving: 8x8 for one and two bytes, 4x4 for four, 2x2 for eight. Rows and columns that fill no
 * block are moved one by one, with memcpy because an element may be a run of smaller ones. Matrices of three columns
 * or rows, pixels of three floats, have loops of their own.
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

/* A whole tile of four-byte elements, the most frequent kind. Strides are in bytes. */
static void whole_4(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride) {
    for (size_t c = 0; c < TILE; c += 4) {
        LN_LOOP_UNROLLED
        for (size_t r = 0; r < TILE; r += 4) {
            block_4(dst + r * 4, dst_stride, src + r * src_stride, src_stride);
        }
        dst += 4 * dst_stride;
        src += 16;
    }
}

/* A tile of any size: blocks where they fit, the rest element by element. */
#define TILE_FUNCTION(width, block, name)                                                                    \
    static void tile_##name(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride,          \
                            size_t rows, size_t cols) {                                                      \
        const size_t full_rows = rows / (block) * (block), full_cols = cols / (block) * (block);             \
        LN_LOOP_ROLLED                                                                                       \
        for (size_t c = 0; c < full_cols; c += (block)) {                                                    \
            LN_LOOP_ROLLED                                                                                   \
            for (size_t r = 0; r < full_rows; r += (block)) {                                                \
                block_##width(dst + c * dst_stride + r * (width), dst_stride,                                \
                              src + r * src_stride + c * (width), src_stride);                               \
            }                                                                                                \
        }                                                                                                    \
        for (size_t c = 0; c < cols; c++) {                                                                  \
            LN_LOOP_ROLLED                                                                                   \
            for (size_t r = c < full_cols ? full_rows : 0; r < rows; r++) {                                  \
                memcpy(dst + c * dst_stride + r * (width), src + r * src_stride + c * (width), width);       \
            }                                                                                                \
        }                                                                                                    \
    }

TILE_FUNCTION(1, 8, 1)
TILE_FUNCTION(2, 8, 2)
TILE_FUNCTION(4, 4, 4_any)
TILE_FUNCTION(8, 2, 8)
TILE_FUNCTION(16, 1, 16)

static void tile_4(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride, size_t rows,
                   size_t cols) {
    if (rows == TILE && cols == TILE) {
        whole_4(dst, dst_stride, src, src_stride);
    } else {
        tile_4_any(dst, dst_stride, src, src_stride, rows, cols);
    }
}

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

/* ---- pixels of three values ---- */

/* Four pixels x0 y0 z0 x1 ... to a vector of each channel. */
static void pixels_to_planes(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t pixels) {
    size_t i = 0;
    for (; i + 4 <= pixels; i += 4) {
        const v128_t a = wasm_v128_load(src + 12 * i), b = wasm_v128_load(src + 12 * i + 16);
        const v128_t c = wasm_v128_load(src + 12 * i + 32);
        const v128_t x01 = wasm_i32x4_shuffle(a, b, 0, 3, 6, 6), y01 = wasm_i32x4_shuffle(a, b, 1, 4, 7, 7);
        const v128_t z01 = wasm_i32x4_shuffle(a, b, 2, 5, 5, 5);
        wasm_v128_store(dst + 4 * i, wasm_i32x4_shuffle(x01, c, 0, 1, 2, 5));
        wasm_v128_store(dst + dst_stride + 4 * i, wasm_i32x4_shuffle(y01, c, 0, 1, 2, 6));
        wasm_v128_store(dst + 2 * dst_stride + 4 * i, wasm_i32x4_shuffle(z01, c, 0, 1, 4, 7));
    }
    for (; i < pixels; i++) {
        for (size_t channel = 0; channel < 3; channel++) {
            memcpy(dst + channel * dst_stride + 4 * i, src + 12 * i + 4 * channel, 4);
        }
    }
}

static void planes_to_pixels(uint8_t *dst, const uint8_t *src, size_t src_stride, size_t pixels) {
    size_t i = 0;
    for (; i + 4 <= pixels; i += 4) {
        const v128_t x = wasm_v128_load(src + 4 * i), y = wasm_v128_load(src + src_stride + 4 * i);
        const v128_t z = wasm_v128_load(src + 2 * src_stride + 4 * i);
        const v128_t xy01 = wasm_i32x4_shuffle(x, y, 0, 4, 1, 5), xy23 = wasm_i32x4_shuffle(x, y, 2, 6, 3, 7);
        const v128_t zx01 = wasm_i32x4_shuffle(z, xy01, 0, 6, 1, 7); /* z0 x1 z1 y1 */
        const v128_t zx23 = wasm_i32x4_shuffle(z, xy23, 2, 6, 3, 7); /* z2 x3 z3 y3 */
        wasm_v128_store(dst + 12 * i, wasm_i32x4_shuffle(xy01, zx01, 0, 1, 4, 5));
        wasm_v128_store(dst + 12 * i + 16,
                        wasm_i64x2_shuffle(wasm_i32x4_shuffle(zx01, zx01, 3, 2, 0, 0), xy23, 0, 2));
        wasm_v128_store(dst + 12 * i + 32, wasm_i32x4_shuffle(zx23, zx23, 0, 1, 3, 2));
    }
    for (; i < pixels; i++) {
        for (size_t channel = 0; channel < 3; channel++) {
            memcpy(dst + 12 * i + 4 * channel, src + channel * src_stride + 4 * i, 4);
        }
    }
}

void ln_transpose_2d(void *dst, size_t dst_stride, const void *src, size_t src_stride, size_t rows,
                     size_t cols, size_t width) {
    tile_fn *tile = tile_for_width(width);
    const size_t dst_bytes = dst_stride * width, src_bytes = src_stride * width;
    if (width == 4 && cols == 3 && src_stride == 3) {
        pixels_to_planes(dst, dst_bytes, src, rows);
        return;
    }
    if (width == 4 && rows == 3 && dst_stride == 3) {
        planes_to_pixels(dst, src, src_bytes, cols);
        return;
    }
    for (size_t r = 0; r < rows; r += TILE) {
        for (size_t c = 0; c < cols; c += TILE) {
            tile((uint8_t *)dst + c * dst_bytes + r * width, dst_bytes,
                 (const uint8_t *)src + r * src_bytes + c * width, src_bytes,
                 rows - r < TILE ? rows - r : TILE, cols - c < TILE ? cols - c : TILE);
        }
    }
}
