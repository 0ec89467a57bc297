/* How an operator is written: rows, and what the functions of a row see.
 *
 * An operator is a row of a table: which versions it covers, which types it takes, and up to four functions.
 *
 *   build   once per node, at load: turns the attributes, whatever their version says, into one small params struct.
 *   infer   once per node and plan, with concrete input shapes: sets the type and shape of every output and asks
 *           for scratch. When it needs the bytes of an input, it goes through ln_op_want and passes on its answer.
 *   run     computes. It may do all the work at once, or offer a grid of tasks (ln_op_grid).
 *   pack    once per node, at load, with the constant inputs present: lays weights out for the kernels.
 *
 * Versions differ in rows and in build, never in run. infer and run of one step share one ln_op: what infer
 * leaves in `local` is there when run starts, and run may be called many times after one infer.
 */
#ifndef LN_OPS_OP_H
#define LN_OPS_OP_H

#include "base/convert.h"
#include "base/text.h"
#include "base/value.h"
#include "graph/graph.h"

typedef struct ln_op ln_op;
typedef struct ln_build ln_build;

/* ---- Rows ------------------------------------------------------------------------------------------ */

enum { LN_OPEN = 9999 }; /* `until` of a row whose definition is the newest one */

enum {                           /* flags of a row */
       LN_OP_ALIAS = 1 << 0,     /* output 0 has the bytes of input 0 (Reshape, Identity): no step is run */
       LN_OP_INPLACE_0 = 1 << 1, /* output 0 may overwrite input 0 when it has as many bytes */
       LN_OP_INPLACE_1 = 1 << 2, /* same for input 1 */
       LN_OP_SHAPE_ONLY =
           1 << 3, /* outputs depend on the shapes of inputs alone: run works without their bytes */
       LN_OP_DYNAMIC =
           1 << 4, /* outputs are made by run (ln_op_make*): infer sets types only. NonZero, sequences */
       LN_OP_RANDOM = 1 << 5,  /* never folded */
       LN_OP_CONTROL = 1 << 6, /* runs subgraphs: `control` in place of run */
};

typedef struct ln_control ln_control;

typedef struct ln_op_row {
    const char *name;
    const char *domain;    /* "" for ai.onnx */
    int16_t since, until;  /* versions of the domain that this row serves; LN_OPEN for the newest */
    const char *signature; /* see below */
    ln_dtype_set types[3]; /* what type variables A, B and C of the signature may be */
    ln_status (*build)(ln_build *build);
    ln_status (*infer)(ln_op *op);
    ln_status (*run)(ln_op *op);
    ln_status (*pack)(ln_op *op); /* or NULL */
    uint32_t flags;
    ln_status (*control)(ln_control *control); /* rows with LN_OP_CONTROL */
} ln_op_row;

/* Signatures: inputs, '>', outputs; one term per input or output.
 *   A B C    a type variable: all terms with one letter have one type, out of types[0..2]
 *   f d h    float32, float64, float16;  l i u b s   int64, int32, uint8, bool, string
 *   [A]      a sequence of tensors;  <A> an optional of a tensor; {} a map or a sequence of maps;  . anything
 *   ?        after a term: may be absent;  *: zero or more of this term (last term only);  +: one or more
 * Outputs whose variable no input binds take node->output_dtype, which build sets. A variadic term of mixed types is ".*".
 * Examples: Add "AA>A", Clip-11 "AA?A?>A", Concat "A+>A", Cast "A>B", TopK-11 "Al>Al", Split "Al?>A+". */

/* A family's table. Each src/ops/<family>.c ends with one: const ln_op_family ln_ops_<family> = {...}. */
typedef struct ln_op_family {
    const char *name;
    const ln_op_row *rows;
    int count;
} ln_op_family;

#define LN_FAMILY_TABLE(family, table)                                                                       \
    const ln_op_family ln_ops_##family = {#family, (table), (int)(sizeof(table) / sizeof((table)[0]))}

/* Type sets that the standard uses again and again. */
#define LN_T_HALF     (LN_BIT(LN_FLOAT16) | LN_BIT(LN_BFLOAT16))
#define LN_T_FLOAT    (LN_BIT(LN_FLOAT16) | LN_BIT(LN_FLOAT) | LN_BIT(LN_DOUBLE)) /* float, double, float16 */
#define LN_T_FLOAT_BF (LN_T_FLOAT | LN_BIT(LN_BFLOAT16))                          /* and bfloat16 */
#define LN_T_FLOAT8                                                                                          \
    (LN_BIT(LN_FLOAT8E4M3FN) | LN_BIT(LN_FLOAT8E4M3FNUZ) | LN_BIT(LN_FLOAT8E5M2) | LN_BIT(LN_FLOAT8E5M2FNUZ))
