/* A small regular-expression matcher for the syntax of RE2.
 *
 * A pattern becomes a program that is run as a set of states, one step for each character: time grows with pattern times
 * text, never exponentially. Supported: literals, . and classes ([a-z], [^...], [[:alpha:]], \d \w \s and their
 * negations), groups of every kind, alternation, * + ? {n,m} and their lazy forms (for whether a text matches, laziness is
 * no matter), ^ $ \A \z \b \B, escapes, \Q...\E and the flags i, m, s, U. Not supported: \p{...} classes.
 */
#ifndef LN_OPS_REGEX_H
#define LN_OPS_REGEX_H

#include "base/arena.h"
#include "base/dtype.h"

typedef struct ln_regex ln_regex;

/* The program of a pattern, in the arena; NULL with *reason set when the pattern is not valid, or NULL reason when
 * memory ran out. */
const ln_regex *ln_regex_compile(ln_arena *arena, ln_string pattern, const char **reason);
/* Bytes of scratch that matching needs. */
size_t ln_regex_scratch_bytes(const ln_regex *regex);
/* Does the whole text match? */
bool ln_regex_full_match(const ln_regex *regex, ln_string text, void *scratch);

/* The first match at or after *begin, and of those that start there the longest: *begin and *end become its place. */
bool ln_regex_search(const ln_regex *regex, ln_string text, size_t *begin, size_t *end, void *scratch);

/* The character at *at, which moves on; bytes that are not UTF-8 count as U+FFFD, one by one. */
uint32_t ln_utf8_next(const char **at, const char *end);
/* Writes a character as UTF-8 (at most 4 bytes); returns how many. */
size_t ln_utf8_put(uint32_t character, char *to);

#endif
