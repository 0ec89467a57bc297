/*
 * Convolutions against their scalar twin: kernels, strides, dilations, pads (negative ones too), groups and
 * ranks in random combination, planes that do not divide into tiles, sizes that cross passes and tasks,
 * every epilogue, NaN, and that no byte outside the output changes. Which route a shape takes is checked
 * too.
 */
#include "../../simd/ref/kernels_ref.h"
#include "check.h"

typedef struct conv_case {
    ln_conv_shape shape;
    bool transposed, winograd;
    bool bias, residual, residual_last;
    ln_activation_f32 activation;
    bool poison; /* some inputs are not finite */
} conv_case;

static size_t product(const size_t *sizes, size_t count) {
    size_t result = 1;
    for (size_t i = 0; i < count; i++) {
        result *= sizes[i];
    }
    return result;
}

static const ln_conv_f32_route *route_of(const conv_case *test) {
    if (test->winograd) {
        return ln_conv_f32_winograd_for(&test->shape);
    }
    return test->transposed ? ln_conv_transpose_f32_route_for(&test->shape)
                            : ln_conv_f32_route_for(&test->shape);
}

static void run_tasks(const conv_case *test, ln_conv_f32_args *args, const float *w) {
    const ln_conv_f32_route *route = route_of(test);
    float *packed = check_alloc(route->packed_bytes(&test->shape));
    ln_conv_f32_plan plan;
    route->pack(&test->shape, packed, w);
    ln_conv_f32_plan_init(&plan, route, &test->shape);
    args->w_packed = packed;
    for (size_t t = plan.task_count; t-- > 0;) {
        void *scratch = check_alloc(plan.scratch_bytes);
        memset(scratch, 0xff, plan.scratch_bytes);
        route->task(&plan, args, t, scratch);
        free(scratch);
    }
    free(packed);
}

static void describe(const conv_case *test, size_t wrong, double worst) {
    const ln_conv_shape *s = &test->shape;
    printf("  %s batch %zu channels %zu -> %zu groups %zu, %zu wrong by up to %g:", route_of(test)->name,
           s->batch, s->in_channels, s->out_channels, s->groups, wrong, worst);
    for (size_t i = 0; i < s->rank; i++) {
        printf(" [in %zu out %zu kernel %zu stride %zu dilation %zu pad %td]", s->in[i], s->out[i],
               s->kernel[i], s->stride[i], s->dilation[i], s->pad[i]);
    }
    printf("\n");
}

static void run_case(const conv_case *test) {
    const ln_conv_shape *s = &test->shape;
    const size_t in_count = s->batch * s->in_channels * product(s->in, s->rank);
    const size_t out_count = s->batch * s->out_channels * product(s->out, s->rank);
    const size_t fan_in = s->in_channels / s->groups * product(s->kernel, s->rank);
    const size_t w_count = (test->transposed ? s->in_channels * (s->out_channels / s->groups)
                                             : s->out_channels * (s->in_channels / s->groups)) *
                           product(s->kernel, s->rank);
    float *x = check_random_floats(in_count), *w = check_random_floats(w_count);
    float *bias = check_random_floats(s->out_channels), *residual = check_random_floats(out_count);
    for (size_t i = 3; test->poison && i < in_count; i += 41) {
        x[i] = i % 2 != 0 ? NAN : INFINITY;
    }
    check_guarded y = check_guard(out_count), expected = check_guard(out_count);
    ln_conv_f32_args args = {.x = x, .w_packed = w, .y = expected.floats};
    args.bias = test->bias ? bias : NULL;
    args.residual = test->residual ? residual : NULL;
    args.residual_last = test->residual_last;
    args.activation = test->activation;
    (test->transposed ? ln_ref_conv_transpose_f32 : ln_ref_conv_f32)(s, &args);
    args.y = y.floats;
    run_tasks(test, &args, w);
    size_t wrong = 0;
    double worst = 0.0;
    const double tolerance = (test->winograd ? 3e-6 : 6e-7) * (4.0 + (double)fan_in);
    for (size_t i = 0; i < out_count; i++) {
        if (!check_near((double)y.floats[i], (double)expected.floats[i], tolerance)) {
            wrong++;
            worst = fmax(worst, fabs((double)y.floats[i] - (double)expected.floats[i]));
        }
    }
    const bool good = wrong == 0 && check_guards_hold(&y);
    CHECK(good, "convolution");
    if (!good && check_failed <= CHECK_DESCRIBED) {
        describe(test, wrong, worst);
    }
    free(x), free(w), free(bias), free(residual), free(y.memory), free(expected.memory);
}

