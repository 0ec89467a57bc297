/* The error record and the accounted allocator.
 *
 * A block is preceded by a 64-byte header that holds its size and kind, so that the bytes which callers see
 * are 64-byte aligned and ln_free knows what to subtract. SLACK_BYTES past the end of every block are
 * readable, which vector kernels use to load a whole vector at the tail of a row.
 */
#include "base/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { HEADER_BYTES = 64, ALIGN_BYTES = 64, SLACK_BYTES = 16 };

typedef struct block_header {
    size_t capacity; /* usable bytes */
    size_t total;    /* bytes taken from the system, header and slack included */
    ln_memory_kind kind;
} block_header;

_Static_assert(sizeof(block_header) <= HEADER_BYTES, "the header fits in front of a block");

static block_header *header_of(const void *block) {
    return (block_header *)(void *)((uintptr_t)block - HEADER_BYTES);
}

void ln_context_init(ln_context *context) {
    memset(context, 0, sizeof(*context));
}

size_t ln_memory_live(const ln_context *context) {
    size_t sum = 0;
    for (int kind = 0; kind < LN_MEMORY_KIND_COUNT; kind++) {
        sum += context->memory.live_bytes[kind];
    }
    return sum;
}

static void *out_of_memory(ln_context *context, size_t bytes) {
    (void)ln_fail(context, LN_OUT_OF_MEMORY, "out of memory: %zu bytes are not available (%zu are in use)",
                  bytes, ln_memory_live(context));
    return NULL;
}

void *ln_alloc(ln_context *context, size_t bytes, ln_memory_kind kind) {
    ln_memory_stats *memory = &context->memory;
    memory->allocations++;
    const bool over =
        memory->limit > 0 && (bytes > memory->limit || ln_memory_live(context) > memory->limit - bytes);
    if (memory->fail_at == memory->allocations || bytes > SIZE_MAX / 2 || over) {
        return out_of_memory(context, bytes);
    }
    const size_t padded = (bytes + SLACK_BYTES + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    const size_t total = padded + HEADER_BYTES;
    void *const raw = aligned_alloc(ALIGN_BYTES, total);
    if (raw == NULL) {
        return out_of_memory(context, bytes);
    }
    block_header *const header = raw;
    header->capacity = padded - SLACK_BYTES;
    header->total = total;
    header->kind = kind;
    memory->live_bytes[kind] += total;
    const size_t live = ln_memory_live(context);
    if (live > memory->peak_bytes) {
        memory->peak_bytes = live;
    }
    return (char *)raw + HEADER_BYTES;
}

void *ln_alloc_zero(ln_context *context, size_t bytes, ln_memory_kind kind) {
    void *const block = ln_alloc(context, bytes, kind);
    if (block != NULL) {
        memset(block, 0, bytes);
    }
    return block;
}

void ln_free(ln_context *context, void *block) {
    if (block == NULL) {
        return;
    }
    block_header *const header = header_of(block);
    context->memory.live_bytes[header->kind] -= header->total;
    free(header);
}

size_t ln_alloc_capacity(const void *block) {
    return header_of(block)->capacity;
}

bool ln_mul_size(size_t count, size_t size, size_t *total) {
    return !__builtin_mul_overflow(count, size, total);
}

ln_status ln_fail_v(ln_context *context, ln_status code, const char *format, va_list arguments) {
    ln_error *const error = &context->error;
    if (error->code == LN_OK) {
        error->code = code;
        (void)ln_format_v(error->message, sizeof(error->message), format, arguments);
    }
    return code;
}

ln_status ln_fail(ln_context *context, ln_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)ln_fail_v(context, code, format, arguments);
    va_end(arguments);
    return code;
}

void ln_error_locate(ln_context *context, const char *node, const char *op, int opset) {
    ln_error *const error = &context->error;
    if (error->code == LN_OK || error->op[0] != '\0') {
        return;
    }
    (void)ln_format(error->node, sizeof(error->node), "%s", node != NULL ? node : "");
    (void)ln_format(error->op, sizeof(error->op), "%s", op != NULL ? op : "");
    error->opset = opset;
}

void ln_error_clear(ln_context *context) {
    memset(&context->error, 0, sizeof(context->error));
}
