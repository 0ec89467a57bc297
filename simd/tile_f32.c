/*
 * The 6x8 (relaxed) and 5x8 (simd128) tiles, their lower brothers for the rows that remain, the wide forms
 * for one and two rows, and the packers.
 *
 * Every tile is stamped from one inline function whose row count is a constant, so that its sums live in
 * registers and the loops over rows and columns vanish. The loop over k stays rolled: V8 unrolls it itself,
 * and unrolling it here costs a third of the speed. With one or two rows a single panel gives only two or
 * four chains of additions, too few to hide their latency; the wide forms walk four or two panels at once,
 * which is what makes GEMV fast without a packing of its own.
 *
 * A panel that C has fewer than eight columns of is summed into a block on the stack and stored in part.
 */
#include "tile_f32.h"

#include <math.h>

/* `count` tiles side by side. */
typedef void tile_fn(const ln_tile_f32_out *out, size_t k, const float *a, size_t a_stride, const float *b,
                     size_t b_stride, size_t panel_stride, size_t row, size_t col, size_t count);

/* Four floats of a row, or the first `count` of them. A constant 4 costs no branch. */
LN_INLINE ln_v32f load_some(const float *p, size_t count) {
    return count == 4 ? ln_load(p) : ln_load_part(p, count);
}

/* The bias of vector j of a row whose bias begins at `bias`. */
LN_INLINE ln_v32f bias_at(const ln_tile_f32_out *out, const float *bias, size_t col, size_t j, size_t count) {
    return out->bias_col_stride == 0 ? ln_load_splat(bias) : load_some(bias + col + 4 * j, count);
}

/* alpha * sum + beta * bias. */
LN_INLINE void scale(const size_t rows, const size_t vectors, ln_v32f sum[][8], const ln_tile_f32_out *out,
                     size_t row, size_t col, size_t count) {
    const ln_v32f alpha = ln_splat(out->alpha), beta = ln_splat(out->beta);
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            sum[i][j] = ln_mul(sum[i][j], alpha);
            if (out->bias != NULL) {
                const float *bias = out->bias + (row + i) * out->bias_row_stride;
                const size_t lanes = j + 1 < vectors ? 4 : count;
                sum[i][j] = ln_madd(sum[i][j], beta, bias_at(out, bias, col, j, lanes));
            }
        }
    }
}

/* Residual and clamp. The last vector has `count` lanes in use. */
LN_INLINE void finish(const size_t rows, const size_t vectors, ln_v32f sum[][8], const ln_tile_f32_out *out,
                      size_t row, size_t col, size_t count) {
    if (out->residual != NULL) {
        const float *residual = out->residual + row * out->residual_stride + col;
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = ln_add(sum[i][j], load_some(residual + 4 * j, j + 1 < vectors ? 4 : count));
            }
            residual += out->residual_stride;
        }
    }
    if (out->clamps) {
        const ln_v32f low = ln_splat(out->low), high = ln_splat(out->high);
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = ln_clamp_high(ln_clamp_low(sum[i][j], low), high);
            }
        }
    }
}

/* Whether sums may start from the bias, which spares the epilogue. Those of convolutions always may. */
LN_INLINE bool starts_from_bias(const ln_tile_f32_out *out, bool convolves) {
    return out->bias != NULL && (convolves || (out->alpha == 1.0f && out->beta == 1.0f));
}

/* One step of the sums: a column of A, `distance` apart, times a row of B. */
LN_INLINE void add_products(const size_t rows, const size_t vectors, ln_v32f sum[][8], const float *a,
                            size_t distance, const float *b, size_t panel_stride) {
    ln_v32f b_row[8];
    LN_LOOP_UNROLLED
    for (size_t j = 0; j < vectors; j++) {
        b_row[j] = ln_load(b + (j / 2) * panel_stride + 4 * (j % 2));
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        const ln_v32f a_splat = ln_load_splat(a + i * distance);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            sum[i][j] = ln_madd(sum[i][j], a_splat, b_row[j]);
        }
    }
}

/*
 * Sums `rows` rows times `vectors` vectors and stores them. Everything but the pointers and k is a
 * constant. One that convolves reads row l of B at offsets[l]; its alpha and beta are 1, its bias one of rows.
 */
