/*
 * Transcendental functions of one vector, as inline functions that kernels put into their loops.
 *
 * Each function has a struct of constants, loaded once per kernel call by its ln_..._constants(). The values live in
 * one volatile table (vmath_constants.c), because V8 rebuilds a vector literal at each use and compilers would fold
 * a plain table back into literals: the difference is more than a factor of two.
 *
 * Methods:
 *   exp    x = n ln2 + r, |r| <= ln2/2; e^r = 1 + r + r^2 q(r), q of degree 4 (3e-9 relative); 2^n from the exponent
 *          bits. n comes from adding 1.5 * 2^23, which leaves the rounded integer in the low bits of the sum.
 *   log    x = 2^e m, m in [sqrt 1/2, sqrt 2); log(1 + f) = f - f^2/2 + f^3 p(f), p of degree 7 (6e-9 relative).
 *   tanh   x P(x^2) / Q(x^2), degree 4 over 4 on |x| <= 9.02 (2e-8 relative). All coefficients are positive: nothing
 *          cancels. erf: the same with 5 over 5 on |x| <= 3.92 (1.9e-8).
 *   sin    reduction by pi/2 in double (two vectors of two), exact to float for |x| <= 2^20, then two polynomials.
 * The fits are minimax (Remez, and Lawson's weights for the quotients), rounded to float.
 */
#ifndef LN_VMATH_H
#define LN_VMATH_H

#include "simd.h"

/* Clamps x^2 at `limit`; erf(x) has one = 1. */
struct ln_erf_table {
    float limit, one, minus_one, p[6], q[5];
};

struct ln_vmath_table {
    float one, minus_one, half, two, sign_bit;
    float log2e, exp_magic, ln2_high, ln2_low, exp_low, exp_high, exp_full_low, exp_full_high, exp_ordinary;
    float exp_q[5];
    float sqrt_half, min_normal, two_23, infinity, ln2_log_high, ln2_log_low;
    float log_p[8];
    float tanh_limit, tanh_p[5], tanh_q[4];
    struct ln_erf_table erf, half_erf;
    float sin_s[3], cos_c[3], trig_limit;
    float gelu_cubic, gelu_scale;
    double two_over_pi, trig_magic, pi_half_high, pi_half_low;
    double log2_w[5], pow_limit;
    float exp2_q[6];
};
extern const volatile struct ln_vmath_table ln_vmath;

/* dst[i] = a[i * a_stride] ^ b[i * b_stride] for any floats; strides are 0 or 1 (pow_f32.c). */
void ln_pow_f32(float *dst, const float *a, size_t a_stride, const float *b, size_t b_stride, size_t n);

/* ---- exp ---- */

struct ln_exp_constants {
    ln_v32f log2e, magic, ln2_high, ln2_low, low, high, one, q0, q1, q2, q3, q4;
};

LN_INLINE struct ln_exp_constants ln_exp_constants(void) {
    const struct ln_exp_constants k = {
        ln_splat_opaque(&ln_vmath.log2e),    ln_splat_opaque(&ln_vmath.exp_magic),
        ln_splat_opaque(&ln_vmath.ln2_high), ln_splat_opaque(&ln_vmath.ln2_low),
        ln_splat_opaque(&ln_vmath.exp_low),  ln_splat_opaque(&ln_vmath.exp_high),
        ln_splat_opaque(&ln_vmath.one),      ln_splat_opaque(&ln_vmath.exp_q[0]),
        ln_splat_opaque(&ln_vmath.exp_q[1]), ln_splat_opaque(&ln_vmath.exp_q[2]),
        ln_splat_opaque(&ln_vmath.exp_q[3]), ln_splat_opaque(&ln_vmath.exp_q[4]),
    };
    return k;
}

/* e^r = 1 + r + r^2 q(r) for the reduced argument of x; `sum` receives x log2(e) + magic. */
LN_INLINE ln_v32f ln_exp_reduce(const struct ln_exp_constants *k, ln_v32f x, ln_v32f *sum) {
    *sum = ln_madd(k->magic, x, k->log2e);
    const ln_v32f n = ln_sub(*sum, k->magic);
    return ln_nmadd(ln_nmadd(x, n, k->ln2_high), n, k->ln2_low);
}

