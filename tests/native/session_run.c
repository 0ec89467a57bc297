/* Sessions from bytes, on made-up inputs. */
#include "session_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ln_session *session_load(const void *bytes, size_t length, ln_pool *pool, size_t limit, uint64_t fail_at) {
    ln_session *session = ln_session_new(pool);
    if (!session) {
        return NULL;
    }
    session->context.memory.limit = limit;
    session->context.memory.fail_at = fail_at;
    if (ln_session_push(session, bytes, length) == LN_OK && ln_session_finish(session) == LN_OK) {
        for (int i = 0; ln_session_external(session, i); ++i) {
            void *target = ln_session_external_target(session, i);
            if (target && ln_session_external_done(session, i) != LN_OK) {
                break;
            }
        }
        (void)ln_session_compile(session);
    }
    return session;
}

static void fill(ln_value *value) {
    const int64_t count = ln_value_count(value);
    memset(value->data, value->dtype == LN_BOOL, ln_value_bytes(value));
    for (int64_t i = 0; ln_dtype_is_float(value->dtype) && i < count; ++i) {
        const float half = 0.5F;
        ln_store_f32(value->dtype, value->data, i, 1, &half);
    }
}

static ln_status feed(ln_session *session, int index, int64_t dim) {
    const ln_type *type = &ln_info(session->model, session->model->graph->inputs[index])->type;
    int64_t dims[LN_MAX_RANK] = {0};
    const int rank = type->rank > LN_MAX_RANK ? LN_MAX_RANK : type->rank < 0 ? 1 : type->rank;
    for (int i = 0; i < rank; ++i) {
        dims[i] = type->rank >= 0 && type->dims[i] >= 0 ? type->dims[i] : dim;
    }
    LN_TRY(ln_run_feed(session, index, (int)type->dtype, rank, dims));
    if (type->dtype != LN_STRING) {
        fill(ln_run_input(session, index));
    }
    return LN_OK;
}

ln_status session_run(ln_session *session, int64_t dim, int most) {
    LN_TRY(ln_run_begin(session));
    for (int i = 0; i < session->model->graph->n_inputs; ++i) {
        LN_TRY(feed(session, i, dim));
    }
    ln_status status = ln_run_step(session, most > 0 ? 1 : 0);
    for (int i = 1; status == LN_MORE && i < most; ++i) {
        status = ln_run_step(session, 1);
    }
    if (status == LN_MORE) {
        ln_run_cancel(session);
    }
    return status;
}

void *session_read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    void *bytes = size > 0 ? malloc((size_t)size) : NULL;
    *length = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
    fclose(file);
    return bytes;
}

void session_rehearse(ln_session *session, int most) {
    for (int i = 0; i < most && ln_session_rehearse(session, 3) == LN_MORE; ++i) {
    }
}
