/* Normalisation of channels: BatchNormalization, InstanceNormalization, GroupNormalization,
 * MeanVarianceNormalization and LRN.
 *
 * A plane is the run of elements that share one mean, scale and shift: y = (x - mean) * scale + shift. float32 planes go to a
 * kernel, half types through tiles of it, double in double. Statistics of a plane are taken in two passes, so that a
 * large mean costs no precision.
 */
#include <math.h>

#include "ops/float_tile.h"
#include "ops/lines.h"
#include "simd/vector.h"

enum { PLANE_GRAIN = 16384 };

/* Planes ---------------------------------------------------------------------------------------------------- */

static void normalize_plane(const ln_value *x, ln_value *y, int64_t first, int64_t n, double mean,
                            double scale, double shift) {
    if (x->dtype == LN_FLOAT) {
        ln_normalize_plane_f32((float *)y->data + first, (const float *)x->data + first, (size_t)n,
                               (float)mean, (float)scale, (float)shift);
        return;
    }
    for (int64_t at = 0; at < n && x->dtype != LN_DOUBLE; at += LN_TILE) {
        float tile[LN_TILE];
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        ln_tile_load(x->dtype, x->data, first + at, count, tile);
        ln_normalize_plane_f32(tile, tile, (size_t)count, (float)mean, (float)scale, (float)shift);
        ln_tile_store(y->dtype, y->data, first + at, count, tile);
    }
    for (int64_t i = first; i < first + n && x->dtype == LN_DOUBLE; i++) {
        ((double *)y->data)[i] = (((const double *)x->data)[i] - mean) * scale + shift;
    }
}

/* The sum of x - mean, or of its square, over n elements. */
static double sum_plane(const ln_value *x, int64_t first, int64_t n, double mean, bool square) {
    double tile[LN_TILE];
    double sum = 0;
    for (int64_t at = 0; at < n; at += LN_TILE) {
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        ln_load_f64(x->dtype, x->data, first + at, count, tile);
        for (int64_t i = 0; i < count; i++) {
            const double d = tile[i] - mean;
            sum += square ? d * d : d;
        }
    }
    return sum;
}

static void plane_statistics(const ln_value *x, int64_t first, int64_t n, double *mean, double *variance) {
    if (x->dtype == LN_FLOAT) {
        float narrow_mean, narrow_variance;
        ln_mean_variance_f32((const float *)x->data + first, (size_t)n, &narrow_mean, &narrow_variance);
        *mean = (double)narrow_mean;
        *variance = (double)narrow_variance;
        return;
    }
    *mean = sum_plane(x, first, n, 0, false) / (double)n;
    *variance = sum_plane(x, first, n, *mean, true) / (double)n;
}

static double load_one(const ln_value *value, int64_t index) {
    double result;
    ln_load_f64(value->dtype, value->data, index, 1, &result);
    return result;
}

/* Fails unless input `index` has `count` elements, one for each of `what`. */
static ln_status check_count(ln_op *op, int index, int64_t count, const char *what) {
    LN_OP_CHECK(op, ln_value_count(ln_in(op, index)) == count, INVALID_SHAPE,
                "input %d must have %lld elements, one for each %s; it has %lld", index, (long long)count,
                what, (long long)ln_value_count(ln_in(op, index)));
    return LN_OK;
}

/* BatchNormalization ---------------------------------------------------------------------------------------- */

typedef struct batch_params {
    double epsilon, momentum;
    bool spatial;    /* statistics per channel, else per activation */
    bool training;   /* by attribute */
    bool by_outputs; /* versions 7 and 9: training when the statistics are read */
} batch_params;

typedef struct batch_local {
    int64_t batch, channels, pixels;
    bool training;
} batch_local;

static ln_status build_batch(ln_build *build) {
    batch_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->epsilon = (double)ln_attr_float(build, "epsilon", 1e-5f);
        params->momentum = (double)ln_attr_float(build, "momentum", 0.9f);
        params->spatial = build->opset >= 9 || ln_attr_bool(build, "spatial", true);
        params->by_outputs = build->opset >= 7 && build->opset < 14;
        params->training = build->opset >= 14 ? ln_attr_bool(build, "training_mode", false)
                                              : build->opset < 7 && !ln_attr_bool(build, "is_test", false);
    }
    return ln_build_status(build);
}

