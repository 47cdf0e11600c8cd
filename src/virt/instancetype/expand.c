/*
 * Writing what a VM names into the VM: what it would run with stands in its template then, and the names are gone.
 */
#include "virt/instancetype/internal.h"

int virt_instancetype_expand(struct kb_arena *arena, const struct virt_config *config,
                             const struct virt_instancetype_lookups *lookups, struct kv_vm *vm,
                             struct kube_error *reterr)
{
    const struct instancetype_vm_instancetype_spec *instancetype;
    const struct instancetype_vm_preference_spec *preference;
    struct kv_vmi_template_spec *template = vm->spec.template;
    const char *conflicts;
    if (!vm->spec.instancetype && !vm->spec.preference)
        return 0;
    if (virt_instancetype_find(arena, lookups, vm, &instancetype, reterr) < 0 ||
        virt_preference_find(arena, lookups, vm, &preference, reterr) < 0)
        return -1;
    virt_add_missing_disks(arena, &template->spec);
    if (virt_add_default_network(arena, config, &template->spec, reterr) < 0)
        return -1;
    virt_instancetype_apply(arena, "spec.template.spec", instancetype, preference, &template->spec, &template->metadata,
                            &conflicts);
    if (conflicts)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_CONFLICT_IN_TEMPLATE, conflicts);
    if (virt_apply_vmi_defaults(arena, config, &template->spec, reterr) < 0)
        return -1;
    vm->spec.instancetype = NULL;
    vm->spec.preference = NULL;
    vm->status.instancetype_ref = NULL;
    vm->status.preference_ref = NULL;
    return 0;
}
