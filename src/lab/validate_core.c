/*
 * Validation of the kinds beside Pods that controllers of virtual machines write, in kube-apiserver's words.
 */
#include "lab/validate_core.h"
#include "base/quantity.h"
#include "base/strings.h"
#include "lab/json.h"
#include "lab/names.h"
#include "lab/validate.h"
#include <ctype.h>

/* -- config maps and Secrets */

static const char key_text[] =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

static bool is_config_key(const char *text)
{
    if (!*text || kb_streq(text, ".") || kb_streq(text, "..") || strlen(text) > 253)
        return false;
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return false;
    return true;
}

static void check_keys(struct lab_write *w, const char *member)
{
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(yyjson_mut_obj_get(w->root, member), i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        if (!is_config_key(name))
            lab_cause_invalid(w->call, kb_arena_printf(w->arena, "%s[%s]", member, name), kb_quote(w->arena, name),
                              key_text);
    }
}

/* An object that says so never changes its data again. */
static void check_immutable(struct lab_write *w, const char *member)
{
    bool fixed = yyjson_get_bool(yyjson_obj_get(w->old_root, "immutable"));
    yyjson_mut_val *now = yyjson_mut_obj_get(w->root, member), *before = lab_write_old(w, member);
    if (!fixed || (!now && !before) || (now && before && yyjson_mut_equals(now, before)))
        return;
    lab_cause_forbidden(w->call, member, "field is immutable when `immutable` is set");
}

void lab_validate_config_map(struct lab_write *w)
{
    check_keys(w, "data");
    check_keys(w, "binaryData");
    check_immutable(w, "data");
    check_immutable(w, "binaryData");
}

/* What a type of Secret can't do without. */
static const struct {
    const char *type, *key;
} secret_keys[] = {
    {"kubernetes.io/tls", "tls.crt"},
    {"kubernetes.io/tls", "tls.key"},
    {"kubernetes.io/ssh-auth", "ssh-privatekey"},
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson"},
};

void lab_validate_secret(struct lab_write *w)
{
    yyjson_mut_val *data = yyjson_mut_obj_get(w->root, "data"), *key, *value;
    const char *type = lab_mut_str(w->root, "type");
    size_t i, n, length;
    check_keys(w, "data");
    yyjson_mut_obj_foreach(data, i, n, key, value)
    {
        const char *text = yyjson_mut_get_str(value);
        if (!text || !kb_base64_decode(w->arena, text, &length))
            lab_cause_invalid(w->call, kb_arena_printf(w->arena, "data[%s]", yyjson_mut_get_str(key)), "\"\"",
                              "illegal base64 data");
    }
    for (i = 0; i < KB_ARRAY_LEN(secret_keys); i++)
        if (kb_streq(secret_keys[i].type, type) && !yyjson_mut_obj_get(data, secret_keys[i].key))
            lab_cause_required(w->call, kb_arena_printf(w->arena, "data[%s]", secret_keys[i].key), "");
    if (w->old_root && !kb_streq(lab_val_str(w->old_root, "type"), type))
        lab_cause_invalid(w->call, "type", kb_quote(w->arena, type), "field is immutable");
    check_immutable(w, "data");
}

/* -- Services */

static void check_service_port(struct lab_write *w, yyjson_mut_val *p, size_t i, bool needs_name)
{
    const char *name = lab_mut_str(p, "name"), *at = kb_arena_printf(w->arena, "spec.ports[%zu]", i);
    const char *wrong = *name ? lab_dns1123_label_check(name) : NULL;
    int64_t port = yyjson_mut_get_sint(yyjson_mut_obj_get(p, "port"));
    if (!*name && needs_name)
        lab_cause_required(w->call, kb_arena_printf(w->arena, "%s.name", at), "");
    else if (wrong)
        lab_cause_invalid(w->call, kb_arena_printf(w->arena, "%s.name", at), kb_quote(w->arena, name), wrong);
    if (port < 1 || port > 65535)
        lab_cause_invalid(w->call, kb_arena_printf(w->arena, "%s.port", at),
                          kb_arena_printf(w->arena, "%lld", (long long)port), "must be between 1 and 65535, inclusive");
}

void lab_validate_service(struct lab_write *w)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec"), *ports = yyjson_mut_obj_get(spec, "ports"), *p;
    bool external = kb_streq(lab_mut_str(spec, "type"), "ExternalName");
    bool headless = kb_streq(lab_mut_str(spec, "clusterIP"), "None");
    size_t i, n;
    if (!yyjson_mut_arr_size(ports) && !external && !headless)
        lab_cause_required(w->call, "spec.ports", "");
    yyjson_mut_arr_foreach(ports, i, n, p)
    {
        check_service_port(w, p, i, n > 1);
    }
    if (external && !*lab_mut_str(spec, "externalName"))
        lab_cause_required(w->call, "spec.externalName", "");
    lab_labels_check(w->call, yyjson_mut_obj_get(spec, "selector"), "spec.selector");
}

