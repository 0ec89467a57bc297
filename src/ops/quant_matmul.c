/* Products of quantised matrices: MatMulInteger, QLinearMatMul, and com.microsoft MatMulIntegerToFloat,
 * DynamicQuantizeMatMul and QGemm.
 *
 * All of them are Y = finish(sum over k of (A - a_zero) * (B - b_zero)), row by row in int32, which wraps as the standard
 * allows. The zero point of B leaves the inner loop: (A - a) * (B - b) = (A - a) * B - b * (A - a). What differs is
 * where the operands stand and what becomes of the sum: it stays int32, is scaled to float, or is quantised again. float8
 * operands of QLinearMatMul are summed in double.
 */
#include <math.h>
#include <string.h>

#include "ops/dynamic_range.h"
#include "ops/lines.h"
#include "simd/vector.h"

enum { PRODUCT_GRAIN = 65536, NONE = -1 };

typedef struct product_operands {
    const char *name;
    bool dynamic; /* A is float32 and quantised on the way */
    int8_t a, a_scale, a_zero, b, b_scale, b_zero;
    int8_t bias; /* float32, a number per column */
    int8_t sum;  /* int32, broadcast to Y, added before scaling */
    int8_t y_scale, y_zero;
} product_operands;

static const product_operands operands[] = {
    {"MatMulInteger", false, 0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE, NONE},
    {"QLinearMatMul", false, 0, 1, 2, 3, 4, 5, NONE, NONE, 6, 7},
    {"MatMulIntegerToFloat", false, 0, 2, 4, 1, 3, 5, 6, NONE, NONE, NONE},
    {"DynamicQuantizeMatMul", true, 0, NONE, NONE, 1, 2, 3, 4, NONE, NONE, NONE},
    {"QGemm", false, 0, 1, 2, 3, 4, 5, NONE, 6, 7, 8},
};

typedef struct product_params {
    const product_operands *operands;
    bool gemm, trans_a, trans_b;
    float alpha;
} product_params;

typedef struct product_local {
    int64_t batches, m, k, n;
    int64_t a_row, a_col, b_row, b_col;
    ln_shape batch; /* of Y */
    float a_scale;  /* dynamic */
    int32_t a_zero;
} product_local;

/* Build and infer ---------------------------------------------------------------------------------------------- */

static ln_status build_product(ln_build *build) {
    product_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->operands = operands; /* every row below has operands */
    while (strcmp(params->operands->name, build->node->op_type) != 0) {
        params->operands++;
    }
    params->gemm = params->operands->sum != NONE;
    params->trans_a = params->gemm && ln_attr_bool(build, "transA", false);
    params->trans_b = params->gemm && ln_attr_bool(build, "transB", false);
    params->alpha = params->gemm ? ln_attr_float(build, "alpha", 1.0f) : 1.0f;
    build->node->output_dtype = LN_FLOAT;
    return ln_build_status(build);
}

static const ln_value *operand(const ln_op *op, int index) {
    return index == NONE ? NULL : ln_in(op, index);
}

static ln_shape batch_of(const ln_shape *shape) {
    return ln_shape_of(shape->rank > 2 ? shape->rank - 2 : 0, shape->dims);
}

