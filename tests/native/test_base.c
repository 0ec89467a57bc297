/* The base room: accounting, arenas, texts, numbers, shapes, values, conversions, threads. */
#include <stdatomic.h>

#include "../kernels/check.h"
#include "base/arena.h"
#include "base/convert.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/value.h"
#include "linnet.h"

static void test_memory(void) {
    ln_context context;
    ln_context_init(&context);
    char *const block = ln_alloc(&context, 100, LN_MEMORY_PLAN);
    CHECK(((uintptr_t)block & 63) == 0 && ln_alloc_capacity(block) >= 100, "aligned");
    memset(block, 1, ln_alloc_capacity(block) + 16);
    CHECK(context.memory.live_bytes[LN_MEMORY_PLAN] >= 100, "counted");
    void *const nothing = ln_alloc(&context, 0, LN_MEMORY_PLAN);
    CHECK(nothing != NULL, "zero bytes");
    ln_free(&context, nothing);
    ln_free(&context, block);
    ln_free(&context, NULL);
    CHECK(ln_memory_live(&context) == 0 && context.memory.peak_bytes > 0, "freed");
    CHECK(ln_alloc(&context, SIZE_MAX - 8, LN_MEMORY_PLAN) == NULL && context.error.code == LN_OUT_OF_MEMORY,
          "huge");
    ln_error_clear(&context);
    context.memory.fail_at = context.memory.allocations + 1;
    CHECK(ln_alloc(&context, 1, LN_MEMORY_PLAN) == NULL, "injected");
    CHECK(strstr(context.error.message, "out of memory") != NULL, "%s", context.error.message);
    ln_error_locate(&context, "node", "Op", 7);
    ln_error_locate(&context, "other", "Other", 8);
    CHECK(strcmp(context.error.node, "node") == 0 && context.error.opset == 7, "the first naming stays");

    ln_arena arena;
    ln_arena_init(&arena, &context, LN_MEMORY_MODEL);
    for (int round = 0; round < 4; round++) {
        const uint64_t before = context.memory.allocations;
        for (int i = 1; i < 400; i++) {
            uint8_t *const bytes = ln_arena_alloc(&arena, (size_t)i * 7);
            CHECK(bytes != NULL && ((uintptr_t)bytes & 15) == 0 && bytes[0] == 0 && bytes[i * 7 - 1] == 0,
                  "zeroed");
            memset(bytes, 0xff, (size_t)i * 7);
        }
        CHECK(round < 2 || context.memory.allocations == before, "an arena comes to rest");
        ln_arena_reset(&arena);
    }
    CHECK(ln_arena_alloc(&arena, 3 << 20) != NULL, "large");
    CHECK(ln_arena_array(&arena, SIZE_MAX / 2, 4) == NULL, "overflow");
    CHECK(strcmp(ln_arena_text(&arena, "abcdef", 3), "abc") == 0, "text");
    ln_arena_free(&arena);
    CHECK(ln_memory_live(&context) == 0, "leak");
}

static void check_number(double value, const char *expected) {
    char text[40];
    const size_t length = ln_format_number(text, sizeof(text), value);
    double back = 0;
    CHECK(strcmp(text, expected) == 0, "%s, not %s", text, expected);
    CHECK(ln_parse_number(text, length, &back) &&
              (back == value || value != value || (float)back == (float)value),
          "%s", text);
}

