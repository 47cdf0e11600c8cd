/*
 * The VirtualMachine controller: keeps the VMI that a VM asks for, by its run strategy.
 *
 * key      namespace/name of a VM
 * reads    VM, VMI of the same name, DataVolumes and PVCs of its volumes, ControllerRevisions of its starts, instance
 *          types and preferences, KubeVirt
 * writes   VM (annotations, finalizer, firmware UUID; status), VMI (create, delete, live updates), DataVolumes of
 *          templates, ControllerRevisions; events on the VM
 * rules    the reference's pkg/virt-controller/watch/vm/vm.go; facts: events-conditions-core.md section 2
 *
 * The first pass over a VM may only write it (welcome). Every other one:
 *
 *     adopt -> deletion or finalizer -> generations -> instance type -> DataVolumes -> run strategy (start, stop)
 *           -> restart required? -> networks, firmware UUID, volumes, metadata, live updates
 *           -> write the VM if it changed -> status
 *
 * The VM is written at most twice: what is outside of status once, status once.
 */
#include "base/log.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"
#include <stdlib.h>

#define ORPHAN_FINALIZER "orphan"             /* metav1.FinalizerOrphanDependents */
#define CALM_NS          (250 * KB_NS_PER_MS) /* a VMI that starts changes often: its VM repeats that in one write */

int vm_fail(struct vm_pass *pass, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pass->failure = (struct vm_failure){reason, kb_arena_vprintf(pass->arena, format, args)};
    va_end(args);
    return VM_END;
}

void vm_event(struct vm_pass *pass, const char *type, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = kb_arena_vprintf(pass->arena, format, args);
    va_end(args);
    kube_event(pass->context->vm_recorder, &kv_vm_type, pass->vm, type, reason, "%s", message);
}

bool vm_expectations_met(struct vm_pass *pass)
{
    return kube_request_satisfied(pass->req, pass->controller->vmis, pass->key) &&
           kube_request_satisfied(pass->req, pass->controller->data_volumes, pass->key);
}

static bool is_stamped(const struct kv_vm *vm)
{
    const char *version = api_map_get(&vm->metadata.annotations, VIRT_ANNOTATION_LATEST_API);
    return version && kb_streq(version, VIRT_API_VERSION);
}

/* The working copy anew: what is stored, with the status that the pass has derived. */
static void start_over(struct vm_pass *pass)
{
    struct kv_vm_status derived = pass->vm->status;
    pass->vm = KUBE_EDIT(pass->req, kv_vm, pass->stored);
    pass->vm->status = derived;
}

int vm_write_spec(struct vm_pass *pass, struct kube_error *reterr)
{
    const void *answer = pass->stored;
    if (kube_update(pass->req, &kv_vm_type, pass->stored, pass->vm, &answer, reterr) < 0)
        return -1;
    if (answer == pass->stored)
        return 0;
    pass->stored = answer;
    start_over(pass);
    return 0;
}

static void add_finalizer(struct vm_pass *pass)
{
    struct meta_object_meta *meta = &pass->vm->metadata;
    if (!api_is_being_deleted(meta) && !api_has_finalizer(meta, VIRT_FINALIZER_VM))
        api_strings_add(pass->arena, &meta->finalizers, VIRT_FINALIZER_VM);
}

static void stamp(struct vm_pass *pass)
{
    struct api_string_map *annotations = &pass->vm->metadata.annotations;
    api_map_set(pass->arena, annotations, VIRT_ANNOTATION_LATEST_API, VIRT_API_VERSION);
    api_map_set(pass->arena, annotations, VIRT_ANNOTATION_STORAGE_API, VIRT_API_VERSION);
    add_finalizer(pass);
}

/*
 * Whether the first write of a VM must come before anything else: it puts the VM whole, as the reference does, and
 * where that changes the spec it makes the generation that the names of revisions end in. A plain VM that has its form
 * already is written at the end of its first pass, in one with everything else.
 */
static bool needs_welcome(const struct vm_pass *pass)
{
    const struct kv_vm *vm = pass->stored;
    const char *error;
    return !api_object_is_in_form(api_object_of(vm)) || api_is_being_deleted(&vm->metadata) || vm->spec.instancetype ||
           vm->spec.preference || vm->spec.data_volume_templates.n || !vm_run_strategy(vm, &error) ||
           kube_lookup(pass->req, VIRT_VMI, vm->metadata.namespace, vm->metadata.name);
}

