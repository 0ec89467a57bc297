/* Chains of elementwise nodes over one shape become one node, which runs them block by block in cache.
 *
 * A chain is a line of float32 nodes, each the only reader of the one before: functions of one operand, arithmetic with an
 * operand that broadcasts along neighbouring axes, and batch normalisation with constants. All values along it have one
 * shape in every run. This comes after all other rewrites, which know the nodes by their names.
 */
#include <math.h>
#include <string.h>

#include "compile/match.h"
#include "compile/shapes.h"
#include "ops/activation.h"
#include "ops/chain.h"

typedef struct chain {
    ln_model *model;
    ln_shape shape; /* of all values */
    int n_inputs;
    ln_value_id inputs[LN_CHAIN_INPUTS];
    int n_nodes;
    ln_node *nodes[2 * LN_CHAIN_STEPS]; /* a step stands for up to two */
    const ln_node *norms[LN_CHAIN_STEPS];
    ln_chain_params params;
} chain;

static bool is_float(const ln_model *model, ln_value_id id) {
    return id && ln_known_dtype(model, id) == LN_FLOAT;
}

/* Whether the runs of an operand that broadcasts are long enough for a call each, as far as sizes are known. */
static bool runs_are_long(const ln_shape *value, const ln_shape *operand) {
    int64_t run = 1;
    bool first = true;
    bool repeats = false;
    for (int i = 1; i <= value->rank; i++) {
        const int64_t size = value->dims[value->rank - i];
        const bool one = i > operand->rank || operand->dims[operand->rank - i] == 1;
        if (size == 1) {
            continue;
        }
        repeats = first ? one : repeats;
        first = false;
        if (one != repeats) {
            return run >= LN_CHAIN_RUN;
        }
        if (ln_is_symbol(size)) {
            return true;
        }
        run *= size;
    }
    return true;
}

static bool takes_operand(const chain *c, ln_value_id id) {
    ln_shape shape;
    ln_chain_span span;
    return is_float(c->model, id) && ln_known_shape(c->model, id, &shape) &&
           ln_chain_span_of(&c->shape, &shape, &span) && runs_are_long(&c->shape, &shape);
}

static const struct {
    const char *name;
    enum ln_binary code;
} binary[] = {
    {"Add", LN_BINARY_ADD}, {"Sub", LN_BINARY_SUB}, {"Mul", LN_BINARY_MUL}, {"Div", LN_BINARY_DIV},
    {"Max", LN_BINARY_MAX}, {"Min", LN_BINARY_MIN}, {"Pow", LN_BINARY_POW}, {"PRelu", LN_BINARY_PRELU},
};

/* Arithmetic on `value` and another operand. */
static bool add_binary(chain *c, const ln_node *node, ln_value_id value) {
    const int other = node->domain[0] == 0 && node->opset >= 8 ? ln_other_input(node, value) : -1;
    for (size_t i = 0; other >= 0 && i < sizeof binary / sizeof binary[0]; i++) {
        if (strcmp(node->op_type, binary[i].name) != 0) {
            continue;
        }
        float exponent;
        ln_chain_step *step = &c->params.steps[c->params.n_steps];
        if (binary[i].code == LN_BINARY_POW && other == 1 && ln_constant_number(node, 1, &exponent) &&
            exponent == 2.0F && ln_node_constant(node, 1)->shape.rank <= c->shape.rank) {
            *step = (ln_chain_step){.kind = LN_CHAIN_UNARY, .code = LN_UNARY_SQUARE};
            return true;
        }
        if (c->n_inputs == LN_CHAIN_INPUTS || !takes_operand(c, node->inputs[other])) {
            return false;
        }
        *step = (ln_chain_step){
            .kind = LN_CHAIN_BINARY, .code = (int)binary[i].code, .input = c->n_inputs, .right = other == 0};
        c->inputs[c->n_inputs++] = node->inputs[other];
        return true;
    }
    return false;
}

/* BatchNormalization with constants. Its scale becomes a constant once the chain is whole. */
static bool add_norm(chain *c, const ln_node *node, ln_value_id value) {
    const int64_t channels = c->shape.rank > 2 ? c->shape.dims[1] : 0;
    if (!ln_is(node, "BatchNormalization") || node->inputs[0] != value || channels < 1 ||
        c->n_inputs + 3 > LN_CHAIN_INPUTS || !ln_batch_norm_known(node, channels)) {
        return false;
    }
    ln_shape row = {.rank = c->shape.rank - 1, .dims = {channels}};
    for (int i = 1; i < row.rank; i++) {
        row.dims[i] = 1;
    }
    if (!runs_are_long(&c->shape, &row)) {
        return false;
    }
    c->params.steps[c->params.n_steps] = (ln_chain_step){.kind = LN_CHAIN_NORMALIZE, .input = c->n_inputs};
    c->norms[c->params.n_steps] = node;
    c->inputs[c->n_inputs++] = node->inputs[3];
    c->inputs[c->n_inputs++] = 0;
    c->inputs[c->n_inputs++] = node->inputs[2];
    return true;
}

