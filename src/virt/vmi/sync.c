/*
 * Steps from what is to what should be, in the reference's order: the first one that can't be done ends the pass with a
 * sync error, and what follows waits for a later pass.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/strings.h"
#include "virt/names.h"
#include "virt/network/validation.h"
#include "virt/topology.h"

enum { QEMU_TIMEOUT_JITTER_S = 120 };

/* ---- the end of an instance ---- */

static bool is_going(const struct core_pod *pod)
{
    return api_is_being_deleted(&pod->metadata) && !virt_pod_is_down(pod);
}

/* A Pod that has ended is deleted again while it is there: the second deletion of an ended Pod takes effect at once. */
static int delete_pods(struct vmi_pass *p)
{
    struct kube_error error = {0};

    for (size_t i = 0; i < p->pods.n; i++) {
        const struct core_pod *pod = p->pods.items[i];

        if (is_going(pod))
            continue;
        if (vmi_delete_pod(p, pod, -1, &error) < 0) {
            vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_DELETE, "Failed to delete virtual machine pod %s",
                      pod->metadata.name);
            return vmi_fail(p, VMI_FAILED_DELETE, "failed to delete pod: %s", error.message);
        }
        vmi_event(p, KUBE_EVENT_NORMAL, VMI_SUCCESSFUL_DELETE, "Deleted virtual machine pod %s", pod->metadata.name);
    }
    return 0;
}

static int delete_attachments(struct vmi_pass *p)
{
    struct kube_error error = {0};

    if (vmi_delete_attachments(p, &error) < 0)
        return vmi_fail(p, VMI_FAILED_HOTPLUG_SYNC, "failed to delete attachment pods: %s", error.message);
    return 0;
}

/* ---- a new Pod ---- */

static bool is_migrating_elsewhere(const struct vmi_pass *p)
{
    static const char *const idle[] = {"", "Pending", "WaitingForSync", "Synchronizing", "Succeeded", "Failed"};
    const struct kube_items migrations =
        kube_lookup_index(p->request, VIRT_MIGRATION, VIRT_INDEX_VMI_NAME, kube_request_key(p->request));

    for (size_t i = 0; i < migrations.n; i++) {
        const struct kv_vmim *migration = migrations.items[i];
        /* A sender has its target Pod elsewhere. */
        const bool sends = migration->spec.send_to && kb_streq(migration->status.phase, "Scheduling");

        if (!sends && !kb_in_list(migration->status.phase, idle, KB_ARRAY_LEN(idle)))
            return true;
    }
    return false;
}

static bool is_virtiofs(const struct kv_vmi *vmi, const char *volume)
{
    api_list_foreach (filesystem, &vmi->spec.domain.devices.filesystems)
        if (filesystem->virtiofs && kb_streq(filesystem->name, volume))
            return true;
    return false;
}

static bool shares_container_paths(const struct kv_vmi *vmi)
{
    api_list_foreach (volume, &vmi->spec.volumes)
        if (volume->container_path && is_virtiofs(vmi, volume->name))
            return true;
    return false;
}

static int check_container_paths(struct vmi_pass *p)
{
    static const char message[] = "VMI has ContainerPath volumes but the ContainerPathVolumes feature gate is disabled";

    if (!shares_container_paths(p->vmi) || virt_gate(p->config, VIRT_GATE_CONTAINER_PATH_VOLUMES))
        return 0;
    vmi_event(p, KUBE_EVENT_WARNING, VMI_CONTAINER_PATH_DISABLED, "Cannot create pod: %s", message);
    return vmi_fail(p, VMI_CONTAINER_PATH_DISABLED, "%s", message);
}

