/*
 * Convolution as an implicit GEMM: weights are the rows (A), output pixels the columns (B), and only the
 * panels of the pixels at hand are ever spread out, never the whole im2col matrix.
 *
 * A task makes a block of output pixels for some output channels: either whole rows of the output plane, or
 * a run within one row when rows are long. For each pass over the depth (some channels times all taps) it
 *
 * - copies the part of the input that these pixels touch, with its padding, into scratch
 *   (conv_window_f32.h);
 * - packs panels [depth][8 pixels] from the copy: plain vector loads at a table of tap offsets, except where
 *   the pixels of half a panel fall in different rows;
 * - runs the tiles, which add to the sums of the pass before.
 *
 * Few output channels do not repay the packing: then the tiles read the taps of eight neighbouring pixels from
 * the copy itself, row by row, all of the depth at once.
 *
 * The packed weights are [group][tile][depth][rows of the tile].
 */
#include "conv_window_f32.h"
#include "tile_f32.h"

enum {
    DEPTH_STEP = 640,               /* depth of one pass, in products; at least the taps of one channel */
    BLOCK_BYTES = 256 * 1024,       /* panels of one pass */
    MIN_TASK_PRODUCTS = 384 * 1024, /* below this, about 15 microseconds, splitting costs too much */
    MAX_TASKS = 64,
    MAX_PIXELS = 2048,      /* of one task */
    FEW_PIXELS = 64,        /* a task keeps at least these while there is another way to split */
    TILE_TASKS = 16,        /* output channels are split for no more tasks than this, */
    LEAST_ROWS = 64,        /* into no fewer, since each task packs its panels */
    DIRECT_SIZE = 32,       /* with so few channels in or out, pointwise panels are read in place */
    CACHE_WAYS = 8,         /* unless more planes than these lie a multiple of these bytes apart: */
    CACHE_WAY_BYTES = 4096, /* they would push one another out of the cache */
    LINE_PANELS = 4,        /* pointwise panels packed at a time */
    DIRECT_TILES = 6,       /* with so few tiles of output channels, taps are read where they lie; */
    DIRECT_DEPTH = 160,     /* twice as many when sums have no more products; */
    COPY_BYTES = 384 * 1024 /* they are read from this much of the input at a time */
};

static size_t group_depth(const ln_conv_f32_plan *plan) {
    return plan->shape.in_channels / plan->shape.groups * plan->outer_taps;
}

static size_t group_rows(const ln_conv_shape *shape) {
    return shape->out_channels / shape->groups;
}

/* Where a pass finds its pixels: row (plane, tap) of a pixel begins offsets[tap] after it in plane `plane`. */
typedef struct conv_taps {
    const size_t *offsets;
    size_t taps, planes, plane_stride;
} conv_taps;

/* Eight pixels side by side. */
static LN_NOINLINE void pack_eight(float *panel, const float *pixel, const conv_taps *taps) {
    for (size_t plane = 0; plane < taps->planes; plane++) {
        for (size_t t = 0; t < taps->taps; t++) {
            const float *from = pixel + taps->offsets[t];
            ln_store(panel, ln_load(from));
            ln_store(panel + 4, ln_load(from + 4));
            panel += LN_TILE_COLS;
        }
        pixel += taps->plane_stride;
    }
}

/*
 * Panels of neighbouring pixels of a pointwise convolution, LINE_PANELS of them: planes may lie at distances that share
 * a set of the cache, so whole lines are read while they are there.
 */
static LN_NOINLINE void pack_lines(float *panels, const float *pixel, size_t plane_stride, size_t planes) {
    for (size_t plane = 0; plane < planes; plane++) {
        float *to = panels + plane * LN_TILE_COLS;
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < LINE_PANELS; i++) {
            ln_store(to, ln_load(pixel + i * LN_TILE_COLS));
            ln_store(to + 4, ln_load(pixel + i * LN_TILE_COLS + 4));
            to += planes * LN_TILE_COLS;
        }
        pixel += plane_stride;
    }
}

