/*
 * Claims for persistent state.
 */
#include "virt/storage/backend_storage.h"

#include "api/meta.h"
#include "api/types/cdi.h"
#include "api/types/storage.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/request.h"
#include "virt/config/config.h"
#include "virt/informers.h"
#include "virt/names.h"

#define PREFIX                VIRT_LABEL_PERSISTENT_STATE
#define SIZE                  "10Mi"
#define LABEL_STORAGE_PROFILE "cdi.kubevirt.io/applyStorageProfile"
#define DEFAULT_FOR_VIRT      "storageclass.kubevirt.io/is-default-virt-class"
#define DEFAULT_FOR_ALL       "storageclass.kubernetes.io/is-default-class"
#define MANY                  "ReadWriteMany"
#define ONCE                  "ReadWriteOnce"
#define FILESYSTEM            "Filesystem"

bool virt_is_backend_volume(const char *volume_status_name)
{
    return kb_starts_with(volume_status_name, PREFIX);
}

static bool has_label(const struct core_pvc *pvc, const char *label, const char *value)
{
    const char *present = api_map_get(&pvc->metadata.labels, label);

    return present && kb_streq(present, value);
}

const struct core_pvc *virt_backend_claim(struct kube_request *request, const struct kv_vmi *vmi)
{
    const char *name = vmi->metadata.name, *namespace_ = vmi->metadata.namespace;
    const struct kube_items labelled = kube_lookup_index(
        request, VIRT_PVC, VIRT_INDEX_STATE, kb_arena_printf(kube_arena(request), "%s/%s", namespace_, name));
    const struct core_pvc *old;

    for (size_t i = 0; i < labelled.n; i++)
        if (!api_is_being_deleted(&((const struct core_pvc *)labelled.items[i])->metadata))
            return labelled.items[i];
    old = kube_lookup(request, VIRT_PVC, namespace_, kb_arena_printf(kube_arena(request), PREFIX "-%s", name));
    if (!old || api_is_being_deleted(&old->metadata) ||
        (api_map_has(&old->metadata.labels, PREFIX) && !has_label(old, PREFIX, name)))
        return NULL;
    return old;
}

/* ---- a new one ---- */

static bool is_marked(const struct storage_storage_class *class, const char *annotation)
{
    const char *value = api_map_get(&class->metadata.annotations, annotation);

    return value && kb_streq(value, "true");
}

static const char *configured_class(const struct virt_config *config)
{
    const char *class = config->spec->vm_state_storage_class;

    return class ? class : "";
}

static int find_class(struct kube_request *request, const struct virt_config *config, const char **ret,
                      struct kube_error *reterr)
{
    const struct kube_items classes = kube_lookup_all(request, VIRT_STORAGE_CLASS, NULL);
    const char *for_all = NULL, *for_virt = NULL;

    if (*configured_class(config)) {
        *ret = configured_class(config);
        return 0;
    }
    for (size_t i = 0; i < classes.n; i++) {
        const struct storage_storage_class *class = classes.items[i];

        if (is_marked(class, DEFAULT_FOR_VIRT))
            for_virt = class->metadata.name;
        if (is_marked(class, DEFAULT_FOR_ALL))
            for_all = class->metadata.name;
    }
    if (!for_virt && !for_all)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "no default storage class found");
    *ret = for_virt ? for_virt : for_all;
    return 0;
}

/* What CDI knows of the class; without that: shared where the class was named for this use. */
static const char *access_mode(struct kube_request *request, const struct virt_config *config, const char *class)
{
    const struct cdi_storage_profile *profile = kube_lookup(request, VIRT_STORAGE_PROFILE, "", class);
    bool once = false;

    if (profile)
        api_list_foreach (set, &profile->status.claim_property_sets) {
            if (!set->volume_mode || !kb_streq(set->volume_mode, FILESYSTEM))
                continue;
            if (api_strings_has(&set->access_modes, MANY))
                return MANY;
            once = once || api_strings_has(&set->access_modes, ONCE);
        }
    return once || !*configured_class(config) ? ONCE : MANY;
}

static void set_owners(struct kb_arena *arena, const struct kv_vmi *vmi, struct core_pvc *pvc)
{
    pvc->metadata.owner_references = vmi->metadata.owner_references;
    if (vmi->metadata.owner_references.n == 0)
        api_add_controller(arena, &pvc->metadata, &kv_vmi_type, vmi);
}

int virt_new_backend_claim(struct kube_request *request, const struct virt_config *config, const struct kv_vmi *vmi,
                           const char *label, const char *label_value, struct core_pvc **ret, struct kube_error *reterr)
{
    struct kb_arena *arena = kube_arena(request);
    struct core_pvc *pvc = kb_arena_one(arena, struct core_pvc);
    const char *class = "";

    if (find_class(request, config, &class, reterr) < 0)
        return -1;
    pvc->metadata.namespace = vmi->metadata.namespace;
    pvc->metadata.generate_name = kb_arena_printf(arena, PREFIX "-%s-", vmi->metadata.name);
    set_owners(arena, vmi, pvc);
    api_map_set(arena, &pvc->metadata.labels, label, label_value);
    api_map_set(arena, &pvc->metadata.labels, LABEL_STORAGE_PROFILE, "true");
    api_strings_add(arena, &pvc->spec.access_modes, access_mode(request, config, class));
    api_map_set(arena, &pvc->spec.resources.requests, "storage", SIZE);
    pvc->spec.storage_class_name = class;
    pvc->spec.volume_mode = FILESYSTEM;
    *ret = pvc;
    return 0;
}

/* ---- readiness ---- */

static int waits_for_consumer(struct kube_request *request, const struct core_pvc *pvc, struct kube_error *reterr)
{
    const struct storage_storage_class *class;

    if (!pvc->spec.storage_class_name)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "no storage class name");
    class = kube_lookup(request, VIRT_STORAGE_CLASS, "", pvc->spec.storage_class_name);
    if (!class)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "storage class %s not found", pvc->spec.storage_class_name);
    return class->volume_binding_mode && kb_streq(class->volume_binding_mode, "WaitForFirstConsumer");
}

int virt_backend_claim_ready(struct kube_request *request, const char *namespace_, const char *name,
                             struct kube_error *reterr)
{
    const struct core_pvc *pvc = kube_lookup(request, VIRT_PVC, namespace_, name);

    if (!pvc)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "pvc %s not found in namespace %s", name, namespace_);
    if (kb_streq(pvc->status.phase, "Bound"))
        return 1;
    if (kb_streq(pvc->status.phase, "Lost"))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "backend storage PVC lost");
    return kb_streq(pvc->status.phase, "Pending") ? waits_for_consumer(request, pvc, reterr) : 0;
}
