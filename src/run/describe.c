/* A model's inputs, outputs and metadata, and a run's profile and memory, as JSON. */
#include "run/describe.h"

#include <string.h>

static void add_string(ln_text *text, const char *string) {
    ln_text_json(text, string ? string : "", string ? strlen(string) : 0);
}

static const char *kind_text(ln_kind kind) {
    static const char *const names[] = {"none", "tensor", "sequence", "map", "optional", "sparse"};
    return names[kind];
}

static void add_shape(ln_text *text, const ln_type *type) {
    if (type->rank < 0) {
        ln_text_printf(text, "null");
        return;
    }
    ln_text_printf(text, "[");
    for (int32_t i = 0; i < type->rank; ++i) {
        ln_text_printf(text, i ? "," : "");
        if (type->dims[i] >= 0) {
            ln_text_printf(text, "%lld", (long long)type->dims[i]);
        } else if (type->dim_params && type->dim_params[i]) {
            add_string(text, type->dim_params[i]);
        } else {
            ln_text_printf(text, "null");
        }
    }
    ln_text_printf(text, "]");
}

/* Fields of a type without braces; element types follow as nested objects, at most a few levels. */
static void add_type(ln_text *text, const ln_type *type) {
    int levels = 0;
    for (; type && levels < 8; type = type->element, ++levels) {
        ln_text_printf(text, "%s\"kind\":\"%s\"", levels ? ",\"element\":{" : "", kind_text(type->kind));
        if (type->kind == LN_KIND_TENSOR || type->kind == LN_KIND_SPARSE) {
            ln_text_printf(text, ",\"type\":\"%s\",\"shape\":", ln_dtype_name(type->dtype));
            add_shape(text, type);
        } else if (type->kind == LN_KIND_MAP) {
            ln_text_printf(text, ",\"key\":\"%s\"", ln_dtype_name(type->dtype));
        }
    }
    for (; levels > 1; --levels) {
        ln_text_printf(text, "}");
    }
}

static void add_values(ln_text *text, const ln_session *session, const char *name, const ln_value_id *ids,
                       int32_t count) {
    ln_text_printf(text, "\"%s\":[", name);
    for (int32_t i = 0; i < count; ++i) {
        const ln_value_info *info = ln_info(session->model, ids[i]);
        ln_text_printf(text, "%s{\"name\":", i ? "," : "");
        add_string(text, info->name);
        ln_text_printf(text, ",\"constant\":%s,\"optional\":%s,", info->constant ? "true" : "false",
                       info->fallback || info->type.kind == LN_KIND_OPTIONAL ? "true" : "false");
        add_type(text, &info->type);
        ln_text_printf(text, "}");
    }
    ln_text_printf(text, "]");
}

static void add_metadata(ln_text *text, const ln_model *model) {
    ln_text_printf(text, "\"metadata\":{\"producerName\":");
    add_string(text, model->producer_name);
    ln_text_printf(text, ",\"producerVersion\":");
    add_string(text, model->producer_version);
    ln_text_printf(text, ",\"domain\":");
    add_string(text, model->domain);
    ln_text_printf(text, ",\"docString\":");
    add_string(text, model->doc_string);
    ln_text_printf(text, ",\"graphName\":");
    add_string(text, model->graph->name);
    ln_text_printf(text, ",\"irVersion\":%lld,\"modelVersion\":%lld,\"hasTrainingInfo\":%s,\"functions\":%d,",
                   (long long)model->ir_version, (long long)model->model_version,
                   model->n_training_infos ? "true" : "false", (int)model->n_functions);
    ln_text_printf(text, "\"customProperties\":{");
    for (int32_t i = 0; i < model->n_metadata; ++i) {
        ln_text_printf(text, i ? "," : "");
        add_string(text, model->metadata[i].key);
        ln_text_printf(text, ":");
        add_string(text, model->metadata[i].value);
    }
    ln_text_printf(text, "},\"opsetImports\":{");
    for (int32_t i = 0; i < model->n_opsets; ++i) {
        ln_text_printf(text, i ? "," : "");
        add_string(text, model->opsets[i].domain);
        ln_text_printf(text, ":%lld", (long long)model->opsets[i].version);
    }
    ln_text_printf(text, "}}");
}

