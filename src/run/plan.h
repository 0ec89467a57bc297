/* Plans: a graph specialised for shapes.
 *
 * A plan covers a run of nodes that can be planned together: a segment. It knows every shape, has computed all that
 * depends on shapes alone, and gives each value an offset in one workspace. Where a node needs to know what only
 * the run can tell (the output of NonZero, of a Loop), the plan ends; the segment after it is planned when the
 * run has come that far. Plans are kept in the segment they start, a handful each, found by their imports:
 * the types and shapes of the values they read from outside, and the bytes of those small values that shapes
 * or conditions turned out to depend on.
 *
 *   segment of a graph ── plan for shapes A ── next segment ── plan ...
 *                      └─ plan for shapes B ── next segment ── plan ...
 *
 * An If whose condition is known while planning is planned in place, as if its branch were written there.
 */
#ifndef LN_RUN_PLAN_H
#define LN_RUN_PLAN_H

#include "base/pool.h"
#include "ops/op.h"

typedef struct ln_plan ln_plan;
typedef struct ln_session ln_session;

/* Where the bytes of a local value come from. */
typedef enum ln_source {
    LN_SOURCE_IMPORT,    /* a value from outside the plan: bound when the plan is entered */
    LN_SOURCE_CONSTANT,  /* a constant of the model */
    LN_SOURCE_KNOWN,     /* computed while planning, or an import whose bytes are part of the key */
    LN_SOURCE_WORKSPACE, /* at an offset of the workspace */
    LN_SOURCE_DYNAMIC,   /* made by run, in memory of its own */
} ln_source;

/* A piece of the workspace. */
typedef struct ln_block {
    size_t bytes;
    size_t offset;
    size_t best;         /* the offset in the best placing so far */
    int32_t first, last; /* steps during which it is in use */
} ln_block;

typedef struct ln_local ln_local;
struct ln_local {
    ln_value value;
    ln_value_id id;
    ln_source source;
    ln_local *root;    /* the local whose bytes this one shares; itself as a rule */
    int32_t producer;  /* step that makes it, -1 for none */
    int32_t last_step; /* last step that reads it (of a root: or any that shares its bytes) */
    bool exported;     /* read by a later segment, a subgraph or the caller */
    bool keyed;        /* an import whose bytes are part of the key */
    ln_local *place;   /* root whose block it uses; itself as a rule */
    ln_block block;    /* if this is a place */
    ln_local *inside;  /* of a place: the place that holds it as a part, or NULL */
    size_t shift;      /* where in that */
    ln_local *next;    /* in the plan's list */
};

/* The local behind a value of a step: locals begin with their value. */
static inline ln_local *ln_local_of(ln_value *value) {
    return (ln_local *)(void *)value;
}

/* The value to read for a local: of one that the run makes, the header that the run fills. */
static inline ln_value *ln_local_value(ln_local *local) {
    return local->source == LN_SOURCE_DYNAMIC ? &local->root->value : &local->value;
}

typedef struct ln_step {
    ln_op op;
    bool folded;         /* its outputs were computed while planning */
    ln_block scratch;    /* for op.scratch */
    ln_control *control; /* for control-flow rows, allocated with the plan */
} ln_step;

/* A position in a graph that is being planned; a stack of them when branches are planned in place. */
typedef struct ln_cursor {
    const ln_graph *graph;
    int32_t next;         /* node to plan next */
    const ln_node *owner; /* the If whose branch this graph is, NULL at the bottom */
} ln_cursor;

typedef struct ln_segment {
    ln_plan *plans; /* most recently used first */
    int32_t n_plans;
    size_t plan_bytes; /* of all its plans */
    void *workspace;
    size_t workspace_bytes;
} ln_segment;

struct ln_plan {
    ln_plan *next;
    ln_segment *segment; /* the segment it is kept in */
    ln_arena arena;      /* everything below, and known values without an owner */
    ln_local *locals;    /* in order of creation */
    ln_local *last_local;
    ln_step **steps;
    int32_t n_steps;
    int32_t steps_capacity;
    ln_local **imports;
    int32_t n_imports;
    ln_local **exports;
    int32_t n_exports;
    ln_local **rebound; /* locals that share an import's bytes */
    int32_t n_rebound;
    ln_cursor *resume; /* where the next segment starts; depth 0: the graph is done */
    int32_t resume_depth;
    ln_segment after; /* the next segment */
    size_t workspace_bytes;
    size_t live_bytes; /* largest sum of blocks in use at one step: the lower bound of workspace_bytes */
    size_t task_scratch_bytes;
    ln_pool_lesson lesson; /* of runs that begin with this plan */
    bool owns;             /* steps or locals hold memory of their own */
    const void *workspace; /* base that data pointers are computed for */
};

/* A segment keeps 8 plans, and up to 64 as long as they are small. */
enum { LN_PLANS_KEPT = 8, LN_SMALL_PLANS_KEPT = 64, LN_SMALL_PLANS_BYTES = 1 << 20 };

/* The plan for what the session's slots hold now, starting at the cursors (bottom first): an existing one, or a new
 * one. It becomes the first of the segment. */
ln_status ln_plan_find(ln_session *session, ln_segment *segment, const ln_cursor *start, int32_t depth,
                       ln_plan **plan);
/* Binds imports, publishes exports in the session's slots, moves to the segment's workspace. */
ln_status ln_plan_enter(ln_session *session, ln_plan *plan);
/* Frees all plans of a segment and of those that follow it. */
void ln_segment_free(ln_context *context, ln_segment *segment);

/* Gives blocks their offsets (place.c). Sets workspace_bytes and live_bytes. */
ln_status ln_plan_place(ln_session *session, ln_plan *plan);

#endif
