/* Elementwise operators of one input: mathematics, activations, predicates.
 *
 * A table of kinds says, for each operator, which vector kernel computes it in float32, which function in double, and
 * which in integers. Half types go through the float32 kernel in tiles; float32 itself where no vector kernel exists, and
 * integers without an integer form, go through the double form in tiles. The output may overwrite the input: a tile is read
 * before it is written.
 */
#include <math.h>
#include <string.h>

#include "ops/chain.h"
#include "ops/float_tile.h"
#include "simd/vector.h"

enum { UNARY_GRAIN = 16384, NO_KERNEL = -1 };

typedef double unary_f64(double x, double a, double b);
typedef int64_t unary_i64(int64_t x);

typedef struct unary_kind {
    const char *name;
    int kernel; /* row of ln_unary_f32, or NO_KERNEL */
    unary_f64 *f64;
    unary_i64 *i64;         /* signed integers and bool; NULL: in double */
    unary_i64 *u64;         /* unsigned integers, bits of a uint64 */
    const char *alpha_name; /* attributes, or NULL */
    float alpha;            /* defaults */
    const char *beta_name;
    float beta;
} unary_kind;

typedef struct unary_params {
    const unary_kind *kind;
    float alpha, beta;
} unary_params;

/* Scalar forms ------------------------------------------------------------------------------------------ */

#define F64(name, expression)                                                                                \
    static double name(double x, double a, double b) {                                                       \
        (void)a, (void)b;                                                                                    \
        return (expression);                                                                                 \
    }
#define I64(name, expression)                                                                                \
    static int64_t name(int64_t x) {                                                                         \
        return (expression);                                                                                 \
    }

static double sigmoid(double x) {
    const double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
static double softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
/* min(max(x, low), high) that keeps a NaN. */
static double clamp(double x, double low, double high) {
    const double raised = x < low ? low : x;
    return raised > high ? high : raised;
}

F64(f_abs, fabs(x))
F64(f_acos, acos(x))
F64(f_acosh, acosh(x))
F64(f_asin, asin(x))
F64(f_asinh, asinh(x))
F64(f_atan, atan(x))
F64(f_atanh, atanh(x))
F64(f_ceil, ceil(x))
F64(f_celu, x < 0 ? a * expm1(x / a) : x)
F64(f_cos, cos(x))
F64(f_cosh, cosh(x))
F64(f_elu, x < 0 ? a * expm1(x) : x)
F64(f_erf, erf(x))
F64(f_exp, exp(x))
F64(f_floor, floor(x))
F64(f_gelu, 0.5 * x * (1 + erf(x * 0.70710678118654752440)))
F64(f_gelu_tanh, 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))))
F64(f_hard_sigmoid, clamp(a *x + b, 0, 1))
F64(f_hard_swish, x *clamp(x / 6 + 0.5, 0, 1))
F64(f_leaky_relu, x < 0 ? a * x : x)
F64(f_log, log(x))
F64(f_mish, x *tanh(softplus(x)))
F64(f_neg, -x)
F64(f_parametric_softplus, a *softplus(b *x))
F64(f_reciprocal, 1 / x)
F64(f_relu, x < 0 ? 0 : x)
F64(f_round, rint(x))
F64(f_scale_shift, a *x + b)
F64(f_scaled_tanh, a *tanh(b *x))
F64(f_selu, b *(x > 0 ? x : a * expm1(x)))
F64(f_shrink, x<-a ? x + b : x> a ? x - b : x == x ? 0 : x)
F64(f_sigmoid, sigmoid(x))
F64(f_sign, x > 0 ? 1 : x < 0 ? -1 : x)
F64(f_sin, sin(x))
F64(f_sinh, sinh(x))
F64(f_softplus, softplus(x))
F64(f_softsign, x / (1 + fabs(x)))
F64(f_sqrt, sqrt(x))
F64(f_swish, x *sigmoid(a *x))
F64(f_tan, tan(x))
F64(f_tanh, tanh(x))
F64(f_thresholded_relu, x > a ? x : x == x ? 0 : x)

