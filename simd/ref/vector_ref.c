/*
 * Scalar twins: elementwise functions, reductions, softmax and normalisation.
 */
#include "vector_ref.h"

#include <math.h>

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double max_nan(double x, double y) {
    return isnan(x) || x > y ? x : y;
}

static double min_nan(double x, double y) {
    return isnan(x) || x < y ? x : y;
}

static double elu(double x, double alpha) {
    return x < 0.0 ? alpha * expm1(x) : x;
}

static double softplus(double x) {
    return max_nan(x, 0.0) + log1p(exp(-fabs(x)));
}

static double exact(enum ln_unary op, double x) {
    switch (op) {
    case LN_UNARY_ABS:
        return fabs(x);
    case LN_UNARY_NEG:
        return -x;
    case LN_UNARY_SIGN:
        return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
    case LN_UNARY_FLOOR:
        return floor(x);
    case LN_UNARY_CEIL:
        return ceil(x);
    case LN_UNARY_ROUND:
        return nearbyint(x);
    case LN_UNARY_SQRT:
        return sqrt(x);
    case LN_UNARY_RSQRT:
        return 1.0 / sqrt(x);
    case LN_UNARY_RECIPROCAL:
        return 1.0 / x;
    case LN_UNARY_SQUARE:
        return x * x;
    case LN_UNARY_RELU:
        return max_nan(x, 0.0);
    case LN_UNARY_SOFTSIGN:
        return x / (1.0 + fabs(x));
    default:
        return NAN;
    }
}

static double transcendental(enum ln_unary op, double x, double alpha) {
    switch (op) {
    case LN_UNARY_EXP:
        return exp(x);
    case LN_UNARY_LOG:
        return log(x);
    case LN_UNARY_SIN:
        return sin(x);
    case LN_UNARY_COS:
        return cos(x);
    case LN_UNARY_POW:
        return pow(x, alpha);
    case LN_UNARY_TANH:
        return tanh(x);
    case LN_UNARY_ERF:
        return erf(x);
    case LN_UNARY_SIGMOID:
        return sigmoid(x);
    case LN_UNARY_SOFTPLUS:
        return softplus(x);
    case LN_UNARY_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case LN_UNARY_GELU_TANH:
        return x * sigmoid(1.59576912160573071176 * (x + 0.044715 * x * x * x));
    case LN_UNARY_GELU_QUICK:
        return x * sigmoid(alpha * x);
    case LN_UNARY_SILU:
        return x * sigmoid(x);
    case LN_UNARY_MISH:
        return x * tanh(softplus(x));
    default:
        return exact(op, x);
    }
}

double ln_ref_unary(enum ln_unary op, double x, double alpha, double beta) {
    switch (op) {
    case LN_UNARY_ELU:
        return elu(x, alpha);
    case LN_UNARY_SELU:
        return beta * elu(x, alpha);
    case LN_UNARY_CELU:
        return max_nan(x, 0.0) + min_nan(alpha * expm1(x / alpha), 0.0);
    case LN_UNARY_HARDSWISH:
        return x * min_nan(max_nan(x / 6.0 + 0.5, 0.0), 1.0);
    case LN_UNARY_HARDSWISH_SCALED:
        return alpha * x * min_nan(max_nan(x / 6.0 + 0.5, 0.0), 1.0) + beta;
    case LN_UNARY_HARDSIGMOID:
        return min_nan(max_nan(alpha * x + beta, 0.0), 1.0);
    case LN_UNARY_LEAKY_RELU:
        return x < 0.0 ? alpha * x : x;
    case LN_UNARY_THRESHOLDED_RELU:
        return isnan(x) || x > alpha ? x : 0.0;
    case LN_UNARY_CLIP:
        return min_nan(max_nan(x, alpha), beta);
    case LN_UNARY_SCALE_SHIFT:
        return alpha * x + beta;
    default:
        return transcendental(op, x, alpha);
    }
}

