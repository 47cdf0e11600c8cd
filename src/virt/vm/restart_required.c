/*
 * The condition RestartRequired: what the template asks for now differs from what the VMI was started from, in more
 * than can change live. Both sides are compared with their instance types applied. Source: the reference's
 * syncRestartRequired, watch/vm/vm.go; texts: events-conditions-core.md 2.5.
 *
 * The verdict is reached during a pass (pass->restart) and put into the conditions once, at its end, so that a
 * condition that stays the same is not written again and again.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/network/live_update.h"
#include "virt/storage/volumes.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* ---- volumes and disks that may differ ---- */

static const struct kv_volume *volume_of(const struct kv_vmi_spec *spec, const char *name)
{
    api_list_foreach (volume, &spec->volumes)
        if (kb_streq(volume->name, name))
            return volume;
    return NULL;
}

static const struct kv_disk *disk_of(const struct kv_vmi_spec *spec, const char *name)
{
    api_list_foreach (disk, &spec->domain.devices.disks)
        if (kb_streq(disk->name, name))
            return disk;
    return NULL;
}

static bool is_hotplugged(const struct kv_vmi_spec *spec, const char *name)
{
    const struct kv_volume *volume = volume_of(spec, name);
    return volume && virt_volume_is_hotplug(volume);
}

static bool migrates_volumes(const struct kv_vm *vm)
{
    return vm->spec.update_volumes_strategy && kb_streq(vm->spec.update_volumes_strategy, "Migration");
}

static bool volumes_are_live(const struct kv_vmi_spec *before, const struct kv_vm *vm)
{
    const struct kv_vmi_spec *now = &vm->spec.template->spec;
    api_list_foreach (volume, &now->volumes) {
        const struct kv_volume *old = volume_of(before, volume->name);
        if (virt_volume_is_hotplug(volume))
            continue;
        if (!old)
            return false;
        if ((volume->persistent_volume_claim || volume->data_volume) && migrates_volumes(vm))
            continue;
        if (!api_equal(&kv_volume_type, old, volume))
            return false;
    }
    api_list_foreach (old, &before->volumes)
        if (!volume_of(now, old->name) && !virt_volume_is_hotplug(old))
            return false;
    return true;
}

static bool disks_are_live(const struct kv_vmi_spec *before, const struct kv_vmi_spec *now)
{
    api_list_foreach (disk, &now->domain.devices.disks) {
        const struct kv_disk *old = disk_of(before, disk->name);
        if (!is_hotplugged(now, disk->name) && (!old || !api_equal(&kv_disk_type, old, disk)))
            return false;
    }
    api_list_foreach (old, &before->domain.devices.disks) {
        if (disk_of(now, old->name))
            continue;
        if (old->cdrom || (volume_of(before, old->name) && !is_hotplugged(before, old->name)))
            return false;
    }
    return true;
}

/* ---- comparing ---- */

/* From here on `before` is what it would have to be for nothing to need a restart. */
static void ignore_live_members(struct vm_pass *pass, struct kv_vmi_spec *before, const struct kv_vmi_spec *now)
{
    if (before->domain.cpu && now->domain.cpu)
        before->domain.cpu->sockets = now->domain.cpu->sockets;
    if (now->domain.memory && now->domain.memory->guest) {
        if (!before->domain.memory)
            before->domain.memory = kb_arena_one(pass->arena, struct kv_memory);
        before->domain.memory->guest = now->domain.memory->guest;
    }
    before->node_selector = now->node_selector;
    before->affinity = now->affinity;
    before->tolerations = now->tolerations;
}

/* A UUID that this controller has written into the template since the start is the one that runs. */
static void ignore_known_uuid(struct vm_pass *pass, struct kv_vmi_spec *before, const struct kv_vmi_spec *now)
{
    const struct kv_firmware *running = pass->vmi->spec.domain.firmware, *wanted = now->domain.firmware;
    if (!running || !wanted || !kb_streq(running->uuid, wanted->uuid))
        return;
    if (!before->domain.firmware)
        before->domain.firmware = kb_arena_one(pass->arena, struct kv_firmware);
    before->domain.firmware->uuid = wanted->uuid;
}

static bool needs_restart(struct vm_pass *pass, struct kv_vmi_spec *before, const struct kv_vm *vm)
{
    const struct kv_vmi_spec *now = &vm->spec.template->spec;
    if (volumes_are_live(before, vm))
        before->volumes = now->volumes;
    if (disks_are_live(before, now))
        before->domain.devices.disks = now->domain.devices.disks;
    if (vm_updates_live(pass))
        ignore_live_members(pass, before, now);
    if (!virt_network_needs_restart(pass->arena, now, &pass->vmi->spec)) {
        before->domain.devices.interfaces = now->domain.devices.interfaces;
        before->networks = now->networks;
    }
    ignore_known_uuid(pass, before, now);
    return !api_equal(&kv_vmi_spec_type, before, now);
}

/* The VM as it was at the last start, with its instance type; NULL: nothing can be said. */
static int started_vm(struct vm_pass *pass, struct kv_vm **ret, struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    const struct kv_vm_spec *spec;
    struct kv_vm *vm = kb_arena_one(pass->arena, struct kv_vm);
    *ret = NULL;
    if (vm_last_start_spec(pass, &spec, reterr) < 0)
        return -1;
    if (!spec || !spec->template)
        return 0;
    vm->metadata = pass->vm->metadata;
    api_clone_into(pass->arena, &kv_vm_spec_type, spec, &vm->spec);
    if (virt_instancetype_apply_to_vm(pass->arena, &lookups, vm, NULL) == 0)
        *ret = vm;
    return 0;
}

int vm_sync_restart_required(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vm *now;
    struct kv_vm *before;
    struct kube_error error = {0};
    if (!pass->vmi)
        return 0;
    if (started_vm(pass, &before, reterr) < 0)
        return -1;
    if (!before || vm_with_instancetype(pass, &now, &error) < 0)
        return 0;
    if (!needs_restart(pass, &before->spec.template->spec, now)) {
        pass->restart = VM_RESTART_NOT_NEEDED;
        return 0;
    }
    pass->restart = VM_RESTART_NEEDED;
    pass->restart_message = virt_vm_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED) ? NULL : VM_NOT_LIVE_UPDATABLE;
    return 0;
}

void vm_require_restart(struct vm_pass *pass, const char *message)
{
    if (pass->restart == VM_RESTART_NEEDED)
        return; /* the first message stays */
    pass->restart = VM_RESTART_NEEDED;
    pass->restart_message = message;
}

bool vm_restart_is_required(const struct vm_pass *pass)
{
    if (pass->restart == VM_RESTART_UNKNOWN)
        return virt_vm_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED);
    return pass->restart == VM_RESTART_NEEDED;
}

void vm_settle_restart_required(struct vm_pass *pass)
{
    if (pass->restart == VM_RESTART_NOT_NEEDED)
        virt_vm_remove_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED);
    if (pass->restart != VM_RESTART_NEEDED || !pass->restart_message)
        return;
    const struct kv_vm_condition *present = virt_vm_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED);
    if (present && kb_streq(present->message, pass->restart_message))
        return;
    virt_vm_remove_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED);
    struct kv_vm_condition condition = {.type = VM_CONDITION_RESTART_REQUIRED,
                                        .status = VIRT_TRUE,
                                        .message = pass->restart_message,
                                        .last_transition_time = kube_now_text(pass->req)};
    virt_vm_set_condition(pass->arena, pass->vm, &condition);
}
