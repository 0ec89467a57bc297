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
