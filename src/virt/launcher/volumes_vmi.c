/*
 * Volumes of the VMI that the Pod must hold from its start: claims, host disks, cloud-init Secrets, metrics, sysprep.
 * Hotplugged ones are held by Pods of their own and left out here.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

static bool is_hotpluggable(const struct kv_volume *volume)
{
    return (volume->data_volume && volume->data_volume->hotpluggable) ||
           (volume->persistent_volume_claim && volume->persistent_volume_claim->hotpluggable);
}

/* By name: so is a second volume of the same name. */
static bool is_hotplugged(const struct kv_vmi *vmi, const struct kv_volume *volume)
{
    api_list_foreach (other, &vmi->spec.volumes)
        if (is_hotpluggable(other) && kb_streq(other->name, volume->name))
            return true;
    api_list_foreach (status, &vmi->status.volume_status)
        if (status->hotplug_volume && kb_streq(status->name, volume->name))
            return true;
    return false;
}

/* ---- claims ---- */

static const char *disk_dir(struct launcher *l, const char *volume)
{
    return kb_arena_printf(l->arena, LAUNCHER_HOST_DISK_DIR "/%s", volume);
}

/* A block device, or the mount of a file system. */
static int attach_claim(struct launcher *l, const char *volume, const char *claim, struct kube_error *reterr)
{
    const struct core_pvc *pvc = NULL;
    const char *path;

    if (launcher_pvc(l, claim, &pvc, reterr) < 0)
        return -1;
    if (!pvc) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "didn't find PVC %s", claim);
        if (reterr)
            strcpy(reterr->reason, VIRT_REASON_PVC_NOT_FOUND);
        return -1;
    }
    if (pvc->spec.volume_mode && kb_streq(pvc->spec.volume_mode, "Block")) {
        *kb_vec_push(l->arena, &l->devices) = (struct core_volume_device){
            .name = volume,
            .device_path = kb_arena_printf(l->arena, "/dev/%s", volume),
        };
        return 0;
    }
    path = disk_dir(l, volume);
    launcher_mount(l, volume, path);
    if (api_strings_has(&pvc->spec.access_modes, "ReadWriteMany"))
        *kb_vec_push(l->arena, &l->shared_paths) = path;
    return 0;
}

static int add_claims(struct launcher *l, const struct kv_volume *volume, struct kube_error *reterr)
{
    const struct kv_pvc_volume_source *own = volume->persistent_volume_claim;
    struct core_pvc_volume_source *below = volume->ephemeral ? volume->ephemeral->persistent_volume_claim : NULL;

    if (own) {
        if (attach_claim(l, volume->name, own->claim_name, reterr) < 0)
            return -1;
        launcher_claim_volume(l, volume->name, own->claim_name)->persistent_volume_claim->read_only = own->read_only;
    }
    if (below) {
        if (attach_claim(l, volume->name, below->claim_name, reterr) < 0)
            return -1;
        launcher_claim_volume(l, volume->name, below->claim_name)->persistent_volume_claim->read_only =
            below->read_only;
    }
    return 0;
}

static int add_data_volume(struct launcher *l, const struct kv_volume *volume, struct kube_error *reterr)
{
    const char *claim = volume->data_volume->name;

    if (attach_claim(l, volume->name, claim, reterr) < 0)
        return -1;
    launcher_claim_volume(l, volume->name, claim);
    return 0;
}

/* ---- others ---- */

static void add_host_disk(struct launcher *l, const struct kv_volume *volume)
{
    const struct kv_host_disk *disk = volume->host_disk;
    struct core_host_path_volume_source *source = kb_arena_one(l->arena, struct core_host_path_volume_source);

    source->path = kb_path_dir(l->arena, disk->path);
    source->type = "";
    if (kb_streq(disk->type, "Disk"))
        source->type = "Directory";
    else if (kb_streq(disk->type, "DiskOrCreate"))
        source->type = "DirectoryOrCreate";
    launcher_mount(l, volume->name, disk_dir(l, volume->name));
    launcher_volume(l, volume->name)->host_path = source;
}

static void add_downward_metrics(struct launcher *l, const struct kv_volume *volume)
{
    struct core_empty_dir_volume_source *dir = launcher_empty_dir(l, volume->name)->empty_dir;

    dir->medium = "Memory";
    dir->size_limit = "1Mi";
    launcher_mount(l, volume->name, LAUNCHER_DOWNWARD_METRICS_DIR);
}

/* Two spellings of the key are in use; a sub-path that the Secret doesn't have does no harm. */
static void add_cloud_init_secret(struct launcher *l, const char *volume, const char *suffix, const char *secret,
                                  const char *const keys[2])
{
    const char *name = kb_arena_printf(l->arena, "%s-%s", volume, suffix);

    launcher_secret_volume(l, name, secret);
    for (size_t i = 0; i < 2; i++)
        launcher_mount_read_only(l, name, kb_arena_printf(l->arena, LAUNCHER_SECRET_DIR "/%s/%s", volume, keys[i]))
            ->sub_path = keys[i];
}

static void add_cloud_init(struct launcher *l, const char *volume, const struct core_local_object_reference *user_data,
                           const struct core_local_object_reference *network_data)
{
    static const char *const user_keys[] = {"userdata", "userData"};
    static const char *const network_keys[] = {"networkdata", "networkData"};

    if (user_data)
        add_cloud_init_secret(l, volume, "udata", user_data->name, user_keys);
    if (network_data)
        add_cloud_init_secret(l, volume, "ndata", network_data->name, network_keys);
}

static int add_sysprep(struct launcher *l, const struct kv_volume *volume, struct kube_error *reterr)
{
    const struct kv_sysprep_source *sysprep = volume->sysprep;

    if (sysprep->secret) {
        launcher_secret_volume(l, volume->name, sysprep->secret->name);
    } else if (sysprep->config_map) {
        struct core_config_map_volume_source *source = kb_arena_one(l->arena, struct core_config_map_volume_source);

        source->name = sysprep->config_map->name;
        launcher_volume(l, volume->name)->config_map = source;
    } else {
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "Sysprep must have Secret or ConfigMap reference set {nil nil}");
    }
    launcher_mount_read_only(l, volume->name, kb_arena_printf(l->arena, LAUNCHER_SYSPREP_DIR "/%s", volume->name));
    return 0;
}

static int add(struct launcher *l, const struct kv_volume *volume, struct kube_error *reterr)
{
    const struct kv_cloud_init_no_cloud_source *no_cloud = volume->cloud_init_no_cloud;
    const struct kv_cloud_init_config_drive_source *config_drive = volume->cloud_init_config_drive;

    if (add_claims(l, volume, reterr) < 0)
        return -1;
    if (volume->host_disk)
        add_host_disk(l, volume);
    if (volume->data_volume && add_data_volume(l, volume, reterr) < 0)
        return -1;
    if (volume->downward_metrics)
        add_downward_metrics(l, volume);
    if (no_cloud)
        add_cloud_init(l, volume->name, no_cloud->secret_ref, no_cloud->network_data_secret_ref);
    if (volume->sysprep && add_sysprep(l, volume, reterr) < 0)
        return -1;
    if (config_drive)
        add_cloud_init(l, volume->name, config_drive->secret_ref, config_drive->network_data_secret_ref);
    return 0;
}

int launcher_add_vmi_volumes(struct launcher *l, struct kube_error *reterr)
{
    api_list_foreach (volume, &l->vmi->spec.volumes)
        if (!is_hotplugged(l->vmi, volume) && add(l, volume, reterr) < 0)
            return -1;
    return 0;
}
