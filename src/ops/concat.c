/* Concat and Split: one whole and its parts along an axis.
 *
 * Seen from the axis, the whole is rows of elements and each part owns a column range of it: a part is a strided copy
 * of `rows` runs. The elements of all parts, one part after the other, are cut into tasks; a task may touch several.
 */
#include "ops/move.h"

/* The geometry both share: rows before the axis, elements behind one index of it. */
typedef struct parts_local {
    int axis;
    int64_t rows, inner, whole; /* whole: length of the axis in the whole */
    int64_t chunk;              /* Split into equal parts: their length, or -1 */
} parts_local;

static parts_local parts_of(const ln_shape *shape, int axis) {
    parts_local parts = {axis, ln_shape_product(shape, 0, axis),
                         ln_shape_product(shape, axis + 1, shape->rank), shape->dims[axis], -1};
    return parts;
}

/* Moves the elements [begin, end) of one part; positions count from the part's first element. */
static void move_part(const parts_local *parts, const ln_value *whole, const ln_value *part, int64_t offset,
                      bool gather, int64_t begin, int64_t end) {
    const int64_t length = part->shape.dims[parts->axis] * parts->inner;
    const int64_t row = parts->whole * parts->inner;
    const size_t width = ln_width(whole->dtype);
    unsigned char *inside = (unsigned char *)whole->data + (size_t)(offset * parts->inner) * width;
    ln_move move;
    ln_move_begin(&move, width);
    ln_move_axis(&move, parts->rows, gather ? length : row, gather ? row : length);
    ln_move_axis(&move, length, 1, 1);
    ln_move_end(&move);
    /* Runs may have become wider units: a unit belongs to the task that its first element belongs to. */
    const int64_t fold = (int64_t)(move.width / width);
    ln_move_range(&move, gather ? inside : part->data, gather ? part->data : inside,
                  (begin + fold - 1) / fold, (end + fold - 1) / fold);
}

static int64_t parts_tasks(const ln_value *whole) {
    return ln_op_tasks(ln_value_count(whole), LN_MOVE_GRAIN_BYTES / (int64_t)ln_width(whole->dtype));
}

/* Concat ------------------------------------------------------------------------------------------------ */

typedef struct concat_params {
    int64_t axis;
} concat_params;

static ln_status build_concat(ln_build *build) {
    concat_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        if (build->opset >= 4) {
            ln_attr_required(build, "axis");
        }
        params->axis = ln_attr_int(build, "axis", 1);
    }
    return ln_build_status(build);
}

static ln_status infer_concat(ln_op *op) {
    const concat_params *params = op->params;
    parts_local *local = LN_LOCAL(op, parts_local);
    ln_shape shape = ln_in(op, 0)->shape;
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, shape.rank, &axis));
    op->same_as = ln_in(op, 0);
    for (int i = 1; i < op->n_inputs; i++) {
        const ln_value *input = ln_in(op, i);
        if (!input) {
            continue;
        }
        op->same_as = shape.dims[axis] == 0 ? input : input->shape.dims[axis] == 0 ? op->same_as : NULL;
        bool fits = input->shape.rank == shape.rank;
        for (int d = 0; fits && d < shape.rank; d++) {
            fits = d == axis || input->shape.dims[d] == shape.dims[d];
        }
        char first[LN_SHAPE_TEXT_BYTES];
        char other[LN_SHAPE_TEXT_BYTES];
        LN_OP_CHECK(op, fits, INVALID_SHAPE, "input %d has shape %s, which does not join %s on axis %d", i,
                    ln_shape_text(&input->shape, other), ln_shape_text(&ln_in(op, 0)->shape, first), axis);
        LN_OP_CHECK(op, shape.dims[axis] <= INT64_MAX - input->shape.dims[axis], LIMIT_EXCEEDED,
                    "axis %d becomes too long", axis);
        shape.dims[axis] += input->shape.dims[axis];
    }
    *local = parts_of(&shape, axis);
    op->in_order = local->rows == 1 && ln_dtype_bits(ln_in(op, 0)->dtype) >= 8;
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

/* Whether a part has been made where it goes (src/run/place.c): at element `first` of the whole. */
static bool lies_in_place(const ln_op *op, const ln_value *part, int64_t first) {
    const ln_value *whole = ln_out(op, 0);
    return op->in_order &&
           part->data == (const unsigned char *)whole->data + (size_t)first * ln_width(whole->dtype);
}

static void concat_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const parts_local *local = LN_LOCAL(op, const parts_local);
    const ln_value *output = ln_out(op, 0);
    int64_t begin, end;
    ln_op_range(ln_value_count(output), parts_tasks(output), index, &begin, &end);
    int64_t offset = 0;
    int64_t first = 0;
    for (int i = 0; i < op->n_inputs && first < end; i++) {
        const ln_value *part = ln_in(op, i);
        if (!part) {
            continue;
        }
        const int64_t count = ln_value_count(part);
        if (first + count > begin && count > 0 && !lies_in_place(op, part, first)) {
            move_part(local, output, part, offset, true, begin > first ? begin - first : 0,
                      end - first < count ? end - first : count);
        }
        offset += part->shape.dims[local->axis];
        first += count;
    }
}

static ln_status run_concat(ln_op *op) {
    int64_t first = 0;
    bool done = true;
    for (int i = 0; i < op->n_inputs && ln_out(op, 0); i++) {
        const ln_value *part = ln_in(op, i);
        done = done && (!part || lies_in_place(op, part, first));
        first += part ? ln_value_count(part) : 0;
    }
    return !done ? ln_op_grid(op, concat_task, parts_tasks(ln_out(op, 0))) : LN_OK;
}

