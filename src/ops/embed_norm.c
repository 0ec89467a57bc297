/* com.microsoft EmbedLayerNormalization: word, position and segment embeddings, added up and normalised.
 *
 * Inputs: word ids [batch, sequence], segment ids or none, the word, position and (with segment ids) segment tables, gamma,
 * beta, a mask and position ids. Outputs: [batch, sequence, hidden], the number of ones in each row of the mask, and
 * optionally the sum before normalisation.
 */
#include "ops/float_tile.h"
#include "ops/lines.h"
#include "simd/vector.h"

enum { WORDS, SEGMENTS, WORD_TABLE, POSITION_TABLE, SEGMENT_TABLE, GAMMA, BETA, MASK, POSITIONS };
enum { EMBED_GRAIN = 8192, EMBED_ROWS = 4 };

typedef struct embed_params {
    float epsilon;
} embed_params;

static ln_status build_embed(ln_build *build) {
    embed_params *params = ln_build_params(build, sizeof(*params));
    if (params != NULL) {
        params->epsilon = ln_attr_float(build, "epsilon", 1e-12f);
        build->node->output_dtype = LN_INT32;
    }
    return ln_build_status(build);
}

static ln_status check_table(ln_op *op, int index, int64_t hidden) {
    const ln_value *table = ln_in(op, index);
    char text[LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, table == NULL || (table->shape.rank == 2 && table->shape.dims[1] == hidden),
                INVALID_SHAPE, "input %d must be a table with %lld columns, its shape is %s", index,
                (long long)hidden, ln_shape_text(&table->shape, text));
    return LN_OK;
}

static ln_status infer_embed(ln_op *op) {
    const ln_shape *words = &ln_in(op, WORDS)->shape;
    const ln_value *table = ln_in(op, WORD_TABLE);
    LN_OP_CHECK(op, words->rank == 2, INVALID_SHAPE, "the word ids must have rank 2, they have rank %d",
                (int)words->rank);
    LN_OP_CHECK(op, table->shape.rank == 2, INVALID_SHAPE, "the word table must have rank 2, it has rank %d",
                table->shape.rank);
    const int64_t hidden = table->shape.dims[1];
    LN_TRY(check_table(op, POSITION_TABLE, hidden));
    LN_TRY(check_table(op, SEGMENT_TABLE, hidden));
    LN_OP_CHECK(op, (ln_in(op, SEGMENTS) == NULL) == (ln_in(op, SEGMENT_TABLE) == NULL), INVALID_SHAPE,
                "segment ids and a segment table come together or not at all");
    LN_TRY(ln_op_count(op, GAMMA, "gamma", hidden));
    LN_TRY(ln_op_count(op, BETA, "beta", hidden));
    for (int i = SEGMENTS; i <= POSITIONS; i++) {
        const bool ids = i == SEGMENTS || i == MASK;
        LN_OP_CHECK(op, !ids || ln_in(op, i) == NULL || ln_shape_equal(&ln_in(op, i)->shape, words),
                    INVALID_SHAPE, "input %d must have the shape of the word ids", i);
    }
    const ln_value *positions = ln_in(op, POSITIONS);
    LN_OP_CHECK(op,
                positions == NULL || ln_value_count(positions) == words->dims[1] ||
                    ln_shape_equal(&positions->shape, words),
                INVALID_SHAPE, "the position ids must have the shape of the word ids, or one row of it");
    LN_OP_CHECK(op, hidden < (int64_t)(SIZE_MAX / 64), LIMIT_EXCEEDED, "the hidden size %lld is too large",
                (long long)hidden);
    op->task_scratch_bytes = (size_t)hidden * EMBED_ROWS * sizeof(float);
    const int64_t dims[] = {words->dims[0], words->dims[1], hidden};
    const ln_shape output = ln_shape_of(3, dims);
    const ln_shape mask = ln_shape_of(1, dims);
    LN_TRY(ln_op_shape(op, 0, table->dtype, &output));
    LN_TRY(ln_op_shape(op, 1, LN_INT32, &mask));
    return ln_op_shape(op, 2, table->dtype, &output);
}

static int64_t id_at(const ln_value *ids, int64_t index) {
    int64_t id;
    ln_load_i64(ids->dtype, ids->data, index, 1, &id);
    return id;
}

static int64_t position_of(const ln_op *op, int64_t row) {
    const int64_t sequence = ln_in(op, WORDS)->shape.dims[1];
    const ln_value *positions = ln_in(op, POSITIONS);
    return positions == NULL ? row % sequence : id_at(positions, row % ln_value_count(positions));
}

