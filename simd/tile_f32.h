/*
 * The inner product tile that GEMM, convolution and Winograd share: a few rows of A times panels of B, eight
 * columns wide. Only kernels include this.
 *
 *   A tile, packed                     A tile, strided                B panels
 *   [k][rows], one run of memory       rows at a fixed distance       [k][8], row l at b + l * b_stride,
 *                                                                     panel p at b + p * panel_stride
 *
 * Tiles are at most LN_TILE_ROWS high. The relaxed build keeps 6x8 sums in 12 registers, two more hold a row
 * of B and one the splat of A; without fused multiply-add the product needs a register too, so that build is
 * 5x8. Rows are shared out evenly (8 rows are 4+4, never 6+2): a tile of few rows has too few independent
 * chains.
 *
 * Each sum runs over k in ascending order, also across calls that continue it (`accumulate`): blocking over
 * k and the width of a call change no bit. A sum starts from its bias where alpha and beta are 1, except in
 * a panel of fewer than eight columns.
 */
#ifndef LN_TILE_F32_H
#define LN_TILE_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels.h"
#include "simd.h"

#define LN_TILE_ROWS (LN_RELAXED ? (size_t)6 : (size_t)5)
#define LN_TILE_COLS ((size_t)8)

/* Where sums go and what becomes of them: clamp(alpha * sum + beta * bias + residual). */
typedef struct ln_tile_f32_out {
    float *c;
    size_t c_stride;
    const float *bias;
    size_t bias_row_stride, bias_col_stride;
    const float *residual;
    size_t residual_stride;
    float alpha, beta, low, high;
    bool accumulate; /* start from the sums in c instead of 0 */
    bool finish;     /* apply the formula above; otherwise c receives the sums as they are */
    bool clamps;     /* low or high is a bound */
    /* What the clamp does not cover; ln_tile_f32_rest applies it. */
    ln_activation_f32 activation;
    const float *residual_after;
} ln_tile_f32_out;

/* Describes an epilogue that starts from 0, finishes, and has no bias: the caller fills in c and the rest. */
ln_tile_f32_out ln_tile_f32_output(ln_activation_f32 activation, const float *residual, bool residual_last);

/* B as ln_tile_f32_run reads it. A last panel of fewer than eight columns is readable in full. */
typedef struct ln_tile_f32_panels {
    const float *b;
    size_t row_stride, panel_stride;
} ln_tile_f32_panels;

/*
 * C[row .. row + rows)[col .. col + columns) for one tile of A and all the panels that `columns` needs. An
 * a_stride of 0 means a packed tile.
 */
void ln_tile_f32_run(const ln_tile_f32_out *out, size_t rows, size_t k, const float *a, size_t a_stride,
                     ln_tile_f32_panels b, size_t row, size_t col, size_t columns);

/*
 * The same without panels, for a packed tile of A: row l of B begins offsets[l] after b, columns are neighbours in memory, at
 * least eight. The last ones are summed twice where eight do not divide them, so sums always finish.
 */
void ln_tile_f32_run_taps(const ln_tile_f32_out *out, size_t rows, size_t k, const float *a, const float *b,
                          const size_t *offsets, size_t row, size_t col, size_t columns);

/* A single column of B, and which part of the depth of A it meets. */
typedef struct ln_tile_f32_column {
    const float *b;           /* k numbers side by side */
    size_t k_begin, k, all_k; /* a packed tile of A has all_k columns */
} ln_tile_f32_column;

/*
 * C[row .. ][col] for tiles begin .. end of A, which has m rows and is packed tile after tile from a. Rows are lanes, so that
 * a column costs an eighth of a panel. No tile may be lower than four rows.
 */
void ln_tile_f32_run_column(const ln_tile_f32_out *out, size_t m, size_t begin, size_t end, const float *a,
                            const ln_tile_f32_column *column, size_t row, size_t col);

/* Finishes and stores the sums of C[row][col .. col + count), count 1 to 4. */
void ln_tile_f32_store(const ln_tile_f32_out *out, ln_v32f sum, size_t row, size_t col, size_t count);

/* The activation and residual that ln_tile_f32_run leaves undone, for a finished block of C. */
void ln_tile_f32_rest(const ln_tile_f32_out *out, size_t row, size_t rows, size_t col, size_t columns);

/* How many tiles `m` rows make, and where tile `index` begins; tile `count` begins at m. */
size_t ln_tile_f32_count(size_t m);
size_t ln_tile_f32_begin(size_t m, size_t index);

/* Packs rows of A into [k][rows]. */
void ln_tile_f32_pack_a(float *packed, const float *a, size_t row_stride, size_t col_stride, size_t rows,
                        size_t k);

/* Packs up to eight columns of B into [k][8]; columns that are missing become 0. */
void ln_tile_f32_pack_b(float *packed, const float *b, size_t row_stride, size_t col_stride, size_t k,
                        size_t columns);

static inline size_t ln_min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* a * b, or SIZE_MAX when either is SIZE_MAX or the product does not fit. The sum likewise. */
static inline size_t ln_saturating_mul(size_t a, size_t b) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static inline size_t ln_saturating_add(size_t a, size_t b) {
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

static inline size_t ln_divide_up(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

#endif
