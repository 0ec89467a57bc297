/* The image formats that need no library: BMP and PNM.
 *
 * BMP: 1, 4 and 8 bits with a palette, 16 and 32 with or without bit masks, 24; rows from either end; not run-length coded. PNM: PBM,
 * PGM and PPM as text and as bytes, up to 16 bits for a sample. Every read is checked against the end of the file.
 */
#include <string.h>

#include "ops/image_codec.h"

/* ---- BMP ---- */

static uint32_t read_u16(const uint8_t *at) {
    return (uint32_t)(at[0] | at[1] << 8);
}

static uint32_t read_u32(const uint8_t *at) {
    return read_u16(at) | read_u16(at + 2) << 16;
}

typedef struct bmp_file {
    const uint8_t *bytes;
    size_t size;
    uint64_t width, height;
    uint32_t bits, header, colours;
    size_t offset, stride;
    uint32_t masks[3]; /* red, green, blue */
    bool from_top;
} bmp_file;

static bool is_bmp(const uint8_t *bytes) {
    return bytes[0] == 'B' && bytes[1] == 'M';
}

/* The value of a masked field, spread to 0..255. */
static uint8_t masked(uint32_t pixel, uint32_t mask) {
    if (mask == 0) {
        return 0;
    }
    const int shift = __builtin_ctz(mask);
    const uint64_t most = mask >> shift;
    return (uint8_t)(((uint64_t)((pixel & mask) >> shift) * 255 + most / 2) / most);
}

static bool read_bmp_header(bmp_file *bmp, ln_image_sink *sink) {
    const uint8_t *b = bmp->bytes;
    if (bmp->size < 54) {
        return ln_image_fail(sink, "the header is cut off");
    }
    bmp->offset = read_u32(b + 10);
    bmp->header = read_u32(b + 14);
    const int32_t width = (int32_t)read_u32(b + 18);
    const int32_t height = (int32_t)read_u32(b + 22);
    const uint32_t compression = read_u32(b + 30);
    bmp->bits = read_u16(b + 28);
    bmp->colours = read_u32(b + 46);
    if (bmp->header < 40 || width <= 0 || height == 0 || height == INT32_MIN) {
        return ln_image_fail(sink, "the header is of an unknown form");
    }
    bmp->from_top = height < 0;
    bmp->width = (uint64_t)width;
    bmp->height = (uint64_t)(height < 0 ? -height : height);
    if (compression != 0 && compression != 3) {
        return ln_image_fail(sink, "compressed rows are not supported");
    }
    const bool wide = bmp->bits == 32;
    bmp->masks[0] = wide ? 0xFF0000 : 0x7C00;
    bmp->masks[1] = wide ? 0xFF00 : 0x3E0;
    bmp->masks[2] = wide ? 0xFF : 0x1F;
    if (compression == 3 && bmp->size < 66) {
        return ln_image_fail(sink, "the header is cut off");
    }
    for (int i = 0; compression == 3 && i < 3; i++) {
        bmp->masks[i] = read_u32(b + 54 + 4 * i);
    }
    return true;
}

static void bmp_pixel(const bmp_file *bmp, const uint8_t *row, uint64_t x, uint8_t *out) {
    if (bmp->bits <= 8) {
        const uint64_t bit = x * bmp->bits;
        const uint32_t index = row[bit / 8] >> (8 - bmp->bits - bit % 8) & ((1U << bmp->bits) - 1);
        const uint8_t *colour =
            bmp->bytes + 14 + bmp->header + (size_t)4 * (index < bmp->colours ? index : 0);
        out[0] = colour[2];
        out[1] = colour[1];
        out[2] = colour[0];
        return;
    }
    if (bmp->bits == 24) {
        out[0] = row[x * 3 + 2];
        out[1] = row[x * 3 + 1];
        out[2] = row[x * 3];
        return;
    }
    const uint32_t pixel = bmp->bits == 16 ? read_u16(row + x * 2) : read_u32(row + x * 4);
    for (int i = 0; i < 3; i++) {
        out[i] = masked(pixel, bmp->masks[i]);
    }
}

