/* The table of families over VMs, and those that are told in one line each. */
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"
#include <strings.h>

static const struct kube_metric_family info = {
    "kubevirt_vm_info",
    "Information about Virtual Machines.",
    KUBE_GAUGE,
    {"name", "namespace", "os", "workload", "flavor", "machine_type", "instance_type", "preference", "status",
     "status_group"},
};
static const struct kube_metric_family created = {
    "kubevirt_vm_create_date_timestamp_seconds",
    "Virtual Machine creation timestamp.",
    KUBE_GAUGE,
    {"name", "namespace"},
};
static const struct kube_metric_family vnics = {
    "kubevirt_vm_vnic_info",
    "Details of Virtual Machine (VM) vNIC interfaces, such as vNIC name, binding type, network name, and binding name "
    "for each vNIC defined in the VM's configuration.",
    KUBE_GAUGE,
    {"name", "namespace", "vnic_name", "binding_type", "network", "binding_name", "model"},
};

/* ---- status groups ---- */

/* One counter a group; the last one is also that of statuses outside every group. */
enum group { STARTING, RUNNING, MIGRATING, NON_RUNNING, FAILING, N_GROUPS };

#define TRANSITION(name_, to)                                                                                          \
    {                                                                                                                  \
        "kubevirt_vm_" name_ "_status_last_transition_timestamp_seconds",                                              \
            "Virtual Machine last transition timestamp to " to " status.", KUBE_COUNTER,                               \
        {                                                                                                              \
            "name", "namespace"                                                                                        \
        }                                                                                                              \
    }

static const struct kube_metric_family transitions[N_GROUPS] = {
    [STARTING] = TRANSITION("starting", "starting"),    [RUNNING] = TRANSITION("running", "running"),
    [MIGRATING] = TRANSITION("migrating", "migrating"), [NON_RUNNING] = TRANSITION("non_running", "paused/stopped"),
    [FAILING] = TRANSITION("error", "error"),
};

static const char *const group_names[N_GROUPS] = {"starting", "running", "migrating", "non_running", "error"};

static const struct {
    const char *status;
    enum group group;
} statuses[] = {
    {"Provisioning", STARTING},    {"Starting", STARTING},        {"WaitingForVolumeBinding", STARTING},
    {"Running", RUNNING},          {"Migrating", MIGRATING},      {"Stopped", NON_RUNNING},
    {"Paused", NON_RUNNING},       {"Stopping", NON_RUNNING},     {"Terminating", NON_RUNNING},
    {"CrashLoopBackOff", FAILING}, {"Unknown", FAILING},          {"ErrorUnschedulable", FAILING},
    {"ErrImagePull", FAILING},     {"ImagePullBackOff", FAILING}, {"ErrorPvcNotFound", FAILING},
    {"DataVolumeError", FAILING},
};

/* N_GROUPS: none. */
static enum group group_of(const struct kv_vm *vm)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(statuses); i++)
        if (kb_streq(vm->status.printable_status, statuses[i].status))
            return statuses[i].group;
    return N_GROUPS;
}

/* -1: no such condition has a time. */
static int64_t last_transition(const struct kv_vm *vm)
{
    static const char *const types[] = {"Ready", "Failure", "Paused"};
    int64_t latest = -1, time;
    api_list_foreach (condition, &vm->status.conditions)
        if (kb_in_list(condition->type, types, KB_ARRAY_LEN(types)) &&
            metrics_unix_seconds(condition->last_transition_time, &time) && time > latest)
            latest = time;
    return latest;
}

static METRICS_SAMPLER(sample_transition)
{
    (void)state;
    const struct kv_vm *vm = object;
    enum group group = group_of(vm);
    bool is_current = family == &transitions[group == N_GROUPS ? FAILING : group];
    kube_exposition_sample(out, family, (const char *[]){vm->metadata.name, vm->metadata.namespace},
                           is_current ? (double)last_transition(vm) : 0);
}

