/*
 * The VMI controller: gives each VirtualMachineInstance its launcher Pod, hands it to virt-handler when the Pod is
 * ready, follows volumes and networks that change while it runs, and lets it go when its Pods have ended.
 *
 * Key: namespace/name of the VMI. Reads: VMIs, VMs, Pods, claims, DataVolumes and CDI's configuration, storage classes,
 * migrations, nodes, namespaces, quotas, the KubeVirt CR. Writes: VMIs, Pods, claims for persistent state.
 * Phases: phases.c. Files: vmi_internal.h. Source of the rules: the reference's pkg/virt-controller/watch/vmi.
 *
 * A pass: gather what is there (from caches; from the API server where these can't be right), take the steps that can
 * be taken (sync), derive the status, write what differs. Passes may end anywhere; the next one goes on.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/metrics/metrics.h"
#include "virt/names.h"
#include <stdlib.h>

/* ---- what all files of the controller use ---- */

const struct core_pod *vmi_launcher(const struct vmi_pass *p)
{
    return p->pod && !virt_pod_is_temporary(p->pod) ? p->pod : NULL;
}

void vmi_event(const struct vmi_pass *p, const char *type, const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    kube_event(p->controller->context->vm_recorder, &kv_vmi_type, p->vmi, type, reason, "%s",
               kb_arena_vprintf(p->arena, format, args));
    va_end(args);
}

void vmi_event_later(struct vmi_pass *p, const char *type, const char *reason, const char *message)
{
    *kb_vec_push(p->arena, &p->events) = (struct vmi_event){type, reason, message};
}

static int set_sync_error(struct vmi_pass *p, bool informal, const char *reason, const char *format, va_list args)
{
    p->sync = (struct vmi_sync_error){reason, kb_arena_vprintf(p->arena, format, args), informal};
    return -1;
}

int vmi_fail(struct vmi_pass *p, const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_sync_error(p, false, reason, format, args);
    va_end(args);
    return -1;
}

int vmi_wait(struct vmi_pass *p, const char *reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_sync_error(p, true, reason, format, args);
    va_end(args);
    return -1;
}

void vmi_tell(struct vmi_pass *p, const char *reason, const char *message)
{
    const bool informal = !p->sync.reason || p->sync.informal;

    p->sync = (struct vmi_sync_error){reason, message, informal};
}

/* ---- mappings ---- */

static void note_deletion(struct vmi_controller *self, struct kb_arena *arena, const struct core_pod *pod,
                          const char *vmi)
{
    kube_deletion_observed_of(self->deletions, kb_arena_printf(arena, "%s/%s", pod->metadata.namespace, vmi),
                              pod->metadata.name);
}

/* The Pod is gone, and was to go: no list that lacks it is just behind. Ends with the VMI, whose key is queued. */
static void note_end(struct vmi_controller *self, struct kb_arena *arena, const struct core_pod *pod, const char *vmi)
{
    const struct meta_owner_reference *owner = api_controller_of(&pod->metadata);

    if (kb_streq(owner->kind, "VirtualMachineInstance") && api_is_being_deleted(&pod->metadata))
        virt_holds_begin(self->gone, kb_arena_printf(arena, "%s/%s", pod->metadata.namespace, vmi), pod->metadata.uid);
}

/* The VMI behind a launcher Pod, or behind an attachment Pod of a launcher. NULL: none. */
static const char *vmi_of_pod(struct kube_enqueuer *to, const struct core_pod *pod)
{
    const struct meta_owner_reference *owner = api_controller_of(&pod->metadata);

    if (owner && kb_streq(owner->kind, "Pod")) {
        const struct core_pod *launcher =
            kube_lookup(kube_enqueuer_request(to), VIRT_POD, pod->metadata.namespace, owner->name);

        owner = launcher ? api_controller_of(&launcher->metadata) : NULL;
    }
    return owner && kb_streq(owner->kind, "VirtualMachineInstance") ? owner->name : NULL;
}

static void map_pod(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct core_pod *pod = after ? after : before;
    const char *vmi = vmi_of_pod(to, pod);
    const char *former = before && after ? vmi_of_pod(to, before) : NULL;

    if (former && (!vmi || !kb_streq(former, vmi)))
        kube_enqueue(to, pod->metadata.namespace, former);
    if (!vmi)
        return;
    if (!after || api_is_being_deleted(&pod->metadata))
        note_deletion(self, kube_arena(kube_enqueuer_request(to)), pod, vmi);
    if (!after)
        note_end(self, kube_arena(kube_enqueuer_request(to)), pod, vmi);
    kube_enqueue(to, pod->metadata.namespace, vmi);
}

