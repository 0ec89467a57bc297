/* Reduce*: sums, means, extrema, products and norms over any set of axes.
 *
 * Axes of size 1 vanish and neighbours that are reduced alike merge. What remains is nearly always outer x reduced x
 * inner, which the kernels take as it lies; other patterns are permuted into scratch first, the reduced axes last. float32 has
 * kernels; other types accumulate tiles in double, or in int64 where the operator stays within the integers. A
 * reduction over nothing gives the neutral element; a reduction over no axes still takes the root or logarithm.
 */
#include <math.h>
#include <string.h>

#include "ops/lines.h"
#include "simd/vector.h"

typedef struct reduce_params {
    enum ln_reduce kind;
    bool keepdims;
    bool noop; /* empty axes mean none, not all */
    int n_axes;
    const int64_t *axes;
} reduce_params;

typedef struct reduce_local {
    ln_lines lines;
    bool permuted;
    int8_t perm[LN_MAX_RANK]; /* kept axes, then reduced ones */
} reduce_local;

/* In scratch, before the permuted elements. */
typedef struct reduce_scratch {
    struct ln_transpose_plan plan;
    _Alignas(64) unsigned char elements[64];
} reduce_scratch;

/* Build and infer ------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum ln_reduce kind;
} names[] = {
    {"ReduceSum", LN_REDUCE_SUM},       {"ReduceMean", LN_REDUCE_MEAN},
    {"ReduceMax", LN_REDUCE_MAX},       {"ReduceMin", LN_REDUCE_MIN},
    {"ReduceProd", LN_REDUCE_PROD},     {"ReduceSumSquare", LN_REDUCE_SUMSQ},
    {"ReduceL1", LN_REDUCE_L1},         {"ReduceL2", LN_REDUCE_L2},
    {"ReduceLogSum", LN_REDUCE_LOGSUM}, {"ReduceLogSumExp", LN_REDUCE_LOGSUMEXP},
};

static ln_status build_reduce(ln_build *build) {
    reduce_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    int i = 0; /* every row below has a name */
    while (strcmp(names[i].name, build->node->op_type) != 0) {
        i++;
    }
    params->kind = names[i].kind;
    params->keepdims = ln_attr_bool(build, "keepdims", true);
    params->noop = ln_attr_bool(build, "noop_with_empty_axes", false);
    params->axes = ln_attr_ints(build, "axes", &params->n_axes);
    return ln_build_status(build);
}

static ln_status read_axes(ln_op *op, bool *reduced) {
    const reduce_params *params = op->params;
    const int rank = ln_in(op, 0)->shape.rank;
    int64_t given[LN_MAX_RANK];
    const int64_t *axes = params->axes;
    int count = params->n_axes;
    if (ln_in(op, 1) != NULL) {
        LN_TRY(ln_op_ints(op, 1, given, LN_MAX_RANK, &count));
        axes = given;
    }
    for (int i = 0; i < rank; i++) {
        reduced[i] = count == 0 && !params->noop;
    }
    for (int i = 0; i < count; i++) {
        int axis;
        LN_TRY(ln_op_axis(op, axes[i], rank, &axis));
        reduced[axis] = true;
    }
    return LN_OK;
}

/* Merges axes and finds out whether they lie as outer x reduced x inner. */
static void arrange(const ln_shape *shape, const bool *reduced, reduce_local *local) {
    int64_t sizes[3] = {1, 1, 1};
    int stage = 0; /* 0 outer, 1 reduced, 2 inner */
    int kept = 0;
    local->permuted = false;
    for (int i = 0; i < shape->rank; i++) {
        kept += reduced[i] ? 0 : 1;
    }
    int next_kept = 0;
    int next_reduced = kept;
    int64_t outer = 1;
    int64_t length = 1;
    for (int i = 0; i < shape->rank; i++) {
        *(reduced[i] ? &length : &outer) *= shape->dims[i];
        local->perm[reduced[i] ? next_reduced++ : next_kept++] = (int8_t)i;
        if (shape->dims[i] == 1) {
            continue;
        }
        if (reduced[i] && stage == 2) {
            local->permuted = true;
        }
        stage = reduced[i] ? 1 : stage == 0 ? 0 : 2;
        sizes[stage] *= shape->dims[i];
    }
    local->lines = local->permuted ? (ln_lines){outer, length, 1} : (ln_lines){sizes[0], sizes[1], sizes[2]};
}

