/*
 * A large f32 product by one level of Strassen's scheme in Winograd's form: seven products of quarters instead of eight.
 *
 *     S1 = A21 + A22   S2 = S1 - A11   S3 = A11 - A21   S4 = A12 - S2       C11 = A11 B11 + A12 B21
 *     T1 = B12 - B11   T2 = B22 - T1   T3 = B22 - B12   T4 = B21 - T2       U2  = A11 B11 + S2 T2
 *     U4  = U2 + S1 T1     C12 = U4 + S4 B22
 *     C21 = U2 + S3 T3 + A22 T4        C22 = U4 + S3 T3
 *
 * The sums of A are made once, by tasks of their own, into memory that all tasks share. A task owns a few panels of the
 * left half of B and their counterparts of the right half; it makes the sums of B in its scratch, where they stay in the
 * L2 cache for all rows, so that B is stored once, as ever. k goes in blocks and rows in chunks that fit the caches.
 *
 * Rounding: with u = 2^-24 an error is at most about 4.5 k^2 u max|A| max|B| (plain summation: k^2 u), in practice about
 * twice that of the plain sum. It is relative to the largest elements of A and B, for a row of small ones too, so an A
 * with elements of more than 1024 times the mean magnitude is multiplied plainly; and so are operands that are not finite
 * or so large that a sum might overflow, which would spread from row to row. The tasks of sums look at A, and B is
 * looked at as its sums are made.
 */
#include "tile_f32.h"

#if LN_RELAXED

enum {
    LEAST_ROWS = 96,          /* the sums of B must pay */
    LEAST_DEPTH = 640,        /* of k: quarters are half as deep */
    LEAST_COLUMNS = 128,      /* of n: the sums of A must pay */
    K_STEP = 512,             /* depth of a block of a quarter */
    CHUNK_ROWS = 96,          /* of a quarter, at a time */
    GROUP_BYTES = 704 * 1024, /* of B, with its sums, in a task */
    MOST_PANELS = 8,          /* of a half of B, in a task */
    LEAST_TASKS = 12,
    ODD_ROWS = 5, /* an odd number of rows leaves these, a whole tile, to the plain product */
    MOST_SUM_TASKS = 32,
    ROWS_PER_SUM_TASK = 16,
    SUMS = 4
};

/* Magnitudes add up to less, or products of sums might overflow; what is not finite fails the comparison. */
#define MOST_MAGNITUDE 0x1p56f
/* No element of A is larger than this, times the mean magnitude: rounding is relative to the largest. */
#define MOST_PEAK 1024.0f

typedef struct quarters {
    size_t rows, k, columns;        /* of a quarter */
    size_t k_step, panels, chunk;   /* a block of k, the panels of a task, rows of a chunk */
    size_t sum_tasks, rows_per_sum; /* of the sums of A */
} quarters;

static LN_NOINLINE quarters split(const ln_gemm_f32_args *args) {
    quarters q = {.k = args->k / 2, .columns = args->n / 2};
    q.rows = (args->m % 2 == 0 ? args->m : args->m - ODD_ROWS) / 2;
    q.k_step = ln_divide_up(q.k, ln_divide_up(q.k, K_STEP));
    q.chunk = ln_divide_up(q.rows, ln_divide_up(q.rows, CHUNK_ROWS));
    q.panels = GROUP_BYTES / (7 * q.k_step * LN_TILE_COLS * sizeof(float));
    q.panels = ln_min_size(ln_min_size(q.panels, MOST_PANELS),
                           ln_divide_up(args->n / 2 / LN_TILE_COLS, LEAST_TASKS));
    q.rows_per_sum = ln_divide_up(q.rows, MOST_SUM_TASKS);
    q.rows_per_sum = q.rows_per_sum < ROWS_PER_SUM_TASK ? ROWS_PER_SUM_TASK : q.rows_per_sum;
    q.sum_tasks = ln_divide_up(q.rows, q.rows_per_sum);
    return q;
}

