/* Fast Fourier transforms of any length. See ops/fft.h.
 *
 * A Stockham stage of radix p reads p points that lie n / p apart and writes them next to each other, so that the result comes out in
 * order after the last stage; stages go back and forth between two halves of the work space. Roots of unity come from one
 * table, computed one by one with sin and cos, which keeps the error at a few units in the last place.
 */
#include "ops/fft.h"

#include <math.h>
#include <string.h>

enum { LARGEST_PRIME = 61 }; /* of a plain transform; a chirp is faster from about there on */

static const double PI = 3.14159265358979323846;

/* ---- Plans ---- */

/* Splits n into radices 4, 2 and odd primes; false when a prime is too large. */
static bool factorize(ln_fft *fft, int64_t n) {
    fft->n_factors = 0;
    for (int p = 4; n > 1; p = p == 4 ? 2 : p == 2 ? 3 : p + 2) {
        if (p > LARGEST_PRIME) {
            return false;
        }
        while (n % p == 0) {
            fft->factors[fft->n_factors++] = p;
            n /= p;
        }
    }
    return true;
}

bool ln_fft_init(ln_fft *fft, int64_t n, bool real) {
    if (n > INT64_C(1) << 26) {
        return false;
    }
    fft->n = n;
    fft->halved = real && n % 2 == 0;
    fft->core = fft->halved ? n / 2 : n;
    fft->length = fft->core;
    fft->chirp = !factorize(fft, fft->core);
    if (fft->chirp) {
        fft->length = 1;
        while (fft->length < 2 * fft->core - 1) {
            fft->length *= 2;
        }
        factorize(fft, fft->length);
    }
    return true;
}

size_t ln_fft_table_size(const ln_fft *fft) {
    const int64_t chirp = fft->chirp ? fft->core + fft->length : 0;
    return (size_t)(fft->length + chirp + (fft->halved ? fft->core + 1 : 0));
}

size_t ln_fft_work_size(const ln_fft *fft) {
    return (size_t)(2 * fft->length + fft->core + 2);
}

/* ---- Stages ---- */

