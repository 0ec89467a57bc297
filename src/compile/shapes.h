/* Shapes as far as they are known before a run: sizes, and symbols for sizes that only the run knows. */
#ifndef LN_COMPILE_SHAPES_H
#define LN_COMPILE_SHAPES_H

#include "graph/graph.h"

/* A size that is not known is a symbol. Equal symbols are equal sizes; different ones may be equal too. */
static inline bool ln_is_symbol(int64_t size) {
    return size < INT64_MIN / 2;
}

/* Walks the graphs in order and sets what it finds in ln_value_info.shape and .elements. Shapes that the model declares for
 * anything but its inputs are not trusted. Nodes must be in order; may be called again after rewrites. */
ln_status ln_infer_shapes(ln_model *model);

/* The shape of a value, with symbols; false when not even the rank is known. */
bool ln_known_shape(const ln_model *model, ln_value_id id, ln_shape *shape);
/* -1 when it is not known. */
int ln_known_rank(const ln_model *model, ln_value_id id);
/* Whether two values have the same shape in every run. */
bool ln_same_shape(const ln_model *model, ln_value_id a, ln_value_id b);
/* Elements of a small integer tensor of rank 0 or 1, with symbols; -1 when they are not known or more than `capacity`. */
int ln_known_ints(const ln_model *model, ln_value_id id, int64_t *elements, int capacity);
/* Axes of a node that has them as attribute `axes` or as input `index`, as a mask over `rank` axes; absent: all of them.
 * False when they are not constant or out of range. */
bool ln_known_axes(const ln_node *node, int index, int rank, uint32_t *mask);

#endif
