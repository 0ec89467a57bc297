/* Runs of two-operand elementwise work: codes, compute classes and the broadcast walk that feeds them.
 *
 * A code and an element type pick a compute class and a function over a run of elements, where either operand may
 * be a single repeated element. Types that are stored as the class computes go to the function directly, the
 * others in tiles: a tile is read before it is written, so the result may overwrite an operand of its own size.
 */
#ifndef LN_OPS_BINARY_RUNS_H
#define LN_OPS_BINARY_RUNS_H

#include "ops/op.h"
#include "simd/vector.h"

/* Codes: the rows of ln_binary_*, then those computed here, then comparisons. */
enum {
    LN_CODE_MOD_FLOOR = LN_BINARY_COUNT,
    LN_CODE_MOD_TRUNC,
    LN_CODE_AND,
    LN_CODE_OR,
    LN_CODE_XOR,
    LN_CODE_SHIFT_LEFT,
    LN_CODE_SHIFT_RIGHT,
    LN_CODE_COMPARE,
    LN_CODE_OWN = LN_CODE_MOD_FLOOR
};

/* What a run of elements is computed in. U8 serves bitwise work on bytes. */
typedef enum ln_binary_class_id {
    LN_CLASS_F32,
    LN_CLASS_F64,
    LN_CLASS_I32,
    LN_CLASS_I64,
    LN_CLASS_U64,
    LN_CLASS_U8,
    LN_CLASS_COUNT
} ln_binary_class_id;

typedef struct ln_binary_run {
    ln_binary_fn *run;      /* or NULL, and */
    ln_compare_fn *compare; /* a comparison */
    ln_binary_class_id class;
    bool direct; /* both operands are stored as the class computes, and so is an arithmetic result */
    ln_dtype a_type, b_type, y_type;
    const uint8_t *a, *b;
    uint8_t *y;
    size_t a_stride, b_stride;
    size_t width; /* of an element, when direct */
} ln_binary_run;

/* The class that a code computes elements of a type in. */
ln_binary_class_id ln_binary_class(int code, ln_dtype dtype);
/* The base and the exponent of Pow may differ in type. */
ln_binary_class_id ln_binary_pow_class(ln_dtype base, ln_dtype exponent);
/* Sets class and function; `compare` counts for LN_CODE_COMPARE. */
void ln_binary_start(ln_binary_run *run, int code, enum ln_compare compare, ln_binary_class_id class);
/* Sets types and pointers: y = a op b. */
void ln_binary_operands(ln_binary_run *run, const ln_value *a, const ln_value *b, const ln_value *y);
/* Computes output elements [begin, end); a and b are seen with these shapes. */
void ln_binary_range(ln_binary_run *run, const ln_shape *a, const ln_shape *b, const ln_shape *y,
                     int64_t begin, int64_t end);

#endif