/* -- claims */

static const char *storage_of(yyjson_mut_val *spec)
{
    return lab_mut_str(LAB_AT(spec, "resources", "requests"), "storage");
}

static void check_claim(struct lab_write *w, yyjson_mut_val *spec)
{
    static const char *const modes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
    static const char *const volume_modes[] = {"Block", "Filesystem"};
    yyjson_mut_val *list = yyjson_mut_obj_get(spec, "accessModes"), *m;
    struct lab_pod_check c = {w, w->call, w->arena, spec};
    struct kb_quantity q;
    size_t i, n;
    if (!yyjson_mut_arr_size(list))
        lab_cause_required(w->call, "spec.accessModes", "at least 1 access mode is required");
    yyjson_mut_arr_foreach(list, i, n, m)
    {
        const char *mode = yyjson_mut_get_str(m);
        if (!mode || !kb_in_list(mode, modes, KB_ARRAY_LEN(modes)))
            lab_cause_unsupported(w->call, "spec.accessModes", kb_quote(w->arena, mode ? mode : ""),
                                  "\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"");
    }
    const char *storage = storage_of(spec);
    if (!*storage)
        lab_cause_required(w->call, "spec.resources[storage]", "");
    else if (kb_quantity_parse(storage, &q, NULL) < 0 || q.nano <= 0)
        lab_cause_invalid(w->call, "spec.resources[storage]", kb_quote(w->arena, storage), "must be greater than zero");
    lab_validate_one_of(&c, spec, "volumeMode", "spec", volume_modes, KB_ARRAY_LEN(volume_modes));
}

/* A claim's spec is fixed, but for the volume that it gets once, and the storage that a bound one may ask more of. */
static void check_claim_update(struct lab_write *w, yyjson_mut_val *spec)
{
    yyjson_mut_val *now = yyjson_mut_val_mut_copy(w->doc, spec);
    yyjson_mut_val *before = yyjson_val_mut_copy(w->doc, yyjson_obj_get(w->old_root, "spec"));
    bool bound = kb_streq(lab_val_str(yyjson_obj_get(w->old_root, "status"), "phase"), "Bound");
    const char *had = storage_of(before), *wants = storage_of(now);
    if (!*lab_mut_str(before, "volumeName"))
        lab_mut_drop(now, "volumeName");
    if (bound) {
        lab_mut_drop(now, "resources");
        lab_mut_drop(before, "resources");
    }
    lab_mut_drop(now, "volumeAttributesClassName");
    lab_mut_drop(before, "volumeAttributesClassName");
    if (!yyjson_mut_equals(now, before))
        lab_cause_forbidden(w->call, "spec",
                            "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                            "for bound claims");
    else if (bound && kb_quantity_compare(kb_quantity_of(wants), kb_quantity_of(had)) < 0)
        lab_cause_forbidden(w->call, "spec.resources.requests.storage", "field can not be less than status.capacity");
}

void lab_validate_claim(struct lab_write *w)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec");
    if (w->old_root)
        check_claim_update(w, spec);
    else
        check_claim(w, spec);
}

/* -- Jobs and budgets */

void lab_validate_job(struct lab_write *w)
{
    yyjson_mut_val *spec = LAB_AT(w->root, "spec", "template", "spec");
    const char *policy = lab_mut_str(spec, "restartPolicy");
    if (w->old_root)
        return;
    lab_validate_pod_spec(w, spec, "spec.template.spec");
    if (kb_streq(policy, "Always"))
        lab_cause_required(w->call, "spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\"");
}

static void check_count_or_percent(struct lab_write *w, const char *member)
{
    yyjson_mut_val *v = LAB_AT(w->root, "spec", member);
    const char *text = yyjson_mut_get_str(v), *at = kb_arena_printf(w->arena, "spec.%s", member);
    if (text) {
        size_t n = strspn(text, "0123456789");
        if (!n || !kb_streq(text + n, "%"))
            lab_cause_invalid(
                w->call, at, kb_quote(w->arena, text),
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
                "'93%', regex used for validation is '[0-9]+%')");
    } else if (v && yyjson_mut_get_sint(v) < 0) {
        lab_cause_invalid(w->call, at, lab_json_write(w->arena, v, NULL), "must be greater than or equal to 0");
    }
}

void lab_validate_budget(struct lab_write *w)
{
    if (LAB_AT(w->root, "spec", "minAvailable") && LAB_AT(w->root, "spec", "maxUnavailable"))
        lab_cause_invalid(w->call, "spec", lab_json_write(w->arena, yyjson_mut_obj_get(w->root, "spec"), NULL),
                          "minAvailable and maxUnavailable cannot be both set");
    check_count_or_percent(w, "minAvailable");
    check_count_or_percent(w, "maxUnavailable");
}
