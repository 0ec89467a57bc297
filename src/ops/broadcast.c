/* The one broadcasting walk.
 *
 * Adjacent axes along which every input either repeats or advances in step are merged before the walk, so that
 * [2,3,4,5] + [5] becomes two axes and equal shapes become one. The innermost axis has stride 0 or 1 for every
 * input, which is what the row kernels want.
 */
#include "ops/op.h"

/* Strides of an input seen with the output's rank: 0 along axes where it repeats. */
static void input_strides(const ln_shape *output, const ln_shape *input, int64_t *strides) {
    int64_t step = 1;
    for (int axis = output->rank - 1; axis >= 0; --axis) {
        const int own = axis - (output->rank - input->rank);
        const int64_t dim = own >= 0 ? input->dims[own] : 1;
        strides[axis] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

/* Whether axis `next` continues axis `last` of the walk for every input. */
static bool mergeable(const ln_broadcast *walk, int last, int64_t strides[][LN_MAX_RANK], int next,
                      int64_t dim) {
    for (int i = 0; i < walk->n_inputs; ++i) {
        if (walk->strides[i][last] != strides[i][next] * dim) {
            return false;
        }
    }
    return true;
}

void ln_broadcast_init(ln_broadcast *walk, const ln_shape *output, int n_inputs,
                       const ln_shape *const *inputs) {
    int64_t strides[LN_BROADCAST_INPUTS][LN_MAX_RANK];
    walk->n_inputs = n_inputs;
    walk->count = ln_shape_count(output);
    for (int i = 0; i < n_inputs; ++i) {
        input_strides(output, inputs[i], strides[i]);
    }
    int rank = 0;
    for (int axis = 0; axis < output->rank; ++axis) {
        const int64_t dim = output->dims[axis];
        if (dim == 1) {
            continue;
        }
        if (rank > 0 && mergeable(walk, rank - 1, strides, axis, dim)) {
            walk->dims[rank - 1] *= dim;
            for (int i = 0; i < n_inputs; ++i) {
                walk->strides[i][rank - 1] = strides[i][axis];
            }
            continue;
        }
        walk->dims[rank] = dim;
        for (int i = 0; i < n_inputs; ++i) {
            walk->strides[i][rank] = strides[i][axis];
        }
        ++rank;
    }
    if (rank == 0) {
        walk->dims[0] = 1;
        for (int i = 0; i < n_inputs; ++i) {
            walk->strides[i][0] = 0;
        }
        rank = 1;
    }
    walk->rank = rank;
}

void ln_broadcast_seek(const ln_broadcast *walk, int64_t index, int64_t *offsets) {
    for (int i = 0; i < walk->n_inputs; ++i) {
        offsets[i] = 0;
    }
    for (int axis = walk->rank - 1; axis >= 0; --axis) {
        const int64_t position = index % walk->dims[axis];
        index /= walk->dims[axis];
        for (int i = 0; i < walk->n_inputs; ++i) {
            offsets[i] += position * walk->strides[i][axis];
        }
    }
}

void ln_broadcast_each(const ln_broadcast *walk, int64_t begin, int64_t end, ln_broadcast_visit visit,
                       void *argument) {
    if (begin >= end) {
        return;
    }
    const int inner = walk->rank - 1;
    const int64_t run = walk->dims[inner];
    int64_t position[LN_MAX_RANK];
    int64_t offsets[LN_BROADCAST_INPUTS];
    int64_t index = begin;
    for (int axis = inner; axis >= 0; --axis) {
        position[axis] = index % walk->dims[axis];
        index /= walk->dims[axis];
    }
    ln_broadcast_seek(walk, begin, offsets);
    while (begin < end) {
        const int64_t rest = run - position[inner];
        const int64_t n = rest < end - begin ? rest : end - begin;
        visit(argument, begin, n, offsets);
        begin += n;
        position[inner] += n;
        for (int i = 0; i < walk->n_inputs; ++i) {
            offsets[i] += n * walk->strides[i][inner];
        }
        for (int axis = inner; axis > 0 && position[axis] == walk->dims[axis]; --axis) {
            position[axis] = 0;
            ++position[axis - 1];
            for (int i = 0; i < walk->n_inputs; ++i) {
                offsets[i] += walk->strides[i][axis - 1] - walk->dims[axis] * walk->strides[i][axis];
            }
        }
    }
}
