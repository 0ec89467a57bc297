/* Params of the pooling operators, which rewrites change. */
#ifndef LN_OPS_POOLING_H
#define LN_OPS_POOLING_H

#include "ops/pool_nd.h"

typedef struct ln_pool_params {
    ln_window window;
    ln_pool_kind kind;
    bool global;
    bool count_include_pad;
    bool column_major; /* storage_order of MaxPool */
    float p;
} ln_pool_params;

#endif
