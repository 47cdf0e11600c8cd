/*
 * status.volumeStatus of an instance: an entry a volume, sorted by name. What virt-handler found out stays; claims,
 * hotplug phases and attachment Pods are told from here.
 *
 * A hotplugged volume's way, as far as this controller sees it (virt-handler does the steps in brackets):
 *
 *     Pending --claim bound--> Bound --attachment Pod--> AttachedToNode --> [MountedToPod] --> [Ready]
 *
 * and out, when it is gone from the spec: Ready, MountedToPod stay as they are until virt-handler has let go;
 * everything else becomes Detaching until no attachment Pod carries it; then the entry goes. A volume that is added
 * again while the Pod of its former life goes starts anew.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/storage/backend_storage.h"
#include <stdlib.h>

#define TOGETHER_NS (30 * KB_NS_PER_S)
#define GOING_NS    (2 * KB_NS_PER_S)

struct volumes {
    struct vmi_pass *p;
    const struct kv_volume_status_list *before;
    struct kv_volume_status_list after;
    struct vmi_volumes hotplugged;
    struct virt_pods attachments;
    const struct core_pod *attachment; /* the one that carries what is hotplugged now, or NULL */
};

static const struct kv_volume_status *known(const struct volumes *v, const char *name)
{
    api_list_foreach (status, v->before)
        if (kb_streq(status->name, name))
            return status;
    return NULL;
}

static struct kv_volume_status *add(struct volumes *v, const struct kv_volume_status *status, const char *name)
{
    static const struct kv_volume_status empty = {.name = "", .target = "", .phase = "", .reason = "", .message = ""};
    struct kv_volume_status *added = kb_vec_push(v->p->arena, &v->after);

    *added = status ? *status : empty;
    added->name = name;
    return added;
}

static void set_phase(struct kv_volume_status *status, const char *phase, const char *reason, const char *message)
{
    status->phase = phase;
    status->reason = reason;
    status->message = message;
}

/* ---- claims ---- */

static int set_claim(struct volumes *v, struct kv_volume_status *status, const char *claim, bool is_utility,
                     struct kube_error *reterr)
{
    struct vmi_pass *p = v->p;
    const struct core_pvc *pvc = virt_claim(p->request, p->vmi->metadata.namespace, claim);
    struct kv_pvc_info *info;
    const char *overhead;

    if (!pvc)
        return 0;
    if (is_utility && virt_claim_is_block(pvc)) {
        set_phase(status, VMI_VOLUME_PENDING, VMI_PVC_NOT_READY,
                  kb_arena_printf(p->arena, "Utility volume PVC %s must be filesystem mode, not block mode", claim));
        return 0;
    }
    if (virt_claim_filesystem_overhead(p->request, pvc, &overhead, reterr) < 0)
        return -1;
    info = kb_arena_one(p->arena, struct kv_pvc_info);
    *info = (struct kv_pvc_info){
        .claim_name = pvc->metadata.name,
        .access_modes = pvc->spec.access_modes,
        .volume_mode = pvc->spec.volume_mode,
        .capacity = pvc->status.capacity,
        .requests = pvc->spec.resources.requests,
        .preallocated = virt_claim_is_preallocated(pvc),
        .filesystem_overhead = overhead,
    };
    status->persistent_volume_claim_info = info;
    return 0;
}

static void set_phase_of_claim(struct volumes *v, struct kv_volume_status *status, const char *claim)
{
    const struct core_pvc *pvc = virt_claim(v->p->request, v->p->vmi->metadata.namespace, claim);

    if (!pvc)
        set_phase(status, VMI_VOLUME_PENDING, VMI_FAILED_PVC_NOT_FOUND,
                  kb_arena_printf(v->p->arena, "PVC %s not found", claim));
    else if (kb_streq(pvc->status.phase, "Pending"))
        set_phase(status, VMI_VOLUME_PENDING, VMI_PVC_NOT_READY, "PVC is in phase ClaimPending");
    else if (kb_streq(pvc->status.phase, "Bound"))
        set_phase(status, VMI_VOLUME_BOUND, VMI_PVC_NOT_READY, "PVC is in phase Bound");
    else
        set_phase(status, VMI_VOLUME_PENDING, VMI_PVC_NOT_READY, "PVC is in phase Lost");
}

