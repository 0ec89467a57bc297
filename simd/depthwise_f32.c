/*
 * Depthwise convolution: each channel with a kernel of its own, no sum over channels.
 *
 * Kernels 3x3 and 5x5 with stride 1 or 2 (no dilation) use a rolling strip, four output columns wide, that
 * walks down the plane. A row of input is loaded once; its products with each row of the kernel are added to
 * the sums of the output rows it belongs to, which are carried from row to row:
 *
 *     input row t:   carried[2] + row 2 of kernel  ->  output row t - 2, finished
 *                    carried[1] + row 1 of kernel  ->  carried[2]
 *                    bias       + row 0 of kernel  ->  carried[1]
 *
 * So every output is ((bias + row 0) + row 1) + row 2 wherever tasks are cut. Strips that touch the left or
 * right padding shuffle zeros in; the last strip overlaps the one before it. Nothing is copied.
 *
 * Everything else works on a padded copy of the channel (conv_window_f32.h): blocks of four rows by eight
 * columns, or one row by 32, sum over all taps in registers.
 *
 * Weights are packed as they are, [channels][taps]. No read passes the end of an input.
 */
#include "conv_window_f32.h"
#include "tile_f32.h"

enum {
    WINDOW_ELEMS = 64 * 1024,       /* output elements of a channel that one task may have */
    MIN_TASK_PRODUCTS = 128 * 1024, /* of a task, unless there is no more */
    MAX_TASKS = 64,
    STRIP = 4
};

/* One channel of one task. */
typedef struct channel_job {
    const float *x, *w;
    float bias, limits[2];
    ln_tile_f32_out out; /* c is the output plane as one row of pixels */
    size_t height, width, out_height, out_width;
    ptrdiff_t pad_row, pad_col;
    size_t row_begin, row_end; /* output rows */
} channel_job;

/*
 * Where the vectors of a strip's row come from: an address in the row, and lanes that swizzle puts right or
 * to 0.
 */
typedef struct strip_edge {
    size_t at[5];
    ln_v8i lanes[5];
} strip_edge;

/*
 * The vectors begin at column `begin`, `step` columns apart; lanes outside [0, width) become 0, because
 * their index leaves 0..15. width is at least 4.
 */
LN_INLINE strip_edge edge_of(ptrdiff_t begin, size_t step, size_t vectors, size_t width) {
    static const int8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const ptrdiff_t last = (ptrdiff_t)width - STRIP;
    strip_edge edge;
    LN_LOOP_UNROLLED
    for (size_t v = 0; v < vectors; v++) {
        const ptrdiff_t first = begin + (ptrdiff_t)(v * step);
        const ptrdiff_t at = first < 0 ? 0 : first > last ? last : first;
        const ptrdiff_t shift = first - at;
        const int lanes = shift < -STRIP ? -STRIP : shift > STRIP ? STRIP : (int)shift;
        edge.at[v] = (size_t)at;
        const ln_v8i index = wasm_i8x16_add(wasm_v128_load(bytes), wasm_i8x16_splat((int8_t)(4 * lanes)));
        /* Indices from 16 on get their high bit, as the relaxed swizzle wants it. */
        const ln_v8i outside = wasm_u8x16_gt(index, wasm_i8x16_splat(15));
        edge.lanes[v] = wasm_v128_or(index, wasm_v128_and(outside, wasm_i8x16_splat(-128)));
    }
    return edge;
}

/* Bytes by index; those whose index has the high bit become 0. */
LN_INLINE ln_v8i zeroing_swizzle(ln_v8i bytes, ln_v8i lanes) {
#if LN_RELAXED && defined(__wasm__)
    return wasm_i8x16_relaxed_swizzle(bytes, lanes);
#else
    return wasm_i8x16_swizzle(bytes, lanes);
#endif
}

/* The columns that each tap of a kernel row meets, for four output columns. */
LN_INLINE void load_taps(const size_t kernel, const size_t stride, const bool edged, const float *row,
                         ptrdiff_t begin, const strip_edge *edge, ln_v32f taps[5]) {
    ln_v32f loaded[5];
    const size_t vectors = stride == 1 ? kernel : 3, step = stride == 1 ? 1 : 4;
    LN_LOOP_UNROLLED
    for (size_t v = 0; v < vectors; v++) {
        if (edged) {
            loaded[v] = zeroing_swizzle(ln_load(row + edge->at[v]), edge->lanes[v]);
        } else {
            loaded[v] = ln_load(row + begin + (ptrdiff_t)(v * step));
        }
    }
    if (stride == 1) {
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < kernel; v++) {
            taps[v] = loaded[v];
        }
        return;
    }
    taps[0] = wasm_i32x4_shuffle(loaded[0], loaded[1], 0, 2, 4, 6);
    taps[1] = wasm_i32x4_shuffle(loaded[0], loaded[1], 1, 3, 5, 7);
    taps[2] = wasm_i32x4_shuffle(taps[0], loaded[2], 1, 2, 3, 4);
    if (kernel == 5) {
        taps[3] = wasm_i32x4_shuffle(taps[1], loaded[2], 1, 2, 3, 5);
        taps[4] = wasm_i32x4_shuffle(taps[0], loaded[2], 2, 3, 4, 6);
    }
}

