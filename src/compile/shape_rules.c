/* The rules of shape inference, one for each operator that models are made of. Sizes that a rule does not know are fresh
 * symbols; where not even the rank is known it leaves the output alone.
 */
#include "compile/shape_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "compile/match.h"

ln_status ln_give_shape(const ln_node *node, int output, const ln_shape *shape) {
    if (output >= node->n_outputs || !node->outputs[output]) {
        return LN_OK;
    }
    ln_model *model = node->graph->model;
    ln_value_info *info = ln_info(model, node->outputs[output]);
    return info->shape ? LN_OK : ln_keep_sizes(model, &info->shape, shape->rank, shape->dims);
}

bool ln_shape_at(const ln_node *node, int input, ln_shape *shape) {
    return input < node->n_inputs && ln_known_shape(node->graph->model, node->inputs[input], shape);
}

int64_t ln_int_attribute(const ln_node *node, const char *name, int64_t otherwise) {
    const ln_attribute *attribute = ln_node_attribute(node, name);
    return attribute && attribute->type == LN_ATTRIBUTE_INT ? attribute->as.ints[0] : otherwise;
}

void ln_fresh_sizes(ln_model *model, ln_shape *shape, int from) {
    for (int i = from; i < shape->rank; ++i) {
        shape->dims[i] = ln_fresh_symbol(model);
    }
}

/* ---- Rules ---- */

static ln_status same(ln_node *node) {
    ln_shape shape;
    return ln_shape_at(node, 0, &shape) ? ln_give_shape(node, 0, &shape) : LN_OK;
}

static int64_t broadcast_size(ln_model *model, int64_t a, int64_t b) {
    if (a == b || b == 1) {
        return a;
    }
    if (a == 1 || !ln_is_symbol(b)) {
        return b;
    }
    return ln_is_symbol(a) ? ln_fresh_symbol(model) : a;
}

void ln_broadcast_sizes(ln_model *model, ln_shape *a, const ln_shape *b) {
    const ln_shape x = *a;
    const int rank = x.rank > b->rank ? x.rank : b->rank;
    a->rank = rank;
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - x.rank);
        const int ib = i - (rank - b->rank);
        a->dims[i] = broadcast_size(model, ia < 0 ? 1 : x.dims[ia], ib < 0 ? 1 : b->dims[ib]);
    }
}

static ln_status broadcast(ln_node *node) {
    ln_shape shape;
    ln_shape other;
    if (node->domain[0] == 0 && node->opset < 7) {
        return same(node); /* old versions broadcast towards the first input */
    }
    if (!ln_shape_at(node, 0, &shape)) {
        return LN_OK;
    }
    for (int i = 1; i < node->n_inputs; ++i) {
        if (!ln_shape_at(node, i, &other)) {
            return LN_OK;
        }
        ln_broadcast_sizes(node->graph->model, &shape, &other);
    }
    return ln_give_shape(node, 0, &shape);
}

/* Only the plain products, which exporters write; A and B of rank 2 and more. */
static ln_status matmul(ln_node *node) {
    ln_shape a;
    ln_shape b;
    if (node->domain[0] || !ln_shape_at(node, 0, &a) || !ln_shape_at(node, 1, &b) || a.rank < 2 ||
        b.rank < 2) {
        return LN_OK;
    }
    const int64_t rows = a.dims[a.rank - 1 - (ln_is(node, "Gemm") && !ln_int_attribute(node, "transA", 0))];
    const int64_t cols = b.dims[b.rank - 1 - (ln_is(node, "Gemm") && ln_int_attribute(node, "transB", 0))];
    const int64_t m = ln_is(node, "Gemm") ? rows : a.dims[a.rank - 2];
    a.rank -= 2;
    b.rank -= 2;
    ln_broadcast_sizes(node->graph->model, &a, &b);
    a.dims[a.rank++] = m;
    a.dims[a.rank++] = cols;
    return ln_give_shape(node, 0, &a);
}

