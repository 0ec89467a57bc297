/* TIFF by libtiff: the first image of a file, in any form that its RGBA interface reads. Compression is what libtiff does by
 * itself, and Deflate; JPEG inside TIFF is not built in. The file is memory: the functions that libtiff asks of the system are here.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "codecs.h"
#include "tiffio.h"

typedef struct memory_file {
    const uint8_t *bytes;
    uint64_t size, at;
    ln_image_sink *sink;
} memory_file;

bool ln_is_tiff(const uint8_t *bytes) {
    return memcmp(bytes, "II*\0", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0 ||
           memcmp(bytes, "II+\0", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0;
}

static tmsize_t read_bytes(thandle_t handle, void *buffer, tmsize_t count) {
    memory_file *file = handle;
    const uint64_t rest = file->at < file->size ? file->size - file->at : 0;
    const uint64_t n = (uint64_t)count < rest ? (uint64_t)count : rest;
    memcpy(buffer, file->bytes + file->at, (size_t)n);
    file->at += n;
    return (tmsize_t)n;
}

static tmsize_t write_nothing(thandle_t handle, void *buffer, tmsize_t count) {
    (void)handle;
    (void)buffer;
    (void)count;
    return 0;
}

static toff_t seek_to(thandle_t handle, toff_t offset, int whence) {
    memory_file *file = handle;
    file->at = whence == SEEK_SET ? offset : whence == SEEK_CUR ? file->at + offset : file->size + offset;
    return file->at;
}

static int close_nothing(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle) {
    return ((memory_file *)handle)->size;
}

/* What libtiff asks of the system. */
void *_TIFFmalloc(tmsize_t size) {
    return size <= 0 ? NULL : malloc((size_t)size);
}
void *_TIFFcalloc(tmsize_t count, tmsize_t size) {
    return count <= 0 || size <= 0 ? NULL : calloc((size_t)count, (size_t)size);
}
void _TIFFfree(void *block) {
    free(block);
}
void *_TIFFrealloc(void *block, tmsize_t size) {
    return realloc(block, (size_t)size);
}
void _TIFFmemset(void *block, int value, tmsize_t size) {
    memset(block, value, (size_t)size);
}
void _TIFFmemcpy(void *to, const void *from, tmsize_t size) {
    memcpy(to, from, (size_t)size);
}
int _TIFFmemcmp(const void *a, const void *b, tmsize_t size) {
    return memcmp(a, b, (size_t)size);
}
TIFFErrorHandler _TIFFwarningHandler = NULL;
TIFFErrorHandler _TIFFerrorHandler = NULL;

static int on_error(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    (void)tiff;
    (void)module;
    (void)arguments;
    ln_image_fail(((memory_file *)data)->sink, format);
    return 1;
}

static TIFF *open_file(memory_file *file) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) {
        return NULL;
    }
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, file);
    TIFF *tiff = TIFFClientOpenExt("image", "rm", file, read_bytes, write_nothing, seek_to, close_nothing,
                                   size_of, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static bool decode(TIFF *tiff, ln_image_sink *sink) {
    uint32_t width = 0;
    uint32_t height = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    uint8_t *out = sink->begin(sink, width, height);
    uint32_t *pixels = out ? _TIFFcalloc((tmsize_t)width * (tmsize_t)height, 4) : NULL;
    if (!pixels) {
        return ln_image_fail(sink, "the size is not usable");
    }
    const bool done = TIFFReadRGBAImageOriented(tiff, width, height, pixels, ORIENTATION_TOPLEFT, 1) != 0;
    for (size_t i = 0; done && i < (size_t)width * height; i++, out += 3) {
        out[0] = (uint8_t)TIFFGetR(pixels[i]);
        out[1] = (uint8_t)TIFFGetG(pixels[i]);
        out[2] = (uint8_t)TIFFGetB(pixels[i]);
    }
    _TIFFfree(pixels);
    return done;
}

bool ln_decode_tiff(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    memory_file file = {bytes, size, 0, sink};
    ln_image_fail(sink, "the file is damaged");
    TIFF *tiff = open_file(&file);
    if (!tiff) {
        return false;
    }
    const bool done = decode(tiff, sink);
    TIFFClose(tiff);
    return done;
}
