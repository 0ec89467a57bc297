/* CumSum and CumProd: running sums and products along an axis, forwards or backwards, with or without the element
 * itself. Floats run in double, integers in int64 and wrap. The output may overwrite the input.
 */
#include <string.h>

#include "ops/lines.h"

typedef struct cumulate_params {
    bool product, exclusive, reverse;
} cumulate_params;

static ln_status build_cumulate(ln_build *build) {
    cumulate_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->product = strcmp(build->node->op_type, "CumProd") == 0;
        params->exclusive = ln_attr_bool(build, "exclusive", false);
        params->reverse = ln_attr_bool(build, "reverse", false);
    }
    return ln_build_status(build);
}

static ln_status infer_cumulate(ln_op *op) {
    LN_OP_CHECK(op, ln_value_count(ln_in(op, 1)) == 1, INVALID_SHAPE,
                "the axis must be one number, input 1 has %lld", (long long)ln_value_count(ln_in(op, 1)));
    return ln_infer_same(op);
}

typedef union cumulate_row {
    double f64[LN_LINE_COLUMNS];
    int64_t i64[LN_LINE_COLUMNS];
} cumulate_row;

static void load_row(const ln_value *value, bool floats, int64_t first, int64_t n, cumulate_row *row) {
    if (floats) {
        ln_load_f64(value->dtype, value->data, first, n, row->f64);
    } else {
        ln_load_i64(value->dtype, value->data, first, n, row->i64);
    }
}

static void store_row(ln_value *value, bool floats, int64_t first, int64_t n, const cumulate_row *row) {
    if (floats) {
        ln_store_f64(value->dtype, value->data, first, n, row->f64);
    } else {
        ln_store_i64(value->dtype, value->data, first, n, row->i64);
    }
}

/* Takes a row into the running one. */
static void take_row(const cumulate_params *params, bool floats, cumulate_row *running,
                     const cumulate_row *row, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (floats) {
            running->f64[i] = params->product ? running->f64[i] * row->f64[i] : running->f64[i] + row->f64[i];
        } else {
            const uint64_t a = (uint64_t)running->i64[i];
            const uint64_t b = (uint64_t)row->i64[i];
            running->i64[i] = (int64_t)(params->product ? a * b : a + b);
        }
    }
}

static void cumulate_block(const cumulate_params *params, const ln_lines *lines, const ln_line_block *block,
                           const ln_value *x, ln_value *y) {
    const bool floats = ln_dtype_is_float(x->dtype);
    cumulate_row running, row;
    for (int64_t i = 0; i < block->columns; i++) {
        if (floats) {
            running.f64[i] = params->product ? 1 : 0;
        } else {
            running.i64[i] = params->product ? 1 : 0;
        }
    }
    for (int64_t step = 0; step < lines->length; step++) {
        const int64_t at = params->reverse ? lines->length - 1 - step : step;
        const int64_t first = block->first + at * lines->inner;
        load_row(x, floats, first, block->columns, &row);
        if (params->exclusive) {
            store_row(y, floats, first, block->columns, &running);
        }
        take_row(params, floats, &running, &row, block->columns);
        if (!params->exclusive) {
            store_row(y, floats, first, block->columns, &running);
        }
    }
}

static void cumulate_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_lines *lines = LN_LOCAL(op, ln_lines);
    int64_t begin, end;
    ln_line_range(lines, index, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        cumulate_block(op->params, lines, &block, ln_in(op, 0), ln_out(op, 0));
    }
}

static ln_status run_cumulate(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    const ln_value *input = ln_in(op, 1);
    int64_t wanted;
    int axis;
    ln_load_i64(input->dtype, input->data, 0, 1, &wanted);
    LN_TRY(ln_op_axis(op, wanted, x->shape.rank, &axis));
    if (ln_value_count(x) == 0) {
        return LN_OK;
    }
    ln_lines *lines = LN_LOCAL(op, ln_lines);
    *lines = ln_lines_of(&x->shape, axis, axis + 1);
    return ln_op_grid(op, cumulate_task, ln_line_tasks(lines));
}

#define CUMULATE(name, since, until, types)                                                                  \
    {                                                                                                        \
        name, "", since, until, "AB>A", {types, LN_T_INDEX}, build_cumulate, infer_cumulate, run_cumulate,   \
            NULL, LN_OP_INPLACE_0, NULL                                                                      \
    }

static const ln_op_row rows[] = {
    CUMULATE("CumSum", 11, 13, LN_T_HIGH & ~LN_BIT(LN_FLOAT16)),
    CUMULATE("CumSum", 14, LN_OPEN, LN_T_HIGH | LN_BIT(LN_BFLOAT16)),
    CUMULATE("CumProd", 26, LN_OPEN, LN_T_HIGH | LN_BIT(LN_BFLOAT16)),
};

LN_FAMILY_TABLE(cumulate, rows);
