/* ai.onnx.preview.training: one step of Adagrad, Adam and Momentum; and what Gradient turns into.
 *
 * Inputs are the learning rate R, the update count T, then groups of one tensor for each optimised one: values X,
 * gradients G and the running averages; outputs are the new X and the new averages, grouped likewise. Everything is
 * elementwise and computed in double.
 */
#include <math.h>
#include <string.h>

#include "ops/op.h"

enum { FIRST = 2, MOST_GROUPS = 4 };

typedef struct training_params training_params;

/* One element: g[0..] are its values in the groups; the new ones replace them. */
typedef void (*training_step)(const training_params *params, double *g);

struct training_params {
    training_step step;
    int groups;
    double alpha, beta, epsilon, norm, norm_post, decay;
    bool nesterov;
};

/* Steps; decay holds the learning rate of this step by then ------------------------------------------------------------- */

static void adagrad_step(const training_params *p, double *g) {
    const double gradient = p->norm * g[0] + g[1];
    g[2] += gradient * gradient;
    g[0] -= p->decay * gradient / (sqrt(g[2]) + p->epsilon);
}

static void adam_step(const training_params *p, double *g) {
    const double gradient = p->norm * g[0] + g[1];
    g[2] = p->alpha * g[2] + (1 - p->alpha) * gradient;
    g[3] = p->beta * g[3] + (1 - p->beta) * gradient * gradient;
    g[0] = (1 - p->norm_post) * (g[0] - p->decay * g[2] / (sqrt(g[3]) + p->epsilon));
}

static void momentum_step(const training_params *p, double *g) {
    const double gradient = p->norm * g[0] + g[1];
    g[2] = p->alpha * g[2] + p->beta * gradient;
    g[0] -= p->decay * (p->nesterov ? gradient + p->alpha * g[2] : g[2]);
}

/* Build and infer --------------------------------------------------------------------------------------------------- */

static ln_status build_training(ln_build *build) {
    static const char *const modes[] = {"standard", "nesterov", NULL};
    training_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    const bool adam = strcmp(build->node->op_type, "Adam") == 0;
    const bool momentum = strcmp(build->node->op_type, "Momentum") == 0;
    params->step = adam ? adam_step : momentum ? momentum_step : adagrad_step;
    params->groups = adam ? 4 : 3;
    params->norm = (double)ln_attr_float(build, "norm_coefficient", 0);
    params->norm_post = (double)ln_attr_float(build, "norm_coefficient_post", 0);
    params->epsilon = (double)ln_attr_float(build, "epsilon", 1e-6f);
    params->decay = (double)ln_attr_float(build, "decay_factor", 0);
    params->alpha = (double)ln_attr_float(build, "alpha", 0.9f);
    params->beta = (double)ln_attr_float(build, "beta", 0.999f);
    if (momentum) {
        ln_attr_required(build, "mode");
        ln_attr_required(build, "alpha");
        ln_attr_required(build, "beta");
        ln_attr_required(build, "norm_coefficient");
        params->nesterov = ln_attr_choice(build, "mode", modes, 0) == 1;
    }
    return ln_build_status(build);
}

/* The compiler turns Gradient into other nodes before rows are built. */
static ln_status build_gradient(ln_build *build) {
    return ln_build_fail(build, LN_UNSUPPORTED, "Gradient cannot stand here");
}

static ln_status infer_training(ln_op *op) {
    const training_params *params = op->params;
    const int tensors = (op->n_inputs - FIRST) / params->groups;
    LN_OP_CHECK(op, op->n_inputs > FIRST && (op->n_inputs - FIRST) % params->groups == 0, INVALID_GRAPH,
                "there are %d tensors after R and T, expected a multiple of %d", op->n_inputs - FIRST,
                params->groups);
    for (int i = 0; i < FIRST; i++) {
        LN_OP_CHECK(op, ln_value_count(ln_in(op, i)) == 1, INVALID_SHAPE,
                    "input %d must be one number, it has %lld", i, (long long)ln_value_count(ln_in(op, i)));
    }
    for (int i = 0; i < op->n_inputs - FIRST; i++) {
        const ln_value *value = ln_in(op, FIRST + i);
        const ln_value *x = ln_in(op, FIRST + i % tensors);
        LN_OP_CHECK(op,
                    value != NULL && value->kind == LN_KIND_TENSOR && value->dtype == x->dtype &&
                        (value->dtype == LN_FLOAT || value->dtype == LN_DOUBLE) &&
                        ln_shape_equal(&value->shape, &x->shape),
                    INVALID_SHAPE, "input %d must be float32 or float64 with the type and shape of input %d",
                    FIRST + i, FIRST + i % tensors);
    }
    /* Outputs leave the gradients out. */
    for (int i = 0; i < tensors * (params->groups - 1); i++) {
        const ln_value *x = ln_in(op, FIRST + i % tensors);
        LN_TRY(ln_op_shape(op, i, x->dtype, &x->shape));
    }
    return LN_OK;
}