static int welcome(struct vm_pass *pass, struct kube_error *reterr)
{
    if (kube_replace(pass->req, &kv_vm_type, pass->stored, pass->vm, NULL, reterr) < 0)
        return kube_error_wrap(reterr, "writing the VirtualMachine for the first time");
    return KUBE_DONE; /* the write brings the key back */
}

/* The VMI of the VM's name: owned, adopted when nobody owns it, and otherwise none of ours. */
static int claim_vmi(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct meta_object_meta *meta = &pass->vm->metadata;
    const struct kv_vmi *vmi = kube_lookup(pass->req, VIRT_VMI, meta->namespace, meta->name);
    if (!vmi || api_is_controlled_by(&vmi->metadata, meta->uid)) {
        pass->vmi = vmi;
        return 0;
    }
    if (api_controller_of(&vmi->metadata) || api_is_being_deleted(meta) || api_is_being_deleted(&vmi->metadata))
        return 0;
    const void *adopted;
    if (vm_adopt(pass, &kv_vmi_type, vmi, &adopted, reterr) < 0)
        return kube_error_is_not_found(reterr) ? 0 : -1;
    pass->vmi = adopted;
    return 0;
}

static void end_hold_of_deletion(struct vm_controller *controller, const char *key)
{
    virt_holds_end_deletion(controller->context->deletions, kv_vm_type.resource->kind, key);
}

/* The VMI goes first. Its VM tells of that when it takes longer than a moment. */
static int wait_for_vmi(struct vm_pass *pass)
{
    int64_t left = vm_hold_deletion(pass);
    if (left > 0) {
        pass->untold = true;
        kube_request_later(pass->req, left);
    }
    return VM_END;
}

static int delete_vm(struct vm_pass *pass, struct kube_error *reterr)
{
    struct meta_object_meta *meta = &pass->vm->metadata;
    if (!vm_expectations_met(pass))
        return wait_for_vmi(pass);
    if (pass->vmi && !api_has_finalizer(meta, ORPHAN_FINALIZER)) {
        struct kube_error error = {0};
        if (vm_stop(pass, &error) < 0)
            return vm_fail(pass, VM_REASON_DELETE_FAILED, "Failure attempting to delete VMI: %s", error.message);
        return wait_for_vmi(pass);
    }
    api_strings_remove(&meta->finalizers, VIRT_FINALIZER_VM);
    if (vm_write_spec(pass, reterr) < 0)
        return kube_error_wrap(reterr, "removing the finalizer");
    end_hold_of_deletion(pass->controller, pass->key);       /* whoever else keeps the VM */
    pass->untold = pass->stored->metadata.finalizers.n == 0; /* gone: there is no status to write any more */
    return VM_END;
}

/* Created on every pass, also of stopped VMs, unless an annotation says no: then they come with the start. */
static int sync_data_volumes_early(struct vm_pass *pass, const char *strategy)
{
    const char *immediate = api_map_get(&pass->vm->metadata.annotations, VIRT_ANNOTATION_IMMEDIATE_DV);
    if (immediate && kb_streq(immediate, "false"))
        return VM_NEXT;
    struct kube_error error = {0};
    bool ready;
    if (vm_sync_data_volumes(pass, &ready, &error) < 0)
        return vm_fail(pass, VM_REASON_CREATE_FAILED, "Error encountered while creating DataVolumes: %s",
                       error.message);
    return ready || kb_streq(strategy, VM_HALTED) ? VM_NEXT : VM_END;
}

static int sync_firmware(struct vm_pass *pass, struct kube_error *reterr)
{
    (void)reterr;
    vm_persist_firmware_uuid(pass);
    return 0;
}

static int sync_topology(struct vm_pass *pass, struct kube_error *reterr)
{
    (void)reterr;
    vm_sync_pci_topology(pass);
    return 0;
}

/* What a VM gets beside its VMI, in this order. A step that fails ends the pass, and tells why in the condition
 * Failure. */
