/*
 * The VMI as it should stand in the API, derived from what the pass gathered. Nothing is written here; a part that
 * can't be derived leaves an error, and the parts before it stand.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/defaults/defaults.h"
#include "virt/names.h"
#include "virt/network/interfaces.h"
#include "virt/topology.h"

/* ---- facts for the phase machine ---- */

static bool lacks_guarantee(const struct vmi_pass *p)
{
    return virt_vmi_is_cpu_dedicated(p->vmi) && !kb_streq(p->pod->status.qos_class, VMI_QOS_GUARANTEED);
}

static struct vmi_phase_facts gather_facts(const struct vmi_pass *p)
{
    const struct kv_vmi *vmi = p->vmi;
    const struct core_pod *launcher = vmi_launcher(p);
    const struct kv_vmim_state *migration = vmi->status.migration_state;
    const bool temporary = p->pod && !launcher;
    const bool failed_volume = virt_data_volumes_any(&p->data_volumes, VIRT_DV_FAILED);

    return (struct vmi_phase_facts){
        .had_pod = vmi_had_pod(p),
        .pod = launcher != NULL,
        .temporary_pod = temporary,
        .pod_ready = launcher && virt_pod_is_ready(launcher),
        .pod_down = launcher && virt_pod_is_down(launcher),
        .pod_down_or_going = launcher && virt_pod_is_down_or_going(launcher),
        .temporary_pod_failed = temporary && virt_pod_is_failed_or_going(p->pod),
        .being_deleted = api_is_being_deleted(&vmi->metadata),
        .data_volume_failed = failed_volume,
        .waits_for_consumer =
            !failed_volume && virt_data_volumes_any(&p->data_volumes, VIRT_DV_WAIT_FOR_FIRST_CONSUMER),
        .migration_target = virt_vmi_is_migration_target(vmi),
        .target_node_known = virt_vmi_has_target_node(vmi),
        .target_failed = virt_vmi_is_migration_target(vmi) && migration && migration->failed,
        .lacks_guarantee = launcher && lacks_guarantee(p),
        .moved_away = launcher && kb_streq(launcher->status.phase, "Succeeded") && migration && migration->completed &&
                      virt_vmi_is_decentralized_migration(vmi),
    };
}

/* ---- in every phase ---- */

static void rename_finalizer(struct vmi_pass *p, struct kv_vmi *after)
{
    if (api_strings_remove(&after->metadata.finalizers, VIRT_FINALIZER_VMI_OLD) &&
        !api_strings_has(&after->metadata.finalizers, VIRT_FINALIZER_VMI))
        api_strings_add(p->arena, &after->metadata.finalizers, VIRT_FINALIZER_VMI);
}

static void set_active_pods(struct vmi_pass *p, struct kv_vmi *after)
{
    if (p->pods.n == 0 && !after->status.active_pods.items)
        return;
    after->status.active_pods.n = 0;
    for (size_t i = 0; i < p->pods.n; i++)
        api_map_set(p->arena, &after->status.active_pods, p->pods.items[i]->metadata.uid,
                    p->pods.items[i]->spec.node_name);
}

static const char *dv_ready_status(const struct cdi_data_volume *volume)
{
    api_list_foreach (condition, &volume->status.conditions)
        if (kb_streq(condition->type, "Ready"))
            return condition->status;
    return VIRT_UNKNOWN;
}

static void set_data_volumes_ready(struct vmi_pass *p, struct kv_vmi *after)
{
    struct kv_vmi_condition condition = {
        .type = VMI_DVS_READY,
        .status = VIRT_TRUE,
        .reason = VMI_REASON_ALL_DVS_READY,
        .message = "All of the VMI's DVs are bound and ready",
        .last_probe_time = "",
        .last_transition_time = "",
    };

    if (p->data_volumes.n == 0)
        return;
    for (size_t i = 0; i < p->data_volumes.n; i++) {
        const char *status = dv_ready_status(p->data_volumes.items[i]);

        if (kb_streq(status, VIRT_TRUE))
            continue;
        condition.reason = VMI_REASON_NOT_ALL_DVS_READY;
        condition.message = "Not all of the VMI's DVs are ready";
        if (kb_streq(status, VIRT_FALSE) || kb_streq(condition.status, VIRT_TRUE))
            condition.status = status;
    }
    virt_vmi_set_condition(p->arena, after, &condition);
}

static void set_eviction(struct vmi_pass *p, struct kv_vmi *after)
{
    const char *now = kube_now_text(p->request);
    const struct kv_vmi_condition condition = {
        .type = VMI_EVICTION_REQUESTED,
        .status = VIRT_TRUE,
        .last_probe_time = now,
        .last_transition_time = now,
        .reason = VMI_REASON_EVICTION_REQUESTED,
        .message = "VMI is marked for eviction",
    };

    if (!*after->status.evacuation_node_name)
        virt_vmi_remove_condition(after, VMI_EVICTION_REQUESTED);
    else if (!virt_vmi_condition_is(after, VMI_EVICTION_REQUESTED, VIRT_TRUE))
        virt_vmi_set_condition(p->arena, after, &condition);
}

