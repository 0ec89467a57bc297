/* Products of quantised matrices: MatMulInteger, QLinearMatMul, and com.microsoft MatMulIntegerToFloat,
 * DynamicQuantizeMatMul and QGemm.
 *
 * All of them are Y = finish(sum over k of (A - a_zero) * (B - b_zero)) in int32, which wraps as the standard allows.
 * Rows of A are widened to int16 with their zero point taken off; B is packed bytes, once at load when it is
 * constant; and its zero point leaves the inner loop: (A - a) * (B - b) = (A - a) * B - b * (A - a). What differs is
 * where the operands stand and what becomes of the sum: it stays int32, is scaled to float, or is quantised again.
 * float8 operands of QLinearMatMul are summed in double, row by row.
 */
#include <math.h>
#include <string.h>

#include "ops/dynamic_range.h"
#include "ops/lines.h"
#include "simd/kernels.h"
#include "simd/vector.h"

enum {
    PRODUCT_GRAIN = 65536,
    NONE = -1,
    ROW_BLOCK = 32, /* rows and columns of Y that one task makes, at most */
    COLUMN_BLOCK = 256,
    ROW_BYTES = 256 * 1024, /* of the widened rows of a task */
    PACK_PANELS = 32        /* panels of B that one task packs */
};

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
    ln_shape batch;                                             /* of Y */
    int64_t row_block, row_blocks, column_block, column_blocks; /* tasks */
    int64_t b_matrices;
    size_t b_bytes; /* of one packed matrix of B */
    size_t a_bytes; /* of A quantised, rounded to 16: packed B follows in scratch */
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
    local->b_matrices = ln_shape_count(&b_batch);
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

static bool is_float8(const ln_op *op) {
    const product_params *params = op->params;
    return ln_dtype_is_float(ln_in(op, params->operands->b)->dtype);
}

/* Elements of a widened row of A. */
static size_t row_elems(const product_local *local) {
    return (size_t)(local->k + local->k % 2);
}

static size_t widened_bytes(const product_local *local) {
    return ((size_t)local->row_block * row_elems(local) * sizeof(int16_t) + 15) / 16 * 16;
}

/* Scratch of a task for each of its columns: sums of a tile, and floats, scales and zero points. */
enum { COLUMN_SCRATCH = LN_GEMM_I8_ROWS * sizeof(int32_t) + 2 * sizeof(float) + sizeof(int32_t) };

static void plan_blocks(product_local *local) {
    const int64_t fitting = ROW_BYTES / (local->k * 2 + 2) / LN_GEMM_I8_ROWS * LN_GEMM_I8_ROWS;
    local->row_block = fitting < LN_GEMM_I8_ROWS ? LN_GEMM_I8_ROWS
                       : fitting > ROW_BLOCK     ? ROW_BLOCK
                                                 : fitting;
    local->row_block = local->m < local->row_block ? local->m : local->row_block;
    local->row_blocks = local->row_block == 0 ? 0 : (local->m + local->row_block - 1) / local->row_block;
    const int64_t columns = (local->n + LN_GEMM_I8_COLUMNS - 1) / LN_GEMM_I8_COLUMNS * LN_GEMM_I8_COLUMNS;
    local->column_block = columns < COLUMN_BLOCK ? columns : COLUMN_BLOCK;
    local->column_blocks =
        local->column_block == 0 ? 0 : (local->n + local->column_block - 1) / local->column_block;
    local->b_bytes = ln_gemm_i8_packed_bytes((size_t)local->k, (size_t)local->n);
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
    LN_TRY(ln_op_shape(op, 0, output_dtype(op, at), &y));
    if (is_float8(op)) {
        op->task_scratch_bytes = (size_t)(local->k + local->n) * 2 * sizeof(double);
        return LN_OK;
    }
    plan_blocks(local);
    local->a_bytes = at->dynamic ? ((size_t)a_count + 15) / 16 * 16 : 0;
    size_t b_bytes = 0;
    LN_OP_CHECK(op, op->packed != NULL || ln_mul_size(local->b_bytes, (size_t)local->b_matrices, &b_bytes),
                LIMIT_EXCEEDED, "the matrices are too large");
    LN_OP_CHECK(op, b_bytes < (size_t)limit, LIMIT_EXCEEDED, "the matrices are too large");
    op->scratch_bytes = local->a_bytes + b_bytes;
    op->task_scratch_bytes = widened_bytes(local) + (size_t)local->column_block * COLUMN_SCRATCH;
    return LN_OK;
}

