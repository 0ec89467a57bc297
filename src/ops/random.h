/* The generator behind every random operator.
 *
 * Number i of a draw is splitmix64 of state + (i + 1) * 0x9E3779B97F4A7C15, the fractional part of the golden ratio: a
 * counter, not a chain, so that any range can be drawn on any thread and the result depends on the seed alone.
 * (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.) A node with a seed attribute starts from the
 * bits of the seed at each run; a node without one takes its numbers from the session's state, which moves on.
 * Uniform numbers have 53 bits; normal ones come from two uniform ones (Box and Muller).
 */
#ifndef LN_OPS_RANDOM_H
#define LN_OPS_RANDOM_H

#include "ops/op.h"

enum { LN_RANDOM_GRAIN = 8192 };

typedef struct ln_seed {
    bool given;
    float value;
} ln_seed;

#define LN_RANDOM_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Build: the attribute "seed", a float in most operators and an int in Dropout. */
void ln_seed_attr(ln_build *build, ln_seed *seed);
/* Run: the state that `count` numbers are drawn from; moves the session's state past them. */
uint64_t ln_random_begin(ln_op *op, const ln_seed *seed, int64_t count);

static inline uint64_t ln_random_bits(uint64_t state, int64_t index) {
    uint64_t x = state + ((uint64_t)index + 1) * LN_RANDOM_STEP;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* In [0, 1). */
static inline double ln_random_unit(uint64_t state, int64_t index) {
    return (double)(ln_random_bits(state, index) >> 11) * 0x1p-53;
}

/* Mean 0, deviation 1; uses the numbers 2 index and 2 index + 1. */
double ln_random_normal(uint64_t state, int64_t index);

#endif
