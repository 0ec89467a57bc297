/*
 * Winograd's form along one axis (Toom and Cook's): convolutions of stride 1 whose kernel is long that way, or whose
 * planes are too small for the tiles of winograd_f32.c. About twice the rounding error of a plain sum.
 *
 * Four outputs along the axis, from r taps, take n = r + 3 products instead of 4r: a polynomial product, evaluated at
 * n - 1 points and infinity. Over all channels, and over the taps of the other axis, element e of all those products
 * is a GEMM:
 *
 *     V[e]  =  B[e] (n of input)     a sum of n rows, or of n neighbours
 *     M[e]  =  sum over channels, taps of U[e] V[e]
 *     4 of output  =  A' M
 *
 * A kernel of more than five taps is cut into segments of four: the one that is s further meets V four inputs, hence
 * one tile, further, so all segments read one V. The points are 0, 1, -1, 2, -2, 1/2, -1/2, as many as it takes.
 *
 *     axis   taps   n   segments   products of a direct sum
 *      3 .. 5        6 .. 8    1         4r / n = 2 .. 2.5 times
 *      6 ..          7       r / 4       16/7 times when four divide r
 *
 * Along columns, the tiles of V lie side by side down the image; along a row, its columns are sorted into four phases
 * (conv_window_f32.h), so that what neighbouring tiles need are neighbours. Either way V is planes of rows, a tap is
 * an offset in them, and the tiles of tile_f32.h run over all rows in one go: what lies between the end of a row
 * and the next is multiplied too, and dropped.
 */
#include "conv_window_f32.h"
#include "tile_f32.h"

enum {
    MOST_ELEMENTS = 8,
    SEGMENT_TAPS = 5,     /* at most */
    OUTPUTS = 4,          /* of a tile */
    V_BYTES = 640 * 1024, /* V of one task */
    BLOCK_TILES = 5,      /* tiles of output channels that M holds */
    FEW_COLUMNS = 64,     /* a task has at least these where the image does */
    FEW_CHANNELS = 128,   /* and at least these output channels, since each of its tasks makes V anew, */
    CHANNEL_TASKS = 16,   /* which are split for no more tasks than this */
    LEAST_CHANNELS = 8,   /* of output, and */
    LEAST_DEPTH = 24      /* products of a sum: below, transforms cost more than they save */
};

/* The form of a kernel. */
typedef struct line_form {
    size_t axis; /* of the two of a plane: 1 runs along rows */
    size_t taps, other_taps;
    size_t segments, segment_taps, elements;
} line_form;

/* The sizes that a task works with, and where its parts of scratch are. */
typedef struct line_job {
    line_form form;
    size_t rows, cols;    /* of tiles: rows as V has them */
    size_t v_rows, pitch; /* of a channel of V */
    size_t columns;       /* of the GEMM: all rows, with what is between them */
    size_t outputs;       /* the most that M holds */
    size_t v_plane, m_plane;
    ln_conv_window window;
} line_job;

static LN_NOINLINE line_form form_of(const ln_conv_shape *shape) {
    const size_t last = shape->rank - 1;
    const size_t across = shape->rank < 2 ? 1 : shape->kernel[last - 1];
    line_form form = {.axis = shape->kernel[last] > across};
    form.taps = form.axis ? shape->kernel[last] : across;
    form.other_taps = form.axis ? across : shape->kernel[last];
    form.segment_taps = form.taps <= SEGMENT_TAPS ? form.taps : 4;
    form.segments = ln_divide_up(form.taps, form.segment_taps);
    form.elements = form.segment_taps + OUTPUTS - 1;
    return form;
}

/* How many times the products must be fewer than those of direct sums. */
#define LEAST_GAIN 1.4

static const double points[] = {0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5};

static LN_NOINLINE double power(double x, size_t n) {
    double result = 1.0;
    LN_LOOP_ROLLED
    while (n-- > 0) {
        result *= x;
    }
    return result;
}

