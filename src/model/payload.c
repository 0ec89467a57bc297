/* The elements of tensors on their way from the file to their place.
 *
 * raw_data and the fields of fixed width hold elements as they lie in memory and are copied; varints are
 * decoded and stored in the width of the tensor's type. When type and shape are known before the elements,
 * as every exporter writes them, the block has its final size from the start: that of the shape with its
 * first and last dimension rounded up to 8, when it costs less than 5 %, so that the kernels' packing can
 * happen in place. Tensors of up to LN_SMALL_PAYLOAD bytes go to the model's arena.
 */
#include <string.h>

#include "model/read.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };
enum { RAW_DATA = 9 };

/* The element types a payload field may hold. */
typedef struct payload_row {
    uint8_t field;
    uint8_t wire;  /* of one element */
    uint8_t width; /* bytes of one element as the wire knows it; 1 for raw_data */
    ln_dtype_set types;
} payload_row;

#define ALL_BUT_STRING ((LN_BIT(LN_DTYPE_COUNT) - 1) & ~LN_BIT(LN_STRING) & ~LN_BIT(LN_UNDEFINED))
#define WIDE_TYPES                                                                                           \
    (LN_BIT(LN_FLOAT) | LN_BIT(LN_INT64) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_UINT32) | LN_BIT(LN_UINT64) |       \
     LN_BIT(LN_COMPLEX64) | LN_BIT(LN_COMPLEX128))

/* Types of less than a byte that int32_data stores one in a number; those of 4 and 2 bits are packed there as well. */
#define FLOAT6 (LN_BIT(LN_FLOAT6E2M3) | LN_BIT(LN_FLOAT6E3M2))

static const payload_row payload_rows[] = {
    {4, WIRE_FIXED32, 4, LN_BIT(LN_FLOAT) | LN_BIT(LN_COMPLEX64)},
    {5, WIRE_VARINT, 4, ALL_BUT_STRING & ~WIDE_TYPES},
    {7, WIRE_VARINT, 8, LN_BIT(LN_INT64)},
    {RAW_DATA, WIRE_LENGTH, 1, ALL_BUT_STRING},
    {10, WIRE_FIXED64, 8, LN_BIT(LN_DOUBLE) | LN_BIT(LN_COMPLEX128)},
    {11, WIRE_VARINT, 8, LN_BIT(LN_UINT32) | LN_BIT(LN_UINT64)},
};

static const payload_row *row_of(uint32_t field) {
    size_t i = 0;
    while (payload_rows[i].field != field) {
        i++;
    }
    return &payload_rows[i];
}

bool ln_payload_wire_ok(uint32_t field, int wire) {
    return wire == WIRE_LENGTH || wire == row_of(field)->wire;
}

bool ln_payload_is_varint(uint32_t field) {
    return row_of(field)->wire == WIRE_VARINT;
}

/* Bytes that one varint of the field takes in a tensor of this type; several packed elements share a byte.
 * A type that is not known, or not one of the field's, leaves the width of the wire. */
static size_t stored_width(const payload_row *row, ln_dtype dtype) {
    if (row->wire != WIRE_VARINT || (row->types & LN_BIT(dtype)) == 0) {
        return row->width;
    }
    return ln_dtype_bits(dtype) >= 8 ? ln_dtype_bits(dtype) / 8 : 1;
}

void ln_payload_reset(ln_reader *reader) {
    ln_payload *const payload = &reader->payload;
    if (payload->block) {
        ln_free(reader->context, payload->data);
    }
    payload->field = 0;
    payload->width = 0;
    payload->data = payload->small;
    payload->length = 0;
    payload->capacity = LN_SMALL_PAYLOAD;
    payload->block = false;
}

static ln_status reserve(ln_reader *reader, size_t capacity) {
    ln_payload *const payload = &reader->payload;
    if (capacity <= payload->capacity) {
        return LN_OK;
    }
    char *const data = ln_alloc(reader->context, capacity, LN_MEMORY_WEIGHTS);
    if (data == NULL) {
        return ln_read_fail(reader, LN_OUT_OF_MEMORY, "out of memory");
    }
    memcpy(data, payload->data, payload->length);
    if (payload->block) {
        ln_free(reader->context, payload->data);
    }
    payload->data = data;
    payload->capacity = capacity;
    payload->block = true;
    return LN_OK;
}

