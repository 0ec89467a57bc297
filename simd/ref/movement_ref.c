/*
 * Scalar twins: transposes, pooling, resizing and conversions.
 */
#include "vector_ref.h"

#include <math.h>
#include <string.h>

void ln_ref_transpose(void *dst, const void *src, const size_t *dims, const int *perm, int rank,
                      size_t element_bytes) {
    size_t strides[LN_TRANSPOSE_MAX_RANK], total = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = total;
        total *= dims[i];
    }
    for (size_t o = 0; o < total; o++) {
        size_t left = o, from = 0;
        for (int i = rank - 1; i >= 0; i--) {
            from += left % dims[perm[i]] * strides[perm[i]];
            left /= dims[perm[i]];
        }
        memcpy((char *)dst + o * element_bytes, (const char *)src + from * element_bytes, element_bytes);
    }
}

/* Where tap k of output o lies on an axis, and whether that is on the input or on its padding. */
static int64_t tap(const struct ln_pooling *pooling, int axis, int64_t o, int64_t k, int *on_input,
                   int *on_padded) {
    const int64_t x = o * pooling->stride[axis] - pooling->pad_begin[axis] + k * pooling->dilation[axis];
    *on_input = *on_input && x >= 0 && x < pooling->in[axis];
    *on_padded = *on_padded && x < pooling->in[axis] + pooling->pad_end[axis];
    return x;
}

struct gathered {
    double max, sum, power_sum;
    int64_t at[3], count, padded_count;
};

static struct gathered gather(const float *src, const struct ln_pooling *pooling, const int64_t o[3],
                              double p) {
    struct gathered g = {-INFINITY, 0.0, 0.0, {-1, 0, 0}, 0, 0};
    const int64_t *kernel = pooling->kernel;
    for (int64_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; k++) {
        int on_input = 1, on_padded = 1;
        const int64_t d = tap(pooling, 0, o[0], k / (kernel[1] * kernel[2]), &on_input, &on_padded);
        const int64_t h = tap(pooling, 1, o[1], k / kernel[2] % kernel[1], &on_input, &on_padded);
        const int64_t w = tap(pooling, 2, o[2], k % kernel[2], &on_input, &on_padded);
        g.padded_count += on_padded;
        if (!on_input) {
            continue;
        }
        const double x = src[(d * pooling->in[1] + h) * pooling->in[2] + w];
        if (g.count == 0 || x > g.max || (isnan(x) && !isnan(g.max))) {
            g.max = x;
            g.at[0] = d;
            g.at[1] = h;
            g.at[2] = w;
        }
        g.count++;
        g.sum += x;
        g.power_sum += pow(fabs(x), p);
    }
    return g;
}

void ln_ref_pool_plane(double *dst, int64_t *indices, const float *src, const struct ln_pooling *pooling,
                       enum ln_ref_pool which, double p, int64_t base, int column_major) {
    const int64_t *in = pooling->in, *out = pooling->out;
    for (int64_t i = 0; i < out[0] * out[1] * out[2]; i++) {
        const int64_t o[3] = {i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]};
        const struct gathered g = gather(src, pooling, o, p);
        const double divisor = (double)(which == LN_REF_POOL_AVERAGE_PADDED ? g.padded_count : g.count);
        const double results[] = {g.max, divisor > 0 ? g.sum / divisor : 0.0,
                                  divisor > 0 ? g.sum / divisor : 0.0, pow(g.power_sum, 1.0 / p)};
        dst[i] = results[which];
        if (indices != NULL) {
            indices[i] = base;
            if (g.count > 0) {
                indices[i] += column_major ? (g.at[2] * in[1] + g.at[1]) * in[0] + g.at[0]
                                           : (g.at[0] * in[1] + g.at[1]) * in[2] + g.at[2];
            }
        }
    }
}

static double clamp(double x, double high) {
    return x < 0.0 ? 0.0 : x > high ? high : x;
}

void ln_ref_resize_linear(double *dst, const float *src, size_t in_height, size_t in_width, size_t out_height,
                          size_t out_width) {
    for (size_t y = 0; y < out_height; y++) {
        const double fy =
            clamp(((double)y + 0.5) * (double)in_height / (double)out_height - 0.5, (double)in_height - 1.0);
        const size_t y0 = (size_t)fy, y1 = y0 + 1 < in_height ? y0 + 1 : y0;
        for (size_t x = 0; x < out_width; x++) {
            const double fx =
                clamp(((double)x + 0.5) * (double)in_width / (double)out_width - 0.5, (double)in_width - 1.0);
            const size_t x0 = (size_t)fx, x1 = x0 + 1 < in_width ? x0 + 1 : x0;
            const double u = fx - (double)x0, v = fy - (double)y0;
            const double top = src[y0 * in_width + x0] * (1.0 - u) + src[y0 * in_width + x1] * u;
            const double bottom = src[y1 * in_width + x0] * (1.0 - u) + src[y1 * in_width + x1] * u;
            dst[y * out_width + x] = top * (1.0 - v) + bottom * v;
        }
    }
}

float ln_ref_f16_to_f32(uint16_t half) {
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) {
        return mantissa ? NAN : (float)(sign * INFINITY);
    }
    return (float)(sign * (exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25)));
}

/* The half that is nearest, the even one of two, found by looking at all of the same sign. */
uint16_t ln_ref_f32_to_f16(float x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double magnitude = fabs((double)x);
    if (isnan(x)) {
        return (uint16_t)(sign | 0x7e00);
    }
    int low = 0,
        high = 0x7c00; /* halves of one sign are ordered like their bits; infinity stands for 65536 */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        *((double)ln_ref_f16_to_f32((uint16_t)middle) <= magnitude ? &low : &high) = middle;
    }
    const double below = magnitude - ln_ref_f16_to_f32((uint16_t)low);
    const double above = (high == 0x7c00 ? 65536.0 : (double)ln_ref_f16_to_f32((uint16_t)high)) - magnitude;
    const int up = above < below || (above == below && (high & 1) == 0);
    return (uint16_t)(sign | (up ? high : low));
}

uint16_t ln_ref_f32_to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    const uint32_t rest = bits & 0xffff, kept = bits >> 16;
    return (uint16_t)(kept + (rest > 0x8000 || (rest == 0x8000 && (kept & 1))));
}

int32_t ln_ref_quantize(float x, float scale, int32_t zero_point, int32_t low, int32_t high) {
    const double rounded = isnan(x / scale) ? 0.0 : nearbyint((double)(x / scale));
    const double sum = rounded + zero_point;
    return (int32_t)(sum < low ? low : sum > high ? high : sum);
}
