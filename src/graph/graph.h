/* The graph in memory: a model, its graphs, nodes, attributes and values.
 *
 * Every value of a model, in whatever graph or subgraph it is defined, has one number in one table
 * (ln_value_id). A subgraph refers to a value of an enclosing graph simply by its number, so captured values
 * need no table of their own. Number 0 is "no value": an absent optional input or output.
 * All of it lives in the arena of the model; only the bytes of large constants are separate blocks.
 * This room knows the standard's structure but neither its wire format nor its operators.
 */
#ifndef LN_GRAPH_GRAPH_H
#define LN_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/value.h"

typedef int32_t ln_value_id; /* index into ln_model.values; 0 is no value */

typedef struct ln_graph ln_graph;
typedef struct ln_node ln_node;
struct ln_op_row; /* ops/op.h */

/* What a model declares about a value (TypeProto). */
typedef struct ln_type ln_type;
struct ln_type {
    ln_kind kind;            /* LN_KIND_NONE when nothing is declared */
    ln_dtype dtype;          /* element type of a tensor or sparse tensor; key type of a map */
    int32_t rank;            /* -1 when no shape is declared */
    int64_t *dims;           /* -1 where symbolic or unknown */
    const char **dim_params; /* the symbol's name, or NULL */
    const ln_type *element;  /* of a sequence or optional; value type of a map */
};

/* Sizes of a shape, or elements of a small integer tensor, as far as they are known before a run (compile/shapes.h). */
typedef struct ln_sizes {
    int32_t count;
    int64_t sizes[];
} ln_sizes;

/* Where one value of the model comes from and what is known about it. */
typedef struct ln_value_info {
    const char *name;
    ln_graph *graph;    /* the graph that defines it */
    ln_type type;       /* declared or found by type inference */
    ln_node *producer;  /* NULL for a graph input or an initializer */
    ln_value *constant; /* the value when it is known at load, else NULL */
    ln_value *fallback; /* of a graph input that a feed may leave out: its initializer (IR 4 and newer) */
    const char *doc_string;
    const ln_sizes *shape;    /* found while compiling, NULL when not even the rank is known */
    const ln_sizes *elements; /* of a small integer tensor; NULL when they are not known */
    int32_t uses;             /* node inputs and graph outputs that read it, in all graphs */
    bool constant_block; /* constant->data is an ln_alloc block of its own that may be freed once packed */
    bool is_graph_input;
    bool is_graph_output;
} ln_value_info;

typedef enum ln_attribute_type { /* AttributeProto.AttributeType */
                                 LN_ATTRIBUTE_UNDEFINED = 0,
                                 LN_ATTRIBUTE_FLOAT = 1,
                                 LN_ATTRIBUTE_INT = 2,
                                 LN_ATTRIBUTE_STRING = 3,
                                 LN_ATTRIBUTE_TENSOR = 4,
                                 LN_ATTRIBUTE_GRAPH = 5,
                                 LN_ATTRIBUTE_FLOATS = 6,
                                 LN_ATTRIBUTE_INTS = 7,
                                 LN_ATTRIBUTE_STRINGS = 8,
                                 LN_ATTRIBUTE_TENSORS = 9,
                                 LN_ATTRIBUTE_GRAPHS = 10,
                                 LN_ATTRIBUTE_SPARSE_TENSOR = 11,
                                 LN_ATTRIBUTE_SPARSE_TENSORS = 12,
                                 LN_ATTRIBUTE_TYPE_PROTO = 13,
                                 LN_ATTRIBUTE_TYPE_PROTOS = 14
} ln_attribute_type;

/* One attribute; single values are arrays of one. */
typedef struct ln_attribute {
    const char *name;
    ln_attribute_type type;
    int32_t count;
    const char *reference; /* name of the function attribute it stands for (ref_attr_name), or NULL */
    union {
        const float *floats;
        const int64_t *ints;
        const ln_string *strings;
        const ln_value *tensors; /* sparse tensors too, as LN_KIND_SPARSE */
        ln_graph *const *graphs;
        const ln_type *types;
    } as;
} ln_attribute;

struct ln_node {
    const char *name; /* "" when the model gives none */
    const char *op_type;
    const char *domain;   /* "" for ai.onnx */
    const char *overload; /* of a model-local function, "" otherwise */
    ln_graph *graph;
    ln_value_id *inputs;
    ln_value_id *outputs;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t n_attributes;
    const ln_attribute *attributes;
    int32_t opset;         /* version of its domain that it was written for */
    int32_t index;         /* position in graph->nodes */
    ln_dtype output_dtype; /* type of outputs whose type variable no input binds */
    /* Set while compiling: */
    const struct ln_op_row *row;
    void *params; /* what row->build made of the attributes */
    void *packed; /* what row->pack made of the constant inputs */
    bool removed;
};

struct ln_graph {
    const char *name;
    const char *doc_string;
    struct ln_model *model;
    ln_graph *parent; /* the graph whose node holds this one, NULL for the main graph */
    int32_t number;   /* position among the model's graphs, set while compiling */
    ln_node **nodes;  /* in topological order once compiled */
    int32_t n_nodes;
    int32_t nodes_capacity;
    ln_value_id *inputs;
    ln_value_id *outputs;
    int32_t n_inputs;
    int32_t n_outputs;
};

