/* Pattern matching for rewrites. */
#include "compile/match.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "compile/shapes.h"

ln_status ln_readers_init(ln_readers *readers, ln_graph *graph) {
    ln_model *model = graph->model;
    readers->model = model;
    readers->count = model->n_values;
    readers->reader =
        ln_alloc_zero(model->context, (size_t)model->n_values * sizeof *readers->reader, LN_MEMORY_SCRATCH);
    if (!readers->reader) {
        return LN_OUT_OF_MEMORY;
    }
    for (int32_t n = 0; n < graph->n_nodes; ++n) {
        ln_node *node = graph->nodes[n];
        for (int32_t i = 0; !node->removed && i < node->n_inputs; ++i) {
            readers->reader[node->inputs[i]] = node;
        }
    }
    return LN_OK;
}

void ln_readers_free(ln_readers *readers) {
    ln_free(readers->model->context, readers->reader);
}

ln_node *ln_only_reader(const ln_readers *readers, const ln_node *node) {
    const ln_value_id id = node->n_outputs > 0 ? node->outputs[0] : 0;
    if (id == 0 || id >= readers->count) {
        return NULL;
    }
    const ln_value_info *info = ln_info(readers->model, id);
    ln_node *reader = readers->reader[id];
    return info->uses == 1 && !info->is_graph_output && reader && !reader->removed ? reader : NULL;
}

bool ln_is_in(const ln_node *node, const char *domain, const char *op_type) {
    return node && strcmp(node->op_type, op_type) == 0 && strcmp(node->domain, domain) == 0;
}

bool ln_is(const ln_node *node, const char *op_type) {
    return ln_is_in(node, "", op_type);
}

ln_node *ln_producer(const ln_node *node, int index) {
    if (index >= node->n_inputs || !node->inputs[index]) {
        return NULL;
    }
    ln_node *producer = ln_info(node->graph->model, node->inputs[index])->producer;
    return producer && !producer->removed && producer->graph == node->graph ? producer : NULL;
}

bool ln_constant_number(const ln_node *node, int index, float *value) {
    const ln_value *constant =
        index < node->n_inputs && node->inputs[index] ? ln_node_constant(node, index) : NULL;
    if (!constant || constant->kind != LN_KIND_TENSOR || constant->dtype != LN_FLOAT || !constant->data ||
        ln_value_count(constant) != 1) {
        return false;
    }
    *value = *(const float *)constant->data;
    return true;
}

bool ln_constant_double(const ln_model *model, ln_value_id id, double *value) {
    const ln_value *constant =
        id && !ln_info(model, id)->is_graph_input ? ln_info(model, id)->constant : NULL;
    if (!constant || constant->kind != LN_KIND_TENSOR || !constant->data || ln_value_count(constant) != 1 ||
        !(LN_BIT(constant->dtype) & LN_T_NUMBER_BF)) {
        return false;
    }
    ln_load_f64(constant->dtype, constant->data, 0, 1, value);
    return true;
}

int ln_other_input(const ln_node *node, ln_value_id value) {
    if (node->n_inputs != 2 || node->inputs[0] == node->inputs[1]) {
        return -1;
    }
    return node->inputs[0] == value ? 1 : node->inputs[1] == value ? 0 : -1;
}

ln_dtype ln_known_dtype(const ln_model *model, ln_value_id id) {
    const ln_value_info *info = ln_info(model, id);
    if (id == 0) {
        return LN_UNDEFINED;
    }
    if (info->constant) {
        return info->constant->dtype;
    }
    return info->type.kind == LN_KIND_TENSOR ? info->type.dtype : LN_UNDEFINED;
}

void ln_absorb(ln_node *node, ln_node *last) {
    const ln_value_id output = last->outputs[0];
    ln_node_remove(last);
    ln_node_set_output(node, 0, output);
}

/* ---- Patterns ---- */

/* What follows the expression at `at`: a comma, a bracket, a bar or the end. */
static const char *skip(const char *at) {
    int depth = 0;
    for (; *at; ++at) {
        if (depth == 0 && (*at == ',' || *at == ')' || *at == '|' || *at == '}')) {
            break;
        }
        depth += (*at == '(' || *at == '{') - (*at == ')' || *at == '}');
    }
    return at;
}

static bool match_value(const char *pattern, const ln_node *reader, ln_value_id id, ln_match *match);

