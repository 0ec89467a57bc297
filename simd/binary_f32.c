/*
 * Binary arithmetic and selection of floats: the tables ln_binary_f32 and ln_where.
 *
 * An operation is a vector expression in x and y; the macro makes of it a loop for two rows, one for a scalar on
 * either side, and one vector for two scalars. The last vector of a row overlaps the one before; its operands are
 * read before the first store, so the kernels work in place.
 */
#include "vector.h"
#include "vmath.h"

/* `expression` in x and y over n >= 4 elements; A and B say how a vector of each operand at i is made. */
#define BINARY_LOOP(A, B, expression, unrolled)                                                              \
    do {                                                                                                     \
        const size_t tail = n - 4;                                                                           \
        const ln_v32f last_x = A(a, tail), last_y = B(b, tail);                                              \
        size_t i = 0;                                                                                        \
        LN_LOOP_ROLLED                                                                                       \
        for (; (unrolled) && i + 4 < tail; i += 8) {                                                         \
            LN_LOOP_UNROLLED                                                                                 \
            for (size_t v = 0; v < 8; v += 4) {                                                              \
                const ln_v32f x = A(a, i + v), y = B(b, i + v);                                              \
                ln_store(d + i + v, expression);                                                             \
            }                                                                                                \
        }                                                                                                    \
        LN_LOOP_ROLLED                                                                                       \
        for (; i < tail; i += 4) {                                                                           \
            const ln_v32f x = A(a, i), y = B(b, i);                                                          \
            ln_store(d + i, expression);                                                                     \
        }                                                                                                    \
        const ln_v32f x = last_x, y = last_y;                                                                \
        ln_store(d + tail, expression);                                                                      \
    } while (0)

#define VECTOR_AT(p, i)  ln_load((p) + (i))
#define SPLAT_OF_A(p, i) splat_a
#define SPLAT_OF_B(p, i) splat_b