/* Half a panel: four pixels side by side. */
static LN_NOINLINE void pack_four(float *panel, const float *pixel, const conv_taps *taps) {
    for (size_t plane = 0; plane < taps->planes; plane++) {
        for (size_t t = 0; t < taps->taps; t++) {
            ln_store(panel, ln_load(pixel + taps->offsets[t]));
            panel += LN_TILE_COLS;
        }
        pixel += taps->plane_stride;
    }
}

/* Half a panel: four pixels anywhere. */
static LN_NOINLINE void gather_four(float *panel, const float *const pixels[4], const conv_taps *taps) {
    const float *p0 = pixels[0], *p1 = pixels[1], *p2 = pixels[2], *p3 = pixels[3];
    for (size_t plane = 0; plane < taps->planes; plane++) {
        for (size_t t = 0; t < taps->taps; t++) {
            const size_t offset = plane * taps->plane_stride + taps->offsets[t];
            panel[0] = p0[offset];
            panel[1] = p1[offset];
            panel[2] = p2[offset];
            panel[3] = p3[offset];
            panel += LN_TILE_COLS;
        }
    }
}

static void pack_half(float *panel, const float *const pixels[4], const conv_taps *taps) {
    if (pixels[3] == pixels[0] + 3) {
        pack_four(panel, pixels[0], taps);
    } else {
        gather_four(panel, pixels, taps);
    }
}

/*
 * Packs the panel of the eight pixels from `first`, counted over the region's rows; past the end the last
 * one is repeated.
 */
static void pack_panel(float *panel, const ln_conv_region *region, const ln_conv_view *view,
                       const conv_taps *taps, size_t first) {
    const size_t pixels = region->rows * region->cols;
    size_t row = first / region->cols, col = first % region->cols;
    const float *address[8];
    const bool eight = col + LN_TILE_COLS <= region->cols;
    for (size_t i = 0; i < LN_TILE_COLS; i++) {
        address[i] = view->base + row * view->row_advance * view->row_stride + col;
        if (first + i + 1 < pixels && ++col == region->cols) {
            col = 0;
            row++;
        }
    }
    if (eight && taps->taps == 1) {
        ln_tile_f32_pack_b(panel, address[0], taps->plane_stride, 1, taps->planes, LN_TILE_COLS);
    } else if (eight) {
        pack_eight(panel, address[0], taps);
    } else {
        pack_half(panel, address, taps);
        pack_half(panel + 4, address + 4, taps);
    }
}

/* Scratch: tap offsets, the copied window, the panels. */
typedef struct conv_scratch {
    size_t *offsets;
    float *copy, *panels;
} conv_scratch;

static size_t offsets_elems(const ln_conv_f32_plan *plan) {
    const size_t count = plan->direct ? ln_saturating_mul(plan->taps, group_depth(plan)) : plan->taps;
    return ln_divide_up(ln_saturating_mul(count, sizeof(size_t)), 64) * 16; /* in floats, whole cache lines */
}

static size_t copy_elems(const ln_conv_f32_plan *plan) {
    const ln_conv_region largest = {.rows = plan->row_step, .cols = plan->col_step};
    const ln_conv_window window = ln_conv_window_of(plan, &largest);
    return ln_saturating_mul(ln_conv_window_elems(&window), plan->depth_step);
}

/*
 * The panels of a region for one pass. When all of the depth is in this pass, the last panel overlaps the
 * one before it instead of being part empty: its sums are made twice, the same both times. `tail` is its
 * first pixel, or the count. A single pixel too many, as every square of odd side has, is a column of its own.
 */
typedef struct pass_panels {
    ln_tile_f32_panels body, last;
    size_t pixels, tail;
    const float *column; /* of pixel number `pixels`, or NULL */
} pass_panels;

static void pack_column(float *column, const float *pixel, const conv_taps *taps) {
    for (size_t plane = 0; plane < taps->planes; plane++) {
        LN_LOOP_ROLLED
        for (size_t t = 0; t < taps->taps; t++) {
            *column++ = pixel[taps->offsets[t]];
        }
        pixel += taps->plane_stride;
    }
}