/* Finishes four sums. `limits` are the low and high clamp; a residual is added first if there is one. */
LN_INLINE void store_four(float *c, ln_v32f sum, const float *residual, const float *limits) {
    if (residual != NULL) {
        sum = ln_add(sum, ln_load(residual));
    }
    ln_store(c, ln_clamp_high(ln_clamp_low(sum, ln_load_splat(limits)), ln_load_splat(limits + 1)));
}

/* The same for a pixel of the job's plane. */
LN_INLINE void store_pixels(const channel_job *job, ln_v32f sum, size_t at) {
    const float *residual = job->out.residual == NULL ? NULL : job->out.residual + at;
    store_four(job->out.c + at, sum, residual, job->limits);
}

/*
 * A strip as it rolls. `w` holds a 3x3 kernel; a 5x5 kernel does not fit the registers and is read from
 * memory.
 */
typedef struct strip_state {
    ln_v32f w[9], carried[5];
} strip_state;

LN_INLINE ln_v32f strip_weight(const size_t kernel, const channel_job *job, const strip_state *state,
                               size_t i, size_t j) {
    return kernel == 3 ? state->w[3 * i + j] : ln_load_splat(job->w + i * kernel + j);
}

/*
 * Adds one input row to the sums it belongs to, those of the kernel rows that fall on this phase of the
 * stride. Returns the finished sum where the last kernel row is among them. Without `taps` the row is
 * padding.
 */
LN_INLINE ln_v32f roll(const size_t kernel, const size_t stride, const size_t phase, const channel_job *job,
                       strip_state *state, const ln_v32f *taps) {
    ln_v32f finished = ln_zero();
    LN_LOOP_UNROLLED
    for (size_t down = 0; down < kernel; down++) {
        const size_t i = kernel - 1 - down;
        if (i % stride != phase) {
            continue;
        }
        ln_v32f sum = i == 0 ? ln_load_splat(&job->bias) : state->carried[i];
        if (taps != NULL) {
            ln_v32f products = ln_mul(taps[0], strip_weight(kernel, job, state, i, 0));
            LN_LOOP_UNROLLED
            for (size_t j = 1; j < kernel; j++) {
                products = ln_madd(products, taps[j], strip_weight(kernel, job, state, i, j));
            }
            sum = ln_add(sum, products);
        }
        if (i + 1 < kernel) {
            state->carried[i + 1] = sum;
        } else {
            finished = sum;
        }
    }
    return finished;
}

/* One group of `stride` input rows, any of which may be padding, and the output row they finish, if any. */
LN_INLINE void roll_checked(const size_t kernel, const size_t stride, const bool edged,
                            const channel_job *job, strip_state *state, ptrdiff_t begin,
                            const strip_edge *edge, ptrdiff_t row, float *c, const float *residual) {
    LN_LOOP_UNROLLED
    for (size_t phase = 0; phase < stride; phase++, row++) {
        const bool inside = row >= 0 && row < (ptrdiff_t)job->height;
        ln_v32f taps[5], finished;
        if (inside) {
            load_taps(kernel, stride, edged, job->x + (size_t)row * job->width, begin, edge, taps);
            finished = roll(kernel, stride, phase, job, state, taps);
        } else {
            finished = roll(kernel, stride, phase, job, state, NULL);
        }
        if (phase == (kernel - 1) % stride && c != NULL) {
            store_four(c, finished, residual, job->limits);
        }
    }
}

/*
 * Four output columns from `col`, all rows of the job. Groups of `stride` rows before the plane, at its end,
 * and before the first output go through roll_checked; the loop in the middle asks nothing.
 */
