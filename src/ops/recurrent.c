/* Recurrent nets: RNN, GRU, LSTM, in every direction and layout.
 *
 * The input part of all steps is one matrix product, spread over threads; then each direction walks its steps, with one
 * small product a step and the gates computed in place. Constant weights are packed at load, W and R one after
 * the other for each direction. float32 runs on the GEMM kernels, float16 is staged through float32, float64 has
 * plain loops. X [T,B,I], W [D,G*H,I], R [D,G*H,H], B [D,2*G*H], sequence_lens [B], initial_h and _c [D,B,H],
 * P [D,3*H]; layout 1 puts the batch first. Standard: RNN-1/7/14/22, GRU-1/3/7/14/22, LSTM-1/7/14/22; com.microsoft
 * DynamicQuantizeLSTM (recurrent_quant.c).
 */
#include "ops/recurrent.h"

#include <string.h>

#include "simd/kernels.h"

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };

/* ---- Infer ---- */

/* What infer settles for run. Offsets are into op->scratch, in bytes. */
typedef struct recurrence {
    ln_recurrent_sizes sizes;
    size_t operand[8];  /* converted operands; SIZE_MAX where the input's own bytes serve */
    size_t y;           /* Y before conversion back */
    size_t inputs;      /* [D][T*B][columns] */
    size_t states;      /* per direction: h, c, work, next h, next c, gates, product */
    size_t state_bytes; /* of one direction */
    size_t packed;      /* weights packed by this run */
    size_t element;     /* bytes of an element of the computation */
    size_t input_tasks; /* of the input product of one direction */
    const float *weights;
} recurrence;

static bool in_double(const ln_op *op) {
    return ln_in(op, X)->dtype == LN_DOUBLE;
}

static size_t packed_direction(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes, size_t *w,
                               size_t *first) {
    *w = ln_gemm_f32.packed_b_bytes((size_t)sizes->input, (size_t)sizes->columns);
    *first = ln_gemm_f32.packed_b_bytes((size_t)sizes->hidden,
                                        (size_t)ln_recurrent_part_columns(params, sizes, 0));
    const size_t second = params->cell == LN_CELL_GRU
                              ? ln_gemm_f32.packed_b_bytes((size_t)sizes->hidden, (size_t)sizes->hidden)
                              : 0;
    return *w + *first + second;
}

static ln_status check_input(ln_op *op, int index, const char *name, int rank, const int64_t *dims) {
    const ln_value *value = ln_in(op, index);
    const ln_shape expected = ln_shape_of(rank, dims);
    char have[LN_SHAPE_TEXT_BYTES];
    char want[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, !value || ln_shape_equal(&value->shape, &expected), INVALID_SHAPE,
                "%s has shape %s, expected %s", name, ln_shape_text(&value->shape, have),
                ln_shape_text(&expected, want));
    return LN_OK;
}

static ln_status infer_sizes(ln_op *op, ln_recurrent_sizes *sizes) {
    const ln_recurrent_params *params = op->params;
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *w = &ln_in(op, W)->shape;
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank == 3, INVALID_SHAPE, "X has shape %s, expected rank 3", ln_shape_text(x, text));
    LN_OP_CHECK(op, w->rank == 3 && w->dims[params->quantized ? 2 : 1] % params->gates == 0, INVALID_SHAPE,
                "W has shape %s, expected %d * hidden columns", ln_shape_text(w, text), params->gates);
    sizes->steps = x->dims[params->batch_first ? 1 : 0];
    sizes->batch = x->dims[params->batch_first ? 0 : 1];
    sizes->input = x->dims[2];
    sizes->columns = w->dims[params->quantized ? 2 : 1];
    sizes->hidden = sizes->columns / params->gates;
    LN_OP_CHECK(op, !params->hidden || params->hidden == sizes->hidden, INVALID_ATTRIBUTE,
                "hidden_size is %lld, the weights say %lld", (long long)params->hidden,
                (long long)sizes->hidden);
    const int64_t d = params->directions;
    const int64_t h = sizes->hidden;
    const int64_t state[] = {params->batch_first ? sizes->batch : d, params->batch_first ? d : sizes->batch,
                             h};
    if (params->quantized) {
        LN_TRY(check_input(op, W, "W", 3, (int64_t[]){d, sizes->input, sizes->columns}));
        LN_TRY(check_input(op, R, "R", 3, (int64_t[]){d, h, sizes->columns}));
        LN_TRY(ln_recurrent_check_bytes(op, d, sizes->columns));
    } else {
        LN_TRY(check_input(op, W, "W", 3, (int64_t[]){d, sizes->columns, sizes->input}));
        LN_TRY(check_input(op, R, "R", 3, (int64_t[]){d, sizes->columns, h}));
    }
    LN_TRY(check_input(op, B, "B", 2, (int64_t[]){d, 2 * sizes->columns}));
    LN_TRY(check_input(op, LENGTHS, "sequence_lens", 1, (int64_t[]){sizes->batch}));
    LN_TRY(check_input(op, INITIAL_H, "initial_h", 3, state));
    LN_TRY(check_input(op, INITIAL_C, "initial_c", 3, state));
    return check_input(op, PEEPHOLES, "P", 2, (int64_t[]){d, 3 * h});
}

