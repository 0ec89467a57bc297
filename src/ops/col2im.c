/* Col2Im: blocks of columns added back into an image, the reverse of im2col.
 *
 * X [N, C * taps, L] holds a row for each channel and position in the block, with a number for each of the L places of the block. Every
 * place adds its numbers where it lies on the image. A task makes one plane, in double or int64, run by run along the last
 * axis. Standard: Col2Im-18.
 */
#include <string.h>

#include "ops/op.h"
#include "ops/window.h"

typedef struct col2im_params {
    ln_window window;
} col2im_params;

typedef struct col2im_local {
    int rank;
    int64_t image[LN_WINDOW_RANK], block[LN_WINDOW_RANK], places[LN_WINDOW_RANK];
    int64_t stride[LN_WINDOW_RANK], dilation[LN_WINDOW_RANK], pad[LN_WINDOW_RANK];
    int64_t channels, taps, length, plane;
    int64_t parts;  /* numbers of an element: 2 for complex ones */
    ln_dtype dtype; /* of one number */
} col2im_local;

typedef union number {
    double real;
    int64_t integer;
} number;

static ln_status build_col2im(ln_build *build) {
    col2im_params *params = ln_build_params(build, sizeof *params);
    return params ? ln_window_build(build, &params->window) : ln_build_status(build);
}

/* Sizes of one axis, and how many places the block has on it. */
static ln_status infer_axis(ln_op *op, const ln_window *w, int axis, col2im_local *c) {
    c->stride[axis] = w->n_strides ? w->strides[axis] : 1;
    c->dilation[axis] = w->n_dilations ? w->dilations[axis] : 1;
    c->pad[axis] = w->n_pads ? w->pads[axis] : 0;
    const int64_t end = w->n_pads ? w->pads[c->rank + axis] : 0;
    const int64_t most = INT32_MAX;
    LN_OP_CHECK(
        op,
        c->stride[axis] >= 1 && c->dilation[axis] >= 1 && c->block[axis] >= 1 && c->image[axis] >= 0 &&
            c->image[axis] < most && c->block[axis] < most && c->dilation[axis] < most && c->pad[axis] >= 0 &&
            end >= 0 && c->pad[axis] < most && end < most,
        INVALID_VALUE, "axis %d: an image of %lld, a block of %lld, stride %lld and dilation %lld do not fit",
        axis, (long long)c->image[axis], (long long)c->block[axis], (long long)c->stride[axis],
        (long long)c->dilation[axis]);
    const int64_t room = c->image[axis] + c->pad[axis] + end - (c->dilation[axis] * (c->block[axis] - 1) + 1);
    c->places[axis] = room < 0 ? 0 : room / c->stride[axis] + 1;
    return LN_OK;
}

static ln_status infer_col2im(ln_op *op) {
    const col2im_params *params = op->params;
    const ln_window *w = &params->window;
    col2im_local *c = LN_LOCAL(op, col2im_local);
    const ln_value *x = ln_in(op, 0);
    char text[LN_SHAPE_TEXT_BYTES];
    int blocks = 0;
    LN_TRY(ln_op_ints(op, 1, c->image, LN_WINDOW_RANK, &c->rank));
    LN_TRY(ln_op_ints(op, 2, c->block, LN_WINDOW_RANK, &blocks));
    LN_OP_CHECK(
        op,
        x->shape.rank == 3 && c->rank >= 1 && blocks == c->rank &&
            (!w->n_strides || w->n_strides == c->rank) && (!w->n_dilations || w->n_dilations == c->rank) &&
            (!w->n_pads || w->n_pads == 2 * c->rank),
        INVALID_SHAPE, "image_shape of %d, block_shape of %d entries and an input of shape %s do not fit",
        c->rank, blocks, ln_shape_text(&x->shape, text));
    int64_t places = 1;
    c->taps = 1;
    for (int i = 0; i < c->rank; i++) {
        LN_TRY(infer_axis(op, w, i, c));
        places *= c->places[i];
        c->taps *= c->block[i];
        LN_OP_CHECK(op, c->taps < INT32_MAX && places < INT64_C(1) << 40, LIMIT_EXCEEDED,
                    "the blocks are too large");
    }
    c->length = x->shape.dims[2];
    LN_OP_CHECK(op, x->shape.dims[1] % c->taps == 0 && places == c->length, INVALID_SHAPE,
                "an input of shape %s does not hold %lld places of blocks of %lld",
                ln_shape_text(&x->shape, text), (long long)places, (long long)c->taps);
    c->channels = x->shape.dims[1] / c->taps;
    const bool complex = ln_dtype_compute(x->dtype) == LN_COMPUTE_COMPLEX;
    c->parts = complex ? 2 : 1;
    c->dtype = x->dtype == LN_COMPLEX64 ? LN_FLOAT : x->dtype == LN_COMPLEX128 ? LN_DOUBLE : x->dtype;
    ln_shape y = {2 + c->rank, {x->shape.dims[0], c->channels}};
    memcpy(y.dims + 2, c->image, (size_t)c->rank * sizeof *c->image);
    LN_TRY(ln_op_shape(op, 0, x->dtype, &y));
    c->plane = ln_shape_product(&y, 2, y.rank);
    LN_OP_CHECK(op, c->plane < (int64_t)(SIZE_MAX / 64), LIMIT_EXCEEDED, "planes of %lld are too large",
                (long long)c->plane);
    op->task_scratch_bytes = (size_t)(c->plane * c->parts) * sizeof(number);
    return LN_OK;
}

