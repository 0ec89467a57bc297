/* Einsum: a sum of products over labelled axes.
 *
 * Operands are folded from left to right. Each fold is a batched matrix product: labels that both sides and the rest still need
 * are the batch, those of one side are rows or columns, and those that nobody needs any more are summed. An operand whose labels
 * merge into plain row and column strides is read where it lies, any other is gathered into scratch first, which also takes
 * diagonals (a label twice) and broadcast axes (stride 0). float32 runs on GEMM; half types become float32, double and integers
 * use plain loops in double and int64. A last pass permutes and sums into the output.
 *
 * infer makes the same walk as run with nothing to read or write: that is how scratch is measured.
 */
#include <string.h>

#include "ops/einsum_equation.h"
#include "simd/kernels.h"

/* Axes in an order, with the stride of each in elements. */
typedef struct axes {
    int count;
    int8_t labels[LN_LABELS];
    int64_t strides[LN_LABELS];
} axes;

typedef struct operand {
    axes axes;
    const void *data;
} operand;

/* One fold: C[batch][m][n] = sum over k of A[batch][m][k] * B[batch][k][n]. */
typedef struct fold {
    int64_t batch, m, n, k;
    axes batch_axes_a, batch_axes_b;
    ln_gemm_f32_args gemm;
    const void *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    void *c;
    size_t tasks; /* of one product */
} fold;

typedef struct einsum_state {
    ln_op *op;
    int step; /* next operand to fold in */
    bool dry; /* measuring */
    ln_compute class;
    size_t width; /* of an element of the class */
    size_t used;  /* bytes of scratch */
    size_t task_scratch;
    int64_t dims[LN_LABELS];
    uint8_t needed[LN_LABELS]; /* later operands that have the label, and one for the output */
    axes output;
    operand left;
    fold fold;
} einsum_state;

/* Labels of a term over a shape ---------------------------------------------------------------------------------- */

static int find_label(const axes *list, int label) {
    for (int i = 0; i < list->count; i++) {
        if (list->labels[i] == label) {
            return i;
        }
    }
    return -1;
}

static int64_t stride_of(const axes *list, int label) {
    const int at = find_label(list, label);
    return at < 0 ? 0 : list->strides[at];
}

static void add_axis(axes *list, int label, int64_t stride) {
    list->labels[list->count] = (int8_t)label;
    list->strides[list->count++] = stride;
}

/* Sizes of all labels, from every operand; 1 gives way to any other size. */
static ln_status measure_labels(ln_op *op, einsum_state *state) {
    const ln_einsum_params *params = op->params;
    for (int i = 0; i < LN_LABELS; i++) {
        state->dims[i] = -1;
        state->needed[i] = 0;
    }
    for (int i = 0; i < op->n_inputs; i++) {
        const ln_shape *shape = &ln_in(op, i)->shape;
        int8_t labels[LN_MAX_RANK];
        LN_TRY(ln_einsum_expand(op, &params->inputs[i], shape->rank, i, labels));
        for (int k = 0; k < shape->rank; k++) {
            int64_t *const dim = &state->dims[labels[k]];
            LN_OP_CHECK(op, *dim < 0 || *dim == 1 || shape->dims[k] == 1 || *dim == shape->dims[k],
                        INVALID_SHAPE, "axis %d of input %d is %lld, another axis of the same label is %lld",
                        k, i, (long long)shape->dims[k], (long long)*dim);
            *dim = *dim < 0 || *dim == 1 ? shape->dims[k] : *dim;
            bool first = true;
            for (int j = 0; j < k; j++) {
                first = first && labels[j] != labels[k];
            }
            state->needed[labels[k]] = (uint8_t)(state->needed[labels[k]] + first);
        }
    }
    return LN_OK;
}

static ln_status output_axes(ln_op *op, einsum_state *state, ln_shape *shape) {
    const ln_einsum_params *params = op->params;
    *shape = ln_shape_scalar();
    state->output.count = 0;
    for (int k = 0; k < params->output.count; k++) {
        const int label = params->output.labels[k];
        const int first = label == LN_DOTS ? LN_ELLIPSIS : label;
        const int last = label == LN_DOTS ? LN_LABELS - 1 : label;
        for (int at = first; at <= last; at++) {
            if (label == LN_DOTS && state->dims[at] < 0) {
                continue;
            }
            LN_OP_CHECK(op, state->dims[at] >= 0, INVALID_ATTRIBUTE,
                        "the output of the equation has a label that no input has");
            LN_OP_CHECK(op, find_label(&state->output, at) < 0, INVALID_ATTRIBUTE,
                        "the output of the equation has a label twice");
            LN_OP_CHECK(op, shape->rank < LN_MAX_RANK, LIMIT_EXCEEDED, "the output has more than %d axes",
                        LN_MAX_RANK);
            shape->dims[shape->rank++] = state->dims[at];
            add_axis(&state->output, at, 0);
            state->needed[at]++;
        }
    }
    int64_t stride = 1;
    for (int i = state->output.count - 1; i >= 0; i--) {
        state->output.strides[i] = stride;
        stride *= shape->dims[i];
    }
    return LN_OK;
}