/* ---- hotplug ---- */

static bool is_hotplugged(const struct volumes *v, const char *name)
{
    for (size_t i = 0; i < v->hotplugged.n; i++)
        if (kb_streq(v->hotplugged.items[i]->name, name))
            return true;
    return false;
}

static struct kv_hotplug_volume_status *own_hotplug_status(struct volumes *v, struct kv_volume_status *status)
{
    struct kv_hotplug_volume_status *hotplug = kb_arena_one(v->p->arena, struct kv_hotplug_volume_status);

    *hotplug = status->hotplug_volume ? *status->hotplug_volume
                                      : (struct kv_hotplug_volume_status){.attach_pod_name = "", .attach_pod_uid = ""};
    status->hotplug_volume = hotplug;
    return hotplug;
}

static bool may_become_attached(const char *phase)
{
    static const char *const before[] = {"", VMI_VOLUME_BOUND, VMI_VOLUME_PENDING};

    return kb_in_list(phase, before, KB_ARRAY_LEN(before));
}

static const struct core_pod *carrier(const struct volumes *v, const char *volume)
{
    for (size_t i = 0; i < v->attachments.n; i++)
        api_list_foreach (carried, &v->attachments.items[i]->spec.volumes)
            if (kb_streq(carried->name, volume))
                return v->attachments.items[i];
    return NULL;
}

static bool came_with(const struct kv_volume_status *status, const struct core_pod *pod)
{
    return status->hotplug_volume && kb_streq(status->hotplug_volume->attach_pod_name, pod->metadata.name);
}

/* The Pod that carries it: the one for all that is hotplugged. Volumes become attached together; one that is not ready
 * holds the others up for a while only, and sends none back that is attached already. */
static const struct core_pod *attachment_of(const struct volumes *v, const struct kv_volume_status *status)
{
    const struct core_pod *pod = v->attachment ? v->attachment : carrier(v, status->name);
    int64_t left;

    if (!pod || api_is_being_deleted(&pod->metadata) || virt_pod_is_temporary(pod))
        return NULL;
    left = virt_moment_left(kube_now(v->p->request), pod->metadata.creation_timestamp, TOGETHER_NS);
    if (v->attachment || came_with(status, pod) || left == 0)
        return pod;
    kube_request_later(v->p->request, left);
    return NULL;
}

static void set_hotplug(struct volumes *v, struct kv_volume_status *status, const char *claim)
{
    const struct core_pod *pod = attachment_of(v, status);
    struct kv_hotplug_volume_status *hotplug = own_hotplug_status(v, status);

    if (!pod) {
        if (kb_streq(status->phase, VMI_VOLUME_READY))
            return;
        hotplug->attach_pod_uid = "";
        set_phase_of_claim(v, status, claim);
        return;
    }
    hotplug->attach_pod_name = pod->metadata.name;
    hotplug->attach_pod_uid =
        pod->status.container_statuses.n == 1 && pod->status.container_statuses.items[0].ready ? pod->metadata.uid : "";
    if (may_become_attached(status->phase)) {
        set_phase(status, VMI_VOLUME_ATTACHED, VMI_SUCCESSFUL_CREATE,
                  kb_arena_printf(v->p->arena, "Created hotplug attachment pod %s, for volume %s", pod->metadata.name,
                                  status->name));
        vmi_event_later(v->p, KUBE_EVENT_NORMAL, status->reason, status->message);
    }
    if (kb_streq(status->phase, VMI_VOLUME_DETACHING))
        set_phase_of_claim(v, status, claim);
}

/* ---- volumes of the spec ---- */