/* Sums to Y ------------------------------------------------------------------------------------------------------ */

/* A part of a row of Y. */
typedef struct product_part {
    int64_t batch, row, column, n;
    int64_t y; /* its first element */
} product_part;

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

/* What the sum of each column is multiplied with. */
static void fill_scales(const ln_op *op, const product_local *local, const product_part *part,
                        float *scales) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *b_scale = operand(op, at->b_scale);
    const ln_value *y_scale = operand(op, at->y_scale);
    if (b_scale == NULL) {
        return;
    }
    const float a = at->dynamic
                        ? local->a_scale
                        : (float)number_at(operand(op, at->a_scale), part->batch, local->m, part->row);
    const float over = y_scale == NULL ? 1.0f : (float)number_at(y_scale, 0, 1, 0);
    for (int64_t j = 0; j < part->n; j++) {
        scales[j] = j > 0 && ln_value_count(b_scale) == 1
                        ? scales[0]
                        : a * (float)number_at(b_scale, part->batch, local->n, part->column + j) *
                              params->alpha / over;
    }
}

/* Scales sums and stores them as Y has them: floats with a bias, or quantised again. */
static void store_part(const ln_op *op, const product_local *local, const product_part *part, float *sums,
                       const float *scales) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *bias = operand(op, at->bias);
    ln_value *y = ln_out(op, 0);
    const double zero = number_or(operand(op, at->y_zero), 0, 1, 0, 0);
    for (int64_t j = 0; j < part->n; j++) {
        sums[j] *= scales[j];
    }
    if (operand(op, at->y_scale) != NULL && y->dtype == LN_UINT8) {
        ln_quantize_u8_f32((uint8_t *)y->data + part->y, sums, (size_t)part->n, 1.0f, (int32_t)zero);
    } else if (operand(op, at->y_scale) != NULL && y->dtype == LN_INT8) {
        ln_quantize_i8_f32((int8_t *)y->data + part->y, sums, (size_t)part->n, 1.0f, (int32_t)zero);
    } else {
        for (int64_t j = 0; j < part->n; j++) {
            sums[j] += bias != NULL ? (float)number_at(bias, 0, local->n, part->column + j) : (float)zero;
        }
        ln_store_f32(y->dtype, y->data, part->y, part->n, sums);
    }
}

/* Adds the integer addend of QGemm. */
static void add_sum(const ln_op *op, const ln_value *addend, const product_part *part, int32_t *sums) {
    const ln_shape *const shapes[] = {&addend->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &ln_out(op, 0)->shape, 1, shapes);
    for (int64_t j = 0; j < part->n; j++) {
        int64_t offset;
        int32_t value;
        ln_broadcast_seek(&walk, part->y + j, &offset);
        ln_load_i32(addend->dtype, addend->data, offset, 1, &value);
        sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)value);
    }
}

/* The matrix of A and that of B that a batch multiplies. */
static void matrices_of(const ln_op *op, const product_local *local, int64_t batch, int64_t *offsets) {
    const product_params *params = op->params;
    const ln_shape a = batch_of(&ln_in(op, params->operands->a)->shape);
    const ln_shape b = batch_of(&ln_in(op, params->operands->b)->shape);
    const ln_shape *const shapes[] = {&a, &b};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &local->batch, 2, shapes);
    ln_broadcast_seek(&walk, batch, offsets);
}

/* Products of float8 ----------------------------------------------------------------------------------------------- */

