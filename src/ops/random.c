/* The counter-based generator's state and its normal numbers. See random.h. */
#include "ops/random.h"

#include <math.h>
#include <string.h>

void ln_seed_attr(ln_build *build, ln_seed *seed) {
    const ln_attribute *attribute = ln_node_attribute(build->node, "seed");
    seed->given = attribute != NULL;
    if (attribute && attribute->type == LN_ATTRIBUTE_INT) {
        seed->value = (float)ln_attr_int(build, "seed", 0);
    } else {
        seed->value = ln_attr_float(build, "seed", 0);
    }
}

uint64_t ln_random_begin(ln_op *op, const ln_seed *seed, int64_t count) {
    if (seed->given || !op->random_state) {
        uint32_t bits;
        memcpy(&bits, &seed->value, sizeof(bits));
        return ln_random_bits(bits, 0);
    }
    const uint64_t state = *op->random_state;
    *op->random_state = state + (uint64_t)count * LN_RANDOM_STEP;
    return state;
}

double ln_random_normal(uint64_t state, int64_t index) {
    const double pi = 3.14159265358979323846;
    const double u = 1 - ln_random_unit(state, 2 * index); /* in (0, 1] */
    const double v = ln_random_unit(state, 2 * index + 1);
    return sqrt(-2 * log(u)) * cos(2 * pi * v);
}
