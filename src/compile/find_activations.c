/* Activations that exporters write as arithmetic: Gelu, QuickGelu, Swish, HardSwish, HardSigmoid and Mish become single
 * nodes, which then fuse into the matrix kernels. The single node rounds once where the arithmetic rounds at every step. */
#include <math.h>
#include <string.h>

#include "compile/match.h"
#include "ops/activation.h"

/* x * 0.5 * T in the orders that exporters write. */
#define HALF_PRODUCT(T)                                                                                      \
    "{Mul(Mul(" T ",x),0.5)|Mul(" T ",Mul(x,0.5))|Mul(Mul(" T ",0.5),x)|Div(Mul(" T ",x),2)"                 \
    "|Mul(" T ",Div(x,2))|Mul(Div(" T ",2),x)}"
#define ERF "Erf({Div(x,1.41421356)|Mul(x,0.70710678)})"
#define CUBE                                                                                                 \
    "{Mul(Pow(x,3),0.044715)|Mul(Mul(Mul(x,x),x),0.044715)|Mul(Mul(Mul(x,0.044715),x),x)"                    \
    "|Mul(Mul(x,x),Mul(x,0.044715))}"
#define SQUARE "{Mul(Mul(x,0.044715),x)|Mul(Mul(x,x),0.044715)|Mul(Pow(x,2),0.044715)}"
#define TANH                                                                                                 \
    "Add(Tanh({Mul(Add(" CUBE ",x),0.79788456)|Mul(Add(" SQUARE ",1),Mul(x,0.79788456))"                     \
    "|Mul(Mul(Add(" SQUARE ",1),x),0.79788456)}),1)"
#define RELU6 "Clip(Add(x,3))"

typedef struct written_form {
    const char *pattern;
    const char *domain, *op_type;
    int opset;
    ln_setting setting; /* without a name for none */
} written_form;

static const written_form forms[] = {
    {HALF_PRODUCT("Add(" ERF ",1)"), "", "Gelu", 20, {0}},
    {"Mul(Add(Mul(" ERF ",0.5),0.5),x)", "", "Gelu", 20, {0}},
    {HALF_PRODUCT(TANH),
     "",
     "Gelu",
     20,
     {.name = "approximate", .type = LN_ATTRIBUTE_STRING, .text = "tanh"}},
    {"Mul(Sigmoid(x),x)", "", "Swish", 24, {0}},
    {"Mul(Sigmoid(Mul(x,A)),x)",
     "com.microsoft",
     "QuickGelu",
     1,
     {.name = "alpha", .type = LN_ATTRIBUTE_FLOAT}},
    {"{Div(Mul(" RELU6 ",x),6)|Mul(Div(" RELU6 ",6),x)|Mul(Mul(" RELU6 ",x),0.16666667)"
     "|Mul(Mul(" RELU6 ",0.16666667),x)|Mul(HardSigmoid(x),x)}",
     "",
     "HardSwish",
     14,
     {0}},
    {"{Div(" RELU6 ",6)|Mul(" RELU6 ",0.16666667)}",
     "",
     "HardSigmoid",
     6,
     {.name = "alpha", .type = LN_ATTRIBUTE_FLOAT, .number = 1.0 / 6}},
    {"Mul(Tanh({Softplus(x)|Log(Add(Exp(x),1))}),x)", "", "Mish", 18, {0}},
};

/* Bounds and slopes that a pattern cannot say. */
static bool has_parameters(const ln_match *match) {
    for (int i = 1; i < match->n_nodes; ++i) {
        const ln_node *node = match->nodes[i];
        ln_activation_f32 activation;
        if (ln_is(node, "Clip") &&
            !(ln_activation_of(node, &activation) && activation.alpha == 0.0F && activation.beta == 6.0F)) {
            return false;
        }
        if (ln_is(node, "HardSigmoid") &&
            !(ln_activation_of(node, &activation) && fabsf(activation.alpha - 1.0F / 6) < 1e-6F &&
              activation.beta == 0.5F)) {
            return false;
        }
    }
    return true;
}

static ln_status try_form(const written_form *form, ln_node *node, int *fired) {
    ln_match match;
    if (!ln_matches(form->pattern, node, &match)) {
        return LN_OK;
    }
    const ln_value_id x = ln_matched(&match, 'x');
    const ln_dtype dtype = ln_known_dtype(node->graph->model, x);
    const bool fits =
        (LN_BIT(dtype) & LN_T_FLOAT) && ln_known_dtype(node->graph->model, node->outputs[0]) == dtype;
    if (!fits || !ln_keeps_rank(&match, x) || !has_parameters(&match)) {
        return LN_OK;
    }
    ln_setting setting = form->setting;
    if (match.numbers[0]) {
        setting.number = ln_matched_number(&match, 'A');
    }
    ++*fired;
    LN_TRY(ln_become_with(node, form->domain, form->op_type, form->opset, 1, &x, setting.name != NULL,
                          &setting));
    ln_match_remove(&match);
    return LN_OK;
}

ln_status ln_rewrite_find_activations(ln_graph *graph, int *fired) {
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const bool root = !node->removed && (ln_is(node, "Mul") || ln_is(node, "Div"));
        for (size_t f = 0; root && f < sizeof forms / sizeof forms[0]; ++f) {
            if (ln_is(node, "Mul") || ln_is(node, "Div")) {
                LN_TRY(try_form(&forms[f], node, fired));
            }
        }
    }
    return LN_OK;
}
