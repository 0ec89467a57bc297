/* Pooling: MaxPool, AveragePool, LpPool, their global forms, and MaxUnpool.
 *
 * X [N, C, spatial...], pooled plane by plane. Up to three spatial axes of float32 run on the pooling kernels; halves and 8-bit
 * integers are staged through float32, which holds them exactly; float64 and higher ranks take the plain form in
 * double. Standard: MaxPool-1/8/10/11/12/22, AveragePool-1/7/10/11/19/22, LpPool-1/2/11/18/22, GlobalMaxPool,
 * GlobalAveragePool, GlobalLpPool-1/2/22, MaxUnpool-9/11/22.
 */
#include "ops/pooling.h"

#include <math.h>
#include <string.h>

#include "simd/vector.h"

enum { GLOBAL_GRAIN = 16384 }; /* elements of a task of global pooling */

typedef struct pooling {
    ln_window_shape window;
    struct ln_pooling kernel; /* the same for the float32 kernels */
    int64_t in_plane, out_plane;
    bool by_kernel;
} pooling;

/* ---- Infer ---- */

static ln_status infer_pool(ln_op *op) {
    const ln_pool_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    pooling *pool = LN_LOCAL(op, pooling);
    LN_TRY(ln_window_resolve(op, &params->window, &x->shape, params->global ? x->shape.dims + 2 : NULL,
                             &pool->window));
    ln_shape y = x->shape;
    for (int i = 0; i < pool->window.rank; ++i) {
        y.dims[2 + i] = pool->window.out[i];
    }
    pool->in_plane = ln_shape_product(&x->shape, 2, x->shape.rank);
    pool->out_plane = ln_shape_product(&y, 2, y.rank);
    const bool exact = ln_dtype_compute(x->dtype) == LN_COMPUTE_F32 || ln_dtype_bits(x->dtype) == 8;
    pool->by_kernel = exact && pool->window.rank <= 3;
    if (pool->by_kernel) {
        ln_pool_geometry(&pool->window, &pool->kernel);
    }
    if (!pool->by_kernel || x->dtype != LN_FLOAT || !ln_out(op, 0)) {
        size_t planes = 0;
        LN_OP_CHECK(op, ln_mul_size((size_t)(pool->in_plane + pool->out_plane) + 32, sizeof(double), &planes),
                    OUT_OF_MEMORY, "the planes are too large");
        op->task_scratch_bytes = planes;
    }
    LN_TRY(ln_op_shape(op, 0, x->dtype, &y));
    return ln_op_shape(op, 1, LN_INT64, &y);
}

/* ---- float32 kernels ---- */

static void pool_floats(const ln_pool_params *params, const pooling *pool, float *dst, int64_t *indices,
                        const float *src, int64_t base) {
    switch (params->kind) {
    case LN_POOL_MAX:
        if (indices) {
            ln_max_pool_indices_plane_f32(dst, indices, src, &pool->kernel, base, params->column_major);
        } else {
            ln_max_pool_plane_f32(dst, src, &pool->kernel);
        }
        break;
    case LN_POOL_AVERAGE:
        ln_average_pool_plane_f32(dst, src, &pool->kernel, params->count_include_pad);
        break;
    case LN_POOL_LP:
        ln_lp_pool_plane_f32(dst, src, &pool->kernel, params->p);
        break;
    }
}

/* Row-major index of a plane to the index with the axes in reverse order. */
static int64_t reversed_index(const ln_window_shape *s, int64_t index) {
    int64_t position[LN_WINDOW_RANK];
    for (int i = s->rank - 1; i >= 0; --i) {
        position[i] = index % s->in[i];
        index /= s->in[i];
    }
    for (int i = s->rank - 1; i >= 0; --i) {
        index = index * s->in[i] + position[i];
    }
    return index;
}

