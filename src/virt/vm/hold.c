/*
 * Which statuses of a VM are not written yet, and for how long (virt/holds.h says when that is allowed).
 *
 * new       The first status of a VM whose VMI was made just now would say that it starts. When it runs within a
 *           moment, its first status says that.
 * deleted   A VM that goes says so when its VMI takes longer to go.
 * ended     The VMI of a VM that goes has ended: the VMI controller is about to take both finalizers away. This
 *           controller takes its own when that does not happen.
 */
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* Nothing was told yet, and nobody waits for an answer. */
static bool is_new(const struct kv_vm_status *stored)
{
    return !*stored->printable_status && stored->state_change_requests.n == 0 && stored->volume_requests.n == 0;
}

/* Beside members that every pass derives anew there is nothing: no reference to a revision, no state of a request. */
static bool is_derived(const struct kv_vm_status *stored, const struct kv_vm_status *status)
{
    struct kv_vm_status derived = *stored;
    derived.created = status->created;
    derived.ready = status->ready;
    derived.printable_status = status->printable_status;
    derived.conditions = status->conditions;
    derived.volume_snapshot_statuses = status->volume_snapshot_statuses;
    derived.observed_generation = status->observed_generation;
    derived.desired_generation = status->desired_generation;
    derived.run_strategy = status->run_strategy;
    return api_equal(&kv_vm_status_type, &derived, status);
}

/* All goes its way. */
static bool tells_of_start_alone(const struct vm_pass *pass)
{
    const char *status = pass->vm->status.printable_status;
    return !pass->failure.reason && (kb_streq(status, "Starting") || kb_streq(status, "Running")) &&
           !pass->vm->status.ready && !virt_vm_condition(pass->vm, VM_CONDITION_CLAIMS_UNBOUND) &&
           !virt_vmi_condition_is(pass->vmi, "Synchronized", VIRT_FALSE);
}

int64_t vm_hold_start(const struct vm_pass *pass)
{
    if (!pass->vmi || !is_new(&pass->stored->status) || !is_derived(&pass->stored->status, &pass->vm->status) ||
        !tells_of_start_alone(pass) || api_is_being_deleted(&pass->vm->metadata) ||
        api_is_being_deleted(&pass->vmi->metadata))
        return 0;
    return virt_holds_left(pass->controller->starting, pass->key, pass->vmi->metadata.uid, VIRT_HOLD_NS);
}

int64_t vm_hold_deletion(const struct vm_pass *pass)
{
    return virt_holds_deletion(pass->context->deletions, kv_vm_type.resource->kind, pass->key, pass->vm->metadata.uid);
}

int64_t vm_hold_release(const struct vm_pass *pass)
{
    const char *uid = pass->vmi->metadata.uid;
    if (!virt_vm_is_done_with(pass->stored, pass->vmi))
        return 0;
    virt_holds_begin(pass->controller->ending, pass->key, uid);
    return virt_holds_left(pass->controller->ending, pass->key, uid, VIRT_HOLD_NS);
}
