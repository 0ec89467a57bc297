/* Matrix products: MatMul, Gemm, and the fused forms of com.microsoft.
 *
 * One operator serves all: batches of A times B with optional transposition, scale, addend and activation. float32 goes to
 * the packed GEMM kernels; a constant B is packed at load, one packing for every M. When B is one matrix, the
 * batch axes of A are rows of a single product, which Strassen's scheme makes where it is large and the session allows. float16 and bfloat16 are staged through float32. float64 and
 * integers, which models rarely multiply, take a plain row-by-row loop in their compute class.
 * Standard: MatMul-1/9/13, Gemm-1/6/7/9/11/13; com.microsoft FusedMatMul, FusedGemm, TransposeMatMul.
 */
#include "ops/matmul.h"

#include <string.h>

#include "ops/activation.h"
#include "ops/stage.h"

/* What infer settles for run. */
typedef struct product {
    ln_gemm_f32_args args;
    ln_stages stages;   /* conversions before; after the product the list holds the one of Y */
    ln_broadcast batch; /* batch axes: offsets in matrices of A and B */
    int64_t batches;
    int64_t m, k, n;
    int64_t a_row, a_col, a_matrix; /* strides of A and B in elements; a_matrix leads to the next batch */
    int64_t b_row, b_col, b_matrix;
    size_t tasks; /* of one batch */
    bool halved;  /* by ln_strassen_f32, whose sums of A are in scratch */
    float *sums;
    size_t packed_bytes; /* of one matrix of B */
    const char *packed;
    float *a, *b, *c, *y; /* float32 operands, staged or as they are */
} product;

/* ---- Shapes ---- */

/* Rows and columns of an operand as the product sees it, after transposition, and its strides. */
typedef struct operand {
    ln_shape batch;
    int64_t rows, cols;
    int64_t row_stride, col_stride, matrix_stride;
    bool vector; /* 1-D: a row for A, a column for B */
} operand;

/* `trans_batch` (com.microsoft) puts the first axis behind the batch axes: [rows, batch..., cols]. */
static operand view(const ln_shape *shape, bool transposed, bool trans_batch, bool is_b) {
    const int rank = shape->rank;
    operand out = {.vector = rank == 1};
    if (out.vector) {
        out.rows = is_b ? shape->dims[0] : 1;
        out.cols = is_b ? 1 : shape->dims[0];
        out.row_stride = is_b ? 1 : shape->dims[0];
        out.col_stride = 1;
        return out;
    }
    const int64_t cols = shape->dims[rank - 1];
    out.batch = ln_shape_of(rank - 2, shape->dims + (trans_batch ? 1 : 0));
    out.rows = shape->dims[trans_batch ? 0 : rank - 2];
    out.cols = cols;
    out.row_stride = trans_batch ? ln_shape_product(shape, 1, rank) : cols;
    out.col_stride = 1;
    out.matrix_stride = trans_batch ? cols : out.rows * cols;
    if (transposed) {
        const operand straight = out;
        out.rows = straight.cols;
        out.cols = straight.rows;
        out.row_stride = 1;
        out.col_stride = straight.row_stride;
    }
    return out;
}

static ln_status check_addend(ln_op *op, const ln_shape *y) {
    const ln_value *c = ln_in(op, 2);
    ln_shape sum;
    char text[LN_SHAPE_TEXT_BYTES];
    char other[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, !c || (ln_shape_broadcast(&c->shape, y, &sum) && ln_shape_equal(&sum, y)), INVALID_SHAPE,
                "C of shape %s does not broadcast to %s", ln_shape_text(&c->shape, text),
                ln_shape_text(y, other));
    return LN_OK;
}

