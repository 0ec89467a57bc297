/* Layer normalisation and root-mean-square normalisation that exporters write as arithmetic, and the residual sum before
 * a normalisation. */
#include "compile/match.h"
#include "compile/shapes.h"

/* d is x less its mean; S the standard deviation, R its inverse. */
#define VARIANCE(D) "Add(ReduceMean({Pow(" D ",2)|Mul(" D ",d)}),E)"
#define DEVIATION   "d:Sub(x,m:ReduceMean(x))"
#define ROOT(V)     "{Sqrt(" V ")|Pow(" V ",0.5)}"
#define INVERSE(V)  "{Reciprocal(" ROOT(V) ")|Pow(" V ",-0.5)|Div(1," ROOT(V) ")}"
#define NORMAL      "~{Div(" DEVIATION "," ROOT(VARIANCE("d")) ")|Mul(" DEVIATION "," INVERSE(VARIANCE("d")) ")}"
#define MEAN_SQUARE "Add(ReduceMean({Pow(x,2)|Mul(x,x)}),E)"

typedef struct written_form {
    const char *pattern;
    bool rms;
} written_form;

/* Longest first: a sum at the root is the bias. */
static const written_form forms[] = {
    {"Add(Mul(" NORMAL ",g),b)", false},
    {"Add(Mul(s:Mul(" INVERSE(VARIANCE(DEVIATION)) ",g),x),Sub(b,Mul(s,m)))", false},
    {"Mul(" NORMAL ",g)", false},
    {"Mul(~{Mul(" INVERSE(MEAN_SQUARE) ",x)|Div(x," ROOT(MEAN_SQUARE) ")},g)", true},
};

/* Whether all means are over the last axis and keep it. */
static bool over_last_axis(const ln_match *match, int rank) {
    for (int i = 1; i < match->n_nodes; ++i) {
        const ln_node *node = match->nodes[i];
        const ln_attribute *keep = ln_node_attribute(node, "keepdims");
        uint32_t mask;
        if (ln_is(node, "ReduceMean") && ((keep && keep->as.ints[0] == 0) ||
                                          !ln_known_axes(node, 1, rank, &mask) || mask != 1U << (rank - 1))) {
            return false;
        }
    }
    return true;
}

/* Whether a constant has one number for each column of rows of `columns`. */
static bool is_row(const ln_model *model, ln_value_id id, int64_t columns, int rank) {
    ln_shape shape;
    if (!ln_info(model, id)->constant || !ln_known_shape(model, id, &shape) || shape.rank < 1 ||
        shape.rank > rank) {
        return false;
    }
    return shape.dims[shape.rank - 1] == columns && ln_shape_product(&shape, 0, shape.rank - 1) == 1;
}

static ln_status try_form(const written_form *form, ln_node *node, int *fired) {
    const ln_model *model = node->graph->model;
    ln_match match;
    ln_shape shape;
    if (!ln_matches(form->pattern, node, &match)) {
        return LN_OK;
    }
    ln_value_id x = ln_matched(&match, 'x');
    const ln_value_id gamma = ln_matched(&match, 'g');
    const ln_value_id beta = ln_matched(&match, 'b');
    const ln_dtype result = ln_known_dtype(model, node->outputs[0]);
    if (!ln_known_shape(model, x, &shape) || shape.rank < 1 || match.number_rank > shape.rank ||
        !over_last_axis(&match, shape.rank) ||
        !is_row(model, gamma, shape.dims[shape.rank - 1], shape.rank) ||
        (beta && !is_row(model, beta, shape.dims[shape.rank - 1], shape.rank))) {
        return LN_OK;
    }
    /* Half types that are widened before: the operator widens itself. */
    const ln_node *cast = ln_info(model, x)->producer;
    if (ln_known_dtype(model, x) != result && cast && ln_is(cast, "Cast") &&
        ln_known_dtype(model, cast->inputs[0]) == result) {
        x = cast->inputs[0];
    }
    const ln_dtype dtype = ln_known_dtype(model, x);
    if (!(LN_BIT(dtype) & LN_T_FLOAT_BF) || ln_known_dtype(model, gamma) != result ||
        (dtype != result && !form->rms)) {
        return LN_OK;
    }
    const double epsilon = ln_matched_number(&match, 'E');
    const ln_setting settings[] = {{.name = "axis", .type = LN_ATTRIBUTE_INT, .number = -1},
                                   {.name = "epsilon", .type = LN_ATTRIBUTE_FLOAT, .number = epsilon}};
    const ln_value_id inputs[] = {x, gamma, beta};
    ++*fired;
    LN_TRY(ln_become_with(node, "", form->rms ? "SimplifiedLayerNormalization" : "LayerNormalization", 17,
                          beta ? 3 : 2, inputs, 2, settings));
    ln_match_remove(&match);
    return LN_OK;
}

