/* Shape inference for operators that read sizes or are told them: Shape, Reshape, Expand and the like. See compile/shapes.h. */
#include <string.h>

#include "compile/match.h"
#include "compile/shape_rules.h"

/* Sizes [start, end) of the shape of the input. */
ln_status ln_shape_rule_shape(ln_node *node) {
    ln_shape x;
    if (!ln_shape_at(node, 0, &x)) {
        return LN_OK;
    }
    int64_t bounds[2] = {ln_int_attribute(node, "start", 0), ln_int_attribute(node, "end", x.rank)};
    for (int i = 0; i < 2; ++i) {
        bounds[i] += bounds[i] < 0 ? x.rank : 0;
        bounds[i] = bounds[i] < 0 ? 0 : bounds[i] > x.rank ? x.rank : bounds[i];
    }
    const int64_t count = bounds[1] > bounds[0] ? bounds[1] - bounds[0] : 0;
    const ln_shape y = ln_shape_of(1, &count);
    LN_TRY(ln_give_shape(node, 0, &y));
    ln_value_info *info = ln_info(node->graph->model, node->outputs[0]);
    return info->elements
               ? LN_OK
               : ln_keep_sizes(node->graph->model, &info->elements, (int)count, x.dims + bounds[0]);
}

/* A list of sizes: its elements, or as many fresh symbols where only their number is known; rank -1 where not even that is. */
static void list_at(const ln_node *node, int input, ln_shape *list) {
    ln_model *model = node->graph->model;
    ln_shape shape;
    list->rank = ln_known_ints(model, node->inputs[input], list->dims, LN_MAX_RANK);
    if (list->rank < 0 && ln_shape_at(node, input, &shape) && shape.rank == 1 &&
        !ln_is_symbol(shape.dims[0]) && shape.dims[0] <= LN_MAX_RANK) {
        list->rank = (int)shape.dims[0];
        ln_fresh_sizes(model, list, 0);
    }
}

/* The same where each element is a size. */
static bool sizes_at(const ln_node *node, int input, ln_shape *sizes) {
    sizes->rank = -1;
    if (input < node->n_inputs && node->inputs[input]) {
        list_at(node, input, sizes);
    }
    for (int i = 0; i < sizes->rank; ++i) {
        if (sizes->dims[i] == LN_UNKNOWN_ELEMENT) {
            sizes->dims[i] = ln_fresh_symbol(node->graph->model);
        }
    }
    return sizes->rank >= 0;
}

ln_status ln_shape_rule_expand(ln_node *node) {
    ln_shape x;
    ln_shape to;
    if (!ln_shape_at(node, 0, &x) || !sizes_at(node, 1, &to)) {
        return LN_OK;
    }
    ln_broadcast_sizes(node->graph->model, &x, &to);
    return ln_give_shape(node, 0, &x);
}

ln_status ln_shape_rule_constant_of_shape(ln_node *node) {
    ln_shape shape;
    return sizes_at(node, 0, &shape) ? ln_give_shape(node, 0, &shape) : LN_OK;
}

ln_status ln_shape_rule_like_indices(ln_node *node) {
    ln_shape shape;
    return ln_shape_at(node, 1, &shape) ? ln_give_shape(node, 0, &shape) : LN_OK;
}

ln_status ln_shape_rule_range(ln_node *node) {
    const int64_t count = ln_fresh_symbol(node->graph->model);
    const ln_shape shape = ln_shape_of(1, &count);
    return ln_give_shape(node, 0, &shape);
}

ln_status ln_shape_rule_gather_nd(ln_node *node) {
    ln_shape x;
    ln_shape at;
    if (!ln_shape_at(node, 0, &x) || !ln_shape_at(node, 1, &at) || at.rank < 1 ||
        ln_is_symbol(at.dims[at.rank - 1])) {
        return LN_OK;
    }
    const int64_t taken = ln_int_attribute(node, "batch_dims", 0) + at.dims[--at.rank];
    if (taken < 0 || taken > x.rank || at.rank + x.rank - taken > LN_MAX_RANK) {
        return LN_OK;
    }
    for (int64_t i = taken; i < x.rank; ++i) {
        at.dims[at.rank++] = x.dims[i];
    }
    return ln_give_shape(node, 0, &at);
}

/* Takes one factor out of a list of sizes; false when it is not there. */
static bool take_out(ln_shape *sizes, int64_t factor) {
    for (int i = 0; i < sizes->rank; ++i) {
        if (sizes->dims[i] == factor) {
            sizes->dims[i] = sizes->dims[--sizes->rank];
            return true;
        }
    }
    return false;
}

/* The size that -1 stands for: what is left of the input's sizes when those of the output are taken out. */
int64_t ln_left_over(ln_model *model, ln_shape in, const ln_shape *out, int open) {
    int64_t made = 1;
    int64_t had = 1;
    int64_t symbol = 1;
    for (int i = 0; i < out->rank; ++i) {
        if (i == open) {
            continue;
        }
        if (ln_is_symbol(out->dims[i])) {
            if (!take_out(&in, out->dims[i])) {
                return ln_fresh_symbol(model);
            }
        } else if (out->dims[i] < 1 || out->dims[i] > INT32_MAX || made > INT32_MAX) {
            return ln_fresh_symbol(model);
        } else {
            made *= out->dims[i];
        }
    }
    for (int i = 0; i < in.rank; ++i) {
        if (ln_is_symbol(in.dims[i]) ? symbol != 1 : in.dims[i] > INT32_MAX || had > INT32_MAX) {
            return ln_fresh_symbol(model);
        }
        if (ln_is_symbol(in.dims[i])) {
            symbol = in.dims[i];
        } else {
            had *= in.dims[i];
        }
    }
    if (symbol == 1) {
        return had % made == 0 ? had / made : ln_fresh_symbol(model);
    }
    return had == made ? symbol : ln_fresh_symbol(model);
}

ln_status ln_shape_rule_reshape(ln_node *node) {
    ln_model *model = node->graph->model;
    ln_shape x;
    ln_shape y = {0};
    int open = -1;
    const bool known = ln_shape_at(node, 0, &x);
    const ln_attribute *attribute = ln_node_attribute(node, "shape");
    if (attribute && attribute->type == LN_ATTRIBUTE_INTS && attribute->count <= LN_MAX_RANK) {
        y = ln_shape_of(attribute->count, attribute->as.ints);
    } else if (node->n_inputs > 1 && node->inputs[1]) {
        list_at(node, 1, &y);
    } else {
        return LN_OK;
    }
    if (y.rank < 0) {
        return LN_OK;
    }
    bool sure = known;
    for (int i = 0; i < y.rank; ++i) {
        if (y.dims[i] == 0 && !ln_int_attribute(node, "allowzero", 0)) {
            y.dims[i] = known && i < x.rank ? x.dims[i] : ln_fresh_symbol(model);
            sure = sure && i < x.rank;
        } else if (y.dims[i] == -1) {
            open = i;
        } else if (y.dims[i] == LN_UNKNOWN_ELEMENT) {
            y.dims[i] = ln_fresh_symbol(model);
            sure = false;
        }
    }
    if (open >= 0) {
        y.dims[open] = sure ? ln_left_over(model, x, &y, open) : ln_fresh_symbol(model);
    }
    return ln_give_shape(node, 0, &y);
}
