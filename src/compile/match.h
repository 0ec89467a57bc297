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
/* A constant number of one element at value `id`, of any type; false when it is not one. */
bool ln_constant_double(const ln_model *model, ln_value_id id, double *value);

/* Whether a BatchNormalization normalises by channel with float32 constants of `channels` elements each; then, what it
 * multiplies a channel with. */
bool ln_batch_norm_known(const ln_node *node, int64_t channels);
double ln_batch_norm_scale(const ln_node *node, int64_t channel);

/*
 * Patterns: an expression in text that stands for the nodes behind one value.
 *   Op(a,b)      the output of a node of the default domain with just these inputs; Add and Mul in either order
 *   x  d:Op(..)  a lower-case letter: the same value wherever it stands; given a name with a colon
 *   E            an upper-case letter: a constant of one float
 *   1.5          that constant
 *   {P|Q}        either
 *   ~P           P, or a Cast of it
 * Alternatives are tried from left to right without going back to one that has matched: write what is most particular first.
 * A match owns the nodes it holds: nobody else reads what they make, but for the root's output.
 */
enum { LN_MATCH_NODES = 32, LN_MATCH_LETTERS = 26 };

typedef struct ln_match {
    ln_value_id values[LN_MATCH_LETTERS];  /* by lower-case letter, 0 where it is not bound */
    ln_value_id numbers[LN_MATCH_LETTERS]; /* by upper-case letter */
    ln_node *nodes[LN_MATCH_NODES];        /* the root first */
    int n_nodes;
    int number_rank; /* the largest rank among the constants of one element */
} ln_match;

bool ln_matches(const char *pattern, ln_node *root, ln_match *match);
static inline ln_value_id ln_matched(const ln_match *match, char letter) {
    return match->values[letter - 'a'];
}
/* The number behind an upper-case letter. */
double ln_matched_number(const ln_match *match, char letter);
/* Whether the root's output surely has the shape of `id`, given that all else are numbers: they must not raise its rank. */
bool ln_keeps_rank(const ln_match *match, ln_value_id id);
/* Removes all nodes of a match but the root. */
void ln_match_remove(const ln_match *match);

/* One attribute for ln_become_with: a whole number, a float, a text that is never freed, or a list of whole numbers. */
typedef struct ln_setting {
    const char *name;
    ln_attribute_type type;
    double number;
    const char *text;
    const int64_t *ints;
    int count;
} ln_setting;

/* As ln_become, with attributes. */
ln_status ln_become_with(ln_node *node, const char *domain, const char *op_type, int opset, int n_inputs,
                         const ln_value_id *inputs, int n_settings, const ln_setting *settings);
/* Turns a node into another operator with the same output, without attributes; inputs are given by number. Resolves its row. */
ln_status ln_become(ln_node *node, const char *domain, const char *op_type, int opset, int n_inputs,
                    const ln_value_id *inputs);

#endif