LN_INLINE ln_v32f ln_exp_q(const struct ln_exp_constants *k, ln_v32f r) {
    ln_v32f q = ln_madd(k->q3, r, k->q4);
    q = ln_madd(k->q2, r, q);
    q = ln_madd(k->q1, r, q);
    return ln_madd(k->q0, r, q);
}

/*
 * exp for -88 <= x <= 89 or NaN. Results below the smallest normal number become 0, those from 2^127.5 on
 * infinity: enough for everything that adds 1 to it or divides by a sum of it.
 */
LN_INLINE ln_v32f ln_exp_bounded(const struct ln_exp_constants *k, ln_v32f x) {
    ln_v32f sum;
    const ln_v32f r = ln_exp_reduce(k, x, &sum);
    const ln_v32f p = ln_madd(k->one, r, ln_madd(k->one, r, ln_exp_q(k, r)));
    /* The magic number carries the exponent's bias, so that the shift leaves the bits of 2^n. */
    return ln_mul(p, wasm_i32x4_shl(sum, 23));
}

/* exp for any x, under the rule of ln_exp_bounded. exp(-inf) is 0. */
LN_INLINE ln_v32f ln_exp_flush(const struct ln_exp_constants *k, ln_v32f x) {
    return ln_exp_bounded(k, ln_clamp_high(ln_clamp_low(x, k->low), k->high));
}

/* exp for x <= 0 or NaN. */
LN_INLINE ln_v32f ln_exp_nonpositive(const struct ln_exp_constants *k, ln_v32f x) {
    return ln_exp_bounded(k, ln_clamp_low(x, k->low));
}

/* p * 2^n with one rounding for any n in [-160, 130]: two factors, the first of which is exact. */
LN_INLINE ln_v32f ln_scale_by_power_of_two(ln_v32f p, ln_v32i n) {
    const ln_v32i bias = wasm_i32x4_splat(127);
    const ln_v32i half = wasm_i32x4_shr(n, 1);
    const ln_v32i rest = wasm_i32x4_sub(n, half);
    const ln_v32f first = wasm_i32x4_shl(wasm_i32x4_add(half, bias), 23);
    const ln_v32f second = wasm_i32x4_shl(wasm_i32x4_add(rest, bias), 23);
    return ln_mul(ln_mul(p, first), second);
}

/* e^x - 1 for x <= 0 or NaN, without cancellation near 0. */
LN_INLINE ln_v32f ln_expm1_nonpositive(const struct ln_exp_constants *k, ln_v32f x) {
    ln_v32f sum;
    const ln_v32f r = ln_exp_reduce(k, ln_clamp_low(x, k->low), &sum);
    const ln_v32f p = ln_madd(r, ln_mul(r, r), ln_exp_q(k, r));
    const ln_v32f scale = wasm_i32x4_shl(sum, 23);
    return ln_madd(ln_sub(scale, k->one), scale, p);
}

/* 1 / (1 + e^-x), in [0, 1]. */
LN_INLINE ln_v32f ln_sigmoid(const struct ln_exp_constants *k, ln_v32f x) {
    return ln_div(k->one, ln_add(k->one, ln_exp_flush(k, ln_neg(x))));
}

/* ---- log ---- */

struct ln_log_constants {
    ln_v32f one, half, sqrt_half, ln2_high, ln2_low, min_normal, infinity, p[8];
};

LN_INLINE struct ln_log_constants ln_log_constants(void) {
    struct ln_log_constants k;
    k.one = ln_splat_opaque(&ln_vmath.one);
    k.half = ln_splat_opaque(&ln_vmath.half);
    k.sqrt_half = ln_splat_opaque(&ln_vmath.sqrt_half);
    k.min_normal = ln_splat_opaque(&ln_vmath.min_normal);
    k.infinity = ln_splat_opaque(&ln_vmath.infinity);
    k.ln2_high = ln_splat_opaque(&ln_vmath.ln2_log_high);
    k.ln2_low = ln_splat_opaque(&ln_vmath.ln2_log_low);
    LN_LOOP_UNROLLED
    for (int i = 0; i < 8; i++) {
        k.p[i] = ln_splat_opaque(&ln_vmath.log_p[i]);
    }
    return k;
}

