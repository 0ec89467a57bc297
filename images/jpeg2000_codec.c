/* JPEG 2000 by OpenJPEG: JP2 files and bare code streams; grey, RGB and YCC of 8 bits, other depths brought to 8. */
#include <string.h>

#include "codecs.h"
#include "openjpeg.h"

bool ln_is_jpeg2000(const uint8_t *bytes) {
    return memcmp(bytes, "\0\0\0\x0CjP  \r\n\x87\n", 12) == 0 || memcmp(bytes, "\xFF\x4F\xFF\x51", 4) == 0;
}

typedef struct memory_stream {
    const uint8_t *bytes;
    size_t size, at;
} memory_stream;

static OPJ_SIZE_T read_bytes(void *buffer, OPJ_SIZE_T count, void *data) {
    memory_stream *memory = data;
    const size_t rest = memory->size - memory->at;
    if (rest == 0) {
        return (OPJ_SIZE_T)-1;
    }
    count = count < rest ? count : rest;
    memcpy(buffer, memory->bytes + memory->at, count);
    memory->at += count;
    return count;
}

static OPJ_BOOL seek_to(OPJ_OFF_T offset, void *data) {
    memory_stream *memory = data;
    if (offset < 0 || (uint64_t)offset > memory->size) {
        return OPJ_FALSE;
    }
    memory->at = (size_t)offset;
    return OPJ_TRUE;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *data) {
    memory_stream *memory = data;
    return seek_to((OPJ_OFF_T)memory->at + count, data) ? count : -1;
}

static void on_error(const char *message, void *data) {
    ln_image_fail(data, message);
}

static opj_stream_t *open_stream(memory_stream *memory) {
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    if (stream) {
        opj_stream_set_read_function(stream, read_bytes);
        opj_stream_set_seek_function(stream, seek_to);
        opj_stream_set_skip_function(stream, skip_bytes);
        opj_stream_set_user_data(stream, memory, NULL);
        opj_stream_set_user_data_length(stream, memory->size);
    }
    return stream;
}

/* A sample as a byte. */
static uint8_t sample_at(const opj_image_comp_t *component, size_t index) {
    int64_t value = component->data[index];
    value += component->sgnd ? INT64_C(1) << (component->prec - 1) : 0;
    const int shift = (int)component->prec - 8;
    value = shift > 0              ? value >> shift
            : component->prec == 8 ? value
                                   : value * 255 / ((INT64_C(1) << component->prec) - 1);
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static uint8_t clamp(int value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* In place, from luma and two differences, in fixed point. */
static void to_rgb(uint8_t *pixel) {
    const int y = pixel[0];
    const int blue = pixel[1] - 128;
    const int red = pixel[2] - 128;
    pixel[0] = clamp(y + ((91881 * red + 32768) >> 16));
    pixel[1] = clamp(y - ((22554 * blue + 46802 * red + 32768) >> 16));
    pixel[2] = clamp(y + ((116130 * blue + 32768) >> 16));
}

static bool store(const opj_image_t *image, ln_image_sink *sink) {
    const uint32_t used = image->numcomps >= 3 ? 3 : 1;
    const opj_image_comp_t *first = image->comps;
    for (uint32_t c = 0; c < used; c++) {
        const opj_image_comp_t *component = &image->comps[c];
        if (!component->data || component->w != first->w || component->h != first->h || component->prec < 1 ||
            component->prec > 31) {
            return ln_image_fail(sink, "components of different sizes are not supported");
        }
    }
    uint8_t *out = sink->begin(sink, first->w, first->h);
    for (size_t i = 0; out && i < (size_t)first->w * first->h; i++, out += 3) {
        for (uint32_t c = 0; c < 3; c++) {
            out[c] = sample_at(&image->comps[used == 3 ? c : 0], i);
        }
        if (used == 3 && image->color_space == OPJ_CLRSPC_SYCC) {
            to_rgb(out);
        }
    }
    return out != NULL;
}

static bool decode(opj_codec_t *codec, opj_stream_t *stream, ln_image_sink *sink) {
    opj_dparameters_t parameters;
    opj_image_t *image = NULL;
    opj_set_default_decoder_parameters(&parameters);
    opj_set_error_handler(codec, on_error, sink);
    ln_image_fail(sink, "the stream is damaged or cut off");
    const bool done = opj_setup_decoder(codec, &parameters) && opj_read_header(stream, codec, &image) &&
                      image->numcomps > 0 && opj_decode(codec, stream, image) &&
                      opj_end_decompress(codec, stream) && store(image, sink);
    opj_image_destroy(image);
    return done;
}

bool ln_decode_jpeg2000(const uint8_t *bytes, size_t size, ln_image_sink *sink) {
    memory_stream memory = {bytes, size, 0};
    opj_stream_t *stream = open_stream(&memory);
    opj_codec_t *codec = opj_create_decompress(bytes[0] == 0 ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    const bool done = stream && codec ? decode(codec, stream, sink) : ln_image_fail(sink, "memory ran out");
    opj_destroy_codec(codec);
    opj_stream_destroy(stream);
    return done;
}
