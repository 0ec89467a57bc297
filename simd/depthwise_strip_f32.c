/*
 * Depthwise kernels of 3x3 and 5x5 with strides 1 and 2 and no dilation, as strips that roll down the plane.
 *
 * A strip is four output columns wide. A row of input is loaded once; its products with each row of the kernel
 * are added to the sums of the output rows it belongs to, which are carried from row to row:
 *
 *     input row t:   carried[2] + row 2 of kernel  ->  output row t - 2, finished
 *                    carried[1] + row 1 of kernel  ->  carried[2]
 *                    bias       + row 0 of kernel  ->  carried[1]
 *
 * So every output is ((bias + row 0) + row 1) + row 2 wherever tasks are cut. Strips that touch the left or
 * right padding shuffle zeros in; the last strip overlaps the one before it. Nothing is copied.
 */
#include "depthwise_f32.h"

enum { STRIP = 4 };

/*
 * Where the vectors of a strip's row come from: an address in the row, and lanes that swizzle puts right or
 * to 0.
 */
typedef struct strip_edge {
    size_t at[5];
    ln_v8i lanes[5];
} strip_edge;

/*
 * The vectors begin at column `begin`, `step` columns apart; lanes outside [0, width) become 0, because
 * their index leaves 0..15. width is at least 4.
 */
LN_INLINE strip_edge edge_of(ptrdiff_t begin, size_t step, size_t vectors, size_t width) {
    static const int8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const ptrdiff_t last = (ptrdiff_t)width - STRIP;
    strip_edge edge;
    LN_LOOP_UNROLLED
    for (size_t v = 0; v < vectors; v++) {
        const ptrdiff_t first = begin + (ptrdiff_t)(v * step);
        const ptrdiff_t at = first < 0 ? 0 : first > last ? last : first;
        const ptrdiff_t shift = first - at;
        const int lanes = shift < -STRIP ? -STRIP : shift > STRIP ? STRIP : (int)shift;
        edge.at[v] = (size_t)at;
        const ln_v8i index = wasm_i8x16_add(wasm_v128_load(bytes), wasm_i8x16_splat((int8_t)(4 * lanes)));
        /* Indices from 16 on get their high bit, as the relaxed swizzle wants it. */
        const ln_v8i outside = wasm_u8x16_gt(index, wasm_i8x16_splat(15));
        edge.lanes[v] = wasm_v128_or(index, wasm_v128_and(outside, wasm_i8x16_splat(-128)));
    }
    return edge;
}

/* Bytes by index; those whose index has the high bit become 0. */
LN_INLINE ln_v8i zeroing_swizzle(ln_v8i bytes, ln_v8i lanes) {
#if LN_RELAXED && defined(__wasm__)
    return wasm_i8x16_relaxed_swizzle(bytes, lanes);
#else
    return wasm_i8x16_swizzle(bytes, lanes);
#endif
}

/* The columns that each tap of a kernel row meets, for four output columns. */
LN_INLINE void load_taps(const size_t kernel, const size_t stride, const bool edged, const float *row,
                         ptrdiff_t begin, const strip_edge *edge, ln_v32f taps[5]) {
    ln_v32f loaded[5];
    const size_t vectors = stride == 1 ? kernel : 3, step = stride == 1 ? 1 : 4;
    LN_LOOP_UNROLLED
    for (size_t v = 0; v < vectors; v++) {
        if (edged) {
            loaded[v] = zeroing_swizzle(ln_load(row + edge->at[v]), edge->lanes[v]);
        } else {
            loaded[v] = ln_load(row + begin + (ptrdiff_t)(v * step));
        }
    }
    if (stride == 1) {
        LN_LOOP_UNROLLED
        for (size_t v = 0; v < kernel; v++) {
            taps[v] = loaded[v];
        }
        return;
    }
    taps[0] = wasm_i32x4_shuffle(loaded[0], loaded[1], 0, 2, 4, 6);
    taps[1] = wasm_i32x4_shuffle(loaded[0], loaded[1], 1, 3, 5, 7);
    taps[2] = wasm_i32x4_shuffle(taps[0], loaded[2], 1, 2, 3, 4);
    if (kernel == 5) {
        taps[3] = wasm_i32x4_shuffle(taps[1], loaded[2], 1, 2, 3, 5);
        taps[4] = wasm_i32x4_shuffle(taps[0], loaded[2], 2, 3, 4, 6);
    }
}

