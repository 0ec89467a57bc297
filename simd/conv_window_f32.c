/*
 * Copying windows of the input with their padding. A row is copied phase by phase: unit stride by vectors,
 * stride 2 by de-interleaving, others element by element. A window that lies inside the input and has no
 * phases is not copied.
 */
#include "conv_window_f32.h"

#include "tile_f32.h"

ln_conv_window ln_conv_window_of(const ln_conv_f32_plan *plan, const ln_conv_region *region) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    ln_conv_window window = {
        .row = (ptrdiff_t)(region->row * s->stride[y]) - s->pad[y],
        .col = (ptrdiff_t)(region->col * s->stride[x]) - s->pad[x],
        .row_step = s->kernel[y] == 1 ? s->stride[y] : 1,
        .phases = s->kernel[x] == 1 ? 1 : s->stride[x],
        .col_step = s->stride[x],
    };
    window.rows = s->kernel[y] == 1
                      ? region->rows
                      : (region->rows - 1) * s->stride[y] + (s->kernel[y] - 1) * s->dilation[y] + 1;
    const size_t reach = (region->cols - 1) * s->stride[x] + (s->kernel[x] - 1) * s->dilation[x] + 1;
    window.phase_cols = s->kernel[x] == 1 ? region->cols : ln_divide_up(reach, window.phases);
    return window;
}

size_t ln_conv_window_elems(const ln_conv_window *window) {
    return ln_saturating_mul(ln_saturating_mul(window->rows, window->phases), window->phase_cols);
}

/* The columns of one phase: padding on the left, elements of the plane, padding on the right. */
typedef struct phase_span {
    size_t left, inside;
    ptrdiff_t first; /* column of the first element inside */
} phase_span;

static phase_span span_of(ptrdiff_t begin, size_t step, size_t count, size_t width) {
    phase_span span = {.left = 0};
    if (begin < 0) {
        span.left = ln_divide_up((size_t)-begin, step);
        span.left = span.left < count ? span.left : count;
    }
    span.first = begin + (ptrdiff_t)(span.left * step);
    if (span.first < (ptrdiff_t)width) {
        span.inside = ln_divide_up((size_t)((ptrdiff_t)width - span.first), step);
        span.inside = span.inside < count - span.left ? span.inside : count - span.left;
    }
    return span;
}

/* dst[i] = from[i * step]; reads nothing past the last of them. The last vector overlaps the one before it. */
LN_INLINE void copy_strided(float *dst, const float *from, size_t step, size_t count) {
    if (step > 2 || count < 4) {
        for (size_t i = 0; i < count; i++) {
            dst[i] = from[i * step];
        }
        return;
    }
    for (size_t i = 0; i < count; i += 4) {
        i = i + 4 <= count ? i : count - 4;
        if (step == 1) {
            ln_store(dst + i, ln_load(from + i));
        } else {
            const ln_v32f low = ln_load(from + 2 * i), high = ln_load(from + 2 * i + 3);
            ln_store(dst + i, wasm_i32x4_shuffle(low, high, 0, 2, 5, 7));
        }
    }
}

/*
 * Both phases of stride 2 at once: even[i] = from[2 * i] and odd[i] = from[2 * i + 1]. At least four of each, and as many even
 * ones as odd ones or one more.
 */
LN_INLINE void copy_halves(float *even, float *odd, const float *from, size_t evens, size_t odds) {
    for (size_t i = 0; i < odds; i += 4) {
        i = i + 4 <= odds ? i : odds - 4;
        const ln_v32f low = ln_load(from + 2 * i), high = ln_load(from + 2 * i + 4);
        ln_store(even + i, wasm_i32x4_shuffle(low, high, 0, 2, 4, 6));
        ln_store(odd + i, wasm_i32x4_shuffle(low, high, 1, 3, 5, 7));
    }
    if (evens > odds) {
        even[odds] = from[2 * odds];
    }
}

/* The rows of a window that lie on the plane: `from` is the first of them and goes to row 0 of dst. */
typedef struct window_rows {
    float *dst;
    const float *from;
    size_t rows, dst_stride, from_stride;
} window_rows;

/* False where the phases are not two, or too short. */
static bool copy_two_phases(const window_rows *w, const ln_conv_window *window, size_t width) {
    phase_span even = span_of(window->col, window->col_step, window->phase_cols, width);
    phase_span odd = span_of(window->col + 1, window->col_step, window->phase_cols, width);
    float *to_even = w->dst + even.left, *to_odd = w->dst + window->phase_cols + odd.left;
    if (window->phases != 2 || even.inside < 4 || odd.inside < 4) {
        return false;
    }
    if (odd.first < even.first) { /* the plane begins in the second phase */
        const phase_span span = even;
        float *const to = to_even;
        even = odd;
        odd = span;
        to_even = to_odd;
        to_odd = to;
    }
    for (size_t r = 0; r < w->rows; r++) {
        const size_t at = r * w->dst_stride;
        copy_halves(to_even + at, to_odd + at, w->from + r * w->from_stride + even.first, even.inside,
                    odd.inside);
    }
    return true;
}

