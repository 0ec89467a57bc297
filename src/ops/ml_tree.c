/* ai.onnx.ml tree ensembles: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier.
 *
 * The forest is built once; rows of the input are independent tasks. A classifier of two classes whose weights all belong to one
 * class has a single score, whose border is 0.5 when all weights are positive and 0 otherwise.
 */
#include <string.h>

#include "ops/lines.h"
#include "ops/ml_forest.h"

enum { TREE_GRAIN = 4096 };

typedef struct tree_params {
    ln_forest forest;
    ln_transform transform;
    bool classifier;
    ln_labels labels;
    bool single;      /* binary with one score */
    int32_t only;     /* the class that has the weights, when single */
    bool probability; /* all weights are positive */
} tree_params;

/* Build ------------------------------------------------------------------------------------------------------------ */

static ln_status build_regressor(ln_build *build) {
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
    tree_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->transform = ln_transform_attr(build);
    params->forest.aggregate =
        (ln_aggregate)ln_attr_choice(build, "aggregate_function", names, LN_AGGREGATE_SUM);
    const int64_t targets = ln_attr_int(build, "n_targets", 1);
    LN_TRY(ln_build_status(build));
    if (targets < 1 || targets > 1 << 20) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "n_targets is %lld, expected 1 or more",
                             (long long)targets);
    }
    params->forest.n_targets = (int32_t)targets;
    LN_TRY(ln_forest_build_old(build, &params->forest, "target"));
    if (params->forest.n_base != 0 && params->forest.n_base != targets) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "there are %d base_values for %lld targets",
                             (int)params->forest.n_base, (long long)targets);
    }
    return ln_forest_check(build, &params->forest);
}

static ln_status build_ensemble(ln_build *build) {
    tree_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    const int64_t transform = ln_attr_int(build, "post_transform", 0);
    const int64_t aggregate = ln_attr_int(build, "aggregate_function", 1);
    const int64_t targets = ln_attr_int(build, "n_targets", 1);
    LN_TRY(ln_build_status(build));
    if (transform < 0 || transform > LN_TRANSFORM_PROBIT || aggregate < 0 || aggregate > LN_AGGREGATE_MAX ||
        targets < 1 || targets > 1 << 20) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "post_transform %lld, aggregate_function %lld or n_targets %lld "
                             "is out of range",
                             (long long)transform, (long long)aggregate, (long long)targets);
    }
    params->transform = (ln_transform)transform;
    params->forest.aggregate = (ln_aggregate)aggregate;
    params->forest.n_targets = (int32_t)targets;
    LN_TRY(ln_forest_build_new(build, &params->forest));
    return ln_forest_check(build, &params->forest);
}

/* Finds out whether a classifier of two classes has one score. */
static void find_single(tree_params *params) {
    const ln_forest *forest = &params->forest;
    params->probability = true;
    params->only = forest->n_weights > 0 ? forest->targets[0] : 0;
    params->single = params->labels.count <= 2;
    for (int32_t i = 0; i < forest->n_weights; i++) {
        params->probability = params->probability && forest->weights[i] >= 0;
        params->single = params->single && forest->targets[i] == params->only;
    }
}

static ln_status build_classifier(ln_build *build) {
    tree_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->classifier = true;
    params->transform = ln_transform_attr(build);
    params->forest.aggregate = LN_AGGREGATE_SUM;
    LN_TRY(ln_labels_attr(build, "classlabels_strings", "classlabels_int64s", &params->labels));
    params->forest.n_targets = params->labels.count;
    LN_TRY(ln_forest_build_old(build, &params->forest, "class"));
    if (params->forest.n_base > params->labels.count) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "there are %d base_values for %d classes",
                             (int)params->forest.n_base, params->labels.count);
    }
    find_single(params);
    return ln_forest_check(build, &params->forest);
}

/* Infer ------------------------------------------------------------------------------------------------------------- */

static ln_status infer_tree(ln_op *op) {
    const tree_params *params = op->params;
    int64_t rows, columns;
    LN_TRY(ln_table_shape(op, &rows, &columns));
    LN_OP_CHECK(op, columns >= params->forest.n_features, INVALID_SHAPE,
                "the input has %lld features, the trees test %d", (long long)columns,
                (int)params->forest.n_features);
    LN_OP_CHECK(op, columns < INT32_MAX / 32, LIMIT_EXCEEDED, "%lld features are too many",
                (long long)columns);
    const int64_t targets = params->forest.n_targets;
    op->task_scratch_bytes = (size_t)(columns + targets + 2) * sizeof(double) + (size_t)targets;
    const int64_t dims[] = {rows, targets};
    const ln_shape scores = ln_shape_of(2, dims);
    const ln_shape labels = ln_shape_of(1, dims);
    if (!params->classifier) {
        const bool newer = strcmp(op->node->op_type, "TreeEnsemble") == 0;
        return ln_op_shape(op, 0, newer ? ln_in(op, 0)->dtype : LN_FLOAT, &scores);
    }
    LN_TRY(ln_op_shape(op, 0, params->labels.strings != NULL ? LN_STRING : LN_INT64, &labels));
    return ln_op_shape(op, 1, LN_FLOAT, &scores);
}

