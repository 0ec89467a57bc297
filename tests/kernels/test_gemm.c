/*
 * The f32 GEMM against its scalar twin: every small size, the ways A and B may lie in memory, every form of
 * bias, residual and activation, sizes that cross blocks and tasks, NaN, and that no byte outside C changes.
 */
#include "../../simd/ref/kernels_ref.h"
#include "check.h"

typedef struct gemm_case {
    size_t m, n, k;
    bool a_transposed, b_transposed, b_is_packed;
    int bias; /* 0 none, 1 per column, 2 per row, 3 one number, 4 a whole matrix */
    bool residual, residual_last;
    float alpha, beta;
    ln_activation_f32 activation;
    float poison; /* when not 0, some elements of A become this */
    bool halved;  /* by ln_strassen_f32, where this build has it */
    size_t lone;  /* when not 0, the only element that is poisoned: of A, or past its end of B */
} gemm_case;

enum { ROW_GAP = 3 }; /* elements between the rows of C */

static void run_tasks(const ln_gemm_f32_args *args) {
    const size_t tasks = ln_gemm_f32.task_count(args);
    const size_t bytes = ln_gemm_f32.scratch_bytes(args);
    for (size_t t = tasks; t-- > 0;) { /* any order will do */
        void *scratch = check_alloc(bytes);
        memset(scratch, 0xff, bytes); /* NaN everywhere: nothing may lean on what scratch held */
        ln_gemm_f32.task(args, t, scratch);
        free(scratch);
    }
}

/* Every task of sums in any order, then every task of the product. */
static void run_halved_tasks(const ln_gemm_f32_args *args) {
    const size_t bytes = ln_strassen_f32.scratch_bytes(args);
    float *sums = check_alloc(ln_strassen_f32.sum_count(args) * sizeof(float));
    for (size_t t = ln_strassen_f32.sum_tasks(args); t-- > 0;) {
        ln_strassen_f32.sum_task(args, sums, t);
    }
    for (size_t t = ln_strassen_f32.task_count(args); t-- > 0;) {
        void *scratch = check_alloc(bytes);
        memset(scratch, 0xff, bytes);
        ln_strassen_f32.task(args, sums, t, scratch);
        free(scratch);
    }
    free(sums);
}

static void compare(const gemm_case *test, const check_guarded *c, const float *expected, size_t c_stride) {
    size_t wrong = 0, gaps = 0;
    double worst = 0.0;
    const double tolerance = 1e-6 * (4.0 + (double)test->k);
    for (size_t i = 0; i < test->m; i++) {
        for (size_t j = 0; j < c_stride && i * c_stride + j < c->count; j++) {
            const float got = c->floats[i * c_stride + j];
            if (j >= test->n) {
                gaps += !check_untouched(got);
            } else if (!check_near((double)got, (double)expected[i * c_stride + j], tolerance)) {
                wrong++;
                worst = fmax(worst, fabs((double)got - (double)expected[i * c_stride + j]));
            }
        }
    }
    CHECK(wrong == 0 && gaps == 0 && check_guards_hold(c),
          "m %zu n %zu k %zu at %d bt %d packed %d bias %d residual %d/%d act %d/%d: %zu wrong by up to %g, "
          "%zu gaps written",
          test->m, test->n, test->k, test->a_transposed, test->b_transposed, test->b_is_packed, test->bias,
          test->residual, test->residual_last, test->activation.present, (int)test->activation.kind, wrong,
          worst, gaps);
}

