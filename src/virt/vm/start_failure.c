/*
 * Back-off of VMs whose VMI fails before it ever ran: 10 s * n^2 and a random part of up to half of that, at most 300
 * s. Source: the reference's watch/vm/vm.go (calculateStartBackoffTime and around).
 */
#include "base/strings.h"
#include "base/time.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define FIRST_DELAY_S   10
#define LONGEST_DELAY_S 300

static bool has_run(const struct kv_vmi *vmi)
{
    api_list_foreach (transition, &vmi->status.phase_transition_timestamps)
        if (kb_streq(transition->phase, "Running"))
            return true;
    return false;
}

static bool strategy_restarts(const struct kv_vm *vm)
{
    const char *error, *strategy = vm_run_strategy(vm, &error);
    return !strategy || kb_streq(strategy, VM_ALWAYS) || kb_streq(strategy, VM_RERUN_ON_FAILURE) ||
           kb_streq(strategy, VM_ONCE);
}

int64_t vm_start_backoff_left_s(const struct kv_vm *vm, int64_t now_ns)
{
    int64_t retry;
    if (!vm->status.start_failure || !vm->status.start_failure->retry_after_timestamp ||
        !kb_time_parse(vm->status.start_failure->retry_after_timestamp, &retry))
        return 0;
    int64_t left = retry / KB_NS_PER_S - now_ns / KB_NS_PER_S;
    return left > 0 ? left : 0;
}

static int64_t delay_s(struct vm_pass *pass, int64_t failures)
{
    if (failures > 5) /* 10 * 6^2 is beyond the longest */
        return LONGEST_DELAY_S;
    int64_t delay = FIRST_DELAY_S * failures * failures;
    delay += (int64_t)kb_random_below(kube_request_random(pass->req), (uint64_t)delay / 2 + 1);
    return delay < LONGEST_DELAY_S ? delay : LONGEST_DELAY_S;
}

void vm_sync_start_failure(struct vm_pass *pass)
{
    struct kv_vm *vm = pass->vm;
    const struct kv_vmi *vmi = pass->vmi;
    if ((vmi && has_run(vmi)) || !strategy_restarts(vm)) {
        vm->status.start_failure = NULL;
        return;
    }
    const struct kv_vm_start_failure *before = vm->status.start_failure;
    if (!vmi || !virt_vmi_is_final(vmi) || (before && kb_streq(before->last_failed_vmiuid, vmi->metadata.uid)))
        return;
    struct kv_vm_start_failure *failure = kb_arena_one(pass->arena, struct kv_vm_start_failure);
    failure->consecutive_fail_count = before ? before->consecutive_fail_count + 1 : 1;
    failure->last_failed_vmiuid = vmi->metadata.uid;
    failure->retry_after_timestamp =
        kb_time_text(pass->arena, kube_now(pass->req) + delay_s(pass, failure->consecutive_fail_count) * KB_NS_PER_S);
    vm->status.start_failure = failure;
}