static ln_status infer_reduce(ln_op *op) {
    const reduce_params *params = op->params;
    reduce_local *local = LN_LOCAL(op, reduce_local);
    const ln_value *x = ln_in(op, 0);
    bool reduced[LN_MAX_RANK];
    LN_TRY(read_axes(op, reduced));
    arrange(&x->shape, reduced, local);
    ln_shape shape = ln_shape_scalar();
    for (int i = 0; i < x->shape.rank; i++) {
        if (!reduced[i] || params->keepdims) {
            shape.dims[shape.rank++] = reduced[i] ? 1 : x->shape.dims[i];
        }
    }
    if (local->permuted) {
        size_t bytes;
        LN_OP_CHECK(op, ln_dtype_bytes(x->dtype, ln_shape_count(&x->shape), &bytes) && bytes < SIZE_MAX / 2,
                    LIMIT_EXCEEDED, "the input is too large");
        op->scratch_bytes = sizeof(reduce_scratch) + bytes;
    }
    return ln_op_shape(op, 0, x->dtype, &shape);
}

/* Other types than float32 --------------------------------------------------------------------------------- */

/* accumulators[i * stride] takes values[i] in; shift[i * stride] is the maximum for LOGSUMEXP. */
static void take_f64(enum ln_reduce kind, double *accumulators, int64_t stride, const double *values,
                     const double *shift, int64_t n) {
#define TAKE(expression)                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        const double v = values[i];                                                                          \
        double *const a = &accumulators[i * stride];                                                         \
        expression;                                                                                          \
    }                                                                                                        \
    break
    switch (kind) {
    case LN_REDUCE_MAX:
        TAKE(*a = v > *a || v != v ? v : *a);
    case LN_REDUCE_MIN:
        TAKE(*a = v < *a || v != v ? v : *a);
    case LN_REDUCE_PROD:
        TAKE(*a *= v);
    case LN_REDUCE_SUMSQ:
    case LN_REDUCE_L2:
        TAKE(*a += v * v);
    case LN_REDUCE_L1:
        TAKE(*a += fabs(v));
    case LN_REDUCE_LOGSUMEXP:
        TAKE(*a += exp(v - shift[i * stride]));
    default:
        TAKE(*a += v);
    }
}

static double start_f64(enum ln_reduce kind) {
    return kind == LN_REDUCE_MAX    ? -INFINITY
           : kind == LN_REDUCE_MIN  ? INFINITY
           : kind == LN_REDUCE_PROD ? 1
                                    : 0;
}

static double finish_f64(enum ln_reduce kind, double value, double shift, int64_t length) {
    switch (kind) {
    case LN_REDUCE_MEAN:
        return value / (double)length;
    case LN_REDUCE_L2:
        return sqrt(value);
    case LN_REDUCE_LOGSUM:
        return log(value);
    case LN_REDUCE_LOGSUMEXP:
        return log(value) + shift;
    default:
        return value;
    }
}

static void take_i64(enum ln_reduce kind, int64_t *accumulators, int64_t stride, const int64_t *values,
                     const int64_t *shift, int64_t n) {
    (void)shift;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = values[i];
        int64_t *const a = &accumulators[i * stride];
        const uint64_t sum = (uint64_t)*a;
        switch (kind) {
        case LN_REDUCE_MAX:
            *a = v > *a ? v : *a;
            break;
        case LN_REDUCE_MIN:
            *a = v < *a ? v : *a;
            break;
        case LN_REDUCE_PROD:
            *a = (int64_t)(sum * (uint64_t)v);
            break;
        case LN_REDUCE_SUMSQ:
            *a = (int64_t)(sum + (uint64_t)v * (uint64_t)v);
            break;
        case LN_REDUCE_L1:
            *a = (int64_t)(v < 0 ? sum - (uint64_t)v : sum + (uint64_t)v);
            break;
        default:
            *a = (int64_t)(sum + (uint64_t)v);
        }
    }
}

/* The smallest and the largest number of an integer type; of uint64 with the sign bit flipped. */
static int64_t integer_limit(ln_dtype dtype, bool low) {
    const unsigned bits = dtype == LN_BOOL ? 1 : ln_dtype_bits(dtype);
    if (dtype == LN_UINT64 || dtype == LN_INT64) {
        return low ? INT64_MIN : INT64_MAX;
    }
    if (!ln_dtype_is_signed(dtype) || dtype == LN_BOOL) {
        return low ? 0 : (INT64_C(1) << bits) - 1;
    }
    return low ? -(INT64_C(1) << (bits - 1)) : (INT64_C(1) << (bits - 1)) - 1;
}

/* Whether the operator stays within the integers. */
static bool is_integral(enum ln_reduce kind) {
    return kind != LN_REDUCE_L2 && kind != LN_REDUCE_LOGSUM && kind != LN_REDUCE_LOGSUMEXP;
}

