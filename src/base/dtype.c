/* The table of element types. */
#include "base/dtype.h"

#include <string.h>

typedef struct dtype_row {
    const char *name;
    uint8_t bits;
    uint8_t compute;
    bool is_float;
    bool is_integer;
    bool is_signed;
} dtype_row;

static const dtype_row dtype_rows[LN_DTYPE_COUNT] = {
    [LN_UNDEFINED] = {"undefined", 0, LN_COMPUTE_NONE, false, false, false},
    [LN_FLOAT] = {"float32", 32, LN_COMPUTE_F32, true, false, true},
    [LN_UINT8] = {"uint8", 8, LN_COMPUTE_I32, false, true, false},
    [LN_INT8] = {"int8", 8, LN_COMPUTE_I32, false, true, true},
    [LN_UINT16] = {"uint16", 16, LN_COMPUTE_I32, false, true, false},
    [LN_INT16] = {"int16", 16, LN_COMPUTE_I32, false, true, true},
    [LN_INT32] = {"int32", 32, LN_COMPUTE_I32, false, true, true},
    [LN_INT64] = {"int64", 64, LN_COMPUTE_I64, false, true, true},
    [LN_STRING] = {"string", 8 * sizeof(ln_string), LN_COMPUTE_NONE, false, false, false},
    [LN_BOOL] = {"bool", 8, LN_COMPUTE_I32, false, false, false},
    [LN_FLOAT16] = {"float16", 16, LN_COMPUTE_F32, true, false, true},
    [LN_DOUBLE] = {"float64", 64, LN_COMPUTE_F64, true, false, true},
    [LN_UINT32] = {"uint32", 32, LN_COMPUTE_I64, false, true, false},
    [LN_UINT64] = {"uint64", 64, LN_COMPUTE_U64, false, true, false},
    [LN_COMPLEX64] = {"complex64", 64, LN_COMPUTE_COMPLEX, false, false, true},
    [LN_COMPLEX128] = {"complex128", 128, LN_COMPUTE_COMPLEX, false, false, true},
    [LN_BFLOAT16] = {"bfloat16", 16, LN_COMPUTE_F32, true, false, true},
    [LN_FLOAT8E4M3FN] = {"float8e4m3fn", 8, LN_COMPUTE_F32, true, false, true},
    [LN_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, LN_COMPUTE_F32, true, false, true},
    [LN_FLOAT8E5M2] = {"float8e5m2", 8, LN_COMPUTE_F32, true, false, true},
    [LN_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, LN_COMPUTE_F32, true, false, true},
    [LN_UINT4] = {"uint4", 4, LN_COMPUTE_I32, false, true, false},
    [LN_INT4] = {"int4", 4, LN_COMPUTE_I32, false, true, true},
    [LN_FLOAT4E2M1] = {"float4e2m1", 4, LN_COMPUTE_F32, true, false, true},
    [LN_FLOAT8E8M0] = {"float8e8m0", 8, LN_COMPUTE_F32, true, false, false},
    [LN_UINT2] = {"uint2", 2, LN_COMPUTE_I32, false, true, false},
    [LN_INT2] = {"int2", 2, LN_COMPUTE_I32, false, true, true},
    [LN_FLOAT6E2M3] = {"float6e2m3", 6, LN_COMPUTE_F32, true, false, true},
    [LN_FLOAT6E3M2] = {"float6e3m2", 6, LN_COMPUTE_F32, true, false, true},
};

static const dtype_row *row_of(ln_dtype dtype) {
    return &dtype_rows[(unsigned)dtype < LN_DTYPE_COUNT ? dtype : LN_UNDEFINED];
}

bool ln_dtype_valid(int dtype) {
    return dtype > LN_UNDEFINED && dtype < LN_DTYPE_COUNT;
}

const char *ln_dtype_name(ln_dtype dtype) {
    return row_of(dtype)->name;
}

unsigned ln_dtype_bits(ln_dtype dtype) {
    return row_of(dtype)->bits;
}

ln_compute ln_dtype_compute(ln_dtype dtype) {
    return (ln_compute)row_of(dtype)->compute;
}

bool ln_dtype_is_float(ln_dtype dtype) {
    return row_of(dtype)->is_float;
}

bool ln_dtype_is_integer(ln_dtype dtype) {
    return row_of(dtype)->is_integer;
}

bool ln_dtype_is_signed(ln_dtype dtype) {
    return row_of(dtype)->is_signed;
}

bool ln_dtype_bytes(ln_dtype dtype, int64_t count, size_t *bytes) {
    const uint64_t bits = ln_dtype_bits(dtype);
    if (count < 0 || (uint64_t)count > (UINT64_MAX - 7) / 128) {
        return false;
    }
    const uint64_t total = ((uint64_t)count * bits + 7) / 8;
    *bytes = (size_t)total;
    return total <= SIZE_MAX / 2;
}

int ln_string_compare(const ln_string *a, const ln_string *b) {
    const size_t n = a->length < b->length ? a->length : b->length;
    const int order = n > 0 ? memcmp(a->data, b->data, n) : 0;
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}