/* Run ---------------------------------------------------------------------------------------------------------------- */

static void update_tensor(ln_op *op, const training_params *params, int tensor, int tensors) {
    const int64_t count = ln_value_count(ln_in(op, FIRST + tensor));
    for (int64_t i = 0; i < count; i++) {
        double g[MOST_GROUPS];
        for (int group = 0; group < params->groups; group++) {
            const ln_value *input = ln_in(op, FIRST + group * tensors + tensor);
            ln_load_f64(input->dtype, input->data, i, 1, &g[group]);
        }
        params->step(params, g);
        for (int group = 0; group < params->groups - 1; group++) {
            ln_value *output = ln_out(op, group * tensors + tensor);
            if (output != NULL) {
                ln_store_f64(output->dtype, output->data, i, 1, &g[group == 0 ? 0 : group + 1]);
            }
        }
    }
}

static ln_status run_training(ln_op *op) {
    training_params params = *(const training_params *)op->params;
    const int tensors = (op->n_inputs - FIRST) / params.groups;
    double rate;
    int64_t updates;
    ln_load_f64(ln_in(op, 0)->dtype, ln_in(op, 0)->data, 0, 1, &rate);
    ln_load_i64(ln_in(op, 1)->dtype, ln_in(op, 1)->data, 0, 1, &updates);
    const double t = (double)updates;
    if (params.step == adagrad_step) {
        rate /= 1 + t * params.decay;
    } else if (params.step == adam_step && updates > 0) {
        rate *= sqrt(1 - pow(params.beta, t)) / (1 - pow(params.alpha, t));
    } else if (params.step == momentum_step && updates <= 0) {
        params.beta = 1;
    }
    params.decay = rate;
    for (int i = 0; i < tensors; i++) {
        update_tensor(op, &params, i, tensors);
    }
    return LN_OK;
}

/* What Gradient turns into: ones of a shape, and sums over the axes that were broadcast ------------------------------- */

static ln_status run_ones(ln_op *op) {
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    const double one = 1;
    for (int64_t i = 0; i < count; i++) {
        ln_store_f64(y->dtype, y->data, i, 1, &one);
    }
    return LN_OK;
}

static ln_status infer_sum_to(ln_op *op) {
    const ln_shape *from = &ln_in(op, 0)->shape;
    const ln_shape *to = &ln_in(op, 1)->shape;
    ln_shape together;
    LN_OP_CHECK(op, ln_shape_broadcast(from, to, &together) && ln_shape_equal(&together, from), INVALID_SHAPE,
                "a gradient of another shape than its value");
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, to);
}

static ln_status run_sum_to(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const ln_shape *const shapes[] = {&y->shape};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &x->shape, 1, shapes);
    memset(y->data, 0, ln_value_bytes(y));
    for (int64_t i = 0; i < walk.count; i++) {
        int64_t offset;
        double sum, value;
        ln_broadcast_seek(&walk, i, &offset);
        ln_load_f64(y->dtype, y->data, offset, 1, &sum);
        ln_load_f64(x->dtype, x->data, i, 1, &value);
        sum += value;
        ln_store_f64(y->dtype, y->data, offset, 1, &sum);
    }
    return LN_OK;
}

#define T_RATE (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE))
#define TRAINING(name)                                                                                       \
    {name,                                                                                                   \
     "ai.onnx.preview.training",                                                                             \
     1,                                                                                                      \
     LN_OPEN,                                                                                                \
     "Al.+>.+",                                                                                              \
     {T_RATE},                                                                                               \
     build_training,                                                                                         \
     infer_training,                                                                                         \
     run_training,                                                                                           \
     NULL,                                                                                                   \
     0,                                                                                                      \
     NULL}

static const ln_op_row rows[] = {
    TRAINING("Adagrad"),
    TRAINING("Adam"),
    TRAINING("Momentum"),
    {"OnesLike",
     "linnet",
     1,
     LN_OPEN,
     "A>A",
     {LN_T_FLOAT_BF},
     ln_build_nothing,
     ln_infer_same,
     run_ones,
     NULL,
     LN_OP_SHAPE_ONLY,
     NULL},
    {"SumToShape",
     "linnet",
     1,
     LN_OPEN,
     "AA>A",
     {LN_T_FLOAT_BF},
     ln_build_nothing,
     infer_sum_to,
     run_sum_to,
     NULL,
     0,
     NULL},
    {"Gradient",
     "ai.onnx.preview.training",
     1,
     LN_OPEN,
     ".+>.+",
     {0},
     build_gradient,
     NULL,
     NULL,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(training, rows);
