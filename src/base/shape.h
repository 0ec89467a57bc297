/* Shapes: a rank and its dimensions, by value. Rank 0 is a scalar; a dimension of 0 is an empty tensor. */
#ifndef LN_BASE_SHAPE_H
#define LN_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LN_MAX_RANK = 16, LN_SHAPE_TEXT_BYTES = 200 };

typedef struct ln_shape {
    int32_t rank;
    int64_t dims[LN_MAX_RANK];
} ln_shape;

ln_shape ln_shape_scalar(void);
/* rank must be in 0..LN_MAX_RANK. */
ln_shape ln_shape_of(int rank, const int64_t *dims);
bool ln_shape_equal(const ln_shape *a, const ln_shape *b);
/* Number of elements, or -1 when it overflows int64 or a dimension is negative. */
int64_t ln_shape_count(const ln_shape *shape);
/* Product of dims[begin..end). */
int64_t ln_shape_product(const ln_shape *shape, int begin, int end);
/* Row-major strides in elements. */
void ln_shape_strides(const ln_shape *shape, int64_t *strides);
/* Multidirectional broadcasting of two shapes (docs "Broadcasting in ONNX"); false when they do not fit. */
bool ln_shape_broadcast(const ln_shape *a, const ln_shape *b, ln_shape *result);
/* Maps a possibly negative axis to 0..rank-1; -1 when it is out of range. */
int ln_shape_axis(int64_t axis, int rank);
/* "[1,3,224,224]" into `text` (LN_SHAPE_TEXT_BYTES); returns text. */
char *ln_shape_text(const ln_shape *shape, char *text);

#endif
