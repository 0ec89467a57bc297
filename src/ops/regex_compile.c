/* From the text of a regular expression to its program. See regex.h.
 *
 * The parser is recursive in the nesting of groups, which is limited, and builds a tree in the arena. Counted repetition
 * compiles its operand several times, under a limit on the size of the program.
 */
#include <string.h>

#include "ops/regex_program.h"

enum {
    MAX_DEPTH = 100,
    MAX_REPEAT = 1000,
    MAX_PROGRAM = 20000,
    MAX_RANGES = 4096,
    LAST_CHARACTER = 0x10FFFF
};

/* Tree --------------------------------------------------------------------------------------------------- */

typedef enum node_kind {
    NODE_EMPTY,
    NODE_SET,
    NODE_ASSERT,
    NODE_SEQUENCE,  /* first, then its siblings */
    NODE_ALTERNATE, /* first, or one of its siblings */
    NODE_REPEAT,    /* first, min to max times; max -1 for no end */
} node_kind;

typedef struct node node;
struct node {
    node_kind kind;
    ln_regex_assertion assertion;
    ln_regex_set set;
    int min, max;
    node *first, *sibling;
};

typedef struct flags {
    bool fold, multi_line, dot_all;
} flags;

typedef struct parser {
    ln_arena *arena;
    const char *at, *end;
    const char *reason; /* of the first error */
    flags flags;
    int depth;
    ln_regex *regex;
} parser;

static void fail(parser *p, const char *reason) {
    p->reason = p->reason ? p->reason : reason;
    p->at = p->end;
}

static node *new_node(parser *p, node_kind kind) {
    node *made = ln_arena_alloc(p->arena, sizeof(*made));
    if (!made) {
        fail(p, "memory ran out");
        static node spare; /* never used: the error ends everything */
        return &spare;
    }
    made->kind = kind;
    return made;
}

static void add_range(parser *p, uint32_t low, uint32_t high) {
    if (p->regex->n_ranges == MAX_RANGES) {
        fail(p, "the pattern has too many character ranges");
        return;
    }
    p->regex->ranges[p->regex->n_ranges++] = (ln_regex_range){low, high};
}

static bool accept(parser *p, const char *text) {
    const size_t n = strlen(text);
    if ((size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0) {
        p->at += n;
        return true;
    }
    return false;
}

/* Classes ------------------------------------------------------------------------------------------------ */

/* Names, and the ASCII ranges they stand for: sorted pairs. */
static const char *const posix_names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                          "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
static const char *const posix_ranges[] = {"09AZaz", "AZaz", "\1\177",   "\t\t  ", "\1\037\177\177",
                                           "09",     "!~",   "az",       " ~",     "!/:@[`{~",
                                           "\t\r  ", "AZ",   "09AZ__az", "09AFaf"};

/* Adds ranges, or all that lies between them. */
static void add_class(parser *p, const char *ranges, bool negated) {
    uint32_t next = 0;
    for (; ranges[0]; ranges += 2) {
        const uint32_t low = (unsigned char)ranges[0];
        const uint32_t high = (unsigned char)ranges[1];
        if (!negated) {
            add_range(p, low, high);
        } else if (low > next) {
            add_range(p, next, low - 1);
        }
        next = high + 1;
    }
    if (negated) {
        add_range(p, next, LAST_CHARACTER);
    }
}

/* The ranges that \d, \w or \s stands for (lower-cased letter); NULL for other letters. Sorted, for the negation. */
static const char *perl_class(char letter) {
    switch (letter | 0x20) {
    case 'd':
        return "09";
    case 'w':
        return "09AZ__az";
    case 's':
        return "\t\n\f\r  ";
    default:
        return NULL;
    }
}

static uint32_t read_digits(parser *p, int base, int most) {
    uint32_t value = 0;
    for (int i = 0; i < most && p->at < p->end; i++) {
        const char c = *p->at;
        const int digit = c >= '0' && c <= '9'                     ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                   : 99;
        if (digit >= base) {
            break;
        }
        value = value * (uint32_t)base + (uint32_t)digit;
        p->at++;
    }
    return value;
}

/* A character behind a backslash. */
static uint32_t read_escape(parser *p) {
    if (p->at == p->end) {
        fail(p, "the pattern ends in a backslash");
        return 0;
    }
    static const char from[] = "aftnrv";
    static const char to[] = "\a\f\t\n\r\v";
    const char c = *p->at;
    const char *named = memchr(from, c, sizeof(from) - 1);
    if (named) {
        p->at++;
        return (uint32_t)to[named - from];
    }
    if (c == 'x') {
        p->at++;
        if (accept(p, "{")) {
            const uint32_t value = read_digits(p, 16, 6);
            if (!accept(p, "}") || value > LAST_CHARACTER) {
                fail(p, "a \\x{...} escape is not valid");
            }
            return value;
        }
        return read_digits(p, 16, 2);
    }
    if (c >= '0' && c <= '7') {
        if (c != '0' && (p->end - p->at < 2 || p->at[1] < '0' || p->at[1] > '7')) {
            fail(p, "back-references are not possible");
            return 0;
        }
        return read_digits(p, 8, 3);
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '8' && c <= '9')) {
        fail(p, "an escape is not known or not supported");
        return 0;
    }
    return ln_utf8_next(&p->at, p->end);
}

