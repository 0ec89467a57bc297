/* Turns Gradient nodes into the nodes that compute them, by reverse-mode differentiation.
 *
 * A Gradient node names values of its graph: y, and the xs that y is differentiated by; its inputs are the point where. The
 * nodes between xs and y are copied with the inputs in place of the xs and zs, then walked backwards: each passes the
 * gradient of its output on to its inputs by the rule of its operator. A gradient is summed to the shape of the value it belongs
 * to, where that was broadcast. Operators without a rule are an error that names them.
 */
#include <string.h>

#include "compile/compile.h"

enum { MADE_OPSET = 18, MOST_NAMES = 256 };

typedef struct expansion {
    ln_graph *graph;
    ln_node *gradient;
    ln_context *context;
    int32_t n_nodes;     /* of the graph before anything is added */
    int32_t n_values;    /* of the model before anything is added */
    bool *depends;       /* by value: computed from an x or z */
    ln_value_id *copies; /* by value: what stands for it at the point; 0 for itself */
    ln_value_id *slopes; /* by value: gradient of y by it; 0 for none yet */
} expansion;

/* Making nodes ----------------------------------------------------------------------------------------------------- */

/* The output of a new node with one or two inputs; 0 when memory ran out or an input is 0. */
static ln_value_id make(expansion *e, const char *domain, const char *op, ln_value_id a, ln_value_id b) {
    ln_node *node = a > 0 && b >= 0 ? ln_graph_add_node(e->graph, b > 0 ? 2 : 1, 1) : NULL;
    const ln_value_id result = node != NULL ? ln_graph_add_value(e->graph, "") : 0;
    if (result == 0) {
        return 0;
    }
    node->op_type = op;
    node->domain = domain;
    node->opset = domain[0] == 0 ? MADE_OPSET : 1;
    node->name = e->gradient->name;
    ln_node_set_input(node, 0, a);
    if (b > 0) {
        ln_node_set_input(node, 1, b);
    }
    ln_node_set_output(node, 0, result);
    return result;
}

static ln_value_id one(expansion *e, const char *op, ln_value_id a) {
    return make(e, "", op, a, 0);
}
static ln_value_id two(expansion *e, const char *op, ln_value_id a, ln_value_id b) {
    return a > 0 && b > 0 ? make(e, "", op, a, b) : 0;
}

/* A product of matrices of which one side is transposed: transA or transB. */
static ln_value_id transposed_product(expansion *e, ln_value_id a, ln_value_id b, const char *side) {
    static const int64_t yes[] = {1};
    ln_attribute *attribute = ln_arena_alloc(&e->graph->model->arena, sizeof(*attribute));
    const ln_value_id result =
        attribute != NULL && a > 0 && b > 0 ? make(e, "com.microsoft", "FusedMatMul", a, b) : 0;
    if (result > 0) {
        *attribute = (ln_attribute){.name = side, .type = LN_ATTRIBUTE_INT, .count = 1, .as.ints = yes};
        ln_node *node = ln_info(e->graph->model, result)->producer;
        node->attributes = attribute;
        node->n_attributes = 1;
    }
    return result;
}

/* Rules -------------------------------------------------------------------------------------------------------------- */

/* What stands for a value at the point. */
static ln_value_id at_point(const expansion *e, ln_value_id id) {
    return id < e->n_values && e->copies[id] != 0 ? e->copies[id] : id;
}

/* The gradient by input `index` of a node: dy is that by its output, x and z are its inputs, y its output. 0 for no rule. */
static ln_value_id slope(expansion *e, const ln_node *node, int index, ln_value_id dy) {
    const char *op = node->op_type;
    const ln_value_id x = at_point(e, node->inputs[0]);
    const ln_value_id z = node->n_inputs > 1 ? at_point(e, node->inputs[1]) : 0;
    const ln_value_id y = at_point(e, node->outputs[0]);
    if (node->domain[0] != 0) {
        return 0;
    }
    if (strcmp(op, "Add") == 0 || strcmp(op, "Identity") == 0 || strcmp(op, "Sum") == 0) {
        return dy;
    }
    if (strcmp(op, "Sub") == 0) {
        return index == 0 ? dy : one(e, "Neg", dy);
    }
    if (strcmp(op, "Neg") == 0) {
        return one(e, "Neg", dy);
    }
    if (strcmp(op, "Mul") == 0) {
        return two(e, "Mul", dy, index == 0 ? z : x);
    }
    if (strcmp(op, "Div") == 0) {
        const ln_value_id quotient = two(e, "Div", dy, z);
        return index == 0 ? quotient : one(e, "Neg", two(e, "Mul", quotient, y));
    }
    if (strcmp(op, "MatMul") == 0) {
        return index == 0 ? transposed_product(e, dy, z, "transB") : transposed_product(e, x, dy, "transA");
    }
    if (strcmp(op, "Exp") == 0) {
        return two(e, "Mul", dy, y);
    }
    if (strcmp(op, "Log") == 0) {
        return two(e, "Div", dy, x);
    }
    if (strcmp(op, "Sqrt") == 0) {
        return two(e, "Div", dy, two(e, "Add", y, y));
    }
    if (strcmp(op, "Tanh") == 0) { /* dy - dy * y * y */
        return two(e, "Sub", dy, two(e, "Mul", dy, two(e, "Mul", y, y)));
    }
    if (strcmp(op, "Sigmoid") == 0) { /* dy * (y - y * y) */
        return two(e, "Mul", dy, two(e, "Sub", y, two(e, "Mul", y, y)));
    }
    if (strcmp(op, "Relu") == 0) {
        return two(e, "Mul", dy, one(e, "Sign", y));
    }
    return 0;
}

