/*
 * Looking up what a VM names. Instance types and preferences follow the same rules; a flavor is what differs.
 */
#include "api/codec.h"
#include "base/strings.h"
#include "virt/instancetype/internal.h"
#include <stddef.h>
#include <strings.h>

const struct virt_flavor virt_instancetype_flavor = {
    .word = "Instancetype",
    .status_member = "instancetypeRef",
    .namespaced = &instancetype_vm_instancetype_type,
    .cluster = &instancetype_vm_cluster_instancetype_type,
    .namespaced_kinds = {"virtualmachineinstancetype", "virtualmachineinstancetypes"},
    .cluster_kinds = {"virtualmachineclusterinstancetype", "virtualmachineclusterinstancetypes"},
    .annotation = "kubevirt.io/instancetype-name",
    .cluster_annotation = "kubevirt.io/cluster-instancetype-name",
};

const struct virt_flavor virt_preference_flavor = {
    .word = "Preference",
    .status_member = "preferenceRef",
    .namespaced = &instancetype_vm_preference_type,
    .cluster = &instancetype_vm_cluster_preference_type,
    .namespaced_kinds = {"virtualmachinepreference", "virtualmachinepreferences"},
    .cluster_kinds = {"virtualmachineclusterpreference", "virtualmachineclusterpreferences"},
    .annotation = "kubevirt.io/preference-name",
    .cluster_annotation = "kubevirt.io/cluster-preference-name",
};

/* spec.preference is read as if it were spec.instancetype. */
#define SAME_PLACE(member)                                                                                             \
    _Static_assert(offsetof(struct kv_instancetype_matcher, member) == offsetof(struct kv_preference_matcher, member), \
                   #member)
SAME_PLACE(name);
SAME_PLACE(kind);
SAME_PLACE(revision_name);
SAME_PLACE(infer_from_volume);
SAME_PLACE(infer_from_volume_failure_policy);

const char *virt_flavor_status_member(const struct virt_flavor *flavor)
{
    return flavor->status_member;
}

const struct kv_instancetype_matcher *virt_flavor_matcher(const struct virt_flavor *flavor, const struct kv_vm *vm)
{
    return flavor == &virt_instancetype_flavor ? vm->spec.instancetype
                                               : (const struct kv_instancetype_matcher *)vm->spec.preference;
}

struct kv_instancetype_status_ref **virt_flavor_ref(const struct virt_flavor *flavor, struct kv_vm *vm)
{
    return flavor == &virt_instancetype_flavor ? &vm->status.instancetype_ref : &vm->status.preference_ref;
}

bool virt_instancetype_has_revision(const struct kv_instancetype_status_ref *ref)
{
    return ref && ref->controller_revision_ref && !kb_empty(ref->controller_revision_ref->name);
}

const struct api_type *virt_flavor_type_of_kind(const struct virt_flavor *flavor, const char *kind)
{
    for (size_t i = 0; i < 2; i++) {
        if (strcasecmp(kind, flavor->namespaced_kinds[i]) == 0)
            return flavor->namespaced;
        if (strcasecmp(kind, flavor->cluster_kinds[i]) == 0)
            return flavor->cluster;
    }
    return kb_empty(kind) ? flavor->cluster : NULL;
}

/* "Not found" is worded as the API server would. */
static int get(const struct virt_instancetype_lookups *lookups, const struct api_type *type, const char *namespace_,
               const char *name, const void **ret, struct kube_error *reterr)
{
    struct kube_error error = {0};
    const void *object =
        lookups->get(lookups->userdata, type, type->resource->namespaced ? namespace_ : "", name, &error);
    if (!object && error.kind == KUBE_ERROR_NONE)
        return kube_error_set_api(reterr, 404, "NotFound", "%s.%s \"%s\" not found", type->resource->plural,
                                  type->resource->group, name);
    if (!object) {
        if (reterr)
            *reterr = error;
        return -1;
    }
    *ret = object;
    return 0;
}

int virt_instancetype_find_revision(const struct virt_instancetype_lookups *lookups, const char *namespace_,
                                    const char *name, const struct apps_controller_revision **ret,
                                    struct kube_error *reterr)
{
    return get(lookups, &apps_controller_revision_type, namespace_, name, (const void **)ret, reterr);
}

int virt_flavor_find_object(const struct virt_flavor *flavor, const struct virt_instancetype_lookups *lookups,
                            const struct kv_vm *vm, const void **ret, const struct api_type **ret_type,
                            struct kube_error *reterr)
{
    const struct kv_instancetype_matcher *matcher = virt_flavor_matcher(flavor, vm);
    const struct api_type *type = virt_flavor_type_of_kind(flavor, matcher->kind);
    if (!type)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "got unexpected kind in %sMatcher: %s", flavor->word,
                              matcher->kind);
    *ret_type = type;
    return get(lookups, type, vm->metadata.namespace, matcher->name, ret, reterr);
}

