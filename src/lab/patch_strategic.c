/*
 * Strategic merge patch for the kinds of Kubernetes' own. Which lists are merged, and by what, is a table of field
 * names: within these kinds a list of that name always has the same rule, but for those that name their parent.
 */
#include "base/strings.h"
#include "lab/patch.h"

static const struct {
    const char *parent, *field, *key; /* parent NULL: any; key "": a set of scalars */
} merged_lists[] = {
    {NULL, "containers", "name"},
    {NULL, "initContainers", "name"},
    {NULL, "ephemeralContainers", "name"},
    {NULL, "volumes", "name"},
    {NULL, "volumeMounts", "mountPath"},
    {NULL, "volumeDevices", "devicePath"},
    {NULL, "env", "name"},
    {"containers", "ports", "containerPort"},
    {"initContainers", "ports", "containerPort"},
    {"spec", "ports", "port"},
    {NULL, "conditions", "type"},
    {NULL, "ownerReferences", "uid"},
    {NULL, "finalizers", ""},
    {NULL, "imagePullSecrets", "name"},
    {NULL, "secrets", "name"},
    {NULL, "hostAliases", "ip"},
    {NULL, "topologySpreadConstraints", "topologyKey"},
    {NULL, "addresses", "type"},
    {NULL, "podIPs", "ip"},
    {NULL, "hostIPs", "ip"},
    {NULL, "podCIDRs", ""},
    {NULL, "resourceClaims", "name"},
    {NULL, "schedulingGates", "name"},
};

const char *lab_patch_list_key(const char *parent, const char *field)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(merged_lists); i++)
        if (kb_streq(merged_lists[i].field, field) &&
            (!merged_lists[i].parent || kb_streq(merged_lists[i].parent, parent)))
            return merged_lists[i].key;
    return NULL;
}

struct merger {
    yyjson_mut_doc *doc;
    struct kb_arena *arena;
    struct kube_error *reterr;
};

static int merge_object(struct merger *m, const char *name, yyjson_mut_val *target, yyjson_val *patch,
                        yyjson_mut_val **ret);

/* A patch that meets nothing is taken over without its directives and nulls. */
static yyjson_mut_val *cleaned(struct merger *m, yyjson_val *patch)
{
    if (yyjson_is_arr(patch)) {
        yyjson_mut_val *list = yyjson_mut_arr(m->doc);
        size_t i, n;
        yyjson_val *v;
        yyjson_arr_foreach(patch, i, n, v)
        {
            if (!*lab_val_str(v, "$patch"))
                yyjson_mut_arr_append(list, cleaned(m, v));
        }
        return list;
    }
    if (!yyjson_is_obj(patch))
        return yyjson_val_mut_copy(m->doc, patch);
    yyjson_mut_val *object = yyjson_mut_obj(m->doc);
    size_t i, n;
    yyjson_val *key, *v;
    yyjson_obj_foreach(patch, i, n, key, v)
    {
        if (*yyjson_get_str(key) != '$' && !yyjson_is_null(v))
            lab_mut_put(m->doc, object, yyjson_get_str(key), cleaned(m, v));
    }
    return object;
}

static bool same_scalar(yyjson_mut_val *a, yyjson_val *b)
{
    if (!a || !b)
        return false;
    if (yyjson_is_str(b))
        return yyjson_mut_equals_str(a, yyjson_get_str(b));
    if (yyjson_is_int(b))
        return yyjson_mut_is_int(a) && yyjson_mut_get_sint(a) == yyjson_get_sint(b);
    return false;
}

/* The element that `patch` means; -1: none. */
static long find_element(yyjson_mut_val *list, const char *key, yyjson_val *patch)
{
    size_t n = yyjson_mut_arr_size(list);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *e = yyjson_mut_arr_get(list, i);
        bool same = *key ? same_scalar(yyjson_mut_obj_get(e, key), yyjson_obj_get(patch, key)) : same_scalar(e, patch);
        if (same)
            return (long)i;
    }
    return -1;
}

