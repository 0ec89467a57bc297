/* Small and capital letters by Unicode's simple mappings, one character to one, the same in every locale. */
#ifndef LN_OPS_LETTER_CASE_H
#define LN_OPS_LETTER_CASE_H

#include <stdint.h>

/* The small (capital) letter of a character; the character itself where there is none. */
uint32_t ln_to_lower(uint32_t character);
uint32_t ln_to_upper(uint32_t character);

#endif
