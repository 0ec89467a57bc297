/*
 * The table ln_unary_f32: one loop per function.
 *
 * A loop has one body. Its last step redoes the last four elements of the range, which were read before the first
 * store, so that the kernel works in place; a range of fewer than four goes through a buffer of four. Each element
 * thus meets the same instructions wherever the range was cut. Light functions have a second, unrolled body. Nothing is
 * inlined, as compilers like to do with the call for the buffer of four: it would double the code.
 */
#include "vector.h"
#include "vmath.h"

#include <math.h>

/* f(x) becomes `expression` in the vector x; `setup` declares the constants. */
#define UNARY(name, setup, expression)                                                                       \
    static LN_NOINLINE void unary_##name(float *dst, const float *src, size_t n, float alpha, float beta) {  \
        (void)alpha;                                                                                         \
        (void)beta;                                                                                          \
        if (n < 4) {                                                                                         \
            float four[4] = {1.0f, 1.0f, 1.0f, 1.0f};                                                        \
            if (n != 0) {                                                                                    \
                memcpy(four, src, n * sizeof(float));                                                        \
                unary_##name(four, four, 4, alpha, beta);                                                    \
                memcpy(dst, four, n * sizeof(float));                                                        \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        setup;                                                                                               \
        const ln_v32f last = ln_load(src + n - 4);                                                           \
        ln_v32f x = ln_load(src);                                                                            \
        size_t i = 0;                                                                                        \
        for (;;) {                                                                                           \
            ln_store(dst + i, expression);                                                                   \
            i += 4;                                                                                          \
            if (i + 4 <= n) {                                                                                \
                x = ln_load(src + i);                                                                        \
            } else if (i < n) {                                                                              \
                i = n - 4;                                                                                   \
                x = last;                                                                                    \
            } else {                                                                                         \
                return;                                                                                      \
            }                                                                                                \
        }                                                                                                    \
    }

/* The same for functions of a few instructions: sixteen elements a step, then the careful loop. */
#define UNARY_LIGHT(name, setup, expression)                                                                 \
    UNARY(name##_rest, setup, expression)                                                                    \
    static void unary_##name(float *dst, const float *src, size_t n, float alpha, float beta) {              \
        size_t i = 0;                                                                                        \
        if (n >= 16) {                                                                                       \
            setup;                                                                                           \
            for (; i + 16 <= n; i += 16) {                                                                   \
                ln_v32f x = ln_load(src + i);                                                                \
                ln_store(dst + i, expression);                                                               \
                x = ln_load(src + i + 4);                                                                    \
                ln_store(dst + i + 4, expression);                                                           \
                x = ln_load(src + i + 8);                                                                    \
                ln_store(dst + i + 8, expression);                                                           \
                x = ln_load(src + i + 12);                                                                   \
                ln_store(dst + i + 12, expression);                                                          \
            }                                                                                                \
        }                                                                                                    \
        unary_##name##_rest(dst + i, src + i, n - i, alpha, beta);                                           \
    }

#define NO_SETUP     (void)0
#define SPLAT(field) ln_splat_opaque(&ln_vmath.field)
#define WITH_ALPHA   const ln_v32f va = ln_splat(alpha)
#define WITH_ALPHA_BETA                                                                                      \
    const ln_v32f va = ln_splat(alpha);                                                                      \
    const ln_v32f vb = ln_splat(beta)
#define WITH_ONE const ln_v32f one = SPLAT(one)
#define WITH_EXP const struct ln_exp_constants e = ln_exp_constants()

LN_INLINE ln_v32f sign(ln_v32f x, ln_v32f one) {
    const ln_v32f signed_one = wasm_v128_or(wasm_v128_and(x, SPLAT(sign_bit)), one);
    /* Zero and NaN stay as they are. */
    const ln_v32i ordinary = wasm_f32x4_gt(ln_abs(x), ln_zero());
    return ln_select(ordinary, signed_one, x);
}

UNARY_LIGHT(abs, NO_SETUP, ln_abs(x))
UNARY_LIGHT(neg, NO_SETUP, ln_neg(x))
UNARY_LIGHT(sign, WITH_ONE, sign(x, one))
UNARY_LIGHT(floor, NO_SETUP, wasm_f32x4_floor(x))
UNARY_LIGHT(ceil, NO_SETUP, wasm_f32x4_ceil(x))
UNARY_LIGHT(round, NO_SETUP, wasm_f32x4_nearest(x))
UNARY_LIGHT(sqrt, NO_SETUP, ln_sqrt(x))
UNARY_LIGHT(rsqrt, WITH_ONE, ln_div(one, ln_sqrt(x)))
UNARY_LIGHT(reciprocal, WITH_ONE, ln_div(one, x))
UNARY_LIGHT(square, NO_SETUP, ln_mul(x, x))
UNARY_LIGHT(relu, NO_SETUP, ln_clamp_low(x, ln_zero()))
UNARY_LIGHT(clip, WITH_ALPHA_BETA, ln_clamp_high(ln_clamp_low(x, va), vb))
UNARY_LIGHT(leaky_relu, WITH_ALPHA, ln_select(wasm_f32x4_lt(x, ln_zero()), ln_mul(x, va), x))
UNARY_LIGHT(thresholded_relu, WITH_ALPHA, wasm_v128_andnot(x, wasm_f32x4_le(x, va)))
UNARY_LIGHT(softsign, WITH_ONE, ln_div(x, ln_add(one, ln_abs(x))))
UNARY_LIGHT(scale_shift, WITH_ALPHA_BETA, ln_madd(vb, x, va))
UNARY_LIGHT(hardsigmoid, WITH_ALPHA_BETA;
            WITH_ONE, ln_clamp_high(ln_clamp_low(ln_madd(vb, x, va), ln_zero()), one))
UNARY_LIGHT(hardswish, const ln_v32f sixth = ln_splat(1.0f / 6.0f); const ln_v32f half = SPLAT(half);
            WITH_ONE, ln_mul(x, ln_clamp_high(ln_clamp_low(ln_madd(half, x, sixth), ln_zero()), one)))
UNARY_LIGHT(hardswish_scaled, WITH_ALPHA_BETA; const ln_v32f sixth = ln_splat(1.0f / 6.0f);
            const ln_v32f half = SPLAT(half);
            WITH_ONE,
            ln_madd(vb, ln_mul(x, ln_clamp_high(ln_clamp_low(ln_madd(half, x, sixth), ln_zero()), one)), va))

/* ---- exp and what is made of it ---- */

/* Subnormal results, and those from 2^127.5 on, take a scale in two factors. Elsewhere one is as exact. */
LN_INLINE ln_v32f exp_full(const struct ln_exp_constants *k, ln_v32f low, ln_v32f ordinary, ln_v32f x) {
    const int all_ordinary = !wasm_v128_any_true(wasm_f32x4_gt(ln_abs(x), ordinary));
    ln_v32f sum;
    if (all_ordinary) {
        return ln_exp_bounded(k, x);
    }
    const ln_v32f r = ln_exp_reduce(k, ln_clamp_high(ln_clamp_low(x, low), k->high), &sum);
    const ln_v32f p = ln_madd(k->one, r, ln_madd(k->one, r, ln_exp_q(k, r)));
    return ln_scale_by_power_of_two(p, wasm_i32x4_sub(sum, k->magic));
}

LN_INLINE ln_v32f silu(const struct ln_exp_constants *k, ln_v32f x, ln_v32f scaled) {
    return ln_div(x, ln_add(k->one, ln_exp_flush(k, ln_neg(scaled))));
}

/* x (1/2 + erf(x / sqrt 2) / 2), the constants being those of the halved erf. */
LN_INLINE ln_v32f gelu(const struct ln_erf_constants *k, ln_v32f x) {
    return ln_mul(x, ln_add(k->one, ln_erf(k, x)));
}

/* x/2 (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3). */
LN_INLINE ln_v32f gelu_tanh(const struct ln_exp_constants *k, ln_v32f cubic, ln_v32f scale, ln_v32f x) {
    const ln_v32f inner = ln_mul(ln_mul(x, scale), ln_madd(k->one, ln_mul(x, x), cubic));
    return silu(k, x, inner);
}

/* tanh(log(1 + e)) = w / (w + 2) with w = e (e + 2); beyond x = 20 that is 1. */
LN_INLINE ln_v32f mish(const struct ln_exp_constants *k, ln_v32f twenty, ln_v32f two, ln_v32f x) {
    const ln_v32f e = ln_exp_flush(k, ln_clamp_high(x, twenty));
    const ln_v32f w = ln_mul(e, ln_add(e, two));
    return ln_mul(x, ln_div(w, ln_add(w, two)));
}

LN_INLINE ln_v32f elu(const struct ln_exp_constants *k, ln_v32f alpha, ln_v32f x) {
    const ln_v32f negative = ln_mul(alpha, ln_expm1_nonpositive(k, ln_clamp_high(x, ln_zero())));
    return ln_select(wasm_f32x4_lt(x, ln_zero()), negative, x);
}

/* x / alpha may be positive where x is negative, so this one takes e^y - 1 of both signs. */
LN_INLINE ln_v32f celu(const struct ln_exp_constants *k, ln_v32f alpha, ln_v32f x) {
    const ln_v32f y = ln_div(x, alpha);
    const ln_v32f grown = ln_sub(ln_exp_flush(k, y), k->one);
    const ln_v32f decayed = ln_expm1_nonpositive(k, ln_clamp_high(y, ln_zero()));
    const ln_v32f scaled = ln_mul(alpha, ln_select(wasm_f32x4_gt(y, ln_zero()), grown, decayed));
    return ln_add(ln_clamp_low(x, ln_zero()), ln_clamp_high(scaled, ln_zero()));
}

UNARY(exp, WITH_EXP; const ln_v32f low = SPLAT(exp_full_low);
      const ln_v32f ordinary = SPLAT(exp_ordinary), exp_full(&e, low, ordinary, x))
UNARY(sigmoid, WITH_EXP, ln_sigmoid(&e, x))
UNARY(silu, WITH_EXP, silu(&e, x, x))
UNARY(gelu_quick, WITH_EXP; WITH_ALPHA, silu(&e, x, ln_mul(x, va)))
UNARY(gelu_tanh, WITH_EXP; const ln_v32f cubic = SPLAT(gelu_cubic);
      const ln_v32f scale = SPLAT(gelu_scale), gelu_tanh(&e, cubic, scale, x))
UNARY(mish, WITH_EXP; const ln_v32f twenty = ln_splat(20.0f);
      const ln_v32f two = SPLAT(two), mish(&e, twenty, two, x))
UNARY(elu, WITH_EXP; WITH_ALPHA, elu(&e, va, x))
UNARY(selu, WITH_EXP; WITH_ALPHA_BETA, ln_mul(vb, elu(&e, va, x)))
UNARY(celu, WITH_EXP; WITH_ALPHA, celu(&e, va, x))

/* ---- log, tanh, erf ---- */

UNARY(log, const struct ln_log_constants l = ln_log_constants(), ln_log(&l, x))
UNARY(softplus, WITH_EXP; const struct ln_log_constants l = ln_log_constants(), ln_softplus(&e, &l, x))
UNARY(tanh, const struct ln_tanh_constants k = ln_tanh_constants(), ln_tanh(&k, x))
UNARY(erf, const struct ln_erf_constants k = ln_erf_constants(&ln_vmath.erf), ln_erf(&k, x))
UNARY(gelu, const struct ln_erf_constants k = ln_erf_constants(&ln_vmath.half_erf), gelu(&k, x))

/* ---- sin and cos ---- */

struct trig_constants {
    ln_v64f two_over_pi, magic, high, low;
    ln_v32f s[3], c[3], one, half, limit;
};

LN_INLINE struct trig_constants trig_constants(void) {
    struct trig_constants k;
    k.two_over_pi = wasm_f64x2_splat(ln_vmath.two_over_pi);
    k.magic = wasm_f64x2_splat(ln_vmath.trig_magic);
    k.high = wasm_f64x2_splat(ln_vmath.pi_half_high);
    k.low = wasm_f64x2_splat(ln_vmath.pi_half_low);
    LN_LOOP_UNROLLED
    for (int i = 0; i < 3; i++) {
        k.s[i] = ln_splat_opaque(&ln_vmath.sin_s[i]);
        k.c[i] = ln_splat_opaque(&ln_vmath.cos_c[i]);
    }
    k.one = SPLAT(one);
    k.half = SPLAT(half);
    k.limit = SPLAT(trig_limit);
    return k;
}

/* Two arguments less the nearest multiple of pi/2; `sum` holds that multiple in its low words. */
LN_INLINE ln_v32f trig_reduce(const struct trig_constants *k, ln_v64f x, ln_v64f *sum) {
    *sum = wasm_f64x2_add(wasm_f64x2_mul(x, k->two_over_pi), k->magic);
    const ln_v64f q = wasm_f64x2_sub(*sum, k->magic);
    const ln_v64f near = wasm_f64x2_sub(x, wasm_f64x2_mul(q, k->high));
    return wasm_f32x4_demote_f64x2_zero(wasm_f64x2_sub(near, wasm_f64x2_mul(q, k->low)));
}

/* sin(x + quarters * pi/2). Arguments above 2^20, infinities and NaN go through the C library, lane by lane. */
LN_INLINE ln_v32f trig(const struct trig_constants *k, ln_v32f x, int quarters) {
    ln_v64f low_sum, high_sum;
    const ln_v32f low = trig_reduce(k, wasm_f64x2_promote_low_f32x4(x), &low_sum);
    const ln_v32f upper = wasm_i32x4_shuffle(x, x, 2, 3, 2, 3);
    const ln_v32f high = trig_reduce(k, wasm_f64x2_promote_low_f32x4(upper), &high_sum);
    const ln_v32f r = wasm_i32x4_shuffle(low, high, 0, 1, 4, 5);
    const ln_v32i q =
        wasm_i32x4_add(wasm_i32x4_shuffle(low_sum, high_sum, 0, 2, 4, 6), wasm_i32x4_splat(quarters));

    const ln_v32f t = ln_mul(r, r);
    const ln_v32f s = ln_madd(k->s[0], t, ln_madd(k->s[1], t, k->s[2]));
    const ln_v32f c = ln_madd(k->c[0], t, ln_madd(k->c[1], t, k->c[2]));
    const ln_v32f sine = ln_madd(r, ln_mul(r, t), s);
    const ln_v32f cosine = ln_madd(ln_nmadd(k->one, t, k->half), ln_mul(t, t), c);
    const ln_v32i odd = wasm_i32x4_shr(wasm_i32x4_shl(q, 31), 31);
    const ln_v32i flip = wasm_i32x4_shl(wasm_u32x4_shr(q, 1), 31);
    ln_v32f y = wasm_v128_xor(ln_select(odd, cosine, sine), flip);

    if (quarters == 0) {
        y = ln_select(wasm_f32x4_eq(x, ln_zero()), x, y); /* keeps the sign of zero */
    }
    const ln_v32i ordinary = wasm_f32x4_le(ln_abs(x), k->limit);
    if (!wasm_i32x4_all_true(ordinary)) {
        float from[4], to[4];
        ln_store(from, x);
        for (int i = 0; i < 4; i++) {
            to[i] = quarters ? cosf(from[i]) : sinf(from[i]);
        }
        y = ln_select(ordinary, y, ln_load(to));
    }
    return y;
}

UNARY(sin, const struct trig_constants k = trig_constants(), trig(&k, x, 0))
UNARY(cos, const struct trig_constants k = trig_constants(), trig(&k, x, 1))

/* ---- powers ---- */

/* pow(x, 1/2) is +0 of -0 and infinity of -infinity, unlike sqrt. */
LN_INLINE ln_v32f power_half(ln_v32f x, ln_v32f infinity) {
    const ln_v32f root = ln_sqrt(ln_add(x, ln_zero()));
    return ln_select(wasm_f32x4_eq(ln_abs(x), infinity), infinity, root);
}

LN_INLINE ln_v32f power_fourth(ln_v32f x) {
    const ln_v32f square = ln_mul(x, x);
    return ln_mul(square, square);
}

UNARY_LIGHT(cube, NO_SETUP, ln_mul(x, ln_mul(x, x)))
UNARY_LIGHT(fourth, NO_SETUP, power_fourth(x))
UNARY_LIGHT(half_power, const ln_v32f infinity = SPLAT(infinity), power_half(x, infinity))
UNARY_LIGHT(minus_half_power, const ln_v32f infinity = SPLAT(infinity);
            WITH_ONE, ln_div(one, power_half(x, infinity)))
UNARY_LIGHT(fill_one, WITH_ONE, ((void)x, one))
UNARY_LIGHT(copy, NO_SETUP, x)

/* Exponents that models use a great deal, and their own kernels. */
static const struct {
    float exponent;
    ln_unary_f32_fn *run;
} power_rows[] = {
    {2.0f, unary_square},
    {0.5f, unary_half_power},
    {3.0f, unary_cube},
    {-1.0f, unary_reciprocal},
    {-0.5f, unary_minus_half_power},
    {0.0f, unary_fill_one},
    {1.0f, unary_copy},
    {4.0f, unary_fourth},
};

static void unary_pow(float *dst, const float *src, size_t n, float alpha, float beta) {
    (void)beta;
    for (size_t row = 0; row < sizeof power_rows / sizeof power_rows[0]; row++) {
        if (power_rows[row].exponent == alpha) {
            power_rows[row].run(dst, src, n, 0.0f, 0.0f);
            return;
        }
    }
    ln_pow_f32(dst, src, 1, &alpha, 0, n);
}

ln_unary_f32_fn *const ln_unary_f32[LN_UNARY_COUNT] = {
#define UNARY_ROW(upper, lower) [LN_UNARY_##upper] = unary_##lower,
    LN_UNARY_LIST(UNARY_ROW)
#undef UNARY_ROW
};