static node *set_node(parser *p, int first, bool negated) {
    node *made = new_node(p, NODE_SET);
    made->set = (ln_regex_set){first, p->regex->n_ranges - first, negated, p->flags.fold};
    return made;
}

static node *one_character(parser *p, uint32_t character) {
    const int first = p->regex->n_ranges;
    add_range(p, character, character);
    return set_node(p, first, false);
}

/* [:name:] inside brackets. */
static bool parse_posix(parser *p) {
    if (!accept(p, "[:")) {
        return false;
    }
    const bool negated = accept(p, "^");
    for (size_t i = 0; i < sizeof(posix_names) / sizeof(posix_names[0]); i++) {
        const char *start = p->at;
        if (accept(p, posix_names[i]) && accept(p, ":]")) {
            add_class(p, posix_ranges[i], negated);
            return true;
        }
        p->at = start;
    }
    fail(p, "a [:name:] class is not known");
    return true;
}

/* One character of a bracket expression, or a class: then true. */
static bool parse_member(parser *p, uint32_t *character) {
    if (*p->at != '\\') {
        *character = ln_utf8_next(&p->at, p->end);
        return false;
    }
    p->at++;
    const char *ranges = p->at < p->end ? perl_class(*p->at) : NULL;
    if (ranges) {
        add_class(p, ranges, *p->at < 'a');
        p->at++;
        return true;
    }
    *character = read_escape(p);
    return false;
}

static node *parse_brackets(parser *p) {
    const int first = p->regex->n_ranges;
    const bool negated = accept(p, "^");
    bool opening = true; /* a ] that comes first is a character */
    while (p->at < p->end && (opening || *p->at != ']')) {
        opening = false;
        uint32_t low = 0;
        if (parse_posix(p) || parse_member(p, &low)) {
            continue;
        }
        uint32_t high = low;
        if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            if (parse_member(p, &high) || high < low) {
                fail(p, "a range of characters ends before it begins");
            }
        }
        add_range(p, low, high);
    }
    if (!accept(p, "]")) {
        fail(p, "a [ has no ]");
    }
    return set_node(p, first, negated);
}

/* Expressions -------------------------------------------------------------------------------------------- */

static node *parse_alternatives(parser *p);

static node *assert_node(parser *p, ln_regex_assertion kind) {
    node *made = new_node(p, NODE_ASSERT);
    made->assertion = kind;
    return made;
}

/* (?flags) or (?flags:...): returns true when a group follows. */
static bool parse_flags(parser *p) {
    bool on = true;
    for (; p->at < p->end; p->at++) {
        switch (*p->at) {
        case 'i':
            p->flags.fold = on;
            break;
        case 'm':
            p->flags.multi_line = on;
            break;
        case 's':
            p->flags.dot_all = on;
            break;
        case 'U':
            break;
        case '-':
            on = false;
            break;
        case ':':
            p->at++;
            return true;
        case ')':
            p->at++;
            return false;
        default:
            fail(p, "a group of the form (?...) is not known");
            return false;
        }
    }
    fail(p, "a ( has no )");
    return false;
}

static node *parse_group(parser *p) {
    const flags outer = p->flags;
    if (accept(p, "?P<") || accept(p, "?<")) {
        while (p->at < p->end && *p->at != '>') {
            const char c = *p->at++;
            if (c == '=' || c == '!') {
                fail(p, "look-behind is not possible");
            }
        }
        if (!accept(p, ">")) {
            fail(p, "the name of a group does not end");
        }
    } else if (accept(p, "?") && !parse_flags(p)) {
        return new_node(p, NODE_EMPTY); /* the flags stay for the rest of the enclosing group */
    }
    node *inner = parse_alternatives(p);
    if (!accept(p, ")")) {
        fail(p, "a ( has no )");
    }
    p->flags = outer;
    return inner;
}

/* \Q...\E: characters as they are. */
static node *parse_quoted(parser *p) {
    node *sequence = new_node(p, NODE_SEQUENCE);
    node **last = &sequence->first;
    while (p->at < p->end && !accept(p, "\\E")) {
        *last = one_character(p, ln_utf8_next(&p->at, p->end));
        last = &(*last)->sibling;
    }
    return sequence;
}