static bool applies(const ln_gemm_f32_args *args) {
    return args->b_is_packed && args->a_col_stride == 1 && args->alpha == 1.0f && args->beta == 1.0f &&
           args->residual == NULL && args->m >= LEAST_ROWS && args->k >= LEAST_DEPTH &&
           args->n >= LEAST_COLUMNS && args->k % 2 == 0 && args->n % (2 * LN_TILE_COLS) == 0 &&
           args->m <= SIZE_MAX / 8 / sizeof(float) / args->k;
}

/* ---- Sums of A ---- */

static size_t sum_count(const ln_gemm_f32_args *args) {
    const quarters q = split(args);
    return 2 * MOST_SUM_TASKS + SUMS * q.rows * q.k;
}

static size_t sum_tasks(const ln_gemm_f32_args *args) {
    return split(args).sum_tasks;
}

/* The magnitudes of four, in a short chain of additions. */
LN_INLINE ln_v32f magnitudes_of(ln_v32f a, ln_v32f b, ln_v32f c, ln_v32f d) {
    return ln_add(ln_add(ln_abs(a), ln_abs(b)), ln_add(ln_abs(c), ln_abs(d)));
}

/* The largest of four magnitudes; a NaN may be lost. */
LN_INLINE ln_v32f largest_of(ln_v32f a, ln_v32f b, ln_v32f c, ln_v32f d) {
    return ln_clamp_low(ln_clamp_low(ln_abs(a), ln_abs(b)), ln_clamp_low(ln_abs(c), ln_abs(d)));
}

static void sum_task(const ln_gemm_f32_args *args, float *sums, size_t index) {
    const quarters q = split(args);
    const size_t begin = index * q.rows_per_sum;
    const size_t end = ln_min_size(q.rows, begin + q.rows_per_sum);
    const size_t quarter = q.rows * q.k;
    ln_v32f magnitudes = ln_zero(), peak = ln_zero();
    for (size_t i = begin; i < end; i++) {
        const float *top = args->a + i * args->a_row_stride;
        const float *bottom = top + q.rows * args->a_row_stride;
        float *s = sums + 2 * MOST_SUM_TASKS + i * q.k;
        for (size_t l = 0; l < q.k; l += 4) {
            const size_t count = q.k - l;
            const ln_v32f a11 = ln_load_first(top + l, count), a12 = ln_load_first(top + q.k + l, count);
            const ln_v32f a21 = ln_load_first(bottom + l, count);
            const ln_v32f a22 = ln_load_first(bottom + q.k + l, count);
            magnitudes = ln_add(magnitudes, magnitudes_of(a11, a12, a21, a22));
            peak = ln_clamp_low(peak, largest_of(a11, a12, a21, a22));
            const ln_v32f s1 = ln_add(a21, a22);
            const ln_v32f s2 = ln_sub(s1, a11);
            const ln_v32f s3 = ln_sub(a11, a21);
            const ln_v32f s4 = ln_sub(a12, s2);
            ln_store_first(s + l, s1, count);
            ln_store_first(s + quarter + l, s2, count);
            ln_store_first(s + 2 * quarter + l, s3, count);
            ln_store_first(s + 3 * quarter + l, s4, count);
        }
    }
    sums[2 * index] = ln_sum_lanes(magnitudes);
    sums[2 * index + 1] = ln_max_lane(peak);
}

/* Whether A is fit for sums: else there is nothing for it but the plain product. */
static bool sums_are_good(const quarters *q, const float *sums) {
    float magnitudes = 0.0f, peak = 0.0f;
    for (size_t i = 0; i < q->sum_tasks; i++) {
        magnitudes += sums[2 * i];
        peak = sums[2 * i + 1] > peak ? sums[2 * i + 1] : peak;
    }
    const float mean = magnitudes / (4.0f * (float)q->rows * (float)q->k);
    return magnitudes < MOST_MAGNITUDE && peak <= MOST_PEAK * mean;
}

/* ---- Tasks ---- */

