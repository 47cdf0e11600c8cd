/*
 * Networks of a VMI and the interfaces that stand for them in its Pod. An interface of a secondary network is named by
 * a hash of the network's name; Pods of old releases have ordinal names (net1, net2 ...), and keep them. Source: the
 * reference's pkg/network/namescheme, vmispec and multus.
 */
#ifndef VIRT_NETWORK_NAMES_H
#define VIRT_NETWORK_NAMES_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "api/types/nad.h"

#define VIRT_PRIMARY_POD_INTERFACE "eth0"
#define VIRT_INTERFACE_ABSENT      "absent" /* spec.domain.devices.interfaces.state: to be unplugged */

/* Served by Multus, and not the Pod's default network. */
bool virt_network_is_secondary(const struct kv_network *network);
/* The Pod's network, or a Multus network that takes its place; NULL: none. */
const struct kv_network *virt_default_network(const struct kv_network_list *networks);
const struct kv_network *virt_network(const struct kv_network_list *networks, const char *name);
const struct kv_vmi_network_interface *virt_interface_status(const struct kv_vmi *vmi, const char *name);

/* What Multus reports in the Pod's annotation; empty when it is absent or no such list. */
struct virt_network_statuses {
    size_t n;
    struct nad_network_status *items;
};
struct virt_network_statuses virt_pod_network_statuses(struct kb_arena *arena, const struct core_pod *pod);
/* The last one of this Pod interface; NULL: none. */
const struct nad_network_status *virt_network_status(const struct virt_network_statuses *statuses,
                                                     const char *pod_interface);

bool virt_pod_interface_is_ordinal(const char *pod_interface); /* "net1" */
bool virt_pod_has_ordinal_names(const struct virt_network_statuses *statuses);
/* "pod" and 11 hexadecimal digits. */
const char *virt_hashed_pod_interface(struct kb_arena *arena, const char *network);
/* The name of a network's Pod interface in one of the schemes; NULL for a network that has none (or is not listed). */
const char *virt_pod_interface(struct kb_arena *arena, const struct kv_network_list *networks, const char *network,
                               bool ordinal);

#endif
