/*
 * Depthwise convolution: each channel with a kernel of its own, no sum over channels.
 *
 * The usual kernels roll down the plane in strips (depthwise_strip_f32.c), which copies nothing. Everything
 * else works on a padded copy of the channel (conv_window_f32.h): blocks of four rows by eight columns, or
 * one row by 32, sum over all taps in registers.
 *
 * Weights are packed as they are, [channels][taps]. No read passes the end of an input by more than 16 bytes.
 */
#include "depthwise_f32.h"

enum {
    WINDOW_ELEMS = 64 * 1024,       /* output elements of a channel that one task may have */
    MIN_TASK_PRODUCTS = 128 * 1024, /* of a task, unless there is no more */
    MAX_TASKS = 64,
    NARROW = 4,        /* columns of the narrowest block */
    SMALL_PLANE = 1024 /* elements that need no prefetching */
};

/* The same for a pixel of the job's plane. */
LN_INLINE void store_pixels(const ln_depthwise_job *job, ln_v32f sum, size_t at) {
    const float *residual = job->out.residual == NULL ? NULL : job->out.residual + at;
    ln_depthwise_store(job->out.c + at, sum, residual, job->limits);
}

/*
 * Reads one float of every cache line of a larger plane, in order, so that the hardware prefetches the rest. Strips go
 * down the plane, which it does not foresee.
 */
static LN_NOINLINE void touch(const float *p, size_t count) {
    for (size_t i = 0; count > SMALL_PLANE && i < count; i += 16) {
        (void)*(const volatile float *)(p + i);
    }
}

/* What the blocks of the general form sum over. */
typedef struct block_taps {
    const size_t *offsets;
    size_t taps, row_stride; /* from one output row to the next, in the copy */
    bool copied;             /* so that vectors may pass the end of a row */
} block_taps;

/* rows x (4 * vectors) outputs, of which `count` columns exist in the last vector; what is read past them is not used. */
LN_INLINE void block(const size_t rows, const size_t vectors, const ln_depthwise_job *job,
                     const block_taps *taps, const float *pixel, size_t row, size_t col, size_t count) {
    ln_v32f sum[4][8];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            sum[i][j] = ln_load_splat(&job->bias);
        }
    }
    LN_LOOP_ROLLED
    for (size_t t = 0; t < taps->taps; t++) {
        const ln_v32f weight = ln_load_splat(job->w + t);
        const float *from = pixel + taps->offsets[t];
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                const bool whole = count == 4 || taps->copied;
                const ln_v32f x = whole ? ln_load(from + 4 * j) : ln_load_part(from + 4 * j, count);
                sum[i][j] = ln_madd(sum[i][j], weight, x);
            }
            from += taps->row_stride;
        }
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            if (count == 4) {
                store_pixels(job, sum[i][j], (row + i) * job->out_width + col + 4 * j);
            } else {
                ln_tile_f32_store(&job->out, sum[i][j], 0, (row + i) * job->out_width + col, count);
            }
        }
    }
}

typedef void block_fn(const ln_depthwise_job *job, const block_taps *taps, const float *pixel, size_t row,
                      size_t col);

#define BLOCK_FUNCTION(name, rows, vectors)                                                                  \
    static LN_NOINLINE void name(const ln_depthwise_job *job, const block_taps *taps, const float *pixel,    \
                                 size_t row, size_t col) {                                                   \
        block(rows, vectors, job, taps, pixel, row, col, 4);                                                 \
    }

BLOCK_FUNCTION(block_4x8, 4, 2)
BLOCK_FUNCTION(block_4x4, 4, 1)
BLOCK_FUNCTION(block_1x32, 1, 8)
BLOCK_FUNCTION(block_1x4, 1, 1)

static LN_NOINLINE void block_part(const ln_depthwise_job *job, const block_taps *taps, const float *pixel,
                                   size_t row, size_t col, size_t count) {
    block(1, 1, job, taps, pixel, row, col, count);
}

/* A band of `rows` output rows, 4 or 1, as wide blocks and then narrow ones, the last overlapping. */
static void run_band(const ln_depthwise_job *job, const block_taps *taps, const float *first, size_t rows,
                     size_t row) {
    const size_t width = job->out_width, wide = rows == 4 ? 8 : 32;
    block_fn *const wide_fn = rows == 4 ? block_4x8 : block_1x32;
    block_fn *const narrow_fn = rows == 4 ? block_4x4 : block_1x4;
    size_t col = 0;
    if (width < NARROW) {
        for (size_t i = 0; i < rows; i++) {
            block_part(job, taps, first + i * taps->row_stride, row + i, 0, width);
        }
        return;
    }
    for (; width - col >= wide; col += wide) {
        wide_fn(job, taps, first + col, row, col);
    }
    for (; col < width; col += NARROW) {
        const size_t at = width - col < NARROW ? width - NARROW : col;
        narrow_fn(job, taps, first + at, row, at);
    }
}

static void run_blocks(const ln_conv_f32_plan *plan, const ln_depthwise_job *job, const ln_conv_view *view,
                       const size_t *offsets) {
    const block_taps taps = {offsets, plan->taps, view->row_advance * view->row_stride,
                             view->phase_stride != 0};
    const size_t rows = job->row_end - job->row_begin;
    for (size_t row = 0; row < rows;) {
        const size_t band = rows >= 4 ? 4 : 1;
        const size_t at = rows - row < band ? rows - band : row;
        run_band(job, &taps, view->base + at * taps.row_stride, band, job->row_begin + at);
        row = at + band;
    }
}

