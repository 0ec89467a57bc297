/* TfIdfVectorizer: counts of n-grams of a vocabulary.
 *
 * The vocabulary is a list of items, the 1-grams first, then the 2-grams and so on. At load each length gets its n-grams
 * sorted by content; a run looks every n-gram of the input up by binary search. Items may lie some positions apart (skips);
 * 1-grams are counted once, whatever the skips are.
 */
#include <string.h>

#include "ops/move.h"

enum tfidf_mode { MODE_TF, MODE_IDF, MODE_TFIDF };

/* The n-grams of one length. */
typedef struct gram_list {
    int64_t first;        /* position of the first item in the pool */
    int64_t count;        /* n-grams */
    const int64_t *order; /* their numbers within the list, sorted by content */
    int64_t id;           /* number of the first one among all n-grams */
} gram_list;

typedef struct tfidf_params {
    enum tfidf_mode mode;
    int64_t shortest, longest, skips;
    const int64_t *numbers; /* the pool, one of both */
    const ln_string *strings;
    const int64_t *coordinates; /* of each n-gram in the output */
    const float *weights;       /* by coordinate, or NULL */
    int64_t width;              /* of the output */
    gram_list *lists;           /* [longest + 1] by length */
} tfidf_params;

/* Sorting and searching ---------------------------------------------------------------------------------- */

/* Compares the n-gram at pool position `at` with `length` items, `step` apart, of a row (or of the pool). */
static int compare_gram(const tfidf_params *params, int64_t at, int64_t length, const int64_t *numbers,
                        const ln_string *strings, int64_t step) {
    for (int64_t i = 0; i < length; i++) {
        int order;
        if (params->numbers) {
            const int64_t a = params->numbers[at + i];
            const int64_t b = numbers[i * step];
            order = (a > b) - (a < b);
        } else {
            order = ln_string_compare(&params->strings[at + i], &strings[i * step]);
        }
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

static int compare_grams(const tfidf_params *params, const gram_list *list, int64_t length, int64_t a,
                         int64_t b) {
    const int64_t other = list->first + b * length;
    return compare_gram(params, list->first + a * length, length,
                        params->numbers ? params->numbers + other : NULL,
                        params->strings ? params->strings + other : NULL, 1);
}

/* Heapsort: in place, and never quadratic. */
static void sort_grams(const tfidf_params *params, const gram_list *list, int64_t length, int64_t *order) {
    for (int64_t i = 0; i < list->count; i++) {
        order[i] = i;
    }
    int64_t heap = list->count / 2;
    int64_t end = list->count;
    while (end > 1) {
        if (heap > 0) {
            heap--;
        } else {
            const int64_t top = order[0];
            order[0] = order[--end];
            order[end] = top;
        }
        const int64_t moved = order[heap];
        int64_t at = heap;
        for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
            if (child + 1 < end && compare_grams(params, list, length, order[child + 1], order[child]) > 0) {
                child++;
            }
            if (compare_grams(params, list, length, order[child], moved) <= 0) {
                break;
            }
            order[at] = order[child];
            at = child;
        }
        order[at] = moved;
    }
}

/* The coordinate of an n-gram of a row, or -1. */
static int64_t find_gram(const tfidf_params *params, int64_t length, const int64_t *numbers,
                         const ln_string *strings, int64_t step) {
    const gram_list *list = &params->lists[length];
    int64_t low = 0;
    int64_t high = list->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const int64_t gram = list->order[middle];
        const int order = compare_gram(params, list->first + gram * length, length, numbers, strings, step);
        if (order == 0) {
            return params->coordinates[list->id + gram];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

/* Build -------------------------------------------------------------------------------------------------- */

static void read_list(ln_build *build, tfidf_params *params, int64_t pool, int64_t length, int64_t begin,
                      int64_t end, int64_t *id) {
    gram_list *list = &params->lists[length];
    if (begin < 0 || end < begin || end > pool || (end - begin) % length != 0) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the %lld-grams reach from item %lld to %lld of the pool",
                      (long long)length, (long long)begin, (long long)end);
        return;
    }
    *list = (gram_list){.first = begin, .count = (end - begin) / length, .id = *id};
    *id += list->count;
    int64_t *order = ln_arena_array(build->arena, (size_t)list->count + 1, sizeof(*order));
    if (!order) {
        build->status = LN_OUT_OF_MEMORY;
        list->count = 0;
        return;
    }
    sort_grams(params, list, length, order);
    list->order = order;
}

/* Puts the weight of each n-gram where its count will be. */
static ln_status sort_weights(ln_build *build, tfidf_params *params, const float *weights, int n) {
    float *sorted = ln_arena_array(build->arena, (size_t)params->width, sizeof(*sorted));
    if (!sorted) {
        build->status = LN_OUT_OF_MEMORY;
        return build->status;
    }
    for (int i = 0; i < n; i++) {
        sorted[params->coordinates[i]] = weights[i];
    }
    params->weights = sorted;
    return ln_build_status(build);
}

static ln_status read_pool(ln_build *build, tfidf_params *params) {
    int n_numbers, n_strings, n_starts, n_coordinates, n_weights;
    params->numbers = ln_attr_ints(build, "pool_int64s", &n_numbers);
    params->strings = ln_attr_strings(build, "pool_strings", &n_strings);
    const int64_t *starts = ln_attr_ints(build, "ngram_counts", &n_starts);
    params->coordinates = ln_attr_ints(build, "ngram_indexes", &n_coordinates);
    const float *weights = ln_attr_floats(build, "weights", &n_weights);
    LN_TRY(ln_build_status(build));
    if ((params->numbers != NULL) == (params->strings != NULL)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "exactly one of pool_int64s and pool_strings must be given");
    }
    const int64_t pool = params->numbers ? n_numbers : n_strings;
    int64_t id = 0;
    const int64_t lengths = n_starts > params->longest ? n_starts : params->longest;
    params->lists = ln_arena_array(build->arena, (size_t)lengths + 1, sizeof(*params->lists));
    if (!params->lists) {
        build->status = LN_OUT_OF_MEMORY;
        return build->status;
    }
    for (int i = 0; i < n_starts && ln_build_status(build) == LN_OK; i++) {
        read_list(build, params, pool, i + 1, starts[i], i + 1 < n_starts ? starts[i + 1] : pool, &id);
    }
    LN_TRY(ln_build_status(build));
    if (id != n_coordinates) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "the pool has %lld n-grams, ngram_indexes %d",
                             (long long)id, n_coordinates);
    }
    for (int i = 0; i < n_coordinates; i++) {
        if (params->coordinates[i] < 0 || params->coordinates[i] >= INT32_MAX) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "ngram_indexes entry %d is %lld", i,
                                 (long long)params->coordinates[i]);
        }
        params->width =
            params->coordinates[i] + 1 > params->width ? params->coordinates[i] + 1 : params->width;
    }
    if (weights && n_weights != n_coordinates) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE, "there are %d weights for %d n-grams", n_weights,
                             n_coordinates);
    }
    return weights ? sort_weights(build, params, weights, n_weights) : ln_build_status(build);
}

