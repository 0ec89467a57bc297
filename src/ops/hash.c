/* MurmurHash3: a 32-bit hash of every element, by the x86_32 form of Austin Appleby's function.
 *
 * Numbers are hashed by their bytes as they are stored, texts by their characters. The words of a key are read in little-endian
 * order, which is that of the memory here. Source: com.microsoft MurmurHash3-1.
 */
#include <string.h>

#include "ops/generate.h"
#include "ops/move.h"

typedef struct hash_params {
    uint32_t seed;
} hash_params;

static ln_status build_hash(ln_build *build) {
    hash_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->seed = (uint32_t)ln_attr_int(build, "seed", 0);
        build->node->output_dtype = ln_attr_bool(build, "positive", true) ? LN_UINT32 : LN_INT32;
    }
    return ln_build_status(build);
}

static ln_status infer_hash(ln_op *op) {
    return ln_op_shape(op, 0, op->node->output_dtype, &ln_in(op, 0)->shape);
}

static uint32_t rotate(uint32_t x, int by) {
    return x << by | x >> (32 - by);
}

static uint32_t scramble(uint32_t word) {
    return rotate(word * 0xcc9e2d51, 15) * 0x1b873593;
}

static uint32_t hash_bytes(const unsigned char *bytes, size_t length, uint32_t hash) {
    size_t at = 0;
    for (; at + 4 <= length; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        hash = rotate(hash ^ scramble(word), 13) * 5 + 0xe6546b64;
    }
    uint32_t rest = 0;
    for (size_t i = length; i > at; i--) {
        rest = rest << 8 | bytes[i - 1];
    }
    hash ^= scramble(rest) ^ (uint32_t)length;
    hash = (hash ^ hash >> 16) * 0x85ebca6b;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35;
    return hash ^ hash >> 16;
}

static void hash_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const hash_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const size_t width = ln_width(input->dtype);
    uint32_t *out = ln_out(op, 0)->data;
    int64_t begin, end;
    ln_element_range(op, index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        if (input->dtype == LN_STRING) {
            const ln_string *text = (const ln_string *)input->data + i;
            out[i] = hash_bytes((const unsigned char *)text->data, text->length, params->seed);
        } else {
            out[i] = hash_bytes((const unsigned char *)input->data + (size_t)i * width, width, params->seed);
        }
    }
}

static ln_status run_hash(ln_op *op) {
    return ln_offer_elements(op, hash_task);
}

#define T_HASHED                                                                                             \
    (LN_BIT(LN_UINT32) | LN_BIT(LN_UINT64) | LN_T_INDEX | LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) |             \
     LN_BIT(LN_STRING))
static const ln_op_row rows[] = {
    {"MurmurHash3",
     "com.microsoft",
     1,
     LN_OPEN,
     "A>B",
     {T_HASHED, LN_BIT(LN_UINT32) | LN_BIT(LN_INT32)},
     build_hash,
     infer_hash,
     run_hash,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(hash, rows);
