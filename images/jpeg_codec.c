/* JPEG by libjpeg-turbo: the accurate integer transform and smooth chroma, its defaults, so that pixels are those of other
 * programs. An error leaves by longjmp, as the library wants it.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "codecs.h"
#include "jerror.h"
#include "jpeglib.h"

typedef struct jpeg_errors {
    struct jpeg_error_mgr base;
    ln_image_sink *sink;
    jmp_buf leave;
} jpeg_errors;

static void on_error(j_common_ptr jpeg) {
    jpeg_errors *errors = (jpeg_errors *)(void *)jpeg->err;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    ln_image_fail(errors->sink, text);
    longjmp(errors->leave, 1);
}

static void on_message(j_common_ptr jpeg) {
    (void)jpeg;
}

bool ln_is_jpeg(const uint8_t *bytes) {
    return bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

/* CMYK is stored inverted, as Adobe's programs write it. */
static void to_rgb(const uint8_t *cmyk, size_t width, uint8_t *out) {
    for (size_t x = 0; x < width; x++, cmyk += 4, out += 3) {
        for (int c = 0; c < 3; c++) {
            out[c] = (uint8_t)(cmyk[c] * cmyk[3] / 255);
        }
    }
}

bool ln_decode_jpeg(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    struct jpeg_decompress_struct jpeg;
    jpeg_errors errors = {.sink = sink};
    jpeg.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = on_error;
    errors.base.output_message = on_message;
    if (setjmp(errors.leave)) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, bytes, (unsigned long)size);
    jpeg_read_header(&jpeg, TRUE);
    const bool inks = jpeg.num_components == 4;
    jpeg.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&jpeg);
    const size_t width = jpeg.output_width;
    uint8_t *out = sink->begin(sink, width, jpeg.output_height);
    if (!out) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    JSAMPARRAY line = (*jpeg.mem->alloc_sarray)((j_common_ptr)&jpeg, JPOOL_IMAGE, (JDIMENSION)width * 4, 1);
    while (jpeg.output_scanline < jpeg.output_height) {
        uint8_t *row = out + (size_t)jpeg.output_scanline * width * 3;
        jpeg_read_scanlines(&jpeg, line, 1);
        if (inks) {
            to_rgb(line[0], width, row);
        } else {
            memcpy(row, line[0], width * 3);
        }
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return true;
}
