/*
 * The vector vocabulary of the kernels: 128-bit vectors of four floats or integers.
 *
 * Every kernel is one source compiled twice for wasm: with -msimd128, and with -mrelaxed-simd added. The two
 * builds differ in LN_RELAXED (which picks tile sizes) and in ln_madd, which is one fused instruction in the
 * relaxed build and a multiply and an add in the other. Natively the same intrinsics compile through SIMDe;
 * -DLN_NATIVE_RELAXED selects the relaxed form there, so that tests and sanitizers see both.
 *
 * All vectors are one type (v128_t); the aliases ln_v32f, ln_v32i, ... only say what a variable holds. Where
 * this header has no word for an instruction, kernels use the wasm_* intrinsic itself.
 *
 * Three rules the names encode:
 *   - NaN: ln_max and ln_min propagate it from either side but take several instructions on x64.
 *     ln_clamp_low and ln_clamp_high are one instruction and propagate a NaN of the first operand: they
 *     serve relu and clip, where the bound is a number.
 *   - Constants: V8 rebuilds a v128 literal at each use. Hot kernels load theirs once with ln_splat_opaque
 *     from a `static const volatile float`, which no compiler can fold.
 *   - Loops: compilers must not unroll the k loop of a tile (LN_LOOP_ROLLED), and must unroll the loops over
 *     the rows and columns of a tile (LN_LOOP_UNROLLED), so that accumulators live in registers.
 */
#ifndef LN_SIMD_H
#define LN_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__wasm__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#if defined(__FMA__)
#include <immintrin.h>
#endif
#endif

#if defined(__wasm_relaxed_simd__) || (!defined(__wasm__) && defined(LN_NATIVE_RELAXED))
#define LN_RELAXED 1
#else
#define LN_RELAXED 0
#endif

#if defined(__clang__)
#define LN_LOOP_ROLLED   _Pragma("clang loop unroll(disable) vectorize(disable)")
#define LN_LOOP_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define LN_LOOP_ROLLED   _Pragma("GCC unroll 1")
#define LN_LOOP_UNROLLED _Pragma("GCC unroll 16")
#endif

#define LN_INLINE   static inline __attribute__((always_inline))
#define LN_NOINLINE __attribute__((noinline))

typedef v128_t ln_v32f; /* four floats */
typedef v128_t ln_v64f; /* two doubles */
typedef v128_t ln_v32i; /* four 32-bit integers, or the masks of a comparison */
typedef v128_t ln_v16i; /* eight 16-bit integers */
typedef v128_t ln_v8i;  /* sixteen bytes */

/* Loads and stores need no alignment. */
LN_INLINE ln_v32f ln_load(const float *p) {
    return wasm_v128_load(p);
}

LN_INLINE void ln_store(float *p, ln_v32f v) {
    wasm_v128_store(p, v);
}

LN_INLINE ln_v32f ln_load_splat(const float *p) {
    return wasm_v128_load32_splat(p);
}

/* Reads `count` floats, 0 to 4, and not one byte more; the other lanes are zero. */
LN_INLINE ln_v32f ln_load_part(const float *p, size_t count) {
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (size_t i = 0; i < count; i++) {
        lanes[i] = p[i];
    }
    return wasm_v128_load(lanes);
}

/* Writes the first `count` lanes, 0 to 4. */
LN_INLINE void ln_store_part(float *p, ln_v32f v, size_t count) {
    float lanes[4];
    wasm_v128_store(lanes, v);
    for (size_t i = 0; i < count; i++) {
        p[i] = lanes[i];
    }
}

LN_INLINE ln_v32f ln_splat(float x) {
    return wasm_f32x4_splat(x);
}

LN_INLINE ln_v32i ln_splat_i32(int32_t x) {
    return wasm_i32x4_splat(x);
}

/* A constant that stays in a register: the load is volatile, so nobody turns it back into a literal. */
LN_INLINE ln_v32f ln_splat_opaque(const volatile float *p) {
    return wasm_f32x4_splat(*p);
}

LN_INLINE ln_v32i ln_splat_opaque_i32(const volatile int32_t *p) {
    return wasm_i32x4_splat(*p);
}

LN_INLINE ln_v32f ln_zero(void) {
    return wasm_f32x4_const(0.0f, 0.0f, 0.0f, 0.0f);
}

LN_INLINE ln_v32f ln_add(ln_v32f a, ln_v32f b) {
    return wasm_f32x4_add(a, b);
}

LN_INLINE ln_v32f ln_sub(ln_v32f a, ln_v32f b) {
    return wasm_f32x4_sub(a, b);
}

LN_INLINE ln_v32f ln_mul(ln_v32f a, ln_v32f b) {
    return wasm_f32x4_mul(a, b);
}

LN_INLINE ln_v32f ln_div(ln_v32f a, ln_v32f b) {
    return wasm_f32x4_div(a, b);
}

