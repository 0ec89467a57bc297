/* Pooling of 8-bit tensors, of com.microsoft: QLinearAveragePool, QLinearGlobalAveragePool and NhwcMaxPool.
 *
 * Averages are taken in float32, plane by plane, and quantised again; maxima are taken of the codes themselves.
 */
#include <string.h>

#include "ops/pool_nd.h"
#include "ops/quant_linear.h"

/* QLinearAveragePool and QLinearGlobalAveragePool ----------------------------------------------------------------------- */

typedef struct pool_params {
    ln_window window;
    bool global, channels_last, count_include_pad;
} pool_params;

static ln_status build_pool(ln_build *build) {
    pool_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->global = strcmp(build->node->op_type, "QLinearGlobalAveragePool") == 0;
    params->channels_last = ln_attr_bool(build, "channels_last", false);
    params->count_include_pad = ln_attr_bool(build, "count_include_pad", false);
    return params->global ? ln_build_status(build) : ln_window_build(build, &params->window);
}

/* `numbers` inputs after the first are scales and zero points. */
static ln_status infer_pooling(ln_op *op, int numbers) {
    const pool_params *params = op->params;
    struct ln_pooling *pooling = LN_LOCAL(op, struct ln_pooling);
    ln_shape x = ln_in(op, 0)->shape;
    for (int i = 1; i <= numbers; i += 2) {
        LN_TRY(ln_linear_check(op, i, i + 1));
    }
    LN_OP_CHECK(op, x.rank >= 3 && x.rank <= 5, INVALID_SHAPE,
                "the input must have rank 3 to 5, it has rank %d", (int)x.rank);
    const int64_t channels = x.dims[params->channels_last ? x.rank - 1 : 1];
    if (params->channels_last) {
        memmove(&x.dims[2], &x.dims[1], (size_t)(x.rank - 2) * sizeof(x.dims[0]));
        x.dims[1] = channels;
    }
    ln_window_shape s = {0};
    if (params->global) {
        s.rank = x.rank - 2;
        for (int i = 0; i < s.rank; i++) {
            s.in[i] = s.kernel[i] = x.dims[2 + i];
            s.out[i] = s.stride[i] = s.dilation[i] = 1;
        }
    } else {
        LN_TRY(ln_window_resolve(op, &params->window, &x, NULL, &s));
    }
    ln_pool_geometry(&s, pooling);
    const int64_t in = ln_shape_product(&x, 2, x.rank);
    for (int i = 0; i < s.rank; i++) {
        x.dims[params->channels_last ? 1 + i : 2 + i] = s.out[i];
    }
    x.dims[params->channels_last ? x.rank - 1 : 1] = channels;
    const int64_t out = pooling->out[0] * pooling->out[1] * pooling->out[2];
    LN_OP_CHECK(op, in < INT32_MAX / 8 && out < INT32_MAX / 8, LIMIT_EXCEEDED, "the planes are too large");
    op->task_scratch_bytes = (size_t)(in + out) * sizeof(float);
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &x);
}

static ln_status infer_pool(ln_op *op) {
    return infer_pooling(op, 4);
}

static void pool_task(ln_op *op, int64_t index, void *scratch) {
    const pool_params *params = op->params;
    const struct ln_pooling *pooling = LN_LOCAL(op, struct ln_pooling);
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t in = pooling->in[0] * pooling->in[1] * pooling->in[2];
    const int64_t out = pooling->out[0] * pooling->out[1] * pooling->out[2];
    const int64_t channels = x->shape.dims[params->channels_last ? x->shape.rank - 1 : 1];
    const int64_t step = params->channels_last ? channels : 1;
    const int64_t x_first =
        params->channels_last ? index / channels * channels * in + index % channels : index * in;
    const int64_t y_first =
        params->channels_last ? index / channels * channels * out + index % channels : index * out;
    float *source = scratch;
    float *target = source + in;
    for (int64_t i = 0; i < (step == 1 ? 1 : in); i++) {
        ln_linear_load(x, ln_linear_at(op, 1, 2), x_first + i * step, 1, step == 1 ? in : 1, source + i);
    }
    ln_average_pool_plane_f32(target, source, pooling, params->count_include_pad);
    for (int64_t i = 0; i < (step == 1 ? 1 : out); i++) {
        ln_linear_store(y, ln_linear_at(op, 3, 4), y_first + i * step, step == 1 ? out : 1, target + i);
    }
}

