/* Inlines calls of model-local functions.
 *
 * A call is replaced by a copy of the function's nodes. Values of the body get new numbers for every copy, so the
 * numbering stays unique across the model; constants of the body are shared by all copies. Copying walks an explicit list of
 * graphs. Rounds go on until no call is left; a function that calls itself never gets there and is an error.
 */
#include <string.h>

#include "compile/compile.h"

enum { MOST_ROUNDS = 100, MOST_NODES = 4000000 };

/* A graph of the function whose nodes are still to be copied, and where they go. */
typedef struct copying {
    const ln_graph *from;
    ln_graph *to;
} copying;

typedef struct inliner {
    ln_model *model;
    const ln_function *function;
    ln_node *call;
    ln_value_id *map; /* body value to copied value; -1 where none yet */
    int32_t map_count;
    copying *pending;
    int32_t n_pending;
    int32_t pending_capacity;
    int64_t copied;
} inliner;

static const ln_function *find_function(const ln_model *model, const ln_node *node) {
    for (int32_t i = 0; i < model->n_functions; ++i) {
        const ln_function *function = &model->functions[i];
        if (strcmp(function->name, node->op_type) == 0 && strcmp(function->domain, node->domain) == 0 &&
            strcmp(function->overload, node->overload ? node->overload : "") == 0) {
            return function;
        }
    }
    return NULL;
}

static ln_value_id mapped(inliner *in, ln_value_id id, ln_graph *to) {
    if (id == 0) {
        return 0;
    }
    if (in->map[id] < 0) {
        const ln_value_info *info = ln_info(in->model, id);
        if (info->constant) {
            in->map[id] = id;
        } else {
            const ln_type type = info->type;
            in->map[id] = ln_graph_add_value(to, info->name);
            if (in->map[id] > 0) {
                ln_info(in->model, in->map[id])->type = type;
            }
        }
    }
    return in->map[id];
}

static ln_status push(inliner *in, const ln_graph *from, ln_graph *to) {
    if (in->n_pending == in->pending_capacity) {
        const int32_t capacity = 2 * in->pending_capacity + 8;
        copying *grown = ln_arena_array(&in->model->arena, (size_t)capacity, sizeof *grown);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (in->n_pending) {
            memcpy(grown, in->pending, (size_t)in->n_pending * sizeof *grown);
        }
        in->pending = grown;
        in->pending_capacity = capacity;
    }
    in->pending[in->n_pending++] = (copying){from, to};
    return LN_OK;
}

/* The attribute that stands in the copy, or NULL where it refers to one that the call does not give. */
static const ln_attribute *bound_attribute(const inliner *in, const ln_attribute *attribute) {
    if (!attribute->reference) {
        return attribute;
    }
    const ln_attribute *given = ln_node_attribute(in->call, attribute->reference);
    for (int32_t i = 0; !given && i < in->function->n_defaults; ++i) {
        if (strcmp(in->function->defaults[i].name, attribute->reference) == 0) {
            given = &in->function->defaults[i];
        }
    }
    return given;
}

static ln_status copy_graphs(inliner *in, ln_attribute *attribute, ln_graph *to) {
    ln_graph **graphs = ln_arena_array(&in->model->arena, (size_t)attribute->count, sizeof *graphs);
    if (!graphs) {
        return LN_OUT_OF_MEMORY;
    }
    for (int32_t i = 0; i < attribute->count; ++i) {
        const ln_graph *from = attribute->as.graphs[i];
        graphs[i] = ln_graph_new(in->model, to);
        if (!graphs[i]) {
            return LN_OUT_OF_MEMORY;
        }
        graphs[i]->name = from->name;
        LN_TRY(push(in, from, graphs[i]));
    }
    attribute->as.graphs = graphs;
    return LN_OK;
}

