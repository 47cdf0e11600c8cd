/*
 * The exact images of container disks, for the target of a migration: source and target must see the same bytes even
 * when a tag has moved meanwhile. Where they are found: the status of the source Pod's containers (digests in imageID),
 * and image volumes that a migration before already named by digest.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include <ctype.h>

#define BY_DIGEST "@sha256:"

/* The image without tag or digest. */
static const char *base_of(struct kb_arena *arena, const char *image)
{
    const char *digest = strstr(image, BY_DIGEST);
    const char *colon = strrchr(image, ':');
    const char *slash = strrchr(image, '/');

    if (digest)
        return kb_arena_strndup(arena, image, (size_t)(digest - image));
    if (colon && (!slash || colon > slash)) /* not the port of a registry */
        return kb_arena_strndup(arena, image, (size_t)(colon - image));
    return image;
}

/* The hexadecimal part of the first "sha256:..." in an image ID, or "". */
static const char *digest_in(struct kb_arena *arena, const char *image_id)
{
    static const char prefix[] = "sha256:";

    for (const char *at = image_id; (at = strstr(at, prefix)); at += sizeof(prefix) - 1) {
        const char *digest = at + sizeof(prefix) - 1;
        size_t n = 0;

        while (isalnum((unsigned char)digest[n]))
            n++;
        if (n > 0)
            return kb_arena_strndup(arena, digest, n);
    }
    return "";
}

static int read_statuses(struct launcher *l, const struct core_container_status_list *statuses,
                         struct kube_error *reterr)
{
    api_list_foreach (status, statuses) {
        const char *volume = kb_after_prefix(status->name, LAUNCHER_CONTAINER_DISK_PREFIX);
        const char *image = volume ? api_map_get(&l->digests, volume) : NULL;
        const char *digest;

        if (!image)
            continue;
        digest = digest_in(l->arena, status->image_id);
        if (!*digest)
            return kube_error_set(
                reterr, KUBE_ERROR_INVALID,
                "can not proceed with the migration when no reproducible image digest can be detected: "
                "failed to identify image digest for container %s with id %s",
                kb_quote(l->arena, image), kb_quote(l->arena, status->image_id));
        api_map_set(l->arena, &l->digests, volume,
                    kb_arena_printf(l->arena, "%s" BY_DIGEST "%s", base_of(l->arena, image), digest));
    }
    return 0;
}

static void read_image_volumes(struct launcher *l)
{
    api_list_foreach (volume, &l->input->source_pod->spec.volumes)
        if (volume->image && strstr(volume->image->reference, BY_DIGEST) && api_map_has(&l->digests, volume->name))
            api_map_set(l->arena, &l->digests, volume->name, volume->image->reference);
}

int launcher_find_digests(struct launcher *l, struct kube_error *reterr)
{
    const struct kv_kernel_boot_container *boot = launcher_kernel_boot(l->vmi);
    const struct core_pod *source = l->input->source_pod;

    if (l->input->mode != VIRT_LAUNCHER_MIGRATION_TARGET || !source)
        return 0;
    api_list_foreach (volume, &l->vmi->spec.volumes)
        if (volume->container_disk)
            api_map_set(l->arena, &l->digests, volume->name, volume->container_disk->image);
    if (boot)
        api_map_set(l->arena, &l->digests, LAUNCHER_KERNEL_BOOT, boot->image);
    if (l->image_volumes)
        read_image_volumes(l);
    if (read_statuses(l, &source->status.container_statuses, reterr) < 0)
        return -1;
    return l->image_volumes ? read_statuses(l, &source->status.init_container_statuses, reterr) : 0;
}

const char *launcher_image_of(const struct launcher *l, const char *volume, const char *image)
{
    const char *with_digest = api_map_get(&l->digests, volume);

    return with_digest ? with_digest : image;
}

bool launcher_digest_is_known(const struct launcher *l, const char *volume)
{
    const char *image = api_map_get(&l->digests, volume);

    return image && strstr(image, BY_DIGEST);
}
