/* Operators that keep the bytes and change the shape, those that read a shape, and Expand.
 *
 * Reshape, Flatten, Squeeze, Unsqueeze and Identity are aliases: infer gives the new shape and no step is run.
 * Shape and Size look at the shape alone. Expand is a strided copy whose repeated axes have stride 0.
 */
#include "ops/move.h"

/* Reshape ----------------------------------------------------------------------------------------------- */

typedef struct reshape_params {
    bool from_attribute;
    bool allow_zero;
    ln_axes shape;
} reshape_params;

static ln_status build_reshape(ln_build *build) {
    reshape_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->from_attribute = build->opset < 5;
        params->allow_zero = ln_attr_bool(build, "allowzero", false);
        if (params->from_attribute) {
            ln_axes_attr(build, &params->shape, "shape");
        }
    }
    return ln_build_status(build);
}

static ln_status fail_reshape(ln_op *op, const ln_shape *wanted) {
    char from[LN_SHAPE_TEXT_BYTES];
    char to[LN_SHAPE_TEXT_BYTES];
    return ln_op_fail(op, LN_INVALID_SHAPE, "a tensor of shape %s cannot take the shape %s",
                      ln_shape_text(&ln_in(op, 0)->shape, from), ln_shape_text(wanted, to));
}

/* Replaces zeros by the input's dimension and -1 by what is left. Where a copied dimension is 0, it is left out
 * on both sides, so that -1 still has one answer. */
static ln_status resolve_reshape(ln_op *op, const ln_shape *wanted, bool allow_zero, ln_shape *shape) {
    const ln_value *input = ln_in(op, 0);
    int unknown = -1;
    uint32_t copied = 0;
    int64_t known = 1;
    for (int i = 0; i < wanted->rank; i++) {
        int64_t dim = wanted->dims[i];
        if (dim == 0 && !allow_zero) {
            LN_OP_CHECK(op, i < input->shape.rank, INVALID_VALUE,
                        "dimension %d of the new shape is copied from an input of rank %d", i,
                        (int)input->shape.rank);
            dim = input->shape.dims[i];
            copied |= dim == 0 ? 1u << i : 0;
        } else if (dim == -1) {
            LN_OP_CHECK(op, unknown < 0, INVALID_VALUE, "more than one dimension of the new shape is -1");
            unknown = i;
            dim = 1;
        }
        LN_OP_CHECK(op, dim >= 0, INVALID_VALUE, "dimension %d of the new shape is %lld", i, (long long)dim);
        shape->dims[i] = dim;
        if (!(copied >> i & 1)) {
            LN_OP_CHECK(op, dim == 0 || known <= INT64_MAX / dim, LIMIT_EXCEEDED,
                        "the new shape is too large");
            known *= dim;
        }
    }
    if (unknown >= 0) {
        int64_t count = 1;
        for (int i = 0; i < input->shape.rank; i++) {
            count *= copied >> i & 1 ? 1 : input->shape.dims[i];
        }
        if (known == 0 || count % known != 0) {
            return fail_reshape(op, wanted);
        }
        shape->dims[unknown] = count / known;
    }
    return LN_OK;
}

static ln_status infer_reshape(ln_op *op) {
    const reshape_params *params = op->params;
    int64_t values[LN_MAX_RANK];
    const int64_t *from = params->shape.values;
    int rank = params->shape.count;
    if (!params->from_attribute) {
        LN_TRY(ln_op_ints(op, 1, values, LN_MAX_RANK, &rank));
        from = values;
    }
    const ln_shape wanted = ln_shape_of(rank, from);
    ln_shape shape = wanted;
    LN_TRY(resolve_reshape(op, &wanted, params->allow_zero, &shape));
    if (ln_shape_count(&shape) != ln_value_count(ln_in(op, 0))) {
        return fail_reshape(op, &wanted);
    }
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

/* Flatten ----------------------------------------------------------------------------------------------- */

typedef struct axis_params {
    int64_t axis;
} axis_params;

static ln_status build_flatten(ln_build *build) {
    axis_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", 1);
    }
    return ln_build_status(build);
}

static ln_status infer_flatten(ln_op *op) {
    const axis_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const int rank = input->shape.rank;
    const int64_t axis = params->axis < 0 ? params->axis + rank : params->axis;
    LN_OP_CHECK(op, axis >= 0 && axis <= rank, INVALID_ATTRIBUTE, "axis %lld is out of range for rank %d",
                (long long)params->axis, rank);
    const int64_t dims[2] = {ln_shape_product(&input->shape, 0, (int)axis),
                             ln_shape_product(&input->shape, (int)axis, rank)};
    const ln_shape shape = ln_shape_of(2, dims);
    return ln_op_shape(op, 0, input->dtype, &shape);
}

