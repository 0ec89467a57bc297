/* Building blocks of the graph: models, graphs, values and nodes come into being here and change here.
 *
 * Everything is bumped out of the model's arena, but for the table of values, which grows, and the bytes of
 * large constants; those are blocks of their own. Uses and producers are kept right by the functions that
 * rebind inputs and outputs, so that rewrites can lean on them without a pass over the model.
 */
#include "graph/graph.h"

#include <string.h>

#include "graph/walk.h"

enum { FIRST_VALUES = 64, FIRST_NODES = 16 };

ln_model *ln_model_new(ln_context *context) {
    ln_model *const model = ln_alloc_zero(context, sizeof(*model), LN_MEMORY_MODEL);
    if (model == NULL) {
        return NULL;
    }
    model->context = context;
    ln_arena_init(&model->arena, context, LN_MEMORY_MODEL);
    model->producer_name = "";
    model->producer_version = "";
    model->domain = "";
    model->doc_string = "";
    model->values = ln_alloc_zero(context, FIRST_VALUES * sizeof(*model->values), LN_MEMORY_MODEL);
    if (model->values == NULL) {
        ln_free(context, model);
        return NULL;
    }
    model->values_capacity = FIRST_VALUES;
    model->n_values = 1;
    model->values[0].name = "";
    return model;
}

void ln_model_drop_constant(ln_model *model, ln_value_id id) {
    ln_value_info *const info = &model->values[id];
    ln_value *const constant = info->constant;
    if (constant == NULL) {
        return;
    }
    if (info->constant_block) {
        ln_free(model->context, constant->data);
        constant->data = NULL;
        info->constant_block = false;
    } else if (constant->owner != NULL) {
        const ln_value header = ln_value_header(constant->dtype, &constant->shape);
        ln_value_release(model->context, constant);
        *constant = header;
    }
}

void ln_model_free(ln_model *model) {
    if (model == NULL) {
        return;
    }
    ln_context *const context = model->context;
    for (int32_t i = 1; i < model->n_values; i++) {
        ln_model_drop_constant(model, i);
    }
    ln_model_free_repackings(model);
    ln_free(context, model->values);
    ln_arena_free(&model->arena);
    ln_free(context, model);
}

int64_t ln_model_opset(const ln_model *model, const char *domain) {
    const char *const wanted = strcmp(domain, "ai.onnx") == 0 ? "" : domain;
    for (int32_t i = 0; i < model->n_opsets; i++) {
        if (strcmp(model->opsets[i].domain, wanted) == 0) {
            return model->opsets[i].version;
        }
    }
    return 0;
}

ln_graph *ln_graph_new(ln_model *model, ln_graph *parent) {
    int depth = 1;
    for (const ln_graph *outer = parent; outer != NULL; outer = outer->parent) {
        depth++;
    }
    if (depth > LN_MAX_GRAPH_DEPTH) {
        (void)ln_fail(model->context, LN_LIMIT_EXCEEDED, "subgraphs are nested deeper than %d levels",
                      (int)LN_MAX_GRAPH_DEPTH);
        return NULL;
    }
    ln_graph *const graph = ln_arena_alloc(&model->arena, sizeof(*graph));
    if (graph != NULL) {
        graph->model = model;
        graph->parent = parent;
        graph->name = "";
        graph->doc_string = "";
    }
    return graph;
}

static bool grow_values(ln_model *model) {
    if (model->n_values < model->values_capacity) {
        return true;
    }
    if (model->values_capacity > INT32_MAX / 2) {
        (void)ln_fail(model->context, LN_LIMIT_EXCEEDED, "the model has more than %d values",
                      (int)model->n_values);
        return false;
    }
    const size_t old_bytes = (size_t)model->n_values * sizeof(*model->values);
    size_t bytes = 0;
    if (!ln_mul_size((size_t)model->values_capacity * 2, sizeof(*model->values), &bytes)) {
        (void)ln_fail(model->context, LN_OUT_OF_MEMORY, "out of memory for %d values", (int)model->n_values);
        return false;
    }
    ln_value_info *const values = ln_alloc_zero(model->context, bytes, LN_MEMORY_MODEL);
    if (values == NULL) {
        return false;
    }
    memcpy(values, model->values, old_bytes);
    ln_free(model->context, model->values);
    model->values = values;
    model->values_capacity *= 2;
    return true;
}

ln_value_id ln_graph_add_value(ln_graph *graph, const char *name) {
    ln_model *const model = graph->model;
    if (!grow_values(model)) {
        return 0;
    }
    const ln_value_id id = model->n_values++;
    ln_value_info *const info = &model->values[id];
    memset(info, 0, sizeof(*info));
    info->name = name != NULL ? name : "";
    info->graph = graph;
    info->type.rank = -1;
    return id;
}