/* Sets `out` from the rest and a pad at the end; false when there would be no output. */
static bool set_out(ln_conv_shape *s, size_t axis, ptrdiff_t pad_end, bool transposed) {
    const ptrdiff_t reach = (ptrdiff_t)((s->kernel[axis] - 1) * s->dilation[axis] + 1);
    const ptrdiff_t in = (ptrdiff_t)s->in[axis], stride = (ptrdiff_t)s->stride[axis];
    const ptrdiff_t pads = s->pad[axis] + pad_end;
    const ptrdiff_t out = transposed ? (in - 1) * stride + reach - pads : (in + pads - reach) / stride + 1;
    if (out <= 0 || (!transposed && in + pads < reach)) {
        return false;
    }
    s->out[axis] = (size_t)out;
    return true;
}

static size_t pick(size_t low, size_t high) {
    return low + check_random() % (high - low + 1);
}

static ln_activation_f32 pick_activation(void) {
    static const ln_activation_f32 activations[] = {
        {.present = false},
        {.present = true, .kind = LN_UNARY_RELU},
        {.present = true, .kind = LN_UNARY_CLIP, .alpha = 0.0f, .beta = 6.0f},
        {.present = true, .kind = LN_UNARY_SILU, .alpha = 1.0f},
        {.present = true, .kind = LN_UNARY_LEAKY_RELU, .alpha = 0.1f},
    };
    return activations[pick(0, 4)];
}

static conv_case pick_case(size_t rank, size_t largest, bool transposed) {
    conv_case test = {.shape = {.rank = rank}, .transposed = transposed};
    ln_conv_shape *s = &test.shape;
    for (;;) {
        s->batch = pick(1, 2);
        s->groups = pick(0, 3) == 0 ? pick(2, 4) : 1;
        s->in_channels = s->groups * pick(1, 9);
        s->out_channels = s->groups * pick(1, 14);
        bool fits = true;
        for (size_t i = 0; i < rank && fits; i++) {
            s->in[i] = pick(1, largest);
            s->kernel[i] = pick(1, 4);
            s->stride[i] = pick(0, 1) == 0 ? 1 : pick(1, 3);
            s->dilation[i] = pick(0, 2) == 0 ? pick(2, 3) : 1;
            s->pad[i] = (ptrdiff_t)pick(0, 5) - 2;
            fits = set_out(s, i, (ptrdiff_t)pick(0, 4) - 1, transposed);
        }
        if (fits) {
            break;
        }
    }
    test.bias = pick(0, 1) != 0;
    test.residual = pick(0, 2) == 0;
    test.residual_last = pick(0, 1) != 0;
    test.activation = pick_activation();
    test.poison = pick(0, 5) == 0;
    return test;
}

static void test_random(bool transposed, int scale) {
    for (int i = 0; i < 60 * scale; i++) {
        const conv_case one = pick_case(1, 70, transposed), two = pick_case(2, 20, transposed);
        const conv_case three = pick_case(3, 6, transposed), four = pick_case(4, 3, transposed);
        run_case(&one);
        run_case(&two);
        run_case(&two);
        if (i % 4 == 0) {
            run_case(&three);
            run_case(&four);
        }
    }
}