static int merge_element(struct merger *m, const char *field, const char *key, yyjson_mut_val *list, yyjson_val *patch)
{
    long at = find_element(list, key, patch);
    if (!*key) {
        if (at < 0)
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(m->doc, patch));
        return 0;
    }
    if (!yyjson_obj_get(patch, key))
        return kube_error_set(m->reterr, KUBE_ERROR_INVALID, "map: %s does not contain declared merge key: %s",
                              lab_json_write_val(m->arena, patch, NULL), key);
    if (kb_streq(lab_val_str(patch, "$patch"), "delete")) {
        if (at >= 0)
            yyjson_mut_arr_remove(list, (size_t)at);
        return 0;
    }
    if (at < 0) {
        yyjson_mut_arr_append(list, cleaned(m, patch));
        return 0;
    }
    yyjson_mut_val *merged;
    if (merge_object(m, field, yyjson_mut_arr_get(list, (size_t)at), patch, &merged) < 0)
        return -1;
    yyjson_mut_arr_replace(list, (size_t)at, merged);
    return 0;
}

/* A list holding {"$patch": "replace"} replaces. */
static bool replaces(yyjson_val *patch)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(patch, i, n, v)
    {
        if (kb_streq(lab_val_str(v, "$patch"), "replace"))
            return true;
    }
    return false;
}

static long place_of(yyjson_mut_val *element, const char *key, yyjson_mut_val *list)
{
    size_t i, n;
    yyjson_mut_val *e;
    yyjson_mut_arr_foreach(list, i, n, e)
    {
        yyjson_mut_val *a = *key ? yyjson_mut_obj_get(e, key) : e;
        yyjson_mut_val *b = *key ? yyjson_mut_obj_get(element, key) : element;
        if (a && b && yyjson_mut_equals(a, b))
            return (long)i;
    }
    return -1;
}

/* The elements that the patch names come in its order, the others keep theirs; where both could follow, the one that
 * stood first before comes first, and one that is new at once. */
static yyjson_mut_val *in_order(struct merger *m, yyjson_mut_val *merged, const char *key, yyjson_val *patch,
                                yyjson_mut_val *before)
{
    yyjson_mut_val *named = yyjson_mut_arr(m->doc), *sorted = yyjson_mut_arr(m->doc);
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(patch, i, n, v)
    {
        long at = find_element(merged, key, v);
        if (at >= 0)
            yyjson_mut_arr_append(named, yyjson_mut_arr_remove(merged, (size_t)at));
    }
    while (yyjson_mut_arr_size(named) || yyjson_mut_arr_size(merged)) {
        yyjson_mut_val *a = yyjson_mut_arr_get_first(named), *b = yyjson_mut_arr_get_first(merged);
        bool patch_first = a && (!b || place_of(a, key, before) < place_of(b, key, before));
        yyjson_mut_arr_append(sorted, yyjson_mut_arr_remove_first(patch_first ? named : merged));
    }
    return sorted;
}

static int merge_list(struct merger *m, const char *parent, const char *field, yyjson_mut_val *target,
                      yyjson_val *patch, yyjson_mut_val **ret)
{
    const char *key = lab_patch_list_key(parent, field);
    if (!key || !yyjson_mut_is_arr(target) || replaces(patch)) {
        *ret = cleaned(m, patch);
        return 0;
    }
    size_t i, n;
    yyjson_val *v;
    yyjson_mut_val *before = yyjson_mut_val_mut_copy(m->doc, target);
    yyjson_arr_foreach(patch, i, n, v)
    {
        if (merge_element(m, field, key, target, v) < 0)
            return -1;
    }
    *ret = in_order(m, target, key, patch, before);
    return 0;
}

static void delete_scalars(yyjson_mut_val *list, yyjson_val *values)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(values, i, n, v)
    {
        long at = find_element(list, "", v);
        if (at >= 0)
            yyjson_mut_arr_remove(list, (size_t)at);
    }
}

