/* Transpose, and the operators that are a transpose of a reshaped tensor: DepthToSpace and SpaceToDepth.
 *
 * The vector kernels plan a permutation (merged axes, 2-D tiles) and run any range of its units; this file checks
 * and cuts. The plan is a pure function of shape and permutation and lies in scratch. Packed types are transposed as bytes.
 */
#include "ops/move.h"
#include "simd/vector.h"

typedef struct transpose_params {
    bool given; /* otherwise the axes are reversed */
    int rank;
    int perm[LN_MAX_RANK];
} transpose_params;

typedef struct transpose_job {
    struct ln_transpose_plan plan;
    const void *src;
    void *dst;
    int64_t tasks;
} transpose_job;

static ln_status build_transpose(ln_build *build) {
    transpose_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    int count;
    const int64_t *perm = ln_attr_ints(build, "perm", &count);
    params->given = ln_has_attr(build, "perm");
    params->rank = count;
    if (count > LN_MAX_RANK) {
        return ln_build_fail(build, LN_LIMIT_EXCEEDED, "perm has %d axes, at most %d are supported", count,
                             LN_MAX_RANK);
    }
    uint32_t seen = 0;
    for (int i = 0; i < count; i++) {
        const int axis = ln_shape_axis(perm[i], count);
        if (axis < 0 || seen >> axis & 1) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "perm is not a permutation: entry %d is %lld",
                                 i, (long long)perm[i]);
        }
        seen |= 1u << axis;
        params->perm[i] = axis;
    }
    return ln_build_status(build);
}

static size_t scratch_for(const ln_op *op) {
    return ((sizeof(transpose_job) + 63) & ~(size_t)63) + ln_unpacked_bytes(ln_in(op, 0)) +
           ln_unpacked_bytes(ln_out(op, 0));
}

static ln_status infer_transpose(ln_op *op) {
    const transpose_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const int rank = input->shape.rank;
    LN_OP_CHECK(op, !params->given || params->rank == rank, INVALID_SHAPE,
                "perm has %d axes, the input has rank %d", params->rank, rank);
    ln_shape shape = {.rank = rank};
    bool ordered = true;
    int last = 0;
    for (int i = 0; i < rank; i++) {
        const int axis = params->given ? params->perm[i] : rank - 1 - i;
        shape.dims[i] = input->shape.dims[axis];
        if (shape.dims[i] != 1) {
            ordered = ordered && axis >= last;
            last = axis;
        }
    }
    op->same_as = ordered ? input : NULL;
    LN_TRY(ln_op_shape(op, 0, input->dtype, &shape));
    op->scratch_bytes = scratch_for(op);
    return LN_OK;
}

static void transpose_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const transpose_job *job = op->scratch;
    const int64_t units = (int64_t)job->plan.units;
    ln_transpose_run(&job->plan, job->dst, job->src, (size_t)(units * index / job->tasks),
                     (size_t)(units * (index + 1) / job->tasks));
}

static ln_status pack_output(ln_op *op) {
    const transpose_job *job = op->scratch;
    const ln_value *output = ln_out(op, 0);
    ln_repack(output->dtype, output->data, 0, ln_value_count(output), job->dst);
    return LN_OK;
}

/* Transposes input 0, seen with these dims, to output 0. */
static ln_status offer_transpose(ln_op *op, const int64_t *dims, const int *perm, int rank) {
    const ln_value *input = ln_in(op, 0);
    transpose_job *job = op->scratch;
    size_t sizes[LN_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        sizes[i] = (size_t)dims[i];
    }
    ln_plan_transpose(&job->plan, sizes, perm, rank, ln_width(input->dtype));
    unsigned char *space = (unsigned char *)op->scratch + ((sizeof(transpose_job) + 63) & ~(size_t)63);
    job->src = ln_unpacked(input, &space);
    job->dst = ln_unpacked_target(ln_out(op, 0), &space);
    const int64_t unit_bytes = (int64_t)job->plan.unit_bytes;
    job->tasks =
        ln_op_tasks((int64_t)job->plan.units, LN_MOVE_GRAIN_BYTES / (unit_bytes > 0 ? unit_bytes : 1));
    return ln_op_grid_then(op, transpose_task, job->tasks, ln_is_packed(input->dtype) ? pack_output : NULL);
}

static ln_status run_transpose(ln_op *op) {
    const transpose_params *params = op->params;
    const ln_shape *shape = &ln_in(op, 0)->shape;
    if (!ln_out(op, 0) || ln_shape_count(shape) == 0) {
        return LN_OK;
    }
    int perm[LN_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        perm[i] = params->given ? params->perm[i] : shape->rank - 1 - i;
    }
    return offer_transpose(op, shape->dims, perm, shape->rank);
}

/* DepthToSpace and SpaceToDepth ------------------------------------------------------------------------- */

/* DCR: the block's row and column stand before the channel; CRD: behind it. */
typedef struct space_params {
    int64_t block;
    bool crd;
} space_params;

