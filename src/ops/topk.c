/* TopK: the k largest or smallest elements along an axis, with their positions.
 *
 * Each line becomes sortable keys (sort_key.h; flipped for the smallest). A heap of k positions keeps the best seen so far
 * with the worst of them on top, so that most elements cost one comparison; taking the heap apart gives the sorted
 * order. Of equal elements the first comes first; a NaN counts as larger than every number. The result is sorted even where
 * that is not asked for.
 */
#include "ops/move.h"
#include "ops/sort_key.h"

typedef struct topk_params {
    int64_t axis;
    int64_t k; /* -1: input 1 */
    bool largest;
} topk_params;

typedef struct topk_local {
    int64_t k, n, inner, lines;
} topk_local;

static ln_status build_topk(ln_build *build) {
    topk_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->axis = ln_attr_int(build, "axis", -1);
        params->largest = ln_attr_bool(build, "largest", true);
        params->k = -1;
        if (build->opset < 10) {
            ln_attr_required(build, "k");
            params->k = ln_attr_int(build, "k", 0);
        }
    }
    return ln_build_status(build);
}

static ln_status infer_topk(ln_op *op) {
    const topk_params *params = op->params;
    topk_local *local = LN_LOCAL(op, topk_local);
    const ln_value *input = ln_in(op, 0);
    ln_shape shape = input->shape;
    int axis;
    LN_TRY(ln_op_axis(op, params->axis, shape.rank, &axis));
    local->k = params->k;
    LN_TRY(ln_op_int(op, 1, &local->k));
    local->n = shape.dims[axis];
    LN_OP_CHECK(op, local->k >= 0 && local->k <= local->n, INVALID_VALUE,
                "k is %lld, the axis has length %lld", (long long)local->k, (long long)local->n);
    local->inner = ln_shape_product(&shape, axis + 1, shape.rank);
    local->lines = ln_shape_product(&shape, 0, axis) * local->inner;
    shape.dims[axis] = local->k;
    op->task_scratch_bytes = (size_t)(local->n + local->k) * sizeof(uint64_t);
    LN_TRY(ln_op_shape(op, 0, input->dtype, &shape));
    return ln_op_shape(op, 1, LN_INT64, &shape);
}

static bool is_better(const uint64_t *keys, int64_t a, int64_t b) {
    return keys[a] > keys[b] || (keys[a] == keys[b] && a < b);
}

/* Lets the position at `at` sink below all that are worse than it. */
static void sift_down(const uint64_t *keys, int64_t *heap, int64_t count, int64_t at) {
    const int64_t moved = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && is_better(keys, heap[child], heap[child + 1])) {
            child++;
        }
        if (!is_better(keys, moved, heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* order[0..k) = positions of the k best keys, best first. */
static void select_best(const uint64_t *keys, int64_t n, int64_t *order, int64_t k) {
    for (int64_t i = 0; i < k; i++) {
        order[i] = i;
    }
    for (int64_t i = k / 2 - 1; i >= 0; i--) {
        sift_down(keys, order, k, i);
    }
    for (int64_t i = k; i < n; i++) {
        if (keys[i] > keys[order[0]]) {
            order[0] = i;
            sift_down(keys, order, k, 0);
        }
    }
    for (int64_t left = k - 1; left > 0; left--) {
        const int64_t worst = order[0];
        order[0] = order[left];
        order[left] = worst;
        sift_down(keys, order, left, 0);
    }
}

static void load_line(const ln_op *op, const topk_local *local, int64_t first, uint64_t *keys) {
    const topk_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    if (local->inner == 1) {
        ln_sort_keys(input->dtype, input->data, first, local->n, keys);
    } else {
        for (int64_t i = 0; i < local->n; i++) {
            ln_sort_keys(input->dtype, input->data, first + i * local->inner, 1, &keys[i]);
        }
    }
    for (int64_t i = 0; i < local->n && !params->largest; i++) {
        keys[i] = ~keys[i];
    }
}

static void topk_task(ln_op *op, int64_t index, void *scratch) {
    const topk_local *local = LN_LOCAL(op, const topk_local);
    const ln_value *input = ln_in(op, 0);
    const size_t width = ln_width(input->dtype);
    uint64_t *keys = scratch;
    int64_t *order = (int64_t *)scratch + local->n;
    int64_t begin, end;
    ln_block_range(local->lines, local->n * (int64_t)sizeof(*keys), index, &begin, &end);
    for (int64_t line = begin; line < end; line++) {
        const int64_t outer = line / local->inner;
        const int64_t from = outer * local->n * local->inner + line % local->inner;
        const int64_t to = outer * local->k * local->inner + line % local->inner;
        load_line(op, local, from, keys);
        select_best(keys, local->n, order, local->k);
        for (int64_t i = 0; i < local->k; i++) {
            if (ln_out(op, 0)) {
                ln_copy_block((unsigned char *)ln_out(op, 0)->data + (size_t)(to + i * local->inner) * width,
                              (const unsigned char *)input->data +
                                  (size_t)(from + order[i] * local->inner) * width,
                              width);
            }
            if (ln_out(op, 1)) {
                ((int64_t *)ln_out(op, 1)->data)[to + i * local->inner] = order[i];
            }
        }
    }
}

static ln_status run_topk(ln_op *op) {
    const topk_local *local = LN_LOCAL(op, const topk_local);
    if (local->k == 0 || local->lines == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, topk_task, ln_block_tasks(local->lines, local->n * (int64_t)sizeof(uint64_t)));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define TOPK(since, until, signature, types)                                                                 \
    {"TopK", "", since, until, signature, {types}, build_topk, infer_topk, run_topk, NULL, 0, NULL}

static const ln_op_row rows[] = {
    TOPK(1, 9, "A>A?l?", LN_T_FLOAT),
    TOPK(10, 10, "Al>A?l?", LN_T_FLOAT),
    TOPK(11, 23, "Al>A?l?", LN_T_NUMBER),
    TOPK(24, LN_OPEN, "Al>A?l?", LN_T_NUMBER_BF),
};

LN_FAMILY_TABLE(topk, rows);
