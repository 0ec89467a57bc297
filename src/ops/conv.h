/* Params of the convolutions, which rewrites fuse into. */
#ifndef LN_OPS_CONV_H
#define LN_OPS_CONV_H

#include "ops/window.h"
#include "simd/kernels.h"

typedef struct ln_conv_params {
    ln_window window;
    int64_t group;
    bool transposed;                      /* ConvTranspose */
    bool pads_given;                      /* pads are input 2 */
    int n_output_shape, n_output_padding; /* ConvTranspose; 0 where absent */
    int64_t output_shape[LN_WINDOW_RANK];
    int64_t output_padding[LN_WINDOW_RANK];
    ln_activation_f32 activation;
    bool residual_last; /* input 3 is added after the activation */
} ln_conv_params;

#endif