/* Settles m, k, n, the batches and the shape of Y. */
static ln_status infer_shape(ln_op *op, product *p) {
    const ln_matmul_params *params = op->params;
    const ln_shape *a = &ln_in(op, 0)->shape;
    const ln_shape *b = &ln_in(op, 1)->shape;
    char left[LN_SHAPE_TEXT_BYTES];
    char right[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, a->rank >= 1 && b->rank >= 1 && (!params->is_gemm || (a->rank == 2 && b->rank == 2)),
                INVALID_SHAPE, "cannot multiply shapes %s and %s: %s", ln_shape_text(a, left),
                ln_shape_text(b, right), params->is_gemm ? "expected rank 2" : "a scalar is no matrix");
    const operand x = view(a, params->trans_a, params->trans_batch_a, false);
    const operand z = view(b, params->trans_b, params->trans_batch_b, true);
    ln_shape y;
    LN_OP_CHECK(op, ln_shape_broadcast(&x.batch, &z.batch, &y), INVALID_SHAPE,
                "cannot multiply shapes %s and %s: the batches do not broadcast", ln_shape_text(a, left),
                ln_shape_text(b, right));
    LN_OP_CHECK(op, x.cols == z.rows, INVALID_SHAPE,
                "cannot multiply shapes %s and %s: inner dimensions %lld and %lld", ln_shape_text(a, left),
                ln_shape_text(b, right), (long long)x.cols, (long long)z.rows);
    const ln_shape *batches[] = {&x.batch, &z.batch};
    ln_broadcast_init(&p->batch, &y, 2, batches);
    p->batches = p->batch.count;
    p->m = x.rows;
    p->k = x.cols;
    p->n = z.cols;
    p->a_row = x.row_stride;
    p->a_col = x.col_stride;
    p->a_matrix = x.matrix_stride;
    p->b_row = z.row_stride;
    p->b_col = z.col_stride;
    p->b_matrix = z.matrix_stride;
    const bool stacked = !params->trans_a && !params->trans_batch_a;
    if (stacked && ln_shape_count(&z.batch) == 1) { /* one B: the batches of A are rows of one product */
        p->m *= p->batches;
        p->batches = 1;
    }
    if (!x.vector) {
        y.dims[y.rank++] = x.rows;
    }
    if (!z.vector) {
        y.dims[y.rank++] = z.cols;
    }
    LN_TRY(check_addend(op, &y));
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &y);
}

/* ---- float32 ---- */

static bool by_gemm(ln_dtype dtype) {
    return ln_dtype_compute(dtype) == LN_COMPUTE_F32;
}

/* Strides of the addend against the rows and columns of Y. Only Gemm broadcasts rows; a fused bias of MatMul is per column. */
static void bind_addend(ln_op *op, product *p) {
    const ln_value *c = ln_in(op, 2);
    p->args.bias = p->c;
    if (!c) {
        return;
    }
    const int rank = c->shape.rank;
    const int64_t cols = rank >= 1 ? c->shape.dims[rank - 1] : 1;
    const int64_t rows = rank >= 2 ? c->shape.dims[rank - 2] : 1;
    p->args.bias_col_stride = cols > 1 ? 1 : 0;
    p->args.bias_row_stride = rows > 1 ? (size_t)cols : 0;
}

static ln_status plan_gemm(ln_op *op, product *p) {
    const ln_matmul_params *params = op->params;
    ln_gemm_f32_args *args = &p->args;
    *args = (ln_gemm_f32_args){.m = (size_t)p->m, .n = (size_t)p->n, .k = (size_t)p->k};
    args->a_row_stride = (size_t)p->a_row;
    args->a_col_stride = (size_t)p->a_col;
    args->b_row_stride = (size_t)p->b_row;
    args->b_col_stride = (size_t)p->b_col;
    args->b_is_packed = op->packed != NULL;
    args->c_row_stride = (size_t)p->n;
    args->alpha = params->alpha;
    args->beta = params->beta;
    args->activation = params->activation;
    p->packed_bytes = ln_gemm_f32.packed_b_bytes((size_t)p->k, (size_t)p->n);
    op->scratch_bytes = 0;
    p->halved = op->node->graph->model->winograd && p->batches == 1 && ln_strassen_f32.applies(args);
    if (p->halved) {
        op->scratch_bytes = ln_stage_bytes((int64_t)ln_strassen_f32.sum_count(args));
        op->task_scratch_bytes = ln_strassen_f32.scratch_bytes(args);
        p->tasks = ln_strassen_f32.task_count(args);
    } else {
        op->task_scratch_bytes = ln_gemm_f32.scratch_bytes(args);
        p->tasks = ln_gemm_f32.task_count(args);
    }
    for (int i = 0; i < 3; ++i) {
        if (i != 1 || !op->packed) {
            ln_stage_reserve(op, ln_in(op, i));
        }
    }
    ln_stage_reserve(op, ln_out(op, 0));
    return LN_OK;
}

