/* Sessions natively, under the sanitizers: loading, planning and running the project's own small models (and the corpus,
 * where there is one), with every allocation failing in turn, with several threads, and without any allocation
 * in a steady state. */
#include <dirent.h>

#include "../kernels/check.h"
#include "session_run.h"

#ifndef LN_TEST_DATA
#define LN_TEST_DATA "tests/data"
#endif

/* A Loop may go on for ever on made-up inputs: MOVES bounds it. */
enum { LIMIT = 1 << 30, SMALL_FILE = 300000, MOVES = 20000 };

typedef struct file {
    void *bytes;
    size_t length;
} file;

static bool open_model(file *into, const char *folder) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    into->bytes = session_read_file(path, &into->length);
    return into->bytes != NULL;
}

/* Outputs of two sessions on the same inputs, bit for bit. */
static bool same_outputs(ln_session *a, ln_session *b) {
    for (int i = 0; i < a->model->graph->n_outputs; ++i) {
        const ln_value *x = ln_run_output(a, i);
        const ln_value *y = ln_run_output(b, i);
        if (!x || !y || x->kind != y->kind || x->dtype != y->dtype || !ln_shape_equal(&x->shape, &y->shape)) {
            return false;
        }
        if (x->kind == LN_KIND_TENSOR && x->dtype != LN_STRING &&
            memcmp(x->data, y->data, ln_value_bytes(x)) != 0) {
            return false;
        }
    }
    return true;
}

/* Two shapes in turn, then the first again: the third and later runs of a shape allocate nothing. */
static void test_steady(const char *name, const file *model) {
    ln_session *session = session_load(model->bytes, model->length, NULL, LIMIT, 0);
    CHECK(session->stage == LN_STAGE_READY, "%s: %s", name, ln_error_message(session));
    if (session->stage == LN_STAGE_READY) {
        for (int i = 0; i < 4; ++i) {
            CHECK(session_run(session, 1 + i % 2, 0) == LN_OK, "%s: %s", name, ln_error_message(session));
        }
        const uint64_t before = session->context.memory.allocations;
        for (int i = 0; i < 4; ++i) {
            (void)session_run(session, 1 + i % 2, 0);
        }
        const uint64_t made = session->context.memory.allocations - before;
        CHECK(made == 0, "%s: a steady run made %llu allocations", name, (unsigned long long)made);
    }
    ln_session_free(session);
}

/* Slices of one step, a rehearsal before, and 1, 2 and 4 threads give the bits that a run in one go gives. */
static void test_same_bits(const char *name, const file *model) {
    ln_session *alone = session_load(model->bytes, model->length, NULL, LIMIT, 0);
    if (alone->stage != LN_STAGE_READY || session_run(alone, 2, MOVES) != LN_OK) {
        ln_session_free(alone);
        return;
    }
    for (int threads = 1; threads <= 4; threads *= 2) {
        ln_pool *pool = ln_pool_new(threads);
        ln_session *other = session_load(model->bytes, model->length, pool, LIMIT, 0);
        session_rehearse(other, threads * MOVES);
        const ln_status status = session_run(other, 2, threads == 2 ? MOVES : 0);
        CHECK(status == LN_OK && same_outputs(alone, other), "%s: %d threads: %s", name, threads,
              ln_error_message(other));
        ln_session_free(other);
        ln_pool_close(pool);
        ln_pool_free(pool);
    }
    ln_session_free(alone);
}

/* The n-th allocation fails, for every n: an error each time, nothing lost, and the session that fails in a run runs
 * again. */
