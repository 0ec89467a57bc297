/* Fourier transforms of tensors: DFT, STFT, MelWeightMatrix.
 *
 * The last axis holds a number's real and imaginary part, or the real part alone. A task transforms a range of lines along the axis
 * (frames of a signal, for STFT) in double, which keeps results near zero as small as they should be. An inverse transform is
 * the forward one with real and imaginary parts exchanged before and after. Tables are made at the start of a run by a task
 * of their own. Standard: DFT-17/20, STFT-17, MelWeightMatrix-17.
 */
#include <math.h>
#include <string.h>

#include "ops/fft.h"
#include "ops/lines.h"

enum { DFT_GRAIN = 4096 };

typedef struct dft_params {
    bool inverse, onesided;
    bool axis_is_input;
    int64_t axis;
} dft_params;

typedef struct dft_local {
    ln_fft fft;
    ln_lines lines;           /* of the input; STFT: outer is the batch, length the signal */
    int64_t n;                /* points of a transform */
    int64_t count;            /* transforms */
    int64_t bins;             /* points of an output line */
    int64_t parts, parts_out; /* numbers of a point: 1 or 2 */
    int64_t frames, step;     /* STFT; frames 0 otherwise */
    bool inverse;
    bool mirrored; /* the input is half a spectrum */
    const ln_value *window;
} dft_local;

/* ---- A line at a time ---- */

/* Points [0, count) of line number `line` as doubles. */
static void load_line(const dft_local *d, const ln_value *x, int64_t line, int64_t count, double *raw) {
    if (d->frames > 0) {
        const int64_t first = line / d->frames * d->lines.length + line % d->frames * d->step;
        ln_load_f64(x->dtype, x->data, first * d->parts, count * d->parts, raw);
        return;
    }
    const int64_t first = line / d->lines.inner * d->lines.length * d->lines.inner + line % d->lines.inner;
    if (d->lines.inner == 1) {
        ln_load_f64(x->dtype, x->data, first * d->parts, count * d->parts, raw);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        ln_load_f64(x->dtype, x->data, (first + i * d->lines.inner) * d->parts, d->parts, raw + i * d->parts);
    }
}

static void store_line(const dft_local *d, ln_value *y, int64_t line, const double *raw) {
    const int64_t inner = d->frames > 0 ? 1 : d->lines.inner;
    const int64_t first = line / inner * d->bins * inner + line % inner;
    if (inner == 1) {
        ln_store_f64(y->dtype, y->data, first * d->parts_out, d->bins * d->parts_out, raw);
        return;
    }
    for (int64_t i = 0; i < d->bins; i++) {
        ln_store_f64(y->dtype, y->data, (first + i * inner) * d->parts_out, d->parts_out,
                     raw + i * d->parts_out);
    }
}

static ln_complex point(const dft_local *d, const double *raw, int64_t count, int64_t i) {
    if (i >= count) {
        return (ln_complex){0, 0};
    }
    return (ln_complex){raw[i * d->parts], d->parts == 2 ? raw[i * d->parts + 1] : 0};
}

/* The signal as the transform takes it, from `count` points. */
static void arrange(const dft_local *d, const double *raw, int64_t count, ln_complex *work) {
    if (d->fft.halved) {
        double *numbers = &work->re;
        memcpy(numbers, raw, (size_t)count * sizeof *raw);
        memset(numbers + count, 0, (size_t)(d->n - count) * sizeof *raw);
        return;
    }
    for (int64_t i = 0; i < d->n; i++) {
        const bool mirror = d->mirrored && 2 * i > d->n;
        ln_complex value = point(d, raw, count, mirror ? d->n - i : i);
        value.im = mirror ? -value.im : value.im;
        work[i] = d->inverse ? (ln_complex){value.im, value.re} : value;
    }
}

