/*
 * Starting a VM is creating its VMI from the template; stopping it is deleting the VMI.
 *
 * Order of a start, from which a later pass can go on wherever this one was cut off: DataVolumes ready -> start
 * revision -> (with the firmware UUID, in one write of the VM) -> VMI.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/names.h"
#include "virt/network/validation.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define DEFAULT_INPUT "default-0"

/* The first input device; its bus and type come from preferences, or from the VMI's own defaults. */
static void add_input_device(struct kb_arena *arena, struct kv_vmi_spec *spec)
{
    const bool *wanted = spec->domain.devices.autoattach_input_device;
    if (wanted && *wanted && spec->domain.devices.inputs.n == 0)
        kb_vec_push(arena, &spec->domain.devices.inputs)->name = DEFAULT_INPUT;
}

static void own(struct vm_pass *pass, struct meta_object_meta *meta)
{
    static const bool yes = true;
    meta->owner_references.n = 0;
    meta->owner_references.items = NULL;
    *kb_vec_push(pass->arena, &meta->owner_references) = (struct meta_owner_reference){
        .api_version = VIRT_GROUP_VERSION,
        .kind = "VirtualMachine",
        .name = pass->vm->metadata.name,
        .uid = pass->vm->metadata.uid,
        .controller = &yes,
        .block_owner_deletion = &yes,
    };
}

struct kv_vmi *vm_make_vmi(struct vm_pass *pass)
{
    struct kb_arena *arena = pass->arena;
    const struct kv_vm *vm = pass->vm;
    struct kv_vmi *vmi = kb_arena_one(arena, struct kv_vmi);
    vmi->api_version = VIRT_GROUP_VERSION;
    vmi->kind = "VirtualMachineInstance";
    api_clone_into(arena, &meta_object_meta_type, &vm->spec.template->metadata, &vmi->metadata);
    api_clone_into(arena, &kv_vmi_spec_type, &vm->spec.template->spec, &vmi->spec);
    vmi->metadata.name = vm->metadata.name;
    vmi->metadata.generate_name = "";
    vmi->metadata.namespace = vm->metadata.namespace;
    if (vm_has_start_paused_request(vm))
        vmi->spec.start_strategy = "Paused";
    vm_drop_done_memory_dump(vm, &vmi->spec);
    if (!vmi->spec.domain.firmware)
        vmi->spec.domain.firmware = kb_arena_one(arena, struct kv_firmware);
    if (kb_empty(vmi->spec.domain.firmware->uuid))
        vmi->spec.domain.firmware->uuid = vm_firmware_uuid(arena, vm->metadata.name);
    own(pass, &vmi->metadata);
    virt_add_missing_disks(arena, &vmi->spec);
    return vmi;
}

/* What a VMI carries from birth: its origin, and the API versions, so that its controller needn't write them first. */
static void annotate(struct vm_pass *pass, struct kv_vmi *vmi, int64_t generation)
{
    struct api_string_map *annotations = &vmi->metadata.annotations;
    api_map_set(pass->arena, annotations, VIRT_ANNOTATION_VM_GENERATION,
                kb_arena_printf(pass->arena, "%lld", (long long)generation));
    api_map_set(pass->arena, annotations, VIRT_ANNOTATION_LATEST_API, VIRT_API_VERSION);
    api_map_set(pass->arena, annotations, VIRT_ANNOTATION_STORAGE_API, VIRT_API_VERSION);
    const char *strategy = pass->vm->spec.run_strategy;
    if (strategy && kb_streq(strategy, VM_WAIT_AS_RECEIVER))
        api_map_set(pass->arena, annotations, VIRT_ANNOTATION_CREATE_TARGET, "true");
}

/* Before any default device, as the preference may say that there is none. */
static int apply_auto_attach(struct vm_pass *pass, struct kv_vmi *vmi, struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    const struct instancetype_vm_preference_spec *preference;
    if (virt_preference_find(pass->arena, &lookups, pass->vm, &preference, reterr) < 0) {
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED, "Error applying device preferences again: %s",
                 reterr->message);
        return -1;
    }
    if (preference)
        virt_preference_apply_auto_attach(pass->arena, preference, &vmi->spec);
    return 0;
}

static int apply_instancetype(struct vm_pass *pass, struct kv_vmi *vmi, struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    if (virt_instancetype_apply_to_vmi(pass->arena, &lookups, pass->vm, vmi, reterr) == 0)
        return 0;
    vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED,
             "Error creating virtual machine instance: Failed to apply instancetype: %s", reterr->message);
    return -1;
}

static int complete_vmi(struct vm_pass *pass, struct kv_vmi *vmi, struct kube_error *reterr)
{
    if (apply_auto_attach(pass, vmi, reterr) < 0)
        return -1;
    vm_start_tracking(pass, vmi);
    add_input_device(pass->arena, &vmi->spec);
    if (virt_add_default_network(pass->arena, pass->config, &vmi->spec, reterr) < 0 ||
        apply_instancetype(pass, vmi, reterr) < 0)
        return -1;
    const char *problems = virt_network_problems(pass->arena, "spec", &vmi->spec);
    return problems ? kube_error_set(reterr, KUBE_ERROR_INVALID, "failed create validation: %s", problems) : 0;
}

static int create_vmi(struct vm_pass *pass, const struct kv_vmi *vmi, struct kube_error *reterr)
{
    struct kube_expectations *expectations = pass->controller->vmis;
    const void *created;
    kube_expect_creations(expectations, pass->key, 1);
    if (kube_create(pass->req, &kv_vmi_type, vmi, &created, reterr) < 0) {
        kube_creation_observed(expectations, pass->key);
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED, "Error creating virtual machine instance: %s",
                 reterr->message);
        return -1;
    }
    pass->vmi = created;
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
    int64_t generation = pass->stored->metadata.generation;
    struct kv_vmi *vmi = vm_make_vmi(pass);
    if (vm_write_revision(pass, &vmi->status.virtual_machine_revision_name, reterr) < 0)
        return -1;
    annotate(pass, vmi, generation);
    api_strings_add(pass->arena, &vmi->metadata.finalizers, VIRT_FINALIZER_VM);
    if (complete_vmi(pass, vmi, reterr) < 0)
        return -1;
    vm_persist_firmware_uuid(pass);
    if (vm_write_spec(pass, reterr) < 0)
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
