/* Pad before a convolution or a pooling window: the window pads by itself, so the padded copy is not made. Readers of one
 * Pad are taken one by one; when none is left, the Pad is dead. It must pad spatial axes alone, by constant sizes,
 * and with what the window's own padding stands for: zeros for a convolution and for an average that counts its
 * padding; for a maximum the lowest number, or zeros where no element is less. */
#include <float.h>

#include "base/convert.h"
#include "compile/match.h"
#include "ops/conv.h"
#include "ops/pooling.h"

enum { MOST = INT32_MAX / 4 };

/* What a Pad adds to `rank` spatial axes, and with what. */
typedef struct padding {
    int rank;
    int64_t begin[LN_WINDOW_RANK], end[LN_WINDOW_RANK];
    float value;
} padding;

static bool constant_ints(const ln_node *node, int index, int64_t *values, int capacity, int *count) {
    const ln_value *constant = ln_node_constant(node, index);
    const bool fits = constant && constant->kind == LN_KIND_TENSOR && constant->data &&
                      constant->dtype == LN_INT64 && ln_value_count(constant) <= capacity;
    *count = fits ? (int)ln_value_count(constant) : 0;
    for (int i = 0; i < *count; ++i) {
        values[i] = ((const int64_t *)constant->data)[i];
    }
    return fits;
}

static bool has_input(const ln_node *node, int index) {
    return index < node->n_inputs && node->inputs[index];
}

/* The number that a Pad of version 11 and newer pads with; false when it is not a constant of a real type. */
static bool constant_value(const ln_node *pad, float *value) {
    *value = 0;
    if (!has_input(pad, 2)) {
        return true;
    }
    const ln_value *constant = ln_node_constant(pad, 2);
    const bool usable = constant && constant->kind == LN_KIND_TENSOR && constant->data &&
                        ln_dtype_compute(constant->dtype) == LN_COMPUTE_F32 && ln_value_count(constant) == 1;
    if (usable) {
        ln_load_f32(constant->dtype, constant->data, 0, 1, value);
    }
    return usable;
}

/* Pads and axes as the node gives them: attributes before version 11, constants since. */
static bool read_lists(const ln_node *pad, int64_t *pads, int *n_pads, int64_t *axes, int *n_axes,
                       float *value) {
    *n_axes = 0;
    if (pad->opset >= 11) {
        return constant_value(pad, value) && constant_ints(pad, 1, pads, 2 * LN_MAX_RANK, n_pads) &&
               (!has_input(pad, 3) || constant_ints(pad, 3, axes, LN_MAX_RANK, n_axes));
    }
    const ln_attribute *list = ln_node_attribute(pad, "pads");
    const ln_attribute *number = ln_node_attribute(pad, "value");
    *value = number && number->type == LN_ATTRIBUTE_FLOAT ? number->as.floats[0] : 0;
    if (!list || list->type != LN_ATTRIBUTE_INTS || list->count > 2 * LN_MAX_RANK) {
        return false;
    }
    *n_pads = list->count;
    for (int i = 0; i < list->count; ++i) {
        pads[i] = list->as.ints[i];
    }
    return true;
}

/* Reads a Pad of a tensor of rank 2 + out->rank; false when a window cannot do what it does. */
static bool read_padding(const ln_node *pad, padding *out) {
    const ln_attribute *mode = ln_node_attribute(pad, "mode");
    int64_t pads[2 * LN_MAX_RANK];
    int64_t axes[LN_MAX_RANK];
    int n_pads = 0;
    int n_axes = 0;
    const ln_string constant = {"constant", 8};
    if ((mode && ln_string_compare(&mode->as.strings[0], &constant) != 0) || pad->opset < 2 ||
        !read_lists(pad, pads, &n_pads, axes, &n_axes, &out->value)) {
        return false;
    }
    const int rank = out->rank + 2;
    const bool listed = n_axes > 0;
    n_axes = listed ? n_axes : rank;
    if (n_pads != 2 * n_axes) {
        return false;
    }
    for (int i = 0; i < n_axes; ++i) {
        const int64_t given = listed ? axes[i] : i;
        const int64_t axis = (given < 0 ? given + rank : given) - 2;
        const int64_t begin = pads[i];
        const int64_t end = pads[n_axes + i];
        if (axis < -2 || axis >= out->rank || begin < 0 || end < 0 || begin > MOST || end > MOST ||
            (axis < 0 && (begin || end))) {
            return false;
        }
        if (axis >= 0) {
            out->begin[axis] = begin;
            out->end[axis] = end;
        }
    }
    return true;
}

