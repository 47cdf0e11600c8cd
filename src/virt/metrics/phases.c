/*
 * The phase transition histograms: an update of a VMI or migration whose phase changed is one observation, of the time
 * between two timestamps that the objects carry. A missing one means no observation; time never goes back.
 */
#include "api/meta.h"
#include "base/strings.h"
#include "base/time.h"
#include "virt/metrics/metrics_internal.h"

static const double buckets[] = {0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600};

static const struct kube_metric_family transition = {
    "kubevirt_vmi_phase_transition_time_seconds",
    "Histogram of VM phase transitions duration between different phases in seconds.",
    KUBE_HISTOGRAM,
    {"phase", "last_phase"},
    buckets,
    KB_ARRAY_LEN(buckets),
};
static const struct kube_metric_family from_creation = {
    "kubevirt_vmi_phase_transition_time_from_creation_seconds",
    "Histogram of VM phase transitions duration from creation time in seconds.",
    KUBE_HISTOGRAM,
    {"phase"},
    buckets,
    KB_ARRAY_LEN(buckets),
};
static const struct kube_metric_family from_deletion = {
    "kubevirt_vmi_phase_transition_time_from_deletion_seconds",
    "Histogram of VM phase transitions duration from deletion time in seconds.",
    KUBE_HISTOGRAM,
    {"phase"},
    buckets,
    KB_ARRAY_LEN(buckets),
};
static const struct kube_metric_family migration_from_creation = {
    "kubevirt_vmi_migration_phase_transition_time_from_creation_seconds",
    "Histogram of VM migration phase transitions duration from creation time in seconds.",
    KUBE_HISTOGRAM,
    {"phase"},
    buckets,
    KB_ARRAY_LEN(buckets),
};

/* Seconds; false when one of the times is missing. */
static bool between(const char *from, const char *to, double *ret)
{
    int64_t start, end;
    if (kb_empty(from) || kb_empty(to) || !kb_time_parse(from, &start) || !kb_time_parse(to, &end))
        return false;
    *ret = end > start ? (double)(end - start) / (double)KB_NS_PER_S : 0;
    return true;
}

/* When the VMI entered a phase; NULL: not told. */
static const char *entered(const struct kv_vmi *vmi, const char *phase)
{
    api_list_foreach (timestamp, &vmi->status.phase_transition_timestamps)
        if (kb_streq(timestamp->phase, phase))
            return timestamp->phase_transition_timestamp;
    return NULL;
}

static void observe_vmi(struct kube_metrics *registry, const struct kv_vmi *before, const struct kv_vmi *after)
{
    const char *phase = after->status.phase, *last = before->status.phase;
    const char *now = entered(after, phase), *created = after->metadata.creation_timestamp;
    bool is_final = kb_streq(phase, "Succeeded") || kb_streq(phase, "Failed");
    double seconds;
    if (between(*last ? entered(after, last) : created, now, &seconds))
        kube_metric_observe(registry, &transition, seconds, phase, last);
    if (between(created, now, &seconds))
        kube_metric_observe(registry, &from_creation, seconds, phase);
    if (is_final && api_is_being_deleted(&after->metadata) &&
        between(*last ? after->metadata.deletion_timestamp : created, now, &seconds))
        kube_metric_observe(registry, &from_deletion, seconds, phase);
}

static void vmi_changed(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct virt_metrics *metrics = userdata;
    if (!before || !after || !metrics->leading)
        return;
    const struct kv_vmi *old = api_object_data(before), *new = api_object_data(after);
    if (!kb_streq(old->status.phase, new->status.phase))
        observe_vmi(metrics->registry, old, new);
}

static void migration_changed(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct virt_metrics *metrics = userdata;
    if (!before || !after || !metrics->leading)
        return;
    const struct kv_vmim *old = api_object_data(before), *new = api_object_data(after);
    const char *phase = new->status.phase, *now = NULL;
    if (kb_streq(old->status.phase, phase))
        return;
    api_list_foreach (timestamp, &new->status.phase_transition_timestamps)
        if (!now && kb_streq(timestamp->phase, phase))
            now = timestamp->phase_transition_timestamp;
    double seconds;
    if (between(new->metadata.creation_timestamp, now, &seconds))
        kube_metric_observe(metrics->registry, &migration_from_creation, seconds, phase);
}

void metrics_add_phases(struct virt_metrics *metrics)
{
    kube_store_add_handler(metrics_store(metrics, VIRT_VMI), vmi_changed, metrics);
    kube_store_add_handler(metrics_store(metrics, VIRT_MIGRATION), migration_changed, metrics);
}
