/* Sliding windows: the attributes and the arithmetic that convolution and pooling share. */
#ifndef LN_OPS_WINDOW_H
#define LN_OPS_WINDOW_H

#include "ops/op.h"

enum { LN_WINDOW_RANK = 6 }; /* most spatial axes */

typedef enum ln_auto_pad { LN_PAD_NOTSET, LN_PAD_SAME_UPPER, LN_PAD_SAME_LOWER, LN_PAD_VALID } ln_auto_pad;

/* The attributes as the node gives them; counts are 0 where absent. */
typedef struct ln_window {
    ln_auto_pad auto_pad;
    bool ceil_mode;
    int n_kernel, n_strides, n_dilations, n_pads;
    int64_t kernel[LN_WINDOW_RANK];
    int64_t strides[LN_WINDOW_RANK];
    int64_t dilations[LN_WINDOW_RANK];
    int64_t pads[2 * LN_WINDOW_RANK]; /* all begins, then all ends */
} ln_window;

/* The window over an input of known size. */
typedef struct ln_window_shape {
    int rank;
    int64_t in[LN_WINDOW_RANK], out[LN_WINDOW_RANK];
    int64_t kernel[LN_WINDOW_RANK], stride[LN_WINDOW_RANK], dilation[LN_WINDOW_RANK];
    int64_t pad_begin[LN_WINDOW_RANK], pad_end[LN_WINDOW_RANK];
} ln_window_shape;

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. */
ln_status ln_window_build(ln_build *build, ln_window *window);
/* Applies the attributes to an input shaped [N, C, spatial...]. `kernel` gives the kernel's size where the attribute does
 * not (the weight's spatial dimensions), or is NULL. */
ln_status ln_window_resolve(ln_op *op, const ln_window *window, const ln_shape *input, const int64_t *kernel,
                            ln_window_shape *shape);
/* Advances a position over dims[0..rank) like an odometer; false after the last, when it stands at the first again. */
bool ln_window_next(int64_t *position, const int64_t *dims, int rank);

#endif
