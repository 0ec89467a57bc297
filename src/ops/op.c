/* What the functions of every row share: errors, reading shape inputs, setting outputs, offering tasks. */
#include "ops/op.h"

#include <string.h>

ln_status ln_op_fail(ln_op *op, ln_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const ln_status status = ln_fail_v(op->context, code, format, arguments);
    va_end(arguments);
    return status;
}

/* Only infer and pack, whose op is not shared, find that there is more to take. */
__attribute__((noinline)) void *ln_op_local(const ln_op *op, size_t bytes) {
    if (bytes > op->local_bytes) {
        if (bytes > op->local_room) {
            __builtin_trap(); /* an operator whose run uses what its infer did not take */
        }
        memset(op->local + op->local_bytes, 0, bytes - op->local_bytes);
        ((ln_op *)(uintptr_t)op)->local_bytes = (uint32_t)bytes;
    }
    return op->local;
}

ln_status ln_op_want(ln_op *op, int index) {
    const ln_value *value = ln_in(op, index);
    if (!value || value->data || value->kind != LN_KIND_TENSOR) {
        return LN_OK;
    }
    op->wanted = index;
    return LN_NEED_VALUE;
}

ln_status ln_op_ints(ln_op *op, int index, int64_t *values, int capacity, int *count) {
    *count = 0;
    LN_TRY(ln_op_want(op, index));
    const ln_value *value = ln_in(op, index);
    if (!value) {
        return LN_OK;
    }
    LN_OP_CHECK(op, value->kind == LN_KIND_TENSOR && (value->dtype == LN_INT64 || value->dtype == LN_INT32),
                INVALID_TYPE, "input %d is of type %s, expected int64 or int32", index,
                ln_dtype_name(value->dtype));
    LN_OP_CHECK(op, value->shape.rank <= 1, INVALID_SHAPE, "input %d has rank %d, expected a list of numbers",
                index, (int)value->shape.rank);
    const int64_t n = ln_value_count(value);
    LN_OP_CHECK(op, n <= capacity, LIMIT_EXCEEDED, "input %d has %lld elements, at most %d are supported",
                index, (long long)n, capacity);
    ln_load_i64(value->dtype, value->data, 0, n, values);
    *count = (int)n;
    return LN_OK;
}

ln_status ln_op_axis(ln_op *op, int64_t axis, int rank, int *result) {
    *result = ln_shape_axis(axis, rank);
    LN_OP_CHECK(op, rank > 0, INVALID_SHAPE, "a scalar has no axis %lld", (long long)axis);
    LN_OP_CHECK(op, *result >= 0, INVALID_ATTRIBUTE,
                "axis %lld is out of range for rank %d: expected %d to %d", (long long)axis, rank, -rank,
                rank - 1);
    return LN_OK;
}

ln_status ln_op_count(ln_op *op, int index, const char *what, int64_t count) {
    const ln_value *value = ln_in(op, index);
    LN_OP_CHECK(op, !value || (value->kind == LN_KIND_TENSOR && ln_value_count(value) == count),
                INVALID_SHAPE, "%s (input %d) must have %lld element%s, it has %lld", what, index,
                (long long)count, count == 1 ? "" : "s", (long long)ln_value_count(value));
    return LN_OK;
}

/* The one element of a scalar-like input; LN_OK with *value NULL when the input is absent. */
static ln_status single(ln_op *op, int index, const ln_value **value) {
    *value = NULL;
    LN_TRY(ln_op_want(op, index));
    const ln_value *input = ln_in(op, index);
    if (!input) {
        return LN_OK;
    }
    LN_OP_CHECK(op, input->kind == LN_KIND_TENSOR && ln_value_count(input) == 1, INVALID_SHAPE,
                "input %d must hold exactly one number, it has %lld", index,
                (long long)ln_value_count(input));
    *value = input;
    return LN_OK;
}

ln_status ln_op_int(ln_op *op, int index, int64_t *value) {
    const ln_value *input = NULL;
    LN_TRY(single(op, index, &input));
    if (input) {
        ln_load_i64(input->dtype, input->data, 0, 1, value);
    }
    return LN_OK;
}

ln_status ln_op_number(ln_op *op, int index, double *value) {
    const ln_value *input = NULL;
    LN_TRY(single(op, index, &input));
    if (input) {
        ln_load_f64(input->dtype, input->data, 0, 1, value);
    }
    return LN_OK;
}