/* Row e of B: the polynomial whose zeros are all the points but number e; infinity, the last element, leaves out none. */
static void input_row(size_t elements, size_t e, double row[MOST_ELEMENTS]) {
    size_t degree = 0;
    LN_LOOP_ROLLED
    for (size_t i = 0; i < MOST_ELEMENTS; i++) {
        row[i] = i == 0;
    }
    LN_LOOP_ROLLED
    for (size_t p = 0; p + 1 < elements; p++) {
        if (p != e) {
            degree++;
            LN_LOOP_ROLLED
            for (size_t i = degree; i > 0; i--) {
                row[i] = row[i - 1] - points[p] * row[i];
            }
            row[0] *= -points[p];
        }
    }
}

/* Factor i of element e of a polynomial: the point's power, and at infinity the highest factor alone. */
static LN_NOINLINE double evaluated(size_t elements, size_t e, size_t i, size_t factors) {
    return e + 1 < elements ? power(points[e], i) : i + 1 == factors;
}

static size_t odd_lines(size_t elems) {
    return (ln_divide_up(elems, 16) | 1) * 16;
}

/* A job of some rows of tiles, or of tiles of one row. */
static LN_NOINLINE line_job job_of(const ln_conv_f32_plan *plan, size_t rows, size_t cols) {
    const ln_conv_shape *s = &plan->shape;
    line_job job = {.form = form_of(s), .rows = rows, .cols = cols};
    const size_t other = 1 - job.form.axis, more = job.form.segments - 1;
    const size_t reach = (job.form.other_taps - 1) * s->dilation[other];
    job.v_rows = rows + (job.form.axis ? reach : more);
    job.pitch = cols + (job.form.axis ? more : reach);
    job.columns = (rows - 1) * job.pitch + cols;
    job.outputs = ln_min_size(BLOCK_TILES * LN_TILE_ROWS, s->out_channels);
    /* A row is written by fours, so the last may write three too many. */
    const size_t v_channel = ln_saturating_mul(job.v_rows, job.pitch);
    job.v_plane = odd_lines(ln_saturating_add(ln_saturating_mul(s->in_channels, v_channel), 4));
    job.m_plane = odd_lines(ln_saturating_add(ln_saturating_mul(job.outputs, job.columns), 4));
    job.window = (ln_conv_window){.row_step = 1, .phases = 1, .col_step = 1, .rows = job.v_rows};
    job.window.phase_cols = ln_divide_up(job.pitch, 4) * 4;
    if (job.form.axis) {
        job.window.phases = job.window.col_step = OUTPUTS;
        job.window.phase_cols += 1; /* half of what a tile needs comes from the next four inputs */
    } else {
        job.window.rows = OUTPUTS * job.v_rows + MOST_ELEMENTS - OUTPUTS;
    }
    return job;
}

static size_t job_elems(const line_job *job, size_t depth) {
    const size_t planes =
        ln_saturating_mul(ln_saturating_add(job->v_plane, job->m_plane), job->form.elements);
    const size_t offsets = ln_divide_up(ln_saturating_mul(depth, sizeof(size_t)), 64) * 16;
    return ln_saturating_add(ln_saturating_add(planes, offsets), ln_conv_window_elems(&job->window));
}

static size_t depth_taps(const line_form *form) {
    return ln_saturating_mul(form->other_taps, form->segments);
}

