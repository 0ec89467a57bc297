/* GridSample and AffineGrid: reading an image at computed positions, and computing them.
 *
 * A position becomes, axis by axis, one, two or four taps with weights; their products over the axes are a short table
 * of offsets and weights that all channels share. Positions outside are moved to the border or reflected first; a tap
 * that is still outside then counts as zero, or as the element that clamping or reflecting its index gives. Nearest moves any
 * type by width; the others sum in double. Planes of floats, linear with zeros outside, have a short way to their taps, with the
 * same arithmetic.
 */
#include <math.h>

#include "ops/move.h"

enum sample_mode { SAMPLE_LINEAR, SAMPLE_NEAREST, SAMPLE_CUBIC };
enum sample_padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION };
enum { SAMPLE_TAPS = 64, SAMPLE_AXES = 6 };

typedef struct sample_params {
    enum sample_mode mode;
    enum sample_padding padding;
    bool align_corners;
} sample_params;

static ln_status build_sample(ln_build *build) {
    static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic", NULL};
    static const enum sample_mode meanings[] = {SAMPLE_LINEAR, SAMPLE_NEAREST, SAMPLE_CUBIC, SAMPLE_LINEAR,
                                                SAMPLE_CUBIC};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    sample_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->mode = meanings[ln_attr_choice(build, "mode", modes, 0)];
        params->padding = (enum sample_padding)ln_attr_choice(build, "padding_mode", paddings, 0);
        params->align_corners = ln_attr_bool(build, "align_corners", false);
    }
    return ln_build_status(build);
}

/* What infer finds out: positions in each batch entry, and the number of spatial axes. */
typedef struct sample_local {
    int axes;
    int64_t positions, plane;
} sample_local;

static ln_status infer_sample(ln_op *op) {
    const sample_params *params = op->params;
    sample_local *local = LN_LOCAL(op, sample_local);
    const ln_value *image = ln_in(op, 0);
    const ln_shape *grid = &ln_in(op, 1)->shape;
    const int rank = image->shape.rank;
    LN_OP_CHECK(op, rank >= 3 && grid->rank == rank, INVALID_SHAPE,
                "the image has rank %d and the grid %d, expected one of 3 or more", rank, (int)grid->rank);
    LN_OP_CHECK(op, grid->dims[0] == image->shape.dims[0] && grid->dims[rank - 1] == rank - 2, INVALID_SHAPE,
                "the grid holds %lld coordinates for %lld images, expected %d for %lld",
                (long long)grid->dims[rank - 1], (long long)grid->dims[0], rank - 2,
                (long long)image->shape.dims[0]);
    const int most = params->mode == SAMPLE_CUBIC ? SAMPLE_AXES / 2 : SAMPLE_AXES;
    LN_OP_CHECK(op, params->mode == SAMPLE_NEAREST || rank - 2 <= most, LIMIT_EXCEEDED,
                "%d spatial axes, at most %d are supported", rank - 2, most);
    const ln_compute compute = ln_dtype_compute(image->dtype);
    LN_OP_CHECK(
        op, params->mode == SAMPLE_NEAREST || (compute != LN_COMPUTE_NONE && compute != LN_COMPUTE_COMPLEX),
        INVALID_TYPE, "elements of type %s cannot be interpolated", ln_dtype_name(image->dtype));
    ln_shape shape = image->shape;
    for (int i = 2; i < rank; i++) {
        LN_OP_CHECK(op, shape.dims[i] > 0 || grid->dims[i - 1] == 0, INVALID_SHAPE,
                    "axis %d of the image is empty", i);
        shape.dims[i] = grid->dims[i - 1];
    }
    local->axes = rank - 2;
    local->positions = ln_shape_product(&shape, 2, rank);
    local->plane = ln_shape_product(&image->shape, 2, rank);
    return ln_op_shape(op, 0, image->dtype, &shape);
}

static double reflect(double x, double low, double high) {
    const double range = high - low;
    if (range <= 0) {
        return low;
    }
    const double distance = x < low ? low - x : x > high ? x - high : 0;
    if (distance == 0) {
        return x;
    }
    const double turns = floor(distance / range);
    const double rest = distance - turns * range;
    const bool even = fmod(turns, 2) == 0;
    return (x < low) == even ? low + rest : high - rest;
}

