/* Conversions between half precision and float32 around the matrix kernels. */
#include "ops/stage.h"
#include "ops/float_tile.h"

enum { GRAIN = 16384 }; /* elements of one task */

size_t ln_stage_bytes(int64_t count) {
    if (count < 0 || (uint64_t)count > (SIZE_MAX - 128) / sizeof(float)) {
        return SIZE_MAX;
    }
    return ((size_t)count * sizeof(float) + 16 + 63) & ~(size_t)63;
}

void ln_stage_add(ln_stages *stages, ln_dtype dtype, const void *stored, float *floats, int64_t count,
                  bool store) {
    stages->list[stages->count++] = (ln_stage){dtype, (void *)(uintptr_t)stored, floats, count, store};
}

static size_t form_bytes(const ln_value *value) {
    return value && value->dtype != LN_FLOAT ? ln_stage_bytes(ln_value_count(value)) : 0;
}

void ln_stage_reserve(ln_op *op, const ln_value *value) {
    const size_t bytes = form_bytes(value);
    op->scratch_bytes = bytes > SIZE_MAX - op->scratch_bytes ? SIZE_MAX : op->scratch_bytes + bytes;
}

float *ln_stage_floats(ln_stages *stages, const ln_value *value, char **scratch, bool load) {
    if (!value) {
        return NULL;
    }
    if (value->dtype == LN_FLOAT) {
        return value->data;
    }
    float *floats = (float *)(void *)*scratch;
    *scratch += form_bytes(value);
    if (load) {
        ln_stage_add(stages, value->dtype, value->data, floats, ln_value_count(value), false);
    }
    return floats;
}

static int64_t chunks(const ln_stage *stage) {
    return (stage->count + GRAIN - 1) / GRAIN;
}

int64_t ln_stage_tasks(const ln_stages *stages) {
    int64_t total = 0;
    for (int i = 0; i < stages->count; ++i) {
        total += chunks(&stages->list[i]);
    }
    return total;
}

void ln_stage_run(const ln_stages *stages, int64_t index) {
    int i = 0;
    while (index >= chunks(&stages->list[i])) {
        index -= chunks(&stages->list[i++]);
    }
    const ln_stage *stage = &stages->list[i];
    const int64_t first = index * GRAIN;
    const int64_t n = stage->count - first < GRAIN ? stage->count - first : GRAIN;
    if (stage->store) {
        ln_tile_store(stage->dtype, stage->stored, first, n, stage->floats + first);
    } else {
        ln_tile_load(stage->dtype, stage->stored, first, n, stage->floats + first);
    }
}
