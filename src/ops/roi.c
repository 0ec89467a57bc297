/* Regions of interest: RoiAlign, MaxRoiPool, NonMaxSuppression.
 *
 * RoiAlign reads every sample point of a bin once for all channels: its four taps serve a row of accumulators, one for
 * each channel, in the task's scratch. NonMaxSuppression takes candidates off a heap of scores until it has enough, so that
 * boxes nobody asks for are not sorted.
 */
#include <math.h>

#include "ops/move.h"

typedef struct roi_params {
    bool max;        /* RoiAlign: the largest tap instead of the mean */
    bool half_pixel; /* RoiAlign: pixel centres lie at halves */
    int64_t height, width;
    int64_t sampling_ratio;
    double scale;
    bool center; /* NonMaxSuppression: boxes as centre and size */
} roi_params;

static ln_status check_bins(ln_build *build, const roi_params *params) {
    const int64_t most = 1 << 20;
    if (params->height < 1 || params->width < 1 || params->height > most || params->width > most) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the output is %lld high and %lld wide",
                             (long long)params->height, (long long)params->width);
    }
    return ln_build_status(build);
}

/* RoiAlign ---------------------------------------------------------------------------------------------- */

static ln_status build_align(ln_build *build) {
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const coordinates[] = {"half_pixel", "output_half_pixel", NULL};
    roi_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->max = ln_attr_choice(build, "mode", modes, 0) == 1;
        params->half_pixel = ln_attr_choice(build, "coordinate_transformation_mode", coordinates,
                                            build->opset < 16 ? 1 : 0) == 0;
        params->height = ln_attr_int(build, "output_height", 1);
        params->width = ln_attr_int(build, "output_width", 1);
        params->sampling_ratio = ln_attr_int(build, "sampling_ratio", 0);
        params->scale = (double)ln_attr_float(build, "spatial_scale", 1);
        return check_bins(build, params);
    }
    return ln_build_status(build);
}

static ln_status infer_bins(ln_op *op, int64_t columns) {
    const roi_params *params = op->params;
    const ln_shape *x = &ln_in(op, 0)->shape;
    const ln_shape *rois = &ln_in(op, 1)->shape;
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank == 4, INVALID_SHAPE, "the input has rank %d, expected 4", (int)x->rank);
    LN_OP_CHECK(op, rois->rank == 2 && rois->dims[1] == columns, INVALID_SHAPE,
                "rois must have the shape [n,%lld], they have %s", (long long)columns,
                ln_shape_text(rois, text));
    const int64_t dims[4] = {rois->dims[0], x->dims[1], params->height, params->width};
    const ln_shape shape = ln_shape_of(4, dims);
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

static ln_status infer_align(ln_op *op) {
    LN_TRY(infer_bins(op, 4));
    const ln_shape *indices = &ln_in(op, 2)->shape;
    LN_OP_CHECK(op, indices->rank == 1 && indices->dims[0] == ln_in(op, 1)->shape.dims[0], INVALID_SHAPE,
                "batch_indices must hold %lld numbers, one for each roi",
                (long long)ln_in(op, 1)->shape.dims[0]);
    op->task_scratch_bytes = (size_t)ln_in(op, 0)->shape.dims[1] * sizeof(double);
    return LN_OK;
}

/* A region: where it starts, the size of a bin, and the samples in a bin along each axis (height, width). */
typedef struct region {
    double start[2], bin[2];
    int64_t samples[2];
} region;

static region read_region(const ln_op *op, int64_t roi) {
    const roi_params *params = op->params;
    const double offset = params->half_pixel ? 0.5 : 0;
    const int64_t bins[2] = {params->height, params->width};
    region found;
    for (int i = 0; i < 2; i++) { /* rois hold x1, y1, x2, y2 */
        const double start = ln_number_at(ln_in(op, 1), roi * 4 + 1 - i) * params->scale - offset;
        const double end = ln_number_at(ln_in(op, 1), roi * 4 + 3 - i) * params->scale - offset;
        double size = end - start;
        size = params->half_pixel || size >= 1 ? size : 1;
        found.start[i] = start;
        found.bin[i] = size / (double)bins[i];
        const double samples = ceil(found.bin[i]);
        found.samples[i] = params->sampling_ratio > 0         ? params->sampling_ratio
                           : samples >= 0 && samples < 0x1p20 ? (int64_t)samples
                                                              : -1;
    }
    return found;
}

