/*
 * Claims that a VMI mounts: given as manifests, or those that CDI makes for DataVolumes and for the templates of VMs.
 * Of a claim, a Pod depends on two things: block device or file system, and whether several nodes may mount it. A
 * DataVolume may leave both to its storage class, of which CDI keeps a StorageProfile.
 */
#include "api/types/cdi.h"
#include "api/types/storage.h"
#include "cmd/virt-controller/render_internal.h"
#include "virt/names.h"

/* Annotations of the default storage class; CDI looks for the first one first. */
static const char *const default_class[] = {"storageclass.kubevirt.io/is-default-virt-class",
                                            "storageclass.kubernetes.io/is-default-class"};

static const char *find_default_class(const struct render_world *world)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(default_class); i++) {
        kb_vec_foreach (object, &world->objects) {
            const struct api_any *any = object->data;
            const char *value = object->type == &storage_storage_class_type
                                    ? api_map_get(&any->metadata.annotations, default_class[i])
                                    : NULL;

            if (value && kb_streq(value, "true"))
                return any->metadata.name;
        }
    }
    return NULL;
}

static bool allows(const struct cdi_claim_property_set *set, const struct core_pvc_spec *spec)
{
    if (spec->volume_mode && set->volume_mode && !kb_streq(spec->volume_mode, set->volume_mode))
        return false;
    for (size_t i = 0; i < spec->access_modes.n; i++)
        if (!api_strings_has(&set->access_modes, spec->access_modes.items[i]))
            return false;
    return true;
}

/* Fills in what the class is best at, among what the DataVolume allows. */
static void take_from_profile(const struct cdi_storage_profile *profile, struct core_pvc_spec *spec)
{
    api_list_foreach (set, &profile->status.claim_property_sets) {
        if (!allows(set, spec))
            continue;
        if (!spec->volume_mode)
            spec->volume_mode = set->volume_mode;
        if (spec->access_modes.n == 0)
            spec->access_modes = set->access_modes;
        return;
    }
}

/* Returns false when it takes a profile that nobody gave. */
static bool settle(const struct render_world *world, const struct cdi_storage_spec *storage, struct core_pvc_spec *spec)
{
    const struct cdi_storage_profile *profile;
    const char *class = storage->storage_class_name;

    spec->access_modes = storage->access_modes;
    spec->volume_mode = storage->volume_mode;
    if (spec->volume_mode && (kb_streq(spec->volume_mode, "Block") || spec->access_modes.n > 0))
        return true;
    if (!class)
        class = find_default_class(world);
    profile = class ? render_find(world, &cdi_storage_profile_type, "", class) : NULL;
    if (profile)
        take_from_profile(profile, spec);
    return profile != NULL;
}

static const struct core_pvc *claim_for(const struct render_world *world, const struct meta_object_meta *meta,
                                        const struct cdi_data_volume_spec *spec, bool *ret_open)
{
    struct core_pvc *pvc = kb_arena_one(world->arena, struct core_pvc);

    pvc->metadata.name = meta->name;
    pvc->metadata.namespace = meta->namespace;
    if (spec->pvc)
        pvc->spec = *spec->pvc;
    *ret_open = spec->storage && !settle(world, spec->storage, &pvc->spec);
    pvc->metadata.uid = render_uid(world->arena, &core_pvc_type, &pvc->metadata);
    return pvc;
}

static const struct core_pvc *claim_of_templates(const struct render_world *world, const char *namespace_,
                                                 const char *name, bool *ret_open)
{
    kb_vec_foreach (object, &world->objects) {
        const struct kv_vm *vm = object->data;

        if (object->type != &kv_vm_type || !kb_streq(render_namespace_of(world, object), namespace_))
            continue;
        api_list_foreach (template, &vm->spec.data_volume_templates)
            if (kb_streq(template->metadata.name, name))
                return claim_for(world, &template->metadata, &template->spec, ret_open);
    }
    return NULL;
}

const struct core_pvc *render_find_claim(const struct render_world *world, const char *namespace_, const char *name,
                                         bool *ret_open)
{
    const struct core_pvc *pvc = render_find(world, &core_pvc_type, namespace_, name);
    const struct cdi_data_volume *data_volume;
    struct core_pvc *identified;
    bool open;

    if (!ret_open)
        ret_open = &open;
    *ret_open = false;
    if (pvc) {
        identified = kb_arena_copy(world->arena, pvc, sizeof(*pvc));
        identified->metadata.uid = render_uid(world->arena, &core_pvc_type, &pvc->metadata);
        return identified;
    }
    data_volume = render_find(world, &cdi_data_volume_type, namespace_, name);
    if (data_volume)
        return claim_for(world, &data_volume->metadata, &data_volume->spec, ret_open);
    return claim_of_templates(world, namespace_, name, ret_open);
}

const char *render_state_claim(const struct render_world *world, const struct kv_vmi *vmi)
{
    kb_vec_foreach (object, &world->objects) {
        const struct core_pvc *pvc = object->data;
        const char *owner;

        if (object->type != &core_pvc_type || !kb_streq(render_namespace_of(world, object), vmi->metadata.namespace))
            continue;
        owner = api_map_get(&pvc->metadata.labels, VIRT_LABEL_PERSISTENT_STATE);
        if (owner && kb_streq(owner, vmi->metadata.name))
            return pvc->metadata.name;
    }
    return kb_arena_printf(world->arena, VIRT_LABEL_PERSISTENT_STATE "-%s", vmi->metadata.name);
}
