/*
 * Run strategies and state change requests as pure questions. Only the first request counts: later ones have not been
 * acted on yet.
 */
#include "base/strings.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define START_ACTION "Start"
#define STOP_ACTION  "Stop"

const char *vm_run_strategy(const struct kv_vm *vm, const char **ret_error)
{
    if (vm->spec.running && vm->spec.run_strategy) {
        *ret_error = "Running and RunStrategy are mutually exclusive";
        return NULL;
    }
    if (vm->spec.run_strategy)
        return vm->spec.run_strategy;
    return vm->spec.running && *vm->spec.running ? VM_ALWAYS : VM_HALTED;
}

static const struct kv_vm_state_change_request *first_request(const struct kv_vm *vm, const char *action)
{
    const struct kv_vm_state_change_request *first = vm->status.state_change_requests.items;
    return vm->status.state_change_requests.n && kb_streq(first->action, action) ? first : NULL;
}

bool vm_has_start_request(const struct kv_vm *vm)
{
    return first_request(vm, START_ACTION);
}

bool vm_has_start_paused_request(const struct kv_vm *vm)
{
    const struct kv_vm_state_change_request *start = first_request(vm, START_ACTION);
    const char *paused = start ? api_map_get(&start->data, "paused") : NULL;
    return paused && kb_streq(paused, "true");
}

bool vm_has_stop_request_for(const struct kv_vm *vm, const struct kv_vmi *vmi)
{
    const struct kv_vm_state_change_request *stop = first_request(vm, STOP_ACTION);
    return stop && stop->uid && kb_streq(stop->uid, vmi->metadata.uid);
}

bool vm_first_request_is_done(const struct kv_vm *vm, const struct kv_vmi *vmi)
{
    if (first_request(vm, STOP_ACTION))
        return !vmi || !vm_has_stop_request_for(vm, vmi);
    if (first_request(vm, START_ACTION))
        return vmi && !api_is_being_deleted(&vmi->metadata) && !virt_vmi_is_final(vmi);
    return false;
}

bool vm_starts_again(const struct kv_vm *vm)
{
    return vm_has_start_request(vm) || !kb_streq(vm->status.run_strategy, VM_RERUN_ON_FAILURE);
}

bool vm_is_set_to_start(const struct kv_vm *vm, const struct kv_vmi *vmi)
{
    const char *error, *strategy = vm_run_strategy(vm, &error);
    if (!strategy)
        return false;
    if (kb_streq(strategy, VM_ALWAYS))
        return true;
    if (kb_streq(strategy, VM_MANUAL))
        return vmi ? !vm_has_stop_request_for(vm, vmi) : vm_has_start_request(vm);
    if (kb_streq(strategy, VM_RERUN_ON_FAILURE)) {
        /* Once it was stopped it stays so, whatever its volumes do; the reference takes every VM without a VMI for one
         * that starts. */
        return vmi ? !kb_streq(vmi->status.phase, "Succeeded") : vm_starts_again(vm);
    }
    return kb_streq(strategy, VM_ONCE) && !vmi;
}
