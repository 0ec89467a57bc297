/* ai.onnx.ml, numbers in tables of features: Binarizer, Scaler, Imputer, Normalizer, FeatureVectorizer.
 *
 * A table is [N, C], or [C] for one row. All compute in double and store what the operator gives.
 */
#include <math.h>
#include <string.h>

#include "ops/op.h"

/* Elements to the next in the list of per-feature numbers: 0 when one number serves all. */
static int64_t feature_count(const ln_shape *shape) {
    return shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
}

static ln_status check_features(ln_op *op, const char *name, int count) {
    const int64_t features = feature_count(&ln_in(op, 0)->shape);
    LN_OP_CHECK(op, count == 1 || count == features, INVALID_SHAPE,
                "the attribute %s has %d numbers for %lld features", name, count, (long long)features);
    return LN_OK;
}

/* Tiles that never cross a row, so that a tile's features follow each other. */
typedef void (*feature_tile)(const ln_op *op, double *tile, int64_t feature, int64_t n);

static void each_tile(ln_op *op, feature_tile visit) {
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(x);
    const int64_t features = feature_count(&x->shape);
    for (int64_t at = 0; at < count;) {
        double tile[LN_TILE];
        const int64_t feature = at % features;
        const int64_t n = features - feature < LN_TILE ? features - feature : LN_TILE;
        ln_load_f64(x->dtype, x->data, at, n, tile);
        visit(op, tile, feature, n);
        ln_store_f64(y->dtype, y->data, at, n, tile);
        at += n;
    }
}

/* Binarizer ------------------------------------------------------------------------------------------------------ */

typedef struct binarizer_params {
    float threshold;
} binarizer_params;

static ln_status build_binarizer(ln_build *build) {
    binarizer_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->threshold = ln_attr_float(build, "threshold", 0);
    }
    return ln_build_status(build);
}

static void binarize_tile(const ln_op *op, double *tile, int64_t feature, int64_t n) {
    const binarizer_params *params = op->params;
    (void)feature;
    for (int64_t i = 0; i < n; i++) {
        tile[i] = tile[i] > (double)params->threshold;
    }
}

static ln_status run_binarizer(ln_op *op) {
    each_tile(op, binarize_tile);
    return LN_OK;
}

/* Scaler --------------------------------------------------------------------------------------------------------- */

typedef struct scaler_params {
    const float *offset, *scale;
    int n_offset, n_scale;
} scaler_params;

static ln_status build_scaler(ln_build *build) {
    scaler_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        ln_attr_required(build, "offset");
        ln_attr_required(build, "scale");
        params->offset = ln_attr_floats(build, "offset", &params->n_offset);
        params->scale = ln_attr_floats(build, "scale", &params->n_scale);
    }
    return ln_build_status(build);
}

static ln_status infer_scaler(ln_op *op) {
    const scaler_params *params = op->params;
    LN_TRY(check_features(op, "offset", params->n_offset));
    LN_TRY(check_features(op, "scale", params->n_scale));
    return ln_op_shape(op, 0, LN_FLOAT, &ln_in(op, 0)->shape);
}

static void scale_tile(const ln_op *op, double *tile, int64_t feature, int64_t n) {
    const scaler_params *params = op->params;
    for (int64_t i = 0; i < n; i++) {
        const double offset = (double)params->offset[params->n_offset == 1 ? 0 : feature + i];
        tile[i] = (tile[i] - offset) * (double)params->scale[params->n_scale == 1 ? 0 : feature + i];
    }
}

static ln_status run_scaler(ln_op *op) {
    each_tile(op, scale_tile);
    return LN_OK;
}

/* Imputer -------------------------------------------------------------------------------------------------------- */

typedef struct imputer_params {
    const float *floats;
    const int64_t *ints;
    int n_floats, n_ints;
    float replaced_float;
    int64_t replaced_int;
} imputer_params;

