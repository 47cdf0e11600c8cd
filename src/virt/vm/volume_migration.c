/*
 * Moving volumes of a running VM to other claims: with updateVolumesStrategy Migration, a claim that is changed in the
 * template becomes the target of a live migration of the volume.
 *
 *     may move           VMI: status.migratedVolumes (from, to) and the new claims in spec.volumes, in one patch;
 *                        VM: status.volumeUpdateState. The VMI controller then sets VolumesChange, and the workload
 *                        updater migrates. A target that was just made is given a moment to be bound.
 *     target missing     VMI: VolumesChange False, which says what is missing; its creation brings the VM back here
 *     can't be migrated  VM: RestartRequired
 *     put back meanwhile VMI: old claims, VolumesChange False / VolumesChangeCancellation
 *     VMI lost meanwhile VM: ManualRecoveryRequired, until the old claims are put back: data may be on either side
 *
 * What may move is decided in volume_migration_rules.c. Source: the reference's watch/volume-migration, and
 * handleVolumeUpdateRequest and syncVolumeMigration of watch/vm/vm.go.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/storage/volumes.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define MANUAL_RECOVERY_REASON "VMI was removed or was final during the volume migration"

/* ---- what goes where ---- */

static struct kv_pvc_info *claim_info(struct vm_pass *pass, const char *claim, const struct core_pvc *pvc)
{
    struct kv_pvc_info *info = kb_arena_one(pass->arena, struct kv_pvc_info);
    info->claim_name = claim;
    if (!pvc)
        return info;
    info->volume_mode = pvc->spec.volume_mode;
    info->access_modes = pvc->spec.access_modes;
    info->requests = pvc->spec.resources.requests;
    info->capacity = pvc->status.capacity;
    return info;
}

/* From the claims of the VMI to those of the template, where they differ. */
static struct kv_storage_migrated_volume_info_list find_moves(struct vm_pass *pass)
{
    struct kv_storage_migrated_volume_info_list moves = {0};
    const char *namespace = pass->vm->metadata.namespace;
    api_list_foreach (volume, &pass->vm->spec.template->spec.volumes) {
        const char *to = virt_volume_claim(volume);
        const struct kv_volume *present = vm_find_volume(&pass->vmi->spec, volume->name);
        const char *from = present ? virt_volume_claim(present) : "";
        if (!*to || !*from || kb_streq(to, from))
            continue;
        *kb_vec_push(pass->arena, &moves) = (struct kv_storage_migrated_volume_info){
            .volume_name = volume->name,
            .source_pvc_info = claim_info(pass, from, virt_claim(pass->req, namespace, from)),
            .destination_pvc_info = claim_info(pass, to, virt_claim(pass->req, namespace, to)),
        };
    }
    return moves;
}

/* The claims that a receiving VM has for the volumes that come from elsewhere. */
static struct kv_storage_migrated_volume_info_list find_arrivals(struct vm_pass *pass)
{
    struct kv_storage_migrated_volume_info_list arrivals = {0};
    api_list_foreach (volume, &pass->vm->spec.template->spec.volumes) {
        const char *claim = virt_volume_claim(volume);
        const struct core_pvc *pvc = *claim ? virt_claim(pass->req, pass->vm->metadata.namespace, claim) : NULL;
        if (!pvc)
            continue;
        struct kv_storage_migrated_volume_info *arrival = kb_vec_push(pass->arena, &arrivals);
        arrival->volume_name = volume->name;
        arrival->destination_pvc_info = claim_info(pass, claim, pvc);
    }
    return arrivals;
}

/* The volumes of a move get what the template says; the others stay as the VMI has them. */
static void take_claims(struct vm_pass *pass, struct kv_vmi *vmi,
                        const struct kv_storage_migrated_volume_info_list *moves)
{
    const struct kv_vmi_spec *template = &pass->vm->spec.template->spec;
    api_list_foreach (move, moves)
        for (size_t i = 0; i < vmi->spec.volumes.n; i++) {
            const struct kv_volume *wanted = vm_find_volume(template, move->volume_name);
            if (wanted && kb_streq(vmi->spec.volumes.items[i].name, move->volume_name))
                vmi->spec.volumes.items[i] = *wanted;
        }
}