I64(i_same, x)
I64(i_abs, x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
I64(i_neg, (int64_t)(0 - (uint64_t)x))
I64(i_sign, (x > 0) - (x < 0))
I64(u_sign, x != 0)
I64(i_relu, x < 0 ? 0 : x)
I64(i_not, x == 0)
I64(i_bitwise_not, ~x)

/* Kinds ------------------------------------------------------------------------------------------------- */

#define PLAIN(name, kernel, f64)              {name, kernel, f64, NULL, NULL, NULL, 0, NULL, 0}
#define INTEGER(name, kernel, f64, i64, u64)  {name, kernel, f64, i64, u64, NULL, 0, NULL, 0}
#define ALPHA(name, kernel, f64, alpha)       {name, kernel, f64, NULL, NULL, "alpha", alpha, NULL, 0}
#define BOTH(name, kernel, f64, an, a, bn, b) {name, kernel, f64, NULL, NULL, an, a, bn, b}

static const unary_kind kinds[] = {
    INTEGER("Abs", LN_UNARY_ABS, f_abs, i_abs, i_same),
    PLAIN("Acos", NO_KERNEL, f_acos),
    PLAIN("Acosh", NO_KERNEL, f_acosh),
    PLAIN("Asin", NO_KERNEL, f_asin),
    PLAIN("Asinh", NO_KERNEL, f_asinh),
    PLAIN("Atan", NO_KERNEL, f_atan),
    PLAIN("Atanh", NO_KERNEL, f_atanh),
    PLAIN("Ceil", LN_UNARY_CEIL, f_ceil),
    ALPHA("Celu", LN_UNARY_CELU, f_celu, 1.0f),
    PLAIN("Cos", LN_UNARY_COS, f_cos),
    PLAIN("Cosh", NO_KERNEL, f_cosh),
    ALPHA("Elu", LN_UNARY_ELU, f_elu, 1.0f),
    PLAIN("Erf", LN_UNARY_ERF, f_erf),
    PLAIN("Exp", LN_UNARY_EXP, f_exp),
    PLAIN("Floor", LN_UNARY_FLOOR, f_floor),
    PLAIN("Gelu", LN_UNARY_GELU, f_gelu),
    PLAIN("Gelu/tanh", LN_UNARY_GELU_TANH, f_gelu_tanh),
    BOTH("HardSigmoid", LN_UNARY_HARDSIGMOID, f_hard_sigmoid, "alpha", 0.2f, "beta", 0.5f),
    PLAIN("HardSwish", LN_UNARY_HARDSWISH, f_hard_swish),
    ALPHA("LeakyRelu", LN_UNARY_LEAKY_RELU, f_leaky_relu, 0.01f),
    PLAIN("Log", LN_UNARY_LOG, f_log),
    PLAIN("Mish", LN_UNARY_MISH, f_mish),
    INTEGER("Neg", LN_UNARY_NEG, f_neg, i_neg, i_neg),
    PLAIN("Reciprocal", LN_UNARY_RECIPROCAL, f_reciprocal),
    INTEGER("Relu", LN_UNARY_RELU, f_relu, i_relu, i_same),
    PLAIN("Round", LN_UNARY_ROUND, f_round),
    BOTH("Selu", LN_UNARY_SELU, f_selu, "alpha", 1.67326319217681884765625f, "gamma",
         1.05070102214813232421875f),
    BOTH("Shrink", NO_KERNEL, f_shrink, "lambd", 0.5f, "bias", 0.0f),
    PLAIN("Sigmoid", LN_UNARY_SIGMOID, f_sigmoid),
    INTEGER("Sign", LN_UNARY_SIGN, f_sign, i_sign, u_sign),
    PLAIN("Sin", LN_UNARY_SIN, f_sin),
    PLAIN("Sinh", NO_KERNEL, f_sinh),
    PLAIN("Softplus", LN_UNARY_SOFTPLUS, f_softplus),
    PLAIN("Softsign", LN_UNARY_SOFTSIGN, f_softsign),
    PLAIN("Sqrt", LN_UNARY_SQRT, f_sqrt),
    ALPHA("Swish", LN_UNARY_GELU_QUICK, f_swish, 1.0f),
    ALPHA("QuickGelu", LN_UNARY_GELU_QUICK, f_swish, 1.702f),
    PLAIN("Tan", NO_KERNEL, f_tan),
    PLAIN("Tanh", LN_UNARY_TANH, f_tanh),
    ALPHA("ThresholdedRelu", LN_UNARY_THRESHOLDED_RELU, f_thresholded_relu, 1.0f),
    INTEGER("Not", NO_KERNEL, NULL, i_not, i_not),
    INTEGER("BitwiseNot", NO_KERNEL, NULL, i_bitwise_not, i_bitwise_not),
    BOTH("Affine", LN_UNARY_SCALE_SHIFT, f_scale_shift, "alpha", 1.0f, "beta", 0.0f),
    BOTH("ParametricSoftplus", NO_KERNEL, f_parametric_softplus, "alpha", 1.0f, "beta", 1.0f),
    BOTH("ScaledTanh", NO_KERNEL, f_scaled_tanh, "alpha", 1.0f, "beta", 1.0f),
};

static ln_status build_kind(ln_build *build, const char *name) {
    const unary_kind *kind = kinds;
    while (strcmp(kind->name, name) != 0) {
        kind++; /* every row below has a kind */
    }
    unary_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->kind = kind;
        params->alpha = kind->alpha_name != NULL ? ln_attr_float(build, kind->alpha_name, kind->alpha) : 0;
        params->beta = kind->beta_name != NULL ? ln_attr_float(build, kind->beta_name, kind->beta) : 0;
    }
    return ln_build_status(build);
}

