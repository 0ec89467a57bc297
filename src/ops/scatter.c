/* Writing by index: ScatterElements (Scatter), ScatterND, TensorScatter.
 *
 * The data is copied to the output by a grid, unless it is there already; the updates follow in their order on one
 * thread, because indices may repeat and the last one, or the order of a sum, must not depend on threads.
 * Reductions combine tiles in the compute class of the element type.
 */
#include "ops/move.h"

enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN };

typedef struct scatter_params {
    int64_t axis;
    enum reduction reduction;
    bool circular; /* TensorScatter */
} scatter_params;

static ln_status build_scatter(ln_build *build) {
    static const char *const names[] = {"none", "add", "mul", "max", "min", NULL};
    scatter_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", 0);
        params->reduction = (enum reduction)ln_attr_choice(build, "reduction", names, REDUCE_NONE);
    }
    return ln_build_status(build);
}

/* Reductions -------------------------------------------------------------------------------------------- */

/* A NaN wins over every number, as numpy's maximum and minimum have it. */
#define COMBINE(name, type)                                                                                  \
    static void name(enum reduction reduction, type *a, const type *b, int64_t n) {                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            switch (reduction) {                                                                             \
            case REDUCE_ADD:                                                                                 \
                a[i] = (type)(a[i] + b[i]);                                                                  \
                break;                                                                                       \
            case REDUCE_MUL:                                                                                 \
                a[i] = (type)(a[i] * b[i]);                                                                  \
                break;                                                                                       \
            case REDUCE_MAX:                                                                                 \
                a[i] = b[i] > a[i] || b[i] != b[i] ? b[i] : a[i];                                            \
                break;                                                                                       \
            case REDUCE_MIN:                                                                                 \
                a[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];                                            \
                break;                                                                                       \
            default:                                                                                         \
                a[i] = b[i];                                                                                 \
            }                                                                                                \
        }                                                                                                    \
    }
COMBINE(combine_f32, float)
COMBINE(combine_f64, double)
COMBINE(combine_u64, uint64_t)

/* Signed sums and products wrap, so they run unsigned; only the order of two numbers needs the sign. */
static void combine_i64(enum reduction reduction, int64_t *a, const int64_t *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (reduction == REDUCE_MAX || reduction == REDUCE_MIN) {
            a[i] = (b[i] > a[i]) == (reduction == REDUCE_MAX) ? b[i] : a[i];
        } else {
            uint64_t left = (uint64_t)a[i];
            const uint64_t right = (uint64_t)b[i];
            combine_u64(reduction, &left, &right, 1);
            a[i] = (int64_t)left;
        }
    }
}

/* Complex numbers as pairs of doubles: sums by part, products as (ac - bd, ad + bc). */
static void combine_complex(enum reduction reduction, double *a, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i += 2) {
        const double re = a[i];
        const double im = a[i + 1];
        a[i] = reduction == REDUCE_ADD ? re + b[i] : re * b[i] - im * b[i + 1];
        a[i + 1] = reduction == REDUCE_ADD ? im + b[i + 1] : re * b[i + 1] + im * b[i];
    }
}

#define TILES(type, load, store, combine)                                                                    \
    {                                                                                                        \
        type a[LN_TILE], b[LN_TILE];                                                                         \
        load(dtype, dst, to + at, m, a);                                                                     \
        load(dtype, src, from + at, m, b);                                                                   \
        combine(reduction, a, b, m);                                                                         \
        store(dtype, dst, to + at, m, a);                                                                    \
        break;                                                                                               \
    }

