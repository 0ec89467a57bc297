/* Placement: offsets in one workspace by lifetime.
 *
 * In-place first: walking the steps in order, an output takes over the block of an input that dies there, where the row
 * allows it and the bytes suffice. Then blocks are placed largest first, each at the lowest offset that no
 * block overlapping it in time occupies. The result is compared with the lower bound, the largest sum of blocks in use
 * at once.
 */
#include <stdlib.h>

#include "run/session.h"

enum { BLOCK_ALIGN = 64, OVERREAD_BYTES = 16 };

/* Rounded up; what is too large to round stays too large to get. */
static size_t block_bytes(size_t bytes) {
    if (bytes > SIZE_MAX - OVERREAD_BYTES - BLOCK_ALIGN) {
        return SIZE_MAX & ~(size_t)(BLOCK_ALIGN - 1);
    }
    return (bytes + OVERREAD_BYTES + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

/* The local behind a value of a step: locals begin with their value. */
static ln_local *local_of(ln_value *value) {
    return (ln_local *)(void *)value;
}

static bool try_in_place(const ln_step *step, int32_t index, ln_local *output, int input_index) {
    if (input_index >= step->op.n_inputs || !step->op.inputs[input_index]) {
        return false;
    }
    ln_local *input = local_of(step->op.inputs[input_index])->root;
    ln_local *place = input->place;
    if (input->source != LN_SOURCE_WORKSPACE || input->last_step != index || place->bytes < output->bytes ||
        ln_value_bytes(&input->value) != ln_value_bytes(&output->value)) {
        return false;
    }
    /* Another input of the same step that shares the block would be overwritten while it is read. */
    for (int i = 0; i < step->op.n_inputs; ++i) {
        if (i != input_index && step->op.inputs[i] && local_of(step->op.inputs[i])->root->place == place &&
            local_of(step->op.inputs[i])->root->source == LN_SOURCE_WORKSPACE) {
            return false;
        }
    }
    output->place = place;
    place->block_last = output->last_step;
    return true;
}

static void choose_places(ln_plan *plan) {
    for (int32_t s = 0; s < plan->n_steps; ++s) {
        ln_step *step = plan->steps[s];
        if (step->folded) {
            continue;
        }
        const uint32_t flags = step->op.node->row->flags;
        for (int i = 0; i < step->op.n_outputs; ++i) {
            ln_local *output = step->op.outputs[i] ? local_of(step->op.outputs[i]) : NULL;
            if (!output || output->source != LN_SOURCE_WORKSPACE || output->root != output) {
                continue;
            }
            output->bytes = block_bytes(ln_value_bytes(&output->value));
            output->place = output;
            output->block_first = s;
            output->block_last = output->last_step > s ? output->last_step : s;
            if (i == 0 && (((flags & LN_OP_INPLACE_0) && try_in_place(step, s, output, 0)) ||
                           ((flags & LN_OP_INPLACE_1) && try_in_place(step, s, output, 1)))) {
                output->bytes = 0;
            }
        }
        if (step->op.scratch_bytes > 0) {
            step->scratch.bytes = block_bytes(step->op.scratch_bytes);
            step->scratch.block_first = s;
            step->scratch.block_last = s;
        }
    }
}

static int by_size(const void *a, const void *b) {
    const ln_local *x = *(ln_local *const *)a;
    const ln_local *y = *(ln_local *const *)b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return x->block_first < y->block_first ? -1 : x->block_first > y->block_first;
}

static int32_t collect(ln_plan *plan, ln_local **blocks) {
    int32_t count = 0;
    for (ln_local *local = plan->locals; local; local = local->next) {
        if (local->source == LN_SOURCE_WORKSPACE && local->root == local && local->place == local &&
            local->bytes > 0) {
            blocks[count++] = local;
        }
    }
    for (int32_t s = 0; s < plan->n_steps; ++s) {
        if (plan->steps[s]->scratch.bytes > 0) {
            blocks[count++] = &plan->steps[s]->scratch;
        }
    }
    return count;
}

/* Lowest offset for a block among those placed already, which are sorted by offset. */
static size_t lowest_offset(ln_local *const *placed, int32_t count, const ln_local *block) {
    size_t offset = 0;
    for (int32_t i = 0; i < count; ++i) {
        const ln_local *other = placed[i];
        if (other->block_last < block->block_first || other->block_first > block->block_last) {
            continue;
        }
        if (other->offset >= offset && other->offset - offset >= block->bytes) {
            return offset;
        }
        if (other->offset + other->bytes > offset) {
            offset = other->offset + other->bytes;
        }
    }
    return offset;
}

static void insert_by_offset(ln_local **placed, int32_t count, ln_local *block) {
    int32_t at = count;
    while (at > 0 && placed[at - 1]->offset > block->offset) {
        placed[at] = placed[at - 1];
        --at;
    }
    placed[at] = block;
}

/* Largest sum of blocks in use at one step. */
static size_t lower_bound(ln_local *const *blocks, int32_t count, int32_t n_steps, size_t *sums) {
    size_t most = 0;
    for (int32_t s = 0; s <= n_steps; ++s) {
        sums[s] = 0;
    }
    for (int32_t i = 0; i < count; ++i) {
        const int32_t last = blocks[i]->block_last < n_steps ? blocks[i]->block_last : n_steps - 1;
        sums[blocks[i]->block_first] += blocks[i]->bytes;
        sums[last + 1] -= blocks[i]->bytes; /* wraps below zero and back: sums are modular */
    }
    size_t now = 0;
    for (int32_t s = 0; s < n_steps; ++s) {
        now += sums[s];
        most = now > most ? now : most;
    }
    return most;
}

static ln_status place_blocks(ln_plan *plan, ln_local **blocks, int32_t count, ln_local **placed,
                              ln_context *context) {
    qsort(blocks, (size_t)count, sizeof *blocks, by_size);
    plan->workspace_bytes = 0;
    for (int32_t i = 0; i < count; ++i) {
        blocks[i]->offset = lowest_offset(placed, i, blocks[i]);
        LN_CHECK(context, blocks[i]->offset < SIZE_MAX - blocks[i]->bytes, OUT_OF_MEMORY,
                 "the values of the run need more than the address space holds");
        insert_by_offset(placed, i, blocks[i]);
        const size_t end = blocks[i]->offset + blocks[i]->bytes;
        plan->workspace_bytes = end > plan->workspace_bytes ? end : plan->workspace_bytes;
    }
    return LN_OK;
}

ln_status ln_plan_place(ln_session *session, ln_plan *plan) {
    choose_places(plan);
    int32_t most = plan->n_steps;
    for (const ln_local *local = plan->locals; local; local = local->next) {
        ++most;
    }
    const size_t steps = (size_t)plan->n_steps + 1;
    ln_local **blocks = ln_alloc(&session->context,
                                 2 * (size_t)most * sizeof *blocks + steps * sizeof(size_t), LN_MEMORY_PLAN);
    if (!blocks) {
        return LN_OUT_OF_MEMORY;
    }
    const int32_t count = collect(plan, blocks);
    plan->live_bytes = lower_bound(blocks, count, plan->n_steps, (size_t *)(void *)(blocks + 2 * most));
    const ln_status status = place_blocks(plan, blocks, count, blocks + most, &session->context);
    ln_free(&session->context, blocks);
    return status;
}
