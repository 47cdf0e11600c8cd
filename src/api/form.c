/*
 * Form: whether a text says an object as this codec would say it. Go's clients re-write what they read (structs that
 * are empty but not absent appear, quantities become canonical); the API server counts that as a change of the spec.
 */
#include "api/codec.h"
#include <string.h>

bool api_is_in_form(const struct api_type *type, const void *data, yyjson_val *value, const char *member)
{
    const struct api_field *field = api_field_find(type, member, strlen(member));
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *ours = field ? api_encode_field(doc, field, data, 0) : NULL;
    yyjson_val *theirs = yyjson_obj_get(value, member);
    bool same = ours && theirs ? yyjson_mut_equals(ours, yyjson_val_mut_copy(doc, theirs)) : !ours && !theirs;
    yyjson_mut_doc_free(doc);
    return same;
}
