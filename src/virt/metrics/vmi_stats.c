/* The families over VMIs. */
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/metrics/metrics_internal.h"
#include "virt/names.h"

static const struct kube_metric_family info = {
    "kubevirt_vmi_info",
    "Information about VirtualMachineInstances.",
    KUBE_GAUGE,
    {"node", "namespace", "name", "phase", "os", "workload", "flavor", "instance_type", "preference",
     "guest_os_kernel_release", "guest_os_machine", "guest_os_arch", "guest_os_name", "guest_os_version_id",
     "evictable", "outdated", "vmi_pod"},
};
static const struct kube_metric_family non_evictable = {
    "kubevirt_vmi_non_evictable",
    "Indication for a VirtualMachine that its eviction strategy is set to Live Migration but is not migratable.",
    KUBE_GAUGE,
    {"node", "namespace", "name"},
};
static const struct kube_metric_family addresses = {
    "kubevirt_vmi_status_addresses",
    "The addresses of a VirtualMachineInstance. This metric provides the address of an available network interface "
    "associated with the VMI in the 'address' label, and about the type of address, such as internal IP, in the 'type' "
    "label.",
    KUBE_GAUGE,
    {"node", "namespace", "name", "vnic_name", "interface_name", "address", "type"},
};
static const struct kube_metric_family migration_start = {
    "kubevirt_vmi_migration_start_time_seconds",
    "The time at which the migration started.",
    KUBE_GAUGE,
    {"node", "namespace", "name", "migration_name"},
};
static const struct kube_metric_family migration_end = {
    "kubevirt_vmi_migration_end_time_seconds",
    "The time at which the migration ended.",
    KUBE_GAUGE,
    {"node", "namespace", "name", "migration_name", "status"},
};
static const struct kube_metric_family vnics = {
    "kubevirt_vmi_vnic_info",
    "Details of VirtualMachineInstance (VMI) vNIC interfaces, such as vNIC name, binding type, network name, and "
    "binding name for each vNIC of a running instance.",
    KUBE_GAUGE,
    {"name", "namespace", "vnic_name", "binding_type", "network", "binding_name", "model"},
};
static const struct kube_metric_family overhead = {
    "kubevirt_vmi_launcher_memory_overhead_bytes",
    "Estimation of the memory amount required for virt-launcher's infrastructure components (e.g. libvirt, QEMU).",
    KUBE_GAUGE,
    {"namespace", "name"},
};

/* ---- info ---- */

/* Eviction means migration for it, and it can't be migrated, or is not known to. */
static bool is_evictable(const struct metrics_scrape *scrape, const struct kv_vmi *vmi)
{
    const struct kv_vmi_condition *migratable = virt_vmi_condition(vmi, "LiveMigratable");
    const char *strategy = vmi->spec.eviction_strategy;
    if (!strategy)
        strategy = scrape->config->spec->eviction_strategy;
    if (!strategy)
        return true;
    if (kb_streq(strategy, "LiveMigrate"))
        return migratable && !kb_streq(migratable->status, VIRT_FALSE);
    return true; /* LiveMigrateIfPossible means migration only where that is known to be possible */
}

struct named_by { /* annotation that names an instance type or preference; the first one there counts */
    const char *annotation;
    enum virt_informer informer;
    bool namespaced;
};
static const struct named_by instancetypes[] = {
    {"kubevirt.io/instancetype-name", VIRT_INSTANCETYPE, true},
    {"kubevirt.io/cluster-instancetype-name", VIRT_CLUSTER_INSTANCETYPE, false},
};
static const struct named_by preferences[] = {
    {"kubevirt.io/preference-name", VIRT_PREFERENCE, true},
    {"kubevirt.io/cluster-preference-name", VIRT_CLUSTER_PREFERENCE, false},
};

static const char *annotated_name(struct metrics_scrape *scrape, const struct kv_vmi *vmi,
                                  const struct named_by table[2])
{
    for (size_t i = 0; i < 2; i++) {
        const char *name = api_map_get(&vmi->metadata.annotations, table[i].annotation);
        if (name)
            return metrics_vendor_name(scrape, table[i].informer, table[i].namespaced ? vmi->metadata.namespace : "",
                                       name);
    }
    return "";
}

/* Its running Pod on its node. */
static const char *pod_of(struct metrics_scrape *scrape, const struct kv_vmi *vmi)
{
    struct kube_objects pods =
        kube_store_by_index(metrics_store(scrape->metrics, VIRT_POD), VIRT_INDEX_CREATED_BY, vmi->metadata.uid);
    const char *name = "";
    for (size_t i = 0; i < pods.n && !*name; i++) {
        const struct core_pod *pod = api_object_data(pods.items[i]);
        if (kb_streq(pod->metadata.namespace, vmi->metadata.namespace) && kb_streq(pod->status.phase, "Running") &&
            kb_streq(pod->spec.node_name, vmi->status.node_name))
            name = kb_arena_strdup(scrape->scratch, pod->metadata.name);
    }
    kube_objects_done(&pods);
    return name;
}

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

