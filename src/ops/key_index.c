/* Sorted keys and binary search. See ops/key_index.h. */
#include "ops/key_index.h"

#include <string.h>

/* A total order: NaN stands after all numbers. */
static int compare(ln_key_kind kind, const ln_key *a, const ln_key *b) {
    if (kind == LN_KEY_STRING) {
        return ln_string_compare(&a->s, &b->s);
    }
    if (kind == LN_KEY_INT) {
        return (a->i > b->i) - (a->i < b->i);
    }
    const bool a_nan = a->f != a->f;
    const bool b_nan = b->f != b->f;
    return a_nan || b_nan ? a_nan - b_nan : (a->f > b->f) - (a->f < b->f);
}

/* Keys first, then places, so that equal keys keep their order. */
static bool precedes(const ln_key_index *index, int32_t a, int32_t b) {
    const int order = compare(index->kind, &index->keys[a], &index->keys[b]);
    return order < 0 || (order == 0 && index->places[a] < index->places[b]);
}

static void swap(ln_key_index *index, int32_t a, int32_t b) {
    const ln_key key = index->keys[a];
    const int32_t place = index->places[a];
    index->keys[a] = index->keys[b];
    index->places[a] = index->places[b];
    index->keys[b] = key;
    index->places[b] = place;
}

static void sift_down(ln_key_index *index, int32_t root, int32_t end) {
    while (2 * root + 1 < end) {
        int32_t child = 2 * root + 1;
        child += child + 1 < end && precedes(index, child, child + 1);
        if (!precedes(index, root, child)) {
            return;
        }
        swap(index, root, child);
        root = child;
    }
}

static void sort(ln_key_index *index) {
    for (int32_t root = index->count / 2 - 1; root >= 0; root--) {
        sift_down(index, root, index->count);
    }
    for (int32_t end = index->count - 1; end > 0; end--) {
        swap(index, 0, end);
        sift_down(index, 0, end);
    }
}

bool ln_key_load(const ln_key_index *index, const ln_value *value, int64_t at, ln_key *key) {
    if ((index->kind == LN_KEY_STRING) != (value->dtype == LN_STRING)) {
        return false;
    }
    if (index->kind == LN_KEY_STRING) {
        key->s = ((const ln_string *)value->data)[at];
    } else if (index->kind == LN_KEY_FLOAT) {
        ln_load_f64(value->dtype, value->data, at, 1, &key->f);
    } else {
        ln_load_i64(value->dtype, value->data, at, 1, &key->i);
    }
    return true;
}

ln_status ln_key_index_build(ln_build *build, ln_key_index *index, const ln_value *list) {
    const int64_t count = ln_value_count(list);
    if (count > INT32_MAX / 4) {
        return ln_build_fail(build, LN_LIMIT_EXCEEDED, "a list of %lld keys is too long", (long long)count);
    }
    index->kind = list->dtype == LN_STRING         ? LN_KEY_STRING
                  : ln_dtype_is_float(list->dtype) ? LN_KEY_FLOAT
                                                   : LN_KEY_INT;
    index->count = (int32_t)count;
    index->keys = ln_arena_array(build->arena, (size_t)count + 1, sizeof(*index->keys));
    index->places = ln_arena_array(build->arena, (size_t)count + 1, sizeof(*index->places));
    if (index->keys == NULL || index->places == NULL) {
        return LN_OUT_OF_MEMORY;
    }
    for (int32_t i = 0; i < index->count; i++) {
        ln_key_load(index, list, i, &index->keys[i]);
        index->places[i] = i;
    }
    sort(index);
    return LN_OK;
}

/* The last of the keys that are not greater. */
int32_t ln_key_index_find(const ln_key_index *index, const ln_key *key) {
    int32_t low = 0;
    int32_t high = index->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (compare(index->kind, &index->keys[middle], key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool found = low > 0 && compare(index->kind, &index->keys[low - 1], key) == 0;
    return found ? index->places[low - 1] : -1;
}

static ln_value list_of(ln_dtype dtype, const void *values, int count) {
    const int64_t dims[] = {count};
    const ln_shape shape = ln_shape_of(1, dims);
    ln_value list = ln_value_header(dtype, &shape);
    list.data = (void *)(uintptr_t)values;
    return list;
}

ln_value ln_list_of_ints(const int64_t *values, int count) {
    return list_of(LN_INT64, values, count);
}
ln_value ln_list_of_floats(const float *values, int count) {
    return list_of(LN_FLOAT, values, count);
}
ln_value ln_list_of_strings(const ln_string *values, int count) {
    return list_of(LN_STRING, values, count);
}
