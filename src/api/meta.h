/*
 * What every top-level object has. All generated top-level structs begin with the same members in the same order, so
 * that generic code reads them through `struct api_any`:
 *
 *     const struct api_any *any = data;    any->metadata.name
 *
 * The generator emits a _Static_assert of this for each top-level type.
 */
#ifndef API_META_H
#define API_META_H

#include "api/object.h"
#include "api/types/meta.h" /* generated: struct meta_object_meta, meta_owner_reference, meta_label_selector ... */

struct api_any {
    const char *extra_;
    const char *kind;
    const char *api_version;
    struct meta_object_meta metadata;
};

/* The owner reference with controller: true, or NULL. */
const struct meta_owner_reference *api_controller_of(const struct meta_object_meta *meta);
bool api_is_controlled_by(const struct meta_object_meta *meta, const char *owner_uid);
/* Adds `owner`, an object of `type`, as the one that controls, and that is not gone before. */
void api_add_controller(struct kb_arena *arena, struct meta_object_meta *meta, const struct api_type *type,
                        const void *owner);
bool api_has_finalizer(const struct meta_object_meta *meta, const char *finalizer);
bool api_is_being_deleted(const struct meta_object_meta *meta);
/* "group/version", or "v1": the apiVersion of objects of a top-level type. */
const char *api_version_text(struct kb_arena *arena, const struct api_resource *resource);
/* "namespace/name", or "name" for cluster-scoped objects. */
const char *api_key(struct kb_arena *arena, const struct meta_object_meta *meta);
/* Splits a key; both are in the arena; namespace "" when there is none. */
void api_key_split(struct kb_arena *arena, const char *key, const char **ret_namespace, const char **ret_name);

#endif