static void run_case(const gemm_case *test) {
    const size_t m = test->m, n = test->n, k = test->k, c_stride = n + ROW_GAP;
    const size_t c_count = m == 0 ? 0 : (m - 1) * c_stride + n;
    float *a = check_random_floats(m * k);
    float *b = check_random_floats(k * n);
    float *bias = check_random_floats(test->bias == 4   ? m * n
                                      : test->bias == 2 ? m
                                      : test->bias == 1 ? n
                                                        : 1);
    float *residual = check_random_floats(m * n);
    for (size_t i = 0; i < m * k && test->poison != 0.0f && test->lone == 0; i += 7) {
        a[i] = test->poison;
    }
    if (test->lone != 0) {
        *(test->lone < m * k ? a + test->lone : b + (test->lone - m * k)) = test->poison;
    }
    check_guarded c = check_guard(c_count);
    check_guarded expected = check_guard(c_count);
    ln_gemm_f32_args args = {
        .m = m,
        .n = n,
        .k = k,
        .a = a,
        .a_row_stride = test->a_transposed ? 1 : k,
        .a_col_stride = test->a_transposed ? m : 1,
        .b = b,
        .b_row_stride = test->b_transposed ? 1 : n,
        .b_col_stride = test->b_transposed ? k : 1,
        .c = expected.floats,
        .c_row_stride = c_stride,
        .alpha = test->alpha,
        .beta = test->beta,
        .bias = test->bias == 0 ? NULL : bias,
        .bias_row_stride = test->bias == 4   ? n
                           : test->bias == 2 ? 1
                                             : 0,
        .bias_col_stride = test->bias == 4 || test->bias == 1 ? 1 : 0,
        .residual = test->residual ? residual : NULL,
        .residual_row_stride = n,
        .residual_last = test->residual_last,
        .activation = test->activation,
    };
    ln_ref_gemm_f32(&args);
    float *packed = NULL;
    if (test->b_is_packed) {
        packed = check_alloc(ln_gemm_f32.packed_b_bytes(k, n));
        ln_gemm_f32.pack_b(packed, b, args.b_row_stride, args.b_col_stride, k, n);
        args.b = packed;
        args.b_is_packed = true;
    }
    args.c = c.floats;
    if (test->halved && ln_strassen_f32.applies(&args)) {
        run_halved_tasks(&args);
    } else {
        run_tasks(&args);
    }
    compare(test, &c, expected.floats, c_stride);
    free(a), free(b), free(bias), free(residual), free(packed), free(c.memory), free(expected.memory);
}

static gemm_case sized(size_t m, size_t n, size_t k) {
    return (gemm_case){.m = m, .n = n, .k = k, .alpha = 1.0f, .beta = 1.0f};
}

/* A size in every layout of A and B. */
static void run_layouts(gemm_case test) {
    for (int layout = 0; layout < 8; layout++) {
        test.a_transposed = (layout & 1) != 0;
        test.b_transposed = (layout & 2) != 0;
        test.b_is_packed = (layout & 4) != 0;
        run_case(&test);
    }
}

static void test_small_sizes(void) {
    for (size_t m = 0; m <= 20; m++) {
        for (size_t n = 0; n <= 20; n++) {
            for (size_t k = 0; k <= 20; k += m > 7 && n > 9 ? 2 : 1) {
                gemm_case test = sized(m, n, k);
                test.bias = (int)((m + n + k) % 5);
                run_layouts(test);
            }
        }
    }
}

static void test_large_sizes(void) {
    static const size_t sizes[][3] = {
        {1, 33, 1100}, {2, 100, 2049}, {3, 70, 1025},  {7, 1000, 64},   {64, 64, 64},     {65, 129, 257},
        {1, 3000, 40}, {100, 9, 1500}, {200, 320, 20}, {13, 520, 1030}, {131, 200, 1300}, {1, 1, 5000},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gemm_case test = sized(sizes[i][0], sizes[i][1], sizes[i][2]);
        test.bias = (int)(i % 5);
        run_layouts(test);
    }
}

static void test_epilogues(void) {
    static const ln_activation_f32 activations[] = {
        {.present = false},
        {.present = true, .kind = LN_UNARY_RELU},
        {.present = true, .kind = LN_UNARY_CLIP, .alpha = -0.25f, .beta = 0.5f},
        {.present = true, .kind = LN_UNARY_LEAKY_RELU, .alpha = 0.1f},
        {.present = true, .kind = LN_UNARY_SIGMOID},
        {.present = true, .kind = LN_UNARY_TANH},
        {.present = true, .kind = LN_UNARY_GELU},
        {.present = true, .kind = LN_UNARY_SILU, .alpha = 1.0f},
        {.present = true, .kind = LN_UNARY_HARDSWISH},
    };
    static const size_t sizes[][3] = {{1, 45, 9}, {2, 19, 30}, {3, 5, 1030}, {12, 29, 1030}, {6, 8, 0}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
            for (int form = 0; form < 20; form++) {
                gemm_case test = sized(sizes[s][0], sizes[s][1], sizes[s][2]);
                test.activation = activations[i];
                test.bias = form % 5;
                test.residual = form / 5 % 4 > 0;
                test.residual_last = form / 5 % 4 > 1;
                test.alpha = 0.75f;
                test.beta = form % 2 != 0 ? -1.5f : 1.0f;
                test.b_is_packed = form % 3 != 0;
                test.b_transposed = form % 4 == 3;
                run_case(&test);
            }
        }
    }
}

