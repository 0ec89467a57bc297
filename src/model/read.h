/* What the files of the reader share. Internal to model/.
 *
 * A model file is scanned as a push-down automaton over the wire format. The messages that can be large or
 * nested (model, graph, node, attribute, tensor, sparse tensor, function) are frames on a stack of fixed
 * depth. A frame gathers the bytes of its plain fields as its skeleton, and when it ends, protobuf-c
 * unpacks the skeleton and the decoded children are attached. So no length prefix has to be patched and
 * nothing recurses.
 */
#ifndef LN_MODEL_READ_H
#define LN_MODEL_READ_H

#include "base/arena.h"
#include "graph/graph.h"
#include "model/reader.h"
#include "onnx.pb-c.h"

enum {
    LN_READ_DEPTH = 100,     /* frames */
    LN_SKELETON_DEPTH = 64,  /* messages within a skeleton: protobuf-c recurses on these */
    LN_SMALL_PAYLOAD = 1024, /* tensors up to here live in the model's arena */
};

typedef enum ln_message {
    LN_MESSAGE_MODEL,
    LN_MESSAGE_GRAPH,
    LN_MESSAGE_NODE,
    LN_MESSAGE_ATTRIBUTE,
    LN_MESSAGE_TENSOR,
    LN_MESSAGE_SPARSE,
    LN_MESSAGE_FUNCTION,
    LN_MESSAGE_COUNT
} ln_message;

/* A decoded message that waits for its parent to end. */
typedef struct ln_child {
    uint32_t field;
    void *message;
    struct ln_child *next;
} ln_child;

/* A decoded tensor: the message, first so that a pointer to it is a pointer to this, and its elements in
 * the layout of its data type, little-endian. */
typedef struct ln_read_tensor {
    Onnx__TensorProto proto;
    struct ln_read_tensor *next;
    void *data;
    size_t bytes;
    bool block;   /* data is an ln_alloc block that nobody else owns yet */
    bool present; /* a payload field was there */
} ln_read_tensor;

/* The elements of the tensor that is being read; tensors do not nest, so there is one. */
typedef struct ln_payload {
    uint32_t field; /* the payload field, 0 before it */
    size_t width;   /* bytes stored per element of a varint field */
    char *data;     /* `small` or a block */
    size_t length;
    size_t capacity;
    bool block;
    _Alignas(16) char small[LN_SMALL_PAYLOAD];
} ln_payload;

/* A growing buffer. */
typedef struct ln_bytes {
    uint8_t *data;
    size_t length;
    size_t capacity;
} ln_bytes;

typedef struct ln_read_frame {
    const struct ln_field_row *row; /* how the parent holds it; NULL for the model */
    ln_message message;
    uint64_t end; /* position in the file where it ends */
    ln_child *first;
    ln_child *last;
    ln_bytes skeleton;
} ln_read_frame;

typedef struct ln_external_entry {
    ln_external external;
    ln_value *value; /* gets the data pointer */
    ln_value_id id;  /* the constant whose block it is; 0 when the bytes are in the arena */
} ln_external_entry;

struct ln_reader {
    ln_context *context;
    ln_model *model;
    ln_arena decoded; /* everything protobuf-c makes */
    ProtobufCAllocator allocator;
    bool failed;
    bool finished;

    uint64_t position; /* bytes consumed */
    uint64_t total;    /* bytes of the file, UINT64_MAX when unknown */
    int state;
    uint64_t varint; /* being read */
    int varint_bytes;
    uint32_t field; /* of the frame on top, and what is to be done with it */
    int wire;
    const struct ln_field_row *row;
    uint64_t left; /* bytes of the field still to come */
    ln_payload payload;
    ln_read_tensor *tensors; /* all of them, for their blocks */
    int32_t training_infos;

    ln_external_entry *externals; /* in the model's arena */
    int32_t n_externals;
    int32_t externals_capacity;

    int depth; /* frames[0..depth] are open */
    ln_read_frame frames[LN_READ_DEPTH];
};

/* Records a failure with the place in the file it happened at. */
ln_status ln_read_fail(ln_reader *reader, ln_status code, const char *what);

/* ---- payload.c: elements of tensors ---- */

/* True when `wire` is a wire type that payload field `field` may have. */
bool ln_payload_wire_ok(uint32_t field, int wire);
/* True when the elements of the field are varints. */
bool ln_payload_is_varint(uint32_t field);
void ln_payload_reset(ln_reader *reader);
/* Begins a run of elements of `field`; `length` bytes of it are announced. */
ln_status ln_payload_open(ln_reader *reader, uint32_t field, uint64_t length);
ln_status ln_payload_bytes(ln_reader *reader, const uint8_t *bytes, size_t length);
ln_status ln_payload_varint(ln_reader *reader, uint64_t value);
/* Hands the elements over to the decoded tensor, in the layout of its type. */
ln_status ln_payload_close(ln_reader *reader, ln_read_tensor *tensor);

/* ---- decode.c: skeletons to messages ---- */

/* True when the message has this field. */
bool ln_decode_knows(ln_message message, uint32_t field);
/* Decodes the frame's skeleton and attaches its children; NULL after recording a failure. */
void *ln_decode_frame(ln_reader *reader, const ln_read_frame *frame);

#endif
