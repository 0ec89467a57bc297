/* Operators on strings: StringConcat, StringNormalizer, StringSplit, RegexFullMatch.
 *
 * Strings are slices: splitting and dropping share the characters of the input, joining and changing case write new ones
 * into the arena of the run. Case changes map one character to one by Unicode's simple mappings; `locale` is not
 * looked at, since simple mappings are the same in all but two languages.
 */
#include <string.h>

#include "ops/letter_case.h"
#include "ops/move.h"
#include "ops/regex.h"

/* StringConcat ------------------------------------------------------------------------------------------ */

typedef struct join_work {
    ln_op *op;
    bool failed;
} join_work;

static void join_run(void *argument, int64_t output, int64_t n, const int64_t *offsets) {
    join_work *work = argument;
    ln_op *op = work->op;
    const ln_value *inputs[2] = {ln_in(op, 0), ln_in(op, 1)};
    ln_string *to = (ln_string *)ln_out(op, 0)->data + output;
    const ln_broadcast *walk = LN_LOCAL(op, const ln_broadcast);
    for (int64_t i = 0; i < n && !work->failed; i++) {
        const ln_string *parts[2];
        for (int k = 0; k < 2; k++) {
            parts[k] = (const ln_string *)inputs[k]->data + offsets[k] + i * walk->strides[k][walk->rank - 1];
        }
        const size_t length = parts[0]->length + parts[1]->length;
        char *text = ln_arena_alloc(op->texts, length + 1);
        if (!text) {
            work->failed = true;
            return;
        }
        size_t at = 0;
        for (int k = 0; k < 2; k++) {
            if (parts[k]->length > 0) {
                memcpy(text + at, parts[k]->data, parts[k]->length);
            }
            at += parts[k]->length;
        }
        to[i] = (ln_string){text, length};
    }
}

static ln_status infer_join(ln_op *op) {
    (void)LN_LOCAL(op, ln_broadcast);
    return ln_infer_broadcast(op);
}

static ln_status run_join(ln_op *op) {
    const ln_value *output = ln_out(op, 0);
    if (!output || ln_value_count(output) == 0) {
        return LN_OK;
    }
    ln_broadcast *walk = LN_LOCAL(op, ln_broadcast);
    const ln_shape *shapes[2] = {&ln_in(op, 0)->shape, &ln_in(op, 1)->shape};
    ln_broadcast_init(walk, &output->shape, 2, shapes);
    join_work work = {op, false};
    ln_broadcast_each(walk, 0, walk->count, join_run, &work);
    return work.failed ? LN_OUT_OF_MEMORY : LN_OK;
}

/* StringNormalizer --------------------------------------------------------------------------------------- */

enum case_change { CASE_NONE, CASE_LOWER, CASE_UPPER };

typedef struct normal_params {
    enum case_change change;
    bool case_sensitive;
    const ln_string *stops; /* in lower case unless case_sensitive */
    int n_stops;
} normal_params;

static ln_status change_case(ln_arena *arena, const ln_string *from, enum case_change change, ln_string *to) {
    char *text = ln_arena_alloc(arena, from->length * 2 + 1); /* a mapping may need a byte more */
    if (!text) {
        return LN_OUT_OF_MEMORY;
    }
    size_t length = 0;
    const char *at = from->data;
    const char *end = at + from->length;
    while (at < end) {
        const char *start = at;
        const uint32_t c = ln_utf8_next(&at, end);
        const uint32_t mapped = change == CASE_LOWER ? ln_to_lower(c) : ln_to_upper(c);
        char bytes[4];
        const size_t n = ln_utf8_put(mapped, bytes);
        if (mapped == c || n > 2 * (size_t)(at - start)) { /* as it was, bytes that are not UTF-8 too */
            memcpy(text + length, start, (size_t)(at - start));
            length += (size_t)(at - start);
        } else {
            memcpy(text + length, bytes, n);
            length += n;
        }
    }
    *to = (ln_string){text, length};
    return LN_OK;
}

static ln_status build_normal(ln_build *build) {
    static const char *const changes[] = {"NONE", "LOWER", "UPPER", NULL};
    normal_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    params->change = (enum case_change)ln_attr_choice(build, "case_change_action", changes, CASE_NONE);
    params->case_sensitive = ln_attr_bool(build, "is_case_sensitive", false);
    params->stops = ln_attr_strings(build, "stopwords", &params->n_stops);
    if (params->case_sensitive || params->n_stops == 0) {
        return ln_build_status(build);
    }
    ln_string *lower = ln_arena_array(build->arena, (size_t)params->n_stops, sizeof(*lower));
    for (int i = 0; i < params->n_stops; i++) {
        if (!lower || change_case(build->arena, &params->stops[i], CASE_LOWER, &lower[i]) != LN_OK) {
            build->status = LN_OUT_OF_MEMORY;
            return build->status;
        }
    }
    params->stops = lower;
    return ln_build_status(build);
}