/* Squeeze and Unsqueeze --------------------------------------------------------------------------------- */

static ln_status build_axes(ln_build *build) {
    ln_axes *axes = ln_build_params(build, sizeof(*axes));
    if (axes) {
        axes->input = 1;
        if (build->opset < 13) {
            ln_axes_attr(build, axes, "axes");
        }
    }
    return ln_build_status(build);
}

static ln_status build_unsqueeze(ln_build *build) {
    if (build->opset < 13) {
        ln_attr_required(build, "axes");
    }
    return build_axes(build);
}

static ln_status infer_squeeze(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    int list[LN_MAX_RANK];
    int count;
    bool present;
    LN_TRY(ln_axes_read(op, op->params, input->shape.rank, list, &count, &present));
    uint32_t drop = 0;
    for (int i = 0; i < count; i++) {
        LN_OP_CHECK(op, input->shape.dims[list[i]] == 1, INVALID_SHAPE,
                    "axis %d has dimension %lld, expected 1", list[i], (long long)input->shape.dims[list[i]]);
        drop |= 1u << list[i];
    }
    ln_shape shape = ln_shape_scalar();
    for (int i = 0; i < input->shape.rank; i++) {
        if (present ? !(drop >> i & 1) : input->shape.dims[i] != 1) {
            shape.dims[shape.rank++] = input->shape.dims[i];
        }
    }
    return ln_op_shape(op, 0, input->dtype, &shape);
}

static ln_status infer_unsqueeze(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    const ln_axes *axes = op->params;
    int list[LN_MAX_RANK];
    int count = axes->count;
    bool present;
    if (axes->input >= 0) { /* the rank of the result depends on how many axes there are */
        int64_t values[LN_MAX_RANK];
        LN_TRY(ln_op_ints(op, axes->input, values, LN_MAX_RANK, &count));
    }
    const int rank = input->shape.rank + count;
    LN_OP_CHECK(op, rank <= LN_MAX_RANK, LIMIT_EXCEEDED,
                "the result would have rank %d, at most %d is supported", rank, LN_MAX_RANK);
    LN_TRY(ln_axes_read(op, axes, rank, list, &count, &present));
    uint32_t added = 0;
    for (int i = 0; i < count; i++) {
        added |= 1u << list[i];
    }
    ln_shape shape = {.rank = rank};
    for (int i = 0, next = 0; i < rank; i++) {
        shape.dims[i] = added >> i & 1 ? 1 : input->shape.dims[next++];
    }
    return ln_op_shape(op, 0, input->dtype, &shape);
}

/* com.microsoft's ExpandDims: the new axis is one number. */
static ln_status infer_expand_dims(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    int64_t wanted = 0;
    int axis;
    LN_TRY(ln_op_int(op, 1, &wanted));
    LN_OP_CHECK(op, input->shape.rank < LN_MAX_RANK, LIMIT_EXCEEDED, "the result would have too many axes");
    LN_TRY(ln_op_axis(op, wanted, input->shape.rank + 1, &axis));
    ln_shape shape = {.rank = input->shape.rank + 1};
    for (int i = 0, next = 0; i < shape.rank; i++) {
        shape.dims[i] = i == axis ? 1 : input->shape.dims[next++];
    }
    return ln_op_shape(op, 0, input->dtype, &shape);
}

/* Identity ---------------------------------------------------------------------------------------------- */

static ln_status infer_identity(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    ln_value *output = ln_out(op, 0);
    if (!output || input->kind == LN_KIND_TENSOR) {
        return ln_infer_same(op);
    }
    output->kind = input->kind;
    output->dtype = input->dtype;
    return LN_OK;
}

/* Expand ------------------------------------------------------------------------------------------------ */

static ln_status infer_expand(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    int64_t values[LN_MAX_RANK];
    int rank;
    LN_TRY(ln_op_ints(op, 1, values, LN_MAX_RANK, &rank));
    const ln_shape wanted = ln_shape_of(rank, values);
    ln_shape shape;
    char from[LN_SHAPE_TEXT_BYTES];
    char to[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, ln_shape_count(&wanted) >= 0 && ln_shape_broadcast(&input->shape, &wanted, &shape),
                INVALID_SHAPE, "a tensor of shape %s does not broadcast to %s",
                ln_shape_text(&input->shape, from), ln_shape_text(&wanted, to));
    op->scratch_bytes = sizeof(ln_move_job);
    op->same_as = ln_shape_count(&shape) == ln_value_count(input) ? input : NULL;
    return ln_op_shape(op, 0, input->dtype, &shape);
}

