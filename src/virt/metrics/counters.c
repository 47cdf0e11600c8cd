/* Families that controllers change themselves. */
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"

static const struct kube_metric_family vmi_sync = {
    "kubevirt_vmi_sync_total",
    "Total number of times a VirtualMachineInstance has been synced.",
    KUBE_COUNTER,
    {"namespace", "name"},
};
static const struct kube_metric_family outdated = {
    "kubevirt_vmi_number_of_outdated",
    "Indication for the total number of VirtualMachineInstance workloads that are not running within the most "
    "up-to-date version of the virt-launcher environment.",
    KUBE_GAUGE,
};
static const struct kube_metric_family snapshot_succeeded = {
    "kubevirt_vmsnapshot_succeeded_timestamp_seconds",
    "Returns the timestamp of successful virtual machine snapshot.",
    KUBE_GAUGE,
    {"name", "snapshot_name", "namespace"},
};

void virt_metrics_vmi_synced(struct kube_metrics *registry, const char *namespace_, const char *name)
{
    if (registry)
        kube_metric_add(registry, &vmi_sync, 1, namespace_, name);
}

void virt_metrics_vmi_gone(struct kube_metrics *registry, const char *namespace_, const char *name)
{
    if (registry)
        kube_metric_remove(registry, &vmi_sync, namespace_, name);
}

void virt_metrics_outdated(struct kube_metrics *registry, size_t vmis)
{
    if (registry)
        kube_metric_set(registry, &outdated, (double)vmis);
}

void metrics_show_outdated(struct kube_metrics *registry)
{
    kube_metrics_register(registry, &outdated);
}

void virt_metrics_snapshot(struct kube_metrics *registry, const struct snapshot_vm_snapshot *snapshot)
{
    int64_t created = 0;
    if (!registry || !snapshot->status || !kb_streq(snapshot->status->phase, "Succeeded"))
        return;
    if (!metrics_unix_seconds(snapshot->status->creation_time, &created))
        return;
    kube_metric_set(registry, &snapshot_succeeded, (double)created, snapshot->spec.source.name, snapshot->metadata.name,
                    snapshot->metadata.namespace);
}
