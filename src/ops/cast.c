/* Cast, CastLike and BitCast.
 *
 * Numbers go through tiles of the class that loses nothing on the way: the source's own, or double where an integer becomes
 * a small float. What the standard leaves undefined is done as compiled code does it: a float out of range of an 8- or
 * 16-bit integer is cut to 32 bits and wraps; one out of range of a 4-bit integer is cut to it before version 24 and wraps from
 * then on, as the standard's own cases have it. Strings are parsed and written element by element, in order.
 */
#include <math.h>
#include <string.h>

#include "ops/op.h"
#include "simd/vector.h"

enum { CAST_GRAIN = 16384 };

typedef struct cast_params {
    bool saturate;
    bool
        cuts; /* before version 24: floats are cut to the range of 4-bit types, and NaN is the largest float4 */
    ln_round round;
} cast_params;

typedef union tile {
    float f32[LN_TILE];
    double f64[LN_TILE];
    int32_t i32[LN_TILE];
    int64_t i64[LN_TILE];
} tile;

/* Build and infer ------------------------------------------------------------------------------------------ */

static ln_status build_like(ln_build *build) {
    static const char *const modes[] = {"up", "down", "nearest", NULL};
    cast_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->cuts = build->opset < 24;
        params->saturate = build->opset < 19 || ln_attr_bool(build, "saturate", true);
        params->round =
            build->opset < 24 ? LN_ROUND_UP : (ln_round)ln_attr_choice(build, "round_mode", modes, 0);
    }
    return ln_build_status(build);
}

static ln_status build_cast(ln_build *build) {
    ln_attr_required(build, "to");
    const int64_t to = ln_attr_int(build, "to", 0);
    LN_TRY(build_like(build));
    if (to <= 0 || to >= LN_DTYPE_COUNT) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "the attribute to is %lld, which is no element type", (long long)to);
    }
    if ((build->node->row->types[1] & LN_BIT(to)) == 0) {
        return ln_build_fail(build, LN_INVALID_TYPE, "this version cannot make elements of type %s",
                             ln_dtype_name((ln_dtype)to));
    }
    build->node->output_dtype = (ln_dtype)to;
    return LN_OK;
}

/* Version 1 names the type: "FLOAT", "INT64". */
static ln_status build_cast_1(ln_build *build) {
    static const char *const names[] = {"UNDEFINED", "FLOAT",  "UINT8",  "INT8",   "UINT16",
                                        "INT16",     "INT32",  "INT64",  "STRING", "BOOL",
                                        "FLOAT16",   "DOUBLE", "UINT32", "UINT64", NULL};
    ln_attr_required(build, "to");
    const int to = ln_attr_choice(build, "to", names, 0);
    LN_TRY(build_like(build));
    build->node->output_dtype = (ln_dtype)to;
    return LN_OK;
}

static ln_status infer_cast(ln_op *op) {
    return ln_op_shape(op, 0, op->node->output_dtype, &ln_in(op, 0)->shape);
}

static ln_status infer_like(ln_op *op) {
    return ln_op_shape(op, 0, ln_in(op, 1)->dtype, &ln_in(op, 0)->shape);
}

/* Numbers -------------------------------------------------------------------------------------------------- */

static bool is_small_float(ln_dtype dtype) {
    return ln_dtype_compute(dtype) == LN_COMPUTE_F32 && dtype != LN_FLOAT;
}

static float cut(ln_dtype dtype, float value) {
    if (dtype == LN_FLOAT4E2M1) {
        return value == value ? value : INFINITY;
    }
    const float high = dtype == LN_UINT4 ? 15 : 7;
    const float low = dtype == LN_UINT4 ? 0 : -8;
    return value < low ? low : value > high ? high : value;
}

static void store_single(const cast_params *params, ln_value *y, int64_t at, int64_t n, const float *values) {
    const unsigned bits = ln_dtype_bits(y->dtype);
    float inside[LN_TILE];
    if (params->cuts && bits < 8) {
        for (int64_t i = 0; i < n; i++) {
            inside[i] = cut(y->dtype, values[i]);
        }
        values = inside;
    }
    if (ln_dtype_compute(y->dtype) == LN_COMPUTE_I32 && (bits == 8 || bits == 16) && y->dtype != LN_BOOL) {
        int32_t wide[LN_TILE];
        ln_store_f32(LN_INT32, wide, 0, n, values);
        ln_store_i32(y->dtype, y->data, at, n, wide);
    } else if (y->dtype == LN_UINT32) {
        int64_t wide[LN_TILE];
        ln_store_f32(LN_INT64, wide, 0, n, values);
        ln_store_i64(y->dtype, y->data, at, n, wide);
    } else {
        ln_store_f32_as(y->dtype, y->data, at, n, values, params->saturate, params->round);
    }
}

