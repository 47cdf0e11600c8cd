/*
 * Which volumes of a running VM may move to other claims, and which changes of a move that is under way are allowed.
 * Source: the reference's watch/volume-migration/volume-migration.go.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/storage/backend_storage.h"
#include "virt/storage/volumes.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* The claim that the template has for a volume of the VMI, when it is another one; NULL: unchanged, or not in both. */
static const char *new_claim(const struct kv_vmi_spec *template, const struct kv_vmi *vmi, const char *name)
{
    const struct kv_volume *wanted = vm_find_volume(template, name), *present = vm_find_volume(&vmi->spec, name);
    if (!wanted || !present)
        return NULL;
    const char *to = virt_volume_claim(wanted), *from = virt_volume_claim(present);
    return *to && *from && !kb_streq(to, from) ? to : NULL;
}

/* ---- a move under way ---- */

static const struct kv_storage_migrated_volume_info *find_move(const struct kv_vmi *vmi, const char *volume)
{
    api_list_foreach (move, &vmi->status.migrated_volumes)
        if (kb_streq(move->volume_name, volume))
            return move;
    return NULL;
}

bool vm_moves_changed(const struct kv_vmi_spec *template, const struct kv_vmi *vmi)
{
    api_list_foreach (move, &vmi->status.migrated_volumes)
        if (new_claim(template, vmi, move->volume_name))
            return true;
    return false;
}

bool vm_moves_reverted(const struct kv_vmi_spec *template, const struct kv_vmi *vmi)
{
    api_list_foreach (move, &vmi->status.migrated_volumes) {
        const char *claim = new_claim(template, vmi, move->volume_name);
        if (!claim || !move->source_pvc_info || !kb_streq(claim, move->source_pvc_info->claim_name))
            return false;
    }
    api_list_foreach (volume, &template->volumes)
        if (new_claim(template, vmi, volume->name) && !find_move(vmi, volume->name))
            return false;
    return true;
}

/* ---- a new move ---- */

static const struct kv_disk *shareable(const struct kv_vmi *vmi, const char *name)
{
    const struct kv_disk *disk = vm_find_disk(&vmi->spec, name);
    return disk && disk->shareable && *disk->shareable ? disk : NULL;
}

static bool is_filesystem(const struct kv_vmi *vmi, const char *name)
{
    api_list_foreach (filesystem, &vmi->spec.domain.devices.filesystems)
        if (kb_streq(filesystem->name, name))
            return true;
    return false;
}

enum verdict { MOVABLE, FILESYSTEM, SHAREABLE, LUN, NOT_POPULATED, N_VERDICTS };

/* A DataVolume that isn't populated yet can be a target only when a volume populator fills it: its claim exists. */
static enum verdict judge_data_volume(struct vm_pass *pass, const char *name, const char **ret_missing)
{
    const char *namespace = pass->vm->metadata.namespace;
    const struct cdi_data_volume *dv = kube_lookup(pass->req, VIRT_DATA_VOLUME, namespace, name);
    if (!dv)
        *ret_missing = kb_arena_printf(pass->arena, "the datavolume %s doesn't exist", name);
    if (!dv || kb_streq(dv->status.phase, VIRT_DV_SUCCEEDED))
        return MOVABLE;
    const struct core_pvc *pvc = virt_claim(pass->req, namespace, name);
    if (!pvc)
        *ret_missing = kb_arena_printf(pass->arena, "the pvc %s doesn't exist", name);
    return pvc && !pvc->spec.data_source_ref ? NOT_POPULATED : MOVABLE;
}

static enum verdict judge(struct vm_pass *pass, const struct kv_volume *volume, const char **ret_missing)
{
    if (is_filesystem(pass->vmi, volume->name))
        return FILESYSTEM;
    const struct kv_disk *disk = vm_find_disk(&pass->vmi->spec, volume->name);
    if (!disk)
        return MOVABLE;
    if (shareable(pass->vmi, volume->name))
        return SHAREABLE;
    if (disk->lun)
        return LUN;
    if (volume->data_volume)
        return judge_data_volume(pass, volume->data_volume->name, ret_missing);
    if (!volume->persistent_volume_claim)
        return MOVABLE;
    const char *claim = volume->persistent_volume_claim->claim_name;
    if (!virt_claim(pass->req, pass->vm->metadata.namespace, claim))
        *ret_missing = kb_arena_printf(pass->arena, "the pvc %s doesn't exist", claim);
    return MOVABLE;
}

/* " filesystems: [a b]" of each verdict that was given. */
static const char *refusal_text(struct kb_arena *arena, const struct api_strings *names)
{
    static const char *const labels[N_VERDICTS] = {
        [FILESYSTEM] = "filesystems",
        [SHAREABLE] = "shareable",
        [LUN] = "luns",
        [NOT_POPULATED] = "DV storage class isn't a CSI or not using volume populators",
    };
    struct kb_strbuf text = {.arena = arena};
    for (int verdict = FILESYSTEM; verdict < N_VERDICTS; verdict++)
        if (names[verdict].n)
            kb_strbuf_printf(&text, " %s: [%s]", labels[verdict],
                             kb_join(arena, names[verdict].items, names[verdict].n, " "));
    if (text.length == 0)
        return NULL;
    return kb_arena_printf(arena, "invalid volumes to update with migration:%s", kb_strbuf_text(&text));
}

const char *vm_refuse_moves(struct vm_pass *pass, const char **ret_missing)
{
    const struct kv_vmi_spec *template = &pass->vm->spec.template->spec;
    struct api_strings names[N_VERDICTS] = {0};
    *ret_missing = NULL;
    api_list_foreach (volume, &template->volumes) {
        if (!new_claim(template, pass->vmi, volume->name))
            continue;
        enum verdict verdict = judge(pass, volume, ret_missing);
        if (*ret_missing)
            return NULL;
        if (verdict != MOVABLE)
            api_strings_add(pass->arena, &names[verdict], volume->name);
    }
    return refusal_text(pass->arena, names);
}

static bool is_read_write_once(const struct kv_pvc_info *info)
{
    return !api_strings_has(&info->access_modes, "ReadOnlyMany") &&
           !api_strings_has(&info->access_modes, "ReadWriteMany");
}

static bool moves(const struct kv_storage_migrated_volume_info_list *list, const char *volume)
{
    api_list_foreach (move, list)
        if (kb_streq(move->volume_name, volume))
            return true;
    return false;
}

const char *vm_refuse_storage_migration(struct kb_arena *arena, const struct kv_vmi *vmi,
                                        const struct kv_storage_migrated_volume_info_list *list)
{
    const struct kv_vmi_condition *migratable = virt_vmi_condition(vmi, VM_CONDITION_STORAGE_MIGRATABLE);
    if (migratable && kb_streq(migratable->status, VIRT_FALSE))
        return kb_arena_printf(arena, "cannot migrate the volumes as the VMI isn't migratable: %s",
                               migratable->message);
    api_list_foreach (status, &vmi->status.volume_status) {
        const struct kv_pvc_info *info = status->persistent_volume_claim_info;
        if (info && !virt_is_backend_volume(status->name) && is_read_write_once(info) && !moves(list, status->name))
            return kb_arena_printf(
                arena, "cannot migrate the VM. The volume %s is RWO and not included in the migration volumes",
                status->name);
    }
    return NULL;
}
