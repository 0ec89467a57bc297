/*
 * Rows of 8-bit integers to floats and back, with one scale and zero point.
 *
 * Quantising divides (a product with 1 / scale would round differently), clamps to the range less the zero point, and
 * adds 1.5 * 2^23, which rounds to nearest even and leaves the integer in the low bits. A NaN counts as 0.
 */
#include "simd.h"
#include "vector.h"

struct quantizer {
    ln_v32f scale, low, high, magic;
    ln_v32i zero_point;
};

static const volatile float magic_constant = 0x1.8p23f;

LN_INLINE struct quantizer quantizer(float scale, int32_t zero_point, int32_t low, int32_t high) {
    const struct quantizer q = {
        ln_splat(scale),
        ln_splat((float)(low - zero_point)),
        ln_splat((float)(high - zero_point)),
        ln_splat_opaque(&magic_constant),
        ln_splat_i32(zero_point),
    };
    return q;
}

LN_INLINE ln_v32i quantize_four(const struct quantizer *q, const float *src) {
    ln_v32f x = ln_div(ln_load(src), q->scale);
    x = ln_clamp_high(ln_clamp_low(x, q->low), q->high);
    x = wasm_v128_and(x, wasm_f32x4_eq(x, x));
    const ln_v32i n = wasm_i32x4_sub(ln_add(x, q->magic), q->magic);
    return wasm_i32x4_add(n, q->zero_point);
}

/* Sixteen integers in 16-bit lanes. */
LN_INLINE void quantize_sixteen(const struct quantizer *q, const float *src, ln_v16i halves[2]) {
    halves[0] = wasm_i16x8_narrow_i32x4(quantize_four(q, src), quantize_four(q, src + 4));
    halves[1] = wasm_i16x8_narrow_i32x4(quantize_four(q, src + 8), quantize_four(q, src + 12));
}

#define QUANTIZE(name, type, low, high, narrow)                                                              \
    void ln_quantize_##name##_f32(type *dst, const float *src, size_t n, float scale, int32_t zero_point) {  \
        const struct quantizer q = quantizer(scale, zero_point, low, high);                                  \
        ln_v16i halves[2];                                                                                   \
        size_t i = 0;                                                                                        \
        for (; i + 16 <= n; i += 16) {                                                                       \
            quantize_sixteen(&q, src + i, halves);                                                           \
            wasm_v128_store(dst + i, narrow(halves[0], halves[1]));                                          \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            float in[16] = {0};                                                                              \
            type out[16];                                                                                    \
            memcpy(in, src + i, (n - i) * sizeof(float));                                                    \
            quantize_sixteen(&q, in, halves);                                                                \
            wasm_v128_store(out, narrow(halves[0], halves[1]));                                              \
            memcpy(dst + i, out, (n - i) * sizeof(type));                                                    \
        }                                                                                                    \
    }

QUANTIZE(u8, uint8_t, 0, 255, wasm_u8x16_narrow_i16x8)
QUANTIZE(i8, int8_t, -128, 127, wasm_i8x16_narrow_i16x8)

#define DEQUANTIZE(name, type, load, extend_low, extend_high)                                                \
    void ln_dequantize_##name##_f32(float *dst, const type *src, size_t n, float scale,                      \
                                    int32_t zero_point) {                                                    \
        const ln_v32f factor = ln_splat(scale);                                                              \
        const ln_v32i zero = ln_splat_i32(zero_point);                                                       \
        size_t i = 0;                                                                                        \
        for (; i + 8 <= n; i += 8) {                                                                         \
            const ln_v16i halves = load(src + i);                                                            \
            const ln_v32i low = wasm_i32x4_sub(extend_low(halves), zero);                                    \
            const ln_v32i high = wasm_i32x4_sub(extend_high(halves), zero);                                  \
            ln_store(dst + i, ln_mul(wasm_f32x4_convert_i32x4(low), factor));                                \
            ln_store(dst + i + 4, ln_mul(wasm_f32x4_convert_i32x4(high), factor));                           \
        }                                                                                                    \
        for (; i < n; i++) {                                                                                 \
            dst[i] = (float)(src[i] - zero_point) * scale;                                                   \
        }                                                                                                    \
    }

DEQUANTIZE(u8, uint8_t, wasm_u16x8_load8x8, wasm_u32x4_extend_low_u16x8, wasm_u32x4_extend_high_u16x8)
DEQUANTIZE(i8, int8_t, wasm_i16x8_load8x8, wasm_i32x4_extend_low_i16x8, wasm_i32x4_extend_high_i16x8)

void ln_dequantize_i32_f32(float *dst, const int32_t *src, size_t n, float scale, int32_t zero_point) {
    for (size_t i = 0; i < n; i++) {
        dst[i] = (float)(int32_t)((uint32_t)src[i] - (uint32_t)zero_point) * scale;
    }
}
