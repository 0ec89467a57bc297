/* Finding plans and keeping them.
 *
 * A segment keeps its plans in the order of their last use. The one that gives way to a new plan leaves its
 * memory to it: a decoder whose past grows with every token plans every token, and allocates nothing.
 */
#include <string.h>

#include "run/planner.h"

/* What a plan weighs: one that others follow keeps their workspaces too. */
static size_t weight(const ln_plan *plan) {
    return plan->resume_depth > 0 ? LN_SMALL_PLANS_BYTES / LN_PLANS_KEPT : ln_arena_bytes(&plan->arena);
}

/* Gives up all but the arena's memory. */
static void empty_plan(ln_context *context, ln_plan *plan) {
    for (ln_local *local = plan->owns ? plan->locals : NULL; local; local = local->next) {
        const bool own = local->source == LN_SOURCE_KNOWN || local->source == LN_SOURCE_DYNAMIC ||
                         local->source == LN_SOURCE_WORKSPACE;
        if (own && local->value.owner && local->root == local) {
            ln_value_release(context, &local->value);
        }
    }
    for (int32_t s = 0; plan->owns && s < plan->n_steps; ++s) {
        ln_control_free(context, plan->steps[s]);
    }
    ln_segment_free(context, &plan->after);
    const ln_arena arena = plan->arena;
    *plan = (ln_plan){.arena = arena};
}

static void free_plan(ln_context *context, ln_plan *plan) {
    empty_plan(context, plan);
    ln_arena_free(&plan->arena);
    ln_free(context, plan);
}

void ln_segment_free(ln_context *context, ln_segment *segment) {
    while (segment->plans) {
        ln_plan *plan = segment->plans;
        segment->plans = plan->next;
        free_plan(context, plan);
    }
    ln_free(context, segment->workspace);
    *segment = (ln_segment){.plans = NULL};
}

/* Takes the plan that was used least recently out of the segment. */
static ln_plan *take_oldest(ln_segment *segment) {
    ln_plan **last = &segment->plans;
    while ((*last)->next) {
        last = &(*last)->next;
    }
    ln_plan *plan = *last;
    *last = NULL;
    --segment->n_plans;
    segment->plan_bytes -= weight(plan);
    return plan;
}

/* An empty plan: the oldest one's memory once the segment is full. */
static ln_plan *blank_plan(ln_session *session, ln_segment *segment) {
    ln_context *context = &session->context;
    const bool full =
        segment->n_plans >= LN_SMALL_PLANS_KEPT ||
        (segment->n_plans >= LN_PLANS_KEPT && segment->plan_bytes >= (size_t)LN_SMALL_PLANS_BYTES);
    if (full) {
        ln_plan *plan = take_oldest(segment);
        empty_plan(context, plan);
        ln_arena_reset(&plan->arena);
        return plan;
    }
    ln_plan *plan = ln_alloc_zero(context, sizeof *plan, LN_MEMORY_PLAN);
    if (plan) {
        ln_arena_init(&plan->arena, context, LN_MEMORY_PLAN);
    }
    return plan;
}

/* Leaves the session's tables as they were: zero. */
static void clean_tables(ln_session *session) {
    const size_t bytes = (size_t)session->model->n_values * sizeof(int32_t);
    memset(session->local_index, 0, bytes);
    memset(session->uses_seen, 0, bytes);
    ln_arena_reset(&session->planning);
}

static ln_status new_plan(ln_session *session, ln_segment *segment, const ln_cursor *start, int32_t depth,
                          ln_plan **out) {
    ln_plan *plan = blank_plan(session, segment);
    if (!plan) {
        return LN_OUT_OF_MEMORY;
    }
    plan->segment = segment;
    ln_planner planner = {.session = session, .plan = plan, .scratch = &session->planning};
    const ln_status status = ln_planner_make(&planner, start, depth);
    clean_tables(session);
    if (status != LN_OK) {
        free_plan(&session->context, plan);
        return status;
    }
    plan->next = segment->plans;
    segment->plans = plan;
    ++segment->n_plans;
    segment->plan_bytes += weight(plan);
    *out = plan;
    return LN_OK;
}

static bool import_fits(const ln_session *session, const ln_local *local) {
    const ln_value *value = session->slots[local->id];
    if (!value || value->kind != local->value.kind || value->dtype != local->value.dtype) {
        return false;
    }
    if (value->kind != LN_KIND_TENSOR) {
        return true;
    }
    return ln_shape_equal(&value->shape, &local->value.shape) &&
           (!local->keyed || memcmp(value->data, local->value.data, ln_value_bytes(value)) == 0);
}

static bool plan_fits(const ln_session *session, const ln_plan *plan) {
    for (int32_t i = 0; i < plan->n_imports; ++i) {
        if (!import_fits(session, plan->imports[i])) {
            return false;
        }
    }
    return true;
}

ln_status ln_plan_find(ln_session *session, ln_segment *segment, const ln_cursor *start, int32_t depth,
                       ln_plan **plan) {
    for (ln_plan **at = &segment->plans; *at; at = &(*at)->next) {
        if (plan_fits(session, *at)) {
            *plan = *at;
            *at = (*plan)->next;
            (*plan)->next = segment->plans;
            segment->plans = *plan;
            return LN_OK;
        }
    }
    return new_plan(session, segment, start, depth, plan);
}