static ln_status run_expand(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    int64_t in_strides[LN_MAX_RANK];
    int64_t out_strides[LN_MAX_RANK];
    ln_move *move = ln_op_move_begin(op, in_strides, out_strides);
    if (!move) {
        return LN_OK;
    }
    const int lead = output->shape.rank - input->shape.rank;
    for (int i = 0; i < output->shape.rank; i++) {
        const bool repeats = i < lead || input->shape.dims[i - lead] == 1;
        ln_move_axis(move, output->shape.dims[i], repeats ? 0 : in_strides[i - lead], out_strides[i]);
    }
    return ln_op_move(op, 0);
}

/* Shape and Size ---------------------------------------------------------------------------------------- */

typedef struct shape_params {
    int64_t start, end;
} shape_params;

static ln_status build_shape(ln_build *build) {
    shape_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->start = ln_attr_int(build, "start", 0);
        params->end = ln_attr_int(build, "end", INT64_MAX);
    }
    return ln_build_status(build);
}

static int clamp_to_rank(int64_t at, int rank) {
    const int64_t mapped = at < 0 ? at + rank : at;
    return mapped < 0 ? 0 : mapped > rank ? rank : (int)mapped;
}

static ln_status infer_shape(ln_op *op) {
    const shape_params *params = op->params;
    const int rank = ln_in(op, 0)->shape.rank;
    const int start = clamp_to_rank(params->start, rank);
    const int end = clamp_to_rank(params->end, rank);
    const int64_t dim = end > start ? end - start : 0;
    const ln_shape shape = ln_shape_of(1, &dim);
    return ln_op_shape(op, 0, LN_INT64, &shape);
}

static ln_status run_shape(ln_op *op) {
    const shape_params *params = op->params;
    const ln_shape *shape = &ln_in(op, 0)->shape;
    const ln_value *output = ln_out(op, 0);
    if (output) {
        const int start = clamp_to_rank(params->start, shape->rank);
        memcpy(output->data, shape->dims + start, (size_t)output->shape.dims[0] * sizeof(int64_t));
    }
    return LN_OK;
}

static ln_status infer_size(ln_op *op) {
    const ln_shape shape = ln_shape_scalar();
    return ln_op_shape(op, 0, LN_INT64, &shape);
}

static ln_status run_size(ln_op *op) {
    if (ln_out(op, 0)) {
        *(int64_t *)ln_out(op, 0)->data = ln_value_count(ln_in(op, 0));
    }
    return LN_OK;
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run, flags)                                  \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, flags, NULL}
#define RESHAPE(since, until, signature, types)                                                              \
    ROW("Reshape", since, until, signature, PAIR(types, LN_T_INDEX), build_reshape, infer_reshape,           \
        ln_run_copy, LN_OP_ALIAS)
#define FLATTEN(since, until, types)                                                                         \
    ROW("Flatten", since, until, "A>A", types, build_flatten, infer_flatten, ln_run_copy, LN_OP_ALIAS)
#define SQUEEZE(since, until, signature, types)                                                              \
    ROW("Squeeze", since, until, signature, types, build_axes, infer_squeeze, ln_run_copy, LN_OP_ALIAS)
#define UNSQUEEZE(since, until, signature, types)                                                            \
    ROW("Unsqueeze", since, until, signature, types, build_unsqueeze, infer_unsqueeze, ln_run_copy,          \
        LN_OP_ALIAS)
#define IDENTITY(since, until, signature, types)                                                             \
    ROW("Identity", since, until, signature, types, ln_build_nothing, infer_identity, ln_run_copy,           \
        LN_OP_ALIAS)
#define SHAPE(since, until, types)                                                                           \
    ROW("Shape", since, until, "A>l", types, build_shape, infer_shape, run_shape, LN_OP_SHAPE_ONLY)
#define SIZE(since, until, types)                                                                            \
    ROW("Size", since, until, "A>l", types, ln_build_nothing, infer_size, run_size, LN_OP_SHAPE_ONLY)
#define EXPAND(since, until, types)                                                                          \
    ROW("Expand", since, until, "Al>A", types, ln_build_nothing, infer_expand, run_expand, 0)