struct step {
    int (*sync)(struct vm_pass *pass, struct kube_error *reterr);
    const char *reason, *what;
};
static const struct step steps[] = {
    {vm_sync_networks, VM_REASON_NETWORK_FAILED, "error encountered when trying to patch vmi"},
    {sync_firmware, VM_REASON_FIRMWARE_FAILED, ""},
    {vm_sync_volume_requests, VM_REASON_HOTPLUG_FAILED, "Error encountered while handling volume hotplug requests"},
    {vm_sync_declared_volumes, VM_REASON_HOTPLUG_FAILED,
     "Error encountered while handling declarative hotplug volumes"},
    {vm_sync_memory_dump, VM_REASON_MEMORY_DUMP_FAILED, "Error encountered while handling memory dump request"},
    {vm_sync_metadata_to_vmi, VM_REASON_METADATA_FAILED,
     "Error encountered while handling annotation and labels sync request"},
    {sync_topology, VM_REASON_METADATA_FAILED, ""},
};
/* Changes of a running VMI: only with the rollout strategy LiveUpdate, and when no restart is required anyway. */
static const struct step live_steps[] = {
    {vm_update_cpu, VM_REASON_CPU_FAILED, "Error encountered while handling CPU change request"},
    {vm_update_affinity, VM_REASON_AFFINITY_FAILED, "Error encountered while handling node affinity change request"},
    {vm_update_tolerations, VM_REASON_TOLERATIONS_FAILED,
     "Error encountered while handling tolerations change request"},
    {vm_update_memory, VM_REASON_MEMORY_FAILED, "error encountered while handling memory hotplug requests"},
    {vm_sync_receiver_volumes, VM_REASON_VOLUMES_FAILED,
     "error encountered while handling wait as receiver volume migration requests"},
    {vm_sync_volume_update, VM_REASON_VOLUMES_FAILED, "error encountered while handling volumes update requests"},
};

/* What the steps before made of the VM is not written: the next pass does it again. The firmware UUID stays: nothing
 * that fails later has to do with it. */
static void forget_changes(struct vm_pass *pass)
{
    const struct kv_firmware *firmware = pass->vm->spec.template->spec.domain.firmware;
    start_over(pass);
    if (is_stamped(pass->stored))
        add_finalizer(pass);
    else
        stamp(pass);
    if (firmware && !kb_empty(firmware->uuid))
        vm_persist_firmware_uuid(pass);
}

static int take_steps(struct vm_pass *pass, const struct step *list, size_t n, struct kube_error *reterr)
{
    for (size_t i = 0; i < n; i++) {
        struct kube_error error = {0};
        if (list[i].sync(pass, &error) == 0)
            continue;
        if (kube_error_is_conflict(&error)) {
            *reterr = error;
            return -1;
        }
        forget_changes(pass);
        return vm_fail(pass, list[i].reason, "%s: %s", list[i].what, error.message);
    }
    return VM_NEXT;
}

static int sync_rest(struct vm_pass *pass, struct kube_error *reterr)
{
    enum vm_restart restart = pass->restart;
    const char *message = pass->restart_message;
    int status = take_steps(pass, steps, KB_ARRAY_LEN(steps), reterr);
    if (status == VM_NEXT && vm_updates_live(pass) && !vm_restart_is_required(pass))
        status = take_steps(pass, live_steps, KB_ARRAY_LEN(live_steps), reterr);
    pass->settled = status == VM_NEXT;
    if (!pass->settled) { /* a step that asked for a restart is heard when those after it go through, too */
        pass->restart = restart;
        pass->restart_message = message;
    }
    return status;
}

static int sync(struct vm_pass *pass, struct kube_error *reterr)
{
    if (api_is_being_deleted(&pass->vm->metadata))
        return delete_vm(pass, reterr);
    if (!vm_expectations_met(pass))
        return VM_END;
    add_finalizer(pass);
    if (vm_bump_vmi_generation(pass, reterr) < 0)
        return -1;
    const char *error, *strategy = vm_run_strategy(pass->vm, &error);
    if (!strategy) {
        pass->untold = true;
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "Error fetching RunStrategy: %s", error);
    }
    bool was_started = pass->vmi;
    int status = vm_sync_instancetype(pass, reterr);
    if (status == VM_NEXT)
        status = sync_data_volumes_early(pass, strategy);
    if (status == VM_NEXT)
        status = vm_sync_run_strategy(pass, strategy, reterr);
    if (status != VM_NEXT || pass->untold)
        return status;
    if (was_started && vm_sync_restart_required(pass, reterr) < 0)
        return -1;
    return vm_expectations_met(pass) ? sync_rest(pass, reterr) : VM_NEXT;
}

/* KubeVirt's CRD and its webhook refuse a VM without a template. One that was stored all the same is left alone, and
 * can go; its status, which is made from the template, stays as it is. */
static int sync_without_template(struct vm_pass *pass, struct kube_error *reterr)
{
    if (!api_is_being_deleted(&pass->vm->metadata))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "spec.template: expected the template of the VMI");
    int status = delete_vm(pass, reterr);
    pass->untold = true;
    return status;
}

