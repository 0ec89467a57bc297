/* RotaryEmbedding: rows of heads turned by the angles of their positions.
 *
 * X is [batch, heads, length, dim], or [batch, length, heads * dim]. The caches hold a row of cosines (sines) for each position;
 * without position_ids they hold one for each row of X. Computed in float32 row by row. Standard: RotaryEmbedding-23;
 * com.microsoft RotaryEmbedding, where position_ids may be one number, the position of the first row.
 */
#include "ops/rotary.h"

#include <string.h>

#include "ops/lines.h"

enum { ROTARY_GRAIN = 16384 };

void ln_rotary_turn(const ln_rotary *rotary, int64_t position, float *row, float *angles) {
    const int64_t half = rotary->dim / 2;
    const float *cos = angles;
    const float *sin = angles + half;
    ln_load_f32(rotary->cos->dtype, rotary->cos->data, position * half, half, angles);
    ln_load_f32(rotary->sin->dtype, rotary->sin->data, position * half, half, angles + half);
    const int64_t step = rotary->interleaved ? 2 : 1;
    float *second = row + (rotary->interleaved ? 1 : half);
    for (int64_t i = 0; i < half; i++) {
        const float x = row[i * step];
        const float y = second[i * step];
        row[i * step] = cos[i] * x - sin[i] * y;
        second[i * step] = sin[i] * x + cos[i] * y;
    }
}

/* ---- Build and infer ---- */

typedef struct rotary_params {
    int64_t heads, dim;
    bool interleaved;
    int8_t cos, sin, positions; /* inputs */
} rotary_params;

typedef struct rotary_local {
    ln_rotary rotary;
    int64_t batches, heads, length, head;
    int64_t rows;    /* of all heads */
    int64_t cached;  /* rows of the caches */
    bool from_first; /* positions are counted from one number */
} rotary_local;

static rotary_params *new_params(ln_build *build) {
    rotary_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->heads = ln_attr_int(build, "num_heads", 0);
        params->dim = ln_attr_int(build, "rotary_embedding_dim", 0);
        params->interleaved = ln_attr_bool(build, "interleaved", false);
    }
    return params;
}

static ln_status build_rotary(ln_build *build) {
    rotary_params *params = new_params(build);
    if (params) {
        params->cos = 1;
        params->sin = 2;
        params->positions = 3;
    }
    return ln_build_status(build);
}

static ln_status build_microsoft(ln_build *build) {
    rotary_params *params = new_params(build);
    if (params) {
        params->positions = 1;
        params->cos = 2;
        params->sin = 3;
    }
    return ln_build_status(build);
}

/* Heads and their size: from the shape, from num_heads, or from the width of the caches. */
static ln_status infer_heads(ln_op *op, rotary_local *r) {
    const rotary_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    const ln_shape *cos = &ln_in(op, params->cos)->shape;
    const bool split = x->rank == 4;
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, split || x->rank == 3, INVALID_SHAPE, "X of shape %s must have 3 or 4 axes",
                ln_shape_text(x, text));
    const int64_t width = cos->rank > 0 ? 2 * cos->dims[cos->rank - 1] : 0;
    r->batches = x->dims[0];
    r->length = x->dims[split ? 2 : 1];
    r->heads = split ? x->dims[1] : params->heads;
    r->head = split ? x->dims[3] : 0;
    if (!split && params->heads > 0) {
        r->head = x->dims[2] / params->heads;
    } else if (!split) {
        LN_OP_CHECK(op, params->positions == 1 && params->dim == 0 && width > 0, INVALID_ATTRIBUTE,
                    "num_heads is needed for X with 3 axes");
        r->head = width;
        r->heads = x->dims[2] / width;
    }
    LN_OP_CHECK(op, split || r->heads * r->head == x->dims[2], INVALID_SHAPE,
                "%lld numbers are not %lld heads", (long long)x->dims[2], (long long)r->heads);
    r->rotary.dim = params->dim > 0 ? params->dim : r->head;
    r->rotary.interleaved = params->interleaved;
    LN_OP_CHECK(op, r->rotary.dim <= r->head && r->rotary.dim % 2 == 0 && width == r->rotary.dim,
                INVALID_SHAPE, "caches of width %lld do not turn %lld of %lld numbers",
                (long long)(width / 2), (long long)r->rotary.dim, (long long)r->head);
    return LN_OK;
}

