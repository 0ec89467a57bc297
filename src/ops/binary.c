/* Elementwise operators of two and more inputs: arithmetic, comparison, logic, bits, and the variadic ones.
 *
 * Each operator is a code (ops/binary_runs.h); here are its versions, its shapes and its errors. Old versions place the
 * second input by attributes: its shape gets ones at the end, and plain broadcasting does the rest. Integer division
 * by zero is an error; integer overflow wraps.
 */
#include <string.h>

#include "ops/binary_runs.h"

enum { BINARY_GRAIN = 16384 };

/* Two inputs --------------------------------------------------------------------------------------------- */

typedef struct binary_params {
    int code;
    enum ln_compare compare;
    bool old;       /* versions 1 and 6: broadcasting by attributes */
    bool broadcast; /* of those */
    bool suffix;    /* of those: no axis given */
    bool channels;  /* PRelu 1 and 6: a slope of C elements belongs to axis 1 */
    int64_t axis;
} binary_params;

/* How input 1 lies under input 0. */
typedef struct binary_local {
    ln_shape b_shape;
    ln_binary_class_id class;
} binary_local;

typedef struct binary_name {
    const char *name;
    int code;
    enum ln_compare compare;
} binary_name;

static const binary_name names[] = {
    {"Add", LN_BINARY_ADD, 0},
    {"Sub", LN_BINARY_SUB, 0},
    {"Mul", LN_BINARY_MUL, 0},
    {"Div", LN_BINARY_DIV, 0},
    {"Max", LN_BINARY_MAX, 0},
    {"Min", LN_BINARY_MIN, 0},
    {"Sum", LN_BINARY_ADD, 0},
    {"Mean", LN_BINARY_ADD, 0},
    {"Pow", LN_BINARY_POW, 0},
    {"PRelu", LN_BINARY_PRELU, 0},
    {"Mod", LN_CODE_MOD_FLOOR, 0},
    {"And", LN_CODE_AND, 0},
    {"Or", LN_CODE_OR, 0},
    {"Xor", LN_CODE_XOR, 0},
    {"BitwiseAnd", LN_CODE_AND, 0},
    {"BitwiseOr", LN_CODE_OR, 0},
    {"BitwiseXor", LN_CODE_XOR, 0},
    {"BitShift", LN_CODE_SHIFT_LEFT, 0},
    {"Equal", LN_CODE_COMPARE, LN_COMPARE_EQ},
    {"Less", LN_CODE_COMPARE, LN_COMPARE_LT},
    {"LessOrEqual", LN_CODE_COMPARE, LN_COMPARE_LE},
    {"Greater", LN_CODE_COMPARE, LN_COMPARE_GT},
    {"GreaterOrEqual", LN_CODE_COMPARE, LN_COMPARE_GE},
};

static ln_status build_binary(ln_build *build) {
    binary_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    const binary_name *name = names; /* every row below has a name */
    while (strcmp(name->name, build->node->op_type) != 0) {
        name++;
    }
    params->code = name->code;
    params->compare = name->compare;
    return ln_build_status(build);
}

static ln_status build_old_broadcast(ln_build *build) {
    LN_TRY(build_binary(build));
    binary_params *params = build->node->params;
    params->old = true;
    params->broadcast = ln_attr_bool(build, "broadcast", false);
    params->suffix = !ln_has_attr(build, "axis");
    params->axis = ln_attr_int(build, "axis", 0);
    return ln_build_status(build);
}

static ln_status build_old_prelu(ln_build *build) {
    LN_TRY(build_binary(build));
    ((binary_params *)build->node->params)->channels = true;
    return LN_OK;
}

static ln_status build_mod(ln_build *build) {
    LN_TRY(build_binary(build));
    binary_params *params = build->node->params;
    params->code = ln_attr_bool(build, "fmod", false) ? LN_CODE_MOD_TRUNC : LN_CODE_MOD_FLOOR;
    return ln_build_status(build);
}

static ln_status build_shift(ln_build *build) {
    static const char *const directions[] = {"LEFT", "RIGHT", NULL};
    LN_TRY(build_binary(build));
    binary_params *params = build->node->params;
    ln_attr_required(build, "direction");
    if (ln_attr_choice(build, "direction", directions, 0) == 1) {
        params->code = LN_CODE_SHIFT_RIGHT;
    }
    return ln_build_status(build);
}

