/*
 * ControllerRevisions that keep an instance type or a preference for a VM. The name says what is in it: VM, object,
 * API version, UID and generation; so storing the same state twice is one object.
 */
#include "api/meta.h"
#include "base/strings.h"
#include "virt/instancetype/internal.h"
#include "virt/names.h"

/* The object as it is kept: without what belongs to it where it came from. */
static const char *data_of(struct kb_arena *arena, const struct api_type *type, const void *object)
{
    struct api_any *copy = kb_arena_copy(arena, object, type->size);
    copy->kind = type->resource->kind;
    copy->api_version = VIRT_INSTANCETYPE_GROUP "/" VIRT_INSTANCETYPE_VERSION;
    copy->metadata.labels = (struct api_string_map){0};
    copy->metadata.annotations = (struct api_string_map){0};
    copy->metadata.finalizers = (struct api_strings){0};
    copy->metadata.owner_references = (struct meta_owner_reference_list){0};
    return api_encode_text(arena, type, copy, 0);
}

struct apps_controller_revision *virt_instancetype_make_revision(struct kb_arena *arena, const struct kv_vm *vm,
                                                                 const struct api_type *type, const void *object)
{
    const struct meta_object_meta *meta = &((const struct api_any *)object)->metadata;
    const char *generation = kb_arena_printf(arena, "%lld", (long long)meta->generation);
    struct apps_controller_revision *revision = kb_arena_one(arena, struct apps_controller_revision);
    revision->api_version = "apps/v1";
    revision->kind = "ControllerRevision";
    revision->metadata.namespace = vm->metadata.namespace;
    revision->metadata.name = kb_arena_printf(arena, "%s-%s-" VIRT_INSTANCETYPE_VERSION "-%s-%s", vm->metadata.name,
                                              meta->name, meta->uid ? meta->uid : "", generation);
    api_add_controller(arena, &revision->metadata, &kv_vm_type, vm);
    struct api_string_map *labels = &revision->metadata.labels;
    api_map_set(arena, labels, VIRT_LABEL_OBJECT_GENERATION, generation);
    api_map_set(arena, labels, VIRT_LABEL_OBJECT_KIND, type->resource->kind);
    api_map_set(arena, labels, VIRT_LABEL_OBJECT_NAME, meta->name);
    api_map_set(arena, labels, VIRT_LABEL_OBJECT_UID, meta->uid ? meta->uid : "");
    api_map_set(arena, labels, VIRT_LABEL_OBJECT_VERSION, VIRT_INSTANCETYPE_VERSION);
    revision->data = data_of(arena, type, object);
    return revision;
}

static const char *member(yyjson_val *data, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(data, name));
    return text ? text : "";
}

/* Another kind of KubeVirt's own, or a list of one: known, but none that is kept. */
static bool is_other_kind(const char *version, const char *kind)
{
    static const char list[] = "List";
    const char *group_end = strrchr(version, '/');
    size_t n_group = group_end ? (size_t)(group_end - version) : 0, n_kind = strlen(kind);
    bool is_list = kb_ends_with(kind, list);
    for (const struct api_type *const *type = api_types; *type && group_end; type++) {
        const struct api_resource *resource = (*type)->resource;
        const char *group = resource->group;
        if (strlen(group) != n_group || strncmp(group, version, n_group) || !kb_streq(resource->version, group_end + 1))
            continue;
        if (!kb_ends_with(group, VIRT_SCHEME_GROUP) || kb_starts_with(group, "cdi.") ||
            kb_starts_with(group, "template."))
            continue;
        if (kb_streq(resource->kind, kind) ||
            (is_list && strlen(resource->kind) == n_kind - strlen(list) && kb_starts_with(kind, resource->kind)))
            return true;
    }
    return false;
}

/* Errors are in the words of Kubernetes' decoder, which operators search for. */
static const struct api_type *kept_type(const char *data, yyjson_val *root, struct kube_error *reterr)
{
    static const struct api_type *const types[] = {
        &instancetype_vm_instancetype_type, &instancetype_vm_cluster_instancetype_type,
        &instancetype_vm_preference_type, &instancetype_vm_cluster_preference_type};
    const char *version = member(root, "apiVersion"), *kind = member(root, "kind"), *slash = strrchr(version, '/');
    for (size_t i = 0; i < KB_ARRAY_LEN(types); i++)
        if (kb_streq(types[i]->resource->kind, kind) &&
            kb_streq(version, VIRT_INSTANCETYPE_GROUP "/" VIRT_INSTANCETYPE_VERSION))
            return types[i];
    if (kb_empty(kind))
        kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_REVISION_UNDECODABLE "Object 'Kind' is missing in '%s'", data);
    else if (kb_empty(version))
        kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_REVISION_UNDECODABLE "Object 'apiVersion' is missing in '%s'",
                       data);
    else if (is_other_kind(version, kind))
        kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_REVISION_UNEXPECTED, slash ? slash + 1 : version, kind);
    else
        kube_error_set(reterr, KUBE_ERROR_INVALID,
                       VIRT_REVISION_UNDECODABLE "no kind \"%s\" is registered for version \"%s\" in scheme \"%s\"",
                       kind, version, VIRT_REVISION_SCHEME);
    return NULL;
}

int virt_instancetype_decode_revision(struct kb_arena *arena, const struct apps_controller_revision *revision,
                                      const void **ret, const struct api_type **ret_type, struct kube_error *reterr)
{
    const char *data = revision->data ? revision->data : "";
    yyjson_doc *doc;
    void *object = NULL;
    if (api_parse(data, strlen(data), &doc, reterr) < 0)
        return kube_error_wrap(reterr, "failed to decode object in ControllerRevision");
    const struct api_type *type = kept_type(data, yyjson_doc_get_root(doc), reterr);
    int status = type ? api_decode_value(arena, type, yyjson_doc_get_root(doc), &object, reterr) : -1;
    yyjson_doc_free(doc);
    if (status < 0)
        return type ? kube_error_wrap(reterr, "failed to decode object in ControllerRevision") : -1;
    *ret = object;
    *ret_type = type;
    return 0;
}

int virt_instancetype_compare_revisions(struct kb_arena *arena, const struct apps_controller_revision *a,
                                        const struct apps_controller_revision *b, struct kube_error *reterr)
{
    const struct apps_controller_revision *revisions[] = {a, b};
    const struct api_type *types[2];
    const void *objects[2];
    for (int i = 0; i < 2; i++)
        if (virt_instancetype_decode_revision(arena, revisions[i], &objects[i], &types[i], reterr) < 0)
            return -1;
    const struct api_field *specs[2];
    const void *values[2];
    for (int i = 0; i < 2; i++)
        values[i] = api_field_at(types[i], objects[i], "spec", &specs[i]);
    return specs[0]->type == specs[1]->type && api_equal(specs[0]->type, values[0], values[1]);
}

bool virt_instancetype_revision_is_latest(const struct apps_controller_revision *revision)
{
    const char *version = api_map_get(&revision->metadata.labels, VIRT_LABEL_OBJECT_VERSION);
    return version && kb_streq(version, VIRT_INSTANCETYPE_VERSION);
}
