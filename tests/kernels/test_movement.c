/*
 * The kernels of vector.h that move, pick or convert elements: transposes, pooling, resizing, conversions. Each is
 * held against its scalar twin on every element; buffers are as long as the kernel may read, so that a sanitizer sees
 * the first byte beyond.
 */
#include "check.h"

#include "../../simd/ref/vector_ref.h"

static uint8_t *random_bytes(size_t count) {
    uint8_t *p = check_alloc(count);
    for (size_t i = 0; i < count; i++) {
        p[i] = (uint8_t)check_random();
    }
    return p;
}

static void permutation_case(const size_t *dims, const int *perm, int rank, size_t element_bytes) {
    size_t total = element_bytes;
    for (int i = 0; i < rank; i++) {
        total *= dims[i];
    }
    uint8_t *src = random_bytes(total), *expected = check_alloc(total), *got = check_alloc(total + 16);
    memset(got, 0x5a, total + 16);
    ln_ref_transpose(expected, src, dims, perm, rank, element_bytes);
    struct ln_transpose_plan plan;
    ln_plan_transpose(&plan, dims, perm, rank, element_bytes);
    /* In three ranges, the last one first. */
    const size_t a = plan.units / 3, b = plan.units / 2;
    ln_transpose_run(&plan, got, src, b, plan.units);
    ln_transpose_run(&plan, got, src, 0, a);
    ln_transpose_run(&plan, got, src, a, b);
    CHECK(memcmp(got, expected, total) == 0, "rank %d, element %zu, form %d, width %zu", rank, element_bytes,
          (int)plan.form, plan.width);
    CHECK(got[total] == 0x5a && got[total + 15] == 0x5a, "writes past the end");
    free(src);
    free(expected);
    free(got);
}

static void random_permutation(int *perm, int rank) {
    for (int i = 0; i < rank; i++) {
        perm[i] = i;
    }
    for (int i = rank - 1; i > 0; i--) {
        const int j = (int)(check_random() % (unsigned)(i + 1)), swap = perm[i];
        perm[i] = perm[j];
        perm[j] = swap;
    }
}

static void test_transpose(void) {
    const size_t widths[] = {1, 2, 4, 8, 16, 3, 12};
    int perm[LN_TRANSPOSE_MAX_RANK];
    size_t dims[LN_TRANSPOSE_MAX_RANK];
    for (size_t rows = 0; rows <= 20; rows++) {
        for (size_t cols = 0; cols <= 37; cols += 1 + cols / 19) {
            for (int w = 0; w < 7; w++) {
                permutation_case((size_t[]){2, rows, cols}, (int[]){0, 2, 1}, 3, widths[w]);
                permutation_case((size_t[]){rows, cols, 5}, (int[]){1, 0, 2}, 3, widths[w]);
            }
        }
    }
    for (int i = 0; i < 3000; i++) {
        const int rank = (int)(check_random() % 7);
        for (int a = 0; a < rank; a++) {
            dims[a] = 1 + check_random() % 7;
        }
        random_permutation(perm, rank);
        permutation_case(dims, perm, rank, widths[check_random() % 7]);
    }
    for (int a = 0; a < 16; a++) {
        dims[a] = 2;
    }
    for (int i = 0; i < 10; i++) {
        random_permutation(perm, 16);
        permutation_case(dims, perm, 16, widths[i % 5]);
    }
    permutation_case((size_t[]){300, 1000}, (int[]){1, 0}, 2, 4);
    permutation_case((size_t[]){3, 224, 224}, (int[]){1, 2, 0}, 3, 4);
    permutation_case((size_t[]){12, 64, 16, 80}, (int[]){0, 2, 1, 3}, 4, 4);
    permutation_case((size_t[]){400, 700}, (int[]){0, 1}, 2, 1);
}

