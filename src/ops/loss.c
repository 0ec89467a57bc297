/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
 *
 * Scores are [N, C, d...], labels [N, d...]. The second takes the logarithm of the softmax over C first, and may give it as its
 * second output. A sample whose label is ignore_index has no loss and no weight; the mean divides by the sum of weights.
 */
#include <math.h>
#include <string.h>

#include "ops/lines.h"

typedef struct loss_params {
    enum { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN } reduction;
    bool softmax;
    bool ignores;
    int64_t ignore_index;
} loss_params;

static ln_status build_loss(ln_build *build) {
    static const char *const reductions[] = {"none", "sum", "mean", NULL};
    loss_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        const int reduction = ln_attr_choice(build, "reduction", reductions, 2);
        params->reduction = reduction == 0 ? REDUCE_NONE : reduction == 1 ? REDUCE_SUM : REDUCE_MEAN;
        params->softmax = strcmp(build->node->op_type, "SoftmaxCrossEntropyLoss") == 0;
        params->ignores = ln_has_attr(build, "ignore_index");
        params->ignore_index = ln_attr_int(build, "ignore_index", 0);
    }
    return ln_build_status(build);
}

static ln_status infer_loss(ln_op *op) {
    const loss_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    const ln_value *labels = ln_in(op, 1);
    const ln_value *weights = ln_in(op, 2);
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->shape.rank >= 2, INVALID_SHAPE,
                "the scores must have rank 2 or more, they have rank %d", (int)x->shape.rank);
    ln_shape expected = x->shape;
    memmove(&expected.dims[1], &expected.dims[2], (size_t)(expected.rank - 2) * sizeof(expected.dims[0]));
    expected.rank--;
    LN_OP_CHECK(op, ln_shape_equal(&labels->shape, &expected), INVALID_SHAPE,
                "the labels must have the shape %s, they have %s", ln_shape_text(&expected, text[0]),
                ln_shape_text(&labels->shape, text[1]));
    const int64_t classes = x->shape.dims[1];
    LN_OP_CHECK(op, weights == NULL || ln_value_count(weights) == classes, INVALID_SHAPE,
                "the weights must have %lld elements, one for each class", (long long)classes);
    LN_OP_CHECK(op, classes < (int64_t)(SIZE_MAX / 32), LIMIT_EXCEEDED, "too many classes");
    op->scratch_bytes = (size_t)classes * sizeof(double);
    const ln_shape scalar = ln_shape_scalar();
    LN_TRY(ln_op_shape(op, 0, x->dtype, params->reduction == REDUCE_NONE ? &expected : &scalar));
    return params->softmax ? ln_op_shape(op, 1, x->dtype, &x->shape) : LN_OK;
}

static void log_softmax(double *line, int64_t n) {
    double max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        max = line[i] > max ? line[i] : max;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += exp(line[i] - max);
    }
    const double shift = max + log(sum);
    for (int64_t i = 0; i < n; i++) {
        line[i] -= shift;
    }
}

/* Loss and weight of the sample whose scores are in `line`. */
static ln_status sample_loss(ln_op *op, int64_t sample, const double *line, double *loss, double *weight) {
    const loss_params *params = op->params;
    const ln_value *labels = ln_in(op, 1);
    const ln_value *weights = ln_in(op, 2);
    const int64_t classes = ln_in(op, 0)->shape.dims[1];
    int64_t label;
    ln_load_i64(labels->dtype, labels->data, sample, 1, &label);
    *loss = 0;
    *weight = 0;
    if (params->ignores && label == params->ignore_index) {
        return LN_OK;
    }
    LN_OP_CHECK(op, label >= 0 && label < classes, INVALID_VALUE,
                "label %lld is out of range: there are %lld classes", (long long)label, (long long)classes);
    *weight = 1;
    if (weights != NULL) {
        ln_load_f64(weights->dtype, weights->data, label, 1, weight);
    }
    *loss = -line[label] * *weight;
    return LN_OK;
}

static ln_status run_loss(ln_op *op) {
    const loss_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    ln_value *log_prob = params->softmax ? ln_out(op, 1) : NULL;
    const ln_lines lines = ln_lines_of(&x->shape, 1, 2);
    double *line = op->scratch;
    double total = 0;
    double total_weight = 0;
    for (int64_t sample = 0; sample < lines.outer * lines.inner; sample++) {
        const int64_t first = sample / lines.inner * lines.length * lines.inner + sample % lines.inner;
        double loss, weight;
        ln_line_load_f64(x, &lines, first, line);
        if (params->softmax) {
            log_softmax(line, lines.length);
        }
        if (log_prob != NULL) {
            ln_line_store_f64(log_prob, &lines, first, line);
        }
        LN_TRY(sample_loss(op, sample, line, &loss, &weight));
        if (params->reduction == REDUCE_NONE && y != NULL) {
            ln_store_f64(y->dtype, y->data, sample, 1, &loss);
        }
        total += loss;
        total_weight += weight;
    }
    total = params->reduction == REDUCE_MEAN ? total / total_weight : total;
    if (params->reduction != REDUCE_NONE && y != NULL) {
        ln_store_f64(y->dtype, y->data, 0, 1, &total);
    }
    return LN_OK;
}

#define LOSS(name, since, until, signature, types)                                                           \
    {name, "", since, until, signature, {types, LN_T_INDEX}, build_loss, infer_loss, run_loss, NULL, 0, NULL}

static const ln_op_row rows[] = {
    LOSS("NegativeLogLikelihoodLoss", 12, 21, "ABA?>A", LN_T_FLOAT),
    LOSS("NegativeLogLikelihoodLoss", 22, LN_OPEN, "ABA?>A", LN_T_FLOAT_BF),
    LOSS("SoftmaxCrossEntropyLoss", 12, 12, "ABA?>AA?", LN_T_FLOAT),
    LOSS("SoftmaxCrossEntropyLoss", 13, LN_OPEN, "ABA?>AA?", LN_T_FLOAT_BF),
};

LN_FAMILY_TABLE(loss, rows);