static ln_status build_space(ln_build *build) {
    static const char *const modes[] = {"DCR", "CRD", NULL};
    space_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        ln_attr_required(build, "blocksize");
        params->block = ln_attr_int(build, "blocksize", 1);
        params->crd = ln_attr_choice(build, "mode", modes, 0) == 1;
        if (params->block < 1 || params->block > INT32_MAX) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "blocksize is %lld, expected 1 or more",
                                 (long long)params->block);
        }
    }
    return ln_build_status(build);
}

static ln_status infer_space(ln_op *op, bool to_depth) {
    const space_params *params = op->params;
    const int64_t b = params->block;
    ln_shape shape = ln_in(op, 0)->shape;
    int64_t *dims = shape.dims;
    LN_OP_CHECK(op, shape.rank == 4, INVALID_SHAPE, "the input has rank %d, expected 4", (int)shape.rank);
    if (to_depth) {
        LN_OP_CHECK(op, dims[2] % b == 0 && dims[3] % b == 0, INVALID_SHAPE,
                    "height %lld and width %lld are not multiples of the block size %lld", (long long)dims[2],
                    (long long)dims[3], (long long)b);
        dims[1] *= b * b;
        dims[2] /= b;
        dims[3] /= b;
    } else {
        LN_OP_CHECK(op, dims[1] % (b * b) == 0, INVALID_SHAPE,
                    "%lld channels are not a multiple of %lld squared", (long long)dims[1], (long long)b);
        dims[1] /= b * b;
        dims[2] *= b;
        dims[3] *= b;
    }
    LN_TRY(ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape));
    op->scratch_bytes = scratch_for(op);
    return LN_OK;
}

static ln_status infer_to_depth(ln_op *op) {
    return infer_space(op, true);
}

static ln_status infer_to_space(ln_op *op) {
    return infer_space(op, false);
}

static ln_status run_to_space(ln_op *op) {
    static const int dcr[6] = {0, 3, 4, 1, 5, 2};
    static const int crd[6] = {0, 1, 4, 2, 5, 3};
    const space_params *params = op->params;
    if (!ln_out(op, 0) || ln_value_count(ln_in(op, 0)) == 0) {
        return LN_OK;
    }
    const int64_t *in = ln_in(op, 0)->shape.dims;
    const int64_t channels = ln_out(op, 0)->shape.dims[1];
    const int64_t b = params->block;
    const int64_t dcr_dims[6] = {in[0], b, b, channels, in[2], in[3]};
    const int64_t crd_dims[6] = {in[0], channels, b, b, in[2], in[3]};
    return offer_transpose(op, params->crd ? crd_dims : dcr_dims, params->crd ? crd : dcr, 6);
}

static ln_status run_to_depth(ln_op *op) {
    static const int dcr[6] = {0, 3, 5, 1, 2, 4};
    static const int crd[6] = {0, 1, 3, 5, 2, 4};
    const space_params *params = op->params;
    if (!ln_out(op, 0) || ln_value_count(ln_in(op, 0)) == 0) {
        return LN_OK;
    }
    const int64_t *in = ln_in(op, 0)->shape.dims;
    const int64_t *out = ln_out(op, 0)->shape.dims;
    const int64_t dims[6] = {in[0], in[1], out[2], params->block, out[3], params->block};
    return offer_transpose(op, dims, params->crd ? crd : dcr, 6);
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, types, build, infer, run)                                                    \
    {name, "", since, until, "A>A", {types}, build, infer, run, NULL, 0, NULL}
#define TRANSPOSE(since, until, types)                                                                       \
    ROW("Transpose", since, until, types, build_transpose, infer_transpose, run_transpose)
#define TO_SPACE(since, until, types)                                                                        \
    ROW("DepthToSpace", since, until, types, build_space, infer_to_space, run_to_space)
#define TO_DEPTH(since, until, types)                                                                        \
    ROW("SpaceToDepth", since, until, types, build_space, infer_to_depth, run_to_depth)

static const ln_op_row rows[] = {
    TRANSPOSE(1, 12, LN_T_ALL),       TRANSPOSE(13, 20, LN_T_ALL_BF),   TRANSPOSE(21, 22, LN_T_ALL_IR10),
    TRANSPOSE(23, 23, LN_T_ALL_IR11), TRANSPOSE(24, 24, LN_T_ALL_IR12), TRANSPOSE(25, LN_OPEN, LN_T_ALL_IR13),
    TO_SPACE(1, 10, LN_T_ALL),        TO_SPACE(11, 12, LN_T_ALL),       TO_SPACE(13, LN_OPEN, LN_T_ALL_BF),
    TO_DEPTH(1, 12, LN_T_ALL),        TO_DEPTH(13, 27, LN_T_ALL_BF),    TO_DEPTH(28, LN_OPEN, LN_T_ALL_BF),
};

LN_FAMILY_TABLE(transpose, rows);
