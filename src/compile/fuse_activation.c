/* A convolution or matrix product followed by an activation: the kernel applies it while the tile is in cache. And a MatMul
 * followed by the sum with a constant row: the bias of the product. */
#include "compile/match.h"
#include "ops/activation.h"
#include "ops/conv.h"
#include "ops/matmul.h"

static bool is_conv(const ln_node *node) {
    return ln_is(node, "Conv") || ln_is(node, "ConvTranspose") ||
           ln_is_in(node, "com.microsoft", "FusedConv");
}

static bool is_product(const ln_node *node) {
    return ln_is(node, "MatMul") || ln_is(node, "Gemm") || ln_is_in(node, "com.microsoft", "FusedMatMul") ||
           ln_is_in(node, "com.microsoft", "FusedGemm") || ln_is_in(node, "linnet", "MatMulBias");
}

/* Where a node keeps its fused activation, or NULL. */
static ln_activation_f32 *activation_of(const ln_node *node) {
    if (is_conv(node)) {
        return &((ln_conv_params *)node->params)->activation;
    }
    return is_product(node) ? &((ln_matmul_params *)node->params)->activation : NULL;
}

/* The kernels apply activations in float32, so only to values that are computed in it. */
static bool in_float(const ln_node *node) {
    const ln_dtype dtype = ln_known_dtype(node->graph->model, node->outputs[0]);
    return dtype != LN_UNDEFINED && ln_dtype_compute(dtype) == LN_COMPUTE_F32;
}

ln_status ln_rewrite_fuse_activation(ln_graph *graph, int *fired) {
    ln_readers readers;
    LN_TRY(ln_readers_init(&readers, graph));
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        ln_activation_f32 *slot = node->removed ? NULL : activation_of(node);
        ln_node *next = slot && !slot->present && in_float(node) ? ln_only_reader(&readers, node) : NULL;
        ln_activation_f32 activation;
        if (next && next->inputs[0] == node->outputs[0] && ln_activation_of(next, &activation)) {
            *slot = activation;
            ln_absorb(node, next);
            ++*fired;
        }
    }
    ln_readers_free(&readers);
    return LN_OK;
}

/* The constant row that `add` adds to the product of width `columns`, or 0. */
static ln_value_id bias_row(const ln_node *product, const ln_node *add, int64_t columns) {
    const int other = ln_is(add, "Add") && add->opset >= 7 ? ln_other_input(add, product->outputs[0]) : -1;
    const ln_value *row = other >= 0 && add->inputs[other] ? ln_node_constant(add, other) : NULL;
    const bool fits = row && row->shape.rank == 1 && row->shape.dims[0] == columns && columns > 1;
    return fits ? add->inputs[other] : 0;
}

ln_status ln_rewrite_fuse_bias(ln_graph *graph, int *fired) {
    ln_readers readers;
    ln_status status = ln_readers_init(&readers, graph);
    LN_TRY(status);
    for (int32_t i = 0; i < graph->n_nodes && status == LN_OK; ++i) {
        ln_node *node = graph->nodes[i];
        /* What is added behind an activation that is fused already is no bias. */
        if (node->removed || !ln_is(node, "MatMul") || !in_float(node) || !node->inputs[1] ||
            activation_of(node)->present) {
            continue;
        }
        const ln_value *b = ln_node_constant(node, 1);
        ln_node *next = b && b->shape.rank == 2 ? ln_only_reader(&readers, node) : NULL;
        const ln_value_id bias = next ? bias_row(node, next, b->shape.dims[1]) : 0;
        if (bias) {
            const ln_value_id inputs[] = {node->inputs[0], node->inputs[1], bias};
            ln_absorb(node, next);
            status = ln_become(node, "linnet", "MatMulBias", 1, 3, inputs);
            ++*fired;
        }
    }
    ln_readers_free(&readers);
    return status;
}
