/* Operators on lists of token numbers: NGramRepeatBlock and WordConvEmbedding.
 *
 * NGramRepeatBlock keeps a generator from repeating itself: where the last n-1 tokens of a row stand earlier in it, the token that
 * followed them there gets the score -inf. WordConvEmbedding makes a vector of each word, a row of character numbers that is
 * as long as it has numbers that are not 0: tanh of a convolution over the characters' vectors, the largest over all positions; a
 * word that begins with 0 is empty, and zero. Source: com.microsoft, version 1, as onnxruntime computes them.
 */
#include <math.h>
#include <string.h>

#include "ops/move.h"

/* NGramRepeatBlock -------------------------------------------------------------------------------------- */

typedef struct ngram_params {
    int64_t size;
} ngram_params;

static ln_status build_ngram(ln_build *build) {
    ngram_params *params = ln_build_params(build, sizeof *params);
    ln_attr_required(build, "ngram_size");
    if (params) {
        params->size = ln_attr_int(build, "ngram_size", 1);
        if (params->size < 1) {
            return ln_build_fail(build, LN_INVALID_ATTRIBUTE,
                                 "attribute 'ngram_size' is %lld, expected 1 or more",
                                 (long long)params->size);
        }
    }
    return ln_build_status(build);
}

static ln_status infer_ngram(ln_op *op) {
    const ln_shape *tokens = &ln_in(op, 0)->shape;
    const ln_shape *scores = &ln_in(op, 1)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, tokens->rank == 2 && scores->rank == 2 && tokens->dims[0] == scores->dims[0],
                INVALID_SHAPE, "tokens of shape %s do not fit scores of shape %s",
                ln_shape_text(tokens, text[0]), ln_shape_text(scores, text[1]));
    return ln_op_shape(op, 0, LN_FLOAT, scores);
}

static ln_status block_row(ln_op *op, const int64_t *tokens, int64_t count, float *scores, int64_t words) {
    const ngram_params *params = op->params;
    const int64_t before = params->size - 1;
    const int64_t *last = tokens + count - before;
    for (int64_t i = 0; i + before < count; i++) {
        if (memcmp(tokens + i, last, (size_t)before * sizeof *tokens) != 0) {
            continue;
        }
        const int64_t token = tokens[i + before];
        LN_OP_CHECK(op, token >= 0 && token < words, INVALID_VALUE,
                    "token %lld is out of bounds for %lld scores", (long long)token, (long long)words);
        scores[token] = -INFINITY;
    }
    return LN_OK;
}

static ln_status run_ngram(ln_op *op) {
    const ngram_params *params = op->params;
    const ln_shape *tokens = &ln_in(op, 0)->shape;
    const ln_value *scores = ln_out(op, 0);
    if (!scores) {
        return LN_OK;
    }
    const int64_t count = tokens->dims[1];
    const int64_t words = scores->shape.dims[1];
    memmove(scores->data, ln_in(op, 1)->data, ln_value_bytes(scores));
    for (int64_t row = 0; row < tokens->dims[0] && count >= params->size; row++) {
        LN_TRY(block_row(op, (const int64_t *)ln_in(op, 0)->data + row * count, count,
                         (float *)scores->data + row * words, words));
    }
    return LN_OK;
}

/* WordConvEmbedding ------------------------------------------------------------------------------------- */

enum { WORDS, WEIGHTS, BIAS, CHARACTERS };

typedef struct word_params {
    int64_t embedding, window, character; /* -1 where the weights say it */
} word_params;

static ln_status build_word(ln_build *build) {
    word_params *params = ln_build_params(build, sizeof *params);
    if (params) {
        params->embedding = ln_attr_int(build, "embedding_size", -1);
        params->window = ln_attr_int(build, "conv_window_size", -1);
        params->character = ln_attr_int(build, "char_embedding_size", -1);
    }
    return ln_build_status(build);
}

