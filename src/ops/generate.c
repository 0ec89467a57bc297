/* Tensors out of parameters: Constant, ConstantOfShape, Range, EyeLike and window functions.
 *
 * Each computes tiles of doubles (Range of integers: int64) for the range of one task and stores them in the output's
 * type.
 */
#include <math.h>
#include <string.h>

#include "ops/generate.h"
#include "ops/move.h"

enum { GENERATE_GRAIN = 8192 };

void ln_element_range(const ln_op *op, int64_t index, int64_t *begin, int64_t *end) {
    const int64_t count = ln_value_count(ln_out(op, 0));
    ln_op_range(count, ln_op_tasks(count, GENERATE_GRAIN), index, begin, end);
}

ln_status ln_offer_elements(ln_op *op, ln_op_task task) {
    const ln_value *output = ln_out(op, 0);
    const int64_t count = output ? ln_value_count(output) : 0;
    return count > 0 ? ln_op_grid(op, task, ln_op_tasks(count, GENERATE_GRAIN)) : LN_OK;
}

ln_dtype ln_attr_dtype(ln_build *build, const char *name, ln_dtype otherwise) {
    const int64_t dtype = ln_attr_int(build, name, otherwise);
    const bool valid =
        dtype == LN_UNDEFINED || (dtype > 0 && dtype < LN_DTYPE_COUNT && ln_dtype_valid((int)dtype));
    if (!valid) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute '%s' is %lld, which is no element type", name,
                      (long long)dtype);
        return otherwise;
    }
    return (ln_dtype)dtype;
}

ln_status ln_check_output_dtype(ln_build *build, int variable) {
    const ln_dtype dtype = build->node->output_dtype;
    if (!(build->node->row->types[variable] & LN_BIT(dtype))) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "an output of type %s is not possible",
                             ln_dtype_name(dtype));
    }
    return ln_build_status(build);
}

ln_status ln_output_dtype_attr(ln_build *build, const char *name, int variable) {
    build->node->output_dtype = ln_attr_dtype(build, name, LN_UNDEFINED);
    return build->node->output_dtype != LN_UNDEFINED ? ln_check_output_dtype(build, variable)
                                                     : ln_build_status(build);
}

/* Constant ---------------------------------------------------------------------------------------------- */

/* The value as a header; its bytes live in the model. Most Constant nodes are gone before a row is looked for. */
typedef struct constant_params {
    ln_value value;
} constant_params;

static void constant_list(constant_params *params, ln_dtype dtype, int rank, int64_t count,
                          const void *data) {
    const ln_shape shape = ln_shape_of(rank, &count);
    params->value = ln_value_header(dtype, &shape);
    params->value.data = (void *)(uintptr_t)data;
}

static ln_status build_constant(ln_build *build) {
    constant_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    static const struct {
        const char *name;
        ln_attribute_type type;
        ln_dtype dtype;
        int rank;
    } forms[] = {{"value_float", LN_ATTRIBUTE_FLOAT, LN_FLOAT, 0},
                 {"value_int", LN_ATTRIBUTE_INT, LN_INT64, 0},
                 {"value_string", LN_ATTRIBUTE_STRING, LN_STRING, 0},
                 {"value_floats", LN_ATTRIBUTE_FLOATS, LN_FLOAT, 1},
                 {"value_ints", LN_ATTRIBUTE_INTS, LN_INT64, 1},
                 {"value_strings", LN_ATTRIBUTE_STRINGS, LN_STRING, 1}};
    const ln_value *tensor = ln_attr_tensor(build, "value");
    if (tensor) {
        params->value = *tensor;
        params->value.owner = NULL;
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && !tensor; i++) {
        const ln_attribute *attribute = ln_node_attribute(build->node, forms[i].name);
        if (attribute && attribute->type == forms[i].type) {
            constant_list(params, forms[i].dtype, forms[i].rank, attribute->count, attribute->as.floats);
            break;
        }
    }
    if (params->value.kind != LN_KIND_TENSOR || !params->value.data) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "no attribute holds the constant's value");
    }
    build->node->output_dtype = params->value.dtype;
    return ln_build_status(build);
}