/* Indices before and after a coordinate, and the weight of the latter; false outside. */
static bool axis_taps(double at, int64_t n, int64_t *low, int64_t *high, double *weight) {
    if (!(at >= -1 && at <= (double)n)) {
        return false;
    }
    at = at > 0 ? at : 0;
    *low = (int64_t)at;
    if (*low >= n - 1) {
        *low = *high = n - 1;
        *weight = 0;
    } else {
        *high = *low + 1;
        *weight = at - (double)*low;
    }
    return true;
}

/* Adds one sample point to the accumulators of all channels. */
static void add_sample(const ln_op *op, int64_t image, double y, double x, bool first, double *sums) {
    const roi_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const int64_t channels = input->shape.dims[1];
    const int64_t height = input->shape.dims[2];
    const int64_t width = input->shape.dims[3];
    int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
    double wy = 0;
    double wx = 0;
    const bool inside = axis_taps(y, height, &y0, &y1, &wy) && axis_taps(x, width, &x0, &x1, &wx);
    const int64_t offsets[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
    const double weights[4] = {(1 - wy) * (1 - wx), (1 - wy) * wx, wy * (1 - wx), wy * wx};
    for (int64_t c = 0; c < channels; c++) {
        double taps[4] = {0, 0, 0, 0};
        for (int i = 0; i < 4 && inside; i++) {
            taps[i] = weights[i] * ln_number_at(input, (image * channels + c) * height * width + offsets[i]);
        }
        if (params->max) {
            const double most = fmax(fmax(taps[0], taps[1]), fmax(taps[2], taps[3]));
            sums[c] = first ? most : fmax(sums[c], most);
        } else {
            sums[c] += taps[0] + taps[1] + taps[2] + taps[3];
        }
    }
}

static int64_t bin_cost(const ln_op *op) {
    return ln_in(op, 0)->shape.dims[1] * 64;
}

static void align_task(ln_op *op, int64_t index, void *scratch) {
    const roi_params *params = op->params;
    const ln_value *output = ln_out(op, 0);
    const int64_t channels = output->shape.dims[1];
    const int64_t bins = params->height * params->width;
    double *sums = scratch;
    int64_t begin, end;
    ln_block_range(output->shape.dims[0] * bins, bin_cost(op), index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t roi = i / bins;
        const int64_t bin[2] = {i % bins / params->width, i % params->width};
        const region found = read_region(op, roi);
        const int64_t image = ln_index_at(ln_in(op, 2), roi);
        for (int64_t c = 0; c < channels; c++) {
            sums[c] = 0;
        }
        for (int64_t sy = 0; sy < found.samples[0]; sy++) {
            const double y = found.start[0] +
                             ((double)bin[0] + ((double)sy + 0.5) / (double)found.samples[0]) * found.bin[0];
            for (int64_t sx = 0; sx < found.samples[1]; sx++) {
                const double x =
                    found.start[1] +
                    ((double)bin[1] + ((double)sx + 0.5) / (double)found.samples[1]) * found.bin[1];
                add_sample(op, image, y, x, sy == 0 && sx == 0, sums);
            }
        }
        const int64_t samples = found.samples[0] * found.samples[1];
        for (int64_t c = 0; c < channels; c++) {
            const double mean = params->max || samples < 1 ? sums[c] : sums[c] / (double)samples;
            ln_store_f64(output->dtype, output->data, (roi * channels + c) * bins + i % bins, 1, &mean);
        }
    }
}

enum { MOST_SAMPLES = 2048 }; /* of one bin, along one axis: a region of that many pixels */

static ln_status run_align(ln_op *op) {
    const roi_params *params = op->params;
    const int64_t images = ln_in(op, 0)->shape.dims[0];
    const int64_t rois = ln_in(op, 1)->shape.dims[0];
    for (int64_t i = 0; i < rois; i++) {
        const int64_t image = ln_index_at(ln_in(op, 2), i);
        LN_OP_CHECK(op, image >= 0 && image < images, INVALID_VALUE,
                    "batch index %lld is out of bounds for %lld images", (long long)image, (long long)images);
        const region found = read_region(op, i);
        LN_OP_CHECK(op, found.samples[0] >= 0 && found.samples[1] >= 0, INVALID_VALUE,
                    "roi %lld is not finite, or too large", (long long)i);
        LN_OP_CHECK(op, found.samples[0] <= MOST_SAMPLES && found.samples[1] <= MOST_SAMPLES, LIMIT_EXCEEDED,
                    "roi %lld takes %lld x %lld samples for each bin, at most %d are supported", (long long)i,
                    (long long)found.samples[0], (long long)found.samples[1], MOST_SAMPLES);
    }
    const ln_value *output = ln_out(op, 0);
    if (!output || ln_value_count(output) == 0) {
        return LN_OK;
    }
    const ln_shape *x = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, x->dims[2] > 0 && x->dims[3] > 0, INVALID_SHAPE, "the images are empty");
    return ln_op_grid(op, align_task, ln_block_tasks(rois * params->height * params->width, bin_cost(op)));
}