LN_INLINE void tile(const size_t rows, const size_t panels, const bool packed, const bool convolves,
                    const size_t *offsets, const ln_tile_f32_out *out, size_t k, const float *a,
                    size_t a_stride, const float *b, size_t b_stride, size_t panel_stride, size_t row,
                    size_t col) {
    const size_t vectors = 2 * panels;
    ln_v32f sum[6][8];
    float *c = out->c + row * out->c_stride + col;
    if (out->accumulate) {
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = ln_load(c + i * out->c_stride + 4 * j);
            }
        }
    } else if (starts_from_bias(out, convolves)) {
        const float *bias = out->bias + row * out->bias_row_stride;
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = convolves ? ln_load_splat(bias) : bias_at(out, bias, col, j, 4);
            }
            bias += out->bias_row_stride;
        }
    } else {
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < rows; i++) {
            LN_LOOP_UNROLLED
            for (size_t j = 0; j < vectors; j++) {
                sum[i][j] = ln_zero();
            }
        }
    }
    const size_t step = packed ? rows : 1;
    const size_t distance = packed ? 1 : a_stride;
    if (convolves) {
        LN_LOOP_ROLLED
        for (size_t l = 0; l < k; l++) {
            add_products(rows, vectors, sum, a, distance, b + offsets[l], LN_TILE_COLS);
            a += step;
        }
    } else {
        LN_LOOP_ROLLED
        for (size_t l = 0; l < k; l++) {
            add_products(rows, vectors, sum, a, distance, b, panel_stride);
            a += step;
            b += b_stride;
        }
    }
    if (out->finish) {
        if (!convolves && !starts_from_bias(out, false) && (out->bias != NULL || out->alpha != 1.0f)) {
            scale(rows, vectors, sum, out, row, col, 4);
        }
        finish(rows, vectors, sum, out, row, col, 4);
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < rows; i++) {
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < vectors; j++) {
            ln_store(c + 4 * j, sum[i][j]);
        }
        c += out->c_stride;
    }
}

#define TILE(name, rows, panels, packed)                                                                     \
    static void name(const ln_tile_f32_out *out, size_t k, const float *a, size_t a_stride, const float *b,  \
                     size_t b_stride, size_t panel_stride, size_t row, size_t col, size_t count) {           \
        LN_LOOP_ROLLED                                                                                       \
        for (; count > 0; count--) {                                                                         \
            tile(rows, panels, packed, false, NULL, out, k, a, a_stride, b, b_stride, panel_stride, row,     \
                 col);                                                                                       \
            b += (panels) * panel_stride;                                                                    \
            col += (panels) * LN_TILE_COLS;                                                                  \
        }                                                                                                    \
    }

TILE(packed_1x8, 1, 1, true)
TILE(packed_2x8, 2, 1, true)
TILE(packed_3x8, 3, 1, true)
TILE(packed_4x8, 4, 1, true)
TILE(packed_5x8, 5, 1, true)
TILE(packed_1x32, 1, 4, true)
TILE(packed_2x16, 2, 2, true)
TILE(strided_2x8, 2, 1, false)
TILE(strided_3x8, 3, 1, false)
TILE(strided_4x8, 4, 1, false)
TILE(strided_5x8, 5, 1, false)
TILE(strided_2x16, 2, 2, false)
#if LN_RELAXED
TILE(packed_6x8, 6, 1, true)
TILE(strided_6x8, 6, 1, false)
#endif

typedef void taps_fn(const ln_tile_f32_out *out, size_t k, const float *a, const float *b,
                     const size_t *offsets, size_t row, size_t col, size_t count);

#define TAPS(name, rows, panels)                                                                             \
    static void name(const ln_tile_f32_out *out, size_t k, const float *a, const float *b,                   \
                     const size_t *offsets, size_t row, size_t col, size_t count) {                          \
        LN_LOOP_ROLLED                                                                                       \
        for (; count > 0; count--) {                                                                         \
            tile(rows, panels, true, true, offsets, out, k, a, 0, b, 0, LN_TILE_COLS, row, col);             \
            b += (panels) * LN_TILE_COLS;                                                                    \
            col += (panels) * LN_TILE_COLS;                                                                  \
        }                                                                                                    \
    }

TAPS(taps_1x8, 1, 1)
TAPS(taps_2x8, 2, 1)
TAPS(taps_3x8, 3, 1)
TAPS(taps_4x8, 4, 1)
TAPS(taps_5x8, 5, 1)
TAPS(taps_1x32, 1, 4)
TAPS(taps_2x16, 2, 2)
#if LN_RELAXED
TAPS(taps_6x8, 6, 1)
#endif