/* ---- steps ---- */

static int cancel(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    take_claims(pass, after, &pass->vmi->status.migrated_volumes);
    virt_vmi_set_condition(pass->arena, after,
                           &(struct kv_vmi_condition){.type = VM_CONDITION_VOLUMES_CHANGE,
                                                      .status = VIRT_FALSE,
                                                      .reason = VM_REASON_VOLUMES_CHANGE_CANCELLED,
                                                      .last_transition_time = kube_now_text(pass->req)});
    after->status.migrated_volumes = (struct kv_storage_migrated_volume_info_list){0};
    return vm_update_vmi(pass, after, reterr);
}

static int tell_missing(struct vm_pass *pass, const char *what, struct kube_error *reterr)
{
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    virt_vmi_set_condition(
        pass->arena, after,
        &(struct kv_vmi_condition){
            .type = VM_CONDITION_VOLUMES_CHANGE,
            .status = VIRT_FALSE,
            .message = kb_arena_printf(pass->arena, "One of the destination volumes doesn't exist: %s", what),
            .last_transition_time = kube_now_text(pass->req)});
    return vm_update_vmi(pass, after, reterr);
}

static void record(struct vm_pass *pass, const struct kv_storage_migrated_volume_info_list *moves)
{
    struct kv_volume_update_state **state = &pass->vm->status.volume_update_state;
    if (!*state)
        *state = kb_arena_one(pass->arena, struct kv_volume_update_state);
    (*state)->volume_migration_state = kb_arena_one(pass->arena, struct kv_volume_migration_state);
    (*state)->volume_migration_state->migrated_volumes = *moves;
}

static int begin(struct vm_pass *pass, const struct kv_storage_migrated_volume_info_list *moves,
                 struct kube_error *reterr)
{
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    virt_vmi_remove_condition(after, VM_CONDITION_VOLUMES_CHANGE);
    if (after->status.migrated_volumes.n == 0)
        after->status.migrated_volumes = *moves;
    take_claims(pass, after, &after->status.migrated_volumes);
    if (vm_update_vmi(pass, after, reterr) < 0)
        return -1;
    record(pass, moves);
    return 0;
}

/* The move is under way; the VM may not know it yet, when its status could not be written after the VMI. */
static void go_on(struct vm_pass *pass)
{
    const struct kv_storage_migrated_volume_info_list *moves = &pass->vmi->status.migrated_volumes;
    const struct kv_volume_update_state *state = pass->vm->status.volume_update_state;
    if (moves->n && !(state && state->volume_migration_state))
        record(pass, moves);
}

static bool settles(struct vm_pass *pass, const struct kv_pvc_info *info)
{
    const struct core_pvc *pvc = virt_claim(pass->req, pass->vm->metadata.namespace, info->claim_name);
    return pvc && vm_claim_is_about_to_be_bound(pass, pvc);
}

/* A claim that was just made is bound in a moment, and then tells its size, which is recorded with the move. */
static bool claims_settle(struct vm_pass *pass, const struct kv_storage_migrated_volume_info_list *moves)
{
    api_list_foreach (move, moves)
        if (settles(pass, move->source_pvc_info) || settles(pass, move->destination_pvc_info))
            return true;
    return false;
}

/* One move at a time: further volumes wait for the end of the one that is under way, or make a restart necessary. */
static int migrate(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_storage_migrated_volume_info_list moves = find_moves(pass);
    bool moving = virt_vmi_condition_is(pass->vmi, VM_CONDITION_VOLUMES_CHANGE, VIRT_TRUE);
    if (moves.n == 0 || moving)
        go_on(pass);
    if (moves.n == 0)
        return 0;
    const char *missing, *refusal = vm_refuse_moves(pass, &missing);
    if (missing)
        return moving ? 0 : tell_missing(pass, missing, reterr);
    if (!refusal)
        refusal = vm_refuse_storage_migration(pass->arena, pass->vmi, &moves);
    if (refusal) {
        vm_require_restart(pass, refusal);
        return 0;
    }
    return moving || claims_settle(pass, &moves) ? 0 : begin(pass, &moves, reterr);
}