/* Adds n numbers of the input, from number `from` on, to every `stride`-th number of the plane. */
static void add_run(const ln_value *x, const col2im_local *c, int64_t from, int64_t n, number *plane,
                    int64_t stride) {
    const bool real = ln_dtype_is_float(c->dtype);
    number tile[LN_TILE];
    for (int64_t i = 0; i < n; i += LN_TILE) {
        const int64_t count = n - i < LN_TILE ? n - i : LN_TILE;
        if (real) {
            ln_load_f64(c->dtype, x->data, from + i, count, &tile[0].real);
        } else {
            ln_load_i64(c->dtype, x->data, from + i, count, &tile[0].integer);
        }
        for (int64_t t = 0; t < count; t++) {
            number *target = plane + (i + t) / c->parts * stride + (i + t) % c->parts;
            if (real) {
                target->real += tile[t].real;
            } else {
                target->integer = (int64_t)((uint64_t)target->integer + (uint64_t)tile[t].integer);
            }
        }
    }
}

/* All places of the block for one tap: rows of places along the last axis. */
static void add_tap(const ln_value *x, const col2im_local *c, int64_t tap, int64_t row, number *plane) {
    const int last = c->rank - 1;
    int64_t offset[LN_WINDOW_RANK];
    for (int axis = last; axis >= 0; axis--) {
        offset[axis] = tap % c->block[axis] * c->dilation[axis] - c->pad[axis];
        tap /= c->block[axis];
    }
    /* Places of the last axis that lie on the image. */
    const int64_t stride = c->stride[last];
    const int64_t begin = offset[last] < 0 ? (-offset[last] + stride - 1) / stride : 0;
    const int64_t room = c->image[last] - offset[last];
    int64_t end = room <= 0 ? 0 : (room + stride - 1) / stride;
    end = end < c->places[last] ? end : c->places[last];
    const int64_t rows = c->places[last] > 0 ? c->length / c->places[last] : 0;
    for (int64_t r = 0; r < rows && begin < end; r++) {
        int64_t at = 0;
        int64_t step = c->image[last];
        int64_t rest = r;
        bool inside = true;
        for (int axis = last - 1; axis >= 0; axis--) {
            const int64_t position = rest % c->places[axis] * c->stride[axis] + offset[axis];
            inside = inside && position >= 0 && position < c->image[axis];
            at += position * step;
            step *= c->image[axis];
            rest /= c->places[axis];
        }
        if (inside) {
            const int64_t from = row * c->length + r * c->places[last] + begin;
            add_run(x, c, from * c->parts, (end - begin) * c->parts,
                    plane + (at + offset[last] + begin * stride) * c->parts, stride * c->parts);
        }
    }
}

static void plane_task(ln_op *op, int64_t index, void *scratch) {
    const col2im_local *c = LN_LOCAL(op, col2im_local);
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    number *plane = scratch;
    const int64_t n = c->plane * c->parts;
    memset(plane, 0, (size_t)n * sizeof *plane);
    for (int64_t tap = 0; tap < c->taps; tap++) {
        add_tap(x, c, tap, index * c->taps + tap, plane);
    }
    if (ln_dtype_is_float(c->dtype)) {
        ln_store_f64(c->dtype, y->data, index * n, n, &plane[0].real);
    } else {
        ln_store_i64(c->dtype, y->data, index * n, n, &plane[0].integer);
    }
}

static ln_status run_col2im(ln_op *op) {
    const col2im_local *c = LN_LOCAL(op, col2im_local);
    return ln_op_grid(op, plane_task, ln_in(op, 0)->shape.dims[0] * c->channels);
}

static const ln_op_row rows[] = {
    {"Col2Im",
     "",
     18,
     LN_OPEN,
     "All>A",
     {LN_T_NUMBER_BF | LN_T_COMPLEX | LN_BIT(LN_BOOL)},
     build_col2im,
     infer_col2im,
     run_col2im,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(col2im, rows);
