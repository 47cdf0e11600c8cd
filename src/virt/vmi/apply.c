/*
 * The writes that bring what a pass derived to the API server: the launcher Pod, then the VMI, then the events that
 * belong to that status.
 *
 * A VMI that is Scheduled or Running belongs to virt-handler, and one that has ended to the VM controller, too: only
 * the members that this controller owns are patched, each one tested for what the cache had, so that neither overwrites
 * the other. When a test fails the cache may be behind, or the server's copy may be written differently than Go would
 * (a null left out): the same change with the version as precondition tells, at once.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/codec.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/metrics/metrics.h"
#include "virt/network/interfaces.h"

/* ---- the part that is only for VMIs which are not virt-handler's ---- */

static void set_synchronized(struct vmi_pass *p, struct kv_vmi *after)
{
    const struct kv_vmi_condition *present = virt_vmi_condition(after, VMI_SYNCHRONIZED);
    const bool told =
        present && p->sync.reason && kb_streq(present->status, VIRT_FALSE) && kb_streq(present->reason, p->sync.reason);

    if (told)
        return;
    virt_vmi_remove_condition(after, VMI_SYNCHRONIZED);
    if (p->sync.reason)
        virt_vmi_set_condition(p->arena, after,
                               &(struct kv_vmi_condition){.type = VMI_SYNCHRONIZED,
                                                          .status = VIRT_FALSE,
                                                          .last_probe_time = "",
                                                          .last_transition_time = kube_now_text(p->request),
                                                          .reason = p->sync.reason,
                                                          .message = p->sync.message});
}

static void note_phase(struct vmi_pass *p, struct kv_vmi *after, const char *phase)
{
    struct kv_vmi_phase_transition_timestamp *entry;

    if (kb_streq(p->vmi->status.phase, phase))
        return;
    api_list_foreach (known, &after->status.phase_transition_timestamps)
        if (kb_streq(known->phase, phase))
            return;
    entry = kb_vec_push(p->arena, &after->status.phase_transition_timestamps);
    entry->phase = phase;
    entry->phase_transition_timestamp = kube_now_text(p->request);
}

static void note_transition(struct vmi_pass *p, struct kv_vmi *after)
{
    const bool had_pod = vmi_launcher(p) || vmi_had_pod(p);

    if (virt_vmi_is_unprocessed(p->vmi) && had_pod)
        note_phase(p, after, VIRT_PHASE_SCHEDULING);
    note_phase(p, after, after->status.phase);
}

/* ---- the patch for virt-handler's ---- */

static const struct kv_volume_status *volume_status(const struct kv_vmi *vmi, const char *name)
{
    api_list_foreach (status, &vmi->status.volume_status)
        if (kb_streq(status->name, name))
            return status;
    return NULL;
}

/* In any order. */
static bool volumes_equal(const struct kv_vmi *before, const struct kv_vmi *after)
{
    if (before->status.volume_status.n != after->status.volume_status.n)
        return false;
    api_list_foreach (status, &before->status.volume_status) {
        const struct kv_volume_status *other = volume_status(after, status->name);

        if (!other || !api_equal(&kv_volume_status_type, status, other))
            return false;
    }
    return true;
}

static bool differs_always(const struct kv_vmi *before, const struct kv_vmi *after)
{
    (void)before;
    (void)after;
    return false;
}

/* Members in the reference's order; `equal` where the order of a list or a message means nothing. */
static const struct {
    const char *path;
    bool (*equal)(const struct kv_vmi *before, const struct kv_vmi *after);
} members[] = {
    {"status.volumeStatus", volumes_equal},
    {"status.conditions", virt_vmi_conditions_equal},
    {"status.activePods", differs_always},
    {"status.phase", differs_always},
    {"status.launcherContainerImageVersion", differs_always},
    {"metadata.labels", differs_always},
    {"metadata.finalizers", differs_always},
    {"status.interfaces", virt_interfaces_equal},
};

static struct kube_json_patch make_patch(struct vmi_pass *p, const struct kv_vmi *after, bool with_tests)
{
    struct kube_json_patch patch = kube_json_patch_new(p->request);

