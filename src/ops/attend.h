/* Params of the node that stands for an attention written out in MatMul, Softmax and MatMul. */
#ifndef LN_OPS_ATTEND_H
#define LN_OPS_ATTEND_H

#include "ops/op.h"

/* Inputs: the operands, what is added to the scores, what chooses among them, and up to three numbers that scale them. */
enum {
    LN_ATTEND_Q,
    LN_ATTEND_K,
    LN_ATTEND_V,
    LN_ATTEND_ADDEND,
    LN_ATTEND_CHOICE,
    LN_ATTEND_SCALES,
    LN_ATTEND_INPUTS = LN_ATTEND_SCALES + 3
};

/* Operands and the output are [batch, head, row, dim], or [batch, row, head, dim] where `by_rows` has the bit of the input
 * (bit LN_ATTEND_Y for the output). Axes that are missing at the front are 1. */
enum { LN_ATTEND_Y = LN_ATTEND_ADDEND };

typedef struct ln_attend_params {
    uint32_t by_rows;
    uint32_t divides;     /* bit i: the scores are divided by number i instead of multiplied */
    int64_t repeats;      /* query heads that share a head of keys and values */
    float scale;          /* of the scores */
    float fill;           /* the score of keys that the choice rejects */
    bool rejects;         /* the choice rejects where it is true, not where it is false */
    bool chooses_first;   /* before the addend is added, not after it */
    bool clears_rejected; /* the weights of rejected keys become 0 */
    bool clears_nan;      /* weights that are not numbers become 0 */
} ln_attend_params;

#endif
