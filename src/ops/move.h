/* Moving elements: what the operators that only rearrange data share.
 *
 * Data moves by the width of its elements, never by their type. Two walks serve them all: ln_move is a strided copy
 * (Slice, Expand, Tile, Scan), ln_map picks by an index table for each axis (Pad, Resize nearest). Both merge axes, so
 * that the inner run is long, and both cut their work into a grid that is fixed by the shape.
 * Elements of 4 and 2 bits are unpacked to bytes, moved as bytes, and packed again.
 */
#ifndef LN_OPS_MOVE_H
#define LN_OPS_MOVE_H

#include <string.h>

#include "ops/op.h"

enum {
    LN_MOVE_RANK = 2 * LN_MAX_RANK,
    LN_MOVE_GRAIN_BYTES = 1 << 16, /* what one task moves at least */
};

/* Bytes of one element; 1 for packed types, which move unpacked. */
size_t ln_width(ln_dtype dtype);
/* memcpy that is inlined for the widths of elements. */
static inline void ln_copy_block(void *dst, const void *src, size_t bytes) {
    switch (bytes) {
    case 1:
        memcpy(dst, src, 1);
        return;
    case 2:
        memcpy(dst, src, 2);
        return;
    case 4:
        memcpy(dst, src, 4);
        return;
    case 8:
        memcpy(dst, src, 8);
        return;
    case 16:
        memcpy(dst, src, 16);
        return;
    default:
        memcpy(dst, src, bytes);
    }
}
/* dst[0..n) = *element. */
void ln_fill(void *dst, int64_t n, size_t width, const void *element);

/* Tasks for blocks of this many bytes, and the range of one task: whole blocks, however few there are. */
int64_t ln_block_tasks(int64_t blocks, int64_t block_bytes);
void ln_block_range(int64_t blocks, int64_t block_bytes, int64_t index, int64_t *begin, int64_t *end);

/* ---- Strided copies ------------------------------------------------------------------------------------ */

typedef struct ln_move {
    int rank;      /* merged axes */
    size_t width;  /* bytes that move as one */
    int64_t count; /* how many of them */
    int64_t dims[LN_MOVE_RANK];
    int64_t src_step[LN_MOVE_RANK]; /* bytes, may be 0 or negative */
    int64_t dst_step[LN_MOVE_RANK];
} ln_move;

/* Begins a plan; axes follow from the outermost to the innermost, with strides in elements; ln_move_end closes it. */
void ln_move_begin(ln_move *move, size_t width);
void ln_move_axis(ln_move *move, int64_t dim, int64_t src_stride, int64_t dst_stride);
void ln_move_end(ln_move *move);
/* Moves the units [begin, end) of move->count. */
void ln_move_range(const ln_move *move, void *dst, const void *src, int64_t begin, int64_t end);

/* A move as the whole work of a step. It lies at the start of op->scratch. */
typedef struct ln_move_job {
    ln_move move;
    const unsigned char *src; /* where the first unit is read */
    unsigned char *dst;
} ln_move_job;

/* Run: begins the job's move of input 0 to output 0 and gives their strides, in elements; NULL when there is nothing to move. */
ln_move *ln_op_move_begin(ln_op *op, int64_t *in_strides, int64_t *out_strides);
/* Ends the job's move and offers it as a grid; it reads from element `first` of input 0 on. */
ln_status ln_op_move(ln_op *op, int64_t first);

/* ---- Index maps ----------------------------------------------------------------------------------------- */

/* dst[i0][i1].. = src[map0[i0]][map1[i1]].., or *fill where an index is negative. Axes go from the outermost to the
 * innermost; an axis without a map keeps its order. */
typedef struct ln_map {
    int rank;
    size_t width; /* bytes of an element */
    const void *fill;
    int64_t out[LN_MAX_RANK];
    int64_t in[LN_MAX_RANK];
    const int32_t *maps[LN_MAX_RANK]; /* [out[axis]], or NULL */
} ln_map;

/* The map as the whole work of a step: it lies at the start of op->scratch, its tables follow it. */
typedef struct ln_map_job {
    ln_map map;
    int64_t src_step[LN_MAX_RANK]; /* bytes */
    size_t block;                  /* bytes of a run that no inner axis maps */
    int64_t rows, row_blocks;      /* rows of the output, and blocks in each */
    int outer;                     /* axes that count rows */
    bool runs;                     /* indices of the inner axis come in long consecutive runs */
    bool window;          /* they are a single run that starts at `first`, constants before and after */
    int64_t lead, middle; /* of the window: constants before it, and its length */
    int32_t first;
    const unsigned char *src;
    unsigned char *dst;
} ln_map_job;

/* Bytes of scratch for a job whose tables hold `indices` entries in all. */
size_t ln_map_scratch_bytes(int64_t indices);
/* Offers the map at the start of op->scratch as a grid, from src to dst; `then` follows it, or NULL. */
ln_status ln_op_map(ln_op *op, const void *src, void *dst, ln_status (*then)(ln_op *op));

/* ---- Packed types ----------------------------------------------------------------------------------------- */

bool ln_is_packed(ln_dtype dtype);
/* Elements [first, first+n) of a packed tensor, one a byte; and back. Bits outside the range stay. */
void ln_unpack(ln_dtype dtype, const void *src, int64_t first, int64_t n, uint8_t *dst);
void ln_repack(ln_dtype dtype, void *dst, int64_t first, int64_t n, const uint8_t *src);

/* Scratch for the unpacked form of a tensor: 0 when it is not packed. */
size_t ln_unpacked_bytes(const ln_value *value);
/* The elements of a tensor, unpacked to *scratch where they are packed; *scratch moves on. */
const void *ln_unpacked(const ln_value *value, unsigned char **scratch);
/* Where to write the elements of an output: its own memory, or *scratch when it is packed. */
void *ln_unpacked_target(const ln_value *value, unsigned char **scratch);

/* ---- Lists of numbers ---------------------------------------------------------------------------------------- */

/* Element `index` of an int32 or int64 tensor. */
static inline int64_t ln_index_at(const ln_value *value, int64_t index) {
    return value->dtype == LN_INT32 ? ((const int32_t *)value->data)[index]
                                    : ((const int64_t *)value->data)[index];
}

/* Element `index` of a tensor of numbers, as a double. */
static inline double ln_number_at(const ln_value *value, int64_t index) {
    double number;
    if (value->dtype == LN_FLOAT) {
        return (double)((const float *)value->data)[index];
    }
    ln_load_f64(value->dtype, value->data, index, 1, &number);
    return number;
}

/* Fails with INVALID_VALUE unless every element of input `index` is in -dim to dim - 1. */
ln_status ln_check_indices(ln_op *op, int index, int64_t dim);

/* Axes as an attribute or an input: `values` come from one or the other. */
typedef struct ln_axes {
    int input; /* position of the input, or -1: the attribute */
    int count;
    bool given; /* the attribute was there */
    int64_t values[LN_MAX_RANK];
} ln_axes;

/* Build: the attribute `name`; LIMIT_EXCEEDED beyond LN_MAX_RANK entries. */
void ln_axes_attr(ln_build *build, ln_axes *axes, const char *name);
/* Infer: reads the axes, maps negative ones and checks range and repetition. *present says whether there are any. */
ln_status ln_axes_read(ln_op *op, const ln_axes *axes, int rank, int *list, int *count, bool *present);

/* Copies input 0 to output 0 as it is, whatever its kind: run of the rows that alias. */
ln_status ln_run_copy(ln_op *op);

#endif