/* Scratch and copies -------------------------------------------------------------------------------------------- */

/* Scratch for `count` elements of the class; the fold cannot run without the check that infer makes on `used`. */
static void *take_scratch(einsum_state *state, int64_t count) {
    const size_t at = state->used;
    const size_t limit = SIZE_MAX / 4;
    const bool fits = count >= 0 && (uint64_t)count < limit / state->width && at < limit;
    state->used = fits ? at + ((size_t)count * state->width + 63) / 64 * 64 : limit;
    return state->dry ? NULL : (uint8_t *)state->op->scratch + at;
}

static int64_t count_of(const einsum_state *state, const axes *list) {
    int64_t count = 1;
    for (int i = 0; i < list->count; i++) {
        count *= state->dims[list->labels[i]];
    }
    return count;
}

/* dst[0..count) += or = the elements of `data` in the order of `order`, whose strides are those in data. */
static void gather(const einsum_state *state, const axes *order, const void *data, void *dst,
                   bool accumulate) {
    const int64_t count = count_of(state, order);
    int64_t position[LN_LABELS] = {0};
    int64_t offset = 0;
    for (int64_t i = 0; i < count; i++) {
        if (state->class == LN_COMPUTE_F32) {
            ((float *)dst)[i] = ((const float *)data)[offset] + (accumulate ? ((float *)dst)[i] : 0);
        } else if (state->class == LN_COMPUTE_F64) {
            ((double *)dst)[i] = ((const double *)data)[offset] + (accumulate ? ((double *)dst)[i] : 0);
        } else {
            const uint64_t value = ((const uint64_t *)data)[offset];
            ((uint64_t *)dst)[i] = value + (accumulate ? ((uint64_t *)dst)[i] : 0);
        }
        for (int axis = order->count - 1; axis >= 0; axis--) {
            offset += order->strides[axis];
            if (++position[axis] < state->dims[order->labels[axis]]) {
                break;
            }
            offset -= order->strides[axis] * position[axis];
            position[axis] = 0;
        }
    }
}

/* Operand `index` in the class, with the strides of its labels. */
static ln_status load_operand(einsum_state *state, int index, operand *result) {
    const ln_einsum_params *params = state->op->params;
    const ln_value *value = ln_in(state->op, index);
    int8_t labels[LN_MAX_RANK];
    int64_t strides[LN_MAX_RANK];
    LN_TRY(ln_einsum_expand(state->op, &params->inputs[index], value->shape.rank, index, labels));
    ln_shape_strides(&value->shape, strides);
    result->axes.count = 0;
    for (int k = 0; k < value->shape.rank; k++) {
        const int64_t stride = value->shape.dims[k] == 1 ? 0 : strides[k];
        const int at = find_label(&result->axes, labels[k]);
        if (at >= 0) {
            result->axes.strides[at] += stride;
        } else {
            add_axis(&result->axes, labels[k], stride);
            state->needed[labels[k]]--;
        }
    }
    const ln_dtype storage = state->class == LN_COMPUTE_F32   ? LN_FLOAT
                             : state->class == LN_COMPUTE_F64 ? LN_DOUBLE
                                                              : LN_INT64;
    if (value->dtype == storage || value->dtype == LN_UINT64) {
        result->data = value->data;
        return LN_OK;
    }
    const int64_t count = ln_value_count(value);
    void *copy = take_scratch(state, count);
    result->data = copy;
    if (state->dry) {
        return LN_OK;
    }
    if (state->class == LN_COMPUTE_F32) {
        ln_load_f32(value->dtype, value->data, 0, count, copy);
    } else {
        ln_load_i64(value->dtype, value->data, 0, count, copy);
    }
    return LN_OK;
}

/* Folds --------------------------------------------------------------------------------------------------------- */

