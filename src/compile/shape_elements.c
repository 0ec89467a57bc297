/* Elements of small integer tensors in shape inference: the Shape, Gather, Concat and counting that exporters write between a
 * shape and the operator that takes it.
 */
#include <string.h>

#include "compile/match.h"
#include "compile/shape_rules.h"

static int64_t combine(const char *op, int64_t a, int64_t b) {
    const bool numbers = !ln_is_symbol(a) && !ln_is_symbol(b);
    const bool small = a > -INT32_MAX && a < INT32_MAX && b > -INT32_MAX && b < INT32_MAX;
    const bool size_a = ln_is_symbol(a) && a != LN_UNKNOWN_ELEMENT;
    const bool size_b = ln_is_symbol(b) && b != LN_UNKNOWN_ELEMENT;
    if (*op == 'E' && ((size_a && !ln_is_symbol(b) && b < 0) || (size_b && !ln_is_symbol(a) && a < 0))) {
        return 0; /* no size is negative */
    }
    if (b == 1 && (*op == 'M' || *op == 'D')) {
        return a;
    }
    if (a == 1 && *op == 'M') {
        return b;
    }
    if (!numbers || !small) {
        return LN_UNKNOWN_ELEMENT;
    }
    switch (*op) {
    case 'E':
        return a == b;
    case 'A':
        return a + b;
    case 'S':
        return a - b;
    case 'M':
        return a * b;
    default:
        return b > 0 && a >= 0 ? a / b : LN_UNKNOWN_ELEMENT;
    }
}

static int arithmetic(const ln_node *node, const int64_t *a, int n, int64_t *out) {
    int64_t b[LN_MAX_RANK];
    const int m =
        node->n_inputs > 1 ? ln_known_ints(node->graph->model, node->inputs[1], b, LN_MAX_RANK) : -1;
    const int count = n > m ? n : m;
    if (m < 1 || n < 1 || (n != count && n != 1) || (m != count && m != 1)) {
        return -1;
    }
    for (int i = 0; i < count; ++i) {
        out[i] = combine(node->op_type, a[n == 1 ? 0 : i], b[m == 1 ? 0 : i]);
    }
    return count;
}

static int gathered(const ln_node *node, const int64_t *a, int n, int64_t *out) {
    int64_t at[LN_MAX_RANK];
    const int count = ln_known_ints(node->graph->model, node->inputs[1], at, LN_MAX_RANK);
    for (int i = 0; i < count; ++i) {
        if (ln_is_symbol(at[i]) || at[i] >= n || at[i] < -n) {
            return -1;
        }
        out[i] = a[at[i] < 0 ? at[i] + n : at[i]];
    }
    return count;
}

static int sliced(const ln_node *node, const int64_t *a, int n, int64_t *out) {
    int64_t bounds[3] = {0, 0, 1};
    static const char *const names[] = {"starts", "ends"};
    for (int i = 0; i < 3; ++i) {
        const int input = i < 2 ? i + 1 : 4;
        const ln_attribute *attribute = i < 2 ? ln_node_attribute(node, names[i]) : NULL;
        if (attribute && attribute->count == 1) {
            bounds[i] = attribute->as.ints[0];
        } else if ((i < 2 || (node->n_inputs > 4 && node->inputs[4])) &&
                   (input >= node->n_inputs ||
                    ln_known_ints(node->graph->model, node->inputs[input], &bounds[i], 1) != 1)) {
            return -1;
        }
        if (i == 0 && input < node->n_inputs && ln_node_constant(node, input) && ln_is_symbol(bounds[0])) {
            bounds[0] = 0; /* the least number there is: from the first on */
        }
        if (ln_is_symbol(bounds[i])) {
            return -1;
        }
    }
    int64_t begin = bounds[0] < 0 ? bounds[0] + n : bounds[0];
    int64_t end = bounds[1] < 0 ? bounds[1] + n : bounds[1];
    begin = begin < 0 ? 0 : begin;
    end = end > n ? n : end;
    int count = 0;
    for (int64_t i = begin; i < end && bounds[2] == 1; ++i) {
        out[count++] = a[i];
    }
    return bounds[2] == 1 ? count : -1;
}

