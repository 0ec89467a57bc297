/* Linear and cubic interpolation of Resize.
 *
 * Interpolation is separable: each changed axis is one pass with a table of taps, shrinking axes first, so that later
 * passes have less to do. A pass sees the tensor as `outer` slabs of `in` rows of `inner` elements. Float32 tensors whose
 * last two axes change take the plane kernels instead, which keep the rows in between in cache. Halves are loaded to
 * float32 and integers and doubles to double before the first pass, and stored after the last.
 *
 *   scratch: job | tables of the changed axes | values before odd passes | values before even passes
 */
#include "ops/resize.h"
#include "simd/vector.h"

/* Taps of one axis; weights in the type of the work. */
typedef struct axis_table {
    int axis;
    int64_t in, out, outer, inner; /* of the pass */
    struct ln_resize_axis f32;
    const double *f64;
} axis_table;

typedef struct interpolate_job {
    int n_passes, pass;
    bool wide;    /* in double */
    bool convert; /* the tensor's type is not that of the work */
    axis_table tables[LN_MAX_RANK];
    void *values[2]; /* what the passes read and write in between */
    const void *src; /* of the pass under way */
    void *dst;
    int64_t planes, chunks; /* plane form: chunks of rows in each plane */
    bool doubling;
    float extrapolation;
} interpolate_job;

static size_t align(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

static bool is_wide(ln_dtype dtype) {
    return ln_dtype_compute(dtype) != LN_COMPUTE_F32;
}

static bool needs_conversion(ln_dtype dtype) {
    return dtype != LN_FLOAT && dtype != LN_DOUBLE;
}

/* The changed axes in the order of their passes; returns how many. */
static int order_axes(const ln_resize_rule *rules, int rank, int *axes) {
    int count = 0;
    for (int i = rank - 1; i >= 0; i--) {
        if (ln_resize_is_identity(&rules[i])) {
            continue;
        }
        int at = count++;
        const double ratio = (double)rules[i].out / (double)rules[i].in;
        while (at > 0 && (double)rules[axes[at - 1]].out / (double)rules[axes[at - 1]].in > ratio) {
            axes[at] = axes[at - 1];
            at--;
        }
        axes[at] = i;
    }
    return count;
}

static bool is_plane_form(ln_dtype dtype, const ln_resize_rule *rules, int rank) {
    if (dtype != LN_FLOAT || rank < 2) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        if (ln_resize_is_identity(&rules[i]) != (i < rank - 2)) {
            return false;
        }
    }
    return true;
}

/* Bytes of an axis' indices, its weights, and one row of weights in double. */
static size_t table_bytes(const ln_resize_rule *rule) {
    const size_t taps = (size_t)ln_resize_taps(rule);
    const size_t entries = taps * (size_t)rule->out;
    return align(entries * sizeof(int32_t)) + align(entries * sizeof(double)) + align(taps * sizeof(double));
}

/* Elements of the two buffers between passes. */
static void buffer_counts(const ln_op *op, const ln_resize_rule *rules, const int *axes, int n,
                          int64_t counts[2]) {
    const bool convert = needs_conversion(ln_in(op, 0)->dtype);
    ln_shape shape = ln_in(op, 0)->shape;
    counts[0] = convert ? ln_shape_count(&shape) : 0;
    counts[1] = 0;
    for (int i = 0; i < n; i++) {
        shape.dims[axes[i]] = rules[axes[i]].out;
        const int64_t count = i < n - 1 || convert ? ln_shape_count(&shape) : 0;
        int64_t *most = &counts[(i + 1) % 2];
        *most = count > *most ? count : *most;
    }
}

size_t ln_interpolate_scratch(const ln_op *op, const ln_resize_rule *rules, size_t *task_bytes) {
    const ln_value *input = ln_in(op, 0);
    const int rank = input->shape.rank;
    int axes[LN_MAX_RANK];
    const int n = order_axes(rules, rank, axes);
    size_t bytes = align(sizeof(interpolate_job));
    for (int i = 0; i < n; i++) {
        bytes += table_bytes(&rules[axes[i]]);
    }
    if (is_plane_form(input->dtype, rules, rank)) {
        *task_bytes =
            (size_t)ln_resize_taps(&rules[rank - 2]) * ((size_t)rules[rank - 1].out + 1) * sizeof(float);
        return bytes;
    }
    int64_t counts[2];
    buffer_counts(op, rules, axes, n, counts);
    const size_t width = is_wide(input->dtype) ? sizeof(double) : sizeof(float);
    return bytes + align((size_t)counts[0] * width) + align((size_t)counts[1] * width);
}

