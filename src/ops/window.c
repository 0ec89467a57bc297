/* Windows of convolution and pooling: padding rules and output sizes (ONNX operators Conv, MaxPool, AveragePool). */
#include "ops/window.h"

#include <stdlib.h>

/* Reads up to `most` numbers of at least `least`. */
static ln_status read_list(ln_build *build, const char *name, int most, int64_t least, int64_t *values,
                           int *count) {
    const int64_t *given = ln_attr_ints(build, name, count);
    if (*count > most) {
        return ln_build_fail(build, LN_LIMIT_EXCEEDED,
                             "attribute '%s' has %d entries, at most %d are supported", name, *count, most);
    }
    for (int i = 0; i < *count; ++i) {
        if (given[i] < least) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "attribute '%s' has the entry %lld, expected at least %lld", name,
                                 (long long)given[i], (long long)least);
        }
        values[i] = given[i];
    }
    return ln_build_status(build);
}

ln_status ln_window_build(ln_build *build, ln_window *window) {
    static const char *const choices[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
    LN_TRY(read_list(build, "kernel_shape", LN_WINDOW_RANK, 1, window->kernel, &window->n_kernel));
    LN_TRY(read_list(build, "strides", LN_WINDOW_RANK, 1, window->strides, &window->n_strides));
    LN_TRY(read_list(build, "dilations", LN_WINDOW_RANK, 1, window->dilations, &window->n_dilations));
    LN_TRY(read_list(build, "pads", 2 * LN_WINDOW_RANK, -INT32_MAX, window->pads, &window->n_pads));
    window->auto_pad = (ln_auto_pad)ln_attr_choice(build, "auto_pad", choices, LN_PAD_NOTSET);
    window->ceil_mode = ln_attr_bool(build, "ceil_mode", false);
    return ln_build_status(build);
}

static ln_status check_count(ln_op *op, const char *name, int count, int expected) {
    LN_OP_CHECK(op, count == 0 || count == expected, INVALID_ATTRIBUTE,
                "attribute '%s' has %d entries, expected %d", name, count, expected);
    return LN_OK;
}

/* Padding and output size of one axis. */
static ln_status resolve_axis(ln_op *op, const ln_window *window, ln_window_shape *s, int axis) {
    const int64_t in = s->in[axis];
    const int64_t stride = s->stride[axis];
    const int64_t extent = (s->kernel[axis] - 1) * s->dilation[axis] + 1;
    if (window->auto_pad == LN_PAD_SAME_UPPER || window->auto_pad == LN_PAD_SAME_LOWER) {
        s->out[axis] = (in + stride - 1) / stride;
        const int64_t needed = (s->out[axis] - 1) * stride + extent - in;
        const int64_t total = needed > 0 ? needed : 0;
        s->pad_begin[axis] = window->auto_pad == LN_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        s->pad_end[axis] = total - s->pad_begin[axis];
        return LN_OK;
    }
    const bool given = window->n_pads > 0 && window->auto_pad == LN_PAD_NOTSET;
    s->pad_begin[axis] = given ? window->pads[axis] : 0;
    s->pad_end[axis] = given ? window->pads[s->rank + axis] : 0;
    LN_OP_CHECK(op, llabs(s->pad_begin[axis]) < INT32_MAX && llabs(s->pad_end[axis]) < INT32_MAX,
                INVALID_ATTRIBUTE, "pads of %lld and %lld are out of range", (long long)s->pad_begin[axis],
                (long long)s->pad_end[axis]);
    const int64_t room = in + s->pad_begin[axis] + s->pad_end[axis] - extent;
    if (window->ceil_mode && in > 0 && room < 0 && -room < stride) {
        s->out[axis] = 1; /* rounding up leaves one window, which ends beyond the input */
        return LN_OK;
    }
    LN_OP_CHECK(
        op, room >= 0 || in == 0, INVALID_SHAPE,
        "a window of %lld does not fit into the input's %lld (padded by %lld and %lld) along spatial axis %d",
        (long long)extent, (long long)in, (long long)s->pad_begin[axis], (long long)s->pad_end[axis], axis);
    if (room < 0) {
        s->out[axis] = 0;
        return LN_OK;
    }
    s->out[axis] = room / stride + 1;
    if (window->ceil_mode && room % stride != 0 && s->out[axis] * stride < in + s->pad_begin[axis]) {
        ++s->out[axis]; /* only windows that begin inside the input or its begin padding count */
    }
    return LN_OK;
}

ln_status ln_window_resolve(ln_op *op, const ln_window *window, const ln_shape *input, const int64_t *kernel,
                            ln_window_shape *s) {
    char text[LN_SHAPE_TEXT_BYTES];
    s->rank = input->rank - 2;
    LN_OP_CHECK(op, s->rank >= 1 && s->rank <= LN_WINDOW_RANK, INVALID_SHAPE,
                "input has shape %s, expected [N, C, spatial...] with 1 to %d spatial axes",
                ln_shape_text(input, text), LN_WINDOW_RANK);
    LN_TRY(check_count(op, "kernel_shape", window->n_kernel, s->rank));
    LN_TRY(check_count(op, "strides", window->n_strides, s->rank));
    LN_TRY(check_count(op, "dilations", window->n_dilations, s->rank));
    LN_TRY(check_count(op, "pads", window->n_pads, 2 * s->rank));
    LN_OP_CHECK(op, window->n_kernel || kernel, INVALID_ATTRIBUTE, "attribute 'kernel_shape' is required");
    for (int i = 0; i < s->rank; ++i) {
        s->in[i] = input->dims[2 + i];
        s->kernel[i] = kernel ? kernel[i] : window->kernel[i];
        s->stride[i] = window->n_strides ? window->strides[i] : 1;
        s->dilation[i] = window->n_dilations ? window->dilations[i] : 1;
        LN_OP_CHECK(op, !window->n_kernel || window->kernel[i] == s->kernel[i], INVALID_ATTRIBUTE,
                    "attribute 'kernel_shape' says %lld, the weight has %lld", (long long)window->kernel[i],
                    (long long)s->kernel[i]);
        const int64_t most = INT32_MAX;
        LN_OP_CHECK(op,
                    s->kernel[i] >= 1 && s->stride[i] >= 1 && s->dilation[i] >= 1 && s->kernel[i] < most &&
                        s->stride[i] < most && s->dilation[i] < most && s->in[i] < most,
                    INVALID_ATTRIBUTE, "kernel %lld, stride %lld and dilation %lld must be at least 1",
                    (long long)s->kernel[i], (long long)s->stride[i], (long long)s->dilation[i]);
        LN_TRY(resolve_axis(op, window, s, i));
    }
    return LN_OK;
}

bool ln_window_next(int64_t *position, const int64_t *dims, int rank) {
    for (int i = rank - 1; i >= 0; --i) {
        if (++position[i] < dims[i]) {
            return true;
        }
        position[i] = 0;
    }
    return false;
}
