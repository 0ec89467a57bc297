/* Convolutions of quantised tensors: ConvInteger and QLinearConv.
 *
 * A convolution is a product of the weights, [channels, depth * taps], with a matrix that has a row for each input channel
 * and tap, and a column for each output pixel. That matrix is never stored whole: a task packs its columns for a block of
 * pixels and multiplies them with all channels of a group.
 *
 * A row of it is the input plane seen from a tap. To make it contiguous, planes are copied once into *phases*: a
 * plane padded with the zero point and split by the strides, so that pixels a stride apart become neighbours. Columns
 * count the positions of a phase, the few beyond the output's edge included, and those are dropped when sums are stored. With
 * unit strides and no padding the input itself is the only phase, and nothing is copied.
 *
 *     sum over k of (x - x_zero) * (w - w_zero)  =  sum over k of x * w'  -  x_zero * sum over k of w'
 *
 * ConvInteger stores the sums; QLinearConv adds the bias, scales and rounds to nearest even.
 */
#include <string.h>

#include "ops/window.h"
#include "simd/kernels.h"
#include "simd/vector.h"

enum { BLOCK_BYTES = 128 * 1024, BLOCK_MAX = 256, CHANNELS_MIN = 64, FEW_BLOCKS = 8, COPY_GRAIN = 16384 };

typedef struct quant_conv_params {
    ln_window window;
    int64_t group;
    bool linear;                                                          /* QLinearConv */
    int8_t x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias; /* inputs; -1: none */
} quant_conv_params;

typedef struct quant_conv_local {
    ln_window_shape window;         /* strides of axes with one output are 1 */
    int64_t extent[LN_WINDOW_RANK]; /* of a phase */
    int64_t phase;                  /* its elements */
    int64_t plane;                  /* the elements of all phases of a channel */
    int64_t pixels;                 /* positions of a phase up to the last output */
    int64_t depth, taps;
    int64_t block, blocks;    /* positions of one task, and how many tasks that gives */
    int64_t channels, chunks; /* the same for the channels of a group */
    bool direct;              /* the input is its own phase */
    size_t copy_bytes;        /* of the phases of all images, rounded to 16 */
} quant_conv_local;

static ln_status build_quant_conv(ln_build *build) {
    quant_conv_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    const ln_window none = params->window;
    params->linear = strcmp(build->node->op_type, "QLinearConv") == 0;
    *params = params->linear ? (quant_conv_params){none, 1, true, 0, 1, 2, 3, 4, 5, 6, 7, 8}
                             : (quant_conv_params){none, 1, false, 0, -1, 2, 1, -1, 3, -1, -1, -1};
    params->group = ln_attr_int(build, "group", 1);
    LN_TRY(ln_window_build(build, &params->window));
    if (params->group < 1) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "group is %lld, expected at least 1",
                             (long long)params->group);
    }
    return LN_OK;
}

static const ln_value *operand(const ln_op *op, int index) {
    return index < 0 ? NULL : ln_in(op, index);
}

/* Infer ---------------------------------------------------------------------------------------------------------- */

static ln_status check_numbers(ln_op *op, int index, int64_t channels) {
    const ln_value *value = operand(op, index);
    const int64_t count = value == NULL ? 1 : ln_value_count(value);
    LN_OP_CHECK(op, count == 1 || count == channels, INVALID_SHAPE,
                "input %d has %lld elements, expected 1 or %lld", index, (long long)count,
                (long long)channels);
    return LN_OK;
}

static ln_status check_operands(ln_op *op, const ln_shape *x, const ln_shape *w) {
    const quant_conv_params *params = op->params;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank >= 3 && w->rank == x->rank, INVALID_SHAPE, "cannot convolve %s with weights %s",
                ln_shape_text(x, text[0]), ln_shape_text(w, text[1]));
    LN_OP_CHECK(op, x->dims[1] == w->dims[1] * params->group && w->dims[0] % params->group == 0,
                INVALID_SHAPE, "input %s and weights %s do not fit in %lld groups", ln_shape_text(x, text[0]),
                ln_shape_text(w, text[1]), (long long)params->group);
    const int64_t channels = w->dims[0];
    LN_TRY(check_numbers(op, params->x_scale, 1));
    LN_TRY(check_numbers(op, params->x_zero, 1));
    LN_TRY(check_numbers(op, params->w_scale, channels));
    LN_TRY(check_numbers(op, params->w_zero, channels));
    LN_TRY(check_numbers(op, params->y_scale, 1));
    LN_TRY(check_numbers(op, params->y_zero, 1));
    const ln_value *bias = operand(op, params->bias);
    LN_OP_CHECK(op, bias == NULL || ln_value_count(bias) == channels, INVALID_SHAPE,
                "the bias must have %lld elements, it has %lld", (long long)channels,
                (long long)ln_value_count(bias));
    return LN_OK;
}

