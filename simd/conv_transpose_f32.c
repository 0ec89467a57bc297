/*
 * Transposed convolution of any rank: a GEMM that makes, for every input pixel, its contribution to each tap
 * of each output channel, and a scatter that adds contributions into the output (col2im).
 *
 * The GEMM's rows are (output channel, tap) pairs, its columns input pixels, its depth the input channels of
 * a group. Only a block of pixels is multiplied at a time, so scratch stays small. A task owns whole output
 * channels and visits the blocks of pixels in order, hence every output element is summed in one order, by
 * one task.
 *
 * Weights are packed [group][channel block][tile][depth][rows of the tile]; a channel block is as many
 * output channels as give the tiles enough rows.
 */
#include "conv_f32.h"
#include "tile_f32.h"

enum {
    BLOCK_ROWS = 32,          /* a channel block has at least this many rows of the GEMM */
    PANEL_BYTES = 192 * 1024, /* packed input pixels of one block */
    MAX_PIXELS = 1024,        /* of one block */
    MIN_TASK_PRODUCTS = 384 * 1024,
    MAX_TASKS = 16 /* each packs its pixels anew */
};

static size_t group_outputs(const ln_conv_shape *shape) {
    return shape->out_channels / shape->groups;
}

static size_t all_taps(const ln_conv_shape *shape) {
    size_t taps = 1;
    for (size_t i = 0; i < shape->rank; i++) {
        taps = ln_saturating_mul(taps, shape->kernel[i]);
    }
    return taps;
}

/* Output channels of one channel block. */
static size_t block_channels(const ln_conv_shape *shape) {
    return ln_min_size(group_outputs(shape), ln_divide_up(BLOCK_ROWS, all_taps(shape)));
}

static size_t packed_bytes(const ln_conv_shape *shape) {
    const size_t count = ln_saturating_mul(shape->in_channels, group_outputs(shape));
    return ln_saturating_mul(ln_saturating_mul(count, all_taps(shape)), sizeof(float));
}

static void pack(const ln_conv_shape *shape, float *packed, const float *w) {
    const size_t depth = shape->in_channels / shape->groups, outputs = group_outputs(shape);
    const size_t taps = all_taps(shape), step = block_channels(shape);
    for (size_t group = 0; group < shape->groups; group++) {
        for (size_t channel = 0; channel < outputs; channel += step) {
            const size_t m = ln_min_size(step, outputs - channel) * taps;
            const float *block = w + (group * depth * outputs + channel) * taps;
            for (size_t t = 0; t < ln_tile_f32_count(m); t++) {
                const size_t row = ln_tile_f32_begin(m, t), rows = ln_tile_f32_begin(m, t + 1) - row;
                ln_tile_f32_pack_a(packed, block + row, 1, outputs * taps, rows, depth);
                packed += rows * depth;
            }
        }
    }
}

static void make_plan(ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t depth = s->in_channels / s->groups, taps = all_taps(s);
    const size_t height = s->in[ln_conv_axis(plan, 0)], width = s->in[ln_conv_axis(plan, 1)];
    const size_t fitting = ln_min_size(PANEL_BYTES / sizeof(float) / (depth + 1), MAX_PIXELS);
    const size_t pixels = fitting < LN_TILE_COLS ? LN_TILE_COLS : fitting / LN_TILE_COLS * LN_TILE_COLS;
    plan->col_step = ln_min_size(width, pixels);
    plan->row_step = ln_min_size(height, pixels / (plan->col_step + (plan->col_step == 0)));
    if (plan->row_step == 0 || plan->col_step < width) {
        plan->row_step = 1;
    }
    const size_t channels = block_channels(s);
    const size_t blocks = ln_divide_up(group_outputs(s), channels);
    const double products =
        (double)(plan->outer_in * plan->plane_in) * (double)(channels * taps) * (double)depth;
    const size_t others = ln_saturating_mul(s->batch, s->groups);
    size_t step = others >= MAX_TASKS ? blocks : ln_divide_up(blocks, MAX_TASKS / others);
    while (step < blocks && (double)step * products < (double)MIN_TASK_PRODUCTS) {
        step *= 2;
    }
    plan->tile_step = ln_min_size(step, blocks);
    plan->tile_tasks = ln_divide_up(blocks, plan->tile_step);
    plan->task_count = ln_saturating_mul(others, plan->tile_tasks);
    const size_t columns = ln_divide_up(plan->row_step * plan->col_step, LN_TILE_COLS) * LN_TILE_COLS;
    const size_t rows = ln_saturating_add(ln_saturating_mul(channels, taps), depth);
    plan->scratch_bytes = ln_saturating_mul(ln_saturating_mul(rows, columns), sizeof(float));
}

/* A block of input pixels, contiguous in every channel: whole rows, or part of one. */
typedef struct pixel_block {
    size_t position, row, rows, col, cols;
} pixel_block;

/*
 * The output position over the outer dimensions that a tap reaches from an input position; -1 when it is
 * outside.
 */
