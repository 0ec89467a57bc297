/* Reading models: what is in them, in chunks of any size; and what is not a model, one error each. */
#include <dirent.h>

#include "../kernels/check.h"
#include "model/reader.h"
#include "model_hash.h"
#include "sample_model.h"
#include "wire.h"

/* Lengths and shapes that a flipped bit makes huge are turned down before the system is asked. */
enum { MEMORY_LIMIT = 256 << 20 };

/* One load from start to end. */
typedef struct load {
    ln_context context;
    ln_reader *reader;
    ln_model *model;
    ln_status status;
} load;

/* chunk 0: all at once. */
static void load_model(load *into, const uint8_t *bytes, size_t length, size_t chunk, bool expect,
                       uint64_t fail_at) {
    memset(into, 0, sizeof(*into));
    ln_context_init(&into->context);
    into->context.memory.fail_at = fail_at;
    into->context.memory.limit = MEMORY_LIMIT;
    into->reader = ln_reader_new(&into->context);
    if (into->reader == NULL) {
        into->status = LN_OUT_OF_MEMORY;
        return;
    }
    if (expect) {
        (void)ln_reader_expect(into->reader, length);
    }
    for (size_t at = 0; at < length && into->status == LN_OK;) {
        const size_t step = chunk == 0 || chunk > length - at ? length - at : chunk;
        into->status = ln_reader_push(into->reader, bytes + at, step);
        at += step;
    }
    if (into->status == LN_OK) {
        into->status = ln_reader_finish(into->reader, &into->model);
    }
}

static void drop_model(load *from, const char *what) {
    CHECK(from->status == from->context.error.code, "%s: status %d, error %d", what, (int)from->status,
          (int)from->context.error.code);
    CHECK(from->status == LN_OK || from->context.error.message[0] != '\0', "%s: no message", what);
    CHECK((from->model != NULL) == (from->status == LN_OK), "%s: a model or an error", what);
    ln_reader_free(from->reader);
    ln_model_free(from->model);
    CHECK(ln_memory_live(&from->context) == 0, "%s: %zu bytes leak", what, ln_memory_live(&from->context));
}

static ln_value_id find(const ln_model *model, const char *name) {
    for (int32_t i = 1; i < model->n_values; i++) {
        if (strcmp(model->values[i].name, name) == 0) {
            return i;
        }
    }
    return 0;
}

static void check_constant(const ln_model *model, const char *name, int dtype, int64_t count,
                           const void *bytes) {
    const ln_value *const value = ln_info(model, find(model, name))->constant;
    CHECK(value != NULL && value->dtype == (ln_dtype)dtype && ln_value_count(value) == count, "constant %s",
          name);
    if (value != NULL && bytes != NULL) {
        CHECK(memcmp(value->data, bytes, ln_value_bytes(value)) == 0, "elements of %s", name);
    }
}

static void check_sample_constants(const ln_model *model) {
    check_constant(model, "typed", 1, 6, (const float[]){0, 1, 2, 3, 4, 5});
    check_constant(model, "late", 10, 4, (const uint16_t[]){1, 2, 255, 0x3c00});
    check_constant(model, "nibbles", 22, 7, (const uint8_t[]){0, 7, 14, 21});
    check_constant(model, "nothing", 1, 0, NULL);
    check_constant(model, "unsigned", 12, 2, (const uint32_t[]){4000000000u, 1});
    check_constant(model, "doubles", 11, 2, (const double[]){0.5, -2});
    check_constant(model, "sparse", 1, 6, (const float[]){0, 5, 0, 0, 6, 0});
    check_constant(model, "k1", 1, 1, (const float[]){1.5f});
    check_constant(model, "k2", 7, 1, (const int64_t[]){-7});
    check_constant(model, "k6", 1, 2, (const float[]){1, 2});
    check_constant(model, "k7", 7, 3, (const int64_t[]){1, -1, INT64_MIN});
    check_constant(model, "large", 1, 300, NULL);
    check_constant(model, "k3", 8, 1, NULL);
    check_constant(model, "k8", 8, 2, NULL);
    check_constant(model, "words", 8, 2, NULL);
    const ln_string *const words = ln_info(model, find(model, "words"))->constant->data;
    CHECK(words[0].length == 5 && memcmp(words[0].data, "alpha", 5) == 0 && words[1].length == 0, "strings");
    CHECK(ln_info(model, find(model, "large"))->constant_block, "large constants are blocks");
    CHECK(!ln_info(model, find(model, "late"))->constant_block, "small ones are not");
    CHECK(ln_info(model, find(model, "k2"))->constant->shape.rank == 0, "a single number is a scalar");
}

