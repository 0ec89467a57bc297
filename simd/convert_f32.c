/*
 * Conversions between floats and other number types.
 *
 * Half precision to float: the exponent and mantissa bits, shifted into place, are a float 2^112 times too small,
 * subnormals included; one product sets it right. Float to half follows the exponent: too large gives infinity or
 * NaN, subnormal halves are rounded by adding 1/2 (whose last place is that of the smallest half), the rest by adding
 * just under half of the last place, plus its parity: to nearest, ties to even.
 */
#include "simd.h"
#include "vector.h"

/*
 * Calls the vector form on whole vectors of `width` and on a zero-filled copy of the rest. `setup` loads constants.
 */
#define CONVERSION(name, to, from, width, setup)                                                             \
    void ln_##name(to *dst, const from *src, size_t n) {                                                     \
        const struct constants k = setup;                                                                    \
        size_t i = 0;                                                                                        \
        for (; i + (width) <= n; i += (width)) {                                                             \
            convert_##name(&k, dst + i, src + i);                                                            \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            from in[width] = {0};                                                                            \
            to out[width];                                                                                   \
            memcpy(in, src + i, (n - i) * sizeof(from));                                                     \
            convert_##name(&k, out, in);                                                                     \
            memcpy(dst + i, out, (n - i) * sizeof(to));                                                      \
        }                                                                                                    \
    }

/* Held in memory so that vectors made of them stay in registers; see simd.h. */
static const volatile struct {
    int32_t magnitude, infinity_magnitude, exponent, sign, one, rebias, half, smallest_normal, infinity,
        special;
    int32_t overflow, bfloat_bias, quiet;
    float scale, two_31;
} table = {
    .magnitude = 0x7fff,
    .infinity_magnitude = 0x7c00 << 13,
    .exponent = 0x7f800000,
    .sign = 0x7fffffff,
    .one = 1,
    .rebias = 0xfff - (112 << 23),
    .half = 0x3f000000,
    .smallest_normal = 113 << 23,
    .infinity = 0x7f800000,
    .special = 0x7c00,
    .overflow = 143 << 23,
    .bfloat_bias = 0x7fff,
    .quiet = 0x00400000,
    .scale = 0x1p112f,
    .two_31 = 0x1p31f,
};

/* What a kernel needs, in registers; the macros below say what is what. */
struct constants {
    ln_v32i a, b, c, d, e, f, g, h;
    ln_v32f scale;
};

#define WORD(field)  ln_splat_opaque_i32(&table.field)
#define NO_CONSTANTS {.scale = ln_zero()}
#define FROM_HALF                                                                                            \
    {.a = WORD(magnitude),                                                                                   \
     .b = WORD(infinity_magnitude),                                                                          \
     .c = WORD(exponent),                                                                                    \
     .scale = ln_splat_opaque(&table.scale)}
#define TO_HALF                                                                                              \
    {.a = WORD(sign),                                                                                        \
     .b = WORD(one),                                                                                         \
     .c = WORD(rebias),                                                                                      \
     .d = WORD(half),                                                                                        \
     .e = WORD(smallest_normal),                                                                             \
     .f = WORD(infinity),                                                                                    \
     .g = WORD(special),                                                                                     \
     .h = WORD(overflow)}
#define INT32_BOUND {.scale = ln_splat_opaque(&table.two_31)}
#define TO_BFLOAT   {.b = WORD(one), .c = WORD(bfloat_bias), .d = WORD(quiet)}

/* Four halves, sign-extended in 32-bit lanes. */
LN_INLINE ln_v32f half_to_float(const struct constants *k, ln_v32i h) {
    const ln_v32i shifted = wasm_i32x4_shl(wasm_v128_and(h, k->a), 13);
    const ln_v32i special = wasm_i32x4_ge(shifted, k->b);
    const ln_v32i sign = wasm_i32x4_shl(wasm_u32x4_shr(h, 31), 31);
    const ln_v32f scaled = ln_mul(shifted, k->scale);
    return wasm_v128_or(wasm_v128_or(scaled, wasm_v128_and(special, k->c)), sign);
}