ln_value_id ln_graph_add_constant(ln_graph *graph, const char *name, const ln_value *value) {
    ln_model *const model = graph->model;
    ln_value *const constant = ln_arena_alloc(&model->arena, sizeof(*constant));
    int64_t *const dims = ln_arena_array(&model->arena, (size_t)value->shape.rank, sizeof(*dims));
    const ln_value_id id = constant != NULL && dims != NULL ? ln_graph_add_value(graph, name) : 0;
    if (id == 0) {
        return 0;
    }
    *constant = *value;
    memcpy(dims, value->shape.dims, (size_t)value->shape.rank * sizeof(*dims));
    ln_value_info *const info = ln_info(model, id);
    info->constant = constant;
    info->type =
        (ln_type){.kind = value->kind, .dtype = value->dtype, .rank = value->shape.rank, .dims = dims};
    return id;
}

static bool grow_nodes(ln_graph *graph) {
    if (graph->n_nodes < graph->nodes_capacity) {
        return true;
    }
    if (graph->nodes_capacity > INT32_MAX / 2) {
        (void)ln_fail(graph->model->context, LN_LIMIT_EXCEEDED, "a graph has more than %d nodes",
                      (int)graph->n_nodes);
        return false;
    }
    const int32_t capacity = graph->nodes_capacity > 0 ? graph->nodes_capacity * 2 : FIRST_NODES;
    ln_node **const nodes = ln_arena_array(&graph->model->arena, (size_t)capacity, sizeof(*nodes));
    if (nodes == NULL) {
        return false;
    }
    if (graph->n_nodes > 0) {
        memcpy(nodes, graph->nodes, (size_t)graph->n_nodes * sizeof(*nodes));
    }
    graph->nodes = nodes;
    graph->nodes_capacity = capacity;
    return true;
}

ln_node *ln_graph_add_node(ln_graph *graph, int n_inputs, int n_outputs) {
    ln_arena *const arena = &graph->model->arena;
    ln_node *const node = ln_arena_alloc(arena, sizeof(*node));
    ln_value_id *const ids = ln_arena_array(arena, (size_t)n_inputs + (size_t)n_outputs, sizeof(*ids));
    if (node == NULL || ids == NULL || !grow_nodes(graph)) {
        return NULL;
    }
    node->name = "";
    node->op_type = "";
    node->domain = "";
    node->overload = "";
    node->graph = graph;
    node->inputs = ids;
    node->outputs = ids + n_inputs;
    node->n_inputs = n_inputs;
    node->n_outputs = n_outputs;
    node->index = graph->n_nodes;
    graph->nodes[graph->n_nodes++] = node;
    return node;
}

void ln_node_set_input(ln_node *node, int index, ln_value_id value) {
    ln_model *const model = node->graph->model;
    const ln_value_id old = node->inputs[index];
    if (old != 0) {
        ln_info(model, old)->uses--;
    }
    if (value != 0) {
        ln_info(model, value)->uses++;
    }
    node->inputs[index] = value;
}

void ln_node_set_output(ln_node *node, int index, ln_value_id value) {
    ln_model *const model = node->graph->model;
    const ln_value_id old = node->outputs[index];
    if (old != 0 && ln_info(model, old)->producer == node) {
        ln_info(model, old)->producer = NULL;
    }
    if (value != 0) {
        ln_info(model, value)->producer = node;
        ln_info(model, value)->graph = node->graph;
    }
    node->outputs[index] = value;
}

/* Gives up what the nodes and outputs of a graph read. */
static ln_status drop_graph_uses(ln_graph *graph, void *argument) {
    ln_model *const model = argument;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const ln_node *const node = graph->nodes[i];
        for (int32_t k = 0; k < node->n_inputs && !node->removed; k++) {
            ln_info(model, node->inputs[k])->uses -= node->inputs[k] != 0 ? 1 : 0;
        }
    }
    for (int32_t i = 0; i < graph->n_outputs; i++) {
        ln_info(model, graph->outputs[i])->uses -= graph->outputs[i] != 0 ? 1 : 0;
    }
    return LN_OK;
}

void ln_node_remove(ln_node *node) {
    if (node->removed) {
        return;
    }
    for (int i = 0; i < node->n_inputs; i++) {
        ln_node_set_input(node, i, 0);
    }
    for (int i = 0; i < node->n_outputs; i++) {
        const ln_value_id id = node->outputs[i];
        if (id != 0 && ln_info(node->graph->model, id)->producer == node) {
            ln_info(node->graph->model, id)->producer = NULL;
        }
    }
    (void)ln_node_each_graph(node, drop_graph_uses, node->graph->model);
    node->removed = true;
}

void ln_graph_sweep(ln_graph *graph) {
    int32_t kept = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        ln_node *const node = graph->nodes[i];
        if (!node->removed) {
            node->index = kept;
            graph->nodes[kept++] = node;
        }
    }
    graph->n_nodes = kept;
}

const ln_value *ln_node_constant(const ln_node *node, int index) {
    if (index < 0 || index >= node->n_inputs || node->inputs[index] == 0) {
        return NULL;
    }
    const ln_value_info *const info = ln_info(node->graph->model, node->inputs[index]);
    return info->is_graph_input ? NULL : info->constant;
}

const ln_attribute *ln_node_attribute(const ln_node *node, const char *name) {
    for (int32_t i = 0; i < node->n_attributes; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}
