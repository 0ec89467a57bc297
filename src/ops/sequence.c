/* Sequences and optionals.
 *
 * A collection holds values by reference (value.h): inserting, erasing and taking out share tensors and copy none that
 * has memory of its own. All outputs but the length are made by run. Positions count from the end when negative.
 */
#include "ops/control.h"
#include "ops/move.h"

/* Infer: output 0 is a collection of this kind with the element type of input 0, where that is known. */
static ln_status infer_collection(ln_op *op, ln_kind kind) {
    ln_value *output = ln_out(op, 0);
    if (output) {
        output->kind = kind;
        output->dtype = ln_in(op, 0) ? ln_in(op, 0)->dtype : op->node->output_dtype;
    }
    return LN_OK;
}

static ln_status infer_sequence(ln_op *op) {
    return infer_collection(op, LN_KIND_SEQUENCE);
}

static ln_status want_sequence(ln_op *op, int32_t *count) {
    const ln_value *input = ln_in(op, 0);
    LN_OP_CHECK(op, input && input->kind == LN_KIND_SEQUENCE, INVALID_TYPE, "input 0 is not a sequence");
    *count = ln_value_items(input);
    return LN_OK;
}

/* The position that input `index` names, in 0..most; `otherwise` when it is absent. */
static ln_status read_position(ln_op *op, int index, int32_t count, int64_t most, int64_t otherwise,
                               int64_t *position) {
    const ln_value *input = ln_in(op, index);
    *position = otherwise;
    if (!input) {
        return LN_OK;
    }
    LN_OP_CHECK(op, ln_value_count(input) == 1, INVALID_SHAPE, "the position must be one number, it has %lld",
                (long long)ln_value_count(input));
    const int64_t at = ln_index_at(input, 0);
    *position = at < 0 ? at + count : at;
    LN_OP_CHECK(op, *position >= 0 && *position <= most, INVALID_VALUE,
                "position %lld is out of range for %d items", (long long)at, (int)count);
    return LN_OK;
}

/* Fails unless an item fits the sequence it joins. */
static ln_status check_item(ln_op *op, ln_dtype dtype, const ln_value *item) {
    LN_OP_CHECK(op, dtype == LN_UNDEFINED || item->dtype == dtype, INVALID_TYPE,
                "a tensor of type %s cannot join a sequence of %s", ln_dtype_name(item->dtype),
                ln_dtype_name(dtype));
    return LN_OK;
}

/* SequenceConstruct and SequenceEmpty ------------------------------------------------------------------- */

static ln_status run_construct(ln_op *op) {
    ln_value *output = ln_out(op, 0);
    if (!output) {
        return LN_OK;
    }
    LN_TRY(ln_op_make_items(op, 0, LN_KIND_SEQUENCE, ln_in(op, 0)->dtype, op->n_inputs));
    for (int i = 0; i < op->n_inputs; i++) {
        LN_TRY(check_item(op, output->dtype, ln_in(op, i)));
        LN_TRY(ln_value_append(op->context, output, ln_in(op, i)));
    }
    return LN_OK;
}

static ln_status build_empty(ln_build *build) {
    const int64_t dtype = ln_attr_int(build, "dtype", LN_FLOAT);
    if (dtype <= 0 || dtype >= LN_DTYPE_COUNT || !(build->node->row->types[0] & LN_BIT(dtype))) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "attribute 'dtype' is %lld, which is no element type", (long long)dtype);
    }
    build->node->output_dtype = (ln_dtype)dtype;
    return ln_build_status(build);
}

static ln_status run_empty(ln_op *op) {
    return ln_op_make_items(op, 0, LN_KIND_SEQUENCE, op->node->output_dtype, 0);
}

/* SequenceInsert and SequenceErase ---------------------------------------------------------------------- */

