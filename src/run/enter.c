/* Entering a plan: memory for its workspace and scratch, pointers into them, imports bound, exports published. */
#include "run/session.h"

static ln_status grow_workspace(ln_session *session, ln_segment *segment, size_t bytes) {
    if (segment->workspace_bytes >= bytes && segment->workspace) {
        return LN_OK;
    }
    ln_free(&session->context, segment->workspace);
    segment->workspace_bytes = 0;
    segment->workspace = ln_alloc(&session->context, bytes, LN_MEMORY_WORKSPACE);
    if (!segment->workspace) {
        return LN_OUT_OF_MEMORY;
    }
    segment->workspace_bytes = bytes;
    return LN_OK;
}

/* Computes the data pointers of values in the workspace. */
static void rebase(ln_plan *plan, char *base) {
    for (ln_local *local = plan->locals; local; local = local->next) {
        if (local->source == LN_SOURCE_WORKSPACE && local->root == local) {
            local->value.data = base + local->place->block.offset;
        }
    }
    for (int32_t s = 0; s < plan->n_steps; ++s) {
        ln_step *step = plan->steps[s];
        step->op.scratch = step->scratch.bytes > 0 ? base + step->scratch.offset : NULL;
    }
    for (int32_t i = 0; i < plan->n_rebound; ++i) {
        plan->rebound[i]->value.data = plan->rebound[i]->root->value.data;
    }
    plan->workspace = base;
}

static ln_status grow_task_scratch(ln_session *session, size_t bytes) {
    const size_t aligned = (bytes + 63) & ~(size_t)63;
    if (session->task_scratch_bytes >= aligned) {
        return LN_OK;
    }
    const size_t threads = (size_t)ln_pool_threads(session->pool);
    size_t total = 0;
    LN_CHECK(&session->context, ln_mul_size(aligned, threads, &total), OUT_OF_MEMORY,
             "scratch memory is too large");
    ln_free(&session->context, session->task_scratch);
    session->task_scratch_bytes = 0;
    session->task_scratch = ln_alloc(&session->context, total, LN_MEMORY_SCRATCH);
    if (!session->task_scratch) {
        return LN_OUT_OF_MEMORY;
    }
    session->task_scratch_bytes = aligned;
    return LN_OK;
}

ln_status ln_plan_enter(ln_session *session, ln_plan *plan) {
    LN_TRY(grow_workspace(session, plan->segment, plan->workspace_bytes));
    LN_TRY(grow_task_scratch(session, plan->task_scratch_bytes));
    for (int32_t i = 0; i < plan->n_imports; ++i) {
        ln_local *local = plan->imports[i];
        if (!local->keyed) {
            local->value.data = session->slots[local->id]->data;
            local->value.owner = session->slots[local->id]->owner;
        }
    }
    if (plan->workspace != plan->segment->workspace) {
        rebase(plan, plan->segment->workspace);
    }
    for (int32_t i = 0; i < plan->n_rebound; ++i) {
        plan->rebound[i]->value.data = plan->rebound[i]->root->value.data;
        plan->rebound[i]->value.owner = plan->rebound[i]->root->value.owner;
    }
    for (int32_t i = 0; i < plan->n_exports; ++i) {
        session->slots[plan->exports[i]->id] = ln_local_value(plan->exports[i]);
    }
    return LN_OK;
}
