/* Scan: a body run once for each slice of its scan inputs, in the form of version 8 and of version 9.
 *
 * Version 8 has a batch axis in front of everything and lengths for each batch entry; version 9 is that form with one
 * batch entry, no batch axis, and a free choice of axes. A slice along the outermost axis is shown in place, others
 * are copied. Scan outputs have their whole length from the first iteration on. State is kept twice, as in Loop.
 */
#include <string.h>

#include "ops/control.h"
#include "ops/move.h"

typedef struct scan_params {
    ln_graph *body;
    bool batched; /* version 8 */
    int first;    /* input that holds the first state */
    int n_state, n_in, n_out;
    const int64_t *in_axes, *out_axes; /* NULL: 0 */
    const bool *in_back, *out_back;    /* NULL: forward */
} scan_params;

typedef struct scan_state {
    int64_t batch, batches;
    int64_t step, length; /* of this batch entry */
    int64_t full_length;
    bool made; /* scan outputs have memory */
} scan_state;

/* A list of directions, 0 or 1 each. */
static const bool *read_directions(ln_build *build, const char *name, int count) {
    int n;
    const int64_t *values = ln_attr_ints(build, name, &n);
    if (!values) {
        return NULL;
    }
    bool *back = ln_arena_array(build->arena, (size_t)n + 1, sizeof(*back));
    if (!back) {
        build->status = LN_OUT_OF_MEMORY;
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        back[i] = values[i] != 0;
        if (values[i] != 0 && values[i] != 1) {
            ln_build_fail(build, LN_INVALID_ATTRIBUTE, "'%s' entry %d is %lld, expected 0 or 1", name, i,
                          (long long)values[i]);
        }
    }
    if (n != count) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "'%s' has %d entries, expected %d", name, n, count);
    }
    return back;
}

static const int64_t *read_axes(ln_build *build, const char *name, int count) {
    int n;
    const int64_t *axes = ln_attr_ints(build, name, &n);
    if (axes && n != count) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "'%s' has %d entries, expected %d", name, n, count);
        return NULL;
    }
    return axes;
}

static ln_status build_scan(ln_build *build) {
    scan_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    const ln_node *node = build->node;
    params->body = ln_attr_graph(build, "body");
    params->batched = build->opset < 9;
    params->first = params->batched ? 1 : 0;
    ln_attr_required(build, "num_scan_inputs");
    const int64_t n_in = ln_attr_int(build, "num_scan_inputs", 1);
    if (n_in < 1 || n_in > node->n_inputs - params->first) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "num_scan_inputs is %lld, the node has %d inputs",
                             (long long)n_in, (int)node->n_inputs);
    }
    params->n_in = (int)n_in;
    params->n_state = node->n_inputs - params->first - params->n_in;
    params->n_out = params->body ? params->body->n_outputs - params->n_state : 0;
    LN_TRY(
        ln_check_body(build, params->body, params->n_state + params->n_in, params->n_state, node->n_outputs));
    if (params->batched) {
        params->in_back = read_directions(build, "directions", params->n_in);
    } else {
        params->in_back = read_directions(build, "scan_input_directions", params->n_in);
        params->out_back = read_directions(build, "scan_output_directions", params->n_out);
        params->in_axes = read_axes(build, "scan_input_axes", params->n_in);
        params->out_axes = read_axes(build, "scan_output_axes", params->n_out);
    }
    return ln_build_status(build);
}

static ln_status infer_scan(ln_op *op) {
    const scan_params *params = op->params;
    for (int i = 0; i < op->n_outputs; i++) {
        const ln_value *initial = i < params->n_state ? ln_in(op, params->first + i) : NULL;
        ln_infer_declared(op, i, params->body->outputs[i]);
        if (ln_out(op, i)) {
            ln_out(op, i)->kind = LN_KIND_TENSOR;
            ln_out(op, i)->dtype = initial && initial->dtype ? initial->dtype : ln_out(op, i)->dtype;
        }
    }
    return LN_OK;
}

/* Slices of inputs -------------------------------------------------------------------------------------- */

