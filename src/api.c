/* linnet.h over the rooms below: sessions, runs, values and errors as other languages see them. */
#include "linnet.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/reader.h"
#include "run/describe.h"
#include "run/feed.h"
#include "run/rehearse.h"
#include "run/session.h"
#include "simd/kernels.h"

const char *ln_version(void) {
    return "0.1.0";
}

int ln_self_check(void) {
    return ln_kernels_self_check();
}

const char *ln_artifact(void) {
    return ln_kernels_build();
}

const char *ln_operators_json(void) {
    static ln_context context;
    static ln_text text;
    ln_text_free(&text);
    ln_context_init(&context);
    ln_text_init(&text, &context);
    ln_catalogue(&text);
    return text.failed ? NULL : text.data;
}

void *ln_malloc(size_t bytes) {
    return bytes <= SIZE_MAX - 63 ? aligned_alloc(64, bytes ? (bytes + 63) & ~(size_t)63 : 64) : NULL;
}

void ln_release(void *block) {
    free(block);
}

/* ---- Session: load ---- */

ln_session *ln_session_new(ln_pool *pool) {
    ln_session *session = calloc(1, sizeof *session);
    if (!session) {
        return NULL;
    }
    ln_context_init(&session->context);
    ln_arena_init(&session->texts, &session->context, LN_MEMORY_WORKSPACE);
    ln_arena_init(&session->planning, &session->context, LN_MEMORY_PLAN);
    ln_text_init(&session->text, &session->context);
    session->pool = pool;
    session->options.level = 2;
    session->options.winograd = true;
    session->reader = ln_reader_new(&session->context);
    session->stage = session->reader ? LN_STAGE_LOADING : LN_STAGE_FAILED;
    return session;
}

void ln_session_free(ln_session *session) {
    if (!session) {
        return;
    }
    ln_context *context = &session->context;
    ln_execute_abandon(session);
    for (int32_t i = 0; session->segments && i < session->program.n_graphs; ++i) {
        ln_segment_free(context, &session->segments[i]);
    }
    for (int32_t i = 0; session->feeds && i < session->model->graph->n_inputs; ++i) {
        ln_value_release(context, &session->feeds[i]);
    }
    void *const blocks[] = {session->slots,        session->local_index, session->uses_seen, session->feeds,
                            session->fed,          session->bound,       session->segments,  session->frames,
                            session->task_scratch, session->records};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; ++i) {
        ln_free(context, blocks[i]);
    }
    ln_arena_free(&session->texts);
    ln_arena_free(&session->planning);
    ln_text_free(&session->text);
    if (session->reader) {
        ln_reader_free(session->reader);
    }
    ln_program_free(&session->program);
    if (session->model) {
        ln_model_free(session->model);
    }
    free(session);
}

static ln_status check_stage(ln_session *session, ln_session_stage stage) {
    LN_CHECK(&session->context, session->stage != LN_STAGE_FAILED, INVALID_ARGUMENT,
             "the session failed to load");
    LN_CHECK(&session->context, session->stage == stage, INVALID_ARGUMENT,
             "this call does not fit the session's stage");
    return LN_OK;
}

/* A failure while loading is final. */
static ln_status loading(ln_session *session, ln_status status) {
    if (status != LN_OK) {
        session->stage = LN_STAGE_FAILED;
    }
    return status;
}

ln_status ln_session_option(ln_session *session, const char *key, double value) {
    if (strcmp(key, "optimize") == 0) {
        LN_CHECK(&session->context, value >= 0 && value <= 2, INVALID_ARGUMENT,
                 "option optimize takes 0, 1 or 2");
        session->options.level = (int)value;
    } else if (strcmp(key, "overridable") == 0) {
        session->options.overridable = value != 0;
    } else if (strcmp(key, "winograd") == 0) {
        session->options.winograd = value != 0;
    } else if (strcmp(key, "profile") == 0) {
        session->profile = value != 0;
    } else if (strcmp(key, "seed") == 0) {
        session->seed = value >= 0 && value < 18446744073709551615.0 ? (uint64_t)value : 0;
        session->random_state = session->seed;
    } else {
        return ln_fail(&session->context, LN_INVALID_ARGUMENT, "there is no option '%s'", key);
    }
    return LN_OK;
}

ln_status ln_session_expect(ln_session *session, double bytes) {
    LN_TRY(check_stage(session, LN_STAGE_LOADING));
    if (bytes > 0 && bytes < 9007199254740992.0) {
        ln_reader_expect(session->reader, (uint64_t)bytes);
    }
    return LN_OK;
}

ln_status ln_session_push(ln_session *session, const void *bytes, size_t length) {
    LN_TRY(check_stage(session, LN_STAGE_LOADING));
    return loading(session, ln_reader_push(session->reader, bytes, length));
}

