/* The graph in memory: uses and producers stay right under edits, sorting is stable and finds cycles, walks
 * reach every subgraph, nothing leaks when memory runs out. */
#include "graph/graph.h"

#include "../kernels/check.h"

static ln_node *add_node(ln_graph *graph, const char *name, ln_value_id input, ln_value_id *output) {
    ln_node *const node = ln_graph_add_node(graph, 1, 1);
    if (node != NULL) {
        node->name = name;
        node->op_type = "Relu";
        ln_node_set_input(node, 0, input);
        if (*output == 0) {
            *output = ln_graph_add_value(graph, name);
        }
        ln_node_set_output(node, 0, *output);
    }
    return node;
}

static void add_output(ln_graph *graph, ln_value_id value) {
    graph->outputs = ln_arena_array(&graph->model->arena, 1, sizeof(ln_value_id));
    graph->outputs[0] = value;
    graph->n_outputs = 1;
}

/* An attribute of `node` that holds a new graph. */
static ln_graph *add_subgraph(ln_node *node) {
    ln_arena *const arena = &node->graph->model->arena;
    ln_graph **const graphs = ln_arena_array(arena, 1, sizeof(*graphs));
    ln_attribute *const attribute = ln_arena_alloc(arena, sizeof(*attribute));
    graphs[0] = ln_graph_new(node->graph->model, node->graph);
    *attribute = (ln_attribute){.name = "body", .type = LN_ATTRIBUTE_GRAPH, .count = 1};
    attribute->as.graphs = graphs;
    node->attributes = attribute;
    node->n_attributes = 1;
    return graphs[0];
}

static void test_edits(void) {
    ln_context context;
    ln_context_init(&context);
    ln_model *const model = ln_model_new(&context);
    ln_graph *const graph = ln_graph_new(model, NULL);
    model->graph = graph;
    const ln_value_id x = ln_graph_add_value(graph, "x");
    ln_value_id a = 0;
    ln_value_id b = 0;
    ln_node *const first = add_node(graph, "first", x, &a);
    ln_node *const second = add_node(graph, "second", a, &b);
    add_output(graph, b);
    ln_graph *const body = add_subgraph(second);
    ln_value_id c = 0;
    ln_node *const inner = add_node(body, "inner", a, &c);
    add_output(body, a);
    ln_model_index(model);
    CHECK(ln_info(model, a)->uses == 3, "%d", (int)ln_info(model, a)->uses);
    CHECK(ln_info(model, a)->producer == first, "producer");
    CHECK(ln_info(model, b)->is_graph_output && ln_info(model, b)->uses == 1, "output");

    ln_model_replace_uses(model, a, x);
    CHECK(ln_info(model, a)->uses == 0 && ln_info(model, x)->uses == 4, "replaced");
    CHECK(inner->inputs[0] == x && body->outputs[0] == x && second->inputs[0] == x, "in subgraphs too");
    ln_node_remove(first);
    ln_node_remove(first);
    CHECK(ln_info(model, x)->uses == 3 && ln_info(model, a)->producer == NULL, "removed once");
    ln_graph_sweep(graph);
    CHECK(graph->n_nodes == 1 && second->index == 0, "swept");
    ln_node_remove(second);
    CHECK(ln_info(model, x)->uses == 0, "uses of subgraphs are given up: %d", (int)ln_info(model, x)->uses);

    const int64_t dim = 2;
    const ln_shape shape = ln_shape_of(1, &dim);
    float data[2] = {1, 2};
    ln_value value = ln_value_header(LN_FLOAT, &shape);
    value.data = data;
    const ln_value_id constant = ln_graph_add_constant(graph, "k", &value);
    ln_node *const reader = add_node(graph, "reader", constant, &b);
    CHECK(ln_node_constant(reader, 0) != NULL && ln_node_constant(reader, 0)->data == data, "constant");
    CHECK(ln_node_constant(reader, 1) == NULL && ln_node_constant(second, 0) == NULL, "no constant");
    CHECK(ln_node_attribute(second, "body") != NULL && ln_node_attribute(second, "x") == NULL, "attribute");
    ln_model_free(model);
    CHECK(ln_memory_live(&context) == 0, "leak");
}

static void test_sort(void) {
    ln_context context;
    ln_context_init(&context);
    ln_model *const model = ln_model_new(&context);
    ln_graph *const graph = ln_graph_new(model, NULL);
    model->graph = graph;
    enum { N = 40 };
    ln_value_id ids[N + 1];
    for (int i = 0; i <= N; i++) {
        ids[i] = ln_graph_add_value(graph, "v");
    }
    for (int i = N; i > 0; i--) {
        (void)add_node(graph, "n", ids[i - 1], &ids[i]);
    }
    CHECK(ln_graph_sort(graph) == LN_OK, "%s", context.error.message);
    for (int i = 0; i < N; i++) {
        CHECK(graph->nodes[i]->inputs[0] == ids[i] && graph->nodes[i]->index == i, "node %d", i);
    }
    /* A node that captures, two levels down, what the last node makes has to follow it. */
    ln_value_id y = 0;
    ln_node *const holder = add_node(graph, "holder", ids[0], &y);
    memmove(graph->nodes + 1, graph->nodes, (size_t)N * sizeof(*graph->nodes));
    graph->nodes[0] = holder;
    ln_value_id inner_value = 0;
    ln_node *const inner = add_node(add_subgraph(holder), "inner", ids[0], &inner_value);
    ln_value_id deep_value = 0;
    (void)add_node(add_subgraph(inner), "deep", ids[N], &deep_value);
    CHECK(ln_graph_sort(graph) == LN_OK, "%s", context.error.message);
    CHECK(graph->nodes[N] == holder, "captured values count");
    for (int i = 0; i < N; i++) {
        CHECK(graph->nodes[i]->inputs[0] == ids[i], "the others keep their order");
    }
    ln_node_set_input(graph->nodes[0], 0, y);
    CHECK(ln_graph_sort(graph) == LN_INVALID_GRAPH && context.error.op[0] != '\0', "cycle: %s",
          context.error.message);
    ln_model_free(model);
    CHECK(ln_memory_live(&context) == 0, "leak");
}

static ln_status count_graph(ln_graph *graph, void *argument) {
    (void)graph;
    (*(int *)argument)++;
    return LN_OK;
}

static void test_depth(void) {
    ln_context context;
    ln_context_init(&context);
    ln_model *const model = ln_model_new(&context);
    model->graph = ln_graph_new(model, NULL);
    ln_graph *graph = model->graph;
    int built = 0;
    for (; graph != NULL && built < 1000; built++) {
        ln_value_id out = 0;
        ln_node *const node = add_node(graph, "n", 0, &out);
        graph = add_subgraph(node);
        if (graph == NULL) {
            node->n_attributes = 0;
        }
    }
    CHECK(built == LN_MAX_GRAPH_DEPTH && context.error.code == LN_LIMIT_EXCEEDED, "%d levels", built);
    int seen = 0;
    (void)ln_model_each_graph(model, count_graph, &seen);
    CHECK(seen == LN_MAX_GRAPH_DEPTH, "%d graphs", seen);
    ln_model_index(model);
    ln_node_remove(model->graph->nodes[0]);
    ln_model_free(model);
    CHECK(ln_memory_live(&context) == 0, "leak");
}

int main(void) {
    test_edits();
    test_sort();
    test_depth();
    return check_report();
}