/* MaxRoiPool -------------------------------------------------------------------------------------------- */

static ln_status build_pool(ln_build *build) {
    roi_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        int count;
        const int64_t *shape = ln_attr_ints(build, "pooled_shape", &count);
        if (count != 2) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "pooled_shape has %d entries, expected height and width", count);
        }
        params->height = shape[0];
        params->width = shape[1];
        params->scale = (double)ln_attr_float(build, "spatial_scale", 1);
        return check_bins(build, params);
    }
    return ln_build_status(build);
}

static ln_status infer_pool(ln_op *op) {
    return infer_bins(op, 5);
}

/* Rows (or columns) [*begin, *end) of the image that bin `bin` covers. */
static void bin_range(double first, double last, int64_t bin, int64_t bins, int64_t n, int64_t *begin,
                      int64_t *end) {
    const double size = fmax(last - first + 1, 1) / (double)bins;
    const double low = floor((double)bin * size) + first;
    const double high = ceil((double)(bin + 1) * size) + first;
    const double most = (double)n;
    *begin = (int64_t)(low > 0 ? low < most ? low : most : 0);
    *end = (int64_t)(high > 0 ? high < most ? high : most : 0);
}

/* One region and channel. */
static void pool_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const roi_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    const int64_t channels = input->shape.dims[1];
    const int64_t height = input->shape.dims[2];
    const int64_t width = input->shape.dims[3];
    const int64_t roi = index / channels;
    double corner[5]; /* image, x1, y1, x2, y2 */
    for (int i = 0; i < 5; i++) {
        corner[i] = ln_number_at(ln_in(op, 1), roi * 5 + i);
        corner[i] = i > 0 ? round(corner[i] * params->scale) : corner[i];
    }
    const int64_t plane = ((int64_t)corner[0] * channels + index % channels) * height * width;
    for (int64_t bin = 0; bin < params->height * params->width; bin++) {
        int64_t y0, y1, x0, x1;
        bin_range(corner[2], corner[4], bin / params->width, params->height, height, &y0, &y1);
        bin_range(corner[1], corner[3], bin % params->width, params->width, width, &x0, &x1);
        double most = y0 < y1 && x0 < x1 ? -INFINITY : 0;
        for (int64_t y = y0; y < y1; y++) {
            for (int64_t x = x0; x < x1; x++) {
                const double value = ln_number_at(input, plane + y * width + x);
                most = value > most || value != value ? value : most;
            }
        }
        ln_store_f64(output->dtype, output->data, index * params->height * params->width + bin, 1, &most);
    }
}

static ln_status run_pool(ln_op *op) {
    const ln_shape *x = &ln_in(op, 0)->shape;
    const int64_t rois = ln_in(op, 1)->shape.dims[0];
    for (int64_t i = 0; i < rois; i++) {
        const double image = ln_number_at(ln_in(op, 1), i * 5);
        LN_OP_CHECK(op, image >= 0 && image < (double)x->dims[0], INVALID_VALUE,
                    "batch index %g is out of bounds for %lld images", image, (long long)x->dims[0]);
        for (int c = 1; c < 5; c++) {
            LN_OP_CHECK(op, fabs(ln_number_at(ln_in(op, 1), i * 5 + c)) < 1e9, INVALID_VALUE,
                        "roi %lld is not finite, or too large", (long long)i);
        }
    }
    return ln_out(op, 0) ? ln_op_grid(op, pool_task, rois * x->dims[1]) : LN_OK;
}

/* NonMaxSuppression ------------------------------------------------------------------------------------- */

static ln_status build_nms(ln_build *build) {
    roi_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->center = ln_attr_bool(build, "center_point_box", false);
    }
    return ln_build_status(build);
}

static ln_status infer_nms(ln_op *op) {
    if (ln_out(op, 0)) {
        ln_out(op, 0)->kind = LN_KIND_TENSOR;
        ln_out(op, 0)->dtype = LN_INT64;
    }
    return LN_OK;
}

typedef struct box {
    float low[2], high[2], area;
} box;

