/* What the planner's files share: plan.c walks nodes, know.c computes what shapes depend on, branch.c plans control flow,
 * plans.c finds plans and keeps them. */
#ifndef LN_RUN_PLANNER_H
#define LN_RUN_PLANNER_H

#include "run/session.h"

/* Largest tensor that is computed while planning. */
enum { LN_KNOWN_BYTES = 64 * 1024 };

typedef struct ln_planner {
    ln_session *session;
    ln_plan *plan;
    ln_arena *scratch; /* the session's, reset when the plan is made */
    ln_local **table;  /* locals by session->local_index[id] - 1 */
    int32_t n_table;
    int32_t table_capacity;
    ln_cursor *cursors; /* the stack of graphs being planned */
    int32_t depth;
    int32_t cursors_capacity;
} ln_planner;

ln_local *ln_planner_local(ln_planner *planner, ln_value_id id);
/* The local of a value: made before in this plan, or imported now. */
ln_status ln_planner_value(ln_planner *planner, ln_value_id id, ln_local **out);
/* The local of a value if the plan has met it, else NULL. */
ln_local *ln_planner_bound(const ln_planner *planner, ln_value_id id);
/* A local for `id` that shares the bytes of target. */
ln_status ln_planner_bind_alias(ln_planner *planner, ln_value_id id, ln_local *target);
/* Notes that a step reads a local. */
void ln_planner_read(ln_local *local, int32_t step);

static inline bool ln_local_known(const ln_local *local) {
    return local->source == LN_SOURCE_CONSTANT || local->source == LN_SOURCE_KNOWN;
}
/* Tries to make the bytes of a local known; *known says whether that worked. */
ln_status ln_planner_know(ln_planner *planner, ln_local *wanted, bool *known);
/* Runs an inferred step now; its outputs live with the plan. *done is false when they are too large for that. */
ln_status ln_planner_evaluate(ln_planner *planner, ln_step *step, bool *done);

ln_status ln_planner_emit_control(ln_planner *planner, ln_step *step);

/* Control-flow rows (branch.c): an If with a known condition goes on the stack of cursors, others become steps. */
ln_status ln_planner_control(ln_planner *planner, ln_step *step);
ln_status ln_planner_push(ln_planner *planner, ln_cursor cursor);
/* The graph on top is done: its outputs become those of the If it belongs to. */
ln_status ln_planner_leave(ln_planner *planner);
void ln_control_free(ln_context *context, ln_step *step);

/* Fills planner->plan: from the cursors (bottom first) to the end of the graph, or to a node that has to wait. */
ln_status ln_planner_make(ln_planner *planner, const ln_cursor *start, int32_t depth);

#endif
