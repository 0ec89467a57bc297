/* Strided copies and index maps, by element width. See move.h.
 *
 * The inner loop of a copy is one of three: memcpy of a contiguous run, a fill where the source stands still, or a
 * strided loop with a width known at compile time. Runs of up to 16 bytes are folded into wider elements first.
 */
#include "ops/move.h"

#include "base/packed.h"

size_t ln_width(ln_dtype dtype) {
    const unsigned bits = ln_dtype_bits(dtype);
    return bits < 8 ? 1 : bits / 8;
}

/* Calls the macro with each width that has a loop of its own. */
#define EACH_WIDTH(X) X(1) X(2) X(4) X(8) X(16)

void ln_fill(void *dst, int64_t n, size_t width, const void *element) {
    unsigned char *to = dst;
    switch (width) {
#define FILL(W)                                                                                              \
    case W: {                                                                                                \
        unsigned char value[W];                                                                              \
        memcpy(value, element, W);                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            memcpy(to + i * W, value, W);                                                                    \
        }                                                                                                    \
        return;                                                                                              \
    }
        EACH_WIDTH(FILL)
#undef FILL
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + (size_t)i * width, element, width);
        }
    }
}

static void copy_strided(unsigned char *dst, int64_t dst_step, const unsigned char *src, int64_t src_step,
                         int64_t n, size_t width) {
    switch (width) {
#define COPY(W)                                                                                              \
    case W:                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            memcpy(dst + i * dst_step, src + i * src_step, W);                                               \
        }                                                                                                    \
        return;
        EACH_WIDTH(COPY)
#undef COPY
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + i * dst_step, src + i * src_step, width);
        }
    }
}

int64_t ln_block_tasks(int64_t blocks, int64_t block_bytes) {
    return ln_op_tasks(blocks, LN_MOVE_GRAIN_BYTES / (block_bytes > 0 ? block_bytes : 1));
}

void ln_block_range(int64_t blocks, int64_t block_bytes, int64_t index, int64_t *begin, int64_t *end) {
    const int64_t count = ln_block_tasks(blocks, block_bytes);
    *begin = blocks * index / count;
    *end = blocks * (index + 1) / count;
}

/* Strided copies ---------------------------------------------------------------------------------------- */

void ln_move_begin(ln_move *move, size_t width) {
    move->rank = 0;
    move->width = width;
    move->count = 1;
}

void ln_move_axis(ln_move *move, int64_t dim, int64_t src_stride, int64_t dst_stride) {
    move->count *= dim;
    if (dim == 1) {
        return;
    }
    const int64_t width = (int64_t)move->width;
    const int64_t src_step = src_stride * width;
    const int64_t dst_step = dst_stride * width;
    if (move->rank > 0) {
        const int last = move->rank - 1;
        if (move->src_step[last] == src_step * dim && move->dst_step[last] == dst_step * dim) {
            move->dims[last] *= dim;
            move->src_step[last] = src_step;
            move->dst_step[last] = dst_step;
            return;
        }
    }
    move->dims[move->rank] = dim;
    move->src_step[move->rank] = src_step;
    move->dst_step[move->rank] = dst_step;
    move->rank++;
}

void ln_move_end(ln_move *move) {
    const int last = move->rank - 1;
    const int64_t width = (int64_t)move->width;
    if (last > 0 && move->src_step[last] == width && move->dst_step[last] == width) {
        const int64_t run = move->dims[last] * width;
        if (run <= 16 && run > 0 && (run & (run - 1)) == 0) {
            move->width = (size_t)run;
            move->count /= move->dims[last];
            move->rank--;
        }
    }
    if (move->rank == 0) {
        move->dims[0] = 1;
        move->src_step[0] = width;
        move->dst_step[0] = width;
        move->rank = 1;
    }
}

/* n units of the inner axis. */
static void move_run(const ln_move *move, unsigned char *dst, const unsigned char *src, int64_t n) {
    const int last = move->rank - 1;
    const int64_t width = (int64_t)move->width;
    if (move->dst_step[last] == width && move->src_step[last] == width) {
        memcpy(dst, src, (size_t)n * move->width);
    } else if (move->dst_step[last] == width && move->src_step[last] == 0) {
        ln_fill(dst, n, move->width, src);
    } else {
        copy_strided(dst, move->dst_step[last], src, move->src_step[last], n, move->width);
    }
}

