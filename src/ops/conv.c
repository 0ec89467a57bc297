/* Convolution and its transpose, any number of spatial axes.
 *
 * X [N, C, spatial...], W [M, C/group, kernel...] (transposed: [C, M/group, kernel...]), B [M], and for fused forms a
 * residual shaped as Y. float32 runs on the convolution kernels with weights packed at load; half precision is
 * staged through float32; float64 takes a direct loop. Weights that only the run knows are packed there.
 * Standard: Conv-1/11/22, ConvTranspose-1/11/22; com.microsoft FusedConv, and
 * ConvTransposeWithDynamicPads, whose pads are input 2.
 */
#include "ops/conv.h"

#include <stdlib.h>
#include <string.h>

#include "ops/activation.h"
#include "ops/stage.h"

/* What infer settles for run. */
typedef struct convolution {
    ln_conv_f32_plan plan;
    ln_conv_f32_args args;
    ln_stages stages;
    const float *w_packed; /* for the plan's route; NULL when they are not packed yet, */
    float *w;              /* and then these, unpacked and as float32 */
    bool pack_now;
    bool
        broadcasts; /* the residual is not shaped as the convolution's result, or not only that: it is added in a pass */
    ln_shape sums;         /* the shape of that result */
    const float *residual; /* as float32, like y */
    float *y;
} convolution;

enum { X, W, B, RESIDUAL, PADS = 2 };
enum { ADD_GRAIN = 16384 };

/* An operand by its role: where pads are an input, they stand before the bias, and there is no residual. */
static const ln_value *operand(const ln_op *op, int role) {
    const ln_conv_params *params = op->params;
    if (!params->pads_given || role < B) {
        return ln_in(op, role);
    }
    return role == B ? ln_in(op, PADS + 1) : NULL;
}

/* ---- Shapes ---- */

/* Output size of a transposed convolution (the standard's formulas), and the padding that follows. */
static ln_status resolve_transposed(ln_op *op, const ln_window *window, ln_window_shape *s) {
    const ln_conv_params *params = op->params;
    for (int i = 0; i < s->rank; ++i) {
        const int64_t extent = (s->kernel[i] - 1) * s->dilation[i] + 1;
        const int64_t extra = params->n_output_padding ? params->output_padding[i] : 0;
        LN_OP_CHECK(op, extra >= 0 && extra < INT32_MAX, INVALID_ATTRIBUTE,
                    "output_padding %lld is out of range", (long long)extra);
        const int64_t full = s->stride[i] * (s->in[i] - 1) + extra + extent;
        const bool same = window->auto_pad == LN_PAD_SAME_UPPER || window->auto_pad == LN_PAD_SAME_LOWER;
        if (params->n_output_shape || same) {
            s->out[i] = params->n_output_shape ? params->output_shape[i] : s->in[i] * s->stride[i];
            const int64_t total = full - s->out[i];
            const int64_t half = total > 0 ? total / 2 : 0;
            const int64_t rest = total > 0 ? total - half : 0;
            s->pad_begin[i] = window->auto_pad == LN_PAD_SAME_UPPER ? half : rest;
        } else {
            const bool given = window->n_pads > 0 && window->auto_pad == LN_PAD_NOTSET;
            const int64_t pad_end = given ? window->pads[s->rank + i] : 0;
            s->pad_begin[i] = given ? window->pads[i] : 0;
            LN_OP_CHECK(op, llabs(s->pad_begin[i]) < INT32_MAX && llabs(pad_end) < INT32_MAX,
                        INVALID_ATTRIBUTE, "pads of %lld and %lld are out of range",
                        (long long)s->pad_begin[i], (long long)pad_end);
            s->out[i] = full - s->pad_begin[i] - pad_end;
        }
        LN_OP_CHECK(op, s->out[i] >= 0 && s->out[i] < INT32_MAX, INVALID_SHAPE,
                    "the output would have size %lld along spatial axis %d", (long long)s->out[i], i);
    }
    return LN_OK;
}

