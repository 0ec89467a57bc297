/* Runs one node right away, outside any plan: constant folding at load and shape arithmetic while planning. */
#ifndef LN_COMPILE_EVALUATE_H
#define LN_COMPILE_EVALUATE_H

#include "ops/op.h"

/* Prepares an op for a node; inputs and outputs are the caller's arrays of n_inputs and n_outputs pointers, `local` is room
 * for LN_LOCAL_BYTES bytes, 16-byte aligned. */
void ln_op_prepare(ln_op *op, ln_context *context, const ln_node *node, ln_value *const *inputs,
                   ln_value *const *outputs, void *local);
/* Types of the outputs by the row's signature, then row->infer. LN_NEED_VALUE when the bytes of op->wanted are needed. An
 * error names the node. */
ln_status ln_op_infer(ln_op *op);
/* Calls row->run on the calling thread, its grids included. Needs inferred outputs with memory. */
ln_status ln_op_run_all(ln_op *op, void *scratch, void *task_scratch);
/* Gives each inferred output memory (of `arena`, or of its own when that is NULL) and runs. LN_LIMIT_EXCEEDED without an
 * error record when the outputs would take more than most_bytes. */
ln_status ln_evaluate_inferred(ln_op *op, size_t most_bytes, ln_arena *arena);
/* Infers and evaluates, each output in memory of its own. Does nothing but infer and answers LN_NEED_VALUE when
 * an input lacks bytes that infer wants. */
ln_status ln_evaluate(ln_op *op, size_t most_bytes);

#endif