/* Sizes of a phase, and whether the input is one. */
static void plan_phases(quant_conv_local *local) {
    ln_window_shape *s = &local->window;
    int64_t phases = 1;
    local->phase = 1;
    local->pixels = 0;
    local->direct = true;
    for (int i = 0; i < s->rank; i++) {
        s->stride[i] = s->out[i] == 1 ? 1 : s->stride[i];
        local->extent[i] = s->out[i] + (s->kernel[i] - 1) * s->dilation[i] / s->stride[i];
        local->direct = local->direct && s->stride[i] == 1 && s->pad_begin[i] == 0 && s->pad_end[i] == 0;
        phases *= s->stride[i];
    }
    for (int i = 0; i < s->rank; i++) {
        local->extent[i] = local->direct ? s->in[i] : local->extent[i];
        local->phase *= local->extent[i];
        local->pixels = local->pixels * local->extent[i] + s->out[i] - 1;
    }
    local->pixels += 1;
    local->plane = phases * local->phase;
}

static void plan_tasks(quant_conv_local *local, int64_t group_channels) {
    const int64_t bytes = local->depth * local->taps + 1;
    const int64_t fitting = BLOCK_BYTES / bytes / LN_GEMM_I8_COLUMNS * LN_GEMM_I8_COLUMNS;
    local->block = fitting < LN_GEMM_I8_COLUMNS ? LN_GEMM_I8_COLUMNS
                   : fitting > BLOCK_MAX        ? BLOCK_MAX
                                                : fitting;
    local->blocks = (local->pixels + local->block - 1) / local->block;
    local->channels = local->blocks < FEW_BLOCKS ? CHANNELS_MIN : group_channels;
    local->chunks = local->channels == 0 ? 0 : (group_channels + local->channels - 1) / local->channels;
}

static size_t even(int64_t k) {
    return (size_t)(k + k % 2);
}

static ln_status infer_quant_conv(ln_op *op) {
    const quant_conv_params *params = op->params;
    const ln_shape *x = &ln_in(op, params->x)->shape;
    const ln_shape *w = &ln_in(op, params->w)->shape;
    quant_conv_local *local = LN_LOCAL(op, quant_conv_local);
    LN_TRY(check_operands(op, x, w));
    LN_TRY(ln_window_resolve(op, &params->window, x, w->dims + 2, &local->window));
    ln_shape y = *x;
    y.dims[1] = w->dims[0];
    for (int i = 0; i < local->window.rank; i++) {
        y.dims[2 + i] = local->window.out[i];
    }
    LN_TRY(ln_op_shape(op, 0, params->linear ? ln_in(op, params->y_zero)->dtype : LN_INT32, &y));
    if (ln_shape_count(&y) == 0) {
        return LN_OK;
    }
    local->depth = w->dims[1];
    local->taps = ln_shape_product(w, 2, w->rank);
    plan_phases(local);
    plan_tasks(local, w->dims[0] / params->group);
    int64_t copied, rows;
    LN_OP_CHECK(op,
                !__builtin_mul_overflow(x->dims[0] * x->dims[1], local->plane, &copied) &&
                    !__builtin_mul_overflow(local->depth, local->taps, &rows) &&
                    copied < (int64_t)(SIZE_MAX / 4) && rows < (int64_t)(SIZE_MAX / 64),
                LIMIT_EXCEEDED, "the padded input is too large");
    local->copy_bytes = local->direct ? 0 : ((size_t)copied + 15) / 16 * 16;
    op->scratch_bytes = local->copy_bytes + (size_t)rows * sizeof(size_t);
    op->task_scratch_bytes = even(rows) * ((size_t)local->block + LN_GEMM_I8_ROWS * sizeof(int16_t)) +
                             (size_t)local->block * (LN_GEMM_I8_ROWS * sizeof(int32_t) + sizeof(float));
    return LN_OK;
}

