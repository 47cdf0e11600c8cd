/*
 * Changes of the template that a running VMI takes over: networks always; CPU, memory and placement when the cluster's
 * rollout strategy is LiveUpdate and nothing else needs a restart. Each is one write of the VMI, with its version as
 * precondition, so that two changes never mix. Source: the reference's sync, watch/vm/vm.go.
 */
#include "virt/network/live_update.h"
#include "base/strings.h"
#include "virt/vm/vm_internal.h"

bool vm_updates_live(const struct vm_pass *pass)
{
    const char *strategy = pass->config->spec->vm_rollout_strategy;
    return !strategy || kb_streq(strategy, "LiveUpdate");
}

int vm_with_instancetype(struct vm_pass *pass, const struct kv_vm **ret, struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    if (!pass->with_instancetype) {
        struct kv_vm *vm = api_clone(pass->arena, &kv_vm_type, pass->vm);
        if (virt_instancetype_apply_to_vm(pass->arena, &lookups, vm, reterr) < 0)
            return -1;
        pass->with_instancetype = vm;
    }
    *ret = pass->with_instancetype;
    return 0;
}

int vm_live_update(struct vm_pass *pass, const struct kv_vmi_spec **ret, struct kube_error *reterr)
{
    const struct kv_vm *vm;
    if (!pass->vmi || api_is_being_deleted(&pass->vmi->metadata))
        return 0;
    if (vm_with_instancetype(pass, &vm, reterr) < 0)
        return -1;
    *ret = &vm->spec.template->spec;
    return 1;
}

int vm_update_vmi(struct vm_pass *pass, const struct kv_vmi *after, struct kube_error *reterr)
{
    const void *answer;
    if (kube_update(pass->req, &kv_vmi_type, pass->vmi, after, &answer, reterr) < 0)
        return -1;
    pass->vmi = answer;
    return 0;
}

int vm_json_patch_vmi(struct vm_pass *pass, struct kube_json_patch *patch, struct kube_error *reterr)
{
    const void *answer;
    if (kube_patch(pass->req, &kv_vmi_type, pass->vmi, NULL, KUBE_JSON_PATCH, kube_json_patch_text(patch), &answer,
                   reterr) < 0)
        return -1;
    pass->vmi = answer;
    return 0;
}

int vm_sync_networks(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_vmi_spec *template = &pass->vm->spec.template->spec;
    if (pass->vmi && api_is_being_deleted(&pass->vmi->metadata))
        return 0;
    if (pass->vmi) {
        struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
        virt_network_sync_vmi(pass->arena, template, after);
        if (vm_update_vmi(pass, after, reterr) < 0)
            return -1;
    }
    virt_network_forget_detached(pass->arena, template, pass->vmi);
    return 0;
}
