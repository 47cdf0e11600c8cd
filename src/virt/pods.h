/*
 * What controllers ask about Pods: which belong to a VMI, and in which state a launcher Pod is.
 * Source: the reference's pkg/controller/controller.go.
 *
 * Pods are pinned by the request; the lists are the caller's own, in its arena.
 */
#ifndef VIRT_PODS_H
#define VIRT_PODS_H

#include "api/types/core.h"
#include "api/types/kv.h"

struct kube_request;

struct virt_pods {
    size_t n;
    const struct core_pod **items;
};

/* Pods whose controller has this UID: launchers of a VMI, attachment Pods of a launcher. Ordered by name. */
struct virt_pods virt_pods_controlled_by(struct kube_request *request, const char *uid);
/* The newest one, of those on the VMI's node when it has one. NULL: none. */
const struct core_pod *virt_current_pod(const struct kv_vmi *vmi, const struct virt_pods *pods);

/* A stand-in that makes claims with WaitForFirstConsumer bind, not a launcher. */
bool virt_pod_is_temporary(const struct core_pod *pod);
bool virt_pod_is_down(const struct core_pod *pod); /* phase Succeeded or Failed */
/* Down, compute container terminated, or being deleted. */
bool virt_pod_is_down_or_going(const struct core_pod *pod);
/* Failed, compute container terminated with an error, or being deleted. */
bool virt_pod_is_failed_or_going(const struct core_pod *pod);
/* May be handed to virt-handler: Running, not going down, all containers ready; of compute and istio-proxy it is enough
 * that they run, as their readiness may depend on the guest. */
bool virt_pod_is_ready(const struct core_pod *pod);
const struct core_container *virt_pod_container(const struct core_pod *pod, const char *name); /* or NULL */

#endif
