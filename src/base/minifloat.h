/* Floats of 8 bits and less, one element at a time. Internal to base/. */
#ifndef LN_BASE_MINIFLOAT_H
#define LN_BASE_MINIFLOAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/convert.h"

/* Code of a float8 or float4 element to float32, which holds all of them exactly. */
float ln_minifloat_decode(ln_dtype dtype, unsigned code);
/* The reverse: nearest even. */
unsigned ln_minifloat_encode(ln_dtype dtype, float value, bool saturate, ln_round round);

#endif