static METRICS_SAMPLER(sample_info)
{
    struct metrics_scrape *scrape = state;
    const struct kv_vmi *vmi = object;
    const struct kv_vmi_guest_os_info *guest = &vmi->status.guest_os_info;
    const struct api_string_map *annotations = &vmi->metadata.annotations;
    kb_arena_reset(scrape->scratch);
    const char *const values[] = {
        vmi->status.node_name,
        vmi->metadata.namespace,
        vmi->metadata.name,
        metrics_lower(scrape, vmi->status.phase),
        metrics_system_info(annotations, "os"),
        metrics_system_info(annotations, "workload"),
        metrics_system_info(annotations, "flavor"),
        annotated_name(scrape, vmi, instancetypes),
        annotated_name(scrape, vmi, preferences),
        guest->kernel_release,
        vmi->status.machine ? vmi->status.machine->type : "",
        guest->machine,
        guest->name,
        guest->version_id,
        truth(is_evictable(scrape, vmi)),
        truth(api_map_has(&vmi->metadata.labels, VIRT_LABEL_OUTDATED_IMAGE)),
        pod_of(scrape, vmi),
    };
    kube_exposition_sample(out, family, values, 1);
}

static METRICS_SAMPLER(sample_non_evictable)
{
    const struct kv_vmi *vmi = object;
    const char *const values[] = {vmi->status.node_name, vmi->metadata.namespace, vmi->metadata.name};
    kube_exposition_sample(out, family, values, !is_evictable(state, vmi));
}

/* ---- addresses, vNICs ---- */

static METRICS_SAMPLER(sample_addresses)
{
    (void)state;
    const struct kv_vmi *vmi = object;
    api_list_foreach (interface, &vmi->status.interfaces) {
        bool external = !kb_empty(interface->ip_address);
        if (!external && kb_empty(interface->name) && kb_empty(interface->interface_name))
            continue; /* there would be nothing to tell two of them apart */
        const char *const values[] = {vmi->status.node_name,
                                      vmi->metadata.namespace,
                                      vmi->metadata.name,
                                      interface->name,
                                      interface->interface_name,
                                      interface->ip_address,
                                      external ? "ExternalInterface" : "SystemInterface"};
        kube_exposition_sample(out, family, values, 1);
    }
}

static METRICS_SAMPLER(sample_vnics)
{
    (void)state;
    const struct kv_vmi *vmi = object;
    metrics_add_vnics(out, family, &vmi->metadata, &vmi->spec);
}

/* ---- the migration ---- */

static const char *migration_name(struct metrics_scrape *scrape, const struct kv_vmim_state *migration)
{
    struct kube_objects found =
        kube_store_by_index(metrics_store(scrape->metrics, VIRT_MIGRATION), VIRT_INDEX_UID, migration->migration_uid);
    const char *name = "";
    if (found.n > 0)
        name =
            kb_arena_strdup(scrape->scratch, ((const struct kv_vmim *)api_object_data(found.items[0]))->metadata.name);
    kube_objects_done(&found);
    return name;
}

static METRICS_SAMPLER(sample_migration)
{
    struct metrics_scrape *scrape = state;
    const struct kv_vmi *vmi = object;
    const struct kv_vmim_state *migration = vmi->status.migration_state;
    int64_t time;
    if (!migration || !metrics_unix_seconds(
                          family == &migration_start ? migration->start_timestamp : migration->end_timestamp, &time))
        return;
    kb_arena_reset(scrape->scratch);
    const char *status = !migration->completed ? "" : migration->failed ? "failed" : "succeeded";
    const char *const values[] = {vmi->status.node_name, vmi->metadata.namespace, vmi->metadata.name,
                                  migration_name(scrape, migration), status};
    kube_exposition_sample(out, family, values, (double)time);
}

/* ---- memory ---- */

/* What the VMI's status says was given to its launcher; VMIs from before that was recorded: what it would get now. */
static METRICS_SAMPLER(sample_overhead)
{
    struct metrics_scrape *scrape = state;
    const struct kv_vmi *vmi = object;
    const struct kv_memory_status *memory = vmi->status.memory;
    int64_t bytes = memory && memory->memory_overhead ? kb_quantity_value(kb_quantity_of(memory->memory_overhead))
                                                      : virt_launcher_memory_overhead(scrape->config, vmi);
    kube_exposition_sample(out, family, (const char *[]){vmi->metadata.namespace, vmi->metadata.name}, (double)bytes);
}

/* ---- the table ---- */

static const struct kube_metric_row rows[] = {
    {&info, sample_info},
    {&non_evictable, sample_non_evictable},
    {&addresses, sample_addresses},
    {&migration_start, sample_migration},
    {&migration_end, sample_migration},
    {&vnics, sample_vnics},
    {&overhead, sample_overhead},
};

static void *begin(void *userdata, struct kube_objects *ret_objects)
{
    return metrics_scrape_begin(userdata, VIRT_VMI, ret_objects);
}

static const struct kube_metric_table table = {rows, KB_ARRAY_LEN(rows), begin, metrics_scrape_end};

void metrics_add_vmi_stats(struct virt_metrics *metrics)
{
    kube_metrics_add_table(metrics->registry, &table, metrics);
}
