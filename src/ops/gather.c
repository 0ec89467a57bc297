/* Reading by index: Gather, GatherElements, GatherND, OneHot, and the rows that one-hot products pick.
 *
 * Gather and GatherND copy blocks: everything behind the indexed axes is contiguous. GatherElements reads single
 * elements, row by row of the indices. All indices are checked before the first task, so tasks cannot fail; negative
 * ones count from the end.
 */
#include "ops/move.h"

typedef struct gather_params {
    int64_t axis; /* of GatherND: batch_dims */
} gather_params;

static ln_status build_gather(ln_build *build) {
    gather_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", 0);
    }
    return ln_build_status(build);
}

/* Gather ------------------------------------------------------------------------------------------------ */

typedef struct gather_local {
    int axis;
    int64_t dim;    /* length of the axis */
    int64_t picks;  /* number of indices */
    int64_t blocks; /* of the output */
    int64_t block;  /* bytes */
} gather_local;

static ln_status infer_gather(ln_op *op) {
    const gather_params *params = op->params;
    gather_local *local = LN_LOCAL(op, gather_local);
    const ln_value *data = ln_in(op, 0);
    const ln_shape *indices = &ln_in(op, 1)->shape;
    const int rank = data->shape.rank;
    LN_TRY(ln_op_axis(op, params->axis, rank, &local->axis));
    LN_OP_CHECK(op, rank - 1 + indices->rank <= LN_MAX_RANK, LIMIT_EXCEEDED,
                "the result would have rank %d, at most %d is supported", rank - 1 + (int)indices->rank,
                LN_MAX_RANK);
    ln_shape shape = ln_shape_of(local->axis, data->shape.dims);
    for (int i = 0; i < indices->rank; i++) {
        shape.dims[shape.rank++] = indices->dims[i];
    }
    for (int i = local->axis + 1; i < rank; i++) {
        shape.dims[shape.rank++] = data->shape.dims[i];
    }
    local->dim = data->shape.dims[local->axis];
    local->picks = ln_shape_count(indices);
    local->blocks = ln_shape_product(&data->shape, 0, local->axis) * local->picks;
    local->block = ln_shape_product(&data->shape, local->axis + 1, rank) * (int64_t)ln_width(data->dtype);
    return ln_op_shape(op, 0, data->dtype, &shape);
}

static void gather_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const gather_local *local = LN_LOCAL(op, const gather_local);
    const ln_value *indices = ln_in(op, 1);
    const unsigned char *data = ln_in(op, 0)->data;
    unsigned char *to = ln_out(op, 0)->data;
    const int64_t block = local->block;
    int64_t begin, end;
    ln_block_range(local->blocks, block, index, &begin, &end);
    int64_t outer = begin / local->picks;
    int64_t pick = begin % local->picks;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = ln_index_at(indices, pick);
        const int64_t from = outer * local->dim + (at < 0 ? at + local->dim : at);
        ln_copy_block(to + i * block, data + from * block, (size_t)block);
        if (++pick == local->picks) {
            pick = 0;
            outer++;
        }
    }
}

static ln_status run_gather(ln_op *op) {
    const gather_local *local = LN_LOCAL(op, const gather_local);
    LN_TRY(ln_check_indices(op, 1, local->dim));
    if (!ln_out(op, 0) || local->blocks == 0 || local->block == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, gather_task, ln_block_tasks(local->blocks, local->block));
}

/* PickRows ---------------------------------------------------------------------------------------------- */

/* Rows of a table [n, m] by indices [.., 1]: what the product of one-hot rows with it gives. An index outside gives zeros. */
static ln_status infer_pick(ln_op *op) {
    const ln_value *table = ln_in(op, 1);
    ln_shape shape = ln_in(op, 0)->shape;
    LN_OP_CHECK(op, shape.rank >= 1 && shape.dims[shape.rank - 1] == 1 && table->shape.rank == 2,
                INVALID_SHAPE, "indices must end in an axis of 1, and the table have two");
    shape.dims[shape.rank - 1] = table->shape.dims[1];
    return ln_op_shape(op, 0, table->dtype, &shape);
}

