/* How shape inference treats each operator: internal to compile/shapes.c. */
#ifndef LN_COMPILE_SHAPE_RULES_H
#define LN_COMPILE_SHAPE_RULES_H

#include "compile/shapes.h"

/* An element that is not known, not even as a symbol of a size. */
#define LN_UNKNOWN_ELEMENT INT64_MIN

/* Finds the shapes of a node's outputs from those of its inputs; leaves those it does not know. */
typedef ln_status ln_shape_rule(ln_node *node);

/* The rule of an operator, or NULL. */
ln_shape_rule *ln_shape_rule_of(const char *op_type);
/* Elements of a node's output, where it is a small integer tensor. */
ln_status ln_infer_elements(ln_node *node);
/* Keeps sizes in the model's arena. */
ln_status ln_keep_sizes(ln_model *model, const ln_sizes **slot, int count, const int64_t *sizes);
/* A size that nothing is known about. */
static inline int64_t ln_fresh_symbol(ln_model *model) {
    return INT64_MIN / 2 - ++model->n_symbols;
}

#endif