/* Axis of scan input i, counted with the batch axis. */
static ln_status input_axis(ln_op *op, int i, int *axis) {
    const scan_params *params = op->params;
    const ln_value *input = ln_in(op, params->first + params->n_state + i);
    LN_OP_CHECK(op, input && input->kind == LN_KIND_TENSOR, INVALID_TYPE, "scan input %d is not a tensor", i);
    const int batch_axes = params->batched ? 1 : 0;
    LN_TRY(ln_op_axis(op, params->in_axes ? params->in_axes[i] : 0, input->shape.rank - batch_axes, axis));
    *axis += batch_axes;
    return LN_OK;
}

/* *target becomes position `position` of `axis` in input, seen in batch entry `batch`. Without axis (-1), the whole entry. */
static ln_status take_slice(ln_control *control, ln_value *target, const ln_value *input, int64_t batch,
                            int axis, int64_t position) {
    const scan_params *params = control->op.params;
    const int lead = params->batched ? 1 : 0;
    ln_shape shape = {.rank = 0};
    for (int i = lead; i < input->shape.rank; i++) {
        if (i != axis) {
            shape.dims[shape.rank++] = input->shape.dims[i];
        }
    }
    const int64_t entry = batch * ln_shape_product(&input->shape, lead, input->shape.rank);
    const int64_t outer = axis >= 0 ? ln_shape_product(&input->shape, lead, axis) : 1;
    const int64_t inner = ln_shape_product(&input->shape, axis >= 0 ? axis + 1 : lead, input->shape.rank);
    const int64_t row = axis >= 0 ? inner * input->shape.dims[axis] : inner;
    const int64_t first = entry + position * inner;
    if (outer == 1 && !ln_is_packed(input->dtype)) {
        ln_value_release(control->op.context, target);
        *target = ln_value_header(input->dtype, &shape);
        target->data = (unsigned char *)input->data + (size_t)first * ln_width(input->dtype);
        return LN_OK;
    }
    LN_TRY(ln_value_make(control->op.context, target, input->dtype, &shape));
    for (int64_t i = 0; i < outer; i++) {
        ln_copy_elements(input->dtype, target->data, i * inner, input->data, first + i * row, inner);
    }
    return LN_OK;
}

/* Outputs ----------------------------------------------------------------------------------------------- */

/* Gives scan output `index` its memory, now that the shape of one element is known. */
static ln_status make_scan_output(ln_control *control, int index, int axis, const ln_shape *element,
                                  ln_dtype dtype) {
    const scan_params *params = control->op.params;
    const scan_state *state = control->state;
    ln_shape shape = {.rank = 0};
    LN_OP_CHECK(&control->op, element->rank + 2 <= LN_MAX_RANK, LIMIT_EXCEEDED, "output %d has too many axes",
                index);
    if (params->batched) {
        shape.dims[shape.rank++] = state->batches;
    }
    for (int i = 0; i <= element->rank; i++) {
        if (i == axis) {
            shape.dims[shape.rank++] = state->full_length;
        }
        if (i < element->rank) {
            shape.dims[shape.rank++] = element->dims[i];
        }
    }
    LN_TRY(ln_op_make(&control->op, index, dtype, &shape));
    memset(ln_out(&control->op, index)->data, 0, ln_value_bytes(ln_out(&control->op, index)));
    return LN_OK;
}

/* Writes what the body gave for scan output i. */
static ln_status put_scan_output(ln_control *control, int i) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    const scan_state *state = control->state;
    const int index = params->n_state + i;
    const ln_value *element = control->body_outputs[index];
    if (!ln_out(op, index)) {
        return LN_OK;
    }
    LN_OP_CHECK(op, element && element->kind == LN_KIND_TENSOR, INVALID_TYPE,
                "scan output %d is not a tensor", i);
    int axis;
    LN_TRY(ln_op_axis(op, params->out_axes ? params->out_axes[i] : 0, element->shape.rank + 1, &axis));
    if (!state->made) {
        LN_TRY(make_scan_output(control, index, axis, &element->shape, element->dtype));
    }
    const ln_value *output = ln_out(op, index);
    const int64_t count = ln_value_count(element);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op,
                output->dtype == element->dtype &&
                    ln_value_count(output) == count * state->full_length * state->batches,
                INVALID_SHAPE, "scan output %d changes its type or shape to %s %s", i,
                ln_dtype_name(element->dtype), ln_shape_text(&element->shape, text));
    const int64_t position =
        params->out_back && params->out_back[i] ? state->length - 1 - state->step : state->step;
    const int64_t outer = ln_shape_product(&element->shape, 0, axis);
    const int64_t inner = ln_shape_product(&element->shape, axis, element->shape.rank);
    const int64_t base = state->batch * state->full_length * count + position * inner;
    for (int64_t o = 0; o < outer; o++) {
        ln_copy_elements(element->dtype, output->data, base + o * inner * state->full_length, element->data,
                         o * inner, inner);
    }
    return LN_OK;
}

