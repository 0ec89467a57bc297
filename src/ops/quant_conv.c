/* Convolutions of quantised tensors: ConvInteger and QLinearConv.
 *
 * A task is one output channel of one image. It walks the output row by row and adds up taps along the row in int32:
 * sums[x] += (weight - weight_zero) * (input - input_zero); padding adds nothing, because it stands for the zero
 * point. ConvInteger stores the sums, QLinearConv adds the bias, scales and rounds to nearest even.
 */
#include <math.h>
#include <string.h>

#include "ops/window.h"

typedef struct quant_conv_params {
    ln_window window;
    int64_t group;
    bool linear;                                                          /* QLinearConv */
    int8_t x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias; /* inputs; -1: none */
} quant_conv_params;

static ln_status build_quant_conv(ln_build *build) {
    quant_conv_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    const ln_window none = params->window;
    params->linear = strcmp(build->node->op_type, "QLinearConv") == 0;
    *params = params->linear ? (quant_conv_params){none, 1, true, 0, 1, 2, 3, 4, 5, 6, 7, 8}
                             : (quant_conv_params){none, 1, false, 0, -1, 2, 1, -1, 3, -1, -1, -1};
    params->group = ln_attr_int(build, "group", 1);
    LN_TRY(ln_window_build(build, &params->window));
    if (params->group < 1) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "group is %lld, expected at least 1",
                             (long long)params->group);
    }
    return LN_OK;
}

static const ln_value *operand(const ln_op *op, int index) {
    return index < 0 ? NULL : ln_in(op, index);
}

static ln_status check_numbers(ln_op *op, int index, int64_t channels) {
    const ln_value *value = operand(op, index);
    const int64_t count = value == NULL ? 1 : ln_value_count(value);
    LN_OP_CHECK(op, count == 1 || count == channels, INVALID_SHAPE,
                "input %d has %lld elements, expected 1 or %lld", index, (long long)count,
                (long long)channels);
    return LN_OK;
}

static ln_status infer_quant_conv(ln_op *op) {
    const quant_conv_params *params = op->params;
    const ln_shape *x = &ln_in(op, params->x)->shape;
    const ln_shape *w = &ln_in(op, params->w)->shape;
    ln_window_shape *window = LN_LOCAL(op, ln_window_shape);
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank >= 3 && w->rank == x->rank, INVALID_SHAPE, "cannot convolve %s with weights %s",
                ln_shape_text(x, text[0]), ln_shape_text(w, text[1]));
    LN_OP_CHECK(op, x->dims[1] == w->dims[1] * params->group && w->dims[0] % params->group == 0,
                INVALID_SHAPE, "input %s and weights %s do not fit in %lld groups", ln_shape_text(x, text[0]),
                ln_shape_text(w, text[1]), (long long)params->group);
    LN_TRY(ln_window_resolve(op, &params->window, x, w->dims + 2, window));
    const int64_t channels = w->dims[0];
    LN_TRY(check_numbers(op, params->x_scale, 1));
    LN_TRY(check_numbers(op, params->x_zero, 1));
    LN_TRY(check_numbers(op, params->w_scale, channels));
    LN_TRY(check_numbers(op, params->w_zero, channels));
    LN_TRY(check_numbers(op, params->y_scale, 1));
    LN_TRY(check_numbers(op, params->y_zero, 1));
    const ln_value *bias = operand(op, params->bias);
    LN_OP_CHECK(op, bias == NULL || ln_value_count(bias) == channels, INVALID_SHAPE,
                "the bias must have %lld elements, it has %lld", (long long)channels,
                (long long)ln_value_count(bias));
    ln_shape y = *x;
    y.dims[1] = channels;
    for (int i = 0; i < window->rank; i++) {
        y.dims[2 + i] = window->out[i];
    }
    op->task_scratch_bytes = (size_t)y.dims[y.rank - 1] * sizeof(int32_t);
    return ln_op_shape(op, 0, params->linear ? ln_in(op, params->y_zero)->dtype : LN_INT32, &y);
}

static double number_at(const ln_value *value, int64_t channel, double otherwise) {
    double number = otherwise;
    if (value != NULL) {
        ln_load_f64(value->dtype, value->data, ln_value_count(value) == 1 ? 0 : channel, 1, &number);
    }
    return number;
}

/* sums[i] += factor * (x[first + i * stride] - zero) for `n` elements. */
static void add_tap(int32_t *sums, const ln_value *x, int64_t first, int64_t stride, int64_t n,
                    int32_t factor, int32_t zero) {
    const uint8_t *u8 = (const uint8_t *)x->data + first;
    const int8_t *i8 = (const int8_t *)x->data + first;
    if (x->dtype == LN_UINT8) {
        for (int64_t i = 0; i < n; i++) {
            sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(factor * ((int32_t)u8[i * stride] - zero)));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(factor * ((int32_t)i8[i * stride] - zero)));
        }
    }
}

/* Where a tap of the kernel reads for an output row: the input row's offset, or -1 in the padding. */
static int64_t tap_row(const ln_window_shape *s, const int64_t *output, const int64_t *tap) {
    int64_t offset = 0;
    for (int i = 0; i < s->rank - 1; i++) {
        const int64_t at = output[i] * s->stride[i] + tap[i] * s->dilation[i] - s->pad_begin[i];
        if (at < 0 || at >= s->in[i]) {
            return -1;
        }
        offset = offset * s->in[i] + at;
    }
    return offset * s->in[s->rank - 1];
}

