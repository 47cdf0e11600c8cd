/*
 * The samples that Go's encoder wrote (test/unit/api/samples/), for tests that hold for every type.
 */
#ifndef TEST_API_SAMPLES_H
#define TEST_API_SAMPLES_H

#include "api/codec.h"

struct sample {
    const struct api_type *type;
    const char *name; /* "full", "empty" or "zero" */
    yyjson_val *object;
    yyjson_doc *doc; /* what `name` and `object` are in */
};

/* All samples; fails the test when there are none or one names a type that doesn't exist. They live until samples_done.
 */
const struct sample *samples(size_t *ret_n);
int samples_done(void **state); /* a teardown for a group of tests */

#endif
