/* Planning control flow.
 *
 * An If whose condition is known is planned in place: its branch goes on the cursor stack, and when it is done its
 * outputs stand for those of the If. Every other control-flow node becomes a step of its own; the values that its
 * subgraphs capture are exported, so that the plans of the subgraphs can import them.
 */
#include <string.h>

#include "run/planner.h"

ln_status ln_planner_push(ln_planner *planner, ln_cursor cursor) {
    if (planner->depth == planner->cursors_capacity) {
        const int32_t capacity = 2 * planner->cursors_capacity + 8;
        ln_cursor *grown = ln_arena_array(planner->scratch, (size_t)capacity, sizeof *grown);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (planner->depth) {
            memcpy(grown, planner->cursors, (size_t)planner->depth * sizeof *grown);
        }
        planner->cursors = grown;
        planner->cursors_capacity = capacity;
    }
    planner->cursors[planner->depth++] = cursor;
    return LN_OK;
}

ln_status ln_planner_leave(ln_planner *planner) {
    const ln_cursor cursor = planner->cursors[--planner->depth];
    for (int32_t i = 0; cursor.owner && i < cursor.owner->n_outputs; ++i) {
        const ln_value_id id = cursor.owner->outputs[i];
        const ln_value_id from = cursor.graph->outputs[i];
        planner->session->uses_seen[from] += 1;
        if (id && ln_info(planner->session->model, id)->uses > 0) {
            ln_local *local = NULL;
            LN_TRY(ln_planner_value(planner, from, &local));
            LN_TRY(ln_planner_bind_alias(planner, id, local));
        }
    }
    return LN_OK;
}

/* Calls visit for every value that the nodes and outputs of a graph and of its subgraphs read. */
typedef ln_status (*visit_value)(ln_planner *planner, ln_value_id id);

static ln_status visit_reads(ln_planner *planner, const ln_graph *graph, visit_value visit) {
    const int32_t bottom = planner->depth;
    LN_TRY(ln_planner_push(planner, (ln_cursor){graph, 0, NULL}));
    while (planner->depth > bottom) {
        const ln_graph *top = planner->cursors[--planner->depth].graph;
        for (int32_t i = 0; i < top->n_outputs; ++i) {
            LN_TRY(visit(planner, top->outputs[i]));
        }
        for (int32_t n = 0; n < top->n_nodes; ++n) {
            const ln_node *node = top->nodes[n];
            for (int32_t i = 0; i < node->n_inputs; ++i) {
                LN_TRY(node->inputs[i] ? visit(planner, node->inputs[i]) : LN_OK);
            }
            for (int32_t a = 0; a < node->n_attributes; ++a) {
                const ln_attribute *attribute = &node->attributes[a];
                const bool graphs =
                    attribute->type == LN_ATTRIBUTE_GRAPH || attribute->type == LN_ATTRIBUTE_GRAPHS;
                for (int32_t g = 0; graphs && g < attribute->count; ++g) {
                    LN_TRY(ln_planner_push(planner, (ln_cursor){attribute->as.graphs[g], 0, NULL}));
                }
            }
        }
    }
    return LN_OK;
}

/* A value that a branch not taken would have read counts as read. */
static ln_status skip_read(ln_planner *planner, ln_value_id id) {
    planner->session->uses_seen[id] += 1;
    return LN_OK;
}

/* A value that the subgraphs of the next step read: exported, and alive until that step. */
static ln_status capture(ln_planner *planner, ln_value_id id) {
    ln_local *local = ln_planner_bound(planner, id);
    planner->session->uses_seen[id] += 1;
    if (local) {
        local->exported = true;
        ln_planner_read(local, planner->plan->n_steps);
    }
    return LN_OK;
}

static ln_status each_subgraph(ln_planner *planner, const ln_node *node, const ln_graph *except,
                               visit_value visit) {
    for (int32_t a = 0; a < node->n_attributes; ++a) {
        const ln_attribute *attribute = &node->attributes[a];
        const bool graphs = attribute->type == LN_ATTRIBUTE_GRAPH || attribute->type == LN_ATTRIBUTE_GRAPHS;
        for (int32_t g = 0; graphs && g < attribute->count; ++g) {
            if (attribute->as.graphs[g] != except) {
                LN_TRY(visit_reads(planner, attribute->as.graphs[g], visit));
            }
        }
    }
    return LN_OK;
}

