/* The decoders of the images room, one file for each library. See ops/image_codec.h. */
#ifndef LN_IMAGES_CODECS_H
#define LN_IMAGES_CODECS_H

#include "ops/image_codec.h"

bool ln_is_jpeg(const uint8_t *bytes);
bool ln_decode_jpeg(const uint8_t *bytes, size_t size, ln_image_sink *sink);
bool ln_is_png(const uint8_t *bytes);
bool ln_decode_png(const uint8_t *bytes, size_t size, ln_image_sink *sink);
bool ln_is_webp(const uint8_t *bytes);
bool ln_decode_webp(const uint8_t *bytes, size_t size, ln_image_sink *sink);
bool ln_is_jpeg2000(const uint8_t *bytes);
bool ln_decode_jpeg2000(const uint8_t *bytes, size_t size, ln_image_sink *sink);
bool ln_is_tiff(const uint8_t *bytes);
bool ln_decode_tiff(const uint8_t *bytes, size_t size, ln_image_sink *sink);

#endif
