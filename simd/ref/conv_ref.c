/*
 * The scalar twins of convolution and its transpose: for each output element, a sum over channels and taps,
 * with the input position worked out dimension by dimension.
 */
#include "kernels_ref.h"

static size_t product(const size_t *sizes, size_t count) {
    size_t result = 1;
    for (size_t i = 0; i < count; i++) {
        result *= sizes[i];
    }
    return result;
}

/*
 * Offset in its channel of the input element that `tap` pairs with output element `pixel`; -1 when there is
 * none.
 */
static ptrdiff_t input_of(const ln_conv_shape *shape, size_t pixel, size_t tap, bool transposed) {
    ptrdiff_t offset = 0, distance = 1;
    for (size_t i = shape->rank; i-- > 0;) {
        const ptrdiff_t out = (ptrdiff_t)(pixel % shape->out[i]);
        const ptrdiff_t kernel = (ptrdiff_t)(tap % shape->kernel[i] * shape->dilation[i]);
        const ptrdiff_t stride = (ptrdiff_t)shape->stride[i];
        pixel /= shape->out[i];
        tap /= shape->kernel[i];
        ptrdiff_t in = transposed ? out + shape->pad[i] - kernel : out * stride - shape->pad[i] + kernel;
        if (transposed && in % stride != 0) {
            return -1;
        }
        in = transposed ? in / stride : in;
        if (in < 0 || in >= (ptrdiff_t)shape->in[i]) {
            return -1;
        }
        offset += in * distance;
        distance *= (ptrdiff_t)shape->in[i];
    }
    return offset;
}

static void finish(const ln_conv_f32_args *args, size_t at, double sum) {
    const double residual = args->residual == NULL ? 0.0 : (double)args->residual[at];
    sum = args->residual_last ? ln_ref_activate(args->activation, sum) + residual
                              : ln_ref_activate(args->activation, sum + residual);
    args->y[at] = (float)sum;
}

static void convolve(const ln_conv_shape *shape, const ln_conv_f32_args *args, bool transposed) {
    const size_t in_pixels = product(shape->in, shape->rank), out_pixels = product(shape->out, shape->rank);
    const size_t taps = product(shape->kernel, shape->rank);
    const size_t in_per_group = shape->in_channels / shape->groups,
                 out_per_group = shape->out_channels / shape->groups;
    for (size_t b = 0; b < shape->batch; b++) {
        for (size_t m = 0; m < shape->out_channels; m++) {
            for (size_t p = 0; p < out_pixels; p++) {
                double sum = args->bias == NULL ? 0.0 : (double)args->bias[m];
                for (size_t i = 0; i < in_per_group; i++) {
                    const size_t c = m / out_per_group * in_per_group + i;
                    for (size_t t = 0; t < taps; t++) {
                        const ptrdiff_t at = input_of(shape, p, t, transposed);
                        const size_t weight = transposed ? (c * out_per_group + m % out_per_group) * taps + t
                                                         : (m * in_per_group + i) * taps + t;
                        const size_t channel = (b * shape->in_channels + c) * in_pixels;
                        sum += at < 0
                                   ? 0.0
                                   : (double)args->w_packed[weight] * (double)args->x[channel + (size_t)at];
                    }
                }
                finish(args, (b * shape->out_channels + m) * out_pixels + p, sum);
            }
        }
    }
}

void ln_ref_conv_f32(const ln_conv_shape *shape, const ln_conv_f32_args *args) {
    convolve(shape, args, false);
}

void ln_ref_conv_transpose_f32(const ln_conv_shape *shape, const ln_conv_f32_args *args) {
    convolve(shape, args, true);
}