/* Everything that one class of one image needs. */
typedef struct nms_work {
    box *boxes;
    const float *scores;
    int32_t *heap; /* candidates, best on top */
    int32_t *selected;
    int64_t n, most;
    bool has_threshold;
    float overlap, threshold;
} nms_work;

static void load_boxes(const float *data, int64_t n, bool center, box *boxes) {
    for (int64_t i = 0; i < n; i++) {
        const float *from = data + i * 4;
        for (int d = 0; d < 2; d++) {
            const float a = center ? from[d] - from[2 + d] / 2 : from[d];
            const float b = center ? from[d] + from[2 + d] / 2 : from[2 + d];
            boxes[i].low[d] = a < b ? a : b;
            boxes[i].high[d] = a < b ? b : a;
        }
        boxes[i].area = (boxes[i].high[0] - boxes[i].low[0]) * (boxes[i].high[1] - boxes[i].low[1]);
    }
}

static bool overlaps(const box *a, const box *b, float most) {
    const float height =
        (a->high[0] < b->high[0] ? a->high[0] : b->high[0]) - (a->low[0] > b->low[0] ? a->low[0] : b->low[0]);
    const float width =
        (a->high[1] < b->high[1] ? a->high[1] : b->high[1]) - (a->low[1] > b->low[1] ? a->low[1] : b->low[1]);
    if (!(height > 0 && width > 0) || a->area <= 0 || b->area <= 0) {
        return false;
    }
    const float both = height * width;
    return both / (a->area + b->area - both) > most;
}