static ln_status check_operands(ln_op *op, const ln_conv_params *params, int64_t *out_channels) {
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *w = &ln_in(op, W)->shape;
    char left[LN_SHAPE_TEXT_BYTES];
    char right[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank >= 3 && x->rank == w->rank, INVALID_SHAPE,
                "input has shape %s and weight %s, expected the same rank of 3 or more",
                ln_shape_text(x, left), ln_shape_text(w, right));
    const int64_t group = params->group;
    const int64_t channels = params->transposed ? w->dims[0] : w->dims[1] * group;
    *out_channels = params->transposed ? w->dims[1] * group : w->dims[0];
    LN_OP_CHECK(op,
                group >= 1 && channels == x->dims[1] && channels % group == 0 && *out_channels % group == 0,
                INVALID_SHAPE, "input %s and weight %s do not fit with group %lld", ln_shape_text(x, left),
                ln_shape_text(w, right), (long long)group);
    const ln_value *b = operand(op, B);
    LN_OP_CHECK(op, !b || (b->shape.rank == 1 && b->shape.dims[0] == *out_channels), INVALID_SHAPE,
                "bias has shape %s, expected [%lld]", ln_shape_text(&b->shape, left),
                (long long)*out_channels);
    return LN_OK;
}

/* Shapes as the kernels take them, batch and channels included. */
static void kernel_shape(const ln_conv_params *params, const ln_shape *x, const ln_shape *w,
                         const ln_window_shape *s, ln_conv_shape *out) {
    *out = (ln_conv_shape){
        .rank = (size_t)s->rank, .batch = (size_t)x->dims[0], .groups = (size_t)params->group};
    out->in_channels = (size_t)x->dims[1];
    out->out_channels = (size_t)(params->transposed ? w->dims[1] * params->group : w->dims[0]);
    for (int i = 0; i < s->rank; ++i) {
        out->in[i] = (size_t)s->in[i];
        out->out[i] = (size_t)s->out[i];
        out->kernel[i] = (size_t)s->kernel[i];
        out->stride[i] = (size_t)s->stride[i];
        out->dilation[i] = (size_t)s->dilation[i];
        out->pad[i] = (ptrdiff_t)s->pad_begin[i];
    }
}

static const ln_conv_f32_route *route_for(const ln_conv_params *params, const ln_conv_shape *shape) {
    return params->transposed ? ln_conv_transpose_f32_route_for(shape) : ln_conv_f32_route_for(shape);
}

/* The window, and the shape of the sums. */
static ln_status infer_shape(ln_op *op, ln_window_shape *s, ln_shape *sums) {
    const ln_conv_params *params = op->params;
    const ln_shape *x = &ln_in(op, X)->shape;
    int64_t out_channels = 0;
    LN_TRY(check_operands(op, params, &out_channels));
    ln_window window = params->window;
    if (params->pads_given && ln_in(op, PADS)) {
        LN_TRY(ln_op_ints(op, PADS, window.pads, 2 * LN_WINDOW_RANK, &window.n_pads));
        LN_OP_CHECK(op, window.n_pads == 2 * (x->rank - 2), INVALID_SHAPE, "%d pads are given, expected %d",
                    window.n_pads, 2 * (x->rank - 2));
    }
    const ln_auto_pad auto_pad = window.auto_pad;
    if (params->transposed) { /* sizes follow other formulas, so no padding may make the window not fit */
        window.auto_pad = LN_PAD_SAME_UPPER;
    }
    LN_TRY(ln_window_resolve(op, &window, x, ln_in(op, W)->shape.dims + 2, s));
    if (params->transposed) {
        LN_OP_CHECK(op,
                    (!params->n_output_shape || params->n_output_shape == s->rank) &&
                        (!params->n_output_padding || params->n_output_padding == s->rank),
                    INVALID_ATTRIBUTE, "output_shape and output_padding need %d entries", s->rank);
        window.auto_pad = auto_pad;
        LN_TRY(resolve_transposed(op, &window, s));
    }
    ln_shape y = {.rank = x->rank, .dims = {x->dims[0], out_channels}};
    for (int i = 0; i < s->rank; ++i) {
        y.dims[2 + i] = s->out[i];
    }
    *sums = y;
    return LN_OK;
}

/* The shape of the output: that of the sums, unless the residual broadcasts with it. */
static ln_status infer_output(ln_op *op, const ln_shape *sums) {
    const ln_value *residual = operand(op, RESIDUAL);
    ln_shape y = *sums;
    char left[LN_SHAPE_TEXT_BYTES];
    char right[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, !residual || ln_shape_broadcast(sums, &residual->shape, &y), INVALID_SHAPE,
                "input 3 has shape %s, which does not broadcast with the sums' %s",
                ln_shape_text(&residual->shape, left), ln_shape_text(sums, right));
    return ln_op_shape(op, 0, ln_in(op, X)->dtype, &y);
}

