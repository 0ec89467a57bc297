/* The sample model: typed and raw payloads, packed and not, in any order; constants of every kind; a sparse
 * initializer; external data; a subgraph that captures; a function; types that nest; training info; opsets
 * after the graph. */
#include "sample_model.h"

static wire float_constant(void) {
    const int64_t dims[2] = {2, 3};
    wire tensor = wire_tensor("", 1, 2, dims);
    for (int i = 0; i < 6; i++) {
        wire_float(&tensor, 4, (float)i);
    }
    wire attribute = wire_attribute("value", 4);
    wire_message(&attribute, 5, tensor);
    wire node = wire_node("Constant", "c0", "", "typed");
    wire_message(&node, NODE_ATTRIBUTE, attribute);
    return node;
}

static wire list_constant(const char *output, const char *name, int type) {
    wire attribute = wire_attribute(name, type);
    switch (type) {
    case 1:
        wire_float(&attribute, 2, 1.5f);
        break;
    case 2:
        wire_int(&attribute, 3, -7);
        break;
    case 3:
        wire_text(&attribute, 4, "text");
        break;
    case 6:
        wire_float(&attribute, 7, 1);
        wire_float(&attribute, 7, 2);
        break;
    case 7:
        wire_packed(&attribute, 8, 3, (const int64_t[]){1, -1, INT64_MIN});
        break;
    default:
        wire_text(&attribute, 9, "a");
        wire_text(&attribute, 9, "");
        break;
    }
    wire node = wire_node("Constant", "", "", output);
    wire_message(&node, NODE_ATTRIBUTE, attribute);
    return node;
}

/* int32_data before dims and type. */
static wire late_tensor(void) {
    wire tensor = {0};
    wire_packed(&tensor, 5, 4, (const int64_t[]){1, 2, 255, 0x3c00});
    wire_text(&tensor, TENSOR_NAME, "late");
    wire_int(&tensor, TENSOR_TYPE, 10);
    wire_int(&tensor, TENSOR_DIMS, 2);
    wire_int(&tensor, TENSOR_DIMS, 2);
    return tensor;
}

static wire raw_tensor(const char *name, int dtype, int64_t count, size_t bytes) {
    wire tensor = wire_tensor(name, dtype, 1, &count);
    uint8_t *const data = check_alloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(i * 7);
    }
    wire_bytes(&tensor, TENSOR_RAW, data, bytes);
    free(data);
    return tensor;
}

static wire sparse_tensor(void) {
    const int64_t two = 2;
    const int64_t pairs[2] = {2, 2};
    wire values = wire_tensor("sparse", 1, 1, &two);
    wire_bytes(&values, TENSOR_RAW, (const float[]){5, 6}, 8);
    wire indices = wire_tensor("", 7, 2, pairs);
    wire_packed(&indices, 7, 4, (const int64_t[]){0, 1, 2, 0});
    wire sparse = {0};
    wire_message(&sparse, 1, values);
    wire_message(&sparse, 2, indices);
    wire_packed(&sparse, 3, 2, (const int64_t[]){3, 2});
    return sparse;
}

static wire external_tensor(void) {
    wire tensor = wire_tensor("outside", 1, 1, (const int64_t[]){16});
    const char *const pairs[3][2] = {{"location", "weights.bin"}, {"offset", "128"}, {"length", "64"}};
    for (int i = 0; i < 3; i++) {
        wire entry = {0};
        wire_text(&entry, 1, pairs[i][0]);
        wire_text(&entry, 2, pairs[i][1]);
        wire_message(&tensor, 13, entry);
    }
    wire_int(&tensor, 14, 1);
    return tensor;
}

/* If whose branches read "x" of the graph around them; one of them shadows "typed". */
static wire if_node(void) {
    wire node = wire_node("If", "choice", "late", "chosen");
    for (int i = 0; i < 2; i++) {
        wire graph = {0};
        wire_text(&graph, 2, i == 0 ? "then" : "else");
        wire_message(&graph, GRAPH_NODE, wire_node("Add", "inner", "x later", i == 0 ? "typed" : "other"));
        wire_message(&graph, GRAPH_OUTPUT, wire_value_info(i == 0 ? "typed" : "other", 1, 0, NULL));
        wire attribute = wire_attribute(i == 0 ? "then_branch" : "else_branch", 5);
        wire_message(&attribute, 6, graph);
        wire_message(&node, NODE_ATTRIBUTE, attribute);
    }
    return node;
}

