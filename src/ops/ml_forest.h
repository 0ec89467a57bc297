/* A forest of decision trees, built from either form that the standard has. */
#ifndef LN_OPS_ML_FOREST_H
#define LN_OPS_ML_FOREST_H

#include "ops/ml_scores.h"

typedef enum ln_branch { /* numbers of TreeEnsemble-5 */
                         LN_BRANCH_LEQ,
                         LN_BRANCH_LT,
                         LN_BRANCH_GTE,
                         LN_BRANCH_GT,
                         LN_BRANCH_EQ,
                         LN_BRANCH_NEQ,
                         LN_BRANCH_MEMBER,
                         LN_BRANCH_LEAF
} ln_branch;

typedef struct ln_tree_node {
    uint8_t branch; /* ln_branch */
    bool missing_is_true;
    int32_t feature;
    int32_t yes, no;      /* nodes; of a leaf: its first weight, and their number */
    int32_t first_member; /* of a member test: in `members`, */
    int32_t n_members;    /* and how many */
    double split;
} ln_tree_node;

typedef enum ln_aggregate {
    LN_AGGREGATE_AVERAGE,
    LN_AGGREGATE_SUM,
    LN_AGGREGATE_MIN,
    LN_AGGREGATE_MAX
} ln_aggregate;

typedef struct ln_forest {
    int32_t n_nodes, n_roots, n_weights;
    ln_tree_node *nodes;
    int32_t *roots;
    int32_t *targets; /* [n_weights] */
    double *weights;
    double *members;
    int32_t n_features; /* one more than the largest feature tested */
    int32_t n_targets;
    ln_aggregate aggregate;
    double *base; /* n_base numbers, or NULL */
    int32_t n_base;
} ln_forest;

/* nodes_* and <prefix>_treeids, _nodeids, _ids, _weights of the older operators; `prefix` is "target" or "class". Sets neither
 * n_targets nor aggregate, and leaves target ids unchecked. */
ln_status ln_forest_build_old(ln_build *build, ln_forest *forest, const char *prefix);
/* The attributes of TreeEnsemble-5. */
ln_status ln_forest_build_new(ln_build *build, ln_forest *forest);
/* Every child exists, nothing is circular, every target is below n_targets; counts features. */
ln_status ln_forest_check(ln_build *build, ln_forest *forest);

/* Sums, minima or maxima of the trees' weights for one row of features; seen[t] says whether any leaf had target t. */
void ln_forest_score(const ln_forest *forest, const double *features, double *scores, bool *seen);

#endif