/* By height: the tile of eight columns, and the widest one with its columns. */
static const struct {
    taps_fn *one, *wide;
    size_t wide_columns;
} taps_tiles[] = {
    {NULL, NULL, 0},         {taps_1x8, taps_1x32, 32}, {taps_2x8, taps_2x16, 16},
    {taps_3x8, taps_3x8, 8}, {taps_4x8, taps_4x8, 8},   {taps_5x8, taps_5x8, 8},
#if LN_RELAXED
    {taps_6x8, taps_6x8, 8},
#endif
};

void ln_tile_f32_run_taps(const ln_tile_f32_out *out, size_t rows, size_t k, const float *a, const float *b,
                          const size_t *offsets, size_t row, size_t col, size_t columns) {
    const bool wide = columns >= taps_tiles[rows].wide_columns;
    taps_fn *const fn = wide ? taps_tiles[rows].wide : taps_tiles[rows].one;
    const size_t step = wide ? taps_tiles[rows].wide_columns : LN_TILE_COLS;
    fn(out, k, a, b, offsets, row, col, columns / step);
    if (columns % step != 0) {
        fn(out, k, a, b + (columns - step), offsets, row, col + (columns - step), 1);
    }
}

/* By height: the tile of one panel, the wide tile, and how many panels the wide one takes. */
static const struct {
    tile_fn *packed, *strided, *wide_packed, *wide_strided;
    size_t wide_panels;
} tiles[] = {
    {NULL, NULL, NULL, NULL, 0},
    {packed_1x8, packed_1x8, packed_1x32, packed_1x32, 4},
    {packed_2x8, strided_2x8, packed_2x16, strided_2x16, 2},
    {packed_3x8, strided_3x8, packed_3x8, strided_3x8, 1},
    {packed_4x8, strided_4x8, packed_4x8, strided_4x8, 1},
    {packed_5x8, strided_5x8, packed_5x8, strided_5x8, 1},
#if LN_RELAXED
    {packed_6x8, strided_6x8, packed_6x8, strided_6x8, 1},
#endif
};

LN_NOINLINE void ln_tile_f32_store(const ln_tile_f32_out *out, ln_v32f sum, size_t row, size_t col,
                                   size_t count) {
    ln_v32f sums[1][8];
    sums[0][0] = sum;
    scale(1, 1, sums, out, row, col, count);
    finish(1, 1, sums, out, row, col, count);
    ln_store_part(out->c + row * out->c_stride + col, sums[0][0], count);
}

/* A panel of which C has fewer than eight columns. */
static void run_edge(const ln_tile_f32_out *out, tile_fn *fn, size_t rows, size_t k, const float *a,
                     size_t a_stride, const float *b, size_t b_stride, size_t row, size_t col,
                     size_t columns) {
    float block[6 * 8];
    const size_t low = columns < 4 ? columns : 4;
    const size_t high = columns - low;
    ln_tile_f32_out block_out = *out;
    block_out.c = block;
    block_out.c_stride = LN_TILE_COLS;
    block_out.finish = false;
    block_out.bias = NULL;
    for (size_t i = 0; i < rows && out->accumulate; i++) {
        const float *c = out->c + (row + i) * out->c_stride + col;
        ln_store(block + i * 8, ln_load_part(c, low));
        ln_store(block + i * 8 + 4, ln_load_part(c + low, high));
    }
    fn(&block_out, k, a, a_stride, b, b_stride, 0, 0, 0, 1);
    for (size_t i = 0; i < rows; i++) {
        for (size_t done = 0; done < columns; done += 4) {
            const size_t count = done == 0 ? low : high;
            const ln_v32f sum = ln_load(block + i * LN_TILE_COLS + done);
            if (out->finish) {
                ln_tile_f32_store(out, sum, row + i, col + done, count);
            } else {
                ln_store_part(out->c + (row + i) * out->c_stride + col + done, sum, count);
            }
        }
    }
}

