/*
 * Applies a JSON patch (RFC 6902: add, replace, remove on object members) as an API server does: a path that is not
 * there is an error.
 */
#ifndef TEST_API_JSON_PATCH_H
#define TEST_API_JSON_PATCH_H

#include <stdbool.h>
#include <yyjson.h>

/* False when an operation can't be done. `target` is changed. */
bool json_patch_apply(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch);

#endif
