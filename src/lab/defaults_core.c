/*
 * What the server fills in of the kinds beside Pods: identities of Services, states of new claims, mirrored fields.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "lab/admission.h"
#include "lab/defaults.h"
#include "lab/defaults_status.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include "lab/strategies.h"
#include "lab/validate_core.h"

static yyjson_mut_val *spec_of(struct lab_write *w)
{
    return lab_mut_object(w->doc, w->root, "spec");
}

static void put_json(struct lab_write *w, yyjson_mut_val *object, const char *key, const char *json)
{
    lab_mut_put(w->doc, object, key, lab_json_mut(w->doc, w->arena, json));
}

static void default_json(struct lab_write *w, yyjson_mut_val *object, const char *key, const char *json)
{
    if (!yyjson_mut_obj_get(object, key))
        put_json(w, object, key, json);
}

static void add_finalizer(struct lab_write *w, const char *name)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(w->metadata, "finalizers"), *f;
    size_t i, n;
    if (!list) {
        list = yyjson_mut_arr(w->doc);
        lab_mut_put(w->doc, w->metadata, "finalizers", list);
    }
    yyjson_mut_arr_foreach(list, i, n, f)
    {
        if (yyjson_mut_equals_str(f, name))
            return;
    }
    yyjson_mut_arr_add_str(w->doc, list, name);
}

/* -- namespaces and nodes */

static void namespace_create(struct lab_write *w)
{
    put_json(w, spec_of(w), "finalizers", "[\"kubernetes\"]");
    put_json(w, w->root, "status", "{\"phase\":\"Active\"}");
}

static void namespace_defaults(struct lab_write *w)
{
    lab_mut_put_str(w->doc, lab_mut_object(w->doc, w->metadata, "labels"), "kubernetes.io/metadata.name",
                    lab_mut_str(w->metadata, "name"));
}

/* A node can't run anything until its controller says so. */
static void node_create(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w), *taints = yyjson_mut_obj_get(spec, "taints");
    if (!taints)
        taints = yyjson_mut_arr(w->doc);
    yyjson_mut_arr_append(
        taints, lab_json_mut(w->doc, w->arena, "{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"}"));
    lab_mut_put(w->doc, spec, "taints", taints);
}

static void node_defaults(struct lab_write *w)
{
    yyjson_mut_val *status = lab_mut_object(w->doc, w->root, "status");
    default_json(w, status, "daemonEndpoints", "{\"kubeletEndpoint\":{\"Port\":0}}");
    default_json(w, status, "nodeInfo",
                 "{\"machineID\":\"\",\"systemUUID\":\"\",\"bootID\":\"\",\"kernelVersion\":\"\",\"osImage\":\"\","
                 "\"containerRuntimeVersion\":\"\",\"kubeletVersion\":\"\",\"kubeProxyVersion\":\"\","
                 "\"operatingSystem\":\"\",\"architecture\":\"\"}");
    lab_defaults_quantities(w, yyjson_mut_obj_get(status, "capacity"));
    lab_defaults_quantities(w, yyjson_mut_obj_get(status, "allocatable"));
    yyjson_mut_val *capacity = yyjson_mut_obj_get(status, "capacity");
    if (capacity && !yyjson_mut_obj_get(status, "allocatable"))
        lab_mut_put(w->doc, status, "allocatable", yyjson_mut_val_mut_copy(w->doc, capacity));
    lab_defaults_conditions(w, "lastHeartbeatTime");
}

/* -- storage */

static void claim_create(struct lab_write *w)
{
    put_json(w, w->root, "status", "{\"phase\":\"Pending\"}");
    add_finalizer(w, "kubernetes.io/pvc-protection");
}

/* dataSource and dataSourceRef say the same for local sources. */
static void mirror_data_source(struct lab_write *w, yyjson_mut_val *spec)
{
    yyjson_mut_val *source = yyjson_mut_obj_get(spec, "dataSource"), *ref = yyjson_mut_obj_get(spec, "dataSourceRef");
    const char *kind = lab_mut_str(ref, "kind");
    if (source && !ref)
        lab_mut_put(w->doc, spec, "dataSourceRef", yyjson_mut_val_mut_copy(w->doc, source));
    else if (ref && !source && !*lab_mut_str(ref, "namespace") &&
             (kb_streq(kind, "PersistentVolumeClaim") || kb_streq(kind, "VolumeSnapshot")))
        lab_mut_put(w->doc, spec, "dataSource", yyjson_mut_val_mut_copy(w->doc, ref));
}

