/* Knowing: computing while planning what shapes and conditions depend on.
 *
 * A value is known when its bytes are: constants, results of shape arithmetic, and imports that had to be looked
 * at. When a value is wanted that is not known, the steps that lead to it are run now, as far back as constants and small
 * integer imports, whose bytes then become part of the plan's key.
 */
#include <string.h>

#include "compile/evaluate.h"
#include "run/planner.h"

enum { CHAIN_ELEMENTS = 64 };

/* Takes the bytes of an import into the plan and its key. */
static ln_status know_import(ln_planner *planner, ln_local *local) {
    const ln_value *value = planner->session->slots[local->id];
    const size_t bytes = ln_value_bytes(value);
    void *copy = ln_arena_alloc(&planner->plan->arena, bytes + 16);
    if (!copy) {
        return LN_OUT_OF_MEMORY;
    }
    memcpy(copy, value->data, bytes);
    local->value.data = copy;
    local->value.owner = NULL;
    local->source = LN_SOURCE_KNOWN;
    local->keyed = true;
    return LN_OK;
}

/* Whether an import may become part of the key although only something computed from it is wanted. */
static bool is_key_material(const ln_local *local) {
    const bool integer = ln_dtype_is_integer(local->value.dtype) || local->value.dtype == LN_BOOL;
    return local->value.kind == LN_KIND_TENSOR && integer && ln_value_count(&local->value) <= CHAIN_ELEMENTS;
}

static bool may_compute(const ln_local *local) {
    return local->source == LN_SOURCE_WORKSPACE && local->root->producer >= 0 &&
           ln_value_bytes(&local->value) <= LN_KNOWN_BYTES;
}

ln_status ln_planner_evaluate(ln_planner *planner, ln_step *step, bool *done) {
    ln_session *session = planner->session;
    ln_arena *arena = &planner->plan->arena;
    step->op.texts = arena; /* what is known outlives the run */
    const ln_status status = ln_evaluate_inferred(&step->op, LN_KNOWN_BYTES, arena);
    step->op.texts = &session->texts;
    *done = status == LN_OK;
    planner->plan->owns = planner->plan->owns || (step->op.node->row->flags & LN_OP_DYNAMIC);
    return status == LN_LIMIT_EXCEEDED && session->context.error.code == LN_OK ? LN_OK : status;
}

/* Runs a step that was emitted before, now that its inputs are known. */
static ln_status fold_step(ln_planner *planner, ln_step *step) {
    LN_TRY(ln_planner_evaluate(planner, step, &step->folded));
    for (int i = 0; step->folded && i < step->op.n_outputs; ++i) {
        if (step->op.outputs[i]) {
            ln_local_of(step->op.outputs[i])->source = LN_SOURCE_KNOWN;
        }
    }
    return LN_OK;
}

/* One move towards knowing `local`: either it becomes known (or cannot: *failed), or *next is what has to be known first. */
static ln_status know_step(ln_planner *planner, ln_local *local, bool direct, ln_local **next, bool *failed) {
    *next = NULL;
    if (ln_local_known(local)) {
        return LN_OK;
    }
    if (local->root != local) {
        if (!ln_local_known(local->root)) {
            *next = local->root;
            return LN_OK;
        }
        local->value.data = local->root->value.data;
        local->source = LN_SOURCE_KNOWN;
        return LN_OK;
    }
    if (local->source == LN_SOURCE_IMPORT && local->value.kind == LN_KIND_TENSOR &&
        (direct || is_key_material(local))) {
        return know_import(planner, local);
    }
    if (!may_compute(local)) {
        *failed = true;
        return LN_OK;
    }
    ln_step *step = planner->plan->steps[local->producer];
    if (step->op.node->row->flags & (LN_OP_DYNAMIC | LN_OP_CONTROL | LN_OP_RANDOM)) {
        *failed = true;
        return LN_OK;
    }
    for (int i = 0; i < step->op.n_inputs; ++i) {
        ln_local *input = step->op.inputs[i] ? ln_local_of(step->op.inputs[i]) : NULL;
        if (input && !ln_local_known(input)) {
            *next = input;
            return LN_OK;
        }
    }
    LN_TRY(fold_step(planner, step));
    *failed = !step->folded;
    return LN_OK;
}

ln_status ln_planner_know(ln_planner *planner, ln_local *wanted, bool *known) {
    enum { DEPTH = 256 };
    ln_local *stack[DEPTH];
    int depth = 0;
    stack[depth++] = wanted;
    *known = false;
    while (depth > 0) {
        ln_local *next = NULL;
        bool failed = false;
        const bool direct = depth == 1 || (depth == 2 && wanted->root == stack[1]);
        LN_TRY(know_step(planner, stack[depth - 1], direct, &next, &failed));
        if (failed || (next && depth == DEPTH)) {
            return LN_OK;
        }
        if (next) {
            stack[depth++] = next;
        } else {
            --depth;
        }
    }
    *known = true;
    return LN_OK;
}
