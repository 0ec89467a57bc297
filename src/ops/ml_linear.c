/* ai.onnx.ml, linear models and support vector machines: LinearClassifier, LinearRegressor, SVMClassifier, SVMRegressor.
 *
 * All start from K(x, v) for the rows v of a matrix, where K is the dot product or another kernel. The vote among pairs of
 * classes and the coupling of their probabilities follow LIBSVM (Wu, Lin, Weng: Probability Estimates for Multi-class
 * Classification by Pairwise Coupling). Sums are in double.
 */
#include <math.h>

#include "ops/ml_scores.h"

typedef enum kernel_kind { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID } kernel_kind;

typedef struct linear_params {
    ln_transform transform;
    ln_labels labels;
    bool classifier, svm, vectors, one_class;
    kernel_kind kernel;
    double gamma, coef0, degree;
    const float *coefficients, *rho, *prob_a, *prob_b, *support;
    const int64_t *vectors_per_class;
    int n_coefficients, n_rho, n_prob_a, n_prob_b, n_support, n_per_class;
    int64_t targets; /* scores that a linear model gives, classes of an SVM */
    int64_t n_vectors;
} linear_params;

/* Build ------------------------------------------------------------------------------------------------------------ */

static ln_status build_linear(ln_build *build, bool classifier) {
    linear_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->classifier = classifier;
    params->transform = ln_transform_attr(build);
    params->coefficients = ln_attr_floats(build, "coefficients", &params->n_coefficients);
    params->rho = ln_attr_floats(build, "intercepts", &params->n_rho);
    if (classifier) {
        LN_TRY(ln_labels_attr(build, "classlabels_strings", "classlabels_ints", &params->labels));
        params->targets = params->n_rho > 0 ? params->n_rho : params->labels.count;
    } else {
        params->targets = ln_attr_int(build, "targets", 1);
    }
    LN_TRY(ln_build_status(build));
    const int64_t targets = params->targets;
    if (targets < 1 || params->n_coefficients == 0 || params->n_coefficients % targets != 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "%d coefficients do not make rows for %lld targets",
                             params->n_coefficients, (long long)targets);
    }
    if ((params->n_rho != 0 && params->n_rho != targets) ||
        (classifier && targets > 1 && params->labels.count < targets)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "%d intercepts and %d labels do not fit %lld targets", params->n_rho,
                             params->labels.count, (long long)targets);
    }
    return LN_OK;
}
static ln_status build_linear_classifier(ln_build *build) {
    return build_linear(build, true);
}
static ln_status build_linear_regressor(ln_build *build) {
    return build_linear(build, false);
}

static void read_kernel(ln_build *build, linear_params *params) {
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID", NULL};
    int count = 0;
    const float *numbers = ln_attr_floats(build, "kernel_params", &count);
    params->kernel = (kernel_kind)ln_attr_choice(build, "kernel_type", kernels, 0);
    params->gamma = count > 0 ? (double)numbers[0] : 0;
    params->coef0 = count > 1 ? (double)numbers[1] : 0;
    params->degree = count > 2 ? (double)numbers[2] : 0;
}

/* Numbers of coefficients and the like that a machine with support vectors needs. */
static ln_status check_vectors(ln_build *build, const linear_params *params) {
    const int64_t classes = params->targets;
    const int64_t pairs = classes * (classes - 1) / 2;
    const int64_t rows = params->classifier ? classes - 1 : 1;
    const bool fits = params->n_vectors > 0 && params->n_support % params->n_vectors == 0 &&
                      params->n_support > 0 && params->n_coefficients >= rows * params->n_vectors &&
                      params->n_rho >= (params->classifier ? pairs : 1) &&
                      (params->n_prob_a == 0 || params->n_prob_a >= pairs) &&
                      params->n_prob_a == params->n_prob_b &&
                      (!params->classifier || params->n_per_class == classes);
    return fits ? LN_OK
                : ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                "%lld support vectors of %lld classes do not fit %d numbers, %d "
                                "coefficients, %d rho and %d "
                                "probabilities",
                                (long long)params->n_vectors, (long long)classes, params->n_support,
                                params->n_coefficients, params->n_rho, params->n_prob_a);
}

