/*
 * JSON merge patch (RFC 7396).
 */
#include "lab/patch.h"

yyjson_mut_val *lab_patch_merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_val *patch)
{
    if (!yyjson_is_obj(patch))
        return yyjson_val_mut_copy(doc, patch);
    if (!yyjson_mut_is_obj(target))
        target = yyjson_mut_obj(doc);
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(patch, i, n, key, value)
    {
        const char *name = yyjson_get_str(key);
        if (yyjson_is_null(value))
            lab_mut_drop(target, name);
        else
            lab_mut_put(doc, target, name, lab_patch_merge(doc, yyjson_mut_obj_get(target, name), value));
    }
    return target;
}