/* dst[to..to+n) = reduction of it and src[from..from+n). */
static void reduce_block(enum reduction reduction, ln_dtype dtype, void *dst, int64_t to, const void *src,
                         int64_t from, int64_t n) {
    if (reduction == REDUCE_NONE) {
        const size_t width = ln_width(dtype);
        ln_copy_block((unsigned char *)dst + (size_t)to * width,
                      (const unsigned char *)src + (size_t)from * width, (size_t)n * width);
        return;
    }
    if (dtype == LN_FLOAT) {
        combine_f32(reduction, (float *)dst + to, (const float *)src + from, n);
        return;
    }
    const ln_compute compute = ln_dtype_compute(dtype);
    if (compute == LN_COMPUTE_COMPLEX) { /* twice as many reals */
        dtype = dtype == LN_COMPLEX64 ? LN_FLOAT : LN_DOUBLE;
        to *= 2, from *= 2, n *= 2;
    }
    for (int64_t at = 0; at < n; at += LN_TILE) {
        const int64_t m = n - at < LN_TILE ? n - at : LN_TILE;
        switch (compute) {
        case LN_COMPUTE_F32:
            TILES(float, ln_load_f32, ln_store_f32, combine_f32)
        case LN_COMPUTE_F64:
            TILES(double, ln_load_f64, ln_store_f64, combine_f64)
        case LN_COMPUTE_COMPLEX:
            TILES(double, ln_load_f64, ln_store_f64, combine_complex)
        case LN_COMPUTE_U64:
            combine_u64(reduction, (uint64_t *)dst + to + at, (const uint64_t *)src + from + at, m);
            break;
        default:
            TILES(int64_t, ln_load_i64, ln_store_i64, combine_i64)
        }
    }
}

static ln_status check_reduction(ln_op *op) {
    const scatter_params *params = op->params;
    const ln_compute compute = ln_dtype_compute(ln_in(op, 0)->dtype);
    const bool sums = params->reduction == REDUCE_ADD || params->reduction == REDUCE_MUL;
    LN_OP_CHECK(op,
                params->reduction == REDUCE_NONE ||
                    (compute != LN_COMPUTE_NONE && (compute != LN_COMPUTE_COMPLEX || sums)),
                INVALID_TYPE, "elements of type %s have no such reduction",
                ln_dtype_name(ln_in(op, 0)->dtype));
    return LN_OK;
}

/* Copying the data --------------------------------------------------------------------------------------- */

static void copy_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const int64_t bytes = (int64_t)ln_value_bytes(ln_in(op, 0));
    int64_t begin, end;
    ln_op_range(bytes, ln_op_tasks(bytes, LN_MOVE_GRAIN_BYTES), index, &begin, &end);
    memcpy((unsigned char *)ln_out(op, 0)->data + begin, (const unsigned char *)ln_in(op, 0)->data + begin,
           (size_t)(end - begin));
}

/* Copies input 0 to output 0 unless they share their bytes; `then` follows. */
static ln_status copy_then(ln_op *op, ln_status (*then)(ln_op *op)) {
    if (!ln_out(op, 0)) {
        return LN_OK;
    }
    if (ln_out(op, 0)->data == ln_in(op, 0)->data) {
        return then(op);
    }
    return ln_op_grid_then(op, copy_task,
                           ln_op_tasks((int64_t)ln_value_bytes(ln_in(op, 0)), LN_MOVE_GRAIN_BYTES), then);
}

/* ScatterElements --------------------------------------------------------------------------------------- */

typedef struct scatter_local {
    int axis;
} scatter_local;

static ln_status infer_elements(ln_op *op) {
    const scatter_params *params = op->params;
    scatter_local *local = LN_LOCAL(op, scatter_local);
    const ln_shape *data = &ln_in(op, 0)->shape;
    const ln_shape *indices = &ln_in(op, 1)->shape;
    const ln_shape *updates = &ln_in(op, 2)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_TRY(check_reduction(op));
    LN_TRY(ln_op_axis(op, params->axis, data->rank, &local->axis));
    LN_OP_CHECK(op, ln_shape_equal(indices, updates), INVALID_SHAPE, "indices have shape %s, but updates %s",
                ln_shape_text(indices, text[0]), ln_shape_text(updates, text[1]));
    bool fits = indices->rank == data->rank;
    for (int i = 0; fits && i < data->rank; i++) {
        fits = i == local->axis || indices->dims[i] <= data->dims[i];
    }
    LN_OP_CHECK(op, fits, INVALID_SHAPE, "indices of shape %s do not fit data of shape %s on axis %d",
                ln_shape_text(indices, text[0]), ln_shape_text(data, text[1]), local->axis);
    return ln_infer_same(op);
}