/* V: one channel after the other, through a padded copy of its part of the image. */
static void make_v(const ln_conv_f32_plan *plan, const line_job *job, const float *x, float *v, float *copy) {
    const ln_conv_shape *s = &plan->shape;
    const size_t copy_row = job->window.phases * job->window.phase_cols;
    float factors[MOST_ELEMENTS][MOST_ELEMENTS];
    size_t offsets[MOST_ELEMENTS];
    LN_LOOP_ROLLED
    for (size_t e = 0; e < job->form.elements; e++) {
        double row[MOST_ELEMENTS];
        input_row(job->form.elements, e, row);
        LN_LOOP_ROLLED
        for (size_t i = 0; i < MOST_ELEMENTS; i++) {
            factors[e][i] = (float)row[i];
        }
    }
    LN_LOOP_ROLLED
    for (size_t i = 0; i < MOST_ELEMENTS; i++) {
        offsets[i] = job->form.axis ? i % OUTPUTS * job->window.phase_cols + i / OUTPUTS : i * copy_row;
    }
    memset(copy, 0, ln_conv_window_elems(&job->window) * sizeof(float));
    for (size_t channel = 0; channel < s->in_channels; channel++) {
        ln_conv_copy_window(copy, x + channel * plan->plane_in, &job->window, s->in[0], s->in[1]);
        for (size_t row = 0; row < job->v_rows; row++) {
            const float *from = copy + row * copy_row * (job->form.axis ? 1 : OUTPUTS);
            float *const to = v + (channel * job->v_rows + row) * job->pitch;
            for (size_t col = 0; col < job->pitch; col += 4) {
                ln_v32f d[MOST_ELEMENTS];
                LN_LOOP_UNROLLED
                for (size_t i = 0; i < MOST_ELEMENTS; i++) {
                    d[i] = ln_load(from + offsets[i] + col);
                }
                LN_LOOP_ROLLED
                for (size_t e = 0; e < job->form.elements; e++) {
                    ln_v32f sum = ln_mul(d[0], ln_load_splat(&factors[e][0]));
                    LN_LOOP_UNROLLED
                    for (size_t i = 1; i < MOST_ELEMENTS; i++) {
                        sum = ln_madd(sum, d[i], ln_load_splat(&factors[e][i]));
                    }
                    ln_store(to + e * job->v_plane + col, sum);
                }
            }
        }
    }
}

/* Bias, residual and clamp of `count` neighbouring pixels, 0 to 4 of them. */
static void store_pixels(const ln_tile_f32_out *out, ln_v32f v, size_t at, size_t count) {
    if (out->residual != NULL) {
        v = ln_add(v, ln_load_part(out->residual + at, count));
    }
    v = ln_clamp_high(ln_clamp_low(v, ln_load_splat(&out->low)), ln_load_splat(&out->high));
    if (count == 4) {
        ln_store(out->c + at, v);
    } else {
        ln_store_part(out->c + at, v, count);
    }
}

/*
 * The pixels of an output channel from its row of M. `at` is its first pixel that belongs to the task, rows and cols
 * how many of the image there are.
 */
static void make_pixels(const line_job *job, const ln_tile_f32_out *out, const float *m, size_t output,
                        size_t at, size_t width, size_t rows, size_t cols) {
    const ln_v32f bias = out->bias == NULL ? ln_zero() : ln_load_splat(out->bias + output);
    float factors[MOST_ELEMENTS][OUTPUTS];
    LN_LOOP_ROLLED
    for (size_t e = 0; e < job->form.elements; e++) {
        LN_LOOP_ROLLED
        for (size_t i = 0; i < OUTPUTS; i++) {
            factors[e][i] = (float)evaluated(job->form.elements, e, i, OUTPUTS);
        }
    }
    for (size_t row = 0; row < job->rows; row++) {
        for (size_t col = 0; col < job->cols; col += 4) {
            ln_v32f s[OUTPUTS] = {bias, bias, bias, bias};
            LN_LOOP_ROLLED
            for (size_t e = 0; e < job->form.elements; e++) {
                const ln_v32f v = ln_load(m + e * job->m_plane + row * job->pitch + col);
                LN_LOOP_UNROLLED
                for (size_t i = 0; i < OUTPUTS; i++) {
                    s[i] = ln_madd(s[i], v, ln_load_splat(&factors[e][i]));
                }
            }
            if (job->form.axis) {
                ln_transpose_4x4(s);
            }
            LN_LOOP_ROLLED
            for (size_t i = 0; i < OUTPUTS; i++) {
                const size_t y = job->form.axis ? row : OUTPUTS * row + i;
                const size_t x = job->form.axis ? OUTPUTS * (col + i) : col;
                if (y < rows && x < cols) {
                    store_pixels(out, s[i], at + y * width + x, ln_min_size(cols - x, 4));
                }
            }
        }
    }
}