static wire function(void) {
    wire body = wire_node("LeakyRelu", "", "a", "b");
    wire alpha = wire_attribute("alpha", 1);
    wire_text(&alpha, 21, "slope");
    wire_message(&body, NODE_ATTRIBUTE, alpha);
    wire standard = wire_attribute("slope", 1);
    wire_float(&standard, 2, 0.25f);
    wire function = {0};
    wire_text(&function, 1, "Leaky");
    wire_text(&function, 4, "a");
    wire_text(&function, 5, "b");
    wire_text(&function, 6, "other");
    wire_message(&function, 7, body);
    wire_message(&function, 9, wire_opset("", 16));
    wire_text(&function, 10, "local");
    wire_message(&function, 11, standard);
    return function;
}

/* sequence(map(int64, tensor)) */
static wire nested_info(void) {
    wire tensor = {0};
    wire_int(&tensor, 1, 1);
    wire value = {0};
    wire_message(&value, 1, tensor);
    wire map = {0};
    wire_int(&map, 1, 7);
    wire_message(&map, 2, value);
    wire map_type = {0};
    wire_message(&map_type, 5, map);
    wire sequence = {0};
    wire_message(&sequence, 1, map_type);
    wire type = {0};
    wire_message(&type, 4, sequence);
    wire info = {0};
    wire_text(&info, 1, "maps");
    wire_message(&info, 2, type);
    return info;
}

static wire sample_graph(void) {
    wire graph = {0};
    const int64_t dims[2] = {-1, 3};
    const int64_t two = 2;
    wire_text(&graph, 2, "sample");
    wire_message(&graph, GRAPH_NODE, wire_node("Relu", "last", "later", "y"));
    wire_message(&graph, GRAPH_NODE, if_node());
    wire_message(&graph, GRAPH_NODE, wire_node("Leaky", "call", "x - typed", "later"));
    wire_message(&graph, GRAPH_NODE, float_constant());
    wire_message(&graph, GRAPH_NODE, list_constant("k1", "value_float", 1));
    wire_message(&graph, GRAPH_NODE, list_constant("k2", "value_int", 2));
    wire_message(&graph, GRAPH_NODE, list_constant("k3", "value_string", 3));
    wire_message(&graph, GRAPH_NODE, list_constant("k6", "value_floats", 6));
    wire_message(&graph, GRAPH_NODE, list_constant("k7", "value_ints", 7));
    wire_message(&graph, GRAPH_NODE, list_constant("k8", "value_strings", 8));
    wire_message(&graph, GRAPH_INITIALIZER, late_tensor());
    wire_message(&graph, GRAPH_INITIALIZER, raw_tensor("large", 1, 300, 1200));
    wire_message(&graph, GRAPH_INITIALIZER, raw_tensor("nibbles", 22, 7, 4));
    wire_message(&graph, GRAPH_INITIALIZER, raw_tensor("nothing", 1, 0, 0));
    wire_message(&graph, GRAPH_INITIALIZER, external_tensor());
    wire words = wire_tensor("words", 8, 1, &two);
    wire_text(&words, 6, "alpha");
    wire_text(&words, 6, "");
    wire_message(&graph, GRAPH_INITIALIZER, words);
    wire unsigned_tensor = wire_tensor("unsigned", 12, 1, &two);
    wire_int(&unsigned_tensor, 11, 4000000000);
    wire_int(&unsigned_tensor, 11, 1);
    wire_message(&graph, GRAPH_INITIALIZER, unsigned_tensor);
    wire doubles = wire_tensor("doubles", 11, 1, &two);
    wire_double(&doubles, 10, 0.5);
    wire_double(&doubles, 10, -2);
    wire_message(&graph, GRAPH_INITIALIZER, doubles);
    wire_message(&graph, GRAPH_SPARSE, sparse_tensor());
    wire_message(&graph, GRAPH_INPUT, wire_value_info("x", 1, 2, dims));
    wire_message(&graph, GRAPH_INPUT, nested_info());
    wire_message(&graph, GRAPH_OUTPUT, wire_value_info("y", 1, 2, dims));
    wire_message(&graph, GRAPH_OUTPUT, wire_value_info("k7", 7, 0, NULL));
    wire_message(&graph, GRAPH_VALUE_INFO, wire_value_info("later", 1, 2, dims));
    return graph;
}

wire sample_model(void) {
    wire model = {0};
    wire metadata = {0};
    wire_int(&model, MODEL_IR, 10);
    wire_text(&model, 2, "tests");
    wire_message(&model, MODEL_FUNCTION, function());
    wire_message(&model, MODEL_GRAPH, sample_graph());
    wire_text(&metadata, 1, "author");
    wire_text(&metadata, 2, "nobody");
    wire_message(&model, MODEL_METADATA, metadata);
    wire_bytes(&model, MODEL_TRAINING, "", 0);
    wire_int(&model, 999, 5); /* a field of a later version */
    wire_message(&model, MODEL_OPSET, wire_opset("ai.onnx", 17));
    wire_message(&model, MODEL_OPSET, wire_opset("local", 1));
    return model;
}