static void store_double(const cast_params *params, ln_value *y, int64_t at, int64_t n,
                         const double *values) {
    const unsigned bits = ln_dtype_bits(y->dtype);
    if (is_small_float(y->dtype) || (params->cuts && bits < 8)) {
        float narrow[LN_TILE];
        for (int64_t i = 0; i < n; i++) {
            narrow[i] = ln_f64_to_f32_odd(values[i]);
        }
        store_single(params, y, at, n, narrow);
    } else if (ln_dtype_is_integer(y->dtype) && (bits == 8 || bits == 16 || y->dtype == LN_UINT32)) {
        int64_t wide[LN_TILE];
        ln_store_f64(LN_INT64, wide, 0, n, values);
        ln_store_i64(y->dtype, y->data, at, n, wide);
    } else {
        ln_store_f64(y->dtype, y->data, at, n, values);
    }
}

static void cast_tile(const cast_params *params, const ln_value *x, ln_value *y, int64_t at, int64_t n) {
    const ln_compute from = ln_dtype_compute(x->dtype);
    const ln_compute to = ln_dtype_compute(y->dtype);
    const bool from_integer = from != LN_COMPUTE_F32 && from != LN_COMPUTE_F64;
    tile values;
    if (from == LN_COMPUTE_F32 || (from == LN_COMPUTE_U64 && y->dtype == LN_FLOAT)) {
        ln_load_f32(x->dtype, x->data, at, n, values.f32);
        store_single(params, y, at, n, values.f32);
    } else if (from == LN_COMPUTE_F64 || (from_integer && is_small_float(y->dtype)) ||
               (from == LN_COMPUTE_U64 && to == LN_COMPUTE_F64)) {
        ln_load_f64(x->dtype, x->data, at, n, values.f64);
        store_double(params, y, at, n, values.f64);
    } else if (from == LN_COMPUTE_I32) {
        ln_load_i32(x->dtype, x->data, at, n, values.i32);
        ln_store_i32(y->dtype, y->data, at, n, values.i32);
    } else {
        ln_load_i64(x->dtype, x->data, at, n, values.i64);
        ln_store_i64(y->dtype, y->data, at, n, values.i64);
    }
}

/* Pairs of types that a kernel converts; the bytes of bool are numbers. Not in place: kernels may read ahead. */
static bool cast_run(const ln_value *x, ln_value *y, int64_t first, size_t n) {
#define RUN(from, type, to, other, kernel)                                                                   \
    case LN_DTYPE_COUNT *(from) + (to):                                                                      \
        kernel((other *)y->data + first, (const type *)x->data + first, n);                                  \
        return true
    if (x->data == y->data) {
        return false;
    }
    switch (LN_DTYPE_COUNT * (int)x->dtype + (int)y->dtype) {
        RUN(LN_FLOAT16, uint16_t, LN_FLOAT, float, ln_f16_to_f32);
        RUN(LN_BFLOAT16, uint16_t, LN_FLOAT, float, ln_bf16_to_f32);
        RUN(LN_DOUBLE, double, LN_FLOAT, float, ln_f64_to_f32);
        RUN(LN_INT32, int32_t, LN_FLOAT, float, ln_i32_to_f32);
        RUN(LN_INT64, int64_t, LN_FLOAT, float, ln_i64_to_f32);
        RUN(LN_UINT8, uint8_t, LN_FLOAT, float, ln_u8_to_f32);
        RUN(LN_BOOL, uint8_t, LN_FLOAT, float, ln_u8_to_f32);
        RUN(LN_INT8, int8_t, LN_FLOAT, float, ln_i8_to_f32);
        RUN(LN_FLOAT, float, LN_FLOAT16, uint16_t, ln_f32_to_f16);
        RUN(LN_FLOAT, float, LN_BFLOAT16, uint16_t, ln_f32_to_bf16);
        RUN(LN_FLOAT, float, LN_DOUBLE, double, ln_f32_to_f64);
        RUN(LN_FLOAT, float, LN_INT32, int32_t, ln_f32_to_i32);
        RUN(LN_FLOAT, float, LN_INT64, int64_t, ln_f32_to_i64);
    default:
        return false;
    }
#undef RUN
}

static void cast_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(x);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, CAST_GRAIN), index, &begin, &end);
    if (cast_run(x, y, begin, (size_t)(end - begin))) {
        return;
    }
    for (int64_t at = begin; at < end; at += LN_TILE) {
        cast_tile(op->params, x, y, at, end - at < LN_TILE ? end - at : LN_TILE);
    }
}

