/* Det and com.microsoft Inverse of batches of square matrices, by elimination with partial pivoting in double. */
#include <math.h>

#include "ops/lines.h"

static ln_status infer_square(ln_op *op, bool keep) {
    const ln_value *x = ln_in(op, 0);
    const int rank = x->shape.rank;
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, rank >= 2 && x->shape.dims[rank - 1] == x->shape.dims[rank - 2], INVALID_SHAPE,
                "the last two axes must be equal, the shape is %s", ln_shape_text(&x->shape, text));
    const int64_t n = x->shape.dims[rank - 1];
    LN_OP_CHECK(op, n < 1 << 14, LIMIT_EXCEEDED, "a matrix of %lld rows is too large", (long long)n);
    op->task_scratch_bytes = (size_t)(2 * n * n) * sizeof(double);
    ln_shape shape = x->shape;
    shape.rank -= keep ? 0 : 2;
    return ln_op_shape(op, 0, x->dtype, &shape);
}
static ln_status infer_det(ln_op *op) {
    return infer_square(op, false);
}
static ln_status infer_inverse(ln_op *op) {
    return infer_square(op, true);
}

/* Brings the row with the largest entry of a column from `column` down to that place; both matrices have n columns. Returns
 * false when nothing was swapped. */
static bool pivot(double *matrix, double *right, int64_t n, int64_t column) {
    int64_t best = column;
    for (int64_t i = column + 1; i < n; i++) {
        best = fabs(matrix[i * n + column]) > fabs(matrix[best * n + column]) ? i : best;
    }
    for (int64_t j = 0; j < n && best != column; j++) {
        const double held = matrix[best * n + j];
        matrix[best * n + j] = matrix[column * n + j];
        matrix[column * n + j] = held;
        if (right != NULL) {
            const double other = right[best * n + j];
            right[best * n + j] = right[column * n + j];
            right[column * n + j] = other;
        }
    }
    return best != column;
}

static double determinant(double *matrix, int64_t n) {
    double result = 1;
    for (int64_t k = 0; k < n; k++) {
        result = pivot(matrix, NULL, n, k) ? -result : result;
        const double head = matrix[k * n + k];
        result *= head;
        if (head == 0) {
            return 0;
        }
        for (int64_t i = k + 1; i < n; i++) {
            const double factor = matrix[i * n + k] / head;
            for (int64_t j = k; j < n; j++) {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
        }
    }
    return result;
}

/* right becomes the inverse of matrix, with infinities or NaN when it has none. */
static void invert(double *matrix, double *right, int64_t n) {
    for (int64_t i = 0; i < n * n; i++) {
        right[i] = i / n == i % n;
    }
    for (int64_t k = 0; k < n; k++) {
        pivot(matrix, right, n, k);
        const double head = matrix[k * n + k];
        for (int64_t j = 0; j < n; j++) {
            matrix[k * n + j] /= head;
            right[k * n + j] /= head;
        }
        for (int64_t i = 0; i < n; i++) {
            const double factor = i == k ? 0 : matrix[i * n + k];
            for (int64_t j = 0; j < n && factor != 0; j++) {
                matrix[i * n + j] -= factor * matrix[k * n + j];
                right[i * n + j] -= factor * right[k * n + j];
            }
        }
    }
}

static int64_t matrix_rows(const ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    return shape->dims[shape->rank - 1];
}

static void det_task(ln_op *op, int64_t index, void *scratch) {
    const int64_t n = matrix_rows(op);
    ln_load_f64(ln_in(op, 0)->dtype, ln_in(op, 0)->data, index * n * n, n * n, scratch);
    const double result = determinant(scratch, n);
    ln_store_f64(ln_out(op, 0)->dtype, ln_out(op, 0)->data, index, 1, &result);
}

static ln_status run_det(ln_op *op) {
    return ln_op_grid(op, det_task, ln_value_count(ln_out(op, 0)));
}

static void inverse_task(ln_op *op, int64_t index, void *scratch) {
    const int64_t n = matrix_rows(op);
    double *matrix = scratch;
    ln_load_f64(ln_in(op, 0)->dtype, ln_in(op, 0)->data, index * n * n, n * n, matrix);
    invert(matrix, matrix + n * n, n);
    ln_store_f64(ln_out(op, 0)->dtype, ln_out(op, 0)->data, index * n * n, n * n, matrix + n * n);
}

static ln_status run_inverse(ln_op *op) {
    const int64_t n = matrix_rows(op);
    return n == 0 ? LN_OK : ln_op_grid(op, inverse_task, ln_value_count(ln_in(op, 0)) / (n * n));
}

#define SQUARE(name, domain, since, until, types, infer, run)                                                \
    {name, domain, since, until, "A>A", {types}, ln_build_nothing, infer, run, NULL, 0, NULL}

static const ln_op_row rows[] = {
    SQUARE("Det", "", 11, 21, LN_T_FLOAT, infer_det, run_det),
    SQUARE("Det", "", 22, LN_OPEN, LN_T_FLOAT_BF, infer_det, run_det),
    SQUARE("Inverse", "com.microsoft", 1, LN_OPEN, LN_T_FLOAT, infer_inverse, run_inverse),
};

LN_FAMILY_TABLE(linear_algebra, rows);
