/* WebP by libwebp, lossy and lossless; of an animation, nothing. */
#include <string.h>

#include "codecs.h"
#include "webp/decode.h"

bool ln_is_webp(const uint8_t *bytes) {
    return memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

bool ln_decode_webp(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    int width, height;
    if (!WebPGetInfo(bytes, size, &width, &height)) {
        return ln_image_fail(sink, "the header is damaged");
    }
    uint8_t *out = sink->begin(sink, (uint64_t)width, (uint64_t)height);
    if (!out) {
        return false;
    }
    const size_t stride = (size_t)width * 3;
    return WebPDecodeRGBInto(bytes, size, out, stride * (size_t)height, (int)stride) != NULL ||
           ln_image_fail(sink, "the rows are damaged or cut off");
}