/* Sums of a row of Y in double; a zero point is subtracted as it stands. */
static void sum_row_f64(const ln_op *op, const product_local *local, const product_part *part,
                        int64_t a_first, int64_t b_first, double *a, double *sums) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *left = ln_in(op, at->a);
    const ln_value *b = ln_in(op, at->b);
    const double a_zero = number_or(operand(op, at->a_zero), part->batch, local->m, part->row, 0);
    ln_load_f64(left->dtype, left->data, a_first, local->k, a);
    for (int64_t j = 0; j < local->n; j++) {
        const double zero = number_or(operand(op, at->b_zero), part->batch, local->n, j, 0);
        sums[j] = 0;
        for (int64_t l = 0; l < local->k; l++) {
            double value;
            ln_load_f64(b->dtype, b->data, b_first + l * local->b_row + j, 1, &value);
            sums[j] += (a[l] - a_zero) * (value - zero);
        }
    }
}

static int64_t float8_tasks(const product_local *local) {
    return ln_unit_tasks(local->batches * local->m, local->k * local->n, PRODUCT_GRAIN);
}

static void float8_task(ln_op *op, int64_t index, void *scratch) {
    const product_local *local = LN_LOCAL(op, product_local);
    double *a = scratch;
    double *sums = a + local->k;
    float *floats = (float *)(sums + local->n);
    float *scales = floats + local->n;
    int64_t begin, end;
    ln_unit_range(local->batches * local->m, float8_tasks(local), index, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        const product_part part = {at / local->m, at % local->m, 0, local->n, at * local->n};
        int64_t offsets[LN_BROADCAST_INPUTS];
        matrices_of(op, local, part.batch, offsets);
        sum_row_f64(op, local, &part, (offsets[0] * local->m + part.row) * local->k,
                    offsets[1] * local->k * local->n, a, sums);
        for (int64_t j = 0; j < local->n; j++) {
            floats[j] = (float)sums[j];
        }
        fill_scales(op, local, &part, scales);
        store_part(op, local, &part, floats, scales);
    }
}

/* Products of integers ----------------------------------------------------------------------------------------------- */

static uint8_t flip_of(const ln_value *b) {
    return b->dtype == LN_UINT8 ? 0x80 : 0;
}

/* Widens row `row` of the matrix of A that starts at byte `first`; returns its sum. */
static int32_t widen_row(const ln_op *op, const product_local *local, int64_t batch, int64_t row,
                         int64_t first, int16_t *wide) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *a = ln_in(op, at->a);
    const uint8_t *from = (const uint8_t *)(at->dynamic ? op->scratch : a->data) + first + row * local->a_row;
    const bool is_signed = !at->dynamic && a->dtype == LN_INT8;
    const int32_t zero =
        at->dynamic ? local->a_zero : (int32_t)number_or(operand(op, at->a_zero), batch, local->m, row, 0);
    if (local->k % 2 != 0) {
        wide[local->k] = 0;
    }
    if (local->a_col == 1) {
        return ln_widen_i8_i16(wide, from, (size_t)local->k, is_signed, zero);
    }
    uint32_t sum = 0;
    for (int64_t l = 0; l < local->k; l++) {
        sum += (uint32_t)ln_widen_i8_i16(wide + l, from + l * local->a_col, 1, is_signed, zero);
    }
    return (int32_t)sum;
}

/* Zero points of B as its packed bytes count; they take part as multiples of a row's sum. */
static void fill_zeros(const ln_op *op, const product_local *local, const product_part *part,
                       int32_t *zeros) {
    const product_params *params = op->params;
    const ln_value *zero = operand(op, params->operands->b_zero);
    const int32_t flip = flip_of(ln_in(op, params->operands->b));
    for (int64_t j = 0; j < part->n; j++) {
        zeros[j] = (int32_t)number_or(zero, part->batch, local->n, part->column + j, 0) - flip;
    }
}

