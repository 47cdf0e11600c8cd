/*
 * Validation of Pod volumes: names, and one source each with what it needs.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "lab/json.h"
#include "lab/names.h"
#include "lab/validate.h"

struct strings {
    size_t n;
    const char **items;
};

/* The member that each source can't do without. */
static const struct {
    const char *source, *member;
} required[] = {
    {"persistentVolumeClaim", "claimName"},
    {"hostPath", "path"},
    {"secret", "secretName"},
    {"configMap", "name"},
    {"csi", "driver"},
    {"nfs", "server"},
    {"nfs", "path"},
    {"iscsi", "targetPortal"},
    {"iscsi", "iqn"},
    {"image", "reference"},
    {"flexVolume", "driver"},
};

static void check_relative(struct lab_pod_check *c, const char *text, const char *path)
{
    const char *const *parts;
    size_t n = kb_split(c->arena, text, '/', &parts);
    if (*text == '/')
        lab_cause_invalid(c->call, path, kb_quote(c->arena, text), "must be a relative path");
    for (size_t i = 0; i < n; i++) {
        if (kb_streq(parts[i], ".."))
            lab_cause_invalid(c->call, path, kb_quote(c->arena, text), "must not contain '..'");
    }
}

/* {key, path, mode} of secrets and config maps. */
static void check_items(struct lab_pod_check *c, yyjson_mut_val *items, const char *path)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(items, i, n, item)
    {
        const char *at = LAB_PATH(c, "%s.items[%zu]", path, i);
        if (!*lab_mut_str(item, "key"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.key", at), "");
        if (!*lab_mut_str(item, "path"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.path", at), "");
        else
            check_relative(c, lab_mut_str(item, "path"), LAB_PATH(c, "%s.path", at));
    }
}

static void check_downward_items(struct lab_pod_check *c, yyjson_mut_val *items, const char *path)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(items, i, n, item)
    {
        const char *at = LAB_PATH(c, "%s.items[%zu]", path, i);
        if (!*lab_mut_str(item, "path"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.path", at), "");
        else
            check_relative(c, lab_mut_str(item, "path"), LAB_PATH(c, "%s.path", at));
        bool field = yyjson_mut_obj_get(item, "fieldRef"), resource = yyjson_mut_obj_get(item, "resourceFieldRef");
        if (!field && !resource)
            lab_cause_required(c->call, path, "one of fieldRef and resourceFieldRef is required");
        if (field && !*lab_mut_str(yyjson_mut_obj_get(item, "fieldRef"), "fieldPath"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.fieldRef.fieldPath", at), "");
    }
}

static void check_mode(struct lab_pod_check *c, yyjson_mut_val *source, const char *path)
{
    yyjson_mut_val *mode = yyjson_mut_obj_get(source, "defaultMode");
    if (mode && (yyjson_mut_get_sint(mode) < 0 || yyjson_mut_get_sint(mode) > 0777))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.defaultMode", path), lab_json_write(c->arena, mode, NULL),
                          "must be a number between 0 and 0777 (octal), both inclusive");
}

static void check_projected(struct lab_pod_check *c, yyjson_mut_val *source, const char *path)
{
    static const char *const kinds[] = {
        "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"};
    size_t i, n;
    yyjson_mut_val *s;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(source, "sources"), i, n, s)
    {
        const char *at = LAB_PATH(c, "%s.sources[%zu]", path, i);
        size_t count = 0;
        for (size_t k = 0; k < KB_ARRAY_LEN(kinds); k++)
            count += yyjson_mut_obj_get(s, kinds[k]) != NULL;
        if (count > 1)
            lab_cause_forbidden(c->call, at, "may not specify more than 1 volume type per source");
        check_items(c, LAB_AT(s, "secret", "items"), LAB_PATH(c, "%s.secret", at));
        check_items(c, LAB_AT(s, "configMap", "items"), LAB_PATH(c, "%s.configMap", at));
        check_downward_items(c, LAB_AT(s, "downwardAPI", "items"), LAB_PATH(c, "%s.downwardAPI", at));
        yyjson_mut_val *token = yyjson_mut_obj_get(s, "serviceAccountToken");
        if (token && !*lab_mut_str(token, "path"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.serviceAccountToken.path", at), "");
    }
}

static void check_source(struct lab_pod_check *c, const char *kind, yyjson_mut_val *source, const char *path)
{
    static const char *const host_types[] = {"",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                                             "File", "FileOrCreate", "Socket"};
    for (size_t i = 0; i < KB_ARRAY_LEN(required); i++)
        if (kb_streq(required[i].source, kind) && !*lab_mut_str(source, required[i].member))
            lab_cause_required(c->call, LAB_PATH(c, "%s.%s", path, required[i].member), "");
    check_mode(c, source, path);
    if (kb_streq(kind, "secret") || kb_streq(kind, "configMap"))
        check_items(c, yyjson_mut_obj_get(source, "items"), path);
    else if (kb_streq(kind, "downwardAPI"))
        check_downward_items(c, yyjson_mut_obj_get(source, "items"), path);
    else if (kb_streq(kind, "projected"))
        check_projected(c, source, path);
    else if (kb_streq(kind, "hostPath"))
        lab_validate_one_of(c, source, "type", path, host_types, KB_ARRAY_LEN(host_types));
    else if (kb_streq(kind, "emptyDir") && *lab_mut_str(source, "sizeLimit") == '-')
        lab_cause_forbidden(c->call, LAB_PATH(c, "%s.sizeLimit", path),
                            "SizeLimit field must be a valid resource "
                            "quantity");
}

static void check_sources(struct lab_pod_check *c, yyjson_mut_val *volume, const char *path)
{
    size_t i, n, count = 0;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(volume, i, n, key, value)
    {
        const char *kind = yyjson_mut_get_str(key) ?: "";
        const char *at = LAB_PATH(c, "%s.%s", path, kind);
        if (kb_streq(kind, "name"))
            continue;
        if (count++)
            lab_cause_forbidden(c->call, at, "may not specify more than 1 volume type");
        else
            check_source(c, kind, value, at);
    }
    if (!count)
        lab_cause_required(c->call, path, "must specify a volume type");
}

void lab_validate_volumes(struct lab_pod_check *c, const char *path)
{
    struct strings names = {0};
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c->spec, "volumes"), i, n, v)
    {
        const char *at = LAB_PATH(c, "%s.volumes[%zu]", path, i), *name = lab_mut_str(v, "name");
        const char *wrong = lab_dns1123_label_check(name);
        check_sources(c, v, at);
        if (!*name)
            lab_cause_required(c->call, LAB_PATH(c, "%s.name", at), "");
        else if (wrong)
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.name", at), kb_quote(c->arena, name), wrong);
        if (*name && kb_in_list(name, names.items, names.n))
            lab_cause_duplicate(c->call, LAB_PATH(c, "%s.name", at), kb_quote(c->arena, name));
        *kb_vec_push(c->arena, &names) = name;
    }
}

yyjson_mut_val *lab_pod_volume(struct lab_pod_check *c, const char *name)
{
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c->spec, "volumes"), i, n, v)
    {
        if (kb_streq(lab_mut_str(v, "name"), name))
            return v;
    }
    return NULL;
}
