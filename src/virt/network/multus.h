/*
 * What the Pod of a VMI asks Multus for: the value of the annotation k8s.v1.cni.cncf.io/networks, and what else
 * annotations say about networks. Source: the reference's pkg/network/multus, pod/annotations and downwardapi.
 */
#ifndef VIRT_NETWORK_MULTUS_H
#define VIRT_NETWORK_MULTUS_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "base/error.h"
#include "virt/config/config.h"

#define VIRT_NAD_RESOURCE_NAME "k8s.v1.cni.cncf.io/resourceName" /* annotation of a NAD: resource of its devices */

/* A NAD is named "name" or "namespace/name". */
struct virt_nad_name {
    const char *namespace_, *name;
};
struct virt_nad_name virt_nad_name(struct kb_arena *arena, const char *vmi_namespace, const char *network_name);

/* The plug-in of an interface's binding, by its name; NULL when it is not configured. */
const struct kv_interface_binding_plugin *virt_binding_plugin(const struct virt_config *config, const char *name);

/*
 * Annotations of a new Pod. Networks stand in the order of their interfaces; absent interfaces are left out.
 * Error: an interface binds with a plug-in that is not configured.
 */
int virt_new_pod_networks(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                          struct api_string_map *annotations, struct kube_error *reterr);
/* On top, for the target of a migration: where the source has ordinal interface names, and the cluster doesn't move to
 * hashed ones, the target has them, too. */
int virt_target_pod_networks(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                             const struct core_pod *source, struct api_string_map *annotations,
                             struct kube_error *reterr);
/* Annotations of a running Pod: what Multus reported of devices, and interfaces that were plugged in or out. Sets only
 * what should be there and differs; removes nothing. */
void virt_active_pod_networks(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                              const struct core_pod *pod, struct api_string_map *annotations);

#endif