static ln_status check_id(ln_op *op, int table, int64_t id) {
    const int64_t rows = ln_in(op, table)->shape.dims[0];
    LN_OP_CHECK(op, id >= 0 && id < rows, INVALID_VALUE,
                "id %lld is outside the table of input %d, which has %lld rows", (long long)id, table,
                (long long)rows);
    return LN_OK;
}

static ln_status check_ids(ln_op *op) {
    const int64_t count = ln_value_count(ln_in(op, WORDS));
    for (int64_t i = 0; i < count; i++) {
        LN_TRY(check_id(op, WORD_TABLE, id_at(ln_in(op, WORDS), i)));
        LN_TRY(check_id(op, POSITION_TABLE, position_of(op, i)));
        if (ln_in(op, SEGMENTS) != NULL) {
            LN_TRY(check_id(op, SEGMENT_TABLE, id_at(ln_in(op, SEGMENTS), i)));
        }
    }
    return LN_OK;
}

static void add_embedding(const ln_value *table, int64_t id, int64_t n, float *scratch, float *row) {
    ln_tile_load(table->dtype, table->data, id * n, n, scratch);
    ln_binary_f32[LN_BINARY_ADD](row, row, 1, scratch, 1, (size_t)n);
}

static void embed_task(ln_op *op, int64_t index, void *scratch) {
    const embed_params *params = op->params;
    const int64_t rows = ln_value_count(ln_in(op, WORDS));
    const int64_t n = ln_in(op, WORD_TABLE)->shape.dims[1];
    float *row = scratch;
    float *other = row + n;
    float *gamma = row + 2 * n;
    float *beta = row + 3 * n;
    ln_value *y = ln_out(op, 0);
    ln_value *sum = ln_out(op, 2);
    ln_tile_load(ln_in(op, GAMMA)->dtype, ln_in(op, GAMMA)->data, 0, n, gamma);
    ln_tile_load(ln_in(op, BETA)->dtype, ln_in(op, BETA)->data, 0, n, beta);
    int64_t begin, end;
    ln_unit_range(rows, ln_unit_tasks(rows, n, EMBED_GRAIN), index, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const ln_value *words = ln_in(op, WORD_TABLE);
        ln_tile_load(words->dtype, words->data, id_at(ln_in(op, WORDS), i) * n, n, row);
        add_embedding(ln_in(op, POSITION_TABLE), position_of(op, i), n, other, row);
        if (ln_in(op, SEGMENTS) != NULL) {
            add_embedding(ln_in(op, SEGMENT_TABLE), id_at(ln_in(op, SEGMENTS), i), n, other, row);
        }
        if (sum != NULL) {
            ln_tile_store(sum->dtype, sum->data, i * n, n, row);
        }
        ln_layer_norm_rows_f32(row, row, 1, (size_t)n, gamma, beta, params->epsilon, NULL, NULL);
        if (y != NULL) {
            ln_tile_store(y->dtype, y->data, i * n, n, row);
        }
    }
}

static void count_mask(const ln_op *op) {
    ln_value *output = ln_out(op, 1);
    const ln_value *mask = ln_in(op, MASK);
    const ln_shape *shape = &ln_in(op, WORDS)->shape;
    for (int64_t b = 0; b < shape->dims[0] && output != NULL; b++) {
        int32_t ones = 0;
        for (int64_t s = 0; s < shape->dims[1] && mask != NULL; s++) {
            ones += id_at(mask, b * shape->dims[1] + s) == 1;
        }
        ((int32_t *)output->data)[b] = ones;
    }
}

static ln_status run_embed(ln_op *op) {
    LN_TRY(check_ids(op));
    count_mask(op);
    const int64_t n = ln_in(op, WORD_TABLE)->shape.dims[1];
    const int64_t rows = ln_value_count(ln_in(op, WORDS));
    return n == 0 ? LN_OK : ln_op_grid(op, embed_task, ln_unit_tasks(rows, n, EMBED_GRAIN));
}

static const ln_op_row rows[] = {
    {"EmbedLayerNormalization",
     "com.microsoft",
     1,
     LN_OPEN,
     "AA?BBB?BBA?A?>BC?B?",
     {LN_T_INDEX, LN_BIT(LN_FLOAT) | LN_T_HALF, LN_BIT(LN_INT32)},
     build_embed,
     infer_embed,
     run_embed,
     NULL,
     0,
     NULL},
};

LN_FAMILY_TABLE(embed_norm, rows);
