/* libFuzzer entry: bytes to a model. The first byte says how the rest is used: as a file in itself, or as
 * edits of the sample model, which reach deeper. The second says in which chunks the file comes. A model
 * that loads is walked from end to end; one that does not must say why; neither may leave memory behind. */
#include <stdint.h>
#include <stdlib.h>

#include "../native/model_hash.c"
#include "../native/sample_model.c"
#include "model/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small, so that a file that asks for gigabytes is turned down quickly. */
enum { MEMORY_LIMIT = 32 << 20 };

static void require(bool condition) {
    if (!condition) {
        abort();
    }
}

/* Each edit is three bytes: a position, and what goes there. */
static wire edited_sample(const uint8_t *edits, size_t size) {
    wire bytes = sample_model();
    for (size_t i = 0; i + 3 <= size; i += 3) {
        const size_t at = ((size_t)edits[i] << 8 | edits[i + 1]) % bytes.length;
        bytes.data[at] = edits[i + 2];
    }
    return bytes;
}

static void read_model(const uint8_t *bytes, size_t length, size_t chunk, bool expect) {
    ln_context context;
    ln_model *model = NULL;
    ln_context_init(&context);
    context.memory.limit = MEMORY_LIMIT;
    ln_reader *const reader = ln_reader_new(&context);
    ln_status status = expect ? ln_reader_expect(reader, length) : LN_OK;
    for (size_t at = 0; at < length && status == LN_OK; at += chunk) {
        status = ln_reader_push(reader, bytes + at, length - at < chunk ? length - at : chunk);
    }
    status = status == LN_OK ? ln_reader_finish(reader, &model) : status;
    require((model != NULL) == (status == LN_OK) && context.error.code == status);
    require(status == LN_OK || context.error.message[0] != '\0');
    if (model != NULL) {
        for (int32_t i = 0; i < ln_reader_external_count(reader); i++) {
            void *const target = ln_reader_external_target(reader, i);
            if (target != NULL) {
                memset(target, 0, ln_reader_external(reader, i)->length);
            }
        }
        (void)model_hash(model);
    }
    ln_reader_free(reader);
    ln_model_free(model);
    require(ln_memory_live(&context) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    const size_t chunk = data[1] > 0 ? data[1] : 1 << 20;
    if (data[0] % 2 == 0) {
        read_model(data + 2, size - 2, chunk, data[0] % 4 == 0);
        return 0;
    }
    const wire bytes = edited_sample(data + 2, size - 2);
    read_model(bytes.data, bytes.length, chunk, data[0] % 4 == 1);
    free(bytes.data);
    return 0;
}