static ln_status fail_shapes(ln_op *op, const ln_shape *a, const ln_shape *b, const char *rule) {
    char left[LN_SHAPE_TEXT_BYTES];
    char right[LN_SHAPE_TEXT_BYTES];
    return ln_op_fail(op, LN_INVALID_SHAPE, "shapes %s and %s: %s", ln_shape_text(a, left),
                      ln_shape_text(b, right), rule);
}

/* b gets ones at its end so that plain broadcasting puts it where the old attributes say. */
static ln_status place_old(ln_op *op, const binary_params *params, const ln_shape *a, ln_shape *b) {
    if (params->channels) {
        if (b->rank == 1 && b->dims[0] != 1 && a->rank > 1) {
            b->rank = a->rank - 1;
            for (int i = 1; i < b->rank; i++) {
                b->dims[i] = 1;
            }
        }
        return LN_OK;
    }
    if (!params->broadcast) {
        if (!ln_shape_equal(a, b) && ln_shape_count(b) != 1) {
            return fail_shapes(op, a, b, "without the attribute broadcast they must be equal");
        }
        return LN_OK;
    }
    if (params->suffix || ln_shape_count(b) == 1) {
        return LN_OK;
    }
    const int axis = ln_shape_axis(params->axis, a->rank);
    if (axis < 0 || axis + b->rank > a->rank) {
        return fail_shapes(op, a, b, "the attribute axis is out of range");
    }
    const int rank = a->rank - axis;
    while (b->rank < rank) {
        b->dims[b->rank++] = 1;
    }
    return LN_OK;
}

static ln_status infer_binary_as(ln_op *op, ln_dtype result, bool towards_a) {
    const binary_params *params = op->params;
    binary_local *local = LN_LOCAL(op, binary_local);
    const ln_value *a = ln_in(op, 0);
    const ln_value *b = ln_in(op, 1);
    local->b_shape = b->shape;
    local->class = params->code == LN_BINARY_POW ? ln_binary_pow_class(a->dtype, b->dtype)
                                                 : ln_binary_class(params->code, a->dtype);
    if (params->old || params->channels) {
        LN_TRY(place_old(op, params, &a->shape, &local->b_shape));
    }
    ln_shape shape;
    if (!ln_shape_broadcast(&a->shape, &local->b_shape, &shape)) {
        return fail_shapes(op, &a->shape, &b->shape, "they do not broadcast");
    }
    if (towards_a && !ln_shape_equal(&shape, &a->shape)) {
        return fail_shapes(op, &a->shape, &b->shape, "the second does not broadcast to the first");
    }
    return ln_op_shape(op, 0, result, &shape);
}

static ln_status infer_arithmetic(ln_op *op) {
    const binary_params *params = op->params;
    const ln_value *a = ln_in(op, 0);
    return infer_binary_as(op, a->dtype, params->old || params->code == LN_BINARY_PRELU);
}

static ln_status infer_logical(ln_op *op) {
    return infer_binary_as(op, LN_BOOL, ((const binary_params *)op->params)->old);
}

static void start_run(ln_op *op, ln_binary_run *run) {
    const binary_params *params = op->params;
    ln_binary_start(run, params->code, params->compare, LN_LOCAL(op, binary_local)->class);
}

/* x squared is what most models ask of Pow. */
static bool run_square(const ln_op *op, const ln_binary_run *run, int64_t begin, int64_t end) {
    const binary_params *params = op->params;
    if (params->code != LN_BINARY_POW || run->class != LN_CLASS_F32 || run->a_type != LN_FLOAT ||
        ln_value_count(ln_in(op, 1)) != 1 || !ln_shape_equal(&ln_in(op, 0)->shape, &ln_out(op, 0)->shape)) {
        return false;
    }
    float exponent;
    ln_load_f32(run->b_type, run->b, 0, 1, &exponent);
    if (exponent == 2.0f) {
        ln_unary_f32[LN_UNARY_SQUARE]((float *)(void *)run->y + begin,
                                      (const float *)(const void *)run->a + begin, (size_t)(end - begin), 0,
                                      0);
    }
    return exponent == 2.0f;
}