/* Scratch of the general form: tap offsets, then the copy of a channel's window. */
static size_t offsets_elems(const ln_conv_f32_plan *plan) {
    return ln_divide_up(plan->taps * sizeof(size_t), 64) * 16;
}

static ln_depthwise_job job_for(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t batch,
                                size_t channel) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    const size_t at = batch * s->out_channels + channel;
    const float *residual = args->residual == NULL ? NULL : args->residual + at * plan->plane_out;
    ln_depthwise_job job = {
        .x = args->x + at * plan->plane_in,
        .w = args->w_packed + channel * plan->taps,
        .bias = args->bias == NULL ? 0.0f : args->bias[channel],
        .out = ln_tile_f32_output(args->activation, residual, args->residual_last),
        .height = s->in[y],
        .width = s->in[x],
        .out_height = s->out[y],
        .out_width = s->out[x],
        .pad_row = s->pad[y],
        .pad_col = s->pad[x],
    };
    job.out.c = args->y + at * plan->plane_out;
    job.limits[0] = job.out.low;
    job.limits[1] = job.out.high;
    return job;
}

static const ln_depthwise_strip *strip_for(const ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    const ln_depthwise_window window = {s->kernel[y], s->kernel[x], s->stride[y],
                                        s->stride[x], s->in[x],     s->out[x]};
    return s->dilation[y] == 1 && s->dilation[x] == 1 ? ln_depthwise_strip_for(&window) : NULL;
}

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *memory) {
    const ln_conv_shape *s = &plan->shape;
    const size_t row = index % plan->row_tasks * plan->row_step;
    const size_t first = index / plan->row_tasks % plan->group_tasks * plan->group_step;
    const size_t batch = index / plan->row_tasks / plan->group_tasks;
    const ln_depthwise_strip *strip = strip_for(plan);
    for (size_t channel = first; channel < s->groups && channel < first + plan->group_step; channel++) {
        ln_depthwise_job job = job_for(plan, args, batch, channel);
        job.row_begin = row;
        job.row_end = job.out_height - row < plan->row_step ? job.out_height : row + plan->row_step;
        if (strip != NULL) {
            touch(job.x, plan->plane_in);
            touch(job.out.c, plan->plane_out);
            ln_depthwise_run_strips(strip, &job);
        } else {
            const ln_conv_region region = {.row = row, .rows = job.row_end - row, .cols = job.out_width};
            float *const copy = (float *)memory + offsets_elems(plan);
            const ln_conv_view view = ln_conv_view_of(plan, &region, job.x, 0, 1, copy);
            ln_conv_tap_offsets(plan, &view, memory);
            run_blocks(plan, &job, &view, memory);
        }
        ln_tile_f32_rest(&job.out, 0, 1, row * job.out_width, (job.row_end - row) * job.out_width);
    }
}

static void make_plan(ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t height = s->out[ln_conv_axis(plan, 0)], width = s->out[ln_conv_axis(plan, 1)];
    const size_t rows = WINDOW_ELEMS / width;
    plan->row_tasks = rows >= height ? 1 : ln_divide_up(height, rows < 1 ? 1 : rows);
    plan->row_step = ln_divide_up(height, plan->row_tasks);
    plan->row_tasks = ln_divide_up(height, plan->row_step);
    const double products = (double)plan->row_step * (double)width * (double)plan->taps;
    const double least = (double)MIN_TASK_PRODUCTS / (products + 1.0);
    const size_t most =
        ln_divide_up(s->groups, ln_divide_up(MAX_TASKS, ln_saturating_mul(plan->row_tasks, s->batch)));
    plan->group_step = least > (double)most ? (size_t)least : most;
    plan->group_step = plan->group_step < 1 ? 1 : plan->group_step;
    plan->group_tasks = ln_divide_up(s->groups, plan->group_step);
    plan->task_count = ln_saturating_mul(ln_saturating_mul(plan->row_tasks, plan->group_tasks), s->batch);
    if (strip_for(plan) == NULL) {
        const ln_conv_region region = {.rows = plan->row_step, .cols = width};
        const ln_conv_window window = ln_conv_window_of(plan, &region);
        const size_t elems = ln_saturating_add(ln_conv_window_elems(&window), offsets_elems(plan) + NARROW);
        plan->scratch_bytes = ln_saturating_mul(elems, sizeof(float));
    }
}

static size_t packed_bytes(const ln_conv_shape *shape) {
    size_t bytes = ln_saturating_mul(shape->out_channels, sizeof(float));
    for (size_t i = 0; i < shape->rank; i++) {
        bytes = ln_saturating_mul(bytes, shape->kernel[i]);
    }
    return bytes;
}

static void pack(const ln_conv_shape *shape, float *packed, const float *w) {
    memcpy(packed, w, packed_bytes(shape));
}

const ln_conv_f32_route ln_conv_f32_depthwise = {
    .name = LN_RELAXED ? "f32_conv_depthwise__relaxed" : "f32_conv_depthwise__simd",
    .packed_bytes = packed_bytes,
    .pack = pack,
    .plan = make_plan,
    .task = task,
};