typedef struct ln_opset {
    const char *domain; /* "" for ai.onnx */
    int64_t version;
} ln_opset;

/* A model-local function (FunctionProto). */
typedef struct ln_function {
    const char *domain;
    const char *name;
    const char *overload;
    const char **inputs;
    const char **outputs;
    int32_t n_inputs;
    int32_t n_outputs;
    const char **attribute_names; /* attributes without a default */
    int32_t n_attribute_names;
    const ln_attribute *defaults;
    int32_t n_defaults;
    const ln_opset *opsets;
    int32_t n_opsets;
    ln_graph *body; /* values numbered as of a graph; cloned at each call */
} ln_function;

typedef struct ln_pair {
    const char *key;
    const char *value;
} ln_pair;

typedef struct ln_repacking ln_repacking; /* repacking.c */

typedef struct ln_model {
    ln_context *context;
    ln_arena arena;
    int64_t ir_version;
    int64_t model_version;
    const char *producer_name;
    const char *producer_version;
    const char *domain;
    const char *doc_string;
    const ln_pair *metadata;
    int32_t n_metadata;
    ln_opset *opsets;
    int32_t n_opsets;
    ln_function *functions;
    int32_t n_functions;
    int32_t n_training_infos;
    ln_graph *graph;
    ln_value_info
        *values; /* [n_values]; entry 0 is unused. Grows: hold ids, not pointers, across ln_graph_add_value */
    int32_t n_values;
    int32_t values_capacity;
    ln_repacking *repackings; /* newest first */
    size_t repacking_room;    /* bytes that further ones may take; 0 until a session allows some */
    bool winograd;            /* products may take Strassen's scheme in Winograd's form, which rounds more */
    int64_t n_symbols;        /* sizes that shape inference has named */
} ln_model;

ln_model *ln_model_new(ln_context *context);
/* Frees everything, constants included. */
void ln_model_free(ln_model *model);

/* Frees the bytes of a constant; its type and shape stay. */
void ln_model_drop_constant(ln_model *model, ln_value_id id);
/* Version of a domain ("" and "ai.onnx" are one) that the model imports, or 0. */
int64_t ln_model_opset(const ln_model *model, const char *domain);

/* The second packing of the weight whose first is `packed`; one not made yet gets `bytes`, which the caller fills
 * (*made). NULL when there is no room: the first packing must do then. */
void *ln_model_repacking(ln_model *model, const void *packed, size_t bytes, bool *made);
void ln_model_free_repackings(ln_model *model);

enum { LN_MAX_GRAPH_DEPTH = 64 }; /* levels of subgraphs */

/* NULL when memory ran out, or after recording LIMIT_EXCEEDED when the graph would be nested too deep. */
ln_graph *ln_graph_new(ln_model *model, ln_graph *parent);
/* A new value; 0 when memory ran out. */
ln_value_id ln_graph_add_value(ln_graph *graph, const char *name);
/* A new constant value; 0 when memory ran out. A buffer that owns the bytes passes to the model; bytes without an
 * owner must live as long as the model. */
ln_value_id ln_graph_add_constant(ln_graph *graph, const char *name, const ln_value *value);
/* A new node at the end of graph->nodes, with room for inputs and outputs (all 0); NULL when memory ran out. */
ln_node *ln_graph_add_node(ln_graph *graph, int n_inputs, int n_outputs);
/* Rebinds one input, or one output, keeping uses and producers right. */
void ln_node_set_input(ln_node *node, int index, ln_value_id value);
void ln_node_set_output(ln_node *node, int index, ln_value_id value);
/* Takes a node out: gives up its uses, those of its subgraphs included; ln_graph_sweep drops it from the list. A rewrite
 * that moves a subgraph elsewhere empties the node's attributes first. */
void ln_node_remove(ln_node *node);
/* Every reader of `from` in any graph reads `to` instead, graph outputs included. */
void ln_model_replace_uses(ln_model *model, ln_value_id from, ln_value_id to);
/* Drops removed nodes and renumbers. */
void ln_graph_sweep(ln_graph *graph);
/* Orders graph->nodes so that producers come first, keeping the given order where it is valid already.
 * INVALID_GRAPH with the node's name on a cycle. Values captured from outer graphs are taken into account. */
ln_status ln_graph_sort(ln_graph *graph);
/* Recounts uses and producers of the whole model, function bodies included. */
void ln_model_index(ln_model *model);

static inline ln_value_info *ln_info(const ln_model *model, ln_value_id id) {
    return &model->values[id];
}
/* The constant bound to input `index` of a node, or NULL. An initializer that is a graph input too is only a default:
 * it has info->constant, but a feed may override it, so it is not answered here. */
const ln_value *ln_node_constant(const ln_node *node, int index);
const ln_attribute *ln_node_attribute(const ln_node *node, const char *name);

/* Calls visit for every graph of the model, outer graphs first, the main graph included, function bodies not; stops at a
 * status other than LN_OK. Walks with an explicit stack, so depth costs no C stack. */
typedef ln_status (*ln_graph_visit)(ln_graph *graph, void *argument);
ln_status ln_model_each_graph(ln_model *model, ln_graph_visit visit, void *argument);

#endif
