/* Transposes that meet: two in a row become one or none, also through elementwise nodes between them, and the sum of two
 * values that are transposed alike is transposed once. Reshapes in a row become the last of them.
 *
 * Between two transposes the elementwise nodes run in the layout before the first; a constant with one long axis, such as
 * a bias per channel, is laid out anew for them.
 */
#include <string.h>

#include "compile/match.h"
#include "compile/shapes.h"

enum { CHAIN = 16 };

static const char *const unary[] = {
    "Abs",  "Cast",    "Ceil", "Clip",        "Cos",       "Elu",        "Erf",
    "Exp",  "Floor",   "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",  "Log",
    "Mish", "Neg",     "Not",  "QuickGelu",   "Relu",      "Reciprocal", "Round",
    "Selu", "Sigmoid", "Sin",  "Softplus",    "Sqrt",      "Swish",      "Tanh",
};
static const char *const binary[] = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"};

#define LISTED(node, list) listed((node), (list), sizeof(list) / sizeof((list)[0]))
static bool listed(const ln_node *node, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(node->op_type, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The permutation of a Transpose, or NULL. */
static const ln_attribute *permutation(const ln_node *node) {
    const ln_attribute *perm =
        node && !node->removed && ln_is(node, "Transpose") ? ln_node_attribute(node, "perm") : NULL;
    return perm && perm->count >= 1 && perm->count <= LN_MAX_RANK ? perm : NULL;
}

/* The axis of a constant that is longer than 1, counted in `rank` axes; -1 for a single element, -2 for more than one axis. */
static int long_axis(const ln_shape *shape, int rank) {
    int axis = -1;
    for (int i = 0; i < shape->rank; ++i) {
        if (shape->dims[i] != 1) {
            axis = axis == -1 ? rank - shape->rank + i : -2;
        }
    }
    return shape->rank > rank ? -2 : axis;
}

/* Whether a node works on each element of `value` by itself, in whatever layout. */
static bool is_elementwise(const ln_node *node, ln_value_id value, int rank) {
    if (node->n_outputs != 1) {
        return false;
    }
    if (LISTED(node, unary)) {
        return node->inputs[0] == value;
    }
    const int other = LISTED(node, binary) && node->opset >= 7 ? ln_other_input(node, value) : -1;
    const ln_value *constant = other >= 0 ? ln_node_constant(node, other) : NULL;
    return constant && constant->kind == LN_KIND_TENSOR && constant->data &&
           long_axis(&constant->shape, rank) != -2;
}

/* Lays the constant operand of a node out for the layout before the transpose. */
static ln_status move_constant(ln_node *node, ln_value_id value, const ln_attribute *perm) {
    ln_model *model = node->graph->model;
    const int other = LISTED(node, binary) ? ln_other_input(node, value) : -1;
    const int axis = other < 0 ? -1 : long_axis(&ln_node_constant(node, other)->shape, perm->count);
    if (axis < 0) {
        return LN_OK;
    }
    const ln_value *constant = ln_node_constant(node, other);
    ln_shape shape = {.rank = perm->count};
    for (int i = 0; i < shape.rank; ++i) {
        shape.dims[i] = 1;
    }
    shape.dims[perm->as.ints[axis]] = ln_value_count(constant);
    ln_value copy = {0};
    LN_TRY(ln_value_make(model->context, &copy, constant->dtype, &shape));
    memcpy(copy.data, constant->data, ln_value_bytes(constant));
    const ln_value_id id = ln_graph_add_constant(node->graph, "", &copy);
    if (!id) {
        ln_value_release(model->context, &copy);
        return LN_OUT_OF_MEMORY;
    }
    ln_node_set_input(node, other, id);
    return LN_OK;
}

/* `second` permutes what `first` gave: now it permutes `value`, which is laid out as before `first`. */
static ln_status compose(ln_node *second, const ln_attribute *first, ln_value_id value) {
    ln_model *model = second->graph->model;
    const ln_attribute *perm = permutation(second);
    int64_t axes[LN_MAX_RANK];
    bool same = true;
    for (int i = 0; i < perm->count; ++i) {
        axes[i] = first->as.ints[perm->as.ints[i]];
        same = same && axes[i] == i;
    }
    const ln_value_id result = second->outputs[0];
    if (same && !ln_info(model, result)->is_graph_output) {
        ln_node_remove(second);
        ln_model_replace_uses(model, result, value);
        return LN_OK;
    }
    const ln_setting setting = {
        .name = "perm", .type = LN_ATTRIBUTE_INTS, .ints = axes, .count = perm->count};
    return ln_become_with(second, "", "Transpose", second->opset, 1, &value, 1, &setting);
}

/* The elementwise nodes between a Transpose and the next; their number, or -1 when there is no next. */
static int find_chain(const ln_readers *readers, const ln_node *first, int rank, ln_node **chain,
                      ln_node **second) {
    const ln_node *at = first;
    for (int count = 0; count <= CHAIN; ++count) {
        ln_node *next = ln_only_reader(readers, at);
        const ln_attribute *perm = permutation(next);
        if (perm && perm->count == rank) {
            *second = next;
            return count;
        }
        if (!next || count == CHAIN || !is_elementwise(next, at->outputs[0], rank)) {
            return -1;
        }
        chain[count] = next;
        at = next;
    }
    return -1;
}

static ln_status join(const ln_readers *readers, ln_node *first, int *fired) {
    ln_model *model = first->graph->model;
    const ln_attribute *perm = permutation(first);
    ln_node *chain[CHAIN];
    ln_node *second = NULL;
    const int count = find_chain(readers, first, perm->count, chain, &second);
    if (count < 0) {
        return LN_OK;
    }
    ln_value_id value = first->outputs[0];
    ln_value_id source = first->inputs[0];
    for (int i = 0; i < count; ++i) {
        LN_TRY(move_constant(chain[i], value, perm));
        value = chain[i]->outputs[0];
        ln_info(model, value)->shape = NULL; /* found anew */
    }
    if (count > 0) {
        ln_node_set_input(chain[0], chain[0]->inputs[0] == first->outputs[0] ? 0 : 1, source);
        source = chain[count - 1]->outputs[0];
    }
    ++*fired;
    LN_TRY(compose(second, perm, source));
    ln_node_remove(first);
    return LN_OK;
}

static bool same_permutation(const ln_attribute *a, const ln_attribute *b) {
    return a && b && a->count == b->count &&
           memcmp(a->as.ints, b->as.ints, (size_t)a->count * sizeof *a->as.ints) == 0;
}

/* op(transpose(a), transpose(b)) becomes transpose(op(a, b)). */
static ln_status hoist(const ln_readers *readers, ln_node *node, int *fired) {
    ln_node *a = node->n_inputs == 2 ? ln_producer(node, 0) : NULL;
    ln_node *b = node->n_inputs == 2 ? ln_producer(node, 1) : NULL;
    if (!LISTED(node, binary) || node->opset < 7 || a == b ||
        !same_permutation(permutation(a), permutation(b)) || ln_only_reader(readers, a) != node ||
        ln_only_reader(readers, b) != node) {
        return LN_OK;
    }
    ln_graph *graph = node->graph;
    const ln_value_id result = node->outputs[0];
    const ln_value_id before = ln_graph_add_value(graph, "");
    if (!before) {
        return LN_OUT_OF_MEMORY;
    }
    ln_info(graph->model, before)->type =
        (ln_type){.kind = LN_KIND_TENSOR, .dtype = ln_known_dtype(graph->model, result), .rank = -1};
    ln_node_set_input(node, 0, a->inputs[0]);
    ln_node_set_input(node, 1, b->inputs[0]);
    ln_node_set_output(node, 0, before);
    ln_node_remove(b);
    ln_node_set_input(a, 0, before);
    ln_node_set_output(a, 0, result);
    ++*fired;
    return LN_OK;
}

ln_status ln_rewrite_push_transposes(ln_graph *graph, int *fired) {
    ln_readers readers;
    ln_status status = ln_readers_init(&readers, graph);
    LN_TRY(status);
    for (int32_t i = 0; i < graph->n_nodes && status == LN_OK; ++i) {
        ln_node *node = graph->nodes[i];
        const int before = *fired;
        if (permutation(node)) {
            status = join(&readers, node, fired);
        } else if (!node->removed) {
            status = hoist(&readers, node, fired);
        }
        if (status == LN_OK && *fired != before) { /* who reads what has changed */
            ln_readers_free(&readers);
            status = ln_readers_init(&readers, graph);
            LN_TRY(status);
        }
    }
    ln_readers_free(&readers);
    return status;
}

/* ---- Reshapes ---- */

/* Whether the shape that a Reshape gives does not depend on the shape of what it takes, but for the count. */
static bool names_all_sizes(const ln_node *node) {
    int64_t sizes[LN_MAX_RANK];
    const int count = node->n_inputs > 1 && ln_node_constant(node, 1)
                          ? ln_known_ints(node->graph->model, node->inputs[1], sizes, LN_MAX_RANK)
                          : -1;
    for (int i = 0; i < count; ++i) {
        if (sizes[i] == 0) {
            return false;
        }
    }
    return ln_is(node, "Reshape") && count >= 0;
}

ln_status ln_rewrite_collapse_reshapes(ln_graph *graph, int *fired) {
    ln_model *model = graph->model;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const bool alias = !node->removed && (node->row->flags & LN_OP_ALIAS) && node->n_outputs == 1;
        const ln_node *before = alias ? ln_producer(node, 0) : NULL;
        if (!before || !(before->row->flags & LN_OP_ALIAS) || before->n_outputs != 1 ||
            ln_known_dtype(model, before->inputs[0]) == LN_UNDEFINED ||
            ln_known_dtype(model, before->inputs[0]) != ln_known_dtype(model, node->outputs[0])) {
            continue;
        }
        const ln_value_id result = node->outputs[0];
        if (ln_same_shape(model, result, before->inputs[0]) && !ln_info(model, result)->is_graph_output) {
            const ln_value_id value = before->inputs[0];
            ln_node_remove(node);
            ln_model_replace_uses(model, result, value);
            ++*fired;
        } else if (names_all_sizes(node)) {
            ln_node_set_input(node, 0, before->inputs[0]);
            ++*fired;
        }
    }
    return LN_OK;
}
