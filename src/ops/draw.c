/* Operators that draw random numbers: RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial, Dropout.
 *
 * Number i of a node is a function of a state and of i (random.h), so cutting the work changes nothing: the same seed
 * gives the same tensor at any thread count. Dropout outside training is an alias.
 */
#include <math.h>
#include <string.h>

#include "ops/generate.h"
#include "ops/move.h"
#include "ops/random.h"

/* Random numbers ---------------------------------------------------------------------------------------- */

typedef struct random_params {
    bool normal;
    bool like;           /* shape and default type are those of the input */
    double base, spread; /* low and high - low, or mean and scale */
    ln_dtype dtype;
    int rank;
    int64_t sample_size; /* Multinomial */
    int64_t dims[LN_MAX_RANK];
    ln_seed seed;
} random_params;

static ln_status build_random(ln_build *build) {
    random_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    const char *name = build->node->op_type;
    params->normal = strncmp(name, "RandomNormal", 12) == 0;
    params->like = strstr(name, "Like") != NULL;
    if (params->normal) {
        params->base = (double)ln_attr_float(build, "mean", 0);
        params->spread = (double)ln_attr_float(build, "scale", 1);
    } else {
        params->base = (double)ln_attr_float(build, "low", 0);
        params->spread = (double)ln_attr_float(build, "high", 1) - params->base;
    }
    ln_seed_attr(build, &params->seed);
    params->dtype = ln_attr_dtype(build, "dtype", params->like ? LN_UNDEFINED : LN_FLOAT);
    if (!params->like) {
        ln_attr_required(build, "shape");
        const int64_t *dims = ln_attr_ints(build, "shape", &params->rank);
        if (params->rank > LN_MAX_RANK) {
            return ln_build_fail(build, LN_LIMIT_EXCEEDED, "the shape has %d axes, at most %d are supported",
                                 params->rank, LN_MAX_RANK);
        }
        for (int i = 0; i < params->rank; i++) {
            params->dims[i] = dims[i];
        }
    }
    build->node->output_dtype = params->dtype;
    if (!params->like && params->dtype == LN_UNDEFINED) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute 'dtype' names no type");
    }
    return params->dtype != LN_UNDEFINED ? ln_check_output_dtype(build, params->like ? 1 : 0)
                                         : ln_build_status(build);
}

typedef struct random_local {
    uint64_t state;
} random_local;

static ln_status infer_random(ln_op *op) {
    const random_params *params = op->params;
    const ln_shape shape = params->like ? ln_in(op, 0)->shape : ln_shape_of(params->rank, params->dims);
    const ln_dtype dtype = params->dtype != LN_UNDEFINED ? params->dtype : ln_in(op, 0)->dtype;
    (void)LN_LOCAL(op, random_local);
    LN_OP_CHECK(op, ln_dtype_is_float(dtype), INVALID_TYPE,
                "the input has type %s: attribute 'dtype' must name a float type", ln_dtype_name(dtype));
    return ln_op_shape(op, 0, dtype, &shape);
}

static void random_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const random_params *params = op->params;
    const uint64_t state = LN_LOCAL(op, const random_local)->state;
    const ln_value *output = ln_out(op, 0);
    int64_t begin, end;
    ln_element_range(op, index, &begin, &end);
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        double tile[LN_TILE];
        for (int64_t i = 0; i < n; i++) {
            const double x = params->normal ? ln_random_normal(state, at + i) : ln_random_unit(state, at + i);
            tile[i] = params->base + params->spread * x;
        }
        ln_store_f64(output->dtype, output->data, at, n, tile);
    }
}

static ln_status run_random(ln_op *op) {
    const random_params *params = op->params;
    if (!ln_out(op, 0)) {
        return LN_OK;
    }
    const int64_t count = ln_value_count(ln_out(op, 0));
    LN_LOCAL(op, random_local)->state =
        ln_random_begin(op, &params->seed, params->normal ? 2 * count : count);
    return ln_offer_elements(op, random_task);
}

/* Bernoulli --------------------------------------------------------------------------------------------- */