LN_INLINE void convert_f16_to_f32(const struct constants *k, float *dst, const uint16_t *src) {
    const ln_v16i halves = wasm_v128_load(src);
    ln_store(dst, half_to_float(k, wasm_i32x4_extend_low_i16x8(halves)));
    ln_store(dst + 4, half_to_float(k, wasm_i32x4_extend_high_i16x8(halves)));
}

/* Four halves in 32-bit lanes. */
LN_INLINE ln_v32i float_to_half(const struct constants *k, ln_v32f x) {
    const ln_v32i magnitude = wasm_v128_and(x, k->a);
    const ln_v32i sign = wasm_u32x4_shr(wasm_v128_xor(x, magnitude), 16);

    const ln_v32i odd = wasm_v128_and(wasm_u32x4_shr(magnitude, 13), k->b);
    const ln_v32i normal = wasm_u32x4_shr(wasm_i32x4_add(wasm_i32x4_add(magnitude, k->c), odd), 13);
    const ln_v32i subnormal = wasm_i32x4_sub(ln_add(magnitude, k->d), k->d);
    const ln_v32i finite = ln_select(wasm_i32x4_lt(magnitude, k->e), subnormal, normal);

    /* The lowest mantissa bit that a NaN certainly has is the quiet one: infinity's code plus 0x200. */
    const ln_v32i nan_bit = wasm_i32x4_shl(wasm_u32x4_shr(wasm_i32x4_gt(magnitude, k->f), 31), 9);
    const ln_v32i special = wasm_v128_or(k->g, nan_bit);
    return wasm_v128_or(ln_select(wasm_i32x4_ge(magnitude, k->h), special, finite), sign);
}

LN_INLINE void convert_f32_to_f16(const struct constants *k, uint16_t *dst, const float *src) {
    const ln_v32i low = float_to_half(k, ln_load(src)), high = float_to_half(k, ln_load(src + 4));
    wasm_v128_store(dst, wasm_u16x8_narrow_i32x4(low, high));
}

LN_INLINE void convert_bf16_to_f32(const struct constants *k, float *dst, const uint16_t *src) {
    (void)k;
    const ln_v16i halves = wasm_v128_load(src), zero = ln_zero();
    wasm_v128_store(dst, wasm_i16x8_shuffle(zero, halves, 0, 8, 1, 9, 2, 10, 3, 11));
    wasm_v128_store(dst + 4, wasm_i16x8_shuffle(zero, halves, 4, 12, 5, 13, 6, 14, 7, 15));
}

LN_INLINE ln_v32i float_to_bfloat(const struct constants *k, ln_v32f x) {
    const ln_v32i odd = wasm_v128_and(wasm_u32x4_shr(x, 16), k->b);
    const ln_v32i rounded = wasm_i32x4_add(x, wasm_i32x4_add(odd, k->c));
    const ln_v32i quiet = wasm_v128_or(x, k->d);
    return wasm_u32x4_shr(ln_select(wasm_f32x4_eq(x, x), rounded, quiet), 16);
}

LN_INLINE void convert_f32_to_bf16(const struct constants *k, uint16_t *dst, const float *src) {
    const ln_v32i low = float_to_bfloat(k, ln_load(src)), high = float_to_bfloat(k, ln_load(src + 4));
    wasm_v128_store(dst, wasm_u16x8_narrow_i32x4(low, high));
}

LN_INLINE void convert_i32_to_f32(const struct constants *k, float *dst, const int32_t *src) {
    (void)k;
    ln_store(dst, wasm_f32x4_convert_i32x4(wasm_v128_load(src)));
}

LN_INLINE void convert_f32_to_i32(const struct constants *k, int32_t *dst, const float *src) {
    (void)k;
    wasm_v128_store(dst, wasm_i32x4_trunc_sat_f32x4(ln_load(src)));
}

LN_INLINE void convert_f64_to_f32(const struct constants *k, float *dst, const double *src) {
    (void)k;
    const ln_v32f low = wasm_f32x4_demote_f64x2_zero(wasm_v128_load(src));
    const ln_v32f high = wasm_f32x4_demote_f64x2_zero(wasm_v128_load(src + 2));
    ln_store(dst, wasm_i32x4_shuffle(low, high, 0, 1, 4, 5));
}

