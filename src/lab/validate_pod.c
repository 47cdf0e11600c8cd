/*
 * Validation of a Pod as a whole, and what an update of one may change.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "lab/admission.h"
#include "lab/defaults.h"
#include "lab/defaults_status.h"
#include "lab/json.h"
#include "lab/names.h"
#include "lab/strategies.h"
#include "lab/validate.h"
#include <arpa/inet.h>

/* Members whose value is one of a list. */
static const struct {
    const char *key;
    size_t n;
    const char *values[4];
} enums[] = {
    {"restartPolicy", 3, {"Always", "OnFailure", "Never"}},
    {"dnsPolicy", 4, {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}},
    {"preemptionPolicy", 2, {"Never", "PreemptLowerPriority"}},
};

static void check_enums(struct lab_pod_check *c, const char *path)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(enums); i++)
        lab_validate_one_of(c, c->spec, enums[i].key, path, enums[i].values, enums[i].n);
}

static const char *subdomain_check(const char *text)
{
    return strchr(text, '.') ? "must not contain dots" : lab_dns1123_label_check(text);
}

/* Members that are names, and the rule of each. */
static const struct {
    const char *key;
    const char *(*check)(const char *text);
} names[] = {
    {"serviceAccountName", lab_dns1123_subdomain_check},
    {"nodeName", lab_dns1123_subdomain_check},
    {"hostname", lab_dns1123_label_check},
    {"subdomain", subdomain_check},
    {"priorityClassName", lab_dns1123_subdomain_check},
    {"runtimeClassName", lab_dns1123_subdomain_check},
    {"schedulerName", lab_dns1123_subdomain_check},
};

static void check_names(struct lab_pod_check *c, const char *path)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(names); i++) {
        const char *text = lab_mut_str(c->spec, names[i].key);
        const char *wrong = *text ? names[i].check(text) : NULL;
        if (wrong)
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.%s", path, names[i].key), kb_quote(c->arena, text), wrong);
    }
}

static void check_numbers(struct lab_pod_check *c, const char *path)
{
    yyjson_mut_val *deadline = yyjson_mut_obj_get(c->spec, "activeDeadlineSeconds");
    if (deadline && (yyjson_mut_get_sint(deadline) < 1 || yyjson_mut_get_sint(deadline) > INT32_MAX))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.activeDeadlineSeconds", path),
                          lab_json_write(c->arena, deadline, NULL), "must be between 1 and 2147483647, inclusive");
}

static bool is_address(const char *text)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static void check_dns(struct lab_pod_check *c, const char *path)
{
    yyjson_mut_val *config = yyjson_mut_obj_get(c->spec, "dnsConfig"), *v;
    yyjson_mut_val *servers = yyjson_mut_obj_get(config, "nameservers");
    const char *at = LAB_PATH(c, "%s.dnsConfig", path);
    size_t i, n;
    bool none = kb_streq(lab_mut_str(c->spec, "dnsPolicy"), "None");
    if (none && !config)
        lab_cause_required(c->call, at, "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (none && !yyjson_mut_arr_size(servers))
        lab_cause_required(c->call, LAB_PATH(c, "%s.nameservers", at),
                           "must provide at least one DNS nameserver when `dnsPolicy` is None");
    yyjson_mut_arr_foreach(servers, i, n, v)
    {
        const char *text = yyjson_mut_get_str(v);
        if (!text || !is_address(text))
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.nameservers[%zu]", at, i), kb_quote(c->arena, text ? text : ""),
                              "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    }
    if (yyjson_mut_arr_size(servers) > 3)
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.nameservers", at), lab_json_write(c->arena, servers, NULL),
                          "must not have more than 3 nameservers");
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(config, "options"), i, n, v)
    {
        if (!*lab_mut_str(v, "name"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.options[%zu]", at, i), "must not be empty");
    }
}

static void check_security(struct lab_pod_check *c, const char *path)
{
    static const char *const ids[] = {"fsGroup", "runAsUser", "runAsGroup"};
    static const char *const policies[] = {"Always", "OnRootMismatch"};
    static const char *const profiles[] = {"Localhost", "RuntimeDefault", "Unconfined"};
    yyjson_mut_val *s = yyjson_mut_obj_get(c->spec, "securityContext"), *v;
    const char *at = LAB_PATH(c, "%s.securityContext", path);
    for (size_t i = 0; i < KB_ARRAY_LEN(ids); i++) {
        v = yyjson_mut_obj_get(s, ids[i]);
        if (v && (yyjson_mut_get_sint(v) < 0 || yyjson_mut_get_sint(v) > INT32_MAX))
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.%s", at, ids[i]), lab_json_write(c->arena, v, NULL),
                              "must be between 0 and 2147483647, inclusive");
    }
    lab_validate_one_of(c, s, "fsGroupChangePolicy", at, policies, KB_ARRAY_LEN(policies));
    lab_validate_one_of(c, yyjson_mut_obj_get(s, "seccompProfile"), "type", LAB_PATH(c, "%s.seccompProfile", at),
                        profiles, KB_ARRAY_LEN(profiles));
    size_t i, n;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(s, "sysctls"), i, n, v)
    {
        if (!*lab_mut_str(v, "name"))
            lab_cause_required(c->call, LAB_PATH(c, "%s.sysctls[%zu].name", at, i), "");
    }
}