static ln_status infer_batch(ln_op *op) {
    const batch_params *params = op->params;
    batch_local *local = LN_LOCAL(op, batch_local);
    const ln_value *x = ln_in(op, 0);
    const int rank = x->shape.rank;
    LN_OP_CHECK(op, rank >= 1, INVALID_SHAPE, "the input must have at least one axis");
    const bool has_saved =
        ln_out(op, 1) != NULL || ln_out(op, 2) != NULL || ln_out(op, 3) != NULL || ln_out(op, 4) != NULL;
    /* Models written for inference often list the statistics without reading them. */
    local->training = params->by_outputs || op->node->opset < 7
                          ? has_saved && (params->by_outputs || params->training)
                          : params->training;
    local->batch = x->shape.dims[0];
    local->channels = rank == 1 ? 1 : x->shape.dims[1];
    local->pixels = ln_shape_product(&x->shape, rank < 2 ? rank : 2, rank);
    if (!params->spatial) {
        local->channels *= local->pixels;
        local->pixels = 1;
    }
    for (int i = 1; i < 5; i++) {
        LN_TRY(check_count(op, i, local->channels, params->spatial ? "channel" : "activation"));
    }
    LN_OP_CHECK(op, local->channels < (int64_t)(SIZE_MAX / 64), LIMIT_EXCEEDED, "too many channels");
    op->scratch_bytes = (size_t)local->channels * 4 * sizeof(double);
    LN_TRY(ln_infer_same(op));
    for (int i = 1; i < 5; i++) {
        const ln_value *like = ln_in(op, op->node->opset < 14 ? 0 : 3);
        LN_TRY(ln_op_shape(op, i, like->dtype, &ln_in(op, 3)->shape));
    }
    return LN_OK;
}

/* In scratch: mean, scale and shift of each channel, in that order; the fourth row is the variance, or float32 scale and
 * shift for inputs without pixels. */
static double *batch_row(const ln_op *op, const batch_local *local, int row) {
    return (double *)op->scratch + row * local->channels;
}

/* The variance is in row 3, which float32 scale and shift may take over: it is used up first. */
static void fill_channels(const ln_op *op, const batch_local *local) {
    const batch_params *params = op->params;
    const double *mean = batch_row(op, local, 0);
    const double *variance = batch_row(op, local, 3);
    double *scale = batch_row(op, local, 1);
    double *shift = batch_row(op, local, 2);
    ln_load_f64(ln_in(op, 1)->dtype, ln_in(op, 1)->data, 0, local->channels, scale);
    ln_load_f64(ln_in(op, 2)->dtype, ln_in(op, 2)->data, 0, local->channels, shift);
    float *narrow = (float *)batch_row(op, local, 3);
    for (int64_t c = 0; c < local->channels; c++) {
        scale[c] /= sqrt(variance[c] + params->epsilon);
    }
    for (int64_t c = 0; c < local->channels && local->pixels == 1; c++) {
        narrow[c] = (float)scale[c];
        narrow[local->channels + c] = (float)(shift[c] - mean[c] * scale[c]);
    }
}

static int64_t batch_tasks(const batch_local *local) {
    return local->pixels == 1 ? ln_unit_tasks(local->batch, local->channels, PLANE_GRAIN)
                              : ln_unit_tasks(local->batch * local->channels, local->pixels, PLANE_GRAIN);
}

static void batch_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const batch_local *local = LN_LOCAL(op, batch_local);
    const ln_value *x = ln_in(op, 0);
    ln_value *y = ln_out(op, 0);
    const int64_t channels = local->channels;
    int64_t begin, end;
    if (local->pixels == 1 && x->dtype == LN_FLOAT) {
        const float *narrow = (const float *)batch_row(op, local, 3);
        ln_unit_range(local->batch, batch_tasks(local), index, &begin, &end);
        ln_scale_shift_rows_f32((float *)y->data + begin * channels,
                                (const float *)x->data + begin * channels, (size_t)(end - begin),
                                (size_t)channels, narrow, narrow + channels);
        return;
    }
    const int64_t together = local->pixels == 1 ? channels : 1;
    ln_unit_range(local->batch * channels / together, batch_tasks(local), index, &begin, &end);
    for (int64_t plane = begin * together; plane < end * together; plane++) {
        const int64_t c = plane % channels;
        normalize_plane(x, y, plane * local->pixels, local->pixels, batch_row(op, local, 0)[c],
                        batch_row(op, local, 1)[c], batch_row(op, local, 2)[c]);
    }
}