static ln_status build_bernoulli(ln_build *build) {
    random_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        ln_seed_attr(build, &params->seed);
        LN_TRY(ln_output_dtype_attr(build, "dtype", 1));
        params->dtype = build->node->output_dtype;
    }
    return ln_build_status(build);
}

static ln_status infer_bernoulli(ln_op *op) {
    const random_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    (void)LN_LOCAL(op, random_local);
    return ln_op_shape(op, 0, params->dtype != LN_UNDEFINED ? params->dtype : input->dtype, &input->shape);
}

static void bernoulli_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const uint64_t state = LN_LOCAL(op, const random_local)->state;
    const ln_value *output = ln_out(op, 0);
    int64_t begin, end;
    ln_element_range(op, index, &begin, &end);
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        double chance[LN_TILE];
        int32_t hit[LN_TILE];
        ln_load_f64(ln_in(op, 0)->dtype, ln_in(op, 0)->data, at, n, chance);
        for (int64_t i = 0; i < n; i++) {
            hit[i] = ln_random_unit(state, at + i) < chance[i];
        }
        ln_store_i32(output->dtype, output->data, at, n, hit);
    }
}

static ln_status run_bernoulli(ln_op *op) {
    const random_params *params = op->params;
    LN_LOCAL(op, random_local)->state = ln_random_begin(op, &params->seed, ln_value_count(ln_in(op, 0)));
    return ln_offer_elements(op, bernoulli_task);
}

/* Multinomial ------------------------------------------------------------------------------------------- */

static ln_status build_multinomial(ln_build *build) {
    random_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->dtype = ln_attr_dtype(build, "dtype", LN_INT32);
        params->sample_size = ln_attr_int(build, "sample_size", 1);
        if (params->sample_size < 0) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "attribute 'sample_size' is %lld, expected 0 or more",
                                 (long long)params->sample_size);
        }
        ln_seed_attr(build, &params->seed);
        build->node->output_dtype = params->dtype;
        return ln_check_output_dtype(build, 1);
    }
    return ln_build_status(build);
}

static ln_status infer_multinomial(ln_op *op) {
    const random_params *params = op->params;
    const ln_shape *input = &ln_in(op, 0)->shape;
    (void)LN_LOCAL(op, random_local);
    LN_OP_CHECK(op, input->rank == 2, INVALID_SHAPE, "the input has rank %d, expected [batch, classes]",
                (int)input->rank);
    LN_OP_CHECK(op, input->dims[1] > 0, INVALID_SHAPE, "there are no classes to draw from");
    op->task_scratch_bytes = (size_t)input->dims[1] * sizeof(double);
    const int64_t dims[2] = {input->dims[0], params->sample_size};
    const ln_shape shape = ln_shape_of(2, dims);
    return ln_op_shape(op, 0, params->dtype, &shape);
}

/* One batch entry: unnormalised log-probabilities become a running sum, which each draw searches. */
static void multinomial_task(ln_op *op, int64_t index, void *scratch) {
    const random_params *params = op->params;
    const uint64_t state = LN_LOCAL(op, const random_local)->state;
    const ln_value *input = ln_in(op, 0);
    const int64_t classes = input->shape.dims[1];
    double *sums = scratch;
    ln_load_f64(input->dtype, input->data, index * classes, classes, sums);
    double most = sums[0];
    for (int64_t i = 1; i < classes; i++) {
        most = sums[i] > most ? sums[i] : most;
    }
    double sum = 0;
    for (int64_t i = 0; i < classes; i++) {
        sum += exp(sums[i] - most);
        sums[i] = sum;
    }
    for (int64_t i = 0; i < params->sample_size; i++) {
        const int64_t at = index * params->sample_size + i;
        const double draw = ln_random_unit(state, at) * sum;
        int64_t low = 0;
        int64_t high = classes - 1;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (sums[middle] > draw) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        ln_store_i64(ln_out(op, 0)->dtype, ln_out(op, 0)->data, at, 1, &low);
    }
}

