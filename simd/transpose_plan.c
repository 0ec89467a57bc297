/*
 * General permutations, reduced to copies, moves of runs, and 2-D transposes.
 *
 * Axes of size 1 are dropped, and axes that are neighbours in the input and in the output become one. Then three
 * cases are left. One axis: the order does not change (COPY). The innermost axis of the input is the innermost of
 * the output: runs move as they are (RUNS), or, when a run is as wide as an element of ln_transpose_2d, count as
 * elements. Otherwise the output's innermost axis and the input's innermost axis make the two sides of a matrix that
 * is transposed under loops over all other axes (TILES).
 */
#include "simd.h"
#include "vector.h"

enum { COPY_UNIT = 64 * 1024, TILE_UNIT = 16 * 1024, TILE = 16, MEMCPY_FROM = 1024 };

/* The axes in the order of the output, without those of size 1, neighbours merged. Returns their number. */
static int merge_axes(size_t out_dims[], size_t out_strides[], const size_t *dims, const int *perm, int rank,
                      size_t element_bytes) {
    size_t strides[LN_TRANSPOSE_MAX_RANK];
    size_t stride = element_bytes;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
    int count = 0;
    for (int i = 0; i < rank; i++) {
        const size_t dim = dims[perm[i]], step = strides[perm[i]];
        if (dim == 1) {
            continue;
        }
        if (count > 0 && out_strides[count - 1] == step * dim) {
            out_dims[count - 1] *= dim;
            out_strides[count - 1] = step;
        } else {
            out_dims[count] = dim;
            out_strides[count] = step;
            count++;
        }
    }
    return count;
}

static void plan_copy(struct ln_transpose_plan *plan, size_t bytes) {
    plan->form = LN_TRANSPOSE_COPY;
    plan->width = bytes;
    plan->units = (bytes + COPY_UNIT - 1) / COPY_UNIT;
    plan->unit_bytes = bytes < COPY_UNIT ? bytes : COPY_UNIT;
}

static size_t product(const size_t *values, int count) {
    size_t result = 1;
    for (int i = 0; i < count; i++) {
        result *= values[i];
    }
    return result;
}

/* The last axis of the plan becomes the unit's own loop. */
static void plan_runs(struct ln_transpose_plan *plan) {
    plan->form = LN_TRANSPOSE_RUNS;
    plan->rank--;
    plan->run_count = plan->dims[plan->rank];
    plan->run_stride = plan->src_stride[plan->rank];
    plan->units = product(plan->dims, plan->rank);
    plan->unit_bytes = plan->run_count * plan->width;
}

/* Takes the two matrix axes out of the plan: `inner` is the one that is innermost in the input. */
static void plan_tiles(struct ln_transpose_plan *plan, int inner) {
    const int last = plan->rank - 1;
    plan->form = LN_TRANSPOSE_TILES;
    plan->rows = plan->dims[last];
    plan->src_row = plan->src_stride[last];
    plan->cols = plan->dims[inner];
    plan->dst_row = plan->dst_stride[inner];
    for (int i = inner; i + 1 < last; i++) {
        plan->dims[i] = plan->dims[i + 1];
        plan->src_stride[i] = plan->src_stride[i + 1];
        plan->dst_stride[i] = plan->dst_stride[i + 1];
    }
    plan->rank -= 2;
    const size_t column_bytes = plan->rows * plan->width;
    const size_t wanted = TILE_UNIT / column_bytes / TILE * TILE;
    plan->chunk_cols = wanted < TILE ? TILE : wanted;
    plan->chunks = (plan->cols + plan->chunk_cols - 1) / plan->chunk_cols;
    plan->units = product(plan->dims, plan->rank) * plan->chunks;
    plan->unit_bytes = column_bytes * (plan->cols < plan->chunk_cols ? plan->cols : plan->chunk_cols);
}

