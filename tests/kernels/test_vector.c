/*
 * The kernels of vector.h over two inputs, along axes and over rows: binary arithmetic, comparisons, selection,
 * reductions, softmax and normalisation, each against its scalar twin on every element.
 */
#include "check.h"

#include "../../simd/ref/vector_ref.h"

static const float specials[] = {0.0f,      -0.0f,      1.0f,   -1.0f,     INFINITY, -INFINITY,     NAN,
                                 0x1p-149f, -0x1p-126f, 2.0f,   0.5f,      3.0f,     -3.0f,         1e30f,
                                 -1e30f,    -0.5f,      100.0f, 0x1p-130f, 2.5f,     3.40282347e38f};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* Random numbers with a special value here and there. */
static float *mixed_floats(size_t count, unsigned one_in) {
    float *x = check_random_floats(count);
    for (size_t i = 0; i < count; i++) {
        x[i] *= 8.0f;
        if (one_in != 0 && check_random() % one_in == 0) {
            x[i] = specials[check_random() % SPECIALS];
        }
    }
    return x;
}

/* Equal to the exact result within one rounding, or `ulps` of it. */
static int close_to(float got, double expected, double ulps) {
    const float nearest = (float)expected;
    if (isnan(expected) || isinf(nearest) || isinf(got)) {
        return isnan(expected)
                   ? isnan(got)
                   : nearest == got || (isinf(nearest) != isinf(got) && fabs(expected) > 3.402e38);
    }
    const double ulp = fmax(ldexp(fabs((double)nearest), -23), 0x1p-149);
    return fabs((double)got - expected) <= ulps * ulp;
}

static const char *const binary_names[] = {
#define NAME(upper, lower) #lower,
    LN_BINARY_LIST(NAME)
#undef NAME
};

static void binary_case(enum ln_binary op, size_t n, size_t a_stride, size_t b_stride, int in_place) {
    const size_t a_count = a_stride ? n : 1, b_count = b_stride ? n : 1;
    float *a = mixed_floats(a_count, 4), *b = mixed_floats(b_count, 4);
    check_guarded out = check_guard(n);
    const double ulps = op == LN_BINARY_POW ? 2.0 : 0.5;
    double *expected = check_alloc(n * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        expected[i] = ln_ref_binary(op, a[i * a_stride], b[i * b_stride]);
    }
    float *dst = out.floats;
    if (in_place == 1 && a_stride) {
        memcpy(dst, a, n * sizeof(float));
        ln_binary_f32[op](dst, dst, a_stride, b, b_stride, n);
    } else if (in_place == 2 && b_stride) {
        memcpy(dst, b, n * sizeof(float));
        ln_binary_f32[op](dst, a, a_stride, dst, b_stride, n);
    } else {
        ln_binary_f32[op](dst, a, a_stride, b, b_stride, n);
    }
    for (size_t i = 0; i < n; i++) {
        CHECK(close_to(dst[i], expected[i], ulps), "%s(%g, %g) = %.9g, not %.9g; n %zu", binary_names[op],
              (double)a[i * a_stride], (double)b[i * b_stride], (double)dst[i], expected[i], n);
    }
    CHECK(check_guards_hold(&out), "%s n %zu writes outside", binary_names[op], n);
    free(expected);
    free(out.memory);
    free(a);
    free(b);
}

static void test_binary(void) {
    for (int op = 0; op < LN_BINARY_COUNT; op++) {
        for (size_t n = 0; n <= 40; n++) {
            for (int form = 0; form < 12; form++) {
                binary_case((enum ln_binary)op, n, form & 1, form >> 1 & 1, form >> 2);
            }
        }
        /* All pairs of special values. */
        for (int i = 0; i < SPECIALS; i++) {
            float y[SPECIALS];
            ln_binary_f32[op](y, &specials[i], 0, specials, 1, SPECIALS);
            for (int j = 0; j < SPECIALS; j++) {
                const double expected = ln_ref_binary((enum ln_binary)op, specials[i], specials[j]);
                CHECK(close_to(y[j], expected, op == LN_BINARY_POW ? 2.0 : 0.5), "%s(%g, %g) = %g, not %g",
                      binary_names[op], (double)specials[i], (double)specials[j], (double)y[j], expected);
            }
            ln_binary_f32[op](y, specials, 1, &specials[i], 0, SPECIALS);
            for (int j = 0; j < SPECIALS; j++) {
                const double expected = ln_ref_binary((enum ln_binary)op, specials[j], specials[i]);
                CHECK(close_to(y[j], expected, op == LN_BINARY_POW ? 2.0 : 0.5), "%s(%g, %g) = %g, not %g",
                      binary_names[op], (double)specials[j], (double)specials[i], (double)y[j], expected);
            }
        }
    }
}