static bool add_node(ln_match *match, ln_node *node) {
    for (int i = 0; i < match->n_nodes; ++i) {
        if (match->nodes[i] == node) {
            return true;
        }
    }
    if (match->n_nodes == LN_MATCH_NODES) {
        return false;
    }
    match->nodes[match->n_nodes++] = node;
    return true;
}

/* Arguments from `at` (behind the opening bracket) against the inputs in order, or the two of them exchanged. */
static bool match_inputs(const char *at, ln_node *node, bool exchanged, ln_match *match) {
    int count = 0;
    for (const char *scan = at;; scan = skip(scan) + 1) {
        const int index = exchanged ? 1 - count : count;
        if (count >= node->n_inputs || !match_value(scan, node, node->inputs[index], match)) {
            return false;
        }
        ++count;
        if (*skip(scan) == ')') {
            break;
        }
    }
    /* Inputs that the pattern does not name are constants, such as the axes of a reduction. */
    for (int i = count; i < node->n_inputs; ++i) {
        if (node->inputs[i] && !ln_node_constant(node, i)) {
            return false;
        }
    }
    return true;
}

static bool match_node(const char *pattern, ln_node *node, ln_match *match) {
    const size_t length = strcspn(pattern, "(");
    if (!node || node->removed || node->domain[0] || strlen(node->op_type) != length ||
        strncmp(node->op_type, pattern, length) != 0 || !add_node(match, node)) {
        return false;
    }
    const bool either = node->n_inputs == 2 && (ln_is(node, "Add") || ln_is(node, "Mul"));
    const ln_match before = *match;
    if (match_inputs(pattern + length + 1, node, false, match)) {
        return true;
    }
    *match = before;
    return either && match_inputs(pattern + length + 1, node, true, match);
}

static bool match_number(const char *pattern, const ln_model *model, ln_value_id id, ln_match *match) {
    double number;
    if (!ln_constant_double(model, id, &number)) {
        return false;
    }
    const int rank = ln_info(model, id)->constant->shape.rank;
    match->number_rank = rank > match->number_rank ? rank : match->number_rank;
    if (*pattern >= 'A' && *pattern <= 'Z') {
        ln_value_id *slot = &match->numbers[*pattern - 'A'];
        const bool fits = *slot == 0 || *slot == id;
        *slot = id;
        return fits;
    }
    const bool half = ln_dtype_bits(ln_known_dtype(model, id)) == 16;
    double want = 0;
    ln_parse_number(pattern, (size_t)(skip(pattern) - pattern), &want);
    return fabs(number - want) <= (half ? 1e-2 : 2e-5) * fabs(want);
}

static bool match_letter(const char *pattern, const ln_node *reader, ln_value_id id, ln_match *match) {
    ln_value_id *slot = &match->values[*pattern - 'a'];
    if (pattern[1] == ':') {
        const bool fits = (*slot == 0 || *slot == id) && match_value(pattern + 2, reader, id, match);
        *slot = id;
        return fits;
    }
    if (*slot == 0) {
        *slot = id;
    }
    return id != 0 && *slot == id;
}

static bool match_value(const char *pattern, const ln_node *reader, ln_value_id id, ln_match *match) {
    const ln_model *model = reader->graph->model;
    ln_node *producer = id ? ln_info(model, id)->producer : NULL;
    producer = producer && producer->graph == reader->graph && producer->outputs[0] == id ? producer : NULL;
    const char first = *pattern;
    if (first == '{') {
        const ln_match before = *match;
        for (const char *at = pattern + 1;; at = skip(at) + 1) {
            if (match_value(at, reader, id, match)) {
                return true;
            }
            *match = before;
            if (*skip(at) != '|') {
                return false;
            }
        }
    }
    if (first == '~') {
        const ln_match before = *match;
        if (match_value(pattern + 1, reader, id, match)) {
            return true;
        }
        *match = before;
        return producer && ln_is(producer, "Cast") && add_node(match, producer) &&
               match_value(pattern + 1, producer, producer->inputs[0], match);
    }
    if (first >= 'a' && first <= 'z') {
        return match_letter(pattern, reader, id, match);
    }
    const bool is_operator = first >= 'A' && first <= 'Z' && pattern[1] >= 'a' && pattern[1] <= 'z';
    return is_operator ? match_node(pattern, producer, match) : match_number(pattern, model, id, match);
}

