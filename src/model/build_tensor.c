/* Tensors, dense, sparse and external, to values; and the list of external data. */
#include <string.h>

#include "base/packed.h"
#include "base/text.h"
#include "model/build.h"

static const char *name_of(const Onnx__TensorProto *proto) {
    return proto->name != NULL ? proto->name : "";
}

static ln_status build_header(ln_builder *builder, const Onnx__TensorProto *proto, size_t n_dims,
                              const int64_t *dims, ln_value *value) {
    ln_context *const context = builder->context;
    LN_CHECK(context, ln_dtype_valid(proto->data_type), INVALID_MODEL,
             "tensor '%s' has the unknown data type %d", name_of(proto), (int)proto->data_type);
    LN_CHECK(context, n_dims <= LN_MAX_RANK, LIMIT_EXCEEDED, "tensor '%s' has rank %zu; the limit is %d",
             name_of(proto), n_dims, (int)LN_MAX_RANK);
    const ln_shape shape = ln_shape_of((int)n_dims, dims);
    size_t bytes = 0;
    LN_CHECK(context, ln_dtype_bytes((ln_dtype)proto->data_type, ln_shape_count(&shape), &bytes),
             INVALID_MODEL, "tensor '%s' has a negative dimension or too many elements", name_of(proto));
    *value = ln_value_header((ln_dtype)proto->data_type, &shape);
    return LN_OK;
}

static ln_status build_strings(ln_builder *builder, const Onnx__TensorProto *proto, ln_value *value) {
    const int64_t count = ln_value_count(value);
    LN_CHECK(builder->context, (uint64_t)count == proto->n_string_data, INVALID_MODEL,
             "tensor '%s' has %zu strings where its shape needs %lld", name_of(proto), proto->n_string_data,
             (long long)count);
    ln_string *const strings = ln_arena_array(builder->arena, (size_t)count, sizeof(*strings));
    if (strings == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < proto->n_string_data; i++) {
        const ProtobufCBinaryData *const from = &proto->string_data[i];
        strings[i].length = from->len;
        strings[i].data = ln_arena_text(builder->arena, (const char *)from->data, from->len);
        if (strings[i].data == NULL) {
            return LN_OUT_OF_MEMORY;
        }
    }
    value->data = strings;
    return LN_OK;
}

static ln_external_entry *add_external(ln_reader *reader) {
    if (reader->n_externals == reader->externals_capacity) {
        const int32_t capacity = reader->externals_capacity > 0 ? reader->externals_capacity * 2 : 8;
        ln_external_entry *const entries =
            ln_arena_array(&reader->model->arena, (size_t)capacity, sizeof(*entries));
        if (entries == NULL) {
            return NULL;
        }
        if (reader->n_externals > 0) {
            memcpy(entries, reader->externals, (size_t)reader->n_externals * sizeof(*entries));
        }
        reader->externals = entries;
        reader->externals_capacity = capacity;
    }
    return &reader->externals[reader->n_externals++];
}

/* A decimal, not negative number of the external_data entries. */
static ln_status external_number(ln_builder *builder, const Onnx__TensorProto *proto, const char *text,
                                 int64_t *number) {
    LN_CHECK(builder->context, text != NULL && ln_parse_integer(text, strlen(text), number) && *number >= 0,
             INVALID_MODEL, "the external data of tensor '%s' has the invalid offset or length '%s'",
             name_of(proto), text != NULL ? text : "");
    return LN_OK;
}

static ln_status build_external(ln_builder *builder, const Onnx__TensorProto *proto, ln_value_id id,
                                ln_value *value) {
    ln_context *const context = builder->context;
    const char *location = NULL;
    int64_t offset = 0;
    int64_t length = -1;
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *const entry = proto->external_data[i];
        const char *const key = entry->key != NULL ? entry->key : "";
        if (strcmp(key, "location") == 0) {
            location = entry->value;
        } else if (strcmp(key, "offset") == 0) {
            LN_TRY(external_number(builder, proto, entry->value, &offset));
        } else if (strcmp(key, "length") == 0) {
            LN_TRY(external_number(builder, proto, entry->value, &length));
        } /* A checksum is one of the whole file, of which only parts are read: it is not looked at. */
    }
    LN_CHECK(context, location != NULL && location[0] != '\0', INVALID_MODEL,
             "the external data of tensor '%s' has no location", name_of(proto));
    LN_CHECK(context, value->dtype != LN_STRING, INVALID_MODEL, "tensor '%s' keeps strings as external data",
             name_of(proto));
    const size_t bytes = ln_value_bytes(value);
    LN_CHECK(context, length < 0 || (uint64_t)length == bytes, INVALID_MODEL,
             "the external data of tensor '%s' has %lld bytes where type and shape need %zu", name_of(proto),
             (long long)length, bytes);
    if (bytes == 0) {
        value->data = ln_arena_alloc(builder->arena, 0);
        return value->data != NULL ? LN_OK : LN_OUT_OF_MEMORY;
    }
    const char *const name = ln_build_text(builder, proto->name);
    location = ln_build_text(builder, location);
    ln_external_entry *const entry = name != NULL && location != NULL ? add_external(builder->reader) : NULL;
    if (entry == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    entry->external = (ln_external){location, (uint64_t)offset, bytes, name, false};
    entry->value = value;
    entry->id = id;
    return LN_OK;
}

