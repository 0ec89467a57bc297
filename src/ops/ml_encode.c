/* ai.onnx.ml, lists and encoders: LabelEncoder, CategoryMapper, OneHotEncoder, ArrayFeatureExtractor.
 *
 * An encoder is a key index over one list and values in another; keys and values are tensors, whichever attributes they came
 * from.
 */
#include <string.h>

#include "ops/key_index.h"

/* LabelEncoder and CategoryMapper ------------------------------------------------------------------------------ */

typedef struct encoder_map {
    ln_key_index keys;
    ln_value values;   /* 1-D */
    ln_value fallback; /* one element */
} encoder_map;

/* One mapping, or two of which the input's type picks one. */
typedef struct encoder_params {
    encoder_map maps[2];
    int count;
    bool nan_is_unknown; /* before version 4, a NaN matches no key */
} encoder_params;

/* The first list attribute that is there: name_strings, name_int64s, name_floats or name_tensor. */
static ln_status read_list(ln_build *build, const char *const names[4], ln_value *list) {
    int count = 0;
    const ln_string *strings = ln_attr_strings(build, names[0], &count);
    if (strings != NULL) {
        *list = ln_list_of_strings(strings, count);
        return LN_OK;
    }
    const int64_t *ints = ln_attr_ints(build, names[1], &count);
    if (ints != NULL) {
        *list = ln_list_of_ints(ints, count);
        return LN_OK;
    }
    const float *floats = ln_attr_floats(build, names[2], &count);
    if (floats != NULL) {
        *list = ln_list_of_floats(floats, count);
        return LN_OK;
    }
    const ln_value *tensor = ln_attr_tensor(build, names[3]);
    if (tensor == NULL) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "one of %s, %s, %s and %s is required", names[0],
                             names[1], names[2], names[3]);
    }
    *list = *tensor;
    return LN_OK;
}

/* A one-element list with the default for values of this type. */
static ln_status read_fallback(ln_build *build, ln_dtype dtype, ln_value *fallback) {
    const ln_value *tensor = ln_attr_tensor(build, "default_tensor");
    if (tensor != NULL) {
        if (tensor->dtype != dtype || ln_value_count(tensor) != 1) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "default_tensor must be one %s",
                                 ln_dtype_name(dtype));
        }
        *fallback = *tensor;
        return LN_OK;
    }
    void *memory = ln_arena_alloc(build->arena, sizeof(ln_string));
    if (memory == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    *fallback = ln_list_of_ints(NULL, 1);
    fallback->dtype = dtype;
    fallback->data = memory;
    if (dtype == LN_STRING) {
        const char *text = ln_attr_string(build, "default_string", "_Unused");
        *(ln_string *)memory = (ln_string){text, strlen(text)};
    } else if (ln_dtype_is_float(dtype)) {
        const float value = ln_attr_float(build, "default_float", -0.0f);
        ln_store_f32(dtype, memory, 0, 1, &value);
    } else {
        const int64_t value = ln_attr_int(build, "default_int64", -1);
        ln_store_i64(dtype, memory, 0, 1, &value);
    }
    return ln_build_status(build);
}

static ln_status add_map(ln_build *build, encoder_params *params, const ln_value *keys,
                         const ln_value *values) {
    encoder_map *map = &params->maps[params->count++];
    if (ln_value_count(keys) != ln_value_count(values)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "there are %lld keys for %lld values",
                             (long long)ln_value_count(keys), (long long)ln_value_count(values));
    }
    map->values = *values;
    LN_TRY(read_fallback(build, values->dtype, &map->fallback));
    return ln_key_index_build(build, &map->keys, keys);
}