static ln_status build_svm(ln_build *build, bool classifier) {
    linear_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->svm = true;
    params->classifier = classifier;
    params->transform = ln_transform_attr(build);
    read_kernel(build, params);
    params->coefficients = ln_attr_floats(build, "coefficients", &params->n_coefficients);
    params->rho = ln_attr_floats(build, "rho", &params->n_rho);
    params->support = ln_attr_floats(build, "support_vectors", &params->n_support);
    params->prob_a = ln_attr_floats(build, "prob_a", &params->n_prob_a);
    params->prob_b = ln_attr_floats(build, "prob_b", &params->n_prob_b);
    params->vectors_per_class = ln_attr_ints(build, "vectors_per_class", &params->n_per_class);
    params->one_class = !classifier && ln_attr_bool(build, "one_class", false);
    params->targets = 1;
    if (classifier) {
        LN_TRY(ln_labels_attr(build, "classlabels_strings", "classlabels_ints", &params->labels));
        params->targets = params->labels.count;
        for (int i = 0; i < params->n_per_class; i++) {
            const int64_t count = params->vectors_per_class[i];
            if (count < 0 || count > INT32_MAX) {
                return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "vectors_per_class has the entry %lld",
                                     (long long)count);
            }
            params->n_vectors += count;
        }
    } else {
        params->n_vectors = ln_attr_int(build, "n_supports", 0);
    }
    LN_TRY(ln_build_status(build));
    params->vectors = params->n_vectors > 0;
    if (params->vectors) {
        return check_vectors(build, params);
    }
    if (params->n_coefficients == 0 || params->n_coefficients % params->targets != 0 || params->n_rho < 1) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "%d coefficients and %d rho do not make %lld linear machines",
                             params->n_coefficients, params->n_rho, (long long)params->targets);
    }
    params->kernel = classifier ? KERNEL_LINEAR : params->kernel;
    return LN_OK;
}
static ln_status build_svm_classifier(ln_build *build) {
    return build_svm(build, true);
}
static ln_status build_svm_regressor(ln_build *build) {
    return build_svm(build, false);
}

/* Infer ------------------------------------------------------------------------------------------------------------- */

/* Scores that a row of output Z (or Y of a regressor) has. */
static int64_t score_count(const linear_params *params) {
    const int64_t classes = params->targets;
    if (!params->classifier) {
        return classes;
    }
    if (!params->svm) {
        return classes == 1 && params->labels.count == 2 ? 2 : classes;
    }
    const bool pairs = params->vectors && params->n_prob_a == 0 && classes > 2;
    return pairs ? classes * (classes - 1) / 2 : classes == 1 && params->vectors ? 2 : classes;
}

static ln_status infer_linear(ln_op *op) {
    const linear_params *params = op->params;
    int64_t rows, columns;
    LN_TRY(ln_table_shape(op, &rows, &columns));
    const int64_t features =
        params->vectors ? params->n_support / params->n_vectors : params->n_coefficients / params->targets;
    LN_OP_CHECK(op, columns == features, INVALID_SHAPE, "the input has %lld features, the model %lld",
                (long long)columns, (long long)features);
    const int64_t classes = params->targets;
    LN_OP_CHECK(op, classes < 4096, LIMIT_EXCEEDED, "%lld classes are too many", (long long)classes);
    op->scratch_bytes =
        (size_t)(params->n_vectors + 4 * classes * classes + 8 * classes + 8) * sizeof(double);
    const int64_t dims[] = {rows, score_count(params)};
    const ln_shape scores = ln_shape_of(2, dims);
    const ln_shape labels = ln_shape_of(1, dims);
    if (!params->classifier) {
        return ln_op_shape(op, 0, LN_FLOAT, &scores);
    }
    LN_TRY(ln_op_shape(op, 0, params->labels.strings != NULL ? LN_STRING : LN_INT64, &labels));
    return ln_op_shape(op, 1, LN_FLOAT, &scores);
}

/* Linear models ------------------------------------------------------------------------------------------------------- */

static double kernel(const linear_params *params, const ln_value *x, int64_t row, int64_t n, const float *v) {
    double sum = 0;
    for (int64_t at = 0; at < n; at += LN_TILE) {
        float tile[LN_TILE];
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        ln_load_f32(x->dtype, x->data, row * n + at, count, tile);
        for (int64_t i = 0; i < count; i++) {
            const double a = (double)tile[i];
            const double b = (double)v[at + i];
            sum += params->kernel == KERNEL_RBF ? (a - b) * (a - b) : a * b;
        }
    }
    switch (params->kernel) {
    case KERNEL_POLY:
        return pow(params->gamma * sum + params->coef0, params->degree);
    case KERNEL_RBF:
        return exp(-params->gamma * sum);
    case KERNEL_SIGMOID:
        return tanh(params->gamma * sum + params->coef0);
    default:
        return sum;
    }
}

