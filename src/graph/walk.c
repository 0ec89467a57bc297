/* Walks over nested graphs, and what is computed by them: the index of uses and producers, replacement of
 * values.
 *
 * Graphs nest at most LN_MAX_GRAPH_DEPTH deep (ln_graph_new sees to it), so a walk keeps its place in a
 * fixed array of frames and cannot fail. A visit may edit the graph it is given: its nodes are read after
 * the visit, and by index.
 */
#include "graph/walk.h"

typedef struct walk_frame {
    ln_graph *graph;
    int32_t node;      /* position of the node whose graphs are being walked */
    int32_t attribute; /* and of the attribute */
    int32_t item;      /* and of the graph in it */
} walk_frame;

/* The next graph held by `node` at or after *attribute and *item, which move past it; NULL when there is
 * none. */
static ln_graph *next_graph(const ln_node *node, int32_t *attribute, int32_t *item) {
    for (; *attribute < node->n_attributes; (*attribute)++, *item = 0) {
        const ln_attribute *const held = &node->attributes[*attribute];
        const bool graphs = held->type == LN_ATTRIBUTE_GRAPH || held->type == LN_ATTRIBUTE_GRAPHS;
        if (graphs && held->as.graphs != NULL && *item < held->count) {
            return held->as.graphs[(*item)++];
        }
    }
    return NULL;
}

static ln_graph *next_in_frame(walk_frame *frame) {
    for (; frame->node < frame->graph->n_nodes; frame->node++, frame->attribute = 0, frame->item = 0) {
        const ln_node *const node = frame->graph->nodes[frame->node];
        ln_graph *const inner = node->removed ? NULL : next_graph(node, &frame->attribute, &frame->item);
        if (inner != NULL) {
            return inner;
        }
    }
    return NULL;
}

ln_status ln_graph_each_below(ln_graph *graph, ln_graph_visit visit, void *argument) {
    walk_frame frames[LN_MAX_GRAPH_DEPTH + 1];
    int depth = 0;
    LN_TRY(visit(graph, argument));
    frames[0] = (walk_frame){.graph = graph};
    while (depth >= 0) {
        ln_graph *const inner = next_in_frame(&frames[depth]);
        if (inner == NULL || depth == LN_MAX_GRAPH_DEPTH) {
            depth--;
            continue;
        }
        LN_TRY(visit(inner, argument));
        frames[++depth] = (walk_frame){.graph = inner};
    }
    return LN_OK;
}

ln_status ln_node_each_graph(const ln_node *node, ln_graph_visit visit, void *argument) {
    int32_t attribute = 0;
    int32_t item = 0;
    for (ln_graph *inner = NULL; (inner = next_graph(node, &attribute, &item)) != NULL;) {
        LN_TRY(ln_graph_each_below(inner, visit, argument));
    }
    return LN_OK;
}

ln_status ln_model_each_graph(ln_model *model, ln_graph_visit visit, void *argument) {
    return model->graph != NULL ? ln_graph_each_below(model->graph, visit, argument) : LN_OK;
}

typedef struct replacement {
    ln_value_id from;
    ln_value_id to;
} replacement;

static ln_status replace_in_graph(ln_graph *graph, void *argument) {
    const replacement *const swap = argument;
    ln_model *const model = graph->model;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        ln_node *const node = graph->nodes[i];
        for (int k = 0; k < node->n_inputs && !node->removed; k++) {
            if (node->inputs[k] == swap->from) {
                ln_node_set_input(node, k, swap->to);
            }
        }
    }
    for (int32_t i = 0; i < graph->n_outputs; i++) {
        if (graph->outputs[i] == swap->from) {
            graph->outputs[i] = swap->to;
            ln_info(model, swap->from)->uses--;
            ln_info(model, swap->to)->uses++;
            ln_info(model, swap->from)->is_graph_output = false;
            ln_info(model, swap->to)->is_graph_output = true;
        }
    }
    return LN_OK;
}

/* Only the graph that defines a value and the graphs below it can read it. */
void ln_model_replace_uses(ln_model *model, ln_value_id from, ln_value_id to) {
    if (from == to || from == 0 || ln_info(model, from)->uses == 0) {
        return;
    }
    replacement swap = {from, to};
    ln_graph *const root = ln_info(model, from)->graph;
    (void)ln_graph_each_below(root != NULL ? root : model->graph, replace_in_graph, &swap);
}

static ln_status index_graph(ln_graph *graph, void *argument) {
    ln_model *const model = argument;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        ln_node *const node = graph->nodes[i];
        node->index = i;
        for (int32_t k = 0; k < node->n_inputs && !node->removed; k++) {
            ln_info(model, node->inputs[k])->uses++;
        }
        for (int32_t k = 0; k < node->n_outputs && !node->removed; k++) {
            ln_value_info *const info = ln_info(model, node->outputs[k]);
            info->producer = node;
            info->graph = graph;
        }
    }
    for (int32_t i = 0; i < graph->n_inputs; i++) {
        ln_info(model, graph->inputs[i])->is_graph_input = true;
    }
    for (int32_t i = 0; i < graph->n_outputs; i++) {
        ln_info(model, graph->outputs[i])->is_graph_output = true;
        ln_info(model, graph->outputs[i])->uses++;
    }
    return LN_OK;
}

void ln_model_index(ln_model *model) {
    for (int32_t i = 0; i < model->n_values; i++) {
        ln_value_info *const info = &model->values[i];
        info->uses = 0;
        info->producer = NULL;
        info->is_graph_input = false;
        info->is_graph_output = false;
    }
    (void)ln_model_each_graph(model, index_graph, model);
    for (int32_t i = 0; i < model->n_functions; i++) {
        (void)ln_graph_each_below(model->functions[i].body, index_graph, model);
    }
    /* Entry 0 stands for "no value" and gathers what absent inputs and outputs put there. */
    model->values[0] = (ln_value_info){.name = ""};
}
