/* DeformConv: convolution whose taps are moved by offsets that are an input.
 *
 * X [N,C,in...], W [M,C/group,kernel...], offset [N,offset_group*taps*rank,out...], B [M], mask [N,offset_group*taps,out...]. A task
 * takes a batch entry, a group and a run of output positions: it samples the input at every tap, linearly between the
 * neighbours, into a column for each position, and multiplies the columns by the weights with GEMM. Neighbours outside the input are
 * zero. double multiplies column by column. Halves are converted first. Standard: DeformConv-19/22.
 */
#include <math.h>
#include <string.h>

#include "ops/stage.h"
#include "ops/window.h"
#include "simd/kernels.h"

enum { X, W, OFFSET, B, MASK };
enum { POSITIONS = 64, CORNERS = 1 << LN_WINDOW_RANK };

typedef struct deform_params {
    ln_window window;
    int64_t group, offset_group;
} deform_params;

typedef struct deform_local {
    ln_window_shape window;
    int64_t channels, outputs, taps; /* input and output channels of a group */
    int64_t in_plane, out_plane, blocks;
    size_t gemm_bytes;
    ln_stages stages;
    const void *x, *w, *offset, *mask; /* as floats, or doubles */
} deform_local;

static ln_status build_deform(ln_build *build) {
    deform_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->group = ln_attr_int(build, "group", 1);
        params->offset_group = ln_attr_int(build, "offset_group", 1);
        return ln_window_build(build, &params->window);
    }
    return ln_build_status(build);
}

/* ---- Infer ---- */

static ln_status check_channels(ln_op *op, const ln_shape *x, const ln_shape *w) {
    const deform_params *params = op->params;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op,
                x->rank >= 3 && x->rank == w->rank && params->group > 0 && params->offset_group > 0 &&
                    x->dims[1] == w->dims[1] * params->group && w->dims[0] % params->group == 0 &&
                    x->dims[1] % params->offset_group == 0,
                INVALID_SHAPE, "input %s and weight %s do not fit with group %lld and offset_group %lld",
                ln_shape_text(x, text[0]), ln_shape_text(w, text[1]), (long long)params->group,
                (long long)params->offset_group);
    return ln_op_count(op, 3, "the bias", w->dims[0]);
}

/* offset and mask have `each` numbers for every output position. */
static ln_status check_field(ln_op *op, int input, const ln_shape *y, int64_t each) {
    const ln_value *value = ln_in(op, input);
    ln_shape wanted = *y;
    char text[2][LN_SHAPE_TEXT_BYTES];
    wanted.dims[1] = each;
    LN_OP_CHECK(op, !value || ln_shape_equal(&value->shape, &wanted), INVALID_SHAPE,
                "input %d has shape %s, expected %s", input, ln_shape_text(&value->shape, text[0]),
                ln_shape_text(&wanted, text[1]));
    return LN_OK;
}

static ln_gemm_f32_args product_args(const deform_local *d, int64_t positions) {
    const size_t k = (size_t)(d->channels * d->taps);
    return (ln_gemm_f32_args){.m = (size_t)d->outputs,
                              .n = (size_t)positions,
                              .k = k,
                              .a_row_stride = k,
                              .a_col_stride = 1,
                              .b_row_stride = 1,
                              .b_col_stride = k,
                              .c_row_stride = POSITIONS,
                              .alpha = 1,
                              .beta = 1,
                              .bias_row_stride = 1};
}

static ln_status plan_scratch(ln_op *op) {
    deform_local *d = LN_LOCAL(op, deform_local);
    const ln_gemm_f32_args args = product_args(d, POSITIONS);
    static const int staged[] = {X, W, OFFSET, MASK};
    size_t columns = 0;
    d->gemm_bytes = (ln_gemm_f32.scratch_bytes(&args) + 15) & ~(size_t)15;
    for (int i = 0; i < 4; i++) {
        const ln_value *value = ln_in(op, staged[i]);
        if (value && ln_dtype_bits(value->dtype) == 16) {
            const size_t bytes = ln_stage_bytes(ln_value_count(value));
            LN_OP_CHECK(op, bytes < SIZE_MAX / 8, LIMIT_EXCEEDED, "the operands are too large");
            op->scratch_bytes += bytes;
        }
    }
    const int64_t column = d->channels * d->taps + d->outputs + 8;
    LN_OP_CHECK(op,
                column < (int64_t)(SIZE_MAX / 64 / POSITIONS) &&
                    ln_mul_size((size_t)column, POSITIONS * 8, &columns) && d->gemm_bytes < SIZE_MAX / 4,
                LIMIT_EXCEEDED, "%lld taps are too many", (long long)(d->channels * d->taps));
    op->task_scratch_bytes = d->gemm_bytes + columns + (size_t)d->outputs * sizeof(float) + 64;
    return LN_OK;
}

