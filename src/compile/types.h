/* Signatures of rows (ops/op.h): checking the types of a node's inputs and finding those of its outputs. */
#ifndef LN_COMPILE_TYPES_H
#define LN_COMPILE_TYPES_H

#include "ops/op.h"

/* Kind and element type of one input or output; LN_KIND_NONE is absent, LN_UNDEFINED a type not known yet. */
typedef struct ln_typed {
    ln_kind kind;
    ln_dtype dtype;
} ln_typed;

/* Checks inputs against node->row's signature and fills outputs (all entries). INVALID_TYPE says which input, what it
 * has and what the operator takes; INVALID_GRAPH when a required input is missing or there are too many. Inputs
 * of unknown type fit everything. */
ln_status ln_types_check(ln_context *context, const ln_node *node, const ln_typed *inputs, ln_typed *outputs);

#endif