static ln_status run_pool(ln_op *op) {
    const pool_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    if (ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, pool_task, x->dims[0] * x->dims[params->channels_last ? x->rank - 1 : 1]);
}

/* NhwcMaxPool: maxima of 8-bit codes, channels last ---------------------------------------------------------------------- */

static ln_status build_nhwc(ln_build *build) {
    pool_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->channels_last = true;
    return ln_window_build(build, &params->window);
}

static ln_status infer_nhwc(ln_op *op) {
    return infer_pooling(op, 0);
}

/* The largest code under the window of output position (d, h, w), for one channel; the lowest code where it sees none. */
static int32_t window_max(const struct ln_pooling *p, const ln_value *x, int64_t first, int64_t step,
                          const int64_t *at) {
    int32_t best = x->dtype == LN_INT8 ? -128 : 0;
    for (int64_t tap = 0; tap < p->kernel[0] * p->kernel[1] * p->kernel[2]; tap++) {
        const int64_t taps[3] = {tap / (p->kernel[1] * p->kernel[2]), tap / p->kernel[2] % p->kernel[1],
                                 tap % p->kernel[2]};
        int64_t offset = 0;
        bool inside = true;
        for (int i = 0; i < 3; i++) {
            const int64_t place = at[i] * p->stride[i] + taps[i] * p->dilation[i] - p->pad_begin[i];
            inside = inside && place >= 0 && place < p->in[i];
            offset = offset * p->in[i] + place;
        }
        if (inside) {
            const int64_t element = first + offset * step;
            const int32_t code = x->dtype == LN_INT8 ? ((const int8_t *)x->data)[element]
                                                     : ((const uint8_t *)x->data)[element];
            best = code > best ? code : best;
        }
    }
    return best;
}

static void nhwc_task(ln_op *op, int64_t image, void *scratch) {
    (void)scratch;
    const struct ln_pooling *p = LN_LOCAL(op, struct ln_pooling);
    const ln_value *x = ln_in(op, 0);
    uint8_t *y = ln_out(op, 0)->data;
    const int64_t channels = x->shape.dims[x->shape.rank - 1];
    const int64_t in = p->in[0] * p->in[1] * p->in[2];
    const int64_t out = p->out[0] * p->out[1] * p->out[2];
    for (int64_t position = 0; position < out; position++) {
        const int64_t at[3] = {position / (p->out[1] * p->out[2]), position / p->out[2] % p->out[1],
                               position % p->out[2]};
        for (int64_t c = 0; c < channels; c++) {
            const int32_t best = window_max(p, x, image * in * channels + c, channels, at);
            y[(image * out + position) * channels + c] = (uint8_t)best;
        }
    }
}

static ln_status run_nhwc(ln_op *op) {
    return ln_value_count(ln_out(op, 0)) == 0 ? LN_OK
                                              : ln_op_grid(op, nhwc_task, ln_in(op, 0)->shape.dims[0]);
}

/* Rows -------------------------------------------------------------------------------------------------------------------- */

#define T_INT8 (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define POOL(name, signature, build, infer, run)                                                             \
    {name, "com.microsoft", 1, LN_OPEN, signature, {T_INT8}, build, infer, run, NULL, 0, NULL}

static const ln_op_row rows[] = {
    POOL("QLinearAveragePool", "AfA?fA?>A", build_pool, infer_pool, run_pool),
    POOL("QLinearGlobalAveragePool", "AfA?fA?>A", build_pool, infer_pool, run_pool),
    POOL("NhwcMaxPool", "A>A", build_nhwc, infer_nhwc, run_nhwc),
};

LN_FAMILY_TABLE(quant_pool, rows);
