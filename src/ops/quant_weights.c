/* com.microsoft MatMulNBits and MatMulBnb4: products with weights of a few bits.
 *
 * Weights are [N, K], a row for each output column, in blocks along K with a scale each. A task takes a panel of columns: it
 * turns their weights into float32 in scratch, then multiplies, by dot products for a few rows of A (a decoder's single token) and by
 * GEMM for many. Half-precision A is converted once, before the panels.
 *
 *   MatMulNBits   (code - zero point) * scale; codes of 1, 2, 4 or 8 bits, low bits first
 *   MatMulBnb4    table[code] * scale; codes of 4 bits, high half first (bitsandbytes)
 */
#include <string.h>

#include "ops/float_tile.h"
#include "ops/lines.h"
#include "simd/kernels.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
enum { PANEL = 32, FEW_ROWS = 4, LARGEST_BLOCK = 4096 };

typedef struct weights_params {
    int64_t k, n, block;
    int bits;
    const float *table; /* of MatMulBnb4, else NULL */
} weights_params;

typedef struct weights_local {
    int64_t m, blocks;
    size_t gemm_tasks, gemm_bytes;
} weights_local;

/* Build and infer ---------------------------------------------------------------------------------------------------- */

static ln_status read_sizes(ln_build *build, weights_params *params) {
    ln_attr_required(build, "K");
    ln_attr_required(build, "N");
    ln_attr_required(build, "block_size");
    params->k = ln_attr_int(build, "K", 0);
    params->n = ln_attr_int(build, "N", 0);
    params->block = ln_attr_int(build, "block_size", 0);
    LN_TRY(ln_build_status(build));
    if (params->k < 1 || params->n < 1 || params->k > INT32_MAX / 64 || params->n > INT32_MAX / 64 ||
        params->block < 1 || params->block > LARGEST_BLOCK) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "K is %lld, N is %lld and block_size is %lld, expected positive numbers",
                             (long long)params->k, (long long)params->n, (long long)params->block);
    }
    return LN_OK;
}

static ln_status build_nbits(ln_build *build) {
    weights_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    LN_TRY(read_sizes(build, params));
    const int64_t bits = ln_attr_int(build, "bits", 4);
    LN_TRY(ln_build_status(build));
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "bits is %lld, expected 1, 2, 4 or 8",
                             (long long)bits);
    }
    if (ln_attr_int(build, "weight_prepacked", 0) != 0) {
        return ln_build_fail(build, LN_UNSUPPORTED, "weights prepacked for another runtime cannot be read");
    }
    params->bits = (int)bits;
    return LN_OK;
}

static ln_status build_bnb4(ln_build *build) {
    static const float fp4[] = {
        0.0f,  0.00520833333f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
        -0.0f, -0.00520833333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
    static const float nf4[] = {-1.0f,         -0.696192801f, -0.525073051f,  -0.394917488f,
                                -0.284441382f, -0.184773430f, -0.0910500363f, 0.0f,
                                0.0795802996f, 0.160930201f,  0.246112302f,   0.337915242f,
                                0.440709829f,  0.562617004f,  0.722956836f,   1.0f};
    weights_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    LN_TRY(read_sizes(build, params));
    ln_attr_required(build, "quant_type");
    const int64_t type = ln_attr_int(build, "quant_type", 0);
    LN_TRY(ln_build_status(build));
    if (type < 0 || type > 1) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "quant_type is %lld, expected 0 (FP4) or 1 (NF4)",
                             (long long)type);
    }
    if (!ln_attr_bool(build, "transB", true)) {
        return ln_build_fail(build, LN_UNSUPPORTED, "weights with transB 0 cannot be read");
    }
    params->bits = 4;
    params->table = type == 0 ? fp4 : nf4;
    return LN_OK;
}

static ln_status check_size(ln_op *op, int index, int64_t expected) {
    const ln_value *value = ln_in(op, index);
    LN_OP_CHECK(op, value == NULL || ln_value_count(value) == expected, INVALID_SHAPE,
                "input %d must have %lld elements, it has %lld", index, (long long)expected,
                (long long)ln_value_count(value));
    return LN_OK;
}

