/*
 * What the files of the VirtualMachine controller share: the state of one pass over one VM, and the steps that it is
 * made of.
 *
 * A step returns VM_NEXT, VM_END (the rest of the pass is skipped, the status is still brought up to date; a failure
 * may stand in pass->failure) or a negative number with reterr set (the pass is given up and tried again).
 */
#ifndef VIRT_VM_VM_INTERNAL_H
#define VIRT_VM_VM_INTERNAL_H

#include "api/types/apps.h"
#include "api/types/cdi.h"
#include "api/types/kv.h"
#include "kube/expectations.h"
#include "kube/request.h"
#include "virt/context.h"
#include "virt/holds.h"
#include "virt/instancetype/instancetype.h"
#include "virt/vmis.h"

struct vm_controller {
    struct virt_context *context;
    struct kube_expectations *vmis, *data_volumes; /* by key of the VM */
    struct virt_holds *starting;                   /* VMs whose VMI this process made; its UID */
    struct virt_holds *ending;                     /* VMs that are being deleted and whose VMI has ended; its UID */
};

/* What the condition Failure tells. */
struct vm_failure {
    const char *reason; /* NULL: none */
    const char *message;
};

/* Does the running VMI need a restart to become what the template asks for? Unknown: the condition stays as it is. */
enum vm_restart { VM_RESTART_UNKNOWN, VM_RESTART_NOT_NEEDED, VM_RESTART_NEEDED };

struct vm_pass {
    struct vm_controller *controller;
    struct virt_context *context;
    struct kube_request *req;
    struct kb_arena *arena;
    const struct virt_config *config;
    const char *key;
    const struct kv_vm *stored; /* the newest state known to be in the API server */
    struct kv_vm *vm;           /* the working copy: what it should be */
    const char *strategy;       /* of the VM as the pass found it; NULL: it names two */
    const struct kv_vmi *vmi;   /* of the VM's name and owned by it, or NULL */
    struct vm_failure failure;
    bool untold; /* the status is left as it is, but for what is known of the volumes */
    enum vm_restart restart;
    const char *restart_message;           /* NULL: the condition's own */
    const struct kv_vm *with_instancetype; /* the VM with its instance type applied, once asked for */
    struct {
        const struct apps_controller_revision *revision; /* pinned by the request */
        const struct kv_vm_spec *spec;
    } decoded; /* revision.c: the start revision that was asked for last */
    /* Of the instance type, in the pass that stores its revision; NULL otherwise. */
    const struct api_string_map *annotations_of_new_instancetype;
    bool settled; /* every step was taken: VMI and VM agree, unless a restart is required */
};

enum { VM_NEXT = 0, VM_END = 1 };