static void claim_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w);
    lab_mut_default_str(w->doc, spec, "volumeMode", "Filesystem");
    mirror_data_source(w, spec);
    yyjson_mut_val *resources = lab_mut_object(w->doc, spec, "resources");
    lab_defaults_quantities(w, yyjson_mut_obj_get(resources, "requests"));
    lab_defaults_quantities(w, yyjson_mut_obj_get(resources, "limits"));
    yyjson_mut_val *status = lab_mut_object(w->doc, w->root, "status");
    lab_mut_default_str(w->doc, status, "phase", "Pending");
    lab_defaults_quantities(w, yyjson_mut_obj_get(status, "capacity"));
    lab_defaults_conditions(w, "lastProbeTime");
}

static void volume_create(struct lab_write *w)
{
    put_json(w, w->root, "status", "{\"phase\":\"Pending\"}");
    add_finalizer(w, "kubernetes.io/pv-protection");
}

static void volume_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w);
    lab_mut_default_str(w->doc, spec, "volumeMode", "Filesystem");
    lab_mut_default_str(w->doc, spec, "persistentVolumeReclaimPolicy", "Retain");
    lab_defaults_quantities(w, yyjson_mut_obj_get(spec, "capacity"));
}

static void class_defaults(struct lab_write *w)
{
    lab_mut_default_str(w->doc, w->root, "reclaimPolicy", "Delete");
    lab_mut_default_str(w->doc, w->root, "volumeBindingMode", "Immediate");
}

/* -- Services */

static const char *next_address(struct lab_server *server, struct kb_arena *arena)
{
    lab_server_lock(server);
    unsigned n = ++server->next_ip;
    lab_server_unlock(server);
    return kb_arena_printf(arena, "10.96.%u.%u", n / 254 % 256, n % 254 + 1);
}

static void give_address(struct lab_write *w, yyjson_mut_val *spec)
{
    const char *address = lab_mut_str(spec, "clusterIP");
    if (!*address)
        lab_mut_put_str(w->doc, spec, "clusterIP", next_address(w->call->server, w->arena));
    address = lab_mut_str(spec, "clusterIP");
    default_json(w, spec, "clusterIPs", kb_arena_printf(w->arena, "[\"%s\"]", address));
    bool dual = kb_streq(address, "None") && !yyjson_mut_obj_size(yyjson_mut_obj_get(spec, "selector"));
    default_json(w, spec, "ipFamilies", dual ? "[\"IPv4\",\"IPv6\"]" : "[\"IPv4\"]");
    lab_mut_default_str(w->doc, spec, "ipFamilyPolicy", dual ? "RequireDualStack" : "SingleStack");
    lab_mut_default_str(w->doc, spec, "internalTrafficPolicy", "Cluster");
}

static void service_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w), *p;
    size_t i, n;
    lab_mut_default_str(w->doc, spec, "sessionAffinity", "None");
    lab_mut_default_str(w->doc, spec, "type", "ClusterIP");
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "ports"), i, n, p)
    {
        lab_mut_default_str(w->doc, p, "protocol", "TCP");
        if (!yyjson_mut_obj_get(p, "targetPort"))
            lab_mut_put_int(w->doc, p, "targetPort", yyjson_mut_get_sint(yyjson_mut_obj_get(p, "port")));
    }
    if (!kb_streq(lab_mut_str(spec, "type"), "ExternalName"))
        give_address(w, spec);
    lab_mut_object(w->doc, lab_mut_object(w->doc, w->root, "status"), "loadBalancer");
}

/* An update that leaves the address out keeps it. */
static void service_update(struct lab_write *w)
{
    static const char *const kept[] = {"clusterIP", "clusterIPs"};
    yyjson_mut_val *spec = spec_of(w);
    for (size_t i = 0; i < KB_ARRAY_LEN(kept); i++) {
        yyjson_val *old = LAB_VAL_AT(w->old_root, "spec", kept[i]);
        if (old && lab_mut_empty(yyjson_mut_obj_get(spec, kept[i])))
            lab_mut_put(w->doc, spec, kept[i], yyjson_val_mut_copy(w->doc, old));
    }
}

/* -- Secrets */