static void pool_case(const struct ln_pooling *pooling, unsigned specials_one_in) {
    const size_t in = (size_t)(pooling->in[0] * pooling->in[1] * pooling->in[2]);
    const size_t out = (size_t)(pooling->out[0] * pooling->out[1] * pooling->out[2]);
    float *x = check_random_floats(in);
    for (size_t i = 0; i < in && specials_one_in; i++) {
        const float specials[] = {NAN, INFINITY, -INFINITY, 0.0f};
        x[i] = check_random() % specials_one_in == 0 ? specials[check_random() % 4] : x[i];
    }
    double *expected = check_alloc(out * sizeof(double));
    int64_t *indices = check_alloc(out * sizeof(int64_t)),
            *expected_indices = check_alloc(out * sizeof(int64_t));
    check_guarded got = check_guard(out);
    const char *const names[] = {"max", "average", "padded average", "lp"};
    for (int which = 0; which < 4; which++) {
        for (int form = 0; form < (which == 0 ? 3 : 1); form++) {
            ln_ref_pool_plane(expected, which == 0 ? expected_indices : NULL, x, pooling,
                              (enum ln_ref_pool)which, 2.0, 100, form == 2);
            if (which == 0 && form == 0) {
                ln_max_pool_plane_f32(got.floats, x, pooling);
            } else if (which == 0) {
                ln_max_pool_indices_plane_f32(got.floats, indices, x, pooling, 100, form == 2);
            } else if (which == 3) {
                ln_lp_pool_plane_f32(got.floats, x, pooling, 2.0f);
            } else {
                ln_average_pool_plane_f32(got.floats, x, pooling, which == 2);
            }
            for (size_t i = 0; i < out; i++) {
                CHECK(check_near(got.floats[i], expected[i], which == 0 ? 0.0 : 2e-6),
                      "%s pool %dx%dx%d stride %d at %zu: %g, not %g", names[which], (int)pooling->kernel[0],
                      (int)pooling->kernel[1], (int)pooling->kernel[2], (int)pooling->stride[2], i,
                      (double)got.floats[i], expected[i]);
                CHECK(which != 0 || form == 0 || indices[i] == expected_indices[i], "index of a maximum");
            }
        }
    }
    CHECK(check_guards_hold(&got), "pool writes outside");
    free(x);
    free(expected);
    free(indices);
    free(expected_indices);
    free(got.memory);
}

