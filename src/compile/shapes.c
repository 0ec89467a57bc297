/* Symbolic shapes: what rewrites know about a value's shape before there is an input.
 *
 * One walk in topological order, with a rule for each operator that models are made of; what has no rule stays unknown, and
 * everything that follows from it. Sizes that depend on an input are symbols, numbered far below zero. A residual
 * connection is provably of one shape because both branches carry the same symbols, through the Shape, Gather and Concat
 * arithmetic of exporters too: elements of small integer tensors are followed in the same terms. The answers only guard
 * rewrites; a run computes its shapes anew.
 */
#include "compile/shapes.h"

#include <string.h>

#include "base/convert.h"
#include "compile/shape_rules.h"

/* ---- Questions ---- */

bool ln_known_shape(const ln_model *model, ln_value_id id, ln_shape *shape) {
    const ln_value_info *info = ln_info(model, id);
    if (id == 0) {
        return false;
    }
    if (info->constant) {
        *shape = info->constant->shape;
        return info->constant->kind == LN_KIND_TENSOR;
    }
    if (info->shape) {
        *shape = ln_shape_of(info->shape->count, info->shape->sizes);
    }
    return info->shape != NULL;
}

int ln_known_rank(const ln_model *model, ln_value_id id) {
    ln_shape shape;
    return ln_known_shape(model, id, &shape) ? shape.rank : -1;
}

bool ln_same_shape(const ln_model *model, ln_value_id a, ln_value_id b) {
    ln_shape x;
    ln_shape y;
    return a == b || (ln_known_shape(model, a, &x) && ln_known_shape(model, b, &y) && ln_shape_equal(&x, &y));
}

int ln_known_ints(const ln_model *model, ln_value_id id, int64_t *elements, int capacity) {
    const ln_value_info *info = ln_info(model, id);
    const ln_value *constant = info->constant;
    if (id == 0 || (!constant && !info->elements)) {
        return -1;
    }
    if (!constant) {
        if (info->elements->count > capacity) {
            return -1;
        }
        memcpy(elements, info->elements->sizes, (size_t)info->elements->count * sizeof *elements);
        return info->elements->count;
    }
    const int64_t count = ln_value_count(constant);
    if (constant->kind != LN_KIND_TENSOR || (constant->dtype != LN_INT64 && constant->dtype != LN_INT32) ||
        !constant->data || constant->shape.rank > 1 || count > capacity) {
        return -1;
    }
    ln_load_i64(constant->dtype, constant->data, 0, count, elements);
    return (int)count;
}

bool ln_known_axes(const ln_node *node, int index, int rank, uint32_t *mask) {
    const ln_attribute *attribute = ln_node_attribute(node, "axes");
    int64_t axes[LN_MAX_RANK];
    int count = 0;
    if (attribute && attribute->type == LN_ATTRIBUTE_INTS && attribute->count <= LN_MAX_RANK) {
        count = attribute->count;
        memcpy(axes, attribute->as.ints, (size_t)count * sizeof *axes);
    } else if (index < node->n_inputs && node->inputs[index]) {
        count = ln_node_constant(node, index)
                    ? ln_known_ints(node->graph->model, node->inputs[index], axes, LN_MAX_RANK)
                    : -1;
    }
    *mask = count == 0 ? (1U << rank) - 1 : 0;
    for (int i = 0; i < count; ++i) {
        const int axis = ln_shape_axis(axes[i], rank);
        if (axis < 0) {
            return false;
        }
        *mask |= 1U << axis;
    }
    return count >= 0;
}

/* ---- The walk ---- */

ln_status ln_keep_sizes(ln_model *model, const ln_sizes **slot, int count, const int64_t *sizes) {
    ln_sizes *copy = ln_arena_alloc(&model->arena, sizeof *copy + (size_t)count * sizeof *sizes);
    if (!copy) {
        return LN_OUT_OF_MEMORY;
    }
    copy->count = count;
    memcpy(copy->sizes, sizes, (size_t)count * sizeof *sizes);
    *slot = copy;
    return LN_OK;
}

static ln_status infer_graph(ln_graph *graph, void *argument) {
    (void)argument;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        if (node->removed || !node->outputs[0] || ln_info(graph->model, node->outputs[0])->shape) {
            continue;
        }
        ln_shape_rule *rule = ln_shape_rule_of(node->op_type);
        if (rule) {
            LN_TRY(rule(node));
            LN_TRY(ln_infer_elements(node));
        }
    }
    return LN_OK;
}

/* The main graph's inputs: feeds are held to the declared rank and numbers. */
static ln_status infer_inputs(ln_graph *graph) {
    ln_model *model = graph->model;
    for (int32_t i = 0; i < graph->n_inputs; ++i) {
        ln_value_info *info = ln_info(model, graph->inputs[i]);
        const ln_type *type = &info->type;
        if (info->shape || type->kind != LN_KIND_TENSOR || type->rank < 0 || type->rank > LN_MAX_RANK) {
            continue;
        }
        ln_shape shape = {.rank = type->rank};
        for (int d = 0; d < shape.rank; ++d) {
            shape.dims[d] = type->dims[d] >= 0 ? type->dims[d] : ln_fresh_symbol(model);
        }
        LN_TRY(ln_keep_sizes(model, &info->shape, shape.rank, shape.dims));
    }
    return LN_OK;
}

ln_status ln_infer_shapes(ln_model *model) {
    LN_TRY(infer_inputs(model->graph));
    return ln_model_each_graph(model, infer_graph, NULL);
}
