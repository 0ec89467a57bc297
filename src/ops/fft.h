/* Fast Fourier transforms of any length, in double.
 *
 * A plan is made from the length alone; its tables and its work space are the caller's. Lengths whose prime factors are small run as a
 * mixed-radix Stockham transform, all others by Bluestein's chirp convolution over a power of two. A real signal of even
 * length runs as a complex one of half the length. So every length costs O(n log n).
 */
#ifndef LN_OPS_FFT_H
#define LN_OPS_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ln_complex {
    double re, im;
} ln_complex;

enum { LN_FFT_FACTORS = 40 };

typedef struct ln_fft {
    int64_t n;      /* points of the signal */
    int64_t core;   /* points of the complex transform that gives it: n, or n / 2 */
    int64_t length; /* points of the transform that is run: core, or more for a chirp */
    bool halved;    /* a real signal is taken as complex points, two numbers each */
    bool chirp;
    int n_factors;
    int factors[LN_FFT_FACTORS]; /* of length */
} ln_fft;

/* Plans a transform of n > 0 points; `real` says that every signal is real. False when n is too large. */
bool ln_fft_init(ln_fft *fft, int64_t n, bool real);
/* Numbers that the tables take, and those that a transform needs to work: its signal goes to their begin. */
size_t ln_fft_table_size(const ln_fft *fft);
size_t ln_fft_work_size(const ln_fft *fft);
/* Fills in the tables. */
void ln_fft_prepare(const ln_fft *fft, ln_complex *table, ln_complex *work);
/* Transforms the n points, or the n real numbers of a halved plan, at the begin of `work`. The result, n points or the first n / 2 + 1 of a
 * halved plan, stands in `work` too: it is what is returned. */
const ln_complex *ln_fft_run(const ln_fft *fft, const ln_complex *table, ln_complex *work);

#endif