static void gemm_task(ln_op *op, int64_t index, void *scratch) {
    const product *p = LN_LOCAL(op, product);
    const int64_t batch = index / (int64_t)p->tasks;
    ln_gemm_f32_args args = p->args;
    int64_t offsets[LN_BROADCAST_INPUTS] = {0};
    if (p->batches > 1) {
        ln_broadcast_seek(&p->batch, batch, offsets);
    }
    const size_t matrix = (size_t)offsets[1];
    args.a = p->a + offsets[0] * p->a_matrix;
    args.b = args.b_is_packed ? (const float *)(const void *)(p->packed + matrix * p->packed_bytes)
                              : p->b + offsets[1] * p->b_matrix;
    args.c = p->y + (size_t)batch * args.m * args.n;
    const size_t task = (size_t)(index % (int64_t)p->tasks);
    if (p->halved) {
        ln_strassen_f32.task(&args, p->sums, task, scratch);
    } else {
        ln_gemm_f32.task(&args, task, scratch);
    }
}

static void sum_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const product *p = LN_LOCAL(op, product);
    ln_gemm_f32_args args = p->args;
    args.a = p->a;
    ln_strassen_f32.sum_task(&args, p->sums, (size_t)index);
}

static void stage_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    ln_stage_run(&LN_LOCAL(op, product)->stages, index);
}

static ln_status store_result(ln_op *op) {
    product *p = LN_LOCAL(op, product);
    p->stages.count = 0;
    ln_stage_add(&p->stages, op->outputs[0]->dtype, op->outputs[0]->data, p->y,
                 ln_value_count(op->outputs[0]), true);
    return ln_op_grid(op, stage_task, ln_stage_tasks(&p->stages));
}

static ln_status multiply(ln_op *op) {
    const product *p = LN_LOCAL(op, product);
    const bool staged = op->outputs[0]->dtype != LN_FLOAT;
    return ln_op_grid_then(op, gemm_task, p->batches * (int64_t)p->tasks, staged ? store_result : NULL);
}

static ln_status sum_and_multiply(ln_op *op) {
    const product *p = LN_LOCAL(op, product);
    return p->halved ? ln_op_grid_then(op, sum_task, (int64_t)ln_strassen_f32.sum_tasks(&p->args), multiply)
                     : multiply(op);
}

static ln_status run_gemm(ln_op *op) {
    product *p = LN_LOCAL(op, product);
    char *scratch = op->scratch;
    if (p->halved) {
        p->sums = op->scratch;
        scratch += ln_stage_bytes((int64_t)ln_strassen_f32.sum_count(&p->args));
    }
    p->stages.count = 0;
    p->packed = op->packed;
    p->a = ln_stage_floats(&p->stages, ln_in(op, 0), &scratch, true);
    p->b = op->packed ? NULL : ln_stage_floats(&p->stages, ln_in(op, 1), &scratch, true);
    p->c = ln_stage_floats(&p->stages, ln_in(op, 2), &scratch, true);
    p->y = ln_stage_floats(&p->stages, ln_out(op, 0), &scratch, false);
    bind_addend(op, p);
    return p->stages.count ? ln_op_grid_then(op, stage_task, ln_stage_tasks(&p->stages), sum_and_multiply)
                           : sum_and_multiply(op);
}

/* ---- Other types: one output row at a time ---- */

typedef union number {
    double f64;
    int64_t i64;
} number;

/* Elements [first, first + n) of stride `stride` as doubles or wrapping integers. */
static void load(const ln_value *value, int64_t first, int64_t stride, int64_t n, number *out) {
    const bool real = value->dtype == LN_DOUBLE;
    if (stride == 1 && real) {
        ln_load_f64(value->dtype, value->data, first, n, &out->f64);
        return;
    }
    if (stride == 1) {
        ln_load_i64(value->dtype, value->data, first, n, &out->i64);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        load(value, first + i * stride, 1, 1, &out[i]);
    }
}

