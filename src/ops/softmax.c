/* Operators that rewrite each line along an axis: Softmax, LogSoftmax, Hardmax, LpNormalization.
 *
 * Before version 13 the softmax family sees the tensor as a matrix cut at `axis`, so its line is everything after it. float32
 * softmax has kernels for rows and for columns; half types go through rows of float32, and all else gathers a line into
 * doubles, rewrites it and scatters it back. The output may overwrite the input.
 */
#include <math.h>
#include <string.h>

#include "ops/float_tile.h"
#include "ops/lines.h"
#include "simd/vector.h"

typedef enum line_kind { LINE_SOFTMAX, LINE_LOG_SOFTMAX, LINE_HARDMAX, LINE_L1, LINE_L2 } line_kind;

typedef struct line_params {
    line_kind kind;
    bool flattened; /* the line reaches to the end of the shape */
    int64_t axis;
} line_params;

static ln_status build_line(ln_build *build, line_kind kind) {
    line_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->kind = kind;
        params->flattened = build->opset < 13;
        params->axis = ln_attr_int(build, "axis", params->flattened ? 1 : -1);
    }
    return ln_build_status(build);
}
static ln_status build_softmax(ln_build *build) {
    return build_line(build, LINE_SOFTMAX);
}
static ln_status build_log_softmax(ln_build *build) {
    return build_line(build, LINE_LOG_SOFTMAX);
}
static ln_status build_hardmax(ln_build *build) {
    return build_line(build, LINE_HARDMAX);
}

static ln_status build_lp_normalization(ln_build *build) {
    const int64_t p = ln_attr_int(build, "p", 2);
    if (p != 1 && p != 2) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the attribute p is %lld, expected 1 or 2",
                             (long long)p);
    }
    LN_TRY(build_line(build, p == 1 ? LINE_L1 : LINE_L2));
    line_params *params = build->node->params;
    params->flattened = false;
    params->axis = ln_attr_int(build, "axis", -1);
    return ln_build_status(build);
}

static ln_status infer_line(ln_op *op) {
    const line_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_lines *lines = LN_LOCAL(op, ln_lines);
    const int rank = x->shape.rank;
    if (rank == 0) {
        *lines = (ln_lines){1, 1, 1};
    } else if (params->flattened && params->axis == rank) {
        *lines = (ln_lines){ln_shape_count(&x->shape), 1, 1};
    } else {
        int axis;
        LN_TRY(ln_op_axis(op, params->axis, rank, &axis));
        *lines = ln_lines_of(&x->shape, axis, params->flattened ? rank : axis + 1);
    }
    if (x->dtype != LN_FLOAT || params->kind >= LINE_HARDMAX) {
        LN_OP_CHECK(op, lines->length < (int64_t)(SIZE_MAX / 32), LIMIT_EXCEEDED,
                    "an axis of %lld is too long", (long long)lines->length);
        op->task_scratch_bytes = (size_t)lines->length * sizeof(double);
    }
    return ln_infer_same(op);
}

/* Lines of doubles ----------------------------------------------------------------------------------------- */

static void softmax_line(double *line, int64_t n, bool as_log) {
    double max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        max = line[i] > max || line[i] != line[i] ? line[i] : max;
    }
    for (int64_t i = 0; i < n; i++) {
        line[i] -= max;
        sum += exp(line[i]);
    }
    const double log_sum = log(sum);
    for (int64_t i = 0; i < n; i++) {
        line[i] = as_log ? line[i] - log_sum : exp(line[i]) / sum;
    }
}

static void hardmax_line(double *line, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        best = line[i] > line[best] ? i : best;
    }
    for (int64_t i = 0; i < n; i++) {
        line[i] = i == best;
    }
}

/* A line of zeros stays zero. */
static void lp_line(double *line, int64_t n, line_kind kind) {
    double norm = 0;
    for (int64_t i = 0; i < n; i++) {
        norm += kind == LINE_L1 ? fabs(line[i]) : line[i] * line[i];
    }
    norm = kind == LINE_L1 ? norm : sqrt(norm);
    for (int64_t i = 0; i < n && norm != 0; i++) {
        line[i] /= norm;
    }
}