LN_INLINE void strip(const size_t kernel, const size_t stride, const bool edged, const channel_job *job,
                     size_t col) {
    strip_state state;
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 9; i++) {
        state.w[i] = kernel == 3 ? ln_load_splat(job->w + i) : ln_zero();
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 5; i++) {
        state.carried[i] = ln_zero();
    }
    const ptrdiff_t begin = (ptrdiff_t)(col * stride) - job->pad_col, height = (ptrdiff_t)job->height;
    const strip_edge edge = edged ? edge_of(begin, stride == 1 ? 1 : 4, stride == 1 ? kernel : 3, job->width)
                                  : (strip_edge){.at = {0}};
    const size_t width = job->width, out_width = job->out_width, warm_up = (kernel - 1) / stride;
    const size_t groups = job->row_end - job->row_begin + warm_up;
    const size_t first = job->row_begin * out_width + col;
    ptrdiff_t row = (ptrdiff_t)(job->row_begin * stride) - job->pad_row;
    for (size_t group = 0; group < groups;) {
        float *c = group < warm_up ? NULL : job->out.c + first + (group - warm_up) * out_width;
        const float *residual = c == NULL || job->out.residual == NULL
                                    ? NULL
                                    : job->out.residual + first + (group - warm_up) * out_width;
        const ptrdiff_t left = row < 0 ? 0 : (height - row) / (ptrdiff_t)stride;
        size_t quick = left <= 0 || c == NULL          ? 0
                       : (size_t)left < groups - group ? (size_t)left
                                                       : groups - group;
        if (quick == 0) {
            roll_checked(kernel, stride, edged, job, &state, begin, &edge, row, c, residual);
            row += (ptrdiff_t)stride;
            group++;
            continue;
        }
        const float *x = job->x + (size_t)row * width + (edged ? 0 : begin), *const limits = job->limits;
        const size_t residual_step = residual == NULL ? 0 : out_width;
        const float *addend = residual == NULL ? c : residual;
        const bool add = residual != NULL;
        row += (ptrdiff_t)(quick * stride);
        group += quick;
        do {
            LN_LOOP_UNROLLED
            for (size_t phase = 0; phase < stride; phase++) {
                ln_v32f taps[5];
                load_taps(kernel, stride, edged, x, 0, &edge, taps);
                const ln_v32f finished = roll(kernel, stride, phase, job, &state, taps);
                if (phase == (kernel - 1) % stride) {
                    store_four(c, finished, add ? addend : NULL, limits);
                }
                x += width;
            }
            c += out_width;
            addend += residual_step;
        } while (--quick > 0);
    }
}

typedef void strip_fn(const channel_job *job, size_t col);

#define STRIP_FUNCTION(name, kernel, stride, edged)                                                          \
    static LN_NOINLINE void name(const channel_job *job, size_t col) {                                       \
        strip(kernel, stride, edged, job, col);                                                              \
    }

STRIP_FUNCTION(strip_3x3s1, 3, 1, false)
STRIP_FUNCTION(strip_3x3s2, 3, 2, false)
STRIP_FUNCTION(strip_5x5s1, 5, 1, false)
STRIP_FUNCTION(strip_5x5s2, 5, 2, false)
STRIP_FUNCTION(edge_3x3s1, 3, 1, true)
STRIP_FUNCTION(edge_3x3s2, 3, 2, true)
STRIP_FUNCTION(edge_5x5s1, 5, 1, true)
STRIP_FUNCTION(edge_5x5s2, 5, 2, true)

/* `reach` is how many columns of input a strip inside the plane loads. */
typedef struct strip_kernel {
    size_t kernel, stride, reach;
    strip_fn *inner, *edge;
} strip_kernel;

static const strip_kernel strip_kernels[] = {
    {3, 1, 6, strip_3x3s1, edge_3x3s1},
    {3, 2, 12, strip_3x3s2, edge_3x3s2},
    {5, 1, 8, strip_5x5s1, edge_5x5s1},
    {5, 2, 12, strip_5x5s2, edge_5x5s2},
};

/* The strip for a plan's kernel, or NULL when none fits. Planes narrower than a strip have none. */
static const strip_kernel *strip_for(const ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    if (s->in[x] < STRIP || s->out[x] < STRIP || s->dilation[y] != 1 || s->dilation[x] != 1) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof strip_kernels / sizeof *strip_kernels; i++) {
        const strip_kernel *candidate = &strip_kernels[i];
        if (s->kernel[y] == candidate->kernel && s->kernel[x] == candidate->kernel &&
            s->stride[y] == candidate->stride && s->stride[x] == candidate->stride) {
            return candidate;
        }
    }
    return NULL;
}

/*
 * Reads one float of every cache line, in order, so that the hardware prefetches the rest. Strips go down
 * the plane, which it does not foresee.
 */