/* Whether only nodes of the match read what its inner nodes make. */
static bool owns_nodes(const ln_match *match) {
    const ln_model *model = match->nodes[0]->graph->model;
    for (int i = 1; i < match->n_nodes; ++i) {
        const ln_node *node = match->nodes[i];
        const ln_value_info *info = ln_info(model, node->outputs[0]);
        int32_t reads = 0;
        for (int j = 0; j < match->n_nodes; ++j) {
            for (int32_t k = 0; k < match->nodes[j]->n_inputs; ++k) {
                reads += match->nodes[j]->inputs[k] == node->outputs[0];
            }
        }
        if (reads != info->uses || info->is_graph_output || node->n_outputs != 1) {
            return false;
        }
    }
    return match->nodes[0]->n_outputs == 1;
}

bool ln_matches(const char *pattern, ln_node *root, ln_match *match) {
    memset(match, 0, sizeof *match);
    return add_node(match, root) && match_value(pattern, root, root->outputs[0], match) && owns_nodes(match);
}

double ln_matched_number(const ln_match *match, char letter) {
    double number = 0;
    ln_constant_double(match->nodes[0]->graph->model, match->numbers[letter - 'A'], &number);
    return number;
}

bool ln_keeps_rank(const ln_match *match, ln_value_id id) {
    return match->number_rank <= 0 || match->number_rank <= ln_known_rank(match->nodes[0]->graph->model, id);
}

void ln_match_remove(const ln_match *match) {
    for (int i = 1; i < match->n_nodes; ++i) {
        ln_node_remove(match->nodes[i]);
    }
}

/* ---- Changing nodes ---- */

static ln_status set_attribute(ln_arena *arena, ln_attribute *attribute, const ln_setting *setting) {
    const bool list = setting->type == LN_ATTRIBUTE_INTS;
    const int count = list ? setting->count : 1;
    int64_t *ints = ln_arena_array(arena, (size_t)count + 1, sizeof *ints);
    if (!ints) {
        return LN_OUT_OF_MEMORY;
    }
    *attribute =
        (ln_attribute){.name = setting->name, .type = setting->type, .count = count, .as.ints = ints};
    if (setting->type == LN_ATTRIBUTE_FLOAT) {
        *(float *)(void *)ints = (float)setting->number;
    } else if (setting->text) {
        ln_string *string = ln_arena_alloc(arena, sizeof *string);
        if (!string) {
            return LN_OUT_OF_MEMORY;
        }
        *string = (ln_string){setting->text, strlen(setting->text)};
        attribute->as.strings = string;
    } else if (list) {
        memcpy(ints, setting->ints, (size_t)count * sizeof *ints);
    } else {
        *ints = (int64_t)setting->number;
    }
    return LN_OK;
}

ln_status ln_become_with(ln_node *node, const char *domain, const char *op_type, int opset, int n_inputs,
                         const ln_value_id *inputs, int n_settings, const ln_setting *settings) {
    ln_arena *arena = &node->graph->model->arena;
    ln_value_id *slots = ln_arena_array(arena, (size_t)n_inputs, sizeof *slots);
    ln_attribute *attributes = ln_arena_array(arena, (size_t)n_settings + 1, sizeof *attributes);
    if (!slots || !attributes) {
        return LN_OUT_OF_MEMORY;
    }
    for (int i = 0; i < n_settings; ++i) {
        LN_TRY(set_attribute(arena, &attributes[i], &settings[i]));
    }
    memcpy(slots, inputs, (size_t)n_inputs * sizeof *slots); /* `inputs` may be the node's own */
    for (int32_t i = 0; i < node->n_inputs; ++i) {
        ln_node_set_input(node, i, 0);
    }
    node->inputs = slots;
    node->n_inputs = n_inputs;
    for (int i = 0; i < n_inputs; ++i) {
        const ln_value_id id = slots[i];
        slots[i] = 0;
        ln_node_set_input(node, i, id);
    }
    node->domain = domain;
    node->op_type = op_type;
    node->opset = opset;
    node->attributes = attributes;
    node->n_attributes = n_settings;
    return ln_resolve_node(node);
}

ln_status ln_become(ln_node *node, const char *domain, const char *op_type, int opset, int n_inputs,
                    const ln_value_id *inputs) {
    return ln_become_with(node, domain, op_type, opset, n_inputs, inputs, 0, NULL);
}
