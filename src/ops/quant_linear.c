/* See ops/quant_linear.h. */
#include "ops/quant_linear.h"

#include "simd/vector.h"

ln_linear ln_linear_at(const ln_op *op, int scale, int zero) {
    ln_linear result = {1, 0};
    ln_load_f32(ln_in(op, scale)->dtype, ln_in(op, scale)->data, 0, 1, &result.scale);
    if (ln_in(op, zero) != NULL) {
        ln_load_i32(ln_in(op, zero)->dtype, ln_in(op, zero)->data, 0, 1, &result.zero);
    }
    return result;
}

ln_status ln_linear_check(ln_op *op, int scale, int zero) {
    for (int i = 0; i < 2; i++) {
        const int index = i == 0 ? scale : zero;
        const ln_value *value = ln_in(op, index);
        LN_OP_CHECK(op, value == NULL || (value->kind == LN_KIND_TENSOR && ln_value_count(value) == 1),
                    INVALID_SHAPE, "input %d must be one number, it has %lld", index,
                    (long long)ln_value_count(value));
    }
    return LN_OK;
}

void ln_linear_load(const ln_value *x, ln_linear by, int64_t first, int64_t stride, int64_t n, float *tile) {
    const int64_t count = stride == 0 ? 1 : n;
    if (x->dtype == LN_UINT8) {
        ln_dequantize_u8_f32(tile, (const uint8_t *)x->data + first, (size_t)count, by.scale, by.zero);
    } else {
        ln_dequantize_i8_f32(tile, (const int8_t *)x->data + first, (size_t)count, by.scale, by.zero);
    }
    for (int64_t i = count; i < n; i++) {
        tile[i] = tile[0];
    }
}

void ln_linear_store(ln_value *y, ln_linear by, int64_t first, int64_t n, const float *tile) {
    if (y->dtype == LN_UINT8) {
        ln_quantize_u8_f32((uint8_t *)y->data + first, tile, (size_t)n, by.scale, by.zero);
    } else {
        ln_quantize_i8_f32((int8_t *)y->data + first, tile, (size_t)n, by.scale, by.zero);
    }
}
