/* Scores and labels. See ops/ml_scores.h. */
#include "ops/ml_scores.h"

#include <math.h>

ln_transform ln_transform_attr(ln_build *build) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", NULL};
    return (ln_transform)ln_attr_choice(build, "post_transform", names, 0);
}

/* The inverse of the normal distribution's cumulative function, by Winitzki's approximation of the inverse error function. */
static double probit(double p) {
    const double x = 2 * p - 1;
    const double l = log((1 - x) * (1 + x));
    const double v = 2 / (3.14159265358979323846 * 0.147) + 0.5 * l;
    const double root = sqrt(-v + sqrt(v * v - l / 0.147));
    return 1.41421356237309504880 * (x < 0 ? -root : root);
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static void softmax(double *scores, int64_t n, bool keep_zero) {
    double max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        max = scores[i] > max ? scores[i] : max;
    }
    for (int64_t i = 0; i < n; i++) {
        const bool zero = keep_zero && fabs(scores[i]) <= 1e-7;
        scores[i] = zero ? 0 : exp(scores[i] - max);
        sum += scores[i];
    }
    for (int64_t i = 0; i < n && sum != 0; i++) {
        scores[i] /= sum;
    }
}

void ln_transform_scores(ln_transform transform, double *scores, int64_t n) {
    if (transform == LN_TRANSFORM_PROBIT) {
        for (int64_t i = 0; i < n; i++) {
            scores[i] = probit(scores[i]);
        }
    } else if (n >= 2 && transform == LN_TRANSFORM_LOGISTIC) {
        for (int64_t i = 0; i < n; i++) {
            scores[i] = logistic(scores[i]);
        }
    } else if (n >= 2 && transform != LN_TRANSFORM_NONE) {
        softmax(scores, n, transform == LN_TRANSFORM_SOFTMAX_ZERO);
    }
}

void ln_transform_binary(ln_transform transform, double score, bool probability, double *scores) {
    if (transform == LN_TRANSFORM_LOGISTIC) {
        scores[0] = logistic(-score);
        scores[1] = logistic(score);
        return;
    }
    scores[0] = probability ? 1 - score : -score;
    scores[1] = score;
    if (transform == LN_TRANSFORM_PROBIT) {
        ln_transform_scores(transform, scores, 2);
    }
}

ln_status ln_labels_attr(ln_build *build, const char *strings, const char *ints, ln_labels *labels) {
    int n_strings = 0;
    int n_ints = 0;
    labels->strings = ln_attr_strings(build, strings, &n_strings);
    labels->ints = ln_attr_ints(build, ints, &n_ints);
    LN_TRY(ln_build_status(build));
    if (n_strings == 0 && n_ints == 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "one of %s and %s is required", strings, ints);
    }
    labels->strings = n_strings > 0 ? labels->strings : NULL;
    labels->count = n_strings > 0 ? n_strings : n_ints;
    build->node->output_dtype = n_strings > 0 ? LN_STRING : LN_INT64;
    return LN_OK;
}

void ln_labels_store(const ln_labels *labels, ln_value *y, int64_t at, int index) {
    static const ln_string answers[] = {{"0", 1}, {"1", 1}};
    const bool named = labels->count >= 2;
    if (labels->strings != NULL) {
        ((ln_string *)y->data)[at] = named ? labels->strings[index] : answers[index != 0];
    } else {
        ((int64_t *)y->data)[at] = named ? labels->ints[index] : index != 0;
    }
}

ln_status ln_table_shape(ln_op *op, int64_t *rows, int64_t *columns) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, shape->rank == 1 || shape->rank == 2, INVALID_SHAPE,
                "the input must have rank 1 or 2, it has rank %d", (int)shape->rank);
    *rows = shape->rank == 1 ? 1 : shape->dims[0];
    *columns = shape->dims[shape->rank - 1];
    return LN_OK;
}
