/*
 * status.interfaces of a VMI as far as its Pod tells, and whether a change of its networks takes a migration.
 * Source: the reference's pkg/network/controllers/vmi.go and pkg/network/migration.
 */
#ifndef VIRT_NETWORK_INTERFACES_H
#define VIRT_NETWORK_INTERFACES_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "base/arena.h"

/*
 * Where a status entry's facts come from (infoSource). The primary network's entry is always there; a secondary one's
 * comes with Multus' report, and keeps what virt-handler found; entries that no network of the spec owns stay.
 */
void virt_set_interface_status(struct kb_arena *arena, struct kv_vmi *vmi, const struct core_pod *pod);
/* Same entries, in any order of names. */
bool virt_interfaces_equal(const struct kv_vmi *a, const struct kv_vmi *b);

enum virt_network_need {
    VIRT_NETWORK_NO_MIGRATION,
    VIRT_NETWORK_MIGRATE_LATER, /* unless somebody brings the interface into (out of) the running Pod in time */
    VIRT_NETWORK_MIGRATE_NOW,
};
/* What interfaces plugged in or out, and networks moved to another NAD, ask for. */
enum virt_network_need virt_network_need(struct kb_arena *arena, const struct kv_vmi *vmi, const struct core_pod *pod);

#endif
