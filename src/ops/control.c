/* If, Loop and SequenceMap: the rows that run subgraphs one after another.
 *
 * Each is a step machine (ln_control): called with entry 0 it binds the first body, called again it takes the body's
 * outputs and binds the next one or finishes. State of a Loop is kept twice: a body's outputs are copied (or shared, where they
 * have memory of their own) into `kept`, and then both sets change places, so that a body may hand its inputs on in
 * any order. Scan outputs grow by doubling inside the node's own output.
 */
#include "ops/control.h"

#include <string.h>

#include "ops/move.h"

/* Shared helpers ---------------------------------------------------------------------------------------- */

ln_status ln_check_body(ln_build *build, const ln_graph *body, int n_inputs, int n_state, int n_outputs) {
    if (!body) {
        return ln_build_status(build);
    }
    const int least = n_state > n_outputs ? n_state : n_outputs;
    if (body->n_inputs != n_inputs || body->n_outputs < least) {
        return ln_build_fail(build, LN_INVALID_GRAPH,
                             "subgraph '%s' has %d inputs and %d outputs, expected %d and at least %d",
                             body->name ? body->name : "", (int)body->n_inputs, (int)body->n_outputs,
                             n_inputs, least);
    }
    return ln_build_status(build);
}

void ln_infer_declared(ln_op *op, int index, ln_value_id id) {
    ln_value *output = ln_out(op, index);
    if (!output) {
        return;
    }
    const ln_model *model = op->node->graph->model;
    const ln_value_info *info = id ? ln_info(model, id) : NULL;
    if (info && info->constant) {
        output->kind = info->constant->kind;
        output->dtype = info->constant->dtype;
        return;
    }
    const ln_type *type = info && info->type.kind != LN_KIND_NONE
                              ? &info->type
                              : &ln_info(model, op->node->outputs[index])->type;
    /* A value of unknown kind counts as an optional, which every operator takes for what it may hold. */
    output->kind = type->kind == LN_KIND_NONE ? LN_KIND_OPTIONAL : type->kind;
    output->dtype = type->dtype;
    const bool wrapper = type->kind == LN_KIND_SEQUENCE || type->kind == LN_KIND_OPTIONAL;
    if (wrapper) {
        output->dtype =
            type->element && type->element->kind == LN_KIND_TENSOR ? type->element->dtype : LN_UNDEFINED;
    }
}

ln_status ln_show(ln_context *context, ln_value *target, const ln_value *source) {
    if (!source) {
        ln_value_release(context, target);
        return LN_OK;
    }
    if (source->owner) {
        return ln_value_keep(context, target, source);
    }
    ln_value_release(context, target);
    *target = *source;
    return LN_OK;
}

ln_status ln_make_scalar(ln_control *control, ln_value *target, ln_value_id id, ln_dtype dtype,
                         const void *element) {
    const int64_t one = 1;
    const int rank = ln_info(control->op.node->graph->model, id)->type.rank == 1 ? 1 : 0;
    const ln_shape shape = ln_shape_of(rank, &one);
    LN_TRY(ln_value_make(control->op.context, target, dtype, &shape));
    memcpy(target->data, element, ln_width(dtype));
    return LN_OK;
}

void ln_swap_values(ln_value *a, ln_value *b) {
    const ln_value held = *a;
    *a = *b;
    *b = held;
}

ln_status ln_make_declared(ln_op *op, int index, ln_value_id id, int axis, int64_t length) {
    if (!ln_out(op, index)) {
        return LN_OK;
    }
    const ln_model *model = op->node->graph->model;
    const ln_value *constant = ln_info(model, id)->constant;
    const ln_type *type = &ln_info(model, id)->type;
    ln_shape element = ln_shape_scalar();
    ln_dtype dtype = type->dtype;
    if (constant) {
        element = constant->shape;
        dtype = constant->dtype;
    } else if (type->kind == LN_KIND_TENSOR && type->rank >= 0 && type->rank < LN_MAX_RANK) {
        element.rank = type->rank;
        for (int i = 0; i < type->rank; i++) {
            element.dims[i] = type->dims && type->dims[i] > 0 ? type->dims[i] : 0;
        }
    }
    if (dtype == LN_UNDEFINED) {
        dtype = ln_info(model, op->node->outputs[index])->type.dtype;
    }
    LN_OP_CHECK(op, dtype != LN_UNDEFINED, INVALID_GRAPH,
                "no iteration ran, and output %d has no declared type", index);
    ln_shape shape = {.rank = element.rank + 1};
    const int at = axis <= element.rank ? axis : element.rank;
    for (int i = 0, next = 0; i < shape.rank; i++) {
        shape.dims[i] = i == at ? length : element.dims[next++];
    }
    LN_TRY(ln_op_make(op, index, dtype, &shape));
    memset(ln_out(op, index)->data, 0, ln_value_bytes(ln_out(op, index)));
    return LN_OK;
}

