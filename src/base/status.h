/* Status codes and the error record.
 *
 * One X-macro list gives the enum, the stable names and the table that JavaScript reads. A function that can
 * fail returns ln_status; the first failure fills the error record of the context with the sentence a person
 * reads, and with the node and operator it belongs to where there is one.
 */
#ifndef LN_BASE_STATUS_H
#define LN_BASE_STATUS_H

#define LN_STATUS_LIST(X)                                                                                    \
    X(OK, "no error")                                                                                        \
    X(INVALID_ARGUMENT, "an argument of the API is not usable")                                              \
    X(INVALID_MODEL, "the bytes are not a valid ONNX model")                                                 \
    X(INVALID_GRAPH, "the graph breaks a rule of the standard")                                              \
    X(INVALID_ATTRIBUTE, "an attribute is missing, of the wrong type or out of range")                       \
    X(INVALID_TYPE, "an input of a node has a type that the operator does not take")                         \
    X(INVALID_SHAPE, "an input of a node has a shape that the operator does not take")                       \
    X(INVALID_VALUE, "an input of a node holds a value that the operator does not take")                     \
    X(INVALID_FEED, "a fed input has an unknown name or the wrong type or shape")                            \
    X(UNSUPPORTED_OP, "the operator is not known, or not in this build")                                     \
    X(UNSUPPORTED_OPSET, "the operator-set version is not known")                                            \
    X(UNSUPPORTED, "a valid feature that this build cannot run")                                             \
    X(EXTERNAL_DATA, "external data is missing or has the wrong size")                                       \
    X(LIMIT_EXCEEDED, "a limit on nesting, rank or size is exceeded")                                        \
    X(OUT_OF_MEMORY, "memory ran out")                                                                       \
    X(ABORTED, "the caller asked to stop")                                                                   \
    X(SESSION_BUSY, "another run of this session is under way")                                              \
    X(THREAD_DIED, "a worker thread stopped")                                                                \
    X(INTERNAL, "a rule of linnet's own is broken")

typedef enum ln_status {
#define LN_STATUS_ENUM(name, text) LN_##name,
    LN_STATUS_LIST(LN_STATUS_ENUM)
#undef LN_STATUS_ENUM
        LN_STATUS_COUNT,
    /* Signals between rooms, never seen outside. */
    LN_NEED_VALUE = 100, /* infer wants the bytes of an input that are not known before the run */
    LN_MORE = 101        /* the run is not finished; call again */
} ln_status;

/* The stable name of a code: "INVALID_MODEL". */
const char *ln_status_name(ln_status status);
/* One sentence on what a code means. */
const char *ln_status_text(ln_status status);

enum { LN_ERROR_NAME_BYTES = 128, LN_ERROR_TEXT_BYTES = 512 };

/* The first error of a context. Empty strings where a part does not apply. */
typedef struct ln_error {
    ln_status code;
    int opset; /* operator-set version the node was read with, 0 where none applies */
    char node[LN_ERROR_NAME_BYTES];
    char op[LN_ERROR_NAME_BYTES];
    char message[LN_ERROR_TEXT_BYTES];
} ln_error;

/* Passes a failure (or a signal) on to the caller. */
#define LN_TRY(expression)                                                                                   \
    do {                                                                                                     \
        const ln_status ln_try_status = (expression);                                                        \
        if (ln_try_status != LN_OK) {                                                                        \
            return ln_try_status;                                                                            \
        }                                                                                                    \
    } while (0)

/* Fails with LN_<code> and a formatted sentence unless the condition holds. */
#define LN_CHECK(context, condition, code, ...)                                                              \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            return ln_fail((context), LN_##code, __VA_ARGS__);                                               \
        }                                                                                                    \
    } while (0)

#endif
