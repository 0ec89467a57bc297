/* Constant folding: a node whose inputs are all constants is run now and becomes a constant, and so does one whose elements
 * shape inference has found, such as a size that every run has.
 *
 * Results much larger than what they are made of are left to the run: folding a ConstantOfShape or an Expand would
 * hold in memory for ever what the run needs for a moment.
 */
#include "compile/compile.h"
#include "compile/evaluate.h"
#include "compile/match.h"
#include "compile/shapes.h"

enum { SMALL_BYTES = 64 * 1024, SLOTS = 16 };

static bool foldable(const ln_node *node, size_t *input_bytes) {
    if ((node->row->flags & (LN_OP_RANDOM | LN_OP_CONTROL)) || node->n_inputs > SLOTS ||
        node->n_outputs > SLOTS) {
        return false;
    }
    *input_bytes = 0;
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        const ln_value *constant = node->inputs[i] ? ln_node_constant(node, i) : NULL;
        if (node->inputs[i] && (!constant || constant->kind != LN_KIND_TENSOR || !constant->data)) {
            return false;
        }
        *input_bytes += constant ? ln_value_bytes(constant) : 0;
    }
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        if (node->outputs[i] && ln_info(node->graph->model, node->outputs[i])->type.kind > LN_KIND_TENSOR) {
            return false;
        }
    }
    return true;
}

/* Binds the results to the output values and takes the node out. */
static ln_status replace(ln_node *node, const ln_value *results) {
    ln_model *model = node->graph->model;
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        if (node->outputs[i]) {
            ln_value *constant = ln_arena_alloc(&model->arena, sizeof *constant);
            if (!constant) {
                return LN_OUT_OF_MEMORY;
            }
            *constant = results[i];
            ln_info(model, node->outputs[i])->constant = constant;
        }
    }
    ln_node_remove(node);
    return LN_OK;
}

static ln_status fold(ln_node *node, size_t input_bytes, int *fired) {
    ln_model *model = node->graph->model;
    ln_value results[SLOTS] = {{0}};
    ln_value *inputs[SLOTS];
    ln_value *outputs[SLOTS];
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        inputs[i] = node->inputs[i] ? ln_info(model, node->inputs[i])->constant : NULL;
    }
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        outputs[i] = node->outputs[i] || i == 0 ? &results[i] : NULL; /* operators count on the first */
    }
    _Alignas(16) unsigned char local[LN_LOCAL_BYTES];
    ln_op op;
    ln_op_prepare(&op, model->context, node, inputs, outputs, local);
    const size_t most = 4 * input_bytes > SMALL_BYTES ? 4 * input_bytes : SMALL_BYTES;
    const ln_status status = ln_evaluate(&op, most);
    if (status == LN_LIMIT_EXCEEDED && model->context->error.code == LN_OK) {
        return LN_OK;
    }
    bool tensors = status == LN_OK;
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        tensors = tensors && (!outputs[i] || results[i].kind == LN_KIND_TENSOR);
    }
    if (tensors) {
        ++*fired;
        if (!node->outputs[0]) {
            ln_value_release(model->context, &results[0]);
        }
        return replace(node, results);
    }
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        ln_value_release(model->context, &results[i]);
    }
    return status;
}

/* Whether all elements of a small tensor of integers are known; then, their number. */
static bool known_elements(const ln_node *node, int64_t *elements, int *count, ln_shape *shape) {
    const ln_model *model = node->graph->model;
    const ln_value_id id = node->outputs[0];
    if (node->n_outputs != 1 || !id || !(LN_BIT(ln_known_dtype(model, id)) & LN_T_INDEX) ||
        !ln_known_shape(model, id, shape)) {
        return false;
    }
    *count = ln_known_ints(model, id, elements, LN_MAX_RANK);
    bool known = *count > 0 && (shape->rank == 0 || (shape->rank == 1 && shape->dims[0] == *count));
    for (int i = 0; known && i < *count; ++i) {
        known = !ln_is_symbol(elements[i]);
    }
    return known;
}

static ln_status fold_known(ln_node *node, int *fired) {
    ln_context *context = node->graph->model->context;
    int64_t elements[LN_MAX_RANK];
    int count = 0;
    ln_shape shape;
    ln_value constant = {0};
    if (!known_elements(node, elements, &count, &shape)) {
        return LN_OK;
    }
    const ln_dtype dtype = ln_known_dtype(node->graph->model, node->outputs[0]);
    LN_TRY(ln_value_make(context, &constant, dtype, &shape));
    ln_store_i64(dtype, constant.data, 0, count, elements);
    ++*fired;
    const ln_status status = replace(node, &constant);
    if (status != LN_OK) {
        ln_value_release(context, &constant);
    }
    return status;
}

/* A node that fails inside a subgraph may never run: the error belongs to the run then. */
static bool certain_to_run(const ln_graph *graph) {
    return graph->parent == NULL;
}

ln_status ln_rewrite_fold_constants(ln_graph *graph, int *fired) {
    ln_context *context = graph->model->context;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        size_t input_bytes = 0;
        if (node->removed) {
            continue;
        }
        if (!foldable(node, &input_bytes)) {
            LN_TRY(fold_known(node, fired));
            continue;
        }
        const ln_status status = fold(node, input_bytes, fired);
        if (status != LN_OK && (certain_to_run(graph) || status == LN_OUT_OF_MEMORY)) {
            return status;
        }
        if (status != LN_OK) {
            ln_error_clear(context);
        }
    }
    return LN_OK;
}
