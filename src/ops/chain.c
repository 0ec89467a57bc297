/* A chain of elementwise operators over one shape, in one node.
 *
 * A rewrite makes it of nodes that read nothing but each other and operands that broadcast. The steps run block by block: a block
 * is small enough to stay in the first cache while all steps work on it, where the nodes by themselves would go through memory once
 * each. Every step is the kernel that its node would have called, so no bit changes. The output may overwrite input 0.
 */
#include "ops/chain.h"

enum { CHAIN_GRAIN = 16384, BLOCK = 2048 };

typedef struct chain {
    ln_chain_span spans[LN_CHAIN_INPUTS];
} chain;

bool ln_chain_span_of(const ln_shape *value, const ln_shape *operand, ln_chain_span *span) {
    int axis = value->rank - 1;
    int own = operand->rank - 1;
    *span = (ln_chain_span){1, 1};
    if (operand->rank > value->rank) {
        return false;
    }
    for (; own >= 0 && operand->dims[own] == 1; own--, axis--) {
        span->inner = (int64_t)((uint64_t)span->inner * (uint64_t)value->dims[axis]);
    }
    for (; own >= 0 && operand->dims[own] == value->dims[axis]; own--, axis--) {
        span->count = (int64_t)((uint64_t)span->count * (uint64_t)value->dims[axis]);
    }
    for (; own >= 0 && operand->dims[own] == 1; own--, axis--) {
    }
    return own < 0;
}

static ln_status infer_chain(ln_op *op) {
    const ln_chain_params *params = op->params;
    chain *local = LN_LOCAL(op, chain);
    const ln_shape *value = &ln_in(op, 0)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    for (int s = 0; s < params->n_steps; s++) {
        const ln_chain_step *step = &params->steps[s];
        if (step->kind == LN_CHAIN_UNARY) {
            continue;
        }
        const ln_shape *operand = &ln_in(op, step->input)->shape;
        ln_chain_span *span = &local->spans[step->input];
        if (step->kind == LN_CHAIN_NORMALIZE) {
            *span = (ln_chain_span){ln_shape_product(value, 2, value->rank), value->dims[1]};
        }
        LN_OP_CHECK(op,
                    step->kind == LN_CHAIN_NORMALIZE ? ln_shape_count(operand) == span->count
                                                     : ln_chain_span_of(value, operand, span),
                    INVALID_SHAPE, "input %d of shape %s does not fit %s", step->input,
                    ln_shape_text(operand, text[0]), ln_shape_text(value, text[1]));
    }
    return ln_infer_same(op);
}

/* One step over elements [begin, end) of the value, from src to dst, which both start at `begin`. */
static void run_step(const ln_op *op, const ln_chain_step *step, float *dst, const float *src, int64_t begin,
                     int64_t end) {
    if (step->kind == LN_CHAIN_UNARY) {
        ln_unary_f32[step->code](dst, src, (size_t)(end - begin), step->alpha, step->beta);
        return;
    }
    const ln_chain_span *span = &LN_LOCAL(op, const chain)->spans[step->input];
    const float *operand = ln_in(op, step->input)->data;
    const size_t stride = span->inner == 1 && span->count > 1 ? 1 : 0;
    for (int64_t at = begin; at < end;) {
        const int64_t index = at / span->inner % span->count;
        const int64_t room = span->count == 1 ? end - at
                             : stride         ? span->count - index
                                              : span->inner - at % span->inner;
        const size_t n = (size_t)(room < end - at ? room : end - at);
        float *y = dst + (at - begin);
        const float *x = src + (at - begin);
        if (step->kind == LN_CHAIN_NORMALIZE) {
            const float *scale = ln_in(op, step->input + 1)->data;
            const float *shift = ln_in(op, step->input + 2)->data;
            for (size_t i = 0; i < (stride ? n : 1); i++) { /* one plane, or planes of one element */
                ln_normalize_plane_f32(y + i, x + i, stride ? 1 : n, operand[index + (int64_t)i],
                                       scale[index + (int64_t)i], shift[index + (int64_t)i]);
            }
        } else if (step->right) {
            ln_binary_f32[step->code](y, operand + index, stride, x, 1, n);
        } else {
            ln_binary_f32[step->code](y, x, 1, operand + index, stride, n);
        }
        at += (int64_t)n;
    }
}

static void chain_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_chain_params *params = op->params;
    const float *x = ln_in(op, 0)->data;
    float *y = ln_out(op, 0)->data;
    const int64_t count = ln_value_count(ln_in(op, 0));
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, CHAIN_GRAIN), index, &begin, &end);
    for (int64_t at = begin; at < end; at += BLOCK) {
        const int64_t stop = end - at < BLOCK ? end : at + BLOCK;
        for (int s = 0; s < params->n_steps; s++) {
            run_step(op, &params->steps[s], y + at, s == 0 ? x + at : y + at, at, stop);
        }
    }
}

static ln_status run_chain(ln_op *op) {
    return ln_op_grid(op, chain_task, ln_op_tasks(ln_value_count(ln_in(op, 0)), CHAIN_GRAIN));
}

static ln_status build_chain(ln_build *build) {
    (void)ln_build_params(build, sizeof(ln_chain_params));
    return ln_build_status(build);
}

static const ln_op_row rows[] = {
    {"Chain", /* made by a rewrite */
     "linnet",
     1,
     LN_OPEN,
     "A+>A",
     {LN_BIT(LN_FLOAT), 0, 0},
     build_chain,
     infer_chain,
     run_chain,
     NULL,
     LN_OP_INPLACE_0,
     NULL},
};
LN_FAMILY_TABLE(chain, rows);