/* Sizes of the quantised inputs. */
static ln_status check_weights(ln_op *op, const weights_params *params, weights_local *local) {
    if (params->table != NULL) {
        const int64_t count = params->k * params->n;
        LN_TRY(check_size(op, B, (count + 1) / 2));
        return check_size(op, SCALES, (count + params->block - 1) / params->block);
    }
    local->blocks = (params->k + params->block - 1) / params->block;
    LN_TRY(check_size(op, B, params->n * local->blocks * ((params->block * params->bits + 7) / 8)));
    LN_TRY(check_size(op, SCALES, params->n * local->blocks));
    const ln_value *zeros = ln_in(op, ZEROS);
    const bool packed = zeros != NULL && zeros->dtype == LN_UINT8;
    LN_TRY(
        check_size(op, ZEROS, params->n * (packed ? (local->blocks * params->bits + 7) / 8 : local->blocks)));
    /* Group indices may be given for the padded K. */
    const ln_value *groups = ln_in(op, GROUPS);
    LN_OP_CHECK(op, groups == NULL || ln_value_count(groups) >= params->k, INVALID_SHAPE,
                "the group indices must have %lld elements", (long long)params->k);
    return check_size(op, BIAS, params->n);
}

static ln_status infer_weights(ln_op *op) {
    const weights_params *params = op->params;
    weights_local *local = LN_LOCAL(op, weights_local);
    const ln_value *a = ln_in(op, A);
    ln_shape shape = a->shape;
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, shape.rank >= 1 && shape.dims[shape.rank - 1] == params->k, INVALID_SHAPE,
                "the last axis of A must be K, which is %lld; its shape is %s", (long long)params->k,
                ln_shape_text(&shape, text));
    LN_TRY(check_weights(op, params, local));
    local->m = ln_shape_product(&shape, 0, shape.rank - 1);
    const int64_t limit = (int64_t)(SIZE_MAX / (16 * PANEL));
    LN_OP_CHECK(op, local->m < limit && params->k < limit && ln_value_count(a) < (int64_t)(SIZE_MAX / 16),
                LIMIT_EXCEEDED, "A of shape %s is too large", ln_shape_text(&shape, text));
    ln_gemm_f32_args args = {.m = (size_t)local->m, .n = PANEL, .k = (size_t)params->k, .alpha = 1};
    args.a_row_stride = args.b_col_stride = (size_t)params->k;
    args.a_col_stride = args.b_row_stride = 1;
    const bool many = local->m >= FEW_ROWS;
    local->gemm_bytes = many ? (ln_gemm_f32.scratch_bytes(&args) + 63) / 64 * 64 : 0;
    op->scratch_bytes = a->dtype == LN_FLOAT ? 0 : (size_t)ln_value_count(a) * sizeof(float);
    op->task_scratch_bytes = local->gemm_bytes +
                             (size_t)PANEL * (size_t)(params->k + local->m + 1) * sizeof(float) +
                             LARGEST_BLOCK;
    shape.dims[shape.rank - 1] = params->n;
    return ln_op_shape(op, 0, a->dtype, &shape);
}

/* Weights ---------------------------------------------------------------------------------------------------------------- */

/* n codes of `bits` bits from a whole byte on. */
static void unpack(const uint8_t *packed, int bits, int64_t n, uint8_t *codes) {
    const unsigned mask = (1u << bits) - 1;
    const int64_t per_byte = 8 / bits;
    if (bits == 4) {
        for (int64_t i = 0; i < n / 2; i++) {
            codes[2 * i] = packed[i] & 15;
            codes[2 * i + 1] = packed[i] >> 4;
        }
        if (n % 2 != 0) {
            codes[n - 1] = packed[n / 2] & 15;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)((packed[i / per_byte] >> (unsigned)(i % per_byte * bits)) & mask);
    }
}