/* The state after the last step of a batch entry goes to the node's outputs. */
static ln_status put_final_state(ln_control *control) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    const scan_state *state = control->state;
    for (int i = 0; i < params->n_state; i++) {
        const ln_value *value = &control->body_inputs[i];
        if (!ln_out(op, i)) {
            continue;
        }
        if (!params->batched) {
            LN_TRY(ln_value_keep(op->context, ln_out(op, i), value));
            continue;
        }
        if (state->batch == 0) {
            ln_shape shape = {.rank = value->shape.rank + 1, .dims = {state->batches}};
            LN_OP_CHECK(op, shape.rank <= LN_MAX_RANK, LIMIT_EXCEEDED, "state %d has too many axes", i);
            memcpy(shape.dims + 1, value->shape.dims, (size_t)value->shape.rank * sizeof(int64_t));
            LN_TRY(ln_op_make(op, i, value->dtype, &shape));
        }
        const int64_t count = ln_value_count(value);
        LN_OP_CHECK(op, ln_value_count(ln_out(op, i)) == count * state->batches, INVALID_SHAPE,
                    "state %d has another shape in batch entry %lld", i, (long long)state->batch);
        ln_copy_elements(value->dtype, ln_out(op, i)->data, state->batch * count, value->data, 0, count);
    }
    return LN_OK;
}

/* Steps ------------------------------------------------------------------------------------------------- */

static ln_status begin_entry(ln_control *control) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    scan_state *state = control->state;
    state->step = 0;
    state->length = state->full_length;
    if (params->batched && ln_in(op, 0)) {
        state->length = ln_index_at(ln_in(op, 0), state->batch);
        LN_OP_CHECK(op, state->length >= 0 && state->length <= state->full_length, INVALID_VALUE,
                    "sequence length %lld is not in 0 to %lld", (long long)state->length,
                    (long long)state->full_length);
    }
    for (int i = 0; i < params->n_state; i++) {
        const ln_value *initial = ln_in(op, params->first + i);
        LN_OP_CHECK(op, initial && initial->kind == LN_KIND_TENSOR, INVALID_TYPE, "state %d is not a tensor",
                    i);
        if (params->batched) {
            LN_TRY(take_slice(control, &control->body_inputs[i], initial, state->batch, -1, 0));
        } else {
            LN_TRY(ln_show(op->context, &control->body_inputs[i], initial));
        }
    }
    return LN_OK;
}

/* Checks that all scan inputs agree in length and batch size. */
static ln_status begin_scan(ln_control *control) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    scan_state *state = control->state;
    state->batches = 1;
    for (int i = 0; i < params->n_in; i++) {
        int axis;
        LN_TRY(input_axis(op, i, &axis));
        const ln_shape *shape = &ln_in(op, params->first + params->n_state + i)->shape;
        const int64_t batches = params->batched ? shape->dims[0] : 1;
        if (i == 0) {
            state->full_length = shape->dims[axis];
            state->batches = batches;
        }
        LN_OP_CHECK(op, shape->dims[axis] == state->full_length && batches == state->batches, INVALID_SHAPE,
                    "scan input %d has length %lld and batch size %lld, scan input 0 has %lld and %lld", i,
                    (long long)shape->dims[axis], (long long)batches, (long long)state->full_length,
                    (long long)state->batches);
    }
    for (int i = 0; params->batched && i < params->n_state; i++) {
        const ln_value *initial = ln_in(op, params->first + i);
        LN_OP_CHECK(op, initial && initial->shape.rank >= 1 && initial->shape.dims[0] == state->batches,
                    INVALID_SHAPE, "state %d does not have batch size %lld", i, (long long)state->batches);
    }
    const ln_value *lengths = params->batched ? ln_in(op, 0) : NULL;
    LN_OP_CHECK(op, !lengths || ln_value_count(lengths) == state->batches, INVALID_SHAPE,
                "sequence_lens must hold %lld lengths", (long long)state->batches);
    return state->batches > 0 ? begin_entry(control) : LN_OK;
}

