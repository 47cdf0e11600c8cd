/*
 * Instance types and preferences: what a VM names in spec.instancetype and spec.preference, found and applied to the
 * spec of a VMI.
 *
 * An instance type sets sizes (CPU, memory, devices) and conflicts with a VMI that sets them itself; a preference fills
 * what the VMI leaves open and never conflicts. What a VM uses is kept in ControllerRevisions, so that it stays as it
 * was when the object changes.
 *
 * Everything here is pure: look-ups go through struct virt_instancetype_lookups, results are in the given arena. Used
 * by the VM controller, snapshots, pools, exports and `render`. Facts: instancetype.md (the reference's
 * pkg/instancetype).
 */
#ifndef VIRT_INSTANCETYPE_INSTANCETYPE_H
#define VIRT_INSTANCETYPE_INSTANCETYPE_H

#include "api/types/apps.h"
#include "api/types/instancetype.h"
#include "api/types/kv.h"
#include "base/error.h"
#include "virt/config/config.h"
#include "virt/instancetype/words.h"

/*
 * Gets an object of one of five types: apps_controller_revision_type, instancetype_vm_instancetype_type,
 * instancetype_vm_cluster_instancetype_type, instancetype_vm_preference_type, instancetype_vm_cluster_preference_type.
 * The object lives as long as the arena. NULL: there is none, and *reterr is not touched; or the look-up itself failed,
 * and *reterr is set.
 */
struct virt_instancetype_lookups {
    const void *(*get)(void *userdata, const struct api_type *type, const char *namespace_, const char *name,
                       struct kube_error *reterr);
    void *userdata;
};

/* What distinguishes the two: types, kinds that a matcher may name, messages, annotations. */
struct virt_flavor;
extern const struct virt_flavor virt_instancetype_flavor, virt_preference_flavor;
/* "instancetypeRef", "preferenceRef": the member of a VM's status. */
const char *virt_flavor_status_member(const struct virt_flavor *flavor);

/* spec.instancetype and spec.preference have the same members. NULL: the VM names none. */
const struct kv_instancetype_matcher *virt_flavor_matcher(const struct virt_flavor *flavor, const struct kv_vm *vm);
/* Where status.instancetypeRef or preferenceRef stands. */
struct kv_instancetype_status_ref **virt_flavor_ref(const struct virt_flavor *flavor, struct kv_vm *vm);

/* ---- find ---- */

/*
 * The specs in force for a VM: of the revision that spec or status names (that of the status only when it is of the
 * object that spec names), or of the object itself. *ret NULL: the VM names none. Nothing found is an error in the API
 * server's words.
 */
int virt_instancetype_find(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                           const struct kv_vm *vm, const struct instancetype_vm_instancetype_spec **ret,
                           struct kube_error *reterr);
int virt_preference_find(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                         const struct kv_vm *vm, const struct instancetype_vm_preference_spec **ret,
                         struct kube_error *reterr);
/* The object itself, whatever revisions say, and its type. */
int virt_flavor_find_object(const struct virt_flavor *flavor, const struct virt_instancetype_lookups *lookups,
                            const struct kv_vm *vm, const void **ret, const struct api_type **ret_type,
                            struct kube_error *reterr);
/* A ControllerRevision that must be there. */
int virt_instancetype_find_revision(const struct virt_instancetype_lookups *lookups, const char *namespace_,
                                    const char *name, const struct apps_controller_revision **ret,
                                    struct kube_error *reterr);

/* ---- apply: on a copy that is the caller's own; after an error it is changed in part ---- */

/*
 * Both may be NULL. On a conflict *ret_conflicts has the paths of all fields in conflict ("spec.domain.cpu.cores,
 * ..."), each below `base` ("spec", "spec.template.spec"), and the preference is not applied; otherwise it is NULL.
 */
void virt_instancetype_apply(struct kb_arena *arena, const char *base,
                             const struct instancetype_vm_instancetype_spec *instancetype,
                             const struct instancetype_vm_preference_spec *preference, struct kv_vmi_spec *spec,
                             struct meta_object_meta *metadata, const char **ret_conflicts);
/* Finds and applies to the VM's own template: for comparing what a VM asks for with what runs. */
int virt_instancetype_apply_to_vm(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                                  struct kv_vm *vm, struct kube_error *reterr);
/* Finds and applies to the VMI that a start of `vm` makes, with the annotations that tell where it came from. */
int virt_instancetype_apply_to_vmi(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                                   const struct kv_vm *vm, struct kv_vmi *vmi, struct kube_error *reterr);
/* What a preference says on devices that a VMI gets unasked: before default devices are added. */
void virt_preference_apply_auto_attach(struct kb_arena *arena, const struct instancetype_vm_preference_spec *preference,
                                       struct kv_vmi_spec *spec);
void virt_preference_apply(struct kb_arena *arena, const struct instancetype_vm_preference_spec *preference,
                           struct kv_vmi_spec *spec, struct meta_object_meta *metadata);

/* ---- expand ---- */

/* Writes instance type and preference into the template, with the defaults that a VMI would get, and forgets them. */
int virt_instancetype_expand(struct kb_arena *arena, const struct virt_config *config,
                             const struct virt_instancetype_lookups *lookups, struct kv_vm *vm,
                             struct kube_error *reterr);

/* ---- revisions ---- */

/* The revision that keeps `object` (of one of the four types) for `vm`. */
struct apps_controller_revision *virt_instancetype_make_revision(struct kb_arena *arena, const struct kv_vm *vm,
                                                                 const struct api_type *type, const void *object);
/* The object that a revision keeps, and its type. */
int virt_instancetype_decode_revision(struct kb_arena *arena, const struct apps_controller_revision *revision,
                                      const void **ret, const struct api_type **ret_type, struct kube_error *reterr);
/* 1: both keep the same spec; 0: they don't. */
int virt_instancetype_compare_revisions(struct kb_arena *arena, const struct apps_controller_revision *a,
                                        const struct apps_controller_revision *b, struct kube_error *reterr);
bool virt_instancetype_revision_is_latest(const struct apps_controller_revision *revision);
bool virt_instancetype_has_revision(const struct kv_instancetype_status_ref *ref);

/* ---- defaults that other parts of the VM controller apply, too ---- */

/* Every volume gets a disk, unless a disk or a file system names it. */
void virt_add_missing_disks(struct kb_arena *arena, struct kv_vmi_spec *spec);
/* The Pod network with the configured binding, when nothing says otherwise. */
int virt_add_default_network(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi_spec *spec,
                             struct kube_error *reterr);
/* All that a controller gives to the spec of a new VMI, these two among them. Error: as of the network. */
int virt_apply_vmi_defaults(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi_spec *spec,
                            struct kube_error *reterr);

#endif
