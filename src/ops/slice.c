/* Parts of tensors along axes: Slice, Tile, Trilu, ReverseSequence.
 *
 * Slice and Tile are strided copies (move.h): a slice starts at an offset and steps through the source, possibly
 * backwards; a tile repeats each axis with a stride of 0. Trilu and ReverseSequence copy whole rows.
 */
#include <string.h>

#include "ops/move.h"

/* Slice ------------------------------------------------------------------------------------------------- */

/* Version 1 has attributes; from 10 on they are inputs 1 to 4. */
typedef struct slice_params {
    bool from_attributes;
    ln_axes starts, ends, axes;
} slice_params;

typedef struct slice_local {
    int64_t start[LN_MAX_RANK];
    int64_t step[LN_MAX_RANK];
} slice_local;

static ln_status build_slice(ln_build *build) {
    slice_params *params = ln_build_params(build, sizeof(*params));
    if (params && build->opset < 10) {
        params->from_attributes = true;
        ln_attr_required(build, "starts");
        ln_attr_required(build, "ends");
        ln_axes_attr(build, &params->starts, "starts");
        ln_axes_attr(build, &params->ends, "ends");
        ln_axes_attr(build, &params->axes, "axes");
    } else if (params) {
        params->axes.input = 3;
    }
    return ln_build_status(build);
}

/* An experiment of early versions: Slice as it became in version 10, without steps. */
static ln_status build_dynamic_slice(ln_build *build) {
    slice_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axes.input = 3;
    }
    return ln_build_status(build);
}

static int64_t clamp_position(int64_t at, int64_t dim, int64_t low, int64_t high) {
    const int64_t mapped = at < 0 ? at + dim : at;
    return mapped < low ? low : mapped > high ? high : mapped;
}

/* Elements that a slice of one axis takes; *start becomes a position inside the axis. */
static int64_t slice_length(int64_t dim, int64_t *start, int64_t end, int64_t step) {
    if (step > 0) {
        *start = clamp_position(*start, dim, 0, dim);
        end = clamp_position(end, dim, 0, dim);
        return end > *start ? (end - *start - 1) / step + 1 : 0;
    }
    *start = clamp_position(*start, dim, 0, dim - 1);
    end = clamp_position(end, dim, -1, dim - 1);
    const uint64_t back = 0 - (uint64_t)step;
    return *start > end && dim > 0 ? (int64_t)((uint64_t)(*start - end - 1) / back) + 1 : 0;
}

static ln_status read_slice(ln_op *op, int64_t *starts, int64_t *ends, int64_t *steps, int *axes,
                            int *count) {
    const slice_params *params = op->params;
    const int rank = ln_in(op, 0)->shape.rank;
    int n_ends = params->ends.count;
    int n_axes;
    int n_steps = 0;
    bool has_axes;
    *count = params->starts.count;
    memcpy(starts, params->starts.values, sizeof(params->starts.values));
    memcpy(ends, params->ends.values, sizeof(params->ends.values));
    if (!params->from_attributes) {
        LN_TRY(ln_op_ints(op, 1, starts, LN_MAX_RANK, count));
        LN_TRY(ln_op_ints(op, 2, ends, LN_MAX_RANK, &n_ends));
        LN_TRY(ln_op_ints(op, 4, steps, LN_MAX_RANK, &n_steps));
    }
    LN_TRY(ln_axes_read(op, &params->axes, rank, axes, &n_axes, &has_axes));
    const bool has_steps = !params->from_attributes && ln_in(op, 4);
    LN_OP_CHECK(op, n_ends == *count, INVALID_SHAPE, "%d starts but %d ends", *count, n_ends);
    LN_OP_CHECK(op, !has_axes || n_axes == *count, INVALID_SHAPE, "%d starts but %d axes", *count, n_axes);
    LN_OP_CHECK(op, !has_steps || n_steps == *count, INVALID_SHAPE, "%d starts but %d steps", *count,
                n_steps);
    LN_OP_CHECK(op, *count <= rank, INVALID_SHAPE, "%d starts for an input of rank %d", *count, rank);
    for (int i = 0; i < *count; i++) {
        axes[i] = has_axes ? axes[i] : i;
        steps[i] = has_steps ? steps[i] : 1;
        LN_OP_CHECK(op, steps[i] != 0, INVALID_VALUE, "the step of axis %d is 0", axes[i]);
    }
    return LN_OK;
}