static size_t reserve(size_t *total, size_t count, size_t element) {
    const size_t at = *total;
    *total += (count * element + 16 + 63) & ~(size_t)63;
    return at;
}

static void plan_scratch(ln_op *op, recurrence *r) {
    const ln_recurrent_params *params = op->params;
    const ln_recurrent_sizes *s = &r->sizes;
    size_t total = 0;
    r->element = in_double(op) ? sizeof(double) : sizeof(float);
    const bool converts = ln_in(op, X)->dtype != LN_FLOAT && !in_double(op);
    for (int i = 0; i < 8; ++i) {
        const ln_value *value = i == LENGTHS ? NULL : ln_in(op, i);
        const bool weights = i == W || i == R;
        const bool needed = value && (converts || (params->quantized && i < B)) && !(weights && op->packed);
        r->operand[i] = needed ? reserve(&total, (size_t)ln_value_count(value), r->element) : SIZE_MAX;
    }
    const size_t state = (size_t)(s->batch * s->hidden);
    r->y = converts ? reserve(&total, (size_t)(s->steps * params->directions) * state, r->element) : SIZE_MAX;
    r->inputs = reserve(&total, (size_t)(params->directions * s->steps * s->batch * s->columns), r->element);
    r->states = total;
    r->state_bytes = ((5 * state + 2 * (size_t)(s->batch * s->columns)) * r->element + 16 + 63) & ~(size_t)63;
    total += r->state_bytes * (size_t)params->directions;
    r->packed = total;
    if (!op->packed && !in_double(op)) {
        size_t w = 0;
        size_t first = 0;
        total += packed_direction(params, s, &w, &first) * (size_t)params->directions + 64;
    }
    op->scratch_bytes = total;
}

static void plan_products(ln_op *op, recurrence *r) {
    const ln_recurrent_sizes *s = &r->sizes;
    if (in_double(op)) {
        r->input_tasks = (size_t)(s->steps * s->batch);
        return;
    }
    const ln_gemm_f32_args input = ln_recurrent_product(s->steps * s->batch, s->columns, s->input, NULL);
    const ln_gemm_f32_args state = ln_recurrent_product(s->batch, s->columns, s->hidden, NULL);
    const size_t a = ln_gemm_f32.scratch_bytes(&input);
    const size_t b = ln_gemm_f32.scratch_bytes(&state);
    r->input_tasks = ln_gemm_f32.task_count(&input);
    op->task_scratch_bytes = (a > b ? a : b) + 64;
}

static ln_status infer_recurrent(ln_op *op) {
    const ln_recurrent_params *params = op->params;
    recurrence *r = LN_LOCAL(op, recurrence);
    const ln_recurrent_sizes *s = &r->sizes;
    LN_TRY(infer_sizes(op, &r->sizes));
    plan_scratch(op, r);
    plan_products(op, r);
    const ln_dtype dtype = ln_in(op, X)->dtype;
    const int64_t d = params->directions;
    const bool first = params->batch_first;
    const ln_shape y = first ? ln_shape_of(4, (int64_t[]){s->batch, s->steps, d, s->hidden})
                             : ln_shape_of(4, (int64_t[]){s->steps, d, s->batch, s->hidden});
    const ln_shape state = ln_shape_of(3, (int64_t[]){first ? s->batch : d, first ? d : s->batch, s->hidden});
    LN_TRY(ln_op_shape(op, 0, dtype, &y));
    LN_TRY(ln_op_shape(op, 1, dtype, &state));
    return ln_op_shape(op, 2, dtype, &state);
}

/* ---- Weights ---- */

