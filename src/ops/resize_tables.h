/* From output positions to input coordinates: what Resize computes once for each axis. */
#ifndef LN_OPS_RESIZE_TABLES_H
#define LN_OPS_RESIZE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shape.h"

enum ln_resize_mode { LN_RESIZE_NEAREST, LN_RESIZE_LINEAR, LN_RESIZE_CUBIC };

enum ln_resize_coordinates {
    LN_COORDINATES_HALF_PIXEL,
    LN_COORDINATES_HALF_PIXEL_SYMMETRIC,
    LN_COORDINATES_PYTORCH_HALF_PIXEL,
    LN_COORDINATES_ALIGN_CORNERS,
    LN_COORDINATES_ASYMMETRIC,
    LN_COORDINATES_TF_HALF_PIXEL_FOR_NN,
    LN_COORDINATES_TF_CROP_AND_RESIZE,
};

enum ln_resize_rounding {
    LN_ROUND_PREFER_FLOOR,
    LN_ROUND_PREFER_CEIL,
    LN_ROUND_FLOOR,
    LN_ROUND_CEIL,
    LN_ROUND_SIMPLE, /* version 10: down when growing, up when shrinking */
};

/* How one axis is resized. */
typedef struct ln_resize_rule {
    enum ln_resize_mode mode;
    enum ln_resize_coordinates coordinates;
    enum ln_resize_rounding rounding;
    bool antialias, exclude_outside;
    bool
        single; /* the scale was given as a float32: coordinates are computed in float32, as exporters expect */
    double cubic_a;
    double scale, start, end; /* start and end: the region of interest */
    double wanted;            /* the output's length before it became a whole number */
    int64_t in, out;
} ln_resize_rule;

/* Does the axis keep its elements as they are? */
bool ln_resize_is_identity(const ln_resize_rule *rule);
/* Input coordinate of output position i. */
double ln_resize_coordinate(const ln_resize_rule *rule, int64_t i);
/* Is that coordinate outside the image, where only tf_crop_and_resize has a value of its own? */
bool ln_resize_is_outside(const ln_resize_rule *rule, int64_t i);
/* Nearest: the input index for output position i, or -1 outside. */
int32_t ln_resize_nearest_index(const ln_resize_rule *rule, int64_t i);
/* Linear and cubic: taps of each output position. */
int64_t ln_resize_taps(const ln_resize_rule *rule);
/* Indices (edges repeat) and weights of output position i. */
void ln_resize_weights(const ln_resize_rule *rule, int64_t i, int32_t *index, double *weight);

#endif