static ptrdiff_t reached(const ln_conv_f32_plan *plan, size_t position, size_t tap) {
    const ln_conv_shape *s = &plan->shape;
    ptrdiff_t result = 0, distance = 1;
    for (size_t i = plan->outer; i-- > 0;) {
        const size_t in = position % s->in[i], kernel = tap % s->kernel[i];
        position /= s->in[i];
        tap /= s->kernel[i];
        const ptrdiff_t out = (ptrdiff_t)(in * s->stride[i] + kernel * s->dilation[i]) - s->pad[i];
        if (out < 0 || out >= (ptrdiff_t)s->out[i]) {
            return -1;
        }
        result += out * distance;
        distance *= (ptrdiff_t)s->out[i];
    }
    return result;
}

/* y[(begin + i) * stride - shift] += x[i] where that is inside [0, size). */
static void add_strided(float *y, const float *x, size_t begin, size_t count, size_t stride, ptrdiff_t shift,
                        size_t size) {
    size_t i = 0;
    ptrdiff_t at = (ptrdiff_t)(begin * stride) - shift;
    if (at < 0) {
        i = ln_divide_up((size_t)-at, stride);
        at += (ptrdiff_t)(i * stride);
    }
    if (stride == 1) {
        for (; i + 4 <= count && at + 4 <= (ptrdiff_t)size; i += 4, at += 4) {
            ln_store(y + at, ln_add(ln_load(y + at), ln_load(x + i)));
        }
    }
    for (; i < count && at < (ptrdiff_t)size; i++, at += (ptrdiff_t)stride) {
        y[at] += x[i];
    }
}

/*
 * Two neighbouring taps at stride 2, whose outputs alternate: y[2 * (begin + i) - shift] += a[i] and the
 * element after it += b[i], where they are inside [0, size).
 */
static void add_alternating(float *y, const float *a, const float *b, size_t begin, size_t count,
                            ptrdiff_t shift, size_t size) {
    const ptrdiff_t end = (ptrdiff_t)size;
    ptrdiff_t at = (ptrdiff_t)(2 * begin) - shift;
    for (size_t i = 0; i < count; at += 2, i++) {
        if (at >= 0) {
            for (; i + 4 <= count && at + 8 <= end; i += 4, at += 8) {
                const ln_v32f even = ln_load(a + i), odd = ln_load(b + i);
                const ln_v32f low = wasm_i32x4_shuffle(even, odd, 0, 4, 1, 5);
                const ln_v32f high = wasm_i32x4_shuffle(even, odd, 2, 6, 3, 7);
                ln_store(y + at, ln_add(ln_load(y + at), low));
                ln_store(y + at + 4, ln_add(ln_load(y + at + 4), high));
            }
            if (i == count) {
                return;
            }
        }
        if (at >= 0 && at < end) {
            y[at] += a[i];
        }
        if (at + 1 >= 0 && at + 1 < end) {
            y[at + 1] += b[i];
        }
    }
}

/*
 * Adds rows of the product, contributions of a tap and, if `next` is not NULL, of the tap to its right, into
 * their channel.
 */
static void scatter(const ln_conv_f32_plan *plan, const pixel_block *block, size_t tap, const float *product,
                    const float *next, float *channel) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    const size_t tap_col = tap % s->kernel[x], tap_row = tap / s->kernel[x] % s->kernel[y];
    const ptrdiff_t position = reached(plan, block->position, tap / plan->taps);
    if (position < 0) {
        return;
    }
    float *plane = channel + position * (ptrdiff_t)plan->plane_out;
    const ptrdiff_t shift = s->pad[x] - (ptrdiff_t)(tap_col * s->dilation[x]);
    for (size_t r = 0; r < block->rows; r++) {
        const ptrdiff_t row =
            (ptrdiff_t)((block->row + r) * s->stride[y] + tap_row * s->dilation[y]) - s->pad[y];
        if (row < 0 || row >= (ptrdiff_t)s->out[y]) {
            continue;
        }
        float *const to = plane + (size_t)row * s->out[x];
        const size_t at = r * block->cols;
        if (next != NULL) {
            add_alternating(to, product + at, next + at, block->col, block->cols, shift, s->out[x]);
        } else {
            add_strided(to, product + at, block->col, block->cols, s->stride[x], shift, s->out[x]);
        }
    }
}

/* What a task works on: channels of one group of one image. */
typedef struct transpose_job {
    const float *x, *weights; /* first channel of the group */
    float *y;                 /* first output channel of the task */
    size_t channels;          /* output channels of the task */
    size_t depth, in_pixels, out_pixels;
    float *panels, *products;
} transpose_job;

