/* Graphs and function bodies: names, initializers, nodes.
 *
 * Names are declared before any node is built, so nodes may stand in any order and subgraphs, which are
 * built after the graph around them, find all names of that graph. A Constant node leaves no node behind:
 * its output is a constant like an initializer.
 */
#include <string.h>

#include "model/build.h"

/* The lists of a graph or of a function, whichever the task is. */
typedef struct source {
    size_t n_nodes;
    Onnx__NodeProto *const *nodes;
    size_t n_inputs;
    size_t n_outputs;
    size_t n_value_infos;
    Onnx__ValueInfoProto *const *value_infos;
    size_t n_initializers;
    size_t n_sparse;
} source;

static source source_of(const ln_graph_task *task) {
    const Onnx__GraphProto *const graph = task->proto;
    const Onnx__FunctionProto *const function = task->function;
    if (graph != NULL) {
        return (source){
            graph->n_node,       graph->node,       graph->n_input,       graph->n_output,
            graph->n_value_info, graph->value_info, graph->n_initializer, graph->n_sparse_initializer};
    }
    return (source){function->n_node,
                    function->node,
                    function->n_input,
                    function->n_output,
                    function->n_value_info,
                    function->value_info,
                    0,
                    0};
}

static const char *input_name(const ln_graph_task *task, size_t i) {
    const char *const name = task->proto != NULL ? task->proto->input[i]->name : task->function->input[i];
    return name != NULL ? name : "";
}

static const char *output_name(const ln_graph_task *task, size_t i) {
    const char *const name = task->proto != NULL ? task->proto->output[i]->name : task->function->output[i];
    return name != NULL ? name : "";
}

static const char *or_empty(const char *text) {
    return text != NULL ? text : "";
}