static ln_status infer_strings(ln_op *op) {
    if (ln_out(op, 0)) {
        ln_out(op, 0)->kind = LN_KIND_TENSOR;
        ln_out(op, 0)->dtype = LN_STRING;
    }
    return LN_OK;
}

static ln_status is_stop(ln_op *op, const ln_string *word, bool *stop) {
    const normal_params *params = op->params;
    ln_string seen = *word;
    *stop = false;
    if (params->n_stops > 0 && !params->case_sensitive) {
        LN_TRY(change_case(op->texts, word, CASE_LOWER, &seen));
    }
    for (int i = 0; i < params->n_stops && !*stop; i++) {
        *stop = ln_string_compare(&seen, &params->stops[i]) == 0;
    }
    return LN_OK;
}

/* Counts the words that stay, and writes them when there is an output. */
static ln_status keep_words(ln_op *op, ln_string *to, int64_t *kept) {
    const normal_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const int64_t count = ln_value_count(input);
    *kept = 0;
    for (int64_t i = 0; i < count; i++) {
        const ln_string *word = (const ln_string *)input->data + i;
        bool stop;
        LN_TRY(is_stop(op, word, &stop));
        if (stop) {
            continue;
        }
        if (to) {
            to[*kept] = *word;
            if (params->change != CASE_NONE) {
                LN_TRY(change_case(op->texts, word, params->change, &to[*kept]));
            }
        }
        ++*kept;
    }
    return LN_OK;
}

static ln_status run_normal(ln_op *op) {
    const ln_shape *input = &ln_in(op, 0)->shape;
    LN_OP_CHECK(op, input->rank == 1 || (input->rank == 2 && input->dims[0] == 1), INVALID_SHAPE,
                "the input has rank %d, expected [C] or [1,C]", (int)input->rank);
    int64_t kept;
    LN_TRY(keep_words(op, NULL, &kept));
    ln_shape shape = *input;
    shape.dims[shape.rank - 1] = kept > 0 ? kept : 1; /* nothing left is one empty string */
    LN_TRY(ln_op_make(op, 0, LN_STRING, &shape));
    return ln_out(op, 0) ? keep_words(op, ln_out(op, 0)->data, &kept) : LN_OK;
}

/* StringSplit -------------------------------------------------------------------------------------------- */

typedef struct split_params {
    ln_string delimiter; /* empty: runs of white space */
    int64_t most;        /* splits, -1 for any number */
} split_params;

static ln_status build_split(ln_build *build) {
    split_params *params = ln_build_params(build, sizeof(*params));
    if (params) {
        params->delimiter.data = ln_attr_string(build, "delimiter", "");
        params->delimiter.length = strlen(params->delimiter.data);
        params->most = ln_has_attr(build, "maxsplit") ? ln_attr_int(build, "maxsplit", -1) : -1;
    }
    return ln_build_status(build);
}

static ln_status infer_split(ln_op *op) {
    LN_TRY(infer_strings(op));
    if (ln_out(op, 1)) {
        ln_out(op, 1)->kind = LN_KIND_TENSOR;
        ln_out(op, 1)->dtype = LN_INT64;
    }
    return LN_OK;
}

/* White space as Python's str.split has it. */
static bool is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

/* Moves past characters that are white space, or that are not. */
static const char *skip(const char *at, const char *end, bool space) {
    while (at < end) {
        const char *next = at;
        if (is_space(ln_utf8_next(&next, end)) != space) {
            break;
        }
        at = next;
    }
    return at;
}

/* Writes the parts of a text to `to` when it is not NULL; returns how many there are. */
static int64_t split_spaces(const split_params *params, const ln_string *text, ln_string *to) {
    int64_t count = 0;
    const char *end = text->data + text->length;
    const char *at = skip(text->data, end, true);
    while (at < end) {
        const bool last = params->most >= 0 && count == params->most;
        const char *stop = last ? end : skip(at, end, false);
        if (to) {
            to[count] = (ln_string){at, (size_t)(stop - at)};
        }
        count++;
        at = skip(stop, end, true);
    }
    return count;
}