/*
 * A strip as it rolls. `w` holds a 3x3 kernel; a 5x5 kernel does not fit the registers and is read from
 * memory.
 */
typedef struct strip_state {
    ln_v32f w[9], carried[5];
} strip_state;

LN_INLINE ln_v32f strip_weight(const size_t kernel, const ln_depthwise_job *job, const strip_state *state,
                               size_t i, size_t j) {
    return kernel == 3 ? state->w[3 * i + j] : ln_load_splat(job->w + i * kernel + j);
}

/*
 * Adds one input row to the sums it belongs to, those of the kernel rows that fall on this phase of the
 * stride. Returns the finished sum where the last kernel row is among them. Without `taps` the row is
 * padding.
 */
LN_INLINE ln_v32f roll(const size_t kernel, const size_t stride, const size_t phase,
                       const ln_depthwise_job *job, strip_state *state, const ln_v32f *taps) {
    ln_v32f finished = ln_zero();
    LN_LOOP_UNROLLED
    for (size_t down = 0; down < kernel; down++) {
        const size_t i = kernel - 1 - down;
        if (i % stride != phase) {
            continue;
        }
        ln_v32f sum = i == 0 ? ln_load_splat(&job->bias) : state->carried[i];
        if (taps != NULL) {
            ln_v32f products = ln_mul(taps[0], strip_weight(kernel, job, state, i, 0));
            LN_LOOP_UNROLLED
            for (size_t j = 1; j < kernel; j++) {
                products = ln_madd(products, taps[j], strip_weight(kernel, job, state, i, j));
            }
            sum = ln_add(sum, products);
        }
        if (i + 1 < kernel) {
            state->carried[i + 1] = sum;
        } else {
            finished = sum;
        }
    }
    return finished;
}

/* One group of `stride` input rows, any of which may be padding, and the output row they finish, if any. */
LN_INLINE void roll_checked(const size_t kernel, const size_t stride, const size_t stride_x, const bool edged,
                            const ln_depthwise_job *job, strip_state *state, ptrdiff_t begin,
                            const strip_edge *edge, ptrdiff_t row, float *c, const float *residual) {
    LN_LOOP_UNROLLED
    for (size_t phase = 0; phase < stride; phase++, row++) {
        const bool inside = row >= 0 && row < (ptrdiff_t)job->height;
        ln_v32f taps[5], finished;
        if (inside) {
            load_taps(kernel, stride_x, edged, job->x + (size_t)row * job->width, begin, edge, taps);
            finished = roll(kernel, stride, phase, job, state, taps);
        } else {
            finished = roll(kernel, stride, phase, job, state, NULL);
        }
        if (phase == (kernel - 1) % stride && c != NULL) {
            ln_depthwise_store(c, finished, residual, job->limits);
        }
    }
}

/*
 * Four output columns from `col`, all rows of the job. Groups of `stride` rows before the plane, at its end,
 * and before the first output go through roll_checked; the loop in the middle asks nothing.
 */
