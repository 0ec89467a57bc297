/* The equation of Einsum: terms of labels, read once at load. */
#ifndef LN_OPS_EINSUM_EQUATION_H
#define LN_OPS_EINSUM_EQUATION_H

#include "ops/op.h"

/* Labels: A-Z, a-z, then the axes of the ellipsis, right-aligned over LN_MAX_RANK places. */
enum { LN_LETTERS = 52, LN_ELLIPSIS = LN_LETTERS, LN_LABELS = LN_LETTERS + LN_MAX_RANK, LN_DOTS = -1 };

/* The equation as written: labels, and LN_DOTS where an ellipsis stands. */
typedef struct ln_einsum_term {
    int count;
    int8_t labels[LN_MAX_RANK + 1];
} ln_einsum_term;

typedef struct ln_einsum_params {
    int n_inputs;
    bool explicit_output;
    ln_einsum_term *inputs;
    ln_einsum_term output;
} ln_einsum_params;

/* Reads the attribute equation into params. */
ln_status ln_build_einsum(ln_build *build);
/* The labels of the axes of an operand of this rank; the ellipsis takes what the letters leave. */
ln_status ln_einsum_expand(ln_op *op, const ln_einsum_term *term, int rank, int index, int8_t *labels);

#endif