#define LN_T_SINT      (LN_BIT(LN_INT8) | LN_BIT(LN_INT16) | LN_BIT(LN_INT32) | LN_BIT(LN_INT64))
#define LN_T_UINT      (LN_BIT(LN_UINT8) | LN_BIT(LN_UINT16) | LN_BIT(LN_UINT32) | LN_BIT(LN_UINT64))
#define LN_T_INT       (LN_T_SINT | LN_T_UINT)
#define LN_T_HIGH      (LN_T_FLOAT | LN_BIT(LN_INT32) | LN_BIT(LN_INT64) | LN_BIT(LN_UINT32) | LN_BIT(LN_UINT64))
#define LN_T_INDEX     (LN_BIT(LN_INT32) | LN_BIT(LN_INT64))
#define LN_T_NUMBER    (LN_T_FLOAT | LN_T_INT) /* all numeric, without bfloat16 */
#define LN_T_NUMBER_BF (LN_T_NUMBER | LN_BIT(LN_BFLOAT16))
#define LN_T_COMPLEX   (LN_BIT(LN_COMPLEX64) | LN_BIT(LN_COMPLEX128))
#define LN_T_ALL       (LN_T_NUMBER | LN_T_COMPLEX | LN_BIT(LN_STRING) | LN_BIT(LN_BOOL)) /* all_tensor_types */
#define LN_T_ALL_BF    (LN_T_ALL | LN_BIT(LN_BFLOAT16))                                   /* ir4 */
#define LN_T_ALL_IR9   (LN_T_ALL_BF | LN_T_FLOAT8)
#define LN_T_ALL_IR10  (LN_T_ALL_IR9 | LN_BIT(LN_UINT4) | LN_BIT(LN_INT4))
#define LN_T_ALL_IR11  (LN_T_ALL_IR10 | LN_BIT(LN_FLOAT4E2M1))
#define LN_T_ALL_IR12  (LN_T_ALL_IR11 | LN_BIT(LN_FLOAT8E8M0))
#define LN_T_ALL_IR13  (LN_T_ALL_IR12 | LN_BIT(LN_UINT2) | LN_BIT(LN_INT2))
#define LN_T_FLOAT6    (LN_BIT(LN_FLOAT6E2M3) | LN_BIT(LN_FLOAT6E3M2)) /* IR 14 */
#define LN_T_ANY       (LN_T_ALL_IR13 | LN_T_FLOAT6)

/* ---- Build: attributes to params ------------------------------------------------------------------- */

/* What build sees. The readers record the first error, so a build function reads all its attributes in a
 * row and returns ln_build_status. */
struct ln_build {
    ln_context *context;
    ln_arena *arena; /* of the model: params live there */
    ln_node *node;   /* attributes, constants of inputs; build sets node->params and node->output_dtype */
    int opset;       /* version of the node's domain */
    ln_status status;
};

/* Zeroed params in the arena, also stored in node->params; NULL after recording OUT_OF_MEMORY. */
void *ln_build_params(ln_build *build, size_t bytes);
ln_status ln_build_status(const ln_build *build);
bool ln_has_attr(const ln_build *build, const char *name);
int64_t ln_attr_int(ln_build *build, const char *name, int64_t otherwise);
float ln_attr_float(ln_build *build, const char *name, float otherwise);
bool ln_attr_bool(ln_build *build, const char *name, bool otherwise);
/* The text, NUL-terminated in the arena. */
const char *ln_attr_string(ln_build *build, const char *name, const char *otherwise);
/* Arrays: *count is 0 and NULL is returned when the attribute is absent. */
const int64_t *ln_attr_ints(ln_build *build, const char *name, int *count);
const float *ln_attr_floats(ln_build *build, const char *name, int *count);
const ln_string *ln_attr_strings(ln_build *build, const char *name, int *count);
const ln_value *ln_attr_tensor(ln_build *build, const char *name); /* NULL when absent */
ln_graph *ln_attr_graph(ln_build *build, const char *name);        /* INVALID_ATTRIBUTE when absent */
/* Index of a string attribute among `names` (NULL-terminated); INVALID_ATTRIBUTE names the choices. */
int ln_attr_choice(ln_build *build, const char *name, const char *const *names, int otherwise);
/* Fails unless the attribute is there. */
void ln_attr_required(ln_build *build, const char *name);
/* Records INVALID_ATTRIBUTE (or another code) with a sentence. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
ln_status ln_build_fail(ln_build *build, ln_status code, const char *format, ...);
/* Build for operators without attributes: params stay NULL. */
ln_status ln_build_nothing(ln_build *build);