static ln_status normalize_batch(ln_op *op) {
    return ln_op_grid(op, batch_task, batch_tasks(LN_LOCAL(op, batch_local)));
}

static void statistics_task(ln_op *op, int64_t channel, void *scratch) {
    (void)scratch;
    const batch_local *local = LN_LOCAL(op, batch_local);
    const ln_value *x = ln_in(op, 0);
    const double count = (double)(local->batch * local->pixels);
    double mean = 0;
    double variance = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (int64_t n = 0; n < local->batch; n++) {
            sum +=
                sum_plane(x, (n * local->channels + channel) * local->pixels, local->pixels, mean, pass == 1);
        }
        *(pass == 0 ? &mean : &variance) = sum / count;
    }
    batch_row(op, local, 0)[channel] = mean;
    batch_row(op, local, 3)[channel] = variance;
}

/* Writes running and saved statistics, then normalises with the batch's own. */
static ln_status finish_training(ln_op *op) {
    const batch_params *params = op->params;
    const batch_local *local = LN_LOCAL(op, batch_local);
    for (int64_t c = 0; c < local->channels; c++) {
        for (int i = 0; i < 2; i++) {
            const double now = batch_row(op, local, i == 0 ? 0 : 3)[c];
            const double running =
                load_one(ln_in(op, 3 + i), c) * params->momentum + now * (1 - params->momentum);
            ln_value *output = ln_out(op, 1 + i);
            ln_value *saved = ln_out(op, 3 + i);
            if (output != NULL) {
                ln_store_f64(output->dtype, output->data, c, 1, &running);
            }
            if (saved != NULL) {
                ln_store_f64(saved->dtype, saved->data, c, 1, &now);
            }
        }
    }
    fill_channels(op, local);
    return normalize_batch(op);
}

/* Without training, statistics that are read all the same are those given. */
static void copy_statistics(ln_op *op, const batch_local *local) {
    for (int i = 1; i < 5; i++) {
        const ln_value *given = ln_in(op, 3 + (i - 1) % 2);
        ln_value *output = ln_out(op, i);
        for (int64_t c = 0; c < local->channels && output != NULL; c++) {
            const double value = load_one(given, c);
            ln_store_f64(output->dtype, output->data, c, 1, &value);
        }
    }
}

static ln_status run_batch(ln_op *op) {
    const batch_local *local = LN_LOCAL(op, batch_local);
    if (local->training) {
        return ln_op_grid_then(op, statistics_task, local->channels, finish_training);
    }
    const ln_value *mean = ln_in(op, 3);
    const ln_value *variance = ln_in(op, 4);
    copy_statistics(op, local);
    ln_load_f64(mean->dtype, mean->data, 0, local->channels, batch_row(op, local, 0));
    ln_load_f64(variance->dtype, variance->data, 0, local->channels, batch_row(op, local, 3));
    fill_channels(op, local);
    return normalize_batch(op);
}

/* InstanceNormalization and GroupNormalization --------------------------------------------------------------- */

typedef struct group_params {
    double epsilon;
    int64_t groups;       /* 0: as many as channels */
    bool scale_per_group; /* version 18 */
} group_params;

static ln_status build_instance(ln_build *build) {
    group_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->epsilon = (double)ln_attr_float(build, "epsilon", 1e-5f);
    }
    return ln_build_status(build);
}

static ln_status build_group(ln_build *build) {
    LN_TRY(build_instance(build));
    group_params *params = build->node->params;
    ln_attr_required(build, "num_groups");
    params->groups = ln_attr_int(build, "num_groups", 1);
    params->scale_per_group = build->opset < 21;
    LN_TRY(ln_build_status(build));
    if (params->groups < 1) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "num_groups is %lld, expected at least 1",
                             (long long)params->groups);
    }
    return LN_OK;
}

static ln_status infer_group(ln_op *op) {
    const group_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, x->rank >= 2, INVALID_SHAPE, "the input must have rank 2 or more, it has rank %d",
                (int)x->rank);
    LN_OP_CHECK(op, params->groups == 0 || x->dims[1] % params->groups == 0, INVALID_SHAPE,
                "%lld channels do not divide into %lld groups", (long long)x->dims[1],
                (long long)params->groups);
    const int64_t scales = params->scale_per_group ? params->groups : x->dims[1];
    LN_TRY(check_count(op, 1, scales, params->scale_per_group ? "group" : "channel"));
    LN_TRY(check_count(op, 2, scales, params->scale_per_group ? "group" : "channel"));
    return ln_infer_same(op);
}

