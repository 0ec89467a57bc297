/* Runs of two-operand elementwise work: the functions that simd/ does not have, and the walk.
 *
 * Equal shapes, a scalar, a row or a channel in float32 are a few long calls of a vector kernel; every other type
 * goes through tiles of the class it is computed in. Integer overflow wraps; a zero divisor gives 0 here, callers
 * refuse it before.
 */
#include "ops/binary_runs.h"
#include "ops/float_tile.h"

#include <math.h>
#include <string.h>

enum { SHORT_RUN = 16 };

static const ln_dtype class_storage[LN_CLASS_COUNT] = {LN_FLOAT, LN_DOUBLE, LN_INT32,
                                                       LN_INT64, LN_UINT64, LN_UINT8};

/* Runs that simd/ does not have ----------------------------------------------------------------------------- */

#define RUN(name, type, expression)                                                                          \
    static void name(void *dst, const void *a, size_t a_stride, const void *b, size_t b_stride, size_t n) {  \
        const type *left = a;                                                                                \
        const type *right = b;                                                                               \
        type *result = dst;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                     \
            const type x = left[i * a_stride];                                                               \
            const type y = right[i * b_stride];                                                              \
            result[i] = (type)(expression);                                                                  \
        }                                                                                                    \
    }
#define COMPARE(name, type, expression)                                                                      \
    static void name(uint8_t *dst, const void *a, size_t a_stride, const void *b, size_t b_stride,           \
                     size_t n) {                                                                             \
        const type *left = a;                                                                                \
        const type *right = b;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                     \
            const type x = left[i * a_stride];                                                               \
            const type y = right[i * b_stride];                                                              \
            dst[i] = (uint8_t)(expression);                                                                  \
        }                                                                                                    \
    }

