/* The context: the first error, and every byte of memory that is not a stack variable.
 *
 * A session owns one context. All memory comes from ln_alloc with a kind tag, so that the report of a session
 * says what its memory is for, a test can count the allocations of a steady run and can make the n-th one
 * fail. Blocks are 64-byte aligned and 16 bytes past their end are readable, which vector kernels lean on.
 * Only the session's own thread allocates.
 */
#ifndef LN_BASE_CONTEXT_H
#define LN_BASE_CONTEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum ln_memory_kind {
    LN_MEMORY_MODEL,     /* graph, attributes, small constants: lives as long as the session */
    LN_MEMORY_WEIGHTS,   /* initializers as read and weights as packed */
    LN_MEMORY_PLAN,      /* plans and their step tables */
    LN_MEMORY_WORKSPACE, /* values of a run, fed inputs, owned buffers */
    LN_MEMORY_SCRATCH,   /* per-thread scratch of kernels, reader buffers */
    LN_MEMORY_KIND_COUNT
} ln_memory_kind;

typedef struct ln_memory_stats {
    size_t live_bytes[LN_MEMORY_KIND_COUNT];
    size_t peak_bytes;    /* highest sum of all kinds so far */
    uint64_t allocations; /* calls of ln_alloc so far */
    uint64_t fail_at;     /* the allocation with this ordinal fails; 0 for never (tests) */
    size_t limit;         /* an allocation that would exceed so many live bytes fails; 0 for no limit */
} ln_memory_stats;

typedef struct ln_context {
    ln_error error;
    ln_memory_stats memory;
} ln_context;

void ln_context_init(ln_context *context);

/* Returns a 64-byte aligned block, or NULL after recording OUT_OF_MEMORY with the size that was wanted.
 * Zero bytes give a valid pointer. The bytes are not initialised. */
void *ln_alloc(ln_context *context, size_t bytes, ln_memory_kind kind);
/* Same, filled with zero. */
void *ln_alloc_zero(ln_context *context, size_t bytes, ln_memory_kind kind);
/* Gives a block back; NULL is allowed. */
void ln_free(ln_context *context, void *block);
/* Usable bytes of a block from ln_alloc. */
size_t ln_alloc_capacity(const void *block);
/* Sum of the live bytes of all kinds. */
size_t ln_memory_live(const ln_context *context);

/* *total = count * size, false on overflow of size_t. */
bool ln_mul_size(size_t count, size_t size, size_t *total);

/* Records an error unless one is recorded already, and returns the code. The format knows %s %.*s %d %u %ld
 * %lld %lu %llu %zu %c %g and %%. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
ln_status ln_fail(ln_context *context, ln_status code, const char *format, ...);
ln_status ln_fail_v(ln_context *context, ln_status code, const char *format, va_list arguments);
/* Names the node an already recorded error belongs to; the first naming stays. */
void ln_error_locate(ln_context *context, const char *node, const char *op, int opset);
void ln_error_clear(ln_context *context);

#endif