static void test_sample(void) {
    const wire bytes = sample_model();
    load it;
    load_model(&it, bytes.data, bytes.length, 0, true, 0);
    CHECK(it.status == LN_OK, "%s (%s %s)", it.context.error.message, it.context.error.node,
          it.context.error.op);
    if (it.status != LN_OK) {
        return;
    }
    const ln_model *const model = it.model;
    const ln_graph *const graph = model->graph;
    check_sample_constants(model);
    CHECK(graph->n_nodes == 3 && strcmp(graph->nodes[2]->op_type, "If") == 0,
          "constants are no nodes; order: %s %s %s", graph->nodes[0]->op_type, graph->nodes[1]->op_type,
          graph->nodes[2]->op_type);
    CHECK(strcmp(graph->nodes[0]->op_type, "Leaky") == 0 && strcmp(graph->nodes[1]->op_type, "Relu") == 0,
          "sorted");
    CHECK(graph->nodes[0]->inputs[1] == 0 && graph->nodes[0]->inputs[2] == find(model, "typed"),
          "absent input");
    CHECK(ln_info(model, find(model, "x"))->uses == 3, "captured uses: %d",
          (int)ln_info(model, find(model, "x"))->uses);
    const ln_graph *const branch = graph->nodes[2]->attributes[0].as.graphs[0];
    CHECK(branch->parent == graph && branch->nodes[0]->outputs[0] != find(model, "typed"), "shadowed");
    CHECK(branch->outputs[0] == branch->nodes[0]->outputs[0], "own names first");
    const ln_type *const x = &ln_info(model, find(model, "x"))->type;
    CHECK(x->rank == 2 && x->dims[0] == -1 && strcmp(x->dim_params[0], "batch") == 0 && x->dims[1] == 3,
          "type");
    const ln_type *const maps = &ln_info(model, find(model, "maps"))->type;
    CHECK(maps->kind == LN_KIND_SEQUENCE && maps->element->kind == LN_KIND_MAP &&
              maps->element->dtype == LN_INT64 && maps->element->element->dtype == LN_FLOAT,
          "nested type");
    CHECK(model->n_functions == 1 && model->functions[0].body->nodes[0]->opset == 16 &&
              strcmp(model->functions[0].body->nodes[0]->attributes[0].reference, "slope") == 0 &&
              model->functions[0].defaults[0].as.floats[0] == 0.25f &&
              model->functions[0].n_attribute_names == 1,
          "function");
    CHECK(ln_model_opset(model, "") == 17 && ln_model_opset(model, "ai.onnx") == 17 &&
              ln_model_opset(model, "none") == 0,
          "opsets");
    CHECK(model->n_metadata == 1 && strcmp(model->metadata[0].value, "nobody") == 0, "metadata");
    CHECK(model->n_training_infos == 1 && model->ir_version == 10, "counted");

    CHECK(ln_reader_external_count(it.reader) == 1, "external");
    const ln_external *const external = ln_reader_external(it.reader, 0);
    CHECK(strcmp(external->location, "weights.bin") == 0 && external->offset == 128 && external->length == 64,
          "entry");
    CHECK(ln_reader_external(it.reader, 1) == NULL, "beyond the end");
    memset(ln_reader_external_target(it.reader, 0), 1, 64);
    CHECK(ln_reader_external_done(it.reader, 0) == LN_OK && ln_reader_external_check(it.reader) == LN_OK,
          "filled");
    CHECK(ln_info(model, find(model, "outside"))->constant_block, "external data is a block");
    drop_model(&it, "sample");

    load_model(&it, bytes.data, bytes.length, 0, true, 0);
    it.status = ln_reader_external_check(it.reader);
    CHECK(it.status == LN_EXTERNAL_DATA, "missing external data");
    ln_error_clear(&it.context);
    it.status = LN_OK;
    drop_model(&it, "sample without data");
    free(bytes.data);
}

static void check_chunks(const uint8_t *bytes, size_t length, const char *what) {
    static const size_t chunks[] = {0, 1, 7, 4096};
    uint64_t first = 0;
    for (size_t i = 0; i < 4; i++) {
        load it;
        load_model(&it, bytes, length, chunks[i], i % 2 == 0, 0);
        CHECK(it.status == LN_OK, "%s: %s", what, it.context.error.message);
        const uint64_t hash = it.model != NULL ? model_hash(it.model) : 0;
        first = i == 0 ? hash : first;
        CHECK(hash == first, "%s in chunks of %zu", what, chunks[i]);
        drop_model(&it, what);
    }
}

