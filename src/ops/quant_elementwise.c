/* Elementwise operators on 8-bit tensors, of com.microsoft: QLinearAdd, QLinearMul, QLinearSigmoid,
 * QLinearLeakyRelu, QLinearSoftmax, QLinearConcat and QLinearWhere.
 *
 * Each dequantises, computes in float32 and quantises again. A function of one element is a table of its 256 values. Every
 * tensor has one scale and one zero point, which may be absent and is then 0.
 */
#include <math.h>
#include <string.h>

#include "ops/lines.h"
#include "ops/quant_linear.h"
#include "simd/vector.h"

enum { QUANT_GRAIN = 16384, CODES = 256 };

/* QLinearAdd and QLinearMul: A, its scale and zero, B, its scale and zero, the output's scale and zero -------------- */

typedef struct pair_params {
    enum ln_binary code;
} pair_params;

static ln_status build_pair(ln_build *build) {
    pair_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->code = strcmp(build->node->op_type, "QLinearAdd") == 0 ? LN_BINARY_ADD : LN_BINARY_MUL;
    }
    return ln_build_status(build);
}

static ln_status infer_pair(ln_op *op) {
    ln_shape shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_TRY(ln_linear_check(op, 1, 2));
    LN_TRY(ln_linear_check(op, 4, 5));
    LN_TRY(ln_linear_check(op, 6, 7));
    LN_OP_CHECK(op, ln_shape_broadcast(&ln_in(op, 0)->shape, &ln_in(op, 3)->shape, &shape), INVALID_SHAPE,
                "shapes %s and %s do not broadcast", ln_shape_text(&ln_in(op, 0)->shape, text[0]),
                ln_shape_text(&ln_in(op, 3)->shape, text[1]));
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

typedef struct pair_run {
    const ln_value *a, *b;
    ln_value *y;
    ln_linear a_by, b_by, y_by;
    int64_t a_stride, b_stride;
    ln_binary_fn *run;
} pair_run;

static void visit_pair(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const pair_run *run = argument;
    float a[LN_TILE], b[LN_TILE];
    for (int64_t at = 0; at < n; at += LN_TILE) {
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        ln_linear_load(run->a, run->a_by, offsets[0] + at * run->a_stride, run->a_stride, count, a);
        ln_linear_load(run->b, run->b_by, offsets[1] + at * run->b_stride, run->b_stride, count, b);
        run->run(a, a, 1, b, 1, (size_t)count);
        ln_linear_store(run->y, run->y_by, output + at, count, a);
    }
}

static void pair_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    const ln_shape *const shapes[] = {&ln_in(op, 0)->shape, &ln_in(op, 3)->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &y->shape, 2, shapes);
    pair_run run = {ln_in(op, 0),
                    ln_in(op, 3),
                    y,
                    ln_linear_at(op, 1, 2),
                    ln_linear_at(op, 4, 5),
                    ln_linear_at(op, 6, 7),
                    walk.strides[0][walk.rank - 1],
                    walk.strides[1][walk.rank - 1],
                    ln_binary_f32[((const pair_params *)op->params)->code]};
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, QUANT_GRAIN), index, &begin, &end);
    ln_broadcast_each(&walk, begin, end, visit_pair, &run);
}

static ln_status run_pair(ln_op *op) {
    return ln_op_grid(op, pair_task, ln_op_tasks(ln_value_count(ln_out(op, 0)), QUANT_GRAIN));
}

/* One element in, one out: X, its scale and zero, the output's scale and zero ------------------------------------------ */

typedef struct single_params {
    enum ln_unary code;
    float alpha;
} single_params;

static ln_status build_single(ln_build *build) {
    single_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        const bool leaky = strcmp(build->node->op_type, "QLinearLeakyRelu") == 0;
        params->code = leaky ? LN_UNARY_LEAKY_RELU : LN_UNARY_SIGMOID;
        params->alpha = leaky ? ln_attr_float(build, "alpha", 0.01f) : 0;
    }
    return ln_build_status(build);
}

static ln_status infer_single(ln_op *op) {
    LN_TRY(ln_linear_check(op, 1, 2));
    LN_TRY(ln_linear_check(op, 3, 4));
    return ln_infer_same(op);
}

/* The value of every code, by its bits. */
static void fill_table(ln_value *codes, ln_linear from, ln_linear to, enum ln_unary code, float alpha,
                       uint8_t *table) {
    uint8_t all[CODES];
    float tile[CODES];
    for (int i = 0; i < CODES; i++) {
        all[i] = (uint8_t)i;
    }
    codes->data = all;
    ln_linear_load(codes, from, 0, 1, CODES, tile);
    if (code != LN_UNARY_COUNT) {
        ln_unary_f32[code](tile, tile, CODES, alpha, 0);
    }
    codes->data = table;
    ln_linear_store(codes, to, 0, CODES, tile);
}

static void look_up(const uint8_t *table, const uint8_t *src, uint8_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        dst[i] = table[src[i]];
    }
}

