/* The bump allocator. Chunks form a list, newest first; only the newest one has room. */
#include "base/arena.h"

#include <string.h>

enum { FIRST_CHUNK_BYTES = 4096, LAST_CHUNK_BYTES = 1 << 20, BLOCK_ALIGN = 16 };

struct ln_arena_chunk {
    ln_arena_chunk *next;
    size_t used;
    size_t capacity;
};

/* Where the blocks of a chunk begin. */
enum { CHUNK_HEADER_BYTES = (sizeof(ln_arena_chunk) + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN };

void ln_arena_init(ln_arena *arena, ln_context *context, ln_memory_kind kind) {
    arena->context = context;
    arena->chunks = NULL;
    arena->kind = kind;
    arena->next_bytes = FIRST_CHUNK_BYTES;
}

void ln_arena_free(ln_arena *arena) {
    ln_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        ln_arena_chunk *const next = chunk->next;
        ln_free(arena->context, chunk);
        chunk = next;
    }
    arena->chunks = NULL;
    arena->next_bytes = FIRST_CHUNK_BYTES;
}

size_t ln_arena_bytes(const ln_arena *arena) {
    size_t total = 0;
    for (const ln_arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->next) {
        total += chunk->capacity;
    }
    return total;
}

/* Several chunks are replaced by one of their joint size at the next allocation, so that an arena that is
 * filled and reset again and again comes to rest at one chunk. */
void ln_arena_reset(ln_arena *arena) {
    if (arena->chunks == NULL) {
        return;
    }
    if (arena->chunks->next == NULL) {
        arena->chunks->used = 0;
        return;
    }
    const size_t total = ln_arena_bytes(arena);
    ln_arena_free(arena);
    arena->next_bytes = total + CHUNK_HEADER_BYTES;
}

static ln_arena_chunk *add_chunk(ln_arena *arena, size_t bytes) {
    size_t wanted = arena->next_bytes;
    if (bytes > SIZE_MAX / 4) {
        (void)ln_fail(arena->context, LN_OUT_OF_MEMORY, "out of memory: %zu bytes are not available", bytes);
        return NULL;
    }
    if (wanted < bytes + CHUNK_HEADER_BYTES) {
        wanted = bytes + CHUNK_HEADER_BYTES;
    } else if (arena->next_bytes < LAST_CHUNK_BYTES) {
        arena->next_bytes *= 2;
    }
    ln_arena_chunk *const chunk = ln_alloc(arena->context, wanted, arena->kind);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->used = 0;
    chunk->capacity = ln_alloc_capacity(chunk) - CHUNK_HEADER_BYTES;
    /* A large block of its own goes behind the chunk that still has room. */
    ln_arena_chunk *const newest = arena->chunks;
    if (newest != NULL && newest->capacity - newest->used > chunk->capacity - bytes) {
        chunk->next = newest->next;
        newest->next = chunk;
    } else {
        chunk->next = newest;
        arena->chunks = chunk;
    }
    return chunk;
}

static size_t padded(size_t bytes) {
    return bytes <= SIZE_MAX - BLOCK_ALIGN ? (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN : bytes;
}

void *ln_arena_reserve(ln_arena *arena, size_t bytes) {
    ln_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->capacity - chunk->used < padded(bytes)) {
        chunk = add_chunk(arena, padded(bytes));
        if (chunk == NULL) {
            return NULL;
        }
    }
    arena->reserved = chunk;
    return (char *)chunk + CHUNK_HEADER_BYTES + chunk->used;
}

void ln_arena_take(ln_arena *arena, size_t bytes) {
    arena->reserved->used += padded(bytes);
}

void *ln_arena_alloc(ln_arena *arena, size_t bytes) {
    void *const block = ln_arena_reserve(arena, bytes);
    if (block != NULL) {
        ln_arena_take(arena, bytes);
        memset(block, 0, bytes);
    }
    return block;
}

void *ln_arena_array(ln_arena *arena, size_t count, size_t size) {
    size_t bytes = 0;
    if (!ln_mul_size(count, size, &bytes)) {
        (void)ln_fail(arena->context, LN_OUT_OF_MEMORY,
                      "out of memory: %zu times %zu bytes are not available", count, size);
        return NULL;
    }
    return ln_arena_alloc(arena, bytes);
}

char *ln_arena_text(ln_arena *arena, const char *text, size_t length) {
    char *const copy = length < SIZE_MAX ? ln_arena_alloc(arena, length + 1) : NULL;
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}