static ln_status build_imputer(ln_build *build) {
    imputer_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->floats = ln_attr_floats(build, "imputed_value_floats", &params->n_floats);
        params->ints = ln_attr_ints(build, "imputed_value_int64s", &params->n_ints);
        params->replaced_float = ln_attr_float(build, "replaced_value_float", 0);
        params->replaced_int = ln_attr_int(build, "replaced_value_int64", 0);
    }
    return ln_build_status(build);
}

static ln_status infer_imputer(ln_op *op) {
    const imputer_params *params = op->params;
    const bool floats = ln_dtype_is_float(ln_in(op, 0)->dtype);
    const char *name = floats ? "imputed_value_floats" : "imputed_value_int64s";
    const int count = floats ? params->n_floats : params->n_ints;
    LN_OP_CHECK(op, count > 0, INVALID_ATTRIBUTE, "inputs of type %s need the attribute %s",
                ln_dtype_name(ln_in(op, 0)->dtype), name);
    LN_TRY(check_features(op, name, count));
    return ln_infer_same(op);
}

static void impute_tile(const ln_op *op, double *tile, int64_t feature, int64_t n) {
    const imputer_params *params = op->params;
    const double replaced = (double)params->replaced_float;
    for (int64_t i = 0; i < n; i++) {
        if (tile[i] == replaced || (tile[i] != tile[i] && replaced != replaced)) {
            tile[i] = (double)params->floats[params->n_floats == 1 ? 0 : feature + i];
        }
    }
}

/* Integers stay integers, so that int64 loses no bits. */
static void impute_integers(const imputer_params *params, const ln_value *x, ln_value *y) {
    const int64_t count = ln_value_count(x);
    const int64_t features = feature_count(&x->shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t value;
        ln_load_i64(x->dtype, x->data, i, 1, &value);
        value = value == params->replaced_int ? params->ints[params->n_ints == 1 ? 0 : i % features] : value;
        ln_store_i64(y->dtype, y->data, i, 1, &value);
    }
}

static ln_status run_imputer(ln_op *op) {
    if (ln_dtype_is_float(ln_in(op, 0)->dtype)) {
        each_tile(op, impute_tile);
    } else {
        impute_integers(op->params, ln_in(op, 0), ln_out(op, 0));
    }
    return LN_OK;
}

/* Normalizer ----------------------------------------------------------------------------------------------------- */

enum { NORM_MAX, NORM_L1, NORM_L2 }; /* positions among the choices of the attribute */

typedef struct normalizer_params {
    int norm;
} normalizer_params;

static ln_status build_normalizer(ln_build *build) {
    static const char *const norms[] = {"MAX", "L1", "L2", NULL};
    normalizer_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->norm = ln_attr_choice(build, "norm", norms, 0);
    }
    return ln_build_status(build);
}

static ln_status infer_normalizer(ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, shape->rank == 1 || shape->rank == 2, INVALID_SHAPE,
                "the input must have rank 1 or 2, it has rank %d", (int)shape->rank);
    return ln_op_shape(op, 0, LN_FLOAT, shape);
}

static double row_norm(int norm, const ln_value *x, int64_t first, int64_t n) {
    double result = norm == NORM_MAX ? -INFINITY : 0;
    for (int64_t i = 0; i < n; i++) {
        double value;
        ln_load_f64(x->dtype, x->data, first + i, 1, &value);
        result = norm == NORM_MAX ? (value > result ? value : result)
                                  : result + (norm == NORM_L1 ? fabs(value) : value * value);
    }
    return norm == NORM_L2 ? sqrt(result) : result;
}

static ln_status run_normalizer(ln_op *op) {
    const normalizer_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    float *y = ln_out(op, 0)->data;
    const int64_t features = feature_count(&x->shape);
    const int64_t rows = features > 0 ? ln_value_count(x) / features : 0;
    for (int64_t row = 0; row < rows; row++) {
        const double norm = row_norm(params->norm, x, row * features, features);
        for (int64_t i = row * features; i < (row + 1) * features; i++) {
            double value;
            ln_load_f64(x->dtype, x->data, i, 1, &value);
            y[i] = (float)(norm == 0 ? value : value / norm);
        }
    }
    return LN_OK;
}

