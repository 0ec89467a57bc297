/* Conversion between element types in two small steps.
 *
 * `expand` turns elements of a type into its compute class, `narrow` turns the class back into the type;
 * both have one loop per type. Between two classes there is one loop per pair. A conversion whose type has
 * the caller's class is one step straight into the caller's memory; others go through a tile on the stack.
 * So the code grows with types plus pairs of classes, not with their product.
 */
#include "base/convert.h"

#include <string.h>

#include "base/minifloat.h"
#include "base/packed.h"

enum { CHUNK = 128 };

typedef union chunk {
    float f32[CHUNK];
    double f64[CHUNK];
    int32_t i32[CHUNK];
    int64_t i64[CHUNK];
} chunk;

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

/* Exponent and mantissa move 13 bits up; the exponent is corrected by a multiplication, which handles
 * subnormal numbers too. */
float ln_half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
    if (rest >= 0x0f800000) {
        return from_bits(sign | 0x7f800000 | (rest & 0x007fffff));
    }
    return from_bits(sign | to_bits(from_bits(rest) * from_bits(0x77800000)));
}

/* Results below 2^-14 are rounded by adding 0.5, whose last place is that of a subnormal half. */
uint16_t ln_float_to_half(float value) {
    const uint32_t bits = to_bits(value);
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t half = 0;
    if (magnitude >= 0x47800000) {
        half = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x1ff) : 0x7c00;
    } else if (magnitude < 0x38800000) {
        half = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000;
    } else {
        half = (magnitude + 0xc8000fff + ((magnitude >> 13) & 1)) >> 13;
    }
    return (uint16_t)(sign | half);
}

float ln_bfloat_to_float(uint16_t bits) {
    return from_bits((uint32_t)bits << 16);
}

uint16_t ln_float_to_bfloat(float value) {
    const uint32_t bits = to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)((bits >> 16) | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* An inexact result gets an odd last bit: rounding it again can then see that something was cut off. */
float ln_f64_to_f32_odd(double value) {
    const float nearest = (float)value;
    const double back = (double)nearest;
    uint32_t bits = to_bits(nearest);
    if (back == value || value != value || (bits & 1) != 0) {
        return nearest;
    }
    /* The odd neighbour on the other side of value. */
    const bool away = (back < value) == (value > 0);
    return from_bits(away ? bits + 1 : bits - 1);
}

/* Elements of `dtype`, to and from its own compute class. */
#define EACH(statement)                                                                                      \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        statement;                                                                                           \
    }                                                                                                        \
    break

static void expand(ln_dtype dtype, const void *src, int64_t first, int64_t n, void *wide) {
    float *const f32 = wide;
    int32_t *const i32 = wide;
    int64_t *const i64 = wide;
    const unsigned bits = ln_dtype_bits(dtype);
    const void *const from = bits >= 8 ? (const char *)src + (size_t)first * (bits / 8) : src;
    switch (dtype) {
    case LN_FLOAT:
    case LN_INT32:
    case LN_INT64:
    case LN_UINT64:
    case LN_DOUBLE:
        memcpy(wide, from, (size_t)n * (bits / 8));
        break;
    case LN_FLOAT16:
        EACH(f32[i] = ln_half_to_float(((const uint16_t *)from)[i]));
    case LN_BFLOAT16:
        EACH(f32[i] = ln_bfloat_to_float(((const uint16_t *)from)[i]));
    case LN_FLOAT8E4M3FN:
    case LN_FLOAT8E4M3FNUZ:
    case LN_FLOAT8E5M2:
    case LN_FLOAT8E5M2FNUZ:
    case LN_FLOAT8E8M0:
        EACH(f32[i] = ln_minifloat_decode(dtype, ((const uint8_t *)from)[i]));
    case LN_FLOAT4E2M1:
    case LN_FLOAT6E2M3:
    case LN_FLOAT6E3M2:
        EACH(f32[i] = ln_minifloat_decode(dtype, ln_packed_get(from, first + i, bits)));
    case LN_UINT8:
    case LN_BOOL:
        EACH(i32[i] = ((const uint8_t *)from)[i]);
    case LN_INT8:
        EACH(i32[i] = ((const int8_t *)from)[i]);
    case LN_UINT16:
        EACH(i32[i] = ((const uint16_t *)from)[i]);
    case LN_INT16:
        EACH(i32[i] = ((const int16_t *)from)[i]);
    case LN_UINT32:
        EACH(i64[i] = ((const uint32_t *)from)[i]);
    case LN_UINT4:
    case LN_UINT2:
        EACH(i32[i] = (int32_t)ln_packed_get(from, first + i, bits));
    case LN_INT4:
    case LN_INT2: {
        const int32_t sign = 1 << (bits - 1);
        EACH(i32[i] = ((int32_t)ln_packed_get(from, first + i, bits) ^ sign) - sign);
    }
    default:
        break;
    }
}

