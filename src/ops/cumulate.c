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
    (void)LN_LOCAL(op, ln_lines);
    return ln_infer_same(op);
}

typedef union cumulate_tile {
    double f64[LN_TILE];
    int64_t i64[LN_TILE];
} cumulate_tile;

/* The running value of each column, and the tile's rows replaced by what comes out of them. */
static void run_tile(const cumulate_params *params, bool floats, int64_t rows, int64_t columns,
                     cumulate_tile *running, cumulate_tile *tile) {
    for (int64_t step = 0; step < rows; step++) {
        const int64_t first = (params->reverse ? rows - 1 - step : step) * columns;
        for (int64_t i = 0; i < columns; i++) {
            if (floats) {
                const double before = running->f64[i];
                running->f64[i] =
                    params->product ? before * tile->f64[first + i] : before + tile->f64[first + i];
                tile->f64[first + i] = params->exclusive ? before : running->f64[i];
            } else {
                const uint64_t before = (uint64_t)running->i64[i];
                const uint64_t value = (uint64_t)tile->i64[first + i];
                running->i64[i] = (int64_t)(params->product ? before * value : before + value);
                tile->i64[first + i] = params->exclusive ? (int64_t)before : running->i64[i];
            }
        }
    }
}

/* Tiles are several rows at a time where the block is as wide as the tensor, since those lie one after the other. */
static void cumulate_block(const cumulate_params *params, const ln_lines *lines, const ln_line_block *block,
                           const ln_value *x, ln_value *y) {
    const bool floats = ln_dtype_is_float(x->dtype);
    const int64_t together = block->columns == lines->inner ? LN_TILE / block->columns : 1;
    cumulate_tile running, tile;
    for (int64_t i = 0; i < block->columns; i++) {
        if (floats) {
            running.f64[i] = params->product ? 1 : 0;
        } else {
            running.i64[i] = params->product ? 1 : 0;
        }
    }
    for (int64_t done = 0; done < lines->length; done += together) {
        const int64_t rows = lines->length - done < together ? lines->length - done : together;
        const int64_t row = params->reverse ? lines->length - done - rows : done;
        const int64_t first = block->first + row * lines->inner;
        const int64_t n = rows * block->columns;
        if (floats) {
            ln_load_f64(x->dtype, x->data, first, n, tile.f64);
        } else {
            ln_load_i64(x->dtype, x->data, first, n, tile.i64);
        }
        run_tile(params, floats, rows, block->columns, &running, &tile);
        if (floats) {
            ln_store_f64(y->dtype, y->data, first, n, tile.f64);
        } else {
            ln_store_i64(y->dtype, y->data, first, n, tile.i64);
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
    {name,           "",           since, until,           "AB>A", {types, LN_T_INDEX}, build_cumulate,      \
     infer_cumulate, run_cumulate, NULL,  LN_OP_INPLACE_0, NULL}

static const ln_op_row rows[] = {
    CUMULATE("CumSum", 11, 13, LN_T_HIGH & ~LN_BIT(LN_FLOAT16)),
    CUMULATE("CumSum", 14, LN_OPEN, LN_T_HIGH | LN_BIT(LN_BFLOAT16)),
    CUMULATE("CumProd", 26, LN_OPEN, LN_T_HIGH | LN_BIT(LN_BFLOAT16)),
};

LN_FAMILY_TABLE(cumulate, rows);