static const char *finish(ln_session *session) {
    if (session->text.failed) {
        ln_fail(&session->context, LN_OUT_OF_MEMORY, "out of memory while writing a description");
        return NULL;
    }
    return session->text.data;
}

static ln_text *begin(ln_session *session) {
    session->text.length = 0;
    session->text.failed = false;
    return &session->text;
}

const char *ln_describe(ln_session *session) {
    ln_text *text = begin(session);
    const ln_graph *graph = session->model->graph;
    ln_text_printf(text, "{");
    add_values(text, session, "inputs", graph->inputs, graph->n_inputs);
    ln_text_printf(text, ",");
    add_values(text, session, "outputs", graph->outputs, graph->n_outputs);
    ln_text_printf(text, ",");
    add_metadata(text, session->model);
    ln_text_printf(text, ",\"warnings\":[");
    const char *line = session->program.warnings.data;
    for (int i = 0; line && *line; ++i) {
        const char *end = strchr(line, '\n');
        ln_text_printf(text, i ? "," : "");
        ln_text_json(text, line, end ? (size_t)(end - line) : strlen(line));
        line = end ? end + 1 : NULL;
    }
    ln_text_printf(text, "]}");
    return finish(session);
}

const char *ln_describe_profile(ln_session *session) {
    ln_text *text = begin(session);
    ln_text_printf(text, "[");
    for (int32_t i = 0; i < session->n_records; ++i) {
        const ln_node *node = session->records[i].node;
        ln_text_printf(text, "%s{\"node\":", i ? "," : "");
        add_string(text, node->name);
        ln_text_printf(text, ",\"op\":");
        add_string(text, node->op_type);
        ln_text_printf(text, "}");
    }
    ln_text_printf(text, "]");
    return finish(session);
}

/* Workspace and lower bound of the plan that ran last, all its segments together. */
static void add_plan_sizes(ln_text *text, const ln_session *session) {
    size_t workspace = 0;
    size_t bound = 0;
    int steps = 0;
    int segments = 0;
    const ln_plan *plan = session->segments ? session->segments[0].plans : NULL;
    for (; plan; plan = plan->after.plans) {
        workspace += plan->workspace_bytes;
        bound += plan->live_bytes;
        ++segments;
        for (int32_t s = 0; s < plan->n_steps; ++s) {
            steps += !plan->steps[s]->folded;
        }
    }
    ln_text_printf(
        text, ",\"workspaceBytes\":%zu,\"lowerBoundBytes\":%zu,\"steps\":%d,\"segments\":%d,\"plans\":%d",
        workspace, bound, steps, segments, session->segments ? (int)session->segments[0].n_plans : 0);
}

const char *ln_describe_memory(ln_session *session) {
    static const char *const names[] = {"model", "weights", "plan", "workspace", "scratch"};
    ln_text *text = begin(session);
    const ln_memory_stats *memory = &session->context.memory;
    ln_text_printf(text, "{\"live\":{");
    for (int kind = 0; kind < LN_MEMORY_KIND_COUNT; ++kind) {
        ln_text_printf(text, "%s\"%s\":%zu", kind ? "," : "", names[kind], memory->live_bytes[kind]);
    }
    ln_text_printf(text, "},\"liveBytes\":%zu,\"peakBytes\":%zu,\"allocations\":%llu",
                   ln_memory_live(&session->context), memory->peak_bytes,
                   (unsigned long long)memory->allocations);
    add_plan_sizes(text, session);
    ln_text_printf(text, "}");
    return finish(session);
}