void ln_move_range(const ln_move *move, void *dst, const void *src, int64_t begin, int64_t end) {
    if (begin >= end) {
        return;
    }
    const int last = move->rank - 1;
    int64_t at[LN_MOVE_RANK];
    int64_t rest = begin;
    int64_t from = 0;
    int64_t to = 0;
    for (int axis = last; axis >= 0; axis--) {
        at[axis] = rest % move->dims[axis];
        rest /= move->dims[axis];
        from += at[axis] * move->src_step[axis];
        to += at[axis] * move->dst_step[axis];
    }
    for (int64_t done = begin;;) {
        const int64_t left = move->dims[last] - at[last];
        const int64_t n = left < end - done ? left : end - done;
        move_run(move, (unsigned char *)dst + to, (const unsigned char *)src + from, n);
        done += n;
        if (done >= end) {
            return;
        }
        from -= at[last] * move->src_step[last];
        to -= at[last] * move->dst_step[last];
        at[last] = 0;
        for (int axis = last - 1; axis >= 0; axis--) {
            from += move->src_step[axis];
            to += move->dst_step[axis];
            if (++at[axis] < move->dims[axis]) {
                break;
            }
            from -= at[axis] * move->src_step[axis];
            to -= at[axis] * move->dst_step[axis];
            at[axis] = 0;
        }
    }
}

static int64_t move_tasks(const ln_move *move) {
    return ln_op_tasks(move->count, LN_MOVE_GRAIN_BYTES / (int64_t)move->width);
}

static void move_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_move_job *job = op->scratch;
    int64_t begin, end;
    ln_op_range(job->move.count, move_tasks(&job->move), index, &begin, &end);
    ln_move_range(&job->move, job->dst, job->src, begin, end);
}

ln_move *ln_op_move_begin(ln_op *op, int64_t *in_strides, int64_t *out_strides) {
    const ln_value *input = ln_in(op, 0);
    const ln_value *output = ln_out(op, 0);
    ln_move_job *job = op->scratch;
    if (!output || ln_value_count(output) == 0) {
        return NULL;
    }
    ln_shape_strides(&input->shape, in_strides);
    ln_shape_strides(&output->shape, out_strides);
    ln_move_begin(&job->move, ln_width(input->dtype));
    return &job->move;
}

ln_status ln_op_move(ln_op *op, int64_t first) {
    const ln_value *input = ln_in(op, 0);
    ln_move_job *job = op->scratch;
    ln_move_end(&job->move);
    job->src = (const unsigned char *)input->data + (size_t)first * ln_width(input->dtype);
    job->dst = ln_out(op, 0)->data;
    return ln_op_grid(op, move_task, move_tasks(&job->move));
}

/* Index maps -------------------------------------------------------------------------------------------- */

size_t ln_map_scratch_bytes(int64_t indices) {
    return ((sizeof(ln_map_job) + 63) & ~(size_t)63) +
           (((size_t)indices * sizeof(int32_t) + 63) & ~(size_t)63);
}

static void put_fill(const ln_map_job *job, unsigned char *dst, int64_t blocks) {
    ln_fill(dst, blocks * (int64_t)(job->block / job->map.width), job->map.width, job->map.fill);
}

/* Blocks [begin, end) of a row. */
static void map_part(const ln_map_job *job, unsigned char *dst, const unsigned char *src, int64_t begin,
                     int64_t end) {
    const int32_t *map = job->map.maps[job->outer];
    const size_t block = job->block;
    for (int64_t i = begin; i < end;) {
        int64_t run = 1;
        if (job->runs || map[i] < 0) {
            const int32_t step = map[i] < 0 ? 0 : 1;
            while (i + run < end && map[i + run] == map[i + run - 1] + step) {
                run++;
            }
        }
        unsigned char *to = dst + (size_t)i * block;
        if (map[i] < 0) {
            put_fill(job, to, run);
        } else {
            ln_copy_block(to, src + (size_t)map[i] * block, (size_t)run * block);
        }
        i += run;
    }
}

/* One row whose outer indices are all inside. */
static void map_row(const ln_map_job *job, unsigned char *dst, const unsigned char *src) {
    const int32_t *map = job->outer < job->map.rank ? job->map.maps[job->outer] : NULL;
    const int64_t n = job->row_blocks;
    const size_t block = job->block;
    if (!map) {
        memcpy(dst, src, (size_t)n * block);
        return;
    }
    const int64_t after = job->lead + job->middle;
    map_part(job, dst, src, 0, job->lead);
    if (job->middle > 0) {
        memcpy(dst + (size_t)job->lead * block, src + (size_t)map[job->lead] * block,
               (size_t)job->middle * block);
    }
    map_part(job, dst, src, after, n);
}

