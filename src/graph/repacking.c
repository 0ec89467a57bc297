/* Second packings: a weight that is packed at load may be wanted in another form once a plan knows the shapes it meets.
 * They are kept with the model, found by the block of the first packing, so that nodes which share that share this too,
 * and they may take only so many bytes together. */
#include "graph/graph.h"

struct ln_repacking {
    ln_repacking *next;
    const void *packed; /* the first packing */
    void *block;
};

void *ln_model_repacking(ln_model *model, const void *packed, size_t bytes, bool *made) {
    *made = false;
    for (ln_repacking *each = model->repackings; each; each = each->next) {
        if (each->packed == packed) {
            return each->block;
        }
    }
    if (bytes > model->repacking_room) {
        return NULL;
    }
    ln_repacking *repacking = ln_arena_alloc(&model->arena, sizeof *repacking);
    void *block = repacking ? ln_alloc(model->context, bytes, LN_MEMORY_WEIGHTS) : NULL;
    if (!block) {
        ln_error_clear(model->context); /* the first packing serves as well */
        return NULL;
    }
    *repacking = (ln_repacking){model->repackings, packed, block};
    model->repackings = repacking;
    model->repacking_room -= bytes;
    *made = true;
    return block;
}

void ln_model_free_repackings(ln_model *model) {
    for (ln_repacking *each = model->repackings; each; each = each->next) {
        ln_free(model->context, each->block);
    }
    model->repackings = NULL;
}
