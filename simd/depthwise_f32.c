/*
 * Depthwise convolution: each channel with a kernel of its own, no sum over channels.
 *
 * The usual kernels of 3x3 read the input where it lies (depthwise_3x3_f32.c). Everything else works on a padded copy of
 * the channel (conv_window_f32.h), in one of two ways. Blocks of four rows by eight columns, or one row by 32, sum over
 * all taps in registers. Kernels of five rows with stride 1 roll down the plane in strips of two vectors: an input row is
 * loaded once and goes into the sums of all five output rows it belongs to, which move up by one from row to row. That
 * takes seven loads for ten products, where blocks take nine for eight.
 *
 * Weights are packed as they are, [channels][taps]; a task spreads each over a vector. No read passes the end of an input
 * by more than 16 bytes.
 */
#include "depthwise_f32.h"

#include <math.h>

enum {
    WINDOW_ELEMS = 64 * 1024,       /* output elements of a channel that one task may have */
    MIN_TASK_PRODUCTS = 128 * 1024, /* of a task, unless there is no more */
    MAX_TASKS = 64,
    NARROW = 4,     /* columns of the narrowest block */
    ROLLED_ROWS = 5 /* of a kernel that rolls */
};

/* What the kernels of the general form work on: a channel, as a task sees it. */
typedef struct general_form {
    const float *base;     /* what tap 0 of the first output meets */
    size_t row_stride;     /* from one output row to the next, in the copy */
    const size_t *offsets; /* where each tap meets its input */
    const float *weights; /* a vector for each tap; those of a column stand together where the kernel rolls */
    size_t taps;
    size_t tap_step;           /* from one tap of a row to the next, where the kernel rolls */
    size_t begin_row, end_row; /* rows of the window that are not padding */
    bool copied;               /* so that vectors may pass the end of a row */
} general_form;

/* Stores one vector of a job's plane. */
LN_INLINE void store_pixels(const ln_depthwise_job *job, ln_v32f sum, size_t at) {
    const float *residual = job->out.residual == NULL ? NULL : job->out.residual + at;
    ln_depthwise_store(job, job->out.c + at, sum, residual);
}

/* rows x (4 * vectors) outputs, of which `count` columns exist in the last vector; what is read past them is not used. */
LN_INLINE void block(const size_t rows, const size_t vectors, const ln_depthwise_job *job,
                     const general_form *form, const float *pixel, size_t row, size_t col, size_t count) {
    ln_v32f sum[4][8];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            sum[i][j] = job->bias;
        }
    }
    const size_t *offsets = form->offsets;
    const float *w = form->weights;
    const size_t row_stride = form->row_stride;
    LN_LOOP_ROLLED
    for (size_t t = form->taps; t > 0; t--) {
        const ln_v32f weight = ln_load(w);
        const float *from = pixel + *offsets++;
        w += 4;
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                const bool whole = count == 4 || form->copied;
                const ln_v32f x = whole ? ln_load(from + 4 * j) : ln_load_part(from + 4 * j, count);
                sum[i][j] = ln_madd(sum[i][j], weight, x);
            }
            from += row_stride;
        }
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            const size_t at = (row + i) * job->shape.out_width + col + 4 * j;
            if (count == 4) {
                store_pixels(job, sum[i][j], at);
            } else {
                ln_tile_f32_store(&job->out, sum[i][j], 0, at, count);
            }
        }
    }
}

typedef void block_fn(const ln_depthwise_job *job, const general_form *form, const float *pixel, size_t row,
                      size_t col);

#define BLOCK_FUNCTION(name, rows, vectors)                                                                  \
    static LN_NOINLINE void name(const ln_depthwise_job *job, const general_form *form, const float *pixel,  \
                                 size_t row, size_t col) {                                                   \
        block(rows, vectors, job, form, pixel, row, col, 4);                                                 \
    }

