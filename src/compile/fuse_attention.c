/* Attention written out in matrix products becomes one node (ops/attend.h), which never stores its scores whole.
 *
 *   Q ──[scale]──[Transpose]──┐
 *                          MatMul──[scale]──[Add]──[Where]──Softmax──[Where 0]──MatMul──[Transpose]── Y
 *   K ──[scale]── Transpose ──┘                                                   │
 *   V ─────────────────────────────────────────────────────────────[Transpose]────┘
 *
 * All in brackets may be missing; Add and Where come in either order, scales are numbers that multiply or divide, known at load or
 * computed by the model from shapes. What exporters write after the softmax is taken in too: weights that are not numbers
 * become 0, and so do those of rejected keys. The transpositions between [batch, row, head, dim] and [batch, head, row, dim]
 * become strides. A match wants that nobody else reads what lies between, and that all is of at most four axes.
 */
#include <string.h>

#include "compile/match.h"
#include "compile/shapes.h"
#include "ops/attend.h"
#include "ops/matmul.h"

enum { AXES = 4, STEPS = 8 };

/* An attention as found so far, bottom up. */
typedef struct found {
    const ln_model *model;
    ln_value_id inputs[LN_ATTEND_INPUTS];
    int n_scales;
    int n_repeated;     /* operands whose heads are repeated: keys and values, or none */
    bool keeps_repeats; /* repeated heads are read as they are */
    ln_attend_params params;
} found;

/* The node that makes a value in this graph, when nobody but one node reads it. */
static ln_node *only_for_us(const found *f, const ln_graph *graph, ln_value_id id) {
    const ln_value_info *info = ln_info(f->model, id);
    ln_node *producer = id ? info->producer : NULL;
    const bool ours = producer && !producer->removed && producer->graph == graph && info->uses == 1 &&
                      !info->is_graph_output && producer->n_outputs == 1;
    return ours ? producer : NULL;
}

/* ---- Numbers ---- */

/* Whether a value is surely one number of at most one axis: a constant, or computed from such and from sizes. */
static bool is_number(const ln_model *model, ln_value_id id) {
    ln_shape shape;
    return id && ln_known_dtype(model, id) == LN_FLOAT && ln_known_shape(model, id, &shape) &&
           shape.rank <= 1 && ln_shape_count(&shape) == 1;
}

/* Takes in a Mul or Div by a number; *other is what it scales. */
static bool take_scale(found *f, const ln_node *node, ln_value_id *other) {
    const bool divides = ln_is(node, "Div");
    if ((!divides && !ln_is(node, "Mul")) || node->opset < 7) {
        return false;
    }
    const int number = is_number(f->model, node->inputs[1]) ? 1 : 0;
    if ((divides && number == 0) || !is_number(f->model, node->inputs[number]) ||
        is_number(f->model, node->inputs[1 - number])) {
        return false;
    }
    float value = 0;
    *other = node->inputs[1 - number];
    if (ln_constant_number(node, number, &value)) {
        f->params.scale = divides ? f->params.scale / value : f->params.scale * value;
        return true;
    }
    if (f->n_scales == LN_ATTEND_INPUTS - LN_ATTEND_SCALES) {
        return false;
    }
    f->params.divides |= divides ? 1U << f->n_scales : 0;
    f->inputs[LN_ATTEND_SCALES + f->n_scales++] = node->inputs[number];
    return true;
}

/* ---- Operands ---- */

/* Permutations that lead to an operand as the node reads it: by rows, by heads, of three axes, of two. */
typedef const char *form_list[4];
static const form_list straight = {"0213", "0123", "012", "01"};
static const form_list transposed = {"0231", "0132", "021", "10"};

/* The form that `axes` is, or -1. */
static int form_of(const int64_t *axes, int rank, const char *const *forms) {
    for (int form = 0; form < 4; ++form) {
        bool same = (int)strlen(forms[form]) == rank;
        for (int i = 0; same && i < rank; ++i) {
            same = axes[i] == forms[form][i] - '0';
        }
        if (same) {
            return form;
        }
    }
    return -1;
}

