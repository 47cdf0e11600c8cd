/*
 * The status of a VM at the end of a pass: pure derivations on the working copy, then one write if anything differs.
 * Source: the reference's updateStatus, watch/vm/vm.go.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* ---- conditions ---- */

static void sync_ready_condition(struct vm_pass *pass)
{
    const char *now = kube_now_text(pass->req);
    struct kv_vm_condition ready = {
        .type = VM_CONDITION_READY, .status = VIRT_FALSE, .last_probe_time = now, .last_transition_time = now};
    const struct kv_vmi_condition *vmi = pass->vmi ? virt_vmi_condition(pass->vmi, "Ready") : NULL;
    if (vmi) {
        ready = (struct kv_vm_condition){.type = VM_CONDITION_READY,
                                         .status = vmi->status,
                                         .reason = vmi->reason,
                                         .message = vmi->message,
                                         .last_probe_time = vmi->last_probe_time,
                                         .last_transition_time = vmi->last_transition_time};
    } else if (pass->vmi) {
        ready.reason = "VMIConditionMissing";
        ready.message = "VMI is missing the Ready condition";
    } else {
        ready.reason = "VMINotExists";
        ready.message = "VMI does not exist";
    }
    virt_vm_set_condition(pass->arena, pass->vm, &ready);
}

static void sync_failure_condition(struct vm_pass *pass)
{
    if (!pass->failure.reason) {
        virt_vm_remove_condition(pass->vm, VM_CONDITION_FAILURE);
        return;
    }
    struct kv_vm_condition failure = {.type = VM_CONDITION_FAILURE,
                                      .status = VIRT_TRUE,
                                      .reason = pass->failure.reason,
                                      .message = pass->failure.message,
                                      .last_transition_time = kube_now_text(pass->req)};
    virt_vm_set_condition(pass->arena, pass->vm, &failure);
}

static bool is_of_vm_alone(const char *type)
{
    static const char *const own[] = {VM_CONDITION_READY, VM_CONDITION_FAILURE, VM_CONDITION_RESTART_REQUIRED,
                                      VM_CONDITION_CLAIMS_UNBOUND};
    return kb_in_list(type, own, KB_ARRAY_LEN(own));
}

/* The VMI's conditions stand on the VM, too, and go with it... as long as there is a VMI. */
static void sync_vmi_conditions(struct vm_pass *pass)
{
    if (!pass->vmi)
        return;
    api_list_foreach (vmi, &pass->vmi->status.conditions) {
        if (is_of_vm_alone(vmi->type))
            continue;
        struct kv_vm_condition copy = {.type = vmi->type,
                                       .status = vmi->status,
                                       .reason = vmi->reason,
                                       .message = vmi->message,
                                       .last_probe_time = vmi->last_probe_time,
                                       .last_transition_time = vmi->last_transition_time};
        virt_vm_set_condition(pass->arena, pass->vm, &copy);
    }
    struct kv_vm_condition_list *conditions = &pass->vm->status.conditions;
    for (size_t i = conditions->n; i-- > 0;)
        if (!is_of_vm_alone(conditions->items[i].type) && !virt_vmi_condition(pass->vmi, conditions->items[i].type))
            kb_vec_remove(conditions, i);
}

/* ---- facts for printableStatus ---- */

static const struct cdi_data_volume *data_volume_of(struct vm_pass *pass, const struct kv_volume *volume)
{
    if (!volume->data_volume)
        return NULL;
    return kube_lookup(pass->req, VIRT_DATA_VOLUME, pass->vm->metadata.namespace, volume->data_volume->name);
}

static bool has_error(const struct cdi_data_volume *dv)
{
    const struct cdi_data_volume_condition *running = virt_data_volume_condition(dv, "Running");
    return kb_streq(dv->status.phase, "Failed") ||
           (running && kb_streq(running->status, VIRT_FALSE) &&
            (kb_streq(running->reason, "Error") || kb_streq(running->reason, "ImagePullFailed")));
}

static bool is_provisioning(const struct cdi_data_volume *dv)
{
    if (kb_streq(dv->status.phase, "Succeeded") || kb_streq(dv->status.phase, "PendingPopulation"))
        return false;
    const struct cdi_data_volume_condition *bound = virt_data_volume_condition(dv, "Bound");
    return (bound && kb_streq(bound->status, VIRT_TRUE)) || !kb_streq(dv->status.phase, "WaitForFirstConsumer");
}