static ln_status take_outputs(ln_control *control) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    scan_state *state = control->state;
    for (int i = 0; i < params->n_out; i++) {
        LN_TRY(put_scan_output(control, i));
    }
    state->made = true;
    for (int i = 0; i < params->n_state; i++) {
        LN_OP_CHECK(op, control->body_outputs[i], INVALID_GRAPH, "the body gives no value for state %d", i);
        LN_TRY(ln_value_keep(op->context, &control->kept[i], control->body_outputs[i]));
    }
    for (int i = 0; i < params->n_state; i++) {
        ln_swap_values(&control->kept[i], &control->body_inputs[i]);
    }
    state->step++;
    return LN_OK;
}

/* Nothing ran: scan outputs are as long as the inputs say, and zero; without batches the state is empty too. */
static ln_status end_unmade(ln_control *control) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    const scan_state *state = control->state;
    for (int i = 0; i < params->n_out; i++) {
        const int index = params->n_state + i;
        const int axis = params->out_axes && params->out_axes[i] > 0 ? (int)params->out_axes[i] : 0;
        LN_TRY(ln_make_declared(op, index, params->body->outputs[index], axis,
                                state->full_length * state->batches));
        ln_value *output = ln_out(op, index);
        if (output && params->batched && output->shape.rank < LN_MAX_RANK) {
            memmove(output->shape.dims + 2, output->shape.dims + 1,
                    (size_t)(output->shape.rank - 1) * sizeof(int64_t));
            output->shape.dims[0] = state->batches;
            output->shape.dims[1] = state->full_length;
            output->shape.rank++;
        }
    }
    for (int i = 0; i < params->n_state && state->batches == 0; i++) {
        const ln_value *initial = ln_in(op, params->first + i);
        LN_TRY(ln_op_make(op, i, initial->dtype, &initial->shape));
    }
    return LN_OK;
}

static ln_status control_scan(ln_control *control) {
    ln_op *op = &control->op;
    const scan_params *params = op->params;
    scan_state *state = control->state;
    LN_TRY(control->entry == 0 ? begin_scan(control) : take_outputs(control));
    while (state->batch < state->batches && state->step >= state->length) {
        LN_TRY(put_final_state(control));
        if (++state->batch < state->batches) {
            LN_TRY(begin_entry(control));
        }
    }
    if (state->batch >= state->batches) {
        return state->made ? LN_OK : end_unmade(control);
    }
    for (int i = 0; i < params->n_in; i++) {
        int axis;
        LN_TRY(input_axis(op, i, &axis));
        const bool back = params->in_back && params->in_back[i];
        LN_TRY(take_slice(control, &control->body_inputs[params->n_state + i],
                          ln_in(op, params->first + params->n_state + i), state->batch, axis,
                          back ? state->length - 1 - state->step : state->step));
    }
    control->body = params->body;
    return LN_OK;
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define SCAN(since, until, signature, types)                                                                 \
    {"Scan",                                                                                                 \
     "",                                                                                                     \
     since,                                                                                                  \
     until,                                                                                                  \
     signature,                                                                                              \
     {types},                                                                                                \
     build_scan,                                                                                             \
     infer_scan,                                                                                             \
     NULL,                                                                                                   \
     NULL,                                                                                                   \
     LN_OP_DYNAMIC | LN_OP_CONTROL,                                                                          \
     control_scan}

static const ln_op_row rows[] = {
    SCAN(8, 8, "l?.*>.*", LN_T_ALL),           SCAN(9, 10, ".*>.*", LN_T_ALL),
    SCAN(11, 15, ".*>.*", LN_T_ALL),           SCAN(16, 18, ".*>.*", LN_T_ALL_BF),
    SCAN(19, 20, ".*>.*", LN_T_ALL_IR9),       SCAN(21, 22, ".*>.*", LN_T_ALL_IR10),
    SCAN(23, 23, ".*>.*", LN_T_ALL_IR11),      SCAN(24, 24, ".*>.*", LN_T_ALL_IR12),
    SCAN(25, LN_OPEN, ".*>.*", LN_T_ALL_IR13),
};

LN_FAMILY_TABLE(scan, rows);