/* Where each product's input lies in a plane of V: channels, in each the other axis' taps, in each the segments. */
static void find_offsets(const ln_conv_f32_plan *plan, const line_job *job, size_t *offsets) {
    const size_t step = plan->shape.dilation[1 - job->form.axis], pitch = job->pitch;
    const size_t tap_step = job->form.axis ? step * pitch : step, segment_step = job->form.axis ? 1 : pitch;
    for (size_t channel = 0; channel < plan->shape.in_channels; channel++) {
        for (size_t tap = 0; tap < job->form.other_taps; tap++) {
            LN_LOOP_ROLLED
            for (size_t segment = 0; segment < job->form.segments; segment++) {
                *offsets++ = channel * job->v_rows * pitch + tap * tap_step + segment * segment_step;
            }
        }
    }
}

/* The part of the image that a task makes. */
typedef struct line_part {
    size_t row, rows, col, cols; /* of tiles */
    size_t tile_begin, tile_end; /* of output channels */
    size_t batch;
} line_part;

static line_part part_of(const ln_conv_f32_plan *plan, size_t index) {
    const ln_conv_shape *s = &plan->shape;
    const size_t axis = form_of(s).axis;
    const size_t all_rows = axis ? s->out[0] : ln_divide_up(s->out[0], OUTPUTS);
    const size_t all_cols = axis ? ln_divide_up(s->out[1], OUTPUTS) : s->out[1];
    line_part part = {.col = index % plan->col_tasks * plan->col_step};
    part.cols = ln_min_size(plan->col_step, all_cols - part.col);
    index /= plan->col_tasks;
    part.row = index % plan->row_tasks * plan->row_step;
    part.rows = ln_min_size(plan->row_step, all_rows - part.row);
    index /= plan->row_tasks;
    part.tile_begin = index % plan->tile_tasks * plan->tile_step;
    part.tile_end = ln_min_size(part.tile_begin + plan->tile_step, ln_tile_f32_count(s->out_channels));
    part.batch = index / plan->tile_tasks;
    return part;
}

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *scratch) {
    const ln_conv_shape *s = &plan->shape;
    const line_part part = part_of(plan, index);
    line_job job = job_of(plan, part.rows, part.cols);
    const size_t y = part.row * (job.form.axis ? 1 : OUTPUTS), x = part.col * (job.form.axis ? OUTPUTS : 1);
    const size_t rows = ln_min_size(part.rows * (job.form.axis ? 1 : OUTPUTS), s->out[0] - y);
    const size_t cols = ln_min_size(part.cols * (job.form.axis ? OUTPUTS : 1), s->out[1] - x);
    job.window.row = (ptrdiff_t)y - s->pad[0];
    job.window.col = (ptrdiff_t)x - s->pad[1];
    float *const v = scratch, *const m = v + job.form.elements * job.v_plane;
    float *const copy = m + job.form.elements * job.m_plane;
    size_t *const offsets = (size_t *)(void *)(copy + ln_divide_up(ln_conv_window_elems(&job.window), 4) * 4);
    make_v(plan, &job, args->x + part.batch * s->in_channels * plan->plane_in, v, copy);
    find_offsets(plan, &job, offsets);
    const size_t image = part.batch * s->out_channels * plan->plane_out;
    const size_t depth = depth_taps(&job.form) * s->in_channels;
    ln_tile_f32_out out = ln_tile_f32_output(
        args->activation, args->residual == NULL ? NULL : args->residual + image, args->residual_last);
    out.c = args->y + image;
    out.c_stride = out.residual_stride = plan->plane_out;
    out.bias = args->bias;
    for (size_t begin = part.tile_begin; begin < part.tile_end; begin += BLOCK_TILES) {
        const size_t end = ln_min_size(begin + BLOCK_TILES, part.tile_end);
        const size_t first = ln_tile_f32_begin(s->out_channels, begin);
        for (size_t e = 0; e < job.form.elements; e++) {
            const ln_tile_f32_out sums = {.c = m + e * job.m_plane, .c_stride = job.columns};
            for (size_t t = begin; t < end; t++) {
                const size_t row = ln_tile_f32_begin(s->out_channels, t);
                const float *u = args->w_packed + (e * s->out_channels + row) * depth;
                ln_tile_f32_run_taps(&sums, ln_tile_f32_begin(s->out_channels, t + 1) - row, depth, u,
                                     v + e * job.v_plane, offsets, row - first, 0, job.columns);
            }
        }
        const size_t last = ln_tile_f32_begin(s->out_channels, end);
        for (size_t output = first; output < last; output++) {
            make_pixels(&job, &out, m + (output - first) * job.columns, output,
                        output * plan->plane_out + y * s->out[1] + x, s->out[1], rows, cols);
        }
    }
    const size_t first = ln_tile_f32_begin(s->out_channels, part.tile_begin);
    ln_tile_f32_rest(&out, first, ln_tile_f32_begin(s->out_channels, part.tile_end) - first,
                     y * s->out[1] + x, rows > 1 ? rows * s->out[1] : cols);
}

