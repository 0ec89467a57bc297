/* Building and walking decision trees. See ops/ml_forest.h.
 *
 * The older operators name nodes by (tree, node) pairs in any order; sorting the pairs gives each a place. Walking a tree is
 * comparing in double, which holds every float32 feature and threshold exactly.
 */
#include "ops/ml_forest.h"

#include <math.h>
#include <string.h>

/* Lists of the attributes ---------------------------------------------------------------------------------------- */

/* Floats from a list attribute or from a tensor attribute "<name>_as_tensor", as doubles; *count is 0 when absent. */
static double *read_numbers(ln_build *build, const char *name, const char *tensor_name, int *count) {
    int n = 0;
    const float *floats = name != NULL ? ln_attr_floats(build, name, &n) : NULL;
    const ln_value *tensor =
        floats == NULL && tensor_name != NULL ? ln_attr_tensor(build, tensor_name) : NULL;
    const int64_t total = tensor != NULL ? ln_value_count(tensor) : n;
    *count = total < INT32_MAX / 2 ? (int)total : 0;
    double *numbers = ln_arena_array(build->arena, (size_t)*count + 1, sizeof(*numbers));
    if (numbers == NULL) {
        *count = 0;
        build->status = LN_OUT_OF_MEMORY;
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        numbers[i] = (double)floats[i];
    }
    if (tensor != NULL) {
        ln_load_f64(tensor->dtype, tensor->data, 0, *count, numbers);
    }
    return numbers;
}

static bool in_range(int64_t value, int64_t end) {
    return value >= 0 && value < end;
}

static void *allocate(ln_build *build, int count, size_t size) {
    void *memory = ln_arena_array(build->arena, (size_t)count + 1, size);
    if (memory == NULL) {
        build->status = LN_OUT_OF_MEMORY;
    }
    return memory;
}

/* (tree, node) pairs, sorted ----------------------------------------------------------------------------------------- */

typedef struct node_name {
    int64_t tree, node;
    int32_t place;
} node_name;

static bool name_before(const node_name *a, const node_name *b) {
    return a->tree < b->tree || (a->tree == b->tree && a->node < b->node);
}

static void sift_down(node_name *names, int32_t root, int32_t end) {
    while (2 * root + 1 < end) {
        int32_t child = 2 * root + 1;
        child += child + 1 < end && name_before(&names[child], &names[child + 1]);
        if (!name_before(&names[root], &names[child])) {
            return;
        }
        const node_name held = names[root];
        names[root] = names[child];
        names[child] = held;
        root = child;
    }
}

static void sort_names(node_name *names, int32_t count) {
    for (int32_t root = count / 2 - 1; root >= 0; root--) {
        sift_down(names, root, count);
    }
    for (int32_t end = count - 1; end > 0; end--) {
        const node_name held = names[0];
        names[0] = names[end];
        names[end] = held;
        sift_down(names, 0, end);
    }
}

