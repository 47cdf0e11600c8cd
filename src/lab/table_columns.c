/*
 * Columns in code, see table_columns.h: one table of all, sorted by kind.
 */
#include "lab/table_columns.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/time.h"
#include "lab/json.h"

#define NONE "<none>"

static yyjson_val *status_of(const struct lab_cell_input *in)
{
    return yyjson_obj_get(in->root, "status");
}

static yyjson_val *spec_of(const struct lab_cell_input *in)
{
    return yyjson_obj_get(in->root, "spec");
}

const char *lab_age_text(struct kb_arena *arena, const char *time, int64_t now_ns)
{
    int64_t then;
    if (!kb_time_parse(time, &then))
        return "<unknown>";
    long long s = (now_ns - then) / 1000000000, m = s / 60, h = m / 60, d = h / 24, y = d / 365;
    if (s < -1)
        return "<invalid>";
    if (s < 0)
        return "0s";
    if (s < 120)
        return kb_arena_printf(arena, "%llds", s);
    if (m < 10)
        return s % 60 ? kb_arena_printf(arena, "%lldm%llds", m, s % 60) : kb_arena_printf(arena, "%lldm", m);
    if (m < 180)
        return kb_arena_printf(arena, "%lldm", m);
    if (h < 8)
        return m % 60 ? kb_arena_printf(arena, "%lldh%lldm", h, m % 60) : kb_arena_printf(arena, "%lldh", h);
    if (h < 48)
        return kb_arena_printf(arena, "%lldh", h);
    if (h < 192)
        return h % 24 ? kb_arena_printf(arena, "%lldd%lldh", d, h % 24) : kb_arena_printf(arena, "%lldd", d);
    if (d < 730)
        return kb_arena_printf(arena, "%lldd", d);
    return kb_arena_printf(arena, "%lldy", y);
}

static const char *age(const struct lab_cell_input *in)
{
    return lab_age_text(in->arena, lab_val_str(yyjson_obj_get(in->root, "metadata"), "creationTimestamp"), in->now_ns);
}

static const char *count_text(const struct lab_cell_input *in, size_t n)
{
    return kb_arena_printf(in->arena, "%zu", n);
}

/* -- Pods */

static const char *pod_ready(const struct lab_cell_input *in)
{
    size_t i, n, ready = 0, total = yyjson_arr_size(yyjson_obj_get(spec_of(in), "containers"));
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(status_of(in), "containerStatuses"), i, n, c)
    {
        ready += yyjson_get_bool(yyjson_obj_get(c, "ready"));
    }
    return kb_arena_printf(in->arena, "%zu/%zu", ready, total);
}

/* Why a container does not run, or NULL. */
static const char *container_reason(struct kb_arena *arena, yyjson_val *container)
{
    yyjson_val *state = yyjson_obj_get(container, "state");
    yyjson_val *waiting = yyjson_obj_get(state, "waiting"), *ended = yyjson_obj_get(state, "terminated");
    if (*lab_val_str(waiting, "reason"))
        return lab_val_str(waiting, "reason");
    if (*lab_val_str(ended, "reason"))
        return lab_val_str(ended, "reason");
    if (ended)
        return kb_arena_printf(arena, "ExitCode:%d", (int)yyjson_get_int(yyjson_obj_get(ended, "exitCode")));
    return NULL;
}

static const char *pod_status(const struct lab_cell_input *in)
{
    const char *reason = lab_val_str(status_of(in), "phase");
    if (*lab_val_str(status_of(in), "reason"))
        reason = lab_val_str(status_of(in), "reason");
    if (yyjson_arr_size(yyjson_obj_get(spec_of(in), "schedulingGates")))
        reason = "SchedulingGated";
    size_t i, n;
    yyjson_val *c;
    bool running = false;
    yyjson_arr_foreach(yyjson_obj_get(status_of(in), "containerStatuses"), i, n, c)
    {
        const char *why = container_reason(in->arena, c);
        running |= LAB_VAL_AT(c, "state", "running") != NULL;
        if (why)
            reason = why;
    }
    if (running && kb_streq(reason, "Completed"))
        reason = "Running";
    if (*lab_val_str(yyjson_obj_get(in->root, "metadata"), "deletionTimestamp"))
        reason = "Terminating";
    return reason;
}

