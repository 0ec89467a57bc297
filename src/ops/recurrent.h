/* What the recurrent operators share: params, sizes, and the bound operands of one run. */
#ifndef LN_OPS_RECURRENT_H
#define LN_OPS_RECURRENT_H

#include "ops/op.h"
#include "simd/kernels.h"

typedef enum ln_cell { LN_CELL_RNN, LN_CELL_GRU, LN_CELL_LSTM } ln_cell;

/* An activation of a gate: its row of the table in recurrent_gates.c with its parameters. */
typedef struct ln_gate_function {
    int kind;
    float alpha, beta;
} ln_gate_function;

typedef struct ln_recurrent_params {
    ln_cell cell;
    int gates; /* per direction: 1, 3, 4 */
    int directions;
    bool reversed[2]; /* time runs backwards */
    bool batch_first; /* layout 1 */
    bool linear_before_reset, input_forget;
    bool quantized;                /* DynamicQuantizeLSTM */
    float clip;                    /* 0 for none */
    int64_t hidden;                /* hidden_size, 0 where the attribute is absent */
    ln_gate_function functions[6]; /* per direction: f, g, h */
} ln_recurrent_params;

/* Sizes of one node: steps, batch, input and hidden size. */
typedef struct ln_recurrent_sizes {
    int64_t steps, batch, input, hidden;
    int64_t columns; /* gates * hidden */
} ln_recurrent_sizes;

/* Position of one batch entry's state of one direction, in rows of `hidden`: states are [D, B, H] or [B, D, H]. */
static inline int64_t ln_state_row(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes,
                                   int64_t d, int64_t b) {
    return params->batch_first ? b * params->directions + d : d * sizes->batch + b;
}

/* Position of X's row at a step, in rows of `input`; Y's row in rows of `hidden`. */
static inline int64_t ln_input_row(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes,
                                   int64_t t, int64_t b) {
    return params->batch_first ? b * sizes->steps + t : t * sizes->batch + b;
}

static inline int64_t ln_output_row(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes,
                                    int64_t t, int64_t d, int64_t b) {
    return params->batch_first ? (b * sizes->steps + t) * params->directions + d
                               : (t * params->directions + d) * sizes->batch + b;
}

/* Build: the functions of all directions: given ones, or the defaults. Parameters are listed in the order of the functions
 * that take them. */
ln_status ln_gates_build(ln_build *build, ln_recurrent_params *params);
/* Applies a gate function to n numbers in place, after clipping to [-clip, clip] where clip is not 0. */
void ln_gate_apply_f32(ln_gate_function function, float clip, float *x, int64_t n);
void ln_gate_apply_f64(ln_gate_function function, float clip, double *x, int64_t n);

/* Columns of part 0, 1 or 2 of the recurrent weights (recurrent_walk.c says which they are). */
int64_t ln_recurrent_part_columns(const ln_recurrent_params *params, const ln_recurrent_sizes *sizes,
                                  int part);
/* A product of m contiguous rows with packed columns, without a bias. */
ln_gemm_f32_args ln_recurrent_product(int64_t m, int64_t n, int64_t k, const float *b);

/* One direction's walk through time, in the type of the computation: memory as bytes, what is absent NULL. */
typedef struct ln_recurrent_walk {
    const ln_recurrent_params *params;
    const ln_recurrent_sizes *sizes;
    int64_t d;
    char *inputs; /* X * W^T and biases: [steps * batch rows as X has them][columns] */
    const char *recurrent_bias, *peepholes; /* [columns], [3 * hidden] */
    const int32_t *lengths;                 /* [batch] */
    const void *weights[2];                 /* float: packed parts 0 and 1 or 2; double: [columns][hidden] */
    void *y;                                /* all of Y */
    char *h, *c;                            /* [batch][hidden]: the states; c of LSTM alone */
    char *gates, *product;                  /* [batch][columns] */
    char *work, *next;                      /* [batch][hidden], and twice that */
    void *scratch;                          /* of the GEMM */
} ln_recurrent_walk;
void ln_recurrent_walk_f32(const ln_recurrent_walk *walk);
void ln_recurrent_walk_f64(const ln_recurrent_walk *walk);

/* DynamicQuantizeLSTM: scale and zero point of W, then of R. */
enum { LN_RECURRENT_SCALES = 8 };
/* `to` gets what `from` is after quantisation to uint8 over its own range; they may be one. */
void ln_recurrent_round(const float *from, int64_t count, float *to);
/* Direction d of W (index 1) or R (index 2) as floats in LSTM's order, [columns][rows]. */
void ln_recurrent_load_bytes(const ln_op *op, int index, int64_t d, float *floats);
/* Pack: whether scales and zero points are constants of a size that fits. */
bool ln_recurrent_bytes_known(const ln_op *op);
/* Infer: one scale and zero point each direction or each column. */
ln_status ln_recurrent_check_bytes(ln_op *op, int64_t directions, int64_t columns);

#endif
