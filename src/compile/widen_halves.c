/* Half-precision islands: where operators that compute in float32 hand half-precision values to one another, the values stay
 * float32 between them, and conversions stand at the edge of the island only.
 *
 * An island is a set of such nodes connected by half values. It is widened when it has more values inside than on its edge.
 * Weights that kernels pack are widened where they stood: they would be when packed. So are small constants; another large
 * one keeps its node out, so that no table of a model takes twice its memory. Results are closer to exact, as rounding happens less often.
 */
#include <string.h>

#include "base/convert.h"
#include "compile/match.h"

enum { CONSTANT_BYTES = 128 * 1024, NONE = -1 };

/* Operators whose half values may be float32 all together. Sorted by name. */
static const char *const widening[] = {
    "Abs",
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "Div",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Gather",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "InstanceNormalization",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "MatMul",
    "MatMulBias",
    "Max",
    "MaxPool",
    "Min",
    "Mish",
    "Mul",
    "Neg",
    "PRelu",
    "Pad",
    "Pow",
    "QuickGelu",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Resize",
    "Sigmoid",
    "SimplifiedLayerNormalization",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
    "Slice",
    "Softmax",
    "Softplus",
    "SpaceToDepth",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Swish",
    "Tanh",
    "Transpose",
    "Unsqueeze",
    "Upsample",
    "Where",
};

typedef struct islands {
    ln_graph *graph;
    int32_t *
        island; /* [n_nodes] by node index: another node of the island, itself for one that stands for it; NONE */
    int32_t *inside;   /* [n_nodes] of the standing node: values between its nodes less those on its edge */
    ln_value_id *wide; /* [n_values]: the float32 form of a value, 0 for none yet */
    int32_t n_values;
} islands;

static bool is_half(const ln_model *model, ln_value_id id) {
    return id != 0 && (LN_BIT(ln_known_dtype(model, id)) & LN_T_HALF) != 0;
}