/* ---- float32 and half precision ---- */

/* Winograd's route, where it pays and the model has room for its packing of the weights, which is made here for the first
 * plan that wants it. */
static const ln_conv_f32_route *faster_route(ln_op *op, const ln_conv_shape *shape,
                                             const ln_conv_f32_route *otherwise) {
    const ln_conv_f32_route *route = ln_conv_f32_winograd_for(shape);
    if (!route) {
        return otherwise;
    }
    bool made = false;
    float *w = ln_model_repacking(op->node->graph->model, op->packed, route->packed_bytes(shape), &made);
    if (!w) {
        return otherwise;
    }
    if (made) {
        route->repack(shape, w, op->packed);
    }
    LN_LOCAL(op, convolution)->w_packed = w;
    return route;
}

static void plan_kernels(ln_op *op, const ln_window_shape *s, const ln_shape *sums) {
    convolution *c = LN_LOCAL(op, convolution);
    const ln_conv_params *params = op->params;
    ln_conv_shape shape;
    kernel_shape(params, &ln_in(op, X)->shape, &ln_in(op, W)->shape, s, &shape);
    const ln_conv_f32_route *route = route_for(params, &shape);
    c->w_packed = op->packed;
    c->pack_now = op->packed == NULL;
    if (!params->transposed && !c->pack_now) {
        route = faster_route(op, &shape, route);
    }
    ln_conv_f32_plan_init(&c->plan, route, &shape);
    op->task_scratch_bytes = c->plan.scratch_bytes;
    op->scratch_bytes = c->pack_now ? (route->packed_bytes(&shape) + 16 + 63) & ~(size_t)63 : 0;
    for (int i = X; i <= RESIDUAL; ++i) {
        if (i != W || c->pack_now) {
            ln_stage_reserve(op, operand(op, i));
        }
    }
    ln_stage_reserve(op, ln_out(op, 0));
    const ln_value *residual = operand(op, RESIDUAL);
    c->broadcasts = residual && !ln_shape_equal(&residual->shape, sums);
    c->sums = *sums;
    const size_t bytes = c->broadcasts ? ln_stage_bytes(ln_shape_count(sums)) : 0;
    op->scratch_bytes = bytes > SIZE_MAX - op->scratch_bytes ? SIZE_MAX : op->scratch_bytes + bytes;
}

static void stage_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_stage_run(&LN_LOCAL(op, convolution)->stages, index);
}

static void conv_task(ln_op *op, int64_t index, void *scratch) {
    const convolution *c = LN_LOCAL(op, convolution);
    c->plan.route->task(&c->plan, &c->args, (size_t)index, scratch);
}

static ln_status store_result(ln_op *op) {
    convolution *c = LN_LOCAL(op, convolution);
    ln_value *y = op->outputs[0];
    c->stages.count = 0;
    ln_stage_add(&c->stages, y->dtype, y->data, c->y, ln_value_count(y), true);
    return ln_op_grid(op, stage_task, ln_stage_tasks(&c->stages));
}

/* The pass that adds a residual which broadcasts: act(sums + residual), or sums that had their activation + residual. */
typedef struct addition {
    const convolution *c;
    ln_broadcast walk;
} addition;

static void add_run(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const addition *a = argument;
    const int64_t sum_step = a->walk.strides[0][a->walk.rank - 1];
    const int64_t residual_step = a->walk.strides[1][a->walk.rank - 1];
    const float *sums = a->c->args.y + offsets[0];
    const float *residual = a->c->residual + offsets[1];
    for (int64_t i = 0; i < n; ++i) {
        a->c->y[output + i] = sums[i * sum_step] + residual[i * residual_step];
    }
}

