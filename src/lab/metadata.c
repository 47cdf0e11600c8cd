/*
 * Metadata of every kind, see metadata.h.
 */
#include "lab/metadata.h"
#include "base/strings.h"
#include "lab/json.h"
#include "lab/names.h"
#include "lab/server_internal.h"

#define GENERATED_BASE   58
#define GENERATED_RANDOM 5

/* Only the server writes these. */
static const char *const owned[] = {"uid",      "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                                    "selfLink", "generation"};
/* Members that are left out when they are empty. */
static const char *const optional[] = {"labels",        "annotations",  "finalizers", "ownerReferences",
                                       "managedFields", "generateName", "selfLink",   "namespace"};

static void drop_empty(yyjson_mut_val *metadata)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(optional); i++)
        if (lab_mut_empty(yyjson_mut_obj_get(metadata, optional[i])))
            lab_mut_drop(metadata, optional[i]);
    lab_mut_drop_nulls(metadata);
}

static void generate_name(struct lab_write *w)
{
    char suffix[GENERATED_RANDOM + 1];
    const char *base = lab_mut_str(w->metadata, "generateName");
    kb_random_suffix(w->call->server->random, suffix, GENERATED_RANDOM);
    lab_mut_put_str(w->doc, w->metadata, "name", kb_arena_printf(w->arena, "%.*s%s", GENERATED_BASE, base, suffix));
}

void lab_metadata_prepare_create(struct lab_write *w)
{
    char uid[37];
    for (size_t i = 0; i < KB_ARRAY_LEN(owned); i++)
        lab_mut_drop(w->metadata, owned[i]);
    drop_empty(w->metadata);
    if (!*lab_mut_str(w->metadata, "name"))
        generate_name(w);
    if (w->call->kind->namespaced)
        lab_mut_put_str(w->doc, w->metadata, "namespace", w->call->namespace_);
    else
        lab_mut_drop(w->metadata, "namespace");
    kb_random_uuid(w->call->server->random, uid);
    lab_mut_put_str(w->doc, w->metadata, "uid", uid);
    lab_mut_put_str(w->doc, w->metadata, "creationTimestamp", lab_write_now(w));
    if (w->call->kind->generation)
        lab_mut_put_int(w->doc, w->metadata, "generation", 1);
}

static void restore_member(struct lab_write *w, const char *key)
{
    yyjson_val *old = LAB_VAL_AT(w->old_root, "metadata", key);
    if (old)
        lab_mut_put(w->doc, w->metadata, key, yyjson_val_mut_copy(w->doc, old));
    else
        lab_mut_drop(w->metadata, key);
}

void lab_metadata_prepare_update(struct lab_write *w)
{
    static const char *const fixed[] = {"name", "namespace", "generateName"};
    for (size_t i = 0; i < KB_ARRAY_LEN(owned); i++)
        restore_member(w, owned[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(fixed); i++)
        restore_member(w, fixed[i]);
    drop_empty(w->metadata);
}

/* Whether a member that the generation counts differs. */
static bool spec_changed(struct lab_write *w)
{
    const struct lab_call *call = w->call;
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_val *old_key, *old_value;
    yyjson_mut_val *old_root = yyjson_val_mut_copy(w->doc, w->old_root);
    yyjson_mut_obj_foreach(w->root, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        if (kb_streq(name, "metadata") || kb_streq(name, "apiVersion") || kb_streq(name, "kind") ||
            (kb_streq(name, "status") && call->version->status))
            continue;
        yyjson_mut_val *old = yyjson_mut_obj_get(old_root, name);
        if (!old || !yyjson_mut_equals(value, old))
            return true;
    }
    yyjson_obj_foreach(w->old_root, i, n, old_key, old_value)
    {
        const char *name = yyjson_get_str(old_key);
        if (!yyjson_mut_obj_get(w->root, name) && !kb_streq(name, "apiVersion") && !kb_streq(name, "kind") &&
            !(kb_streq(name, "status") && call->version->status))
            return true;
    }
    return false;
}

void lab_metadata_count_generation(struct lab_write *w)
{
    if (!w->call->kind->generation || w->same_generation || !spec_changed(w))
        return;
    int64_t generation = yyjson_get_sint(LAB_VAL_AT(w->old_root, "metadata", "generation"));
    lab_mut_put_int(w->doc, w->metadata, "generation", generation + 1);
}

static void check_name(struct lab_write *w)
{
    const char *name = lab_mut_str(w->metadata, "name");
    const char *wrong = lab_name_check(w->call->kind, name);
    if (wrong)
        lab_cause_invalid(w->call, "metadata.name", kb_quote(w->arena, name), wrong);
}

static void check_labels(struct lab_write *w)
{
    lab_labels_check(w->call, yyjson_mut_obj_get(w->metadata, "labels"), "metadata.labels");
    lab_annotations_check(w->call, yyjson_mut_obj_get(w->metadata, "annotations"), "metadata.annotations");
}

static void check_owners(struct lab_write *w)
{
    static const char *const required[] = {"apiVersion", "kind", "name", "uid"};
    const char *controller = NULL;
    size_t i, n;
    yyjson_mut_val *o;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(w->metadata, "ownerReferences"), i, n, o)
    {
        for (size_t k = 0; k < KB_ARRAY_LEN(required); k++)
            if (!*lab_mut_str(o, required[k]))
                lab_cause_invalid(w->call, kb_arena_printf(w->arena, "metadata.ownerReferences.%s", required[k]),
                                  "\"\"", kb_arena_printf(w->arena, "%s must not be empty", required[k]));
        if (!yyjson_mut_get_bool(yyjson_mut_obj_get(o, "controller")))
            continue;
        const char *who = kb_arena_printf(w->arena, "%s/%s", lab_mut_str(o, "kind"), lab_mut_str(o, "name"));
        if (controller)
            lab_cause_invalid(w->call, "metadata.ownerReferences", lab_json_write(w->arena, o, NULL),
                              kb_arena_printf(w->arena,
                                              "Only one reference can have Controller set to true. Found \"true\" in "
                                              "references for %s and %s",
                                              controller, who));
        controller = who;
    }
}

static bool had_finalizer(struct lab_write *w, const char *name)
{
    size_t i, n;
    yyjson_val *f;
    yyjson_arr_foreach(LAB_VAL_AT(w->old_root, "metadata", "finalizers"), i, n, f)
    {
        if (yyjson_equals_str(f, name))
            return true;
    }
    return false;
}

static void check_finalizers(struct lab_write *w)
{
    bool deleting = *lab_mut_str(w->metadata, "deletionTimestamp");
    size_t i, n;
    yyjson_mut_val *f;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(w->metadata, "finalizers"), i, n, f)
    {
        const char *name = yyjson_mut_get_str(f);
        const char *wrong = lab_qualified_name_check(name ? name : "");
        if (wrong)
            lab_cause_invalid(w->call, "metadata.finalizers", kb_quote(w->arena, name ? name : ""), wrong);
        else if (deleting && !had_finalizer(w, name))
            lab_cause_forbidden(w->call, "metadata.finalizers",
                                kb_arena_printf(w->arena,
                                                "no new finalizers can be added if the object is being deleted, found "
                                                "new finalizers []string{%s}",
                                                kb_quote(w->arena, name)));
    }
}

void lab_metadata_validate(struct lab_write *w)
{
    if (!w->old)
        check_name(w);
    check_labels(w);
    check_owners(w);
    check_finalizers(w);
}