static bool decode_bmp(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    bmp_file bmp = {.bytes = bytes, .size = size};
    if (!read_bmp_header(&bmp, sink)) {
        return false;
    }
    const uint32_t bits = bmp.bits;
    if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32) {
        return ln_image_fail(sink, "the number of bits of a pixel is unknown");
    }
    if (bits <= 8) {
        bmp.colours = bmp.colours == 0 || bmp.colours > 1U << bits ? 1U << bits : bmp.colours;
        if ((uint64_t)14 + bmp.header + (uint64_t)4 * bmp.colours > size) {
            return ln_image_fail(sink, "the palette is cut off");
        }
    }
    bmp.stride = (size_t)((bmp.width * bits + 31) / 32 * 4);
    if (bmp.offset > size || (uint64_t)bmp.stride * bmp.height > size - bmp.offset) {
        return ln_image_fail(sink, "the rows are cut off");
    }
    uint8_t *out = sink->begin(sink, bmp.width, bmp.height);
    for (uint64_t y = 0; out && y < bmp.height; y++) {
        const uint64_t row = bmp.from_top ? y : bmp.height - 1 - y;
        for (uint64_t x = 0; x < bmp.width; x++, out += 3) {
            bmp_pixel(&bmp, bytes + bmp.offset + (size_t)row * bmp.stride, x, out);
        }
    }
    return out != NULL;
}

/* ---- PNM ---- */

typedef struct pnm_file {
    const uint8_t *at, *end;
} pnm_file;

static bool is_pnm(const uint8_t *bytes) {
    return bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' && (bytes[2] <= ' ' || bytes[2] == '#');
}

static void skip_space(pnm_file *file) {
    while (file->at < file->end && (*file->at <= ' ' || *file->at == '#')) {
        if (*file->at == '#') {
            while (file->at < file->end && *file->at != '\n') {
                file->at++;
            }
        } else {
            file->at++;
        }
    }
}

/* A number of decimal digits, at most `digits` of them; false when there is none. */
static bool read_number(pnm_file *file, int digits, uint32_t *number) {
    skip_space(file);
    const uint8_t *first = file->at;
    *number = 0;
    for (; file->at < file->end && *file->at >= '0' && *file->at <= '9' && digits > 0; file->at++, digits--) {
        *number = *number * 10 + (uint32_t)(*file->at - '0');
    }
    return file->at > first;
}

/* One sample of text or of bytes. A bit of PBM is ink. */
static bool read_sample(pnm_file *file, bool text, uint32_t most, uint32_t *sample) {
    if (text) {
        return read_number(file, most == 1 ? 1 : 9, sample);
    }
    const size_t width = most > 255 ? 2 : 1;
    if ((size_t)(file->end - file->at) < width) {
        return false;
    }
    *sample = width == 2 ? (uint32_t)(file->at[0] << 8 | file->at[1]) : file->at[0];
    file->at += width;
    return true;
}

static uint8_t to_byte(uint32_t sample, uint32_t most) {
    sample = sample < most ? sample : most;
    return (uint8_t)((sample * 255 + most / 2) / most);
}

/* Rows of bits start at a byte each. */
static bool read_bits(pnm_file *file, uint64_t width, uint64_t height, uint8_t *out) {
    const uint64_t stride = (width + 7) / 8;
    if (stride * height > (uint64_t)(file->end - file->at)) {
        return false;
    }
    for (uint64_t y = 0; y < height; y++, file->at += stride) {
        for (uint64_t x = 0; x < width; x++, out += 3) {
            memset(out, file->at[x / 8] >> (7 - x % 8) & 1 ? 0 : 255, 3);
        }
    }
    return true;
}

static bool decode_pnm(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    pnm_file file = {bytes + 2, bytes + size};
    const int kind = (bytes[1] - '1') % 3; /* bits, grey, colour */
    const bool text = bytes[1] <= '3';
    uint32_t width, height;
    uint32_t most = 1;
    if (!read_number(&file, 9, &width) || !read_number(&file, 9, &height) ||
        (kind > 0 && (!read_number(&file, 9, &most) || most == 0 || most > 65535))) {
        return ln_image_fail(sink, "the header is not complete");
    }
    file.at += file.at < file.end; /* one space ends the header */
    uint8_t *out = sink->begin(sink, width, height);
    if (!out) {
        return false;
    }
    if (kind == 0 && !text) {
        return read_bits(&file, width, height, out) || ln_image_fail(sink, "the rows are cut off");
    }
    for (uint64_t i = 0; i < (uint64_t)width * height; i++, out += 3) {
        for (int c = 0; c < (kind == 2 ? 3 : 1); c++) {
            uint32_t sample;
            if (!read_sample(&file, text, most, &sample)) {
                return ln_image_fail(sink, "the rows are cut off");
            }
            out[c] = to_byte(kind == 0 ? 1 - (sample & 1) : sample, most);
        }
        if (kind < 2) {
            out[1] = out[2] = out[0];
        }
    }
    return true;
}

const ln_image_codec ln_image_formats[] = {
    {"BMP", is_bmp, decode_bmp},
    {"PNM", is_pnm, decode_pnm},
    {NULL, NULL, NULL},
};
