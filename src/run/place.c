/* Placement: offsets in one workspace by lifetime.
 *
 * In-place first: walking the steps in order, an output takes over the block of an input that dies there, where the row
 * allows it and the bytes suffice. What only joins its inputs has them made inside its own block. Then blocks are placed
 * largest first, each in the smallest gap that the blocks in use at the same time leave. When that takes more than the
 * lower bound, the largest sum of blocks in use at once, other orders are tried.
 */
#include <stdlib.h>
#include <string.h>

#include "run/session.h"

enum { BLOCK_ALIGN = 64, OVERREAD_BYTES = 16 };

/* Rounded up; what is too large to round stays too large to get. */
static size_t block_bytes(size_t bytes) {
    if (bytes > SIZE_MAX - OVERREAD_BYTES - BLOCK_ALIGN) {
        return SIZE_MAX & ~(size_t)(BLOCK_ALIGN - 1);
    }
    return (bytes + OVERREAD_BYTES + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

static bool try_in_place(const ln_step *step, int32_t index, ln_local *output, int input_index) {
    if (input_index >= step->op.n_inputs || !step->op.inputs[input_index]) {
        return false;
    }
    ln_local *input = ln_local_of(step->op.inputs[input_index])->root;
    ln_local *place = input->place;
    if (input->source != LN_SOURCE_WORKSPACE || place->inside || input->last_step != index ||
        place->block.bytes < output->block.bytes ||
        ln_value_bytes(&input->value) != ln_value_bytes(&output->value)) {
        return false;
    }
    /* Another input of the same step that shares the block would be overwritten while it is read. */
    for (int i = 0; i < step->op.n_inputs; ++i) {
        if (i != input_index && step->op.inputs[i] && ln_local_of(step->op.inputs[i])->root->place == place &&
            ln_local_of(step->op.inputs[i])->root->source == LN_SOURCE_WORKSPACE) {
            return false;
        }
    }
    output->place = place;
    place->block.last = output->block.last;
    return true;
}

/* Most steps that a part may have been made before the whole: the whole takes its room from then on. */
enum { PART_STEPS = 16 };

/* The inputs of a step whose output is nothing but its inputs, one after the other, are made where they go: those that
 * die with the step. So nobody else reads or takes over a part's block from then on. */
static void hold_parts(const ln_step *step, int32_t index, ln_local *whole) {
    size_t shift = 0;
    for (int i = 0; i < step->op.n_inputs; ++i) {
        if (!step->op.inputs[i]) {
            continue;
        }
        const size_t bytes = ln_value_bytes(step->op.inputs[i]);
        const ln_local *root = ln_local_of(step->op.inputs[i])->root;
        ln_local *place = root->place;
        if (root->source == LN_SOURCE_WORKSPACE && root->last_step == index && !place->inside && bytes > 0 &&
            ln_value_bytes(&place->value) == bytes && ln_value_bytes(&root->value) == bytes &&
            index - place->block.first <= PART_STEPS) {
            place->inside = whole;
            place->shift = shift;
            place->block.bytes = 0;
            whole->block.first =
                place->block.first < whole->block.first ? place->block.first : whole->block.first;
        }
        shift += bytes;
    }
}

/* Offsets of parts follow from those of the wholes. */
static void settle_parts(ln_plan *plan) {
    for (ln_local *local = plan->locals; local; local = local->next) {
        if (local->inside) {
            local->block.offset = 0;
            const ln_local *place = local;
            for (; place->inside; place = place->inside) {
                local->block.offset += place->shift;
            }
            local->block.offset += place->block.offset;
        }
    }
}

static void choose_places(ln_plan *plan) {
    for (int32_t s = 0; s < plan->n_steps; ++s) {
        ln_step *step = plan->steps[s];
        if (step->folded) {
            continue;
        }
        const uint32_t flags = step->op.node->row->flags;
        for (int i = 0; i < step->op.n_outputs; ++i) {
            ln_local *output = step->op.outputs[i] ? ln_local_of(step->op.outputs[i]) : NULL;
            if (!output || output->source != LN_SOURCE_WORKSPACE || output->root != output) {
                continue;
            }
            output->block.bytes = block_bytes(ln_value_bytes(&output->value));
            output->place = output;
            output->block.first = s;
            output->block.last = output->last_step > s ? output->last_step : s;
            if (i == 0 && (((flags & LN_OP_INPLACE_0) && try_in_place(step, s, output, 0)) ||
                           ((flags & LN_OP_INPLACE_1) && try_in_place(step, s, output, 1)))) {
                output->block.bytes = 0;
            } else if (i == 0 && step->op.in_order) {
                hold_parts(step, s, output);
            }
        }
        if (step->op.scratch_bytes > 0) {
            step->scratch.bytes = block_bytes(step->op.scratch_bytes);
            step->scratch.first = s;
            step->scratch.last = s;
        }
    }
}

/* Orders in which blocks are placed, the one that is best as a rule first. No two blocks are equal in any, so that the offsets
 * do not hang on how a library sorts. */

static int compare_sizes(size_t x, size_t y) {
    return x < y ? 1 : -(x > y);
}

static int by_size(const void *a, const void *b) {
    const ln_block *x = *(ln_block *const *)a;
    const ln_block *y = *(ln_block *const *)b;
    const int order = compare_sizes(x->bytes, y->bytes);
    if (order || x->first != y->first) {
        return order ? order : x->first - y->first;
    }
    return x < y ? -1 : x > y;
}

static int by_duration(const void *a, const void *b) {
    const ln_block *x = *(ln_block *const *)a;
    const ln_block *y = *(ln_block *const *)b;
    const int order = (y->last - y->first) - (x->last - x->first);
    return order ? order : by_size(a, b);
}

static int by_time(const void *a, const void *b) {
    const ln_block *x = *(ln_block *const *)a;
    const ln_block *y = *(ln_block *const *)b;
    return x->first != y->first ? x->first - y->first : by_size(a, b);
}

static int by_end(const void *a, const void *b) {
    const ln_block *x = *(ln_block *const *)a;
    const ln_block *y = *(ln_block *const *)b;
    return x->last != y->last ? y->last - x->last : by_size(a, b);
}

static int (*const orders[])(const void *, const void *) = {by_size, by_duration, by_time, by_end};
enum { ORDERS = sizeof orders / sizeof orders[0] };

static int32_t collect(ln_plan *plan, ln_block **blocks) {
    int32_t count = 0;
    for (ln_local *local = plan->locals; local; local = local->next) {
        if (local->source == LN_SOURCE_WORKSPACE && local->root == local && local->place == local &&
            local->block.bytes > 0) {
            blocks[count++] = &local->block;
        }
    }
    for (int32_t s = 0; s < plan->n_steps; ++s) {
        if (plan->steps[s]->scratch.bytes > 0) {
            blocks[count++] = &plan->steps[s]->scratch;
        }
    }
    return count;
}

/* Blocks placed so far, by time: a list for each stretch of STRETCH steps, so that a block looks only at those that may be in
 * use when it is. */
enum { STRETCH = 16 };

typedef struct entry {
    ln_block *block;
    int32_t next; /* in the stretch's list, -1 at its end */
} entry;

typedef struct placing {
    size_t stretches;
    int32_t *heads; /* [stretches] */
    entry *entries;
    int32_t n_entries;
    ln_block **near; /* those in use at the same time as the block that is being placed, by offset */
} placing;

/* Collects the blocks that overlap one in time, sorted by offset. */
static int32_t collect_near(placing *state, const ln_block *block) {
    int32_t count = 0;
    const int32_t begin = block->first / STRETCH;
    for (int32_t stretch = begin; stretch <= block->last / STRETCH; ++stretch) {
        for (int32_t i = state->heads[stretch]; i >= 0; i = state->entries[i].next) {
            ln_block *other = state->entries[i].block;
            const bool seen = stretch > begin && other->first / STRETCH < stretch;
            if (seen || other->last < block->first || other->first > block->last) {
                continue;
            }
            int32_t at = count++;
            for (; at > 0 && state->near[at - 1]->offset > other->offset; --at) {
                state->near[at] = state->near[at - 1];
            }
            state->near[at] = other;
        }
    }
    return count;
}

/* The smallest gap that holds the block, the lowest of equals; the end when there is none. */
static size_t find_offset(ln_block *const *near, int32_t count, size_t bytes) {
    size_t best = 0;
    size_t best_gap = SIZE_MAX;
    size_t end = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (near[i]->offset > end && near[i]->offset - end >= bytes && near[i]->offset - end < best_gap) {
            best = end;
            best_gap = near[i]->offset - end;
        }
        const size_t after = near[i]->offset + near[i]->bytes;
        end = after > end ? after : end;
    }
    return best_gap < SIZE_MAX ? best : end;
}

static void note_placed(placing *state, ln_block *block) {
    for (int32_t stretch = block->first / STRETCH; stretch <= block->last / STRETCH; ++stretch) {
        state->entries[state->n_entries] = (entry){block, state->heads[stretch]};
        state->heads[stretch] = state->n_entries++;
    }
}

/* Largest sum of blocks in use at one step. */
static size_t lower_bound(ln_block *const *blocks, int32_t count, int32_t n_steps, size_t *sums) {
    size_t most = 0;
    memset(sums, 0, ((size_t)n_steps + 1) * sizeof *sums);
    for (int32_t i = 0; i < count; ++i) {
        sums[blocks[i]->first] += blocks[i]->bytes;
        sums[blocks[i]->last + 1] -= blocks[i]->bytes; /* wraps below zero and back: sums are modular */
    }
    size_t now = 0;
    for (int32_t s = 0; s < n_steps; ++s) {
        now += sums[s];
        most = now > most ? now : most;
    }
    return most;
}

/* Places all blocks in one order; the bytes that takes, SIZE_MAX when there are not as many. */
static size_t place_blocks(ln_block **blocks, int32_t count, placing *state) {
    size_t bytes = 0;
    memset(state->heads, 0xff, state->stretches * sizeof *state->heads);
    state->n_entries = 0;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t near = collect_near(state, blocks[i]);
        blocks[i]->offset = find_offset(state->near, near, blocks[i]->bytes);
        if (blocks[i]->offset >= SIZE_MAX - blocks[i]->bytes) {
            return SIZE_MAX;
        }
        note_placed(state, blocks[i]);
        const size_t end = blocks[i]->offset + blocks[i]->bytes;
        bytes = end > bytes ? end : bytes;
    }
    return bytes;
}

