/* Common subexpressions: of two nodes that compute the same from the same, the later one goes.
 *
 * Small constants are compared by what they hold, since exporters write the same axes and numbers again and again. Nodes
 * are found by a hash of operator and inputs; only nodes of one graph are merged.
 */
#include <string.h>

#include "compile/match.h"

enum { SMALL_BYTES = 64 };

static const ln_value *small_constant(const ln_node *node, int index) {
    const ln_value *constant = ln_node_constant(node, index);
    const bool small = constant && constant->kind == LN_KIND_TENSOR && constant->data &&
                       constant->dtype != LN_STRING && ln_value_bytes(constant) <= SMALL_BYTES;
    return small ? constant : NULL;
}

static uint32_t mix(uint32_t hash, const void *bytes, size_t length) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; ++i) {
        hash = (hash ^ at[i]) * 16777619U;
    }
    return hash;
}

static uint32_t hash_of(const ln_node *node) {
    uint32_t hash = mix(2166136261U, node->op_type, strlen(node->op_type));
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        const ln_value *constant = small_constant(node, i);
        hash = constant ? mix(hash, constant->data, ln_value_bytes(constant))
                        : mix(hash, &node->inputs[i], sizeof node->inputs[i]);
    }
    return hash;
}

static bool same_input(const ln_node *a, const ln_node *b, int index) {
    if (a->inputs[index] == b->inputs[index]) {
        return true;
    }
    const ln_value *x = small_constant(a, index);
    const ln_value *y = small_constant(b, index);
    return x && y && x->dtype == y->dtype && ln_shape_equal(&x->shape, &y->shape) &&
           memcmp(x->data, y->data, ln_value_bytes(x)) == 0;
}

static bool same_attribute(const ln_attribute *a, const ln_attribute *b) {
    if (strcmp(a->name, b->name) != 0 || a->type != b->type || a->count != b->count) {
        return false;
    }
    switch (a->type) {
    case LN_ATTRIBUTE_FLOAT:
    case LN_ATTRIBUTE_FLOATS:
        return memcmp(a->as.floats, b->as.floats, (size_t)a->count * sizeof *a->as.floats) == 0;
    case LN_ATTRIBUTE_INT:
    case LN_ATTRIBUTE_INTS:
        return memcmp(a->as.ints, b->as.ints, (size_t)a->count * sizeof *a->as.ints) == 0;
    case LN_ATTRIBUTE_STRING:
        return ln_string_compare(&a->as.strings[0], &b->as.strings[0]) == 0;
    default:
        return false;
    }
}

/* Whether `a` gives all that `b` gives. Attributes count by what they are, not by what build made of them. */
static bool equal(const ln_node *a, const ln_node *b) {
    bool same = strcmp(a->op_type, b->op_type) == 0 && strcmp(a->domain, b->domain) == 0 &&
                a->opset == b->opset && a->row == b->row && a->n_inputs == b->n_inputs &&
                a->n_outputs == b->n_outputs && a->n_attributes == b->n_attributes &&
                a->output_dtype == b->output_dtype;
    for (int32_t i = 0; same && i < a->n_inputs; ++i) {
        same = same_input(a, b, i);
    }
    for (int32_t i = 0; same && i < a->n_attributes; ++i) {
        same = same_attribute(&a->attributes[i], &b->attributes[i]);
    }
    for (int32_t i = 0; same && i < a->n_outputs; ++i) {
        const bool free = !b->outputs[i] || !ln_info(b->graph->model, b->outputs[i])->is_graph_output;
        same = free && (!b->outputs[i] || a->outputs[i]);
    }
    return same;
}

/* What rewrites fuse into these lives in params alone. */
static const char *const fused_into[] = {"Conv", "ConvTranspose", "MatMul", "Gemm", "MaxPool", "AveragePool"};

static bool mergeable(const ln_node *node) {
    for (size_t i = 0; i < sizeof fused_into / sizeof fused_into[0]; ++i) {
        if (ln_is(node, fused_into[i])) {
            return false;
        }
    }
    return !node->removed && node->domain[0] == 0 && node->n_inputs > 0 &&
           !(node->row->flags & (LN_OP_RANDOM | LN_OP_CONTROL | LN_OP_DYNAMIC));
}

static void merge(ln_node *kept, ln_node *gone) {
    ln_model *model = gone->graph->model;
    for (int32_t i = 0; i < gone->n_outputs; ++i) {
        if (gone->outputs[i]) {
            ln_model_replace_uses(model, gone->outputs[i], kept->outputs[i]);
        }
    }
    ln_node_remove(gone);
}

ln_status ln_rewrite_merge_equal(ln_graph *graph, int *fired) {
    uint32_t slots = 16;
    while (slots < (uint32_t)graph->n_nodes * 2) {
        slots *= 2;
    }
    ln_node **table = ln_alloc_zero(graph->model->context, slots * sizeof *table, LN_MEMORY_SCRATCH);
    if (!table) {
        return LN_OUT_OF_MEMORY;
    }
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        if (!mergeable(node)) {
            continue;
        }
        uint32_t slot = hash_of(node) & (slots - 1);
        while (table[slot] && !equal(table[slot], node)) {
            slot = (slot + 1) & (slots - 1);
        }
        if (table[slot]) {
            merge(table[slot], node);
            ++*fired;
        } else {
            table[slot] = node;
        }
    }
    ln_free(graph->model->context, table);
    return LN_OK;
}