static void pack_direction(const ln_recurrent_params *params, const ln_recurrent_sizes *s, char *packed,
                           const float *w, const float *r) {
    size_t w_bytes = 0;
    size_t first_bytes = 0;
    packed_direction(params, s, &w_bytes, &first_bytes);
    const size_t in = (size_t)s->input;
    const size_t hidden = (size_t)s->hidden;
    const size_t first = (size_t)ln_recurrent_part_columns(params, s, 0);
    ln_gemm_f32.pack_b((float *)(void *)packed, w, 1, in, in, (size_t)s->columns);
    ln_gemm_f32.pack_b((float *)(void *)(packed + w_bytes), r, 1, hidden, hidden, first);
    if (params->cell == LN_CELL_GRU) {
        ln_gemm_f32.pack_b((float *)(void *)(packed + w_bytes + first_bytes), r + first * hidden, 1, hidden,
                           hidden, hidden);
    }
}

/* One direction of W or R as floats. */
static void load_weights(const ln_op *op, int index, int64_t d, int64_t count, float *floats) {
    const ln_recurrent_params *params = op->params;
    const ln_value *weights = ln_in(op, index);
    if (params->quantized) {
        ln_recurrent_load_bytes(op, index, d, floats);
    } else {
        ln_load_f32(weights->dtype, weights->data, d * count, count, floats);
    }
}

static ln_status pack_recurrent(ln_op *op) {
    const ln_recurrent_params *params = op->params;
    const ln_value *w = ln_in(op, W);
    const ln_value *r = ln_in(op, R);
    if (!w || !r || !w->data || !r->data || w->dtype == LN_DOUBLE || w->shape.rank != 3 ||
        r->shape.rank != 3 || (params->quantized && !ln_recurrent_bytes_known(op))) {
        return LN_OK; /* not constant, or infer says what is wrong */
    }
    const int column_axis = params->quantized ? 2 : 1;
    const ln_recurrent_sizes s = {0, 0, w->shape.dims[3 - column_axis], r->shape.dims[3 - column_axis],
                                  w->shape.dims[column_axis]};
    if (s.columns % params->gates != 0 || s.columns != r->shape.dims[column_axis] ||
        s.hidden * params->gates != s.columns || w->shape.dims[0] != params->directions ||
        r->shape.dims[0] != params->directions) {
        return LN_OK;
    }
    size_t w_bytes = 0;
    size_t first_bytes = 0;
    const size_t one = packed_direction(params, &s, &w_bytes, &first_bytes);
    const int64_t w_count = s.columns * s.input;
    const int64_t r_count = s.columns * s.hidden;
    char *packed = ln_alloc(op->context, one * (size_t)params->directions, LN_MEMORY_WEIGHTS);
    float *floats = ln_alloc(op->context, (size_t)(w_count + r_count) * sizeof(float), LN_MEMORY_SCRATCH);
    for (int64_t d = 0; packed && floats && d < params->directions; ++d) {
        load_weights(op, W, d, w_count, floats);
        load_weights(op, R, d, r_count, floats + w_count);
        pack_direction(params, &s, packed + (size_t)d * one, floats, floats + w_count);
    }
    const bool failed = !packed || !floats;
    ln_free(op->context, floats);
    if (failed) {
        ln_free(op->context, packed);
        return LN_OUT_OF_MEMORY;
    }
    op->packed = packed;
    op->consumed = 1U << W | 1U << R;
    return LN_OK;
}

/* ---- Run ---- */

static char *at(const ln_op *op, size_t offset) {
    return (char *)op->scratch + offset;
}

/* An operand in the type of the computation, or NULL. */
static const void *operand(const ln_op *op, const recurrence *r, int index) {
    const ln_value *value = ln_in(op, index);
    return !value ? NULL : r->operand[index] == SIZE_MAX ? value->data : at(op, r->operand[index]);
}

static void add_bias_f64(const ln_op *op, const recurrence *r, int64_t d, double *row) {
    const ln_recurrent_params *params = op->params;
    const double *b = operand(op, r, B);
    const int64_t n = r->sizes.columns;
    if (!b) {
        return;
    }
    b += d * 2 * n;
    for (int64_t j = 0; j < n; ++j) {
        /* linear_before_reset adds the recurrent bias of h inside the reset gate's product */
        const bool later =
            params->cell == LN_CELL_GRU && params->linear_before_reset && j >= 2 * r->sizes.hidden;
        row[j] += b[j] + (later ? 0 : b[n + j]);
    }
}