static void pool_doubles(const ln_op *op, int64_t plane, double *src) {
    const ln_pool_params *params = op->params;
    const pooling *pool = (const pooling *)(const void *)op->local;
    const ln_value *x = op->inputs[0];
    double *dst = src + pool->in_plane;
    int64_t *indices = ln_out(op, 1) ? (int64_t *)op->outputs[1]->data + plane * pool->out_plane : NULL;
    ln_load_f64(x->dtype, x->data, plane * pool->in_plane, pool->in_plane, src);
    ln_pool_plane_f64(dst, indices, src, &pool->window, params->kind, params->count_include_pad,
                      (double)params->p);
    for (int64_t i = 0; indices && i < pool->out_plane; ++i) {
        const int64_t at = params->column_major ? reversed_index(&pool->window, indices[i]) : indices[i];
        indices[i] = plane * pool->in_plane + at;
    }
    if (op->outputs[0]) {
        ln_store_f64(op->outputs[0]->dtype, op->outputs[0]->data, plane * pool->out_plane, pool->out_plane,
                     dst);
    }
}

static void plane_task(ln_op *op, int64_t plane, void *scratch) {
    const ln_pool_params *params = op->params;
    const pooling *pool = LN_LOCAL(op, pooling);
    const ln_value *x = op->inputs[0];
    ln_value *y = op->outputs[0];
    int64_t *indices = ln_out(op, 1) ? (int64_t *)op->outputs[1]->data + plane * pool->out_plane : NULL;
    const int64_t in = plane * pool->in_plane;
    const int64_t out = plane * pool->out_plane;
    if (!pool->by_kernel || !y) {
        pool_doubles(op, plane, scratch);
    } else if (x->dtype == LN_FLOAT) {
        pool_floats(params, pool, (float *)y->data + out, indices, (const float *)x->data + in, in);
    } else {
        float *src = scratch;
        float *dst = src + pool->in_plane + 16;
        ln_load_f32(x->dtype, x->data, in, pool->in_plane, src);
        pool_floats(params, pool, dst, indices, src, in);
        ln_store_f32(y->dtype, y->data, out, pool->out_plane, dst);
    }
}

static ln_status run_pool(ln_op *op) {
    const ln_shape *x = &op->inputs[0]->shape;
    return ln_op_grid(op, plane_task, x->dims[0] * x->dims[1]);
}

/* Global pooling is a reduction over contiguous planes, some of which make a task. */
static int64_t global_tasks(const pooling *pool, int64_t planes) {
    return ln_op_tasks(planes, pool->in_plane < GLOBAL_GRAIN ? GLOBAL_GRAIN / (pool->in_plane + 1) + 1 : 1);
}

static void global_task(ln_op *op, int64_t index, void *scratch) {
    const ln_pool_params *params = op->params;
    const pooling *pool = LN_LOCAL(op, pooling);
    const ln_shape *x = &op->inputs[0]->shape;
    const int64_t planes = x->dims[0] * x->dims[1];
    int64_t begin = 0;
    int64_t end = 0;
    (void)scratch;
    ln_op_range(planes, global_tasks(pool, planes), index, &begin, &end);
    ln_reduce_inner_f32[params->kind == LN_POOL_MAX ? LN_REDUCE_MAX : LN_REDUCE_MEAN](
        (float *)op->outputs[0]->data + begin, (const float *)op->inputs[0]->data + begin * pool->in_plane,
        (size_t)(end - begin), (size_t)pool->in_plane);
}

static ln_status run_global(ln_op *op) {
    const ln_pool_params *params = op->params;
    const ln_shape *x = &op->inputs[0]->shape;
    const int64_t planes = x->dims[0] * x->dims[1];
    const bool reduces = op->inputs[0]->dtype == LN_FLOAT && params->kind != LN_POOL_LP;
    return reduces ? ln_op_grid(op, global_task, global_tasks(LN_LOCAL(op, pooling), planes))
                   : ln_op_grid(op, plane_task, planes);
}

/* ---- MaxUnpool ---- */