static void test_out_of_memory(const char *name, const file *model) {
    for (uint64_t n = 1; n < 100000; n += 1 + n / 50) {
        ln_session *session = session_load(model->bytes, model->length, NULL, LIMIT, n);
        if (session->stage != LN_STAGE_READY) {
            CHECK(ln_error_code(session) == LN_OUT_OF_MEMORY || n <= 2, "%s: allocation %llu: %s", name,
                  (unsigned long long)n, ln_error_message(session));
            ln_session_free(session);
            continue;
        }
        const ln_status status = session_run(session, 2, 0);
        if (status == LN_OK) {
            ln_session_free(session);
            return; /* n is beyond the last allocation */
        }
        CHECK(status == LN_OUT_OF_MEMORY, "%s: allocation %llu: %s", name, (unsigned long long)n,
              ln_error_message(session));
        CHECK(session_run(session, 2, 0) == LN_OK, "%s: after allocation %llu: %s", name,
              (unsigned long long)n, ln_error_message(session));
        ln_session_free(session);
    }
}

/* Calls test for every folder with a model of at most `most` bytes below `root`. */
static void each_model(const char *root, size_t most, void (*test)(const char *name, const file *model)) {
    DIR *folder = opendir(root);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        char path[512];
        file model;
        (void)snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
        if (entry->d_name[0] != '.' && open_model(&model, path)) {
            if (model.length <= most) {
                test(entry->d_name, &model);
            }
            free(model.bytes);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

static bool has_block(const ln_local *local) {
    return local->source == LN_SOURCE_WORKSPACE && local->root == local && local->place == local &&
           !local->inside && local->block.bytes > 0;
}

/* The blocks of a plan, and of those that follow it, lie within the workspace, and apart from those in use at the same time. */
static void check_places(const char *name, const ln_segment *segment) {
    for (const ln_plan *plan = segment->plans; plan; plan = plan->next) {
        int outside = 0, shared = 0;
        for (const ln_local *a = plan->locals; a; a = a->next) {
            outside += has_block(a) && a->block.offset + a->block.bytes > plan->workspace_bytes;
            for (const ln_local *b = a->next; b && has_block(a); b = b->next) {
                shared += has_block(b) && a->block.first <= b->block.last &&
                          b->block.first <= a->block.last &&
                          a->block.offset < b->block.offset + b->block.bytes &&
                          b->block.offset < a->block.offset + a->block.bytes;
            }
        }
        CHECK(outside == 0 && shared == 0, "%s: %d blocks outside of the workspace, %d pairs share memory",
              name, outside, shared);
        check_places(name, &plan->after);
    }
}

static void test_loads(const char *name, const file *model) {
    ln_session *session = session_load(model->bytes, model->length, NULL, LIMIT, 0);
    CHECK(session->stage == LN_STAGE_READY, "%s: %s", name, ln_error_message(session));
    CHECK(ln_session_describe(session) && ln_session_inspect(session) && ln_session_memory(session), "%s",
          name);
    if (session->stage == LN_STAGE_READY) {
        session_rehearse(session, MOVES);
        CHECK(ln_error_code(session) == LN_OK, "%s: %s", name, ln_error_message(session));
        const ln_status status = session_run(session, 2, MOVES);
        CHECK(status == LN_OK || status == LN_MORE || ln_error_message(session)[0],
              "%s: status %d without a message", name, (int)status);
        for (int32_t graph = 0; graph < session->program.n_graphs; ++graph) {
            check_places(name, &session->segments[graph]);
        }
    }
    ln_session_free(session);
}

static void test_model(const char *folder) {
    file model;
    if (!open_model(&model, folder)) {
        CHECK(false, "%s is missing", folder);
        return;
    }
    test_steady(folder, &model);
    test_same_bits(folder, &model);
    test_out_of_memory(folder, &model);
    free(model.bytes);
}

int main(void) {
    test_model(LN_TEST_DATA "/distilbert");
    each_model(LN_TEST_DATA "/models", SMALL_FILE, test_loads);
    each_model(LN_TEST_DATA "/models", SMALL_FILE, test_same_bits);
    const char *corpora = getenv("LINNET_CORPORA");
    if (corpora) {
        char root[512];
        (void)snprintf(root, sizeof root, "%s/models", corpora);
        each_model(root, SMALL_FILE, test_loads);
    } else {
        printf("LINNET_CORPORA is not set: its models are skipped\n");
    }
    return check_report();
}