static ln_status infer_slice(ln_op *op) {
    slice_local *local = LN_LOCAL(op, slice_local);
    const ln_value *input = ln_in(op, 0);
    int64_t starts[LN_MAX_RANK];
    int64_t ends[LN_MAX_RANK];
    int64_t steps[LN_MAX_RANK];
    int axes[LN_MAX_RANK];
    int count;
    LN_TRY(read_slice(op, starts, ends, steps, axes, &count));
    for (int i = 0; i < input->shape.rank; i++) {
        local->start[i] = 0;
        local->step[i] = 1;
    }
    ln_shape shape = input->shape;
    bool forward = true;
    for (int i = 0; i < count; i++) {
        const int axis = axes[i];
        shape.dims[axis] = slice_length(input->shape.dims[axis], &starts[i], ends[i], steps[i]);
        local->start[axis] = starts[i];
        local->step[axis] = shape.dims[axis] > 1 ? steps[i] : 1;
        forward = forward && local->step[axis] > 0;
    }
    op->scratch_bytes = sizeof(ln_move_job);
    op->same_as = forward && ln_shape_count(&shape) == ln_value_count(input) ? input : NULL;
    return ln_op_shape(op, 0, input->dtype, &shape);
}

static ln_status run_slice(ln_op *op) {
    const slice_local *local = LN_LOCAL(op, const slice_local);
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    int64_t in_strides[LN_MAX_RANK];
    int64_t out_strides[LN_MAX_RANK];
    ln_move *move = ln_op_move_begin(op, in_strides, out_strides);
    if (!move) {
        return LN_OK;
    }
    int64_t first = 0;
    for (int i = 0; i < input->shape.rank; i++) {
        first += local->start[i] * in_strides[i];
        ln_move_axis(move, output->shape.dims[i], local->step[i] * in_strides[i], out_strides[i]);
    }
    return ln_op_move(op, first);
}

/* Tile -------------------------------------------------------------------------------------------------- */

typedef struct tile_local {
    int64_t repeats[LN_MAX_RANK];
} tile_local;

/* Version 1 repeats one axis; both numbers are tensors of the data's type. */
static ln_status read_tile_1(ln_op *op, int64_t *repeats) {
    int64_t times = 1;
    int64_t axis = 0;
    int at;
    LN_TRY(ln_op_int(op, 1, &times));
    LN_TRY(ln_op_int(op, 2, &axis));
    LN_TRY(ln_op_axis(op, axis, ln_in(op, 0)->shape.rank, &at));
    repeats[at] = times;
    return LN_OK;
}

static ln_status infer_tile(ln_op *op) {
    tile_local *local = LN_LOCAL(op, tile_local);
    const ln_value *input = ln_in(op, 0);
    const int rank = input->shape.rank;
    for (int i = 0; i < LN_MAX_RANK; i++) {
        local->repeats[i] = 1;
    }
    if (op->node->opset < 6) {
        LN_TRY(read_tile_1(op, local->repeats));
    } else {
        int count;
        LN_TRY(ln_op_ints(op, 1, local->repeats, LN_MAX_RANK, &count));
        LN_OP_CHECK(op, count == rank, INVALID_SHAPE, "%d repeats for an input of rank %d", count, rank);
    }
    ln_shape shape = input->shape;
    for (int i = 0; i < rank; i++) {
        const int64_t times = local->repeats[i];
        LN_OP_CHECK(op, times >= 0, INVALID_VALUE, "axis %d is repeated %lld times", i, (long long)times);
        LN_OP_CHECK(op, times == 0 || shape.dims[i] <= INT64_MAX / times, LIMIT_EXCEEDED,
                    "axis %d becomes too long", i);
        shape.dims[i] *= times;
    }
    op->scratch_bytes = sizeof(ln_move_job);
    op->same_as = ln_shape_count(&shape) == ln_value_count(input) ? input : NULL;
    return ln_op_shape(op, 0, input->dtype, &shape);
}

static ln_status run_tile(ln_op *op) {
    const tile_local *local = LN_LOCAL(op, const tile_local);
    const ln_value *input = ln_in(op, 0);
    int64_t in_strides[LN_MAX_RANK];
    int64_t out_strides[LN_MAX_RANK];
    ln_move *move = ln_op_move_begin(op, in_strides, out_strides);
    if (!move) {
        return LN_OK;
    }
    for (int i = 0; i < input->shape.rank; i++) {
        const int64_t dim = input->shape.dims[i];
        ln_move_axis(move, local->repeats[i], 0, out_strides[i] * dim);
        ln_move_axis(move, dim, in_strides[i], out_strides[i]);
    }
    return ln_op_move(op, 0);
}

/* UnfoldTensor ------------------------------------------------------------------------------------------ */

typedef struct unfold_params {
    int64_t axis, size, step;
} unfold_params;

