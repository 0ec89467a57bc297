/* linnet.h: the public C API of linnet, a runtime for ONNX models.
 *
 * A session is a model ready to run. Bytes go in through ln_session_push in chunks of any size, ln_session_compile
 * makes the session ready, then runs follow: ln_session_feed for every input, ln_session_step until it answers
 * LN_OK, ln_session_output for the results. The functions marked LN_API are the exports of the wasm module; JavaScript
 * is one of their callers. Types are opaque. No function may be called with a session that ln_session_free got.
 * Every ln_status other than LN_OK leaves a record that ln_error_* reads; a session whose load failed can only be freed,
 * a session whose run failed can run again.
 */
#ifndef LINNET_H
#define LINNET_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#if defined(__wasm__)
#define LN_API(name) __attribute__((export_name(#name))) name
#else
#define LN_API(name) name
#endif

typedef struct ln_session ln_session;
typedef struct ln_value ln_value;
typedef struct ln_pool ln_pool;

/* ---- Library --------------------------------------------------------------------------------------- */

/* "0.1.0" */
const char *LN_API(ln_version)(void);
/* 1 when the relaxed-SIMD instructions of this build compute what the kernels expect, 0 when an engine gets them
 * wrong; always 1 for builds without them. */
int LN_API(ln_self_check)(void);
/* "relaxed" or "simd": how the kernels of this build were compiled. */
const char *LN_API(ln_artifact)(void);
/* JSON: {"operators":[{"name","domain","since","until","inputs","outputs","types"}...],"opsets":{...}}. The
 * text stays valid until the next call. NULL when memory ran out. */
const char *LN_API(ln_operators_json)(void);

/* ---- Memory for callers ------------------------------------------------------------------------------ */

/* Raw memory for passing bytes in; NULL when memory ran out. 64-byte aligned. */
void *LN_API(ln_malloc)(size_t bytes);
void LN_API(ln_release)(void *block);

/* ---- Threads ----------------------------------------------------------------------------------------- */

/* A pool of `threads` threads, the caller included. In wasm the caller starts threads - 1 workers, each of which
 * instantiates the module on the same memory and calls ln_pool_worker with its index 1..threads-1; natively they
 * are started here. NULL when memory ran out. */
ln_pool *LN_API(ln_pool_new)(int threads);
/* The loop of a worker: returns when the pool is closed. */
void LN_API(ln_pool_worker)(ln_pool *pool, int index);
/* Stops the workers; wasm workers have left ln_pool_worker when ln_pool_live answers 0, and then ln_pool_free. */
void LN_API(ln_pool_close)(ln_pool *pool);
int LN_API(ln_pool_live)(ln_pool *pool);
void LN_API(ln_pool_free)(ln_pool *pool);
/* Marks the pool as broken: a worker died. Runs end with THREAD_DIED. */
void LN_API(ln_pool_poison)(ln_pool *pool);

/* ---- Session: load ------------------------------------------------------------------------------------ */

/* pool may be NULL: one thread. NULL when memory ran out. */
ln_session *LN_API(ln_session_new)(ln_pool *pool);
/* Frees the session and all that it holds. */
void LN_API(ln_session_free)(ln_session *session);

/* Loading options, set before the first push: "optimize" 0..2 (0: as written, 1: folding, 2: all; default 2),
 * "overridable" 0/1: initializers that are also inputs may be fed; "winograd" 0/1 (default 1):
 * convolutions of stride 1 may take Winograd's forms, faster for up to about three times the rounding error,
 * and large products one level of Strassen's scheme, for about twice that of the plain sum;
 * "profile" 0/1, "seed" n. INVALID_ARGUMENT for an unknown key. */
ln_status LN_API(ln_session_option)(ln_session *session, const char *key, double value);
/* Total bytes of the model if known, so that a truncated file is found early; 0 for unknown. */
ln_status LN_API(ln_session_expect)(ln_session *session, double bytes);
/* The next bytes of the model file. */
ln_status LN_API(ln_session_push)(ln_session *session, const void *bytes, size_t length);
/* Ends the model's bytes: the graph is built. */
ln_status LN_API(ln_session_finish)(ln_session *session);
/* External data that the model refers to, one "location\toffset\tlength" entry by index: NULL beyond the last.
 * Offsets and lengths are decimal; length is what the tensor needs. Valid between finish and compile. */
const char *LN_API(ln_session_external)(ln_session *session, int index);
/* Where the bytes of external entry `index` go: `length` bytes; NULL when memory ran out. */
void *LN_API(ln_session_external_target)(ln_session *session, int index);
ln_status LN_API(ln_session_external_done)(ln_session *session, int index);
/* Resolves operators, optimises, packs weights. The session is then ready to run. */
ln_status LN_API(ln_session_compile)(ln_session *session);
/* Before the first run, optional: takes what that has to do beside computing, planning and having the engine compile the
 * kernels, as far as the declared shapes of the inputs tell. LN_MORE after `budget` moves: call again, or leave it; LN_OK
 * when there is no more to do, or nothing that can be done. */