static ln_status run_insert(ln_op *op) {
    int32_t count;
    int64_t position;
    const ln_value *sequence = ln_in(op, 0);
    const ln_value *item = ln_in(op, 1);
    ln_value *output = ln_out(op, 0);
    LN_TRY(want_sequence(op, &count));
    LN_TRY(read_position(op, 2, count, count, count, &position));
    LN_TRY(check_item(op, count > 0 ? sequence->dtype : LN_UNDEFINED, item));
    if (!output) {
        return LN_OK;
    }
    LN_TRY(ln_op_make_items(op, 0, LN_KIND_SEQUENCE, item->dtype, count + 1));
    for (int32_t i = 0; i <= count; i++) {
        const ln_value *next = i == position ? item : ln_value_item(sequence, i < position ? i : i - 1);
        LN_TRY(ln_value_append(op->context, output, next));
    }
    return LN_OK;
}

static ln_status run_erase(ln_op *op) {
    int32_t count;
    int64_t position;
    const ln_value *sequence = ln_in(op, 0);
    ln_value *output = ln_out(op, 0);
    LN_TRY(want_sequence(op, &count));
    LN_TRY(read_position(op, 1, count, count - 1, count - 1, &position));
    LN_OP_CHECK(op, count > 0, INVALID_VALUE, "the sequence is empty");
    if (!output) {
        return LN_OK;
    }
    LN_TRY(ln_op_make_items(op, 0, LN_KIND_SEQUENCE, sequence->dtype, count - 1));
    for (int32_t i = 0; i < count; i++) {
        if (i != position) {
            LN_TRY(ln_value_append(op->context, output, ln_value_item(sequence, i)));
        }
    }
    return LN_OK;
}

/* SequenceAt and SequenceLength ------------------------------------------------------------------------- */

static ln_status infer_at(ln_op *op) {
    ln_value *output = ln_out(op, 0);
    if (output) {
        output->kind = LN_KIND_TENSOR;
        output->dtype = ln_in(op, 0)->dtype;
    }
    return LN_OK;
}

static ln_status run_at(ln_op *op) {
    int32_t count;
    int64_t position;
    LN_TRY(want_sequence(op, &count));
    LN_TRY(read_position(op, 1, count, count - 1, 0, &position));
    return ln_out(op, 0)
               ? ln_value_keep(op->context, ln_out(op, 0), ln_value_item(ln_in(op, 0), (int32_t)position))
               : LN_OK;
}

static ln_status infer_length(ln_op *op) {
    const ln_shape shape = ln_shape_scalar();
    return ln_op_shape(op, 0, LN_INT64, &shape);
}

static ln_status run_length(ln_op *op) {
    int32_t count;
    LN_TRY(want_sequence(op, &count));
    if (ln_out(op, 0)) {
        *(int64_t *)ln_out(op, 0)->data = count;
    }
    return LN_OK;
}

/* SplitToSequence --------------------------------------------------------------------------------------- */

typedef struct sequence_params {
    int64_t axis;
    bool keep_dims; /* SplitToSequence without lengths */
    bool new_axis;  /* ConcatFromSequence */
} sequence_params;

static ln_status build_split(ln_build *build) {
    sequence_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", 0);
        params->keep_dims = ln_attr_bool(build, "keepdims", true);
    }
    return ln_build_status(build);
}

/* Appends [offset, offset + length) of the axis as a tensor of its own. */
static ln_status append_part(ln_op *op, int axis, int64_t offset, int64_t length, bool keep_dims) {
    const ln_value *input = ln_in(op, 0);
    ln_value part = {.kind = LN_KIND_NONE};
    ln_shape shape = {.rank = 0};
    for (int i = 0; i < input->shape.rank; i++) {
        if (i != axis || keep_dims) {
            shape.dims[shape.rank++] = i == axis ? length : input->shape.dims[i];
        }
    }
    LN_TRY(ln_value_make(op->context, &part, input->dtype, &shape));
    const int64_t outer = ln_shape_product(&input->shape, 0, axis);
    const int64_t inner = ln_shape_product(&input->shape, axis + 1, input->shape.rank);
    for (int64_t i = 0; i < outer; i++) {
        ln_copy_elements(input->dtype, part.data, i * length * inner, input->data,
                         (i * input->shape.dims[axis] + offset) * inner, length * inner);
    }
    const ln_status status = ln_value_append(op->context, ln_out(op, 0), &part);
    ln_value_release(op->context, &part);
    return status;
}