static ln_status scatter_elements(ln_op *op) {
    const scatter_params *params = op->params;
    const int axis = LN_LOCAL(op, const scatter_local)->axis;
    const ln_value *indices = ln_in(op, 1);
    const ln_value *output = ln_out(op, 0);
    const int rank = output->shape.rank;
    const int64_t n = indices->shape.dims[rank - 1];
    const int64_t rows = n > 0 ? ln_value_count(indices) / n : 0;
    const int64_t dim = output->shape.dims[axis];
    int64_t strides[LN_MAX_RANK];
    ln_shape_strides(&output->shape, strides);
    const int64_t inner_stride = axis == rank - 1 ? 0 : 1;
    for (int64_t row = 0; row < rows; row++) {
        int64_t rest = row;
        int64_t base = 0;
        for (int i = rank - 2; i >= 0; i--) {
            base += i == axis ? 0 : rest % indices->shape.dims[i] * strides[i];
            rest /= indices->shape.dims[i];
        }
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = ln_index_at(indices, row * n + j);
            const int64_t to = base + j * inner_stride + (at < 0 ? at + dim : at) * strides[axis];
            reduce_block(params->reduction, output->dtype, output->data, to, ln_in(op, 2)->data, row * n + j,
                         1);
        }
    }
    return LN_OK;
}

static ln_status run_elements(ln_op *op) {
    LN_TRY(ln_check_indices(op, 1, ln_in(op, 0)->shape.dims[LN_LOCAL(op, const scatter_local)->axis]));
    return copy_then(op, scatter_elements);
}

/* ScatterND --------------------------------------------------------------------------------------------- */

static int64_t tuples_of(const ln_value *indices) {
    return ln_shape_product(&indices->shape, 0, indices->shape.rank - 1);
}

static ln_status infer_nd(ln_op *op) {
    const ln_shape *data = &ln_in(op, 0)->shape;
    const ln_shape *indices = &ln_in(op, 1)->shape;
    const ln_shape *updates = &ln_in(op, 2)->shape;
    LN_TRY(check_reduction(op));
    LN_OP_CHECK(op, data->rank >= 1 && indices->rank >= 1, INVALID_SHAPE,
                "data and indices need at least rank 1");
    const int64_t depth = indices->dims[indices->rank - 1];
    LN_OP_CHECK(op, depth <= data->rank, INVALID_SHAPE,
                "the last axis of indices has length %lld, expected at most %d", (long long)depth,
                (int)data->rank);
    bool fits = updates->rank == indices->rank - 1 + data->rank - depth;
    for (int i = 0; fits && i < updates->rank; i++) {
        fits = updates->dims[i] ==
               (i < indices->rank - 1 ? indices->dims[i] : data->dims[i - (indices->rank - 1) + (int)depth]);
    }
    char text[3][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(
        op, fits, INVALID_SHAPE, "updates of shape %s do not fit indices of shape %s and data of shape %s",
        ln_shape_text(updates, text[0]), ln_shape_text(indices, text[1]), ln_shape_text(data, text[2]));
    LN_OP_CHECK(op, tuples_of(ln_in(op, 1)) < (int64_t)(SIZE_MAX / sizeof(uint32_t)), LIMIT_EXCEEDED,
                "there are too many index tuples");
    op->scratch_bytes = (size_t)tuples_of(ln_in(op, 1)) * sizeof(uint32_t);
    return ln_infer_same(op);
}

/*
 * Looks up the blocks that the tuples name, counted from the start of the data; returns the first tuple that is out of
 * bounds, or their number. Data that fits in memory has fewer than 2^32 blocks.
 */
#define FIND_BLOCKS(name, type)                                                                              \
    static int64_t name(const ln_shape *data, const type *index, int64_t depth, int64_t tuples,              \
                        uint32_t *blocks) {                                                                  \
        int64_t dims[LN_MAX_RANK];                                                                           \
        memcpy(dims, data->dims, sizeof(dims));                                                              \
        for (int64_t i = 0; i < tuples; i++, index += depth) {                                               \
            uint64_t at = 0;                                                                                 \
            for (int64_t j = 0; j < depth; j++) {                                                            \
                const int64_t from_end = index[j] < 0 ? dims[j] : 0;                                         \
                const uint64_t position = (uint64_t)(index[j] + from_end);                                   \
                if (position >= (uint64_t)dims[j]) {                                                         \
                    return i;                                                                                \
                }                                                                                            \
                at = at * (uint64_t)dims[j] + position;                                                      \
            }                                                                                                \
            blocks[i] = (uint32_t)at;                                                                        \
        }                                                                                                    \
        return tuples;                                                                                       \
    }
FIND_BLOCKS(find_blocks_i32, int32_t)
FIND_BLOCKS(find_blocks_i64, int64_t)

/* Exported assignments to slices name one block after the other: such runs move at once. */
static ln_status scatter_nd(ln_op *op) {
    const scatter_params *params = op->params;
    const ln_value *indices = ln_in(op, 1);
    const ln_value *output = ln_out(op, 0);
    const uint32_t *blocks = op->scratch;
    const int depth = (int)indices->shape.dims[indices->shape.rank - 1];
    const int64_t block = ln_shape_product(&output->shape, depth, output->shape.rank);
    const int64_t tuples = tuples_of(indices);
    for (int64_t begin = 0, end; begin < tuples; begin = end) {
        end = begin + 1;
        while (end < tuples && blocks[end] == blocks[end - 1] + 1) {
            end++;
        }
        reduce_block(params->reduction, output->dtype, output->data, blocks[begin] * block,
                     ln_in(op, 2)->data, begin * block, (end - begin) * block);
    }
    return LN_OK;
}

static ln_status run_nd(ln_op *op) {
    const ln_shape *data = &ln_in(op, 0)->shape;
    const ln_value *indices = ln_in(op, 1);
    const int64_t depth = indices->shape.dims[indices->shape.rank - 1];
    const int64_t tuples = tuples_of(indices);
    const int64_t found = indices->dtype == LN_INT32
                              ? find_blocks_i32(data, indices->data, depth, tuples, op->scratch)
                              : find_blocks_i64(data, indices->data, depth, tuples, op->scratch);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, found == tuples, INVALID_VALUE, "index tuple %lld is out of bounds for data of shape %s",
                (long long)found, ln_shape_text(data, text));
    return copy_then(op, scatter_nd);
}