/* A square 2-D case; the pad is the usual half of the kernel. */
static conv_case square(size_t in_channels, size_t out_channels, size_t groups, size_t size, size_t kernel,
                        size_t stride) {
    conv_case test = {.bias = true};
    ln_conv_shape *s = &test.shape;
    *s = (ln_conv_shape){.rank = 2, .batch = 1, .groups = groups};
    s->in_channels = in_channels;
    s->out_channels = out_channels;
    for (size_t i = 0; i < 2; i++) {
        s->in[i] = size;
        s->kernel[i] = kernel;
        s->stride[i] = stride;
        s->dilation[i] = 1;
        s->pad[i] = (ptrdiff_t)(kernel / 2);
        set_out(s, i, s->pad[i], false);
    }
    test.activation = (ln_activation_f32){.present = true, .kind = LN_UNARY_RELU};
    return test;
}

/* Shapes that cross passes over the depth and split into many tasks. */
static void test_large(void) {
    const conv_case cases[] = {
        square(3, 16, 1, 64, 7, 2),   square(96, 40, 1, 14, 3, 1),  square(300, 70, 1, 7, 1, 1),
        square(24, 48, 1, 56, 1, 1),  square(16, 100, 1, 40, 3, 1), square(64, 64, 16, 9, 3, 1),
        square(128, 12, 1, 10, 5, 1), square(7, 3, 1, 120, 3, 1),   square(700, 20, 1, 5, 3, 1),
        square(32, 80, 1, 20, 1, 2),  square(2, 1, 1, 33, 31, 1),   square(64, 64, 32, 31, 3, 1),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_case(&cases[i]);
    }
}

static void test_repack(size_t kernel) {
    const conv_case test = square(17, 23, 1, 20, kernel, 1);
    const ln_conv_f32_route *route = ln_conv_f32_winograd_for(&test.shape);
    const ln_conv_f32_route *plain = ln_conv_f32_route_for(&test.shape);
    const size_t bytes = route->packed_bytes(&test.shape);
    float *w = check_random_floats((size_t)17 * 23 * kernel * kernel),
          *packed = check_alloc(plain->packed_bytes(&test.shape));
    float *expected = check_alloc(bytes), *got = check_alloc(bytes);
    plain->pack(&test.shape, packed, w);
    route->pack(&test.shape, expected, w);
    route->repack(&test.shape, got, packed);
    CHECK(memcmp(expected, got, bytes) == 0, "the packing depends on where the weights come from");
    free(w), free(packed), free(expected), free(got);
}

/* Winograd: images that do not divide into tiles, and more channels than a task takes. */
static void test_winograd(void) {
    for (int i = 0; i < 60; i++) {
        conv_case test = square(16, 16, 1, 12, 3, 1);
        ln_conv_shape *s = &test.shape;
        s->batch = pick(1, 2);
        s->in_channels = pick(16, 40);
        s->out_channels = pick(16, i % 6 == 0 ? 120 : 40);
        for (size_t axis = 0; axis < 2; axis++) {
            s->in[axis] = pick(12, i % 5 == 0 ? 60 : 26);
            s->pad[axis] = (ptrdiff_t)pick(0, 3) - 1;
            set_out(s, axis, (ptrdiff_t)pick(0, 3) - 1, false);
        }
        test.winograd = ln_conv_f32_winograd_for(s) != NULL;
        test.residual = pick(0, 1) != 0;
        test.residual_last = pick(0, 1) != 0;
        test.activation = pick_activation();
        run_case(&test);
    }
    test_repack(3);
    const conv_case strided = square(32, 32, 1, 20, 3, 2), small = square(32, 32, 1, 3, 3, 1);
    CHECK(ln_conv_f32_winograd_for(&strided.shape) == NULL, "stride 2 has no such transform");
    CHECK(ln_conv_f32_winograd_for(&small.shape) == NULL, "does not pay on 3x3");
}

