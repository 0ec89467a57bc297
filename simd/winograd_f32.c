/*
 * Winograd's F(4x4, 3x3): 3x3 convolutions of stride 1 with a quarter of the multiplications, for about
 * three times the rounding error of a plain sum.
 *
 * The output is cut into tiles of 4x4 pixels, each made from 6x6 of the input. Both are transformed so that
 * convolving a tile becomes 36 independent products, one per transformed element e, which over all channels
 * are 36 GEMMs:
 *
 *     V[e][channel][tile]  =  B' (6x6 of input) B           input transform
 *     U[e][out][channel]   =  G  (3x3 of weights) G'        when packing
 *     M[e][out][tile]      =  U[e] V[e]                     the tiles of tile_f32.h
 *     4x4 of output        =  A' (M of that tile) A         output transform, with bias, residual and clamp
 *
 * A task takes some rows of tiles and some output channels; V lives in its scratch, and M for a few output
 * channels at a time. Transforms work on four neighbouring tiles at once: columns of a row are combined
 * without shuffles, then a 4x4 transpose turns columns of four tiles into lanes. A plane of V or M is an odd
 * number of cache lines long: 36 planes at a power of two would fall into the same few sets of the cache.
 *
 * Padding and pixels past the image are zeros, so no neighbour's value reaches an output. A value that is
 * not finite spreads over its tile, as it does in any such transform.
 */
#include "conv_window_f32.h"
#include "tile_f32.h"

enum {
    ELEMENTS = 36,
    PIXELS = 4,           /* side of a tile of output */
    V_BYTES = 640 * 1024, /* V of one task */
    BLOCK_TILES = 5,      /* tiles of output channels that M holds */
    FEW_TILES = 16,       /* a task has at least these where the image does */
    FEW_CHANNELS = 64,    /* and at least these output channels, */
    CHANNEL_TASKS = 16,   /* which are split for no more tasks than this */
    LEAST_CHANNELS = 12,  /* below, or on smaller images, transforms cost more than they save */
    LEAST_PIXELS = 8 * 8
};

/* The sizes a task works with. */
typedef struct winograd_job {
    size_t channels, outputs; /* of input, and the most that M holds */
    size_t tile_rows, tile_cols, tiles;
    size_t pitch; /* of a channel in V, of an output in M */
    size_t v_plane, m_plane;
    size_t copy_cols, copy_rows;
} winograd_job;

static const volatile float four = 4.0f, five = 5.0f, two = 2.0f, eight = 8.0f;

static size_t odd_lines(size_t elems) {
    return (ln_divide_up(elems, 16) | 1) * 16;
}

static winograd_job job_of(const ln_conv_f32_plan *plan, size_t tile_rows) {
    winograd_job job = {.channels = plan->shape.in_channels, .tile_rows = tile_rows};
    job.outputs = ln_min_size(BLOCK_TILES * LN_TILE_ROWS, plan->shape.out_channels);
    job.tile_cols = ln_divide_up(plan->shape.out[1], PIXELS);
    job.tiles = tile_rows * job.tile_cols;
    job.pitch = ln_divide_up(job.tiles, LN_TILE_COLS) * LN_TILE_COLS;
    /* The last vector of a row of tiles may write up to three tiles too many. */
    job.v_plane = odd_lines(ln_saturating_add(ln_saturating_mul(job.channels, job.pitch), 4));
    job.m_plane = odd_lines(ln_saturating_add(ln_saturating_mul(job.outputs, job.pitch), 4));
    job.copy_rows = PIXELS * tile_rows + 2;
    job.copy_cols = ln_divide_up(job.tile_cols, 4) * 4 * PIXELS + 4;
    return job;
}

static size_t job_elems(const winograd_job *job) {
    const size_t planes = ln_saturating_mul(ln_saturating_add(job->v_plane, job->m_plane), ELEMENTS);
    return ln_saturating_add(planes, ln_saturating_mul(job->copy_rows, job->copy_cols));
}