static const ln_op_row rows[] = {
    RESHAPE(1, 4, "A>A", LN_T_FLOAT),
    RESHAPE(5, 12, "AB>A", LN_T_ALL),
    RESHAPE(13, 13, "AB>A", LN_T_ALL_BF),
    RESHAPE(14, 18, "AB>A", LN_T_ALL_BF),
    RESHAPE(19, 20, "AB>A", LN_T_ALL_IR9),
    RESHAPE(21, 22, "AB>A", LN_T_ALL_IR10),
    RESHAPE(23, 23, "AB>A", LN_T_ALL_IR11),
    RESHAPE(24, 24, "AB>A", LN_T_ALL_IR12),
    RESHAPE(25, LN_OPEN, "AB>A", LN_T_ALL_IR13),
    FLATTEN(1, 8, LN_T_FLOAT),
    FLATTEN(9, 10, LN_T_ALL),
    FLATTEN(11, 12, LN_T_ALL),
    FLATTEN(13, 20, LN_T_ALL_BF),
    FLATTEN(21, 22, LN_T_ALL_IR10),
    FLATTEN(23, 23, LN_T_ALL_IR11),
    FLATTEN(24, 24, LN_T_ALL_IR12),
    FLATTEN(25, LN_OPEN, LN_T_ALL_IR13),
    SQUEEZE(1, 10, "A>A", LN_T_ALL),
    SQUEEZE(11, 12, "A>A", LN_T_ALL),
    SQUEEZE(13, 20, "Al?>A", LN_T_ALL_BF),
    SQUEEZE(21, 22, "Al?>A", LN_T_ALL_IR10),
    SQUEEZE(23, 23, "Al?>A", LN_T_ALL_IR11),
    SQUEEZE(24, 24, "Al?>A", LN_T_ALL_IR12),
    SQUEEZE(25, LN_OPEN, "Al?>A", LN_T_ALL_IR13),
    UNSQUEEZE(1, 10, "A>A", LN_T_ALL),
    UNSQUEEZE(11, 12, "A>A", LN_T_ALL),
    UNSQUEEZE(13, 20, "Al>A", LN_T_ALL_BF),
    UNSQUEEZE(21, 22, "Al>A", LN_T_ALL_IR10),
    UNSQUEEZE(23, 23, "Al>A", LN_T_ALL_IR11),
    UNSQUEEZE(24, 24, "Al>A", LN_T_ALL_IR12),
    UNSQUEEZE(25, LN_OPEN, "Al>A", LN_T_ALL_IR13),
    {"ExpandDims",
     "com.microsoft",
     1,
     LN_OPEN,
     "Ai>A",
     {LN_T_ALL_BF},
     ln_build_nothing,
     infer_expand_dims,
     ln_run_copy,
     NULL,
     LN_OP_ALIAS,
     NULL},
    IDENTITY(1, 12, "A>A", LN_T_ALL),
    IDENTITY(13, 13, "A>A", LN_T_ALL_BF),
    IDENTITY(14, 15, ".>.", LN_T_ALL_BF),
    IDENTITY(16, 18, ".>.", LN_T_ALL_BF),
    IDENTITY(19, 20, ".>.", LN_T_ALL_IR9),
    IDENTITY(21, 22, ".>.", LN_T_ALL_IR10),
    IDENTITY(23, 23, ".>.", LN_T_ALL_IR11),
    IDENTITY(24, 24, ".>.", LN_T_ALL_IR12),
    IDENTITY(25, LN_OPEN, ".>.", LN_T_ALL_IR13),
    EXPAND(8, 12, LN_T_ALL),
    EXPAND(13, LN_OPEN, LN_T_ALL_BF),
    SHAPE(1, 12, LN_T_ALL),
    SHAPE(13, 14, LN_T_ALL_BF),
    SHAPE(15, 18, LN_T_ALL_BF),
    SHAPE(19, 20, LN_T_ALL_IR9),
    SHAPE(21, 22, LN_T_ALL_IR10),
    SHAPE(23, 23, LN_T_ALL_IR11),
    SHAPE(24, 24, LN_T_ALL_IR12),
    SHAPE(25, LN_OPEN, LN_T_ALL_IR13),
    SIZE(1, 12, LN_T_ALL),
    SIZE(13, 18, LN_T_ALL_BF),
    SIZE(19, 20, LN_T_ALL_IR9),
    SIZE(21, 22, LN_T_ALL_IR10),
    SIZE(23, 23, LN_T_ALL_IR11),
    SIZE(24, 24, LN_T_ALL_IR12),
    SIZE(25, LN_OPEN, LN_T_ALL_IR13),
};

LN_FAMILY_TABLE(reshape, rows);