/* Even parts of `all` so that one is at most `most`, and at least 1. */
static size_t even_step(size_t all, size_t most) {
    return ln_divide_up(all, ln_divide_up(all, most < 1 ? 1 : most));
}

static void make_plan(ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const line_form form = form_of(s);
    const size_t all_rows = form.axis ? s->out[0] : ln_divide_up(s->out[0], OUTPUTS);
    const size_t all_cols = form.axis ? ln_divide_up(s->out[1], OUTPUTS) : s->out[1];
    plan->row_step = all_rows;
    plan->col_step = all_cols;
    while (job_of(plan, plan->row_step, plan->col_step).v_plane > V_BYTES / sizeof(float) / form.elements) {
        if (plan->row_step > 1 && plan->row_step * plan->col_step > FEW_COLUMNS) {
            plan->row_step = even_step(all_rows, plan->row_step - ln_divide_up(plan->row_step, 4));
        } else if (all_rows == 1 && plan->col_step >= 2 * FEW_COLUMNS) {
            plan->col_step = ln_divide_up(plan->col_step, 2 * LN_TILE_COLS) * LN_TILE_COLS;
        } else {
            break;
        }
    }
    plan->row_tasks = ln_divide_up(all_rows, plan->row_step);
    plan->col_tasks = ln_divide_up(all_cols, plan->col_step);
    const size_t others = ln_saturating_mul(ln_saturating_mul(plan->row_tasks, plan->col_tasks), s->batch);
    const size_t wanted = others >= CHANNEL_TASKS ? 1 : CHANNEL_TASKS / others;
    const size_t most = s->out_channels < FEW_CHANNELS ? 1 : s->out_channels / FEW_CHANNELS;
    const size_t tiles = ln_tile_f32_count(s->out_channels);
    plan->tile_step = ln_divide_up(tiles, ln_min_size(wanted, most));
    plan->tile_tasks = ln_divide_up(tiles, plan->tile_step);
    plan->task_count = ln_saturating_mul(others, plan->tile_tasks);
    const line_job job = job_of(plan, plan->row_step, plan->col_step);
    plan->scratch_bytes = ln_saturating_mul(
        ln_saturating_add(job_elems(&job, ln_saturating_mul(s->in_channels, depth_taps(&form))), 8),
        sizeof(float));
}

static size_t packed_bytes(const ln_conv_shape *shape) {
    const line_form form = form_of(shape);
    const size_t pairs = ln_saturating_mul(shape->out_channels, shape->in_channels);
    const size_t elems = ln_saturating_mul(ln_saturating_mul(pairs, depth_taps(&form)), form.elements);
    return ln_saturating_mul(elems, sizeof(float));
}

/* What the taps of a segment are multiplied by for each element; those beyond its last by 0. */
static void weight_factors(const line_form *form, double factors[MOST_ELEMENTS][SEGMENT_TAPS]) {
    LN_LOOP_ROLLED
    for (size_t e = 0; e < form->elements; e++) {
        double scale = 1.0;
        LN_LOOP_ROLLED
        for (size_t p = 0; p + 1 < form->elements && e + 1 < form->elements; p++) {
            scale *= p == e ? 1.0 : points[e] - points[p];
        }
        LN_LOOP_ROLLED
        for (size_t i = 0; i < SEGMENT_TAPS; i++) {
            factors[e][i] =
                i < form->segment_taps ? evaluated(form->elements, e, i, form->segment_taps) / scale : 0.0;
        }
    }
}

/*
 * One segment: `taps` weights from `from`, `step` apart, to an element of each plane of U. In double precision: it is done
 * once.
 */
