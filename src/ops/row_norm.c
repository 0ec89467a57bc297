/* Normalisation of rows: LayerNormalization, RMSNormalization and the com.microsoft forms that add a skip
 * connection before it.
 *
 * All of them are one computation on rows of n elements:
 *     sum = x + skip + bias;  y = (sum - mean) / sqrt(variance + epsilon) * gamma + beta
 * where the root-mean-square forms leave mean and beta out. float32 rows go to a kernel many at a time, half types row by row
 * through float32 scratch. double, and a gamma or beta that does not have one number per column, go through
 * double row by row.
 */
#include <math.h>
#include <string.h>

#include "ops/float_tile.h"
#include "ops/lines.h"
#include "simd/vector.h"

enum { ROW_GRAIN = 16384, SCRATCH_ROWS = 6, NONE = -1 };

/* Where the operands of an operator stand among its inputs and outputs; NONE where it lacks one. */
typedef struct row_operands {
    const char *name;
    bool rms;
    int8_t skip, gamma, beta, bias; /* inputs */
    int8_t mean, inv_std, sum;      /* outputs */
} row_operands;

static const row_operands operands[] = {
    {"LayerNormalization", false, NONE, 1, 2, NONE, 1, 2, NONE},
    {"RMSNormalization", true, NONE, 1, NONE, NONE, NONE, NONE, NONE},
    {"SimplifiedLayerNormalization", true, NONE, 1, NONE, NONE, NONE, 1, NONE},
    {"SkipLayerNormalization", false, 1, 2, 3, 4, 1, 2, 3},
    {"SkipSimplifiedLayerNormalization", true, 1, 2, NONE, 3, 1, 2, 3},
};

typedef struct row_params {
    const row_operands *operands;
    int64_t axis;
    float epsilon;
} row_params;

typedef struct row_local {
    int64_t rows, n;
    int64_t skip_rows;
    bool plain; /* gamma and beta have one number per column */
} row_local;

/* Build and infer -------------------------------------------------------------------------------------------- */

static ln_status build_rows(ln_build *build, float epsilon) {
    row_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->operands = operands; /* every row below has operands */
    while (strcmp(params->operands->name, build->node->op_type) != 0) {
        params->operands++;
    }
    params->axis = ln_attr_int(build, "axis", -1);
    params->epsilon = ln_attr_float(build, "epsilon", epsilon);
    build->node->output_dtype = LN_FLOAT;
    return ln_build_status(build);
}

static ln_status build_layer(ln_build *build) {
    LN_TRY(build_rows(build, 1e-5f));
    const int64_t stash = ln_attr_int(build, "stash_type", LN_FLOAT);
    if (stash != LN_FLOAT && stash != LN_BFLOAT16 && stash != LN_FLOAT16 && stash != LN_DOUBLE) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "stash_type is %lld, expected 1, 10, 11 or 16",
                             (long long)stash);
    }
    build->node->output_dtype = (ln_dtype)stash;
    return ln_build_status(build);
}

static ln_status build_skip(ln_build *build) {
    return build_rows(build, 1e-12f);
}

static const ln_value *operand(const ln_op *op, int index) {
    return index == NONE ? NULL : ln_in(op, index);
}
static ln_value *result(const ln_op *op, int index) {
    return index == NONE ? NULL : ln_out(op, index);
}

/* Whether the value repeats in every row and has one number per column; fails when it does not broadcast to x. */
static ln_status check_scale(ln_op *op, int index, int axis, bool *plain) {
    const ln_value *value = operand(op, index);
    const ln_shape *x = &ln_in(op, 0)->shape;
    if (value == NULL) {
        return LN_OK;
    }
    ln_shape shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, ln_shape_broadcast(x, &value->shape, &shape) && ln_shape_equal(x, &shape), INVALID_SHAPE,
                "input %d of shape %s does not broadcast to the input's %s", index,
                ln_shape_text(&value->shape, text[0]), ln_shape_text(x, text[1]));
    for (int i = 0; i < x->rank; i++) {
        const int own = i - (x->rank - value->shape.rank);
        const int64_t dim = own < 0 ? 1 : value->shape.dims[own];
        *plain = *plain && dim == (i < axis ? 1 : x->dims[i]);
    }
    return LN_OK;
}