static void secret_defaults(struct lab_write *w)
{
    lab_mut_default_str(w->doc, w->root, "type", "Opaque");
    yyjson_mut_val *texts = yyjson_mut_obj_get(w->root, "stringData"), *key, *value;
    size_t i, n;
    yyjson_mut_obj_foreach(texts, i, n, key, value)
    {
        if (yyjson_mut_is_str(value))
            lab_mut_put_str(w->doc, lab_mut_object(w->doc, w->root, "data"), yyjson_mut_get_str(key),
                            kb_base64_encode(w->arena, yyjson_mut_get_str(value), yyjson_mut_get_len(value)));
    }
    lab_mut_drop(w->root, "stringData");
}

/* -- workloads */

static void template_defaults(struct lab_write *w)
{
    yyjson_mut_val *template = lab_mut_object(w->doc, spec_of(w), "template");
    lab_mut_object(w->doc, template, "metadata");
    lab_mut_drop(yyjson_mut_obj_get(template, "metadata"), "creationTimestamp");
    lab_defaults_pod_spec(w, lab_mut_object(w->doc, template, "spec"));
}

static void add_job_labels(struct lab_write *w, yyjson_mut_val *labels, const char *name, const char *uid)
{
    lab_mut_default_str(w->doc, labels, "batch.kubernetes.io/controller-uid", uid);
    lab_mut_default_str(w->doc, labels, "batch.kubernetes.io/job-name", name);
    lab_mut_default_str(w->doc, labels, "controller-uid", uid);
    lab_mut_default_str(w->doc, labels, "job-name", name);
}

static void job_create(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w), *template = lab_mut_object(w->doc, spec, "template");
    const char *uid = lab_mut_str(w->metadata, "uid"), *name = lab_mut_str(w->metadata, "name");
    lab_mut_object(w->doc, w->root, "status");
    yyjson_mut_val *labels = lab_mut_object(w->doc, lab_mut_object(w->doc, template, "metadata"), "labels");
    if (yyjson_mut_get_bool(yyjson_mut_obj_get(spec, "manualSelector")))
        return;
    add_job_labels(w, labels, name, uid);
    default_json(w, spec, "selector",
                 kb_arena_printf(w->arena, "{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"%s\"}}", uid));
    if (!yyjson_mut_obj_size(yyjson_mut_obj_get(w->metadata, "labels")))
        lab_mut_put(w->doc, w->metadata, "labels", yyjson_mut_val_mut_copy(w->doc, labels));
}

static const struct lab_default job_values[] = {
    LAB_INT("backoffLimit", 6), LAB_INT("completions", 1),         LAB_INT("parallelism", 1),
    LAB_BOOL("suspend", false), LAB_BOOL("manualSelector", false), LAB_STR("completionMode", "NonIndexed"),
};

static void job_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w);
    LAB_DEFAULTS(w, spec, job_values);
    bool policy = yyjson_mut_obj_get(spec, "podFailurePolicy");
    lab_mut_default_str(w->doc, spec, "podReplacementPolicy", policy ? "Failed" : "TerminatingOrFailed");
    lab_defaults_conditions(w, "lastProbeTime");
    template_defaults(w);
}

static void budget_create(struct lab_write *w)
{
    put_json(w, w->root, "status",
             "{\"disruptionsAllowed\":0,\"currentHealthy\":0,\"desiredHealthy\":0,\"expectedPods\":0}");
}

static void daemon_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w);
    lab_mut_default_int(w->doc, spec, "revisionHistoryLimit", 10);
    default_json(w, spec, "updateStrategy",
                 "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":1,"
                 "\"maxSurge\":0}}");
    template_defaults(w);
}

static void daemon_create(struct lab_write *w)
{
    put_json(w, w->root, "status",
             "{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,\"desiredNumberScheduled\":0,\"numberReady\":0}");
}

static void daemon_prepare(struct lab_write *w)
{
    daemon_create(w);
    lab_mut_default_str(w->doc, lab_mut_object(w->doc, w->metadata, "annotations"),
                        "deprecated.daemonset.template.generation", "1");
}

static void ingress_create(struct lab_write *w)
{
    put_json(w, w->root, "status", "{\"loadBalancer\":{}}");
}

static void policy_defaults(struct lab_write *w)
{
    bool egress = yyjson_mut_obj_get(spec_of(w), "egress");
    default_json(w, spec_of(w), "policyTypes", egress ? "[\"Ingress\",\"Egress\"]" : "[\"Ingress\"]");
}

static void deployment_defaults(struct lab_write *w)
{
    yyjson_mut_val *spec = spec_of(w);
    lab_mut_default_int(w->doc, spec, "replicas", 1);
    lab_mut_default_int(w->doc, spec, "revisionHistoryLimit", 10);
    lab_mut_default_int(w->doc, spec, "progressDeadlineSeconds", 600);
    default_json(w, spec, "strategy",
                 "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}}");
    template_defaults(w);
}