/* Fails unless the shape has a representable number of bytes. */
static ln_status check_shape(ln_op *op, int index, ln_dtype dtype, const ln_shape *shape) {
    char text[LN_SHAPE_TEXT_BYTES];
    for (int i = 0; i < shape->rank; ++i) {
        LN_OP_CHECK(op, shape->dims[i] >= 0, INVALID_SHAPE, "output %d would have the shape %s", index,
                    ln_shape_text(shape, text));
        /* JavaScript counts up to here, so that even the shape of an empty tensor can be told. */
        LN_OP_CHECK(op, shape->dims[i] < (INT64_C(1) << 53), LIMIT_EXCEEDED,
                    "output %d would have the shape %s, expected dimensions below 2^53", index,
                    ln_shape_text(shape, text));
    }
    const int64_t count = ln_shape_count(shape);
    size_t bytes = 0;
    LN_OP_CHECK(op, count >= 0 && ln_dtype_bytes(dtype, count, &bytes) && bytes <= SIZE_MAX / 2,
                LIMIT_EXCEEDED, "output %d of shape %s and type %s is too large", index,
                ln_shape_text(shape, text), ln_dtype_name(dtype));
    return LN_OK;
}

ln_status ln_op_shape(ln_op *op, int index, ln_dtype dtype, const ln_shape *shape) {
    ln_value *output = ln_out(op, index);
    if (!output) {
        return LN_OK;
    }
    LN_TRY(check_shape(op, index, dtype, shape));
    output->kind = LN_KIND_TENSOR;
    output->dtype = dtype;
    output->shape = *shape;
    return LN_OK;
}

ln_status ln_infer_same(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    return ln_op_shape(op, 0, input->dtype, &input->shape);
}

ln_status ln_infer_broadcast(ln_op *op) {
    const ln_value *a = ln_in(op, 0);
    const ln_value *b = ln_in(op, 1);
    ln_shape shape;
    char left[LN_SHAPE_TEXT_BYTES];
    char right[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, ln_shape_broadcast(&a->shape, &b->shape, &shape), INVALID_SHAPE,
                "shapes %s and %s do not broadcast", ln_shape_text(&a->shape, left),
                ln_shape_text(&b->shape, right));
    return ln_op_shape(op, 0, a->dtype, &shape);
}

ln_status ln_infer_dynamic(ln_op *op) {
    ln_value *output = ln_out(op, 0);
    if (output) {
        output->kind = LN_KIND_TENSOR;
        output->dtype = ln_in(op, 0)->dtype;
    }
    return LN_OK;
}

ln_status ln_op_make(ln_op *op, int index, ln_dtype dtype, const ln_shape *shape) {
    ln_value *output = ln_out(op, index);
    if (!output) {
        return LN_OK;
    }
    LN_TRY(check_shape(op, index, dtype, shape));
    return ln_value_make(op->context, output, dtype, shape);
}

ln_status ln_op_make_items(ln_op *op, int index, ln_kind kind, ln_dtype dtype, int32_t capacity) {
    ln_value *output = ln_out(op, index);
    return output ? ln_value_make_items(op->context, output, kind, dtype, capacity) : LN_OK;
}

ln_status ln_op_grid(ln_op *op, ln_op_task task, int64_t count) {
    return ln_op_grid_then(op, task, count, NULL);
}

ln_status ln_op_grid_then(ln_op *op, ln_op_task task, int64_t count, ln_status (*then)(ln_op *op)) {
    op->grid = (ln_grid){task, count, then};
    return LN_OK;
}

int64_t ln_op_tasks(int64_t n, int64_t grain) {
    enum { MOST = 64 }; /* enough to balance a handful of threads, few enough to cost nothing */
    const int64_t count = n / (grain > 0 ? grain : 1);
    return count < 1 ? 1 : count > MOST ? MOST : count;
}

void ln_op_range(int64_t n, int64_t count, int64_t index, int64_t *begin, int64_t *end) {
    /* Multiples of 16 elements, so that tasks start on vector and cache-line boundaries. */
    const int64_t blocks = (n + 15) / 16;
    const int64_t first = blocks * index / count * 16;
    const int64_t last = blocks * (index + 1) / count * 16;
    *begin = first < n ? first : n;
    *end = last < n ? last : n;
}