/* Phases ----------------------------------------------------------------------------------------------------------- */

static bool advance(int64_t *position, const int64_t *dims, int count) {
    for (int i = count - 1; i >= 0; i--) {
        if (++position[i] < dims[i]) {
            return true;
        }
        position[i] = 0;
    }
    return false;
}

/* A row of a phase: positions first, first + stride, ... of an input row of `in` elements, and `fill` outside of it. */
static void copy_row(uint8_t *y, int64_t n, const uint8_t *row, int64_t in, int64_t first, int64_t stride,
                     uint8_t fill) {
    int64_t i = 0;
    for (; i < n && first + i * stride < 0; i++) {
        y[i] = fill;
    }
    const int64_t room = in - 1 - first;
    const int64_t inside = room < 0 ? 0 : room / stride + 1;
    const int64_t end = inside < n ? inside : n;
    if (stride == 1 && i < end) {
        memcpy(y + i, row + first + i, (size_t)(end - i));
        i = end;
    }
    for (; i < end; i++) {
        y[i] = row[first + i * stride];
    }
    memset(y + i, fill, (size_t)(n - i));
}

/* The phases of one channel. */
static void copy_plane(const quant_conv_local *local, const uint8_t *x, uint8_t *y, uint8_t fill) {
    const ln_window_shape *s = &local->window;
    const int last = s->rank - 1;
    int64_t phase[LN_WINDOW_RANK] = {0};
    do {
        int64_t at[LN_WINDOW_RANK] = {0};
        do {
            int64_t row = 0;
            bool inside = true;
            for (int i = 0; i < last; i++) {
                const int64_t index = at[i] * s->stride[i] + phase[i] - s->pad_begin[i];
                inside = inside && index >= 0 && index < s->in[i];
                row = row * s->in[i] + index;
            }
            if (inside) {
                copy_row(y, local->extent[last], x + row * s->in[last], s->in[last],
                         phase[last] - s->pad_begin[last], s->stride[last], fill);
            } else {
                memset(y, fill, (size_t)local->extent[last]);
            }
            y += local->extent[last];
        } while (advance(at, local->extent, last));
    } while (advance(phase, s->stride, s->rank));
}

static uint8_t x_zero_byte(const ln_op *op) {
    const quant_conv_params *params = op->params;
    const ln_value *zero = operand(op, params->x_zero);
    return zero == NULL ? 0 : *(const uint8_t *)zero->data;
}

static int64_t copy_tasks(const ln_op *op, const quant_conv_local *local) {
    const quant_conv_params *params = op->params;
    const ln_shape *x = &ln_in(op, params->x)->shape;
    return ln_op_tasks(x->dims[0] * x->dims[1], COPY_GRAIN / (local->plane + 1) + 1);
}

static void copy_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const quant_conv_params *params = op->params;
    const quant_conv_local *local = LN_LOCAL(op, quant_conv_local);
    const ln_value *x = ln_in(op, params->x);
    const int64_t size = ln_shape_product(&x->shape, 2, x->shape.rank);
    int64_t begin, end;
    ln_op_range(x->shape.dims[0] * x->shape.dims[1], copy_tasks(op, local), index, &begin, &end);
    for (int64_t c = begin; c < end; c++) {
        copy_plane(local, (const uint8_t *)x->data + c * size, (uint8_t *)op->scratch + c * local->plane,
                   x_zero_byte(op));
    }
}

/* Where each row of the matrix starts, from the first position of a group's first channel. */
static void fill_offsets(const quant_conv_local *local, size_t *offsets) {
    const ln_window_shape *s = &local->window;
    int64_t tap[LN_WINDOW_RANK] = {0};
    for (int64_t t = 0; t < local->taps; t++, advance(tap, s->kernel, s->rank)) {
        int64_t phase = 0, position = 0;
        for (int i = 0; i < s->rank; i++) {
            const int64_t reach = tap[i] * s->dilation[i];
            phase = phase * s->stride[i] + reach % s->stride[i];
            position = position * local->extent[i] + reach / s->stride[i];
        }
        for (int64_t c = 0; c < local->depth; c++) {
            offsets[c * local->taps + t] = (size_t)(c * local->plane + phase * local->phase + position);
        }
    }
}

