/*
 * x^y for vectors of floats: 2^(y log2 |x|), with the logarithm and the product in double.
 *
 * The result's relative error is the absolute error of y log2 x, which reaches 128: float would leave four digits,
 * double leaves all of them. log2 is e + s w(s^2) with s = (m - 1) / (m + 1), w of degree 4 (4e-12 relative). Where x
 * is zero, subnormal or not finite, or y is not finite or beyond 2^24, the C library computes that lane.
 */
#include "vector.h"
#include "vmath.h"

#include <math.h>

/* The upper two lanes, twice. */
static inline v128_t upper(v128_t v) {
    return wasm_i32x4_shuffle(v, v, 2, 3, 2, 3);
}

/* y log2(m 2^e) for two lanes, within +-300. */
static inline ln_v64f power_exponent(ln_v64f m, ln_v64f e, ln_v64f y) {
    const ln_v64f one = wasm_f64x2_splat(1.0);
    const ln_v64f s = wasm_f64x2_div(wasm_f64x2_sub(m, one), wasm_f64x2_add(m, one));
    const ln_v64f t = wasm_f64x2_mul(s, s);
    ln_v64f w = wasm_f64x2_splat(ln_vmath.log2_w[4]);
    LN_LOOP_UNROLLED
    for (int i = 3; i >= 0; i--) {
        w = wasm_f64x2_add(wasm_f64x2_splat(ln_vmath.log2_w[i]), wasm_f64x2_mul(w, t));
    }
    const ln_v64f product = wasm_f64x2_mul(y, wasm_f64x2_add(e, wasm_f64x2_mul(s, w)));
    const ln_v64f limit = wasm_f64x2_splat(ln_vmath.pow_limit);
    return wasm_f64x2_pmin(wasm_f64x2_pmax(product, wasm_f64x2_neg(limit)), limit);
}

/* Splits t into the nearest integer (in the low words of `sum`) and the rest, as floats. */
static inline ln_v32f power_split(ln_v64f t, ln_v64f *sum) {
    const ln_v64f magic = wasm_f64x2_splat(ln_vmath.trig_magic);
    *sum = wasm_f64x2_add(t, magic);
    return wasm_f32x4_demote_f64x2_zero(wasm_f64x2_sub(t, wasm_f64x2_sub(*sum, magic)));
}

/* |x|^y for normal finite |x| and finite y. */
static ln_v32f power_of_magnitude(ln_v32f x, ln_v32f y) {
    const ln_v32i e = wasm_i32x4_shr(wasm_i32x4_sub(x, ln_splat_opaque(&ln_vmath.sqrt_half)), 23);
    const ln_v32f m = wasm_i32x4_sub(x, wasm_i32x4_shl(e, 23));
    const ln_v64f low = power_exponent(wasm_f64x2_promote_low_f32x4(m), wasm_f64x2_convert_low_i32x4(e),
                                       wasm_f64x2_promote_low_f32x4(y));
    const ln_v64f high =
        power_exponent(wasm_f64x2_promote_low_f32x4(upper(m)), wasm_f64x2_convert_low_i32x4(upper(e)),
                       wasm_f64x2_promote_low_f32x4(upper(y)));
    ln_v64f low_sum, high_sum;
    const ln_v32f low_rest = power_split(low, &low_sum);
    const ln_v32f high_rest = power_split(high, &high_sum);
    const ln_v32f f = wasm_i32x4_shuffle(low_rest, high_rest, 0, 1, 4, 5);
    /* Beyond these the result is 0 or infinity all the same, and the two factors of 2^n stay representable. */
    const ln_v32i n = wasm_i32x4_min(
        wasm_i32x4_max(wasm_i32x4_shuffle(low_sum, high_sum, 0, 2, 4, 6), wasm_i32x4_splat(-160)),
        wasm_i32x4_splat(130));
    ln_v32f q = ln_splat_opaque(&ln_vmath.exp2_q[5]);
    LN_LOOP_UNROLLED
    for (int i = 4; i >= 0; i--) {
        q = ln_madd(ln_splat_opaque(&ln_vmath.exp2_q[i]), f, q);
    }
    return ln_scale_by_power_of_two(ln_madd(ln_splat_opaque(&ln_vmath.one), f, q), n);
}

/* Sets the sign of a negative base: kept by odd y, dropped by even y, NaN for any other. */
static inline ln_v32f power_sign(ln_v32f result, ln_v32f x, ln_v32f y) {
    const ln_v32i negative = wasm_f32x4_lt(x, ln_zero());
    const ln_v32i fraction = wasm_f32x4_ne(y, wasm_f32x4_trunc(y));
    const ln_v32i odd = wasm_i32x4_shl(wasm_i32x4_trunc_sat_f32x4(y), 31);
    const ln_v32f signed_result = wasm_v128_xor(result, wasm_v128_and(odd, negative));
    return wasm_v128_or(signed_result, wasm_v128_and(negative, fraction));
}

static LN_NOINLINE ln_v32f power(ln_v32f x, ln_v32f y) {
    const ln_v32f magnitude = ln_abs(x);
    const ln_v32f result = power_sign(power_of_magnitude(magnitude, y), x, y);
    const ln_v32i base_ordinary =
        wasm_v128_and(wasm_f32x4_ge(magnitude, ln_splat_opaque(&ln_vmath.min_normal)),
                      wasm_f32x4_lt(magnitude, ln_splat_opaque(&ln_vmath.infinity)));
    const ln_v32i exponent_ordinary = wasm_f32x4_lt(ln_abs(y), wasm_f32x4_splat(0x1p24f));
    const ln_v32i ordinary = wasm_v128_and(base_ordinary, exponent_ordinary);
    if (wasm_i32x4_all_true(ordinary)) {
        return result;
    }
    float xs[4], ys[4], slow[4];
    ln_store(xs, x);
    ln_store(ys, y);
    for (int i = 0; i < 4; i++) {
        slow[i] = powf(xs[i], ys[i]);
    }
    return ln_select(ordinary, result, ln_load(slow));
}

void ln_pow_f32(float *dst, const float *a, size_t a_stride, const float *b, size_t b_stride, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const ln_v32f x = a_stride ? ln_load(a + i) : ln_load_splat(a);
        const ln_v32f y = b_stride ? ln_load(b + i) : ln_load_splat(b);
        ln_store(dst + i, power(x, y));
    }
    if (i < n) {
        const ln_v32f x = a_stride ? ln_load_part(a + i, n - i) : ln_load_splat(a);
        const ln_v32f y = b_stride ? ln_load_part(b + i, n - i) : ln_load_splat(b);
        ln_store_part(dst + i, power(x, y), n - i);
    }
}
