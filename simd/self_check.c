/*
 * A check of the relaxed instructions that this build uses (madd and nmadd), on one vector each.
 *
 * Relaxed SIMD lets an engine choose between results; the kernels lean on what every sound engine gives: a product
 * and sum that is either fused or rounded twice, which agree on the numbers used here. An engine that computes something
 * else (one is known whose baseline compiler does) must not run the relaxed artifact.
 */
#include "simd/kernels.h"
#include "simd/simd.h"

/* Not constant, so that no compiler answers in the engine's place. */
static volatile float inputs[3][4] = {
    {1.5F, -2.0F, 0.25F, 3.0F}, {2.0F, 4.0F, -8.0F, 0.5F}, {0.5F, 1.0F, 2.0F, -1.5F}};

static ln_v32f load_input(int row) {
    float lanes[4];
    for (int i = 0; i < 4; ++i) {
        lanes[i] = inputs[row][i];
    }
    return ln_load(lanes);
}

int ln_kernels_self_check(void) {
    static const float sums[4] = {3.5F, -7.0F, 0.0F, 0.0F};
    static const float differences[4] = {-2.5F, 9.0F, 4.0F, -3.0F};
    float sum[4];
    float difference[4];
    ln_store(sum, ln_madd(load_input(2), load_input(0), load_input(1)));
    ln_store(difference, ln_nmadd(load_input(2), load_input(0), load_input(1)));
    int good = 1;
    for (int i = 0; i < 4; ++i) {
        good = good && sum[i] == sums[i] && difference[i] == differences[i];
    }
    return good;
}

const char *ln_kernels_build(void) {
    return LN_RELAXED ? "relaxed" : "simd";
}