static void test_not_finite(void) {
    for (int i = 0; i < 8; i++) {
        gemm_case test = sized((size_t)i + 1, 21, 15);
        test.poison = i % 2 != 0 ? INFINITY : NAN;
        test.activation =
            (ln_activation_f32){.present = true, .kind = i % 4 < 2 ? LN_UNARY_RELU : LN_UNARY_CLIP};
        test.activation.beta = 6.0f;
        run_layouts(test);
    }
}

static void test_overflow(void) {
    CHECK(ln_gemm_f32.packed_b_bytes(SIZE_MAX / 8, 64) == SIZE_MAX, "the size wraps around");
}

/*
 * Strassen's scheme: an odd depth, an odd number of rows, blocks of k, chunks of rows, a last task of fewer panels;
 * and one element that is not finite, or very large, in A or B, of which no other row or column may hear.
 */
static void test_halved(void) {
    static const size_t sizes[][3] = {{96, 128, 640}, {101, 144, 642}, {200, 272, 1100}, {197, 128, 2050}};
    static const float poisons[] = {0.0f, NAN, INFINITY, 1e36f};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int i = 0; i < 8; i++) {
            gemm_case test = sized(sizes[s][0], sizes[s][1], sizes[s][2]);
            test.halved = test.b_is_packed = true;
            test.bias = i % 5;
            test.activation = (ln_activation_f32){.present = i % 4 != 0,
                                                  .kind = i % 4 == 1 ? LN_UNARY_RELU : LN_UNARY_TANH};
            test.poison = poisons[i / 2];
            test.lone = i < 2 ? 0 : i % 2 != 0 ? test.m * test.k / 3 : test.m * test.k + test.k * test.n / 3;
            run_case(&test);
        }
    }
}

/* An A with an element far above the others is summed plainly, to the bit; an ordinary one is not. */
static void test_outlier(void) {
    enum { M = 96, N = 128, K = 640 };
    float *a = check_random_floats(M * K);
    float *b = check_random_floats(K * N);
    float *packed = check_alloc(ln_gemm_f32.packed_b_bytes(K, N));
    float *plain = check_alloc(M * N * sizeof(float)), *halved = check_alloc(M * N * sizeof(float));
    ln_gemm_f32.pack_b(packed, b, N, 1, K, N);
    ln_gemm_f32_args args = {
        .m = M, .n = N, .k = K, .a = a, .a_row_stride = K, .a_col_stride = 1, .b = packed};
    args.c_row_stride = N;
    args.alpha = args.beta = 1.0f;
    args.b_is_packed = true;
    for (int outlier = 0; outlier < 2 && ln_strassen_f32.applies(&args); outlier++) {
        a[K * 7 + 3] = a[K * 60 + 3] = outlier != 0 ? 1e4f : 1.0f; /* the two cancel in the sums */
        args.c = plain;
        run_tasks(&args);
        args.c = halved;
        run_halved_tasks(&args);
        const bool same = memcmp(plain, halved, M * N * sizeof(float)) == 0;
        CHECK(same == (outlier != 0), "outlier %d", outlier);
    }
    free(a), free(b), free(packed), free(plain), free(halved);
}

/* What the scheme must leave alone. */
static void test_not_halved(void) {
    ln_gemm_f32_args args = {.m = 128, .n = 768, .k = 768, .a_row_stride = 768, .a_col_stride = 1};
    args.alpha = args.beta = 1.0f;
    args.b_is_packed = true;
    const bool built = ln_strassen_f32.applies(&args);
    CHECK(built == (strstr(ln_gemm_f32.name, "relaxed") != NULL), "a large product is %s",
          built ? "halved" : "plain");
    float residual = 0.0f;
    for (int i = 0; i < 8; i++) {
        ln_gemm_f32_args other = args;
        other.b_is_packed = i != 0;
        other.alpha = i == 1 ? 2.0f : 1.0f;
        other.beta = i == 2 ? 0.0f : 1.0f;
        other.residual = i == 3 ? &residual : NULL;
        other.a_col_stride = i == 4 ? 128 : 1;
        other.m = i == 5 ? 16 : 128;
        other.k = i == 6 ? 767 : 768;
        other.n = i == 7 ? 760 : 768;
        CHECK(!ln_strassen_f32.applies(&other), "form %d is taken", i);
    }
}

int main(void) {
    test_halved();
    test_outlier();
    test_not_halved();
    test_small_sizes();
    test_large_sizes();
    test_epilogues();
    test_not_finite();
    test_overflow();
    return check_report();
}