static void binary_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, BINARY_GRAIN), index, &begin, &end);
    ln_binary_run run;
    start_run(op, &run);
    ln_binary_operands(&run, ln_in(op, 0), ln_in(op, 1), y);
    if (!run_square(op, &run, begin, end)) {
        ln_binary_range(&run, &ln_in(op, 0)->shape, &LN_LOCAL(op, binary_local)->b_shape, &y->shape, begin,
                        end);
    }
}

/* Fails when an integer divisor is zero. */
static ln_status check_divisor(ln_op *op, const ln_value *divisor) {
    const int64_t count = ln_value_count(divisor);
    int64_t tile[LN_TILE];
    for (int64_t at = 0; at < count; at += LN_TILE) {
        const int64_t n = count - at < LN_TILE ? count - at : LN_TILE;
        ln_load_i64(divisor->dtype, divisor->data, at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            LN_OP_CHECK(op, tile[i] != 0, INVALID_VALUE, "division by zero: element %lld of input 1 is 0",
                        (long long)(at + i));
        }
    }
    return LN_OK;
}

static ln_status run_binary(ln_op *op) {
    const binary_params *params = op->params;
    const int64_t count = ln_value_count(ln_out(op, 0));
    const bool divides = params->code == LN_BINARY_DIV || params->code == LN_CODE_MOD_FLOOR ||
                         params->code == LN_CODE_MOD_TRUNC;
    if (divides && count > 0 && ln_dtype_is_integer(ln_in(op, 1)->dtype)) {
        LN_TRY(check_divisor(op, ln_in(op, 1)));
    }
    return ln_op_grid(op, binary_task, ln_op_tasks(count, BINARY_GRAIN));
}

/* Equal of strings ----------------------------------------------------------------------------------------- */

typedef struct string_run {
    const ln_string *a, *b;
    uint8_t *y;
    int64_t a_stride, b_stride;
} string_run;

static void visit_strings(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const string_run *run = argument;
    for (int64_t i = 0; i < n; i++) {
        const ln_string *a = &run->a[offsets[0] + i * run->a_stride];
        const ln_string *b = &run->b[offsets[1] + i * run->b_stride];
        run->y[output + i] = (uint8_t)(ln_string_compare(a, b) == 0);
    }
}

static ln_status run_equal(ln_op *op) {
    const ln_value *a = ln_in(op, 0);
    const ln_value *b = ln_in(op, 1);
    ln_value *y = ln_out(op, 0);
    if (a->dtype != LN_STRING) {
        return run_binary(op);
    }
    ln_broadcast walk;
    const ln_shape *const shapes[] = {&a->shape, &b->shape};
    ln_broadcast_init(&walk, &y->shape, 2, shapes);
    string_run run = {a->data, b->data, y->data, walk.strides[0][walk.rank - 1],
                      walk.strides[1][walk.rank - 1]};
    ln_broadcast_each(&walk, 0, walk.count, visit_strings, &run);
    return LN_OK;
}

/* Max, Min, Sum, Mean ---------------------------------------------------------------------------------------- */

static ln_status build_variadic(ln_build *build) {
    LN_TRY(build_binary(build));
    binary_params *params = build->node->params;
    params->old = build->opset < 8;
    return LN_OK;
}

static ln_status infer_variadic(ln_op *op) {
    const binary_params *params = op->params;
    const ln_value *first = ln_in(op, 0);
    ln_shape shape = first->shape;
    LN_LOCAL(op, binary_local)->class = ln_binary_class(params->code, first->dtype);
    for (int i = 1; i < op->n_inputs; i++) {
        const ln_shape *next = &ln_in(op, i)->shape;
        const ln_shape so_far = shape;
        if (params->old && !ln_shape_equal(&shape, next)) {
            return fail_shapes(op, &shape, next, "before version 8 all inputs must have one shape");
        }
        if (!ln_shape_broadcast(&so_far, next, &shape)) {
            return fail_shapes(op, &so_far, next, "they do not broadcast");
        }
    }
    return ln_op_shape(op, 0, first->dtype, &shape);
}