/* Products ----------------------------------------------------------------------------------------------------------- */

static double number_at(const ln_value *value, int64_t channel, double otherwise) {
    double number = otherwise;
    if (value != NULL) {
        ln_load_f64(value->dtype, value->data, ln_value_count(value) == 1 ? 0 : channel, 1, &number);
    }
    return number;
}

/* What becomes of the sums of one channel. */
typedef struct channel_finish {
    uint32_t add; /* to each sum: the zero point's share, and the bias */
    float scale;
    int32_t zero; /* of Y */
    bool linear;
} channel_finish;

static channel_finish finish_of(const ln_op *op, int64_t channel, int32_t weight_sum) {
    const quant_conv_params *params = op->params;
    const int32_t flip = ln_in(op, params->x)->dtype == LN_UINT8 ? 128 : 0;
    const int32_t zero = (int32_t)number_at(operand(op, params->x_zero), 0, 0) - flip;
    channel_finish finish = {.add = 0 - (uint32_t)zero * (uint32_t)weight_sum, .linear = params->linear};
    if (params->linear) {
        finish.add += (uint32_t)(int32_t)number_at(operand(op, params->bias), channel, 0);
        finish.zero = (int32_t)number_at(operand(op, params->y_zero), 0, 0);
        finish.scale = (float)number_at(operand(op, params->x_scale), 0, 1) *
                       (float)number_at(operand(op, params->w_scale), channel, 1) /
                       (float)number_at(operand(op, params->y_scale), 0, 1);
    }
    return finish;
}