static ln_status run_multinomial(ln_op *op) {
    const random_params *params = op->params;
    const ln_value *output = ln_out(op, 0);
    if (!output || ln_value_count(output) == 0) {
        return LN_OK;
    }
    LN_LOCAL(op, random_local)->state = ln_random_begin(op, &params->seed, ln_value_count(output));
    return ln_op_grid(op, multinomial_task, output->shape.dims[0]);
}

/* Dropout ----------------------------------------------------------------------------------------------- */

typedef struct dropout_params {
    bool training; /* said by an attribute; an input may say it too */
    float ratio;
    ln_seed seed;
} dropout_params;

static const ln_op_row dropout_alias;

/* Is the training flag of this node known to be off? */
static bool is_inference(const ln_build *build) {
    const ln_node *node = build->node;
    if (build->opset < 7) {
        return false;
    }
    if (build->opset < 12 || node->n_inputs < 3 || node->inputs[2] == 0) {
        return true;
    }
    const ln_value *flag = ln_node_constant(node, 2);
    return flag && flag->dtype == LN_BOOL && ln_value_count(flag) == 1 && !*(const uint8_t *)flag->data;
}

/* A node that can never train becomes an alias: build replaces its row. */
static ln_status build_dropout(ln_build *build) {
    dropout_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->training = build->opset < 7 && !ln_attr_bool(build, "is_test", false);
        params->ratio = ln_attr_float(build, "ratio", 0.5F);
        ln_seed_attr(build, &params->seed);
        const bool mask_read = build->node->n_outputs > 1 && build->node->outputs[1] != 0;
        const bool off = build->opset < 7 ? !params->training : is_inference(build);
        /* The alias takes the inputs of every version: those of this one are counted here. */
        const int most = build->opset < 12 ? 1 : 3;
        if (build->node->n_inputs > most) {
            return ln_build_fail(build, LN_INVALID_GRAPH, "has %d inputs, the operator takes at most %d",
                                 (int)build->node->n_inputs, most);
        }
        if (off && !mask_read) {
            build->node->row = &dropout_alias;
        }
    }
    return ln_build_status(build);
}

typedef struct dropout_local {
    float ratio;
    uint64_t state;
} dropout_local;

static ln_status infer_dropout(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    (void)LN_LOCAL(op, dropout_local);
    LN_TRY(ln_op_count(op, 1, "ratio", 1));
    LN_TRY(ln_op_count(op, 2, "training_mode", 1));
    LN_TRY(ln_infer_same(op));
    return ln_op_shape(op, 1, op->node->opset < 10 ? input->dtype : LN_BOOL, &input->shape);
}

static void dropout_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const dropout_local *local = LN_LOCAL(op, const dropout_local);
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const ln_value *mask = ln_out(op, 1);
    const int64_t count = ln_value_count(input);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, LN_RANDOM_GRAIN), index, &begin, &end);
    const double scale = local->ratio < 1 ? 1 / (1 - (double)local->ratio) : 0;
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        double values[LN_TILE];
        int32_t kept[LN_TILE];
        ln_load_f64(input->dtype, input->data, at, n, values);
        for (int64_t i = 0; i < n; i++) {
            kept[i] = local->ratio <= 0 || ln_random_unit(local->state, at + i) >= (double)local->ratio;
            values[i] = kept[i] ? values[i] * scale : 0;
        }
        if (output) {
            ln_store_f64(output->dtype, output->data, at, n, values);
        }
        if (mask) {
            ln_store_i32(mask->dtype, mask->data, at, n, kept);
        }
    }
}

static ln_status run_dropout(ln_op *op) {
    const dropout_params *params = op->params;
    dropout_local *local = LN_LOCAL(op, dropout_local);
    const ln_value *ratio = ln_in(op, 1);
    const ln_value *flag = ln_in(op, 2);
    local->ratio = params->ratio;
    if (ratio) {
        ln_load_f32(ratio->dtype, ratio->data, 0, 1, &local->ratio);
    }
    if (!(flag ? *(const uint8_t *)flag->data != 0 : params->training)) {
        local->ratio = 0;
    }
    LN_OP_CHECK(op, local->ratio >= 0 && local->ratio <= 1, INVALID_VALUE, "ratio is %g, expected 0 to 1",
                (double)local->ratio);
    const int64_t count = ln_value_count(ln_in(op, 0));
    local->state = ln_random_begin(op, &params->seed, count);
    return ln_op_grid(op, dropout_task, ln_op_tasks(count, LN_RANDOM_GRAIN));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, signature, types, build, infer, run, flags)                                  \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, flags, NULL}