/* Sizes, strides and the shape of Y. */
static ln_status infer_sizes(ln_op *op, product_local *local, ln_shape *y) {
    const product_params *params = op->params;
    const ln_shape *a = &ln_in(op, params->operands->a)->shape;
    const ln_shape *b = &ln_in(op, params->operands->b)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, a->rank >= 1 && b->rank >= 1 && (!params->gemm || (a->rank == 2 && b->rank == 2)),
                INVALID_SHAPE, "cannot multiply shapes %s and %s", ln_shape_text(a, text[0]),
                ln_shape_text(b, text[1]));
    const int64_t a_rows = a->rank == 1 ? 1 : a->dims[a->rank - 2];
    const int64_t a_cols = a->dims[a->rank - 1];
    const int64_t b_rows = b->rank == 1 ? b->dims[0] : b->dims[b->rank - 2];
    const int64_t b_cols = b->rank == 1 ? 1 : b->dims[b->rank - 1];
    local->m = params->trans_a ? a_cols : a_rows;
    local->k = params->trans_a ? a_rows : a_cols;
    local->n = params->trans_b ? b_rows : b_cols;
    local->a_row = params->trans_a ? 1 : a_cols;
    local->a_col = params->trans_a ? a_cols : 1;
    local->b_row = params->trans_b ? 1 : b_cols;
    local->b_col = params->trans_b ? b_cols : 1;
    const int64_t k = params->trans_b ? b_cols : b_rows;
    const ln_shape a_batch = batch_of(a);
    const ln_shape b_batch = batch_of(b);
    LN_OP_CHECK(op, k == local->k && ln_shape_broadcast(&a_batch, &b_batch, &local->batch), INVALID_SHAPE,
                "cannot multiply shapes %s and %s", ln_shape_text(a, text[0]), ln_shape_text(b, text[1]));
    local->batches = ln_shape_count(&local->batch);
    *y = local->batch;
    if (a->rank > 1) {
        y->dims[y->rank++] = local->m;
    }
    if (b->rank > 1) {
        y->dims[y->rank++] = local->n;
    }
    return LN_OK;
}

/* A scale or zero point is one number, one for each row (column), or one for each row of each product. */
static ln_status check_numbers(ln_op *op, const product_local *local, int index, int64_t each) {
    const ln_value *value = operand(op, index);
    LN_OP_CHECK(op, value == NULL || value->kind == LN_KIND_TENSOR, INVALID_TYPE, "input %d is not a tensor",
                index);
    const int64_t count = value == NULL ? 1 : ln_value_count(value);
    LN_OP_CHECK(op, count == 1 || count == each || count == local->batches * each, INVALID_SHAPE,
                "input %d has %lld elements, expected 1 or %lld", index, (long long)count, (long long)each);
    return LN_OK;
}

static ln_dtype output_dtype(const ln_op *op, const product_operands *at) {
    if (at->a_scale == NONE && !at->dynamic) {
        return LN_INT32;
    }
    if (operand(op, at->y_scale) != NULL) {
        const ln_value *zero = operand(op, at->y_zero);
        return zero != NULL ? zero->dtype : ln_in(op, at->a)->dtype;
    }
    return operand(op, at->b_scale)->dtype;
}

static ln_status infer_product(ln_op *op) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    product_local *local = LN_LOCAL(op, product_local);
    ln_shape y;
    LN_TRY(infer_sizes(op, local, &y));
    LN_TRY(check_numbers(op, local, at->a_scale, local->m));
    LN_TRY(check_numbers(op, local, at->a_zero, local->m));
    LN_TRY(check_numbers(op, local, at->b_scale, local->n));
    LN_TRY(check_numbers(op, local, at->b_zero, local->n));
    LN_TRY(check_numbers(op, local, at->y_scale, 1));
    LN_TRY(check_numbers(op, local, at->y_zero, 1));
    const ln_value *bias = operand(op, at->bias);
    LN_OP_CHECK(op, bias == NULL || ln_value_count(bias) == local->n, INVALID_SHAPE,
                "the bias must have %lld elements, it has %lld", (long long)local->n,
                (long long)ln_value_count(bias));
    const ln_value *sum = operand(op, at->sum);
    ln_shape together;
    LN_OP_CHECK(
        op, sum == NULL || (ln_shape_broadcast(&sum->shape, &y, &together) && ln_shape_equal(&together, &y)),
        INVALID_SHAPE, "input %d does not broadcast to the output", at->sum);
    const int64_t limit = (int64_t)(SIZE_MAX / 64);
    const int64_t a_count = ln_value_count(ln_in(op, at->a));
    LN_OP_CHECK(op, local->k < limit / 2 && local->n < limit / 2 && a_count < limit, LIMIT_EXCEEDED,
                "the matrices are too large");
    op->scratch_bytes = at->dynamic ? (size_t)a_count : 0;
    op->task_scratch_bytes = (size_t)(local->k + local->n) * sizeof(double);
    return ln_op_shape(op, 0, output_dtype(op, at), &y);
}