/* Input product in double: one row a task. */
static void input_task_f64(ln_op *op, int64_t index, void *scratch) {
    const recurrence *r = LN_LOCAL(op, recurrence);
    const ln_recurrent_sizes *s = &r->sizes;
    (void)scratch;
    const int64_t rows = s->steps * s->batch;
    const int64_t d = index / rows;
    const double *x = (const double *)operand(op, r, X) + index % rows * s->input;
    const double *w = (const double *)operand(op, r, W) + d * s->columns * s->input;
    double *row = (double *)(void *)at(op, r->inputs) + index * s->columns;
    for (int64_t j = 0; j < s->columns; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < s->input; ++l) {
            sum += x[l] * w[j * s->input + l];
        }
        row[j] = sum;
    }
    add_bias_f64(op, r, d, row);
}

static const char *direction_weights(const ln_op *op, const recurrence *r, int64_t d, size_t *w_bytes,
                                     size_t *first) {
    const size_t one = packed_direction(op->params, &r->sizes, w_bytes, first);
    return (op->packed ? (const char *)op->packed : at(op, r->packed)) + (size_t)d * one;
}

static void input_task_f32(ln_op *op, int64_t index, void *scratch) {
    const recurrence *r = LN_LOCAL(op, recurrence);
    const ln_recurrent_sizes *s = &r->sizes;
    const int64_t d = index / (int64_t)r->input_tasks;
    size_t w_bytes = 0;
    size_t first = 0;
    const int64_t rows = s->steps * s->batch;
    ln_gemm_f32_args args =
        ln_recurrent_product(rows, s->columns, s->input,
                             (const float *)(const void *)direction_weights(op, r, d, &w_bytes, &first));
    args.a = operand(op, r, X);
    args.c = (float *)(void *)at(op, r->inputs) + d * rows * s->columns;
    args.c_row_stride = (size_t)s->columns;
    ln_gemm_f32.task(&args, (size_t)(index % (int64_t)r->input_tasks), scratch);
}

/* h = initial_h (or 0), c likewise: gathered into [batch][hidden]. */
static void load_state(const ln_op *op, const recurrence *r, int input, int64_t d, char *state) {
    const size_t row = (size_t)r->sizes.hidden * r->element;
    const char *initial = operand(op, r, input);
    for (int64_t b = 0; b < r->sizes.batch; ++b) {
        if (initial) {
            const int64_t from = ln_state_row(op->params, &r->sizes, d, b);
            memcpy(state + (size_t)b * row, initial + (size_t)from * row, row);
        } else {
            memset(state + (size_t)b * row, 0, row);
        }
    }
}

static void store_state(ln_op *op, const recurrence *r, int output, int64_t d, const char *state) {
    ln_value *value = ln_out(op, output);
    const int64_t n = r->sizes.hidden;
    for (int64_t b = 0; value && b < r->sizes.batch; ++b) {
        const int64_t first = ln_state_row(op->params, &r->sizes, d, b) * n;
        const char *row = state + (size_t)(b * n) * r->element;
        if (r->element == sizeof(double)) {
            ln_store_f64(value->dtype, value->data, first, n, (const double *)(const void *)row);
        } else {
            ln_store_f32(value->dtype, value->data, first, n, (const float *)(const void *)row);
        }
    }
}

static void *output_y(ln_op *op, const recurrence *r) {
    return !ln_out(op, 0) ? NULL : r->y == SIZE_MAX ? op->outputs[0]->data : (void *)at(op, r->y);
}

/* Adds the biases to the input part. (The GEMM has no bias that repeats per direction and gate, so rows are added to.) */
static void add_bias_f32(const ln_op *op, const recurrence *r, int64_t d, float *rows) {
    const ln_recurrent_params *params = op->params;
    const ln_recurrent_sizes *s = &r->sizes;
    const float *b = operand(op, r, B);
    if (!b) {
        return;
    }
    b += d * 2 * s->columns;
    const bool later = params->cell == LN_CELL_GRU && params->linear_before_reset;
    const size_t inside = (size_t)(later ? 2 * s->hidden : s->columns);
    for (int64_t i = 0; i < s->steps * s->batch; ++i) {
        float *row = rows + i * s->columns;
        ln_binary_f32[LN_BINARY_ADD](row, row, 1, b, 1, (size_t)s->columns);
        ln_binary_f32[LN_BINARY_ADD](row, row, 1, b + s->columns, 1, inside);
    }
}

