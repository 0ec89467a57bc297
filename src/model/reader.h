/* From the bytes of a model file to an ln_model, in chunks of any size.
 *
 * The bytes of large tensors go straight to the block where they stay; everything else is decoded by
 * protobuf-c piece by piece into an arena that ln_reader_finish drops. A reader keeps its model's external
 * data entries, so it lives until they are filled. After a failure the reader and its context's error stay
 * as they are and only ln_reader_free is of use.
 */
#ifndef LN_MODEL_READER_H
#define LN_MODEL_READER_H

#include "graph/graph.h"

typedef struct ln_reader ln_reader;

/* Bytes of a tensor that are in another file. */
typedef struct ln_external {
    const char *location; /* as written in the model: relative to it */
    uint64_t offset;
    size_t length; /* bytes the tensor needs */
    const char *name;
    bool done;
} ln_external;

/* NULL when memory ran out. */
ln_reader *ln_reader_new(ln_context *context);
/* Frees the reader, and the model unless ln_reader_finish gave it away. */
void ln_reader_free(ln_reader *reader);

/* Total bytes of the file, so that lengths that run past its end are found at once. Before the first push. */
ln_status ln_reader_expect(ln_reader *reader, uint64_t total);
/* INVALID_MODEL or LIMIT_EXCEEDED with a sentence that says where; OUT_OF_MEMORY. */
ln_status ln_reader_push(ln_reader *reader, const void *bytes, size_t length);
/* Ends the bytes and builds the model, which the caller owns from here on. INVALID_MODEL and INVALID_GRAPH
 * name what is wrong with it. Graphs are sorted, uses and producers indexed. */
ln_status ln_reader_finish(ln_reader *reader, ln_model **model);

/* External data, once finished: entries 0..count-1. */
int32_t ln_reader_external_count(const ln_reader *reader);
const ln_external *ln_reader_external(const ln_reader *reader, int32_t index);
/* Where the `length` bytes of entry `index` go; NULL when memory ran out. The model owns them. */
void *ln_reader_external_target(ln_reader *reader, int32_t index);
ln_status ln_reader_external_done(ln_reader *reader, int32_t index);
/* EXTERNAL_DATA naming the first entry that is not filled. */
ln_status ln_reader_external_check(ln_reader *reader);

#endif