/* ---- Infer and run --------------------------------------------------------------------------------- */

/* One task of a grid. `scratch` is this thread's task scratch (op->task_scratch_bytes), or NULL. */
typedef void (*ln_op_task)(ln_op *op, int64_t index, void *scratch);

/* Work offered to the executor, which may spread it over threads and may pause between tasks. */
typedef struct ln_grid {
    ln_op_task task;
    int64_t count;
    ln_status (*then)(ln_op *op); /* called after the last task, or NULL; may offer another grid */
} ln_grid;

struct ln_op {
    ln_context *context;
    const ln_node *node;
    const void *params; /* node->params */
    void *packed;       /* node->packed: one ln_alloc block without pointers into itself, so it may move */
    uint32_t consumed;  /* pack: bit i says that the bytes of input i are not read any more */
    ln_value *const *inputs;  /* [n_inputs]; NULL where absent */
    ln_value *const *outputs; /* [n_outputs]; NULL where nobody reads it, but for the first */
    int n_inputs;
    int n_outputs;
    ln_arena *texts;           /* characters of strings that this run makes */
    bool in_order;             /* infer: output 0 is the inputs, one after the other */
    const ln_value *same_as;   /* infer: the input whose bytes output 0 has, so no step is run; or NULL */
    size_t scratch_bytes;      /* infer asks; 64-byte aligned */
    void *scratch;             /* run: the memory */
    size_t task_scratch_bytes; /* infer asks; per thread */
    ln_grid grid;              /* set by ln_op_grid */
    uint64_t *random_state;    /* of the session's generator, for LN_OP_RANDOM rows */
    int wanted;                /* input that ln_op_want could not give */
    unsigned char *local;      /* the operator's own, from infer to run; 16-byte aligned */
    uint32_t local_bytes;      /* of local, in use: as much as infer took */
    uint32_t local_room;       /* of local: nothing more can be taken once infer is done */
};

enum { LN_LOCAL_BYTES = 1408 };

/* The operator's struct in op->local, zeroed when infer takes it first; checked to fit at compile time. What infer did
 * not take, run has not. */
#define LN_LOCAL(op, type)                                                                                   \
    ((void)sizeof(char[sizeof(type) <= LN_LOCAL_BYTES ? 1 : -1]), (type *)ln_op_local((op), sizeof(type)))
void *ln_op_local(const ln_op *op, size_t bytes);

/* Input or output by position; NULL when absent or beyond the end. */
static inline const ln_value *ln_in(const ln_op *op, int index) {
    return index < op->n_inputs ? op->inputs[index] : NULL;
}
static inline ln_value *ln_out(const ln_op *op, int index) {
    return index < op->n_outputs ? op->outputs[index] : NULL;
}

/* Records an error; the executor adds node, operator and opset. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
ln_status ln_op_fail(ln_op *op, ln_status code, const char *format, ...);
#define LN_OP_CHECK(op, condition, code, ...)                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            return ln_op_fail((op), LN_##code, __VA_ARGS__);                                                 \
        }                                                                                                    \
    } while (0)

/* Infer: LN_OK when the bytes of input `index` are known (or it is absent), LN_NEED_VALUE otherwise: pass it on. */
ln_status ln_op_want(ln_op *op, int index);
/* Infer: reads an int32 or int64 tensor of rank 0 or 1 into `values`; wants it first. *count is 0 when absent.
 * LIMIT_EXCEEDED when it has more than `capacity` elements. */
ln_status ln_op_ints(ln_op *op, int index, int64_t *values, int capacity, int *count);
/* Infer: reads one number of any numeric type as int64 or double; wants it first. Absent: *value stays. */
ln_status ln_op_int(ln_op *op, int index, int64_t *value);
ln_status ln_op_number(ln_op *op, int index, double *value);
/* INVALID_SHAPE unless input `index` is absent or has `count` elements; `what` is its name in the sentence. */
ln_status ln_op_count(ln_op *op, int index, const char *what, int64_t count);
/* Infer: the axis attribute as 0..rank-1; INVALID_ATTRIBUTE with the range otherwise. */
ln_status ln_op_axis(ln_op *op, int64_t axis, int rank, int *result);
/* Infer: sets type and shape of an output (nothing when nobody reads it); LIMIT_EXCEEDED on overflow, INVALID_SHAPE
 * on a negative dimension. */
