/* Assignments to slices, which exporters write as ScatterND with the coordinates of every element as a constant. Where the last
 * coordinate only counts through its whole axis, tuples of one coordinate less name the same elements, a whole row each.
 */
#include <string.h>

#include "compile/match.h"
#include "compile/shapes.h"

/* Whether the tuples of each run of `length` agree but for their last coordinate, which counts from 0. */
static bool counts_through(const int64_t *tuples, int64_t runs, int64_t length, int64_t depth) {
    for (int64_t i = 0; i < runs * length; ++i) {
        const int64_t *tuple = tuples + i * depth;
        const int64_t *first = tuple - i % length * depth;
        if (tuple[depth - 1] != i % length ||
            memcmp(tuple, first, (size_t)(depth - 1) * sizeof *tuple) != 0) {
            return false;
        }
    }
    return true;
}

/* The first tuple of each run, without its last coordinate. */
static ln_status narrow(ln_node *node, const ln_value *indices) {
    ln_context *context = node->graph->model->context;
    const int rank = indices->shape.rank;
    const int64_t length = indices->shape.dims[rank - 2];
    const int64_t depth = indices->shape.dims[rank - 1];
    ln_shape shape = indices->shape;
    shape.rank = rank - 1;
    shape.dims[rank - 2] = depth - 1;
    ln_value narrowed = {0};
    LN_TRY(ln_value_make(context, &narrowed, LN_INT64, &shape));
    const int64_t runs = ln_shape_product(&shape, 0, rank - 2);
    for (int64_t i = 0; i < runs; ++i) {
        memcpy((int64_t *)narrowed.data + i * (depth - 1),
               (const int64_t *)indices->data + i * length * depth, (size_t)(depth - 1) * sizeof(int64_t));
    }
    const ln_value_id id = ln_graph_add_constant(node->graph, "", &narrowed);
    if (!id) {
        ln_value_release(context, &narrowed);
        return LN_OUT_OF_MEMORY;
    }
    ln_node_set_input(node, 1, id);
    return LN_OK;
}

static bool fits(const ln_node *node) {
    ln_shape data;
    const ln_value *indices = ln_is(node, "ScatterND") && node->inputs[1] ? ln_node_constant(node, 1) : NULL;
    if (!indices || indices->kind != LN_KIND_TENSOR || !indices->data || indices->dtype != LN_INT64 ||
        indices->shape.rank < 2 || ln_value_count(indices) == 0 ||
        !ln_known_shape(node->graph->model, node->inputs[0], &data)) {
        return false;
    }
    const int rank = indices->shape.rank;
    const int64_t depth = indices->shape.dims[rank - 1];
    const int64_t length = indices->shape.dims[rank - 2];
    return depth >= 2 && depth <= data.rank && data.dims[depth - 1] == length &&
           counts_through(indices->data, ln_shape_product(&indices->shape, 0, rank - 2), length, depth);
}

ln_status ln_rewrite_narrow_scatter(ln_graph *graph, int *fired) {
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        while (!node->removed && fits(node)) {
            LN_TRY(narrow(node, ln_node_constant(node, 1)));
            ++*fired;
        }
    }
    return LN_OK;
}