/* The same for single elements of a common width that do not come in runs. */
static bool map_row_elements(const ln_map_job *job, unsigned char *dst, const unsigned char *src) {
    const int32_t *map = job->map.maps[job->outer];
    const int64_t n = job->row_blocks;
    switch (job->block) {
#define PICK(W)                                                                                              \
    case W:                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            memcpy(dst + i * W, map[i] < 0 ? job->map.fill : src + (int64_t)map[i] * W, W);                  \
        }                                                                                                    \
        return true;
        EACH_WIDTH(PICK)
#undef PICK
    default:
        return false;
    }
}

static void map_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_map_job *job = op->scratch;
    const size_t row_bytes = (size_t)job->row_blocks * job->block;
    int64_t begin, end;
    ln_block_range(job->rows, (int64_t)row_bytes, index, &begin, &end);
    const bool elements = job->outer < job->map.rank && job->map.maps[job->outer] && !job->runs;
    int64_t before = -1; /* where the row before was read: equal rows are copied */
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row;
        int64_t from = 0;
        bool inside = true;
        for (int axis = job->outer - 1; axis >= 0; axis--) {
            const int64_t at = rest % job->map.out[axis];
            rest /= job->map.out[axis];
            const int64_t mapped = job->map.maps[axis] ? job->map.maps[axis][at] : at;
            inside = inside && mapped >= 0;
            from += mapped * job->src_step[axis];
        }
        unsigned char *to = job->dst + (size_t)row * row_bytes;
        if (!inside) {
            put_fill(job, to, job->row_blocks);
        } else if (from == before) {
            memcpy(to, to - row_bytes, row_bytes);
        } else if (!elements || !map_row_elements(job, to, job->src + from)) {
            map_row(job, to, job->src + from);
        }
        before = inside ? from : -1;
    }
}

/* Finds the first run of the n indices. */
static void find_run(ln_map_job *job, const int32_t *map, int64_t n) {
    int64_t i = 0;
    while (i < n && (map[i] < 0 || i + 1 == n || map[i + 1] != map[i] + 1)) {
        i++;
    }
    job->lead = i;
    while (i < n && map[i] == map[job->lead] + (int32_t)(i - job->lead)) {
        i++;
    }
    job->middle = i - job->lead;
}

/* Merges the inner axes that keep their order into one block. */
static void plan_map(ln_map_job *job) {
    ln_map *map = &job->map;
    int64_t step = (int64_t)map->width;
    for (int axis = map->rank - 1; axis >= 0; axis--) {
        job->src_step[axis] = step;
        step *= map->in[axis];
    }
    job->block = map->width;
    while (map->rank > 0 && !map->maps[map->rank - 1]) {
        map->rank--;
        job->block *= (size_t)map->out[map->rank];
    }
    job->outer = map->rank > 0 ? map->rank - 1 : 0;
    job->row_blocks = map->rank > 0 ? map->out[job->outer] : 1;
    job->rows = 1;
    for (int axis = 0; axis < job->outer; axis++) {
        job->rows *= map->out[axis];
    }
    int64_t breaks = 0;
    const int32_t *inner = map->rank > 0 ? map->maps[job->outer] : NULL;
    if (inner) {
        find_run(job, inner, job->row_blocks);
        for (int64_t i = 1; i < job->row_blocks; i++) {
            i = i == job->lead + 1 && job->middle > 0 ? job->lead + job->middle : i;
            breaks +=
                i < job->row_blocks && inner[i] != inner[i - 1] + 1 && (inner[i] >= 0 || inner[i - 1] >= 0);
        }
    }
    job->runs = breaks <= job->row_blocks / 4 || job->block > 16;
}

ln_status ln_op_map(ln_op *op, const void *src, void *dst, ln_status (*then)(ln_op *op)) {
    ln_map_job *job = op->scratch;
    job->src = src;
    job->dst = dst;
    plan_map(job);
    if (job->block == 0) {
        job->rows = 0;
    }
    return ln_op_grid_then(op, map_task, ln_block_tasks(job->rows, job->row_blocks * (int64_t)job->block),
                           then);
}

/* Packed types ------------------------------------------------------------------------------------------ */

bool ln_is_packed(ln_dtype dtype) {
    return ln_dtype_bits(dtype) < 8;
}

void ln_unpack(ln_dtype dtype, const void *src, int64_t first, int64_t n, uint8_t *dst) {
    const unsigned bits = ln_dtype_bits(dtype);
    for (int64_t i = 0; i < n; i++) {
        dst[i] = (uint8_t)ln_packed_get(src, first + i, bits);
    }
}