static node *parse_backslash(parser *p) {
    if (p->at < p->end) {
        const char c = *p->at;
        const char *ranges = perl_class(c);
        const char *assertions = memchr("AzbB", c, 4);
        if (ranges) {
            const int first = p->regex->n_ranges;
            add_class(p, ranges, c < 'a');
            p->at++;
            return set_node(p, first, false);
        }
        if (assertions) {
            p->at++;
            return assert_node(p, c == 'A'   ? ASSERT_TEXT_BEGIN
                                  : c == 'z' ? ASSERT_TEXT_END
                                  : c == 'b' ? ASSERT_BOUNDARY
                                             : ASSERT_NO_BOUNDARY);
        }
        if (accept(p, "Q")) {
            return parse_quoted(p);
        }
    }
    return one_character(p, read_escape(p));
}

static node *parse_atom(parser *p) {
    const char c = *p->at;
    if (c == '*' || c == '+' || c == '?') {
        fail(p, "a repetition has nothing to repeat");
        return new_node(p, NODE_EMPTY);
    }
    if (accept(p, "(")) {
        return parse_group(p);
    }
    if (accept(p, "[")) {
        return parse_brackets(p);
    }
    if (accept(p, "\\")) {
        return parse_backslash(p);
    }
    if (accept(p, "^")) {
        return assert_node(p, p->flags.multi_line ? ASSERT_LINE_BEGIN : ASSERT_TEXT_BEGIN);
    }
    if (accept(p, "$")) {
        return assert_node(p, p->flags.multi_line ? ASSERT_LINE_END : ASSERT_TEXT_END);
    }
    if (accept(p, ".")) {
        const int first = p->regex->n_ranges;
        if (p->flags.dot_all) {
            add_range(p, 0, LAST_CHARACTER);
        } else {
            add_class(p, "\n\n", true);
        }
        return set_node(p, first, false);
    }
    return one_character(p, ln_utf8_next(&p->at, p->end));
}

/* {n}, {n,} or {n,m}; anything else in braces is text. */
static bool parse_counts(parser *p, int *min, int *max) {
    const char *start = p->at;
    if (accept(p, "{") && p->at < p->end && *p->at >= '0' && *p->at <= '9') {
        *min = (int)read_digits(p, 10, 5);
        *max = *min;
        if (accept(p, ",")) {
            *max = p->at < p->end && *p->at >= '0' && *p->at <= '9' ? (int)read_digits(p, 10, 5) : -1;
        }
        if (accept(p, "}")) {
            if (*min > MAX_REPEAT || *max > MAX_REPEAT || (*max >= 0 && *max < *min)) {
                fail(p, "a repetition count is not valid");
            }
            return true;
        }
    }
    p->at = start;
    return false;
}

static node *parse_repeats(parser *p, node *operand) {
    while (p->at < p->end) {
        int min = 0;
        int max = -1;
        if (accept(p, "+")) {
            min = 1;
        } else if (accept(p, "?")) {
            max = 1;
        } else if (!accept(p, "*") && !parse_counts(p, &min, &max)) {
            break;
        }
        accept(p, "?"); /* lazy: the same texts match */
        node *repeat = new_node(p, NODE_REPEAT);
        repeat->first = operand;
        repeat->min = min;
        repeat->max = max;
        operand = repeat;
        if (++p->depth > MAX_DEPTH) {
            fail(p, "the pattern is nested too deeply");
        }
    }
    return operand;
}

static node *parse_sequence(parser *p) {
    node *sequence = new_node(p, NODE_SEQUENCE);
    node **last = &sequence->first;
    while (p->at < p->end && *p->at != '|' && *p->at != ')') {
        const int depth = p->depth;
        node *operand = parse_repeats(p, parse_atom(p));
        p->depth = depth;
        *last = operand;
        last = &operand->sibling;
    }
    return sequence;
}

static node *parse_alternatives(parser *p) {
    node *alternate = new_node(p, NODE_ALTERNATE);
    if (++p->depth > MAX_DEPTH) {
        fail(p, "the pattern is nested too deeply");
        return alternate;
    }
    node **last = &alternate->first;
    do {
        *last = parse_sequence(p);
        last = &(*last)->sibling;
    } while (accept(p, "|"));
    p->depth--;
    return alternate;
}

/* Compiling ---------------------------------------------------------------------------------------------- */

static int emit(parser *p, ln_regex_step next) {
    if (p->regex->length == MAX_PROGRAM) {
        fail(p, "the pattern is too large");
        return 0;
    }
    p->regex->program[p->regex->length] = next;
    return p->regex->length++;
}

