/* The operators of this build as JSON: what docs/operators.md is generated from. */
#include "run/describe.h"

static void add_types(ln_text *text, const ln_op_row *row) {
    for (int variable = 0; variable < 3; ++variable) {
        ln_text_printf(text, "%s[", variable ? "," : "");
        int written = 0;
        for (int dtype = 1; dtype < LN_DTYPE_COUNT; ++dtype) {
            if (row->types[variable] & LN_BIT(dtype)) {
                ln_text_printf(text, "%s\"%s\"", written++ ? "," : "", ln_dtype_name((ln_dtype)dtype));
            }
        }
        ln_text_printf(text, "]");
    }
}

static void add_row(ln_text *text, const ln_op_family *family, const ln_op_row *row) {
    ln_text_printf(text,
                   "{\"name\":\"%s\",\"domain\":\"%s\",\"family\":\"%s\",\"since\":%d,\"until\":", row->name,
                   row->domain, family->name, row->since);
    if (row->until == LN_OPEN) {
        ln_text_printf(text, "null");
    } else {
        ln_text_printf(text, "%d", row->until);
    }
    ln_text_printf(text, ",\"signature\":\"%s\",\"types\":[", row->signature);
    add_types(text, row);
    ln_text_printf(text, "]}");
}

void ln_catalogue(ln_text *text) {
    int count = 0;
    int written = 0;
    const ln_op_family *const *families = ln_op_families(&count);
    ln_text_printf(text, "{\"operators\":[");
    for (int f = 0; f < count; ++f) {
        for (int r = 0; r < families[f]->count; ++r) {
            ln_text_printf(text, written++ ? "," : "");
            add_row(text, families[f], &families[f]->rows[r]);
        }
    }
    ln_text_printf(text, "],\"opsets\":{");
    static const char *const domains[] = {"", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training",
                                          "com.microsoft"};
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; ++i) {
        ln_text_printf(text, "%s\"%s\":%d", i ? "," : "", domains[i], ln_op_newest_opset(domains[i]));
    }
    ln_text_printf(text, "}}");
}