/* Place of a node, or -1. */
static int32_t find_name(const node_name *names, int32_t count, int64_t tree, int64_t node) {
    const node_name wanted = {tree, node, 0};
    int32_t low = 0;
    int32_t high = count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (name_before(&names[middle], &wanted)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && names[low].tree == tree && names[low].node == node ? names[low].place : -1;
}

/* The older form ------------------------------------------------------------------------------------------------------ */

typedef struct old_nodes {
    const int64_t *trees, *nodes, *features, *yes, *no, *missing;
    const ln_string *modes;
    const double *values;
    int count;
} old_nodes;

static int read_mode(const ln_string *mode) {
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
    for (int i = 0; i < 8; i++) {
        if (strlen(names[i]) == mode->length && memcmp(names[i], mode->data, mode->length) == 0) {
            return i;
        }
    }
    return -1;
}

static ln_status read_old_nodes(ln_build *build, old_nodes *old) {
    int counts[8] = {0};
    old->trees = ln_attr_ints(build, "nodes_treeids", &counts[0]);
    old->nodes = ln_attr_ints(build, "nodes_nodeids", &counts[1]);
    old->features = ln_attr_ints(build, "nodes_featureids", &counts[2]);
    old->yes = ln_attr_ints(build, "nodes_truenodeids", &counts[3]);
    old->no = ln_attr_ints(build, "nodes_falsenodeids", &counts[4]);
    old->modes = ln_attr_strings(build, "nodes_modes", &counts[5]);
    old->values = read_numbers(build, "nodes_values", "nodes_values_as_tensor", &counts[6]);
    old->missing = ln_attr_ints(build, "nodes_missing_value_tracks_true", &counts[7]);
    LN_TRY(ln_build_status(build));
    for (int i = 0; i < 8; i++) {
        if (counts[i] != counts[0] && (i != 7 || counts[i] != 0)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the nodes_* attributes have %d and %d entries",
                                 counts[0], counts[i]);
        }
    }
    old->count = counts[0];
    return LN_OK;
}

/* Weights of leaves, ordered by leaf. */
static ln_status attach_weights(ln_build *build, ln_forest *forest, const node_name *names,
                                const char *prefix) {
    static const char *const parts[] = {"treeids", "nodeids", "ids", "weights", "weights_as_tensor"};
    char name[5][40];
    int counts[4] = {0};
    for (int i = 0; i < 5; i++) {
        ln_format(name[i], sizeof(name[i]), "%s_%s", prefix, parts[i]);
    }
    const int64_t *trees = ln_attr_ints(build, name[0], &counts[0]);
    const int64_t *nodes = ln_attr_ints(build, name[1], &counts[1]);
    const int64_t *ids = ln_attr_ints(build, name[2], &counts[2]);
    const double *weights = read_numbers(build, name[3], name[4], &counts[3]);
    const int count = counts[0];
    int32_t *leaves = allocate(build, count, sizeof(*leaves));
    forest->targets = allocate(build, count, sizeof(*forest->targets));
    forest->weights = allocate(build, count, sizeof(*forest->weights));
    LN_TRY(ln_build_status(build));
    if (counts[1] != count || counts[2] != count || counts[3] != count) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "the %s_* attributes have %d, %d, %d and %d entries", prefix, count, counts[1],
                             counts[2], counts[3]);
    }
    forest->n_weights = count;
    for (int i = 0; i < count; i++) {
        leaves[i] = find_name(names, forest->n_nodes, trees[i], nodes[i]);
        if (leaves[i] < 0 || !in_range(ids[i], INT32_MAX)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "weight %d belongs to node %lld of tree %lld, which does not exist", i,
                                 (long long)nodes[i], (long long)trees[i]);
        }
        /* Weights of inner nodes mean nothing. */
        forest->nodes[leaves[i]].no += forest->nodes[leaves[i]].branch == LN_BRANCH_LEAF;
    }
    int32_t first = 0;
    for (int32_t i = 0; i < forest->n_nodes; i++) {
        if (forest->nodes[i].branch == LN_BRANCH_LEAF) {
            forest->nodes[i].yes = first;
            first += forest->nodes[i].no;
            forest->nodes[i].no = 0;
        }
    }
    for (int i = 0; i < count; i++) {
        ln_tree_node *leaf = &forest->nodes[leaves[i]];
        if (leaf->branch == LN_BRANCH_LEAF) {
            forest->targets[leaf->yes + leaf->no] = (int32_t)ids[i];
            forest->weights[leaf->yes + leaf->no++] = weights[i];
        }
    }
    return LN_OK;
}

