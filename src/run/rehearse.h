/* Having things ready for a first run (rehearse.c). */
#ifndef LN_RUN_REHEARSE_H
#define LN_RUN_REHEARSE_H

#include "run/session.h"

/* Goes on with the rehearsal of a session that is ready, for as many steps as `budget` says: LN_MORE or, at its end,
 * LN_OK. It begins anew after a run. */
ln_status ln_rehearse(ln_session *session, int budget);

#endif
