/*
 * What generic code asks about the metadata of any object.
 */
#include "api/meta.h"

#include "base/strings.h"
#include "base/vec.h"

const struct meta_owner_reference *api_controller_of(const struct meta_object_meta *meta)
{
    api_list_foreach (owner, &meta->owner_references)
        if (owner->controller && *owner->controller)
            return owner;
    return NULL;
}

bool api_is_controlled_by(const struct meta_object_meta *meta, const char *owner_uid)
{
    const struct meta_owner_reference *owner = api_controller_of(meta);

    return owner && owner->uid && kb_streq(owner->uid, owner_uid);
}

const char *api_version_text(struct kb_arena *arena, const struct api_resource *resource)
{
    return *resource->group ? kb_arena_printf(arena, "%s/%s", resource->group, resource->version) : resource->version;
}

void api_add_controller(struct kb_arena *arena, struct meta_object_meta *meta, const struct api_type *type,
                        const void *owner)
{
    static const bool yes = true;
    const struct api_any *any = owner;

    *kb_vec_push(arena, &meta->owner_references) = (struct meta_owner_reference){
        .api_version = api_version_text(arena, type->resource),
        .kind = type->resource->kind,
        .name = any->metadata.name,
        .uid = any->metadata.uid,
        .controller = &yes,
        .block_owner_deletion = &yes,
    };
}

bool api_has_finalizer(const struct meta_object_meta *meta, const char *finalizer)
{
    api_list_foreach (item, &meta->finalizers)
        if (kb_streq(*item, finalizer))
            return true;
    return false;
}

bool api_is_being_deleted(const struct meta_object_meta *meta)
{
    return !kb_empty(meta->deletion_timestamp);
}

const char *api_key(struct kb_arena *arena, const struct meta_object_meta *meta)
{
    const char *name = meta->name ? meta->name : "";

    if (kb_empty(meta->namespace))
        return kb_arena_strdup(arena, name);
    return kb_arena_printf(arena, "%s/%s", meta->namespace, name);
}

void api_key_split(struct kb_arena *arena, const char *key, const char **ret_namespace, const char **ret_name)
{
    const char *slash = strchr(key, '/');

    *ret_namespace = slash ? kb_arena_strndup(arena, key, slash - key) : "";
    *ret_name = kb_arena_strdup(arena, slash ? slash + 1 : key);
}