static void rewrite_line(line_kind kind, double *line, int64_t n) {
    switch (kind) {
    case LINE_SOFTMAX:
    case LINE_LOG_SOFTMAX:
        softmax_line(line, n, kind == LINE_LOG_SOFTMAX);
        break;
    case LINE_HARDMAX:
        hardmax_line(line, n);
        break;
    default:
        lp_line(line, n, kind);
    }
}

/* Run ------------------------------------------------------------------------------------------------------- */

static void rows_f32(line_kind kind, float *dst, const float *src, int64_t rows, int64_t n) {
    if (kind == LINE_SOFTMAX) {
        ln_softmax_rows_f32(dst, src, (size_t)rows, (size_t)n, 1.0f, NULL, 0);
    } else {
        ln_log_softmax_rows_f32(dst, src, (size_t)rows, (size_t)n);
    }
}

static void softmax_f32(line_kind kind, const ln_lines *lines, const float *src, float *dst, int64_t begin,
                        int64_t end) {
    if (lines->inner == 1) {
        const int64_t first = begin * lines->length;
        rows_f32(kind, dst + first, src + first, end - begin, lines->length);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        (kind == LINE_SOFTMAX ? ln_softmax_columns_f32 : ln_log_softmax_columns_f32)(
            dst + block.first, src + block.first, (size_t)lines->length, (size_t)block.columns,
            (size_t)lines->inner);
    }
}

static void softmax_half(line_kind kind, const ln_lines *lines, const ln_value *x, ln_value *y, int64_t begin,
                         int64_t end, float *row) {
    for (int64_t unit = begin; unit < end; unit++) {
        ln_tile_load(x->dtype, x->data, unit * lines->length, lines->length, row);
        rows_f32(kind, row, row, 1, lines->length);
        ln_tile_store(y->dtype, y->data, unit * lines->length, lines->length, row);
    }
}

static void line_task(ln_op *op, int64_t index, void *scratch) {
    const line_params *params = op->params;
    const ln_lines *lines = LN_LOCAL(op, ln_lines);
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const bool is_softmax = params->kind < LINE_HARDMAX;
    int64_t begin, end;
    ln_line_range(lines, index, &begin, &end);
    if (x->dtype == LN_FLOAT && is_softmax) {
        softmax_f32(params->kind, lines, x->data, y->data, begin, end);
        return;
    }
    if (ln_dtype_compute(x->dtype) == LN_COMPUTE_F32 && is_softmax && lines->inner == 1) {
        softmax_half(params->kind, lines, x, y, begin, end, scratch);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        for (int64_t i = 0; i < block.columns; i++) {
            ln_line_load_f64(x, lines, block.first + i, scratch);
            rewrite_line(params->kind, scratch, lines->length);
            ln_line_store_f64(y, lines, block.first + i, scratch);
        }
    }
}

static ln_status run_line(ln_op *op) {
    if (ln_value_count(ln_in(op, 0)) == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, line_task, ln_line_tasks(LN_LOCAL(op, ln_lines)));
}

/* Rows ------------------------------------------------------------------------------------------------------ */

#define LINE(name, since, until, types, build)                                                               \
    {name, "", since, until, "A>A", {types}, build, infer_line, run_line, NULL, LN_OP_INPLACE_0, NULL}
#define LINE_13(name, build)                                                                                 \
    LINE(name, 1, 12, LN_T_FLOAT, build), LINE(name, 13, LN_OPEN, LN_T_FLOAT_BF, build)

static const ln_op_row rows[] = {
    LINE_13("Softmax", build_softmax),
    LINE_13("LogSoftmax", build_log_softmax),
    LINE_13("Hardmax", build_hardmax),
    LINE("LpNormalization", 1, 21, LN_T_FLOAT, build_lp_normalization),
    LINE("LpNormalization", 22, LN_OPEN, LN_T_FLOAT_BF, build_lp_normalization),
};

LN_FAMILY_TABLE(softmax, rows);