/* Brings the blocks that end above `limit` to the front; the order is kept otherwise. */
static void promote(ln_block **blocks, int32_t count, size_t limit, ln_block **spare) {
    int32_t first = 0;
    int32_t rest = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (blocks[i]->offset + blocks[i]->bytes > limit) {
            blocks[first++] = blocks[i];
        } else {
            spare[rest++] = blocks[i];
        }
    }
    memcpy(blocks + first, spare, (size_t)rest * sizeof *blocks);
}

enum { PROMOTIONS = 4 }; /* tries from one order */

/* Tries one order after the other until the lower bound is reached, and keeps the best. What ended above the bound goes
 * first in the next try. */
static ln_status place_best(ln_plan *plan, ln_block **blocks, int32_t count, placing *state,
                            ln_context *context) {
    plan->workspace_bytes = SIZE_MAX;
    for (int try = 0; try < ORDERS * PROMOTIONS && plan->workspace_bytes > plan->live_bytes; ++try) {
        if (try % PROMOTIONS == 0) {
            qsort(blocks, (size_t)count, sizeof *blocks, orders[try / PROMOTIONS]);
        } else {
            promote(blocks, count, plan->live_bytes, state->near);
        }
        const size_t bytes = place_blocks(blocks, count, state);
        for (int32_t i = 0; bytes < plan->workspace_bytes && i < count; ++i) {
            blocks[i]->best = blocks[i]->offset;
        }
        plan->workspace_bytes = bytes < plan->workspace_bytes ? bytes : plan->workspace_bytes;
    }
    LN_CHECK(context, plan->workspace_bytes < SIZE_MAX, OUT_OF_MEMORY,
             "the values of the run need more than the address space holds");
    for (int32_t i = 0; i < count; ++i) {
        blocks[i]->offset = blocks[i]->best;
    }
    return LN_OK;
}

