/* Rotary position embedding of one row of a head, shared by RotaryEmbedding and the attention operators.
 *
 * The first `dim` elements of a row are dim/2 pairs, each turned by an angle whose cosine and sine stand in a row of the caches. The
 * pairs are (0,1), (2,3), ... when interleaved, else (0, dim/2), (1, dim/2 + 1), ...
 */
#ifndef LN_OPS_ROTARY_H
#define LN_OPS_ROTARY_H

#include "ops/op.h"

typedef struct ln_rotary {
    const ln_value *cos, *sin; /* caches of rows of dim / 2; NULL: nothing is turned */
    int64_t dim;
    bool interleaved;
} ln_rotary;

/* Turns `row` in place by row `position` of the caches. `angles` holds dim floats. */
void ln_rotary_turn(const ln_rotary *rotary, int64_t position, float *row, float *angles);

#endif
