/* com.microsoft GatherBlockQuantized: rows gathered from a table of 4- or 8-bit codes, dequantised on the way.
 *
 * Codes lie in blocks along quantize_axis with a scale each, and a zero point that defaults to the middle of the codes' range: 0 for
 * int4. A uint8 table of 4-bit codes has two codes to a byte along its last axis, low half first. Only the last axis of a byte
 * table is quantised, as quantisers write it.
 */
#include "ops/lines.h"

enum { DATA, INDICES, SCALES, ZEROS, GATHER_GRAIN = 8192 };

typedef struct gather_params {
    int64_t gather_axis, quantize_axis, block;
    int bits;
} gather_params;

typedef struct gather_local {
    ln_lines gather;   /* the table around the gathered axis, in codes */
    ln_lines quantize; /* and around the quantised one */
    int64_t blocks;
    bool packed; /* two codes to a byte */
} gather_local;

static ln_status build_gather(ln_build *build) {
    gather_params *params = ln_build_params(build, sizeof(*params));
    if (params == NULL) {
        return ln_build_status(build);
    }
    params->gather_axis = ln_attr_int(build, "gather_axis", 0);
    params->quantize_axis = ln_attr_int(build, "quantize_axis", 1);
    params->block = ln_attr_int(build, "block_size", 128);
    const int64_t bits = ln_attr_int(build, "bits", 4);
    LN_TRY(ln_build_status(build));
    if (params->block < 1 || (bits != 4 && bits != 8)) {
        return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                             "block_size is %lld and bits is %lld, expected 4 or 8 bits",
                             (long long)params->block, (long long)bits);
    }
    params->bits = (int)bits;
    return LN_OK;
}

/* A code of a packed or plain tensor. */
static int32_t code_at(const ln_value *value, bool packed, int64_t index) {
    int32_t code;
    if (packed) {
        return (((const uint8_t *)value->data)[index / 2] >> (index % 2 == 0 ? 0 : 4)) & 15;
    }
    ln_load_i32(value->dtype, value->data, index, 1, &code);
    return code;
}

static ln_status infer_gather(ln_op *op) {
    const gather_params *params = op->params;
    gather_local *local = LN_LOCAL(op, gather_local);
    const ln_value *data = ln_in(op, DATA);
    const ln_value *zeros = ln_in(op, ZEROS);
    const ln_shape *indices = &ln_in(op, INDICES)->shape;
    ln_shape table = data->shape;
    int gather, quantize;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, table.rank >= 1, INVALID_SHAPE, "the table must have at least one axis");
    LN_TRY(ln_op_axis(op, params->gather_axis, table.rank, &gather));
    LN_TRY(ln_op_axis(op, params->quantize_axis, table.rank, &quantize));
    local->packed = data->dtype == LN_UINT8 && params->bits == 4;
    LN_OP_CHECK(op, data->dtype != LN_UINT8 || quantize == table.rank - 1, UNSUPPORTED,
                "a table of bytes must be quantised along its last axis");
    LN_OP_CHECK(op, gather != quantize, INVALID_ATTRIBUTE, "gather_axis and quantize_axis are both %d",
                gather);
    table.dims[table.rank - 1] *= local->packed ? 2 : 1;
    local->gather = ln_lines_of(&table, gather, gather + 1);
    local->quantize = ln_lines_of(&table, quantize, quantize + 1);
    local->blocks = (table.dims[quantize] + params->block - 1) / params->block;
    const int64_t scales = local->quantize.outer * local->blocks * local->quantize.inner;
    LN_OP_CHECK(op, ln_value_count(ln_in(op, SCALES)) == scales, INVALID_SHAPE,
                "the scales must have %lld elements for a table of %s, they have the shape %s",
                (long long)scales, ln_shape_text(&table, text[0]),
                ln_shape_text(&ln_in(op, SCALES)->shape, text[1]));
    const int64_t zero_row = local->packed ? (local->blocks + 1) / 2 : local->blocks;
    LN_OP_CHECK(op,
                zeros == NULL ||
                    ln_value_count(zeros) == local->quantize.outer * zero_row * local->quantize.inner,
                INVALID_SHAPE, "the zero points of shape %s do not fit the scales",
                ln_shape_text(&zeros->shape, text[0]));
    LN_OP_CHECK(op, table.rank - 1 + indices->rank <= LN_MAX_RANK, LIMIT_EXCEEDED,
                "the output has too many axes");
    ln_shape shape = ln_shape_of(gather, table.dims);
    for (int i = 0; i < indices->rank; i++) {
        shape.dims[shape.rank++] = indices->dims[i];
    }
    for (int i = gather + 1; i < table.rank; i++) {
        shape.dims[shape.rank++] = table.dims[i];
    }
    return ln_op_shape(op, 0, ln_in(op, SCALES)->dtype, &shape);
}