static void replicas_defaults(struct lab_write *w)
{
    lab_mut_default_int(w->doc, spec_of(w), "replicas", 1);
    template_defaults(w);
}

static void empty_status(struct lab_write *w)
{
    lab_mut_object(w->doc, w->root, "status");
}

static void priority_defaults(struct lab_write *w)
{
    lab_mut_default_str(w->doc, w->root, "preemptionPolicy", "PreemptLowerPriority");
}

static void quota_defaults(struct lab_write *w)
{
    lab_defaults_quantities(w, LAB_AT(w->root, "spec", "hard"));
    lab_defaults_quantities(w, LAB_AT(w->root, "status", "hard"));
    lab_defaults_quantities(w, LAB_AT(w->root, "status", "used"));
}

/* A limit is the default limit of what it limits, and that the default request. */
static void limit_defaults(struct lab_write *w)
{
    static const char *const lists[] = {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"};
    static const char *const chain[][2] = {
        {"max", "default"}, {"default", "defaultRequest"}, {"min", "defaultRequest"}};
    size_t i, n, j, m;
    yyjson_mut_val *limit, *key, *value;
    yyjson_mut_arr_foreach(LAB_AT(w->root, "spec", "limits"), i, n, limit)
    {
        for (size_t k = 0; k < KB_ARRAY_LEN(lists); k++)
            lab_defaults_quantities(w, yyjson_mut_obj_get(limit, lists[k]));
        for (size_t k = 0; kb_streq(lab_mut_str(limit, "type"), "Container") && k < KB_ARRAY_LEN(chain); k++)
            yyjson_mut_obj_foreach(yyjson_mut_obj_get(limit, chain[k][0]), j, m, key, value)
            {
                yyjson_mut_val *to = lab_mut_object(w->doc, limit, chain[k][1]);
                if (!yyjson_mut_obj_get(to, yyjson_mut_get_str(key)))
                    lab_mut_put(w->doc, to, yyjson_mut_get_str(key), yyjson_mut_val_mut_copy(w->doc, value));
            }
    }
}

const struct lab_strategy lab_core_strategies[] = {
    {.resource = "namespaces", .prepare_create = namespace_create, .defaults = namespace_defaults, .keep_status = true},
    {.resource = "nodes", .prepare_create = node_create, .defaults = node_defaults, .keep_status = true},
    {.resource = "persistentvolumeclaims",
     .validate = lab_validate_claim,
     .admit = lab_admit_claim,
     .prepare_create = claim_create,
     .defaults = claim_defaults,
     .keep_status = true},
    {.resource = "persistentvolumes",
     .prepare_create = volume_create,
     .defaults = volume_defaults,
     .keep_status = true},
    {.resource = "storageclasses.storage.k8s.io", .defaults = class_defaults},
    {.resource = "services",
     .validate = lab_validate_service,
     .prepare_update = service_update,
     .defaults = service_defaults},
    {.resource = "events", .defaults = lab_defaults_event, .validate = lab_validate_event},
    {.resource = "configmaps", .validate = lab_validate_config_map},
    {.resource = "secrets", .validate = lab_validate_secret, .defaults = secret_defaults},
    {.resource = "resourcequotas", .prepare_create = empty_status, .defaults = quota_defaults},
    {.resource = "limitranges", .defaults = limit_defaults},
    {.resource = "jobs.batch", .validate = lab_validate_job, .prepare_create = job_create, .defaults = job_defaults},
    {.resource = "poddisruptionbudgets.policy", .validate = lab_validate_budget, .prepare_create = budget_create},
    {.resource = "daemonsets.apps", .prepare_create = daemon_prepare, .defaults = daemon_defaults},
    {.resource = "deployments.apps", .prepare_create = empty_status, .defaults = deployment_defaults},
    {.resource = "replicasets.apps", .prepare_create = empty_status, .defaults = replicas_defaults},
    {.resource = "statefulsets.apps", .prepare_create = empty_status, .defaults = replicas_defaults},
    {.resource = "ingresses.networking.k8s.io", .prepare_create = ingress_create, .keep_status = true},
    {.resource = "networkpolicies.networking.k8s.io", .defaults = policy_defaults},
    {.resource = "priorityclasses.scheduling.k8s.io", .defaults = priority_defaults},
};
const size_t lab_n_core_strategies = KB_ARRAY_LEN(lab_core_strategies);