static float zero_at(const ln_op *op, int64_t column, int64_t block) {
    const weights_params *params = op->params;
    const weights_local *local = LN_LOCAL((ln_op *)(uintptr_t)op, weights_local);
    const ln_value *zeros = ln_in(op, ZEROS);
    if (zeros == NULL) {
        return (float)(1 << (params->bits - 1));
    }
    if (zeros->dtype != LN_UINT8) {
        float zero;
        ln_tile_load(zeros->dtype, zeros->data, column * local->blocks + block, 1, &zero);
        return zero;
    }
    const int64_t row_bytes = (local->blocks * params->bits + 7) / 8;
    const int64_t bit = block * params->bits;
    const uint8_t byte = ((const uint8_t *)zeros->data)[column * row_bytes + bit / 8];
    return (float)((unsigned)(byte >> (bit % 8)) & ((1u << params->bits) - 1));
}

static float scale_at(const ln_op *op, int64_t index) {
    float scale;
    ln_tile_load(ln_in(op, SCALES)->dtype, ln_in(op, SCALES)->data, index, 1, &scale);
    return scale;
}

/* The weights of one column as float32; `codes` has room for a block. */
static void load_nbits(const ln_op *op, int64_t column, float *row, uint8_t *codes) {
    const weights_params *params = op->params;
    const weights_local *local = LN_LOCAL((ln_op *)(uintptr_t)op, weights_local);
    const int64_t block_bytes = (params->block * params->bits + 7) / 8;
    const ln_value *groups = ln_in(op, GROUPS);
    for (int64_t b = 0; b < local->blocks; b++) {
        const int64_t first = b * params->block;
        const int64_t n = params->k - first < params->block ? params->k - first : params->block;
        const int64_t at = column * local->blocks + b;
        unpack((const uint8_t *)ln_in(op, B)->data + at * block_bytes, params->bits, n, codes);
        ln_u8_to_f32(row + first, codes, (size_t)n);
        if (groups == NULL) {
            const float scale = scale_at(op, at);
            ln_unary_f32[LN_UNARY_SCALE_SHIFT](row + first, row + first, (size_t)n, scale,
                                               -scale * zero_at(op, column, b));
            continue;
        }
        for (int64_t i = first; i < first + n; i++) {
            const int64_t group = ((const int32_t *)groups->data)[i];
            row[i] = (row[i] - zero_at(op, column, group)) * scale_at(op, column * local->blocks + group);
        }
    }
}

static void load_bnb4(const ln_op *op, int64_t column, float *row) {
    const weights_params *params = op->params;
    const uint8_t *packed = ln_in(op, B)->data;
    for (int64_t i = 0; i < params->k; i++) {
        const int64_t at = column * params->k + i;
        const unsigned code = at % 2 == 0 ? packed[at / 2] >> 4 : packed[at / 2] & 15;
        row[i] = params->table[code];
    }
    for (int64_t i = 0; i < params->k;) {
        const int64_t at = column * params->k + i;
        const int64_t rest = params->block - at % params->block;
        const int64_t n = rest < params->k - i ? rest : params->k - i;
        ln_unary_f32[LN_UNARY_SCALE_SHIFT](row + i, row + i, (size_t)n, scale_at(op, at / params->block), 0);
        i += n;
    }
}

/* Run -------------------------------------------------------------------------------------------------------------------- */