static void narrow(ln_dtype dtype, void *dst, int64_t first, int64_t n, const void *wide, bool saturate,
                   ln_round round) {
    const float *const f32 = wide;
    const int32_t *const i32 = wide;
    const int64_t *const i64 = wide;
    const unsigned bits = ln_dtype_bits(dtype);
    void *const to = bits >= 8 ? (char *)dst + (size_t)first * (bits / 8) : dst;
    switch (dtype) {
    case LN_FLOAT:
    case LN_INT32:
    case LN_INT64:
    case LN_UINT64:
    case LN_DOUBLE:
        memcpy(to, wide, (size_t)n * (bits / 8));
        break;
    case LN_FLOAT16:
        EACH(((uint16_t *)to)[i] = ln_float_to_half(f32[i]));
    case LN_BFLOAT16:
        EACH(((uint16_t *)to)[i] = ln_float_to_bfloat(f32[i]));
    case LN_FLOAT8E4M3FN:
    case LN_FLOAT8E4M3FNUZ:
    case LN_FLOAT8E5M2:
    case LN_FLOAT8E5M2FNUZ:
    case LN_FLOAT8E8M0:
        EACH(((uint8_t *)to)[i] = (uint8_t)ln_minifloat_encode(dtype, f32[i], saturate, round));
    case LN_FLOAT4E2M1:
    case LN_FLOAT6E2M3:
    case LN_FLOAT6E3M2:
        EACH(ln_packed_set(to, first + i, bits, ln_minifloat_encode(dtype, f32[i], saturate, round)));
    case LN_BOOL:
        EACH(((uint8_t *)to)[i] = i32[i] != 0);
    case LN_UINT8:
    case LN_INT8:
        EACH(((uint8_t *)to)[i] = (uint8_t)i32[i]);
    case LN_UINT16:
    case LN_INT16:
        EACH(((uint16_t *)to)[i] = (uint16_t)i32[i]);
    case LN_UINT32:
        EACH(((uint32_t *)to)[i] = (uint32_t)i64[i]);
    case LN_UINT4:
    case LN_INT4:
    case LN_UINT2:
    case LN_INT2:
        EACH(ln_packed_set(to, first + i, bits, (unsigned)i32[i]));
    default:
        break;
    }
}

/* Truncates to an integer within [low, high]; NaN becomes 0. */
static int64_t truncate(double value, int64_t low, int64_t high) {
    if (value != value) {
        return 0;
    }
    if (value <= (double)low) {
        return low;
    }
    /* (double)INT64_MAX rounds up to 2^63, which is out of range itself. */
    return value >= (double)high ? high : (int64_t)value;
}

static uint64_t truncate_unsigned(double value) {
    if (!(value > 0)) {
        return 0;
    }
    return value >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)value;
}

/* The range of integers that a float is cut to before it is stored as `dtype`; 4- and 2-bit integers wrap
 * instead. */
