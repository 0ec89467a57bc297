/* Topological order of a graph's nodes.
 *
 * A depth-first search from each node in the given order emits a node after all that it depends on, so an
 * order that is valid already stays as it is. A node depends on the producers of its inputs and on the
 * producers of what its subgraphs capture from this graph. The search keeps its own stack.
 */
#include <string.h>

#include "graph/walk.h"

/* Dependencies in rows: those of node i are edges[starts[i]..starts[i + 1]). */
typedef struct dependencies {
    const ln_graph *graph;
    int32_t *starts;
    int32_t *edges; /* NULL while counting */
    int32_t count;
    int32_t node; /* whose dependencies are being collected */
    bool in_order;
    bool overflow;
} dependencies;

static void add_dependency(dependencies *list, ln_value_id id) {
    const ln_node *const producer = ln_info(list->graph->model, id)->producer;
    if (id == 0 || producer == NULL || producer->graph != list->graph) {
        return;
    }
    if (list->edges != NULL) {
        list->edges[list->count] = producer->index;
    }
    if (list->count == INT32_MAX) {
        list->overflow = true;
        return;
    }
    list->count++;
    list->in_order = list->in_order && producer->index < list->node;
}

static ln_status add_captures(ln_graph *graph, void *argument) {
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const ln_node *const node = graph->nodes[i];
        for (int32_t k = 0; k < node->n_inputs && !node->removed; k++) {
            add_dependency(argument, node->inputs[k]);
        }
    }
    for (int32_t i = 0; i < graph->n_outputs; i++) {
        add_dependency(argument, graph->outputs[i]);
    }
    return LN_OK;
}

static void collect(dependencies *list) {
    list->count = 0;
    list->in_order = true;
    for (int32_t i = 0; i < list->graph->n_nodes; i++) {
        const ln_node *const node = list->graph->nodes[i];
        list->node = i;
        if (list->starts != NULL) {
            list->starts[i] = list->count;
        }
        for (int32_t k = 0; k < node->n_inputs && !node->removed; k++) {
            add_dependency(list, node->inputs[k]);
        }
        if (!node->removed) {
            (void)ln_node_each_graph(node, add_captures, list);
        }
    }
    if (list->starts != NULL) {
        list->starts[list->graph->n_nodes] = list->count;
    }
}

enum { UNSEEN = 0, OPEN = 1, DONE = 2 };

static ln_status fail_cycle(const ln_graph *graph, int32_t index) {
    const ln_node *const node = graph->nodes[index];
    ln_context *const context = graph->model->context;
    (void)ln_fail(context, LN_INVALID_GRAPH, "the graph has a cycle through %s node '%s'", node->op_type,
                  node->name);
    ln_error_locate(context, node->name, node->op_type, node->opset);
    return LN_INVALID_GRAPH;
}

/* order[] gets the positions of the nodes. `next` is per node: the dependency to look at. */
static ln_status search(const dependencies *list, int32_t *order, int32_t *stack, int32_t *next,
                        uint8_t *state) {
    int32_t emitted = 0;
    for (int32_t root = 0; root < list->graph->n_nodes; root++) {
        int32_t depth = 0;
        if (state[root] == UNSEEN) {
            stack[depth++] = root;
            state[root] = OPEN;
            next[root] = list->starts[root];
        }
        while (depth > 0) {
            const int32_t node = stack[depth - 1];
            if (next[node] == list->starts[node + 1]) {
                state[node] = DONE;
                order[emitted++] = node;
                depth--;
                continue;
            }
            const int32_t wanted = list->edges[next[node]++];
            if (state[wanted] == OPEN) {
                return fail_cycle(list->graph, wanted);
            }
            if (state[wanted] == UNSEEN) {
                stack[depth++] = wanted;
                state[wanted] = OPEN;
                next[wanted] = list->starts[wanted];
            }
        }
    }
    return LN_OK;
}

ln_status ln_graph_sort(ln_graph *graph) {
    ln_context *const context = graph->model->context;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        graph->nodes[i]->index = i;
    }
    dependencies list = {.graph = graph};
    collect(&list);
    if (list.in_order) {
        return LN_OK;
    }
    LN_CHECK(context, !list.overflow, LIMIT_EXCEEDED, "a graph has too many edges");
    const size_t n = (size_t)graph->n_nodes;
    ln_arena scratch;
    ln_arena_init(&scratch, context, LN_MEMORY_SCRATCH);
    list.starts = ln_arena_array(&scratch, n + 1, sizeof(int32_t));
    list.edges = ln_arena_array(&scratch, (size_t)list.count + 1, sizeof(int32_t));
    int32_t *const order = ln_arena_array(&scratch, 3 * n, sizeof(int32_t));
    uint8_t *const state = ln_arena_array(&scratch, n, sizeof(uint8_t));
    ln_node **const sorted = ln_arena_array(&scratch, n, sizeof(*sorted));
    ln_status status = LN_OUT_OF_MEMORY;
    if (list.starts != NULL && list.edges != NULL && order != NULL && state != NULL && sorted != NULL) {
        collect(&list);
        status = search(&list, order, order + n, order + 2 * n, state);
    }
    if (status == LN_OK) {
        for (size_t i = 0; i < n; i++) {
            sorted[i] = graph->nodes[order[i]];
            sorted[i]->index = (int32_t)i;
        }
        memcpy(graph->nodes, sorted, n * sizeof(*sorted));
    }
    ln_arena_free(&scratch);
    return status;
}
