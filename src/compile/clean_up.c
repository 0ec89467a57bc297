/* Clean-up rewrites: nodes that change nothing, and nodes that nobody reads. */
#include <string.h>

#include "compile/compile.h"

/* Rows whose output is input 0 whatever the other inputs are. */
static bool is_identity(const ln_node *node) {
    return node->domain[0] == 0 && strcmp(node->op_type, "Identity") == 0;
}

ln_status ln_rewrite_drop_identities(ln_graph *graph, int *fired) {
    ln_model *model = graph->model;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        if (node->removed || !is_identity(node) || node->n_outputs != 1) {
            continue;
        }
        const ln_value_id from = node->outputs[0];
        const ln_value_id to = node->inputs[0];
        /* A graph output keeps its own value and name, and an identity of a graph input stays a node of the graph. */
        if (from == 0 || ln_info(model, from)->is_graph_output) {
            continue;
        }
        ln_node_remove(node);
        ln_model_replace_uses(model, from, to);
        ++*fired;
    }
    return LN_OK;
}

static bool is_dead(const ln_node *node) {
    const ln_model *model = node->graph->model;
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        if (node->outputs[i] && ln_info(model, node->outputs[i])->uses > 0) {
            return false;
        }
    }
    return true;
}

ln_status ln_rewrite_drop_dead(ln_graph *graph, int *fired) {
    for (int32_t i = graph->n_nodes - 1; i >= 0; --i) {
        ln_node *node = graph->nodes[i];
        if (!node->removed && is_dead(node)) {
            ln_node_remove(node);
            ++*fired;
        }
    }
    return LN_OK;
}