static int joined(const ln_node *node, int64_t *out) {
    int count = 0;
    for (int i = 0; i < node->n_inputs; ++i) {
        const int n = ln_known_ints(node->graph->model, node->inputs[i], out + count, LN_MAX_RANK - count);
        if (n < 0) {
            return -1;
        }
        count += n;
    }
    return count;
}

/* Elements of ConstantOfShape: of int64, a few of them. */
static int filled(const ln_node *node, int64_t *out) {
    const ln_attribute *attribute = ln_node_attribute(node, "value");
    ln_shape shape;
    if (!attribute || attribute->type != LN_ATTRIBUTE_TENSOR || attribute->as.tensors->dtype != LN_INT64 ||
        !attribute->as.tensors->data || !ln_known_shape(node->graph->model, node->outputs[0], &shape) ||
        shape.rank != 1 || ln_is_symbol(shape.dims[0]) || shape.dims[0] > LN_MAX_RANK) {
        return -1;
    }
    for (int i = 0; i < shape.dims[0]; ++i) {
        out[i] = *(const int64_t *)attribute->as.tensors->data;
    }
    return (int)shape.dims[0];
}

/* Elements of a Where over lists of one length. */
static int chosen(const ln_node *node, const int64_t *condition, int n, int64_t *out) {
    int64_t b[LN_MAX_RANK];
    const ln_model *model = node->graph->model;
    if (ln_known_ints(model, node->inputs[1], out, LN_MAX_RANK) != n ||
        ln_known_ints(model, node->inputs[2], b, LN_MAX_RANK) != n) {
        return -1;
    }
    for (int i = 0; i < n; ++i) {
        out[i] = ln_is_symbol(condition[i]) ? LN_UNKNOWN_ELEMENT : condition[i] ? out[i] : b[i];
    }
    return n;
}

ln_status ln_infer_elements(ln_node *node) {
    static const char *const passing[] = {"Unsqueeze", "Squeeze", "Cast", "Identity", "Reshape"};
    static const char *const counting[] = {"Add", "Sub", "Mul", "Div", "Equal"};
    int64_t a[LN_MAX_RANK];
    int64_t out[LN_MAX_RANK];
    ln_model *model = node->graph->model;
    ln_value_info *info = ln_info(model, node->outputs[0]);
    const ln_dtype dtype = ln_known_dtype(model, node->outputs[0]);
    if ((dtype != LN_INT64 && dtype != LN_INT32 && dtype != LN_BOOL) || info->elements || !info->shape ||
        info->shape->count > 1) {
        return LN_OK;
    }
    const int n = node->n_inputs > 0 ? ln_known_ints(model, node->inputs[0], a, LN_MAX_RANK) : -1;
    int count = -1;
    if (ln_is(node, "Concat")) {
        count = joined(node, out);
    } else if (n >= 0 && ln_is(node, "Gather")) {
        count = gathered(node, a, n, out);
    } else if (n >= 0 && ln_is(node, "Slice")) {
        count = sliced(node, a, n, out);
    } else if (n >= 0 && ln_is(node, "Where")) {
        count = chosen(node, a, n, out);
    } else if (ln_is(node, "ConstantOfShape")) {
        count = filled(node, out);
    }
    for (size_t i = 0; n >= 0 && i < sizeof passing / sizeof passing[0]; ++i) {
        if (ln_is(node, passing[i])) {
            memcpy(out, a, (size_t)n * sizeof *a);
            count = n;
        }
    }
    for (size_t i = 0; n >= 0 && i < sizeof counting / sizeof counting[0]; ++i) {
        count = ln_is(node, counting[i]) ? arithmetic(node, a, n, out) : count;
    }
    return count < 0 ? LN_OK : ln_keep_sizes(model, &info->elements, count, out);
}
