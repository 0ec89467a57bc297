/* Convolution followed by BatchNormalization, or by arithmetic with a constant number or one constant per channel: the
 * constants go into the convolution's weights and bias, y = s * (w * x + b) + t. A single s and t also pass an activation
 * that is fused already: s * clip(z, l, h) + t is clip(s * z + t, s * l + t, s * h + t).
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compile/match.h"
#include "ops/conv.h"

/* s and t of y = s * x + t, [channels] each. */
typedef struct affine {
    float *scale;
    float *shift;
    bool uniform; /* the same for all channels */
} affine;

static const float *constant_floats(const ln_node *node, int index, int64_t count) {
    const ln_value *constant =
        index < node->n_inputs && node->inputs[index] ? ln_node_constant(node, index) : NULL;
    const bool fits = constant && constant->kind == LN_KIND_TENSOR && constant->dtype == LN_FLOAT &&
                      constant->data && ln_value_count(constant) == count;
    return fits ? constant->data : NULL;
}

bool ln_batch_norm_known(const ln_node *node, int64_t channels) {
    const ln_attribute *mode = ln_node_attribute(node, "training_mode");
    const bool training = mode && mode->type == LN_ATTRIBUTE_INT && mode->as.ints[0] != 0;
    /* Before version 7 is_test said whether the node normalises with its own statistics. */
    const ln_attribute *spatial = ln_node_attribute(node, "spatial");
    for (int i = 1; i < 5; ++i) {
        if (!constant_floats(node, i, channels)) {
            return false;
        }
    }
    for (int32_t i = 1; i < node->n_outputs; ++i) {
        if (node->outputs[i]) {
            return false;
        }
    }
    return !training && node->opset >= 7 && !(spatial && spatial->as.ints[0] == 0);
}

double ln_batch_norm_scale(const ln_node *node, int64_t channel) {
    const ln_attribute *epsilon = ln_node_attribute(node, "epsilon");
    const float eps = epsilon && epsilon->type == LN_ATTRIBUTE_FLOAT ? epsilon->as.floats[0] : 1e-5F;
    const float *scale = ln_node_constant(node, 1)->data;
    const float *variance = ln_node_constant(node, 4)->data;
    return (double)scale[channel] / sqrt((double)variance[channel] + (double)eps);
}

static bool from_batch_norm(const ln_node *node, int64_t channels, affine *out) {
    if (!ln_batch_norm_known(node, channels)) {
        return false;
    }
    const float *bias = ln_node_constant(node, 2)->data;
    const float *mean = ln_node_constant(node, 3)->data;
    for (int64_t c = 0; c < channels; ++c) {
        const double s = ln_batch_norm_scale(node, c);
        out->scale[c] = (float)s;
        out->shift[c] = (float)((double)bias[c] - (double)mean[c] * s);
    }
    return true;
}

/* Whether a constant has one element per channel of an output of rank `rank`, all other axes being 1. */
static bool per_channel(const ln_shape *shape, int64_t channels, int rank) {
    return shape->rank == rank - 1 ? shape->dims[0] == channels
                                   : shape->rank == rank && shape->dims[0] == 1 && shape->dims[1] == channels;
}

static bool from_binary(const ln_node *node, ln_value_id value, int64_t channels, int rank, affine *out) {
    const bool product = ln_is(node, "Mul");
    const bool quotient = ln_is(node, "Div");
    const bool difference = ln_is(node, "Sub");
    const int other = ln_other_input(node, value);
    if ((!product && !quotient && !difference && !ln_is(node, "Add")) || other < 0 || node->opset < 7 ||
        (quotient && other == 0)) {
        return false;
    }
    const float *number = constant_floats(node, other, 1);
    const float *numbers = number ? number : constant_floats(node, other, channels);
    if (!numbers || (number ? ln_node_constant(node, other)->shape.rank > rank
                            : !per_channel(&ln_node_constant(node, other)->shape, channels, rank))) {
        return false;
    }
    out->uniform = number != NULL;
    for (int64_t c = 0; c < channels; ++c) {
        const float own = numbers[number ? 0 : c];
        const float sign = difference ? -1.0F : 1.0F;
        out->scale[c] = product ? own : quotient ? 1.0F / own : other == 0 ? sign : 1.0F;
        out->shift[c] = product || quotient ? 0.0F : other == 1 ? sign * own : own;
    }
    return true;
}