/* log(1 + f) + e ln2 for f in [sqrt(1/2) - 1, sqrt(2) - 1]. */
LN_INLINE ln_v32f ln_log_sum(const struct ln_log_constants *k, ln_v32f f, ln_v32f e) {
    ln_v32f p = ln_madd(k->p[6], f, k->p[7]);
    p = ln_madd(k->p[5], f, p);
    p = ln_madd(k->p[4], f, p);
    p = ln_madd(k->p[3], f, p);
    p = ln_madd(k->p[2], f, p);
    p = ln_madd(k->p[1], f, p);
    p = ln_madd(k->p[0], f, p);
    const ln_v32f square = ln_mul(f, f);
    ln_v32f tail = ln_mul(ln_mul(square, f), p);
    tail = ln_madd(tail, e, k->ln2_low);
    tail = ln_nmadd(tail, square, k->half);
    return ln_madd(ln_add(f, tail), e, k->ln2_high);
}

/* log of finite x >= the smallest normal number; other lanes get a meaningless number. */
LN_INLINE ln_v32f ln_log_normal(const struct ln_log_constants *k, ln_v32f x, ln_v32i exponent_shift) {
    const ln_v32i offset = wasm_i32x4_sub(x, k->sqrt_half);
    const ln_v32i e = wasm_i32x4_shr(offset, 23);
    const ln_v32f m = wasm_i32x4_sub(x, wasm_i32x4_shl(e, 23));
    const ln_v32f exponent = wasm_f32x4_convert_i32x4(wasm_i32x4_sub(e, exponent_shift));
    return ln_log_sum(k, ln_sub(m, k->one), exponent);
}

/* log of any float: -inf of 0, NaN of a negative number. */
LN_INLINE ln_v32f ln_log_any(const struct ln_log_constants *k, ln_v32f x) {
    const ln_v32f infinity = ln_splat_opaque(&ln_vmath.infinity);
    const ln_v32i subnormal = wasm_f32x4_lt(x, ln_splat_opaque(&ln_vmath.min_normal));
    const ln_v32f scaled = ln_mul(x, ln_splat_opaque(&ln_vmath.two_23));
    const ln_v32i shift = wasm_v128_and(subnormal, wasm_i32x4_splat(23));
    ln_v32f y = ln_log_normal(k, ln_select(subnormal, scaled, x), shift);
    y = ln_select(wasm_f32x4_eq(x, infinity), infinity, y);
    y = ln_select(wasm_f32x4_eq(x, ln_zero()), ln_neg(infinity), y);
    /* All ones is a quiet NaN. */
    return wasm_v128_or(y, wasm_v128_not(wasm_f32x4_ge(x, ln_zero())));
}

/* The same, quicker where all lanes are normal positive numbers: their bits lie between those of two floats. */
LN_INLINE ln_v32f ln_log(const struct ln_log_constants *k, ln_v32f x) {
    const ln_v32i low = wasm_i32x4_lt(x, k->min_normal), high = wasm_i32x4_ge(x, k->infinity);
    if (wasm_v128_any_true(wasm_v128_or(low, high))) {
        return ln_log_any(k, x);
    }
    return ln_log_normal(k, x, ln_zero());
}

/* log(1 + z) for 0 <= z <= 1 or NaN, accurate to the last places for small z too. */
LN_INLINE ln_v32f ln_log1p_unit(const struct ln_log_constants *k, ln_v32f z) {
    /* Above sqrt(2) - 1 it is ln2 + log(1 + (z - 1) / 2); that difference is exact. */
    const ln_v32i upper = wasm_f32x4_gt(z, ln_sub(ln_add(k->sqrt_half, k->sqrt_half), k->one));
    const ln_v32f f = ln_select(upper, ln_mul(ln_sub(z, k->one), k->half), z);
    return ln_log_sum(k, f, wasm_v128_and(upper, k->one));
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|). */
LN_INLINE ln_v32f ln_softplus(const struct ln_exp_constants *e, const struct ln_log_constants *l, ln_v32f x) {
    const ln_v32f z = ln_exp_nonpositive(e, ln_neg(ln_abs(x)));
    return ln_add(ln_clamp_low(x, ln_zero()), ln_log1p_unit(l, z));
}