static void integer_range(ln_dtype dtype, int64_t *low, int64_t *high) {
    const unsigned bits = ln_dtype_bits(dtype) >= 8 ? ln_dtype_bits(dtype) : 32;
    const bool with_sign = ln_dtype_is_signed(dtype) || ln_dtype_bits(dtype) < 8;
    *high = (int64_t)(UINT64_MAX >> (64 - bits + (with_sign ? 1 : 0)));
    *low = with_sign ? -*high - 1 : 0;
}

/* n elements of class `from` to class `to`; class U64 shares memory with I64. Integers going to `dtype` are
 * cut to its range when they come from floats, and bool asks whether they are zero. */
static void convert_class(ln_compute from, const void *src, ln_compute to, void *dst, int64_t n,
                          ln_dtype dtype) {
    float *const f32 = dst;
    double *const f64 = dst;
    int32_t *const i32 = dst;
    int64_t *const i64 = dst;
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
    const bool is_bool = dtype == LN_BOOL;
    const bool odd = dtype != LN_FLOAT;
    if (to == LN_COMPUTE_I32 || to == LN_COMPUTE_I64) {
        integer_range(dtype, &low, &high);
    }
#define FROM(class) (8 * (int)(class))
    switch (FROM(from) + (int)to) {
    case FROM(LN_COMPUTE_F32) + LN_COMPUTE_F64:
        EACH(f64[i] = (double)((const float *)src)[i]);
    case FROM(LN_COMPUTE_F32) + LN_COMPUTE_I32:
        EACH(i32[i] = is_bool ? ((const float *)src)[i] != 0
                              : (int32_t)truncate((double)((const float *)src)[i], low, high));
    case FROM(LN_COMPUTE_F32) + LN_COMPUTE_I64:
        EACH(i64[i] = truncate((double)((const float *)src)[i], low, high));
    case FROM(LN_COMPUTE_F32) + LN_COMPUTE_U64:
        EACH(i64[i] = (int64_t)truncate_unsigned((double)((const float *)src)[i]));
    case FROM(LN_COMPUTE_F64) + LN_COMPUTE_F32:
        EACH(f32[i] = odd ? ln_f64_to_f32_odd(((const double *)src)[i]) : (float)((const double *)src)[i]);
    case FROM(LN_COMPUTE_F64) + LN_COMPUTE_I32:
        EACH(i32[i] = is_bool ? ((const double *)src)[i] != 0
                              : (int32_t)truncate(((const double *)src)[i], low, high));
    case FROM(LN_COMPUTE_F64) + LN_COMPUTE_I64:
        EACH(i64[i] = truncate(((const double *)src)[i], low, high));
    case FROM(LN_COMPUTE_F64) + LN_COMPUTE_U64:
        EACH(i64[i] = (int64_t)truncate_unsigned(((const double *)src)[i]));
    case FROM(LN_COMPUTE_I32) + LN_COMPUTE_F32:
        EACH(f32[i] = (float)((const int32_t *)src)[i]);
    case FROM(LN_COMPUTE_I32) + LN_COMPUTE_F64:
        EACH(f64[i] = (double)((const int32_t *)src)[i]);
    case FROM(LN_COMPUTE_I32) + LN_COMPUTE_I64:
    case FROM(LN_COMPUTE_I32) + LN_COMPUTE_U64:
        EACH(i64[i] = ((const int32_t *)src)[i]);
    case FROM(LN_COMPUTE_I64) + LN_COMPUTE_F32:
        EACH(f32[i] = (float)((const int64_t *)src)[i]);
    case FROM(LN_COMPUTE_I64) + LN_COMPUTE_F64:
        EACH(f64[i] = (double)((const int64_t *)src)[i]);
    case FROM(LN_COMPUTE_I64) + LN_COMPUTE_I32:
    case FROM(LN_COMPUTE_U64) + LN_COMPUTE_I32:
        EACH(i32[i] = is_bool ? ((const int64_t *)src)[i] != 0 : (int32_t)((const int64_t *)src)[i]);
    case FROM(LN_COMPUTE_U64) + LN_COMPUTE_F32:
        EACH(f32[i] = (float)((const uint64_t *)src)[i]);
    case FROM(LN_COMPUTE_U64) + LN_COMPUTE_F64:
        EACH(f64[i] = (double)((const uint64_t *)src)[i]);
    default: /* I64 and U64 */
        memcpy(dst, src, (size_t)n * sizeof(int64_t));
        break;
    }
#undef FROM
}