/* TensorScatter ----------------------------------------------------------------------------------------- */

static ln_status build_tensor_scatter(ln_build *build) {
    static const char *const modes[] = {"linear", "circular", NULL};
    scatter_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", -2);
        params->circular = ln_attr_choice(build, "mode", modes, 0) == 1;
    }
    return ln_build_status(build);
}

static ln_status infer_tensor_scatter(ln_op *op) {
    const scatter_params *params = op->params;
    scatter_local *local = LN_LOCAL(op, scatter_local);
    const ln_shape *cache = &ln_in(op, 0)->shape;
    const ln_shape *update = &ln_in(op, 1)->shape;
    const ln_value *starts = ln_in(op, 2);
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_TRY(ln_op_axis(op, params->axis, cache->rank, &local->axis));
    LN_OP_CHECK(op, local->axis > 0, INVALID_ATTRIBUTE, "axis 0 is the batch axis");
    bool fits = update->rank == cache->rank;
    for (int i = 0; fits && i < cache->rank; i++) {
        fits = i == local->axis ? update->dims[i] <= cache->dims[i] : update->dims[i] == cache->dims[i];
    }
    LN_OP_CHECK(op, fits, INVALID_SHAPE, "an update of shape %s does not fit a cache of shape %s on axis %d",
                ln_shape_text(update, text[0]), ln_shape_text(cache, text[1]), local->axis);
    LN_OP_CHECK(op, !starts || (starts->shape.rank == 1 && starts->shape.dims[0] == cache->dims[0]),
                INVALID_SHAPE, "write_indices must hold %lld numbers, one for each batch entry",
                (long long)cache->dims[0]);
    LN_TRY(ln_infer_same(op));
    op->scratch_bytes = ln_unpacked_bytes(ln_in(op, 0)) + ln_unpacked_bytes(ln_in(op, 1));
    return LN_OK;
}

