/* FNV-1a over a model, one part after the other; pointers and capacities stay out of it. */
#include "model_hash.h"

#include <string.h>

typedef struct hasher {
    uint64_t value;
    const ln_model *model;
} hasher;

static void add_bytes(hasher *hash, const void *bytes, size_t length) {
    const uint8_t *const at = bytes;
    for (size_t i = 0; i < length; i++) {
        hash->value = (hash->value ^ at[i]) * UINT64_C(1099511628211);
    }
}

static void add_number(hasher *hash, int64_t number) {
    add_bytes(hash, &number, sizeof(number));
}

static void add_text(hasher *hash, const char *text) {
    add_number(hash, text == NULL ? -1 : (int64_t)strlen(text));
    add_bytes(hash, text, text == NULL ? 0 : strlen(text));
}

static void add_tensor(hasher *hash, const ln_value *value) {
    add_number(hash, value->kind);
    add_number(hash, value->dtype);
    add_number(hash, value->shape.rank);
    add_bytes(hash, value->shape.dims, (size_t)value->shape.rank * sizeof(int64_t));
    if (value->kind == LN_KIND_SPARSE) {
        add_tensor(hash, ln_value_item(value, 0));
        add_tensor(hash, ln_value_item(value, 1));
    } else if (value->dtype == LN_STRING) {
        const ln_string *const strings = value->data;
        for (int64_t i = 0; i < ln_value_count(value); i++) {
            add_number(hash, (int64_t)strings[i].length);
            add_bytes(hash, strings[i].data, strings[i].length);
        }
    } else if (value->data != NULL) {
        add_bytes(hash, value->data, ln_value_bytes(value));
    }
}

static void add_type(hasher *hash, const ln_type *type) {
    for (; type != NULL; type = type->element) {
        add_number(hash, type->kind);
        add_number(hash, type->dtype);
        add_number(hash, type->rank);
        for (int32_t i = 0; i < type->rank; i++) {
            add_number(hash, type->dims[i]);
            add_text(hash, type->dim_params != NULL ? type->dim_params[i] : NULL);
        }
    }
}

static void add_attribute(hasher *hash, const ln_attribute *attribute) {
    add_text(hash, attribute->name);
    add_text(hash, attribute->reference);
    add_number(hash, attribute->type);
    add_number(hash, attribute->count);
    for (int32_t i = 0; i < attribute->count; i++) {
        switch (attribute->type) {
        case LN_ATTRIBUTE_FLOAT:
        case LN_ATTRIBUTE_FLOATS:
            add_bytes(hash, &attribute->as.floats[i], sizeof(float));
            break;
        case LN_ATTRIBUTE_INT:
        case LN_ATTRIBUTE_INTS:
            add_number(hash, attribute->as.ints[i]);
            break;
        case LN_ATTRIBUTE_STRING:
        case LN_ATTRIBUTE_STRINGS:
            add_bytes(hash, attribute->as.strings[i].data, attribute->as.strings[i].length);
            break;
        case LN_ATTRIBUTE_TYPE_PROTO:
        case LN_ATTRIBUTE_TYPE_PROTOS:
            add_type(hash, &attribute->as.types[i]);
            break;
        case LN_ATTRIBUTE_GRAPH:
        case LN_ATTRIBUTE_GRAPHS:
            add_text(hash, attribute->as.graphs[i]->name);
            break;
        default:
            add_tensor(hash, &attribute->as.tensors[i]);
            break;
        }
    }
}

static ln_status add_graph(ln_graph *graph, void *argument) {
    hasher *const hash = argument;
    add_text(hash, graph->name);
    add_bytes(hash, graph->inputs, (size_t)graph->n_inputs * sizeof(*graph->inputs));
    add_bytes(hash, graph->outputs, (size_t)graph->n_outputs * sizeof(*graph->outputs));
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const ln_node *const node = graph->nodes[i];
        add_text(hash, node->name);
        add_text(hash, node->op_type);
        add_text(hash, node->domain);
        add_number(hash, node->opset);
        add_bytes(hash, node->inputs, (size_t)node->n_inputs * sizeof(*node->inputs));
        add_bytes(hash, node->outputs, (size_t)node->n_outputs * sizeof(*node->outputs));
        for (int32_t k = 0; k < node->n_attributes; k++) {
            add_attribute(hash, &node->attributes[k]);
        }
    }
    return LN_OK;
}

uint64_t model_hash(ln_model *model) {
    hasher hash = {UINT64_C(14695981039346656037), model};
    add_number(&hash, model->ir_version);
    add_text(&hash, model->producer_name);
    add_text(&hash, model->doc_string);
    for (int32_t i = 0; i < model->n_metadata; i++) {
        add_text(&hash, model->metadata[i].key);
        add_text(&hash, model->metadata[i].value);
    }
    for (int32_t i = 0; i < model->n_opsets; i++) {
        add_text(&hash, model->opsets[i].domain);
        add_number(&hash, model->opsets[i].version);
    }
    for (int32_t i = 1; i < model->n_values; i++) {
        const ln_value_info *const info = &model->values[i];
        add_text(&hash, info->name);
        add_type(&hash, &info->type);
        add_number(&hash, info->uses);
        add_number(&hash, info->producer != NULL ? info->producer->index : -1);
        if (info->constant != NULL) {
            add_tensor(&hash, info->constant);
        }
    }
    (void)ln_model_each_graph(model, add_graph, &hash);
    for (int32_t i = 0; i < model->n_functions; i++) {
        const ln_function *const function = &model->functions[i];
        add_text(&hash, function->name);
        add_text(&hash, function->domain);
        for (int32_t k = 0; k < function->n_defaults; k++) {
            add_attribute(&hash, &function->defaults[k]);
        }
        (void)add_graph(function->body, &hash);
    }
    return hash.value;
}
