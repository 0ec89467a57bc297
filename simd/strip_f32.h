/*
 * Strips of four output columns that roll down a plane where it lies, for windows of 2x2 and 3x3 with strides 1 and 2, no
 * dilation, and at most one element of padding on a side. Depthwise convolution and pooling share them.
 *
 * Strips at the left or right padding shuffle a fill value in, and read nothing outside the plane; the last strip overlaps
 * the one before it.
 */
#ifndef LN_STRIP_F32_H
#define LN_STRIP_F32_H

#include <stdbool.h>

#include "simd.h"

typedef struct ln_strip_shape {
    size_t height, width, out_height, out_width;
    size_t kernel, stride_row, stride_col;
    ptrdiff_t pad_row, pad_col;
} ln_strip_shape;

enum { LN_STRIP = 4 }; /* columns */
enum { LN_STRIP_INSIDE, LN_STRIP_LEFT, LN_STRIP_RIGHT };

/* Whether strips serve a shape. Outputs are at least five in a row, so that no strip has padding on both sides. */
LN_INLINE bool ln_strip_fits(const ln_strip_shape *s) {
    const bool rows = (s->pad_row == 0 || s->pad_row == 1) &&
                      (s->out_height - 1) * s->stride_row + s->kernel <= s->height + 1 + (size_t)s->pad_row;
    const bool cols = (s->pad_col == 0 || s->pad_col == 1) &&
                      (s->out_width - 1) * s->stride_col + s->kernel <= s->width + 1 + (size_t)s->pad_col;
    return rows && cols && s->out_height > 0 && s->out_width > LN_STRIP &&
           (s->kernel == 3 || (s->kernel == 2 && s->pad_row == 0 && s->pad_col == 0));
}

/* The first column of the strip that would begin at `col` if the last one did not overlap. */
LN_INLINE size_t ln_strip_begin(const ln_strip_shape *s, size_t col) {
    return s->out_width - col < LN_STRIP ? s->out_width - LN_STRIP : col;
}

LN_INLINE int ln_strip_side(const ln_strip_shape *s, size_t begin) {
    if (begin == 0 && s->pad_col > 0) {
        return LN_STRIP_LEFT;
    }
    const size_t end = (begin + LN_STRIP - 1) * s->stride_col + s->kernel - (size_t)s->pad_col;
    return end > s->width ? LN_STRIP_RIGHT : LN_STRIP_INSIDE;
}

/*
 * The columns that each tap of a window row meets, for four output columns. `row` is where tap 0 of the first column
 * stands; on the left strip that is the padding. Returns a sum of all that was loaded, which is NaN if an element is.
 */
LN_INLINE ln_v32f ln_strip_taps(const size_t kernel, const size_t stride, const int side, const ln_v32f fill,
                                const float *row, ln_v32f taps[3]) {
    if (stride == 1) {
        taps[1] = ln_load(row + 1);
        taps[0] = side == LN_STRIP_LEFT ? wasm_i32x4_shuffle(fill, taps[1], 3, 4, 5, 6) : ln_load(row);
        taps[2] = side == LN_STRIP_RIGHT ? wasm_i32x4_shuffle(taps[1], fill, 1, 2, 3, 4) : ln_load(row + 2);
        return ln_add(taps[side == LN_STRIP_LEFT ? 1 : 0], taps[side == LN_STRIP_RIGHT ? 1 : 2]);
    }
    if (side == LN_STRIP_LEFT) {
        const ln_v32f low = ln_load(row + 1), high = ln_load(row + 5);
        taps[1] = wasm_i32x4_shuffle(low, high, 0, 2, 4, 6);
        taps[2] = wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
        taps[0] = wasm_i32x4_shuffle(fill, taps[2], 3, 4, 5, 6);
        return ln_add(low, high);
    }
    /* With a window of two, the column past the right edge is the last odd one. */
    const bool cut = kernel == 2 && side == LN_STRIP_RIGHT;
    const ln_v32f low = ln_load(row);
    const ln_v32f high = cut ? wasm_i32x4_shuffle(ln_load(row + 3), fill, 1, 2, 3, 4) : ln_load(row + 4);
    taps[0] = wasm_i32x4_shuffle(low, high, 0, 2, 4, 6);
    taps[1] = wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
    if (kernel == 2) {
        return ln_add(low, high);
    }
    const ln_v32f next = side == LN_STRIP_RIGHT ? fill : wasm_v128_load32_splat(row + 8);
    taps[2] = wasm_i32x4_shuffle(taps[0], next, 1, 2, 3, 4);
    return ln_add(ln_add(low, high), next);
}

#endif