/* Writes the updates into `cache`, whose elements are a byte or more wide. */
static void write_updates(const ln_op *op, int axis, unsigned char *cache, const unsigned char *update) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    const int64_t width = (int64_t)ln_width(ln_in(op, 0)->dtype);
    const int64_t block = ln_shape_product(shape, axis + 1, shape->rank) * width;
    const int64_t length = shape->dims[axis];
    const int64_t n = ln_in(op, 1)->shape.dims[axis];
    const int64_t per_batch = ln_shape_product(shape, 1, axis);
    const int64_t rows = shape->dims[0] * per_batch;
    for (int64_t row = 0; row < rows && n > 0; row++) {
        const int64_t start = ln_in(op, 2) ? ln_index_at(ln_in(op, 2), row / per_batch) % length : 0;
        const int64_t first = n < length - start ? n : length - start; /* the rest wraps around */
        const unsigned char *from = update + row * n * block;
        unsigned char *to = cache + row * length * block;
        memcpy(to + start * block, from, (size_t)(first * block));
        memcpy(to, from + first * block, (size_t)((n - first) * block));
    }
}

static ln_status tensor_scatter(ln_op *op) {
    const int axis = LN_LOCAL(op, const scatter_local)->axis;
    const ln_value *output = ln_out(op, 0);
    unsigned char *scratch = op->scratch;
    const void *update = ln_unpacked(ln_in(op, 1), &scratch);
    unsigned char *cache = (unsigned char *)(void *)(uintptr_t)ln_unpacked(output, &scratch);
    write_updates(op, axis, cache, update);
    if (ln_is_packed(output->dtype)) {
        ln_repack(output->dtype, output->data, 0, ln_value_count(output), cache);
    }
    return LN_OK;
}

static ln_status run_tensor_scatter(ln_op *op) {
    const scatter_params *params = op->params;
    const int axis = LN_LOCAL(op, const scatter_local)->axis;
    const ln_value *starts = ln_in(op, 2);
    const int64_t length = ln_in(op, 0)->shape.dims[axis];
    const int64_t room = params->circular ? INT64_MAX : length - ln_in(op, 1)->shape.dims[axis];
    for (int64_t i = 0; starts && i < ln_value_count(starts); i++) {
        const int64_t start = ln_index_at(starts, i);
        LN_OP_CHECK(op, start >= 0 && start <= room, INVALID_VALUE,
                    "write index %lld leaves no room for %lld entries in a cache of %lld", (long long)start,
                    (long long)ln_in(op, 1)->shape.dims[axis], (long long)length);
    }
    return copy_then(op, tensor_scatter);
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, LN_OP_INPLACE_0, NULL}
#define ELEMENTS(name, since, until, types)                                                                  \
    ROW(name, since, until, "ABA>A", PAIR(types, LN_T_INDEX), build_scatter, infer_elements, run_elements)
#define SCATTER_ND(since, until, types)                                                                      \
    ROW("ScatterND", since, until, "AlA>A", types, build_scatter, infer_nd, run_nd)

static const ln_op_row rows[] = {
    ELEMENTS("Scatter", 9, 10, LN_T_ALL),
    ELEMENTS("Scatter", 11, LN_OPEN, LN_T_ALL),
    ELEMENTS("ScatterElements", 11, 12, LN_T_ALL),
    ELEMENTS("ScatterElements", 13, 15, LN_T_ALL_BF),
    ELEMENTS("ScatterElements", 16, 17, LN_T_ALL_BF),
    ELEMENTS("ScatterElements", 18, LN_OPEN, LN_T_ALL_BF),
    SCATTER_ND(11, 12, LN_T_ALL),
    SCATTER_ND(13, 15, LN_T_ALL_BF),
    SCATTER_ND(16, 17, LN_T_ALL_BF),
    SCATTER_ND(18, LN_OPEN, LN_T_ALL_BF),
    ROW("TensorScatter", 24, LN_OPEN, "AAl?>A", LN_T_ALL_IR12, build_tensor_scatter, infer_tensor_scatter,
        run_tensor_scatter),
};

LN_FAMILY_TABLE(scatter, rows);
