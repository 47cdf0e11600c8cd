/* The families over migrations: their number by phase, and those that are over. */
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"

enum { PENDING, SCHEDULING, UNSET, RUNNING, N_COUNTS, SUCCEEDED = N_COUNTS, FAILED, N_FAMILIES };

static const struct kube_metric_family families[N_FAMILIES] = {
    [PENDING] = {"kubevirt_vmi_migrations_in_pending_phase", "Number of current pending migrations.", KUBE_GAUGE},
    [SCHEDULING] = {"kubevirt_vmi_migrations_in_scheduling_phase", "Number of current scheduling migrations.",
                    KUBE_GAUGE},
    [UNSET] = {"kubevirt_vmi_migrations_in_unset_phase",
               "Number of current unset migrations. These are pending items the virt-controller hasn\u2019t processed "
               "yet from the queue.",
               KUBE_GAUGE},
    [RUNNING] = {"kubevirt_vmi_migrations_in_running_phase", "Number of current running migrations.", KUBE_GAUGE},
    [SUCCEEDED] = {"kubevirt_vmi_migration_succeeded",
                   "Indicates if the VMI migration succeeded.",
                   KUBE_GAUGE,
                   {"vmi", "vmim", "namespace"}},
    [FAILED] = {"kubevirt_vmi_migration_failed",
                "Indicates if the VMI migration failed.",
                KUBE_GAUGE,
                {"vmi", "vmim", "namespace"}},
};

static const struct {
    const char *phase;
    int family;
} phases[] = {
    {"Pending", PENDING},     {"Scheduling", SCHEDULING},  {"", UNSET},
    {"Running", RUNNING},     {"Scheduled", RUNNING},      {"PreparingTarget", RUNNING},
    {"TargetReady", RUNNING}, {"WaitingForSync", RUNNING}, {"Synchronizing", RUNNING},
    {"Succeeded", SUCCEEDED}, {"Failed", FAILED},
};

struct count {
    struct kube_exposition *out;
    double numbers[N_COUNTS];
};

static void visit(void *userdata, const struct api_object *object)
{
    struct count *count = userdata;
    const struct kv_vmim *migration = api_object_data(object);
    size_t i = 0;
    while (i < KB_ARRAY_LEN(phases) && !kb_streq(migration->status.phase, phases[i].phase))
        i++;
    if (i == KB_ARRAY_LEN(phases))
        return;
    if (phases[i].family < N_COUNTS) {
        count->numbers[phases[i].family]++;
        return;
    }
    const char *const values[] = {migration->spec.vmi_name, migration->metadata.name, migration->metadata.namespace};
    kube_exposition_sample(count->out, &families[phases[i].family], values, 1);
}

static void collect(void *userdata, struct kube_exposition *out)
{
    struct virt_metrics *metrics = userdata;
    struct count count = {.out = out};
    if (metrics->leading)
        kube_store_visit(metrics_store(metrics, VIRT_MIGRATION), visit, &count);
    for (int i = 0; i < N_COUNTS; i++)
        kube_exposition_sample(out, &families[i], NULL, count.numbers[i]);
}

void metrics_add_migrations(struct virt_metrics *metrics)
{
    kube_metrics_add_collector(metrics->registry, collect, metrics);
}
