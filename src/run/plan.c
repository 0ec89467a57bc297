/* The planner: walks nodes in order, infers shapes, folds what is known and emits steps.
 *
 * When infer wants the bytes of a value that is not known, the planner tries to compute them now (know.c). When that
 * fails, the plan ends before the node, and the next segment begins there.
 */
#include "run/plan.h"

#include <string.h>

#include "compile/evaluate.h"
#include "run/planner.h"

/* ---- Locals ---- */

ln_local *ln_planner_local(ln_planner *planner, ln_value_id id) {
    ln_local *local = ln_arena_alloc(&planner->plan->arena, sizeof *local);
    if (!local) {
        return NULL;
    }
    local->id = id;
    local->root = local;
    local->place = local;
    local->producer = -1;
    local->last_step = -1;
    if (planner->plan->last_local) {
        planner->plan->last_local->next = local;
    } else {
        planner->plan->locals = local;
    }
    planner->plan->last_local = local;
    return local;
}

/* Makes `local` what the number `local->id` means in this plan. */
static ln_status bind(ln_planner *planner, ln_local *local) {
    if (planner->n_table == planner->table_capacity) {
        const int32_t capacity = 2 * planner->table_capacity + 64;
        ln_local **grown = ln_arena_array(planner->scratch, (size_t)capacity, sizeof *grown);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (planner->n_table) {
            memcpy(grown, planner->table, (size_t)planner->n_table * sizeof *grown);
        }
        planner->table = grown;
        planner->table_capacity = capacity;
    }
    planner->table[planner->n_table++] = local;
    planner->session->local_index[local->id] = planner->n_table;
    return LN_OK;
}

static ln_local *bound(const ln_planner *planner, ln_value_id id) {
    const int32_t index = planner->session->local_index[id];
    return index ? planner->table[index - 1] : NULL;
}

/* The local of a value that the plan has not met yet: a constant, or what the session's slot holds. */
static ln_status import(ln_planner *planner, ln_value_id id, ln_local **out) {
    ln_session *session = planner->session;
    const ln_value_info *info = ln_info(session->model, id);
    ln_local *local = ln_planner_local(planner, id);
    if (!local) {
        return LN_OUT_OF_MEMORY;
    }
    if (info->constant) {
        local->source = LN_SOURCE_CONSTANT;
        local->value = *info->constant;
    } else {
        const ln_value *value = session->slots[id];
        LN_CHECK(&session->context, value, INTERNAL, "value '%s' is read before it is made", info->name);
        local->source = LN_SOURCE_IMPORT;
        local->value = *value;
        if (value->kind == LN_KIND_TENSOR) {
            local->value.data = NULL; /* unknown until somebody has to look */
        }
        ++planner->plan->n_imports;
    }
    *out = local;
    return bind(planner, local);
}

ln_status ln_planner_value(ln_planner *planner, ln_value_id id, ln_local **out) {
    *out = bound(planner, id);
    return *out ? LN_OK : import(planner, id, out);
}

/* ---- Steps ---- */

static ln_status add_step(ln_planner *planner, ln_step *step) {
    ln_plan *plan = planner->plan;
    if (plan->n_steps == plan->steps_capacity) {
        const int32_t capacity = 2 * plan->steps_capacity + 32;
        ln_step **grown = ln_arena_array(&plan->arena, (size_t)capacity, sizeof *grown);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (plan->n_steps) {
            memcpy(grown, plan->steps, (size_t)plan->n_steps * sizeof *grown);
        }
        plan->steps = grown;
        plan->steps_capacity = capacity;
    }
    plan->steps[plan->n_steps++] = step;
    return LN_OK;
}

static void read_at(ln_local *local, int32_t step) {
    ln_local *root = local->root;
    root->last_step = root->last_step > step ? root->last_step : step;
}

static void read_inputs(const ln_step *step, int32_t index) {
    for (int i = 0; i < step->op.n_inputs; ++i) {
        if (step->op.inputs[i]) {
            read_at(ln_local_of(step->op.inputs[i]), index);
        }
    }
}