/* Strings --------------------------------------------------------------------------------------------------- */

/* Takes a decimal number apart: its digits without zeros around them, and the power of ten of the first. */
static int split_number(const char *text, char *digits, int *power) {
    int count = 0;
    int before_point = 0;
    bool point = false;
    *power = 0;
    for (; *text != 0 && *text != 'e'; text++) {
        point = point || *text == '.';
        if (*text < '0' || *text > '9') {
            continue;
        }
        if (count > 0 || *text != '0') {
            digits[count++] = *text;
            before_point += !point;
        } else {
            before_point -= point;
        }
    }
    if (*text == 'e') {
        double exponent = 0;
        ln_parse_number(text + 1, strlen(text + 1), &exponent);
        before_point += (int)exponent;
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    *power = before_point - 1;
    return count;
}

/* Plain where the power of ten is small, else with an exponent of two digits or more: the form of C's %g. */
static size_t write_float(char *buffer, size_t bytes, double value, int most_plain) {
    if (value != value) {
        return ln_format(buffer, bytes, "NaN");
    }
    if (value - value != 0) {
        return ln_format(buffer, bytes, "%s", value > 0 ? "INF" : "-INF");
    }
    char text[48];
    char digits[48];
    int power;
    const size_t length = ln_format_number(text, sizeof(text), value);
    const int count = split_number(text, digits, &power);
    if (value == 0 || (power >= -5 && power < most_plain && memchr(text, 'e', length) == NULL)) {
        return ln_format(buffer, bytes, "%s", text);
    }
    const int size = power < 0 ? -power : power;
    return ln_format(buffer, bytes, "%s%c%s%.*se%c%s%d", value < 0 ? "-" : "", digits[0],
                     count > 1 ? "." : "", count - 1, digits + 1, power < 0 ? '-' : '+', size < 10 ? "0" : "",
                     size);
}

static ln_status write_strings(ln_op *op, const ln_value *x, ln_value *y) {
    const int64_t count = ln_value_count(x);
    ln_string *strings = y->data;
    for (int64_t i = 0; i < count; i++) {
        char buffer[40];
        size_t length;
        if (ln_dtype_is_float(x->dtype)) {
            double value;
            ln_load_f64(x->dtype, x->data, i, 1, &value);
            length = write_float(buffer, sizeof(buffer), value, x->dtype == LN_DOUBLE ? 17 : 8);
        } else {
            int64_t value;
            ln_load_i64(x->dtype, x->data, i, 1, &value);
            length = x->dtype == LN_UINT64
                         ? ln_format(buffer, sizeof(buffer), "%llu", (unsigned long long)value)
                         : ln_format(buffer, sizeof(buffer), "%lld", (long long)value);
        }
        const char *text = ln_arena_text(op->texts, buffer, length);
        if (text == NULL) {
            return LN_OUT_OF_MEMORY;
        }
        strings[i] = (ln_string){text, length};
    }
    return LN_OK;
}

/* An integer of at most 20 digits, exactly; false for anything else. */
static bool parse_integer(const ln_string *text, int64_t *value) {
    size_t at = text->length > 0 && (text->data[0] == '-' || text->data[0] == '+') ? 1 : 0;
    uint64_t magnitude = 0;
    if (at == text->length) {
        return false;
    }
    for (size_t i = at; i < text->length; i++) {
        const unsigned digit = (unsigned)(unsigned char)text->data[i] - '0';
        if (digit > 9 || magnitude > (UINT64_MAX - digit) / 10) {
            return false;
        }
        magnitude = magnitude * 10 + digit;
    }
    *value = (int64_t)(text->data[0] == '-' ? 0 - magnitude : magnitude);
    return true;
}

static bool parse_word(const ln_string *text, double *value) {
    if (text->length == 4 && (memcmp(text->data, "true", 4) == 0 || memcmp(text->data, "True", 4) == 0)) {
        *value = 1;
        return true;
    }
    if (text->length == 5 && (memcmp(text->data, "false", 5) == 0 || memcmp(text->data, "False", 5) == 0)) {
        *value = 0;
        return true;
    }
    return false;
}

static ln_string trim(ln_string text) {
    while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t' || text.data[0] == '\n')) {
        text.data++;
        text.length--;
    }
    while (text.length > 0 && (text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\n')) {
        text.length--;
    }
    return text;
}

static ln_status read_strings(ln_op *op, const ln_value *x, ln_value *y) {
    const cast_params *params = op->params;
    const int64_t count = ln_value_count(x);
    const ln_string *strings = x->data;
    const bool integers = ln_dtype_is_integer(y->dtype);
    for (int64_t i = 0; i < count; i++) {
        const ln_string text = trim(strings[i]);
        int64_t whole;
        double value;
        if (integers && parse_integer(&text, &whole)) {
            ln_store_i64(y->dtype, y->data, i, 1, &whole);
            continue;
        }
        const bool parsed = ln_parse_number(text.data, text.length, &value) ||
                            (y->dtype == LN_BOOL && parse_word(&text, &value));
        LN_OP_CHECK(op, parsed, INVALID_VALUE, "element %lld is \"%.*s\", which is not a number",
                    (long long)i, (int)(text.length < 40 ? text.length : 40), text.data);
        store_double(params, y, i, 1, &value);
    }
    return LN_OK;
}

static ln_status run_cast(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    if (x->dtype == y->dtype) {
        if (x->data != y->data) {
            memcpy(y->data, x->data, ln_value_bytes(x));
        }
        return LN_OK;
    }
    if (y->dtype == LN_STRING) {
        return write_strings(op, x, y);
    }
    if (x->dtype == LN_STRING) {
        return read_strings(op, x, y);
    }
    return ln_op_grid(op, cast_task, ln_op_tasks(ln_value_count(x), CAST_GRAIN));
}

/* BitCast --------------------------------------------------------------------------------------------------- */

static ln_status infer_bit_cast(ln_op *op) {
    const ln_dtype from = ln_in(op, 0)->dtype;
    const ln_dtype to = op->node->output_dtype;
    LN_OP_CHECK(op, ln_dtype_bits(from) == ln_dtype_bits(to), INVALID_TYPE,
                "elements of %s have %u bits and those of %s have %u: they must be equal",
                ln_dtype_name(from), ln_dtype_bits(from), ln_dtype_name(to), ln_dtype_bits(to));
    return infer_cast(op);
}

static ln_status run_bit_cast(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    if (x->data != y->data) {
        memcpy(y->data, x->data, ln_value_bytes(x));
    }
    return LN_OK;
}

/* Rows ------------------------------------------------------------------------------------------------------ */

#define CAST(since, until, types, build)                                                                     \
    {"Cast", "",         since,    until, "A>B",           {types, types},                                   \
     build,  infer_cast, run_cast, NULL,  LN_OP_INPLACE_0, NULL}
#define LIKE(since, until, types)                                                                            \
    {"CastLike", "",         since,    until, "AB>B",          {types, types},                               \
     build_like, infer_like, run_cast, NULL,  LN_OP_INPLACE_0, NULL}

#define T_1    (LN_T_NUMBER | LN_BIT(LN_BOOL))
#define T_9    (T_1 | LN_BIT(LN_STRING))
#define T_13   (T_9 | LN_BIT(LN_BFLOAT16))
#define T_19   (LN_T_ALL_IR9 & ~LN_T_COMPLEX)
#define T_21   (LN_T_ALL_IR10 & ~LN_T_COMPLEX)
#define T_23   (LN_T_ALL_IR11 & ~LN_T_COMPLEX)
#define T_24   (LN_T_ALL_IR12 & ~LN_T_COMPLEX)
#define T_25   (LN_T_ALL_IR13 & ~LN_T_COMPLEX)
#define T_BITS (LN_T_ALL_IR13 & ~LN_BIT(LN_STRING))

static const ln_op_row rows[] = {
    CAST(1, 5, T_1, build_cast_1),
    CAST(6, 8, T_1, build_cast),
    CAST(9, 12, T_9, build_cast),
    CAST(13, 18, T_13, build_cast),
    CAST(19, 20, T_19, build_cast),
    CAST(21, 22, T_21, build_cast),
    CAST(23, 23, T_23, build_cast),
    CAST(24, 24, T_24, build_cast),
    CAST(25, 27, T_25, build_cast),
    CAST(28, LN_OPEN, T_25 | LN_T_FLOAT6, build_cast),
    LIKE(15, 18, T_13),
    LIKE(19, 20, T_19),
    LIKE(21, 22, T_21),
    LIKE(23, 23, T_23),
    LIKE(24, 24, T_24),
    LIKE(25, LN_OPEN, T_25),
    {"BitCast",
     "",
     26,
     LN_OPEN,
     "A>B",
     {T_BITS, T_BITS},
     build_cast,
     infer_bit_cast,
     run_bit_cast,
     NULL,
     LN_OP_INPLACE_0,
     NULL},
};

LN_FAMILY_TABLE(cast, rows);
