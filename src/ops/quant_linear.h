/* A scale and a zero point, and tiles of 8-bit elements through them. */
#ifndef LN_OPS_QUANT_LINEAR_H
#define LN_OPS_QUANT_LINEAR_H

#include "ops/op.h"

typedef struct ln_linear {
    float scale;
    int32_t zero;
} ln_linear;

/* Reads inputs `scale` and `zero`; an absent zero point is 0. */
ln_linear ln_linear_at(const ln_op *op, int scale, int zero);
/* Infer: both are one number, or INVALID_SHAPE. */
ln_status ln_linear_check(ln_op *op, int scale, int zero);
/* n elements of uint8 or int8 from `first` on, as float32; a stride of 0 repeats the first. */
void ln_linear_load(const ln_value *x, ln_linear by, int64_t first, int64_t stride, int64_t n, float *tile);
void ln_linear_store(ln_value *y, ln_linear by, int64_t first, int64_t n, const float *tile);

#endif