ln_status ln_plan_place(ln_session *session, ln_plan *plan) {
    ln_arena *arena = &session->planning;
    choose_places(plan);
    if (plan->n_steps == 0) {
        return LN_OK;
    }
    size_t most = (size_t)plan->n_steps;
    for (const ln_local *local = plan->locals; local; local = local->next) {
        ++most;
    }
    ln_block **blocks = ln_arena_array(arena, 2 * most, sizeof *blocks);
    size_t *sums = ln_arena_array(arena, (size_t)plan->n_steps + 1, sizeof *sums);
    placing state = {.stretches = (size_t)plan->n_steps / STRETCH + 1};
    state.heads = ln_arena_array(arena, state.stretches, sizeof *state.heads);
    if (!blocks || !sums || !state.heads) {
        return LN_OUT_OF_MEMORY;
    }
    const int32_t count = collect(plan, blocks);
    size_t n_entries = 0;
    for (int32_t i = 0; i < count; ++i) {
        blocks[i]->last = blocks[i]->last < plan->n_steps ? blocks[i]->last : plan->n_steps - 1;
        n_entries += (size_t)(blocks[i]->last / STRETCH - blocks[i]->first / STRETCH + 1);
    }
    plan->live_bytes = lower_bound(blocks, count, plan->n_steps, sums);
    state.near = blocks + most;
    state.entries = ln_arena_array(arena, n_entries, sizeof *state.entries);
    LN_TRY(state.entries ? place_best(plan, blocks, count, &state, &session->context) : LN_OUT_OF_MEMORY);
    settle_parts(plan);
    return LN_OK;
}
