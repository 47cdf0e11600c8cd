/*
 * Structural schemas of custom resources: pruning of what they do not name, defaults, validation.
 */
#ifndef LAB_SCHEMA_H
#define LAB_SCHEMA_H

#include "lab/write.h"

/* Prunes and defaults the whole object. With fieldValidation=Strict members that the schema does not name are an
 * error. */
int lab_schema_apply(struct lab_write *w, yyjson_val *schema);
/* What is wrong is collected with lab_cause. `has_rules`: the schema holds rules in CEL. */
void lab_schema_validate(struct lab_write *w, yyjson_val *schema, bool has_rules);

#endif