static bool add_unary(chain *c, const ln_node *node, ln_value_id value) {
    ln_chain_step *step = &c->params.steps[c->params.n_steps];
    ln_activation_f32 clip;
    if (node->inputs[0] != value) {
        return false;
    }
    if (ln_is(node, "Clip") && ln_activation_of(node, &clip)) {
        *step = (ln_chain_step){
            .kind = LN_CHAIN_UNARY, .code = (int)clip.kind, .alpha = clip.alpha, .beta = clip.beta};
        return true;
    }
    return ln_unary_step(node, step);
}

/* A Relu of a sum or product: one step computes both. */
static bool join_relu(chain *c, const ln_node *node) {
    if (c->params.n_steps == 0 || !ln_is(node, "Relu")) {
        return false;
    }
    ln_chain_step *step = &c->params.steps[c->params.n_steps - 1];
    const bool sum = step->kind == LN_CHAIN_BINARY && step->code == LN_BINARY_ADD;
    const bool product = step->kind == LN_CHAIN_BINARY && step->code == LN_BINARY_MUL;
    if (sum || product) {
        step->code = sum ? LN_BINARY_ADD_RELU : LN_BINARY_MUL_RELU;
    }
    return sum || product;
}

/* Appends a node that reads `value`; false, and nothing changed, when it is no step. */
static bool add_step(chain *c, ln_node *node, ln_value_id value) {
    if (node->n_inputs == 0 || c->params.n_steps == LN_CHAIN_STEPS || !is_float(c->model, node->outputs[0]) ||
        !ln_same_shape(c->model, value, node->outputs[0])) {
        return false;
    }
    if (!join_relu(c, node)) {
        if (!add_unary(c, node, value) && !add_binary(c, node, value) && !add_norm(c, node, value)) {
            return false;
        }
        ++c->params.n_steps;
    }
    c->nodes[c->n_nodes++] = node;
    return true;
}

/* The chain that starts with a node: as long as it gets. */
static void find_chain(const ln_readers *readers, ln_node *first, chain *c) {
    for (int i = 0; i < 2 && i < first->n_inputs && c->n_nodes == 0; i++) {
        *c = (chain){.model = first->graph->model, .n_inputs = 1, .inputs = {first->inputs[i]}};
        if (is_float(c->model, first->inputs[i]) && ln_known_shape(c->model, first->inputs[i], &c->shape)) {
            (void)add_step(c, first, first->inputs[i]);
        }
    }
    ln_node *next = c->n_nodes ? ln_only_reader(readers, first) : NULL;
    while (next && next->graph == first->graph && add_step(c, next, c->nodes[c->n_nodes - 1]->outputs[0])) {
        next = ln_only_reader(readers, next);
    }
}

/* The constant scales of a BatchNormalization, [channels]. */
static ln_status add_scales(chain *c, const ln_node *node, int input) {
    ln_value scales = {0};
    const ln_shape shape = ln_shape_of(1, &c->shape.dims[1]);
    LN_TRY(ln_value_make(c->model->context, &scales, LN_FLOAT, &shape));
    for (int64_t i = 0; i < c->shape.dims[1]; i++) {
        ((float *)scales.data)[i] = (float)ln_batch_norm_scale(node, i);
    }
    c->inputs[input] = ln_graph_add_constant(node->graph, "", &scales);
    if (!c->inputs[input]) {
        ln_value_release(c->model->context, &scales);
        return LN_OUT_OF_MEMORY;
    }
    return LN_OK;
}

static ln_status fuse(chain *c) {
    ln_node *last = c->nodes[c->n_nodes - 1];
    for (int s = 0; s < c->params.n_steps; s++) {
        if (c->params.steps[s].kind == LN_CHAIN_NORMALIZE) {
            LN_TRY(add_scales(c, c->norms[s], c->params.steps[s].input + 1));
        }
    }
    LN_TRY(ln_become(last, "linnet", "Chain", 1, c->n_inputs, c->inputs));
    *(ln_chain_params *)last->params = c->params;
    for (int i = 0; i < c->n_nodes - 1; i++) {
        ln_node_remove(c->nodes[i]);
    }
    return LN_OK;
}

ln_status ln_rewrite_fuse_chains(ln_graph *graph, int *fired) {
    ln_readers readers;
    ln_status status = ln_readers_init(&readers, graph);
    LN_TRY(status);
    for (int32_t i = 0; i < graph->n_nodes && status == LN_OK; ++i) {
        chain c = {0};
        if (!graph->nodes[i]->removed && graph->nodes[i]->n_inputs > 0) {
            find_chain(&readers, graph->nodes[i], &c);
        }
        if (c.n_nodes > 1) {
            status = fuse(&c);
            ++*fired;
        }
    }
    ln_readers_free(&readers);
    return status;
}