static ln_status infer_deform(ln_op *op) {
    const deform_params *params = op->params;
    deform_local *d = LN_LOCAL(op, deform_local);
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *w = &ln_in(op, W)->shape;
    LN_TRY(check_channels(op, x, w));
    LN_TRY(ln_window_resolve(op, &params->window, x, w->dims + 2, &d->window));
    ln_shape y = {.rank = x->rank, .dims = {x->dims[0], w->dims[0]}};
    memcpy(y.dims + 2, d->window.out, (size_t)d->window.rank * sizeof *y.dims);
    d->channels = w->dims[1];
    d->outputs = w->dims[0] / params->group;
    d->taps = ln_shape_product(w, 2, w->rank);
    d->in_plane = ln_shape_product(x, 2, x->rank);
    d->out_plane = ln_shape_product(&y, 2, y.rank);
    d->blocks = (d->out_plane + POSITIONS - 1) / POSITIONS;
    LN_TRY(check_field(op, OFFSET, &y, params->offset_group * d->taps * d->window.rank));
    LN_TRY(check_field(op, MASK, &y, params->offset_group * d->taps));
    LN_TRY(plan_scratch(op));
    return ln_op_shape(op, 0, ln_in(op, X)->dtype, &y);
}

/* ---- Sampling ---- */

static double number_at(bool wide, const void *data, int64_t index) {
    return wide ? ((const double *)data)[index] : (double)((const float *)data)[index];
}

/* The neighbours of a point, as places in a plane, and how much each counts. */
typedef struct neighbours {
    int count;
    int64_t place[CORNERS];
    double weight[CORNERS];
} neighbours;

static void find_neighbours(const ln_window_shape *s, const double *point, double scale, neighbours *out) {
    out->count = 0;
    for (int corner = 0; corner < 1 << s->rank; corner++) {
        int64_t place = 0;
        double weight = scale;
        for (int axis = 0; axis < s->rank && weight != 0; axis++) {
            const double low = floor(point[axis]);
            const bool upper = (corner >> axis & 1) != 0;
            const double at = upper ? low + 1 : low;
            weight *= upper ? point[axis] - low : 1 - (point[axis] - low);
            if (!(at >= 0 && at < (double)s->in[axis])) {
                weight = 0;
                break;
            }
            place = place * s->in[axis] + (int64_t)at;
        }
        if (weight != 0) {
            out->place[out->count] = place;
            out->weight[out->count++] = weight;
        }
    }
}

/* Where tap `tap` of an offset group samples for one output position, and with which weight. */
static void find_tap(const ln_op *op, int64_t n, int64_t group, int64_t tap, int64_t position,
                     neighbours *out) {
    const deform_params *params = op->params;
    const deform_local *d = LN_LOCAL(op, deform_local);
    const ln_window_shape *s = &d->window;
    const bool wide = ln_in(op, X)->dtype == LN_DOUBLE;
    const int64_t field = (n * params->offset_group + group) * d->taps + tap;
    double point[LN_WINDOW_RANK];
    int64_t rest_tap = tap;
    int64_t rest = position;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        const int64_t base = rest % s->out[axis] * s->stride[axis] - s->pad_begin[axis] +
                             rest_tap % s->kernel[axis] * s->dilation[axis];
        point[axis] =
            (double)base + number_at(wide, d->offset, (field * s->rank + axis) * d->out_plane + position);
        rest /= s->out[axis];
        rest_tap /= s->kernel[axis];
    }
    find_neighbours(s, point, d->mask ? number_at(wide, d->mask, field * d->out_plane + position) : 1, out);
}

/* The column of one output position: for each channel of the group, all its taps. */
static void sample_column(const ln_op *op, int64_t n, int64_t group, int64_t position, void *column) {
    const deform_params *params = op->params;
    const deform_local *d = LN_LOCAL(op, deform_local);
    const bool wide = ln_in(op, X)->dtype == LN_DOUBLE;
    const int64_t channels = d->channels * params->group;
    const int64_t each = channels / params->offset_group;
    const int64_t begin = group * d->channels;
    neighbours near;
    for (int64_t c = begin; c < begin + d->channels;) {
        const int64_t offset_group = c / each;
        const int64_t group_end = (offset_group + 1) * each;
        const int64_t end = group_end < begin + d->channels ? group_end : begin + d->channels;
        for (int64_t tap = 0; tap < d->taps; tap++) {
            find_tap(op, n, offset_group, tap, position, &near);
            for (int64_t channel = c; channel < end; channel++) {
                const int64_t plane = (n * channels + channel) * d->in_plane;
                double sum = 0;
                for (int i = 0; i < near.count; i++) {
                    sum += near.weight[i] * number_at(wide, d->x, plane + near.place[i]);
                }
                if (wide) {
                    ((double *)column)[(channel - begin) * d->taps + tap] = sum;
                } else {
                    ((float *)column)[(channel - begin) * d->taps + tap] = (float)sum;
                }
            }
        }
        c = end;
    }
}

/* ---- Products ---- */