static ln_status copy_attributes(inliner *in, const ln_node *from, ln_node *node) {
    ln_attribute *attributes =
        ln_arena_array(&in->model->arena, (size_t)from->n_attributes, sizeof *attributes);
    if (!attributes) {
        return LN_OUT_OF_MEMORY;
    }
    int32_t count = 0;
    for (int32_t i = 0; i < from->n_attributes; ++i) {
        const ln_attribute *source = bound_attribute(in, &from->attributes[i]);
        if (!source) {
            continue;
        }
        attributes[count] = *source;
        attributes[count].name = from->attributes[i].name;
        attributes[count].reference = NULL;
        const bool graphs = source->type == LN_ATTRIBUTE_GRAPH || source->type == LN_ATTRIBUTE_GRAPHS;
        if (graphs && source == &from->attributes[i]) {
            LN_TRY(copy_graphs(in, &attributes[count], node->graph));
        }
        ++count;
    }
    node->attributes = attributes;
    node->n_attributes = count;
    return LN_OK;
}

static int32_t function_opset(const ln_function *function, const char *domain) {
    for (int32_t i = 0; i < function->n_opsets; ++i) {
        if (strcmp(function->opsets[i].domain, domain) == 0) {
            return (int32_t)function->opsets[i].version;
        }
    }
    return 0;
}

static ln_status copy_node(inliner *in, const ln_node *from, ln_graph *to) {
    LN_CHECK(in->model->context, ++in->copied < MOST_NODES, LIMIT_EXCEEDED,
             "functions expand to more than %d nodes", MOST_NODES);
    ln_node *node = ln_graph_add_node(to, from->n_inputs, from->n_outputs);
    if (!node) {
        return LN_OUT_OF_MEMORY;
    }
    node->name = from->name;
    node->op_type = from->op_type;
    node->domain = from->domain;
    node->overload = from->overload;
    node->opset = from->opset ? from->opset : function_opset(in->function, from->domain);
    for (int32_t i = 0; i < from->n_inputs; ++i) {
        const ln_value_id id = mapped(in, from->inputs[i], to);
        LN_CHECK(in->model->context, id >= 0 && (id > 0 || !from->inputs[i] || in->map[from->inputs[i]] == 0),
                 OUT_OF_MEMORY, "out of memory while inlining %s", in->function->name);
        ln_node_set_input(node, i, id);
    }
    for (int32_t i = 0; i < from->n_outputs; ++i) {
        ln_node_set_output(node, i, mapped(in, from->outputs[i], to));
    }
    return copy_attributes(in, from, node);
}

static ln_status copy_graph(inliner *in, copying work) {
    if (work.from != in->function->body) {
        ln_graph *to = work.to;
        to->inputs = ln_arena_array(&in->model->arena, (size_t)work.from->n_inputs, sizeof *to->inputs);
        to->outputs = ln_arena_array(&in->model->arena, (size_t)work.from->n_outputs, sizeof *to->outputs);
        if (!to->inputs || !to->outputs) {
            return LN_OUT_OF_MEMORY;
        }
        to->n_inputs = work.from->n_inputs;
        to->n_outputs = work.from->n_outputs;
        for (int32_t i = 0; i < to->n_inputs; ++i) {
            to->inputs[i] = mapped(in, work.from->inputs[i], to);
            ln_info(in->model, to->inputs[i])->is_graph_input = true;
        }
        for (int32_t i = 0; i < work.from->n_nodes; ++i) {
            LN_TRY(copy_node(in, work.from->nodes[i], to));
        }
        for (int32_t i = 0; i < to->n_outputs; ++i) {
            to->outputs[i] = mapped(in, work.from->outputs[i], to);
            ln_info(in->model, to->outputs[i])->is_graph_output = true;
        }
        return LN_OK;
    }
    for (int32_t i = 0; i < work.from->n_nodes; ++i) {
        LN_TRY(copy_node(in, work.from->nodes[i], work.to));
    }
    return LN_OK;
}