static ln_complex multiply(ln_complex a, ln_complex b) {
    return (ln_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static ln_complex add(ln_complex a, ln_complex b) {
    return (ln_complex){a.re + b.re, a.im + b.im};
}

static ln_complex subtract(ln_complex a, ln_complex b) {
    return (ln_complex){a.re - b.re, a.im - b.im};
}

/* x[q + stride * (p + m * r)], r < radix, to y[q + stride * (radix * p + t)]. roots are those of the whole transform. */
static void stage_2(const ln_complex *x, ln_complex *y, const ln_complex *roots, int64_t m, int64_t stride) {
    for (int64_t p = 0; p < m; p++) {
        const ln_complex w = roots[p * stride];
        const ln_complex *in = x + p * stride;
        ln_complex *out = y + 2 * p * stride;
        for (int64_t q = 0; q < stride; q++) {
            const ln_complex a = in[q];
            const ln_complex b = in[q + m * stride];
            out[q] = add(a, b);
            out[q + stride] = multiply(subtract(a, b), w);
        }
    }
}

static void stage_4(const ln_complex *x, ln_complex *y, const ln_complex *roots, int64_t m, int64_t stride) {
    for (int64_t p = 0; p < m; p++) {
        const ln_complex w1 = roots[p * stride];
        const ln_complex w2 = roots[2 * p * stride];
        const ln_complex w3 = roots[3 * p * stride];
        const ln_complex *in = x + p * stride;
        ln_complex *out = y + 4 * p * stride;
        for (int64_t q = 0; q < stride; q++) {
            const ln_complex a = in[q];
            const ln_complex b = in[q + m * stride];
            const ln_complex c = in[q + 2 * m * stride];
            const ln_complex d = in[q + 3 * m * stride];
            const ln_complex even = add(a, c);
            const ln_complex odd = add(b, d);
            const ln_complex left = subtract(a, c);
            const ln_complex right = {b.im - d.im, d.re - b.re}; /* -i (b - d) */
            out[q] = add(even, odd);
            out[q + stride] = multiply(add(left, right), w1);
            out[q + 2 * stride] = multiply(subtract(even, odd), w2);
            out[q + 3 * stride] = multiply(subtract(left, right), w3);
        }
    }
}

/* An odd radix: points r and radix - r go together, since their roots are conjugates. */
static void stage_odd(const ln_complex *x, ln_complex *y, const ln_complex *roots, int radix, int64_t m,
                      int64_t stride) {
    const int half = (radix - 1) / 2;
    const int64_t step = m * stride; /* roots[step * r] is the r-th root of the radix */
    ln_complex sum[LARGEST_PRIME / 2 + 1];
    ln_complex difference[LARGEST_PRIME / 2 + 1];
    for (int64_t index = 0; index < step; index++) {
        const int64_t p = index / stride;
        const int64_t q = index % stride;
        const ln_complex first = x[index];
        ln_complex total = first;
        for (int r = 1; r <= half; r++) {
            const ln_complex a = x[index + step * r];
            const ln_complex b = x[index + step * (radix - r)];
            sum[r] = add(a, b);
            difference[r] = subtract(a, b);
            total = add(total, sum[r]);
        }
        ln_complex *out = y + q + stride * radix * p;
        out[0] = total;
        for (int t = 1; t <= half; t++) {
            ln_complex even = first;
            ln_complex odd = {0, 0};
            for (int r = 1, at = t; r <= half; r++, at = (at + t) % radix) {
                const ln_complex w = roots[step * at];
                even.re += sum[r].re * w.re;
                even.im += sum[r].im * w.re;
                odd.re -= difference[r].im * w.im;
                odd.im += difference[r].re * w.im;
            }
            out[stride * t] = multiply(add(even, odd), roots[p * t * stride]);
            out[stride * (radix - t)] = multiply(subtract(even, odd), roots[p * (radix - t) * stride]);
        }
    }
}

/* The plain transform of fft->length points; the result is in x or in y. */
static ln_complex *transform(const ln_fft *fft, const ln_complex *roots, ln_complex *x, ln_complex *y) {
    int64_t stride = 1;
    for (int i = 0; i < fft->n_factors; i++) {
        const int radix = fft->factors[i];
        const int64_t m = fft->length / stride / radix;
        if (radix == 4) {
            stage_4(x, y, roots, m, stride);
        } else if (radix == 2) {
            stage_2(x, y, roots, m, stride);
        } else {
            stage_odd(x, y, roots, radix, m, stride);
        }
        ln_complex *const swap = x;
        x = y;
        y = swap;
        stride *= radix;
    }
    return x;
}

/* ---- Chirps and real signals ---- */

typedef struct tables {
    const ln_complex *roots, *chirp, *filter, *half;
} tables;

static tables tables_of(const ln_fft *fft, const ln_complex *table) {
    const ln_complex *chirp = table + fft->length;
    const ln_complex *filter = chirp + (fft->chirp ? fft->core : 0);
    return (tables){table, chirp, filter, filter + (fft->chirp ? fft->length : 0)};
}

static void fill_roots(ln_complex *roots, int64_t count, int64_t n) {
    for (int64_t k = 0; k < count; k++) {
        const double angle = -2 * PI * (double)k / (double)n;
        roots[k] = (ln_complex){cos(angle), sin(angle)};
    }
}

/* chirp[k] = exp(-i pi k^2 / core), and the transform of its conjugate, wrapped around, over the length. */
static void prepare_chirp(const ln_fft *fft, const ln_complex *roots, ln_complex *chirp, ln_complex *filter,
                          ln_complex *work) {
    const int64_t n = fft->core;
    memset(work, 0, (size_t)fft->length * sizeof *work);
    for (int64_t k = 0; k < n; k++) {
        const double angle = -PI * (double)(k * k % (2 * n)) / (double)n;
        chirp[k] = (ln_complex){cos(angle), sin(angle)};
        const ln_complex conjugate = {chirp[k].re, -chirp[k].im};
        work[k] = conjugate;
        work[k > 0 ? fft->length - k : 0] = conjugate;
    }
    const ln_complex *result = transform(fft, roots, work, work + fft->length);
    memcpy(filter, result, (size_t)fft->length * sizeof *filter);
}

void ln_fft_prepare(const ln_fft *fft, ln_complex *table, ln_complex *work) {
    const tables t = tables_of(fft, table);
    fill_roots(table, fft->length, fft->length);
    if (fft->chirp) {
        prepare_chirp(fft, table, table + (t.chirp - table), table + (t.filter - table), work);
    }
    if (fft->halved) {
        fill_roots(table + (t.half - table), fft->core + 1, fft->n);
    }
}

/* The convolution of the signal times the chirp with the filter, times the chirp. The inverse transform is the transform
 * of the conjugate, conjugated. */
static ln_complex *run_chirp(const ln_fft *fft, const tables *t, ln_complex *work) {
    ln_complex *other = work + fft->length;
    for (int64_t k = 0; k < fft->core; k++) {
        work[k] = multiply(work[k], t->chirp[k]);
    }
    memset(work + fft->core, 0, (size_t)(fft->length - fft->core) * sizeof *work);
    ln_complex *spectrum = transform(fft, t->roots, work, other);
    for (int64_t k = 0; k < fft->length; k++) {
        const ln_complex product = multiply(spectrum[k], t->filter[k]);
        spectrum[k] = (ln_complex){product.re, -product.im};
    }
    ln_complex *result = transform(fft, t->roots, spectrum, spectrum == work ? other : work);
    const double scale = 1 / (double)fft->length;
    for (int64_t k = 0; k < fft->core; k++) {
        const ln_complex value = {result[k].re * scale, -result[k].im * scale};
        result[k] = multiply(value, t->chirp[k]);
    }
    return result;
}

const ln_complex *ln_fft_run(const ln_fft *fft, const ln_complex *table, ln_complex *work) {
    const tables t = tables_of(fft, table);
    const ln_complex *z =
        fft->chirp ? run_chirp(fft, &t, work) : transform(fft, t.roots, work, work + fft->length);
    if (!fft->halved) {
        return z;
    }
    /* Even and odd numbers of the signal have the spectra E and O: X[k] = E[k] + exp(-2 pi i k / n) O[k]. */
    ln_complex *out = work + 2 * fft->length;
    for (int64_t k = 0; k <= fft->core; k++) {
        const ln_complex a = z[k % fft->core];
        const ln_complex b = z[(fft->core - k) % fft->core];
        const ln_complex even = {(a.re + b.re) / 2, (a.im - b.im) / 2};
        const ln_complex odd = {(a.im + b.im) / 2, (b.re - a.re) / 2};
        out[k] = add(even, multiply(odd, t.half[k]));
    }
    return out;
}