static bool is_read(const ln_planner *planner, const ln_node *node) {
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        if (node->outputs[i] && ln_info(planner->session->model, node->outputs[i])->uses > 0) {
            return true;
        }
    }
    return false;
}

/* A step whose op has inputs and outputs bound; *blocked says that an input's shape is not known in this plan. */
static ln_status bind_step(ln_planner *planner, const ln_node *node, ln_step **out, bool *blocked) {
    ln_plan *plan = planner->plan;
    const size_t pointers = (size_t)node->n_inputs + (size_t)node->n_outputs;
    ln_step *step = ln_arena_alloc(&plan->arena, sizeof *step + pointers * sizeof(ln_value *));
    if (!step) {
        return LN_OUT_OF_MEMORY;
    }
    ln_value **inputs = (ln_value **)(void *)(step + 1);
    ln_value **outputs = inputs + node->n_inputs;
    const bool tolerant = (node->row->flags & (LN_OP_DYNAMIC | LN_OP_CONTROL)) != 0;
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        if (node->inputs[i]) {
            ln_local *local = NULL;
            LN_TRY(ln_planner_value(planner, node->inputs[i], &local));
            *blocked = *blocked || (local->source == LN_SOURCE_DYNAMIC && !tolerant);
            inputs[i] = ln_local_value(local);
        }
    }
    if (*blocked) {
        return LN_OK;
    }
    const bool needed = is_read(planner, node);
    for (int32_t i = 0; i < node->n_outputs; ++i) {
        const ln_value_id id = node->outputs[i];
        /* Operators count on their first output, so it is made even when only a later one is read. */
        if ((id && ln_info(planner->session->model, id)->uses > 0) || (i == 0 && needed)) {
            ln_local *local = ln_planner_local(planner, id);
            if (!local) {
                return LN_OUT_OF_MEMORY;
            }
            local->source = LN_SOURCE_WORKSPACE;
            outputs[i] = &local->value;
        }
    }
    ln_op_prepare(&step->op, &planner->session->context, node, inputs, outputs, NULL);
    step->op.texts = &planner->session->texts;
    step->op.random_state = &planner->session->random_state;
    *out = step;
    return LN_OK;
}

static bool all_inputs_known(const ln_step *step) {
    for (int i = 0; i < step->op.n_inputs; ++i) {
        if (step->op.inputs[i] && !ln_local_known(ln_local_of(step->op.inputs[i]))) {
            return false;
        }
    }
    return true;
}

/* The outputs of a step become what later nodes read. */
static ln_status publish(ln_planner *planner, ln_step *step, ln_source source) {
    for (int i = 0; i < step->op.n_outputs; ++i) {
        if (step->op.outputs[i]) {
            ln_local *local = ln_local_of(step->op.outputs[i]);
            local->source = source;
            local->producer = planner->plan->n_steps;
            LN_TRY(local->id ? bind(planner, local) : LN_OK);
        }
    }
    return LN_OK;
}

/* The input whose bytes the output has, by its operator or with these shapes; NULL when there is a step to run. */
static ln_value *aliased(const ln_step *step) {
    if (step->op.n_outputs > 1 && step->op.outputs[1]) {
        return NULL;
    }
    if (step->op.node->row->flags & LN_OP_ALIAS) {
        return step->op.inputs[0];
    }
    for (int i = 0; i < step->op.n_inputs; ++i) {
        if (step->op.same_as && step->op.inputs[i] == step->op.same_as) {
            return step->op.inputs[i];
        }
    }
    return NULL;
}

static ln_status plan_alias(ln_planner *planner, ln_step *step, ln_local *input) {
    if (!step->op.outputs[0]) {
        return LN_OK;
    }
    ln_local *output = ln_local_of(step->op.outputs[0]);
    output->root = input->root;
    output->value.data = input->value.data;
    output->value.owner = input->source == LN_SOURCE_CONSTANT ? NULL : input->value.owner;
    output->source = input->source;
    if (ln_local_known(input)) {
        output->root = output; /* the bytes are there for good */
        output->source = LN_SOURCE_KNOWN;
        output->value.owner = NULL;
    }
    output->producer = input->producer;
    return bind(planner, output);
}

