/* The scanner: a push-down automaton over the protobuf wire format. read.h describes the idea.
 *
 * One table says what is done with the fields of a frame: a child frame, elements of a tensor, nothing at
 * all, or (when there is no row) the skeleton. Positions in the file are absolute, so a frame ends where
 * its `end` says, and one comparison keeps every length inside its parent.
 */
#include <string.h>

#include "base/text.h"
#include "model/build.h"
#include "model/read.h"

typedef enum action { SKELETON, CHILD, PAYLOAD, SKIP, COUNT } action;

typedef struct ln_field_row {
    uint8_t message;
    uint8_t field;
    uint8_t action;
    uint8_t child;
    const char *name;
    bool repeated;
} ln_field_row;

static const ln_field_row field_rows[] = {
    {LN_MESSAGE_MODEL, 7, CHILD, LN_MESSAGE_GRAPH, "graph", false},
    {LN_MESSAGE_MODEL, 25, CHILD, LN_MESSAGE_FUNCTION, "functions", true},
    {LN_MESSAGE_MODEL, 20, COUNT, 0, "training_info", true},
    {LN_MESSAGE_MODEL, 26, SKIP, 0, "configuration", true},
    {LN_MESSAGE_GRAPH, 1, CHILD, LN_MESSAGE_NODE, "node", true},
    {LN_MESSAGE_GRAPH, 5, CHILD, LN_MESSAGE_TENSOR, "initializer", true},
    {LN_MESSAGE_GRAPH, 14, SKIP, 0, "quantization_annotation", true},
    {LN_MESSAGE_GRAPH, 15, CHILD, LN_MESSAGE_SPARSE, "sparse_initializer", true},
    {LN_MESSAGE_GRAPH, 16, SKIP, 0, "metadata_props", true},
    {LN_MESSAGE_NODE, 5, CHILD, LN_MESSAGE_ATTRIBUTE, "attribute", true},
    {LN_MESSAGE_NODE, 6, SKIP, 0, "doc_string", false},
    {LN_MESSAGE_NODE, 9, SKIP, 0, "metadata_props", true},
    {LN_MESSAGE_NODE, 10, SKIP, 0, "device_configurations", true},
    {LN_MESSAGE_ATTRIBUTE, 5, CHILD, LN_MESSAGE_TENSOR, "t", false},
    {LN_MESSAGE_ATTRIBUTE, 6, CHILD, LN_MESSAGE_GRAPH, "g", false},
    {LN_MESSAGE_ATTRIBUTE, 10, CHILD, LN_MESSAGE_TENSOR, "tensors", true},
    {LN_MESSAGE_ATTRIBUTE, 11, CHILD, LN_MESSAGE_GRAPH, "graphs", true},
    {LN_MESSAGE_ATTRIBUTE, 13, SKIP, 0, "doc_string", false},
    {LN_MESSAGE_ATTRIBUTE, 22, CHILD, LN_MESSAGE_SPARSE, "sparse_tensor", false},
    {LN_MESSAGE_ATTRIBUTE, 23, CHILD, LN_MESSAGE_SPARSE, "sparse_tensors", true},
    {LN_MESSAGE_TENSOR, 4, PAYLOAD, 0, "float_data", true},
    {LN_MESSAGE_TENSOR, 5, PAYLOAD, 0, "int32_data", true},
    {LN_MESSAGE_TENSOR, 7, PAYLOAD, 0, "int64_data", true},
    {LN_MESSAGE_TENSOR, 9, PAYLOAD, 0, "raw_data", false},
    {LN_MESSAGE_TENSOR, 10, PAYLOAD, 0, "double_data", true},
    {LN_MESSAGE_TENSOR, 11, PAYLOAD, 0, "uint64_data", true},
    {LN_MESSAGE_TENSOR, 12, SKIP, 0, "doc_string", false},
    {LN_MESSAGE_TENSOR, 16, SKIP, 0, "metadata_props", true},
    {LN_MESSAGE_SPARSE, 1, CHILD, LN_MESSAGE_TENSOR, "values", false},
    {LN_MESSAGE_SPARSE, 2, CHILD, LN_MESSAGE_TENSOR, "indices", false},
    {LN_MESSAGE_FUNCTION, 7, CHILD, LN_MESSAGE_NODE, "node", true},
    {LN_MESSAGE_FUNCTION, 8, SKIP, 0, "doc_string", false},
    {LN_MESSAGE_FUNCTION, 11, CHILD, LN_MESSAGE_ATTRIBUTE, "attribute_proto", true},
    {LN_MESSAGE_FUNCTION, 14, SKIP, 0, "metadata_props", true},
};
static const ln_field_row skeleton_row = {.action = SKELETON, .name = "field"};
static const ln_field_row skip_row = {.action = SKIP, .name = "field"};