/* Winograd along one axis: long kernels that way, with a few taps the other way, and small planes. */
static void test_winograd_line(void) {
    for (int i = 0; i < 100; i++) {
        conv_case test = square(16, 16, 1, 12, 3, 1);
        ln_conv_shape *s = &test.shape;
        s->rank = pick(1, 2);
        s->batch = pick(1, 2);
        s->in_channels = pick(8, i % 10 == 0 ? 300 : 30);
        s->out_channels = pick(8, i % 7 == 0 ? 140 : 40);
        for (size_t axis = 0; axis < s->rank; axis++) {
            s->kernel[axis] = pick(1, i % 9 == 0 ? 21 : 7);
            s->dilation[axis] = pick(1, 4) / 4 + 1;
            s->in[axis] = (s->kernel[axis] - 1) * s->dilation[axis] +
                          (pick(0, 3) == 0 ? 1 : pick(5, i % 5 == 0 ? 150 : 30));
            s->pad[axis] = (ptrdiff_t)pick(0, 3) - 1;
            if (!set_out(s, axis, (ptrdiff_t)pick(0, 3) - 1, false)) {
                s->pad[axis] = 0;
                set_out(s, axis, 0, false);
            }
        }
        const ln_conv_f32_route *route = ln_conv_f32_winograd_for(s);
        test.winograd = route != NULL;
        test.bias = pick(0, 1) != 0;
        test.residual = pick(0, 1) != 0;
        test.residual_last = pick(0, 1) != 0;
        test.activation = pick_activation();
        run_case(&test);
    }
    test_repack(5);
    test_repack(7);
    const conv_case small = square(64, 64, 1, 7, 3, 1);
    const ln_conv_f32_route *route = ln_conv_f32_winograd_for(&small.shape);
    CHECK(route != NULL && strstr(route->name, "line") != NULL, "7x7 takes one axis");
}

/* Depthwise: the rolling strips at every width, pads on either side, and the general form. */
static void test_depthwise(void) {
    static const size_t kernels[] = {3, 5, 1, 2, 7};
    for (int i = 0; i < 500; i++) {
        conv_case test = pick_case(i % 9 == 0 ? 1 : 2, i % 5 == 0 ? 40 : 14, false);
        ln_conv_shape *s = &test.shape;
        s->groups = s->in_channels = s->out_channels = pick(2, 5);
        const size_t kernel = kernels[pick(0, 9) % 5], stride = pick(1, 2);
        bool fits = true;
        for (size_t axis = 0; axis < s->rank; axis++) {
            s->kernel[axis] = kernel;
            s->stride[axis] = i % 10 == 0 ? pick(1, 3) : stride;
            s->dilation[axis] = i % 11 == 0 ? 2 : 1;
            s->pad[axis] = (ptrdiff_t)pick(0, 4) - 1;
            fits = fits && set_out(s, axis, (ptrdiff_t)pick(0, 4) - 1, false);
        }
        if (fits) {
            CHECK(strstr(route_of(&test)->name, "depthwise") != NULL, "took %s", route_of(&test)->name);
            run_case(&test);
        }
    }
    const conv_case tall[] = {square(2, 2, 2, 300, 3, 1), square(2, 2, 2, 600, 3, 2),
                              square(2, 2, 2, 300, 5, 1), square(2, 2, 2, 600, 5, 2)};
    for (size_t i = 0; i < sizeof tall / sizeof *tall; i++) {
        run_case(&tall[i]);
    }
}

/* A long signal: one row, many taps, as audio models have. */
static void test_signals(void) {
    for (size_t stride = 1; stride <= 3; stride++) {
        conv_case test = {.bias = true};
        test.shape =
            (ln_conv_shape){.rank = 1, .batch = 1, .in_channels = 1, .out_channels = 33, .groups = 1};
        test.shape.in[0] = 9000;
        test.shape.kernel[0] = 100;
        test.shape.stride[0] = stride * 7;
        test.shape.dilation[0] = stride;
        test.shape.pad[0] = 50;
        set_out(&test.shape, 0, 50, false);
        run_case(&test);
    }
}

static void test_empty(void) {
    conv_case test = square(3, 4, 1, 5, 3, 1);
    ln_conv_f32_plan plan;
    test.shape.batch = 0;
    ln_conv_f32_plan_init(&plan, route_of(&test), &test.shape);
    CHECK(plan.task_count == 0, "a batch of none has work");
    test = square(0, 4, 1, 5, 3, 1);
    run_case(&test);
}

int main(void) {
    test_random(false, 4);
    test_random(true, 4);
    test_large();
    test_winograd();
    test_winograd_line();
    test_depthwise();
    test_signals();
    test_empty();
    return check_report();
}
