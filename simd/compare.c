/*
 * Comparisons of floats, doubles and integers of 32 and 64 bits: the tables ln_compare_f32, _f64, _i32 and _i64.
 *
 * A kernel compares blocks of sixteen elements and narrows the masks to sixteen bytes; 64-bit masks are halved first. There
 * are three for each type: x > y is y < x, and x != y is what x == y is not, for NaN too. One driver serves them all: a
 * scalar operand is repeated in a buffer that every block reads, and a last short block goes through buffers.
 */
#include "simd.h"
#include "vector.h"

enum { BLOCK = 16, MAX_WIDTH = 8 };

/* Operands move on by `step` bytes a block. */
typedef void blocks_fn(uint8_t *dst, const uint8_t *x, size_t x_step, const uint8_t *y, size_t y_step,
                       size_t blocks);

/* The masks of four elements at element i of the block, by an instruction for four lanes or two of those for two. */
#define MASK_4(compare, i) compare(wasm_v128_load(x + 4 * (i)), wasm_v128_load(y + 4 * (i)))
#define MASK_2(compare, i)                                                                                   \
    wasm_i32x4_shuffle(compare(wasm_v128_load(x + 8 * (i)), wasm_v128_load(y + 8 * (i))),                    \
                       compare(wasm_v128_load(x + 8 * (i) + 16), wasm_v128_load(y + 8 * (i) + 16)), 0, 2, 4, \
                       6)

#define BLOCKS(name, mask, compare)                                                                          \
    static void name(uint8_t *dst, const uint8_t *x, size_t x_step, const uint8_t *y, size_t y_step,         \
                     size_t blocks) {                                                                        \
        LN_LOOP_ROLLED                                                                                       \
        for (size_t b = 0; b < blocks; b++, x += x_step, y += y_step, dst += BLOCK) {                        \
            const ln_v16i low = wasm_i16x8_narrow_i32x4(mask(compare, 0), mask(compare, 4));                 \
            const ln_v16i high = wasm_i16x8_narrow_i32x4(mask(compare, 8), mask(compare, 12));               \
            wasm_v128_store(dst, wasm_i8x16_neg(wasm_i8x16_narrow_i16x8(low, high)));                        \
        }                                                                                                    \
    }

static LN_NOINLINE void compare(blocks_fn *run, uint8_t *dst, const uint8_t *a, size_t a_stride,
                                const uint8_t *b, size_t b_stride, size_t n, size_t width) {
    const size_t blocks = n / BLOCK, rest = n % BLOCK;
    uint8_t x[BLOCK * MAX_WIDTH] = {0}, y[BLOCK * MAX_WIDTH] = {0}, last[BLOCK];
    for (size_t i = 0; n != 0 && i < BLOCK; i++) {
        if (a_stride == 0) {
            memcpy(x + i * width, a, width);
        }
        if (b_stride == 0) {
            memcpy(y + i * width, b, width);
        }
    }
    const size_t step = BLOCK * width;
    run(dst, a_stride ? a : x, a_stride * step, b_stride ? b : y, b_stride * step, blocks);
    if (rest != 0) {
        if (a_stride != 0) {
            memcpy(x, a + blocks * step, rest * width);
        }
        if (b_stride != 0) {
            memcpy(y, b + blocks * step, rest * width);
        }
        run(last, x, 0, y, 0, 1);
        memcpy(dst + blocks * BLOCK, last, rest);
    }
}

static void invert(uint8_t *dst, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dst[i] ^= 1;
    }
}

#define COMPARISON(name, run, width, left, right, then)                                                      \
    static void name(uint8_t *dst, const void *a, size_t a_stride, const void *b, size_t b_stride,           \
                     size_t n) {                                                                             \
        compare(run, dst, left, left##_stride, right, right##_stride, n, width);                             \
        then;                                                                                                \
    }

#define COMPARISONS(suffix, mask, shape, width)                                                              \
    BLOCKS(eq_blocks_##suffix, mask, wasm_##shape##_eq)                                                      \
    BLOCKS(lt_blocks_##suffix, mask, wasm_##shape##_lt)                                                      \
    BLOCKS(le_blocks_##suffix, mask, wasm_##shape##_le)                                                      \
    COMPARISON(eq_##suffix, eq_blocks_##suffix, width, a, b, (void)0)                                        \
    COMPARISON(ne_##suffix, eq_blocks_##suffix, width, a, b, invert(dst, n))                                 \
    COMPARISON(lt_##suffix, lt_blocks_##suffix, width, a, b, (void)0)                                        \
    COMPARISON(le_##suffix, le_blocks_##suffix, width, a, b, (void)0)                                        \
    COMPARISON(gt_##suffix, lt_blocks_##suffix, width, b, a, (void)0)                                        \
    COMPARISON(ge_##suffix, le_blocks_##suffix, width, b, a, (void)0)                                        \
    ln_compare_fn *const ln_compare_##suffix[LN_COMPARE_COUNT] = {                                           \
        [LN_COMPARE_EQ] = eq_##suffix, [LN_COMPARE_NE] = ne_##suffix, [LN_COMPARE_LT] = lt_##suffix,         \
        [LN_COMPARE_LE] = le_##suffix, [LN_COMPARE_GT] = gt_##suffix, [LN_COMPARE_GE] = ge_##suffix,         \
    };

COMPARISONS(f32, MASK_4, f32x4, 4)
COMPARISONS(i32, MASK_4, i32x4, 4)
COMPARISONS(f64, MASK_2, f64x2, 8)
COMPARISONS(i64, MASK_2, i64x2, 8)
