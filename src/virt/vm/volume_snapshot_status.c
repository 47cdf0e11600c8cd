/*
 * status.volumeSnapshotStatuses: for each volume of a VM, whether it can be snapshotted, and why not. The reference has
 * a queue of its own for this in the snapshot controller; here it is a part of the VM's status, and so costs no write
 * of its own. Source: the reference's updateVolumeSnapshotStatuses, pkg/storage/snapshot/snapshot.go.
 */
#include "api/types/storage.h"
#include "api/types/volumesnapshot.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"
#include "virt/storage/backend_storage.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* NULL: there is no such claim yet. "": the claim names no class. */
static const char *class_of_claim(struct vm_pass *pass, const char *name)
{
    const struct core_pvc *pvc = kube_lookup(pass->req, VIRT_PVC, pass->vm->metadata.namespace, name);
    if (!pvc)
        return NULL;
    return pvc->spec.storage_class_name ? pvc->spec.storage_class_name : "";
}

static const char *class_in_templates(const struct kv_vm *vm, const char *name)
{
    api_list_foreach (template, &vm->spec.data_volume_templates)
        if (kb_streq(template->metadata.name, name) && template->spec.pvc)
            return template->spec.pvc->storage_class_name;
    return NULL;
}

/* Its own, the one in the template of the VM that owns it, or that of its claim. */
static const char *class_of_data_volume(struct vm_pass *pass, const char *name)
{
    const char *namespace = pass->vm->metadata.namespace, *class = NULL;
    const struct cdi_data_volume *dv = kube_lookup(pass->req, VIRT_DATA_VOLUME, namespace, name);
    if (dv && dv->spec.pvc && !kb_empty(dv->spec.pvc->storage_class_name))
        return dv->spec.pvc->storage_class_name;
    const struct meta_owner_reference *owner = dv ? api_controller_of(&dv->metadata) : NULL;
    if (owner && kb_streq(owner->kind, "VirtualMachine")) {
        const struct kv_vm *vm = kube_lookup(pass->req, VIRT_VM, namespace, owner->name);
        class = vm ? class_in_templates(vm, name) : NULL;
    }
    return class ? class : class_of_claim(pass, name);
}

static const char *class_of_volume(struct vm_pass *pass, const struct kv_volume *volume)
{
    if (volume->persistent_volume_claim)
        return class_of_claim(pass, volume->persistent_volume_claim->claim_name);
    if (volume->memory_dump)
        return class_of_claim(pass, volume->memory_dump->claim_name);
    return class_of_data_volume(pass, volume->data_volume->name);
}

/* Among several classes of the provisioner the default one counts. *ret_matches: how many there are. */
static const char *class_of_provisioner(struct vm_pass *pass, const char *provisioner, size_t *ret_matches)
{
    struct kube_items classes = kube_lookup_all(pass->req, VIRT_VOLUME_SNAPSHOT_CLASS, NULL);
    const char *found = NULL, *standard = NULL;
    *ret_matches = 0;
    for (size_t i = 0; i < classes.n; i++) {
        const struct volumesnapshot_volume_snapshot_class *class = classes.items[i];
        if (!kb_streq(class->driver, provisioner))
            continue;
        (*ret_matches)++;
        found = class->metadata.name;
        if (!standard && api_map_has(&class->metadata.annotations, VM_DEFAULT_SNAPSHOT_CLASS))
            standard = found;
    }
    return *ret_matches > 1 ? standard : found;
}