void ln_repack(ln_dtype dtype, void *dst, int64_t first, int64_t n, const uint8_t *src) {
    const unsigned bits = ln_dtype_bits(dtype);
    for (int64_t i = 0; i < n; i++) {
        ln_packed_set(dst, first + i, bits, src[i]);
    }
}

size_t ln_unpacked_bytes(const ln_value *value) {
    return value && ln_is_packed(value->dtype) ? ((size_t)ln_value_count(value) + 63) & ~(size_t)63 : 0;
}

const void *ln_unpacked(const ln_value *value, unsigned char **scratch) {
    if (!ln_is_packed(value->dtype)) {
        return value->data;
    }
    unsigned char *bytes = *scratch;
    *scratch += ln_unpacked_bytes(value);
    ln_unpack(value->dtype, value->data, 0, ln_value_count(value), bytes);
    return bytes;
}

void *ln_unpacked_target(const ln_value *value, unsigned char **scratch) {
    if (!ln_is_packed(value->dtype)) {
        return value->data;
    }
    unsigned char *bytes = *scratch;
    *scratch += ln_unpacked_bytes(value);
    return bytes;
}

/* Indices ----------------------------------------------------------------------------------------------- */

/* Whether an index is beyond -dim to dim - 1: one of the two differences is negative then, or wraps to a negative one. */
static bool any_outside(const ln_value *value, int64_t count, int64_t dim) {
    uint64_t signs = 0;
#define LOOK(type)                                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                                    \
        const uint64_t at = (uint64_t)((const type *)value->data)[i];                                        \
        signs |= (at + (uint64_t)dim) | ((uint64_t)dim - 1 - at);                                            \
    }
    if (value->dtype == LN_INT32) {
        LOOK(int32_t)
    } else {
        LOOK(int64_t)
    }
#undef LOOK
    return signs >> 63;
}

ln_status ln_check_indices(ln_op *op, int index, int64_t dim) {
    const ln_value *value = ln_in(op, index);
    const int64_t count = ln_value_count(value);
    if (!any_outside(value, count, dim)) {
        return LN_OK;
    }
    int64_t at = 0;
    for (int64_t i = 0; i < count && at >= -dim && at < dim; i++) {
        at = ln_index_at(value, i);
    }
    return ln_op_fail(op, LN_INVALID_VALUE, "index %lld is out of bounds for an axis of length %lld",
                      (long long)at, (long long)dim);
}

/* Axes -------------------------------------------------------------------------------------------------- */

void ln_axes_attr(ln_build *build, ln_axes *axes, const char *name) {
    int count = 0;
    const int64_t *values = ln_attr_ints(build, name, &count);
    axes->input = -1;
    axes->given = ln_has_attr(build, name);
    if (count > LN_MAX_RANK) {
        ln_build_fail(build, LN_LIMIT_EXCEEDED, "attribute '%s' has %d entries, at most %d are supported",
                      name, count, LN_MAX_RANK);
        return;
    }
    axes->count = count;
    for (int i = 0; i < count; i++) {
        axes->values[i] = values[i];
    }
}

ln_status ln_axes_read(ln_op *op, const ln_axes *axes, int rank, int *list, int *count, bool *present) {
    int64_t values[LN_MAX_RANK];
    const int64_t *from = axes->values;
    *count = axes->count;
    *present = axes->given;
    if (axes->input >= 0) {
        LN_TRY(ln_op_ints(op, axes->input, values, LN_MAX_RANK, count));
        from = values;
        *present = ln_in(op, axes->input) != NULL;
    }
    uint32_t seen = 0;
    for (int i = 0; i < *count; i++) {
        list[i] = ln_shape_axis(from[i], rank);
        LN_OP_CHECK(op, list[i] >= 0, INVALID_VALUE, "axis %lld is out of range for rank %d",
                    (long long)from[i], rank);
        LN_OP_CHECK(op, !(seen >> list[i] & 1), INVALID_VALUE, "axis %lld is given twice",
                    (long long)from[i]);
        seen |= 1u << list[i];
    }
    return LN_OK;
}

ln_status ln_run_copy(ln_op *op) {
    const ln_value *input = ln_in(op, 0);
    ln_value *output = ln_out(op, 0);
    if (!output || output->data == input->data) {
        return LN_OK;
    }
    if (input->kind != LN_KIND_TENSOR || !output->data) {
        return ln_value_keep(op->context, output, input);
    }
    memcpy(output->data, input->data, ln_value_bytes(input));
    return LN_OK;
}