static ln_status matmul_bias(ln_node *node) {
    ln_shape a;
    ln_shape b;
    if (!ln_shape_at(node, 0, &a) || !ln_shape_at(node, 1, &b) || a.rank < 2 || b.rank != 2) {
        return LN_OK;
    }
    a.dims[a.rank - 1] = b.dims[1];
    return ln_give_shape(node, 0, &a);
}

/* Attribute `index` of a list of integers. */
static int64_t listed(const ln_attribute *attribute, int index, int64_t otherwise) {
    const bool has = attribute && attribute->type == LN_ATTRIBUTE_INTS && index < attribute->count;
    return has ? attribute->as.ints[index] : otherwise;
}

/* Windows: sizes with explicit padding and without rounding up; other sizes are left open. */
static void window_sizes(const ln_node *node, const int64_t *kernel, ln_shape *shape) {
    const ln_attribute *strides = ln_node_attribute(node, "strides");
    const ln_attribute *dilations = ln_node_attribute(node, "dilations");
    const ln_attribute *pads = ln_node_attribute(node, "pads");
    const int spatial = shape->rank - 2;
    const ln_attribute *automatic = ln_node_attribute(node, "auto_pad");
    const bool placed = automatic && automatic->as.strings[0].length != strlen("NOTSET");
    const bool open = placed || ln_int_attribute(node, "ceil_mode", 0) != 0;
    for (int i = 0; i < spatial; ++i) {
        int64_t *size = &shape->dims[i + 2];
        const int64_t stride = listed(strides, i, 1);
        const int64_t reach = listed(dilations, i, 1) * (kernel[i] - 1);
        const int64_t padding = listed(pads, i, 0) + listed(pads, i + spatial, 0);
        if (open || stride < 1 || (ln_is_symbol(*size) && (stride != 1 || padding != reach))) {
            *size = ln_fresh_symbol(node->graph->model);
        } else if (!ln_is_symbol(*size)) {
            *size = (*size + padding - reach - 1) / stride + 1;
        }
    }
}

static ln_status conv(ln_node *node) {
    ln_shape x;
    ln_shape w;
    if (!ln_shape_at(node, 0, &x) || !ln_shape_at(node, 1, &w) || x.rank != w.rank || x.rank < 3) {
        return LN_OK;
    }
    bool fixed = true;
    for (int i = 2; i < w.rank; ++i) {
        fixed = fixed && !ln_is_symbol(w.dims[i]);
    }
    x.dims[1] = w.dims[0];
    if (fixed) {
        window_sizes(node, w.dims + 2, &x);
    } else {
        ln_fresh_sizes(node->graph->model, &x, 2);
    }
    return ln_give_shape(node, 0, &x);
}

static ln_status conv_transpose(ln_node *node) {
    ln_shape x;
    ln_shape w;
    if (!ln_shape_at(node, 0, &x) || !ln_shape_at(node, 1, &w) || x.rank != w.rank || x.rank < 3 ||
        ln_is_symbol(w.dims[1])) {
        return LN_OK;
    }
    x.dims[1] = w.dims[1] * ln_int_attribute(node, "group", 1);
    ln_fresh_sizes(node->graph->model, &x, 2);
    return ln_give_shape(node, 0, &x);
}

static ln_status pool(ln_node *node) {
    ln_shape x;
    const ln_attribute *kernel = ln_node_attribute(node, "kernel_shape");
    if (!kernel || !ln_shape_at(node, 0, &x) || kernel->count != x.rank - 2) {
        return LN_OK;
    }
    window_sizes(node, kernel->as.ints, &x);
    return ln_give_shape(node, 0, &x);
}

static ln_status global_pool(ln_node *node) {
    ln_shape x;
    if (!ln_shape_at(node, 0, &x)) {
        return LN_OK;
    }
    for (int i = 2; i < x.rank; ++i) {
        x.dims[i] = 1;
    }
    return ln_give_shape(node, 0, &x);
}

/* The rank stays; sizes, but for the first `attribute_or` ones, are open. */
static ln_status same_rank(ln_node *node) {
    ln_shape x;
    if (!ln_shape_at(node, 0, &x)) {
        return LN_OK;
    }
    ln_fresh_sizes(node->graph->model, &x, 0);
    return ln_give_shape(node, 0, &x);
}

