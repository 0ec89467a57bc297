/* Operators whose output size depends on values: Compress, NonZero, Unique.
 *
 * Each looks at its input twice, once to count and once to write, and makes its outputs in between. Unique sorts positions
 * by sortable keys (sort_key.h) with a stable merge sort; equal neighbours then form groups.
 */
#include "ops/move.h"
#include "ops/sort_key.h"

typedef struct axis_params {
    bool given; /* otherwise the input counts as flat */
    int64_t axis;
    bool sorted;     /* Unique */
    bool short_form; /* com.microsoft's Unique: without the output of first positions */
} axis_params;

static ln_status build_axis(ln_build *build) {
    axis_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->given = ln_has_attr(build, "axis");
        params->axis = ln_attr_int(build, "axis", 0);
        params->sorted = ln_attr_bool(build, "sorted", true);
    }
    return ln_build_status(build);
}

static ln_status build_short_unique(ln_build *build) {
    axis_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->short_form = true;
    }
    return ln_build_status(build);
}

/* A tensor seen from an axis: `outer` times `dim` blocks of `inner` elements. */
typedef struct axis_view {
    int axis;
    int64_t outer, dim, inner;
} axis_view;

static ln_status view_axis(ln_op *op, axis_view *view) {
    const axis_params *params = op->params;
    const ln_shape *shape = &ln_in(op, 0)->shape;
    *view = (axis_view){0, 1, ln_shape_count(shape), 1};
    if (params->given) {
        LN_TRY(ln_op_axis(op, params->axis, shape->rank, &view->axis));
        view->outer = ln_shape_product(shape, 0, view->axis);
        view->dim = shape->dims[view->axis];
        view->inner = ln_shape_product(shape, view->axis + 1, shape->rank);
    }
    return LN_OK;
}

/* The input's shape with `length` in place of the axis; a list of `length` when there is no axis. */
static ln_shape shape_with(const ln_op *op, const axis_view *view, int64_t length) {
    const axis_params *params = op->params;
    ln_shape shape = ln_shape_of(1, &length);
    if (params->given) {
        shape = ln_in(op, 0)->shape;
        shape.dims[view->axis] = length;
    }
    return shape;
}

/* Compress ---------------------------------------------------------------------------------------------- */

static ln_status run_compress(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    const ln_value *condition = ln_in(op, 1);
    const uint8_t *keep = condition->data;
    axis_view view;
    LN_TRY(view_axis(op, &view));
    LN_OP_CHECK(op, condition->shape.rank == 1, INVALID_SHAPE, "the condition has rank %d, expected 1",
                (int)condition->shape.rank);
    const int64_t n = condition->shape.dims[0];
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        kept += keep[i] != 0;
        LN_OP_CHECK(op, i < view.dim || !keep[i], INVALID_VALUE,
                    "entry %lld of the condition lies beyond length %lld", (long long)i, (long long)view.dim);
    }
    const ln_shape shape = shape_with(op, &view, kept);
    LN_TRY(ln_op_make(op, 0, input->dtype, &shape));
    if (!ln_out(op, 0)) {
        return LN_OK;
    }
    const size_t block = (size_t)view.inner * ln_width(input->dtype);
    const int64_t most = n < view.dim ? n : view.dim;
    unsigned char *to = ln_out(op, 0)->data;
    for (int64_t o = 0; o < view.outer; o++) {
        const unsigned char *from = (const unsigned char *)input->data + (size_t)(o * view.dim) * block;
        for (int64_t i = 0; i < most; i++) {
            if (keep[i]) {
                ln_copy_block(to, from + (size_t)i * block, block);
                to += block;
            }
        }
    }
    return LN_OK;
}

/* NonZero ----------------------------------------------------------------------------------------------- */

static ln_status infer_nonzero(ln_op *op) {
    if (ln_out(op, 0)) {
        ln_out(op, 0)->kind = LN_KIND_TENSOR;
        ln_out(op, 0)->dtype = LN_INT64;
    }
    return LN_OK;
}

/* hits[i] says whether element first + i is not zero; a string is zero when it is empty. */
static void find_nonzero(const ln_value *input, int64_t first, int64_t n, bool *hits) {
    double tile[LN_TILE];
    if (input->dtype == LN_STRING) {
        for (int64_t i = 0; i < n; i++) {
            hits[i] = ((const ln_string *)input->data)[first + i].length > 0;
        }
        return;
    }
    const bool is_complex = ln_dtype_compute(input->dtype) == LN_COMPUTE_COMPLEX;
    if (!is_complex) {
        ln_load_f64(input->dtype, input->data, first, n, tile);
    }
    for (int64_t i = 0; i < n; i++) {
        if (is_complex) {
            double parts[2];
            ln_load_f64(input->dtype == LN_COMPLEX64 ? LN_FLOAT : LN_DOUBLE, input->data, 2 * (first + i), 2,
                        parts);
            tile[i] = parts[0] != 0 ? parts[0] : parts[1];
        }
        hits[i] = tile[i] != 0; /* true of a NaN */
    }
}