ln_status ln_session_finish(ln_session *session) {
    LN_TRY(check_stage(session, LN_STAGE_LOADING));
    LN_TRY(loading(session, ln_reader_finish(session->reader, &session->model)));
    session->stage = LN_STAGE_LOADED;
    return LN_OK;
}

const char *ln_session_external(ln_session *session, int index) {
    if (session->stage != LN_STAGE_LOADED) {
        return NULL;
    }
    if (index < 0 || index >= ln_reader_external_count(session->reader)) {
        return NULL;
    }
    const ln_external *external = ln_reader_external(session->reader, index);
    session->text.length = 0;
    ln_text_printf(&session->text, "%s\t%llu\t%llu", external->location, (unsigned long long)external->offset,
                   (unsigned long long)external->length);
    return session->text.data;
}

void *ln_session_external_target(ln_session *session, int index) {
    return session->stage == LN_STAGE_LOADED ? ln_reader_external_target(session->reader, index) : NULL;
}

ln_status ln_session_external_done(ln_session *session, int index) {
    LN_TRY(check_stage(session, LN_STAGE_LOADED));
    return ln_reader_external_done(session->reader, index);
}

/* Tables of a ready session, all zero. */
static ln_status make_tables(ln_session *session) {
    ln_context *context = &session->context;
    const size_t values = (size_t)session->model->n_values;
    const size_t inputs = (size_t)session->model->graph->n_inputs;
    const size_t graphs = (size_t)session->program.n_graphs;
    session->slots = ln_alloc_zero(context, values * sizeof *session->slots, LN_MEMORY_MODEL);
    session->local_index = ln_alloc_zero(context, values * sizeof *session->local_index, LN_MEMORY_MODEL);
    session->uses_seen = ln_alloc_zero(context, values * sizeof *session->uses_seen, LN_MEMORY_MODEL);
    session->feeds = ln_alloc_zero(context, inputs * sizeof *session->feeds, LN_MEMORY_MODEL);
    session->fed = ln_alloc_zero(context, inputs * sizeof *session->fed, LN_MEMORY_MODEL);
    session->bound = ln_alloc_zero(context, inputs * sizeof *session->bound, LN_MEMORY_MODEL);
    session->segments = ln_alloc_zero(context, graphs * sizeof *session->segments, LN_MEMORY_MODEL);
    const bool made = session->slots && session->local_index && session->uses_seen && session->feeds &&
                      session->fed && session->bound && session->segments;
    return made ? LN_OK : LN_OUT_OF_MEMORY;
}

ln_status ln_session_compile(ln_session *session) {
    LN_TRY(check_stage(session, LN_STAGE_LOADED));
    LN_TRY(loading(session, ln_reader_external_check(session->reader)));
    ln_reader_free(session->reader);
    session->reader = NULL;
    LN_TRY(loading(session,
                   ln_compile(&session->program, &session->context, session->model, &session->options)));
    LN_TRY(loading(session, make_tables(session)));
    session->stage = LN_STAGE_READY;
    return LN_OK;
}

ln_status ln_session_rehearse(ln_session *session, int budget) {
    LN_TRY(check_stage(session, LN_STAGE_READY));
    return ln_rehearse(session, budget);
}

/* ---- Session: what it is ---- */

const char *ln_session_describe(ln_session *session) {
    return session->model ? ln_describe(session) : NULL;
}

const char *ln_session_inspect(ln_session *session) {
    return session->model ? ln_inspect(session) : NULL;
}

const char *ln_session_steps(ln_session *session) {
    return ln_describe_steps(session);
}

const char *ln_session_profile(ln_session *session) {
    return ln_describe_profile(session);
}

int ln_session_profile_count(const ln_session *session) {
    return session->n_records;
}

const char *ln_session_memory(ln_session *session) {
    return ln_describe_memory(session);
}

/* ---- Session: run ---- */

ln_status ln_run_begin(ln_session *session) {
    return ln_feed_clear(session);
}

ln_status ln_run_feed(ln_session *session, int index, int dtype, int rank, const int64_t *dims) {
    return ln_feed_tensor(session, index, dtype, rank, dims);
}

ln_status ln_run_feed_value(ln_session *session, int index, ln_value *value) {
    const ln_status status = ln_feed_value(session, index, value);
    ln_value_drop(session, value);
    return status;
}

ln_value *ln_run_input(ln_session *session, int index) {
    const bool fed =
        session->stage == LN_STAGE_READY && index >= 0 && index < session->model->graph->n_inputs;
    return fed && session->fed[index] ? &session->feeds[index] : NULL;
}

ln_status ln_run_bind(ln_session *session, int index, int bound) {
    return ln_feed_bind_input(session, index, bound != 0);
}

ln_status ln_run_step(ln_session *session, int budget) {
    LN_TRY(check_stage(session, LN_STAGE_READY));
    if (!session->running) {
        LN_TRY(ln_feed_bind(session));
        LN_TRY(ln_execute_begin(session));
        session->running = true;
    }
    const ln_status status = ln_execute_some(session, budget);
    session->running = status == LN_MORE;
    session->finished = status == LN_OK;
    return status;
}

