/* CropAndResize: boxes cut out of images, each brought to one size.
 *
 * X [N, C, H, W], boxes [n, 4] as y1, x1, y2, x2 in shares of the image (0 is the first row's centre, 1 the last's),
 * Y [n, C, height, width]. Corners of a crop lie on corners of its box; a crop of one row takes the box's middle. What lies outside
 * the image gets extrapolation_value. The taps of a crop's rows and columns are worked out once a box and serve all channels.
 * Source: com.microsoft CropAndResize-1, after TensorFlow's operator.
 */
#include <math.h>

#include "ops/move.h"

enum { X, BOXES, IMAGES, SIZE };

typedef struct crop_params {
    bool nearest;
    double outside;
} crop_params;

/* Two neighbours along an axis and the second one's share; `low` is -1 outside the image. */
typedef struct taps {
    int64_t low, high;
    double share;
} taps;

static ln_status build_crop(ln_build *build) {
    static const char *const modes[] = {"bilinear", "nearest", NULL};
    crop_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->nearest = ln_attr_choice(build, "mode", modes, 0) == 1;
        params->outside = (double)ln_attr_float(build, "extrapolation_value", 0);
    }
    return ln_build_status(build);
}

static ln_status infer_crop(ln_op *op) {
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *boxes = &ln_in(op, BOXES)->shape;
    const ln_shape *images = &ln_in(op, IMAGES)->shape;
    int64_t size[2] = {0};
    int count = 0;
    LN_OP_CHECK(op, x->rank == 4, INVALID_SHAPE, "the input has rank %d, expected 4", (int)x->rank);
    LN_OP_CHECK(
        op, boxes->rank == 2 && boxes->dims[1] == 4 && images->rank == 1 && images->dims[0] == boxes->dims[0],
        INVALID_SHAPE, "rois must have the shape [n,4] and batch_indices the shape [n]");
    LN_TRY(ln_op_ints(op, SIZE, size, 2, &count));
    LN_OP_CHECK(op, count == 2 && size[0] > 0 && size[1] > 0 && size[0] <= INT32_MAX && size[1] <= INT32_MAX,
                INVALID_VALUE, "crop_size must hold a positive height and width");
    const int64_t dims[] = {boxes->dims[0], x->dims[1], size[0], size[1]};
    const ln_shape shape = ln_shape_of(4, dims);
    const uint64_t entries = (uint64_t)size[0] + (uint64_t)size[1];
    LN_OP_CHECK(op, entries < SIZE_MAX / sizeof(taps) / 2, LIMIT_EXCEEDED, "the crops are too large");
    op->task_scratch_bytes = (size_t)entries * sizeof(taps);
    return ln_op_shape(op, 0, ln_in(op, X)->dtype, &shape);
}

/* A number in the precision that positions are computed in: float32, but for float64 inputs. Rounding to a whole position
 * depends on it. */
static double rounded(double x, bool wide) {
    return wide ? x : (double)(float)x;
}

/* Taps of all positions of a crop along an axis of `n` pixels; the box covers first..last of it. */
static void fill_taps(double first, double last, int64_t n, int64_t size, bool nearest, bool wide,
                      taps *list) {
    const double end = (double)(n - 1);
    const double span = rounded(rounded(last - first, wide) * end, wide);
    const double step = size > 1 ? rounded(span / (double)(size - 1), wide) : 0;
    const double start = rounded((size > 1 ? first : 0.5 * rounded(first + last, wide)) * end, wide);
    for (int64_t i = 0; i < size; i++) {
        const double at = rounded(start + rounded((double)i * step, wide), wide);
        if (!(at >= 0 && at <= end)) {
            list[i] = (taps){.low = -1};
        } else if (nearest) {
            list[i] = (taps){.low = (int64_t)round(at), .high = (int64_t)round(at)};
        } else {
            const double low = floor(at);
            list[i] = (taps){(int64_t)low, (int64_t)ceil(at), at - low};
        }
    }
}

/* One crop of one channel. */
static void crop_plane(const ln_op *op, int64_t plane, const taps *ys, const taps *xs, int64_t out) {
    const crop_params *params = op->params;
    const ln_value *x = ln_in(op, X);
    const ln_value *y = ln_out(op, 0);
    const int64_t width = x->shape.dims[3];
    const int64_t first = plane * x->shape.dims[2] * width;
    const int64_t rows = y->shape.dims[2];
    const int64_t columns = y->shape.dims[3];
    for (int64_t i = 0; i < rows * columns; i++) {
        const taps *v = &ys[i / columns];
        const taps *h = &xs[i % columns];
        double result = params->outside;
        if (v->low >= 0 && h->low >= 0) {
            const int64_t top = first + v->low * width;
            const int64_t bottom = first + v->high * width;
            const double a = ln_number_at(x, top + h->low);
            const double b = ln_number_at(x, bottom + h->low);
            const double upper = h->share > 0 ? a + (ln_number_at(x, top + h->high) - a) * h->share : a;
            const double lower = h->share > 0 ? b + (ln_number_at(x, bottom + h->high) - b) * h->share : b;
            result = v->share > 0 ? upper + (lower - upper) * v->share : upper;
        }
        ln_store_f64(y->dtype, y->data, out * rows * columns + i, 1, &result);
    }
}

/* One box. */
static void crop_task(ln_op *op, int64_t index, void *scratch) {
    const crop_params *params = op->params;
    const ln_shape *x = &ln_in(op, X)->shape;
    const ln_shape *y = &ln_out(op, 0)->shape;
    taps *ys = scratch;
    taps *xs = ys + y->dims[2];
    double box[4];
    ln_load_f64(ln_in(op, BOXES)->dtype, ln_in(op, BOXES)->data, index * 4, 4, box);
    const bool wide = ln_in(op, X)->dtype == LN_DOUBLE;
    fill_taps(box[0], box[2], x->dims[2], y->dims[2], params->nearest, wide, ys);
    fill_taps(box[1], box[3], x->dims[3], y->dims[3], params->nearest, wide, xs);
    const int64_t image = ln_index_at(ln_in(op, IMAGES), index);
    for (int64_t c = 0; c < x->dims[1]; c++) {
        crop_plane(op, image * x->dims[1] + c, ys, xs, index * x->dims[1] + c);
    }
}

static ln_status run_crop(ln_op *op) {
    const ln_value *images = ln_in(op, IMAGES);
    const int64_t n = ln_in(op, X)->shape.dims[0];
    for (int64_t i = 0; i < images->shape.dims[0]; i++) {
        const int64_t image = ln_index_at(images, i);
        LN_OP_CHECK(op, image >= 0 && image < n, INVALID_VALUE,
                    "batch index %lld is out of bounds for %lld images", (long long)image, (long long)n);
    }
    return ln_out(op, 0) ? ln_op_grid(op, crop_task, images->shape.dims[0]) : LN_OK;
}

static const ln_op_row rows[] = {
    {"CropAndResize",
     "com.microsoft",
     1,
     LN_OPEN,
     "AAii>A",
     {LN_T_FLOAT},
     build_crop,
     infer_crop,
     run_crop,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(crop_and_resize, rows);
