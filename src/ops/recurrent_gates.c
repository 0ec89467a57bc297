/* The functions that gates of recurrent nets apply: their table, their attributes, and how they are computed.
 *
 * float32 takes the kernels of simd/, double plain C. Standard: the list that RNN, GRU and LSTM share.
 */
#include <math.h>
#include <string.h>

#include "ops/recurrent.h"
#include "simd/kernels.h"
#include "simd/vector.h"

typedef enum gate_kind {
    GATE_RELU,
    GATE_TANH,
    GATE_SIGMOID,
    GATE_AFFINE,
    GATE_LEAKY_RELU,
    GATE_THRESHOLDED_RELU,
    GATE_SCALED_TANH,
    GATE_HARD_SIGMOID,
    GATE_ELU,
    GATE_SOFTSIGN,
    GATE_SOFTPLUS,
    GATE_COUNT
} gate_kind;

/* Names, default parameters, and the float32 kernel that computes them (alpha and beta passed on). */
static const struct gate_row {
    const char *name;
    float alpha, beta;
    enum ln_unary kernel;
} gate_rows[GATE_COUNT] = {
    [GATE_RELU] = {"relu", 0, 0, LN_UNARY_RELU},
    [GATE_TANH] = {"tanh", 0, 0, LN_UNARY_TANH},
    [GATE_SIGMOID] = {"sigmoid", 0, 0, LN_UNARY_SIGMOID},
    [GATE_AFFINE] = {"affine", 1, 0, LN_UNARY_SCALE_SHIFT},
    [GATE_LEAKY_RELU] = {"leakyrelu", 0.01F, 0, LN_UNARY_LEAKY_RELU},
    [GATE_THRESHOLDED_RELU] = {"thresholdedrelu", 1, 0, LN_UNARY_THRESHOLDED_RELU},
    [GATE_SCALED_TANH] = {"scaledtanh", 1, 1, LN_UNARY_TANH},
    [GATE_HARD_SIGMOID] = {"hardsigmoid", 0.2F, 0.5F, LN_UNARY_HARDSIGMOID},
    [GATE_ELU] = {"elu", 1, 0, LN_UNARY_ELU},
    [GATE_SOFTSIGN] = {"softsign", 0, 0, LN_UNARY_SOFTSIGN},
    [GATE_SOFTPLUS] = {"softplus", 0, 0, LN_UNARY_SOFTPLUS},
};

void ln_gate_apply_f32(ln_gate_function function, float clip, float *x, int64_t n) {
    if (clip > 0) {
        ln_unary_f32[LN_UNARY_CLIP](x, x, (size_t)n, -clip, clip);
    }
    if (function.kind == GATE_SCALED_TANH) {
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](x, x, (size_t)n, function.beta, 0);
        ln_unary_f32[LN_UNARY_TANH](x, x, (size_t)n, 0, 0);
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](x, x, (size_t)n, function.alpha, 0);
        return;
    }
    ln_unary_f32[gate_rows[function.kind].kernel](x, x, (size_t)n, function.alpha, function.beta);
}

static double gate_f64(ln_gate_function function, double x) {
    const double a = (double)function.alpha;
    const double b = (double)function.beta;
    switch ((gate_kind)function.kind) {
    case GATE_RELU:
        return x < 0 ? 0 : x;
    case GATE_TANH:
        return tanh(x);
    case GATE_SIGMOID:
        return 1 / (1 + exp(-x));
    case GATE_AFFINE:
        return a * x + b;
    case GATE_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case GATE_THRESHOLDED_RELU:
        return x > a ? x : 0;
    case GATE_SCALED_TANH:
        return a * tanh(b * x);
    case GATE_HARD_SIGMOID:
        return fmin(fmax(a * x + b, 0), 1);
    case GATE_ELU:
        return x < 0 ? a * expm1(x) : x;
    case GATE_SOFTSIGN:
        return x / (1 + fabs(x));
    case GATE_SOFTPLUS:
    case GATE_COUNT:
        break;
    }
    return log1p(exp(-fabs(x))) + fmax(x, 0);
}

void ln_gate_apply_f64(ln_gate_function function, float clip, double *x, int64_t n) {
    const double bound = (double)clip;
    for (int64_t i = 0; i < n; ++i) {
        const double clipped = clip > 0 ? fmin(fmax(x[i], -bound), bound) : x[i];
        x[i] = gate_f64(function, clipped);
    }
}

static bool same_name(ln_string given, const char *lower) {
    for (size_t i = 0; i < given.length; ++i) {
        const char c =
            given.data[i] >= 'A' && given.data[i] <= 'Z' ? (char)(given.data[i] + 32) : given.data[i];
        if (c != lower[i]) { /* also at the end of `lower` */
            return false;
        }
    }
    return lower[given.length] == 0;
}

static int find_gate(ln_build *build, ln_string name) {
    for (int kind = 0; kind < GATE_COUNT; ++kind) {
        if (same_name(name, gate_rows[kind].name)) {
            return kind;
        }
    }
    ln_build_fail(build, LN_INVALID_ATTRIBUTE, "activation '%.*s' is not known", (int)name.length, name.data);
    return GATE_TANH;
}

/* Whether a gate function reads activation_alpha and _beta. */
static bool takes_alpha(int kind) {
    return gate_rows[kind].alpha != 0;
}

static bool takes_beta(int kind) {
    return kind == GATE_AFFINE || kind == GATE_SCALED_TANH || kind == GATE_HARD_SIGMOID;
}

ln_status ln_gates_build(ln_build *build, ln_recurrent_params *params) {
    static const int counts[] = {1, 2, 3};
    static const gate_kind defaults[][3] = {
        {GATE_TANH}, {GATE_SIGMOID, GATE_TANH}, {GATE_SIGMOID, GATE_TANH, GATE_TANH}};
    const int count = counts[params->cell];
    int n_names = 0;
    int n_alpha = 0;
    int n_beta = 0;
    const ln_string *names = ln_attr_strings(build, "activations", &n_names);
    const float *alphas = ln_attr_floats(build, "activation_alpha", &n_alpha);
    const float *betas = ln_attr_floats(build, "activation_beta", &n_beta);
    if (n_names && n_names != count * params->directions) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "attribute 'activations' has %d entries, expected %d", n_names,
                             count * params->directions);
    }
    int alpha = 0;
    int beta = 0;
    for (int i = 0; i < count * params->directions; ++i) {
        const int kind = n_names ? find_gate(build, names[i]) : (int)defaults[params->cell][i % count];
        ln_gate_function *function = &params->functions[3 * (i / count) + i % count];
        *function = (ln_gate_function){kind, gate_rows[kind].alpha, gate_rows[kind].beta};
        if (takes_alpha(kind) && alpha < n_alpha) {
            function->alpha = alphas[alpha++];
        }
        if (takes_beta(kind) && beta < n_beta) {
            function->beta = betas[beta++];
        }
    }
    return ln_build_status(build);
}
