/*
 * Time stamp counters: which VMIs need a frequency that all nodes can give them, and the lowest one of the cluster.
 * Source: the reference's pkg/virt-controller/watch/topology.
 */
#ifndef VIRT_TOPOLOGY_H
#define VIRT_TOPOLOGY_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "base/error.h"

struct kube_request;
struct virt_config;

enum virt_tsc_requirement { VIRT_TSC_NOT_REQUIRED, VIRT_TSC_FOR_MIGRATION, VIRT_TSC_FOR_BOOT };
enum virt_tsc_requirement virt_tsc_requirement(const struct kv_vmi *vmi);
/* For whom a frequency is looked for: NOT_REQUIRED but on amd64. One that is known holds on any architecture. */
enum virt_tsc_requirement virt_tsc_hint_requirement(const struct kv_vmi *vmi);

/* Hz from the node's label; 0: it has none, or not a valid one. */
int64_t virt_node_tsc_frequency(const struct core_node *node);
bool virt_node_tsc_is_scalable(const struct core_node *node);
/* The configured minimum; otherwise the lowest of nodes that are schedulable or run VMIs; 0 when no such node has one.
 */
int virt_lowest_tsc_frequency(struct kube_request *request, const struct virt_config *config, int64_t *ret,
                              struct kube_error *reterr);

#endif