BLOCK_FUNCTION(block_4x8, 4, 2)
BLOCK_FUNCTION(block_4x4, 4, 1)
BLOCK_FUNCTION(block_1x32, 1, 8)
BLOCK_FUNCTION(block_1x4, 1, 1)

static LN_NOINLINE void block_part(const ln_depthwise_job *job, const general_form *form, const float *pixel,
                                   size_t row, size_t col, size_t count) {
    block(1, 1, job, form, pixel, row, col, count);
}

/* A band of `rows` output rows, 4 or 1, as wide blocks and then narrow ones, the last overlapping. */
static void run_band(const ln_depthwise_job *job, const general_form *form, const float *first, size_t rows,
                     size_t row) {
    const size_t width = job->shape.out_width, wide = rows == 4 ? 8 : 32;
    block_fn *const wide_fn = rows == 4 ? block_4x8 : block_1x32;
    block_fn *const narrow_fn = rows == 4 ? block_4x4 : block_1x4;
    if (width < NARROW) {
        for (size_t i = 0; i < rows; i++) {
            block_part(job, form, first + i * form->row_stride, row + i, 0, width);
        }
        return;
    }
    for (size_t col = 0; col < width;) {
        const size_t left = width - col;
        const bool is_wide = left >= wide || (left > wide / 2 && width >= wide);
        const size_t columns = is_wide ? wide : NARROW, at = left < columns ? width - columns : col;
        (is_wide ? wide_fn : narrow_fn)(job, form, first + at, row, at);
        col = at + columns;
    }
}

static void run_blocks(const ln_depthwise_job *job, const general_form *form) {
    const size_t rows = job->row_end - job->row_begin;
    for (size_t row = 0; row < rows;) {
        const size_t band = rows >= 4 ? 4 : 1;
        const size_t at = rows - row < band ? rows - band : row;
        run_band(job, form, form->base + at * form->row_stride, band, job->row_begin + at);
        row = at + band;
    }
}

/* All rows of a strip of 4 * vectors columns. */
LN_INLINE void roll(const size_t vectors, const ln_depthwise_job *job, const general_form *form, size_t col) {
    const size_t newest = ROLLED_ROWS - 1, width = job->shape.out_width, at = job->row_begin * width + col;
    const size_t rows = job->row_end - job->row_begin + newest, taps = form->taps / ROLLED_ROWS;
    const size_t row_stride = form->row_stride, tap_step = form->tap_step, end = form->end_row;
    const bool adds = job->out.residual != NULL;
    const float *addend = adds ? job->out.residual + at : job->out.c, *const weights = form->weights;
    float *c = job->out.c + at;
    ln_v32f sums[ROLLED_ROWS][2];
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < ROLLED_ROWS; i++) {
        sums[i][0] = sums[i][1] = job->bias;
    }
    /* Rows of padding before the first output change nothing. */
    size_t row = ln_min_size(form->begin_row, newest);
    const float *x = form->base + row * row_stride + col;
    LN_LOOP_ROLLED
    for (; row < rows; row++) {
        const float *w = weights, *from = x;
        LN_LOOP_ROLLED
        for (size_t t = row < end ? taps : 0; t > 0; t--) {
            ln_v32f pixels[2];
            LN_LOOP_UNROLLED
            for (size_t v = 0; v < vectors; v++) {
                pixels[v] = ln_load(from + 4 * v);
            }
            from += tap_step;
            LN_LOOP_UNROLLED
            for (size_t i = 0; i < ROLLED_ROWS; i++) {
                const ln_v32f weight = ln_load(w + 4 * i);
                LN_LOOP_UNROLLED
                for (size_t v = 0; v < vectors; v++) {
                    sums[newest - i][v] = ln_madd(sums[newest - i][v], pixels[v], weight);
                }
            }
            w += 4 * ROLLED_ROWS;
        }
        x += row_stride;
        if (row >= newest) {
            LN_LOOP_UNROLLED
            for (size_t v = 0; v < vectors; v++) {
                ln_depthwise_store(job, c + 4 * v, sums[0][v], adds ? addend + 4 * v : NULL);
            }
            c += width;
            addend += adds ? width : 0;
        }
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < vectors; v++) {
            LN_LOOP_UNROLLED
            for (size_t i = 0; i < newest; i++) {
                sums[i][v] = sums[i + 1][v];
            }
            sums[newest][v] = job->bias;
        }
    }
}

