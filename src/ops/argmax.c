/* ArgMax and ArgMin: the position of the extremum along an axis.
 *
 * The first of equals wins, or the last one with select_last_index; a NaN wins over every number, as in numpy. float32 has
 * kernels; other types compare rows of doubles, or of int64 where doubles would lose bits.
 */
#include <string.h>

#include "ops/lines.h"
#include "simd/vector.h"

typedef struct arg_params {
    enum ln_arg which;
    bool keepdims, last;
    int64_t axis;
} arg_params;

static ln_status build_arg(ln_build *build) {
    arg_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->which = strcmp(build->node->op_type, "ArgMax") == 0 ? LN_ARG_MAX : LN_ARG_MIN;
        params->axis = ln_attr_int(build, "axis", 0);
        params->keepdims = ln_attr_bool(build, "keepdims", true);
        params->last = ln_attr_bool(build, "select_last_index", false);
    }
    return ln_build_status(build);
}

static ln_status infer_arg(ln_op *op) {
    const arg_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    ln_lines *lines = LN_LOCAL(op, ln_lines);
    ln_shape shape = ln_shape_scalar();
    if (x->rank == 0) {
        *lines = (ln_lines){1, 1, 1};
        return ln_op_shape(op, 0, LN_INT64, &shape);
    }
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, x->rank, &axis));
    *lines = ln_lines_of(x, axis, axis + 1);
    LN_OP_CHECK(op, lines->length > 0 || lines->outer * lines->inner == 0, INVALID_SHAPE,
                "axis %d is empty: it has no extremum", axis);
    for (int i = 0; i < x->rank; i++) {
        if (i != axis || params->keepdims) {
            shape.dims[shape.rank++] = i == axis ? 1 : x->dims[i];
        }
    }
    return ln_op_shape(op, 0, LN_INT64, &shape);
}

/* Whether v beats the best so far. */
static bool beats_f64(const arg_params *params, double v, double best) {
    if (v != v || best != best) {
        return v != v && (best == best || params->last);
    }
    return (params->which == LN_ARG_MAX ? v > best : v < best) || (params->last && v == best);
}

static bool beats_i64(const arg_params *params, int64_t v, int64_t best) {
    return (params->which == LN_ARG_MAX ? v > best : v < best) || (params->last && v == best);
}

typedef union arg_row {
    double f64[LN_LINE_COLUMNS];
    int64_t i64[LN_LINE_COLUMNS];
} arg_row;

static void arg_block(const arg_params *params, const ln_lines *lines, const ln_value *x,
                      const ln_line_block *block, int64_t *result) {
    const bool floats = ln_dtype_is_float(x->dtype);
    const int64_t flip = x->dtype == LN_UINT64 ? INT64_MIN : 0;
    arg_row best, row;
    for (int64_t at = 0; at < lines->length; at++) {
        const int64_t first = block->first + at * lines->inner;
        if (floats) {
            ln_load_f64(x->dtype, x->data, first, block->columns, row.f64);
        } else {
            ln_load_i64(x->dtype, x->data, first, block->columns, row.i64);
        }
        for (int64_t i = 0; i < block->columns; i++) {
            row.i64[i] ^= floats ? 0 : flip;
            const bool wins = at == 0 || (floats ? beats_f64(params, row.f64[i], best.f64[i])
                                                 : beats_i64(params, row.i64[i], best.i64[i]));
            if (wins) {
                best.i64[i] = row.i64[i];
                result[block->line + i] = at;
            }
        }
    }
}

static void arg_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const arg_params *params = op->params;
    const ln_lines *lines = LN_LOCAL(op, ln_lines);
    const ln_value *x = ln_in(op, 0);
    int64_t *result = ln_out(op, 0)->data;
    int64_t begin, end;
    ln_line_range(lines, index, &begin, &end);
    if (x->dtype == LN_FLOAT && lines->inner == 1) {
        ln_arg_inner_f32(result + begin, (const float *)x->data + begin * lines->length,
                         (size_t)(end - begin), (size_t)lines->length, params->which, params->last);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        if (x->dtype == LN_FLOAT) {
            ln_arg_outer_f32(result + block.line, (const float *)x->data + block.first, (size_t)lines->length,
                             (size_t)block.columns, (size_t)lines->inner, params->which, params->last);
        } else {
            arg_block(params, lines, x, &block, result);
        }
    }
}

static ln_status run_arg(ln_op *op) {
    if (ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, arg_task, ln_line_tasks(LN_LOCAL(op, ln_lines)));
}

#define ARG(name, since, until, types)                                                                       \
    {name, "", since, until, "A>l", {types}, build_arg, infer_arg, run_arg, NULL, 0, NULL}

static const ln_op_row rows[] = {
    ARG("ArgMax", 1, 12, LN_T_NUMBER),
    ARG("ArgMax", 13, LN_OPEN, LN_T_NUMBER_BF),
    ARG("ArgMin", 1, 12, LN_T_NUMBER),
    ARG("ArgMin", 13, LN_OPEN, LN_T_NUMBER_BF),
};

LN_FAMILY_TABLE(argmax, rows);
