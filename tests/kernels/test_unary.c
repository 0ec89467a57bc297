/*
 * The unary functions of vector.h against the C library in double: error bounds over samples of all floats, special
 * values, every length from 0 to 40 at every alignment, in place and not, and independence of where a range is cut.
 */
#include "check.h"

#include "../../simd/ref/vector_ref.h"

static const struct unary_case {
    enum ln_unary op;
    const char *name;
    float alpha, beta;
    double ulps;     /* largest error in units of the last place, or */
    double absolute; /* below this absolute error anything goes */
} unary_cases[] = {
    {LN_UNARY_ABS, "abs", 0, 0, 0, 0},
    {LN_UNARY_NEG, "neg", 0, 0, 0, 0},
    {LN_UNARY_SIGN, "sign", 0, 0, 0, 0},
    {LN_UNARY_FLOOR, "floor", 0, 0, 0, 0},
    {LN_UNARY_CEIL, "ceil", 0, 0, 0, 0},
    {LN_UNARY_ROUND, "round", 0, 0, 0, 0},
    {LN_UNARY_SQRT, "sqrt", 0, 0, 0.5, 0},
    {LN_UNARY_RSQRT, "rsqrt", 0, 0, 1.5, 0},
    {LN_UNARY_RECIPROCAL, "reciprocal", 0, 0, 0.5, 0},
    {LN_UNARY_SQUARE, "square", 0, 0, 0.5, 0},
    {LN_UNARY_EXP, "exp", 0, 0, 1.5, 0},
    {LN_UNARY_LOG, "log", 0, 0, 1.5, 0},
    {LN_UNARY_SIN, "sin", 0, 0, 2, 0},
    {LN_UNARY_COS, "cos", 0, 0, 2, 0},
    {LN_UNARY_POW, "pow 0", 0, 0, 0, 0},
    {LN_UNARY_POW, "pow 1", 1, 0, 0, 0},
    {LN_UNARY_POW, "pow 2", 2, 0, 0.5, 0},
    {LN_UNARY_POW, "pow 3", 3, 0, 1.5, 0},
    {LN_UNARY_POW, "pow 4", 4, 0, 2, 1e-44},
    {LN_UNARY_POW, "pow 0.5", 0.5f, 0, 0.5, 0},
    {LN_UNARY_POW, "pow -0.5", -0.5f, 0, 1.5, 0},
    {LN_UNARY_POW, "pow -1", -1, 0, 0.5, 0},
    {LN_UNARY_POW, "pow 1.7", 1.7f, 0, 1.5, 0},
    {LN_UNARY_POW, "pow -2", -2, 0, 1.5, 0},
    {LN_UNARY_POW, "pow 5", 5, 0, 1.5, 0},
    {LN_UNARY_TANH, "tanh", 0, 0, 5, 0},
    {LN_UNARY_ERF, "erf", 0, 0, 7, 0},
    {LN_UNARY_SIGMOID, "sigmoid", 0, 0, 3, 4.2e-39},
    {LN_UNARY_SOFTPLUS, "softplus", 0, 0, 3, 1.2e-38},
    {LN_UNARY_GELU, "gelu", 0, 0, 6, 1e-6},
    {LN_UNARY_GELU_TANH, "gelu_tanh", 0, 0, 8, 2e-8},
    {LN_UNARY_GELU_QUICK, "gelu_quick", 1.702f, 0, 8, 2e-8},
    {LN_UNARY_SILU, "silu", 0, 0, 4, 4e-37},
    {LN_UNARY_MISH, "mish", 0, 0, 6, 2e-36},
    {LN_UNARY_ELU, "elu", 1, 0, 3, 0},
    {LN_UNARY_ELU, "elu 0.3", 0.3f, 0, 3, 1e-44},
    {LN_UNARY_SELU, "selu", 1.67326319f, 1.05070102f, 4, 1e-44},
    {LN_UNARY_CELU, "celu", 2, 0, 3, 1e-44},
    {LN_UNARY_HARDSWISH, "hardswish", 0, 0, 2, 6e-7},
    {LN_UNARY_HARDSWISH_SCALED, "hardswish_scaled", 0.5f, -0.25f, 3, 6e-7},
    {LN_UNARY_HARDSIGMOID, "hardsigmoid", 0.2f, 0.5f, 2, 1e-7},
    {LN_UNARY_LEAKY_RELU, "leaky_relu", 0.01f, 0, 0.5, 0},
    {LN_UNARY_RELU, "relu", 0, 0, 0, 0},
    {LN_UNARY_THRESHOLDED_RELU, "thresholded_relu", 1, 0, 0, 0},
    {LN_UNARY_CLIP, "clip", -1, 6, 0, 0},
    {LN_UNARY_SOFTSIGN, "softsign", 0, 0, 1.5, 0},
    {LN_UNARY_SCALE_SHIFT, "scale_shift", 1.5f, 0.25f, 1, 1e-7},
};

enum { BATCH = 4096 };