void ln_run_cancel(ln_session *session) {
    ln_execute_abandon(session);
    session->running = false;
}

ln_value *ln_run_output(ln_session *session, int index) {
    if (!session->finished || index < 0 || index >= session->model->graph->n_outputs) {
        return NULL;
    }
    return ln_session_value(session, session->model->graph->outputs[index]);
}

/* ---- Values ---- */

#if defined(__wasm__)
/* JavaScript reads these fields where they lie (js/values.js). */
_Static_assert(offsetof(ln_value, kind) == 0 && offsetof(ln_value, dtype) == 4 &&
                   offsetof(ln_value, shape.rank) == 8 && offsetof(ln_value, shape.dims) == 16 &&
                   offsetof(ln_value, data) == 16 + 8 * LN_MAX_RANK,
               "js/values.js knows another layout");
#endif

int ln_value_kind_of(const ln_value *value) {
    return (int)value->kind;
}

int ln_value_dtype_of(const ln_value *value) {
    return (int)value->dtype;
}

int ln_value_rank_of(const ln_value *value) {
    return value->shape.rank;
}

const int64_t *ln_value_dims_of(const ln_value *value) {
    return value->shape.dims;
}

void *ln_value_data_of(const ln_value *value) {
    return value->data;
}

size_t ln_value_bytes_of(const ln_value *value) {
    return ln_value_bytes(value);
}

int ln_value_items_of(const ln_value *value) {
    return ln_value_items(value);
}

ln_value *ln_value_item_of(const ln_value *value, int index) {
    const bool inside = index >= 0 && index < ln_value_items(value);
    return inside ? &value->owner->items[index] : NULL;
}

ln_value *ln_value_new_tensor(ln_session *session, int dtype, int rank, const int64_t *dims) {
    ln_context *context = &session->context;
    if (!ln_dtype_valid(dtype) || rank < 0 || rank > LN_MAX_RANK) {
        ln_fail(context, LN_INVALID_FEED, "there is no data type %d, or no rank %d", dtype, rank);
        return NULL;
    }
    const ln_shape shape = ln_shape_of(rank, dims);
    ln_value *value = ln_alloc_zero(context, sizeof *value, LN_MEMORY_WORKSPACE);
    if (value && ln_value_make(context, value, (ln_dtype)dtype, &shape) != LN_OK) {
        ln_free(context, value);
        return NULL;
    }
    if (value && dtype == LN_STRING) {
        memset(value->data, 0, ln_value_bytes(value));
    }
    return value;
}

ln_value *ln_value_new_items(ln_session *session, int kind, int dtype) {
    ln_context *context = &session->context;
    if (kind < LN_KIND_SEQUENCE || kind > LN_KIND_SPARSE) {
        ln_fail(context, LN_INVALID_FEED, "there is no collection of kind %d", kind);
        return NULL;
    }
    ln_value *value = ln_alloc_zero(context, sizeof *value, LN_MEMORY_WORKSPACE);
    if (value && ln_value_make_items(context, value, (ln_kind)kind, (ln_dtype)dtype, 4) != LN_OK) {
        ln_free(context, value);
        return NULL;
    }
    return value;
}

ln_status ln_value_add_item(ln_session *session, ln_value *collection, ln_value *item) {
    const ln_status status = ln_value_append(&session->context, collection, item);
    ln_value_drop(session, item);
    return status;
}

ln_status ln_value_set_string(ln_session *session, ln_value *value, int64_t index, const char *text,
                              size_t length) {
    LN_CHECK(&session->context,
             value->kind == LN_KIND_TENSOR && value->dtype == LN_STRING && index >= 0 &&
                 index < ln_value_count(value),
             INVALID_FEED, "there is no string element %lld", (long long)index);
    const char *copy = ln_arena_text(&session->texts, text, length);
    if (!copy) {
        return LN_OUT_OF_MEMORY;
    }
    ((ln_string *)value->data)[index] = (ln_string){copy, length};
    return LN_OK;
}

void ln_value_drop(ln_session *session, ln_value *value) {
    if (value) {
        ln_value_release(&session->context, value);
        ln_free(&session->context, value);
    }
}

/* ---- Errors ---- */

int ln_error_code(const ln_session *session) {
    return (int)session->context.error.code;
}

const char *ln_error_name(const ln_session *session) {
    return ln_status_name(session->context.error.code);
}

const char *ln_error_message(const ln_session *session) {
    return session->context.error.message;
}

const char *ln_error_node(const ln_session *session) {
    return session->context.error.node;
}

const char *ln_error_op(const ln_session *session) {
    return session->context.error.op;
}

int ln_error_opset(const ln_session *session) {
    return session->context.error.opset;
}