static ln_status run_single(ln_op *op) {
    const single_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_value codes = ln_value_header(x->dtype, &x->shape);
    uint8_t table[CODES];
    fill_table(&codes, ln_linear_at(op, 1, 2), ln_linear_at(op, 3, 4), params->code, params->alpha, table);
    look_up(table, x->data, ln_out(op, 0)->data, ln_value_count(x));
    return LN_OK;
}

/* QLinearSoftmax ----------------------------------------------------------------------------------------------------- */

typedef struct softmax_params {
    int64_t axis;
    bool flattened;
} softmax_params;

static ln_status build_softmax(ln_build *build) {
    softmax_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->flattened = ln_attr_int(build, "opset", 13) < 13;
        params->axis = ln_attr_int(build, "axis", params->flattened ? 1 : -1);
    }
    return ln_build_status(build);
}

static ln_status infer_softmax(ln_op *op) {
    const softmax_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    int axis;
    LN_TRY(infer_single(op));
    LN_TRY(ln_op_axis(op, params->axis, x->rank, &axis));
    const ln_lines lines = ln_lines_of(x, axis, params->flattened ? x->rank : axis + 1);
    LN_OP_CHECK(op, lines.length < (int64_t)(SIZE_MAX / 16), LIMIT_EXCEEDED, "the axis is too long");
    *LN_LOCAL(op, ln_lines) = lines;
    op->task_scratch_bytes = (size_t)lines.length * sizeof(float);
    return LN_OK;
}

static void softmax_task(ln_op *op, int64_t index, void *scratch) {
    const ln_lines *lines = LN_LOCAL(op, ln_lines);
    const ln_linear from = ln_linear_at(op, 1, 2);
    const ln_linear to = ln_linear_at(op, 3, 4);
    float *line = scratch;
    int64_t begin, end;
    ln_line_range(lines, index, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        for (int64_t c = 0; c < block.columns; c++) {
            for (int64_t i = 0; i < lines->length; i++) {
                ln_linear_load(ln_in(op, 0), from, block.first + c + i * lines->inner, 1, 1, &line[i]);
            }
            ln_softmax_rows_f32(line, line, 1, (size_t)lines->length, 1.0f, NULL, 0);
            for (int64_t i = 0; i < lines->length; i++) {
                ln_linear_store(ln_out(op, 0), to, block.first + c + i * lines->inner, 1, &line[i]);
            }
        }
    }
}

static ln_status run_softmax(ln_op *op) {
    return ln_value_count(ln_in(op, 0)) == 0
               ? LN_OK
               : ln_op_grid(op, softmax_task, ln_line_tasks(LN_LOCAL(op, ln_lines)));
}

/* QLinearConcat: the output's scale and zero, then each input with its own ------------------------------------------------- */

typedef struct concat_params {
    int64_t axis;
} concat_params;

static ln_status build_concat(ln_build *build) {
    concat_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        ln_attr_required(build, "axis");
        params->axis = ln_attr_int(build, "axis", 0);
    }
    return ln_build_status(build);
}

static ln_status infer_concat(ln_op *op) {
    const concat_params *params = op->params;
    LN_OP_CHECK(op, op->n_inputs >= 5 && op->n_inputs % 3 == 2, INVALID_GRAPH,
                "the inputs must be a scale and a zero point, then three for each tensor; there are %d",
                op->n_inputs);
    LN_TRY(ln_linear_check(op, 0, 1));
    ln_shape shape;
    int axis = 0;
    for (int i = 2; i < op->n_inputs; i += 3) {
        const ln_value *x = ln_in(op, i);
        char text[2][LN_SHAPE_TEXT_BYTES];
        LN_OP_CHECK(
            op, x != NULL && (x->dtype == LN_UINT8 || x->dtype == LN_INT8) && x->dtype == ln_in(op, 2)->dtype,
            INVALID_TYPE, "input %d must be uint8 or int8 like the others", i);
        LN_TRY(ln_linear_check(op, i + 1, i + 2));
        if (i == 2) {
            shape = x->shape;
            LN_TRY(ln_op_axis(op, params->axis, shape.rank, &axis));
            continue;
        }
        ln_shape other = x->shape;
        if (other.rank == shape.rank) {
            shape.dims[axis] += other.dims[axis];
            other.dims[axis] = shape.dims[axis];
        }
        LN_OP_CHECK(op, ln_shape_equal(&shape, &other), INVALID_SHAPE,
                    "input %d of shape %s does not continue %s", i, ln_shape_text(&x->shape, text[0]),
                    ln_shape_text(&ln_in(op, 2)->shape, text[1]));
    }
    LN_LOCAL(op, ln_lines)->length = axis;
    return ln_op_shape(op, 0, ln_in(op, 2)->dtype, &shape);
}

