/*
 * Which statuses of an instance are not written yet, and for how long (virt/holds.h says when that is allowed).
 *
 * new       A launcher Pod is often ready within a second. Then the instance goes from no phase to Scheduled in one
 *           write instead of three, and the Pod gets its condition, label and annotations in one patch instead of two.
 *           What the API does not hold meanwhile is kept here: that there was a Pod. One that is gone again does not
 *           get a successor.
 * deleted   Between the deletion and the last write, which takes the finalizers away, there is only that the Pod goes:
 *           told when it takes longer.
 * orphaned  The Pod of a deleted instance is gone, and virt-handler has not said how the guest ended. It is about to;
 *           only after a while this controller says it (Failed), so that both don't write at the same time.
 * recorded  The Pod of a deleted instance is gone, and the VM controller is about to record that and to take its
 *           finalizer away: this controller takes its own after that, for the same reason.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/names.h"

void vmi_note_new_pod(const struct vmi_pass *p)
{
    virt_holds_begin(p->controller->fresh, kube_request_key(p->request), p->vmi->metadata.uid);
}

bool vmi_had_pod(const struct vmi_pass *p)
{
    int64_t age;

    return virt_holds_age(p->controller->fresh, kube_request_key(p->request), p->vmi->metadata.uid, &age);
}

bool vmi_saw_pods_go(const struct vmi_pass *p)
{
    const struct api_string_map *known = &p->vmi->status.active_pods;
    int64_t age;

    return known->n == 1 &&
           virt_holds_age(p->controller->gone, kube_request_key(p->request), known->items[0].key, &age);
}

static int64_t hold_new(const struct vmi_pass *p, const struct kv_vmi *after)
{
    const bool tells_nothing = kb_streq(after->status.phase, VIRT_PHASE_SCHEDULING) && !p->sync.reason &&
                               !virt_vmi_condition(after, VMI_POD_SCHEDULED);

    if (!virt_vmi_is_unprocessed(p->vmi) || !vmi_launcher(p) || !tells_nothing)
        return 0;
    return virt_holds_left(p->controller->fresh, kube_request_key(p->request), p->vmi->metadata.uid,
                           *p->pod->spec.node_name ? VMI_FRESH_NS : VMI_UNSCHEDULED_NS);
}

/* Since the cache saw the Pod go. */
static int64_t hold_since_end(const struct vmi_pass *p, int64_t limit_ns)
{
    return virt_holds_left(p->controller->gone, kube_request_key(p->request), p->vmi->status.active_pods.items[0].key,
                           limit_ns);
}

static int64_t hold_orphaned(const struct vmi_pass *p)
{
    const bool busy = virt_holds_many(p->controller->context->deletions);

    if (p->pods.n > 0 || !vmi_is_shared(p->vmi) || !vmi_saw_pods_go(p))
        return 0;
    return hold_since_end(p, busy ? VIRT_HOLD_MANY_IDLE_NS : VIRT_HOLD_NS);
}

static bool awaits_record(const struct vmi_pass *p, const struct kv_vmi *after)
{
    return api_has_finalizer(&p->vmi->metadata, VIRT_FINALIZER_VMI) &&
           !api_has_finalizer(&after->metadata, VIRT_FINALIZER_VMI) &&
           api_has_finalizer(&after->metadata, VIRT_FINALIZER_VM) && vmi_saw_pods_go(p);
}

static int64_t hold_deleted(const struct vmi_pass *p, const struct kv_vmi *after)
{
    if (p->sync.reason || p->events.n > 0)
        return 0;
    if (awaits_record(p, after))
        return hold_since_end(p, VIRT_HOLD_NS);
    if (after->metadata.finalizers.n != p->vmi->metadata.finalizers.n)
        return 0;
    if (!kb_streq(after->status.phase, p->vmi->status.phase))
        return hold_orphaned(p);
    return virt_holds_deletion(p->controller->context->deletions, kv_vmi_type.resource->kind,
                               kube_request_key(p->request), p->vmi->metadata.uid);
}

int64_t vmi_hold_back(const struct vmi_pass *p, const struct kv_vmi *after)
{
    return api_is_being_deleted(&p->vmi->metadata) ? hold_deleted(p, after) : hold_new(p, after);
}