static bool advance(int64_t *position, const int64_t *dims, int count) {
    for (int i = count - 1; i >= 0; i--) {
        if (++position[i] < dims[i]) {
            return true;
        }
        position[i] = 0;
    }
    return false;
}

/* The taps of one input channel, added to one output row. */
static void add_channel(const ln_window_shape *s, const ln_value *x, int64_t plane, const ln_value *w,
                        int64_t weights, int32_t x_zero, int32_t w_zero, const int64_t *output,
                        int32_t *sums) {
    const int last = s->rank - 1;
    int64_t tap[LN_WINDOW_RANK] = {0};
    int64_t index = 0;
    do {
        int32_t weight;
        ln_load_i32(w->dtype, w->data, weights + index++, 1, &weight);
        const int64_t row = tap_row(s, output, tap);
        const int64_t shift = tap[last] * s->dilation[last] - s->pad_begin[last];
        const int64_t stride = s->stride[last];
        const int64_t low = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        const int64_t room = s->in[last] - 1 - shift;
        const int64_t most = room < 0 ? 0 : room / stride + 1;
        const int64_t high = most < s->out[last] ? most : s->out[last];
        if (row >= 0 && low < high) {
            add_tap(sums + low, x, plane + row + shift + low * stride, stride, high - low, weight - w_zero,
                    x_zero);
        }
    } while (advance(tap, s->kernel, s->rank));
}

static void finish_row(const ln_op *op, int64_t channel, int64_t first, int64_t n, const int32_t *sums) {
    const quant_conv_params *params = op->params;
    ln_value *y = ln_out(op, 0);
    if (!params->linear) {
        memcpy((int32_t *)y->data + first, sums, (size_t)n * sizeof(*sums));
        return;
    }
    const float scale = (float)number_at(operand(op, params->x_scale), 0, 1) *
                        (float)number_at(operand(op, params->w_scale), channel, 1) /
                        (float)number_at(operand(op, params->y_scale), 0, 1);
    const double zero = number_at(operand(op, params->y_zero), 0, 0);
    const double bias = number_at(operand(op, params->bias), channel, 0);
    const double low = y->dtype == LN_INT8 ? -128 : 0;
    const double high = y->dtype == LN_INT8 ? 127 : 255;
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)rintf((float)((double)sums[i] + bias) * scale) + zero;
        const int32_t whole = (int32_t)(value < low ? low : value > high ? high : value);
        ((uint8_t *)y->data)[first + i] = (uint8_t)whole;
    }
}

static void quant_conv_task(ln_op *op, int64_t index, void *scratch) {
    const quant_conv_params *params = op->params;
    const ln_window_shape *s = LN_LOCAL(op, ln_window_shape);
    const ln_value *x = ln_in(op, params->x);
    const ln_value *w = ln_in(op, params->w);
    const int64_t channels = w->shape.dims[0];
    const int64_t depth = w->shape.dims[1];
    const int64_t image = index / channels;
    const int64_t channel = index % channels;
    const int64_t group = channel / (channels / params->group);
    const int64_t in_pixels = ln_shape_product(&x->shape, 2, x->shape.rank);
    const int64_t taps = ln_shape_product(&w->shape, 2, w->shape.rank);
    const int64_t width = s->out[s->rank - 1];
    const int32_t x_zero = (int32_t)number_at(operand(op, params->x_zero), 0, 0);
    const int32_t w_zero = (int32_t)number_at(operand(op, params->w_zero), channel, 0);
    int64_t first = index * ln_shape_product(&ln_out(op, 0)->shape, 2, x->shape.rank);
    int64_t output[LN_WINDOW_RANK] = {0};
    int32_t *sums = scratch;
    do {
        memset(sums, 0, (size_t)width * sizeof(*sums));
        for (int64_t c = 0; c < depth; c++) {
            const int64_t plane = (image * x->shape.dims[1] + group * depth + c) * in_pixels;
            add_channel(s, x, plane, w, (channel * depth + c) * taps, x_zero, w_zero, output, sums);
        }
        finish_row(op, channel, first, width, sums);
        first += width;
    } while (advance(output, s->out, s->rank - 1));
}

static ln_status run_quant_conv(ln_op *op) {
    const ln_shape *y = &ln_out(op, 0)->shape;
    return ln_shape_count(y) == 0 ? LN_OK : ln_op_grid(op, quant_conv_task, y->dims[0] * y->dims[1]);
}

#define T_INT8 (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))

static const ln_op_row rows[] = {
    {"ConvInteger",
     "",
     10,
     LN_OPEN,
     "ABA?B?>i",
     {T_INT8, T_INT8},
     build_quant_conv,
     infer_quant_conv,
     run_quant_conv,
     NULL,
     0,
     NULL},
    {"QLinearConv",
     "",
     10,
     LN_OPEN,
     "AfABfBfCi?>C",
     {T_INT8, T_INT8, T_INT8},
     build_quant_conv,
     infer_quant_conv,
     run_quant_conv,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(quant_conv, rows);