static ln_status transpose(ln_node *node) {
    ln_shape x;
    const ln_attribute *perm = ln_node_attribute(node, "perm");
    if (!ln_shape_at(node, 0, &x) || (perm && perm->count != x.rank)) {
        return LN_OK;
    }
    const ln_shape from = x;
    for (int i = 0; i < x.rank; ++i) {
        const int64_t axis = perm ? perm->as.ints[i] : x.rank - 1 - i;
        if (axis < 0 || axis >= x.rank) {
            return LN_OK;
        }
        x.dims[i] = from.dims[axis];
    }
    return ln_give_shape(node, 0, &x);
}

static ln_status reduce(ln_node *node) {
    ln_shape x;
    uint32_t mask;
    const bool arg = strncmp(node->op_type, "Arg", 3) == 0;
    if (!ln_shape_at(node, 0, &x) || x.rank > LN_MAX_RANK - 1) {
        return LN_OK;
    }
    if (arg) {
        const int axis = ln_shape_axis(ln_int_attribute(node, "axis", 0), x.rank);
        mask = axis < 0 ? 0 : 1U << axis;
    } else if (!ln_known_axes(node, 1, x.rank, &mask) || ln_int_attribute(node, "noop_with_empty_axes", 0)) {
        /* With that attribute an empty list means none: only a list that is there and not empty is sure. */
        const ln_value *axes = node->n_inputs > 1 && node->inputs[1] ? ln_node_constant(node, 1) : NULL;
        if (!axes || ln_value_count(axes) == 0 || !ln_known_axes(node, 1, x.rank, &mask)) {
            return LN_OK;
        }
    }
    ln_shape y = {0};
    for (int i = 0; i < x.rank; ++i) {
        if (!(mask & (1U << i))) {
            y.dims[y.rank++] = x.dims[i];
        } else if (ln_int_attribute(node, "keepdims", 1)) {
            y.dims[y.rank++] = 1;
        }
    }
    return ln_give_shape(node, 0, &y);
}

static ln_status unsqueeze(ln_node *node) {
    ln_shape x;
    uint32_t mask;
    const ln_attribute *axes = ln_node_attribute(node, "axes");
    const ln_value *list = node->n_inputs > 1 && node->inputs[1] ? ln_node_constant(node, 1) : NULL;
    const int64_t added = axes ? axes->count : list ? ln_value_count(list) : 0;
    if (!ln_shape_at(node, 0, &x) || added < 1 || added + x.rank > LN_MAX_RANK ||
        !ln_known_axes(node, 1, x.rank + (int)added, &mask)) {
        return LN_OK;
    }
    ln_shape y = {.rank = x.rank + (int)added};
    for (int i = 0, from = 0; i < y.rank; ++i) {
        y.dims[i] = (mask & (1U << i)) || from >= x.rank ? 1 : x.dims[from++];
    }
    return ln_give_shape(node, 0, &y);
}

static ln_status squeeze(ln_node *node) {
    ln_shape x;
    uint32_t mask;
    const bool listed_axes = ln_node_attribute(node, "axes") || (node->n_inputs > 1 && node->inputs[1]);
    if (!listed_axes || !ln_shape_at(node, 0, &x) || !ln_known_axes(node, 1, x.rank, &mask)) {
        return LN_OK;
    }
    ln_shape y = {0};
    for (int i = 0; i < x.rank; ++i) {
        if (!(mask & (1U << i))) {
            y.dims[y.rank++] = x.dims[i];
        }
    }
    return ln_give_shape(node, 0, &y);
}

static ln_status flatten(ln_node *node) {
    ln_shape x;
    ln_shape y = {.rank = 2};
    ln_fresh_sizes(node->graph->model, &y, 0);
    const int64_t axis = ln_int_attribute(node, "axis", 1);
    if (axis == 1 && ln_shape_at(node, 0, &x) && x.rank >= 1) {
        y.dims[0] = x.dims[0];
        y.dims[1] = ln_left_over(node->graph->model, x, &y, 1);
    }
    return ln_give_shape(node, 0, &y);
}