static ln_status infer_word(ln_op *op) {
    const word_params *params = op->params;
    const ln_shape *w = &ln_in(op, WEIGHTS)->shape;
    const ln_shape *c = &ln_in(op, CHARACTERS)->shape;
    ln_shape shape = ln_in(op, WORDS)->shape;
    char text[2][LN_SHAPE_TEXT_BYTES];
    LN_OP_CHECK(op, shape.rank >= 1, INVALID_SHAPE, "the words have no axis of characters");
    LN_OP_CHECK(op,
                w->rank == 4 && w->dims[1] == 1 && c->rank == 2 && c->dims[1] == w->dims[3] && c->dims[0] > 0,
                INVALID_SHAPE, "weights of shape %s do not fit characters of shape %s",
                ln_shape_text(w, text[0]), ln_shape_text(c, text[1]));
    LN_OP_CHECK(op,
                (params->embedding < 0 || params->embedding == w->dims[0]) &&
                    (params->window < 0 || params->window == w->dims[2]) &&
                    (params->character < 0 || params->character == w->dims[3]),
                INVALID_ATTRIBUTE, "the sizes in the attributes are not those of weights of shape %s",
                ln_shape_text(w, text[0]));
    LN_OP_CHECK(op, ln_value_count(ln_in(op, BIAS)) == w->dims[0], INVALID_SHAPE,
                "the bias has %lld numbers, expected %lld", (long long)ln_value_count(ln_in(op, BIAS)),
                (long long)w->dims[0]);
    LN_OP_CHECK(op, w->dims[2] <= shape.dims[shape.rank - 1], INVALID_SHAPE,
                "a window of %lld characters does not fit words of %lld", (long long)w->dims[2],
                (long long)shape.dims[shape.rank - 1]);
    shape.dims[shape.rank - 1] = w->dims[0];
    return ln_op_shape(op, 0, LN_FLOAT, &shape);
}

/* One filter over one word: the largest of all positions. tanh grows with its argument, so it is taken once. */
static float largest(const ln_op *op, const int32_t *word, int64_t positions, int64_t filter) {
    const ln_shape *w = &ln_in(op, WEIGHTS)->shape;
    const int64_t window = w->dims[2];
    const int64_t size = w->dims[3];
    const float *weights = (const float *)ln_in(op, WEIGHTS)->data + filter * window * size;
    const float *characters = ln_in(op, CHARACTERS)->data;
    float most = -INFINITY;
    for (int64_t at = 0; at < positions; at++) {
        float sum = 0;
        for (int64_t i = 0; i < window; i++) {
            const float *character = characters + word[at + i] * size;
            for (int64_t j = 0; j < size; j++) {
                sum += weights[i * size + j] * character[j];
            }
        }
        most = sum > most || sum != sum ? sum : most;
    }
    return tanhf(most + ((const float *)ln_in(op, BIAS)->data)[filter]);
}

/* One word. */
static void word_task(ln_op *op, int64_t index, void *scratch) {
    (void)scratch;
    const ln_shape *words = &ln_in(op, WORDS)->shape;
    const ln_shape *w = &ln_in(op, WEIGHTS)->shape;
    const int64_t length = words->dims[words->rank - 1];
    const int32_t *word = (const int32_t *)ln_in(op, WORDS)->data + index * length;
    float *out = (float *)ln_out(op, 0)->data + index * w->dims[0];
    int64_t used = 0;
    for (int64_t i = 0; i < length && word[0] != 0; i++) {
        used += word[i] != 0;
    }
    const int64_t positions = used > w->dims[2] ? used - w->dims[2] + 1 : 1;
    for (int64_t filter = 0; filter < w->dims[0]; filter++) {
        out[filter] = used > 0 ? largest(op, word, positions, filter) : 0;
    }
}

static ln_status run_word(ln_op *op) {
    const ln_value *words = ln_in(op, WORDS);
    LN_TRY(ln_check_indices(op, WORDS, ln_in(op, CHARACTERS)->shape.dims[0]));
    const int32_t *characters = words->data;
    for (int64_t i = 0; i < ln_value_count(words); i++) {
        LN_OP_CHECK(op, characters[i] >= 0, INVALID_VALUE, "character %d is negative", (int)characters[i]);
    }
    return ln_op_grid(op, word_task, ln_shape_product(&words->shape, 0, words->shape.rank - 1));
}

/* Rows -------------------------------------------------------------------------------------------------- */

#define FLOATS {LN_BIT(LN_FLOAT)}
static const ln_op_row rows[] = {
    {"NGramRepeatBlock", "com.microsoft", 1, LN_OPEN, "lf>f", FLOATS, build_ngram, infer_ngram, run_ngram,
     NULL, LN_OP_INPLACE_1, NULL},
    {"WordConvEmbedding", "com.microsoft", 1, LN_OPEN, "ifff>f", FLOATS, build_word, infer_word, run_word,
     NULL, 0, NULL},
};
LN_FAMILY_TABLE(tokens, rows);