/* Rows ----------------------------------------------------------------------------------------------------------- */

/* One row of Y: which product, which row, and where its operands start. */
typedef struct product_row {
    int64_t batch, row;
    int64_t a, b; /* elements of A and B */
    int64_t y;
} product_row;

/* Element `index` of a list of one number, `each` numbers, or `each` for every batch. */
static double number_at(const ln_value *value, int64_t batch, int64_t each, int64_t index) {
    double number;
    const int64_t count = ln_value_count(value);
    const int64_t at = count == 1 ? 0 : count == each ? index : batch * each + index;
    ln_load_f64(value->dtype, value->data, at, 1, &number);
    return number;
}

static double number_or(const ln_value *value, int64_t batch, int64_t each, int64_t index, double otherwise) {
    return value == NULL ? otherwise : number_at(value, batch, each, index);
}

/* sums[j] += factor * B[j] over a row of bytes. */
static void add_row_u8(int32_t *sums, const uint8_t *b, int64_t n, int32_t factor) {
    for (int64_t j = 0; j < n; j++) {
        sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)(factor * (int32_t)b[j]));
    }
}
static void add_row_i8(int32_t *sums, const int8_t *b, int64_t n, int32_t factor) {
    for (int64_t j = 0; j < n; j++) {
        sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)(factor * (int32_t)b[j]));
    }
}

static void sum_row(const ln_op *op, const product_local *local, const product_row *row, int32_t *a,
                    int32_t *sums) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *b = ln_in(op, at->b);
    const ln_value *zeros = operand(op, at->b_zero);
    const ln_dtype a_type = at->dynamic ? LN_UINT8 : ln_in(op, at->a)->dtype;
    const void *a_data = at->dynamic ? op->scratch : ln_in(op, at->a)->data;
    const int32_t a_zero =
        at->dynamic ? local->a_zero
                    : (int32_t)number_or(operand(op, at->a_zero), row->batch, local->m, row->row, 0);
    uint32_t total = 0;
    if (local->a_col == 1) {
        ln_load_i32(a_type, a_data, row->a, local->k, a);
    }
    for (int64_t l = 0; l < local->k; l++) {
        if (local->a_col != 1) {
            ln_load_i32(a_type, a_data, row->a + l * local->a_col, 1, &a[l]);
        }
        a[l] -= a_zero;
        total += (uint32_t)a[l];
    }
    memset(sums, 0, (size_t)local->n * sizeof(*sums));
    for (int64_t l = 0; l < local->k && local->b_col == 1; l++) {
        const int64_t first = row->b + l * local->b_row;
        if (b->dtype == LN_UINT8) {
            add_row_u8(sums, (const uint8_t *)b->data + first, local->n, a[l]);
        } else {
            add_row_i8(sums, (const int8_t *)b->data + first, local->n, a[l]);
        }
    }
    for (int64_t j = 0; j < local->n && local->b_col != 1; j++) {
        uint32_t sum = 0;
        for (int64_t l = 0; l < local->k; l++) {
            int32_t value;
            ln_load_i32(b->dtype, b->data, row->b + l * local->b_row + j * local->b_col, 1, &value);
            sum += (uint32_t)(a[l] * value);
        }
        sums[j] = (int32_t)sum;
    }
    for (int64_t j = 0; j < local->n && zeros != NULL; j++) {
        const uint32_t zero = (uint32_t)(int32_t)number_at(zeros, row->batch, local->n, j);
        sums[j] = (int32_t)((uint32_t)sums[j] - zero * total);
    }
}

