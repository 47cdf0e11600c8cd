/*
 * Volumes that are plugged into a running instance: attachment Pods hold their claims on the launcher's node, so that
 * virt-handler can mount them into the launcher.
 *
 * One attachment Pod carries all hotplugged volumes whose claims are ready. When that set changes a new Pod is made,
 * and the old ones go (without grace) once they are of no more use: the newest running one stays until the new one
 * runs, and one that carries a volume which virt-handler has not let go of stays until it has. A claim that waits for
 * its first consumer gets a trigger Pod, once.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include <stdlib.h>

enum { OWN_VOLUMES = 2 }; /* volumes of an attachment Pod beside claims: its directory and a token */

/* ---- volumes ---- */

static bool is_in_pod(const struct core_pod *pod, const char *volume)
{
    api_list_foreach (carried, &pod->spec.volumes)
        if (kb_streq(carried->name, volume))
            return true;
    return false;
}

static const struct kv_volume *as_volume(struct kb_arena *arena, const struct kv_utility_volume *utility)
{
    struct kv_volume *volume = kb_arena_one(arena, struct kv_volume);
    struct kv_pvc_volume_source *source = kb_arena_one(arena, struct kv_pvc_volume_source);

    *source = (struct kv_pvc_volume_source){
        .claim_name = utility->claim_name, .read_only = utility->read_only, .hotpluggable = true};
    volume->name = utility->name;
    volume->persistent_volume_claim = source;
    return volume;
}

struct vmi_volumes vmi_hotplug_volumes(struct vmi_pass *p, const struct core_pod *launcher)
{
    struct vmi_volumes volumes = {0};

    api_list_foreach (volume, &p->vmi->spec.volumes)
        if ((volume->persistent_volume_claim || volume->data_volume || volume->memory_dump) &&
            !is_in_pod(launcher, volume->name))
            *kb_vec_push(p->arena, &volumes) = volume;
    api_list_foreach (utility, &p->vmi->spec.utility_volumes)
        if (!is_in_pod(launcher, utility->name))
            *kb_vec_push(p->arena, &volumes) = as_volume(p->arena, utility);
    return volumes;
}

static bool is_among(const struct vmi_volumes *volumes, const char *name)
{
    for (size_t i = 0; i < volumes->n; i++)
        if (kb_streq(volumes->items[i]->name, name))
            return true;
    return false;
}

static bool carries_exactly(const struct core_pod *attachment, const struct vmi_volumes *volumes)
{
    if (attachment->spec.volumes.n != volumes->n + OWN_VOLUMES)
        return false;
    api_list_foreach (carried, &attachment->spec.volumes)
        if (carried->persistent_volume_claim && !is_among(volumes, carried->name))
            return false;
    return true;
}

const struct core_pod *vmi_matching_attachment(const struct virt_pods *attachments, const struct vmi_volumes *volumes)
{
    const struct core_pod *found = NULL;

    for (size_t i = 0; i < attachments->n; i++)
        if (carries_exactly(attachments->items[i], volumes) && !api_is_being_deleted(&attachments->items[i]->metadata))
            found = attachments->items[i];
    return found;
}

/* ---- which volumes can be attached now ---- */

/* Through the launcher that the Pod belongs to; NULL: none. */
static const struct kv_vmi *vmi_of_attachment(struct vmi_pass *p, const struct core_pod *pod)
{
    const struct meta_owner_reference *owner = api_controller_of(&pod->metadata);
    const char *namespace_ = pod->metadata.namespace;
    const struct core_pod *launcher =
        owner && kb_streq(owner->kind, "Pod") ? kube_lookup(p->request, VIRT_POD, namespace_, owner->name) : NULL;

    owner = launcher ? api_controller_of(&launcher->metadata) : NULL;
    return owner ? kube_lookup(p->request, VIRT_VMI, namespace_, owner->name) : NULL;
}

static bool has_claim(const struct kv_vmi *vmi, const char *claim)
{
    api_list_foreach (volume, &vmi->spec.volumes)
        if (kb_streq(virt_volume_claim(volume), claim))
            return true;
    api_list_foreach (volume, &vmi->spec.utility_volumes)
        if (kb_streq(volume->claim_name, claim))
            return true;
    return false;
}