static void test_numbers(void) {
    check_number(0, "0");
    check_number(1, "1");
    check_number(-2.5, "-2.5");
    check_number(0.1, "0.1");
    check_number((double)0.1f, "0.1");
    check_number(1e21, "1e+21");
    check_number(1e20, "100000000000000000000");
    check_number(1e-6, "0.000001");
    check_number(1e-7, "1e-7");
    check_number(5e-324, "5e-324");
    check_number(1.7976931348623157e308, "1.7976931348623157e+308");
    check_number((double)3.4028234663852886e38f, "3.4028235e+38");
    check_number(9007199254740992.0, "9007199254740992");
    check_number(16777217, "16777217");
    check_number((double)NAN, "nan");
    check_number((double)-INFINITY, "-inf");
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits =
            (uint64_t)check_random() << 44 ^ (uint64_t)check_random() << 20 ^ check_random();
        double value = 0;
        double back = 0;
        char text[40];
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value)) {
            continue;
        }
        const size_t length = ln_format_number(text, sizeof(text), value);
        CHECK(strtod(text, NULL) == value, "%s for %.17g", text, value);
        CHECK(ln_parse_number(text, length, &back) && back == value, "%s to %.17g", text, back);
    }
    double value = 0;
    CHECK(!ln_parse_number("", 0, &value) && !ln_parse_number("1x", 2, &value) &&
              !ln_parse_number("e5", 2, &value),
          "junk");
    CHECK(ln_parse_number("+INF", 4, &value) && isinf(value), "infinity");
    CHECK(ln_parse_number("1e-400", 6, &value) && value == 0 && ln_parse_number("1e400", 5, &value) &&
              isinf(value),
          "ends");
    int64_t integer = 0;
    CHECK(ln_parse_integer("-9223372036854775808", 20, &integer) && integer == INT64_MIN, "least");
    CHECK(!ln_parse_integer("9223372036854775808", 19, &integer) && !ln_parse_integer("-", 1, &integer),
          "overflow");
}

