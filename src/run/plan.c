/* The planner: walks nodes in order, infers shapes, folds what is known and emits steps.
 *
 * A value is known when its bytes are: constants, results of shape arithmetic, and imports that had to be looked
 * at. When infer wants the bytes of a value that is not known, the planner tries to compute them now from
 * constants and small integer imports (whose bytes then become part of the plan's key). When that fails, the
 * plan ends before the node, and the next segment begins there.
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
        ln_local **grown = ln_arena_array(&planner->scratch, (size_t)capacity, sizeof *grown);
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

/* ---- Knowing ---- */

enum { CHAIN_ELEMENTS = 64, KNOWN_BYTES = 64 * 1024 };

static bool is_known(const ln_local *local) {
    return local->source == LN_SOURCE_CONSTANT || local->source == LN_SOURCE_KNOWN;
}

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
           ln_value_bytes(&local->value) <= KNOWN_BYTES;
}

/* Runs a step that was emitted before, now that its inputs are known. */
static ln_status fold_step(ln_planner *planner, ln_step *step) {
    step->op.random_state = &planner->session->random_state;
    const ln_status status = ln_evaluate(&step->op, KNOWN_BYTES);
    if (status != LN_OK) {
        return status;
    }
    step->folded = true;
    for (int i = 0; i < step->op.n_outputs; ++i) {
        if (step->op.outputs[i]) {
            ((ln_local *)(void *)step->op.outputs[i])->source = LN_SOURCE_KNOWN;
        }
    }
    return LN_OK;
}