static void test_power_accuracy(void) {
    enum { COUNT = 200000 };
    float *x = check_random_floats(COUNT), *y = check_random_floats(COUNT), *z = check_random_floats(COUNT);
    for (int i = 0; i < COUNT; i++) {
        x[i] = ldexpf(1.0f + fabsf(x[i]), (int)(check_random() % 250) - 125);
        y[i] = y[i] * 150.0f / (1.0f + fabsf(log2f(x[i])));
    }
    ln_binary_f32[LN_BINARY_POW](z, x, 1, y, 1, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const double expected = pow(x[i], y[i]);
        CHECK(close_to(z[i], expected, 1.5), "pow(%.9g, %.9g) = %.9g, not %.9g", (double)x[i], (double)y[i],
              (double)z[i], expected);
    }
    free(x);
    free(y);
    free(z);
}

static void test_integers(void) {
    const int64_t edge[] = {0, 1, -1, 2, 7, -3, INT32_MAX, INT32_MIN, 40};
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 9; j++) {
            const int32_t a = (int32_t)edge[i], b = (int32_t)edge[j];
            int32_t got[LN_BINARY_COUNT];
            int64_t wide[LN_BINARY_COUNT];
            for (int op = 0; op < LN_BINARY_COUNT; op++) {
                ln_binary_i32[op](&got[op], &a, 1, &b, 1, 1);
                ln_binary_i64[op](&wide[op], &edge[i], 0, &edge[j], 0, 1);
            }
            CHECK(got[LN_BINARY_ADD] == (int32_t)(uint32_t)(edge[i] + edge[j]), "i32 %d + %d", a, b);
            CHECK(got[LN_BINARY_SUB] == (int32_t)(uint32_t)(edge[i] - edge[j]), "i32 %d - %d", a, b);
            CHECK(got[LN_BINARY_MUL] == (int32_t)((uint32_t)a * (uint32_t)b), "i32 %d * %d", a, b);
            CHECK(got[LN_BINARY_DIV] == (b == 0 ? 0 : (int32_t)(uint32_t)(edge[i] / edge[j])), "i32 %d / %d",
                  a, b);
            CHECK(got[LN_BINARY_MAX] == (a > b ? a : b) && got[LN_BINARY_MIN] == (a < b ? a : b), "i32 %d %d",
                  a, b);
            CHECK(wide[LN_BINARY_ADD] == edge[i] + edge[j], "i64 %d + %d", a, b);
            CHECK(wide[LN_BINARY_DIV] == (b == 0 ? 0 : edge[i] / edge[j]), "i64 %d / %d", a, b);
            const double power = pow((double)edge[i], (double)edge[j]);
            if (fabs(power) < 1e15 && !(a == 0 && b < 0)) {
                CHECK(wide[LN_BINARY_POW] == (int64_t)power, "i64 %d ^ %d", a, b);
            }
        }
    }
    const int64_t lowest = INT64_MIN, minus_one = -1;
    int64_t quotient;
    ln_binary_i64[LN_BINARY_DIV](&quotient, &lowest, 1, &minus_one, 1, 1);
    CHECK(quotient == INT64_MIN, "the lowest i64 over -1");
}

