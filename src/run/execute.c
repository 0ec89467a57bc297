/* The executor: a step machine over an explicit stack of frames.
 *
 * A frame is a graph that is being run, and where in its current plan. A step either computes at once, or offers a grid
 * of tasks, or is a control-flow step that asks for a body: then a frame for the body goes on the stack, and when
 * it is done the step is asked what comes next. The machine can stop after any step or batch of tasks and
 * go on later, so one form serves threads, yielding to the page, progress and abort.
 */
#include <string.h>

#include "compile/evaluate.h"
#include "run/session.h"

ln_value *ln_session_value(const ln_session *session, ln_value_id id) {
    ln_value *constant = ln_info(session->model, id)->constant;
    return constant ? constant : session->slots[id];
}

/* ---- Frames ---- */

static ln_status push_frame(ln_session *session, ln_graph *graph) {
    if (session->n_frames == session->frames_capacity) {
        const int32_t capacity = 2 * session->frames_capacity + 8;
        ln_frame *grown = ln_alloc(&session->context, (size_t)capacity * sizeof *grown, LN_MEMORY_PLAN);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (session->n_frames) {
            memcpy(grown, session->frames, (size_t)session->n_frames * sizeof *grown);
        }
        ln_free(&session->context, session->frames);
        session->frames = grown;
        session->frames_capacity = capacity;
    }
    const ln_cursor start = {graph, 0, NULL};
    ln_plan *plan = NULL;
    LN_TRY(ln_plan_find(session, &session->segments[graph->number], &start, 1, &plan));
    LN_TRY(ln_plan_enter(session, plan));
    session->frames[session->n_frames++] = (ln_frame){plan, 0, graph, false, 0};
    return LN_OK;
}

/* The plan is done; the next segment goes on where it ended. */
static ln_status next_segment(ln_session *session, ln_frame *frame) {
    ln_plan *plan = NULL;
    LN_TRY(ln_plan_find(session, &frame->plan->after, frame->plan->resume, frame->plan->resume_depth, &plan));
    LN_TRY(ln_plan_enter(session, plan));
    frame->plan = plan;
    frame->step = 0;
    return LN_OK;
}

/* ---- Grids ---- */

typedef struct grid_run {
    ln_session *session;
    ln_op *op;
} grid_run;

static void run_task(void *argument, int64_t index, int worker) {
    const grid_run *run = argument;
    char *scratch = run->session->task_scratch;
    if (scratch) {
        scratch += (size_t)worker * run->session->task_scratch_bytes;
    }
    run->op->grid.task(run->op, index, scratch);
}

/* Tasks that count as one move, where moves are counted. */
enum { TASKS_PER_MOVE = 8 };

/* Runs tasks of the offered grid, as many as the moves left allow: in one go, because threads meet at the end of each.
 * Takes from *left what it used. */
static ln_status run_grid(ln_session *session, ln_frame *frame, ln_op *op, int64_t *left) {
    const int64_t begin = frame->grid_next;
    const int64_t most = *left <= INT64_MAX / TASKS_PER_MOVE ? *left * TASKS_PER_MOVE : INT64_MAX;
    const int64_t count = op->grid.count - begin < most ? op->grid.count - begin : most;
    grid_run run = {session, op};
    LN_CHECK(&session->context, ln_pool_run(session->team, run_task, &run, begin, begin + count), THREAD_DIED,
             "a worker thread died while it ran %s", op->node->op_type);
    frame->grid_next = begin + count;
    *left -= (count - 1) / TASKS_PER_MOVE; /* the step itself counts as one */
    return LN_OK;
}

/* ---- Steps ---- */

static ln_status record(ln_session *session, const ln_node *node) {
    if (session->n_records == session->records_capacity) {
        const int32_t capacity = 2 * session->records_capacity + 64;
        ln_profile_record *grown =
            ln_alloc(&session->context, (size_t)capacity * sizeof *grown, LN_MEMORY_PLAN);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (session->n_records) {
            memcpy(grown, session->records, (size_t)session->n_records * sizeof *grown);
        }
        ln_free(&session->context, session->records);
        session->records = grown;
        session->records_capacity = capacity;
    }
    session->records[session->n_records++].node = node;
    return LN_OK;
}

static void release_control(ln_session *session, ln_control *control) {
    for (int32_t i = 0; i < control->body_capacity; ++i) {
        ln_value_release(&session->context, &control->body_inputs[i]);
    }
    for (int32_t i = 0; i < control->kept_count; ++i) {
        ln_value_release(&session->context, &control->kept[i]);
    }
}

