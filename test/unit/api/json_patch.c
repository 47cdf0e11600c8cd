/*
 * A small JSON patch: only what api_diff_json makes.
 */
#include "json_patch.h"

#include <string.h>

/* The next token of a path, unescaped into `ret`; returns what is behind it. */
static const char *next_token(const char *path, char *ret, size_t size)
{
    size_t n = 0;

    for (path++; *path && *path != '/' && n + 1 < size; path++) {
        if (path[0] == '~')
            ret[n++] = *++path == '1' ? '/' : '~';
        else
            ret[n++] = *path;
    }
    ret[n] = 0;
    return path;
}

static bool apply_one(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *operation)
{
    const char *op = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "op"));
    const char *path = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "path"));
    yyjson_mut_val *value = yyjson_mut_obj_get(operation, "value");
    char token[1024];

    if (!op || !path || *path != '/')
        return false;
    path = next_token(path, token, sizeof(token));
    for (; *path; path = next_token(path, token, sizeof(token)))
        target = yyjson_mut_obj_get(target, token);
    if (!yyjson_mut_is_obj(target))
        return false;
    if (strcmp(op, "add") != 0 && !yyjson_mut_obj_get(target, token))
        return false;
    if (strcmp(op, "remove") == 0)
        return !value && yyjson_mut_obj_remove_str(target, token);
    return value && yyjson_mut_obj_put(target, yyjson_mut_strcpy(doc, token), yyjson_mut_val_mut_copy(doc, value));
}

bool json_patch_apply(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    size_t i, n;
    yyjson_mut_val *operation;

    yyjson_mut_arr_foreach(patch, i, n, operation)
    {
        if (!apply_one(doc, target, operation))
            return false;
    }
    return true;
}