static void finish_part(const ln_op *op, const product_local *local, const product_part *part, int32_t *sums,
                        uint32_t row_sum, const int32_t *zeros, float *floats, float *scales) {
    const product_params *params = op->params;
    ln_value *y = ln_out(op, 0);
    for (int64_t j = 0; j < part->n; j++) {
        sums[j] = (int32_t)((uint32_t)sums[j] - (uint32_t)zeros[j] * row_sum);
    }
    if (operand(op, params->operands->sum) != NULL) {
        add_sum(op, operand(op, params->operands->sum), part, sums);
    }
    if (y->dtype == LN_INT32) {
        memcpy((int32_t *)y->data + part->y, sums, (size_t)part->n * sizeof(*sums));
        return;
    }
    const ln_value *a_scale = operand(op, params->operands->a_scale);
    if (a_scale != NULL && ln_value_count(a_scale) > 1) {
        fill_scales(op, local, part, scales);
    }
    for (int64_t j = 0; j < part->n; j++) {
        floats[j] = (float)sums[j];
    }
    store_part(op, local, part, floats, scales);
}

static int8_t *packed_b(const ln_op *op, const product_local *local) {
    return op->packed != NULL ? op->packed : (int8_t *)op->scratch + local->a_bytes;
}

/* A block of rows by a block of columns. */
static void product_task(ln_op *op, int64_t index, void *scratch) {
    const product_local *local = LN_LOCAL(op, product_local);
    const int64_t columns = index % local->column_blocks * local->column_block;
    const int64_t rows = index / local->column_blocks % local->row_blocks * local->row_block;
    const int64_t batch = index / local->column_blocks / local->row_blocks;
    const int64_t stop = rows + local->row_block < local->m ? rows + local->row_block : local->m;
    const int64_t left = local->n - columns;
    product_part part = {batch, rows, columns, left < local->column_block ? left : local->column_block, 0};
    int64_t offsets[LN_BROADCAST_INPUTS];
    matrices_of(op, local, batch, offsets);
    int16_t *wide = scratch;
    int32_t *sums = (int32_t *)(void *)((char *)scratch + widened_bytes(local));
    int32_t *zeros = sums + LN_GEMM_I8_ROWS * local->column_block;
    float *scales = (float *)(zeros + local->column_block);
    float *floats = scales + local->column_block;
    fill_zeros(op, local, &part, zeros);
    fill_scales(op, local, &part, scales);
    const int8_t *b =
        packed_b(op, local) + (size_t)offsets[1] * local->b_bytes + (size_t)columns * row_elems(local);
    const int64_t panels = (part.n + LN_GEMM_I8_COLUMNS - 1) / LN_GEMM_I8_COLUMNS;
    while (part.row < stop) {
        const int64_t count = stop - part.row < LN_GEMM_I8_ROWS ? stop - part.row : LN_GEMM_I8_ROWS;
        uint32_t row_sums[LN_GEMM_I8_ROWS];
        for (int64_t r = 0; r < count; r++) {
            row_sums[r] =
                (uint32_t)widen_row(op, local, batch, part.row + r, offsets[0] * local->m * local->k,
                                    wide + (size_t)r * row_elems(local));
        }
        ln_gemm_i8_rows(sums, (size_t)local->column_block, wide, row_elems(local), (size_t)count, b,
                        (size_t)panels, (size_t)local->k);
        for (int64_t r = 0; r < count; r++, part.row++) {
            part.y = (batch * local->m + part.row) * local->n + columns;
            finish_part(op, local, &part, sums + r * local->column_block, row_sums[r], zeros, floats, scales);
        }
    }
}

/* A of DynamicQuantizeMatMul, quantised as DynamicQuantizeLinear does. */
static void quantize_a(ln_op *op, product_local *local, const ln_value *a) {
    const size_t count = (size_t)ln_value_count(a);
    ln_dynamic_range(a->data, count, &local->a_scale, &local->a_zero);
    ln_quantize_u8_f32(op->scratch, a->data, count, local->a_scale, local->a_zero);
}

static ln_status run_blocks(ln_op *op) {
    const product_local *local = LN_LOCAL(op, product_local);
    return ln_op_grid(op, product_task, local->batches * local->row_blocks * local->column_blocks);
}

