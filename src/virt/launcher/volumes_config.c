/*
 * Volumes of small texts: Secrets, ConfigMaps and the downward API as disks, and the Secrets of access credentials.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

const char *launcher_config_map_path(struct kb_arena *arena, const char *volume)
{
    return kb_arena_printf(arena, LAUNCHER_CONFIG_MAP_DIR "/%s", volume);
}

const char *launcher_secret_path(struct kb_arena *arena, const char *volume)
{
    return kb_arena_printf(arena, LAUNCHER_SECRET_DIR "/%s", volume);
}

const char *launcher_downward_api_path(struct kb_arena *arena, const char *volume)
{
    return kb_arena_printf(arena, LAUNCHER_DOWNWARD_API_DIR "/%s", volume);
}

static void add_volume(struct launcher *l, const struct kv_volume *volume)
{
    if (volume->secret)
        launcher_secret_volume(l, volume->name, volume->secret->secret_name)->secret->optional =
            volume->secret->optional;
    if (volume->config_map) {
        struct core_config_map_volume_source *source = kb_arena_one(l->arena, struct core_config_map_volume_source);

        source->name = volume->config_map->name;
        source->optional = volume->config_map->optional;
        launcher_volume(l, volume->name)->config_map = source;
    }
    if (volume->downward_api) {
        struct core_downward_api_volume_source *source = kb_arena_one(l->arena, struct core_downward_api_volume_source);

        source->items = volume->downward_api->fields;
        launcher_volume(l, volume->name)->downward_api = source;
    }
}

static void add_mount(struct launcher *l, const struct kv_volume *volume)
{
    if (volume->secret)
        launcher_mount_read_only(l, volume->name, launcher_secret_path(l->arena, volume->name));
    if (volume->config_map)
        launcher_mount_read_only(l, volume->name, launcher_config_map_path(l->arena, volume->name));
    if (volume->downward_api)
        launcher_mount_read_only(l, volume->name, launcher_downward_api_path(l->arena, volume->name));
}

/* All are volumes of the Pod (virtiofs containers may mount them); compute mounts those that are disks. */
void launcher_add_config_volumes(struct launcher *l)
{
    api_list_foreach (volume, &l->vmi->spec.volumes)
        add_volume(l, volume);
    api_list_foreach (disk, &l->vmi->spec.domain.devices.disks) {
        const struct kv_volume *volume = launcher_volume_named(l->vmi, disk->name);

        if (volume)
            add_mount(l, volume);
    }
}

static const char *secret_of(const struct kv_access_credential *credential)
{
    if (credential->ssh_public_key && credential->ssh_public_key->source.secret)
        return credential->ssh_public_key->source.secret->secret_name;
    if (credential->user_password && credential->user_password->source.secret)
        return credential->user_password->source.secret->secret_name;
    return "";
}

/* A Secret that two credentials name is there twice: the API server refuses such a Pod, as users of the reference know.
 */
void launcher_add_access_credentials(struct launcher *l)
{
    api_list_foreach (credential, &l->vmi->spec.access_credentials) {
        const char *secret = secret_of(credential);
        const char *name;

        if (!*secret)
            continue;
        name = kb_arena_printf(l->arena, "%s-access-cred", secret);
        launcher_secret_volume(l, name, secret);
        launcher_mount_read_only(l, name, launcher_secret_path(l->arena, name));
    }
}