static void add_product(bool real, number *sum, number a, const number *b, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
        if (real) {
            sum[j].f64 += a.f64 * b[j].f64;
        } else {
            sum[j].i64 = (int64_t)((uint64_t)sum[j].i64 + (uint64_t)a.i64 * (uint64_t)b[j].i64);
        }
    }
}

/* sum = alpha * sum + beta * C[row]. Integers: Gemm's alpha and beta are used as numbers, as its definition says. */
static void finish_row(const ln_op *op, const product *p, int64_t row, number *sum, number *addend) {
    const ln_matmul_params *params = op->params;
    const ln_value *c = ln_in(op, 2);
    const bool real = op->outputs[0]->dtype == LN_DOUBLE;
    for (int64_t j = 0; c && j < p->n; ++j) {
        const int64_t at = row * (int64_t)p->args.bias_row_stride + j * (int64_t)p->args.bias_col_stride;
        load(c, at, 1, 1, &addend[j]);
    }
    for (int64_t j = 0; j < p->n; ++j) {
        if (real) {
            sum[j].f64 =
                (double)params->alpha * sum[j].f64 + (c ? (double)params->beta * addend[j].f64 : 0.0);
        } else if (params->alpha == 1.0F && params->beta == 1.0F) {
            sum[j].i64 = (int64_t)((uint64_t)sum[j].i64 + (c ? (uint64_t)addend[j].i64 : 0));
        } else {
            const double scaled = (double)params->alpha * (double)sum[j].i64;
            sum[j].i64 = (int64_t)(scaled + (c ? (double)params->beta * (double)addend[j].i64 : 0.0));
        }
    }
}

static void row_task(ln_op *op, int64_t index, void *scratch) {
    const product *p = LN_LOCAL(op, product);
    const int64_t batch = index / p->m;
    const int64_t row = index % p->m;
    int64_t offsets[LN_BROADCAST_INPUTS] = {0};
    if (p->batches > 1) {
        ln_broadcast_seek(&p->batch, batch, offsets);
    }
    number *sum = scratch;
    number *b = sum + p->n;
    const bool real = op->outputs[0]->dtype == LN_DOUBLE;
    memset(sum, 0, (size_t)p->n * sizeof *sum);
    const int64_t a_base = offsets[0] * p->a_matrix + row * p->a_row;
    const int64_t b_base = offsets[1] * p->b_matrix;
    for (int64_t l = 0; l < p->k; ++l) {
        number a;
        load(op->inputs[0], a_base + l * p->a_col, 1, 1, &a);
        load(op->inputs[1], b_base + l * p->b_row, p->b_col, p->n, b);
        add_product(real, sum, a, b, p->n);
    }
    finish_row(op, p, row, sum, b);
    ln_value *y = op->outputs[0];
    const int64_t first = index * p->n;
    if (real) {
        ln_store_f64(y->dtype, y->data, first, p->n, &sum->f64);
    } else {
        ln_store_i64(y->dtype, y->data, first, p->n, &sum->i64);
    }
}

/* ---- The row's functions ---- */

static ln_status infer_matmul(ln_op *op) {
    product *p = LN_LOCAL(op, product);
    LN_TRY(infer_shape(op, p));
    if (by_gemm(ln_in(op, 0)->dtype)) {
        return plan_gemm(op, p);
    }
    bind_addend(op, p);
    op->task_scratch_bytes = 2 * (size_t)p->n * sizeof(number);
    return LN_OK;
}

static ln_status run_matmul(ln_op *op) {
    const product *p = LN_LOCAL(op, product);
    if (by_gemm(ln_in(op, 0)->dtype)) {
        return run_gemm(op);
    }
    return ln_op_grid(op, row_task, p->batches * p->m);
}