static ln_status infer_rotary(ln_op *op) {
    const rotary_params *params = op->params;
    rotary_local *r = LN_LOCAL(op, rotary_local);
    *r = (rotary_local){0};
    LN_TRY(infer_heads(op, r));
    const ln_shape *cos = &ln_in(op, params->cos)->shape;
    const ln_shape *sin = &ln_in(op, params->sin)->shape;
    const ln_value *positions = ln_in(op, params->positions);
    LN_OP_CHECK(op, ln_shape_equal(cos, sin), INVALID_SHAPE, "the caches have different shapes");
    r->cached = ln_shape_product(cos, 0, cos->rank - 1);
    r->rows = r->batches * r->length * r->heads;
    const int64_t count = positions ? ln_value_count(positions) : 0;
    r->from_first = positions && count == 1 && r->batches * r->length != 1;
    LN_OP_CHECK(op, positions ? cos->rank == 2 : cos->rank == 3 && r->cached == r->batches * r->length,
                INVALID_SHAPE, "caches of %d axes and %lld rows do not fit", (int)cos->rank,
                (long long)r->cached);
    LN_OP_CHECK(op,
                !positions || count == r->batches * r->length || (r->from_first && params->positions == 1),
                INVALID_SHAPE, "there are %lld position_ids for %lld rows", (long long)count,
                (long long)(r->batches * r->length));
    LN_OP_CHECK(op, r->head < (int64_t)(SIZE_MAX / 64), LIMIT_EXCEEDED, "heads of %lld are too large",
                (long long)r->head);
    op->task_scratch_bytes = (size_t)(2 * r->head) * sizeof(float);
    return ln_infer_same(op);
}

/* ---- Run ---- */

static int64_t position_of(const ln_op *op, const rotary_local *r, int64_t b, int64_t i) {
    const rotary_params *params = op->params;
    const ln_value *positions = ln_in(op, params->positions);
    const int64_t row = b * r->length + i;
    if (!positions) {
        return row;
    }
    int64_t position = 0;
    ln_load_i64(positions->dtype, positions->data, r->from_first ? 0 : row, 1, &position);
    return r->from_first ? position + i : position;
}

static void rotary_task(ln_op *op, int64_t index, void *scratch) {
    const rotary_local *r = LN_LOCAL(op, rotary_local);
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    float *row = scratch;
    int64_t begin, end;
    ln_unit_range(r->rows, ln_unit_tasks(r->rows, r->head, ROTARY_GRAIN), index, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        const bool split = x->shape.rank == 4;
        const int64_t b = unit / (r->length * r->heads);
        const int64_t i = split ? unit % r->length : unit / r->heads % r->length;
        ln_load_f32(x->dtype, x->data, unit * r->head, r->head, row);
        ln_rotary_turn(&r->rotary, position_of(op, r, b, i), row, row + r->head);
        ln_store_f32(y->dtype, y->data, unit * r->head, r->head, row);
    }
}

static ln_status run_rotary(ln_op *op) {
    const rotary_params *params = op->params;
    rotary_local *r = LN_LOCAL(op, rotary_local);
    r->rotary.cos = ln_in(op, params->cos);
    r->rotary.sin = ln_in(op, params->sin);
    for (int64_t b = 0; b < r->batches; b++) {
        for (int64_t i = 0; i < r->length; i++) {
            const int64_t position = position_of(op, r, b, i);
            LN_OP_CHECK(op, position >= 0 && position < r->cached, INVALID_VALUE,
                        "position %lld is outside the caches of %lld rows", (long long)position,
                        (long long)r->cached);
        }
    }
    return ln_op_grid(op, rotary_task, ln_unit_tasks(r->rows, r->head, ROTARY_GRAIN));
}

/* ---- Rows ---- */

#define ROTARY(domain, since, signature, build)                                                              \
    {                                                                                                        \
        "RotaryEmbedding",                                                                                   \
        domain,                                                                                              \
        since,                                                                                               \
        LN_OPEN,                                                                                             \
        signature,                                                                                           \
        {LN_BIT(LN_FLOAT) | LN_T_HALF},                                                                      \
        build,                                                                                               \
        infer_rotary,                                                                                        \
        run_rotary,                                                                                          \
        NULL,                                                                                                \
        LN_OP_INPLACE_0,                                                                                     \
        NULL}
static const ln_op_row rows[] = {
    ROTARY("", 23, "AAAl?>A", build_rotary),
    ROTARY("com.microsoft", 1, "AlAA>A", build_microsoft),
};
LN_FAMILY_TABLE(rotary, rows);