static void test_damage(void) {
    const wire bytes = sample_model();
    char what[64];
    load it;
    check_chunks(bytes.data, bytes.length, "sample");
    for (size_t length = 0; length < bytes.length; length++) {
        (void)snprintf(what, sizeof(what), "prefix of %zu", length);
        load_model(&it, bytes.data, length, 0, false, 0);
        drop_model(&it, what);
        memset(&it, 0, sizeof(it));
        ln_context_init(&it.context);
        it.reader = ln_reader_new(&it.context);
        (void)ln_reader_expect(it.reader, bytes.length);
        it.status = ln_reader_push(it.reader, bytes.data, length);
        it.status = it.status == LN_OK ? ln_reader_finish(it.reader, &it.model) : it.status;
        CHECK(it.status == LN_INVALID_MODEL, "%s: %s", what, it.context.error.message);
        drop_model(&it, what);
    }
    uint8_t *const copy = check_alloc(bytes.length);
    for (size_t at = 0; at < bytes.length * 8; at++) {
        memcpy(copy, bytes.data, bytes.length);
        copy[at / 8] ^= (uint8_t)(1u << (at % 8));
        load_model(&it, copy, bytes.length, at % 3 == 0 ? 5 : 0, at % 2 == 0, 0);
        (void)snprintf(what, sizeof(what), "bit %zu flipped", at);
        drop_model(&it, what);
    }
    for (int round = 0; round < 3000; round++) {
        const size_t length = check_random() % 200;
        for (size_t i = 0; i < length; i++) {
            copy[i] = (uint8_t)check_random();
        }
        load_model(&it, copy, length, 0, false, 0);
        CHECK(it.status != LN_OK, "random bytes are no model");
        drop_model(&it, "random bytes");
    }
    uint64_t n = 1;
    for (; n < 10000; n++) {
        (void)snprintf(what, sizeof(what), "allocation %d fails", (int)n);
        load_model(&it, bytes.data, bytes.length, 0, true, n);
        const ln_status status = it.status;
        if (it.reader == NULL) {
            CHECK(ln_memory_live(&it.context) == 0 && it.context.error.code == LN_OUT_OF_MEMORY, "%s", what);
            continue;
        }
        drop_model(&it, what);
        if (status == LN_OK) {
            break;
        }
        CHECK(status == LN_OUT_OF_MEMORY, "%s: %s", what, it.context.error.message);
    }
    CHECK(n > 5 && n < 10000, "%d allocations", (int)n);
    free(copy);
    free(bytes.data);
}

/* Loads a graph that breaks one rule. */
static void check_error(wire model, ln_status status, const char *words) {
    load it;
    load_model(&it, model.data, model.length, 0, true, 0);
    CHECK(it.status == status && strstr(it.context.error.message, words) != NULL, "%s: %s, not '%s'",
          ln_status_name(it.status), it.context.error.message, words);
    drop_model(&it, words);
    free(model.data);
}

static wire graph_of(wire node, wire tensor) {
    wire graph = {0};
    const int64_t one = 1;
    wire_message(&graph, GRAPH_INPUT, wire_value_info("x", 1, 1, &one));
    if (node.data != NULL) {
        wire_message(&graph, GRAPH_NODE, node);
    }
    if (tensor.data != NULL) {
        wire_message(&graph, GRAPH_INITIALIZER, tensor);
    }
    wire_message(&graph, GRAPH_OUTPUT, wire_value_info("x", 1, 1, &one));
    return graph;
}

static wire no_wire(void) {
    return (wire){0};
}

