/* What the two files of Resize share: the rules of a step, and the passes of linear and cubic interpolation. */
#ifndef LN_OPS_RESIZE_H
#define LN_OPS_RESIZE_H

#include "ops/move.h"
#include "ops/resize_tables.h"

typedef struct ln_resize_local {
    ln_resize_rule rules[LN_MAX_RANK];
    _Alignas(16) unsigned char fill[16]; /* nearest: the element outside */
} ln_resize_local;

/* Infer: scratch that ln_run_interpolate needs, and each of its tasks. The output's shape is set. */
size_t ln_interpolate_scratch(const ln_op *op, const ln_resize_rule *rules, size_t *task_bytes);
/* Run: offers linear or cubic interpolation of input 0 to output 0. */
ln_status ln_run_interpolate(ln_op *op, const ln_resize_rule *rules, float extrapolation);

#endif