static ln_status reserve_more(ln_reader *reader, size_t more) {
    const ln_payload *const payload = &reader->payload;
    if (more <= payload->capacity - payload->length) {
        return LN_OK;
    }
    if (more > SIZE_MAX / 4 || payload->capacity > SIZE_MAX / 4) {
        return ln_read_fail(reader, LN_LIMIT_EXCEEDED, "a tensor is too large");
    }
    const size_t needed = payload->length + more;
    return reserve(reader, needed > payload->capacity * 2 ? needed : payload->capacity * 2);
}

static bool skip_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value) {
    *value = 0;
    for (int i = 0; i < 10 && *at < length; i++) {
        const uint8_t byte = bytes[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* Type and shape from the part of a tensor's skeleton that has come. It consists of whole fields. */
static void peek_skeleton(const ln_bytes *skeleton, ln_dtype *dtype, ln_shape *shape) {
    size_t at = 0;
    uint64_t tag = 0;
    uint64_t value = 0;
    *dtype = LN_UNDEFINED;
    shape->rank = 0;
    while (at < skeleton->length && skip_varint(skeleton->data, skeleton->length, &at, &tag)) {
        const int wire = (int)(tag & 7);
        const uint64_t field = tag >> 3;
        if (wire == WIRE_FIXED32 || wire == WIRE_FIXED64) {
            at += wire == WIRE_FIXED32 ? 4 : 8;
            continue;
        }
        (void)skip_varint(skeleton->data, skeleton->length, &at, &value);
        size_t end = at;
        if (wire == WIRE_LENGTH) {
            end = at + (size_t)value;
        }
        if (field == 2 && wire == WIRE_VARINT) {
            *dtype = ln_dtype_valid((int)(value & 0xff)) && value < 256 ? (ln_dtype)value : LN_UNDEFINED;
        }
        if (field == 1) {
            while (wire == WIRE_VARINT || at < end) {
                if (wire == WIRE_LENGTH && !skip_varint(skeleton->data, end, &at, &value)) {
                    break;
                }
                if (shape->rank < LN_MAX_RANK) {
                    shape->dims[shape->rank++] = (int64_t)value;
                }
                if (wire == WIRE_VARINT) {
                    break;
                }
            }
        }
        at = end;
    }
}

/* The capacity that packing in place needs, for `exact` bytes of this type and shape. */
static size_t packing_capacity(ln_dtype dtype, const ln_shape *shape, size_t exact) {
    if (shape->rank < 2 || ln_dtype_bits(dtype) < 8) {
        return exact;
    }
    ln_shape padded = *shape;
    padded.dims[0] = (padded.dims[0] + 7) / 8 * 8;
    padded.dims[padded.rank - 1] = (padded.dims[padded.rank - 1] + 7) / 8 * 8;
    size_t bytes = 0;
    if (!ln_dtype_bytes(dtype, ln_shape_count(&padded), &bytes)) {
        return exact;
    }
    return bytes - exact <= exact / 20 ? bytes : exact;
}

ln_status ln_payload_open(ln_reader *reader, uint32_t field, uint64_t length) {
    ln_payload *const payload = &reader->payload;
    const payload_row *const row = row_of(field);
    const bool fixed = row->wire != WIRE_VARINT;
    if (length % row->width != 0 && fixed) {
        return ln_read_fail(reader, LN_INVALID_MODEL,
                            "the length of packed numbers is not a multiple of their size");
    }
    if (length > SIZE_MAX / 8) {
        return ln_read_fail(reader, LN_LIMIT_EXCEEDED, "a tensor is too large");
    }
    if (payload->field == field && field != RAW_DATA) {
        return fixed ? reserve_more(reader, (size_t)length) : LN_OK;
    }
    if (payload->length > 0) {
        return ln_read_fail(reader, LN_INVALID_MODEL, "a tensor has its elements twice");
    }
    const ln_read_frame *const frame = &reader->frames[reader->depth];
    ln_dtype dtype = LN_UNDEFINED;
    ln_shape shape;
    peek_skeleton(&frame->skeleton, &dtype, &shape);
    payload->field = field;
    payload->width = stored_width(row, dtype);
    size_t exact = 0;
    const bool known =
        dtype != LN_UNDEFINED && dtype != LN_STRING && ln_dtype_bytes(dtype, ln_shape_count(&shape), &exact);
    /* No element takes less than a byte of the file for every byte of its width. */
    const uint64_t rest = frame->end - reader->position;
    const bool plausible =
        known && exact <= (rest > SIZE_MAX / 8 ? SIZE_MAX / 8 : (size_t)rest) * payload->width;
    const size_t wanted = plausible ? packing_capacity(dtype, &shape, exact) : 0;
    const size_t least = fixed ? (size_t)length : 0;
    return reserve(reader, wanted > least && exact >= least ? wanted : least);
}

ln_status ln_payload_bytes(ln_reader *reader, const uint8_t *bytes, size_t length) {
    ln_payload *const payload = &reader->payload;
    LN_TRY(reserve_more(reader, length));
    if (length > 0) {
        memcpy(payload->data + payload->length, bytes, length);
    }
    payload->length += length;
    return LN_OK;
}

ln_status ln_payload_varint(ln_reader *reader, uint64_t value) {
    ln_payload *const payload = &reader->payload;
    LN_TRY(reserve_more(reader, payload->width));
    memcpy(payload->data + payload->length, &value, payload->width);
    payload->length += payload->width;
    return LN_OK;
}

/* Brings elements that were stored before their type was known to their width, front to back. */
static void narrow(ln_payload *payload, size_t width) {
    const size_t count = payload->length / payload->width;
    for (size_t i = 0; i < count && width < payload->width; i++) {
        memmove(payload->data + i * width, payload->data + i * payload->width, width);
    }
    payload->length = count * width;
    payload->width = width;
}

/* Packs elements that came one a byte, front to back; the last byte is filled with zeros. */
static void pack(ln_payload *payload, unsigned bits) {
    uint8_t *const bytes = (uint8_t *)payload->data;
    size_t stored = 0;
    unsigned word = 0;
    unsigned held = 0;
    for (size_t i = 0; i < payload->length; i++) {
        word |= (bytes[i] & ((1u << bits) - 1)) << held;
        for (held += bits; held >= 8; held -= 8, word >>= 8) {
            bytes[stored++] = (uint8_t)word;
        }
    }
    if (held > 0) {
        bytes[stored++] = (uint8_t)word;
    }
    payload->length = stored;
}

ln_status ln_payload_close(ln_reader *reader, ln_read_tensor *tensor) {
    ln_payload *const payload = &reader->payload;
    const int32_t type = tensor->proto.data_type;
    if (payload->field == 0) {
        return LN_OK;
    }
    const payload_row *const row = row_of(payload->field);
    if (payload->length > 0) {
        const bool fits = ln_dtype_valid(type) && (row->types & LN_BIT(type)) != 0;
        const size_t width = fits ? stored_width(row, (ln_dtype)type) : 0;
        if (!fits || (row->wire == WIRE_VARINT && width > payload->width)) {
            return ln_read_fail(reader, LN_INVALID_MODEL,
                                "a tensor's elements are in a field that its type does not use");
        }
        if (row->wire == WIRE_VARINT) {
            narrow(payload, width);
            if (LN_BIT(type) & FLOAT6) {
                pack(payload, ln_dtype_bits((ln_dtype)type));
            }
        }
    }
    tensor->present = true;
    tensor->bytes = payload->length;
    tensor->block = payload->block;
    if (payload->block) {
        tensor->data = payload->data;
        payload->block = false; /* the tensor owns it now */
    } else {
        tensor->data = ln_arena_alloc(&reader->model->arena, payload->length);
        if (tensor->data == NULL) {
            return ln_read_fail(reader, LN_OUT_OF_MEMORY, "out of memory");
        }
        memcpy(tensor->data, payload->data, payload->length);
    }
    ln_payload_reset(reader);
    return LN_OK;
}