/* ---- info ---- */

struct matched { /* what a matcher of this kind names */
    const char *kind;
    enum virt_informer informer;
    bool namespaced;
};
static const struct matched instancetypes[] = {
    {"virtualmachineinstancetype", VIRT_INSTANCETYPE, true},
    {"virtualmachineclusterinstancetype", VIRT_CLUSTER_INSTANCETYPE, false},
};
static const struct matched preferences[] = {
    {"virtualmachinepreference", VIRT_PREFERENCE, true},
    {"virtualmachineclusterpreference", VIRT_CLUSTER_PREFERENCE, false},
};

static const char *matched_name(struct metrics_scrape *scrape, const struct kv_vm *vm, const struct matched table[2],
                                const char *kind, const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (strcasecmp(kind, table[i].kind) == 0)
            return metrics_vendor_name(scrape, table[i].informer, table[i].namespaced ? vm->metadata.namespace : "",
                                       name);
    return "";
}

static METRICS_SAMPLER(sample_info)
{
    struct metrics_scrape *scrape = state;
    const struct kv_vm *vm = object;
    const struct kv_instancetype_matcher *type = vm->spec.instancetype;
    const struct kv_preference_matcher *preference = vm->spec.preference;
    static const struct kv_vmi_template_spec none = {0};
    const struct kv_vmi_template_spec *template = vm->spec.template ? vm->spec.template : &none;
    const struct kv_machine *machine = template->spec.domain.machine;
    enum group group = group_of(vm);
    kb_arena_reset(scrape->scratch);
    const char *const values[] = {
        vm->metadata.name,
        vm->metadata.namespace,
        metrics_system_info(&template->metadata.annotations, "os"),
        metrics_system_info(&template->metadata.annotations, "workload"),
        metrics_system_info(&template->metadata.annotations, "flavor"),
        machine ? machine->type : "",
        type ? matched_name(scrape, vm, instancetypes, type->kind, type->name) : "",
        preference ? matched_name(scrape, vm, preferences, preference->kind, preference->name) : "",
        metrics_lower(scrape, vm->status.printable_status),
        group == N_GROUPS ? "<unknown>" : group_names[group],
    };
    kube_exposition_sample(out, family, values, 1);
}

static METRICS_SAMPLER(sample_created)
{
    (void)state;
    const struct kv_vm *vm = object;
    int64_t time;
    if (metrics_unix_seconds(vm->metadata.creation_timestamp, &time))
        kube_exposition_sample(out, family, (const char *[]){vm->metadata.name, vm->metadata.namespace}, (double)time);
}

static METRICS_SAMPLER(sample_vnics)
{
    (void)state;
    const struct kv_vm *vm = object;
    if (vm->spec.template)
        metrics_add_vnics(out, family, &vm->metadata, &vm->spec.template->spec);
}

/* ---- the table ---- */

static const struct kube_metric_row rows[] = {
    {&info, sample_info},
    {&created, sample_created},
    {&vnics, sample_vnics},
    {&transitions[STARTING], sample_transition},
    {&transitions[RUNNING], sample_transition},
    {&transitions[MIGRATING], sample_transition},
    {&transitions[NON_RUNNING], sample_transition},
    {&transitions[FAILING], sample_transition},
    {&metrics_vm_requests, metrics_sample_requests},
    {&metrics_vm_limits, metrics_sample_limits},
    {&metrics_vm_disk_size, metrics_sample_disks},
    {&metrics_vm_labels, metrics_sample_labels},
};

static void *begin(void *userdata, struct kube_objects *ret_objects)
{
    return metrics_scrape_begin(userdata, VIRT_VM, ret_objects);
}

static const struct kube_metric_table table = {rows, KB_ARRAY_LEN(rows), begin, metrics_scrape_end};

void metrics_add_vm_stats(struct virt_metrics *metrics)
{
    kube_metrics_add_table(metrics->registry, &table, metrics);
}