static LN_NOINLINE void touch(const float *p, size_t count) {
    for (size_t i = 0; i < count; i += 16) {
        (void)*(const volatile float *)(p + i);
    }
}

static void run_strips(const strip_kernel *kernel, const channel_job *job) {
    for (size_t col = 0; col < job->out_width; col += STRIP) {
        const size_t at = job->out_width - col < STRIP ? job->out_width - STRIP : col;
        const ptrdiff_t begin = (ptrdiff_t)(at * kernel->stride) - job->pad_col;
        const bool inner = begin >= 0 && begin + (ptrdiff_t)kernel->reach <= (ptrdiff_t)job->width;
        (inner ? kernel->inner : kernel->edge)(job, at);
    }
}

/* What the blocks of the general form sum over. */
typedef struct block_taps {
    const size_t *offsets;
    size_t taps, row_stride; /* from one output row to the next, in the copy */
} block_taps;

/* rows x (4 * vectors) outputs, of which `count` columns exist in the last vector. */
LN_INLINE void block(const size_t rows, const size_t vectors, const channel_job *job, const block_taps *taps,
                     const float *pixel, size_t row, size_t col, size_t count) {
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
                const ln_v32f x = count == 4 ? ln_load(from + 4 * j) : ln_load_part(from + 4 * j, count);
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

typedef void block_fn(const channel_job *job, const block_taps *taps, const float *pixel, size_t row,
                      size_t col);

#define BLOCK_FUNCTION(name, rows, vectors)                                                                  \
    static LN_NOINLINE void name(const channel_job *job, const block_taps *taps, const float *pixel,         \
                                 size_t row, size_t col) {                                                   \
        block(rows, vectors, job, taps, pixel, row, col, 4);                                                 \
    }

BLOCK_FUNCTION(block_4x8, 4, 2)
BLOCK_FUNCTION(block_4x4, 4, 1)
BLOCK_FUNCTION(block_1x32, 1, 8)
BLOCK_FUNCTION(block_1x4, 1, 1)

static LN_NOINLINE void block_part(const channel_job *job, const block_taps *taps, const float *pixel,
                                   size_t row, size_t col, size_t count) {
    block(1, 1, job, taps, pixel, row, col, count);
}

/* A band of `rows` output rows, 4 or 1, as wide blocks and then narrow ones, the last overlapping. */
static void run_band(const channel_job *job, const block_taps *taps, const float *first, size_t rows,
                     size_t row) {
    const size_t width = job->out_width, wide = rows == 4 ? 8 : 32;
    block_fn *const wide_fn = rows == 4 ? block_4x8 : block_1x32;
    block_fn *const narrow_fn = rows == 4 ? block_4x4 : block_1x4;
    size_t col = 0;
    if (width < STRIP) {
        for (size_t i = 0; i < rows; i++) {
            block_part(job, taps, first + i * taps->row_stride, row + i, 0, width);
        }
        return;
    }
    for (; width - col >= wide; col += wide) {
        wide_fn(job, taps, first + col, row, col);
    }
    for (; col < width; col += STRIP) {
        const size_t at = width - col < STRIP ? width - STRIP : col;
        narrow_fn(job, taps, first + at, row, at);
    }
}

static void run_blocks(const ln_conv_f32_plan *plan, const channel_job *job, const ln_conv_view *view,
                       const size_t *offsets) {
    const block_taps taps = {offsets, plan->taps, view->row_advance * view->row_stride};
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

static channel_job job_for(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t batch,
                           size_t channel) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    const size_t at = batch * s->out_channels + channel;
    const float *residual = args->residual == NULL ? NULL : args->residual + at * plan->plane_out;
    channel_job job = {
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

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *memory) {
    const ln_conv_shape *s = &plan->shape;
    const size_t row = index % plan->row_tasks * plan->row_step;
    const size_t first = index / plan->row_tasks % plan->group_tasks * plan->group_step;
    const size_t batch = index / plan->row_tasks / plan->group_tasks;
    const strip_kernel *kernel = strip_for(plan);
    for (size_t channel = first; channel < s->groups && channel < first + plan->group_step; channel++) {
        channel_job job = job_for(plan, args, batch, channel);
        job.row_begin = row;
        job.row_end = job.out_height - row < plan->row_step ? job.out_height : row + plan->row_step;
        if (kernel != NULL) {
            touch(job.x, plan->plane_in);
            touch(job.out.c, plan->plane_out);
            run_strips(kernel, &job);
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
        const size_t elems = ln_saturating_add(ln_conv_window_elems(&window), offsets_elems(plan));
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
