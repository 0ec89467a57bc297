/* The rehearsal: what a first run does beside computing, done at load.
 *
 * An engine compiles a function of wasm hastily when it is called first, and well, in the background, once it has run
 * for a while. A first run pays for both, for its plan and for touching fresh memory. The rehearsal makes the plan that
 * inputs of the declared shapes will find, and walks its steps on zeros, a few tasks of each where that is safe.
 *
 * Sizes that are not declared are taken as 1 where batches are, along a first axis, and as SMALL elsewhere; a model that
 * takes no such inputs says so to nobody, and its rehearsal is over. It also is where control flow begins or where
 * shapes depend on what was computed: data that was only computed in parts must decide nothing.
 */
#include "run/rehearse.h"

#include <string.h>

#include "run/feed.h"

enum { SMALL = 64, PIECE_BYTES = 4 << 20, FEW_TASKS = 3 };

/* ---- Feeds ---- */

/* Whether a first axis of unknown size has this name. */
static bool is_batch(const ln_session *session, const char *name) {
    const ln_graph *graph = session->model->graph;
    for (int32_t i = 0; name && i < graph->n_inputs; ++i) {
        const ln_type *type = &ln_info(session->model, graph->inputs[i])->type;
        const bool unknown = type->kind == LN_KIND_TENSOR && type->rank > 0 && type->dims[0] < 0;
        if (unknown && type->dim_params[0] && strcmp(type->dim_params[0], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Feeds zeros to an input that is a tensor of known rank. */
static ln_status feed_zeros(ln_session *session, int index) {
    const ln_type *type = &ln_info(session->model, session->model->graph->inputs[index])->type;
    if (type->kind != LN_KIND_TENSOR || type->rank < 0 || type->rank > LN_MAX_RANK) {
        return LN_UNSUPPORTED;
    }
    int64_t dims[LN_MAX_RANK] = {0};
    for (int i = 0; i < type->rank; ++i) {
        const int64_t guess = i == 0 || is_batch(session, type->dim_params[i]) ? 1 : SMALL;
        dims[i] = type->dims[i] >= 0 ? type->dims[i] : guess;
    }
    LN_TRY(ln_feed_tensor(session, index, (int)type->dtype, type->rank, dims));
    memset(session->feeds[index].data, 0, ln_value_bytes(&session->feeds[index]));
    return LN_OK;
}

static ln_status begin(ln_session *session) {
    const ln_graph *graph = session->model->graph;
    LN_TRY(ln_feed_clear(session));
    for (int32_t i = 0; i < graph->n_inputs; ++i) {
        if (!ln_info(session->model, graph->inputs[i])->fallback) {
            LN_TRY(feed_zeros(session, i));
        }
    }
    LN_TRY(ln_feed_bind(session));
    const ln_cursor start = {graph, 0, NULL};
    ln_plan *plan = NULL;
    LN_TRY(ln_plan_find(session, &session->segments[graph->number], &start, 1, &plan));
    LN_TRY(ln_plan_enter(session, plan));
    session->rehearsed = plan;
    session->rehearsed_bytes = 0;
    session->rehearsed_steps = 0;
    return LN_OK;
}

/* ---- Steps ---- */

/* Whether nothing but the numbers of its outputs depends on a step's tasks. */
static bool may_skip_tasks(const ln_op *op) {
    for (int i = 0; i < op->n_outputs; ++i) {
        if (op->outputs[i] && ln_dtype_compute(op->outputs[i]->dtype) != LN_COMPUTE_F32) {
            return false;
        }
    }
    return !op->grid.then && !(op->node->row->flags & LN_OP_DYNAMIC);
}

static ln_status rehearse_step(ln_session *session, ln_op *op) {
    op->grid = (ln_grid){NULL, 0, NULL};
    LN_TRY(op->node->row->run(op));
    while (op->grid.task) {
        const ln_grid grid = op->grid;
        const int64_t count = may_skip_tasks(op) && grid.count > FEW_TASKS ? FEW_TASKS : grid.count;
        for (int64_t i = 0; i < count; ++i) {
            grid.task(op, i, session->task_scratch);
        }
        op->grid = (ln_grid){NULL, 0, NULL};
        LN_TRY(grid.then ? grid.then(op) : LN_OK);
    }
    return LN_OK;
}

/* Zeroes the next piece of the workspace, which touches it. */
static void zero_piece(ln_session *session) {
    const ln_plan *plan = session->rehearsed;
    const size_t left = plan->workspace_bytes - session->rehearsed_bytes;
    const size_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    memset((char *)plan->segment->workspace + session->rehearsed_bytes, 0, bytes);
    session->rehearsed_bytes += bytes;
}

/* LN_MORE after `budget` pieces and steps. */
static ln_status rehearse(ln_session *session, int budget) {
    if (!session->rehearsed) {
        LN_TRY(begin(session));
        --budget;
    }
    const ln_plan *plan = session->rehearsed;
    for (; session->rehearsed_steps < plan->n_steps; --budget) {
        ln_step *step = plan->steps[session->rehearsed_steps];
        if (step->control) {
            return LN_OK;
        }
        if (budget <= 0) {
            return LN_MORE;
        }
        if (session->rehearsed_bytes < plan->workspace_bytes) {
            zero_piece(session);
            continue;
        }
        LN_TRY(step->folded ? LN_OK : rehearse_step(session, &step->op));
        ++session->rehearsed_steps;
    }
    return LN_OK;
}

ln_status ln_rehearse(ln_session *session, int budget) {
    if (session->running) {
        return LN_OK;
    }
    const uint64_t random_state = session->random_state;
    const ln_status status = rehearse(session, budget);
    session->random_state = random_state;
    if (status != LN_MORE) {
        (void)ln_feed_clear(session);
    }
    return status == LN_MORE ? LN_MORE : LN_OK;
}