static ln_status build_unary(ln_build *build) {
    return build_kind(build, build->node->op_type);
}

/* Version 1 has other constants. */
static ln_status build_selu_1(ln_build *build) {
    LN_TRY(build_unary(build));
    unary_params *params = build->node->params;
    params->alpha = ln_attr_float(build, "alpha", 1.6732f);
    params->beta = ln_attr_float(build, "gamma", 1.0507f);
    return ln_build_status(build);
}

static ln_status build_gelu(ln_build *build) {
    static const char *const choices[] = {"none", "tanh", NULL};
    const int choice = ln_attr_choice(build, "approximate", choices, 0);
    return build_kind(build, choice == 1 ? "Gelu/tanh" : "Gelu");
}

static ln_status build_celu(ln_build *build) {
    LN_TRY(build_unary(build));
    const unary_params *params = build->node->params;
    if (params->alpha == 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "alpha must not be 0");
    }
    return LN_OK;
}

/* Run --------------------------------------------------------------------------------------------------- */

static void run_f32(const unary_params *params, const ln_value *x, ln_value *y, int64_t begin, int64_t end) {
    ln_unary_f32_fn *const kernel = ln_unary_f32[params->kind->kernel];
    if (x->dtype == LN_FLOAT) {
        kernel((float *)y->data + begin, (const float *)x->data + begin, (size_t)(end - begin), params->alpha,
               params->beta);
        return;
    }
    float tile[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_tile_load(x->dtype, x->data, at, n, tile);
        kernel(tile, tile, (size_t)n, params->alpha, params->beta);
        ln_tile_store(y->dtype, y->data, at, n, tile);
    }
}

static void run_f64(const unary_params *params, const ln_value *x, ln_value *y, int64_t begin, int64_t end) {
    const double a = (double)params->alpha;
    const double b = (double)params->beta;
    double tile[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_load_f64(x->dtype, x->data, at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            tile[i] = params->kind->f64(tile[i], a, b);
        }
        ln_store_f64(y->dtype, y->data, at, n, tile);
    }
}

static void run_i64(unary_i64 *function, const ln_value *x, ln_value *y, int64_t begin, int64_t end) {
    int64_t tile[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_load_i64(x->dtype, x->data, at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            tile[i] = function(tile[i]);
        }
        ln_store_i64(y->dtype, y->data, at, n, tile);
    }
}