static ln_status build_encoder(ln_build *build) {
    static const char *const key_names[] = {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor"};
    static const char *const value_names[] = {"values_strings", "values_int64s", "values_floats",
                                              "values_tensor"};
    encoder_params *params = ln_build_params(build, sizeof(*params));
    ln_value keys, values;
    if (params == NULL) {
        return ln_build_status(build);
    }
    LN_TRY(read_list(build, key_names, &keys));
    LN_TRY(read_list(build, value_names, &values));
    build->node->output_dtype = values.dtype;
    params->nan_is_unknown = build->opset < 4;
    return add_map(build, params, &keys, &values);
}

/* Strings and integers, either way round; the input's type decides. */
static ln_status build_both_ways(ln_build *build, const ln_string *strings, int n_strings,
                                 const int64_t *ints, int n_ints) {
    encoder_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    const ln_value texts = ln_list_of_strings(strings, n_strings);
    const ln_value numbers = ln_list_of_ints(ints, n_ints);
    LN_TRY(add_map(build, params, &texts, &numbers));
    return add_map(build, params, &numbers, &texts);
}

/* Version 1: the classes, numbered from 0. */
static ln_status build_encoder_1(ln_build *build) {
    int count = 0;
    ln_attr_required(build, "classes_strings");
    const ln_string *strings = ln_attr_strings(build, "classes_strings", &count);
    int64_t *numbers = ln_arena_array(build->arena, (size_t)count + 1, sizeof(*numbers));
    if (numbers == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    LN_TRY(ln_build_status(build));
    for (int i = 0; i < count; i++) {
        numbers[i] = i;
    }
    return build_both_ways(build, strings, count, numbers, count);
}

static ln_status build_category(ln_build *build) {
    int n_strings = 0;
    int n_ints = 0;
    ln_attr_required(build, "cats_strings");
    ln_attr_required(build, "cats_int64s");
    const ln_string *strings = ln_attr_strings(build, "cats_strings", &n_strings);
    const int64_t *ints = ln_attr_ints(build, "cats_int64s", &n_ints);
    LN_TRY(ln_build_status(build));
    return build_both_ways(build, strings, n_strings, ints, n_ints);
}

static ln_status pick_map(ln_op *op, const encoder_map **map) {
    const encoder_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    *map = NULL;
    for (int i = 0; i < params->count && *map == NULL; i++) {
        const bool texts = params->maps[i].keys.kind == LN_KEY_STRING;
        *map = texts == (x->dtype == LN_STRING) ? &params->maps[i] : NULL;
    }
    LN_OP_CHECK(op, *map != NULL, INVALID_TYPE, "the input has type %s, the keys are %s",
                ln_dtype_name(x->dtype), params->maps[0].keys.kind == LN_KEY_STRING ? "strings" : "numbers");
    return LN_OK;
}

static ln_status infer_encoder(ln_op *op) {
    const encoder_map *map;
    LN_TRY(pick_map(op, &map));
    return ln_op_shape(op, 0, map->values.dtype, &ln_in(op, 0)->shape);
}

static size_t element_bytes(ln_dtype dtype) {
    return dtype == LN_STRING ? sizeof(ln_string) : ln_dtype_bits(dtype) / 8;
}

static ln_status run_encoder(ln_op *op) {
    const encoder_params *params = op->params;
    const encoder_map *map;
    LN_TRY(pick_map(op, &map));
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const size_t width = element_bytes(y->dtype);
    const int64_t count = ln_value_count(x);
    for (int64_t i = 0; i < count; i++) {
        ln_key key;
        ln_key_load(&map->keys, x, i, &key);
        const bool unknown = params->nan_is_unknown && map->keys.kind == LN_KEY_FLOAT && key.f != key.f;
        const int32_t place = unknown ? -1 : ln_key_index_find(&map->keys, &key);
        const uint8_t *from =
            place < 0 ? map->fallback.data : (const uint8_t *)map->values.data + (size_t)place * width;
        memcpy((uint8_t *)y->data + (size_t)i * width, from, width);
    }
    return LN_OK;
}

/* OneHotEncoder ------------------------------------------------------------------------------------------------- */

typedef struct one_hot_params {
    ln_key_index keys;
    bool zeros; /* an unknown category gives zeros, not an error */
} one_hot_params;

static ln_status build_one_hot(ln_build *build) {
    one_hot_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    int n_strings = 0;
    int n_ints = 0;
    params->zeros = ln_attr_bool(build, "zeros", true);
    const ln_string *strings = ln_attr_strings(build, "cats_strings", &n_strings);
    const int64_t *ints = ln_attr_ints(build, "cats_int64s", &n_ints);
    LN_TRY(ln_build_status(build));
    if ((n_strings > 0) == (n_ints > 0)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "exactly one of cats_strings and cats_int64s is required");
    }
    const ln_value list =
        n_strings > 0 ? ln_list_of_strings(strings, n_strings) : ln_list_of_ints(ints, n_ints);
    return ln_key_index_build(build, &params->keys, &list);
}

static ln_status infer_one_hot(ln_op *op) {
    const one_hot_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    ln_shape shape = x->shape;
    LN_OP_CHECK(op, (params->keys.kind == LN_KEY_STRING) == (x->dtype == LN_STRING), INVALID_TYPE,
                "the input has type %s, the categories are %s", ln_dtype_name(x->dtype),
                params->keys.kind == LN_KEY_STRING ? "strings" : "integers");
    LN_OP_CHECK(op, shape.rank < LN_MAX_RANK, LIMIT_EXCEEDED,
                "the input has rank %d, the output would have one more", (int)shape.rank);
    shape.dims[shape.rank++] = params->keys.count;
    return ln_op_shape(op, 0, LN_FLOAT, &shape);
}

static ln_status run_one_hot(ln_op *op) {
    const one_hot_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    float *y = ln_out(op, 0)->data;
    const int64_t count = ln_value_count(x);
    memset(y, 0, ln_value_bytes(ln_out(op, 0)));
    for (int64_t i = 0; i < count; i++) {
        ln_key key;
        ln_key_load(&params->keys, x, i, &key);
        const int32_t place = ln_key_index_find(&params->keys, &key);
        LN_OP_CHECK(op, place >= 0 || params->zeros, INVALID_VALUE,
                    "element %lld is not among the categories", (long long)i);
        if (place >= 0) {
            y[i * params->keys.count + place] = 1;
        }
    }
    return LN_OK;
}

/* ArrayFeatureExtractor ------------------------------------------------------------------------------------------- */

static ln_status infer_extractor(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    const int64_t count = ln_value_count(ln_in(op, 1));
    LN_OP_CHECK(op, x->shape.rank >= 1, INVALID_SHAPE, "the input must have at least one axis");
    LN_OP_CHECK(op, count > 0, INVALID_SHAPE, "there must be at least one index");
    ln_shape shape = x->shape;
    if (shape.rank == 1) {
        shape.rank = 2;
        shape.dims[0] = 1;
    }
    shape.dims[shape.rank - 1] = count;
    return ln_op_shape(op, 0, x->dtype, &shape);
}

static ln_status run_extractor(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t *indices = ln_in(op, 1)->data;
    const int64_t count = ln_value_count(ln_in(op, 1));
    const int64_t width = x->shape.dims[x->shape.rank - 1];
    const size_t bytes = element_bytes(x->dtype);
    for (int64_t i = 0; i < count; i++) {
        LN_OP_CHECK(op, indices[i] >= 0 && indices[i] < width, INVALID_VALUE,
                    "index %lld is out of range for the last axis of %lld", (long long)indices[i],
                    (long long)width);
    }
    const int64_t rows = count > 0 ? ln_value_count(y) / count : 0;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < count; i++) {
            memcpy((uint8_t *)y->data + (size_t)(row * count + i) * bytes,
                   (const uint8_t *)x->data + (size_t)(row * width + indices[i]) * bytes, bytes);
        }
    }
    return LN_OK;
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