/* The element index that stands for `at`, or -1 for zero. */
static int64_t tap_index(const sample_params *params, double at, int64_t n, double low, double high) {
    if (at >= 0 && at < (double)n) {
        return (int64_t)at;
    }
    if (params->padding == PADDING_ZEROS) {
        return -1;
    }
    const double inside = params->padding == PADDING_BORDER ? at : reflect(at, low, high);
    return inside > 0 ? inside < (double)n ? (int64_t)inside : n - 1 : 0;
}

/* Taps of one axis for a coordinate in -1..1; returns how many. */
static int axis_taps(const sample_params *params, double coordinate, int64_t n, int64_t *index,
                     double *weight) {
    const double size = (double)n;
    const double low = params->align_corners ? 0 : -0.5;
    const double high = params->align_corners ? size - 1 : size - 0.5;
    double x = params->align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
    x = x >= -1e15 && x <= 1e15 ? x : -1e15; /* a NaN too */
    x = params->mode == SAMPLE_NEAREST ? rint(x) : x;
    if (params->mode != SAMPLE_CUBIC &&
        (x < low || x > high)) { /* cubic moves its taps one by one, as PyTorch does */
        if (params->padding == PADDING_BORDER) {
            x = x < 0 ? 0 : x > size - 1 ? size - 1 : x;
        } else if (params->padding == PADDING_REFLECTION) {
            x = reflect(x, low, high);
        }
    }
    if (params->mode == SAMPLE_NEAREST) {
        index[0] = tap_index(params, trunc(x), n, low, high);
        weight[0] = 1;
        return 1;
    }
    const double base = floor(x);
    const double t = x - base;
    if (params->mode == SAMPLE_LINEAR) {
        weight[0] = 1 - t;
        weight[1] = t;
    } else {
        const double a = -0.75;
        weight[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
        weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
        weight[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
        weight[3] = ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a;
    }
    const int count = params->mode == SAMPLE_LINEAR ? 2 : 4;
    for (int i = 0; i < count; i++) {
        index[i] = tap_index(params, base + i - (count == 4 ? 1 : 0), n, low, high);
    }
    return count;
}

/* The taps of one position inside a plane. */
typedef struct tap_table {
    int count;
    int64_t offset[SAMPLE_TAPS];
    double weight[SAMPLE_TAPS];
} tap_table;

static void position_taps(const ln_op *op, int axes, int64_t position, tap_table *table) {
    const sample_params *params = op->params;
    const ln_value *grid = ln_in(op, 1);
    const int64_t *dims = ln_in(op, 0)->shape.dims + 2;
    table->count = 1;
    table->offset[0] = 0;
    table->weight[0] = 1;
    for (int axis = 0; axis < axes; axis++) {
        int64_t index[4];
        double weight[4];
        double coordinate; /* the innermost axis comes first in the grid */
        ln_load_f64(grid->dtype, grid->data, position * axes + (axes - 1 - axis), 1, &coordinate);
        const int count = axis_taps(params, coordinate, dims[axis], index, weight);
        for (int old = table->count - 1; old >= 0; old--) {
            const int64_t offset = table->offset[old];
            const double factor = table->weight[old];
            for (int i = count - 1; i >= 0; i--) {
                const bool inside = offset >= 0 && index[i] >= 0;
                table->offset[old * count + i] = inside ? offset * dims[axis] + index[i] : -1;
                table->weight[old * count + i] = factor * weight[i];
            }
        }
        table->count *= count;
    }
}

/* The same for a plane and a grid of floats, linear with zeros outside: only the taps inside, in the same order. */
static void plane_taps(const ln_op *op, int64_t position, tap_table *table) {
    const sample_params *params = op->params;
    const float *at = (const float *)ln_in(op, 1)->data + 2 * position;
    const int64_t *dims = ln_in(op, 0)->shape.dims + 2;
    int64_t base[2];
    double part[2];
    for (int axis = 0; axis < 2; axis++) {
        const double n = (double)dims[axis];
        const double c = (double)at[1 - axis];
        const double x = params->align_corners ? (c + 1) / 2 * (n - 1) : ((c + 1) * n - 1) / 2;
        const double below = floor(x >= -1 && x < n ? x : -2); /* a NaN has no tap inside either */
        base[axis] = (int64_t)below;
        part[axis] = x - below;
    }
    int count = 0;
    for (int i = 0; i < 4; i++) {
        const int64_t y = base[0] + i / 2;
        const int64_t x = base[1] + i % 2;
        table->offset[count] = y * dims[1] + x;
        table->weight[count] = (i / 2 ? part[0] : 1 - part[0]) * (i % 2 ? part[1] : 1 - part[1]);
        count += y >= 0 && y < dims[0] && x >= 0 && x < dims[1];
    }
    table->count = count;
}

static double sum_taps(const tap_table *table, ln_dtype dtype, const void *image, int64_t first) {
    double sum = 0;
    for (int i = 0; i < table->count; i++) {
        if (table->offset[i] < 0) {
            continue;
        }
        double value;
        ln_load_f64(dtype, image, first + table->offset[i], 1, &value);
        sum += value * table->weight[i];
    }
    return sum;
}

/* One position of a float image in all channels; the taps that count come first. */
static void sample_floats(const ln_op *op, const sample_local *local, tap_table *table, int64_t first,
                          int64_t to) {
    const int64_t channels = ln_in(op, 0)->shape.dims[1];
    const float *image = (const float *)ln_in(op, 0)->data + first;
    float *output = (float *)ln_out(op, 0)->data + to;
    int count = 0;
    for (int i = 0; i < table->count; i++) {
        if (table->offset[i] >= 0) {
            table->offset[count] = table->offset[i];
            table->weight[count++] = table->weight[i];
        }
    }
    const int64_t *offset = table->offset;
    const double *weight = table->weight;
    for (int64_t c = 0; c < channels; c++, image += local->plane, output += local->positions) {
        double sum = 0;
        if (count == 4) {
            *output = (float)((double)image[offset[0]] * weight[0] + (double)image[offset[1]] * weight[1] +
                              (double)image[offset[2]] * weight[2] + (double)image[offset[3]] * weight[3]);
            continue;
        }
        for (int i = 0; i < count; i++) {
            sum += (double)image[table->offset[i]] * table->weight[i];
        }
        *output = (float)sum;
    }
}

static void sample_others(const ln_op *op, const sample_local *local, const tap_table *table, int64_t first,
                          int64_t to) {
    const sample_params *params = op->params;
    const ln_value *image = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const size_t width = ln_width(image->dtype);
    static const unsigned char zero[16] = {0};
    for (int64_t c = 0; c < image->shape.dims[1]; c++, first += local->plane, to += local->positions) {
        if (params->mode == SAMPLE_NEAREST) {
            const bool outside = table->offset[0] < 0;
            const size_t from = outside ? 0 : (size_t)(first + table->offset[0]) * width;
            ln_copy_block((unsigned char *)output->data + (size_t)to * width,
                          outside ? zero : (const unsigned char *)image->data + from, width);
        } else {
            const double sum = sum_taps(table, image->dtype, image->data, first);
            ln_store_f64(output->dtype, output->data, to, 1, &sum);
        }
    }
}

static void sample_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const sample_params *params = op->params;
    const sample_local *local = LN_LOCAL(op, const sample_local);
    const ln_value *image = ln_in(op, 0);
    const int64_t channels = image->shape.dims[1];
    const bool floats = image->dtype == LN_FLOAT && params->mode != SAMPLE_NEAREST;
    const bool plane = floats && params->mode == SAMPLE_LINEAR && params->padding == PADDING_ZEROS &&
                       local->axes == 2 && ln_in(op, 1)->dtype == LN_FLOAT;
    int64_t begin, end;
    ln_block_range(image->shape.dims[0] * local->positions, channels * 32, index, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        tap_table table;
        if (plane) {
            plane_taps(op, position, &table);
        } else {
            position_taps(op, local->axes, position, &table);
        }
        const int64_t batch = position / local->positions;
        const int64_t first = batch * channels * local->plane;
        const int64_t to = batch * channels * local->positions + position % local->positions;
        if (floats) {
            sample_floats(op, local, &table, first, to);
        } else {
            sample_others(op, local, &table, first, to);
        }
    }
}

static ln_status run_sample(ln_op *op) {
    const sample_local *local = LN_LOCAL(op, const sample_local);
    const int64_t *dims = ln_in(op, 0)->shape.dims;
    if (!ln_out(op, 0) || ln_value_count(ln_out(op, 0)) == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, sample_task, ln_block_tasks(dims[0] * local->positions, dims[1] * 32));
}

/* AffineGrid -------------------------------------------------------------------------------------------- */

typedef struct affine_params {
    bool align_corners;
} affine_params;

static ln_status build_affine(ln_build *build) {
    affine_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->align_corners = ln_attr_bool(build, "align_corners", false);
    }
    return ln_build_status(build);
}

