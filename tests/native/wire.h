/* A writer of protobuf messages, for tests that make their models themselves. */
#ifndef LN_TEST_WIRE_H
#define LN_TEST_WIRE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/check.h"

typedef struct wire {
    uint8_t *data;
    size_t length;
    size_t capacity;
} wire;

static inline void wire_raw(wire *to, const void *bytes, size_t length) {
    if (to->length + length > to->capacity) {
        to->capacity = (to->length + length) * 2 + 64;
        to->data = realloc(to->data, to->capacity);
        if (to->data == NULL) {
            exit(2);
        }
    }
    if (length > 0) {
        memcpy(to->data + to->length, bytes, length);
    }
    to->length += length;
}

static inline void wire_varint(wire *to, uint64_t value) {
    do {
        const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        wire_raw(to, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static inline void wire_int(wire *to, unsigned field, int64_t value) {
    wire_varint(to, (uint64_t)field << 3);
    wire_varint(to, (uint64_t)value);
}

static inline void wire_float(wire *to, unsigned field, float value) {
    wire_varint(to, (uint64_t)field << 3 | 5);
    wire_raw(to, &value, sizeof(value));
}

static inline void wire_double(wire *to, unsigned field, double value) {
    wire_varint(to, (uint64_t)field << 3 | 1);
    wire_raw(to, &value, sizeof(value));
}

static inline void wire_bytes(wire *to, unsigned field, const void *bytes, size_t length) {
    wire_varint(to, (uint64_t)field << 3 | 2);
    wire_varint(to, length);
    wire_raw(to, bytes, length);
}

static inline void wire_text(wire *to, unsigned field, const char *text) {
    wire_bytes(to, field, text, strlen(text));
}

/* Takes the inner message and frees it. */
static inline void wire_message(wire *to, unsigned field, wire inner) {
    wire_bytes(to, field, inner.data, inner.length);
    free(inner.data);
}

static inline void wire_packed(wire *to, unsigned field, size_t count, const int64_t *values) {
    wire packed = {0};
    for (size_t i = 0; i < count; i++) {
        wire_varint(&packed, (uint64_t)values[i]);
    }
    wire_message(to, field, packed);
}

/* ---- Messages of ONNX ---- */

enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_METADATA = 14,
    MODEL_TRAINING = 20,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE = 15,
    NODE_ATTRIBUTE = 5,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
};

static inline wire wire_opset(const char *domain, int64_t version) {
    wire opset = {0};
    wire_text(&opset, 1, domain);
    wire_int(&opset, 2, version);
    return opset;
}

/* A value of a tensor type; a dimension of -1 is symbolic. */
static inline wire wire_value_info(const char *name, int dtype, int rank, const int64_t *dims) {
    wire shape = {0};
    for (int i = 0; i < rank; i++) {
        wire dim = {0};
        if (dims[i] < 0) {
            wire_text(&dim, 2, "batch");
        } else {
            wire_int(&dim, 1, dims[i]);
        }
        wire_message(&shape, 1, dim);
    }
    wire tensor = {0};
    wire_int(&tensor, 1, dtype);
    wire_message(&tensor, 2, shape);
    wire type = {0};
    wire_message(&type, 1, tensor);
    wire info = {0};
    wire_text(&info, 1, name);
    wire_message(&info, 2, type);
    return info;
}

/* Type, shape and name; the elements are up to the caller. */
static inline wire wire_tensor(const char *name, int dtype, int rank, const int64_t *dims) {
    wire tensor = {0};
    wire_packed(&tensor, TENSOR_DIMS, (size_t)rank, dims);
    wire_int(&tensor, TENSOR_TYPE, dtype);
    wire_text(&tensor, TENSOR_NAME, name);
    return tensor;
}

/* A node; names are separated by spaces, "-" is an absent one. */
static inline wire wire_node(const char *op, const char *name, const char *inputs, const char *outputs) {
    wire node = {0};
    const char *const lists[2] = {inputs, outputs};
    for (unsigned which = 0; which < 2; which++) {
        for (const char *at = lists[which]; *at != '\0';) {
            const size_t length = strcspn(at, " ");
            wire_bytes(&node, which + 1, at, *at == '-' ? 0 : length);
            at += length + (at[length] == ' ' ? 1 : 0);
        }
    }
    wire_text(&node, 3, name);
    wire_text(&node, 4, op);
    return node;
}

static inline wire wire_attribute(const char *name, int type) {
    wire attribute = {0};
    wire_text(&attribute, 1, name);
    wire_int(&attribute, 20, type);
    return attribute;
}

/* A model of IR version 8 and opset 17 around a graph. */
static inline wire wire_model(wire graph) {
    wire model = {0};
    wire_int(&model, MODEL_IR, 8);
    wire_message(&model, MODEL_GRAPH, graph);
    wire_message(&model, MODEL_OPSET, wire_opset("", 17));
    return model;
}

#endif
