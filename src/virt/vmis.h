/*
 * What controllers ask about VMIs. Source: the reference's staging/src/kubevirt.io/api/core/v1/types.go, pkg/util.
 */
#ifndef VIRT_VMIS_H
#define VIRT_VMIS_H

#include "api/types/kv.h"

#define VIRT_PHASE_PENDING          "Pending"
#define VIRT_PHASE_SCHEDULING       "Scheduling"
#define VIRT_PHASE_SCHEDULED        "Scheduled"
#define VIRT_PHASE_RUNNING          "Running"
#define VIRT_PHASE_SUCCEEDED        "Succeeded"
#define VIRT_PHASE_FAILED           "Failed"
#define VIRT_PHASE_WAITING_FOR_SYNC "WaitingForSync"

bool virt_vmi_is_phase(const struct kv_vmi *vmi, const char *phase);
bool virt_vmi_is_final(const struct kv_vmi *vmi);       /* Succeeded or Failed */
bool virt_vmi_is_unprocessed(const struct kv_vmi *vmi); /* no phase, or Pending */
/* Made to receive a migration from another cluster or namespace. */
bool virt_vmi_is_migration_target(const struct kv_vmi *vmi);
bool virt_vmi_has_target_node(const struct kv_vmi *vmi); /* label kubevirt.io/migrationTargetNodeName */
bool virt_vmi_is_decentralized_migration(const struct kv_vmi *vmi);
/* A migration has started and not ended. `now`: wall ns. */
bool virt_vmi_is_migrating(const struct kv_vmi *vmi, int64_t now);
/* The VM controller's finalizer holds a VMI that has ended until its VM (NULL: gone) has recorded that. One that is
 * being deleted records nothing any more: then whoever sees it may take that finalizer away. */
bool virt_vm_is_done_with(const struct kv_vm *vm, const struct kv_vmi *ended);
bool virt_vmi_is_cpu_dedicated(const struct kv_vmi *vmi);

#endif