#define T_NUMBERS (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT32) | LN_BIT(LN_INT64))
#define T_TEXT    LN_BIT(LN_STRING)
#define T_ENCODE1 (T_TEXT | LN_BIT(LN_INT64))
#define T_ENCODE2 (T_ENCODE1 | LN_BIT(LN_FLOAT))
#define T_ENCODE4 (T_ENCODE2 | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT32) | LN_BIT(LN_INT16))
#define ML(name, since, until, signature, a, b, build, infer, run)                                           \
    {name, "ai.onnx.ml", since, until, signature, {a, b}, build, infer, run, NULL, 0, NULL}

static const ln_op_row rows[] = {
    ML("LabelEncoder", 1, 1, "A>B", T_ENCODE1, T_ENCODE1, build_encoder_1, infer_encoder, run_encoder),
    ML("LabelEncoder", 2, 3, "A>B", T_ENCODE2, T_ENCODE2, build_encoder, infer_encoder, run_encoder),
    ML("LabelEncoder", 4, LN_OPEN, "A>B", T_ENCODE4, T_ENCODE4, build_encoder, infer_encoder, run_encoder),
    ML("CategoryMapper", 1, LN_OPEN, "A>B", T_ENCODE1, T_ENCODE1, build_category, infer_encoder, run_encoder),
    ML("OneHotEncoder", 1, LN_OPEN, "A>f", T_NUMBERS | T_TEXT, 0, build_one_hot, infer_one_hot, run_one_hot),
    ML("ArrayFeatureExtractor", 1, LN_OPEN, "Al>A", T_NUMBERS | T_TEXT, 0, ln_build_nothing, infer_extractor,
       run_extractor),
};

LN_FAMILY_TABLE(ml_encode, rows);