static void unary_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const unary_params *params = op->params;
    const unary_kind *kind = params->kind;
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(x);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, UNARY_GRAIN), index, &begin, &end);
    const ln_compute compute = ln_dtype_compute(x->dtype);
    if (compute == LN_COMPUTE_F32 && kind->kernel != NO_KERNEL) {
        run_f32(params, x, y, begin, end);
    } else if (compute != LN_COMPUTE_F32 && compute != LN_COMPUTE_F64 && kind->i64 != NULL) {
        const bool is_unsigned = ln_dtype_is_integer(x->dtype) && !ln_dtype_is_signed(x->dtype);
        run_i64(is_unsigned ? kind->u64 : kind->i64, x, y, begin, end);
    } else {
        run_f64(params, x, y, begin, end);
    }
}

static ln_status run_unary(ln_op *op) {
    return ln_op_grid(op, unary_task, ln_op_tasks(ln_value_count(ln_in(op, 0)), UNARY_GRAIN));
}

bool ln_unary_step(const ln_node *node, ln_chain_step *step) {
    const unary_params *params = node->params;
    const bool is_step = node->row->run == run_unary && params->kind->kernel != NO_KERNEL;
    if (is_step) {
        *step = (ln_chain_step){.kind = LN_CHAIN_UNARY,
                                .code = params->kind->kernel,
                                .alpha = params->alpha,
                                .beta = params->beta};
    }
    return is_step;
}

/* IsNaN and IsInf --------------------------------------------------------------------------------------- */

typedef struct predicate_params {
    bool nan, positive, negative;
} predicate_params;

static ln_status build_predicate(ln_build *build) {
    predicate_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->nan = strcmp(build->node->op_type, "IsNaN") == 0;
        params->positive = !params->nan && ln_attr_bool(build, "detect_positive", true);
        params->negative = !params->nan && ln_attr_bool(build, "detect_negative", true);
    }
    return ln_build_status(build);
}

static ln_status infer_predicate(ln_op *op) {
    return ln_op_shape(op, 0, LN_BOOL, &ln_in(op, 0)->shape);
}

static void predicate_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const predicate_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    uint8_t *y = ln_out(op, 0)->data;
    const int64_t count = ln_value_count(x);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, UNARY_GRAIN), index, &begin, &end);
    double tile[LN_TILE];
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_load_f64(x->dtype, x->data, at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            const double v = tile[i];
            const bool hit = (params->nan && v != v) || (params->positive && v == INFINITY) ||
                             (params->negative && v == -INFINITY);
            y[at + i] = (uint8_t)hit;
        }
    }
}

static ln_status run_predicate(ln_op *op) {
    return ln_op_grid(op, predicate_task, ln_op_tasks(ln_value_count(ln_in(op, 0)), UNARY_GRAIN));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, types, build)                                                                \
    {name, "", since, until, "A>A", {types}, build, ln_infer_same, run_unary, NULL, LN_OP_INPLACE_0, NULL}
#define UNARY(name, since, until, types) ROW(name, since, until, types, build_unary)
#define FLOATS_13(name)                  UNARY(name, 1, 12, LN_T_FLOAT), UNARY(name, 13, LN_OPEN, LN_T_FLOAT_BF)
#define FLOATS_22(name, first)           UNARY(name, first, 21, LN_T_FLOAT), UNARY(name, 22, LN_OPEN, LN_T_FLOAT_BF)
#define MICROSOFT(name, build)                                                                               \
    {name,  "com.microsoft", 1,         LN_OPEN, "A>A",           {LN_T_FLOAT_BF},                           \
     build, ln_infer_same,   run_unary, NULL,    LN_OP_INPLACE_0, NULL}
#define PREDICATE(name, since, until, types)                                                                 \
    {name, "", since, until, "A>b", {types}, build_predicate, infer_predicate, run_predicate, NULL, 0, NULL}

#define T_SIGNED (LN_T_FLOAT | LN_T_SINT)