static pass_panels panels_of(const ln_conv_f32_plan *plan, const ln_conv_region *region,
                             const ln_conv_view *view, size_t depth, const conv_scratch *scratch) {
    const size_t k = depth * plan->taps;
    size_t pixels = region->rows * region->cols;
    const bool direct = plan->taps == 1 && region->rows == 1 && pixels % LN_TILE_COLS == 0 &&
                        (group_rows(&plan->shape) <= DIRECT_SIZE || k <= DIRECT_SIZE) &&
                        (k <= CACHE_WAYS || view->plane_stride * sizeof(float) % CACHE_WAY_BYTES != 0);
    pass_panels panels = {.pixels = pixels, .tail = pixels};
    if (direct) {
        panels.body = (ln_tile_f32_panels){view->base, view->plane_stride, LN_TILE_COLS};
        return panels;
    }
    ln_conv_tap_offsets(plan, view, scratch->offsets);
    const conv_taps taps = {scratch->offsets, plan->taps, depth, view->plane_stride};
    const size_t m = group_rows(&plan->shape);
    if (pixels % LN_TILE_COLS == 1 && m / ln_tile_f32_count(m) >= 4) {
        const size_t row = region->rows - 1, col = region->cols - 1;
        panels.column = scratch->panels + (pixels - 1) * k;
        pack_column(scratch->panels + (pixels - 1) * k,
                    view->base + row * view->row_advance * view->row_stride + col, &taps);
        panels.tail = panels.pixels = --pixels;
    }
    const bool overlaps = depth == group_depth(plan) && pixels > LN_TILE_COLS && pixels % LN_TILE_COLS != 0;
    panels.body = (ln_tile_f32_panels){scratch->panels, LN_TILE_COLS, k * LN_TILE_COLS};
    panels.last = panels.body;
    size_t p = 0;
    for (; taps.taps == 1 && region->rows == 1 && pixels - p >= LINE_PANELS * LN_TILE_COLS;
         p += LINE_PANELS * LN_TILE_COLS) {
        pack_lines(scratch->panels + p * k, view->base + p, view->plane_stride, depth);
    }
    for (; p < pixels; p += LN_TILE_COLS) {
        const bool last = overlaps && pixels - p < LN_TILE_COLS;
        float *const panel = scratch->panels + p * k;
        pack_panel(panel, region, view, &taps, last ? pixels - LN_TILE_COLS : p);
        if (last) {
            panels.last.b = panel;
            panels.pixels = p;
            panels.tail = pixels - LN_TILE_COLS;
        }
    }
    return panels;
}

/*
 * What one pass works on: depth_begin .. depth_begin + depth, for tiles tile_begin .. tile_end of the group.
 */
typedef struct conv_pass {
    const float *weights, *x;
    size_t depth_begin, depth, first_row, first_pixel, tile_begin, tile_end;
} conv_pass;

/* All of the depth in one pass, without panels. */
static void run_direct(const ln_conv_f32_plan *plan, const ln_tile_f32_out *out, const ln_conv_region *region,
                       const conv_pass *pass, const conv_scratch *scratch) {
    const size_t m = group_rows(&plan->shape), k = pass->depth * plan->taps;
    const size_t width = plan->shape.out[ln_conv_axis(plan, 1)];
    const ln_conv_view view = ln_conv_view_of(plan, region, pass->x, 0, pass->depth, scratch->copy);
    ln_conv_tap_offsets(plan, &view, scratch->offsets);
    for (size_t i = plan->taps; i < k; i++) {
        scratch->offsets[i] = scratch->offsets[i - plan->taps] + view.plane_stride;
    }
    for (size_t r = 0; r < region->rows; r++) {
        const float *pixels = view.base + r * view.row_advance * view.row_stride;
        for (size_t t = pass->tile_begin; t < pass->tile_end; t++) {
            const size_t row = ln_tile_f32_begin(m, t);
            const size_t rows = ln_tile_f32_begin(m, t + 1) - row, pixel = pass->first_pixel + r * width;
            ln_tile_f32_run_taps(out, rows, k, pass->weights + row * k, pixels, scratch->offsets,
                                 pass->first_row + row, pixel, region->cols);
            ln_tile_f32_rest(out, pass->first_row + row, rows, pixel, region->cols);
        }
    }
}

