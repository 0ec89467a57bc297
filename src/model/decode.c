/* Skeletons to messages: protobuf-c decodes what the scanner gathered, and the children that were decoded
 * before are put where protobuf-c would have put them, by its own descriptors.
 *
 * protobuf-c recurses on nested messages, of which a skeleton holds only types and small records; their
 * depth is checked first.
 */
#include <string.h>

#include "model/read.h"

static const ProtobufCMessageDescriptor *const descriptors[LN_MESSAGE_COUNT] = {
    [LN_MESSAGE_MODEL] = &onnx__model_proto__descriptor,
    [LN_MESSAGE_GRAPH] = &onnx__graph_proto__descriptor,
    [LN_MESSAGE_NODE] = &onnx__node_proto__descriptor,
    [LN_MESSAGE_ATTRIBUTE] = &onnx__attribute_proto__descriptor,
    [LN_MESSAGE_TENSOR] = &onnx__tensor_proto__descriptor,
    [LN_MESSAGE_SPARSE] = &onnx__sparse_tensor_proto__descriptor,
    [LN_MESSAGE_FUNCTION] = &onnx__function_proto__descriptor,
};

/* A message within a skeleton whose fields are being looked at. */
typedef struct level {
    const ProtobufCMessageDescriptor *descriptor;
    size_t end;
} level;

bool ln_decode_knows(ln_message message, uint32_t field) {
    return protobuf_c_message_descriptor_get_field(descriptors[message], field) != NULL;
}

static bool take_varint(const ln_bytes *bytes, size_t end, size_t *at, uint64_t *value) {
    *value = 0;
    for (int i = 0; i < 10 && *at < end; i++) {
        const uint8_t byte = bytes->data[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* Moves past one field of the innermost level, or into it when it is a message. */
static ln_status check_field(ln_reader *reader, const ln_bytes *bytes, size_t *at, level *levels,
                             int *depth) {
    const level *const inner = &levels[*depth];
    uint64_t tag = 0;
    uint64_t value = 0;
    bool good = take_varint(bytes, inner->end, at, &tag) && tag >> 3 > 0 && tag >> 3 < (1u << 29);
    uint64_t skipped = 0;
    switch (tag & 7) {
    case 0:
        good = good && take_varint(bytes, inner->end, at, &value);
        break;
    case 1:
        skipped = 8;
        break;
    case 2:
        good = good && take_varint(bytes, inner->end, at, &skipped);
        break;
    case 5:
        skipped = 4;
        break;
    default:
        good = false;
        break;
    }
    if (!good || skipped > inner->end - *at) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "a message is malformed");
    }
    const ProtobufCFieldDescriptor *const field =
        protobuf_c_message_descriptor_get_field(inner->descriptor, (unsigned)(tag >> 3));
    if ((tag & 7) == 2 && field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE) {
        if (*depth + 1 == LN_SKELETON_DEPTH) {
            return ln_read_fail(reader, LN_LIMIT_EXCEEDED, "types are nested too deep");
        }
        levels[++*depth] = (level){field->descriptor, *at + (size_t)skipped};
        return LN_OK;
    }
    *at += (size_t)skipped;
    return LN_OK;
}

static ln_status check_depth(ln_reader *reader, const ln_read_frame *frame) {
    level levels[LN_SKELETON_DEPTH];
    size_t at = 0;
    int depth = 0;
    levels[0] = (level){descriptors[frame->message], frame->skeleton.length};
    for (;;) {
        if (at < levels[depth].end) {
            LN_TRY(check_field(reader, &frame->skeleton, &at, levels, &depth));
        } else if (depth-- == 0) {
            return LN_OK;
        }
    }
}

static size_t count_children(const ln_child *child, uint32_t field) {
    size_t count = 0;
    for (; child != NULL; child = child->next) {
        count += child->field == field ? 1 : 0;
    }
    return count;
}

/* Skeletons hold no child fields, so arrays of children start out empty. */
static bool attach_children(ln_reader *reader, ProtobufCMessage *message, const ln_child *child) {
    for (; child != NULL; child = child->next) {
        const ProtobufCFieldDescriptor *const field =
            protobuf_c_message_descriptor_get_field(message->descriptor, child->field);
        char *const base = (char *)message;
        void **const slot = (void **)(void *)(base + field->offset);
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            *slot = child->message;
            continue;
        }
        size_t *const count = (size_t *)(void *)(base + field->quantifier_offset);
        if (*count == 0) {
            *slot = ln_arena_array(&reader->decoded, count_children(child, child->field), sizeof(void *));
            if (*slot == NULL) {
                return false;
            }
        }
        ((void **)*slot)[(*count)++] = child->message;
    }
    return true;
}

void *ln_decode_frame(ln_reader *reader, const ln_read_frame *frame) {
    if (check_depth(reader, frame) != LN_OK) {
        return NULL;
    }
    static const uint8_t nothing[1] = {0};
    const uint8_t *const bytes = frame->skeleton.length > 0 ? frame->skeleton.data : nothing;
    ProtobufCMessage *const message = protobuf_c_message_unpack(
        descriptors[frame->message], &reader->allocator, frame->skeleton.length, bytes);
    if (message == NULL || !attach_children(reader, message, frame->first)) {
        (void)ln_read_fail(reader, LN_INVALID_MODEL, "a message is malformed");
        return NULL;
    }
    return message;
}
