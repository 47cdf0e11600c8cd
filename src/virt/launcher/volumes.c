/*
 * Volumes of the Pod and mounts of the compute container: those that every launcher has, and the order of all others.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

struct core_volume *launcher_volume(struct launcher *l, const char *name)
{
    struct core_volume *volume = kb_vec_push(l->arena, &l->volumes);

    volume->name = name;
    return volume;
}

struct core_volume *launcher_empty_dir(struct launcher *l, const char *name)
{
    struct core_volume *volume = launcher_volume(l, name);

    volume->empty_dir = kb_arena_one(l->arena, struct core_empty_dir_volume_source);
    return volume;
}

struct core_volume *launcher_claim_volume(struct launcher *l, const char *name, const char *claim)
{
    struct core_volume *volume = launcher_volume(l, name);

    volume->persistent_volume_claim = kb_arena_one(l->arena, struct core_pvc_volume_source);
    volume->persistent_volume_claim->claim_name = claim;
    return volume;
}

struct core_volume *launcher_secret_volume(struct launcher *l, const char *name, const char *secret)
{
    struct core_volume *volume = launcher_volume(l, name);

    volume->secret = kb_arena_one(l->arena, struct core_secret_volume_source);
    volume->secret->secret_name = secret;
    return volume;
}

struct core_volume_mount *launcher_mount(struct launcher *l, const char *name, const char *path)
{
    struct core_volume_mount *mount = kb_vec_push(l->arena, &l->mounts);

    mount->name = name;
    mount->mount_path = path;
    return mount;
}

struct core_volume_mount *launcher_mount_read_only(struct launcher *l, const char *name, const char *path)
{
    struct core_volume_mount *mount = launcher_mount(l, name, path);

    mount->read_only = true;
    return mount;
}

/* ---- what every launcher has ---- */

static void add_base(struct launcher *l)
{
    static const char *const empty_dirs[] = {LAUNCHER_PRIVATE,  LAUNCHER_PUBLIC,          LAUNCHER_SOCKETS,
                                             LAUNCHER_BINARIES, LAUNCHER_LIBVIRT_RUNTIME, LAUNCHER_EPHEMERAL_DISKS};

    for (size_t i = 0; i < KB_ARRAY_LEN(empty_dirs); i++)
        launcher_empty_dir(l, empty_dirs[i]);
    launcher_mount(l, LAUNCHER_PRIVATE, LAUNCHER_PRIVATE_DIR);
    launcher_mount(l, LAUNCHER_PUBLIC, LAUNCHER_PUBLIC_DIR);
    launcher_mount(l, LAUNCHER_EPHEMERAL_DISKS, l->settings->ephemeral_disk_dir);
    launcher_mount(l, LAUNCHER_LIBVIRT_RUNTIME, LAUNCHER_LIBVIRT_DIR);
    launcher_mount(l, LAUNCHER_SOCKETS, kb_arena_printf(l->arena, "%s/sockets", l->settings->share_dir));
    if (l->image_volumes)
        return;
    launcher_empty_dir(l, LAUNCHER_CONTAINER_DISKS);
    launcher_mount(l, LAUNCHER_CONTAINER_DISKS, l->settings->container_disk_dir)->mount_propagation =
        LAUNCHER_HOST_TO_CONTAINER;
}

/* ---- what some have ---- */

static void add_sidecar_sockets(struct launcher *l)
{
    if (l->sidecars.n == 0)
        return;
    launcher_empty_dir(l, LAUNCHER_HOOK_SOCKETS);
    launcher_mount(l, LAUNCHER_HOOK_SOCKETS, LAUNCHER_HOOK_DIR);
}

static void add_plugin_sockets(struct launcher *l)
{
    if (!virt_gate(l->config, VIRT_GATE_PLUGINS))
        return;
    launcher_empty_dir(l, LAUNCHER_PLUGIN_SOCKETS);
    launcher_mount(l, LAUNCHER_PLUGIN_SOCKETS, LAUNCHER_PLUGIN_DIR);
}

static void add_hugepages(struct launcher *l)
{
    if (!l->hugepages)
        return;
    launcher_empty_dir(l, "hugepages")->empty_dir->medium = "HugePages";
    launcher_mount(l, "hugepages", LAUNCHER_HUGEPAGES_DIR);
    launcher_empty_dir(l, "hugetblfs-dir");
    launcher_mount(l, "hugetblfs-dir", LAUNCHER_HUGEPAGES_DIR "/libvirt/qemu");
}

static void add_hotplug(struct launcher *l)
{
    if (l->vmi->spec.domain.devices.disable_hotplug)
        return;
    launcher_empty_dir(l, LAUNCHER_HOTPLUG_DISKS);
    launcher_mount(l, LAUNCHER_HOTPLUG_DISKS, l->settings->hotplug_disk_dir)->mount_propagation =
        LAUNCHER_HOST_TO_CONTAINER;
}

static bool reads_network_info(const struct launcher *l)
{
    if (launcher_has_sriov(l->vmi))
        return true;
    api_list_foreach (interface, &l->vmi->spec.domain.devices.interfaces) {
        const struct kv_interface_binding_plugin *plugin =
            interface->binding ? virt_binding_plugin(l->config, interface->binding->name) : NULL;

        if (plugin && launcher_needs_device_info(plugin))
            return true;
    }
    return false;
}

/* A file with the annotation that tells which devices the networks got. */
static void add_network_info(struct launcher *l)
{
    struct core_downward_api_volume_source *source;
    struct core_downward_api_volume_file *file;

    if (!reads_network_info(l))
        return;
    launcher_mount(l, LAUNCHER_NETWORK_INFO, LAUNCHER_NETWORK_INFO_DIR);
    source = kb_arena_one(l->arena, struct core_downward_api_volume_source);
    launcher_volume(l, LAUNCHER_NETWORK_INFO)->downward_api = source;
    file = kb_vec_push(l->arena, &source->items);
    file->path = "network-info";
    file->field_ref = kb_arena_one(l->arena, struct core_object_field_selector);
    file->field_ref->field_path = "metadata.annotations['" LAUNCHER_ANNOTATION_NETWORK_INFO "']";
}

static void add_virtiofs_sockets(struct launcher *l)
{
    bool wanted = false;

    api_list_foreach (filesystem, &l->vmi->spec.domain.devices.filesystems)
        wanted = wanted || filesystem->virtiofs;
    if (!wanted)
        return;
    launcher_mount(l, LAUNCHER_VIRTIOFS_SOCKETS, LAUNCHER_VIRTIOFS_DIR);
    launcher_empty_dir(l, LAUNCHER_VIRTIOFS_SOCKETS);
}

int launcher_add_volumes(struct launcher *l, struct kube_error *reterr)
{
    add_base(l);
    launcher_add_config_volumes(l);
    if (launcher_add_vmi_volumes(l, reterr) < 0)
        return -1;
    launcher_add_access_credentials(l);
    launcher_add_backend_storage(l);
    launcher_add_image_volumes(l);
    add_sidecar_sockets(l);
    add_plugin_sockets(l);
    add_hugepages(l);
    add_hotplug(l);
    add_network_info(l);
    add_virtiofs_sockets(l);
    return 0;
}
