/* A convolution followed by the sum with another value, as at the end of a residual block: the kernel adds it while the
 * tile is in registers, before the activation that follows the sum, or after one that the convolution has already. Shapes
 * are not known here; where the other value turns out to broadcast, the operator adds it in a pass of its own. */
#include <string.h>

#include "compile/match.h"
#include "ops/conv.h"

enum { X, W, B, RESIDUAL, INPUTS };

static bool takes_residual(const ln_node *node) {
    const bool conv =
        ln_is(node, "Conv") || ln_is(node, "ConvTranspose") || ln_is_in(node, "com.microsoft", "FusedConv");
    return conv && (node->n_inputs <= RESIDUAL || !node->inputs[RESIDUAL]) &&
           ln_dtype_compute(ln_known_dtype(node->graph->model, node->outputs[0])) == LN_COMPUTE_F32;
}

/* The value that `add` adds to the convolution's, or 0. Constants are for other rewrites. */
static ln_value_id residual_of(const ln_node *conv, const ln_node *add) {
    const int other = ln_is(add, "Add") && add->opset >= 7 ? ln_other_input(add, conv->outputs[0]) : -1;
    const bool usable = other >= 0 && add->inputs[other] && !ln_node_constant(add, other);
    return usable ? add->inputs[other] : 0;
}

static ln_status fuse(ln_node *conv, ln_node *add, ln_value_id residual) {
    ln_value_id *inputs = ln_arena_array(&conv->graph->model->arena, INPUTS, sizeof *inputs);
    if (!inputs) {
        return LN_OUT_OF_MEMORY;
    }
    memcpy(inputs, conv->inputs,
           (size_t)(conv->n_inputs < INPUTS ? conv->n_inputs : INPUTS) * sizeof *inputs);
    ln_conv_params *params = conv->params;
    params->residual_last = params->activation.present;
    conv->inputs = inputs;
    conv->n_inputs = INPUTS;
    ln_absorb(conv, add);
    ln_node_set_input(conv, RESIDUAL, residual);
    /* The row has the same functions as that of Conv and ConvTranspose, whose params stay. */
    bool known = false;
    conv->op_type = "FusedConv";
    conv->domain = "com.microsoft";
    conv->opset = 1;
    conv->row = ln_op_find(conv->domain, conv->op_type, 1, &known);
    return LN_OK;
}

ln_status ln_rewrite_fuse_residual(ln_graph *graph, int *fired) {
    ln_readers readers;
    ln_status status = ln_readers_init(&readers, graph);
    LN_TRY(status);
    for (int32_t i = 0; i < graph->n_nodes && status == LN_OK; ++i) {
        ln_node *node = graph->nodes[i];
        ln_node *next = !node->removed && takes_residual(node) ? ln_only_reader(&readers, node) : NULL;
        const ln_value_id residual = next ? residual_of(node, next) : 0;
        if (residual) {
            status = fuse(node, next, residual);
            ++*fired;
        }
    }
    ln_readers_free(&readers);
    return status;
}