static ln_status infer_constant(ln_op *op) {
    const constant_params *params = op->params;
    return ln_op_shape(op, 0, params->value.dtype, &params->value.shape);
}

static ln_status run_constant(ln_op *op) {
    const constant_params *params = op->params;
    if (ln_out(op, 0)) {
        memcpy(ln_out(op, 0)->data, params->value.data, ln_value_bytes(&params->value));
    }
    return LN_OK;
}

/* ConstantOfShape --------------------------------------------------------------------------------------- */

typedef struct fill_params {
    unsigned char element[16]; /* packed types: as many copies as fit a byte */
} fill_params;

static ln_status build_fill(ln_build *build) {
    fill_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    const ln_value *value = ln_attr_tensor(build, "value");
    build->node->output_dtype = value ? value->dtype : LN_FLOAT;
    if (!value) {
        return ln_build_status(build);
    }
    if (ln_value_count(value) != 1 || !value->data) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute 'value' must hold one element");
    }
    if (ln_is_packed(value->dtype)) {
        uint8_t element;
        ln_unpack(value->dtype, value->data, 0, 1, &element);
        for (int i = 0; i < 8 / (int)ln_dtype_bits(value->dtype); i++) {
            ln_repack(value->dtype, params->element, i, 1, &element);
        }
    } else {
        memcpy(params->element, value->data, ln_width(value->dtype));
    }
    return ln_check_output_dtype(build, 0);
}

static ln_status infer_fill(ln_op *op) {
    int64_t dims[LN_MAX_RANK];
    int rank;
    LN_TRY(ln_op_ints(op, 0, dims, LN_MAX_RANK, &rank));
    const ln_shape shape = ln_shape_of(rank, dims);
    return ln_op_shape(op, 0, op->node->output_dtype, &shape);
}

/* Counts in bytes for packed types, whose elements all look alike. */
static void fill_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const fill_params *params = op->params;
    const ln_value *output = ln_out(op, 0);
    const int64_t width = (int64_t)ln_width(output->dtype);
    const int64_t count = (int64_t)ln_value_bytes(output) / width;
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(ln_value_count(output), GENERATE_GRAIN), index, &begin, &end);
    ln_fill((unsigned char *)output->data + begin * width, end - begin, (size_t)width, params->element);
}

static ln_status run_fill(ln_op *op) {
    const ln_value *output = ln_out(op, 0);
    return output ? ln_op_grid(op, fill_task, ln_op_tasks(ln_value_count(output), GENERATE_GRAIN)) : LN_OK;
}

/* Range ------------------------------------------------------------------------------------------------- */

typedef struct range_local {
    bool integer;
    double start, delta;
    int64_t int_start, int_delta;
} range_local;

static ln_status infer_range(ln_op *op) {
    range_local *local = LN_LOCAL(op, range_local);
    double limit = 0;
    int64_t int_limit = 0;
    double count;
    local->integer = ln_dtype_is_integer(ln_in(op, 0)->dtype);
    local->delta = 1; /* com.microsoft's Range may leave it out */
    local->int_delta = 1;
    if (local->integer) {
        LN_TRY(ln_op_int(op, 0, &local->int_start));
        LN_TRY(ln_op_int(op, 1, &int_limit));
        LN_TRY(ln_op_int(op, 2, &local->int_delta));
        LN_OP_CHECK(op, local->int_delta != 0, INVALID_VALUE, "delta is 0, expected another number");
        const bool up = local->int_delta > 0;
        const bool empty = up ? int_limit <= local->int_start : int_limit >= local->int_start;
        /* Unsigned arithmetic: distance and step fit whatever the signs are. */
        const uint64_t distance = up ? (uint64_t)int_limit - (uint64_t)local->int_start
                                     : (uint64_t)local->int_start - (uint64_t)int_limit;
        const uint64_t step = up ? (uint64_t)local->int_delta : 0 - (uint64_t)local->int_delta;
        count = empty ? 0 : (double)((distance - 1) / step + 1);
    } else {
        LN_TRY(ln_op_number(op, 0, &local->start));
        LN_TRY(ln_op_number(op, 1, &limit));
        LN_TRY(ln_op_number(op, 2, &local->delta));
        LN_OP_CHECK(op, local->delta != 0, INVALID_VALUE, "delta is 0, expected another number");
        count = ceil((limit - local->start) / local->delta);
    }
    LN_OP_CHECK(op, count < 0x1p62, LIMIT_EXCEEDED,
                "the range has too many elements, or its ends are not finite");
    const int64_t dim = count > 0 ? (int64_t)count : 0;
    const ln_shape shape = ln_shape_of(1, &dim);
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

static void range_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const range_local *local = LN_LOCAL(op, const range_local);
    const ln_value *output = ln_out(op, 0);
    int64_t begin, end;
    ln_element_range(op, index, &begin, &end);
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        if (local->integer) {
            int64_t tile[LN_TILE];
            for (int64_t i = 0; i < n; i++) {
                tile[i] =
                    (int64_t)((uint64_t)local->int_start + (uint64_t)(at + i) * (uint64_t)local->int_delta);
            }
            ln_store_i64(output->dtype, output->data, at, n, tile);
        } else {
            double tile[LN_TILE];
            for (int64_t i = 0; i < n; i++) {
                tile[i] = local->start + (double)(at + i) * local->delta;
            }
            ln_store_f64(output->dtype, output->data, at, n, tile);
        }
    }
}