ln_status ln_forest_build_old(ln_build *build, ln_forest *forest, const char *prefix) {
    old_nodes old;
    LN_TRY(read_old_nodes(build, &old));
    node_name *names = allocate(build, old.count, sizeof(*names));
    bool *has_parent = allocate(build, old.count, sizeof(*has_parent));
    forest->n_nodes = old.count;
    forest->nodes = allocate(build, old.count, sizeof(*forest->nodes));
    forest->roots = allocate(build, old.count, sizeof(*forest->roots));
    forest->base = read_numbers(build, "base_values", "base_values_as_tensor", &forest->n_base);
    LN_TRY(ln_build_status(build));
    for (int i = 0; i < old.count; i++) {
        names[i] = (node_name){old.trees[i], old.nodes[i], i};
    }
    sort_names(names, old.count);
    for (int i = 0; i < old.count; i++) {
        ln_tree_node *node = &forest->nodes[i];
        const int mode = read_mode(&old.modes[i]);
        if (mode < 0 || mode == LN_BRANCH_MEMBER) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "nodes_modes has the unknown entry '%.*s'",
                                 (int)(old.modes[i].length < 40 ? old.modes[i].length : 40),
                                 old.modes[i].data);
        }
        node->branch = (uint8_t)mode;
        node->missing_is_true = old.missing != NULL && old.missing[i] != 0;
        node->split = old.values[i];
        if (mode == LN_BRANCH_LEAF) {
            continue;
        }
        if (!in_range(old.features[i], INT32_MAX)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "node %d tests feature %lld", i,
                                 (long long)old.features[i]);
        }
        node->feature = (int32_t)old.features[i];
        node->yes = find_name(names, old.count, old.trees[i], old.yes[i]);
        node->no = find_name(names, old.count, old.trees[i], old.no[i]);
        if (node->yes < 0 || node->no < 0) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "node %lld of tree %lld has a child that does not exist",
                                 (long long)old.nodes[i], (long long)old.trees[i]);
        }
        has_parent[node->yes] = true;
        has_parent[node->no] = true;
    }
    for (int i = 0; i < old.count; i++) {
        if (!has_parent[i]) {
            forest->roots[forest->n_roots++] = i;
        }
    }
    return attach_weights(build, forest, names, prefix);
}

/* The newer form ------------------------------------------------------------------------------------------------------- */

typedef struct new_nodes {
    const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *missing, *targets, *roots;
    const double *modes, *splits, *weights, *members;
    int count, leaves, n_roots, n_members;
} new_nodes;

static ln_status read_new_nodes(ln_build *build, new_nodes *read) {
    int counts[8] = {0};
    int targets = 0;
    read->features = ln_attr_ints(build, "nodes_featureids", &counts[0]);
    read->yes = ln_attr_ints(build, "nodes_truenodeids", &counts[1]);
    read->no = ln_attr_ints(build, "nodes_falsenodeids", &counts[2]);
    read->yes_leaf = ln_attr_ints(build, "nodes_trueleafs", &counts[3]);
    read->no_leaf = ln_attr_ints(build, "nodes_falseleafs", &counts[4]);
    read->modes = read_numbers(build, NULL, "nodes_modes", &counts[5]);
    read->splits = read_numbers(build, NULL, "nodes_splits", &counts[6]);
    read->missing = ln_attr_ints(build, "nodes_missing_value_tracks_true", &counts[7]);
    read->targets = ln_attr_ints(build, "leaf_targetids", &targets);
    read->weights = read_numbers(build, NULL, "leaf_weights", &read->leaves);
    read->members = read_numbers(build, NULL, "membership_values", &read->n_members);
    read->roots = ln_attr_ints(build, "tree_roots", &read->n_roots);
    LN_TRY(ln_build_status(build));
    for (int i = 0; i < 8; i++) {
        if (counts[i] != counts[0] && (i != 7 || counts[i] != 0)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the nodes_* attributes have %d and %d entries",
                                 counts[0], counts[i]);
        }
    }
    if (targets != read->leaves || read->n_roots == 0) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "there are %d leaf_targetids, %d leaf_weights and %d tree_roots", targets,
                             read->leaves, read->n_roots);
    }
    read->count = counts[0];
    return LN_OK;
}