static void test_texts(void) {
    char text[64];
    (void)ln_format(text, sizeof(text), "%d %lld %u %zu %.*s|%c|%%|%s|%g", -5, -7LL, 3u, (size_t)9, 2, "abc",
                    'x', "q", 0.25);
    CHECK(strcmp(text, "-5 -7 3 9 ab|x|%|q|0.25") == 0, "%s", text);
    CHECK(ln_format(text, 4, "abcdef") == 3 && strcmp(text, "abc") == 0, "cut");
    ln_context context;
    ln_context_init(&context);
    ln_text json;
    ln_text_init(&json, &context);
    ln_text_json(&json, "a\"\\\n\xc3\xa9\xff\xed\xa0\x80", 10);
    CHECK(!json.failed &&
              strcmp(json.data,
                     "\"a\\\"\\\\\\u000a\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"") == 0,
          "%s", json.data);
    const size_t before = json.length;
    for (int i = 0; i < 1000; i++) {
        ln_text_printf(&json, "%s", "0123456789");
    }
    CHECK(json.length == before + 10000 && strlen(json.data) == json.length, "grows");
    char *const large = check_alloc(5001);
    memset(large, 'x', 5000);
    large[5000] = '\0';
    ln_text_printf(&json, "%s", large);
    CHECK(json.length == before + 15000, "more than the room at once: %zu", json.length);
    free(large);
    ln_text_free(&json);
    CHECK(ln_memory_live(&context) == 0, "leak");
}

static void test_shapes(void) {
    const ln_shape a = ln_shape_of(3, (const int64_t[]){2, 1, 4});
    const ln_shape b = ln_shape_of(2, (const int64_t[]){3, 1});
    ln_shape c;
    char text[LN_SHAPE_TEXT_BYTES];
    CHECK(ln_shape_broadcast(&a, &b, &c) && strcmp(ln_shape_text(&c, text), "[2,3,4]") == 0, "%s", text);
    CHECK(ln_shape_count(&c) == 24 && ln_shape_product(&c, 1, 3) == 12, "count");
    const ln_shape empty = ln_shape_of(2, (const int64_t[]){0, 1});
    CHECK(ln_shape_broadcast(&a, &empty, &c) && ln_shape_count(&c) == 0,
          "a dimension of zero broadcasts with one");
    const ln_shape odd = ln_shape_of(1, (const int64_t[]){3});
    CHECK(!ln_shape_broadcast(&a, &odd, &c), "no fit");
    const ln_shape huge = ln_shape_of(3, (const int64_t[]){INT64_MAX, 4, 0});
    CHECK(ln_shape_count(&huge) == 0, "empty although huge");
    const ln_shape over = ln_shape_of(2, (const int64_t[]){INT64_MAX, 4});
    CHECK(ln_shape_count(&over) == -1, "overflow");
    CHECK(ln_shape_axis(-1, 3) == 2 && ln_shape_axis(3, 3) == -1 && ln_shape_axis(-4, 3) == -1, "axis");
    const ln_shape scalar = ln_shape_scalar();
    CHECK(ln_shape_count(&scalar) == 1 && strcmp(ln_shape_text(&scalar, text), "[]") == 0, "scalar");
}

static void test_values(void) {
    ln_context context;
    ln_context_init(&context);
    const ln_shape shape = ln_shape_of(1, (const int64_t[]){4});
    const ln_shape large = ln_shape_of(1, (const int64_t[]){4000});
    ln_value a = {.kind = LN_KIND_NONE};
    ln_value b = {.kind = LN_KIND_NONE};
    CHECK(ln_value_make(&context, &a, LN_FLOAT, &large) == LN_OK && ln_value_bytes(&a) == 16000, "made");
    void *const data = a.data;
    CHECK(ln_value_make(&context, &a, LN_FLOAT, &shape) == LN_OK && a.data == data, "reused");
    ((float *)a.data)[3] = 7;
    CHECK(ln_value_keep(&context, &b, &a) == LN_OK && b.data == a.data, "shared");
    CHECK(ln_value_make(&context, &a, LN_FLOAT, &shape) == LN_OK && a.data != b.data,
          "not reused while shared");
    ln_value plain = ln_value_header(LN_FLOAT, &shape);
    float four[4] = {1, 2, 3, 4};
    plain.data = four;
    CHECK(ln_value_keep(&context, &a, &plain) == LN_OK && a.data != four && ((float *)a.data)[2] == 3,
          "copied");
    CHECK(ln_value_keep(&context, &a, &a) == LN_OK && ((float *)a.data)[2] == 3, "kept by itself");

    ln_value nested = {.kind = LN_KIND_NONE};
    CHECK(ln_value_make_items(&context, &nested, LN_KIND_SEQUENCE, LN_FLOAT, 0) == LN_OK, "sequence");
    for (int i = 0; i < 10; i++) {
        CHECK(ln_value_append(&context, &nested, i % 2 == 0 ? &a : &plain) == LN_OK, "append");
    }
    CHECK(ln_value_items(&nested) == 10 && ((float *)ln_value_item(&nested, 9)->data)[0] == 1, "items");
    for (int i = 0; i < 20000; i++) {
        ln_value outer = {.kind = LN_KIND_NONE};
        (void)ln_value_make_items(&context, &outer, LN_KIND_OPTIONAL, LN_FLOAT, 1);
        (void)ln_value_append(&context, &outer, &nested);
        ln_value_release(&context, &nested);
        nested = outer;
    }
    ln_value_release(&context, &nested);
    ln_value_release(&context, &a);
    ln_value_release(&context, &b);
    CHECK(ln_memory_live(&context) == 0, "leak");
    const ln_shape huge = ln_shape_of(2, (const int64_t[]){INT64_MAX, 2});
    CHECK(ln_value_make(&context, &a, LN_FLOAT, &huge) == LN_LIMIT_EXCEEDED, "%s", context.error.message);
}

static void test_halves(void) {
    for (unsigned code = 0; code < 65536; code++) {
        const uint16_t half = (uint16_t)code;
        float value = 0;
        uint16_t back = 0;
        ln_load_f32(LN_FLOAT16, &half, 0, 1, &value);
        ln_store_f32(LN_FLOAT16, &back, 0, 1, &value);
        CHECK(back == half || value != value, "half %x became %x", code, back);
        ln_load_f32(LN_BFLOAT16, &half, 0, 1, &value);
        ln_store_f32(LN_BFLOAT16, &back, 0, 1, &value);
        CHECK(back == half || value != value, "bfloat %x became %x", code, back);
    }
    /* 1 + 2^-11 is a tie that goes to even; a hair more rounds up, which rounding to float32 first would
     * lose. */
    const double tie = 1 + 1.0 / 2048;
    const double more = tie + 1e-12;
    uint16_t half = 0;
    ln_store_f64(LN_FLOAT16, &half, 0, 1, &tie);
    CHECK(half == 0x3c00, "%x", half);
    ln_store_f64(LN_FLOAT16, &half, 0, 1, &more);
    CHECK(half == 0x3c01, "%x", half);
}

static void test_small_floats(void) {
    const float in[12] = {0.4789f,   0.8191f, 1e6f,  1e-7f, NAN, INFINITY,
                          -INFINITY, -1e-7f,  -1e6f, -0.0f, 1,   -2};
    static const struct {
        ln_dtype dtype;
        bool saturate;
        uint8_t out[12];
    } rows[] = {
        {LN_FLOAT8E4M3FN, true, {0x2f, 0x35, 0x7e, 0, 0x7f, 0x7e, 0xfe, 0x80, 0xfe, 0x80, 0x38, 0xc0}},
        {LN_FLOAT8E4M3FN, false, {0x2f, 0x35, 0x7f, 0, 0x7f, 0x7f, 0xff, 0x80, 0xff, 0x80, 0x38, 0xc0}},
        {LN_FLOAT8E4M3FNUZ, true, {0x37, 0x3d, 0x7f, 0, 0x80, 0x7f, 0xff, 0, 0xff, 0, 0x40, 0xc8}},
        {LN_FLOAT8E4M3FNUZ, false, {0x37, 0x3d, 0x80, 0, 0x80, 0x80, 0x80, 0, 0x80, 0, 0x40, 0xc8}},
        {LN_FLOAT8E5M2, true, {0x38, 0x3b, 0x7b, 0, 0x7e, 0x7b, 0xfb, 0x80, 0xfb, 0x80, 0x3c, 0xc0}},
        {LN_FLOAT8E5M2, false, {0x38, 0x3b, 0x7c, 0, 0x7e, 0x7c, 0xfc, 0x80, 0xfc, 0x80, 0x3c, 0xc0}},
        {LN_FLOAT8E5M2FNUZ, true, {0x3c, 0x3f, 0x7f, 0, 0x80, 0x7f, 0xff, 0, 0xff, 0, 0x40, 0xc4}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t out[12];
        ln_store_f32_as(rows[i].dtype, out, 0, 12, in, rows[i].saturate, LN_ROUND_UP);
        for (int k = 0; k < 12; k++) {
            CHECK(out[k] == rows[i].out[k], "%s %d: %g became %x", ln_dtype_name(rows[i].dtype),
                  rows[i].saturate, (double)in[k], out[k]);
        }
    }
    const float powers[4] = {0.124f, 1.1f, 1.5f, 0};
    uint8_t up[4];
    uint8_t down[4];
    uint8_t nearest[4];
    ln_store_f32(LN_FLOAT8E8M0, up, 0, 4, powers);
    ln_store_f32_as(LN_FLOAT8E8M0, down, 0, 4, powers, true, LN_ROUND_DOWN);
    ln_store_f32_as(LN_FLOAT8E8M0, nearest, 0, 4, powers, true, LN_ROUND_NEAREST);
    CHECK(memcmp(up, "\x7c\x80\x80\x00", 4) == 0 && memcmp(down, "\x7b\x7f\x7f\x00", 4) == 0 &&
              memcmp(nearest, "\x7c\x7f\x80\x00", 4) == 0,
          "powers of two");
    const float four_bits[8] = {0.48f, 0.25f, 1.05f, -3.5f, -8, 9, -0.0f, 6};
    uint8_t packed[4] = {0};
    ln_store_f32(LN_FLOAT4E2M1, packed, 0, 8, four_bits);
    CHECK(memcmp(packed, "\x01\xe2\x7f\x78", 4) == 0, "%x %x %x %x", packed[0], packed[1], packed[2],
          packed[3]);
    const float six_bits[5] = {0.5f, 1, -1.5f, 100, 2};
    memset(packed, 0, sizeof packed);
    ln_store_f32(LN_FLOAT6E2M3, packed, 0, 5, six_bits);
    CHECK(memcmp(packed, "\x04\xc2\x7e\x10", 4) == 0, "%x %x %x %x", packed[0], packed[1], packed[2],
          packed[3]);
    float back[5];
    ln_load_f32(LN_FLOAT6E2M3, packed, 1, 4, back);
    CHECK(back[0] == 1 && back[1] == -1.5f && back[2] == 7.5f && back[3] == 2, "float6 back: %g %g %g %g",
          (double)back[0], (double)back[1], (double)back[2], (double)back[3]);
}

static void test_integers(void) {
    const float floats[6] = {-3.7f, 300, NAN, 3e9f, -3e9f, 0.5f};
    uint8_t bytes[6];
    ln_store_f32(LN_UINT8, bytes, 0, 6, floats);
    CHECK(memcmp(bytes, "\x00\xff\x00\xff\x00\x00", 6) == 0, "saturates");
    ln_store_f32(LN_BOOL, bytes, 0, 6, floats);
    CHECK(memcmp(bytes, "\x01\x01\x01\x01\x01\x01", 6) == 0, "bool asks for zero");
    int32_t wide[6];
    ln_load_i32(LN_FLOAT, floats, 0, 6, wide);
    CHECK(wide[0] == -3 && wide[3] == INT32_MAX && wide[4] == INT32_MIN && wide[2] == 0, "int32");
    const int64_t longs[3] = {INT64_C(0x100000005), -1, 256};
    ln_store_i64(LN_UINT8, bytes, 0, 3, longs);
    CHECK(bytes[0] == 5 && bytes[1] == 255 && bytes[2] == 0, "wraps");
    const double big[2] = {1.8e19, -5};
    uint64_t unsigned_longs[2];
    ln_store_f64(LN_UINT64, unsigned_longs, 0, 2, big);
    CHECK(unsigned_longs[0] == UINT64_C(18000000000000000000) && unsigned_longs[1] == 0, "uint64");
    double back = 0;
    ln_load_f64(LN_UINT64, unsigned_longs, 0, 1, &back);
    CHECK(back == 1.8e19, "%g", back);
    uint8_t nibbles[3] = {0, 0, 0xff};
    const int32_t values[5] = {-8, 7, -1, 3, 2};
    ln_store_i32(LN_INT4, nibbles, 0, 5, values);
    int32_t read[4];
    ln_load_i32(LN_INT4, nibbles, 1, 4, read);
    CHECK(read[0] == 7 && read[1] == -1 && read[2] == 3 && read[3] == 2 && nibbles[2] == 0xf2, "int4");
    uint8_t pairs[2] = {0, 0};
    ln_store_i32(LN_INT2, pairs, 3, 3, (const int32_t[]){-2, 1, -1});
    ln_load_i32(LN_INT2, pairs, 2, 4, read);
    CHECK(read[0] == 0 && read[1] == -2 && read[2] == 1 && read[3] == -1, "int2");
    float many[1000];
    int16_t shorts[1000];
    for (int i = 0; i < 1000; i++) {
        shorts[i] = (int16_t)(i * 61 - 30000);
    }
    ln_load_f32(LN_INT16, shorts, 1, 999, many);
    for (int i = 0; i < 999; i++) {
        CHECK(many[i] == (float)shorts[i + 1], "chunks");
    }
}

typedef struct counts {
    _Atomic int done[512];
    int threads;
} counts;

static void count_task(void *argument, int64_t index, int worker) {
    counts *const all = argument;
    if (worker < 0 || worker >= all->threads) {
        atomic_fetch_add(&all->done[index], 1000);
    }
    atomic_fetch_add(&all->done[index], 1);
}

static void test_pool(void) {
    static counts all;
    for (int threads = 1; threads <= 4; threads++) {
        memset(&all, 0, sizeof(all));
        ln_pool *const pool = ln_pool_new(threads);
        all.threads = ln_pool_threads(pool);
        int wrong = 0;
        for (int round = 0; round < 2000; round++) {
            wrong += ln_pool_run(pool, count_task, &all, 0, round % 512) ? 0 : 1;
        }
        CHECK(wrong == 0, "runs");
        for (int i = 0; i < 512; i++) {
            int expected = 0;
            for (int round = 0; round < 2000; round++) {
                expected += round % 512 > i ? 1 : 0;
            }
            CHECK(all.done[i] == expected, "task %d ran %d times", i, (int)all.done[i]);
        }
        ln_pool_poison(pool);
        CHECK(!ln_pool_run(pool, count_task, &all, 0, 4), "poisoned");
        ln_pool_close(pool);
        ln_pool_free(pool);
    }
    CHECK(ln_pool_run(NULL, count_task, &all, 0, 4) && ln_pool_threads(NULL) == 1, "no pool");
}

int main(void) {
    test_memory();
    test_numbers();
    test_texts();
    test_shapes();
    test_values();
    test_halves();
    test_small_floats();
    test_integers();
    test_pool();
    return check_report();
}
