/* ai.onnx.ml, maps: ZipMap, DictVectorizer, CastMap.
 *
 * A map is two tensors of one length, keys and values (base/value.h), in no particular order.
 */
#include <string.h>

#include "ops/key_index.h"
#include "ops/ml_scores.h"

/* ZipMap ----------------------------------------------------------------------------------------------------------- */

typedef struct zip_params {
    ln_labels labels;
} zip_params;

static ln_status build_zip(ln_build *build) {
    zip_params *params = ln_build_params(build, sizeof(*params));
    return params == NULL
               ? ln_build_status(build)
               : ln_labels_attr(build, "classlabels_strings", "classlabels_int64s", &params->labels);
}

static ln_status infer_zip(ln_op *op) {
    const zip_params *params = op->params;
    int64_t rows, columns;
    LN_TRY(ln_table_shape(op, &rows, &columns));
    LN_OP_CHECK(op, columns == params->labels.count, INVALID_SHAPE,
                "the input has %lld columns for %d labels", (long long)columns, params->labels.count);
    LN_OP_CHECK(op, rows < INT32_MAX, LIMIT_EXCEEDED, "%lld rows are too many", (long long)rows);
    if (ln_out(op, 0) != NULL) {
        ln_out(op, 0)->kind = LN_KIND_SEQUENCE;
        ln_out(op, 0)->dtype = LN_FLOAT;
    }
    return LN_OK;
}

static ln_status append_row(ln_op *op, const ln_value *keys, const float *row) {
    const zip_params *params = op->params;
    const ln_value values = ln_list_of_floats(row, params->labels.count);
    ln_value map = {0};
    ln_status status = ln_value_make_items(op->context, &map, LN_KIND_MAP, keys->dtype, 2);
    status = status != LN_OK ? status : ln_value_append(op->context, &map, keys);
    status = status != LN_OK ? status : ln_value_append(op->context, &map, &values);
    status = status != LN_OK ? status : ln_value_append(op->context, ln_out(op, 0), &map);
    ln_value_release(op->context, &map);
    return status;
}

static ln_status run_zip(ln_op *op) {
    const zip_params *params = op->params;
    const ln_labels *labels = &params->labels;
    const ln_value *x = ln_in(op, 0);
    const int64_t rows = x->shape.rank == 1 ? 1 : x->shape.dims[0];
    const ln_value keys = labels->strings != NULL ? ln_list_of_strings(labels->strings, labels->count)
                                                  : ln_list_of_ints(labels->ints, labels->count);
    if (ln_out(op, 0) == NULL) {
        return LN_OK;
    }
    LN_TRY(ln_op_make_items(op, 0, LN_KIND_SEQUENCE, LN_FLOAT, (int32_t)rows));
    for (int64_t row = 0; row < rows; row++) {
        LN_TRY(append_row(op, &keys, (const float *)x->data + row * labels->count));
    }
    return LN_OK;
}

/* Input 0 as a map with tensors of one length. */
static ln_status read_map(ln_op *op, const ln_value **keys, const ln_value **values) {
    const ln_value *map = ln_in(op, 0);
    LN_OP_CHECK(op, map->kind == LN_KIND_MAP && ln_value_items(map) == 2, INVALID_TYPE,
                "the input is not a map");
    *keys = ln_value_item(map, 0);
    *values = ln_value_item(map, 1);
    LN_OP_CHECK(op,
                (*keys)->kind == LN_KIND_TENSOR && (*values)->kind == LN_KIND_TENSOR &&
                    ln_value_count(*keys) == ln_value_count(*values),
                INVALID_TYPE, "the map does not hold numbers or strings");
    return LN_OK;
}

/* DictVectorizer ---------------------------------------------------------------------------------------------------- */

typedef struct dict_params {
    ln_key_index vocabulary;
} dict_params;

static ln_status build_dict(ln_build *build) {
    dict_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    int n_strings = 0;
    int n_ints = 0;
    const ln_string *strings = ln_attr_strings(build, "string_vocabulary", &n_strings);
    const int64_t *ints = ln_attr_ints(build, "int64_vocabulary", &n_ints);
    LN_TRY(ln_build_status(build));
    if ((n_strings > 0) == (n_ints > 0)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "exactly one of string_vocabulary and int64_vocabulary is required");
    }
    const ln_value list =
        n_strings > 0 ? ln_list_of_strings(strings, n_strings) : ln_list_of_ints(ints, n_ints);
    return ln_key_index_build(build, &params->vocabulary, &list);
}

static ln_status infer_tensor(ln_op *op) {
    if (ln_out(op, 0) != NULL) {
        ln_out(op, 0)->kind = LN_KIND_TENSOR;
        ln_out(op, 0)->dtype = op->node->output_dtype;
    }
    return LN_OK;
}

static size_t element_bytes(ln_dtype dtype) {
    return dtype == LN_STRING ? sizeof(ln_string) : ln_dtype_bits(dtype) / 8;
}

static ln_status make_row(ln_op *op, ln_dtype dtype, int64_t count) {
    const int64_t dims[] = {1, count};
    const ln_shape shape = ln_shape_of(2, dims);
    LN_TRY(ln_op_make(op, 0, dtype, &shape));
    if (ln_out(op, 0) != NULL) {
        memset(ln_out(op, 0)->data, 0, (size_t)count * element_bytes(dtype));
    }
    for (int64_t i = 0; i < count && dtype == LN_STRING && ln_out(op, 0) != NULL; i++) {
        ((ln_string *)ln_out(op, 0)->data)[i] = (ln_string){"", 0};
    }
    return LN_OK;
}