/* A VM that the API server refuses is told of in its status; what was to be changed is forgotten. A conflict is none:
 * the next pass has the newer VM. */
static int write_spec_or_tell(struct vm_pass *pass, struct kube_error *reterr)
{
    if (vm_write_spec(pass, reterr) == 0)
        return 0;
    if (reterr->kind != KUBE_ERROR_API || kube_error_is_conflict(reterr) || kube_error_is_not_found(reterr))
        return kube_error_wrap(reterr, "updating the VirtualMachine");
    vm_fail(pass, VM_REASON_UPDATE_FAILED,
            "Error encountered when trying to update vm according to add volume and/or memory dump requests: %s",
            reterr->message);
    start_over(pass);
    pass->settled = false;
    return 0;
}

static int write_all(struct vm_pass *pass, struct kube_error *reterr)
{
    if (write_spec_or_tell(pass, reterr) < 0)
        return -1;
    vm_settle_restart_required(pass);
    return vm_update_status(pass, reterr);
}

static int finish(struct vm_pass *pass, struct kube_error *reterr)
{
    if (!pass->untold && write_all(pass, reterr) < 0)
        return -1;
    if (pass->failure.reason)
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "%s", pass->failure.message);
    return KUBE_DONE;
}

static int reconcile(void *self, struct kube_request *req, struct kube_error *reterr)
{
    struct vm_controller *controller = self;
    const char *key = kube_request_key(req), *error;
    const struct kv_vm *stored = kube_lookup(req, VIRT_VM, kube_request_namespace(req), kube_request_name(req));
    if (!stored) {
        kube_expectations_forget(controller->vmis, key);
        kube_expectations_forget(controller->data_volumes, key);
        virt_holds_end(controller->starting, key);
        end_hold_of_deletion(controller, key);
        virt_holds_end(controller->ending, key);
        return KUBE_DONE;
    }
    struct vm_pass pass = {
        .controller = controller,
        .context = controller->context,
        .req = req,
        .arena = kube_arena(req),
        .config = virt_request_config(controller->context, req),
        .key = key,
        .stored = stored,
        .vm = KUBE_EDIT(req, kv_vm, stored),
        .strategy = vm_run_strategy(stored, &error),
    };
    if (!is_stamped(stored)) {
        stamp(&pass);
        if (needs_welcome(&pass))
            return welcome(&pass, reterr);
    }
    if (claim_vmi(&pass, reterr) < 0)
        return -1;
    if (!stored->spec.template)
        return sync_without_template(&pass, reterr) < 0 ? -1 : finish(&pass, reterr);
    if (vm_adopt_data_volumes(&pass, reterr) < 0)
        return -1;
    int status = sync(&pass, reterr);
    if (pass.untold && vm_update_volume_statuses(&pass, status < 0 ? NULL : reterr) < 0)
        return -1;
    return status < 0 ? -1 : finish(&pass, reterr);
}

/* ---- which VM does a change concern? ---- */

/* By name, checked against the UID: a VM of the same name that came later is another one. */
static const struct kv_vm *owner_of(struct kube_enqueuer *to, const struct meta_object_meta *meta)
{
    const struct meta_owner_reference *owner = api_controller_of(meta);
    if (!owner || !kb_streq(owner->kind, "VirtualMachine"))
        return NULL;
    const struct kv_vm *vm = kube_lookup(kube_enqueuer_request(to), VIRT_VM, meta->namespace, owner->name);
    return vm && kb_streq(vm->metadata.uid, owner->uid) ? vm : NULL;
}

static void enqueue_vm(struct kube_enqueuer *to, const struct kv_vm *vm)
{
    if (vm)
        kube_enqueue(to, vm->metadata.namespace, vm->metadata.name);
}

static const char *key_of(struct kube_enqueuer *to, const struct meta_object_meta *meta)
{
    return api_key(kube_arena(kube_enqueuer_request(to)), meta);
}

static void map_vmi(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    struct vm_controller *controller = self;
    const struct kv_vmi *old = before, *now = after, *vmi = now ? now : old;
    const struct kv_vm *vm = owner_of(to, &vmi->metadata);
    if (old && now && api_controller_of(&old->metadata) && owner_of(to, &old->metadata) != vm)
        enqueue_vm(to, owner_of(to, &old->metadata));
    if (!vm) { /* an orphan: the VM of its name may adopt it */
        if (now && !api_controller_of(&now->metadata))
            kube_enqueue(to, vmi->metadata.namespace, vmi->metadata.name);
        return;
    }
    const char *key = key_of(to, &vm->metadata);
    if (!now || api_is_being_deleted(&now->metadata))
        kube_deletion_observed_of(controller->vmis, key, key_of(to, &vmi->metadata));
    else if (!old)
        kube_creation_observed(controller->vmis, key);
    if (old && now && virt_vmi_is_final(old) == virt_vmi_is_final(now))
        kube_enqueue_after(to, key, CALM_NS);
    else
        enqueue_vm(to, vm);
}