#define PAIR(a, b) a, b
#define DROPOUT(since, until, signature, types, ratio_types)                                                 \
    ROW("Dropout", since, until, signature, PAIR(types, ratio_types), build_dropout, infer_dropout,          \
        run_dropout, LN_OP_RANDOM | LN_OP_INPLACE_0)
#define RANDOM(name, since, until, types)                                                                    \
    ROW(name, since, until, ">A", types, build_random, infer_random, run_random, LN_OP_RANDOM)
#define LIKE(name, since, until, inputs, types)                                                              \
    ROW(name, since, until, "A>B", PAIR(inputs, types), build_random, infer_random, run_random, LN_OP_RANDOM)
#define BERNOULLI(since, until, types)                                                                       \
    ROW("Bernoulli", since, until, "A>B", PAIR(types, T_PLAIN_BF), build_bernoulli, infer_bernoulli,         \
        run_bernoulli, LN_OP_RANDOM)
#define MULTINOMIAL(since, until, types)                                                                     \
    ROW("Multinomial", since, until, "A>B", PAIR(types, LN_T_INDEX), build_multinomial, infer_multinomial,   \
        run_multinomial, LN_OP_RANDOM)

#define T_DROPOUT_22 (LN_T_FLOAT_BF | LN_T_FLOAT8)
#define T_PLAIN_BF   (LN_T_NUMBER_BF | LN_BIT(LN_BOOL))

/* Dropout of a node that never trains. */
static const ln_op_row dropout_alias =
    ROW("Dropout", 1, LN_OPEN, "AB?b?>A.?", PAIR(T_DROPOUT_22, T_DROPOUT_22), build_dropout, ln_infer_same,
        ln_run_copy, LN_OP_ALIAS);

static const ln_op_row rows[] = {
    RANDOM("RandomNormal", 1, 21, LN_T_FLOAT),
    RANDOM("RandomNormal", 22, LN_OPEN, LN_T_FLOAT_BF),
    RANDOM("RandomUniform", 1, 21, LN_T_FLOAT),
    RANDOM("RandomUniform", 22, LN_OPEN, LN_T_FLOAT_BF),
    LIKE("RandomNormalLike", 1, 21, LN_T_ALL, LN_T_FLOAT),
    LIKE("RandomNormalLike", 22, LN_OPEN, LN_T_ALL_BF, LN_T_FLOAT_BF),
    LIKE("RandomUniformLike", 1, 21, LN_T_ALL, LN_T_FLOAT),
    LIKE("RandomUniformLike", 22, LN_OPEN, LN_T_ALL_BF, LN_T_FLOAT_BF),
    BERNOULLI(15, 21, LN_T_FLOAT),
    BERNOULLI(22, LN_OPEN, LN_T_FLOAT_BF),
    MULTINOMIAL(7, 21, LN_T_FLOAT),
    MULTINOMIAL(22, LN_OPEN, LN_T_FLOAT_BF),
    DROPOUT(1, 5, "A>AA?", LN_T_FLOAT, 0),
    DROPOUT(6, 6, "A>AA?", LN_T_FLOAT, 0),
    DROPOUT(7, 9, "A>AA?", LN_T_FLOAT, 0),
    DROPOUT(10, 11, "A>Ab?", LN_T_FLOAT, 0),
    DROPOUT(12, 12, "AB?b?>Ab?", LN_T_FLOAT, LN_T_FLOAT),
    DROPOUT(13, 21, "AB?b?>Ab?", LN_T_FLOAT_BF, LN_T_FLOAT),
    DROPOUT(22, LN_OPEN, "AB?b?>Ab?", T_DROPOUT_22, T_DROPOUT_22),
};

LN_FAMILY_TABLE(draw, rows);