/* Goes on through a Transpose: axis i of the operand is axis axes[i] of what it transposes. */
static bool take_transpose(const ln_node *node, int64_t *axes, int rank) {
    const ln_attribute *perm = ln_is(node, "Transpose") ? ln_node_attribute(node, "perm") : NULL;
    if (!perm || perm->type != LN_ATTRIBUTE_INTS || perm->count != rank) {
        return false;
    }
    for (int i = 0; i < rank; ++i) {
        axes[i] = perm->as.ints[axes[i]];
    }
    return true;
}

/* Goes on through a transposition of the last two of four axes that joins the first two meanwhile; 0 when it is none. */
static ln_value_id take_joined_transpose(const found *f, const ln_node *node, int64_t *axes) {
    const ln_node *turn = ln_is(node, "Reshape") ? ln_producer(node, 0) : NULL;
    const ln_node *join = turn && ln_is(turn, "Transpose") ? ln_producer(turn, 0) : NULL;
    int64_t perm[AXES] = {0, 1, 2};
    ln_shape in;
    ln_shape joined;
    ln_shape out;
    if (!ln_is(join, "Reshape") || !take_transpose(turn, perm, 3) || form_of(perm, 3, transposed) != 2 ||
        !ln_known_shape(f->model, join->inputs[0], &in) || in.rank != AXES ||
        !ln_known_shape(f->model, join->outputs[0], &joined) ||
        !ln_known_shape(f->model, node->outputs[0], &out) || out.rank != AXES) {
        return 0;
    }
    const bool same = joined.dims[1] == in.dims[2] && joined.dims[2] == in.dims[3] &&
                      out.dims[0] == in.dims[0] && out.dims[1] == in.dims[1] && out.dims[2] == in.dims[3] &&
                      out.dims[3] == in.dims[2];
    const int64_t swapped[AXES] = {0, 1, 3, 2};
    for (int i = 0; i < AXES; ++i) {
        axes[i] = swapped[axes[i]];
    }
    return same ? join->inputs[0] : 0;
}

/* Goes on through heads that are repeated: [b,h,1,t,d] expanded and joined to [b,h*repeats,t,d]. 0 when it is none. */
static ln_value_id take_repeats(found *f, const ln_node *node) {
    const ln_node *expand = ln_is(node, "Reshape") ? ln_producer(node, 0) : NULL;
    const ln_node *unsqueeze = expand && ln_is(expand, "Expand") ? ln_producer(expand, 0) : NULL;
    ln_shape in;
    ln_shape out;
    ln_shape wide;
    if (!unsqueeze || !(ln_is(unsqueeze, "Unsqueeze") || ln_is(unsqueeze, "Reshape")) ||
        !ln_known_shape(f->model, unsqueeze->inputs[0], &in) || in.rank != AXES ||
        !ln_known_shape(f->model, expand->outputs[0], &wide) || wide.rank != AXES + 1 ||
        !ln_known_shape(f->model, node->outputs[0], &out) || out.rank != AXES) {
        return 0;
    }
    const int64_t repeats = wide.dims[2];
    const bool fits = in.dims[0] == wide.dims[0] && in.dims[0] == out.dims[0] && in.dims[1] == wide.dims[1] &&
                      in.dims[2] == wide.dims[3] && in.dims[2] == out.dims[2] && in.dims[3] == wide.dims[4] &&
                      in.dims[3] == out.dims[3] && repeats > 1 && in.dims[1] > 1 &&
                      out.dims[1] == in.dims[1] * repeats;
    ln_shape narrow = {0};
    const bool between = fits && ln_known_shape(f->model, unsqueeze->outputs[0], &narrow) &&
                         narrow.rank == AXES + 1 && narrow.dims[0] == in.dims[0] &&
                         narrow.dims[1] == in.dims[1] && narrow.dims[2] == 1 &&
                         narrow.dims[3] == in.dims[2] && narrow.dims[4] == in.dims[3];
    if (!between || (f->params.repeats > 1 && f->params.repeats != repeats)) {
        return 0;
    }
    f->params.repeats = repeats;
    ++f->n_repeated;
    return unsqueeze->inputs[0];
}