static ln_status fill_new_node(ln_build *build, const new_nodes *read, int i, int *member,
                               ln_tree_node *node) {
    const int mode = (int)read->modes[i];
    const bool yes_leaf = read->yes_leaf[i] != 0;
    const bool no_leaf = read->no_leaf[i] != 0;
    if (mode < 0 || mode > LN_BRANCH_MEMBER || !in_range(read->features[i], INT32_MAX) ||
        !in_range(read->yes[i], yes_leaf ? read->leaves : read->count) ||
        !in_range(read->no[i], no_leaf ? read->leaves : read->count)) {
        return ln_build_fail(
            build, LN_INVALID_ATTRIBUTE,
            "node %d has mode %d, feature %lld and children %lld and %lld, of which one is unknown", i, mode,
            (long long)read->features[i], (long long)read->yes[i], (long long)read->no[i]);
    }
    node->branch = (uint8_t)mode;
    node->missing_is_true = read->missing != NULL && read->missing[i] != 0;
    node->feature = (int32_t)read->features[i];
    node->split = read->splits[i];
    node->yes = (int32_t)(read->yes[i] + (yes_leaf ? read->count : 0));
    node->no = (int32_t)(read->no[i] + (no_leaf ? read->count : 0));
    if (mode == LN_BRANCH_MEMBER) {
        node->first_member = *member;
        while (*member < read->n_members && read->members[*member] == read->members[*member]) {
            (*member)++;
        }
        node->n_members = *member - node->first_member;
        (*member)++; /* the NaN that ends the set */
    }
    return LN_OK;
}

ln_status ln_forest_build_new(ln_build *build, ln_forest *forest) {
    new_nodes read;
    LN_TRY(read_new_nodes(build, &read));
    if (read.count > INT32_MAX / 2 - read.leaves) {
        return ln_build_fail(build, LN_LIMIT_EXCEEDED, "there are too many nodes");
    }
    forest->n_nodes = read.count + read.leaves;
    forest->n_weights = read.leaves;
    forest->n_roots = read.n_roots;
    forest->nodes = allocate(build, forest->n_nodes, sizeof(*forest->nodes));
    forest->roots = allocate(build, read.n_roots, sizeof(*forest->roots));
    forest->targets = allocate(build, read.leaves, sizeof(*forest->targets));
    forest->weights = allocate(build, read.leaves, sizeof(*forest->weights));
    forest->members = (double *)(uintptr_t)read.members;
    LN_TRY(ln_build_status(build));
    int member = 0;
    for (int i = 0; i < read.count; i++) {
        LN_TRY(fill_new_node(build, &read, i, &member, &forest->nodes[i]));
    }
    for (int i = 0; i < read.leaves; i++) {
        forest->nodes[read.count + i].branch = LN_BRANCH_LEAF;
        forest->nodes[read.count + i].yes = i;
        forest->nodes[read.count + i].no = 1;
        forest->targets[i] = in_range(read.targets[i], INT32_MAX) ? (int32_t)read.targets[i] : INT32_MAX;
        forest->weights[i] = read.weights[i];
    }
    for (int i = 0; i < read.n_roots; i++) {
        if (!in_range(read.roots[i], read.count)) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "tree_roots has the entry %lld",
                                 (long long)read.roots[i]);
        }
        forest->roots[i] = (int32_t)read.roots[i];
    }
    return LN_OK;
}

/* Check and walk --------------------------------------------------------------------------------------------------------- */

