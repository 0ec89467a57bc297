/* Floats of 8 bits and less. Their formats differ in a handful of numbers, kept in a table, so one decoder
 * and one encoder serve all of them; float8e8m0, a bare exponent, is apart. Source: the standard's pages on
 * float8, float6 and float4, and its test cases where they disagree (the FNUZ forms saturate infinity to
 * the largest number). Formats without a NaN give it the code of negative zero.
 */
#include "base/minifloat.h"

#include <string.h>

typedef struct format_row {
    uint8_t mantissa_bits;
    uint8_t bias;
    uint8_t sign;     /* bit of the sign */
    uint8_t largest;  /* code of the largest finite number */
    uint8_t overflow; /* code of what lies beyond it when nothing saturates: infinity or NaN */
    uint8_t nan;      /* code that NaN gets */
    uint8_t infinity; /* code of infinity, 0 for none */
    bool one_zero;    /* no negative zero: its code is the only NaN */
} format_row;

static const format_row formats[] = {
    [LN_FLOAT8E4M3FN - LN_FLOAT8E4M3FN] = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, 0, false},
    [LN_FLOAT8E4M3FNUZ - LN_FLOAT8E4M3FN] = {3, 8, 0x80, 0x7f, 0x80, 0x80, 0, true},
    [LN_FLOAT8E5M2 - LN_FLOAT8E4M3FN] = {2, 15, 0x80, 0x7b, 0x7c, 0x7e, 0x7c, false},
    [LN_FLOAT8E5M2FNUZ - LN_FLOAT8E4M3FN] = {2, 16, 0x80, 0x7f, 0x80, 0x80, 0, true},
    [LN_FLOAT4E2M1 - LN_FLOAT8E4M3FN] = {1, 1, 0x08, 0x07, 0x07, 0x08, 0, false},
    [LN_FLOAT6E2M3 - LN_FLOAT8E4M3FN] = {3, 1, 0x20, 0x1f, 0x1f, 0x20, 0, false},
    [LN_FLOAT6E3M2 - LN_FLOAT8E4M3FN] = {2, 3, 0x20, 0x1f, 0x1f, 0x20, 0, false},
};

static const format_row *format_of(ln_dtype dtype) {
    return &formats[dtype - LN_FLOAT8E4M3FN];
}

static float from_bits(uint32_t bits) {
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t to_bits(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float ln_minifloat_decode(ln_dtype dtype, unsigned code) {
    if (dtype == LN_FLOAT8E8M0) {
        return from_bits(code == 255 ? 0x7fc00000 : code == 0 ? 0x00400000 : (uint32_t)code << 23);
    }
    const format_row *const format = format_of(dtype);
    const unsigned magnitude = code & (format->sign - 1u);
    const uint32_t sign = (code & format->sign) != 0 ? 0x80000000 : 0;
    if (format->one_zero ? code == format->nan : magnitude > format->largest) {
        return from_bits(sign |
                         (magnitude == format->infinity && !format->one_zero ? 0x7f800000 : 0x7fc00000));
    }
    const unsigned exponent = magnitude >> format->mantissa_bits;
    unsigned mantissa = magnitude & ((1u << format->mantissa_bits) - 1);
    mantissa |= exponent > 0 ? 1u << format->mantissa_bits : 0;
    const unsigned scale = (exponent > 0 ? exponent : 1) + 127 - format->bias - format->mantissa_bits;
    const float value = (float)(int)mantissa * from_bits(scale << 23);
    return sign != 0 ? -value : value;
}

static unsigned encode_e8m0(uint32_t magnitude, bool saturate, ln_round round) {
    if (magnitude > 0x7f800000) {
        return 255;
    }
    uint32_t exponent = magnitude >> 23;
    const uint32_t mantissa = magnitude & 0x7fffff;
    /* Below 2^-126 code 0 is 2^-127, half way up the subnormal numbers. */
    const uint32_t exact = exponent == 0 ? 0x400000 : 0;
    const uint32_t half = exponent == 0 ? 0x600000 : 0x400000;
    if ((round == LN_ROUND_UP && mantissa > exact) || (round == LN_ROUND_NEAREST && mantissa >= half)) {
        exponent++;
    }
    return exponent < 255 ? exponent : saturate ? 254 : 255;
}

unsigned ln_minifloat_encode(ln_dtype dtype, float value, bool saturate, ln_round round) {
    const uint32_t bits = to_bits(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (dtype == LN_FLOAT8E8M0) {
        return encode_e8m0(magnitude, saturate, round);
    }
    const format_row *const format = format_of(dtype);
    const unsigned sign = bits >> 31 != 0 ? format->sign : 0;
    if (magnitude > 0x7f800000) {
        return format->nan | (format->one_zero || format->nan == format->sign ? 0 : sign);
    }
    /* Exponent field of the result; at 1 and below the numbers are subnormal and keep fewer bits. */
    const int field = (int)(magnitude >> 23) - 127 + format->bias;
    int shift = 23 - format->mantissa_bits;
    shift += field < 1 ? 1 - field : 0;
    unsigned code = 0;
    if (shift < 26) {
        const uint32_t mantissa = (magnitude & 0x7fffff) | (magnitude >= 0x800000 ? 0x800000 : 0);
        const uint32_t odd = (mantissa >> shift) & 1;
        const uint32_t rounded = (mantissa + (UINT32_C(1) << (shift - 1)) - 1 + odd) >> shift;
        code = rounded + (field > 1 ? (unsigned)(field - 1) << format->mantissa_bits : 0);
    }
    if (code > format->largest) {
        code = saturate ? format->largest : format->overflow;
    }
    if (format->one_zero && (code == 0 || code == format->nan)) {
        return code;
    }
    return code | sign;
}
