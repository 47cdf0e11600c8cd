/*
 * status.printableStatus: a table of statuses and the question that each answers; the first that says yes wins.
 * Source: the reference's setPrintableStatus, watch/vm/vm.go.
 */
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

struct question {
    const struct kv_vm *vm;
    const struct kv_vmi *vmi; /* or NULL */
    const struct vm_facts *facts;
    const char *strategy; /* "" when the VM names two */
};

static bool vmi_in_phase(const struct question *q, const char *phase)
{
    return q->vmi && kb_streq(q->vmi->status.phase, phase);
}

static bool vmi_condition_says(const struct question *q, const char *type, const char *reason)
{
    const struct kv_vmi_condition *condition = q->vmi ? virt_vmi_condition(q->vmi, type) : NULL;
    return condition && kb_streq(condition->status, VIRT_FALSE) && kb_streq(condition->reason, reason);
}

static bool terminating(const struct question *q)
{
    return api_is_being_deleted(&q->vm->metadata);
}

static bool stopping(const struct question *q)
{
    return q->vmi && !virt_vmi_is_final(q->vmi) && (api_is_being_deleted(&q->vmi->metadata) || q->facts->stop_expected);
}

static bool migrating(const struct question *q)
{
    return q->vmi && virt_vmi_is_migrating(q->vmi, q->facts->now_ns);
}

static bool paused(const struct question *q)
{
    return vmi_in_phase(q, "Running") && virt_vmi_condition_is(q->vmi, "Paused", VIRT_TRUE);
}

static bool running(const struct question *q)
{
    return vmi_in_phase(q, "Running") && !paused(q);
}

static bool claim_not_found(const struct question *q)
{
    return vmi_condition_says(q, "Synchronized", "FailedPvcNotFound");
}

static bool data_volume_error(const struct question *q)
{
    return q->facts->data_volume_error;
}

static bool unschedulable(const struct question *q)
{
    return vmi_condition_says(q, "PodScheduled", "Unschedulable");
}

static bool provisioning(const struct question *q)
{
    return q->facts->data_volume_provisioning;
}

static bool waiting_for_binding(const struct question *q)
{
    return q->facts->unbound_claim && vm_is_set_to_start(q->vm, q->vmi);
}

static bool image_pull_error(const struct question *q)
{
    return vmi_condition_says(q, "Synchronized", "ErrImagePull");
}

static bool image_pull_backoff(const struct question *q)
{
    return vmi_condition_says(q, "Synchronized", "ImagePullBackOff");
}

static bool starting(const struct question *q)
{
    if (!q->vmi)
        return q->facts->start_expected;
    return vmi_in_phase(q, "") || vmi_in_phase(q, "Pending") || vmi_in_phase(q, "Scheduling") ||
           vmi_in_phase(q, "Scheduled");
}

static bool crash_loop(const struct question *q)
{
    if ((q->vmi && !virt_vmi_is_final(q->vmi)) || q->facts->start_expected)
        return false;
    return q->vm->status.start_failure && q->vm->status.start_failure->consecutive_fail_count > 0 &&
           (kb_streq(q->strategy, VM_ALWAYS) || kb_streq(q->strategy, VM_RERUN_ON_FAILURE) ||
            kb_streq(q->strategy, VM_ONCE));
}

static bool stopped(const struct question *q)
{
    return q->vmi ? virt_vmi_is_final(q->vmi) : !q->facts->start_expected;
}

static bool waiting_for_receiver(const struct question *q)
{
    return (!q->vmi || virt_vmi_is_phase(q->vmi, VIRT_PHASE_WAITING_FOR_SYNC)) &&
           kb_streq(q->strategy, VM_WAIT_AS_RECEIVER);
}

static const struct {
    const char *status;
    bool (*holds)(const struct question *q);
} statuses[] = {
    {"Terminating", terminating},
    {"Stopping", stopping},
    {"Migrating", migrating},
    {"Paused", paused},
    {"Running", running},
    {"ErrorPvcNotFound", claim_not_found},
    {"DataVolumeError", data_volume_error},
    {"ErrorUnschedulable", unschedulable},
    {"Provisioning", provisioning},
    {"WaitingForVolumeBinding", waiting_for_binding},
    {"ErrImagePull", image_pull_error},
    {"ImagePullBackOff", image_pull_backoff},
    {"Starting", starting},
    {"CrashLoopBackOff", crash_loop},
    {"Stopped", stopped},
    {"WaitingForReceiver", waiting_for_receiver},
};

const char *vm_printable_status(const struct kv_vm *vm, const struct kv_vmi *vmi, const struct vm_facts *facts)
{
    const char *error, *strategy = vm_run_strategy(vm, &error);
    struct question question = {vm, vmi, facts, strategy ? strategy : ""};
    for (size_t i = 0; i < KB_ARRAY_LEN(statuses); i++)
        if (statuses[i].holds(&question))
            return statuses[i].status;
    return "Unknown";
}