/* The error of `got` in units of the last place of the float nearest to `expected`. */
static double ulp_error(float got, double expected) {
    const float nearest = (float)expected;
    if (isnan(expected) || isnan(got)) {
        return isnan(expected) && isnan(got) ? 0.0 : INFINITY;
    }
    if (isinf(nearest) || isinf(got)) {
        /* One step beyond the largest float counts as one ulp. */
        return nearest == got                                                ? 0.0
               : fabs(expected) > 3.4028233e38 && fabsf(got) > 3.4028233e38f ? 1.0
                                                                             : INFINITY;
    }
    int exponent;
    (void)frexpf(nearest, &exponent);
    const int last = exponent - 24 < -149 ? -149 : exponent - 24;
    return fabs((double)got - expected) / ldexp(1.0, last);
}

/* Returns the largest error over the batch that the absolute bound does not excuse. */
static double worst_of_batch(const struct unary_case *c, const float *x, size_t n, float *where) {
    static float y[BATCH];
    ln_unary_f32[c->op](y, x, n, c->alpha, c->beta);
    double worst = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double expected = ln_ref_unary(c->op, x[i], c->alpha, c->beta);
        const double error = fabs((double)y[i] - expected) <= c->absolute ? 0.0 : ulp_error(y[i], expected);
        if (error > worst) {
            worst = error;
            *where = x[i];
        }
    }
    return worst;
}

/* Bit patterns at a stride that is prime, so that all exponents and low bits occur. */
static void test_accuracy(const struct unary_case *c, uint32_t stride, int verbose) {
    static float x[BATCH];
    double worst = 0.0;
    float where = 0.0f, worst_where = 0.0f;
    uint64_t bits = 0;
    while (bits < (UINT64_C(1) << 32)) {
        size_t n = 0;
        for (; n < BATCH && bits < (UINT64_C(1) << 32); n++, bits += stride) {
            const uint32_t pattern = (uint32_t)bits;
            memcpy(&x[n], &pattern, sizeof pattern);
        }
        const double error = worst_of_batch(c, x, n, &where);
        if (error > worst) {
            worst = error;
            worst_where = where;
        }
    }
    CHECK(worst <= c->ulps, "%s: %.3f ulp at %.9g", c->name, worst, (double)worst_where);
    if (verbose) {
        printf("%-18s %.3f ulp at %.9g\n", c->name, worst, (double)worst_where);
    }
}

static void test_special_values(const struct unary_case *c) {
    const float x[] = {
        0.0f,      -0.0f,      1.0f,      -1.0f,          INFINITY,        -INFINITY, NAN,        -NAN,
        0x1p-149f, -0x1p-149f, 0x1p-126f, 3.40282347e38f, -3.40282347e38f, 88.72f,    88.73f,     -103.9f,
        -104.1f,   0.5f,       1.5f,      2.5f,           -2.5f,           1e10f,     8388609.0f, 6.0f,
        -3.0f,     3.0f};
    float y[sizeof x / sizeof x[0]];
    const size_t n = sizeof x / sizeof x[0];
    ln_unary_f32[c->op](y, x, n, c->alpha, c->beta);
    for (size_t i = 0; i < n; i++) {
        double expected = ln_ref_unary(c->op, x[i], c->alpha, c->beta);
        const int good = fabs((double)y[i] - expected) <= c->absolute || ulp_error(y[i], expected) <= c->ulps;
        CHECK(good, "%s(%g) = %.9g, not %.9g", c->name, (double)x[i], (double)y[i], expected);
        if (expected == 0.0 && y[i] == 0.0f && c->absolute == 0.0 && c->op != LN_UNARY_RELU) {
            CHECK(!signbit(expected) == !signbit(y[i]), "%s(%g): sign of zero", c->name, (double)x[i]);
        }
    }
}

/* A long range, cut anywhere, in place or not, at any alignment, gives the same bits, and nothing else is touched. */
static void test_ranges(const struct unary_case *c) {
    enum { LENGTH = 40 };
    float x[LENGTH + 4], whole[LENGTH + 4];
    for (size_t i = 0; i < LENGTH + 4; i++) {
        x[i] = 4.0f * check_random_float();
    }
    ln_unary_f32[c->op](whole, x, LENGTH + 4, c->alpha, c->beta);
    for (size_t n = 0; n <= LENGTH; n++) {
        for (size_t offset = 0; offset < 4; offset++) {
            float *exact = check_alloc(n * sizeof(float));
            memcpy(exact, x + offset, n * sizeof(float));
            check_guarded out = check_guard(n);
            ln_unary_f32[c->op](out.floats, exact, n, c->alpha, c->beta);
            CHECK(memcmp(out.floats, whole + offset, n * sizeof(float)) == 0, "%s: n %zu offset %zu", c->name,
                  n, offset);
            CHECK(check_guards_hold(&out), "%s: n %zu writes outside", c->name, n);
            ln_unary_f32[c->op](exact, exact, n, c->alpha, c->beta);
            CHECK(memcmp(exact, whole + offset, n * sizeof(float)) == 0, "%s: n %zu in place", c->name, n);
            free(out.memory);
            free(exact);
        }
    }
}

int main(int argc, char **argv) {
    const uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 131071u;
    for (size_t i = 0; i < sizeof unary_cases / sizeof unary_cases[0]; i++) {
        test_accuracy(&unary_cases[i], stride, argc > 1);
        test_special_values(&unary_cases[i]);
        test_ranges(&unary_cases[i]);
    }
    return check_report();
}