static const char *pod_restarts(const struct lab_cell_input *in)
{
    size_t i, n;
    int64_t restarts = 0;
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(status_of(in), "containerStatuses"), i, n, c)
    {
        restarts += yyjson_get_sint(yyjson_obj_get(c, "restartCount"));
    }
    return kb_arena_printf(in->arena, "%lld", (long long)restarts);
}

static const char *pod_gates(const struct lab_cell_input *in)
{
    yyjson_val *gates = yyjson_obj_get(spec_of(in), "readinessGates"), *g, *c;
    size_t i, n, j, m, met = 0;
    yyjson_arr_foreach(gates, i, n, g)
    {
        yyjson_arr_foreach(yyjson_obj_get(status_of(in), "conditions"), j, m, c)
        {
            met += kb_streq(lab_val_str(c, "type"), lab_val_str(g, "conditionType")) &&
                   kb_streq(lab_val_str(c, "status"), "True");
        }
    }
    return yyjson_arr_size(gates) ? kb_arena_printf(in->arena, "%zu/%zu", met, yyjson_arr_size(gates)) : NONE;
}

/* -- Nodes */

static const char *node_status(const struct lab_cell_input *in)
{
    const char *status = "Unknown";
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(status_of(in), "conditions"), i, n, c)
    {
        if (kb_streq(lab_val_str(c, "type"), "Ready"))
            status = kb_streq(lab_val_str(c, "status"), "True") ? "Ready" : "NotReady";
    }
    bool cordoned = yyjson_get_bool(yyjson_obj_get(spec_of(in), "unschedulable"));
    return cordoned ? kb_arena_printf(in->arena, "%s,SchedulingDisabled", status) : status;
}

static const char *node_roles(const struct lab_cell_input *in)
{
    struct kb_strbuf b = {.arena = in->arena};
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(LAB_VAL_AT(in->root, "metadata", "labels"), i, n, key, value)
    {
        const char *role = kb_after_prefix(yyjson_get_str(key), "node-role.kubernetes.io/");
        if (role)
            kb_strbuf_printf(&b, "%s%s", b.length ? "," : "", role);
    }
    return b.length ? kb_strbuf_text(&b) : NONE;
}

/* -- Events */

static const char *event_seen(const struct lab_cell_input *in)
{
    static const char *const times[] = {"lastTimestamp", "eventTime", "firstTimestamp"};
    for (size_t i = 0; i < KB_ARRAY_LEN(times); i++)
        if (*lab_val_str(in->root, times[i]))
            return lab_age_text(in->arena, lab_val_str(in->root, times[i]), in->now_ns);
    return age(in);
}

static const char *lower(struct kb_arena *arena, const char *text)
{
    char *copy = kb_arena_strdup(arena, text);
    for (char *p = copy; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p | 0x20);
    return copy;
}

static const char *event_object(const struct lab_cell_input *in)
{
    yyjson_val *o = yyjson_obj_get(in->root, "involvedObject");
    return kb_arena_printf(in->arena, "%s/%s", lower(in->arena, lab_val_str(o, "kind")), lab_val_str(o, "name"));
}

/* -- storage */