static ln_status infer_skip(ln_op *op, const row_operands *at, row_local *local) {
    const ln_shape *x = &ln_in(op, 0)->shape;
    const ln_value *skip = operand(op, at->skip);
    const ln_value *bias = operand(op, at->bias);
    ln_shape shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    local->skip_rows = 1;
    if (skip != NULL) {
        LN_OP_CHECK(op,
                    skip->shape.rank > 0 && ln_shape_broadcast(x, &skip->shape, &shape) &&
                        ln_shape_equal(x, &shape),
                    INVALID_SHAPE, "the skip input of shape %s does not fit the input's %s",
                    ln_shape_text(&skip->shape, text[0]), ln_shape_text(x, text[1]));
        const int64_t count = ln_value_count(skip);
        local->skip_rows = local->n > 0 && count >= local->n ? count / local->n : 1;
        /* Only leading axes may repeat. */
        const int64_t rest = ln_shape_product(x, x->rank - skip->shape.rank, x->rank);
        LN_OP_CHECK(op,
                    count == rest ||
                        (skip->shape.dims[0] == 1 && count * x->dims[x->rank - skip->shape.rank] == rest),
                    INVALID_SHAPE, "the skip input of shape %s may repeat only along the first axis of %s",
                    ln_shape_text(&skip->shape, text[0]), ln_shape_text(x, text[1]));
    }
    LN_OP_CHECK(op, bias == NULL || ln_value_count(bias) == local->n, INVALID_SHAPE,
                "the bias must have %lld elements, it has %lld", (long long)local->n,
                (long long)ln_value_count(bias));
    return LN_OK;
}

static ln_status infer_rows(ln_op *op) {
    const row_params *params = op->params;
    const row_operands *at = params->operands;
    row_local *local = LN_LOCAL(op, row_local);
    const ln_value *x = ln_in(op, 0);
    int axis = 0;
    LN_OP_CHECK(op, x->shape.rank >= 1, INVALID_SHAPE, "the input must have at least one axis");
    LN_TRY(ln_op_axis(op, params->axis, x->shape.rank, &axis));
    local->rows = ln_shape_product(&x->shape, 0, axis);
    local->n = ln_shape_product(&x->shape, axis, x->shape.rank);
    local->plain = true;
    LN_TRY(check_scale(op, at->gamma, axis, &local->plain));
    LN_TRY(check_scale(op, at->beta, axis, &local->plain));
    LN_TRY(infer_skip(op, at, local));
    LN_OP_CHECK(op, local->n < (int64_t)(SIZE_MAX / 64), LIMIT_EXCEEDED, "rows of %lld elements are too long",
                (long long)local->n);
    op->task_scratch_bytes = (size_t)local->n * SCRATCH_ROWS * sizeof(double);
    ln_shape statistics = x->shape;
    for (int i = axis; i < statistics.rank; i++) {
        statistics.dims[i] = 1;
    }
    if (at->mean != NONE) {
        LN_TRY(ln_op_shape(op, at->mean, op->node->output_dtype, &statistics));
    }
    if (at->inv_std != NONE) {
        LN_TRY(ln_op_shape(op, at->inv_std, op->node->output_dtype, &statistics));
    }
    if (at->sum != NONE) {
        LN_TRY(ln_op_shape(op, at->sum, x->dtype, &x->shape));
    }
    /* RMSNormalization has the type of its scale. */
    const bool by_scale = at->rms && at->skip == NONE;
    return ln_op_shape(op, 0, by_scale ? ln_in(op, at->gamma)->dtype : x->dtype, &x->shape);
}

/* Rows of float32 --------------------------------------------------------------------------------------------- */

/* Operands as float32: the tensors themselves where they are, else scratch. */
typedef struct row_f32 {
    const row_params *params;
    const row_local *local;
    const float *gamma, *beta, *bias;
} row_f32;

static const float *as_f32(const ln_value *value, int64_t first, int64_t n, float *scratch) {
    if (value == NULL) {
        return NULL;
    }
    if (value->dtype == LN_FLOAT) {
        return (const float *)value->data + first;
    }
    ln_tile_load(value->dtype, value->data, first, n, scratch);
    return scratch;
}

/* `rows` rows from `a` and `b` (NULL without skip) to dst, and to sum, mean and inv_std where they are not NULL. */
static void norm_f32(const row_f32 *row, float *dst, float *sum, const float *a, const float *b, size_t rows,
                     float *mean, float *inv_std) {
    const size_t n = (size_t)row->local->n;
    const float epsilon = row->params->epsilon;
    if (row->params->operands->rms) {
        if (b == NULL) {
            ln_rms_norm_rows_f32(dst, a, rows, n, row->gamma, epsilon, inv_std);
        } else {
            ln_skip_rms_norm_rows_f32(dst, sum, a, b, row->bias, rows, n, row->gamma, epsilon, inv_std);
        }
        for (size_t i = 0; i < rows && mean != NULL; i++) {
            mean[i] = 0;
        }
    } else if (b == NULL) {
        ln_layer_norm_rows_f32(dst, a, rows, n, row->gamma, row->beta, epsilon, mean, inv_std);
    } else {
        ln_skip_layer_norm_rows_f32(dst, sum, a, b, row->bias, rows, n, row->gamma, row->beta, epsilon, mean,
                                    inv_std);
    }
}

