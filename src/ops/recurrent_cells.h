/* The cells of RNN, GRU and LSTM for one element type; recurrent_walk.c includes this file once for float and once for double.
 *
 * Expects REAL (the type), NAME(x) (suffixes a name), APPLY (the gate functions) and PRODUCT(c, a, rows, part): c += a * part of
 * the recurrent weights, for rows of `hidden` elements. STATE(run) is LSTM's state as its product takes it. The caller has put X * W^T + biases of every step into `inputs`.
 */

/* One direction of one run. */
typedef struct NAME(direction) {
    const ln_recurrent_params *params;
    const ln_recurrent_sizes *sizes;
    int64_t d;
    const REAL *inputs; /* [steps * batch rows as X has them][columns] */
    const REAL
        *recurrent_bias;   /* [columns] or NULL: GRU adds it where it belongs, the others have it in inputs */
    const REAL *peepholes; /* [3 * hidden]: input, output, forget; or NULL */
    const int32_t *lengths; /* [batch] or NULL */
    NAME(weights) weights;
    REAL *y;     /* or NULL */
    REAL *h, *c; /* [batch][hidden]: the states; c of LSTM alone */
    REAL *gates; /* [batch][columns] */
    REAL *work;  /* [batch][hidden] */
} NAME(direction);

static int64_t NAME(length)(const NAME(direction) * run, int64_t b) {
    return run->lengths ? run->lengths[b] : run->sizes->steps;
}

/* gates = the input part of this step, gathered: reversed entries of different lengths stand at different times. */
static void NAME(gather)(const NAME(direction) * run, int64_t step) {
    const ln_recurrent_sizes *sizes = run->sizes;
    for (int64_t b = 0; b < sizes->batch; ++b) {
        const int64_t length = NAME(length)(run, b);
        const int64_t forward = step < length ? step : length > 0 ? length - 1 : 0;
        const int64_t t = run->params->reversed[run->d] && length > 0 ? length - 1 - forward : forward;
        const REAL *row = run->inputs + ln_input_row(run->params, sizes, t, b) * sizes->columns;
        memcpy(run->gates + b * sizes->columns, row, (size_t)sizes->columns * sizeof(REAL));
    }
}

static void NAME(rnn_step)(const NAME(direction) * run, REAL *h) {
    const ln_recurrent_sizes *sizes = run->sizes;
    PRODUCT(run, run->gates, run->h, 0);
    for (int64_t b = 0; b < sizes->batch; ++b) {
        REAL *gate = run->gates + b * sizes->columns;
        APPLY(run->params->functions[3 * run->d], run->params->clip, gate, sizes->hidden);
        memcpy(h + b * sizes->hidden, gate, (size_t)sizes->hidden * sizeof(REAL));
    }
}

/* Gates z, r, h. `work` holds what multiplies the recurrent weights of h. */
static void NAME(gru_step)(const NAME(direction) * run, REAL *h) {
    const ln_recurrent_sizes *sizes = run->sizes;
    const int64_t n = sizes->hidden;
    const ln_gate_function *functions = &run->params->functions[3 * run->d];
    PRODUCT(run, run->gates, run->h, 0);
    for (int64_t b = 0; b < sizes->batch; ++b) {
        REAL *gate = run->gates + b * sizes->columns;
        APPLY(functions[0], run->params->clip, gate, 2 * n);
        for (int64_t i = 0; i < n; ++i) {
            run->work[b * n + i] = gate[n + i] * run->h[b * n + i];
        }
    }
    if (run->params->linear_before_reset) { /* the product is taken before the reset gate applies */
        for (int64_t b = 0; b < sizes->batch; ++b) {
            for (int64_t i = 0; i < n; ++i) {
                run->work[b * n + i] = run->recurrent_bias ? run->recurrent_bias[2 * n + i] : 0;
            }
        }
        PRODUCT(run, run->work, run->h, 2);
        for (int64_t b = 0; b < sizes->batch; ++b) {
            REAL *gate = run->gates + b * sizes->columns;
            for (int64_t i = 0; i < n; ++i) {
                gate[2 * n + i] += gate[n + i] * run->work[b * n + i];
            }
        }
    } else {
        PRODUCT(run, run->gates, run->work, 1);
    }
    for (int64_t b = 0; b < sizes->batch; ++b) {
        REAL *gate = run->gates + b * sizes->columns;
        APPLY(functions[1], run->params->clip, gate + 2 * n, n);
        for (int64_t i = 0; i < n; ++i) {
            h[b * n + i] = (1 - gate[i]) * gate[2 * n + i] + gate[i] * run->h[b * n + i];
        }
    }
}

