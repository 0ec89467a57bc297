/* DynamicTimeWarping: the cheapest path through a table of costs, from its first cell to its last, one cell down, right or both at
 * a step.
 *
 * Costs are summed row by row; a byte for each cell tells the step by which it is reached, and the path is read from
 * them backwards. Of equal ways the one from the left is taken, as Whisper's alignment does, whose operator this is. Source: com.microsoft
 * DynamicTimeWarping-1.
 */
#include <math.h>
#include <string.h>

#include "ops/op.h"

enum { FROM_BOTH, FROM_ABOVE, FROM_LEFT };

static ln_status infer_warping(ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op,
                (shape->rank == 2 || (shape->rank == 3 && shape->dims[0] == 1)) && ln_shape_count(shape) > 0,
                INVALID_SHAPE, "the costs must be a table [M,N] or [1,M,N] with cells");
    LN_TRY(ln_infer_dynamic(op));
    if (ln_out(op, 0)) {
        ln_out(op, 0)->dtype = LN_INT32;
    }
    return LN_OK;
}

/* How each cell is reached. `sums` holds two rows of the sums so far, with a column before the first. */
static void find_ways(const float *costs, int64_t rows, int64_t columns, float *sums, uint8_t *ways) {
    float *above = sums;
    float *here = sums + columns + 1;
    for (int64_t j = 0; j <= columns; j++) {
        above[j] = j > 0 ? INFINITY : 0;
    }
    for (int64_t i = 0; i < rows; i++) {
        here[0] = INFINITY;
        for (int64_t j = 0; j < columns; j++) {
            const float both = above[j];
            const float up = above[j + 1];
            const float left = here[j];
            const bool takes_both = both < up && both < left;
            const bool takes_up = !takes_both && up < both && up < left;
            ways[i * columns + j] = takes_both ? FROM_BOTH : takes_up ? FROM_ABOVE : FROM_LEFT;
            here[j + 1] = costs[i * columns + j] + (takes_both ? both : takes_up ? up : left);
        }
        float *const held = above;
        above = here;
        here = held;
    }
}

/* Cells of the path; written back to front, from `end` cells on, when `path` is not NULL. */
static int64_t walk_back(const uint8_t *ways, int64_t rows, int64_t columns, int32_t *path, int64_t end) {
    int64_t i = rows - 1;
    int64_t j = columns - 1;
    int64_t count = 0;
    while (i >= 0 && j >= 0) {
        count++;
        if (path) {
            path[end - count] = (int32_t)i;
            path[2 * end - count] = (int32_t)j;
        }
        const int way = i == 0 ? FROM_LEFT : j == 0 ? FROM_ABOVE : ways[i * columns + j];
        i -= way != FROM_LEFT;
        j -= way != FROM_ABOVE;
    }
    return count;
}

static ln_status run_warping(ln_op *op) {
    const ln_value *costs = ln_in(op, 0);
    const int64_t rows = costs->shape.dims[costs->shape.rank - 2];
    const int64_t columns = costs->shape.dims[costs->shape.rank - 1];
    const size_t sums = 2 * ((size_t)columns + 1) * sizeof(float);
    unsigned char *memory = ln_alloc(op->context, sums + (size_t)(rows * columns), LN_MEMORY_SCRATCH);
    if (!memory) {
        return LN_OUT_OF_MEMORY;
    }
    uint8_t *ways = memory + sums;
    find_ways(costs->data, rows, columns, (float *)(void *)memory, ways);
    const int64_t dims[] = {2, walk_back(ways, rows, columns, NULL, 0)};
    const ln_shape shape = ln_shape_of(2, dims);
    const ln_status status = ln_op_make(op, 0, LN_INT32, &shape);
    if (status == LN_OK && ln_out(op, 0)) {
        walk_back(ways, rows, columns, ln_out(op, 0)->data, dims[1]);
    }
    ln_free(op->context, memory);
    return status;
}

static const ln_op_row rows[] = {
    {"DynamicTimeWarping",
     "com.microsoft",
     1,
     LN_OPEN,
     "f>i",
     {LN_BIT(LN_FLOAT)},
     ln_build_nothing,
     infer_warping,
     run_warping,
     NULL,
     LN_OP_DYNAMIC,
     NULL},
};
LN_FAMILY_TABLE(time_warping, rows);
