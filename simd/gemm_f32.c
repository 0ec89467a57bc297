/*
 * f32 GEMM over the tiles of tile_f32.h.
 *
 * B is packed into panels [n / 8][k][8], one packing for every M: taller products walk it a panel at a time,
 * one and two rows take several panels at once. A B that comes unpacked (attention, products of activations)
 * is packed on the fly, a block of panels at a time into the task's scratch; for few rows, where packing
 * would cost as much as the product, it is read where it lies: rows of B directly, columns of B by the dot
 * products of gemv_f32.c.
 *
 * A is read where it lies, a few rows side by side, or packed tile by tile: see packs_a.
 *
 * The loops of a task are k blocks, then tiles of A, then panels of B, so that a block of B stays in the L2
 * cache while a tile of A stays in L1. Tasks that share panels of B follow one another: weights come from memory
 * once. Sums are independent of all these sizes.
 */
#include "gemv_f32.h"
#include "tile_f32.h"

enum {
    K_STEP = 1024,            /* depth of a block: 32 KB per panel */
    BLOCK_BYTES = 256 * 1024, /* a task's panels, for one k block */
    MIN_TASK_PRODUCTS =
        256 * 1024, /* below this, about 10 microseconds, splitting costs more than it gives */
    MAX_TASKS = 64,
    PANEL_GROUP = 4,   /* the widest tile takes this many */
    PACKED_PANELS = 6, /* a task of fewer panels reads rows of A in place */
    DIRECT_ROWS = 8    /* up to here an unpacked B is read in place */
};

/* How B reaches the tiles. */
typedef enum b_route { B_PACKED, B_DIRECT, B_DOT, B_PACK_ON_THE_FLY } b_route;

typedef struct gemm_grid {
    b_route route;
    size_t k_step;
    size_t tiles, tile_step, tile_tasks;    /* over m */
    size_t panels, panel_step, panel_tasks; /* over n */
} gemm_grid;

static b_route route_of(const ln_gemm_f32_args *args) {
    if (args->b_is_packed) {
        return B_PACKED;
    }
    if (args->b_col_stride == 1 && args->m <= DIRECT_ROWS) {
        return B_DIRECT;
    }
    if (args->b_row_stride == 1 && args->a_col_stride == 1 && args->m <= LN_GEMV_DOT_ROWS) {
        return B_DOT;
    }
    return B_PACK_ON_THE_FLY;
}

/* Halves the larger reach of a task until there are enough tasks or they would become too small. */
static gemm_grid grid_of(const ln_gemm_f32_args *args) {
    gemm_grid grid = {.route = route_of(args), .k_step = args->k < K_STEP ? args->k : K_STEP};
    grid.tiles = ln_tile_f32_count(args->m);
    grid.panels = ln_divide_up(args->n, LN_TILE_COLS);
    grid.tile_step = grid.tiles;
    grid.panel_step = grid.panels;
    /* Panels that several tiles read, or that are packed into scratch, must stay in the cache. */
    const size_t panel_bytes = (grid.k_step + (grid.k_step == 0)) * LN_TILE_COLS * sizeof(float);
    const size_t fitting = BLOCK_BYTES / panel_bytes / PANEL_GROUP * PANEL_GROUP;
    if ((grid.tiles > 1 || grid.route == B_PACK_ON_THE_FLY) && grid.panel_step > fitting) {
        grid.panel_step = fitting;
    }
    /* Each task of an unpacked B packs its panels anew, which enough rows must pay for. */
    const size_t least_tiles = grid.route == B_PACK_ON_THE_FLY ? 16 : 4;
    for (;;) {
        grid.tile_tasks = ln_divide_up(grid.tiles, grid.tile_step);
        grid.panel_tasks = ln_divide_up(grid.panels, grid.panel_step);
        const double products = (double)grid.tile_step * (double)LN_TILE_ROWS * (double)grid.panel_step *
                                (double)LN_TILE_COLS * (double)args->k;
        const bool many = grid.tile_tasks >= MAX_TASKS || grid.panel_tasks >= MAX_TASKS / grid.tile_tasks;
        if (many || products < 2.0 * (double)MIN_TASK_PRODUCTS) {
            return grid;
        }
        if (grid.panel_step > 2 * PANEL_GROUP) {
            grid.panel_step = ln_divide_up(grid.panel_step, 2 * PANEL_GROUP) * PANEL_GROUP;
        } else if (grid.tile_step >= 2 * least_tiles) {
            grid.tile_step = ln_divide_up(grid.tile_step, 2);
        } else {
            return grid;
        }
    }
}