/* Also before the VMI controller has told of the move in a condition. */
static int update(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmi_spec *template = &pass->vm->spec.template->spec;
    if (vm_moves_changed(template, pass->vmi)) {
        if (vm_moves_reverted(template, pass->vmi))
            return cancel(pass, reterr);
        if (virt_vmi_condition_is(pass->vmi, VM_CONDITION_VOLUMES_CHANGE, VIRT_TRUE))
            return kube_error_set(reterr, KUBE_ERROR_INVALID,
                                  "The volume can only be reverted to the previous version during the update");
    }
    const char *strategy = pass->vm->spec.update_volumes_strategy;
    if (!strategy || kb_streq(strategy, VM_REPLACE_VOLUMES))
        return 0;
    if (!kb_streq(strategy, VM_MIGRATE_VOLUMES))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "updateVolumes strategy not recognized: %s", strategy);
    return migrate(pass, reterr);
}

static int receive(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmim_state *migration = pass->vmi->status.migration_state;
    if ((migration && migration->completed) || pass->vmi->status.migrated_volumes.n)
        return 0;
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    after->status.migrated_volumes = find_arrivals(pass);
    return vm_update_vmi(pass, after, reterr);
}

static bool is_receiver(const struct kv_vm *vm)
{
    return vm->spec.run_strategy && kb_streq(vm->spec.run_strategy, VM_WAIT_AS_RECEIVER);
}

int vm_sync_volume_update(struct vm_pass *pass, struct kube_error *reterr)
{
    return pass->vmi && !is_receiver(pass->vm) ? update(pass, reterr) : 0;
}

int vm_sync_receiver_volumes(struct vm_pass *pass, struct kube_error *reterr)
{
    return pass->vmi && is_receiver(pass->vm) ? receive(pass, reterr) : 0;
}

/* ---- status ---- */

static bool has_old_claims(const struct kv_vm *vm)
{
    api_list_foreach (move, &vm->status.volume_update_state->volume_migration_state->migrated_volumes) {
        const struct kv_volume *volume = vm_find_volume(&vm->spec.template->spec, move->volume_name);
        if (volume && move->source_pvc_info && !kb_streq(virt_volume_claim(volume), move->source_pvc_info->claim_name))
            return false;
    }
    return true;
}

static bool was_cancelled(const struct kv_vmi *vmi)
{
    const struct kv_vmi_condition *change = virt_vmi_condition(vmi, VM_CONDITION_VOLUMES_CHANGE);
    return change && kb_streq(change->status, VIRT_FALSE) &&
           kb_streq(change->reason, VM_REASON_VOLUMES_CHANGE_CANCELLED);
}

void vm_update_volume_migration(struct kb_arena *arena, struct kv_vm *vm, const struct kv_vmi *vmi)
{
    struct kv_volume_update_state *state = vm->status.volume_update_state;
    if (!state || !state->volume_migration_state)
        return;
    const char *strategy = vm->spec.update_volumes_strategy;
    if (!strategy || !kb_streq(strategy, VM_MIGRATE_VOLUMES) || has_old_claims(vm)) {
        state->volume_migration_state = NULL;
        virt_vm_remove_condition(vm, VM_CONDITION_VOLUMES_CHANGE);
        virt_vm_remove_condition(vm, VM_CONDITION_MANUAL_RECOVERY);
    } else if (vmi && !virt_vmi_is_final(vmi)) {
        if (was_cancelled(vmi))
            state->volume_migration_state = NULL;
    } else if (virt_vm_condition_is(vm, VM_CONDITION_VOLUMES_CHANGE, VIRT_TRUE)) {
        virt_vm_set_condition(arena, vm,
                              &(struct kv_vm_condition){.type = VM_CONDITION_MANUAL_RECOVERY,
                                                        .status = VIRT_TRUE,
                                                        .reason = MANUAL_RECOVERY_REASON});
    }
}