static void add_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const convolution *c = LN_LOCAL(op, convolution);
    const ln_conv_params *params = op->params;
    const ln_activation_f32 *activation = &params->activation;
    const int64_t count = ln_value_count(op->outputs[0]);
    const ln_shape *const shapes[] = {&c->sums, &operand(op, RESIDUAL)->shape};
    addition a = {.c = c};
    int64_t begin = 0;
    int64_t end = 0;
    ln_op_range(count, ln_op_tasks(count, ADD_GRAIN), index, &begin, &end);
    ln_broadcast_init(&a.walk, &op->outputs[0]->shape, 2, shapes);
    ln_broadcast_each(&a.walk, begin, end, add_run, &a);
    if (activation->present && !params->residual_last) {
        ln_unary_f32[activation->kind](c->y + begin, c->y + begin, (size_t)(end - begin), activation->alpha,
                                       activation->beta);
    }
}

static ln_status add_residual(ln_op *op) {
    const ln_value *y = op->outputs[0];
    return ln_op_grid_then(op, add_task, ln_op_tasks(ln_value_count(y), ADD_GRAIN),
                           y->dtype == LN_FLOAT ? NULL : store_result);
}

static ln_status convolve(ln_op *op) {
    const convolution *c = LN_LOCAL(op, convolution);
    if (c->pack_now) {
        /* The plan's own shape has dimensions removed; packing takes the operator's. */
        ln_conv_shape shape;
        const ln_shape *w = &ln_in(op, W)->shape;
        ln_window_shape s;
        ln_shape sums;
        LN_TRY(infer_shape(op, &s, &sums));
        kernel_shape(op->params, &ln_in(op, X)->shape, w, &s, &shape);
        c->plan.route->pack(&shape, (float *)(uintptr_t)c->args.w_packed, c->w);
    }
    const bool staged = op->outputs[0]->dtype != LN_FLOAT;
    return ln_op_grid_then(op, conv_task, (int64_t)c->plan.task_count,
                           c->broadcasts ? add_residual
                           : staged      ? store_result
                                         : NULL);
}

static ln_status run_kernels(ln_op *op) {
    convolution *c = LN_LOCAL(op, convolution);
    const ln_conv_params *params = op->params;
    char *scratch = op->scratch;
    c->stages.count = 0;
    c->args = (ln_conv_f32_args){.w_packed = c->w_packed, .activation = params->activation};
    c->args.residual_last = params->residual_last;
    c->args.x = ln_stage_floats(&c->stages, ln_in(op, X), &scratch, true);
    c->args.bias = ln_stage_floats(&c->stages, operand(op, B), &scratch, true);
    c->residual = ln_stage_floats(&c->stages, operand(op, RESIDUAL), &scratch, true);
    c->y = ln_stage_floats(&c->stages, ln_out(op, 0), &scratch, false);
    c->args.y = c->y;
    c->args.residual = c->residual;
    if (c->broadcasts) {
        c->args.y = (float *)(void *)scratch;
        scratch += ln_stage_bytes(ln_shape_count(&c->sums));
        c->args.residual = NULL;
        c->args.activation.present = params->activation.present && params->residual_last;
    }
    if (c->pack_now) {
        c->w = ln_stage_floats(&c->stages, ln_in(op, W), &scratch, true);
        c->args.w_packed = (float *)(void *)scratch;
    }
    return c->stages.count ? ln_op_grid_then(op, stage_task, ln_stage_tasks(&c->stages), convolve)
                           : convolve(op);
}

/* ---- float64: one output channel of one image a task ---- */

typedef struct direct {
    ln_window_shape s;
} direct;

static int64_t flat(const int64_t *position, const int64_t *dims, int rank) {
    int64_t index = 0;
    for (int i = 0; i < rank; ++i) {
        index = index * dims[i] + position[i];
    }
    return index;
}

/* Input position of an output position and a tap; false outside. A transposed convolution runs the map backwards. */
static bool tap_input(const ln_window_shape *s, bool transposed, const int64_t *out, const int64_t *tap,
                      int64_t *in) {
    for (int i = 0; i < s->rank; ++i) {
        if (transposed) {
            const int64_t at = out[i] + s->pad_begin[i] - tap[i] * s->dilation[i];
            if (at < 0 || at % s->stride[i] != 0) {
                return false;
            }
            in[i] = at / s->stride[i];
        } else {
            in[i] = out[i] * s->stride[i] - s->pad_begin[i] + tap[i] * s->dilation[i];
        }
        if (in[i] < 0 || in[i] >= s->in[i]) {
            return false;
        }
    }
    return true;
}