/* Fills in one axis; ceil_mode may add a window that starts on the input or its padding. */
static void pool_axis(struct ln_pooling *pooling, int axis, int64_t in, int64_t kernel, int64_t stride,
                      int64_t dilation, int64_t pad_begin, int64_t pad_end, int ceil_mode) {
    pooling->in[axis] = in;
    pooling->kernel[axis] = kernel;
    pooling->stride[axis] = stride;
    pooling->dilation[axis] = dilation;
    pooling->pad_begin[axis] = pad_begin;
    pooling->pad_end[axis] = pad_end;
    const int64_t room = in + pad_begin + pad_end - ((kernel - 1) * dilation + 1);
    pooling->out[axis] = room < 0 ? 0 : (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

static void test_pool(void) {
    struct ln_pooling pooling;
    const int64_t fast[][2] = {{2, 2}, {3, 2}, {3, 1}, {2, 1}, {3, 3}};
    for (int64_t width = 1; width <= 40; width++) {
        for (int i = 0; i < 5; i++) {
            for (int64_t pad = 0; pad < fast[i][0]; pad++) {
                pool_axis(&pooling, 0, 1, 1, 1, 1, 0, 0, 0);
                pool_axis(&pooling, 1, 1 + width % 7, fast[i][0], fast[i][1], 1, pad, pad, 0);
                pool_axis(&pooling, 2, width, fast[i][0], fast[i][1], 1, pad, pad, (int)(width & 1));
                pool_case(&pooling, 0);
                pool_case(&pooling, 11);
            }
        }
    }
    for (int64_t width = 1; width <= 80; width += 3) {
        const int64_t kernel = 5 + 2 * (width % 5);
        pool_axis(&pooling, 0, 1, 1, 1, 1, 0, 0, 0);
        pool_axis(&pooling, 1, width % 2 ? width : 9, kernel, 1, 1, kernel / 2, kernel / 2, 0);
        pool_axis(&pooling, 2, width, kernel, 1, 1, kernel / 2, kernel / 2, 0);
        pool_case(&pooling, 0);
        pool_case(&pooling, width % 3 == 1 ? 50 : 0);
    }
    for (int i = 0; i < 2000; i++) {
        for (int axis = 0; axis < 3; axis++) {
            const int64_t kernel = 1 + check_random() % 4;
            pool_axis(&pooling, axis, 1 + check_random() % (axis == 2 ? 20 : 6), kernel,
                      1 + check_random() % 3, 1 + check_random() % 2, check_random() % (unsigned)kernel,
                      check_random() % (unsigned)kernel, (int)(check_random() % 2));
        }
        pool_case(&pooling, i % 3 ? 0 : 9);
    }
    for (int axis = 0; axis < 3; axis++) {
        pool_axis(&pooling, axis, 5 + axis, 5 + axis, 1, 1, 0, 0, 0);
    }
    pool_case(&pooling, 0);
}

/* Linear interpolation, half_pixel, as a table of two taps. */
static struct ln_resize_axis linear_axis(size_t in, size_t out) {
    int32_t *index = check_alloc(2 * out * sizeof(int32_t));
    float *weight = check_alloc(2 * out * sizeof(float));
    for (size_t i = 0; i < out; i++) {
        const double x =
            fmin(fmax(((double)i + 0.5) * (double)in / (double)out - 0.5, 0.0), (double)in - 1.0);
        const int32_t low = (int32_t)x;
        index[2 * i] = low;
        index[2 * i + 1] = low + 1 < (int32_t)in ? low + 1 : low;
        weight[2 * i + 1] = (float)(x - low);
        weight[2 * i] = 1.0f - weight[2 * i + 1];
    }
    return (struct ln_resize_axis){2, index, weight};
}

static void resize_linear_case(size_t in_h, size_t in_w, size_t out_h, size_t out_w) {
    float *x = check_random_floats(in_h * in_w), *scratch = check_alloc(2 * (out_w + 1) * sizeof(float));
    double *expected = check_alloc(out_h * out_w * sizeof(double));
    ln_ref_resize_linear(expected, x, in_h, in_w, out_h, out_w);
    const struct ln_resize_axis rows = linear_axis(in_h, out_h), cols = linear_axis(in_w, out_w);
    for (int form = 0; form < (out_h == 2 * in_h && out_w == 2 * in_w ? 3 : 2); form++) {
        check_guarded got = check_guard(out_h * out_w);
        const size_t middle = out_h / 3;
        for (int part = 0; part < 2; part++) {
            const size_t begin = part ? 0 : middle, end = part ? middle : out_h;
            if (form == 0) {
                ln_resize_plane_f32(got.floats, x, in_w, out_w, &rows, &cols, begin, end, scratch);
            } else if (form == 2) {
                ln_resize_linear_2x_f32(got.floats, x, in_h, in_w, begin, end);
            }
        }
        if (form == 1) {
            /* Axis by axis: rows first, then each row along its columns. */
            float *tall = check_alloc(out_h * in_w * sizeof(float));
            ln_resize_axis_f32(tall, x, in_w, &rows, 0, out_h);
            for (size_t y = 0; y < out_h; y++) {
                ln_resize_axis_f32(got.floats + y * out_w, tall + y * in_w, 1, &cols, 0, out_w);
            }
            free(tall);
        }
        for (size_t i = 0; i < out_h * out_w; i++) {
            CHECK(check_near(got.floats[i], expected[i], 1e-6),
                  "resize form %d, %zux%zu to %zux%zu at %zu: %g, not %g", form, in_h, in_w, out_h, out_w, i,
                  (double)got.floats[i], expected[i]);
        }
        CHECK(check_guards_hold(&got), "resize writes outside");
        free(got.memory);
    }
    free((void *)rows.index);
    free((void *)rows.weight);
    free((void *)cols.index);
    free((void *)cols.weight);
    free(x);
    free(scratch);
    free(expected);
}

/* Tables of any number of taps, clamped at the edges, with weights of no meaning. */
static void resize_taps_case(size_t taps, size_t in_w, size_t out_w) {
    const size_t height = 5;
    float *x = check_random_floats(height * in_w), *weight = check_random_floats(out_w * taps);
    int32_t *index = check_alloc(out_w * taps * sizeof(int32_t));
    for (size_t i = 0; i < out_w * taps; i++) {
        const int32_t at = (int32_t)(i / taps * in_w / out_w + i % taps) - (int32_t)taps / 2;
        index[i] = at < 0 ? 0 : at >= (int32_t)in_w ? (int32_t)in_w - 1 : at;
    }
    int32_t row_index[4 * 3];
    float row_weight[4 * 3];
    for (size_t i = 0; i < 3 * taps; i++) {
        const size_t at = i / taps + i % taps;
        row_index[i] = (int32_t)(at < height ? at : height - 1);
        row_weight[i] = 0.3f * (float)(i % 5) - 0.4f;
    }
    const struct ln_resize_axis rows = {taps, row_index, row_weight}, cols = {taps, index, weight};
    check_guarded got = check_guard(3 * out_w);
    float *scratch = check_alloc(taps * (out_w + 1) * sizeof(float));
    ln_resize_plane_f32(got.floats, x, in_w, out_w, &rows, &cols, 0, 3, scratch);
    for (size_t i = 0; i < 3 * out_w; i++) {
        double expected = 0.0;
        for (size_t r = 0; r < taps; r++) {
            const size_t row = i / out_w * taps + r;
            for (size_t c = 0; c < taps; c++) {
                const size_t col = i % out_w * taps + c;
                expected += (double)row_weight[row] * (double)weight[col] *
                            (double)x[(size_t)row_index[row] * in_w + (size_t)index[col]];
            }
        }
        CHECK(check_near(got.floats[i], expected, 2e-6), "resize by %zu taps, %zu to %zu at %zu: %g, not %g",
              taps, in_w, out_w, i, (double)got.floats[i], expected);
    }
    CHECK(check_guards_hold(&got), "resize by %zu taps writes outside", taps);
    free(got.memory);
    free(scratch);
    free(index);
    free(weight);
    free(x);
}

static void resize_nearest_case(size_t in_h, size_t in_w, size_t width) {
    const size_t out_h = 2 * in_h, out_w = 2 * in_w;
    uint8_t *x = random_bytes(in_h * in_w * width), *got = check_alloc(out_h * out_w * width);
    int32_t *rows = check_alloc(out_h * sizeof(int32_t)), *cols = check_alloc(out_w * sizeof(int32_t));
    const uint8_t outside[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < out_h; i++) {
        rows[i] = i + 1 == out_h ? -1 : (int32_t)(i / 2);
    }
    for (size_t i = 0; i < out_w; i++) {
        cols[i] = i == 1 ? -1 : (int32_t)(i / 2);
    }
    ln_resize_nearest(got, x, in_w, out_w, rows, cols, 0, out_h, width, outside);
    for (size_t y = 0; y < out_h; y++) {
        for (size_t c = 0; c < out_w; c++) {
            const uint8_t *expected =
                rows[y] < 0 || cols[c] < 0 ? outside : x + ((y / 2) * in_w + c / 2) * width;
            CHECK(memcmp(got + (y * out_w + c) * width, expected, width) == 0, "nearest at %zu, %zu", y, c);
        }
    }
    if (width == 4) {
        ln_resize_nearest_2x_f32((float *)(void *)got, (const float *)(const void *)x, in_h, in_w, 0, out_h);
        for (size_t y = 0; y < out_h; y++) {
            for (size_t c = 0; c < out_w; c++) {
                CHECK(memcmp(got + (y * out_w + c) * 4, x + ((y / 2) * in_w + c / 2) * 4, 4) == 0,
                      "nearest 2x");
            }
        }
    }
    free(x);
    free(got);
    free(rows);
    free(cols);
}

static void test_resize(void) {
    for (size_t w = 1; w <= 24; w++) {
        resize_linear_case(1 + w % 4, w, 2 * (1 + w % 4), 2 * w);
        resize_linear_case(3, w, 7, 2 * w + 1);
        resize_linear_case(9, w, 4, 1 + w / 2);
        for (size_t taps = 1; taps <= 4; taps++) {
            resize_taps_case(taps, w, 2 * w);
            resize_taps_case(taps, w, 1 + w / 2);
        }
        for (size_t width = 1; width <= 8; width *= 2) {
            resize_nearest_case(1 + w % 3, w, width);
        }
    }
}

static void test_halves(void) {
    enum { ALL = 65536 };
    uint16_t *halves = check_alloc(ALL * sizeof(uint16_t)), *back = check_alloc(ALL * sizeof(uint16_t));
    float *floats = check_alloc(ALL * sizeof(float));
    for (int i = 0; i < ALL; i++) {
        halves[i] = (uint16_t)i;
    }
    ln_f16_to_f32(floats, halves, ALL);
    ln_f32_to_f16(back, floats, ALL);
    for (int i = 0; i < ALL; i++) {
        const float expected = ln_ref_f16_to_f32((uint16_t)i);
        CHECK(isnan(expected) ? isnan(floats[i]) : memcmp(&floats[i], &expected, 4) == 0, "half %04x", i);
        CHECK(isnan(expected) ? (back[i] & 0x7fff) > 0x7c00 : back[i] == i, "half %04x there and back", i);
    }
    ln_bf16_to_f32(floats, halves, ALL);
    ln_f32_to_bf16(back, floats, ALL);
    for (int i = 0; i < ALL; i++) {
        const uint32_t bits = (uint32_t)i << 16;
        CHECK(memcmp(&floats[i], &bits, 4) == 0, "bfloat %04x", i);
        CHECK(isnan(floats[i]) ? (back[i] & 0x7fff) > 0x7f80 : back[i] == i, "bfloat %04x there and back", i);
    }
    /* Floats of all kinds; those halfway between two halves are the hard ones. */
    for (int i = 0; i < ALL; i++) {
        uint32_t bits = (uint32_t)i << 16 | (check_random() & 0xffff);
        bits = i % 4 == 0 ? (uint32_t)i << 16 | 0x1000 : i % 4 == 1 ? (uint32_t)i << 16 | 0x8000 : bits;
        memcpy(&floats[i], &bits, 4);
    }
    ln_f32_to_f16(halves, floats, ALL);
    ln_f32_to_bf16(back, floats, ALL);
    for (int i = 0; i < ALL; i++) {
        const uint16_t half = ln_ref_f32_to_f16(floats[i]), bfloat = ln_ref_f32_to_bf16(floats[i]);
        CHECK(isnan(floats[i]) ? (halves[i] & 0x7fff) > 0x7c00 : halves[i] == half,
              "%.9g to half: %04x, not %04x", (double)floats[i], halves[i], half);
        CHECK(back[i] == bfloat, "%.9g to bfloat: %04x, not %04x", (double)floats[i], back[i], bfloat);
    }
    free(halves);
    free(back);
    free(floats);
}

static void integers_case(size_t n) {
    const float specials[] = {NAN, INFINITY, -INFINITY, 3e9f, -3e9f, 2.7f, -2.7f, 1e19f, -1e19f};
    float *x = check_random_floats(n), *y = check_alloc(n * sizeof(float));
    int32_t *i32 = check_alloc(n * sizeof(int32_t));
    int64_t *i64 = check_alloc(n * sizeof(int64_t));
    double *f64 = check_alloc(n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        x[i] = check_random() % 3 == 0 ? specials[check_random() % 9] : x[i] * 100.0f;
    }
    ln_f32_to_i32(i32, x, n);
    ln_f32_to_i64(i64, x, n);
    ln_f32_to_f64(f64, x, n);
    ln_f64_to_f32(y, f64, n);
    for (size_t i = 0; i < n; i++) {
        const double value = isnan(x[i]) ? 0.0 : trunc((double)x[i]);
        CHECK(i32[i] == (value < INT32_MIN   ? INT32_MIN
                         : value > INT32_MAX ? INT32_MAX
                                             : (int32_t)value),
              "to i32");
        CHECK(i64[i] == (value <= -0x1p63  ? INT64_MIN
                         : value >= 0x1p63 ? INT64_MAX
                                           : (int64_t)value),
              "to i64");
        CHECK(check_near(f64[i], x[i], 0.0) && check_near(y[i], x[i], 0.0), "to double and back");
    }
    ln_i32_to_f32(y, i32, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(y[i] == (float)i32[i], "from i32");
    }
    ln_i64_to_f32(y, i64, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(y[i] == (float)i64[i], "from i64");
    }
    free(x);
    free(y);
    free(i32);
    free(i64);
    free(f64);
}

static void quantize_case(size_t n, float scale) {
    const float specials[] = {NAN,          INFINITY,     -INFINITY,     1e30f,
                              0.5f * scale, 1.5f * scale, -2.5f * scale, 0.0f};
    float *x = check_random_floats(n), *y = check_alloc(n * sizeof(float));
    uint8_t *u8 = check_alloc(n);
    int8_t *i8 = check_alloc(n);
    for (size_t i = 0; i < n; i++) {
        x[i] = check_random() % 3 == 0 ? specials[check_random() % 8] : x[i] * 200.0f * scale;
    }
    ln_quantize_u8_f32(u8, x, n, scale, 117);
    ln_quantize_i8_f32(i8, x, n, scale, -5);
    for (size_t i = 0; i < n; i++) {
        const int32_t u = ln_ref_quantize(x[i], scale, 117, 0, 255),
                      s = ln_ref_quantize(x[i], scale, -5, -128, 127);
        CHECK(u8[i] == u && i8[i] == s, "quantised %g: %d %d, not %d %d", (double)x[i], u8[i], i8[i], u, s);
    }
    ln_dequantize_u8_f32(y, u8, n, scale, 117);
    for (size_t i = 0; i < n; i++) {
        CHECK(y[i] == (float)(u8[i] - 117) * scale, "dequantised u8");
    }
    ln_dequantize_i8_f32(y, i8, n, scale, -5);
    for (size_t i = 0; i < n; i++) {
        CHECK(y[i] == (float)(i8[i] + 5) * scale, "dequantised i8");
    }
    ln_u8_to_f32(y, u8, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(y[i] == (float)u8[i], "u8");
    }
    ln_i8_to_f32(y, i8, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(y[i] == (float)i8[i], "i8");
    }
    free(x);
    free(y);
    free(u8);
    free(i8);
}

int main(void) {
    test_transpose();
    test_pool();
    test_resize();
    test_halves();
    for (size_t n = 0; n <= 40; n++) {
        integers_case(n);
        quantize_case(n, 0.037f);
    }
    quantize_case(100000, 0.11f);
    return check_report();
}