/* B' applied to six vectors. */
LN_INLINE void transform_input_6(const ln_v32f d[6], ln_v32f t[6], ln_v32f c2, ln_v32f c4, ln_v32f c5) {
    const ln_v32f even = ln_nmadd(d[4], c4, d[2]), odd = ln_nmadd(d[3], c4, d[1]);
    const ln_v32f near_even = ln_sub(d[4], d[2]), near_odd = ln_mul(c2, ln_sub(d[3], d[1]));
    t[0] = ln_madd(ln_nmadd(d[4], c5, d[2]), c4, d[0]);
    t[1] = ln_add(even, odd);
    t[2] = ln_sub(even, odd);
    t[3] = ln_add(near_even, near_odd);
    t[4] = ln_sub(near_even, near_odd);
    t[5] = ln_madd(ln_nmadd(d[5], c5, d[3]), c4, d[1]);
}

/* Transforms four tiles side by side. `from` is their top left; V has a plane per element. */
static LN_NOINLINE void transform_input(const float *from, size_t row_stride, float *v, size_t plane) {
    const ln_v32f c2 = ln_splat_opaque(&two), c4 = ln_splat_opaque(&four), c5 = ln_splat_opaque(&five);
    ln_v32f combined[6][5];
    for (size_t j = 0; j < 5; j++) {
        ln_v32f d[6], t[6];
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < 6; i++) {
            d[i] = ln_load(from + i * row_stride + 4 * j);
        }
        transform_input_6(d, t, c2, c4, c5);
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < 6; i++) {
            combined[i][j] = t[i];
        }
    }
    for (size_t i = 0; i < 6; i++) {
        ln_v32f d[6] = {combined[i][0], combined[i][1], combined[i][2], combined[i][3]}, t[6];
        ln_transpose_4x4(d);
        d[4] = wasm_i32x4_shuffle(d[0], combined[i][4], 1, 2, 3, 4);
        d[5] = wasm_i32x4_shuffle(d[1], combined[i][4], 1, 2, 3, 5);
        transform_input_6(d, t, c2, c4, c5);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 6; j++) {
            ln_store(v + (6 * i + j) * plane, t[j]);
        }
    }
}

/* A' applied to six vectors. */
LN_INLINE void transform_output_6(const ln_v32f m[6], ln_v32f s[4], ln_v32f c2, ln_v32f c4, ln_v32f c8) {
    const ln_v32f sum_near = ln_add(m[1], m[2]), difference_near = ln_sub(m[1], m[2]);
    const ln_v32f sum_far = ln_add(m[3], m[4]), difference_far = ln_sub(m[3], m[4]);
    s[0] = ln_add(ln_add(m[0], sum_near), sum_far);
    s[1] = ln_madd(difference_near, c2, difference_far);
    s[2] = ln_madd(sum_near, c4, sum_far);
    s[3] = ln_add(ln_madd(difference_near, c8, difference_far), m[5]);
}

/* Where four tiles of an output channel go. */
typedef struct tile_pixels {
    float *c;
    const float *residual;     /* or NULL */
    size_t stride, rows, cols; /* rows of the image, and how many of 4 x 16 pixels are on it */
} tile_pixels;

/* Finishes and stores four tiles, of which plane e of m holds element e. */
static LN_NOINLINE void transform_output(const float *m, size_t plane, const ln_tile_f32_out *out,
                                         ln_v32f bias, const tile_pixels *to) {
    const ln_v32f c2 = ln_splat_opaque(&two), c4 = ln_splat_opaque(&four), c8 = ln_splat_opaque(&eight);
    const ln_v32f low = ln_load_splat(&out->low), high = ln_load_splat(&out->high);
    ln_v32f combined[4][6];
    for (size_t j = 0; j < 6; j++) {
        ln_v32f column[6], s[4];
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < 6; i++) {
            column[i] = ln_load(m + (6 * i + j) * plane);
        }
        transform_output_6(column, s, c2, c4, c8);
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < 4; i++) {
            combined[i][j] = s[i];
        }
    }
    for (size_t i = 0; i < to->rows; i++) {
        ln_v32f s[4];
        float *const c = to->c + i * to->stride;
        transform_output_6(combined[i], s, c2, c4, c8);
        ln_transpose_4x4(s);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 4; j++) {
            const size_t lanes = to->cols < 4 * j ? 0 : to->cols - 4 * j < 4 ? to->cols - 4 * j : 4;
            ln_v32f v = ln_add(s[j], bias);
            if (to->residual != NULL) {
                v = ln_add(v, ln_load_part(to->residual + i * to->stride + (lanes > 0 ? 4 * j : 0), lanes));
            }
            v = ln_clamp_high(ln_clamp_low(v, low), high);
            if (lanes == 4) {
                ln_store(c + 4 * j, v);
            } else if (lanes > 0) {
                ln_store_part(c + 4 * j, v, lanes);
            }
        }
    }
}