/* Follows an operand up through scales and transpositions: as far as only we read them, and further only when it has no form that
 * the node can read before that. */
static bool take_operand(found *f, const ln_graph *graph, int input, ln_value_id id,
                         const char *const *forms) {
    const int rank = ln_known_rank(f->model, id);
    int64_t axes[AXES] = {0, 1, 2, 3};
    found best = *f;
    best.inputs[input] = 0;
    for (int step = 0; rank >= 2 && rank <= AXES && step < STEPS; ++step) {
        const int form = form_of(axes, rank, forms);
        if (form >= 0) {
            best = *f;
            best.inputs[input] = id;
            best.params.by_rows |= form == 0 ? 1U << (unsigned)input : 0;
        }
        const ln_node *node = ln_info(f->model, id)->producer;
        if (!node || node->removed || node->graph != graph ||
            (best.inputs[input] && !only_for_us(f, graph, id))) {
            break;
        }
        const ln_value_id joined = rank == AXES && form < 0 ? take_joined_transpose(f, node, axes) : 0;
        const bool shared = input != LN_ATTEND_Q && form == 1 && !f->keeps_repeats;
        const ln_value_id repeated = shared ? take_repeats(f, node) : 0;
        if (joined || repeated) {
            id = joined ? joined : repeated;
        } else if (take_transpose(node, axes, rank)) {
            id = node->inputs[0];
        } else if (input == LN_ATTEND_V || !take_scale(f, node, &id)) {
            break;
        }
    }
    *f = best;
    return f->inputs[input] != 0;
}

/* ---- Scores ---- */

static bool is_product(const ln_node *node) {
    return ln_is(node, "MatMul") && !((const ln_matmul_params *)node->params)->activation.present &&
           ln_known_dtype(node->graph->model, node->outputs[0]) == LN_FLOAT;
}

/* A mask of at most four axes. */
static bool take_mask(found *f, int input, ln_value_id id) {
    const int rank = id ? ln_known_rank(f->model, id) : -1;
    f->inputs[input] = id;
    return rank >= 0 && rank <= AXES;
}

/* The number that a Where gives on one side, of at most one axis; *side is the other side. */
static bool choice_of(const found *f, const ln_node *node, float *number, int *side) {
    for (int input = 1; ln_is(node, "Where") && input <= 2; ++input) {
        if (node->inputs[input] && is_number(f->model, node->inputs[input]) &&
            ln_constant_number(node, input, number)) {
            *side = 3 - input;
            return true;
        }
    }
    return false;
}

static bool take_choice(found *f, const ln_node *node, ln_value_id *scores) {
    int side = 0;
    if (f->inputs[LN_ATTEND_CHOICE] || !choice_of(f, node, &f->params.fill, &side)) {
        return false;
    }
    *scores = node->inputs[side];
    f->params.rejects = side == 2;
    f->params.chooses_first = f->inputs[LN_ATTEND_ADDEND] != 0;
    return take_mask(f, LN_ATTEND_CHOICE, node->inputs[0]);
}

/* Follows the scores up to the product. */
static bool take_scores(found *f, const ln_graph *graph, ln_value_id id) {
    bool scaled = false;
    for (int step = 0; step < STEPS; ++step) {
        const ln_node *node = only_for_us(f, graph, id);
        if (!node) {
            return false;
        }
        if (is_product(node)) {
            return take_operand(f, graph, LN_ATTEND_Q, node->inputs[0], straight) &&
                   take_operand(f, graph, LN_ATTEND_K, node->inputs[1], transposed);
        }
        if (take_scale(f, node, &id)) {
            scaled = true;
            continue;
        }
        if (scaled) {
            return false;
        }
        if (ln_is(node, "Add") && node->opset >= 7 && !f->inputs[LN_ATTEND_ADDEND]) {
            for (int i = 0; i < 2; ++i) { /* no second Add is taken in, so this nests once */
                found with = *f;
                if (take_mask(&with, LN_ATTEND_ADDEND, node->inputs[1 - i]) &&
                    take_scores(&with, graph, node->inputs[i])) {
                    *f = with;
                    return true;
                }
            }
            return false;
        }
        if (!take_choice(f, node, &id)) {
            return false;
        }
    }
    return false;
}