/* What the next byte belongs to. */
enum { AT_TAG, AT_LENGTH, AT_VARINT, AT_BYTES, AT_PACKED };

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };
enum { TAG_FIELD_MAX = (1 << 29) - 1, VARINT_BYTES = 10, PATH_BYTES = 240, FIRST_SKELETON = 1024 };

/* The bytes of one push that are not consumed yet. */
typedef struct cursor {
    const uint8_t *at;
    const uint8_t *end;
} cursor;

static const ln_field_row *row_of(ln_message message, uint32_t field) {
    for (size_t i = 0; i < sizeof(field_rows) / sizeof(field_rows[0]); i++) {
        if (field_rows[i].message == message && field_rows[i].field == field) {
            return &field_rows[i];
        }
    }
    return ln_decode_knows(message, field) ? &skeleton_row : &skip_row;
}

/* ---- Failures ---- */

/* "model.graph.node[12].attribute[0]" */
static void write_path(const ln_reader *reader, char *path) {
    size_t length = ln_format(path, PATH_BYTES, "model");
    for (int i = 1; i <= reader->depth; i++) {
        const ln_field_row *const row = reader->frames[i].row;
        length += ln_format(path + length, PATH_BYTES - length, ".%s", row->name);
        int index = 0;
        for (const ln_child *child = reader->frames[i - 1].first; child != NULL; child = child->next) {
            index += child->field == row->field ? 1 : 0;
        }
        if (row->repeated) {
            length += ln_format(path + length, PATH_BYTES - length, "[%d]", index);
        }
    }
}

ln_status ln_read_fail(ln_reader *reader, ln_status code, const char *what) {
    char path[PATH_BYTES];
    write_path(reader, path);
    reader->failed = true;
    (void)ln_fail(reader->context, code, "%s (at byte %llu of the file, in %s)", what,
                  (unsigned long long)reader->position, path);
    return reader->context->error.code;
}

static ln_status out_of_memory(ln_reader *reader) {
    return ln_read_fail(reader, LN_OUT_OF_MEMORY, "out of memory");
}

/* ---- Skeletons ---- */

static ln_status skeleton_add(ln_reader *reader, const uint8_t *bytes, size_t length) {
    ln_bytes *const skeleton = &reader->frames[reader->depth].skeleton;
    if (length > skeleton->capacity - skeleton->length) {
        if (skeleton->length > SIZE_MAX / 4 || length > SIZE_MAX / 4) {
            return ln_read_fail(reader, LN_LIMIT_EXCEEDED, "a message is too large");
        }
        size_t capacity = skeleton->capacity > 0 ? skeleton->capacity * 2 : FIRST_SKELETON;
        capacity = capacity < skeleton->length + length ? skeleton->length + length : capacity;
        uint8_t *const data = ln_alloc(reader->context, capacity, LN_MEMORY_SCRATCH);
        if (data == NULL) {
            return out_of_memory(reader);
        }
        if (skeleton->length > 0) {
            memcpy(data, skeleton->data, skeleton->length);
        }
        ln_free(reader->context, skeleton->data);
        skeleton->data = data;
        skeleton->capacity = capacity;
    }
    if (length > 0) {
        memcpy(skeleton->data + skeleton->length, bytes, length);
    }
    skeleton->length += length;
    return LN_OK;
}