static void direction_task(ln_op *op, int64_t d, void *scratch) {
    const ln_recurrent_params *params = op->params;
    const recurrence *r = LN_LOCAL(op, recurrence);
    const ln_recurrent_sizes *s = &r->sizes;
    const size_t state = (size_t)(s->batch * s->hidden) * r->element;
    char *memory = at(op, r->states) + (size_t)d * r->state_bytes;
    char *const h = memory;
    char *const c = params->cell == LN_CELL_LSTM ? memory + state : NULL;
    const int32_t *lengths = ln_in(op, LENGTHS) ? op->inputs[LENGTHS]->data : NULL;
    const size_t inputs = (size_t)(d * s->steps * s->batch * s->columns);
    const char *b = operand(op, r, B);
    const char *p = operand(op, r, PEEPHOLES);
    const char *recurrent_bias = b ? b + (size_t)((2 * d + 1) * s->columns) * r->element : NULL;
    const char *peepholes = p ? p + (size_t)(3 * d * s->hidden) * r->element : NULL;
    load_state(op, r, INITIAL_H, d, h);
    if (c) {
        load_state(op, r, INITIAL_C, d, c);
    }
    ln_recurrent_walk walk = {.params = params,
                              .sizes = s,
                              .d = d,
                              .inputs = at(op, r->inputs) + inputs * r->element,
                              .recurrent_bias = recurrent_bias,
                              .peepholes = peepholes,
                              .lengths = lengths,
                              .y = output_y(op, r),
                              .h = h,
                              .c = c,
                              .gates = memory + 5 * state,
                              .work = memory + 2 * state,
                              .next = memory + 3 * state,
                              .scratch = scratch};
    if (in_double(op)) {
        walk.weights[0] = (const double *)operand(op, r, R) + d * s->columns * s->hidden;
        ln_recurrent_walk_f64(&walk);
    } else {
        size_t w_bytes = 0;
        size_t first = 0;
        const char *packed = direction_weights(op, r, d, &w_bytes, &first);
        walk.weights[0] = packed + w_bytes;
        walk.weights[1] = packed + w_bytes + first;
        walk.product = walk.gates + (size_t)(s->batch * s->columns) * sizeof(float);
        add_bias_f32(op, r, d, (float *)(void *)walk.inputs);
        ln_recurrent_walk_f32(&walk);
    }
    store_state(op, r, 1, d, h);
    if (c) {
        store_state(op, r, 2, d, c);
    }
}

static ln_status convert_y(ln_op *op) {
    const recurrence *r = LN_LOCAL(op, recurrence);
    if (ln_out(op, 0) && r->y != SIZE_MAX) {
        ln_value *y = op->outputs[0];
        ln_store_f32(y->dtype, y->data, 0, ln_value_count(y), (const float *)(const void *)at(op, r->y));
    }
    return LN_OK;
}

static ln_status walk_directions(ln_op *op) {
    const ln_recurrent_params *params = op->params;
    return ln_op_grid_then(op, direction_task, params->directions, convert_y);
}

static void load_operand(const ln_op *op, int index, float *floats) {
    const ln_recurrent_params *params = op->params;
    const ln_value *value = ln_in(op, index);
    const int64_t count = ln_value_count(value);
    if (index == W || index == R) {
        for (int64_t d = 0; d < params->directions; ++d) {
            const int64_t each = count / params->directions;
            load_weights(op, index, d, each, floats + d * each);
        }
    } else if (index == X && params->quantized) {
        ln_recurrent_round(value->data, count, floats);
    } else {
        ln_load_f32(value->dtype, value->data, 0, count, floats);
    }
}

