/* A list of keys with a search: integers, floating-point numbers or strings.
 *
 * Of equal keys the last one counts; a NaN finds a NaN. Keys are borrowed, the order that the search needs lives in the
 * arena of the model.
 */
#ifndef LN_OPS_KEY_INDEX_H
#define LN_OPS_KEY_INDEX_H

#include "ops/op.h"

typedef enum ln_key_kind { LN_KEY_INT, LN_KEY_FLOAT, LN_KEY_STRING } ln_key_kind;

typedef union ln_key {
    int64_t i;
    double f;
    ln_string s;
} ln_key;

typedef struct ln_key_index {
    ln_key_kind kind;
    int32_t count;
    ln_key *keys;    /* sorted */
    int32_t *places; /* where each stood in the list */
} ln_key_index;

/* Keys from a 1-D tensor header over the list: strings, int16 to int64, float or double. */
ln_status ln_key_index_build(ln_build *build, ln_key_index *index, const ln_value *list);
/* Place of the key in the list, or -1. */
int32_t ln_key_index_find(const ln_key_index *index, const ln_key *key);
/* Element `at` of a tensor as a key of this index; false when strings meet numbers. A floating-point element is cut to an
 * integer for integer keys. */
bool ln_key_load(const ln_key_index *index, const ln_value *value, int64_t at, ln_key *key);

/* The header of a list attribute: ints, floats or strings. */
ln_value ln_list_of_ints(const int64_t *values, int count);
ln_value ln_list_of_floats(const float *values, int count);
ln_value ln_list_of_strings(const ln_string *values, int count);

#endif
