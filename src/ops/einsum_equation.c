/* Reads Einsum's equation: terms separated by commas, an ellipsis in each at most, and perhaps "->" and the output's term. */
#include "ops/einsum_equation.h"

#include <string.h>

static int letter_of(char c) {
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= 'A' && c <= 'Z' ? c - 'A' : -1;
}

static ln_status parse_term(ln_build *build, const char **text, ln_einsum_term *term) {
    bool dots = false;
    for (; **text != '\0' && **text != ',' && **text != '-'; (*text)++) {
        const char c = **text;
        const int letter = letter_of(c);
        if (c == ' ' || c == '\t') {
            continue;
        }
        if (term->count > LN_MAX_RANK) {
            return ln_build_fail(build, LN_LIMIT_EXCEEDED, "a term of the equation has more than %d labels",
                                 LN_MAX_RANK);
        }
        if (c == '.' && strncmp(*text, "...", 3) == 0 && !dots) {
            *text += 2;
            dots = true;
            term->labels[term->count++] = LN_DOTS;
        } else if (letter >= 0) {
            term->labels[term->count++] = (int8_t)letter;
        } else {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the equation has an unexpected '%c'", c);
        }
    }
    return LN_OK;
}

/* Without "->" the output has the ellipsis and every letter that occurs once, in order. */
static void imply_output(ln_einsum_params *params) {
    int uses[LN_LETTERS] = {0};
    bool dots = false;
    for (int i = 0; i < params->n_inputs; i++) {
        for (int k = 0; k < params->inputs[i].count; k++) {
            const int label = params->inputs[i].labels[k];
            dots = dots || label == LN_DOTS;
            if (label >= 0) {
                uses[label]++;
            }
        }
    }
    if (dots) {
        params->output.labels[params->output.count++] = LN_DOTS;
    }
    for (int letter = 0; letter < LN_LETTERS; letter++) {
        if (uses[letter] == 1 && params->output.count <= LN_MAX_RANK) {
            params->output.labels[params->output.count++] = (int8_t)letter;
        }
    }
}

ln_status ln_build_einsum(ln_build *build) {
    ln_einsum_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    ln_attr_required(build, "equation");
    const char *text = ln_attr_string(build, "equation", "");
    LN_TRY(ln_build_status(build));
    params->n_inputs = build->node->n_inputs;
    params->inputs = ln_arena_array(build->arena, (size_t)params->n_inputs, sizeof(*params->inputs));
    if (params->inputs == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (int i = 0; i < params->n_inputs; i++) {
        LN_TRY(parse_term(build, &text, &params->inputs[i]));
        const bool last = i == params->n_inputs - 1;
        if (last == (*text == ',')) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "the equation must have %d terms, one for each input", params->n_inputs);
        }
        text += last ? 0 : *text == ',';
    }
    params->explicit_output = strncmp(text, "->", 2) == 0;
    if (params->explicit_output) {
        text += 2;
        LN_TRY(parse_term(build, &text, &params->output));
    } else {
        imply_output(params);
    }
    if (*text != '\0') {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the equation goes on after its output: '%s'",
                             text);
    }
    return LN_OK;
}

ln_status ln_einsum_expand(ln_op *op, const ln_einsum_term *term, int rank, int index, int8_t *labels) {
    int letters = 0;
    for (int k = 0; k < term->count; k++) {
        letters += term->labels[k] >= 0;
    }
    const int rest = rank - letters;
    LN_OP_CHECK(op, rest == 0 || (rest > 0 && letters < term->count), INVALID_SHAPE,
                "input %d has rank %d, its term in the equation has %d labels", index, rank, letters);
    int at = 0;
    for (int k = 0; k < term->count; k++) {
        if (term->labels[k] >= 0) {
            labels[at++] = term->labels[k];
        }
        for (int i = 0; i < rest && term->labels[k] == LN_DOTS; i++) {
            labels[at++] = (int8_t)(LN_ELLIPSIS + LN_MAX_RANK - rest + i);
        }
    }
    return LN_OK;
}