void ln_copy_elements(ln_dtype dtype, void *dst, int64_t to, const void *src, int64_t from, int64_t count) {
    if (!ln_is_packed(dtype)) {
        const size_t width = ln_width(dtype);
        memcpy((unsigned char *)dst + (size_t)to * width, (const unsigned char *)src + (size_t)from * width,
               (size_t)count * width);
        return;
    }
    for (int64_t at = 0; at < count; at += LN_TILE) {
        uint8_t tile[LN_TILE];
        const int64_t n = count - at < LN_TILE ? count - at : LN_TILE;
        ln_unpack(dtype, src, from + at, n, tile);
        ln_repack(dtype, dst, to + at, n, tile);
    }
}

/* The one bool of a condition. */
static ln_status read_condition(ln_op *op, const ln_value *value, bool *condition) {
    LN_OP_CHECK(
        op, value && value->kind == LN_KIND_TENSOR && value->dtype == LN_BOOL && ln_value_count(value) == 1,
        INVALID_VALUE, "the condition must be one bool");
    *condition = *(const uint8_t *)value->data != 0;
    return LN_OK;
}

/* If ---------------------------------------------------------------------------------------------------- */

typedef struct if_params {
    ln_graph *branches[2]; /* else, then */
} if_params;

static ln_status build_if(ln_build *build) {
    if_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->branches[0] = ln_attr_graph(build, "else_branch");
        params->branches[1] = ln_attr_graph(build, "then_branch");
        LN_TRY(ln_check_body(build, params->branches[0], 0, 0, build->node->n_outputs));
        LN_TRY(ln_check_body(build, params->branches[1], 0, 0, build->node->n_outputs));
    }
    return ln_build_status(build);
}

static ln_status infer_if(ln_op *op) {
    const if_params *params = op->params;
    for (int i = 0; i < op->n_outputs; i++) {
        ln_infer_declared(op, i, params->branches[1]->outputs[i]);
        if (ln_out(op, i) && ln_out(op, i)->dtype == LN_UNDEFINED) {
            ln_infer_declared(op, i, params->branches[0]->outputs[i]);
        }
    }
    return LN_OK;
}

static ln_status control_if(ln_control *control) {
    ln_op *op = &control->op;
    const if_params *params = op->params;
    if (control->entry == 0) {
        bool condition;
        LN_TRY(read_condition(op, ln_in(op, 0), &condition));
        control->body = params->branches[condition];
        return LN_OK;
    }
    for (int i = 0; i < op->n_outputs; i++) {
        if (ln_out(op, i)) {
            LN_TRY(ln_value_keep(op->context, ln_out(op, i), control->body_outputs[i]));
        }
    }
    return LN_OK;
}

/* Loop -------------------------------------------------------------------------------------------------- */

typedef struct loop_params {
    ln_graph *body;
    int n_state;
    int n_scan;
} loop_params;

typedef struct loop_state {
    int64_t iteration, limit;
    bool has_condition;
} loop_state;

static ln_status build_loop(ln_build *build) {
    loop_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        const ln_node *node = build->node;
        params->body = ln_attr_graph(build, "body");
        params->n_state = node->n_inputs > 2 ? node->n_inputs - 2 : 0;
        params->n_scan = params->body ? params->body->n_outputs - 1 - params->n_state : 0;
        return ln_check_body(build, params->body, 2 + params->n_state, 1 + params->n_state,
                             1 + node->n_outputs);
    }
    return ln_build_status(build);
}

static ln_status infer_loop(ln_op *op) {
    const loop_params *params = op->params;
    for (int i = 0; i < op->n_outputs; i++) {
        const ln_value *initial = i < params->n_state ? ln_in(op, 2 + i) : NULL;
        ln_infer_declared(op, i, params->body->outputs[1 + i]);
        if (ln_out(op, i) && i < params->n_state && initial && ln_out(op, i)->dtype == LN_UNDEFINED) {
            ln_out(op, i)->kind = initial->kind;
            ln_out(op, i)->dtype = initial->dtype;
        }
    }
    return LN_OK;
}

/* Room for one more element of a scan output; what is there stays. */
static ln_status grow_scan(ln_op *op, ln_value *output, const ln_value *element, int64_t iteration) {
    ln_shape shape = output->shape;
    size_t bytes = 0;
    shape.dims[0] = iteration + 1;
    const bool fits = ln_dtype_bytes(output->dtype, ln_shape_count(&shape), &bytes);
    if (!fits || !output->owner || output->owner->references > 1 || output->owner->bytes < bytes) {
        ln_value larger = {.kind = LN_KIND_NONE};
        shape.dims[0] = 2 * iteration + 2;
        LN_TRY(ln_value_make(op->context, &larger, element->dtype, &shape));
        memcpy(larger.data, output->data, ln_value_bytes(output));
        ln_value_release(op->context, output);
        *output = larger;
    }
    output->shape.dims[0] = iteration + 1;
    return LN_OK;
}

