/* A number that stands for everything a model holds: structure, names, types, attributes and constants. */
#ifndef LN_TEST_MODEL_HASH_H
#define LN_TEST_MODEL_HASH_H

#include <stdint.h>

#include "graph/graph.h"

uint64_t model_hash(ln_model *model);

#endif
