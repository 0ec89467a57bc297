/* A look inside: operators with counts, weights by type, what is not supported, which rewrites fired, and what the steps
 * of the plans are. */
#include <string.h>

#include "run/describe.h"

static void add_string(ln_text *text, const char *string) {
    ln_text_json(text, string, strlen(string));
}

/* One operator of the model and how often it occurs. */
typedef struct tally {
    const ln_node *node; /* the first with this operator */
    int count;
    bool supported;
} tally;

typedef struct tallies {
    ln_session *session;
    tally *rows;
    int count;
    int capacity;
    int nodes;
} tallies;

static bool supported(const ln_model *model, const ln_node *node) {
    for (int32_t i = 0; i < model->n_functions; ++i) {
        if (strcmp(model->functions[i].name, node->op_type) == 0 &&
            strcmp(model->functions[i].domain, node->domain) == 0) {
            return true;
        }
    }
    int64_t version = node->opset ? node->opset : ln_model_opset(model, node->domain);
    version = version ? version : ln_op_newest_opset(node->domain);
    bool known = false;
    return version < LN_OPEN && ln_op_find(node->domain, node->op_type, (int)version, &known) != NULL;
}

static ln_status count_node(tallies *table, const ln_node *node) {
    ++table->nodes;
    for (int i = 0; i < table->count; ++i) {
        const ln_node *other = table->rows[i].node;
        if (strcmp(other->op_type, node->op_type) == 0 && strcmp(other->domain, node->domain) == 0) {
            ++table->rows[i].count;
            return LN_OK;
        }
    }
    if (table->count == table->capacity) {
        const int capacity = 2 * table->capacity + 32;
        ln_context *context = &table->session->context;
        tally *grown = ln_alloc(context, (size_t)capacity * sizeof *grown, LN_MEMORY_SCRATCH);
        if (!grown) {
            return LN_OUT_OF_MEMORY;
        }
        if (table->count) {
            memcpy(grown, table->rows, (size_t)table->count * sizeof *grown);
        }
        ln_free(context, table->rows);
        table->rows = grown;
        table->capacity = capacity;
    }
    table->rows[table->count++] = (tally){node, 1, supported(table->session->model, node)};
    return LN_OK;
}

static ln_status count_graph(ln_graph *graph, void *argument) {
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        LN_TRY(count_node(argument, graph->nodes[i]));
    }
    return LN_OK;
}

static void add_operators(ln_text *text, const tallies *table, bool only_unsupported) {
    int written = 0;
    for (int i = 0; i < table->count; ++i) {
        const tally *row = &table->rows[i];
        if (only_unsupported && row->supported) {
            continue;
        }
        ln_text_printf(text, "%s{\"op\":", written++ ? "," : "");
        add_string(text, row->node->op_type);
        ln_text_printf(text, ",\"domain\":");
        add_string(text, row->node->domain);
        ln_text_printf(text, ",\"count\":%d,\"node\":", row->count);
        add_string(text, row->node->name);
        ln_text_printf(text, "}");
    }
}

static void add_weights(ln_text *text, const ln_model *model) {
    int64_t counts[LN_DTYPE_COUNT] = {0};
    uint64_t bytes[LN_DTYPE_COUNT] = {0};
    for (ln_value_id id = 1; id < model->n_values; ++id) {
        const ln_value_info *info = ln_info(model, id);
        const ln_value *constant = info->constant ? info->constant : info->fallback;
        if (constant && constant->kind == LN_KIND_TENSOR) {
            counts[constant->dtype] += 1;
            bytes[constant->dtype] += ln_value_bytes(constant);
        }
    }
    int written = 0;
    for (int dtype = 1; dtype < LN_DTYPE_COUNT; ++dtype) {
        if (counts[dtype]) {
            ln_text_printf(text, "%s{\"type\":\"%s\",\"tensors\":%lld,\"bytes\":%llu}", written++ ? "," : "",
                           ln_dtype_name((ln_dtype)dtype), (long long)counts[dtype],
                           (unsigned long long)bytes[dtype]);
        }
    }
}

static void add_rewrites(ln_text *text, const ln_session *session) {
    int count = 0;
    const ln_rewrite *rewrites = ln_rewrites(&count);
    for (int i = 0; i < count; ++i) {
        ln_text_printf(text, "%s{\"name\":\"%s\",\"fired\":%d}", i ? "," : "", rewrites[i].name,
                       session->program.fired[i]);
    }
}

const char *ln_inspect(ln_session *session) {
    tallies table = {.session = session};
    ln_text *text = &session->text;
    text->length = 0;
    text->failed = false;
    if (ln_model_each_graph(session->model, count_graph, &table) != LN_OK) {
        ln_free(&session->context, table.rows);
        return NULL;
    }
    ln_text_printf(text, "{\"nodes\":%d,\"operators\":[", table.nodes);
    add_operators(text, &table, false);
    ln_text_printf(text, "],\"unsupported\":[");
    add_operators(text, &table, true);
    ln_text_printf(text, "],\"weights\":[");
    add_weights(text, session->model);
    size_t packed_bytes = 0;
    const int packed = ln_packed_weights(&session->program, &packed_bytes);
    ln_text_printf(text, "],\"packed\":{\"tensors\":%d,\"bytes\":%zu},\"rewrites\":[", packed, packed_bytes);
    add_rewrites(text, session);
    ln_text_printf(text, "]}");
    ln_free(&session->context, table.rows);
    return text->failed ? NULL : text->data;
}

/* "float32 [1,3,8]" of every value that is there. */
static void add_operands(ln_text *text, const char *name, ln_value *const *values, int count) {
    int written = 0;
    ln_text_printf(text, ",\"%s\":[", name);
    for (int i = 0; i < count; ++i) {
        char shape[LN_SHAPE_TEXT_BYTES] = "";
        if (!values[i]) {
            continue;
        }
        const bool tensor = values[i]->kind == LN_KIND_TENSOR;
        ln_text_printf(text, "%s\"%s%s%s\"", written++ ? "," : "", ln_dtype_name(values[i]->dtype),
                       tensor ? " " : " collection",
                       tensor ? ln_shape_text(&values[i]->shape, shape) : shape);
    }
    ln_text_printf(text, "]");
}

static void add_steps(ln_text *text, const ln_plan *plan, int graph, int *written) {
    for (; plan; plan = plan->after.plans) {
        for (int32_t s = 0; s < plan->n_steps; ++s) {
            const ln_op *op = &plan->steps[s]->op;
            if (plan->steps[s]->folded) {
                continue;
            }
            ln_text_printf(text, "%s{\"graph\":%d,\"node\":", (*written)++ ? "," : "", graph);
            add_string(text, op->node->name ? op->node->name : "");
            ln_text_printf(text, ",\"op\":");
            add_string(text, op->node->op_type);
            ln_text_printf(text, ",\"domain\":");
            add_string(text, op->node->domain);
            add_operands(text, "inputs", op->inputs, op->n_inputs);
            add_operands(text, "outputs", op->outputs, op->n_outputs);
            ln_text_printf(text, "}");
        }
    }
}

const char *ln_describe_steps(ln_session *session) {
    ln_text *text = &session->text;
    int written = 0;
    text->length = 0;
    text->failed = false;
    ln_text_printf(text, "[");
    for (int32_t i = 0; session->segments && i < session->program.n_graphs; ++i) {
        add_steps(text, session->segments[i].plans, (int)i, &written);
    }
    ln_text_printf(text, "]");
    return text->failed ? NULL : text->data;
}