static LN_NOINLINE void roll_8(const ln_depthwise_job *job, const general_form *form, size_t col) {
    roll(2, job, form, col);
}

static LN_NOINLINE void roll_4(const ln_depthwise_job *job, const general_form *form, size_t col) {
    roll(1, job, form, col);
}

static void run_rolls(const ln_depthwise_job *job, const general_form *form) {
    const size_t width = job->shape.out_width;
    for (size_t col = 0; col < width;) {
        const size_t left = width - col;
        const bool wide = left > NARROW && width >= 8;
        const size_t columns = wide ? 8 : NARROW, at = left < columns ? width - columns : col;
        (wide ? roll_8 : roll_4)(job, form, at);
        col = at + columns;
    }
}

/* Whether a kernel rolls; narrow planes take blocks. */
static bool rolls(const ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    return s->kernel[y] == ROLLED_ROWS && s->stride[y] == 1 && s->stride[x] == 1 && s->dilation[y] == 1 &&
           s->out[x] >= NARROW;
}

static ln_strip_shape shape_of(const ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    return (ln_strip_shape){s->in[y],     s->in[x],     s->out[y], s->out[x], s->kernel[y],
                            s->stride[y], s->stride[x], s->pad[y], s->pad[x]};
}

static ln_depthwise_3x3_fn *direct_for(const ln_conv_f32_plan *plan, float low, float high) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    const ln_strip_shape shape = shape_of(plan);
    const bool usual = s->kernel[y] == 3 && s->kernel[x] == 3 && s->dilation[y] == 1 && s->dilation[x] == 1;
    return usual ? ln_depthwise_3x3_for(&shape, low != -INFINITY, high != INFINITY) : NULL;
}

/* The job of channel `at`, counted over the batch. */
static ln_depthwise_job job_for(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t at) {
    const float *residual = args->residual == NULL ? NULL : args->residual + at * plan->plane_out;
    ln_depthwise_job job = {
        .shape = shape_of(plan),
        .x = args->x + at * plan->plane_in,
        .w = args->w_packed + at % plan->shape.groups * plan->taps,
        .out = ln_tile_f32_output(args->activation, residual, args->residual_last),
    };
    job.out.c = args->y + at * plan->plane_out;
    job.low = ln_splat(job.out.low);
    job.high = ln_splat(job.out.high);
    return job;
}

/* Applies what the kernels leave undone, and goes on to the next channel. */
static void finish_channel(const ln_conv_f32_plan *plan, ln_depthwise_job *job) {
    const size_t width = job->shape.out_width;
    ln_tile_f32_rest(&job->out, 0, 1, job->row_begin * width, (job->row_end - job->row_begin) * width);
    job->x += plan->plane_in;
    job->w += plan->taps;
    job->out.c += plan->plane_out;
    if (job->out.residual != NULL) {
        job->out.residual += plan->plane_out;
    }
    if (job->out.residual_after != NULL) {
        job->out.residual_after += plan->plane_out;
    }
}

/* Scratch of the general form: tap offsets and weights, then the copy of a channel's window. */
static size_t offsets_elems(const ln_conv_f32_plan *plan) {
    return ln_divide_up(plan->taps * sizeof(size_t), 16) * 4;
}