static void collect(const dft_local *d, const ln_complex *spectrum, double *raw) {
    const double scale = d->inverse ? 1 / (double)d->n : 1;
    for (int64_t k = 0; k < d->bins; k++) {
        const bool mirror = d->fft.halved && 2 * k > d->n;
        ln_complex value = spectrum[mirror ? d->n - k : k];
        value.im = mirror ? -value.im : value.im;
        raw[k * d->parts_out] = (d->inverse ? value.im : value.re) * scale;
        if (d->parts_out == 2) {
            raw[k * 2 + 1] = (d->inverse ? value.re : value.im) * scale;
        }
    }
}

static void apply_window(const dft_local *d, double *raw, int64_t count) {
    double tile[LN_TILE];
    for (int64_t i = 0; i < count; i += LN_TILE) {
        const int64_t n = count - i < LN_TILE ? count - i : LN_TILE;
        ln_load_f64(d->window->dtype, d->window->data, i, n, tile);
        for (int64_t t = 0; t < n * d->parts; t++) {
            raw[i * d->parts + t] *= tile[t / d->parts];
        }
    }
}

static int64_t line_tasks(const dft_local *d) {
    return ln_unit_tasks(d->count, d->n, DFT_GRAIN);
}

static void line_task(ln_op *op, int64_t index, void *scratch) {
    const dft_local *d = LN_LOCAL(op, dft_local);
    ln_complex *work = scratch;
    double *raw = &work[ln_fft_work_size(&d->fft)].re;
    const int64_t length = d->frames > 0 ? d->n : d->lines.length;
    const int64_t count = length < d->n ? length : d->n;
    int64_t begin, end;
    ln_unit_range(d->count, line_tasks(d), index, &begin, &end);
    for (int64_t line = begin; line < end; line++) {
        load_line(d, ln_in(op, 0), line, count, raw);
        if (d->window) {
            apply_window(d, raw, count);
        }
        arrange(d, raw, count, work);
        collect(d, ln_fft_run(&d->fft, op->scratch, work), raw);
        store_line(d, ln_out(op, 0), line, raw);
    }
}

static void table_task(ln_op *op, int64_t index, void *scratch) {
    (void)index;
    ln_fft_prepare(&LN_LOCAL(op, dft_local)->fft, op->scratch, scratch);
}

static ln_status transform_lines(ln_op *op) {
    return ln_op_grid(op, line_task, line_tasks(LN_LOCAL(op, dft_local)));
}

static ln_status run_lines(ln_op *op) {
    dft_local *d = LN_LOCAL(op, dft_local);
    d->window = d->window ? ln_in(op, 2) : NULL;
    return d->count > 0 && ln_out(op, 0) ? ln_op_grid_then(op, table_task, 1, transform_lines) : LN_OK;
}

/* Plans transforms of n points. */
static ln_status plan_lines(ln_op *op, bool real) {
    dft_local *d = LN_LOCAL(op, dft_local);
    LN_OP_CHECK(op, d->n > 0, INVALID_VALUE, "a transform of %lld points is not possible", (long long)d->n);
    LN_OP_CHECK(op, ln_fft_init(&d->fft, d->n, real), LIMIT_EXCEEDED,
                "a transform of %lld points is too large", (long long)d->n);
    op->scratch_bytes = ln_fft_table_size(&d->fft) * sizeof(ln_complex);
    op->task_scratch_bytes = (ln_fft_work_size(&d->fft) + (size_t)d->n + 2) * sizeof(ln_complex);
    return LN_OK;
}

/* ---- DFT ---- */

static ln_status build_dft(ln_build *build) {
    dft_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->inverse = ln_attr_bool(build, "inverse", false);
        params->onesided = ln_attr_bool(build, "onesided", false);
        params->axis_is_input = build->opset >= 20;
        params->axis = params->axis_is_input ? -2 : ln_attr_int(build, "axis", 1);
    }
    return ln_build_status(build);
}