/* ---- before there is a launcher ---- */

static int set_topology_hints(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr)
{
    const enum virt_tsc_requirement requirement = virt_tsc_hint_requirement(p->vmi);
    struct kube_error error = {0};
    int64_t *frequency;

    if (after->status.topology_hints || requirement == VIRT_TSC_NOT_REQUIRED)
        return 0;
    frequency = kb_arena_one(p->arena, int64_t);
    if (virt_lowest_tsc_frequency(p->request, p->config, frequency, &error) < 0) {
        if (requirement != VIRT_TSC_FOR_BOOT)
            return 0;
        kube_error_wrap(&error, "failed to determine the lowest tsc frequency on the cluster");
        vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_TOPOLOGY, "%s", error.message);
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", error.message);
    }
    after->status.topology_hints = kb_arena_one(p->arena, struct kv_topology_hints);
    after->status.topology_hints->tsc_frequency = frequency;
    return 0;
}

/* Also when only the message differs. */
static void replace_condition(struct vmi_pass *p, struct kv_vmi *after, const struct kv_vmi_condition *condition)
{
    const struct kv_vmi_condition *present = virt_vmi_condition(after, condition->type);

    if (present && kb_streq(present->status, condition->status) && kb_streq(present->reason, condition->reason) &&
        kb_streq(present->message, condition->message))
        return;
    virt_vmi_remove_condition(after, condition->type);
    virt_vmi_set_condition(p->arena, after, condition);
}

static void set_provisioning(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts)
{
    const struct kv_vmi_condition provisioning = {.type = VMI_PROVISIONING,
                                                  .status = VIRT_TRUE,
                                                  .last_probe_time = "",
                                                  .last_transition_time = "",
                                                  .reason = "",
                                                  .message = ""};

    if (facts->waits_for_consumer && !virt_vmi_condition(after, VMI_PROVISIONING))
        virt_vmi_set_condition(p->arena, after, &provisioning);
    if (facts->waits_for_consumer && facts->temporary_pod)
        vmi_set_pod_scheduled(p, after);
    if (p->sync.reason && kb_streq(p->sync.reason, VMI_FAILED_PVC_NOT_FOUND))
        replace_condition(p, after,
                          &(struct kv_vmi_condition){.type = VMI_POD_SCHEDULED,
                                                     .status = VIRT_FALSE,
                                                     .last_probe_time = "",
                                                     .last_transition_time = "",
                                                     .reason = VMI_REASON_UNSCHEDULABLE,
                                                     .message = p->sync.message});
}

/* What a launcher Pod that is not handed over yet says. */
static void set_from_launcher(struct vmi_pass *p, struct kv_vmi *after)
{
    virt_vmi_remove_condition(after, VMI_PROVISIONING);
    after->status.qos_class = *p->pod->status.qos_class ? p->pod->status.qos_class : NULL;
    vmi_set_pod_scheduled(p, after);
    vmi_note_image_error(p);
}

/* ---- while it is scheduled ---- */

static int allocate_cid(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr)
{
    const bool *wanted = p->vmi->spec.domain.devices.autoattach_vsock;
    uint32_t cid;
    int64_t *value;

    if (!wanted || !*wanted)
        return 0;
    if (!vmi_cids_allocate(p->controller->cids, kube_request_key(p->request), kube_request_random(p->request), &cid))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "CIDs exhausted");
    value = kb_arena_one(p->arena, int64_t);
    *value = cid;
    after->status.vsockcid = value;
    return 0;
}

/* virt-handler of the Pod's node takes over; what it needs is in the status from now on. */
static int hand_over(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr)
{
    const struct core_pod *pod = p->pod;

    if (vmi_set_volume_status(p, after, reterr) < 0)
        return -1;
    virt_set_interface_status(p->arena, after, pod);
    api_map_set(p->arena, &after->metadata.labels, VIRT_LABEL_NODE_NAME, pod->spec.node_name);
    after->status.node_name = pod->spec.node_name;
    if (api_map_has(&pod->metadata.annotations, VIRT_ANNOTATION_MIGRATION_UNIX))
        after->status.migration_transport = VMI_TRANSPORT_UNIX;
    return allocate_cid(p, after, reterr);
}

static int derive_scheduling(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                             struct kube_error *reterr)
{
    virt_vmi_remove_condition(after, VMI_PROVISIONING);
    if (!facts->pod)
        return 0;
    set_from_launcher(p, after);
    if (!facts->pod_ready || facts->being_deleted)
        return 0;
    if (!facts->lacks_guarantee)
        return hand_over(p, after, reterr);
    vmi_event_later(p, KUBE_EVENT_WARNING, VMI_FAILED_GUARANTEE, "failed to guarantee pod resources");
    vmi_tell(p, VMI_FAILED_GUARANTEE, "failed to guarantee pod resources");
    return 0;
}

static int derive_unprocessed(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                              struct kube_error *reterr)
{
    if (facts->pod || facts->had_pod)
        return derive_scheduling(p, after, facts, reterr);
    if (facts->being_deleted || facts->data_volume_failed)
        return 0;
    if (set_topology_hints(p, after, reterr) < 0)
        return -1;
    if (!facts->migration_target || facts->target_node_known)
        set_provisioning(p, after, facts);
    return 0;
}