static ln_status run_nonzero(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    const int64_t count = ln_value_count(input);
    const int rank = input->shape.rank;
    bool hits[LN_TILE];
    int64_t found = 0;
    for (int64_t at = 0; at < count; at += LN_TILE) {
        const int64_t n = count - at < LN_TILE ? count - at : LN_TILE;
        find_nonzero(input, at, n, hits);
        for (int64_t i = 0; i < n; i++) {
            found += hits[i];
        }
    }
    const int64_t dims[2] = {rank, found};
    const ln_shape shape = ln_shape_of(2, dims);
    LN_TRY(ln_op_make(op, 0, LN_INT64, &shape));
    int64_t *to = ln_out(op, 0) ? ln_out(op, 0)->data : NULL;
    for (int64_t at = 0, next = 0; to && at < count; at += LN_TILE) {
        const int64_t n = count - at < LN_TILE ? count - at : LN_TILE;
        find_nonzero(input, at, n, hits);
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = at + i;
            for (int d = rank - 1; hits[i] && d >= 0; d--) {
                to[d * found + next] = rest % input->shape.dims[d];
                rest /= input->shape.dims[d];
            }
            next += hits[i];
        }
    }
    return LN_OK;
}

/* Unique ------------------------------------------------------------------------------------------------ */

/* What is sorted: `count` items of `length` elements each, as keys or as strings. */
typedef struct unique_items {
    int64_t count, length;
    const uint64_t *keys;  /* item by item, or NULL */
    const ln_value *input; /* strings and other types without keys */
    axis_view view;
} unique_items;

static int compare_items(const unique_items *items, int64_t a, int64_t b) {
    for (int64_t i = 0; i < items->length; i++) {
        if (items->keys) {
            const uint64_t x = items->keys[a * items->length + i];
            const uint64_t y = items->keys[b * items->length + i];
            if (x != y) {
                return x < y ? -1 : 1;
            }
        } else {
            const axis_view *view = &items->view;
            const int64_t at = i / view->inner * view->dim * view->inner + i % view->inner;
            const ln_string *strings = items->input->data;
            const int order =
                ln_string_compare(&strings[at + a * view->inner], &strings[at + b * view->inner]);
            if (order != 0) {
                return order;
            }
        }
    }
    return 0;
}

/* Sorts order[0..count) by item, keeping the order of equal ones; `other` is as long. Returns where the result is. */
static int64_t *merge_sort(const unique_items *items, int64_t *order, int64_t *other) {
    const int64_t count = items->count;
    for (int64_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t low = 0; low < count; low += 2 * run) {
            const int64_t middle = low + run < count ? low + run : count;
            const int64_t high = low + 2 * run < count ? low + 2 * run : count;
            int64_t a = low;
            int64_t b = middle;
            for (int64_t i = low; i < high; i++) {
                const bool left = a < middle && (b >= high || compare_items(items, order[a], order[b]) <= 0);
                other[i] = left ? order[a++] : order[b++];
            }
        }
        int64_t *held = order;
        order = other;
        other = held;
    }
    return order;
}

/* Keys of all items, each item's elements together. Complex numbers give two keys. */
static void load_items(const ln_value *input, const axis_view *view, int parts, uint64_t *keys) {
    const ln_dtype dtype = parts == 1 ? input->dtype : input->dtype == LN_COMPLEX64 ? LN_FLOAT : LN_DOUBLE;
    const int64_t run = view->inner * parts;
    const int64_t length = view->outer * run;
    for (int64_t o = 0; o < view->outer; o++) {
        for (int64_t i = 0; i < view->dim; i++) {
            ln_sort_keys(dtype, input->data, (o * view->dim + i) * run, run, keys + i * length + o * run);
        }
    }
}

/* Groups of equal items: number `group` first occurs at firsts[group] and counts[group] times; inverse[i] is the
 * group of item i. Groups are numbered in sorted order, or by first occurrence. */
typedef struct unique_groups {
    int64_t count;
    int64_t *firsts, *counts, *inverse;
} unique_groups;

static void find_groups(const unique_items *items, const int64_t *order, bool sorted, unique_groups *groups) {
    groups->count = 0;
    for (int64_t i = 0; i < items->count; i++) {
        const bool fresh = i == 0 || compare_items(items, order[i - 1], order[i]) != 0;
        if (fresh) {
            groups->firsts[groups->count++] = order[i];
        }
        groups->inverse[order[i]] = sorted ? groups->count - 1 : groups->firsts[groups->count - 1];
    }
    if (!sorted) { /* an item that is its own representative opens the next group */
        groups->count = 0;
        for (int64_t i = 0; i < items->count; i++) {
            const int64_t first = groups->inverse[i];
            groups->inverse[i] = first == i ? groups->count : groups->inverse[first];
            if (first == i) {
                groups->firsts[groups->count++] = i;
            }
        }
    }
    for (int64_t i = 0; i < groups->count; i++) {
        groups->counts[i] = 0;
    }
    for (int64_t i = 0; i < items->count; i++) {
        groups->counts[groups->inverse[i]]++;
    }
}