/* The labels of the fold at hand by what becomes of them. */
typedef struct label_roles {
    axes batch, rows, columns, sums; /* strides unused */
} label_roles;

static void assign_roles(const einsum_state *state, const operand *a, const operand *b, label_roles *roles) {
    memset(roles, 0, sizeof(*roles));
    for (int i = 0; i < a->axes.count; i++) {
        const int label = a->axes.labels[i];
        const bool shared = find_label(&b->axes, label) >= 0;
        add_axis(state->needed[label] == 0 ? &roles->sums : shared ? &roles->batch : &roles->rows, label, 0);
    }
    for (int i = 0; i < b->axes.count; i++) {
        const int label = b->axes.labels[i];
        if (find_label(&a->axes, label) < 0) {
            add_axis(state->needed[label] == 0 ? &roles->sums : &roles->columns, label, 0);
        }
    }
}

/* Whether the labels, in this order, step through the operand with one stride. */
static bool merged_stride(const einsum_state *state, const axes *order, const axes *list, int64_t *stride) {
    int64_t expected = -1;
    *stride = 0;
    for (int i = order->count - 1; i >= 0; i--) {
        const int64_t dim = state->dims[order->labels[i]];
        const int64_t own = stride_of(list, order->labels[i]);
        if (dim == 1) {
            continue;
        }
        if (expected < 0) {
            *stride = own;
        } else if (own != expected) {
            return false;
        }
        expected = own * dim;
    }
    return true;
}

static void append_axes(axes *target, const axes *order, const axes *list) {
    for (int i = 0; i < order->count; i++) {
        add_axis(target, order->labels[i], stride_of(list, order->labels[i]));
    }
}

/* One side of the product: where it lies when its strides merge, else a gathered copy [batch][outer][inner]. */
static void place_side(einsum_state *state, const operand *side, const axes *batch, const axes *outer,
                       const axes *inner, const void **data, int64_t *row, int64_t *column,
                       axes *batch_axes) {
    batch_axes->count = 0;
    append_axes(batch_axes, batch, &side->axes);
    *data = side->data;
    if (merged_stride(state, outer, &side->axes, row) && merged_stride(state, inner, &side->axes, column)) {
        return;
    }
    axes all = *batch_axes;
    append_axes(&all, outer, &side->axes);
    append_axes(&all, inner, &side->axes);
    void *copy = take_scratch(state, count_of(state, &all));
    if (!state->dry) {
        gather(state, &all, side->data, copy, false);
    }
    *data = copy;
    *column = 1;
    *row = count_of(state, inner);
    int64_t stride = count_of(state, outer) * *row;
    for (int i = batch_axes->count - 1; i >= 0; i--) {
        batch_axes->strides[i] = stride;
        stride *= state->dims[batch_axes->labels[i]];
    }
}

static int64_t batch_offset(const einsum_state *state, const axes *list, int64_t index) {
    int64_t offset = 0;
    for (int i = list->count - 1; i >= 0; i--) {
        const int64_t dim = state->dims[list->labels[i]];
        offset += index % dim * list->strides[i];
        index /= dim;
    }
    return offset;
}

/* dst = the sum over `sums` of the elements of data, in the order of `kept`. */
static void sum_into(const einsum_state *state, const axes *kept, const axes *sums, const void *data,
                     void *dst) {
    const int64_t terms = count_of(state, sums);
    memset(dst, 0, (size_t)count_of(state, kept) * state->width);
    for (int64_t i = 0; i < terms; i++) {
        const int64_t offset = batch_offset(state, sums, i);
        gather(state, kept, (const uint8_t *)data + (size_t)offset * state->width, dst, true);
    }
}

/* Strides of a tensor that lies in the order of its axes; returns its element count. */
static int64_t set_contiguous(const einsum_state *state, axes *list) {
    int64_t stride = 1;
    for (int i = list->count - 1; i >= 0; i--) {
        list->strides[i] = stride;
        stride *= state->dims[list->labels[i]];
    }
    return stride;
}

static bool same_order(const axes *a, const axes *b) {
    return a->count == b->count && memcmp(a->labels, b->labels, (size_t)a->count) == 0;
}