static const struct kv_utility_volume *utility_of(const struct vmi_pass *p, const char *name)
{
    api_list_foreach (utility, &p->vmi->spec.utility_volumes)
        if (kb_streq(utility->name, name))
            return utility;
    return NULL;
}

/* 1: no use to wait, as it is block; 0: not so; -1: sync error. */
static int is_unusable_utility(struct vmi_pass *p, const struct kv_volume *volume)
{
    const struct core_pvc *pvc;

    if (!utility_of(p, volume->name))
        return 0;
    pvc = virt_claim(p->request, p->vmi->metadata.namespace, virt_volume_claim(volume));
    if (!pvc)
        return vmi_fail(p, VMI_PVC_NOT_READY, "utility volume %s references PVC %s which does not exist", volume->name,
                        virt_volume_claim(volume));
    return virt_claim_is_block(pvc);
}

static struct virt_launcher_input rendering(struct vmi_pass *p, struct virt_launcher_lookups *lookups)
{
    *lookups = virt_request_lookups(p->controller->context, p->request);
    return (struct virt_launcher_input){
        .config = p->config,
        .settings = &p->controller->context->launcher,
        .vmi = p->vmi,
        .lookups = lookups,
        .backend_storage_claim = "",
    };
}

/* A trigger Pod that the claim has already: as in client-go, an update of the launcher must not make another one. */
static bool has_trigger(struct vmi_pass *p, const char *volume)
{
    const struct virt_pods owned = virt_pods_controlled_by(p->request, p->pod->metadata.uid);

    for (size_t i = 0; i < owned.n; i++)
        if (virt_pod_is_temporary(owned.items[i]) && is_in_pod(owned.items[i], volume))
            return true;
    return false;
}

static int trigger_population(struct vmi_pass *p, const struct kv_volume *volume)
{
    const struct virt_hotplug_volume hotplug = {
        volume, virt_claim(p->request, p->vmi->metadata.namespace, virt_volume_claim(volume))};
    struct virt_launcher_lookups lookups;
    const struct virt_launcher_input input = rendering(p, &lookups);
    struct kube_error error = {0};
    struct core_pod *pod;

    if (has_trigger(p, volume->name))
        return 0;
    if (virt_hotplug_trigger_pod(p->arena, &input, p->pod, &hotplug, &pod, &error) < 0)
        return vmi_fail(p, VMI_FAILED_CREATE, "Error creating trigger pod template %s", error.message);
    if (vmi_create_pod(p, pod, NULL, &error) < 0) {
        vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_CREATE,
                  "Error creating hotplug population trigger pod for volume %s: %s", volume->name, error.message);
        return vmi_fail(p, VMI_FAILED_CREATE, "Error creating hotplug population trigger pod %s", error.message);
    }
    vmi_event(p, KUBE_EVENT_NORMAL, VMI_SUCCESSFUL_CREATE, "Created hotplug trigger pod for volume %s", volume->name);
    return 0;
}

/* A claim for one node that another instance has given up, but whose Pod still holds it. Whoever waited for it with its
 * own Pods kept could wait for ever: two instances that swap claims would. */
static bool is_leaving_elsewhere(struct vmi_pass *p, const char *claim)
{
    const char *key = kb_arena_printf(p->arena, "%s/%s", p->vmi->metadata.namespace, claim);
    const struct kube_items holders = kube_lookup_index(p->request, VIRT_POD, VIRT_INDEX_CLAIM, key);

    for (size_t i = 0; i < holders.n; i++) {
        const struct core_pod *holder = holders.items[i];
        const struct kv_vmi *vmi = vmi_of_attachment(p, holder);

        if (vmi && !kb_streq(vmi->metadata.uid, p->vmi->metadata.uid) && !has_claim(vmi, claim))
            return true;
    }
    return false;
}

static bool is_for_one_node(struct vmi_pass *p, const char *claim)
{
    const struct core_pvc *pvc = virt_claim(p->request, p->vmi->metadata.namespace, claim);

    return !api_strings_has(&pvc->spec.access_modes, "ReadWriteMany") &&
           !api_strings_has(&pvc->spec.access_modes, "ReadOnlyMany");
}

/* Into `ready` when it can be attached now, into `waiting` when it waits for its first consumer. */
static int sort_in(struct vmi_pass *p, const struct kv_volume *volume, struct vmi_volumes *ready,
                   struct vmi_volumes *waiting)
{
    const char *claim = virt_volume_claim(volume);
    enum virt_readiness readiness;
    struct kube_error error = {0};
    int unusable = is_unusable_utility(p, volume);