/* Asks a control-flow step what comes next, and starts the body it names. */
static ln_status advance_control(ln_session *session, ln_frame *frame, ln_step *step) {
    ln_control *control = step->control;
    if (control->entry == 0) {
        control->op = step->op;
        memset(control->state, 0, LN_CONTROL_STATE_BYTES);
    }
    control->body = NULL;
    LN_TRY(step->op.node->row->control(control));
    ++control->entry;
    if (!control->body) {
        control->entry = 0;
        release_control(session, control);
        ++frame->step;
        return LN_OK;
    }
    const ln_graph *body = control->body;
    for (int32_t i = 0; i < body->n_inputs; ++i) {
        session->slots[body->inputs[i]] = &control->body_inputs[i];
    }
    return push_frame(session, control->body); /* `frame` may have moved */
}

/* The frame on top is done: its outputs go to the control-flow step of the frame below. */
static void finish_frame(ln_session *session) {
    const ln_graph *body = session->frames[--session->n_frames].graph;
    if (session->n_frames == 0) {
        return;
    }
    const ln_frame *below = &session->frames[session->n_frames - 1];
    ln_control *control = below->plan->steps[below->step]->control;
    ln_value **outputs = (ln_value **)control->body_outputs;
    for (int32_t i = 0; i < body->n_outputs; ++i) {
        outputs[i] = ln_session_value(session, body->outputs[i]);
    }
}

/* A step of the frame on top, or as many of its tasks as the moves left allow. */
static ln_status run_step(ln_session *session, ln_frame *frame, int64_t *left) {
    ln_step *step = frame->plan->steps[frame->step];
    ln_op *op = &step->op;
    if (step->control) {
        return advance_control(session, frame, step);
    }
    if (!frame->in_grid) {
        op->grid = (ln_grid){NULL, 0, NULL};
        LN_TRY(session->profile ? record(session, op->node) : LN_OK);
        LN_TRY(op->node->row->run(op));
        frame->in_grid = op->grid.task != NULL;
        frame->grid_next = 0;
    }
    while (frame->in_grid) {
        LN_TRY(run_grid(session, frame, op, left));
        if (frame->grid_next < op->grid.count) {
            return LN_OK;
        }
        const ln_grid done = op->grid;
        op->grid = (ln_grid){NULL, 0, NULL};
        LN_TRY(done.then ? done.then(op) : LN_OK);
        frame->in_grid = op->grid.task != NULL;
        frame->grid_next = 0;
    }
    ++frame->step;
    return LN_OK;
}

/* Names the node that the frame on top was running. */
static ln_status located(ln_session *session, ln_status status) {
    if (session->n_frames > 0 && status < LN_STATUS_COUNT) {
        const ln_frame *frame = &session->frames[session->n_frames - 1];
        if (frame->step < frame->plan->n_steps) {
            const ln_node *node = frame->plan->steps[frame->step]->op.node;
            ln_error_locate(&session->context, node->name, node->op_type, node->opset);
        }
    }
    return status;
}

static void leave_pool(ln_session *session) {
    if (session->lesson) {
        ln_pool_leave(session->team, session->lesson);
    }
    session->lesson = NULL;
}

static ln_status run_some(ln_session *session, int budget) {
    int64_t left = budget > 0 ? budget : INT64_MAX;
    while (session->n_frames > 0) {
        ln_frame *frame = &session->frames[session->n_frames - 1];
        while (frame->step < frame->plan->n_steps && frame->plan->steps[frame->step]->folded) {
            ++frame->step;
        }
        if (frame->step < frame->plan->n_steps) {
            const ln_status status = run_step(session, frame, &left);
            if (status != LN_OK) {
                return located(session, status);
            }
            if (--left == 0) {
                return LN_MORE;
            }
        } else if (frame->plan->resume_depth > 0) {
            LN_TRY(next_segment(session, frame));
        } else {
            finish_frame(session);
        }
    }
    leave_pool(session);
    return LN_OK;
}

ln_status ln_execute_begin(ln_session *session) {
    session->n_records = 0;
    LN_TRY(push_frame(session, session->model->graph));
    session->lesson = &session->frames[0].plan->lesson;
    session->team = ln_pool_enter(session->pool, session->lesson);
    return LN_OK;
}

void ln_execute_abandon(ln_session *session) {
    leave_pool(session);
    while (session->n_frames > 0) {
        const ln_frame *frame = &session->frames[--session->n_frames];
        ln_step *step = frame->step < frame->plan->n_steps ? frame->plan->steps[frame->step] : NULL;
        if (step && step->control) {
            step->control->entry = 0;
            release_control(session, step->control);
        }
    }
}

ln_status ln_execute_some(ln_session *session, int budget) {
    const ln_status status = run_some(session, budget);
    if (status != LN_OK && status != LN_MORE) {
        ln_execute_abandon(session);
    }
    return status;
}