static ln_status build_unfold(ln_build *build) {
    unfold_params *params = ln_build_params(build, sizeof(*params));
    ln_attr_required(build, "size");
    if (params) {
        params->axis = ln_attr_int(build, "dim", -1);
        params->size = ln_attr_int(build, "size", 1);
        params->step = ln_attr_int(build, "step", 1);
        if (params->size < 1 || params->step < 1) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "size %lld and step %lld must be positive",
                                 (long long)params->size, (long long)params->step);
        }
    }
    return ln_build_status(build);
}

static ln_status infer_unfold(ln_op *op) {
    const unfold_params *params = op->params;
    ln_shape shape = ln_in(op, 0)->shape;
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, shape.rank, &axis));
    LN_OP_CHECK(op, shape.rank < LN_MAX_RANK, LIMIT_EXCEEDED, "the result has too many axes");
    LN_OP_CHECK(op, shape.dims[axis] >= params->size, INVALID_SHAPE,
                "slices of %lld do not fit an axis of length %lld", (long long)params->size,
                (long long)shape.dims[axis]);
    shape.dims[axis] = (shape.dims[axis] - params->size) / params->step + 1;
    shape.dims[shape.rank++] = params->size;
    op->scratch_bytes = sizeof(ln_move_job);
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

static ln_status run_unfold(ln_op *op) {
    const unfold_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    int64_t in_strides[LN_MAX_RANK];
    int64_t out_strides[LN_MAX_RANK];
    ln_move *move = ln_op_move_begin(op, in_strides, out_strides);
    if (!move) {
        return LN_OK;
    }
    const int rank = input->shape.rank;
    const int axis = ln_shape_axis(params->axis, rank);
    for (int i = 0; i < rank; i++) {
        ln_move_axis(move, output->shape.dims[i], in_strides[i] * (i == axis ? params->step : 1),
                     out_strides[i]);
    }
    ln_move_axis(move, params->size, in_strides[axis], 1);
    return ln_op_move(op, 0);
}

/* Trilu ------------------------------------------------------------------------------------------------- */

typedef struct trilu_params {
    bool upper;
} trilu_params;

static ln_status build_trilu(ln_build *build) {
    trilu_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->upper = ln_attr_bool(build, "upper", true);
    }
    return ln_build_status(build);
}

static ln_status infer_trilu(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    LN_OP_CHECK(op, input->shape.rank >= 2, INVALID_SHAPE, "the input has rank %d, expected at least 2",
                (int)input->shape.rank);
    LN_TRY(ln_op_count(op, 1, "k", 1));
    return ln_infer_same(op);
}

static void trilu_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const trilu_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const int64_t width = (int64_t)ln_width(input->dtype);
    const int rank = input->shape.rank;
    const int64_t height = input->shape.dims[rank - 2];
    const int64_t n = input->shape.dims[rank - 1];
    const int64_t rows = ln_shape_product(&input->shape, 0, rank - 1);
    const int64_t k = ln_in(op, 1) ? ln_index_at(ln_in(op, 1), 0) : 0;
    int64_t begin, end;
    ln_block_range(rows, n * width, index, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        /* The columns [low, high) stay; k is clamped first, so that the sum cannot overflow. */
        const int64_t shift = k < -height ? -height : k > n ? n : k;
        const int64_t diagonal = row % height + shift;
        const int64_t low = !params->upper || diagonal < 0 ? 0 : diagonal < n ? diagonal : n;
        const int64_t high = params->upper || diagonal >= n ? n : diagonal < -1 ? 0 : diagonal + 1;
        const unsigned char *from = (const unsigned char *)input->data + row * n * width;
        unsigned char *to = (unsigned char *)output->data + row * n * width;
        memset(to, 0, (size_t)(low * width));
        if (to != from) {
            memcpy(to + low * width, from + low * width, (size_t)((high - low) * width));
        }
        memset(to + high * width, 0, (size_t)((n - high) * width));
    }
}

static ln_status run_trilu(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    if (!ln_out(op, 0) || ln_value_count(input) == 0) {
        return LN_OK;
    }
    const int rank = input->shape.rank;
    const int64_t row_bytes = input->shape.dims[rank - 1] * (int64_t)ln_width(input->dtype);
    return ln_op_grid(op, trilu_task,
                      ln_block_tasks(ln_shape_product(&input->shape, 0, rank - 1), row_bytes));
}

/* ReverseSequence --------------------------------------------------------------------------------------- */

typedef struct reverse_params {
    int64_t batch_axis, time_axis;
} reverse_params;

static ln_status build_reverse(ln_build *build) {
    reverse_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->batch_axis = ln_attr_int(build, "batch_axis", 1);
        params->time_axis = ln_attr_int(build, "time_axis", 0);
        if (params->batch_axis + params->time_axis != 1 || params->batch_axis * params->time_axis != 0) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "batch_axis %lld and time_axis %lld must be 0 and 1",
                                 (long long)params->batch_axis, (long long)params->time_axis);
        }
    }
    return ln_build_status(build);
}