LN_INLINE void strip(const size_t kernel, const size_t stride, const size_t stride_x, const bool edged,
                     const ln_depthwise_job *job, size_t col) {
    strip_state state;
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 9; i++) {
        state.w[i] = kernel == 3 ? ln_load_splat(job->w + i) : ln_zero();
    }
    LN_LOOP_UNROLLED
    for (size_t i = 0; i < 5; i++) {
        state.carried[i] = ln_zero();
    }
    const ptrdiff_t begin = (ptrdiff_t)(col * stride_x) - job->pad_col, height = (ptrdiff_t)job->height;
    const strip_edge edge =
        edged ? edge_of(begin, stride_x == 1 ? 1 : 4, stride_x == 1 ? kernel : 3, job->width)
              : (strip_edge){.at = {0}};
    const size_t width = job->width, out_width = job->out_width, warm_up = (kernel - 1) / stride;
    const size_t groups = job->row_end - job->row_begin + warm_up;
    const size_t first = job->row_begin * out_width + col;
    ptrdiff_t row = (ptrdiff_t)(job->row_begin * stride) - job->pad_row;
    for (size_t group = 0; group < groups;) {
        float *c = group < warm_up ? NULL : job->out.c + first + (group - warm_up) * out_width;
        const float *residual = c == NULL || job->out.residual == NULL
                                    ? NULL
                                    : job->out.residual + first + (group - warm_up) * out_width;
        const ptrdiff_t left = row < 0 ? 0 : (height - row) / (ptrdiff_t)stride;
        size_t quick = left <= 0 || c == NULL          ? 0
                       : (size_t)left < groups - group ? (size_t)left
                                                       : groups - group;
        if (quick == 0) {
            roll_checked(kernel, stride, stride_x, edged, job, &state, begin, &edge, row, c, residual);
            row += (ptrdiff_t)stride;
            group++;
            continue;
        }
        const float *x = job->x + (size_t)row * width + (edged ? 0 : begin), *const limits = job->limits;
        const size_t residual_step = residual == NULL ? 0 : out_width;
        const float *addend = residual == NULL ? c : residual;
        const bool add = residual != NULL;
        row += (ptrdiff_t)(quick * stride);
        group += quick;
        do {
            LN_LOOP_UNROLLED
            for (size_t phase = 0; phase < stride; phase++) {
                ln_v32f taps[5];
                load_taps(kernel, stride_x, edged, x, 0, &edge, taps);
                const ln_v32f finished = roll(kernel, stride, phase, job, &state, taps);
                if (phase == (kernel - 1) % stride) {
                    ln_depthwise_store(c, finished, add ? addend : NULL, limits);
                }
                x += width;
            }
            c += out_width;
            addend += residual_step;
        } while (--quick > 0);
    }
}

typedef void strip_fn(const ln_depthwise_job *job, size_t col);

struct ln_depthwise_strip {
    size_t kernel, stride_y, stride_x;
    strip_fn *inner, *edge;
};

#define STRIP_FUNCTIONS(name, kernel, stride_y, stride_x)                                                    \
    static LN_NOINLINE void inner_##name(const ln_depthwise_job *job, size_t col) {                          \
        strip(kernel, stride_y, stride_x, false, job, col);                                                  \
    }                                                                                                        \
    static LN_NOINLINE void edge_##name(const ln_depthwise_job *job, size_t col) {                           \
        strip(kernel, stride_y, stride_x, true, job, col);                                                   \
    }
#define STRIP_ROW(name, kernel, stride_y, stride_x) {kernel, stride_y, stride_x, inner_##name, edge_##name},

/* name, kernel, strides down and across */
#define EACH_STRIP(X)                                                                                        \
    X(3x3s1, 3, 1, 1)                                                                                        \
    X(3x3s2, 3, 2, 2)                                                                                        \
    X(3x3s21, 3, 2, 1)                                                                                       \
    X(5x5s1, 5, 1, 1)                                                                                        \
    X(5x5s2, 5, 2, 2)                                                                                        \
    X(5x5s21, 5, 2, 1)

EACH_STRIP(STRIP_FUNCTIONS)

static const ln_depthwise_strip strips[] = {EACH_STRIP(STRIP_ROW)};

const ln_depthwise_strip *ln_depthwise_strip_for(const ln_depthwise_window *window) {
    if (window->in_width < STRIP || window->out_width < STRIP) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof strips / sizeof *strips; i++) {
        const ln_depthwise_strip *candidate = &strips[i];
        if (window->kernel_y == candidate->kernel && window->kernel_x == candidate->kernel &&
            window->stride_y == candidate->stride_y && window->stride_x == candidate->stride_x) {
            return candidate;
        }
    }
    return NULL;
}

void ln_depthwise_run_strips(const ln_depthwise_strip *strip, const ln_depthwise_job *job) {
    /* Columns of input that a strip inside the plane loads. */
    const ptrdiff_t reach = strip->stride_x == 1 ? STRIP + (ptrdiff_t)strip->kernel - 1 : 3 * STRIP;
    for (size_t col = 0; col < job->out_width; col += STRIP) {
        const size_t at = job->out_width - col < STRIP ? job->out_width - STRIP : col;
        const ptrdiff_t begin = (ptrdiff_t)(at * strip->stride_x) - job->pad_col;
        const bool inner = begin >= 0 && begin + reach <= (ptrdiff_t)job->width;
        (inner ? strip->inner : strip->edge)(job, at);
    }
}
