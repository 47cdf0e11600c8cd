/*
 * What each run strategy does with the VMI that is there, or is not. One function a strategy, chosen by a table.
 *
 *     strategy        VMI exists                               no VMI
 *     Always          final or to be stopped: delete it        start (after the back-off of failed starts)
 *     RerunOnFailure  final or to be stopped: delete it;       start when asked to, or when the strategy is new
 *                     failed: ask for another start first
 *     Manual          to be stopped: delete it                 start when asked to
 *     Halted          delete it                                asked to start: become Always
 *     Once            -                                        start
 *     WaitAsReceiver  migrated here: back to the old strategy  start as receiver
 *
 * Source: the reference's syncRunStrategy, watch/vm/vm.go.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define RECEIVER_WAIT_NS (2 * KB_NS_PER_S)

static int start_now(struct vm_pass *pass)
{
    struct kube_error error = {0};
    if (vm_start(pass, &error) < 0)
        return vm_fail(pass, VM_REASON_CREATE_FAILED, "Failure while starting VMI: %s", error.message);
    return VM_NEXT;
}

static int start_after_backoff(struct vm_pass *pass)
{
    int64_t left = vm_start_backoff_left_s(pass->vm, kube_now(pass->req));
    if (left <= 0)
        return start_now(pass);
    kube_request_later(pass->req, left * KB_NS_PER_S);
    return VM_NEXT;
}

static int stop_now(struct vm_pass *pass)
{
    struct kube_error error = {0};
    if (vm_stop(pass, &error) < 0)
        return vm_fail(pass, VM_REASON_DELETE_FAILED, "Failure attempting to delete VMI: %s", error.message);
    return VM_NEXT;
}

static int always(struct vm_pass *pass, struct kube_error *reterr)
{
    (void)reterr;
    const struct kv_vmi *vmi = pass->vmi;
    if (!vmi)
        return start_after_backoff(pass);
    if (!virt_vmi_is_final(vmi) && !vm_has_stop_request_for(pass->vm, vmi))
        return VM_NEXT;
    if (!virt_vmi_is_decentralized_migration(vmi))
        return stop_now(pass);
    if (vmi->status.migration_state->completed)
        pass->vm->spec.run_strategy = VM_HALTED;
    else
        kube_request_later(pass->req, RECEIVER_WAIT_NS);
    return VM_NEXT;
}

/* {"action":"Start"} at the end of the list, so that the next pass starts the VM again. */
static int ask_for_start(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_vm *after = KUBE_EDIT(pass->req, kv_vm, pass->stored);
    kb_vec_push(pass->arena, &after->status.state_change_requests)->action = "Start";
    const void *answer;
    if (kube_update_status(pass->req, &kv_vm_type, pass->stored, after, &answer, reterr) < 0)
        return -1;
    pass->stored = answer;
    kb_vec_push(pass->arena, &pass->vm->status.state_change_requests)->action = "Start";
    return 0;
}

static int rerun_on_failure(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmi *vmi = pass->vmi;
    if (!vmi) {
        return vm_starts_again(pass->vm) ? start_after_backoff(pass) : VM_NEXT;
    }
    if (api_is_being_deleted(&vmi->metadata) || !(virt_vmi_is_final(vmi) || vm_has_stop_request_for(pass->vm, vmi)))
        return VM_NEXT;
    /* Asked for first: between the two, only the request tells that there was a failure. */
    bool failed = kb_streq(vmi->status.phase, "Failed");
    if (failed && !vm_has_start_request(pass->vm) && ask_for_start(pass, reterr) < 0) {
        if (kube_error_is_conflict(reterr))
            return -1;
        return vm_fail(pass, VM_REASON_DELETE_FAILED, "failed to patch VM with start action: %s", reterr->message);
    }
    return stop_now(pass);
}

static int manual(struct vm_pass *pass, struct kube_error *reterr)
{
    (void)reterr;
    if (pass->vmi)
        return vm_has_stop_request_for(pass->vm, pass->vmi) ? stop_now(pass) : VM_NEXT;
    return vm_has_start_request(pass->vm) ? start_now(pass) : VM_NEXT;
}

/* The write that turns a halted VM on brings its key back: the next pass starts it, and tells. */
static int halted(struct vm_pass *pass, struct kube_error *reterr)
{
    if (pass->vmi)
        return stop_now(pass);
    if (!vm_has_start_request(pass->vm))
        return VM_NEXT;
    static const bool on = true;
    struct kv_vm_spec *spec = &pass->vm->spec, before = *spec;
    if (spec->run_strategy)
        spec->run_strategy = VM_ALWAYS;
    else
        spec->running = &on;
    if (vm_write_spec(pass, reterr) == 0) {
        pass->untold = true;
        return VM_END;
    }
    if (kube_error_is_conflict(reterr))
        return -1;
    *spec = before;
    return vm_fail(pass, VM_REASON_CREATE_FAILED, "Failure while starting VMI: %s", reterr->message);
}

static int once(struct vm_pass *pass, struct kube_error *reterr)
{
    (void)reterr;
    return pass->vmi ? VM_NEXT : start_now(pass);
}

static int wait_as_receiver(struct vm_pass *pass, struct kube_error *reterr)
{
    (void)reterr;
    if (!pass->vmi)
        return start_now(pass);
    const char *receiver = api_map_get(&pass->vmi->metadata.annotations, VIRT_ANNOTATION_CREATE_TARGET);
    if (receiver && kb_streq(receiver, "true"))
        return VM_NEXT;
    if (!pass->vmi->status.migration_state || !pass->vmi->status.migration_state->completed)
        return vm_fail(pass, VM_REASON_CREATE_FAILED, "Found non receiver VMI while VM is receiver");
    const char *before = api_map_get(&pass->vm->metadata.annotations, VIRT_ANNOTATION_RESTORE_STRATEGY);
    if (before)
        pass->vm->spec.run_strategy = before;
    return VM_NEXT;
}

static const struct {
    const char *name;
    int (*sync)(struct vm_pass *pass, struct kube_error *reterr);
} strategies[] = {
    {VM_ALWAYS, always}, {VM_RERUN_ON_FAILURE, rerun_on_failure}, {VM_MANUAL, manual}, {VM_HALTED, halted},
    {VM_ONCE, once},     {VM_WAIT_AS_RECEIVER, wait_as_receiver},
};

int vm_sync_run_strategy(struct vm_pass *pass, const char *strategy, struct kube_error *reterr)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(strategies); i++)
        if (kb_streq(strategies[i].name, strategy))
            return strategies[i].sync(pass, reterr);
    return vm_fail(pass, VM_REASON_CREATE_FAILED, "unknown runstrategy: %s", strategy);
}