/* Whether every element of a value is known to be at least 0. */
static bool is_nonnegative(const ln_node *producer) {
    if (!producer) {
        return false;
    }
    if (ln_is(producer, "Conv") || ln_is_in(producer, "com.microsoft", "FusedConv")) {
        const ln_conv_params *params = producer->params;
        return params->activation.present && params->activation.kind == LN_UNARY_RELU &&
               !params->residual_last;
    }
    return ln_is(producer, "Relu") || ln_is(producer, "Sigmoid");
}

/* Whether the window's own padding stands for the value that is padded with. */
static bool same_meaning(const ln_node *node, const ln_node *pad, const ln_window *window, const padding *p) {
    if (ln_is(node, "MaxPool")) {
        if (node->n_outputs > 1 && node->outputs[1]) {
            return false; /* the indices count the padding */
        }
        for (int i = 0; i < p->rank; ++i) { /* no window may see padding alone */
            const int64_t own = window->n_pads ? window->pads[i] : 0;
            const int64_t own_end = window->n_pads ? window->pads[p->rank + i] : 0;
            if (p->begin[i] + own >= window->kernel[i] || p->end[i] + own_end >= window->kernel[i]) {
                return false;
            }
        }
        return p->value <= -FLT_MAX || (p->value == 0 && is_nonnegative(ln_producer(pad, 0)));
    }
    if (ln_is(node, "AveragePool")) {
        bool pads = false;
        for (int i = 0; i < window->n_pads; ++i) {
            pads = pads || window->pads[i] != 0;
        }
        const ln_pool_params *params = node->params;
        return p->value == 0 && !window->ceil_mode && (!pads || params->count_include_pad);
    }
    return p->value == 0;
}

/* The window of a node that can take over padding, and its number of spatial axes; NULL when it is none. */
static ln_window *window_of(const ln_node *node, int *rank) {
    if (ln_is(node, "Conv") || ln_is_in(node, "com.microsoft", "FusedConv")) {
        const ln_value *w = has_input(node, 1) ? ln_node_constant(node, 1) : NULL;
        ln_conv_params *params = node->params;
        *rank = w ? w->shape.rank - 2 : 0;
        return w && !params->transposed ? &params->window : NULL;
    }
    if (ln_is(node, "MaxPool") || ln_is(node, "AveragePool")) {
        ln_window *window = &((ln_pool_params *)node->params)->window;
        *rank = window->n_kernel;
        return window;
    }
    return NULL;
}

/* Moves the padding of `pad` into the window of `node`; false when that would change a result. */
static bool take_over(ln_node *node, const ln_node *pad) {
    padding p = {.rank = 0};
    ln_window *window = window_of(node, &p.rank);
    if (!window || p.rank < 1 || p.rank > LN_WINDOW_RANK || !read_padding(pad, &p) ||
        (window->auto_pad != LN_PAD_NOTSET && window->auto_pad != LN_PAD_VALID) ||
        (window->n_pads != 0 && window->n_pads != 2 * p.rank)) {
        return false;
    }
    if (window->auto_pad == LN_PAD_VALID || window->n_pads == 0) {
        for (int i = 0; i < 2 * p.rank; ++i) {
            window->pads[i] = 0;
        }
    }
    if (!same_meaning(node, pad, window, &p)) {
        return false;
    }
    window->auto_pad = LN_PAD_NOTSET;
    window->n_pads = 2 * p.rank;
    for (int i = 0; i < p.rank; ++i) {
        window->pads[i] += p.begin[i];
        window->pads[p.rank + i] += p.end[i];
    }
    if (ln_is(node, "AveragePool")) {
        ((ln_pool_params *)node->params)->count_include_pad = true;
    }
    return true;
}

ln_status ln_rewrite_fold_pads(ln_graph *graph, int *fired) {
    for (int32_t i = 0; i < graph->n_nodes; ++i) {
        ln_node *node = graph->nodes[i];
        const ln_node *pad = node->removed ? NULL : ln_producer(node, 0);
        if (pad && ln_is(pad, "Pad") && take_over(node, pad)) {
            ln_node_set_input(node, 0, pad->inputs[0]);
            ++*fired;
        }
    }
    return LN_OK;
}
