/* Params of the node that stands for a chain of elementwise nodes over one shape. */
#ifndef LN_OPS_CHAIN_H
#define LN_OPS_CHAIN_H

#include "ops/op.h"
#include "simd/vector.h"

enum { LN_CHAIN_STEPS = 12, LN_CHAIN_INPUTS = 24, LN_CHAIN_RUN = 16 };

typedef enum ln_chain_kind {
    LN_CHAIN_UNARY,
    LN_CHAIN_BINARY,    /* with input `input`, which broadcasts to the value */
    LN_CHAIN_NORMALIZE, /* (value - mean) * scale + shift: inputs `input` to input + 2, in that order */
} ln_chain_kind;

typedef struct ln_chain_step {
    ln_chain_kind kind;
    int code;   /* enum ln_unary or ln_binary */
    int input;  /* the first operand besides the value */
    bool right; /* the value is the right operand */
    float alpha, beta;
} ln_chain_step;

/* What the value starts as is input 0; the output has its shape. */
typedef struct ln_chain_params {
    int n_steps;
    ln_chain_step steps[LN_CHAIN_STEPS];
} ln_chain_params;

/* How an operand lies under the value: element i of the value meets number i / inner % count of the operand. */
typedef struct ln_chain_span {
    int64_t inner, count;
} ln_chain_span;

/* The span of an operand that broadcasts to `value`: its axes that are not 1 must be neighbours. False when it has none. Sizes
 * may be symbols that stand for themselves, other than 1; the products are then of no use. */
bool ln_chain_span_of(const ln_shape *value, const ln_shape *operand, ln_chain_span *span);

/* The step that a float32 node of one input is, when it is one; its params are read. */
bool ln_unary_step(const ln_node *node, ln_chain_step *step);

#endif