static int is_element_width(size_t bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

void ln_plan_transpose(struct ln_transpose_plan *plan, const size_t *dims, const int *perm, int rank,
                       size_t element_bytes) {
    memset(plan, 0, sizeof *plan);
    const size_t elements = product(dims, rank);
    if (elements == 0) {
        plan->form = LN_TRANSPOSE_COPY;
        return;
    }
    plan->width = element_bytes;
    plan->rank = merge_axes(plan->dims, plan->src_stride, dims, perm, rank, element_bytes);
    if (plan->rank < 2) {
        plan_copy(plan, elements * element_bytes);
        return;
    }
    if (plan->src_stride[plan->rank - 1] == element_bytes) {
        plan->rank--;
        plan->width *= plan->dims[plan->rank];
    }
    size_t stride = plan->width;
    int inner = 0;
    for (int i = plan->rank - 1; i >= 0; i--) {
        plan->dst_stride[i] = stride;
        stride *= plan->dims[i];
        inner = plan->src_stride[i] == plan->width ? i : inner;
    }
    if (plan->rank >= 2 && is_element_width(plan->width)) {
        plan_tiles(plan, inner);
    } else {
        plan_runs(plan);
    }
}

/* A memcpy of a few bytes, without the price of a call into the engine. */
static inline void copy_run(uint8_t *dst, const uint8_t *src, size_t bytes) {
    if (bytes >= MEMCPY_FROM) {
        memcpy(dst, src, bytes);
    } else if (bytes >= 16) {
        const v128_t last = wasm_v128_load(src + bytes - 16);
        for (size_t i = 0; i + 16 <= bytes; i += 16) {
            wasm_v128_store(dst + i, wasm_v128_load(src + i));
        }
        wasm_v128_store(dst + bytes - 16, last);
    } else if (bytes >= 8) {
        uint64_t first, last;
        memcpy(&first, src, 8);
        memcpy(&last, src + bytes - 8, 8);
        memcpy(dst, &first, 8);
        memcpy(dst + bytes - 8, &last, 8);
    } else {
        for (size_t i = 0; i < bytes; i++) {
            dst[i] = src[i];
        }
    }
}

/* Where a unit's outer loops stand. */
struct position {
    size_t index[LN_TRANSPOSE_MAX_RANK];
    size_t src, dst;
};

static void position_set(struct position *at, const struct ln_transpose_plan *plan, size_t outer) {
    memset(at, 0, sizeof *at);
    for (int i = plan->rank - 1; i >= 0; i--) {
        at->index[i] = outer % plan->dims[i];
        outer /= plan->dims[i];
        at->src += at->index[i] * plan->src_stride[i];
        at->dst += at->index[i] * plan->dst_stride[i];
    }
}

static void position_next(struct position *at, const struct ln_transpose_plan *plan) {
    for (int i = plan->rank - 1; i >= 0; i--) {
        at->src += plan->src_stride[i];
        at->dst += plan->dst_stride[i];
        if (++at->index[i] < plan->dims[i]) {
            return;
        }
        at->index[i] = 0;
        at->src -= plan->dims[i] * plan->src_stride[i];
        at->dst -= plan->dims[i] * plan->dst_stride[i];
    }
}

static void run_copy(const struct ln_transpose_plan *plan, uint8_t *dst, const uint8_t *src, size_t begin,
                     size_t end) {
    const size_t from = begin * COPY_UNIT;
    const size_t to = end >= plan->units ? plan->width : end * COPY_UNIT;
    if (from < to) {
        memcpy(dst + from, src + from, to - from);
    }
}

static void run_runs(const struct ln_transpose_plan *plan, uint8_t *dst, const uint8_t *src, size_t begin,
                     size_t end) {
    struct position at;
    position_set(&at, plan, begin);
    for (size_t unit = begin; unit < end; unit++) {
        for (size_t i = 0; i < plan->run_count; i++) {
            copy_run(dst + at.dst + i * plan->width, src + at.src + i * plan->run_stride, plan->width);
        }
        position_next(&at, plan);
    }
}

static void run_tiles(const struct ln_transpose_plan *plan, uint8_t *dst, const uint8_t *src, size_t begin,
                      size_t end) {
    struct position at;
    position_set(&at, plan, begin / plan->chunks);
    size_t chunk = begin % plan->chunks;
    for (size_t unit = begin; unit < end; unit++) {
        const size_t col = chunk * plan->chunk_cols;
        const size_t left = plan->cols - col;
        ln_transpose_2d(dst + at.dst + col * plan->dst_row, plan->dst_row / plan->width,
                        src + at.src + col * plan->width, plan->src_row / plan->width, plan->rows,
                        left < plan->chunk_cols ? left : plan->chunk_cols, plan->width);
        if (++chunk == plan->chunks) {
            chunk = 0;
            position_next(&at, plan);
        }
    }
}

void ln_transpose_run(const struct ln_transpose_plan *plan, void *dst, const void *src, size_t begin,
                      size_t end) {
    end = end < plan->units ? end : plan->units;
    if (begin >= end) {
        return;
    }
    switch (plan->form) {
    case LN_TRANSPOSE_COPY:
        run_copy(plan, dst, src, begin, end);
        break;
    case LN_TRANSPOSE_RUNS:
        run_runs(plan, dst, src, begin, end);
        break;
    case LN_TRANSPOSE_TILES:
        run_tiles(plan, dst, src, begin, end);
        break;
    }
}