static float *offset_f32(const ln_value *value, int64_t first) {
    return value == NULL ? NULL : (float *)value->data + first;
}

/* All tensors are float32: as many rows at a time as the skip input allows. */
static void rows_direct(const ln_op *op, const row_f32 *row, int64_t begin, int64_t end) {
    const row_operands *at = row->params->operands;
    const int64_t n = row->local->n;
    const ln_value *skip = operand(op, at->skip);
    while (begin < end) {
        int64_t rows = end - begin;
        const float *b = NULL;
        if (skip != NULL) {
            const int64_t skip_row = begin % row->local->skip_rows;
            rows = row->local->skip_rows - skip_row < rows ? row->local->skip_rows - skip_row : rows;
            b = (const float *)skip->data + skip_row * n;
        }
        norm_f32(row, offset_f32(ln_out(op, 0), begin * n), offset_f32(result(op, at->sum), begin * n),
                 offset_f32(ln_in(op, 0), begin * n), b, (size_t)rows,
                 offset_f32(result(op, at->mean), begin), offset_f32(result(op, at->inv_std), begin));
        begin += rows;
    }
}

static void store_statistic(ln_value *value, int64_t row, double number) {
    if (value != NULL) {
        ln_store_f64(value->dtype, value->data, row, 1, &number);
    }
}

static void row_converted(const ln_op *op, const row_f32 *row, int64_t index, float *scratch) {
    const row_operands *at = row->params->operands;
    const int64_t n = row->local->n;
    const ln_value *skip = operand(op, at->skip);
    ln_value *y = ln_out(op, 0);
    ln_value *sum = result(op, at->sum);
    float mean, inv_std;
    ln_tile_load(ln_in(op, 0)->dtype, ln_in(op, 0)->data, index * n, n, scratch);
    const float *b = as_f32(skip, index % row->local->skip_rows * n, n, scratch + n);
    norm_f32(row, scratch + 2 * n, b != NULL ? scratch : NULL, scratch, b, 1, &mean, &inv_std);
    ln_tile_store(y->dtype, y->data, index * n, n, scratch + 2 * n);
    if (sum != NULL) {
        ln_tile_store(sum->dtype, sum->data, index * n, n, scratch);
    }
    store_statistic(result(op, at->mean), index, (double)mean);
    store_statistic(result(op, at->inv_std), index, (double)inv_std);
}

/* Rows of double ---------------------------------------------------------------------------------------------- */

typedef struct spread_run {
    const ln_value *value;
    int64_t stride, origin;
    double *row;
} spread_run;

static void visit_spread(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const spread_run *run = argument;
    double *target = run->row + (output - run->origin);
    if (run->stride == 1) {
        ln_load_f64(run->value->dtype, run->value->data, offsets[0], n, target);
        return;
    }
    double value;
    ln_load_f64(run->value->dtype, run->value->data, offsets[0], 1, &value);
    for (int64_t i = 0; i < n; i++) {
        target[i] = value;
    }
}

/* The elements of a broadcast value that belong to elements [first, first + n) of x. */
static void load_spread(const ln_value *value, const ln_shape *x, int64_t first, int64_t n, double *row) {
    const ln_shape *const shapes[] = {&value->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, x, 1, shapes);
    spread_run run = {value, walk.strides[0][walk.rank - 1], first, row};
    ln_broadcast_each(&walk, first, first + n, visit_spread, &run);
}

static void add_row(const ln_value *value, int64_t first, int64_t n, double *scratch, double *row) {
    if (value == NULL) {
        return;
    }
    ln_load_f64(value->dtype, value->data, first, n, scratch);
    for (int64_t i = 0; i < n; i++) {
        row[i] += scratch[i];
    }
}