static size_t task_count(const ln_gemm_f32_args *args) {
    const quarters q = split(args);
    return ln_divide_up(q.columns / LN_TILE_COLS, q.panels);
}

/* Of U2, U4 and the product S3 T3, a chunk of rows each; and of the sums of B. */
static size_t chunk_elems(const quarters *q) {
    return q->chunk * q->panels * LN_TILE_COLS;
}

static size_t panel_elems(const quarters *q) {
    return q->panels * q->k_step * LN_TILE_COLS;
}

/* Rows [row, row + rows) and columns [col, col + columns) of the product, as if it were another. */
static LN_NOINLINE ln_gemm_f32_args part_of(const ln_gemm_f32_args *args, size_t row, size_t rows, size_t col,
                                            size_t columns) {
    ln_gemm_f32_args part = *args;
    part.m = rows;
    part.n = columns;
    part.a += row * args->a_row_stride;
    part.b += col * args->k;
    part.c += row * args->c_row_stride + col;
    if (part.bias != NULL) {
        part.bias += row * args->bias_row_stride + col * args->bias_col_stride;
    }
    return part;
}

static size_t scratch_bytes(const ln_gemm_f32_args *args) {
    const quarters q = split(args);
    const ln_gemm_f32_args part = part_of(args, 0, args->m, 0, q.panels * LN_TILE_COLS);
    const size_t plain = ln_gemm_f32.scratch_bytes(&part);
    const size_t own = (3 * chunk_elems(&q) + SUMS * panel_elems(&q)) * sizeof(float);
    return own > plain ? own : plain;
}

static LN_NOINLINE void multiply_plainly(const ln_gemm_f32_args *args, size_t row, size_t rows, size_t col,
                                         size_t columns, void *scratch) {
    const ln_gemm_f32_args part = part_of(args, row, rows, col, columns);
    const size_t tasks = ln_gemm_f32.task_count(&part);
    for (size_t i = 0; i < tasks; i++) {
        ln_gemm_f32.task(&part, i, scratch);
    }
}

/*
 * T1 to T4, each of `elems`, for `count` rows of a panel of the left half of B, the one of the right half, and those
 * `lower` further on. False: they are not fit for use.
 */
static bool sum_b(float *t, size_t elems, const float *left, const float *right, size_t lower, size_t count) {
    ln_v32f magnitudes = ln_zero();
    LN_LOOP_ROLLED
    for (size_t l = 0; l < count * LN_TILE_COLS; l += LN_TILE_COLS) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < LN_TILE_COLS; j += 4) {
            const ln_v32f b11 = ln_load(left + l + j), b12 = ln_load(right + l + j);
            const ln_v32f b21 = ln_load(left + lower + l + j), b22 = ln_load(right + lower + l + j);
            const ln_v32f t1 = ln_sub(b12, b11);
            const ln_v32f t2 = ln_sub(b22, t1);
            const ln_v32f t3 = ln_sub(b22, b12);
            const ln_v32f t4 = ln_sub(b21, t2);
            magnitudes = ln_add(magnitudes, magnitudes_of(b11, b12, b21, b22));
            ln_store(t + l + j, t1);
            ln_store(t + elems + l + j, t2);
            ln_store(t + 2 * elems + l + j, t3);
            ln_store(t + 3 * elems + l + j, t4);
        }
    }
    return ln_sum_lanes(magnitudes) < MOST_MAGNITUDE;
}

/* Where a product of quarters goes: a quarter of C or a chunk in scratch, with what is added to it. */
static LN_NOINLINE ln_tile_f32_out into(float *c, size_t stride, const float *residual,
                                        size_t residual_stride, bool accumulate) {
    const ln_activation_f32 none = {.present = false};
    ln_tile_f32_out out = ln_tile_f32_output(none, residual, false);
    out.c = c;
    out.c_stride = stride;
    out.residual_stride = residual_stride;
    out.accumulate = accumulate;
    return out;
}