/* Split ------------------------------------------------------------------------------------------------- */

typedef struct split_params {
    int64_t axis;
    int64_t num_outputs; /* 0 when not given */
    const int64_t *sizes;
    int n_sizes;
    bool uneven; /* the last part may be smaller */
} split_params;

static ln_status build_split(ln_build *build) {
    split_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", 0);
        params->sizes = ln_attr_ints(build, "split", &params->n_sizes);
        params->num_outputs = ln_attr_int(build, "num_outputs", 0);
        params->uneven = build->opset >= 18;
        if (params->num_outputs < 0 ||
            (params->num_outputs > 0 && params->num_outputs < build->node->n_outputs)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "num_outputs is %lld, but the node has %d outputs",
                                 (long long)params->num_outputs, (int)build->node->n_outputs);
        }
    }
    return ln_build_status(build);
}

/* Length of part `index`. */
static int64_t part_length(const ln_op *op, const parts_local *local, int index) {
    const split_params *params = op->params;
    if (ln_in(op, 1)) {
        int64_t length = 0;
        ln_load_i64(ln_in(op, 1)->dtype, ln_in(op, 1)->data, index, 1, &length);
        return length;
    }
    if (params->sizes) {
        return params->sizes[index];
    }
    const int64_t left = local->whole - local->chunk * index;
    return left < 0 ? 0 : left < local->chunk ? left : local->chunk;
}

/* Sets the length of equal parts. */
static ln_status equal_parts(ln_op *op, parts_local *local) {
    const split_params *params = op->params;
    const int64_t n = params->num_outputs > 0 ? params->num_outputs : op->n_outputs;
    LN_OP_CHECK(op, n > 0, INVALID_GRAPH, "the node has no outputs");
    LN_OP_CHECK(op, params->uneven || local->whole % n == 0, INVALID_SHAPE,
                "axis %d of length %lld does not split into %lld equal parts", local->axis,
                (long long)local->whole, (long long)n);
    local->chunk = (local->whole + n - 1) / n;
    return LN_OK;
}

static ln_status infer_split(ln_op *op) {
    const split_params *params = op->params;
    parts_local *local = LN_LOCAL(op, parts_local);
    const ln_value *input = ln_in(op, 0);
    const ln_value *sizes = ln_in(op, 1);
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, input->shape.rank, &axis));
    *local = parts_of(&input->shape, axis);
    LN_TRY(ln_op_want(op, 1));
    if (sizes || params->sizes) {
        const int64_t n = sizes ? ln_value_count(sizes) : params->n_sizes;
        LN_OP_CHECK(op, n >= op->n_outputs && n <= INT32_MAX, INVALID_SHAPE,
                    "split has %lld lengths for %d outputs", (long long)n, op->n_outputs);
        int64_t sum = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t length = part_length(op, local, (int)i);
            LN_OP_CHECK(op, length >= 0 && length <= local->whole - sum, INVALID_VALUE,
                        "part %d has length %lld, %lld are left of axis %d", (int)i, (long long)length,
                        (long long)(local->whole - sum), axis);
            sum += length;
        }
        LN_OP_CHECK(op, sum == local->whole, INVALID_VALUE,
                    "the parts add up to %lld, axis %d has length %lld", (long long)sum, axis,
                    (long long)local->whole);
    } else {
        LN_TRY(equal_parts(op, local));
    }
    ln_shape shape = input->shape;
    for (int i = 0; i < op->n_outputs; i++) {
        shape.dims[axis] = part_length(op, local, i);
        LN_TRY(ln_op_shape(op, i, input->dtype, &shape));
    }
    return LN_OK;
}

static void split_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const parts_local *local = LN_LOCAL(op, const parts_local);
    const ln_value *input = ln_in(op, 0);
    int64_t begin, end;
    ln_op_range(ln_value_count(input), parts_tasks(input), index, &begin, &end);
    int64_t offset = 0;
    int64_t first = 0;
    for (int i = 0; i < op->n_outputs && first < end; i++) {
        const int64_t length = part_length(op, local, i);
        const int64_t count = length * local->rows * local->inner;
        if (ln_out(op, i) && first + count > begin && count > 0) {
            move_part(local, input, ln_out(op, i), offset, false, begin > first ? begin - first : 0,
                      end - first < count ? end - first : count);
        }
        offset += length;
        first += count;
    }
}

static ln_status run_split(ln_op *op) {
    return ln_op_grid(op, split_task, parts_tasks(ln_in(op, 0)));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, 0, NULL}
#define CONCAT(since, until, types)                                                                          \
    ROW("Concat", since, until, "A+>A", types, build_concat, infer_concat, run_concat)
#define SPLIT(since, until, signature, types)                                                                \
    ROW("Split", since, until, signature, types, build_split, infer_split, run_split)

static const ln_op_row rows[] = {
    CONCAT(1, 3, LN_T_FLOAT),
    CONCAT(4, 10, LN_T_ALL),
    CONCAT(11, 12, LN_T_ALL),
    CONCAT(13, LN_OPEN, LN_T_ALL_BF),
    SPLIT(1, 1, "AA?>A+", LN_T_FLOAT),
    SPLIT(2, 10, "A>A+", LN_T_ALL),
    SPLIT(11, 12, "A>A+", LN_T_ALL),
    SPLIT(13, 17, "Al?>A+", LN_T_ALL_BF),
    SPLIT(18, LN_OPEN, "Al?>A+", LN_T_ALL_BF),
};

LN_FAMILY_TABLE(concat, rows);