/* Collections hold other values by reference and stay with the run. */
static bool makes_collection(const ln_step *step) {
    for (int i = 0; i < step->op.n_outputs; ++i) {
        if (step->op.outputs[i] && step->op.outputs[i]->kind != LN_KIND_TENSOR) {
            return true;
        }
    }
    return false;
}

/* Runs a node while planning when all that it reads is known. *done when it did. */
static ln_status try_fold(ln_planner *planner, ln_step *step, bool *done) {
    const uint32_t flags = step->op.node->row->flags;
    *done = false;
    if ((flags & LN_OP_RANDOM) || makes_collection(step) ||
        !((flags & LN_OP_SHAPE_ONLY) || all_inputs_known(step))) {
        return LN_OK;
    }
    LN_TRY(ln_planner_evaluate(planner, step, done));
    return *done ? publish(planner, step, LN_SOURCE_KNOWN) : LN_OK;
}

static ln_status emit(ln_planner *planner, ln_step *step) {
    const bool dynamic = (step->op.node->row->flags & LN_OP_DYNAMIC) != 0;
    planner->plan->owns = planner->plan->owns || dynamic;
    LN_TRY(publish(planner, step, dynamic ? LN_SOURCE_DYNAMIC : LN_SOURCE_WORKSPACE));
    read_inputs(step, planner->plan->n_steps);
    if (step->op.task_scratch_bytes > planner->plan->task_scratch_bytes) {
        planner->plan->task_scratch_bytes = step->op.task_scratch_bytes;
    }
    return add_step(planner, step);
}

static bool has_readers(const ln_step *step) {
    for (int i = 0; i < step->op.n_outputs; ++i) {
        if (step->op.outputs[i]) {
            return true;
        }
    }
    return false;
}

/* What infer takes of op->local stays where it is in the plan's arena. */
static ln_status infer(ln_planner *planner, ln_op *op) {
    op->local = ln_arena_reserve(&planner->plan->arena, LN_LOCAL_BYTES);
    if (!op->local) {
        return LN_OUT_OF_MEMORY;
    }
    op->local_bytes = 0;
    op->local_room = LN_LOCAL_BYTES;
    LN_TRY(ln_op_infer(op));
    ln_arena_take(&planner->plan->arena, op->local_bytes);
    op->local_room = op->local_bytes;
    return LN_OK;
}

/* Plans one node; *blocked when the plan has to end before it. */
static ln_status plan_node(ln_planner *planner, const ln_node *node, bool *blocked) {
    ln_step *step = NULL;
    LN_TRY(bind_step(planner, node, &step, blocked));
    if (*blocked || !has_readers(step)) {
        return LN_OK;
    }
    if (node->row->flags & LN_OP_CONTROL) {
        return ln_planner_control(planner, step);
    }
    ln_status status = infer(planner, &step->op);
    while (status == LN_NEED_VALUE) {
        bool known = false;
        LN_TRY(ln_planner_know(planner, ln_local_of(step->op.inputs[step->op.wanted]), &known));
        if (!known) {
            *blocked = true;
            return LN_OK;
        }
        status = infer(planner, &step->op);
    }
    LN_TRY(status);
    ln_value *same = aliased(step);
    if (same) {
        return plan_alias(planner, step, ln_local_of(same));
    }
    bool done = false;
    LN_TRY(try_fold(planner, step, &done));
    return done ? LN_OK : emit(planner, step);
}

static void count_uses(ln_planner *planner, const ln_node *node) {
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        planner->session->uses_seen[node->inputs[i]] += node->inputs[i] != 0;
    }
}

ln_status ln_planner_emit_control(ln_planner *planner, ln_step *step) {
    LN_TRY(infer(planner, &step->op)); /* kinds and element types of the outputs, for the nodes that follow */
    planner->plan->owns = true;
    LN_TRY(publish(planner, step, LN_SOURCE_DYNAMIC));
    read_inputs(step, planner->plan->n_steps);
    return add_step(planner, step);
}