static ln_status skeleton_add_varint(ln_reader *reader, uint64_t value) {
    uint8_t bytes[VARINT_BYTES];
    size_t length = 0;
    do {
        bytes[length++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    return skeleton_add(reader, bytes, length);
}

/* ---- Frames ---- */

static ln_status open_frame(ln_reader *reader, const ln_field_row *row, uint64_t length) {
    if (reader->depth + 1 >= LN_READ_DEPTH) {
        return ln_read_fail(reader, LN_LIMIT_EXCEEDED, "messages are nested deeper than 100 levels");
    }
    ln_read_frame *const frame = &reader->frames[++reader->depth];
    frame->row = row;
    frame->message = (ln_message)row->child;
    frame->end = reader->position + length;
    frame->first = NULL;
    frame->last = NULL;
    frame->skeleton.length = 0;
    if (frame->message == LN_MESSAGE_TENSOR) {
        ln_payload_reset(reader);
    }
    return LN_OK;
}

static ln_status add_child(ln_reader *reader, ln_read_frame *parent, uint32_t field, void *message) {
    ln_child *const child = ln_arena_alloc(&reader->decoded, sizeof(*child));
    if (child == NULL) {
        return out_of_memory(reader);
    }
    child->field = field;
    child->message = message;
    if (parent->last != NULL) {
        parent->last->next = child;
    } else {
        parent->first = child;
    }
    parent->last = child;
    return LN_OK;
}

/* The decoded message of a tensor, widened to what the reader knows of it. */
static ln_read_tensor *finish_tensor(ln_reader *reader, const Onnx__TensorProto *proto) {
    ln_read_tensor *const tensor = ln_arena_alloc(&reader->decoded, sizeof(*tensor));
    if (tensor == NULL) {
        (void)out_of_memory(reader);
        return NULL;
    }
    tensor->proto = *proto;
    tensor->next = reader->tensors;
    reader->tensors = tensor;
    return ln_payload_close(reader, tensor) == LN_OK ? tensor : NULL;
}

/* Ends all frames whose last byte has been consumed. */
static ln_status close_frames(ln_reader *reader) {
    while (reader->depth > 0 && reader->position == reader->frames[reader->depth].end) {
        ln_read_frame *const frame = &reader->frames[reader->depth];
        void *message = ln_decode_frame(reader, frame);
        if (message != NULL && frame->message == LN_MESSAGE_TENSOR) {
            message = finish_tensor(reader, message);
        }
        if (message == NULL) {
            reader->failed = true;
            return reader->context->error.code;
        }
        LN_TRY(add_child(reader, &reader->frames[reader->depth - 1], frame->row->field, message));
        reader->depth--;
    }
    reader->state = AT_TAG;
    return LN_OK;
}

/* ---- Fields ---- */

/* Reads a varint as far as the bytes go; *done tells whether it is complete. */
static ln_status read_varint(ln_reader *reader, cursor *bytes, bool *done) {
    *done = false;
    while (bytes->at < bytes->end) {
        const uint8_t byte = *bytes->at++;
        reader->position++;
        if (reader->varint_bytes == VARINT_BYTES - 1 && byte > 1) {
            return ln_read_fail(reader, LN_INVALID_MODEL, "a number of the encoding is longer than 64 bits");
        }
        reader->varint |= (uint64_t)(byte & 0x7f) << (7 * reader->varint_bytes);
        reader->varint_bytes++;
        if ((byte & 0x80) == 0) {
            reader->varint_bytes = 0;
            *done = true;
            return reader->position > reader->frames[reader->depth].end
                       ? ln_read_fail(reader, LN_INVALID_MODEL, "a field runs past the end of its message")
                       : LN_OK;
        }
    }
    return LN_OK;
}

static uint64_t take_varint(ln_reader *reader) {
    const uint64_t value = reader->varint;
    reader->varint = 0;
    return value;
}

static ln_status begin_bytes(ln_reader *reader, uint64_t length) {
    if (length > reader->frames[reader->depth].end - reader->position) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "a field runs past the end of its message");
    }
    reader->left = length;
    reader->state = AT_BYTES;
    return length == 0 ? close_frames(reader) : LN_OK;
}