static const char *access_modes(struct kb_arena *arena, yyjson_val *modes)
{
    static const struct {
        const char *mode, *shown;
    } names[] = {
        {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
    struct kb_strbuf b = {.arena = arena};
    size_t i, n;
    yyjson_val *m;
    yyjson_arr_foreach(modes, i, n, m)
    {
        for (size_t k = 0; k < KB_ARRAY_LEN(names); k++)
            if (yyjson_equals_str(m, names[k].mode))
                kb_strbuf_printf(&b, "%s%s", b.length ? "," : "", names[k].shown);
    }
    return kb_strbuf_text(&b);
}

static const char *claim_modes(const struct lab_cell_input *in)
{
    return access_modes(in->arena, yyjson_obj_get(status_of(in), "accessModes"));
}

static const char *claim_phase(const struct lab_cell_input *in)
{
    if (*lab_val_str(yyjson_obj_get(in->root, "metadata"), "deletionTimestamp"))
        return "Terminating";
    return lab_val_str(status_of(in), "phase");
}

static const char *volume_modes(const struct lab_cell_input *in)
{
    return access_modes(in->arena, yyjson_obj_get(spec_of(in), "accessModes"));
}

static const char *volume_claim(const struct lab_cell_input *in)
{
    yyjson_val *c = yyjson_obj_get(spec_of(in), "claimRef");
    return c ? kb_arena_printf(in->arena, "%s/%s", lab_val_str(c, "namespace"), lab_val_str(c, "name")) : "";
}

static const char *class_name(const struct lab_cell_input *in)
{
    yyjson_val *a = LAB_VAL_AT(in->root, "metadata", "annotations");
    const char *name = lab_val_str(yyjson_obj_get(in->root, "metadata"), "name");
    bool preferred = kb_streq(lab_val_str(a, "storageclass.kubernetes.io/is-default-class"), "true");
    return preferred ? kb_arena_printf(in->arena, "%s (default)", name) : name;
}

/* -- others */

static const char *data_count(const struct lab_cell_input *in)
{
    return count_text(in, yyjson_obj_size(yyjson_obj_get(in->root, "data")) +
                              yyjson_obj_size(yyjson_obj_get(in->root, "binaryData")));
}

static const char *secret_count(const struct lab_cell_input *in)
{
    return count_text(in, yyjson_arr_size(yyjson_obj_get(in->root, "secrets")));
}

static const char *service_ports(const struct lab_cell_input *in)
{
    struct kb_strbuf b = {.arena = in->arena};
    size_t i, n;
    yyjson_val *p;
    yyjson_arr_foreach(yyjson_obj_get(spec_of(in), "ports"), i, n, p)
    {
        kb_strbuf_printf(&b, "%s%lld/%s", i ? "," : "", (long long)yyjson_get_sint(yyjson_obj_get(p, "port")),
                         lab_val_str(p, "protocol"));
    }
    return b.length ? kb_strbuf_text(&b) : NONE;
}

static const char *service_external(const struct lab_cell_input *in)
{
    const char *name = lab_val_str(spec_of(in), "externalName");
    return *name ? name : NONE;
}

static const char *not_available(const char *text)
{
    return text ? text : "N/A";
}

static const char *budget_min(const struct lab_cell_input *in)
{
    return not_available(lab_scalar_text(in->arena, yyjson_obj_get(spec_of(in), "minAvailable")));
}

static const char *budget_max(const struct lab_cell_input *in)
{
    return not_available(lab_scalar_text(in->arena, yyjson_obj_get(spec_of(in), "maxUnavailable")));
}

static const char *job_completions(const struct lab_cell_input *in)
{
    yyjson_val *want = yyjson_obj_get(spec_of(in), "completions");
    return kb_arena_printf(in->arena, "%lld/%lld",
                           (long long)yyjson_get_sint(yyjson_obj_get(status_of(in), "succeeded")),
                           want ? (long long)yyjson_get_sint(want) : 1);
}

static const char *job_status(const struct lab_cell_input *in)
{
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(status_of(in), "conditions"), i, n, c)
    {
        if (kb_streq(lab_val_str(c, "status"), "True"))
            return lab_val_str(c, "type");
    }
    return "Running";
}

#define STRING(resource, name, path)                                                                                   \
    {                                                                                                                  \
        resource, name, "string", "", 0, path, NULL                                                                    \
    }
#define WIDE(resource, name, path)                                                                                     \
    {                                                                                                                  \
        resource, name, "string", "", 1, path, NULL                                                                    \
    }
#define CODE(resource, name, cell)                                                                                     \
    {                                                                                                                  \
        resource, name, "string", "", 0, NULL, cell                                                                    \
    }
#define AGE(resource)     CODE(resource, "Age", age)
#define CREATED(resource) STRING(resource, "Created At", ".metadata.creationTimestamp")

static const struct lab_code_column columns[] = {
    CODE("pods", "Ready", pod_ready),
    CODE("pods", "Status", pod_status),
    CODE("pods", "Restarts", pod_restarts),
    AGE("pods"),
    WIDE("pods", "IP", ".status.podIP"),
    WIDE("pods", "Node", ".spec.nodeName"),
    WIDE("pods", "Nominated Node", ".status.nominatedNodeName"),
    {"pods", "Readiness Gates", "string", "", 1, NULL, pod_gates},
    CODE("nodes", "Status", node_status),
    CODE("nodes", "Roles", node_roles),
    AGE("nodes"),
    STRING("nodes", "Version", ".status.nodeInfo.kubeletVersion"),
    WIDE("nodes", "OS-Image", ".status.nodeInfo.osImage"),
    WIDE("nodes", "Kernel-Version", ".status.nodeInfo.kernelVersion"),
    CODE("events", "Last Seen", event_seen),
    STRING("events", "Type", ".type"),
    STRING("events", "Reason", ".reason"),
    CODE("events", "Object", event_object),
    WIDE("events", "Source", ".source.component"),
    STRING("events", "Message", ".message"),
    WIDE("events", "Count", ".count"),
    WIDE("events", "Name", ".metadata.name"),
    STRING("namespaces", "Status", ".status.phase"),
    AGE("namespaces"),
    CODE("persistentvolumeclaims", "Status", claim_phase),
    STRING("persistentvolumeclaims", "Volume", ".spec.volumeName"),
    STRING("persistentvolumeclaims", "Capacity", ".status.capacity.storage"),
    CODE("persistentvolumeclaims", "Access Modes", claim_modes),
    STRING("persistentvolumeclaims", "StorageClass", ".spec.storageClassName"),
    STRING("persistentvolumeclaims", "VolumeAttributesClass", ".spec.volumeAttributesClassName"),
    AGE("persistentvolumeclaims"),
    WIDE("persistentvolumeclaims", "VolumeMode", ".spec.volumeMode"),
    STRING("persistentvolumes", "Capacity", ".spec.capacity.storage"),
    CODE("persistentvolumes", "Access Modes", volume_modes),
    STRING("persistentvolumes", "Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"),
    STRING("persistentvolumes", "Status", ".status.phase"),
    CODE("persistentvolumes", "Claim", volume_claim),
    STRING("persistentvolumes", "StorageClass", ".spec.storageClassName"),
    AGE("persistentvolumes"),
    STRING("secrets", "Type", ".type"),
    CODE("secrets", "Data", data_count),
    AGE("secrets"),
    CODE("configmaps", "Data", data_count),
    AGE("configmaps"),
    STRING("services", "Type", ".spec.type"),
    STRING("services", "Cluster-IP", ".spec.clusterIP"),
    CODE("services", "External-IP", service_external),
    CODE("services", "Port(s)", service_ports),
    AGE("services"),
    CODE("serviceaccounts", "Secrets", secret_count),
    AGE("serviceaccounts"),
    STRING("storageclasses.storage.k8s.io", "Provisioner", ".provisioner"),
    STRING("storageclasses.storage.k8s.io", "ReclaimPolicy", ".reclaimPolicy"),
    STRING("storageclasses.storage.k8s.io", "VolumeBindingMode", ".volumeBindingMode"),
    STRING("storageclasses.storage.k8s.io", "AllowVolumeExpansion", ".allowVolumeExpansion"),
    AGE("storageclasses.storage.k8s.io"),
    CODE("poddisruptionbudgets.policy", "Min Available", budget_min),
    CODE("poddisruptionbudgets.policy", "Max Unavailable", budget_max),
    STRING("poddisruptionbudgets.policy", "Allowed Disruptions", ".status.disruptionsAllowed"),
    AGE("poddisruptionbudgets.policy"),
    CODE("jobs.batch", "Status", job_status),
    CODE("jobs.batch", "Completions", job_completions),
    AGE("jobs.batch"),
    CREATED("limitranges"),
    CREATED("roles.rbac.authorization.k8s.io"),
    CREATED("clusterroles.rbac.authorization.k8s.io"),
};

static const char *name_cell(const struct lab_cell_input *in)
{
    return lab_val_str(yyjson_obj_get(in->root, "metadata"), "name");
}

/* The name's own column: Events have none, storage classes mark the default one. */
static const struct lab_code_column name_column = CODE("", "Name", name_cell);
static const struct lab_code_column class_column = CODE("", "Name", class_name);

const struct lab_code_column *lab_name_column(const struct lab_kind *kind)
{
    if (kb_streq(kind->resource, "events"))
        return NULL;
    return kb_streq(kind->resource, "storageclasses.storage.k8s.io") ? &class_column : &name_column;
}

size_t lab_code_columns(const struct lab_kind *kind, const struct lab_code_column **ret)
{
    size_t first = 0;
    while (first < KB_ARRAY_LEN(columns) && !kb_streq(columns[first].resource, kind->resource))
        first++;
    size_t n = 0;
    while (first + n < KB_ARRAY_LEN(columns) && kb_streq(columns[first + n].resource, kind->resource))
        n++;
    *ret = columns + first;
    return n;
}