static int add_volume(struct volumes *v, const struct kv_volume *volume, struct kube_error *reterr)
{
    struct kv_volume_status *status = add(v, known(v, volume->name), volume->name);
    const char *claim = virt_volume_claim(volume);

    if (volume->memory_dump && !status->memory_dump_volume) {
        status->memory_dump_volume = kb_arena_one(v->p->arena, struct kv_domain_memory_dump_info);
        status->memory_dump_volume->claim_name = volume->name;
    }
    if (is_hotplugged(v, volume->name))
        set_hotplug(v, status, claim);
    return *claim ? set_claim(v, status, claim, false, reterr) : 0;
}

static int add_utility_volume(struct volumes *v, const struct kv_utility_volume *volume, struct kube_error *reterr)
{
    struct kv_volume_status *status = add(v, known(v, volume->name), volume->name);

    set_hotplug(v, status, volume->claim_name);
    return set_claim(v, status, volume->claim_name, true, reterr);
}

/* ---- volumes that are gone from the spec ---- */

/* Attachment Pods get no grace, and most are gone before anybody could read of it; told of are those that take longer.
 */
static bool takes_its_time(struct volumes *v, const struct core_pod *pod)
{
    int64_t left;

    if (!api_is_being_deleted(&pod->metadata))
        return false;
    left = virt_moment_left(kube_now(v->p->request), pod->metadata.deletion_timestamp, GOING_NS);
    if (left > 0)
        kube_request_later(v->p->request, left);
    return left == 0;
}

static void add_leaving(struct volumes *v, const struct kv_volume_status *left)
{
    const struct core_pod *pod = carrier(v, left->name);
    struct kv_hotplug_volume_status *hotplug;
    struct kv_volume_status *status;

    if (!pod)
        return;
    status = add(v, left, left->name);
    hotplug = own_hotplug_status(v, status);
    hotplug->attach_pod_name = pod->metadata.name;
    hotplug->attach_pod_uid = pod->metadata.uid;
    if (kb_streq(status->phase, VMI_VOLUME_READY) || kb_streq(status->phase, VMI_VOLUME_MOUNTED))
        return;
    status->phase = VMI_VOLUME_DETACHING;
    if (!takes_its_time(v, pod))
        return;
    status->message = kb_arena_printf(v->p->arena, "Deleted hotplug attachment pod %s, for volume %s",
                                      pod->metadata.name, status->name);
    if (kb_streq(left->phase, VMI_VOLUME_DETACHING) && kb_streq(left->message, status->message))
        return; /* told before */
    status->reason = VMI_SUCCESSFUL_DELETE;
    vmi_event_later(v->p, KUBE_EVENT_NORMAL, status->reason, status->message);
}

static bool is_listed(const struct volumes *v, const char *name)
{
    api_list_foreach (status, &v->after)
        if (kb_streq(status->name, name))
            return true;
    return false;
}

/* ---- the whole ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct kv_volume_status *)a)->name, ((const struct kv_volume_status *)b)->name);
}

int vmi_set_volume_status(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr)
{
    struct volumes v = {.p = p, .before = &after->status.volume_status};
    const struct kv_volume_status *state = known(&v, VIRT_BACKEND_VOLUME);

    v.hotplugged = vmi_hotplug_volumes(p, p->pod);
    v.attachments = virt_pods_controlled_by(p->request, p->pod->metadata.uid);
    v.attachment = vmi_matching_attachment(&v.attachments, &v.hotplugged);
    if (state && virt_backend_claim(p->request, p->vmi))
        add(&v, state, VIRT_BACKEND_VOLUME);
    api_list_foreach (volume, &p->vmi->spec.volumes)
        if (add_volume(&v, volume, reterr) < 0)
            return -1;
    api_list_foreach (volume, &p->vmi->spec.utility_volumes)
        if (add_utility_volume(&v, volume, reterr) < 0)
            return -1;
    api_list_foreach (status, v.before)
        if (!is_listed(&v, status->name))
            add_leaving(&v, status);
    if (v.after.n > 0)
        qsort(v.after.items, v.after.n, sizeof *v.after.items, by_name);
    after->status.volume_status = v.after;
    return 0;
}