static int best_of(const double *scores, int64_t n) {
    int best = 0;
    for (int64_t i = 1; i < n; i++) {
        best = scores[i] > scores[best] ? (int)i : best;
    }
    return best;
}

static ln_status run_linear(ln_op *op) {
    const linear_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_value *labels = params->classifier ? ln_out(op, 0) : NULL;
    ln_value *out = ln_out(op, params->classifier ? 1 : 0);
    const int64_t n = params->n_coefficients / params->targets;
    const int64_t rows = n > 0 ? ln_value_count(x) / n : 0;
    double *scores = op->scratch;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t t = 0; t < params->targets; t++) {
            scores[t] = kernel(params, x, row, n, params->coefficients + t * n) +
                        (params->n_rho > 0 ? (double)params->rho[t] : 0);
        }
        const int label = params->targets == 1 ? scores[0] > 0 : best_of(scores, params->targets);
        if (labels != NULL) {
            ln_labels_store(&params->labels, labels, row, label);
        }
        if (params->classifier && params->targets == 1 && params->labels.count == 2) {
            ln_transform_binary(params->transform, scores[0], true, scores);
        } else {
            ln_transform_scores(params->transform, scores, params->targets);
        }
        if (out != NULL) {
            ln_store_f64(LN_FLOAT, out->data, row * score_count(params), score_count(params), scores);
        }
    }
    return LN_OK;
}

/* Support vector machines ------------------------------------------------------------------------------------------------ */

/* The probabilities of the classes from those of the pairs: pairs[i * n + j] is that of i against j. */
static void couple_probabilities(int64_t n, const double *pairs, double *p, double *q, double *qp) {
    for (int64_t t = 0; t < n; t++) {
        p[t] = 1.0 / (double)n;
        q[t * n + t] = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j != t) {
                q[t * n + t] += pairs[j * n + t] * pairs[j * n + t];
                q[t * n + j] = -pairs[j * n + t] * pairs[t * n + j];
            }
        }
    }
    const double enough = 0.005 / (double)n;
    for (int round = 0; round < 100; round++) {
        double total = 0;
        double worst = 0;
        for (int64_t t = 0; t < n; t++) {
            qp[t] = 0;
            for (int64_t j = 0; j < n; j++) {
                qp[t] += q[t * n + j] * p[j];
            }
            total += p[t] * qp[t];
        }
        for (int64_t t = 0; t < n; t++) {
            worst = fabs(qp[t] - total) > worst ? fabs(qp[t] - total) : worst;
        }
        if (worst < enough) {
            return;
        }
        for (int64_t t = 0; t < n; t++) {
            const double diff = (total - qp[t]) / q[t * n + t];
            p[t] += diff;
            total = (total + diff * (diff * q[t * n + t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + diff * q[t * n + j]) / (1 + diff);
                p[j] /= 1 + diff;
            }
        }
    }
}

/* Scores of all pairs of classes, and their votes. */
static void score_pairs(const linear_params *params, const double *kernels, double *scores, double *votes) {
    const int64_t classes = params->targets;
    int64_t pair = 0;
    int64_t start_i = 0;
    for (int64_t i = 0; i < classes; i++) {
        votes[i] = 0;
    }
    for (int64_t i = 0; i < classes - 1; i++) {
        int64_t start_j = start_i + params->vectors_per_class[i];
        for (int64_t j = i + 1; j < classes; j++) {
            double sum = (double)params->rho[pair];
            for (int64_t m = start_i; m < start_i + params->vectors_per_class[i]; m++) {
                sum += (double)params->coefficients[(j - 1) * params->n_vectors + m] * kernels[m];
            }
            for (int64_t m = start_j; m < start_j + params->vectors_per_class[j]; m++) {
                sum += (double)params->coefficients[i * params->n_vectors + m] * kernels[m];
            }
            scores[pair++] = sum;
            votes[sum > 0 ? i : j] += 1;
            start_j += params->vectors_per_class[j];
        }
        start_i += params->vectors_per_class[i];
    }
}

/* Fills in the matrix of pairwise probabilities, within [1e-7, 1 - 1e-7]. */
static void pair_probabilities(const linear_params *params, const double *scores, double *pairs) {
    const int64_t n = params->targets;
    int64_t pair = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++, pair++) {
            const double value = scores[pair] * (double)params->prob_a[pair] + (double)params->prob_b[pair];
            const double p = 1 - 1 / (1 + exp(-value));
            const double kept = p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
            pairs[i * n + j] = kept;
            pairs[j * n + i] = 1 - kept;
        }
    }
}