/* Sums out the labels that neither the other side nor the rest needs. */
static void sum_alone(einsum_state *state, operand *side, const operand *other) {
    axes kept = {0};
    axes sums = {0};
    for (int i = 0; i < side->axes.count; i++) {
        const int label = side->axes.labels[i];
        const bool alone = state->needed[label] == 0 && find_label(&other->axes, label) < 0;
        add_axis(alone ? &sums : &kept, label, side->axes.strides[i]);
    }
    if (sums.count == 0) {
        return;
    }
    const int64_t count = count_of(state, &kept);
    void *total = take_scratch(state, count);
    if (!state->dry) {
        sum_into(state, &kept, &sums, side->data, total);
    }
    set_contiguous(state, &kept);
    *side = (operand){kept, total};
}

/* Prepares the fold of left and right, and makes its result the new left operand. */
static void prepare_fold(einsum_state *state, operand *right, bool last) {
    operand left = state->left;
    sum_alone(state, &left, right);
    sum_alone(state, right, &left);
    fold *f = &state->fold;
    label_roles roles;
    assign_roles(state, &left, right, &roles);
    place_side(state, &left, &roles.batch, &roles.rows, &roles.sums, &f->a, &f->a_row, &f->a_col,
               &f->batch_axes_a);
    place_side(state, right, &roles.batch, &roles.sums, &roles.columns, &f->b, &f->b_row, &f->b_col,
               &f->batch_axes_b);
    f->batch = count_of(state, &roles.batch);
    f->m = count_of(state, &roles.rows);
    f->n = count_of(state, &roles.columns);
    f->k = count_of(state, &roles.sums);
    axes result = roles.batch;
    append_axes(&result, &roles.rows, &result);
    append_axes(&result, &roles.columns, &result);
    const int64_t count = set_contiguous(state, &result);
    ln_value *y = ln_out(state->op, 0);
    const bool direct = last && state->class == LN_COMPUTE_F32 && ln_in(state->op, 0)->dtype == LN_FLOAT &&
                        same_order(&result, &state->output);
    f->c = direct ? (state->dry ? NULL : y->data) : take_scratch(state, count);
    state->left.axes = result;
    state->left.data = f->c;
    f->gemm = (ln_gemm_f32_args){.m = (size_t)f->m,
                                 .n = (size_t)f->n,
                                 .k = (size_t)f->k,
                                 .a_row_stride = (size_t)f->a_row,
                                 .a_col_stride = (size_t)f->a_col,
                                 .b_row_stride = (size_t)f->b_row,
                                 .b_col_stride = (size_t)f->b_col,
                                 .c_row_stride = (size_t)f->n,
                                 .alpha = 1};
    const bool on_gemm = state->class == LN_COMPUTE_F32 && f->m > 0 && f->n > 0 && f->k > 0;
    f->tasks = on_gemm ? ln_gemm_f32.task_count(&f->gemm) : 1;
    const size_t bytes = on_gemm ? ln_gemm_f32.scratch_bytes(&f->gemm) : 0;
    state->task_scratch = bytes > state->task_scratch ? bytes : state->task_scratch;
}

/* A product in double or int64. */
static void plain_product(const einsum_state *state, const fold *f, int64_t a, int64_t b, int64_t c) {
    for (int64_t i = 0; i < f->m; i++) {
        for (int64_t j = 0; j < f->n; j++) {
            double sum = 0;
            uint64_t whole = 0;
            for (int64_t l = 0; l < f->k; l++) {
                const int64_t left = a + i * f->a_row + l * f->a_col;
                const int64_t right = b + l * f->b_row + j * f->b_col;
                if (state->class == LN_COMPUTE_F64) {
                    sum += ((const double *)f->a)[left] * ((const double *)f->b)[right];
                } else {
                    whole += ((const uint64_t *)f->a)[left] * ((const uint64_t *)f->b)[right];
                }
            }
            if (state->class == LN_COMPUTE_F64) {
                ((double *)f->c)[c + i * f->n + j] = sum;
            } else {
                ((uint64_t *)f->c)[c + i * f->n + j] = whole;
            }
        }
    }
}

static void fold_task(ln_op *op, int64_t index, void *scratch) {
    const einsum_state *state = op->scratch;
    const fold *f = &state->fold;
    const int64_t batch = index / (int64_t)f->tasks;
    const int64_t a = batch_offset(state, &f->batch_axes_a, batch);
    const int64_t b = batch_offset(state, &f->batch_axes_b, batch);
    const int64_t c = batch * f->m * f->n;
    if (state->class != LN_COMPUTE_F32) {
        plain_product(state, f, a, b, c);
        return;
    }
    ln_gemm_f32_args args = f->gemm;
    args.a = (const float *)f->a + a;
    args.b = (const float *)f->b + b;
    args.c = (float *)f->c + c;
    ln_gemm_f32.task(&args, (size_t)(index % (int64_t)f->tasks), scratch);
}