/* An output of the call that no copied node makes (an input handed through, or one value given twice). */
static ln_status add_identity(ln_graph *graph, ln_value_id from, ln_value_id to) {
    ln_node *node = ln_graph_add_node(graph, 1, 1);
    if (!node) {
        return LN_OUT_OF_MEMORY;
    }
    node->name = "";
    node->op_type = "Identity";
    node->domain = "";
    node->overload = "";
    node->opset = ln_op_newest_opset("");
    ln_node_set_input(node, 0, from);
    ln_node_set_output(node, 0, to);
    return LN_OK;
}

static ln_status inline_call(inliner *in) {
    const ln_function *function = in->function;
    ln_node *call = in->call;
    ln_graph *graph = call->graph;
    const ln_graph *body = function->body;
    LN_CHECK(in->model->context,
             call->n_inputs <= function->n_inputs && call->n_outputs <= function->n_outputs, INVALID_GRAPH,
             "node '%s' calls function %s with %d inputs and %d outputs, it has %d and %d", call->name,
             function->name, (int)call->n_inputs, (int)call->n_outputs, (int)function->n_inputs,
             (int)function->n_outputs);
    for (int32_t i = 0; i < in->map_count; ++i) {
        in->map[i] = -1;
    }
    for (int32_t i = 0; i < body->n_inputs; ++i) {
        in->map[body->inputs[i]] = i < call->n_inputs ? call->inputs[i] : 0;
    }
    ln_value_id *outputs = ln_arena_array(&in->model->arena, (size_t)call->n_outputs, sizeof *outputs);
    if (!outputs) {
        return LN_OUT_OF_MEMORY;
    }
    memcpy(outputs, call->outputs, (size_t)call->n_outputs * sizeof *outputs);
    ln_node_remove(call);
    for (int32_t i = 0; i < call->n_outputs; ++i) {
        const ln_value_id id = body->outputs[i];
        if (outputs[i] && in->map[id] < 0 && !ln_info(in->model, id)->constant) {
            in->map[id] = outputs[i];
        }
    }
    in->n_pending = 0;
    LN_TRY(push(in, body, graph));
    while (in->n_pending > 0) {
        LN_TRY(copy_graph(in, in->pending[--in->n_pending]));
    }
    for (int32_t i = 0; i < call->n_outputs; ++i) {
        if (outputs[i] && in->map[body->outputs[i]] != outputs[i]) {
            LN_TRY(add_identity(graph, mapped(in, body->outputs[i], graph), outputs[i]));
        }
    }
    return LN_OK;
}

/* Inlines the calls that stand in one graph now; those that the copies bring are left to the next round. */
static ln_status inline_graph(ln_graph *graph, void *argument) {
    inliner *in = argument;
    const int32_t n_nodes = graph->n_nodes;
    bool changed = false;
    for (int32_t i = 0; i < n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const ln_function *function = node->removed ? NULL : find_function(in->model, node);
        if (!function) {
            continue;
        }
        if (in->map_count < in->model->n_values) {
            in->map_count = 2 * in->model->n_values;
            in->map = ln_arena_array(&in->model->arena, (size_t)in->map_count, sizeof *in->map);
            if (!in->map) {
                return LN_OUT_OF_MEMORY;
            }
        }
        in->function = function;
        in->call = node;
        LN_TRY(inline_call(in));
        changed = true;
    }
    if (changed) {
        ln_graph_sweep(graph);
    }
    return LN_OK;
}

static ln_status find_call(ln_graph *graph, void *argument) {
    const ln_model *model = graph->model;
    const ln_function **function = argument;
    for (int32_t i = 0; i < graph->n_nodes && !*function; ++i) {
        *function = find_function(model, graph->nodes[i]);
    }
    return LN_OK;
}

ln_status ln_inline_functions(ln_model *model) {
    inliner in = {.model = model};
    for (int round = 0; model->n_functions > 0; ++round) {
        const ln_function *function = NULL;
        LN_TRY(ln_model_each_graph(model, find_call, &function));
        if (!function) {
            break;
        }
        LN_CHECK(model->context, round < MOST_ROUNDS, INVALID_GRAPH, "function %s calls itself",
                 function->name);
        LN_TRY(ln_model_each_graph(model, inline_graph, &in));
    }
    return LN_OK;
}