/* The remainder with the sign of the divisor, and the special cases that Mod lists. */
static double floor_mod(double x, double y) {
    const double rest = fmod(x, y);
    if (rest == 0) {
        return copysign(0, y);
    }
    return (rest < 0) != (y < 0) ? rest + y : rest;
}
static int64_t floor_mod_i64(int64_t x, int64_t y) {
    if (y == 0 || y == -1) {
        return 0;
    }
    const int64_t rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
static int64_t shift_left(int64_t x, int64_t y) {
    return y < 0 || y > 63 ? 0 : (int64_t)((uint64_t)x << y);
}

RUN(mod_floor_f32, float, floor_mod((double)x, (double)y))
RUN(mod_floor_f64, double, floor_mod(x, y))
RUN(mod_floor_i64, int64_t, floor_mod_i64(x, y))
RUN(mod_u64, uint64_t, y == 0 ? 0 : x % y)
RUN(mod_trunc_f32, float, fmodf(x, y))
RUN(mod_trunc_f64, double, fmod(x, y))
RUN(mod_trunc_i64, int64_t, y == 0 || y == -1 ? 0 : x % y)
RUN(and_i64, int64_t, x &y)
RUN(or_i64, int64_t, x | y)
RUN(xor_i64, int64_t, x ^ y)
RUN(and_u8, uint8_t, x &y)
RUN(or_u8, uint8_t, x | y)
RUN(xor_u8, uint8_t, x ^ y)
RUN(shift_left_i64, int64_t, shift_left(x, y))
RUN(shift_right_i64, int64_t, x >> (y < 0 || y > 63 ? 63 : y))
RUN(shift_right_u64, uint64_t, y > 63 ? 0 : x >> y)
RUN(div_u64, uint64_t, y == 0 ? 0 : x / y)
RUN(max_u64, uint64_t, x > y ? x : y)
RUN(min_u64, uint64_t, x < y ? x : y)
RUN(first_u64, uint64_t, ((void)y, x))
COMPARE(less_u64, uint64_t, x < y)
COMPARE(less_equal_u64, uint64_t, x <= y)
COMPARE(greater_u64, uint64_t, x > y)
COMPARE(greater_equal_u64, uint64_t, x >= y)

static ln_binary_fn *const own_runs[LN_CODE_COMPARE - LN_CODE_OWN][LN_CLASS_COUNT] = {
    [LN_CODE_MOD_FLOOR - LN_CODE_OWN] = {mod_floor_f32, mod_floor_f64, NULL, mod_floor_i64, mod_u64, NULL},
    [LN_CODE_MOD_TRUNC - LN_CODE_OWN] = {mod_trunc_f32, mod_trunc_f64, NULL, mod_trunc_i64, mod_u64, NULL},
    [LN_CODE_AND - LN_CODE_OWN] = {NULL, NULL, NULL, and_i64, and_i64, and_u8},
    [LN_CODE_OR - LN_CODE_OWN] = {NULL, NULL, NULL, or_i64, or_i64, or_u8},
    [LN_CODE_XOR - LN_CODE_OWN] = {NULL, NULL, NULL, xor_i64, xor_i64, xor_u8},
    [LN_CODE_SHIFT_LEFT - LN_CODE_OWN] = {NULL, NULL, NULL, shift_left_i64, shift_left_i64, NULL},
    [LN_CODE_SHIFT_RIGHT - LN_CODE_OWN] = {NULL, NULL, NULL, shift_right_i64, shift_right_u64, NULL},
};

static ln_binary_fn *pick_run(int code, ln_binary_class_id class) {
    if (code >= LN_CODE_OWN) {
        return own_runs[code - LN_CODE_OWN][class];
    }
    switch (class) {
    case LN_CLASS_F32:
        return ln_binary_f32[code];
    case LN_CLASS_F64:
        return ln_binary_f64[code];
    case LN_CLASS_I32:
        return ln_binary_i32[code];
    case LN_CLASS_U64:
        return code == LN_BINARY_DIV     ? div_u64
               : code == LN_BINARY_MAX   ? max_u64
               : code == LN_BINARY_MIN   ? min_u64
               : code == LN_BINARY_PRELU ? first_u64
                                         : ln_binary_i64[code];
    default:
        return ln_binary_i64[code];
    }
}

static ln_compare_fn *pick_compare(enum ln_compare which, ln_binary_class_id class) {
    switch (class) {
    case LN_CLASS_F32:
        return ln_compare_f32[which];
    case LN_CLASS_F64:
        return ln_compare_f64[which];
    case LN_CLASS_I32:
        return ln_compare_i32[which];
    case LN_CLASS_U64:
        return which == LN_COMPARE_LT   ? less_u64
               : which == LN_COMPARE_LE ? less_equal_u64
               : which == LN_COMPARE_GT ? greater_u64
               : which == LN_COMPARE_GE ? greater_equal_u64
                                        : ln_compare_i64[which];
    default:
        return ln_compare_i64[which];
    }
}

ln_binary_class_id ln_binary_class(int code, ln_dtype dtype) {
    switch (ln_dtype_compute(dtype)) {
    case LN_COMPUTE_F32:
        return LN_CLASS_F32;
    case LN_COMPUTE_F64:
        return LN_CLASS_F64;
    case LN_COMPUTE_I32:
        if (code >= LN_CODE_AND && code <= LN_CODE_XOR && ln_dtype_bits(dtype) == 8) {
            return LN_CLASS_U8;
        }
        return code < LN_CODE_OWN || code == LN_CODE_COMPARE ? LN_CLASS_I32 : LN_CLASS_I64;
    case LN_COMPUTE_U64:
        return LN_CLASS_U64;
    default:
        return LN_CLASS_I64;
    }
}

ln_binary_class_id ln_binary_pow_class(ln_dtype base, ln_dtype exponent) {
    const bool integers = ln_dtype_is_integer(base) && ln_dtype_is_integer(exponent);
    const bool single = ln_dtype_compute(base) == LN_COMPUTE_F32 && exponent != LN_DOUBLE;
    return integers ? LN_CLASS_I64 : single ? LN_CLASS_F32 : LN_CLASS_F64;
}

/* The walk ----------------------------------------------------------------------------------------------- */

static void load_class(ln_binary_class_id class, ln_dtype dtype, const void *src, int64_t first, int64_t n,
                       void *dst) {
    switch (class) {
    case LN_CLASS_F32:
        ln_tile_load(dtype, src, first, n, dst);
        break;
    case LN_CLASS_F64:
        ln_load_f64(dtype, src, first, n, dst);
        break;
    case LN_CLASS_I32:
        ln_load_i32(dtype, src, first, n, dst);
        break;
    default:
        ln_load_i64(dtype, src, first, n, dst);
    }
}

static void store_class(ln_binary_class_id class, ln_dtype dtype, void *dst, int64_t first, int64_t n,
                        const void *src) {
    switch (class) {
    case LN_CLASS_F32:
        ln_tile_store(dtype, dst, first, n, src);
        break;
    case LN_CLASS_F64:
        ln_store_f64(dtype, dst, first, n, src);
        break;
    case LN_CLASS_I32:
        ln_store_i32(dtype, dst, first, n, src);
        break;
    default:
        ln_store_i64(dtype, dst, first, n, src);
    }
}

static void visit_direct(const ln_binary_run *run, int64_t output, int64_t n, const int64_t *offsets) {
    const void *a = run->a + (size_t)offsets[0] * run->width;
    const void *b = run->b + (size_t)offsets[1] * run->width;
    if (run->compare != NULL) {
        run->compare(run->y + output, a, run->a_stride, b, run->b_stride, (size_t)n);
    } else {
        run->run(run->y + (size_t)output * run->width, a, run->a_stride, b, run->b_stride, (size_t)n);
    }
}

typedef union tile {
    float f32[LN_TILE];
    double f64[LN_TILE];
    int32_t i32[LN_TILE];
    int64_t i64[LN_TILE];
} tile;

static void visit_run(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    const ln_binary_run *run = argument;
    if (run->direct) {
        visit_direct(run, output, n, offsets);
        return;
    }
    tile a;
    tile b;
    for (int64_t at = 0; at < n; at += LN_TILE) {
        const int64_t count = n - at < LN_TILE ? n - at : LN_TILE;
        load_class(run->class, run->a_type, run->a, offsets[0] + at * (int64_t)run->a_stride,
                   run->a_stride ? count : 1, &a);
        load_class(run->class, run->b_type, run->b, offsets[1] + at * (int64_t)run->b_stride,
                   run->b_stride ? count : 1, &b);
        if (run->compare != NULL) {
            run->compare(run->y + output + at, &a, run->a_stride, &b, run->b_stride, (size_t)count);
            continue;
        }
        tile y;
        run->run(&y, &a, run->a_stride, &b, run->b_stride, (size_t)count);
        store_class(run->class, run->y_type, run->y, output + at, count, &y);
    }
}

void ln_binary_operands(ln_binary_run *run, const ln_value *a, const ln_value *b, const ln_value *y) {
    run->a_type = a->dtype;
    run->b_type = b->dtype;
    run->y_type = y->dtype;
    run->a = a->data;
    run->b = b->data;
    run->y = y->data;
    const ln_dtype storage = class_storage[run->class];
    run->direct = run->class == LN_CLASS_U8 || (a->dtype == storage && b->dtype == storage &&
                                                (run->compare != NULL || y->dtype == storage));
    run->width = ln_dtype_bits(a->dtype) / 8;
}

/* Whether an input has every output element in order. */
static bool is_whole(const ln_broadcast *walk, int input) {
    int64_t expected = 1;
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        if (walk->strides[input][axis] != expected) {
            return false;
        }
        expected *= walk->dims[axis];
    }
    return true;
}

