/* com.microsoft's Tokenizer: strings into words, by what stands between them or by what they look like.
 *
 * Separators are regular expressions, applied one after the other to what the one before left; a token expression finds the
 * tokens itself; one empty separator makes every character a token. Tokens share the characters of the input. The
 * result is as wide as the longest row, and the rest is padding; with `mark`, each row begins with U+0002 and ends with U+0003.
 */
#include "ops/op.h"
#include "ops/regex.h"

enum { MAX_SEPARATORS = 100 };

typedef struct tokenizer_params {
    bool mark, characters;
    int64_t shortest; /* characters */
    ln_string padding;
    const ln_regex *expression; /* of tokens, or NULL */
    int n_separators;
    const ln_regex **separators;
    size_t scratch_bytes;
} tokenizer_params;

static const ln_regex *compile(ln_build *build, tokenizer_params *params, ln_string pattern) {
    const char *reason;
    const ln_regex *regex = ln_regex_compile(build->arena, pattern, &reason);
    if (!regex && reason) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "pattern '%.*s': %s", (int)pattern.length, pattern.data,
                      reason);
    } else if (!regex) {
        build->status = LN_OUT_OF_MEMORY;
    } else if (ln_regex_scratch_bytes(regex) > params->scratch_bytes) {
        params->scratch_bytes = ln_regex_scratch_bytes(regex);
    }
    return regex;
}

static ln_status build_tokenizer(ln_build *build) {
    tokenizer_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    params->mark = ln_attr_bool(build, "mark", false);
    params->shortest = ln_attr_int(build, "mincharnum", 1);
    const ln_attribute *padding = ln_node_attribute(build->node, "pad_value");
    if (padding && padding->type == LN_ATTRIBUTE_STRING) {
        params->padding = padding->as.strings[0];
    }
    int count;
    const ln_string *separators = ln_attr_strings(build, "separators", &count);
    const ln_attribute *expression = ln_node_attribute(build->node, "tokenexp");
    if ((count > 0) == (expression != NULL) || count > MAX_SEPARATORS || params->shortest < 1) {
        return ln_build_fail(
            build, LN_INVALID_ATTRIBUTE,
            "exactly one of separators and tokenexp must be given, and mincharnum be positive");
    }
    if (expression && expression->type == LN_ATTRIBUTE_STRING) {
        params->expression = compile(build, params, expression->as.strings[0]);
        return ln_build_status(build);
    }
    params->characters = count == 1 && separators[0].length == 0;
    params->n_separators = params->characters ? 0 : count;
    params->separators = ln_arena_array(build->arena, (size_t)count + 1, sizeof(*params->separators));
    if (!params->separators) {
        build->status = LN_OUT_OF_MEMORY;
        return build->status;
    }
    for (int i = 0; i < params->n_separators; i++) {
        params->separators[i] = compile(build, params, separators[i]);
    }
    return ln_build_status(build);
}

static ln_status infer_tokenizer(ln_op *op) {
    const tokenizer_params *params = op->params;
    op->scratch_bytes = params->scratch_bytes;
    if (ln_out(op, 0)) {
        ln_out(op, 0)->kind = LN_KIND_TENSOR;
        ln_out(op, 0)->dtype = LN_STRING;
    }
    return LN_OK;
}

/* Where the tokens of a row go: they are counted, and written when `to` is not NULL. */
typedef struct row {
    const tokenizer_params *params;
    void *scratch;
    ln_string *to;
    int64_t count;
} row;

static void add_token(row *r, ln_string token) {
    if (r->to) {
        r->to[r->count] = token;
    }
    r->count++;
}

/* Adds a token unless it is too short. */
static void add_long_token(row *r, const char *data, size_t length) {
    int64_t characters = 0;
    for (const char *at = data; at < data + length && characters < r->params->shortest;) {
        ln_utf8_next(&at, data + length);
        characters++;
    }
    if (length > 0 && characters >= r->params->shortest) {
        add_token(r, (ln_string){data, length});
    }
}

static size_t next_character(ln_string text, size_t at) {
    const char *next = text.data + at;
    ln_utf8_next(&next, text.data + text.length);
    return (size_t)(next - text.data);
}

/* Splits by separator number `level` and those after it; the recursion is as deep as there are separators. */
static void split(row *r, ln_string text, int level) {
    if (level == r->params->n_separators) {
        add_long_token(r, text.data, text.length);
        return;
    }
    size_t done = 0;
    size_t begin = 0;
    size_t end;
    while (begin <= text.length &&
           ln_regex_search(r->params->separators[level], text, &begin, &end, r->scratch)) {
        if (end == begin) { /* nothing separates nothing */
            begin = begin < text.length ? next_character(text, begin) : begin + 1;
            continue;
        }
        split(r, (ln_string){text.data + done, begin - done}, level + 1);
        done = begin = end;
    }
    split(r, (ln_string){text.data + done, text.length - done}, level + 1);
}

static void find_tokens(row *r, ln_string text) {
    size_t begin = 0;
    size_t end;
    while (begin < text.length && ln_regex_search(r->params->expression, text, &begin, &end, r->scratch)) {
        add_long_token(r, text.data + begin, end - begin);
        begin = end > begin || begin == text.length ? end : next_character(text, begin);
    }
}

/* Tokens of one string; returns how many. */
static int64_t tokenize(const tokenizer_params *params, ln_string text, void *scratch, ln_string *to) {
    row r = {params, scratch, to, 0};
    if (params->mark) {
        add_token(&r, (ln_string){"\2", 1});
    }
    if (params->expression) {
        find_tokens(&r, text);
    } else if (params->characters) {
        for (size_t at = 0; at < text.length;) {
            const size_t next = next_character(text, at);
            add_long_token(&r, text.data + at, next - at);
            at = next;
        }
    } else {
        split(&r, text, 0);
    }
    if (params->mark) {
        add_token(&r, (ln_string){"\3", 1});
    }
    return r.count;
}

static ln_status run_tokenizer(ln_op *op) {
    const tokenizer_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_string *texts = input->data;
    const int64_t count = ln_value_count(input);
    int64_t most = 0;
    LN_OP_CHECK(op, input->shape.rank == 1 || input->shape.rank == 2, INVALID_SHAPE,
                "the input has rank %d, expected [C] or [N,C]", (int)input->shape.rank);
    for (int64_t i = 0; i < count; i++) {
        const int64_t tokens = tokenize(params, texts[i], op->scratch, NULL);
        most = tokens > most ? tokens : most;
    }
    ln_shape shape = input->shape;
    shape.dims[shape.rank++] = most;
    LN_TRY(ln_op_make(op, 0, LN_STRING, &shape));
    for (int64_t i = 0; i < count && ln_out(op, 0); i++) {
        ln_string *to = (ln_string *)ln_out(op, 0)->data + i * most;
        for (int64_t t = tokenize(params, texts[i], op->scratch, to); t < most; t++) {
            to[t] = params->padding;
        }
    }
    return LN_OK;
}

static const ln_op_row rows[] = {
    {"Tokenizer",
     "com.microsoft",
     1,
     LN_OPEN,
     "s>s",
     {LN_BIT(LN_STRING)},
     build_tokenizer,
     infer_tokenizer,
     run_tokenizer,
     NULL,
     LN_OP_DYNAMIC,
     NULL},
};

LN_FAMILY_TABLE(tokenizer, rows);