static ln_status add_scan(ln_op *op, int index, const ln_value *element, int64_t iteration) {
    ln_value *output = ln_out(op, index);
    if (!output) {
        return LN_OK;
    }
    LN_OP_CHECK(op, element && element->kind == LN_KIND_TENSOR, INVALID_TYPE,
                "scan output %d is not a tensor", index);
    LN_OP_CHECK(op, element->shape.rank < LN_MAX_RANK, LIMIT_EXCEEDED, "scan output %d has too many axes",
                index);
    if (iteration == 0) {
        ln_shape shape = {.rank = element->shape.rank + 1, .dims = {1}};
        memcpy(shape.dims + 1, element->shape.dims, (size_t)element->shape.rank * sizeof(int64_t));
        LN_TRY(ln_op_make(op, index, element->dtype, &shape));
    } else {
        const ln_shape before = ln_shape_of(output->shape.rank - 1, output->shape.dims + 1);
        char text[2][LN_SHAPE_TEXT_BYTES];
        LN_OP_CHECK(op, output->dtype == element->dtype && ln_shape_equal(&before, &element->shape),
                    INVALID_SHAPE, "scan output %d changes from %s %s to %s %s", index,
                    ln_dtype_name(output->dtype), ln_shape_text(&before, text[0]),
                    ln_dtype_name(element->dtype), ln_shape_text(&element->shape, text[1]));
        LN_TRY(grow_scan(op, output, element, iteration));
    }
    const int64_t count = ln_value_count(element);
    ln_copy_elements(element->dtype, output->data, iteration * count, element->data, 0, count);
    return LN_OK;
}

/* The first call: trip count, condition, initial state. */
static ln_status begin_loop(ln_control *control, bool *go_on) {
    ln_op *op = &control->op;
    const loop_params *params = op->params;
    loop_state *state = control->state;
    state->limit = INT64_MAX;
    *go_on = true;
    if (ln_in(op, 0)) {
        LN_TRY(ln_op_count(op, 0, "the trip count", 1));
        state->limit = ln_index_at(ln_in(op, 0), 0);
    }
    if (ln_in(op, 1)) {
        LN_TRY(read_condition(op, ln_in(op, 1), go_on));
    }
    for (int i = 0; i < params->n_state; i++) {
        LN_TRY(ln_show(op->context, &control->body_inputs[2 + i], ln_in(op, 2 + i)));
    }
    return LN_OK;
}

/* Takes the outputs of the body that ran last. */
static ln_status take_outputs(ln_control *control, bool *go_on) {
    ln_op *op = &control->op;
    const loop_params *params = op->params;
    loop_state *state = control->state;
    LN_TRY(read_condition(op, control->body_outputs[0], go_on));
    for (int i = 0; i < params->n_scan; i++) {
        LN_TRY(add_scan(op, params->n_state + i, control->body_outputs[1 + params->n_state + i],
                        state->iteration));
    }
    for (int i = 0; i < params->n_state; i++) {
        const ln_value *value = control->body_outputs[1 + i];
        LN_OP_CHECK(op, value, INVALID_GRAPH, "the body gives no value for state %d", i);
        LN_TRY(ln_value_keep(op->context, &control->kept[i], value));
    }
    for (int i = 0; i < params->n_state; i++) {
        ln_swap_values(&control->kept[i], &control->body_inputs[2 + i]);
    }
    state->iteration++;
    return LN_OK;
}

static ln_status end_loop(ln_control *control) {
    ln_op *op = &control->op;
    const loop_params *params = op->params;
    const loop_state *state = control->state;
    for (int i = 0; i < params->n_state; i++) {
        if (ln_out(op, i)) {
            LN_TRY(ln_value_keep(op->context, ln_out(op, i), &control->body_inputs[2 + i]));
        }
    }
    for (int i = 0; i < params->n_scan && state->iteration == 0; i++) {
        const int index = params->n_state + i;
        LN_TRY(ln_make_declared(op, index, params->body->outputs[1 + index], 0, 0));
    }
    return LN_OK;
}

static ln_status control_loop(ln_control *control) {
    const loop_params *params = control->op.params;
    loop_state *state = control->state;
    bool go_on;
    LN_TRY(control->entry == 0 ? begin_loop(control, &go_on) : take_outputs(control, &go_on));
    if (!go_on || state->iteration >= state->limit) {
        return end_loop(control);
    }
    const uint8_t condition = 1;
    const ln_value_id *inputs = params->body->inputs;
    LN_TRY(ln_make_scalar(control, &control->body_inputs[0], inputs[0], LN_INT64, &state->iteration));
    LN_TRY(ln_make_scalar(control, &control->body_inputs[1], inputs[1], LN_BOOL, &condition));
    control->body = params->body;
    return LN_OK;
}