/* Packs a constant B: all its matrices one after the other. */
static ln_status pack_matmul(ln_op *op) {
    const ln_matmul_params *params = op->params;
    const ln_value *b = ln_in(op, 1);
    if (!b || !b->data || !by_gemm(b->dtype) || b->shape.rank < 1) {
        return LN_OK;
    }
    const operand z = view(&b->shape, params->trans_b, params->trans_batch_b, true);
    const size_t k = (size_t)z.rows;
    const size_t n = (size_t)z.cols;
    const size_t matrices = (size_t)ln_shape_count(&z.batch);
    const size_t one = ln_gemm_f32.packed_b_bytes(k, n);
    size_t total = 0;
    LN_OP_CHECK(op, ln_mul_size(one, matrices, &total), OUT_OF_MEMORY, "the packed weights are too large");
    char *packed = ln_alloc(op->context, total, LN_MEMORY_WEIGHTS);
    float *floats = b->data;
    if (packed && b->dtype != LN_FLOAT) {
        floats = ln_alloc(op->context, ln_stage_bytes(ln_value_count(b)), LN_MEMORY_SCRATCH);
        if (floats) {
            ln_load_f32(b->dtype, b->data, 0, ln_value_count(b), floats);
        }
    }
    if (!packed || !floats) {
        ln_free(op->context, packed);
        return LN_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < matrices; ++i) {
        ln_gemm_f32.pack_b((float *)(void *)(packed + i * one), floats + (size_t)z.matrix_stride * i,
                           (size_t)z.row_stride, (size_t)z.col_stride, k, n);
    }
    if (floats != b->data) {
        ln_free(op->context, floats);
    }
    op->packed = packed;
    op->consumed = 1U << 1;
    return LN_OK;
}

static ln_matmul_params *new_params(ln_build *build) {
    ln_matmul_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->alpha = ln_attr_float(build, "alpha", 1.0F);
        params->beta = 1.0F;
        params->trans_a = ln_attr_bool(build, "transA", false);
        params->trans_b = ln_attr_bool(build, "transB", false);
    }
    return params;
}

static ln_status build_matmul(ln_build *build) {
    ln_matmul_params *params = new_params(build);
    if (params) {
        params->trans_batch_a = ln_attr_bool(build, "transBatchA", false);
        params->trans_batch_b = ln_attr_bool(build, "transBatchB", false);
    }
    return ln_build_status(build);
}

static ln_status build_gemm(ln_build *build) {
    ln_matmul_params *params = new_params(build);
    if (params) {
        params->is_gemm = true;
        params->beta = ln_attr_float(build, "beta", 1.0F);
    }
    return ln_build_status(build);
}

static ln_status build_fused_gemm(ln_build *build) {
    LN_TRY(build_gemm(build));
    ln_matmul_params *params = build->node->params;
    return ln_build_activation(build, &params->activation);
}

#define NUMBERS_9  (LN_T_HIGH)
#define NUMBERS_13 (LN_T_HIGH | LN_BIT(LN_BFLOAT16))
#define PRODUCT(name, domain, since, until, signature, types, build)                                         \
    {name,  domain,       since,      until,       signature, {types, 0, 0},                                 \
     build, infer_matmul, run_matmul, pack_matmul, 0,         NULL}

static const ln_op_row rows[] = {
    PRODUCT("MatMul", "", 1, 8, "AA>A", LN_T_FLOAT, build_matmul),
    PRODUCT("MatMul", "", 9, 12, "AA>A", NUMBERS_9, build_matmul),
    PRODUCT("MatMul", "", 13, LN_OPEN, "AA>A", NUMBERS_13, build_matmul),
    PRODUCT("Gemm", "", 1, 8, "AAA>A", LN_T_FLOAT, build_gemm),
    PRODUCT("Gemm", "", 9, 10, "AAA>A", NUMBERS_9, build_gemm),
    PRODUCT("Gemm", "", 11, 12, "AAA?>A", NUMBERS_9, build_gemm),
    PRODUCT("Gemm", "", 13, LN_OPEN, "AAA?>A", NUMBERS_13, build_gemm),
    PRODUCT("FusedMatMul", "com.microsoft", 1, LN_OPEN, "AA>A", LN_T_FLOAT_BF, build_matmul),
    PRODUCT("TransposeMatMul", "com.microsoft", 1, LN_OPEN, "AA>A", LN_T_FLOAT_BF, build_matmul),
    PRODUCT("FusedGemm", "com.microsoft", 1, LN_OPEN, "AAA?>A", LN_T_FLOAT_BF, build_fused_gemm),
    PRODUCT("MatMulBias", "linnet", 1, LN_OPEN, "AAA?>A", LN_T_FLOAT_BF,
            build_matmul), /* made by a rewrite */
};
LN_FAMILY_TABLE(matmul, rows);