/* The same comparison in every type: the values are small integers where the type has no fractions. */
static void compare_case(enum ln_compare op, size_t n, size_t a_stride, size_t b_stride) {
    const size_t a_count = a_stride ? n : 1, b_count = b_stride ? n : 1;
    float *a = mixed_floats(a_count, 2), *b = mixed_floats(b_count, 2);
    double *wide_a = check_alloc(a_count * 8), *wide_b = check_alloc(b_count * 8);
    int64_t *long_a = check_alloc(a_count * 8), *long_b = check_alloc(b_count * 8);
    int32_t *int_a = check_alloc(a_count * 4), *int_b = check_alloc(b_count * 4);
    uint8_t *y = check_alloc(4 * n);
    for (size_t i = 0; i < a_count; i++) {
        wide_a[i] = a[i];
        int_a[i] = (int32_t)(check_random() % 5) - 2;
        long_a[i] = (int64_t)int_a[i] * ((int64_t)1 << (check_random() % 2 * 40));
    }
    for (size_t i = 0; i < b_count; i++) {
        wide_b[i] = b[i];
        int_b[i] = (int32_t)(check_random() % 5) - 2;
        long_b[i] = (int64_t)int_b[i] * ((int64_t)1 << (check_random() % 2 * 40));
    }
    ln_compare_f32[op](y, a, a_stride, b, b_stride, n);
    ln_compare_f64[op](y + n, wide_a, a_stride, wide_b, b_stride, n);
    ln_compare_i32[op](y + 2 * n, int_a, a_stride, int_b, b_stride, n);
    ln_compare_i64[op](y + 3 * n, long_a, a_stride, long_b, b_stride, n);
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * a_stride, bt = i * b_stride;
        const double left[] = {a[at], wide_a[at], int_a[at], (double)long_a[at]};
        const double right[] = {b[bt], wide_b[bt], int_b[bt], (double)long_b[bt]};
        for (size_t type = 0; type < 4; type++) {
            CHECK(y[type * n + i] == ln_ref_compare(op, left[type], right[type]), "comparison %d of %g, %g",
                  op, left[type], right[type]);
        }
    }
    void *all[] = {a, b, wide_a, wide_b, long_a, long_b, int_a, int_b, y};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

static void test_compare(void) {
    for (int op = 0; op < LN_COMPARE_COUNT; op++) {
        for (size_t n = 0; n <= 40; n++) {
            for (int form = 0; form < 4; form++) {
                compare_case((enum ln_compare)op, n, form & 1, form >> 1 & 1);
            }
        }
    }
}

static void test_where(void) {
    for (size_t n = 0; n <= 40; n++) {
        for (int form = 0; form < 8; form++) {
            const size_t cs = form & 1, as = form >> 1 & 1, bs = form >> 2 & 1;
            for (size_t width_log2 = 0; width_log2 < 5; width_log2++) {
                const size_t width = (size_t)1 << width_log2;
                uint8_t *condition = check_alloc(cs ? n : 1), *a = check_alloc((as ? n : 1) * width);
                uint8_t *b = check_alloc((bs ? n : 1) * width), *y = check_alloc(n * width);
                for (size_t i = 0; i < (cs ? n : 1); i++) {
                    condition[i] = (uint8_t)(check_random() % 3);
                }
                memset(a, 0x55, (as ? n : 1) * width);
                memset(b, 0xaa, (bs ? n : 1) * width);
                ln_where[width_log2](y, condition, cs, a, as, b, bs, n);
                for (size_t i = 0; i < n * width; i++) {
                    CHECK(y[i] == (condition[i / width * cs] ? 0x55 : 0xaa), "where, width %zu, n %zu", width,
                          n);
                }
                free(condition);
                free(a);
                free(b);
                free(y);
            }
        }
    }
}

static const char *const reduce_names[] = {
#define NAME(upper, lower) #lower,
    LN_REDUCE_LIST(NAME)
#undef NAME
};

