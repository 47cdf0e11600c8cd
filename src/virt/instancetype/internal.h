/*
 * Shared by the files of this folder.
 */
#ifndef VIRT_INSTANCETYPE_INTERNAL_H
#define VIRT_INSTANCETYPE_INTERNAL_H

#include "api/codec.h"
#include "api/meta.h"
#include "virt/instancetype/instancetype.h"

struct virt_flavor {
    const char *word;
    const char *status_member;
    const struct api_type *namespaced, *cluster;
    const char *namespaced_kinds[2], *cluster_kinds[2]; /* lower case; compared without case */
    const char *annotation, *cluster_annotation;        /* of the VMI: the object's name */
};

/* The kind of a matcher; "" is cluster-wide. NULL: neither. */
const struct api_type *virt_flavor_type_of_kind(const struct virt_flavor *flavor, const char *kind);
/* Address of `spec` in an object of one of the four types. */
const void *virt_instancetype_spec_of(const struct api_type *type, const void *object);

/* ---- fill.c ---- */

/*
 * One rule "take it from there, if it is there and not here", by paths through structs and pointers. The members are of
 * the same kind, but *string may fill string. Nothing happens when a pointer on the way is NULL.
 */
struct virt_fill {
    const char *from, *to;
};
void virt_fill(struct kb_arena *arena, const struct virt_fill *rule, const struct api_type *from_type, const void *from,
               const struct api_type *to_type, void *to);
void virt_fill_all(struct kb_arena *arena, const struct virt_fill *rules, size_t n, const struct api_type *from_type,
                   const void *from, const struct api_type *to_type, void *to);

/* ---- apply_cpu.c ---- */

/* Where conflicts are collected. */
struct conflicts {
    struct kb_arena *arena;
    const char *base;
    const char *paths; /* NULL: none */
};
void virt_add_conflict(struct conflicts *conflicts, const char *field); /* below base */
void virt_instancetype_apply_cpu(struct conflicts *conflicts,
                                 const struct instancetype_vm_instancetype_spec *instancetype,
                                 const struct instancetype_vm_preference_spec *preference, struct kv_vmi_spec *spec);

#endif