static ln_status run_dict(ln_op *op) {
    const dict_params *params = op->params;
    const ln_value *keys, *values;
    LN_TRY(read_map(op, &keys, &values));
    LN_TRY(make_row(op, values->dtype, params->vocabulary.count));
    const int64_t count = ln_value_count(keys);
    const size_t width = element_bytes(values->dtype);
    for (int64_t i = 0; i < count && ln_out(op, 0) != NULL; i++) {
        ln_key key;
        LN_OP_CHECK(op, ln_key_load(&params->vocabulary, keys, i, &key), INVALID_TYPE,
                    "the map has keys of type %s, the vocabulary is of another type",
                    ln_dtype_name(keys->dtype));
        const int32_t place = ln_key_index_find(&params->vocabulary, &key);
        if (place >= 0) {
            memcpy((uint8_t *)ln_out(op, 0)->data + (size_t)place * width,
                   (const uint8_t *)values->data + (size_t)i * width, width);
        }
    }
    return LN_OK;
}

/* CastMap ------------------------------------------------------------------------------------------------------------- */

typedef struct cast_map_params {
    bool sparse;
    int64_t max_map;
} cast_map_params;

static ln_status build_cast_map(ln_build *build) {
    static const char *const forms[] = {"DENSE", "SPARSE", NULL};
    static const char *const types[] = {"TO_FLOAT", "TO_STRING", "TO_INT64", NULL};
    static const ln_dtype dtypes[] = {LN_FLOAT, LN_STRING, LN_INT64};
    cast_map_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->sparse = ln_attr_choice(build, "map_form", forms, 0) == 1;
        params->max_map = ln_attr_int(build, "max_map", 1);
        build->node->output_dtype = dtypes[ln_attr_choice(build, "cast_to", types, 0)];
    }
    return ln_build_status(build);
}

/* Six decimals, as C's %f gives; numbers too large for that are written as they are. */
static size_t format_fixed(char *buffer, size_t bytes, double number) {
    const double size = number < 0 ? -number : number;
    if (!(size < 9e12)) {
        return ln_format_number(buffer, bytes, number);
    }
    const long long millionths = (long long)(size * 1e6 + 0.5);
    char decimals[16];
    ln_format(decimals, sizeof(decimals), "%lld", 1000000 + millionths % 1000000);
    return ln_format(buffer, bytes, "%s%lld.%s", number < 0 ? "-" : "", millionths / 1000000, decimals + 1);
}

static ln_status cast_element(ln_op *op, const ln_value *values, int64_t from, ln_value *y, int64_t to) {
    if (values->dtype == LN_STRING) {
        const ln_string text = ((const ln_string *)values->data)[from];
        if (y->dtype == LN_STRING) {
            ((ln_string *)y->data)[to] = text;
            return LN_OK;
        }
        double number;
        LN_OP_CHECK(op, ln_parse_number(text.data, text.length, &number), INVALID_VALUE,
                    "\"%.*s\" is not a number", (int)(text.length < 40 ? text.length : 40), text.data);
        ln_store_f64(y->dtype, y->data, to, 1, &number);
        return LN_OK;
    }
    double number;
    ln_load_f64(values->dtype, values->data, from, 1, &number);
    if (y->dtype != LN_STRING) {
        ln_store_f64(y->dtype, y->data, to, 1, &number);
        return LN_OK;
    }
    char buffer[40];
    const size_t length = format_fixed(buffer, sizeof(buffer), number);
    const char *text = ln_arena_text(op->texts, buffer, length);
    ((ln_string *)y->data)[to] = (ln_string){text, length};
    return text == NULL ? LN_OUT_OF_MEMORY : LN_OK;
}

static int64_t key_at(const ln_value *keys, int64_t index) {
    return ((const int64_t *)keys->data)[index];
}

/* How many keys are smaller: the place of a value in ascending order. */
static int64_t rank_of(const ln_value *keys, int64_t count, int64_t index) {
    int64_t rank = 0;
    for (int64_t i = 0; i < count; i++) {
        rank +=
            key_at(keys, i) < key_at(keys, index) || (key_at(keys, i) == key_at(keys, index) && i < index);
    }
    return rank;
}

static ln_status run_cast_map(ln_op *op) {
    const cast_map_params *params = op->params;
    const ln_value *keys, *values;
    LN_TRY(read_map(op, &keys, &values));
    LN_OP_CHECK(op, keys->dtype == LN_INT64, INVALID_TYPE, "the map has keys of type %s, expected int64",
                ln_dtype_name(keys->dtype));
    const int64_t count = ln_value_count(keys);
    LN_TRY(make_row(op, op->node->output_dtype, params->sparse ? params->max_map : count));
    for (int64_t i = 0; i < count && ln_out(op, 0) != NULL; i++) {
        const int64_t key = key_at(keys, i);
        LN_OP_CHECK(op, !params->sparse || (key >= 0 && key < params->max_map), INVALID_VALUE,
                    "key %lld is out of range for max_map %lld", (long long)key, (long long)params->max_map);
        LN_TRY(cast_element(op, values, i, ln_out(op, 0), params->sparse ? key : rank_of(keys, count, i)));
    }
    return LN_OK;
}

/* Rows ------------------------------------------------------------------------------------------------------------------ */

#define T_LIST (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT64) | LN_BIT(LN_STRING))
#define ML(name, signature, build, infer, run)                                                               \
    {name, "ai.onnx.ml", 1, LN_OPEN, signature, {T_LIST}, build, infer, run, NULL, LN_OP_DYNAMIC, NULL}

static const ln_op_row rows[] = {
    ML("ZipMap", "f>{}", build_zip, infer_zip, run_zip),
    ML("DictVectorizer", "{}>A", build_dict, infer_tensor, run_dict),
    ML("CastMap", "{}>A", build_cast_map, infer_tensor, run_cast_map),
};

LN_FAMILY_TABLE(ml_map, rows);
