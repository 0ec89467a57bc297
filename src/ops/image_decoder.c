/* ImageDecoder: an image file as a tensor of bytes [height, width, channels].
 *
 * The first bytes tell the format. Decoders give red, green and blue; BGR swaps them, Grayscale weighs them as ITU-R 601 does, in
 * fixed point. BMP and PNM are decoded here; JPEG, PNG, WebP, TIFF and JPEG 2000 by the libraries that everybody uses, in
 * an artifact of their own (images/), so that no page pays for them which has no use for them. Standard: ImageDecoder-20.
 */
#include <string.h>

#include "ops/image_codec.h"
#include "ops/op.h"

typedef enum pixel_format { FORMAT_RGB, FORMAT_BGR, FORMAT_GRAY } pixel_format;

typedef struct image_params {
    pixel_format format;
} image_params;

/* Decoded pixels, in a block that the operator frees. */
typedef struct image_block {
    ln_image_sink sink;
    ln_context *context;
    uint8_t *pixels;
    int64_t width, height;
} image_block;

static ln_status build_image(ln_build *build) {
    static const char *const formats[] = {"RGB", "BGR", "Grayscale", NULL};
    image_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->format = (pixel_format)ln_attr_choice(build, "pixel_format", formats, FORMAT_RGB);
    }
    return ln_build_status(build);
}

static ln_status infer_image(ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, shape->rank == 1, INVALID_SHAPE, "the encoded image has %d axes, expected 1",
                (int)shape->rank);
    return ln_infer_dynamic(op);
}

bool ln_image_fail(ln_image_sink *sink, const char *reason) {
    size_t length = strlen(reason);
    length = length < sizeof sink->error ? length : sizeof sink->error - 1;
    memcpy(sink->error, reason, length);
    sink->error[length] = 0;
    return false;
}

static uint8_t *begin_image(ln_image_sink *sink, uint64_t width, uint64_t height) {
    image_block *block = (image_block *)(void *)sink;
    size_t bytes = 0;
    if (block->pixels || width == 0 || height == 0 || width > LN_IMAGE_SIDE || height > LN_IMAGE_SIDE ||
        !ln_mul_size((size_t)width * 3, (size_t)height, &bytes)) {
        ln_image_fail(sink, "the size is not usable");
        return NULL;
    }
    block->width = (int64_t)width;
    block->height = (int64_t)height;
    block->pixels = ln_alloc(block->context, bytes, LN_MEMORY_SCRATCH);
    if (!block->pixels) {
        ln_image_fail(sink, "memory ran out");
    }
    return block->pixels;
}

static const ln_image_codec *find_codec(const ln_image_codec *codec, const uint8_t *bytes) {
    for (; codec && codec->name; codec++) {
        if (codec->matches(bytes)) {
            return codec;
        }
    }
    return NULL;
}

static void store_pixels(pixel_format format, const uint8_t *rgb, int64_t count, uint8_t *out) {
    for (int64_t i = 0; i < count; i++, rgb += 3) {
        if (format == FORMAT_GRAY) {
            out[i] = (uint8_t)((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 32768U) >> 16);
            continue;
        }
        const bool swaps = format == FORMAT_BGR;
        out[i * 3] = rgb[swaps ? 2 : 0];
        out[i * 3 + 1] = rgb[1];
        out[i * 3 + 2] = rgb[swaps ? 0 : 2];
    }
}

static ln_status store_image(ln_op *op, const image_block *block) {
    const image_params *params = op->params;
    const ln_shape shape = {3, {block->height, block->width, params->format == FORMAT_GRAY ? 1 : 3}};
    LN_TRY(ln_op_make(op, 0, LN_UINT8, &shape));
    if (ln_out(op, 0)) {
        store_pixels(params->format, block->pixels, block->height * block->width, ln_out(op, 0)->data);
    }
    return LN_OK;
}

static ln_status run_image(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    const size_t size = ln_value_bytes(input);
    LN_OP_CHECK(op, size >= 16, INVALID_VALUE, "%zu bytes are no image", size);
    const ln_image_codec *codec = find_codec(ln_image_formats, input->data);
    codec = codec ? codec : find_codec(ln_image_codecs, input->data);
    LN_OP_CHECK(
        op, codec || ln_image_codecs, UNSUPPORTED,
        "the image is neither BMP nor PNM: other formats need linnet.images.wasm, given as the option wasm");
    LN_OP_CHECK(op, codec, INVALID_VALUE, "the bytes are not those of an image format that is known");
    image_block block = {.sink = {.begin = begin_image}, .context = op->context};
    ln_status status = LN_OK;
    if (!codec->decode(input->data, size, &block.sink)) {
        status = ln_op_fail(op, LN_INVALID_VALUE, "the %s image cannot be decoded: %s", codec->name,
                            block.sink.error);
    } else {
        status = store_image(op, &block);
    }
    ln_free(op->context, block.pixels);
    return status;
}

static const ln_op_row rows[] = {
    {"ImageDecoder",
     "",
     20,
     LN_OPEN,
     "A>A",
     {LN_BIT(LN_UINT8)},
     build_image,
     infer_image,
     run_image,
     NULL,
     LN_OP_DYNAMIC,
     NULL},
};
LN_FAMILY_TABLE(image_decoder, rows);