/* The value of one code of the table. */
static float dequantize(const ln_op *op, const gather_local *local, int64_t index) {
    const gather_params *params = op->params;
    const ln_value *data = ln_in(op, DATA);
    const ln_value *zeros = ln_in(op, ZEROS);
    const ln_lines *lines = &local->quantize;
    const int64_t inner = index % lines->inner;
    const int64_t block = index / lines->inner % lines->length / params->block;
    const int64_t outer = index / lines->inner / lines->length;
    const int64_t at = (outer * local->blocks + block) * lines->inner + inner;
    int32_t zero = data->dtype == LN_INT4 ? 0 : 1 << (params->bits - 1);
    if (zeros != NULL) {
        const int64_t row = (local->blocks + 1) / 2 * 2;
        zero = code_at(zeros, local->packed, local->packed ? outer * row + block : at);
    }
    float scale;
    ln_load_f32(ln_in(op, SCALES)->dtype, ln_in(op, SCALES)->data, at, 1, &scale);
    return (float)(code_at(data, local->packed, index) - zero) * scale;
}

static int64_t gather_tasks(const ln_op *op, const gather_local *local) {
    return ln_unit_tasks(local->gather.outer * ln_value_count(ln_in(op, INDICES)), local->gather.inner,
                         GATHER_GRAIN);
}

static void gather_task(ln_op *op, int64_t task, void *scratch) {
    (void)scratch;
    const gather_local *local = LN_LOCAL(op, gather_local);
    const ln_value *indices = ln_in(op, INDICES);
    ln_value *y = ln_out(op, 0);
    const int64_t count = ln_value_count(indices);
    const int64_t inner = local->gather.inner;
    int64_t begin, end;
    ln_unit_range(local->gather.outer * count, gather_tasks(op, local), task, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t index;
        ln_load_i64(indices->dtype, indices->data, unit % count, 1, &index);
        index += index < 0 ? local->gather.length : 0;
        const int64_t first = (unit / count * local->gather.length + index) * inner;
        float tile[LN_TILE];
        for (int64_t at = 0; at < inner; at += LN_TILE) {
            const int64_t n = inner - at < LN_TILE ? inner - at : LN_TILE;
            for (int64_t i = 0; i < n; i++) {
                tile[i] = dequantize(op, local, first + at + i);
            }
            ln_store_f32(y->dtype, y->data, unit * inner + at, n, tile);
        }
    }
}

static ln_status run_gather(ln_op *op) {
    const gather_local *local = LN_LOCAL(op, gather_local);
    const ln_value *indices = ln_in(op, INDICES);
    const int64_t count = ln_value_count(indices);
    for (int64_t i = 0; i < count; i++) {
        int64_t index;
        ln_load_i64(indices->dtype, indices->data, i, 1, &index);
        LN_OP_CHECK(op, index >= -local->gather.length && index < local->gather.length, INVALID_VALUE,
                    "index %lld is out of range for an axis of %lld", (long long)index,
                    (long long)local->gather.length);
    }
    return ln_value_count(ln_out(op, 0)) == 0 ? LN_OK : ln_op_grid(op, gather_task, gather_tasks(op, local));
}

#define T_SINGLE (LN_BIT(LN_FLOAT) | LN_T_HALF)
#define T_CODES  (LN_BIT(LN_INT4) | LN_BIT(LN_UINT4) | LN_BIT(LN_UINT8))

static const ln_op_row rows[] = {
    {"GatherBlockQuantized",
     "com.microsoft",
     1,
     LN_OPEN,
     "ABCA?>C",
     {T_CODES, LN_T_INDEX, T_SINGLE},
     build_gather,
     infer_gather,
     run_gather,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(quant_gather, rows);