static void pick_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_value *indices = ln_in(op, 0);
    const ln_value *table = ln_in(op, 1);
    const int64_t block = table->shape.dims[1] * (int64_t)sizeof(float);
    unsigned char *to = ln_out(op, 0)->data;
    int64_t begin, end;
    ln_block_range(ln_value_count(indices), block, index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = ln_index_at(indices, i);
        if (at >= 0 && at < table->shape.dims[0]) {
            memcpy(to + i * block, (const unsigned char *)table->data + at * block, (size_t)block);
        } else {
            memset(to + i * block, 0, (size_t)block);
        }
    }
}

static ln_status run_pick(ln_op *op) {
    const int64_t block = ln_in(op, 1)->shape.dims[1] * (int64_t)sizeof(float);
    return block == 0 ? LN_OK
                      : ln_op_grid(op, pick_task, ln_block_tasks(ln_value_count(ln_in(op, 0)), block));
}

/* GatherElements ---------------------------------------------------------------------------------------- */

static ln_status infer_elements(ln_op *op) {
    const gather_params *params = op->params;
    gather_local *local = LN_LOCAL(op, gather_local);
    const ln_shape *data = &ln_in(op, 0)->shape;
    const ln_shape *indices = &ln_in(op, 1)->shape;
    LN_TRY(ln_op_axis(op, params->axis, data->rank, &local->axis));
    bool fits = indices->rank == data->rank;
    for (int i = 0; fits && i < data->rank; i++) {
        fits = i == local->axis || indices->dims[i] <= data->dims[i];
    }
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, fits, INVALID_SHAPE, "indices of shape %s do not fit data of shape %s on axis %d",
                ln_shape_text(indices, text[0]), ln_shape_text(data, text[1]), local->axis);
    local->dim = data->dims[local->axis];
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, indices);
}

enum { PICKS = 128 }; /* elements whose places are computed before they are read */

/* to[j] = from[places[j]], in elements of `width` bytes. */
static void pick(void *to, const void *from, size_t width, const size_t *places, int n) {
#define PICK(type)                                                                                           \
    for (int j = 0; j < n; j++) {                                                                            \
        ((type *)to)[j] = ((const type *)from)[places[j]];                                                   \
    }                                                                                                        \
    return
    switch (width) {
    case sizeof(uint8_t):
        PICK(uint8_t);
    case sizeof(uint16_t):
        PICK(uint16_t);
    case sizeof(uint32_t):
        PICK(uint32_t);
    case sizeof(uint64_t):
        PICK(uint64_t);
    default:
        for (int j = 0; j < n; j++) {
            memcpy((unsigned char *)to + (size_t)j * width, (const unsigned char *)from + places[j] * width,
                   width);
        }
    }
#undef PICK
}

/* places[j] = the element that index first + j names along an axis of `dim` entries, `stride` apart, j * inner further. */
static void place_picks(const ln_value *indices, int64_t first, int n, int64_t dim, int64_t stride,
                        int64_t inner, size_t *places) {
#define PLACE(type)                                                                                          \
    for (int j = 0; j < n; j++) {                                                                            \
        const int64_t at = ((const type *)indices->data)[first + j];                                         \
        places[j] = (size_t)(at < 0 ? at + dim : at) * (size_t)stride + (size_t)(j * inner);                 \
    }
    if (indices->dtype == LN_INT32) {
        PLACE(int32_t)
    } else {
        PLACE(int64_t)
    }
#undef PLACE
}

