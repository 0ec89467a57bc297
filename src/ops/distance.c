/* CDist: the distance of every row of A to every row of B.
 *
 * A [M, N], B [K, N], C [M, K]. Metrics differ in what they gather along a row and in how that ends: one table has both. Sums
 * are taken in double. Source: com.microsoft CDist-1, whose metrics are those of scipy.spatial.distance.cdist; a metric that needs
 * more than the two rows (a covariance, a weight) is refused by name.
 */
#include <math.h>

#include "ops/move.h"

/* What a pair of rows gathers: three numbers are enough for every metric. */
typedef struct gathered {
    double sum, left, right;
} gathered;

typedef struct metric_row {
    const char *name;
    void (*add)(gathered *g, double a, double b);
    double (*end)(const gathered *g);
} metric_row;

static void add_square(gathered *g, double a, double b) {
    g->sum += (a - b) * (a - b);
}

static void add_difference(gathered *g, double a, double b) {
    g->sum += fabs(a - b);
}

static void add_largest(gathered *g, double a, double b) {
    const double d = fabs(a - b);
    g->sum = d > g->sum || d != d ? d : g->sum;
}

static void add_relative(gathered *g, double a, double b) {
    const double size = fabs(a) + fabs(b);
    g->sum += size == 0 ? 0 : fabs(a - b) / size;
}

static void add_both(gathered *g, double a, double b) {
    g->sum += fabs(a - b);
    g->left += fabs(a + b);
}

static void add_angle(gathered *g, double a, double b) {
    g->sum += a * b;
    g->left += a * a;
    g->right += b * b;
}

static double end_sum(const gathered *g) {
    return g->sum;
}

static double end_root(const gathered *g) {
    return sqrt(g->sum);
}

static double end_ratio(const gathered *g) {
    return g->sum / g->left;
}

static double end_angle(const gathered *g) {
    return 1 - g->sum / sqrt(g->left * g->right);
}

static const metric_row metrics[] = {
    {"sqeuclidean", add_square, end_sum},   {"euclidean", add_square, end_root},
    {"cityblock", add_difference, end_sum}, {"chebyshev", add_largest, end_sum},
    {"canberra", add_relative, end_sum},    {"braycurtis", add_both, end_ratio},
    {"cosine", add_angle, end_angle},
};
enum { METRICS = sizeof metrics / sizeof metrics[0] };

typedef struct distance_params {
    const metric_row *metric;
} distance_params;

static ln_status build_distance(ln_build *build) {
    const char *names[METRICS + 1] = {NULL};
    for (int i = 0; i < METRICS; i++) {
        names[i] = metrics[i].name;
    }
    distance_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->metric = &metrics[ln_attr_choice(build, "metric", names, 0)];
    }
    return ln_build_status(build);
}

static ln_status infer_distance(ln_op *op) {
    const ln_shape *a = &ln_in(op, 0)->shape;
    const ln_shape *b = &ln_in(op, 1)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, a->rank == 2 && b->rank == 2 && a->dims[1] == b->dims[1], INVALID_SHAPE,
                "inputs of shape %s and %s are not two lists of rows of one length",
                ln_shape_text(a, text[0]), ln_shape_text(b, text[1]));
    const int64_t dims[] = {a->dims[0], b->dims[0]};
    const ln_shape shape = ln_shape_of(2, dims);
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &shape);
}

static double distance(const ln_op *op, const metric_row *metric, int64_t row, int64_t other) {
    const ln_value *const values[] = {ln_in(op, 0), ln_in(op, 1)};
    const int64_t n = values[0]->shape.dims[1];
    const int64_t first[] = {row * n, other * n};
    gathered g = {0};
    for (int64_t at = 0; at < n; at += LN_TILE) {
        double tiles[2][LN_TILE];
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        for (int i = 0; i < 2; i++) {
            ln_load_f64(values[i]->dtype, values[i]->data, first[i] + at, count, tiles[i]);
        }
        for (int64_t i = 0; i < count; i++) {
            metric->add(&g, tiles[0][i], tiles[1][i]);
        }
    }
    return metric->end(&g);
}

/* Bytes that one distance reads: what the grid is cut by. */
static int64_t pair_bytes(const ln_op *op) {
    return (ln_in(op, 0)->shape.dims[1] + 1) * 16;
}

static void distance_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const distance_params *params = op->params;
    const ln_value *output = ln_out(op, 0);
    const int64_t columns = output->shape.dims[1];
    int64_t begin, end;
    ln_block_range(ln_value_count(output), pair_bytes(op), index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const double d = distance(op, params->metric, i / columns, i % columns);
        ln_store_f64(output->dtype, output->data, i, 1, &d);
    }
}

static ln_status run_distance(ln_op *op) {
    const ln_value *output = ln_out(op, 0);
    return output ? ln_op_grid(op, distance_task, ln_block_tasks(ln_value_count(output), pair_bytes(op)))
                  : LN_OK;
}

static const ln_op_row rows[] = {
    {"CDist",
     "com.microsoft",
     1,
     LN_OPEN,
     "AA>A",
     {LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE)},
     build_distance,
     infer_distance,
     run_distance,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(distance, rows);
