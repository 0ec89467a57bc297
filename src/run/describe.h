/* What a session says of itself, as JSON (describe.c, inspect.c). */
#ifndef LN_RUN_DESCRIBE_H
#define LN_RUN_DESCRIBE_H

#include "run/session.h"

/* Each fills session->text and returns it; NULL after recording OUT_OF_MEMORY. */
const char *ln_describe(ln_session *session);
const char *ln_inspect(ln_session *session);
const char *ln_describe_steps(ln_session *session);
const char *ln_describe_profile(ln_session *session);
const char *ln_describe_memory(ln_session *session);
/* Appends the operators of this build: rows with versions, signatures and types, and the newest operator sets. */
void ln_catalogue(ln_text *text);

#endif