/* Sets pass->failure; returns VM_END. `reason` is static. */
int vm_fail(struct vm_pass *pass, const char *reason, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool vm_expectations_met(struct vm_pass *pass);
void vm_event(struct vm_pass *pass, const char *type, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Writes what differs outside of status, if anything does; the working copy keeps its status. */
int vm_write_spec(struct vm_pass *pass, struct kube_error *reterr);

/* ---- requests.c: pure ---- */

/* "Always", "Halted", ...; NULL with *ret_error when both running and runStrategy are set. */
const char *vm_run_strategy(const struct kv_vm *vm, const char **ret_error);
bool vm_has_start_request(const struct kv_vm *vm);
bool vm_has_start_paused_request(const struct kv_vm *vm);
bool vm_has_stop_request_for(const struct kv_vm *vm, const struct kv_vmi *vmi);
/* The first request has been done, or can't be done any more. */
bool vm_first_request_is_done(const struct kv_vm *vm, const struct kv_vmi *vmi);
/* RerunOnFailure, without a VMI: it was asked to start, or the strategy is new. */
bool vm_starts_again(const struct kv_vm *vm);
bool vm_is_set_to_start(const struct kv_vm *vm, const struct kv_vmi *vmi);

/* ---- run_strategy.c, start.c ---- */

int vm_sync_run_strategy(struct vm_pass *pass, const char *strategy, struct kube_error *reterr);
int vm_start(struct vm_pass *pass, struct kube_error *reterr); /* 0, or negative with the text for FailedCreate */
int vm_stop(struct vm_pass *pass, struct kube_error *reterr);

/* ---- instancetype.c ---- */

struct virt_instancetype_lookups vm_instancetype_lookups(struct vm_pass *pass);
int vm_sync_instancetype(struct vm_pass *pass, struct kube_error *reterr);

/* ---- restart_required.c, live_update.c ---- */

/* Reaches the verdict; live updates may still change it. */
int vm_sync_restart_required(struct vm_pass *pass, struct kube_error *reterr);
void vm_require_restart(struct vm_pass *pass, const char *message);
bool vm_restart_is_required(const struct vm_pass *pass);
/* Puts the verdict into the conditions: at the end of a pass. */
void vm_settle_restart_required(struct vm_pass *pass);

/* Rollout strategy LiveUpdate. */
bool vm_updates_live(const struct vm_pass *pass);
int vm_with_instancetype(struct vm_pass *pass, const struct kv_vm **ret, struct kube_error *reterr);
/* 1: a VMI runs, and *ret is what it should become; 0: none does; negative: the instance type can't be applied. */
int vm_live_update(struct vm_pass *pass, const struct kv_vmi_spec **ret, struct kube_error *reterr);
/* Writes what differs, if anything does; pass->vmi becomes the answer. */
int vm_update_vmi(struct vm_pass *pass, const struct kv_vmi *after, struct kube_error *reterr);
/* The same with a patch that names its own preconditions. */
int vm_json_patch_vmi(struct vm_pass *pass, struct kube_json_patch *patch, struct kube_error *reterr);
int vm_sync_networks(struct vm_pass *pass, struct kube_error *reterr);
int vm_update_cpu(struct vm_pass *pass, struct kube_error *reterr);
int vm_update_affinity(struct vm_pass *pass, struct kube_error *reterr);
int vm_update_tolerations(struct vm_pass *pass, struct kube_error *reterr);
int vm_update_memory(struct vm_pass *pass, struct kube_error *reterr);

/* ---- revision.c ---- */

/* Makes sure that the start revision of this generation exists and no older one does; *ret_name is in the arena. */
int vm_write_revision(struct vm_pass *pass, const char **ret_name, struct kube_error *reterr);
/* The VM spec that the running VMI was started from; NULL: there is no revision. */
int vm_last_start_spec(struct vm_pass *pass, const struct kv_vm_spec **ret, struct kube_error *reterr);
/* Raises the VMI's generation annotation when only things that don't concern the VMI have changed. */
int vm_bump_vmi_generation(struct vm_pass *pass, struct kube_error *reterr);
/* status.observedGeneration and desiredGeneration. */
int vm_sync_generations(struct vm_pass *pass, struct kube_error *reterr);

/* ---- data_volumes.c ---- */

/* Creates what the templates ask for. *ret_ready: all are populated far enough. Negative: reterr has the inner text. */
int vm_sync_data_volumes(struct vm_pass *pass, bool *ret_ready, struct kube_error *reterr);
/* Adopts those named in templates that nobody owns. */
int vm_adopt_data_volumes(struct vm_pass *pass, struct kube_error *reterr);
int vm_adopt(struct vm_pass *pass, const struct api_type *type, const void *object, const void **ret,
             struct kube_error *reterr);

/* ---- data_volume_clone.c ---- */

/* Puts the source that the DataVolume clones (of its DataSource, or its own) into spec.source, with its namespace. */
int vm_resolve_clone_source(struct vm_pass *pass, struct cdi_data_volume *dv, struct kube_error *reterr);
/* May the VM's service account clone what the resolved DataVolume clones? Tells of a missing source by an event. */
int vm_check_clone(struct vm_pass *pass, const struct cdi_data_volume *dv, struct kube_error *reterr);

/* ---- volume_requests.c, volume_hotplug.c, memory_dump.c ---- */

const struct kv_volume *vm_find_volume(const struct kv_vmi_spec *spec, const char *name); /* or NULL */
const struct kv_disk *vm_find_disk(const struct kv_vmi_spec *spec, const char *name);
void vm_remove_volume(struct kv_vmi_spec *spec, const char *name);

int vm_sync_volume_requests(struct vm_pass *pass, struct kube_error *reterr);
int vm_sync_declared_volumes(struct vm_pass *pass, struct kube_error *reterr);
/* Gives the VMI the hotpluggable volumes and their disks that the template has: pure. */
void vm_declare_volumes(struct kb_arena *arena, const struct kv_vmi_spec *template, struct kv_vmi *vmi);

int vm_sync_memory_dump(struct vm_pass *pass, struct kube_error *reterr);
/* The next phase of the request; false: the request is done and goes. Pure. */
bool vm_next_memory_dump(const struct kv_vmi_spec *template, const struct kv_vmi *vmi,
                         struct kv_vm_memory_dump_request *request);
void vm_update_memory_dump(struct vm_pass *pass);
/* A dump that is past InProgress is not made again by the next start. */
void vm_drop_done_memory_dump(const struct kv_vm *vm, struct kv_vmi_spec *spec);

/* ---- changed_blocks.c ---- */

/* The next state. `vmi_state` NULL: no VMI; return NULL: no state at all. Pure. */
const char *vm_tracking_state(bool gate, bool wanted, const char *state, const char *vmi_state);
void vm_sync_tracking_state(struct vm_pass *pass);
/* The state that a VMI is started with. */
void vm_start_tracking(struct vm_pass *pass, struct kv_vmi *vmi);

/* ---- volume_migration.c, volume_migration_rules.c ---- */

int vm_sync_volume_update(struct vm_pass *pass, struct kube_error *reterr);
int vm_sync_receiver_volumes(struct vm_pass *pass, struct kube_error *reterr);
/* status.volumeUpdateState and the conditions that go with it: pure. */
void vm_update_volume_migration(struct kb_arena *arena, struct kv_vm *vm, const struct kv_vmi *vmi);

/* The template has other claims for volumes that are being moved. */
bool vm_moves_changed(const struct kv_vmi_spec *template, const struct kv_vmi *vmi);
/* It has exactly the claims from before the move. */
bool vm_moves_reverted(const struct kv_vmi_spec *template, const struct kv_vmi *vmi);
/* Why the volumes with new claims can't be moved; NULL: they can. *ret_missing: a target is not there (yet), and which;
 * then NULL is returned. */
const char *vm_refuse_moves(struct vm_pass *pass, const char **ret_missing);
/* Why a VMI can't be migrated together with these volumes; NULL: it can. Pure. */
const char *vm_refuse_storage_migration(struct kb_arena *arena, const struct kv_vmi *vmi,
                                        const struct kv_storage_migrated_volume_info_list *list);

/* ---- firmware.c, metadata.c ---- */

const char *vm_firmware_uuid(struct kb_arena *arena, const char *vm_name);
/* Gives the template a firmware UUID where it has none. */
void vm_persist_firmware_uuid(struct vm_pass *pass);
int vm_sync_metadata_to_vmi(struct vm_pass *pass, struct kube_error *reterr);
void vm_sync_pci_topology(struct vm_pass *pass);

/* ---- status.c, hold.c, printable_status.c, start_failure.c, volume_snapshot_status.c ---- */

int vm_update_status(struct vm_pass *pass, struct kube_error *reterr);

/* hold.c: how long to wait before the status that was derived is written, before a deletion is told of; 0: now. */
int64_t vm_hold_start(const struct vm_pass *pass);
int64_t vm_hold_deletion(const struct vm_pass *pass);
/* Before the finalizer of a VMI that has ended is taken away. */
int64_t vm_hold_release(const struct vm_pass *pass);

/* What printableStatus is decided from, besides VM and VMI. */
struct vm_facts {
    bool start_expected, stop_expected;
    bool data_volume_error, data_volume_provisioning, unbound_claim;
    int64_t now_ns;
};
const char *vm_printable_status(const struct kv_vm *vm, const struct kv_vmi *vmi, const struct vm_facts *facts);

int64_t vm_start_backoff_left_s(const struct kv_vm *vm, int64_t now_ns);
void vm_sync_start_failure(struct vm_pass *pass);
void vm_sync_volume_snapshot_statuses(struct vm_pass *pass);
/* Writes these alone. */
int vm_update_volume_statuses(struct vm_pass *pass, struct kube_error *reterr);

/* ---- mappings.c: changes that concern many VMs ---- */

void vm_map_storage_class(void *self, struct kube_enqueuer *to, const void *before, const void *after);
void vm_map_storage_profile(void *self, struct kube_enqueuer *to, const void *before, const void *after);
void vm_map_snapshot_class(void *self, struct kube_enqueuer *to, const void *before, const void *after);
void vm_map_kubevirt(void *self, struct kube_enqueuer *to, const void *before, const void *after);
void vm_map_namespace(void *self, struct kube_enqueuer *to, const void *before, const void *after);

/* ---- unbound_claims.c ---- */

const struct core_pvc *vm_unbound_claim(struct vm_pass *pass); /* the first one; NULL: all that there are are bound */
/* A claim so young that it is not worth to act on its not being bound; the pass comes back when it is not any more. */
bool vm_claim_is_about_to_be_bound(struct vm_pass *pass, const struct core_pvc *pvc);
/* Sets the condition ClaimsUnbound when the claim can't be bound, or takes long; NULL removes it. */
void vm_explain_unbound_claim(struct vm_pass *pass, const struct core_pvc *pvc);

#endif
