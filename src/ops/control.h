/* What the control-flow rows share: checks of bodies, types of outputs, and passing values on. */
#ifndef LN_OPS_CONTROL_H
#define LN_OPS_CONTROL_H

#include "ops/op.h"

/* Build: fails unless the body takes n_inputs values and gives n_state and n_outputs or more; the node may leave out
 * outputs at the end. */
ln_status ln_check_body(ln_build *build, const ln_graph *body, int n_inputs, int n_state, int n_outputs);
/* Infer: gives output `index` the kind and element type that the model declares for value `id` of a body (0: none) or
 * for the output itself. */
void ln_infer_declared(ln_op *op, int index, ln_value_id id);

/* *target shows the bytes of source without holding them: source lives at least as long. */
ln_status ln_show(ln_context *context, ln_value *target, const ln_value *source);
/* Makes *target a scalar, or a list of one where the value `id` is declared to have rank 1. */
ln_status ln_make_scalar(ln_control *control, ln_value *target, ln_value_id id, ln_dtype dtype,
                         const void *element);
void ln_swap_values(ln_value *a, ln_value *b);

/* A scan output that no iteration has added to: the shape its body declares, unknown dimensions 0, with a new axis of
 * length `length` at `axis`. */
ln_status ln_make_declared(ln_op *op, int index, ln_value_id id, int axis, int64_t length);
/* Copies `count` elements between places that may lie inside a byte. */
void ln_copy_elements(ln_dtype dtype, void *dst, int64_t to, const void *src, int64_t from, int64_t count);

#endif
