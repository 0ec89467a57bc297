/* Activations as the matrix kernels take them. */
#include "ops/activation.h"

#include <float.h>
#include <string.h>

/* How an operator or an attribute value maps to a row of the unary kernels. Attributes named NULL do not exist. */
typedef struct mapping {
    const char *name;
    enum ln_unary kind;
    const char *alpha_name, *beta_name;
    float alpha, beta; /* defaults */
} mapping;

static const mapping mappings[] = {
    {"Relu", LN_UNARY_RELU, NULL, NULL, 0, 0},
    {"LeakyRelu", LN_UNARY_LEAKY_RELU, "alpha", NULL, 0.01F, 0},
    {"Sigmoid", LN_UNARY_SIGMOID, NULL, NULL, 0, 0},
    {"Tanh", LN_UNARY_TANH, NULL, NULL, 0, 0},
    {"HardSigmoid", LN_UNARY_HARDSIGMOID, "alpha", "beta", 0.2F, 0.5F},
    {"HardSwish", LN_UNARY_HARDSWISH, NULL, NULL, 0, 0},
    {"Elu", LN_UNARY_ELU, "alpha", NULL, 1.0F, 0},
    {"Softplus", LN_UNARY_SOFTPLUS, NULL, NULL, 0, 0},
    {"Mish", LN_UNARY_MISH, NULL, NULL, 0, 0},
    {"Swish", LN_UNARY_GELU_QUICK, "alpha", NULL, 1.0F, 0},
    {"QuickGelu", LN_UNARY_GELU_QUICK, "alpha", NULL, 1.702F, 0},
    {"Gelu", LN_UNARY_GELU, NULL, NULL, 0, 0},
};

static const mapping *find(const char *name) {
    for (size_t i = 0; i < sizeof mappings / sizeof mappings[0]; ++i) {
        if (strcmp(mappings[i].name, name) == 0) {
            return &mappings[i];
        }
    }
    return NULL;
}

ln_status ln_build_activation(ln_build *build, ln_activation_f32 *activation) {
    const char *name = ln_attr_string(build, "activation", "");
    if (name[0] == 0 || build->status != LN_OK) {
        return ln_build_status(build);
    }
    int count = 0;
    const float *given = ln_attr_floats(build, "activation_params", &count);
    if (strcmp(name, "Clip") == 0) {
        *activation = (ln_activation_f32){true, LN_UNARY_CLIP, count > 0 ? given[0] : -FLT_MAX,
                                          count > 1 ? given[1] : FLT_MAX};
        return ln_build_status(build);
    }
    const mapping *row = find(name);
    if (!row) {
        return ln_build_fail(build, LN_UNSUPPORTED, "activation '%s' is not known", name);
    }
    const float alpha = ln_attr_float(build, "activation_alpha", row->alpha);
    const float beta = ln_attr_float(build, "activation_beta", row->beta);
    *activation =
        (ln_activation_f32){true, row->kind, count > 0 ? given[0] : alpha, count > 1 ? given[1] : beta};
    return ln_build_status(build);
}

static float attribute_or(const ln_node *node, const char *name, float otherwise) {
    const ln_attribute *attribute = name ? ln_node_attribute(node, name) : NULL;
    return attribute && attribute->type == LN_ATTRIBUTE_FLOAT ? attribute->as.floats[0] : otherwise;
}

/* A bound of Clip: attribute before version 11, input after; false when it is not constant. */
static bool clip_bound(const ln_node *node, int index, const char *name, float otherwise, float *bound) {
    *bound = attribute_or(node, name, otherwise);
    if (index >= node->n_inputs || !node->inputs[index]) {
        return true;
    }
    const ln_value *constant = ln_node_constant(node, index);
    if (!constant || constant->dtype != LN_FLOAT || !constant->data || ln_value_count(constant) != 1) {
        return false;
    }
    *bound = *(const float *)constant->data;
    return true;
}

bool ln_activation_of(const ln_node *node, ln_activation_f32 *activation) {
    if (node->domain[0] != 0 && strcmp(node->op_type, "QuickGelu") != 0) {
        return false;
    }
    if (strcmp(node->op_type, "Clip") == 0) {
        float low = 0;
        float high = 0;
        if (!clip_bound(node, 1, "min", -FLT_MAX, &low) || !clip_bound(node, 2, "max", FLT_MAX, &high)) {
            return false;
        }
        *activation = (ln_activation_f32){true, LN_UNARY_CLIP, low, high};
        return true;
    }
    const mapping *row = find(node->op_type);
    if (!row) {
        return false;
    }
    *activation = (ln_activation_f32){true, row->kind, attribute_or(node, row->alpha_name, row->alpha),
                                      attribute_or(node, row->beta_name, row->beta)};
    const ln_attribute *form = row->kind == LN_UNARY_GELU ? ln_node_attribute(node, "approximate") : NULL;
    if (form &&
        form->as.strings[0].length == strlen("tanh")) { /* "none" is as long: its first letter tells */
        activation->kind = form->as.strings[0].data[0] == 't' ? LN_UNARY_GELU_TANH : LN_UNARY_GELU;
    }
    return true;
}