/* Divides the sum of Mean by the number of inputs. */
static void divide_range(ln_binary_run *run, ln_op *op, ln_value *y, int64_t begin, int64_t end) {
    const float inputs = (float)op->n_inputs;
    const double wide = (double)op->n_inputs;
    const ln_shape one = ln_shape_scalar();
    ln_value divisor = ln_value_header(run->class == LN_CLASS_F64 ? LN_DOUBLE : LN_FLOAT, &one);
    divisor.data = run->class == LN_CLASS_F64 ? (void *)(uintptr_t)&wide : (void *)(uintptr_t)&inputs;
    ln_binary_start(run, LN_BINARY_DIV, LN_COMPARE_EQ, run->class);
    ln_binary_operands(run, y, &divisor, y);
    ln_binary_range(run, &y->shape, &one, &y->shape, begin, end);
}

static void variadic_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(y);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, BINARY_GRAIN), index, &begin, &end);
    ln_binary_run run;
    start_run(op, &run);
    const ln_value *sum = ln_in(op, 0);
    for (int i = 1; i < op->n_inputs; i++) {
        ln_binary_operands(&run, sum, ln_in(op, i), y);
        ln_binary_range(&run, &sum->shape, &ln_in(op, i)->shape, &y->shape, begin, end);
        sum = y;
    }
    if (sum != y && sum->data != y->data) {
        const size_t width = ln_dtype_bits(y->dtype) / 8;
        memcpy((uint8_t *)y->data + (size_t)begin * width, (const uint8_t *)sum->data + (size_t)begin * width,
               (size_t)(end - begin) * width);
    }
    if (op->n_inputs > 1 && strcmp(op->node->op_type, "Mean") == 0) {
        divide_range(&run, op, y, begin, end);
    }
}

static ln_status run_variadic(ln_op *op) {
    return ln_op_grid(op, variadic_task, ln_op_tasks(ln_value_count(ln_out(op, 0)), BINARY_GRAIN));
}

/* Rows --------------------------------------------------------------------------------------------------- */

#define IN_PLACE (LN_OP_INPLACE_0 | LN_OP_INPLACE_1)
#define ROW(name, since, until, signature, types, build)                                                     \
    {name, "", since, until, signature, {types}, build, infer_arithmetic, run_binary, NULL, IN_PLACE, NULL}
#define ARITHMETIC(name)                                                                                     \
    ROW(name, 1, 5, "AA>A", LN_T_FLOAT, build_old_broadcast),                                                \
        ROW(name, 6, 6, "AA>A", LN_T_HIGH, build_old_broadcast),                                             \
        ROW(name, 7, 12, "AA>A", LN_T_HIGH, build_binary),                                                   \
        ROW(name, 13, 13, "AA>A", LN_T_HIGH | LN_BIT(LN_BFLOAT16), build_binary),                            \
        ROW(name, 14, LN_OPEN, "AA>A", LN_T_NUMBER_BF, build_binary)
#define POW(since, until, base, exponent)                                                                    \
    {"Pow",      "",   since,           until, "AB>A", {base, exponent}, build_binary, infer_arithmetic,     \
     run_binary, NULL, LN_OP_INPLACE_0, NULL}
#define LOGICAL(name, since, until, types, build, run)                                                       \
    {name, "", since, until, "AA>b", {types}, build, infer_logical, run, NULL, 0, NULL}
#define BOOLEAN(name)                                                                                        \
    LOGICAL(name, 1, 6, LN_BIT(LN_BOOL), build_old_broadcast, run_binary),                                   \
        LOGICAL(name, 7, LN_OPEN, LN_BIT(LN_BOOL), build_binary, run_binary)
#define ORDER(name)                                                                                          \
    LOGICAL(name, 1, 6, LN_T_FLOAT, build_old_broadcast, run_binary),                                        \
        LOGICAL(name, 7, 8, LN_T_FLOAT, build_binary, run_binary),                                           \
        LOGICAL(name, 9, 12, LN_T_NUMBER, build_binary, run_binary),                                         \
        LOGICAL(name, 13, LN_OPEN, LN_T_NUMBER_BF, build_binary, run_binary)
