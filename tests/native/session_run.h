/* Loads a model from bytes and runs it on made-up inputs: what session tests and the fuzz target share. */
#ifndef LN_TEST_SESSION_RUN_H
#define LN_TEST_SESSION_RUN_H

#include "linnet.h"
#include "run/session.h"

/* A session in whatever state loading left it; NULL only when malloc fails. limit and fail_at as in ln_memory_stats; 0 for none. */
ln_session *session_load(const void *bytes, size_t length, ln_pool *pool, size_t limit, uint64_t fail_at);
/* Feeds every input (unknown dimensions become `dim`, floats 0.5, integers 0, bools true) and runs, at most `most` moves of the
 * executor (0: no bound). */
ln_status session_run(ln_session *session, int64_t dim, int most);
/* A file's bytes, or NULL; the caller frees them. */
void *session_read_file(const char *path, size_t *length);

/* Rehearses the session, at most `most` times three steps. */
void session_rehearse(ln_session *session, int most);

#endif