static ln_status infer_reverse(ln_op *op) {
    const reverse_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_value *lengths = ln_in(op, 1);
    LN_OP_CHECK(op, input->shape.rank >= 2, INVALID_SHAPE, "the input has rank %d, expected at least 2",
                (int)input->shape.rank);
    LN_OP_CHECK(op,
                lengths->shape.rank == 1 && lengths->shape.dims[0] == input->shape.dims[params->batch_axis],
                INVALID_SHAPE, "sequence_lens must hold %lld lengths, one for each batch entry",
                (long long)input->shape.dims[params->batch_axis]);
    return ln_infer_same(op);
}

static void reverse_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const reverse_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const int64_t *dims = input->shape.dims;
    const int64_t block =
        ln_shape_product(&input->shape, 2, input->shape.rank) * (int64_t)ln_width(input->dtype);
    const int64_t rows = dims[0] * dims[1];
    int64_t begin, end;
    ln_block_range(rows, block, index, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        const int64_t at[2] = {row / dims[1], row % dims[1]};
        const int64_t time = at[params->time_axis];
        const int64_t length = ln_index_at(ln_in(op, 1), at[params->batch_axis]);
        const int64_t from = time < length ? length - 1 - time : time;
        const int64_t source = params->time_axis == 0 ? from * dims[1] + at[1] : at[0] * dims[1] + from;
        memcpy((unsigned char *)output->data + row * block,
               (const unsigned char *)input->data + source * block, (size_t)block);
    }
}

static ln_status run_reverse(ln_op *op) {
    const reverse_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const int64_t most = input->shape.dims[params->time_axis];
    const int64_t batches = input->shape.dims[params->batch_axis];
    for (int64_t i = 0; i < batches; i++) {
        const int64_t length = ln_index_at(ln_in(op, 1), i);
        LN_OP_CHECK(op, length >= 0 && length <= most, INVALID_VALUE,
                    "sequence length %lld is not in 0 to %lld", (long long)length, (long long)most);
    }
    if (!ln_out(op, 0) || ln_value_count(input) == 0) {
        return LN_OK;
    }
    const int64_t block =
        ln_shape_product(&input->shape, 2, input->shape.rank) * (int64_t)ln_width(input->dtype);
    return ln_op_grid(op, reverse_task, ln_block_tasks(most * batches, block));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run, flags)                                  \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, flags, NULL}
#define SLICE(since, until, types)                                                                           \
    ROW("Slice", since, until, "ABBB?B?>A", PAIR(types, LN_T_INDEX), build_slice, infer_slice, run_slice, 0)
#define TILE(since, until, signature, types)                                                                 \
    ROW("Tile", since, until, signature, types, ln_build_nothing, infer_tile, run_tile, 0)
#define REVERSE(since, until, types)                                                                         \
    ROW("ReverseSequence", since, until, "Al>A", types, build_reverse, infer_reverse, run_reverse, 0)

static const ln_op_row rows[] = {
    ROW("Slice", 1, 9, "A>A", LN_T_ALL, build_slice, infer_slice, run_slice, 0),
    SLICE(10, 10, LN_T_ALL),
    ROW("DynamicSlice", 1, 9, "ABBB?>A", PAIR(LN_T_ALL, LN_T_INDEX), build_dynamic_slice, infer_slice,
        run_slice, 0),
    SLICE(11, 12, LN_T_ALL),
    SLICE(13, LN_OPEN, LN_T_ALL_BF),
    TILE(1, 5, "AAA>A", LN_T_FLOAT),
    TILE(6, 12, "Al>A", LN_T_ALL),
    TILE(13, LN_OPEN, "Al>A", LN_T_ALL_BF),
    ROW("Trilu", 14, LN_OPEN, "Al?>A", LN_T_ALL_BF, build_trilu, infer_trilu, run_trilu, LN_OP_INPLACE_0),
    {"Trilu",
     "com.microsoft",
     1,
     LN_OPEN,
     "Al?>A",
     {LN_T_ALL_BF},
     build_trilu,
     infer_trilu,
     run_trilu,
     NULL,
     LN_OP_INPLACE_0,
     NULL},
    {"UnfoldTensor",
     "com.microsoft",
     1,
     LN_OPEN,
     "A>A",
     {LN_T_ALL_BF},
     build_unfold,
     infer_unfold,
     run_unfold,
     NULL,
     0,
     NULL},
    REVERSE(10, 27, LN_T_ALL),
    REVERSE(28, LN_OPEN, LN_T_ALL_BF),
};

LN_FAMILY_TABLE(slice, rows);