static bool find_affine(const ln_node *conv, const ln_node *next, int64_t channels, int rank, affine *out) {
    if (ln_is(next, "BatchNormalization")) {
        return next->inputs[0] == conv->outputs[0] && from_batch_norm(next, channels, out);
    }
    return from_binary(next, conv->outputs[0], channels, rank, out);
}

/* A copy of a constant that this node alone reads; the bytes are shared until then. */
static ln_status own_constant(ln_node *node, int index, float **floats) {
    ln_model *model = node->graph->model;
    ln_value_info *info = ln_info(model, node->inputs[index]);
    if (info->uses == 1 && !info->is_graph_output) {
        *floats = info->constant->data;
        return LN_OK;
    }
    ln_value copy = {0};
    LN_TRY(ln_value_make(model->context, &copy, info->constant->dtype, &info->constant->shape));
    memcpy(copy.data, info->constant->data, ln_value_bytes(&copy));
    const ln_value_id id = ln_graph_add_constant(node->graph, "", &copy);
    if (!id) {
        ln_value_release(model->context, &copy);
        return LN_OUT_OF_MEMORY;
    }
    ln_node_set_input(node, index, id);
    *floats = copy.data;
    return LN_OK;
}

static ln_status set_bias(ln_node *conv, const affine *a, int64_t channels) {
    ln_model *model = conv->graph->model;
    const float *old = conv->n_inputs > 2 && conv->inputs[2] ? ln_node_constant(conv, 2)->data : NULL;
    ln_value bias = {0};
    const ln_shape shape = ln_shape_of(1, &channels);
    LN_TRY(ln_value_make(model->context, &bias, LN_FLOAT, &shape));
    float *floats = bias.data;
    for (int64_t c = 0; c < channels; ++c) {
        floats[c] = (old ? a->scale[c] * old[c] : 0.0F) + a->shift[c];
    }
    const ln_value_id id = ln_graph_add_constant(conv->graph, "", &bias);
    if (!id) {
        ln_value_release(model->context, &bias);
        return LN_OUT_OF_MEMORY;
    }
    ln_value_id *inputs = ln_arena_array(&model->arena, 3, sizeof *inputs);
    if (!inputs) {
        return LN_OUT_OF_MEMORY;
    }
    if (conv->n_inputs < 3) {
        memcpy(inputs, conv->inputs, 2 * sizeof *inputs);
        conv->inputs = inputs;
        conv->n_inputs = 3;
    }
    ln_node_set_input(conv, 2, id);
    return LN_OK;
}

/* Output channel of weight block `i` (an [out] or [in, out/group] block of taps). */
static int64_t channel_of(const ln_conv_params *params, const ln_shape *w, int64_t block) {
    if (!params->transposed) {
        return block / w->dims[1];
    }
    const int64_t group = block / w->dims[1] / (w->dims[0] / params->group);
    return group * w->dims[1] + block % w->dims[1];
}

static ln_status scale_weights(ln_node *conv, const affine *a) {
    float *weights = NULL;
    LN_TRY(own_constant(conv, 1, &weights));
    const ln_shape *w = &ln_node_constant(conv, 1)->shape;
    const int64_t taps = ln_shape_product(w, 2, w->rank);
    for (int64_t block = 0; block < w->dims[0] * w->dims[1]; ++block) {
        const float s = a->scale[channel_of(conv->params, w, block)];
        for (int64_t t = 0; t < taps; ++t) {
            weights[block * taps + t] *= s;
        }
    }
    return LN_OK;
}

static bool has_constant_weights(const ln_node *conv) {
    const ln_value *w = conv->n_inputs > 1 && conv->inputs[1] ? ln_node_constant(conv, 1) : NULL;
    const bool bias = conv->n_inputs > 2 && conv->inputs[2];
    const ln_value *b = bias ? ln_node_constant(conv, 2) : NULL;
    return w && w->dtype == LN_FLOAT && w->data && w->shape.rank >= 3 &&
           (!bias || (b && b->data && b->dtype == LN_FLOAT));
}

