/* The session: one model with all that running it needs. */
#ifndef LN_RUN_SESSION_H
#define LN_RUN_SESSION_H

#include "base/pool.h"
#include "compile/compile.h"
#include "run/plan.h"

struct ln_reader;

typedef struct ln_frame ln_frame;
struct ln_frame {
    ln_plan *plan;
    int32_t step;      /* next step of the plan */
    ln_graph *graph;   /* the graph whose end this frame runs to */
    bool in_grid;      /* the current step has offered a grid */
    int64_t grid_next; /* its next task */
};

typedef enum ln_session_stage {
    LN_STAGE_LOADING,
    LN_STAGE_LOADED,
    LN_STAGE_READY,
    LN_STAGE_FAILED
} ln_session_stage;

/* One row of the profile: the step's node, in the order of running. */
typedef struct ln_profile_record {
    const ln_node *node;
} ln_profile_record;

struct ln_session {
    ln_context context;
    ln_pool *pool;
    ln_session_stage stage;
    struct ln_reader *reader;
    ln_model *model;
    ln_program program;
    ln_compile_options options;
    bool profile;
    uint64_t seed;

    ln_value **slots;     /* [model->n_values]: where each value of the model is now, or NULL */
    int32_t *local_index; /* [n_values] planner: 1 + position in local_table, 0 for none */
    int32_t *uses_seen;   /* [n_values] planner */
    ln_arena planning;    /* what the planner needs while it makes a plan */
    ln_value *feeds;      /* [graph->n_inputs] */
    bool *fed;            /* [graph->n_inputs] */
    bool *bound;          /* [graph->n_inputs]: stays fed from run to run */
    ln_segment *segments; /* [program.n_graphs] */

    ln_frame *frames; /* the stack */
    int32_t n_frames;
    int32_t frames_capacity;
    ln_pool *team;          /* pool, or NULL while a run does without; also between runs */
    ln_pool_lesson *lesson; /* of the run under way, or NULL */
    bool running;
    bool finished;      /* outputs are valid */
    void *task_scratch; /* threads blocks of task_scratch_bytes */
    size_t task_scratch_bytes;
    ln_arena texts; /* characters of strings made by this run */
    uint64_t random_state;
    ln_plan *rehearsed; /* the plan that is being rehearsed, or NULL */
    int32_t rehearsed_steps;
    size_t rehearsed_bytes; /* of the workspace, zeroed */

    ln_profile_record *records;
    int32_t n_records;
    int32_t records_capacity;
    ln_text text; /* what describe, inspect, profile and memory answer */
};

/* The value with this number as it stands in the run: a constant, or what its slot holds; NULL when neither. */
ln_value *ln_session_value(const ln_session *session, ln_value_id id);

/* The executor (execute.c). */
ln_status ln_execute_begin(ln_session *session);
ln_status ln_execute_some(ln_session *session, int budget);
void ln_execute_abandon(ln_session *session);

#endif