/* Is candidate a better than b? Of equal scores the first box. */
static bool is_better(const float *scores, int32_t a, int32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

static void sift_down(const float *scores, int32_t *heap, int64_t count, int64_t at) {
    const int32_t moved = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_better(scores, heap[child + 1], heap[child])) {
            child++;
        }
        if (!is_better(scores, heap[child], moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Fills work->selected; returns how many. */
static int64_t suppress(const nms_work *work) {
    int64_t candidates = 0;
    int64_t found = 0;
    for (int64_t i = 0; i < work->n; i++) {
        if (work->has_threshold ? work->scores[i] > work->threshold : work->scores[i] == work->scores[i]) {
            work->heap[candidates++] = (int32_t)i;
        }
    }
    for (int64_t i = candidates / 2 - 1; i >= 0; i--) {
        sift_down(work->scores, work->heap, candidates, i);
    }
    while (candidates > 0 && found < work->most) {
        const int32_t best = work->heap[0];
        work->heap[0] = work->heap[--candidates];
        if (candidates > 0) {
            sift_down(work->scores, work->heap, candidates, 0);
        }
        bool keep = true;
        for (int64_t i = 0; i < found && keep; i++) {
            keep = !overlaps(&work->boxes[best], &work->boxes[work->selected[i]], work->overlap);
        }
        if (keep) {
            work->selected[found++] = best;
        }
    }
    return found;
}

/* Appends [image, class, box] triples to a block that doubles. */
static ln_status add_triples(ln_op *op, const nms_work *work, int64_t image, int64_t class_index,
                             int64_t found, int64_t **triples, int64_t *count, int64_t *capacity) {
    if (*count + found > *capacity) {
        const int64_t larger = 2 * *capacity + found + 64;
        int64_t *grown = ln_alloc(op->context, (size_t)larger * 3 * sizeof(**triples), LN_MEMORY_SCRATCH);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        memcpy(grown, *triples, (size_t)*count * 3 * sizeof(**triples));
        ln_free(op->context, *triples);
        *triples = grown;
        *capacity = larger;
    }
    for (int64_t i = 0; i < found; i++) {
        const int64_t triple[3] = {image, class_index, work->selected[i]};
        memcpy(*triples + (*count + i) * 3, triple, sizeof(triple));
    }
    *count += found;
    return LN_OK;
}

/* All images and classes; the result is in *triples. */
static ln_status find_boxes(ln_op *op, nms_work *work, int64_t **triples, int64_t *count) {
    const roi_params *params = op->params;
    const ln_shape *scores = &ln_in(op, 1)->shape;
    int64_t capacity = 64;
    for (int64_t image = 0; image < scores->dims[0]; image++) {
        load_boxes((const float *)ln_in(op, 0)->data + image * work->n * 4, work->n, params->center,
                   work->boxes);
        for (int64_t c = 0; c < scores->dims[1]; c++) {
            work->scores = (const float *)ln_in(op, 1)->data + (image * scores->dims[1] + c) * work->n;
            LN_TRY(add_triples(op, work, image, c, suppress(work), triples, count, &capacity));
        }
    }
    return LN_OK;
}

/* The one number of an optional input. */
static ln_status read_float(ln_op *op, int index, float *value, bool *given) {
    const ln_value *input = ln_in(op, index);
    *given = input && ln_value_count(input) > 0;
    LN_OP_CHECK(op, !*given || ln_value_count(input) == 1, INVALID_SHAPE,
                "input %d must hold one number, it has %lld", index, (long long)ln_value_count(input));
    if (*given) {
        *value = *(const float *)input->data;
    }
    return LN_OK;
}

static ln_status read_nms(ln_op *op, nms_work *work) {
    const ln_shape *boxes = &ln_in(op, 0)->shape;
    const ln_shape *scores = &ln_in(op, 1)->shape;
    const ln_value *most = ln_in(op, 2);
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op,
                boxes->rank == 3 && scores->rank == 3 && boxes->dims[2] == 4 &&
                    boxes->dims[0] == scores->dims[0] && boxes->dims[1] == scores->dims[2] &&
                    boxes->dims[1] <= INT32_MAX,
                INVALID_SHAPE, "boxes of shape %s do not fit scores of shape %s",
                ln_shape_text(boxes, text[0]), ln_shape_text(scores, text[1]));
    LN_OP_CHECK(op, !most || ln_value_count(most) <= 1, INVALID_SHAPE,
                "input 2 must hold one number, it has %lld", (long long)ln_value_count(most));
    bool given;
    work->n = boxes->dims[1];
    work->most = most && ln_value_count(most) == 1 ? ln_index_at(most, 0) : 0;
    LN_TRY(read_float(op, 3, &work->overlap, &given));
    LN_OP_CHECK(op, work->overlap >= 0 && work->overlap <= 1, INVALID_VALUE,
                "iou_threshold is %g, expected 0 to 1", (double)work->overlap);
    return read_float(op, 4, &work->threshold, &work->has_threshold);
}

static ln_status run_nms(ln_op *op) {
    nms_work work = {0};
    LN_TRY(read_nms(op, &work));
    const size_t n = (size_t)work.n;
    int64_t count = 0;
    int64_t *triples = ln_alloc(op->context, 64 * 3 * sizeof(*triples), LN_MEMORY_SCRATCH);
    unsigned char *memory = ln_alloc(op->context, n * (sizeof(box) + 2 * sizeof(int32_t)), LN_MEMORY_SCRATCH);
    ln_status status = triples && memory ? LN_OK : LN_OUT_OF_MEMORY;
    if (status == LN_OK && work.most > 0) {
        work.boxes = (box *)(void *)memory;
        work.heap = (int32_t *)(void *)(memory + n * sizeof(box));
        work.selected = work.heap + n;
        status = find_boxes(op, &work, &triples, &count);
    }
    const int64_t dims[2] = {count, 3};
    const ln_shape shape = ln_shape_of(2, dims);
    if (status == LN_OK) {
        status = ln_op_make(op, 0, LN_INT64, &shape);
    }
    if (status == LN_OK && ln_out(op, 0)) {
        memcpy(ln_out(op, 0)->data, triples, (size_t)count * 3 * sizeof(*triples));
    }
    ln_free(op->context, memory);
    ln_free(op->context, triples);
    return status;
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define ROW(name, since, until, signature, types, build, infer, run, flags)                                  \
    {name, "", since, until, signature, {types}, build, infer, run, NULL, flags, NULL}
#define ALIGN(since, until, types)                                                                           \
    ROW("RoiAlign", since, until, "AAl>A", types, build_align, infer_align, run_align, 0)
#define POOL(since, until, types)                                                                            \
    ROW("MaxRoiPool", since, until, "AA>A", types, build_pool, infer_pool, run_pool, 0)
#define NMS(since, until)                                                                                    \
    ROW("NonMaxSuppression", since, until, "ffl?f?f?>l", LN_BIT(LN_FLOAT), build_nms, infer_nms, run_nms,    \
        LN_OP_DYNAMIC)

static const ln_op_row rows[] = {
    ALIGN(10, 15, LN_T_FLOAT), ALIGN(16, 21, LN_T_FLOAT),        ALIGN(22, LN_OPEN, LN_T_FLOAT_BF),
    POOL(1, 21, LN_T_FLOAT),   POOL(22, LN_OPEN, LN_T_FLOAT_BF), NMS(10, 10),
    NMS(11, LN_OPEN),
};

LN_FAMILY_TABLE(roi, rows);