/* Walks from every root with a stack of its own; a node on the path from its root may not come again. */
static ln_status check_cycles(ln_build *build, const ln_forest *forest) {
    enum { NEW, OPEN, DONE };
    uint8_t *state = allocate(build, forest->n_nodes, sizeof(*state));
    int32_t *stack = allocate(build, 2 * forest->n_nodes, sizeof(*stack));
    LN_TRY(ln_build_status(build));
    for (int32_t r = 0; r < forest->n_roots; r++) {
        int32_t depth = 0;
        stack[depth++] = forest->roots[r];
        while (depth > 0) {
            const int32_t at = stack[depth - 1];
            const ln_tree_node *node = &forest->nodes[at];
            if (state[at] != NEW || node->branch == LN_BRANCH_LEAF) {
                state[at] = DONE;
                depth--;
                continue;
            }
            state[at] = OPEN;
            for (int i = 0; i < 2; i++) {
                const int32_t child = i == 0 ? node->yes : node->no;
                if (state[child] == OPEN) {
                    return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the nodes of a tree form a circle");
                }
                if (state[child] == NEW && depth < 2 * forest->n_nodes) {
                    stack[depth++] = child;
                }
            }
        }
    }
    for (int32_t i = 0; i < forest->n_nodes; i++) {
        if (state[i] == NEW && forest->nodes[i].branch != LN_BRANCH_LEAF) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "node %d is reached from no root: the nodes of a tree form a circle",
                                 (int)i);
        }
    }
    return LN_OK;
}

ln_status ln_forest_check(ln_build *build, ln_forest *forest) {
    for (int32_t i = 0; i < forest->n_nodes; i++) {
        const ln_tree_node *node = &forest->nodes[i];
        if (node->branch != LN_BRANCH_LEAF && node->feature >= forest->n_features) {
            forest->n_features = node->feature + 1;
        }
    }
    for (int32_t i = 0; i < forest->n_weights; i++) {
        if (forest->targets[i] >= forest->n_targets) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "weight %d has target %d, there are %d targets",
                                 (int)i, (int)forest->targets[i], (int)forest->n_targets);
        }
    }
    return check_cycles(build, forest);
}

static bool is_member(const ln_forest *forest, const ln_tree_node *node, double value) {
    for (int32_t i = 0; i < node->n_members; i++) {
        if (forest->members[node->first_member + i] == value) {
            return true;
        }
    }
    return false;
}

static bool test(const ln_forest *forest, const ln_tree_node *node, double value) {
    if (value != value && node->missing_is_true) {
        return true;
    }
    switch (node->branch) {
    case LN_BRANCH_LEQ:
        return value <= node->split;
    case LN_BRANCH_LT:
        return value < node->split;
    case LN_BRANCH_GTE:
        return value >= node->split;
    case LN_BRANCH_GT:
        return value > node->split;
    case LN_BRANCH_EQ:
        return value == node->split;
    case LN_BRANCH_NEQ:
        return value != node->split;
    default:
        return is_member(forest, node, value);
    }
}

void ln_forest_score(const ln_forest *forest, const double *features, double *scores, bool *seen) {
    for (int32_t t = 0; t < forest->n_targets; t++) {
        scores[t] = 0;
        seen[t] = false;
    }
    for (int32_t r = 0; r < forest->n_roots; r++) {
        const ln_tree_node *node = &forest->nodes[forest->roots[r]];
        while (node->branch != LN_BRANCH_LEAF) {
            node = &forest->nodes[test(forest, node, features[node->feature]) ? node->yes : node->no];
        }
        for (int32_t i = node->yes; i < node->yes + node->no; i++) {
            const int32_t target = forest->targets[i];
            const double weight = forest->weights[i];
            double *const score = &scores[target];
            if (forest->aggregate == LN_AGGREGATE_MIN) {
                *score = !seen[target] || weight < *score ? weight : *score;
            } else if (forest->aggregate == LN_AGGREGATE_MAX) {
                *score = !seen[target] || weight > *score ? weight : *score;
            } else {
                *score += weight;
            }
            seen[target] = true;
        }
    }
    for (int32_t t = 0; t < forest->n_targets && forest->aggregate == LN_AGGREGATE_AVERAGE; t++) {
        scores[t] /= forest->n_roots;
    }
}
