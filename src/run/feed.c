/* Feeding a run: matching what the caller gives against what the model declares. */
#include "run/feed.h"

#include <string.h>

static const ln_value_info *input_info(const ln_session *session, int index) {
    return ln_info(session->model, session->model->graph->inputs[index]);
}

/* Symbolic dimensions take any size; a declared number must match. */
static ln_status check_shape(ln_session *session, const ln_value_info *info, const ln_shape *shape) {
    char text[LN_SHAPE_TEXT_BYTES];
    const ln_type *type = &info->type;
    if (type->kind != LN_KIND_TENSOR || type->rank < 0) {
        return LN_OK;
    }
    LN_CHECK(&session->context, shape->rank == type->rank, INVALID_FEED,
             "input '%s' has rank %d, the model declares rank %d; got shape %s", info->name, (int)shape->rank,
             (int)type->rank, ln_shape_text(shape, text));
    for (int i = 0; i < shape->rank; ++i) {
        LN_CHECK(&session->context, type->dims[i] < 0 || type->dims[i] == shape->dims[i], INVALID_FEED,
                 "input '%s' has shape %s, the model declares %lld for dimension %d", info->name,
                 ln_shape_text(shape, text), (long long)type->dims[i], i);
    }
    return LN_OK;
}

static ln_status check_feed(ln_session *session, int index, ln_dtype dtype, const ln_shape *shape) {
    const ln_value_info *info = input_info(session, index);
    const ln_kind kind = info->type.kind;
    LN_CHECK(&session->context, !info->constant, INVALID_FEED,
             "input '%s' is a constant of the model; the option overridable lets a feed replace it",
             info->name);
    LN_CHECK(&session->context, kind == LN_KIND_TENSOR || kind == LN_KIND_OPTIONAL || kind == LN_KIND_NONE,
             INVALID_FEED, "input '%s' is not a tensor", info->name);
    LN_CHECK(&session->context,
             kind != LN_KIND_TENSOR || info->type.dtype == LN_UNDEFINED || info->type.dtype == dtype,
             INVALID_FEED, "input '%s' has type %s, the model declares %s", info->name, ln_dtype_name(dtype),
             ln_dtype_name(info->type.dtype));
    return check_shape(session, info, shape);
}

ln_status ln_feed_clear(ln_session *session) {
    LN_CHECK(&session->context, session->stage == LN_STAGE_READY, INVALID_ARGUMENT,
             "the session is not ready to run");
    LN_CHECK(&session->context, !session->running, SESSION_BUSY, "another run of this session is under way");
    ln_error_clear(&session->context);
    session->finished = false;
    session->rehearsed = NULL;
    ln_arena_reset(&session->texts);
    memcpy(session->fed, session->bound, (size_t)session->model->graph->n_inputs * sizeof *session->fed);
    return LN_OK;
}

static ln_status check_index(ln_session *session, int index) {
    const int count = session->stage == LN_STAGE_READY ? session->model->graph->n_inputs : 0;
    LN_CHECK(&session->context, index >= 0 && index < count, INVALID_FEED,
             "there is no input %d, the model has %d", index, count);
    LN_CHECK(&session->context, !session->running, SESSION_BUSY, "another run of this session is under way");
    LN_CHECK(&session->context, !session->bound[index], INVALID_FEED,
             "input '%s' is bound to a value: a feed has to wait until it is unbound",
             input_info(session, index)->name);
    return LN_OK;
}

ln_status ln_feed_bind_input(ln_session *session, int index, bool bound) {
    const bool was = index >= 0 && session->stage == LN_STAGE_READY &&
                     index < session->model->graph->n_inputs && session->bound[index];
    if (was) {
        session->bound[index] = session->fed[index] = false;
    }
    LN_TRY(check_index(session, index));
    if (bound) {
        const ln_value *value = &session->feeds[index];
        /* Strings' characters are of one run. */
        LN_CHECK(&session->context,
                 session->fed[index] && value->kind == LN_KIND_TENSOR && value->dtype != LN_STRING,
                 INVALID_FEED, "input '%s' is bound to a tensor of numbers only",
                 input_info(session, index)->name);
        session->bound[index] = true;
    }
    return LN_OK;
}

ln_status ln_feed_tensor(ln_session *session, int index, int dtype, int rank, const int64_t *dims) {
    LN_TRY(check_index(session, index));
    LN_CHECK(&session->context, ln_dtype_valid(dtype), INVALID_FEED, "there is no data type %d", dtype);
    LN_CHECK(&session->context, rank >= 0 && rank <= LN_MAX_RANK, LIMIT_EXCEEDED,
             "rank %d, at most %d is supported", rank, LN_MAX_RANK);
    const ln_shape shape = ln_shape_of(rank, dims);
    LN_CHECK(&session->context, ln_shape_count(&shape) >= 0, INVALID_FEED,
             "the dimensions of input %d are not usable", index);
    LN_TRY(check_feed(session, index, (ln_dtype)dtype, &shape));
    LN_TRY(ln_value_make(&session->context, &session->feeds[index], (ln_dtype)dtype, &shape));
    if (dtype == LN_STRING) {
        memset(session->feeds[index].data, 0, ln_value_bytes(&session->feeds[index]));
    }
    session->fed[index] = true;
    return LN_OK;
}

ln_status ln_feed_value(ln_session *session, int index, ln_value *value) {
    LN_TRY(check_index(session, index));
    const ln_value_info *info = input_info(session, index);
    const ln_kind kind = info->type.kind;
    if (value->kind == LN_KIND_TENSOR) {
        LN_TRY(check_feed(session, index, value->dtype, &value->shape));
    } else {
        LN_CHECK(&session->context, kind == value->kind || kind == LN_KIND_OPTIONAL || kind == LN_KIND_NONE,
                 INVALID_FEED, "input '%s' is of another kind than the model declares", info->name);
    }
    LN_TRY(ln_value_keep(&session->context, &session->feeds[index], value));
    session->fed[index] = true;
    return LN_OK;
}

ln_status ln_feed_bind(ln_session *session) {
    const ln_graph *graph = session->model->graph;
    for (int32_t i = 0; i < graph->n_inputs; ++i) {
        const ln_value_info *info = ln_info(session->model, graph->inputs[i]);
        LN_CHECK(&session->context, session->fed[i] || info->fallback || info->type.kind == LN_KIND_OPTIONAL,
                 INVALID_FEED, "input '%s' was not fed", info->name);
        if (!session->fed[i] && !info->fallback) {
            ln_value_release(&session->context, &session->feeds[i]);
            LN_TRY(ln_value_make_items(&session->context, &session->feeds[i], LN_KIND_OPTIONAL, LN_UNDEFINED,
                                       1));
        }
        session->slots[graph->inputs[i]] =
            session->fed[i] || !info->fallback ? &session->feeds[i] : info->fallback;
    }
    return LN_OK;
}
