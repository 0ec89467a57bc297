/* The plain form of pooling: any rank, double precision, one window at a time. */
#include "ops/pool_nd.h"

#include <math.h>

/* One window: what has been gathered of its taps so far. */
typedef struct gathering {
    double value;
    int64_t best;   /* index of the maximum, -1 before the first tap */
    int64_t inside; /* taps on the input */
    int64_t padded; /* taps on the input and its padding */
} gathering;

static void add_tap(gathering *g, ln_pool_kind kind, double x, int64_t index, double p) {
    ++g->inside;
    if (kind == LN_POOL_MAX) {
        if (g->best < 0 || x > g->value || (isnan(x) && !isnan(g->value))) {
            g->value = x;
            g->best = index;
        }
    } else {
        g->value += kind == LN_POOL_LP ? pow(fabs(x), p) : x;
    }
}

static gathering gather(const double *src, const ln_window_shape *s, const int64_t *out, ln_pool_kind kind,
                        double p) {
    gathering g = {kind == LN_POOL_MAX ? -INFINITY : 0.0, -1, 0, 0};
    int64_t tap[LN_WINDOW_RANK] = {0};
    do {
        int64_t index = 0;
        bool inside = true;
        bool padded = true;
        for (int i = 0; i < s->rank; ++i) {
            const int64_t at = out[i] * s->stride[i] - s->pad_begin[i] + tap[i] * s->dilation[i];
            inside = inside && at >= 0 && at < s->in[i];
            padded = padded && at < s->in[i] + s->pad_end[i];
            index = index * s->in[i] + at;
        }
        g.padded += padded;
        if (inside) {
            add_tap(&g, kind, src[index], index, p);
        }
    } while (ln_window_next(tap, s->kernel, s->rank));
    return g;
}

void ln_pool_plane_f64(double *dst, int64_t *indices, const double *src, const ln_window_shape *s,
                       ln_pool_kind kind, bool count_include_pad, double p) {
    int64_t out[LN_WINDOW_RANK] = {0};
    for (int i = 0; i < s->rank; ++i) {
        if (s->out[i] == 0) {
            return;
        }
    }
    do {
        const gathering g = gather(src, s, out, kind, p);
        const int64_t divisor = count_include_pad ? g.padded : g.inside;
        if (kind == LN_POOL_AVERAGE) {
            *dst++ = divisor ? g.value / (double)divisor : 0.0;
        } else {
            *dst++ = kind == LN_POOL_LP ? pow(g.value, 1.0 / p) : g.value;
        }
        if (indices) {
            *indices++ = g.best;
        }
    } while (ln_window_next(out, s->out, s->rank));
}

void ln_pool_geometry(const ln_window_shape *s, struct ln_pooling *pooling) {
    for (int axis = 0; axis < 3; ++axis) {
        const int i = axis - (3 - s->rank);
        const bool real = i >= 0;
        pooling->in[axis] = real ? s->in[i] : 1;
        pooling->out[axis] = real ? s->out[i] : 1;
        pooling->kernel[axis] = real ? s->kernel[i] : 1;
        pooling->stride[axis] = real ? s->stride[i] : 1;
        pooling->dilation[axis] = real ? s->dilation[i] : 1;
        pooling->pad_begin[axis] = real ? s->pad_begin[i] : 0;
        pooling->pad_end[axis] = real ? s->pad_end[i] : 0;
    }
}