static size_t scratch_elems(const ln_conv_f32_plan *plan) {
    const ln_conv_region region = {.rows = plan->row_step, .cols = plan->shape.out[ln_conv_axis(plan, 1)]};
    const ln_conv_window window = ln_conv_window_of(plan, &region);
    const size_t tables = ln_saturating_add(offsets_elems(plan), ln_saturating_mul(4, plan->taps));
    return ln_saturating_add(ln_conv_window_elems(&window), ln_saturating_add(tables, NARROW));
}

/* Spreads a channel's weights; those of a column stand together where the kernel rolls. */
static void spread_weights(const ln_conv_f32_plan *plan, float *to, const float *w) {
    const size_t rows = rolls(plan) ? ROLLED_ROWS : 1, cols = plan->taps / rows;
    for (size_t j = 0; j < cols; j++) {
        for (size_t i = 0; i < rows; i++, to += 4) {
            ln_store(to, ln_load_splat(w + i * cols + j));
        }
    }
}

/* The channels of a task in the general form, `count` from the job's on. */
static void run_general(const ln_conv_f32_plan *plan, ln_depthwise_job *job, const float *bias, size_t count,
                        void *memory) {
    const ln_conv_region region = {
        .row = job->row_begin, .rows = job->row_end - job->row_begin, .cols = job->shape.out_width};
    const ln_conv_window window = ln_conv_window_of(plan, &region);
    float *const weights = (float *)memory + offsets_elems(plan), *const copy = weights + 4 * plan->taps;
    const ln_conv_view view = ln_conv_view_of(plan, &region, job->x, 0, 1, copy);
    general_form form = {.base = view.base, .offsets = memory, .weights = weights, .taps = plan->taps};
    form.row_stride = view.row_advance * view.row_stride;
    const size_t height = job->shape.height;
    form.tap_step = plan->shape.dilation[ln_conv_axis(plan, 1)];
    form.begin_row = window.row < 0 ? (size_t)-window.row : 0;
    form.end_row = (size_t)((ptrdiff_t)height - window.row);
    form.copied = view.base == copy;
    ln_conv_tap_offsets(plan, &view, memory);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && form.copied) {
            /* What is padding stays so. */
            ln_conv_copy_window(copy, job->x, &window, height, job->shape.width);
        }
        job->bias = bias == NULL ? ln_zero() : ln_load_splat(bias + i);
        spread_weights(plan, weights, job->w);
        (rolls(plan) ? run_rolls : run_blocks)(job, &form);
        finish_channel(plan, job);
        form.base += form.copied ? 0 : plan->plane_in;
    }
}

static void run_direct(const ln_conv_f32_plan *plan, ln_depthwise_job *job, const float *bias, size_t count,
                       ln_depthwise_3x3_fn *direct) {
    for (size_t i = 0; i < count; i++) {
        job->bias = bias == NULL ? ln_zero() : ln_load_splat(bias + i);
        direct(job);
        finish_channel(plan, job);
    }
}

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *memory) {
    const ln_conv_shape *s = &plan->shape;
    const size_t row = index % plan->row_tasks * plan->row_step;
    const size_t first = index / plan->row_tasks % plan->group_tasks * plan->group_step;
    const size_t batch = index / plan->row_tasks / plan->group_tasks;
    const size_t count = ln_min_size(s->groups - first, plan->group_step);
    ln_depthwise_job job = job_for(plan, args, batch * s->groups + first);
    ln_depthwise_3x3_fn *const direct = direct_for(plan, job.out.low, job.out.high);
    job.row_begin = row;
    job.row_end = row + ln_min_size(job.shape.out_height - row, plan->row_step);
    const float *bias = args->bias == NULL ? NULL : args->bias + first;
    if (direct != NULL) {
        run_direct(plan, &job, bias, count, direct);
    } else {
        run_general(plan, &job, bias, count, memory);
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
    if (direct_for(plan, -INFINITY, INFINITY) == NULL) {
        plan->scratch_bytes = ln_saturating_mul(scratch_elems(plan), sizeof(float));
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