/* Calls take for every element of a block of lines, tile by tile: along the line when it is alone, row by row
 * otherwise. */
#define EACH_TILE(type, load, take, kind, accumulators, shift)                                               \
    do {                                                                                                     \
        type tile[LN_TILE];                                                                                  \
        const int64_t step = lines->inner == 1 ? LN_TILE : 1;                                                \
        for (int64_t row = 0; row < lines->length; row += step) {                                            \
            const int64_t rest = lines->length - row < step ? lines->length - row : step;                    \
            const int64_t n = lines->inner == 1 ? rest : block->columns;                                     \
            load(dtype, src, block->first + row * lines->inner, n, tile);                                    \
            flip_tile(tile);                                                                                 \
            take(kind, accumulators, lines->inner != 1, tile, shift, n);                                     \
        }                                                                                                    \
    } while (0)

static void reduce_block_f64(enum ln_reduce kind, ln_dtype dtype, const void *src, const ln_lines *lines,
                             const ln_line_block *block, ln_value *y) {
    double accumulators[LN_LINE_COLUMNS];
    double shift[LN_LINE_COLUMNS];
#define flip_tile(tile) (void)0
    if (kind == LN_REDUCE_LOGSUMEXP) {
        for (int64_t i = 0; i < block->columns; i++) {
            shift[i] = -INFINITY;
        }
        EACH_TILE(double, ln_load_f64, take_f64, LN_REDUCE_MAX, shift, NULL);
        for (int64_t i = 0; i < block->columns; i++) {
            shift[i] = shift[i] - shift[i] == 0 ? shift[i] : 0; /* an infinite maximum shifts nothing */
        }
    } else {
        memset(shift, 0, sizeof(shift));
    }
    for (int64_t i = 0; i < block->columns; i++) {
        accumulators[i] = start_f64(kind);
    }
    EACH_TILE(double, ln_load_f64, take_f64, kind, accumulators, shift);
    for (int64_t i = 0; i < block->columns; i++) {
        accumulators[i] = finish_f64(kind, accumulators[i], shift[i], lines->length);
    }
    ln_store_f64(y->dtype, y->data, block->line, block->columns, accumulators);
#undef flip_tile
}

static void reduce_block_i64(enum ln_reduce kind, ln_dtype dtype, const void *src, const ln_lines *lines,
                             const ln_line_block *block, ln_value *y) {
    const bool extremum = kind == LN_REDUCE_MAX || kind == LN_REDUCE_MIN;
    const int64_t flip = extremum && dtype == LN_UINT64 ? INT64_MIN : 0;
    int64_t accumulators[LN_LINE_COLUMNS];
    for (int64_t i = 0; i < block->columns; i++) {
        accumulators[i] = extremum ? integer_limit(dtype, kind == LN_REDUCE_MAX) : kind == LN_REDUCE_PROD;
    }
#define flip_tile(tile)                                                                                      \
    for (int64_t i = 0; i < n && flip != 0; i++) {                                                           \
        (tile)[i] ^= flip;                                                                                   \
    }
    EACH_TILE(int64_t, ln_load_i64, take_i64, kind, accumulators, NULL);
#undef flip_tile
    for (int64_t i = 0; i < block->columns; i++) {
        accumulators[i] ^= flip;
        if (kind == LN_REDUCE_MEAN && lines->length > 0) {
            accumulators[i] = dtype == LN_UINT64
                                  ? (int64_t)((uint64_t)accumulators[i] / (uint64_t)lines->length)
                                  : accumulators[i] / lines->length;
        }
    }
    ln_store_i64(y->dtype, y->data, block->line, block->columns, accumulators);
}

/* Run -------------------------------------------------------------------------------------------------------- */

static const void *source(const ln_op *op, const reduce_local *local) {
    return local->permuted ? ((reduce_scratch *)op->scratch)->elements : ln_in(op, 0)->data;
}

static void reduce_f32(const reduce_params *params, const ln_lines *lines, const float *src, float *dst,
                       int64_t begin, int64_t end) {
    if (lines->inner == 1) {
        ln_reduce_inner_f32[params->kind](dst + begin, src + begin * lines->length, (size_t)(end - begin),
                                          (size_t)lines->length);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        ln_reduce_outer_f32[params->kind](dst + block.line, src + block.first, (size_t)lines->length,
                                          (size_t)block.columns, (size_t)lines->inner);
    }
}