/* Expansion ------------------------------------------------------------------------------------------------------------ */

static ln_value_id find_value(const expansion *e, const ln_string *name) {
    const ln_model *model = e->graph->model;
    for (ln_value_id id = 1; id < e->n_values; id++) {
        const char *own = ln_info(model, id)->name;
        if (ln_info(model, id)->graph == e->graph && own != NULL && strlen(own) == name->length &&
            memcmp(own, name->data, name->length) == 0) {
            return id;
        }
    }
    return 0;
}

/* Names of an attribute to values of the graph. */
static ln_status read_names(expansion *e, const char *name, ln_value_id *ids, int *count) {
    const ln_attribute *attribute = ln_node_attribute(e->gradient, name);
    *count = 0;
    if (attribute == NULL) {
        return LN_OK;
    }
    LN_CHECK(e->context, attribute->type == LN_ATTRIBUTE_STRING || attribute->type == LN_ATTRIBUTE_STRINGS,
             INVALID_ATTRIBUTE, "attribute '%s' must hold names", name);
    LN_CHECK(e->context, attribute->count <= MOST_NAMES, LIMIT_EXCEEDED, "attribute '%s' has %d names", name,
             (int)attribute->count);
    for (int i = 0; i < attribute->count; i++) {
        const ln_string *text = &attribute->as.strings[i];
        ids[i] = find_value(e, text);
        LN_CHECK(e->context, ids[i] != 0, INVALID_GRAPH,
                 "attribute '%s' names '%.*s', which is no value of the graph", name, (int)text->length,
                 text->data);
    }
    *count = attribute->count;
    return LN_OK;
}

static bool node_depends(const expansion *e, const ln_node *node) {
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] > 0 && node->inputs[i] < e->n_values && e->depends[node->inputs[i]]) {
            return true;
        }
    }
    return false;
}

/* Copies the nodes that depend on the point, with its values in place. */
static ln_status copy_forward(expansion *e) {
    for (int32_t n = 0; n < e->n_nodes; n++) {
        const ln_node *node = e->graph->nodes[n];
        if (node == e->gradient || node->removed || !node_depends(e, node)) {
            continue;
        }
        ln_node *copy = ln_graph_add_node(e->graph, node->n_inputs, node->n_outputs);
        if (copy == NULL) {
            return LN_OUT_OF_MEMORY;
        }
        copy->name = node->name;
        copy->op_type = node->op_type;
        copy->domain = node->domain;
        copy->overload = node->overload;
        copy->attributes = node->attributes;
        copy->n_attributes = node->n_attributes;
        copy->opset = node->opset;
        for (int i = 0; i < node->n_inputs; i++) {
            ln_node_set_input(copy, i, at_point(e, node->inputs[i]));
        }
        for (int i = 0; i < node->n_outputs; i++) {
            const ln_value_id id = node->outputs[i];
            if (id <= 0) {
                continue;
            }
            const ln_value_id made = ln_graph_add_value(e->graph, ln_info(e->graph->model, id)->name);
            if (made == 0) {
                return LN_OUT_OF_MEMORY;
            }
            ln_node_set_output(copy, i, made);
            e->depends[id] = true;
            if (e->copies[id] == 0) {
                e->copies[id] = made;
            }
        }
    }
    return LN_OK;
}