static ln_status concat(ln_node *node) {
    ln_shape y;
    ln_shape x;
    if (!ln_shape_at(node, 0, &y)) {
        return LN_OK;
    }
    const int axis = ln_shape_axis(ln_int_attribute(node, "axis", 1), y.rank);
    for (int i = 1; i < node->n_inputs && axis >= 0; ++i) {
        if (!ln_shape_at(node, i, &x) || x.rank != y.rank) {
            ln_fresh_sizes(node->graph->model, &y, 0);
            break;
        }
        const bool open = ln_is_symbol(x.dims[axis]) || ln_is_symbol(y.dims[axis]);
        y.dims[axis] = open ? ln_fresh_symbol(node->graph->model) : x.dims[axis] + y.dims[axis];
    }
    return axis < 0 ? LN_OK : ln_give_shape(node, 0, &y);
}

static ln_status split(ln_node *node) {
    ln_shape x;
    int64_t sizes[LN_MAX_RANK];
    const ln_attribute *attribute = ln_node_attribute(node, "split");
    if (!ln_shape_at(node, 0, &x)) {
        return LN_OK;
    }
    const int axis = ln_shape_axis(ln_int_attribute(node, "axis", 0), x.rank);
    int count = attribute && attribute->count <= LN_MAX_RANK ? attribute->count : -1;
    if (count >= 0) {
        memcpy(sizes, attribute->as.ints, (size_t)count * sizeof *sizes);
    } else if (node->n_inputs > 1 && node->inputs[1]) {
        count = ln_known_ints(node->graph->model, node->inputs[1], sizes, LN_MAX_RANK);
    }
    for (int i = 0; i < node->n_outputs && axis >= 0; ++i) {
        x.dims[axis] = i < count && sizes[i] >= 0 ? sizes[i] : ln_fresh_symbol(node->graph->model);
        LN_TRY(ln_give_shape(node, i, &x));
    }
    return LN_OK;
}

static ln_status slice(ln_node *node) {
    ln_model *model = node->graph->model;
    ln_shape x;
    if (!ln_shape_at(node, 0, &x)) {
        return LN_OK;
    }
    int64_t axes[LN_MAX_RANK];
    int count = -1;
    const ln_attribute *attribute = ln_node_attribute(node, "axes");
    if (attribute && attribute->count <= LN_MAX_RANK) {
        count = attribute->count;
        memcpy(axes, attribute->as.ints, (size_t)count * sizeof *axes);
    } else if (node->n_inputs > 3 && node->inputs[3]) {
        count = ln_known_ints(model, node->inputs[3], axes, LN_MAX_RANK);
    }
    if (count < 0) {
        ln_fresh_sizes(model, &x, 0);
    }
    for (int i = 0; i < count; ++i) {
        const int axis = ln_shape_axis(axes[i], x.rank);
        if (axis < 0) {
            return LN_OK;
        }
        x.dims[axis] = ln_fresh_symbol(model);
    }
    return ln_give_shape(node, 0, &x);
}

static ln_status gather(ln_node *node) {
    ln_shape x;
    ln_shape indices;
    if (!ln_shape_at(node, 0, &x) || !ln_shape_at(node, 1, &indices) ||
        x.rank + indices.rank - 1 > LN_MAX_RANK) {
        return LN_OK;
    }
    const int axis = ln_shape_axis(ln_int_attribute(node, "axis", 0), x.rank);
    ln_shape y = {0};
    for (int i = 0; i < x.rank && axis >= 0; ++i) {
        for (int j = 0; i == axis && j < indices.rank; ++j) {
            y.dims[y.rank++] = indices.dims[j];
        }
        if (i != axis) {
            y.dims[y.rank++] = x.dims[i];
        }
    }
    return axis < 0 ? LN_OK : ln_give_shape(node, 0, &y);
}

static ln_status topk(ln_node *node) {
    ln_shape x;
    int64_t k;
    const int axis =
        ln_shape_at(node, 0, &x) ? ln_shape_axis(ln_int_attribute(node, "axis", -1), x.rank) : -1;
    if (axis < 0) {
        return LN_OK;
    }
    const bool known = node->n_inputs > 1 && ln_known_ints(node->graph->model, node->inputs[1], &k, 1) == 1;
    x.dims[axis] = known && k >= 0 ? k : ln_fresh_symbol(node->graph->model);
    LN_TRY(ln_give_shape(node, 0, &x));
    return ln_give_shape(node, 1, &x);
}