static int derive_scheduled(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                            struct kube_error *reterr)
{
    if (!kb_streq(vmi_next_phase(VIRT_PHASE_SCHEDULED, facts), VIRT_PHASE_SCHEDULED))
        return 0;
    return vmi_set_volume_status(p, after, reterr);
}

/* ---- while it runs, and after ---- */

static int derive_running(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                          struct kube_error *reterr)
{
    if (!facts->pod || facts->moved_away)
        return 0;
    if (vmi_set_volume_status(p, after, reterr) < 0)
        return -1;
    virt_set_interface_status(p->arena, after, p->pod);
    vmi_set_updates(p, after);
    return 0;
}

static const struct kv_vm *owner_of(const struct vmi_pass *p)
{
    const struct meta_owner_reference *owner = api_controller_of(&p->vmi->metadata);
    const struct kv_vm *vm;

    if (!owner || !kb_streq(owner->kind, "VirtualMachine"))
        return NULL;
    vm = kube_lookup(p->request, VIRT_VM, p->vmi->metadata.namespace, owner->name);
    return vm && kb_streq(vm->metadata.uid, owner->uid) ? vm : NULL;
}

static void let_go(struct kv_vmi *after)
{
    api_strings_remove(&after->metadata.finalizers, VIRT_FINALIZER_VMI_OLD);
    api_strings_remove(&after->metadata.finalizers, VIRT_FINALIZER_VMI);
}

/* The VM controller's finalizer is the VM's business while there is one that records. */
static void let_vm_go(struct vmi_pass *p, const struct kv_vm *vm, struct kv_vmi *after)
{
    if (after->metadata.finalizers.n > 0 && virt_vm_is_done_with(vm, p->vmi))
        api_strings_remove(&after->metadata.finalizers, VIRT_FINALIZER_VM);
}

static int derive_final(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                        struct kube_error *reterr)
{
    const struct kv_vm *vm = owner_of(p);

    (void)facts;
    (void)reterr;
    if (p->pods.n == 0) {
        let_go(after);
        vmi_set_launcher_image(p, after, "");
    }
    if (p->pods.n == 0 || !vm)
        let_vm_go(p, vm, after);
    return 0;
}

static int derive_waiting(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                          struct kube_error *reterr)
{
    (void)reterr;
    if (!facts->being_deleted)
        return 0;
    let_go(after);
    let_vm_go(p, owner_of(p), after);
    return 0;
}

static const struct {
    const char *phase;
    int (*derive)(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                  struct kube_error *reterr);
} parts[] = {
    {"", derive_unprocessed},
    {VIRT_PHASE_PENDING, derive_unprocessed},
    {VIRT_PHASE_SCHEDULING, derive_scheduling},
    {VIRT_PHASE_SCHEDULED, derive_scheduled},
    {VIRT_PHASE_RUNNING, derive_running},
    {VIRT_PHASE_SUCCEEDED, derive_final},
    {VIRT_PHASE_FAILED, derive_final},
    {VIRT_PHASE_WAITING_FOR_SYNC, derive_waiting},
};

static int derive_part(struct vmi_pass *p, struct kv_vmi *after, const struct vmi_phase_facts *facts,
                       struct kube_error *reterr)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(parts); i++)
        if (kb_streq(parts[i].phase, p->vmi->status.phase))
            return parts[i].derive(p, after, facts, reterr);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "unknown vmi phase %s", p->vmi->status.phase);
}

int vmi_derive(struct vmi_pass *p, struct kv_vmi **ret, struct kube_error *reterr)
{
    struct kv_vmi *after = KUBE_EDIT(p->request, kv_vmi, p->vmi);
    struct vmi_phase_facts facts = gather_facts(p);
    int r;

    *ret = after;
    rename_finalizer(p, after);
    if (p->rendered || (virt_vmi_is_unprocessed(p->vmi) && facts.pod)) {
        virt_default_probes(&after->spec);
        virt_vmi_wrap_probes(p->arena, after);
    }
    set_active_pods(p, after);
    vmi_set_ready(p, after);
    if (facts.pod) {
        const struct core_container *compute = virt_pod_container(p->pod, "compute");

        vmi_set_launcher_image(p, after, compute ? compute->image : "");
    }
    set_data_volumes_ready(p, after);
    vmi_set_backend_status(p, after);
    if (facts.pod && virt_gate(p->config, VIRT_GATE_VMI_MEMORY_OVERHEAD_REPORT))
        vmi_set_memory_overhead(p, after);
    r = derive_part(p, after, &facts, reterr);
    if (r < 0 && virt_vmi_is_unprocessed(p->vmi) && facts.pod) {
        facts.pod_ready = false; /* it has a Pod, and says so; that it can't be handed over is for the next pass */
        r = 0;
    }
    if (r == 0)
        after->status.phase = vmi_next_phase(p->vmi->status.phase, &facts);
    set_eviction(p, after);
    return r;
}
