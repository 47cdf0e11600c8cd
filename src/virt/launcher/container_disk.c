/*
 * Container disks: images that carry a disk.
 *
 * Old way (gate ImageVolume off): each disk is a container of its own that runs the launcher's container-disk program -
 * copied there by the init container container-disk-binary - and as an init container before, so that images are pulled
 * before the guest starts.
 * New way: image volumes (volumes_image.c); an init container a disk remains only to learn the image's digest from its
 * status.
 *
 * The image with kernel and initrd is treated as one more disk.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

struct disk {
    const char *volume; /* name */
    const char *image, *pull_policy;
    const char *file; /* where the container leaves its socket and mount */
};

static const char *disk_dir(struct launcher *l)
{
    return kb_arena_printf(l->arena, "%s/container-disk-data/%s", l->settings->ephemeral_disk_dir,
                           l->vmi->metadata.uid);
}

/* What both ways have in common; resources and user. */
static struct core_container *push(struct launcher *l, struct core_container_list *list, const char *name,
                                   const struct disk *disk)
{
    struct core_container *container = kb_vec_push(l->arena, list);

    container->name = name;
    container->image = disk->image;
    container->image_pull_policy = disk->pull_policy;
    container->security_context = launcher_unprivileged(l->arena);
    launcher_support_resources(l->arena, l->config, LAUNCHER_SUPPORT_CONTAINER_DISK, l->guaranteed,
                               &container->resources);
    return container;
}

/* ---- as containers ---- */

static void add_container(struct launcher *l, const struct disk *disk, bool init)
{
    const char *name =
        kb_arena_printf(l->arena, LAUNCHER_CONTAINER_DISK_PREFIX "%s%s", disk->volume, init ? "-init" : "");
    struct core_container *container = push(l, init ? &l->init_containers : &l->containers, name, disk);
    const char *dir = disk_dir(l);

    container->command = LAUNCHER_STRINGS(l->arena, "/usr/bin/container-disk");
    if (init)
        container->args = LAUNCHER_STRINGS(l->arena, "--no-op");
    else
        container->args =
            LAUNCHER_STRINGS(l->arena, "--copy-path", kb_arena_printf(l->arena, "%s/%s", dir, disk->file));
    launcher_container_mount(l->arena, container, LAUNCHER_CONTAINER_DISKS, dir);
    launcher_container_mount(l->arena, container, LAUNCHER_BINARIES, "/usr/bin");
}

static void add_binary(struct launcher *l)
{
    struct core_container container = launcher_vmi_container(
        l, LAUNCHER_CONTAINER_DISK_BINARY, l->settings->launcher_image, l->config->spec->image_pull_policy);

    container.command = LAUNCHER_STRINGS(l->arena, "/usr/bin/cp", "--preserve=all", "/usr/bin/container-disk",
                                         "/init/usr/bin/container-disk");
    container.security_context->capabilities = launcher_drop_all(l->arena);
    launcher_container_mount(l->arena, &container, LAUNCHER_BINARIES, "/init/usr/bin");
    launcher_support_resources(l->arena, l->config, LAUNCHER_SUPPORT_CONTAINER_DISK_BINARY, l->guaranteed,
                               &container.resources);
    *kb_vec_push(l->arena, &l->init_containers) = container;
}

static bool has_container_disk(const struct kv_vmi *vmi)
{
    api_list_foreach (volume, &vmi->spec.volumes)
        if (volume->container_disk)
            return true;
    return launcher_kernel_boot(vmi) != NULL;
}

void launcher_add_container_disks(struct launcher *l, bool init)
{
    const struct kv_kernel_boot_container *boot = launcher_kernel_boot(l->vmi);

    if (init && has_container_disk(l->vmi))
        add_binary(l);
    api_list_foreach (volume, &l->vmi->spec.volumes) {
        const struct kv_container_disk_source *source = volume->container_disk;

        if (!source || kb_streq(volume->name, LAUNCHER_KERNEL_BOOT))
            continue;
        add_container(l,
                      &(struct disk){volume->name, launcher_image_of(l, volume->name, source->image),
                                     source->image_pull_policy,
                                     kb_arena_printf(l->arena, "disk_%zu", volume - l->vmi->spec.volumes.items)},
                      init);
    }
    if (boot)
        add_container(l,
                      &(struct disk){LAUNCHER_KERNEL_BOOT, launcher_image_of(l, LAUNCHER_KERNEL_BOOT, boot->image),
                                     boot->image_pull_policy, "kernel-boot"},
                      init);
}

/* ---- beside image volumes ---- */

static void add_digest_finder(struct launcher *l, const struct disk *disk)
{
    const char *name = kb_arena_printf(l->arena, LAUNCHER_CONTAINER_DISK_PREFIX "%s", disk->volume);
    struct core_container *container = push(l, &l->init_containers, name, disk);

    container->command = LAUNCHER_STRINGS(l->arena, LAUNCHER_BINARY_IMAGE_DIR "/usr/bin/container-disk");
    container->args = LAUNCHER_STRINGS(l->arena, "--no-op");
    launcher_container_mount(l->arena, container, LAUNCHER_BINARY_IMAGE, LAUNCHER_BINARY_IMAGE_DIR)->read_only = true;
}

void launcher_add_digest_finders(struct launcher *l)
{
    const struct kv_kernel_boot_container *boot = launcher_kernel_boot(l->vmi);

    api_list_foreach (volume, &l->vmi->spec.volumes) {
        const struct kv_container_disk_source *source = volume->container_disk;

        if (source && !launcher_digest_is_known(l, volume->name))
            add_digest_finder(l, &(struct disk){volume->name, source->image, source->image_pull_policy, NULL});
    }
    if (boot && !launcher_digest_is_known(l, LAUNCHER_KERNEL_BOOT))
        add_digest_finder(l, &(struct disk){LAUNCHER_KERNEL_BOOT, boot->image, boot->image_pull_policy, NULL});
}