ln_status ln_build_later(ln_builder *builder, const ln_graph_task *task) {
    ln_graph_task *const queued = ln_arena_alloc(builder->scratch, sizeof(*queued));
    if (queued == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    *queued = *task;
    if (builder->last != NULL) {
        builder->last->next = queued;
    } else {
        builder->first = queued;
    }
    builder->last = queued;
    return LN_OK;
}

/* The documentation of an input or output, if it has one and the value has none yet. */
static ln_status build_doc_string(ln_builder *builder, ln_value_id id, const char *doc) {
    ln_value_info *const info = ln_info(builder->model, id);
    if (info->doc_string == NULL && or_empty(doc)[0] != '\0') {
        info->doc_string = ln_build_text(builder, doc);
        return info->doc_string != NULL ? LN_OK : LN_OUT_OF_MEMORY;
    }
    return LN_OK;
}

/* ---- Names ---- */

/* A new value with a name that this graph does not use yet. */
static ln_status declare(ln_builder *builder, ln_graph_task *task, const char *name, ln_value_id *id) {
    LN_CHECK(builder->context, ln_scope_own(&task->scope, name) == 0, INVALID_GRAPH,
             "the name '%s' is given to two values of one graph", name);
    const char *const kept = ln_build_text(builder, name);
    *id = kept != NULL ? ln_graph_add_value(task->graph, kept) : 0;
    if (*id == 0) {
        return builder->context->error.code;
    }
    ln_scope_add(&task->scope, kept, *id);
    return LN_OK;
}

static ln_status declare_inputs(ln_builder *builder, ln_graph_task *task, const source *from) {
    ln_graph *const graph = task->graph;
    graph->inputs = ln_arena_array(builder->arena, from->n_inputs, sizeof(*graph->inputs));
    if (graph->inputs == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < from->n_inputs; i++) {
        LN_CHECK(builder->context, input_name(task, i)[0] != '\0', INVALID_GRAPH,
                 "input %zu of a graph has no name", i);
        ln_value_id id = 0;
        LN_TRY(declare(builder, task, input_name(task, i), &id));
        graph->inputs[graph->n_inputs++] = id;
        if (task->proto != NULL) {
            LN_TRY(ln_build_type(builder, task->proto->input[i]->type, &ln_info(builder->model, id)->type));
            LN_TRY(build_doc_string(builder, id, task->proto->input[i]->doc_string));
        }
    }
    return LN_OK;
}

static ln_status declare_node_outputs(ln_builder *builder, ln_graph_task *task, const source *from) {
    for (size_t i = 0; i < from->n_nodes; i++) {
        const Onnx__NodeProto *const node = from->nodes[i];
        for (size_t k = 0; k < node->n_output; k++) {
            ln_value_id id = 0;
            if (node->output[k][0] == '\0') {
                continue;
            }
            const ln_status status = declare(builder, task, node->output[k], &id);
            if (status != LN_OK) {
                ln_error_locate(builder->context, or_empty(node->name), or_empty(node->op_type), 0);
                return status;
            }
        }
    }
    return LN_OK;
}

/* ---- Constants ---- */

/* A value's constant, and its type where none is declared. */
static ln_status bind_constant(ln_builder *builder, ln_value_id id, ln_value *constant, bool block) {
    ln_value_info *const info = ln_info(builder->model, id);
    info->constant = constant;
    info->constant_block = block;
    if (info->type.kind != LN_KIND_NONE) {
        return LN_OK;
    }
    const int rank = constant->shape.rank;
    int64_t *const dims = ln_arena_array(builder->arena, (size_t)rank, sizeof(*dims));
    if (dims == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    memcpy(dims, constant->shape.dims, (size_t)rank * sizeof(*dims));
    info->type = (ln_type){.kind = LN_KIND_TENSOR, .dtype = constant->dtype, .rank = rank, .dims = dims};
    return LN_OK;
}

/* The value of an initializer: a new one, or the graph input of the same name, whose default it is. */
static ln_status declare_initializer(ln_builder *builder, ln_graph_task *task, const char *name,
                                     ln_value_id *id) {
    LN_CHECK(builder->context, name[0] != '\0', INVALID_GRAPH, "an initializer has no name");
    *id = ln_scope_own(&task->scope, name);
    if (*id == 0) {
        return declare(builder, task, name, id);
    }
    LN_CHECK(builder->context, ln_info(builder->model, *id)->constant == NULL, INVALID_GRAPH,
             "there are two initializers named '%s'", name);
    return LN_OK;
}

static ln_status build_initializers(ln_builder *builder, ln_graph_task *task, const source *from) {
    for (size_t i = 0; i < from->n_initializers + from->n_sparse; i++) {
        const bool dense = i < from->n_initializers;
        const Onnx__SparseTensorProto *const sparse =
            dense ? NULL : task->proto->sparse_initializer[i - from->n_initializers];
        const Onnx__TensorProto *const tensor = dense ? task->proto->initializer[i] : sparse->values;
        ln_value_id id = 0;
        bool block = !dense;
        LN_TRY(declare_initializer(builder, task, tensor != NULL ? or_empty(tensor->name) : "", &id));
        ln_value *const constant = ln_arena_alloc(builder->arena, sizeof(*constant));
        if (constant == NULL) {
            return LN_OUT_OF_MEMORY;
        }
        LN_TRY(dense ? ln_build_tensor(builder, tensor, id, constant, &block)
                     : ln_build_dense(builder, sparse, constant));
        LN_TRY(bind_constant(builder, id, constant, block));
    }
    return LN_OK;
}

/* ---- Nodes ---- */

static int32_t node_opset(const ln_graph_task *task, const char *domain) {
    for (int32_t i = 0; i < task->n_opsets; i++) {
        if (strcmp(task->opsets[i].domain, domain) == 0) {
            const int64_t version = task->opsets[i].version;
            return version > 0 && version < INT32_MAX ? (int32_t)version : 0;
        }
    }
    return domain[0] == '\0' ? 0 : 1;
}

static bool is_constant(const Onnx__NodeProto *node) {
    if (strcmp(or_empty(node->op_type), "Constant") != 0 || ln_build_domain(node->domain)[0] != '\0' ||
        node->n_output != 1) {
        return false;
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->ref_attr_name != NULL && node->attribute[i]->ref_attr_name[0] != '\0') {
            return false;
        }
    }
    return true;
}

static ln_status build_constant_node(ln_builder *builder, ln_graph_task *task, const Onnx__NodeProto *proto) {
    if (proto->output[0][0] == '\0') {
        return LN_OK;
    }
    const ln_value_id id = ln_scope_own(&task->scope, proto->output[0]);
    ln_value *const constant = ln_arena_alloc(builder->arena, sizeof(*constant));
    bool block = false;
    if (constant == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    LN_TRY(ln_build_constant(builder, proto, id, constant, &block));
    return bind_constant(builder, id, constant, block);
}

static ln_status connect(ln_builder *builder, const ln_graph_task *task, const Onnx__NodeProto *proto,
                         ln_node *node) {
    for (int i = 0; i < node->n_inputs; i++) {
        const char *const name = proto->input[i];
        node->inputs[i] = name[0] != '\0' ? ln_scope_find(&task->scope, name) : 0;
        LN_CHECK(builder->context, name[0] == '\0' || node->inputs[i] != 0, INVALID_GRAPH,
                 "%s node '%s' reads '%s', which nothing makes", node->op_type, node->name, name);
    }
    for (int i = 0; i < node->n_outputs; i++) {
        node->outputs[i] = proto->output[i][0] != '\0' ? ln_scope_own(&task->scope, proto->output[i]) : 0;
    }
    return LN_OK;
}

static ln_status build_node(ln_builder *builder, const ln_graph_task *task, const Onnx__NodeProto *proto) {
    ln_context *const context = builder->context;
    LN_CHECK(context, proto->n_input < INT16_MAX * 32 && proto->n_output < INT16_MAX * 32, LIMIT_EXCEEDED,
             "a node has too many inputs or outputs");
    ln_node *const node = ln_graph_add_node(task->graph, (int)proto->n_input, (int)proto->n_output);
    if (node == NULL) {
        return context->error.code;
    }
    node->name = ln_build_text(builder, proto->name);
    node->op_type = ln_build_text(builder, proto->op_type);
    node->domain = ln_build_text(builder, ln_build_domain(proto->domain));
    node->overload = ln_build_text(builder, proto->overload);
    if (node->name == NULL || node->op_type == NULL || node->domain == NULL || node->overload == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    node->opset = node_opset(task, node->domain);
    LN_CHECK(context, node->op_type[0] != '\0', INVALID_GRAPH, "node '%s' has no operator", node->name);
    LN_CHECK(context, node->opset > 0, INVALID_GRAPH,
             "the model does not say for which operator set %s node '%s' is", node->op_type, node->name);
    LN_TRY(connect(builder, task, proto, node));
    node->n_attributes = (int32_t)proto->n_attribute;
    const ln_status status = ln_build_attributes(builder, task, task->graph, proto->n_attribute,
                                                 proto->attribute, &node->attributes);
    node->n_attributes = status == LN_OK ? node->n_attributes : 0;
    return status;
}

static ln_status build_nodes(ln_builder *builder, ln_graph_task *task, const source *from) {
    for (size_t i = 0; i < from->n_nodes; i++) {
        const Onnx__NodeProto *const node = from->nodes[i];
        const ln_status status =
            is_constant(node) ? build_constant_node(builder, task, node) : build_node(builder, task, node);
        if (status != LN_OK) {
            ln_error_locate(builder->context, or_empty(node->name), or_empty(node->op_type),
                            node_opset(task, ln_build_domain(node->domain)));
            return status;
        }
    }
    return LN_OK;
}

/* ---- Outputs and types ---- */

/* What value_info or an output says of a value of this graph, unless more is known already. */
static ln_status build_declared_type(ln_builder *builder, const ln_graph_task *task,
                                     const Onnx__ValueInfoProto *proto) {
    const ln_value_id id = proto->name != NULL ? ln_scope_own(&task->scope, proto->name) : 0;
    if (id == 0 || ln_info(builder->model, id)->type.kind != LN_KIND_NONE || proto->type == NULL) {
        return LN_OK;
    }
    return ln_build_type(builder, proto->type, &ln_info(builder->model, id)->type);
}

static ln_status build_outputs(ln_builder *builder, const ln_graph_task *task, const source *from) {
    ln_graph *const graph = task->graph;
    graph->outputs = ln_arena_array(builder->arena, from->n_outputs, sizeof(*graph->outputs));
    if (graph->outputs == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < from->n_outputs; i++) {
        const ln_value_id id = ln_scope_find(&task->scope, output_name(task, i));
        LN_CHECK(builder->context, id != 0, INVALID_GRAPH, "nothing makes the graph output '%s'",
                 output_name(task, i));
        graph->outputs[graph->n_outputs++] = id;
        if (task->proto != NULL) {
            LN_TRY(build_declared_type(builder, task, task->proto->output[i]));
            LN_TRY(build_doc_string(builder, id, task->proto->output[i]->doc_string));
        }
    }
    return LN_OK;
}

static ln_status build_graph(ln_builder *builder, ln_graph_task *task) {
    const source from = source_of(task);
    size_t names = from.n_inputs + from.n_initializers + from.n_sparse;
    for (size_t i = 0; i < from.n_nodes; i++) {
        names += from.nodes[i]->n_output;
    }
    LN_CHECK(builder->context,
             from.n_inputs < INT32_MAX && from.n_outputs < INT32_MAX && names < INT32_MAX / 4, LIMIT_EXCEEDED,
             "a graph has too many values");
    LN_TRY(ln_scope_init(&task->scope, builder->scratch, task->outer, names));
    if (task->proto != NULL) {
        task->graph->name = ln_build_text(builder, task->proto->name);
        task->graph->doc_string = ln_build_text(builder, task->proto->doc_string);
        if (task->graph->name == NULL || task->graph->doc_string == NULL) {
            return LN_OUT_OF_MEMORY;
        }
    }
    LN_TRY(declare_inputs(builder, task, &from));
    LN_TRY(build_initializers(builder, task, &from));
    LN_TRY(declare_node_outputs(builder, task, &from));
    for (size_t i = 0; i < from.n_value_infos; i++) {
        LN_TRY(build_declared_type(builder, task, from.value_infos[i]));
    }
    LN_TRY(build_nodes(builder, task, &from));
    return build_outputs(builder, task, &from);
}

ln_status ln_build_graphs(ln_builder *builder) {
    for (ln_graph_task *task = builder->first; task != NULL; task = task->next) {
        LN_TRY(build_graph(builder, task));
    }
    ln_model_index(builder->model);
    for (ln_graph_task *task = builder->first; task != NULL; task = task->next) {
        LN_TRY(ln_graph_sort(task->graph));
    }
    return LN_OK;
}