/* The shape that the window attributes give: what the indices count elements of. */
static ln_status unpooled_shape(ln_op *op, ln_shape *shape) {
    const ln_pool_params *params = op->params;
    const ln_window *w = &params->window;
    const int rank = shape->rank - 2;
    LN_OP_CHECK(op,
                w->n_kernel == rank && (!w->n_strides || w->n_strides == rank) &&
                    (!w->n_pads || w->n_pads == 2 * rank),
                INVALID_ATTRIBUTE, "kernel_shape, strides and pads must fit %d spatial axes", rank);
    for (int i = 0; i < rank; ++i) {
        const int64_t stride = w->n_strides ? w->strides[i] : 1;
        const int64_t pads = w->n_pads ? w->pads[i] + w->pads[rank + i] : 0;
        shape->dims[2 + i] = (shape->dims[2 + i] - 1) * stride - pads + w->kernel[i];
    }
    return LN_OK;
}

static ln_status infer_unpool(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    const ln_value *indices = ln_in(op, 1);
    ln_shape *counted = LN_LOCAL(op, ln_shape);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, ln_shape_equal(&x->shape, &indices->shape) && x->shape.rank >= 3, INVALID_SHAPE,
                "input and indices have different shapes, or a rank below 3: %s",
                ln_shape_text(&x->shape, text));
    *counted = x->shape;
    LN_TRY(unpooled_shape(op, counted));
    ln_shape y = *counted;
    if (ln_in(op, 2)) {
        int count = 0;
        LN_TRY(ln_op_ints(op, 2, y.dims, LN_MAX_RANK, &count));
        LN_OP_CHECK(op, count == y.rank, INVALID_SHAPE, "output_shape has %d entries, expected %d", count,
                    (int)y.rank);
    }
    return ln_op_shape(op, 0, x->dtype, &y);
}

/* The element of `to` that stands where element `index` of `from` does; -1 when there is none. */
static int64_t move_index(const ln_shape *from, const ln_shape *to, int64_t index) {
    int64_t moved = 0;
    int64_t step = 1;
    for (int i = from->rank - 1; i >= 0; --i) {
        const int64_t at = index % from->dims[i];
        if (at >= to->dims[i]) {
            return -1;
        }
        moved += at * step;
        step *= to->dims[i];
        index /= from->dims[i];
    }
    return moved;
}

/* With output_shape the indices still count elements of the shape that the window attributes give; that shape stands at the
 * begin of every axis of the output. */
static ln_status run_unpool(ln_op *op) {
    const ln_shape *counted = LN_LOCAL(op, ln_shape);
    const ln_value *x = op->inputs[0];
    const int64_t *indices = op->inputs[1]->data;
    ln_value *y = op->outputs[0];
    const size_t width = ln_dtype_bits(x->dtype) / 8;
    const int64_t count = ln_value_count(x);
    const int64_t total = ln_shape_count(counted);
    const bool same = ln_shape_equal(counted, &y->shape);
    memset(y->data, 0, ln_value_bytes(y));
    for (int64_t i = 0; i < count; ++i) {
        const bool inside = indices[i] >= 0 && indices[i] < total;
        const int64_t to = !inside || same ? indices[i] : move_index(counted, &y->shape, indices[i]);
        LN_OP_CHECK(op, inside && to >= 0, INVALID_VALUE, "index %lld is outside the output",
                    (long long)indices[i]);
        memcpy((char *)y->data + (size_t)to * width, (const char *)x->data + (size_t)i * width, width);
    }
    return LN_OK;
}

/* ---- Build ---- */

static ln_pool_params *new_params(ln_build *build, ln_pool_kind kind) {
    ln_pool_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->kind = kind;
        params->p = 2.0F;
        ln_window_build(build, &params->window);
    }
    return params;
}

static ln_status build_max(ln_build *build) {
    ln_pool_params *params = new_params(build, LN_POOL_MAX);
    if (params) {
        params->column_major = ln_attr_bool(build, "storage_order", false);
    }
    return ln_build_status(build);
}

static ln_status build_average(ln_build *build) {
    ln_pool_params *params = new_params(build, LN_POOL_AVERAGE);
    if (params) {
        params->count_include_pad = ln_attr_bool(build, "count_include_pad", false);
    }
    return ln_build_status(build);
}

/* p is a float before version 2. */
static ln_status build_lp(ln_build *build) {
    ln_pool_params *params = new_params(build, LN_POOL_LP);
    if (params) {
        params->p = build->opset < 2 ? ln_attr_float(build, "p", 2.0F) : (float)ln_attr_int(build, "p", 2);
        if (params->p <= 0) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute 'p' must be positive");
        }
    }
    return ln_build_status(build);
}

