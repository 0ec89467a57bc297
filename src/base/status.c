/* The names and sentences of the status codes, both made from the one list in status.h. */
#include "base/status.h"

typedef struct status_row {
    const char *name;
    const char *text;
} status_row;

static const status_row status_rows[LN_STATUS_COUNT] = {
#define STATUS_ROW(name, text) {#name, text},
    LN_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

const char *ln_status_name(ln_status status) {
    if (status == LN_NEED_VALUE || status == LN_MORE) {
        return "SIGNAL";
    }
    return (unsigned)status < LN_STATUS_COUNT ? status_rows[status].name : "UNKNOWN";
}

const char *ln_status_text(ln_status status) {
    if (status == LN_NEED_VALUE || status == LN_MORE) {
        return "a signal between rooms";
    }
    return (unsigned)status < LN_STATUS_COUNT ? status_rows[status].text : "an unknown status code";
}