/* `commutes` says that the operands may change places, which saves the loop for a scalar on the left. */
#define BINARY(name, commutes, expression)                                                                   \
    static void binary_##name(void *dst, const void *va, size_t a_stride, const void *vb, size_t b_stride,   \
                              size_t n) {                                                                    \
        const int turned = (commutes) && a_stride == 0;                                                      \
        float *d = dst;                                                                                      \
        const float *a = turned ? vb : va, *b = turned ? va : vb;                                            \
        if (turned) {                                                                                        \
            a_stride = b_stride;                                                                             \
            b_stride = 0;                                                                                    \
        }                                                                                                    \
        if (n < 4) {                                                                                         \
            binary_short(binary_##name, d, a, a_stride, b, b_stride, n);                                     \
            return;                                                                                          \
        }                                                                                                    \
        const ln_v32f splat_a = ln_load_splat(a), splat_b = ln_load_splat(b);                                \
        if (a_stride != 0 && b_stride != 0) {                                                                \
            BINARY_LOOP(VECTOR_AT, VECTOR_AT, expression, 1);                                                \
        } else if (a_stride != 0) {                                                                          \
            BINARY_LOOP(VECTOR_AT, SPLAT_OF_B, expression, 1);                                               \
        } else if (!(commutes) && b_stride != 0) {                                                           \
            BINARY_LOOP(SPLAT_OF_A, VECTOR_AT, expression, 0);                                               \
        } else {                                                                                             \
            const ln_v32f x = splat_a, y = splat_b;                                                          \
            const float result = wasm_f32x4_extract_lane(expression, 0);                                     \
            for (size_t i = 0; i < n; i++) {                                                                 \
                d[i] = result;                                                                               \
            }                                                                                                \
        }                                                                                                    \
    }

/* Fewer than four elements: through buffers of four, so that they meet the same instructions. */
static void binary_short(ln_binary_fn *run, float *dst, const float *a, size_t a_stride, const float *b,
                         size_t b_stride, size_t n) {
    float four_a[4] = {1.0f, 1.0f, 1.0f, 1.0f}, four_b[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    for (size_t i = 0; i < n; i++) {
        four_a[i] = a[i * a_stride];
        four_b[i] = b[i * b_stride];
    }
    if (n != 0) {
        run(four_a, four_a, 1, four_b, 1, 4);
        memcpy(dst, four_a, n * sizeof(float));
    }
}

BINARY(add, 1, ln_add(x, y))
BINARY(sub, 0, ln_sub(x, y))
BINARY(mul, 1, ln_mul(x, y))
BINARY(div, 0, ln_div(x, y))
BINARY(max, 1, ln_max(x, y))
BINARY(min, 1, ln_min(x, y))
BINARY(prelu, 0, ln_select(wasm_f32x4_lt(x, ln_zero()), ln_mul(x, y), x))
BINARY(add_relu, 1, ln_clamp_low(ln_add(x, y), ln_zero()))
BINARY(mul_relu, 1, ln_clamp_low(ln_mul(x, y), ln_zero()))

/* A scalar exponent goes by the table of unary functions, which knows the common ones. */
static void binary_pow(void *dst, const void *a, size_t a_stride, const void *b, size_t b_stride, size_t n) {
    if (a_stride != 0 && b_stride == 0 && n != 0) {
        ln_unary_f32[LN_UNARY_POW](dst, a, n, *(const float *)b, 0.0f);
    } else {
        ln_pow_f32(dst, a, a_stride, b, b_stride, n);
    }
}

ln_binary_fn *const ln_binary_f32[LN_BINARY_COUNT] = {
#define BINARY_ROW(upper, lower) [LN_BINARY_##upper] = binary_##lower,
    LN_BINARY_LIST(BINARY_ROW)
#undef BINARY_ROW
};

void ln_axpy_f32(float *dst, const float *src, size_t n, float a) {
    const ln_v32f scale = ln_splat(a);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        ln_store(dst + i, ln_madd(ln_load(dst + i), scale, ln_load(src + i)));
        ln_store(dst + i + 4, ln_madd(ln_load(dst + i + 4), scale, ln_load(src + i + 4)));
    }
    for (; i + 4 <= n; i += 4) {
        ln_store(dst + i, ln_madd(ln_load(dst + i), scale, ln_load(src + i)));
    }
    if (i < n) {
        const ln_v32f sum = ln_madd(ln_load_part(dst + i, n - i), scale, ln_load_part(src + i, n - i));
        ln_store_part(dst + i, sum, n - i);
    }
}

/* ---- selection, by element width ---- */

LN_INLINE ln_v32f operand_at(const float *p, size_t stride, size_t i) {
    return stride != 0 ? ln_load(p + i) : ln_load_splat(p);
}

#define WHERE(bits, type)                                                                                    \
    static void where_##bits(void *dst, const uint8_t *condition, size_t condition_stride, const void *va,   \
                             size_t a_stride, const void *vb, size_t b_stride, size_t n) {                   \
        type *d = dst;                                                                                       \
        const type *a = va, *b = vb;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                                     \
            d[i] = condition[i * condition_stride] ? a[i * a_stride] : b[i * b_stride];                      \
        }                                                                                                    \
    }

WHERE(8, uint8_t)
WHERE(16, uint16_t)
WHERE(64, uint64_t)
WHERE(32_rest, uint32_t)

static void where_32(void *dst, const uint8_t *condition, size_t condition_stride, const void *va,
                     size_t a_stride, const void *vb, size_t b_stride, size_t n) {
    float *d = dst;
    const float *a = va, *b = vb;
    size_t i = 0;
    for (; condition_stride != 0 && i + 4 <= n; i += 4) {
        const ln_v16i halves = wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(condition + i));
        const ln_v32i mask = wasm_i32x4_gt(wasm_u32x4_extend_low_u16x8(halves), ln_zero());
        ln_store(d + i, ln_select(mask, operand_at(a, a_stride, i), operand_at(b, b_stride, i)));
    }
    where_32_rest(d + i, condition + i * condition_stride, condition_stride, a + i * a_stride, a_stride,
                  b + i * b_stride, b_stride, n - i);
}

/* Complex doubles and the like: no type of 16 bytes, so no alignment to lean on. */
static void where_128(void *dst, const uint8_t *condition, size_t condition_stride, const void *va,
                      size_t a_stride, const void *vb, size_t b_stride, size_t n) {
    uint8_t *d = dst;
    const uint8_t *a = va, *b = vb;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = condition[i * condition_stride] ? a + 16 * i * a_stride : b + 16 * i * b_stride;
        wasm_v128_store(d + 16 * i, wasm_v128_load(from));
    }
}

ln_where_fn *const ln_where[5] = {where_8, where_16, where_32, where_64, where_128};