/* Sums are near in proportion to the sum of magnitudes. */
static int reduction_close(enum ln_reduce op, float got, double expected, const float *src, size_t n,
                           size_t stride) {
    double magnitudes = 0.0;
    for (size_t i = 0; i < n; i++) {
        magnitudes += fabs((double)src[i * stride]);
    }
    const double scale = op == LN_REDUCE_SUM    ? magnitudes
                         : op == LN_REDUCE_MEAN ? magnitudes / (double)(n + !n)
                                                : fabs(expected);
    const double tolerance = op == LN_REDUCE_MAX || op == LN_REDUCE_MIN ? 0.0
                             : op == LN_REDUCE_LOGSUM || op == LN_REDUCE_LOGSUMEXP
                                 ? 1e-6 * (fabs(expected) + 1.0)
                             : op == LN_REDUCE_PROD ? 1e-5 * scale
                                                    : 6e-7 * scale + 1e-44;
    if (fabs(expected) > 3.4e38) {
        return isinf(got) || isnan(got) || fabsf(got) > 3.3e38f;
    }
    return check_near(got, expected, tolerance);
}

static void reduce_case(enum ln_reduce op, size_t rows, size_t n, int with_specials) {
    float *x = mixed_floats(rows * n, with_specials ? 7 : 0);
    for (size_t i = 0; i < rows * n && (op == LN_REDUCE_LOGSUM || op == LN_REDUCE_PROD); i++) {
        x[i] = isfinite(x[i]) ? 0.9f + 0.02f * fabsf(fmodf(x[i], 8.0f)) : x[i];
    }
    for (size_t i = 0; i < rows * n; i++) {
        /* Sums of these in float overflow or vanish where double does not. */
        x[i] = isfinite(x[i]) && (fabsf(x[i]) > 1e9f || fabsf(x[i]) < 1e-9f) ? 7.0f : x[i];
    }
    check_guarded inner = check_guard(rows), outer = check_guard(n);
    ln_reduce_inner_f32[op](inner.floats, x, rows, n);
    for (size_t r = 0; r < rows; r++) {
        const double expected = ln_ref_reduce(op, x + r * n, n, 1);
        CHECK(reduction_close(op, inner.floats[r], expected, x + r * n, n, 1),
              "inner %s of %zu: %.9g, not %.9g", reduce_names[op], n, (double)inner.floats[r], expected);
    }
    ln_reduce_outer_f32[op](outer.floats, x, rows, n, n);
    for (size_t c = 0; c < n; c++) {
        const double expected = ln_ref_reduce(op, x + c, rows, n);
        CHECK(reduction_close(op, outer.floats[c], expected, x + c, rows, n),
              "outer %s of %zu: %.9g, not %.9g", reduce_names[op], rows, (double)outer.floats[c], expected);
    }
    /* A column's result does not depend on where the columns are cut. */
    for (size_t cut = 0; cut <= n && cut < 9; cut++) {
        float *parts = check_alloc(n * sizeof(float));
        ln_reduce_outer_f32[op](parts, x, rows, cut, n);
        ln_reduce_outer_f32[op](parts + cut, x + cut, rows, n - cut, n);
        CHECK(memcmp(parts, outer.floats, n * sizeof(float)) == 0, "outer %s cut at %zu of %zu",
              reduce_names[op], cut, n);
        free(parts);
    }
    CHECK(check_guards_hold(&inner) && check_guards_hold(&outer), "%s writes outside", reduce_names[op]);
    free(inner.memory);
    free(outer.memory);
    free(x);
}

static void test_reduce(void) {
    for (int op = 0; op < LN_REDUCE_COUNT; op++) {
        for (size_t n = 0; n <= 40; n++) {
            reduce_case((enum ln_reduce)op, n % 7, n, 0);
            reduce_case((enum ln_reduce)op, n, 1 + n % 5, n & 1);
            reduce_case((enum ln_reduce)op, 3, n, 1);
        }
        reduce_case((enum ln_reduce)op, 3, 1000, 0);
        reduce_case((enum ln_reduce)op, 300, 70, 0);
        if (op != LN_REDUCE_PROD) {
            reduce_case((enum ln_reduce)op, 1, 100003, 0);
            reduce_case((enum ln_reduce)op, 100003, 1, 0);
        }
    }
    float low, high;
    const float few[] = {3.0f, -2.0f, 5.0f};
    ln_min_max_f32(few, 3, &low, &high);
    CHECK(low == -2.0f && high == 5.0f, "min %g max %g", (double)low, (double)high);
    for (size_t n = 0; n < 70; n++) {
        float *x = mixed_floats(n, n % 3 ? 0 : 9);
        ln_min_max_f32(x, n, &low, &high);
        CHECK(check_near(low, ln_ref_reduce(LN_REDUCE_MIN, x, n, 1), 0.0) &&
                  check_near(high, ln_ref_reduce(LN_REDUCE_MAX, x, n, 1), 0.0),
              "min %g max %g of %zu", (double)low, (double)high, n);
        free(x);
    }
}