/* VMIs with a volume of this claim or DataVolume: both have the same name. */
static void enqueue_users(struct kube_enqueuer *to, const struct meta_object_meta *meta)
{
    static const char *const indexes[] = {VIRT_INDEX_DV, VIRT_INDEX_PVC};
    struct kube_request *request = kube_enqueuer_request(to);
    const char *key = api_key(kube_arena(request), meta);

    for (size_t i = 0; i < KB_ARRAY_LEN(indexes); i++) {
        const struct kube_items vmis = kube_lookup_index(request, VIRT_VMI, indexes[i], key);

        for (size_t j = 0; j < vmis.n; j++)
            kube_map_to_self(NULL, to, NULL, vmis.items[j]);
    }
}

static void map_data_volume(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct cdi_data_volume *volume = after ? after : before;

    (void)self;
    enqueue_users(to, &volume->metadata);
}

/* What a VMI is told of a claim: changes of anything else wake nobody. */
static bool is_same_claim(const struct core_pvc *a, const struct core_pvc *b)
{
    return kb_streq(a->status.phase, b->status.phase) &&
           api_map_contains_all(&a->status.capacity, &b->status.capacity) &&
           a->status.capacity.n == b->status.capacity.n &&
           api_map_contains_all(&a->spec.resources.requests, &b->spec.resources.requests) &&
           kb_streq_null(api_map_get(&a->metadata.labels, VIRT_LABEL_PERSISTENT_STATE),
                         api_map_get(&b->metadata.labels, VIRT_LABEL_PERSISTENT_STATE)) &&
           a->metadata.owner_references.n == b->metadata.owner_references.n;
}

/* The VMI whose state a claim keeps; one of an old release has its name alone. NULL: none. */
static const char *vmi_of_claim(const struct core_pvc *pvc)
{
    const char *vmi = api_map_get(&pvc->metadata.labels, VIRT_LABEL_PERSISTENT_STATE);

    return vmi ? vmi : kb_after_prefix(pvc->metadata.name, VIRT_LABEL_PERSISTENT_STATE "-");
}

/* One that goes wakes nobody, as in the reference: what it leaves behind is told with the VMI's next change. */
static void map_claim(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct core_pvc *pvc = after;
    const char *vmi;

    (void)self;
    if (!pvc || api_is_being_deleted(&pvc->metadata) || (before && is_same_claim(before, after)))
        return;
    vmi = vmi_of_claim(pvc);
    if (vmi)
        kube_enqueue(to, pvc->metadata.namespace, vmi);
    enqueue_users(to, &pvc->metadata);
}

/* A VM that is gone leaves its finalizer on the VMI to this controller. */
static void map_vm(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct kv_vm *vm = before;

    (void)self;
    if (!after)
        kube_enqueue(to, vm->metadata.namespace, vm->metadata.name);
}

/* Backup hooks of all launchers follow an annotation of the CR. */
static void map_kubevirt(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct kv_kube_virt *old = before, *new = after;
    struct kube_items vmis;

    (void)self;
    if (!old || !new ||
        kb_streq_null(api_map_get(&old->metadata.annotations, VIRT_ANNOTATION_SKIP_BACKUP_HOOKS),
                      api_map_get(&new->metadata.annotations, VIRT_ANNOTATION_SKIP_BACKUP_HOOKS)))
        return;
    vmis = kube_lookup_all(kube_enqueuer_request(to), VIRT_VMI, NULL);
    for (size_t i = 0; i < vmis.n; i++)
        kube_map_to_self(NULL, to, NULL, vmis.items[i]);
}

/* ---- reconcile ---- */

/* Doubts stay: a VMI that its cache has lost for a moment may come back, and its Pod may have been made. */
static void forget(struct vmi_controller *self, const char *key)
{
    kube_expectations_forget(self->deletions, key);
    virt_holds_end(self->fresh, key);
    virt_holds_end_deletion(self->context->deletions, kv_vmi_type.resource->kind, key);
    virt_holds_end(self->gone, key);
    vmi_cids_release(self->cids, key);
}

static bool has_stamp(const struct kv_vmi *vmi)
{
    const char *version = api_map_get(&vmi->metadata.annotations, VIRT_ANNOTATION_LATEST_API);

    return version && kb_streq(version, VIRT_API_VERSION);
}

/* Writing an object brings it into the API's current storage version; the annotations tell that this was done. */
static int stamp(struct kube_request *request, const struct kv_vmi *vmi, struct kube_error *reterr)
{
    struct kv_vmi *after = KUBE_EDIT(request, kv_vmi, vmi);

    api_map_set(kube_arena(request), &after->metadata.annotations, VIRT_ANNOTATION_LATEST_API, VIRT_API_VERSION);
    api_map_set(kube_arena(request), &after->metadata.annotations, VIRT_ANNOTATION_STORAGE_API, VIRT_API_VERSION);
    return kube_replace(request, &kv_vmi_type, vmi, after, NULL, reterr);
}