static void elements_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const gather_local *local = LN_LOCAL(op, const gather_local);
    const ln_value *data = ln_in(op, 0);
    const ln_value *indices = ln_in(op, 1);
    const int rank = data->shape.rank;
    const size_t width = ln_width(data->dtype);
    const int64_t n = indices->shape.dims[rank - 1];
    unsigned char *to = ln_out(op, 0)->data;
    int64_t strides[LN_MAX_RANK];
    ln_shape_strides(&data->shape, strides);
    const int64_t axis_stride = strides[local->axis];
    const int64_t inner_stride = local->axis == rank - 1 ? 0 : 1;
    const int64_t rows = ln_shape_product(&indices->shape, 0, rank - 1);
    int64_t begin, end;
    ln_block_range(rows, n * (int64_t)sizeof(int64_t), index, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row;
        int64_t base = 0;
        for (int i = rank - 2; i >= 0; i--) {
            base += i == local->axis ? 0 : rest % indices->shape.dims[i] * strides[i];
            rest /= indices->shape.dims[i];
        }
        for (int64_t j = 0; j < n; j += PICKS) {
            size_t places[PICKS];
            const int count = (int)(n - j < PICKS ? n - j : PICKS);
            place_picks(indices, row * n + j, count, local->dim, axis_stride, inner_stride, places);
            pick(to + (size_t)(row * n + j) * width,
                 (const unsigned char *)data->data + (size_t)(base + j * inner_stride) * width, width, places,
                 count);
        }
    }
}

static ln_status run_elements(ln_op *op) {
    const gather_local *local = LN_LOCAL(op, const gather_local);
    const ln_shape *indices = &ln_in(op, 1)->shape;
    LN_TRY(ln_check_indices(op, 1, local->dim));
    if (!ln_out(op, 0) || ln_shape_count(indices) == 0) {
        return LN_OK;
    }
    const int64_t row_bytes = indices->dims[indices->rank - 1] * (int64_t)sizeof(int64_t);
    return ln_op_grid(op, elements_task,
                      ln_block_tasks(ln_shape_product(indices, 0, indices->rank - 1), row_bytes));
}

/* GatherND ---------------------------------------------------------------------------------------------- */

typedef struct gather_nd_local {
    int batch_dims;
    int depth;      /* axes that one index tuple names */
    int64_t tuples; /* in each batch entry */
    int64_t blocks; /* in all */
    int64_t block;  /* bytes */
    int64_t volume; /* elements of data in each batch entry, in blocks */
} gather_nd_local;

static ln_status build_gather_nd(ln_build *build) {
    gather_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "batch_dims", 0);
    }
    return ln_build_status(build);
}

static ln_status infer_gather_nd(ln_op *op) {
    const gather_params *params = op->params;
    gather_nd_local *local = LN_LOCAL(op, gather_nd_local);
    const ln_value *data = ln_in(op, 0);
    const ln_shape *indices = &ln_in(op, 1)->shape;
    const int rank = data->shape.rank;
    LN_OP_CHECK(op, rank >= 1 && indices->rank >= 1, INVALID_SHAPE, "data and indices need at least rank 1");
    const int least = rank < indices->rank ? rank : indices->rank;
    LN_OP_CHECK(op, params->axis >= 0 && params->axis < least, INVALID_ATTRIBUTE,
                "batch_dims is %lld, expected 0 to %d", (long long)params->axis, least - 1);
    const int batch_dims = (int)params->axis;
    const int64_t depth = indices->dims[indices->rank - 1];
    LN_OP_CHECK(op, depth >= 1 && depth <= rank - batch_dims, INVALID_SHAPE,
                "the last axis of indices has length %lld, expected 1 to %d", (long long)depth,
                rank - batch_dims);
    ln_shape shape = ln_shape_of(indices->rank - 1, indices->dims);
    for (int i = 0; i < batch_dims; i++) {
        LN_OP_CHECK(op, indices->dims[i] == data->shape.dims[i], INVALID_SHAPE,
                    "batch axis %d has length %lld in data and %lld in indices", i,
                    (long long)data->shape.dims[i], (long long)indices->dims[i]);
    }
    const int behind = batch_dims + (int)depth;
    LN_OP_CHECK(op, shape.rank + rank - behind <= LN_MAX_RANK, LIMIT_EXCEEDED,
                "the result has too many axes");
    for (int i = behind; i < rank; i++) {
        shape.dims[shape.rank++] = data->shape.dims[i];
    }
    local->batch_dims = batch_dims;
    local->depth = (int)depth;
    local->tuples = ln_shape_product(indices, batch_dims, indices->rank - 1);
    local->blocks = ln_shape_product(indices, 0, indices->rank - 1);
    local->block = ln_shape_product(&data->shape, behind, rank) * (int64_t)ln_width(data->dtype);
    local->volume = ln_shape_product(&data->shape, batch_dims, behind);
    return ln_op_shape(op, 0, data->dtype, &shape);
}

