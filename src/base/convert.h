/* Conversion between element types: the one dispatch over types that the operators share.
 *
 * An operator that computes in a compute class (dtype.h) loads a tile of elements converted to that class,
 * computes, and stores the tile back. So the code of an operator exists once per class, not once per type.
 * Positions count elements; packed 4- and 2-bit types may start at any element.

 */
#ifndef LN_BASE_CONVERT_H
#define LN_BASE_CONVERT_H

#include "base/dtype.h"

enum { LN_TILE = 256 }; /* elements of a tile on the stack */

/* dst[0..n) = elements [first, first+n) of src, converted. Any numeric or bool type. */
void ln_load_f32(ln_dtype dtype, const void *src, int64_t first, int64_t n, float *dst);
void ln_load_f64(ln_dtype dtype, const void *src, int64_t first, int64_t n, double *dst);
void ln_load_i32(ln_dtype dtype, const void *src, int64_t first, int64_t n, int32_t *dst);
void ln_load_i64(ln_dtype dtype, const void *src, int64_t first, int64_t n, int64_t *dst);
/* The reverse. Floats round to nearest even (float64 to smaller ones in one step); float to integer
 * truncates and saturates, except to 4- and 2-bit integers, where it truncates and wraps as the standard's
 * tests do; integers wrap; bool becomes 0 or 1. Out of range, float8 and float4 forms saturate; float8e8m0
 * rounds up. */
void ln_store_f32(ln_dtype dtype, void *dst, int64_t first, int64_t n, const float *src);
void ln_store_f64(ln_dtype dtype, void *dst, int64_t first, int64_t n, const double *src);
void ln_store_i32(ln_dtype dtype, void *dst, int64_t first, int64_t n, const int32_t *src);
void ln_store_i64(ln_dtype dtype, void *dst, int64_t first, int64_t n, const int64_t *src);

/* How float8e8m0, which holds powers of two, rounds (Cast's round_mode). */
typedef enum ln_round { LN_ROUND_UP, LN_ROUND_DOWN, LN_ROUND_NEAREST } ln_round;
/* ln_store_f32 with Cast's attributes. Without saturation a float8 out of range becomes infinity where its
 * type has one, else NaN. */
void ln_store_f32_as(ln_dtype dtype, void *dst, int64_t first, int64_t n, const float *src, bool saturate,
                     ln_round round);
/* Rounds to float32 so that rounding the result once more, to a narrower float, is right: to odd. */
float ln_f64_to_f32_odd(double value);

float ln_half_to_float(uint16_t half);
uint16_t ln_float_to_half(float value);
float ln_bfloat_to_float(uint16_t bits);
uint16_t ln_float_to_bfloat(float value);

#endif