static void test_arg(void) {
    for (size_t n = 1; n <= 40; n++) {
        for (int form = 0; form < 8; form++) {
            const size_t rows = 1 + n % 6;
            float *x = mixed_floats(rows * n, 9);
            for (size_t i = 0; i < rows * n; i++) {
                x[i] = rintf(x[i] / 3.0f);
                x[i] = isnan(x[i]) && form >= 4 ? 0.0f : x[i];
            }
            int64_t inner[8], outer[40];
            ln_arg_inner_f32(inner, x, rows, n, form & 1 ? LN_ARG_MIN : LN_ARG_MAX, form >> 1 & 1);
            ln_arg_outer_f32(outer, x, rows, n, n, form & 1 ? LN_ARG_MIN : LN_ARG_MAX, form >> 1 & 1);
            for (size_t r = 0; r < rows; r++) {
                const int64_t expected =
                    ln_ref_arg(x + r * n, n, 1, form & 1 ? LN_ARG_MIN : LN_ARG_MAX, form >> 1 & 1);
                CHECK(inner[r] == expected, "inner arg, n %zu form %d: %d, not %d", n, form, (int)inner[r],
                      (int)expected);
            }
            for (size_t c = 0; c < n; c++) {
                const int64_t expected =
                    ln_ref_arg(x + c, rows, n, form & 1 ? LN_ARG_MIN : LN_ARG_MAX, form >> 1 & 1);
                CHECK(outer[c] == expected, "outer arg, rows %zu form %d: %d, not %d", rows, form,
                      (int)outer[c], (int)expected);
            }
            free(x);
        }
    }
}

static void softmax_row_case(size_t rows, size_t n, float scale, int mask_form, int log_form) {
    float *x = mixed_floats(rows * n, 0), *mask = mask_form ? mixed_floats(rows * n, 0) : NULL;
    for (size_t i = 0; mask != NULL && i < rows * n; i += 3) {
        mask[i] = i % 2 && n > 3 ? -INFINITY : mask[i];
    }
    check_guarded out = check_guard(rows * n);
    double *expected = check_alloc(n * sizeof(double));
    const size_t mask_stride = mask_form == 2 ? n : 0;
    if (log_form) {
        ln_log_softmax_rows_f32(out.floats, x, rows, n);
    } else {
        ln_softmax_rows_f32(out.floats, x, rows, n, scale, mask, mask_stride);
    }
    for (size_t r = 0; r < rows; r++) {
        ln_ref_softmax(expected, x + r * n, n, 1, scale, mask ? mask + r * mask_stride : NULL, log_form);
        for (size_t i = 0; i < n; i++) {
            const double tolerance = log_form ? 2e-6 * (1.0 + fabs(expected[i])) : 1e-6 * expected[i] + 1e-38;
            CHECK(check_near(out.floats[r * n + i], expected[i], isnan(tolerance) ? 0 : tolerance * 4.0),
                  "softmax n %zu at %zu: %.9g, not %.9g", n, i, (double)out.floats[r * n + i], expected[i]);
        }
    }
    if (!log_form) {
        ln_softmax_rows_f32(x, x, rows, n, scale, mask, mask_stride);
        CHECK(memcmp(x, out.floats, rows * n * sizeof(float)) == 0, "softmax in place, n %zu", n);
    }
    CHECK(check_guards_hold(&out), "softmax writes outside, n %zu", n);
    free(expected);
    free(out.memory);
    free(mask);
    free(x);
}