/* Where the constants go when an activation stands between. */
typedef enum pass { PASS_NOT, PASS_WEIGHTS, PASS_INSIDE } pass;

/* Clip's bounds that stand for none. */
static float bound(float value) {
    return fabsf(value) >= FLT_MAX ? copysignf(INFINITY, value) : value;
}

static pass pass_activation(ln_conv_params *params, const affine *a) {
    ln_activation_f32 *activation = &params->activation;
    const float s = a->scale[0];
    const float t = a->shift[0];
    if (!activation->present) {
        return PASS_WEIGHTS;
    }
    if (!a->uniform || !isfinite(s) || !isfinite(t) || s == 0.0F) {
        return PASS_NOT;
    }
    if (activation->kind == LN_UNARY_HARDSWISH) {
        *activation = (ln_activation_f32){true, LN_UNARY_HARDSWISH_SCALED, s, t};
        return PASS_INSIDE;
    }
    if (activation->kind == LN_UNARY_HARDSWISH_SCALED) {
        activation->alpha *= s;
        activation->beta = activation->beta * s + t;
        return PASS_INSIDE;
    }
    if (activation->kind != LN_UNARY_RELU && activation->kind != LN_UNARY_CLIP) {
        return PASS_NOT;
    }
    const bool relu = activation->kind == LN_UNARY_RELU;
    const float low = s * (relu ? 0.0F : bound(activation->alpha)) + t;
    const float high = s * (relu ? INFINITY : bound(activation->beta)) + t;
    *activation = (ln_activation_f32){true, LN_UNARY_CLIP, s > 0 ? low : high, s > 0 ? high : low};
    return PASS_WEIGHTS;
}

static ln_status fuse(ln_node *conv, ln_node *next, affine *buffers, int64_t channels, int *fired) {
    const ln_value *w = ln_node_constant(conv, 1);
    if (!find_affine(conv, next, channels, w->shape.rank, buffers)) {
        return LN_OK;
    }
    switch (pass_activation(conv->params, buffers)) {
    case PASS_NOT:
        return LN_OK;
    case PASS_INSIDE:
        ln_absorb(conv, next);
        ++*fired;
        return LN_OK;
    default:
        break;
    }
    LN_TRY(scale_weights(conv, buffers));
    LN_TRY(set_bias(conv, buffers, channels));
    ln_absorb(conv, next);
    ++*fired;
    return LN_OK;
}

static ln_status try_fuse(ln_readers *readers, ln_node *conv, int *fired) {
    ln_context *context = readers->model->context;
    const ln_conv_params *params = conv->params;
    ln_node *next = ln_only_reader(readers, conv);
    if (!next || !has_constant_weights(conv)) {
        return LN_OK;
    }
    const ln_shape *w = &ln_node_constant(conv, 1)->shape;
    const int64_t channels = params->transposed ? w->dims[1] * params->group : w->dims[0];
    if (params->group < 1 || channels < 1 || w->dims[0] % params->group != 0) {
        return LN_OK;
    }
    float *floats = ln_alloc(context, 2 * (size_t)channels * sizeof *floats, LN_MEMORY_SCRATCH);
    if (!floats) {
        return LN_OUT_OF_MEMORY;
    }
    affine buffers = {floats, floats + channels, false};
    const ln_status status = fuse(conv, next, &buffers, channels, fired);
    ln_free(context, floats);
    return status;
}

ln_status ln_rewrite_fuse_batch_norm(ln_graph *graph, int *fired) {
    ln_readers readers;
    LN_TRY(ln_readers_init(&readers, graph));
    ln_status status = LN_OK;
    for (int32_t i = 0; i < graph->n_nodes && status == LN_OK; ++i) {
        ln_node *node = graph->nodes[i];
        const bool conv =
            !node->removed && (ln_is(node, "Conv") || ln_is(node, "ConvTranspose")) && node->n_inputs <= 3;
        for (int before = -1; conv && status == LN_OK && before != *fired;) {
            before = *fired;
            status = try_fuse(&readers, node, fired);
        }
    }
    ln_readers_free(&readers);
    return status;
}