static void run_pass(const ln_conv_f32_plan *plan, const ln_tile_f32_out *out, const ln_conv_region *region,
                     const conv_pass *pass, const conv_scratch *scratch) {
    const size_t m = group_rows(&plan->shape);
    const size_t k = pass->depth * plan->taps, all_k = group_depth(plan) * plan->taps;
    const ln_conv_view view =
        ln_conv_view_of(plan, region, pass->x, pass->depth_begin, pass->depth, scratch->copy);
    const pass_panels panels = panels_of(plan, region, &view, pass->depth, scratch);
    if (panels.column != NULL) {
        const ln_tile_f32_column column = {panels.column, pass->depth_begin * plan->taps, k, all_k};
        ln_tile_f32_run_column(out, m, pass->tile_begin, pass->tile_end, pass->weights, &column,
                               pass->first_row, pass->first_pixel + panels.pixels);
    }
    for (size_t t = pass->tile_begin; t < pass->tile_end; t++) {
        const size_t row = ln_tile_f32_begin(m, t);
        const size_t rows = ln_tile_f32_begin(m, t + 1) - row;
        const float *tile = pass->weights + row * all_k + pass->depth_begin * plan->taps * rows;
        ln_tile_f32_run(out, rows, k, tile, 0, panels.body, pass->first_row + row, pass->first_pixel,
                        panels.pixels);
        if (panels.tail < panels.pixels) {
            ln_tile_f32_run(out, rows, k, tile, 0, panels.last, pass->first_row + row,
                            pass->first_pixel + panels.tail, LN_TILE_COLS);
        }
        if (out->finish) {
            ln_tile_f32_rest(out, pass->first_row + row, rows, pass->first_pixel,
                             region->rows * region->cols);
        }
    }
}

/* All passes of one group. */
static void run_group(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t batch, size_t group,
                      const ln_conv_region *region, size_t tile_begin, size_t tile_end,
                      const conv_scratch *scratch) {
    const ln_conv_shape *s = &plan->shape;
    const size_t m = group_rows(s), depth = group_depth(plan);
    const size_t in_channel = batch * s->in_channels + group * (s->in_channels / s->groups);
    const float *x = args->x + in_channel * plan->outer_in * plan->plane_in;
    const float *weights = args->w_packed + group * m * depth * plan->taps;
    const size_t out_pixels = plan->outer_out * plan->plane_out;
    const size_t image = batch * s->out_channels * out_pixels;
    const float *residual = args->residual == NULL ? NULL : args->residual + image;
    ln_tile_f32_out out = ln_tile_f32_output(args->activation, residual, args->residual_last);
    out.c = args->y + image;
    out.c_stride = out.residual_stride = out_pixels;
    out.bias = args->bias;
    out.bias_row_stride = 1;
    const size_t first_pixel =
        region->position * plan->plane_out + region->row * s->out[ln_conv_axis(plan, 1)] + region->col;
    conv_pass pass = {.weights = weights, .x = x, .first_row = group * m, .first_pixel = first_pixel};
    pass.tile_begin = tile_begin;
    pass.tile_end = tile_end;
    do {
        pass.depth = ln_min_size(depth - pass.depth_begin, plan->depth_step);
        out.accumulate = pass.depth_begin > 0;
        out.finish = pass.depth_begin + pass.depth == depth;
        (plan->direct ? run_direct : run_pass)(plan, &out, region, &pass, scratch);
        pass.depth_begin += pass.depth;
    } while (pass.depth_begin < depth);
}

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *memory) {
    const ln_conv_shape *s = &plan->shape;
    const size_t height = s->out[ln_conv_axis(plan, 0)], width = s->out[ln_conv_axis(plan, 1)];
    ln_conv_region region;
    region.col = index % plan->col_tasks * plan->col_step;
    region.cols = ln_min_size(plan->col_step, width - region.col);
    index /= plan->col_tasks;
    region.row = index % plan->row_tasks * plan->row_step;
    region.rows = ln_min_size(plan->row_step, height - region.row);
    index /= plan->row_tasks;
    region.position = index % plan->outer_out;
    index /= plan->outer_out;
    const size_t tile_begin = index % plan->tile_tasks * plan->tile_step;
    const size_t tile_end = ln_min_size(tile_begin + plan->tile_step, ln_tile_f32_count(group_rows(s)));
    index /= plan->tile_tasks;
    const size_t group_begin = index % plan->group_tasks * plan->group_step;
    const size_t group_end = ln_min_size(group_begin + plan->group_step, s->groups);
    float *const floats = memory;
    conv_scratch scratch = {.offsets = memory, .copy = floats + offsets_elems(plan)};
    scratch.panels = scratch.copy + ln_divide_up(copy_elems(plan), 4) * 4;
    for (size_t group = group_begin; group < group_end; group++) {
        run_group(plan, args, index / plan->group_tasks, group, &region, tile_begin, tile_end, &scratch);
    }
}