static ln_status run_range(ln_op *op) {
    return ln_offer_elements(op, range_task);
}

/* EyeLike ----------------------------------------------------------------------------------------------- */

typedef struct eye_params {
    int64_t k;
    ln_dtype dtype; /* LN_UNDEFINED: that of the input */
} eye_params;

static ln_status build_eye(ln_build *build) {
    eye_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->k = ln_attr_int(build, "k", 0);
        LN_TRY(ln_output_dtype_attr(build, "dtype", 1));
        params->dtype = build->node->output_dtype;
    }
    return ln_build_status(build);
}

static ln_status infer_eye(ln_op *op) {
    const eye_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    LN_OP_CHECK(op, input->shape.rank == 2, INVALID_SHAPE, "the input has rank %d, expected 2",
                (int)input->shape.rank);
    return ln_op_shape(op, 0, params->dtype != LN_UNDEFINED ? params->dtype : input->dtype, &input->shape);
}

static ln_status run_eye(ln_op *op) {
    const eye_params *params = op->params;
    const ln_value *output = ln_out(op, 0);
    if (!output) {
        return LN_OK;
    }
    const int64_t height = output->shape.dims[0];
    const int64_t width = output->shape.dims[1];
    const int64_t k = params->k < -height ? -height : params->k > width ? width : params->k;
    const int32_t one = 1;
    memset(output->data, 0, ln_value_bytes(output));
    for (int64_t row = k < 0 ? -k : 0; row < height && row + k < width; row++) {
        ln_store_i32(output->dtype, output->data, row * width + row + k, 1, &one);
    }
    return LN_OK;
}

/* Windows ----------------------------------------------------------------------------------------------- */

/* a[0] - a[1] cos(2 pi i / n) + a[2] cos(4 pi i / n). */
typedef struct window_kind {
    const char *name;
    double a[3];
} window_kind;

static const window_kind windows[] = {
    {"HannWindow", {0.5, 0.5, 0}},
    {"HammingWindow", {25.0 / 46, 21.0 / 46, 0}},
    {"BlackmanWindow", {0.42, 0.5, 0.08}},
};

typedef struct window_params {
    const window_kind *kind;
    bool periodic;
} window_params;

static ln_status build_window(ln_build *build) {
    window_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->kind = windows;
        while (strcmp(params->kind->name, build->node->op_type) != 0) {
            params->kind++;
        }
        params->periodic = ln_attr_bool(build, "periodic", true);
        build->node->output_dtype = ln_attr_dtype(build, "output_datatype", LN_FLOAT);
        return ln_check_output_dtype(build, 1);
    }
    return ln_build_status(build);
}

static ln_status infer_window(ln_op *op) {
    int64_t size = 0;
    LN_TRY(ln_op_int(op, 0, &size));
    LN_OP_CHECK(op, size >= 0, INVALID_VALUE, "the window's size is %lld, expected 0 or more",
                (long long)size);
    const ln_shape shape = ln_shape_of(1, &size);
    return ln_op_shape(op, 0, op->node->output_dtype, &shape);
}