ln_status ln_rewrite_fuse_layer_norm(ln_graph *graph, int *fired) {
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; ++f) {
        for (int32_t i = 0; i < graph->n_nodes; ++i) {
            ln_node *node = graph->nodes[i];
            if (!node->removed && ln_is(node, forms[f].pattern[0] == 'A' ? "Add" : "Mul")) {
                LN_TRY(try_form(&forms[f], node, fired));
            }
        }
    }
    return LN_OK;
}

/* ---- Residual sums ---- */

static bool is_plain_norm(const ln_node *node) {
    const bool simplified = ln_is(node, "SimplifiedLayerNormalization");
    if (!simplified && !ln_is(node, "LayerNormalization")) {
        return false;
    }
    const ln_attribute *axis = ln_node_attribute(node, "axis");
    const ln_model *model = node->graph->model;
    ln_shape shape;
    const bool last = !axis || axis->as.ints[0] == -1;
    const bool alone =
        node->n_outputs < 2 || (!node->outputs[1] && (node->n_outputs < 3 || !node->outputs[2]));
    if (!last || !alone || !ln_known_shape(model, node->inputs[0], &shape) || shape.rank < 2 ||
        ln_is_symbol(shape.dims[shape.rank - 1])) {
        return false;
    }
    bool rows = true;
    for (int i = 1; i < node->n_inputs; ++i) {
        rows = rows && node->inputs[i] && is_row(model, node->inputs[i], shape.dims[shape.rank - 1], 1) &&
               ln_known_dtype(model, node->inputs[i]) == ln_known_dtype(model, node->inputs[0]);
    }
    return rows && ln_known_dtype(model, node->inputs[0]) != LN_UNDEFINED;
}

static ln_status fuse_sum(ln_node *norm, ln_node *sum) {
    ln_graph *graph = norm->graph;
    const bool simplified = ln_is(norm, "SimplifiedLayerNormalization");
    const ln_attribute *epsilon = ln_node_attribute(norm, "epsilon");
    const ln_setting setting = {.name = "epsilon",
                                .type = LN_ATTRIBUTE_FLOAT,
                                .number = epsilon ? (double)epsilon->as.floats[0] : 1e-5};
    const ln_value_id inputs[] = {sum->inputs[0], sum->inputs[1], norm->inputs[1],
                                  norm->n_inputs > 2 ? norm->inputs[2] : 0};
    ln_value_id *outputs = ln_arena_array(&graph->model->arena, 4, sizeof *outputs);
    if (!outputs) {
        return LN_OUT_OF_MEMORY;
    }
    const ln_value_id result = norm->outputs[0];
    const ln_value_id total = sum->outputs[0];
    ln_node_remove(sum);
    norm->outputs = outputs;
    norm->n_outputs = 4;
    ln_node_set_output(norm, 0, result);
    LN_TRY(ln_become_with(norm, "com.microsoft",
                          simplified ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization", 1,
                          inputs[3] ? 4 : 3, inputs, 1, &setting));
    const ln_value_info *info = ln_info(graph->model, total);
    if (info->uses > 0 || info->is_graph_output) {
        ln_node_set_output(norm, 3, total);
    }
    return LN_OK;
}

ln_status ln_rewrite_fuse_skip_norm(ln_graph *graph, int *fired) {
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        ln_node *sum = !node->removed && is_plain_norm(node) ? ln_producer(node, 0) : NULL;
        if (sum && ln_is(sum, "Add") && sum->opset >= 7 &&
            ln_same_shape(graph->model, sum->inputs[0], sum->inputs[1])) {
            LN_TRY(fuse_sum(node, sum));
            ++*fired;
        }
    }
    return LN_OK;
}
