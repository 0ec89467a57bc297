/* Attribute readers: what the build function of a row uses to turn attributes into params.
 *
 * Every reader looks an attribute up by name, checks its type and answers the default when it is absent. The
 * first failure is kept in build->status, so a build function reads all it needs and checks once at its end.
 */
#include <string.h>

#include "ops/op.h"

ln_status ln_build_fail(ln_build *build, ln_status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const ln_status status = ln_fail_v(build->context, code, format, arguments);
    va_end(arguments);
    if (build->status == LN_OK) {
        build->status = status;
    }
    return status;
}

ln_status ln_build_status(const ln_build *build) {
    return build->status;
}

ln_status ln_build_nothing(ln_build *build) {
    return build->status;
}

void *ln_build_params(ln_build *build, size_t bytes) {
    void *params = ln_arena_alloc(build->arena, bytes);
    build->node->params = params;
    if (!params) {
        build->status = LN_OUT_OF_MEMORY;
    }
    return params;
}

/* The attribute when it is there and has the wanted type. */
static const ln_attribute *find(ln_build *build, const char *name, ln_attribute_type type) {
    const ln_attribute *attribute = ln_node_attribute(build->node, name);
    if (!attribute) {
        return NULL;
    }
    if (attribute->type != type) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute '%s' has AttributeType %d, expected %d", name,
                      (int)attribute->type, (int)type);
        return NULL;
    }
    return attribute;
}

bool ln_has_attr(const ln_build *build, const char *name) {
    return ln_node_attribute(build->node, name) != NULL;
}

void ln_attr_required(ln_build *build, const char *name) {
    if (!ln_has_attr(build, name)) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute '%s' is required", name);
    }
}

int64_t ln_attr_int(ln_build *build, const char *name, int64_t otherwise) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_INT);
    return attribute ? attribute->as.ints[0] : otherwise;
}

bool ln_attr_bool(ln_build *build, const char *name, bool otherwise) {
    const int64_t value = ln_attr_int(build, name, otherwise);
    if (value != 0 && value != 1) {
        ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute '%s' is %lld, expected 0 or 1", name,
                      (long long)value);
    }
    return value != 0;
}

float ln_attr_float(ln_build *build, const char *name, float otherwise) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_FLOAT);
    return attribute ? attribute->as.floats[0] : otherwise;
}

const char *ln_attr_string(ln_build *build, const char *name, const char *otherwise) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_STRING);
    if (!attribute) {
        return otherwise;
    }
    const char *text =
        ln_arena_text(build->arena, attribute->as.strings[0].data, attribute->as.strings[0].length);
    if (!text) {
        build->status = LN_OUT_OF_MEMORY;
        return otherwise;
    }
    return text;
}

const int64_t *ln_attr_ints(ln_build *build, const char *name, int *count) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_INTS);
    *count = attribute ? attribute->count : 0;
    return attribute ? attribute->as.ints : NULL;
}

const float *ln_attr_floats(ln_build *build, const char *name, int *count) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_FLOATS);
    *count = attribute ? attribute->count : 0;
    return attribute ? attribute->as.floats : NULL;
}

const ln_string *ln_attr_strings(ln_build *build, const char *name, int *count) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_STRINGS);
    *count = attribute ? attribute->count : 0;
    return attribute ? attribute->as.strings : NULL;
}

const ln_value *ln_attr_tensor(ln_build *build, const char *name) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_TENSOR);
    return attribute ? &attribute->as.tensors[0] : NULL;
}

ln_graph *ln_attr_graph(ln_build *build, const char *name) {
    ln_attr_required(build, name);
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_GRAPH);
    return attribute ? attribute->as.graphs[0] : NULL;
}

int ln_attr_choice(ln_build *build, const char *name, const char *const *names, int otherwise) {
    const ln_attribute *attribute = find(build, name, LN_ATTRIBUTE_STRING);
    if (!attribute) {
        return otherwise;
    }
    const ln_string text = attribute->as.strings[0];
    for (int i = 0; names[i]; ++i) {
        if (strlen(names[i]) == text.length && memcmp(names[i], text.data, text.length) == 0) {
            return i;
        }
    }
    char choices[200];
    size_t length = 0;
    for (int i = 0; names[i]; ++i) {
        length += ln_format(choices + length, sizeof choices - length, "%s'%s'", i ? ", " : "", names[i]);
    }
    ln_build_fail(build, LN_INVALID_ATTRIBUTE, "attribute '%s' is '%.*s', expected one of %s", name,
                  (int)text.length, text.data, choices);
    return otherwise;
}
