/*
 * Conditions of VMs, VMIs, migrations, Pods and DataVolumes: one set of rules for the structs that all have type,
 * status, reason, message and times. Source: the reference's pkg/controller/conditions.go.
 *
 * Rule: a condition is replaced only when status or reason differ; a changed message or time alone is ignored.
 */
#ifndef VIRT_CONDITIONS_H
#define VIRT_CONDITIONS_H

#include "api/types/cdi.h"
#include "api/types/core.h"
#include "api/types/kv.h"

#define VIRT_TRUE    "True"
#define VIRT_FALSE   "False"
#define VIRT_UNKNOWN "Unknown"

const struct kv_vmi_condition *virt_vmi_condition(const struct kv_vmi *vmi, const char *type); /* NULL: absent */
bool virt_vmi_condition_is(const struct kv_vmi *vmi, const char *type, const char *status);
/* `condition` is copied (shallow). */
void virt_vmi_set_condition(struct kb_arena *arena, struct kv_vmi *vmi, const struct kv_vmi_condition *condition);
void virt_vmi_remove_condition(struct kv_vmi *vmi, const char *type);
/* Same number, and type, status and reason of each: decides whether a patch of conditions is sent. */
bool virt_vmi_conditions_equal(const struct kv_vmi *a, const struct kv_vmi *b);

const struct kv_vm_condition *virt_vm_condition(const struct kv_vm *vm, const char *type);
bool virt_vm_condition_is(const struct kv_vm *vm, const char *type, const char *status);
void virt_vm_set_condition(struct kb_arena *arena, struct kv_vm *vm, const struct kv_vm_condition *condition);
void virt_vm_remove_condition(struct kv_vm *vm, const char *type);

const struct core_pod_condition *virt_pod_condition(const struct core_pod *pod, const char *type);
bool virt_pod_condition_is(const struct core_pod *pod, const char *type, const char *status);

const struct cdi_data_volume_condition *virt_data_volume_condition(const struct cdi_data_volume *dv, const char *type);

#endif