static ln_status put_list(ln_op *op, int index, const int64_t *list, int64_t count) {
    const ln_shape shape = ln_shape_of(1, &count);
    LN_TRY(ln_op_make(op, index, LN_INT64, &shape));
    if (ln_out(op, index)) {
        memcpy(ln_out(op, index)->data, list, (size_t)count * sizeof(*list));
    }
    return LN_OK;
}

static ln_status put_unique(ln_op *op, const axis_view *view, const unique_groups *groups) {
    const ln_value *input = ln_in(op, 0);
    const size_t block = (size_t)view->inner * ln_width(input->dtype);
    const ln_shape shape = shape_with(op, view, groups->count);
    LN_TRY(ln_op_make(op, 0, input->dtype, &shape));
    for (int64_t o = 0; o < view->outer && ln_out(op, 0); o++) {
        for (int64_t i = 0; i < groups->count; i++) {
            ln_copy_block((unsigned char *)ln_out(op, 0)->data + (size_t)(o * groups->count + i) * block,
                          (const unsigned char *)input->data +
                              (size_t)(o * view->dim + groups->firsts[i]) * block,
                          block);
        }
    }
    const axis_params *params = op->params;
    int next = 1;
    if (!params->short_form) {
        LN_TRY(put_list(op, next++, groups->firsts, groups->count));
    }
    LN_TRY(put_list(op, next++, groups->inverse, view->dim));
    return put_list(op, next, groups->counts, groups->count);
}

static ln_status infer_unique(ln_op *op) {
    const axis_params *params = op->params;
    LN_OP_CHECK(op, !params->short_form || ln_in(op, 0)->shape.rank == 1, INVALID_SHAPE,
                "the input has rank %d, expected 1", ln_in(op, 0)->shape.rank);
    for (int i = 0; i < op->n_outputs; i++) {
        if (ln_out(op, i)) {
            ln_out(op, i)->kind = LN_KIND_TENSOR;
            ln_out(op, i)->dtype = i == 0 ? ln_in(op, 0)->dtype : LN_INT64;
        }
    }
    return LN_OK;
}

static ln_status run_unique(ln_op *op) {
    const axis_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_compute compute = ln_dtype_compute(input->dtype);
    const int parts = compute == LN_COMPUTE_COMPLEX ? 2 : 1;
    unique_items items = {.input = input};
    LN_TRY(view_axis(op, &items.view));
    items.count = items.view.dim;
    items.length = items.view.outer * items.view.inner * parts;
    const bool has_keys = compute != LN_COMPUTE_NONE;
    size_t words;
    size_t bytes;
    LN_OP_CHECK(op,
                ln_mul_size((size_t)items.count, (has_keys ? (size_t)items.length : 0) + 5, &words) &&
                    ln_mul_size(words, sizeof(uint64_t), &bytes),
                LIMIT_EXCEEDED, "the input is too large to sort");
    int64_t *memory = ln_alloc(op->context, bytes, LN_MEMORY_SCRATCH);
    if (!memory) {
        return LN_OUT_OF_MEMORY;
    }
    int64_t *lists = memory;
    const int64_t n = items.count;
    if (has_keys) {
        uint64_t *keys = (uint64_t *)(lists + 5 * n);
        load_items(input, &items.view, parts, keys);
        items.keys = keys;
    }
    unique_groups groups = {0, lists + 2 * n, lists + 3 * n, lists + 4 * n};
    find_groups(&items, merge_sort(&items, lists, lists + n), params->sorted, &groups);
    const ln_status status = put_unique(op, &items.view, &groups);
    ln_free(op->context, memory);
    return status;
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, LN_OP_DYNAMIC, NULL}
#define COMPRESS(since, until, types)                                                                        \
    ROW("Compress", since, until, "Ab>A", types, build_axis, ln_infer_dynamic, run_compress)
#define NONZERO(since, until, types)                                                                         \
    ROW("NonZero", since, until, "A>l", types, ln_build_nothing, infer_nonzero, run_nonzero)
#define UNIQUE(since, until, types)                                                                          \
    ROW("Unique", since, until, "A>A?l?l?l?", types, build_axis, infer_unique, run_unique)

static const ln_op_row rows[] = {
    COMPRESS(9, 10, LN_T_ALL),
    COMPRESS(11, 27, LN_T_ALL),
    COMPRESS(28, LN_OPEN, LN_T_ALL_BF),
    NONZERO(9, 12, LN_T_ALL),
    NONZERO(13, LN_OPEN, LN_T_ALL_BF),
    UNIQUE(11, 27, LN_T_ALL),
    UNIQUE(28, LN_OPEN, LN_T_ALL_BF),
    {"Unique",
     "com.microsoft",
     1,
     LN_OPEN,
     "A>A?l?l?",
     {LN_BIT(LN_FLOAT)},
     build_short_unique,
     infer_unique,
     run_unique,
     NULL,
     LN_OP_DYNAMIC,
     NULL},
};

LN_FAMILY_TABLE(compress, rows);