static ln_status begin_field(ln_reader *reader, uint64_t tag) {
    const uint64_t field = tag >> 3;
    if (field == 0 || field > TAG_FIELD_MAX) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "the bytes are not a protobuf message");
    }
    reader->field = (uint32_t)field;
    reader->wire = (int)(tag & 7);
    const ln_field_row *const row = row_of(reader->frames[reader->depth].message, reader->field);
    reader->row = row;
    const bool fits = row->action == PAYLOAD ? ln_payload_wire_ok(reader->field, reader->wire)
                                             : row->action != CHILD || reader->wire == WIRE_LENGTH;
    if (!fits) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "a field has the wrong wire type");
    }
    if (row->action == SKELETON) {
        LN_TRY(skeleton_add_varint(reader, tag));
    }
    const uint64_t fixed = reader->wire == WIRE_FIXED64 ? 8 : 4;
    switch (reader->wire) {
    case WIRE_VARINT:
        reader->state = AT_VARINT;
        return row->action == PAYLOAD ? ln_payload_open(reader, reader->field, 0) : LN_OK;
    case WIRE_LENGTH:
        reader->state = AT_LENGTH;
        return LN_OK;
    case WIRE_FIXED32:
    case WIRE_FIXED64:
        if (row->action == PAYLOAD) {
            LN_TRY(ln_payload_open(reader, reader->field, 0));
        }
        return begin_bytes(reader, fixed);
    default:
        return ln_read_fail(reader, LN_INVALID_MODEL, "the bytes are not a protobuf message");
    }
}

/* A length prefix is complete. */
static ln_status begin_length(ln_reader *reader, uint64_t length) {
    if (length > reader->frames[reader->depth].end - reader->position) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "a length runs past the end of its message");
    }
    switch (reader->row->action) {
    case CHILD:
        LN_TRY(open_frame(reader, reader->row, length));
        return close_frames(reader);
    case SKELETON:
        LN_TRY(skeleton_add_varint(reader, length));
        break;
    case PAYLOAD:
        LN_TRY(ln_payload_open(reader, reader->field, length));
        if (ln_payload_is_varint(reader->field)) {
            reader->left = reader->position + length;
            reader->state = AT_PACKED;
            return length == 0 ? close_frames(reader) : LN_OK;
        }
        break;
    case COUNT:
        reader->training_infos++;
        break;
    default:
        break;
    }
    return begin_bytes(reader, length);
}

static ln_status end_varint(ln_reader *reader, uint64_t value) {
    if (reader->row->action == SKELETON) {
        LN_TRY(skeleton_add_varint(reader, value));
    } else if (reader->row->action == PAYLOAD) {
        LN_TRY(ln_payload_varint(reader, value));
    }
    return close_frames(reader);
}

static ln_status take_bytes(ln_reader *reader, cursor *bytes) {
    const size_t there = (size_t)(bytes->end - bytes->at);
    const size_t taken = reader->left < there ? (size_t)reader->left : there;
    if (reader->row->action == SKELETON) {
        LN_TRY(skeleton_add(reader, bytes->at, taken));
    } else if (reader->row->action == PAYLOAD) {
        LN_TRY(ln_payload_bytes(reader, bytes->at, taken));
    }
    bytes->at += taken;
    reader->position += taken;
    reader->left -= taken;
    return reader->left == 0 ? close_frames(reader) : LN_OK;
}

/* Packed varints; reader->left is the position where they end. */
static ln_status take_packed(ln_reader *reader, cursor *bytes) {
    while (bytes->at < bytes->end && reader->position < reader->left) {
        bool done = false;
        LN_TRY(read_varint(reader, bytes, &done));
        if (reader->position > reader->left || (!done && reader->position == reader->left)) {
            return ln_read_fail(reader, LN_INVALID_MODEL, "a packed number runs past the end of its field");
        }
        if (done) {
            LN_TRY(ln_payload_varint(reader, take_varint(reader)));
        }
    }
    return reader->position == reader->left ? close_frames(reader) : LN_OK;
}