static void enqueue_index(struct kube_enqueuer *to, const char *index, const char *key)
{
    struct kube_items vms = kube_lookup_index(kube_enqueuer_request(to), VIRT_VM, index, key);
    for (size_t i = 0; i < vms.n; i++)
        enqueue_vm(to, vms.items[i]);
}

static void map_data_volume(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    struct vm_controller *controller = self;
    const struct cdi_data_volume *dv = after ? after : before;
    const struct kv_vm *vm = owner_of(to, &dv->metadata);
    if (vm && after && !before && !api_is_being_deleted(&dv->metadata))
        kube_creation_observed(controller->data_volumes, key_of(to, &vm->metadata));
    enqueue_vm(to, vm);
    enqueue_index(to, VIRT_INDEX_DV, key_of(to, &dv->metadata));
    enqueue_index(to, VIRT_INDEX_PVC, key_of(to, &dv->metadata));
}

/* Another phase changes what a VM waits for, another class whether it can be snapshotted; a claim that comes or goes
 * changes both. The claim of a VM's persistent state names it in a label. */
static void map_claim(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    (void)self;
    const struct core_pvc *old = before, *now = after, *pvc = now ? now : old;
    if (old && now && kb_streq(old->status.phase, now->status.phase) &&
        api_is_being_deleted(&old->metadata) == api_is_being_deleted(&now->metadata) &&
        kb_streq_null(old->spec.storage_class_name, now->spec.storage_class_name))
        return;
    enqueue_index(to, VIRT_INDEX_DV, key_of(to, &pvc->metadata));
    enqueue_index(to, VIRT_INDEX_PVC, key_of(to, &pvc->metadata));
    const char *owner = api_map_get(&pvc->metadata.labels, VIRT_LABEL_PERSISTENT_STATE);
    if (owner)
        enqueue_vm(to, kube_lookup(kube_enqueuer_request(to), VIRT_VM, pvc->metadata.namespace, owner));
}

static const struct kube_watch watches[] = {
    {VIRT_VM, kube_map_to_self},
    {VIRT_VMI, map_vmi},
    {VIRT_DATA_VOLUME, map_data_volume},
    {VIRT_PVC, map_claim},
    {VIRT_STORAGE_CLASS, vm_map_storage_class},
    {VIRT_STORAGE_PROFILE, vm_map_storage_profile},
    {VIRT_VOLUME_SNAPSHOT_CLASS, vm_map_snapshot_class},
    {VIRT_KUBEVIRT, vm_map_kubevirt},
    {VIRT_NAMESPACE, vm_map_namespace},
};
static const int needs[] = {VIRT_CONTROLLER_REVISION,  VIRT_DATA_SOURCE, VIRT_INSTANCETYPE,
                            VIRT_CLUSTER_INSTANCETYPE, VIRT_PREFERENCE,  VIRT_CLUSTER_PREFERENCE};

static const struct kube_controller definition = {
    .name = "vm",
    .queue_name = "virt-controller-vm",
    .kind = "VirtualMachine",
    .threads = 3,
    .watches = watches,
    .n_watches = KB_ARRAY_LEN(watches),
    .needs = needs,
    .n_needs = KB_ARRAY_LEN(needs),
    .reconcile = reconcile,
};

static void end(void *data)
{
    struct vm_controller *controller = data;
    virt_holds_free(controller->starting);
    virt_holds_free(controller->ending);
    kube_expectations_free(controller->vmis);
    kube_expectations_free(controller->data_volumes);
    free(controller);
}

void virt_vm_controller_add(struct virt_context *context, int threads)
{
    struct vm_controller *controller = kb_malloc(sizeof(*controller));
    struct kb_clock *clock = kube_client_clock(context->client);
    *controller = (struct vm_controller){
        .context = context,
        .vmis = kube_expectations_new(clock),
        .data_volumes = kube_expectations_new(clock),
        .starting = virt_holds_new(clock),
        .ending = virt_holds_new(clock),
    };
    kube_runtime_at_end(context->runtime, end, controller);
    kube_runtime_add_controller(context->runtime, &definition, controller, threads);
}
