/* Graph to better graph: resolves rows, inlines functions, checks types, folds, rewrites, packs weights.
 *
 * ln_compile runs once at the end of a load. What it makes besides the changed graph is kept in ln_program:
 * packed weights, and which rewrites fired how often.
 */
#ifndef LN_COMPILE_COMPILE_H
#define LN_COMPILE_COMPILE_H

#include "ops/op.h"

/* One rewrite of the table in rewrites.c. */
typedef struct ln_rewrite {
    const char *name;
    int level; /* lowest optimisation level at which it runs: 1 folding and clean-up, 2 fusions */
    bool last; /* runs once, when all others are done */
    /* Changes one graph; adds the number of places to *fired. */
    ln_status (*apply)(ln_graph *graph, int *fired);
} ln_rewrite;

const ln_rewrite *ln_rewrites(int *count);

enum { LN_REWRITES_MAX = 64 };

typedef struct ln_program {
    ln_context *context;
    ln_model *model;
    int32_t n_graphs;           /* graphs are numbered 0..n_graphs-1, the main graph is 0 */
    int fired[LN_REWRITES_MAX]; /* by position in ln_rewrites */
    struct ln_pack *packs;      /* packed weights, newest first */
    ln_text warnings;           /* sentences, one a line */
} ln_program;

/* What second packings of weights (Winograd's) may take together in a session. */
enum { LN_REPACKING_BYTES = 96 << 20 };

typedef struct ln_compile_options {
    int level;        /* 0 as written, 1 folding, 2 all */
    bool overridable; /* initializers that are also inputs may be fed (IR version 4 and newer) */
    bool winograd;    /* convolutions may take Winograd's form, for about three times the rounding error */
} ln_compile_options;

/* Fails with the node's name where an operator is unknown, a type does not fit
 * or an attribute is wrong. `program` may be freed in either case. */
ln_status ln_compile(ln_program *program, ln_context *context, ln_model *model,
                     const ln_compile_options *options);
void ln_program_free(ln_program *program);
/* Number of packed weights; their bytes together. */
int ln_packed_weights(const ln_program *program, size_t *bytes);

/* Phases, each in a file of its own. */
ln_status ln_inline_functions(ln_model *model);
/* Nodes must be in order; those made are not. */
ln_status ln_expand_gradients(ln_model *model);
ln_status ln_resolve(ln_program *program);
ln_status ln_infer_types(ln_model *model);
ln_status ln_pack_weights(ln_program *program);

/* Builds a node made by a rewrite: finds the row of op_type in its domain and version and calls build. */
ln_status ln_resolve_node(ln_node *node);

/* Rewrites, one file each. */
ln_status ln_rewrite_fold_constants(ln_graph *graph, int *fired);
ln_status ln_rewrite_drop_identities(ln_graph *graph, int *fired);
ln_status ln_rewrite_drop_dead(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_batch_norm(ln_graph *graph, int *fired);
ln_status ln_rewrite_drop_no_ops(ln_graph *graph, int *fired);
ln_status ln_rewrite_merge_equal(ln_graph *graph, int *fired);
ln_status ln_rewrite_push_transposes(ln_graph *graph, int *fired);
ln_status ln_rewrite_collapse_reshapes(ln_graph *graph, int *fired);
ln_status ln_rewrite_widen_halves(ln_graph *graph, int *fired);
ln_status ln_rewrite_find_activations(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_layer_norm(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_skip_norm(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_activation(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_residual(ln_graph *graph, int *fired);
ln_status ln_rewrite_fold_pads(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_attention(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_bias(ln_graph *graph, int *fired);
ln_status ln_rewrite_find_one_hot(ln_graph *graph, int *fired);
ln_status ln_rewrite_narrow_scatter(ln_graph *graph, int *fired);
ln_status ln_rewrite_fuse_chains(ln_graph *graph, int *fired);

#endif