static int render(struct vmi_pass *p, bool temporary, const char *backend_claim, struct core_pod **ret)
{
    const struct virt_launcher_lookups lookups = virt_request_lookups(p->controller->context, p->request);
    const struct virt_launcher_input input = {
        .config = p->config,
        .settings = &p->controller->context->launcher,
        .vmi = p->vmi,
        .lookups = &lookups,
        .mode = temporary ? VIRT_LAUNCHER_TEMPORARY : VIRT_LAUNCHER_NORMAL,
        .qemu_timeout_jitter = (int)kb_random_below(kube_request_random(p->request), QEMU_TIMEOUT_JITTER_S),
        .backend_storage_claim = backend_claim,
    };
    struct kube_error error = {0};

    p->rendered = true;
    if (virt_launcher_pod(p->arena, &input, ret, &error) == 0)
        return 0;
    if (!kb_streq(error.reason, VIRT_REASON_PVC_NOT_FOUND))
        return vmi_fail(p, VMI_FAILED_CREATE, "failed to render launch manifest: %s", error.message);
    vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_PVC_NOT_FOUND, "failed to render launch manifest: %s", error.message);
    return vmi_wait(p, VMI_FAILED_PVC_NOT_FOUND, "failed to render launch manifest: %s", error.message);
}

static int validate_networks(struct vmi_pass *p)
{
    const char *problems = virt_network_problems(p->arena, "spec", &p->vmi->spec);

    return problems ? vmi_fail(p, VMI_FAILED_VALIDATION, "failed create validation: %s", problems) : 0;
}

static int tell_creation_failed(struct vmi_pass *p, const struct kube_error *error)
{
    const struct meta_object_meta *meta = &p->vmi->metadata;

    if (kube_error_is_api(error, 403) && strstr(error->message, "violates PodSecurity")) {
        const char *message =
            kb_arena_printf(p->arena, "failed to create pod for vmi %s/%s, it needs a privileged namespace to run: %s",
                            meta->namespace, meta->name, error->message);

        vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_CREATE, "failed to render launch manifest: %s", message);
        return vmi_fail(p, VMI_FAILED_CREATE, "%s", message);
    }
    vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_CREATE, "Error creating pod: %s", error->message);
    return vmi_fail(p, VMI_FAILED_CREATE, "failed to create virtual machine pod: %s", error->message);
}

static int create_launcher(struct vmi_pass *p, struct core_pod *pod)
{
    const struct core_pod *created;
    struct kube_error error = {0};
    const int may = vmi_may_create_pod(p, &error);

    if (may < 0)
        return vmi_fail(p, VMI_FAILED_CREATE, "failed to create virtual machine pod: %s", error.message);
    if (!may)
        return 0;
    if (vmi_create_pod(p, pod, &created, &error) < 0)
        return tell_creation_failed(p, &error);
    vmi_event(p, KUBE_EVENT_NORMAL, VMI_SUCCESSFUL_CREATE, "Created virtual machine pod %s", created->metadata.name);
    p->pods = virt_pods_controlled_by(p->request, p->vmi->metadata.uid);
    p->pod = created;
    if (vmi_launcher(p))
        vmi_note_new_pod(p);
    return 0;
}

static int start(struct vmi_pass *p, const struct vmi_storage_state *storage)
{
    const char *backend_claim;
    struct core_pod *pod;

    /* One that had a Pod never gets another. */
    if (!virt_vmi_is_unprocessed(p->vmi) || vmi_had_pod(p))
        return 0;
    if (!p->vmi->status.topology_hints && virt_tsc_hint_requirement(p->vmi) != VIRT_TSC_NOT_REQUIRED)
        return 0;
    if (!storage->ready)
        return 0;
    if (is_migrating_elsewhere(p))
        return vmi_fail(p, VMI_FAILED_CREATE, "active migration exists");
    if (vmi_ensure_backend_storage(p, &backend_claim) < 0 || check_container_paths(p) < 0 ||
        render(p, storage->waits_for_consumer, backend_claim, &pod) < 0 || validate_networks(p) < 0)
        return -1;
    return create_launcher(p, pod);
}

/* ---- a Pod that is there ---- */

