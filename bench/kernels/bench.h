/* What the kernel bench's files share: a case, the memory of the running one, and what it computes and moves. */
#ifndef LN_BENCH_H
#define LN_BENCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * A kernel on one shape. `setup` prepares the operands and sets ln_bench_work; `tasks` may be NULL for one task. A case
 * lists its own options in dims.
 */
typedef struct ln_bench_case {
    const char *name;
    void (*setup)(const struct ln_bench_case *bench);
    size_t (*tasks)(void);
    void (*run)(const struct ln_bench_case *bench, size_t task);
    double flops, bytes; /* of a run; 0 where setup says it */
    size_t dims[8];
} ln_bench_case;

typedef struct ln_bench_family {
    const ln_bench_case *cases;
    size_t count;
} ln_bench_family;

#define LN_BENCH_FAMILY(name, table)                                                                         \
    const ln_bench_family ln_bench_##name = {(table), sizeof(table) / sizeof((table)[0])}

extern const ln_bench_family ln_bench_ceilings, ln_bench_product, ln_bench_vector, ln_bench_movement;

/* Floating-point operations and bytes of a run of the current case. */
struct ln_bench_work {
    double flops, bytes;
};
extern struct ln_bench_work ln_bench_work;

/* Makes a product the current case; `layout` says how B comes: 0 packed, 1 rows, 2 columns. */
void ln_bench_setup_gemm(size_t m, size_t k, size_t n, size_t layout);

/* Memory until the next case is set up, aligned to a cache line; random numbers in [-1, 1). */
void *ln_bench_keep(size_t bytes);
float *ln_bench_floats(size_t count);

#endif
