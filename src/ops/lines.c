/* Lines: how operators along one axis cut and reach their work. See ops/lines.h. */
#include "ops/lines.h"

ln_lines ln_lines_of(const ln_shape *shape, int begin, int end) {
    return (ln_lines){ln_shape_product(shape, 0, begin), ln_shape_product(shape, begin, end),
                      ln_shape_product(shape, end, shape->rank)};
}

static int64_t column_blocks(const ln_lines *lines) {
    return (lines->inner + LN_LINE_COLUMNS - 1) / LN_LINE_COLUMNS;
}

int64_t ln_line_units(const ln_lines *lines) {
    return lines->outer * column_blocks(lines);
}

ln_line_block ln_line_block_at(const ln_lines *lines, int64_t unit) {
    const int64_t blocks = column_blocks(lines);
    const int64_t outer = unit / blocks;
    const int64_t column = unit % blocks * LN_LINE_COLUMNS;
    const int64_t rest = lines->inner - column;
    return (ln_line_block){outer * lines->length * lines->inner + column, outer * lines->inner + column,
                           rest < LN_LINE_COLUMNS ? rest : LN_LINE_COLUMNS};
}

int64_t ln_unit_tasks(int64_t units, int64_t elements, int64_t grain) {
    const int64_t together = grain / (elements > 0 ? elements : 1);
    return ln_op_tasks(units, together > 0 ? together : 1);
}

void ln_unit_range(int64_t units, int64_t tasks, int64_t task, int64_t *begin, int64_t *end) {
    *begin = units / tasks * task + units % tasks * task / tasks;
    *end = units / tasks * (task + 1) + units % tasks * (task + 1) / tasks;
}

int64_t ln_line_tasks(const ln_lines *lines) {
    const int64_t columns = lines->inner < LN_LINE_COLUMNS ? lines->inner : LN_LINE_COLUMNS;
    return ln_unit_tasks(ln_line_units(lines), lines->length * columns, LN_LINE_GRAIN);
}

void ln_line_range(const ln_lines *lines, int64_t task, int64_t *begin, int64_t *end) {
    ln_unit_range(ln_line_units(lines), ln_line_tasks(lines), task, begin, end);
}

void ln_line_load_f64(const ln_value *value, const ln_lines *lines, int64_t first, double *line) {
    if (lines->inner == 1) {
        ln_load_f64(value->dtype, value->data, first, lines->length, line);
        return;
    }
    for (int64_t i = 0; i < lines->length; i++) {
        ln_load_f64(value->dtype, value->data, first + i * lines->inner, 1, &line[i]);
    }
}

void ln_line_store_f64(ln_value *value, const ln_lines *lines, int64_t first, const double *line) {
    if (lines->inner == 1) {
        ln_store_f64(value->dtype, value->data, first, lines->length, line);
        return;
    }
    for (int64_t i = 0; i < lines->length; i++) {
        ln_store_f64(value->dtype, value->data, first + i * lines->inner, 1, &line[i]);
    }
}