static void check_gates(struct lab_pod_check *c, const char *path)
{
    size_t i, n;
    yyjson_mut_val *g;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c->spec, "readinessGates"), i, n, g)
    {
        const char *type = lab_mut_str(g, "conditionType"), *wrong = lab_qualified_name_check(type);
        if (wrong)
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.readinessGates[%zu].conditionType", path, i),
                              kb_quote(c->arena, type), wrong);
    }
}

static void check_containers(struct lab_pod_check *c, const char *path)
{
    yyjson_mut_val *containers = yyjson_mut_obj_get(c->spec, "containers");
    if (!yyjson_mut_arr_size(containers))
        lab_cause_required(c->call, LAB_PATH(c, "%s.containers", path), "");
    lab_validate_containers(c, LAB_PATH(c, "%s.containers", path), containers, false);
    lab_validate_containers(c, LAB_PATH(c, "%s.initContainers", path), yyjson_mut_obj_get(c->spec, "initContainers"),
                            true);
}

void lab_validate_pod_spec(struct lab_write *w, yyjson_mut_val *spec, const char *path)
{
    struct lab_pod_check c = {w, w->call, w->arena, spec};
    lab_validate_volumes(&c, path);
    check_containers(&c, path);
    check_enums(&c, path);
    check_numbers(&c, path);
    lab_labels_check(w->call, yyjson_mut_obj_get(spec, "nodeSelector"), LAB_PATH(&c, "%s.nodeSelector", path));
    check_security(&c, path);
    lab_validate_scheduling(&c, path);
    check_dns(&c, path);
    check_gates(&c, path);
    check_names(&c, path);
}

/* Of a Pod's spec only these may change: images, deadlines, added tolerations, scheduling gates taken away. */
static void mask_changeable(yyjson_mut_val *spec, yyjson_mut_val *old)
{
    static const char *const free_members[] = {"activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations",
                                               "schedulingGates", "ephemeralContainers"};
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < KB_ARRAY_LEN(free_members); i++) {
        lab_mut_drop(spec, free_members[i]);
        lab_mut_drop(old, free_members[i]);
    }
    for (size_t k = 0; k < KB_ARRAY_LEN(lists); k++) {
        yyjson_mut_val *a = yyjson_mut_obj_get(spec, lists[k]), *b = yyjson_mut_obj_get(old, lists[k]);
        size_t n = yyjson_mut_arr_size(a);
        for (size_t i = 0; i < n; i++) {
            lab_mut_drop(yyjson_mut_arr_get(a, i), "image");
            lab_mut_drop(yyjson_mut_arr_get(b, i), "image");
        }
    }
}

