/* PNG by libspng: every colour type, depth and interlacing, as 8-bit red, green and blue; transparency is left out. */
#include <string.h>

#include "codecs.h"
#include "spng.h"

bool ln_is_png(const uint8_t *bytes) {
    return memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

bool ln_decode_png(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    spng_ctx *png = spng_ctx_new(0);
    if (!png) {
        return ln_image_fail(sink, "memory ran out");
    }
    struct spng_ihdr header;
    size_t needed = 0;
    int error = spng_set_png_buffer(png, bytes, size);
    error = error ? error : spng_get_ihdr(png, &header);
    error = error ? error : spng_decoded_image_size(png, SPNG_FMT_RGB8, &needed);
    uint8_t *out = error ? NULL : sink->begin(sink, header.width, header.height);
    if (out && needed != (size_t)header.width * header.height * 3) {
        error = SPNG_EINTERNAL;
    }
    if (out && !error) {
        error = spng_decode_image(png, out, needed, SPNG_FMT_RGB8, 0);
    }
    spng_ctx_free(png);
    return error ? ln_image_fail(sink, spng_strerror(error)) : out != NULL;
}