/*
 * Rows that are not contiguous are packed; and in the simd128 build all rows, where enough panels pay for it: without
 * fused multiply-add a tile needs the registers that the addresses of its rows take.
 */
static bool packs_a(const ln_gemm_f32_args *args, const gemm_grid *grid) {
    const bool pays = args->m >= 4 && grid->panel_step >= PACKED_PANELS && grid->route != B_DOT;
    return args->a_col_stride != 1 || (!LN_RELAXED && pays);
}

static size_t packed_b_bytes(size_t k, size_t n) {
    const size_t panels = ln_divide_up(n, LN_TILE_COLS);
    return ln_saturating_mul(ln_saturating_mul(panels, LN_TILE_COLS * sizeof(float)), k);
}

static void pack_b(float *packed, const float *b, size_t row_stride, size_t col_stride, size_t k, size_t n) {
    for (size_t j = 0; j < n; j += LN_TILE_COLS) {
        const size_t columns = n - j < LN_TILE_COLS ? n - j : LN_TILE_COLS;
        ln_tile_f32_pack_b(packed + j * k, b + j * col_stride, row_stride, col_stride, k, columns);
    }
}

static size_t task_count(const ln_gemm_f32_args *args) {
    if (args->m == 0 || args->n == 0) {
        return 0;
    }
    const gemm_grid grid = grid_of(args);
    return ln_saturating_mul(grid.tile_tasks, grid.panel_tasks);
}

/*
 * Scratch holds a block of panels (one panel, the last of the row, when B is read in place), then a tile of
 * A.
 */
static size_t b_scratch_elems(const gemm_grid *grid) {
    switch (grid->route) {
    case B_DIRECT:
        return grid->k_step * LN_TILE_COLS;
    case B_PACK_ON_THE_FLY:
        return grid->panel_step * grid->k_step * LN_TILE_COLS;
    case B_PACKED:
    case B_DOT:
        break;
    }
    return 0;
}

static size_t scratch_bytes(const ln_gemm_f32_args *args) {
    if (args->m == 0 || args->n == 0) {
        return 0;
    }
    const gemm_grid grid = grid_of(args);
    const size_t a_elems = packs_a(args, &grid) ? grid.k_step * LN_TILE_ROWS : 0;
    return (b_scratch_elems(&grid) + a_elems) * sizeof(float);
}

static ln_tile_f32_out output_of(const ln_gemm_f32_args *args) {
    ln_tile_f32_out out = ln_tile_f32_output(args->activation, args->residual, args->residual_last);
    out.c = args->c;
    out.c_stride = args->c_row_stride;
    out.bias = args->bias;
    out.bias_row_stride = args->bias_row_stride;
    out.bias_col_stride = args->bias_col_stride;
    out.residual_stride = args->residual_row_stride;
    out.alpha = args->alpha;
    out.beta = args->beta;
    return out;
}

/* One k block of a task: rows of k_begin .. k_begin + k, columns from col. */
typedef struct gemm_block {
    size_t k_begin, k, col, columns;
    ln_tile_f32_panels body, tail; /* full panels, and the columns after them */
    size_t tail_columns;
} gemm_block;

