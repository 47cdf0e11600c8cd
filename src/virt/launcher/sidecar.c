/*
 * Containers of hook sidecars, and the volumes that only they bring.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

static void add_environment(struct launcher *l, struct core_container *container,
                            const struct launcher_sidecar *sidecar)
{
    launcher_env(l->arena, container, "CONTAINER_NAME", container->name);
    if (*sidecar->binding_plugin)
        launcher_env(l->arena, container, "NETWORK_BINDING_PLUGIN_NAME", sidecar->binding_plugin);
}

static void add_mounts(struct launcher *l, struct core_container *container, const struct launcher_sidecar *sidecar)
{
    launcher_container_mount(l->arena, container, LAUNCHER_HOOK_SOCKETS, LAUNCHER_HOOK_DIR)->sub_path = container->name;
    if (sidecar->device_info)
        launcher_container_mount(l->arena, container, LAUNCHER_NETWORK_INFO, LAUNCHER_NETWORK_INFO_DIR);
    if (sidecar->config_map_name)
        launcher_container_mount(l->arena, container, sidecar->config_map_name, sidecar->config_map_path)->sub_path =
            sidecar->config_map_key;
    if (sidecar->pvc_name)
        launcher_container_mount(l->arena, container, sidecar->pvc_name, sidecar->pvc_path);
}

static void add_container(struct launcher *l, size_t index, const struct launcher_sidecar *sidecar)
{
    const char *name = kb_arena_printf(l->arena, "hook-sidecar-%zu", index);
    const char *image = kb_empty(sidecar->image) ? l->settings->sidecar_shim_image : sidecar->image;
    struct core_container container = launcher_vmi_container(l, name, image, sidecar->image_pull_policy);

    container.command = sidecar->command;
    container.args = sidecar->args;
    if (l->non_root)
        container.security_context->capabilities = launcher_drop_all(l->arena);
    add_environment(l, &container, sidecar);
    add_mounts(l, &container, sidecar);
    launcher_support_resources(l->arena, l->config, LAUNCHER_SUPPORT_SIDECAR, l->guaranteed, &container.resources);
    *kb_vec_push(l->arena, &l->containers) = container;
}

static int add_config_map(struct launcher *l, const char *name, struct kube_error *reterr)
{
    static const int32_t mode = LAUNCHER_SIDECAR_CONFIG_MODE;
    const struct virt_launcher_lookups *lookups = l->input->lookups;
    struct kube_error error = {0};
    struct core_volume *volume;

    if (!lookups || !lookups->config_map ||
        !lookups->config_map(lookups->userdata, l->vmi->metadata.namespace, name, &error)) {
        if (error.kind == KUBE_ERROR_NONE)
            return kube_error_set_api(reterr, 404, "NotFound", "configmaps \"%s\" not found", name);
        if (reterr)
            *reterr = error;
        return -1;
    }
    volume = launcher_volume(l, name);
    volume->config_map = kb_arena_one(l->arena, struct core_config_map_volume_source);
    volume->config_map->name = name;
    volume->config_map->default_mode = &mode;
    return 0;
}

static void add_claim(struct launcher *l, const struct launcher_sidecar *sidecar)
{
    struct core_volume *volume = launcher_volume(l, sidecar->pvc_name);

    volume->persistent_volume_claim = kb_arena_one(l->arena, struct core_pvc_volume_source);
    volume->persistent_volume_claim->claim_name = sidecar->pvc_name;
    if (*sidecar->pvc_shared_path)
        launcher_container_mount(l->arena, &l->containers.items[0], sidecar->pvc_name, sidecar->pvc_shared_path);
}

int launcher_add_sidecars(struct launcher *l, struct kube_error *reterr)
{
    api_list_foreach (sidecar, &l->sidecars) {
        add_container(l, (size_t)(sidecar - l->sidecars.items), sidecar);
        if (sidecar->config_map_name && add_config_map(l, sidecar->config_map_name, reterr) < 0)
            return -1;
        if (sidecar->pvc_name)
            add_claim(l, sidecar);
    }
    return 0;
}
