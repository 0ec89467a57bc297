/* Nodes that give what they take: x * 1, x + 0, a Cast to the same type, a Reshape to the same shape, a Slice of everything,
 * Dropout of an inference, sums and concatenations of one. Their readers read the operand itself.
 */
#include <string.h>

#include "compile/match.h"
#include "compile/shapes.h"

/* Whether a constant number at `index` leaves the shape of the other operand as it is, and is `neutral`. */
static bool is_neutral(const ln_node *node, int index, double neutral) {
    const ln_model *model = node->graph->model;
    double number;
    if (node->n_inputs != 2 || node->opset < 7 || !ln_constant_double(model, node->inputs[index], &number)) {
        return false;
    }
    const int rank = ln_node_constant(node, index)->shape.rank;
    return number == neutral && (rank == 0 || rank <= ln_known_rank(model, node->inputs[1 - index]));
}

/* The operand that a product or sum passes on, -1 for none. */
static int neutral_sum(const ln_node *node, double neutral, bool either) {
    return is_neutral(node, 1, neutral) ? 0 : either && is_neutral(node, 0, neutral) ? 1 : -1;
}

static int product(const ln_node *node) {
    return neutral_sum(node, 1, true);
}
static int quotient(const ln_node *node) {
    return neutral_sum(node, 1, false);
}
static int sum(const ln_node *node) {
    return neutral_sum(node, 0, true);
}
static int difference(const ln_node *node) {
    return neutral_sum(node, 0, false);
}

static int cast(const ln_node *node) {
    const ln_model *model = node->graph->model;
    const ln_dtype from = ln_known_dtype(model, node->inputs[0]);
    return from != LN_UNDEFINED && from == node->output_dtype ? 0 : -1;
}

static int same_shape(const ln_node *node) {
    return ln_same_shape(node->graph->model, node->inputs[0], node->outputs[0]) ? 0 : -1;
}

static int one_input(const ln_node *node) {
    return node->n_inputs == 1 ? 0 : -1;
}

static int transpose(const ln_node *node) {
    const ln_attribute *perm = ln_node_attribute(node, "perm");
    for (int32_t i = 0; perm && i < perm->count; ++i) {
        if (perm->as.ints[i] != i) {
            return -1;
        }
    }
    return perm ? 0 : -1;
}

/* Without a training mode given, or with one that is constantly false. */
static int dropout(const ln_node *node) {
    const ln_value *mode = ln_node_constant(node, 2);
    const bool given = node->n_inputs > 2 && node->inputs[2];
    const bool off = mode && mode->data && mode->dtype == LN_BOOL && ln_value_count(mode) == 1 &&
                     *(const uint8_t *)mode->data == 0;
    return node->opset >= 7 && (!given || off) ? 0 : -1;
}

/* Whether input or attribute holds nothing but `number`. */
static bool all_are(const ln_node *node, const char *name, int index, int64_t number, bool or_more) {
    int64_t list[2 * LN_MAX_RANK];
    const ln_attribute *attribute = ln_node_attribute(node, name);
    const bool by_attribute =
        attribute && attribute->type == LN_ATTRIBUTE_INTS && attribute->count <= LN_MAX_RANK * 2;
    int count = by_attribute ? attribute->count : -1;
    if (by_attribute) {
        memcpy(list, attribute->as.ints, (size_t)count * sizeof *list);
    } else if (ln_node_constant(node, index)) {
        count = ln_known_ints(node->graph->model, node->inputs[index], list, 2 * LN_MAX_RANK);
    }
    for (int i = 0; i < count; ++i) {
        if (or_more ? list[i] < number : list[i] != number) {
            return false;
        }
    }
    return count >= 0;
}

static int slice(const ln_node *node) {
    const bool steps = node->n_inputs <= 4 || !node->inputs[4] || all_are(node, "steps", 4, 1, false);
    return steps && all_are(node, "starts", 1, 0, false) && all_are(node, "ends", 2, INT32_MAX, true) ? 0
                                                                                                      : -1;
}

static int pad(const ln_node *node) {
    return all_are(node, "pads", 1, 0, false) ? 0 : -1;
}

static int tile(const ln_node *node) {
    return node->opset >= 6 && all_are(node, "repeats", 1, 1, false) ? 0 : -1;
}

typedef struct rule {
    const char *name;
    int (*operand)(const ln_node *node); /* the input that the output equals, -1 when there is none */
} rule;

static const rule rules[] = {
    {"Add", sum},         {"Cast", cast},          {"Concat", one_input},    {"Div", quotient},
    {"Dropout", dropout}, {"Expand", same_shape},  {"Flatten", same_shape},  {"Max", one_input},
    {"Mean", one_input},  {"Min", one_input},      {"Mul", product},         {"Pad", pad},
    {"Pow", quotient},    {"Reshape", same_shape}, {"Slice", slice},         {"Sub", difference},
    {"Sum", one_input},   {"Tile", tile},          {"Transpose", transpose},
};

static int passed_on(const ln_node *node) {
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; ++r) {
        if (ln_is(node, rules[r].name)) {
            return rules[r].operand(node);
        }
    }
    return -1;
}

/* Whether nobody reads what a node makes beyond output 0, such as the mask that old models list for Dropout. */
static bool gives_one(const ln_node *node) {
    for (int32_t i = 1; i < node->n_outputs; ++i) {
        if (node->outputs[i] && ln_info(node->graph->model, node->outputs[i])->uses > 0) {
            return false;
        }
    }
    return true;
}

ln_status ln_rewrite_drop_no_ops(ln_graph *graph, int *fired) {
    ln_model *model = graph->model;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const ln_value_id from = node->removed ? 0 : node->outputs[0];
        /* A graph output keeps its own value and name. */
        if (!from || ln_info(model, from)->is_graph_output || !gives_one(node)) {
            continue;
        }
        const int operand = passed_on(node);
        if (operand >= 0 && node->inputs[operand]) {
            const ln_value_id to = node->inputs[operand];
            ln_node_remove(node);
            ln_model_replace_uses(model, from, to);
            ++*fired;
        }
    }
    return LN_OK;
}