static void window_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const window_params *params = op->params;
    const double *a = params->kind->a;
    const ln_value *output = ln_out(op, 0);
    const int64_t size = output->shape.dims[0];
    const int64_t period = params->periodic ? size : size - 1;
    int64_t begin, end;
    ln_element_range(op, index, &begin, &end);
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        double tile[LN_TILE];
        for (int64_t i = 0; i < n; i++) {
            const double angle =
                2 * 3.14159265358979323846 * (double)(at + i) / (double)(period > 0 ? period : 1);
            tile[i] = period > 0 ? a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle) : 1;
        }
        ln_store_f64(output->dtype, output->data, at, n, tile);
    }
}

static ln_status run_window(ln_op *op) {
    return ln_offer_elements(op, window_task);
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run, flags)                                  \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, flags, NULL}
#define CONSTANT(since, until, types)                                                                        \
    ROW("Constant", since, until, ">A", types, build_constant, infer_constant, run_constant, 0)
#define FILL(since, until, types)                                                                            \
    ROW("ConstantOfShape", since, until, "l>A", types, build_fill, infer_fill, run_fill, 0)
#define RANGE(since, until, types)                                                                           \
    ROW("Range", since, until, "AAA>A", types, ln_build_nothing, infer_range, run_range, 0)
#define EYE(since, until, types)                                                                             \
    ROW("EyeLike", since, until, "A>B", PAIR(types, types), build_eye, infer_eye, run_eye, LN_OP_SHAPE_ONLY)
#define WINDOW(name)                                                                                         \
    ROW(name, 17, LN_OPEN, "A>B", PAIR(LN_T_INDEX, LN_T_NUMBER_BF), build_window, infer_window, run_window, 0)

#define T_PLAIN    (LN_T_NUMBER | LN_BIT(LN_BOOL))
#define T_PLAIN_BF (LN_T_NUMBER_BF | LN_BIT(LN_BOOL))
#define T_RANGE    (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT16) | LN_T_INDEX)

static const ln_op_row rows[] = {
    CONSTANT(1, 8, LN_T_FLOAT),
    CONSTANT(9, 10, LN_T_ALL),
    CONSTANT(11, 11, LN_T_ALL),
    CONSTANT(12, 12, LN_T_ALL),
    CONSTANT(13, 18, LN_T_ALL_BF),
    CONSTANT(19, 20, LN_T_ALL_IR9),
    CONSTANT(21, 22, LN_T_ALL_IR10),
    CONSTANT(23, 23, LN_T_ALL_IR11),
    CONSTANT(24, 24, LN_T_ALL_IR12),
    CONSTANT(25, LN_OPEN, LN_T_ALL_IR13),
    FILL(9, 19, T_PLAIN),
    FILL(20, 20, T_PLAIN_BF | LN_T_FLOAT8),
    FILL(21, 22, LN_T_ALL_IR10 & ~(LN_T_COMPLEX | LN_BIT(LN_STRING))),
    FILL(23, 23, LN_T_ALL_IR11 & ~(LN_T_COMPLEX | LN_BIT(LN_STRING))),
    FILL(24, 24, LN_T_ALL_IR12 & ~(LN_T_COMPLEX | LN_BIT(LN_STRING))),
    FILL(25, LN_OPEN, LN_T_ALL_IR13 & ~(LN_T_COMPLEX | LN_BIT(LN_STRING))),
    RANGE(11, 26, T_RANGE),
    RANGE(27, LN_OPEN, T_RANGE | LN_T_FLOAT_BF),
    {"Range",
     "com.microsoft",
     1,
     LN_OPEN,
     "AAA?>A",
     {T_RANGE},
     ln_build_nothing,
     infer_range,
     run_range,
     NULL,
     0,
     NULL},
    EYE(9, 21, T_PLAIN),
    EYE(22, LN_OPEN, T_PLAIN_BF),
    WINDOW("HannWindow"),
    WINDOW("HammingWindow"),
    WINDOW("BlackmanWindow"),
};

LN_FAMILY_TABLE(generate, rows);