static LN_NOINLINE void multiply(const ln_tile_f32_out *out, const float *a, size_t a_stride, const float *b,
                                 size_t panel_stride, size_t rows, size_t k, size_t columns) {
    const size_t tiles = ln_tile_f32_count(rows);
    for (size_t t = 0; t < tiles; t++) {
        const size_t row = ln_tile_f32_begin(rows, t);
        const size_t height = ln_tile_f32_begin(rows, t + 1) - row;
        const ln_tile_f32_panels panels = {b, LN_TILE_COLS, panel_stride};
        ln_tile_f32_run(out, height, k, a + row * a_stride, a_stride, panels, row, 0, columns);
    }
}

/* U2 += P and C22 = U4 + P, plus what is there or the bias. */
static void spread(float *u2, const float *u4, const float *p, const ln_tile_f32_out *c22, size_t rows,
                   size_t columns) {
    for (size_t i = 0; i < rows; i++) {
        float *c = c22->c + i * c22->c_stride;
        for (size_t j = 0; j < columns; j += 4, u2 += 4, u4 += 4, p += 4) {
            const ln_v32f product = ln_load(p);
            ln_store(u2, ln_add(ln_load(u2), product));
            ln_v32f sum = ln_add(ln_load(u4), product);
            if (c22->accumulate) {
                sum = ln_add(sum, ln_load(c + j));
            } else if (c22->bias != NULL) {
                const float *bias = c22->bias + i * c22->bias_row_stride;
                sum = ln_add(sum, c22->bias_col_stride == 0 ? ln_load_splat(bias) : ln_load(bias + j));
            }
            if (c22->clamps) {
                sum = ln_clamp_high(ln_clamp_low(sum, ln_splat(c22->low)), ln_splat(c22->high));
            }
            ln_store(c + j, sum);
        }
    }
}

/* A block of k for a chunk of rows. */
typedef struct strassen_block {
    size_t k_begin, k, row, rows, col, columns;
    float *t; /* sums of B */
    float *u2;
} strassen_block;

/* The quarter of C whose first row and column are given, as this block leaves it. */
static LN_NOINLINE ln_tile_f32_out quarter_of_c(const ln_gemm_f32_args *args, const quarters *q,
                                                const strassen_block *block, size_t row, size_t col,
                                                const float *residual) {
    const size_t i = block->row + row, j = block->col + col;
    ln_tile_f32_out out = into(args->c + i * args->c_row_stride + j, args->c_row_stride, residual,
                               block->columns, block->k_begin > 0);
    if (args->bias != NULL) {
        out.bias = args->bias + i * args->bias_row_stride + j * args->bias_col_stride;
        out.bias_row_stride = args->bias_row_stride;
        out.bias_col_stride = args->bias_col_stride;
    }
    if (block->k_begin + block->k == q->k) {
        const ln_tile_f32_out last = ln_tile_f32_output(args->activation, NULL, false);
        out.low = last.low;
        out.high = last.high;
        out.clamps = last.clamps;
    }
    return out;
}