static const ln_op_row rows[] = {
    UNARY("Abs", 1, 5, LN_T_FLOAT),
    UNARY("Abs", 6, 12, LN_T_NUMBER),
    UNARY("Abs", 13, LN_OPEN, LN_T_NUMBER_BF),
    FLOATS_22("Acos", 7),
    FLOATS_22("Acosh", 9),
    UNARY("Affine", 1, LN_OPEN, LN_T_FLOAT),
    FLOATS_22("Asin", 7),
    FLOATS_22("Asinh", 9),
    FLOATS_22("Atan", 7),
    FLOATS_22("Atanh", 9),
    UNARY("BitwiseNot", 18, LN_OPEN, LN_T_INT),
    FLOATS_13("Ceil"),
    ROW("Celu", 12, 27, LN_BIT(LN_FLOAT), build_celu),
    ROW("Celu", 28, LN_OPEN, LN_T_FLOAT_BF, build_celu),
    FLOATS_22("Cos", 7),
    FLOATS_22("Cosh", 9),
    FLOATS_22("Elu", 1),
    UNARY("Erf", 9, 12, LN_T_NUMBER),
    UNARY("Erf", 13, LN_OPEN, LN_T_FLOAT_BF),
    FLOATS_13("Exp"),
    FLOATS_13("Floor"),
    ROW("Gelu", 20, LN_OPEN, LN_T_FLOAT_BF, build_gelu),
    FLOATS_22("HardSigmoid", 1),
    FLOATS_22("HardSwish", 14),
    PREDICATE("IsInf", 10, 19, LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE)),
    PREDICATE("IsInf", 20, LN_OPEN, LN_T_FLOAT_BF | LN_T_FLOAT8),
    PREDICATE("IsNaN", 9, 12, LN_T_FLOAT),
    PREDICATE("IsNaN", 13, 19, LN_T_FLOAT_BF),
    PREDICATE("IsNaN", 20, LN_OPEN, LN_T_FLOAT_BF | LN_T_FLOAT8),
    UNARY("LeakyRelu", 1, 15, LN_T_FLOAT),
    UNARY("LeakyRelu", 16, LN_OPEN, LN_T_FLOAT_BF),
    FLOATS_13("Log"),
    FLOATS_22("Mish", 18),
    UNARY("Neg", 1, 5, LN_T_FLOAT),
    UNARY("Neg", 6, 12, T_SIGNED),
    UNARY("Neg", 13, LN_OPEN, T_SIGNED | LN_BIT(LN_BFLOAT16)),
    UNARY("Not", 1, LN_OPEN, LN_BIT(LN_BOOL)),
    UNARY("ParametricSoftplus", 1, LN_OPEN, LN_T_FLOAT),
    FLOATS_13("Reciprocal"),
    UNARY("Relu", 1, 12, LN_T_FLOAT),
    UNARY("Relu", 13, 13, LN_T_FLOAT_BF),
    UNARY("Relu", 14, LN_OPEN, T_SIGNED | LN_BIT(LN_BFLOAT16)),
    FLOATS_22("Round", 11),
    UNARY("ScaledTanh", 1, LN_OPEN, LN_T_FLOAT),
    ROW("Selu", 1, 5, LN_T_FLOAT, build_selu_1),
    FLOATS_22("Selu", 6),
    UNARY("Shrink", 9, LN_OPEN, LN_T_NUMBER),
    FLOATS_13("Sigmoid"),
    UNARY("Sign", 9, 12, LN_T_NUMBER),
    UNARY("Sign", 13, LN_OPEN, LN_T_NUMBER_BF),
    FLOATS_22("Sin", 7),
    FLOATS_22("Sinh", 9),
    FLOATS_22("Softplus", 1),
    FLOATS_22("Softsign", 1),
    FLOATS_13("Sqrt"),
    UNARY("Swish", 24, LN_OPEN, LN_T_FLOAT_BF),
    FLOATS_22("Tan", 7),
    FLOATS_13("Tanh"),
    FLOATS_22("ThresholdedRelu", 1),
    MICROSOFT("Gelu", build_gelu),
    MICROSOFT("QuickGelu", build_unary),
};

LN_FAMILY_TABLE(unary, rows);
