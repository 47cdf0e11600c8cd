/*
 * Sets of fields in the form of managedFields (FieldsV1), and what server-side apply does with them.
 *
 *     {"f:spec":{"f:replicas":{},"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}}
 *
 * Which lists are keyed, sets or single values comes from the kind: a CRD's schema, or the table of strategic merge.
 * All memory is the documents'.
 */
#ifndef LAB_FIELDSET_H
#define LAB_FIELDSET_H

#include "lab/json.h"
#include "lab/kinds.h"

/* Where a walk stands: what decides how a list is treated. */
struct lab_field_place {
    struct kb_arena *arena;
    bool custom;
    yyjson_val *schema; /* of the value, custom kinds; NULL: unknown, lists are single values */
    const char *parent, *name;
    int depth; /* the root is 0 */
};

struct lab_field_place lab_field_root(struct kb_arena *arena, const struct lab_kind *kind,
                                      const struct lab_version *version);

/* The fields that a configuration names. */
yyjson_mut_val *lab_fieldset_of(yyjson_mut_doc *doc, struct lab_field_place at, yyjson_mut_val *configuration);
/* `live` with the configuration's values put in. */
yyjson_mut_val *lab_fieldset_merge(yyjson_mut_doc *doc, struct lab_field_place at, yyjson_mut_val *live,
                                   yyjson_mut_val *configuration);
/* Takes the fields of `gone` out of `live`. */
void lab_fieldset_remove(yyjson_mut_val *live, yyjson_mut_val *gone);
/* The fields of `a` that `b` lacks; NULL when there are none. */
yyjson_mut_val *lab_fieldset_minus(yyjson_mut_doc *doc, yyjson_mut_val *a, yyjson_mut_val *b);
/* The fields of both sets whose values differ between the two objects; NULL when there are none. */
yyjson_mut_val *lab_fieldset_conflicts(yyjson_mut_doc *doc, yyjson_mut_val *a, yyjson_mut_val *b, yyjson_mut_val *live,
                                       yyjson_mut_val *configuration);
/* Calls `visit` for each single field of a set with its path (".spec.containers[name=\"a\"].image"). */
void lab_fieldset_each(struct kb_arena *arena, yyjson_mut_val *set, const char *path,
                       void (*visit)(void *context, const char *path), void *context);

#endif
