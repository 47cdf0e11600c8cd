/*
 * The VMI of a VM, as it is at start.
 */
#include "virt/vm/template.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define DEFAULT_INPUT "default-0"

/* What a VMI carries from birth: its origin, and the API versions, so that its controller needn't write them first. */
static void annotate(struct kb_arena *arena, const struct kv_vm *vm, struct kv_vmi *vmi, int64_t generation)
{
    struct api_string_map *annotations = &vmi->metadata.annotations;
    api_map_set(arena, annotations, VIRT_ANNOTATION_VM_GENERATION,
                kb_arena_printf(arena, "%lld", (long long)generation));
    api_map_set(arena, annotations, VIRT_ANNOTATION_LATEST_API, VIRT_API_VERSION);
    api_map_set(arena, annotations, VIRT_ANNOTATION_STORAGE_API, VIRT_API_VERSION);
    const char *strategy = vm->spec.run_strategy;
    if (strategy && kb_streq(strategy, VM_WAIT_AS_RECEIVER))
        api_map_set(arena, annotations, VIRT_ANNOTATION_CREATE_TARGET, "true");
}

struct kv_vmi *virt_vm_make_vmi(struct kb_arena *arena, const struct kv_vm *vm, int64_t generation)
{
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
    vmi->metadata.owner_references = (struct meta_owner_reference_list){0};
    api_add_controller(arena, &vmi->metadata, &kv_vm_type, vm);
    annotate(arena, vm, vmi, generation);
    virt_add_missing_disks(arena, &vmi->spec);
    return vmi;
}

int virt_vm_attach_automatically(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                                 const struct kv_vm *vm, struct kv_vmi *vmi, struct kube_error *reterr)
{
    const struct instancetype_vm_preference_spec *preference;
    if (virt_preference_find(arena, lookups, vm, &preference, reterr) < 0)
        return -1;
    if (preference)
        virt_preference_apply_auto_attach(arena, preference, &vmi->spec);
    return 0;
}

int virt_vm_add_devices(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                        struct kube_error *reterr)
{
    const bool *wanted = vmi->spec.domain.devices.autoattach_input_device;
    if (wanted && *wanted && vmi->spec.domain.devices.inputs.n == 0) /* its bus and type come from defaults */
        kb_vec_push(arena, &vmi->spec.domain.devices.inputs)->name = DEFAULT_INPUT;
    return virt_add_default_network(arena, config, &vmi->spec, reterr);
}
