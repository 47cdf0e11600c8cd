/*
 * The patch formats, as functions from a document to a document. `target` may be changed or parts of it reused; all
 * memory is the documents'. Errors are KUBE_ERROR_INVALID (400) or API errors with their status.
 */
#ifndef LAB_PATCH_H
#define LAB_PATCH_H

#include "base/error.h"
#include "lab/json.h"

/* RFC 7396. */
yyjson_mut_val *lab_patch_merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_val *patch);
/* RFC 6902 as the API server has it: `replace` of an absent member sets it, `test` with null passes on one. */
int lab_patch_json(yyjson_mut_doc *doc, struct kb_arena *arena, yyjson_mut_val *target, yyjson_val *patch,
                   yyjson_mut_val **ret, struct kube_error *reterr);
/* Strategic merge: lists of objects are merged by their key; $patch, $deleteFromPrimitiveList, $setElementOrder and
 * $retainKeys directives. */
int lab_patch_strategic(yyjson_mut_doc *doc, struct kb_arena *arena, yyjson_mut_val *target, yyjson_val *patch,
                        yyjson_mut_val **ret, struct kube_error *reterr);
/* The member by which the list called `field` in an object called `parent` is merged; NULL: it is replaced as a whole;
 * "" : a set of scalars. */
const char *lab_patch_list_key(const char *parent, const char *field);

#endif
