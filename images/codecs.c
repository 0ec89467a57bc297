/* The table of decoders that the images artifact has beside those of the core. */
#include "codecs.h"

const ln_image_codec ln_image_codecs[] = {
    {"JPEG", ln_is_jpeg, ln_decode_jpeg}, {"PNG", ln_is_png, ln_decode_png},
    {"WebP", ln_is_webp, ln_decode_webp}, {"JPEG 2000", ln_is_jpeg2000, ln_decode_jpeg2000},
    {"TIFF", ln_is_tiff, ln_decode_tiff}, {NULL, NULL, NULL},
};