void ln_tile_f32_run(const ln_tile_f32_out *out, size_t rows, size_t k, const float *a, size_t a_stride,
                     ln_tile_f32_panels b, size_t row, size_t col, size_t columns) {
    const bool packed = a_stride == 0;
    tile_fn *const one = packed ? tiles[rows].packed : tiles[rows].strided;
    tile_fn *const wide = packed ? tiles[rows].wide_packed : tiles[rows].wide_strided;
    const size_t all = columns / LN_TILE_COLS, wide_panels = tiles[rows].wide_panels;
    const size_t wide_count = all / wide_panels, done = wide_count * wide_panels;
    wide(out, k, a, a_stride, b.b, b.row_stride, b.panel_stride, row, col, wide_count);
    b.b += done * b.panel_stride;
    one(out, k, a, a_stride, b.b, b.row_stride, b.panel_stride, row, col + done * LN_TILE_COLS, all - done);
    if (columns % LN_TILE_COLS != 0) {
        b.b += (all - done) * b.panel_stride;
        run_edge(out, one, rows, k, a, a_stride, b.b, b.row_stride, row, col + all * LN_TILE_COLS,
                 columns % LN_TILE_COLS);
    }
}

/* Tiles whose column is summed at once: with two vectors each, as many chains as hide the latency of additions. */
enum { COLUMN_TILES = 4 };

/* A column of `count` tiles of 4 to 6 rows, `distance` apart: their first four rows, and their last four. */
LN_INLINE void sum_column(const size_t count, float sums[][8], size_t rows, size_t k, const float *a,
                          size_t distance, const float *b) {
    ln_v32f low[COLUMN_TILES], high[COLUMN_TILES];
    LN_LOOP_UNROLLED
    for (size_t t = 0; t < count; t++) {
        low[t] = ln_load(sums[t]);
        high[t] = ln_load(sums[t] + rows - 4);
    }
    LN_LOOP_ROLLED
    for (size_t l = 0; l < k; l++) {
        const ln_v32f b_splat = ln_load_splat(b + l);
        LN_LOOP_UNROLLED
        for (size_t t = 0; t < count; t++) {
            low[t] = ln_madd(low[t], ln_load(a + t * distance), b_splat);
            high[t] = ln_madd(high[t], ln_load(a + t * distance + rows - 4), b_splat);
        }
        a += rows;
    }
    LN_LOOP_UNROLLED
    for (size_t t = 0; t < count; t++) {
        ln_store(sums[t], low[t]);
        ln_store(sums[t] + rows - 4, high[t]);
    }
}

void ln_tile_f32_run_column(const ln_tile_f32_out *out, size_t m, size_t begin, size_t end, const float *a,
                            const ln_tile_f32_column *column, size_t row, size_t col) {
    for (size_t t = begin; t < end;) {
        const size_t first = ln_tile_f32_begin(m, t), rows = ln_tile_f32_begin(m, t + 1) - first;
        const size_t last = t + COLUMN_TILES, distance = rows * column->all_k;
        const bool several = last <= end && ln_tile_f32_begin(m, last) - first == COLUMN_TILES * rows;
        const size_t count = several ? COLUMN_TILES : 1;
        const float *const tile = a + first * column->all_k + column->k_begin * rows;
        float *const c = out->c + (row + first) * out->c_stride + col;
        float sums[COLUMN_TILES][8] = {{0.0f}};
        LN_LOOP_ROLLED
        for (size_t i = 0; out->accumulate && i < count; i++) {
            LN_LOOP_ROLLED
            for (size_t j = 0; j < rows; j++) {
                sums[i][j] = c[(i * rows + j) * out->c_stride];
            }
        }
        if (several) {
            sum_column(COLUMN_TILES, sums, rows, column->k, tile, distance, column->b);
        } else {
            sum_column(1, sums, rows, column->k, tile, distance, column->b);
        }
        LN_LOOP_ROLLED
        for (size_t i = 0; i < count; i++) {
            LN_LOOP_ROLLED
            for (size_t j = 0; j < rows; j++) {
                if (out->finish) {
                    ln_tile_f32_store(out, ln_splat(sums[i][j]), row + first + i * rows + j, col, 1);
                } else {
                    c[(i * rows + j) * out->c_stride] = sums[i][j];
                }
            }
        }
        t += several ? COLUMN_TILES : 1;
    }
}