static ln_status step(ln_reader *reader, cursor *bytes) {
    if (reader->state == AT_BYTES) {
        return take_bytes(reader, bytes);
    }
    if (reader->state == AT_PACKED) {
        return take_packed(reader, bytes);
    }
    bool done = false;
    LN_TRY(read_varint(reader, bytes, &done));
    if (!done) {
        return LN_OK;
    }
    const uint64_t value = take_varint(reader);
    switch (reader->state) {
    case AT_TAG:
        return begin_field(reader, value);
    case AT_LENGTH:
        return begin_length(reader, value);
    default:
        return end_varint(reader, value);
    }
}

/* ---- The room's API ---- */

static void *decoded_alloc(void *arena, size_t bytes) {
    return ln_arena_alloc(arena, bytes);
}

static void decoded_free(void *arena, void *block) {
    (void)arena;
    (void)block;
}

ln_reader *ln_reader_new(ln_context *context) {
    ln_reader *const reader = ln_alloc_zero(context, sizeof(*reader), LN_MEMORY_SCRATCH);
    if (reader == NULL) {
        return NULL;
    }
    reader->context = context;
    reader->total = UINT64_MAX;
    reader->frames[0].message = LN_MESSAGE_MODEL;
    reader->frames[0].end = UINT64_MAX;
    ln_arena_init(&reader->decoded, context, LN_MEMORY_SCRATCH);
    reader->allocator = (ProtobufCAllocator){decoded_alloc, decoded_free, &reader->decoded};
    reader->model = ln_model_new(context);
    if (reader->model == NULL) {
        ln_free(context, reader);
        return NULL;
    }
    return reader;
}

/* Gives back all that is only of use before the model is built. */
static void drop_decoded(ln_reader *reader) {
    for (ln_read_tensor *tensor = reader->tensors; tensor != NULL; tensor = tensor->next) {
        if (tensor->block) {
            ln_free(reader->context, tensor->data);
        }
    }
    reader->tensors = NULL;
    ln_payload_reset(reader);
    for (int i = 0; i < LN_READ_DEPTH; i++) {
        ln_free(reader->context, reader->frames[i].skeleton.data);
        reader->frames[i].skeleton = (ln_bytes){NULL, 0, 0};
    }
    ln_arena_free(&reader->decoded);
}

void ln_reader_free(ln_reader *reader) {
    if (reader == NULL) {
        return;
    }
    drop_decoded(reader);
    if (!reader->finished) {
        ln_model_free(reader->model);
    }
    ln_free(reader->context, reader);
}

ln_status ln_reader_expect(ln_reader *reader, uint64_t total) {
    LN_CHECK(reader->context, reader->position == 0, INVALID_ARGUMENT,
             "the size of a model is set before its bytes");
    reader->total = total > 0 ? total : UINT64_MAX;
    reader->frames[0].end = reader->total;
    return LN_OK;
}

ln_status ln_reader_push(ln_reader *reader, const void *bytes, size_t length) {
    if (reader->failed || reader->finished) {
        return ln_fail(reader->context, LN_INVALID_ARGUMENT, "the model's bytes have ended already");
    }
    if (length > reader->total - reader->position) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "there are more bytes than the model's size says");
    }
    cursor rest = {bytes, (const uint8_t *)bytes + length};
    while (rest.at < rest.end) {
        const ln_status status = step(reader, &rest);
        if (status != LN_OK) {
            reader->failed = true;
            return status;
        }
    }
    return LN_OK;
}

ln_status ln_reader_finish(ln_reader *reader, ln_model **model) {
    *model = NULL;
    if (reader->failed || reader->finished) {
        return ln_fail(reader->context, LN_INVALID_ARGUMENT, "the model's bytes have ended already");
    }
    const bool whole = reader->depth == 0 && reader->state == AT_TAG && reader->varint_bytes == 0;
    if (reader->position == 0) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "the file is empty");
    }
    if (!whole || (reader->total != UINT64_MAX && reader->position != reader->total)) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "the file is truncated");
    }
    const Onnx__ModelProto *const proto = ln_decode_frame(reader, &reader->frames[0]);
    if (proto == NULL || ln_build_model(reader, proto) != LN_OK) {
        reader->failed = true;
        return reader->context->error.code;
    }
    drop_decoded(reader);
    reader->finished = true;
    *model = reader->model;
    return LN_OK;
}
