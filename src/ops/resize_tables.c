/* Coordinates and filter weights of Resize, as the standard's text and reference define them.
 *
 * Linear and cubic are one filter of support 1 or 2; without antialiasing it is sampled at the scale of the input, with it
 * a shrinking axis stretches the filter by 1/scale and the weights are normalised. Taps beyond an edge repeat the
 * edge, or are left out (exclude_outside) and the others normalised.
 */
#include "ops/resize_tables.h"

#include <math.h>

bool ln_resize_is_identity(const ln_resize_rule *rule) {
    return rule->in == rule->out && rule->scale == 1 &&
           rule->coordinates != LN_COORDINATES_TF_HALF_PIXEL_FOR_NN &&
           (rule->coordinates != LN_COORDINATES_TF_CROP_AND_RESIZE || (rule->start == 0 && rule->end == 1));
}

static double half_pixel(const ln_resize_rule *rule, int64_t i, bool minus_half) {
    if (rule->single) {
        const float at = ((float)i + 0.5F) / (float)rule->scale;
        return (double)(minus_half ? at - 0.5F : at);
    }
    return ((double)i + 0.5) / rule->scale - (minus_half ? 0.5 : 0);
}

double ln_resize_coordinate(const ln_resize_rule *rule, int64_t i) {
    const double x = (double)i;
    const double last_in = (double)(rule->in - 1);
    const double last_out = rule->wanted - 1;
    switch (rule->coordinates) {
    case LN_COORDINATES_HALF_PIXEL_SYMMETRIC: {
        const double offset = (double)rule->in / 2 * (1 - (double)rule->out / rule->wanted);
        return offset + (x + 0.5) / rule->scale - 0.5;
    }
    case LN_COORDINATES_PYTORCH_HALF_PIXEL:
        return rule->out > 1 ? half_pixel(rule, i, true) : 0;
    case LN_COORDINATES_ALIGN_CORNERS:
        return last_out != 0 ? x * last_in / last_out : 0;
    case LN_COORDINATES_ASYMMETRIC:
        return rule->single ? (double)((float)i / (float)rule->scale) : x / rule->scale;
    case LN_COORDINATES_TF_HALF_PIXEL_FOR_NN:
        return half_pixel(rule, i, false);
    case LN_COORDINATES_TF_CROP_AND_RESIZE:
        return last_out != 0 ? rule->start * last_in + x * (rule->end - rule->start) * last_in / last_out
                             : (rule->start + rule->end) / 2 * last_in;
    default:
        return half_pixel(rule, i, true);
    }
}

bool ln_resize_is_outside(const ln_resize_rule *rule, int64_t i) {
    if (rule->coordinates != LN_COORDINATES_TF_CROP_AND_RESIZE) {
        return false;
    }
    const double x = ln_resize_coordinate(rule, i);
    return !(x >= 0 && x <= (double)(rule->in - 1));
}

static int32_t clamp_index(double x, int64_t n) {
    return x > 0 ? x < (double)(n - 1) ? (int32_t)x : (int32_t)(n - 1) : 0;
}

int32_t ln_resize_nearest_index(const ln_resize_rule *rule, int64_t i) {
    if (ln_resize_is_outside(rule, i)) {
        return -1;
    }
    const double x = ln_resize_coordinate(rule, i);
    switch (rule->rounding) {
    case LN_ROUND_PREFER_CEIL:
        return clamp_index(floor(x + 0.5), rule->in);
    case LN_ROUND_FLOOR:
        return clamp_index(floor(x), rule->in);
    case LN_ROUND_CEIL:
        return clamp_index(ceil(x), rule->in);
    case LN_ROUND_SIMPLE:
        return clamp_index(rule->scale < 1 ? ceil(x) : floor(x), rule->in);
    default:
        return clamp_index(ceil(x - 0.5), rule->in);
    }
}

/* The scale at which the filter is sampled. */
static double filter_scale(const ln_resize_rule *rule) {
    return rule->antialias && rule->scale < 1 ? rule->scale : 1;
}

static double filter_start(const ln_resize_rule *rule) {
    const double support = rule->mode == LN_RESIZE_CUBIC ? 2 : 1;
    return floor(-support / filter_scale(rule)) + 1;
}

int64_t ln_resize_taps(const ln_resize_rule *rule) {
    const double start = filter_start(rule);
    return start > -1e6 ? 2 - 2 * (int64_t)start : INT64_MAX;
}

static double filter(const ln_resize_rule *rule, double x) {
    const double a = rule->cubic_a;
    x = fabs(x);
    if (rule->mode == LN_RESIZE_LINEAR) {
        return x < 1 ? 1 - x : 0;
    }
    if (x <= 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

void ln_resize_weights(const ln_resize_rule *rule, int64_t i, int32_t *index, double *weight) {
    const double scale = filter_scale(rule);
    const double x = ln_resize_coordinate(rule, i);
    const double base = floor(x) + filter_start(rule);
    const int64_t taps = ln_resize_taps(rule);
    double sum = 0;
    for (int64_t t = 0; t < taps; t++) {
        const double at = base + (double)t;
        const bool outside = at < 0 || at > (double)(rule->in - 1);
        index[t] = clamp_index(at, rule->in);
        weight[t] = outside && rule->exclude_outside ? 0 : filter(rule, (at - x) * scale);
        sum += weight[t];
    }
    if ((rule->exclude_outside || scale < 1) && sum != 0) {
        for (int64_t t = 0; t < taps; t++) {
            weight[t] /= sum;
        }
    }
}