/* V of a task: one channel after the other, through a padded copy of its rows. */
static void make_v(const ln_conv_f32_plan *plan, const winograd_job *job, const float *x, size_t tile_row,
                   float *v, float *copy) {
    const ln_conv_shape *s = &plan->shape;
    const ln_conv_window window = {
        .row = (ptrdiff_t)(tile_row * PIXELS) - s->pad[0],
        .col = -s->pad[1],
        .rows = job->copy_rows,
        .row_step = 1,
        .phases = 1,
        .phase_cols = job->copy_cols,
        .col_step = 1,
    };
    /* A row of tiles is written by fours; what the last one leaves of the pitch must be a number too. */
    const size_t written = (job->tile_rows - 1) * job->tile_cols + ln_divide_up(job->tile_cols, 4) * 4;
    memset(copy, 0, job->copy_rows * job->copy_cols * sizeof(float));
    for (size_t channel = 0; channel < job->channels; channel++) {
        for (size_t i = written; i < job->pitch; i++) {
            for (size_t e = 0; e < ELEMENTS; e++) {
                v[e * job->v_plane + channel * job->pitch + i] = 0.0f;
            }
        }
        ln_conv_copy_window(copy, x + channel * plan->plane_in, &window, s->in[0], s->in[1]);
        for (size_t row = 0; row < job->tile_rows; row++) {
            float *to = v + channel * job->pitch + row * job->tile_cols;
            for (size_t col = 0; col < job->tile_cols; col += 4) {
                const float *from = copy + row * PIXELS * job->copy_cols + col * PIXELS;
                transform_input(from, job->copy_cols, to + col, job->v_plane);
            }
        }
    }
}

/* The pixels of output channel `output` from its row of M. */
static void make_pixels(const ln_conv_f32_plan *plan, const winograd_job *job, const ln_tile_f32_out *out,
                        const float *m, size_t output, size_t tile_row) {
    const size_t height = plan->shape.out[0], width = plan->shape.out[1];
    const ln_v32f bias = out->bias == NULL ? ln_zero() : ln_load_splat(out->bias + output);
    for (size_t row = 0; row < job->tile_rows; row++) {
        const size_t y = (tile_row + row) * PIXELS;
        for (size_t col = 0; col < job->tile_cols; col += 4) {
            const size_t x = col * PIXELS, at = output * out->c_stride + y * width + x;
            const tile_pixels to = {
                .c = out->c + at,
                .residual = out->residual == NULL ? NULL : out->residual + at,
                .stride = width,
                .rows = ln_min_size(height - y, PIXELS),
                .cols = ln_min_size(width - x, 4 * PIXELS),
            };
            transform_output(m + row * job->tile_cols + col, job->m_plane, out, bias, &to);
        }
    }
}

/* M and then the pixels of tiles begin .. end of output channels, which are few. */
static void run_block(const ln_conv_f32_plan *plan, const winograd_job *job, const ln_tile_f32_out *out,
                      const float *u, const float *v, float *m, size_t begin, size_t end, size_t tile_row) {
    const size_t all = plan->shape.out_channels, first = ln_tile_f32_begin(all, begin);
    for (size_t e = 0; e < ELEMENTS; e++) {
        const ln_tile_f32_panels panels = {v + e * job->v_plane, job->pitch, LN_TILE_COLS};
        const ln_tile_f32_out sums = {.c = m + e * job->m_plane, .c_stride = job->pitch};
        for (size_t t = begin; t < end; t++) {
            const size_t row = ln_tile_f32_begin(all, t), rows = ln_tile_f32_begin(all, t + 1) - row;
            const float *tile = u + (e * all + row) * job->channels;
            ln_tile_f32_run(&sums, rows, job->channels, tile, 0, panels, row - first, 0, job->pitch);
        }
    }
    for (size_t output = first; output < ln_tile_f32_begin(all, end); output++) {
        make_pixels(plan, job, out, m + (output - first) * job->pitch, output, tile_row);
    }
}