/* Fills the table of one axis at *free_scratch, which moves on. */
static void make_table(axis_table *table, const ln_resize_rule *rule, bool wide,
                       unsigned char **free_scratch) {
    const size_t taps = (size_t)ln_resize_taps(rule);
    const size_t entries = taps * (size_t)rule->out;
    int32_t *index = (int32_t *)(void *)*free_scratch;
    double *weights = (double *)(void *)(*free_scratch + align(entries * sizeof(int32_t)));
    double *row = (double *)(void *)((unsigned char *)weights + align(entries * sizeof(double)));
    float *single = (float *)(void *)weights;
    for (int64_t i = 0; i < rule->out; i++) {
        const size_t first = (size_t)i * taps;
        ln_resize_weights(rule, i, index + first, wide ? weights + first : row);
        for (size_t t = 0; t < taps && !wide; t++) {
            single[first + t] = (float)row[t];
        }
    }
    table->f32 = (struct ln_resize_axis){taps, index, single};
    table->f64 = weights;
    *free_scratch += table_bytes(rule);
}

/* Passes ------------------------------------------------------------------------------------------------- */

static void pass_f64(double *dst, const double *src, const axis_table *table, int64_t begin, int64_t end) {
    const size_t taps = table->f32.taps;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t j = 0; j < table->inner; j++) {
            double sum = 0;
            for (size_t t = 0; t < taps; t++) {
                const size_t at = (size_t)i * taps + t;
                sum += table->f64[at] * src[table->f32.index[at] * table->inner + j];
            }
            dst[i * table->inner + j] = sum;
        }
    }
}

static int64_t row_bytes(const axis_table *table) {
    return table->inner * 4 * (int64_t)sizeof(float);
}

static void pass_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const interpolate_job *job = op->scratch;
    const axis_table *table = &job->tables[job->pass];
    int64_t begin, end;
    ln_block_range(table->outer * table->out, row_bytes(table), index, &begin, &end);
    while (begin < end) {
        const int64_t slab = begin / table->out;
        const int64_t first = begin % table->out;
        const int64_t last = first + end - begin < table->out ? first + end - begin : table->out;
        const int64_t from = slab * table->in * table->inner;
        const int64_t to = slab * table->out * table->inner;
        if (job->wide) {
            pass_f64((double *)job->dst + to, (const double *)job->src + from, table, first, last);
        } else {
            ln_resize_axis_f32((float *)job->dst + to, (const float *)job->src + from, (size_t)table->inner,
                               &table->f32, (size_t)first, (size_t)last);
        }
        begin += last - first;
    }
}

/* Overwrites what lies outside the image on some axis. */
static void put_extrapolation(ln_op *op, float value) {
    const ln_resize_rule *rules = LN_LOCAL(op, const ln_resize_local)->rules;
    const ln_value *output = ln_out(op, 0);
    const size_t width = ln_width(output->dtype);
    _Alignas(16) unsigned char fill[16];
    ln_store_f32(output->dtype, fill, 0, 1, &value);
    for (int axis = 0; axis < output->shape.rank; axis++) {
        const int64_t outer = ln_shape_product(&output->shape, 0, axis);
        const int64_t inner = ln_shape_product(&output->shape, axis + 1, output->shape.rank);
        for (int64_t i = 0; i < rules[axis].out; i++) {
            for (int64_t o = 0; o < outer && ln_resize_is_outside(&rules[axis], i); o++) {
                unsigned char *to = output->data;
                ln_fill(to + (size_t)((o * rules[axis].out + i) * inner) * width, inner, width, fill);
            }
        }
    }
}

static ln_status finish(ln_op *op) {
    const interpolate_job *job = op->scratch;
    if (LN_LOCAL(op, const ln_resize_local)->rules[0].coordinates == LN_COORDINATES_TF_CROP_AND_RESIZE) {
        put_extrapolation(op, job->extrapolation);
    }
    return LN_OK;
}

enum { CONVERT_GRAIN = 16384 };

static void load_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const interpolate_job *job = op->scratch;
    const ln_value *input = ln_in(op, 0);
    const int64_t count = ln_value_count(input);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, CONVERT_GRAIN), index, &begin, &end);
    if (job->wide) {
        ln_load_f64(input->dtype, input->data, begin, end - begin, (double *)job->values[0] + begin);
    } else {
        ln_load_f32(input->dtype, input->data, begin, end - begin, (float *)job->values[0] + begin);
    }
}

static void store_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const interpolate_job *job = op->scratch;
    const ln_value *output = ln_out(op, 0);
    const int64_t count = ln_value_count(output);
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, CONVERT_GRAIN), index, &begin, &end);
    if (job->wide) {
        ln_store_f64(output->dtype, output->data, begin, end - begin, (const double *)job->src + begin);
    } else {
        ln_store_f32(output->dtype, output->data, begin, end - begin, (const float *)job->src + begin);
    }
}

