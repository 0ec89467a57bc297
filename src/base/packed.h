/* Elements of less than a byte: 4 or 2 bits side by side in a byte, low part first, or 6 bits in one stream, four elements
 * in three bytes. */
#ifndef LN_BASE_PACKED_H
#define LN_BASE_PACKED_H

#include <stdint.h>

/* Code of element i. */
static inline unsigned ln_packed_get(const uint8_t *bytes, int64_t i, unsigned bits) {
    const uint64_t at = (uint64_t)i * bits;
    const unsigned shift = (unsigned)(at % 8);
    unsigned word = bytes[at / 8];
    if (shift + bits > 8) {
        word |= (unsigned)bytes[at / 8 + 1] << 8;
    }
    return word >> shift & ((1u << bits) - 1);
}

/* Bits around the element stay. */
static inline void ln_packed_set(uint8_t *bytes, int64_t i, unsigned bits, unsigned code) {
    const uint64_t at = (uint64_t)i * bits;
    const unsigned shift = (unsigned)(at % 8);
    const unsigned mask = ((1u << bits) - 1) << shift;
    const unsigned word = code << shift & mask;
    uint8_t *const byte = &bytes[at / 8];
    byte[0] = (uint8_t)((byte[0] & ~mask) | word);
    if (shift + bits > 8) {
        byte[1] = (uint8_t)((byte[1] & ~(mask >> 8)) | word >> 8);
    }
}

#endif