double ln_ref_binary(enum ln_binary op, double x, double y) {
    switch (op) {
    case LN_BINARY_ADD:
        return x + y;
    case LN_BINARY_SUB:
        return x - y;
    case LN_BINARY_MUL:
        return x * y;
    case LN_BINARY_DIV:
        return x / y;
    case LN_BINARY_MAX:
        return max_nan(x, y);
    case LN_BINARY_MIN:
        return min_nan(x, y);
    case LN_BINARY_POW:
        return pow(x, y);
    case LN_BINARY_PRELU:
        return x < 0.0 ? x * y : x;
    case LN_BINARY_ADD_RELU:
        return max_nan(x + y, 0.0);
    case LN_BINARY_MUL_RELU:
        return max_nan(x * y, 0.0);
    default:
        return NAN;
    }
}

int ln_ref_compare(enum ln_compare op, double x, double y) {
    const int results[LN_COMPARE_COUNT] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return results[op];
}

/* The element's share of a sum. */
static double share(enum ln_reduce op, double x) {
    switch (op) {
    case LN_REDUCE_SUMSQ:
    case LN_REDUCE_L2:
        return x * x;
    case LN_REDUCE_L1:
        return fabs(x);
    default:
        return x;
    }
}

static double reduce_log_sum_exp(const float *src, size_t n, size_t stride) {
    const double largest = ln_ref_reduce(LN_REDUCE_MAX, src, n, stride);
    if (isinf(largest) || isnan(largest)) {
        return largest;
    }
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += exp(src[i * stride] - largest);
    }
    return largest + log(sum);
}

double ln_ref_reduce(enum ln_reduce op, const float *src, size_t n, size_t stride) {
    double sum = 0.0, product = 1.0, low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double x = src[i * stride];
        sum += share(op, x);
        product *= x;
        low = min_nan(low, x);
        high = max_nan(high, x);
    }
    switch (op) {
    case LN_REDUCE_MEAN:
        return sum / (double)n;
    case LN_REDUCE_MAX:
        return high;
    case LN_REDUCE_MIN:
        return low;
    case LN_REDUCE_PROD:
        return product;
    case LN_REDUCE_L2:
        return sqrt(sum);
    case LN_REDUCE_LOGSUM:
        return log(sum);
    case LN_REDUCE_LOGSUMEXP:
        return reduce_log_sum_exp(src, n, stride);
    default:
        return sum;
    }
}

int64_t ln_ref_arg(const float *src, size_t n, size_t stride, enum ln_arg which, int last) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        const float x = src[i * stride], y = src[best * stride];
        const int better = which == LN_ARG_MAX ? x > y : x < y;
        const int equal = x == y || (isnan(x) && isnan(y));
        const int wins = isnan(y) ? 0 : isnan(x) || better;
        if (wins || (last && equal)) {
            best = i;
        }
    }
    return (int64_t)best;
}

void ln_ref_softmax(double *dst, const float *src, size_t n, size_t stride, double scale, const float *mask,
                    int log_form) {
    double largest = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        dst[i * stride] = src[i * stride] * scale + (mask ? mask[i] : 0.0);
        largest = max_nan(largest, dst[i * stride]);
    }
    for (size_t i = 0; i < n; i++) {
        sum += exp(dst[i * stride] - largest);
    }
    for (size_t i = 0; i < n; i++) {
        const double difference = dst[i * stride] - largest;
        dst[i * stride] = log_form ? difference - log(sum) : exp(difference) / sum;
    }
}

void ln_ref_norm(double *dst, const float *src, size_t n, const float *gamma, const float *beta,
                 double epsilon, int rms) {
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < n && !rms; i++) {
        mean += src[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        variance += (src[i] - mean) * (src[i] - mean) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        dst[i] =
            (src[i] - mean) / sqrt(variance + epsilon) * (gamma ? gamma[i] : 1.0) + (beta ? beta[i] : 0.0);
    }
}