/* Multiplies one block of pixels with every channel block of the task and scatters the products. */
static void run_block(const ln_conv_f32_plan *plan, const transpose_job *job, const pixel_block *block) {
    const size_t pixels = block->rows * block->cols;
    const size_t width = plan->shape.in[ln_conv_axis(plan, 1)];
    const float *x = job->x + block->position * plan->plane_in + block->row * width + block->col;
    for (size_t p = 0; p < pixels; p += LN_TILE_COLS) {
        ln_tile_f32_pack_b(job->panels + p * job->depth, x + p, job->in_pixels, 1, job->depth,
                           ln_min_size(LN_TILE_COLS, pixels - p));
    }
    const ln_tile_f32_panels panels = {job->panels, LN_TILE_COLS, job->depth * LN_TILE_COLS};
    const ln_tile_f32_out out = {.c = job->products, .c_stride = pixels};
    const size_t taps = all_taps(&plan->shape), step = block_channels(&plan->shape);
    const size_t x_axis = ln_conv_axis(plan, 1), width_taps = plan->shape.kernel[x_axis];
    const bool pairs = plan->shape.stride[x_axis] == 2 && plan->shape.dilation[x_axis] == 1;
    const float *weights = job->weights;
    for (size_t channel = 0; channel < job->channels; channel += step) {
        const size_t m = ln_min_size(step, job->channels - channel) * taps;
        for (size_t t = 0; t < ln_tile_f32_count(m); t++) {
            const size_t row = ln_tile_f32_begin(m, t), rows = ln_tile_f32_begin(m, t + 1) - row;
            ln_tile_f32_run(&out, rows, job->depth, weights, 0, panels, row, 0, pixels);
            weights += rows * job->depth;
        }
        for (size_t row = 0; row < m; row++) {
            float *const to = job->y + (channel + row / taps) * job->out_pixels;
            const float *const product = job->products + row * pixels;
            const bool paired = pairs && row % taps % width_taps + 1 < width_taps;
            scatter(plan, block, row % taps, product, paired ? product + pixels : NULL, to);
            row += paired;
        }
    }
}

/* Bias comes first, residual and activation last, over whole channels. */
static void begin_channel(float *y, size_t count, float bias) {
    for (size_t i = 0; i < count; i++) {
        y[i] = bias;
    }
}

static void end_channel(float *y, size_t count, const ln_conv_f32_args *args, const float *residual) {
    if (residual != NULL && !args->residual_last) {
        for (size_t i = 0; i < count; i++) {
            y[i] += residual[i];
        }
    }
    const ln_activation_f32 activation = args->activation;
    if (activation.present) {
        ln_unary_f32[activation.kind](y, y, count, activation.alpha, activation.beta);
    }
    if (residual != NULL && args->residual_last) {
        for (size_t i = 0; i < count; i++) {
            y[i] += residual[i];
        }
    }
}

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *scratch) {
    const ln_conv_shape *s = &plan->shape;
    const size_t outputs = group_outputs(s), step = plan->tile_step * block_channels(s);
    const size_t channel = index % plan->tile_tasks * step;
    const size_t group = index / plan->tile_tasks % s->groups, batch = index / plan->tile_tasks / s->groups;
    transpose_job job = {.depth = s->in_channels / s->groups,
                         .channels = ln_min_size(step, outputs - channel)};
    job.in_pixels = plan->outer_in * plan->plane_in;
    job.out_pixels = plan->outer_out * plan->plane_out;
    job.x = args->x + (batch * s->in_channels + group * job.depth) * job.in_pixels;
    job.weights = args->w_packed + (group * outputs + channel) * all_taps(s) * job.depth;
    const size_t first = batch * s->out_channels + group * outputs + channel;
    job.y = args->y + first * job.out_pixels;
    job.panels = scratch;
    job.products =
        job.panels + job.depth * (ln_divide_up(plan->row_step * plan->col_step, LN_TILE_COLS) * LN_TILE_COLS);
    for (size_t i = 0; i < job.channels; i++) {
        begin_channel(job.y + i * job.out_pixels, job.out_pixels,
                      args->bias == NULL ? 0.0f : args->bias[group * outputs + channel + i]);
    }
    const size_t height = s->in[ln_conv_axis(plan, 0)], width = s->in[ln_conv_axis(plan, 1)];
    for (size_t position = 0; position < plan->outer_in; position++) {
        for (size_t row = 0; row < height; row += plan->row_step) {
            for (size_t col = 0; col < width; col += plan->col_step) {
                const pixel_block block = {position, row, ln_min_size(plan->row_step, height - row), col,
                                           ln_min_size(plan->col_step, width - col)};
                run_block(plan, &job, &block);
            }
        }
    }
    for (size_t i = 0; i < job.channels; i++) {
        const float *residual = args->residual == NULL ? NULL : args->residual + (first + i) * job.out_pixels;
        end_channel(job.y + i * job.out_pixels, job.out_pixels, args, residual);
    }
}

const ln_conv_f32_route ln_conv_transpose_f32_gemm = {
    .name = "f32_conv_transpose_gemm",
    .packed_bytes = packed_bytes,
    .pack = pack,
    .plan = make_plan,
    .task = task,
};