static void softmax_column_case(size_t n, size_t columns, int log_form) {
    const size_t stride = columns + 3;
    float *x = mixed_floats(n * stride, 0);
    check_guarded out = check_guard(n * stride);
    double *expected = check_alloc((n * stride + 1) * sizeof(double));
    void (*run)(float *, const float *, size_t, size_t, size_t) =
        log_form ? ln_log_softmax_columns_f32 : ln_softmax_columns_f32;
    run(out.floats, x, n, columns, stride);
    for (size_t c = 0; c < columns; c++) {
        ln_ref_softmax(expected + c, x + c, n, stride, 1.0, NULL, log_form);
    }
    for (size_t i = 0; i < n * stride; i++) {
        if (i % stride >= columns) {
            CHECK(check_untouched(out.floats[i]), "softmax writes between columns");
            continue;
        }
        const double tolerance = log_form ? 4e-6 * (1.0 + fabs(expected[i])) : 4e-6 * expected[i] + 1e-38;
        CHECK(check_near(out.floats[i], expected[i], tolerance), "column softmax %zu x %zu: %.9g, not %.9g",
              n, columns, (double)out.floats[i], expected[i]);
    }
    for (size_t cut = 0; cut <= columns && cut < 6; cut++) {
        float *parts = check_alloc(n * stride * sizeof(float));
        memcpy(parts, x, n * stride * sizeof(float));
        run(parts, parts, n, cut, stride);
        run(parts + cut, parts + cut, n, columns - cut, stride);
        for (size_t i = 0; i < n * stride; i++) {
            CHECK(i % stride >= columns || parts[i] == out.floats[i], "column softmax cut at %zu", cut);
        }
        free(parts);
    }
    free(expected);
    free(out.memory);
    free(x);
}

static void test_softmax(void) {
    for (size_t n = 0; n <= 40; n++) {
        for (int mask_form = 0; mask_form < 3; mask_form++) {
            softmax_row_case(3, n, mask_form == 1 ? 1.0f : 0.125f, mask_form, 0);
        }
        softmax_row_case(2, n, 1.0f, 0, 0);
        softmax_row_case(2, n, -2.0f, 0, 0);
        softmax_row_case(3, n, 1.0f, 0, 1);
        softmax_column_case(n, 1 + n % 9, 0);
        softmax_column_case(1 + n % 9, n, 1);
    }
    softmax_row_case(1, 5000, 1.0f, 0, 0);
    softmax_row_case(1, 5000, 1.0f, 0, 1);
    softmax_column_case(150, 131, 0);
    softmax_column_case(70, 67, 1);

    const float odd[2][4] = {{-INFINITY, -INFINITY, -INFINITY, -INFINITY}, {1.0f, NAN, 2.0f, 3.0f}};
    float y[2][4];
    ln_softmax_rows_f32(y[0], odd[0], 2, 4, 1.0f, NULL, 0);
    for (int i = 0; i < 8; i++) {
        CHECK(isnan(y[i / 4][i % 4]), "softmax of -inf or NaN is %g", (double)y[i / 4][i % 4]);
    }
}

/* What rounding the mean costs a row of two or three elements that are nearly equal. */
static double spread_loss(const float *x, size_t n) {
    float low, high;
    ln_min_max_f32(x, n, &low, &high);
    return 1e-7 * fmax(fabs((double)low), fabs((double)high)) / (fabs((double)high - (double)low) + 1e-3);
}