static ln_status build_global(ln_build *build, ln_status (*form)(ln_build *)) {
    LN_TRY(form(build));
    ln_pool_params *params = build->node->params;
    params->global = true;
    return LN_OK;
}

static ln_status build_global_max(ln_build *build) {
    return build_global(build, build_max);
}

static ln_status build_global_average(ln_build *build) {
    return build_global(build, build_average);
}

static ln_status build_global_lp(ln_build *build) {
    return build_global(build, build_lp);
}

#define WITH_BYTES (LN_T_FLOAT | LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define POOL(name, since, until, signature, types, build)                                                    \
    {name, "", since, until, signature, {types, 0, 0}, build, infer_pool, run_pool, NULL, 0, NULL}
#define GLOBAL(name, since, until, types, build)                                                             \
    {name, "", since, until, "A>A", {types, 0, 0}, build, infer_pool, run_global, NULL, 0, NULL}
#define UNPOOL(since, until, types)                                                                          \
    {"MaxUnpool", "",           since,      until, "All?>A", {types, 0, 0},                                  \
     build_max,   infer_unpool, run_unpool, NULL,  0,        NULL}

static const ln_op_row rows[] = {
    POOL("MaxPool", 1, 7, "A>A", LN_T_FLOAT, build_max),
    POOL("MaxPool", 8, 9, "A>Al", LN_T_FLOAT, build_max),
    POOL("MaxPool", 10, 10, "A>Al", LN_T_FLOAT, build_max),
    POOL("MaxPool", 11, 11, "A>Al", LN_T_FLOAT, build_max),
    POOL("MaxPool", 12, 21, "A>Al", WITH_BYTES, build_max),
    POOL("MaxPool", 22, LN_OPEN, "A>Al", WITH_BYTES | LN_BIT(LN_BFLOAT16), build_max),
    POOL("AveragePool", 1, 6, "A>A", LN_T_FLOAT, build_average),
    POOL("AveragePool", 7, 9, "A>A", LN_T_FLOAT, build_average),
    POOL("AveragePool", 10, 10, "A>A", LN_T_FLOAT, build_average),
    POOL("AveragePool", 11, 18, "A>A", LN_T_FLOAT, build_average),
    POOL("AveragePool", 19, 21, "A>A", LN_T_FLOAT, build_average),
    POOL("AveragePool", 22, LN_OPEN, "A>A", LN_T_FLOAT_BF, build_average),
    POOL("LpPool", 1, 1, "A>A", LN_T_FLOAT, build_lp),
    POOL("LpPool", 2, 10, "A>A", LN_T_FLOAT, build_lp),
    POOL("LpPool", 11, 17, "A>A", LN_T_FLOAT, build_lp),
    POOL("LpPool", 18, 21, "A>A", LN_T_FLOAT, build_lp),
    POOL("LpPool", 22, LN_OPEN, "A>A", LN_T_FLOAT_BF, build_lp),
    GLOBAL("GlobalMaxPool", 1, 21, LN_T_FLOAT, build_global_max),
    GLOBAL("GlobalMaxPool", 22, LN_OPEN, LN_T_FLOAT_BF, build_global_max),
    GLOBAL("GlobalAveragePool", 1, 21, LN_T_FLOAT, build_global_average),
    GLOBAL("GlobalAveragePool", 22, LN_OPEN, LN_T_FLOAT_BF, build_global_average),
    GLOBAL("GlobalLpPool", 1, 1, LN_T_FLOAT, build_global_lp),
    GLOBAL("GlobalLpPool", 2, 21, LN_T_FLOAT, build_global_lp),
    GLOBAL("GlobalLpPool", 22, LN_OPEN, LN_T_FLOAT_BF, build_global_lp),
    UNPOOL(9, 10, LN_T_FLOAT),
    UNPOOL(11, 21, LN_T_FLOAT),
    UNPOOL(22, LN_OPEN, LN_T_FLOAT_BF),
};
LN_FAMILY_TABLE(pooling, rows);
