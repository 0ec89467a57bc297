/* MaxpoolWithMask: pooling that stops where a mask says so.
 *
 * X [N, C, spatial...]. A window is read row by row along the last axis; a row ends at the first element whose mask is 0, the
 * plane's first element excepted where there are two spatial axes or more. A window of which nothing was read gives the lowest
 * finite number. A mask of fewer planes than X serves them in turn. Source: com.microsoft MaxpoolWithMask-1, as onnxruntime
 * computes it with a mask of one plane (with more, it begins between planes).
 */
#include <float.h>

#include "ops/window.h"

static ln_status build_masked(ln_build *build) {
    ln_window *window = ln_build_params(build, sizeof *window);
    return window ? ln_window_build(build, window) : ln_build_status(build);
}

static ln_status infer_masked(ln_op *op) {
    ln_window_shape *s = LN_LOCAL(op, ln_window_shape);
    ln_shape y = ln_in(op, 0)->shape;
    LN_TRY(ln_window_resolve(op, op->params, &y, NULL, s));
    const int64_t plane = ln_shape_product(&y, 2, y.rank);
    const int64_t masked = ln_value_count(ln_in(op, 1));
    LN_OP_CHECK(op, plane == 0 || (masked > 0 && masked % plane == 0), INVALID_SHAPE,
                "a mask of %lld numbers does not fit planes of %lld", (long long)masked, (long long)plane);
    for (int i = 0; i < s->rank; i++) {
        y.dims[2 + i] = s->out[i];
    }
    return ln_op_shape(op, 0, LN_FLOAT, &y);
}

/* The window at output position `out`; its rows are walked by an odometer over all axes but the last. */
static float window_max(const ln_window_shape *s, const float *src, const int32_t *mask, const int64_t *out) {
    const int last = s->rank - 1;
    int64_t tap[LN_WINDOW_RANK] = {0};
    float most = -FLT_MAX;
    do {
        int64_t row = 0;
        bool inside = true;
        for (int i = 0; i < last; i++) {
            const int64_t at = out[i] * s->stride[i] - s->pad_begin[i] + tap[i] * s->dilation[i];
            inside = inside && at >= 0 && at < s->in[i];
            row = row * s->in[i] + at;
        }
        for (int64_t k = 0; inside && k < s->kernel[last]; k++) {
            const int64_t at = out[last] * s->stride[last] - s->pad_begin[last] + k * s->dilation[last];
            const int64_t index = row * s->in[last] + at;
            if (at < 0 || at >= s->in[last]) {
                continue;
            }
            if (mask[index] == 0 && (index > 0 || last == 0)) {
                break;
            }
            most = src[index] > most ? src[index] : most;
        }
    } while (ln_window_next(tap, s->kernel, last));
    return most;
}

static void masked_task(ln_op *op, int64_t plane, void *scratch) {
    (void)scratch;
    const ln_window_shape *s = LN_LOCAL(op, const ln_window_shape);
    const ln_value *mask = ln_in(op, 1);
    const ln_shape *x = &ln_in(op, 0)->shape;
    const ln_shape *y = &ln_out(op, 0)->shape;
    const int64_t in = ln_shape_product(x, 2, x->rank);
    const float *src = (const float *)ln_in(op, 0)->data + plane * in;
    const int32_t *marks = (const int32_t *)mask->data + (plane * in) % ln_value_count(mask);
    float *dst = (float *)ln_out(op, 0)->data + plane * ln_shape_product(y, 2, y->rank);
    int64_t out[LN_WINDOW_RANK] = {0};
    do {
        *dst++ = window_max(s, src, marks, out);
    } while (ln_window_next(out, s->out, s->rank));
}

static ln_status run_masked(ln_op *op) {
    const ln_value *y = ln_out(op, 0);
    const bool empty = !y || ln_value_count(y) == 0 || ln_value_count(ln_in(op, 0)) == 0;
    return empty ? LN_OK : ln_op_grid(op, masked_task, y->shape.dims[0] * y->shape.dims[1]);
}

static const ln_op_row rows[] = {
    {"MaxpoolWithMask",
     "com.microsoft",
     1,
     LN_OPEN,
     "fi>f",
     {LN_BIT(LN_FLOAT)},
     build_masked,
     infer_masked,
     run_masked,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(pool_masked, rows);
