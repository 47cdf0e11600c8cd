/*
 * From a VM to the VMI that its start creates. Pure; the VM controller and `virt-controller render` do the same steps
 * in the same order: make, attach automatically, add devices, apply the instance type.
 */
#ifndef VIRT_VM_TEMPLATE_H
#define VIRT_VM_TEMPLATE_H

#include "api/types/kv.h"
#include "base/error.h"
#include "virt/config/config.h"
#include "virt/instancetype/instancetype.h"

/* A copy of the VM's template (which must be there) with name, owner and the annotations of its origin. `generation`:
 * the VM's, as it is stored. */
struct kv_vmi *virt_vm_make_vmi(struct kb_arena *arena, const struct kv_vm *vm, int64_t generation);
/* What the VM's preference says on devices that come unasked. Error: the preference was not found. */
int virt_vm_attach_automatically(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                                 const struct kv_vm *vm, struct kv_vmi *vmi, struct kube_error *reterr);
/* Devices that come unasked. Error: the configured default network can't be used. */
int virt_vm_add_devices(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                        struct kube_error *reterr);

#endif