    if (unusable)
        return unusable < 0 ? -1 : 0;
    if (virt_claim_readiness(p->request, p->vmi->metadata.namespace, claim, &readiness, &error) < 0)
        return vmi_fail(p, VMI_PVC_NOT_READY, "Error determining volume status %s", error.message);
    if (readiness == VIRT_CLAIM_MISSING)
        return vmi_fail(p, VMI_PVC_NOT_READY, "Error determining volume status didn't find PVC %s", claim);
    if (readiness == VIRT_CLAIM_WAITS_FOR_CONSUMER) {
        *kb_vec_push(p->arena, waiting) = volume;
        return trigger_population(p, volume);
    }
    if (readiness == VIRT_CLAIM_READY && is_for_one_node(p, claim) && is_leaving_elsewhere(p, claim))
        kube_request_later(p->request, VMI_LEAVING_RECHECK_NS);
    else if (readiness == VIRT_CLAIM_READY)
        *kb_vec_push(p->arena, ready) = volume;
    return 0;
}

static bool is_trigger_of(const struct core_pod *pod, const struct vmi_volumes *waiting)
{
    if (!virt_pod_is_temporary(pod))
        return false;
    for (size_t i = 0; i < waiting->n; i++)
        if (is_in_pod(pod, waiting->items[i]->name))
            return true;
    return false;
}

/* ---- the attachment Pod ---- */

/* virt-handler tells it once it has the launcher, and so brings the instance back. */
static bool knows_selinux_context(const struct kv_vmi *vmi)
{
    const struct kv_vmim_state *migration = vmi->status.migration_state;

    return !kb_empty(vmi->status.selinux_context) ||
           (migration && migration->source_state && !kb_empty(migration->source_state->selinux_context));
}

static int create_attachment(struct vmi_pass *p, const struct vmi_volumes *volumes, const struct core_pod **ret)
{
    struct virt_hotplug_volume *hotplug = kb_arena_many(p->arena, struct virt_hotplug_volume, volumes->n);
    struct virt_launcher_lookups lookups;
    const struct virt_launcher_input input = rendering(p, &lookups);
    struct kube_error error = {0};
    struct core_pod *pod;

    if (!knows_selinux_context(p->vmi))
        return 0;
    for (size_t i = 0; i < volumes->n; i++)
        hotplug[i] = (struct virt_hotplug_volume){volumes->items[i], virt_claim(p->request, p->vmi->metadata.namespace,
                                                                                virt_volume_claim(volumes->items[i]))};
    if (virt_hotplug_attachment_pod(p->arena, &input, p->pod, hotplug, volumes->n, &pod, &error) < 0 ||
        vmi_create_pod(p, pod, ret, &error) < 0) {
        vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_CREATE, "Error creating attachment pod: %s", error.message);
        return vmi_fail(p, VMI_FAILED_CREATE, "Error creating attachment pod %s", error.message);
    }
    vmi_event(p, KUBE_EVENT_NORMAL, VMI_SUCCESSFUL_CREATE, "Created attachment pod %s", (*ret)->metadata.name);
    return 0;
}

static int delete_attachment(struct vmi_pass *p, const struct core_pod *pod, struct kube_error *reterr)
{
    if (api_is_being_deleted(&pod->metadata))
        return 0;
    if (vmi_delete_pod(p, pod, 0, reterr) < 0) {
        vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_DELETE, "Failed to delete attachment pod %s", pod->metadata.name);
        return -1;
    }
    vmi_event(p, KUBE_EVENT_NORMAL, VMI_SUCCESSFUL_DELETE, "Deleted attachment pod %s", pod->metadata.name);
    return 0;
}

/* ---- old attachment Pods ---- */

static bool is_wanted(const struct vmi_pass *p, const char *volume)
{
    api_list_foreach (wanted, &p->vmi->spec.volumes)
        if (kb_streq(wanted->name, volume) && virt_volume_is_hotplug(wanted))
            return true;
    return false;
}