/* ---- Weights ---- */

static bool is_last_axis(const found *f, const ln_node *softmax) {
    const ln_attribute *attribute = ln_node_attribute(softmax, "axis");
    const int64_t axis = attribute ? attribute->as.ints[0] : softmax->opset >= 13 ? -1 : 1;
    return axis == -1 || axis == ln_known_rank(f->model, softmax->inputs[0]) - 1;
}

/* Where(IsNaN(x), 0, x): the producer of x, which nobody else reads. */
static ln_node *take_nan_guard(found *f, const ln_graph *graph, const ln_node *where) {
    const ln_node *test = only_for_us(f, graph, where->inputs[0]);
    const ln_value_id id = where->inputs[2];
    const ln_value_info *info = ln_info(f->model, id);
    if (!ln_is(test, "IsNaN") || test->inputs[0] != id || info->uses != 2 || info->is_graph_output) {
        return NULL;
    }
    f->params.clears_nan = true;
    return info->producer && info->producer->graph == graph && !info->producer->removed ? info->producer
                                                                                        : NULL;
}

/* The Softmax behind the weights; *cleared is the choice whose rejected keys get 0 after it. */
static ln_node *take_weights(found *f, const ln_graph *graph, ln_value_id id, ln_value_id *cleared,
                             bool *rejects) {
    ln_node *node = only_for_us(f, graph, id);
    float zero = 1;
    int side = 0;
    if (node && choice_of(f, node, &zero, &side) && zero == 0) {
        ln_node *guarded = side == 2 ? take_nan_guard(f, graph, node) : NULL;
        if (!guarded) {
            *cleared = node->inputs[0];
            *rejects = side == 2;
        }
        node = guarded ? guarded : only_for_us(f, graph, node->inputs[side]);
    }
    return ln_is(node, "Softmax") && is_last_axis(f, node) ? node : NULL;
}

/* ---- The whole ---- */

static bool find_attention(found *f, const ln_node *last) {
    ln_value_id cleared = 0;
    bool rejects = false;
    const ln_node *softmax = take_weights(f, last->graph, last->inputs[0], &cleared, &rejects);
    if (!softmax || !take_scores(f, last->graph, softmax->inputs[0])) {
        return false;
    }
    f->params.clears_rejected = cleared != 0;
    const bool fits = !cleared || (cleared == f->inputs[LN_ATTEND_CHOICE] && rejects == f->params.rejects);
    return fits && take_operand(f, last->graph, LN_ATTEND_V, last->inputs[1], straight);
}

static ln_status make_attend(const ln_readers *readers, const found *f, ln_node *node) {
    int64_t axes[AXES] = {0, 1, 2, 3};
    ln_node *next = ln_only_reader(readers, node);
    const bool by_rows = next && take_transpose(next, axes, AXES) && form_of(axes, AXES, straight) == 0;
    if (by_rows) {
        ln_absorb(node, next);
    }
    LN_TRY(ln_become(node, "linnet", "Attend", 1, LN_ATTEND_SCALES + f->n_scales, f->inputs));
    ln_attend_params *params = node->params;
    *params = f->params;
    params->by_rows |= by_rows ? 1U << LN_ATTEND_Y : 0;
    return LN_OK;
}

ln_status ln_rewrite_fuse_attention(ln_graph *graph, int *fired) {
    ln_readers readers;
    ln_status status = ln_readers_init(&readers, graph);
    LN_TRY(status);
    for (int32_t i = 0; i < graph->n_nodes && status == LN_OK; ++i) {
        ln_node *node = graph->nodes[i];
        const found none = {.model = graph->model, .params = {.scale = 1, .repeats = 1}};
        found f = none;
        if (node->removed || !is_product(node) || !find_attention(&f, node)) {
            continue;
        }
        if (f.n_repeated == 1) { /* of one operand only */
            f = none;
            f.keeps_repeats = true;
        }
        if (!f.keeps_repeats || find_attention(&f, node)) {
            status = make_attend(&readers, &f, node);
            ++*fired;
        }
    }
    ln_readers_free(&readers);
    return status;
}