static ln_status infer_affine(ln_op *op) {
    const ln_value *theta = ln_in(op, 0);
    int64_t size[5];
    int count;
    LN_TRY(ln_op_ints(op, 1, size, 5, &count));
    const int axes = count - 2;
    LN_OP_CHECK(op, axes == 2 || axes == 3, INVALID_SHAPE, "size has %d entries, expected 4 or 5", count);
    LN_OP_CHECK(op,
                theta->shape.rank == 3 && theta->shape.dims[0] == size[0] && theta->shape.dims[1] == axes &&
                    theta->shape.dims[2] == axes + 1,
                INVALID_SHAPE, "theta must have the shape [%lld,%d,%d]", (long long)size[0], axes, axes + 1);
    ln_shape shape = {.rank = axes + 2, .dims = {size[0]}};
    for (int i = 0; i < axes; i++) {
        shape.dims[1 + i] = size[2 + i];
    }
    shape.dims[axes + 1] = axes;
    return ln_op_shape(op, 0, theta->dtype, &shape);
}

static void affine_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const affine_params *params = op->params;
    const ln_value *theta = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const int axes = output->shape.rank - 2;
    const int64_t positions = ln_shape_product(&output->shape, 1, axes + 1);
    int64_t begin, end;
    ln_block_range(output->shape.dims[0] * positions, 64, index, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        double at[4] = {1, 1, 1, 1}; /* x, y, (z,) 1 */
        int64_t rest = position % positions;
        for (int i = 0; i < axes; i++) {
            const int64_t n = output->shape.dims[axes - i];
            const double step = (double)(rest % n);
            rest /= n;
            at[i] = params->align_corners ? (n > 1 ? -1 + 2 * step / (double)(n - 1) : 0)
                                          : (2 * step + 1) / (double)n - 1;
        }
        at[axes] = 1;
        double matrix[12];
        double result[3];
        const int64_t entries = (int64_t)axes * (axes + 1);
        ln_load_f64(theta->dtype, theta->data, position / positions * entries, entries, matrix);
        for (int i = 0; i < axes; i++) {
            result[i] = 0;
            for (int j = 0; j <= axes; j++) {
                result[i] += matrix[i * (axes + 1) + j] * at[j];
            }
        }
        ln_store_f64(output->dtype, output->data, position * axes, axes, result);
    }
}

