/* A bump allocator over ln_alloc: many small blocks that live and die together.
 *
 * Blocks are 16-byte aligned. Chunks double up to 1 MB, a larger request gets a chunk of its own. Nothing is
 * freed one by one; ln_arena_reset keeps the first chunk, so that an arena reused in a steady state does
 * not allocate.
 */
#ifndef LN_BASE_ARENA_H
#define LN_BASE_ARENA_H

#include "base/context.h"

typedef struct ln_arena_chunk ln_arena_chunk;

typedef struct ln_arena {
    ln_context *context;
    ln_arena_chunk *chunks;   /* newest first */
    ln_arena_chunk *reserved; /* where ln_arena_reserve found room */
    ln_memory_kind kind;
    size_t next_bytes;
} ln_arena;

void ln_arena_init(ln_arena *arena, ln_context *context, ln_memory_kind kind);
void ln_arena_reset(ln_arena *arena);
void ln_arena_free(ln_arena *arena);
/* Bytes of its chunks. */
size_t ln_arena_bytes(const ln_arena *arena);

/* Returns zeroed memory, or NULL after recording OUT_OF_MEMORY. */
void *ln_arena_alloc(ln_arena *arena, size_t bytes);
/* Where the next block will be, with room for `bytes`; nothing is taken or zeroed yet. NULL after recording OUT_OF_MEMORY. */
void *ln_arena_reserve(ln_arena *arena, size_t bytes);
/* Takes `bytes` of what was reserved, as they are. */
void ln_arena_take(ln_arena *arena, size_t bytes);
/* Room for `count` elements of `size` bytes; NULL also when the product overflows. */
void *ln_arena_array(ln_arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *ln_arena_text(ln_arena *arena, const char *text, size_t length);

#endif