static ln_status infer_dft(ln_op *op) {
    const dft_params *params = op->params;
    dft_local *d = LN_LOCAL(op, dft_local);
    const ln_shape *x = &ln_in(op, 0)->shape;
    char text[LN_SHAPE_TEXT_BYTES];
    int64_t axis = params->axis;
    int at = 0;
    LN_OP_CHECK(op, x->rank >= 2 && (x->dims[x->rank - 1] == 1 || x->dims[x->rank - 1] == 2), INVALID_SHAPE,
                "the last axis of %s must have 1 or 2 numbers", ln_shape_text(x, text));
    if (params->axis_is_input) {
        LN_TRY(ln_op_int(op, 2, &axis));
    }
    LN_TRY(ln_op_axis(op, axis, x->rank, &at));
    LN_OP_CHECK(op, at < x->rank - 1, INVALID_ATTRIBUTE, "axis %lld holds the parts of complex numbers",
                (long long)axis);
    *d = (dft_local){.inverse = params->inverse, .parts = x->dims[x->rank - 1]};
    d->mirrored = params->inverse && params->onesided;
    d->lines = (ln_lines){ln_shape_product(x, 0, at), x->dims[at], ln_shape_product(x, at + 1, x->rank - 1)};
    d->count = d->lines.outer * d->lines.inner;
    d->n = d->mirrored ? 2 * (d->lines.length - 1) : d->lines.length;
    LN_TRY(ln_op_int(op, 1, &d->n));
    LN_TRY(plan_lines(op, d->parts == 1 && !params->inverse));
    d->bins = params->onesided && !params->inverse ? d->n / 2 + 1 : d->n;
    d->parts_out = d->mirrored ? 1 : 2;
    ln_shape y = *x;
    y.dims[at] = d->bins;
    y.dims[y.rank - 1] = d->parts_out;
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &y);
}

/* ---- STFT ---- */

static ln_status build_stft(ln_build *build) {
    dft_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->onesided = ln_attr_bool(build, "onesided", true);
    }
    return ln_build_status(build);
}

static ln_status infer_stft(ln_op *op) {
    const dft_params *params = op->params;
    dft_local *d = LN_LOCAL(op, dft_local);
    const ln_shape *x = &ln_in(op, 0)->shape;
    const ln_value *window = ln_in(op, 2);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, x->rank == 2 || (x->rank == 3 && (x->dims[2] == 1 || x->dims[2] == 2)), INVALID_SHAPE,
                "a signal of shape %s must be [batch,length,1 or 2]", ln_shape_text(x, text));
    *d = (dft_local){.parts = x->rank == 3 ? x->dims[2] : 1, .parts_out = 2, .window = window};
    d->lines = (ln_lines){x->dims[0], x->dims[1], 1};
    d->n = window ? ln_value_count(window) : d->lines.length;
    LN_TRY(ln_op_int(op, 1, &d->step));
    LN_TRY(ln_op_int(op, 3, &d->n));
    LN_OP_CHECK(op, d->step > 0, INVALID_VALUE, "frame_step is %lld, expected a positive number",
                (long long)d->step);
    LN_OP_CHECK(op, !window || (window->shape.rank == 1 && ln_value_count(window) == d->n), INVALID_SHAPE,
                "the window must be a list of %lld numbers", (long long)d->n);
    LN_OP_CHECK(op, !(params->onesided && d->parts == 2), INVALID_ATTRIBUTE, "onesided is for real signals");
    LN_TRY(plan_lines(op, d->parts == 1));
    d->frames = d->lines.length < d->n ? 0 : (d->lines.length - d->n) / d->step + 1;
    d->count = d->lines.outer * d->frames;
    d->bins = params->onesided ? d->n / 2 + 1 : d->n;
    const ln_shape y = {4, {x->dims[0], d->frames, d->bins, 2}};
    return ln_op_shape(op, 0, ln_in(op, 0)->dtype, &y);
}

/* ---- MelWeightMatrix ---- */

typedef struct mel_local {
    int64_t bands, dft, bins, rate;
    double low, high;
} mel_local;

static ln_status build_mel(ln_build *build) {
    const int64_t dtype = ln_attr_int(build, "output_datatype", LN_FLOAT);
    if (dtype < 0 || dtype >= LN_DTYPE_COUNT || !(LN_BIT((unsigned)dtype) & LN_T_NUMBER_BF)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "output_datatype %lld is not a number type",
                             (long long)dtype);
    }
    build->node->output_dtype = (ln_dtype)dtype;
    return ln_build_nothing(build);
}

