/* TypeProto to ln_type, and the texts of a model. A type holds at most one inner type, so a loop walks it. */
#include <string.h>

#include "model/build.h"

const char *ln_build_text(ln_builder *builder, const char *text) {
    return text == NULL || text[0] == '\0' ? "" : ln_arena_text(builder->arena, text, strlen(text));
}

const char *ln_build_domain(const char *domain) {
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static ln_status build_dtype(ln_builder *builder, int32_t elem_type, ln_dtype *dtype) {
    LN_CHECK(builder->context, elem_type >= 0 && elem_type < LN_DTYPE_COUNT, INVALID_MODEL,
             "a type has the unknown element type %d", (int)elem_type);
    *dtype = (ln_dtype)elem_type;
    return LN_OK;
}

static ln_status build_shape(ln_builder *builder, const Onnx__TensorShapeProto *shape, ln_type *type) {
    if (shape == NULL) {
        return LN_OK;
    }
    LN_CHECK(builder->context, shape->n_dim <= LN_MAX_RANK, LIMIT_EXCEEDED,
             "a type has rank %zu; the limit is %d", shape->n_dim, (int)LN_MAX_RANK);
    type->dims = ln_arena_array(builder->arena, shape->n_dim, sizeof(*type->dims));
    type->dim_params = ln_arena_array(builder->arena, shape->n_dim, sizeof(*type->dim_params));
    if (type->dims == NULL || type->dim_params == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    type->rank = (int32_t)shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *const dim = shape->dim[i];
        type->dims[i] = -1;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            type->dims[i] = dim->dim_value >= 0 ? dim->dim_value : -1;
        } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                   dim->dim_param != NULL) {
            type->dim_params[i] = ln_build_text(builder, dim->dim_param);
            if (type->dim_params[i] == NULL) {
                return LN_OUT_OF_MEMORY;
            }
        }
    }
    return LN_OK;
}

/* One level of a type; *inner is the type within it, or NULL. */
static ln_status build_level(ln_builder *builder, const Onnx__TypeProto *proto, ln_type *type,
                             const Onnx__TypeProto **inner) {
    switch (proto->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        type->kind = LN_KIND_TENSOR;
        LN_TRY(build_dtype(builder, proto->tensor_type->elem_type, &type->dtype));
        return build_shape(builder, proto->tensor_type->shape, type);
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        type->kind = LN_KIND_SPARSE;
        LN_TRY(build_dtype(builder, proto->sparse_tensor_type->elem_type, &type->dtype));
        return build_shape(builder, proto->sparse_tensor_type->shape, type);
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        type->kind = LN_KIND_SEQUENCE;
        *inner = proto->sequence_type->elem_type;
        return LN_OK;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        type->kind = LN_KIND_OPTIONAL;
        *inner = proto->optional_type->elem_type;
        return LN_OK;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        type->kind = LN_KIND_MAP;
        *inner = proto->map_type->value_type;
        return build_dtype(builder, proto->map_type->key_type, &type->dtype);
    default: /* opaque types and none at all: nothing is known */
        return LN_OK;
    }
}

ln_status ln_build_type(ln_builder *builder, const Onnx__TypeProto *proto, ln_type *type) {
    *type = (ln_type){.rank = -1};
    while (proto != NULL) {
        const Onnx__TypeProto *inner = NULL;
        LN_TRY(build_level(builder, proto, type, &inner));
        if (inner != NULL) {
            ln_type *const element = ln_arena_alloc(builder->arena, sizeof(*element));
            if (element == NULL) {
                return LN_OUT_OF_MEMORY;
            }
            element->rank = -1;
            type->element = element;
            type = element;
        }
        proto = inner;
    }
    return LN_OK;
}