/* The parts' lengths: a list, or one length for all but the last. */
static ln_status check_lengths(ln_op *op, const ln_value *split, int64_t dim) {
    const bool scalar = split->shape.rank == 0;
    const int64_t count = ln_value_count(split);
    int64_t sum = 0;
    LN_OP_CHECK(op, split->shape.rank <= 1, INVALID_SHAPE, "split has rank %d, expected 0 or 1",
                (int)split->shape.rank);
    for (int64_t i = 0; i < count; i++) {
        const int64_t length = ln_index_at(split, i);
        LN_OP_CHECK(op, length >= (scalar ? 1 : 0) && (scalar || length <= dim - sum), INVALID_VALUE,
                    "part %lld has length %lld, the axis has length %lld", (long long)i, (long long)length,
                    (long long)dim);
        sum += scalar ? 0 : length;
    }
    LN_OP_CHECK(op, scalar || sum == dim, INVALID_VALUE, "the parts add up to %lld, the axis has length %lld",
                (long long)sum, (long long)dim);
    return LN_OK;
}

static ln_status run_split(ln_op *op) {
    const sequence_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_value *split = ln_in(op, 1);
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, input->shape.rank, &axis));
    const int64_t dim = input->shape.dims[axis];
    LN_TRY(split ? check_lengths(op, split, dim) : LN_OK);
    if (!ln_out(op, 0)) {
        return LN_OK;
    }
    const bool list = split && split->shape.rank == 1;
    const int64_t chunk = split && !list ? ln_index_at(split, 0) : 1;
    const int64_t count = list ? ln_value_count(split) : dim == 0 ? 0 : (dim - 1) / chunk + 1;
    LN_OP_CHECK(op, count < INT32_MAX, LIMIT_EXCEEDED, "a sequence of %lld items is too long",
                (long long)count);
    LN_TRY(ln_op_make_items(op, 0, LN_KIND_SEQUENCE, input->dtype, (int32_t)count));
    for (int64_t i = 0, offset = 0; i < count; i++) {
        const int64_t left = dim - offset;
        const int64_t length = list ? ln_index_at(split, i) : chunk < left ? chunk : left;
        LN_TRY(append_part(op, axis, offset, length, split || params->keep_dims));
        offset += length;
    }
    return LN_OK;
}

/* ConcatFromSequence ------------------------------------------------------------------------------------ */

static ln_status build_concat(ln_build *build) {
    sequence_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        ln_attr_required(build, "axis");
        params->axis = ln_attr_int(build, "axis", 0);
        params->new_axis = ln_attr_bool(build, "new_axis", false);
    }
    return ln_build_status(build);
}

/* The shape of the whole, and the axis along which the items lie. */
static ln_status concat_shape(ln_op *op, int32_t count, int *axis, ln_shape *shape) {
    const sequence_params *params = op->params;
    const ln_value *first = ln_value_item(ln_in(op, 0), 0);
    const int extra = params->new_axis ? 1 : 0;
    LN_OP_CHECK(op, first->kind == LN_KIND_TENSOR && first->shape.rank + extra <= LN_MAX_RANK, INVALID_SHAPE,
                "the items cannot be joined");
    LN_TRY(ln_op_axis(op, params->axis, first->shape.rank + extra, axis));
    *shape = (ln_shape){.rank = first->shape.rank + extra};
    for (int i = 0, next = 0; i < shape->rank; i++) {
        shape->dims[i] = params->new_axis && i == *axis ? count : first->shape.dims[next++];
    }
    for (int32_t i = 1; i < count; i++) {
        const ln_value *item = ln_value_item(ln_in(op, 0), i);
        bool fits = item->dtype == first->dtype && item->shape.rank == first->shape.rank;
        for (int d = 0; fits && d < item->shape.rank; d++) {
            fits = item->shape.dims[d] == first->shape.dims[d] || (!params->new_axis && d == *axis);
        }
        LN_OP_CHECK(op, fits, INVALID_SHAPE, "item %d does not join item 0 on axis %d", (int)i, *axis);
        shape->dims[*axis] += params->new_axis ? 0 : item->shape.dims[*axis];
    }
    return LN_OK;
}