/* The reason why volumes of a storage class can't be snapshotted; NULL: they can. */
static const char *refusal(struct vm_pass *pass, const char *storage_class, const char *volume)
{
    const char *none = kb_arena_printf(
        pass->arena, "No VolumeSnapshotClass: Volume snapshots are not configured for this StorageClass [%s] [%s]",
        storage_class, volume);
    const struct storage_storage_class *class = kube_lookup(pass->req, VIRT_STORAGE_CLASS, "", storage_class);
    if (!class)
        return none;
    const struct cdi_storage_profile *profile = kube_lookup(pass->req, VIRT_STORAGE_PROFILE, "", storage_class);
    if (profile && !kb_empty(profile->status.snapshot_class))
        return kube_lookup(pass->req, VIRT_VOLUME_SNAPSHOT_CLASS, "", profile->status.snapshot_class) ? NULL : none;
    size_t matches;
    if (class_of_provisioner(pass, class->provisioner, &matches))
        return NULL;
    if (matches == 0)
        return none;
    return kb_arena_printf(pass->arena, "%zu matching VolumeSnapshotClasses for %s", matches, storage_class);
}

static const char *reason_against(struct vm_pass *pass, const struct kv_volume *volume)
{
    if (!volume->persistent_volume_claim && !volume->data_volume && !volume->memory_dump)
        return kb_arena_printf(pass->arena, "Snapshot is not supported for this volumeSource type [%s]", volume->name);
    const char *class = class_of_volume(pass, volume);
    return class ? refusal(pass, class, volume->name) : "PVC not found";
}

static void judge(struct vm_pass *pass, const struct kv_volume *volume, struct kv_volume_snapshot_status_list *ret)
{
    const char *reason = reason_against(pass, volume);
    struct kv_volume_snapshot_status *status = kb_vec_push(pass->arena, ret);
    status->name = volume->name;
    status->enabled = !reason;
    status->reason = reason ? reason : "";
}

/* The claim with the VM's persistent state is a volume, too, under a name of its own. */
static void judge_backend(struct vm_pass *pass, struct kv_volume_snapshot_status_list *ret)
{
    const struct kv_vm *vm = pass->vm;
    struct kv_vmi vmi = {.metadata = {.name = vm->metadata.name, .namespace = vm->metadata.namespace},
                         .spec = vm->spec.template->spec,
                         .status.changed_block_tracking = vm->status.changed_block_tracking};
    const struct core_pvc *claim = virt_vmi_needs_backend_storage(&vmi) ? virt_backend_claim(pass->req, &vmi) : NULL;
    if (!claim || !api_map_has(&claim->metadata.labels, VIRT_LABEL_PERSISTENT_STATE))
        return; /* one of an old release, which only has its name, is no volume of the VM */
    struct kv_pvc_volume_source source = {.claim_name = claim->metadata.name};
    struct kv_volume volume = {
        .name = virt_joined_name(pass->arena, VIRT_LABEL_PERSISTENT_STATE, vm->metadata.name, VIRT_MAX_NAME),
        .persistent_volume_claim = &source,
    };
    judge(pass, &volume, ret);
}

static bool is_among(const struct kv_volume_snapshot_status *status, const struct kv_volume_snapshot_status_list *list)
{
    api_list_foreach (other, list)
        if (api_equal(&kv_volume_snapshot_status_type, status, other))
            return true;
    return false;
}

/* The same statuses in another order tell nothing new. */
static bool is_permuted(const struct kv_volume_snapshot_status_list *a, const struct kv_volume_snapshot_status_list *b)
{
    if (a->n != b->n)
        return false;
    api_list_foreach (status, a)
        if (!is_among(status, b))
            return false;
    return true;
}

void vm_sync_volume_snapshot_statuses(struct vm_pass *pass)
{
    struct kv_volume_snapshot_status_list statuses = {0};
    api_list_foreach (volume, &pass->vm->spec.template->spec.volumes)
        judge(pass, volume, &statuses);
    judge_backend(pass, &statuses);
    if (!is_permuted(&statuses, &pass->vm->status.volume_snapshot_statuses))
        pass->vm->status.volume_snapshot_statuses = statuses;
}

int vm_update_volume_statuses(struct vm_pass *pass, struct kube_error *reterr)
{
    const void *answer;
    pass->vm = KUBE_EDIT(pass->req, kv_vm, pass->stored);
    vm_sync_volume_snapshot_statuses(pass);
    return kube_update_status(pass->req, &kv_vm_type, pass->stored, pass->vm, &answer, reterr);
}