static ln_status run_affine(ln_op *op) {
    const ln_value *output = ln_out(op, 0);
    if (!output || ln_value_count(output) == 0) {
        return LN_OK;
    }
    return ln_op_grid(op, affine_task,
                      ln_block_tasks(ln_shape_product(&output->shape, 0, output->shape.rank - 1), 64));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define PAIR(a, b) a, b
#define ROW(name, since, until, signature, types, build, infer, run)                                         \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, 0, NULL}
#define SAMPLE(since, until, types, grids)                                                                   \
    ROW("GridSample", since, until, "AB>A", PAIR(types, grids), build_sample, infer_sample, run_sample)

static const ln_op_row rows[] = {
    SAMPLE(16, 19, LN_T_ALL, LN_T_FLOAT),
    SAMPLE(20, 21, LN_T_ALL, LN_T_FLOAT),
    SAMPLE(22, LN_OPEN, LN_T_ALL_BF, LN_T_FLOAT_BF),
    {"GridSample",
     "com.microsoft",
     1,
     LN_OPEN,
     "AB>A",
     {LN_T_FLOAT, LN_T_FLOAT},
     build_sample,
     infer_sample,
     run_sample,
     NULL,
     0,
     NULL},
    ROW("AffineGrid", 20, LN_OPEN, "Al>A", LN_T_FLOAT_BF, build_affine, infer_affine, run_affine),
};

LN_FAMILY_TABLE(grid_sample, rows);
