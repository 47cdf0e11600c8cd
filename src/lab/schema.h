/*
 * Structural schemas of custom resources: pruning of what they do not name, defaults, validation.
 */
#ifndef LAB_SCHEMA_H
#define LAB_SCHEMA_H

#include "lab/write.h"

/* On the whole object. What is wrong is collected with lab_cause. */
int lab_schema_apply(struct lab_write *w, yyjson_val *schema);

#endif