static double direct_sum(const ln_op *op, const ln_window_shape *s, int64_t n, int64_t m,
                         const int64_t *out) {
    const ln_conv_params *params = op->params;
    const double *x = op->inputs[X]->data;
    const double *w = op->inputs[W]->data;
    const int64_t channels = op->inputs[X]->shape.dims[1];
    const int64_t outputs = op->outputs[0]->shape.dims[1];
    const int64_t per_group = channels / params->group;
    const int64_t m_per_group = outputs / params->group;
    const int64_t first = m / m_per_group * per_group;
    int64_t taps = 1;
    int64_t pixels = 1;
    for (int i = 0; i < s->rank; ++i) {
        taps *= s->kernel[i];
        pixels *= s->in[i];
    }
    double sum = 0;
    int64_t tap[LN_WINDOW_RANK] = {0};
    int64_t in[LN_WINDOW_RANK];
    do {
        if (!tap_input(s, params->transposed, out, tap, in)) {
            continue;
        }
        const int64_t at = flat(in, s->in, s->rank);
        const int64_t t = flat(tap, s->kernel, s->rank);
        for (int64_t c = 0; c < per_group; ++c) {
            const int64_t weight = params->transposed
                                       ? ((first + c) * m_per_group + m % m_per_group) * taps + t
                                       : (m * per_group + c) * taps + t;
            sum += x[(n * channels + first + c) * pixels + at] * w[weight];
        }
    } while (ln_window_next(tap, s->kernel, s->rank));
    return sum;
}

static void direct_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_window_shape *s = &LN_LOCAL(op, direct)->s;
    const ln_value *y = op->outputs[0];
    const int64_t m = index % y->shape.dims[1];
    const ln_value *b = operand(op, B);
    double *dst = (double *)y->data + index * ln_shape_product(&y->shape, 2, y->shape.rank);
    int64_t out[LN_WINDOW_RANK] = {0};
    do {
        *dst++ =
            direct_sum(op, s, index / y->shape.dims[1], m, out) + (b ? ((const double *)b->data)[m] : 0.0);
    } while (ln_window_next(out, s->out, s->rank));
}

/* ---- The row's functions ---- */

static ln_status infer_conv(ln_op *op) {
    ln_window_shape s;
    ln_shape sums;
    LN_TRY(infer_shape(op, &s, &sums));
    LN_TRY(infer_output(op, &sums));
    if (ln_dtype_compute(ln_in(op, X)->dtype) == LN_COMPUTE_F32) {
        plan_kernels(op, &s, &sums);
    } else {
        const ln_conv_params *params = op->params;
        LN_OP_CHECK(
            op, !params->activation.present && !operand(op, RESIDUAL), UNSUPPORTED,
            "a convolution of float64 takes neither an activation nor an addend; it does in float32 and "
            "float16");
        LN_LOCAL(op, direct)->s = s;
    }
    return LN_OK;
}

static ln_status run_conv(ln_op *op) {
    const ln_value *y = op->outputs[0];
    if (ln_value_count(y) == 0) {
        return LN_OK;
    }
    if (ln_dtype_compute(y->dtype) == LN_COMPUTE_F32) {
        return run_kernels(op);
    }
    return ln_op_grid(op, direct_task, y->shape.dims[0] * y->shape.dims[1]);
}

