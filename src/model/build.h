/* Decoded messages to the graph in memory. Internal to model/.
 *
 * Graphs wait in a queue, so nesting costs no stack: a graph first declares all its names in a scope, then
 * its nodes look up what they read, in their own scope and outwards, and put the graphs of their attributes
 * into the queue.
 */
#ifndef LN_MODEL_BUILD_H
#define LN_MODEL_BUILD_H

#include "model/read.h"

/* Names of one graph. */
typedef struct ln_scope {
    const struct ln_scope *outer;
    uint32_t mask; /* slots - 1 */
    struct ln_scope_slot *slots;
} ln_scope;

/* A graph, or the body of a function, that is being built. */
typedef struct ln_graph_task {
    ln_graph *graph;
    const ln_scope *outer;
    const Onnx__GraphProto *proto; /* one of these two */
    const Onnx__FunctionProto *function;
    ln_scope scope;
    const ln_opset *opsets; /* that its nodes are written for */
    int32_t n_opsets;
    struct ln_graph_task *next;
} ln_graph_task;

typedef struct ln_builder {
    ln_reader *reader;
    ln_context *context;
    ln_model *model;
    ln_arena *arena;   /* the model's */
    ln_arena *scratch; /* gone when the model is built */
    ln_graph_task *first;
    ln_graph_task *last;
} ln_builder;

/* ---- build.c ---- */

ln_status ln_build_model(ln_reader *reader, const Onnx__ModelProto *proto);

/* ---- build_graph.c ---- */

/* Puts a graph into the queue. */
ln_status ln_build_later(ln_builder *builder, const ln_graph_task *task);
/* Builds all queued graphs, and those that turn up on the way. */
ln_status ln_build_graphs(ln_builder *builder);

/* ---- build_attribute.c ---- */

/* Attributes of a node; `task` is the graph that holds the node. */
ln_status ln_build_attributes(ln_builder *builder, const ln_graph_task *task, ln_graph *graph, size_t count,
                              Onnx__AttributeProto *const *protos, const ln_attribute **attributes);
/* The value of a Constant node. *block as of ln_build_tensor. INVALID_ATTRIBUTE when it has none. */
ln_status ln_build_constant(ln_builder *builder, const Onnx__NodeProto *proto, ln_value_id id,
                            ln_value *value, bool *block);

/* ---- build_tensor.c ---- */

/* Fills *value, which stays where it is, from a tensor. *block tells that its bytes are an ln_alloc block
 * which the value `id` owns from now on; external bytes get there later. With id 0 the bytes go to the
 * arena. INVALID_MODEL when bytes and shape differ. */
ln_status ln_build_tensor(ln_builder *builder, const Onnx__TensorProto *proto, ln_value_id id,
                          ln_value *value, bool *block);
/* A sparse tensor made dense; *value owns a block. */
ln_status ln_build_dense(ln_builder *builder, const Onnx__SparseTensorProto *proto, ln_value *value);
/* A sparse tensor as it is: LN_KIND_SPARSE with its items in the arena. */
ln_status ln_build_sparse(ln_builder *builder, const Onnx__SparseTensorProto *proto, ln_value *value);

/* ---- build_type.c ---- */

ln_status ln_build_type(ln_builder *builder, const Onnx__TypeProto *proto, ln_type *type);
/* A copy of `text` in the model's arena; "" for NULL. NULL when memory ran out. */
const char *ln_build_text(ln_builder *builder, const char *text);
/* "" for "ai.onnx", else the domain itself; "" for NULL. */
const char *ln_build_domain(const char *domain);

/* ---- scope.c ---- */

/* A scope with room for `count` names. */
ln_status ln_scope_init(ln_scope *scope, ln_arena *arena, const ln_scope *outer, size_t count);
/* Adds a name that is not there yet and has room. */
void ln_scope_add(ln_scope *scope, const char *name, ln_value_id id);
/* The value in this scope alone, or 0. */
ln_value_id ln_scope_own(const ln_scope *scope, const char *name);
/* The value in this scope or the nearest outer one, or 0. */
ln_value_id ln_scope_find(const ln_scope *scope, const char *name);

#endif
