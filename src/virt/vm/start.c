/*
 * Starting a VM is creating its VMI from the template; stopping it is deleting the VMI.
 *
 * Order of a start, from which a later pass can go on wherever this one was cut off: DataVolumes ready -> start
 * revision -> VMI. The firmware UUID, which follows from the VM's name, is written into the VM once the VMI is there.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/names.h"
#include "virt/network/validation.h"
#include "virt/vm/template.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

static int complete_vmi(struct vm_pass *pass, struct kv_vmi *vmi, struct kube_error *reterr)
{
    const struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    if (virt_vm_attach_automatically(pass->arena, &lookups, pass->vm, vmi, reterr) < 0) {
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED, "Error applying device preferences again: %s",
                 reterr->message);
        return -1;
    }
    vm_start_tracking(pass, vmi);
    if (virt_vm_add_devices(pass->arena, pass->config, vmi, reterr) < 0)
        return -1;
    if (virt_instancetype_apply_to_vmi(pass->arena, &lookups, pass->vm, vmi, reterr) < 0) {
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED,
                 "Error creating virtual machine instance: Failed to apply instancetype: %s", reterr->message);
        return -1;
    }
    const char *problems = virt_network_problems(pass->arena, "spec", &vmi->spec);
    return problems ? kube_error_set(reterr, KUBE_ERROR_INVALID, "failed create validation: %s", problems) : 0;
}

/* The VMI of the name is this VM's own: an answer got lost, and the cache has not seen it yet. */
static bool is_there_already(struct vm_pass *pass, const struct kv_vmi *vmi)
{
    const void *live;
    if (kube_get_live(pass->req, &kv_vmi_type, vmi->metadata.namespace, vmi->metadata.name, &live, NULL) < 0 || !live ||
        !api_is_controlled_by(&((const struct kv_vmi *)live)->metadata, pass->vm->metadata.uid))
        return false;
    pass->vmi = live;
    return true;
}

static int create_vmi(struct vm_pass *pass, const struct kv_vmi *vmi, struct kube_error *reterr)
{
    struct kube_expectations *expectations = pass->controller->vmis;
    const void *created;
    kube_expect_creations(expectations, pass->key, 1);
    const int r = kube_create(pass->req, &kv_vmi_type, vmi, &created, reterr);
    kube_creation_observed(expectations, pass->key); /* the cache has the answer; its event may be under way still */
    if (r == 0) {
        pass->vmi = created;
    } else if (!kube_error_is_already_exists(reterr) || !is_there_already(pass, vmi)) {
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED, "Error creating virtual machine instance: %s",
                 reterr->message);
        return -1;
    }
    virt_holds_begin(pass->controller->starting, pass->key, pass->vmi->metadata.uid);
    vm_event(pass, KUBE_EVENT_NORMAL, VM_REASON_CREATED,
             "Started the virtual machine by creating the new virtual machine instance %s", vmi->metadata.name);
    return 0;
}

int vm_start(struct vm_pass *pass, struct kube_error *reterr)
{
    bool ready;
    if (vm_sync_data_volumes(pass, &ready, reterr) < 0)
        return -1;
    if (!ready || virt_vm_condition_is(pass->vm, VM_CONDITION_MANUAL_RECOVERY, VIRT_TRUE))
        return 0;
    virt_vm_remove_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED);
    struct kv_vmi *vmi = virt_vm_make_vmi(pass->arena, pass->vm, pass->stored->metadata.generation);
    if (vm_write_revision(pass, &vmi->status.virtual_machine_revision_name, reterr) < 0)
        return -1;
    api_strings_add(pass->arena, &vmi->metadata.finalizers, VIRT_FINALIZER_VM);
    if (complete_vmi(pass, vmi, reterr) < 0)
        return -1;
    return create_vmi(pass, vmi, reterr);
}

int vm_stop(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmi *vmi = pass->vmi;
    if (!vmi || api_is_being_deleted(&vmi->metadata))
        return 0;
    const char *vmi_key = api_key(pass->arena, &vmi->metadata);
    kube_expect_deletion_of(pass->controller->vmis, pass->key, vmi_key);
    if (kube_delete(pass->req, &kv_vmi_type, vmi, reterr) < 0) {
        kube_deletion_observed_of(pass->controller->vmis, pass->key, vmi_key);
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_DELETE_FAILED, "Error deleting virtual machine instance %s: %s",
                 vmi->metadata.name, reterr->message);
        return -1;
    }
    virt_vm_remove_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED);
    vm_event(pass, KUBE_EVENT_NORMAL, VM_REASON_DELETED,
             "Stopped the virtual machine by deleting the virtual machine instance %s", vmi->metadata.uid);
    return 0;
}
