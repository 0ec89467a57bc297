/* AttributeProto to ln_attribute, and the values of Constant nodes. */
#include <string.h>

#include "model/build.h"

/* The type of an attribute that does not say it (IR versions 1 and 2): that of the field it has. */
static ln_attribute_type type_of(const Onnx__AttributeProto *proto) {
    if (proto->has_type && proto->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) {
        return (ln_attribute_type)proto->type;
    }
    const bool has[] = {
        [LN_ATTRIBUTE_FLOAT] = proto->has_f,
        [LN_ATTRIBUTE_INT] = proto->has_i,
        [LN_ATTRIBUTE_STRING] = proto->has_s,
        [LN_ATTRIBUTE_TENSOR] = proto->t != NULL,
        [LN_ATTRIBUTE_GRAPH] = proto->g != NULL,
        [LN_ATTRIBUTE_FLOATS] = proto->n_floats > 0,
        [LN_ATTRIBUTE_INTS] = proto->n_ints > 0,
        [LN_ATTRIBUTE_STRINGS] = proto->n_strings > 0,
        [LN_ATTRIBUTE_TENSORS] = proto->n_tensors > 0,
        [LN_ATTRIBUTE_GRAPHS] = proto->n_graphs > 0,
        [LN_ATTRIBUTE_SPARSE_TENSOR] = proto->sparse_tensor != NULL,
        [LN_ATTRIBUTE_SPARSE_TENSORS] = proto->n_sparse_tensors > 0,
        [LN_ATTRIBUTE_TYPE_PROTO] = proto->tp != NULL,
        [LN_ATTRIBUTE_TYPE_PROTOS] = proto->n_type_protos > 0,
    };
    for (int type = LN_ATTRIBUTE_FLOAT; type <= LN_ATTRIBUTE_TYPE_PROTOS; type++) {
        if (has[type]) {
            return (ln_attribute_type)type;
        }
    }
    return LN_ATTRIBUTE_UNDEFINED;
}

/* A copy of `count` elements of `size` bytes in the model's arena. */
static const void *copy_array(ln_builder *builder, const void *from, size_t count, size_t size) {
    void *const copy = ln_arena_array(builder->arena, count, size);
    if (copy != NULL && count > 0) {
        memcpy(copy, from, count * size);
    }
    return copy;
}

static const ln_string *copy_strings(ln_builder *builder, const ProtobufCBinaryData *from, size_t count) {
    ln_string *const strings = ln_arena_array(builder->arena, count, sizeof(*strings));
    for (size_t i = 0; strings != NULL && i < count; i++) {
        strings[i].length = from[i].len;
        strings[i].data = ln_arena_text(builder->arena, (const char *)from[i].data, from[i].len);
        if (strings[i].data == NULL) {
            return NULL;
        }
    }
    return strings;
}

