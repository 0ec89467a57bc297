/* What DynamicQuantizeLSTM adds to the recurrent nets: weights of bytes, and operands rounded to 255 steps.
 *
 * Its products are those of integers: X over its own range, and the state before every step over its. A product of integers is
 * the product of what they stand for, so the weights become floats once, at load, X and the states become the floats that their
 * codes stand for, and the float32 kernels do the rest; float32 holds the sums as exactly as the last rounding of the integer form.
 * W [D, I, 4*H] and R [D, H, 4*H] lie the other way round than LSTM's. Source: com.microsoft DynamicQuantizeLSTM-1.
 */
#include "ops/dynamic_range.h"
#include "ops/recurrent.h"

enum { CODES = 256 };

void ln_recurrent_round(const float *from, int64_t count, float *to) {
    float scale;
    int32_t zero;
    uint8_t codes[CODES];
    ln_dynamic_range(from, (size_t)count, &scale, &zero);
    for (int64_t at = 0; at < count; at += CODES) {
        const int64_t n = count - at < CODES ? count - at : CODES;
        ln_quantize_u8_f32(codes, from + at, (size_t)n, scale, zero);
        for (int64_t i = 0; i < n; i++) {
            to[at + i] = (float)((int32_t)codes[i] - zero) * scale;
        }
    }
}

/* Number of direction `d` and column `column` of a list with one number each direction or one each column. */
static int64_t number_of(const ln_value *list, int64_t directions, int64_t d, int64_t columns,
                         int64_t column) {
    return ln_value_count(list) == directions ? d : d * columns + column;
}

void ln_recurrent_load_bytes(const ln_op *op, int index, int64_t d, float *floats) {
    const ln_value *weights = ln_in(op, index);
    const ln_value *scales = ln_in(op, LN_RECURRENT_SCALES + 2 * (index - 1));
    const ln_value *zeros = ln_in(op, LN_RECURRENT_SCALES + 2 * (index - 1) + 1);
    const int64_t rows = weights->shape.dims[1];
    const int64_t columns = weights->shape.dims[2];
    const int64_t directions = weights->shape.dims[0];
    for (int64_t j = 0; j < columns; j++) {
        const int64_t at = number_of(scales, directions, d, columns, j);
        int32_t zero;
        ln_load_i32(zeros->dtype, zeros->data, number_of(zeros, directions, d, columns, j), 1, &zero);
        const float scale = ((const float *)scales->data)[at];
        for (int64_t i = 0; i < rows; i++) {
            int32_t code;
            ln_load_i32(weights->dtype, weights->data, (d * rows + i) * columns + j, 1, &code);
            floats[j * rows + i] = (float)(code - zero) * scale;
        }
    }
}

ln_status ln_recurrent_check_bytes(ln_op *op, int64_t directions, int64_t columns) {
    for (int i = LN_RECURRENT_SCALES; i < LN_RECURRENT_SCALES + 4; i++) {
        const int64_t count = ln_value_count(ln_in(op, i));
        LN_OP_CHECK(op, count == directions || count == directions * columns, INVALID_SHAPE,
                    "input %d has %lld numbers, expected %lld or %lld", i, (long long)count,
                    (long long)directions, (long long)(directions * columns));
    }
    return LN_OK;
}

bool ln_recurrent_bytes_known(const ln_op *op) {
    const ln_shape *w = &ln_in(op, 1)->shape;
    for (int i = LN_RECURRENT_SCALES; i < LN_RECURRENT_SCALES + 4; i++) {
        const ln_value *value = ln_in(op, i);
        const int64_t count = value && value->data ? ln_value_count(value) : -1;
        if (count != w->dims[0] && count != w->dims[0] * w->dims[2]) {
            return false;
        }
    }
    return true;
}