static ln_status run_concat(ln_op *op) {
    const int axis = (int)LN_LOCAL(op, ln_lines)->length;
    ln_value *y = ln_out(op, 0);
    const ln_lines whole = ln_lines_of(&y->shape, axis, axis + 1);
    int64_t at = 0;
    for (int i = 2; i < op->n_inputs; i += 3) {
        const ln_value *x = ln_in(op, i);
        ln_value codes = ln_value_header(x->dtype, &x->shape);
        uint8_t table[CODES];
        fill_table(&codes, ln_linear_at(op, i + 1, i + 2), ln_linear_at(op, 0, 1), LN_UNARY_COUNT, 0, table);
        const int64_t run = x->shape.dims[axis] * whole.inner;
        for (int64_t o = 0; o < whole.outer; o++) {
            look_up(table, (const uint8_t *)x->data + o * run,
                    (uint8_t *)y->data + o * whole.length * whole.inner + at, run);
        }
        at += run;
    }
    return LN_OK;
}

/* QLinearWhere: the condition, X, its scale and zero, Y, its scale and zero, the output's scale and zero -------------------- */

enum { WHERE_X = 1, WHERE_Y = 4, WHERE_OUT = 7 };

static ln_status infer_where(ln_op *op) {
    ln_shape pair, shape;
    const ln_shape *x = &ln_in(op, WHERE_X)->shape;
    const ln_shape *y = &ln_in(op, WHERE_Y)->shape;
    LN_TRY(ln_linear_check(op, WHERE_X + 1, WHERE_X + 2));
    LN_TRY(ln_linear_check(op, WHERE_Y + 1, WHERE_Y + 2));
    LN_TRY(ln_linear_check(op, WHERE_OUT, WHERE_OUT + 1));
    char text[3][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(
        op, ln_shape_broadcast(x, y, &pair) && ln_shape_broadcast(&ln_in(op, 0)->shape, &pair, &shape),
        INVALID_SHAPE, "shapes %s, %s and %s do not broadcast", ln_shape_text(&ln_in(op, 0)->shape, text[0]),
        ln_shape_text(x, text[1]), ln_shape_text(y, text[2]));
    return ln_op_shape(op, 0, ln_in(op, WHERE_X)->dtype, &shape);
}

typedef struct where_run {
    const uint8_t *condition, *x, *y;
    uint8_t *out;
    int64_t strides[3];
    uint8_t x_table[CODES], y_table[CODES];
} where_run;

static void visit_where(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const where_run *run = argument;
    for (int64_t i = 0; i < n; i++) {
        const bool first = run->condition[offsets[0] + i * run->strides[0]] != 0;
        run->out[output + i] = first ? run->x_table[run->x[offsets[1] + i * run->strides[1]]]
                                     : run->y_table[run->y[offsets[2] + i * run->strides[2]]];
    }
}

static ln_status run_where(ln_op *op) {
    const ln_value *x = ln_in(op, WHERE_X);
    const ln_value *y = ln_in(op, WHERE_Y);
    ln_value *out = ln_out(op, 0);
    const ln_shape *const shapes[] = {&ln_in(op, 0)->shape, &x->shape, &y->shape};
    const ln_linear to = ln_linear_at(op, WHERE_OUT, WHERE_OUT + 1);
    ln_value codes = ln_value_header(x->dtype, &x->shape);
    where_run run = {.condition = ln_in(op, 0)->data, .x = x->data, .y = y->data, .out = out->data};
    fill_table(&codes, ln_linear_at(op, WHERE_X + 1, WHERE_X + 2), to, LN_UNARY_COUNT, 0, run.x_table);
    fill_table(&codes, ln_linear_at(op, WHERE_Y + 1, WHERE_Y + 2), to, LN_UNARY_COUNT, 0, run.y_table);
    ln_broadcast walk;
    ln_broadcast_init(&walk, &out->shape, 3, shapes);
    for (int i = 0; i < 3; i++) {
        run.strides[i] = walk.strides[i][walk.rank - 1];
    }
    ln_broadcast_each(&walk, 0, walk.count, visit_where, &run);
    return LN_OK;
}

/* Rows ------------------------------------------------------------------------------------------------------------------- */

#define T_INT8 (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define QUANT(name, signature, build, infer, run, flags)                                                     \
    {name, "com.microsoft", 1, LN_OPEN, signature, {T_INT8}, build, infer, run, NULL, flags, NULL}

static const ln_op_row rows[] = {
    QUANT("QLinearAdd", "AfA?AfA?fA?>A", build_pair, infer_pair, run_pair, LN_OP_INPLACE_0),
    QUANT("QLinearMul", "AfA?AfA?fA?>A", build_pair, infer_pair, run_pair, LN_OP_INPLACE_0),
    QUANT("QLinearSigmoid", "AfA?fA?>A", build_single, infer_single, run_single, LN_OP_INPLACE_0),
    QUANT("QLinearLeakyRelu", "AfA?fA?>A", build_single, infer_single, run_single, LN_OP_INPLACE_0),
    QUANT("QLinearSoftmax", "AfA?fA?>A", build_softmax, infer_softmax, run_softmax, 0),
    QUANT("QLinearConcat", "fA.+>A", build_concat, infer_concat, run_concat, 0),
    {"QLinearWhere",
     "com.microsoft",
     1,
     LN_OPEN,
     "bAfAAfAfA>A",
     {T_INT8},
     ln_build_nothing,
     infer_where,
     run_where,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(quant_elementwise, rows);