static ln_status build_tensors(ln_builder *builder, Onnx__TensorProto *const *protos, size_t count,
                               ln_attribute *attribute) {
    ln_value *const values = ln_arena_array(builder->arena, count, sizeof(*values));
    attribute->as.tensors = values;
    for (size_t i = 0; values != NULL && i < count; i++) {
        bool block = false;
        LN_TRY(ln_build_tensor(builder, protos[i], 0, &values[i], &block));
    }
    return values != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

static ln_status build_sparse_tensors(ln_builder *builder, Onnx__SparseTensorProto *const *protos,
                                      size_t count, ln_attribute *attribute) {
    ln_value *const values = ln_arena_array(builder->arena, count, sizeof(*values));
    attribute->as.tensors = values;
    for (size_t i = 0; values != NULL && i < count; i++) {
        LN_TRY(ln_build_sparse(builder, protos[i], &values[i]));
    }
    return values != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

static ln_status build_graphs(ln_builder *builder, const ln_graph_task *task, ln_graph *parent,
                              Onnx__GraphProto *const *protos, size_t count, ln_attribute *attribute) {
    ln_graph **const graphs = ln_arena_array(builder->arena, count, sizeof(*graphs));
    attribute->as.graphs = graphs;
    for (size_t i = 0; graphs != NULL && i < count; i++) {
        graphs[i] = ln_graph_new(builder->model, parent);
        if (graphs[i] == NULL) {
            return builder->context->error.code;
        }
        const ln_graph_task inner = {.graph = graphs[i],
                                     .outer = &task->scope,
                                     .proto = protos[i],
                                     .opsets = task->opsets,
                                     .n_opsets = task->n_opsets};
        LN_TRY(ln_build_later(builder, &inner));
    }
    return graphs != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

static ln_status build_types(ln_builder *builder, Onnx__TypeProto *const *protos, size_t count,
                             ln_attribute *attribute) {
    ln_type *const types = ln_arena_array(builder->arena, count, sizeof(*types));
    attribute->as.types = types;
    for (size_t i = 0; types != NULL && i < count; i++) {
        LN_TRY(ln_build_type(builder, protos[i], &types[i]));
    }
    return types != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

/* Single values are written as arrays of one. A number or string that is zero may be left out of the file;
 * a message may not. */
static ln_status build_content(ln_builder *builder, const ln_graph_task *task, ln_graph *graph,
                               const Onnx__AttributeProto *proto, ln_attribute *attribute) {
    size_t count = 1;
    ln_status status = LN_OK;
    switch (attribute->type) {
    case LN_ATTRIBUTE_FLOAT:
        attribute->as.floats = copy_array(builder, &proto->f, 1, sizeof(proto->f));
        break;
    case LN_ATTRIBUTE_INT:
        attribute->as.ints = copy_array(builder, &proto->i, 1, sizeof(proto->i));
        break;
    case LN_ATTRIBUTE_STRING:
        attribute->as.strings = copy_strings(builder, &proto->s, 1);
        break;
    case LN_ATTRIBUTE_FLOATS:
        count = proto->n_floats;
        attribute->as.floats = copy_array(builder, proto->floats, count, sizeof(*proto->floats));
        break;
    case LN_ATTRIBUTE_INTS:
        count = proto->n_ints;
        attribute->as.ints = copy_array(builder, proto->ints, count, sizeof(*proto->ints));
        break;
    case LN_ATTRIBUTE_STRINGS:
        count = proto->n_strings;
        attribute->as.strings = copy_strings(builder, proto->strings, count);
        break;
    case LN_ATTRIBUTE_TENSOR:
        count = proto->t != NULL ? 1 : 0;
        status = build_tensors(builder, &proto->t, count, attribute);
        break;
    case LN_ATTRIBUTE_TENSORS:
        count = proto->n_tensors;
        status = build_tensors(builder, proto->tensors, count, attribute);
        break;
    case LN_ATTRIBUTE_SPARSE_TENSOR:
        count = proto->sparse_tensor != NULL ? 1 : 0;
        status = build_sparse_tensors(builder, &proto->sparse_tensor, count, attribute);
        break;
    case LN_ATTRIBUTE_SPARSE_TENSORS:
        count = proto->n_sparse_tensors;
        status = build_sparse_tensors(builder, proto->sparse_tensors, count, attribute);
        break;
    case LN_ATTRIBUTE_GRAPH:
        count = proto->g != NULL ? 1 : 0;
        status = build_graphs(builder, task, graph, &proto->g, count, attribute);
        break;
    case LN_ATTRIBUTE_GRAPHS:
        count = proto->n_graphs;
        status = build_graphs(builder, task, graph, proto->graphs, count, attribute);
        break;
    case LN_ATTRIBUTE_TYPE_PROTO:
        count = proto->tp != NULL ? 1 : 0;
        status = build_types(builder, &proto->tp, count, attribute);
        break;
    case LN_ATTRIBUTE_TYPE_PROTOS:
        count = proto->n_type_protos;
        status = build_types(builder, proto->type_protos, count, attribute);
        break;
    case LN_ATTRIBUTE_UNDEFINED:
        attribute->count = 0;
        return LN_OK;
    default:
        return ln_fail(builder->context, LN_INVALID_MODEL, "attribute '%s' has the unknown type %d",
                       attribute->name, (int)attribute->type);
    }
    const bool is_list = attribute->type == LN_ATTRIBUTE_SPARSE_TENSORS ||
                         attribute->type == LN_ATTRIBUTE_TYPE_PROTOS ||
                         (attribute->type >= LN_ATTRIBUTE_FLOATS && attribute->type <= LN_ATTRIBUTE_GRAPHS);
    LN_TRY(status);
    LN_CHECK(builder->context, count == 1 || is_list, INVALID_ATTRIBUTE, "attribute '%s' has no value",
             attribute->name);
    LN_CHECK(builder->context, count <= INT32_MAX, LIMIT_EXCEEDED, "attribute '%s' is too long",
             attribute->name);
    attribute->count = (int32_t)count;
    return attribute->as.ints != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

ln_status ln_build_attributes(ln_builder *builder, const ln_graph_task *task, ln_graph *graph, size_t count,
                              Onnx__AttributeProto *const *protos, const ln_attribute **attributes) {
    ln_attribute *const list = ln_arena_array(builder->arena, count, sizeof(*list));
    if (list == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const Onnx__AttributeProto *const proto = protos[i];
        const bool refers = proto->ref_attr_name != NULL && proto->ref_attr_name[0] != '\0';
        list[i].name = ln_build_text(builder, proto->name);
        list[i].type = type_of(proto);
        list[i].reference = refers ? ln_build_text(builder, proto->ref_attr_name) : NULL;
        if (list[i].name == NULL || (refers && list[i].reference == NULL)) {
            return LN_OUT_OF_MEMORY;
        }
        if (!refers) {
            LN_TRY(build_content(builder, task, graph, proto, &list[i]));
        }
    }
    *attributes = list;
    return LN_OK;
}

/* Points *value at `count` elements of an attribute, copied to the arena; a single one is a scalar. */
static ln_status build_plain(const void *data, ln_dtype dtype, size_t count, bool scalar, ln_value *value) {
    if (data == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    const int64_t dim = (int64_t)count;
    const ln_shape shape = ln_shape_of(scalar ? 0 : 1, &dim);
    *value = ln_value_header(dtype, &shape);
    value->data = (void *)(uintptr_t)data;
    return LN_OK;
}

ln_status ln_build_constant(ln_builder *builder, const Onnx__NodeProto *proto, ln_value_id id,
                            ln_value *value, bool *block) {
    *block = false;
    for (size_t i = 0; i < proto->n_attribute; i++) {
        const Onnx__AttributeProto *const from = proto->attribute[i];
        switch (type_of(from)) {
        case LN_ATTRIBUTE_TENSOR:
            LN_CHECK(builder->context, from->t != NULL, INVALID_ATTRIBUTE, "attribute 'value' has no value");
            return ln_build_tensor(builder, from->t, id, value, block);
        case LN_ATTRIBUTE_SPARSE_TENSOR:
            LN_CHECK(builder->context, from->sparse_tensor != NULL, INVALID_ATTRIBUTE,
                     "attribute 'sparse_value' has no value");
            *block = true;
            return ln_build_dense(builder, from->sparse_tensor, value);
        case LN_ATTRIBUTE_FLOAT:
            return build_plain(copy_array(builder, &from->f, 1, sizeof(from->f)), LN_FLOAT, 1, true, value);
        case LN_ATTRIBUTE_INT:
            return build_plain(copy_array(builder, &from->i, 1, sizeof(from->i)), LN_INT64, 1, true, value);
        case LN_ATTRIBUTE_STRING:
            return build_plain(copy_strings(builder, &from->s, 1), LN_STRING, 1, true, value);
        case LN_ATTRIBUTE_FLOATS:
            return build_plain(copy_array(builder, from->floats, from->n_floats, sizeof(*from->floats)),
                               LN_FLOAT, from->n_floats, false, value);
        case LN_ATTRIBUTE_INTS:
            return build_plain(copy_array(builder, from->ints, from->n_ints, sizeof(*from->ints)), LN_INT64,
                               from->n_ints, false, value);
        case LN_ATTRIBUTE_STRINGS:
            return build_plain(copy_strings(builder, from->strings, from->n_strings), LN_STRING,
                               from->n_strings, false, value);
        default:
            break;
        }
    }
    return ln_fail(builder->context, LN_INVALID_ATTRIBUTE, "a Constant has no value");
}
