/*
 * Volumes that are plugged and unplugged by request (status.volumeRequests, put there by virt-api): into the running
 * VMI through its subresources, then into the template, from where the status step sees that the request is done.
 * A request that the VMI refuses leaves the template as it is, so that it stays open and is tried again.
 * Source: the reference's handleVolumeRequests, watch/vm/vm.go, and ApplyVolumeRequestOnVMISpec, pkg/controller.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/vm/vm_internal.h"

#define VMI_SUBRESOURCE "/apis/subresources.kubevirt.io/v1/namespaces/%s/virtualmachineinstances/%s/%s"

const struct kv_volume *vm_find_volume(const struct kv_vmi_spec *spec, const char *name)
{
    api_list_foreach (volume, &spec->volumes)
        if (kb_streq(volume->name, name))
            return volume;
    return NULL;
}

const struct kv_disk *vm_find_disk(const struct kv_vmi_spec *spec, const char *name)
{
    api_list_foreach (disk, &spec->domain.devices.disks)
        if (kb_streq(disk->name, name))
            return disk;
    return NULL;
}

void vm_remove_volume(struct kv_vmi_spec *spec, const char *name)
{
    for (size_t i = spec->volumes.n; i-- > 0;)
        if (kb_streq(spec->volumes.items[i].name, name))
            kb_vec_remove(&spec->volumes, i);
}

static void remove_disk(struct kv_vmi_spec *spec, const char *name)
{
    struct kv_disk_list *disks = &spec->domain.devices.disks;
    for (size_t i = disks->n; i-- > 0;)
        if (kb_streq(disks->items[i].name, name))
            kb_vec_remove(disks, i);
}

static void add_volume(struct kb_arena *arena, struct kv_vmi_spec *spec, const struct kv_add_volume_options *options)
{
    const struct kv_hotplug_volume_source *source = options->volume_source;
    if (!source || vm_find_volume(spec, options->name))
        return;
    struct kv_volume *volume = kb_vec_push(arena, &spec->volumes);
    volume->name = options->name;
    if (source->persistent_volume_claim) {
        volume->persistent_volume_claim = api_clone(arena, &kv_pvc_volume_source_type, source->persistent_volume_claim);
        volume->persistent_volume_claim->hotpluggable = true;
    } else if (source->data_volume) {
        volume->data_volume = api_clone(arena, &kv_data_volume_source_type, source->data_volume);
        volume->data_volume->hotpluggable = true;
    }
    if (!options->disk)
        return;
    struct kv_disk *disk = kb_vec_push(arena, &spec->domain.devices.disks);
    api_clone_into(arena, &kv_disk_type, options->disk, disk);
    disk->name = options->name;
}

/* Also a conflict is a refusal here: virt-api answers so when the VMI does not run. */
static int refused(const struct kube_error *error, struct kube_error *reterr)
{
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", error->message);
}

/* The VMI is read anew, as what follows in this pass depends on its volumes. */
static int call_vmi(struct vm_pass *pass, const char *subresource, const struct api_type *type, const void *options,
                    struct kube_error *reterr)
{
    const struct meta_object_meta *vmi = &pass->vmi->metadata;
    const char *path = kb_arena_printf(pass->arena, VMI_SUBRESOURCE, vmi->namespace, vmi->name, subresource);
    const void *changed;
    struct kube_error error = {0};
    if (kube_put_path(pass->req, path, api_encode_text(pass->arena, type, options, 0), NULL, &error) < 0)
        return refused(&error, reterr);
    if (kube_get_live(pass->req, &kv_vmi_type, vmi->namespace, vmi->name, &changed, reterr) < 0)
        return -1;
    if (changed)
        pass->vmi = changed;
    return 0;
}

/* The VMI of the cache may be behind: then virt-api refuses what it did already, and the request is tried again. */
static int tell_vmi(struct vm_pass *pass, const struct kv_vm_volume_request *request, struct kube_error *reterr)
{
    const struct kv_vmi *vmi = pass->vmi;
    if (!vmi || api_is_being_deleted(&vmi->metadata))
        return 0;
    if (request->add_volume_options) {
        if (vm_find_volume(&vmi->spec, request->add_volume_options->name))
            return 0;
        return call_vmi(pass, "addvolume", &kv_add_volume_options_type, request->add_volume_options, reterr);
    }
    if (!request->remove_volume_options || !vm_find_volume(&vmi->spec, request->remove_volume_options->name))
        return 0;
    return call_vmi(pass, "removevolume", &kv_remove_volume_options_type, request->remove_volume_options, reterr);
}

int vm_sync_volume_requests(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_vmi_spec *template = &pass->vm->spec.template->spec;
    api_list_foreach (request, &pass->vm->status.volume_requests) {
        if (tell_vmi(pass, request, reterr) < 0)
            return -1;
        if (request->add_volume_options) {
            add_volume(pass->arena, template, request->add_volume_options);
        } else if (request->remove_volume_options) {
            vm_remove_volume(template, request->remove_volume_options->name);
            remove_disk(template, request->remove_volume_options->name);
        }
    }
    return 0;
}
