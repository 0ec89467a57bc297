/* Running the program of a regular expression, and UTF-8. See regex.h.
 *
 * The program is Thompson's: sets of ranges consume a character, splits and assertions do not. Matching keeps the set of
 * states that are alive, so every character costs at most one look at each instruction.
 */
#include <string.h>

#include "ops/letter_case.h"
#include "ops/regex_program.h"

/* UTF-8 -------------------------------------------------------------------------------------------------- */

uint32_t ln_utf8_next(const char **at, const char *end) {
    const unsigned char *p = (const unsigned char *)*at;
    const uint32_t lead = p[0];
    const int more = lead < 0x80                   ? 0
                     : lead >= 0xC2 && lead < 0xE0 ? 1
                     : lead >= 0xE0 && lead < 0xF0 ? 2
                     : lead >= 0xF0 && lead < 0xF5 ? 3
                                                   : -1;
    if (more < 0 || end - *at <= more) {
        *at += 1;
        return 0xFFFD;
    }
    uint32_t character = more == 0 ? lead : lead & (0x3Fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            *at += 1;
            return 0xFFFD;
        }
        character = character << 6 | (p[i] & 0x3Fu);
    }
    *at += more + 1;
    return character;
}

size_t ln_utf8_put(uint32_t character, char *to) {
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    const size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    for (size_t i = more; i > 0; i--) {
        to[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    to[0] = (char)((0xFF00 >> (more + 1) & 0xFF) | character);
    return more + 1;
}

/* Matching ----------------------------------------------------------------------------------------------- */

/* A set of states: a list, and for each state its place in the list (valid only when the list agrees). */
typedef struct states {
    int count;
    int *list, *place;
} states;

size_t ln_regex_scratch_bytes(const ln_regex *regex) {
    return (size_t)(regex->length + 1) * 6 * sizeof(int);
}

static bool contains(const states *alive, int state) {
    const int place = alive->place[state];
    return place >= 0 && place < alive->count && alive->list[place] == state;
}

static bool is_word(uint32_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

typedef struct position {
    bool begin, end;        /* of the text */
    uint32_t before, after; /* characters on both sides */
} position;

static bool holds(ln_regex_assertion kind, const position *at) {
    const bool boundary = (!at->begin && is_word(at->before)) != (!at->end && is_word(at->after));
    switch (kind) {
    case ASSERT_TEXT_BEGIN:
        return at->begin;
    case ASSERT_TEXT_END:
        return at->end;
    case ASSERT_LINE_BEGIN:
        return at->begin || at->before == '\n';
    case ASSERT_LINE_END:
        return at->end || at->after == '\n';
    case ASSERT_BOUNDARY:
        return boundary;
    default:
        return !boundary;
    }
}

/* Adds a state and all that follow it without a character. Every state enters the stack at most twice. */
static void add_state(const ln_regex *regex, states *alive, int *stack, int state, const position *at) {
    int depth = 0;
    stack[depth++] = state;
    while (depth > 0) {
        const int next = stack[--depth];
        if (contains(alive, next)) {
            continue;
        }
        alive->place[next] = alive->count;
        alive->list[alive->count++] = next;
        const ln_regex_step *step = &regex->program[next];
        if (step->kind == DO_JUMP) {
            stack[depth++] = step->x;
        } else if (step->kind == DO_SPLIT) {
            stack[depth++] = step->y;
            stack[depth++] = step->x;
        } else if (step->kind == DO_ASSERT && holds((ln_regex_assertion)step->x, at)) {
            stack[depth++] = next + 1;
        }
    }
}

static bool in_ranges(const ln_regex *regex, const ln_regex_set *wanted, uint32_t c) {
    for (int i = 0; i < wanted->count; i++) {
        const ln_regex_range *r = &regex->ranges[wanted->first + i];
        if (c >= r->low && c <= r->high) {
            return true;
        }
    }
    return false;
}

static bool in_set(const ln_regex *regex, const ln_regex_set *wanted, uint32_t c) {
    bool inside = in_ranges(regex, wanted, c);
    if (!inside && wanted->fold) {
        inside = in_ranges(regex, wanted, ln_to_lower(c)) || in_ranges(regex, wanted, ln_to_upper(c));
    }
    return inside != wanted->negated;
}

/* The end of the longest match that starts at `start`, or -1. */
static int64_t longest_match(const ln_regex *regex, ln_string text, size_t start, uint32_t before,
                             void *scratch) {
    int *memory = scratch;
    const int n = regex->length + 1;
    states now = {0, memory, memory + n};
    states next = {0, memory + 2 * n, memory + 3 * n};
    int *stack = memory + 4 * n;
    memset(memory, 0, (size_t)n * 4 * sizeof(int));
    const char *end = text.data + text.length;
    const char *ahead = text.data + start;
    position here = {.begin = start == 0, .end = ahead == end, .before = before};
    size_t place = start; /* of `here` */
    int64_t match = -1;
    here.after = here.end ? 0 : ln_utf8_next(&ahead, end);
    add_state(regex, &now, stack, 0, &here);
    for (;;) {
        match = contains(&now, regex->length - 1) ? (int64_t)place : match;
        if (here.end || now.count == 0) {
            return match;
        }
        const uint32_t c = here.after;
        place = (size_t)(ahead - text.data);
        here = (position){.before = c, .end = ahead == end};
        here.after = here.end ? 0 : ln_utf8_next(&ahead, end);
        next.count = 0;
        for (int i = 0; i < now.count; i++) {
            const ln_regex_step *step = &regex->program[now.list[i]];
            if (step->kind == DO_SET && in_set(regex, &step->set, c)) {
                add_state(regex, &next, stack, now.list[i] + 1, &here);
            }
        }
        const states held = now;
        now = next;
        next = held;
    }
}

bool ln_regex_full_match(const ln_regex *regex, ln_string text, void *scratch) {
    return longest_match(regex, text, 0, 0, scratch) == (int64_t)text.length;
}

bool ln_regex_search(const ln_regex *regex, ln_string text, size_t *begin, size_t *end, void *scratch) {
    uint32_t before = 0;
    for (size_t at = *begin;;) {
        const int64_t match = longest_match(regex, text, at, before, scratch);
        if (match >= 0) {
            *begin = at;
            *end = (size_t)match;
            return true;
        }
        if (at >= text.length) {
            return false;
        }
        const char *next = text.data + at;
        before = ln_utf8_next(&next, text.data + text.length);
        at = (size_t)(next - text.data);
    }
}