    if (!with_tests)
        kube_json_patch_op(&patch, "replace", "/metadata/resourceVersion",
                           kb_arena_printf(p->arena, "\"%s\"", p->vmi->metadata.resource_version));
    for (size_t i = 0; i < KB_ARRAY_LEN(members); i++)
        if (!members[i].equal(p->vmi, after))
            kube_json_patch_member(&patch, &kv_vmi_type, p->vmi, after, members[i].path, with_tests);
    return patch;
}

static int send(struct vmi_pass *p, struct kube_json_patch *patch, const void **ret, struct kube_error *reterr)
{
    return kube_patch(p->request, &kv_vmi_type, p->vmi, NULL, KUBE_JSON_PATCH, kube_json_patch_text(patch), ret,
                      reterr);
}

/* The cache has heard of a newer state since the pass began. */
static bool is_outdated(const struct vmi_pass *p)
{
    const struct kv_vmi *newest = kube_lookup(p->request, VIRT_VMI, p->vmi->metadata.namespace, p->vmi->metadata.name);

    return newest && !kb_streq(newest->metadata.resource_version, p->vmi->metadata.resource_version);
}

/* *ret_written is set when there was something to write. */
static int patch_shared(struct vmi_pass *p, const struct kv_vmi *after, const void **ret_written,
                        struct kube_error *reterr)
{
    struct kube_json_patch patch = make_patch(p, after, true);
    struct kube_error error = {0};

    if (patch.n == 0)
        return 0;
    if (send(p, &patch, ret_written, &error) == 0)
        return 0;
    if (kube_error_is_api(&error, 422) && is_outdated(p))
        return kube_error_set_api(reterr, 409, "Conflict", "the VMI has changed");
    if (kube_error_is_api(&error, 422)) {
        patch = make_patch(p, after, false);
        return send(p, &patch, ret_written, reterr);
    }
    *reterr = error;
    return -1;
}

/* ---- the whole ---- */

bool vmi_is_shared(const struct kv_vmi *vmi)
{
    return virt_vmi_is_phase(vmi, VIRT_PHASE_SCHEDULED) || virt_vmi_is_phase(vmi, VIRT_PHASE_RUNNING);
}

/* Of one that has ended the VM controller takes its finalizer away, and deletes it, at the same time. */
static bool has_other_writers(const struct kv_vmi *vmi)
{
    return vmi_is_shared(vmi) || virt_vmi_is_final(vmi);
}

static int write_vmi(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr)
{
    const void *written = p->vmi;
    int r;

    if (!vmi_is_shared(p->vmi))
        set_synchronized(p, after);
    if (has_other_writers(p->vmi)) {
        r = patch_shared(p, after, &written, reterr);
    } else {
        note_transition(p, after);
        r = kube_update(p->request, &kv_vmi_type, p->vmi, after, &written, reterr);
    }
    if (r == 0 && written != p->vmi)
        virt_metrics_vmi_synced(p->controller->context->metrics, p->vmi->metadata.namespace, p->vmi->metadata.name);
    return r;
}

/* An instance is not handed over before its Pod is as it should be: then only the reason is told. Interfaces stay as
 * they were, too: it is their difference to the spec that asks for the Pod's list of networks. */
static struct kv_vmi *with_pod_error(struct vmi_pass *p, struct kv_vmi *after, const struct kube_error *error)
{
    if (!p->sync.reason)
        vmi_fail(p, VMI_FAILED_POD_PATCH, "%s", error->message);
    after->status.interfaces = p->vmi->status.interfaces;
    if (vmi_is_shared(p->vmi) || !vmi_is_shared(after))
        return after;
    return KUBE_EDIT(p->request, kv_vmi, p->vmi);
}

int vmi_apply(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr)
{
    struct kube_error error = {0};

    if (vmi_launcher(p) && vmi_sync_pod(p, after, &error) < 0)
        after = with_pod_error(p, after, &error);
    if (write_vmi(p, after, &error) < 0) {
        if (kube_error_is_not_found(&error))
            return 0; /* it has gone meanwhile */
        *reterr = error;
        return kube_error_wrap(reterr, "writing the status");
    }
    if (!virt_vmi_is_unprocessed(after))
        virt_holds_end(p->controller->fresh, kube_request_key(p->request));
    for (size_t i = 0; i < p->events.n; i++)
        vmi_event(p, p->events.items[i].type, p->events.items[i].reason, "%s", p->events.items[i].message);
    return 0;
}