LN_INLINE void convert_f32_to_f64(const struct constants *k, double *dst, const float *src) {
    (void)k;
    const ln_v32f x = ln_load(src);
    wasm_v128_store(dst, wasm_f64x2_promote_low_f32x4(x));
    wasm_v128_store(dst + 2, wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 2, 3)));
}

LN_INLINE void convert_u8_to_f32(const struct constants *k, float *dst, const uint8_t *src) {
    (void)k;
    const ln_v16i halves = wasm_u16x8_load8x8(src);
    ln_store(dst, wasm_f32x4_convert_i32x4(wasm_u32x4_extend_low_u16x8(halves)));
    ln_store(dst + 4, wasm_f32x4_convert_i32x4(wasm_u32x4_extend_high_u16x8(halves)));
}

LN_INLINE void convert_i8_to_f32(const struct constants *k, float *dst, const int8_t *src) {
    (void)k;
    const ln_v16i halves = wasm_i16x8_load8x8(src);
    ln_store(dst, wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(halves)));
    ln_store(dst + 4, wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(halves)));
}

CONVERSION(f16_to_f32, float, uint16_t, 8, FROM_HALF)
CONVERSION(f32_to_f16, uint16_t, float, 8, TO_HALF)
CONVERSION(bf16_to_f32, float, uint16_t, 8, NO_CONSTANTS)
CONVERSION(f32_to_bf16, uint16_t, float, 8, TO_BFLOAT)
CONVERSION(i32_to_f32, float, int32_t, 4, NO_CONSTANTS)
CONVERSION(f32_to_i32, int32_t, float, 4, NO_CONSTANTS)
CONVERSION(f64_to_f32, float, double, 4, NO_CONSTANTS)
CONVERSION(f32_to_f64, double, float, 4, NO_CONSTANTS)
CONVERSION(u8_to_f32, float, uint8_t, 8, NO_CONSTANTS)
CONVERSION(i8_to_f32, float, int8_t, 8, NO_CONSTANTS)

/* Four integers, by way of 32 bits when they all fit. */
LN_INLINE void convert_i64_to_f32(const struct constants *k, float *dst, const int64_t *src) {
    (void)k;
    const v128_t first = wasm_v128_load(src), second = wasm_v128_load(src + 2);
    const ln_v32i low = wasm_i32x4_shuffle(first, second, 0, 2, 4, 6);
    const ln_v32i high = wasm_i32x4_shuffle(first, second, 1, 3, 5, 7);
    if (wasm_i32x4_all_true(wasm_i32x4_eq(high, wasm_i32x4_shr(low, 31)))) {
        ln_store(dst, wasm_f32x4_convert_i32x4(low));
        return;
    }
    for (int i = 0; i < 4; i++) {
        dst[i] = (float)src[i];
    }
}

static int64_t to_int64(float x) {
    if (x >= -0x1p63f && x < 0x1p63f) {
        return (int64_t)x;
    }
    return x > 0.0f ? INT64_MAX : x < 0.0f ? INT64_MIN : 0;
}

LN_INLINE void convert_f32_to_i64(const struct constants *k, int64_t *dst, const float *src) {
    const ln_v32f x = ln_load(src);
    if (wasm_i32x4_all_true(wasm_f32x4_lt(ln_abs(x), k->scale))) {
        const ln_v32i n = wasm_i32x4_trunc_sat_f32x4(x);
        wasm_v128_store(dst, wasm_i64x2_extend_low_i32x4(n));
        wasm_v128_store(dst + 2, wasm_i64x2_extend_high_i32x4(n));
        return;
    }
    for (int i = 0; i < 4; i++) {
        dst[i] = to_int64(src[i]);
    }
}

CONVERSION(i64_to_f32, float, int64_t, 4, NO_CONSTANTS)
CONVERSION(f32_to_i64, int64_t, float, 4, INT32_BOUND)