/* Batch and channels of the image, sizes of the grid. */
static ln_status grid_sample(ln_node *node) {
    ln_shape x;
    ln_shape grid;
    if (!ln_shape_at(node, 0, &x) || !ln_shape_at(node, 1, &grid) || x.rank != grid.rank || x.rank < 3) {
        return LN_OK;
    }
    memcpy(x.dims + 2, grid.dims + 1, (size_t)(x.rank - 2) * sizeof *x.dims);
    return ln_give_shape(node, 0, &x);
}

typedef struct rule {
    const char *name;
    ln_shape_rule *infer;
} rule;

/* Operators whose output 0 is shaped as input 0, each between blanks. */
static const char shape_keeping[] =
    " Abs BatchNormalization BiasGelu Cast Ceil Chain Clip Cos CumSum Dropout Elu Erf Exp FastGelu Floor Gelu"
    " GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization IsNaN LRN LayerNormalization"
    " LeakyRelu Log LogSoftmax Mish Neg Not PRelu QuickGelu RMSNormalization Reciprocal Relu Round"
    " ScatterElements ScatterND Selu Sigmoid Sign SimplifiedLayerNormalization Sin SkipLayerNormalization"
    " SkipSimplifiedLayerNormalization Softmax Softplus Softsign Sqrt Swish Tanh Trilu"
    " ";

/* Sorted by name. */
static const rule rules[] = {
    {"Add", broadcast},
    {"And", broadcast},
    {"ArgMax", reduce},
    {"ArgMin", reduce},
    {"AveragePool", pool},
    {"Concat", concat},
    {"ConstantOfShape", ln_shape_rule_constant_of_shape},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"Div", broadcast},
    {"Equal", broadcast},
    {"Expand", ln_shape_rule_expand},
    {"Flatten", flatten},
    {"Gather", gather},
    {"GatherElements", ln_shape_rule_like_indices},
    {"GatherND", ln_shape_rule_gather_nd},
    {"Gemm", matmul},
    {"GlobalAveragePool", global_pool},
    {"GlobalMaxPool", global_pool},
    {"Greater", broadcast},
    {"GreaterOrEqual", broadcast},
    {"GridSample", grid_sample},
    {"Less", broadcast},
    {"LessOrEqual", broadcast},
    {"MatMul", matmul},
    {"MatMulBias", matmul_bias},
    {"Max", broadcast},
    {"MaxPool", pool},
    {"Min", broadcast},
    {"Mul", broadcast},
    {"Or", broadcast},
    {"Pad", same_rank},
    {"PickRows", matmul_bias},
    {"Pow", broadcast},
    {"Range", ln_shape_rule_range},
    {"ReduceL2", reduce},
    {"ReduceMax", reduce},
    {"ReduceMean", reduce},
    {"ReduceMin", reduce},
    {"ReduceSum", reduce},
    {"Reshape", ln_shape_rule_reshape},
    {"Resize", same_rank},
    {"Shape", ln_shape_rule_shape},
    {"Slice", slice},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Sub", broadcast},
    {"Sum", broadcast},
    {"Tile", same_rank},
    {"TopK", topk},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
    {"Upsample", same_rank},
    {"Where", broadcast},
};

static int by_name(const void *key, const void *row) {
    return strcmp(key, ((const rule *)row)->name);
}

static bool keeps_shape(const char *op_type) {
    char word[64];
    return ln_format(word, sizeof word, " %s ", op_type) < sizeof word && strstr(shape_keeping, word) != NULL;
}

ln_shape_rule *ln_shape_rule_of(const char *op_type) {
    if (keeps_shape(op_type)) {
        return same;
    }
    const rule *found = bsearch(op_type, rules, sizeof rules / sizeof rules[0], sizeof rules[0], by_name);
    return found ? found->infer : NULL;
}