static void reduce_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const reduce_params *params = op->params;
    const reduce_local *local = LN_LOCAL(op, reduce_local);
    const ln_lines *lines = &local->lines;
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const void *src = source(op, local);
    int64_t begin, end;
    ln_line_range(lines, index, &begin, &end);
    if (x->dtype == LN_FLOAT) {
        reduce_f32(params, lines, src, y->data, begin, end);
        return;
    }
    const bool integers = !ln_dtype_is_float(x->dtype) && is_integral(params->kind);
    for (int64_t unit = begin; unit < end; unit++) {
        const ln_line_block block = ln_line_block_at(lines, unit);
        (integers ? reduce_block_i64 : reduce_block_f64)(params->kind, x->dtype, src, lines, &block, y);
    }
}

static ln_status reduce_lines(ln_op *op) {
    return ln_op_grid(op, reduce_task, ln_line_tasks(&LN_LOCAL(op, reduce_local)->lines));
}

static int64_t permute_tasks(const struct ln_transpose_plan *plan) {
    return ln_unit_tasks((int64_t)plan->units, (int64_t)plan->unit_bytes, 4 * LN_LINE_GRAIN);
}

static void permute_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    reduce_scratch *memory = op->scratch;
    int64_t begin, end;
    ln_unit_range((int64_t)memory->plan.units, permute_tasks(&memory->plan), index, &begin, &end);
    ln_transpose_run(&memory->plan, memory->elements, ln_in(op, 0)->data, (size_t)begin, (size_t)end);
}

static ln_status run_reduce(ln_op *op) {
    const reduce_local *local = LN_LOCAL(op, reduce_local);
    const ln_value *x = ln_in(op, 0);
    if (!local->permuted || ln_value_count(x) == 0) {
        return reduce_lines(op);
    }
    reduce_scratch *memory = op->scratch;
    size_t dims[LN_MAX_RANK];
    int perm[LN_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) {
        dims[i] = (size_t)x->shape.dims[i];
        perm[i] = local->perm[i];
    }
    ln_plan_transpose(&memory->plan, dims, perm, x->shape.rank, ln_dtype_bits(x->dtype) / 8);
    return ln_op_grid_then(op, permute_task, permute_tasks(&memory->plan), reduce_lines);
}

/* Rows ------------------------------------------------------------------------------------------------------- */

#define REDUCE(name, since, until, signature, types)                                                         \
    {name, "", since, until, signature, {types}, build_reduce, infer_reduce, run_reduce, NULL, 0, NULL}
#define T_HIGH_BF           (LN_T_HIGH | LN_BIT(LN_BFLOAT16))
#define T_BYTES             (LN_BIT(LN_INT8) | LN_BIT(LN_UINT8))
#define REDUCE_COMMON(name) REDUCE(name, 1, 12, "A>A", LN_T_HIGH), REDUCE(name, 13, 17, "A>A", T_HIGH_BF)
#define REDUCE_18(name)     REDUCE_COMMON(name), REDUCE(name, 18, LN_OPEN, "Al?>A", T_HIGH_BF)
#define REDUCE_LOG(name)                                                                                     \
    REDUCE_COMMON(name), REDUCE(name, 18, 27, "Al?>A", T_HIGH_BF),                                           \
        REDUCE(name, 28, LN_OPEN, "Al?>A", LN_T_FLOAT_BF)
#define REDUCE_EXTREMUM(name)                                                                                \
    REDUCE(name, 1, 11, "A>A", LN_T_HIGH), REDUCE(name, 12, 12, "A>A", LN_T_HIGH | T_BYTES),                 \
        REDUCE(name, 13, 17, "A>A", T_HIGH_BF | T_BYTES),                                                    \
        REDUCE(name, 18, 19, "Al?>A", T_HIGH_BF | T_BYTES),                                                  \
        REDUCE(name, 20, LN_OPEN, "Al?>A", T_HIGH_BF | T_BYTES | LN_BIT(LN_BOOL))

static const ln_op_row rows[] = {
    REDUCE("ReduceSum", 1, 12, "A>A", LN_T_HIGH),
    REDUCE("ReduceSum", 13, LN_OPEN, "Al?>A", T_HIGH_BF),
    REDUCE_18("ReduceMean"),
    REDUCE_EXTREMUM("ReduceMax"),
    REDUCE_EXTREMUM("ReduceMin"),
    REDUCE_18("ReduceProd"),
    REDUCE_18("ReduceSumSquare"),
    REDUCE_18("ReduceL1"),
    REDUCE_18("ReduceL2"),
    REDUCE_LOG("ReduceLogSum"),
    REDUCE_LOG("ReduceLogSumExp"),
};

LN_FAMILY_TABLE(reduce, rows);