/* *ret NULL: no revision counts. */
static int find_named_revision(const struct virt_flavor *flavor, const struct virt_instancetype_lookups *lookups,
                               const struct kv_vm *vm, const struct apps_controller_revision **ret,
                               struct kube_error *reterr)
{
    const struct kv_instancetype_matcher *matcher = virt_flavor_matcher(flavor, vm);
    const struct kv_instancetype_status_ref *ref =
        flavor == &virt_instancetype_flavor ? vm->status.instancetype_ref : vm->status.preference_ref;
    *ret = NULL;
    if (!kb_empty(matcher->revision_name))
        return virt_instancetype_find_revision(lookups, vm->metadata.namespace, matcher->revision_name, ret, reterr);
    if (!virt_instancetype_has_revision(ref))
        return 0;
    const struct apps_controller_revision *revision;
    if (virt_instancetype_find_revision(lookups, vm->metadata.namespace, ref->controller_revision_ref->name, &revision,
                                        reterr) < 0)
        return -1;
    const char *object = api_map_get(&revision->metadata.labels, VIRT_LABEL_OBJECT_NAME);
    if (object && kb_streq(object, matcher->name))
        *ret = revision;
    return 0;
}

static int find_spec(const struct virt_flavor *flavor, struct kb_arena *arena,
                     const struct virt_instancetype_lookups *lookups, const struct kv_vm *vm, const void **ret,
                     struct kube_error *reterr)
{
    const struct apps_controller_revision *revision;
    const struct api_type *type;
    const void *object;
    if (!virt_flavor_matcher(flavor, vm)) {
        *ret = NULL;
        return 0;
    }
    if (find_named_revision(flavor, lookups, vm, &revision, reterr) < 0)
        return -1;
    if (!revision) {
        if (virt_flavor_find_object(flavor, lookups, vm, &object, &type, reterr) < 0)
            return -1;
    } else {
        if (virt_instancetype_decode_revision(arena, revision, &object, &type, reterr) < 0)
            return -1;
        if (type != flavor->namespaced && type != flavor->cluster)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_REVISION_UNEXPECTED, type->resource->version,
                                  type->resource->kind);
    }
    *ret = virt_instancetype_spec_of(type, object);
    return 0;
}

const void *virt_instancetype_spec_of(const struct api_type *type, const void *object)
{
    const struct api_field *field;
    return api_field_at(type, object, "spec", &field);
}

int virt_instancetype_find(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                           const struct kv_vm *vm, const struct instancetype_vm_instancetype_spec **ret,
                           struct kube_error *reterr)
{
    return find_spec(&virt_instancetype_flavor, arena, lookups, vm, (const void **)ret, reterr);
}

int virt_preference_find(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                         const struct kv_vm *vm, const struct instancetype_vm_preference_spec **ret,
                         struct kube_error *reterr)
{
    return find_spec(&virt_preference_flavor, arena, lookups, vm, (const void **)ret, reterr);
}
