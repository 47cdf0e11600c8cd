/*
 * Container disks and kernel images as image volumes (gate ImageVolume).
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

static void add(struct launcher *l, const char *name, const char *image, const char *pull_policy)
{
    struct core_image_volume_source *source = kb_arena_one(l->arena, struct core_image_volume_source);

    source->reference = image;
    source->pull_policy = pull_policy;
    launcher_volume(l, name)->image = source;
}

void launcher_add_image_volumes(struct launcher *l)
{
    const struct kv_kernel_boot_container *boot = launcher_kernel_boot(l->vmi);
    bool finds_digests = boot && !launcher_digest_is_known(l, LAUNCHER_KERNEL_BOOT);

    if (!l->image_volumes)
        return;
    api_list_foreach (volume, &l->vmi->spec.volumes) {
        const struct kv_container_disk_source *source = volume->container_disk;

        if (!source)
            continue;
        add(l, volume->name, launcher_image_of(l, volume->name, source->image), source->image_pull_policy);
        launcher_mount_read_only(
            l, volume->name,
            kb_arena_printf(l->arena, LAUNCHER_IMAGE_VOLUME_DIR "/disk_%zu", volume - l->vmi->spec.volumes.items));
        finds_digests = finds_digests || !launcher_digest_is_known(l, volume->name);
    }
    if (boot) {
        add(l, LAUNCHER_KERNEL_BOOT, launcher_image_of(l, LAUNCHER_KERNEL_BOOT, boot->image), boot->image_pull_policy);
        launcher_mount_read_only(l, LAUNCHER_KERNEL_BOOT, LAUNCHER_KERNEL_BOOT_DIR);
    }
    if (finds_digests)
        add(l, LAUNCHER_BINARY_IMAGE, l->settings->launcher_image, l->config->spec->image_pull_policy);
}