ln_status ln_planner_bind_alias(ln_planner *planner, ln_value_id id, ln_local *target) {
    ln_local *local = ln_planner_local(planner, id);
    if (!local) {
        return LN_OUT_OF_MEMORY;
    }
    local->value = target->value;
    local->source = target->source;
    local->producer = target->producer;
    local->root = target->root;
    if (ln_local_known(target)) {
        local->source = LN_SOURCE_KNOWN;
        local->root = local;
        local->value.owner = NULL;
    }
    return bind(planner, local);
}

void ln_planner_read(ln_local *local, int32_t step) {
    read_at(local, step);
}

ln_local *ln_planner_bound(const ln_planner *planner, ln_value_id id) {
    return bound(planner, id);
}

/* Plans until the graph is done or a node blocks. */
static ln_status walk(ln_planner *planner) {
    int32_t planned = 0;
    while (planner->depth > 0) {
        ln_cursor *cursor = &planner->cursors[planner->depth - 1];
        if (cursor->next == cursor->graph->n_nodes) {
            LN_TRY(ln_planner_leave(planner));
            continue;
        }
        const ln_node *node = cursor->graph->nodes[cursor->next];
        ++cursor->next; /* a branch planned in place goes on top of the stack */
        bool blocked = false;
        LN_TRY(plan_node(planner, node, &blocked));
        if (blocked) {
            --planner->cursors[planner->depth - 1].next;
            LN_CHECK(&planner->session->context, planned > 0 || planner->plan->n_steps > 0, INTERNAL,
                     "no plan can be made for node '%s'", node->name);
            return LN_OK;
        }
        count_uses(planner, node);
        ++planned;
    }
    return LN_OK;
}

/* Sorts locals into imports, exports and those that follow an import. */
static ln_status sort_locals(ln_planner *planner) {
    ln_plan *plan = planner->plan;
    ln_session *session = planner->session;
    int32_t count = 0;
    for (const ln_local *local = plan->locals; local; local = local->next) {
        ++count;
    }
    plan->imports = ln_arena_array(&plan->arena, (size_t)plan->n_imports, sizeof *plan->imports);
    plan->exports = ln_arena_array(&plan->arena, (size_t)count, sizeof *plan->exports);
    plan->rebound = ln_arena_array(&plan->arena, (size_t)count, sizeof *plan->rebound);
    if (!plan->imports || !plan->exports || !plan->rebound) {
        return LN_OUT_OF_MEMORY;
    }
    plan->n_imports = 0;
    for (ln_local *local = plan->locals; local; local = local->next) {
        if (bound(planner, local->id) != local) {
            continue; /* output of a node that was given up */
        }
        if (local->source == LN_SOURCE_IMPORT && local->root == local) {
            plan->imports[plan->n_imports++] = local;
            continue;
        }
        if (local->keyed) {
            plan->imports[plan->n_imports++] = local;
            continue;
        }
        if (local->source == LN_SOURCE_CONSTANT) {
            continue;
        }
        const bool later = ln_info(session->model, local->id)->uses > session->uses_seen[local->id];
        if (later || local->exported) {
            local->exported = true;
            plan->exports[plan->n_exports++] = local;
            if (later) {
                read_at(local, INT32_MAX - 1);
            }
        }
        if (local->root != local) {
            plan->rebound[plan->n_rebound++] = local;
        }
    }
    return LN_OK;
}

static ln_status save_cursors(ln_planner *planner) {
    ln_plan *plan = planner->plan;
    plan->resume_depth = planner->depth;
    plan->resume = ln_arena_array(&plan->arena, (size_t)planner->depth, sizeof *plan->resume);
    if (!plan->resume) {
        return LN_OUT_OF_MEMORY;
    }
    if (planner->depth) {
        memcpy(plan->resume, planner->cursors, (size_t)planner->depth * sizeof *plan->resume);
    }
    return LN_OK;
}

ln_status ln_planner_make(ln_planner *planner, const ln_cursor *start, int32_t depth) {
    for (int32_t i = 0; i < depth; ++i) {
        LN_TRY(ln_planner_push(planner, start[i]));
    }
    LN_TRY(walk(planner));
    LN_TRY(save_cursors(planner));
    LN_TRY(sort_locals(planner));
    return ln_plan_place(planner->session, planner->plan);
}
