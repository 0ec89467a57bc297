/* The program of a regular expression: what regex_compile.c makes and regex.c runs. */
#ifndef LN_OPS_REGEX_PROGRAM_H
#define LN_OPS_REGEX_PROGRAM_H

#include "ops/regex.h"

typedef enum ln_regex_assertion {
    ASSERT_TEXT_BEGIN,
    ASSERT_TEXT_END,
    ASSERT_LINE_BEGIN,
    ASSERT_LINE_END,
    ASSERT_BOUNDARY,
    ASSERT_NO_BOUNDARY,
} ln_regex_assertion;

typedef struct ln_regex_range {
    uint32_t low, high;
} ln_regex_range;

typedef struct ln_regex_set {
    int first, count; /* ranges */
    bool negated, fold;
} ln_regex_set;

typedef enum ln_regex_step_kind { DO_SET, DO_SPLIT, DO_JUMP, DO_ASSERT, DO_MATCH } ln_regex_step_kind;

typedef struct ln_regex_step {
    ln_regex_step_kind kind;
    int x, y; /* targets, or the assertion */
    ln_regex_set set;
} ln_regex_step;

struct ln_regex {
    ln_regex_step *program;
    int length;
    ln_regex_range *ranges;
    int n_ranges;
};

#endif
