/* What decodes images: a table of formats. ImageDecoder has those in image_formats.c; a build with the decoders of the images
 * room adds theirs. */
#ifndef LN_OPS_IMAGE_CODEC_H
#define LN_OPS_IMAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LN_IMAGE_SIDE = 1 << 20, LN_IMAGE_ERROR_BYTES = 160 }; /* most pixels of a side */

/* Where a decoder puts an image: `begin` is called once the size is known, and gives room for width * height pixels of 3 bytes,
 * red, green, blue, top row first; NULL when there is none, upon which the decoder gives up. */
typedef struct ln_image_sink ln_image_sink;
struct ln_image_sink {
    uint8_t *(*begin)(ln_image_sink *sink, uint64_t width, uint64_t height);
    char error[LN_IMAGE_ERROR_BYTES]; /* what is wrong, when a decoder says false */
};

typedef struct ln_image_codec {
    const char *name;
    /* Whether the first bytes, at least 16, are those of this format. */
    bool (*matches)(const uint8_t *bytes);
    bool (*decode)(const uint8_t *bytes, size_t size, ln_image_sink *sink);
} ln_image_codec;

/* Rows end with a NULL name. */
extern const ln_image_codec ln_image_formats[];
/* Of the images room; not there in a build without it. */
extern const ln_image_codec ln_image_codecs[] __attribute__((weak));

/* Says false with a reason. */
bool ln_image_fail(ln_image_sink *sink, const char *reason);

#endif
