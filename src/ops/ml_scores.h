/* What the classifiers and regressors of ai.onnx.ml share: post_transform and class labels. */
#ifndef LN_OPS_ML_SCORES_H
#define LN_OPS_ML_SCORES_H

#include "ops/op.h"

typedef enum ln_transform {
    LN_TRANSFORM_NONE,
    LN_TRANSFORM_SOFTMAX,
    LN_TRANSFORM_LOGISTIC,
    LN_TRANSFORM_SOFTMAX_ZERO, /* zeros stay zero and do not count */
    LN_TRANSFORM_PROBIT
} ln_transform;

/* Labels of a classifier: strings or integers. */
typedef struct ln_labels {
    const ln_string *strings;
    const int64_t *ints;
    int count;
} ln_labels;

/* Reads the attribute post_transform. */
ln_transform ln_transform_attr(ln_build *build);
/* Transforms the scores of one row in place; a single score only takes PROBIT, as in other runtimes. */
void ln_transform_scores(ln_transform transform, double *scores, int64_t n);
/* A binary classifier with one score: writes the scores of both classes. `probability` says that the score is one of the
 * second class (all weights are positive), else it is a distance from the border. */
void ln_transform_binary(ln_transform transform, double score, bool probability, double *scores);

/* Reads one of the two attributes; sets the node's output type. INVALID_ATTRIBUTE when neither is there. */
ln_status ln_labels_attr(ln_build *build, const char *strings, const char *ints, ln_labels *labels);
/* Writes label `index`; where there is only one label, 1 and 0 stand for yes and no, as in other runtimes. */
void ln_labels_store(const ln_labels *labels, ln_value *y, int64_t at, int index);
/* Input 0 as a table: [N, C], or [C] for one row. INVALID_SHAPE for other ranks. */
ln_status ln_table_shape(ln_op *op, int64_t *rows, int64_t *columns);

#endif