static void store_run(ln_value *y, int64_t first, int64_t n, const int32_t *sums,
                      const channel_finish *finish, float *floats) {
    if (!finish->linear) {
        int32_t *to = (int32_t *)y->data + first;
        for (int64_t i = 0; i < n; i++) {
            to[i] = (int32_t)((uint32_t)sums[i] + finish->add);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        floats[i] = (float)(int32_t)((uint32_t)sums[i] + finish->add) * finish->scale;
    }
    if (y->dtype == LN_UINT8) {
        ln_quantize_u8_f32((uint8_t *)y->data + first, floats, (size_t)n, 1.0f, finish->zero);
    } else {
        ln_quantize_i8_f32((int8_t *)y->data + first, floats, (size_t)n, 1.0f, finish->zero);
    }
}

/* Stores the outputs among the positions [begin, end) of a plane of Y that starts at element `plane`. */
static void store_block(const quant_conv_local *local, ln_value *y, int64_t plane, int64_t begin, int64_t end,
                        const int32_t *sums, const channel_finish *finish, float *floats) {
    const ln_window_shape *s = &local->window;
    const int last = s->rank - 1;
    const int64_t pitch = local->extent[last];
    for (int64_t row = begin / pitch; row * pitch < end; row++) {
        int64_t rest = row, out = 0, step = 1;
        bool inside = true;
        for (int i = last - 1; i >= 0; i--) {
            const int64_t at = rest % local->extent[i];
            rest /= local->extent[i];
            inside = inside && at < s->out[i];
            out += at * step;
            step *= s->out[i];
        }
        const int64_t first = row * pitch > begin ? row * pitch : begin;
        const int64_t stop = row * pitch + s->out[last] < end ? row * pitch + s->out[last] : end;
        if (inside && first < stop) {
            store_run(y, plane + out * s->out[last] + first - row * pitch, stop - first,
                      sums + (first - begin), finish, floats);
        }
    }
}

/* Widens the weights of up to four channels; their sums go to `totals`. */
static void widen_weights(const ln_op *op, int64_t channel, int64_t count, int64_t k, int16_t *rows,
                          int32_t *totals) {
    const quant_conv_params *params = op->params;
    const ln_value *w = ln_in(op, params->w);
    const size_t stride = even(k);
    for (int64_t r = 0; r < count; r++) {
        int16_t *row = rows + (size_t)r * stride;
        const int32_t zero = (int32_t)number_at(operand(op, params->w_zero), channel + r, 0);
        row[stride == 0 ? 0 : stride - 1] = 0;
        totals[r] = ln_widen_i8_i16(row, (const uint8_t *)w->data + (channel + r) * k, (size_t)k,
                                    w->dtype == LN_INT8, zero);
    }
}

static void quant_conv_task(ln_op *op, int64_t index, void *scratch) {
    const quant_conv_params *params = op->params;
    const quant_conv_local *local = LN_LOCAL(op, quant_conv_local);
    const ln_value *x = ln_in(op, params->x);
    ln_value *y = ln_out(op, 0);
    const int64_t k = local->depth * local->taps;
    const int64_t chunk = index % local->chunks;
    const int64_t block = index / local->chunks % local->blocks;
    const int64_t group = index / local->chunks / local->blocks % params->group;
    const int64_t image = index / local->chunks / local->blocks / params->group;
    const int64_t begin = block * local->block;
    const int64_t end = begin + local->block < local->pixels ? begin + local->block : local->pixels;
    const int64_t panels = (end - begin + LN_GEMM_I8_COLUMNS - 1) / LN_GEMM_I8_COLUMNS;
    const size_t *offsets = (const size_t *)(const void *)((const char *)op->scratch + local->copy_bytes);
    const uint8_t *from = local->direct ? x->data : op->scratch;
    from += (image * x->shape.dims[1] + group * local->depth) * local->plane + begin;
    int32_t *sums = scratch;
    float *floats = (float *)(sums + LN_GEMM_I8_ROWS * local->block);
    int8_t *packed = (int8_t *)(floats + local->block);
    int16_t *rows = (int16_t *)(void *)(packed + even(k) * (size_t)local->block);
    ln_gemm_i8_pack_rows(packed, from, offsets, (size_t)k, (size_t)(end - begin),
                         x->dtype == LN_UINT8 ? 0x80 : 0);

    const int64_t group_channels = y->shape.dims[1] / params->group;
    const int64_t pixels = ln_shape_product(&y->shape, 2, y->shape.rank);
    const int64_t stop =
        (chunk + 1) * local->channels < group_channels ? (chunk + 1) * local->channels : group_channels;
    for (int64_t c = chunk * local->channels; c < stop; c += LN_GEMM_I8_ROWS) {
        const int64_t channel = group * group_channels + c;
        const int64_t count = stop - c < LN_GEMM_I8_ROWS ? stop - c : LN_GEMM_I8_ROWS;
        int32_t totals[LN_GEMM_I8_ROWS];
        widen_weights(op, channel, count, k, rows, totals);
        ln_gemm_i8_rows(sums, (size_t)local->block, rows, even(k), (size_t)count, packed, (size_t)panels,
                        (size_t)k);
        for (int64_t r = 0; r < count; r++) {
            const channel_finish finish = finish_of(op, channel + r, totals[r]);
            const int64_t plane = (image * y->shape.dims[1] + channel + r) * pixels;
            store_block(local, y, plane, begin, end, sums + r * local->block, &finish, floats);
        }
    }
}

static ln_status run_products(ln_op *op) {
    const quant_conv_params *params = op->params;
    const quant_conv_local *local = LN_LOCAL(op, quant_conv_local);
    return ln_op_grid(op, quant_conv_task,
                      ln_out(op, 0)->shape.dims[0] * params->group * local->blocks * local->chunks);
}

static ln_status run_quant_conv(ln_op *op) {
    const quant_conv_local *local = LN_LOCAL(op, quant_conv_local);
    if (ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    fill_offsets(local, (size_t *)(void *)((char *)op->scratch + local->copy_bytes));
    return local->direct ? run_products(op)
                         : ln_op_grid_then(op, copy_task, copy_tasks(op, local), run_products);
}

#define T_INT8 (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define CONV(name, signature)                                                                                \
    {name,                                                                                                   \
     "",                                                                                                     \
     10,                                                                                                     \
     LN_OPEN,                                                                                                \
     signature,                                                                                              \
     {T_INT8, T_INT8, T_INT8},                                                                               \
     build_quant_conv,                                                                                       \
     infer_quant_conv,                                                                                       \
     run_quant_conv,                                                                                         \
     NULL,                                                                                                   \
     0,                                                                                                      \
     NULL}

static const ln_op_row rows[] = {
    CONV("ConvInteger", "ABA?B?>i"),
    CONV("QLinearConv", "AfABfBfCi?>C"),
};

LN_FAMILY_TABLE(quant_conv, rows);