static void task(const ln_conv_f32_plan *plan, const ln_conv_f32_args *args, size_t index, void *scratch) {
    const ln_conv_shape *s = &plan->shape;
    const size_t all_tile_rows = ln_divide_up(s->out[0], PIXELS);
    const size_t tile_row = index % plan->row_tasks * plan->row_step;
    const size_t begin = index / plan->row_tasks % plan->tile_tasks * plan->tile_step;
    const size_t end = ln_min_size(begin + plan->tile_step, ln_tile_f32_count(s->out_channels));
    const size_t batch = index / plan->row_tasks / plan->tile_tasks;
    const winograd_job job = job_of(plan, ln_min_size(plan->row_step, all_tile_rows - tile_row));
    float *const v = scratch;
    float *const m = v + ELEMENTS * job.v_plane;
    float *const copy = m + ELEMENTS * job.m_plane;
    make_v(plan, &job, args->x + batch * s->in_channels * plan->plane_in, tile_row, v, copy);
    const size_t image = batch * s->out_channels * plan->plane_out;
    const float *residual = args->residual == NULL ? NULL : args->residual + image;
    ln_tile_f32_out out = ln_tile_f32_output(args->activation, residual, args->residual_last);
    out.c = args->y + image;
    out.c_stride = out.residual_stride = plan->plane_out;
    out.bias = args->bias;
    for (size_t t = begin; t < end; t += BLOCK_TILES) {
        run_block(plan, &job, &out, args->w_packed, v, m, t, ln_min_size(t + BLOCK_TILES, end), tile_row);
    }
    const size_t first = ln_tile_f32_begin(s->out_channels, begin);
    const size_t pixel = tile_row * PIXELS * s->out[1];
    const size_t pixels = ln_min_size(job.tile_rows * PIXELS * s->out[1], plan->plane_out - pixel);
    ln_tile_f32_rest(&out, first, ln_tile_f32_begin(s->out_channels, end) - first, pixel, pixels);
}

/*
 * The rows of tiles for a task: among those whose V fits, what leaves the fewest columns of the tiles'
 * panels empty over the image, and of those the fewest.
 */
static size_t choose_rows(const ln_conv_f32_plan *plan) {
    const size_t tile_rows = ln_divide_up(plan->shape.out[0], PIXELS);
    const size_t tile_cols = ln_divide_up(plan->shape.out[1], PIXELS);
    const size_t least = ln_min_size(ln_divide_up(FEW_TILES, tile_cols), tile_rows);
    size_t best = least, fewest = SIZE_MAX;
    for (size_t rows = least; rows <= tile_rows; rows++) {
        const winograd_job job = job_of(plan, rows);
        const size_t left = tile_rows % rows;
        const size_t columns = tile_rows / rows * job.pitch + (left == 0 ? 0 : job_of(plan, left).pitch);
        if (rows > least && job.v_plane > V_BYTES / sizeof(float) / ELEMENTS) {
            break;
        }
        if (columns < fewest) {
            fewest = columns;
            best = rows;
        }
    }
    return best;
}

static void make_plan(ln_conv_f32_plan *plan) {
    const ln_conv_shape *s = &plan->shape;
    const size_t tile_rows = ln_divide_up(s->out[0], PIXELS), tiles = ln_tile_f32_count(s->out_channels);
    plan->row_step = choose_rows(plan);
    plan->row_tasks = ln_divide_up(tile_rows, plan->row_step);
    const size_t others = ln_saturating_mul(plan->row_tasks, s->batch);
    const size_t wanted = others >= CHANNEL_TASKS ? 1 : CHANNEL_TASKS / others;
    const size_t most = s->out_channels < FEW_CHANNELS ? 1 : s->out_channels / FEW_CHANNELS;
    plan->tile_step = ln_divide_up(tiles, ln_min_size(wanted, most));
    plan->tile_tasks = ln_divide_up(tiles, plan->tile_step);
    plan->task_count = ln_saturating_mul(others, plan->tile_tasks);
    const winograd_job job = job_of(plan, plan->row_step);
    plan->scratch_bytes = ln_saturating_mul(job_elems(&job), sizeof(float));
}

static size_t packed_bytes(const ln_conv_shape *shape) {
    const size_t pairs = ln_saturating_mul(shape->out_channels, shape->in_channels);
    return ln_saturating_mul(ln_saturating_mul(pairs, ELEMENTS), sizeof(float));
}

