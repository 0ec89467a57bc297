/* Element types. The numbers are those of TensorProto.DataType in the ONNX standard.
 *
 * Every type has a row in one table: its name as JavaScript sees it, its width in bits and the compute class
 * that arithmetic on it uses. Types of less than a byte are packed, low part first; elements of 6 bits cross bytes, four in
 * three of them.
 */
#ifndef LN_BASE_DTYPE_H
#define LN_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ln_dtype {
    LN_UNDEFINED = 0,
    LN_FLOAT = 1,
    LN_UINT8 = 2,
    LN_INT8 = 3,
    LN_UINT16 = 4,
    LN_INT16 = 5,
    LN_INT32 = 6,
    LN_INT64 = 7,
    LN_STRING = 8,
    LN_BOOL = 9,
    LN_FLOAT16 = 10,
    LN_DOUBLE = 11,
    LN_UINT32 = 12,
    LN_UINT64 = 13,
    LN_COMPLEX64 = 14,
    LN_COMPLEX128 = 15,
    LN_BFLOAT16 = 16,
    LN_FLOAT8E4M3FN = 17,
    LN_FLOAT8E4M3FNUZ = 18,
    LN_FLOAT8E5M2 = 19,
    LN_FLOAT8E5M2FNUZ = 20,
    LN_UINT4 = 21,
    LN_INT4 = 22,
    LN_FLOAT4E2M1 = 23,
    LN_FLOAT8E8M0 = 24,
    LN_UINT2 = 25,
    LN_INT2 = 26,
    LN_FLOAT6E2M3 = 27,
    LN_FLOAT6E3M2 = 28,
    LN_DTYPE_COUNT = 29
} ln_dtype;

/* The type that arithmetic on an element type is done in. Halves and smaller floats are stored as they are
 * and computed in float32; integers of up to 32 bits in int32, except uint32, which takes int64. */
typedef enum ln_compute {
    LN_COMPUTE_NONE,    /* string, undefined */
    LN_COMPUTE_F32,     /* float32, float16, bfloat16, all float8, float6 and float4 forms */
    LN_COMPUTE_F64,     /* double */
    LN_COMPUTE_I32,     /* int32, and int16, uint16, int8, uint8, bool, 4- and 2-bit integers */
    LN_COMPUTE_I64,     /* int64, uint32 */
    LN_COMPUTE_U64,     /* uint64 */
    LN_COMPUTE_COMPLEX, /* complex64, complex128 */
} ln_compute;

/* A set of element types, one bit each. */
typedef uint32_t ln_dtype_set;
#define LN_BIT(dtype) (UINT32_C(1) << (dtype))

bool ln_dtype_valid(int dtype);
const char *ln_dtype_name(ln_dtype dtype);
/* Bits of one element; a string is one ln_string. */
unsigned ln_dtype_bits(ln_dtype dtype);
ln_compute ln_dtype_compute(ln_dtype dtype);
bool ln_dtype_is_float(ln_dtype dtype);
bool ln_dtype_is_integer(ln_dtype dtype);
bool ln_dtype_is_signed(ln_dtype dtype);
/* Bytes that `count` elements take, packed types rounded up; false on overflow of size_t. */
bool ln_dtype_bytes(ln_dtype dtype, int64_t count, size_t *bytes);

/* An element of a string tensor: UTF-8, not terminated. The bytes belong to the arena that made them. */
typedef struct ln_string {
    const char *data;
    size_t length;
} ln_string;

/* Order of two strings byte by byte: negative, 0 or positive. An empty one may have no data. */
int ln_string_compare(const ln_string *a, const ln_string *b);

#endif