static void count_tasks(ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    plan->col_tasks = ln_divide_up(s->out[ln_conv_axis(plan, 1)], plan->col_step);
    plan->row_tasks = ln_divide_up(s->out[ln_conv_axis(plan, 0)], plan->row_step);
    plan->tile_tasks = ln_divide_up(ln_tile_f32_count(group_rows(s)), plan->tile_step);
    plan->group_tasks = ln_divide_up(s->groups, plan->group_step);
    size_t tasks = ln_saturating_mul(plan->col_tasks, plan->row_tasks);
    tasks = ln_saturating_mul(ln_saturating_mul(tasks, plan->outer_out), plan->tile_tasks);
    plan->task_count = ln_saturating_mul(ln_saturating_mul(tasks, plan->group_tasks), s->batch);
}

/*
 * The largest pixel block whose panels fit their budget: whole rows if at least one fits, else an even part
 * of a row.
 */
static void choose_pixels(ln_conv_f32_plan *plan, size_t limit) {
    const size_t width = plan->shape.out[ln_conv_axis(plan, 1)],
                 height = plan->shape.out[ln_conv_axis(plan, 0)];
    if (width <= limit || width <= LN_TILE_COLS) {
        const size_t rows = ln_min_size(height, limit < width ? 1 : limit / width);
        plan->col_step = width;
        plan->row_step = ln_divide_up(height, ln_divide_up(height, rows));
    } else {
        const size_t parts = ln_divide_up(width, limit);
        plan->row_step = 1;
        plan->col_step = ln_divide_up(ln_divide_up(width, parts), LN_TILE_COLS) * LN_TILE_COLS;
    }
}

/*
 * Splits pixels, then output channels, then pixels again, until there are enough tasks or they would become
 * too small.
 */
static void split(ln_conv_f32_plan *plan, size_t pixels) {
    const size_t depth = group_depth(plan) * plan->taps;
    const size_t tiles = ln_tile_f32_count(group_rows(&plan->shape));
    plan->tile_step = tiles;
    plan->group_step = 1;
    for (;;) {
        choose_pixels(plan, pixels);
        count_tasks(plan);
        const double products = (double)plan->row_step * (double)plan->col_step * (double)depth *
                                (double)ln_min_size(plan->tile_step * LN_TILE_ROWS, group_rows(&plan->shape));
        if (products < 2.0 * (double)MIN_TASK_PRODUCTS || plan->task_count >= MAX_TASKS) {
            const double room = (double)MIN_TASK_PRODUCTS / (products + 1.0);
            plan->group_step =
                room < 2.0 ? 1 : ln_min_size((size_t)ln_min_size((size_t)room, 1024), plan->shape.groups);
            count_tasks(plan);
            return;
        }
        if (pixels >= 2 * FEW_PIXELS && plan->row_step * plan->col_step > FEW_PIXELS) {
            pixels = ln_min_size(pixels, plan->plane_out) / 2;
        } else if (plan->tile_step * LN_TILE_ROWS >= 2 * LEAST_ROWS && plan->task_count < TILE_TASKS) {
            plan->tile_step = ln_divide_up(plan->tile_step, 2);
        } else {
            count_tasks(plan);
            return;
        }
    }
}