/* Gates i, o, f, c. */
static void NAME(lstm_step)(const NAME(direction) * run, REAL *h, REAL *c) {
    const ln_recurrent_sizes *sizes = run->sizes;
    const int64_t n = sizes->hidden;
    const ln_gate_function *functions = &run->params->functions[3 * run->d];
    const float clip = run->params->clip;
    const REAL *p = run->peepholes;
    PRODUCT(run, run->gates, STATE(run), 0);
    for (int64_t b = 0; b < sizes->batch; ++b) {
        REAL *gate = run->gates + b * sizes->columns;
        const REAL *before = run->c + b * n;
        REAL *cell = c + b * n;
        for (int64_t i = 0; p && i < n; ++i) {
            gate[i] += p[i] * before[i];
            gate[2 * n + i] += p[2 * n + i] * before[i];
        }
        APPLY(functions[0], clip, gate, n);
        APPLY(functions[0], clip, gate + 2 * n, n);
        APPLY(functions[1], clip, gate + 3 * n, n);
        for (int64_t i = 0; i < n; ++i) {
            const REAL forget = run->params->input_forget ? 1 - gate[i] : gate[2 * n + i];
            cell[i] = forget * before[i] + gate[i] * gate[3 * n + i];
            gate[n + i] += p ? p[n + i] * cell[i] : 0;
        }
        APPLY(functions[0], clip, gate + n, n);
        memcpy(h + b * n, cell, (size_t)n * sizeof(REAL));
        APPLY(functions[2], 0, h + b * n, n);
        for (int64_t i = 0; i < n; ++i) {
            h[b * n + i] *= gate[n + i];
        }
    }
}

/* Keeps the new state of entries that are not at their end, and writes Y. `h` and `c` are [batch][hidden]. */
static void NAME(keep)(const NAME(direction) * run, int64_t step, const REAL *h, const REAL *c) {
    const ln_recurrent_sizes *sizes = run->sizes;
    const size_t row_bytes = (size_t)sizes->hidden * sizeof(REAL);
    for (int64_t b = 0; b < sizes->batch; ++b) {
        const int64_t length = NAME(length)(run, b);
        const bool live = step < length;
        const int64_t t = run->params->reversed[run->d] && live ? length - 1 - step : step;
        if (live) {
            memcpy(run->h + b * sizes->hidden, h + b * sizes->hidden, row_bytes);
            if (c) {
                memcpy(run->c + b * sizes->hidden, c + b * sizes->hidden, row_bytes);
            }
        }
        if (run->y) {
            REAL *y = run->y + ln_output_row(run->params, sizes, t, run->d, b) * sizes->hidden;
            if (live) {
                memcpy(y, h + b * sizes->hidden, row_bytes);
            } else {
                memset(y, 0, row_bytes);
            }
        }
    }
}

/* All steps of one direction. `next` holds 2 * batch * hidden elements. */
static void NAME(run_direction)(const NAME(direction) * run, REAL *next) {
    REAL *h = next;
    REAL *c = run->c ? next + run->sizes->batch * run->sizes->hidden : NULL;
    for (int64_t step = 0; step < run->sizes->steps; ++step) {
        NAME(gather)(run, step);
        switch (run->params->cell) {
        case LN_CELL_RNN:
            NAME(rnn_step)(run, h);
            break;
        case LN_CELL_GRU:
            NAME(gru_step)(run, h);
            break;
        case LN_CELL_LSTM:
            NAME(lstm_step)(run, h, c);
            break;
        }
        NAME(keep)(run, step, h, c);
    }
}