static void group_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const group_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    const int64_t channels = x->shape.dims[1];
    const int64_t groups = params->groups == 0 ? channels : params->groups;
    const int64_t width = channels / groups;
    const int64_t pixels = ln_shape_product(&x->shape, 2, x->shape.rank);
    const int64_t first = index * width * pixels;
    double mean, variance;
    plane_statistics(x, first, width * pixels, &mean, &variance);
    const double inverse = 1 / sqrt(variance + params->epsilon);
    for (int64_t i = 0; i < width; i++) {
        const int64_t group = index % groups;
        const int64_t at = params->scale_per_group ? group : group * width + i;
        normalize_plane(x, ln_out(op, 0), first + i * pixels, pixels, mean,
                        inverse * load_one(ln_in(op, 1), at), load_one(ln_in(op, 2), at));
    }
}

static ln_status run_group(ln_op *op) {
    const group_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    if (ln_value_count(x) == 0) {
        return LN_OK;
    }
    const int64_t groups = params->groups == 0 ? x->shape.dims[1] : params->groups;
    return ln_op_grid(op, group_task, x->shape.dims[0] * groups);
}

/* MeanVarianceNormalization ---------------------------------------------------------------------------------- */

typedef struct mvn_params {
    bool old; /* the experimental form: per image or per channel */
    bool across_channels, skip_variance;
    int n_axes;
    const int64_t *axes;
} mvn_params;

static ln_status build_mvn(ln_build *build) {
    static const int64_t usual[] = {0, 2, 3};
    mvn_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->old = build->opset < 9 &&
                      (ln_has_attr(build, "across_channels") || ln_has_attr(build, "normalize_variance"));
        params->across_channels = params->old && ln_attr_bool(build, "across_channels", false);
        params->skip_variance = params->old && !ln_attr_bool(build, "normalize_variance", true);
        params->axes = ln_attr_ints(build, "axes", &params->n_axes);
        if (params->axes == NULL) {
            params->axes = usual;
            params->n_axes = 3;
        }
    }
    return ln_build_status(build);
}

/* The shape of the statistics: 1 along reduced axes. */
static ln_status infer_mvn(ln_op *op) {
    const mvn_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    ln_shape *statistics = LN_LOCAL(op, ln_shape);
    *statistics = *x;
    for (int i = 0; i < params->n_axes && !params->old; i++) {
        int axis;
        LN_TRY(ln_op_axis(op, params->axes[i], x->rank, &axis));
        statistics->dims[axis] = 1;
    }
    for (int i = params->across_channels ? 1 : 2; i < x->rank && params->old; i++) {
        statistics->dims[i] = 1;
    }
    const int64_t count = ln_shape_count(statistics);
    LN_OP_CHECK(op, count >= 0 && count < (int64_t)(SIZE_MAX / 32), LIMIT_EXCEEDED, "the input is too large");
    op->scratch_bytes = (size_t)count * 2 * sizeof(double);
    return ln_infer_same(op);
}

typedef struct mvn_run {
    enum { MVN_SUM, MVN_SQUARES, MVN_WRITE } pass;
    const ln_value *x;
    ln_value *y;
    double *mean, *spread;
    int64_t stride;
} mvn_run;

static void visit_mvn(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const mvn_run *run = argument;
    double tile[LN_TILE];
    for (int64_t at = 0; at < n; at += LN_TILE) {
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        ln_load_f64(run->x->dtype, run->x->data, output + at, count, tile);
        for (int64_t i = 0; i < count; i++) {
            const int64_t s = offsets[0] + (at + i) * run->stride;
            const double d = run->pass == MVN_SUM ? tile[i] : tile[i] - run->mean[s];
            if (run->pass == MVN_SUM) {
                run->mean[s] += d;
            } else if (run->pass == MVN_SQUARES) {
                run->spread[s] += d * d;
            }
            tile[i] = run->pass == MVN_WRITE ? d / run->spread[s] : 0;
        }
        if (run->pass == MVN_WRITE) {
            ln_store_f64(run->y->dtype, run->y->data, output + at, count, tile);
        }
    }
}

