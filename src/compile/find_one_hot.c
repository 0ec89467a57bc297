/* A product of one-hot rows with constant weights picks rows of the weights: MatMul(Cast(Equal(x, [0, 1, .. n-1])), W). That is
 * how JAX embeds. Weights that are not finite would spread over the rows of a product, so they are left alone.
 */
#include <math.h>

#include "compile/match.h"
#include "compile/shapes.h"
#include "ops/matmul.h"

/* Finite float32 weights of two axes, constant. */
static const ln_value *weights_of(const ln_node *product) {
    const ln_value *w = product->n_inputs == 2 && product->inputs[1] ? ln_node_constant(product, 1) : NULL;
    if (!w || w->kind != LN_KIND_TENSOR || !w->data || w->dtype != LN_FLOAT || w->shape.rank != 2) {
        return NULL;
    }
    const int64_t count = ln_value_count(w);
    for (int64_t i = 0; i < count; ++i) {
        if (!isfinite(((const float *)w->data)[i])) {
            return NULL;
        }
    }
    return w;
}

/* Whether input `index` of a node is a row of the numbers 0 to n - 1. */
static bool counts(const ln_node *node, int index, int64_t n) {
    const ln_value *row = node->inputs[index] ? ln_node_constant(node, index) : NULL;
    if (!row || row->kind != LN_KIND_TENSOR || !row->data || !(LN_BIT(row->dtype) & LN_T_INDEX) ||
        row->shape.rank < 1 || row->shape.dims[row->shape.rank - 1] != n || ln_value_count(row) != n) {
        return false;
    }
    for (int64_t i = 0; i < n; ++i) {
        int64_t number;
        ln_load_i64(row->dtype, row->data, i, 1, &number);
        if (number != i) {
            return false;
        }
    }
    return true;
}

/* The value, of a last axis of 1, that an Equal compares with the numbers 0 to n - 1; 0 when it does something else. */
static ln_value_id compared(const ln_node *equal, int64_t n) {
    const ln_model *model = equal->graph->model;
    for (int i = 0; i < 2; ++i) {
        const ln_value_id x = equal->inputs[i];
        ln_shape shape;
        if (n > 1 && x && counts(equal, 1 - i, n) && (LN_BIT(ln_known_dtype(model, x)) & LN_T_INDEX) &&
            ln_known_shape(model, x, &shape) && shape.rank >= 1 && shape.dims[shape.rank - 1] == 1 &&
            shape.rank >= ln_node_constant(equal, 1 - i)->shape.rank) {
            return x;
        }
    }
    return 0;
}

ln_status ln_rewrite_find_one_hot(ln_graph *graph, int *fired) {
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const bool product = !node->removed && ln_is(node, "MatMul") &&
                             !((const ln_matmul_params *)node->params)->activation.present;
        const ln_node *cast = product ? ln_producer(node, 0) : NULL;
        const ln_node *equal = cast && ln_is(cast, "Cast") ? ln_producer(cast, 0) : NULL;
        const ln_value *w = equal && ln_is(equal, "Equal") && equal->opset >= 7 ? weights_of(node) : NULL;
        const ln_value_id x = w ? compared(equal, w->shape.dims[0]) : 0;
        if (x) {
            const ln_value_id inputs[] = {x, node->inputs[1]};
            LN_TRY(ln_become(node, "linnet", "PickRows", 1, 2, inputs));
            ++*fired;
        }
    }
    return LN_OK;
}