/* SequenceMap ------------------------------------------------------------------------------------------- */

typedef struct map_params {
    ln_graph *body;
} map_params;

static ln_status build_map(ln_build *build) {
    map_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->body = ln_attr_graph(build, "body");
        return ln_check_body(build, params->body, build->node->n_inputs, 0, build->node->n_outputs);
    }
    return ln_build_status(build);
}

static ln_status infer_map(ln_op *op) {
    const map_params *params = op->params;
    for (int i = 0; i < op->n_outputs; i++) {
        ln_infer_declared(op, i, params->body->outputs[i]);
        if (ln_out(op, i)) {
            ln_out(op, i)->kind = LN_KIND_SEQUENCE;
        }
    }
    return LN_OK;
}

static ln_status begin_map(ln_control *control) {
    ln_op *op = &control->op;
    const ln_value *sequence = ln_in(op, 0);
    LN_OP_CHECK(op, sequence && sequence->kind == LN_KIND_SEQUENCE, INVALID_TYPE,
                "input 0 is not a sequence");
    const int32_t count = ln_value_items(sequence);
    for (int i = 1; i < op->n_inputs; i++) {
        const ln_value *input = ln_in(op, i);
        LN_OP_CHECK(op, !input || input->kind != LN_KIND_SEQUENCE || ln_value_items(input) == count,
                    INVALID_SHAPE, "input %d has %d items, input 0 has %d", i, (int)ln_value_items(input),
                    (int)count);
    }
    for (int i = 0; i < op->n_outputs; i++) {
        if (ln_out(op, i)) {
            const ln_dtype dtype = ln_out(op, i)->dtype;
            LN_TRY(ln_op_make_items(op, i, LN_KIND_SEQUENCE, dtype, count));
        }
    }
    return LN_OK;
}

static ln_status control_map(ln_control *control) {
    ln_op *op = &control->op;
    const map_params *params = op->params;
    if (control->entry == 0) {
        LN_TRY(begin_map(control));
    }
    for (int i = 0; i < op->n_outputs && control->entry > 0; i++) {
        if (ln_out(op, i)) {
            LN_TRY(ln_value_append(op->context, ln_out(op, i), control->body_outputs[i]));
            ln_out(op, i)->dtype = control->body_outputs[i]->dtype;
        }
    }
    if (control->entry >= ln_value_items(ln_in(op, 0))) {
        return LN_OK;
    }
    for (int i = 0; i < op->n_inputs; i++) {
        const ln_value *input = ln_in(op, i);
        const bool sequence = input && input->kind == LN_KIND_SEQUENCE;
        LN_TRY(ln_show(op->context, &control->body_inputs[i],
                       sequence ? ln_value_item(input, (int32_t)control->entry) : input));
    }
    control->body = params->body;
    return LN_OK;
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, signature, types, build, infer, control)                                     \
    {name,   "", since, until, signature, {types}, build, infer, NULL, NULL, LN_OP_DYNAMIC | LN_OP_CONTROL,  \
     control}
#define IF(since, until, types) ROW("If", since, until, "b>.*", types, build_if, infer_if, control_if)
#define LOOP(since, until, types)                                                                            \
    ROW("Loop", since, until, "l?b?.*>.*", types, build_loop, infer_loop, control_loop)

/* The type sets are those of the values that pass through; kinds are open, so that sequences and optionals may too. */
static const ln_op_row rows[] = {
    IF(1, 10, LN_T_ALL),
    IF(11, 12, LN_T_ALL),
    IF(13, 15, LN_T_ALL),
    IF(16, 18, LN_T_ALL_BF),
    IF(19, 20, LN_T_ALL_IR9),
    IF(21, 22, LN_T_ALL_IR10),
    IF(23, 23, LN_T_ALL_IR11),
    IF(24, 24, LN_T_ALL_IR12),
    IF(25, LN_OPEN, LN_T_ALL_IR13),
    LOOP(1, 10, LN_T_ALL),
    LOOP(11, 12, LN_T_ALL),
    LOOP(13, 15, LN_T_ALL),
    LOOP(16, 18, LN_T_ALL_BF),
    LOOP(19, 20, LN_T_ALL_IR9),
    LOOP(21, 22, LN_T_ALL_IR10),
    LOOP(23, 23, LN_T_ALL_IR11),
    LOOP(24, 24, LN_T_ALL_IR12),
    LOOP(25, LN_OPEN, LN_T_ALL_IR13),
    ROW("SequenceMap", 17, LN_OPEN, "[A].*>[.]*", LN_T_ALL, build_map, infer_map, control_map),
};

LN_FAMILY_TABLE(control, rows);
