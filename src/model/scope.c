/* Names to values: one hash table with open addressing per graph, chained outwards. */
#include <string.h>

#include "model/build.h"

typedef struct ln_scope_slot {
    const char *name; /* NULL when free */
    ln_value_id id;
} ln_scope_slot;

/* FNV-1a */
static uint32_t hash(const char *name) {
    uint32_t value = 2166136261u;
    for (; *name != '\0'; name++) {
        value = (value ^ (uint8_t)*name) * 16777619u;
    }
    return value;
}

ln_status ln_scope_init(ln_scope *scope, ln_arena *arena, const ln_scope *outer, size_t count) {
    size_t slots = 8;
    while (slots < count * 2 && slots < (SIZE_MAX >> 1)) {
        slots *= 2;
    }
    scope->outer = outer;
    scope->mask = (uint32_t)(slots - 1);
    scope->slots = ln_arena_array(arena, slots, sizeof(ln_scope_slot));
    return scope->slots != NULL ? LN_OK : LN_OUT_OF_MEMORY;
}

static ln_scope_slot *slot_of(const ln_scope *scope, const char *name) {
    uint32_t at = hash(name) & scope->mask;
    while (scope->slots[at].name != NULL && strcmp(scope->slots[at].name, name) != 0) {
        at = (at + 1) & scope->mask;
    }
    return &scope->slots[at];
}

void ln_scope_add(ln_scope *scope, const char *name, ln_value_id id) {
    *slot_of(scope, name) = (ln_scope_slot){name, id};
}

ln_value_id ln_scope_own(const ln_scope *scope, const char *name) {
    return slot_of(scope, name)->id;
}

ln_value_id ln_scope_find(const ln_scope *scope, const char *name) {
    for (; scope != NULL; scope = scope->outer) {
        const ln_value_id id = ln_scope_own(scope, name);
        if (id != 0) {
            return id;
        }
    }
    return 0;
}