/* The same for float8 operands. */
static void sum_row_f64(const ln_op *op, const product_local *local, const product_row *row, double *a,
                        double *sums) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *left = ln_in(op, at->a);
    const ln_value *b = ln_in(op, at->b);
    const double a_zero = number_or(operand(op, at->a_zero), row->batch, local->m, row->row, 0);
    ln_load_f64(left->dtype, left->data, row->a, local->k, a);
    for (int64_t j = 0; j < local->n; j++) {
        const double zero = number_or(operand(op, at->b_zero), row->batch, local->n, j, 0);
        sums[j] = 0;
        for (int64_t l = 0; l < local->k; l++) {
            double value;
            ln_load_f64(b->dtype, b->data, row->b + l * local->b_row + j, 1, &value);
            sums[j] += (a[l] - a_zero) * (value - zero);
        }
    }
}

/* Adds the integer addend of QGemm. */
static void add_sum(const ln_op *op, const ln_value *addend, const product_row *row, int64_t n,
                    int32_t *sums) {
    const ln_shape *const shapes[] = {&addend->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &ln_out(op, 0)->shape, 1, shapes);
    for (int64_t j = 0; j < n; j++) {
        int64_t offset;
        int32_t value;
        ln_broadcast_seek(&walk, row->y + j, &offset);
        ln_load_i32(addend->dtype, addend->data, offset, 1, &value);
        sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)value);
    }
}

/* The scale of Y's column j before any output scale. */
static float scale_at(const ln_op *op, const product_local *local, const product_row *row, int64_t j) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const float a = at->dynamic ? local->a_scale
                                : (float)number_at(operand(op, at->a_scale), row->batch, local->m, row->row);
    return a * (float)number_at(operand(op, at->b_scale), row->batch, local->n, j) * params->alpha;
}

static void finish_quantized(const ln_op *op, const product_local *local, const product_row *row,
                             const int32_t *whole, const double *real) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    ln_value *y = ln_out(op, 0);
    const float y_scale = (float)number_at(operand(op, at->y_scale), 0, 1, 0);
    const float zero = (float)number_or(operand(op, at->y_zero), 0, 1, 0, 0);
    const bool floats = ln_dtype_is_float(y->dtype);
    const float low = y->dtype == LN_INT8 ? -128 : 0;
    const float high = y->dtype == LN_INT8 ? 127 : 255;
    for (int64_t j = 0; j < local->n; j++) {
        const float sum = real != NULL ? (float)real[j] : (float)whole[j];
        float value = sum * (scale_at(op, local, row, j) / y_scale);
        value = (floats ? value : rintf(value)) + zero;
        value = floats ? value : value < low ? low : value > high ? high : value;
        ln_store_f32(y->dtype, y->data, row->y + j, 1, &value);
    }
}

static void finish_float(const ln_op *op, const product_local *local, const product_row *row,
                         const int32_t *sums, float *floats) {
    const product_params *params = op->params;
    const ln_value *bias = operand(op, params->operands->bias);
    ln_value *y = ln_out(op, 0);
    const bool one_scale = ln_value_count(operand(op, params->operands->b_scale)) == 1;
    float scale = local->n > 0 ? scale_at(op, local, row, 0) : 0;
    for (int64_t j = 0; j < local->n; j++) {
        scale = one_scale ? scale : scale_at(op, local, row, j);
        floats[j] = (float)sums[j] * scale + (bias != NULL ? (float)number_at(bias, 0, local->n, j) : 0);
    }
    ln_store_f32(y->dtype, y->data, row->y, local->n, floats);
}

