/* A tensor seen around one axis, or a run of adjacent axes: outer x length x inner elements.
 *
 * A line is the `length` elements that belong together, `inner` elements apart. Work on lines is counted in units: a
 * line each where inner is 1, else blocks of up to LN_LINE_COLUMNS lines side by side. Tasks are ranges of units, fixed by
 * the shape alone.
 */
#ifndef LN_OPS_LINES_H
#define LN_OPS_LINES_H

#include "ops/op.h"

enum { LN_LINE_COLUMNS = 64, LN_LINE_GRAIN = 16384 };

typedef struct ln_lines {
    int64_t outer, length, inner;
} ln_lines;

/* Lines side by side: `columns` of them, whose first elements start at `first`. */
typedef struct ln_line_block {
    int64_t first; /* element of the tensor */
    int64_t line;  /* number of the first line: outer index * inner + column */
    int64_t columns;
} ln_line_block;

/* Axes [begin, end) of the shape as the line. */
ln_lines ln_lines_of(const ln_shape *shape, int begin, int end);
int64_t ln_line_units(const ln_lines *lines);
ln_line_block ln_line_block_at(const ln_lines *lines, int64_t unit);
/* The grid over units, and the units of one of its tasks. */
int64_t ln_line_tasks(const ln_lines *lines);
void ln_line_range(const ln_lines *lines, int64_t task, int64_t *begin, int64_t *end);
/* n units in tasks of about `grain` elements, `elements` to a unit; the range of one of `tasks` tasks. */
int64_t ln_unit_tasks(int64_t units, int64_t elements, int64_t grain);
void ln_unit_range(int64_t units, int64_t tasks, int64_t task, int64_t *begin, int64_t *end);

/* One line, gathered into or scattered from contiguous doubles; `first` is its first element. */
void ln_line_load_f64(const ln_value *value, const ln_lines *lines, int64_t first, double *line);
void ln_line_store_f64(ln_value *value, const ln_lines *lines, int64_t first, const double *line);

#endif