static void locate_b(const ln_gemm_f32_args *args, b_route route, gemm_block *block, float *scratch) {
    const float *b = args->b + block->k_begin * args->b_row_stride + block->col * args->b_col_stride;
    block->tail_columns = 0;
    if (route == B_PACKED) {
        const size_t panel_stride = args->k * LN_TILE_COLS;
        const float *panels = args->b + block->col * args->k + block->k_begin * LN_TILE_COLS;
        block->body = (ln_tile_f32_panels){panels, LN_TILE_COLS, panel_stride};
    } else if (route == B_DIRECT) {
        block->tail_columns = block->columns % LN_TILE_COLS;
        block->columns -= block->tail_columns;
        block->body = (ln_tile_f32_panels){b, args->b_row_stride, LN_TILE_COLS};
        block->tail = (ln_tile_f32_panels){scratch, LN_TILE_COLS, 0};
        if (block->tail_columns > 0) {
            ln_tile_f32_pack_b(scratch, b + block->columns, args->b_row_stride, 1, block->k,
                               block->tail_columns);
        }
    } else {
        pack_b(scratch, b, args->b_row_stride, args->b_col_stride, block->k, block->columns);
        block->body = (ln_tile_f32_panels){scratch, LN_TILE_COLS, block->k * LN_TILE_COLS};
    }
}

static void run_block(const ln_gemm_f32_args *args, const gemm_block *block, const ln_tile_f32_out *out,
                      size_t tile_begin, size_t tile_end, float *a_scratch) {
    for (size_t t = tile_begin; t < tile_end; t++) {
        const size_t row = ln_tile_f32_begin(args->m, t);
        const size_t rows = ln_tile_f32_begin(args->m, t + 1) - row;
        const float *a = args->a + row * args->a_row_stride + block->k_begin * args->a_col_stride;
        size_t a_stride = args->a_row_stride;
        if (a_scratch != NULL) {
            ln_tile_f32_pack_a(a_scratch, a, args->a_row_stride, args->a_col_stride, rows, block->k);
            a = a_scratch;
            a_stride = 0;
        } else if (rows == 1) {
            a_stride = 0; /* a single contiguous row is packed as it is */
        }
        ln_tile_f32_run(out, rows, block->k, a, a_stride, block->body, row, block->col, block->columns);
        if (block->tail_columns > 0) {
            ln_tile_f32_run(out, rows, block->k, a, a_stride, block->tail, row, block->col + block->columns,
                            block->tail_columns);
        }
    }
}

static void task(const ln_gemm_f32_args *args, size_t index, void *scratch) {
    const gemm_grid grid = grid_of(args);
    const size_t tile_begin = index % grid.tile_tasks * grid.tile_step;
    const size_t tile_end =
        grid.tiles - tile_begin < grid.tile_step ? grid.tiles : tile_begin + grid.tile_step;
    const size_t col = index / grid.tile_tasks * grid.panel_step * LN_TILE_COLS;
    const size_t reach = grid.panel_step * LN_TILE_COLS;
    const size_t columns = args->n - col < reach ? args->n - col : reach;
    const size_t row = ln_tile_f32_begin(args->m, tile_begin);
    const size_t rows = ln_tile_f32_begin(args->m, tile_end) - row;
    ln_tile_f32_out out = output_of(args);
    float *const b_scratch = scratch;
    float *const a_scratch = packs_a(args, &grid) ? b_scratch + b_scratch_elems(&grid) : NULL;
    if (grid.route == B_DOT) {
        ln_gemv_f32_dot(args, &out, col, columns);
    } else {
        size_t k_begin = 0;
        do {
            gemm_block block = {.k_begin = k_begin, .col = col, .columns = columns};
            block.k = args->k - k_begin < grid.k_step ? args->k - k_begin : grid.k_step;
            out.accumulate = k_begin > 0;
            out.finish = k_begin + block.k == args->k;
            locate_b(args, grid.route, &block, b_scratch);
            run_block(args, &block, &out, tile_begin, tile_end, a_scratch);
            k_begin += block.k;
        } while (k_begin < args->k);
    }
    ln_tile_f32_rest(&out, row, rows, col, columns);
}

const ln_gemm_f32_kernels ln_gemm_f32 = {
    .name = LN_RELAXED ? "f32_gemm_6x8__relaxed" : "f32_gemm_5x8__simd",
    .mr = LN_TILE_ROWS,
    .nr = LN_TILE_COLS,
    .packed_b_bytes = packed_b_bytes,
    .pack_b = pack_b,
    .task_count = task_count,
    .scratch_bytes = scratch_bytes,
    .task = task,
};