static void test_graph_errors(void) {
    load it;
    wire good = wire_model(graph_of(no_wire(), no_wire()));
    load_model(&it, good.data, good.length, 0, true, 0);
    CHECK(it.status == LN_OK && it.model->graph->n_nodes == 0, "no nodes: %s", it.context.error.message);
    drop_model(&it, "no nodes");
    free(good.data);

    wire missing = wire_model(graph_of(wire_node("Relu", "n1", "gone", "y"), no_wire()));
    load_model(&it, missing.data, missing.length, 0, true, 0);
    CHECK(it.status == LN_INVALID_GRAPH && strcmp(it.context.error.node, "n1") == 0 &&
              strcmp(it.context.error.op, "Relu") == 0 && it.context.error.opset == 17 &&
              strstr(it.context.error.message, "'gone'") != NULL,
          "%s", it.context.error.message);
    drop_model(&it, "missing");
    free(missing.data);

    check_error(wire_model(graph_of(wire_node("Relu", "n", "x", "x"), no_wire())), LN_INVALID_GRAPH,
                "two values");
    check_error(wire_model(graph_of(wire_node("Relu", "n", "y", "y"), no_wire())), LN_INVALID_GRAPH, "cycle");
    check_error(wire_model(graph_of(wire_node("Constant", "n", "", "y"), no_wire())), LN_INVALID_ATTRIBUTE,
                "no value");
    check_error(wire_model(graph_of(wire_node("", "n", "x", "y"), no_wire())), LN_INVALID_GRAPH,
                "no operator");
    wire output = graph_of(no_wire(), no_wire());
    wire_message(&output, GRAPH_OUTPUT, wire_value_info("gone", 1, 0, NULL));
    check_error(wire_model(output), LN_INVALID_GRAPH, "'gone'");
    wire no_opset = {0};
    wire_int(&no_opset, MODEL_IR, 8);
    wire_message(&no_opset, MODEL_GRAPH, graph_of(no_wire(), no_wire()));
    check_error(no_opset, LN_INVALID_MODEL, "operator set");
    wire no_graph = {0};
    wire_int(&no_graph, MODEL_IR, 8);
    check_error(no_graph, LN_INVALID_MODEL, "no graph");
}

static wire tensor_graph(wire tensor) {
    return wire_model(graph_of(no_wire(), tensor));
}

static void test_tensor_errors(void) {
    const int64_t three = 3;
    const int64_t negative = -3;
    const int64_t huge[3] = {INT64_MAX, 2, 2};
    const int64_t many[17] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    wire tensor = wire_tensor("t", 1, 1, &three);
    wire_bytes(&tensor, TENSOR_RAW, "12345678", 8);
    check_error(tensor_graph(tensor), LN_INVALID_MODEL, "'t' has 8 bytes where float32 [3] needs 12");
    check_error(tensor_graph(wire_tensor("t", 1, 1, &three)), LN_INVALID_MODEL, "needs 12");
    check_error(tensor_graph(wire_tensor("t", 8, 1, &three)), LN_INVALID_MODEL, "0 strings");
    check_error(tensor_graph(wire_tensor("t", 1, 1, &negative)), LN_INVALID_MODEL, "negative");
    check_error(tensor_graph(wire_tensor("t", 1, 3, huge)), LN_INVALID_MODEL, "too many elements");
    check_error(tensor_graph(wire_tensor("t", 1, 17, many)), LN_LIMIT_EXCEEDED, "rank 17");
    check_error(tensor_graph(wire_tensor("t", 99, 1, &three)), LN_INVALID_MODEL, "data type 99");
    check_error(tensor_graph(wire_tensor("", 1, 0, NULL)), LN_INVALID_GRAPH, "no name");
    tensor = wire_tensor("t", 7, 1, &three);
    wire_float(&tensor, 4, 1);
    check_error(tensor_graph(tensor), LN_INVALID_MODEL, "graph.initializer[0]");
    tensor = wire_tensor("t", 6, 1, &three);
    wire_packed(&tensor, 5, 3, many);
    wire_bytes(&tensor, TENSOR_RAW, "123456789012", 12);
    check_error(tensor_graph(tensor), LN_INVALID_MODEL, "twice");
    tensor = wire_tensor("t", 6, 1, &three);
    wire_varint(&tensor, TENSOR_RAW << 3); /* a varint where bytes belong */
    wire_varint(&tensor, 5);
    check_error(tensor_graph(tensor), LN_INVALID_MODEL, "wire type");
    tensor = wire_tensor("t", 1, 1, &three);
    wire_bytes(&tensor, 4, "12345", 5);
    check_error(tensor_graph(tensor), LN_INVALID_MODEL, "multiple");
    tensor = wire_tensor("t", 1, 1, &three);
    wire_int(&tensor, 14, 1);
    check_error(tensor_graph(tensor), LN_INVALID_MODEL, "no location");
}