/* G applied to three vectors of doubles. */
LN_INLINE void transform_weights_3(const ln_v64f g[3], ln_v64f u[6]) {
    const ln_v64f sixth = wasm_f64x2_splat(1.0 / 6), half = wasm_f64x2_splat(0.5);
    const ln_v64f outer = wasm_f64x2_mul(wasm_f64x2_add(g[0], g[2]), wasm_f64x2_neg(sixth));
    const ln_v64f inner = wasm_f64x2_mul(g[1], sixth);
    const ln_v64f quarter = wasm_f64x2_mul(g[0], wasm_f64x2_splat(0.25));
    const ln_v64f far = wasm_f64x2_mul(wasm_f64x2_add(quarter, g[2]), sixth);
    const ln_v64f odd = wasm_f64x2_mul(inner, half);
    u[0] = quarter;
    u[1] = wasm_f64x2_sub(outer, inner);
    u[2] = wasm_f64x2_add(outer, inner);
    u[3] = wasm_f64x2_add(far, odd);
    u[4] = wasm_f64x2_sub(far, odd);
    u[5] = g[2];
}

/*
 * G g G' of two outputs, in double precision: it is done once. Tap t of both is at w[t * step] and `other` further.
 */
static LN_NOINLINE void transform_weights(const float *w, size_t step, size_t other, ln_v32f u[ELEMENTS]) {
    ln_v64f columns[3][6];
    for (size_t j = 0; j < 3; j++) {
        ln_v64f g[3];
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < 3; i++) {
            const float *tap = w + (3 * i + j) * step;
            g[i] = wasm_f64x2_make((double)tap[0], (double)tap[other]);
        }
        transform_weights_3(g, columns[j]);
    }
    for (size_t i = 0; i < 6; i++) {
        const ln_v64f g[3] = {columns[0][i], columns[1][i], columns[2][i]};
        ln_v64f row[6];
        transform_weights_3(g, row);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 6; j++) {
            u[6 * i + j] = wasm_f32x4_demote_f64x2_zero(row[j]);
        }
    }
}

/*
 * U as [e][tile][channel][rows of the tile]. The nine weights of a row and a channel are `step` apart;
 * `tiled` weights are packed as conv_gemm_f32.c does it, the others as the operator has them.
 */
static void pack_any(const ln_conv_shape *shape, float *packed, const float *w, bool tiled) {
    const size_t m = shape->out_channels, channels = shape->in_channels;
    for (size_t t = 0; t < ln_tile_f32_count(m); t++) {
        const size_t row = ln_tile_f32_begin(m, t), rows = ln_tile_f32_begin(m, t + 1) - row;
        const size_t step = tiled ? rows : 1, row_step = tiled ? 1 : channels * 9;
        for (size_t c = 0; c < channels; c++) {
            const float *from = w + row * channels * 9 + c * 9 * step;
            float *to = packed + row * channels + c * rows;
            for (size_t i = 0; i < rows; i += 2) {
                const size_t both = ln_min_size(rows - i, 2);
                ln_v32f u[ELEMENTS];
                transform_weights(from + i * row_step, step, (both - 1) * row_step, u);
                for (size_t e = 0; e < ELEMENTS; e++) {
                    float *at = to + e * m * channels + i;
                    if (both == 2) {
                        wasm_v128_store64_lane(at, u[e], 0);
                    } else {
                        wasm_v128_store32_lane(at, u[e], 0);
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

const ln_conv_f32_route ln_conv_f32_winograd = {
    .name = LN_RELAXED ? "f32_conv_winograd_4x4__relaxed" : "f32_conv_winograd_4x4__simd",
    .packed_bytes = packed_bytes,
    .pack = pack,
    .repack = repack,
    .plan = make_plan,
    .task = task,
};

/* 3x3 of stride 1, with enough channels and pixels. */
static bool pays(const ln_conv_shape *shape) {
    if (shape->rank != 2 || shape->groups != 1 || shape->in_channels < LEAST_CHANNELS ||
        shape->out_channels < LEAST_CHANNELS || shape->out[0] * shape->out[1] < LEAST_PIXELS) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (shape->kernel[i] != 3 || shape->stride[i] != 1 || shape->dilation[i] != 1) {
            return false;
        }
    }
    return true;
}

const ln_conv_f32_route *ln_conv_f32_winograd_for(const ln_conv_shape *shape) {
    return pays(shape)                             ? &ln_conv_f32_winograd
           : ln_conv_f32_winograd_line_pays(shape) ? &ln_conv_f32_winograd_line
                                                   : NULL;
}
