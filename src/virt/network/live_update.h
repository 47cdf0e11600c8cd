/*
 * Networks of a running VM: which changes of the template reach the VMI, and which need a restart.
 * Source: the reference's pkg/network/controllers/vm.go and pkg/network/vmliveupdate.
 */
#ifndef VIRT_NETWORK_LIVE_UPDATE_H
#define VIRT_NETWORK_LIVE_UPDATE_H

#include "api/types/kv.h"
#include "base/arena.h"

/* An interface or network was taken away other than by state "absent", or changed in more than state or NAD. */
bool virt_network_needs_restart(struct kb_arena *arena, const struct kv_vmi_spec *desired,
                                const struct kv_vmi_spec *current);

/*
 * Brings `vmi` (a copy that is the caller's own) to what `desired`, the VM's template, asks for: new bridge and SR-IOV
 * interfaces, states, names of NADs; and removes interfaces that are absent and that the guest has let go.
 */
void virt_network_sync_vmi(struct kb_arena *arena, const struct kv_vmi_spec *desired, struct kv_vmi *vmi);
/* Removes from a VM's template what is absent and gone from the VMI (NULL: there is none). */
void virt_network_forget_detached(struct kb_arena *arena, struct kv_vmi_spec *template, const struct kv_vmi *vmi);

#endif
