/*
 * Volumes that are plugged and unplugged by declaration: the hotpluggable volumes of the template, and their disks, are
 * brought to the running VMI.
 *
 *     in the template only     added, with its disk, once the VMI no longer reports a volume of that name
 *     in the VMI only          removed, with its disk unless the template still has that
 *     in both, but different   removed first; the rule above adds it again
 *
 * A CD-ROM drive stays when its medium goes or is changed. Volumes that are not hotpluggable are no matter of this
 * file. Source: the reference's pkg/storage/hotplug/hotplug.go.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* Not memory dumps: these come and go by their own rules. */
static bool is_declared(const struct kv_volume *volume)
{
    return volume && ((volume->persistent_volume_claim && volume->persistent_volume_claim->hotpluggable) ||
                      (volume->data_volume && volume->data_volume->hotpluggable));
}

static bool stays(const struct kv_volume *present, const struct kv_vmi_spec *template)
{
    if (!is_declared(present))
        return true;
    const struct kv_volume *wanted = vm_find_volume(template, present->name);
    return wanted && (!is_declared(wanted) || api_equal(&kv_volume_type, wanted, present));
}

static bool is_reported(const struct kv_vmi *vmi, const char *name)
{
    api_list_foreach (status, &vmi->status.volume_status)
        if (kb_streq(status->name, name))
            return true;
    return false;
}

static struct kv_volume_list new_volumes(struct kb_arena *arena, const struct kv_vmi_spec *template,
                                         const struct kv_vmi *vmi)
{
    struct kv_volume_list volumes = {0};
    api_list_foreach (present, &vmi->spec.volumes)
        if (stays(present, template))
            *kb_vec_push(arena, &volumes) = *present;
    api_list_foreach (wanted, &template->volumes)
        if (is_declared(wanted) && !vm_find_volume(&vmi->spec, wanted->name) && !is_reported(vmi, wanted->name))
            *kb_vec_push(arena, &volumes) = *wanted;
    return volumes;
}

/* A disk whose volume is not (or not yet again) in the VMI. */
static bool disk_stays_empty(const struct kv_disk *present, const struct kv_vmi_spec *template)
{
    const struct kv_disk *wanted = vm_find_disk(template, present->name);
    if (!wanted)
        return false;
    return !vm_find_volume(template, present->name) || (wanted->cdrom && present->cdrom);
}

static struct kv_disk_list new_disks(struct kb_arena *arena, const struct kv_vmi_spec *template,
                                     const struct kv_vmi *vmi, const struct kv_vmi_spec *after)
{
    struct kv_disk_list disks = {0};
    api_list_foreach (present, &vmi->spec.domain.devices.disks)
        if (vm_find_volume(after, present->name) || disk_stays_empty(present, template))
            *kb_vec_push(arena, &disks) = *present;
    api_list_foreach (wanted, &template->domain.devices.disks)
        if (is_declared(vm_find_volume(after, wanted->name)) && !vm_find_disk(&vmi->spec, wanted->name))
            *kb_vec_push(arena, &disks) = *wanted;
    return disks;
}

void vm_declare_volumes(struct kb_arena *arena, const struct kv_vmi_spec *template, struct kv_vmi *vmi)
{
    struct kv_vmi_spec after = vmi->spec;
    after.volumes = new_volumes(arena, template, vmi);
    after.domain.devices.disks = new_disks(arena, template, vmi, &after);
    vmi->spec = after;
}

static bool applies(const struct vm_pass *pass)
{
    const char *strategy = pass->vm->spec.update_volumes_strategy;
    return virt_gate(pass->config, VIRT_GATE_DECLARATIVE_HOTPLUG_VOLUMES) &&
           !virt_gate(pass->config, VIRT_GATE_HOTPLUG_VOLUMES) &&
           !(strategy && kb_streq(strategy, VM_MIGRATE_VOLUMES)) && pass->vmi &&
           !api_is_being_deleted(&pass->vmi->metadata) && kb_streq(pass->vmi->status.phase, "Running");
}

int vm_sync_declared_volumes(struct vm_pass *pass, struct kube_error *reterr)
{
    if (!applies(pass))
        return 0;
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    vm_declare_volumes(pass->arena, &pass->vm->spec.template->spec, after);
    return vm_update_vmi(pass, after, reterr);
}