static struct vm_facts find_facts(struct vm_pass *pass, bool unbound)
{
    struct kube_expectations *vmis = pass->controller->vmis;
    struct vm_facts facts = {
        .start_expected = kube_creations_expected(vmis, pass->key),
        .stop_expected = kube_deletions_expected(vmis, pass->key),
        .unbound_claim = unbound,
        .now_ns = kube_now(pass->req),
    };
    api_list_foreach (volume, &pass->vm->spec.template->spec.volumes) {
        const struct cdi_data_volume *dv = data_volume_of(pass, volume);
        facts.data_volume_error |= dv && has_error(dv);
        facts.data_volume_provisioning |= dv && is_provisioning(dv);
    }
    return facts;
}

/* Once a VMI is with its node, an unbound claim is no reason for it to wait. */
static bool is_yet_to_run(const struct vm_pass *pass)
{
    return vm_is_set_to_start(pass->vm, pass->vmi) &&
           (!pass->vmi || virt_vmi_is_unprocessed(pass->vmi) || kb_streq(pass->vmi->status.phase, "Scheduling"));
}

/* ---- requests ---- */

static bool volume_request_is_done(const struct kv_vmi_spec *spec, const struct kv_vm_volume_request *request)
{
    bool add = request->add_volume_options;
    const char *name = add                              ? request->add_volume_options->name
                       : request->remove_volume_options ? request->remove_volume_options->name
                                                        : "";
    return (vm_find_volume(spec, name) != NULL) == add && (vm_find_disk(spec, name) != NULL) == add;
}

static void trim_requests(struct vm_pass *pass)
{
    struct kv_vm_status *status = &pass->vm->status;
    for (size_t i = status->volume_requests.n; i-- > 0;)
        if (volume_request_is_done(&pass->vm->spec.template->spec, &status->volume_requests.items[i]))
            kb_vec_remove(&status->volume_requests, i);
    vm_update_memory_dump(pass);
    if (vm_first_request_is_done(pass->vm, pass->vmi))
        kb_vec_remove(&status->state_change_requests, 0);
}

/* ---- the VMI's finalizer: held until its end has been recorded here ---- */

static int release_vmi(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmi *vmi = pass->vmi;
    if (!vmi || !api_has_finalizer(&vmi->metadata, VIRT_FINALIZER_VM))
        return 0;
    if (!virt_vmi_is_final(vmi) &&
        !(virt_vmi_is_phase(vmi, VIRT_PHASE_WAITING_FOR_SYNC) && api_is_being_deleted(&vmi->metadata)))
        return 0;
    int64_t hold = vm_hold_release(pass);
    if (hold > 0) {
        kube_request_later(pass->req, hold);
        return 0;
    }
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, vmi);
    api_strings_remove(&after->metadata.finalizers, VIRT_FINALIZER_VM);
    struct kube_json_patch patch = kube_json_patch_new(pass->req);
    kube_json_patch_member(&patch, &kv_vmi_type, vmi, after, "metadata.finalizers", true);
    int status =
        kube_patch(pass->req, &kv_vmi_type, vmi, NULL, KUBE_JSON_PATCH, kube_json_patch_text(&patch), NULL, reterr);
    return status < 0 && kube_error_is_not_found(reterr) ? 0 : status;
}

int vm_update_status(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_vm_status *status = &pass->vm->status;
    status->created = pass->vmi;
    status->ready = pass->vmi && virt_vmi_condition_is(pass->vmi, "Ready", VIRT_TRUE);
    if (pass->vmi && vm_sync_generations(pass, reterr) < 0)
        return -1;
    if (*status->run_strategy || status->created)
        status->run_strategy = pass->strategy ? pass->strategy : "";
    trim_requests(pass);
    vm_sync_start_failure(pass);
    vm_update_volume_migration(pass->arena, pass->vm, pass->vmi); /* before the VMI's conditions are copied */
    sync_ready_condition(pass);
    sync_failure_condition(pass);
    sync_vmi_conditions(pass);
    const struct core_pvc *unbound = vm_unbound_claim(pass);
    vm_explain_unbound_claim(pass, is_yet_to_run(pass) ? unbound : NULL);
    struct vm_facts facts = find_facts(pass, unbound);
    status->printable_status = vm_printable_status(pass->vm, pass->vmi, &facts);
    vm_sync_tracking_state(pass);
    vm_sync_volume_snapshot_statuses(pass);
    int64_t hold = vm_hold_start(pass);
    if (hold > 0) {
        kube_request_later(pass->req, hold);
        return 0;
    }
    const void *answer = pass->stored;
    if (kube_update_status(pass->req, &kv_vm_type, pass->stored, pass->vm, &answer, reterr) < 0)
        return kube_error_wrap(reterr, "updating the status");
    virt_holds_end(pass->controller->starting, pass->key);
    return release_vmi(pass, reterr);
}