static size_t class_bytes(ln_compute compute) {
    return compute == LN_COMPUTE_F32 || compute == LN_COMPUTE_I32 ? 4 : 8;
}

/* `target` is a type of the caller's class that takes its whole range. */
static void load(ln_dtype dtype, const void *src, int64_t first, int64_t n, void *dst, ln_dtype target) {
    const ln_compute from = ln_dtype_compute(dtype);
    const ln_compute to = ln_dtype_compute(target);
    if (n <= 0) {
        return;
    }
    if (from == to) {
        expand(dtype, src, first, n, dst);
        return;
    }
    chunk tile;
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t step = n - at < CHUNK ? n - at : CHUNK;
        expand(dtype, src, first + at, step, &tile);
        convert_class(from, &tile, to, (char *)dst + (size_t)at * class_bytes(to), step, target);
    }
}

static void store(ln_dtype dtype, void *dst, int64_t first, int64_t n, const void *src, ln_compute from,
                  bool saturate, ln_round round) {
    const ln_compute to = ln_dtype_compute(dtype);
    if (n <= 0) {
        return;
    }
    if (from == to) {
        narrow(dtype, dst, first, n, src, saturate, round);
        return;
    }
    chunk tile;
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t step = n - at < CHUNK ? n - at : CHUNK;
        convert_class(from, (const char *)src + (size_t)at * class_bytes(from), to, &tile, step, dtype);
        narrow(dtype, dst, first + at, step, &tile, saturate, round);
    }
}

void ln_load_f32(ln_dtype dtype, const void *src, int64_t first, int64_t n, float *dst) {
    load(dtype, src, first, n, dst, LN_FLOAT);
}

void ln_load_f64(ln_dtype dtype, const void *src, int64_t first, int64_t n, double *dst) {
    load(dtype, src, first, n, dst, LN_DOUBLE);
}

void ln_load_i32(ln_dtype dtype, const void *src, int64_t first, int64_t n, int32_t *dst) {
    load(dtype, src, first, n, dst, LN_INT32);
}

void ln_load_i64(ln_dtype dtype, const void *src, int64_t first, int64_t n, int64_t *dst) {
    load(dtype, src, first, n, dst, LN_INT64);
}

void ln_store_f32(ln_dtype dtype, void *dst, int64_t first, int64_t n, const float *src) {
    store(dtype, dst, first, n, src, LN_COMPUTE_F32, true, LN_ROUND_UP);
}

void ln_store_f32_as(ln_dtype dtype, void *dst, int64_t first, int64_t n, const float *src, bool saturate,
                     ln_round round) {
    store(dtype, dst, first, n, src, LN_COMPUTE_F32, saturate, round);
}

void ln_store_f64(ln_dtype dtype, void *dst, int64_t first, int64_t n, const double *src) {
    store(dtype, dst, first, n, src, LN_COMPUTE_F64, true, LN_ROUND_UP);
}

void ln_store_i32(ln_dtype dtype, void *dst, int64_t first, int64_t n, const int32_t *src) {
    store(dtype, dst, first, n, src, LN_COMPUTE_I32, true, LN_ROUND_UP);
}

void ln_store_i64(ln_dtype dtype, void *dst, int64_t first, int64_t n, const int64_t *src) {
    store(dtype, dst, first, n, src, LN_COMPUTE_I64, true, LN_ROUND_UP);
}
