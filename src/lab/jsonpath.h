/*
 * The part of JSONPath that printer columns use: .a.b, .a["x.y/z"], [0], [*], [?(@.a=='x')], with or without {}.
 */
#ifndef LAB_JSONPATH_H
#define LAB_JSONPATH_H

#include "base/arena.h"
#include <yyjson.h>

/* The first value that the path names, or NULL. */
yyjson_val *lab_jsonpath(struct kb_arena *arena, yyjson_val *root, const char *path);

#endif