static ln_status infer_mel(ln_op *op) {
    mel_local *m = LN_LOCAL(op, mel_local);
    *m = (mel_local){0};
    LN_TRY(ln_op_int(op, 0, &m->bands));
    LN_TRY(ln_op_int(op, 1, &m->dft));
    LN_TRY(ln_op_int(op, 2, &m->rate));
    LN_TRY(ln_op_number(op, 3, &m->low));
    LN_TRY(ln_op_number(op, 4, &m->high));
    LN_OP_CHECK(op,
                m->bands >= 0 && m->dft >= 0 && m->rate > 0 && m->low >= 0 && m->high >= m->low &&
                    m->high < 1e12 && m->dft < INT64_C(1) << 40,
                INVALID_VALUE, "%lld bands of %lld points at %lld Hz from %g to %g Hz are not possible",
                (long long)m->bands, (long long)m->dft, (long long)m->rate, m->low, m->high);
    m->bins = m->dft / 2 + 1;
    const ln_shape y = {2, {m->bins, m->bands}};
    return ln_op_shape(op, 0, op->node->output_dtype, &y);
}

/* The spectrogram bin of the edge number `edge` of the bands + 2 that are equally far apart on the mel scale. */
static int64_t edge_bin(const mel_local *m, int64_t edge) {
    const double low = 2595 * log10(1 + m->low / 700);
    const double high = 2595 * log10(1 + m->high / 700);
    const double mel = low + (double)edge * (high - low) / (double)(m->bands + 2);
    const double hertz = 700 * (pow(10, mel / 2595) - 1);
    return (int64_t)floor((double)(m->dft + 1) * hertz / (double)m->rate);
}

static void set_weight(ln_op *op, const mel_local *m, int64_t bin, int64_t band, double weight) {
    ln_value *y = ln_out(op, 0);
    if (bin >= 0 && bin < m->bins) {
        ln_store_f64(y->dtype, y->data, bin * m->bands + band, 1, &weight);
    }
}

static ln_status run_mel(ln_op *op) {
    const mel_local *m = LN_LOCAL(op, mel_local);
    memset(ln_out(op, 0)->data, 0, ln_value_bytes(ln_out(op, 0)));
    for (int64_t band = 0; band < m->bands; band++) {
        const int64_t left = edge_bin(m, band);
        const int64_t center = edge_bin(m, band + 1);
        const int64_t right = edge_bin(m, band + 2);
        const int64_t last = right < m->bins ? right : m->bins;
        for (int64_t bin = left; bin <= center && bin < m->bins; bin++) {
            set_weight(op, m, bin, band, left == center ? 1 : (double)(bin - left) / (double)(center - left));
        }
        for (int64_t bin = center; bin < last && center < right; bin++) {
            set_weight(op, m, bin, band, (double)(right - bin) / (double)(right - center));
        }
    }
    return LN_OK;
}

/* ---- Rows ---- */

#define TRANSFORM(name, since, until, signature, build, infer)                                               \
    {name, "", since, until, signature, {LN_T_FLOAT_BF, LN_T_INDEX}, build, infer, run_lines, NULL, 0, NULL}
static const ln_op_row rows[] = {
    TRANSFORM("DFT", 17, 19, "AB?>A", build_dft, infer_dft),
    TRANSFORM("DFT", 20, LN_OPEN, "AB?l?>A", build_dft, infer_dft),
    TRANSFORM("STFT", 17, LN_OPEN, "ABA?B?>A", build_stft, infer_stft),
    {"MelWeightMatrix",
     "",
     17,
     LN_OPEN,
     "AAABB>C",
     {LN_T_INDEX, LN_T_FLOAT_BF, LN_T_NUMBER_BF},
     build_mel,
     infer_mel,
     run_mel,
     NULL,
     0,
     NULL},
};
LN_FAMILY_TABLE(dft, rows);