/* Run ---------------------------------------------------------------------------------------------------------------- */

/* Adds base values and transforms; returns the class. */
static int finish_classes(const tree_params *params, double *scores, const bool *seen) {
    const ln_forest *forest = &params->forest;
    if (params->single && forest->n_base < 2) {
        double score = scores[params->only < forest->n_targets ? params->only : 0];
        score += forest->n_base == 1 ? forest->base[0] : 0;
        const bool yes = score > (params->probability && forest->n_targets == 2 ? 0.5 : 0);
        if (params->only == 1) {
            scores[0] = 0;
            scores[1] = score;
            ln_transform_scores(params->transform, scores, 2);
        } else if (forest->n_targets == 2) {
            ln_transform_binary(params->transform, score, params->probability, scores);
        } else {
            scores[0] = score;
            ln_transform_scores(params->transform, scores, 1);
        }
        return yes;
    }
    int best = -1;
    for (int32_t t = 0; t < forest->n_targets; t++) {
        scores[t] += t < forest->n_base ? forest->base[t] : 0;
        const bool counts = seen[t] || t < forest->n_base;
        best = counts && (best < 0 || scores[t] > scores[best]) ? t : best;
    }
    ln_transform_scores(params->transform, scores, forest->n_targets);
    return best < 0 ? 0 : best;
}

static void tree_row(ln_op *op, int64_t row, int64_t columns, double *memory) {
    const tree_params *params = op->params;
    const ln_forest *forest = &params->forest;
    const ln_value *x = ln_in(op, 0);
    double *features = memory;
    double *scores = memory + columns;
    bool *seen = (bool *)(scores + forest->n_targets + 2);
    ln_load_f64(x->dtype, x->data, row * columns, columns, features);
    ln_forest_score(forest, features, scores, seen);
    ln_value *out = ln_out(op, params->classifier ? 1 : 0);
    if (params->classifier) {
        const int label = finish_classes(params, scores, seen);
        if (ln_out(op, 0) != NULL) {
            ln_labels_store(&params->labels, ln_out(op, 0), row, label);
        }
    } else {
        /* Of several targets, one that no leaf has stays 0, as in other runtimes. */
        for (int32_t t = 0; t < forest->n_base; t++) {
            scores[t] += seen[t] || forest->n_targets == 1 ? forest->base[t] : 0;
        }
        ln_transform_scores(params->transform, scores, forest->n_targets);
    }
    if (out != NULL) {
        ln_store_f64(out->dtype, out->data, row * forest->n_targets, forest->n_targets, scores);
    }
}

static int64_t tree_tasks(const tree_params *params, int64_t rows) {
    return ln_unit_tasks(rows, 16 * (int64_t)params->forest.n_roots, TREE_GRAIN);
}

static void tree_task(ln_op *op, int64_t index, void *scratch) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    const int64_t rows = shape->rank == 1 ? 1 : shape->dims[0];
    int64_t begin, end;
    ln_unit_range(rows, tree_tasks(op->params, rows), index, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        tree_row(op, row, shape->dims[shape->rank - 1], scratch);
    }
}

static ln_status run_tree(ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    return ln_op_grid(op, tree_task, tree_tasks(op->params, shape->rank == 1 ? 1 : shape->dims[0]));
}

/* Rows ------------------------------------------------------------------------------------------------------------------- */

#define T_NUMBERS (LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE) | LN_BIT(LN_INT32) | LN_BIT(LN_INT64))
#define T_LABELS  (LN_BIT(LN_STRING) | LN_BIT(LN_INT64))
#define ML(name, since, signature, types, build)                                                             \
    {name,  "ai.onnx.ml", since,    LN_OPEN, signature, {types, T_LABELS},                                   \
     build, infer_tree,   run_tree, NULL,    0,         NULL}

static const ln_op_row rows[] = {
    ML("TreeEnsemble", 5, "A>A", LN_T_FLOAT, build_ensemble),
    ML("TreeEnsembleRegressor", 1, "A>f", T_NUMBERS, build_regressor),
    ML("TreeEnsembleClassifier", 1, "A>Bf", T_NUMBERS, build_classifier),
};

LN_FAMILY_TABLE(ml_tree, rows);