/* Not in the spec any more, but virt-handler still has it in the guest or mounted. */
static bool is_held(const struct vmi_pass *p, const char *volume)
{
    if (is_wanted(p, volume))
        return false;
    api_list_foreach (status, &p->vmi->status.volume_status)
        if (kb_streq(status->name, volume) && status->hotplug_volume)
            return kb_streq(status->phase, VMI_VOLUME_READY) || kb_streq(status->phase, VMI_VOLUME_MOUNTED);
    return false;
}

static bool any_volume(const struct vmi_pass *p, const struct core_pod *attachment,
                       bool (*is)(const struct vmi_pass *p, const char *volume))
{
    api_list_foreach (carried, &attachment->spec.volumes)
        if (is(p, carried->name))
            return true;
    return false;
}

static bool runs(const struct core_pod *pod)
{
    return kb_streq(pod->status.phase, "Running");
}

/* Newest first. */
static int by_age(const void *a, const void *b)
{
    const struct core_pod *const *left = a, *const *right = b;

    return strcmp((*right)->metadata.creation_timestamp, (*left)->metadata.creation_timestamp);
}

static int clean_up(struct vmi_pass *p, const struct core_pod *current, struct virt_pods *old, size_t n_ready)
{
    bool kept = n_ready == 0 || (current && runs(current));
    struct kube_error error = {0};

    if (old->n > 1)
        qsort(old->items, old->n, sizeof *old->items, by_age);
    for (size_t i = 0; i < old->n; i++) {
        const struct core_pod *pod = old->items[i];

        if (!kept && runs(pod) && !api_is_being_deleted(&pod->metadata) &&
            (any_volume(p, pod, is_wanted) || any_volume(p, pod, is_held))) {
            kept = true;
            continue;
        }
        if (any_volume(p, pod, is_held))
            continue;
        if (delete_attachment(p, pod, &error) < 0)
            return vmi_fail(p, VMI_FAILED_DELETE, "Error deleting attachment pod %s", error.message);
    }
    return 0;
}

static bool any_starting(const struct virt_pods *pods)
{
    for (size_t i = 0; i < pods->n; i++)
        if (!runs(pods->items[i]) && !virt_pod_is_down(pods->items[i]))
            return true;
    return false;
}

static bool is_settled(const struct vmi_volumes *volumes, const struct virt_pods *attachments)
{
    if (attachments->n == 1)
        return carries_exactly(attachments->items[0], volumes);
    return attachments->n == 0 && volumes->n == 0;
}

int vmi_sync_hotplug(struct vmi_pass *p)
{
    const struct vmi_volumes volumes = vmi_hotplug_volumes(p, p->pod);
    const struct virt_pods attachments = virt_pods_controlled_by(p->request, p->pod->metadata.uid);
    struct vmi_volumes ready = {0}, waiting = {0};
    struct virt_pods old = {0};
    const struct core_pod *current;

    if (is_settled(&volumes, &attachments))
        return 0;
    for (size_t i = 0; i < volumes.n; i++)
        if (sort_in(p, volumes.items[i], &ready, &waiting) < 0)
            return -1;
    current = vmi_matching_attachment(&attachments, &ready);
    for (size_t i = 0; i < attachments.n; i++)
        if (!carries_exactly(attachments.items[i], &ready) && !is_trigger_of(attachments.items[i], &waiting))
            *kb_vec_push(p->arena, &old) = attachments.items[i];
    if (!current && ready.n > 0 && !any_starting(&old) && create_attachment(p, &ready, &current) < 0)
        return -1;
    return clean_up(p, current, &old, ready.n);
}

/* ---- when the launcher has ended ---- */

static int delete_attachments_of(struct vmi_pass *p, const struct core_pod *launcher, struct kube_error *reterr)
{
    const struct virt_pods attachments = virt_pods_controlled_by(p->request, launcher->metadata.uid);

    for (size_t i = 0; i < attachments.n; i++)
        if (delete_attachment(p, attachments.items[i], reterr) < 0)
            return -1;
    return 0;
}

int vmi_delete_attachments(struct vmi_pass *p, struct kube_error *reterr)
{
    return p->pod ? delete_attachments_of(p, p->pod, reterr) : 0;
}

void vmi_delete_orphaned_attachments(struct vmi_pass *p)
{
    struct kube_error error;

    for (size_t i = 0; i < p->pods.n; i++)
        if (virt_pod_is_down(p->pods.items[i]))
            delete_attachments_of(p, p->pods.items[i], &error);
}