static void product_row_run(const ln_op *op, const product_local *local, const product_row *row,
                            double *scratch) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    ln_value *y = ln_out(op, 0);
    double *second = scratch + local->k;
    if (ln_dtype_is_float(ln_in(op, at->b)->dtype)) {
        sum_row_f64(op, local, row, scratch, second);
        finish_quantized(op, local, row, NULL, second);
        return;
    }
    int32_t *sums = (int32_t *)second;
    sum_row(op, local, row, (int32_t *)scratch, sums);
    if (operand(op, at->sum) != NULL) {
        add_sum(op, operand(op, at->sum), row, local->n, sums);
    }
    if (y->dtype == LN_INT32) {
        memcpy((int32_t *)y->data + row->y, sums, (size_t)local->n * sizeof(*sums));
    } else if (operand(op, at->y_scale) != NULL) {
        finish_quantized(op, local, row, sums, NULL);
    } else {
        finish_float(op, local, row, sums, (float *)(sums + local->n));
    }
}

static int64_t product_tasks(const product_local *local) {
    return ln_unit_tasks(local->batches * local->m, local->k * local->n, PRODUCT_GRAIN);
}

static void product_task(ln_op *op, int64_t index, void *scratch) {
    const product_params *params = op->params;
    const product_local *local = LN_LOCAL(op, product_local);
    const ln_shape a_batch = batch_of(&ln_in(op, params->operands->a)->shape);
    const ln_shape b_batch = batch_of(&ln_in(op, params->operands->b)->shape);
    const ln_shape *const shapes[] = {&a_batch, &b_batch};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &local->batch, 2, shapes);
    int64_t begin, end;
    ln_unit_range(local->batches * local->m, product_tasks(local), index, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        const int64_t batch = at / local->m;
        const int64_t i = at % local->m;
        int64_t offsets[LN_BROADCAST_INPUTS];
        ln_broadcast_seek(&walk, batch, offsets);
        const product_row row = {batch, i, offsets[0] * local->m * local->k + i * local->a_row,
                                 offsets[1] * local->k * local->n, at * local->n};
        product_row_run(op, local, &row, scratch);
    }
}

/* A of DynamicQuantizeMatMul, quantised as DynamicQuantizeLinear does. */
static void quantize_a(ln_op *op, product_local *local, const ln_value *a) {
    const size_t count = (size_t)ln_value_count(a);
    ln_dynamic_range(a->data, count, &local->a_scale, &local->a_zero);
    ln_quantize_u8_f32(op->scratch, a->data, count, local->a_scale, local->a_zero);
}

static ln_status run_product(ln_op *op) {
    const product_params *params = op->params;
    product_local *local = LN_LOCAL(op, product_local);
    if (ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    if (params->operands->dynamic) {
        quantize_a(op, local, ln_in(op, params->operands->a));
    }
    return ln_op_grid(op, product_task, product_tasks(local));
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

#define T_INT8   (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define T_Q8     (T_INT8 | LN_T_FLOAT8)
#define T_SINGLE (LN_BIT(LN_FLOAT) | LN_T_HALF)
#define PRODUCT(name, domain, since, until, signature, a, b, c)                                              \
    {name,          domain,        since,       until, signature, {a, b, c},                                 \
     build_product, infer_product, run_product, NULL,  0,         NULL}

static const ln_op_row rows[] = {
    PRODUCT("MatMulInteger", "", 10, LN_OPEN, "ABA?B?>i", T_INT8, T_INT8, 0),
    PRODUCT("QLinearMatMul", "", 10, 20, "AfABfBfC>C", T_INT8, T_INT8, T_INT8),
    PRODUCT("QLinearMatMul", "", 21, LN_OPEN, "A.AB.B.C>C", T_Q8, T_Q8, T_Q8),
    PRODUCT("MatMulIntegerToFloat", "com.microsoft", 1, LN_OPEN, "ABCCA?B?C?>C", T_INT8, T_INT8, T_SINGLE),
    PRODUCT("DynamicQuantizeMatMul", "com.microsoft", 1, LN_OPEN, "fAfA?f?>f", T_INT8, 0, 0),
    PRODUCT("QGemm", "com.microsoft", 1, LN_OPEN, "AfABfBi?f?C?>C", T_INT8, T_INT8, T_INT8),
};

LN_FAMILY_TABLE(quant_matmul, rows);