/* One move towards knowing `local`: either it becomes known (or cannot: *failed), or *next is what has to be known first. */
static ln_status know_step(ln_planner *planner, ln_local *local, bool direct, ln_local **next, bool *failed) {
    *next = NULL;
    if (is_known(local)) {
        return LN_OK;
    }
    if (local->root != local) {
        if (!is_known(local->root)) {
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
        ln_local *input = (ln_local *)(void *)step->op.inputs[i];
        if (input && !is_known(input)) {
            *next = input;
            return LN_OK;
        }
    }
    const ln_status status = fold_step(planner, step);
    if (status == LN_LIMIT_EXCEEDED && planner->session->context.error.code == LN_OK) {
        *failed = true;
        return LN_OK;
    }
    return status;
}

/* Tries to make the bytes of a local known; *known says whether that worked. */
static ln_status know(ln_planner *planner, ln_local *wanted, bool *known) {
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
            read_at((ln_local *)(void *)step->op.inputs[i], index);
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
    ln_step *step = ln_arena_alloc(&plan->arena, sizeof *step);
    ln_value **inputs = ln_arena_array(&plan->arena, (size_t)node->n_inputs, sizeof *inputs);
    ln_value **outputs = ln_arena_array(&plan->arena, (size_t)node->n_outputs, sizeof *outputs);
    if (!step || !inputs || !outputs) {
        return LN_OUT_OF_MEMORY;
    }
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
    ln_op_prepare(&step->op, &planner->session->context, node, inputs, outputs);
    step->op.texts = &planner->session->texts;
    step->op.random_state = &planner->session->random_state;
    step->scratch.source = LN_SOURCE_WORKSPACE;
    step->scratch.root = &step->scratch;
    step->scratch.place = &step->scratch;
    *out = step;
    return LN_OK;
}

static bool all_inputs_known(const ln_step *step) {
    for (int i = 0; i < step->op.n_inputs; ++i) {
        const ln_local *input = (const ln_local *)(const void *)step->op.inputs[i];
        if (input && !is_known(input)) {
            return false;
        }
    }
    return true;
}

/* The outputs of a step become what later nodes read. */
static ln_status publish(ln_planner *planner, ln_step *step, ln_source source) {
    for (int i = 0; i < step->op.n_outputs; ++i) {
        if (step->op.outputs[i]) {
            ln_local *local = (ln_local *)(void *)step->op.outputs[i];
            local->source = source;
            local->producer = planner->plan->n_steps;
            LN_TRY(local->id ? bind(planner, local) : LN_OK);
        }
    }
    return LN_OK;
}

static ln_status plan_alias(ln_planner *planner, ln_step *step) {
    ln_local *input = (ln_local *)(void *)step->op.inputs[0];
    ln_local *output = (ln_local *)(void *)step->op.outputs[0];
    if (!output) {
        return LN_OK;
    }
    output->root = input->root;
    output->value.data = input->value.data;
    output->value.owner = input->source == LN_SOURCE_CONSTANT ? NULL : input->value.owner;
    output->source = input->source;
    if (is_known(input)) {
        output->root = output; /* the bytes are there for good */
        output->source = LN_SOURCE_KNOWN;
        output->value.owner = NULL;
    }
    output->producer = input->producer;
    return bind(planner, output);
}

static bool aliases(const ln_step *step) {
    return (step->op.node->row->flags & LN_OP_ALIAS) && step->op.inputs[0] &&
           (step->op.n_outputs == 1 || !step->op.outputs[1]);
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
    const ln_status status = ln_evaluate(&step->op, KNOWN_BYTES);
    if (status == LN_LIMIT_EXCEEDED && planner->session->context.error.code == LN_OK) {
        return LN_OK;
    }
    LN_TRY(status);
    *done = true;
    return publish(planner, step, LN_SOURCE_KNOWN);
}

static ln_status emit(ln_planner *planner, ln_step *step) {
    const ln_source source =
        (step->op.node->row->flags & LN_OP_DYNAMIC) ? LN_SOURCE_DYNAMIC : LN_SOURCE_WORKSPACE;
    LN_TRY(publish(planner, step, source));
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
    ln_status status = ln_op_infer(&step->op);
    while (status == LN_NEED_VALUE) {
        bool known = false;
        LN_TRY(know(planner, (ln_local *)(void *)step->op.inputs[step->op.wanted], &known));
        if (!known) {
            *blocked = true;
            return LN_OK;
        }
        status = ln_op_infer(&step->op);
    }
    LN_TRY(status);
    if (aliases(step)) {
        return plan_alias(planner, step);
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

ln_status ln_planner_know_condition(ln_planner *planner, ln_local *condition, bool *known) {
    return know(planner, condition, known);
}

ln_status ln_planner_emit_control(ln_planner *planner, ln_step *step) {
    LN_TRY(ln_op_infer(&step->op)); /* kinds and element types of the outputs, for the nodes that follow */
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
    if (is_known(target)) {
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

static ln_status make_plan(ln_planner *planner, const ln_cursor *start, int32_t depth) {
    for (int32_t i = 0; i < depth; ++i) {
        LN_TRY(ln_planner_push(planner, start[i]));
    }
    LN_TRY(walk(planner));
    LN_TRY(save_cursors(planner));
    LN_TRY(sort_locals(planner));
    return ln_plan_place(planner->session, planner->plan);
}

static void free_plan(ln_context *context, ln_plan *plan) {
    for (ln_local *local = plan->locals; local; local = local->next) {
        const bool own = local->source == LN_SOURCE_KNOWN || local->source == LN_SOURCE_DYNAMIC ||
                         local->source == LN_SOURCE_WORKSPACE;
        if (own && local->root == local) {
            ln_value_release(context, &local->value);
        }
    }
    for (int32_t s = 0; s < plan->n_steps; ++s) {
        ln_control_free(context, plan->steps[s]);
    }
    ln_segment_free(context, &plan->after);
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
    *segment = (ln_segment){NULL, 0, NULL, 0};
}

/* Leaves the session's tables as they were: zero. */
static void clean_tables(ln_planner *planner) {
    memset(planner->session->local_index, 0, (size_t)planner->session->model->n_values * sizeof(int32_t));
    memset(planner->session->uses_seen, 0, (size_t)planner->session->model->n_values * sizeof(int32_t));
    ln_arena_free(&planner->scratch);
}

static ln_status new_plan(ln_session *session, ln_segment *segment, const ln_cursor *start, int32_t depth,
                          ln_plan **out) {
    ln_planner planner = {.session = session};
    ln_plan *plan = ln_alloc_zero(&session->context, sizeof *plan, LN_MEMORY_PLAN);
    if (!plan) {
        return LN_OUT_OF_MEMORY;
    }
    ln_arena_init(&plan->arena, &session->context, LN_MEMORY_PLAN);
    ln_arena_init(&planner.scratch, &session->context, LN_MEMORY_PLAN);
    plan->segment = segment;
    planner.plan = plan;
    const ln_status status = make_plan(&planner, start, depth);
    clean_tables(&planner);
    if (status != LN_OK) {
        free_plan(&session->context, plan);
        return status;
    }
    plan->next = segment->plans;
    segment->plans = plan;
    ++segment->n_plans;
    *out = plan;
    return LN_OK;
}

static void drop_oldest(ln_session *session, ln_segment *segment) {
    ln_plan **last = &segment->plans;
    while ((*last)->next) {
        last = &(*last)->next;
    }
    free_plan(&session->context, *last);
    *last = NULL;
    --segment->n_plans;
}

/* ---- Finding a plan ---- */

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
    if (segment->n_plans >= LN_PLANS_KEPT) {
        drop_oldest(session, segment);
    }
    return new_plan(session, segment, start, depth, plan);
}