static ln_status walk_back(expansion *e) {
    for (int32_t n = e->n_nodes - 1; n >= 0; n--) {
        const ln_node *node = e->graph->nodes[n];
        const ln_value_id y = node->n_outputs > 0 ? node->outputs[0] : 0;
        if (node == e->gradient || y <= 0 || y >= e->n_values || e->slopes[y] == 0 ||
            !node_depends(e, node)) {
            continue;
        }
        for (int i = 0; i < node->n_inputs; i++) {
            const ln_value_id x = node->inputs[i];
            if (x <= 0 || !e->depends[x]) {
                continue;
            }
            const ln_value_id plain = slope(e, node, i, e->slopes[y]);
            LN_CHECK(e->context, plain != 0, UNSUPPORTED, "cannot differentiate operator %s (node '%s')",
                     node->op_type, node->name);
            const ln_value_id own = make(e, "linnet", "SumToShape", plain, at_point(e, x));
            e->slopes[x] = e->slopes[x] == 0 ? own : two(e, "Add", e->slopes[x], own);
            LN_CHECK(e->context, e->slopes[x] != 0, OUT_OF_MEMORY, "no memory for a gradient");
        }
    }
    return LN_OK;
}

/* The output of the Gradient node becomes the gradient that was found, or zeros. */
static ln_status bind_output(expansion *e, ln_value_id output, ln_value_id x) {
    const ln_value_id found = e->slopes[x];
    const ln_value_id zero = found == 0 ? two(e, "Sub", at_point(e, x), at_point(e, x)) : found;
    ln_node *node = zero != 0 ? ln_graph_add_node(e->graph, 1, 1) : NULL;
    LN_CHECK(e->context, node != NULL, OUT_OF_MEMORY, "no memory for a gradient");
    node->op_type = "Identity";
    node->opset = MADE_OPSET;
    node->name = e->gradient->name;
    ln_node_set_input(node, 0, zero);
    ln_node_set_output(node, 0, output);
    return LN_OK;
}

static ln_status expand(expansion *e) {
    ln_arena *arena = &e->graph->model->arena;
    const size_t values = (size_t)e->n_values;
    ln_value_id xs[MOST_NAMES], zs[MOST_NAMES], ys[MOST_NAMES];
    int n_xs, n_zs, n_ys;
    e->depends = ln_arena_array(arena, values, sizeof(*e->depends));
    e->copies = ln_arena_array(arena, values, sizeof(*e->copies));
    e->slopes = ln_arena_array(arena, values, sizeof(*e->slopes));
    if (e->depends == NULL || e->copies == NULL || e->slopes == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    LN_TRY(read_names(e, "xs", xs, &n_xs));
    LN_TRY(read_names(e, "zs", zs, &n_zs));
    LN_TRY(read_names(e, "y", ys, &n_ys));
    const ln_node *gradient = e->gradient;
    LN_CHECK(e->context,
             n_ys == 1 && n_xs > 0 && gradient->n_inputs == n_xs + n_zs && gradient->n_outputs <= n_xs,
             INVALID_GRAPH, "there are %d xs, %d zs, %d inputs and %d outputs", n_xs, n_zs,
             (int)gradient->n_inputs, (int)gradient->n_outputs);
    for (int i = 0; i < n_xs + n_zs; i++) {
        const ln_value_id id = i < n_xs ? xs[i] : zs[i - n_xs];
        e->depends[id] = true;
        e->copies[id] = gradient->inputs[i];
    }
    LN_TRY(copy_forward(e));
    e->slopes[ys[0]] = make(e, "linnet", "OnesLike", at_point(e, ys[0]), 0);
    LN_CHECK(e->context, e->slopes[ys[0]] != 0, OUT_OF_MEMORY, "no memory for a gradient");
    LN_TRY(walk_back(e));
    for (int i = 0; i < gradient->n_outputs; i++) {
        if (gradient->outputs[i] > 0) {
            LN_TRY(bind_output(e, gradient->outputs[i], xs[i]));
        }
    }
    ln_node_remove(e->gradient);
    return LN_OK;
}

static ln_status expand_graph(ln_graph *graph, void *argument) {
    (void)argument;
    const int32_t count = graph->n_nodes;
    for (int32_t n = 0; n < count; n++) {
        ln_node *node = graph->nodes[n];
        if (strcmp(node->op_type, "Gradient") != 0 || strcmp(node->domain, "ai.onnx.preview.training") != 0) {
            continue;
        }
        expansion e = {.graph = graph,
                       .gradient = node,
                       .context = graph->model->context,
                       .n_nodes = graph->n_nodes,
                       .n_values = graph->model->n_values};
        const ln_status status = expand(&e);
        if (status != LN_OK) {
            ln_error_locate(e.context, node->name, node->op_type, 1);
            return status;
        }
    }
    ln_graph_sweep(graph);
    return LN_OK;
}

ln_status ln_expand_gradients(ln_model *model) {
    return ln_model_each_graph(model, expand_graph, NULL);
}