static int64_t split_text(const split_params *params, const ln_string *text, ln_string *to) {
    const size_t n = params->delimiter.length;
    if (n == 0) {
        return split_spaces(params, text, to);
    }
    int64_t count = 0;
    size_t start = 0;
    for (size_t at = 0; at + n <= text->length && (params->most < 0 || count < params->most);) {
        if (memcmp(text->data + at, params->delimiter.data, n) != 0) {
            at++;
            continue;
        }
        if (to) {
            to[count] = (ln_string){text->data + start, at - start};
        }
        count++;
        at += n;
        start = at;
    }
    if (to) {
        to[count] = (ln_string){text->length > 0 ? text->data + start : text->data, text->length - start};
    }
    return count + 1;
}

static ln_status run_split(ln_op *op) {
    const split_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const ln_string *texts = input->data;
    const int64_t count = ln_value_count(input);
    int64_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t parts = split_text(params, &texts[i], NULL);
        most = parts > most ? parts : most;
    }
    ln_shape shape = input->shape;
    LN_OP_CHECK(op, shape.rank < LN_MAX_RANK, LIMIT_EXCEEDED, "the result has too many axes");
    LN_TRY(ln_op_make(op, 1, LN_INT64, &shape));
    shape.dims[shape.rank++] = most;
    LN_TRY(ln_op_make(op, 0, LN_STRING, &shape));
    for (int64_t i = 0; i < count; i++) {
        ln_string *to = ln_out(op, 0) ? (ln_string *)ln_out(op, 0)->data + i * most : NULL;
        const int64_t parts = split_text(params, &texts[i], to);
        if (ln_out(op, 1)) {
            ((int64_t *)ln_out(op, 1)->data)[i] = parts;
        }
    }
    return LN_OK;
}

/* RegexFullMatch ----------------------------------------------------------------------------------------- */

typedef struct regex_params {
    const ln_regex *regex;
} regex_params;

static ln_status build_regex(ln_build *build) {
    regex_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    ln_attr_required(build, "pattern");
    const char *pattern = ln_attr_string(build, "pattern", "");
    LN_TRY(ln_build_status(build));
    const char *reason;
    params->regex = ln_regex_compile(build->arena, (ln_string){pattern, strlen(pattern)}, &reason);
    if (!params->regex && reason) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "pattern '%s': %s", pattern, reason);
    }
    build->status = params->regex ? build->status : LN_OUT_OF_MEMORY;
    return ln_build_status(build);
}

static ln_status infer_regex(ln_op *op) {
    const regex_params *params = op->params;
    op->task_scratch_bytes = ln_regex_scratch_bytes(params->regex);
    return ln_op_shape(op, 0, LN_BOOL, &ln_in(op, 0)->shape);
}

enum { REGEX_GRAIN = 256 };

static void regex_task(ln_op *op, int64_t index, void *scratch) {
    const regex_params *params = op->params;
    const ln_string *texts = ln_in(op, 0)->data;
    const int64_t count = ln_value_count(ln_in(op, 0));
    int64_t begin, end;
    ln_op_range(count, ln_op_tasks(count, REGEX_GRAIN), index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        ((uint8_t *)ln_out(op, 0)->data)[i] = ln_regex_full_match(params->regex, texts[i], scratch);
    }
}

static ln_status run_regex(ln_op *op) {
    const int64_t count = ln_value_count(ln_in(op, 0));
    return ln_out(op, 0) && count > 0 ? ln_op_grid(op, regex_task, ln_op_tasks(count, REGEX_GRAIN)) : LN_OK;
}

/* Rows --------------------------------------------------------------------------------------------------- */

#define ROW(name, since, signature, build, infer, run, flags)                                                \
    {name, "", since, LN_OPEN, signature, {LN_BIT(LN_STRING)}, build, infer, run, NULL, flags, NULL}

static const ln_op_row rows[] = {
    ROW("StringConcat", 20, "ss>s", ln_build_nothing, infer_join, run_join, 0),
    ROW("StringNormalizer", 10, "s>s", build_normal, infer_strings, run_normal, LN_OP_DYNAMIC),
    ROW("StringSplit", 20, "s>s?l?", build_split, infer_split, run_split, LN_OP_DYNAMIC),
    ROW("RegexFullMatch", 20, "s>b", build_regex, infer_regex, run_regex, 0),
};

LN_FAMILY_TABLE(strings, rows);
