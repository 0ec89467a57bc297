/* What rewrites use to find their patterns. */
#ifndef LN_COMPILE_MATCH_H
#define LN_COMPILE_MATCH_H

#include "compile/compile.h"

/* Who reads the values of one graph: built once per rewrite, right as long as only removed nodes change it. */
typedef struct ln_readers {
    ln_model *model;
    ln_node **reader; /* [n_values]: the last node of the graph that reads a value */
    int32_t count;
} ln_readers;

ln_status ln_readers_init(ln_readers *readers, ln_graph *graph);
void ln_readers_free(ln_readers *readers);

/* The only reader of output 0 of a node, when that output has one reader in all graphs and is no graph output. */
ln_node *ln_only_reader(const ln_readers *readers, const ln_node *node);
/* Whether a node is an operator of the default domain (or of `domain`). */
bool ln_is(const ln_node *node, const char *op_type);
bool ln_is_in(const ln_node *node, const char *domain, const char *op_type);
/* The node that makes input `index`, in the same graph; NULL for inputs and constants. */
ln_node *ln_producer(const ln_node *node, int index);
/* The constant float32 number (one element) at input `index`; false when it is not one. */
bool ln_constant_number(const ln_node *node, int index, float *value);
/* The other input of a two-input node that reads `value`; -1 when it does not read it exactly once. */
int ln_other_input(const ln_node *node, ln_value_id value);
/* Element type of a value as far as it is known at load. */
ln_dtype ln_known_dtype(const ln_model *model, ln_value_id id);
/* `node` takes over what `last` gives: its output 0 becomes last's, and last is removed. */
void ln_absorb(ln_node *node, ln_node *last);
/* Turns a node into another operator with the same output, without attributes; inputs are given by number. Resolves its row. */
ln_status ln_become(ln_node *node, const char *domain, const char *op_type, int opset, int n_inputs,
                    const ln_value_id *inputs);

#endif
