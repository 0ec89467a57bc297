/* How shape inference treats each operator: internal to compile/shapes.c. */
#ifndef LN_COMPILE_SHAPE_RULES_H
#define LN_COMPILE_SHAPE_RULES_H

#include "compile/shapes.h"

/* An element that is not known, not even as a symbol of a size. */
#define LN_UNKNOWN_ELEMENT INT64_MIN

/* Finds the shapes of a node's outputs from those of its inputs; leaves those it does not know. */
typedef ln_status ln_shape_rule(ln_node *node);

/* Rules of shape_rules_sizes.c. */
ln_shape_rule ln_shape_rule_shape, ln_shape_rule_reshape, ln_shape_rule_expand,
    ln_shape_rule_constant_of_shape, ln_shape_rule_like_indices, ln_shape_rule_range, ln_shape_rule_gather_nd;

/* What rules are written with: giving an output its shape, unless it has one; the shape of an input; an attribute; fresh symbols
 * from axis `from` on; a broadcast with b. */
ln_status ln_give_shape(const ln_node *node, int output, const ln_shape *shape);
bool ln_shape_at(const ln_node *node, int input, ln_shape *shape);
int64_t ln_int_attribute(const ln_node *node, const char *name, int64_t otherwise);
void ln_fresh_sizes(ln_model *model, ln_shape *shape, int from);
void ln_broadcast_sizes(ln_model *model, ln_shape *a, const ln_shape *b);
/* The size that -1 stands for in axis `open`: what is left of the input's sizes when those of the output are taken out. */
int64_t ln_left_over(ln_model *model, ln_shape in, const ln_shape *out, int open);

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
