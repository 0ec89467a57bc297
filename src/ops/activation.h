/* Activations fused into the matrix kernels: by the attribute of a com.microsoft operator, or by the operator that a
 * rewrite takes in. */
#ifndef LN_OPS_ACTIVATION_H
#define LN_OPS_ACTIVATION_H

#include "ops/op.h"
#include "simd/kernels.h"

/* Reads `activation` and its parameters (activation_params, or activation_alpha, _beta, _gamma). */
ln_status ln_build_activation(ln_build *build, ln_activation_f32 *activation);
/* The activation that a unary node of one input computes on float32, with constant parameters; false when it is none. */
bool ln_activation_of(const ln_node *node, ln_activation_f32 *activation);

#endif
