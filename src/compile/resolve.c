/* Matches each node to its row and turns its attributes into params. */
#include <string.h>

#include "compile/compile.h"
#include "compile/types.h"

ln_status ln_resolve_node(ln_node *node) {
    ln_model *model = node->graph->model;
    bool known = false;
    node->row = ln_op_find(node->domain, node->op_type, node->opset, &known);
    if (!node->row) {
        const ln_status code = known ? LN_UNSUPPORTED_OPSET : LN_UNSUPPORTED_OP;
        const char *domain = node->domain[0] ? node->domain : "ai.onnx";
        const bool left_out = !known && ln_op_left_out(node->domain, node->op_type);
        ln_fail(model->context, code,
                left_out ? "operator %s of %s (version %d) is known, but this build leaves its family out: "
                           "take a full build"
                : known  ? "operator %s of %s has no definition for version %d that this build knows"
                         : "operator %s of %s (version %d) is not known to this build",
                node->op_type, domain, (int)node->opset);
        ln_error_locate(model->context, node->name, node->op_type, node->opset);
        return code;
    }
    ln_build build = {model->context, &model->arena, node, node->opset, LN_OK};
    const ln_status status = node->row->build ? node->row->build(&build) : LN_OK;
    if (status != LN_OK || build.status != LN_OK) {
        ln_error_locate(model->context, node->name, node->op_type, node->opset);
        return status != LN_OK ? status : build.status;
    }
    return LN_OK;
}

/* The version of the node's domain that the model imports. Domains of exporters are often used without an import: they
 * get the newest version. */
static ln_status find_opset(ln_node *node) {
    const ln_model *model = node->graph->model;
    if (node->opset > 0) {
        return LN_OK;
    }
    int64_t version = ln_model_opset(model, node->domain);
    if (version == 0) {
        version = model->n_opsets == 0 ? 1 : ln_op_newest_opset(node->domain);
    }
    LN_CHECK(model->context, version >= 0 && version < LN_OPEN, UNSUPPORTED_OPSET,
             "the model imports version %lld of operator set '%s'", (long long)version, node->domain);
    node->opset = version > 0 ? (int32_t)version : 1;
    return LN_OK;
}

static ln_status resolve_graph(ln_graph *graph, void *argument) {
    (void)argument;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        LN_TRY(find_opset(graph->nodes[i]));
        LN_TRY(ln_resolve_node(graph->nodes[i]));
    }
    return LN_OK;
}

/* A newer operator set than this build knows loads as long as its operators have not changed: say so. */
static void warn_newer(ln_program *program) {
    const ln_model *model = program->model;
    for (int32_t i = 0; i < model->n_opsets; ++i) {
        const int newest = ln_op_newest_opset(model->opsets[i].domain);
        if (newest > 0 && model->opsets[i].version > newest) {
            ln_text_printf(&program->warnings,
                           "operator set '%s' version %lld is newer than the newest known version %d\n",
                           model->opsets[i].domain, (long long)model->opsets[i].version, newest);
        }
    }
}

ln_status ln_resolve(ln_program *program) {
    warn_newer(program);
    return ln_model_each_graph(program->model, resolve_graph, NULL);
}

/* ---- Types ---- */

static ln_typed type_of(const ln_model *model, ln_value_id id) {
    if (id == 0) {
        return (ln_typed){LN_KIND_NONE, LN_UNDEFINED};
    }
    const ln_value_info *info = ln_info(model, id);
    const ln_value *constant = info->constant ? info->constant : info->fallback;
    if (constant) {
        return (ln_typed){constant->kind, constant->dtype};
    }
    const ln_type *type = &info->type;
    if (type->kind == LN_KIND_NONE) {
        return (ln_typed){LN_KIND_TENSOR, LN_UNDEFINED};
    }
    ln_dtype dtype = type->dtype;
    if ((type->kind == LN_KIND_SEQUENCE || type->kind == LN_KIND_OPTIONAL) && type->element) {
        dtype = type->element->kind == LN_KIND_TENSOR ? type->element->dtype : LN_UNDEFINED;
    }
    return (ln_typed){type->kind, dtype};
}

static ln_status infer_node_types(ln_model *model, ln_node *node, ln_typed *types) {
    bool certain = true; /* every input has a type that is declared or was found */
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        types[i] = type_of(model, node->inputs[i]);
        if (types[i].kind == LN_KIND_TENSOR && types[i].dtype == LN_UNDEFINED) {
            certain = false;
        }
    }
    ln_typed *outputs = types + node->n_inputs;
    if (!certain) {
        for (int32_t i = 0; i < node->n_inputs; ++i) { /* kinds may be unknown too: check presence only */
            types[i].dtype = LN_UNDEFINED;
            types[i].kind = types[i].kind == LN_KIND_TENSOR ? LN_KIND_OPTIONAL : types[i].kind;
        }
    }
    const ln_status status = ln_types_check(model->context, node, types, outputs);
    if (status != LN_OK) {
        ln_error_locate(model->context, node->name, node->op_type, node->opset);
        return status;
    }
    /* What passes on anything passes on a tensor as one. */
    if ((node->row->flags & LN_OP_ALIAS) && outputs[0].kind == LN_KIND_NONE &&
        types[0].kind == LN_KIND_TENSOR) {
        outputs[0] = types[0];
    }
    for (int32_t i = 0; i < node->n_outputs && certain; ++i) {
        if (node->outputs[i] && outputs[i].kind == LN_KIND_TENSOR && outputs[i].dtype != LN_UNDEFINED) {
            ln_type *type = &ln_info(model, node->outputs[i])->type;
            if (type->kind == LN_KIND_NONE) {
                type->rank = -1;
            }
            type->kind = LN_KIND_TENSOR;
            type->dtype = outputs[i].dtype;
        }
    }
    return LN_OK;
}

static ln_status infer_graph_types(ln_graph *graph, void *argument) {
    (void)argument;
    ln_model *model = graph->model;
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const size_t slots = (size_t)node->n_inputs + (size_t)node->n_outputs;
        ln_typed *types = ln_alloc(model->context, slots * sizeof *types, LN_MEMORY_SCRATCH);
        if (!types) {
            return LN_OUT_OF_MEMORY;
        }
        const ln_status status = infer_node_types(model, node, types);
        ln_free(model->context, types);
        LN_TRY(status);
    }
    return LN_OK;
}

ln_status ln_infer_types(ln_model *model) {
    return ln_model_each_graph(model, infer_graph_types, NULL);
}