ln_tile_f32_out ln_tile_f32_output(ln_activation_f32 activation, const float *residual, bool residual_last) {
    ln_tile_f32_out out = {.alpha = 1.0f, .beta = 1.0f, .low = -INFINITY, .high = INFINITY, .finish = true};
    out.residual = residual_last ? NULL : residual;
    out.residual_after = residual_last ? residual : NULL;
    if (activation.present && activation.kind == LN_UNARY_RELU) {
        out.low = 0.0f;
        out.clamps = true;
    } else if (activation.present && activation.kind == LN_UNARY_CLIP) {
        out.low = activation.alpha;
        out.high = activation.beta;
        out.clamps = true;
    } else {
        out.activation = activation;
    }
    return out;
}

void ln_tile_f32_rest(const ln_tile_f32_out *out, size_t row, size_t rows, size_t col, size_t columns) {
    if (!out->activation.present && out->residual_after == NULL) {
        return;
    }
    for (size_t i = row; i < row + rows; i++) {
        float *c = out->c + i * out->c_stride + col;
        if (out->activation.present) {
            ln_unary_f32[out->activation.kind](c, c, columns, out->activation.alpha, out->activation.beta);
        }
        if (out->residual_after != NULL) {
            const float *residual = out->residual_after + i * out->residual_stride + col;
            size_t j = 0;
            for (; j + 4 <= columns; j += 4) {
                ln_store(c + j, ln_add(ln_load(c + j), ln_load(residual + j)));
            }
            for (; j < columns; j++) {
                c[j] += residual[j];
            }
        }
    }
}

size_t ln_tile_f32_count(size_t m) {
    return ln_divide_up(m, LN_TILE_ROWS);
}

size_t ln_tile_f32_begin(size_t m, size_t index) {
    const size_t count = ln_tile_f32_count(m);
    const size_t higher = m % count; /* tiles of one row more than the others come first */
    return index * (m / count) + (index < higher ? index : higher);
}

/* Steps [0, k) of four rows of A, k a multiple of four; the packed tile is `rows` high. */
static void pack_four_rows(float *packed, const float *a, size_t row_stride, size_t rows, size_t k) {
    LN_LOOP_ROLLED
    for (size_t l = 0; l < k; l += 4) {
        ln_v32f block[4];
        LN_LOOP_UNROLLED
        for (size_t i = 0; i < 4; i++) {
            block[i] = ln_load(a + i * row_stride + l);
        }
        ln_transpose_4x4(block);
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 4; j++) {
            ln_store(packed + (l + j) * rows, block[j]);
        }
    }
}

void ln_tile_f32_pack_a(float *packed, const float *a, size_t row_stride, size_t col_stride, size_t rows,
                        size_t k) {
    size_t row = 0;
    size_t begin = 0; /* steps before it are done for rows before `row` */
    if (col_stride == 1 && rows >= 4) {
        begin = k - k % 4;
        row = 4;
        pack_four_rows(packed, a, row_stride, rows, begin);
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t l = i < row ? begin : 0; l < k; l++) {
            packed[l * rows + i] = a[i * row_stride + l * col_stride];
        }
    }
}

/* Four rows of eight columns that lie contiguously along k. */
static void transpose_8x4(float *packed, const float *b, size_t col_stride) {
    for (size_t half = 0; half < 2; half++) {
        ln_v32f block[4];
        LN_LOOP_UNROLLED
        for (size_t j = 0; j < 4; j++) {
            block[j] = ln_load(b + (4 * half + j) * col_stride);
        }
        ln_transpose_4x4(block);
        LN_LOOP_UNROLLED
        for (size_t l = 0; l < 4; l++) {
            ln_store(packed + l * LN_TILE_COLS + 4 * half, block[l]);
        }
    }
}

void ln_tile_f32_pack_b(float *packed, const float *b, size_t row_stride, size_t col_stride, size_t k,
                        size_t columns) {
    size_t l = 0;
    if (columns == LN_TILE_COLS && col_stride == 1) {
        for (; l < k; l++) {
            ln_store(packed + l * LN_TILE_COLS, ln_load(b + l * row_stride));
            ln_store(packed + l * LN_TILE_COLS + 4, ln_load(b + l * row_stride + 4));
        }
    } else if (columns == LN_TILE_COLS && row_stride == 1) {
        for (; l + 4 <= k; l += 4) {
            transpose_8x4(packed + l * LN_TILE_COLS, b + l, col_stride);
        }
    }
    for (; l < k; l++) {
        for (size_t j = 0; j < LN_TILE_COLS; j++) {
            packed[l * LN_TILE_COLS + j] = j < columns ? b[l * row_stride + j * col_stride] : 0.0f;
        }
    }
}