static void svm_row(ln_op *op, int64_t row, double *memory) {
    const linear_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_value *labels = ln_out(op, 0);
    ln_value *out = ln_out(op, 1);
    const int64_t classes = params->targets;
    const int64_t n = params->n_support / params->n_vectors;
    double *kernels = memory;
    double *scores = kernels + params->n_vectors;
    double *votes = scores + classes * classes;
    double *pairs = votes + classes + 2;
    double *q = pairs + classes * classes;
    double *qp = q + classes * classes;
    int64_t count = classes * (classes - 1) / 2;
    for (int64_t v = 0; v < params->n_vectors; v++) {
        kernels[v] = kernel(params, x, row, n, params->support + v * n);
    }
    score_pairs(params, kernels, scores, votes);
    const int label = best_of(votes, classes);
    if (params->n_prob_a > 0) {
        pair_probabilities(params, scores, pairs);
        couple_probabilities(classes, pairs, scores, q, qp);
        ln_transform_scores(params->transform, scores, classes);
        count = classes;
    } else if (classes <= 2) {
        ln_transform_binary(params->transform, scores[0], params->transform != LN_TRANSFORM_NONE, scores);
        count = 2;
    } else {
        ln_transform_scores(params->transform, scores, count);
    }
    if (labels != NULL) {
        ln_labels_store(&params->labels, labels, row, label);
    }
    if (out != NULL) {
        ln_store_f64(LN_FLOAT, out->data, row * score_count(params), count, scores);
    }
}

/* A classifier without support vectors: one linear machine for each class. */
static void svm_linear_row(ln_op *op, int64_t row, double *scores) {
    const linear_params *params = op->params;
    const int64_t n = params->n_coefficients / params->targets;
    for (int64_t t = 0; t < params->targets; t++) {
        scores[t] =
            kernel(params, ln_in(op, 0), row, n, params->coefficients + t * n) + (double)params->rho[0];
    }
    if (ln_out(op, 0) != NULL) {
        ln_labels_store(&params->labels, ln_out(op, 0), row, best_of(scores, params->targets));
    }
    ln_transform_scores(params->transform, scores, params->targets);
    if (ln_out(op, 1) != NULL) {
        ln_store_f64(LN_FLOAT, ln_out(op, 1)->data, row * params->targets, params->targets, scores);
    }
}

static int64_t row_count(const ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    return shape->rank == 1 ? 1 : shape->dims[0];
}

static ln_status run_svm_classifier(ln_op *op) {
    const linear_params *params = op->params;
    for (int64_t row = 0; row < row_count(op); row++) {
        (params->vectors ? svm_row : svm_linear_row)(op, row, op->scratch);
    }
    return LN_OK;
}

static ln_status run_svm_regressor(ln_op *op) {
    const linear_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    float *y = ln_out(op, 0)->data;
    for (int64_t row = 0; row < row_count(op); row++) {
        double sum = (double)params->rho[0];
        const int64_t n = params->vectors ? params->n_support / params->n_vectors : params->n_coefficients;
        for (int64_t v = 0; v < params->n_vectors && params->vectors; v++) {
            sum += (double)params->coefficients[v] * kernel(params, x, row, n, params->support + v * n);
        }
        sum += params->vectors ? 0 : kernel(params, x, row, n, params->coefficients);
        y[row] = params->one_class ? (sum > 0 ? 1.0f : -1.0f) : (float)sum;
    }
    return LN_OK;
}

/* Rows ------------------------------------------------------------------------------------------------------------------- */

#define T_NUMBERS (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT32) | LN_BIT(LN_INT64))
#define T_LABELS  (LN_BIT(LN_STRING) | LN_BIT(LN_INT64))
#define ML(name, signature, build, run)                                                                      \
    {name,  "ai.onnx.ml", 1,   LN_OPEN, signature, {T_NUMBERS, T_LABELS},                                    \
     build, infer_linear, run, NULL,    0,         NULL}

static const ln_op_row rows[] = {
    ML("LinearClassifier", "A>Bf", build_linear_classifier, run_linear),
    ML("LinearRegressor", "A>f", build_linear_regressor, run_linear),
    ML("SVMClassifier", "A>Bf", build_svm_classifier, run_svm_classifier),
    ML("SVMRegressor", "A>f", build_svm_regressor, run_svm_regressor),
};

LN_FAMILY_TABLE(ml_linear, rows);