static LN_NOINLINE void transform_segment(const double factors[MOST_ELEMENTS][SEGMENT_TAPS], size_t elements,
                                          const float *from, size_t step, size_t taps, float *to,
                                          size_t plane) {
    double g[SEGMENT_TAPS] = {0.0};
    LN_LOOP_ROLLED
    for (size_t i = 0; i < taps; i++) {
        g[i] = (double)from[i * step];
    }
    LN_LOOP_ROLLED
    for (size_t e = 0; e < elements; e++) {
        double sum = 0.0;
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < SEGMENT_TAPS; i++) {
            sum += factors[e][i] * g[i];
        }
        *to = (float)sum;
        to += plane;
    }
}

/*
 * U as [e][tile][channel][tap of the other axis][segment][rows of the tile]. The taps of a row and a channel are
 * `step` apart: in the default route's packing the rows of its tile.
 */
static void pack_any(const ln_conv_shape *shape, float *packed, const float *w, bool tiled) {
    const line_form form = form_of(shape);
    const size_t m = shape->out_channels, all = form.taps * form.other_taps;
    const size_t plane = m * shape->in_channels * depth_taps(&form);
    double factors[MOST_ELEMENTS][SEGMENT_TAPS];
    weight_factors(&form, factors);
    for (size_t row = 0, t = 0; row < m; row = ln_tile_f32_begin(m, ++t)) {
        const size_t rows = ln_tile_f32_begin(m, t + 1) - row, step = tiled ? rows : 1;
        const size_t tap_step = (form.axis ? 1 : form.other_taps) * step;
        for (size_t channel = 0; channel < shape->in_channels; channel++) {
            const float *const taps = w + row * shape->in_channels * all + channel * all * step;
            for (size_t other = 0; other < form.other_taps; other++) {
                for (size_t tap = 0; tap < form.taps; tap += form.segment_taps) {
                    const size_t at = other * (form.axis ? form.taps : 1) * step + tap * tap_step;
                    LN_LOOP_ROLLED
                    for (size_t i = 0; i < rows; i++) {
                        const float *from = taps + at + i * (tiled ? 1 : shape->in_channels * all);
                        transform_segment(factors, form.elements, from, tap_step,
                                          ln_min_size(form.segment_taps, form.taps - tap), packed++, plane);
                    }
                }
            }
        }
    }
}

static void pack(const ln_conv_shape *shape, float *packed, const float *w) {
    pack_any(shape, packed, w, false);
}

static void repack(const ln_conv_shape *shape, float *packed, const float *default_packed) {
    pack_any(shape, packed, default_packed, true);
}

const ln_conv_f32_route ln_conv_f32_winograd_line = {
    .name = "f32_conv_winograd_line",
    .packed_bytes = packed_bytes,
    .pack = pack,
    .repack = repack,
    .plan = make_plan,
    .task = task,
};

bool ln_conv_f32_winograd_line_pays(const ln_conv_shape *shape) {
    ln_conv_f32_plan plan = {.shape = ln_conv_f32_normalised(shape)};
    const ln_conv_shape *s = &plan.shape;
    const line_form form = form_of(s);
    if (s->rank != 2 || s->groups != 1 || form.taps < 3 || s->dilation[form.axis] != 1 || s->stride[0] != 1 ||
        s->stride[1] != 1 || s->out_channels < LEAST_CHANNELS ||
        s->in_channels * depth_taps(&form) < LEAST_DEPTH || s->out[0] == 0 || s->out[1] == 0) {
        return false;
    }
    const size_t rows = form.axis ? s->out[0] : ln_divide_up(s->out[0], OUTPUTS);
    const size_t cols = form.axis ? ln_divide_up(s->out[1], OUTPUTS) : s->out[1];
    const line_job job = job_of(&plan, rows, cols);
    const double columns = (double)(ln_divide_up(job.columns, LN_TILE_COLS) * LN_TILE_COLS);
    const double products = columns * (double)(form.elements * form.segments);
    return job.columns >= LN_TILE_COLS &&
           LEAST_GAIN * products <= (double)(s->out[0] * s->out[1] * form.taps);
}