/* C[m][0..columns) = A times the panel's rows, plus the bias. */
static void multiply_panel(const weights_params *params, const weights_local *local, const float *a,
                           const float *panel, int64_t columns, const float *bias, float *c, int64_t c_stride,
                           void *gemm_scratch) {
    if (local->m < FEW_ROWS) {
        for (int64_t i = 0; i < local->m; i++) {
            for (int64_t j = 0; j < columns; j++) {
                const float sum = ln_dot_f32(a + i * params->k, panel + j * params->k, (size_t)params->k);
                c[i * c_stride + j] = sum + (bias != NULL ? bias[j] : 0);
            }
        }
        return;
    }
    const ln_gemm_f32_args args = {.m = (size_t)local->m,
                                   .n = (size_t)columns,
                                   .k = (size_t)params->k,
                                   .a = a,
                                   .a_row_stride = (size_t)params->k,
                                   .a_col_stride = 1,
                                   .b = panel,
                                   .b_row_stride = 1,
                                   .b_col_stride = (size_t)params->k,
                                   .c = c,
                                   .c_row_stride = (size_t)c_stride,
                                   .alpha = 1,
                                   .beta = 1,
                                   .bias = bias,
                                   .bias_col_stride = 1};
    const size_t tasks = ln_gemm_f32.task_count(&args);
    for (size_t task = 0; task < tasks; task++) {
        ln_gemm_f32.task(&args, task, gemm_scratch);
    }
}

static void panel_task(ln_op *op, int64_t index, void *scratch) {
    const weights_params *params = op->params;
    const weights_local *local = LN_LOCAL(op, weights_local);
    const int64_t first = index * PANEL;
    const int64_t columns = params->n - first < PANEL ? params->n - first : PANEL;
    float *panel = (float *)((uint8_t *)scratch + local->gemm_bytes);
    float *own = panel + PANEL * params->k;
    float *bias = own + PANEL * local->m;
    uint8_t *codes = (uint8_t *)(bias + PANEL);
    for (int64_t j = 0; j < columns; j++) {
        if (params->table != NULL) {
            load_bnb4(op, first + j, panel + j * params->k);
        } else {
            load_nbits(op, first + j, panel + j * params->k, codes);
        }
    }
    const ln_value *offsets = params->table != NULL ? NULL : ln_in(op, BIAS);
    if (offsets != NULL) {
        ln_tile_load(offsets->dtype, offsets->data, first, columns, bias);
    }
    ln_value *y = ln_out(op, 0);
    const bool direct = y->dtype == LN_FLOAT;
    const float *a = ln_in(op, A)->dtype == LN_FLOAT ? ln_in(op, A)->data : op->scratch;
    multiply_panel(params, local, a, panel, columns, offsets != NULL ? bias : NULL,
                   direct ? (float *)y->data + first : own, direct ? params->n : columns, scratch);
    for (int64_t i = 0; i < local->m && !direct; i++) {
        ln_tile_store(y->dtype, y->data, i * params->n + first, columns, own + i * columns);
    }
}

static ln_status run_weights(ln_op *op) {
    const weights_params *params = op->params;
    const weights_local *local = LN_LOCAL(op, weights_local);
    const ln_value *a = ln_in(op, A);
    const ln_value *groups = params->table != NULL ? NULL : ln_in(op, GROUPS);
    if (ln_value_count(a) == 0) {
        return LN_OK;
    }
    for (int64_t i = 0; i < params->k && groups != NULL; i++) {
        const int32_t group = ((const int32_t *)groups->data)[i];
        LN_OP_CHECK(op, group >= 0 && group < local->blocks, INVALID_VALUE,
                    "group index %d is out of range: there are %lld blocks", (int)group,
                    (long long)local->blocks);
    }
    if (a->dtype != LN_FLOAT) {
        ln_tile_load(a->dtype, a->data, 0, ln_value_count(a), op->scratch);
    }
    return ln_op_grid(op, panel_task, (params->n + PANEL - 1) / PANEL);
}

#define T_SINGLE (LN_BIT(LN_FLOAT) | LN_T_HALF)
#define T_ZEROS  (T_SINGLE | LN_BIT(LN_UINT8))

static const ln_op_row rows[] = {
    {"MatMulNBits",
     "com.microsoft",
     1,
     LN_OPEN,
     "AuAB?i?A?>A",
     {T_SINGLE, T_ZEROS},
     build_nbits,
     infer_weights,
     run_weights,
     NULL,
     0,
     NULL},
    {"MatMulBnb4",
     "com.microsoft",
     1,
     LN_OPEN,
     "AuA>A",
     {T_SINGLE},
     build_bnb4,
     infer_weights,
     run_weights,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(quant_weights, rows);