ln_status ln_op_shape(ln_op *op, int index, ln_dtype dtype, const ln_shape *shape);
/* Infer for rows whose output 0 is shaped and typed as input 0. */
ln_status ln_infer_same(ln_op *op);
/* Infer for binary rows: output 0 has the type of input 0 and the broadcast shape of inputs 0 and 1. */
ln_status ln_infer_broadcast(ln_op *op);
/* Infer for LN_OP_DYNAMIC rows: output 0 is a tensor of input 0's type, the rest comes from run. */
ln_status ln_infer_dynamic(ln_op *op);

/* Run of LN_OP_DYNAMIC rows: gives output `index` memory of its own. Outputs nobody reads are skipped: check ln_out. */
ln_status ln_op_make(ln_op *op, int index, ln_dtype dtype, const ln_shape *shape);
ln_status ln_op_make_items(ln_op *op, int index, ln_kind kind, ln_dtype dtype, int32_t capacity);

/* Run: offers `count` tasks; return its answer. ln_op_grid_then calls `then` after the last one. */
ln_status ln_op_grid(ln_op *op, ln_op_task task, int64_t count);
ln_status ln_op_grid_then(ln_op *op, ln_op_task task, int64_t count, ln_status (*then)(ln_op *op));
/* Splits n elements into tasks of at least `grain`: returns the task count, fixed by n alone. */
int64_t ln_op_tasks(int64_t n, int64_t grain);
/* The range of task `index` out of `count` over n elements. */
void ln_op_range(int64_t n, int64_t count, int64_t index, int64_t *begin, int64_t *end);

/* ---- Broadcasting ---------------------------------------------------------------------------------- */

enum { LN_BROADCAST_INPUTS = 4 };

/* An elementwise walk over up to four broadcast inputs: axes that broadcast alike are merged, so that the inner run
 * is long. Stride 0 where an input repeats. */
typedef struct ln_broadcast {
    int rank; /* of the merged axes, at least 1 */
    int n_inputs;
    int64_t dims[LN_MAX_RANK];
    int64_t strides[LN_BROADCAST_INPUTS][LN_MAX_RANK]; /* in elements; the innermost is 0 or 1 */
    int64_t count;                                     /* elements of the output */
} ln_broadcast;

/* Plans the walk; shapes are known to broadcast to `output`. */
void ln_broadcast_init(ln_broadcast *walk, const ln_shape *output, int n_inputs,
                       const ln_shape *const *inputs);
/* Element offsets of the inputs for output element `index`. */
void ln_broadcast_seek(const ln_broadcast *walk, int64_t index, int64_t *offsets);
/* Calls `visit` for inner runs that cover output elements [begin, end): output offset, length, input offsets. */
typedef void (*ln_broadcast_visit)(void *argument, int64_t output, int64_t n, const int64_t *offsets);
void ln_broadcast_each(const ln_broadcast *walk, int64_t begin, int64_t end, ln_broadcast_visit visit,
                       void *argument);

/* ---- Control flow ---------------------------------------------------------------------------------- */

/* How a control-flow row describes its steps. The executor calls row->control first with entry == 0 and then again
 * after each body it was asked to run, with `body_outputs` filled. The row binds the inputs of the next body and
 * returns with `body` set, or sets `body` to NULL when the node's outputs are made. Nothing recurses. */
struct ln_control {
    ln_op op;       /* inputs and outputs of the node */
    int64_t entry;  /* times called before */
    ln_graph *body; /* out: graph to run next, or NULL: done */
    ln_value
        *body_inputs; /* out: [body->n_inputs], LN_KIND_NONE at entry 0; kept with ln_value_keep or headers */
    int32_t body_capacity;         /* entries of body_inputs: the largest n_inputs of the node's graphs */
    ln_value *const *body_outputs; /* in: [last body's n_outputs] from the body that ran last */
    void *state;                   /* the row's own, zeroed at entry 0: LN_CONTROL_STATE_BYTES */
    ln_value *kept;     /* the row's own values, LN_KIND_NONE at entry 0; released when the node is left */
    int32_t kept_count; /* body inputs + node outputs of the node */
};
enum { LN_CONTROL_STATE_BYTES = 128 };

/* ---- Registry -------------------------------------------------------------------------------------- */

/* The row of an operator at a version, or NULL. *known says whether any version of it is in this build. */
const ln_op_row *ln_op_find(const char *domain, const char *name, int version, bool *known);
/* Whether an operator is none of this build because its family was left out of it. */
bool ln_op_left_out(const char *domain, const char *name);
/* Every family of this build; *count of them. */
const ln_op_family *const *ln_op_families(int *count);
/* Newest operator-set version of a domain that this build knows, or 0. */
int ln_op_newest_opset(const char *domain);

#endif
