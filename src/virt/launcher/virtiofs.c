/*
 * One container a shared directory: virtiofsd serves a volume to the guest over a socket that the compute container
 * mounts.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"

static const int64_t user = VIRT_NON_ROOT_USER;

static bool is_shared(const struct kv_vmi *vmi, const char *volume)
{
    api_list_foreach (filesystem, &vmi->spec.domain.devices.filesystems)
        if (kb_streq(filesystem->name, volume))
            return true;
    return false;
}

static const char *shared_dir(struct launcher *l, const struct kv_volume *volume)
{
    if (volume->config_map)
        return launcher_config_map_path(l->arena, volume->name);
    if (volume->secret)
        return launcher_secret_path(l->arena, volume->name);
    if (volume->service_account)
        return LAUNCHER_SERVICE_ACCOUNT_DIR;
    if (volume->downward_api)
        return launcher_downward_api_path(l->arena, volume->name);
    return kb_arena_printf(l->arena, "/%s", volume->name);
}

static struct api_strings arguments(struct launcher *l, const struct kv_volume *volume, const char *dir)
{
    struct api_strings args = LAUNCHER_STRINGS(
        l->arena, kb_arena_printf(l->arena, "--socket-path=" LAUNCHER_VIRTIOFS_DIR "/%s.sock", volume->name),
        kb_arena_printf(l->arena, "--shared-dir=%s", dir), "--sandbox=none", "--cache=auto",
        "--migration-on-error=guest-error", "--migration-mode=find-paths");

    /* The kubelet gives the token's symbolic link to the Pod's user, in a sticky directory of root: guests refuse to
     * follow such a link unless it looks like root's. */
    if (volume->service_account)
        *kb_vec_push(l->arena, &args) = kb_arena_printf(l->arena, "--translate-uid=host:%d:0:1", VIRT_NON_ROOT_USER);
    return args;
}

static void add(struct launcher *l, const struct kv_volume *volume)
{
    struct core_container *container = kb_vec_push(l->arena, &l->containers);
    const char *dir = shared_dir(l, volume);

    container->name = kb_arena_printf(l->arena, "virtiofs-%s", volume->name);
    container->image = l->settings->launcher_image;
    container->image_pull_policy = "IfNotPresent";
    container->command = LAUNCHER_STRINGS(l->arena, "/usr/libexec/virtiofsd");
    container->args = arguments(l, volume, dir);
    container->security_context = launcher_unprivileged(l->arena);
    container->security_context->run_as_group = &user;
    launcher_container_mount(l->arena, container, LAUNCHER_VIRTIOFS_SOCKETS, LAUNCHER_VIRTIOFS_DIR);
    if (!volume->service_account) /* that one the kubelet mounts */
        launcher_container_mount(l->arena, container, volume->name, dir);
    launcher_support_resources(l->arena, l->config, LAUNCHER_SUPPORT_VIRTIOFS, l->guaranteed, &container->resources);
}

void launcher_add_virtiofs(struct launcher *l)
{
    api_list_foreach (volume, &l->vmi->spec.volumes)
        if (is_shared(l->vmi, volume->name) && !volume->container_path) /* those the Pod's webhook adds */
            add(l, volume);
}
