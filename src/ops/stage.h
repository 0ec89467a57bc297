/* Staging: half-precision operands of the matrix kernels are converted to float32 in scratch memory, the kernel runs on
 * those, and the result is converted back. One list of conversions makes one grid. */
#ifndef LN_OPS_STAGE_H
#define LN_OPS_STAGE_H

#include "ops/op.h"

enum { LN_STAGES = 4 };

/* One conversion between stored elements and float32. */
typedef struct ln_stage {
    ln_dtype dtype; /* type of `stored` */
    void *stored;
    float *floats;
    int64_t count;
    bool store; /* floats to stored; otherwise stored to floats */
} ln_stage;

typedef struct ln_stages {
    int count;
    ln_stage list[LN_STAGES];
} ln_stages;

/* Bytes of scratch for `count` floats, rounded to 64 and with room to over-read; SIZE_MAX on overflow. */
size_t ln_stage_bytes(int64_t count);
void ln_stage_add(ln_stages *stages, ln_dtype dtype, const void *stored, float *floats, int64_t count,
                  bool store);
/* Infer: adds to op->scratch_bytes what the float32 form of a value takes: nothing where it is absent or float32 already.
 * Saturates, so that too large a sum ends as OUT_OF_MEMORY. */
void ln_stage_reserve(ln_op *op, const ln_value *value);
/* Run: the float32 form of a value: its own bytes, or the next stretch of *scratch, which the list then fills (`load`) or
 * the caller stores back. NULL where the value is absent. */
float *ln_stage_floats(ln_stages *stages, const ln_value *value, char **scratch, bool load);
/* Tasks of the grid over all conversions of the list, and one of them. */
int64_t ln_stage_tasks(const ln_stages *stages);
void ln_stage_run(const ln_stages *stages, int64_t index);

#endif