LN_INLINE ln_v32f ln_neg(ln_v32f a) {
    return wasm_f32x4_neg(a);
}

LN_INLINE ln_v32f ln_abs(ln_v32f a) {
    return wasm_f32x4_abs(a);
}

LN_INLINE ln_v32f ln_sqrt(ln_v32f a) {
    return wasm_f32x4_sqrt(a);
}

/* acc + a * b: fused in the relaxed build, two roundings in the other. */
LN_INLINE ln_v32f ln_madd(ln_v32f acc, ln_v32f a, ln_v32f b) {
#if LN_RELAXED && defined(__wasm__)
    return wasm_f32x4_relaxed_madd(a, b, acc);
#elif LN_RELAXED && defined(__FMA__)
    return (v128_t)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)acc);
#else
    return wasm_f32x4_add(acc, wasm_f32x4_mul(a, b));
#endif
}

/* acc - a * b, under the rule of ln_madd. */
LN_INLINE ln_v32f ln_nmadd(ln_v32f acc, ln_v32f a, ln_v32f b) {
#if LN_RELAXED && defined(__wasm__)
    return wasm_f32x4_relaxed_nmadd(a, b, acc);
#elif LN_RELAXED && defined(__FMA__)
    return (v128_t)_mm_fnmadd_ps((__m128)a, (__m128)b, (__m128)acc);
#else
    return wasm_f32x4_sub(acc, wasm_f32x4_mul(a, b));
#endif
}

/* The larger of two; NaN when either is NaN. */
LN_INLINE ln_v32f ln_max(ln_v32f a, ln_v32f b) {
    return wasm_f32x4_max(a, b);
}

LN_INLINE ln_v32f ln_min(ln_v32f a, ln_v32f b) {
    return wasm_f32x4_min(a, b);
}

/* x < bound ? bound : x. One instruction; a NaN in x stays, a NaN in bound is dropped. */
LN_INLINE ln_v32f ln_clamp_low(ln_v32f x, ln_v32f bound) {
    return wasm_f32x4_pmax(x, bound);
}

/* bound < x ? bound : x, with NaN as in ln_clamp_low. */
LN_INLINE ln_v32f ln_clamp_high(ln_v32f x, ln_v32f bound) {
    return wasm_f32x4_pmin(x, bound);
}

/* mask ? a : b, lane by lane; the mask is all ones or all zeros in each lane. */
LN_INLINE v128_t ln_select(v128_t mask, v128_t a, v128_t b) {
    return wasm_v128_bitselect(a, b, mask);
}

/* The sum of the four lanes, always as (0+2) + (1+3). */
LN_INLINE float ln_sum_lanes(ln_v32f v) {
    const ln_v32f pairs = wasm_f32x4_add(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
}

/* The largest lane; NaN when any lane is NaN. */
LN_INLINE float ln_max_lane(ln_v32f v) {
    const ln_v32f pairs = wasm_f32x4_max(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(wasm_f32x4_max(pairs, wasm_i32x4_shuffle(pairs, pairs, 1, 0, 3, 2)), 0);
}

LN_INLINE float ln_min_lane(ln_v32f v) {
    const ln_v32f pairs = wasm_f32x4_min(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(wasm_f32x4_min(pairs, wasm_i32x4_shuffle(pairs, pairs, 1, 0, 3, 2)), 0);
}

/* Transposes the 4x4 block held in rows[0..3]. */
LN_INLINE void ln_transpose_4x4(ln_v32f rows[4]) {
    const ln_v32f low01 = wasm_i32x4_shuffle(rows[0], rows[1], 0, 4, 1, 5);
    const ln_v32f low23 = wasm_i32x4_shuffle(rows[2], rows[3], 0, 4, 1, 5);
    const ln_v32f high01 = wasm_i32x4_shuffle(rows[0], rows[1], 2, 6, 3, 7);
    const ln_v32f high23 = wasm_i32x4_shuffle(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = wasm_i32x4_shuffle(low01, low23, 0, 1, 4, 5);
    rows[1] = wasm_i32x4_shuffle(low01, low23, 2, 3, 6, 7);
    rows[2] = wasm_i32x4_shuffle(high01, high23, 0, 1, 4, 5);
    rows[3] = wasm_i32x4_shuffle(high01, high23, 2, 3, 6, 7);
}

/* The first of `count` floats at p, at most four; lanes past them are zero. For the last step of a row. */
LN_INLINE ln_v32f ln_load_first(const float *p, size_t count) {
    return count >= 4 ? ln_load(p) : ln_load_part(p, count);
}

/* Writes the first min(count, 4) lanes. */
LN_INLINE void ln_store_first(float *p, ln_v32f v, size_t count) {
    if (count >= 4) {
        ln_store(p, v);
    } else {
        ln_store_part(p, v, count);
    }
}

#endif
