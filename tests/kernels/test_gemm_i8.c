/*
 * The int8 GEMM against plain loops: every small size, B in rows and in columns, rows of B that lie anywhere,
 * signed and unsigned bytes with their zero points, and that no byte outside is read or written.
 */
#include "../../simd/kernels.h"
#include "../../simd/ref/kernels_ref.h"
#include "check.h"

enum { MOST = LN_GEMM_I8_ROWS };

typedef struct product {
    size_t m, n, k;
    bool a_signed, b_signed, transposed, scattered;
} product;

static uint8_t *random_bytes(size_t count) {
    uint8_t *bytes = check_alloc(count);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(check_random() >> 8);
    }
    return bytes;
}

static void pack(const product *p, int8_t *packed, const uint8_t *b) {
    const uint8_t flip = p->b_signed ? 0 : 0x80;
    size_t *offsets = check_alloc(p->k * sizeof(*offsets));
    for (size_t l = 0; l < p->k; l++) {
        offsets[l] = l * p->n;
    }
    if (p->scattered) {
        ln_gemm_i8_pack_rows(packed, b, offsets, p->k, p->n, flip);
    } else {
        ln_gemm_i8_pack_b(packed, b, p->transposed ? 1 : p->n, p->transposed ? p->k : 1, p->k, p->n, flip);
    }
    free(offsets);
}

static void run_case(product p) {
    const size_t pairs = p.k / 2 + p.k % 2;
    const size_t panels = (p.n + LN_GEMM_I8_COLUMNS - 1) / LN_GEMM_I8_COLUMNS;
    const size_t c_stride = panels * LN_GEMM_I8_COLUMNS;
    const int32_t a_zero = p.a_signed ? -3 : 130;
    uint8_t *a = random_bytes(p.m * p.k);
    uint8_t *b = random_bytes(p.k * p.n);
    int16_t *wide = check_alloc(p.m * 2 * pairs * sizeof(*wide));
    int8_t *packed = check_alloc(ln_gemm_i8_packed_bytes(p.k, p.n));
    int32_t *c = check_alloc(p.m * c_stride * sizeof(*c));
    int32_t *expected = check_alloc(p.m * p.n * sizeof(*expected));
    size_t wrong = 0;
    memset(wide, 0, p.m * 2 * pairs * sizeof(*wide));
    ln_ref_gemm_i8(expected, a, a_zero, p.a_signed, b, p.transposed ? 1 : p.n, p.transposed ? p.k : 1,
                   p.b_signed, p.m, p.n, p.k);
    pack(&p, packed, b);
    for (size_t i = 0; i < p.m; i++) {
        const int32_t sum = ln_widen_i8_i16(wide + i * 2 * pairs, a + i * p.k, p.k, p.a_signed, a_zero);
        for (size_t j = 0; j < p.n && !p.b_signed; j++) {
            expected[i * p.n + j] -= 128 * sum;
        }
    }
    ln_gemm_i8_rows(c, c_stride, wide, 2 * pairs, p.m, packed, panels, p.k);
    for (size_t i = 0; i < p.m; i++) {
        for (size_t j = 0; j < p.n; j++) {
            wrong += c[i * c_stride + j] != expected[i * p.n + j];
        }
    }
    CHECK(wrong == 0, "m %zu n %zu k %zu signed %d/%d transposed %d scattered %d: %zu wrong", p.m, p.n, p.k,
          p.a_signed, p.b_signed, p.transposed, p.scattered, wrong);
    free(a);
    free(b);
    free(wide);
    free(packed);
    free(c);
    free(expected);
}

int main(void) {
    for (size_t m = 1; m <= MOST; m++) {
        for (size_t n = 1; n <= 19; n++) {
            for (size_t k = 0; k <= 9; k++) {
                const bool odd = (m + n + k) % 2 != 0;
                run_case((product){m, n, k, odd, !odd, false, false});
                run_case((product){m, n, k, !odd, !odd, true, false});
                run_case((product){m, n, k, odd, odd, false, true});
            }
        }
    }
    run_case((product){4, 40, 3000, false, false, false, false});
    run_case((product){3, 65, 1001, true, true, true, false});
    CHECK(ln_gemm_i8_packed_bytes(SIZE_MAX / 8, 64) == SIZE_MAX, "the size wraps around");
    return check_report();
}
