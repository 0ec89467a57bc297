/* The order of the phases, and the table of rewrites. */
#include "compile/compile.h"
#include "compile/shapes.h"

#include <string.h>

/* Rewrites in the order they run. The list is walked until nothing fires, at most a few times; those marked last follow. */
static const ln_rewrite rewrites[] = {
    {"drop-identities", 1, false, ln_rewrite_drop_identities},
    {"fold-constants", 1, false, ln_rewrite_fold_constants},
    {"narrow-scatter", 2, false, ln_rewrite_narrow_scatter},
    {"drop-no-ops", 2, false, ln_rewrite_drop_no_ops},
    {"merge-equal", 2, false, ln_rewrite_merge_equal},
    {"collapse-reshapes", 2, false, ln_rewrite_collapse_reshapes},
    {"push-transposes", 2, false, ln_rewrite_push_transposes},
    {"widen-halves", 2, false, ln_rewrite_widen_halves},
    {"find-one-hot", 2, false, ln_rewrite_find_one_hot},
    {"fuse-attention", 2, false, ln_rewrite_fuse_attention},
    {"find-activations", 2, false, ln_rewrite_find_activations},
    {"fuse-layer-norm", 2, false, ln_rewrite_fuse_layer_norm},
    {"fuse-batch-norm", 2, false, ln_rewrite_fuse_batch_norm},
    {"fuse-bias", 2, false, ln_rewrite_fuse_bias},
    {"fuse-skip-norm", 2, false, ln_rewrite_fuse_skip_norm},
    {"fuse-activation", 2, false, ln_rewrite_fuse_activation},
    {"fuse-residual", 2, false, ln_rewrite_fuse_residual},
    {"fold-pads", 2, false, ln_rewrite_fold_pads},
    {"drop-dead", 1, false, ln_rewrite_drop_dead},
    {"fuse-chains", 2, true, ln_rewrite_fuse_chains},
};
enum { REWRITES = sizeof rewrites / sizeof rewrites[0], ROUNDS = 3 };

const ln_rewrite *ln_rewrites(int *count) {
    *count = REWRITES;
    return rewrites;
}

static ln_status number_graph(ln_graph *graph, void *argument) {
    int32_t *next = argument;
    graph->number = (*next)++;
    return LN_OK;
}

static ln_status sort_graph(ln_graph *graph, void *argument) {
    (void)argument;
    return ln_graph_sort(graph);
}

/* An initializer that is also an input is a default that a feed may replace, from IR version 4 on. Exporters list all their
 * weights that way without meaning it, so they are constants like all others unless the caller asks. */
static void separate_defaults(ln_model *model) {
    for (ln_value_id id = 1; id < model->n_values; ++id) {
        ln_value_info *info = ln_info(model, id);
        if (info->is_graph_input && info->constant && info->graph == model->graph) {
            info->fallback = info->constant;
            info->constant = NULL;
        }
    }
}

/* Inputs that are constants are no inputs. */
static void drop_constant_inputs(ln_graph *graph) {
    int32_t kept = 0;
    for (int32_t i = 0; i < graph->n_inputs; ++i) {
        if (!ln_info(graph->model, graph->inputs[i])->constant) {
            graph->inputs[kept++] = graph->inputs[i];
        }
    }
    graph->n_inputs = kept;
}

typedef struct rewriting {
    const ln_rewrite *rewrite;
    int fired;
} rewriting;

static ln_status apply(ln_graph *graph, void *argument) {
    rewriting *state = argument;
    LN_TRY(state->rewrite->apply(graph, &state->fired));
    ln_graph_sweep(graph);
    return LN_OK;
}

/* Walks the list once, the rewrites that come last or the others. */
static ln_status rewrite_once(ln_program *program, int level, bool last, int *fired) {
    for (int i = 0; i < REWRITES; ++i) {
        if (rewrites[i].level > level || rewrites[i].last != last) {
            continue;
        }
        rewriting state = {&rewrites[i], 0};
        LN_TRY(ln_model_each_graph(program->model, apply, &state));
        program->fired[i] += state.fired;
        *fired += state.fired;
    }
    return LN_OK;
}

static ln_status rewrite_all(ln_program *program, int level) {
    int fired = 1;
    for (int round = 0; round < ROUNDS && fired; ++round) {
        fired = 0;
        if (level > 1) {
            LN_TRY(ln_infer_shapes(program->model));
        }
        LN_TRY(rewrite_once(program, level, false, &fired));
    }
    return rewrite_once(program, level, true, &fired);
}

static ln_status compile(ln_program *program, const ln_compile_options *options) {
    ln_model *model = program->model;
    const int level = options->level;
    if (options->overridable && model->ir_version >= 4) {
        separate_defaults(model);
    }
    model->repacking_room = options->winograd ? LN_REPACKING_BYTES : 0;
    model->winograd = options->winograd;
    drop_constant_inputs(model->graph);
    LN_TRY(ln_inline_functions(model));
    LN_TRY(ln_model_each_graph(model, sort_graph, NULL));
    LN_TRY(ln_expand_gradients(model));
    LN_TRY(ln_model_each_graph(model, sort_graph, NULL));
    LN_TRY(ln_resolve(program));
    ln_model_index(model);
    LN_TRY(ln_infer_types(model));
    LN_TRY(rewrite_all(program, level));
    LN_TRY(ln_model_each_graph(model, sort_graph, NULL));
    ln_model_index(model);
    LN_TRY(ln_model_each_graph(model, number_graph, &program->n_graphs));
    return ln_pack_weights(program);
}

ln_status ln_compile(ln_program *program, ln_context *context, ln_model *model,
                     const ln_compile_options *options) {
    memset(program, 0, sizeof *program);
    program->context = context;
    program->model = model;
    ln_text_init(&program->warnings, context);
    return compile(program, options);
}
