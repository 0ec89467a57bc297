/* Case mappings from a table of runs: letters side by side, or every second one, whose other case is one distance away. Most
 * runs serve both ways; some letters share another's capital or small letter and serve one.
 */
#include "ops/letter_case.h"

#include <stddef.h>

enum { TO_LOWER = 1, TO_UPPER = 2, BOTH_WAYS = 3 };

static const struct case_run {
    uint32_t first; /* capital letter */
    uint8_t count, step;
    int32_t distance; /* from a capital to its small letter */
    uint8_t ways;
} runs[] = {
#include "ops/letter_case_rows.inc"
};

static uint32_t map(uint32_t character, uint8_t way) {
    if (character < 0x80) {
        const uint32_t first = way == TO_LOWER ? 'A' : 'a';
        return character - first < 26 ? character ^ 0x20 : character;
    }
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const uint32_t distance = (uint32_t)runs[i].distance;
        const uint32_t at = character - runs[i].first - (way == TO_UPPER ? distance : 0);
        if ((runs[i].ways & way) && at < (uint32_t)runs[i].count * runs[i].step && at % runs[i].step == 0) {
            return way == TO_LOWER ? character + distance : character - distance;
        }
    }
    return character;
}

uint32_t ln_to_lower(uint32_t character) {
    return map(character, TO_LOWER);
}

uint32_t ln_to_upper(uint32_t character) {
    return map(character, TO_UPPER);
}
