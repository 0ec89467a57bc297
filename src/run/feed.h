/* Feeding a run (feed.c). */
#ifndef LN_RUN_FEED_H
#define LN_RUN_FEED_H

#include "run/session.h"

/* Begins a run: forgets the feeds of the one before. */
ln_status ln_feed_clear(ln_session *session);
/* Input `index` becomes a tensor of this type and shape, whose bytes the caller then fills. */
ln_status ln_feed_tensor(ln_session *session, int index, int dtype, int rank, const int64_t *dims);
/* Input `index` becomes a holder of the value. */
ln_status ln_feed_value(ln_session *session, int index, ln_value *value);
/* Keeps what input `index` was fed for the runs to come, or no longer. */
ln_status ln_feed_bind_input(ln_session *session, int index, bool bound);
/* Checks that nothing is missing and points the slots of the graph's inputs at the feeds. */
ln_status ln_feed_bind(ln_session *session);

#endif