static ln_status run_concat(ln_op *op) {
    const sequence_params *params = op->params;
    int32_t count;
    int axis;
    ln_shape shape;
    LN_TRY(want_sequence(op, &count));
    LN_OP_CHECK(op, count > 0, INVALID_VALUE, "the sequence is empty");
    LN_TRY(concat_shape(op, count, &axis, &shape));
    const ln_dtype dtype = ln_value_item(ln_in(op, 0), 0)->dtype;
    LN_TRY(ln_op_make(op, 0, dtype, &shape));
    if (!ln_out(op, 0)) {
        return LN_OK;
    }
    const int64_t outer = ln_shape_product(&shape, 0, axis);
    const int64_t inner = ln_shape_product(&shape, axis + 1, shape.rank);
    int64_t offset = 0;
    for (int32_t i = 0; i < count; i++) {
        const ln_value *item = ln_value_item(ln_in(op, 0), i);
        const int64_t length = params->new_axis ? 1 : item->shape.dims[axis];
        for (int64_t o = 0; o < outer; o++) {
            ln_copy_elements(dtype, ln_out(op, 0)->data, (o * shape.dims[axis] + offset) * inner, item->data,
                             o * length * inner, length * inner);
        }
        offset += length;
    }
    return LN_OK;
}

/* Optionals --------------------------------------------------------------------------------------------- */

/* Without an input, the attribute says what the optional could hold. */
static ln_status build_optional(ln_build *build) {
    const ln_attribute *type = ln_node_attribute(build->node, "type");
    const bool has_input = build->node->n_inputs > 0 && build->node->inputs[0] != 0;
    if (!has_input && !type) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "without an input, attribute 'type' is required");
    }
    if (type && type->type == LN_ATTRIBUTE_TYPE_PROTO) {
        const ln_type *held = &type->as.types[0];
        build->node->output_dtype =
            held->kind == LN_KIND_TENSOR || !held->element ? held->dtype : held->element->dtype;
    }
    return ln_build_status(build);
}

static ln_status infer_optional(ln_op *op) {
    return infer_collection(op, LN_KIND_OPTIONAL);
}

static ln_status run_optional(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    ln_value *output = ln_out(op, 0);
    if (!output) {
        return LN_OK;
    }
    LN_TRY(ln_op_make_items(op, 0, LN_KIND_OPTIONAL, input ? input->dtype : op->node->output_dtype, 1));
    return input && input->kind != LN_KIND_NONE ? ln_value_append(op->context, output, input) : LN_OK;
}

/* What an optional holds; a tensor or sequence stands for itself. NULL when there is nothing. */
static const ln_value *held_value(const ln_value *value) {
    if (!value || value->kind == LN_KIND_NONE) {
        return NULL;
    }
    return value->kind == LN_KIND_OPTIONAL ? ln_value_item(value, 0) : value;
}

static ln_status infer_get(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    ln_infer_declared(op, 0, 0);
    if (ln_out(op, 0) && input && input->kind != LN_KIND_OPTIONAL && input->kind != LN_KIND_NONE) {
        ln_out(op, 0)->kind = input->kind;
        ln_out(op, 0)->dtype = input->dtype;
    }
    return LN_OK;
}