/* The block that tuple `tuple` names, or -1 after *bad got the position of an index out of bounds. */
static int64_t find_block(const ln_op *op, int64_t tuple, int *bad) {
    const gather_nd_local *local = LN_LOCAL((ln_op *)op, const gather_nd_local);
    const int64_t *dims = ln_in(op, 0)->shape.dims + local->batch_dims;
    int64_t at = 0;
    for (int i = 0; i < local->depth; i++) {
        int64_t index = ln_index_at(ln_in(op, 1), tuple * local->depth + i);
        index += index < 0 ? dims[i] : 0;
        if (index < 0 || index >= dims[i]) {
            *bad = i;
            return -1;
        }
        at = at * dims[i] + index;
    }
    return tuple / local->tuples * local->volume + at;
}

static void gather_nd_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const gather_nd_local *local = LN_LOCAL(op, const gather_nd_local);
    const unsigned char *data = ln_in(op, 0)->data;
    unsigned char *to = ln_out(op, 0)->data;
    int64_t begin, end;
    ln_block_range(local->blocks, local->block, index, &begin, &end);
    int bad;
    for (int64_t i = begin; i < end; i++) {
        ln_copy_block(to + i * local->block, data + find_block(op, i, &bad) * local->block,
                      (size_t)local->block);
    }
}

static ln_status run_gather_nd(ln_op *op) {
    const gather_nd_local *local = LN_LOCAL(op, const gather_nd_local);
    int bad = 0;
    for (int64_t i = 0; i < local->blocks; i++) {
        LN_OP_CHECK(op, find_block(op, i, &bad) >= 0, INVALID_VALUE,
                    "index %lld is out of bounds for axis %d of length %lld",
                    (long long)ln_index_at(ln_in(op, 1), i * local->depth + bad), local->batch_dims + bad,
                    (long long)ln_in(op, 0)->shape.dims[local->batch_dims + bad]);
    }
    if (!ln_out(op, 0) || local->blocks == 0 || local->block == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, gather_nd_task, ln_block_tasks(local->blocks, local->block));
}

/* OneHot ------------------------------------------------------------------------------------------------ */

typedef struct one_hot_local {
    int64_t outer, depth, inner;
} one_hot_local;

static ln_status build_one_hot(ln_build *build) {
    gather_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", -1);
    }
    return ln_build_status(build);
}

static ln_status infer_one_hot(ln_op *op) {
    const gather_params *params = op->params;
    one_hot_local *local = LN_LOCAL(op, one_hot_local);
    const ln_shape *indices = &ln_in(op, 0)->shape;
    const ln_value *values = ln_in(op, 2);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, values->shape.rank == 1 && values->shape.dims[0] == 2, INVALID_SHAPE,
                "values of shape %s must hold the off and the on value", ln_shape_text(&values->shape, text));
    int64_t depth = 0;
    LN_TRY(ln_op_int(op, 1, &depth));
    LN_OP_CHECK(op, depth >= 0, INVALID_VALUE, "depth is %lld, expected 0 or more", (long long)depth);
    LN_OP_CHECK(op, indices->rank < LN_MAX_RANK, LIMIT_EXCEEDED, "the result has too many axes");
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, indices->rank + 1, &axis));
    ln_shape shape = ln_shape_of(axis, indices->dims);
    shape.dims[shape.rank++] = depth;
    for (int i = axis; i < indices->rank; i++) {
        shape.dims[shape.rank++] = indices->dims[i];
    }
    *local = (one_hot_local){ln_shape_product(indices, 0, axis), depth,
                             ln_shape_product(indices, axis, indices->rank)};
    return ln_op_shape(op, 0, values->dtype, &shape);
}