static const ln_graph *branch_of(const ln_node *node, bool condition) {
    const ln_attribute *attribute = ln_node_attribute(node, condition ? "then_branch" : "else_branch");
    return attribute && attribute->type == LN_ATTRIBUTE_GRAPH ? attribute->as.graphs[0] : NULL;
}

/* Plans the taken branch in place when the condition can be known; *done when it did. */
static ln_status plan_branch(ln_planner *planner, const ln_step *step, bool *done) {
    const ln_node *node = step->op.node;
    ln_local *condition = step->op.inputs[0] ? ln_local_of(step->op.inputs[0]) : NULL;
    *done = false;
    if (strcmp(node->op_type, "If") != 0 || !condition || condition->value.kind != LN_KIND_TENSOR ||
        condition->source == LN_SOURCE_DYNAMIC || ln_value_count(&condition->value) != 1 ||
        condition->value.dtype != LN_BOOL) {
        return LN_OK;
    }
    bool known = false;
    LN_TRY(ln_planner_know(planner, condition, &known));
    if (!known) {
        return LN_OK;
    }
    const ln_graph *branch = branch_of(node, *(const unsigned char *)condition->value.data != 0);
    if (!branch || branch->n_outputs < node->n_outputs) {
        return LN_OK;
    }
    *done = true;
    LN_TRY(each_subgraph(planner, node, branch, skip_read));
    return ln_planner_push(planner, (ln_cursor){branch, 0, node});
}

/* The state of a control-flow step: the row's own memory and values, allocated once with the plan. */
static ln_status make_control(ln_planner *planner, ln_step *step) {
    ln_arena *arena = &planner->plan->arena;
    ln_control *control = ln_arena_alloc(arena, sizeof *control);
    if (!control) {
        return LN_OUT_OF_MEMORY;
    }
    const ln_node *node = step->op.node;
    int32_t most = 0;
    int32_t most_outputs = node->n_outputs;
    for (int32_t a = 0; a < node->n_attributes; ++a) {
        const ln_attribute *attribute = &node->attributes[a];
        if (attribute->type == LN_ATTRIBUTE_GRAPH) {
            const ln_graph *graph = attribute->as.graphs[0];
            most = graph->n_inputs > most ? graph->n_inputs : most;
            most_outputs = graph->n_outputs > most_outputs ? graph->n_outputs : most_outputs;
        }
    }
    control->body_capacity = most;
    control->kept_count = most + most_outputs + node->n_outputs;
    control->body_inputs = ln_arena_array(arena, (size_t)most, sizeof(ln_value));
    control->body_outputs = ln_arena_array(arena, (size_t)most_outputs, sizeof(ln_value *));
    control->kept = ln_arena_array(arena, (size_t)control->kept_count, sizeof(ln_value));
    control->state = ln_arena_alloc(arena, LN_CONTROL_STATE_BYTES);
    if (!control->body_inputs || !control->body_outputs || !control->kept || !control->state) {
        return LN_OUT_OF_MEMORY;
    }
    step->control = control;
    return LN_OK;
}

void ln_control_free(ln_context *context, ln_step *step) {
    ln_control *control = step->control;
    if (!control) {
        return;
    }
    for (int32_t i = 0; i < control->body_capacity; ++i) {
        ln_value_release(context, &control->body_inputs[i]);
    }
    for (int32_t i = 0; i < control->kept_count; ++i) {
        ln_value_release(context, &control->kept[i]);
    }
}

ln_status ln_planner_control(ln_planner *planner, ln_step *step) {
    bool done = false;
    LN_TRY(plan_branch(planner, step, &done));
    if (done) {
        return LN_OK;
    }
    LN_TRY(make_control(planner, step));
    LN_TRY(each_subgraph(planner, step->op.node, NULL, capture));
    return ln_planner_emit_control(planner, step);
}
