/*
 * Pods of VMIs: by the index of controllers' UIDs; their state from phase, container states and deletion.
 */
#include "virt/pods.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/request.h"
#include "virt/informers.h"
#include "virt/names.h"

#define COMPUTE "compute"

struct virt_pods virt_pods_controlled_by(struct kube_request *request, const char *uid)
{
    const struct kube_items found = kube_lookup_index(request, VIRT_POD, VIRT_INDEX_OWNER, uid);
    struct virt_pods pods = {0};

    for (size_t i = 0; i < found.n; i++)
        *kb_vec_push(kube_arena(request), &pods) = found.items[i];
    return pods;
}

const struct core_pod *virt_current_pod(const struct kv_vmi *vmi, const struct virt_pods *pods)
{
    const struct core_pod *newest = NULL;

    for (size_t i = 0; i < pods->n; i++) {
        const struct core_pod *pod = pods->items[i];

        /* One on another node is the target of a migration. */
        if (*vmi->status.node_name && !kb_streq(vmi->status.node_name, pod->spec.node_name))
            continue;
        if (!newest || strcmp(newest->metadata.creation_timestamp, pod->metadata.creation_timestamp) < 0)
            newest = pod;
    }
    return newest;
}

bool virt_pod_is_temporary(const struct core_pod *pod)
{
    return api_map_has(&pod->metadata.annotations, VIRT_ANNOTATION_EPHEMERAL);
}

static bool is_failed(const struct core_pod *pod)
{
    return kb_streq(pod->status.phase, "Failed");
}

bool virt_pod_is_down(const struct core_pod *pod)
{
    return is_failed(pod) || kb_streq(pod->status.phase, "Succeeded");
}

static const struct core_container_state_terminated *compute_end(const struct core_pod *pod)
{
    api_list_foreach (status, &pod->status.container_statuses)
        if (kb_streq(status->name, COMPUTE))
            return status->state.terminated;
    return NULL;
}

bool virt_pod_is_down_or_going(const struct core_pod *pod)
{
    return virt_pod_is_down(pod) || compute_end(pod) || api_is_being_deleted(&pod->metadata);
}

bool virt_pod_is_failed_or_going(const struct core_pod *pod)
{
    const struct core_container_state_terminated *end = compute_end(pod);

    return is_failed(pod) || (end && end->exit_code != 0) || api_is_being_deleted(&pod->metadata);
}

bool virt_pod_is_ready(const struct core_pod *pod)
{
    static const char *const need_only_run[] = {COMPUTE, "istio-proxy"};

    if (virt_pod_is_down_or_going(pod) || !kb_streq(pod->status.phase, "Running"))
        return false;
    api_list_foreach (status, &pod->status.container_statuses) {
        const bool runs = kb_in_list(status->name, need_only_run, KB_ARRAY_LEN(need_only_run));

        if (runs ? !status->state.running : !status->ready)
            return false;
    }
    return true;
}

const struct core_container *virt_pod_container(const struct core_pod *pod, const char *name)
{
    api_list_foreach (container, &pod->spec.containers)
        if (kb_streq(container->name, name))
            return container;
    return NULL;
}