static ln_status run_get(ln_op *op) {
    const ln_value *value = held_value(ln_in(op, 0));
    LN_OP_CHECK(op, value, INVALID_VALUE, "the optional is empty");
    return ln_out(op, 0) ? ln_value_keep(op->context, ln_out(op, 0), value) : LN_OK;
}

static ln_status infer_has(ln_op *op) {
    if (ln_out(op, 0)) {
        ln_out(op, 0)->kind = LN_KIND_TENSOR;
        ln_out(op, 0)->dtype = LN_BOOL;
    }
    return LN_OK;
}

static ln_status run_has(ln_op *op) {
    const ln_shape shape = ln_shape_scalar();
    LN_TRY(ln_op_make(op, 0, LN_BOOL, &shape));
    if (ln_out(op, 0)) {
        *(uint8_t *)ln_out(op, 0)->data = held_value(ln_in(op, 0)) != NULL;
    }
    return LN_OK;
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, LN_OP_DYNAMIC, NULL}
#define SEQUENCE(name, signature, types, build, infer, run)                                                  \
    ROW(name, 11, LN_OPEN, signature, types, build, infer, run)

static const ln_op_row rows[] = {
    SEQUENCE("SequenceConstruct", "A+>[A]", LN_T_ALL, ln_build_nothing, infer_sequence, run_construct),
    SEQUENCE("SequenceEmpty", ">[A]", LN_T_ALL, build_empty, infer_sequence, run_empty),
    ROW("SequenceInsert", 11, LN_OPEN, "[A]AB?>[A]", PAIR(LN_T_ALL, LN_T_INDEX), ln_build_nothing,
        infer_sequence, run_insert),
    ROW("SequenceErase", 11, LN_OPEN, "[A]B?>[A]", PAIR(LN_T_ALL, LN_T_INDEX), ln_build_nothing,
        infer_sequence, run_erase),
    ROW("SequenceAt", 11, LN_OPEN, "[A]B>A", PAIR(LN_T_ALL, LN_T_INDEX), ln_build_nothing, infer_at, run_at),
    {"SequenceLength",
     "",
     11,
     LN_OPEN,
     "[A]>l",
     {LN_T_ALL},
     ln_build_nothing,
     infer_length,
     run_length,
     NULL,
     0,
     NULL},
    ROW("SplitToSequence", 11, 23, "AB?>[A]", PAIR(LN_T_ALL, LN_T_INDEX), build_split, infer_sequence,
        run_split),
    ROW("SplitToSequence", 24, LN_OPEN, "AB?>[A]", PAIR(LN_T_ALL_BF, LN_T_INDEX), build_split, infer_sequence,
        run_split),
    SEQUENCE("ConcatFromSequence", "[A]>A", LN_T_ALL, build_concat, infer_at, run_concat),
    ROW("Optional", 15, 27, ".?>.", LN_T_ALL, build_optional, infer_optional, run_optional),
    ROW("Optional", 28, LN_OPEN, ".?>.", LN_T_ANY, build_optional, infer_optional, run_optional),
    ROW("OptionalGetElement", 15, 17, ".>.", LN_T_ALL, ln_build_nothing, infer_get, run_get),
    ROW("OptionalGetElement", 18, 27, ".>.", LN_T_ALL, ln_build_nothing, infer_get, run_get),
    ROW("OptionalGetElement", 28, LN_OPEN, ".>.", LN_T_ANY, ln_build_nothing, infer_get, run_get),
    ROW("OptionalHasElement", 15, 17, ".>b", LN_T_ALL, ln_build_nothing, infer_has, run_has),
    ROW("OptionalHasElement", 18, 27, ".?>b", LN_T_ALL, ln_build_nothing, infer_has, run_has),
    ROW("OptionalHasElement", 28, LN_OPEN, ".?>b", LN_T_ANY, ln_build_nothing, infer_has, run_has),
};

LN_FAMILY_TABLE(sequence, rows);