static void row_f64(const ln_op *op, const row_local *local, int64_t index, double *row) {
    const row_params *params = op->params;
    const row_operands *at = params->operands;
    const ln_value *x = ln_in(op, 0);
    const int64_t n = local->n;
    double *other = row + n;
    double mean = 0;
    double square = 0;
    ln_load_f64(x->dtype, x->data, index * n, n, row);
    add_row(operand(op, at->skip), index % local->skip_rows * n, n, other, row);
    add_row(operand(op, at->bias), 0, n, other, row);
    if (result(op, at->sum) != NULL) {
        ln_store_f64(result(op, at->sum)->dtype, result(op, at->sum)->data, index * n, n, row);
    }
    for (int64_t i = 0; i < n && !at->rms; i++) {
        mean += row[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        square += (row[i] - mean) * (row[i] - mean);
    }
    const double inv_std = 1 / sqrt(square / (double)n + (double)params->epsilon);
    for (int64_t i = 0; i < n; i++) {
        row[i] = (row[i] - mean) * inv_std;
    }
    if (operand(op, at->gamma) != NULL) {
        load_spread(operand(op, at->gamma), &x->shape, index * n, n, other);
        for (int64_t i = 0; i < n; i++) {
            row[i] *= other[i];
        }
    }
    if (operand(op, at->beta) != NULL) {
        load_spread(operand(op, at->beta), &x->shape, index * n, n, other);
        for (int64_t i = 0; i < n; i++) {
            row[i] += other[i];
        }
    }
    ln_store_f64(ln_out(op, 0)->dtype, ln_out(op, 0)->data, index * n, n, row);
    store_statistic(result(op, at->mean), index, mean);
    store_statistic(result(op, at->inv_std), index, inv_std);
}

/* Run --------------------------------------------------------------------------------------------------------- */

static bool all_f32(const ln_op *op) {
    for (int i = 0; i < op->n_inputs; i++) {
        if (ln_in(op, i) != NULL && ln_in(op, i)->dtype != LN_FLOAT) {
            return false;
        }
    }
    for (int i = 0; i < op->n_outputs; i++) {
        if (ln_out(op, i) != NULL && ln_out(op, i)->dtype != LN_FLOAT) {
            return false;
        }
    }
    return true;
}

static int64_t row_tasks(const row_local *local) {
    return ln_unit_tasks(local->rows, local->n, ROW_GRAIN);
}

static void row_task(ln_op *op, int64_t index, void *scratch) {
    const row_params *params = op->params;
    const row_operands *at = params->operands;
    const row_local *local = LN_LOCAL(op, row_local);
    const ln_dtype dtype = ln_in(op, 0)->dtype;
    int64_t begin, end;
    ln_unit_range(local->rows, row_tasks(local), index, &begin, &end);
    if (!local->plain || dtype == LN_DOUBLE) {
        for (int64_t row = begin; row < end; row++) {
            row_f64(op, local, row, scratch);
        }
        return;
    }
    float *memory = scratch;
    const int64_t n = local->n;
    const row_f32 row = {params, local, as_f32(operand(op, at->gamma), 0, n, memory),
                         as_f32(operand(op, at->beta), 0, n, memory + n),
                         as_f32(operand(op, at->bias), 0, n, memory + 2 * n)};
    if (all_f32(op)) {
        rows_direct(op, &row, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        row_converted(op, &row, i, memory + 3 * n);
    }
}

static ln_status run_rows(ln_op *op) {
    const row_local *local = LN_LOCAL(op, row_local);
    return local->n == 0 ? LN_OK : ln_op_grid(op, row_task, row_tasks(local));
}

/* Rows -------------------------------------------------------------------------------------------------------- */

#define ROWS(name, domain, since, until, signature, build, flags)                                            \
    {name,  domain,     since,    until, signature, {LN_T_FLOAT_BF, LN_T_FLOAT_BF, LN_T_FLOAT_BF},           \
     build, infer_rows, run_rows, NULL,  flags,     NULL}

/* LayerNormalization below version 17 and in com.microsoft is what exporters of those days write. The skip forms read
 * their first input again when they write the sum, so they never run in place. */
static const ln_op_row rows[] = {
    ROWS("LayerNormalization", "", 1, LN_OPEN, "AAA?>AB?B?", build_layer, LN_OP_INPLACE_0),
    ROWS("LayerNormalization", "com.microsoft", 1, LN_OPEN, "AAA?>AB?B?", build_layer, LN_OP_INPLACE_0),
    ROWS("RMSNormalization", "", 23, LN_OPEN, "AB>B", build_layer, LN_OP_INPLACE_0),
    ROWS("SimplifiedLayerNormalization", "", 1, LN_OPEN, "AB>BC?", build_layer, LN_OP_INPLACE_0),
    ROWS("SimplifiedLayerNormalization", "com.microsoft", 1, LN_OPEN, "AB>BC?", build_layer, LN_OP_INPLACE_0),
    ROWS("SkipLayerNormalization", "com.microsoft", 1, LN_OPEN, "AAAA?A?>AB?B?A?", build_skip, 0),
    ROWS("SkipSimplifiedLayerNormalization", "com.microsoft", 1, LN_OPEN, "AAAA?>AB?B?A?", build_skip, 0),
};

LN_FAMILY_TABLE(row_norm, rows);