/* Offers the next pass, or the conversion of what the last one gave. */
static ln_status next_pass(ln_op *op) {
    interpolate_job *job = op->scratch;
    job->pass++;
    if (job->pass > 0) {
        job->src = job->dst;
    }
    if (job->pass == job->n_passes) {
        const int64_t count = ln_value_count(ln_out(op, 0));
        return job->convert ? ln_op_grid_then(op, store_task, ln_op_tasks(count, CONVERT_GRAIN), finish)
                            : finish(op);
    }
    const bool last = job->pass == job->n_passes - 1;
    job->dst = last && !job->convert ? ln_out(op, 0)->data : job->values[(job->pass + 1) % 2];
    const axis_table *table = &job->tables[job->pass];
    return ln_op_grid_then(op, pass_task, ln_block_tasks(table->outer * table->out, row_bytes(table)),
                           next_pass);
}

/* Planes ------------------------------------------------------------------------------------------------- */

static void plane_task(ln_op *op, int64_t index, void *scratch) {
    const interpolate_job *job = op->scratch;
    const axis_table *rows = &job->tables[0];
    const axis_table *cols = &job->tables[1];
    int64_t begin, end;
    ln_block_range(job->planes * job->chunks, rows->out * cols->out * 4 / job->chunks, index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t plane = i / job->chunks;
        const int64_t chunk = i % job->chunks;
        const float *from = (const float *)ln_in(op, 0)->data + plane * rows->in * cols->in;
        float *to = (float *)ln_out(op, 0)->data + plane * rows->out * cols->out;
        const size_t first = (size_t)(rows->out * chunk / job->chunks);
        const size_t last = (size_t)(rows->out * (chunk + 1) / job->chunks);
        if (job->doubling) {
            ln_resize_linear_2x_f32(to, from, (size_t)rows->in, (size_t)cols->in, first, last);
        } else {
            ln_resize_plane_f32(to, from, (size_t)cols->in, (size_t)cols->out, &rows->f32, &cols->f32, first,
                                last, scratch);
        }
    }
}

static bool is_doubling(const ln_resize_rule *rule) {
    return rule->mode == LN_RESIZE_LINEAR && rule->scale == 2 && rule->out == 2 * rule->in &&
           rule->coordinates <= LN_COORDINATES_PYTORCH_HALF_PIXEL;
}

static ln_status run_planes(ln_op *op, const ln_resize_rule *rules) {
    interpolate_job *job = op->scratch;
    const int rank = ln_in(op, 0)->shape.rank;
    unsigned char *free_scratch = (unsigned char *)op->scratch + align(sizeof(*job));
    job->doubling = is_doubling(&rules[rank - 2]) && is_doubling(&rules[rank - 1]);
    for (int i = 0; i < 2; i++) {
        const ln_resize_rule *rule = &rules[rank - 2 + i];
        job->tables[i].in = rule->in;
        job->tables[i].out = rule->out;
        if (!job->doubling) {
            make_table(&job->tables[i], rule, false, &free_scratch);
        }
    }
    const int64_t plane_bytes = job->tables[0].out * job->tables[1].out * 4;
    job->planes = ln_shape_product(&ln_in(op, 0)->shape, 0, rank - 2);
    job->chunks = plane_bytes / LN_MOVE_GRAIN_BYTES / 4 + 1;
    return ln_op_grid_then(op, plane_task,
                           ln_block_tasks(job->planes * job->chunks, plane_bytes / job->chunks), finish);
}

ln_status ln_run_interpolate(ln_op *op, const ln_resize_rule *rules, float extrapolation) {
    interpolate_job *job = op->scratch;
    const ln_value *input = ln_in(op, 0);
    const int rank = input->shape.rank;
    job->extrapolation = extrapolation;
    if (is_plane_form(input->dtype, rules, rank)) {
        return run_planes(op, rules);
    }
    int axes[LN_MAX_RANK];
    job->n_passes = order_axes(rules, rank, axes);
    if (job->n_passes == 0) {
        return ln_run_copy(op);
    }
    job->pass = -1;
    job->wide = is_wide(input->dtype);
    job->convert = needs_conversion(input->dtype);
    unsigned char *free_scratch = (unsigned char *)op->scratch + align(sizeof(*job));
    ln_shape shape = input->shape;
    for (int i = 0; i < job->n_passes; i++) {
        axis_table *table = &job->tables[i];
        const ln_resize_rule *rule = &rules[axes[i]];
        *table = (axis_table){.axis = axes[i], .in = rule->in, .out = rule->out};
        table->outer = ln_shape_product(&shape, 0, axes[i]);
        table->inner = ln_shape_product(&shape, axes[i] + 1, rank);
        make_table(table, rule, job->wide, &free_scratch);
        shape.dims[axes[i]] = rule->out;
    }
    int64_t counts[2];
    buffer_counts(op, rules, axes, job->n_passes, counts);
    job->values[0] = free_scratch;
    job->values[1] = free_scratch + align((size_t)counts[0] * (job->wide ? sizeof(double) : sizeof(float)));
    job->src = job->convert ? job->values[0] : input->data;
    if (job->convert) {
        return ln_op_grid_then(op, load_task, ln_op_tasks(ln_value_count(input), CONVERT_GRAIN), next_pass);
    }
    return next_pass(op);
}