static void test_file_errors(void) {
    wire empty = {0};
    check_error(empty, LN_INVALID_MODEL, "empty");
    wire text = {0};
    wire_raw(&text, "<!DOCTYPE html><html>", 21);
    check_error(text, LN_INVALID_MODEL, "at byte");
    /* A length far beyond the file is found before anything is allocated for it. */
    wire far = {0};
    wire_varint(&far, MODEL_GRAPH << 3 | 2);
    wire_varint(&far, UINT64_C(1) << 60);
    load it;
    load_model(&it, far.data, far.length, 0, true, 0);
    CHECK(it.status == LN_INVALID_MODEL && it.context.memory.peak_bytes < 64 * 1024, "%s",
          it.context.error.message);
    drop_model(&it, "far");
    wire more = wire_model(graph_of(no_wire(), no_wire()));
    memset(&it, 0, sizeof(it));
    ln_context_init(&it.context);
    it.reader = ln_reader_new(&it.context);
    (void)ln_reader_expect(it.reader, more.length - 1);
    it.status = ln_reader_push(it.reader, more.data, more.length);
    CHECK(it.status == LN_INVALID_MODEL, "more bytes than announced");
    drop_model(&it, "more");
    free(more.data);
    free(far.data);

    wire graph = graph_of(no_wire(), no_wire());
    for (int i = 0; i < 200; i++) {
        wire attribute = wire_attribute("g", 5);
        wire_message(&attribute, 6, graph);
        wire node = wire_node("If", "deep", "x", "y");
        wire_message(&node, NODE_ATTRIBUTE, attribute);
        graph = graph_of(node, no_wire());
    }
    check_error(wire_model(graph), LN_LIMIT_EXCEEDED, "nested");
    wire type = {0};
    for (int i = 0; i < 3000; i++) {
        wire sequence = {0};
        wire_message(&sequence, 1, type);
        type = (wire){0};
        wire_message(&type, 4, sequence);
    }
    wire info = {0};
    wire_text(&info, 1, "deep");
    wire_message(&info, 2, type);
    wire typed = graph_of(no_wire(), no_wire());
    wire_message(&typed, GRAPH_INPUT, info);
    check_error(wire_model(typed), LN_LIMIT_EXCEEDED, "types are nested");
}

/* Weights are held once: raw, and typed in both ways. */
static void test_memory(void) {
    const int64_t dims[2] = {1000, 1001};
    const size_t count = 1001000;
    for (int way = 0; way < 3; way++) {
        wire tensor = wire_tensor("w", 1, 2, dims);
        float *const floats = check_random_floats(count);
        if (way < 2) {
            wire_bytes(&tensor, way == 0 ? TENSOR_RAW : 4, floats, count * sizeof(float));
        } else {
            for (size_t i = 0; i < count; i++) {
                wire_float(&tensor, 4, floats[i]);
            }
        }
        wire model = tensor_graph(tensor);
        load it;
        load_model(&it, model.data, model.length, 65536, way == 0, 0);
        CHECK(it.status == LN_OK, "%s", it.context.error.message);
        check_constant(it.model, "w", 1, (int64_t)count, floats);
        CHECK((double)it.context.memory.peak_bytes < 1.06 * 4 * (double)count, "peak %zu",
              it.context.memory.peak_bytes);
        CHECK(ln_alloc_capacity(ln_info(it.model, find(it.model, "w"))->constant->data) >= 4 * 1000 * 1008,
              "room for packing");
        drop_model(&it, "large");
        free(model.data);
        free(floats);
    }
}

static void read_file(const char *path) {
    FILE *const file = fopen(path, "rb");
    if (file == NULL) {
        return;
    }
    (void)fseek(file, 0, SEEK_END);
    const long length = ftell(file);
    rewind(file);
    uint8_t *const bytes = check_alloc((size_t)length);
    if (fread(bytes, 1, (size_t)length, file) == (size_t)length) {
        check_chunks(bytes, (size_t)length, path);
    }
    (void)fclose(file);
    free(bytes);
}

/* Every model of the corpus, when there is one. */
static void test_corpus(void) {
    const char *const corpora = getenv("LINNET_CORPORA");
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/models", corpora != NULL ? corpora : "");
    DIR *const folder = corpora != NULL ? opendir(path) : NULL;
    for (struct dirent *entry = NULL; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/models/%s/model.onnx", corpora, entry->d_name);
            read_file(path);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

int main(void) {
    test_sample();
    test_graph_errors();
    test_tensor_errors();
    test_file_errors();
    test_memory();
    test_damage();
    test_corpus();
    return check_report();
}
