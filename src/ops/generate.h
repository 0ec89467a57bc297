/* What the operators that make tensors out of parameters share: the type of the output and tasks over its elements. */
#ifndef LN_OPS_GENERATE_H
#define LN_OPS_GENERATE_H

#include "ops/op.h"

/* Build: the element type that attribute `name` gives, or `otherwise`; LN_UNDEFINED passes. */
ln_dtype ln_attr_dtype(ln_build *build, const char *name, ln_dtype otherwise);
/* Build: the node's output_dtype is what attribute `name` gives, where it is there; it must be in set `variable` of the row. */
ln_status ln_output_dtype_attr(ln_build *build, const char *name, int variable);
/* Build: fails unless the node's output_dtype is in set `variable` of its row. */
ln_status ln_check_output_dtype(ln_build *build, int variable);
/* Run: offers tasks over the elements of output 0, and the range of one of them. */
ln_status ln_offer_elements(ln_op *op, ln_op_task task);
void ln_element_range(const ln_op *op, int64_t index, int64_t *begin, int64_t *end);

#endif
