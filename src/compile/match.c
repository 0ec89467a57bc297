/* Pattern matching for rewrites. */
#include "compile/match.h"

#include <string.h>

ln_status ln_readers_init(ln_readers *readers, ln_graph *graph) {
    ln_model *model = graph->model;
    readers->model = model;
    readers->count = model->n_values;
    readers->reader =
        ln_alloc_zero(model->context, (size_t)model->n_values * sizeof *readers->reader, LN_MEMORY_SCRATCH);
    if (!readers->reader) {
        return LN_OUT_OF_MEMORY;
    }
    for (int32_t n = 0; n < graph->n_nodes; ++n) {
        ln_node *node = graph->nodes[n];
        for (int32_t i = 0; !node->removed && i < node->n_inputs; ++i) {
            readers->reader[node->inputs[i]] = node;
        }
    }
    return LN_OK;
}

void ln_readers_free(ln_readers *readers) {
    ln_free(readers->model->context, readers->reader);
}

ln_node *ln_only_reader(const ln_readers *readers, const ln_node *node) {
    const ln_value_id id = node->n_outputs > 0 ? node->outputs[0] : 0;
    if (id == 0 || id >= readers->count) {
        return NULL;
    }
    const ln_value_info *info = ln_info(readers->model, id);
    ln_node *reader = readers->reader[id];
    return info->uses == 1 && !info->is_graph_output && reader && !reader->removed ? reader : NULL;
}

bool ln_is_in(const ln_node *node, const char *domain, const char *op_type) {
    return node && strcmp(node->op_type, op_type) == 0 && strcmp(node->domain, domain) == 0;
}

bool ln_is(const ln_node *node, const char *op_type) {
    return ln_is_in(node, "", op_type);
}

ln_node *ln_producer(const ln_node *node, int index) {
    if (index >= node->n_inputs || !node->inputs[index]) {
        return NULL;
    }
    ln_node *producer = ln_info(node->graph->model, node->inputs[index])->producer;
    return producer && !producer->removed && producer->graph == node->graph ? producer : NULL;
}

bool ln_constant_number(const ln_node *node, int index, float *value) {
    const ln_value *constant =
        index < node->n_inputs && node->inputs[index] ? ln_node_constant(node, index) : NULL;
    if (!constant || constant->kind != LN_KIND_TENSOR || constant->dtype != LN_FLOAT || !constant->data ||
        ln_value_count(constant) != 1) {
        return false;
    }
    *value = *(const float *)constant->data;
    return true;
}

int ln_other_input(const ln_node *node, ln_value_id value) {
    if (node->n_inputs != 2 || node->inputs[0] == node->inputs[1]) {
        return -1;
    }
    return node->inputs[0] == value ? 1 : node->inputs[1] == value ? 0 : -1;
}

ln_dtype ln_known_dtype(const ln_model *model, ln_value_id id) {
    const ln_value_info *info = ln_info(model, id);
    if (id == 0) {
        return LN_UNDEFINED;
    }
    if (info->constant) {
        return info->constant->dtype;
    }
    return info->type.kind == LN_KIND_TENSOR ? info->type.dtype : LN_UNDEFINED;
}

void ln_absorb(ln_node *node, ln_node *last) {
    const ln_value_id output = last->outputs[0];
    ln_node_remove(last);
    ln_node_set_output(node, 0, output);
}

ln_status ln_become(ln_node *node, const char *domain, const char *op_type, int opset, int n_inputs,
                    const ln_value_id *inputs) {
    ln_arena *arena = &node->graph->model->arena;
    ln_value_id *slots = ln_arena_array(arena, (size_t)n_inputs, sizeof *slots);
    if (!slots) {
        return LN_OUT_OF_MEMORY;
    }
    ln_value_id kept[8];
    memcpy(kept, inputs, (size_t)n_inputs * sizeof *kept); /* `inputs` may be the node's own */
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        ln_node_set_input(node, i, 0);
    }
    node->inputs = slots;
    node->n_inputs = n_inputs;
    for (int i = 0; i < n_inputs; ++i) {
        ln_node_set_input(node, i, kept[i]);
    }
    node->domain = domain;
    node->op_type = op_type;
    node->opset = opset;
    node->attributes = NULL;
    node->n_attributes = 0;
    return ln_resolve_node(node);
}