void ln_conv_copy_window(float *dst, const float *plane, const ln_conv_window *window, size_t height,
                         size_t width) {
    const size_t dst_stride = window->phases * window->phase_cols;
    const ptrdiff_t step = (ptrdiff_t)window->row_step;
    const size_t skipped = window->row < 0 ? (size_t)((step - 1 - window->row) / step) : 0;
    const ptrdiff_t first = window->row + (ptrdiff_t)skipped * step;
    if (plane == NULL || first >= (ptrdiff_t)height || skipped >= window->rows) {
        return;
    }
    const size_t inside = ((size_t)((ptrdiff_t)height - first) - 1) / window->row_step + 1;
    const size_t rows = inside < window->rows - skipped ? inside : window->rows - skipped;
    const window_rows w = {dst + skipped * dst_stride, plane + (size_t)first * width, rows, dst_stride,
                           window->row_step * width};
    if (copy_two_phases(&w, window, width)) {
        return;
    }
    for (size_t phase = 0; phase < window->phases; phase++) {
        const phase_span span =
            span_of(window->col + (ptrdiff_t)phase, window->col_step, window->phase_cols, width);
        float *to = w.dst + phase * window->phase_cols + span.left;
        const float *from = w.from + span.first;
        for (size_t r = 0; r < rows && span.inside > 0; r++) {
            copy_strided(to, from, window->col_step, span.inside);
            to += w.dst_stride;
            from += w.from_stride;
        }
    }
}

/* Whether a region can be read from x itself. */
static bool in_place(const ln_conv_f32_plan *plan, const ln_conv_window *window) {
    const ln_conv_shape *s = &plan->shape;
    const size_t height = s->in[ln_conv_axis(plan, 0)], width = s->in[ln_conv_axis(plan, 1)];
    return plan->outer_taps == 1 && plan->outer == 0 && window->col_step == 1 && window->row >= 0 &&
           window->col >= 0 && (size_t)window->row + (window->rows - 1) * window->row_step < height &&
           (size_t)window->col + window->phase_cols <= width;
}

ln_conv_view ln_conv_view_of(const ln_conv_f32_plan *plan, const ln_conv_region *region, const float *x,
                             size_t depth_begin, size_t depth, float *copy) {
    const ln_conv_shape *s = &plan->shape;
    const size_t height = s->in[ln_conv_axis(plan, 0)], width = s->in[ln_conv_axis(plan, 1)];
    const ln_conv_window window = ln_conv_window_of(plan, region);
    ln_conv_view view = {.row_advance =
                             s->kernel[ln_conv_axis(plan, 0)] == 1 ? 1 : s->stride[ln_conv_axis(plan, 0)]};
    const size_t channel_elems = plan->outer_in * plan->plane_in;
    if (in_place(plan, &window)) {
        view.base = x + depth_begin * channel_elems + (size_t)window.row * width + (size_t)window.col;
        view.plane_stride = channel_elems;
        view.row_stride = width * window.row_step;
        return view;
    }
    view.base = copy;
    view.phase_stride = window.phase_cols;
    view.row_stride = window.phases * window.phase_cols;
    view.plane_stride = window.rows * view.row_stride;
    memset(copy, 0, depth * view.plane_stride * sizeof(float));
    for (size_t d = depth_begin; d < depth_begin + depth; d++) {
        const ptrdiff_t plane = ln_conv_f32_plane(plan, region->position, d % plan->outer_taps);
        const float *source =
            x + d / plan->outer_taps * channel_elems + (plane < 0 ? 0 : plane) * (ptrdiff_t)plan->plane_in;
        ln_conv_copy_window(copy, plane < 0 ? NULL : source, &window, height, width);
        copy += view.plane_stride;
    }
    return view;
}

void ln_conv_tap_offsets(const ln_conv_f32_plan *plan, const ln_conv_view *view, size_t *offsets) {
    const ln_conv_shape *s = &plan->shape;
    const size_t y = ln_conv_axis(plan, 0), x = ln_conv_axis(plan, 1);
    for (size_t i = 0; i < s->kernel[y]; i++) {
        for (size_t j = 0; j < s->kernel[x]; j++) {
            const size_t col = j * s->dilation[x];
            *offsets++ = i * s->dilation[y] * view->row_stride + col % s->stride[x] * view->phase_stride +
                         col / s->stride[x];
        }
    }
}