/*
 * Whether to read taps in place: taps to read, rows of at least eight pixels, and few output channels, of which sums of
 * few products may have more.
 */
static bool is_direct(const ln_conv_f32_plan *plan) {
    const size_t few = group_depth(plan) * plan->taps <= DIRECT_DEPTH ? 2 * DIRECT_TILES : DIRECT_TILES;
    return plan->taps > 1 && ln_tile_f32_count(group_rows(&plan->shape)) <= few &&
           plan->shape.out[ln_conv_axis(plan, 1)] >= LN_TILE_COLS;
}

static void make_direct_plan(ln_conv_f32_plan *plan) {
    size_t pixels = MAX_PIXELS;
    plan->depth_step = group_depth(plan);
    split(plan, pixels);
    while (copy_elems(plan) > COPY_BYTES / sizeof(float) && pixels > FEW_PIXELS) {
        pixels /= 2;
        split(plan, pixels);
    }
    const size_t width = plan->shape.out[ln_conv_axis(plan, 1)];
    while (width % plan->col_step != 0 && width % plan->col_step < LN_TILE_COLS) {
        plan->col_step = ln_min_size(plan->col_step + LN_TILE_COLS, width);
    }
    count_tasks(plan);
    plan->scratch_bytes =
        ln_saturating_mul(ln_saturating_add(copy_elems(plan), offsets_elems(plan) + 8), sizeof(float));
}

static void make_plan(ln_conv_f32_plan *plan) {
    plan->direct = is_direct(plan);
    if (plan->direct) {
        make_direct_plan(plan);
        return;
    }
    const size_t depth = group_depth(plan);
    const size_t channels = DEPTH_STEP / plan->taps;
    plan->depth_step = ln_min_size(depth, channels < 1 ? 1 : channels);
    const size_t k = plan->depth_step * plan->taps;
    const size_t fitting = BLOCK_BYTES / sizeof(float) / (k + 1) / LN_TILE_COLS * LN_TILE_COLS;
    split(plan, ln_min_size(fitting < LN_TILE_COLS ? LN_TILE_COLS : fitting, MAX_PIXELS));
    const size_t panels = ln_divide_up(plan->row_step * plan->col_step, LN_TILE_COLS);
    size_t elems = ln_saturating_mul(ln_saturating_mul(panels, LN_TILE_COLS), k);
    elems = ln_saturating_add(elems, ln_saturating_add(copy_elems(plan), offsets_elems(plan) + 4));
    plan->scratch_bytes = ln_saturating_mul(elems, sizeof(float));
}

static size_t weight_depth(const ln_conv_shape *shape) {
    size_t depth = shape->in_channels / shape->groups;
    for (size_t i = 0; i < shape->rank; i++) {
        depth = ln_saturating_mul(depth, shape->kernel[i]);
    }
    return depth;
}

static size_t packed_bytes(const ln_conv_shape *shape) {
    return ln_saturating_mul(ln_saturating_mul(weight_depth(shape), shape->out_channels), sizeof(float));
}

static void pack(const ln_conv_shape *shape, float *packed, const float *w) {
    const size_t m = group_rows(shape), k = weight_depth(shape);
    for (size_t group = 0; group < shape->groups; group++) {
        for (size_t t = 0; t < ln_tile_f32_count(m); t++) {
            const size_t row = ln_tile_f32_begin(m, t);
            const size_t offset = (group * m + row) * k;
            ln_tile_f32_pack_a(packed + offset, w + offset, k, 1, ln_tile_f32_begin(m, t + 1) - row, k);
        }
    }
}

const ln_conv_f32_route ln_conv_f32_gemm = {
    .name = LN_RELAXED ? "f32_conv_gemm_6x8__relaxed" : "f32_conv_gemm_5x8__simd",
    .packed_bytes = packed_bytes,
    .pack = pack,
    .plan = make_plan,
    .task = task,
};
