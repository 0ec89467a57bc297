/* One node, run at once. */
#include "compile/evaluate.h"

#include <string.h>

#include "compile/types.h"

enum {
    EVALUATE_SLOTS = 64, /* inputs or outputs whose types are checked on the stack */
    OVERREAD_BYTES = 16  /* readable past the end of every block */
};

void ln_op_prepare(ln_op *op, ln_context *context, const ln_node *node, ln_value *const *inputs,
                   ln_value *const *outputs, void *local) {
    memset(op, 0, sizeof *op);
    op->context = context;
    op->node = node;
    op->params = node->params;
    op->packed = node->packed;
    op->inputs = inputs;
    op->outputs = outputs;
    op->n_inputs = node->n_inputs;
    op->n_outputs = node->n_outputs;
    op->texts = &node->graph->model->arena;
    op->wanted = -1;
    op->local = local;
    op->local_room = LN_LOCAL_BYTES;
}

/* Names the node in the recorded error; signals pass through. */
static ln_status located(const ln_op *op, ln_status status) {
    if (status != LN_OK && status < LN_STATUS_COUNT) {
        ln_error_locate(op->context, op->node->name, op->node->op_type, op->node->opset);
    }
    return status;
}

static ln_status check_types(ln_op *op, ln_typed *inputs, ln_typed *outputs) {
    for (int i = 0; i < op->n_inputs; ++i) {
        const ln_value *value = op->inputs[i];
        inputs[i] = value ? (ln_typed){value->kind, value->dtype} : (ln_typed){LN_KIND_NONE, LN_UNDEFINED};
    }
    LN_TRY(ln_types_check(op->context, op->node, inputs, outputs));
    for (int i = 0; i < op->n_outputs; ++i) {
        if (op->outputs[i]) {
            op->outputs[i]->kind = outputs[i].kind;
            op->outputs[i]->dtype = outputs[i].dtype;
        }
    }
    return LN_OK;
}

static ln_status infer(ln_op *op) {
    ln_typed few[2 * EVALUATE_SLOTS];
    const size_t slots = (size_t)op->n_inputs + (size_t)op->n_outputs;
    ln_typed *types = few;
    if (slots > 2 * EVALUATE_SLOTS) {
        types = ln_alloc(op->context, slots * sizeof *types, LN_MEMORY_PLAN);
        if (!types) {
            return LN_OUT_OF_MEMORY;
        }
    }
    const ln_status status = check_types(op, types, types + op->n_inputs);
    if (types != few) {
        ln_free(op->context, types);
    }
    LN_TRY(status);
    return op->node->row->infer ? op->node->row->infer(op) : LN_OK;
}

ln_status ln_op_infer(ln_op *op) {
    return located(op, infer(op));
}

ln_status ln_op_run_all(ln_op *op, void *scratch, void *task_scratch) {
    op->scratch = scratch;
    op->grid = (ln_grid){NULL, 0, NULL};
    ln_status status = op->node->row->run(op);
    while (status == LN_OK && op->grid.task) {
        const ln_grid grid = op->grid;
        op->grid = (ln_grid){NULL, 0, NULL};
        for (int64_t i = 0; i < grid.count; ++i) {
            grid.task(op, i, task_scratch);
        }
        status = grid.then ? grid.then(op) : LN_OK;
    }
    return located(op, status);
}

/* Gives every inferred output memory. */
static ln_status make_outputs(ln_op *op, size_t most_bytes, ln_arena *arena) {
    if (op->node->row->flags & LN_OP_DYNAMIC) {
        return LN_OK;
    }
    size_t total = 0;
    for (int i = 0; i < op->n_outputs; ++i) {
        const ln_value *output = op->outputs[i];
        total += output ? ln_value_bytes(output) : 0;
    }
    if (total > most_bytes) {
        return LN_LIMIT_EXCEEDED;
    }
    for (int i = 0; i < op->n_outputs; ++i) {
        ln_value *output = op->outputs[i];
        if (output && arena) {
            output->data = ln_arena_alloc(arena, ln_value_bytes(output) + OVERREAD_BYTES);
            LN_TRY(output->data ? LN_OK : LN_OUT_OF_MEMORY);
        } else if (output) {
            const ln_value header = *output;
            LN_TRY(ln_value_make(op->context, output, header.dtype, &header.shape));
        }
    }
    return LN_OK;
}

static ln_status run_with_scratch(ln_op *op) {
    if (op->scratch_bytes + op->task_scratch_bytes == 0) {
        return ln_op_run_all(op, NULL, NULL);
    }
    const size_t aligned = (op->scratch_bytes + 63) & ~(size_t)63;
    char *scratch =
        ln_alloc(op->context, aligned + op->task_scratch_bytes + OVERREAD_BYTES, LN_MEMORY_SCRATCH);
    if (!scratch) {
        return LN_OUT_OF_MEMORY;
    }
    const ln_status status = ln_op_run_all(op, scratch, scratch + aligned);
    ln_free(op->context, scratch);
    return status;
}

/* The output of an alias row is its input's bytes under another shape. */
static ln_status copy_alias(ln_op *op) {
    if (op->outputs[0]) {
        memcpy(op->outputs[0]->data, op->inputs[0]->data, ln_value_bytes(op->outputs[0]));
    }
    return LN_OK;
}

ln_status ln_evaluate_inferred(ln_op *op, size_t most_bytes, ln_arena *arena) {
    LN_TRY(make_outputs(op, most_bytes, arena));
    if ((op->node->row->flags & LN_OP_ALIAS) && op->n_outputs == 1) {
        return copy_alias(op);
    }
    return run_with_scratch(op);
}

ln_status ln_evaluate(ln_op *op, size_t most_bytes) {
    LN_TRY(ln_op_infer(op));
    return ln_evaluate_inferred(op, most_bytes, NULL);
}