void lab_validate_pod_update(struct lab_write *w)
{
    yyjson_val *stored = yyjson_obj_get(w->old_root, "spec");
    yyjson_mut_val *spec = yyjson_mut_val_mut_copy(w->doc, yyjson_mut_obj_get(w->root, "spec"));
    yyjson_mut_val *old = yyjson_val_mut_copy(w->doc, stored);
    bool gated = yyjson_arr_size(yyjson_obj_get(stored, "schedulingGates"));
    if (gated) { /* a Pod that may not be scheduled yet may be narrowed */
        lab_mut_drop(spec, "nodeSelector");
        lab_mut_drop(old, "nodeSelector");
        lab_mut_drop(spec, "affinity");
        lab_mut_drop(old, "affinity");
    }
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(spec, "containers")) !=
        yyjson_mut_arr_size(yyjson_mut_obj_get(old, "containers"))) {
        lab_cause_forbidden(w->call, "spec.containers", "pod updates may not add or remove containers");
        return;
    }
    mask_changeable(spec, old);
    const char *quality = lab_val_str(yyjson_obj_get(w->old_root, "status"), "qosClass");
    const char *wanted = lab_mut_str(yyjson_mut_obj_get(w->root, "status"), "qosClass");
    if (*wanted && !kb_streq(quality, wanted))
        lab_cause_invalid(w->call, "status.qosClass", kb_quote(w->arena, wanted), "field is immutable");
    if (!yyjson_mut_equals(spec, old))
        lab_cause_forbidden(w->call, "spec",
                            "pod updates may not change fields other than `spec.containers[*].image`,"
                            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
                            "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
                            "set to 1 if it was previously negative)");
}

/* -- the strategy */

/* Texts that are left out when they are empty. */
static const char *const optional[] = {"nodeName",           "hostname",       "subdomain",
                                       "serviceAccountName", "serviceAccount", "priorityClassName"};

static void pod_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = lab_mut_object(w->doc, w->root, "spec");
    for (size_t i = 0; i < KB_ARRAY_LEN(optional); i++)
        if (lab_mut_empty(yyjson_mut_obj_get(spec, optional[i])))
            lab_mut_drop(spec, optional[i]);
    lab_defaults_pod_spec(w, spec);
    if (yyjson_mut_get_sint(yyjson_mut_obj_get(spec, "terminationGracePeriodSeconds")) < 0)
        lab_mut_put_int(w->doc, spec, "terminationGracePeriodSeconds", 1);
    lab_mut_default_bool(w->doc, spec, "enableServiceLinks", true);
    lab_defaults_pod_status(w);
}

enum { HAS_CPU = 1, HAS_MEMORY = 2, BOTH = 3 };

/* Which of cpu and memory a list names, and whether all of them equal those of another list. */
static int named(yyjson_mut_val *list)
{
    return (yyjson_mut_obj_get(list, "cpu") ? HAS_CPU : 0) | (yyjson_mut_obj_get(list, "memory") ? HAS_MEMORY : 0);
}

static void quality(yyjson_mut_val *containers, bool *any, bool *guaranteed)
{
    static const char *const resources[] = {"cpu", "memory"};
    size_t i, n;
    yyjson_mut_val *c;
    yyjson_mut_arr_foreach(containers, i, n, c)
    {
        yyjson_mut_val *limits = LAB_AT(c, "resources", "limits"), *requests = LAB_AT(c, "resources", "requests");
        *any |= named(limits) || named(requests);
        *guaranteed &= named(limits) == BOTH;
        for (size_t k = 0; k < KB_ARRAY_LEN(resources); k++)
            *guaranteed &= kb_streq(lab_mut_str(limits, resources[k]), lab_mut_str(requests, resources[k]));
    }
}

static void pod_create(struct lab_write *w)
{
    yyjson_mut_val *status = yyjson_mut_obj(w->doc);
    yyjson_mut_obj_add_str(w->doc, status, "phase", "Pending");
    lab_mut_put(w->doc, w->root, "status", status);
}

/* The quality of service follows from the resources, which defaults may still have changed. */
static int pod_review(struct lab_write *w)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec");
    bool any = false, guaranteed = true;
    quality(yyjson_mut_obj_get(spec, "initContainers"), &any, &guaranteed);
    quality(yyjson_mut_obj_get(spec, "containers"), &any, &guaranteed);
    lab_mut_put_str(w->doc, yyjson_mut_obj_get(w->root, "status"), "qosClass",
                    !any         ? "BestEffort"
                    : guaranteed ? "Guaranteed"
                                 : "Burstable");
    return lab_admit_pod_security(w);
}

static void pod_validate(struct lab_write *w)
{
    if (w->old_root && !w->whole)
        lab_validate_pod_update(w);
    else if (!w->old_root)
        lab_validate_pod_spec(w, yyjson_mut_obj_get(w->root, "spec"), "spec");
}

const struct lab_strategy lab_pod_strategy = {
    .resource = "pods",
    .admit = lab_admit_pod,
    .review = pod_review,
    .defaults = pod_defaults,
    .prepare_create = pod_create,
    .validate = pod_validate,
    .keep_status = true,
};