/* Moves the elements that `order` names into its order; the others keep their places behind. */
static void set_order(struct merger *m, yyjson_mut_val *list, const char *key, yyjson_val *order)
{
    yyjson_mut_val *sorted = yyjson_mut_arr(m->doc);
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(order, i, n, v)
    {
        long at = find_element(list, key, v);
        if (at >= 0)
            yyjson_mut_arr_append(sorted, yyjson_mut_arr_remove(list, (size_t)at));
    }
    for (yyjson_mut_val *e; (e = yyjson_mut_arr_remove_first(sorted)) != NULL;)
        yyjson_mut_arr_append(list, e);
}

static void retain_keys(yyjson_mut_val *target, yyjson_val *keys)
{
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(target);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
        bool kept = false;
        size_t i, n;
        yyjson_val *v;
        yyjson_arr_foreach(keys, i, n, v)
        {
            kept |= same_scalar(key, v);
        }
        if (!kept)
            yyjson_mut_obj_iter_remove(&it);
    }
}

static void apply_directive(struct merger *m, const char *name, yyjson_mut_val *target, const char *directive,
                            yyjson_val *value)
{
    const char *field;
    if (kb_streq(directive, "$retainKeys"))
        retain_keys(target, value);
    else if ((field = kb_after_prefix(directive, "$deleteFromPrimitiveList/")))
        delete_scalars(yyjson_mut_obj_get(target, field), value);
    else if ((field = kb_after_prefix(directive, "$setElementOrder/"))) {
        const char *key = lab_patch_list_key(name, field);
        yyjson_mut_val *list = yyjson_mut_obj_get(target, field);
        if (key && list)
            set_order(m, list, key, value);
    }
}

static int merge_member(struct merger *m, const char *name, yyjson_mut_val *target, const char *field,
                        yyjson_val *value)
{
    yyjson_mut_val *have = yyjson_mut_obj_get(target, field), *merged = NULL;
    if (yyjson_is_null(value)) {
        lab_mut_drop(target, field);
        return 0;
    }
    if (!have)
        merged = cleaned(m, value);
    else if (yyjson_is_arr(value)) {
        if (merge_list(m, name, field, have, value, &merged) < 0)
            return -1;
    } else if (yyjson_is_obj(value) && yyjson_mut_is_obj(have)) {
        if (merge_object(m, field, have, value, &merged) < 0)
            return -1;
    } else {
        merged = cleaned(m, value);
    }
    if (merged)
        lab_mut_put(m->doc, target, field, merged);
    else
        lab_mut_drop(target, field);
    return 0;
}

static int merge_object(struct merger *m, const char *name, yyjson_mut_val *target, yyjson_val *patch,
                        yyjson_mut_val **ret)
{
    size_t i, n;
    yyjson_val *key, *value;
    const char *directive = lab_val_str(patch, "$patch");
    if (kb_streq(directive, "replace")) {
        *ret = cleaned(m, patch);
        return 0;
    }
    if (kb_streq(directive, "delete")) {
        *ret = NULL;
        return 0;
    }
    yyjson_obj_foreach(patch, i, n, key, value)
    {
        if (*yyjson_get_str(key) == '$' && !kb_starts_with(yyjson_get_str(key), "$setElementOrder/"))
            apply_directive(m, name, target, yyjson_get_str(key), value);
    }
    yyjson_obj_foreach(patch, i, n, key, value)
    {
        if (*yyjson_get_str(key) != '$' && merge_member(m, name, target, yyjson_get_str(key), value) < 0)
            return -1;
    }
    yyjson_obj_foreach(patch, i, n, key, value)
    {
        if (kb_starts_with(yyjson_get_str(key), "$setElementOrder/"))
            apply_directive(m, name, target, yyjson_get_str(key), value);
    }
    *ret = target;
    return 0;
}

int lab_patch_strategic(yyjson_mut_doc *doc, struct kb_arena *arena, yyjson_mut_val *target, yyjson_val *patch,
                        yyjson_mut_val **ret, struct kube_error *reterr)
{
    struct merger m = {doc, arena, reterr};
    if (!yyjson_is_obj(patch))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "a strategic merge patch must be an object");
    if (merge_object(&m, "", target, patch, ret) < 0)
        return -1;
    if (!*ret)
        *ret = yyjson_mut_obj(doc);
    return 0;
}