static ln_status pack_conv(ln_op *op) {
    const ln_conv_params *params = op->params;
    const ln_value *w = ln_in(op, W);
    if (!w || !w->data || ln_dtype_compute(w->dtype) != LN_COMPUTE_F32 || w->shape.rank < 3 ||
        w->shape.rank > 2 + LN_WINDOW_RANK || params->group < 1 || ln_value_count(w) == 0) {
        return LN_OK;
    }
    const ln_window *window = &params->window;
    ln_window_shape s = {.rank = w->shape.rank - 2};
    ln_shape x = {.rank = w->shape.rank,
                  .dims = {1, params->transposed ? w->shape.dims[0] : w->shape.dims[1] * params->group}};
    for (int i = 0; i < s.rank; ++i) {
        s.kernel[i] = w->shape.dims[2 + i];
        s.stride[i] = window->n_strides == s.rank ? window->strides[i] : 1;
        s.dilation[i] = window->n_dilations == s.rank ? window->dilations[i] : 1;
        s.in[i] = 1;
        s.out[i] = 1;
        x.dims[2 + i] = 1;
        if (s.stride[i] < 1 || s.dilation[i] < 1) {
            return LN_OK; /* infer says what is wrong */
        }
    }
    if (w->shape.dims[0] % params->group != 0) {
        return LN_OK;
    }
    ln_conv_shape shape;
    kernel_shape(params, &x, &w->shape, &s, &shape);
    const ln_conv_f32_route *route = route_for(params, &shape);
    float *packed = ln_alloc(op->context, route->packed_bytes(&shape), LN_MEMORY_WEIGHTS);
    float *floats = w->data;
    if (packed && w->dtype != LN_FLOAT) {
        floats = ln_alloc(op->context, ln_stage_bytes(ln_value_count(w)), LN_MEMORY_SCRATCH);
        if (floats) {
            ln_load_f32(w->dtype, w->data, 0, ln_value_count(w), floats);
        }
    }
    if (!packed || !floats) {
        ln_free(op->context, packed);
        return LN_OUT_OF_MEMORY;
    }
    route->pack(&shape, packed, floats);
    if (floats != w->data) {
        ln_free(op->context, floats);
    }
    op->packed = packed;
    op->consumed = 1U << W;
    return LN_OK;
}

static ln_status build_conv(ln_build *build) {
    ln_conv_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return LN_OUT_OF_MEMORY;
    }
    params->group = ln_attr_int(build, "group", 1);
    return ln_window_build(build, &params->window);
}

static ln_status build_fused(ln_build *build) {
    LN_TRY(build_conv(build));
    ln_conv_params *params = build->node->params;
    return ln_build_activation(build, &params->activation);
}

static ln_status read_sizes(ln_build *build, const char *name, int64_t *values, int *count) {
    const int64_t *given = ln_attr_ints(build, name, count);
    /* output_shape may list all axes or the spatial ones: the last ones are meant. */
    const int skip = *count > LN_WINDOW_RANK ? 2 : 0;
    if (*count - skip > LN_WINDOW_RANK) {
        return ln_build_fail(build, LN_LIMIT_EXCEEDED, "attribute '%s' has %d entries", name, *count);
    }
    for (int i = skip; i < *count; ++i) {
        values[i - skip] = given[i];
    }
    *count -= skip;
    return ln_build_status(build);
}

static ln_status build_transposed(ln_build *build) {
    LN_TRY(build_conv(build));
    ln_conv_params *params = build->node->params;
    params->transposed = true;
    LN_TRY(read_sizes(build, "output_shape", params->output_shape, &params->n_output_shape));
    return read_sizes(build, "output_padding", params->output_padding, &params->n_output_padding);
}

static ln_status build_dynamic_pads(ln_build *build) {
    LN_TRY(build_transposed(build));
    ln_conv_params *params = build->node->params;
    params->pads_given = true;
    return LN_OK;
}

#define CONV(name, domain, since, until, signature, types, build)                                            \
    {name, domain, since, until, signature, {types, 0, 0}, build, infer_conv, run_conv, pack_conv, 0, NULL}

static const ln_op_row rows[] = {
    CONV("Conv", "", 1, 10, "AAA?>A", LN_T_FLOAT, build_conv),
    CONV("Conv", "", 11, 21, "AAA?>A", LN_T_FLOAT, build_conv),
    CONV("Conv", "", 22, LN_OPEN, "AAA?>A", LN_T_FLOAT_BF, build_conv),
    CONV("ConvTranspose", "", 1, 10, "AAA?>A", LN_T_FLOAT, build_transposed),
    CONV("ConvTranspose", "", 11, 21, "AAA?>A", LN_T_FLOAT, build_transposed),
    CONV("ConvTranspose", "", 22, LN_OPEN, "AAA?>A", LN_T_FLOAT_BF, build_transposed),
    CONV("FusedConv", "com.microsoft", 1, LN_OPEN, "AAA?A?>A", LN_T_FLOAT, build_fused),
    CONV("ConvTransposeWithDynamicPads", "com.microsoft", 1, LN_OPEN, "AAl?A?>A", LN_T_FLOAT,
         build_dynamic_pads),
};
LN_FAMILY_TABLE(conv, rows);