static ln_status run_mvn(ln_op *op) {
    const mvn_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    const ln_shape *shape = LN_LOCAL(op, ln_shape);
    const int64_t count = ln_shape_count(shape);
    if (ln_value_count(x) == 0) {
        return LN_OK;
    }
    const double n = (double)(ln_value_count(x) / count);
    mvn_run run = {MVN_SUM, x, ln_out(op, 0), op->scratch, (double *)op->scratch + count, 0};
    ln_broadcast walk;
    ln_broadcast_init(&walk, &x->shape, 1, &shape);
    run.stride = walk.strides[0][walk.rank - 1];
    for (int64_t i = 0; i < 2 * count; i++) {
        run.mean[i] = 0;
    }
    ln_broadcast_each(&walk, 0, walk.count, visit_mvn, &run);
    for (int64_t i = 0; i < count; i++) {
        run.mean[i] /= n;
    }
    run.pass = MVN_SQUARES;
    ln_broadcast_each(&walk, 0, walk.count, visit_mvn, &run);
    for (int64_t i = 0; i < count; i++) {
        run.spread[i] = params->skip_variance ? 1 : sqrt(run.spread[i] / n) + 1e-9;
    }
    run.pass = MVN_WRITE;
    ln_broadcast_each(&walk, 0, walk.count, visit_mvn, &run);
    return LN_OK;
}

/* LRN -------------------------------------------------------------------------------------------------------- */

typedef struct lrn_params {
    float alpha, beta, bias;
    int64_t size;
} lrn_params;

static ln_status build_lrn(ln_build *build) {
    lrn_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        ln_attr_required(build, "size");
        params->size = ln_attr_int(build, "size", 1);
        params->alpha = ln_attr_float(build, "alpha", 1e-4f);
        params->beta = ln_attr_float(build, "beta", 0.75f);
        params->bias = ln_attr_float(build, "bias", 1.0f);
        if (params->size < 1) {
            ln_build_fail(build, LN_INVALID_ATTRIBUTE, "size is %lld, expected at least 1",
                          (long long)params->size);
        }
    }
    return ln_build_status(build);
}

static ln_status infer_lrn(ln_op *op) {
    LN_OP_CHECK(op, ln_in(op, 0)->shape.rank >= 2, INVALID_SHAPE,
                "the input must have rank 2 or more, it has rank %d", ln_in(op, 0)->shape.rank);
    return ln_infer_same(op);
}

/* n elements of channel `plane` from `at` on, all in double; the window is channels [low, high] of the same image. */
static void lrn_tile_f64(const lrn_params *params, const ln_value *x, ln_value *y, int64_t plane, int64_t low,
                         int64_t high, int64_t pixels, int64_t at, int64_t n) {
    double sum[LN_TILE] = {0};
    double tile[LN_TILE];
    for (int64_t other = low; other <= high; other++) {
        ln_load_f64(x->dtype, x->data, other * pixels + at, n, tile);
        for (int64_t i = 0; i < n; i++) {
            sum[i] += tile[i] * tile[i];
        }
    }
    ln_load_f64(x->dtype, x->data, plane * pixels + at, n, tile);
    for (int64_t i = 0; i < n; i++) {
        const double base = (double)params->bias + (double)params->alpha / (double)params->size * sum[i];
        tile[i] *= pow(base, -(double)params->beta);
    }
    ln_store_f64(y->dtype, y->data, plane * pixels + at, n, tile);
}

/* x^-beta. Three quarters, which every model has, takes square roots only. */
static void inverse_power(float *values, int64_t n, float beta) {
    float root[LN_TILE];
    if (beta != 0.75f) {
        ln_unary_f32[LN_UNARY_POW](values, values, (size_t)n, -beta, 0);
        return;
    }
    ln_unary_f32[LN_UNARY_RSQRT](values, values, (size_t)n, 0, 0);
    ln_unary_f32[LN_UNARY_SQRT](root, values, (size_t)n, 0, 0);
    ln_binary_f32[LN_BINARY_MUL](values, values, 1, root, 1, (size_t)n);
}

