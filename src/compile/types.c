/* The matcher of signatures. A signature is read term by term; a type variable takes the type of the first
 * term that has one, and every later term with the same letter must agree. */
#include "compile/types.h"

#include <string.h>

/* One term of a signature: where it stands, what it stands for and how often. */
typedef struct term {
    ln_kind kind;  /* LN_KIND_NONE: anything */
    char symbol;   /* letter of a variable or of a fixed type, '.' for any type */
    char quantity; /* 0: exactly one, '?', '*' or '+' */
} term;

static const char *read_term(const char *at, term *out) {
    *out = (term){LN_KIND_TENSOR, *at, 0};
    if (*at == '[' || *at == '<') {
        out->kind = *at == '[' ? LN_KIND_SEQUENCE : LN_KIND_OPTIONAL;
        out->symbol = at[1];
        at += 2;
    } else if (*at == '{') {
        out->kind = LN_KIND_NONE;
        out->symbol = '.';
        ++at;
    } else if (*at == '.') {
        out->kind = LN_KIND_NONE;
    }
    ++at;
    if (*at == '?' || *at == '*' || *at == '+') {
        out->quantity = *at++;
    }
    return at;
}

static ln_dtype fixed_type(char symbol) {
    switch (symbol) {
    case 'f':
        return LN_FLOAT;
    case 'd':
        return LN_DOUBLE;
    case 'h':
        return LN_FLOAT16;
    case 'l':
        return LN_INT64;
    case 'i':
        return LN_INT32;
    case 'u':
        return LN_UINT8;
    case 'b':
        return LN_BOOL;
    case 's':
        return LN_STRING;
    default:
        return LN_UNDEFINED;
    }
}

static int variable_index(char symbol) {
    return symbol >= 'A' && symbol <= 'C' ? symbol - 'A' : -1;
}

static const char *kind_name(ln_kind kind) {
    static const char *const names[] = {"nothing", "a tensor",    "a sequence",
                                        "a map",   "an optional", "a sparse tensor"};
    return names[kind];
}

/* "float16, float32, double" of a set. */
static void set_text(ln_dtype_set set, char *text, size_t bytes) {
    size_t length = 0;
    text[0] = 0;
    for (int dtype = 1; dtype < LN_DTYPE_COUNT; ++dtype) {
        if (set & LN_BIT(dtype)) {
            length += ln_format(text + length, bytes - length, "%s%s", length ? ", " : "",
                                ln_dtype_name((ln_dtype)dtype));
        }
    }
}

static ln_status check_input(ln_context *context, const ln_node *node, int index, const term *want,
                             ln_typed have, ln_dtype *bound) {
    if (have.kind == LN_KIND_NONE || want->kind == LN_KIND_NONE) {
        return LN_OK;
    }
    /* An optional input may be handed over as the value it holds, and the other way round. */
    const bool wrapped = want->kind == LN_KIND_OPTIONAL || have.kind == LN_KIND_OPTIONAL;
    LN_CHECK(context, wrapped || have.kind == want->kind, INVALID_TYPE, "input %d is %s, expected %s", index,
             kind_name(have.kind), kind_name(want->kind));
    if (have.dtype == LN_UNDEFINED || want->symbol == '.') {
        return LN_OK;
    }
    const int variable = variable_index(want->symbol);
    if (variable < 0) {
        const ln_dtype fixed = fixed_type(want->symbol);
        LN_CHECK(context, have.dtype == fixed, INVALID_TYPE, "input %d has type %s, expected %s", index,
                 ln_dtype_name(have.dtype), ln_dtype_name(fixed));
        return LN_OK;
    }
    const ln_dtype_set set = node->row->types[variable];
    if (!(set & LN_BIT(have.dtype))) {
        char text[256];
        set_text(set, text, sizeof text);
        return ln_fail(context, LN_INVALID_TYPE, "input %d has type %s, expected one of %s", index,
                       ln_dtype_name(have.dtype), text);
    }
    LN_CHECK(context, bound[variable] == LN_UNDEFINED || bound[variable] == have.dtype, INVALID_TYPE,
             "input %d has type %s, but an input of the same type before it has %s", index,
             ln_dtype_name(have.dtype), ln_dtype_name(bound[variable]));
    bound[variable] = have.dtype;
    return LN_OK;
}

static ln_status check_inputs(ln_context *context, const ln_node *node, const ln_typed *inputs,
                              const char **at, ln_dtype *bound) {
    int index = 0;
    while (**at && **at != '>') {
        term want;
        *at = read_term(*at, &want);
        const bool variadic = want.quantity == '*' || want.quantity == '+';
        const int first = index;
        do {
            const bool present = index < node->n_inputs && inputs[index].kind != LN_KIND_NONE;
            /* Only a term that says so may be absent, and no gap may stand among the inputs of a variadic one. */
            const bool gap = variadic && index < node->n_inputs;
            const bool needed = want.quantity == 0 || gap || (want.quantity == '+' && index == first);
            LN_CHECK(context, present || !needed, INVALID_GRAPH, "required input %d is missing", index);
            if (present) {
                LN_TRY(check_input(context, node, index, &want, inputs[index], bound));
            }
            ++index;
        } while (variadic && index < node->n_inputs);
    }
    LN_CHECK(context, index >= node->n_inputs, INVALID_GRAPH, "has %d inputs, the operator takes at most %d",
             (int)node->n_inputs, index);
    return LN_OK;
}

ln_status ln_types_check(ln_context *context, const ln_node *node, const ln_typed *inputs,
                         ln_typed *outputs) {
    ln_dtype bound[3] = {LN_UNDEFINED, LN_UNDEFINED, LN_UNDEFINED};
    const char *at = node->row->signature;
    LN_CHECK(context, node->n_outputs > 0, INVALID_GRAPH, "has no outputs");
    LN_TRY(check_inputs(context, node, inputs, &at, bound));
    term want = {LN_KIND_NONE, '.', 0};
    at += *at == '>';
    for (int index = 0; index < node->n_outputs; ++index) {
        if (*at && want.quantity != '*' && want.quantity != '+') {
            at = read_term(at, &want);
        } else if (!*at && want.quantity != '*' && want.quantity != '+') {
            return ln_fail(context, LN_INVALID_GRAPH, "has %d outputs, the operator gives at most %d",
                           (int)node->n_outputs, index);
        }
        const int variable = variable_index(want.symbol);
        ln_dtype dtype = variable >= 0 ? bound[variable] : fixed_type(want.symbol);
        if (dtype == LN_UNDEFINED) {
            dtype = node->output_dtype;
        }
        outputs[index] = (ln_typed){want.kind, dtype};
    }
    return LN_OK;
}