static void run_block(const ln_gemm_f32_args *args, const quarters *q, const float *sums,
                      const strassen_block *block) {
    const size_t rows = block->rows, k = block->k, columns = block->columns;
    const size_t chunk = chunk_elems(q), t_elems = panel_elems(q), t_panel = k * LN_TILE_COLS;
    const size_t quarter = q->rows * q->k, b_panel = args->k * LN_TILE_COLS;
    float *const u2 = block->u2, *const u4 = u2 + chunk, *const p = u4 + chunk;
    const float *s = sums + 2 * MOST_SUM_TASKS + block->row * q->k + block->k_begin;
    const float *a11 = args->a + block->row * args->a_row_stride + block->k_begin;
    const float *a12 = a11 + q->k, *a22 = a12 + q->rows * args->a_row_stride;
    const float *b11 = args->b + block->col * args->k + block->k_begin * LN_TILE_COLS;
    const float *b21 = b11 + q->k * LN_TILE_COLS, *b22 = b21 + q->columns * args->k;
    const float *t = block->t;
    ln_tile_f32_out out = into(u2, columns, NULL, 0, false);
    multiply(&out, a11, args->a_row_stride, b11, b_panel, rows, k, columns);
    out = quarter_of_c(args, q, block, 0, 0, u2);
    multiply(&out, a12, args->a_row_stride, b21, b_panel, rows, k, columns);
    out = into(u2, columns, NULL, 0, true);
    multiply(&out, s + quarter, q->k, t + t_elems, t_panel, rows, k, columns);
    out = into(u4, columns, u2, columns, false);
    multiply(&out, s, q->k, t, t_panel, rows, k, columns);
    out = quarter_of_c(args, q, block, 0, q->columns, u4);
    multiply(&out, s + 3 * quarter, q->k, b22, b_panel, rows, k, columns);
    out = into(p, columns, NULL, 0, false);
    multiply(&out, s + 2 * quarter, q->k, t + 2 * t_elems, t_panel, rows, k, columns);
    out = quarter_of_c(args, q, block, q->rows, q->columns, NULL);
    spread(u2, u4, p, &out, rows, columns);
    out = quarter_of_c(args, q, block, q->rows, 0, u2);
    multiply(&out, a22, args->a_row_stride, t + 3 * t_elems, t_panel, rows, k, columns);
}

/* Both halves of a task's columns; false when B has what only the plain product may touch. */
static bool run_quarters(const ln_gemm_f32_args *args, const quarters *q, const float *sums, size_t col,
                         size_t columns, float *scratch) {
    strassen_block block = {.col = col, .columns = columns, .u2 = scratch, .t = scratch + 3 * chunk_elems(q)};
    for (block.k_begin = 0; block.k_begin < q->k; block.k_begin += block.k) {
        block.k = ln_min_size(q->k_step, q->k - block.k_begin);
        const float *left = args->b + col * args->k + block.k_begin * LN_TILE_COLS;
        for (size_t j = 0; j < columns; j += LN_TILE_COLS) {
            const float *const panel = left + j * args->k;
            if (!sum_b(block.t + j * block.k, panel_elems(q), panel, panel + q->columns * args->k,
                       q->k * LN_TILE_COLS, block.k)) {
                return false;
            }
        }
        for (block.row = 0; block.row < q->rows; block.row += block.rows) {
            block.rows = ln_min_size(q->chunk, q->rows - block.row);
            run_block(args, q, sums, &block);
        }
    }
    return true;
}

static void task(const ln_gemm_f32_args *args, const float *sums, size_t index, void *scratch) {
    const quarters q = split(args);
    const size_t col = index * q.panels * LN_TILE_COLS;
    const size_t columns = ln_min_size(q.panels * LN_TILE_COLS, q.columns - col);
    const bool split_up = sums_are_good(&q, sums) && run_quarters(args, &q, sums, col, columns, scratch);
    const size_t done = split_up ? 2 * q.rows : 0;
    for (size_t half = 0; half < 2; half++) {
        const size_t first = col + half * q.columns;
        if (done < args->m) {
            multiply_plainly(args, done, args->m - done, first, columns, scratch);
        }
        if (done > 0) {
            ln_tile_f32_out out = ln_tile_f32_output(args->activation, NULL, false);
            out.c = args->c + first;
            out.c_stride = args->c_row_stride;
            ln_tile_f32_rest(&out, 0, done, 0, columns);
        }
    }
}

const ln_strassen_f32_kernels ln_strassen_f32 = {
    .applies = applies,
    .sum_count = sum_count,
    .sum_tasks = sum_tasks,
    .sum_task = sum_task,
    .task_count = task_count,
    .scratch_bytes = scratch_bytes,
    .task = task,
};

#else

/* Without fused multiply-add the sums cost what the products save. */
static bool applies(const ln_gemm_f32_args *args) {
    (void)args;
    return false;
}

const ln_strassen_f32_kernels ln_strassen_f32 = {.applies = applies};

#endif