/* Copies one element of 1, 2, 4 or 8 bytes. */
static void copy_element(uint8_t *dst, const uint8_t *src, size_t width) {
    switch (width) {
    case 1:
        *dst = *src;
        break;
    case 2:
        memcpy(dst, src, 2);
        break;
    case 4:
        memcpy(dst, src, 4);
        break;
    default:
        memcpy(dst, src, 8);
    }
}

/* n elements of an input in the order of the output, from output element `begin` on. */
static void gather_input(const ln_broadcast *walk, int input, const uint8_t *src, size_t width, int64_t begin,
                         int64_t n, uint8_t *dst) {
    int64_t position[LN_MAX_RANK];
    int64_t offset = 0;
    int64_t index = begin;
    for (int axis = walk->rank - 1; axis >= 0; axis--) {
        position[axis] = index % walk->dims[axis];
        index /= walk->dims[axis];
        offset += position[axis] * walk->strides[input][axis];
    }
    for (int64_t i = 0; i < n; i++) {
        copy_element(dst + (size_t)i * width, src + (size_t)offset * width, width);
        for (int axis = walk->rank - 1; axis >= 0; axis--) {
            offset += walk->strides[input][axis];
            if (++position[axis] < walk->dims[axis]) {
                break;
            }
            offset -= position[axis] * walk->strides[input][axis];
            position[axis] = 0;
        }
    }
}

/* Where runs are short, a call for each costs more than putting operands in order, tile by tile. */
static void range_gathered(const ln_binary_run *run, const ln_broadcast *walk, int64_t begin, int64_t end) {
    const size_t a_width = ln_dtype_bits(run->a_type) / 8;
    const size_t b_width = ln_dtype_bits(run->b_type) / 8;
    const bool a_whole = is_whole(walk, 0);
    const bool b_whole = is_whole(walk, 1);
    tile a, b;
    for (int64_t at = begin; at < end; at += LN_TILE) {
        const int64_t n = end - at < LN_TILE ? end - at : LN_TILE;
        ln_binary_run one = *run;
        const int64_t offsets[] = {a_whole ? at : 0, b_whole ? at : 0};
        one.a_stride = one.b_stride = 1;
        if (!a_whole) {
            gather_input(walk, 0, run->a, a_width, at, n, (uint8_t *)&a);
            one.a = (const uint8_t *)&a;
        }
        if (!b_whole) {
            gather_input(walk, 1, run->b, b_width, at, n, (uint8_t *)&b);
            one.b = (const uint8_t *)&b;
        }
        visit_run(&one, at, n, offsets);
    }
}

void ln_binary_range(ln_binary_run *run, const ln_shape *a, const ln_shape *b, const ln_shape *y,
                     int64_t begin, int64_t end) {
    ln_broadcast walk;
    const ln_shape *const shapes[] = {a, b};
    ln_broadcast_init(&walk, y, 2, shapes);
    if (walk.rank > 1 && walk.dims[walk.rank - 1] < SHORT_RUN) {
        range_gathered(run, &walk, begin, end);
        return;
    }
    run->a_stride = (size_t)walk.strides[0][walk.rank - 1];
    run->b_stride = (size_t)walk.strides[1][walk.rank - 1];
    ln_broadcast_each(&walk, begin, end, visit_run, run);
}

void ln_binary_start(ln_binary_run *run, int code, enum ln_compare compare, ln_binary_class_id class) {
    run->class = class;
    run->compare = code == LN_CODE_COMPARE ? pick_compare(compare, class) : NULL;
    run->run = code == LN_CODE_COMPARE ? NULL : pick_run(code, class);
}