static ln_status run_recurrent(ln_op *op) {
    const ln_recurrent_params *params = op->params;
    recurrence *r = LN_LOCAL(op, recurrence);
    const ln_recurrent_sizes *s = &r->sizes;
    const ln_value *lengths = ln_in(op, LENGTHS);
    for (int64_t b = 0; lengths && b < s->batch; ++b) {
        const int32_t length = ((const int32_t *)lengths->data)[b];
        LN_OP_CHECK(op, length >= 0 && length <= s->steps, INVALID_VALUE,
                    "sequence_lens[%lld] is %d, there are %lld steps", (long long)b, (int)length,
                    (long long)s->steps);
    }
    for (int i = 0; i < 8; ++i) {
        if (r->operand[i] != SIZE_MAX) {
            load_operand(op, i, (float *)(void *)at(op, r->operand[i]));
        }
    }
    if (!op->packed && !in_double(op)) {
        size_t w_bytes = 0;
        size_t first = 0;
        const size_t one = packed_direction(params, s, &w_bytes, &first);
        for (int64_t d = 0; d < params->directions; ++d) {
            pack_direction(params, s, at(op, r->packed) + (size_t)d * one,
                           (const float *)operand(op, r, W) + d * s->columns * s->input,
                           (const float *)operand(op, r, R) + d * s->columns * s->hidden);
        }
    }
    return ln_op_grid_then(op, in_double(op) ? input_task_f64 : input_task_f32,
                           (int64_t)r->input_tasks * params->directions, walk_directions);
}

/* ---- Build ---- */

static ln_status build_cell(ln_build *build, ln_cell cell) {
    static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
    static const int gates[] = {1, 3, 4};
    ln_recurrent_params *params = ln_build_params(build, sizeof *params);
    if (!params) {
        return LN_OUT_OF_MEMORY;
    }
    const int direction = ln_attr_choice(build, "direction", directions, 0);
    params->cell = cell;
    params->gates = gates[cell];
    params->directions = direction == 2 ? 2 : 1;
    params->reversed[0] = direction == 1;
    params->reversed[1] = true;
    params->batch_first = ln_attr_bool(build, "layout", false);
    params->linear_before_reset = ln_attr_bool(build, "linear_before_reset", false);
    params->input_forget = ln_attr_bool(build, "input_forget", false);
    params->clip = ln_attr_float(build, "clip", 0);
    params->hidden = ln_attr_int(build, "hidden_size", 0);
    return ln_gates_build(build, params);
}

static ln_status build_rnn(ln_build *build) {
    return build_cell(build, LN_CELL_RNN);
}

static ln_status build_gru(ln_build *build) {
    return build_cell(build, LN_CELL_GRU);
}

static ln_status build_lstm(ln_build *build) {
    return build_cell(build, LN_CELL_LSTM);
}

static ln_status build_quantized(ln_build *build) {
    LN_TRY(build_cell(build, LN_CELL_LSTM));
    ((ln_recurrent_params *)build->node->params)->quantized = true;
    return LN_OK;
}

#define CELL(name, since, until, signature, types, build)                                                    \
    {name,           "", since, until, signature, {types, 0, 0}, build, infer_recurrent, run_recurrent,      \
     pack_recurrent, 0,  NULL}
#define SHORT "AAAA?i?A?>A?A?"
#define LONG  "AAAA?i?A?A?A?>A?A?A?"

static const ln_op_row rows[] = {
    CELL("RNN", 1, 6, SHORT, LN_T_FLOAT, build_rnn),
    CELL("RNN", 7, 13, SHORT, LN_T_FLOAT, build_rnn),
    CELL("RNN", 14, 21, SHORT, LN_T_FLOAT, build_rnn),
    CELL("RNN", 22, LN_OPEN, SHORT, LN_T_FLOAT_BF, build_rnn),
    CELL("GRU", 1, 2, SHORT, LN_T_FLOAT, build_gru),
    CELL("GRU", 3, 6, SHORT, LN_T_FLOAT, build_gru),
    CELL("GRU", 7, 13, SHORT, LN_T_FLOAT, build_gru),
    CELL("GRU", 14, 21, SHORT, LN_T_FLOAT, build_gru),
    CELL("GRU", 22, LN_OPEN, SHORT, LN_T_FLOAT_BF, build_gru),
    CELL("LSTM", 1, 6, LONG, LN_T_FLOAT, build_lstm),
    CELL("LSTM", 7, 13, LONG, LN_T_FLOAT, build_lstm),
    CELL("LSTM", 14, 21, LONG, LN_T_FLOAT, build_lstm),
    CELL("LSTM", 22, LN_OPEN, LONG, LN_T_FLOAT_BF, build_lstm),
    {"DynamicQuantizeLSTM",
     "com.microsoft",
     1,
     LN_OPEN,
     "fAAf?i?f?f?f?fAfA>f?f?f?",
     {LN_BIT(LN_INT8) | LN_BIT(LN_UINT8)},
     build_quantized,
     infer_recurrent,
     run_recurrent,
     pack_recurrent,
     0,
     NULL},
};
LN_FAMILY_TABLE(recurrent, rows);