/* Y of `count` positions from `first` on, for one batch entry and group, from their columns. */
static void multiply_f32(const ln_op *op, int64_t n, int64_t group, int64_t first, int64_t count,
                         char *scratch) {
    const deform_params *params = op->params;
    const deform_local *d = LN_LOCAL(op, deform_local);
    const ln_value *b = ln_in(op, B);
    ln_value *y = ln_out(op, 0);
    const int64_t k = d->channels * d->taps;
    float *columns = (float *)(void *)(scratch + d->gemm_bytes);
    float *out = columns + k * POSITIONS;
    float *bias = out + d->outputs * POSITIONS;
    for (int64_t i = 0; i < count; i++) {
        sample_column(op, n, group, first + i, columns + i * k);
    }
    ln_gemm_f32_args args = product_args(d, count);
    args.a = (const float *)d->w + group * d->outputs * k;
    args.b = columns;
    args.c = out;
    if (b) {
        ln_load_f32(b->dtype, b->data, group * d->outputs, d->outputs, bias);
        args.bias = bias;
    }
    const size_t tasks = ln_gemm_f32.task_count(&args);
    for (size_t task = 0; task < tasks; task++) {
        ln_gemm_f32.task(&args, task, scratch);
    }
    for (int64_t m = 0; m < d->outputs; m++) {
        const int64_t row = (n * params->group + group) * d->outputs + m;
        ln_store_f32(y->dtype, y->data, row * d->out_plane + first, count, out + m * POSITIONS);
    }
}

static void multiply_f64(const ln_op *op, int64_t n, int64_t group, int64_t position, double *column) {
    const deform_params *params = op->params;
    const deform_local *d = LN_LOCAL(op, deform_local);
    const ln_value *b = ln_in(op, B);
    const int64_t k = d->channels * d->taps;
    sample_column(op, n, group, position, column);
    for (int64_t m = 0; m < d->outputs; m++) {
        const double *w = (const double *)d->w + (group * d->outputs + m) * k;
        double sum = b ? ((const double *)b->data)[group * d->outputs + m] : 0;
        for (int64_t i = 0; i < k; i++) {
            sum += w[i] * column[i];
        }
        const int64_t row = (n * params->group + group) * d->outputs + m;
        ((double *)ln_out(op, 0)->data)[row * d->out_plane + position] = sum;
    }
}

static void deform_task(ln_op *op, int64_t index, void *scratch) {
    const deform_params *params = op->params;
    const deform_local *d = LN_LOCAL(op, deform_local);
    const int64_t first = index % d->blocks * POSITIONS;
    const int64_t group = index / d->blocks % params->group;
    const int64_t n = index / d->blocks / params->group;
    const int64_t rest = d->out_plane - first;
    const int64_t count = rest < POSITIONS ? rest : POSITIONS;
    if (ln_in(op, X)->dtype != LN_DOUBLE) {
        multiply_f32(op, n, group, first, count, scratch);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        multiply_f64(op, n, group, first + i, scratch);
    }
}

/* ---- Run ---- */

static void stage_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_stage_run(&LN_LOCAL(op, deform_local)->stages, index);
}

static ln_status convolve(ln_op *op) {
    const deform_params *params = op->params;
    const deform_local *d = LN_LOCAL(op, deform_local);
    return ln_op_grid(op, deform_task, ln_in(op, X)->shape.dims[0] * params->group * d->blocks);
}

/* The operand as floats: its own bytes, or scratch that a stage fills. */
static const void *floats_of(ln_op *op, int input, char **scratch) {
    deform_local *d = LN_LOCAL(op, deform_local);
    const ln_value *value = ln_in(op, input);
    if (!value || ln_dtype_bits(value->dtype) != 16) {
        return value ? value->data : NULL;
    }
    float *floats = (float *)(void *)*scratch;
    *scratch += ln_stage_bytes(ln_value_count(value));
    ln_stage_add(&d->stages, value->dtype, value->data, floats, ln_value_count(value), false);
    return floats;
}

static ln_status run_deform(ln_op *op) {
    deform_local *d = LN_LOCAL(op, deform_local);
    char *scratch = op->scratch;
    d->stages.count = 0;
    d->x = floats_of(op, X, &scratch);
    d->w = floats_of(op, W, &scratch);
    d->offset = floats_of(op, OFFSET, &scratch);
    d->mask = floats_of(op, MASK, &scratch);
    return d->stages.count ? ln_op_grid_then(op, stage_task, ln_stage_tasks(&d->stages), convolve)
                           : convolve(op);
}

static const ln_op_row rows[] = {
    {"DeformConv",
     "",
     19,
     21,
     "AAAA?A?>A",
     {LN_T_FLOAT},
     build_deform,
     infer_deform,
     run_deform,
     NULL,
     0,
     NULL},
    {"DeformConv",
     "",
     22,
     LN_OPEN,
     "AAAA?A?>A",
     {LN_T_FLOAT_BF},
     build_deform,
     infer_deform,
     run_deform,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(deform_conv, rows);