/* Sums what the output lacks and puts the axes in its order. */
static void finish(einsum_state *state) {
    ln_value *y = ln_out(state->op, 0);
    const axes *left = &state->left.axes;
    axes kept = {0};
    append_axes(&kept, &state->output, left);
    axes sums = {0};
    for (int i = 0; i < left->count; i++) {
        if (find_label(&kept, left->labels[i]) < 0) {
            add_axis(&sums, left->labels[i], left->strides[i]);
        }
    }
    const ln_dtype dtype = ln_in(state->op, 0)->dtype;
    const int64_t count = count_of(state, &kept);
    const ln_dtype storage = state->class == LN_COMPUTE_F32   ? LN_FLOAT
                             : state->class == LN_COMPUTE_F64 ? LN_DOUBLE
                                                              : LN_INT64;
    const bool converts = dtype != storage && dtype != LN_UINT64;
    void *target = converts ? take_scratch(state, count) : state->dry ? NULL : y->data;
    if (state->dry) {
        return;
    }
    if (target != state->left.data) {
        sum_into(state, &kept, &sums, state->left.data, target);
    }
    if (converts && state->class == LN_COMPUTE_F32) {
        ln_store_f32(dtype, y->data, 0, count, target);
    } else if (converts) {
        ln_store_i64(dtype, y->data, 0, count, target);
    }
}

/* Walk ------------------------------------------------------------------------------------------------------------ */

static ln_status start(ln_op *op, einsum_state *state, bool dry, ln_shape *shape) {
    memset(state, 0, sizeof(*state));
    state->op = op;
    state->dry = dry;
    const ln_compute compute = ln_dtype_compute(ln_in(op, 0)->dtype);
    state->class = compute == LN_COMPUTE_F32 || compute == LN_COMPUTE_F64 ? compute : LN_COMPUTE_I64;
    state->width = state->class == LN_COMPUTE_F32 ? 4 : 8;
    state->used = (sizeof(*state) + 63) / 64 * 64;
    state->step = 1;
    LN_TRY(measure_labels(op, state));
    LN_TRY(output_axes(op, state, shape));
    return load_operand(state, 0, &state->left);
}

static ln_status infer_einsum(ln_op *op) {
    einsum_state state;
    ln_shape shape;
    LN_TRY(start(op, &state, true, &shape));
    LN_TRY(ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape));
    for (; state.step < op->n_inputs; state.step++) {
        operand right;
        LN_TRY(load_operand(&state, state.step, &right));
        prepare_fold(&state, &right, state.step == op->n_inputs - 1);
    }
    finish(&state);
    LN_OP_CHECK(op, state.used < SIZE_MAX / 4, LIMIT_EXCEEDED, "the intermediate products are too large");
    op->scratch_bytes = state.used;
    op->task_scratch_bytes = state.task_scratch;
    return LN_OK;
}

static ln_status next_fold(ln_op *op) {
    einsum_state *state = op->scratch;
    if (state->step == op->n_inputs) {
        finish(state);
        return LN_OK;
    }
    operand right;
    LN_TRY(load_operand(state, state->step, &right));
    state->step++;
    prepare_fold(state, &right, state->step == op->n_inputs);
    const fold *f = &state->fold;
    const int64_t count = f->batch * f->m * f->n;
    if (count == 0 || (f->k == 0 && state->class == LN_COMPUTE_F32)) {
        memset(f->c, 0, (size_t)count * state->width);
        return next_fold(op);
    }
    return ln_op_grid_then(op, fold_task, f->batch * (int64_t)f->tasks, next_fold);
}

static ln_status run_einsum(ln_op *op) {
    ln_shape shape;
    if (ln_out(op, 0) == NULL) {
        return LN_OK;
    }
    LN_TRY(start(op, op->scratch, false, &shape));
    return next_fold(op);
}

static const ln_op_row rows[] = {
    {"Einsum", "", 12, 27, "A+>A", {LN_T_NUMBER}, ln_build_einsum, infer_einsum, run_einsum, NULL, 0, NULL},
    {"Einsum",
     "",
     28,
     LN_OPEN,
     "A+>A",
     {LN_T_NUMBER_BF},
     ln_build_einsum,
     infer_einsum,
     run_einsum,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(einsum, rows);