static void norm_case(size_t rows, size_t n, int form, float offset) {
    float *x = check_random_floats(rows * n), *skip = check_random_floats(rows * n),
          *bias = check_random_floats(n);
    float *gamma = form & 1 ? check_random_floats(n) : NULL, *beta = form & 2 ? check_random_floats(n) : NULL;
    for (size_t i = 0; i < rows * n; i++) {
        x[i] += offset;
    }
    check_guarded out = check_guard(rows * n), sums = check_guard(rows * n);
    double *expected = check_alloc((n + 1) * sizeof(double));
    float *source = x;
    if (form & 4) {
        for (size_t i = 0; i < rows * n; i++) {
            skip[i] = x[i] - skip[i]; /* so that x + skip is not random about zero */
        }
        float *sum = form & 8 ? sums.floats : NULL;
        ln_skip_layer_norm_rows_f32(out.floats, sum, x, skip, bias, rows, n, gamma, beta, 1e-5f, NULL, NULL);
        for (size_t i = 0; i < rows * n; i++) {
            x[i] = x[i] + skip[i] + bias[i % n];
            CHECK(sum == NULL || sum[i] == x[i], "the sum of skip layer norm");
        }
    } else {
        ln_layer_norm_rows_f32(out.floats, x, rows, n, gamma, beta, 1e-5f, NULL, NULL);
    }
    for (size_t r = 0; r < rows; r++) {
        ln_ref_norm(expected, source + r * n, n, gamma, beta, (double)1e-5f, 0);
        for (size_t i = 0; i < n; i++) {
            const double tolerance =
                4e-6 + 1e-5 * fabs((double)offset) / 100.0 + spread_loss(source + r * n, n);
            CHECK(check_near(out.floats[r * n + i], expected[i], tolerance),
                  "layer norm n %zu: %.9g, not %.9g", n, (double)out.floats[r * n + i], expected[i]);
        }
        float inv_std;
        ln_rms_norm_rows_f32(sums.floats, x + r * n, 1, n, gamma, 1e-5f, &inv_std);
        ln_ref_norm(expected, x + r * n, n, gamma, NULL, (double)1e-5f, 1);
        for (size_t i = 0; i < n; i++) {
            CHECK(check_near(sums.floats[i], expected[i], 4e-6), "RMS norm n %zu: %.9g, not %.9g", n,
                  (double)sums.floats[i], expected[i]);
        }
    }
    CHECK(check_guards_hold(&out) && check_guards_hold(&sums), "norm n %zu writes outside", n);
    free(expected);
    free(out.memory);
    free(sums.memory);
    free(beta);
    free(gamma);
    free(bias);
    free(skip);
    free(x);
}

static void test_norm(void) {
    for (size_t n = 1; n <= 40; n++) {
        for (int form = 0; form < 16; form++) {
            norm_case(1 + n % 3, n, form, 0.0f);
        }
    }
    norm_case(2, 2000, 3, 1000.0f);
    norm_case(2, 512, 7, 10.0f);

    float x[40], y[40], scale[8], shift[8];
    for (int i = 0; i < 40; i++) {
        x[i] = check_random_float();
        scale[i % 8] = check_random_float();
        shift[i % 8] = check_random_float();
    }
    for (size_t n = 0; n <= 8; n++) {
        ln_scale_shift_rows_f32(y, x, 5, n, scale, n & 1 ? shift : NULL);
        for (size_t i = 0; i < 5 * n; i++) {
            const double expected = (double)x[i] * scale[i % n] + (n & 1 ? shift[i % n] : 0.0);
            CHECK(check_near(y[i], expected, 2e-7), "scale and shift of rows");
        }
        ln_normalize_plane_f32(y, x, 5 * n, 0.5f, 3.0f, -1.0f);
        for (size_t i = 0; i < 5 * n; i++) {
            CHECK(check_near(y[i], ((double)x[i] - 0.5) * 3.0 - 1.0, 1e-6), "a normalised plane");
        }
    }
}

static void test_sums_of_products(void) {
    for (size_t n = 0; n <= 40; n++) {
        float *a = check_random_floats(n), *b = check_random_floats(n);
        double dot = 0.0;
        float *y = check_alloc(n * sizeof(float));
        memcpy(y, b, n * sizeof(float));
        ln_axpy_f32(y, a, n, 0.75f);
        for (size_t i = 0; i < n; i++) {
            dot += (double)a[i] * b[i];
            CHECK(check_near(y[i], b[i] + 0.75 * (double)a[i], 2e-7), "axpy n %zu", n);
        }
        CHECK(check_near(ln_dot_f32(a, b, n), dot, 1e-6), "dot n %zu", n);
        free(a);
        free(b);
        free(y);
    }
}

int main(void) {
    test_binary();
    test_power_accuracy();
    test_integers();
    test_compare();
    test_where();
    test_reduce();
    test_arg();
    test_softmax();
    test_norm();
    test_sums_of_products();
    return check_report();
}