static void compile(parser *p, const node *tree);

static void compile_alternate(parser *p, const node *tree) {
    ln_regex_step *program = p->regex->program;
    int jumps = -1; /* chained through x until the end is known */
    for (const node *choice = tree->first; choice; choice = choice->sibling) {
        const int split = choice->sibling ? emit(p, (ln_regex_step){.kind = DO_SPLIT}) : -1;
        if (split >= 0) {
            program[split].x = p->regex->length;
        }
        compile(p, choice);
        if (split >= 0) {
            jumps = emit(p, (ln_regex_step){.kind = DO_JUMP, .x = jumps});
            program[split].y = p->regex->length;
        }
    }
    while (jumps >= 0 && !p->reason) {
        const int next = program[jumps].x;
        program[jumps].x = p->regex->length;
        jumps = next;
    }
}

static void compile_repeat(parser *p, const node *tree) {
    ln_regex_step *program = p->regex->program;
    for (int i = 0; i < tree->min && !p->reason; i++) {
        compile(p, tree->first);
    }
    if (tree->max < 0) {
        const int split = emit(p, (ln_regex_step){.kind = DO_SPLIT});
        program[split].x = p->regex->length;
        compile(p, tree->first);
        emit(p, (ln_regex_step){.kind = DO_JUMP, .x = split});
        program[split].y = p->regex->length;
        return;
    }
    int splits = -1; /* chained through y: each may leave for the end */
    for (int i = tree->min; i < tree->max && !p->reason; i++) {
        splits = emit(p, (ln_regex_step){.kind = DO_SPLIT, .x = p->regex->length + 1, .y = splits});
        compile(p, tree->first);
    }
    while (splits >= 0 && !p->reason) {
        const int next = program[splits].y;
        program[splits].y = p->regex->length;
        splits = next;
    }
}

static void compile(parser *p, const node *tree) {
    switch (tree->kind) {
    case NODE_SET:
        emit(p, (ln_regex_step){.kind = DO_SET, .set = tree->set});
        break;
    case NODE_ASSERT:
        emit(p, (ln_regex_step){.kind = DO_ASSERT, .x = (int)tree->assertion});
        break;
    case NODE_SEQUENCE:
        for (const node *part = tree->first; part && !p->reason; part = part->sibling) {
            compile(p, part);
        }
        break;
    case NODE_ALTERNATE:
        compile_alternate(p, tree);
        break;
    case NODE_REPEAT:
        compile_repeat(p, tree);
        break;
    default:
        break;
    }
}

/* Copies of exactly what was used, in the arena. */
static bool keep_program(ln_arena *arena, ln_regex *regex) {
    const ln_regex made = *regex;
    regex->ranges = ln_arena_array(arena, (size_t)made.n_ranges + 1, sizeof(*made.ranges));
    regex->program = ln_arena_array(arena, (size_t)made.length, sizeof(*made.program));
    if (!regex->ranges || !regex->program) {
        return false;
    }
    memcpy(regex->ranges, made.ranges, (size_t)made.n_ranges * sizeof(*made.ranges));
    memcpy(regex->program, made.program, (size_t)made.length * sizeof(*made.program));
    return true;
}

/* Parses and compiles into the room that regex has; the reason of a failure, or NULL. */
static const char *translate(ln_arena *arena, ln_regex *regex, ln_string pattern) {
    parser p = {.arena = arena, .at = pattern.data, .end = pattern.data + pattern.length, .regex = regex};
    const node *tree = parse_alternatives(&p);
    if (p.at < p.end) {
        fail(&p, "a ) has no (");
    }
    if (!p.reason) {
        compile(&p, tree);
        emit(&p, (ln_regex_step){.kind = DO_MATCH});
    }
    return p.reason;
}

const ln_regex *ln_regex_compile(ln_arena *arena, ln_string pattern, const char **reason) {
    ln_regex *regex = ln_arena_alloc(arena, sizeof(*regex));
    *reason = NULL;
    if (!regex) {
        return NULL;
    }
    void *ranges = ln_alloc(arena->context, MAX_RANGES * sizeof(*regex->ranges), LN_MEMORY_SCRATCH);
    void *program = ln_alloc(arena->context, MAX_PROGRAM * sizeof(*regex->program), LN_MEMORY_SCRATCH);
    bool made = false;
    if (ranges && program) {
        regex->ranges = ranges;
        regex->program = program;
        *reason = translate(arena, regex, pattern);
        made = !*reason && keep_program(arena, regex);
    }
    ln_free(arena->context, ranges);
    ln_free(arena->context, program);
    return made ? regex : NULL;
}