/* ---- tanh and erf ---- */

/*
 * Both are x P(t) / Q(t) with t = x^2, held at the square of the limit. Beyond it the quotient stays while x grows, so
 * clamping the product to [-1, 1] gives exactly 1 and -1 there; NaN passes through both clamps.
 */

struct ln_tanh_constants {
    ln_v32f limit, one, minus_one, p[5], q[4];
};

LN_INLINE struct ln_tanh_constants ln_tanh_constants(void) {
    struct ln_tanh_constants k;
    k.limit = ln_splat_opaque(&ln_vmath.tanh_limit);
    k.one = ln_splat_opaque(&ln_vmath.one);
    k.minus_one = ln_splat_opaque(&ln_vmath.minus_one);
    LN_LOOP_UNROLLED
    for (int i = 0; i < 5; i++) {
        k.p[i] = ln_splat_opaque(&ln_vmath.tanh_p[i]);
    }
    LN_LOOP_UNROLLED
    for (int i = 0; i < 4; i++) {
        k.q[i] = ln_splat_opaque(&ln_vmath.tanh_q[i]);
    }
    return k;
}

LN_INLINE ln_v32f ln_tanh(const struct ln_tanh_constants *k, ln_v32f x) {
    const ln_v32f t = ln_clamp_high(ln_mul(x, x), k->limit);
    ln_v32f p = ln_madd(k->p[3], t, k->p[4]);
    ln_v32f q = ln_madd(k->q[2], t, k->q[3]);
    p = ln_madd(k->p[2], t, p);
    q = ln_madd(k->q[1], t, q);
    p = ln_madd(k->p[1], t, p);
    q = ln_madd(k->q[0], t, q);
    p = ln_madd(k->p[0], t, p);
    q = ln_madd(k->one, t, q);
    const ln_v32f y = ln_mul(x, ln_div(p, q));
    return ln_clamp_high(ln_clamp_low(y, k->minus_one), k->one);
}

/* erf(x), or with the other table erf(x / sqrt 2) / 2: then `one` is 1/2, which scales P and Q too. */
struct ln_erf_constants {
    ln_v32f limit, one, minus_one, p[6], q[5];
};

LN_INLINE struct ln_erf_constants ln_erf_constants(const volatile struct ln_erf_table *table) {
    struct ln_erf_constants k;
    k.limit = ln_splat_opaque(&table->limit);
    k.one = ln_splat_opaque(&table->one);
    k.minus_one = ln_splat_opaque(&table->minus_one);
    LN_LOOP_UNROLLED
    for (int i = 0; i < 6; i++) {
        k.p[i] = ln_splat_opaque(&table->p[i]);
    }
    LN_LOOP_UNROLLED
    for (int i = 0; i < 5; i++) {
        k.q[i] = ln_splat_opaque(&table->q[i]);
    }
    return k;
}

LN_INLINE ln_v32f ln_erf(const struct ln_erf_constants *k, ln_v32f x) {
    const ln_v32f t = ln_clamp_high(ln_mul(x, x), k->limit);
    ln_v32f p = ln_madd(k->p[4], t, k->p[5]);
    ln_v32f q = ln_madd(k->q[3], t, k->q[4]);
    p = ln_madd(k->p[3], t, p);
    q = ln_madd(k->q[2], t, q);
    p = ln_madd(k->p[2], t, p);
    q = ln_madd(k->q[1], t, q);
    p = ln_madd(k->p[1], t, p);
    q = ln_madd(k->q[0], t, q);
    p = ln_madd(k->p[0], t, p);
    q = ln_madd(k->one, t, q);
    const ln_v32f y = ln_mul(x, ln_div(p, q));
    return ln_clamp_high(ln_clamp_low(y, k->minus_one), k->one);
}

#endif