/* Packs some panels of a B that only the run knows. */
static void pack_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const product_params *params = op->params;
    const product_local *local = LN_LOCAL(op, product_local);
    const ln_value *b = ln_in(op, params->operands->b);
    const int64_t step = PACK_PANELS * LN_GEMM_I8_COLUMNS;
    const int64_t steps = (local->n + step - 1) / step;
    const int64_t matrix = index / steps;
    const int64_t first = index % steps * step;
    const int64_t n = local->n - first < step ? local->n - first : step;
    ln_gemm_i8_pack_b(packed_b(op, local) + (size_t)matrix * local->b_bytes +
                          (size_t)first * row_elems(local),
                      (const uint8_t *)b->data + matrix * local->k * local->n + first * local->b_col,
                      (size_t)local->b_row, (size_t)local->b_col, (size_t)local->k, (size_t)n, flip_of(b));
}

static ln_status run_product(ln_op *op) {
    const product_params *params = op->params;
    product_local *local = LN_LOCAL(op, product_local);
    if (ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    if (is_float8(op)) {
        return ln_op_grid(op, float8_task, float8_tasks(local));
    }
    if (params->operands->dynamic) {
        quantize_a(op, local, ln_in(op, params->operands->a));
    }
    if (op->packed != NULL) {
        return run_blocks(op);
    }
    const int64_t step = PACK_PANELS * LN_GEMM_I8_COLUMNS;
    return ln_op_grid_then(op, pack_task, local->b_matrices * ((local->n + step - 1) / step), run_blocks);
}

static ln_status pack_product(ln_op *op) {
    const product_params *params = op->params;
    const product_operands *at = params->operands;
    const ln_value *b = ln_in(op, at->b);
    if (b == NULL || b->data == NULL || b->shape.rank < 1 || is_float8(op) || ln_value_count(b) == 0) {
        return LN_OK;
    }
    const int rank = b->shape.rank;
    const int64_t rows = rank == 1 ? b->shape.dims[0] : b->shape.dims[rank - 2];
    const int64_t cols = rank == 1 ? 1 : b->shape.dims[rank - 1];
    const size_t k = (size_t)(params->trans_b ? cols : rows);
    const size_t n = (size_t)(params->trans_b ? rows : cols);
    const size_t one = ln_gemm_i8_packed_bytes(k, n);
    const size_t matrices = (size_t)(ln_value_count(b) / rows / cols);
    size_t total;
    LN_OP_CHECK(op, ln_mul_size(one, matrices, &total), OUT_OF_MEMORY, "the packed weights are too large");
    int8_t *packed = ln_alloc(op->context, total, LN_MEMORY_WEIGHTS);
    if (packed == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < matrices; i++) {
        ln_gemm_i8_pack_b(packed + i * one, (const uint8_t *)b->data + i * k * n, params->trans_b ? 1 : n,
                          params->trans_b ? k : 1, k, n, flip_of(b));
    }
    op->packed = packed;
    op->consumed = 1U << at->b;
    return LN_OK;
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

#define T_INT8   (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define T_Q8     (T_INT8 | LN_T_FLOAT8)
#define T_SINGLE (LN_BIT(LN_FLOAT) | LN_T_HALF)
#define PRODUCT(name, domain, since, until, signature, a, b, c)                                              \
    {name,          domain,        since,       until,        signature, {a, b, c},                          \
     build_product, infer_product, run_product, pack_product, 0,         NULL}

static const ln_op_row rows[] = {
    PRODUCT("MatMulInteger", "", 10, LN_OPEN, "ABA?B?>i", T_INT8, T_INT8, 0),
    PRODUCT("QLinearMatMul", "", 10, 20, "AfABfBfC>C", T_INT8, T_INT8, T_INT8),
    PRODUCT("QLinearMatMul", "", 21, LN_OPEN, "A.AB.B.C>C", T_Q8, T_Q8, T_Q8),
    PRODUCT("MatMulIntegerToFloat", "com.microsoft", 1, LN_OPEN, "ABCCA?B?C?>C", T_INT8, T_INT8, T_SINGLE),
    PRODUCT("DynamicQuantizeMatMul", "com.microsoft", 1, LN_OPEN, "fAfA?f?>f", T_INT8, 0, 0),
    PRODUCT("QGemm", "com.microsoft", 1, LN_OPEN, "AfABfBi?f?C?>C", T_INT8, T_INT8, T_INT8),
};

LN_FAMILY_TABLE(quant_matmul, rows);
