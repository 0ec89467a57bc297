/* The registry: every family of this build, and the search for a row.
 *
 * LN_FAMILIES_HEADER names the list of families; a build of only some families passes a list of its own.
 */
#include <string.h>

#include "ops/op.h"

#ifndef LN_FAMILIES_HEADER
#define LN_FAMILIES_HEADER "ops/families.h"
#endif

#define LN_FAMILY(family) extern const ln_op_family ln_ops_##family;
#include LN_FAMILIES_HEADER
#undef LN_FAMILY

static const ln_op_family *const families[] = {
#define LN_FAMILY(family) &ln_ops_##family,
#include LN_FAMILIES_HEADER
#undef LN_FAMILY
};
enum { FAMILIES = sizeof families / sizeof families[0] };

/* Newest versions of the operator sets that the standard has published. A model of a newer version loads as long as
 * every row it uses is the newest of its operator. */
static const ln_opset newest[] = {
    {"", 28},
    {"ai.onnx.ml", 5},
    {"ai.onnx.preview", 1},
    {"ai.onnx.preview.training", 1},
    {"com.microsoft", 1},
};

const ln_op_family *const *ln_op_families(int *count) {
    *count = FAMILIES;
    return families;
}

int ln_op_newest_opset(const char *domain) {
    for (size_t i = 0; i < sizeof newest / sizeof newest[0]; ++i) {
        if (strcmp(newest[i].domain, domain) == 0) {
            return (int)newest[i].version;
        }
    }
    return 0;
}

const ln_op_row *ln_op_find(const char *domain, const char *name, int version, bool *known) {
    *known = false;
    for (int f = 0; f < FAMILIES; ++f) {
        for (int r = 0; r < families[f]->count; ++r) {
            const ln_op_row *row = &families[f]->rows[r];
            if (row->name[0] != name[0] || strcmp(row->name, name) != 0 || strcmp(row->domain, domain) != 0) {
                continue;
            }
            *known = true;
            if (version >= row->since && version <= row->until) {
                return row;
            }
        }
    }
    return NULL;
}

bool ln_op_left_out(const char *domain, const char *name) {
#ifdef LN_ALL_OPERATORS
    char wanted[128];
    const size_t length = ln_format(wanted, sizeof wanted, " %s:%s ", domain[0] ? domain : "ai.onnx", name);
    return length < sizeof wanted && strstr(LN_ALL_OPERATORS, wanted) != NULL;
#else
    (void)domain;
    (void)name;
    return false;
#endif
}