/* Moves the bytes of a block to the arena. */
static ln_status settle_in_arena(ln_builder *builder, ln_value *value) {
    const size_t bytes = ln_value_bytes(value);
    void *const data = ln_arena_alloc(builder->arena, bytes);
    if (data != NULL) {
        memcpy(data, value->data, bytes);
    }
    ln_free(builder->context, value->data);
    value->data = data;
    return data != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

ln_status ln_build_tensor(ln_builder *builder, const Onnx__TensorProto *proto, ln_value_id id,
                          ln_value *value, bool *block) {
    ln_read_tensor *const tensor = (ln_read_tensor *)(uintptr_t)proto;
    *block = false;
    LN_TRY(build_header(builder, proto, proto->n_dims, proto->dims, value));
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        return build_external(builder, proto, id, value);
    }
    if (value->dtype == LN_STRING) {
        return build_strings(builder, proto, value);
    }
    const size_t needed = ln_value_bytes(value);
    if (tensor->bytes != needed) {
        char text[LN_SHAPE_TEXT_BYTES];
        return ln_fail(builder->context, LN_INVALID_MODEL, "tensor '%s' has %zu bytes where %s %s needs %zu",
                       name_of(proto), tensor->bytes, ln_dtype_name(value->dtype),
                       ln_shape_text(&value->shape, text), needed);
    }
    value->data = tensor->present ? tensor->data : ln_arena_alloc(builder->arena, 0);
    if (value->data == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    if (tensor->block) {
        tensor->block = false;
        *block = id != 0;
        return id != 0 ? LN_OK : settle_in_arena(builder, value);
    }
    return LN_OK;
}

/* Values, indices and dense shape of a sparse tensor, checked. */
static ln_status build_parts(ln_builder *builder, const Onnx__SparseTensorProto *proto, ln_value *values,
                             ln_value *indices, ln_value *dense) {
    ln_context *const context = builder->context;
    bool block = false;
    LN_CHECK(context, proto->values != NULL, INVALID_MODEL, "a sparse tensor has no values");
    const char *const name = name_of(proto->values);
    LN_TRY(build_header(builder, proto->values, proto->n_dims, proto->dims, dense));
    LN_TRY(ln_build_tensor(builder, proto->values, 0, values, &block));
    const int64_t count = ln_value_count(values);
    if (proto->indices != NULL) {
        LN_TRY(ln_build_tensor(builder, proto->indices, 0, indices, &block));
    } else {
        LN_CHECK(context, count == 0, INVALID_MODEL, "sparse tensor '%s' has no indices", name);
        const ln_shape none = ln_shape_of(1, &count);
        *indices = ln_value_header(LN_INT64, &none);
        indices->data = values->data;
    }
    LN_CHECK(context, values->data != NULL && indices->data != NULL, UNSUPPORTED,
             "sparse tensor '%s' keeps its parts as external data, which only dense tensors may", name);
    const bool linear = indices->shape.rank == 1 && indices->shape.dims[0] == count;
    const bool tuples = indices->shape.rank == 2 && indices->shape.dims[0] == count &&
                        indices->shape.dims[1] == dense->shape.rank;
    LN_CHECK(context, values->shape.rank == 1 && indices->dtype == LN_INT64 && (linear || tuples),
             INVALID_MODEL, "the values and indices of sparse tensor '%s' do not fit", name);
    return LN_OK;
}

/* Position of entry `i` in the dense tensor, or -1 when its index is out of range. */
static int64_t dense_position(const ln_value *indices, const ln_shape *shape, int64_t i) {
    const int64_t *const index = indices->data;
    if (indices->shape.rank == 1) {
        return index[i] >= 0 && index[i] < ln_shape_count(shape) ? index[i] : -1;
    }
    int64_t position = 0;
    for (int axis = 0; axis < shape->rank; axis++) {
        const int64_t at = index[i * shape->rank + axis];
        if (at < 0 || at >= shape->dims[axis]) {
            return -1;
        }
        position = position * shape->dims[axis] + at;
    }
    return position;
}

ln_status ln_build_dense(ln_builder *builder, const Onnx__SparseTensorProto *proto, ln_value *value) {
    ln_context *const context = builder->context;
    ln_value values;
    ln_value indices;
    ln_value dense;
    LN_TRY(build_parts(builder, proto, &values, &indices, &dense));
    const char *const name = name_of(proto->values);
    const unsigned bits = ln_dtype_bits(dense.dtype);
    const size_t width = bits / 8;
    char *const data = ln_alloc_zero(context, ln_value_bytes(&dense), LN_MEMORY_WEIGHTS);
    if (data == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < ln_value_count(&values); i++) {
        const int64_t position = dense_position(&indices, &dense.shape, i);
        if (position < 0) {
            ln_free(context, data);
            return ln_fail(context, LN_INVALID_MODEL, "index %lld of sparse tensor '%s' is out of range",
                           (long long)i, name);
        }
        if (width > 0) {
            memcpy(data + (size_t)position * width, (const char *)values.data + (size_t)i * width, width);
        } else {
            ln_packed_set((uint8_t *)data, position, bits, ln_packed_get(values.data, i, bits));
        }
    }
    dense.data = data;
    *value = dense;
    return LN_OK;
}

ln_status ln_build_sparse(ln_builder *builder, const Onnx__SparseTensorProto *proto, ln_value *value) {
    ln_buffer *const buffer = ln_arena_alloc(builder->arena, sizeof(*buffer));
    ln_value *const items = ln_arena_array(builder->arena, 2, sizeof(*items));
    ln_value dense;
    if (buffer == NULL || items == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    LN_TRY(build_parts(builder, proto, &items[0], &items[1], &dense));
    /* The model counts as a holder, so nobody else frees what is in the arena. */
    *buffer = (ln_buffer){.references = 1, .count = 2, .capacity = 2, .items = items};
    dense.kind = LN_KIND_SPARSE;
    dense.owner = buffer;
    *value = dense;
    return LN_OK;
}

int32_t ln_reader_external_count(const ln_reader *reader) {
    return reader->n_externals;
}

const ln_external *ln_reader_external(const ln_reader *reader, int32_t index) {
    return index >= 0 && index < reader->n_externals ? &reader->externals[index].external : NULL;
}

void *ln_reader_external_target(ln_reader *reader, int32_t index) {
    if (ln_reader_external(reader, index) == NULL) {
        (void)ln_fail(reader->context, LN_INVALID_ARGUMENT, "there is no external data %d", (int)index);
        return NULL;
    }
    ln_external_entry *const entry = &reader->externals[index];
    if (entry->value->data == NULL) {
        const size_t bytes = entry->external.length;
        entry->value->data = entry->id != 0 ? ln_alloc(reader->context, bytes, LN_MEMORY_WEIGHTS)
                                            : ln_arena_alloc(&reader->model->arena, bytes);
        if (entry->id != 0 && entry->value->data != NULL) {
            ln_info(reader->model, entry->id)->constant_block = true;
        }
    }
    return entry->value->data;
}

ln_status ln_reader_external_done(ln_reader *reader, int32_t index) {
    const ln_external *const external = ln_reader_external(reader, index);
    LN_CHECK(reader->context, external != NULL && reader->externals[index].value->data != NULL,
             INVALID_ARGUMENT, "external data %d was not asked for", (int)index);
    reader->externals[index].external.done = true;
    return LN_OK;
}

ln_status ln_reader_external_check(ln_reader *reader) {
    for (int32_t i = 0; i < reader->n_externals; i++) {
        const ln_external *const external = &reader->externals[i].external;
        LN_CHECK(reader->context, external->done, EXTERNAL_DATA,
                 "tensor '%s' is in the file '%s', whose data was not given", external->name,
                 external->location);
    }
    return LN_OK;
}