/* True: wait for the cache to show deletions, or until it was long enough. */
static bool expects_deletions(struct vmi_controller *self, struct kube_request *request)
{
    const char *key = kube_request_key(request);
    const int64_t remaining = kube_expectations_remaining(self->deletions, key);
    const int64_t waited = KUBE_EXPECTATION_TIMEOUT_NS - remaining;

    if (remaining == 0)
        return false;
    if (waited < VMI_DELETION_PATIENCE_NS) {
        kube_request_later(request, VMI_DELETION_PATIENCE_NS - waited);
        return true;
    }
    kube_expectations_forget(self->deletions, key);
    return false;
}

static int gather(struct vmi_pass *p, struct kube_error *reterr)
{
    p->config = virt_request_config(p->controller->context, p->request);
    p->pods = virt_pods_controlled_by(p->request, p->vmi->metadata.uid);
    if (vmi_find_unseen_pods(p, reterr) < 0)
        return -1;
    p->pod = virt_current_pod(p->vmi, &p->pods);
    p->data_volumes = virt_data_volumes_of(p->request, p->vmi->metadata.namespace, &p->vmi->spec.volumes);
    if (p->vmi->status.vsockcid)
        vmi_cids_note(p->controller->cids, kube_request_key(p->request), (uint32_t)*p->vmi->status.vsockcid);
    return vmi_refresh_stale_pod(p, reterr);
}

static int pass(struct vmi_pass *p, struct kube_error *reterr)
{
    struct kube_error derive_error = {0};
    struct kv_vmi *after;
    int64_t hold;

    if (gather(p, reterr) < 0)
        return -1;
    vmi_sync(p);
    if (vmi_derive(p, &after, &derive_error) < 0) {
        if (vmi_launcher(p))
            vmi_sync_pod(p, after, NULL);
        *reterr = derive_error;
        return -1;
    }
    if ((hold = vmi_hold_back(p, after)) > 0)
        return kube_request_later(p->request, hold);
    if (vmi_apply(p, after, reterr) < 0)
        return -1;
    if (p->sync.reason && !p->sync.informal)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: %s", p->sync.reason, p->sync.message);
    return KUBE_DONE;
}

static int reconcile(void *userdata, struct kube_request *request, struct kube_error *reterr)
{
    struct vmi_controller *self = userdata;
    const struct kv_vmi *vmi =
        kube_lookup(request, VIRT_VMI, kube_request_namespace(request), kube_request_name(request));
    struct vmi_pass p = {.controller = self, .request = request, .arena = kube_arena(request), .vmi = vmi};

    if (!vmi) {
        forget(self, kube_request_key(request));
        virt_metrics_vmi_gone(self->context->metrics, kube_request_namespace(request), kube_request_name(request));
        return KUBE_DONE;
    }
    if (!has_stamp(vmi))
        return stamp(request, vmi, reterr);
    if (expects_deletions(self, request))
        return KUBE_DONE;
    return pass(&p, reterr);
}

/* ---- definition ---- */

static const struct kube_watch watches[] = {
    {VIRT_VMI, kube_map_to_self}, {VIRT_POD, map_pod}, {VIRT_DATA_VOLUME, map_data_volume},
    {VIRT_PVC, map_claim},        {VIRT_VM, map_vm},   {VIRT_KUBEVIRT, map_kubevirt},
};
static const int needs[] = {VIRT_MIGRATION, VIRT_STORAGE_CLASS,   VIRT_NODE,       VIRT_NAMESPACE,
                            VIRT_CDI,       VIRT_STORAGE_PROFILE, VIRT_CDI_CONFIG, VIRT_RESOURCE_QUOTA};

static const struct kube_controller definition = {
    .name = "vmi",
    .queue_name = "virt-controller-vmi",
    .kind = "VirtualMachineInstance",
    .threads = 10,
    .watches = watches,
    .n_watches = KB_ARRAY_LEN(watches),
    .needs = needs,
    .n_needs = KB_ARRAY_LEN(needs),
    .reconcile = reconcile,
};

static void release(void *userdata)
{
    struct vmi_controller *self = userdata;

    kube_expectations_free(self->deletions);
    vmi_doubts_free(self->doubts);
    virt_holds_free(self->fresh);
    virt_holds_free(self->gone);
    vmi_cids_free(self->cids);
    free(self);
}

void virt_vmi_controller_add(struct virt_context *context, int threads)
{
    struct vmi_controller *self = kb_malloc(sizeof *self);
    struct kb_clock *clock = kube_client_clock(context->client);

    self->context = context;
    self->deletions = kube_expectations_new(clock);
    self->doubts = vmi_doubts_new();
    self->fresh = virt_holds_new(clock);
    self->gone = virt_holds_new(clock);
    self->cids = vmi_cids_new();
    self->started_at = clock->wall(clock);
    kube_runtime_add_controller(context->runtime, &definition, self, threads);
    kube_runtime_at_end(context->runtime, release, self);
}
