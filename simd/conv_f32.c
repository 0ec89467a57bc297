/*
 * Choosing a convolution's route and what every plan starts from.
 *
 * A shape of any rank is brought to planes of two dimensions and a list of outer dimensions (depth and
 * beyond). For one outer position of the output, an input channel and a tap over the outer dimensions name
 * one plane of the input, or padding; so the kernels convolve planes whose `channels` are pairs of channel
 * and outer tap. Weights are stored in that very order, so they need no rearranging.
 */
#include "conv_f32.h"

#include "tile_f32.h"

static size_t product(const size_t *sizes, size_t count) {
    size_t result = 1;
    for (size_t i = 0; i < count; i++) {
        result *= sizes[i];
    }
    return result;
}

static void copy_axis(ln_conv_shape *to, size_t to_axis, const ln_conv_shape *from, size_t from_axis) {
    to->in[to_axis] = from->in[from_axis];
    to->out[to_axis] = from->out[from_axis];
    to->kernel[to_axis] = from->kernel[from_axis];
    to->stride[to_axis] = from->stride[from_axis];
    to->dilation[to_axis] = from->dilation[from_axis];
    to->pad[to_axis] = from->pad[from_axis];
}

/* One input element, one output element, no padding: the axis has no effect. */
static bool is_trivial(const ln_conv_shape *shape, size_t axis) {
    return shape->in[axis] == 1 && shape->out[axis] == 1 && shape->kernel[axis] == 1 && shape->pad[axis] == 0;
}

static bool is_pointwise(const ln_conv_shape *shape) {
    for (size_t i = 0; i < shape->rank; i++) {
        if (shape->kernel[i] != 1 || shape->stride[i] != 1 || shape->pad[i] != 0 ||
            shape->in[i] != shape->out[i]) {
            return false;
        }
    }
    return true;
}

ln_conv_shape ln_conv_f32_normalised(const ln_conv_shape *shape) {
    static const ln_conv_shape unit = {
        .in = {1, 1}, .out = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    ln_conv_shape result = *shape;
    if (is_pointwise(shape)) {
        copy_axis(&result, 0, &unit, 0);
        copy_axis(&result, 1, &unit, 1);
        result.rank = 2;
        result.in[1] = result.out[1] = product(shape->in, shape->rank);
        return result;
    }
    size_t first = 0;
    while (first < shape->rank && shape->rank - first > 2 && is_trivial(shape, first)) {
        first++;
    }
    const size_t added = shape->rank < 2 ? 2 - shape->rank : 0;
    result.rank = shape->rank - first + added;
    for (size_t i = 0; i < result.rank; i++) {
        if (i < added) {
            copy_axis(&result, i, &unit, i);
        } else {
            copy_axis(&result, i, shape, first + i - added);
        }
    }
    if (result.rank == 2 && is_trivial(&result, 1)) {
        const ln_conv_shape column = result;
        copy_axis(&result, 0, &column, 1);
        copy_axis(&result, 1, &column, 0);
    }
    return result;
}

const ln_conv_f32_route *ln_conv_f32_route_for(const ln_conv_shape *shape) {
    const bool depthwise = shape->groups > 1 && shape->groups == shape->in_channels &&
                           shape->groups == shape->out_channels && shape->rank <= 2;
    return depthwise ? &ln_conv_f32_depthwise : &ln_conv_f32_gemm;
}

const ln_conv_f32_route *ln_conv_transpose_f32_route_for(const ln_conv_shape *shape) {
    (void)shape;
    return &ln_conv_transpose_f32_gemm;
}

void ln_conv_f32_plan_init(ln_conv_f32_plan *plan, const ln_conv_f32_route *route,
                           const ln_conv_shape *shape) {
    *plan = (ln_conv_f32_plan){.route = route, .shape = ln_conv_f32_normalised(shape)};
    const ln_conv_shape *s = &plan->shape;
    plan->outer = s->rank - 2;
    plan->outer_in = product(s->in, plan->outer);
    plan->outer_out = product(s->out, plan->outer);
    plan->outer_taps = product(s->kernel, plan->outer);
    plan->plane_in = product(s->in + plan->outer, 2);
    plan->plane_out = product(s->out + plan->outer, 2);
    plan->taps = product(s->kernel + plan->outer, 2);
    if (s->batch != 0 && s->out_channels != 0 && plan->outer_out != 0 && plan->plane_out != 0) {
        route->plan(plan);
    }
}

ptrdiff_t ln_conv_f32_plane(const ln_conv_f32_plan *plan, size_t position, size_t tap) {
    const ln_conv_shape *s = &plan->shape;
    ptrdiff_t plane = 0, distance = 1;
    for (size_t i = plan->outer; i-- > 0;) {
        const size_t out = position % s->out[i], kernel = tap % s->kernel[i];
        position /= s->out[i];
        tap /= s->kernel[i];
        const ptrdiff_t in = (ptrdiff_t)(out * s->stride[i] + kernel * s->dilation[i]) - s->pad[i];
        if (in < 0 || in >= (ptrdiff_t)s->in[i]) {
            return -1;
        }
        plane += in * distance;
        distance *= (ptrdiff_t)s->in[i];
    }
    return plane;
}
