/* A small model that has one of everything the reader knows. */
#ifndef LN_TEST_SAMPLE_MODEL_H
#define LN_TEST_SAMPLE_MODEL_H

#include "wire.h"

/* Caller frees data. */
wire sample_model(void);

#endif