static ln_status build_tfidf(ln_build *build) {
    static const char *const modes[] = {"TF", "IDF", "TFIDF", NULL};
    static const char *const required[] = {"mode",           "min_gram_length", "max_gram_length",
                                           "max_skip_count", "ngram_counts",    "ngram_indexes"};
    tfidf_params *params = ln_build_params(build, sizeof(*params));
    if (!params) {
        return ln_build_status(build);
    }
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        ln_attr_required(build, required[i]);
    }
    params->mode = (enum tfidf_mode)ln_attr_choice(build, "mode", modes, 0);
    params->shortest = ln_attr_int(build, "min_gram_length", 1);
    params->longest = ln_attr_int(build, "max_gram_length", 1);
    params->skips = ln_attr_int(build, "max_skip_count", 0);
    if (params->shortest < 1 || params->longest < params->shortest || params->longest > 1000 ||
        params->skips < 0 || params->skips > INT32_MAX) {
        return ln_build_fail(
            build, LN_INVALID_ATTRIBUTE, "n-grams of length %lld to %lld with up to %lld skips",
            (long long)params->shortest, (long long)params->longest, (long long)params->skips);
    }
    return read_pool(build, params);
}

/* Run ---------------------------------------------------------------------------------------------------- */

static ln_status infer_tfidf(ln_op *op) {
    const tfidf_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    LN_OP_CHECK(op, input->shape.rank == 1 || input->shape.rank == 2, INVALID_SHAPE,
                "the input has rank %d, expected 1 or 2", (int)input->shape.rank);
    LN_OP_CHECK(op, (input->dtype == LN_STRING) == (params->strings != NULL), INVALID_TYPE,
                "the input has type %s, the pool holds %s", ln_dtype_name(input->dtype),
                params->strings ? "strings" : "numbers");
    ln_shape shape = input->shape;
    shape.dims[shape.rank - 1] = params->width;
    op->task_scratch_bytes = (size_t)input->shape.dims[input->shape.rank - 1] * sizeof(int64_t);
    return ln_op_shape(op, 0, LN_FLOAT, &shape);
}

/* Adds what starts at item `at` of a row of n items. */
static void count_at(const tfidf_params *params, const int64_t *numbers, const ln_string *strings, int64_t at,
                     int64_t n, float *counts) {
    for (int64_t step = 1; step <= params->skips + 1 && step <= n; step++) {
        for (int64_t length = params->shortest; length <= params->longest; length++) {
            if ((length == 1 && step > 1) || at + (length - 1) * step >= n) {
                continue;
            }
            const int64_t coordinate =
                find_gram(params, length, numbers ? numbers + at : NULL, strings ? strings + at : NULL, step);
            if (coordinate >= 0) {
                counts[coordinate] += 1;
            }
        }
    }
}

static void tfidf_task(ln_op *op, int64_t index, void *scratch) {
    const tfidf_params *params = op->params;
    const ln_value *input = ln_in(op, 0);
    const int64_t n = input->shape.dims[input->shape.rank - 1];
    float *counts = (float *)ln_out(op, 0)->data + index * params->width;
    const ln_string *strings = params->strings ? (const ln_string *)input->data + index * n : NULL;
    int64_t *numbers = strings ? NULL : scratch;
    if (numbers) {
        ln_load_i64(input->dtype, input->data, index * n, n, numbers);
    }
    memset(counts, 0, (size_t)params->width * sizeof(*counts));
    for (int64_t i = 0; i < n; i++) {
        count_at(params, numbers, strings, i, n, counts);
    }
    for (int64_t i = 0; i < params->width && params->mode != MODE_TF; i++) {
        const float weight = params->weights ? params->weights[i] : 1;
        const float count = params->mode == MODE_IDF && counts[i] > 1 ? 1 : counts[i];
        counts[i] = count * weight;
    }
}

static ln_status run_tfidf(ln_op *op) {
    const ln_shape *shape = &ln_in(op, 0)->shape;
    return ln_out(op, 0) ? ln_op_grid(op, tfidf_task, shape->rank == 2 ? shape->dims[0] : 1) : LN_OK;
}

static const ln_op_row rows[] = {
    {"TfIdfVectorizer",
     "",
     9,
     LN_OPEN,
     "A>f",
     {LN_T_INDEX | LN_BIT(LN_STRING)},
     build_tfidf,
     infer_tfidf,
     run_tfidf,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(tfidf, rows);