/* FeatureVectorizer ------------------------------------------------------------------------------------------------ */

typedef struct vectorizer_params {
    const int64_t *widths;
    int count;
} vectorizer_params;

static ln_status build_vectorizer(ln_build *build) {
    vectorizer_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->widths = ln_attr_ints(build, "inputdimensions", &params->count);
    }
    return ln_build_status(build);
}

static int64_t table_rows(const ln_shape *shape) {
    return shape->rank < 2 ? 1 : shape->dims[0];
}

/* Columns of an input: all axes but the first. */
static int64_t table_columns(const ln_shape *shape) {
    return shape->rank < 2 ? ln_shape_count(shape) : ln_shape_product(shape, 1, shape->rank);
}

static int64_t vector_width(const ln_op *op, int index) {
    const vectorizer_params *params = op->params;
    return index < params->count ? params->widths[index] : table_columns(&ln_in(op, index)->shape);
}

static ln_status infer_vectorizer(ln_op *op) {
    int64_t total = 0;
    const int64_t rows = table_rows(&ln_in(op, 0)->shape);
    for (int i = 0; i < op->n_inputs; i++) {
        const ln_shape *shape = &ln_in(op, i)->shape;
        const int64_t width = vector_width(op, i);
        LN_OP_CHECK(op, table_rows(shape) == rows, INVALID_SHAPE, "input %d has %lld rows, input 0 has %lld",
                    i, (long long)table_rows(shape), (long long)rows);
        LN_OP_CHECK(op, width >= 0 && width < INT32_MAX, INVALID_ATTRIBUTE,
                    "inputdimensions has the entry %lld", (long long)width);
        total += width;
    }
    const int64_t dims[] = {rows, total};
    const ln_shape shape = ln_shape_of(2, dims);
    return ln_op_shape(op, 0, LN_FLOAT, &shape);
}

/* Inputs narrower than inputdimensions says are filled up with zeros. */
static ln_status run_vectorizer(ln_op *op) {
    ln_value *y = ln_out(op, 0);
    const int64_t total = y->shape.dims[1];
    int64_t column = 0;
    memset(y->data, 0, ln_value_bytes(y));
    for (int i = 0; i < op->n_inputs; i++) {
        const ln_value *x = ln_in(op, i);
        const int64_t width = vector_width(op, i);
        const int64_t columns = table_columns(&x->shape);
        const int64_t n = columns < width ? columns : width;
        for (int64_t row = 0; row < y->shape.dims[0]; row++) {
            ln_load_f32(x->dtype, x->data, row * columns, n, (float *)y->data + row * total + column);
        }
        column += width;
    }
    return LN_OK;
}

/* Rows --------------------------------------------------------------------------------------------------------------- */

#define T_NUMBERS (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT32) | LN_BIT(LN_INT64))
#define ML(name, signature, build, infer, run)                                                               \
    {name, "ai.onnx.ml", 1, LN_OPEN, signature, {T_NUMBERS}, build, infer, run, NULL, 0, NULL}

static const ln_op_row rows[] = {
    ML("Binarizer", "A>A", build_binarizer, ln_infer_same, run_binarizer),
    ML("Scaler", "A>f", build_scaler, infer_scaler, run_scaler),
    ML("Imputer", "A>A", build_imputer, infer_imputer, run_imputer),
    ML("Normalizer", "A>f", build_normalizer, infer_normalizer, run_normalizer),
    ML("FeatureVectorizer", "A+>f", build_vectorizer, infer_vectorizer, run_vectorizer),
};

LN_FAMILY_TABLE(ml_features, rows);
