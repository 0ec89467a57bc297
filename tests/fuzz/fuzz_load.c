/* libFuzzer entry: bytes to a session that plans and runs. The seeds are the small models among the tests' data; the length of
 * the file picks what the unknown dimensions of inputs become. Whatever the bytes say, the answer is a run or an
 * error with a message, within a bound of memory and of moves. */
#include <stdlib.h>
#include <string.h>

#include "../native/session_run.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_LIMIT = 64 << 20, MOVES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ln_session *session = session_load(data, size, NULL, MEMORY_LIMIT, 0);
    if (!session) {
        return 0;
    }
    if (session->stage == LN_STAGE_READY) {
        session_rehearse(session, size % 2 ? MOVES : 1);
        for (int run = 0; run < 2; ++run) {
            const ln_status status = session_run(session, (int64_t)(size % 5) + run, MOVES);
            if (status != LN_OK && status != LN_MORE && ln_error_message(session)[0] == 0) {
                abort();
            }
            ln_error_clear(&session->context);
        }
    } else if (ln_error_message(session)[0] == 0) {
        abort();
    }
    ln_session_free(session);
    return 0;
}
