/*
 * Volumes, claims and DataVolumes over the caches of a request.
 */
#include "virt/storage/volumes.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/request.h"
#include "virt/informers.h"

#define DEFAULT_FILESYSTEM_OVERHEAD "0.055"
#define BLOCK_OVERHEAD              "0"
#define CDI_CONFIG                  "config"

const char *virt_volume_claim(const struct kv_volume *volume)
{
    if (volume->data_volume)
        return volume->data_volume->name;
    if (volume->persistent_volume_claim)
        return volume->persistent_volume_claim->claim_name;
    return volume->memory_dump ? volume->memory_dump->claim_name : "";
}

bool virt_volume_is_hotplug(const struct kv_volume *volume)
{
    return (volume->persistent_volume_claim && volume->persistent_volume_claim->hotpluggable) ||
           (volume->data_volume && volume->data_volume->hotpluggable) ||
           (volume->memory_dump && volume->memory_dump->hotpluggable);
}

const struct core_pvc *virt_claim(struct kube_request *request, const char *namespace_, const char *name)
{
    return kube_lookup(request, VIRT_PVC, namespace_, name);
}

bool virt_claim_is_block(const struct core_pvc *pvc)
{
    return pvc->spec.volume_mode && kb_streq(pvc->spec.volume_mode, "Block");
}

bool virt_claim_is_preallocated(const struct core_pvc *pvc)
{
    api_list_foreach (annotation, &pvc->metadata.annotations)
        if (kb_streq(annotation->value, "true") && (strstr(annotation->key, "/storage.preallocation") ||
                                                    strstr(annotation->key, "/storage.thick-provisioned")))
            return true;
    return false;
}

/* ---- DataVolumes ---- */

/* NULL: no DataVolume made this claim. */
static const char *owning_data_volume(const struct core_pvc *pvc)
{
    const struct meta_owner_reference *owner = api_controller_of(&pvc->metadata);

    return owner && kb_streq(owner->kind, "DataVolume") ? owner->name : NULL;
}

const struct cdi_data_volume *virt_volume_data_volume(struct kube_request *request, const char *namespace_,
                                                      const struct kv_volume *volume)
{
    const char *name = NULL;

    if (volume->persistent_volume_claim) {
        const struct core_pvc *pvc = virt_claim(request, namespace_, volume->persistent_volume_claim->claim_name);

        name = pvc ? owning_data_volume(pvc) : NULL;
    } else if (volume->data_volume) {
        name = volume->data_volume->name;
    }
    return name ? kube_lookup(request, VIRT_DATA_VOLUME, namespace_, name) : NULL;
}

struct virt_data_volumes virt_data_volumes_of(struct kube_request *request, const char *namespace_,
                                              const struct kv_volume_list *volumes)
{
    struct virt_data_volumes found = {0};

    api_list_foreach (volume, volumes) {
        const struct cdi_data_volume *data_volume = virt_volume_data_volume(request, namespace_, volume);

        if (data_volume)
            *kb_vec_push(kube_arena(request), &found) = data_volume;
    }
    return found;
}

bool virt_data_volumes_any(const struct virt_data_volumes *volumes, const char *phase)
{
    for (size_t i = 0; i < volumes->n; i++)
        if (kb_streq(volumes->items[i]->status.phase, phase))
            return true;
    return false;
}

int virt_claim_readiness(struct kube_request *request, const char *namespace_, const char *claim,
                         enum virt_readiness *ret, struct kube_error *reterr)
{
    const struct core_pvc *pvc = virt_claim(request, namespace_, claim);
    const char *owner = pvc ? owning_data_volume(pvc) : NULL;
    const struct cdi_data_volume *data_volume;

    *ret = pvc ? VIRT_CLAIM_READY : VIRT_CLAIM_MISSING;
    if (!owner)
        return 0;
    data_volume = kube_lookup(request, VIRT_DATA_VOLUME, namespace_, owner);
    if (!data_volume)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "unable to find datavolume %s/%s", namespace_, owner);
    if (kb_streq(data_volume->status.phase, VIRT_DV_WAIT_FOR_FIRST_CONSUMER))
        *ret = VIRT_CLAIM_WAITS_FOR_CONSUMER;
    else if (!kb_streq(data_volume->status.phase, VIRT_DV_SUCCEEDED) &&
             !kb_streq(data_volume->status.phase, VIRT_DV_PENDING_POPULATION))
        *ret = VIRT_CLAIM_NOT_READY;
    return 0;
}

/* ---- file system overhead ---- */

int virt_claim_filesystem_overhead(struct kube_request *request, const struct core_pvc *pvc, const char **ret,
                                   struct kube_error *reterr)
{
    const struct cdi_cdi_config *config;
    const char *by_class;

    *ret = DEFAULT_FILESYSTEM_OVERHEAD;
    if (kube_lookup_all(request, VIRT_CDI, NULL).n != 1)
        return 0;
    config = kube_lookup(request, VIRT_CDI_CONFIG, "", CDI_CONFIG);
    if (!config)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "Failed to find CDIConfig but CDI exists: <nil>");
    *ret = BLOCK_OVERHEAD;
    if (virt_claim_is_block(pvc))
        return 0;
    if (!config->status.filesystem_overhead)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "CDI config not initialized");
    by_class = pvc->spec.storage_class_name
                   ? api_map_get(&config->status.filesystem_overhead->storage_class, pvc->spec.storage_class_name)
                   : NULL;
    *ret = by_class ? by_class : config->status.filesystem_overhead->global;
    return 0;
}