static void one_hot_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const one_hot_local *local = LN_LOCAL(op, const one_hot_local);
    const ln_value *indices = ln_in(op, 0);
    const ln_value *values = ln_in(op, 2);
    const size_t width = ln_width(values->dtype);
    const unsigned char *on = (const unsigned char *)values->data + width;
    const int64_t rows = local->depth * local->inner; /* elements behind one outer position */
    int64_t begin, end;
    ln_block_range(local->outer, rows * (int64_t)width, index, &begin, &end);
    unsigned char *to = (unsigned char *)ln_out(op, 0)->data + (size_t)(begin * rows) * width;
    ln_fill(to, (end - begin) * rows, width, values->data);
    const int64_t lowest = op->node->opset < 11 ? 0 : -local->depth;
    const int64_t first = begin * local->inner;
    const int64_t last = end * local->inner;
    for (int64_t at = first; at < last; at += LN_TILE) {
        int64_t tile[LN_TILE];
        const int64_t n = last - at < LN_TILE ? last - at : LN_TILE;
        ln_load_i64(indices->dtype, indices->data, at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            if (tile[i] >= lowest && tile[i] < local->depth) {
                const int64_t hot = tile[i] < 0 ? tile[i] + local->depth : tile[i];
                const int64_t outer = (at + i) / local->inner;
                const int64_t inner = (at + i) % local->inner;
                ln_copy_block((unsigned char *)ln_out(op, 0)->data +
                                  (size_t)((outer * local->depth + hot) * local->inner + inner) * width,
                              on, width);
            }
        }
    }
}

static ln_status run_one_hot(ln_op *op) {
    const one_hot_local *local = LN_LOCAL(op, const one_hot_local);
    if (!ln_out(op, 0) || ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    const int64_t row_bytes = local->depth * local->inner * (int64_t)ln_width(ln_in(op, 2)->dtype);
    return ln_op_grid(op, one_hot_task, ln_block_tasks(local->outer, row_bytes));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b)      a, b
#define TRIPLE(a, b, c) a, b, c
#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, 0, NULL}
#define GATHER(since, until, types)                                                                          \
    ROW("Gather", since, until, "AB>A", PAIR(types, LN_T_INDEX), build_gather, infer_gather, run_gather)
#define ELEMENTS(since, until, types)                                                                        \
    ROW("GatherElements", since, until, "AB>A", PAIR(types, LN_T_INDEX), build_gather, infer_elements,       \
        run_elements)
#define GATHER_ND(since, until, types)                                                                       \
    ROW("GatherND", since, until, "Al>A", types, build_gather_nd, infer_gather_nd, run_gather_nd)
#define ONE_HOT(since, until, types)                                                                         \
    ROW("OneHot", since, until, "ABC>C", TRIPLE(LN_T_NUMBER, LN_T_NUMBER, types), build_one_hot,             \
        infer_one_hot, run_one_hot)

static const ln_op_row rows[] = {
    {"PickRows", /* made by a rewrite */
     "linnet",
     1,
     LN_OPEN,
     "AB>B",
     {LN_T_INDEX, LN_BIT(LN_FLOAT), 0},
     ln_build_nothing,
     infer_pick,
     run_pick,
     NULL,
     0,
     NULL},
    GATHER(1, 10, LN_T_ALL),
    GATHER(11, 12, LN_T_ALL),
    GATHER(13, LN_OPEN, LN_T_ALL_BF),
    ELEMENTS(11, 12, LN_T_ALL),
    ELEMENTS(13, LN_OPEN, LN_T_ALL_BF),
    GATHER_ND(11, 11, LN_T_ALL),
    GATHER_ND(12, 12, LN_T_ALL),
    GATHER_ND(13, LN_OPEN, LN_T_ALL_BF),
    {"GatherND",
     "com.microsoft",
     1,
     LN_OPEN,
     "AB>A",
     {LN_T_ALL, LN_T_INDEX},
     build_gather_nd,
     infer_gather_nd,
     run_gather_nd,
     NULL,
     0,
     NULL},
    ONE_HOT(9, 10, LN_T_ALL),
    ONE_HOT(11, 27, LN_T_ALL),
    ONE_HOT(28, LN_OPEN, LN_T_ALL_BF),
};

LN_FAMILY_TABLE(gather, rows);