/* Weights that the kernels pack: they take float32's room in any case. */
static bool is_weight(const ln_node *node, int input) {
    static const char *const packing[] = {"Conv", "ConvTranspose", "MatMul", "MatMulBias", "Gemm"};
    for (size_t i = 0; input == 1 && i < sizeof packing / sizeof packing[0]; ++i) {
        if (strcmp(node->op_type, packing[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool can_widen(const ln_node *node) {
    const ln_model *model = node->graph->model;
    bool listed = false;
    for (size_t i = 0; i < sizeof widening / sizeof widening[0] && !listed; ++i) {
        listed = strcmp(node->op_type, widening[i]) == 0;
    }
    bool has_half = false;
    for (int32_t i = 0; listed && i < node->n_inputs; ++i) {
        const ln_value_info *info = ln_info(model, node->inputs[i]);
        if (node->inputs[i] && !info->constant && ln_known_dtype(model, node->inputs[i]) == LN_UNDEFINED) {
            return false;
        }
        if (!is_half(model, node->inputs[i])) {
            continue;
        }
        has_half = has_half || !info->constant;
        if (info->constant && (info->is_graph_input || !info->constant->data ||
                               (!is_weight(node, i) && ln_value_bytes(info->constant) > CONSTANT_BYTES))) {
            return false;
        }
    }
    return listed && has_half && node->outputs[0] && is_half(model, node->outputs[0]) &&
           (node->row->types[0] & LN_BIT(LN_FLOAT));
}

static int32_t find(const islands *all, int32_t node) {
    while (all->island[node] != node) {
        node = all->island[node];
    }
    return node;
}

/* The node of an island that makes a value, or NONE. */
static int32_t maker(const islands *all, ln_value_id id) {
    const ln_node *producer = ln_info(all->graph->model, id)->producer;
    const bool own = producer && !producer->removed && producer->graph == all->graph;
    return own && all->island[producer->index] != NONE ? producer->index : NONE;
}

static bool is_dynamic_half(const ln_model *model, ln_value_id id) {
    return is_half(model, id) && !ln_info(model, id)->constant;
}

static void join_islands(islands *all) {
    ln_graph *graph = all->graph;
    for (int32_t n = 0; n < graph->n_nodes; ++n) {
        graph->nodes[n]->index = n;
        all->island[n] = !graph->nodes[n]->removed && can_widen(graph->nodes[n]) ? n : NONE;
    }
    for (int32_t n = 0; n < graph->n_nodes; ++n) {
        const ln_node *node = graph->nodes[n];
        for (int32_t i = 0; all->island[n] != NONE && i < node->n_inputs; ++i) {
            const int32_t from =
                is_dynamic_half(graph->model, node->inputs[i]) ? maker(all, node->inputs[i]) : NONE;
            if (from != NONE) {
                all->island[find(all, from)] = find(all, n);
            }
        }
    }
}

/* A Cast from float32 that makes the value: its operand is what the island reads. */
static ln_value_id cast_from(const ln_model *model, ln_value_id id) {
    const ln_node *producer = ln_info(model, id)->producer;
    const bool cast = producer && !producer->removed && ln_is(producer, "Cast");
    return cast && ln_known_dtype(model, producer->inputs[0]) == LN_FLOAT ? producer->inputs[0] : 0;
}

/* Whether a node casts to float32 what an island makes: the cast falls away. */
static bool leaves_as_float(const islands *all, const ln_node *node) {
    return !node->removed && ln_is(node, "Cast") && node->output_dtype == LN_FLOAT &&
           is_dynamic_half(all->graph->model, node->inputs[0]) && maker(all, node->inputs[0]) != NONE;
}

static void count_values(islands *all, int32_t *reads) {
    const ln_graph *graph = all->graph;
    const ln_model *model = graph->model;
    for (int32_t n = 0; n < graph->n_nodes; ++n) {
        const ln_node *node = graph->nodes[n];
        if (leaves_as_float(all, node)) {
            ++reads[node->inputs[0]];
        }
        for (int32_t i = 0; all->island[n] != NONE && i < node->n_inputs; ++i) {
            const ln_value_id id = node->inputs[i];
            if (!is_dynamic_half(model, id)) {
                continue;
            }
            ++reads[id];
            if (maker(all, id) == NONE && reads[id] == 1 && !cast_from(model, id)) {
                --all->inside[find(all, n)];
            }
        }
    }
    for (int32_t n = 0; n < graph->n_nodes; ++n) {
        const ln_node *node = graph->nodes[n];
        for (int32_t i = 0; all->island[n] != NONE && i < node->n_outputs; ++i) {
            const ln_value_id id = node->outputs[i];
            if (is_half(model, id)) {
                all->inside[find(all, n)] += (reads[id] > 0) - (ln_info(model, id)->uses > reads[id]);
            }
        }
    }
}

static ln_value_id add_float(islands *all, ln_value_id like) {
    ln_model *model = all->graph->model;
    const ln_value_id id = ln_graph_add_value(all->graph, "");
    if (id) {
        ln_value_info *info = ln_info(model, id);
        info->type = (ln_type){.kind = LN_KIND_TENSOR, .dtype = LN_FLOAT, .rank = -1};
        info->shape = ln_info(model, like)->shape;
    }
    return id;
}

static ln_status add_cast(ln_graph *graph, ln_value_id from, ln_value_id to, ln_dtype dtype) {
    ln_node *cast = ln_graph_add_node(graph, 1, 1);
    if (!cast) {
        return LN_OUT_OF_MEMORY;
    }
    const ln_setting setting = {.name = "to", .type = LN_ATTRIBUTE_INT, .number = (double)dtype};
    ln_node_set_output(cast, 0, to);
    return ln_become_with(cast, "", "Cast", 13, 1, &from, 1, &setting);
}

static ln_status widen_constant(islands *all, ln_value_id id, ln_value_id *wide) {
    ln_model *model = all->graph->model;
    const ln_value *half = ln_info(model, id)->constant;
    ln_value value = {0};
    LN_TRY(ln_value_make(model->context, &value, LN_FLOAT, &half->shape));
    ln_load_f32(half->dtype, half->data, 0, ln_value_count(half), value.data);
    *wide = ln_graph_add_constant(all->graph, "", &value);
    if (!*wide) {
        ln_value_release(model->context, &value);
        return LN_OUT_OF_MEMORY;
    }
    return LN_OK;
}

/* The float32 form of what an island reads from outside. */
static ln_status widen_input(islands *all, const ln_node *node, int input, ln_value_id *wide) {
    ln_model *model = all->graph->model;
    const ln_value_id id = node->inputs[input];
    *wide = all->wide[id];
    if (*wide) {
        return LN_OK;
    }
    if (ln_info(model, id)->constant) {
        LN_TRY(widen_constant(all, id, wide));
    } else if (cast_from(model, id)) {
        *wide = cast_from(model, id);
    } else {
        *wide = add_float(all, id);
        if (!*wide) {
            return LN_OUT_OF_MEMORY;
        }
        LN_TRY(add_cast(all->graph, id, *wide, LN_FLOAT));
    }
    all->wide[id] = *wide;
    return LN_OK;
}

/* Outputs first: what they make has its float32 form when the readers look for it. */
static ln_status widen_outputs(islands *all, ln_node *node, const int32_t *reads) {
    ln_model *model = all->graph->model;
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        const ln_value_id id = node->outputs[i];
        if (!is_half(model, id)) {
            continue;
        }
        const ln_value_id wide = add_float(all, id);
        if (!wide) {
            return LN_OUT_OF_MEMORY;
        }
        all->wide[id] = wide;
        ln_node_set_output(node, i, wide);
        if (ln_info(model, id)->uses > reads[id]) {
            LN_TRY(add_cast(all->graph, wide, id, ln_known_dtype(model, id)));
        }
    }
    return LN_OK;
}

static ln_status widen_node(islands *all, ln_node *node) {
    ln_model *model = all->graph->model;
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        const ln_value_id id = node->inputs[i];
        ln_value_id wide = 0;
        if (is_half(model, id)) {
            LN_TRY(widen_input(all, node, i, &wide));
            ln_node_set_input(node, i, wide);
            if (ln_info(model, id)->uses == 0) {
                ln_model_drop_constant(model, id);
            }
        }
    }
    return LN_OK;
}

static ln_status widen_islands(islands *all, int32_t *reads, int *fired) {
    const int32_t n_nodes = all->graph->n_nodes; /* Casts are added behind */
    join_islands(all);
    count_values(all, reads);
    for (int32_t n = 0; n < n_nodes; ++n) {
        if (all->island[n] != NONE && all->inside[find(all, n)] > 0) {
            LN_TRY(widen_outputs(all, all->graph->nodes[n], reads));
        }
    }
    for (int32_t n = 0; n < n_nodes; ++n) {
        ln_node *node = all->graph->nodes[n];
        if (!node->removed && ln_is(node, "Cast") && node->output_dtype == LN_FLOAT &&
            all->wide[node->inputs[0]]) {
            ln_node_set_input(node, 0, all->wide[node->inputs[0]]);
        }
        if (all->island[n] != NONE && all->inside[find(all, n)] > 0) {
            LN_TRY(widen_node(all, all->graph->nodes[n]));
            *fired += all->island[n] == n;
        }
    }
    return LN_OK;
}

ln_status ln_rewrite_widen_halves(ln_graph *graph, int *fired) {
    ln_context *context = graph->model->context;
    islands all = {.graph = graph, .n_values = graph->model->n_values};
    const size_t nodes = (size_t)graph->n_nodes;
    const size_t values = (size_t)all.n_values;
    int32_t *memory =
        ln_alloc_zero(context, (2 * nodes + 2 * values + 1) * sizeof *memory, LN_MEMORY_SCRATCH);
    if (!memory) {
        return LN_OUT_OF_MEMORY;
    }
    all.island = memory;
    all.inside = memory + nodes;
    all.wide = memory + 2 * nodes;
    const ln_status status = widen_islands(&all, memory + 2 * nodes + values, fired);
    ln_free(context, memory);
    return status;
}