#define ORDER_OR_EQUAL(name)                                                                                 \
    LOGICAL(name, 12, 15, LN_T_NUMBER, build_binary, run_binary),                                            \
        LOGICAL(name, 16, LN_OPEN, LN_T_NUMBER_BF, build_binary, run_binary)
#define VARIADIC(name, since, until, types)                                                                  \
    {name,           "",           since, until,           "A+>A", {types}, build_variadic,                  \
     infer_variadic, run_variadic, NULL,  LN_OP_INPLACE_0, NULL}
#define SUM(name) VARIADIC(name, 1, 12, LN_T_FLOAT), VARIADIC(name, 13, LN_OPEN, LN_T_FLOAT_BF)
#define EXTREMUM(name)                                                                                       \
    VARIADIC(name, 1, 11, LN_T_FLOAT), VARIADIC(name, 12, 12, LN_T_NUMBER),                                  \
        VARIADIC(name, 13, LN_OPEN, LN_T_NUMBER_BF)

#define T_BASE   (LN_T_FLOAT | LN_T_INDEX)
#define T_OLD_EQ (LN_T_INDEX | LN_BIT(LN_BOOL))
#define T_EQ     (LN_T_NUMBER | LN_BIT(LN_BOOL))
#define T_EQ_BF  (LN_T_NUMBER_BF | LN_BIT(LN_BOOL))

static const ln_op_row rows[] = {
    ARITHMETIC("Add"),
    ARITHMETIC("Sub"),
    ARITHMETIC("Mul"),
    ARITHMETIC("Div"),
    ROW("Mod", 10, 12, "AA>A", LN_T_NUMBER, build_mod),
    ROW("Mod", 13, LN_OPEN, "AA>A", LN_T_NUMBER_BF, build_mod),
    ROW("Pow", 1, 6, "AA>A", LN_T_FLOAT, build_old_broadcast),
    ROW("Pow", 7, 11, "AA>A", LN_T_FLOAT, build_binary),
    POW(12, 12, T_BASE, LN_T_NUMBER),
    POW(13, 14, T_BASE | LN_BIT(LN_BFLOAT16), LN_T_NUMBER),
    POW(15, LN_OPEN, T_BASE | LN_BIT(LN_BFLOAT16), LN_T_NUMBER_BF),
    ROW("PRelu", 1, 6, "AA>A", LN_T_FLOAT, build_old_prelu),
    ROW("PRelu", 7, 8, "AA>A", LN_T_FLOAT, build_binary),
    ROW("PRelu", 9, 15, "AA>A", LN_T_HIGH, build_binary),
    ROW("PRelu", 16, LN_OPEN, "AA>A", LN_T_HIGH | LN_BIT(LN_BFLOAT16), build_binary),
    ROW("BitwiseAnd", 18, LN_OPEN, "AA>A", LN_T_INT, build_binary),
    ROW("BitwiseOr", 18, LN_OPEN, "AA>A", LN_T_INT, build_binary),
    ROW("BitwiseXor", 18, LN_OPEN, "AA>A", LN_T_INT, build_binary),
    ROW("BitShift", 11, 27, "AA>A", LN_T_UINT, build_shift),
    ROW("BitShift", 28, LN_OPEN, "AA>A", LN_T_INT, build_shift),
    BOOLEAN("And"),
    BOOLEAN("Or"),
    BOOLEAN("Xor"),
    LOGICAL("Equal", 1, 6, T_OLD_EQ, build_old_broadcast, run_binary),
    LOGICAL("Equal", 7, 10, T_OLD_EQ, build_binary, run_binary),
    LOGICAL("Equal", 11, 12, T_EQ, build_binary, run_binary),
    LOGICAL("Equal", 13, 18, T_EQ_BF, build_binary, run_binary),
    LOGICAL("Equal", 19, LN_OPEN, T_EQ_BF | LN_BIT(LN_STRING), build_binary, run_equal),
    ORDER("Greater"),
    ORDER("Less"),
    ORDER_OR_EQUAL("GreaterOrEqual"),
    ORDER_OR_EQUAL("LessOrEqual"),
    EXTREMUM("Max"),
    EXTREMUM("Min"),
    SUM("Sum"),
    SUM("Mean"),
};

LN_FAMILY_TABLE(binary, rows);