static bool goes_at_once(const struct core_pod *pod)
{
    const int64_t *grace = pod->metadata.deletion_grace_period_seconds;

    return api_is_being_deleted(&pod->metadata) && grace && *grace == 0;
}

/* As in the reference the event comes also for one that has not run yet, and so stays until it has. */
static int delete_temporary(struct vmi_pass *p, const struct virt_pods *pods)
{
    static const char *const served[] = {"Running", "Succeeded", "Failed"};
    struct kube_error error = {0};

    for (size_t i = 0; i < pods->n; i++) {
        const struct core_pod *pod = pods->items[i];

        if (!virt_pod_is_temporary(pod))
            continue;
        if (kb_in_list(pod->status.phase, served, KB_ARRAY_LEN(served)) && !goes_at_once(pod) &&
            vmi_delete_pod(p, pod, 0, &error) < 0) {
            vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_DELETE,
                      "Failed to delete WaitForFirstConsumer temporary pod %s", pod->metadata.name);
            return vmi_fail(p, VMI_FAILED_HOTPLUG_SYNC, "failed to clean up temporary pods: %s", error.message);
        }
        vmi_event(p, KUBE_EVENT_NORMAL, VMI_SUCCESSFUL_DELETE, "Deleted WaitForFirstConsumer temporary pod %s",
                  pod->metadata.name);
    }
    return 0;
}

/* Stand-ins for claims that wait no more: the VMI's own, and triggers of hotplugged volumes. */
static int delete_all_temporary(struct vmi_pass *p)
{
    const struct virt_pods triggers = virt_pods_controlled_by(p->request, p->pod->metadata.uid);

    return delete_temporary(p, &p->pods) < 0 || delete_temporary(p, &triggers) < 0 ? -1 : 0;
}

/* The gate may have been switched off since the VMI was made: then nothing put the containers into the Pod. */
static int check_virtiofs(struct vmi_pass *p)
{
    struct kb_strbuf missing = {.arena = p->arena};

    api_list_foreach (volume, &p->vmi->spec.volumes) {
        const char *container = kb_arena_printf(p->arena, "virtiofs-%s", volume->name);

        if (volume->container_path && is_virtiofs(p->vmi, volume->name) && !virt_pod_container(p->pod, container))
            kb_strbuf_printf(&missing, "%s%s", missing.length > 0 ? " " : "", container);
    }
    if (missing.length == 0)
        return 0;
    vmi_event(p, KUBE_EVENT_WARNING, VMI_MISSING_VIRTIOFS,
              "Pod sync error: pod is missing virtiofs containers for ContainerPath volumes: [%s]",
              kb_strbuf_text(&missing));
    return vmi_fail(p, VMI_MISSING_VIRTIOFS, "pod is missing virtiofs containers for ContainerPath volumes: [%s]",
                    kb_strbuf_text(&missing));
}

static int keep(struct vmi_pass *p, const struct vmi_storage_state *storage)
{
    if (!storage->waits_for_consumer && delete_all_temporary(p) < 0)
        return -1;
    if (!vmi_launcher(p))
        return 0;
    if (check_virtiofs(p) < 0)
        return -1;
    if (!virt_pod_is_ready(p->pod))
        return 0;
    p->serves = true;
    return vmi_sync_hotplug(p);
}

int vmi_sync(struct vmi_pass *p)
{
    struct vmi_storage_state storage;

    if (api_is_being_deleted(&p->vmi->metadata))
        return delete_pods(p);
    if (virt_vmi_is_final(p->vmi))
        return delete_attachments(p);
    vmi_delete_orphaned_attachments(p);
    if (vmi_check_volumes(p, &storage) < 0)
        return -1;
    if (virt_vmi_is_migration_target(p->vmi) && !virt_vmi_has_target_node(p->vmi))
        return 0;
    return p->pod ? keep(p, &storage) : start(p, &storage);
}