ln_status LN_API(ln_session_rehearse)(ln_session *session, int budget);

/* ---- Session: what it is -------------------------------------------------------------------------------- */

/* JSON: inputs and outputs (name, kind, type, shape with numbers and symbols), metadata (producerName, ..., customProperties,
 * opsetImports, hasTrainingInfo), warnings. Valid until the next call on this session. NULL when memory ran out. */
const char *LN_API(ln_session_describe)(ln_session *session);
/* JSON of the optimised graph: operators with counts, unsupported operators, weights by type, packed weights, rewrites with how
 * often they fired. */
const char *LN_API(ln_session_inspect)(ln_session *session);
/* JSON: what the plans that ran last hold, step by step: graph, node, op, domain, types and shapes of inputs and outputs. */
const char *LN_API(ln_session_steps)(ln_session *session);
/* JSON: one record per step of the last profiled run: node, op, and time slots that the caller fills by clock. */
const char *LN_API(ln_session_profile)(ln_session *session);
/* Number of records of the profiled run so far: the time of a step belongs to the newest. */
int LN_API(ln_session_profile_count)(const ln_session *session);
/* JSON: live and peak bytes by kind, allocations so far, plans held, workspace bytes and the lower bound. */
const char *LN_API(ln_session_memory)(ln_session *session);

/* ---- Session: run ---------------------------------------------------------------------------------------- */

/* Begins feeding; clears the feeds of the run before. */
ln_status LN_API(ln_run_begin)(ln_session *session);
/* A value to fill for input `index`. Tensor: returns where the elements go (ln_value_data_of), of the given type and dims
 * (rank int64 values). INVALID_FEED for a wrong index, type or shape. */
ln_status LN_API(ln_run_feed)(ln_session *session, int index, int dtype, int rank, const int64_t *dims);
/* Feeds input `index` with a value built by the ln_value_* functions below; ownership passes to the session. */
ln_status LN_API(ln_run_feed_value)(ln_session *session, int index, ln_value *value);
/* The value that feeds input `index`. */
ln_value *LN_API(ln_run_input)(ln_session *session, int index);
/* Binds input `index` to the tensor that it was fed since ln_run_begin: the runs to come read that, and it takes no other feed;
 * 0 unbinds it. INVALID_FEED when it was fed nothing, or no tensor of numbers. */
ln_status LN_API(ln_run_bind)(ln_session *session, int index, int bound);
ln_status LN_API(ln_run_step)(ln_session *session, int budget);
/* Gives up a run that answered LN_MORE. */
void LN_API(ln_run_cancel)(ln_session *session);
/* Output `index` of the finished run: valid until the next ln_run_begin. */
ln_value *LN_API(ln_run_output)(ln_session *session, int index);

/* ---- Values ------------------------------------------------------------------------------------------------ */

int LN_API(ln_value_kind_of)(
    const ln_value *value); /* ln_kind: 0 none, 1 tensor, 2 sequence, 3 map, 4 optional, 5 sparse */
int LN_API(ln_value_dtype_of)(const ln_value *value); /* TensorProto.DataType */
int LN_API(ln_value_rank_of)(const ln_value *value);
const int64_t *LN_API(ln_value_dims_of)(const ln_value *value);
void *LN_API(ln_value_data_of)(const ln_value *value);
size_t LN_API(ln_value_bytes_of)(const ln_value *value);
int LN_API(ln_value_items_of)(const ln_value *value);
ln_value *LN_API(ln_value_item_of)(const ln_value *value, int index);
/* Builders, for feeds that are not plain tensors. Strings: ln_value_set_string fills element by element, copying. */
ln_value *LN_API(ln_value_new_tensor)(ln_session *session, int dtype, int rank, const int64_t *dims);
ln_value *LN_API(ln_value_new_items)(ln_session *session, int kind, int dtype);
ln_status LN_API(ln_value_add_item)(ln_session *session, ln_value *collection,
                                    ln_value *item); /* item is consumed */
ln_status LN_API(ln_value_set_string)(ln_session *session, ln_value *value, int64_t index, const char *text,
                                      size_t length);
void LN_API(ln_value_drop)(ln_session *session, ln_value *value);

/* ---- Errors -------------------------------------------------------------------------------------------------- */

int LN_API(ln_error_code)(const ln_session *session); /* ln_status */
const char *LN_API(ln_error_name)(const ln_session *session);
const char *LN_API(ln_error_message)(const ln_session *session);
const char *LN_API(ln_error_node)(const ln_session *session);
const char *LN_API(ln_error_op)(const ln_session *session);
int LN_API(ln_error_opset)(const ln_session *session);

#endif