static void lrn_tile_f32(const lrn_params *params, const ln_value *x, ln_value *y, int64_t plane, int64_t low,
                         int64_t high, int64_t pixels, int64_t at, int64_t n) {
    float sum[LN_TILE] = {0};
    float tile[LN_TILE];
    for (int64_t other = low; other <= high; other++) {
        ln_tile_load(x->dtype, x->data, other * pixels + at, n, tile);
        ln_unary_f32[LN_UNARY_SQUARE](tile, tile, (size_t)n, 0, 0);
        ln_binary_f32[LN_BINARY_ADD](sum, sum, 1, tile, 1, (size_t)n);
    }
    ln_unary_f32[LN_UNARY_SCALE_SHIFT](sum, sum, (size_t)n, params->alpha / (float)params->size,
                                       params->bias);
    inverse_power(sum, n, params->beta);
    ln_tile_load(x->dtype, x->data, plane * pixels + at, n, tile);
    ln_binary_f32[LN_BINARY_MUL](tile, tile, 1, sum, 1, (size_t)n);
    ln_tile_store(y->dtype, y->data, plane * pixels + at, n, tile);
}

static void lrn_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const lrn_params *params = op->params;
    const ln_value *x = ln_in(op, 0);
    const int64_t channels = x->shape.dims[1];
    const int64_t pixels = ln_shape_product(&x->shape, 2, x->shape.rank);
    const int64_t planes = x->shape.dims[0] * channels;
    int64_t begin, end;
    ln_unit_range(planes, ln_unit_tasks(planes, pixels, PLANE_GRAIN / 4), index, &begin, &end);
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t c = plane % channels;
        const int64_t before = (params->size - 1) / 2 < c ? (params->size - 1) / 2 : c;
        const int64_t after = params->size / 2 < channels - 1 - c ? params->size / 2 : channels - 1 - c;
        for (int64_t at = 0; at < pixels; at += LN_TILE) {
            const int64_t n = pixels - at < LN_TILE ? pixels - at : LN_TILE;
            (x->dtype == LN_DOUBLE ? lrn_tile_f64 : lrn_tile_f32)(
                params, x, ln_out(op, 0), plane, plane - before, plane + after, pixels, at, n);
        }
    }
}

static ln_status run_lrn(ln_op *op) {
    const ln_value *x = ln_in(op, 0);
    if (ln_value_count(x) == 0) {
        return LN_OK;
    }
    const int64_t pixels = ln_shape_product(&x->shape, 2, x->shape.rank);
    return ln_op_grid(op, lrn_task,
                      ln_unit_tasks(x->shape.dims[0] * x->shape.dims[1], pixels, PLANE_GRAIN / 4));
}

/* Rows ------------------------------------------------------------------------------------------------------- */

#define BATCH(since, until, signature, types)                                                                \
    {"BatchNormalization", "",          since,     until, signature,       {types, types, types},            \
     build_batch,          infer_batch, run_batch, NULL,  LN_OP_INPLACE_0, NULL}
#define NORM(name, since, until, signature, types, build, infer, run, flags)                                 \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, flags, NULL}

static const ln_op_row rows[] = {
    BATCH(1, 13, "AAAAA>AA?A?A?A?", LN_T_FLOAT),
    BATCH(14, 14, "AAABB>AB?B?", LN_T_FLOAT_BF),
    BATCH(15, LN_OPEN, "ABBCC>AC?C?", LN_T_FLOAT_BF),
    NORM("InstanceNormalization", 1, 21, "AAA>A", LN_T_FLOAT, build_instance, infer_group, run_group,
         LN_OP_INPLACE_0),
    NORM("InstanceNormalization", 22, LN_OPEN, "AAA>A", LN_T_FLOAT_BF, build_instance, infer_group, run_group,
         LN_OP_INPLACE_0),
    NORM("GroupNormalization", 18, LN_OPEN, "AAA>A", LN_T_FLOAT_BF, build_group, infer_group, run_group,
         LN_OP_INPLACE_0),
    NORM("MeanVarianceNormalization", 1, 12, "A>A", LN_T_FLOAT, build_mvn, infer_mvn, run_mvn,
         LN_OP_INPLACE_0),
    NORM("MeanVarianceNormalization", 13, LN_OPEN, "A>A", LN_T_FLOAT_BF, build_mvn, infer_mvn, run_mvn,
         LN_OP_INPLACE_0),
    NORM("LRN", 1, 12, "A>A", LN_T_FLOAT, build_lrn, infer_lrn, run_lrn, 0),
    NORM("LRN", 13, LN_OPEN, "A>A", LN_T_FLOAT_BF, build_lrn, infer_lrn, run_lrn, 0),
};

LN_FAMILY_TABLE(channel_norm, rows);
